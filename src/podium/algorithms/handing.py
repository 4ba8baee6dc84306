"""Arrays handed over by the process of a function, through its pipe, as they are asked for."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.algorithms.conversation import Conversation, Limit
from podium.algorithms.reasons import BrokenError
from podium.model import Handed, InputError

__all__ = ["HandedByProcess"]

_BYTES_A_SECOND = 2**24
_PATIENCE = 60.0  # seconds that a process may lose, in all, beyond what this speed takes


class HandedByProcess(Handed):
    """Arrays that a function returned.

    Attributes
    ----------
    waited
        Seconds that handing over took so far, without what was done with the arrays.
    broken
        Why no more can be taken.
    """

    def __init__(
        self,
        case: str,
        headers: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
        conversation: Conversation,
    ) -> None:
        super().__init__(case, headers)
        self._conversation: Conversation | None = conversation
        self._patience = _PATIENCE
        self.waited = 0.0
        self.broken: BrokenError | None = None

    def rows(self, name: str, start: int, stop: int) -> npt.NDArray[Any]:
        """Ask for entries of an array, and wait for them."""
        if self._conversation is None:
            raise InputError("its arrays were given back" if self.broken is None else str(self.broken), path=self.case)
        shape, dtype = self.headers[name]
        part = (stop - start, *shape[1:]) if shape else ()
        self._patience += math.prod(part) * dtype.itemsize / _BYTES_A_SECOND
        begin = time.perf_counter()
        limit = Limit(self._patience, f"'{name}' was not handed over")
        try:
            self._conversation.say({"array": name, "from": start, "to": stop}, limit=limit)
            return self._conversation.receive((part, dtype), limit)
        except BrokenError as error:
            self._conversation, self.broken = None, error
            raise InputError(str(error), path=self.case) from None
        finally:
            seconds = time.perf_counter() - begin
            self.waited += seconds
            self._patience -= seconds

    def close(self) -> None:
        """Let nobody ask for more: the process turns to the next case."""
        self._conversation = None
