"""Who is significantly better than whom: the paired Wilcoxon signed-rank test, and ranks that respect its answers.

As everywhere in ranking, weights have shape (sets, rows): a row of weight k counts k times, one of weight 0 not at all.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from podium._jit import kernel
from podium.model import Direction, Floats, InputError
from podium.ranking.arithmetic import EQUAL, competition_ranks

__all__ = [
    "Adjustment",
    "PairedTests",
    "SignedRank",
    "adjusted_p",
    "holm",
    "significance_ranks",
    "significantly_better",
    "wilcoxon_signed_rank",
]

Bools = npt.NDArray[np.bool_]
Alternative = Literal["two-sided", "greater", "less"]
Adjustment = Literal["none", "holm", "bonferroni", "benjamini-hochberg"]

EXACT_BELOW = 50
"""With fewer differences than this, none of them zero and no two of equal size, the test is exact."""

NUMBERS_AT_ONCE = 2**22
"""How many differences are sorted at a time."""

MOST_KEPT = 2**24
"""How many sorted differences are kept, rather than sorted again for other weights."""


class SignedRank(NamedTuple):
    """Answers of a signed-rank test, one for each set of weights and each pair.

    Attributes
    ----------
    statistic
        Sum of the ranks of positive differences, V in R and W⁺ in textbooks.
    tendency
        The sign of the statistic less its expectation: 1 where differences tend to be positive, −1 negative.
    p
        The p-value; 1 where there is no difference that is not zero.
    """

    statistic: Floats
    tendency: Floats
    p: Floats


def wilcoxon_signed_rank(
    differences: npt.ArrayLike,
    weights: npt.ArrayLike,
    *,
    sizes: npt.ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    exact_below: int = EXACT_BELOW,
) -> SignedRank:
    """Test whether paired differences are symmetric about zero, for many pairs and many sets of weights at once.

    Zeros are dropped, equal sizes share the mean of their ranks. The distribution is exact for few differences without
    zeros or equal sizes, else normal, corrected for ties and continuity: p-values are those of R's
    `wilcox.test(paired = TRUE)`. Each pair's differences are sorted once; ranks follow from cumulative weights.

    Parameters
    ----------
    differences
        Shape (pairs, rows) or (rows,); NaN where a row has none, which leaves it out.
    weights
        Shape (sets, rows); whole numbers from 0.
    sizes
        The largest magnitude that each difference was made from, same shape. A difference is zero where it is at most
        1e-12 of it, and two neighbours in the order of their magnitudes tie where these differ by at most 1e-12 of the
        larger of their sizes: zeros and ties are what they are on paper. Without, binary numbers are compared, as R
        does.
    alternative
        "greater": differences tend to be positive. "less": negative.
    exact_below
        Below how many differences the test is exact if it can be; 0 for never.

    Returns
    -------
    SignedRank
        Arrays of shape (sets, pairs), or (sets,) for one pair.

    References
    ----------
    Wilcoxon 1945, Biometrics Bulletin 1(6).

    Examples
    --------
    >>> wilcoxon_signed_rank([1.0, 2.0, 3.0, 4.0, -5.0], np.ones((1, 5))).p
    array([0.625])
    """
    if alternative not in ("two-sided", "greater", "less"):
        raise InputError(f"there is no alternative {alternative!r}", advice="There are: two-sided, greater, less")
    given = np.asarray(differences, np.float64)
    pairs = np.atleast_2d(given)
    weight = np.asarray(weights, np.float64)
    if weight.ndim != 2 or weight.shape[1] != pairs.shape[1] or not (np.isfinite(weight) & (weight >= 0)).all():
        raise InputError("weights must be one non-negative number per row, of shape (sets, rows)")
    made_from = None if sizes is None else np.broadcast_to(np.asarray(sizes, np.float64), pairs.shape)
    sums = _signed_ranks(*_by_size(pairs, made_from), np.ascontiguousarray(weight.T))
    statistic, count, ties, zeros = (by_pair.T for by_pair in sums)
    excess = statistic - count * (count + 1) / 4
    tendency = np.sign(excess)
    p = _normal_p(excess, count, ties, alternative)
    exact = (ties == 0) & (zeros == 0) & (count > 0) & (count < exact_below)
    for n in np.unique(count[exact]).astype(int):
        chosen = exact & (count == n)
        p[chosen] = _exact_p(statistic[chosen], n, alternative)
    results = SignedRank(statistic, tendency, p)
    return results if given.ndim > 1 else SignedRank(*(result[:, 0] for result in results))


def _by_size(pairs: Floats, sizes: Floats | None) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Return each pair's differences from the smallest, NaN last, equal sizes made equal, and their rows."""
    magnitudes = np.abs(pairs)
    if sizes is not None:
        magnitudes[(magnitudes <= EQUAL * sizes) & np.isfinite(magnitudes)] = 0.0
    order = np.argsort(magnitudes, axis=1).astype(np.int32)  # equals may come in any order
    return _chained(pairs, magnitudes, np.zeros((0, 0)) if sizes is None else sizes, order), order


@kernel
def _chained(pairs, magnitudes, sizes, order):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return differences in order of size; those of neighbours that are equal but for rounding are made equal.

    As for ranks, neighbours are equal within 1e-12 of the larger of what they were made from, and equality is handed
    on. Whether a difference is zero is its own affair: no neighbour makes it one.
    """
    ordered = np.empty(pairs.shape)
    known = sizes.size > 0
    for pair in range(len(pairs)):
        last, scale, size = -1.0, 0.0, -1.0
        for place in range(pairs.shape[1]):
            row = order[pair, place]
            magnitude = magnitudes[pair, row]
            own = sizes[pair, row] if known and magnitude > 0 else 0.0
            step = magnitude - last
            if not (magnitude == last or (0 <= step <= EQUAL * max(own, scale) and last > 0 and np.isfinite(step))):
                size = magnitude
            ordered[pair, place] = np.copysign(size, pairs[pair, row])
            last, scale = magnitude, own
    return ordered


class PairedTests:
    """One-sided tests of every two submissions, for many sets of weights; differences are sorted once.

    Parameters
    ----------
    values
        Shape (submissions, rows); a row counts where both have a value.
    direction
        HIGHER or LOWER is better.
    sizes
        The largest magnitude that each value was made from, same shape; by default its own.
    raw
        Whether binary differences are compared, as R does, whatever they were made from.
    """

    def __init__(self, values: Floats, *, direction: Direction, sizes: Floats | None = None, raw: bool = False) -> None:
        self._teams = len(values)
        self._first, self._second = np.triu_indices(self._teams, 1)
        self._signed = values if direction is Direction.HIGHER else -values
        self._sizes = None if raw else np.abs(values) if sizes is None else sizes
        size = max(NUMBERS_AT_ONCE // max(values.shape[1], 1), 1)
        starts = range(0, len(self._first), size)
        self._blocks = [slice(start, start + size) for start in starts]
        # What is too large to be kept is sorted again when it is asked for.
        keep = len(self._first) * values.shape[1] <= MOST_KEPT
        self._kept = [self._ordered(block) for block in self._blocks] if keep else None

    def _ordered(self, block: slice) -> tuple[Floats, npt.NDArray[np.int32]]:
        one, two = self._first[block], self._second[block]
        made_from = None if self._sizes is None else np.maximum(self._sizes[one], self._sizes[two])
        return _by_size(self._signed[one] - self._signed[two], made_from)

    def p(self, weights: Floats) -> Floats:
        """Return p, shape (sets, submissions, submissions), of "the first is better than the second"; NaN for itself.

        Always by the normal approximation, with tie and continuity correction; 1 where no two values differ.
        """
        p = np.full((len(weights), self._teams, self._teams), np.nan)
        if self._teams < 2:
            return p
        by_row = np.ascontiguousarray(weights.T)
        for number, block in enumerate(self._blocks):
            ordered = self._ordered(block) if self._kept is None else self._kept[number]
            statistic, count, ties, _ = (by_pair.T for by_pair in _signed_ranks(*ordered, by_row))
            excess = statistic - count * (count + 1) / 4
            one, two = self._first[block], self._second[block]
            p[:, one, two] = _normal_p(excess, count, ties, "greater")
            p[:, two, one] = _normal_p(excess, count, ties, "less")
        return p


@kernel
def _signed_ranks(ordered, order, weights):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Add up ranks, for differences ordered by size and weights of shape (rows, sets), many sets in one step.

    Return the sum of ranks of positive differences, how many differences count, Σ(t³ − t) over groups of t equal sizes,
    and how many zeros there are, each of shape (pairs, sets).
    """
    pairs, rows = ordered.shape
    sets = weights.shape[1]
    statistic, count = np.zeros((pairs, sets)), np.zeros((pairs, sets))
    ties, zeros = np.zeros((pairs, sets)), np.zeros((pairs, sets))
    equal, positive = np.zeros(sets), np.zeros(sets)
    for pair in range(pairs):
        for row in range(rows):
            difference, weight = ordered[pair, row], weights[order[pair, row]]
            if np.isnan(difference):
                break
            if difference == 0:
                for one in range(sets):
                    zeros[pair, one] += weight[one]
                continue
            sign = 1.0 if difference > 0 else 0.0
            for one in range(sets):
                equal[one] += weight[one]
                positive[one] += weight[one] * sign
            if row + 1 < rows and abs(ordered[pair, row + 1]) == abs(difference):
                continue
            for one in range(sets):
                tied = equal[one]
                statistic[pair, one] += positive[one] * (count[pair, one] + (tied + 1) / 2)
                count[pair, one] += tied
                ties[pair, one] += tied * tied * tied - tied
                equal[one] = 0.0
                positive[one] = 0.0
    return statistic, count, ties, zeros


def _normal_p(excess: Floats, count: Floats, ties: Floats, alternative: Alternative) -> Floats:
    """Return p by the normal approximation with tie and continuity correction; 1 where nothing counts."""
    from scipy.special import ndtr

    variance = count * (count + 1) * (2 * count + 1) / 24 - ties / 48
    deviation = np.sqrt(np.where(count > 0, variance, 1.0))
    if alternative == "two-sided":
        p = 2 * ndtr(-np.abs(excess - np.sign(excess) / 2) / deviation)
    elif alternative == "greater":
        p = ndtr(-(excess - 0.5) / deviation)
    else:
        p = ndtr((excess + 0.5) / deviation)
    return np.where(count > 0, p, 1.0)


def _exact_p(statistic: Floats, n: int, alternative: Alternative) -> Floats:
    """Return p from the exact distribution of the statistic of n differences."""
    at_most = _exact_distribution(n)
    below: Floats = at_most[statistic.astype(np.intp)]
    # Symmetric: as many assignments of signs reach at least V as reach at most n(n + 1)/2 − V.
    above: Floats = at_most[n * (n + 1) // 2 - statistic.astype(np.intp)]
    if alternative == "two-sided":
        return np.asarray(np.minimum(2 * np.minimum(below, above), 1.0))
    return above if alternative == "greater" else below


@lru_cache(maxsize=EXACT_BELOW)
def _exact_distribution(n: int) -> Floats:
    """Return the probability that the sum of a random subset of 1 … n is at most 0, at most 1, and so on."""
    shares = np.zeros(n * (n + 1) // 2 + 1)
    shares[0] = 1.0
    for rank in range(1, n + 1):
        shares[rank:] = shares[rank:] / 2 + shares[:-rank] / 2
        shares[:rank] /= 2
    return np.cumsum(shares)


def holm(p: npt.ArrayLike) -> Floats:
    """Adjust p-values for their number, along the last axis: the k-th smallest of m times m − k + 1, never decreasing.

    References
    ----------
    Holm 1979, Scandinavian Journal of Statistics 6(2).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, axis=-1, kind="stable")
    factors = np.arange(values.shape[-1], 0, -1)
    stepped = np.maximum.accumulate(np.take_along_axis(values, order, axis=-1) * factors, axis=-1)
    adjusted = np.empty_like(stepped)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted


def adjusted_p(p: npt.ArrayLike, adjustment: Adjustment) -> Floats:
    """Adjust p-values for their number, along the last axis.

    Parameters
    ----------
    adjustment
        "none"; "holm" or "bonferroni", after which no more than α of all families contain a false finding;
        "benjamini-hochberg", after which no more than α of all findings are expected to be false.

    References
    ----------
    Benjamini and Hochberg 1995, Journal of the Royal Statistical Society B 57(1).

    Examples
    --------
    >>> adjusted_p([0.01, 0.04, 0.03], "benjamini-hochberg")
    array([0.03, 0.04, 0.04])
    """
    values = np.asarray(p, np.float64)
    if adjustment == "none":
        return values
    if adjustment == "holm":
        return holm(values)
    count = values.shape[-1]
    if adjustment == "bonferroni":
        return np.asarray(np.minimum(values * count, 1.0))
    if adjustment != "benjamini-hochberg":
        known = ", ".join(get_args(Adjustment))
        raise InputError(f"there is no adjustment {adjustment!r}", advice=f"There are: {known}")
    order = np.argsort(-values, axis=-1, kind="stable")
    stepped = np.take_along_axis(values, order, axis=-1) * count / np.arange(count, 0, -1)
    adjusted = np.empty_like(stepped)
    np.put_along_axis(adjusted, order, np.minimum(np.minimum.accumulate(stepped, axis=-1), 1.0), axis=-1)
    return np.asarray(adjusted)


def significantly_better(
    values: Floats,
    weights: Floats,
    *,
    direction: Direction,
    sizes: Floats | None = None,
    alpha: float = 0.05,
    adjusted: bool = False,
) -> Bools:
    """Test every two submissions against each other, two-sided.

    Parameters
    ----------
    values
        Shape (submissions, rows).
    weights
        Shape (sets, rows).
    direction
        HIGHER or LOWER is better.
    sizes
        The largest magnitude that each value was made from, same shape; without, binary numbers are compared.
    alpha
        A smaller p-value is significant.
    adjusted
        Whether Holm's method adjusts p-values for the number of pairs.

    Returns
    -------
    ndarray
        Shape (sets, submissions, submissions): whether the first is significantly better than the second, by the
        direction of the test.
    """
    teams = len(values)
    better = np.zeros((len(weights), teams, teams), bool)
    if teams < 2:
        return better
    first, second = (np.array(side) for side in zip(*combinations(range(teams), 2), strict=True))
    made_from = None if sizes is None else np.maximum(sizes[first], sizes[second])
    test = wilcoxon_signed_rank(values[first] - values[second], weights, sizes=made_from)
    significant = (holm(test.p) if adjusted else test.p) < alpha
    wins = test.tendency if direction is Direction.HIGHER else -test.tendency
    better[:, first, second] = significant & (wins > 0)
    better[:, second, first] = significant & (wins < 0)
    return better


def significance_ranks(means: Floats, better: Bools, *, scales: Floats | None = None) -> Floats:
    """Return ranks in which only significant differences count.

    In ascending order of their means, a participant's rank is one more than the number of earlier participants that are
    significantly better, and at least the rank of the participant before. Equal means share a rank, the larger if the
    test tells them apart.

    Parameters
    ----------
    means
        Shape (…, participants); a smaller mean is better. NaN, no mean, comes last.
    better
        Shape (…, participants, participants): whether the first is significantly better than the second. Where this
        contradicts the means, it counts nothing.
    scales
        By which equal means are told, see `podium.ranking.arithmetic.in_order`.

    Examples
    --------
    The first is better than the third; the second differs from neither:

    >>> better = np.zeros((3, 3), bool)
    >>> better[0, 2] = True
    >>> significance_ranks(np.array([0.1, 0.2, 0.3]), better)
    array([1., 1., 2.])
    """
    order = competition_ranks(means, direction=Direction.LOWER, scales=scales)
    first, second = order[..., :, None], order[..., None, :]
    counts = 1.0 + np.sum(better & (first < second), axis=-2)
    return np.asarray(np.max(np.where(first <= second, counts[..., :, None], 1.0), axis=-2, initial=1.0))
