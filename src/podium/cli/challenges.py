"""`podium challenges`: what is built in, and its rules in a paragraph."""

from __future__ import annotations

import typer

from podium.cli._console import failing_clearly
from podium.cli._options import Json


def challenges(context: typer.Context, *, as_json: Json = False) -> None:
    """List the challenges that are built in, their rules in a paragraph, and their options."""
    with failing_clearly(debug=context.obj["debug"]):
        import podium

        listed = podium.list_challenges()
    if as_json:
        import json

        document = {
            name: {
                "title": kind.title,
                "page": kind.page,
                "rules": kind.summary,
                "options": {option: kind.model_fields[option].description for option in kind.option_names()},
            }
            for name, kind in listed.items()
        }
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for name, kind in listed.items():
        console.print(Text.assemble((name, "bold"), f"  {kind.title}  ", (kind.page, "dim")))
        options = f" Options: {', '.join(kind.option_names())}." if kind.option_names() else ""
        console.print(Padding(Text(kind.summary + options), (0, 0, 1, 4)))
