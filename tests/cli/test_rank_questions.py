"""`podium rank --plan --margin --by`: what an organiser asks next, on the terminal and in files."""

import json

import numpy as np
import polars as pl
import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

import podium
from podium.model import InputError


@pytest.fixture
def table(tmp_path):
    """Return a table of three teams; South turns the order of the first two around."""
    random = np.random.default_rng(3)
    lines = ["submission,case,value,centre"]
    for team, mean in {"alpha": 0.87, "beta": 0.85, "gamma": 0.7}.items():
        for case in range(40):
            centre = "North" if case < 25 else "South"
            bonus = 0.06 if (team, centre) == ("beta", "South") else 0.0
            lines.append(f"{team},c{case},{mean + bonus + random.normal(0, 0.02):.4f},{centre}")
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def in_one_line(text):
    return " ".join(text.split())


def test_everything_is_said_and_written(run, table, tmp_path):
    out = tmp_path / "out"
    asked = ("--plan", "--margin", "0.01", "--by", "centre")
    result = run("rank", table, "--better", "higher", "--bootstrap", 100, *asked, "--out", out)
    assert result.exit_code == 0, result.output
    words = in_one_line(result.stdout)
    assert "Plan by Value: " in words
    assert "is better than gamma by more than 0.01." in words
    assert "In centre South (15 cases), beta is first." in words
    assert "differs by centre (p < 0.001)" in words
    document = json.loads((out / "ranking.json").read_text())
    assert {"plan", "margins", "subgroups"} <= set(document)
    for name in ("plan", "margins", "subgroups"):
        assert len(pl.read_csv(out / f"{name}.csv")) > 0
        for sentence in document[name]["sentences"]:
            assert sentence in words


def test_without_them_nothing_is_said_or_written(run, table, tmp_path):
    out = tmp_path / "out"
    result = run("rank", table, "--better", "higher", "--bootstrap", 100, "--out", out)
    assert "Plan" not in result.stdout
    assert not {"plan.csv", "margins.csv", "subgroups.csv"} & {path.name for path in out.iterdir()}


def test_a_plan_needs_no_bootstrap(run, table):
    document = json.loads(run("rank", table, "--better", "higher", "--plan", "--json").stdout)
    (own,) = document["plan"]["criteria"]
    assert own["present"] == 40
    assert own["chance_now"] == own["chances"][own["sizes"].index(40)]
    assert document["entries"][0]["place"] == 1


def test_groups_from_another_file(run, table, tmp_path):
    other = tmp_path / "cases.csv"
    other.write_text("case,scanner\n" + "".join(f"c{case},{'AB'[case % 2]}\n" for case in range(40)))
    result = run("rank", table, "--better", "higher", "--by", f"{other}:scanner")
    assert "In scanner A (20 cases)" in in_one_line(result.stdout)
    assert "does not depend on scanner beyond chance" in in_one_line(result.stdout)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--margin", "0.01"), "how sure a ranking is needs resamples"),
        (("--margin", "small", "--bootstrap", 50), "the margin small is no number. Say --margin 0.01, or --margin CRI"),
        (("--margin", "-1", "--bootstrap", 50), "the margin is -1, but must be a number from 0"),
        (("--margin", "0.1", "--margin", "0.2", "--bootstrap", 50), "several margins need names"),
        (("--margin", "HD95=0.1", "--bootstrap", 50), "there is no criterion 'HD95' for a margin. There are: value"),
        (("--by", "scanner"), "there is no column 'scanner'; found: submission, case, value, centre"),
        (("--by", "value"), "has two values in the column value"),
    ],
)
def test_what_makes_no_sense_gets_one_clear_line(run, table, arguments, words):
    result = run("rank", table, "--better", "higher", *arguments)
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.strip().splitlines()
    assert words in line


def test_a_criterion_may_be_named(run, table):
    result = run("rank", table, "--better", "higher", "--bootstrap", 50, "--margin", "Value=0.02")
    assert "by more than 0.02" in result.stdout


def test_a_run_takes_its_groups_from_a_file(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"one": {"001": "2 0 0"}, "two": {"002": "9 0 0"}})
    made = podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "run")
    (tmp_path / "cases.csv").write_text("case,region\n001,lung\n002,liver\n003,lung\n004,liver\n")
    ranking = podium.rank(made, by=f"{tmp_path / 'cases.csv'}:region", plan=True, bootstrap=50)
    plan, groups = ranking.answers
    assert {group.name: group.rows for group in groups.groups} == {"liver": 2, "lung": 2}
    assert groups.untested == "fewer than two groups have 5 cases"
    assert plan.present == 4
    with pytest.raises(InputError, match=r"there is no column 'region' here\. Name a file"):
        podium.rank(made, by="region")
