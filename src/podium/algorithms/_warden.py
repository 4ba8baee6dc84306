"""Runs a program and ends all that it started when it ends, or when we do: a script before the program.

What is started here and left alone by its parent is adopted by this process, so that nothing gets out of sight.
Little is imported, so that little time passes before the program begins.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_CHILD_SUBREAPER = 36
_SIGKILL = 9
_NOT_FOUND = 127
_LOOK_SECONDS = 0.25


def main(control: int, home: str, *, to_log: bool, words: list[str]) -> int | None:
    """Run a program until it ends or `control` is closed; return its exit code as shells have it.

    Where `control` is closed, perhaps because we were killed, its home is removed here.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program = os.fork()
    if program == 0:
        _become(control, to_log=to_log, words=words)
    for pipe in (0, 1):
        os.close(pipe)
    watched = [control, os.pidfd_open(program)] if hasattr(os, "pidfd_open") else [control]
    code, abandoned = None, False
    while code is None and not abandoned:
        ready, _, _ = select.select(watched, [], [], _LOOK_SECONDS if len(watched) > 1 else 0.02)
        abandoned = control in ready
        code = _reaped().get(program)
    _end_all(program)
    if abandoned:
        os.execvp("rm", ["rm", "-rf", home])
    return code


def _become(control: int, *, to_log: bool, words: list[str]) -> None:
    os.setpgid(0, 0)
    os.close(control)
    os.write(1, b".")
    if to_log:
        os.dup2(2, 1)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode())
    os._exit(_NOT_FOUND)


def _reaped() -> dict[int, int]:
    """Return the exit codes of all children that have ended."""
    codes: dict[int, int] = {}
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(ended[1])
            codes[ended[0]] = code if code >= 0 else 128 - code
    except ChildProcessError:
        pass
    return codes


def _end_all(program: int) -> None:
    _kill(os.killpg, program)
    while children := _children():
        for child in children:
            _kill(os.kill, child)
        _reaped()
        time.sleep(0.001)


def _kill(how: Callable[[int, int], None], process: int) -> None:
    try:
        how(process, _SIGKILL)
    except OSError:
        return  # it has ended


def _children() -> list[int]:
    try:
        file = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY)
    except FileNotFoundError:
        return []
    try:
        # What does not fit is seen when these have ended.
        return [int(word) for word in os.read(file, 2**16).rpartition(b" ")[0].split()]
    finally:
        os.close(file)


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), sys.argv[2], to_log=sys.argv[3] == "log", words=sys.argv[4:]) or 0)
