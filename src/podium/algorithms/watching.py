"""Looking after a program while it runs: what it takes, what it says, and that nothing of it is left at the end."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import stat
import threading
import time
from abc import abstractmethod
from pathlib import Path
from typing import IO

from podium.algorithms.confinement import Confined, Exit
from podium.algorithms.launching import Launch
from podium.algorithms.processes import descendants, processor_seconds, resident_bytes, stands_still, unlinked_bytes
from podium.algorithms.specs import Allowance, Ending

__all__ = ["Watched", "exit_of", "readable_size", "size_of"]

_LOOK_SECONDS = 0.05
_LOOK_SECONDS_ALONE = 0.02  # where the kernel does not keep it within its memory
_SELDOM = 10  # files without a name are looked for once in so many looks
_REST = 9  # times as long as a look took, so that looking does not slow it down
_LONGEST_REST = 1.0
_HOLD_SECONDS = 5.0  # until all its processes stand still
_DEEPEST = 64  # folders within folders
_ENTRY_BYTES = 512  # a file without content is not for free


def exit_of(code: int) -> Exit:
    """Return how a program ended by itself, from its exit code as shells have it (128 + signal).

    Examples
    --------
    >>> exit_of(0).ending.value, exit_of(3).reason, exit_of(139).reason
    ('answered', 'exit code 3', 'killed by SIGSEGV')
    """
    if code == 0:
        return Exit(Ending.ANSWERED)
    number = -code if code < 0 else code - 128
    if number in set(signal.Signals):
        return Exit(Ending.CRASHED, f"killed by {signal.Signals(number).name}")
    return Exit(Ending.CRASHED, f"exit code {code}")


def readable_size(size: float) -> str:
    """Return a number of bytes as people say it.

    Examples
    --------
    >>> readable_size(4 * 2**30), readable_size(1536), readable_size(5)
    ('4 GiB', '1.5 KiB', '5 bytes')
    """
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{round(size, 1):g} {unit}"


def size_of(folder: Path, *, enough: float = math.inf) -> float:
    """Return the size of all in a folder, as far as `enough`; nothing is followed, and what cannot be read is opened.

    A file counts with its size, or what it takes on the disk if that is more. Folders within folders without end
    have no size.
    """
    handle = _opened(folder)
    return 0 if handle is None else _size(handle, enough, _DEEPEST)


def _size(handle: int, enough: float, deepest: int) -> float:
    """Return the size of a folder that runs on while we look, and close it."""
    total = 0.0
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                try:
                    state = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                total += _ENTRY_BYTES
                if stat.S_ISREG(state.st_mode):
                    total += max(state.st_size, state.st_blocks * 512)
                elif stat.S_ISDIR(state.st_mode):
                    if not deepest:
                        return math.inf
                    inside = _opened(entry.name, handle)
                    total += 0 if inside is None else _size(inside, enough - total, deepest - 1)
                if total > enough:
                    break
    finally:
        os.close(handle)
    return total


def _opened(folder: Path | str, parent: int | None = None) -> int | None:
    """Open a folder, also one that we may not read; nothing where it has gone or changed meanwhile."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW
    with contextlib.suppress(OSError):
        try:
            return os.open(folder, os.O_RDONLY | flags, dir_fd=parent)
        except PermissionError:
            handle = os.open(folder, os.O_PATH | flags, dir_fd=parent)
            try:
                Path("/proc/self/fd", str(handle)).chmod(0o700)
            finally:
                os.close(handle)
            return os.open(folder, os.O_RDONLY | flags, dir_fd=parent)
    return None


class Watched(Confined):
    """A program that a thread of ours looks after.

    Parameters
    ----------
    launch
        A child of ours that ends when the program does, with its exit code.
    output
        The folder that it writes to.
    """

    _root_is_ours = True
    """Whether the process above all of its own does not count."""

    def __init__(self, launch: Launch, *, output: Path, allowance: Allowance, pipes: bool) -> None:
        self.stdin: IO[bytes] | None = launch.process.stdin if pipes else None
        self.stdout: IO[bytes] | None = launch.process.stdout if pipes else None
        self.started = launch.started
        self._launch, self._group = launch, launch.group
        self._output, self._allowance = output, allowance
        self._device = output.stat().st_dev
        self._peak, self._looks = 0, 0
        self._ended: float | None = None
        self._held: set[int] = set()
        self._processor_seconds = 0.0
        self._verdict: Exit | None = None
        self._exit: Exit | None = None
        self._verdict_lock = threading.Lock()
        self._wake, self._gone, self._over = threading.Event(), threading.Event(), threading.Event()

    def watch(self) -> None:
        """Begin to look after it."""
        threading.Thread(target=self._await_process, daemon=True).start()
        threading.Thread(target=self._look_after, daemon=True).start()

    @abstractmethod
    def _end(self) -> None:
        """End all its processes, and wait until they are gone; it may have ended by itself."""

    @abstractmethod
    def _root(self) -> int:
        """Return the process that is above all of its own."""

    def _held_bytes(self) -> int:
        """Return what it holds in memory beside its processes, such as files in a file system of its own."""
        return 0

    def _own_verdict(self) -> Exit | None:
        """Return what others that look after it say at its end."""
        return None

    def broken(self) -> Exit | None:
        """Return how it ended, or which limit it broke."""
        return self._exit if self._over.is_set() else None

    def used(self) -> tuple[float | None, int | None]:
        """Return processor seconds and the peak of memory so far."""
        if (end := self.broken()) is not None:
            return end.processor_seconds, end.peak_bytes
        seconds = self._group.processor_seconds() if self._group else processor_seconds(descendants(self._root()))
        return max(self._processor_seconds, seconds or 0.0) or None, self._peak or None

    def hold(self) -> bool:
        """Stop all its processes, until a second look finds the same ones, all of them stopped."""
        limit, before = time.perf_counter() + _HOLD_SECONDS, None
        while time.perf_counter() < limit:
            own = set(descendants(self._root())) - ({self._root()} if self._root_is_ours else set())
            awake = {process for process in own if process not in self._held or not stands_still(process)}
            if not awake and own == before:
                return True
            for process in awake:
                try:
                    os.kill(process, signal.SIGSTOP)
                except ProcessLookupError:
                    continue
                except PermissionError:  # a service runs it as somebody else
                    return True
                self._held.add(process)
            before = own
        return False

    def go_on(self) -> None:
        """Continue what was stopped."""
        for process in self._held & set(descendants(self._root())):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
        self._held.clear()

    def wait(self, seconds: float) -> Exit:
        """Wait until it ends by itself, breaks a limit or its time is over."""
        try:
            in_time = self._gone.wait(max(0.0, seconds))
        except BaseException:  # Ctrl-C too leaves nothing running
            self.stop()
            raise
        return self._finished(None if in_time else Exit(Ending.TOO_SLOW, f"more than {round(seconds, 3):g} s"))

    def stop(self) -> Exit:
        """End it now and everything it started."""
        return self._finished(None if self._gone.is_set() else Exit(Ending.ANSWERED, "stopped"))

    def _finished(self, verdict: Exit | None) -> Exit:
        with self._verdict_lock:
            if verdict is not None and self._verdict is None:
                self._verdict = verdict
        self._wake.set()
        self._over.wait()
        for pipe in (self.stdin, self.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        assert self._exit is not None
        return self._exit

    def _await_process(self) -> None:
        _, status, usage = os.wait4(self._launch.process.pid, 0)
        self._ended = time.perf_counter()
        if self._root_is_ours:
            self._processor_seconds = max(self._processor_seconds, usage.ru_utime + usage.ru_stime)
        self._launch.process.returncode = os.waitstatus_to_exitcode(status)
        self._gone.set()
        self._wake.set()

    def _look_after(self) -> None:
        pause = _LOOK_SECONDS if self._group else _LOOK_SECONDS_ALONE
        verdict: Exit | None = Exit(Ending.CRASHED, "it could not be looked after")
        try:
            while True:
                before = time.perf_counter()
                verdict = self._look()
                looking = time.perf_counter() - before
                if verdict is not None or self._wake.wait(max(pause, min(_REST * looking, _LONGEST_REST))):
                    break
        finally:
            self._exit = Exit(Ending.CRASHED, "it could not be ended")
            try:
                self._conclude(verdict)
            finally:
                self._over.set()

    def _conclude(self, verdict: Exit | None) -> None:
        """End what is left of it, and say how it ended."""
        with self._verdict_lock:
            verdict = self._verdict = self._verdict or verdict
        self._end()
        self._gone.wait()
        self._launch.recorder.finish()
        exceeded = self._exceeded()
        verdict = verdict or exceeded or self._own_verdict() or exit_of(self._launch.process.returncode)
        self._exit = Exit(
            verdict.ending,
            verdict.reason,
            processor_seconds=self._processor_seconds or None,
            peak_bytes=self._peak or None,
            ended=self._ended,
        )
        self._leave()

    def _leave(self) -> None:
        """Remove what was made for it."""
        if self._group:
            self._group.remove()

    def _look(self) -> Exit | None:
        """Return which limit it broke, if any."""
        verdict = self._exceeded()
        seldom = self._looks % _SELDOM == 0
        self._looks += 1
        if verdict or (self._group and not seldom):
            return verdict
        threads = descendants(self._root(), most=self._allowance.processes + 1)
        self._processor_seconds = max(self._processor_seconds, processor_seconds(threads))
        if self._root_is_ours:
            threads.pop(self._root(), None)
        unlinked, in_memory = unlinked_bytes(threads, self._device) if seldom else (0, 0)
        if unlinked > self._allowance.output_bytes:
            return self._too_much_output()
        if self._group:
            return None
        if sum(threads.values()) > self._allowance.processes:
            return self._too_many_processes()
        resident = resident_bytes(threads) + self._held_bytes() + in_memory
        self._peak = max(self._peak, resident)
        return self._too_much_memory() if resident > self._allowance.memory_bytes else None

    def _exceeded(self) -> Exit | None:
        """Return which limit it broke, as can be told also when it has ended."""
        if self._group:
            self._peak = max(self._peak, self._group.resident_bytes())
            self._processor_seconds = max(self._processor_seconds, self._group.processor_seconds() or 0.0)
            if self._group.killed_for_memory():
                return self._too_much_memory()
            if self._group.refused_forks():
                return self._too_many_processes()
        most = self._allowance.output_bytes
        size = size_of(self._output, enough=most)
        if size == math.inf:
            return Exit(Ending.TOO_MUCH_OUTPUT, f"more than {_DEEPEST} folders within one another")
        return self._too_much_output() if size > most else None

    def _too_much_output(self) -> Exit:
        return Exit(Ending.TOO_MUCH_OUTPUT, f"more than {readable_size(self._allowance.output_bytes)} of output")

    def _too_much_memory(self) -> Exit:
        return Exit(Ending.OUT_OF_MEMORY, f"more than {readable_size(self._allowance.memory_bytes)} of memory")

    def _too_many_processes(self) -> Exit:
        return Exit(Ending.TOO_MANY_PROCESSES, f"more than {self._allowance.processes} processes and threads at once")
