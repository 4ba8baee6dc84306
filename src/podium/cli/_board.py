"""A leaderboard on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.model import Leaderboard
    from podium.ranking import Ranking


def show_board(board: Leaderboard, beside: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """Print a leaderboard, the ranked first, no wider than the terminal; below it, what should be known about it.

    `beside` are further columns, from heading and submission to what is shown after the name.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from podium.model import Purpose
    from podium.report.words import why_unranked

    console = Console()
    measures = [measure for measure in board.columns if measure.purpose is not Purpose.RANK]
    longest = min(max((len(entry.submission) for entry in board.entries), default=0), 24)
    room = console.width - max(longest, 10) - 10
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("#", justify="right")
    table.add_column("submission", no_wrap=True, width=max(longest, 10), overflow="ellipsis")
    columns = []
    for title, cells_by_name in (beside or {}).items():
        cells = [cells_by_name.get(entry.submission, "–") for entry in board.entries]
        width = max(len(word) for word in [*title.split(), *cells])
        room -= width + 3
        table.add_column(Text(title), justify="right", width=width)
        columns.append(cells)
    extra = len(columns)
    for measure in measures:
        cells = [measure.shown(entry.values[measure.name]) for entry in board.entries]
        width = max(len(word) for word in [*measure.label.split(), *cells])
        room -= width + 3
        if room < 0:
            break
        table.add_column(Text(measure.label), justify="right", width=width)
        columns.append(cells)
    for index, entry in enumerate(board.entries):
        table.add_row(str(entry.place or "–"), Text(entry.submission), *(Text(cells[index]) for cells in columns))
    console.print(table)
    remarks = [
        f"{entry.submission} is not ranked: {why_unranked(entry.remark)}." for entry in board.entries if entry.remark
    ]
    if hidden := len(measures) - len(columns) + extra:
        remarks.append(f"{hidden} more column{'s are' if hidden > 1 else ' is'} in leaderboard.csv.")
    for remark in [*remarks, *board.notes]:
        console.print(Text(remark, style="dim"))


def show_ranking(ranking: Ranking) -> None:
    """Print the leaderboard with what is sure of it, and the rest in words."""
    from rich.console import Console
    from rich.text import Text

    from podium.model import shown_level
    from podium.report.verdicts import sentences
    from podium.report.words import percent, places

    if ranking.untold:
        show_board(ranking.leaderboard)
        if ranking.bootstrap:
            Console().print(Text(f"How sure this is cannot be told. {ranking.untold}", style="yellow"))
        return
    stability, confidence = ranking.stability, ranking.confidence
    names = stability.submissions
    spans = {name: places(rank.best, rank.worst) for name, rank in zip(names, confidence.ranks, strict=True)}
    first = {name: percent(share) for name, share in zip(names, stability.first.tolist(), strict=True)}
    beside = {f"true place, {shown_level(confidence.level)} sure": spans, "first in resamples, alone or shared": first}
    show_board(ranking.leaderboard, beside=beside if len(names) > 1 else None)
    console = Console()
    console.print()
    headline, *lines = sentences(ranking)
    console.print(Text(headline, style="bold"))
    for line in lines:
        console.print(Text(_wrapped(line, console.width)))
    for warning in confidence.warnings:
        console.print(Text(_wrapped(warning, console.width), style="yellow"))


def show_lines(lines: Iterable[str], names: Sequence[str]) -> None:
    """Print sentences after an empty line, whatever the submissions in them are called."""
    from rich.console import Console
    from rich.text import Text

    from podium.report.words import contained

    console = Console()
    console.print()
    for line in lines:
        console.print(Text(_wrapped(contained(line, names), console.width)))


def _wrapped(text: str, width: int) -> str:
    """Break lines where they are full, but never between a number and its percent sign."""
    held = text.replace(" %", "\u00a0%").replace("< ", "<\u00a0").replace("> ", ">\u00a0")
    return fill(held, max(width, 20), break_on_hyphens=False).replace("\u00a0", " ")
