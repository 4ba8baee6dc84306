"""Betti numbers: of shapes everybody knows, by counting cells one by one, and against scikit-image."""

from itertools import product

import numpy as np
import peers
import pytest

from podium.metrics import (
    BettiNumbers,
    Topology,
    betti_0_error,
    betti_1_error,
    betti_2_error,
    betti_error,
    betti_numbers,
    topologies,
)
from podium.model import InputError


def solid(*shape):
    return np.pad(np.ones(shape, bool), 1)


def ring():
    mask = solid(1, 3, 3)
    mask[1, 2, 2] = False
    return mask


def shell():
    mask = solid(3, 3, 3)
    mask[2, 2, 2] = False
    return mask


def cage():
    """Return the twelve edges of a cube: a graph of 8 corners and 12 edges has 12 − 8 + 1 loops."""
    return np.array([[[sum(k in (0, 4) for k in p) >= 2 for p in product((z,), (y,), range(5))] for y in range(5)]
                     for z in range(5)]).reshape(5, 5, 5)  # fmt: skip


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (np.zeros((3, 3, 3)), (0, 0, 0)),
        (solid(2, 3, 4), (1, 0, 0)),
        (ring(), (1, 1, 0)),
        (shell(), (1, 0, 1)),
        (cage(), (1, 5, 0)),
        (np.concatenate([ring(), shell(), solid(1, 3, 3)]), (3, 1, 1)),
        (ring()[1], (1, 1, 0)),
        (np.ones((4, 4)), (1, 0, 0)),
    ],
)
def test_shapes_everybody_knows(mask, expected):
    for touch in ("corner", "face"):
        assert betti_numbers(mask, touch=touch) == expected


def test_corners_may_touch_or_not():
    diagonal = np.eye(2)
    assert betti_numbers(diagonal).parts == 1
    assert betti_numbers(diagonal, touch="face").parts == 2
    rhombus = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert betti_numbers(rhombus) == (1, 1, 0)
    assert betti_numbers(rhombus, touch="face") == (4, 0, 0)


def cells(mask):
    """Return the Euler characteristic of closed voxels, by listing their corners, edges, faces and insides."""
    listed = set()
    for voxel in np.argwhere(mask):
        listed |= {tuple(2 * voxel + step) for step in product((-1, 0, 1), repeat=mask.ndim)}
    return sum((-1) ** sum(1 - k % 2 for k in cell) for cell in listed)


@pytest.mark.parametrize("shape", [(7, 8), (5, 6, 4)])
def test_random_masks(shape):
    measure = peers.skimage_module("measure")
    generator = np.random.default_rng(0)
    for density in (0.1, 0.3, 0.5, 0.7, 0.9):
        mask = generator.random(shape) < density
        corner, face = betti_numbers(mask), betti_numbers(mask, touch="face")
        assert corner.euler == cells(mask) == measure.euler_number(mask, connectivity=len(shape))
        assert face.euler == measure.euler_number(mask, connectivity=1)
        assert corner.parts == measure.label(mask, connectivity=len(shape)).max()
        assert face.parts == measure.label(mask, connectivity=1).max()
        outside = np.pad(~mask, 1, constant_values=True)
        enclosed = measure.label(outside, connectivity=1).max() - 1
        assert corner[2 if len(shape) == 3 else 1] == enclosed
        assert min(*corner, *face) >= 0


def test_errors_by_hand():
    both = Topology.between(np.concatenate([ring(), solid(1, 3, 3)]), np.concatenate([shell(), ring()])[:6])
    assert both.reference == BettiNumbers(2, 1, 0)
    errors = [error(both) for error in (betti_0_error, betti_1_error, betti_2_error)]
    assert errors == np.abs(np.subtract(both.reference, both.prediction)).tolist()
    assert betti_error(both) == sum(errors)
    nothing = Topology.between(shell(), np.zeros_like(shell()))
    assert (betti_0_error(nothing), betti_1_error(nothing), betti_2_error(nothing)) == (1, 0, 1)


def test_regions_and_what_is_refused():
    labels = ring().astype(int) + 2 * solid(1, 3, 3)
    counted = topologies(labels, labels, regions={"ring": 3, "middle": 2, "disc": (2, 3), "none": 7})
    assert {name: pair.reference for name, pair in counted.items()} == {
        "ring": (1, 1, 0), "middle": (1, 0, 0), "disc": (1, 0, 0), "none": (0, 0, 0)
    }  # fmt: skip
    with pytest.raises(InputError, match="'corner' or 'face'"):
        betti_numbers(ring(), touch="edge")
    with pytest.raises(InputError, match="not 1-D"):
        betti_numbers([1, 0, 1])
