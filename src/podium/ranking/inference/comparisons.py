"""Every two competitors compared: differences with intervals, paired tests, and what follows for ranks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from podium.model import Column, Direction, Floats
from podium.ranking.inference.composites import MOST_CRITERIA, ahead_by_bounds, certainly_ahead, closed
from podium.ranking.inference.differences import Differences, Resamples, clusters_of, pair_blocks
from podium.ranking.inference.intervals import Method, tail
from podium.ranking.inference.ranges import settled_differences
from podium.ranking.inference.resampling import Progress, Units
from podium.ranking.inference.significance import holm, wilcoxon_signed_rank
from podium.ranking.inference.stepdown import StepDown
from podium.ranking.rule import Rule

__all__ = ["Comparisons", "Pairs", "RankInterval", "compared", "rank_intervals"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]

_SHARE_OF_SINGLE = 0.1
"""How much of the chance of error is spent on criteria one by one, where the mean of ranks in several decides."""

_FAR = 50.0
"""A difference that resamples move by more of their own errors than this, they know nothing about."""

_MOST_NUMBERS = 2**27
"""Of resampled statistics over criteria and pairs, kept to judge criteria together."""


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
    guaranteed
        Whether the first is better by an interval whose coverage does not depend on the distribution, for this pair
        alone; None where the criterion is no mean of bounded values.
    """

    criterion: Column
    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    adjusted: Floats
    better: Bools
    guaranteed: Bools | None = None


class Comparisons(NamedTuple):
    """All pairs by all criteria, and who is certainly ahead of whom by all criteria together."""

    pairs: tuple[Pairs, ...]
    ahead: Bools


@dataclass(frozen=True, slots=True)
class RankInterval:
    """The places that a competitor may truly have."""

    best: int
    worst: int


def rank_intervals(ahead: Bools) -> tuple[RankInterval, ...]:
    """Return the places each may have, given who is certainly ahead of whom.

    From one more than the number of those who are ahead, to all less the number of those who are behind.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91(1).

    Examples
    --------
    The first is ahead of the last; nothing else is certain:

    >>> certain = np.zeros((3, 3), bool)
    >>> certain[0, 2] = True
    >>> [(rank.best, rank.worst) for rank in rank_intervals(certain)]
    [(1, 2), (1, 3), (2, 3)]
    """
    best, worst = 1 + ahead.sum(axis=0), len(ahead) - ahead.sum(axis=1)
    return tuple(RankInterval(int(b), int(w)) for b, w in zip(best, worst, strict=True))


def compared(
    rule: Rule,
    criteria: Sequence[Column],
    effects: Mapping[str, Floats],
    *,
    level: float,
    method: Method,
    resamples: Resamples,
    progress: Progress | None = None,
) -> Comparisons:
    """Compare every two competitors by every criterion, and by all together.

    Means and quantiles are judged by studentised differences: what the largest of all, over pairs and criteria, exceeds
    in 1 − level of the resamples is the limit for each, and comes down as pairs are decided (max-t, step-down). Where
    clusters differ in size, signs of whole clusters drawn at random must agree. Criteria that are neither are judged by
    tests, Holm-adjusted for all pairs and criteria. What is better than the better is better too. Two who differ in so
    few cases that resamples without any of these are common are not told apart.

    Parameters
    ----------
    effects
        Influences on smooth criteria by name, shape (competitors, clusters).
    method
        Of the intervals of single differences; who is certainly better does not depend on it.
    """
    competitors = int(rule.ranked.sum())
    if not criteria:
        return Comparisons((), np.zeros((competitors, competitors), bool))
    pairs = np.triu_indices(competitors, 1)
    tail(level, rule.units)  # refuses what cannot be
    judged = [column for column in criteria if column.smooth or enough_for(column, rule.units)]
    studies = [Differences(rule, column, effects.get(column.name), resamples) for column in judged]
    evidence = _Evidence(studies, rule, pairs, level, resamples.replicates, keep=len(criteria) > 1)
    evidence.gather(progress)
    tests = [_tests(rule, column, effects, *pairs, jobs=resamples.jobs) for column in criteria]
    together = holm(np.concatenate([p for p, _ in tests])).reshape(len(tests), len(pairs[0]))
    alpha = 1 - level

    def certain(share: float) -> list[Bools]:
        by_name = dict(zip((column.name for column in judged), evidence.verdicts(share), strict=True))
        relations = []
        for column, (_, tendency), adjusted in zip(criteria, tests, together, strict=True):
            verdict = by_name.get(column.name, np.zeros(len(adjusted)))
            if not column.smooth and column.quantile is None:
                verdict = np.where(adjusted < share, _sign(column) * tendency, 0.0)
            relations.append(closed(_relation(verdict, pairs, _has_value(column, rule))))
        return relations

    better = certain(alpha)
    results = []
    for column, (p, _), own in zip(criteria, tests, better, strict=True):
        ends = evidence.ends.get(column.name, np.full((2, len(p)), np.nan))
        ends, apart = settled_differences(column, rule, pairs, ends, method=method, level=level)
        results.append(_pairs(column, rule, pairs, ends, p, own, apart))
    if len(criteria) == 1:
        return Comparisons(tuple(results), better[0])
    importance = np.array([column.importance for column in criteria])
    # Whoever is certainly better in every criterion is ahead, whatever the criteria say together.
    ahead = np.all(better, axis=0)
    if evidence.kept is not None and len(judged) == len(criteria) <= MOST_CRITERIA:
        spent = _SHARE_OF_SINGLE * alpha
        ahead |= certainly_ahead(
            evidence.oriented,
            evidence.kept,
            evidence.correlations,
            np.stack(certain(spent)),
            importance,
            pairs=pairs,
            alpha=alpha - spent,
        )
    else:
        ahead |= ahead_by_bounds(np.stack(better), importance)
    ahead = closed(ahead)
    return Comparisons(tuple(results), ahead & ~ahead.T)


def enough_for(column: Column, units: Units) -> bool:
    """Return whether there are cases enough on both sides of a quantile to tell how it varies."""
    share = column.quantile
    return share is not None and clusters_of(column.rows, units) * min(share, 1 - share) >= 3


class _Evidence:
    """What resamples tell about every pair by every criterion that they can judge."""

    def __init__(
        self,
        studies: Sequence[Differences],
        rule: Rule,
        pairs: tuple[Ints, Ints],
        level: float,
        replicates: int,
        *,
        keep: bool,
    ) -> None:
        self._studies, self._rule, self._pairs, self._level = studies, rule, pairs, level
        self._replicates = replicates
        shape = len(studies), len(pairs[0])
        self._observed, self._errors, self._judged = np.zeros(shape), np.zeros(shape), np.ones(shape, bool)
        self._flipped: StepDown | None = None
        self.ends = {study.column.name: np.full((2, shape[1]), np.nan) for study in studies}
        self.kept = None
        if keep and shape[0] and shape[0] * shape[1] * replicates <= _MOST_NUMBERS:
            self.kept = np.zeros((shape[0], replicates, shape[1]), np.float32)

    def gather(self, progress: Progress | None) -> None:
        blocks = list(pair_blocks(len(self._pairs[0]), self._rule, self._replicates))
        for study, observed, errors in zip(self._studies, self._observed, self._errors, strict=True):
            for block in blocks:
                errors[block] = study.error(*self._of(block))
                observed[block] = study.observed(*self._of(block), errors[block])
        for study, observed, judged in zip(self._studies, self._observed, self._judged, strict=True):
            self._doubt_constants(study, observed, judged)
        self._resampled = StepDown(self._observed.ravel(), self._replicates)
        steps = [(number, block) for number in range(len(self._studies)) for block in blocks]
        for step, (number, block) in enumerate(steps):
            stage = partial(_within, progress, step, len(steps)) if progress else None
            self._take(number, block, stage)
        uneven = [number for number, study in enumerate(self._studies) if study.sizes is not None]
        if uneven:
            self._flip(uneven, blocks)

    def verdicts(self, alpha: float) -> Floats:
        """Return 1 where the first is certainly better, −1 where the second is, 0 elsewhere: (criteria, pairs)."""
        beyond = self._resampled.rejected(alpha).reshape(self._observed.shape) & self._judged
        if self._flipped is not None:
            beyond[self._uneven] &= self._flipped.rejected(alpha).reshape(len(self._uneven), self._observed.shape[1])
        return np.where(beyond, np.sign(self.oriented), 0.0)

    @property
    def oriented(self) -> Floats:
        """Studentised differences, positive where the first is better, (criteria, pairs); 0 where not judged."""
        signs = np.array([_sign(study.column) for study in self._studies])[:, None]
        return np.where(self._judged, signs * self._observed, 0.0)

    @property
    def correlations(self) -> Floats:
        """How criteria vary together in resamples, shape (pairs, criteria, criteria)."""
        assert self.kept is not None
        criteria, _, size = self.kept.shape
        together = np.empty((size, criteria, criteria))
        for pair in range(size):
            own = np.clip(self.kept[:, :, pair], -_FAR, _FAR)  # what is infinite in a rare resample says little here
            together[pair] = own @ own.T
        spread = np.sqrt(np.diagonal(together, axis1=1, axis2=2))
        spread = np.where(spread > 0, spread, 1.0)
        together /= spread[:, :, None] * spread[:, None, :]
        together[:, np.arange(criteria), np.arange(criteria)] = 1.0
        return together

    @property
    def _chance(self) -> float:
        """Of being wrong, for one pair by one criterion."""
        return (1 - self._level) / max(self._observed.size, 1)

    def _of(self, block: slice) -> tuple[Ints, Ints]:
        return self._pairs[0][block], self._pairs[1][block]

    def _doubt_constants(self, study: Differences, observed: Floats, judged: Bools) -> None:
        """Judge no difference that never varies, unless there are as many cases as a sign test needs."""
        constant = np.flatnonzero(np.isinf(observed))
        if 0.5 ** (study.clusters - 1) >= self._chance:
            judged[constant] = False
        elif len(constant):
            judged[constant] = study.one_sided(*(side[constant] for side in self._pairs))

    def _take(self, number: int, block: slice, progress: Progress | None) -> None:
        study = self._studies[number]
        t = study.resampled(*self._of(block), progress)
        ends = study.ends(*self._of(block), self._errors[number, block], t, self._level)
        self.ends[study.column.name][:, block] = ends
        # Nearly identical submissions are judged equal, and so are those whom one absurd value parts: their t, infinite
        # or huge in resamples without the few cases that matter, must not become the limit for all others.
        judged = self._judged[number, block]
        judged &= np.mean(np.isinf(t), axis=0) <= self._chance
        judged &= np.mean(np.abs(t) > _FAR, axis=0) <= 1 - self._level
        t[:, ~judged] = 0.0
        size = len(self._pairs[0])
        self._resampled.add(np.arange(block.start, block.stop) + number * size, t)
        if self.kept is not None:
            self.kept[number, :, block] = _sign(study.column) * t

    def _flip(self, uneven: Sequence[int], blocks: Sequence[slice]) -> None:
        """Draw signs of clusters at random for criteria whose clusters differ in size."""
        self._uneven = list(uneven)
        size = len(self._pairs[0])
        parts = [(place, block) for place in range(len(uneven)) for block in blocks]
        observed = np.zeros((len(uneven), size))
        for place, block in parts:
            observed[place, block] = self._studies[uneven[place]].evenness(*self._of(block))
        self._flipped = StepDown(observed.ravel(), self._replicates)
        for place, block in parts:
            flipped = self._studies[uneven[place]].flipped(*self._of(block))
            self._flipped.add(np.arange(block.start, block.stop) + place * size, flipped)


def _within(progress: Progress, step: int, steps: int, done: int, total: int) -> None:
    progress(step * total + done, steps * total)


def _sign(column: Column) -> float:
    return 1.0 if column.measure.direction is Direction.HIGHER else -1.0


def _has_value(column: Column, rule: Rule) -> Bools:
    return np.asarray(~np.isnan(column.values[0, rule.ranked]))


def _relation(verdict: Floats, pairs: tuple[Ints, Ints], has: Bools) -> Bools:
    """Return who is better than whom; whoever has a value is before whoever has none."""
    better = has[:, None] & ~has[None, :]
    first, second = pairs
    better[first, second] |= verdict > 0
    better[second, first] |= verdict < 0
    return better


def _pairs(
    column: Column,
    rule: Rule,
    pairs: tuple[Ints, Ints],
    ends: Floats,
    p: Floats,
    better: Bools,
    apart: Bools | None,
) -> Pairs:
    """Arrange everything as matrices; `apart` says which differences are not zero whatever the distribution."""
    first, second = pairs
    values = column.values[0, rule.ranked]

    def matrix(upper: npt.ArrayLike, lower: npt.ArrayLike) -> Floats:
        full = np.full((len(values), len(values)), np.nan)
        full[first, second], full[second, first] = upper, lower
        return full

    with np.errstate(invalid="ignore"):
        difference = values[first] - values[second]
    adjusted = holm(p)
    guaranteed = None
    if apart is not None:
        guaranteed = _relation(
            np.where(apart, np.sign(_sign(column) * difference), 0.0), pairs, np.ones(len(values), bool)
        )
    return Pairs(
        column,
        matrix(difference, -difference),
        matrix(ends[0], -ends[1]),
        matrix(ends[1], -ends[0]),
        matrix(p, p),
        matrix(adjusted, adjusted),
        better,
        guaranteed,
    )


def _tests(
    rule: Rule, column: Column, effects: Mapping[str, Floats], first: Ints, second: Ints, *, jobs: int | None
) -> tuple[Floats, Floats]:
    """Return p of every pair, one value per cluster, and the sign of the tendency of the first less the second."""
    p, tendency = np.ones(len(first)), np.zeros(len(first))
    if column.rows is not None:
        rows = column.rows[rule.ranked]
        values, magnitudes = rule.units.means(rows), rule.units.means(np.abs(rows))
    else:
        # The jackknife leaves noise in the last digits, which must not count as evidence.
        values = effects[column.name]
        magnitudes = np.broadcast_to(1e3 * np.max(np.abs(values), axis=1, initial=0.0)[:, None], values.shape)

    def tested(block: slice) -> None:
        one, two = first[block], second[block]
        with np.errstate(invalid="ignore"):
            between = values[one] - values[two]
        sizes = np.maximum(magnitudes[one], magnitudes[two])
        test = wilcoxon_signed_rank(between, np.ones((1, between.shape[1])), sizes=sizes, exact_below=0)
        p[block], tendency[block] = test.p[0], test.tendency[0]

    with ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1) as pool:
        list(pool.map(tested, pair_blocks(len(first), rule, 1)))
    return p, tendency
