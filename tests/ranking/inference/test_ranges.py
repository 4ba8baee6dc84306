"""Intervals stay within what values can be, and say so where there are too few cases."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from podium.ranking import challenge_rule
from podium.ranking.inference.confidence import assess_confidence
from podium.ranking.inference.ranges import bounded_means

DICE = np.random.default_rng(3).beta(18, 2, (4, 30))


def bounded(rule, low=0.0, high=1.0):
    """Return the rule with a declared range of its values."""

    def ranged(column):
        return replace(column, measure=replace(column.measure, minimum=low, maximum=high))

    def score(weights):
        scores = rule.score(weights)
        return replace(scores, columns=tuple(map(ranged, scores.columns)), criteria=tuple(map(ranged, scores.criteria)))

    return replace(rule, score=score)


def test_nothing_leaves_the_range(rule_from):
    """Four cases, one of them lost: resamples alone say from far below zero to above one."""
    values = np.array([[0.99, 0.98, 0.97, 0.0], [0.95, 0.9, 0.97, 0.96]])
    free = assess_confidence(rule_from(values))
    column = free.columns["value"]
    assert np.isnan(column.low).any() or (column.low < 0).any() or (column.high > 1).any()
    confidence = assess_confidence(bounded(rule_from(values)))
    column, pair = confidence.columns["value"], confidence.pairs[0]
    assert ((column.low >= 0) & (column.high <= 1) & (column.low <= column.high)).all()
    apart = ~np.eye(2, dtype=bool)
    assert ((pair.low >= -1) & (pair.high <= 1))[apart].all()


def test_too_few_cases_have_no_interval_rather_than_an_infinite_one(rule_from):
    confidence = assess_confidence(rule_from(np.array([[1.0, 2.0], [1.5, 5.0]])))
    for ends in (*confidence.columns["value"][1:], confidence.pairs[0].low, confidence.pairs[0].high):
        assert not np.isinf(ends).any()
    assert np.isnan(confidence.columns["value"].low).all()


@pytest.mark.parametrize("right", [15, 14, 12, 0])
def test_binary_values_have_the_interval_of_clopper_and_pearson(rule_from, right):
    values = np.zeros((2, 15))
    values[0, :right] = 1.0
    values[1, :7] = 1.0
    column = assess_confidence(bounded(rule_from(values))).columns["value"]
    expected = stats.binomtest(right, 15).proportion_ci(method="exact")
    low, high = column.low[0], column.high[0]
    assert low <= expected.low + 1e-6
    assert high >= expected.high - 1e-6
    if right in (15, 0):
        assert (low, high) == pytest.approx(expected, abs=1e-6)


def test_methods_that_rest_on_the_range_alone(rule_from):
    rule = bounded(rule_from(DICE))
    plain, guaranteed, proved = (
        assess_confidence(rule, method=method) for method in ("bootstrap-t", "guaranteed", "proved")
    )
    widths = [c.columns["value"].high - c.columns["value"].low for c in (plain, guaranteed, proved)]
    assert (widths[0] < widths[1]).all()
    assert (widths[1] < widths[2]).all()
    apart = ~np.eye(4, dtype=bool)
    lengths = [(c.pairs[0].high - c.pairs[0].low)[apart] for c in (plain, guaranteed, proved)]
    assert (lengths[0] < lengths[1]).all()
    assert (lengths[1] < lengths[2]).all()
    np.testing.assert_array_equal(plain.ahead, guaranteed.ahead)  # places do not depend on it
    assert guaranteed.warnings == ()
    (warning,) = assess_confidence(rule_from(DICE), method="guaranteed").warnings
    assert "declared range" in warning


def test_a_pair_is_flagged_where_its_order_needs_no_distribution(rule_from):
    random = np.random.default_rng(0)
    values = np.stack([random.beta(18, 2, 200), random.beta(16, 4, 200), random.beta(5, 5, 200)])
    pair = assess_confidence(bounded(rule_from(values))).pairs[0]
    assert pair.guaranteed.tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    lower = assess_confidence(bounded(rule_from(values, better="lower"))).pairs[0]
    np.testing.assert_array_equal(lower.guaranteed, pair.guaranteed.T)
    assert assess_confidence(rule_from(values)).pairs[0].guaranteed is None
    # Thirty cases separate the first two beyond noise, but not if failures may be more frequent than seen.
    few = assess_confidence(bounded(rule_from(values[:, :30]))).pairs[0]
    assert few.better[0, 2]
    assert not few.guaranteed[0, 1]


def test_only_means_of_values_in_a_finite_range_are_bounded(rule_from, run_of):
    rule = rule_from(DICE)
    column = bounded(rule).published.criteria[0]
    assert bounded_means(column, rule) is not None
    for changed in (
        replace(column, rows=None),
        replace(column, smooth=False),
        replace(column, rows=column.rows + 1),
        replace(column, measure=replace(column.measure, maximum=np.inf)),
    ):
        assert bounded_means(changed, rule) is None
    gap = column.rows.copy()
    gap[0, 0] = np.nan
    assert bounded_means(replace(column, rows=gap), rule) is None


def test_clusters_count_as_one_value(rule_from):
    clusters = [str(row // 3) for row in range(30)]
    rule = bounded(rule_from(DICE, cluster=clusters))
    means = bounded_means(rule.published.criteria[0], rule)
    np.testing.assert_allclose(means.means, DICE.reshape(4, 10, 3).mean(axis=2))
    assert means.sizes is None
    uneven = bounded(rule_from(DICE, cluster=["0"] * 6 + clusters[6:]))
    means = bounded_means(uneven.published.criteria[0], uneven)
    assert sorted(means.sizes.tolist()) == [3] * 8 + [6]
    np.testing.assert_allclose(means.means @ means.sizes / 30, DICE.mean(axis=1))


@pytest.mark.parametrize("name", ["kits21", "trackrad2025", "lvquan18", "csv2026", "tusrec"])
def test_no_challenge_shows_what_cannot_be(run_of, name):
    """Every interval of a column lies within the range that its measure declares, and shares are declared."""
    run = run_of(name)
    rule = challenge_rule(run.challenge, run.cube, roles=run.roles)
    columns = {column.name: column for column in (*rule.published.columns, *rule.published.criteria)}
    for column, (estimate, low, high) in assess_confidence(rule, replicates=200).columns.items():
        measure = columns[column].measure
        for end in (low, high, estimate):
            known = end[np.isfinite(end)]
            assert ((known >= measure.minimum) & (known <= measure.maximum)).all()
        assert not np.isinf([low, high]).any()
        assert np.isfinite(measure.minimum), f"{column} has no declared range"


@pytest.mark.parametrize("method", ["bootstrap-t", "guaranteed", "proved"])
@pytest.mark.parametrize("teams", [1, 2])
def test_one_team_has_nobody_to_differ_from(rule_from, method, teams):
    confidence = assess_confidence(bounded(rule_from(DICE[:teams])), method=method, replicates=200)
    assert confidence.pairs[0].low.shape == (teams, teams)
    assert np.isfinite(confidence.columns["value"].low).all()
