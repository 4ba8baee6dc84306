"""The type of an option says what its value may be, and the refusal says so."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

from podium.model import InputError
from podium.model.option_checks import check_option

WORDS = Literal["linear", "step"]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (float, (1, 1.5, -math.inf, math.nan, np.float32(1), np.int8(1), np.array(1.0), Fraction(1, 2))),
        (int, (1, -3, np.uint8(2), np.array(2), 2.0, np.float32(2))),
        (bool, (True, False, np.True_)),
        (WORDS, ("linear", np.str_("step"))),
        (WORDS | None, ("linear", None)),
        (int | None, (1, None)),
        (Sequence[float], ([1, 2.0], (0.5,), np.array([0.5, 1]), range(3), [])),
        (Sequence[Any], ("anything", 5)),
        (Any, (object(), "text")),
    ],
    ids=lambda given: None if isinstance(given, tuple) else str(given),
)
def test_what_fits_is_taken(kind, values):
    for value in values:
        check_option("it", kind, value)


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (float, ("1", None, [1.0], True, 1j, np.array([1.0]), {}, np.datetime64("2026-01-01"), object()), "a number"),
        (int, (1.5, "1", None, True, np.float64(2.5), [1], np.nan, np.inf, 1j), "a whole number"),
        (bool, (1, 0, "yes", None, np.array([True])), "True or False"),
        (WORDS, ("cubic", 1, None, ["linear"], np.array(["linear", "step"]), b"step"), "'linear' or 'step'"),
        (WORDS | None, ("cubic", 1), "'linear' or 'step'"),
        (int | None, (1.5, "1"), "a whole number"),
        (
            Sequence[float],
            ("12", 1.0, None, [1, "2"], {1: 2}, {1, 2}, [[1], [2]], np.array("1")),
            "a sequence of numbers",
        ),
    ],
    ids=lambda given: None if isinstance(given, tuple) else str(given),
)
def test_what_does_not_is_refused_in_words(kind, values, words):
    for value in values:
        with pytest.raises(InputError, match=f"^it is {words}, not ") as refusal:
            check_option("it", kind, value)
        assert len(str(refusal.value)) < 120
