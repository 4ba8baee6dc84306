"""Boundary IoU: by hand, and against the distance of every voxel to every other."""

import numpy as np
import pytest

from podium.metrics import BoundaryBands, Overlap, boundary_bands, boundary_iou, intersection_over_union
from podium.model import InputError, LabelMap


def band(mask, width, spacing):
    """Return the voxels near the boundary, the slow, obvious way."""
    padded = np.pad(mask, 1)
    outside, result = np.argwhere(~padded), np.zeros_like(mask)
    for voxel in np.argwhere(padded):
        steps = np.abs(outside - voxel)
        touching = (steps.sum(axis=1) == 1).any()
        near = np.sqrt(np.square(steps * spacing).sum(axis=1)).min() <= width * (1 + 1e-9)
        result[tuple(voxel - 1)] = touching or near
    return result


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.7, 1.3, 2.9), (0.1, 0.1, 0.1)])
@pytest.mark.parametrize("shape", [(9, 11), (5, 7, 6)])
def test_random_masks(shape, spacing):
    spacing = spacing[: len(shape)]
    generator = np.random.default_rng(0)
    for density in (0.3, 0.95, 1.0):
        masks = generator.random((2, *shape)) < density
        for width in (0.0, 0.3, 1.5, 4.0, 99.0):
            one, two = (band(mask, width, spacing) for mask in masks)
            bands = BoundaryBands.between(*masks, width_mm=width, spacing_mm=spacing)
            assert bands == BoundaryBands(int((one & two).sum()), int(one.sum()), int(two.sum()), width)
            assert boundary_iou(bands) == pytest.approx((one & two).sum() / (one | two).sum())
            turned = BoundaryBands.between(*(np.asfortranarray(m) for m in masks), width_mm=width, spacing_mm=spacing)
            assert turned == bands


def test_a_square_by_hand():
    """Rims one pixel wide of squares 6 and 4 wide, one in the other, have no pixel in common; their areas do."""
    large, small = np.zeros((2, 10, 10), bool)
    large[2:8, 2:8] = small[3:7, 3:7] = True
    assert boundary_iou(BoundaryBands.between(large, small, width_mm=1.0)) == 0
    assert intersection_over_union(Overlap.between(large, small)) == 16 / 36
    bands = BoundaryBands.between(large, small, width_mm=2.0)
    assert (bands.common, bands.reference, bands.prediction) == (12, 32, 16)
    assert boundary_iou(bands) == 12 / 36


def test_the_width_is_two_hundredths_of_the_diagonal_of_the_image():
    masks = np.zeros((2, 300, 400), np.uint8)
    masks[:, 100:150, 100:150] = 1
    assert BoundaryBands.between(*masks).width_mm == pytest.approx(10)
    maps = [LabelMap.from_array(np.asfortranarray(mask), spacing=(2, 2)) for mask in masks]
    assert boundary_bands(*maps, regions={"all": 1})["all"].width_mm == pytest.approx(20)
    for width in (-1, np.nan, np.inf):
        with pytest.raises(InputError, match="a length from 0"):
            BoundaryBands.between(*masks, width_mm=width)
