"""Where an algorithm runs: started with what it may see, watched, and ended with all that it started."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from podium.algorithms.specs import Algorithm, Allowance, Bind, Ending

__all__ = ["Confined", "Confinement", "Exit"]


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended.

    Attributes
    ----------
    ending
        `ANSWERED` where it ended by itself with exit code 0, which says nothing of its answer.
    reason
        In words: `exit code 3`, `killed by SIGSEGV`, `more than 4 GiB of memory`.
    processor_seconds, peak_bytes
        Of all its processes, as far as that can be told.
    ended
        When the program itself had ended, by `time.perf_counter`, where that is known: what it left may end later.
    """

    ending: Ending
    reason: str = ""
    processor_seconds: float | None = None
    peak_bytes: int | None = None
    ended: float | None = None


class Confined(ABC):
    """A program that runs.

    Attributes
    ----------
    stdin, stdout
        Pipes, where they were asked for; what it says on stderr goes to the log, and stdout too where it is no pipe.
    started
        When its own code began to run, by `time.perf_counter`, as closely as that can be told.
    """

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    started: float

    @abstractmethod
    def broken(self) -> Exit | None:
        """Return how it ended, or which limit it broke (it is then ended already); None while it runs as it may."""

    def used(self) -> tuple[float | None, int | None]:
        """Return the processor seconds and the peak of memory of all its processes so far, where they can be told."""
        return None, None

    @abstractmethod
    def wait(self, seconds: float) -> Exit:
        """Wait until it ends by itself, breaks a limit or its time is over, which ends it: nothing of it is left."""

    @abstractmethod
    def stop(self) -> Exit:
        """End it now and everything it started, and wait until nothing of it is left."""


class Confinement(ABC):
    """A way to run algorithms."""

    isolated: bool
    """Whether network, files and processes of ours are out of reach."""

    def seen(self, bind: Bind) -> str:
        """Return under which path a program sees what is bound: its target, unless nothing is mounted."""
        return bind.target

    @abstractmethod
    def prepare(self, algorithm: Algorithm) -> None:
        """Load an image, or find the command; raise InputError where it cannot be run."""

    def identity(self, algorithm: Algorithm) -> str:  # noqa: ARG002
        """Return the digest of a prepared image that is known by its name, which may come to mean another; else ""."""
        return ""

    @abstractmethod
    def start(
        self,
        algorithm: Algorithm,
        words: Sequence[str],
        *,
        binds: Sequence[Bind],
        output: Path,
        allowance: Allowance,
        log: Path,
        pipes: bool = False,
    ) -> Confined:
        """Start an algorithm with these words (its command, `{input}` and `{output}` filled in).

        Parameters
        ----------
        binds
            All of ours that it sees beside the system, its own folder and what it may read.
        output
            The folder of ours that holds what it writes, which is watched.
        log
            The file for what it says; no more than a megabyte of it is kept.
        pipes
            Whether to talk to it through stdin and stdout.
        """

    @abstractmethod
    def close(self) -> None:
        """Remove what `prepare` brought in."""
