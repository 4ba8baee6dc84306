"""The parts of rankings: by hand, and under weights as if rows were repeated."""

import numpy as np
import pytest

from podium.model import Cube, Direction, InputError
from podium.ranking import (
    competition_ranks,
    loading_line,
    min_max_score,
    rounded,
    tie_broken_ranks,
    weighted_mean,
)

HIGHER, LOWER = Direction.HIGHER, Direction.LOWER


def test_means_over_what_is_defined():
    values = np.array([[1.0, 2.0, np.nan], [np.nan, np.nan, np.nan]])
    weights = np.array([[1.0, 1.0, 1.0], [3.0, 1.0, 5.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(weighted_mean(values, weights), [[1.5, np.nan], [1.25, np.nan], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("values", "direction", "ranks"),
    [
        ([0.9, 0.7, 0.9, 0.8], HIGHER, [1, 4, 1, 3]),
        ([0.9, 0.7, 0.9, 0.8], LOWER, [3, 1, 3, 2]),
        ([1, np.nan, 2, np.nan], LOWER, [1, 3, 2, 3]),  # nothing unscored outranks what is scored
        ([1, np.nan, 2, np.nan], HIGHER, [2, 3, 1, 3]),
        ([np.inf, 1.0], LOWER, [2, 1]),
        ([0.1 + 0.2, 0.3], LOWER, [1, 1]),  # equal but for rounding
        ([1e9, 1e9 + 1e-4], LOWER, [1, 1]),
        ([0.3, 0.3 + 1e-9], LOWER, [1, 2]),
        ([0.0, 0.0, -1.0], LOWER, [2, 2, 1]),
        ([], LOWER, []),
    ],
)
def test_competition_ranks(values, direction, ranks):
    np.testing.assert_array_equal(competition_ranks(np.array(values, float), direction=direction), ranks)


def test_who_is_not_ranked_shifts_nobody():
    ranks = competition_ranks(np.array([[5.0, 1, 3], [1, 5, 3]]), direction=LOWER, among=[True, False, True])
    np.testing.assert_array_equal(ranks, [[2, np.nan, 1], [1, np.nan, 2]])


def test_infinity_does_not_disturb_the_rounding_of_others():
    np.testing.assert_array_equal(rounded(np.array([0.1 + 0.2, np.inf, np.nan])), [0.3, np.inf, np.nan])


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
    assert score([2.0, np.nan, 4.0]) == [100, 0, 0]
    assert score([2.0, 3.0, 4.0], [True, False, True]) == [100, 50, 0]
    assert score([1.0, 3.0, 5.0], [False, True, True]) == [100, 100, 0]  # one outside the ranked sets no end


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


def cube(seconds, failed):
    seconds = np.array(seconds, float)
    rows = tuple(f"c{k}" for k in range(seconds.shape[1]))
    names = tuple(f"t{k}" for k in range(len(seconds)))
    failed = np.array(failed, bool)
    return Cube(names, rows, rows, (("seconds", ""),), seconds[:, :, None], failed, failed)


def test_seconds_of_failed_rows_do_not_count_and_gaps_void_all():
    nan = np.nan
    reported = reported_seconds(cube([[1, 2], [1, nan], [1, nan]], [[0, 0], [0, 0], [0, 1]]))
    np.testing.assert_array_equal(reported, [[1, 2], [nan, nan], [1, nan]])
    crashed = reported_seconds(cube([[0.001, 2]], [[1, 0]]))
    np.testing.assert_array_equal(crashed, [[nan, 2]])


def test_what_was_not_measured_is_said():
    with pytest.raises(InputError, match="nothing was measured of dice tumor"):
        cube([[1, 2]], [[0, 0]]).of("dice", "tumor")
