"""Figures of places: what is drawn where, checked by numbers."""

import numpy as np
import pytest
from drawn import labelled, notes, points, ticks

from podium.model import Direction, InputError
from podium.report.figures import blob_plot, lines_over_schemes, significance_map, tau_violin
from podium.report.style import PALETTE, looks

HIGHER, LOWER = Direction.HIGHER, Direction.LOWER
NAMES = ["a", "b", "c"]


def test_blobs_are_as_large_as_their_share():
    places = np.array([[1, 2, 3]] * 3 + [[2, 1, 3]])
    (axes,) = blob_plot(places, submissions=NAMES, intervals=[(1, 2), (1, 2), (3, 3)]).axes
    where = points(axes, "blobs")
    sizes = labelled(axes, "blobs").get_sizes()
    shares = {(int(x), int(y)): size for (x, y), size in zip(where, sizes, strict=True)}
    assert set(shares) == {(1, 0), (2, 0), (1, 1), (2, 1), (3, 2)}
    assert shares[1, 0] == pytest.approx(0.75 * shares[3, 2])
    assert shares[2, 0] == pytest.approx(0.25 * shares[3, 2])
    assert points(axes, "medians").tolist() == [[1, 0], [2, 1], [3, 2]]
    spans = [segment[:, 0].tolist() for segment in labelled(axes, "spans").get_segments()]
    np.testing.assert_allclose(spans, np.quantile(places, [0.025, 0.975], axis=0).T)
    bands = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    np.testing.assert_allclose(bands, [(0.65, 2.35), (0.65, 2.35), (2.65, 3.35)])


def test_lines_follow_places_rule_by_rule():
    rules = {"as published": [1, 2, 3], "without x": [2, 1, 3], "median": [1, 1, np.nan]}
    tau = {"without x": -0.5, "median": float("nan")}
    (axes,) = lines_over_schemes(rules, submissions=NAMES, tau=tau).axes
    assert ticks(axes) == ["As published", "Without x", "Median"]
    assert ticks(axes, "x") == NAMES
    lines = {line.get_color(): line.get_xydata() for line in axes.lines if line.get_label() == "lines"}
    first, second, third = (lines[colour] for colour in PALETTE[:3])
    np.testing.assert_allclose(first, [[1, -1], [1, 0], [2, 1], [1, 2]])  # sharing the first place, on the left
    np.testing.assert_allclose(second, [[2, -1], [2, 0], [1, 1], [2, 2]])
    np.testing.assert_allclose(third, [[3, -1], [3, 0], [3, 1]])  # no place in the last
    assert notes(axes) == ["", "−0.50  another winner", "no order  shared", "τ"]


def test_a_shared_first_place_that_fewer_share_is_no_other_winner():
    (axes,) = lines_over_schemes({"as published": [1, 1, 3], "other": [1, 2, 3]}, submissions=NAMES).axes
    assert notes(axes) == ["", ""]


def test_violins_tell_the_median_and_what_is_undefined():
    generator = np.random.default_rng(1)
    groups = {
        "many": generator.choice([0.4, 0.6, 0.8, 1.0], 300),
        "few": [0.5, np.nan, 0.7],
        "constant": np.ones(50),
        "none": [np.nan, np.nan],
    }
    (axes,) = tau_violin(groups).axes
    assert ticks(axes) == list(groups)
    median = np.median(groups["many"])
    assert notes(axes) == [f"median {median:.2f}", "median 0.60\n1 undefined", "all 1.00", "2 undefined"]
    low, high = axes.get_xlim()
    assert low < 0.4
    assert high > 1
    shapes = [each for each in axes.collections if type(each).__name__ == "FillBetweenPolyCollection"]
    assert len(shapes) <= 1
    outline = axes.collections[0].get_paths()[0].vertices
    assert outline[:, 0].min() == pytest.approx(0.4)
    assert outline[:, 0].max() == pytest.approx(1.0)
    assert np.abs(outline[:, 1]).max() == pytest.approx(0.38)


def pairs(values, p):
    values = np.asarray(values, float)
    return np.asarray(p, float), values[:, None] - values[None, :]


def test_filled_cells_are_rows_better_than_columns():
    p, difference = pairs([0.9, 0.8, 0.7], [[np.nan, 0.2, 0.01], [0.2, np.nan, 0.04], [0.01, 0.04, np.nan]])
    (axes,) = significance_map([p], [difference], submissions=NAMES, directions=[HIGHER]).axes
    agreed, against = (image.get_array() for image in axes.images)
    np.testing.assert_array_equal(agreed, [[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    assert not against.any()
    (axes,) = significance_map([p], [difference], submissions=NAMES, directions=[LOWER]).axes
    agreed, against = (image.get_array() for image in axes.images)
    assert not agreed.any()
    np.testing.assert_array_equal(against, [[0, 0, 0], [0, 0, 0], [1, 1, 0]])  # the last is better than both


def test_criteria_are_counted():
    p, difference = pairs([3, 2, 1], np.full((3, 3), 0.001))
    figure = significance_map([p, p], [difference, -difference], submissions=NAMES, directions=[HIGHER, LOWER])
    axes = figure.axes[0]
    assert axes.images[0].get_array()[0, 1] == 2
    assert notes(axes).count("2") == 3
    assert "2 criteria" in figure.legends[0].get_texts()[0].get_text()


def test_equal_p_at_the_limit_is_not_significant():
    p, difference = pairs([2, 1], [[np.nan, 0.05], [0.05, np.nan]])
    (axes,) = significance_map([p], [difference], submissions=["a", "b"], directions=[HIGHER]).axes
    assert not axes.images[0].get_array().any()


def test_wrong_shapes_and_nothing_are_refused():
    with pytest.raises(InputError, match="shape"):
        significance_map(np.ones((1, 2, 2)), np.ones((1, 2, 2)), submissions=NAMES, directions=[HIGHER])
    with pytest.raises(InputError, match="rule"):
        lines_over_schemes({}, submissions=NAMES)
    with pytest.raises(InputError, match="nothing"):
        tau_violin({})
    with pytest.raises(InputError, match="shape"):
        blob_plot(np.ones((10, 2)), submissions=NAMES)


@pytest.mark.parametrize("teams", [1, 2, 8, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("equal", [False, True], ids=["distinct", "equal"])
def test_any_number_of_teams_is_drawn_without_a_warning(teams, equal):
    generator = np.random.default_rng(teams)
    names = [f"team {k}" for k in range(teams)]
    places = np.ones((40, teams)) if equal else np.argsort(np.argsort(generator.random((40, teams)))) + 1.0
    shown = looks(names, places=dict.fromkeys(names, 1) if equal else None, focus=names[-1])
    p, difference = pairs(np.ones(teams) if equal else generator.random(teams), generator.random((teams, teams)) / 10)
    figures = [
        blob_plot(places, submissions=names, intervals=[(1, teams)] * teams, looks=shown),
        lines_over_schemes({f"rule {k}": places[k] for k in range(6)}, submissions=names, looks=shown),
        significance_map([p] * 3, [difference] * 3, submissions=names, directions=[HIGHER] * 3, looks=shown),
    ]
    for figure in figures:
        figure.draw_without_rendering()
    if teams == 1:
        assert ticks(figures[0].axes[0], "x") == ["1"]
    assert figures[0].axes[0].get_xlim() == (0.4, teams + 0.6)


def test_those_who_share_a_place_stand_beside_one_another():
    equal = {"as published": [1, 1, 1], "other": [1, 1, 3], "third": [2, 1, 3]}
    (axes,) = lines_over_schemes(equal, submissions=NAMES, tau={"other": 0.9, "third": np.nan}).axes
    ends = {tuple(line.get_xydata()[1]) for line in axes.lines if line.get_label() == "lines"}
    assert ends == {(1, 0), (2, 0), (3, 0)}  # a slot for each, not all in a corner
    assert [note for note in notes(axes) if "winner" in note or "shared" in note] == []  # fewer share it: nobody is new
    assert "no order" in notes(axes)


def test_another_winner_is_told_from_a_shared_place():
    rules = {"as published": [1, 2, 3], "shared": [1, 1, 3], "other": [2, 1, 3]}
    (axes,) = lines_over_schemes(rules, submissions=NAMES[:3], tau=dict.fromkeys(list(rules)[1:], 0.5)).axes
    assert [note for note in notes(axes) if "0.50" in note] == ["0.50  shared", "0.50  another winner"]


def test_a_map_without_significance_says_so():
    p, difference = pairs([2, 1], [[np.nan, 0.5], [0.5, np.nan]])
    figure = significance_map([p], [difference], submissions=["a", "b"], directions=[HIGHER])
    assert figure.legends[0].get_texts()[0].get_text() == "nobody is significantly better than anybody (p < 0.05)"
