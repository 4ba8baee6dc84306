"""Runs a program and ends all that it started when it ends, or when we do: a script before the program.

What is started here and left alone by its parent is adopted by this process, so that nothing gets out of sight.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_NOT_FOUND = 127


def main(control: int, home: str, *, to_log: bool, words: list[str]) -> int | None:
    """Run a program until it ends or `control` is closed; return its exit code as shells have it.

    Where `control` is closed, perhaps because we were killed, its home is removed here.
    """
    with contextlib.suppress(AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    program = os.fork()
    if program == 0:
        _become(control, to_log=to_log, words=words)
    for pipe in (0, 1):
        os.close(pipe)
    code, abandoned = None, False
    while code is None and not abandoned:
        ready, _, _ = select.select([woken, control], [], [])
        abandoned = control in ready
        if woken in ready:
            os.read(woken, 512)
            code = _reaped().get(program)
    _end_all(program)
    if abandoned:
        os.execvp("rm", ["rm", "-rf", home])
    return code


def _become(control: int, *, to_log: bool, words: list[str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
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
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(ended[1])
            codes[ended[0]] = code if code >= 0 else 128 - code
    return codes


def _end_all(program: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(program, signal.SIGKILL)
    while children := _children():
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        _reaped()
        time.sleep(0.001)


def _children() -> list[int]:
    try:
        words = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [int(word) for word in words]


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), sys.argv[2], to_log=sys.argv[3] == "log", words=sys.argv[4:]) or 0)
