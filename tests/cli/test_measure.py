"""`podium measure`: two folders of label maps."""

import json
import re

import polars as pl
import pytest
from declared_challenges import lesion, write_labels
from shared_data import PROJECT
from typer.testing import CliRunner

from podium.cli import app


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Go to a folder with references and two sets of predictions, of which the first lacks one."""
    for number in range(4):
        write_labels(tmp_path / "labels" / f"case_{number}.nii.gz", lesion(number))
        if number:
            write_labels(tmp_path / "ours" / f"case_{number}.nii.gz", lesion(number, noise=0.5))
        write_labels(tmp_path / "theirs" / f"case_{number}.nii.gz", lesion(number, shift=1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_folders_in_one_command(run, folders):
    result = run("measure", "labels", "theirs", "--region", "whole=1,2", "--region", "core=2")
    assert result.exit_code == 0, result.output
    assert "theirs is paired with labels by file name: 4 pairs." in result.stderr
    assert "Means and their 95 % intervals. 4 cases." in result.stdout
    for heading in ("Dice ↑", "Surface Dice 1 mm ↑", "whole", "core", "Worst Dice"):
        assert heading in result.stdout
    assert "14 more metrics and every case: --out FOLDER or --json." in result.stderr
    assert {path.name for path in folders.iterdir()} == {"labels", "ours", "theirs"}


def test_a_missing_prediction_is_said_and_gives_code_3(run, folders):
    result = run("measure", "labels", "ours", "--region", "whole=1,2")
    assert result.exit_code == 3, result.output
    assert "1 reference without a prediction, counted as failed (--common leaves them out)" in result.stderr
    assert "4 cases, 1 missing (worst value)" in result.stdout
    assert "whole: case_0 0.000 (missing), " in result.stdout
    assert "failed: case_0: there is no case_0.nii.gz" in result.stderr
    assert run("measure", "labels", "ours", "--region", "whole=1,2", "--common").exit_code == 0


def test_several_are_compared_ranked_and_reported_without_another_step(run, folders):
    given = ("--labels", "dataset.json", "--metrics", "dice,hausdorff_distance", "--out", "run")
    (folders / "dataset.json").write_text(json.dumps({"labels": {"background": 0, "edema": 1, "whole": [1, 2]}}))
    result = run("measure", "labels", "theirs", "--against", "net=ours", *given)
    assert result.exit_code == 3, result.output
    assert "theirs − net, case by case" in result.stdout
    assert "theirs: 4 cases; net: 4 cases, 1 missing (worst value)." in result.stdout
    assert "podium rank run and podium report run go on from here" in result.stderr
    assert pl.read_csv("run/cases.csv").columns[:5] == ["prediction", "case", "label", "dice", "hausdorff_distance"]
    ranked = run("rank", "run", "--bootstrap", 20)
    assert ranked.exit_code == 0, ranked.output
    assert "theirs" in ranked.stdout
    assert run("report", "run", "--bootstrap", 0, "--only", "dots_and_boxes", "--format", "svg").exit_code == 0
    assert (folders / "run" / "report.html").is_file()


def test_json_for_programs(run, folders):
    result = run("measure", "labels", "theirs", "--tolerance", "1=0.5", "--tolerance", "2=2", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert document["labels"] == {"1": [1], "2": [2]}
    assert document["pairing"][0] == "theirs is paired with labels by file name: 4 pairs."
    assert len(document["cases"]) == 8
    assert {row["metric"] for row in document["summary"]} >= {"dice", "surface_dice", "centre_distance"}
    assert document["differences"] == []


def test_two_files(run, folders):
    result = run("measure", "labels/case_1.nii.gz", "theirs/case_1.nii.gz")
    assert result.exit_code == 0, result.output
    assert "theirs/case_1.nii.gz is measured against labels/case_1.nii.gz." in result.stderr
    assert "Worst" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("labels", "nowhere"), "nowhere: there is no such folder"),
        (("labels", "theirs", "--tolerance", "much"), "--tolerance much is not understood"),
        (("labels", "theirs", "--region", "whole"), "--region whole is not understood"),
        (("labels", "theirs", "--geometry", "round"), "Say full or shape"),
        (("labels", "theirs", "--metrics", "dise"), "Did you mean 'dice'?"),
        (("labels", "theirs", "--region", "a=1", "--labels", "x.json"), "Give one of them"),
        (("labels", "theirs", "--out", "labels/run"), "the run folder would lie among the references"),
    ],
)
def test_mistakes_are_one_line(run, folders, arguments, message):
    result = run("measure", *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_compare_of_two_folders_points_here(run, folders):
    result = run("compare", "labels", "ours")
    assert result.exit_code == 1
    assert "podium measure labels ours" in result.stderr


def test_the_page_names_every_option(run):
    page = (PROJECT / "docs" / "measure.md").read_text()
    options = set(re.findall(r"--[a-z][a-z-]+", run("measure", "--help").stdout)) - {"--help"}
    assert len(options) > 10
    assert sorted(option for option in options if option not in page) == []


def test_however_many_metrics_there_are_no_number_is_broken(run, folders):
    for given in ("all", "overlap,surface"):
        result = run("measure", "labels", "theirs", "--against", "ours", "--metrics", given, "--region", "whole=1,2")
        assert [line for line in result.stdout.splitlines() if len(line) > 80 and not line.startswith("Means")] == []
        assert "Dice ↑\n  whole" in re.sub(r" +\n", "\n", result.stdout)
        numbers = re.findall(r"^  whole +(\d\S* \(\S+–\S+\)) +(\d\S* \(\S+–\S+\)) *$", result.stdout, re.MULTILINE)
        assert len(numbers) >= 8
    assert re.search(r"^  whole +[+−]\S+ \([+−]\S+ to [+−]\S+\) +\d +\d +\S+ *$", result.stdout, re.MULTILINE)


def test_numbers_of_many_digits_are_whole_too(folders):
    """The widest column of words gives way, as a distance of more than a metre needs room."""
    for number in range(8):
        for name, shift in (("labels", 0), ("ours", 1), ("theirs", 4)):
            moved = lesion(number, shift=shift)
            write_labels(folders / name / f"case_{number}.nii.gz", moved, spacing=(900.0, 900.0, 900.0 + number))
    options = ("--metrics", "hausdorff_distance_95,dice", "--region", "whole=1,2")
    result = CliRunner(env={"COLUMNS": "80"}).invoke(
        app, ["measure", "labels", "theirs", "--against", "ours", *options]
    )
    assert re.search(r"^  whole +[+−]\S+ \(\S+ to \S+\) +\d +\d +[\d.e−-]+ *$", result.stdout, re.MULTILINE)
    assert "…" not in result.stdout


def test_failures_of_one_reason_are_told_once(run, folders):
    for number in range(4):
        write_labels(folders / "theirs" / f"case_{number}.nii.gz", lesion(number)[:-1])
    result = run("measure", "labels", "theirs", "--region", "whole=1,2")
    assert result.exit_code == 3
    lines = [line for line in result.stderr.splitlines() if line.startswith("failed")]
    assert len(lines) == 1
    assert lines[0].startswith("failed: case_0: case_0.nii.gz: wrong shape")
    assert lines[0].endswith("So failed case_1, case_2, case_3.")
