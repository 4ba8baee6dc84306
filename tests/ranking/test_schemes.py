"""General schemes by hand, and under weights against a plain implementation on rows written out."""

import numpy as np
import pytest
from scipy import stats

from podium.model import Direction, InputError
from podium.ranking import AggregateThenRank, RankThenAggregate, TestThenRank, scheme_named, scheme_rule
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
