"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._completion import challenge_names

if TYPE_CHECKING:
    from podium.ranking.score_table import Missing

Name = Annotated[
    str,
    typer.Argument(
        metavar="CHALLENGE",
        help="Which: a name that `podium challenges` lists, or the path of a challenge.toml.",
        autocompletion=challenge_names,
    ),
]
Rules = Annotated[
    str,
    typer.Option(
        "--rules",
        help="document: what the challenge's page says. code: what its organisers' code does.",
        metavar="document|code",
    ),
]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the challenge; repeat for more.", metavar="KEY=VALUE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs to read.")]
Device = Annotated[
    str,
    typer.Option("--device", help="cuda: surface distances on a GPU, where there is one.", metavar="cpu|cuda"),
]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default all processors.", metavar="N", min=1)]

SURE = "How sure it is"
_TABLE = "How a table is read"

# How a run or a table is read and ranked, the same for every command that ranks one.
Source = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN|TABLE",
        help="A run folder, or a table (CSV of any kind, Parquet, Excel) with the columns submission, case, value, and "
        "optionally task, cluster and stratum, or with teams, metrics or cases as columns. Or a folder of tables or "
        "several, one for each team.",
    ),
]
Scheme = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        help="own (the challenge's rules), aggregate-then-rank, rank-then-aggregate or test-then-rank. Over several "
        "tasks, ranks are averaged.",
        metavar="NAME",
    ),
]
Statistic = Annotated[
    str,
    typer.Option("--statistic", help="What aggregates: mean, median, or a share such as 0.05.", metavar="NAME|SHARE"),
]
Adjust = Annotated[
    str,
    typer.Option(
        "--adjustment",
        help="Of p-values in test-then-rank: none, holm, bonferroni or benjamini-hochberg.",
        metavar="NAME",
    ),
]
Alpha = Annotated[float, typer.Option("--alpha", help="What is significant in test-then-rank.", metavar="P")]
Consensus = Annotated[
    str | None,
    typer.Option(
        "--consensus",
        help="Which ranks are averaged over tasks, where equals share one: minimum (1, 2, 2, 4) or "
        "average (1, 2.5, 2.5, 4).",
        metavar="minimum|average",
    ),
]
Compared = Annotated[
    str | None,
    typer.Option(
        "--differences",
        help="In tests, are ties those on paper, or of raw binary numbers: paper or raw?",
        metavar="paper|raw",
    ),
]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        help="A task of the table, if not all, perhaps with its direction and weight; repeat for more.",
        metavar="NAME[:higher|lower[:WEIGHT]]",
    ),
]
Better = Annotated[
    str | None,
    typer.Option(
        "--better",
        help="For a table: are higher or lower values better, in tasks that do not say?",
        metavar="higher|lower",
    ),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range", help="From where to where values can lie, of all tasks or of one.", metavar="[TASK=]LOW:HIGH"
    ),
]
Lacking = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="What a missing value costs in a general scheme: worst (that anybody has in the task), a number (at least "
        "as bad), or drop (leaves the case out).",
        metavar="worst|NUMBER|drop",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        rich_help_panel=_TABLE,
        help="What a column is called in the table; repeat for more. One may be case and cluster.",
        metavar="submission=NAME",
    ),
]
Layout = Annotated[
    str | None,
    typer.Option(
        "--layout",
        rich_help_panel=_TABLE,
        help="Of a table: long, wide (teams are columns), metrics or cases (are columns).",
        metavar="NAME",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option("--separator", rich_help_panel=_TABLE, help="Between columns: , or ; or tab.", metavar="MARK"),
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", rich_help_panel=_TABLE, help="The decimal mark: . or ,", metavar="MARK")
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", rich_help_panel=_TABLE, help="Of a table: utf-8, utf-16, cp1252, ...", metavar="NAME"),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", rich_help_panel=_TABLE, help="Of a workbook, by name or number.", metavar="NAME|NUMBER"),
]
Level = Annotated[
    float, typer.Option("--level", rich_help_panel=SURE, help="Of confidence intervals.", metavar="SHARE")
]
Interval = Annotated[
    str,
    typer.Option(
        "--interval",
        rich_help_panel=SURE,
        help="bootstrap-t, percentile or bca; or, for values whose range is known, guaranteed or proved, which hold "
        "whatever the distribution.",
        metavar="NAME",
    ),
]
Seed = Annotated[int, typer.Option("--seed", rich_help_panel=SURE, help="Which resamples.", metavar="N", min=0)]


def given_missing(text: str | None) -> Missing | None:
    """Return what a missing value costs, from how it was given."""
    from podium.model import InputError

    if text is None:
        return None
    if text == "drop":
        return "drop"
    if text == "worst":
        return "worst"
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"there is no way {text!r} to treat missing values", advice="Say drop, worst, or a number"
        ) from None


def given_ranges(texts: list[str] | None) -> dict[str, tuple[float, float]]:
    """Return LOW:HIGH, or TASK=LOW:HIGH, by task; an end that is left out is none."""
    from podium.model import InputError

    ranges = {}
    for text in texts or []:
        task, _, ends = text.rpartition("=")
        low, colon, high = ends.partition(":")
        try:
            ranges[task] = float(low or "-inf"), float(high or "inf")
        except ValueError:
            colon = ""
        if not colon:
            raise InputError(
                f"--range {text} is not of the form LOW:HIGH or TASK=LOW:HIGH",
                advice="Say --range 0:1, or --range 0: where there is no upper end",
            )
    return ranges


def given_options(texts: list[str] | None, *, flag: str = "--option", form: str = "KEY=VALUE") -> dict[str, str]:
    """Return what was given as KEY=VALUE; which keys there are, and of what kind, the challenge knows."""
    from podium.model import InputError

    options = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{flag} {text} is not of the form {form}")
        if key in options:
            raise InputError(f"{flag} {key} is there twice", advice="Give each once")
        options[key] = value
    return options


def given_regions(given: list[str] | None) -> dict[str, tuple[int, ...]] | None:
    """Return labels by region, from NAME=LABELS; None where nothing was given."""
    from podium.model import InputError

    if not given:
        return None
    regions: dict[str, tuple[int, ...]] = {}
    for text in given:
        name, equals, members = text.partition("=")
        labels = tuple(
            int(member) if member.strip().isdecimal() else 0 for member in members.split(",") if len(member) < 20
        )
        if not (name and equals and labels) or min(labels) < 1:
            raise InputError(f"--region {text} is not understood", advice="Write NAME=1,2 with labels from 1")
        if name in regions:
            raise InputError(f"there are two regions called {name}")
        regions[name] = labels
    return regions
