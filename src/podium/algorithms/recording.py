"""What a program says, written to its log."""

from __future__ import annotations

import os
import threading
from collections import deque
from pathlib import Path

__all__ = ["LARGEST_LOG", "Recorder"]

LARGEST_LOG = 2**20
"""Bytes of a log; the beginning and the end are kept."""


class Recorder:
    """Writes what a program says to its log, of which no more than a megabyte is kept: the beginning and the end."""

    def __init__(self, source: int, log: Path) -> None:
        self._source = source
        self._log = log
        self._thread = threading.Thread(target=self._record, daemon=True)
        self._thread.start()

    def _record(self) -> None:
        first, last = LARGEST_LOG // 2, LARGEST_LOG // 2 - 100
        kept, tail, left_out = 0, deque[bytes](), 0
        held = 0
        with self._log.open("wb", buffering=0) as log, os.fdopen(self._source, "rb", buffering=0) as source:
            while piece := source.read(2**16):
                taken = piece[: first - kept]
                log.write(taken)
                kept += len(taken)
                if len(taken) < len(piece):
                    tail.append(piece[len(taken) :])
                    held += len(tail[-1])
                while held > last:
                    surplus = tail.popleft()
                    cut = min(len(surplus), held - last)
                    left_out += cut
                    held -= cut
                    if cut < len(surplus):
                        tail.appendleft(surplus[cut:])
            if left_out:
                log.write(f"\n[… {left_out} bytes left out …]\n".encode())
            log.write(b"".join(tail))

    def finish(self, *, seconds: float = 5.0) -> None:
        """Wait until all that was said is written; not for ever, since somebody may hold the pipe open."""
        self._thread.join(seconds)
