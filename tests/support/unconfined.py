"""The plainest way to run a program: in a process group of its own, with pipes and a time limit. For tests only."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.algorithms.confinement import Confined, Confinement, Exit
from podium.algorithms.specs import Algorithm, Allowance, Bind, Ending


class PlainProgram(Confined):
    """A group of processes."""

    def __init__(self, words: Sequence[str], *, folder: Path | None, log: Path, pipes: bool, variables: Any) -> None:
        pipe = subprocess.PIPE if pipes else None
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                words,
                stdin=pipe or subprocess.DEVNULL,
                stdout=pipe or file,
                stderr=file,
                cwd=folder,
                env=variables,
                start_new_session=True,
                bufsize=0,
            )
        self.looks = 0
        self.started = time.perf_counter()
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def broken(self) -> Exit | None:
        """Return how it ended."""
        code = self.process.poll()
        if code is None:
            return None
        used = {"processor_seconds": 0.5, "peak_bytes": 1000}
        if code == 0:
            return Exit(Ending.ANSWERED, "", **used)
        return Exit(Ending.CRASHED, f"exit code {code}" if code > 0 else f"killed by signal {-code}", **used)

    def used(self) -> tuple[float | None, int | None]:
        """Return more each time."""
        self.looks += 1
        return 0.1 * self.looks, 500

    def wait(self, seconds: float) -> Exit:
        """Wait until it ends, or end it."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            return Exit(Ending.TOO_SLOW, f"more than {seconds:g} s")
        ended = time.perf_counter()
        end = self.stop()
        return Exit(end.ending, end.reason, end.processor_seconds, end.peak_bytes, ended)

    def stop(self) -> Exit:
        """Kill all of the group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        end = self.broken()
        assert end is not None
        return end


class Plain(Confinement):
    """No mounts, no limits but time. It remembers what it started."""

    isolated = False

    def __init__(self) -> None:
        self.programs: list[PlainProgram] = []
        self.starts: list[dict[str, Any]] = []

    def seen(self, bind: Bind) -> str:
        """Return where it lies."""
        return str(bind.source)

    def prepare(self, algorithm: Algorithm) -> None:
        """Do nothing."""

    def start(
        self,
        algorithm: Algorithm,
        words: Sequence[str],
        *,
        binds: Sequence[Bind],
        output: Path,
        allowance: Allowance,  # noqa: ARG002
        log: Path,
        pipes: bool = False,
    ) -> PlainProgram:
        """Start a command."""
        self.starts.append({"words": list(words), "binds": list(binds), "output": output, "log": log})
        variables = {"PATH": os.environ["PATH"], **algorithm.environment}
        program = PlainProgram(words, folder=algorithm.folder, log=log, pipes=pipes, variables=variables)
        self.programs.append(program)
        return program

    def close(self) -> None:
        """Do nothing."""

    @property
    def running(self) -> list[int]:
        """Return the groups of processes of which any is left."""
        groups = {program.process.pid for program in self.programs}
        return sorted(groups & {group for state, group in _processes() if state not in "ZX"})


def _processes() -> list[tuple[str, int]]:
    """Return state and group of every process."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group, *_ = path.read_text().rpartition(")")[2].split()
            processes.append((state, int(group)))
    return processes
