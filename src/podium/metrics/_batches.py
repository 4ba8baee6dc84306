"""Batches of masks as they are given: lists or tensors, checked alike wherever they lie; and options of MONAI's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._pairs import Spacing
from podium.metrics.distances import (
    average_symmetric_surface_distance,
    hausdorff_distance,
    mean_average_surface_distance,
    surface_dice,
)
from podium.metrics.overlaps import Overlap, dice, overlap
from podium.metrics.surface import Boundary, SurfaceDistances, surface_distances
from podium.model import InputError

Members = Sequence[Sequence[int]]

_REDUCTIONS = ("mean", "mean_batch", "mean_channel", "none")
_ELSEWHERE: dict[str, tuple[Any, str]] = {
    "directed": (False, "surface_distances(…) has both directions: from_reference and from_prediction"),
    "distance_metric": ("euclidean", "Distances are Euclidean: say distance_metric='euclidean', or leave it out"),
    "get_not_nans": (False, "Every case counts, and none is NaN: leave it out"),
    "ignore_empty": (
        False,
        "What is empty counts with the value that the metric declares: leave such cases out before",
    ),
    "ignore_index": (None, "Set the voxels that shall not count to 0 in both masks"),
    "num_classes": (None, "Give one-hot channels, or label maps with regions={…}"),
    "per_component": (False, "podium.metrics has metrics of single lesions: lesion_wise_dice and others"),
    "return_with_label": (False, "aggregate('mean_batch') has a number for every channel"),
    "symmetric": (True, "Say symmetric=True; measure_batch(…).table[..., 5] is the mean from the prediction alone"),
}
"""Options of MONAI's metrics that are understood at one value only, and what to do instead of others."""


def refuse_options(**given: Any) -> None:
    """Refuse options of MONAI's at values that mean what is not measured here."""
    for name, value in given.items():
        if name not in _ELSEWHERE:
            raise InputError(
                f"there is no option called {name!r}", advice="help() of the class has those that there are"
            )
        harmless, advice = _ELSEWHERE[name]
        if value != harmless:
            raise InputError(f"{name}={value!r} is not supported", advice=advice)


def as_reduction(reduction: Any) -> str:
    """Return the name of a reduction, also of MONAI's enumeration."""
    name = getattr(reduction, "value", reduction)
    if name not in _REDUCTIONS:
        raise InputError(
            f"there is no reduction called {name!r}", advice=f"It is one of {', '.join(_REDUCTIONS)}; see .values too"
        )
    return str(name)


def as_batches(prediction: Any, reference: Any, spacing_mm: Any) -> list[tuple[Any, Any, Any]]:
    """Return batches of one shape and spacing: what is given, or every item where there are lists or many spacings."""
    several = _is_by_item(spacing_mm)
    listed = any(isinstance(masks, list | tuple) for masks in (prediction, reference))
    if not all(isinstance(masks, list | tuple) or getattr(masks, "shape", ()) for masks in (prediction, reference)):
        raise InputError("masks are batches, or lists of channel-first tensors, and these are neither")
    if not several and not listed:
        return [(prediction, reference, spacing_mm)]
    pair = list(prediction), list(reference)
    spacings = list(spacing_mm) if several else [spacing_mm] * len(pair[1])
    if not len(pair[0]) == len(pair[1]) == len(spacings):
        said = f"{len(pair[0])} predictions, {len(pair[1])} references and {len(spacings)} spacings are given"
        raise InputError(said, advice="There must be as many of each")
    if not spacings:
        raise InputError("an empty list is given", advice="Leave out updates without masks")
    for item in (*pair[0], *pair[1]):
        if not hasattr(item, "shape"):
            raise InputError(f"a list must hold tensors, not {type(item).__name__}")
    return [(p[None], r[None], spacing) for p, r, spacing in zip(*pair, spacings, strict=True)]


def _is_by_item(spacing_mm: Any) -> bool:
    """Return whether there is a spacing for every item, and not one for all."""
    if hasattr(spacing_mm, "ndim"):
        return bool(spacing_mm.ndim > 1)
    return isinstance(spacing_mm, list | tuple) and any(
        isinstance(part, list | tuple) or getattr(part, "ndim", 0) > 0 for part in spacing_mm
    )


def check_batch(reference: Any, prediction: Any, labels: Members | None) -> None:
    """Refuse what are no two batches of the same shape."""
    for masks in (reference, prediction):
        if len(masks.shape) not in ((4, 5) if labels is None else (3, 4)):
            said = "masks are (batch, channel, [z,] y, x)" if labels is None else "label maps are (batch, [z,] y, x)"
            raise InputError(f"{said}, and these have {len(masks.shape)} axes")
    one, two = (" × ".join(map(str, masks.shape)) for masks in (reference, prediction))
    if one != two:
        raise InputError(
            f"the prediction is {two}, the reference {one}",
            advice="Both must have the same items and channels, and lie on the same grid",
        )
    if 0 in reference.shape:
        raise InputError(f"there is nothing to measure in a batch of {one}", advice="Leave out empty batches")
    if labels is not None and not labels:
        raise InputError("there are no regions", advice="Name labels: regions={'organ': (1, 2)}")


def overlaps_of(one: npt.NDArray[Any], two: npt.NDArray[Any], labels: Members | None) -> list[Overlap]:
    """Return voxel counts of every region of a pair; without labels, regions are channels."""
    if labels is None:
        return [Overlap.between(r, p) for r, p in zip(one, two, strict=True)]
    return list(overlap(one, two, regions=_named(labels)).values())


def measured_rows(
    one: npt.NDArray[Any],
    two: npt.NDArray[Any],
    labels: Members | None,
    *,
    spacing_mm: Spacing | None,
    boundary: Boundary,
    percentile: float,
    tolerances_mm: Sequence[float],
) -> list[list[float]]:
    """Return Dice, and what a table of `BatchMeasurement` has, of every region of a pair."""
    if labels is None:
        distances = [
            SurfaceDistances.between(r, p, spacing_mm=spacing_mm, boundary=boundary)
            for r, p in zip(one, two, strict=True)
        ]
    else:
        measured = surface_distances(one, two, regions=_named(labels), spacing_mm=spacing_mm, boundary=boundary)
        distances = list(measured.values())
    return [
        [
            dice(counted),
            hausdorff_distance(apart, percentile=percentile),
            hausdorff_distance(apart),
            average_symmetric_surface_distance(apart),
            mean_average_surface_distance(apart),
            apart.from_reference.mean,
            apart.from_prediction.mean,
            *(surface_dice(apart, tolerance_mm=tolerance) for tolerance in tolerances_mm),
        ]
        for apart, counted in zip(distances, overlaps_of(one, two, labels), strict=True)
    ]


def _named(labels: Members) -> dict[str, Sequence[int]]:
    return {str(place): members for place, members in enumerate(labels)}


def as_array(array: Any) -> npt.NDArray[Any]:
    """Return what lies in the main memory as an array of NumPy, which has no numbers of brain floating point."""
    if hasattr(array, "is_floating_point") and array.is_floating_point() and str(array.dtype) not in _OF_NUMPY:
        array = array.float()
    try:
        return np.asarray(array)
    except (TypeError, ValueError, RuntimeError):
        said = f"NumPy makes no array of this {type(array).__name__}"
        raise InputError(said, advice="Give a dense tensor of real numbers") from None


_OF_NUMPY = ("torch.float16", "torch.float32", "torch.float64")
