"""`podium challenges`: what is built in, and its rules in a paragraph; of one, all that a participant must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._completion import challenge_names
from podium.cli._console import failing_clearly, print_json
from podium.cli._options import Json

if TYPE_CHECKING:
    from podium.challenges.guide import Section
    from podium.model import Challenge


def challenges(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="CHALLENGE",
            help="One, by its name or the path of its challenge.toml. Default: list them all.",
            autocompletion=challenge_names,
        ),
    ] = None,
    *,
    toml: Annotated[
        bool, typer.Option("--toml", help="Print the challenge as a challenge.toml, as far as it can be expressed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the challenges; of one, tell what to send, what is measured, how places are made, and how to try it.

    Examples
    --------
    podium challenges                   # all, with their rules in a paragraph
    podium challenges trackrad2025      # what to send, and how it is judged
    podium challenges kits21 --toml     # the same as a challenge.toml, to begin one of your own
    """
    with failing_clearly(context):
        if name is None:
            if toml:
                from podium.model import InputError

                raise InputError("--toml is for one challenge", advice="Name it: podium challenges NAME --toml")
            _list(as_json=as_json)
            return
        from podium.challenges import get_challenge
        from podium.challenges.guide import guide_to

        challenge = get_challenge(name)
        if toml:
            from podium.challenges.kinds.expressing import in_toml

            typer.echo(in_toml(challenge), nl=False)
            return
        sections = guide_to(challenge, called=name)
    if as_json:
        facts = {section.title.lower(): section.lines for section in sections}
        about = {"name": challenge.name, "title": challenge.title, "page": challenge.page, "rules": challenge.summary}
        print_json(about | facts)
    else:
        _tell(challenge, sections)


def _tell(challenge: Challenge, sections: tuple[Section, ...]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    console.print(Text.assemble((challenge.title, "bold"), "  ", (challenge.page, "dim")))
    if challenge.summary:
        console.print(Text(challenge.summary))
    for section in sections:
        console.print()
        console.print(Text(section.title, "bold"))
        for line in section.lines:
            if section.verbatim:
                typer.echo(f"  {line}")
            else:
                console.print(Padding(Text(line), (0, 0, 0, 2)))


def _list(*, as_json: bool) -> None:
    import podium

    listed = podium.list_challenges()
    if as_json:
        document = {
            name: {
                "title": kind.title,
                "page": kind.page,
                "rules": kind.summary,
                "options": {option: kind.model_fields[option].description for option in kind.option_names()},
            }
            for name, kind in listed.items()
        }
        print_json(document)
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for name, kind in listed.items():
        console.print(Text.assemble((name, "bold"), f"  {kind.title}  ", (kind.page, "dim")))
        options = f" Options: {', '.join(kind.option_names())}." if kind.option_names() else ""
        console.print(Padding(Text(kind.summary + options), (0, 0, 1, 4)))
    console.print(Text("podium challenges NAME tells all about one; podium init begins one of your own."))
