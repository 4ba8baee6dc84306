"""Reading what a program says, where no program is needed for it."""

import os

import numpy as np
import pytest

from podium.algorithms.confinement import Confined, Exit
from podium.algorithms.conversation import Conversation, Limit, array_header, header_of
from podium.algorithms.reasons import BrokenError
from podium.algorithms.specs import Ending


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


class Silent(Confined):
    """A program that said something, and ended."""

    def __init__(self, said):
        reading, writing = os.pipe()
        os.write(writing, said)
        os.close(writing)
        self.stdout = os.fdopen(reading, "rb")
        reading, writing = os.pipe()
        os.close(reading)
        self.stdin = os.fdopen(writing, "wb")

    def broken(self):
        """Return how it ended."""
        return Exit(Ending.CRASHED, "exit code 1")

    def wait(self, seconds):  # noqa: ARG002
        """Return how it ended."""
        return self.broken()

    def stop(self):
        """Return how it ended."""
        return self.broken()


def listen(talk):
    while True:
        document = talk.hear(Limit(60, "nothing"))
        assert isinstance(document, dict)
        if "shape" in document:
            assert talk.receive(array_header(document, most_bytes=1000), Limit(60, "nothing")).nbytes <= 1000


@pytest.mark.parametrize("seed", range(200))
def test_whatever_is_said_is_an_object_or_an_error(seed):
    """Damaged lines, half lines, bytes of every kind: nothing else is raised, and nothing is believed."""
    generator = np.random.default_rng((14, seed))
    said = bytearray(b'{"frame": 0, "shape": [2, 2], "type": "<f4"}\n0123456789abcdef{"done": "a"}\n')
    for place in generator.integers(0, len(said), generator.integers(0, 6)):
        said[place] = generator.integers(0, 256)
    program = Silent(bytes(said[: generator.integers(0, len(said) + 1)]))
    try:
        talk = Conversation(program)
        with pytest.raises(BrokenError):
            listen(talk)
        with pytest.raises(BrokenError, match="exit code 1"):
            talk.say({"case": "b"}, limit=Limit(60, "nothing"))
    finally:
        program.stdin.close()
        program.stdout.close()


def test_limits_say_what_did_not_happen():
    assert Limit(0.25, "no answer").words == "no answer within 0.25 s"
    assert Limit(0.25, "no answer", of=600).words == "no answer within 600 s"
