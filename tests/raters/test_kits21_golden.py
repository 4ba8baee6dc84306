"""Real annotations: the organisers' samples, every inter-rater pair, and tolerances, to 1e-9."""

import numpy as np
import pytest
from shared_data import KITS21_REGIONS, SHARED

from podium.challenges import get_challenge
from podium.challenges.kits21.annotations import annotation_files, draw_samples
from podium.io import read_label_map
from podium.raters import TOLERANCE_PERCENTILE, Instance, read_annotations

pytestmark = pytest.mark.slow

CASES = sorted(path.name for path in (SHARED / "kits21").glob("case_*")) or ["(no cases beside the project)"]


@pytest.fixture(params=CASES, scope="module")
def measured(request, kits21, golden_kits21):
    """Return the golden values of a case, its panel, and what was measured of it."""
    challenge = get_challenge("kits21")
    case = {each.name: each for each in challenge.rated_cases(kits21)}[request.param]
    panel = challenge.panel(case)
    agreement = challenge.agreement(case, panel, percentiles=(TOLERANCE_PERCENTILE,))
    return golden_kits21["cases"][case.name], panel, agreement


def test_names_of_all_samples(kits21, golden_kits21):
    for name, golden in golden_kits21["cases"].items():
        groups = draw_samples(annotation_files(kits21 / name), case=name)
        names = {f"group_{k}": [each for each, _ in group] for k, group in enumerate(groups)}
        assert names == golden["samples"]


def test_voxels_of_all_samples(measured):
    golden, panel, _ = measured
    for number, group in enumerate(panel.panel.groups):
        for member, expected in zip(group, golden["sample_voxels"][f"group_{number}"], strict=True):
            counts = np.bincount(panel.annotations.paint(panel.samples[member]).ravel(order="K"), minlength=4)
            assert {str(label): int(counts[label]) for label in (1, 2, 3)} == {
                label: expected.get(label, 0) for label in "123"
            }


def test_every_pair(measured):
    golden, panel, agreement = measured
    names = panel.panel.members
    expected = golden["inter_rater_pairs"]
    pairs = agreement.panel.pairs
    assert [(f"group_{g}", names[i], names[j]) for g, i, j in pairs] == [
        (p["group"], p["ref"], p["pred"]) for p in expected
    ]
    for region in KITS21_REGIONS:
        for metric, short in (("dice", "dice"), ("surface_dice", "sd")):
            numbers = [pair["hec"][region][short] for pair in expected]
            assert agreement.values[metric, region] == pytest.approx(numbers, abs=1e-9)
    for place, region in enumerate(golden["tolerances_mm"]):
        numbers = [pair[place] for pair in golden["tolerance_pairs_mm"]]
        assert agreement.tolerances[region, TOLERANCE_PERCENTILE] == pytest.approx(numbers, abs=1e-9)


def test_variability_and_tolerance_of_the_case(measured):
    golden, _, agreement = measured
    for region in KITS21_REGIONS:
        for metric, short in (("dice", "dice"), ("surface_dice", "sd")):
            expected = golden["inter_rater_disagreement"][short][region]
            assert agreement.variability(metric, region) == pytest.approx(expected, abs=1e-9)
        assert agreement.tolerance(region) == pytest.approx(golden["tolerances_mm"][region], abs=1e-9)


@pytest.mark.parametrize(("method", "name"), [("majority", "MAJ"), ("intersection", "AND"), ("union", "OR")])
def test_the_organisers_aggregations(kits21, method, name):
    """Voting instance by instance and painting the result gives their aggregated files, voxel by voxel."""
    folder = kits21 / "case_00257"
    files = annotation_files(folder)
    instances = [
        Instance(kind, number, (1, 2, 3)) for kind, number in dict.fromkeys((kind, number) for kind, number, _ in files)
    ]
    annotations = read_annotations(files, painting={"kidney": 1, "cyst": 3, "tumor": 2})
    found = annotations.whole(annotations.fused(instances, method=method))
    theirs = read_label_map(folder / f"aggregated_{name}_seg.nii.gz")
    np.testing.assert_array_equal(found.array, theirs.array)
    assert theirs.geometry_differences(found) == []


def test_evaluating_on_samples_as_the_organisers_do(kits21, golden_kits21):
    """Edition `code` measures against every sample; one case was run with the majority as prediction."""
    challenge = get_challenge("kits21", edition="code")
    cases = [case for case in challenge.cases(kits21) if "MAJ_vs_samples_mean" in golden_kits21["cases"][case.name]]
    assert cases
    for case in cases:
        truth = challenge.load(case)
        values = challenge.measure(case, truth, kits21 / case.name / "aggregated_MAJ_seg.nii.gz")
        found = {(value.metric, value.target): value.value for value in values}
        for region, golden in golden_kits21["cases"][case.name]["MAJ_vs_samples_mean"].items():
            assert found["dice", region] == pytest.approx(golden["dice"], abs=1e-9)
            assert found["surface_dice", region] == pytest.approx(golden["sd"], abs=1e-9)
        people = {(v.metric, v.target): v.value for v in challenge.measure_built_in("raters", case, truth)}
        expected = golden_kits21["cases"][case.name]["inter_rater_disagreement"]
        for region in KITS21_REGIONS:
            assert people["dice", region] == pytest.approx(expected["dice"][region], abs=1e-9)
            assert people["surface_dice", region] == pytest.approx(expected["sd"][region], abs=1e-9)
