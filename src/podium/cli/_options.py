"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from podium.ranking.score_table import Missing

Name = Annotated[str, typer.Argument(metavar="CHALLENGE", help="Which challenge; `podium challenges` lists them.")]
Rules = Annotated[
    str, typer.Option("--rules", help="document: what the challenge's page says. code: what its organisers' code does.")
]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the challenge; repeat for more.", metavar="KEY=VALUE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs to read.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default all processors.", min=1)]

# How a table is read and ranked, the same for every command that takes one.
Better = Annotated[str | None, typer.Option("--better", help="For a table: are higher or lower values better?")]
Scheme = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        help="own (the challenge's rules), aggregate-then-rank, rank-then-aggregate or test-then-rank. Over several "
        "tasks, ranks are averaged.",
    ),
]
Statistic = Annotated[str, typer.Option("--statistic", help="What aggregates: mean, median, or a share such as 0.05.")]
Adjust = Annotated[
    str,
    typer.Option("--adjustment", help="Of p-values in test-then-rank: none, holm, bonferroni or benjamini-hochberg."),
]
Alpha = Annotated[float, typer.Option("--alpha", help="What is significant in test-then-rank.")]
Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="A task of the table, if not all; repeat for more.", metavar="NAME")
]
Lacking = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="What a missing value costs in a general scheme: drop (leaves the case out), worst (of the case), or a "
        "number.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="What a column is called in the table; repeat for more.", metavar="submission=NAME"),
]
Level = Annotated[float, typer.Option("--level", help="Of confidence intervals.")]
Interval = Annotated[str, typer.Option("--interval", help="bootstrap-t, percentile or bca.")]
Seed = Annotated[int, typer.Option("--seed", help="Which resamples.", min=0)]


def given_missing(text: str | None) -> Missing | None:
    """Return what a missing value costs, from how it was given."""
    from podium.model import InputError

    if text is None or text == "drop" or text == "worst":
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"there is no way {text!r} to treat missing values", advice="Say drop, worst, or a number"
        ) from None


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
