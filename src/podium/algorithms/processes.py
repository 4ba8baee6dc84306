"""What the processes of a program are and take, read from /proc. They come and go while it is read."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable
from pathlib import Path

__all__ = ["descendants", "marked", "processor_seconds", "resident_bytes", "unlinked_bytes"]

_PAGE = os.sysconf("SC_PAGESIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError, NotADirectoryError)


def descendants(process: int, *, most: float = math.inf) -> dict[int, int]:
    """Return a process and all below it, and how many threads each has.

    No more than `most` are looked for: they may be started faster than they are looked at.
    """
    threads: dict[int, int] = {}
    waiting = [process]
    while waiting and len(threads) <= most:
        process = waiting.pop()
        tasks = _listed(f"/proc/{process}/task")
        if tasks and process not in threads:
            threads[process] = len(tasks)
            for task in tasks:
                waiting += map(int, _read(f"/proc/{process}/task/{task}/children").split())
    return threads


def marked(variable: str) -> list[int]:
    """Return the processes that were started with a variable, written `NAME=VALUE`, in their environment."""
    marker = variable.encode()
    return [
        int(name)
        for name in _listed("/proc")
        if name.isdigit() and marker in _read(f"/proc/{name}/environ").encode(errors="surrogateescape").split(b"\0")
    ]


def processor_seconds(processes: Iterable[int]) -> float:
    """Return how long processors worked for processes, and for children of theirs that have ended."""
    ticks = 0
    for process in processes:
        after_name = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
        ticks += sum(map(int, after_name[11:15]))
    return ticks / _TICKS


def resident_bytes(processes: Iterable[int]) -> int:
    """Return the memory that processes hold together; what they share counts once."""
    whole = [int((_read(f"/proc/{process}/statm").split() or "00")[1]) * _PAGE for process in processes]
    largest = max(whole, default=0)
    if sum(whole) - largest < 0.05 * largest:
        return sum(whole)
    return sum(_share(process) for process in processes)


def _share(process: int) -> int:
    """Return what a process holds, where each page that n processes share counts 1/n."""
    for line in _read(f"/proc/{process}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def unlinked_bytes(processes: Iterable[int], device: int) -> tuple[int, int]:
    """Return the size of files without a name that processes hold open: on a device, and elsewhere (in memory)."""
    sizes: dict[tuple[int, int], int] = {}
    for process in processes:
        for name in _listed(f"/proc/{process}/fd"):
            try:
                state = Path(f"/proc/{process}/fd/{name}").stat()
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode) and not state.st_nlink:
                sizes[state.st_dev, state.st_ino] = state.st_blocks * 512
    there = sum(size for (where, _), size in sizes.items() if where == device)
    return there, sum(sizes.values()) - there


def _listed(folder: str) -> list[str]:
    try:
        return [path.name for path in Path(folder).iterdir()]
    except _GONE:
        return []


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="surrogateescape")
    except _GONE:
        return ""
