"""One page a command, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

from podium.cli import app
from podium.cli._help import examples_of, sections_of, summary, words_of


def pages() -> Iterator[tuple[str, str]]:
    """Yield an index and a page for each command."""
    group: Any = get_command(app)
    context = typer.Context(group, info_name="podium")
    rows = [f"| [`podium {name}`]({name}.md) | {summary(command.help)} |" for name, command in group.commands.items()]
    about = _page("podium", group, context)
    yield (
        "commands/index.md",
        about + "\n## Commands\n\n| command | what it does |\n|---|---|\n" + "\n".join(rows) + "\n",
    )
    for name, command in group.commands.items():
        yield f"commands/{name}.md", _page(f"podium {name}", command, typer.Context(command, context, info_name=name))


def _page(title: str, command: Any, context: Any) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"# {title}", words_of(command.help), f"```text\n{title} {usage}\n```"]
    parts += ["```sh\n" + "\n".join(examples_of(command.help)) + "\n```"]
    for heading, rows in sections_of(command, context):
        table = [f"| `{name}` | {_cell(text)} |" for name, text in rows]
        parts.append(f"## {heading}\n\n| name | what it says |\n|---|---|\n" + "\n".join(table))
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Return a text as a cell of a table: nothing in it is taken for markup but code."""
    for sign in "\\*_|<>[]":
        text = text.replace(sign, f"\\{sign}")
    return text
