"""Intervals of means: by an own loop, against SciPy, with clusters and strata, and where there is too little."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from podium.model import InputError
from podium.ranking import COVERAGE, mean_intervals, units_of
from podium.ranking.inference.intervals import (
    Moves,
    effective_number,
    intervals_of,
    mean_influences,
    standard_error,
    studentised,
    tail,
    unequal_sizes,
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
        shift, _ = Moves(mean_influences(rows, units), units)(counts)
        for one, weights in enumerate(units.weights(counts).astype(int)):
            expected = np.repeat(rows, weights, axis=1).mean(axis=1) - rows.mean(axis=1)
            np.testing.assert_allclose(shift[one], expected, atol=1e-12)


def test_standard_errors_of_resamples():
    units = units_of([str(row) for row in range(20)])
    counts = units.draw(1, 0)[:40]
    _, error = Moves(mean_influences(SKEWED, units), units)(counts)
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


# Clusters of unequal size

UNEVEN = np.repeat(np.arange(8), [1, 2, 12, 1, 3, 2, 1, 5])


@pytest.mark.parametrize("strata", [None, ["x"] * 4 + ["y"] * 4], ids=["one", "two"])
def test_uneven_clusters_have_the_jackknife_of_every_resample(strata):
    """Each draw of a cluster is left out in turn, by hand, in the resample written out."""
    rows = np.random.default_rng(3).lognormal(size=(2, len(UNEVEN)))
    units = units_of([str(c) for c in UNEVEN], None if strata is None else [strata[c] for c in UNEVEN])
    sizes = unequal_sizes(rows, units)
    assert sizes.sum() == pytest.approx(1)
    counts = units.draw(1, 0)[:20]
    shift, error = Moves(mean_influences(rows, units), units, sizes)(counts)
    own = [rows[:, units.cluster == cluster] for cluster in range(8)]
    for one, drawn_counts in enumerate(counts.astype(int)):
        drawn_clusters = np.repeat(np.arange(8), drawn_counts)
        whole = np.concatenate([own[c] for c in drawn_clusters], axis=1).mean(axis=1)
        np.testing.assert_allclose(shift[one], whole - rows.mean(axis=1))
        without = [
            np.concatenate([own[c] for c in np.delete(drawn_clusters, k)], axis=1).mean(axis=1) for k in range(8)
        ]
        variance = 0.0
        for stratum in units.strata:
            size = stratum.stop - stratum.start
            group = np.array([without[k] for k in range(8) if stratum.start <= drawn_clusters[k] < stratum.stop])
            variance = variance + (size - 1) / size * np.sum((group - group.mean(axis=0)) ** 2, axis=0)
        np.testing.assert_allclose(error[one], np.sqrt(variance))


def test_sizes_are_only_told_where_they_differ():
    even = units_of([str(row // 3) for row in range(12)])
    assert unequal_sizes(np.ones((2, 12)), even) is None
    gaps = np.ones((2, 12))
    gaps[:, 0] = np.nan  # for everybody: the first cluster has two rows
    np.testing.assert_allclose(unequal_sizes(gaps, even), np.array([2, 3, 3, 3]) / 11)
    gaps[0, 1] = np.nan  # for one of them alone
    assert unequal_sizes(gaps, even) is None
    assert effective_number(np.array([1.0, 1, 1, 1])) == 4
    assert effective_number(np.array([12.0, 2, 1])) == pytest.approx(15**2 / 149)


def test_uneven_clusters_reach_as_far_as_student():
    rows = np.random.default_rng(5).normal(size=(40, len(UNEVEN)))
    units = units_of([str(c) for c in UNEVEN])
    sizes = unequal_sizes(rows, units)
    intervals = mean_intervals(rows, clusters=[str(c) for c in UNEVEN])
    error = standard_error(mean_influences(rows, units), units, sizes)
    reach = stats.t.ppf(0.975, effective_number(sizes) - 1) * error
    assert (intervals.low <= intervals.estimate - reach).all()
    assert (intervals.high >= intervals.estimate + reach).all()
    assert (intervals.low == intervals.estimate - reach).any() or (intervals.high == intervals.estimate + reach).any()


def test_many_clusters_are_summed_with_fewer_digits(monkeypatch):
    units = units_of([str(row) for row in range(20)])
    effect = mean_influences(SKEWED, units)
    counts = units.draw(1, 0)
    exact = Moves(effect, units)(counts)
    monkeypatch.setattr("podium.ranking.inference.intervals._LARGE", 10)
    for plain, coarse in zip(exact, Moves(effect, units)(counts), strict=True):
        assert (plain != coarse).any()
        np.testing.assert_allclose(plain, coarse, atol=1e-5 * np.abs(plain).max())


@pytest.mark.parametrize("large", [10, 2**22])
@pytest.mark.parametrize("sizes", [None, np.arange(1, 301) / 45150])
def test_what_does_not_vary_in_a_resample_has_no_error_there(monkeypatch, large, sizes):
    """Everything but the first cluster is equal: resamples without it vary by rounding alone."""
    monkeypatch.setattr("podium.ranking.inference.intervals._LARGE", large)
    units = units_of([str(row) for row in range(300)])
    values = np.full((3, 300), 0.3)
    values[:, 0] = 0.6, 7.0, -1e3
    shares = np.full(300, 1 / 300) if sizes is None else sizes
    effect = shares * (values - (values @ shares)[:, None])
    counts = units.draw(1, 0)
    without = counts[:, 0] == 0
    assert without.any()
    error = Moves(effect, units, sizes)(counts)[1]
    assert (error[without] == 0).all()
    assert (error[~without] > 0).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_intervals_of_huge_and_tiny_values(scale):
    plain, scaled = mean_intervals(SKEWED), mean_intervals(SKEWED * scale)
    for end, own in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(own / scale, end, rtol=1e-9)


@pytest.mark.parametrize("near", [0.0, 1e-12, 1e-6, 1e-3])
def test_an_end_that_only_nearness_would_set_is_none(near):
    """Of few values, of which most are nearly one, resamples see next to no spread: no end, however near they are."""
    rows = np.array([[0.0, near, 2 * near, 3 * near, 9.0]])
    estimate, low, high = (end.item() for end in mean_intervals(rows))
    error = rows.std(ddof=1) / np.sqrt(rows.size)
    assert high == np.inf
    assert estimate - 100 * error <= low < estimate
