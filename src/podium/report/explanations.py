"""Why a submission has its place: the parts that made it, in a table and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from podium.model import Column, Direction, Entry, Floats, Measure, Purpose, Scores, shown_level
from podium.ranking import Rule, column_ranks
from podium.report.words import deciding, isolated, listed, number, percent, places, why_unranked

if TYPE_CHECKING:
    from podium.report.data import ReportData

__all__ = ["Contribution", "Explanation", "explain"]

_JUDGING = (Direction.HIGHER, Direction.LOWER)


@dataclass(frozen=True, slots=True)
class Contribution:
    """A criterion, or another column, of one submission: its value, and the rank that it gives."""

    title: str
    value: str
    rank: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a submission has its place, from the parts that made it to how sure it is."""

    summary: str
    heading: str
    parts: tuple[Contribution, ...]
    remarks: tuple[str, ...]


def explain(data: ReportData) -> dict[str, Explanation]:
    """Say what made the place of every submission: each criterion's value and rank, and what they add up to."""
    scores = data.rule.published
    judging = [column for column in scores.columns if column.measure.direction in _JUDGING]
    ranks = {column.name: _ranks(data.rule, column) for column in (*judging, *scores.criteria)}
    return {name: _explanation(data, scores, ranks, name) for name in data.submissions}


def _explanation(data: ReportData, scores: Scores, ranks: Mapping[str, Floats], submission: str) -> Explanation:
    board = data.board
    entry = next(entry for entry in board.entries if entry.submission == submission)
    ranked = [entry for entry in board.entries if entry.place is not None]
    heading = deciding(board)
    if entry.place is None:
        summary = f"Not ranked: {why_unranked(entry.remark)}."
    else:
        summary = f"Place {entry.place} of {len(ranked)}"
        same = [other.submission for other in ranked if other.place == entry.place and other is not entry]
        summary += f", shared with {listed(same)}" if same else ""
        if heading is not None:
            way = {Direction.HIGHER: "the highest comes first", Direction.LOWER: "the lowest comes first"}
            value = number(entry.values[heading.name], heading.digits, heading.unit)
            summary += f": {heading.title} {value}, and {way[heading.direction]}"
        summary += "."
    several = len(scores.criteria) > 1
    if several:
        introduction = f"What it reaches in the {data.called.criteria}"
        if entry.place is not None:
            introduction = f"The {data.called.criteria}, and the rank that each gives"
            introduction += f"; the {_small(heading.title)} decides" if heading is not None else ""
        parts = _criteria(data.rule, scores, ranks, submission)
    else:
        introduction = "The columns beside it, and the rank that each would give"
        parts = _beside(data.rule, scores, ranks, heading, submission)
    remarks = [] if entry.place is None else _remarks(data, ranked, entry.submission, heading)
    return Explanation(summary, introduction, tuple(parts), tuple(remarks))


def _small(title: str) -> str:
    """Return a title inside a sentence; what is an abbreviation stays."""
    return title if title[1:2].isupper() or "_" in title else title[:1].lower() + title[1:]


def _criteria(rule: Rule, scores: Scores, ranks: Mapping[str, Floats], submission: str) -> list[Contribution]:
    """Return each criterion with the rank that counts."""
    index = rule.submissions.index(submission)
    given = {column.measure.of: column for column in scores.columns if column.measure.purpose is Purpose.RANK}
    parts = []
    for criterion in scores.criteria:
        own = given.get(criterion.name)
        counted = own.values[0] if own is not None else ranks[criterion.name]
        parts.append(_part(criterion, index, counted[index]))
    return parts


def _beside(
    rule: Rule, scores: Scores, ranks: Mapping[str, Floats], heading: Measure | None, submission: str
) -> list[Contribution]:
    """Return the other columns that judge, with the rank that each would give."""
    index = rule.submissions.index(submission)
    skipped = {heading.name} if heading is not None else set()
    return [
        _part(column, index, ranks[column.name][index])
        for column in scores.columns
        if column.measure.direction in _JUDGING and column.name not in skipped
    ]


def _part(column: Column, index: int, rank: float) -> Contribution:
    value = column.measure.shown(float(column.values[0, index]))
    return Contribution(column.measure.label, value, "–" if math.isnan(rank) else f"{rank:g}")


def _ranks(rule: Rule, column: Column) -> Floats:
    return np.asarray(column_ranks(column, among=rule.ranked.tolist())[0])


def _remarks(data: ReportData, ranked: Sequence[Entry], submission: str, heading: Measure | None) -> list[str]:
    """Say how far the neighbours are, and how sure the place is."""
    remarks = []
    entries = {entry.submission: entry for entry in data.board.entries if entry.place is not None}
    own = entries[submission]
    ahead = [entry for entry in entries.values() if entry.place is not None and entry.place < (own.place or 0)]
    if heading is not None and ahead:
        before = ahead[-1]
        value, other = own.values[heading.name], before.values[heading.name]
        if value is not None and other is not None and math.isfinite(value - other):
            gap = number(abs(value - other), heading.digits, heading.unit)
            remarks.append(f"Behind {isolated(before.submission)}, in place {before.place}, by {gap}.")
    if data.assessment is None or len(ranked) < 2:
        return remarks
    stability, confidence = data.assessment.stability, data.assessment.confidence
    index = stability.submissions.index(submission)
    rank = confidence.ranks[index]
    share = float(np.mean(stability.places[:, index] == own.place))
    remarks.append(
        f"True place {places(rank.best, rank.worst)} at {shown_level(confidence.level)} confidence; this very place in "
        f"{percent(share)} of the resamples."
    )
    alternatives = [
        alternative
        for alternative in data.assessment.sensitivity.alternatives
        if not math.isnan(alternative.places[index])
    ]
    if alternatives:
        under = [int(alternative.places[index]) for alternative in alternatives]
        without = [
            f"{alternative.name}: {place}"
            for alternative, place in zip(alternatives, under, strict=True)
            if alternative.dropped and place != own.place
        ]
        named = f" ({'; '.join(without)})" if without else ""
        remarks.append(f"Place {places(min(under), max(under))} under {len(under)} other rules{named}.")
    return remarks
