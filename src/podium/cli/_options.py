"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(metavar="CHALLENGE", help="Which challenge; `podium challenges` lists them.")]
Rules = Annotated[
    str, typer.Option("--rules", help="document: what the challenge's page says. code: what its organisers' code does.")
]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the challenge; repeat for more.", metavar="KEY=VALUE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs to read.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default all processors.", min=1)]


def given_options(texts: list[str] | None, *, flag: str = "--option", form: str = "KEY=VALUE") -> dict[str, str]:
    """Return what was given as KEY=VALUE; which keys there are, and of what kind, the challenge knows."""
    from podium.model import InputError

    options = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{flag} {text} is not of the form {form}")
        options[key] = value
    return options
