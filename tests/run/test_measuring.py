"""One case: what is measured again when resuming, what a prediction rests on, and what became of it."""

import json
import shutil
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from plugin import write_landmarks
from sixth_challenge import DISTANCE, Landmarks
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.challenges.trackrad2025.demo import write as write_trackrad
from podium.cli import app
from podium.io import digest, read_label_map
from podium.model import Case, InputError, Measure, Status, Value
from podium.run import Parts, find_submissions, measure_all
from podium.run.measuring import SCHEMA, CaseJob, Prediction, measure_case, tabulated

pytestmark = pytest.mark.slow


def evaluated(folders, out, challenge=None, **options):
    truth, submissions = folders
    return podium.evaluate(challenge or Landmarks(), truth=truth, submissions=submissions, out=out, **options)


def names(run):
    return set(run.measurements["submission"])


# Resuming


def test_a_team_that_only_withdrew_is_dropped_and_does_not_come_back(tmp_path):
    """Nothing has to be measured, and yet every part has to be written anew."""
    folders = write_landmarks(tmp_path, {"stays": {}, "leaves": {"001": "", "002": "nothing"}})
    out = tmp_path / "run"
    evaluated(folders, out)
    assert "leaves" in (out / "leaderboard.csv").read_text()
    shutil.rmtree(folders[1] / "leaves")
    for _ in range(2):
        run = evaluated(folders, out, resume=True)
        assert run.kept == 4
        assert run.why == {}
        assert names(run) == names(podium.load(out, challenge=Landmarks())) == {"stays"}
        assert run.failures.is_empty()
        assert set(run.record.submissions) == set(run.roles) == {"stays"}
        assert "leaves" not in (out / "leaderboard.csv").read_text()
        assert [path.name for path in (out / "metrics").iterdir()] == ["stays.json"]
        for case in ("001", "002", "003", "004"):
            part = Parts(out).read(case)
            assert set(part.table["submission"]) == set(part.lost) == set(part.hashes) == {"stays"}
            assert part.failures == ()


def test_a_team_that_withdrew_takes_its_faults_along(tmp_path):
    """The challenge could not measure it, so the board was withheld; now nobody is left who was not measured."""

    class Refusing(Landmarks):
        """Breaks on some predictions, and on whoever is alone with them."""

        def measure(self, case, truth, prediction):
            """Measure, or break."""
            (value,) = super().measure(case, truth, prediction)
            return [value] if value.value < 5 else None

    folders = write_landmarks(tmp_path, {"far": {"002": "9 0 0"}, "away": {"002": "8 0 0"}})
    run = evaluated(folders, tmp_path / "run", Refusing())
    assert {(name, case) for name, case, _ in run.record.faults} == {("far", "002"), ("away", "002")}
    shutil.rmtree(folders[1] / "far")
    (folders[1] / "away" / "002.txt").write_text("1 0 0")
    for _ in range(2):
        run = evaluated(folders, tmp_path / "run", Refusing(), resume=True)
        assert run.record.faults == []
        assert run.leaderboard.places == {"away": 1}


def test_only_what_changed_is_measured(tmp_path):
    folders = write_landmarks(tmp_path, {"a": {}, "b": {}, "c": {"003": ""}})
    out = tmp_path / "run"
    evaluated(folders, out)
    (folders[1] / "a" / "002.txt").write_text("2 0 0")
    (folders[1] / "b" / "001.txt").unlink()
    (folders[1] / "c" / "003.txt").write_text("3 0 0")
    run = evaluated(folders, out, resume=True)
    assert run.kept == 9
    assert {reason: dict(teams) for reason, teams in run.why.items()} == {"changed": {"a": 1, "b": 1, "c": 1}}
    fresh = evaluated(folders, tmp_path / "fresh")
    assert run.measurements.equals(fresh.measurements)
    assert run.failures.equals(fresh.failures)


def test_another_reason_for_a_missing_prediction_is_a_change(tmp_path):
    folders = write_landmarks(tmp_path, {"a": {"001": ""}, "b": {}})
    out = tmp_path / "run"
    evaluated(folders, out)
    (folders[1] / "a" / "001.txt").symlink_to(folders[1] / "b" / "001.txt")
    run = evaluated(folders, out, resume=True)
    assert {reason: dict(teams) for reason, teams in run.why.items()} == {"changed": {"a": 1}}
    (line,) = run.failures.iter_rows()
    assert line == ("a", "001", "invalid", "001.txt is a symbolic link, which is not followed")


# A header whose voxels lie in another file


@pytest.fixture(scope="module")
def trackrad(tmp_path_factory):
    """Return TrackRAD's demo with two teams, one of which keeps its voxels beside the header in one case."""
    folder = tmp_path_factory.mktemp("trackrad")
    write_trackrad(folder)
    for team in ("jittery", "ponderous", "frozen", "unlucky"):
        shutil.rmtree(folder / "submissions" / team)
    own = folder / "submissions" / "swift"
    labels = read_label_map(own / "A_002.mha").array
    (own / "x.raw").write_bytes(np.asarray(labels, np.uint8).tobytes(order="F"))
    size = " ".join(map(str, labels.shape))
    (own / "A_002.mha").write_text(
        f"ObjectType = Image\nNDims = 3\nBinaryData = True\nDimSize = {size}\nElementSpacing = 1 1 1\n"
        "ElementType = MET_UCHAR\nElementDataFile = x.raw\n"
    )
    return folder


@pytest.fixture
def detached(trackrad, tmp_path):
    """Return a run of it, whose inputs may be touched."""
    shutil.copytree(trackrad, tmp_path / "own")
    folder = tmp_path / "own"
    run = podium.evaluate(
        "trackrad2025", truth=folder / "truth", submissions=folder / "submissions", out=folder / "run"
    )
    assert run.failures.is_empty()
    return folder


def touch_voxels(folder):
    """Change some voxels, and leave the header as it is."""
    raw = folder / "submissions" / "swift" / "x.raw"
    content = bytearray(raw.read_bytes())
    content[: len(content) // 2] = bytes(len(content) // 2)
    raw.write_bytes(content)
    return raw


def test_the_file_that_a_header_names_is_on_record(detached):
    document = json.loads((detached / "run" / "run.json").read_text())
    own = detached / "submissions" / "swift"
    recorded = document["submissions"]["swift"]["sha256"]
    assert recorded["x.raw"] == digest(own / "x.raw")
    assert recorded["A_002.mha"] == digest(own / "A_002.mha")
    assert "x.raw" not in document["submissions"]["drifting"]["sha256"]


def test_the_file_that_a_header_names_is_expected(detached):
    """Neither is it warned of, nor would a participant be told to remove it."""
    given = {"truth": detached / "truth", "submissions": detached / "submissions"}
    resumed = podium.evaluate("trackrad2025", **given, out=detached / "run", resume=True)
    assert resumed.failures.is_empty()
    own = detached / "submissions" / "swift"
    assert podium.check("trackrad2025", own, truth=detached / "truth") == []
    (own / "y.raw").touch()
    assert [problem.file for problem in podium.check("trackrad2025", own, truth=detached / "truth")] == ["y.raw"]


def test_verify_sees_that_only_the_voxels_changed(detached):
    untouched = CliRunner().invoke(app, ["verify", str(detached / "run")])
    assert untouched.exit_code == 0, untouched.output
    touch_voxels(detached)
    result = CliRunner().invoke(app, ["verify", str(detached / "run")])
    assert result.exit_code == 3
    assert "swift: x.raw has changed" in result.stdout
    assert "A_002.mha has changed" not in result.stdout
    assert "swift, A_002: " in result.stdout


def test_resuming_measures_the_case_again_whose_voxels_changed(detached):
    before = podium.load(detached / "run").measurements
    raw = touch_voxels(detached)
    given = {"truth": detached / "truth", "submissions": detached / "submissions"}
    run = podium.evaluate("trackrad2025", **given, out=detached / "run", resume=True)
    assert {reason: dict(teams) for reason, teams in run.why.items()} == {"changed": {"swift": 1}}
    assert run.record.submissions["swift"].sha256["x.raw"] == digest(raw)
    fresh = podium.evaluate("trackrad2025", **given, out=detached / "fresh")
    assert run.measurements.equals(fresh.measurements)
    assert not run.measurements.equals(before)
    raw.unlink()
    run = podium.evaluate("trackrad2025", **given, out=detached / "run", resume=True)
    assert run.failures.filter(pl.col("status") == "invalid")["case"].to_list() == ["A_002"]


# What became of each prediction


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tusrec", "csv2026"])
def test_damaged_hdf5_costs_a_case_and_not_the_run(demos, tmp_path, name):
    source = next(p for p in sorted((demos / name / "submissions").iterdir()) if list(p.rglob("*.h5")))
    shutil.copytree(source, tmp_path / "team")
    path = sorted((tmp_path / "team").rglob("*.h5"))[0]
    content = bytearray(path.read_bytes())
    content[content.index(b"SNOD")] = 0
    path.write_bytes(content)
    table = measure_all(get_challenge(name), truth=demos / name / "truth", submissions=find_submissions(tmp_path)).table
    assert "invalid" in set(table["status"])
    assert "ok" in set(table["status"])


def job(folder, *predictions):
    case = Case("001", (folder / "001.txt",), ("001.txt",))
    return CaseJob(Landmarks(), case, folder, predictions, {})


def test_a_reason_names_no_place_on_this_machine(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {"001": "nothing"}})
    prediction = Prediction("team", teams / "team", teams / "team" / "001.txt")
    part = measure_case(job(truth, prediction)).part
    ((name, case, status, reason),) = part.failures
    assert (name, case, status) == ("team", "001", "invalid")
    assert reason == "001.txt: this is no point: three numbers are expected"
    assert part.lost == {"team": ("001",)}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(24, "Too many open files")])
def test_a_full_disk_is_nobodys_fault(tmp_path, monkeypatch, error):
    truth, teams = write_landmarks(tmp_path, {"team": {}})

    def failing(*_):
        raise error

    monkeypatch.setattr(Landmarks, "measure", failing)
    with pytest.raises(type(error)):
        measure_case(job(truth, Prediction("team", teams / "team", teams / "team" / "001.txt")))


class ManyRows(Landmarks):
    """One file that holds seven rows, of which those in its text fail."""

    measures: ClassVar[tuple[Measure, ...]] = (DISTANCE,)

    def rows(self, case, truth):  # noqa: ARG002
        """Seven."""
        return tuple(f"{case.name}-{number}" for number in range(7))

    def measure(self, case, truth, prediction):
        """Fail the rows whose number is in the text."""
        bad = prediction.read_text().split()
        return [
            Value(row, "distance", None, status=Status.INVALID, reason="wrong")
            if row[-1] in bad
            else Value(row, "distance", 1.0, reason="close" if row[-1] == "6" else "")
            for row in self.rows(case, truth)
        ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("0 3", [("001-0", "invalid", "wrong"), ("001-3", "invalid", "wrong"), ("001-6", "warning", "close")]),
        ("0 1 2 3 4 5", [("001-0 and 5 more", "invalid", "wrong"), ("001-6", "warning", "close")]),
    ],
)
def test_many_rows_that_fail_alike_are_one_line(tmp_path, text, lines):
    truth, teams = write_landmarks(tmp_path, {"team": {"001": text}}, cases=1)
    evaluation = measure_all(ManyRows(), truth=truth, submissions=find_submissions(teams))
    assert [line[1:] for line in evaluation.failures] == lines
    failed = evaluation.table.filter(pl.col("status") == "invalid")
    assert failed["value"].to_list() == [100.0] * len(text.split())


def test_a_table_has_its_columns_even_when_it_is_empty():
    assert dict(tabulated([]).schema) == SCHEMA
    value = Value("row", "m", 2.0, "t", unit="frame", reason="why", measured=3.0)
    assert tabulated([("team", value)]).row(0) == ("team", "row", "frame", "t", "m", 2.0, 3.0, "ok", "why")


def test_where_a_prediction_is_or_why_there_is_none(tmp_path):
    from podium.run.submissions import Files

    (tmp_path / "a.txt").touch()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.npy").write_text("x")
    files = Files(tmp_path)
    there = Prediction.among("team", files, Case("a", expected=("a.txt",)))
    assert (there.status, there.path, there.files()) == (Status.OK, tmp_path / "a.txt", {tmp_path / "a.txt"})
    folder = Prediction.among("team", files, Case("b", expected=("b",)))
    assert folder.digests() == {"b/x.npy": digest(tmp_path / "b" / "x.npy")}
    gone = Prediction.among("team", files, Case("c", expected=("c.txt", "c")))
    assert (gone.status, gone.reason, gone.files(), gone.digests()) == (
        Status.MISSING,
        "there is no c.txt",
        set(),
        {},
    )
    double = Prediction.among("team", files, Case("d", expected=("*",)))
    assert double.status is Status.INVALID
    with pytest.raises(InputError):
        files.find(Case("d", expected=("*",)))
