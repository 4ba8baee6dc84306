"""`podium report`: from a run folder to a page."""

import json

import polars as pl
import pytest
from reports import synthetic_run, synthetic_scores, write_run_folder

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
    assert names == {"places.svg", "tau_violin.svg"}  # other formats are drawn when asked for
    text = (evaluated / "report.html").read_text()
    assert "40 bootstrap resamples (seed 1)" in text
    assert "the truth is no longer at" in text  # pictures were wanted, and could not be drawn
    listed = json.loads((evaluated / ".podium.json").read_text())["files"]
    assert {"report.html", "run.json", *(f"figures/{name}" for name in names)} <= set(listed)


@pytest.mark.slow
def test_all_options_are_heeded(run, evaluated, tmp_path):
    out = tmp_path / "elsewhere" / "page.html"
    chosen = ("--only", "metric_correlation", "--bootstrap", 0, "--no-pictures", "--format", "pdf")
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
        (("--bootstrap", "1000000000"), "1,000,000,000 resamples are too many. Ask for 1,000,000 at most"),
        (("--only", "place"), "there is no figure called 'place'"),
        (("--submission", "team 09"), "there is no submission called 'team 09'"),
        (("--images", "nowhere"), "this is not a folder"),
        (("--case", "case 1"), "there is no case called 'case 1'"),
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
    chosen = ("--bootstrap", 0, "--no-pictures", "--only", "dots_and_boxes", "--format", "svg")
    result = run("report", evaluated, *chosen)
    assert result.exit_code == 1
    assert f"{evaluated / name}: this file is in the way, and Podium did not write it. Move it" in " ".join(
        result.stderr.split()
    )
    assert result.stderr.count("\n") == 1
    assert (evaluated / name).read_text() == "mine"
    assert name == "report.html" or not (evaluated / "report.html").exists()
    (evaluated / name).unlink()
    assert run("report", evaluated, *chosen).exit_code == 0


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


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a table beside which nothing else is; one value is missing."""
    monkeypatch.chdir(tmp_path)
    scores = synthetic_scores(3, 6, lacking=0.01).rename({"submission": "team"})
    scores.write_csv(tmp_path / "liver.v2.csv")
    return tmp_path / "liver.v2.csv"


READ = ("--better", "higher", "--column", "submission=team", "--missing", "worst")
FEW = ("--only", "consensus", "--bootstrap", 20, "--format", "svg")


def test_a_table_has_a_report_in_a_folder_of_its_own(run, table):
    result = run("report", table, *READ, *FEW)
    assert result.exit_code == 0, result.output
    page = table.parent / "liver.v2-report" / "report.html"
    assert "The report is liver.v2-report/report.html" in result.stderr
    assert (page.parent / "figures" / "consensus.svg").is_file()
    assert "20 bootstrap resamples (seed 1)" in page.read_text()
    again = run("report", table, *READ, *FEW)
    assert again.exit_code == 0, again.output


def test_a_paper_is_written_in_place_of_a_page(run, table, tmp_path):
    paper = tmp_path / "paper.v2"
    result = run("report", table, *READ, "--only", "places", "--bootstrap", 20, "--paper", paper, "--title", "Livers")
    assert result.exit_code == 0, result.output
    assert f"What a paper needs is in {paper}: 10 files." in result.stderr
    assert "The values of Livers were ranked" in (paper / "methods.txt").read_text()
    assert not list(table.parent.rglob("report.html"))
    page = tmp_path / "page.html"
    both = run("report", table, *READ, "--only", "places", "--bootstrap", 0, "--paper", paper, "--out", page)
    assert both.exit_code == 0, both.output
    assert page.is_file()


def test_options_of_a_ranking_are_heeded(run, table, tmp_path):
    options = (
        "--scheme",
        "rank-then-aggregate",
        "--statistic",
        "median",
        "--task",
        "liver",
        "--seed",
        5,
        "--level",
        0.9,
    )
    out = tmp_path / "page.html"
    result = run("report", table, *READ, "--only", "places", "--bootstrap", 20, *options, "--out", out, "--anonymise")
    assert result.exit_code == 0, result.output
    text = out.read_text()
    for told in ("Rule: rank then median", "(seed 5)", "90 %", "<bdi>A</bdi>"):
        assert told in text
    assert "spleen" not in text
    assert "team 01" not in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--column", "submission=team", "--missing", "worst"), "a table does not say which values are better"),
        (("--column", "submission=team", "--better", "higher"), "is missing in"),
        ((*READ[:4], "--missing", "cheap"), "there is no way 'cheap' to treat missing values"),
        ((*READ, "--task", "lung"), "there is no task 'lung'"),
        ((*READ, "--submission", "team 9"), "there is no submission called 'team 9'"),
    ],
)
def test_a_table_that_cannot_be_ranked_is_refused_in_one_line(run, table, arguments, told):
    result = run("report", table, *arguments)
    assert result.exit_code == 1
    assert told in " ".join(result.stderr.split())
    assert sorted(path.name for path in table.parent.iterdir()) == [table.name]


def test_a_table_that_is_not_there(run, tmp_path):
    result = run("report", tmp_path / "nowhere.csv", "--better", "higher")
    assert result.exit_code == 1
    assert "there is no such run folder or table" in " ".join(result.stderr.split())


def test_a_run_knows_how_its_values_are_read(run, evaluated):
    result = run("report", evaluated, "--better", "higher")
    assert result.exit_code == 1
    assert "are for tables" in result.stderr


def test_a_run_under_a_general_scheme_goes_to_a_folder_of_its_own(run, evaluated, monkeypatch):
    monkeypatch.chdir(evaluated.parent)
    result = run("report", evaluated, "--scheme", "aggregate-then-rank", "--statistic", "median", *FEW)
    assert result.exit_code == 0, result.output
    assert "Rule: median then rank" in (evaluated.parent / "run-report" / "report.html").read_text()
    assert not (evaluated / "report.html").exists()


@pytest.mark.heavy
def test_a_demo_ends_with_a_report(run, tmp_path):
    challenge = "kits21"  # those of all are looked at in tests/report/test_first_screen.py
    result = run("demo", challenge, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    page = tmp_path / challenge / "run" / "report.html"
    assert f"The reports, to be opened in a browser:\n  {page}" in result.stderr
    assert page.stat().st_size < 5_000_000
    text = page.read_text()
    assert "Cases in pictures" in text
    assert 'id="picture-1"' in text
    assert len(list((page.parent / "figures").glob("*.svg"))) >= 8


def test_a_page_to_publish_and_a_teams_lie_apart_from_the_organisers(run, evaluated):
    few = ("--only", "places", "--bootstrap", 0)
    assert run("report", evaluated, "--public", *few).exit_code == 0
    assert "Public page" in (evaluated / "public" / "report.html").read_text()
    assert run("report", evaluated, "--team", "team 02", *few).exit_code == 0
    (page,) = (evaluated / "teams").rglob("report.html")
    assert "Private page of team 02" in page.read_text()
    assert not (evaluated / "report.html").exists()
    result = run("report", evaluated, "--team", "team 02", "--public", *few)
    assert result.exit_code == 1
    assert "Give team or public, not both" in result.stderr


def test_several_runs_are_compared(run, evaluated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = write_run_folder(synthetic_run(submissions=4, cases=7, failing=0.0, seed=2), tmp_path / "later")
    result = run("report", evaluated, other, "--bootstrap", 0, "--title", "Years")
    assert result.exit_code == 0, result.output
    assert "The comparison is comparison/report.html" in result.stderr
    text = (tmp_path / "comparison" / "report.html").read_text()
    assert "<title>Years: run, later</title>" in text
    assert (tmp_path / "comparison" / "figures" / "places_of_runs.svg").is_file()
    result = run("report", evaluated, other, "--team", "team 02")
    assert result.exit_code == 1
    assert "--team is for a single run" in result.stderr
