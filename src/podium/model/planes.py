"""Which plane of a volume to look at, and how to hold it: where two label maps disagree most, the right way up."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from podium.model.errors import InputError
from podium.model.labelmap import Box, LabelMap

__all__ = ["Plane", "disputed_plane", "window"]

_NAMES = ("sagittal", "coronal", "axial")
_LEFT, _POSTERIOR, _SUPERIOR = range(3)
Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Plane:
    """A plane of a volume, held as radiologists do: the patient's left on the right; the front, or the head, on top.

    Attributes
    ----------
    axis, index
        Which plane of the array.
    rows, columns
        The array's axes that go down and to the right.
    flips
        Which of these two run backwards.
    name
        axial, coronal or sagittal, whichever is nearest.
    """

    axis: int
    index: int
    rows: int
    columns: int
    flips: tuple[bool, bool]
    name: str

    @classmethod
    def of(cls, label_map: LabelMap, *, axis: int, index: int) -> Plane:
        """Hold up a plane of a volume, by the directions in its header."""
        direction = np.asarray(label_map.direction)
        normal = int(np.argmax(np.abs(direction[:, axis])))
        # Seen from the side or from the front, the head is on top; seen from the feet, the front is.
        down = _POSTERIOR if normal == _SUPERIOR else _SUPERIOR
        right = _POSTERIOR if normal == _LEFT else _LEFT
        one, other = (other_axis for other_axis in range(3) if other_axis != axis)
        straight = abs(direction[down, one]) + abs(direction[right, other])
        rows, columns = (
            (one, other) if straight > abs(direction[down, other]) + abs(direction[right, one]) else (other, one)
        )
        upwards = direction[down, rows] > 0 if down == _SUPERIOR else direction[down, rows] < 0
        return cls(axis, index, rows, columns, (bool(upwards), bool(direction[right, columns] < 0)), _NAMES[normal])

    def cut(self, volume: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Return this plane of a volume, shape (rows, columns)."""
        return self.turned(np.take(volume, self.index, self.axis))

    def turned(self, plane: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Turn a plane that was cut out with its axes in the order of the array."""
        upright = plane if self.rows < self.columns else plane.T
        down, right = (slice(None, None, -1) if flip else slice(None) for flip in self.flips)
        return upright[down, right]

    def pixel_mm(self, spacing: tuple[float, ...]) -> tuple[float, float]:
        """Return height and width of a pixel."""
        return spacing[self.rows], spacing[self.columns]


def disputed_plane(reference: LabelMap, prediction: LabelMap, *, labels: Collection[int] | None = None) -> Plane | None:
    """Return the acquired plane in which most voxels are labelled differently.

    Parameters
    ----------
    reference, prediction
        Volumes of the same shape.
    labels
        Tell only these from everything else; by default all labels.

    Returns
    -------
    Plane or None
        Where nothing is labelled differently, the plane with most of the reference; None where that is empty too.
        Planes are those across the longest side of a voxel, which is how they were acquired; the first of equals.
    """
    if reference.array.ndim != 3 or reference.shape != prediction.shape:
        raise InputError(f"planes are cut from volumes of one shape, not {reference.shape} and {prediction.shape}")
    boxes = [label_map.box for label_map in (reference, prediction) if label_map.box is not None]
    if not boxes:
        return None
    box: Box = boxes[0].union(boxes[-1])
    axis = int(np.argmax(reference.spacing))
    others = tuple(other_axis for other_axis in range(3) if other_axis != axis)
    truth, guess = (_members(label_map.array[box.slices], labels) for label_map in (reference, prediction))
    counts = np.count_nonzero(truth != guess, axis=others)
    if not counts.any():
        counts = np.count_nonzero(truth, axis=others)
    if not counts.any():
        return None
    return Plane.of(reference, axis=axis, index=box.lower[axis] + int(np.argmax(counts)))


def _members(array: npt.NDArray[Any], labels: Collection[int] | None) -> npt.NDArray[Any]:
    return array if labels is None else np.isin(array, list(labels))


def window(*images: npt.NDArray[Any], margin: float = 0.2, least: int = 8) -> tuple[slice, slice]:
    """Return the part of images of one shape that holds all that is not zero in any of them, and some space around.

    Parameters
    ----------
    images
        Shape (rows, columns).
    margin
        How much to add on each side, as a share of the longer side of what is not zero.
    least
        Pixels to add at least.

    Returns
    -------
    tuple of slice
        Rows and columns; everything where all is zero.
    """
    occupied = np.logical_or.reduce([image != 0 for image in images])
    if not occupied.any():
        return slice(None), slice(None)
    ends = [(int(lines[0]), int(lines[-1]) + 1) for lines in (np.flatnonzero(occupied.any(axis=k)) for k in (1, 0))]
    space = max(least, round(margin * max(high - low for low, high in ends)))
    rows, columns = (
        slice(max(low - space, 0), min(high + space, size))
        for (low, high), size in zip(ends, occupied.shape, strict=True)
    )
    return rows, columns
