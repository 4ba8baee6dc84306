"""What is to be run, within which limits, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from podium.model import Handed

__all__ = ["Algorithm", "Allowance", "Bind", "Ending", "Outcome", "Protocol", "Spans"]

Protocol = Literal["case", "many", "frames"]
"""One start per case; one start, many cases; or one start, many cases, frame by frame."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A participant's program: exactly one of a command, an image or a function.

    Attributes
    ----------
    name
        The team.
    command
        Words, among them `{input}` and `{output}`; for an image, what is given to its entry point.
    image
        The name of a container image, or a .tar or .tar.gz as participants upload it.
    function
        FILE:NAME of a function in Python.
    protocol
        How it is asked.
    folder
        Where a command or function is at home: it is started there, and may read all that lies there.
    reads
        Further folders that it may read, such as a model.
    environment
        Variables that are set for it; others of ours are not passed on.
    """

    name: str
    command: tuple[str, ...] = ()
    image: str = ""
    function: str = ""
    protocol: Protocol = "case"
    folder: Path | None = None
    reads: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much an algorithm may take.

    Attributes
    ----------
    case_seconds, frame_seconds
        Wall time of a case: so much, and so much for each of its frames.
    load_seconds
        Wall time from the start until it is ready, where it says so; added to the first case where it does not.
    memory_bytes, processors, processes, output_bytes
        Of all its processes together.
    gpu
        Whether it is given the GPU.
    """

    case_seconds: float = 600.0
    frame_seconds: float = 0.0
    load_seconds: float = 300.0
    memory_bytes: int = 8 * 2**30
    processors: float = 0.0
    processes: int = 512
    output_bytes: int = 16 * 2**30
    gpu: bool = False

    @property
    def temporary_bytes(self) -> int:
        """How much fits into its own /tmp, and into /dev/shm; all of it counts as memory."""
        return self.memory_bytes // 2

    @property
    def largest_file_bytes(self) -> int:
        """How large a file may become before it is stopped at once."""
        return max(self.output_bytes, self.temporary_bytes)

    def seconds(self, frames: int) -> float:
        """Return how long a case may take."""
        return self.case_seconds + self.frame_seconds * frames


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder of ours that an algorithm sees, and under which path."""

    source: Path
    target: str
    writable: bool = False


class Ending(StrEnum):
    """How a case ended."""

    ANSWERED = "answered"
    TOO_SLOW = "too slow"
    OUT_OF_MEMORY = "out of memory"
    TOO_MANY_PROCESSES = "too many processes"
    TOO_MUCH_OUTPUT = "too much output"
    CRASHED = "crashed"
    NO_OUTPUT = "no output"
    WRONG_OUTPUT = "wrong output"


@dataclass(frozen=True, slots=True)
class Spans:
    """Wall time of a case in seconds.

    Attributes
    ----------
    start
        From the call until the program runs.
    load
        Until it is ready, where it says so.
    run
        From the question to the answer.
    stop
        From the answer until nothing of it runs any more.
    frames
        Of each frame, where they were asked one by one.
    """

    start: float = 0.0
    load: float = 0.0
    run: float = 0.0
    stop: float = 0.0
    frames: tuple[float, ...] = ()

    @property
    def whole(self) -> float:
        """All of it."""
        return self.start + self.load + self.run + self.stop


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case.

    Attributes
    ----------
    case, ending, reason
        The reason ends with the last lines of the log, short enough for a table.
    spans
        How long it took, failed or not.
    processor_seconds, peak_bytes
        Of all its processes, as far as that can be told.
    answer
        Where the prediction lies, or its arrays where they are handed over without a file; None if there is none.
    """

    case: str
    ending: Ending
    reason: str = ""
    spans: Spans = Spans()
    processor_seconds: float | None = None
    peak_bytes: int | None = None
    answer: Path | Handed | None = None
