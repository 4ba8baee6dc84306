"""All figures of a run: which there are, that each stands every run, and what is written."""

import json
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from drawn import notes, ticks
from matplotlib.figure import Figure
from matplotlib.text import Text
from reports import DEGENERATE, HOSTILE, by_hand, synthetic_report, table_ranking

from podium.model import InputError, LabelMap
from podium.report import figures
from podium.report.data import gather
from podium.report.figures import FIGURES, Nothing, as_bytes, draw, inline_svg, save, save_all, slug
from podium.report.short_names import shortened
from podium.report.style import GRID, INK, PAPER, drawing
from podium.report.verdicts import verdict

pytestmark = pytest.mark.slow

NAMES = {
    "dots_and_boxes",
    "podium_plot",
    "ranking_heatmap",
    "places",
    "lines_over_schemes",
    "tau_violin",
    "significance_map",
    "forest_plot",
    "accuracy_runtime",
    "people_band",
    "case_heatmap",
    "metric_correlation",
    "consensus",
    "places_by_criterion",
    "places_by_submission",
    "criteria_compared",
    "dendrogram",
}

FUNCTIONS = {"places": "blob_plot"}
RESAMPLED = {"places_by_criterion", "places_by_submission", "criteria_compared"}
OF_CRITERIA = {*RESAMPLED, "consensus", "dendrogram"}

# Which figures a run lacks, besides that of people.
LACKING = {
    "one submission": {"places", "lines_over_schemes", "tau_violin", "significance_map", *OF_CRITERIA},
    "two submissions": {"dendrogram"},
    "one case": {"places", "lines_over_schemes", "tau_violin", "significance_map", "forest_plot", *RESAMPLED},
    "everything failed": {
        "podium_plot",
        "ranking_heatmap",
        "places",
        "lines_over_schemes",
        "tau_violin",
        "significance_map",
        "forest_plot",
        "accuracy_runtime",
        "metric_correlation",
        *OF_CRITERIA,
    },
    "two cases": {"significance_map"},
    "all equal": {"tau_violin", "lines_over_schemes", "significance_map", "dendrogram", "metric_correlation"},
    "hostile names": {"significance_map", "dendrogram"},
    "undefined values": {"significance_map", "dendrogram"},
    "no timing": {"accuracy_runtime", "dendrogram"},
    "people": {"dendrogram"},
    "no bootstrap": {
        "places",
        "lines_over_schemes",
        "tau_violin",
        "significance_map",
        "forest_plot",
        "dendrogram",
        *RESAMPLED,
    },
}


@cache
def run(name):
    """Return what a strange run is made of, with a small part of its measures."""
    data = synthetic_report(**({"bootstrap": 60} | DEGENERATE[name]))
    return replace(data, measures=data.measures[:2])


def texts(figure):
    return {text.get_text() for text in figure.findobj(Text)}


def test_every_figure_is_there_and_explained():
    assert set(FIGURES) == NAMES
    for name, kind in FIGURES.items():
        assert kind.name == name
        assert callable(getattr(figures, FUNCTIONS.get(name, name)))  # each is also a function of plain tables
        assert kind.title[0].isupper()
        assert kind.caption.endswith(".")
        assert 1 <= kind.caption.count(". ") + 1 <= 3
        assert len(kind.caption) < 330
        for data in (run("two cases"), gather(table_ranking(2, 2, bootstrap=0))):
            assert not {"{", "}"} & set(kind.worded(data).title + kind.worded(data).caption)


def test_tasks_are_called_tasks():
    kind = FIGURES["dendrogram"]
    assert kind.worded(run("two cases")).title == "Which criteria rank alike"
    assert kind.worded(gather(table_ranking(2, 2, bootstrap=0))).title == "Which tasks rank alike"


def test_what_a_report_cannot_have_is_not_missed(tmp_path):
    table = gather(table_ranking(3, 2, tasks=[""], bootstrap=0))
    names = {drawing.kind.name for drawing in save_all(table, tmp_path / "figures", ())}
    assert names == NAMES - OF_CRITERIA - {"accuracy_runtime", "people_band", "metric_correlation"}
    asked = save_all(table, tmp_path / "figures", (), only=["dendrogram"])
    assert [drawing.reason for drawing in asked] == ["There is only one task."]


@pytest.mark.parametrize("submissions", [1, 2])
def test_of_two_no_figure_tells_places_that_a_mean_tells(tmp_path, submissions):
    pair = gather(table_ranking(submissions, 2, bootstrap=0))
    names = {drawing.kind.name for drawing in save_all(pair, tmp_path / "figures", ())}
    of_a_field = {"podium_plot", "ranking_heatmap", "tau_violin", "dendrogram", "places_by_submission"}
    assert names == NAMES - of_a_field - {"accuracy_runtime", "people_band"}
    (asked,) = {drawing.kind.name for drawing in save_all(pair, tmp_path / "figures", (), only=["podium_plot"])}
    assert asked == "podium_plot"


QUICK = {"everything failed", "one submission", "hostile names"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.heavy]) for name in DEGENERATE]
)
def test_every_run_is_drawn_or_told_why_not(name):
    data = run(name)
    lacking = LACKING.get(name, set()) | (set() if name == "people" else {"people_band"})
    found = {kind.name: drawn for kind, drawn in draw(data)}
    assert {kind for kind, drawn in found.items() if isinstance(drawn, Nothing)} == lacking
    for kind, drawn in found.items():
        if isinstance(drawn, Nothing):
            assert drawn.reason.endswith(".")
            continue
        suffixes = [suffix for suffix, _ in drawn]
        assert len(set(suffixes)) == len(suffixes)
        for _, figure in drawn:
            assert isinstance(figure, Figure)
            with drawing():
                figure.draw_without_rendering()
            if kind in ("places", "ranking_heatmap", "significance_map"):
                assert len(ticks(figure.axes[0])) == len(data.competitors)
            if kind in ("dots_and_boxes", "case_heatmap"):
                assert len(ticks(figure.axes[0])) == len(data.submissions)


def test_tasks_that_share_no_case_are_not_correlated():
    apart, joined = (gather(table_ranking(3, 4, own_cases=own, bootstrap=0)) for own in (True, False))
    assert FIGURES["metric_correlation"].draw(apart) == Nothing("No two tasks have a case in common.")
    assert len(FIGURES["metric_correlation"].draw(joined)) == 1


def test_figures_of_a_task_hold_its_own_cases_only():
    data = gather(table_ranking(3, 4, own_cases=True, lacking=0.1, bootstrap=0))
    for measure, (suffix, figure) in zip(data.measures, FIGURES["case_heatmap"].draw(data), strict=True):
        assert suffix == measure.title
        assert set(ticks(figure.axes[0], "x")) == {f"{suffix} {index}" for index in range(4)}
    assert all(
        "without value" not in text for _, figure in FIGURES["dots_and_boxes"].draw(data) for text in texts(figure)
    )


def test_one_figure_for_each_measure():
    drawn = FIGURES["dots_and_boxes"].draw(run("two cases"))
    assert [suffix for suffix, _ in drawn] == ["Dice kidney and mass", "Dice mass"]
    assert [figure.axes[0].get_xlabel() for _, figure in drawn] == ["Dice kidney and mass ↑", "Dice mass ↑"]


def test_rows_stand_in_the_order_of_the_board():
    data = run("people")
    shown = [shortened(name) for name in data.submissions]
    (_, figure), *_ = FIGURES["dots_and_boxes"].draw(data)
    assert [text.partition("\u2002")[0] for text in ticks(figure.axes[0])] == shown
    assert shown[-2:] == ["baseline", "raters"]
    ((_, figure),) = FIGURES["places"].draw(data)
    assert [text.partition("\u2002")[0] for text in ticks(figure.axes[0])] == shown[:-2]


def test_published_places_are_in_the_first_row_of_rules():
    data = run("people")
    ((_, figure),) = FIGURES["lines_over_schemes"].draw(data)
    assert ticks(figure.axes[0])[0] == "As published"
    assert len(ticks(figure.axes[0])) == 1 + len(data.assessment.sensitivity.alternatives)
    assert len([note for note in notes(figure.axes[0]) if "another winner" in note]) == (
        len(data.assessment.sensitivity.alternatives) - data.assessment.sensitivity.kept
    )


def test_significance_of_all_criteria_then_of_each():
    drawn = FIGURES["significance_map"].draw(run("people"))
    assert [suffix for suffix, _ in drawn][:2] == ["all criteria", "Dice kidney and mass"]
    assert len(drawn) == 7


def test_hostile_names_are_shown_as_text():
    data = run("hostile names")
    ((_, figure),) = FIGURES["places"].draw(data)
    svg = as_bytes(figure, "svg")
    written = {element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}
    for name in HOSTILE:
        label = shortened(name)
        assert any(text and label in text for text in written), name
    assert b"<script" not in svg
    page = inline_svg(svg, "blob")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_the_same_data_give_the_same_bytes(form):
    first, second = (as_bytes(FIGURES["forest_plot"].draw(run("two cases"))[0][1], form) for _ in range(2))
    assert first == second
    again = FIGURES["dots_and_boxes"].draw(run("two cases"))[0][1]
    assert as_bytes(again, form) == as_bytes(again, form)


@pytest.mark.slow
def test_threads_draw_the_same():
    data = run("two cases")
    alone = as_bytes(FIGURES["forest_plot"].draw(data)[0][1], "svg")
    found = []

    def work():
        found.append(as_bytes(FIGURES["forest_plot"].draw(data)[0][1], "svg"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


@pytest.mark.slow
def test_figures_are_written_in_every_format(tmp_path):
    told = []
    found = save_all(
        run("two cases"),
        tmp_path / "figures",
        only=["tau_violin", "places", "people_band", "dots_and_boxes"],
        progress=lambda *n: told.append(n),
    )
    assert [(each.kind.name, each.suffix) for each in found] == [
        ("dots_and_boxes", "Dice kidney and mass"),
        ("dots_and_boxes", "Dice mass"),
        ("places", ""),
        ("tau_violin", ""),
        ("people_band", ""),
    ]
    names = {"dots_and_boxes-dice-kidney-and-mass", "dots_and_boxes-dice-mass", "places", "tau_violin"}
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}.{form}" for name in names for form in ("svg", "pdf", "png")
    }
    assert found[0].files[0].read_bytes().startswith(b"<?xml")
    assert found[0].files[1].read_bytes().startswith(b"%PDF")
    assert found[0].files[2].read_bytes().startswith(b"\x89PNG")
    assert found[-1].reason.startswith("Nobody measured")
    assert found[-1].files == ()
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def listed(place):
    """Return what Podium says that it has written."""
    return set(json.loads((place / ".podium.json").read_text())["files"])


def test_figures_of_an_earlier_report_are_replaced(tmp_path):
    data, folder = run("two cases"), tmp_path / "figures"
    renamed = replace(data, measures=tuple(replace(measure, title=f"Old {measure.title}") for measure in data.measures))
    save_all(renamed, folder, ["svg", "pdf"], only=["dots_and_boxes", "tau_violin"])
    assert (folder / "dots_and_boxes-old-dice-mass.pdf").is_file()
    (folder / "mine.svg").write_text("kept")
    (folder / "dots_and_boxes-mine.png").write_text("kept")
    save_all(data, folder, ["svg"], only=["dots_and_boxes", "places"])
    own = {"dots_and_boxes-dice-kidney-and-mass.svg", "dots_and_boxes-dice-mass.svg", "places.svg"}
    own |= {"tau_violin.svg", "tau_violin.pdf"}  # of another kind, which was not drawn anew
    assert {path.name for path in folder.iterdir()} == own | {"mine.svg", "dots_and_boxes-mine.png"}
    assert listed(tmp_path) == {f"figures/{name}" for name in own}
    assert (folder / "dots_and_boxes-mine.png").read_text() == "kept"


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path):
    folder = tmp_path / "figures"
    folder.mkdir()
    (folder / "places.png").write_text("mine")
    with pytest.raises(InputError, match=r"^[^\n]*places\.png: this file is in the way, and Podium did not write it"):
        save_all(run("two cases"), folder, only=["places"])
    assert [path.name for path in folder.iterdir()] == ["places.png"]
    assert (folder / "places.png").read_text() == "mine"


def test_figures_whose_names_would_be_the_same_are_told_apart(tmp_path):
    data = run("two cases")
    twins = [replace(data.measures[0], title=title) for title in ("Dice a/b", "Dice a b")]
    found = save_all(replace(data, measures=tuple(twins)), tmp_path / "figures", ["svg"], only=["dots_and_boxes"])
    assert [each.name for each in found] == ["dots_and_boxes-dice-a-b", "dots_and_boxes-dice-a-b-2"]


@pytest.mark.parametrize(
    ("options", "match"),
    [({"only": ["place"]}, r"no figure called 'place'.*places"), ({"formats": ["gif"]}, r"no format 'gif'.*svg")],
)
def test_unknown_names_and_formats_are_refused(tmp_path, options, match):
    with pytest.raises(InputError, match=match):
        save_all(run("two cases"), tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


@pytest.mark.heavy
def test_files_stay_small_for_many_submissions_and_cases(tmp_path):
    data = synthetic_report(40, 300, bootstrap=50, baseline=True, people=True)
    found = save_all(data, tmp_path / "figures", ["svg"])
    sizes = {path.name: path.stat().st_size for each in found for path in each.files}
    assert len(sizes) > 40
    assert max(sizes.values()) < 300_000, max(sizes, key=sizes.get)
    assert sum(len(each.inline) for each in found) < 4_000_000  # before the largest become pictures


def test_a_piece_of_a_page_takes_the_colours_of_the_page():
    svg = as_bytes(FIGURES["case_heatmap"].draw(run("two cases"))[0][1], "svg")
    page = inline_svg(svg, "Case heatmap: one")
    root = ET.fromstring(page)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("aria-hidden") == "true"
    assert {"viewBox", "width", "height"} <= set(root.keys())
    assert "<?xml" not in page
    assert "metadata" not in page
    assert f"var(--figure-ink, {INK})" in page
    assert f"fill:{PAPER}" not in page  # nothing lies behind it
    named = {element.get("id") for element in root.iter() if element.get("id")}
    assert named.isdisjoint(own.get("id") for own in ET.fromstring(inline_svg(svg, "Case heatmap: two")).iter())
    used = {
        value[1:]
        for element in root.iter()
        for key, value in element.items()
        if key.endswith("href") and value[0] == "#"
    }
    assert used
    assert used <= named


@pytest.mark.heavy
def test_a_piece_of_a_page_is_small_and_the_same_picture(browser, tmp_path):
    """Every text and stroke stands where it stood; only what nobody sees is gone."""
    svg = as_bytes(FIGURES["places"].draw(run("two cases"))[0][1], "svg").decode()
    page = inline_svg(svg.encode(), "places")
    assert len(page) < 0.75 * len(svg)
    assert "font-family" not in page
    assert "rotate(-0" not in page
    script = """(svg) => { document.body.innerHTML = svg; const box = (own) => own.getBoundingClientRect();
      const drawn = (own) => !own.closest("defs, clipPath") && box(own).width;
      return [...document.querySelectorAll("path, use")].filter(drawn)
        .map((own) => [box(own).x, box(own).y, box(own).width, box(own).height]); }"""
    opened = browser.new_page()
    before, after = opened.evaluate(script, svg[svg.index("<svg") :]), opened.evaluate(script, page)
    opened.close()
    assert len(after) > 20
    assert np.allclose(before[-len(after) :], after, atol=0.05)


def test_colours_within_a_name_are_no_colours():
    from matplotlib.figure import Figure

    figure = Figure()
    figure.text(0.5, 0.5, f"{INK} <g id='{GRID}'>")
    page = inline_svg(as_bytes(figure, "svg"), "x")
    (text,) = ET.fromstring(page).iter("{http://www.w3.org/2000/svg}text")
    assert text.text == f"{INK} <g id='{GRID}'>"


@pytest.mark.parametrize(("text", "expected"), [("Dice ↑", "dice"), ("  A  b/c ", "a-b-c"), ("../../etc", "etc")])
def test_suffixes_become_parts_of_file_names(text, expected):
    assert slug(text) == expected


def test_two_label_maps_are_drawn_and_saved(tmp_path):
    import numpy as np

    one, two = np.zeros((2, 8, 8, 4), np.uint8)
    one[2:6, 2:6, 1:3] = 1
    two[3:7, 2:6, 1:3] = 1
    reference, prediction = (LabelMap.from_array(each, spacing=(1.0, 1.0, 3.0)) for each in (one, two))
    figure = figures.comparison(
        reference, prediction, regions={"$x_1$": (1,)}, tolerances_mm=[0, 1, 2], surface_dice={"$x_1$": [0.5, 1, 1]}
    )
    assert "$x_1$" in texts(figure)  # as it is, not as a formula
    for form in ("svg", "pdf", "png"):
        save(figure, tmp_path / "deep" / f"figure.{form}")
    assert len(list((tmp_path / "deep").iterdir())) == 3
    with pytest.raises(InputError, match=r"ends with .png, .pdf or .svg"):
        save(figure, tmp_path / "figure.gif")


def test_figures_of_several_columns_are_called_by_them():
    suffixes = [suffix for suffix, _ in FIGURES["forest_plot"].draw(run("people"))]
    assert suffixes[0] == "Dice kidney and mass … Surface Dice kidney and mass"
    assert not any(suffix.isdigit() for suffix in suffixes)


def test_where_all_tie_no_empty_figure_is_drawn():
    data = run("all equal")
    assert FIGURES["lines_over_schemes"].draw(data).reason == "Everybody shares first place by every rule."
    told = "No paired Wilcoxon test, adjusted for all 10 pairs, tells two teams apart at 95 % confidence."
    assert FIGURES["significance_map"].draw(data).reason == told


def test_an_empty_map_of_significance_does_not_contradict_the_verdict():
    """With five cases no such test can tell two apart, while intervals of clear differences do."""
    data = by_hand({"a": [0.9, 0.91, 0.92, 0.93, 0.94], "b": [0.5, 0.52, 0.51, 0.53, 0.54]}, bootstrap=100)
    assert verdict(data).headline == "a wins."
    assert FIGURES["significance_map"].draw(data).reason == (
        "5 cases are too few for a paired Wilcoxon test of one pair at 95 % confidence; "
        "intervals of the differences of means do tell some apart."
    )


def test_captions_say_what_is_drawn_anew():
    data = synthetic_report(3, 4, bootstrap=20, challenge="tusrec", failing=0.0)
    assert data.rule.unit_words == ("scan", "scans")
    assert FIGURES["places"].worded(data).title == "Places when scans are drawn anew"
    ((_, figure),) = FIGURES["tau_violin"].draw(data)
    assert "4 times\none scan left out" in texts(figure)


def test_what_decides_is_among_the_intervals():
    """The column that decides may be computed last, of many."""
    data = synthetic_report(3, 6, bootstrap=20, challenge="csv2026", failing=0.0, baseline_seconds=1.5)
    (suffix, figure), *_ = FIGURES["forest_plot"].draw(data)
    assert len(data.assessment.confidence.columns) > 16
    assert list(data.assessment.confidence.columns).index("total") > 16
    assert suffix.startswith("S_total … ")
    assert "S_total ↑" in texts(figure)
