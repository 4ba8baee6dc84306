"""`podium evaluate`: exit codes, what is said on the terminal, and bad calls."""

import csv
import shutil

import pytest

from podium.challenges import challenges

pytestmark = pytest.mark.slow

NAMES = sorted(challenges())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_failures_are_explained_and_the_exit_code_says_so(run, demos, name, tmp_path):
    out = tmp_path / "run"
    result = run(
        "evaluate", name, "--truth", demos / name / "truth", "--submissions", demos / name / "submissions", "--out", out
    )
    assert result.exit_code == 3, result.output
    lines = list(csv.DictReader((out / "failures.csv").read_text().splitlines()))
    assert {line["submission"] for line in lines if line["status"] in ("missing", "invalid")} >= {"unlucky"}
    assert all(line["reason"] for line in lines)
    assert not any(str(place) in line["reason"] for line in lines for place in (tmp_path, demos))
    failed = {(line["submission"], line["case"]) for line in lines if line["status"] != "warning"}
    warnings = sum(line["status"] == "warning" for line in lines)
    plural = "" if warnings == 1 else "s"
    assert f"{len(failed)} predictions failed, {warnings} warning{plural}: see {out / 'failures.csv'}." in result.stderr
    assert f"The run is in {out}." in result.stderr
    assert "unlucky" in result.stdout


def test_a_run_in_which_nothing_failed_ends_with_0(run, kits21_demo, tmp_path):
    shutil.copytree(kits21_demo / "submissions" / "careful", tmp_path / "teams" / "careful")
    places = ["--truth", kits21_demo / "truth", "--submissions", tmp_path / "teams", "--out", tmp_path / "run"]
    result = run("evaluate", "kits21", *places)
    assert result.exit_code == 0, result.output
    assert "failed" not in result.stderr


def test_a_finished_run_is_made_anew_only_when_asked_for(run, kits21_demo, tmp_path):
    shutil.copytree(kits21_demo / "submissions" / "careful", tmp_path / "teams" / "careful")
    places = ["--truth", kits21_demo / "truth", "--submissions", tmp_path / "teams", "--out", tmp_path / "run"]
    assert run("evaluate", "kits21", *places).exit_code == 0
    again = run("evaluate", "kits21", *places)
    assert again.exit_code == 1
    assert "a finished run is here. Add --resume to go on with it, --restart to make it anew" in again.stderr
    assert again.stderr.count("\n") == 1
    both = run("evaluate", "kits21", *places, "--resume", "--restart")
    assert both.exit_code == 1
    assert "either resumed or made anew" in both.stderr
    assert run("evaluate", "kits21", *places, "--restart").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kits21", "--geometry", "ful"], "geometry is one of full, shape, not 'ful'"),
        (["kits21", "--option", "reference=XX"], "reference is one of MAJ, AND, OR"),
        (["kits22"], "Did you mean 'kits21'"),
        (["kits21", "--truth", "nowhere"], "nowhere: this is not a folder"),
        (["kits21", "--rules", "gossip"], "has no rules called 'gossip'"),
        (["kits21", "--option", "colour=red"], "Options of kits21: geometry, "),
        (["kits21", "--option", "geometry"], "--option geometry is not of the form KEY=VALUE"),
        (["kits21", "--submissions", "empty"], "there are no submissions"),
        (["kits21", "--out", "teams/team/run"], "the run folder would lie among the submissions"),
        (["kits21", "--out", "truth"], "the run folder would lie among the truth"),
        (["kits21", "--out", "file"], "this is not a folder. Give a new folder as --out"),
        (["kits21", "--baseline", "teem"], "Did you mean team?"),
    ],
)
def test_bad_calls_get_one_line(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    for folder in ("truth", "teams/team", "empty"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "file").touch()
    given = {"--truth": "truth", "--submissions": "teams", "--out": "run"}
    given |= {key: value for key, value in zip(arguments[1::2], arguments[2::2], strict=True) if key in given}
    others = [
        word for pair in zip(arguments[1::2], arguments[2::2], strict=True) for word in pair if pair[0] not in given
    ]
    result = run("evaluate", arguments[0], *(word for pair in given.items() for word in pair), *others)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_what_is_needed_is_said(run):
    result = run("evaluate", "kits21")
    assert result.exit_code == 1
    assert "--truth, --submissions and --out must be given" in result.stderr
    assert result.stderr.count("\n") == 1
