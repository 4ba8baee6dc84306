"""Memory that a thread uses again, because having it mapped anew takes longer than the work done in it."""

from __future__ import annotations

import threading
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

_KEEP_AT_MOST = 64 * 2**20


class Scratch(threading.local):
    """Named arrays of the calling thread; each stays valid until the same name is asked for again."""

    def __init__(self) -> None:
        self._kept: dict[str, npt.NDArray[Any]] = {}

    def zeros(self, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
        """Return bytes set to zero."""
        size = prod(shape)
        if size > _KEEP_AT_MOST:
            return np.zeros(shape, np.uint8)
        kept = self._kept.get(name)
        if kept is None or kept.size < size:
            kept = self._kept[name] = np.zeros(size, np.uint8)
        else:
            kept[:size] = 0
        return kept[:size].reshape(shape)

    def array(self, name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
        """Return an array of whatever length and content it was last kept with."""
        return self._kept.get(name, np.empty(4096, dtype))

    def keep(self, name: str, array: npt.NDArray[Any]) -> None:
        """Keep an array, perhaps grown, for next time."""
        if array.nbytes <= _KEEP_AT_MOST:
            self._kept[name] = array
