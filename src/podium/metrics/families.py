"""What the metrics of each family of segmentation are computed from: for every region of two label maps, at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any, TypeAlias, get_type_hints

import numpy as np
import numpy.typing as npt

from podium.metrics._pairs import MASK, Labels, Regions, Spacing, as_regions, pair_up
from podium.metrics.bands import boundary_bands
from podium.metrics.instances import InstanceOverlaps
from podium.metrics.lesions import LesionComparison
from podium.metrics.overlaps import overlap
from podium.metrics.panoptic import InstanceCounts
from podium.metrics.points import centres
from podium.metrics.skeletons import centre_lines
from podium.metrics.surface import surface_distances
from podium.metrics.topology import topologies
from podium.model import InputError, Metric

__all__ = [
    "Preparation",
    "check_preparation",
    "lesion_comparisons",
    "matched_counts",
    "option_types",
    "preparation_of",
    "threshold_counts",
]

Preparation: TypeAlias = Callable[..., Mapping[str, Any]]
"""From two label maps and `regions` to what is known of each region; further keywords are options."""

_GIVEN = {"regions", "spacing_mm", "weights", "mask"}
"""Keywords that are no options: they come with the data."""


def lesion_comparisons(
    reference: Labels, prediction: Labels, *, regions: Regions, spacing_mm: Spacing | None = None, **options: Any
) -> dict[str, LesionComparison]:
    """Compare the lesions of every region, its connected components; see `LesionComparison.by_contact`."""
    return {
        name: LesionComparison.by_contact(one, two, spacing_mm=spacing, **options)
        for name, one, two, spacing in _masks(reference, prediction, regions, spacing_mm)
    }


def matched_counts(
    reference: Labels, prediction: Labels, *, regions: Regions, spacing_mm: Spacing | None = None, **options: Any
) -> dict[str, InstanceCounts]:
    """Match and count the connected components of every region; see `InstanceCounts.between`."""
    return {
        name: InstanceCounts.between(one, two, spacing_mm=spacing, **options)
        for name, one, two, spacing in _masks(reference, prediction, regions, spacing_mm)
    }


def threshold_counts(
    reference: Labels, prediction: Labels, *, regions: Regions, spacing_mm: Spacing | None = None, **options: Any
) -> dict[str, InstanceCounts]:
    """Count the connected components of every region at several thresholds; see `InstanceCounts.at_thresholds`."""
    return {
        name: InstanceCounts.at_thresholds(InstanceOverlaps.between(one, two, spacing_mm=spacing), **options)
        for name, one, two, spacing in _masks(reference, prediction, regions, spacing_mm)
    }


def _masks(
    reference: Labels, prediction: Labels, regions: Regions, spacing_mm: Spacing | None
) -> Iterator[tuple[str, npt.NDArray[np.bool_], npt.NDArray[np.bool_], tuple[float, ...]]]:
    """Return where each region is in both, within the box around all labels, and the spacing."""
    pair = pair_up(reference, prediction, spacing_mm=spacing_mm)
    spacing = pair.spacing[::-1] if pair.reversed_axes else pair.spacing
    for name, labels in as_regions(regions).items():
        one, two = (mask if mask.size else np.zeros((1,) * mask.ndim, bool) for mask in pair.masks(labels))
        yield name, one, two, spacing


_PREPARATIONS: dict[str, tuple[Preparation, Callable[..., Any]]] = {
    "overlap": (overlap, overlap),
    "surface": (surface_distances, surface_distances),
    "centres": (centres, centres),
    "boundary": (boundary_bands, boundary_bands),
    "centreline": (centre_lines, centre_lines),
    "topology": (topologies, topologies),
    "lesions": (lesion_comparisons, LesionComparison.by_contact),
    "instances": (matched_counts, InstanceCounts.between),
    "segmentation_average_precision": (threshold_counts, InstanceCounts.at_thresholds),
}
"""By family, or by metric where one needs something else: what prepares, and the function that declares its options."""


def preparation_of(metric: Metric[..., Any]) -> Preparation | None:
    """Return what a metric of label maps is computed from, region by region; None if it is of something else."""
    preparation, _ = _PREPARATIONS.get(metric.name) or _PREPARATIONS.get(metric.family) or (None, None)
    return preparation


def check_preparation(metric: Metric[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that what a metric is computed from can use in no image and in no volume: one voxel tells."""
    refusal = None
    if (preparation := preparation_of(metric)) is None:
        return
    for axes in (2, 3):
        voxel = np.ones((1,) * axes, np.uint8)
        try:
            preparation(voxel, voxel, regions=MASK, **options)
        except InputError as error:
            refusal = error
        else:
            return
    if refusal is not None:
        raise refusal


def option_types(metric: Metric[..., Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the options of a metric with their types: its own, and those of what it is computed from.

    Examples
    --------
    >>> from podium.metrics import hausdorff_distance
    >>> own, prepared = option_types(hausdorff_distance)
    >>> sorted(own), sorted(prepared)
    (['interpolation', 'percentile', 'pooled'], ['boundary'])
    """
    _, declaring = _PREPARATIONS.get(metric.name) or _PREPARATIONS.get(metric.family) or (None, None)
    return _options(metric.function), {} if declaring is None else _options(declaring)


@cache
def _options(function: Callable[..., Any]) -> Mapping[str, Any]:
    keywords = {
        name: parameter.annotation
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in _GIVEN
    }
    names = getattr(function, "__globals__", {})
    return MappingProxyType(get_type_hints(SimpleNamespace(__annotations__=keywords), names))
