"""How every command speaks and fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer


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
def failing_clearly(*, debug: bool) -> Iterator[None]:
    """Turn bad input into one line and exit code 1; say so when kernels are being compiled."""
    from podium._jit import announced_compilation, lasting
    from podium.model import InputError
    from podium.model.errors import printable

    try:
        with announced_compilation(lambda: say(f"Compiling the numerical kernels for this machine ({lasting()}) ...")):
            yield
    except (InputError, OSError) as error:
        if debug:
            raise
        reason = str(error)
        if isinstance(error, OSError):
            reason = printable(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        say(f"error: {reason}")
        raise typer.Exit(1) from None
