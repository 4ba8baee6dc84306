"""Figures that tell: by mouse, by a tap and by keys, what a point says is the value in the data."""

import json
import re

import numpy as np
import polars as pl
import pytest
from browsing import PHONE, serious, unfold
from matplotlib.figure import Figure
from reports import synthetic_report, table_ranking

from podium.ranking import AggregateThenRank, Ranking, scheme_rule, table_of_scores
from podium.report import _document
from podium.report.build import _groups
from podium.report.data import gather
from podium.report.figures import save_all
from podium.report.figures.alive import panels_of_figure, points, tell
from podium.report.page import Image, Shown, render

KINDS = ["dots_and_boxes", "podium_plot", "ranking_heatmap", "places", "consensus", "forest_plot", "case_heatmap"]
DRAWING = '<svg viewBox="0 0 9 9" width="9pt" height="9pt"><path d="M0 0h9v9z"/></svg>'


def test_panels_tell_their_box_and_their_scales():
    figure = Figure(figsize=(4, 2))
    silent, linear, log, symlog = figure.subplots(1, 4)
    linear.set(xlim=(0, 2), ylim=(3, -1))
    log.set_xscale("log")
    symlog.set_xscale("symlog", linthresh=0.5, linscale=0.5)
    for axes in (linear, log, symlog):
        tell(axes, "dots", measure=0)
    panels = panels_of_figure(figure)
    assert [panel["x"][2:] for panel in panels] == [[], ["log"], ["symlog", 0.5, 0.5]]
    assert panels[0]["y"] == [3, -1]
    x, y = linear.transData.transform((2, -1)) / figure.dpi * 72
    assert panels[0]["box"][1:3] == pytest.approx([2 * 72 - y, x], abs=0.01)
    assert silent.get_label() == ""


def test_points_without_a_number_are_none_and_those_outside_stand_at_the_edge():
    axes = Figure().subplots()
    axes.set(xlim=(0, 1), ylim=(2, 0))
    x, y = np.array([0.5, np.nan, np.inf]), np.array([0.0, 1.0, 2.0])
    points(axes, x, y, teams=[4, 5, 6], says=["a", "b", "c"], measured="x")
    (panel,) = panels_of_figure(axes.figure)
    assert panel["at"] == [[0.5, 0.0, 4, "a"], [1.0, 2.0, 6, "c"]]


def written(data, path, only, pictures=None):
    groups, absent = _groups(save_all(data, path.parent / "figures", ["svg"], only=only), "figures")
    path.write_text(render(data, Shown(groups, absent, pictures or {})), encoding="utf-8")
    return path, data


@pytest.fixture(scope="module")
def alive(tmp_path_factory):
    """Write a page of two tasks with figures, of which one case has a picture."""
    data = gather(table_ranking(5, 12, tasks=["liver", "spleen"], lacking=0.04))
    picture = Image(1, "worst, case 3", "case 3", "a case", "", 0, 0, 4.0, DRAWING, "case 3")
    path = tmp_path_factory.mktemp("alive") / "report.html"
    return written(data, path, KINDS, {data.submissions[1]: [picture]})


def told(page, kind):
    return page.locator(f"#figure-{kind} figure:visible .said").inner_text()


def brought(page, kind):
    page.locator(f"#figure-{kind} figure:visible .plot").evaluate("(plot) => plot.scrollIntoView({block: 'center'})")


def centres(page, selector):
    """Return the middle of every mark, in pixels of the page as it is scrolled now."""
    script = """(marks) => marks.map((mark) => {
      const box = mark.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    })"""
    return page.locator(selector).evaluate_all(script)


def number(data, measure, team, case):
    own = data.values(measure)
    return f"{data.submissions[team]}, {data.cases[case]}, {measure.label}: {own[team, case]:.4f}"


def test_a_dot_tells_its_case_by_mouse_and_its_picture(visit, alive):
    path, data = alive
    page = visit(path)
    measure = data.measures[0]
    brought(page, "dots_and_boxes")
    good = np.isfinite(data.values(measure)) & ~data.failed(measure)
    marks = centres(page, "#figure-dots_and_boxes figure:visible .cases >> nth=0 >> use")
    pairs = np.argwhere(good).tolist()
    assert len(marks) == len(pairs)
    shown = (1, data.cases.index("case 3"))
    for (team, case), spot in [*list(zip(pairs, marks, strict=True))[::7], (shown, marks[pairs.index([*shown])])]:
        page.mouse.move(*spot)
        assert told(page, "dots_and_boxes").startswith(number(data, measure, team, case))
    assert page.locator(".tip svg").count() == 1  # its picture
    page.mouse.click(*spot)
    page.mouse.move(spot[0] + 60, spot[1] + 40)  # what was pressed stays
    page.locator(".said a:visible", has_text="picture: worst, case 3").click()
    page.wait_for_url("**#picture-1")
    lost = np.argwhere(data.failed(measure))[0].tolist()
    brought(page, "dots_and_boxes")
    page.mouse.click(*centres(page, "#figure-dots_and_boxes figure:visible .cases >> nth=1 >> use")[0])
    assert told(page, "dots_and_boxes").startswith(number(data, measure, *lost) + " (missing, counts at this price)")


def test_a_tap_tells_a_place_and_a_cell(visit, alive):
    path, data = alive
    page = visit(path, size=PHONE, has_touch=True)
    measure = data.measures[0]
    brought(page, "podium_plot")
    marks = centres(page, "#figure-podium_plot figure:visible .team[data-team='0'] use")
    values = data.values(measure, data.competitors)
    case, spot = next((case, spot) for case, spot in enumerate(marks) if 20 < spot[0] < 370)
    page.touchscreen.tap(*spot)
    place = 1 + int((values[:, case] > values[0, case]).sum())
    assert told(page, "podium_plot").startswith(f"{number(data, measure, 0, case)}, place {place} in this case")
    brought(page, "case_heatmap")
    box = page.locator("#figure-case_heatmap figure:visible svg image").first.bounding_box()
    hardest = int(np.argmin(np.median(data.values(measure), axis=0)))
    height = box["height"] / len(data.submissions)
    page.touchscreen.tap(box["x"] + box["width"] / len(data.cases) / 2, box["y"] + 1.5 * height)
    assert told(page, "case_heatmap").startswith(number(data, measure, 1, hardest))


def test_keys_go_from_point_to_point_and_zoom(visit, alive):
    path, data = alive
    page = visit(path)
    measure, teams = data.measures[0], data.submissions
    plot = page.locator("#figure-dots_and_boxes figure:visible .plot")
    plot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    best = int(np.nanargmax(data.values(measure)[0]))
    assert told(page, "dots_and_boxes").startswith(number(data, measure, 0, best))
    page.keyboard.press("ArrowDown")  # the same case of the next
    assert told(page, "dots_and_boxes").startswith(number(data, measure, 1, best))
    page.keyboard.press("+")
    svg = plot.locator("svg").first
    assert page.locator(".rulers text").count() > 0
    page.keyboard.press("Home")  # what is told is seen
    ring, view = page.locator(".ring").bounding_box(), plot.bounding_box()
    assert view["x"] <= ring["x"] <= view["x"] + view["width"]
    assert serious(page) == []
    near = svg.get_attribute("viewBox")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    whole = svg.get_attribute("viewBox")
    assert float(near.split()[2]) * 2 == pytest.approx(float(whole.split()[2]))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**#case-*")
    page.locator("#figure-forest_plot .plot").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    entry = next(entry for entry in data.board.entries if entry.submission == teams[1])
    column = next(iter(data.assessment.confidence.columns))
    assert f": {entry.values[column]:.4f} (" in told(page, "forest_plot")
    for kind, says in (("places", "of the resamples"), ("ranking_heatmap", "place 1 in"), ("consensus", "rank 1 in")):
        page.locator(f"#figure-{kind} figure:visible .plot").focus()
        page.keyboard.press("ArrowRight")
        assert says in told(page, kind)


def test_a_drag_moves_and_buttons_zoom(visit, alive):
    page = visit(alive[0])
    figure = page.locator("#figure-dots_and_boxes figure:visible")
    svg = figure.locator("svg").first
    figure.get_by_role("button", name="Zoom in").click()
    box = svg.bounding_box()
    before = svg.get_attribute("viewBox")
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 80)
    page.mouse.up()
    after = svg.get_attribute("viewBox")
    assert float(after.split()[0]) > float(before.split()[0])
    figure.get_by_role("button", name="Whole figure").click()
    assert svg.get_attribute("viewBox").startswith("0 0 ")
    assert figure.get_by_role("button", name="Zoom out").is_disabled()
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function("document.querySelector('#figure-dots_and_boxes svg.zoomed')")


@pytest.mark.heavy
def test_a_button_brings_what_is_told_nearer(visit, alive):
    page = visit(alive[0])
    figure = page.locator("#figure-dots_and_boxes figure:visible")
    figure.locator(".plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")  # far from the middle
    for _ in range(3):
        figure.get_by_role("button", name="Zoom in").click()
    ring, view = page.locator(".ring").bounding_box(), figure.locator("svg").first.bounding_box()
    assert view["x"] <= ring["x"] + ring["width"] / 2 <= view["x"] + view["width"]
    assert view["y"] <= ring["y"] + ring["height"] / 2 <= view["y"] + view["height"]


def test_one_criterion_is_chosen_for_all_figures(visit, alive):
    page = visit(alive[0])
    tabbed = ("dots_and_boxes", "podium_plot", "ranking_heatmap", "case_heatmap")

    def pressed():
        return {page.locator(f"#figure-{kind} .tabs [aria-pressed=true]").inner_text() for kind in tabbed}

    assert pressed() == {"liver"}
    page.select_option("#criterion", "spleen")
    assert pressed() == {"spleen"}
    page.locator("#figure-podium_plot .tabs button", has_text="liver").click()
    assert pressed() == {"liver"}
    assert page.locator("#criterion").input_value() == "liver"


@pytest.mark.heavy
def test_a_criterion_is_the_same_whatever_its_column_is_called(visit, tmp_path):
    """Dice of cases makes the column DSC: figures of both are about one criterion."""
    data = synthetic_report(3, 5, bootstrap=30, challenge="trackrad2025", failing=0.0)
    kinds = ["dots_and_boxes", "ranking_heatmap", "forest_plot", "accuracy_runtime"]
    path, _ = written(data, tmp_path / "report.html", kinds)
    page = visit(path)

    def shown(kind):
        return page.locator(f"#figure-{kind} .tabs [aria-pressed=true]").inner_text()

    page.select_option("#criterion", "Centre distance")
    assert [shown(kind) for kind in ("dots_and_boxes", "accuracy_runtime")] == ["Centre distance", "CD"]
    page.locator("#figure-accuracy_runtime .tabs button", has_text="DSC").click()
    assert shown("dots_and_boxes") == page.locator("#criterion").input_value() == "Dice"
    page.locator("#figure-accuracy_runtime .tabs button", has_text="Relative D98").click()
    assert shown("forest_plot").startswith("Relative D98")
    page.locator("#figure-forest_plot .tabs button").first.click()  # of several, none is chosen
    assert shown("dots_and_boxes") == "Relative D98"


def test_whoever_is_chosen_has_dots_of_its_own(visit, alive):
    page = visit(alive[0])
    page.locator("#board .choose").nth(2).click()
    for kind in ("dots_and_boxes", "podium_plot"):
        own = page.locator(f"#figure-{kind} figure:visible .redots path")
        assert set(own.evaluate_all("(all) => all.map((path) => path.dataset.team)")) == {"2"}
    faded = page.locator("#figure-dots_and_boxes figure:visible .cases").first
    assert float(faded.evaluate("(part) => getComputedStyle(part).opacity")) < 0.5


def test_without_a_script_figures_are_pictures(visit, alive):
    page = visit(alive[0], java_script_enabled=False)
    assert page.locator(".plot[role=application], .zoom, #criterion").count() == 0
    assert page.locator("#figure-dots_and_boxes .plot[role=img] svg").count() == 2


@pytest.mark.parametrize(("floor", "scale"), [(0.1, "log"), (0.0, "symlog")])
def test_logarithmic_axes_tell_the_same(visit, tmp_path, floor, scale):
    names = ["a", "b", "c"]
    drawn = np.random.default_rng(3).lognormal(0, 1, (3, 9)) + floor
    drawn[0, 0], drawn[1, 1] = floor, 500.0
    rows = [(n, f"case {c}", float(drawn[t, c])) for t, n in enumerate(names) for c in range(9)]
    frame = pl.DataFrame(rows, schema=["submission", "case", "value"], orient="row")
    table = table_of_scores(frame, better="lower", missing="worst", name="scores.csv")
    data = gather(Ranking(scheme_rule(table, AggregateThenRank()), bootstrap=0, table=table))
    path, _ = written(data, tmp_path / "report.html", ["dots_and_boxes"])
    page = visit(path)
    panels = page.evaluate("Object.values(JSON.parse(document.getElementById('data').textContent).figures)[0]")
    assert panels[0]["x"][2] == scale
    page.locator("#figure-dots_and_boxes .plot").scroll_into_view_if_needed()
    measure = data.measures[0]
    values = data.values(measure)
    for (team, case), spot in list(zip(np.ndindex(values.shape), centres(page, ".cases use"), strict=True))[::4]:
        page.mouse.move(*spot)
        assert f"{data.submissions[team]}, {data.cases[case]}, {measure.label}: {values[team, case]:.2f}" in told(
            page, "dots_and_boxes"
        )


@pytest.mark.heavy
def test_many_values_are_packed_and_told_as_they_were(visit, tmp_path, monkeypatch):
    monkeypatch.setattr(_document, "MANY", 0)
    data = synthetic_report(3, 7, bootstrap=0, undefined=0.2, timing=False)
    path = tmp_path / "packed.html"
    path.write_text(render(data))
    kept = json.loads(re.search(r'id="data">(.*?)</script>', path.read_text())[1])
    assert all(isinstance(row, str) for values in kept["values"] for row in values)
    page = visit(path)
    cells = unfold(page, "#submission-1").locator("td[data-key]")
    shown = cells.evaluate_all("(all) => all.map((cell) => cell.dataset.key)")
    values = np.array([data.values(measure)[1] for measure in data.measures]).T.ravel()
    assert np.isnan(values).any()
    assert np.allclose([float(key or "nan") for key in shown], values, atol=5.1e-5, equal_nan=True)
