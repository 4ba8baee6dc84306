"""What `--help` shows: what a command is for, examples, what is required, and the options of the challenge named."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from podium.model import Challenge

_EXAMPLES = "\n\nExamples\n--------\n"
_GIVEN = "podium.given"
_WIDEST_NAME = 26
_OTHERS = "Options"
REQUIRED = "Required"
SETTINGS = {"max_content_width": 100}


def examples_of(text: str | None) -> list[str]:
    """Return the examples in the text of a command: commands, perhaps with a remark after #."""
    return [line for line in (text or "").partition(_EXAMPLES)[2].splitlines() if line]


def words_of(text: str | None) -> str:
    """Return what stands before the examples."""
    return (text or "").partition(_EXAMPLES)[0]


def sections_of(command: Any, context: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return every argument and option with its help, under headings."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        name, text = parameter.get_help_record(context)
        if parameter.param_type_name == "argument":
            title, name = "Arguments", name.partition(" <")[0]
        else:
            title = getattr(parameter, "rich_help_panel", None) or (REQUIRED if parameter.required else _OTHERS)
        sections.setdefault(title, []).append((name, text.replace("\\[", "[")))  # as older Typer has it
    return sorted(sections.items(), key=lambda section: _place(section[0]))


class _Helpful:
    """Examples come after the first words; parameters are in sections, first what is required."""

    help: str | None

    def format_help_text(self, _: Any, formatter: Any) -> None:
        """Write what a command is for, and examples of it."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(words_of(self.help))
        with formatter.section("Examples"):
            for line in examples_of(self.help):
                formatter.write(f"  {line}\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write every argument and option, by section."""
        for title, rows in sections_of(self, ctx):
            with formatter.section(title):
                formatter.write_dl(rows, col_max=_WIDEST_NAME)


def _place(title: str) -> int:
    """Return where a section stands: arguments, what is required, all others, and what belongs to one option."""
    first = title == "Arguments", REQUIRED in title, title == _OTHERS, not title.startswith("With ")
    return [*first, True].index(True)


class HelpfulCommand(_Helpful, TyperCommand):
    """A command whose help is as above; where a challenge is named, its options are listed too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and remember what was given: help is shown before any of it is looked at."""
        ctx.meta[_GIVEN] = list(args)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the options of the challenge that was named."""
        if {"name", "option"} <= {parameter.name for parameter in self.params}:
            words = [word for word in ctx.meta.get(_GIVEN, ()) if not word.startswith("-")]
            if (challenge := _named(words)) is not None:
                from podium.challenges.guide import options_of

                with formatter.section(f"Options of {challenge.title}"):
                    formatter.write_dl(list(options_of(challenge)), col_max=_WIDEST_NAME)


def _named(words: list[str]) -> Challenge | None:
    """Return the first challenge that is named among some words."""
    if not words:
        return None
    from podium.challenges import get_challenge
    from podium.model import InputError

    for word in words:
        with suppress(InputError, OSError):
            return get_challenge(word)
    return None


class HelpfulGroup(_Helpful, TyperGroup):
    """All commands, each with its whole first sentence."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write what can be said before a command, and all commands."""
        super().format_options(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(command.help)) for name, command in self.commands.items()])


def summary(text: str | None) -> str:
    """Return the first paragraph."""
    return " ".join((text or "").partition("\n\n")[0].split())


def add_to(app: typer.Typer, command: Any) -> None:
    """Add a function to the commands of an application."""
    app.command(cls=HelpfulCommand, context_settings=SETTINGS)(command)
