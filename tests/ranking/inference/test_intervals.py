"""Intervals of means: by an own loop, against SciPy, with clusters and strata, and where there is too little."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from podium.model import InputError
from podium.ranking import COVERAGE, mean_intervals, units_of
from podium.ranking.inference.intervals import (
    intervals_of,
    mean_influences,
    resampled,
    standard_error,
    studentised,
    tail,
)

RANDOM = np.random.default_rng(2)
SKEWED = RANDOM.lognormal(0, 0.8, (3, 20))


def drawn(units, replicates, seed):
    blocks = [units.draw(seed, block) for block in range(-(-replicates // 256))]
    return np.concatenate(blocks)[:replicates].astype(int)


def outer(ordered, share):
    """Return the quantile of a sorted list; of two neighbours the outer one."""
    place = share * (len(ordered) + 1)
    index = int(np.floor(place)) if share < 0.5 else int(np.ceil(place))
    return ordered[min(max(index, 1), len(ordered)) - 1]


def slow_bootstrap_t(rows, *, level=0.95, replicates=2000, seed=1):
    """Resample, take mean and standard error of each resample, and turn the distribution of t around."""
    size = len(rows)
    units = units_of([str(row) for row in range(size)])
    mean, error = rows.mean(), rows.std(ddof=1) / np.sqrt(size)
    t = []
    for counts in drawn(units, replicates, seed):
        sample = np.repeat(rows, counts)
        own = sample.std(ddof=1) / np.sqrt(size)
        if np.ptp(sample) == 0:
            t.append(np.copysign(np.inf, sample.mean() - mean))
        else:
            t.append((sample.mean() - mean) / own)
    # Moved outwards as if the normal distribution of percentile intervals were that of t with size − 1 freedoms.
    share = stats.norm.cdf(np.sqrt(size / (size - 1)) * stats.t.ppf((1 - level) / 2, size - 1))
    share = max(share, 0.8 * (1 - level) / 2)  # but never by more than a fifth
    t = sorted(t)
    return mean - outer(t, 1 - share) * error, mean - outer(t, share) * error


@pytest.mark.parametrize("rows", [6, 10, 20])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bootstrap_t_by_an_own_loop(rows, level):
    values = SKEWED[:, :rows]
    found = mean_intervals(values, level=level, seed=7)
    np.testing.assert_allclose(found.estimate, values.mean(axis=1))
    for one, own in enumerate(values):
        low, high = slow_bootstrap_t(own, level=level, seed=7)
        assert (found.low[one], found.high[one]) == pytest.approx((low, high), rel=1e-9)
    assert (found.low < found.estimate).all()
    assert (found.estimate < found.high).all()
    if rows == 20:
        assert (found.high - found.estimate > found.estimate - found.low).all()  # skewed as the values are


def test_percentiles_by_an_own_loop():
    found = mean_intervals(SKEWED, method="percentile", replicates=1500, seed=3)
    counts = drawn(units_of([str(row) for row in range(20)]), 1500, 3)
    for one, own in enumerate(SKEWED):
        means = sorted(np.repeat(own, weights).mean() for weights in counts)
        assert found.low[one] == pytest.approx(outer(means, 0.025))
        assert found.high[one] == pytest.approx(outer(means, 0.975))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_as_scipy(method):
    found = mean_intervals(SKEWED, method=method, replicates=20000)
    for one, own in enumerate(SKEWED):
        expected = stats.bootstrap(
            (own,), np.mean, n_resamples=20000, method=method, rng=np.random.default_rng(one)
        ).confidence_interval
        spread = expected.high - expected.low
        assert found.low[one] == pytest.approx(expected.low, abs=0.05 * spread)
        assert found.high[one] == pytest.approx(expected.high, abs=0.05 * spread)


def test_bca_differs_from_percentile_where_values_are_skewed():
    plain, corrected = (mean_intervals(SKEWED, method=method) for method in ("percentile", "bca"))
    assert (corrected.low > plain.low).all()
    assert (corrected.high > plain.high).all()


def test_influences_by_hand():
    rows = np.array([[1.0, 2.0, 6.0, 7.0], [1.0, np.nan, np.nan, 3.0]])
    np.testing.assert_allclose(mean_influences(rows, units_of("abcd"))[0], [-0.75, -0.5, 0.5, 0.75])
    # Rows that belong to no mean owe it nothing; two remain, of mean 2.
    np.testing.assert_allclose(mean_influences(rows, units_of("abcd"))[1], [-0.5, 0, 0, 0.5])
    np.testing.assert_allclose(mean_influences(rows, units_of("abba"))[0], [0.0, 0.0])
    np.testing.assert_allclose(mean_influences(rows, units_of("aaab"))[0], [-0.75, 0.75])


def test_standard_errors():
    rows = SKEWED[:2]
    units = units_of([str(row) for row in range(20)])
    expected = rows.std(axis=1, ddof=1) / np.sqrt(20)
    np.testing.assert_allclose(standard_error(mean_influences(rows, units), units), expected)
    # Two strata: the variances of their shares of the mean add up.
    strata = ["x"] * 8 + ["y"] * 12
    units = units_of([str(row) for row in range(20)], strata)
    x, y = rows[:, :8], rows[:, 8:]
    expected = np.sqrt(0.4**2 * x.var(axis=1, ddof=1) / 8 + 0.6**2 * y.var(axis=1, ddof=1) / 12)
    np.testing.assert_allclose(standard_error(mean_influences(rows, units), units), expected)
    # Five clusters of four: that of the mean of their five means.
    units = units_of([str(row // 4) for row in range(20)])
    means = rows.reshape(2, 5, 4).mean(axis=2)
    expected = means.std(axis=1, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(standard_error(mean_influences(rows, units), units), expected)


def test_a_resample_moves_a_mean_as_its_rows_written_out():
    rows = SKEWED
    for clusters, strata in (
        ([str(row) for row in range(20)], None),
        ([str(row // 4) for row in range(20)], None),
        ([str(row) for row in range(20)], ["x"] * 5 + ["y"] * 15),
        ([str(row // 2) for row in range(20)], ["x"] * 6 + ["y"] * 14),
    ):
        units = units_of(clusters, strata)
        counts = units.draw(1, 0)[:40]
        shift, _ = resampled(mean_influences(rows, units), units, counts)
        for one, weights in enumerate(units.weights(counts).astype(int)):
            expected = np.repeat(rows, weights, axis=1).mean(axis=1) - rows.mean(axis=1)
            np.testing.assert_allclose(shift[one], expected, atol=1e-12)


def test_standard_errors_of_resamples():
    units = units_of([str(row) for row in range(20)])
    counts = units.draw(1, 0)[:40]
    _, error = resampled(mean_influences(SKEWED, units), units, counts)
    for one, weights in enumerate(counts.astype(int)):
        expected = np.repeat(SKEWED, weights, axis=1).std(axis=1, ddof=1) / np.sqrt(20)
        np.testing.assert_allclose(error[one], expected)


def test_clusters_of_one_size_are_their_means():
    values = np.random.default_rng(0).random((2, 24)) + np.repeat(np.random.default_rng(1).random((1, 8)), 3, axis=1)
    clusters = [str(row // 3) for row in range(24)]
    for method in ("bootstrap-t", "percentile", "bca"):
        found = mean_intervals(values, clusters=clusters, method=method)
        means = mean_intervals(values.reshape(2, 8, 3).mean(axis=2), method=method)
        np.testing.assert_allclose(found, means, rtol=1e-9)
        alone = mean_intervals(values, method=method)
        assert (found.high - found.low > alone.high - alone.low).all()  # rows of a cluster are alike


def test_strata_take_their_differences_out():
    random = np.random.default_rng(0)
    values = random.normal(size=(2, 30)) + np.repeat([[0.0, 50.0]], 15, axis=1)
    strata = ["x"] * 15 + ["y"] * 15
    for method in ("bootstrap-t", "percentile", "bca"):
        separate = mean_intervals(values, strata=strata, method=method)
        together = mean_intervals(values, method=method)
        assert (separate.high - separate.low < 2).all()
        assert (together.high - together.low > 10).all()
        # What separates strata is never drawn, so it changes nothing but the estimate.
        shifted = mean_intervals(values + np.repeat([[0.0, -50.0]], 15, axis=1), strata=strata, method=method)
        np.testing.assert_allclose(np.array(separate) - 25, shifted, atol=1e-6)


def test_a_constant_has_no_spread():
    for method in ("bootstrap-t", "percentile", "bca"):
        found = mean_intervals([[0.1] * 7, [0.0] * 7, [1.0, 2, 3, 4, 5, 6, 7]], method=method)
        np.testing.assert_allclose(found.low[:2], [0.1, 0.0], atol=1e-15)
        np.testing.assert_allclose(found.high[:2], [0.1, 0.0], atol=1e-15)
        assert found.low[2] < 4 < found.high[2]


def test_two_rows_tell_too_little():
    found = mean_intervals([[1.0, 2.0]])
    assert (found.estimate.item(), found.low.item(), found.high.item()) == (1.5, -np.inf, np.inf)
    assert np.isinf(mean_intervals([[1.0, 2.0, 4.0]]).low).all()
    assert np.isfinite(mean_intervals([[1.0, 2.0, 4.0, 3.0, 7.0, 5.0, 6.0]])).all()


def test_studentised():
    shift = np.array([[0.0, 1.0], [1.0, -1.0], [1.0, 1e-17]])
    error = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(studentised(shift, error), [[0, np.inf], [0.5, -np.inf], [np.inf, 0]])


def test_quantiles_are_moved_outwards_where_cases_are_few():
    assert tail(0.95, units_of([str(row) for row in range(100000)])) == pytest.approx(0.025, rel=1e-3)
    # Φ(−√(50/49) · 2.0096)
    assert tail(0.95, units_of([str(row) for row in range(50)])) == pytest.approx(0.02118, abs=2e-5)
    assert tail(0.95, units_of([str(row) for row in range(10)])) == pytest.approx(0.02)
    # but by no more than a fifth; and a hundred clusters in two strata have 98 freedoms: Φ(−√(100/98) · 1.98447)
    two = units_of([str(row) for row in range(100)], ["x"] * 50 + ["y"] * 50)
    assert tail(0.95, two) == pytest.approx(stats.norm.cdf(-np.sqrt(100 / 98) * 1.984467), abs=1e-6)


def test_the_same_whatever_the_number_of_threads():
    alone = mean_intervals(SKEWED, jobs=1)
    for jobs in (2, 4):
        np.testing.assert_array_equal(mean_intervals(SKEWED, jobs=jobs), alone)
    assert (np.array(mean_intervals(SKEWED, seed=2)) != np.array(alone)).any()


def test_levels_are_nested():
    ends = [mean_intervals(SKEWED, level=level) for level in (0.5, 0.8, 0.95, 0.99)]
    for inner, wider in pairwise(ends):
        assert (wider.low <= inner.low).all()
        assert (inner.high <= wider.high).all()


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, 2.0], {}, "shape"),
        ([[1.0, np.nan]], {}, "finite"),
        ([[1.0, np.inf]], {}, "finite"),
        ([[1.0]], {}, "single case"),
        ([[]], {}, "no cases"),
        ([[1.0, 2.0]], {"clusters": ["a", "a"]}, "single case"),
        ([[1.0, 2.0]], {"strata": ["a", "b"]}, "single case"),
        ([[1.0, 2.0]], {"strata": ["a"]}, "one name per row"),
        ([[1.0, 2.0]], {"level": 95}, "level is 95"),
        ([[1.0, 2.0]], {"level": 0.0}, "level is 0"),
        ([[1.0, 2.0]], {"method": "normal"}, "no interval 'normal'.*bootstrap-t, percentile, bca"),
        ([[1.0, 2.0]], {"replicates": 0}, "too few"),
        ([[1.0, 2.0]], {"seed": -3}, "seed"),
    ],
)
def test_what_cannot_be_is_refused(values, options, message):
    with pytest.raises(InputError, match=message):
        mean_intervals(values, **options)


def test_every_method_says_what_it_covers():
    assert set(COVERAGE) == {"bootstrap-t", "percentile", "bca"}
    effect, units = np.array([[0.1, -0.1]]), units_of("ab")
    shifts = np.zeros((10, 1))
    for method in COVERAGE:
        intervals_of(np.zeros(1), effect, units, shifts, shifts, level=0.9, method=method)
