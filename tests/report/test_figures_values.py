"""Figures of means: what is drawn where, checked by numbers."""

import numpy as np
import pytest
from drawn import labelled, notes, ticks

from podium.model import Direction, InputError, Role
from podium.report.figures import accuracy_runtime, forest_plot
from podium.report.figures._frame import nudged
from podium.report.figures.values import pareto_front
from podium.report.style import looks

HIGHER, LOWER = Direction.HIGHER, Direction.LOWER
NAMES = ["a", "b", "c"]


def spots(axes, marker_rows):
    """Return the horizontal position of the marker in each row."""
    found = {}
    for each in axes.collections:
        if hasattr(each, "get_offsets") and len(each.get_paths()) and each.get_label().startswith("_child"):
            for x, y in each.get_offsets():
                found[round(float(y))] = float(x)
    return [found[row] for row in marker_rows]


def test_intervals_are_lines_around_their_values():
    middle, low, high = np.array([[0.9, 0.8, 0.7]]), np.array([[0.85, 0.7, 0.6]]), np.array([[0.95, 0.9, 0.75]])
    (axes,) = forest_plot(middle, low, high, submissions=NAMES, labels=["Dice ↑"]).axes
    segments = labelled(axes, "intervals").get_segments()
    np.testing.assert_allclose([s[:, 0] for s in segments], np.stack([low[0], high[0]], axis=1))
    assert spots(axes, range(3)) == [0.9, 0.8, 0.7]
    assert axes.get_title(loc="left") == "Dice ↑"
    left, right = axes.get_xlim()
    assert left < 0.6 < 0.95 < right


def test_an_end_that_is_unknown_is_an_arrow_at_the_edge():
    inf = np.inf
    (axes,) = forest_plot(
        [[0.9, 0.8, 0.7]], [[-inf, 0.7, np.nan]], [[inf, inf, np.nan]], submissions=NAMES, labels=["x"]
    ).axes
    left, right = axes.get_xlim()
    segments = labelled(axes, "intervals").get_segments()
    np.testing.assert_allclose([s[:, 0] for s in segments], [[left, right], [0.7, right]])  # none where it is NaN
    arrows = [
        each for each in axes.collections if each.get_offsets().shape == (1, 2) and each.get_offsets()[0, 0] == left
    ]
    assert len(arrows) == 1


def test_a_far_baseline_stands_at_the_edge():
    shown = looks([*NAMES, "base"], places={"a": 1, "b": 2, "c": 3}, roles={"base": Role.BASELINE})
    numbers = np.array([[0.9, 0.8, 0.7, 0.0]])
    (axes,) = forest_plot(numbers, numbers, numbers, submissions=[*NAMES, "base"], labels=["x"], looks=shown).axes
    left, _ = axes.get_xlim()
    assert left > 0.6
    assert spots(axes, [3]) == [left]


def test_panels_share_their_rows():
    numbers = np.random.default_rng(1).random((4, 3))
    panels = forest_plot(
        numbers, numbers, numbers, submissions=NAMES, labels=["Dice kidney and mass ↑", "b", "c", "d"]
    ).axes
    assert len(panels) == 4
    assert ticks(panels[0]) == ["a\u20021", "b\u20022", "c\u20023"]
    assert panels[0].get_title(loc="left") == "Dice kidney and\nmass ↑"


def dominated(time, good, index, among):
    """Return whether somebody is at least as fast and good, and faster or better."""
    return any(
        among[k]
        and time[k] <= time[index]
        and good[k] >= good[index]
        and (time[k] < time[index] or good[k] > good[index])
        for k in range(len(time))
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_front_is_whom_nobody_beats(seed):
    generator = np.random.default_rng(seed)
    time, good = generator.integers(0, 6, (2, 12)).astype(float)  # with ties
    among = generator.random(12) < 0.8
    front = pareto_front(time, good, among=among)
    assert sorted(front.tolist()) == [k for k in range(12) if among[k] and not dominated(time, good, k, among)]
    assert (np.diff(time[front]) >= 0).all()


def test_the_front_is_a_staircase():
    time, dice = [1.0, 2.0, 3.0, 4.0], [0.5, 0.9, 0.7, 0.95]
    (axes,) = accuracy_runtime(time, dice, submissions=["a", "b", "c", "d"], direction=HIGHER, label="Dice ↑").axes
    (line,) = [each for each in axes.lines if each.get_label() == "front"]
    bottom, _ = axes.get_ylim()
    _, right = axes.get_xlim()
    expected = [(1, bottom), (1, 0.5), (2, 0.5), (2, 0.9), (4, 0.9), (4, 0.95), (right, 0.95)]
    np.testing.assert_allclose(line.get_xydata(), expected)
    assert labelled(axes, "c").get_offsets().tolist() == [[3, 0.7]]
    assert notes(axes) == ["a", "b", "c", "d"]
    assert axes.get_ylabel() == "Dice ↑"


def test_the_staircase_goes_down_where_lower_is_better():
    (axes,) = accuracy_runtime([1.0, 2.0], [9.0, 3.0], submissions=["a", "b"], direction=LOWER).axes
    (line,) = [each for each in axes.lines if each.get_label() == "front"]
    assert line.get_ydata()[0] == axes.get_ylim()[1]
    assert line.get_ydata()[-1] == 3


def test_baselines_make_no_front_and_those_without_time_stand_aside():
    shown = looks(["a", "b", "base"], places={"a": 1, "b": 2}, roles={"base": Role.BASELINE})
    figure = accuracy_runtime(
        [2.0, np.nan, 0.1], [0.8, 0.7, 0.99], submissions=["a", "b", "base"], direction=HIGHER, looks=shown
    )
    axes = figure.axes[0]
    (line,) = [each for each in axes.lines if each.get_label() == "front"]
    assert line.get_xdata()[0] == 2
    assert axes.get_xscale() == "log"
    assert notes(axes) == ["a", "base", "b"]
    assert "no time reported" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_of_many_only_those_that_matter_are_named():
    generator = np.random.default_rng(1)
    names = [f"t{k}" for k in range(60)]
    time, good = generator.random(60) + 1, np.linspace(0.9, 0.3, 60)
    (axes,) = accuracy_runtime(time, good, submissions=names, direction=HIGHER).axes
    front = pareto_front(time, good, among=np.ones(60, bool))
    assert set(notes(axes)) == {*names[:5], *(names[k] for k in front)}


def test_names_that_would_meet_are_moved_apart():
    moved = nudged(np.array([0.5, 0.5, 0.51, 0.9]), 0.04)
    assert np.diff(np.sort(moved)).min() > 0.035
    assert moved[3] == 0.9
    assert nudged(np.array([0.5, 0.5]), 0.04, beside=np.array([0.1, 0.8])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("time", "good"),
    [
        ([np.nan, np.nan], [0.5, 0.6]),
        ([1.0, 1.0], [0.5, 0.5]),
        ([0.0, 1.0], [0.5, np.nan]),
        ([1.0, 1e6], [np.nan, np.nan]),
        ([np.inf, 1.0], [0.5, 0.6]),
        ([-1.0, 2.0], [0.5, 0.6]),
    ],
)
def test_strange_times_are_drawn_without_a_warning(time, good):
    accuracy_runtime(time, good, submissions=["a", "b"], direction=HIGHER).draw_without_rendering()


def test_wrong_shapes_and_nothing_are_refused():
    with pytest.raises(InputError, match="shape"):
        forest_plot(np.ones((1, 2)), np.ones((1, 3)), np.ones((1, 3)), submissions=NAMES, labels=["x"])
    with pytest.raises(InputError, match="nothing"):
        forest_plot(np.ones((0, 3)), np.ones((0, 3)), np.ones((0, 3)), submissions=NAMES, labels=[])
    with pytest.raises(InputError, match="submissions"):
        accuracy_runtime([1.0], [1.0, 2.0], submissions=NAMES, direction=HIGHER)


def test_one_interval_that_says_nothing_does_not_stretch_the_axis():
    estimate, low, high = np.array([[0.9, 0.8, 0.7], [0.88, 0.78, -9.0], [0.92, 0.82, 0.75]])[:, None, :]
    (axes,) = forest_plot(estimate, low, high, submissions=["a", "b", "c"], labels=["Dice"]).axes
    first, last = axes.get_xlim()
    assert first > 0
    assert last < 1.5
    lines = next(own for own in axes.collections if own.get_label() == "intervals")
    assert lines.get_paths()[2].vertices[0, 0] == first  # to the edge, with an arrow
