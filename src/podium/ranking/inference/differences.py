"""How two submissions differ by one criterion, and how that difference varies in resamples.

Pairs come in blocks, so that thousands of submissions' pairs need no more memory than a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from podium.model import Column, Floats
from podium.ranking.inference.intervals import (
    Moves,
    bootstrap_t_ends,
    effective_number,
    near_one,
    standard_error,
    studentised,
    unequal_sizes,
)
from podium.ranking.inference.quantiles import smoothed_quantile, weighted_quantile
from podium.ranking.inference.resampling import Progress, Units, over_blocks
from podium.ranking.rule import Rule

__all__ = ["Differences", "Resamples", "clusters_of", "pair_blocks"]

Ints = npt.NDArray[np.intp]

_NOISE = 1e-11
"""Relative to the values themselves, smaller differences are rounding errors."""

_NUMBERS_AT_ONCE = 2**23


@dataclass(frozen=True, slots=True)
class Resamples:
    """Which resamples are drawn, how many, and by how many threads."""

    units: Units
    replicates: int
    seed: int
    jobs: int | None = None

    def of(self, work: Callable[[Floats], Floats], progress: Progress | None = None) -> Floats:
        """Return what work makes of the counts of clusters, all resamples along the first axis."""
        blocks = over_blocks(
            self.units, work, replicates=self.replicates, seed=self.seed, jobs=self.jobs, progress=progress
        )
        return np.concatenate(blocks)


def pair_blocks(pairs: int, rule: Rule, replicates: int) -> Iterator[slice]:
    """Yield blocks of pairs that fit into memory."""
    size = max(_NUMBERS_AT_ONCE // max(len(rule.rows), replicates), 1)
    for start in range(0, pairs, size):
        yield slice(start, min(start + size, pairs))


class Differences:
    """Differences of one criterion between competitors.

    Parameters
    ----------
    rule
        Whose competitors are compared.
    column
        The criterion: a mean or what behaves like one, or a quantile of its rows.
    effect
        Influences on a smooth criterion, shape (competitors, clusters); None for quantiles.
    resamples
        Which are drawn.
    """

    def __init__(self, rule: Rule, column: Column, effect: Floats | None, resamples: Resamples) -> None:
        self.column, self.units = column, rule.units
        self.values = column.values[0, rule.ranked]
        self._pairs = max(math.comb(len(self.values), 2), 1)
        self._effect, self._resamples = effect, resamples
        self._rows = None if column.rows is None else column.rows[rule.ranked]
        uneven = None if self._rows is None else unequal_sizes(self._rows, rule.units)
        self.sizes = None if effect is None else uneven
        known = np.isfinite(self.values)
        if effect is not None:
            known &= np.isfinite(effect).all(axis=1)
        self._known = known
        self.clusters = clusters_of(self._rows, rule.units)
        self._telling = float(self.clusters) if uneven is None else effective_number(uneven)

    def difference(self, first: Ints, second: Ints) -> Floats:
        """Return the first less the second."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.values[first] - self.values[second])

    def _magnitude(self, first: Ints, second: Ints) -> Floats:
        """Return the larger of the values that each difference is made from, without its sign."""
        return np.asarray(np.maximum(np.abs(self.values[first]), np.abs(self.values[second])))

    def usable(self, first: Ints, second: Ints) -> npt.NDArray[np.bool_]:
        """Return whether both have values, with and without every case."""
        return np.asarray(self._known[first] & self._known[second])

    def error(self, first: Ints, second: Ints) -> Floats:
        """Return the standard error of each difference, 0 where it is unknown."""
        if self._effect is None:
            return np.where(self.usable(first, second), self._quantile_error(first, second), 0.0)
        return standard_error(self._between(first, second), self.units, self.sizes)

    def observed(self, first: Ints, second: Ints, error: Floats) -> Floats:
        """Return differences over their errors, with caution: infinite where one never varies but is there.

        They are 0 where they are not usable.
        """
        difference = self.difference(first, second)
        with np.errstate(invalid="ignore"):
            noise = _NOISE * self._magnitude(first, second)
            constant = np.where(np.abs(difference) > noise, np.copysign(np.inf, difference), 0.0)
        t = np.divide(difference * self.caution(self._pairs), error, out=constant, where=error > 0)
        return np.where(self.usable(first, second), t, 0.0)

    def resampled(self, first: Ints, second: Ints, progress: Progress | None = None) -> Floats:
        """Return how far resamples move each difference, in errors, shape (replicates, pairs)."""
        if self._effect is None:
            return self._quantiles_moved(first, second)
        moves = Moves(self._between(first, second), self.units, self.sizes)
        return self._resamples.of(lambda counts: studentised(*moves(counts)), progress)

    def ends(self, first: Ints, second: Ints, error: Floats, t: Floats, level: float) -> Floats:
        """Return the ends of intervals of single differences, shape (2, pairs); NaN where not usable."""
        difference = self.difference(first, second)
        error = error if self._effect is not None else error / self.caution()
        ends = np.stack(bootstrap_t_ends(difference, error, t, level=level, units=self.units, sizes=self.sizes))
        return np.where(self.usable(first, second), ends, np.nan)

    def evenness(self, first: Ints, second: Ints) -> Floats:
        """Return differences over the root of their clusters' squares: how far clusters agree in sign, in size."""
        return np.asarray(np.abs(self._cluster_shares(first, second).sum(axis=1)))

    def flipped(self, first: Ints, second: Ints) -> Floats:
        """Return the same with signs of whole clusters at random, shape (replicates, pairs); pairs share the signs."""
        random = np.random.default_rng([self._resamples.seed, 2**31])
        shares = self._cluster_shares(first, second)
        signs = random.integers(0, 2, (self._resamples.replicates, shares.shape[1])) * 2.0 - 1.0
        return np.abs(signs @ shares.T)

    def _cluster_shares(self, first: Ints, second: Ints) -> Floats:
        """Return what each cluster adds to the difference, scaled so that squares add up to one."""
        assert self.sizes is not None
        usable = self.usable(first, second)
        whole = self._between(first, second)
        whole += np.where(usable, self.difference(first, second), 0.0)[:, None] * self.sizes
        largest = np.max(np.abs(whole), axis=1, initial=0.0, keepdims=True)
        whole = np.divide(whole, largest, out=np.zeros_like(whole), where=largest > 0)
        root = np.sqrt(np.sum(np.square(whole), axis=1, keepdims=True))
        return np.asarray(np.divide(whole, root, out=np.zeros_like(whole), where=root > 0))

    def caution(self, pairs: int = 1) -> float:
        """Return by how much studentised differences are made smaller, 1 for means over clusters of one size.

        Student's t says it: resamples of few large clusters are too much alike, and of a quantile they know only what
        lies on its rarer side, which for the median is half of all. The more pairs are judged together, the further out
        in the tails limits lie, where Student's t differs by more; resamples of quantiles of unequal clusters, which
        all have the same error, do not know that by themselves.
        """
        share = self.column.quantile
        if share is None and self.sizes is None:
            return 1.0
        from scipy.stats import norm
        from scipy.stats import t as student

        telling = self._telling if share is None else 2 * self._telling * min(share, 1 - share)
        beyond = 0.025 / (pairs if share is not None and self._telling < self.clusters else 1)
        return float(norm.isf(beyond) / student.isf(beyond, max(telling - 1, 1.0)))

    def one_sided(self, first: Ints, second: Ints) -> npt.NDArray[np.bool_]:
        """Return whether the first is on one side of the second in every row."""
        if self._rows is None:
            return np.ones(len(first), bool)
        with np.errstate(invalid="ignore"):
            between = self._rows[first] - self._rows[second]
        return np.asarray(
            np.all((between > 0) | np.isnan(between), axis=1) | np.all((between < 0) | np.isnan(between), axis=1)
        )

    def _between(self, first: Ints, second: Ints) -> Floats:
        """Return the influences on differences; between equal submissions they are noise, and become zero."""
        assert self._effect is not None
        with np.errstate(invalid="ignore"):
            between = self._effect[first] - self._effect[second]
        scale = np.max(np.abs(self._effect), axis=1, initial=0.0)
        with np.errstate(invalid="ignore"):
            noise = np.abs(between) <= _NOISE * np.maximum(scale[first], scale[second])[:, None]
        between[noise | ~self.usable(first, second)[:, None]] = 0.0
        return between

    @cached_property
    def _drawn_quantiles(self) -> tuple[Floats, Floats]:
        """Plain and Harrell–Davis quantiles of resamples, each of shape (replicates, competitors)."""
        assert self._rows is not None
        assert self.column.quantile is not None
        work = partial(_quantiles, self._rows, self.units, self.column.quantile)
        both = self._resamples.of(work)
        return both[:, 0], both[:, 1]

    def _quantile_error(self, first: Ints, second: Ints) -> Floats:
        spreads = []
        for drawn in self._drawn_quantiles:
            with np.errstate(invalid="ignore"):
                between, power = near_one((drawn[:, first] - drawn[:, second]).T)
                spreads.append(np.ldexp(np.std(between, axis=1), power))
        spread = np.maximum(*spreads)
        return np.asarray(np.where(spread <= _NOISE * self._magnitude(first, second), 0.0, spread))

    def _quantiles_moved(self, first: Ints, second: Ints) -> Floats:
        plain = self._drawn_quantiles[0]
        usable, error = self.usable(first, second), self.error(first, second)
        with np.errstate(invalid="ignore"):
            moved = plain[:, first] - plain[:, second] - self.difference(first, second)
        return np.divide(moved, error, out=np.zeros_like(moved), where=usable & (error > 0))


def clusters_of(rows: Floats | None, units: Units) -> int:
    """Return how many clusters hold rows of a criterion; all of them where its rows are not known."""
    if rows is None:
        return len(units.names)
    return len(np.unique(units.cluster[~np.isnan(rows).all(axis=0)]))


def _quantiles(rows: Floats, units: Units, share: float, counts: Floats) -> Floats:
    weights = units.weights(counts)
    return np.stack(
        [weighted_quantile(rows, weights, share=share), smoothed_quantile(rows, weights, share=share)], axis=1
    )
