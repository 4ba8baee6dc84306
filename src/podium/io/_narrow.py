"""Turning a stream of voxels of any type into the smallest unsigned labels, noting box and counts on the way."""

from __future__ import annotations

from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from podium._jit import kernel
from podium.io._buffers import Buffers
from podium.model import Box, InputError, LabelMap

__all__ = ["MAX_LABELS", "Narrower"]

MAX_LABELS = 2**16
"""A label map with more different labels than this is refused."""

_FINE, _WIDER, _NEGATIVE, _NOT_A_NUMBER, _FRACTION = range(5)
_LABEL_TYPES = (np.uint8, np.uint16, np.uint32)
_LARGEST = {1: 2**8 - 1, 2: 2**16 - 1, 4: 2**32 - 1}
_BLOCK_BYTES = 256
_COUNTED_TOGETHER = 2**22
_buffers = Buffers()


@kernel
def _narrow_values(values, start, done, shape, out, largest, counts, box):
    """Copy `values[done:]` to `out[start + done:]`; return a status and the number of values that are done.

    Blocks of zeros, nearly all of a label map, are passed over as 64-bit words without being written, which also
    leaves their pages of a zeroed `out` unallocated. What is not zero is taken in runs of one label within one row.
    """
    row_length, row_count = shape[0], shape[1]
    row_end = 0
    block_values = _BLOCK_BYTES // values.itemsize
    whole = values.size // block_values
    blocks = values[: whole * block_values].view(np.uint64).reshape(whole, _BLOCK_BYTES // 8)
    for block in range(done // block_values, (values.size + block_values - 1) // block_values):
        if block < whole:
            any_bit = np.uint64(0)
            for word in range(blocks.shape[1]):
                any_bit |= blocks[block, word]
            if any_bit == 0:
                continue
        at = max(done, block * block_values)
        block_end = min((block + 1) * block_values, values.size)
        while at < block_end:
            value = values[at]
            if value == 0:
                at += 1
                continue
            if value != value:
                return _NOT_A_NUMBER, at
            if value < 0:
                return _NEGATIVE, at
            if value > largest:
                return _WIDER, at
            label = np.uint32(value)
            if label != value:
                return _FRACTION, at
            if start + at >= row_end:
                row = (start + at) // row_length
                row_end = (row + 1) * row_length
                j, k = row % row_count, row // row_count
                box[1] = min(box[1], j)
                box[4] = max(box[4], j + 1)
                box[2] = min(box[2], k)
                box[5] = max(box[5], k + 1)
            first = at
            run_end = min(block_end, row_end - start)
            while at < run_end and values[at] == value:
                out[start + at] = label
                at += 1
            if label < counts.size:
                counts[label] += at - first
            i = start + first - (row_end - row_length)
            box[0] = min(box[0], i)
            box[3] = max(box[3], i + at - first)
    return _FINE, values.size


class Narrower:
    """Collects a label map from pieces of its voxels, first axis fastest, given in order.

    Parameters
    ----------
    shape
        Voxels along each axis, in file order.
    path
        The file that the pieces come from, for error messages.
    """

    def __init__(self, shape: tuple[int, ...], *, path: object) -> None:
        self._shape = shape
        self._path = str(path)
        self._out: npt.NDArray[Any] = _buffers.zeros(prod(shape))
        self._counts = np.zeros(256, np.int64)
        huge = np.iinfo(np.int64).max
        self._box = np.array([huge, huge, huge, 0, 0, 0], np.int64)
        self._rows = np.array([*shape, 1, 1][:3], np.int64)
        self._filled = 0

    @property
    def missing(self) -> int:
        """Return how many voxels are still to come."""
        return self._out.size - self._filled

    def add(self, values: npt.NDArray[Any]) -> None:
        """Take the next voxels: a contiguous 1-D array of any integer or floating type in native byte order."""
        done = 0
        while True:
            status, done = _narrow_values(
                values,
                self._filled,
                done,
                self._rows,
                self._out,
                _LARGEST[self._out.itemsize],
                self._counts,
                self._box,
            )
            if status == _FINE:
                break
            if status != _WIDER or not self._widen():
                raise self._unusable(values[done], status)
        self._filled += values.size

    def _widen(self) -> bool:
        """Move to the next larger label type; False if there is none."""
        wider = _LABEL_TYPES.index(self._out.dtype.type) + 1
        if wider == len(_LABEL_TYPES):
            return False
        self._out = self._out.astype(_LABEL_TYPES[wider])
        counts = np.zeros(2**16, np.int64)
        counts[: self._counts.size] = self._counts
        self._counts = counts
        return True

    def _counted(self) -> dict[int, int]:
        """Count large labels a piece at a time; an image may hold as many as it has voxels."""
        counts: dict[int, int] = {}
        for start in range(0, self._out.size, _COUNTED_TOGETHER):
            labels, voxels = np.unique(self._out[start : start + _COUNTED_TOGETHER], return_counts=True)
            for label, count in zip(labels[: MAX_LABELS + 1].tolist(), voxels.tolist(), strict=False):
                counts[label] = counts.get(label, 0) + count
            if len(counts) > MAX_LABELS:
                raise InputError(
                    f"there are more than {MAX_LABELS:,} different labels",
                    path=self._path,
                    advice="A label map holds whole numbers from 0; was an image saved instead?",
                )
        return dict(sorted(counts.items()))

    def _unusable(self, value: Any, status: int) -> InputError:
        described = {
            _WIDER: f"label {value} is larger than 4294967295",
            _NEGATIVE: f"label {value} is negative",
            _NOT_A_NUMBER: "a voxel is NaN (not a number)",
            _FRACTION: f"voxel value {value} is not a whole number",
        }[status]
        return InputError(
            described,
            path=self._path,
            advice="A label map holds whole numbers from 0; was an image or a probability map saved instead?",
        )

    def finish(
        self, *, spacing: tuple[float, ...], origin: tuple[float, ...], direction: tuple[tuple[float, ...], ...]
    ) -> LabelMap:
        """Return the label map once every voxel has been added."""
        dimensions = len(self._shape)
        counts = {int(label): int(self._counts[label]) for label in np.flatnonzero(self._counts)}
        if self._out.dtype == np.uint32:  # the few files with labels past 65535
            counts = self._counted()
        else:
            background = self._out.size - sum(counts.values())
            counts = ({0: background} if background else {}) | counts
        box = Box(tuple(self._box[:dimensions].tolist()), tuple(self._box[3 : 3 + dimensions].tolist()))
        occupied = box if max(counts) else None
        _buffers.wrote(self._out, self._shape, occupied)
        array = self._out.reshape(self._shape, order="F")
        array.flags.writeable = False
        return LabelMap(
            array=array,
            spacing=spacing,
            origin=origin,
            direction=direction,
            box=occupied,
            labels=MappingProxyType(counts),
        )
