"""Intervals that respect what values can be, and that know when resamples say too little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.model import Column, Floats
from podium.ranking.inference.bounded import guaranteed_intervals, proved_intervals
from podium.ranking.inference.differences import pair_blocks
from podium.ranking.inference.intervals import Method
from podium.ranking.rule import Rule

__all__ = ["BoundedMeans", "bounded_means", "settled_differences", "settled_intervals"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]

_MOSTLY = 0.5
"""Where more than this share of the values is one and the same, resamples know too little of the others."""

_MOST = 2**25
"""Pairs by cases that are looked at, unless it was asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundedMeans:
    """A criterion that is a mean of values whose range is declared.

    Attributes
    ----------
    means
        Of each cluster, shape (competitors, clusters that it has rows in).
    sizes
        How many rows these clusters have, where they differ.
    rows
        The values themselves, shape (competitors, rows).
    lowest, highest
        The declared range.
    """

    means: Floats
    sizes: Floats | None
    rows: Floats
    lowest: float
    highest: float

    def intervals(self, method: Method, level: float) -> Floats:
        """Return the ends of intervals of the means, shape (2, competitors)."""
        return _ends(method, self.means, self.lowest, self.highest, level, self.sizes)

    def of_differences(self, first: Ints, second: Ints, method: Method, level: float) -> Floats:
        """Return the ends of intervals of the first less the second, shape (2, pairs)."""
        width = self.highest - self.lowest
        between = np.clip(self.means[first] - self.means[second], -width, width)
        return _ends(method, between, -width, width, level, self.sizes)

    def widened(self, ends: Floats, level: float) -> Floats:
        """Return ends of intervals, shape (2, competitors), no narrower than the range allows where values tell little.

        They tell little where most are one and the same, or where resamples know no end.
        """
        weak = self.mostly_one() | np.isinf(ends).any(axis=0)
        return _outer(ends, self.intervals("guaranteed", level), weak) if weak.any() else ends

    def mostly_one(self) -> Bools:
        """Return whose values are mostly one and the same, shape (competitors,)."""
        return _mostly_one(self.rows)

    def mostly_apart_by_one(self, first: Ints, second: Ints) -> Bools:
        """Return which differences are mostly one and the same, zero as a rule, shape (pairs,)."""
        return _mostly_one(self.rows[first] - self.rows[second])


def bounded_means(column: Column, rule: Rule) -> BoundedMeans | None:
    """Return a criterion as a mean of bounded values; None if it is none, or somebody lacks rows that others have."""
    lowest, highest = column.measure.minimum, column.measure.maximum
    if column.rows is None or not column.smooth or not np.isfinite([lowest, highest]).all() or lowest >= highest:
        return None
    rows = column.rows[rule.ranked]
    used = ~np.isnan(rows).all(axis=0)
    rows = rows[:, used]
    if not rows.size or not np.isfinite(rows).all() or rows.min() < lowest or rows.max() > highest:
        return None
    _, cluster = np.unique(rule.units.cluster[used], return_inverse=True)
    counts = np.bincount(cluster).astype(np.float64)
    sums = np.zeros((len(rows), len(counts)))
    np.add.at(sums.T, cluster, rows.T)
    sizes = None if (counts == counts[0]).all() else counts
    return BoundedMeans(np.clip(sums / counts, lowest, highest), sizes, rows, lowest, highest)


def settled_intervals(column: Column, rule: Rule, ends: Floats, *, method: Method, level: float) -> Floats:
    """Return ends of a column's intervals, shape (2, competitors), that respect its range.

    Where the range is declared, it decides by itself under the methods that rest on nothing else; and it makes
    intervals wider where most values are one and the same, or where resamples say nothing.
    """
    bounded = bounded_means(column, rule)
    if bounded is not None:
        resampled = method not in ("guaranteed", "proved")
        ends = bounded.widened(ends, level) if resampled else bounded.intervals(method, level)
    return _cut(ends, column.measure.minimum, column.measure.maximum)


def settled_differences(
    column: Column, rule: Rule, pairs: tuple[Ints, Ints], ends: Floats, *, method: Method, level: float
) -> tuple[Floats, Bools | None]:
    """Return ends of intervals of differences, shape (2, pairs), likewise; and which are apart from zero for certain.

    The latter is None where no range is declared, or where there are too many pairs and cases to find out.
    """
    width = column.measure.maximum - column.measure.minimum
    bounded = bounded_means(column, rule)
    apart = None
    if bounded is not None and (len(pairs[0]) * bounded.means.shape[1] <= _MOST or method in ("guaranteed", "proved")):
        assured, settled = np.empty((2, *ends.shape))
        for block in pair_blocks(len(pairs[0]), rule, 1):
            one, two = pairs[0][block], pairs[1][block]
            own = assured[:, block] = bounded.of_differences(one, two, "guaranteed", level)
            if method == "proved":
                own = bounded.of_differences(one, two, "proved", level)
            elif method != "guaranteed":
                weak = np.isinf(ends[:, block]).any(axis=0) | bounded.mostly_apart_by_one(one, two)
                own = _outer(ends[:, block], own, weak)
            settled[:, block] = own
        ends, apart = settled, (assured[0] > 0) | (assured[1] < 0)
    return _cut(ends, -width, width), apart


def _outer(ends: Floats, other: Floats, where: Bools) -> Floats:
    wider = np.stack([np.fmin(ends[0], other[0]), np.fmax(ends[1], other[1])])
    # An end that resamples know nothing about is the other's.
    wider = np.where(np.isinf(ends), other, wider)
    return np.where(where, wider, ends)


def _cut(ends: Floats, lowest: float, highest: float) -> Floats:
    """Return ends within a range; NaN, both, where one is infinite: there are too few cases to tell."""
    cut = np.where(np.isfinite(ends).all(axis=0), ends, np.nan)
    return np.clip(cut, lowest, highest)


def _ends(method: Method, values: Floats, lowest: float, highest: float, level: float, sizes: Floats | None) -> Floats:
    compute = proved_intervals if method == "proved" else guaranteed_intervals
    return np.stack(compute(values, lowest=lowest, highest=highest, level=level, sizes=sizes)[1:])


def _mostly_one(rows: Floats) -> Bools:
    """Return where more than half of the values are one; it then is the median."""
    ordered = np.sort(rows, axis=1)
    middle = ordered[:, (rows.shape[1] - 1) // 2, None]
    alike = np.abs(rows - middle) <= 1e-12 * np.maximum(np.abs(rows), np.abs(middle))
    return np.asarray(alike.mean(axis=1) > _MOSTLY)
