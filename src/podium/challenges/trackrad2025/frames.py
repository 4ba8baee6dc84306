"""What is measured of every frame: Dice, HD95, MASD and centre distance, in both editions of the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.challenges.trackrad2025.sequences import LabelSequence
from podium.metrics import (
    Centres,
    Overlap,
    SurfaceDistances,
    centre_distance,
    dice,
    hausdorff_distance_95,
    mean_average_surface_distance,
    surface_distances,
)
from podium.model import Floats

__all__ = ["METRICS", "Frames", "centres", "empty_value", "frame_distances", "measure_frames"]

METRICS = ("dice", "hd95", "masd", "centre_distance")

_AT_ONCE = 8
_BITS = tuple(tuple(label for label in range(256) if label >> bit & 1) for bit in range(_AT_ONCE))
"""The labels in which each bit is set."""


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """The numbers of every frame of a sequence.

    Attributes
    ----------
    values
        For each of METRICS one number per frame; NaN where the reference is empty. In `document`, what is worse than
        the price of an empty frame counts as that.
    measured
        The numbers as they were measured.
    listed
        The frames with a reference, in the order in which the edition lists them.
    averaged
        Those of them that enter the mean.
    shifts
        Predicted minus true centre in pixels, for each frame in which both are present, shape (frames, 2).
    """

    values: dict[str, Floats]
    measured: dict[str, Floats]
    listed: npt.NDArray[np.intp]
    averaged: npt.NDArray[np.intp]
    shifts: Floats


def measure_frames(truth: LabelSequence, prediction: LabelSequence, *, edition: str) -> Frames:
    """Measure a prediction frame by frame; both sequences have the same shape."""
    code = edition == "code"
    box = truth.box.union(prediction.box if prediction.labels.size else None)
    labels = truth.within(box), prediction.within(box)
    masks = [sequence.astype(bool) for sequence in labels]
    # The organisers' code sums raw values, so that a mask of 0 and 255 weighs 255 times as much, and knows no spacing.
    weights = labels if code else tuple(mask.view(np.uint8) for mask in masks)
    spacing = (1.0, 1.0) if code else truth.spacing_mm
    totals = [sequence.sum(axis=(1, 2), dtype=np.int64) for sequence in weights]
    middles = [centres(sequence, total, box.lower) for sequence, total in zip(weights, totals, strict=True)]
    present, predicted = (total > 0 for total in totals)
    both, missed = np.flatnonzero(present & predicted), np.flatnonzero(present & ~predicted)

    values = {metric: np.full(truth.shape[0], np.nan) for metric in METRICS}
    for metric in METRICS:
        values[metric][missed] = empty_value(truth, metric, edition=edition)
    common = np.count_nonzero(masks[0] & masks[1], axis=(1, 2))
    for frame in both.tolist():
        counts = Overlap(int(common[frame]), int(totals[0][frame]), int(totals[1][frame]))
        values["dice"][frame] = dice(counts)
        values["centre_distance"][frame] = centre_distance(Centres(middles[0][frame], middles[1][frame], spacing))
    if code:  # it crops both to a box whose upper bounds are clipped to the number of rows, on either axis
        masks = [mask[:, :, : max(truth.shape[1] - box.lower[1], 0)] for mask in masks]
    average = _one_way if code else mean_average_surface_distance
    values["hd95"][both] = values["masd"][both] = np.inf  # stays where that crop loses a boundary
    for frame, distances in _surfaces(masks, both.tolist(), spacing):
        if not distances.empty:
            values["hd95"][frame] = hausdorff_distance_95(distances)
            values["masd"][frame] = average(distances)
    if code:
        for metric in ("dice", "hd95", "masd"):
            values[metric] = values[metric].astype(np.float32).astype(np.float64)
    listed = np.concatenate([both, missed]) if code else np.flatnonzero(present)
    counted = values
    if not code:
        prices = {metric: empty_value(truth, metric, edition=edition) for metric in METRICS}
        counted = {m: v if m == "dice" else np.minimum(v, prices[m]) for m, v in values.items()}
    shifts = middles[1][both] - middles[0][both]
    return Frames(counted, values, listed, listed[1:] if code else listed, shifts)


def frame_distances(truth: LabelSequence, prediction: LabelSequence) -> Iterator[SurfaceDistances]:
    """Measure the distances between the boundaries in every frame where both have a target."""
    box = truth.box.union(prediction.box if prediction.labels.size else None)
    masks = [sequence.within(box).astype(bool) for sequence in (truth, prediction)]
    both = np.flatnonzero(truth.present & prediction.present).tolist()
    for _, distances in _surfaces(masks, both, truth.spacing_mm):
        yield distances


def empty_value(truth: LabelSequence, metric: str, *, edition: str) -> float:
    """Return what a frame costs in which nothing is predicted: Dice 0, distances the image's longer side in mm."""
    if metric == "dice":
        return 0.0
    spacing = (1.0, 1.0) if edition == "code" else truth.spacing_mm
    return float(max(count * step for count, step in zip(truth.shape[1:], spacing, strict=True)))


def centres(
    labels: npt.NDArray[np.unsignedinteger[Any]], totals: npt.NDArray[np.int64], lower: tuple[int, ...]
) -> Floats:
    """Return the centre of mass of every frame in pixels of the whole image; NaN where it is empty."""
    result = np.full((labels.shape[0], 2), np.nan)
    for axis in (0, 1):
        profile = labels.sum(axis=2 - axis, dtype=np.int64)
        moments = profile @ (np.arange(profile.shape[1]) + lower[axis])
        np.divide(moments, totals, out=result[:, axis], where=totals > 0)
    return result


def _surfaces(
    masks: Sequence[npt.NDArray[np.bool_]], frames: list[int], spacing: tuple[float, float]
) -> Iterator[tuple[int, SurfaceDistances]]:
    """Measure the distances between the boundaries of reference and prediction in some frames.

    Eight frames at once: each becomes one bit of a label, and all labels with that bit are a region. One pass over an
    image then serves eight frames, where a pass for each would cost more than the measuring.
    """
    if masks[0].size == 0:
        return
    for start in range(0, len(frames), _AT_ONCE):
        batch = frames[start : start + _AT_ONCE]
        reference, prediction = np.zeros((2, *masks[0].shape[1:]), np.uint8)
        for bit, frame in enumerate(batch):
            for packed, mask in ((reference, masks[0]), (prediction, masks[1])):
                packed |= mask[frame].view(np.uint8) << np.uint8(bit)
        regions = {str(frame): _BITS[bit] for bit, frame in enumerate(batch)}
        measured = surface_distances(reference, prediction, regions=regions, spacing_mm=spacing, boundary="voxel")
        yield from zip(batch, measured.values(), strict=True)


def _one_way(distances: SurfaceDistances) -> float:
    """Return the mean distance from the prediction's boundary to the reference's, in mm."""
    return distances.from_prediction.mean
