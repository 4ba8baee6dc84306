"""The page in a browser: Chromium, driven by Playwright; what it looks like is kept in bench-results/screens."""

import numpy as np
import polars as pl
import pytest
from browsing import DESKTOP, PATIENCE, PHONE, names_on, serious, too_wide, unfold
from reports import DEGENERATE, HOSTILE, STRANGE_TABLES, synthetic_report, table_ranking
from shared_data import PROJECT

import podium
from podium.report.build import build_report
from podium.report.data import gather
from podium.report.figures import FIGURES
from podium.report.page import render

pytestmark = pytest.mark.heavy

SCREENS = PROJECT / "bench-results" / "screens"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def data():
    return synthetic_report(
        8, 14, bootstrap=200, baseline=True, people=True, failing=0.06, title="A synthetic challenge"
    )


@pytest.fixture(scope="module")
def report(data, folder):
    """Write a page with figures, some of them alone and some in tabs."""
    only = ["dots_and_boxes", "ranking_heatmap", "places", "lines_over_schemes", "case_heatmap"]
    return build_report(data, folder / "report.html", figures=folder / "figures", only=only).page


def written(folder, name, data):
    path = folder / f"{name.replace(' ', '-')}.html"
    path.write_bytes(render(data).encode("utf-8", "replace"))
    return path


def opened(page, selector):
    """Open a section and return the rows of its tables."""
    return unfold(page, selector).locator("tbody tr")


def test_it_looks_right_on_a_phone_and_on_a_desk(visit, report, data):
    SCREENS.mkdir(parents=True, exist_ok=True)
    for size in (PHONE, DESKTOP):
        for scheme in ("light", "dark"):
            page = visit(report, size=size, scheme=scheme)
            page.screenshot(path=SCREENS / f"report-{size['width']}-{scheme}.png", full_page=True)
            assert not too_wide(page)
            assert page.title() == "A synthetic challenge"
            assert page.locator("h1").inner_text() == "A synthetic challenge"
            assert names_on(page) == list(data.submissions)
            assert page.locator("figure svg").count() == 3 * 6 + 2


def test_columns_sort_both_ways_and_nothing_last(visit, report, data):
    page = visit(report)
    heading = page.locator("#board th", has_text="Dice mass").first
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"  # the best first, since higher is better
    values = {entry.submission: entry.values["dice_mass"] for entry in data.board.entries}
    assert names_on(page) == sorted(values, key=lambda name: -values[name])
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names_on(page) == sorted(values, key=values.get)
    page.locator("#board th", has_text="Submission").locator("button").click()
    assert names_on(page) == sorted(data.submissions)
    first = page.locator("#board th", has_text="First in resamples")
    first.locator("button").press("Enter")  # a keyboard does as well
    assert set(names_on(page)[-2:]) == {"baseline", "raters"}  # no share: last, whichever way
    first.locator("button").press("Enter")
    assert set(names_on(page)[-2:]) == {"baseline", "raters"}
    assert page.locator("#board th[aria-sort]").count() == 1
    page.locator("#board th.place button").click()
    assert names_on(page) == list(data.submissions)


def test_the_leaderboard_can_be_filtered(visit, report, data):
    page = visit(report)
    page.fill("#filter", "TEAM 03")
    assert names_on(page) == ["team 03"]
    assert page.locator("#shown").inner_text() == f"1 of {len(data.submissions)} submissions shown"
    page.fill("#filter", "")
    page.select_option("#which", "ranked")
    assert names_on(page) == list(data.competitors)
    page.select_option("#which", "failed")
    failed = {name for name, lost in zip(data.cube.submissions, data.cube.failed, strict=True) if lost.any()}
    assert set(names_on(page)) == failed
    page.select_option("#which", "all")
    assert page.locator("#board th:visible", has_text="rank").count() == 1
    page.click("#columns")
    assert page.locator("#board th:visible", has_text="rank").count() == 7


def test_every_rank_is_explained(visit, report, data):
    page = visit(report)
    for index, entry in enumerate(data.board.entries[:3]):
        button = page.locator(f"tr[data-row='{index}'] .why")
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
        told = page.locator(f"#{button.get_attribute('aria-controls')}")
        assert f"Place {entry.place} of {len(data.competitors)}" in told.inner_text()
        cells = told.locator("tbody tr").first.locator("th, td").all_inner_texts()
        assert cells == [
            "Dice kidney and mass ↑",
            f"{entry.values['dice_kidney_and_mass']:.4f}",
            f"{entry.values['dice_kidney_and_mass_rank']:.0f}",
        ]
        assert f"{entry.values['average_rank']:.2f}" in told.inner_text()
    page.screenshot(path=SCREENS / "explained.png")
    page.locator("#board th.who .sort").click()  # sorting closes what is open, so that nothing is torn apart
    assert page.locator("tr.reason").count() == 0
    last = page.locator(".why").last
    last.focus()
    page.keyboard.press("Enter")
    assert last.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Enter")
    assert page.locator("tr.reason").count() == 0


def test_a_submission_and_a_case_are_opened(visit, report, data):
    page = visit(report)
    assert page.locator("#submission-1 .body *").count() == 0  # nothing is made before it is wanted
    page.locator("tr[data-row='1'] .who a").click()
    section = page.locator("#submission-1")
    rows = section.locator("table").last.locator("tbody tr")
    rows.first.wait_for()
    assert section.get_attribute("open") is not None
    assert rows.count() == len(data.cases)
    values = data.values(data.measures[0], (data.submissions[1],))[0]
    assert rows.first.locator("td").first.inner_text() == f"{values[0]:.4f}"
    assert "Places in resamples" in section.inner_text()
    section.locator("table").last.locator("th button", has_text="Dice mass").first.click()
    shown = [float(text) for text in section.locator("table").last.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    section.screenshot(path=SCREENS / "submission.png")
    page.fill("#case-filter", data.cases[3])
    assert page.locator("#case-list details:visible").count() == 1
    assert opened(page, "#case-3").count() == len(data.submissions)
    lost = [name for name, row in zip(data.cube.submissions, data.cube.failed, strict=True) if row[3]]
    assert page.locator("#case-3 .tag").count() == len(lost)
    page.locator("#case-3").screenshot(path=SCREENS / "case.png")


def test_an_address_opens_its_section(visit, report, data):
    page = visit(report, anchor=f"#case-{len(data.cases) - 1}")
    rows = page.locator(f"#case-{len(data.cases) - 1} tbody tr")
    rows.first.wait_for()
    assert rows.count() == len(data.submissions)


def test_figures_of_one_kind_take_turns(visit, report, data):
    page = visit(report)
    group = page.locator("#figure-dots_and_boxes")
    assert group.locator("figure:visible").count() == 1
    group.get_by_role("button", name="Surface Dice tumor").click()
    assert group.locator("figure:visible figcaption b").inner_text().endswith("Surface Dice tumor.")
    assert group.locator("button[aria-pressed=true]").all_inner_texts() == ["Surface Dice tumor"]
    page.emulate_media(media="print")
    assert group.locator("figure:visible").count() == 1  # the one that is shown
    page.evaluate("document.getElementById('print-criteria').checked = true")
    assert group.locator("figure:visible").count() == len(data.measures)
    assert page.locator("nav.contents").is_hidden()


def test_it_can_be_made_dark_and_light(visit, report):
    def background(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    page = visit(report)
    light = background(page)
    assert light == "rgb(255, 255, 255)"
    button = page.locator("#theme")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    dark = background(page)
    assert dark == "rgb(20, 23, 26)"
    assert button.get_attribute("aria-pressed") == "true"
    ink = page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
    assert ink != "rgb(33, 37, 43)"  # figures follow
    button.click()
    assert background(page) == light
    page = visit(report, scheme="dark")
    assert background(page) == dark
    page.locator("#theme").click()
    assert background(page) == light


@pytest.mark.parametrize(("scheme", "size"), [("dark", PHONE), ("light", DESKTOP)], ids=["phone", "desktop"])
def test_no_serious_barrier(visit, report, scheme, size):
    page = visit(report, scheme=scheme, size=size)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.locator(".why").first.click()
    if page.locator("#columns").count():
        page.click("#columns")
    page.wait_for_function("document.querySelector('#cases details:last-child table')")
    assert serious(page) == []


def test_a_barrier_would_be_found(visit, folder):
    path = folder / "barrier.html"
    path.write_text("<!DOCTYPE html><html lang=en><title>x</title><main><h1>x</h1><img src='data:,'></main></html>")
    assert [each[0] for each in serious(visit(path))] == ["image-alt"]


def test_the_keyboard_finds_the_way(visit, report):
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.wait_for_url("**#verdict")


@pytest.mark.parametrize("name", DEGENERATE)
def test_strange_runs_give_sensible_pages(visit, folder, name):
    data = synthetic_report(**({"bootstrap": 60} | DEGENERATE[name]))
    page = visit(written(folder, name, data), size=PHONE)
    assert not too_wide(page)
    assert names_on(page) == [" ".join(each.split()) for each in data.submissions] or name == "hostile names"
    opened(page, "#submission-0")
    assert opened(page, "#case-0").count() == len(data.submissions)
    page.locator(".why").first.click()
    assert not too_wide(page)
    assert serious(page) == []
    page.screenshot(path=SCREENS / f"strange-{name.replace(' ', '-')}.png", full_page=True)


def test_hostile_names_are_shown_as_they_are(visit, folder):
    data = synthetic_report(cases=5, names=HOSTILE, bootstrap=60, failing=0.3, title="<b>bold</b> & \u202eright")
    path = build_report(
        data, folder / "hostile.html", figures=folder / "hostile", only=["places", "dots_and_boxes"]
    ).page
    page = visit(path)
    shown = page.locator("#board tbody th bdi").evaluate_all("(all) => all.map((each) => each.textContent)")
    assert shown == list(data.submissions)
    for index in range(len(data.submissions)):
        opened(page, f"#submission-{index}")
        page.locator(f"tr[data-row='{index}'] .why").click()
    opened(page, "#case-0")
    inside = page.locator("#case-0 tbody th bdi").evaluate_all("(all) => all.map((each) => each.textContent)")
    assert inside == list(data.submissions)
    assert page.evaluate("document.querySelectorAll('main script, main b script, main iframe').length") == 0
    assert page.evaluate("document.querySelectorAll('h1 b').length") == 0
    assert not too_wide(page)
    page.screenshot(path=SCREENS / "hostile.png", full_page=True)


@pytest.fixture(scope="module")
def table(folder):
    """Write a table with some hostile names, and the page of its ranking."""
    generator = np.random.default_rng(1)
    rows = [
        (name, f"case {case}", task, float(np.clip(generator.normal(0.9 - 0.03 * place, 0.05), 0, 1)))
        for place, name in enumerate(("alpha", "beta", *(HOSTILE[index] for index in (0, 1, 3, 4, 8))))
        for case in range(14)
        for task in ("liver", "spleen")
        if (place, case) != (1, 3)
    ]
    scores = pl.DataFrame(rows, schema=["submission", "case", "task", "value"], orient="row")
    scores.write_csv(folder / "scores.csv")
    ranking = podium.rank(folder / "scores.csv", better="higher", missing="worst", bootstrap=200)
    return ranking, ranking.report(folder / "table", formats=["svg"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_page_of_a_table_looks_right(visit, table, size, scheme):
    ranking, path = table
    page = visit(path, size=size, scheme=scheme)
    assert not too_wide(page)
    assert page.title() == page.locator("h1").inner_text() == "scores.csv"
    shown = page.locator("#board tbody th bdi").evaluate_all("(all) => all.map((name) => name.textContent)")
    assert shown == [entry.submission for entry in ranking.leaderboard.entries]
    page.click("#columns")
    values = page.locator("#board tbody tr").first.locator("td").all_inner_texts()
    assert values[0].startswith("1")
    assert [value.partition("\n")[0] for value in (values[1], *values[4:])] == [
        column.shown(ranking.leaderboard.entries[0].values[column.name]) for column in ranking.leaderboard.columns
    ]
    for element in ("h1", ".headline", "#board", "footer"):  # nothing sticks to the edge
        assert page.locator(element).first.bounding_box()["x"] >= 12
    kinds = page.locator(".group").evaluate_all("(all) => all.map((kind) => kind.id.replace('figure-', ''))")
    assert set(kinds) == set(FIGURES) - {"accuracy_runtime", "people_band", "dendrogram"}
    assert page.evaluate("document.querySelectorAll('main script, main b script').length") == 0
    assert page.locator("#criteria tbody tr").count() == 2
    assert page.locator("nav.contents a").all_inner_texts()[3] == "Tasks"
    page.locator("#rules summary").click()
    assert page.locator("#rules details tbody tr").count() == len(ranking.sensitivity.alternatives)
    page.locator(".why").first.click()
    beta = page.locator("#board tbody tr", has_text="beta").get_attribute("data-row")
    assert opened(page, f"#submission-{beta}").count() >= 14
    lost = opened(page, "#case-3")
    assert lost.count() == len(ranking.leaderboard.entries)
    assert page.locator("#case-3 td.bad").count() == 2  # one in each task, and nobody else's
    assert page.locator("#case-3 .tag").all_inner_texts() == [" missing"]
    assert serious(page) == []
    page.screenshot(path=SCREENS / f"table-{size['width']}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("name", STRANGE_TABLES)
def test_strange_tables_give_sensible_pages(visit, folder, name):
    data = gather(table_ranking(**STRANGE_TABLES[name]))
    page = visit(written(folder, f"table {name}", data), size=PHONE)
    assert not too_wide(page)
    opened(page, "#submission-0")
    assert opened(page, "#case-0").count() == len(data.submissions)
    page.locator(".why").first.click()
    assert not too_wide(page)
    assert serious(page) == []


def test_without_scripts_the_page_still_tells(browser, report, data):
    context = browser.new_context(java_script_enabled=False, offline=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(report.as_uri())
    text = page.locator("main").inner_text()
    for told in (data.competitors[0], "Rules and provenance", "your browser does not run"):
        assert told in text
    assert page.locator("#theme").is_hidden()
    context.close()
