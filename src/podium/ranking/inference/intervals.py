"""Confidence intervals of means, and of what behaves like one: bootstrap-t, percentile and BCa.

All start from influences: how much of a value is owed to each cluster of rows, (x − mean) / n for a mean. A resample
that draws cluster c wᶜ times moves the value by Σ (wᶜ − 1) · influenceᶜ, exactly for a mean of clusters of one size,
and nearly for any other smooth function of weighted rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from podium.model import Floats, InputError
from podium.ranking.inference.resampling import Progress, Units, over_blocks, units_of

__all__ = ["COVERAGE", "Intervals", "Method", "mean_intervals"]

Method = Literal["bootstrap-t", "percentile", "bca", "guaranteed", "proved"]

_RESAMPLED: tuple[Method, ...] = ("bootstrap-t", "percentile", "bca")

COVERAGE: dict[Method, str] = {
    "bootstrap-t": "95 % intervals cover 96 % for exponential and 94 % for lognormal values, 50 cases",
    "percentile": "95 % intervals cover only 93 % for exponential and 90 % for lognormal values, 50 cases",
    "bca": "95 % intervals cover only 93 % for exponential and 91 % for lognormal values, 50 cases",
}
"""What each method keeps of its promise, from the simulation in the tests."""


_NO_SCALE = 100.0
"""Studentised shifts beyond this come from resamples that saw next to no spread."""
_LARGE = 2**22
"""Of more influences than these, sums are computed with seven digits."""

_CANCELLED: dict[Any, float] = {np.float64: 1e-13, np.float32: 1e-5}
"""Which part of a sum of squares may be left over where there is no spread at all."""


class Intervals(NamedTuple):
    """Values with the ends of their intervals, each of shape (quantities,).

    An end is infinite where too few cases tell too little.
    """

    estimate: Floats
    low: Floats
    high: Floats


def mean_intervals(
    values: npt.ArrayLike,
    *,
    level: float = 0.95,
    method: Method = "bootstrap-t",
    clusters: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    replicates: int = 2000,
    seed: int = 1,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Intervals:
    """Return confidence intervals of means over rows.

    Parameters
    ----------
    values
        Shape (quantities, rows), all finite. The same resamples serve every quantity.
    level
        How often the interval is to cover the mean of the population that rows were drawn from.
    method
        "bootstrap-t" keeps its promise also where values are skewed; `COVERAGE` says what the others do.
    clusters, strata
        Names, one per row: rows of a cluster are drawn together, each stratum for itself.
    replicates, seed
        How many resamples, and which.
    jobs, progress
        Threads, which change no digit, and whom to tell.

    References
    ----------
    Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapters 12 to 14; see `tail` for the quantiles, which
    are moved outwards a little where cases are few.

    Examples
    --------
    >>> heights = [[1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.0, 5.0, 6.0, 9.0]]
    >>> low, high = (end.round(1).item() for end in mean_intervals(heights)[1:])
    >>> low < 4.0 < high
    True
    """
    rows = np.asarray(values, np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError("values must be finite numbers of shape (quantities, rows)")
    units = units_of(clusters if clusters is not None else [str(row) for row in range(rows.shape[1])], strata)
    estimate = rows.mean(axis=1)
    effect, sizes = mean_influences(rows, units), unequal_sizes(rows, units)
    blocks = over_blocks(
        units,
        Moves(effect, units, sizes),
        replicates=replicates,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )
    shifts, errors = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return intervals_of(estimate, effect, units, shifts, errors, level=level, method=method, sizes=sizes)


def mean_influences(rows: Floats, units: Units) -> Floats:
    """Return what means over rows owe to clusters, (values, rows) → (values, clusters); NaN rows belong to no mean."""
    known = ~np.isnan(rows)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    with np.errstate(invalid="ignore"):  # an infinite value leaves no mean to differ from
        mean = np.sum(rows, axis=1, keepdims=True, where=known) / count
        effect = np.where(known, (rows - mean) / count, 0.0)
    return units.sums(effect)


def unequal_sizes(rows: Floats, units: Units) -> Floats | None:
    """Return which share of the rows each cluster holds, shape (clusters,), where clusters differ in it.

    None where all that hold any hold the same number, or where it depends on the submission: means then are treated as
    sums over clusters.
    """
    known = ~np.isnan(rows)
    if not (known == known[:1]).all():
        return None
    sizes = units.sums(known[:1].astype(np.float64))[0]
    return None if np.unique(sizes[sizes > 0]).size < 2 else sizes / sizes.sum()


def effective_number(sizes: Floats) -> float:
    """Return how many clusters of one size would tell as much as these."""
    return float(np.square(sizes.sum()) / np.square(sizes).sum())


def standard_error(effect: Floats, units: Units, sizes: Floats | None = None) -> Floats:
    """Return the standard error of values from their influences, (values, clusters) → (values,)."""
    if sizes is not None:
        return np.asarray(Moves(effect, units, sizes)(np.ones((1, len(units.names))))[1][0])
    plain, power = near_one(effect)
    variance = np.zeros(len(effect))
    for stratum in units.strata:
        size = stratum.stop - stratum.start
        if size > 1:
            own = plain[:, stratum] - plain[:, stratum].mean(axis=1, keepdims=True)
            squares = np.einsum("ij,ij->i", own, own)
            spread = squares - np.square(own.sum(axis=1)) / size
            variance += _not_noise(spread, squares) * (size / (size - 1))
    return np.asarray(np.ldexp(np.sqrt(variance), power))


class Moves:
    """How far resamples move values, and the standard errors that they see.

    Parameters
    ----------
    effect
        Influences, shape (values, clusters).
    sizes
        The shares of the rows that clusters hold, where they differ: values then are ratios of sums, and each resample
        finds its error by leaving out one cluster at a time.
    """

    def __init__(self, effect: Floats, units: Units, sizes: Floats | None = None) -> None:
        self._units, self._sizes = units, sizes
        plain, self._power = near_one(effect)
        # Of so many clusters, seven digits of a sum are enough, and are found in half the time.
        self._kind: Any = np.float32 if plain.size > _LARGE else np.float64
        self._parts: list[tuple[slice, Floats, Floats]] = []
        for stratum in units.strata:
            own = plain[:, stratum]
            if sizes is None:
                own = own - own.mean(axis=1, keepdims=True)
            self._parts.append((stratum, own.T.astype(self._kind), np.square(own).T.astype(self._kind)))

    def __call__(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return shifts and errors, each of shape (sets, values), for counts of clusters, shape (sets, clusters)."""
        shift, variance = self._sums(counts) if self._sizes is None else self._ratios(counts, self._sizes)
        return np.ldexp(shift, self._power), np.ldexp(np.sqrt(variance), self._power)

    def _sums(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return shifts and variances of sums over clusters."""
        shift = np.zeros((len(counts), len(self._power)))
        variance = np.zeros_like(shift)
        for stratum, own, squared in self._parts:
            size = stratum.stop - stratum.start
            drawn = counts[:, stratum].astype(self._kind)
            moved = (drawn @ own).astype(np.float64)
            shift += moved
            if size > 1:
                squares = (drawn @ squared).astype(np.float64)
                spread = squares - np.square(moved) / size
                variance += _not_noise(spread, squares, self._kind) * (size / (size - 1))
        return shift, variance

    def _ratios(self, counts: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Return shifts and jackknife variances of Σ counts · effect / Σ counts · sizes."""
        total = counts @ sizes
        drawn = counts.astype(self._kind)
        shift = np.sum([drawn[:, stratum] @ own for stratum, own, _ in self._parts], axis=0, dtype=np.float64)
        shift /= total[:, None]
        variance = np.zeros_like(shift)
        for stratum, own, squared in self._parts:
            size, share = stratum.stop - stratum.start, sizes[stratum]
            if size < 2:
                continue
            rest = np.where(counts[:, stratum] > 0, total[:, None] - share, 1.0)
            # Without cluster c the value is off by x = (effect − shift · size) / rest; below are Σ x and Σ x².
            once, twice = counts[:, stratum] / rest, counts[:, stratum] / np.square(rest)
            sums = once.astype(self._kind) @ own - shift * (once @ share)[:, None]
            whole = np.asarray(twice.astype(self._kind) @ squared, np.float64)
            mixed = (twice * share).astype(self._kind) @ own
            squares = whole + shift * (shift * (twice @ np.square(share))[:, None] - 2 * mixed)
            variance += _not_noise(squares - np.square(sums) / size, whole, self._kind) * ((size - 1) / size)
        return shift, variance


def near_one(effect: Floats) -> tuple[Floats, npt.NDArray[np.intc]]:
    """Return influences over a power of two for each value, and which, so that no square over- or underflows."""
    largest = np.max(np.abs(effect), axis=1, initial=0.0)
    exponent = np.clip(np.where(np.isfinite(largest), np.frexp(largest)[1], 0), -1000, 1000)
    return effect * np.ldexp(1.0, -exponent)[:, None], exponent


def _not_noise(spread: Floats, squares: Floats, kind: Any = np.float64) -> Floats:
    """Return spread, without what cancellation leaves of none at all; `kind` is what sums were computed in."""
    return np.where(spread > _CANCELLED[kind] * squares, spread, 0.0)


def studentised(shift: Floats, error: Floats) -> Floats:
    """Return shift / error; 0 where both are zero, infinite where only the error is."""
    still = np.abs(shift) <= 1e-12 * np.max(np.abs(shift), axis=0, initial=0.0)
    infinite = np.where(still, 0.0, np.copysign(np.inf, shift))
    return np.asarray(np.divide(shift, error, out=infinite, where=error > 0))


def tail(level: float, units: Units) -> float:
    """Return the share beyond each end of a bootstrap-t interval, made a little smaller where clusters are few.

    Resamples of few skewed cases have lighter tails than their population. The correction is the one that Hesterberg
    (2015, The American Statistician 69(4)) gives for percentile intervals, taken over to bootstrap-t because coverage
    needs it, but never more than a fifth of the share: beyond that, resamples of one case repeated would decide.
    """
    from scipy.stats import norm, t

    if not 0 < level < 1:
        raise InputError(f"the level is {level}, but must lie between 0 and 1, as 0.95 does")
    clusters = len(units.names)
    freedom = clusters - len(units.strata)
    if freedom < 1:
        raise InputError("a single case tells nothing about others", advice="Intervals need at least two cases")
    moved = float(norm.cdf(np.sqrt(clusters / freedom) * t.ppf((1 - level) / 2, freedom)))
    return max(moved, 0.8 * (1 - level) / 2)


def quantiles(values: Floats, shares: Floats) -> Floats:
    """Return quantiles over the first axis, shares being (ends, values); of two neighbours the outer one."""
    place = shares * (len(values) + 1)
    index = np.where(shares < 0.5, np.floor(place), np.ceil(place)).astype(np.intp) - 1
    index = np.clip(index, 0, len(values) - 1)
    alike = bool((index == index[:, :1]).all())
    ordered = np.partition(values, index[:, 0], axis=0) if alike and index.size else np.sort(values, axis=0)
    return np.take_along_axis(ordered, index, axis=0)


def bootstrap_t_ends(
    estimate: Floats, error: Floats, t: Floats, *, level: float, units: Units, sizes: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the ends of bootstrap-t intervals from studentised shifts of shape (replicates, values).

    With clusters of unequal size, `sizes`, they reach at least as far as those of Student's t with as many degrees of
    freedom as clusters of one size would have that tell as much, less one: few large clusters decide, and resamples of
    them are alike. Where so many resamples hold nearly one case alone that an end would be set by how near, there is no
    end.
    """
    share = tail(level, units)
    ends = quantiles(t, np.array([[1 - share], [share]]) * np.ones(len(estimate)))
    far, near = np.where(np.abs(ends) > _NO_SCALE, np.copysign(np.inf, ends), ends)
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = (np.where(error > 0, estimate - end * error, estimate) for end in (far, near))
    if sizes is not None:
        from scipy.stats import t as student

        reach = student.ppf((1 + level) / 2, max(effective_number(sizes) - 1, 1.0)) * error
        low, high = np.minimum(low, estimate - reach), np.maximum(high, estimate + reach)
    return low, high


def intervals_of(
    estimate: Floats,
    effect: Floats,
    units: Units,
    shifts: Floats,
    errors: Floats,
    *,
    level: float,
    method: Method,
    sizes: Floats | None = None,
) -> Intervals:
    """Return intervals from what resamples did to values; `shifts` and `errors` have shape (replicates, values)."""
    if method == "bootstrap-t":
        error = standard_error(effect, units, sizes)
        ends = bootstrap_t_ends(estimate, error, studentised(shifts, errors), level=level, units=units, sizes=sizes)
        return Intervals(estimate, *ends)
    if method == "percentile":
        tail(level, units)  # refuses what cannot be
        shares = np.array([[(1 - level) / 2], [(1 + level) / 2]]) * np.ones(len(estimate))
    elif method == "bca":
        shares = _bca_shares(effect, units, shifts, level)
    else:
        raise InputError(f"resamples make no interval {method!r}", advice=f"They make: {', '.join(_RESAMPLED)}")
    low, high = estimate + quantiles(shifts, shares)
    return Intervals(estimate, low, high)


def _bca_shares(effect: Floats, units: Units, shifts: Floats, level: float) -> Floats:
    """Return which quantiles the bias-corrected and accelerated interval takes, shape (2, values)."""
    from scipy.special import ndtr, ndtri

    tail(level, units)
    below = np.mean(shifts < 0, axis=0) + np.mean(shifts == 0, axis=0) / 2
    bias = ndtri(np.clip(below, 0.5 / len(shifts), 1 - 0.5 / len(shifts)))
    # What is not drawn is not at play: strata differ by more than chance.
    centred = np.concatenate([e - e.mean(axis=1, keepdims=True) for e in (effect[:, s] for s in units.strata)], axis=1)
    centred, _ = near_one(centred)
    squares = np.sum(np.square(centred), axis=1)
    cubes = np.sum(centred**3, axis=1)
    acceleration = np.divide(cubes, 6 * squares**1.5, out=np.zeros(len(effect)), where=squares > 0)
    z = bias + ndtri(np.array([[(1 - level) / 2], [(1 + level) / 2]]))
    return np.asarray(ndtr(bias + z / (1 - acceleration * z)))
