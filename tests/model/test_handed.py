"""Arrays that are handed over in pieces."""

import numpy as np
import pytest

from podium.model import Handed, InputError


class InMemory(Handed):
    """Arrays that are here, as if they were elsewhere."""

    def __init__(self, **arrays):
        super().__init__("case", {name: (array.shape, array.dtype) for name, array in arrays.items()})
        self.arrays, self.asked = arrays, []

    def rows(self, name, start, stop):
        """Return entries of an array."""
        self.asked.append((name, start, stop))
        return self.arrays[name][start:stop] if self.arrays[name].ndim else self.arrays[name]


@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 0), (7, 2, 3), (10**6,), (0, 4)])
def test_the_whole_is_the_array(shape):
    array = np.random.default_rng(1).normal(size=shape)
    whole = InMemory(x=np.asarray(array)).whole("x")
    assert whole.dtype == np.float64
    assert np.array_equal(whole, array)


def test_pieces_are_a_few_megabytes():
    handed = InMemory(x=np.zeros((100, 2**16)), y=np.zeros((3, 2**20)))  # rows of 0.5 and 8 MiB
    assert [len(piece) for piece in handed.pieces("x")] == [8] * 12 + [4]
    assert [len(piece) for piece in handed.pieces("y")] == [1] * 3


def test_a_row_may_be_too_large():
    handed = InMemory(x=np.broadcast_to(np.zeros(1), (1, 2**23 + 1)))
    with pytest.raises(InputError, match="case: 'x' is too large to be handed over: 1 × 8388609"):
        handed.whole("x")
    assert handed.asked == []
