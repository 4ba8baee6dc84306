"""Who is certainly ahead of whom where the weighted average of ranks by several criteria decides.

What is certain by each criterion bounds how many places lie between two competitors. Where the bounds do not settle
who is ahead, somebody can only be behind if she is no better in a whole set of criteria at once: that is tested.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.model import Floats
from podium.ranking.inference.intervals import quantiles

__all__ = ["MOST_CRITERIA", "ahead_by_bounds", "certainly_ahead", "closed"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.floating[Any]]

MOST_CRITERIA = 10
"""`certainly_ahead` looks at every set of criteria; with more of them use `ahead_by_bounds`."""

_ROUNDING = 1e-9
"""Relative to all weights together, a smaller difference of weighted ranks is none."""

_HUGE = 1e30
"""Stands for infinity, which a matrix product does not survive."""

_FAR = 4.0
"""Limits lie about so many standard deviations above the mean of a sum of positive parts."""

_BLOCK = 32
"""How many pairs are copied at a time."""


def closed(better: Bools) -> Bools:
    """Return the transitive closure of a relation, shape (teams, teams).

    Whoever would come out better than herself is in a circle of contradictions; within it nobody is better.

    Examples
    --------
    >>> closed(np.array([[False, True, False], [False, False, True], [False, False, False]])).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    reached = np.array(better, bool)
    while True:
        steps = reached.astype(np.float32)
        further = reached | (steps @ steps > 0)
        if np.array_equal(further, reached):
            return np.asarray(reached & ~reached.T)
        reached = further


def ahead_by_bounds(better: Bools, importance: npt.ArrayLike) -> Bools:
    """Return who is ahead of whom whatever the true order by each criterion is, shape (teams, teams).

    Exactly those are ahead who are so in every order, ties included, that agrees with what is certain. That is so
    whether equals share the better rank or the mean of their ranks: a third who is ahead of somebody adds one to her
    rank, and an equal nothing or a half, so that she moves two against each other by at most one place, and never away
    from who is better; an order without ties reaches the bounds.

    Parameters
    ----------
    better
        Who is certainly better than whom, shape (criteria, teams, teams).
    importance
        By how much each criterion counts, shape (criteria,); all greater than 0.
    """
    certain = np.array([closed(relation) for relation in better])
    weights = np.asarray(importance, np.float64)
    most, least = _places_behind(certain)
    behind = np.tensordot(weights, np.where(certain, least, most), axes=1)
    return np.asarray(behind < -_ROUNDING * weights.sum())


def certainly_ahead(
    observed: Numbers,
    resampled: Numbers,
    correlation: Numbers,
    better: Bools,
    importance: npt.ArrayLike,
    *,
    pairs: tuple[Ints, Ints],
    alpha: float,
) -> Bools:
    """Return who is ahead of whom by the weighted average of ranks, shape (teams, teams).

    If a competitor is truly not ahead of another, she is no better in all criteria of some set that can make up for
    all others (a reversal set). She is ahead if the evidence against every minimal one of these is large: the sum of
    her positive t in the set, on a scale that makes differently correlated sums comparable. How large: what the
    largest such sum, over all pairs and both directions, exceeds in alpha of the resamples. This is repeated without
    the pairs that are decided. That a limit for each set keeps the chance of any false claim was simulated, not proved.

    Parameters
    ----------
    observed
        Studentised differences of the first less the second, positive where the first is better, shape
        (criteria, pairs). 0 where a pair cannot be judged, infinite where a difference never varies.
    resampled
        The same in resamples about what was observed, shape (criteria, replicates, pairs). Infinite values of a pair
        that cannot be judged do not count.
    correlation
        Of the case-wise differences between criteria, shape (pairs, criteria, criteria), free of NaN: criteria that
        never vary correlate with no other.
    better
        Who is certainly better than whom, closed transitively, shape (criteria, teams, teams).
    importance
        By how much each criterion counts, shape (criteria,); all greater than 0.
    pairs
        Who is first and who second, each of shape (pairs,).
    alpha
        What is left of the chance of being wrong after `better` had its share.
    """
    weights = np.asarray(importance, np.float64)
    first, second = pairs
    one, two = np.concatenate([first, second]), np.concatenate([second, first])
    sets = _subsets(len(weights))
    most, least = (bound[:, one, two].T for bound in _places_behind(better))
    minimal = _minimal_reversals(most, least, better[:, one, two].T, weights)
    scale = _scale(correlation, sets)
    evidence = _positive(np.concatenate([observed, -observed], axis=1).T) @ sets.T * np.tile(scale, (2, 1))
    claimed = np.asarray(~minimal.any(axis=1))  # these need no test
    while True:
        ahead = np.zeros(better.shape[1:], bool)
        ahead[one[claimed], two[claimed]] = True
        ahead = closed(ahead)
        decided = ahead[first, second] | ahead[second, first] | claimed[: len(first)] | claimed[len(first) :]
        candidates = np.tile(~decided, 2)
        used = minimal[candidates].any(axis=0)
        largest = _largest(resampled, observed, scale[:, used], sets[used], np.flatnonzero(~decided))
        limits = np.full(len(sets), np.inf)
        limits[used] = _limits(largest, alpha)
        added = candidates & np.all((evidence > limits) | ~minimal, axis=1)
        if not added.any():
            return ahead
        claimed |= added


def _places_behind(better: Bools) -> tuple[Floats, Floats]:
    """Return by how many places the first can be behind the second, each of shape (criteria, teams, teams).

    At most, where she may be worse, all are between who are not certainly outside. Where she is better she is before
    the second, and at least before those certainly between.
    """
    known = better.astype(np.float64)
    possible = 1.0 - known
    possible[:, np.arange(better.shape[1]), np.arange(better.shape[1])] = 0.0  # nobody is between herself and another
    return 1.0 + possible @ possible, -1.0 - known @ known


def _subsets(criteria: int) -> Bools:
    """Return all sets of criteria, shape (sets, criteria): criterion k is in the set whose number has bit k."""
    return np.asarray((np.arange(2**criteria)[:, None] >> np.arange(criteria)) % 2 == 1)


def _minimal_reversals(most: Floats, least: Floats, certain: Bools, weights: Floats) -> Bools:
    """Return which sets of criteria, if the first is better in none of them, just suffice for her not to be ahead.

    All have the shape (ordered pairs, criteria), the result (ordered pairs, sets).
    """
    sets = _subsets(len(weights))
    behind = (least @ weights)[:, None] + ((most - least) * weights) @ sets.T
    reversal = (behind >= -_ROUNDING * weights.sum()) & ~(certain @ sets.T)
    minimal: Bools = reversal.copy()
    for criterion in range(len(weights)):
        inside = np.flatnonzero(sets[:, criterion])
        minimal[:, inside] &= ~reversal[:, inside - 2**criterion]
    return minimal


def _scale(correlation: Numbers, sets: Bools) -> Floats:
    """Return by what sums of positive t over sets are multiplied, shape (pairs, sets).

    Each sum is divided by about what it rarely exceeds if nobody is better and t is normal, so that a limit common to
    all pairs is equally far for each of them, also where criteria are against each other.
    """
    mean = 1.0 / np.sqrt(2.0 * np.pi)  # of the positive part of one
    r = np.clip(np.asarray(correlation, np.float64), -1.0, 1.0)
    covariance = mean**2 * (np.sqrt(1.0 - r**2) + r * (np.pi / 2 + np.arcsin(r)) - 1.0)
    together = (sets[:, :, None] & sets[:, None, :]).reshape(len(sets), sets.shape[1] ** 2)
    variance = np.maximum(covariance.reshape(len(r), sets.shape[1] ** 2) @ together.T, 0.0)
    sizes = np.maximum(sets.sum(axis=1), 1)  # the empty set is never asked for
    return np.asarray(1.0 / (mean * sizes + _FAR * np.sqrt(variance)))


def _positive(t: Numbers) -> Numbers:
    return np.clip(t, 0.0, _HUGE)


def _largest(resampled: Numbers, observed: Numbers, scale: Floats, sets: Bools, pairs: Ints) -> Numbers:
    """Return the largest evidence over pairs and directions in each resample, shape (replicates, sets)."""
    largest = np.zeros((len(sets), resampled.shape[1]), resampled.dtype)
    for start in range(0, len(pairs), _BLOCK):
        block = pairs[start : start + _BLOCK]
        t = np.ascontiguousarray(resampled[:, :, block].transpose(2, 0, 1))
        t[np.isinf(t) & (observed.T[block] == 0)[:, :, None]] = 0.0
        for pair, values in zip(block, t, strict=True):
            weighted = (scale[pair][:, None] * sets).astype(resampled.dtype)
            for direction in (values, -values):
                np.maximum(largest, weighted @ _positive(direction), out=largest)
    return largest.T


def _limits(largest: Numbers, alpha: float) -> Floats:
    """Return what the largest statistics exceed in alpha of the replicates, shape (replicates, sets) → (sets,)."""
    replicates, sets = largest.shape
    if (1 - alpha) * (replicates + 1) > replicates:
        return np.full(sets, np.inf)
    limits = quantiles(np.asarray(largest, np.float64), np.full((1, sets), 1 - alpha))[0]
    return np.where(limits < _HUGE / 1e6, limits, np.inf)
