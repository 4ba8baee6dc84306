"""Every two competitors compared: differences with intervals, paired tests, and what follows for ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from podium.model import Column, Direction, Floats
from podium.ranking.inference.intervals import quantiles, resampled, standard_error, studentised, tail
from podium.ranking.inference.resampling import Progress, Units, over_blocks
from podium.ranking.inference.significance import holm, wilcoxon_signed_rank
from podium.ranking.rule import Rule

__all__ = ["Pairs", "RankInterval", "compared_pairs", "rank_intervals"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]

_NOISE = 1e-11
"""Relative to the values themselves, smaller differences are rounding errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Every two competitors compared by one criterion; all arrays have shape (competitors, competitors).

    Attributes
    ----------
    criterion
        The column.
    difference, low, high
        The first less the second, with its interval, for this pair alone; NaN where there is none.
    p, adjusted
        Of the two-sided paired Wilcoxon test, and after Holm's adjustment for all pairs; NaN on the diagonal.
    better
        Whether the first is better than the second, with simultaneous confidence over all pairs and criteria.
    """

    criterion: Column
    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    adjusted: Floats
    better: Bools


@dataclass(frozen=True, slots=True)
class RankInterval:
    """The places that a competitor may truly have."""

    best: int
    worst: int


def rank_intervals(better: Sequence[Bools], importance: Sequence[float] | None = None) -> tuple[RankInterval, ...]:
    """Return the places each may have, given who is certainly better than whom by each of the criteria.

    By one criterion: from one more than the number of those who are better, to all less the number of those who are
    worse. By the mean of ranks in several: whoever has a worse interval of that mean throughout is certainly behind.

    Parameters
    ----------
    better
        For each criterion, shape (competitors, competitors).
    importance
        By how much each criterion counts in the mean of ranks; the same by default.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91(1).

    Examples
    --------
    The first is better than the last; nothing else is certain:

    >>> certain = np.zeros((3, 3), bool)
    >>> certain[0, 2] = True
    >>> [(rank.best, rank.worst) for rank in rank_intervals([certain])]
    [(1, 2), (1, 3), (2, 3)]
    """
    teams = len(better[0])
    weights = importance or [1.0] * len(better)
    low = np.sum([w * (1 + certain.sum(axis=0)) for w, certain in zip(weights, better, strict=True)], axis=0)
    high = np.sum([w * (teams - certain.sum(axis=1)) for w, certain in zip(weights, better, strict=True)], axis=0)
    ahead = better[0] if len(better) == 1 else high[:, None] < low[None, :] - 1e-9 * sum(weights)
    best, worst = 1 + ahead.sum(axis=0), teams - ahead.sum(axis=1)
    return tuple(RankInterval(int(b), int(w)) for b, w in zip(best, worst, strict=True))


def compared_pairs(
    rule: Rule,
    criteria: Sequence[Column],
    effects: Mapping[str, Floats],
    *,
    level: float,
    replicates: int,
    seed: int,
    jobs: int | None,
    progress: Progress | None,
) -> list[Pairs]:
    """Compare every two competitors by every criterion.

    A smooth criterion is judged by studentised differences: what the largest of all, over pairs and criteria, exceeds
    in 1 − level of the resamples is the limit for each (max-t). Others are judged by tests, Holm-adjusted for all pairs
    and criteria. Two who differ in so few cases that resamples without any of these are common are not told apart.

    Parameters
    ----------
    effects
        Influences of smooth criteria by name, shape (competitors, clusters).
    """
    teams = int(rule.ranked.sum())
    first, second = np.triu_indices(teams, 1)
    units = rule.units
    tail(level, units)  # refuses what cannot be
    largest = np.zeros(replicates)
    chance = (1 - level) / max(len(first) * len(criteria), 1)  # of being wrong, for one pair by one criterion
    studies = []
    for number, column in enumerate(criteria):
        values = column.values[0, rule.ranked]
        ends = np.full((2, len(first)), np.nan)
        observed = np.zeros(len(first))
        if column.smooth and len(first):
            stage = partial(_over_all_criteria, progress, number, len(criteria)) if progress else None
            between = _between(effects[column.name], first, second)
            usable = np.isfinite(between).all(axis=1) & np.isfinite(values[first]) & np.isfinite(values[second])
            between[~usable] = 0.0
            work = partial(_t, between, units)
            t = np.concatenate(over_blocks(units, work, replicates=replicates, seed=seed, jobs=jobs, progress=stage))
            # Nearly identical submissions are judged equal; their infinite t must not become the limit for all others.
            judged = np.mean(np.isinf(t), axis=0) <= chance
            np.maximum(largest, np.max(np.abs(t[:, judged]), axis=1, initial=0.0), out=largest)
            error = standard_error(between, units)
            with np.errstate(invalid="ignore"):
                difference = values[first] - values[second]
            ends[:, usable] = _ends(difference, error, t, tail(level, units))[:, usable]
            observed = _studentised_once(difference, error, np.max(np.abs(values[np.isfinite(values)]), initial=0.0))
            observed = np.where(usable & judged, observed, 0.0)
        studies.append((values, ends, observed))
    enough = level * (replicates + 1) <= replicates  # else no resample is as rare as what is asked for
    limit = float(quantiles(largest[:, None], np.array([[level]]))[0, 0]) if enough else np.inf
    tests = [_tests(rule, column, effects, first, second) for column in criteria]
    together = holm(np.concatenate([p for p, _ in tests] or [np.zeros(0)])).reshape(len(tests), len(first))
    return [
        _pairs(column, first, second, *study, test, adjusted, units=units, limit=limit, chance=chance, level=level)
        for column, study, test, adjusted in zip(criteria, studies, tests, together, strict=True)
    ]


def _over_all_criteria(progress: Progress, number: int, criteria: int, done: int, total: int) -> None:
    progress(number * total + done, criteria * total)


def _between(effect: Floats, first: Ints, second: Ints) -> Floats:
    """Return the influences on differences; between equal submissions they are noise, and become zero."""
    between = effect[first] - effect[second]
    scale = np.max(np.abs(effect), axis=1, initial=0.0)
    between[np.abs(between) <= _NOISE * np.maximum(scale[first], scale[second])[:, None]] = 0.0
    return between


def _t(between: Floats, units: Units, counts: Floats) -> Floats:
    return studentised(*resampled(between, units, counts))


def _ends(difference: Floats, error: Floats, t: Floats, share: float) -> Floats:
    """Return the ends of bootstrap-t intervals, shape (2, pairs)."""
    far, near = quantiles(t, np.array([[1 - share], [share]]) * np.ones(len(difference)))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.stack([np.where(error > 0, difference - end * error, difference) for end in (far, near)])


def _studentised_once(difference: Floats, error: Floats, scale: float) -> Floats:
    """Return differences over their errors; infinite where one never varies but is there."""
    constant = np.where(np.abs(difference) > _NOISE * scale, np.copysign(np.inf, difference), 0.0)
    return np.asarray(np.divide(difference, error, out=constant, where=error > 0))


def _pairs(
    column: Column,
    first: Ints,
    second: Ints,
    values: Floats,
    ends: Floats,
    observed: Floats,
    test: tuple[Floats, Floats],
    together: Floats,
    *,
    units: Units,
    limit: float,
    chance: float,
    level: float,
) -> Pairs:
    """Decide who is better, and arrange everything as matrices; `together` is p adjusted for all criteria at once."""
    sign = 1.0 if column.measure.direction is Direction.HIGHER else -1.0
    p, tendency = test
    adjusted = holm(p)
    if column.smooth:
        # A difference that never varies has an infinite t: evidence, if there are as many cases as a sign test needs.
        few = np.isinf(observed) & (0.5 ** (len(units.names) - 1) >= chance)
        verdict = np.where((np.abs(observed) > limit) & ~few, np.sign(sign * observed), 0.0)
        has = ~np.isnan(values)  # whoever has a value is before whoever has none
        verdict = np.where(has[first] == has[second], verdict, np.where(has[first], 1.0, -1.0))
    else:
        verdict = np.where(together < 1 - level, sign * tendency, 0.0)

    def matrix(upper: npt.ArrayLike, lower: npt.ArrayLike) -> Floats:
        full = np.full((len(values), len(values)), np.nan)
        full[first, second], full[second, first] = upper, lower
        return full

    with np.errstate(invalid="ignore"):
        difference = values[first] - values[second]
    return Pairs(
        column,
        matrix(difference, -difference),
        matrix(ends[0], -ends[1]),
        matrix(ends[1], -ends[0]),
        matrix(p, p),
        matrix(adjusted, adjusted),
        matrix(verdict > 0, verdict < 0) == 1,
    )


def _tests(
    rule: Rule, column: Column, effects: Mapping[str, Floats], first: Ints, second: Ints
) -> tuple[Floats, Floats]:
    """Return p of every pair, one value per cluster, and the sign of the tendency of the first less the second."""
    if not len(first):
        return np.zeros(0), np.zeros(0)
    if column.rows is not None:
        values = rule.units.means(column.rows[rule.ranked])
        magnitudes = rule.units.means(np.abs(column.rows[rule.ranked]))
        with np.errstate(invalid="ignore"):
            between = values[first] - values[second]
        sizes = np.maximum(magnitudes[first], magnitudes[second])
    else:
        # The jackknife leaves noise in the last digits, which must not count as evidence.
        effect = effects[column.name]
        between = _between(effect, first, second)
        largest = 1e3 * np.max(np.abs(effect), axis=1, initial=0.0)
        sizes = np.repeat(np.maximum(largest[first], largest[second])[:, None], between.shape[1], axis=1)
    test = wilcoxon_signed_rank(between, np.ones((1, between.shape[1])), sizes=sizes, exact_below=0)
    return test.p[0], test.tendency[0]
