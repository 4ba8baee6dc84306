"""The demo of every challenge, from files to leaderboard."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

import podium
from podium.challenges import challenges, get_challenge
from podium.model import Role
from podium.ranking import leaderboard_of
from podium.raters import RatedChallenge
from podium.run import RunFolder

NAMES = sorted(challenges())
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", NAMES)
def test_a_demo_leaves_a_whole_run_folder(demos, name):
    folder = demos / name / "run"
    for file in (
        "run.json",
        "measurements.parquet",
        "failures.csv",
        "leaderboard.csv",
        "leaderboard.json",
        "leaderboard.md",
        "ranking.json",
    ):
        assert (folder / file).is_file(), file
    record = json.loads((folder / "run.json").read_text())
    assert record["challenge"] == name
    assert record["truth"]["sha256"]
    hashes = [record["truth"]["sha256"], *(given["sha256"] for given in record["submissions"].values())]
    assert all(len(digest) == 64 for files in hashes for digest in files.values())
    board = json.loads((folder / "leaderboard.json").read_text())
    places = [entry["place"] for entry in board["entries"] if entry["place"]]
    assert places == sorted(places)
    assert len(places) >= 3
    for submission in record["roles"]:
        document = json.loads((folder / "metrics" / f"{submission}.json").read_text())
        assert document["results"]
        assert document["aggregates"]
    listed = RunFolder(folder).written()
    written = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert sorted(str(path) for path in written if path.parts[0] not in ("parts", ".lock", ".podium.json")) == listed
    assert not (folder / "parts" / "unpacked").exists()


@pytest.mark.parametrize("name", NAMES)
def test_measurements_name_every_measure_and_status(demos, name):
    run = podium.load(demos / name / "run")
    table = run.measurements
    assert table.columns == [
        "submission", "case", "unit", "target", "metric", "value", "measured", "status", "reason",
    ]  # fmt: skip
    assert set(table["status"].unique()) <= {"ok", "missing", "invalid", "undefined"}
    assert table.filter(pl.col("status") == "ok")["value"].is_not_nan().all()
    without_reason = table.filter((pl.col("status") != "ok") & (pl.col("reason") == ""))
    assert without_reason.is_empty()
    declared = {(measure.name, target) for measure in run.challenge.measures for target in measure.targets}
    measured = set(table.filter(pl.col("unit") == "").select("metric", "target").unique().iter_rows())
    assert measured <= declared | {(run.challenge.time.name, "")}
    optional = {measure.name for measure in run.challenge.measures if measure.optional}
    assert {key for key in declared if key[0] not in optional} <= measured


RATED = [name for name, kind in sorted(challenges().items()) if issubclass(kind, RatedChallenge)]


@pytest.mark.parametrize("name", RATED)
def test_a_demo_with_several_annotators_shows_how_far_they_agree(demos, name):
    truth = demos / name / "truth"
    survey = podium.agreement(name, truth=truth)
    assert len(survey.agreements) == len(challenges()[name].made().cases(truth))
    assert not survey.counted_out
    for metric, _, mean in ((m, t, np.mean(v)) for a in survey.agreements for (m, t), v in a.values.items()):
        if metric == "dice":
            assert 0.75 < mean < 0.99  # they differ, and they have seen the same


@pytest.mark.parametrize(("name", "references"), [("kits21", "samples"), ("trackrad2025", "observers")])
def test_teams_and_people_are_measured_against_every_annotator_of_a_demo(demos, name, references, tmp_path):
    inputs = {"truth": demos / name / "truth", "submissions": demos / name / "submissions"}
    run = podium.evaluate(name, **inputs, out=tmp_path / "run", rules="code", options={"references": references})
    places = {entry.submission: entry.place for entry in run.leaderboard.entries}
    assert places["raters"] is None
    assert sum(place is not None for place in places.values()) >= 3
    assert (tmp_path / "run" / "people.csv").is_file()


def test_the_majority_of_the_annotators_is_the_aggregated_truth_of_the_demo(demos):
    truth = demos / "kits21" / "truth"
    aggregated = get_challenge("kits21")
    majority = get_challenge("kits21", references="majority")
    for one, other in zip(aggregated.cases(truth), majority.cases(truth), strict=True):
        assert np.array_equal(aggregated.load(one)[""].array, majority.load(other)[""].array), one.name
        kinds = {path.name.split("_")[0] for path in other.files}
        assert len(other.files) == 3 * len(kinds)
        assert {"kidney", "tumor"} <= kinds


@pytest.mark.parametrize("name", NAMES)
def test_every_demo_has_a_seed(demos, name, tmp_path):
    """Another number gives files of the same names, with another truth in every case."""
    challenge = challenges()[name].made()
    challenge.write_demo(tmp_path, seed=1)
    usual, one = _contents(demos / name), _contents(tmp_path)
    assert one.keys() == usual.keys()
    for case in challenge.cases(demos / name / "truth"):
        files = [str(path.relative_to(demos / name)) for path in case.files]
        assert any(one[file] != usual[file] for file in files), case.name


def _contents(folder):
    """Return what lies in the truth and the submissions of a demo."""
    files = [path for part in ("truth", "submissions") for path in (folder / part).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", NAMES)
def test_a_demo_can_be_run_twice(demos, name, tmp_path):
    shutil.copytree(demos / name, tmp_path / name)
    run, *_ = podium.demo(name, out=tmp_path, report=False, bootstrap=0)
    first = demos / name / "run"
    assert run.folder == tmp_path / name / "run"
    for file in ("measurements.parquet", "failures.csv", "leaderboard.csv", "leaderboard.json", "leaderboard.md"):
        assert (run.folder / file).read_bytes() == (first / file).read_bytes(), file


def test_a_demo_after_an_interrupted_one_is_made_anew(demos, tmp_path):
    run = shutil.copytree(demos / "kits21", tmp_path / "kits21") / "run"
    (run / "run.json").unlink()  # as if it had been killed before the end
    (run / "parts" / "unfinished").touch()
    (again,) = podium.demo("kits21", out=tmp_path, report=False, bootstrap=0)
    assert again.measurements.equals(podium.load(demos / "kits21" / "run").measurements)


@pytest.mark.parametrize("name", NAMES)
def test_nobodys_last_digit_depends_on_who_else_takes_part(demos, name):
    run = podium.load(demos / name / "run")
    winner = run.leaderboard.entries[0]
    others = [submission for submission, role in run.challenge.built_in.items() if role is Role.BASELINE]
    fewer = run.measurements.filter(pl.col("submission").is_in([winner.submission, *others]))
    board = leaderboard_of(run.challenge, fewer)
    alone = {entry.submission: entry.values for entry in board.entries}[winner.submission]
    relative = ("rank", "time", "total", "sum")  # these are meant to depend on the others
    for column, value in winner.values.items():
        if not any(word in column for word in relative):
            assert alone[column] == value, column
