"""A leaderboard as it is shown and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from podium.model.measure import Measure, Purpose

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Entry", "Leaderboard"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line: a submission, its place if it is ranked, why not if it is not, and its value in every column."""

    submission: str
    role: str
    place: int | None
    remark: str
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Ranked submissions from the first, then the others with the reason; nothing disappears.

    Attributes
    ----------
    challenge, edition
        Whose rules, or which table and scheme.
    columns
        What the values of the entries are.
    entries
        The lines.
    notes
        What a reader should know.
    """

    challenge: str
    edition: str
    columns: tuple[Measure, ...]
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]

    @property
    def places(self) -> dict[str, int | None]:
        """The place of every submission, from the first; None where it is not ranked."""
        return {entry.submission: entry.place for entry in self.entries}

    @property
    def ranked(self) -> tuple[Entry, ...]:
        """The lines of those who have a place."""
        return tuple(entry for entry in self.entries if entry.place is not None)

    def to_frame(self) -> pl.DataFrame:
        """Return place, submission, role, every column, and the remark, one line for each submission."""
        import polars as pl

        schema: dict[str, pl.DataType] = {"place": pl.Int64(), "submission": pl.String(), "role": pl.String()}
        schema |= {column.name: pl.Float64() for column in self.columns} | {"remark": pl.String()}
        lines = [
            (entry.place, entry.submission, entry.role, *(entry.values[c.name] for c in self.columns), entry.remark)
            for entry in self.entries
        ]
        return pl.DataFrame(lines, schema=schema, orient="row")

    def _repr_html_(self) -> str:
        """Show the board in a notebook; ranks within criteria are left to `to_frame`."""
        columns = [column for column in self.columns if column.purpose is not Purpose.RANK]
        head = "".join(f"<th>{escape(title)}</th>" for title in ("#", "submission", *(c.label for c in columns), ""))
        lines = []
        for entry in self.entries:
            cells = [str(entry.place or "–"), entry.submission, *(c.shown(entry.values[c.name]) for c in columns)]
            lines.append("".join(f"<td>{escape(cell)}</td>" for cell in (*cells, entry.remark)))
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
