"""Do intervals keep their promise? Seeded simulations; the long ones have 2,000 rounds and more."""

import re

import numpy as np
import pytest

from podium.model import Direction, Measure
from podium.ranking import COVERAGE, AggregateThenRank, ScoreTable, TaskValues, mean_intervals, scheme_rule, units_of
from podium.ranking.inference.confidence import assess_confidence
from podium.ranking.inference.stability import assess_stability

CASES = 50
POPULATIONS = {
    "exponential": (lambda random, shape: random.exponential(1.0, shape), 1.0),
    "lognormal": (lambda random, shape: random.lognormal(0.0, 1.0, shape), np.exp(0.5)),
    "normal": (lambda random, shape: random.normal(0.0, 1.0, shape), 0.0),
}
EVERY_ROUND = 100
"""How many rounds share their resamples, which is faster and changes little."""


def coverage_of_means(population, *, rounds, method="bootstrap-t", cases=CASES, **options):
    draw, mean = POPULATIONS[population]
    covered = 0
    for part in range(rounds // EVERY_ROUND):
        values = draw(np.random.default_rng([20, part]), (EVERY_ROUND, cases))
        found = mean_intervals(values, method=method, seed=part, **options)
        covered += int(np.sum((found.low <= mean) & (mean <= found.high)))
    return covered / rounds


@pytest.mark.parametrize("population", ["exponential", "lognormal"])
def test_means_in_short(population):
    """Of 300 rounds at 93 to 97 %, give or take three standard errors."""
    assert 0.89 <= coverage_of_means(population, rounds=300) <= 0.99


@pytest.mark.heavy
@pytest.mark.parametrize("population", ["exponential", "lognormal", "normal"])
def test_bootstrap_t_covers_93_to_97_percent(population):
    assert 0.93 <= coverage_of_means(population, rounds=2000) <= 0.97


@pytest.mark.heavy
@pytest.mark.parametrize("method", COVERAGE)
@pytest.mark.parametrize("population", ["exponential", "lognormal"])
def test_what_methods_say_of_themselves(population, method):
    """6,000 rounds have a standard error of at most 0.4 %; three of them, and half a percent of rounding."""
    promise, exponential, lognormal, cases = (int(number) for number in re.findall(r"\d+", COVERAGE[method]))
    assert (promise, cases) == (95, CASES)
    said = {"exponential": exponential, "lognormal": lognormal}[population] / 100
    assert coverage_of_means(population, rounds=6000, method=method) == pytest.approx(said, abs=0.017)


@pytest.mark.heavy
def test_clusters_and_strata_are_covered():
    """Twenty-five clusters of two to six cases, alike within; the true mean is 0 whatever the sizes."""
    random = np.random.default_rng(4)
    sizes = random.integers(2, 7, 25)
    clusters = np.repeat(np.arange(25), sizes)
    covered = alone = 0
    for part in range(20):
        values = random.normal(size=(100, 25))[:, clusters] + random.normal(size=(100, len(clusters)))
        found = mean_intervals(values, clusters=[str(cluster) for cluster in clusters], seed=part)
        covered += int(np.sum((found.low <= 0) & (found.high >= 0)))
        naive = mean_intervals(values, seed=part)
        alone += int(np.sum((naive.low <= 0) & (naive.high >= 0)))
    assert 0.93 <= covered / 2000 <= 0.975
    assert alone / 2000 < 0.8  # to take rows of a cluster for independent is wrong


# Ranks


def rule_of(values, *, clusters=None, scheme=None):
    """Return a rule of an array (submissions, cases), or of one for each task; without the detour over tables."""
    tasks = values if isinstance(values, dict) else {"": values}
    joined = np.concatenate(list(tasks.values()), axis=1)
    strata = [name for name, own in tasks.items() for _ in range(own.shape[1])]
    rows = tuple(str(row) for row in range(joined.shape[1]))
    parts = []
    for name in tasks:
        own = np.array(strata) == name
        nothing = np.zeros(joined.shape, bool)
        measure = Measure(name, "Value", Direction.HIGHER)
        parts.append(TaskValues(measure, own, np.where(own, joined, np.nan), nothing))
    names = tuple(f"T{team:02d}" for team in range(len(joined)))
    table = ScoreTable("simulated", names, rows, units_of(clusters or rows, strata), tuple(parts))
    return scheme_rule(table, scheme or AggregateThenRank())


def coverage_of_ranks(draw, truth, *, rounds, replicates=1000, **options):
    """Return how often all rank intervals hold the true ranks at once; truth is the span of places of each."""
    covered = 0
    for number in range(rounds):
        rule = rule_of(draw(np.random.default_rng([21, number])), **options)
        ranks = assess_confidence(rule, replicates=replicates, seed=number, jobs=1).ranks
        covered += all(
            rank.best <= best and worst <= rank.worst for rank, (best, worst) in zip(ranks, truth, strict=True)
        )
    return covered / rounds


EQUAL = [(1, 10)] * 10
"""Among equals every place is a true one."""


def equal_teams(random):
    return random.normal(size=(10, CASES)) + random.normal(size=(1, CASES))  # some cases are harder for all


def skewed_teams(random):
    return random.exponential(size=(10, CASES))


def failing_teams(random):
    return random.beta(8, 2, (10, CASES)) * (random.random((10, CASES)) < 0.9)


def teams_with_a_near_copy(random):
    values = random.normal(size=(10, CASES))
    values[9, 3:] = values[8, 3:]
    return values


def binary_teams(random):
    return (random.random((10, CASES)) < 0.9).astype(float)


MEANS = np.array([0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
TRUTH = [(1 + int(np.sum(mean < MEANS)), 10 - int(np.sum(mean > MEANS))) for mean in MEANS]


def distinct_teams(random):
    return random.normal(size=(10, CASES)) + MEANS[:, None]


def three_tasks(random):
    return {task: random.normal(size=(10, 30)) for task in "abc"}


def at_least(level, rounds):
    return level - 3 * np.sqrt(level * (1 - level) / rounds)


@pytest.mark.parametrize(("draw", "truth"), [(equal_teams, EQUAL), (distinct_teams, TRUTH)])
def test_ranks_in_short(draw, truth):
    assert coverage_of_ranks(draw, truth, rounds=60, replicates=500) >= at_least(0.95, 60)


@pytest.mark.heavy
@pytest.mark.parametrize(("draw", "truth"), [(equal_teams, EQUAL), (distinct_teams, TRUTH)])
def test_rank_intervals_cover(draw, truth):
    assert coverage_of_ranks(draw, truth, rounds=2000) >= at_least(0.95, 2000)


@pytest.mark.heavy
@pytest.mark.parametrize("draw", [skewed_teams, failing_teams, teams_with_a_near_copy, binary_teams])
def test_rank_intervals_cover_other_equals(draw):
    assert coverage_of_ranks(draw, EQUAL, rounds=600) >= at_least(0.95, 600)


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", [AggregateThenRank("mean"), AggregateThenRank("median")], ids=lambda s: s.name)
def test_rank_intervals_of_a_consensus_cover(scheme):
    assert coverage_of_ranks(three_tasks, EQUAL, rounds=300, scheme=scheme) >= at_least(0.95, 300)


@pytest.mark.heavy
def test_nobody_is_certain_in_many_criteria_at_once():
    """The chance of one false finding is held over all tasks together, also where tests decide."""
    found = 0
    for number in range(150):
        random = np.random.default_rng([22, number])
        tasks = {str(task): random.normal(size=(3, 30)) for task in range(12)}
        sure = assess_confidence(rule_of(tasks, scheme=AggregateThenRank("median")), replicates=500, seed=number)
        found += any(pair.better.any() for pair in sure.pairs)
    assert found / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def naive_coverage(*, rounds, replicates=1000):
    """Return how often 2.5 to 97.5 % of a team's places hold 1, the true place of everybody among equals."""
    covered = []
    for number in range(rounds):
        found = assess_stability(rule_of(equal_teams(np.random.default_rng([23, number]))), replicates=replicates)
        covered.append(np.mean((found.quantile(0.025) <= 1) & (found.quantile(0.975) >= 1)))
    return float(np.mean(covered))


def test_the_spread_of_places_is_no_confidence_interval():
    """It covers little more than half, where rank intervals cover 95 % for all ten teams at once."""
    assert 0.45 < naive_coverage(rounds=60) < 0.7


@pytest.mark.heavy
def test_the_spread_of_places_covers_54_to_61_percent():
    assert 0.54 < naive_coverage(rounds=1000) < 0.61
