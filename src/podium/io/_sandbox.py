"""Asks a process of its own about HDF5 files, and starts another where that one ends or does not answer."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from podium.io import _hdf5_facts
from podium.io.inputs import note

__all__ = ["NoAnswerError", "ask"]

_SECONDS = 4.0  # of computing
_BYTES_A_SECOND = 2**25  # of a file; the index of a large one takes longer to go through
_LARGEST_INDEX = 2**31  # bytes that are counted of one; a file of holes says nothing of its index
_PATIENCE = 120.0  # seconds that the disk, or other work, may keep the process from computing
_PIECE = 1 << 20


class NoAnswerError(Exception):
    """The process ended, or took too long: the file is to blame."""


class _Helper:
    """The process, and who may talk to it: one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        with self._lock:
            try:
                process = self._running()
            except (OSError, EOFError, TimeoutError) as error:
                self._end()
                raise RuntimeError("the process that looks into HDF5 files does not start") from error
            try:
                return self._asked(process, request, time.monotonic() + request["seconds"] + _PATIENCE)
            except (OSError, EOFError, TimeoutError, ValueError, KeyError, TypeError):
                self._end()
                raise NoAnswerError from None
            except BaseException:  # such as an interrupt: what comes out next would be the answer to this
                self._end()
                raise

    def _asked(
        self, process: subprocess.Popen[bytes], request: dict[str, Any], deadline: float
    ) -> tuple[dict[str, Any], bytes]:
        assert process.stdin is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        received = self._received(process, b"\n", 0, deadline)
        line, _, rest = received.partition(b"\n")
        facts = json.loads(line)
        return facts, self._received(process, b"", facts["bytes"], deadline, rest)

    def _received(
        self, process: subprocess.Popen[bytes], until: bytes, count: int, deadline: float, start: bytes = b""
    ) -> bytes:
        """Return what comes until a byte, or that many bytes."""
        received = bytearray(start)
        assert process.stdout is not None
        handle = process.stdout.fileno()
        while (until not in received) if until else len(received) < count:
            if not select.select([handle], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise TimeoutError
            piece = os.read(handle, _PIECE)
            if not piece:
                raise EOFError
            received += piece
        return bytes(received)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            if self._owner == os.getpid():
                self._end()
            command = [sys.executable, "-P", _hdf5_facts.__file__]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
            self._owner = os.getpid()
            self._received(self._process, _hdf5_facts.READY, 0, time.monotonic() + _PATIENCE)
        return self._process

    def _end(self) -> None:
        """End the process, if it is ours."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
            process.kill()
            process.wait()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def forget(self) -> None:
        """Leave the process to the one that this was forked from, whatever its threads were about."""
        self._lock = threading.Lock()
        self._process = None


_helper = _Helper()
atexit.register(_helper.close)
os.register_at_fork(after_in_child=_helper.forget)


def ask(path: Path, name: str | None = None, *, texts: tuple[str, ...] = ()) -> tuple[dict[str, Any], bytes]:
    """Return what a file holds, or all about one of its datasets; see `_hdf5_facts`.

    Raises
    ------
    NoAnswerError
        HDF5 crashed on the file, or is lost in it.
    """
    seconds = _SECONDS + min(path.stat().st_size, _LARGEST_INDEX) / _BYTES_A_SECOND
    request: dict[str, Any] = {"path": str(path.absolute()), "seconds": seconds}
    if name is not None:
        request |= {"name": name, "texts": list(texts)}
    note(path)  # the other process opens it, out of sight of this one
    return _helper.ask(request)
