"""Exact distances from some places to the nearest marked one, however far: which way, and what that way needs.

Very few places are compared with all marked ones, few ask by blocks, many by a transform of the whole: see the kernels.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from podium.metrics._kernels import nearest as kernels
from podium.model import InputError

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

_PAIRS = 2**19  # up to so many are compared one by one
_BLOCK = 256  # voxels, about
_ACROSS = 8  # blocks along each side of an area
_TRANSFORM = 30  # a place that asks takes as long as so many voxels of a transform
_PER_BLOCK = 10  # and the block that it is in takes as long as so many places
_FARTHEST = 2**16 - 1
_MOST_VALUES = 2**22


class Sorted(NamedTuple):
    """Places sorted by block: z, y and x of each; whose each is; where blocks start; their numbers and their bounds."""

    positions: Floats
    order: Places
    starts: Places
    numbers: Places
    boxes: Floats


class Nearest:
    """The marked places of one region, ready to be asked for the nearest.

    Parameters
    ----------
    marks
        Region bits, 3-D.
    region
        Which bit.
    places
        The marked places themselves, if there is a list of them.
    spacing
        Millimetres along each axis, two for a flat image.
    """

    def __init__(
        self, marks: npt.NDArray[np.uint8], region: int, places: Places | None, spacing: tuple[float, ...]
    ) -> None:
        self._marks, self._bit, self._places = marks, np.uint8(1 << region), places
        self._asked = 0
        self._spacing = (1.0,) * (3 - len(spacing)) + spacing

    def distances(self, places: Places) -> Floats:
        """Return how far each of some places, ascending, is from the nearest marked one, in mm."""
        distances = np.empty(places.size)
        self._asked += places.size
        if self._places is not None and places.size * self._places.size <= _PAIRS:
            kernels.compare_all(places, self._places, self._marks.shape, self._spacing, distances)
            return distances
        if self._places is not None and self._few(self._asked):
            asking = self._sort(places)
            if self._few(self._asked + _PER_BLOCK * asking.numbers.size):
                self._search(asking, distances)
                return distances
        inverses = 0.5 / np.maximum(np.arange(max(self._marks.shape[1:])), 1)
        kernels.transform(places, self._steps, np.uint16(_FARTHEST), self._spacing, inverses, distances)
        return distances

    def _few(self, asking: int) -> bool:
        return asking * _TRANSFORM < self._marks.size or self._marks.shape[0] >= _FARTHEST

    @cached_property
    def _steps(self) -> npt.NDArray[np.uint16]:
        steps: npt.NDArray[np.uint16] = kernels.along_first_axis(self._marks, self._bit, np.uint16(_FARTHEST))
        return steps

    def _search(self, asking: Sorted, distances: Floats) -> None:
        others = self._others
        starts = np.flatnonzero(np.diff(others.numbers // _ACROSS**3, prepend=-1))
        kernels.search(
            asking.positions,
            asking.order,
            asking.starts,
            asking.boxes,
            others.positions,
            others.starts,
            others.boxes,
            np.append(starts, others.numbers.size),
            _bounds(
                np.minimum.reduceat(others.boxes[:3] - others.boxes[3:], starts, axis=1),
                np.maximum.reduceat(others.boxes[:3] + others.boxes[3:], starts, axis=1),
            ),
            self._spacing,
            distances,
        )

    @cached_property
    def _others(self) -> Sorted:
        assert self._places is not None
        return self._sort(self._places)

    @cached_property
    def _blocks(self) -> tuple[list[Places], int]:
        """Return what each coordinate adds to the number of a block, and how many there are.

        Blocks are about as long along every axis; those of one area have consecutive numbers.
        """
        shape = self._marks.shape
        long = [axis for axis in range(3) if shape[axis] > 1]
        edge = (_BLOCK * np.prod([self._spacing[axis] for axis in long])) ** (1 / max(len(long), 1))
        blocks = [np.arange(n) // max(1, round(edge / mm)) for n, mm in zip(shape, self._spacing, strict=True)]
        areas = [int(block[-1]) // _ACROSS + 1 for block in blocks]
        outer = areas[1] * areas[2], areas[2], 1
        inner = _ACROSS**2, _ACROSS, 1
        numbers = [
            block // _ACROSS * step * _ACROSS**3 + block % _ACROSS * within
            for block, step, within in zip(blocks, outer, inner, strict=True)
        ]
        return numbers, int(np.prod(areas)) * _ACROSS**3

    def _sort(self, places: Places) -> Sorted:
        numbers, count = self._blocks
        starts = np.zeros(count + 2, np.int64)
        positions, order = np.empty((3, places.size)), np.empty(places.size, np.int64)
        kernels.sort_by_block(places, self._marks.shape, *numbers, starts, positions, order)
        occupied = np.flatnonzero(np.diff(starts[:-1]))
        starts = np.append(starts[occupied], places.size)
        boxes = _bounds(
            np.minimum.reduceat(positions, starts[:-1], axis=1), np.maximum.reduceat(positions, starts[:-1], axis=1)
        )
        return Sorted(positions, order, starts, occupied, boxes)


def _bounds(lower: Floats, upper: Floats) -> Floats:
    """Return boxes as middles and half lengths."""
    return np.concatenate([(lower + upper) / 2, (upper - lower) / 2])


class Tally:
    """Sizes and counts by distance, for any number of distances piece by piece."""

    def __init__(self) -> None:
        self._clear(2**10)

    def _clear(self, size: int) -> None:
        self._keys = np.full(size, -1.0)
        self._sizes, self._counts = np.zeros(size), np.zeros(size, np.int64)

    def add(self, distances: Floats, sizes: Floats, counts: Places) -> None:
        """Add what lies at each of some distances, in any order."""
        taken = 0
        while taken < distances.size:
            rest = slice(taken, None)
            taken += kernels.tally(distances[rest], sizes[rest], counts[rest], self._keys, self._sizes, self._counts)
            if taken < distances.size:
                self._grow()

    def _grow(self) -> None:
        size = self._keys.size
        if size >= 2 * _MOST_VALUES:
            raise InputError(
                f"the boundaries of the segmentations are at more than {_MOST_VALUES:,} different distances",
                advice="Is one of them a noise or a pattern, not a structure? Remove small islands and holes",
            )
        kept = self.sorted()
        self._clear(2 * size)
        self.add(*kept)

    def sorted(self) -> tuple[Floats, Floats, Places]:
        """Return the distances, ascending, and the sizes and counts at each."""
        used = np.flatnonzero(self._keys >= 0)
        used = used[np.argsort(self._keys[used])]
        return self._keys[used], self._sizes[used], self._counts[used]
