"""Structures prepared once give the numbers that two label maps would give."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.metrics import StructurePair, centres, overlap, structures, surface_distances
from podium.model import InputError, LabelMap

REGIONS = {"all": (1, 2, 3), "two": (2,), "none": (9,)}


def same(pair, overlaps, distances, middles):
    assert astuple(pair.overlap) == pytest.approx(astuple(overlaps), rel=1e-12)
    assert pair.distances.empty == distances.empty
    for own, other in zip(pair.distances.directed, distances.directed, strict=True):
        # Squares are summed along other axes first, so that equal distances may differ in the last digit.
        assert own.counts.sum() == other.counts.sum()
        expanded = [np.repeat(each.distances, each.counts) for each in (own, other)]
        np.testing.assert_allclose(*expanded, rtol=1e-12)
        if own.counts.size:
            np.testing.assert_allclose(own.sizes.sum(), other.sizes.sum(), rtol=1e-12)
            np.testing.assert_allclose(own.mean, other.mean, rtol=1e-12)
    for own, other in (
        (pair.centres.reference, middles.reference),
        (pair.centres.prediction, middles.prediction),
    ):
        assert (own is None) == (other is None)
        if own is not None:
            np.testing.assert_allclose(own, other, rtol=1e-12)
    assert pair.centres.spacing_mm == middles.spacing_mm


def check(one, two, spacing, boundary):
    prepared = [structures(each, regions=REGIONS, boundary=boundary) for each in (one, two)]
    overlaps = overlap(one, two, regions=REGIONS, spacing_mm=spacing)
    distances = surface_distances(one, two, regions=REGIONS, spacing_mm=spacing, boundary=boundary)
    middles = centres(one, two, regions=REGIONS, spacing_mm=spacing)
    for region in REGIONS:
        pair = StructurePair(prepared[0][region], prepared[1][region], spacing)
        same(pair, overlaps[region], distances[region], middles[region])
        np.testing.assert_array_equal(prepared[0][region].mask(), np.isin(np.asarray(one), REGIONS[region]))


@given(
    shape=st.lists(st.integers(1, 7), min_size=2, max_size=3),
    seed=st.integers(0, 2**32 - 1),
    share=st.sampled_from([0.0, 0.02, 0.3, 0.9]),
    order=st.sampled_from("CF"),
    boundary=st.sampled_from(["surfel", "voxel"]),
)
def test_as_two_label_maps_would(shape, seed, share, order, boundary):
    generator = np.random.default_rng(seed)
    one, two = (
        np.asarray(generator.integers(1, 4, shape) * (generator.random(shape) < share), np.uint8, order=order)
        for _ in range(2)
    )
    check(one, two, tuple(generator.uniform(0.4, 5, len(shape)).tolist()), boundary)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("boundary", ["surfel", "voxel"])
def test_far_apart_and_wide_labels(dtype, boundary):
    """Farther than anything that is probed, so that the distance is found another way."""
    one, two = np.zeros((2, 60, 50, 40), dtype)
    one[2:5, 2:5, 2:5], two[50:58, 40:44, 30:39] = 1, 2
    two[3, 3, 3] = 3
    check(one, two, (1.0, 0.7, 3.0), boundary)


def test_a_label_map_and_its_array_are_the_same():
    labels = np.zeros((9, 8, 7), np.uint8, order="F")
    labels[2:6, 1:5, 3:6] = 1
    label_map = LabelMap.from_array(labels)
    for given_labels in (labels, np.ascontiguousarray(labels), label_map):
        found = structures(given_labels, regions={"one": (1,)})["one"]
        assert found.voxels == 48
        np.testing.assert_array_equal(found.mask(), labels == 1)


@pytest.mark.parametrize("boundary", ["surfel", "voxel"])
def test_cut_out_of_an_image(boundary):
    labels = np.random.default_rng(3).integers(0, 3, (9, 8, 7)).astype(np.uint8)
    whole = np.zeros((20, 15, 12), np.uint8)
    whole[4:13, 7:15, 0:7] = labels
    cut = structures(labels, regions=REGIONS, boundary=boundary, grid=whole.shape, lower=(4, 7, 0))
    for region, structure in structures(whole, regions=REGIONS, boundary=boundary).items():
        np.testing.assert_array_equal(cut[region].runs, structure.runs)
        np.testing.assert_array_equal(cut[region].positions, structure.positions)
        np.testing.assert_array_equal(cut[region].corners, structure.corners)
        np.testing.assert_array_equal(cut[region].sums, structure.sums)


def test_more_than_eight_regions():
    labels = np.arange(27, dtype=np.uint8).reshape(3, 3, 3)
    regions = {str(label): (label,) for label in range(1, 20)}
    for name, structure in structures(labels, regions=regions).items():
        np.testing.assert_array_equal(structure.mask(), labels == int(name))


def test_what_cannot_be_compared():
    labels = np.ones((3, 3, 3), np.uint8)
    one = structures(labels, regions={"a": (1,)})["a"]
    with pytest.raises(InputError, match="same grid"):
        StructurePair(one, structures(labels[:2], regions={"a": (1,)})["a"])
    with pytest.raises(InputError, match="same kind of boundary"):
        StructurePair(one, structures(labels, regions={"a": (1,)}, boundary="voxel")["a"])
    with pytest.raises(InputError, match="do not lie in a grid"):
        structures(labels, regions={"a": (1,)}, grid=(5, 5, 4), lower=(0, 0, 2))
    with pytest.raises(InputError, match="no boundary called 'edge'"):
        structures(labels, regions={"a": (1,)}, boundary="edge")


def test_threads_do_not_share_their_marks():
    generator = np.random.default_rng(0)
    maps = [(generator.random((20, 20, 20)) < 0.2).astype(np.uint8) for _ in range(6)]
    prepared = [structures(each, regions={"a": (1,)})["a"] for each in maps]
    pairs = [StructurePair(one, two) for one in prepared for two in prepared] * 4
    alone = [pair.distances.from_reference.mean for pair in pairs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda pair: pair.distances.from_reference.mean, pairs))
    assert together == alone
