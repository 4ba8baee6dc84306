"""What a report writes into a folder, what it leaves alone there, and what it asks of a ranking."""

import json
import shutil
import sys
from html.parser import HTMLParser

import polars as pl
import pytest
from matplotlib.figure import Figure
from reports import synthetic_report, synthetic_run, write_run_folder

import podium
from podium.model import InputError
from podium.ranking import AggregateThenRank
from podium.ranking.leaderboards import cube_of
from podium.report import figure_of
from podium.report.build import build_report
from podium.report.figures import FIGURES, as_bytes, draw

pytestmark = pytest.mark.slow


@pytest.fixture
def evaluated(tmp_path):
    """Return a run folder of a run that never was."""
    return write_run_folder(synthetic_run(submissions=4, cases=8, failing=0.1), tmp_path / "run")


@pytest.fixture
def scores(tmp_path):
    """Return a table of two tasks; one value is missing, and one name is hostile."""
    rows = [
        (name, f"case {case}", task, 0.9 - 0.1 * place - 0.01 * (case * (place + 2) % 5))
        for place, name in enumerate(("alpha", "beta", "<b>gamma</b> & co"))
        for case in range(8)
        for task in ("liver", "spleen")
        if (name, case, task) != ("beta", 3, "liver")
    ]
    path = tmp_path / "scores.csv"
    pl.DataFrame(rows, schema=["submission", "case", "task", "value"], orient="row").write_csv(path)
    return path


def listed(place):
    """Return what Podium says that it has written."""
    return set(json.loads((place / ".podium.json").read_text())["files"])


def files_in(place):
    """Return every file of a folder, but for Podium's own list and what resuming an evaluation needs."""
    files = [path.relative_to(place) for path in place.rglob("*") if path.is_file()]
    return {path.as_posix() for path in files if path.parts[0] not in (".podium.json", ".lock", "parts")}


# Files


def test_what_podium_did_not_write_survives_reports(evaluated):
    run = podium.load(evaluated)
    (evaluated / "figures" / "cases").mkdir(parents=True)
    mine = ("figures/forest_plot-mine.png", "figures/cases/001-mine.png", "figures/notes.txt", "my-report.html")
    for name in mine:
        (evaluated / name).write_text("mine")
    for _ in range(2):
        run.report(bootstrap=30, only=["forest_plot", "places"], formats=["png"])
        assert (evaluated / "figures" / "places.png").is_file()
        assert [(evaluated / name).read_text() for name in mine] == ["mine"] * len(mine)
        assert listed(evaluated).isdisjoint(mine)
        assert files_in(evaluated) == listed(evaluated) | set(mine)


@pytest.mark.parametrize("name", ["report.html", "figures/places.png"])
def test_what_is_in_the_way_is_refused_and_kept(evaluated, name):
    (evaluated / name).parent.mkdir(exist_ok=True)
    (evaluated / name).write_text("mine")
    with pytest.raises(InputError) as refused:
        podium.load(evaluated).report(bootstrap=30, only=["places"], formats=["png"])
    assert str(refused.value) == (f"{evaluated / name}: this file is in the way, and Podium did not write it. Move it")
    assert (evaluated / name).read_text() == "mine"
    (evaluated / name).unlink()
    podium.load(evaluated).report(bootstrap=30, only=["places"], formats=["png"])
    assert {"report.html", "figures/places.png"} <= files_in(evaluated)


def test_a_page_that_somebody_named_is_overwritten(evaluated, tmp_path):
    page = tmp_path / "elsewhere" / "page.html"
    page.parent.mkdir()
    page.write_text("an earlier one")
    assert podium.load(evaluated).report(page, bootstrap=0, only=["dots_and_boxes"], formats=["svg"]) == page
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert listed(page.parent) == files_in(page.parent)


def evaluated_as(names, demo, truth, folder):
    """Evaluate some submissions of KiTS21's demo under other names, with few of its cases."""
    for name, source in zip(names, sorted((demo / "submissions").iterdir()), strict=False):
        shutil.copytree(source, folder / "submissions" / name)
    inputs = {"truth": truth, "submissions": folder / "submissions"}
    return podium.evaluate("kits21", **inputs, out=folder / "run", jobs=1)


@pytest.mark.slow
def test_a_second_report_removes_the_files_of_the_first(kits21_demo, few_cases, tmp_path):
    run = evaluated_as(["Aardvark", "Bumblebee", "Capybara"], kits21_demo, few_cases("kits21"), tmp_path)
    chosen = {"bootstrap": 0, "only": ["dots_and_boxes", "case_heatmap"], "formats": ["png"]}
    run.report(**chosen)
    first = {name for name in listed(run.folder) if name.startswith("figures/cases/")}
    assert first
    assert all(any(team in name for team in ("aardvark", "bumblebee", "capybara")) for name in first)
    run.report(**chosen, anonymise=True)
    second = {name for name in listed(run.folder) if name.startswith("figures/cases/")}
    assert len(second) == len(first)
    assert second.isdisjoint(first)
    assert files_in(run.folder) == listed(run.folder)
    run.report(**chosen, submission="Bumblebee")
    third = {name for name in listed(run.folder) if name.startswith("figures/cases/")}
    assert third
    assert all("bumblebee" in name for name in third)
    assert files_in(run.folder) == listed(run.folder)


@pytest.mark.slow
def test_beside_an_anonymous_page_no_earlier_figure_is_left(kits21_demo, few_cases, tmp_path):
    run = evaluated_as(["Aardvark", "Bumblebee"], kits21_demo, few_cases("kits21"), tmp_path)
    run.report(bootstrap=0, only=["dots_and_boxes", "case_heatmap"], formats=["svg"])
    (run.folder / "figures" / "mine.svg").write_text("Aardvark")
    run.report(bootstrap=0, only=["case_heatmap"], formats=["svg"], anonymise=True, pictures=False)
    left = {path for path in (run.folder / "figures").rglob("*") if path.is_file()}
    assert {path.name.partition("-")[0] for path in left} == {"case_heatmap", "mine.svg"}
    assert [path.name for path in left if "Aardvark" in path.read_text()] == ["mine.svg"]


# What is asked


@pytest.mark.slow
@pytest.mark.parametrize(("anonymise", "times", "only"), [(False, 1, ["places"]), (True, 2, None)])
def test_the_cube_is_built_once(evaluated, monkeypatch, anonymise, times, only):
    counted = []

    def counting(*arguments):
        counted.append(arguments)
        return cube_of(*arguments)

    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "podium"]:
        if getattr(module, "cube_of", None) is cube_of:
            monkeypatch.setattr(module, "cube_of", counting)
    podium.load(evaluated).report(bootstrap=30, formats=["svg"], anonymise=anonymise, only=only)
    assert len(counted) == times


@pytest.fixture(scope="module")
def ranking():
    """Return a ranking of a run that has every figure but one: all criteria rank alike."""
    return synthetic_run(4, 10, people=True, baseline=True, failing=0.05).rank(bootstrap=50)


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"dendrogram"}))
def test_every_figure_of_a_run_is_drawn_by_name(ranking, name):
    figure = figure_of(ranking, name)
    assert isinstance(figure, Figure)
    if name in ("places", "tau_violin"):  # the same as in a report
        from podium.report.data import gather

        ((_, drawn),) = draw(gather(ranking), only=[name])
        assert as_bytes(figure, "svg") == as_bytes(drawn[0][1], "svg")
        assert as_bytes(ranking.plot(name), "svg") == as_bytes(figure, "svg")


def test_a_figure_that_cannot_be_says_why(ranking):
    with pytest.raises(InputError, match=r"no figure called 'place'.*places"):
        figure_of(ranking, "place")
    with pytest.raises(InputError, match="All criteria give the same ranking"):
        figure_of(ranking, "dendrogram")
    bare = synthetic_run(3, 5, timing=False).rank(bootstrap=0)
    for name, reason in {
        "places": "No resampling was asked for.",
        "accuracy_runtime": "No submission reported how long it took.",
        "people_band": "Nobody measured how far people agree",
    }.items():
        with pytest.raises(InputError, match=f"there is nothing to draw: {reason}"):
            figure_of(bare, name)


# Tables


class Page(HTMLParser):
    """Elements of a page, and its text outside of styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.inside = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Note an element."""
        self.tags.append((tag, dict(attributes)))
        self.inside = tag

    def handle_data(self, data):
        """Note what is read."""
        if self.inside != "style":
            self.texts.append(data)


def test_a_table_has_a_page_with_its_board(scores, tmp_path):
    ranking = podium.rank(scores, better="higher", missing=0.0, bootstrap=60)
    said = []
    page = ranking.report(tmp_path / "out", formats=["svg"], say=said.append)
    assert page == tmp_path / "out" / "report.html"
    assert f"The report is {page}" in said[0]
    assert listed(page.parent) == files_in(page.parent)
    parsed = Page(page.read_text())
    text = " ".join(" ".join(parsed.texts).split())
    for entry in ranking.leaderboard.entries:
        assert entry.submission in text
        for column in ranking.leaderboard.columns:
            assert column.shown(entry.values[column.name]) in text
    intervals = ranking.confidence.columns["liver"]
    assert f"{intervals.low[0]:.4f} to {intervals.high[0]:.4f}" in text
    for told in ("alpha is first", "3 submissions", "8 cases in 2 tasks", "60 bootstrap resamples (seed 1)",
                 "better = higher", "1 missing value", "missing = 0.0", "by the same rule"):  # fmt: skip
        assert told in text, told
    assert "challenge" not in text
    # It is one file: nothing is fetched, and only its own script runs.
    policy = next(own["content"] for tag, own in parsed.tags if own.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    for tag, own in parsed.tags:
        assert tag not in ("link", "iframe", "object", "embed", "form")
        assert "src" not in own or own["src"].startswith("data:image/")
        assert "href" not in own or own["href"].startswith("#")
    identifiers = [own["id"] for _, own in parsed.tags if "id" in own]
    assert len(identifiers) == len(set(identifiers))
    assert {own["href"][1:] for tag, own in parsed.tags if tag == "a"} <= set(identifiers)
    drawn = {own["id"].removeprefix("figure-") for _, own in parsed.tags if own.get("class") == "group"}
    assert drawn == set(FIGURES) - {"accuracy_runtime", "people_band", "dendrogram"}


def test_a_table_without_resamples_has_figures_of_its_values(scores, tmp_path):
    page = podium.rank(scores, better="higher", missing="drop", bootstrap=0).report(
        tmp_path / "page.html", formats=["svg"]
    )
    text = " ".join(" ".join(Page(page.read_text()).texts).split())
    assert "No resampling was asked for." in text
    assert "True place" not in text
    names = {path.stem.partition("-")[0] for path in (tmp_path / "figures").iterdir()}
    assert names == {
        "dots_and_boxes", "podium_plot", "ranking_heatmap", "case_heatmap", "metric_correlation", "consensus"
    }  # fmt: skip


def test_a_general_scheme_over_a_run_has_a_page_like_a_table(tmp_path):
    run = synthetic_run(4, 8, failing=0.0)
    ranking = run.rank(scheme=AggregateThenRank("median"), bootstrap=30)
    text = " ".join(Page(ranking.report(tmp_path, only=["places"], formats=["svg"]).read_text()).texts)
    assert "Rule: median then rank" in " ".join(text.split())
    with pytest.raises(InputError, match="needs a place for its page"):
        ranking.report()


def test_beside_an_anonymous_page_of_a_table_no_name_is_left(scores, tmp_path):
    ranking = podium.rank(scores, better="higher", missing=0.0, bootstrap=0)
    ranking.report(tmp_path / "out", only=["dots_and_boxes"], formats=["svg"])
    page = ranking.report(tmp_path / "out", only=["podium_plot"], formats=["svg"], anonymise=True)
    for path in (page, *(page.parent / "figures").iterdir()):
        assert not [name for name in ("alpha", "beta", "gamma") if name in path.read_text()]
    assert {path.stem for path in (page.parent / "figures").iterdir()} == {"podium_plot-liver", "podium_plot-spleen"}


def test_figures_of_a_table(scores):
    ranking = podium.rank(scores, better="higher", missing=0.0, bootstrap=40)
    lacking = {"accuracy_runtime", "people_band", "dendrogram"}
    for name in set(FIGURES) - lacking:
        assert isinstance(ranking.plot(name), Figure)
    for name in lacking:
        with pytest.raises(InputError, match="there is nothing to draw: "):
            ranking.plot(name)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"only": ["place"]}, "no figure called 'place'"),
        ({"formats": ["gif"]}, "no format 'gif'"),
        ({"images": "nowhere"}, "this is not a folder"),
        ({"out": "page.pdf"}, "a page ends with .html"),
    ],
)
def test_nothing_is_written_where_something_is_wrong(evaluated, options, match):
    before = files_in(evaluated)
    with pytest.raises(InputError, match=match):
        podium.load(evaluated).report(bootstrap=0, **options)
    assert files_in(evaluated) == before


def test_a_single_figure_is_one(scores, tmp_path):
    said = []
    ranking = podium.rank(scores, better="higher", missing=0.0, bootstrap=20)
    ranking.report(tmp_path / "out", only=["places"], formats=["svg"], say=said.append)
    assert "; 1 figure is in " in said[0]


@pytest.mark.heavy
def test_a_report_with_pictures_twice_gives_the_same_bytes(tmp_path):
    (run, *_) = podium.demo("csv2026", out=tmp_path / "demo", report=False)
    made = []
    for name in ("one", "two"):
        run.report(tmp_path / name / "report.html", bootstrap=30, formats=["svg"])
        made.append({file: (tmp_path / name / file).read_bytes() for file in sorted(files_in(tmp_path / name))})
    assert any(file.startswith("figures/cases/") for file in made[0])
    assert made[0] == made[1]


def test_the_same_report_twice_gives_the_same_bytes(tmp_path):
    pages = []
    for name in ("one", "two"):
        data = synthetic_report(4, 6, bootstrap=30)
        only = ["dots_and_boxes", "places", "lines_over_schemes"]
        built = build_report(data, tmp_path / name / "r.html", figures=tmp_path / name / "figures", only=only)
        figures = {path.name: path.read_bytes() for path in sorted((tmp_path / name / "figures").iterdir())}
        pages.append((built.page.read_bytes(), figures))
    assert pages[0] == pages[1]
