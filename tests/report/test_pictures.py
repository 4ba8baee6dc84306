"""Pictures go back to the inputs of a run, and say where that is not possible."""

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from reports import run_of, tidy
from tusrec_files import NAME, displacement_sets, shifts, write_prediction, write_truth

import podium
from podium.challenges import get_challenge
from podium.io import write_label_map
from podium.model import LabelMap, Slices
from podium.report.data import gather
from podium.report.pictures import chosen_cases, draw_pictures
from podium.run import Input, Run

pytestmark = pytest.mark.slow

NAMES = [f"case_0000{number}" for number in range(5)]


def labels(missing=0):
    """Return a kidney of 8 × 8 × 2 voxels without some of its columns, and a tumour."""
    array = np.zeros((20, 20, 4), np.uint8)
    array[4 + missing : 12, 4:12, 1:3] = 1
    array[9:11, 9:11, 1] = 2
    return array


def save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(array, spacing=(1, 1, 3)))


class Folder:
    """A run of KiTS21 with five cases, and what is made of it."""

    def __init__(self, root):
        self.root = root
        self.run = root / "run"
        self.truth, self.submissions = root / "truth", root / "submissions"

    def evaluate(self, *, truth=None, submissions=None, **options):
        """Measure everything and write the run."""
        inputs = {"truth": truth or self.truth, "submissions": submissions or self.submissions}
        podium.evaluate("kits21", **inputs, out=self.run, jobs=1, **options)
        return self

    def data(self, **options):
        """Gather what a report is made of."""
        return gather(podium.load(self.run).rank(bootstrap=0), **options)

    def pictures(self, submissions=None, *, run=None, **options):
        """Draw what there is to be seen of some submissions."""
        gathering = {key: options.pop(key) for key in ("anonymise", "submission") if key in options}
        run = run or podium.load(self.run)
        return list(draw_pictures(self.data(**gathering), run, submissions=submissions, **options))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Return a run: `steady` gets worse from case to case, `unlucky` has only one usable case, `packed` is a .zip."""
    made = Folder(tmp_path_factory.mktemp("original"))
    for number, name in enumerate(NAMES):
        save(made.truth / f"{name}.nii.gz", labels())
        save(made.submissions / "steady" / f"{name}.nii.gz", labels(missing=(3, 1, 4, 0, 2)[number]))
    save(made.submissions / "unlucky" / "case_00003.nii.gz", labels(missing=1))
    save(made.submissions / "unlucky" / "case_00002.nii.gz", labels()[:10])
    with zipfile.ZipFile(made.submissions / "packed.zip", "w") as archive:
        for path in sorted((made.submissions / "steady").iterdir()):
            archive.write(path, f"inner/{path.name}")
    return made.evaluate()


@pytest.fixture
def folder(original, tmp_path):
    """Return a copy of the run and its inputs, to be changed at will."""
    shutil.copytree(original.root, tmp_path, dirs_exist_ok=True)
    record = tmp_path / "run" / "run.json"
    record.write_text(record.read_text().replace(str(original.root), str(tmp_path)))
    return Folder(tmp_path)


# Which cases


def test_worst_median_and_best(folder):
    choices = chosen_cases(folder.data(), "steady")
    assert [(choice.kind, choice.case) for choice in choices] == [
        ("worst", "case_00002"),
        ("median", "case_00004"),
        ("best", "case_00003"),
    ]
    assert [round(choice.value, 4) for choice in choices] == [round(2 * 4 / 12, 4), round(2 * 6 / 14, 4), 1]


def test_failed_cases_are_not_chosen(folder):
    (choice,) = chosen_cases(folder.data(), "unlucky")
    assert (choice.kind, choice.case) == ("only", "case_00003")


def values(challenge, numbers, metric, target=""):
    """Return a run in which one submission has these numbers, and another one too."""
    rows = [
        (name, case, "", of, measure.name, value if (measure.name, of) == (metric, target) else 1.0, "ok", "")
        for name in ("team", "other")
        for case, value in numbers.items()
        for measure in challenge.measures
        for of in measure.targets
    ]
    return run_of(challenge, tidy(rows))


def kinds(run):
    data = gather(run.rank(bootstrap=0))
    return {choice.kind: choice.case for choice in chosen_cases(data, "team")}


def test_the_median_is_the_lower_one_and_equals_go_by_name():
    challenge = get_challenge("kits21")
    run = values(challenge, {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}, "dice", "kidney_and_mass")
    assert kinds(run) == {"worst": "a", "median": "b", "best": "d"}
    run = values(challenge, {"b": 0.5, "a": 0.5, "c": 0.5}, "dice", "kidney_and_mass")
    assert kinds(run) == {"worst": "a", "median": "b", "best": "c"}
    run = values(challenge, {"a": 0.9, "b": 0.5}, "dice", "kidney_and_mass")
    assert kinds(run) == {"worst": "b", "best": "a"}


def test_where_lower_is_better_the_largest_is_the_worst():
    challenge = get_challenge("lvquan18")
    rows = {"sub-01-01": 0.3, "sub-01-02": 0.1, "sub-01-03": 0.2}
    run = values(challenge, rows, "absolute_error", "A1")
    assert kinds(run) == {"worst": "sub-01-01", "median": "sub-01-03", "best": "sub-01-02"}


def test_what_has_no_number_is_not_chosen():
    challenge = get_challenge("kits21")
    run = values(challenge, {"a": None, "b": 0.2, "c": 0.3, "d": 0.4}, "dice", "kidney_and_mass")
    assert kinds(run) == {"worst": "b", "median": "c", "best": "d"}


# From the inputs


def test_cases_are_drawn_from_the_inputs(folder):
    found = folder.pictures(["steady"])
    assert [(each.kind, each.case) for each in found] == [
        ("worst", "case_00002"),
        ("median", "case_00004"),
        ("best", "case_00003"),
    ]
    assert all(each.figure is not None and not each.remark for each in found)
    assert found[0].heading == "case_00002, worst of 5 measured cases: Dice kidney and mass 0.6667"
    assert "axial slice 2 of 4" in found[0].alternative


def test_what_is_drawn_is_what_was_predicted(folder, monkeypatch):
    seen = []
    monkeypatch.setattr("podium.report.pictures.draw", lambda view: seen.append(view))
    folder.pictures(["steady"])
    worst = seen[0]
    assert isinstance(worst, Slices)
    assert (worst.panels[0].reference > 0).sum() == 64
    assert (worst.panels[0].prediction > 0).sum() == 32


def test_archives_are_unpacked_for_a_while(folder):
    found = folder.pictures(["packed"])
    assert [each.kind for each in found] == ["worst", "median", "best"]
    assert all(each.figure is not None for each in found)


def test_failed_cases_are_explained(folder):
    failed, only = folder.pictures(["unlucky"])
    assert (failed.kind, failed.figure) == ("failed", None)
    assert failed.remark == (
        "There is nothing to draw of 4 cases that failed: case_00000 (there is no case_00000.nii.gz); "
        "case_00001 (there is no case_00001.nii.gz); case_00002 (case_00002.nii.gz: wrong shape: 10 × 20 × 4 voxels, "
        "the reference has 20 × 20 × 4); and 1 more."
    )
    assert only.heading.startswith("case_00003, the only measured case")
    assert only.figure is not None


def test_everybody_is_shown_unless_somebody_is_asked_for(folder):
    assert {each.submission for each in folder.pictures()} == {"steady", "unlucky", "packed"}
    assert {each.submission for each in folder.pictures(submission="packed")} == {"packed"}


def test_progress_is_told(folder):
    told = []
    folder.pictures(["steady", "packed"], progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_images_lie_below_the_contours(folder, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("podium.report.pictures.draw", lambda view: seen.append(view))
    save(tmp_path / "images" / "case_00002" / "imaging.nii.gz", labels() * 50)
    folder.pictures(["steady"], images=tmp_path / "images")
    worst, median, _ = seen
    assert worst.panels[0].image is not None
    assert median.panels[0].image is None
    assert median.remarks == ("Without the image: there is no case_00004/imaging.nii.gz among the images",)


# Where the inputs are no more


def remarks(found):
    return {(each.kind, each.case): each.remark for each in found}


def test_a_changed_prediction_is_not_drawn(folder):
    save(folder.submissions / "steady" / "case_00002.nii.gz", labels(missing=5))
    found = folder.pictures(["steady"])
    assert found[0].figure is None
    assert found[0].remark == "case_00002 is not drawn: case_00002.nii.gz has changed since the run was made."
    assert found[0].heading.startswith("case_00002, worst")
    assert all(each.figure is not None for each in found[1:])


def test_a_changed_truth_is_not_drawn(folder):
    save(folder.truth / "case_00003.nii.gz", labels(missing=5))
    found = folder.pictures(["steady"])
    assert [each.figure is None for each in found] == [False, False, True]
    assert found[2].remark == "case_00003 is not drawn: case_00003.nii.gz has changed since the run was made."


def test_files_that_are_gone_are_not_drawn(folder):
    (folder.submissions / "steady" / "case_00002.nii.gz").unlink()
    (folder.truth / "case_00003.nii.gz").unlink()
    assert remarks(folder.pictures(["steady"])) == {
        ("worst", "case_00002"): "case_00002 is not drawn: the prediction of case_00002 is gone.",
        ("median", "case_00004"): "",
        ("best", "case_00003"): "case_00003 is not drawn: the truth of case_00003 is gone.",
    }


def test_a_prediction_under_another_name_is_a_new_file(folder):
    place = folder.submissions / "steady"
    content = gzip.decompress((place / "case_00002.nii.gz").read_bytes())
    (place / "case_00002.nii.gz").unlink()
    (place / "case_00002.nii").write_bytes(content)
    worst = folder.pictures(["steady"])[0]
    assert worst.remark == "case_00002 is not drawn: case_00002.nii was not there when the run was made."


def test_a_submission_that_is_gone_is_said_to_be(folder):
    shutil.rmtree(folder.submissions / "steady")
    (only,) = folder.pictures(["steady"])
    assert (only.kind, only.figure, only.submission) == ("missing", None, "steady")
    assert only.remark.startswith("This submission is no longer where it was")


def test_a_damaged_archive_is_said_to_be(folder):
    path = folder.submissions / "packed.zip"
    path.write_bytes(path.read_bytes()[:300])
    (only,) = folder.pictures(["packed"])
    assert only.remark.startswith(
        "This submission cannot be opened any more, so none of its cases is drawn: packed.zip"
    )
    assert str(folder.root) not in only.remark


def test_a_changed_archive_is_not_drawn(folder):
    save(folder.root / "case_00002.nii.gz", labels(missing=6))
    path = folder.submissions / "packed.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in NAMES:
            own = folder.submissions / "steady" / f"{name}.nii.gz"
            archive.write(folder.root / own.name if name == "case_00002" else own, f"inner/{name}.nii.gz")
    found = folder.pictures(["packed"])
    assert found[0].remark == "case_00002 is not drawn: case_00002.nii.gz has changed since the run was made."
    assert all(each.figure is not None for each in found[1:])


def test_a_truth_that_is_gone_is_said_once(folder):
    shutil.rmtree(folder.truth)
    (only,) = folder.pictures()
    assert (only.submission, only.kind) == ("", "missing")
    assert only.remark == f"No cases are drawn: the truth is no longer at {folder.truth}."


def test_a_truth_that_cannot_be_read_is_said_once(folder):
    for path in folder.truth.iterdir():
        path.unlink()
    (folder.truth / "case_00000").mkdir()
    (only,) = folder.pictures()
    assert only.remark.startswith("No cases are drawn, as the truth cannot be read any more: case_00000: this case has")


def recorded(run, **changes):
    """Return a run whose record says something else of its inputs."""
    return Run(run.challenge, run.record.model_copy(update=changes), run.measurements, run.failures)


def test_runs_without_paths_are_no_problem(folder):
    run = recorded(podium.load(folder.run), truth=Input(path=""), submissions={})
    (only,) = folder.pictures(run=run)
    assert only.remark == "No cases are drawn: the truth is no longer at a known place."


def test_relative_paths_are_found_from_anywhere(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder.root)
    folder.evaluate(truth=Path("truth"), submissions=Path("submissions"), restart=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert all(picture.figure is not None for picture in folder.pictures(["steady", "packed"]))


def test_a_run_that_moved_with_its_inputs_still_draws_its_cases(original, monkeypatch, tmp_path):
    before, after = Folder(tmp_path / "before"), Folder(tmp_path / "far" / "after")
    for name in ("truth", "submissions"):
        shutil.copytree(original.root / name, before.root / name)
    before.evaluate()
    after.root.parent.mkdir()
    before.root.rename(after.root)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert all(picture.figure is not None for picture in after.pictures(["steady", "packed"]))
    page = podium.load(after.run).report(bootstrap=0, only=["dots_and_boxes"], formats=["png"])
    assert page == after.run / "report.html"
    assert page.read_text().count('<figure id="picture-') == 7  # three of both, and the only one of unlucky
    assert len(list((after.run / "figures" / "cases").iterdir())) == 7
    # Where only the run moved, its inputs are not beside it.
    after.run.rename(elsewhere / "run")
    after.run = elsewhere / "run"
    (only,) = after.pictures(["steady"])
    assert only.remark == f"No cases are drawn: the truth is no longer at {before.truth}."


def test_what_was_typed_in_runs_of_the_first_schema_is_found_beside_the_run(folder, monkeypatch, tmp_path):
    document = json.loads((folder.run / "run.json").read_text())
    hashes = {name: place["sha256"] for name, place in document["submissions"].items()}
    document |= {
        "schema": 1,
        "truth": "truth",
        "submissions": {
            name: f"submissions/{Path(place['path']).name}" for name, place in document["submissions"].items()
        },
        "sha256": {"truth": document["truth"]["sha256"], **hashes},
    }
    del document["faults"]
    (folder.run / "run.json").write_text(json.dumps(document))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert all(picture.figure is not None for picture in folder.pictures(["steady", "packed"]))
    (gone,) = folder.pictures(["steady"], run=recorded(podium.load(folder.run)))
    assert gone.remark == "No cases are drawn: the truth is no longer at truth."


def test_remarks_keep_teams_anonymous(folder):
    path = folder.submissions / "packed.zip"
    path.write_bytes(b"no archive")
    (folder.submissions / "steady" / "case_00002.nii.gz").unlink()
    found = folder.pictures(anonymise=True)
    assert len(found) > 3
    for each in found:
        told = f"{each.submission} {each.heading} {each.remark} {each.alternative}"
        assert not any(name in told for name in ("packed", "steady", "unlucky"))


# Other challenges


def test_overviews_need_no_inputs():
    challenge = get_challenge("lvquan18")
    run = values(challenge, {f"sub-01-{n:02d}": 0.1 * n for n in range(1, 5)}, "prediction", "A1")
    shown = list(draw_pictures(gather(run.rank(bootstrap=0)), run, submissions=["team"]))
    assert [picture.kind for picture in shown] == ["overview"] * 11
    assert shown[0].heading.startswith("A1")
    assert "correlation" not in shown[0].alternative  # true values are constant here
    assert "mean difference -0.75" in shown[0].alternative
    assert all(picture.figure is not None for picture in shown)


def test_folders_of_files_are_checked_file_by_file(tmp_path):
    """A TUS-REC prediction may be a folder: a change of any of its files shows, and so does a new one."""
    points = np.array([[1, 2, 2]])
    truth = write_truth(tmp_path / "truth", {NAME: (shifts(1, 2), points)})
    moved = np.tile(np.eye(4), (2, 1, 1))
    arrays = displacement_sets(moved, moved, points)
    write_prediction(tmp_path / "submissions" / "team", NAME, arrays, form="")
    run = podium.evaluate("tusrec", truth=truth, submissions=tmp_path / "submissions", out=tmp_path / "run")
    data = gather(run.rank(bootstrap=0))

    def shown():
        return list(draw_pictures(data, run))

    assert [picture.kind for picture in shown()] == ["only"] * 3  # of the baseline no motion there is no prediction
    assert all(picture.figure is not None for picture in shown())
    place = tmp_path / "submissions" / "team" / NAME
    np.save(place / "more.npy", arrays["GL"])
    assert shown()[0].remark == f"{NAME} is not drawn: {NAME}/more.npy was not there when the run was made."
    (place / "more.npy").unlink()
    np.save(place / "GL.npy", arrays["GL"] + 1)
    assert shown()[0].remark == f"{NAME} is not drawn: {NAME}/GL.npy has changed since the run was made."
    (place / "GL.npy").unlink()
    assert shown()[0].remark == f"{NAME} is not drawn: {NAME}/GL.npy is gone."


def test_settings_of_a_truth_that_changed_do_not_reach_the_scores(tmp_path):
    """CSV 2026 reads the organisers' time with its cases; looking at pictures must not change how time is scored."""
    (tmp_path / "truth" / "labels").mkdir(parents=True)
    for path in ("truth/labels/001_label.h5", "submissions/team/001_pred.h5"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(tmp_path / path, "w") as file:
            file["long_mask"] = file["trans_mask"] = np.ones((9, 9), np.uint8)
            file["cls"] = 1
    settings = tmp_path / "truth" / "challenge.toml"
    settings.write_text("baseline_seconds = 1.0\n")
    inputs = {"truth": tmp_path / "truth", "submissions": tmp_path / "submissions"}
    podium.evaluate("csv2026", **inputs, out=tmp_path / "run", jobs=1)
    settings.write_text("baseline_seconds = 9.0\n")
    run = podium.load(tmp_path / "run")
    data = gather(run.rank(bootstrap=0))
    (only,) = draw_pictures(data, run)
    assert only.remark == "001 is not drawn: challenge.toml has changed since the run was made."
    assert run.challenge.baseline_seconds == 1.0
    assert data.challenge.baseline_seconds == 1.0
