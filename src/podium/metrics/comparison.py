"""Every segmentation metric for every region of two label maps, each read once."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from podium.metrics._pairs import Labels, Regions
from podium.metrics.overlap import Overlap, overlap
from podium.metrics.points import Centres, centres
from podium.metrics.registry import metrics
from podium.metrics.surface import Boundary, SurfaceDistances, surface_distances
from podium.model import Metric

__all__ = ["Comparison", "Measured", "compare"]


@dataclass(frozen=True)
class Measured:
    """One value of one metric: `value = metric(…, **options)`."""

    metric: Metric[..., Any]
    options: Mapping[str, float]
    value: float

    @cached_property
    def name(self) -> str:
        """Return a name unique within a region, such as dice or surface_dice@1mm."""
        return self.metric.name + "".join(f"@{_short(value)}mm" for value in self.options.values())

    @cached_property
    def title(self) -> str:
        """Return the name for people."""
        return self.metric.title + "".join(f" at {_short(value)} mm" for value in self.options.values())


@dataclass(frozen=True)
class Comparison:
    """What was measured of one region."""

    overlap: Overlap
    surface: SurfaceDistances
    centres: Centres
    values: tuple[Measured, ...]


def compare(
    reference: Labels,
    prediction: Labels,
    *,
    regions: Regions,
    spacing_mm: Sequence[float] | None = None,
    boundary: Boundary = "surfel",
    tolerances_mm: Sequence[float] = (1.0,),
) -> dict[str, Comparison]:
    """Measure every region, a set of labels, of two label maps with every segmentation metric there is.

    Parameters
    ----------
    reference, prediction
        Label maps, or arrays of whole numbers, of the same 2-D or 3-D shape.
    regions
        Name and labels of each region.
    spacing_mm
        Millimetres per axis; by default the reference's, or 1 for arrays.
    boundary
        Which boundary the surface distances are between; see `podium.metrics.surface`.
    tolerances_mm
        Tolerances of the surface Dice.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[0, 1, 1], [2, 1, 1]])
    >>> both = compare(labels, labels, regions={"everything": (1, 2)})
    >>> {measured.name: measured.value for measured in both["everything"].values}["dice"]
    1.0
    """
    overlaps = overlap(reference, prediction, regions=regions, spacing_mm=spacing_mm)
    surfaces = surface_distances(reference, prediction, regions=regions, spacing_mm=spacing_mm, boundary=boundary)
    middles = centres(reference, prediction, regions=regions, spacing_mm=spacing_mm)
    result = {}
    for name in regions:
        measured = {"overlap": overlaps[name], "surface": surfaces[name], "centres": middles[name]}
        values = [
            Measured(metric, options, metric(measured[family], **options))
            for family in measured
            for metric in metrics(family=family)
            for options in _options(metric, tolerances_mm)
        ]
        result[name] = Comparison(overlaps[name], surfaces[name], middles[name], tuple(values))
    return result


def _short(value: float) -> str:
    """Return a number as short as it can be written without becoming another."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))


def _options(metric: Metric[..., Any], tolerances_mm: Sequence[float]) -> list[dict[str, float]]:
    if "tolerance_mm" in inspect.signature(metric.function).parameters:
        return [{"tolerance_mm": tolerance} for tolerance in tolerances_mm]
    return [{}]
