"""Overlap from counts: by hand, and against counting voxel by voxel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.metrics import (
    Overlap,
    compare,
    dice,
    intersection_over_union,
    overlap,
    precision,
    prediction_volume,
    reference_volume,
    relative_volume_difference,
    sensitivity,
    volume_difference,
    volume_similarity,
)
from podium.model import LabelMap


def test_by_hand():
    """Four voxels true, six predicted, three of them right."""
    counts = Overlap(common=3, reference=4, prediction=6, voxel_volume_mm3=2.0)
    assert dice(counts) == 6 / 10
    assert intersection_over_union(counts) == 3 / 7
    assert sensitivity(counts) == 3 / 4
    assert precision(counts) == 3 / 6
    assert reference_volume(counts) == 8
    assert prediction_volume(counts) == 12
    assert volume_difference(counts) == 4
    assert relative_volume_difference(counts) == 0.5
    assert volume_similarity(counts) == 1 - 2 / 10


def test_a_missed_structure_is_never_better_than_a_found_one():
    missed, found = Overlap(0, 10, 0), Overlap(1, 10, 100)
    assert dice(missed) < dice(found)
    assert np.isnan(precision(missed))
    assert np.isnan(sensitivity(Overlap(0, 0, 10)))


@given(seed=st.integers(0, 10_000), dimensions=st.sampled_from((2, 3)), largest=st.sampled_from((1, 4, 300, 70_000)))
def test_like_counting(seed, dimensions, largest):
    generator = np.random.default_rng(seed)
    shape = tuple(generator.integers(1, 9, dimensions))
    values = np.array([0, 0, 1, max(largest // 2, 1), largest])
    reference, prediction = values[generator.integers(0, 5, (2, *shape))]
    regions = {"one": (1,), "most": (1, largest), "last": (largest,), "absent": (99_999_999,)}
    measured = overlap(reference, prediction, regions=regions, spacing_mm=(2.0,) * dimensions)
    for name, labels in regions.items():
        one, two = np.isin(reference, labels), np.isin(prediction, labels)
        expected = Overlap(int((one & two).sum()), int(one.sum()), int(two.sum()), 2.0**dimensions)
        assert measured[name] == expected


def test_label_maps_and_arrays_agree():
    generator = np.random.default_rng(1)
    arrays = generator.integers(0, 4, (2, 6, 5, 4))
    maps = [LabelMap.from_array(np.asfortranarray(array), spacing=(1, 2, 3)) for array in arrays]
    regions = {"a": (1,), "b": (2, 3)}
    assert overlap(*maps, regions=regions) == overlap(*arrays, regions=regions, spacing_mm=(1, 2, 3))


def test_compare_measures_everything_once():
    generator = np.random.default_rng(2)
    reference, prediction = generator.integers(0, 3, (2, 6, 5, 4))
    result = compare(reference, prediction, regions={"one": (1,), "gone": (7,)}, tolerances_mm=(1, 2.5))
    names = [measured.name for measured in result["one"].values]
    assert len(names) == len(set(names))
    assert {"dice", "surface_dice@1mm", "surface_dice@2.5mm", "hausdorff_distance_95", "centre_distance"} <= set(names)
    assert result["one"].values[0].value == dice(result["one"].overlap)
    gone = {measured.name: measured.value for measured in result["gone"].values}
    assert gone["dice"] == gone["surface_dice@1mm"] == 1
    assert gone["hausdorff_distance"] == gone["centre_distance"] == gone["reference_volume"] == 0
    with pytest.raises(ValueError, match="labels from 1"):
        compare(reference, prediction, regions={"background": (0,)})
