"""Reading what a program says, where no program is needed for it."""

import numpy as np
import pytest

from podium.algorithms.conversation import Limit, array_header, header_of
from podium.algorithms.reasons import BrokenError


@pytest.mark.parametrize("kind", ["|u1", "<f4", ">i8", "|b1", "<f8", "<f2", "=u2"])
@pytest.mark.parametrize("shape", [[], [0], [2, 3], [1] * 8])
def test_headers(kind, shape):
    expected = np.zeros(shape, kind)
    assert array_header({"shape": shape, "type": kind}) == (expected.shape, expected.dtype)
    assert array_header(header_of(expected)) == (expected.shape, expected.dtype)


@pytest.mark.parametrize(
    "header",
    [
        None,
        [],
        {},
        {"shape": [1]},
        {"type": "<f4"},
        {"shape": [1], "type": 4},
        {"shape": [1], "type": "<f4,<f4"},
        {"shape": [1], "type": "(3,)f4"},
        {"shape": [1], "type": "<U4"},
        {"shape": [1], "type": "<M8[s]"},
        {"shape": [1] * 9, "type": "<f4"},
        {"shape": [-1], "type": "<f4"},
        {"shape": [True], "type": "<f4"},
        {"shape": [2**60], "type": "<f4"},
        {"shape": {"0": 1}, "type": "<f4"},
        {"shape": [101], "type": "|u1"},
    ],
)
def test_what_is_no_header(header):
    with pytest.raises(BrokenError):
        array_header(header, most_bytes=100)


def test_limits_say_what_did_not_happen():
    assert Limit(0.25, "no answer").words == "no answer within 0.25 s"
    assert Limit(0.25, "no answer", of=600).words == "no answer within 600 s"
