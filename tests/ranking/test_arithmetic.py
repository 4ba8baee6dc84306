"""The parts of rankings: by hand, and under weights as if rows were repeated."""

import numpy as np
import polars as pl
import pytest

from podium.model import Column, Cube, Direction, InputError, Measure
from podium.ranking import (
    AggregateThenRank,
    average_of_ranks,
    behind_fewer_failures,
    competition_ranks,
    counted_seconds,
    exceeds,
    levelled,
    loading_line,
    mean_column,
    mean_rank,
    min_max_score,
    scheme_rule,
    table_of_scores,
    tie_broken_ranks,
    weighted_mean,
    weighted_sum,
)

HIGHER, LOWER = Direction.HIGHER, Direction.LOWER


def test_means_over_what_is_defined():
    values = np.array([[1.0, 2.0, np.nan], [np.nan, np.nan, np.nan]])
    weights = np.array([[1.0, 1.0, 1.0], [3.0, 1.0, 5.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(weighted_mean(values, weights), [[1.5, np.nan], [1.25, np.nan], [np.nan, np.nan]])


def test_sums_over_what_is_defined():
    values = np.array([[1.0, 2.0, np.nan], [np.nan, np.nan, np.nan]])
    weights = np.array([[1.0, 1.0, 1.0], [3.0, 1.0, 5.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(weighted_sum(values, weights), [[3, 0], [5, 0], [0, 0]])
    np.testing.assert_array_equal(weighted_sum(values, weights[1:2]), [[5, 0]])


def test_infinity_counts_where_it_has_a_weight():
    values = np.array([[1.0, np.inf, 5.0], [-np.inf, 2.0, np.nan], [np.inf, -np.inf, 1.0]])
    weights = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    expected = [[np.inf, -np.inf, np.nan], [6, -np.inf, np.inf], [5, 0, 1]]
    np.testing.assert_array_equal(weighted_sum(values, weights), expected)
    for row, own in zip(expected, weights, strict=True):
        np.testing.assert_array_equal(weighted_sum(values, own[None]), [row])
    np.testing.assert_array_equal(weighted_mean(values, weights)[:, 0], [np.inf, 3, 5])


@pytest.mark.parametrize("rows", [4, 5, 12, 50, 200, 1000])
def test_no_digit_of_a_sum_depends_on_who_else_takes_part(rows):
    """A matrix product would group the terms of a sum by how many teams there are."""
    values = np.random.default_rng(rows).random((7, rows))
    together = weighted_sum(values, np.ones((1, rows)))[0]
    for team, own in enumerate(values):
        assert weighted_sum(own[None], np.ones((1, rows)))[0, 0] == together[team]
    np.testing.assert_array_equal(weighted_sum(np.asfortranarray(values), np.ones((1, rows)))[0], together)


@pytest.mark.parametrize("rows", [4, 12, 50])
def test_no_digit_on_a_board_depends_on_who_else_takes_part(rows):
    values = np.random.default_rng(rows).random((7, rows))
    teams = [(f"T{team}", f"c{case}", value) for team, own in enumerate(values) for case, value in enumerate(own)]
    scores = pl.DataFrame(teams, schema=["submission", "case", "value"], orient="row")

    def board(chosen):
        rule = scheme_rule(table_of_scores(chosen, better="higher"), AggregateThenRank())
        return {entry.submission: entry.values["value"] for entry in rule.leaderboard().entries}

    together = board(scores)
    for team in together:
        assert board(scores.filter(pl.col("submission") == team)) == {team: together[team]}


@pytest.mark.parametrize(
    ("values", "direction", "ranks"),
    [
        ([0.9, 0.7, 0.9, 0.8], HIGHER, [1, 4, 1, 3]),
        ([0.9, 0.7, 0.9, 0.8], LOWER, [3, 1, 3, 2]),
        ([1, np.nan, 2, np.nan], LOWER, [1, 3, 2, 3]),  # nothing unscored outranks what is scored
        ([1, np.nan, 2, np.nan], HIGHER, [2, 3, 1, 3]),
        ([np.inf, 1.0], LOWER, [2, 1]),
        ([np.inf, np.nan, 1.0, np.inf], LOWER, [2, 4, 1, 2]),  # no value is no infinite one
        ([np.inf, np.nan, -np.inf, 1.0], HIGHER, [1, 4, 3, 2]),
        ([0.1 + 0.2, 0.3], LOWER, [1, 1]),  # equal but for rounding
        ([1e9, 1e9 + 1e-4], LOWER, [1, 1]),
        ([0.3, 0.3 + 1e-9], LOWER, [1, 2]),
        ([0.0, 0.0, -1.0], LOWER, [2, 2, 1]),
        ([0.3, 0.2, 1e15], LOWER, [2, 1, 3]),  # an absurd value makes nobody else equal
        ([1e-300, 2e-300, 1e300, -1e300], LOWER, [2, 3, 4, 1]),
        ([1.0, 1 + 0.9e-12, 1 + 1.8e-12, 1 + 4e-12], LOWER, [1, 1, 1, 4]),  # ties chain, between neighbours
        ([], LOWER, []),
    ],
)
def test_competition_ranks(values, direction, ranks):
    np.testing.assert_array_equal(competition_ranks(np.array(values, float), direction=direction), ranks)


def test_who_is_not_ranked_shifts_nobody():
    ranks = competition_ranks(np.array([[5.0, 1, 3], [1, 5, 3]]), direction=LOWER, among=[True, False, True])
    np.testing.assert_array_equal(ranks, [[2, np.nan, 1], [1, np.nan, 2]])


def test_equals_get_one_value():
    values = np.array([0.1 + 0.2, np.inf, 0.3, np.nan, 1e15, -np.inf])
    np.testing.assert_array_equal(levelled(values), [0.3, np.inf, 0.3, np.nan, 1e15, -np.inf])
    chain = np.array([1 + 1.8e-12, 1.0, 1 + 0.9e-12])
    assert levelled(chain).tolist() == [1, 1, 1]
    assert levelled(np.array([[2.0, 1.0], [1.0, 1 + 1e-13]])).tolist() == [[2, 1], [1, 1]]
    assert levelled(np.zeros((3, 0))).shape == (3, 0)


def test_the_scale_of_a_mean_is_that_of_its_terms():
    """Both means are 0 on paper; what their sums leave is judged by terms of 1000, not by itself."""
    rows = np.array([[1000.1, -1000.1 + 0.1, -0.1], [0.0, 0.0, 0.0], [1e-9, 1e-9, 1e-9]])
    column = mean_column(Measure("x", "X", LOWER), rows, np.ones((1, 3)))
    assert 0 < abs(column.values[0, 0]) < 1e-12
    np.testing.assert_allclose(column.scales, [[2000.2 / 3, 0, 1e-9]])
    assert column.rows is rows
    assert competition_ranks(column.values, direction=LOWER, scales=column.scales).tolist() == [[1, 1, 3]]
    assert competition_ranks(column.values, direction=LOWER).tolist() != [[1, 1, 3]]


def test_scales_of_means_in_resamples():
    random = np.random.default_rng(3)
    rows = random.normal(0, 1, (5, 20))
    rows[1], rows[2], rows[3, 4:9] = np.abs(rows[1]), -np.abs(rows[2]), np.nan
    weights = random.integers(0, 3, (7, 20)).astype(float)
    column = mean_column(Measure("x", "X", LOWER), rows, weights)
    np.testing.assert_allclose(column.scales, weighted_mean(np.abs(rows), weights))


def test_ties_may_share_the_mean_of_their_ranks():
    values = np.array([[0.9, 0.7, 0.7, 0.1], [0.5, 0.5, 0.5, np.nan], [np.nan, np.nan, 0.1, 0.2]])
    ranks = competition_ranks(values, direction=HIGHER, ties="average")
    assert ranks.tolist() == [[1, 2.5, 2.5, 4], [2, 2, 2, 4], [3.5, 3.5, 2, 1]]
    some = competition_ranks(values[0], direction=HIGHER, ties="average", among=[True, False, True, True])
    np.testing.assert_array_equal(some, [1, np.nan, 2, 3])


def test_what_exceeds_a_limit():
    assert exceeds([0.1 + 0.2, 0.31, 0.2, np.inf, np.nan], 0.3).tolist() == [False, True, False, True, False]
    assert exceeds(0.3, [np.inf, -np.inf]).tolist() == [False, True]
    assert not exceeds(np.inf, np.inf)
    assert not exceeds(1e-9, 0.0, 1000.0)
    assert exceeds(1e300, -1e300)


def test_ties_are_broken_by_the_smaller():
    scores, seconds = np.array([[0.5, 0.5, 0.6, 0.5]]), np.array([[2.0, 1.0, 9.0, np.nan]])
    np.testing.assert_array_equal(tie_broken_ranks(scores, seconds, direction=HIGHER), [[3, 2, 1, 4]])
    equal = np.array([[1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(tie_broken_ranks(scores, equal, direction=HIGHER), [[2, 2, 1, 2]])


def test_min_max_scores():
    def score(values, among=None):
        values = np.array([values], float)
        among = [True] * values.shape[1] if among is None else among
        return min_max_score(values, lowest=1.0, highest=6.0, among=among)[0].tolist()

    assert score([0.5, 2.25, 9.0]) == [100, 75, 0]  # both ends clipped
    assert score([0.5, 3.5, 5.0]) == pytest.approx([100, 37.5, 0])  # the slowest sets the upper end
    assert score([2.0, 4.0, 9.0]) == [100, 50, 0]  # the fastest sets the lower end
    assert score([2.0, 3.0, 4.0]) == [100, 50, 0]  # neither end is reached
    assert score([3.0, 3.0]) == [100, 100]
    assert score([(0.7 + 0.8 + 0.9) / 0.6, (0.8 + 0.8 + 0.8) / 0.6]) == [100, 100]
    assert score([7.0, 8.0]) == [0, 0]
    assert score([3.0]) == [100]
    assert min_max_score(np.array([[0.5, 9.0, 3.0]]), lowest=1.0, highest=6.0, among=[True] * 3)[0, 2] == 60
    assert score([2.0, 3.0, 4.0], [True, False, True]) == [100, 50, 0]
    assert score([1.0, 3.0, 5.0], [False, True, True]) == [100, 100, 0]  # one outside the ranked sets no end


def test_no_time_counts_as_the_upper_end_and_sets_it():
    """Between 1 and 6: whoever has none stands at 6, so that 4 s are no longer the slowest."""

    def score(values, among=None):
        values = np.array([values], float)
        return min_max_score(values, lowest=1.0, highest=6.0, among=among or [True] * values.shape[1])[0].tolist()

    nan = np.nan
    assert score([2.0, nan, 4.0]) == [100, 0, 50]
    assert score([2.0, 6.0, 4.0]) == score([2.0, nan, 4.0])
    assert score([3.0, nan]) == [100, 0]
    assert score([6.0, nan]) == score([nan, nan]) == [0, 0]
    assert score([2.0, nan, 4.0], [True, False, True]) == [100, 0, 0]  # who is not ranked sets no end
    sets = min_max_score(np.array([[2.0, nan, 4.0], [2.0, 3.0, 4.0]]), lowest=1.0, highest=6.0, among=[True] * 3)
    np.testing.assert_array_equal(sets, [[100, 0, 50], [100, 50, 0]])


def test_the_loading_line_is_least_squares():
    generator = np.random.default_rng(0)
    frames = generator.integers(20, 200, 12).astype(float)
    seconds = 3.0 + 0.1 * frames + generator.normal(0, 0.5, (4, 12))
    weights = np.concatenate([np.ones((1, 12)), generator.integers(0, 4, (6, 12))]).astype(float)
    loading, rate = loading_line(seconds, frames, weights)
    for row, weight in enumerate(weights.astype(int)):
        for team in range(4):
            slope, intercept = np.polyfit(np.repeat(frames, weight), np.repeat(seconds[team], weight), 1)
            assert rate[row, team] == pytest.approx(slope, rel=1e-9)
            assert loading[row, team] == pytest.approx(intercept, rel=1e-8)


def test_the_loading_line_without_a_slope():
    frames = np.array([50.0, 50.0])
    loading, rate = loading_line(np.array([[10.0, 20.0], [np.nan, np.nan], [5.0, np.nan]]), frames, np.ones((1, 2)))
    np.testing.assert_array_equal(loading, [[0, np.nan, 0]])
    np.testing.assert_allclose(rate, [[0.3, np.nan, 0.1]])


def test_no_digit_of_a_fitted_line_depends_on_who_else_takes_part():
    generator = np.random.default_rng(5)
    frames = generator.integers(20, 200, 12).astype(float)
    seconds = 3.0 + 0.1 * frames + generator.normal(0, 0.5, (7, 12))
    together = np.stack(loading_line(seconds, frames, np.ones((1, 12))))[:, 0]
    for team, own in enumerate(seconds):
        alone = np.stack(loading_line(own[None], frames, np.ones((1, 12))))[:, 0]
        np.testing.assert_array_equal(alone[:, 0], together[:, team])


def cube(seconds, failed):
    seconds = np.array(seconds, float)
    rows = tuple(f"c{k}" for k in range(seconds.shape[1]))
    names = tuple(f"t{k}" for k in range(len(seconds)))
    failed = np.array(failed, bool)
    return Cube(names, rows, rows, (), np.zeros((*seconds.shape, 0)), failed, failed, seconds)


def test_a_failed_row_counts_the_slowest_failed_ones_included():
    # Sound throughout; a fast crash; a slow crash, which then is the slowest; nothing but crashes.
    seconds = [[1, 2, 3], [0.001, 2, 5], [1, 9, 3], [4, 6, 5]]
    failed = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    counted = counted_seconds(cube(seconds, failed))
    np.testing.assert_array_equal(counted, [[1, 2, 3], [5, 2, 5], [9, 9, 3], [6, 6, 6]])


def test_one_missing_time_is_no_timing_at_all():
    nan = np.nan
    failed = [[0, 0], [0, 0], [0, 1], [0, 0]]
    counted = counted_seconds(cube([[1, 2], [1, nan], [1, nan], [nan, nan]], failed))
    np.testing.assert_array_equal(counted, [[1, 2], [nan, nan], [nan, nan], [nan, nan]])  # failed rows need one too


def test_crashing_never_makes_a_team_faster():
    generator = np.random.default_rng(0)
    seconds, failed = generator.random((200, 6)), generator.random((200, 6)) < 0.4
    counted = counted_seconds(cube(seconds, failed))
    assert (counted >= seconds).all()
    assert (counted <= seconds.max(axis=1, keepdims=True)).all()


def test_whoever_failed_fewer_rows_comes_first():
    failed = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]], bool)
    places = np.array([[5.0, 1, 3, 2, 4]])
    everybody = [True] * 5
    ones = np.ones((1, 3))
    # 4 before 0 by their places, then 1 before 2, and the second of all last.
    assert behind_fewer_failures(places, failed, ones, among=everybody).tolist() == [[2, 3, 4, 5, 1]]
    # Without failures nothing changes, and equals stay equal.
    none = np.zeros((5, 3), bool)
    assert behind_fewer_failures(places, none, ones, among=everybody).tolist() == places.tolist()
    shared = np.array([[1.0, 1, 1, 1, 5]])
    assert behind_fewer_failures(shared, failed, ones, among=everybody).tolist() == [[1, 3, 3, 5, 2]]
    # Who is not ranked shifts nobody.
    some = [True, False, True, True, False]
    places = np.array([[3.0, np.nan, 2, 1, np.nan]])
    np.testing.assert_array_equal(behind_fewer_failures(places, failed, ones, among=some), [[1, np.nan, 2, 3, np.nan]])


def test_failures_count_as_often_as_their_rows():
    failed = np.array([[1, 0, 0], [0, 1, 1]], bool)
    places = np.array([[1.0, 2], [1, 2], [2, 1]])
    weights = np.array([[1.0, 1, 1], [3, 1, 1], [0, 0, 0]])
    expected = [[1, 2], [2, 1], [2, 1]]
    assert behind_fewer_failures(places, failed, weights, among=[True, True]).tolist() == expected


def criteria(**values):
    ways = {"dice": HIGHER, "distance": LOWER, "time": LOWER}
    return [Column(Measure(name, name.title(), ways[name]), np.array([own])) for name, own in values.items()]


LISTS = {"dice": [0.9, 0.8, 0.7], "distance": [3.0, 1.0, 2.0], "time": [3.0, 3.0, 1.0]}
"""Ranks 1 2 3, 3 1 2 and 2 2 1."""


def test_the_average_of_ranks_by_hand():
    scores = average_of_ranks(criteria(**LISTS), among=[True] * 3, emphasis={})
    np.testing.assert_allclose(scores.column("average_rank").values, [[2, 5 / 3, 2]])
    assert scores.places.tolist() == [[2, 1, 2]]
    assert [column.name for column in scores.columns] == [
        "average_rank", "dice", "dice_rank", "distance", "distance_rank", "time", "time_rank",
    ]  # fmt: skip
    assert scores.column("dice_rank").values.tolist() == [[1, 2, 3]]
    assert scores.column("distance_rank").values.tolist() == [[3, 1, 2]]
    assert scores.column("time_rank").values.tolist() == [[2, 2, 1]]
    relative = {column.name for column in scores.columns if column.relative}
    assert relative == {"average_rank", "dice_rank", "distance_rank", "time_rank"}
    assert [(column.name, column.importance) for column in scores.criteria] == [
        ("dice", 1), ("distance", 1), ("time", 1),
    ]  # fmt: skip


def test_a_criterion_counts_by_its_emphasis_and_0_drops_it():
    scores = average_of_ranks(criteria(**LISTS), among=[True] * 3, emphasis={"dice": 2.0, "distance": 0.0})
    np.testing.assert_allclose(scores.column("average_rank").values, [[4 / 3, 2, 7 / 3]])
    assert scores.places.tolist() == [[1, 2, 3]]
    assert [(column.name, column.importance) for column in scores.criteria] == [("dice", 2), ("time", 1)]
    assert "distance_rank" in [column.name for column in scores.columns]  # shown all the same
    with pytest.raises(InputError, match="no list of ranks counts anything"):
        average_of_ranks(criteria(dice=[0.1, 0.2]), among=[True] * 2, emphasis={"dice": 0.0})


def test_ranks_are_averaged_among_the_ranked_and_more_is_shown():
    lists = criteria(dice=[0.95, 0.9, 0.8], time=[0.5, 3.0, np.nan])
    more = Column(Measure("cases", "Cases"), np.array([[3.0, 3.0, 2.0]]))
    scores = average_of_ranks(lists, among=[False, True, True], emphasis={}, more=[more])
    np.testing.assert_array_equal(scores.places, [[np.nan, 1, 2]])
    np.testing.assert_array_equal(scores.column("dice_rank").values, [[np.nan, 1, 2]])
    np.testing.assert_array_equal(scores.column("time_rank").values, [[np.nan, 1, 2]])  # no time is last
    assert scores.columns[-1] is more


def test_the_mean_of_ranks():
    ranks = {"a": np.array([1.0, 2.0]), "b": np.array([2.0, 1.0]), "c": np.array([np.nan, 1.0])}
    np.testing.assert_allclose(mean_rank({"a": ranks["a"], "b": ranks["b"]}), [1.5, 1.5])
    np.testing.assert_allclose(mean_rank(ranks, {"b": 3.0, "c": 0.0}), [1.75, 1.25])  # what does not count harms nobody
