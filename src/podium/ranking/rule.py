"""A rule: from weights of rows to places, with the submissions and rows it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from podium.model import Entry, Floats, Leaderboard, Role, Scores
from podium.ranking.arithmetic import as_ones
from podium.ranking.inference.resampling import Units

__all__ = ["Rule"]


@dataclass(frozen=True, eq=False)
class Rule:
    """A ranking that can be repeated under any weights: a challenge's own, or a general scheme.

    Attributes
    ----------
    name, edition
        Of the challenge and its rules, or of a table and the scheme.
    submissions, rows
        Names.
    units
        Which rows are drawn together.
    ranked
        Which submissions compete, shape (submissions,).
    score
        From weights of shape (sets, rows) to places and columns.
    priced
        Which values are a price for a failure, shape (submissions, rows).
    roles, remarks
        Of submissions that are not plain competitors, and why some are not ranked.
    notes
        What a reader of the leaderboard should know.
    row_words, cluster_words
        What a row is called, and what is drawn where several rows are drawn together; one and several.
    """

    name: str
    edition: str
    submissions: tuple[str, ...]
    rows: tuple[str, ...]
    units: Units
    ranked: npt.NDArray[np.bool_]
    score: Callable[[Floats], Scores]
    priced: npt.NDArray[np.bool_]
    roles: Mapping[str, Role] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    row_words: tuple[str, str] = ("case", "cases")
    cluster_words: tuple[str, str] = ("cluster", "clusters")

    @property
    def unit_words(self) -> tuple[str, str]:
        """What is drawn anew, one and several: rows, unless something with names of its own is."""
        return self.row_words if set(self.units.names) == set(self.rows) else self.cluster_words

    @property
    def competitors(self) -> tuple[str, ...]:
        """The submissions that are ranked."""
        return tuple(name for name, ranked in zip(self.submissions, self.ranked.tolist(), strict=True) if ranked)

    @cached_property
    def published(self) -> Scores:
        """The scores with every weight one."""
        return self.score(as_ones(len(self.rows)))

    def places(self, weights: Floats) -> Floats:
        """Return the places of the competitors, shape (sets, competitors)."""
        return np.asarray(self.score(weights).places[:, self.ranked])

    def leaderboard(self) -> Leaderboard:
        """Return the published ranking as it is shown and written."""
        scores = self.published
        entries = []
        for index, submission in enumerate(self.submissions):
            place = scores.places[0, index]
            known = bool(self.ranked[index]) and not np.isnan(place)
            entries.append(
                Entry(
                    submission=submission,
                    role=self.roles.get(submission, Role.COMPETITOR).value,
                    place=int(place) if known else None,
                    remark=self.remarks.get(submission, "" if known else "no score"),
                    values={column.name: _number(column.values[0, index]) for column in scores.columns},
                )
            )
        # Those without a place follow the ranked: other competitors, then baselines and references, by name.
        order = [role.value for role in Role]
        entries.sort(key=lambda e: (e.place is None, e.place or 0, order.index(e.role), e.submission))
        columns = tuple(column.measure for column in scores.columns)
        return Leaderboard(self.name, self.edition, columns, tuple(entries), self.notes)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
