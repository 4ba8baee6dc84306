"""Whole runs: the demo of every challenge from files to leaderboard, faults included."""

import csv
import json
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

from podium.challenges import challenges, get_challenge
from podium.cli import app
from podium.run import check_submission, evaluate, find_submissions, load_run
from podium.model import InputError
from podium.ranking import leaderboard_of

NAMES = sorted(challenges())
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def demos(tmp_path_factory):
    """Return the folder where each challenge's demo has been written, evaluated and ranked."""
    folder = tmp_path_factory.mktemp("demo")
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["demo", "--no-report", "--out", str(folder)])
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


def test_nobodys_last_digit_depends_on_who_else_takes_part(demos, tmp_path):
    for name in NAMES:
        table = load_run(demos[0] / name / "run").table
        challenge = get_challenge(name, **load_run(demos[0] / name / "run").info["options"])
        board = leaderboard_of(challenge, table)
        winner = board.entries[0].submission
        fewer = leaderboard_of(challenge, table.filter(pl.col("submission").is_in([winner, "no-tracking"])))
        alone = {e.submission: e.values for e in fewer.entries}[winner]
        relative = ("rank", "time", "total", "sum")  # these are meant to depend on the others
        for column, value in board.entries[0].values.items():
            if not any(word in column for word in relative):
                assert alone[column] == value, (name, column)


def test_a_second_run_leaves_nothing_of_the_first(demos, tmp_path):
    folder = demos[0] / "kits21"
    first, second = tmp_path / "first", tmp_path / "second"
    shutil.copytree(folder / "submissions" / "careful", first / "early")
    shutil.copytree(folder / "submissions" / "noisy", second / "late")
    for teams in (first, second):
        arguments = ["--truth", folder / "truth", "--submissions", teams, "--out", tmp_path / "run"]
        assert CliRunner().invoke(app, ["evaluate", "kits21", *map(str, arguments)]).exit_code == 0
    assert [path.name for path in (tmp_path / "run" / "metrics").iterdir()] == ["late.json"]


def test_options_of_measuring_cannot_be_changed_when_ranking(demos):
    result = CliRunner().invoke(app, ["rank", str(demos[0] / "csv2026" / "run"), "--option", "tolerance_px=9"])
    assert result.exit_code == 1
    assert "tolerance_px is part of what was measured" in result.stderr


@pytest.mark.parametrize("content", ["{", '{"schema": 1}', "[]"])
def test_a_damaged_run_folder_is_one_line(demos, tmp_path, content):
    shutil.copytree(demos[0] / "kits21" / "run", tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(content)
    result = CliRunner().invoke(app, ["rank", str(tmp_path / "run")])
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


def test_a_case_without_truth_is_said(demos, tmp_path):
    for name, file in (("kits21", "aggregated_MAJ_seg.nii.gz"), ("trackrad2025", "targets/A_002_labels.mha")):
        truth = tmp_path / name
        shutil.copytree(demos[0] / name / "truth", truth)
        case = sorted(path for path in truth.iterdir() if path.is_dir())[1]
        (case / file).unlink()
        with pytest.raises(InputError, match="this case has no"):
            get_challenge(name).cases(truth)


def test_damaged_hdf5_costs_a_case_and_not_the_run(demos, tmp_path):
    for name in ("tusrec", "csv2026"):
        teams = tmp_path / name
        source = next(p for p in sorted((demos[0] / name / "submissions").iterdir()) if list(p.rglob("*.h5")))
        shutil.copytree(source, teams / "team")
        path = sorted((teams / "team").rglob("*.h5"))[0]
        content = bytearray(path.read_bytes())
        content[content.index(b"SNOD")] = 0
        path.write_bytes(content)
        table = evaluate(
            get_challenge(name), truth=demos[0] / name / "truth", submissions=find_submissions(teams)
        ).table
        assert "invalid" in set(table["status"])
        assert "ok" in set(table["status"])


def test_incomplete_timing_is_a_problem(demos, tmp_path):
    folder = demos[0] / "csv2026"
    shutil.copytree(folder / "submissions" / "careful", tmp_path / "team")
    lines = (tmp_path / "team" / "timing.csv").read_text().splitlines()
    (tmp_path / "team" / "timing.csv").write_text("\n".join([*lines[:-1], "zz,1.0"]) + "\n")
    what = [p.what for p in check_submission(get_challenge("csv2026"), tmp_path / "team", truth=folder / "truth")]
    assert any("there is no case called zz" in problem for problem in what)
    assert any("has no time" in problem for problem in what)
    (tmp_path / "empty").mkdir()
    assert check_submission(get_challenge("csv2026"), tmp_path / "empty")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "kits21", "--geometry", "ful"], "geometry is one of full, shape, not 'ful'"),
        (["evaluate", "kits21", "--option", "reference=XX"], "reference is one of MAJ, AND, OR"),
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
