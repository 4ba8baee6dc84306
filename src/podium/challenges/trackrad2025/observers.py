"""Further observers of a sequence: their files, their agreement, and one truth made of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from podium.challenges.trackrad2025.frames import frame_distances
from podium.challenges.trackrad2025.sequences import LabelSequence, check_shape
from podium.metrics import Centres, DirectedDistances, Overlap, SurfaceDistances
from podium.model import Measure, Value
from podium.raters import fuse, tolerance_mm

__all__ = ["averaged", "fused", "observer_files", "observer_names", "other_metric", "pooled_tolerances"]


def observer_files(labels: Path) -> tuple[Path, ...]:
    """Return the labels of further observers, A_001_labels<observer>.mha, beside A_001_labels.mha."""
    return tuple(sorted(path for path in labels.parent.glob(f"{labels.stem}*.mha") if path != labels))


def observer_names(files: Sequence[Path]) -> tuple[str, ...]:
    """Name the observers after their files: labels, labels2 and so on."""
    return tuple(path.stem[path.stem.rindex("labels") :] for path in files)


def fused(sequences: Sequence[LabelSequence], *, method: str, files: Sequence[Path]) -> LabelSequence:
    """Make one sequence of the labels of all observers."""
    first = sequences[0]
    box = first.box
    for sequence, path in zip(sequences, files, strict=True):
        check_shape(first, sequence, path=path)
        box = sequence.box.union(box if box.upper != (0, 0) else None) if sequence.labels.size else box
    masks = [sequence.within(box).astype(bool) for sequence in sequences]
    one = fuse(masks, method=method, voxels=math.prod(first.shape))
    return replace(first, labels=np.ascontiguousarray(one, np.uint8), box=box)


def averaged(lists: Sequence[Sequence[Value]]) -> list[Value]:
    """Return the mean of every value over observers; a frame counts for those who see a target in it."""
    gathered: dict[tuple[str, str], list[Value]] = {}
    for values in lists:
        for value in values:
            gathered.setdefault((value.metric, value.unit), []).append(value)
    result = []
    for (_, unit), values in gathered.items():
        numbers = [value.value for value in values if value.value is not None]
        first = next((value for value in values if value.value is not None), values[0])
        if numbers:
            reason = first.reason
            if not unit and len(numbers) < len(lists):
                reason = "; ".join(
                    filter(None, [reason, f"{len(lists) - len(numbers)} of {len(lists)} observers give no value"])
                )
            measured = [value.value if value.measured is None else value.measured for value in values]
            mean, raw = (_mean([number for number in counted if number is not None]) for counted in (numbers, measured))
            first = replace(first, value=mean, reason=reason, measured=None if raw == mean else raw)
        result.append(first)
    return result


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def pooled_tolerances(
    one: LabelSequence, other: LabelSequence, percentiles: Sequence[float]
) -> dict[tuple[str, float], float]:
    """Return tolerances in mm between two observers, over the boundary pixels of all frames together.

    NaN if a frame has a target for one of them only.
    """
    if not percentiles:
        return {}
    nothing = DirectedDistances(np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
    pooled = SurfaceDistances(nothing, nothing, "voxel")
    if np.array_equal(one.present, other.present):
        distances = list(frame_distances(one, other))
        if distances:
            sides = [_together([frame.directed[side] for frame in distances]) for side in (0, 1)]
            pooled = SurfaceDistances(sides[0], sides[1], "voxel")
    return {("", level): tolerance_mm(pooled, percentile=level) for level in percentiles}


def _together(parts: Sequence[DirectedDistances]) -> DirectedDistances:
    distances, place = np.unique(np.concatenate([part.distances for part in parts]), return_inverse=True)
    sizes = np.bincount(place, np.concatenate([part.sizes for part in parts])).astype(np.float64)
    counts = np.bincount(place, np.concatenate([part.counts for part in parts])).astype(np.int64)
    return DirectedDistances(distances, sizes, counts)


def other_metric(measure: Measure, one: LabelSequence, other: LabelSequence) -> float:
    """Return the mean of any metric over the frames in which either observer sees a target."""
    numbers = []
    spacing = one.spacing_mm
    known: dict[str, Callable[..., Any]] = {
        "overlap": Overlap.between,
        "surface": partial(SurfaceDistances.between, boundary="voxel"),
        "centres": Centres.between,
    }
    family = measure.metric.family if measure.metric else ""
    for index in np.flatnonzero(one.present | other.present).tolist():
        masks = one.frame(index), other.frame(index)
        numbers.append(measure({family: known[family](*masks, spacing_mm=spacing)}))
    return _mean(numbers)
