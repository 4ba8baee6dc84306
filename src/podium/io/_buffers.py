"""Memory for labels that is used again once nobody holds it.

A label map of a CT scan is fifty to a hundred megabytes of which a few are touched. Having that mapped and cleared by
the operating system for each file takes as long as decompressing it, and threads queue for it. So a thread keeps its
last two blocks, and before using one again clears just what was written to it.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from podium.model import Box

_KEPT = 2
_LARGEST_KEPT = 128 * 2**20


@dataclass(eq=False)
class _Block:
    memory: npt.NDArray[np.uint8]
    shape: tuple[int, ...] | None = None
    written: Box | None = None

    @property
    def held(self) -> bool:
        """Return whether an array that lies in this memory is still in use, or may be."""
        return _ALONE is None or sys.getrefcount(self.memory) > _ALONE

    def clear(self) -> None:
        if self.shape is None:  # the last user did not finish
            self.memory[:] = 0
        elif self.written is not None:
            self.memory[: prod(self.shape)].reshape(self.shape, order="F")[self.written.slices] = 0
        self.shape = self.written = None


def references_alone() -> int | None:
    """Count the references to memory that only its block holds; None where memory in use has no more than that.

    Then no memory is used again. So it is for a Python that does not count, or counts in another way.
    """
    if not hasattr(sys, "getrefcount"):
        return None
    block = _Block(np.zeros(1, np.uint8))
    alone = sys.getrefcount(block.memory)
    view = block.memory[:]
    in_use = sys.getrefcount(block.memory)
    return alone if in_use > alone and view.size else None


_ALONE = references_alone()


class Buffers(threading.local):
    """The blocks of the calling thread."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def zeros(self, size: int) -> npt.NDArray[np.uint8]:
        """Return that many zeros; writing to them must be reported by `wrote`, and end before they are let go."""
        for block in self._blocks:
            if block.memory.size >= size and not block.held:
                block.clear()
                return block.memory[:size]
        memory = np.zeros(size, np.uint8)
        if size > _LARGEST_KEPT:
            return memory
        # A block too small for this file gives way, or the oldest.
        free = [block for block in self._blocks if not block.held]
        if len(self._blocks) >= _KEPT:
            self._blocks.remove(free[0] if free else self._blocks[0])
        self._blocks.append(_Block(memory))
        return memory[:]

    def wrote(self, array: npt.NDArray[np.uint8], shape: tuple[int, ...], box: Box | None) -> None:
        """Remember what has to be cleared before the memory of an array is used again: a box in a shape."""
        for block in self._blocks:
            if array.base is block.memory:
                block.shape, block.written = shape, box
