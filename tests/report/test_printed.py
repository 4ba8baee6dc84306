"""The page on paper: the leaderboard whole and legible, two figures a page, cases only when asked for."""

import re

import pytest
from browsing import serious
from printing import sheets_of
from reports import HOSTILE, STRANGE_TABLES, synthetic_report, table_ranking

from podium.report._contents import board
from podium.report.build import build_report
from podium.report.data import gather
from podium.report.page import render
from podium.report.printed import board_parts, css_string

LEGIBLE = 7.99  # points, nearly 8
LONG = [f"University Hospital of a Town with a Very Long Name Indeed, Department {n} of Many" for n in range(6)]
RUNS = {
    "forty": {"submissions": 40, "cases": 300},
    "csv2026": {"challenge": "csv2026", "failing": 0.0, "baseline_seconds": 1.5},
    "lvquan18": {"challenge": "lvquan18"},
    "trackrad2025": {"challenge": "trackrad2025", "failing": 0.0},
    "tusrec": {"challenge": "tusrec"},
    "long names": {"names": LONG},
    "hostile names": {"names": HOSTILE},
    "everything failed": {"everything_failed": True},
    "no bootstrap": {"bootstrap": 0},
}


def test_columns_that_do_not_fit_stand_in_further_tables():
    shown = board(synthetic_report(5, 6, bootstrap=20, challenge="lvquan18"))
    parts = board_parts(shown)
    assert sorted(index for part in parts for index in part.columns) == list(range(len(shown.columns)))
    assert parts[0].columns[0] == 0  # what decides
    assert len(parts) > 2
    assert all(part.columns for part in parts)
    widest = max(len(part.columns) for part in parts)
    assert len(parts[-1].columns) >= widest - 4  # none is left with a column or two
    few = board(gather(table_ranking(3, 8, tasks=[""], bootstrap=0)))
    assert [part.columns for part in board_parts(few)] == [tuple(range(len(few.columns)))]


def test_what_decides_is_printed_before_ranks_within_criteria():
    shown = board(synthetic_report(5, 6, bootstrap=20))
    order = [index for part in board_parts(shown) for index in part.columns]
    decisive = [shown.columns[index].shown for index in order]
    assert decisive == sorted(decisive, reverse=True)


def test_a_title_above_each_page_may_hold_anything():
    assert css_string('a"; } * { color: red') == '"a\\22 \\3b \\20 \\7d \\20 \\2a \\20 \\7b \\20 color\\3a \\20 red"'
    assert css_string("two\nlines\x00") == '"twolines"'
    assert len(css_string("x" * 500)) < 200


def whole(sheets, data):
    """Assert that a leaderboard is on paper with everybody and every column, legible, and nothing is cut."""
    text = " ".join(sheet.text for sheet in sheets)
    assert min(sheet.smallest for sheet in sheets) >= LEGIBLE
    assert [sheet.outside for sheet in sheets] == [""] * len(sheets)
    told = re.sub(r"\s", "", text)
    titles = [column.title for column in board(data).columns]
    assert [title for title in titles if re.sub(r"\s", "", title) not in told] == []
    assert f"{len(sheets)} / {len(sheets)}" in sheets[-1].text
    return told


def test_a_page_is_printed_whole_and_legible(visit, tmp_path):
    data = synthetic_report(8, 6, bootstrap=20, title='The "best" & <b> {challenge}')
    path = tmp_path / "page.html"
    path.write_text(render(data), encoding="utf-8")
    page = visit(path, scheme="dark")
    sheets = sheets_of(page)
    told = whole(sheets, data)
    assert all(sheet.text.startswith('The "best" & <b> {challenge}') for sheet in sheets)
    assert all(name.replace(" ", "") in told for name in data.submissions)
    assert len(sheets) <= 4
    assert "Press" not in told
    assert "Casebycase" not in told
    assert page.locator("#print-cases").is_hidden()
    page.locator(".printing summary").click()
    assert serious(page) == []
    page.locator("#print-cases").check()
    page.keyboard.press("Escape")
    assert page.locator("#print-cases").is_hidden()  # what was chosen stays
    longer = sheets_of(page)
    assert len(longer) > len(sheets)
    assert "Appendix: Submissions" in " ".join(sheet.text for sheet in longer)
    assert sum(sheet.text.count("Case by case") for sheet in longer) == len(data.submissions)


def test_without_a_script_the_same_is_printed(browser, tmp_path):
    data = synthetic_report(3, 4, bootstrap=0)
    path = tmp_path / "report.html"
    build_report(data, path, figures=tmp_path / "figures", only=["dots_and_boxes"], formats=())
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        text = " ".join(sheet.text for sheet in sheets_of(page))
        assert text.count("Figure 1.") == 1
        page.locator(".printing summary").click()
        page.locator("#print-criteria").check()
        text = " ".join(sheet.text for sheet in sheets_of(page))
        assert text.count("Figure 1.") == len(data.measures)


@pytest.mark.heavy
@pytest.mark.parametrize("name", RUNS)
def test_any_page_is_printed_whole_and_legible(visit, tmp_path, name):
    data = synthetic_report(**({"bootstrap": 60} | RUNS[name]))
    path = tmp_path / "page.html"
    path.write_bytes(render(data).encode("utf-8", "replace"))
    page = visit(path)
    for paper in ("A4", "Letter"):
        told = whole(sheets_of(page, paper=paper), data)
        if name == "forty":
            assert all(name.replace(" ", "") in told for name in data.submissions)
        if name == "long names":
            assert all(f"{number}ofMany" in told for number in range(len(LONG)))


@pytest.mark.heavy
def test_a_table_is_printed_whole_and_legible(visit, tmp_path):
    data = gather(table_ranking(**STRANGE_TABLES["many"]))
    path = tmp_path / "page.html"
    path.write_text(render(data), encoding="utf-8")
    whole(sheets_of(visit(path)), data)


@pytest.mark.heavy
def test_eight_teams_are_handed_out_on_twelve_pages(visit, tmp_path):
    data = synthetic_report(8, 6)
    path = tmp_path / "report.html"
    built = build_report(data, path, figures=tmp_path / "figures", formats=())
    page = visit(path)
    for paper in ("A4", "Letter"):
        sheets = sheets_of(page, paper=paper)
        assert len(sheets) <= 12
        assert sum(sheet.filled < 0.5 for sheet in sheets[:-1]) <= 1  # where tall figures begin
        assert [sheet.outside for sheet in sheets] == [""] * len(sheets)
        figures = [len(re.findall(r"Figure \d+\. ", sheet.text)) for sheet in sheets]
        assert sum(figures) == page.locator("#figures .group").count()
        assert sum(count > 1 for count in figures) >= sum(figures) // 3
    page.evaluate("document.getElementById('print-criteria').checked = true")
    text = " ".join(sheet.text for sheet in sheets_of(page))
    assert len(re.findall(r"Figure \d+\. ", text)) == built.figures
