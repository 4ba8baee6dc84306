"""Whole runs: the demo of every challenge from files to leaderboard, faults included."""

import csv
import json
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

from podium.challenges import challenges, get_challenge
from podium.cli import app
from podium.evaluate import check_submission, evaluate, find_submissions, load_run

NAMES = sorted(challenges())
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def demos(tmp_path_factory):
    """Return the folder where each challenge's demo has been written, evaluated and ranked."""
    folder = tmp_path_factory.mktemp("demo")
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["demo", "--out", str(folder)])
    assert result.exit_code == 0, result.output + repr(result.exception)
    return folder, result.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_demo_leaves_a_whole_run_folder(demos, name):
    folder, _ = demos
    run = folder / name / "run"
    for file in (
        "run.json",
        "measurements.parquet",
        "failures.csv",
        "leaderboard.csv",
        "leaderboard.json",
        "leaderboard.md",
    ):
        assert (run / file).is_file(), file
    info = json.loads((run / "run.json").read_text())
    assert info["challenge"] == name
    assert all(len(digest) == 64 for files in info["sha256"].values() for digest in files.values())
    assert info["sha256"]["truth"]
    board = json.loads((run / "leaderboard.json").read_text())
    places = [entry["place"] for entry in board["entries"] if entry["place"]]
    assert places == sorted(places)
    assert len(places) >= 3
    for submission in info["roles"]:
        document = json.loads((run / "metrics" / f"{submission}.json").read_text())
        assert document["results"]
        assert document["aggregates"]


@pytest.mark.parametrize("name", NAMES)
def test_measurements_name_every_quantity_and_status(demos, name):
    folder, _ = demos
    table = load_run(folder / name / "run").table
    assert table.columns == ["submission", "case", "unit", "target", "metric", "value", "status", "reason"]
    assert set(table["status"].unique()) <= {"ok", "missing", "invalid", "undefined"}
    assert table.filter(pl.col("status") == "ok")["value"].is_not_nan().all()
    without_reason = table.filter((pl.col("status") != "ok") & (pl.col("reason") == ""))
    assert without_reason.is_empty()
    declared = {(q.metric, target) for q in get_challenge(name).quantities for target in q.targets}
    found = set(table.filter(pl.col("unit") == "").select("metric", "target").unique().iter_rows())
    assert found <= declared | {("seconds", "")}


@pytest.mark.parametrize("name", NAMES)
def test_ranking_again_gives_the_same_leaderboard(demos, name):
    folder, _ = demos
    run = folder / name / "run"
    before = {file: (run / file).read_bytes() for file in ("leaderboard.csv", "leaderboard.json", "leaderboard.md")}
    result = CliRunner().invoke(app, ["rank", str(run)])
    assert result.exit_code == 0, result.output
    assert before == {file: (run / file).read_bytes() for file in before}


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_does_not_matter(demos, name, tmp_path):
    folder, _ = demos
    outputs = []
    for jobs in (1, 3):
        out = tmp_path / str(jobs)
        arguments = ["--truth", folder / name / "truth", "--submissions", folder / name / "submissions", "--out", out]
        if (folder / name / "submissions" / "baseline").exists():
            arguments += ["--baseline", "baseline"]
        result = CliRunner().invoke(app, ["evaluate", name, *map(str, arguments), "--jobs", str(jobs)])
        assert result.exit_code in (0, 3), result.output
        files = ("measurements.parquet", "failures.csv", "leaderboard.csv", "leaderboard.json", "leaderboard.md")
        outputs.append({file: (out / file).read_bytes() for file in files})
    assert outputs[0] == outputs[1]
    assert outputs[0]["leaderboard.csv"] == (folder / name / "run" / "leaderboard.csv").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_failures_are_explained_and_exit_code_says_so(demos, name, tmp_path):
    folder, _ = demos
    arguments = ["--truth", folder / name / "truth", "--submissions", folder / name / "submissions", "--out", tmp_path]
    result = CliRunner().invoke(app, ["evaluate", name, *map(str, arguments)])
    assert result.exit_code == 3, result.output
    lines = list(csv.DictReader((tmp_path / "failures.csv").read_text().splitlines()))
    assert {line["submission"] for line in lines if line["status"] in ("missing", "invalid")} >= {"unlucky"}
    assert all(line["reason"] for line in lines)
    assert not any(str(tmp_path.parent.parent) in line["reason"] for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_others_are_not_touched_by_a_bad_submission(demos, name, tmp_path):
    folder, _ = demos
    kept = tmp_path / "submissions"
    shutil.copytree(folder / name / "submissions", kept, ignore=shutil.ignore_patterns("unlucky*"))
    challenge = get_challenge(name)
    alone = evaluate(challenge, truth=folder / name / "truth", submissions=find_submissions(kept)).table
    together = load_run(folder / name / "run").table.filter(pl.col("submission") != "unlucky")
    assert alone.equals(together)


@pytest.mark.parametrize("name", NAMES)
def test_a_good_submission_passes_the_check_and_a_bad_one_does_not(demos, name):
    folder, _ = demos
    board = json.loads((folder / name / "run" / "leaderboard.json").read_text())
    winner = board["entries"][0]["submission"]
    challenge, truth = get_challenge(name), folder / name / "truth"
    submissions = {s.name: s.path for s in find_submissions(folder / name / "submissions")}
    assert check_submission(challenge, submissions[winner], truth=truth) == []
    assert check_submission(get_challenge(name), submissions[winner]) == []
    problems = check_submission(challenge, submissions["unlucky"], truth=truth)
    assert len(problems) >= 2


def test_the_demo_prints_a_leaderboard_for_every_challenge(demos):
    _, output = demos
    assert output.count("submission") >= len(NAMES)


def test_archives_give_the_same_numbers_as_folders(demos, tmp_path):
    folder, _ = demos
    for team in ("careful", "noisy"):
        source = folder / "kits21" / "submissions" / team
        if team == "careful":
            shutil.make_archive(str(tmp_path / team), "zip", source)
        else:
            shutil.make_archive(str(tmp_path / team), "gztar", source.parent, team)
    table = evaluate(
        get_challenge("kits21"), truth=folder / "kits21" / "truth", submissions=find_submissions(tmp_path)
    ).table
    expected = load_run(folder / "kits21" / "run").table.filter(pl.col("submission").is_in(["careful", "noisy"]))
    assert table.equals(expected)


def test_an_archive_that_cannot_be_opened_costs_every_case(demos, tmp_path):
    folder, _ = demos
    (tmp_path / "broken.zip").write_bytes(b"nothing")
    measured = evaluate(
        get_challenge("kits21"), truth=folder / "kits21" / "truth", submissions=find_submissions(tmp_path)
    )
    assert set(measured.table["status"]) == {"invalid"}
    assert set(measured.table["value"]) == {0.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "kits22", "--truth", ".", "--submissions", ".", "--out", "x"], "Did you mean 'kits21'"),
        (["evaluate", "kits21", "--truth", "nowhere", "--submissions", ".", "--out", "x"], "nowhere"),
        (["evaluate", "kits21"], "--truth, --submissions and --out are needed"),
        (["evaluate", "kits21", "--rules", "gossip", "--truth", "."], "has no rules called 'gossip'"),
        (["evaluate", "kits21", "--option", "colour=red"], "Options of kits21: geometry, reference"),
        (["rank", "."], "it has no run.json"),
        (["check", "kits21", "nowhere"], "there is nothing here"),
    ],
)
def test_bad_calls_get_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "team").mkdir()
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
