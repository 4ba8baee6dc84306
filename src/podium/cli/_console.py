"""How every command speaks, fails and is stopped."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

STOPPED = 130
"""The exit code of what was stopped by Ctrl-C."""


def say(text: str) -> None:
    """Print to standard error, which is for people; standard output may be read by programs."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def print_json(document: Any) -> None:
    """Print a document to standard output, as JSON that any program reads: what is not finite is null."""
    from podium.io import json_text

    typer.echo(json_text(document), nl=False)


def counted(number: int, what: str) -> str:
    """Return a number of things, such as 1 warning and 2 warnings."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@contextmanager
def failing_clearly(context: typer.Context) -> Iterator[None]:
    """Turn bad input into one line and exit code 1, and Ctrl-C into how to go on; say when kernels are compiled."""
    from podium._jit import announced_compilation, lasting
    from podium.model import InputError
    from podium.model.errors import printable

    try:
        with (
            _stoppable(),
            announced_compilation(lambda: say(f"Compiling kernels that are used for the first time ({lasting()}) ...")),
        ):
            yield
    except KeyboardInterrupt:
        if context.obj["debug"]:
            raise
        say(f"Stopped{_going_on(context.params)}.")
        raise typer.Exit(STOPPED) from None
    except (InputError, OSError) as error:
        if context.obj["debug"]:
            raise
        reason = str(error)
        if isinstance(error, OSError):
            reason = printable(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        say(f"error: {reason}")
        raise typer.Exit(1) from None


def _going_on(given: dict[str, Any]) -> str:
    """Return how to go on with a command that can be resumed; "" where there is nothing to go on with."""
    out: Path | str | None = given.get("out")  # as it was typed, in older Typer
    if "resume" not in given or out is None or not (Path(out) / "parts" / "unfinished").exists():
        return ""
    how = "--resume in place of --restart" if given.get("restart") else "--resume"
    return f"; what is done is in {out}. The same with {how} goes on"


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let Ctrl-C stop a command once what is in hand is done, and a second time at once."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        say("Stopping, once what is in hand is done. Ctrl-C again stops at once.")
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
