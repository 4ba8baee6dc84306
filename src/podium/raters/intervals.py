"""A mean over cases with the ends of its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from podium.metrics import metrics
from podium.ranking import mean_intervals

__all__ = ["Interval", "interval_of", "metric_bounds"]


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
    if not numbers:
        return Interval(math.nan, math.nan, math.nan, 0)
    if len(set(clusters)) < 2 or not all(math.isfinite(number) for number in numbers):
        return Interval(sum(numbers) / len(numbers), math.nan, math.nan, len(numbers))
    found = mean_intervals([list(numbers)], level=level, clusters=list(clusters))
    ends = [float(end[0]) for end in (found.low, found.high)]
    low, high = (min(max(end, bounds[0]), bounds[1]) if math.isfinite(end) else end for end in ends)
    return Interval(float(found.estimate[0]), low, high, len(numbers))


def metric_bounds(name: str) -> tuple[float, float]:
    """Return between which values a metric lies; anything, if it is a challenge's own."""
    known = next((metric for metric in metrics() if metric.name == name), None)
    return (known.minimum, known.maximum) if known is not None else (-math.inf, math.inf)
