"""`podium check`: every problem at once, in a table or as JSON."""

import json
import shutil

import pytest
from plugin import installed, write_landmarks

pytestmark = pytest.mark.slow


@pytest.fixture
def unlucky(kits21_demo):
    return kits21_demo / "submissions" / "unlucky"


def test_every_problem_is_listed_and_the_exit_code_says_so(run, kits21_demo, unlucky):
    result = run("check", "kits21", unlucky, "--truth", kits21_demo / "truth", "--json")
    assert result.exit_code == 1
    lines = json.loads(result.stdout)
    assert all(line["file"] and line["problem"] for line in lines)
    problems = [line for line in lines if line["kind"] == "problem"]
    assert len(problems) >= 3
    assert [line["file"] for line in lines if line["kind"] == "warning"] == [
        "case_00003.nii.gz",
        "case_0004.nii.gz",
    ]
    table = run("check", "kits21", unlucky, "--truth", kits21_demo / "truth")
    assert table.exit_code == 1
    assert f"{len(problems)} problems, 2 warnings." in table.stderr
    assert all(problem["file"] in table.stdout for problem in problems)


def test_a_good_submission_has_none(run, kits21_demo):
    careful = kits21_demo / "submissions" / "careful"
    result = run("check", "kits21", careful, "--truth", kits21_demo / "truth")
    assert result.exit_code == 0, result.output
    assert result.stderr.endswith(f"Nothing is wrong with {careful}.\n")
    alone = run("check", "kits21", careful)
    assert alone.exit_code == 0
    assert "whether cases are missing cannot be known without the truth" in alone.stderr
    assert json.loads(run("check", "kits21", careful, "--json").stdout) == []


def test_warnings_alone_are_shown_and_leave_the_exit_code(run, kits21_demo, tmp_path):
    shutil.copytree(kits21_demo / "submissions" / "careful", tmp_path / "careful")
    (tmp_path / "careful" / "notes.md").touch()
    result = run("check", "kits21", tmp_path / "careful", "--truth", kits21_demo / "truth")
    assert result.exit_code == 0, result.output
    assert "warning" in result.stdout
    assert "would be accepted, with 1 warning." in result.stderr
    result = run("check", "kits21", tmp_path / "careful", "--json")
    assert result.exit_code == 0
    assert [line["kind"] for line in json.loads(result.stdout)] == ["warning"]


def test_a_folder_of_several_teams_is_one_line(run, kits21_demo):
    for truth in ((), ("--truth", kits21_demo / "truth")):
        result = run("check", "kits21", kits21_demo / "submissions", *truth, "--json")
        assert result.exit_code == 1
        (line,) = json.loads(result.stdout)
        assert line["problem"].startswith("this holds several teams (baseline, careful,")


def test_what_is_not_there_is_one_line(run, tmp_path):
    result = run("check", "kits21", tmp_path / "nowhere")
    assert result.exit_code == 1
    assert "there is nothing here" in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_is_the_same_is_said_once_and_no_name_is_cut_off(run, tmp_path):
    name = f"{'a-job-with-a-long-name' * 5}.txt"
    truth, teams = write_landmarks(tmp_path, {"one": {"002": "x", "003": "x"}})
    (teams / "one" / name).touch()
    (tmp_path / "site").mkdir()
    with installed(tmp_path / "site"):
        result = run("check", "landmarks", teams / "one", "--truth", truth)
    assert result.exit_code == 1
    assert "2 problems, 1 warning." in result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    (second,) = (number for number, line in enumerate(lines) if line[0] == "003.txt")
    assert lines[second] == ["003.txt", "problem", "the", "same"]
    assert name in "".join(line[0] for line in lines[second + 1 :])
    assert "…" not in result.stdout
