"""Talking to a program through its pipes: lines of JSON and raw bytes, each within its time. It is never believed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import re
import select
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.algorithms.confinement import Confined
from podium.algorithms.reasons import BrokenError, shown
from podium.algorithms.specs import Ending

__all__ = ["Conversation", "Limit", "array_header", "header_of"]

LONGEST_LINE = 2**16
_LOOK_SECONDS = 0.05  # how often a silent program is looked after
_ENDING_SECONDS = 5.0  # that a program which closed its pipe may take to end
_PIECE = 2**16
_PIPE_BYTES = 2**20
_MOST_AXES = 8
_TYPE = re.compile(r"[<>|=]?([biuf][1248]|f16)")

Header = tuple[tuple[int, ...], np.dtype[Any]]


class Limit:
    """Until when something must have happened, and what is said where it did not.

    Parameters
    ----------
    seconds
        From now on.
    what
        Did not happen.
    of
        The whole time, where `seconds` is what is left of it.
    """

    def __init__(self, seconds: float, what: str, *, of: float | None = None) -> None:
        self.at = time.perf_counter() + seconds
        self.words = f"{what} within {round(seconds if of is None else of, 3):g} s"


class Conversation:
    """Both pipes of a program. Whatever is wrong with what it says is a `BrokenError`."""

    def __init__(self, program: Confined) -> None:
        assert program.stdin is not None
        assert program.stdout is not None
        self.program = program
        self._in, self._out = program.stdin.fileno(), program.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):  # a larger pipe is quicker, and not to be had everywhere
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(self._in, select.POLLOUT)
        self._readable.register(self._out, select.POLLIN)
        self._heard = bytearray()

    def say(self, document: Mapping[str, Any], *arrays: npt.NDArray[Any], limit: Limit) -> None:
        """Send a line, and the bytes of arrays after it, row by row."""
        self._send(memoryview(json.dumps(document).encode() + b"\n"), limit)
        for array in arrays:
            if array.size:
                self._send(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, limit)

    def hear(self, limit: Limit) -> dict[str, Any]:
        """Return the object in the next line."""
        while b"\n" not in self._heard:
            if len(self._heard) > LONGEST_LINE:
                raise _wrong("it said a line without end", bytes(self._heard))
            self._heard += self._read(_PIECE, limit)
        line, _, rest = self._heard.partition(b"\n")
        if len(line) > LONGEST_LINE:
            raise _wrong("it said a line that is too long", bytes(line))
        self._heard = rest
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise _wrong("it said what is no line of the protocol", bytes(line))
        return document

    def receive(self, header: Header, limit: Limit) -> npt.NDArray[Any]:
        """Return an array whose bytes come next."""
        shape, dtype = header
        array = np.empty(math.prod(shape) * dtype.itemsize, np.uint8)
        taken = min(len(self._heard), len(array))
        array[:taken] = memoryview(bytes(self._heard[:taken]))
        del self._heard[:taken]
        view = array.data
        while taken < len(array):
            self._wait(self._readable, limit)
            try:
                count = os.readv(self._out, [view[taken:]])
            except BlockingIOError:
                continue
            if not count:
                raise self._gone()
            taken += count
        return array.view(dtype).reshape(shape)

    def refuse_more(self) -> None:
        """Raise an error where it said more than it was asked."""
        if self._readable.poll(0) and not self._heard:
            with contextlib.suppress(BlockingIOError):
                self._heard += os.read(self._out, _PIECE)
        if self._heard:
            raise _wrong("it said more than it was asked", bytes(self._heard))

    def _send(self, content: memoryview, limit: Limit) -> None:
        while content:
            self._wait(self._writable, limit)
            try:
                content = content[os.write(self._in, content) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._gone() from None

    def _read(self, most: int, limit: Limit) -> bytes:
        while True:
            self._wait(self._readable, limit)
            with contextlib.suppress(BlockingIOError):
                content = os.read(self._out, most)
                if not content:
                    raise self._gone()
                return content

    def _wait(self, pipe: select.poll, limit: Limit) -> None:
        """Wait until a pipe is ready, as long as the program runs as it may and its time is not over."""
        while True:
            rest = limit.at - time.perf_counter()
            if rest <= 0:
                raise BrokenError(Ending.TOO_SLOW, limit.words)
            if pipe.poll(math.ceil(1000 * min(rest, _LOOK_SECONDS))):
                return
            if self.program.broken() is not None and not pipe.poll(0):
                raise self._gone()

    def _gone(self) -> BrokenError:
        """Say why a pipe is closed: how the program ended, if it did."""
        limit = time.perf_counter() + _ENDING_SECONDS
        while (end := self.program.broken()) is None:
            if time.perf_counter() > limit:
                return BrokenError(Ending.WRONG_OUTPUT, "it closed its standard input or output and went on")
            time.sleep(0.005)
        if end.ending is Ending.ANSWERED:
            return BrokenError(Ending.NO_OUTPUT, "it ended before it answered")
        return BrokenError(end.ending, end.reason)


def header_of(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Return how shape and type of an array are said."""
    return {"shape": list(array.shape), "type": array.dtype.str}


def array_header(document: Any, *, most_bytes: float = math.inf) -> Header:
    """Return the shape and type that are said, and that are numbers of no more bytes than allowed."""
    shape, kind = (document.get("shape"), document.get("type")) if isinstance(document, dict) else (None, None)
    if not isinstance(kind, str) or not _TYPE.fullmatch(kind):
        raise _wrong("an array has no type of numbers", repr(kind)[:80].encode())
    if (
        not isinstance(shape, list)
        or len(shape) > _MOST_AXES
        or not all(type(length) is int and 0 <= length < 2**48 for length in shape)
    ):
        raise _wrong("an array has no shape", repr(shape)[:80].encode())
    dtype = np.dtype(kind)
    if math.prod(shape) * dtype.itemsize > most_bytes:
        raise _wrong(f"an array of {' × '.join(map(str, shape))} {dtype} is too large", b"")
    return tuple(shape), dtype


def _wrong(problem: str, said: bytes) -> BrokenError:
    text = shown(said[:200].decode(errors="replace"))[:60]
    return BrokenError(Ending.WRONG_OUTPUT, f"{problem} ({text})" if text else problem)
