"""Confidence intervals of means of bounded values that rest on the bounds alone, not on how values are distributed.

Resamples know only failures that were seen. Here the declared range stands for those that were not: whatever the
population within it, the mean is to be covered. `guaranteed_intervals` are Gaffke's, narrow, and never seen to fail;
`proved_intervals` are wider and come with a proof. Both assume that rows are drawn independently of each other.

Both bound the mean distance of values from one end of the range; the other end of the interval is the same bound of
distances from the other end of the range.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

from podium._jit import kernel, summing_kernel
from podium.model import Floats, InputError
from podium.ranking.inference.intervals import Intervals

__all__ = ["guaranteed_intervals", "proved_intervals"]

PERMUTATIONS = 16
"""Over how many orders of rows `proved_intervals` averages; few, for the average is stable already."""
BET = 0.75
"""The most of its capital that a bet may lose; with a half, intervals of Dice are a fifth wider."""
STEP, NODES = 0.2, 16
"""The trapezoidal rule of `_log_tail`: its step, and how many nodes are computed at a time."""


def guaranteed_intervals(
    values: npt.ArrayLike,
    *,
    lowest: float,
    highest: float,
    level: float = 0.95,
    sizes: npt.ArrayLike | None = None,
    jobs: int | None = None,
) -> Intervals:
    """Return Gaffke's intervals of means over rows, whose coverage depends on the range of values alone.

    The lower end is the (1 − level) / 2 quantile of Σ Wᵢ xᵢ + W₀ · lowest with W from a flat Dirichlet distribution,
    the upper end the (1 + level) / 2 quantile with highest in place of lowest. The quantiles are computed, not drawn:
    nothing is random, and the order of rows does not matter. For values at the ends of the range only it is the
    interval of Clopper and Pearson. That it covers for every distribution is conjectured; no counterexample is known.

    Parameters
    ----------
    values
        Shape (quantities, rows), all from lowest to highest.
    lowest, highest
        The range that values were declared to have; paired differences have ± the width of that of their values.
    level
        How often the interval is to cover the mean of the population that rows were drawn from.
    sizes
        How many rows each cluster has, shape (rows,), where `values` are means of clusters. The quantity then is the
        ratio mean Σ N x / Σ N, and clusters of the population are taken to be no larger than the largest here.
    jobs
        Threads, which change no digit.

    Returns
    -------
    Intervals
        Within the range, the estimate inside. With few rows they are wide, but never infinite.

    Notes
    -----
    The ratio mean is the μ with E[N (x − μ)] = 0. For values from 0 to 1, N (x − μ) / Nmax lies between −μ and 1 − μ,
    and is tested as any other mean: (Σ Wᵢ Nᵢ xᵢ + W₀ Nmax · end) / (Σ Wᵢ Nᵢ + W₀ Nmax) takes the place of the sum.

    References
    ----------
    Gaffke 2005, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable,
    Mathematical Methods of Statistics 14(4); Learned-Miller and Thomas 2020, A new confidence interval for the mean of
    a bounded random variable, arXiv 1905.06208.

    Examples
    --------
    Twenty Dice of 0.9 do not exclude that one case in ten fails:

    >>> _, low, high = guaranteed_intervals([[0.9] * 20], lowest=0, highest=1)
    >>> low.round(2), high.round(2)
    (array([0.75]), array([0.92]))
    """
    return _intervals(values, lowest, highest, level, sizes, jobs, _gaffke_bounds)


def proved_intervals(
    values: npt.ArrayLike,
    *,
    lowest: float,
    highest: float,
    level: float = 0.95,
    sizes: npt.ArrayLike | None = None,
    seed: int = 1,
    jobs: int | None = None,
) -> Intervals:
    """Return betting intervals of means over rows, proved to cover whatever the distribution within the range.

    Somebody bets row after row that the mean is larger than μ, somebody else that it is smaller, each sizing the bets
    by the rows seen before. Were μ the mean, neither could expect to gain. The interval holds every μ at which neither
    has made 2 / (1 − level) of 1, on average over a few orders of the rows; it is an interval because the capital
    falls, or rises, with μ throughout.

    Parameters
    ----------
    values, lowest, highest, level, sizes, jobs
        As in `guaranteed_intervals`.
    seed
        Which orders of rows.

    Returns
    -------
    Intervals
        Within the range, the estimate inside. With few rows they are wide, but never infinite.

    References
    ----------
    Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting, Journal of the Royal
    Statistical Society B 86(1): the hedged capital of its third theorem, bets by predictable plug-in.

    Examples
    --------
    >>> _, low, high = proved_intervals([[0.9] * 20], lowest=0, highest=1)
    >>> low.round(2), high.round(2)
    (array([0.71]), array([0.96]))
    """
    count = np.shape(values)[-1] if np.ndim(values) else 0
    draw = np.random.default_rng(seed)
    orders = np.stack([draw.permutation(count) for _ in range(PERMUTATIONS)], axis=1)
    return _intervals(values, lowest, highest, level, sizes, jobs, partial(_betting_bounds, orders=orders))


def _intervals(
    values: npt.ArrayLike,
    lowest: float,
    highest: float,
    level: float,
    sizes: npt.ArrayLike | None,
    jobs: int | None,
    bounds: Callable[..., tuple[Floats, Floats]],
) -> Intervals:
    """Return what `bounds` says of quantities, on as many threads as there are jobs, once the input is in order."""
    rows = np.asarray(values, np.float64)
    if rows.ndim != 2 or not rows.shape[1]:
        raise InputError("values must have the shape (quantities, rows), with one row at least")
    if not 0 < highest - lowest < math.inf:
        raise InputError(
            f"the range from {lowest} to {highest} does not bound values",
            advice="Intervals that hold for every distribution need a finite range; choose bootstrap-t without one",
        )
    if not 0 < level < 1:
        raise InputError(f"the level is {level}, but must lie between 0 and 1, as 0.95 does")
    if not (rows.min(initial=highest) >= lowest and rows.max(initial=lowest) <= highest):
        quantity, row = np.argwhere(~((rows >= lowest) & (rows <= highest)))[0].tolist()
        raise InputError(
            f"the value {rows[quantity, row]} (quantity {quantity}, row {row}) is outside {lowest} to {highest}",
            advice="Declare a range that holds every value that there can be",
        )
    counts = np.ones(rows.shape[1]) if sizes is None else np.asarray(sizes, np.float64)
    if counts.shape != rows.shape[1:] or not (np.isfinite(counts) & (counts > 0)).all():
        raise InputError("sizes must be positive numbers, one for each row")
    estimate = rows.mean(axis=1) if sizes is None else rows @ counts / counts.sum()
    estimate = np.clip(estimate, lowest, highest)  # a mean of equal values may err in its last digit
    jobs = jobs or os.cpu_count() or 1
    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(
            lambda block: bounds(block, float(lowest), float(highest), counts / counts.max(), (1 - level) / 2),
            np.array_split(rows, jobs),
        )
    low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    # Only at levels below 1 − 2 / e can a bound pass the mean itself: sums of weighted exponentials are log-concave.
    return Intervals(estimate, np.clip(low, lowest, estimate), np.clip(high, estimate, highest))


@kernel
def _gaffke_bounds(rows, lowest, highest, weights, share):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return both ends of Gaffke's intervals."""
    low, high = np.empty(len(rows)), np.empty(len(rows))
    distance, terms = np.empty(rows.shape[1]), np.empty(rows.shape[1] + 2)
    width = highest - lowest
    for one in range(len(rows)):
        for row in range(rows.shape[1]):
            distance[row] = (rows[one, row] - lowest) / width
        low[one] = lowest + width * _dirichlet_quantile(distance, weights, share, terms)
        for row in range(rows.shape[1]):
            distance[row] = 1 - distance[row]
        high[one] = highest - width * _dirichlet_quantile(distance, weights, share, terms)
    return low, high


@kernel
def _dirichlet_quantile(distance, weights, share, terms):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return the quantile u of Σ Wᵢ wᵢ dᵢ / (Σ Wᵢ wᵢ + W₀) for distances d ≥ 0."""
    total = weighted = 0.0
    for row in range(len(distance)):
        total += weights[row]
        weighted += weights[row] * distance[row]
    if weighted == 0:
        return 0.0
    mean = weighted / total
    square = mean**2
    for row in range(len(distance)):
        square += (weights[row] * (distance[row] - mean)) ** 2
    place = math.log(mean / (1 + 2 * math.sqrt(square) / weighted))
    low, high, twist = -math.inf, math.log(mean), 0.5
    last_place = last_gap = math.nan
    for _ in range(100):
        log_tail, slope, twist = _log_tail(distance, weights, math.exp(place), twist, terms)
        gap = log_tail - math.log(share)
        if abs(gap) < 1e-7:
            break
        if not math.isnan(last_gap):
            slope = (gap - last_gap) / (place - last_place)
        last_place, last_gap = place, gap
        low, high, place = _next_place(place, gap, slope, low, high)
    return math.exp(place)


@kernel
def _next_place(place, gap, slope, low, high):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return a narrower bracket of where a rising gap is zero, and where to look next."""
    if gap > 0:
        high = place
    else:
        low = place
    place -= gap / slope
    if not low < place < high:
        place = high - 2 if math.isinf(low) else (low + high) / 2
    return low, high, place


@summing_kernel
def _log_tail(distance, weights, bound, twist, terms):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return log P(Σ Eᵢ gᵢ + E₀ > 0) with exponential E, where g = w (1 − d / u); nearly its slope in log u; the twist.

    The probability is the integral of 1 / (s (1 − s) Π (1 − s gᵢ)) / 2πi along a line that crosses the real axis
    between 0 and 1. It crosses at the twist, where the integrand is least, found by Newton's method, whose damped steps
    cannot leave that interval. From there it follows the hyperbola that is bent as the way of steepest descent is; the
    trapezoidal rule gives seven digits at least.
    """
    count = len(distance)
    for row in range(count):
        terms[row] = weights[row] * (1 - distance[row] / bound)
    for _ in range(100):
        gradient = 1 / (1 - twist) - 1 / twist
        curvature = 1 / (1 - twist) ** 2 + 1 / twist**2
        for row in range(count):
            ratio = terms[row] / (1 - twist * terms[row])
            gradient += ratio
            curvature += ratio * ratio
        decrement = abs(gradient) / math.sqrt(curvature)
        twist -= gradient / curvature / (1 + decrement)
        if decrement < 0.1:
            break
    peak = -math.log(twist) - math.log1p(-twist)
    slope = 0.0
    for first in range(0, count, 8):  # one logarithm for eight rows
        product = 1.0
        for row in range(first, min(first + 8, count)):
            left = 1 / (1 - twist * terms[row])
            product *= left
            slope += (weights[row] - terms[row]) * left
            terms[row] *= left
        peak += math.log(product)
    terms[count], terms[count + 1] = 1 / (1 - twist), -1 / twist
    curvature = skewness = 0.0
    for row in range(len(terms)):
        curvature += terms[row] ** 2
        skewness += terms[row] ** 3
    bend = 2 / 3 * skewness / curvature**1.5
    integral, start, largest = 0.5, 1, 1.0
    across, along, real, imaginary = np.empty(NODES), np.empty(NODES), np.empty(NODES), np.empty(NODES)
    while largest > 1e-11:
        for node in range(NODES):
            along[node] = math.sinh((start + node) * STEP) / math.sqrt(curvature)
            across[node] = bend * (math.cosh((start + node) * STEP) - 1) / math.sqrt(curvature)
        real[:], imaginary[:] = 1.0, 0.0
        for row in range(len(terms)):
            for node in range(NODES):
                keep, turn = 1 - across[node] * terms[row], along[node] * terms[row]
                before = real[node]
                real[node] = keep * before + turn * imaginary[node]
                imaginary[node] = keep * imaginary[node] - turn * before
        for node in range(NODES):
            square = real[node] ** 2 + imaginary[node] ** 2
            ahead, aside = math.cosh((start + node) * STEP), bend * math.sinh((start + node) * STEP)
            largest = 0.0
            if 0 < square < math.inf:  # what is beyond all numbers has long vanished from the integral
                integral += (ahead * real[node] - aside * imaginary[node]) / square
                largest = ahead / math.sqrt(square)
        start += NODES
    return peak + math.log(integral * STEP / math.pi / math.sqrt(curvature)), twist * slope, twist


@kernel
def _betting_bounds(rows, lowest, highest, weights, share, orders):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return both ends of betting intervals; `orders` has the shape (rows, orders)."""
    low, high = np.empty(len(rows)), np.empty(len(rows))
    gains, costs, stakes = np.empty(orders.shape), np.empty(orders.shape), np.empty(orders.shape)
    width = highest - lowest
    for one in range(len(rows)):
        for place in range(len(orders)):
            for order in range(orders.shape[1]):
                row = orders[place, order]
                costs[place, order] = weights[row]
                gains[place, order] = weights[row] * (rows[one, row] - lowest) / width
        _set_stakes(gains, costs, share, stakes)
        low[one] = lowest + width * _betting_bound(gains, costs, share, stakes)
        for place in range(len(orders)):
            for order in range(orders.shape[1]):
                gains[place, order] = costs[place, order] - gains[place, order]
        high[one] = highest - width * _betting_bound(gains, costs, share, stakes)
    return low, high


@kernel
def _set_stakes(gains, costs, share, stakes):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Fill in how much to bet on each row, by the variance of those before it; the same for both ends."""
    for order in range(stakes.shape[1]):
        total, weighted, squares = 1.0, 0.5, 0.25
        for place in range(len(stakes)):
            stakes[place, order] = math.sqrt(-2 * math.log(share) * (place + 1) / (len(stakes) * squares))
            total += costs[place, order]
            weighted += gains[place, order]
            squares += (gains[place, order] - costs[place, order] * weighted / total) ** 2


@kernel
def _betting_bound(gains, costs, share, stakes):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return the mean distance below which the capital exceeds 1 / share, which falls as the distance grows."""
    low, high = 0.0, gains[:, 0].sum() / costs[:, 0].sum()
    last_place, last_gap = low, -math.log(share) - _log_capital(gains, costs, low, stakes)
    if last_gap > 0:
        return low
    place = high
    for _ in range(100):
        gap = -math.log(share) - _log_capital(gains, costs, place, stakes)
        if abs(gap) < 1e-7 or (place == high and gap <= 0):
            break
        slope = (gap - last_gap) / (place - last_place)
        last_place, last_gap = place, gap
        low, high, place = _next_place(place, gap, slope, low, high)
    return place


@kernel
def _log_capital(gains, costs, mean, stakes):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return the logarithm of the capital, on average over orders, of who bets on distances above a mean."""
    most = BET / mean if mean > 0 else math.inf
    logarithms, capital = np.zeros(stakes.shape[1]), np.empty(stakes.shape[1])
    for start in range(0, len(stakes), 64):  # products of as many factors are numbers still
        capital[:] = 1.0
        for place in range(start, min(start + 64, len(stakes))):
            for order in range(len(capital)):
                stake = min(stakes[place, order], most)
                capital[order] *= 1 + stake * (gains[place, order] - costs[place, order] * mean)
        logarithms += np.log(capital)
    largest = logarithms.max()
    return largest + math.log(np.exp(logarithms - largest).mean())
