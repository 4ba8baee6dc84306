"""What must not change a ranking: the unit of the values, names and order, and whoever else takes part.

Every law is shown to fail for a rule with a planted fault.
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from podium.challenges import challenges
from podium.model import Direction, Role
from podium.ranking import (
    AggregateThenRank,
    RankThenAggregate,
    TestThenRank,
    challenge_rule,
    cube_of,
    scheme_rule,
    table_of_scores,
)
from podium.ranking.inference.confidence import assess_confidence
from podium.ranking.inference.stability import assess_stability

pytestmark = pytest.mark.slow

AGGREGATES = [AggregateThenRank("mean"), AggregateThenRank("median"), AggregateThenRank(0.1)]
OTHERS = [RankThenAggregate("mean"), RankThenAggregate("median"), TestThenRank("none"), TestThenRank("holm", 0.2)]
FACTORS = [10.0**k for k in range(-12, 13)] + [3.0, 1 / 7, 0.3]
SEEDS = range(6)


def numbers(seed, *, teams=6, cases=12):
    """Return values with one decimal, many of them equal; two teams have equal means, and two are copies."""
    random = np.random.default_rng(seed)
    values = random.integers(20, 90, (teams, cases)) + 2 * np.arange(teams)[:, None]
    values[1] = random.permutation(values[0])
    values[3] = values[2]
    return values / 10


def places(values, scheme, *, better="higher", names=None, order=None, **columns):
    """Return the place of every row of an array, teams being called and listed as one likes."""
    names = names or [f"T{team}" for team in range(len(values))]
    rows = [
        (name, f"c{case}", value, *(of_case[case] for of_case in columns.values()))
        for name, own in zip(names, values.tolist(), strict=True)
        for case, value in enumerate(own)
    ]
    frame = pl.DataFrame(rows, schema=["submission", "case", "value", *columns], orient="row")
    if order is not None:
        frame = frame[order.permutation(len(frame))]
    rule = scheme_rule(table_of_scores(frame, better=better), scheme)
    own = dict(zip(rule.submissions, rule.published.places[0].tolist(), strict=True))
    return [own[name] for name in names]


def orders(ranks):
    """Return who is before whom, and who shares a place."""
    ranks = np.asarray(ranks)
    return np.sign(ranks[:, None] - ranks[None, :]).tolist()


# Laws: each takes a scheme, a direction and values, and says what broke.


def no_unit_matters(scheme, better, values):
    before = places(values, scheme, better=better)
    for factor in FACTORS:
        assert places(values * factor, scheme, better=better) == before, f"times {factor:g}"


def no_constant_matters(scheme, better, values):
    before = places(values, scheme, better=better)
    for constant in (values.mean(), -values.mean(), 3.3 * values.mean(), -values.min()):
        assert places(values + constant, scheme, better=better) == before, f"plus {constant:g}"


def nobody_else_matters(scheme, better, values):
    before = orders(places(values, scheme, better=better))
    sign = 1 if better == "lower" else -1
    cases = values.shape[1]
    one_case, first_case = (np.where(np.arange(cases) == 0, x, values[0]) for x in (1e15, -1e15))
    more = {
        "a hopeless team": sign * (np.abs(values).max() + 1 + np.arange(cases)),
        "an absurd team": np.full(cases, 1e15),
        "one that is absurd the other way": np.full(cases, -1e15),
        "one absurd value": one_case,
        "one absurd value, the other way": first_case,
        "a copy of the second": values[1],
    }
    for what, own in more.items():
        after = places(np.concatenate([values, own[None]]), scheme, better=better)
        assert orders(after[:-1]) == before, what


def no_name_matters(scheme, better, values):
    before = places(values, scheme, better=better)
    random = np.random.default_rng(0)
    for _ in range(4):
        names = [f"{letter} {k}" for k, letter in enumerate(random.permutation(list("uvwxyz"))[: len(values)])]
        assert places(values, scheme, better=better, names=names) == before, "other names"
        assert places(values, scheme, better=better, order=random) == before, "another order of lines"
        assert places(values[:, random.permutation(values.shape[1])], scheme, better=better) == before, "other cases"


LAWS = {
    no_unit_matters: AGGREGATES + OTHERS,
    no_name_matters: AGGREGATES + OTHERS,
    no_constant_matters: AGGREGATES,
    nobody_else_matters: AGGREGATES,
}
CASES = [(law, scheme) for law, schemes in LAWS.items() for scheme in schemes]


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize(("law", "scheme"), CASES, ids=[f"{law.__name__}, {scheme.name}" for law, scheme in CASES])
def test_laws_of_schemes(law, scheme, better):
    for seed in SEEDS:
        law(scheme, better, numbers(seed))


@pytest.mark.parametrize("scheme", [TestThenRank("none"), TestThenRank("holm", 0.2)], ids=lambda scheme: scheme.name)
def test_no_unit_matters_where_patients_are_tested(scheme):
    for seed in SEEDS:
        values = numbers(seed, cases=40)
        patients = [f"p{case % 9}" for case in range(40)]
        before = places(values, scheme, cluster=patients)
        assert all(places(values * factor, scheme, cluster=patients) == before for factor in FACTORS)


# Rules with a planted fault


def rounded_by_the_largest(values, digits=12):
    """Round a list to 12 digits of its largest magnitude: the earlier rule."""
    largest = np.max(np.abs(values), axis=-1, keepdims=True)
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.where(largest > 0, largest, 1.0))))
    return np.rint(values * scale) / scale


class RoundedList(AggregateThenRank):
    """Takes the scale of the list's largest magnitude."""

    def prepared(self, task, units):
        """Round the means together."""
        aggregated = super().prepared(task, units)

        def rounded(weights):
            column = aggregated(weights)
            return replace(column, values=rounded_by_the_largest(column.values))

        return rounded


class Unrounded(AggregateThenRank):
    """Takes every last digit for a difference."""

    def prepared(self, task, units):
        """Forget what the means are made of."""
        aggregated = super().prepared(task, units)
        return lambda weights: replace(aggregated(weights), scales=np.zeros((len(weights), len(task.values))))


class AboveZero(AggregateThenRank):
    """Lets everybody below zero share a place."""

    def prepared(self, task, units):
        """Cut off what is negative."""
        aggregated = super().prepared(task, units)
        return lambda weights: replace(aggregated(weights), values=np.maximum(aggregated(weights).values, 0.0))


class EarlyBird(AggregateThenRank):
    """Prefers whoever comes first in the alphabet among equals."""

    def prepared(self, task, units):
        """Add a little to each but the first."""
        aggregated = super().prepared(task, units)
        little = 1e-9 * np.arange(len(task.values))
        return lambda weights: replace(aggregated(weights), values=aggregated(weights).values - little)


@pytest.mark.parametrize(
    ("law", "fault", "message"),
    [
        (nobody_else_matters, RoundedList(), "absurd"),
        (no_unit_matters, Unrounded(), "times"),
        (no_unit_matters, TestThenRank(differences="raw"), "times"),
        (no_constant_matters, AboveZero(), "plus"),
        (no_name_matters, EarlyBird(), "other names"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_planted_fault_breaks_its_law(law, fault, message):
    broken = []
    for seed in range(200):
        try:
            law(fault, "higher", numbers(seed))
        except AssertionError as error:
            broken.append(str(error))
            break
    assert broken
    assert message in broken[0]


# From 1e-300 to 1e300


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("scheme", AGGREGATES + OTHERS, ids=lambda scheme: scheme.name)
def test_no_magnitude_overflows_or_vanishes(rule_from, scheme, better):
    values = numbers(1)
    values[5] -= 7.5  # of both signs
    usual = rule_from(values, scheme, better=better)
    drawn, sure = assess_stability(usual, replicates=40), assess_confidence(usual, replicates=100)
    for factor in (1e-300, 1e-200, 1e200, 1e299):
        rule = rule_from(values * factor, scheme, better=better)
        assert rule.published.places.tolist() == usual.published.places.tolist()
        np.testing.assert_array_equal(assess_stability(rule, replicates=40).places, drawn.places)
        found = assess_confidence(rule, replicates=100)
        assert found.ranks == sure.ranks
        for pairs, others in zip(found.pairs, sure.pairs, strict=True):
            np.testing.assert_array_equal(pairs.better, others.better)
            np.testing.assert_allclose(pairs.p, others.p)
        scale = 1.0 if rule.published.columns[0].relative else factor
        for name, intervals in found.columns.items():
            for end, other in zip(intervals, sure.columns[name], strict=True):
                np.testing.assert_allclose(end / scale, other, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["bootstrap-t", "percentile", "bca"])
@pytest.mark.parametrize("scheme", AGGREGATES + OTHERS, ids=lambda scheme: scheme.name)
def test_tiny_and_huge_values_in_one_table(rule_from, scheme, method):
    values = numbers(2)
    values *= 10.0 ** np.array([[-300], [-300], [0], [0], [200], [300]])
    values[2, 3], values[3, 4] = 1e300, -1e300
    rule = rule_from(values, scheme)
    assert np.isfinite(rule.published.places).all()
    assert np.isfinite(assess_stability(rule, replicates=40).places).all()
    assert len(assess_confidence(rule, replicates=100, method=method).ranks) == 6
    if scheme == AggregateThenRank("mean"):
        assert rule.published.places.tolist() == [[4, 4, 2, 6, 3, 1]]


# Challenges

EVERY_CHALLENGE = pytest.mark.parametrize(
    ("name", "edition"), [(name, edition) for name in sorted(challenges()) for edition in ("document", "code")]
)


def board(run, table, roles):
    """Return place and values of every submission."""
    rule = challenge_rule(run.challenge, cube_of(run.challenge, table), roles=roles)
    return {entry.submission: (entry.place, dict(entry.values)) for entry in rule.leaderboard().entries}


@EVERY_CHALLENGE
def test_names_and_order_matter_in_no_challenge(run_of, name, edition):
    run = run_of(name, edition=edition)
    before = board(run, run.table, run.roles)
    other = dict(zip(sorted(before), ["zeta", "ypsilon", "xi", "omega", "a base"], strict=True))
    random = np.random.default_rng(1)
    table = run.table.with_columns(pl.col("submission").replace_strict(other))[random.permutation(len(run.table))]
    after = board(run, table, {other[submission]: role for submission, role in run.roles.items()})
    assert {other[submission]: entry for submission, entry in before.items()} == after


def outsiders(run):
    """Return measurements and roles with more who are not ranked: baselines, and who failed everywhere."""
    best, worst = (run.table.filter(pl.col("submission") == name) for name in ("delta", "alpha"))
    mine = [
        best.with_columns(submission=pl.lit("aaa reference")),
        worst.with_columns(submission=pl.lit("zzz baseline"), value=pl.col("value") / 2),
        best.with_columns(
            submission=pl.lit("nothing"),
            value=pl.when(pl.col("metric").is_in(["seconds", "frames"])).then(pl.col("value") / 100),
            status=pl.when(pl.col("metric") == "seconds").then(pl.col("status")).otherwise(pl.lit("missing")),
        ),
    ]
    roles = run.roles | {"aaa reference": Role.REFERENCE, "zzz baseline": Role.BASELINE}
    return pl.concat([run.table, *mine]), roles


@EVERY_CHALLENGE
def test_who_is_not_ranked_matters_in_no_challenge(run_of, name, edition):
    run = run_of(name, edition=edition)
    before = board(run, run.table, run.roles)
    after = board(run, *outsiders(run))
    assert [after[name][0] for name in ("aaa reference", "zzz baseline", "nothing")] == [None] * 3
    assert {name: after[name] for name in before} == before


def test_a_challenge_that_ranks_everybody_is_noticed(run_of):
    run = run_of("kits21")

    class Open(type(run.challenge)):
        def score(self, cube, weights, ranked):
            return super().score(cube, weights, [True] * len(ranked))

    run = run._replace(challenge=Open())
    before, after = board(run, run.table, run.roles), board(run, *outsiders(run))
    assert {name: after[name] for name in before} != before


def test_directions_are_those_of_the_values(rule_from):
    """The laws would hold for a ranking upside down."""
    assert rule_from(np.array([[1.0, 2.0], [3.0, 4.0]])).published.places.tolist() == [[2, 1]]
    assert rule_from(np.array([[1.0, 2.0], [3.0, 4.0]]), better="lower").published.places.tolist() == [[1, 2]]
    assert rule_from(np.zeros((1, 1))).published.columns[0].measure.direction is Direction.HIGHER
