"""Simulated challenges whose truth is known, ranked by Podium: what the page about uncertainty shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

import podium
from podium.model import Floats
from podium.ranking import mean_intervals
from podium.ranking.inference.bounded import guaranteed_intervals
from podium.ranking.inference.confidence import Confidence, assess_confidence
from podium.ranking.inference.stability import assess_stability

TEAMS = ("Alder", "Birch", "Cedar", "Elm", "Fir")
TRUE_DICE = np.array([0.850, 0.845, 0.840, 0.835, 0.830])
"""What each team would reach over all cases of the kind."""
DIFFICULTY, OWN = 0.07, 0.06
"""By how much at most a case is easier or harder for everybody, and by how much a team does better or worse in it."""
CASES = 30
SHOWN, CHALLENGES = 10, 1000
"""Challenges that are shown, and those that are counted."""
SIZES = (10, 30, 100, 300)
ROUNDS, COUNTED_RESAMPLES = 60, 500
"""Challenges of each size that are counted, and resamples of each."""
NEARLY_EQUAL_TEAMS, NEARLY_EQUAL_GAP, NEARLY_EQUAL_ROUNDS = 10, 1e-6, 150
"""Teams that hardly differ, by how much, and challenges that are counted."""
SAMPLES, RESAMPLES = 2000, 1000
"""Of each population and size, to count how often intervals cover."""
COVERAGE_SIZES = (10, 20, 50, 100, 200)
FAILURES = 0.02
"""The share of cases in which an algorithm fails, with a Dice of 0."""
PATIENTS, IMAGES = 12, 10
"""Of each patient there are so many images."""
PATIENT_SPREAD = IMAGE_SPREAD = 0.02
"""How differences of two teams vary from patient to patient, and from image to image of one."""


def draw_dice(random: np.random.Generator, cases: int, true: Floats = TRUE_DICE) -> Floats:
    """Return a Dice for each team and case, shape (teams, cases): truth, the case's difficulty, and the team's luck."""
    difficulty = random.uniform(-DIFFICULTY, DIFFICULTY, (1, cases))
    own = random.uniform(-OWN, OWN, (len(true), cases))
    return np.asarray(true[:, None] + difficulty + own)


def table_of(values: Floats, *, teams: Sequence[str] = TEAMS, patients: Sequence[str] | None = None) -> pl.DataFrame:
    """Return values of shape (teams, cases) as a table that `podium.rank` takes."""
    count = values.shape[1]
    columns = {
        "submission": np.repeat(teams, count),
        "case": np.tile([f"case {case:04d}" for case in range(count)], len(teams)),
        "value": values.ravel(),
    }
    if patients is not None:
        columns["patient"] = np.tile(patients, len(teams))
    return pl.DataFrame(columns)


def ranked(values: Floats, *, teams: Sequence[str] = TEAMS, bootstrap: int = 1000) -> podium.Ranking:
    """Rank simulated Dice by their means."""
    return podium.rank(table_of(values, teams=teams), better="higher", bootstrap=bootstrap)


def places_of(ranking: podium.Ranking) -> list[int]:
    """Return the places in the order of the teams."""
    return [ranking.places[name] or 0 for name in ranking.rule.submissions]


# The same teams, other cases


@dataclass(frozen=True)
class Repeated:
    """Challenges of the same teams, each with cases of its own.

    Attributes
    ----------
    places
        In those that are shown, shape (challenges, teams).
    wins
        The share of all challenges that each team wins.
    in_order
        The share in which the whole board is in the true order.
    """

    places: list[list[int]]
    wins: Floats
    in_order: float


def repeat_challenge(seed: int = 11) -> Repeated:
    """Draw the same challenge again and again; each is ranked by giving weight one to its cases, and to no others."""
    values = draw_dice(np.random.default_rng(seed), CHALLENGES * CASES)
    own_cases = np.repeat(np.eye(100), CASES, axis=1)
    places = []
    for start in range(0, CHALLENGES, 100):
        block = values[:, start * CASES : (start + 100) * CASES]
        places.append(ranked(block).rule.places(own_cases))
    everything = np.concatenate(places)
    shown = [places_of(ranked(values[:, n * CASES : (n + 1) * CASES])) for n in range(SHOWN)]
    return Repeated(
        shown,
        np.asarray(np.mean(everything == 1, axis=0)),
        float(np.mean((everything == np.arange(1, len(TEAMS) + 1)).all(axis=1))),
    )


def first_challenge(seed: int = 11) -> podium.Ranking:
    """Return the first of these challenges, ranked."""
    return ranked(draw_dice(np.random.default_rng(seed), CHALLENGES * CASES)[:, :CASES])


# Cases drawn anew


@dataclass(frozen=True)
class Resampled:
    """Some resamples of a ranking: how often each case was drawn, and the places that follow."""

    counts: Floats
    places: Floats


def resample(ranking: podium.Ranking, count: int) -> Resampled:
    """Return the first resamples that the ranking's stability rests on."""
    units = ranking.rule.units
    counts = units.draw(ranking.seed, 0)[:count]
    return Resampled(counts, ranking.rule.places(units.weights(counts)))


# Places that teams may truly have


@dataclass(frozen=True)
class Sized:
    """Challenges of one size.

    Attributes
    ----------
    board, intervals
        Of the one that is shown: places, and from where to where each may truly be.
    width
        How many places an interval holds, on average over all challenges and teams.
    winner
        The share of challenges in which it is certain who is first.
    right
        The share in which all intervals hold the true places.
    """

    board: list[int]
    intervals: list[tuple[int, int]]
    width: float
    winner: float
    right: float


def sized_challenges(seed: int = 13) -> dict[int, Sized]:
    """Rank challenges of several sizes; those that are shown are parts of one another."""
    random = np.random.default_rng(seed)
    shown = draw_dice(random, max(SIZES))
    results = {}
    for size in SIZES:
        ranking = ranked(shown[:, :size])
        ends = np.array([_rank_intervals(_counted(draw_dice(random, size))) for _ in range(ROUNDS)])
        results[size] = Sized(
            places_of(ranking),
            _rank_intervals(ranking.confidence),
            float(np.mean(ends[..., 1] - ends[..., 0] + 1)),
            float(np.mean((ends[..., 1] == 1).any(axis=1))),
            _all_held(ends),
        )
    return results


def _counted(values: Floats) -> Confidence:
    """Return intervals of a challenge that is only counted: from fewer resamples, which is quick."""
    return assess_confidence(ranked(values).rule, replicates=COUNTED_RESAMPLES, jobs=1)


def _rank_intervals(confidence: Confidence) -> list[tuple[int, int]]:
    return [(own.best, own.worst) for own in confidence.ranks]


def _all_held(ends: Floats) -> float:
    """Return how often ends of shape (challenges, teams, 2) enclose the true places of all teams."""
    true = np.arange(1, ends.shape[1] + 1)
    return float(np.mean(((ends[..., 0] <= true) & (true <= ends[..., 1])).all(axis=1)))


@dataclass(frozen=True)
class NearlyEqual:
    """Teams that hardly differ: how often the true places of all of them are held.

    Attributes
    ----------
    by_resamples
        By the middle 95 % of each team's places in resamples.
    by_intervals
        By rank intervals.
    """

    by_resamples: float
    by_intervals: float


def nearly_equal(seed: int = 23) -> NearlyEqual:
    """Rank challenges in which chance alone decides."""
    random = np.random.default_rng(seed)
    teams = tuple(f"team {number:02d}" for number in range(NEARLY_EQUAL_TEAMS))
    true = TRUE_DICE[0] - NEARLY_EQUAL_GAP * np.arange(NEARLY_EQUAL_TEAMS)
    resampled, intervals = [], []
    for _ in range(NEARLY_EQUAL_ROUNDS):
        rule = ranked(draw_dice(random, CASES, true), teams=teams).rule
        stability = assess_stability(rule, replicates=COUNTED_RESAMPLES, jobs=1)
        resampled.append(np.stack([stability.quantile(share) for share in (0.025, 0.975)], axis=1))
        intervals.append(_rank_intervals(assess_confidence(rule, replicates=COUNTED_RESAMPLES, jobs=1)))
    return NearlyEqual(_all_held(np.array(resampled)), _all_held(np.array(intervals)))


# Intervals of means


def coverage() -> dict[str, dict[str, list[float]]]:
    """Return how often 95 % intervals hold the true mean: by population, method, and number of cases."""
    random = np.random.default_rng(17)
    skewed: dict[str, list[float]] = {"percentile": [], "bootstrap-t": []}
    failing: dict[str, list[float]] = {"percentile": [], "bootstrap-t": [], "guaranteed": []}
    for cases in COVERAGE_SIZES:
        distances = random.lognormal(0, 1, (SAMPLES, cases))
        dice = random.beta(18, 2, (SAMPLES, cases)) * (random.random((SAMPLES, cases)) >= FAILURES)
        for method in ("percentile", "bootstrap-t"):
            skewed[method].append(_covered(mean_intervals(distances, method=method, replicates=RESAMPLES), np.exp(0.5)))
            failing[method].append(_covered(mean_intervals(dice, method=method, replicates=RESAMPLES), _true_dice()))
        failing["guaranteed"].append(_covered(guaranteed_intervals(dice, lowest=0, highest=1), _true_dice()))
    return {"skewed": skewed, "failing": failing}


def _true_dice() -> float:
    return (1 - FAILURES) * 18 / 20


def _covered(intervals: tuple[Floats, Floats, Floats], truth: float) -> float:
    _, low, high = intervals
    return float(np.mean((low <= truth) & (truth <= high)))


# Which comes first, the mean or the rank


HAND = {
    "Alder": (0.82, 0.80, 0.84, 0.81, 0.83),
    "Birch": (0.85, 0.83, 0.87, 0.84, 0.21),
    "Cedar": (0.78, 0.77, 0.79, 0.76, 0.75),
}
"""Five cases, small enough to be computed by hand."""


def hand_example() -> Mapping[str, podium.Ranking]:
    """Rank five cases by two schemes."""
    table = table_of(np.array(list(HAND.values())), teams=tuple(HAND))
    schemes = ("aggregate-then-rank", "rank-then-aggregate")
    return {scheme: podium.rank(table, better="higher", scheme=scheme, bootstrap=0) for scheme in schemes}


# Several images of a patient


@dataclass(frozen=True)
class Clustered:
    """Two teams that are equal, compared in several images of each patient.

    Attributes
    ----------
    differences
        In one challenge, shape (patients, images).
    number
        Which of the simulated challenges that is, counted from 1.
    apart, together
        The interval of the mean difference as if all images were independent, and with patients drawn whole.
    false_apart, false_together
        How often such intervals leave out zero, and so call equals different.
    """

    differences: Floats
    number: int
    apart: tuple[float, float]
    together: tuple[float, float]
    false_apart: float
    false_together: float


def clustered(seed: int = 19) -> Clustered:
    """Simulate many such challenges, and show the first in which it matters whether patients are known."""
    random = np.random.default_rng(seed)
    patient = random.normal(0, PATIENT_SPREAD, (SAMPLES, PATIENTS, 1))
    differences = patient + random.normal(0, IMAGE_SPREAD, (SAMPLES, PATIENTS, IMAGES))
    patients = [f"patient {number:02d}" for number in range(PATIENTS) for _ in range(IMAGES)]
    flat = differences.reshape(SAMPLES, -1)
    apart = mean_intervals(flat, replicates=RESAMPLES)
    together = mean_intervals(flat, clusters=patients, replicates=RESAMPLES)
    misled = (apart.low > 0) | (apart.high < 0)
    misled_still = (together.low > 0) | (together.high < 0)
    chosen = int(np.flatnonzero(misled & ~misled_still)[0])
    level = random.uniform(0.7, 0.9, PATIENTS * IMAGES)
    values = np.stack([level + flat[chosen] / 2, level - flat[chosen] / 2])
    return Clustered(
        differences[chosen],
        chosen + 1,
        _difference(table_of(values, teams=("Alder", "Birch"))),
        _difference(table_of(values, teams=("Alder", "Birch"), patients=patients), columns={"cluster": "patient"}),
        float(misled.mean()),
        float(misled_still.mean()),
    )


def _difference(table: pl.DataFrame, *, columns: Mapping[str, str] | None = None) -> tuple[float, float]:
    """Return the interval of the first team less the second."""
    pair = podium.rank(table, better="higher", columns=columns).confidence.pairs[0]
    return float(pair.low[0, 1]), float(pair.high[0, 1])
