"""Label sequences: a target in every frame of a cine-MRI, as TrackRAD 2025 stores them.

The header's axes are (time, d1, d0). Here a sequence is (frames, rows, columns), rows along d0 and columns along d1,
and only the box around all of its labels is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.io import read_label_map
from podium.model import Box, InputError

__all__ = ["LabelSequence", "check_shape", "geometry_differences", "read_sequence"]


@dataclass(frozen=True, slots=True, eq=False)
class LabelSequence:
    """The labels of a sequence, cut to the box around what is not zero in any frame.

    Attributes
    ----------
    labels
        Shape (frames, rows of the box, columns of the box), C-contiguous.
    box
        Where these lie in the image, in rows and columns; of no extent if there is no label at all.
    shape
        Frames, rows and columns of the whole sequence.
    spacing_mm
        Millimetres from row to row and from column to column.
    placement
        In-plane origin and directions of the file, to compare with another's.
    """

    labels: npt.NDArray[np.unsignedinteger[Any]]
    box: Box
    shape: tuple[int, int, int]
    spacing_mm: tuple[float, float]
    placement: tuple[float, ...] = ()

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Return which frames hold any label."""
        return np.asarray(self.labels.any(axis=(1, 2)))

    def within(self, box: Box) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the labels in a box that holds this sequence's own."""
        if box == self.box:
            return self.labels
        result = np.zeros(
            (self.shape[0], *(b - a for a, b in zip(box.lower, box.upper, strict=True))), self.labels.dtype
        )
        rows, columns = (
            slice(own - low, own - low + size)
            for own, low, size in zip(self.box.lower, box.lower, self.labels.shape[1:], strict=True)
        )
        result[:, rows, columns] = self.labels
        return result

    @property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Return where the target is in all frames of the whole image."""
        return self.within(Box((0, 0), self.shape[1:])) > 0

    def frame(self, index: int) -> npt.NDArray[np.bool_]:
        """Return the target of one frame in the whole image."""
        image = np.zeros(self.shape[1:], bool)
        image[self.box.slices] = self.labels[index]
        return image

    def repeated(self, index: int) -> LabelSequence:
        """Return the sequence in which every frame is the given one."""
        labels = np.repeat(self.labels[index : index + 1], self.shape[0], axis=0)
        return LabelSequence(labels, self.box, self.shape, self.spacing_mm, self.placement)


def read_sequence(path: Path) -> LabelSequence:
    """Read a .mha label sequence; whatever its header says of the time axis is ignored."""
    label_map = read_label_map(path, dimensions=3)
    image = label_map.array.T  # rows, columns, frames
    box = Box((0, 0), (0, 0))
    if label_map.box is not None:
        box = Box(label_map.box.lower[:0:-1], label_map.box.upper[:0:-1])
    placement = (*label_map.origin[1:], *(value for row in label_map.direction[1:] for value in row[1:]))
    return LabelSequence(
        labels=np.ascontiguousarray(image[box.slices].transpose(2, 0, 1)),
        box=box,
        shape=(image.shape[2], image.shape[0], image.shape[1]),
        spacing_mm=(label_map.spacing[2], label_map.spacing[1]),
        placement=placement,
    )


def geometry_differences(truth: LabelSequence, prediction: LabelSequence) -> str:
    """Say in what the in-plane geometry of two files differs; "" if it does not."""
    differences = []
    if not np.allclose(truth.spacing_mm, prediction.spacing_mm, rtol=0, atol=1e-3):
        own, others = ("{:g} × {:g} mm".format(*sequence.spacing_mm) for sequence in (truth, prediction))
        differences.append(f"pixels are {others}, the reference's {own}")
    if not np.allclose(truth.placement, prediction.placement, rtol=0, atol=1e-3):
        differences.append("in-plane origin or direction is not the reference's")
    return "; ".join(differences)


def check_shape(truth: LabelSequence, prediction: LabelSequence, *, path: Path) -> None:
    """Refuse a prediction that has not the reference's frames, rows and columns."""
    if prediction.shape == truth.shape:
        return
    given, wanted = ("{} frames of {} × {}".format(*sequence.shape) for sequence in (prediction, truth))
    if prediction.shape[1:] == truth.shape[1:]:
        raise InputError(f"wrong frame count: {given}, the reference has {wanted}", path=path)
    advice = None
    if sorted(prediction.shape) == sorted(truth.shape):
        advice = "The axes are in another order: in the header, time comes first (DimSize = T d1 d0)"
    raise InputError(f"wrong shape: {given}, the reference has {wanted}", path=path, advice=advice)
