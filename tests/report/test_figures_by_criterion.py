"""Figures of several criteria."""

import numpy as np
import pytest
from drawn import labelled, points, ticks
from reports import HOSTILE, STRANGE_TABLES, table_ranking

from podium.model import Direction, InputError
from podium.report.data import gather
from podium.report.figures import FIGURES, Nothing
from podium.report.figures.by_criterion import (
    MOST_PANELS,
    consensus,
    criteria_compared,
    dendrogram,
    places_by_criterion,
    places_by_submission,
)
from podium.report.figures.of_criteria import has_several
from podium.report.short_names import shortened
from podium.report.style import drawing

NAMES = ("a", "b", "c")
PLACES = np.array([[[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]], [[3, 2, 1]] * 4], float)
PUBLISHED = np.array([[1, 2, 3], [3, 2, 1]], float)


def test_the_consensus_shows_every_rank_and_the_average():
    axes = consensus([[1, 2, 3], [1, 3, 2], [1, 2.5, 2.5]], [1, 2.5, 2.5], submissions=NAMES).axes[0]
    assert {tuple(spot) for spot in points(axes, "ranks").tolist()} == {
        (1, 0), (2, 1), (2.5, 1), (3, 1), (2, 2), (2.5, 2), (3, 2)
    }  # fmt: skip
    assert points(axes, "averages").tolist() == [[1, 0], [2.5, 1], [2.5, 2]]
    sizes = labelled(axes, "ranks").get_sizes()
    assert sizes[0] == pytest.approx(3 * sizes[1])
    assert [line[:, 0].tolist() for line in labelled(axes, "spans").get_segments()] == [[1, 1], [2, 3], [2, 3]]


def test_a_criterion_that_counts_more_has_a_larger_dot():
    axes = consensus([[1, 2], [2, 1]], [1.25, 1.75], submissions=NAMES[:2], importance=[3, 1]).axes[0]
    sizes = dict(zip(map(tuple, points(axes, "ranks").tolist()), labelled(axes, "ranks").get_sizes(), strict=True))
    assert sizes[1, 0] == pytest.approx(3 * sizes[2, 0])


def test_every_criterion_has_a_panel_with_all_submissions():
    figure = places_by_criterion(PLACES, PUBLISHED, submissions=NAMES, labels=["liver", "spleen"])
    first, second = figure.axes
    assert [axes.get_title("left") for axes in (first, second)] == ["liver", "spleen"]
    assert [text[0] for text in ticks(first)] == list(NAMES)
    assert {tuple(spot) for spot in points(first, "blobs").tolist()} == {
        (1, 0),
        (2, 0),
        (1, 1),
        (2, 1),
        (3, 1),
        (2, 2),
        (3, 2),
    }
    sizes = dict(zip(map(tuple, points(first, "blobs").tolist()), labelled(first, "blobs").get_sizes(), strict=True))
    assert sizes[1, 0] == pytest.approx(3 * sizes[2, 0])
    assert points(second, "published").tolist() == [[3, 0], [2, 1], [1, 2]]


def test_every_submission_has_a_panel_with_all_criteria():
    figure = places_by_submission(PLACES, PUBLISHED, submissions=NAMES, labels=["liver", "spleen"])
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title("left")[-1] for axes in panels] == list(NAMES)
    assert ticks(panels[0]) == ["liver", "spleen"]
    assert points(panels[0], "published").tolist() == [[1, 0], [3, 1]]


def test_of_many_submissions_only_the_first_have_panels():
    teams = MOST_PANELS + 9
    places = np.tile(np.arange(1.0, teams + 1), (2, 3, 1))
    names = [f"team {number}" for number in range(teams)]
    for function in (places_by_criterion, places_by_submission):
        figure = function(places, places[:, 0], submissions=names, labels=["x", "y"])
        assert figure.get_supxlabel() == f"place; the first {MOST_PANELS} of {teams}"
        assert len([axes for axes in figure.axes if axes.get_visible()]) == (
            2 if function is places_by_criterion else MOST_PANELS
        )


def compared(**changes):
    """Draw two criteria."""
    options = {"labels": ["x", "y"], "apart": [0.5, 1], "kept": [0.7, 0.9], "tau": [0.2, np.nan]} | changes
    return criteria_compared(**options).axes


def test_criteria_are_compared_side_by_side():
    separation, winner, agreement = compared()
    assert ticks(separation) == ["x", "y"]
    assert [bar.get_width() for bar in separation.patches] == [0.5, 1]
    assert winner.collections[-1].get_offsets().tolist() == [[0.7, 0], [0.9, 1]]
    assert agreement.get_xlim() == (0, 1)
    assert compared(tau=[-0.1, 1.0])[2].get_xlim() == (-1, 1)


def test_results_share_an_axis_where_they_are_alike():
    results = [np.linspace(0, 1, 101), np.linspace(0.5, 1, 101)]
    *_, axes = compared(results=results, directions=[Direction.HIGHER] * 2, axis="results ↑")
    assert axes.get_title("left") == "results ↑"
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0.25, 0.5), (0.625, 0.25)]


@pytest.mark.parametrize("scale", [1, 1000])
def test_results_that_are_not_alike_are_drawn_from_worst_to_best(scale):
    results = [np.linspace(0, 1, 101) ** 2, scale * np.linspace(0, 1, 101)]
    directions = [Direction.HIGHER, Direction.LOWER if scale == 1 else Direction.HIGHER]
    *_, axes = compared(results=results, directions=directions)
    assert ticks(axes, "x") == ["worst", "best"]
    assert axes.patches[0].get_x() == pytest.approx(0.25**2)
    assert axes.patches[1].get_x() == pytest.approx(0.25)


def test_the_tree_joins_what_is_near_first():
    distances = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]], float)
    axes = dendrogram(distances, labels=["x", "y", "z"]).axes[0]
    lines = labelled(axes, "tree").get_segments()
    assert sorted(line[:, 0].max() for line in lines) == [1, 2.5]  # the mean of 3 and 2
    assert set(ticks(axes)) == {"x", "y", "z"}
    rows = {name: row for row, name in enumerate(ticks(axes))}
    near = min(lines, key=lambda line: line[:, 0].max())
    assert {near[0, 1], near[-1, 1]} == {rows["x"], rows["z"]}
    dendrogram(np.zeros((2, 2)), labels=["x", "y"])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: consensus([[1, 2]], [1], submissions=["a", "b"]),
        lambda: consensus([[1, 2]], [1, 2], submissions=["a", "b"], importance=[1, 2]),
        lambda: places_by_criterion(PLACES, PUBLISHED, submissions=NAMES, labels=["x"]),
        lambda: places_by_criterion(PLACES[:, :0], PUBLISHED, submissions=NAMES, labels=["x", "y"]),
        lambda: places_by_submission(PLACES, PUBLISHED[:1], submissions=NAMES, labels=["x", "y"]),
        lambda: compared(tau=[1.0]),
        lambda: dendrogram(np.zeros((1, 1)), labels=["x"]),
    ],
)
def test_wrong_shapes_and_nothing_are_refused(draw):
    with pytest.raises(InputError):
        draw()


OF_CRITERIA = ("consensus", "places_by_criterion", "places_by_submission", "criteria_compared", "dendrogram")
RESAMPLED = set(OF_CRITERIA) - {"consensus", "dendrogram"}
LACKING = {
    "one task": set(OF_CRITERIA),
    "two tasks": {"dendrogram"},
    "one submission": set(OF_CRITERIA),
    "all tied": {"dendrogram"},
    "one case": RESAMPLED,
    "no bootstrap": RESAMPLED,
}


@pytest.mark.parametrize("name", STRANGE_TABLES)
def test_strange_tables_are_drawn_or_told_why_not(name):
    data = gather(table_ranking(**STRANGE_TABLES[name]))
    drawn = {kind: FIGURES[kind].draw(data) for kind in OF_CRITERIA}
    lacking = {kind for kind, figures in drawn.items() if isinstance(figures, Nothing)}
    assert lacking == LACKING.get(name, set())
    assert has_several(data) == (name != "one task")
    for figures in drawn.values():
        if isinstance(figures, Nothing):
            assert figures.reason.endswith(".")
            continue
        ((_, figure),) = figures
        with drawing():
            figure.draw_without_rendering()


def test_hostile_tasks_are_shown_as_text():
    data = gather(table_ranking(**STRANGE_TABLES["hostile names"]))
    ((_, figure),) = FIGURES["dendrogram"].draw(data)
    assert set(ticks(figure.axes[0])) == {shortened(name, 40) for name in HOSTILE[:4]}
