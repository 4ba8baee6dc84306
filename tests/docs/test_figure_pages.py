"""The pages of figures and of uncertainty: every kind of figure is there, and every number is the one computed."""

import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats
from shared_data import PROJECT
from typer.main import get_command

from podium.cli import app
from podium.report.data import gather
from podium.report.figures import FIGURES

FOLDER = PROJECT / "docs" / "making"
MODULES = ("figure_pages", "made_up", "simulated", "uncertainty_page")


@pytest.fixture(scope="module")
def makers():
    """Import the modules that make these pages, for this file alone."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


@pytest.fixture(scope="module")
def data(makers):
    return gather(makers.made_up.skull_ranking(bootstrap=100))


@pytest.fixture(scope="module")
def figures(makers, data):
    """Make the page of figures and its pictures, without what is told where something is lacking."""
    return dict(makers.figure_pages.pages_of(data, ()))


WORDS = {
    "criterion": "criterion",
    "criteria": "criteria",
    "lost": "failed case",
    "unit": "case",
    "units": "cases",
}


def lacking(pages, kinds):
    """Return the kinds that have no section, no picture, or not the words of the registry."""
    page = pages["figures.md"]
    return [
        name
        for name, kind in kinds.items()
        if f"--only {name}`" not in page
        or f'ranking.plot("{name}")' not in page
        or f"](figures/{name}.svg)" not in page
        or f"figures/{name}.svg" not in pages
        or kind.caption.format(**WORDS) not in page
    ]


def test_every_kind_of_figure_is_on_the_page(figures):
    assert lacking(figures, FIGURES) == []


def test_a_kind_without_a_section_would_be_noticed(figures):
    planted = replace(FIGURES["places"], name="planted")
    assert lacking(figures, FIGURES | {"planted": planted}) == ["planted"]
    other_words = replace(FIGURES["places"], caption="Another caption.")
    assert lacking(figures, FIGURES | {"places": other_words}) == ["places"]


def drawn_badly(pages):
    """Return pictures that are no SVG or show nothing, that no page shows, and that are shown and not there."""
    pictures = {path for path in pages if path.endswith(".svg")}
    shown = {found for text in pages.values() for found in re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)}
    empty = set()
    for path in pictures:
        root = ElementTree.fromstring(pages[path])
        drawn = [own for own in root.iter() if own.tag.rpartition("}")[2] in ("path", "use", "image", "text")]
        if root.tag != "{http://www.w3.org/2000/svg}svg" or len(drawn) < 10:
            empty.add(path)
    return empty | (pictures ^ shown)


def test_pictures_are_svg_and_all_are_shown(figures):
    assert drawn_badly(figures) == set()
    assert drawn_badly(figures | {"figures/stray.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>"}) == {
        "figures/stray.svg"
    }


def test_why_there_is_none_is_told_in_the_words_of_a_report(makers, data):
    made_up = makers.made_up
    bare = gather(made_up.skull_ranking(teams=("Alder", "Birch"), patients=4, bootstrap=0, alone=True))
    told, _ = makers.figure_pages.described(FIGURES["places"], data, [made_up.Situation("without resampling", bare)])
    assert f"- without resampling: “{bare.unassessed}”" in told
    told, _ = makers.figure_pages.described(FIGURES["podium_plot"], data, [made_up.Situation("for two", bare)])
    assert "- for two: left out without a word" in told
    told, _ = makers.figure_pages.described(FIGURES["consensus"], data, [made_up.Situation("for two", bare)])
    assert "There is none" not in told


# Uncertainty


def winners_by_means(simulated, count):
    """Return who wins each challenge, by NumPy alone."""
    values = simulated.draw_dice(np.random.default_rng(11), simulated.CHALLENGES * simulated.CASES)
    means = values.reshape(len(simulated.TEAMS), simulated.CHALLENGES, simulated.CASES).mean(axis=2)
    return means[:, :count].argmax(axis=0), means[:, :count]


def test_who_wins_is_what_means_say(makers):
    simulated = makers.simulated
    text = makers.uncertainty_page.about_challenges(simulated.repeat_challenge())
    ten = Counter(simulated.TEAMS[winner] for winner in winners_by_means(simulated, simulated.SHOWN)[0])
    for team in simulated.TEAMS:
        told = re.search(rf"{team} wins (\d+)(?! %)\b", text)
        assert (int(told[1]) if told else 0) == ten[team]
    everybody, means = winners_by_means(simulated, simulated.CHALLENGES)
    shares = np.bincount(everybody, minlength=len(simulated.TEAMS)) / simulated.CHALLENGES
    assert f"Alder, truly the best, wins {100 * shares[0]:.0f} %, Birch {100 * shares[1]:.0f} %" in text
    in_order = np.mean((np.diff(means, axis=0) < 0).all(axis=0))
    assert f"in their true order in {100 * in_order:.0f} %" in text
    assert 0.5 < shares[0] < 0.9, "truly the best, and not by much"


def test_resamples_are_those_that_are_counted(makers):
    simulated = makers.simulated
    ranking = simulated.first_challenge()
    resampled = simulated.resample(ranking, 8)
    values = simulated.draw_dice(np.random.default_rng(11), simulated.CHALLENGES * simulated.CASES)[
        :, : simulated.CASES
    ]
    means = resampled.counts @ values.T / simulated.CASES
    places = stats.rankdata(-means, axis=1)
    assert (resampled.counts.sum(axis=1) == simulated.CASES).all()
    np.testing.assert_array_equal(resampled.places, places)
    np.testing.assert_array_equal(ranking.stability.places[:8], places)
    text = makers.uncertainty_page.about_resamples(ranking, resampled.counts.tolist())
    missing = (resampled.counts == 0).sum(axis=1)
    assert f"{missing.min()} to {missing.max()} of the {simulated.CASES} cases are left out" in text
    first = simulated.TEAMS[values.mean(axis=1).argmax()]
    share = np.mean(ranking.stability.places[:, simulated.TEAMS.index(first)] == 1)
    assert f"{first} is first on the board, and in {100 * share:.0f} % of the resamples" in text


def test_the_example_can_be_computed_by_hand(makers):
    text = makers.uncertainty_page.about_schemes(makers.simulated.hand_example())
    lines = dict(re.findall(r"^\| (\w+) \| .*\) \| (.*) \|$", text, flags=re.MULTILINE))
    assert lines == {"Alder": "0.82 | 1 | 1.8 | 2", "Birch": "0.72 | 3 | 1.4 | 1", "Cedar": "0.77 | 2 | 2.8 | 3"}
    assert "Alder wins, and Birch has place 3" in text
    assert "Birch wins: it is the best in 4 of\n5 cases, and that it falls to 0.21" in text
    for team, values in makers.simulated.HAND.items():
        assert f"{np.mean(values):.2f}" == lines[team].split(" | ")[0]


def test_intervals_of_places_are_told_as_they_are(makers, monkeypatch):
    simulated = makers.simulated
    monkeypatch.setattr(simulated, "ROUNDS", 3)
    sized = simulated.sized_challenges()
    values = simulated.draw_dice(np.random.default_rng(13), max(simulated.SIZES))
    for size, own in sized.items():
        assert own.board == stats.rankdata(-values[:, :size].mean(axis=1)).tolist()
        assert all(best <= place <= worst for place, (best, worst) in zip(own.board, own.intervals, strict=True))
    assert sized[10].width > sized[300].width
    text = makers.uncertainty_page.about_sizes(sized, simulated.NearlyEqual(0.123, 0.987))
    assert f"{sized[10].width:.1f} with 10 cases, " in text
    assert f" and {sized[300].width:.1f} with 300 cases." in text
    assert f"of these {3 * len(simulated.SIZES)} challenges" in text
    assert "places of all teams in 12 %, rank intervals in 99 %" in text


def test_nearly_equal_teams_are_where_resamples_mislead(makers, monkeypatch):
    simulated = makers.simulated
    monkeypatch.setattr(simulated, "NEARLY_EQUAL_ROUNDS", 30)
    random, teams, cases, held = np.random.default_rng(4), simulated.NEARLY_EQUAL_TEAMS, simulated.CASES, []
    for _ in range(200):  # a common difficulty moves nobody's place, and millionths are nothing
        counts = random.multinomial(cases, np.full(cases, 1 / cases), 500)
        places = stats.rankdata(-(counts @ random.uniform(-1, 1, (cases, teams))), axis=1)
        low, high = np.quantile(places, [0.025, 0.975], axis=0)
        held.append(((low <= np.arange(1, teams + 1)) & (np.arange(1, teams + 1) <= high)).all())
    equals = simulated.nearly_equal()
    assert equals.by_resamples == pytest.approx(np.mean(held), abs=3 * np.sqrt(0.2 * 0.8 / 30))
    assert equals.by_intervals > 0.8


def test_coverage_is_that_of_a_bootstrap_written_here(makers, monkeypatch):
    simulated = makers.simulated
    monkeypatch.setattr(simulated, "SAMPLES", 600)
    monkeypatch.setattr(simulated, "COVERAGE_SIZES", (10, 50))
    covered = simulated.coverage()
    random = np.random.default_rng(3)
    for place, cases in enumerate((10, 50)):
        samples = random.lognormal(0, 1, (600, cases))
        counts = random.multinomial(cases, np.full(cases, 1 / cases), 1000)
        low, high = np.quantile(samples @ counts.T / cases, [0.025, 0.975], axis=1)
        share = np.mean((low <= np.exp(0.5)) & (np.exp(0.5) <= high))
        assert covered["skewed"]["percentile"][place] == pytest.approx(share, abs=0.06), "three standard errors of both"
    assert covered["skewed"]["bootstrap-t"][0] > covered["skewed"]["percentile"][0] + 0.06
    assert min(covered["failing"]["guaranteed"]) > 0.95 > max(covered["failing"]["bootstrap-t"])


def test_coverage_is_told_as_it_is(makers):
    shares = [0.71, 0.8, 0.9, 0.91, 0.93]
    failing = {
        "percentile": shares,
        "bootstrap-t": [0.9, 0.89, 0.86, 0.9, 0.94],
        "guaranteed": [0.99, 0.99, 0.988, 1, 1],
    }
    text = makers.uncertainty_page.about_coverage(
        {"skewed": {"percentile": shares, "bootstrap-t": shares}, "failing": failing}
    )
    plain = " ".join(text.split())
    assert "holds the truth in 71 % with 10 cases and in 93 % with 200" in plain
    assert "In 36 % of the test sets of 50 cases no failure is seen" in plain, "0.98 to the power of 50 is 0.364"
    assert "bootstrap-t holds the truth in 86 % of them all" in plain
    assert "holds it in 99 %;" in plain


def test_false_claims_about_clusters_are_those_of_students_t(makers):
    simulated = makers.simulated
    clustered = simulated.clustered()
    random = np.random.default_rng(5)
    patients = random.normal(0, simulated.PATIENT_SPREAD, (2000, simulated.PATIENTS, 1))
    values = patients + random.normal(0, simulated.IMAGE_SPREAD, (2000, simulated.PATIENTS, simulated.IMAGES))
    apart = np.mean(stats.ttest_1samp(values.reshape(2000, -1), 0, axis=1).pvalue < 0.05)
    together = np.mean(stats.ttest_1samp(values.mean(axis=2), 0, axis=1).pvalue < 0.05)
    assert clustered.false_apart == pytest.approx(apart, abs=0.05)
    assert clustered.false_together == pytest.approx(together, abs=0.03)
    middle = clustered.differences.mean()
    assert 0 < clustered.apart[0] < middle < clustered.apart[1] or clustered.apart[0] < middle < clustered.apart[1] < 0
    assert clustered.together[0] < 0 < clustered.together[1]
    text = makers.uncertainty_page.about_clusters(clustered)
    assert (
        f"different in {100 * clustered.false_apart:.0f} %, the second in {100 * clustered.false_together:.0f} %"
        in " ".join(text.split())
    )


def test_sections_options_and_calls_of_the_table_exist(makers):
    page = makers.uncertainty_page
    headings = re.findall(r"^#+ (.*)$", (PROJECT / "docs" / "ranking.md").read_text("utf-8"), flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    linked = set(re.findall(r"ranking\.md#([\w-]+)", page.closing()))
    assert linked
    assert linked <= anchors
    options = {name for own in get_command(app).commands["rank"].params for name in own.opts}
    asked = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.closing()))
    assert asked <= options
    ranking = makers.simulated.ranked(makers.simulated.draw_dice(np.random.default_rng(1), 20), bootstrap=20)
    groups = {case: "first" if number < 10 else "second" for number, case in enumerate(ranking.rule.rows)}
    for call in re.findall(r"`(ranking\.[^`]+)`", page.closing()):
        assert eval(call, {"ranking": ranking, "groups": groups}) is not None, call


# Both, whole


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make all pages in two processes in which sets have different orders."""
    program = (
        "import importlib, pathlib, sys\n"
        f"sys.path.insert(0, {str(FOLDER)!r})\n"
        "for module in ('figure_pages', 'uncertainty_page'):\n"
        "    for path, text in importlib.import_module(module).pages():\n"
        "        place = pathlib.Path(sys.argv[1], path)\n"
        "        place.parent.mkdir(exist_ok=True)\n"
        "        place.write_text(text, encoding='utf-8')\n"
    )
    folders = [tmp_path_factory.mktemp("made") for _ in range(2)]
    runs = [
        subprocess.Popen([sys.executable, "-c", program, folder], env={**os.environ, "PYTHONHASHSEED": str(number)})
        for number, folder in enumerate(folders, 1)
    ]
    assert [run.wait() for run in runs] == [0, 0]
    return [
        {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.*")}
        for folder in folders
    ]


@pytest.mark.heavy
def test_pages_are_the_same_bytes_twice(made):
    first, second = made
    assert sorted(first) == sorted(second)
    assert [path for path in first if first[path] != second[path]] == []


@pytest.mark.heavy
def test_pages_are_whole(made):
    pages, _ = made
    assert lacking(pages, FIGURES) == []
    assert drawn_badly(pages) == set()
    assert len([path for path in pages if path.startswith("uncertainty/")]) == 6
    assert re.findall(r"\bnan\b|[{}]", pages["uncertainty.md"] + pages["figures.md"]) == []


@pytest.mark.heavy
def test_only_what_lacks_is_missing(made):
    """Small reports say what they say because of what they lack: complete ones of the same size have every figure."""
    told = made[0]["figures.md"]
    sections = dict(re.findall(r"`podium report RUN --only (\w+)`(.*?)(?=\n## |\Z)", told, flags=re.DOTALL))
    for name, text in sections.items():
        reasons = re.findall(r"^- (.*): “", text, flags=re.MULTILINE)
        assert not any("table" in reason for reason in reasons), name
        assert all("public" in reason or "team's" not in reason for reason in reasons), (
            f"{name}: what a team may not see, nobody else may"
        )
    assert "two criteria" in sections["dendrogram"]
    assert sum("two criteria" in text for text in sections.values()) == 1
    assert "no times" in sections["accuracy_runtime"]
    assert "no times" in sections["people_band"]
    assert sum("no times" in text for text in sections.values()) == 2
