"""Intervals of what a leaderboard shows, influences of composite scores, and warnings."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from podium.model import Direction, InputError
from podium.ranking import (
    AggregateThenRank,
    RankThenAggregate,
    TestThenRank,
    challenge_rule,
    competition_ranks,
    cube_of,
    mean_intervals,
)
from podium.ranking.inference.confidence import assess_confidence, influences
from podium.ranking.inference.stability import assess_stability

VALUES = np.random.default_rng(9).lognormal(0, 0.5, (3, 18))


@pytest.mark.parametrize("method", ["bootstrap-t", "percentile", "bca"])
def test_a_mean_has_the_interval_of_a_mean(rule_from, method):
    found = assess_confidence(rule_from(VALUES), method=method, seed=4)
    np.testing.assert_allclose(found.columns["value"], mean_intervals(VALUES, method=method, seed=4), rtol=1e-9)
    assert (found.level, found.method, found.submissions) == (0.95, method, ("T0", "T1", "T2"))


def test_clusters_and_strata_are_respected(rule_from):
    clusters = [str(case // 3) for case in range(18)]
    strata = [str(case // 9) for case in range(18)]
    found = assess_confidence(rule_from(VALUES, cluster=clusters, stratum=strata)).columns["value"]
    np.testing.assert_allclose(found, mean_intervals(VALUES, clusters=clusters, strata=strata), rtol=1e-9)


def test_mean_ranks_have_intervals_too(rule_from):
    rule = rule_from(VALUES, RankThenAggregate())
    ranks = rule.published.columns[0].rows
    found = assess_confidence(rule).columns["value"]
    np.testing.assert_allclose(found, mean_intervals(ranks), rtol=1e-9)


def test_a_median_has_the_percentiles_of_its_resamples(rule_from):
    rule = rule_from(VALUES, AggregateThenRank("median"))
    found = assess_confidence(rule, seed=3).columns["value"]
    medians = np.sort(assess_stability(rule, replicates=2000, seed=3, columns=["value"]).columns["value"], axis=0)
    np.testing.assert_array_equal(found.estimate, np.median(VALUES, axis=1))
    np.testing.assert_allclose(found.low, medians[49])  # the 50th of 2,000: 0.025 · 2,001 = 50.02, the outer one
    np.testing.assert_allclose(found.high, medians[1950])


def test_counts_of_wins_have_none(rule_from):
    found = assess_confidence(rule_from(VALUES, TestThenRank()))
    assert found.columns == {}
    assert len(found.pairs) == 1


def test_more_than_two_thousand_resamples_are_not_needed(rule_from):
    few, many = (assess_confidence(rule_from(VALUES), replicates=number) for number in (2000, 50000))
    np.testing.assert_array_equal(few.columns["value"], many.columns["value"])


def test_threads_change_nothing(rule_from):
    for scheme in (AggregateThenRank(), AggregateThenRank("median")):
        alone, four = (assess_confidence(rule_from(VALUES, scheme), jobs=jobs) for jobs in (1, 4))
        np.testing.assert_array_equal(alone.columns["value"], four.columns["value"])
        np.testing.assert_array_equal(alone.pairs[0].low, four.pairs[0].low)
        assert alone.ranks == four.ranks


def test_a_task_owes_nothing_to_the_cases_of_another(rule_from):
    """As if it were alone: (x − mean)/n over its own cases, however many others there are."""
    tasks = {"a": VALUES[:, :5], "b": np.random.default_rng(0).random((3, 40))}
    rule = rule_from(tasks)
    scores = rule.published
    effects = influences(rule, scores, scores.criteria)
    own = (VALUES[:, :5] - VALUES[:, :5].mean(axis=1, keepdims=True)) / 5
    np.testing.assert_allclose(effects["a"], np.concatenate([own, np.zeros((3, 40))], axis=1), atol=1e-15)


def doubled(table, copies):
    """Return a run in which every case appears several times, so that one of them matters little."""
    return pl.concat(
        table.with_columns((pl.col("case") + f"x{copy}" if copy else pl.col("case")).alias("case"))
        for copy in range(copies)
    )


def derivative(rule, name, step=1e-4):
    """Return how a column changes with the weight of each cluster, shape (competitors, clusters)."""
    slopes = []
    for cluster in range(len(rule.units.names)):
        nudge = step * (rule.units.cluster == cluster)
        both = rule.score(np.stack([1.0 + nudge, 1.0 - nudge])).column(name).values[:, rule.ranked]
        slopes.append((both[0] - both[1]) / (2 * step))
    return np.array(slopes).T


@pytest.mark.parametrize(
    ("name", "edition", "column"),
    [
        ("csv2026", "document", "total"),
        ("csv2026", "code", "total"),
        ("csv2026", "document", "f1_1"),
        ("trackrad2025", "document", "runtime"),
        ("trackrad2025", "document", "hd95"),
        ("tusrec", "document", "score"),
        ("lvquan18", "document", "mae_dim"),
        ("kits21", "code", "dice_all"),
    ],
)
def test_influences_are_derivatives(run_of, name, edition, column):
    """What a score owes to a case is its slope in the weight of the case; the jackknife's error is of order 1/m."""
    challenge, table, roles = run_of(name, edition=edition, seed=6)
    if challenge.cluster(table["case"][0]) == table["case"][0]:
        table = doubled(table, 12)
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    scores = rule.published
    effect = influences(rule, scores, [scores.column(column)])[column]
    slope = derivative(rule, column)
    assert np.abs(effect).max() > 1e-4
    error = np.sqrt(np.sum(np.square(effect - slope), axis=1) / np.sum(np.square(slope), axis=1))
    assert (error < 0.02).all()


def test_a_composite_score_has_an_interval(run_of):
    challenge, table, roles = run_of("csv2026")
    rule = challenge_rule(challenge, cube_of(challenge, doubled(table, 6)), roles=roles)
    found = assess_confidence(rule)
    total = found.columns["total"]
    np.testing.assert_allclose(total.estimate, rule.published.column("total").values[0, rule.ranked])
    assert (total.low < total.estimate).all()
    assert (total.estimate < total.high).all()
    assert "time" not in found.columns  # it compares teams, and judges none
    # A normal interval from the spread in resamples is about as wide.
    spread = assess_stability(rule, replicates=2000, columns=["total"]).columns["total"].std(axis=0)
    np.testing.assert_allclose(total.high - total.low, 2 * 1.96 * spread, rtol=0.2)


def test_images_of_a_subject_are_one_witness(run_of):
    challenge, table, roles = run_of("lvquan18")
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    rows = rule.published.column("mae_area").rows[rule.ranked]
    found = assess_confidence(rule).columns["mae_area"]
    clusters = [challenge.cluster(row) for row in rule.rows]
    np.testing.assert_allclose(found, mean_intervals(rows, clusters=clusters), rtol=1e-9)
    alone = mean_intervals(rows)
    assert np.mean(found.high - found.low) > 1.5 * np.mean(alone.high - alone.low)


def test_tusrec_is_compared_by_exact_scores(run_of):
    """Places follow scores to three decimals; intervals are of the scores themselves."""
    challenge, table, roles = run_of("tusrec")
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    scores = rule.published
    found = assess_confidence(rule).columns["score"]
    np.testing.assert_allclose(found.estimate, scores.criteria[0].values[0, rule.ranked])
    assert (np.round(found.estimate, 3) != found.estimate).all()
    np.testing.assert_allclose(np.round(found.estimate, 3), scores.columns[0].values[0, rule.ranked])


# Places that are published


def test_a_rank_interval_holds_the_place_that_is_published(rule_from):
    """By their means they are certainly 1, 2, 3; a rule that looks at something else puts them the other way round."""
    values = np.random.default_rng(3).normal(0, 0.1, (3, 30)) + np.array([[2.0], [1.0], [0.0]])
    rule = rule_from(values)
    assert [(rank.best, rank.worst) for rank in assess_confidence(rule).ranks] == [(1, 1), (2, 2), (3, 3)]

    def reversed_places(weights):
        scores = rule.score(weights)
        return replace(scores, places=4 - scores.places)

    other = replace(rule, score=reversed_places)
    assert other.published.places.tolist() == [[3, 2, 1]]
    confidence = assess_confidence(other)
    assert [(rank.best, rank.worst) for rank in confidence.ranks] == [(1, 3)] * 3
    assert not confidence.ahead.any()
    assert confidence.pairs[0].better[0].tolist() == [False, True, True]  # as before: that is about the criterion
    assert any("T0 is certainly better than T1, but the rule puts it behind" in line for line in confidence.warnings)


def test_nobody_is_ahead_of_whom_the_rule_calls_equal(rule_from):
    """A rule that rounds: the true places of two that it cannot part are one."""
    values = np.random.default_rng(3).normal(0, 0.001, (3, 30)) + np.array([[0.4], [0.3], [-3.0]])
    rule = rule_from(values)

    def rounded(weights):
        scores = rule.score(weights)
        return replace(scores, places=competition_ranks(np.rint(scores.columns[0].values), direction=Direction.HIGHER))

    confidence = assess_confidence(replace(rule, score=rounded))
    assert confidence.ahead.tolist() == [[False, False, True], [False, False, True], [False, False, False]]
    assert [(rank.best, rank.worst) for rank in confidence.ranks] == [(1, 2), (1, 2), (3, 3)]
    assert confidence.warnings == ()


def test_a_team_below_others_for_its_failures_may_be_there(run_of):
    """By TUS-REC's code the best of all is last, as the only one that failed a scan."""
    run = run_of("tusrec", edition="code")
    best = (pl.col("submission") == "beta") & pl.col("metric").str.ends_with("score") & (pl.col("status") == "ok")
    rule = run._replace(
        table=run.table.with_columns(pl.when(best).then(0.99).otherwise(pl.col("value")).alias("value"))
    ).rule
    assert rule.leaderboard().places["beta"] == 4
    confidence = assess_confidence(rule)
    beta = confidence.submissions.index("beta")
    assert confidence.pairs[0].better[beta].tolist() == [True, False, True, True]
    assert (confidence.ranks[beta].best, confidence.ranks[beta].worst) == (1, 4)
    places = rule.published.places[0, rule.ranked]
    assert all(rank.best <= place <= rank.worst for rank, place in zip(confidence.ranks, places, strict=True))


# Warnings


def test_no_warning_without_a_reason(rule_from):
    assert assess_confidence(rule_from(VALUES)).warnings == ()


def test_methods_that_cover_less_say_so(rule_from):
    for method in ("percentile", "bca"):
        (warning,) = assess_confidence(rule_from(VALUES), method=method).warnings
        assert warning.startswith(f"{method}: 95 % intervals cover only 9")


def test_medians_are_warned_about(rule_from):
    warnings = assess_confidence(rule_from(VALUES, AggregateThenRank("median"))).warnings
    assert any("medians" in warning and "cover less" in warning for warning in warnings)
    assert any("Wilcoxon" in w for w in assess_confidence(rule_from(VALUES, TestThenRank())).warnings)


def test_failures_are_warned_about(rule_from):
    values = VALUES.copy()
    values[1, :2] = np.nan  # two of eighteen
    values[2, 0] = np.nan
    (warning,) = assess_confidence(rule_from(values, missing=0.0)).warnings
    assert warning.startswith("Failed cases: T1 (2 of 18), T2 (1 of 18). ")
    assert "cover less than they promise" in warning


def test_failed_cases_of_a_run_are_warned_about(run_of):
    challenge, table, roles = run_of("kits21")
    lost = (pl.col("submission") == "delta") & pl.col("case").is_in(["case_00002", "case_00003"])
    table = table.with_columns(pl.when(lost).then(pl.lit("invalid")).otherwise(pl.col("status")).alias("status"))
    warnings = assess_confidence(challenge_rule(challenge, cube_of(challenge, table), roles=roles)).warnings
    assert [warning.split(". ")[0] for warning in warnings] == ["Failed cases: delta (2 of 12), beta (1 of 12)"]


def test_unknown_methods_are_refused(rule_from):
    with pytest.raises(InputError, match="no interval 'normal'"):
        assess_confidence(rule_from(VALUES), method="normal")
