"""`podium check`: whether a submission would be accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli._console import failing_clearly, say
from podium.cli._options import Json, Name, Options, Rules, given_options


def check(
    context: typer.Context,
    name: Name,
    predictions: Annotated[
        Path, typer.Argument(help="Your predictions: a folder, .zip or .tar.gz, or their one file.")
    ],
    *,
    truth: Annotated[
        Path | None, typer.Option(help="The truth, if you have it: then what is missing is known.")
    ] = None,
    rules: Rules = "document",
    option: Options = None,
    as_json: Json = False,
) -> None:
    """Would this submission be accepted? Lists every problem at once; exit code 1 if there is any."""
    with failing_clearly(debug=context.obj["debug"]):
        import podium

        problems = podium.check(name, predictions, truth=truth, rules=rules, options=given_options(option))
    if as_json:
        import json

        typer.echo(json.dumps([{"file": p.file, "problem": p.what} for p in problems], indent=2, ensure_ascii=False))
    elif problems:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table("file", "problem", box=box.SIMPLE_HEAD, show_edge=False)
        for problem in problems:
            table.add_row(Text(problem.file), Text(problem.what))
        Console().print(table)
        say(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}.")
    else:
        known = "" if truth else " (whether cases are missing cannot be known without the truth)"
        say(f"Nothing is wrong with {predictions}{known}.")
    if problems:
        raise typer.Exit(1)
