"""The parts that rankings are built from. All take a leading axis of weight sets, shape (sets, rows).

The published ranking is the case of all weights one; a bootstrap is the same call with other weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from podium.model import Column, Cube, Direction, Floats, InputError, Measure, Scores

__all__ = [
    "AVERAGE_RANK",
    "average_of_ranks",
    "behind_fewer_failures",
    "column_ranks",
    "competition_ranks",
    "counted_seconds",
    "exceeds",
    "in_order",
    "levelled",
    "loading_line",
    "mean_column",
    "mean_rank",
    "mean_scales",
    "min_max_score",
    "several_lengths",
    "tie_broken_ranks",
    "weighted_mean",
    "weighted_sum",
    "with_ranks",
]

AVERAGE_RANK = Measure("average_rank", "Average rank", Direction.LOWER, digits=2)
"""The column of those who average ranks."""

EQUAL = 1e-12
"""Two neighbours are equal where they differ by at most this share of the larger of their scales."""

Ties = Literal["minimum", "average"]
"""Which rank equals share: the better one (1, 2, 2, 4), or the mean of theirs (1, 2.5, 2.5, 4)."""


def weighted_sum(values: Floats, weights: Floats) -> Floats:
    """Return Σ w·x over rows, what is not defined counting nothing: (submissions, rows) → (sets, submissions).

    The sum is infinite where an infinite value has a weight.
    """
    infinite = np.isinf(values)
    known = np.where(np.isnan(values) | infinite, 0.0, values)
    if len(weights) == 1:  # summed row by row, so that nobody's last digit depends on who else takes part
        sums = np.asarray(np.sum(np.ascontiguousarray(known * weights), axis=1))[None]
    else:
        sums = np.asarray(weights @ known.T)
    if infinite.any():
        with np.errstate(invalid="ignore"):  # both infinities have no sum
            for end in (np.inf, -np.inf):
                sums = sums + np.where(weights @ (values == end).T.astype(np.float64) > 0, end, 0.0)
    return sums


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over the rows where a value is defined; NaN where none is.

    Parameters
    ----------
    values
        Shape (submissions, rows); NaN where not defined.
    weights
        Shape (sets, rows).

    Returns
    -------
    ndarray
        Shape (sets, submissions).
    """
    total = weights @ (~np.isnan(values)).astype(np.float64).T
    sums = weighted_sum(values, weights)
    return np.asarray(np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0))


def mean_scales(rows: Floats, weights: Floats) -> Floats:
    """Return the mean absolute value of the terms of weighted means: (submissions, rows) → (sets, submissions).

    It is the scale on which rounding errors of a mean, and so equal means, are recognised.
    """
    return weighted_mean(np.abs(rows), weights)


def mean_column(measure: Measure, rows: Floats, weights: Floats, **more: Any) -> Column:
    """Return the column of a weighted mean, with what it is the mean of and the scales by which its equals are told.

    Parameters
    ----------
    measure
        Of the column.
    rows
        Shape (submissions, rows); NaN where not defined.
    weights
        Shape (sets, rows).
    more
        Other attributes of the column.
    """
    values = weighted_mean(rows, weights)
    scales = np.abs(values)
    mixed = (rows > 0).any(axis=1) & (rows < 0).any(axis=1)  # with one sign, the mean has the magnitude of its terms
    if mixed.any():
        scales[:, mixed] = mean_scales(rows[mixed], weights)
    return Column(measure, values, rows=rows, scales=scales, **more)


def in_order(values: Floats, scales: Floats | None = None) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the ascending order along the last axis, and the values in it, equals made equal.

    Two neighbours are equal where they differ by at most 1e-12 of the larger of their two scales; equality is handed on
    along the list, and all of such a chain have the value of its first. NaN comes last, after infinity.

    Parameters
    ----------
    values
        Shape (…, submissions).
    scales
        The mean absolute value of the terms that each value is the mean of, same shape; by default its own magnitude.
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    size = np.abs(ordered) if scales is None else np.take_along_axis(scales, order, axis=-1)
    first = np.ones(ordered.shape, bool)
    first[..., 1:] = ~_same(ordered[..., :-1], ordered[..., 1:], np.maximum(size[..., :-1], size[..., 1:]))
    place = np.maximum.accumulate(np.where(first, np.arange(values.shape[-1]), 0), axis=-1)
    return order, np.take_along_axis(ordered, place, axis=-1)


def _same(low: Floats, high: Floats, scale: Floats) -> npt.NDArray[np.bool_]:
    """Return where the second is not greater than the first by more than equals may differ; NaN is like nothing."""
    with np.errstate(invalid="ignore", over="ignore"):
        step = high - low
    return np.asarray((low == high) | ((step <= EQUAL * scale) & np.isfinite(step)))


def levelled(values: Floats, scales: Floats | None = None) -> Floats:
    """Return values in which all that are equal but for rounding, along the last axis, are equal; see `in_order`.

    Examples
    --------
    >>> levelled(np.array([0.1 + 0.2, 1e15, 0.3])).tolist()
    [0.3, 1000000000000000.0, 0.3]
    """
    order, ordered = in_order(values, scales)
    result = np.empty(ordered.shape)
    np.put_along_axis(result, order, ordered, axis=-1)
    return result


def exceeds(values: npt.ArrayLike, limits: npt.ArrayLike, scales: npt.ArrayLike | None = None) -> npt.NDArray[np.bool_]:
    """Return which values are greater than their limits by more than equals may differ.

    Examples
    --------
    >>> exceeds([0.1 + 0.2, 0.31], 0.3)
    array([False,  True])
    """
    high, low = np.asarray(values, np.float64), np.asarray(limits, np.float64)
    scale = np.maximum(np.abs(high), np.abs(low)) if scales is None else np.asarray(scales, np.float64)
    return np.asarray((high > low) & ~_same(low, high, scale))


def competition_ranks(
    values: Floats,
    *,
    direction: Direction,
    among: Sequence[bool] | None = None,
    scales: Floats | None = None,
    ties: Ties = "minimum",
) -> Floats:
    """Return competition ranks along the last axis: 1 is best, equals share the better rank (1, 2, 2, 4).

    Parameters
    ----------
    values
        Shape (…, submissions). NaN, no value, comes after every value.
    direction
        HIGHER or LOWER is better.
    among
        Which submissions are ranked; the others get NaN and shift nobody.
    scales
        By which equals are told, see `in_order`; needed where values are means of terms of both signs.
    ties
        "average" lets equals share the mean of their ranks instead (1, 2.5, 2.5, 4).

    Examples
    --------
    >>> competition_ranks(np.array([0.9, 0.7, 0.9, 0.8]), direction=Direction.HIGHER)
    array([1., 4., 1., 3.])
    """
    chosen = np.ones(values.shape[-1], bool) if among is None else np.asarray(among, bool)
    keys = -values[..., chosen] if direction is Direction.HIGHER else values[..., chosen]
    order, ordered = in_order(keys, None if scales is None else scales[..., chosen])
    numbers = np.arange(1.0, keys.shape[-1] + 1)
    # The rank of a value is the place of the first of its equals. Those without a value are equals, too.
    first = np.ones(keys.shape, bool)
    first[..., 1:] = (ordered[..., 1:] != ordered[..., :-1]) & ~np.isnan(ordered[..., :-1])
    places = np.maximum.accumulate(np.where(first, numbers, 0.0), axis=-1)
    if ties == "average":
        last = np.roll(first, -1, axis=-1)  # the very first of all is the first of its equals
        ends = np.minimum.accumulate(np.where(last, numbers, np.inf)[..., ::-1], axis=-1)[..., ::-1]
        places = (places + ends) / 2
    result = np.full(values.shape, np.nan)
    ranks = np.empty(keys.shape)
    np.put_along_axis(ranks, order, places, axis=-1)
    result[..., chosen] = ranks
    return result


def column_ranks(column: Column, *, among: Sequence[bool] | None = None, ties: Ties = "minimum") -> Floats:
    """Return the ranks that a column gives, by the direction of its measure and on its scales."""
    return competition_ranks(
        column.values, direction=column.measure.direction, among=among, scales=column.scales, ties=ties
    )


def tie_broken_ranks(
    values: Floats,
    breaker: Floats,
    *,
    direction: Direction,
    among: Sequence[bool] | None = None,
    scales: Floats | None = None,
) -> Floats:
    """Return competition ranks of values; among equals, a smaller breaker comes first, and none at all comes last.

    `scales` are those of values, see `in_order`.
    """
    first = competition_ranks(values, direction=direction, among=among, scales=scales)
    second = competition_ranks(breaker, direction=Direction.LOWER, among=among)
    return competition_ranks(first + second / (1.0 + values.shape[-1]), direction=Direction.LOWER, among=among)


def mean_rank(ranks: Mapping[str, Floats], importance: Mapping[str, float] | None = None) -> Floats:
    """Return the mean of ranks in several lists, each counting by its importance, 1 unless said otherwise."""
    shares = {name: (importance or {}).get(name, 1.0) for name in ranks}
    total = sum(shares.values())
    if not total > 0:
        raise InputError("no list of ranks counts anything")
    return np.asarray(sum(share * ranks[name] for name, share in shares.items() if share > 0) / total)


def with_ranks(columns: Iterable[Column], ranks: Mapping[str, Floats], *, digits: int = 0) -> list[Column]:
    """Return columns, each followed by the rank that it gives, shown to so many decimals."""
    followed = []
    for column in columns:
        measure = replace(Measure.rank_of(column.measure), digits=digits)
        followed += [column, Column(measure, ranks[column.name], relative=True)]
    return followed


def average_of_ranks(
    criteria: Sequence[Column], *, among: Sequence[bool], emphasis: Mapping[str, float], more: Sequence[Column] = ()
) -> Scores:
    """Rank by every criterion, average the ranks, and let the lowest average win.

    Parameters
    ----------
    criteria
        Each judged by the direction of its measure.
    among
        Who is ranked.
    emphasis
        By how much a criterion counts, by its name, 1 unless said otherwise; 0 drops it.
    more
        Columns that are shown besides.
    """
    ranks = {column.name: column_ranks(column, among=among) for column in criteria}
    average = mean_rank(ranks, emphasis)
    shares = {column.name: emphasis.get(column.name, 1.0) for column in criteria}
    return Scores(
        competition_ranks(average, direction=Direction.LOWER, among=among),
        (Column(AVERAGE_RANK, average, relative=True), *with_ranks(criteria, ranks), *more),
        tuple(replace(c, importance=shares[c.name]) for c in criteria if shares[c.name] > 0),
    )


def min_max_score(values: Floats, *, lowest: float, highest: float, among: Sequence[bool]) -> Floats:
    """Return 100 for the smallest and 0 for the largest of the values, clipped to a range before.

    Shape (…, submissions). The extremes run over `among`. If all of them are equal: 100 below the upper end of the
    range, else 0. NaN, no value, counts as the upper end, for the extremes as well.
    """
    clipped = np.clip(np.where(np.isnan(values), highest, values), lowest, highest)
    chosen = np.asarray(among, bool)
    # Equal times may differ by the rounding of their sums, which must not part 100 points from none.
    clipped[..., chosen] = levelled(clipped[..., chosen])
    least = np.min(clipped[..., chosen], axis=-1, keepdims=True, initial=np.inf)
    most = np.max(clipped[..., chosen], axis=-1, keepdims=True, initial=-np.inf)
    spread = np.where(most > least, most - least, 1.0)
    equal = np.where(exceeds(highest, clipped), 100.0, 0.0)
    score = np.where(most > least, (most - clipped) / spread * 100, equal)
    return np.asarray(np.clip(score, 0.0, 100.0))


def loading_line(seconds: Floats, frames: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Fit seconds = loading + rate · frames by weighted least squares, for every submission.

    Parameters
    ----------
    seconds
        Shape (submissions, rows); NaN where a submission has no timing.
    frames
        Frames of each row, shape (rows,).
    weights
        Shape (sets, rows).

    Returns
    -------
    loading, rate
        Shape (sets, submissions); NaN where no row counts. With fewer than two distinct frame counts, loading is 0
        and the rate the ratio of the sums.
    """
    defined = (~np.isnan(seconds)).astype(np.float64)
    centre = frames.mean()
    offset = frames - centre  # keeps the sums small, and so exact
    count = weights @ defined.T
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_offset = weighted_sum(defined * offset, weights) / count
        mean_seconds = weighted_sum(seconds, weights) / count
        spread = weighted_sum(defined * np.square(offset), weights) / count - np.square(mean_offset)
        joint = weighted_sum(seconds * offset, weights) / count - mean_offset * mean_seconds
        distinct = several_lengths(frames, defined, weights)
        rate = np.where(distinct, joint / spread, mean_seconds / (mean_offset + centre))
        loading = np.where(distinct, mean_seconds - rate * (mean_offset + centre), 0.0)
    return np.where(count > 0, loading, np.nan), np.where(count > 0, rate, np.nan)


def several_lengths(frames: Floats, defined: Floats, weights: Floats) -> npt.NDArray[np.bool_]:
    """Return whether the rows that count have at least two frame counts, shape (sets, submissions)."""
    kinds = np.stack([(frames == kind).astype(np.float64) for kind in np.unique(frames)])
    present = [(weights @ (defined * kind).T) > 0 for kind in kinds]
    return np.asarray(np.sum(present, axis=0) > 1)


def counted_seconds(cube: Cube) -> Floats:
    """Return the seconds that count for every row, shape (submissions, rows).

    A row that failed, in whole or in part, counts the submission's slowest row, failed ones included, so that neither a
    fast crash nor spoiling a slow case pays. A time missing for any row is no timing at all: NaN everywhere. Both are
    decided on the full data, whatever weights rows have later.
    """
    slowest = np.max(cube.seconds, axis=1, keepdims=True, initial=-np.inf)
    timed = ~np.isnan(cube.seconds).any(axis=1, keepdims=True)
    return np.where(timed, np.where(cube.failed, slowest, cube.seconds), np.nan)


def behind_fewer_failures(
    places: Floats, failed: npt.NDArray[np.bool_], weights: Floats, *, among: Sequence[bool]
) -> Floats:
    """Return places in which whoever failed fewer rows comes first, and only equals are parted by their places.

    Parameters
    ----------
    places
        Shape (sets, submissions).
    failed
        Which rows failed, shape (submissions, rows).
    weights
        Shape (sets, rows).
    among
        Who is ranked.
    """
    failures = weighted_sum(failed.astype(np.float64), weights)
    return tie_broken_ranks(failures, places, direction=Direction.LOWER, among=among)


def as_ones(rows: int) -> npt.NDArray[np.float64]:
    """Return the weights of the published ranking."""
    return np.ones((1, rows))
