"""General schemes by hand, and under weights against a plain implementation on rows written out."""

import numpy as np
import pytest
from scipy import stats

from podium.model import Direction, InputError, Measure
from podium.ranking import (
    AggregateThenRank,
    RankThenAggregate,
    ScoreTable,
    TaskValues,
    TestThenRank,
    scheme_named,
    scheme_rule,
    units_of,
)
from podium.ranking.inference.stability import assess_stability


def places_of(numbers, *, higher):
    """Competition ranks: one more than how many are better."""
    signed = [round(n, 10) if higher else -round(n, 10) for n in numbers]
    return [1 + sum(other > own for other in signed) for own in signed]


def p_greater(differences):
    """Return the one-sided p of a signed-rank test; SciPy has it, but for no difference at all."""
    if not np.any(differences):
        return 1.0
    return stats.wilcoxon(differences, alternative="greater", method="asymptotic", correction=True).pvalue


def slow_places(rows, scheme, *, higher):
    """Rank the submissions of an array (submissions, rows), each row counting once."""
    statistic = {"mean": np.mean, "median": np.median}.get(scheme.statistic) if hasattr(scheme, "statistic") else None
    if isinstance(scheme, AggregateThenRank):
        statistic = statistic or (lambda own: np.quantile(own, scheme.statistic))
        return places_of([statistic(own) for own in rows], higher=higher)
    if isinstance(scheme, RankThenAggregate):
        ranks = np.array([places_of(case, higher=higher) for case in rows.T]).T
        return places_of([statistic(own) for own in ranks], higher=False)
    teams = range(len(rows))
    sign = 1 if higher else -1
    pairs = [(one, two) for one in teams for two in teams if one != two]
    p = np.array([p_greater(sign * np.round(rows[one] - rows[two], 10)) for one, two in pairs])  # as on paper
    if scheme.adjustment == "benjamini-hochberg":
        p = stats.false_discovery_control(p)
    elif scheme.adjustment == "bonferroni":
        p = p * len(p)
    elif scheme.adjustment == "holm":
        order = np.argsort(p)
        p[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    wins = [sum(q < scheme.alpha for q, pair in zip(p, pairs, strict=True) if pair[0] == one) for one in teams]
    return places_of(wins, higher=True)


SCHEMES = [
    AggregateThenRank("mean"),
    AggregateThenRank("median"),
    AggregateThenRank(0.05),
    RankThenAggregate("mean"),
    RankThenAggregate("median"),
    TestThenRank("none"),
    TestThenRank("holm"),
    TestThenRank("bonferroni", alpha=0.2),
    TestThenRank("benjamini-hochberg"),
]
EVERY_SCHEME = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)


@EVERY_SCHEME
@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_resample_is_scored_as_its_rows_written_out(rule_from, scheme, better):
    random = np.random.default_rng(4)
    values = np.round(random.random((5, 24)) + 0.12 * np.arange(5)[:, None], 1)  # with ties within and between cases
    values[4] = values[3]
    rule = rule_from(values, scheme, better=better)
    counts = np.concatenate([np.ones((1, 24)), rule.units.draw(6, 0)[:25]])
    found = rule.places(counts)
    for weights, places in zip(counts.astype(int), found, strict=True):
        repeated = np.repeat(values, weights, axis=1)
        assert places.tolist() == slow_places(repeated, scheme, higher=better == "higher")
    assert len(np.unique(found, axis=0)) > 3


@EVERY_SCHEME
def test_a_consensus_averages_the_ranks_of_tasks(rule_from, scheme):
    random = np.random.default_rng(5)
    tasks = {"a": random.random((4, 12)), "b": random.random((4, 20)) + 0.2 * np.arange(4)[:, None]}
    rule = rule_from(tasks, scheme)
    assert rule.units.strata == (slice(0, 12), slice(12, 32))  # each task is drawn for itself
    counts = rule.units.draw(2, 0)[:15]
    scores = rule.score(rule.units.weights(counts))
    for one, weights in enumerate(counts.astype(int)):
        assert (weights[:12].sum(), weights[12:].sum()) == (12, 20)
        a = slow_places(np.repeat(tasks["a"], weights[:12], axis=1), scheme, higher=True)
        b = slow_places(np.repeat(tasks["b"], weights[12:], axis=1), scheme, higher=True)
        average = [(x + y) / 2 for x, y in zip(a, b, strict=True)]
        assert scores.column("average_rank").values[one].tolist() == average
        assert scores.places[one].tolist() == places_of(average, higher=False)


def test_by_hand(rule_from):
    """Ranks in the three cases: T0 1 2 2, T1 2 1 1, T2 always 3."""
    values = np.array([[0.9, 0.9, 0.5], [0.8, 0.95, 0.6], [0.1, 0.2, 0.3]])
    shown = {}
    for scheme in (AggregateThenRank(), AggregateThenRank("median"), RankThenAggregate(), AggregateThenRank(0.0)):
        board = rule_from(values, scheme).leaderboard()
        shown[scheme.name] = {e.submission: (e.place, round(e.values["value"], 4)) for e in board.entries}
    assert shown == {
        "mean then rank": {"T1": (1, 0.7833), "T0": (2, 0.7667), "T2": (3, 0.2)},
        "median then rank": {"T0": (1, 0.9), "T1": (2, 0.8), "T2": (3, 0.2)},
        "rank then mean": {"T1": (1, 1.3333), "T0": (2, 1.6667), "T2": (3, 3.0)},
        "0-quantile then rank": {"T1": (1, 0.6), "T0": (2, 0.5), "T2": (3, 0.1)},
    }


def test_equal_values_in_a_case_share_the_better_rank(rule_from):
    values = np.array([[0.5, 0.3], [0.5, 0.1], [0.1 + 0.2, 0.2], [0.3, 0.0]])
    column = rule_from(values, RankThenAggregate()).published.columns[0]
    assert column.rows.tolist() == [[1, 1], [1, 3], [3, 2], [3, 4]]
    assert column.values[0].tolist() == [1.0, 2.0, 2.5, 3.5]


def test_significance_needs_cases(rule_from):
    """Better in every case: p of five is (1 − Φ((15 − 7.5 − 0.5)/√13.75)) = 0.0295, of four 0.0502 ≥ 0.05."""
    better = np.arange(1.0, 6.0) / 10
    assert rule_from(np.stack([better, 0 * better]), TestThenRank()).published.places.tolist() == [[1, 2]]
    four = np.stack([better, 0 * better])[:, :4]
    assert rule_from(four, TestThenRank()).published.places.tolist() == [[1, 1]]
    assert rule_from(four, TestThenRank(alpha=0.06)).published.places.tolist() == [[1, 2]]
    # Two ordered pairs: Holm doubles the smaller p.
    both = np.stack([better, 0 * better])
    assert rule_from(both, TestThenRank("holm")).published.places.tolist() == [[1, 1]]


@EVERY_SCHEME
def test_one_submission_equal_submissions_one_case(rule_from, scheme):
    alone = rule_from(np.array([[0.1, 0.2, 0.3]]), scheme)
    assert alone.published.places.tolist() == [[1]]
    assert np.isnan(assess_stability(alone, replicates=10).tau).all()
    equal = rule_from(np.full((3, 4), 0.7), scheme)
    assert equal.published.places.tolist() == [[1, 1, 1]]
    assert assess_stability(equal, replicates=10).first.tolist() == [1, 1, 1]
    assert rule_from(np.array([[0.1], [0.3]]), scheme).published.places.shape == (1, 2)


def test_emphasis_of_tasks(table_from):
    table = table_from({"a": np.array([[0.9], [0.8], [0.7]]), "b": np.array([[0.1], [0.3], [0.2]])})
    average = {  # ranks in a: 1 2 3, in b: 3 1 2
        None: [2.0, 1.5, 2.5],
        0.5: [7 / 3, 4 / 3, 7 / 3],
        1.5: [1.8, 1.6, 2.6],
        0.0: [3.0, 1.0, 2.0],
    }
    for emphasis, expected in average.items():
        given = None if emphasis is None else {"a": emphasis}
        scores = scheme_rule(table, AggregateThenRank(), emphasis=given).published
        first = scores.columns[0].values[0]
        if emphasis == 0.0:  # one task is left, and no mean of ranks
            assert [column.name for column in scores.criteria] == ["b"]
            assert scores.places[0].tolist() == expected
        else:
            np.testing.assert_allclose(first, expected)
    with pytest.raises(InputError, match="no task is left"):
        scheme_rule(table, AggregateThenRank(), emphasis={"a": 0, "b": 0})


def test_schemes_by_name():
    assert scheme_named("aggregate-then-rank", statistic="median") == AggregateThenRank("median")
    assert scheme_named("rank-then-aggregate") == RankThenAggregate("mean")
    assert scheme_named("test-then-rank", adjustment="holm", alpha=0.01) == TestThenRank("holm", 0.01)
    assert scheme_named("aggregate-then-rank", statistic="0.25").name == "0.25-quantile then rank"
    with pytest.raises(InputError, match=r"no scheme 'best'.*There are: aggregate-then-rank"):
        scheme_named("best")
    for statistic in ("mode", "1.5", "-0.1", "nan"):
        with pytest.raises(InputError, match="no statistic"):
            scheme_named("aggregate-then-rank", statistic=statistic)
    with pytest.raises(InputError, match="no adjustment"):
        scheme_named("test-then-rank", adjustment="fdr")
    with pytest.raises(InputError, match="alpha is 5"):
        scheme_named("test-then-rank", alpha=5)


def test_columns_say_what_they_are(rule_from):
    values = np.random.default_rng(0).random((3, 5))
    mean = rule_from(values).published.columns[0]
    assert (mean.smooth, mean.relative, mean.measure.direction) == (True, False, Direction.HIGHER)
    median = rule_from(values, AggregateThenRank("median")).published.columns[0]
    assert (median.smooth, median.relative) == (False, False)
    ranks = rule_from(values, RankThenAggregate()).published.columns[0]
    assert (ranks.smooth, ranks.relative, ranks.measure.direction) == (True, True, Direction.LOWER)
    wins = rule_from(values, TestThenRank()).published.columns[0]
    assert (wins.smooth, wins.relative, wins.measure.direction) == (False, True, Direction.HIGHER)


def test_the_price_of_a_failure_makes_nobody_else_equal(table_from):
    values = np.array([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.1, np.nan, 0.2]])
    table = table_from(values, better="lower", missing=1e12)
    assert scheme_rule(table, AggregateThenRank()).published.places.tolist() == [[1, 2, 3]]


def test_the_scale_of_a_median_is_that_of_its_neighbours(rule_from):
    """The median is 0 on paper, as −0.6 and 3 · 0.2 lie around it, but not in binary numbers."""
    values = np.array([[-0.6, 3 * 0.2, 5.0, -5.0], [0.0, 0.0, 5.0, -5.0], [1e-9, 1e-9, 5.0, -5.0]])
    column = rule_from(values, AggregateThenRank("median")).published.columns[0]
    assert column.values[0, 0] != 0
    assert column.scales[0].tolist() == pytest.approx([0.6, 0.0, 1e-9])
    assert rule_from(values, AggregateThenRank("median")).published.places.tolist() == [[2, 2, 1]]


# A consensus over tasks, with ties

TIED = {
    "t1": np.array([[0.9], [0.9], [0.1]]),
    "t2": np.array([[0.8], [0.8], [0.2]]),
    "t3": np.array([[0.9], [0.5], [0.5]]),
    "t4": np.array([[0.6], [0.7], [0.1]]),
}
"""Ranks of the first: 1 1 1 2, of the second: 1 1 2 1; it ties in three tasks, the first in two."""


def test_equals_share_the_better_rank_or_the_mean_of_their_ranks(table_from):
    """(1 + 1 + 1 + 2)/4 twice; or (1.5 + 1.5 + 1 + 2)/4 = 1.5 against (1.5 + 1.5 + 2.5 + 1)/4 = 1.625."""
    table = table_from(TIED)
    best = scheme_rule(table, AggregateThenRank())
    assert best.published.column("average_rank").values.tolist() == [[1.25, 1.25, 2.75]]
    assert best.published.places.tolist() == [[1, 1, 3]]
    assert best.edition == "mean then rank"
    assert "equals in a task share the better rank" in best.notes[-1]
    mean = scheme_rule(table, AggregateThenRank(), consensus="average")
    assert mean.published.column("average_rank").values.tolist() == [[1.5, 1.625, 2.875]]
    assert mean.published.places.tolist() == [[1, 2, 3]]
    assert mean.published.column("t3_rank").values.tolist() == [[1, 2.5, 2.5]]
    assert mean.published.column("t3_rank").measure.shown(2.5) == "2.5"
    assert mean.edition == "mean then rank, consensus of average ranks"
    assert "share the mean of their ranks" in mean.notes[-1]


def test_places_are_competition_ranks_in_every_consensus(table_from):
    table = table_from({"a": np.array([[0.9], [0.8], [0.1]]), "b": np.array([[0.8], [0.9], [0.1]])})
    for consensus in ("minimum", "average"):
        assert scheme_rule(table, AggregateThenRank(), consensus=consensus).published.places.tolist() == [[1, 1, 3]]


def test_a_consensus_of_one_task_is_its_ranking(table_from):
    table = table_from(np.array([[0.9], [0.9], [0.1]]))
    rule = scheme_rule(table, AggregateThenRank(), consensus="average")
    assert rule.published.places.tolist() == [[1, 1, 3]]
    assert (rule.edition, rule.notes) == ("mean then rank", ())
    one_left = scheme_rule(
        table_from(TIED), AggregateThenRank(), consensus="average", emphasis=dict.fromkeys(TIED, 0) | {"t3": 1}
    )
    assert one_left.published.places.tolist() == [[1, 2, 2]]


def test_unknown_names_are_refused(table_from):
    with pytest.raises(InputError, match=r"no consensus 'maximum'.*There are: minimum, average"):
        scheme_rule(table_from(TIED), AggregateThenRank(), consensus="maximum")
    with pytest.raises(InputError, match=r"no way to tell differences 'binary'.*There are: paper, raw"):
        scheme_named("test-then-rank", differences="binary")
    assert scheme_named("test-then-rank", differences="raw") == TestThenRank(differences="raw")
    assert TestThenRank("holm", differences="raw").name == "test then rank, holm, raw differences"


# Tests of clusters


def test_one_row_per_cluster_is_the_plain_test(table_from):
    random = np.random.default_rng(7)
    values = np.round(random.random((4, 20)) + 0.1 * np.arange(4)[:, None], 1)
    plain = scheme_rule(table_from(values), TestThenRank("holm"))
    named = scheme_rule(table_from(values, cluster=[f"p{k}" for k in range(20)]), TestThenRank("holm"))
    counts = plain.units.draw(1, 0)[:30]
    np.testing.assert_array_equal(plain.score(counts).columns[0].values, named.score(counts).columns[0].values)
    assert not any("clusters" in note for note in named.notes)


def test_clusters_are_tested_by_their_means(rule_from):
    """Eight patients, each with a slide or a few: the ranking is that of a table of their means, in resamples too."""
    random = np.random.default_rng(3)
    patients = np.repeat(np.arange(8), [1, 5, 2, 1, 3, 4, 2, 1])
    values = np.round(random.random((4, len(patients))) + 0.15 * np.arange(4)[:, None], 2)
    means = np.stack([values[:, patients == patient].mean(axis=1) for patient in range(8)], axis=1)
    for scheme in (TestThenRank(), TestThenRank("holm", 0.2)):
        rule = rule_from(values, scheme, cluster=[f"p{patient}" for patient in patients])
        alone = rule_from(means, scheme)
        assert rule.units.names == tuple(f"p{patient}" for patient in range(8))
        counts = np.concatenate([np.ones((1, 8)), alone.units.draw(1, 0)[:40]])
        found = rule.score(rule.units.weights(counts)).columns[0].values
        np.testing.assert_array_equal(found, alone.score(counts).columns[0].values)
        assert len(np.unique(found, axis=0)) > 3
        assert "the means of 8 clusters" in rule.notes[-1]


def test_patients_are_compared_within_each_task(rule_from):
    """A patient that a task knows nothing of counts nothing in it."""
    random = np.random.default_rng(4)
    tasks = {"a": random.random((2, 12)), "b": random.random((2, 12))}
    rule = rule_from(tasks, TestThenRank(alpha=0.3), cluster=[f"p{case // 2}" for case in range(12)])
    assert len(rule.units.names) == 6
    counts = rule.units.draw(5, 0)[:30]
    scores = rule.score(rule.units.weights(counts))
    for name, values in tasks.items():
        alone = rule_from(values, TestThenRank(alpha=0.3), cluster=[f"p{case // 2}" for case in range(12)])
        np.testing.assert_array_equal(
            scores.column(name).values, alone.score(alone.units.weights(counts)).columns[0].values
        )


def false_share(cluster_level, *, patients, runs, seed):
    """Return how often one of two equal teams is "better", where images of a patient differ alike."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 13, (runs, patients))
    better = 0
    for of_patients in sizes:
        owner = np.repeat(np.arange(patients), of_patients)
        values = random.normal(0, 1, (2, patients))[:, owner] + random.normal(0, 1, (2, len(owner)))
        names = tuple(f"{k}" for k in (owner if cluster_level else range(len(owner))))
        measure = Measure("", "Value", Direction.HIGHER)
        task = TaskValues(measure, np.ones(len(owner), bool), values, np.zeros(values.shape, bool))
        rows = tuple(str(row) for row in range(len(owner)))
        table = ScoreTable("simulated", ("one", "two"), rows, units_of(names), (task,))
        better += int(scheme_rule(table, TestThenRank()).published.columns[0].values[0, 0])
    return better / runs


def test_patients_keep_the_level_and_images_do_not():
    """5 % of equal pairs are found better, one-sided; image by image three times as many and more."""
    for patients in (8, 15):
        assert false_share(True, patients=patients, runs=500, seed=patients) <= 0.07
        assert false_share(False, patients=patients, runs=500, seed=patients) > 0.15


@pytest.mark.heavy
@pytest.mark.parametrize("patients", [8, 10, 15, 30, 60])
def test_patients_keep_the_level(patients):
    assert false_share(True, patients=patients, runs=4000, seed=patients) <= 0.06
