"""Real CT annotations: the organisers' numbers, DeepMind's and MONAI's, for every case and pair."""

import numpy as np
import peers
import pytest
from shared_data import KITS21_REGIONS, SHARED

from podium.io import read_label_map
from podium.metrics import (
    dice,
    hausdorff_distance,
    hausdorff_distance_95,
    mean_average_surface_distance,
    overlap,
    surface_dice,
    surface_distances,
)

CASES = sorted(path.name for path in (SHARED / "kits21").glob("case_*")) or ["(no cases beside the project)"]


@pytest.fixture(params=CASES)
def case(request, kits21):
    return kits21 / request.param


@pytest.fixture(params=["AND", "OR"])
def pair(request, case):
    reference, prediction = (read_label_map(case / f"aggregated_{name}_seg.nii.gz") for name in ("MAJ", request.param))
    return case.name, request.param, reference, prediction


in_short = pytest.mark.parametrize("pair", ["AND", pytest.param("OR", marks=pytest.mark.heavy)], indirect=True)


def test_dice_and_surface_dice_are_the_organisers(pair, golden_kits21):
    case, name, reference, prediction = pair
    golden = golden_kits21["cases"][case]["aggregated_vs_MAJ"][name]
    overlaps = overlap(reference, prediction, regions=KITS21_REGIONS)
    surfaces = surface_distances(reference, prediction, regions=KITS21_REGIONS)
    for region, tolerance in golden_kits21["sd_tolerances_mm_in_repo"].items():
        assert dice(overlaps[region]) == pytest.approx(golden[region]["dice"], abs=1e-9)
        assert surface_dice(surfaces[region], tolerance_mm=tolerance) == pytest.approx(golden[region]["sd"], abs=1e-9)


def test_voxel_counts_are_the_organisers(case, golden_kits21):
    for name, counts in golden_kits21["cases"][case.name]["voxels"].items():
        labels = read_label_map(case / f"aggregated_{name}_seg.nii.gz").labels
        assert {label: labels.get(int(label), 0) for label in counts} == counts


@pytest.mark.slow
@in_short
def test_distances_are_deepminds(pair):
    _, _, reference, prediction = pair
    surfaces = surface_distances(reference, prediction, regions=KITS21_REGIONS)
    for region, labels in KITS21_REGIONS.items():
        ours = surfaces[region]
        masks = (np.isin(label_map.array, labels) for label_map in (reference, prediction))
        theirs = peers.deepmind(*masks, reference.spacing)
        for percentile in (50, 95, 100):
            expected = peers.deepmind_hausdorff(theirs, percentile)
            assert hausdorff_distance(ours, percentile=percentile) == pytest.approx(expected, abs=1e-9)
        expected = peers.deepmind_average(theirs)
        assert (ours.from_reference.mean, ours.from_prediction.mean) == pytest.approx(expected, abs=1e-9)
        assert mean_average_surface_distance(ours) == pytest.approx(np.mean(expected), abs=1e-9)
        for tolerance in (0.0, 1.0, 2.5):
            expected = peers.deepmind_surface_dice(theirs, tolerance)
            assert surface_dice(ours, tolerance_mm=tolerance) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@in_short
def test_voxel_distances_are_monais(pair):
    _, _, reference, prediction = pair
    box = tuple(slice(max(s.start - 2, 0), s.stop + 2) for s in reference.box.union(prediction.box).slices)
    surfaces = surface_distances(reference, prediction, regions=KITS21_REGIONS, boundary="voxel")
    for region, labels in KITS21_REGIONS.items():
        masks = (np.isin(label_map.array[box], labels) for label_map in (reference, prediction))
        theirs = peers.monai(*masks, reference.spacing, percentile=95)
        assert hausdorff_distance_95(surfaces[region]) == pytest.approx(theirs["hausdorff"], rel=1e-6)
        assert surfaces[region].from_prediction.mean == pytest.approx(theirs["to_reference"], rel=1e-6)
        assert surfaces[region].from_reference.mean == pytest.approx(theirs["to_prediction"], rel=1e-6)
