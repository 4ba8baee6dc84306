"""Mistakes that leave labels readable: nothing but background, labels swapped, voxels or a header turned around.

Each is told from how well labels agree with a reference after it is undone: by the mean Dice of the reference's labels.
Where two labels are swapped, few agree, and whether voxels are turned as well is asked once that is mended.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics.overlaps import dice, overlap
from podium.model import LabelMap

__all__ = ["image_doubts", "mirror_doubts", "swap_doubts", "volume_doubts"]

_CLEARLY = 0.1
"""By how much agreement must rise for a mistake to be likely."""
_GOOD = 0.8
"""Where labels agree as well as this, nothing is turned around."""
_FAIR = 0.5
"""Where voxels agree as well as this, they lie as the reference's do."""
_MOST_LABELS = 16
_NOTHING = "everything is background: no {} has a label"
_WAYS = (("left", "right"), ("posterior", "anterior"), ("superior", "inferior"))
"""Where the three coordinates of a label map grow to, and where they come from."""
_SIDES = ("left–right", "anterior–posterior", "superior–inferior")

Array = npt.NDArray[Any]


def image_doubts(prediction: Array, reference: Array | None = None) -> list[str]:
    """Say what is odd about the labels of a 2-D image, rows first."""
    if not prediction.any():
        return [_NOTHING.format("pixel")] if reference is None or reference.any() else []
    if reference is None or reference.shape != prediction.shape:
        return []
    axes = {0: "top–bottom", 1: "left–right"}
    return swap_doubts(reference, prediction) or mirror_doubts(reference, prediction, axes=axes)


def volume_doubts(prediction: LabelMap, reference: LabelMap | None = None) -> list[str]:
    """Say what is odd about a 3-D label map, in anatomical words where it is turned around."""
    if prediction.box is None:
        return [_NOTHING.format("voxel")] if reference is None or reference.box is not None else []
    if reference is None or reference.box is None:
        return []
    doubts = []
    if prediction.shape == reference.shape:
        doubts += swap_doubts(reference.array, prediction.array)
    if reference.geometry_differences(prediction):
        return doubts + _header_doubts(reference, prediction)
    if prediction.shape != reference.shape:
        return doubts
    axes = {axis: _SIDES[side] for axis, (side, _) in enumerate(_orientation(reference))}
    return doubts or mirror_doubts(reference.array, prediction.array, axes=axes)


def swap_doubts(reference: Array, prediction: Array) -> list[str]:
    """Say which two labels look swapped: where both agree better with the reference once they are."""
    labels = _labels(reference)
    doubts = []
    for pair in combinations(labels, 2):
        own = _agreement(reference, prediction, pair)
        swapped = prediction.copy()
        swapped[prediction == pair[0]], swapped[prediction == pair[1]] = pair[1], pair[0]
        if (other := _agreement(reference, swapped, pair)) >= own + _CLEARLY:
            doubts.append(
                f"labels {pair[0]} and {pair[1]} look swapped: their Dice with the truth is {own:.2f}, "
                f"and {other:.2f} once they are exchanged"
            )
    return doubts


def mirror_doubts(reference: Array, prediction: Array, *, axes: Mapping[int, str]) -> list[str]:
    """Say along which axes, each with its words, the labels look flipped, or which two of equal length are exchanged.

    Both arrays are on one grid.
    """
    labels = _labels(reference)
    own = _agreement(reference, prediction, labels)
    if own >= _GOOD:
        return []
    best, what = own, ""
    equal = [(a, b) for a, b in combinations(axes, 2) if prediction.shape[a] == prediction.shape[b]]
    flips = [chosen for count in range(len(axes) + 1) for chosen in combinations(axes, count)]
    for swapped, chosen in product([(), *equal], flips):
        turned = np.swapaxes(prediction, *swapped) if swapped else prediction
        agreement = _agreement(reference, np.flip(turned, chosen), labels)
        if agreement > best and (not swapped or agreement >= _FAIR):  # so many ways fit a poor prediction by chance
            words = [f"transposed ({axes[swapped[0]]} for {axes[swapped[1]]})"] if swapped else []
            words += [f"flipped {' and '.join(axes[axis] for axis in chosen)}"] if chosen else []
            best, what = agreement, " and ".join(words)
    if best < own + _CLEARLY:
        return []
    figures = f"Dice with the truth is {own:.2f}, and {best:.2f} turned back"
    return [f"looks {what}: {figures}. The header is the truth's, so turn the array and keep the header"]


def _header_doubts(reference: LabelMap, prediction: LabelMap) -> list[str]:
    """Say whether voxels were turned together with their header, or the header alone was changed."""
    labels = _labels(reference.array)
    turned = _turned(prediction, reference)
    own, by_header = (
        _agreement(reference.array, array, labels) if array.shape == reference.shape else 0.0
        for array in (prediction.array, turned)
    )
    as_they_lie = f"voxels agree with the truth as they lie (Dice {own:.2f})"
    ways = _orientation(reference), _orientation(prediction)
    if ways[0] == ways[1]:
        if own < _FAIR:
            return []
        return [f"the header alone is another: {as_they_lie}. Give them the truth's header"]
    run = "axes run to {}, the truth's to {}".format(*(_words(way) for way in reversed(ways)))
    if by_header >= own + _CLEARLY:
        what = f"voxels and header were reoriented together ({run}), and agree with the truth once turned back"
        advice = "Turn both back, or resample onto the truth's grid; the truth's header alone would leave it"
        return [f"{what} (Dice {by_header:.2f}). {advice} {_difference(*ways)}"]
    if own >= by_header + _CLEARLY:
        what = f"the header was changed and the voxels were not: by its header it is {_difference(*ways)} ({run})"
        return [f"{what}, but {as_they_lie}. Give them the truth's header, and do not turn them"]
    return [f"{run}: by its header it is {_difference(*ways)}"]


def _labels(reference: Array) -> list[int]:
    """Return the labels of a reference; none where it is no segmentation of a few structures."""
    largest = int(reference.max(initial=0))
    return [label for label in range(1, largest + 1) if (reference == label).any()] if largest <= _MOST_LABELS else []


def _agreement(reference: Array, prediction: Array, labels: Any) -> float:
    """Return the mean Dice of some labels that the reference has; 0 where there are none."""
    if not labels:
        return 0.0
    regions = {str(label): (label,) for label in labels}
    return float(np.mean([dice(counts) for counts in overlap(reference, prediction, regions=regions).values()]))


def _orientation(labels: LabelMap) -> tuple[tuple[int, int], ...]:
    """Return for every array axis the coordinate that it follows most closely, and 1 or −1 for its way along it."""
    direction = np.array(labels.direction)
    left = set(range(len(direction)))
    orientation = []
    for axis in range(len(direction)):
        side = max(left, key=lambda side: abs(direction[side, axis]))
        left.remove(side)
        orientation.append((side, 1 if direction[side, axis] >= 0 else -1))
    return tuple(orientation)


def _turned(labels: LabelMap, reference: LabelMap) -> Array:
    """Return labels with the axes of a reference, by what both headers say."""
    own, wanted = _orientation(labels), _orientation(reference)
    sides = [side for side, _ in own]
    order = [sides.index(side) for side, _ in wanted]
    array = labels.array.transpose(order)
    return np.flip(array, tuple(axis for axis, (_, way) in enumerate(wanted) if own[order[axis]][1] != way))


def _words(orientation: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(_WAYS[side][way < 0] for side, way in orientation)


def _difference(reference: tuple[tuple[int, int], ...], prediction: tuple[tuple[int, int], ...]) -> str:
    """Say how one orientation differs from the other."""
    ways = dict(reference)
    flipped = [_SIDES[side] for side, way in sorted(prediction) if way != ways[side]]
    turned = [side for side, _ in reference] != [side for side, _ in prediction]
    parts = ["turned, with its axes in another order"] if turned else []
    return " and ".join(parts + ([f"flipped {' and '.join(flipped)}"] if flipped else []))
