"""Starting a process of a program: within limits from its first moment, and with the moment known when it begins."""

from __future__ import annotations

import contextlib
import math
import os
import select
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from podium.algorithms.cgroups import ControlGroup
from podium.algorithms.recording import Recorder
from podium.algorithms.specs import Allowance
from podium.model import InputError

__all__ = ["Launch", "attached", "launched"]

_PREPARE = """
ulimit -c 0; ulimit -f "$1"; shift
echo 1000 2>/dev/null >/proc/self/oom_score_adj
while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done
shift; exec "$@"
"""  # no dumps, no file larger than all may be, first to go where memory is short, and into its group
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Launch:
    """A process that runs: what records its words, its group if there is one, and when the program began."""

    process: Popen[bytes]
    recorder: Recorder
    group: ControlGroup | None
    started: float

    def abandon(self) -> None:
        """End it, where it is of no use."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        if self.group is not None:
            self.group.kill()
            self.group.remove()
        self.recorder.finish(seconds=1)


def launched(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path | None = None,
    allowance: Allowance,
    log: Path,
    pipes: bool,
    handles: Sequence[int] = (),
) -> Launch:
    """Start a process in a session of its own.

    Parameters
    ----------
    words
        The process, which says one byte on its stdout when the program begins.
    handles
        Further open files that it is given.

    Raises
    ------
    InputError
        It ended before the program began.
    """
    group = ControlGroup.made(allowance)
    doors = [str(door) for door in group.doors] if group else []
    blocks = str(allowance.largest_file_bytes // 512 + 1)
    reading, writing = os.pipe()
    with _on_processors(allowance.processors):
        process = Popen(
            ["/bin/sh", "-c", _PREPARE, "sh", blocks, *doors, "--", *words],
            stdin=PIPE if pipes else DEVNULL,
            stdout=PIPE,
            stderr=writing,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
            pass_fds=handles,
        )
    os.close(writing)
    launch = Launch(process, Recorder(reading, log), group, time.perf_counter())
    try:
        began = _sign(process)
    except BaseException:  # Ctrl-C too leaves nothing running
        launch.abandon()
        raise
    if not began:
        launch.abandon()
        said = " ".join(log.read_text(errors="replace").split())
        raise InputError(f"the algorithm could not be started ({said or 'it said nothing'})")
    if not pipes and process.stdout is not None:
        process.stdout.close()
    return Launch(process, launch.recorder, group, time.perf_counter())


def attached(words: Sequence[str], *, log: Path, pipes: bool) -> Launch:
    """Start a process that has nothing to do but to hand on what a program elsewhere says and hears."""
    reading, writing = os.pipe()
    stdin, stdout = (PIPE, PIPE) if pipes else (DEVNULL, writing)
    process = Popen(words, stdin=stdin, stdout=stdout, stderr=writing, start_new_session=True)
    os.close(writing)
    return Launch(process, Recorder(reading, log), None, time.perf_counter())


def _sign(process: Popen[bytes]) -> bytes:
    """Wait for the byte that says that the program begins."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _START_SECONDS)
    return os.read(process.stdout.fileno(), 1) if ready else b""


@contextlib.contextmanager
def _on_processors(count: float) -> Iterator[None]:
    """Let what is started inside run on so many processors only."""
    if not count or not hasattr(os, "sched_getaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[: math.ceil(count)])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
