"""What an organiser asks next: how many cases, what margins, which subgroups; asked for, and answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from podium.ranking.inference.margins import Margin

if TYPE_CHECKING:
    from podium.ranking.rankings import Ranking

__all__ = ["Answer", "Margin", "Questions"]


class Answer(Protocol):
    """What every answer has: its name in a document, and itself as sentences, tables by name, and a document."""

    @property
    def name(self) -> str:
        """Its key in a document."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Itself in words."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Itself as tidy tables by name."""

    @property
    def document(self) -> dict[str, Any]:
        """Itself as plain lists and numbers, for JSON."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of a ranking besides.

    Attributes
    ----------
    plan
        Whether to tell how many cases would separate the first from the second.
    margin
        What matters, to tell who is better by more than that.
    groups, by
        The group of each case, to rank in every group; and what the groups are.
    """

    plan: bool = False
    margin: Margin | None = None
    groups: Mapping[str, str] | None = None
    by: str = "group"

    def answered(self, ranking: Ranking) -> tuple[Answer, ...]:
        """Return the answers, in the order of the questions."""
        answers: list[Answer] = []
        if self.plan:
            answers.append(ranking.plan())
        if self.margin is not None:
            answers.append(ranking.margins(self.margin))
        if self.groups is not None:
            answers.append(ranking.subgroups(self.groups, by=self.by))
        return tuple(answers)
