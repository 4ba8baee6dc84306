"""`podium report`: from a run folder to a page."""

import json

import polars as pl
import pytest
from reports import synthetic_run, write_run_folder

from podium.challenges import challenges

pytestmark = pytest.mark.slow


@pytest.fixture
def evaluated(tmp_path):
    """Return a run folder of a run that never was."""
    return write_run_folder(synthetic_run(submissions=4, cases=8, failing=0.1), tmp_path / "run")


def test_a_report_is_written_into_the_run(run, evaluated):
    result = run("report", evaluated, "--only", "places", "--only", "tau_violin", "--bootstrap", 40)
    assert result.exit_code == 0, result.output
    assert f"The report is {evaluated / 'report.html'}" in result.stderr
    assert "2 figures are in" in result.stderr
    names = {path.name for path in (evaluated / "figures").iterdir()}
    assert names == {f"{name}.{form}" for name in ("places", "tau_violin") for form in ("svg", "pdf", "png")}
    text = (evaluated / "report.html").read_text()
    assert "40 bootstrap resamples (seed 1)" in text
    assert "the truth is no longer at" in text  # pictures were wanted, and could not be drawn
    listed = json.loads((evaluated / ".podium.json").read_text())["files"]
    assert {"report.html", "run.json", *(f"figures/{name}" for name in names)} <= set(listed)


@pytest.mark.slow
def test_all_options_are_heeded(run, evaluated, tmp_path):
    out = tmp_path / "elsewhere" / "page.html"
    chosen = ("--only", "metric_correlation", "--bootstrap", 0, "--no-pictures")
    options = (*chosen, "--title", "The <final>", "--anonymise")
    result = run("report", evaluated, "--out", out, "--submission", "team 02", *options)
    assert result.exit_code == 0, result.output
    assert not (evaluated / "report.html").exists()
    text = out.read_text()
    assert "<title>The &lt;final&gt;</title>" in text
    assert "No resampling was asked for." in text
    assert "Cases in pictures" not in text
    assert "team 02" in text
    assert "team 01" not in text
    assert (out.parent / "figures" / "metric_correlation.pdf").is_file()
    again = run("report", evaluated, "--out", out, "--submission", "team 02", *options)
    assert again.exit_code == 0
    assert out.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--only", "place"), "there is no figure called 'place'"),
        (("--submission", "team 09"), "there is no submission called 'team 09'"),
        (("--images", "nowhere"), "this is not a folder"),
        (("--out", "page.pdf"), "a page ends with .html"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(run, evaluated, arguments, told):
    result = run("report", evaluated, "--bootstrap", 0, "--no-pictures", *arguments)
    assert result.exit_code == 1
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (evaluated / "report.html").exists()


@pytest.mark.parametrize("name", ["report.html", "figures/dots_and_boxes-dice-mass.svg"])
def test_a_file_of_somebody_else_in_the_way_is_refused_in_one_line(run, evaluated, name):
    (evaluated / name).parent.mkdir(exist_ok=True)
    (evaluated / name).write_text("mine")
    result = run("report", evaluated, "--bootstrap", 0, "--no-pictures", "--only", "dots_and_boxes", "--format", "svg")
    assert result.exit_code == 1
    assert f"{evaluated / name}: this file is in the way, and Podium did not write it. Move it" in " ".join(
        result.stderr.split()
    )
    assert result.stderr.count("\n") == 1
    assert (evaluated / name).read_text() == "mine"
    assert name == "report.html" or not (evaluated / "report.html").exists()
    (evaluated / name).unlink()
    assert run("report", evaluated, "--bootstrap", 0, "--no-pictures", "--only", "dots_and_boxes").exit_code == 0


def test_a_folder_that_is_no_run_is_refused(run, tmp_path):
    result = run("report", tmp_path)
    assert result.exit_code == 1
    assert "this is not a run folder" in result.stderr


def test_a_run_without_a_list_of_failures_has_a_page(run, evaluated):
    (evaluated / "failures.csv").unlink()
    result = run("report", evaluated, "--only", "places", "--bootstrap", 0, "--no-pictures")
    assert result.exit_code == 0, result.output
    (evaluated / "failures.csv").write_text("case\n1\n")
    result = run("report", evaluated, "--only", "places", "--bootstrap", 0, "--no-pictures")
    assert result.exit_code == 1
    assert "this table is damaged" in result.stderr


def test_names_in_tables_are_read_as_text(run, tmp_path):
    """A team may be called 007, and a failed case have no reason."""
    folder = write_run_folder(synthetic_run(cases=6, names=["007", "1e5", "null"], failing=0.5), tmp_path / "run")
    result = run("report", folder, "--only", "places", "--bootstrap", 20, "--no-pictures")
    assert result.exit_code == 0, result.output
    text = (folder / "report.html").read_text()
    for name in pl.read_csv(folder / "failures.csv", infer_schema=False)["submission"].unique():
        assert f"<bdi>{name}</bdi>" in text


def test_formats_of_files_can_be_chosen(run, evaluated, tmp_path):
    page = tmp_path / "page.html"
    few = ("--only", "places", "--bootstrap", 50, "--no-pictures")
    result = run("report", evaluated, "--out", page, *few, "--format", "svg")
    assert result.exit_code == 0, result.output
    assert {path.suffix for path in (tmp_path / "figures").iterdir() if path.is_file()} == {".svg"}
    result = run("report", evaluated, "--out", page, "--format", "gif")
    assert result.exit_code == 1
    assert "there is no format 'gif'. There are: svg, pdf, png" in result.stderr


@pytest.mark.heavy
@pytest.mark.parametrize("challenge", challenges())
def test_a_demo_ends_with_a_report(run, tmp_path, challenge):
    result = run("demo", challenge, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    page = tmp_path / challenge / "run" / "report.html"
    assert f"The reports, to be opened in a browser:\n  {page}" in result.stderr
    assert page.stat().st_size < 5_000_000
    text = page.read_text()
    assert "Cases in pictures" in text
    assert "data:image/webp" in text
    assert len(list((page.parent / "figures").glob("*.svg"))) >= 8
