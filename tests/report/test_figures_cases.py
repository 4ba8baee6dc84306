"""Figures of single cases: what is drawn where, checked by numbers."""

import numpy as np
import pytest
from drawn import labelled, notes, points, ticks
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from scipy.stats import spearmanr

from podium.model import Direction, InputError, Role
from podium.report.figures import case_heatmap, dots_and_boxes, metric_correlation, podium_plot, ranking_heatmap
from podium.report.style import ALARM, GRID, PALETTE, looks

HIGHER, LOWER = Direction.HIGHER, Direction.LOWER
NAMES = ["first", "second", "third"]
VALUES = np.array([[0.9, 0.8, 0.7, 0.95], [0.85, 0.9, 0.0, 0.9], [0.5, 0.6, np.nan, 0.4]])
FAILED = np.array([[False] * 4, [False, False, True, False], [False] * 4])


def test_every_case_is_a_dot_and_every_failure_a_cross():
    (axes,) = dots_and_boxes(VALUES, submissions=NAMES, label="Dice ↑", failed=FAILED).axes
    dots, crosses = points(axes, "cases"), points(axes, "failed")
    assert sorted(dots[:, 0]) == sorted(VALUES[np.isfinite(VALUES) & ~FAILED])
    assert crosses[:, 0].tolist() == [0.0]
    assert np.rint(crosses[:, 1]).tolist() == [1]
    for row, values in enumerate(VALUES):
        own = dots[np.rint(dots[:, 1]) == row, 0]
        assert sorted(own) == sorted(values[np.isfinite(values) & ~FAILED[row]])
    assert np.abs(dots[:, 1] - np.rint(dots[:, 1])).max() <= 0.3
    assert axes.get_xlabel() == "Dice ↑"
    assert notes(axes) == ["1 failed", "1 without value"]
    low, high = axes.get_xlim()
    assert low < 0 < 0.95 < high


def test_boxes_hold_quartiles_median_and_mean():
    numbers = np.array([[1.0, 2.0, 3.0, 4.0, 100.0]])  # quartiles 2, 3, 4: whiskers end at 1 and 4
    (axes,) = dots_and_boxes(numbers, submissions=["one"]).axes
    (bar,) = axes.patches
    assert (bar.get_x(), bar.get_width()) == (2, 2)
    assert labelled(axes, "medians").get_segments()[0][:, 0].tolist() == [3, 3]
    assert labelled(axes, "whiskers").get_segments()[0][:, 0].tolist() == [1, 4]
    assert points(axes, "means").tolist() == [[22, 0]]


def test_rows_are_named_with_their_places():
    roles = {"base": Role.BASELINE}
    shown = looks(["a", "b", "base"], places={"a": 1, "b": 12}, roles=roles)
    (axes,) = dots_and_boxes(np.ones((3, 2)), submissions=["a", "b", "base"], looks=shown).axes
    assert ticks(axes) == ["a\u2002\u20071", "b\u200212", "base\u2002\u2007–"]
    bottom, top = axes.get_ylim()
    assert bottom > 2 > 0 > top  # the first is above


def test_a_name_from_the_right_keeps_its_place_at_its_side():
    (axes,) = dots_and_boxes([[1.0]], submissions=["שלום"]).axes
    assert ticks(axes) == ["\u200eשלום\u200e\u20021"]


def test_an_axis_is_logarithmic_where_prices_are_far_away():
    values = np.array([[1.0, 2.0, 3.0, 500.0], [2.0, 2.0, 4.0, 3.0]])
    assert dots_and_boxes(values, submissions=["a", "b"]).axes[0].get_xscale() == "log"
    values[0, 0] = 0.0
    axes = dots_and_boxes(values, submissions=["a", "b"]).axes[0]
    assert axes.get_xscale() == "symlog"
    low, high = axes.get_xlim()
    assert low < 0 < 500 < high
    assert "0" in ticks(axes, "x")
    assert dots_and_boxes(values[:, 1:3], submissions=["a", "b"]).axes[0].get_xscale() == "linear"


def test_infinite_values_are_told():
    (axes,) = dots_and_boxes([[1.0, np.inf, 2.0], [3.0, 1.0, np.nan]], submissions=["a", "b"]).axes
    assert notes(axes) == ["1 infinite", "1 without value"]
    assert len(points(axes, "cases")) == 4


def test_far_too_many_cases_are_only_boxes_and_say_so(monkeypatch):
    monkeypatch.setattr("podium.report.figures.cases.MOST_POINTS", 5)
    (axes,) = dots_and_boxes([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], submissions=["a", "b"], label="Dice").axes
    assert len(labelled(axes, "cases").get_offsets()) == 0
    assert axes.get_xlabel() == "Dice; 6 cases, too many to be drawn one by one"
    assert labelled(axes, "means").get_offsets()[:, 0].tolist() == pytest.approx([0.2, 0.5])


def test_many_points_are_pixels_and_few_are_not():
    few, many = np.zeros((2, 50)), np.zeros((2, 400))
    assert not labelled(dots_and_boxes(few, submissions=["a", "b"]).axes[0], "cases").get_rasterized()
    assert labelled(dots_and_boxes(many, submissions=["a", "b"]).axes[0], "cases").get_rasterized()


@pytest.mark.parametrize("values", [np.ones((2, 3)), np.ones(3), np.ones((3, 2, 2))])
def test_values_of_another_shape_are_refused(values):
    with pytest.raises(InputError, match=r"values have shape"):
        dots_and_boxes(values, submissions=NAMES)
    with pytest.raises(InputError, match="nobody"):
        dots_and_boxes(np.ones((0, 3)), submissions=[])
    with pytest.raises(InputError, match="no case"):
        dots_and_boxes(np.ones((3, 0)), submissions=NAMES)


def test_the_podium_counts_places():
    upper, lower = podium_plot(VALUES, submissions=NAMES, direction=HIGHER, label="Dice ↑").axes
    # Places by case: 1 2 3, 2 1 3, 1 2 –, 1 2 3.
    heights = {
        (round(box.vertices[:, 0].mean()), to_rgba(bars.get_facecolor()[0])): box.vertices[:, 1].max()
        for bars in lower.collections
        if bars.get_label() == "bars"
        for box in bars.get_paths()
    }
    first, second, third = (to_rgba(colour) for colour in PALETTE[:3])
    assert heights == {(1, first): 3, (2, first): 1, (1, second): 1, (2, second): 3, (3, third): 3}
    assert points(upper, "third")[:, 1].tolist() == [0.5, 0.6, 0.4]
    assert np.rint(points(upper, "first")[:, 0]).tolist() == [1, 2, 1, 1]
    assert len(labelled(upper, "lines").get_segments()) == 4
    assert ticks(lower, "x") == ["1", "2", "3"]


def test_lower_is_better_turns_the_podium():
    upper, _ = podium_plot(VALUES, submissions=NAMES, direction=LOWER).axes
    assert np.rint(points(upper, "third")[:, 0]).tolist() == [1, 1, 1]


def test_lanes_of_a_place_do_not_meet_the_next():
    values = np.random.default_rng(1).random((30, 10))
    names = [f"t{k}" for k in range(30)]
    upper, lower = podium_plot(values, submissions=names, direction=HIGHER).axes
    assert lower.get_xlim() == (0.5, 10.5)
    assert "10 of 30" in lower.get_xlabel()
    everything = np.concatenate([points(upper, name) for name in names])
    away = np.abs(everything[:, 0] - np.rint(everything[:, 0]))
    assert away.max() < 0.45
    assert len(everything) == 10 * 10  # ten places of ten cases, no ties


def slow_counts(values, sign):
    counts = np.zeros((len(values), len(values)), int)
    for case in range(values.shape[1]):
        for team in range(len(values)):
            if not np.isnan(values[team, case]):
                counts[
                    team, sum(sign * values[other, case] > sign * values[team, case] for other in range(len(values)))
                ] += 1
    return counts


@pytest.mark.parametrize(("direction", "sign"), [(HIGHER, 1), (LOWER, -1)])
def test_the_ranking_heatmap_counts_places(direction, sign):
    values = np.random.default_rng(2).integers(0, 4, (5, 30)).astype(float)  # with ties
    values[1, 3] = np.nan
    names = [f"t{k}" for k in range(5)]
    (axes,) = ranking_heatmap(values, submissions=names, direction=direction, label="Dice ↑").axes
    (image,) = axes.images
    counts = slow_counts(values, sign)
    np.testing.assert_array_equal(image.get_array(), counts)
    assert image.get_extent() == [0.5, 5.5, 4.5, -0.5]
    assert sorted(notes(axes)) == sorted(str(count) for count in counts.ravel() if count)
    assert axes.get_xlabel() == "place in a case by Dice ↑"


def test_many_rows_of_a_heatmap_have_a_scale_instead_of_numbers():
    figure = ranking_heatmap(
        np.random.default_rng(3).random((20, 9)), submissions=[f"t{k}" for k in range(20)], direction=HIGHER
    )
    axes, bar = figure.axes
    assert not notes(axes)
    assert bar.get_ylabel() == "cases"


def test_cases_are_sorted_from_the_hardest_and_failures_marked():
    figure = case_heatmap(
        VALUES, submissions=NAMES, cases=["w", "x", "y", "z"], direction=HIGHER, failed=FAILED, label="Dice ↑"
    )
    axes, bar = figure.axes
    # Medians: w 0.85, x 0.8, y 0.35 (without the missing one), z 0.9.
    assert ticks(axes, "x") == ["y", "x", "w", "z"]
    pixels = axes.images[0].get_array()
    assert pixels.shape == (3, 4, 4)
    np.testing.assert_allclose(pixels[1, 0], np.multiply(to_rgba(ALARM), 255))
    np.testing.assert_allclose(pixels[2, 0], np.multiply(to_rgba(GRID), 255))
    brightness = pixels[0, :, :3].sum(axis=1)
    assert np.argsort(brightness).tolist() == [0, 1, 2, 3]  # 0.7, 0.8, 0.9, 0.95: the brighter the better
    (crosses,) = axes.collections
    assert crosses.get_offsets().tolist() == [[0, 1]]
    assert bar.get_ylabel() == "Dice ↑"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["failed", "no value"]


def test_long_names_of_cases_leave_room_for_one_row():
    cases = [f"sub{number:03d}__a_long_rotation" for number in range(4)]
    figure = case_heatmap([[0.1, 0.5, 0.7, 0.9]], submissions=["alone"], cases=cases, direction=HIGHER)
    assert figure.axes[0].get_position().height * figure.get_figheight() > 0.15  # inches


def test_bright_is_good_also_where_lower_is_better():
    axes = case_heatmap([[1.0, 5.0], [2.0, 9.0]], submissions=["a", "b"], cases=["x", "y"], direction=LOWER).axes[0]
    assert ticks(axes, "x") == ["y", "x"]
    brightness = axes.images[0].get_array()[..., :3].sum(axis=2)
    assert brightness[0, 1] > brightness[1, 1] > brightness[0, 0] > brightness[1, 0]


def test_a_weak_baseline_takes_no_colours():
    values = np.array([[0.8, 0.9], [0.7, 0.85], [0.0, 0.0]])
    shown = looks(["a", "b", "base"], places={"a": 1, "b": 2}, roles={"base": Role.BASELINE})
    figure = case_heatmap(values, submissions=["a", "b", "base"], cases=["x", "y"], direction=HIGHER, looks=shown)
    low, high = figure.axes[1].get_ylim()
    assert low > 0.6
    assert high < 1


def test_many_cases_are_counted_not_named():
    axes = case_heatmap(
        np.random.default_rng(4).random((2, 90)),
        submissions=["a", "b"],
        cases=[str(k) for k in range(90)],
        direction=HIGHER,
    ).axes[0]
    assert ticks(axes, "x") == []
    assert axes.get_xlabel() == "90 cases, the hardest on the left"


def test_correlations_are_spearmans_with_directions_turned():
    generator = np.random.default_rng(5)
    good = generator.random((4, 25))
    table = np.stack([good, -good + 0.3 * generator.random(good.shape), generator.random(good.shape)])
    table[0, 1, 2] = np.nan
    axes = metric_correlation(table, labels=["Dice", "HD95", "Other"], directions=[HIGHER, LOWER, HIGHER]).axes[0]
    matrix = axes.images[0].get_array()
    turned = np.stack([table[0].ravel(), -table[1].ravel(), table[2].ravel()])
    for one in range(3):
        for two in range(3):
            both = ~np.isnan(turned[one]) & ~np.isnan(turned[two])
            expected = spearmanr(turned[one, both], turned[two, both]).statistic
            assert matrix[one, two] == pytest.approx(expected, abs=1e-12)
    assert matrix[0, 1] > 0.8
    assert ticks(axes) == ["Dice\u2002\u20071", "HD95\u2002\u20072", "Other\u2002\u20073"]


def test_the_correlation_of_a_constant_is_a_dash():
    axes = metric_correlation([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]], labels=["a", "b"], directions=[HIGHER, HIGHER]).axes[
        0
    ]
    assert notes(axes) == ["–", "–", "–", "1.00"]


DEGENERATE = {
    "one submission": (np.random.default_rng(6).random((1, 5)), None),
    "two cases": (np.random.default_rng(7).random((4, 2)), None),
    "one case": (np.array([[0.5], [0.6]]), None),
    "all failed": (np.zeros((3, 4)), np.ones((3, 4), bool)),
    "all equal": (np.full((3, 4), 0.7), None),
    "all missing": (np.full((3, 4), np.nan), None),
    "one row missing": (np.array([[0.1, 0.4], [np.nan, np.nan]]), None),
    "infinite": (np.array([[np.inf, np.inf], [1.0, np.inf], [-np.inf, 2.0]]), None),
    "huge and tiny": (np.array([[1e300, 1e-300], [0.0, -1e300]]), None),
    "many": (np.random.default_rng(8).random((60, 120)), np.random.default_rng(9).random((60, 120)) < 0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "direction"),
    [
        *(pytest.param(name, HIGHER, marks=[pytest.mark.slow] if name == "many" else []) for name in DEGENERATE),
        ("infinite", LOWER),
        ("all missing", LOWER),
        ("infinite", Direction.ZERO),
    ],
)
def test_strange_values_are_drawn_without_a_warning(name, direction):
    values, failed = DEGENERATE[name]
    names = [f"t{k}" for k in range(len(values))]
    figures = [
        dots_and_boxes(values, submissions=names, failed=failed),
        podium_plot(values, submissions=names, direction=direction),
        ranking_heatmap(values, submissions=names, direction=direction),
        case_heatmap(
            values,
            submissions=names,
            cases=[f"c{k}" for k in range(values.shape[1])],
            direction=direction,
            failed=failed,
        ),
        metric_correlation(np.stack([values, values]), labels=["x", "y"], directions=[direction, direction]),
    ]
    for figure in figures:
        figure.draw_without_rendering()
    assert len(ticks(figures[0].axes[0])) == len(values)


def test_lines_are_collections_so_that_files_stay_small():
    axes = dots_and_boxes(np.random.default_rng(1).random((60, 20)), submissions=[f"t{k}" for k in range(60)]).axes[0]
    assert sum(isinstance(each, LineCollection) for each in axes.collections) == 2
    assert {line.get_gid() for line in axes.lines} == {
        f"team-{k}" for k in range(60)
    }  # only the marks beside the names
