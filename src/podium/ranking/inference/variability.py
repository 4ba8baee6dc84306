"""Are algorithms already as good as people? Each is compared with them case by case, and in one way everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium.model import Direction, Floats
from podium.ranking.inference.intervals import mean_intervals

__all__ = ["Interval", "compared_with_people", "interval_of", "within_variability"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, the ends of its interval (NaN where there is none), and over how many cases it runs."""

    mean: float
    low: float
    high: float
    cases: int

    @property
    def vague(self) -> bool:
        """Return whether there are too few cases for both ends."""
        return not (math.isfinite(self.low) and math.isfinite(self.high))


def interval_of(
    numbers: Sequence[float],
    *,
    clusters: Sequence[str],
    level: float = 0.95,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """Return the mean of numbers, one per case, and its bootstrap interval over clusters of cases.

    A single cluster has no interval, nor has a mean of what is infinite. An end beyond the bounds of what is possible
    at all, as few cases give it, becomes the bound; an infinite end says that there are too few, and stays.
    """
    if not len(numbers):
        return Interval(math.nan, math.nan, math.nan, 0)
    if len(set(clusters)) < 2 or not all(math.isfinite(number) for number in numbers):
        return Interval(sum(numbers) / len(numbers), math.nan, math.nan, len(numbers))
    intervals = mean_intervals([list(numbers)], level=level, clusters=list(clusters))
    ends = [float(end[0]) for end in (intervals.low, intervals.high)]
    low, high = (min(max(end, bounds[0]), bounds[1]) if math.isfinite(end) else end for end in ends)
    return Interval(float(intervals.estimate[0]), low, high, len(numbers))


def compared_with_people(
    values: Floats,
    people: Floats,
    *,
    clusters: Sequence[str],
    level: float = 0.95,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """Return the mean difference of a submission to people over the cases that both have, and its interval.

    Parameters
    ----------
    values, people
        One number per case; NaN where there is none. Both measured against the same plausible truths.
    clusters
        What each case is drawn with.
    bounds
        Of the measure itself.
    """
    both = ~(np.isnan(values) | np.isnan(people))
    with np.errstate(invalid="ignore"):
        differences = (values - people)[both].tolist()
    span = bounds[1] - bounds[0]
    own = [cluster for cluster, known in zip(clusters, both.tolist(), strict=True) if known]
    return interval_of(differences, clusters=own, level=level, bounds=(-span, span))


def within_variability(difference: Interval, direction: Direction) -> bool | None:
    """Return whether a submission is as good as people: unless its interval lies wholly on the worse side.

    None where there are too few cases for the deciding end, or a value is infinite, so that nobody can tell.
    """
    better = difference.high if direction is Direction.HIGHER else -difference.low
    return better >= 0 if math.isfinite(better) else None
