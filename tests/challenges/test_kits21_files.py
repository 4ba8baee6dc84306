"""KiTS21 as its organisers' repository writes it: what containers answer, and annotations that are lacking."""

import json

import annotated
import numpy as np
import pytest
import SimpleITK
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.cli import app
from podium.io import write_label_map
from podium.model import InputError, LabelMap
from podium.testing import assert_check_agrees

REGIONS = ("kidney_and_mass", "mass", "tumor")
AFFINE = np.array([[0, 0, -0.8, 0], [0, -0.8, 0, 0], [-3.0, 0, 0, 0], [0, 0, 0, 1]])  # as in the published NIfTI files


def write_nifti(path, array):
    nibabel = pytest.importorskip("nibabel")
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(array, AFFINE), path)
    return path


def answer_as_container(image, output):
    """Write what the organisers' run_inference.py does: an array in SimpleITK's axes with the input's geometry."""
    given = SimpleITK.ReadImage(str(image))
    answer = SimpleITK.GetImageFromArray(SimpleITK.GetArrayFromImage(given).astype(np.uint8))
    answer.SetOrigin(given.GetOrigin())
    answer.SetSpacing(given.GetSpacing())
    answer.SetDirection(given.GetDirection())
    output.parent.mkdir(parents=True, exist_ok=True)
    SimpleITK.WriteImage(answer, str(output))


@pytest.fixture
def truth(tmp_path):
    labels = np.zeros((8, 20, 24), np.uint8)
    labels[1:7, 3:15, 4:16] = 1
    labels[2:5, 5:9, 6:12] = 2
    for number in range(2):
        write_nifti(tmp_path / "truth" / f"case_{number:05d}" / "aggregated_MAJ_seg.nii.gz", labels)
    return tmp_path / "truth"


def test_mha_in_a_folder(truth, tmp_path):
    """Written by a container for the backend's conversion of the NIfTI images, named like its input."""
    for case in ("case_00000", "case_00001"):
        answer_as_container(truth / case / "aggregated_MAJ_seg.nii.gz", tmp_path / "teams" / "ours" / f"{case}.mha")
    run = podium.evaluate("kits21", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert set(run.measurements["value"]) == {1.0}
    assert run.failures.is_empty()
    assert podium.check("kits21", tmp_path / "teams" / "ours", truth=truth) == []
    assert podium.check("kits21", tmp_path / "teams" / "ours") == []


@pytest.mark.parametrize("place", ["images", "output/images"])
def test_what_a_container_put_out_beside_other_things(truth, tmp_path, place):
    """All cases in one folder, each called like its input; logs lie beside."""
    team = tmp_path / "teams" / "ours"
    for case in ("case_00000", "case_00001"):
        output = team / place / "kidney-tumor-and-cyst" / f"{case}.mha"
        answer_as_container(truth / case / "aggregated_MAJ_seg.nii.gz", output)
    (team / "log.txt").write_text("done")
    run = podium.evaluate("kits21", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert set(run.measurements["value"]) == {1.0}
    assert run.failures["reason"].to_list() == ["log.txt: unexpected file"]
    for given in (truth, None):
        assert [(problem.file, problem.warning) for problem in podium.check("kits21", team, truth=given)] == [
            ("log.txt", True)
        ]


def test_a_container_that_was_run_once_for_each_case(truth, tmp_path):
    """The image may then be called anything: the folder says which case it is."""
    for case in ("case_00000", "case_00001"):
        output = tmp_path / "teams" / "ours" / case / "output" / "images" / "kidney-tumor-and-cyst" / "5f0c-1.mha"
        answer_as_container(truth / case / "aggregated_MAJ_seg.nii.gz", output)
    run = podium.evaluate("kits21", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert set(run.measurements["value"]) == {1.0}
    assert run.failures.is_empty()


def test_as_downloaded_from_the_platform(truth, tmp_path):
    """An image may be called anything: predictions.json says which input, and so which case, a job was about."""
    team = tmp_path / "teams" / "ours"
    jobs = []
    for number, case in enumerate(("case_00001", "case_00000")):
        output = team / f"job-{number}" / "output" / "images" / "kidney-tumor-and-cyst" / f"{number}f0c.mha"
        answer_as_container(truth / case / "aggregated_MAJ_seg.nii.gz", output)
        places = {name: {"slug": name, "relative_path": f"images/{name}"} for name in ("ct", "kidney-tumor-and-cyst")}
        jobs.append(
            {
                "pk": f"job-{number}",
                "inputs": [{"image": {"name": f"{case}.mha"}, "interface": places["ct"]}],
                "outputs": [{"image": {"name": output.name}, "interface": places["kidney-tumor-and-cyst"]}],
            }
        )
    (team / "predictions.json").write_text(json.dumps(jobs))
    run = podium.evaluate("kits21", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert set(run.measurements["value"]) == {1.0}
    assert run.failures.is_empty()
    assert_check_agrees(get_challenge("kits21"), truth=truth, submission=team, scratch=tmp_path / "damaged")


def test_outputs_of_a_download_are_opened_without_the_truth_too(truth, tmp_path):
    """Which case one is of cannot be told, but that it is no label map can."""
    folder = tmp_path / "input"
    entry = platform_job(folder, ("case_00000",), ["5f0c.mha"])
    (folder / "predictions.json").write_text(json.dumps([entry, 7, {"pk": "../job", "outputs": entry["outputs"]}]))
    (said,) = podium.check("kits21", folder)
    assert said.warning
    output = folder / "job" / "output" / "images" / "kidney-tumor-and-cyst" / "5f0c.mha"
    output.write_bytes(b"junk")
    for given in (truth, None):
        problems = {problem.file: problem for problem in podium.check("kits21", folder, truth=given)}
        problem = problems["job/output/images/kidney-tumor-and-cyst/5f0c.mha"]
        assert problem.what.startswith("this is not MetaImage")
        assert not problem.warning
    (folder / "predictions.json").write_text("{")
    (problem,) = [problem for problem in podium.check("kits21", folder) if not problem.warning]
    assert problem.file == "predictions.json"


def platform_job(folder, cases, images):
    """Put out images of one job, and return its entry of predictions.json."""
    for case, image in zip(cases, images, strict=True):
        output = folder / "job" / "output" / "images" / "kidney-tumor-and-cyst" / image
        answer_as_container(folder.parent / "truth" / case / "aggregated_MAJ_seg.nii.gz", output)
    places = {name: {"slug": name, "relative_path": f"images/{name}"} for name in ("ct", "kidney-tumor-and-cyst")}
    return {
        "pk": "job",
        "inputs": [{"image": {"name": f"{case}.mha"}, "interface": places["ct"]} for case in cases],
        "outputs": [{"image": {"name": name}, "interface": places["kidney-tumor-and-cyst"]} for name in images],
        "started_at": "2021-09-01T12:00:00Z",
        "completed_at": "2021-09-01T12:01:00Z",
    }


def test_one_job_that_went_through_several_cases(truth, tmp_path):
    """As the organisers' run_inference.py does: every image in /input/images/ct, each answered under its own name."""
    cases = ("case_00000", "case_00001")
    folder = tmp_path / "input"
    entry = platform_job(folder, cases, [f"{case}.mha" for case in cases])
    (folder / "predictions.json").write_text(json.dumps([entry]))
    metrics = tmp_path / "metrics.json"
    arguments = ["--truth", truth, "--predictions", folder / "predictions.json", "--metrics", metrics]
    result = CliRunner().invoke(app, ["evaluate", "kits21", "--grand-challenge", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    document = json.loads(metrics.read_text())
    assert {entry["case"]: entry["dice_tumor"] for entry in document["results"]} == dict.fromkeys(cases, 1.0)
    assert "seconds" not in document["aggregates"]  # whose minute it was, nobody knows
    assert podium.check("kits21", folder, truth=truth) == []
    assert_check_agrees(get_challenge("kits21"), truth=truth, submission=folder, scratch=tmp_path / "damaged")
    (folder / "job" / "output" / "images" / "kidney-tumor-and-cyst" / "case_00001.mha").unlink()
    document = podium.grand_challenge(
        "kits21", truth=truth, predictions=folder / "predictions.json", metrics=tmp_path / "metrics.json"
    )
    lost = document["results"][1]
    assert (lost["status"], lost["reason"]) == (
        "missing",
        "there is no file of case_00001 in job/output/images/kidney-tumor-and-cyst",
    )
    assert document["results"][0]["dice_tumor"] == 1.0


def test_one_job_of_several_cases_whose_answers_have_names_of_their_own_cannot_be_told_apart(truth, tmp_path):
    folder = tmp_path / "input"
    entry = platform_job(folder, ("case_00000", "case_00001"), ["a.mha", "b.mha"])
    (folder / "predictions.json").write_text(json.dumps([entry]))
    with pytest.raises(InputError, match="job 1 has inputs of several cases: case_00000, case_00001"):
        podium.grand_challenge(
            "kits21", truth=truth, predictions=folder / "predictions.json", metrics=tmp_path / "metrics.json"
        )


@pytest.fixture
def rated(tmp_path):
    """Return a truth of three cases with annotations, the second of which lost most of them."""
    for number in range(3):
        masks = annotated.two_and_three(shift=number)
        folder = tmp_path / "rated" / f"case_{number:05d}"
        annotated.write_case(folder, masks)
        labels = np.zeros(annotated.SHAPE, np.uint8)
        for kind, label in (("kidney", 1), ("tumor", 2)):
            for key, mask in masks.items():
                if key[0] == kind and key[2] == 1:
                    labels[mask == 1] = label
        (tmp_path / "teams" / "ours").mkdir(parents=True, exist_ok=True)
        write_label_map(folder / "aggregated_MAJ_seg.nii.gz", LabelMap.from_array(labels, spacing=annotated.SPACING))
        write_label_map(
            tmp_path / "teams" / "ours" / f"{folder.name}.nii.gz",
            LabelMap.from_array(labels, spacing=annotated.SPACING),
        )
    for path in (tmp_path / "rated" / "case_00001" / "segmentations").glob("*"):
        if "kidney_instance-1" not in path.name:
            path.unlink()
    return tmp_path / "rated"


def test_raters_count_incomplete_annotations_out_by_name(rated):
    survey = podium.agreement("kits21", truth=rated)
    assert [agreement.case for agreement in survey.agreements] == ["case_00000", "case_00002"]
    assert survey.counted_out == {
        "case_00001": "annotations are incomplete: none shows 216 voxels of kidney and 27 voxels of tumor "
        "that were aggregated"
    }


@pytest.mark.parametrize("options", [{"references": "samples"}, {"references": "majority"}])
def test_an_evaluation_refuses_to_start_with_incomplete_annotations(rated, tmp_path, options):
    given = {"truth": rated, "submissions": tmp_path / "teams", "out": tmp_path / "run"}
    (rated / "case_00002" / "segmentations" / "tumor_instance-1_annotation-1.nii.gz").unlink()  # others show it all
    for number in (2, 3):
        (rated / "case_00000" / "segmentations" / f"tumor_instance-1_annotation-{number}.nii.gz").unlink()
    (rated / "case_00000" / "segmentations" / "tumor_instance-1_annotation-1.nii.gz").unlink()
    with pytest.raises(InputError) as refused:
        podium.evaluate("kits21", options=options, **given)
    assert "case_00000: annotations are incomplete: none shows 27 voxels of tumor" in str(refused.value)
    assert "case_00001" in str(refused.value)
    assert "case_00002" not in str(refused.value)
    assert "--option incomplete=skip" in str(refused.value)
    run = podium.evaluate("kits21", options=options | {"incomplete": "skip"}, **given)
    assert set(run.measurements["case"]) == {"case_00002"}
    assert "Left out for everybody (incomplete annotations): case_00000, case_00001." in run.leaderboard.notes
    assert json.loads((tmp_path / "run" / "run.json").read_text())["options"]["left_out"] == [
        "case_00000",
        "case_00001",
    ]


def test_incomplete_annotations_do_not_matter_where_they_are_not_used(rated, tmp_path):
    run = podium.evaluate("kits21", truth=rated, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert set(run.measurements["value"]) == {1.0}
    assert run.leaderboard.notes == ()


def test_cases_left_out_by_hand(rated, tmp_path):
    options = {"left_out": "case_00001, case_00000"}
    run = podium.evaluate("kits21", truth=rated, submissions=tmp_path / "teams", out=tmp_path / "run", options=options)
    assert set(run.measurements["case"]) == {"case_00002"}
    assert "Left out for everybody: case_00001, case_00000." in run.leaderboard.notes


@pytest.mark.slow
def test_the_real_annotations_are_complete(kits21):
    challenge = get_challenge("kits21", references="samples")
    assert challenge.prepared(kits21).left_out == ()


def test_tolerances_that_raters_found_are_fed_back(rated, tmp_path):
    """The whole way by the command line: what was written is read, and recorded with the run, not as a path."""
    result = CliRunner().invoke(app, ["raters", "kits21", "--truth", str(rated), "--out", str(tmp_path / "survey")])
    assert result.exit_code == 3, result.output
    lines = json.loads((tmp_path / "survey" / "raters.json").read_text())["tolerances_mm"]
    expected = {line["target"]: line["mean"] for line in lines if line["percentile"] == 95}
    assert set(expected) == set(REGIONS)
    arguments = ["evaluate", "kits21", "--truth", rated, "--submissions", tmp_path / "teams", "--out", tmp_path / "run"]
    option = f"tolerances={tmp_path / 'survey' / 'raters.json'}"
    result = CliRunner().invoke(app, [*map(str, arguments), "--option", option])
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "run" / "run.json").read_text())["options"]["tolerances"] == expected
    run = podium.load(tmp_path / "run")
    assert any(
        note.startswith("Tolerances of surface Dice are not the challenge's own") for note in run.leaderboard.notes
    )


def test_tolerances_decide_surface_dice(tmp_path):
    labels = np.zeros((20, 20, 20), np.uint8)
    labels[4:14, 4:14, 4:14] = 2
    for name, array in (("truth", labels), ("ours", np.roll(labels, 2, axis=0))):
        (tmp_path / name).mkdir()
        write_label_map(tmp_path / name / "case_00000.nii.gz", LabelMap.from_array(array))
    values = []
    for tolerances in (None, dict.fromkeys(REGIONS, 2.5)):
        challenge = get_challenge("kits21", tolerances=tolerances)
        (case,) = challenge.cases(tmp_path / "truth")
        measured = challenge.measure(case, challenge.load(case), tmp_path / "ours" / "case_00000.nii.gz")
        values.append({value.target: value.value for value in measured if value.metric == "surface_dice"})
    assert max(values[0].values()) < 1
    assert set(values[1].values()) == {1.0}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "this holds no tolerances"),
        ("[]", "this holds no tolerances"),
        ('{"tolerances_mm": [{"target": "mass", "percentile": 95, "mean": 1}]}', "no tolerance of kidney and mass"),
        (
            json.dumps({"tolerances_mm": [{"target": r, "percentile": 95, "mean": 0} for r in REGIONS]}),
            "there is no tolerance of kidney and mass",
        ),
    ],
)
def test_tolerances_that_cannot_be_used(tmp_path, content, problem):
    path = tmp_path / "raters.json"
    path.write_text(content)
    with pytest.raises(InputError, match=f"{path}: .*{problem}.*podium raters kits21"):
        get_challenge("kits21", tolerances=str(path))
    with pytest.raises(InputError, match="there is no such file"):
        get_challenge("kits21", tolerances=str(tmp_path / "none.json"))
