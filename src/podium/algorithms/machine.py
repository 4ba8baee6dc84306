"""The machine that algorithms are timed on: what it is, and how busy others kept it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

__all__ = ["BUSY", "Hardware", "Workload", "others_between", "others_now"]

BUSY = 0.2
"""The share of a machine's processors that others may use before times are doubted."""
_PROC = Path("/proc")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_IDLE = (3, 4)  # idle, and waiting for a disk, among the numbers of /proc/stat
_COUNTED = 8  # what follows is counted twice there
_SAMPLE_SECONDS = 0.25


class Hardware(BaseModel):
    """What figures are to be compared with their like by.

    Attributes
    ----------
    system, processor
        The operating system, and the model of its processors.
    processors
        How many of them may be used.
    governor
        What sets their clock; "" where that cannot be told.
    memory_bytes
        Of the machine.
    gpus
        Model and driver of each.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str = ""
    processor: str = ""
    processors: int = 1
    governor: str = ""
    memory_bytes: int = 0
    gpus: tuple[str, ...] = ()

    @classmethod
    def here(cls) -> Self:
        """Return what this machine is."""
        return cls(
            system=platform.platform(),
            processor=_named("cpuinfo", "model name") or platform.processor() or platform.machine(),
            processors=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            governor=_line(_GOVERNOR),
            memory_bytes=1024 * int((_named("meminfo", "MemTotal") or "0").split()[0]),
            gpus=_gpus(),
        )

    def unlike(self, other: Hardware) -> str:
        """Say in what two machines differ that matters to times; nothing where they are alike."""
        names = ("processor", "processors", "governor", "gpus")
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in names}
        return "; ".join(f"{name}: {_shown(a)} and {_shown(b)}" for name, (a, b) in pairs.items() if a != b)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value) or "unknown"


@dataclass(frozen=True, slots=True)
class Workload:
    """What all processors together have worked since the machine started, and this process, in seconds."""

    at: float
    everybody: float | None
    own: float

    @classmethod
    def now(cls) -> Self:
        """Take note of it."""
        return cls(time.perf_counter(), _worked(), time.process_time())


def others_between(start: Workload, end: Workload, *, algorithm_seconds: float | None) -> float | None:
    """Return how many processors others kept busy meanwhile, None where that cannot be told.

    Parameters
    ----------
    start, end
        From when to when.
    algorithm_seconds
        What the algorithm itself took of the processors' time.
    """
    elapsed = end.at - start.at
    if start.everybody is None or end.everybody is None or algorithm_seconds is None or elapsed <= 0:
        return None
    others = end.everybody - start.everybody - (end.own - start.own) - algorithm_seconds
    return max(0.0, others / elapsed)


def others_now(seconds: float = _SAMPLE_SECONDS) -> float | None:
    """Return how many processors others keep busy, while nothing of ours runs."""
    start = Workload.now()
    time.sleep(seconds)
    return others_between(start, Workload.now(), algorithm_seconds=0.0)


def _worked() -> float | None:
    """Return for how many seconds processors have worked, of all of them together."""
    words = _line(_PROC / "stat").split()[1:]
    if len(words) < _COUNTED or not all(map(str.isdecimal, words)):
        return None
    ticks = sum(int(word) for place, word in enumerate(words[:_COUNTED]) if place not in _IDLE)
    return ticks / os.sysconf("SC_CLK_TCK")


def _named(file: str, name: str) -> str:
    """Return the first value of a name in a file of names and values that the system gives."""
    try:
        lines = (_PROC / file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _line(path: Path) -> str:
    """Return the first line of a file of the system; nothing where there is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _gpus() -> tuple[str, ...]:
    """Ask the driver which GPUs there are."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    query = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in answer.splitlines() if line.strip())
