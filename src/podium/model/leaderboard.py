"""A leaderboard as it is shown and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from podium.model.metric import Direction

__all__ = ["Entry", "Heading", "Leaderboard"]


@dataclass(frozen=True, slots=True)
class Heading:
    """What a column holds."""

    name: str
    title: str
    unit: str
    direction: Direction
    digits: int


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
    """Ranked submissions from the first, then the others with the reason; nothing disappears."""

    challenge: str
    edition: str
    headings: tuple[Heading, ...]
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]
