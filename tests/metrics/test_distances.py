"""Median, deviation and any percentile of surface distances: by hand, and against the plain list of distances."""

import numpy as np
import peers
import pytest

from podium.metrics import (
    DirectedDistances,
    SurfaceDistances,
    hausdorff_distance,
    median_surface_distance,
    surface_distance_deviation,
)


def directed(*distances):
    values, counts = np.unique(np.array(distances, float), return_counts=True)
    return DirectedDistances(values, counts.astype(float), counts)


def test_by_hand():
    """Distances 0, 0, 1 one way and 3 the other: pooled median ½, mean 1, deviation √(6 / 4)."""
    voxels = SurfaceDistances(directed(0, 0, 1), directed(3), "voxel")
    assert median_surface_distance(voxels) == 0.5
    assert surface_distance_deviation(voxels) == pytest.approx(np.sqrt(6 / 4))
    surfels = SurfaceDistances(directed(0, 0, 1), directed(3), "surfel")
    assert median_surface_distance(surfels) == 0  # half of the area lies at 0
    assert surface_distance_deviation(surfels) == pytest.approx(np.sqrt(6 / 4))


@pytest.mark.parametrize("shape", [(17, 23), (9, 11, 8)])
def test_like_medpys_distances(shape):
    pooled = getattr(peers.medpy(), "__surface_distances")
    for seed in range(3):
        one, two = np.random.default_rng(seed).random((2, *shape)) < 0.2
        spacing = (0.7, 1.3, 2.9)[: len(shape)]
        ours = SurfaceDistances.between(one, two, spacing_mm=spacing, boundary="voxel")
        both = [pooled(one, two, spacing), pooled(two, one, spacing)]
        together = np.concatenate(both)
        assert median_surface_distance(ours) == pytest.approx(np.median(together))
        assert surface_distance_deviation(ours) == pytest.approx(np.std(together))
        for percentile in (1, 12.5, 50, 90, 99.9):
            larger = max(np.percentile(distances, percentile) for distances in both)
            assert hausdorff_distance(ours, percentile=percentile) == pytest.approx(larger)


@pytest.mark.parametrize("percentile", [1, 12.5, 50, 90, 99.9])
def test_any_percentile_like_deepmind(percentile):
    one, two = np.random.default_rng(7).random((2, 9, 11, 8)) < 0.2
    theirs = peers.deepmind(one, two, (0.7, 1.3, 2.9))
    ours = SurfaceDistances.between(one, two, spacing_mm=(0.7, 1.3, 2.9))
    assert hausdorff_distance(ours, percentile=percentile) == pytest.approx(
        peers.deepmind_hausdorff(theirs, percentile), abs=1e-12
    )
