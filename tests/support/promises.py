"""What confidence promises, and simulations that count how often it is kept: populations whose truth is known.

A cell is one population and one number of cases. In every round values are drawn, ranked and judged as anybody's would
be, and what is said of them is held against the truth. Tests and benchmarks only.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from podium.model import Direction, Floats, InputError, Measure
from podium.ranking import AggregateThenRank, Rule, Scheme, ScoreTable, TaskValues, TestThenRank, scheme_rule, units_of
from podium.ranking.inference.confidence import Confidence, assess_confidence
from podium.ranking.inference.intervals import Method

METHODS: tuple[str, ...] = get_args(Method)
REPLICATES = 500

Draw = Callable[[np.random.Generator, int], Floats]
"""Values of shape (criteria, teams, rows), of so many cases; higher is better."""


@dataclass(frozen=True)
class Promise:
    """What is measured, and what it has to keep: at most, or at least, a number; no number where nothing is asked."""

    quantity: str
    sign: str = ""
    bound: float = np.nan


@dataclass(frozen=True, eq=False)
class Cell:
    """A population, how many cases are drawn from it, and what is to be kept.

    Attributes
    ----------
    scenario, population
        In words.
    cases
        How many; of clusters, how many of these.
    truth
        The true value of each team by each criterion, shape (criteria, teams).
    clusters
        The name of each row's cluster; every row is its own without.
    method
        Of intervals.
    """

    scenario: str
    population: str
    cases: int
    draw: Draw
    truth: Floats
    promises: tuple[Promise, ...]
    scheme: Scheme = field(default_factory=AggregateThenRank)
    measure: Measure = field(default_factory=lambda: Measure("", "Value", Direction.HIGHER))
    clusters: tuple[str, ...] | None = None
    method: str = "bootstrap-t"

    @property
    def seed(self) -> int:
        """Of its random numbers; methods see the same ones."""
        return zlib.crc32(f"{self.scenario}, {self.population}, {self.cases}".encode())

    @property
    def places(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The best and the worst true place of each team: equals share all places that they take up."""
        ranks = 1 + np.sum(self.truth[:, None, :] > self.truth[:, :, None], axis=2)
        total = ranks.sum(axis=0)
        return 1 + np.sum(total < total[:, None], axis=1), len(total) - np.sum(total > total[:, None], axis=1)


@dataclass(frozen=True, eq=False)
class Figure:
    """What came out: a mean over rounds (a median of widths), and its standard error."""

    cell: Cell
    promise: Promise
    value: float
    error: float
    count: int
    rounds: int
    seconds: float

    def reached(self, errors: float = 0.0) -> bool | None:
        """Return whether the promise is kept, give or take binomial standard errors; None if nothing is asked."""
        sign, bound = self.promise.sign, self.promise.bound
        slack = errors * math.sqrt(max(bound * (1 - bound), 0.0) / self.count) if sign else 0.0
        return {"≤": self.value <= bound + slack, "≥": self.value >= bound - slack}.get(sign)


class Trial:
    """One round: values that were drawn, and what is said of them."""

    def __init__(self, cell: Cell, number: int, **options: Any) -> None:
        self.cell, self._options = cell, {"replicates": REPLICATES, "seed": number, "jobs": 1} | options
        values = cell.draw(np.random.default_rng([cell.seed, number]), cell.cases)
        self.rule = rule_of(values, scheme=cell.scheme, measure=cell.measure, clusters=cell.clusters)

    def assessed(self, method: str) -> Confidence | None:
        """Return what is said under a method; None if it is refused to say anything."""
        try:
            return assess_confidence(self.rule, **({"method": method} | self._options))
        except InputError:
            return None

    @cached_property
    def confidence(self) -> Confidence | None:
        """What is said under the cell's method."""
        return self.assessed(self.cell.method)


def rule_of(values: Floats, *, scheme: Scheme, measure: Measure, clusters: tuple[str, ...] | None = None) -> Rule:
    """Return the rule of values (criteria, teams, rows), all criteria being of the same cases."""
    criteria, teams, rows = values.shape
    names = clusters or tuple(f"case {row}" for row in range(rows))
    flat = values.transpose(1, 0, 2).reshape(teams, -1)
    nothing = np.zeros(flat.shape, bool)
    tasks = []
    for number in range(criteria):
        own = np.repeat(np.arange(criteria) == number, rows)
        named = replace(measure, name=f"criterion {number}" if criteria > 1 else "")
        tasks.append(TaskValues(named, own, np.where(own, flat, np.nan), nothing))
    submissions = tuple(f"T{team:02d}" for team in range(teams))
    units = units_of(names * criteria)
    return scheme_rule(
        ScoreTable("simulated", submissions, tuple(map(str, range(rows * criteria))), units, tuple(tasks)), scheme
    )


def simulated(cell: Cell, rounds: int, **options: Any) -> list[Figure]:
    """Return what came out of so many rounds; options such as level go to `assess_confidence`."""
    start = time.perf_counter()
    seen: dict[Promise, list[Floats]] = {promise: [] for promise in cell.promises}
    for number in range(rounds):
        trial = Trial(cell, number, **options)
        for promise, values in seen.items():
            values.append(np.atleast_1d(QUANTITIES[promise.quantity](trial)).astype(np.float64))
    seconds = time.perf_counter() - start
    figures = []
    for promise, values in seen.items():
        summary = _median if promise.quantity == "median width" else _mean
        figures.append(Figure(cell, promise, *summary(values), np.size(values), rounds, seconds))
    return figures


def _mean(values: list[Floats]) -> tuple[float, float]:
    """Return the mean and its standard error, which is not 0 just because a share is."""
    means = np.mean(values, axis=1)
    share = (np.sum(values) + 1) / (np.size(values) + 2)
    binomial = np.sqrt(max(share * (1 - share), 0.0) / np.size(values))
    return float(means.mean()), float(max(means.std() / np.sqrt(len(means)), binomial))


def _median(values: list[Floats]) -> tuple[float, float]:
    """Return the median, and half of how far apart values are that lie a standard error above and below."""
    ordered = np.ravel(values)
    off = 0.5 / np.sqrt(len(ordered))
    low, middle, high = np.quantile(ordered, [max(0.5 - off, 0.0), 0.5, min(0.5 + off, 1.0)], method="nearest")
    return float(middle), float((high - low) / 2) if np.isfinite(high) else np.inf


# What is measured, of one round


def _false_claim(trial: Trial) -> bool:
    """Tell whether a true place lies outside its interval, or somebody is called better who is not."""
    confidence, cell = trial.confidence, trial.cell
    if confidence is None:
        return False
    best, worst = cell.places
    missed = [r.best > b or r.worst < w for r, b, w in zip(confidence.ranks, best, worst, strict=True)]
    if len(cell.truth) > 1:
        return any(missed)
    return any(missed) or _claims_wrongly(confidence.pairs[0].better, cell.truth[0])


def _claims_wrongly(better: npt.NDArray[np.bool_], truth: Floats) -> bool:
    return bool(np.any(better & (truth[:, None] <= truth[None, :])))


def _false_guarantee(trial: Trial) -> bool:
    confidence = trial.confidence
    return confidence is not None and _claims_wrongly(np.asarray(confidence.pairs[0].guaranteed), trial.cell.truth[0])


def _certain_winner(trial: Trial) -> bool:
    """Tell whether the interval of the truly best is 1–1."""
    winner = int(np.argmin(trial.cell.places[1]))
    return trial.confidence is not None and trial.confidence.ranks[winner].worst == 1


def _ends(trial: Trial, method: str | None = None) -> tuple[Floats, Floats]:
    confidence = trial.assessed(method) if method else trial.confidence
    if confidence is None:
        return (np.full(trial.cell.truth.shape[1], np.nan),) * 2
    (intervals,) = confidence.columns.values()
    return intervals.low, intervals.high


def _covered(trial: Trial) -> npt.NDArray[np.bool_]:
    """Tell for each team whether its true value lies in the interval; where there is none, it does not."""
    low, high = _ends(trial)
    return (low <= trial.cell.truth[0] + 1e-12) & (high >= trial.cell.truth[0] - 1e-12)


def _width(trial: Trial, method: str | None = None) -> Floats:
    low, high = _ends(trial, method)
    return np.where(np.isnan(low) | np.isnan(high), np.inf, high - low)


def _outside(trial: Trial) -> npt.NDArray[np.bool_]:
    """Tell for each team whether an end lies where no value can."""
    low, high = _ends(trial)
    return (low < trial.cell.measure.minimum - 1e-12) | (high > trial.cell.measure.maximum + 1e-12)


def _infinite(trial: Trial) -> npt.NDArray[np.bool_]:
    return np.isinf(_ends(trial)).any(axis=0)


def _relative_width(trial: Trial) -> float:
    return float(np.median(_width(trial)) / np.median(_width(trial, "bootstrap-t")))


def _significant(trial: Trial) -> Floats:
    """Return for each of two equal teams whether the test calls it better."""
    return np.asarray(trial.rule.published.columns[0].values[0])


QUANTITIES: dict[str, Callable[[Trial], Any]] = {
    "false claims": _false_claim,
    "false guarantees": _false_guarantee,
    "certain winner": _certain_winner,
    "coverage": _covered,
    "median width": _width,
    "ends outside the range": _outside,
    "infinite ends": _infinite,
    "width against bootstrap-t": _relative_width,
    "called better": _significant,
}

FALSE_CLAIMS = Promise("false claims", "≤", 0.07)
"""Who never claims anything keeps it, so every scenario with it has a winner to be certain of."""


# One criterion


def _with_difficulty(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return normal values of which half is owed to the case, so that differences of two teams have deviation 1."""
    return (random.normal(size=(*shape[:-2], 1, shape[-1])) + random.normal(size=shape)) / np.sqrt(2)


def _normal(random: np.random.Generator, cases: int, *, means: Floats) -> Floats:
    return _with_difficulty(random, (1, means.size, cases)) + means[..., None]


def _skewed(random: np.random.Generator, cases: int, *, teams: int) -> Floats:
    return random.exponential(size=(1, teams, cases))


def _one_skewed(random: np.random.Generator, cases: int, *, teams: int) -> Floats:
    values = _with_difficulty(random, (1, teams, cases))
    values[0, 0] = random.exponential(size=cases) - 1
    return values


def _near_copy(random: np.random.Generator, cases: int, *, teams: int) -> Floats:
    values = _with_difficulty(random, (1, teams, cases))
    values[0, -1, 3:] = values[0, -2, 3:]
    return values


LADDER = -0.5 * np.arange(8.0)
"""Eight teams, half a standard deviation apart."""


def one_criterion() -> Iterable[Cell]:
    """Means: equal teams of several kinds, and a winner to be certain of.

    Here differences have deviation 1; in the composite every team has, and differences √2.
    """
    cell = partial(Cell, "one criterion")
    for teams in (2, 10):
        equal = np.zeros((1, teams))
        yield cell(f"{teams} equal teams", 50, partial(_normal, means=equal), equal, (FALSE_CLAIMS,))
        yield cell(f"{teams} equal skewed teams", 50, partial(_skewed, teams=teams), equal, (FALSE_CLAIMS,))
        yield cell(f"{teams} equal teams, one skewed", 50, partial(_one_skewed, teams=teams), equal, (FALSE_CLAIMS,))
    equal = np.zeros((1, 10))
    yield cell("10 equal teams, one a near-copy", 50, partial(_near_copy, teams=10), equal, (FALSE_CLAIMS,))
    winner = Promise("certain winner", "≥", 0.75)
    ladder = LADDER[None]
    yield cell("8 teams half a deviation apart", 50, partial(_normal, means=ladder), ladder, (winner, FALSE_CLAIMS))


# Composite: averages of ranks over six criteria of the same cases


def _criteria(random: np.random.Generator, cases: int, *, means: Floats, correlation: float) -> Floats:
    """Return values of deviation 1; teams are independent, and criteria correlated."""
    common = random.normal(size=(1, means.shape[1], cases))
    own = random.normal(size=(*means.shape, cases))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own + means[..., None]


def _boundary(won: int, lost: int) -> Floats:
    """Return four couples, far apart: the first has won and lost so many of six criteria, and just loses the rest.

    So they are equal by average rank where three are won, and whoever calls the rest won errs.
    """
    lead = np.array([3.0] * won + [-3.0] * lost + [-1e-9] * (6 - won - lost))
    first = np.repeat(-20.0 * np.arange(4)[None], 6, axis=0)
    return np.stack([first + lead[:, None] / 2, first - lead[:, None] / 2], axis=2).reshape(6, 8)


def _five_places() -> Floats:
    """Return eight teams of which the first is five places before the second once, and just behind it five times."""
    means = np.repeat(-10.0 * np.arange(8)[None], 6, axis=0)
    means[0, :2] = 10.0, -55.0
    means[1:, :2] = 0.0, 1e-9
    return means


def composite() -> Iterable[Cell]:
    """Averages of ranks over six criteria: a winner to be certain of, and nulls."""
    ladder = np.repeat(LADDER[None], 6, axis=0)
    false = Promise("false claims", "≤", 0.05)
    asked = {50: 0.35, 100: 0.85, 200: 0.95}
    for cases, correlation in ((50, 0.0), (50, 0.5), (50, 0.8), (100, 0.0), (100, 0.5), (100, 0.8), (200, 0.5)):
        draw = partial(_criteria, means=ladder, correlation=correlation)
        population = f"8 teams half a deviation apart, criteria correlated {correlation:g}"
        yield Cell("composite", population, cases, draw, ladder, (Promise("certain winner", "≥", asked[cases]), false))
    half_tied = np.repeat(np.where(np.arange(8) < 4, 0.0, LADDER)[None], 6, axis=0)
    nulls = {
        "all equal": np.zeros((6, 8)),
        "half tied": half_tied,
        "near ties": 0.02 * ladder,
        "criteria that disagree": np.concatenate([ladder[:3], ladder[:3, ::-1]]),
        "boundary: 3 won, 3 on the edge": _boundary(3, 0),
        "boundary: 3 won, 1 lost, 2 on the edge": _boundary(3, 1),
        "boundary: 3 won, 2 lost, 1 on the edge": _boundary(3, 2),
        "boundary: 1 won by 5 places, 5 on the edge": _five_places(),
    }
    for population, means in nulls.items():
        draw = partial(_criteria, means=means, correlation=0.5)
        yield Cell("composite", population, 50, draw, means, (false,))


# Medians and quantiles


def _exponential(share: Floats) -> Floats:
    return -np.log1p(-share)


def _zeros(share: Floats) -> Floats:
    """Return the quantiles of a score that is 0 in one case of four, and 0.7 to 1 in others."""
    return np.where(share < 0.25, 0.0, 0.7 + 0.4 * (share - 0.25))


def _two_modes(share: Floats) -> Floats:
    """Return the quantiles of values of which three in five lie between 0 and 1, the others between 3 and 4."""
    return np.where(share < 0.6, share / 0.6, 3 + (share - 0.6) / 0.4)


SHAPES: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "skewed": (_exponential, 1.0),
    "with zeros": (_zeros, 0.1),
    "with two modes": (_two_modes, 1.0),
}
"""Quantiles of one team, and how far the normal values of the others spread."""


def _equal_quantiles(random: np.random.Generator, cases: int, *, teams: int, shape: str, share: float) -> Floats:
    """Return teams with the same quantile, 0; the first has another distribution than the others."""
    quantile_of, spread = SHAPES[shape]
    latent = _with_difficulty(random, (1, teams, cases))
    values = spread * (latent - _normal_quantile(share))
    values[0, 0] = quantile_of(ndtr(latent[0, 0])) - quantile_of(np.array(share))
    return values


def _normal_quantile(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))


def medians() -> Iterable[Cell]:
    """Equal medians and equal 0.05 quantiles of unequal distributions."""
    for teams in (2, 10):
        for shape in SHAPES:
            for share, cases in ((0.5, 15), (0.5, 30), (0.5, 60), (0.5, 200), (0.05, 30), (0.05, 60), (0.05, 200)):
                if share < 0.5 and shape != "skewed":
                    continue  # a quantile among zeros, or at the end of what can be, is no population of its own
                name = "medians" if share == 0.5 else f"{share:g} quantiles"
                yield Cell(
                    "medians",
                    f"equal {name}, {teams} teams, one {shape}",
                    cases,
                    partial(_equal_quantiles, teams=teams, shape=shape, share=share),
                    np.zeros((1, teams)),
                    (FALSE_CLAIMS,),
                    scheme=AggregateThenRank("median" if share == 0.5 else share),
                )
    truth = LADDER[None, :2]
    for cases in (30, 60, 200):
        draw = partial(_normal, means=truth)
        apart = (Promise("certain winner", "≥", 0.8) if cases == 200 else Promise("certain winner"),)
        name = "medians half a deviation apart, 2 teams"
        yield Cell("medians", name, cases, draw, truth, apart, scheme=AggregateThenRank("median"))


# Clusters


def patients_of(patients: int) -> tuple[str, ...]:
    """Return the patient of each row: they have 1, 2 and 12 rows in turn."""
    return tuple(f"patient {number}" for number in range(patients) for _ in range((1, 2, 12)[number % 3]))


def _centred_exponential(random: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return random.exponential(size=size) - 1


def _symmetric(random: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return random.normal(size=size)


def _patients(
    random: np.random.Generator, patients: int, *, kinds: tuple[Callable[..., Floats], ...], means: Floats | float = 0.0
) -> Floats:
    """Return teams whose rows vary as much within a patient as patients vary."""
    of = np.array([int(name.split()[1]) for name in patients_of(patients)])
    values = np.array([[kind(random, (patients,))[of] + kind(random, of.shape) for kind in kinds]])
    return np.asarray(values + np.asarray(means)[..., None])


COUNTS = (8, 15, 30, 60)


def clusters() -> Iterable[Cell]:
    """Means over patients of 1, 2 and 12 rows: two equal teams, and intervals of their means."""
    kinds = {
        "2 equal teams, symmetric": (_symmetric,) * 2,
        "2 equal teams, skewed": (_centred_exponential,) * 2,
        "2 equal teams, one skewed": (_symmetric, _centred_exponential),
        "10 equal teams, symmetric": (_symmetric,) * 10,
        "10 equal teams, one skewed": (*(_symmetric,) * 9, _centred_exponential),
    }
    for population, teams in kinds.items():
        skewed = population.endswith("skewed")
        for patients in COUNTS:
            coverage = Promise("coverage", "≥", 0.91 if skewed and patients < 60 else 0.93)
            yield Cell(
                "clusters",
                population,
                patients,
                partial(_patients, kinds=teams),
                np.zeros((1, len(teams))),
                (FALSE_CLAIMS,) if "one" in population else (FALSE_CLAIMS, coverage),
                clusters=patients_of(patients),
            )
    for patients in COUNTS:
        truth = np.array([[1.0, 0.0]])
        draw = partial(_patients, kinds=(_symmetric, _symmetric), means=truth)
        yield Cell(
            "clusters",
            "2 teams a patient's deviation apart",
            patients,
            draw,
            truth,
            (Promise("certain winner", "≥", 0.6) if patients == 60 else Promise("certain winner"),),
            clusters=patients_of(patients),
        )


def tests_of_clusters() -> Iterable[Cell]:
    """Test then rank: how often one of two equal teams is called better than the other, by a one-sided test."""
    for patients in COUNTS:
        yield Cell(
            "test then rank",
            "2 equal teams",
            patients,
            partial(_patients, kinds=(_symmetric, _symmetric)),
            np.zeros((1, 2)),
            (Promise("called better", "≤", 0.05),),
            scheme=TestThenRank(),
            clusters=patients_of(patients),
        )


# Bounded values

UNIT = Measure("", "Value", Direction.HIGHER, minimum=0.0, maximum=1.0)
TEAMS = 5
"""Independent teams, whose intervals are counted one by one."""


def _beta(random: np.random.Generator, cases: int, *, zeros: float = 0.0) -> Floats:
    shape = (1, TEAMS, cases)
    return random.beta(18, 2, shape) * (random.random(shape) >= zeros)


def _binary(random: np.random.Generator, cases: int) -> Floats:
    return (random.random((1, TEAMS, cases)) < 0.95).astype(np.float64)


def _nearly_constant(random: np.random.Generator, cases: int) -> Floats:
    shape = (1, TEAMS, cases)
    return np.where(random.random(shape) < 0.95, 0.9, random.random(shape))


def bounded() -> Iterable[Cell]:
    """Intervals of means of values from 0 to 1, by every method that is meant to cover them."""
    populations: list[tuple[str, tuple[int, ...], Draw, float]] = [
        ("Beta(18, 2)", (15, 50, 300), _beta, 0.9),
        ("Beta(18, 2) with 2 % zeros", (30, 100), partial(_beta, zeros=0.02), 0.98 * 0.9),
        ("Beta(18, 2) with 5 % zeros", (15, 100), partial(_beta, zeros=0.05), 0.95 * 0.9),
        ("binary, 0.95", (15, 100), _binary, 0.95),
        ("nearly constant", (15, 100), _nearly_constant, 0.95 * 0.9 + 0.05 * 0.5),
    ]
    for method in (name for name in ("bootstrap-t", "guaranteed", "proved") if name in METHODS):
        for population, sizes, draw, mean in populations:
            for cases in sizes:
                # Where failures are rare the default covers less, and says so.
                silent = method == "bootstrap-t" and "zeros" in population
                promises = [
                    Promise("coverage") if silent else Promise("coverage", "≥", 0.95),
                    Promise("median width"),
                    Promise("ends outside the range", "≤", 0.0),
                    Promise("infinite ends", "≤", 0.0),
                ]
                if method == "guaranteed" and population == "Beta(18, 2)" and cases >= 50:
                    promises.append(Promise("width against bootstrap-t", "≤", 2.5))
                truth = np.full((1, TEAMS), mean)
                yield Cell("bounded", population, cases, draw, truth, tuple(promises), measure=UNIT, method=method)


def _rare_failures(random: np.random.Generator, cases: int) -> Floats:
    """Return two teams with the same mean: the second is better by a fiftieth, and fails in one case of fifty."""
    base = random.beta(18, 2, cases)
    noise = random.uniform(0.94, 1.0, (2, cases))
    fails = random.random(cases) < 0.02
    return np.stack([0.98 * base * noise[0], base * noise[1] * ~fails])[None]


def rare_failures() -> Iterable[Cell]:
    """Two teams of equal means, of which one fails at 2 %."""
    promises = [Promise("false claims")]
    if "guaranteed" in METHODS:
        promises.append(Promise("false guarantees", "≤", 0.05))
    for cases in (30, 60, 100):
        yield Cell(
            "rare failures",
            "2 teams with one mean, one fails at 2 %",
            cases,
            _rare_failures,
            np.zeros((1, 2)),
            tuple(promises),
            measure=UNIT,
        )


SCENARIOS: dict[str, Callable[[], Iterable[Cell]]] = {
    "one criterion": one_criterion,
    "composite": composite,
    "medians": medians,
    "clusters": clusters,
    "test then rank": tests_of_clusters,
    "bounded": bounded,
    "rare failures": rare_failures,
}


def cells(*scenarios: str) -> list[Cell]:
    """Return the cells of the scenarios that are named, or of all."""
    return [cell for name in scenarios or SCENARIOS for cell in SCENARIOS[name]()]


def cell_of(scenario: str, population: str, cases: int, method: str = "bootstrap-t") -> Cell:
    """Return one cell."""
    wanted = (population, cases, method)
    (cell,) = (c for c in SCENARIOS[scenario]() if (c.population, c.cases, c.method) == wanted)
    return cell
