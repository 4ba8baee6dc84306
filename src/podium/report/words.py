"""What a ranking says, in sentences: the verdict, and how sure it is."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from podium.model import Direction, Leaderboard, Measure
from podium.model import shown_number as number
from podium.ranking import Ranking, Rule

if TYPE_CHECKING:
    from podium.report.data import ReportData

__all__ = [
    "Fact",
    "Verdict",
    "contained",
    "deciding",
    "isolated",
    "listed",
    "number",
    "percent",
    "places",
    "sentences",
    "unit_of",
    "verdict",
]

TAUS = "Kendall's τ to this ranking"
_ISOLATE, _END = "\u2068", "\u2069"
_RIGHT_TO_LEFT = {"R", "AL", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI", "PDF", "PDI"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A number worth a glance, what it is, and what it means."""

    value: str
    label: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who won, by how much, how sure that is, and what to be careful about."""

    headline: str
    margin: str
    sureness: tuple[str, ...]
    facts: tuple[Fact, ...]
    cautions: tuple[str, ...]


def verdict(data: ReportData) -> Verdict:
    """Say who won, by how much, how sure that is, and who shares the place within noise."""
    board, assessment = data.board, data.assessment
    ranked = [entry for entry in board.entries if entry.place is not None]
    winners = [entry.submission for entry in ranked if entry.place == 1]
    if not ranked:
        reasons = sorted({entry.remark for entry in board.entries if entry.remark})
        reason = f" The reason: {reasons[0]}." if len(reasons) == 1 else ""
        return Verdict("Nobody is ranked.", f"No submission qualifies for a place.{reason}", (), (), ())
    headline = _headline(winners, len(ranked), _rivals(assessment, winners))
    if assessment is None:
        return Verdict(
            headline, _margin(data, winners), (f"How sure this is cannot be told. {data.unassessed}",), (), ()
        )
    return Verdict(
        headline,
        _margin(data, winners),
        tuple(_sureness(assessment, winners, unit_of(data.rule))) if len(ranked) > 1 else (),
        tuple(_facts(assessment, winners, unit_of(data.rule))) if len(ranked) > 1 else (),
        tuple(assessment.confidence.warnings),
    )


def _headline(winners: Sequence[str], ranked: int, rivals: Sequence[str]) -> str:
    if ranked == 1:
        return f"{isolated(winners[0])} is the only competitor."
    if len(winners) == ranked:
        return f"All {ranked} competitors share first place."
    if len(winners) > 1:
        return f"{listed(winners)} share first place{', but not beyond noise' if rivals else ''}."
    return f"{isolated(winners[0])} {'is first, but not beyond noise' if rivals else 'wins'}."


def _rivals(assessment: Ranking | None, winners: Sequence[str]) -> list[str]:
    """Return who else may truly be first."""
    if assessment is None:
        return []
    confidence = assessment.confidence
    able = [name for name, rank in zip(confidence.submissions, confidence.ranks, strict=True) if rank.best == 1]
    return [name for name in able if name not in winners]


def unit_of(rule: Rule) -> tuple[str, str]:
    """Return what is drawn anew, one and many: cases, or groups of cases that belong together."""
    if len(rule.units.names) == len(rule.rows):
        return "case", "cases"
    return "group of cases", "groups of cases"


def _margin(data: ReportData, winners: Sequence[str]) -> str:
    """Say by how much the first leads in the column that decides, where one column does."""
    board = data.board
    ranked = [entry for entry in board.entries if entry.place is not None]
    heading = deciding(board)
    first = next(entry for entry in ranked if entry.submission in winners)
    if heading is None:
        return ""
    own = first.values[heading.name]
    behind = [entry for entry in ranked if entry.place != 1]
    shown = f"{heading.title} {number(own, heading.digits, heading.unit)}"
    if len(ranked) == 1:
        return f"{shown}. With nobody to compare with, its place says nothing."
    if not behind:
        return f"All have the same {heading.title}, {number(own, heading.digits, heading.unit)}."
    other = behind[0].values[heading.name]
    next_ones = [entry.submission for entry in behind if entry.place == behind[0].place]
    theirs = number(other, heading.digits, heading.unit)
    text = f"{shown}, against {theirs} of {listed(next_ones)} in place {behind[0].place}"
    if own is not None and other is not None and math.isfinite(own) and math.isfinite(other):
        lead = number(abs(own - other), heading.digits, heading.unit)
        text += f": a lead of {lead}" if own != other else ": equal, and told apart by the rule for ties"
    return f"{text}{_interval_of_lead(data.assessment, winners[0], next_ones[0])}."


def _interval_of_lead(assessment: Ranking | None, winner: str, second: str) -> str:
    """Return the interval of the lead where one criterion decides; where several do, in how many the first is ahead."""
    if assessment is None or not assessment.confidence.pairs:
        return ""
    confidence = assessment.confidence
    one, other = confidence.submissions.index(winner), confidence.submissions.index(second)
    if len(confidence.pairs) == 1:
        (pair,) = confidence.pairs
        low, high = sorted((abs(pair.low[one, other]), abs(pair.high[one, other])))
        if not np.isfinite(low) or not np.isfinite(high) or pair.low[one, other] * pair.high[one, other] < 0:
            return ""
        digits, unit = pair.criterion.measure.digits, pair.criterion.measure.unit
        return f" ({percent(confidence.level)} interval {number(low, digits)} to {number(high, digits, unit)})"
    signs = [1.0 if pair.criterion.measure.direction is Direction.HIGHER else -1.0 for pair in confidence.pairs]
    ahead = sum(bool(s * pair.difference[one, other] > 0) for s, pair in zip(signs, confidence.pairs, strict=True))
    certain = sum(bool(pair.better[one, other]) for pair in confidence.pairs)
    surely = f"in {certain or 'none'} of them at {percent(confidence.level)} confidence"
    return f". Ahead in {ahead} of {len(confidence.pairs)} criteria, {surely}"


def _sureness(assessment: Ranking, winners: Sequence[str], units: tuple[str, str]) -> list[str]:
    """Say how sure the first place is."""
    stability, confidence, other = assessment.stability, assessment.confidence, assessment.sensitivity
    index = [stability.submissions.index(name) for name in winners]
    share = float(np.mean((stability.places[:, index] == 1).all(axis=1)))
    together = "first together" if len(winners) > 1 else "first, alone or with others,"
    drawn = f"Were the cases drawn anew, {listed(winners)} would be {together} in {percent(share)} of "
    drawn += f"{len(stability.places):,} resamples"
    rivals = [(float(s), name) for name, s in zip(stability.submissions, stability.first, strict=True)]
    rivals = [(s, name) for s, name in rivals if name not in winners and s > 0]
    if rivals:
        best = max(rivals)
        drawn += f"; {isolated(best[1])} in {percent(best[0])}"
    lines = [f"{drawn}."]
    within, level = _rivals(assessment, winners), percent(confidence.level)
    if within and len(within) + len(winners) == len(confidence.submissions):
        lines.append(f"Within noise, everybody shares first place: at {level} confidence nobody can be ruled out.")
    elif within:
        what = "share" if len(within) > 1 else "shares"
        lines.append(
            f"Within noise, {listed(within)} {what} first place: at {level} confidence, any may be truly best."
        )
    elif len(winners) < len(confidence.submissions):
        lines.append(f"At {level} confidence, nobody else is truly first.")
    if other.alternatives:
        losing = [alternative.name for alternative in other.alternatives if not alternative.keeps_winner]
        exceptions = f" Not: {listed(losing)}." if losing else ""
        lines.append(f"{other.kept} of {len(other.alternatives)} other sensible rules keep the winner.{exceptions}")
    changing = [left_out.name for left_out in assessment.left_out if left_out.changes_winner]
    if changing:
        count = f"a single {units[0]}" if len(changing) == 1 else f"any one of {len(changing)} {units[1]}"
        lines.append(f"Leaving out {count} would change the winner: {listed(changing)}.")
    else:
        lines.append(f"No single {units[0]} decides: leaving out any one keeps the winner.")
    return lines


def _facts(assessment: Ranking, winners: Sequence[str], units: tuple[str, str]) -> list[Fact]:
    """Return the numbers that tell at a glance how sure the first place is."""
    stability, confidence, other = assessment.stability, assessment.confidence, assessment.sensitivity
    index = [stability.submissions.index(name) for name in winners]
    share = float(np.mean((stability.places[:, index] == 1).all(axis=1)))
    best, worst = min(confidence.ranks[i].best for i in index), max(confidence.ranks[i].worst for i in index)
    facts = [
        Fact(
            percent(share),
            f"of resamples keep {'them' if len(winners) > 1 else 'it'} first",
            "How often that happens when cases are drawn anew.",
        ),
        Fact(places(best, worst), f"true place, {percent(confidence.level)} sure", "All intervals hold together."),
    ]
    if other.alternatives:
        kept = f"{other.kept} of {len(other.alternatives)}"
        facts.append(Fact(kept, "other rules agree", "Other weights, tolerances and schemes that keep the winner."))
    changing = sum(left_out.changes_winner for left_out in assessment.left_out)
    facts.append(
        Fact(
            f"{changing} of {len(assessment.left_out)}",
            f"{units[1]} decide alone",
            "Without one of these, another wins.",
        )
    )
    return facts


def deciding(board: Leaderboard) -> Measure | None:
    """Return the column that orders the ranked: the first, if it does; None if no single column explains the places."""
    if not board.columns or board.columns[0].direction not in (Direction.HIGHER, Direction.LOWER):
        return None
    first = board.columns[0]
    sign = -1.0 if first.direction is Direction.HIGHER else 1.0
    values = [
        (entry.place, sign * value)
        for entry in board.entries
        if entry.place is not None and (value := entry.values[first.name]) is not None
    ]
    ordered = [value for _, value in sorted(values)]
    return first if ordered == sorted(ordered) else None


def sentences(ranking: Ranking) -> list[str]:
    """Say in words how sure the ranking is, line by line, for a terminal."""
    stability, confidence, other = ranking.stability, ranking.confidence, ranking.sensitivity
    lines = []
    first = [i for i, place in enumerate(stability.published.tolist()) if place == 1]
    names = listed([stability.submissions[i] for i in first])
    share = float(np.mean((stability.places[:, first] == 1).all(axis=1)))
    lines.append(
        f"Stability: {names} {'are together' if len(first) > 1 else 'is'} first in {share:.0%} of "
        f"{len(stability.places):,} resamples of the cases (seed {stability.seed})."
    )
    known = stability.tau[~np.isnan(stability.tau)]
    undefined = len(stability.tau) - len(known)
    if known.size:
        low, middle, high = np.quantile(known, [0.025, 0.5, 0.975])
        note = f"; undefined in {undefined:,}" if undefined else ""
        lines.append(f"{TAUS}: median {middle:.2f}, from {low:.2f} to {high:.2f} in 95 % of resamples{note}.")
    else:
        lines.append(f"{TAUS} is undefined: everybody shares one place.")
    changing = [left_out.name for left_out in ranking.left_out if left_out.changes_winner]
    what = "case" if len(changing) == 1 else "cases"
    named = f": {listed(changing)}" if changing else ""
    count = len(changing) or "none"
    lines.append(
        f"Leaving out a single case: {count} of {len(ranking.left_out)} {what} would change the winner{named}."
    )
    able = [name for name, rank in zip(confidence.submissions, confidence.ranks, strict=True) if rank.best == 1]
    if len(able) == len(confidence.ranks):
        lines.append(f"Confidence: everybody may truly be first; at {confidence.level:.0%}, nobody can be ruled out.")
    else:
        lines.append(
            f"Confidence: {confidence.level:.0%} sure that nobody is truly first but {listed(able, last=' or ')}."
        )
    if other.alternatives:
        losing = [alternative.name for alternative in other.alternatives if not alternative.keeps_winner]
        exceptions = f"; not: {listed(losing)}" if losing else ""
        lines.append(f"Sensitivity: {other.kept} of {len(other.alternatives)} other rules keep the winner{exceptions}.")
    lines += [f"Not tried: {name}, because {reason}" for name, reason in other.impossible.items()]
    return lines


def listed(names: Sequence[str], *, at_most: int = 6, last: str = " and ") -> str:
    """Return names for a sentence; of many, only some. Names that hold commas are parted by semicolons.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b, c", "d"])
    ('a, b and c', 'a; b, c; d')
    """
    shown = [isolated(name) for name in names[:at_most]]
    if len(names) > at_most:
        shown.append(f"{len(names) - at_most} more")
    if any("," in name for name in shown):
        return "; ".join(shown)
    return last.join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def isolated(name: str) -> str:
    """Return a name that cannot reorder the sentence around it, as right-to-left writing would.

    Examples
    --------
    >>> isolated("plain")
    'plain'
    >>> ascii(isolated("שלום"))[1:7] == ascii(chr(0x2068))[1:7]  # first strong isolate
    True
    """
    one_line = " ".join(name.split())
    mixed = any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in one_line)
    return f"{_ISOLATE}{one_line}{_END}" if mixed else one_line


def contained(text: str, names: Sequence[str] = ()) -> str:
    """Return a text in which nothing changes the direction of what follows, whatever names and files are called.

    Parameters
    ----------
    text
        A sentence made elsewhere, with names in it.
    names
        Those that may be in it; they are isolated.

    Examples
    --------
    >>> contained(f"left {chr(0x202E)}right") == f"left {chr(0xFFFD)}right"
    True
    """
    for name in names:
        if (safe := isolated(name)) != " ".join(name.split()):
            text = text.replace(name, safe)
    signs, depth = [], 0
    for sign in text:
        kind = unicodedata.bidirectional(sign)
        if kind in ("FSI", "LRI", "RLI"):
            depth += 1
        elif kind == "PDI":
            if not depth:
                continue
            depth -= 1
        elif not depth and kind in ("RLE", "RLO", "LRE", "LRO", "PDF"):
            sign = "\ufffd"
        signs.append(sign)
    return "".join(signs) + _END * depth


def percent(share: float) -> str:
    """Return a share for people, never rounded to all or nothing.

    Examples
    --------
    >>> percent(0.5), percent(0.9999), percent(0.0001), percent(1.0)
    ('50 %', '> 99 %', '< 1 %', '100 %')
    """
    if 0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1:
        return "> 99 %"
    return f"{100 * share:.0f} %"


def places(best: int, worst: int) -> str:
    """Return an interval of places."""
    return f"{best}" if best == worst else f"{best}–{worst}"
