"""Running a command: behind walls where bubblewrap is there, else as it is, with all that it starts kept together."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from podium.algorithms import _warden
from podium.algorithms.confinement import Confined, Confinement
from podium.algorithms.launching import Launch, launched
from podium.algorithms.processes import marked
from podium.algorithms.specs import Algorithm, Allowance, Bind
from podium.algorithms.surroundings import program_of, refuse_hidden, variables
from podium.algorithms.walls import bwrap, made_up_files, process_limit, wall_options
from podium.algorithms.watching import Watched

__all__ = ["Bubblewrapped", "Kept", "Unconfined", "remove_home", "warded"]

_BEGIN = {True: 'printf .; exec "$@"', False: 'printf .; exec 1>&2; exec "$@"'}  # where stdout is a pipe, and where not
_END_SECONDS = 10.0
_MARKER = "PODIUM_PROGRAM"


class Bubblewrapped(Confinement):
    """Commands behind walls: without network and other processes, with only those files that they need, read-only.

    A command ends with the thread that started it.

    Parameters
    ----------
    hidden
        Folders that no algorithm may see: truth, submissions, runs.
    """

    isolated = True

    def __init__(self, *, hidden: Sequence[Path] = ()) -> None:
        self._hidden = tuple(hidden)

    def prepare(self, algorithm: Algorithm) -> None:
        """Find the command, and refuse one that would see what it must not."""
        refuse_hidden(algorithm, self._hidden)
        if algorithm.command:
            program_of(algorithm.command[0], algorithm.folder)

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
        """Start a command."""
        refuse_hidden(algorithm, self._hidden)
        program = program_of(words[0], algorithm.folder)
        output.chmod(0o700)  # whatever it writes there, nobody else can start it
        files = made_up_files()
        reading, writing = os.pipe()
        try:
            options = wall_options(
                algorithm, program, binds=binds, allowance=allowance, hidden=self._hidden, files=files
            )
            begin = [*process_limit(allowance), "/bin/sh", "-c", _BEGIN[pipes], "sh"]
            launch = launched(
                [bwrap(), *options, "--info-fd", str(writing), "--", *begin, str(program), *words[1:]],
                environment=variables(algorithm, program, home="/tmp", allowance=allowance),
                allowance=allowance,
                log=log,
                pipes=pipes,
                handles=(writing, *(handle for handle, _ in files)),
            )
            information = os.read(reading, 4096)
        finally:
            for handle in (reading, writing, *(handle for handle, _ in files)):
                os.close(handle)
        first = re.search(rb'"child-pid": *(\d+)', information)
        assert first is not None, information
        confined = _Walled(launch, int(first[1]), output=output, allowance=allowance, pipes=pipes)
        confined.watch()
        return confined

    def close(self) -> None:
        """Nothing was brought in."""


class _Walled(Watched):
    """A program in a space of processes of its own, which ends with its first process."""

    def __init__(self, launch: Launch, first: int, *, output: Path, allowance: Allowance, pipes: bool) -> None:
        super().__init__(launch, output=output, allowance=allowance, pipes=pipes)
        self._first = first
        self._handle: int | None = None
        with contextlib.suppress(ProcessLookupError):
            self._handle = os.pidfd_open(first)

    def _end(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            select.select([self._handle], [], [])
            os.close(self._handle)
            self._handle = None
        if not self._gone.wait(_END_SECONDS):
            self._launch.process.kill()

    def _root(self) -> int:
        return self._first

    def _held_bytes(self) -> int:
        total = 0
        for folder in ("tmp", "dev/shm"):
            with contextlib.suppress(OSError):
                state = os.statvfs(Path("/proc", str(self._first), "root", folder))
                total += (state.f_blocks - state.f_bfree) * state.f_frsize
        return total


class Unconfined(Confinement):
    """Commands as they are, where there is nothing to build walls with: they see what we see.

    Parameters
    ----------
    say
        Is told once that this is so.
    """

    isolated = False

    def __init__(self, *, say: Callable[[str], None] = lambda _: None, reason: str = "") -> None:
        self._say: Callable[[str], None] | None = say
        self._reason = reason

    def seen(self, bind: Bind) -> str:
        """Return the path itself: nothing is mounted."""
        return str(bind.source)

    def prepare(self, algorithm: Algorithm) -> None:
        """Find the command, and warn."""
        if algorithm.command:
            program_of(algorithm.command[0], algorithm.folder)
        if self._say is not None:
            because = f"{self._reason}: " if self._reason else ""
            self._say(f"{because}nothing keeps the algorithm from the network and from files, the truth among them")
            self._say = None

    def start(
        self,
        algorithm: Algorithm,
        words: Sequence[str],
        *,
        binds: Sequence[Bind],  # noqa: ARG002  # nothing is mounted
        output: Path,
        allowance: Allowance,
        log: Path,
        pipes: bool = False,
    ) -> Confined:
        """Start a command."""
        program = program_of(words[0], algorithm.folder)
        home = Path(tempfile.mkdtemp(prefix="podium-home-"))
        try:
            return warded(
                [str(program), *words[1:]],
                environment=variables(algorithm, program, home=str(home), allowance=allowance),
                folder=algorithm.folder or home,
                home=home,
                output=output,
                allowance=allowance,
                log=log,
                pipes=pipes,
            )
        except BaseException:  # Ctrl-C too leaves no folder behind
            remove_home(home)
            raise

    def close(self) -> None:
        """Nothing was brought in."""


def warded(
    words: Sequence[str],
    *,
    environment: dict[str, str],
    folder: Path,
    home: Path,
    output: Path,
    allowance: Allowance,
    log: Path,
    pipes: bool,
    afterwards: Callable[[Path], None] = lambda _: None,
) -> Watched:
    """Start a program so that all that it starts can be ended with it; its home is removed with it.

    `afterwards` is called with the output folder when it has ended.
    """
    marker = f"{_MARKER}={uuid.uuid4().hex}"
    reading, writing = os.pipe()
    try:
        launch = launched(
            [
                os.path.realpath(sys.executable),
                "-I",
                "-S",
                _warden.__file__,
                str(reading),
                str(home),
                "pipe" if pipes else "log",
                *words,
            ],
            environment=environment | dict([marker.split("=")]),
            folder=folder,
            allowance=allowance,
            log=log,
            pipes=pipes,
            handles=(reading,),
        )
    except BaseException:  # Ctrl-C too leaves nothing running
        os.close(writing)
        _end_marked(marker)
        raise
    finally:
        os.close(reading)

    def leave() -> None:
        remove_home(home)
        afterwards(output)

    kept = Kept(launch, writing, marker, leave, output=output, allowance=allowance, pipes=pipes)
    kept.watch()
    return kept


class Kept(Watched):
    """A program below a process of ours that adopts all that it starts."""

    def __init__(
        self,
        launch: Launch,
        control: int,
        marker: str,
        leave: Callable[[], None],
        *,
        output: Path,
        allowance: Allowance,
        pipes: bool,
    ) -> None:
        super().__init__(launch, output=output, allowance=allowance, pipes=pipes)
        self._control, self._marker, self._clean_up = control, marker, leave

    def _end(self) -> None:
        os.close(self._control)
        if not self._gone.wait(_END_SECONDS):
            self._launch.process.kill()
        if self._launch.group is not None:
            self._launch.group.kill()
        _end_marked(self._marker)

    def _root(self) -> int:
        return self._launch.process.pid

    def _leave(self) -> None:
        super()._leave()
        self._clean_up()


def _end_marked(marker: str) -> None:
    """End whatever was started with a variable in its environment, wherever it has gone."""
    while processes := marked(marker):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.001)


def remove_home(folder: Path) -> None:
    """Remove a folder of a program, however deep, and whatever it has done to its modes."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    subprocess.run(["chmod", "-R", "u+rwx", str(folder)], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["rm", "-rf", str(folder)], check=False)
