"""What confidence promises, and simulations that count how often it is kept.

A cell is one population and one number of cases; `populations` has them all. In every round values are drawn, ranked
and judged as anybody's would be, and what is said of them is held against the truth. Tests and benchmarks only.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from podium.model import Direction, Floats, InputError, Measure
from podium.ranking import AggregateThenRank, Rule, Scheme, ScoreTable, TaskValues, scheme_rule, units_of
from podium.ranking.inference.confidence import Confidence, assess_confidence
from podium.ranking.inference.intervals import Method

METHODS: tuple[str, ...] = get_args(Method)
REPLICATES = 500
SEVERAL = 2
"""By how much more resamples it takes where a tenth of the chance of error is spent on single criteria."""

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
        values = cell.draw(np.random.default_rng([cell.seed, number]), cell.cases)
        replicates = REPLICATES * (SEVERAL if len(values) > 1 else 1)
        self.cell, self._options = cell, {"replicates": replicates, "seed": number, "jobs": 1} | options
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
