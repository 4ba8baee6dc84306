"""Differences of criteria: errors, signs of whole clusters, and blocks of pairs that change nothing."""

from itertools import combinations, product

import numpy as np
import pytest

from podium.ranking import AggregateThenRank
from podium.ranking.inference import differences
from podium.ranking.inference.confidence import assess_confidence
from podium.ranking.inference.differences import Differences, Resamples, clusters_of, pair_blocks
from podium.ranking.inference.intervals import mean_influences

TEAMS = np.random.default_rng(8).normal(size=(6, 24)) + np.linspace(0, 2, 6)[:, None]
UNEVEN = [str(cluster) for cluster in np.repeat(np.arange(9), [1, 1, 1, 2, 2, 2, 3, 6, 6])]
FIRST, SECOND = np.triu_indices(6, 1)


def of_means(rule, *, replicates=400):
    column = rule.published.criteria[0]
    effect = mean_influences(column.rows[rule.ranked], rule.units)
    return Differences(rule, column, effect, Resamples(rule.units, replicates, 1))


def test_blocks_of_pairs_change_nothing(rule_from, monkeypatch):
    """One pair at a time gives what all together give, to the last digits of a matrix product."""
    for scheme in (AggregateThenRank(), AggregateThenRank("median")):
        for clusters in (None, UNEVEN):
            rule = rule_from(TEAMS, scheme, **({} if clusters is None else {"cluster": clusters}))
            whole = assess_confidence(rule, replicates=300)
            with monkeypatch.context() as patched:
                patched.setattr(differences, "_NUMBERS_AT_ONCE", 1)
                assert len(list(pair_blocks(15, rule, 300))) == 15
                single = assess_confidence(rule, replicates=300)
            np.testing.assert_array_equal(single.ahead, whole.ahead)
            for name in ("difference", "low", "high", "p"):
                np.testing.assert_allclose(getattr(single.pairs[0], name), getattr(whole.pairs[0], name), rtol=1e-9)


def test_signs_of_clusters_are_drawn_whole_and_alike_for_all_pairs(rule_from):
    """Eight clusters have 256 signs; every flipped statistic is one of those, the same signs for all pairs."""
    clusters = [str(cluster) for cluster in np.repeat(np.arange(8), [1, 2, 3, 4, 5, 3, 3, 3])]
    rule = rule_from(TEAMS, cluster=clusters)
    study = of_means(rule)
    sums = np.stack([TEAMS[:, np.array(clusters) == name].sum(axis=1) for name in rule.units.names], axis=1)
    between = sums[FIRST] - sums[SECOND]
    root = np.sqrt(np.sum(between**2, axis=1))
    np.testing.assert_allclose(study.evenness(FIRST, SECOND), np.abs(between.sum(axis=1)) / root)
    signs = np.array(list(product([1.0, -1.0], repeat=8)))
    possible = np.abs(signs @ between.T) / root
    for drawn in study.flipped(FIRST, SECOND)[:20]:
        assert np.min(np.max(np.abs(possible - drawn), axis=1)) < 1e-9


def test_few_large_clusters_are_taken_with_caution(rule_from):
    even = of_means(rule_from(TEAMS))
    assert even.caution() == 1
    assert even.sizes is None
    uneven = of_means(rule_from(TEAMS, cluster=UNEVEN))
    assert 0.5 < uneven.caution() < 0.9


def test_quantiles_of_few_large_clusters_are_taken_with_more_caution(rule_from):
    def median(rule):
        return Differences(rule, rule.published.criteria[0], None, Resamples(rule.units, 100, 1))

    even, uneven = (median(rule_from(TEAMS, AggregateThenRank(0.5), **own)) for own in ({}, {"cluster": UNEVEN}))
    assert uneven.caution() < even.caution()
    assert uneven.caution(10) < uneven.caution(3) < uneven.caution(1)
    assert even.caution(10) == even.caution(1)  # each with its own error, resamples of even clusters know it


def test_a_claim_needs_the_signs_of_clusters_too(rule_from):
    """One patient of twenty rows says everything: resamples may believe it, signs of whole clusters do not."""
    random = np.random.default_rng(1)
    clusters = ["big"] * 20 + [f"p{k}" for k in range(7)]
    values = random.normal(0, 0.01, (2, 27))
    values[0, :20] += 1.0
    assert assess_confidence(rule_from(values)).ahead.any()
    assert not assess_confidence(rule_from(values, cluster=clusters)).ahead.any()


def test_clusters_of_a_task_are_its_own(rule_from):
    tasks = {"a": TEAMS[:, :5], "b": TEAMS}
    rule = rule_from(tasks)
    assert [clusters_of(c.rows[rule.ranked], rule.units) for c in rule.published.criteria] == [5, 24]
    assert clusters_of(None, rule.units) == 29


def test_one_sided_is_every_row(rule_from):
    values = np.stack([np.arange(8.0), np.arange(8.0) + 1, np.arange(8.0)[::-1]])
    study = of_means(rule_from(values))
    pairs = np.array(list(combinations(range(3), 2)))
    assert study.one_sided(pairs[:, 0], pairs[:, 1]).tolist() == [True, False, False]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_largest_and_smallest_are_no_quantiles_to_compare_by(rule_from, share):
    confidence = assess_confidence(rule_from(TEAMS, AggregateThenRank(share)), replicates=100)
    assert not confidence.ahead.any()
