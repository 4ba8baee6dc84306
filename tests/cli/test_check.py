"""`podium check`: every problem at once, in a table or as JSON."""

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def unlucky(kits21_demo):
    return kits21_demo / "submissions" / "unlucky"


def test_every_problem_is_listed_and_the_exit_code_says_so(run, kits21_demo, unlucky):
    result = run("check", "kits21", unlucky, "--truth", kits21_demo / "truth", "--json")
    assert result.exit_code == 1
    problems = json.loads(result.stdout)
    assert len(problems) >= 3
    assert all(problem["file"] and problem["problem"] for problem in problems)
    table = run("check", "kits21", unlucky, "--truth", kits21_demo / "truth")
    assert table.exit_code == 1
    assert f"{len(problems)} problems." in table.stderr
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


def test_what_is_not_there_is_one_line(run, tmp_path):
    result = run("check", "kits21", tmp_path / "nowhere")
    assert result.exit_code == 1
    assert "there is nothing here" in result.stderr
    assert result.stderr.count("\n") == 1
