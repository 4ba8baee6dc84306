"""Folding: known deformations, and determinants beside NumPy's gradient."""

from itertools import product

import laws
import numpy as np
import pytest

from podium.metrics import folded_share, jacobian_determinants
from podium.model import InputError

SPACING = (0.7, 1.3, 2.9)


def by_numpy(field, spacing):
    """Return the determinants from NumPy's gradients, all stored."""
    axes = len(field)
    matrices = np.array([np.gradient(component, *spacing) for component in field])
    return np.linalg.det(np.moveaxis(matrices, (0, 1), (-2, -1)) + np.eye(axes))


def by_corners(field, spacing):
    """Return the smallest determinant over forward and backward differences, voxel by voxel."""
    axes, shape = len(field), field.shape[1:]
    result = np.empty(shape)
    for place in np.ndindex(*shape):
        values = []
        for steps in product((-1, 1), repeat=axes):
            matrix = np.eye(axes)
            for axis, step in enumerate(steps):
                step = step if 0 <= place[axis] + step < shape[axis] else -step
                other = tuple(p + step * (k == axis) for k, p in enumerate(place))
                matrix[:, axis] += (field[(slice(None), *other)] - field[(slice(None), *place)]) / step / spacing[axis]
            values.append(np.linalg.det(matrix))
        result[place] = min(values)
    return result


@pytest.mark.parametrize("shape", [(6, 5), (5, 4, 6), (2, 3, 2)])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_like_numpy(shape, layout):
    field = np.random.default_rng(0).normal(0, 1, (len(shape), *shape))
    spacing = SPACING[: len(shape)]
    central = jacobian_determinants(layout(field), spacing_mm=spacing)
    np.testing.assert_allclose(central, by_numpy(field, spacing), rtol=1e-9, atol=1e-12)
    corners = jacobian_determinants(layout(field), spacing_mm=spacing, differences="corners")
    np.testing.assert_allclose(corners, by_corners(field, spacing), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("differences", ["central", "corners"])
def test_an_affine_map_has_one_determinant(differences):
    matrix = np.array([[1.1, 0.2, 0.0], [-0.1, 0.9, 0.3], [0.05, 0.0, 1.2]])
    points = np.stack(np.meshgrid(*(np.arange(4) * s for s in SPACING), indexing="ij"))
    field = np.tensordot(matrix - np.eye(3), points, axes=1)
    values = jacobian_determinants(field, spacing_mm=SPACING, differences=differences)
    np.testing.assert_allclose(values, np.linalg.det(matrix))


def test_known_folds():
    assert folded_share(np.zeros((3, 4, 4, 4))) == 0
    field = np.zeros((2, 6, 6))
    field[0, 3:] = -4.0  # the far half jumps over the near one
    assert folded_share(field) == 2 / 6
    assert folded_share(field, differences="corners") == 2 / 6
    mask = np.zeros((6, 6))
    mask[2:4] = 1
    assert folded_share(field, mask=mask) == 1
    assert np.isnan(folded_share(field, mask=np.zeros((6, 6))))


def test_alternate_folds_are_seen_by_corners_only():
    field = np.zeros((2, 8, 8))
    field[0, ::2] = 1.5
    assert folded_share(field) == 2 / 8  # the border, where differences are one-sided
    assert folded_share(field, differences="corners") == 1


def test_a_flat_field_and_one_slice():
    field = np.random.default_rng(1).normal(0, 0.1, (3, 4, 5, 1))
    flat = jacobian_determinants(field[:2, ..., 0])
    np.testing.assert_allclose(jacobian_determinants(field)[..., 0], flat)
    assert np.isnan(folded_share(np.zeros((2, 0, 4))))


def test_bad_fields():
    for field, options, message in (
        (np.zeros((3, 4, 4)), {}, "shape"),
        (np.full((2, 3, 3), np.nan), {}, "finite"),
        (np.zeros((2, 3, 3)), {"spacing_mm": (1, 0)}, "spacing"),
        (np.zeros((2, 3, 3)), {"spacing_mm": (1, 1, 1)}, "spacing"),
        (np.zeros((2, 3, 3)), {"differences": "forward"}, "'central' or 'corners'"),
        (np.zeros((2, 3, 3)), {"mask": np.ones((2, 3, 3))}, "mask"),
    ):
        with pytest.raises(InputError, match=message):
            folded_share(field, **options)


@pytest.mark.parametrize("what", laws.HOSTILE_ARRAYS)
def test_what_is_no_field_is_refused(what):
    hostile = laws.HOSTILE_ARRAYS[what](np.ones((2, 4, 4)))
    for measure in (folded_share, jacobian_determinants):
        with pytest.raises(InputError):
            measure(hostile)
