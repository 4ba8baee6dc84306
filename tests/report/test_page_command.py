"""`podium report` and `podium demo`: from a run folder to a page."""

import json

import polars as pl
import pytest
from reports import synthetic_run
from typer.testing import CliRunner

from podium.cli import app


@pytest.fixture
def podium():
    def podium(*arguments):
        return CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(argument) for argument in arguments])

    return podium


def write_folder(folder, **options):
    """Write a run folder of a run that never was."""
    challenge, info, table, _, failures = synthetic_run(**options)
    folder.mkdir()
    table.write_parquet(folder / "measurements.parquet")
    failures.write_csv(folder / "failures.csv")
    (folder / "run.json").write_text(json.dumps(info | {"challenge": challenge.name}))
    return folder


@pytest.fixture
def run(tmp_path):
    return write_folder(tmp_path / "run", submissions=4, cases=8, failing=0.1)


def test_a_report_is_written_into_the_run(podium, run):
    result = podium("report", run, "--only", "blob_plot", "--only", "tau_violin", "--bootstrap", 40)
    assert result.exit_code == 0, result.output
    assert f"The report is {run / 'report.html'}" in result.stderr
    assert "2 figures are in" in result.stderr
    names = {path.name for path in (run / "figures").iterdir()}
    assert names == {f"{name}.{form}" for name in ("blob_plot", "tau_violin") for form in ("svg", "pdf", "png")}
    text = (run / "report.html").read_text()
    assert "40 bootstrap resamples (seed 1)" in text
    assert "the truth is no longer at" in text  # pictures were wanted, and could not be drawn


@pytest.mark.slow
def test_all_options_are_heeded(podium, run, tmp_path):
    out = tmp_path / "elsewhere" / "page.html"
    chosen = ("--only", "metric_correlation", "--bootstrap", 0, "--no-pictures")
    options = (*chosen, "--title", "The <final>", "--anonymise")
    result = podium("report", run, "--out", out, "--submission", "team 02", *options)
    assert result.exit_code == 0, result.output
    assert not (run / "report.html").exists()
    text = out.read_text()
    assert "<title>The &lt;final&gt;</title>" in text
    assert "No resampling was asked for." in text
    assert "Cases in pictures" not in text
    assert "team 02" in text
    assert "team 01" not in text
    assert (out.parent / "figures" / "metric_correlation.pdf").is_file()
    again = podium("report", run, "--out", out, "--submission", "team 02", *options)
    assert again.exit_code == 0
    assert out.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--only", "blob"), "there is no figure called 'blob'"),
        (("--submission", "team 09"), "there is no submission called 'team 09'"),
        (("--images", "nowhere"), "this is not a folder"),
        (("--out", "page.pdf"), "a page ends with .html"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(podium, run, arguments, told):
    result = podium("report", run, "--bootstrap", 0, "--no-pictures", *arguments)
    assert result.exit_code == 1
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (run / "report.html").exists()


def test_a_folder_that_is_no_run_is_refused(podium, tmp_path):
    result = podium("report", tmp_path)
    assert result.exit_code == 1
    assert "this is not a run folder" in result.stderr


def test_a_run_without_a_list_of_failures_has_a_page(podium, run):
    (run / "failures.csv").unlink()
    result = podium("report", run, "--only", "blob_plot", "--bootstrap", 0, "--no-pictures")
    assert result.exit_code == 0, result.output
    (run / "failures.csv").write_text("case\n1\n")
    result = podium("report", run, "--only", "blob_plot", "--bootstrap", 0, "--no-pictures")
    assert result.exit_code == 1
    assert "this table is damaged" in result.stderr


def test_names_in_tables_are_read_as_text(podium, tmp_path):
    """A team may be called 007, and a failed case have no reason."""
    run = write_folder(tmp_path / "run", cases=6, names=["007", "1e5", "null"], failing=0.5)
    result = podium("report", run, "--only", "blob_plot", "--bootstrap", 20, "--no-pictures")
    assert result.exit_code == 0, result.output
    text = (run / "report.html").read_text()
    for name in pl.read_csv(run / "failures.csv", infer_schema=False)["submission"].unique():
        assert f"<bdi>{name}</bdi>" in text


@pytest.mark.slow
@pytest.mark.parametrize("challenge", ["csv2026", "kits21", "lvquan18", "trackrad2025", "tusrec"])
def test_a_demo_ends_with_a_report(podium, tmp_path, challenge):
    result = podium("demo", challenge, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    page = tmp_path / challenge / "run" / "report.html"
    assert f"The report is {page}" in result.stderr
    assert page.stat().st_size < 5_000_000
    text = page.read_text()
    assert "Cases in pictures" in text
    assert "data:image/webp" in text
    assert len(list((page.parent / "figures").glob("*.svg"))) >= 8


def test_formats_of_files_can_be_chosen(podium, run, tmp_path):
    page = tmp_path / "page.html"
    few = ("--only", "blob_plot", "--bootstrap", 50, "--no-pictures")
    result = podium("report", run, "--out", page, *few, "--format", "svg")
    assert result.exit_code == 0, result.output
    assert {path.suffix for path in (tmp_path / "figures").iterdir() if path.is_file()} == {".svg"}
    result = podium("report", run, "--out", page, "--format", "gif")
    assert result.exit_code == 1
    assert "there is no format 'gif'. There are: svg, pdf, png" in result.stderr
