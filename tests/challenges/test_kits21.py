"""KiTS21: its numbers on real cases, its grid checks, and leaderboards computed by hand."""

import json
import shutil
from pathlib import Path

import nibabel
import numpy as np
import polars as pl
import pytest
from boards import board_of, measurements

import podium
from podium.challenges import get_challenge
from podium.challenges.kinds import SegmentationChallenge
from podium.challenges.kinds.expressing import in_toml
from podium.challenges.kinds.toml_files import parse_challenge
from podium.io import write_label_map
from podium.model import InputError, LabelMap, Role, Status
from podium.run import Problem, Submission, measure_all

REGIONS = ("kidney_and_mass", "mass", "tumor")


@pytest.fixture
def kidney(tmp_path):
    """Return a truth folder with one case, and a function that writes predictions."""
    labels = np.zeros((20, 18, 16), np.uint8)
    labels[4:14, 4:12, 4:12] = 1
    labels[6:9, 6:9, 6:9] = 2
    folder = tmp_path / "truth"
    folder.mkdir()
    write_label_map(folder / "case_00000.nii.gz", LabelMap.from_array(labels, spacing=(1, 1, 3)))

    def predict(array=labels, spacing=(1, 1, 3)):
        path = tmp_path / "case_00000.nii.gz"
        write_label_map(path, LabelMap.from_array(array, spacing=spacing))
        return path

    return folder, labels, predict


def measured(challenge, folder, prediction):
    case = challenge.cases(folder)[0]
    return {(v.metric, v.target): v for v in challenge.measure(case, challenge.load(case), prediction)}


def test_it_is_its_toml_with_methods_replaced():
    challenge = get_challenge("kits21")
    declared = parse_challenge(in_toml(challenge))
    assert isinstance(challenge, SegmentationChallenge)
    for name in set(type(declared).model_fields) - {"name", "title", "words"}:
        assert getattr(challenge, name) == getattr(declared, name), name
    assert (challenge.title, challenge.page, challenge.summary) == (declared.title, declared.page, declared.summary)
    assert sorted(challenge.options) == sorted(("edition", *challenge.option_names())), "a run holds its options only"
    assert "labels" not in challenge.option_names()


def test_the_organisers_numbers(kits21, golden_kits21):
    """AND and OR as predictions of MAJ: to 1e-9, in both editions, since all headers agree."""
    for edition in ("document", "code"):
        challenge = get_challenge("kits21", edition=edition, references="aggregated")
        cases = challenge.cases(kits21)
        assert [case.name for case in cases] == sorted(golden_kits21["cases"])
        for case in cases:
            truth = challenge.load(case)
            for name, golden in golden_kits21["cases"][case.name]["aggregated_vs_MAJ"].items():
                values = challenge.measure(case, truth, kits21 / case.name / f"aggregated_{name}_seg.nii.gz")
                found = {(v.metric, v.target): v.value for v in values}
                for region in REGIONS:
                    assert found["dice", region] == pytest.approx(golden[region]["dice"], abs=1e-9)
                    assert found["surface_dice", region] == pytest.approx(golden[region]["sd"], abs=1e-9)


def test_code_takes_the_spacing_of_the_prediction(kits21, golden_kits21, tmp_path):
    behaviour = golden_kits21["behaviours"]["prediction_header_spacing_is_used"]
    from podium.io import read_label_map

    case = kits21 / "case_00257"
    prediction = read_label_map(case / "aggregated_AND_seg.nii.gz")
    path = tmp_path / "case_00257.nii.gz"
    write_label_map(path, LabelMap.from_array(prediction.array, spacing=(1, 1, 1)))
    challenge = get_challenge("kits21", edition="code", references="aggregated")
    found = {c.name: c for c in challenge.cases(kits21)}["case_00257"]
    values = {(v.metric, v.target): v.value for v in challenge.measure(found, challenge.load(found), path)}
    for region in REGIONS:
        assert values["surface_dice", region] == pytest.approx(behaviour["header_1_1_1"][region]["sd"], abs=1e-9)
    document = get_challenge("kits21")
    truth = document.load(found)
    with pytest.raises(InputError, match="wrong geometry"):
        document.measure(found, truth, path)


def test_a_perfect_prediction_and_an_empty_region(kidney):
    folder, labels, predict = kidney
    challenge = get_challenge("kits21")
    assert {v.value for v in measured(challenge, folder, predict()).values()} == {1.0}
    without_tumour = measured(challenge, folder, predict(np.minimum(labels, 1)))
    assert without_tumour["dice", "kidney_and_mass"].value == 1
    assert without_tumour["dice", "tumor"].value == without_tumour["surface_dice", "tumor"].value == 0


def test_grids_must_agree(kidney):
    folder, labels, predict = kidney
    challenge = get_challenge("kits21")
    with pytest.raises(InputError, match="wrong shape: 20 × 18 × 15 voxels, the reference has 20 × 18 × 16"):
        measured(challenge, folder, predict(labels[:, :, :15]))
    with pytest.raises(InputError, match="wrong geometry: reference and prediction have spacing 1 1 3 and 1 1 2 mm"):
        measured(challenge, folder, predict(spacing=(1, 1, 2)))
    accepted = measured(get_challenge("kits21", geometry="shape"), folder, predict(spacing=(1, 1, 2)))
    assert accepted["dice", "tumor"].value == 1
    assert "spacing 1 1 3 and 1 1 2 mm differ" in accepted["dice", "tumor"].reason
    assert accepted["dice", "tumor"].status is Status.OK


def test_strange_labels_are_refused(kidney):
    folder, labels, predict = kidney
    with pytest.raises(InputError, match="label 4 is none of 0, 1, 2, 3"):
        measured(get_challenge("kits21"), folder, predict(labels + 2))
    assert get_challenge("kits21").check(None, predict(labels + 2)) == ["label 4 is none of 0, 1, 2, 3"]


@pytest.fixture
def team(kidney, tmp_path):
    """Return a submission of one case, the truth itself, as nibabel reads it."""
    folder, _, _ = kidney
    path = tmp_path / "team" / "case_00000.nii.gz"
    path.parent.mkdir()
    shutil.copy(folder / path.name, path)
    return nibabel.load(path)


def said(image, folder, **options):
    """Save a prediction, and return what check says of it and whether evaluate accepts it."""
    path = Path(image.get_filename())
    nibabel.save(image, path)
    problems = podium.check("kits21", path.parent, truth=folder, options=options)
    evaluation = measure_all(
        get_challenge("kits21", **options), truth=folder, submissions=[Submission("team", path.parent)]
    )
    return problems, all(status == "warning" for *_, status, _ in evaluation.failures)


def changed(image, array=None, affine=None):
    data = np.asarray(image.dataobj) if array is None else array
    other = nibabel.Nifti1Image(data, image.affine if affine is None else affine)
    other.set_filename(image.get_filename())
    return other


def test_mistakes_that_are_accepted_are_warnings(kidney, team):
    folder, labels, _ = kidney
    assert said(team, folder) == ([], True)
    for array, words in (
        (np.zeros_like(labels), "everything is background"),
        (np.array([0, 2, 1], np.uint8)[labels], "labels 1 and 2 look swapped"),
        (labels[::-1], "looks flipped left–right"),
        (labels[:, ::-1], "looks flipped anterior–posterior"),
    ):
        (problem,), accepted = said(changed(team, array), folder)
        assert accepted
        assert problem.warning
        assert problem.what.startswith(words)
    nibabel.save(changed(team, np.zeros_like(labels)), team.get_filename())
    nothing = Problem("case_00000.nii.gz", "everything is background: no voxel has a label", warning=True)
    folder = Path(team.get_filename()).parent
    assert podium.check("kits21", folder) == [nothing]
    Path(team.get_filename()).rename(folder / "case_00000_0000.nii.gz")
    problems = podium.check("kits21", folder)
    assert [problem.warning for problem in problems] == [True, True]
    assert any(problem.what.startswith("this is called like an image of nnU-Net") for problem in problems)


def test_a_header_without_its_voxels_and_both_together_get_opposite_advice(kidney, team):
    folder, labels, _ = kidney
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0])
    mirror[0, 3] = labels.shape[0] - 1
    alone = changed(team, affine=team.affine @ mirror)
    (doubt, problem), accepted = said(alone, folder)
    assert not accepted
    assert problem.what.startswith("wrong geometry")
    assert (problem.warning, doubt.warning) == (False, True)
    assert doubt.what.startswith(
        "the header was changed and the voxels were not: by its header it is flipped left–right"
    )
    (doubt, problem), accepted = said(changed(team, labels[::-1], team.affine @ mirror), folder)
    assert not accepted
    assert "its header alone is right only for voxels in its order" in problem.what
    assert doubt.what.startswith("voxels and header were reoriented together")
    assert doubt.what.endswith("the truth's header alone would leave it flipped left–right")
    problems, accepted = said(changed(team, labels[::-1], team.affine @ mirror), folder, geometry="shape")
    assert accepted
    assert all(problem.warning for problem in problems)


def test_the_folder_that_nnunet_fills_is_accepted(kidney, team, tmp_path):
    folder, _, _ = kidney
    for name in ("dataset.json", "plans.json", "predict_from_raw_data_args.json"):
        (tmp_path / "team" / name).write_text('{"labels": {"background": 0}}')
    assert said(team, folder) == ([], True)
    assert podium.check("kits21", tmp_path / "team") == []


def six(values, **more):
    """Return measurements where a team has the same value in all six quantities of a case."""
    return measurements(
        {
            team: {
                case: {(m, r): value for m in ("dice", "surface_dice") for r in REGIONS}
                for case, value in cases.items()
            }
            for team, cases in values.items()
        },
        **more,
    )


def test_a_leaderboard_by_hand():
    """Six ranks of means; equal means share; a failed case counts 0."""
    table = six({"a": {"c1": 0.9, "c2": 0.7}, "b": {"c1": 0.8, "c2": 0.8}, "c": {"c1": 0.9, "c2": 0.0}})
    board = board_of("kits21", table)
    assert [(e.submission, e.place, e.values["average_rank"]) for e in board.entries] == [
        ("a", 1, 1.0),
        ("b", 1, 1.0),
        ("c", 3, 3.0),
    ]
    assert board.entries[2].values["dice_tumor"] == 0.45


def test_six_ranks_can_disagree():
    values = {
        "a": {("dice", r): 0.9 for r in REGIONS} | {("surface_dice", r): 0.5 for r in REGIONS},
        "b": {("dice", r): 0.8 for r in REGIONS} | {("surface_dice", r): 0.6 for r in REGIONS},
        "c": {("dice", r): 0.7 for r in REGIONS} | {("surface_dice", r): 0.7 for r in REGIONS},
    }
    values["c"]["dice", "tumor"] = 0.95
    board = board_of("kits21", measurements({team: {"c1": quantities} for team, quantities in values.items()}))
    # Dice ranks: a 1 1 2, b 2 2 3, c 3 3 1; surface Dice ranks: a 3 3 3, b 2 2 2, c 1 1 1.
    averages = {e.submission: e.values["average_rank"] for e in board.entries}
    assert averages == pytest.approx({"a": 13 / 6, "b": 13 / 6, "c": 10 / 6})
    assert [(e.submission, e.place) for e in board.entries] == [("c", 1), ("a", 2), ("b", 2)]


def test_baselines_and_those_who_failed_everywhere_shift_nobody():
    table = six({"a": {"c1": 0.5}, "b": {"c1": 0.4}, "best-baseline": {"c1": 0.99}})
    lost = six({"lost": {"c1": 0.0}}, status="missing")
    board = board_of("kits21", pl.concat([table, lost]), roles={"best-baseline": Role.BASELINE})
    assert [(e.submission, e.place, e.remark) for e in board.entries] == [
        ("a", 1, ""),
        ("b", 2, ""),
        ("lost", None, "every case failed"),
        ("best-baseline", None, "baseline"),
    ]


def test_one_team_alone():
    board = board_of("kits21", six({"a": {"c1": 0.0}}))
    assert [(e.submission, e.place) for e in board.entries] == [("a", 1)]


def test_code_has_two_ranks():
    board = board_of("kits21", six({"a": {"c1": 0.5}, "b": {"c1": 0.4}}), edition="code")
    assert [c.name for c in board.columns if c.name.endswith("_rank") and c.name != "average_rank"] == [
        "dice_all_rank",
        "surface_dice_all_rank",
    ]
    json.dumps([dict(entry.values) for entry in board.entries], allow_nan=False)
