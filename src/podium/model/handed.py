"""Arrays that an algorithm hands over without a file: taken in pieces, in any order, and never held whole."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.model.errors import InputError

__all__ = ["Handed"]

LARGEST_ROW_BYTES = 2**26
"""Of an array, one entry of its first axis: that much may be taken at once."""


class Handed(ABC):
    """Arrays by name, held by the process that made them until they are asked for.

    Attributes
    ----------
    case
        Whose prediction this is.
    headers
        Shape and type of each array.
    """

    piece_bytes = 2**22
    """How much is taken at once, if one row is not more."""

    def __init__(self, case: str, headers: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> None:
        self.case = case
        self.headers = headers

    @abstractmethod
    def rows(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        """Take entries `start` to `stop` of the first axis of an array; all of an array without axes.

        Raises
        ------
        InputError
            The process ended, or took too long.
        """

    def pieces(self, name: str) -> Iterator[npt.NDArray[Any]]:
        """Take an array along its first axis, as many entries at once as a few megabytes hold."""
        shape, dtype = self.headers[name]
        if not shape:
            yield self.rows(name, 0, 1)
            return
        row = math.prod(shape[1:]) * dtype.itemsize
        if not row:
            return
        if row > LARGEST_ROW_BYTES:
            raise InputError(f"'{name}' is too large to be handed over: {' × '.join(map(str, shape))}", path=self.case)
        step = max(1, self.piece_bytes // max(1, row))
        for start in range(0, shape[0], step):
            yield self.rows(name, start, min(start + step, shape[0]))

    def whole(self, name: str) -> npt.NDArray[Any]:
        """Take all of an array, which should be small."""
        shape, dtype = self.headers[name]
        pieces = list(self.pieces(name))
        return np.concatenate(pieces) if shape and pieces else pieces[0] if pieces else np.empty(shape, dtype)
