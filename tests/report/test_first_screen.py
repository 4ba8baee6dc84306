"""What a page shows before anybody scrolls: who won and the top of the leaderboard, on a desk and on a phone."""

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
import reports
from browsing import (
    DESKTOP,
    PHONE,
    crowded,
    cut_columns,
    names_on,
    not_seen,
    overlapping,
    serious,
    too_wide,
    top_of_board,
    unfold,
)
from printing import sheets_of
from reports import synthetic_report

import podium
from podium.report.build import build_report
from podium.report.page import Image, Shown, render

WORDS = ("of a very long name ", "с очень длинным именем ", "深度学习团队")
LONG = [f"{(word * 40)[:199]}{number}" for word in WORDS for number in range(2)]
RIGHT_TO_LEFT = ["فريق التعلم العميق", "שלום עולם", "تیم پردازش تصویر", "צוות א׳", "plain"]
RUNS = {
    "eight": {"submissions": 8, "cases": 6, "failing": 0.1, "baseline": True, "people": True},
    "forty": {"submissions": 40, "cases": 300},
    "one": {"submissions": 1},
    "ties": {"all_equal": True, "failing": 0.0},
    "everything failed": {"everything_failed": True},
    "long names": {"names": LONG, "cases": 15},
    "right to left": {"names": RIGHT_TO_LEFT, "cases": 15},
    "three hundred": {"submissions": 300, "cases": 1000, "failing": 0.01, "baseline": True},
}
DEMOS = ("csv2026", "kits21", "lvquan18", "trackrad2025", "tusrec")
SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that makes the page of a run by its name, once."""
    folder, pages = tmp_path_factory.mktemp("first"), {}

    def written(name):
        if name not in pages:
            data = synthetic_report(**({"bootstrap": 60} | RUNS[name]))
            path = folder / f"{name.replace(' ', '-')}.html"
            path.write_bytes(render(data).encode())
            pages[name] = path, data
        return pages[name]

    return written


def holds(visit, path, data, size):
    """Open a page and say what its first screen lacks."""
    page = visit(path, size=size)
    assert not too_wide(page)
    shown = min(3, len(data.competitors))
    assert not_seen(page, top_of_board(shown, sure=data.assessment is not None)) == []
    assert overlapping(page, "#board tbody tr:nth-child(-n+3) :is(td, th)") == []
    assert page.locator("#board tbody bdi").evaluate_all("(all) => all.map((name) => name.textContent)") == list(
        data.submissions
    )
    return page


@SIZES
def test_the_result_is_on_the_first_screen(visit, written, size):
    page = holds(visit, *written("eight"), size)
    assert size is PHONE or cut_columns(page) == []
    assert page.locator("td.score").first.inner_text().startswith("1.00")
    assert serious(page) == []


def test_a_phone_shows_cards_that_open_filter_and_sort(visit, written):
    path, data = written("eight")
    page = visit(path, size=PHONE)
    assert page.locator("td.beside:visible, td.more:visible").count() == 0
    button = page.locator("#columns")
    assert button.inner_text() == f"All {len(data.board.columns) + 2} columns"  # it is visible that there are more
    button.click()
    cells = page.locator("#board tbody tr").first.locator("td:visible")
    assert cells.count() == len(data.board.columns) + 3
    edges = cells.locator("xpath=self::td[contains(@class, 'beside') or contains(@class, 'more')]").evaluate_all(
        "(all) => all.map((cell) => `${cell.getBoundingClientRect().x} ${getComputedStyle(cell).paddingLeft}`)"
    )
    assert len(edges) > 5
    assert len(set(edges)) == 1  # also of the last
    assert not too_wide(page)
    assert page.locator("#filter").is_hidden()
    page.click("#tools")
    page.select_option("#sorting", label="Submission")
    assert names_on(page) == sorted(data.submissions)
    page.fill("#filter", "team 03")
    assert names_on(page) == ["team 03"]
    page.locator(".why:visible").click()
    assert page.locator("tr.reason").bounding_box()["width"] <= PHONE["width"]
    assert not too_wide(page)


def test_columns_that_do_not_fit_are_counted_and_brought(visit, written):
    page = visit(written("eight")[0], size={"width": 900, "height": 900})
    page.click("#columns")
    further = page.locator("#further")
    assert further.inner_text().endswith("more columns →")
    for _ in range(20):
        if further.is_hidden():
            break
        further.click()
        page.wait_for_timeout(50)
    region = page.locator("#leaderboard .scroll").bounding_box()
    last = page.locator("#board thead th").last.bounding_box()
    assert further.is_hidden()
    assert last["x"] + last["width"] <= region["x"] + region["width"] + 1


def test_without_a_script_all_columns_are_there(visit, written):
    path, data = written("eight")
    for size in (DESKTOP, PHONE):
        page = visit(path, size=size, java_script_enabled=False)
        assert page.locator("#board tbody tr").first.locator("td:visible").count() == len(data.board.columns) + 3


def test_names_that_begin_and_end_alike_stay_apart(visit, written):
    path, data = written("long names")
    page = visit(path)
    assert len(set(names_on(page))) == len(data.submissions)
    hidden = page.locator("#board .cut").first
    assert hidden.bounding_box()["width"] < 30
    page.locator(".why").first.click()
    assert page.locator("tr.reason bdi").first.inner_text() == data.submissions[0]


def test_a_submission_names_its_pictures_and_others_say_why_not(visit, tmp_path):
    data = synthetic_report(3, 4, bootstrap=0)
    drawing = '<svg viewBox="0 0 9 9" width="9pt" height="9pt"></svg>'
    images = [Image(n, f"worst, case {n}", f"case {n}", "a case", "", 0, 0, 4.0, drawing) for n in (1, 2)]
    path = tmp_path / "pictures.html"
    path.write_text(render(data, Shown(pictures={data.submissions[0]: images})))
    page = visit(path)
    links = unfold(page, "#submission-0").locator("p", has_text="In pictures")
    assert links.inner_text() == "In pictures: worst, case 1, worst, case 2"
    links.locator("a").last.click()
    page.wait_for_url("**#picture-2")
    others = unfold(page, "#submission-1")
    assert others.locator("p", has_text="None of its cases is among the pictures").count() == 1


MATRIX = ("one", "forty", "three hundred", "ties", "everything failed", "long names", "right to left", *DEMOS)
LIMITS = {"forty": 5_000_000, "three hundred": 20_000_000}
MEMORY = 2_000_000_000
SCORED = ("csv2026", "tusrec")
"""Demos in which a value decides, which has an interval; others average ranks, which have none."""


class Made(NamedTuple):
    """A page, the names on it, how many are ranked, whether it says how sure it is, and what memory it took."""

    page: Path
    names: list[str]
    ranked: int
    sure: bool
    memory: float = 0.0


def large_page(folder, options):
    """Write the page of a large run in a process of its own, whose memory is counted from the ranking on."""
    script = f"""
import json, re, sys
from pathlib import Path
sys.path.append({str(Path(reports.__file__).parent)!r})
from reports import synthetic_run
from podium.report.build import build_report
from podium.report.data import gather
options = {options!r}
bootstrap = options.pop("bootstrap")
run = synthetic_run(**options)
Path("/proc/self/clear_refs").write_text("5")
data = gather(run.rank(bootstrap=bootstrap))
folder = Path({str(folder)!r})
page = build_report(data, folder / "report.html", figures=folder / "figures", formats=()).page
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps([str(page), list(data.submissions), len(data.competitors), data.assessment is not None, peak]))
"""
    said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    page, *rest = json.loads(said.splitlines()[-1])
    return Made(Path(page), *rest)


def made(name, folder):
    """Write the page of a run, with all of its figures."""
    if name in DEMOS:
        (run, *_) = podium.demo(name, out=folder, bootstrap=100)
        names = [entry.submission for entry in run.leaderboard.entries]
        return Made(run.folder / "report.html", names, len(run.leaderboard.ranked), sure=True)
    options = {"bootstrap": 60} | RUNS[name]
    if name in LIMITS:
        return large_page(folder, options)
    data = synthetic_report(**options)
    page = build_report(data, folder / "report.html", figures=folder / "figures", formats=()).page
    return Made(page, list(data.submissions), len(data.competitors), data.assessment is not None)


def on_the_screen(page, one, name):
    """Assert what anybody must see at once, and reach by keyboard."""
    assert not too_wide(page)
    assert not_seen(page, [*top_of_board(min(3, one.ranked), sure=one.sure), "#reader", "#columns"]) == []
    if name in SCORED:
        assert not_seen(page, [f"#board tbody tr:nth-child({row}) td.score .ci" for row in (1, 2, 3)]) == []
    assert overlapping(page, "#board tbody tr:nth-child(-n+3) :is(td, th)") == []
    assert page.locator("#board tbody bdi").evaluate_all("(all) => all.map((name) => name.textContent)") == one.names
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    for _ in range(60):  # the keyboard reaches what made the first place
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "why":
            break
    assert page.evaluate("document.activeElement.className") == "why"
    page.keyboard.press("Enter")
    assert page.locator("tr.reason").count() == 1
    page.keyboard.press("Enter")


def on_paper(page, one):
    """Assert that everybody is on paper, that everything can be read, and that no sheet is half empty."""
    sheets = sheets_of(page)
    text = re.sub(r"\s", "", " ".join(sheet.text for sheet in sheets))
    assert [sheet.outside for sheet in sheets] == [""] * len(sheets)
    assert min(sheet.smallest for sheet in sheets) > 5.5  # of letters in figures
    assert min(sheet.smallest for sheet in sheets if "Figure" not in sheet.text) > 7.9
    figures = sum(len(re.findall(r"Figure \d+\. ", sheet.text)) for sheet in sheets)
    assert figures == page.locator("#figures .group").count()
    assert sum(sheet.filled < 0.5 for sheet in sheets[:-1]) <= 2  # before figures that have sheets of their own
    for name in one.names:
        if name.isascii() and len(name) < 30:
            assert name.replace(" ", "") in text, name


@pytest.mark.heavy
@pytest.mark.parametrize("name", MATRIX)
def test_every_run_on_every_screen_and_on_paper(visit, tmp_path, name):
    one = made(name, tmp_path)
    assert one.page.stat().st_size <= LIMITS.get(name, 5_000_000)
    assert one.memory <= MEMORY
    for size, scheme in product((DESKTOP, PHONE), ("light", "dark")):
        large = one.ranked > 100
        if large and (size is DESKTOP) == (scheme == "dark"):
            continue
        page = visit(one.page, size=size, scheme=scheme)
        on_the_screen(page, one, name)
        if not large or size is DESKTOP:
            assert serious(page) == []
        if (size, scheme) == (DESKTOP, "light"):
            assert cut_columns(page) == []
            on_paper(page, one)
            assert large or crowded(page) == []


def test_crowded_texts_would_be_found(visit, tmp_path):
    texts = (("on", 10, 20, 0), ("top", 12, 22, 0), ("out", 90, 20, 0), ("up", 50, 50, -60), ("beside", 70, 50, -60))
    moved = ((words, f"translate({x} {y}) rotate({turned})") for words, x, y, turned in texts)
    drawn = "".join(f'<text transform="{way}" font-size="12">{words}</text>' for words, way in moved)
    svg = f'<svg viewBox="0 0 100 60" width="100" height="60">{drawn}</svg>'
    (tmp_path / "crowded.html").write_text(f'<!DOCTYPE html><div id="here"><div class="plot">{svg}</div></div>')
    assert crowded(visit(tmp_path / "crowded.html")) == ["here: on lies on top", "here: out is cut"]


@pytest.fixture(scope="module")
def figured(tmp_path_factory):
    """Write a page with figures in which submissions are rows, lines and points."""
    folder = tmp_path_factory.mktemp("figured")
    data = synthetic_report(17, 6, bootstrap=30, baseline=True)
    only = ["podium_plot", "places", "lines_over_schemes", "accuracy_runtime"]
    path = build_report(data, folder / "report.html", figures=folder / "figures", only=only, formats=["svg"]).page
    return path, data


def test_choosing_a_submission_anywhere_highlights_it_everywhere(visit, figured):
    path, data = figured
    page = visit(path)
    button = page.locator("#board .choose").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert page.locator("#board tr.chosen").count() == 1
    for kind in ("podium_plot", "places", "lines_over_schemes", "accuracy_runtime"):
        figure = page.locator(f"#figure-{kind} figure:visible svg").first
        assert figure.locator("[data-team='2'].chosen").count() > 0
        assert figure.locator(".chosen:not([data-team='2'])").count() == 0
        faded = figure.locator("[data-team='3']").first.evaluate("(part) => getComputedStyle(part).opacity")
        assert float(faded) < 0.5
    assert page.locator("#figure-places .band").count() == 1
    assert page.locator("#figure-places .veil").count() == len(data.competitors) - 1  # what is theirs steps back
    page.locator("#board .choose").nth(14).click()  # of so many, not all have their names beside their points
    names = page.locator("#figure-accuracy_runtime figure:visible .redots text").all_text_contents()
    assert names == [data.submissions[14]]
    page.locator("#board .choose").nth(14).click()
    page.locator("#figure-places .row[data-team='4'] text").click()
    assert page.locator("#board tr.chosen").count() == 2
    page.keyboard.press("Escape")
    assert page.locator(".chosen, .band, .veil").count() == 0
    page.fill("#filter", data.submissions[1])
    assert page.locator("#figure-places [data-team='1'].out").count() == 0
    assert page.locator("#figure-places [data-team='0'].out").count() > 0
    assert serious(page) == []


def test_a_mark_is_the_same_on_the_board_and_in_figures(visit, figured):
    page = visit(figured[0])
    for index, name in enumerate(figured[1].competitors):
        mark = page.locator(f"#board [data-choose='{index}'] path")
        colour = mark.evaluate("(path) => getComputedStyle(path).fill")
        drawn = page.locator(f"#figure-places .team[data-team='{index}'] use").first
        assert drawn.evaluate("(mark) => getComputedStyle(mark).fill") == colour, name
