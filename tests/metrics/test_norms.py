"""Chessboard and taxicab distances: every element against every other, and MONAI."""

import brute_force
import numpy as np
import peers
import pytest

from podium.metrics import (
    average_symmetric_surface_distance,
    hausdorff_distance,
    normed_surface_distances,
    surface_dice,
    surface_distances,
)
from podium.model import InputError, LabelMap

LENGTHS = {"chessboard": lambda steps: steps.max(axis=-1), "taxicab": lambda steps: steps.sum(axis=-1)}


@pytest.mark.parametrize("norm", LENGTHS)
@pytest.mark.parametrize("boundary", ["surfel", "voxel"])
@pytest.mark.parametrize("shape", [(9, 11), (5, 7, 6)])
def test_random_masks(shape, boundary, norm):
    spacing = (0.7, 1.3, 2.9)[: len(shape)]
    generator = np.random.default_rng(0)
    for densities in ((0.3, 0.3), (0.02, 0.9), (1.0, 0.05), (0.0, 0.5), (0.0, 0.0)):
        masks = [generator.random(shape) < density for density in densities]
        measured = normed_surface_distances(
            *masks, norm=norm, regions={"mask": 1}, spacing_mm=spacing, boundary=boundary
        )["mask"]
        elements = [brute_force.boundary_elements(mask, spacing, boundary) for mask in masks]
        for own, other, ours in zip(elements, elements[::-1], measured.directed, strict=True):
            distances = np.array([LENGTHS[norm](np.abs(other[0] - place)).min(initial=np.inf) for place in own[0]])
            np.testing.assert_allclose(
                np.repeat(ours.distances, ours.counts), np.sort(distances), rtol=1e-12, atol=1e-12
            )
            assert ours.sizes.sum() == pytest.approx(own[1].sum())
            for tolerance in (0.85, 1.55, 4.15):
                assert ours.sizes[ours.distances <= tolerance].sum() == pytest.approx(
                    own[1][distances <= tolerance].sum()
                )


@pytest.mark.slow
@pytest.mark.parametrize("norm", LENGTHS)
@pytest.mark.parametrize("shape", [(14, 17), (9, 11, 8)])
def test_like_monai(shape, norm):
    masks = np.random.default_rng(3).random((2, *shape)) < 0.15
    ours = normed_surface_distances(*masks, norm=norm, regions={"mask": 1})["mask"]
    theirs = peers.monai(*masks, (1.0,) * len(shape), metric=norm)
    assert hausdorff_distance(ours) == pytest.approx(theirs["hausdorff"], rel=1e-6)
    assert average_symmetric_surface_distance(ours) == pytest.approx(theirs["symmetric"], rel=1e-6)
    assert theirs == pytest.approx(peers.monai(*masks, (2.0,) * len(shape), metric=norm))  # spacing is without effect


def test_between_the_norms_lies_the_euclidean():
    maps = [
        LabelMap.from_array(np.asfortranarray(mask.astype(np.uint8)), spacing=(1, 2, 3))
        for mask in np.random.default_rng(5).random((2, 9, 8, 7)) < 0.1
    ]
    near, far = (normed_surface_distances(*maps, norm=norm, regions={"mask": 1}, boundary="surfel") for norm in LENGTHS)
    middle = surface_distances(*maps, regions={"mask": 1})["mask"]
    for tolerance in (1, 2, 3, 5):
        shares = [round(surface_dice(d, tolerance_mm=tolerance), 12) for d in (far["mask"], middle, near["mask"])]
        assert shares == sorted(shares)
    assert hausdorff_distance(near["mask"]) <= hausdorff_distance(middle) <= hausdorff_distance(far["mask"])


def test_an_unknown_norm_is_refused():
    with pytest.raises(InputError, match="'chessboard' or 'taxicab'"):
        normed_surface_distances(np.ones((3, 3)), np.ones((3, 3)), norm="manhattan", regions={"mask": 1})
