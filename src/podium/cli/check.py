"""`podium check`: whether a submission would be accepted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._console import counted, failing_clearly, print_json, say
from podium.cli._options import Json, Name, Options, Rules, given_options

if TYPE_CHECKING:
    from podium.run import Problem

_AGAIN = "the same"


def check(
    context: typer.Context,
    name: Name,
    predictions: Annotated[
        Path,
        typer.Argument(metavar="PREDICTIONS", help="Your predictions: a folder, .zip or .tar.gz, or their one file."),
    ],
    *,
    truth: Annotated[
        Path | None,
        typer.Option(help="The truth, if you have it: then what is missing is known.", metavar="DIR"),
    ] = None,
    rules: Rules = "document",
    option: Options = None,
    as_json: Json = False,
) -> None:
    """Would this submission be accepted? Lists every problem at once; exit code 1 if there is any, warnings apart.

    Examples
    --------
    podium check kits21 my-team.zip                  # before it is sent
    podium check kits21 my-team --truth truth        # and is any case missing?
    podium check kits21 my-team --json               # for a program to read
    """
    with failing_clearly(context):
        import podium

        problems = podium.check(name, predictions, truth=truth, rules=rules, options=given_options(option))
    refused = [problem for problem in problems if not problem.warning]
    if as_json:
        lines = [{"file": p.file, "problem": p.what, "kind": _kind(p)} for p in problems]
        print_json(lines)
    else:
        if problems:
            _show(problems)
        known = "" if truth else " (whether cases are missing cannot be known without the truth)"
        warnings = counted(len(problems) - len(refused), "warning")
        if refused:
            say(f"{counted(len(refused), 'problem')}{f', {warnings}' if len(problems) > len(refused) else ''}.")
        elif problems:
            say(f"{predictions} would be accepted, with {warnings}{known}.")
        else:
            say(f"Nothing is wrong with {predictions}{known}.")
    if refused:
        raise typer.Exit(1)


def _show(problems: list[Problem]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for heading in ("file", "", "what"):
        table.add_column(heading, overflow="fold")
    before = None
    for problem in sorted(problems, key=lambda problem: (problem.warning, problem.file)):
        again = before == (problem.warning, problem.what) and len(problem.what) > len(_AGAIN)
        table.add_row(Text(problem.file), _kind(problem), Text(_AGAIN if again else problem.what))
        before = (problem.warning, problem.what)
    Console().print(table)


def _kind(problem: Problem) -> str:
    return "warning" if problem.warning else "problem"
