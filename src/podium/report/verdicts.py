"""What a ranking says, in sentences: the verdict, and how sure it is, the same on a page and on a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from podium.model import Direction, Leaderboard, Measure, shown_level
from podium.report.short_names import short_labels
from podium.report.words import deciding, isolated, listed, number, percent, places, why_unranked

if TYPE_CHECKING:
    from podium.ranking import Ranking
    from podium.ranking.inference.sensitivity import Alternative, Sensitivity
    from podium.ranking.inference.stability import Stability
    from podium.report.data import ReportData

__all__ = ["Fact", "Verdict", "sentences", "verdict"]

TAUS = "Kendall's τ to this ranking"
ENOUGH = 20
"""Fewer cases than these are said to be few, where they tell nobody apart."""
LONGEST_NAME = 40
"""Columns of a name in the headline."""


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
    """Say who won, by how much, how sure that is, and who may truly be first instead."""
    return _verdict(data.board, data.assessment, data.unassessed)


def sentences(ranking: Ranking) -> list[str]:
    """Say the same line by line for a terminal, and below it what a page tells elsewhere."""
    summary = _verdict(ranking.leaderboard, None if ranking.untold else ranking, ranking.untold)
    lines = [summary.headline, summary.margin, *summary.sureness]
    if not ranking.untold and len(ranking.rule.competitors) > 1:
        lines.append(_agreement(ranking.stability))
        lines += [f"Not tried: {name}, because {why}." for name, why in ranking.sensitivity.impossible.items()]
    return [f"{line.rstrip('.')}." for line in lines if line]


def _verdict(board: Leaderboard, ranking: Ranking | None, why_not: str) -> Verdict:
    """Say what is known of a board; the ranking is None where how sure it is cannot be told, and why not."""
    winners = [entry.submission for entry in board.ranked if entry.place == 1]
    if not winners:
        reasons = sorted({why_unranked(entry.remark) for entry in board.entries if entry.remark})
        reason = f" The reason: {reasons[0]}." if len(reasons) == 1 else ""
        return Verdict("Nobody is ranked.", f"No submission qualifies for a place.{reason}", (), (), ())
    headline = _headline(winners, len(board.ranked), "" if ranking is None else _doubt(ranking, winners))
    margin = _margin(board, ranking, winners)
    if ranking is None:
        return Verdict(headline, margin, (f"How sure this is cannot be told. {why_not}",), (), ())
    if len(board.ranked) == 1:
        return Verdict(headline, margin, (), (), ranking.confidence.warnings)
    sureness = (
        _resampled(ranking, winners),
        _possible(ranking),
        *_few(ranking, winners),
        *_failures(ranking, winners),
        *_other_rules(ranking.sensitivity),
        *_left_out(ranking, winners),
    )
    cautions = ranking.confidence.warnings
    return Verdict(headline, margin, _brief_in(sureness, board), _facts(ranking, winners), _brief_in(cautions, board))


def _headline(winners: Sequence[str], ranked: int, doubt: str) -> str:
    if ranked == 1:
        return f"{_brief(winners)} is the only competitor."
    if len(winners) == ranked:
        return f"{'Both' if ranked == 2 else f'All {ranked}'} competitors share first place: {_brief(winners)}."
    if len(winners) > 1:
        return f"{_brief(winners)} share first place{doubt}."
    return f"{_brief(winners)} {f'is first{doubt}' if doubt else 'wins'}."


def _brief(names: Sequence[str], *, at_most: int = 4) -> str:
    """Return names for a headline: few, and none that fills it alone."""
    short = short_labels(names, LONGEST_NAME)
    return listed([short[name] for name in names], at_most=at_most + (len(names) == at_most + 1))


def _brief_in(lines: Sequence[str], board: Leaderboard) -> tuple[str, ...]:
    """Return sentences in which no name is longer than a headline's."""
    short = short_labels([entry.submission for entry in board.entries], LONGEST_NAME)
    long = {" ".join(name.split()): label for name, label in short.items() if len(name) > LONGEST_NAME}
    for name in sorted(long, key=len, reverse=True):  # one name may be part of another
        lines = [line.replace(name, long[name]) for line in lines]
    return tuple(lines)


def _doubt(ranking: Ranking, winners: Sequence[str]) -> str:
    """Return the half of a sentence that says who may be first instead; "" where nobody may."""
    others = [name for name in _candidates(ranking) if name not in winners]
    if not others:
        return ""
    ranks, level = ranking.confidence.ranks, shown_level(ranking.confidence.level)
    if all(rank.best == 1 and rank.worst == len(ranks) for rank in ranks):
        count, (_, many) = len(ranking.rule.units.names), ranking.rule.unit_words
        what = "are too few to" if count < ENOUGH else "do not"
        return f", but {count:,} {many} {what} tell anybody apart at {level}"
    return f", but {_brief(others, at_most=2)} may {'each ' if len(others) > 1 else ''}truly be best"


def _candidates(ranking: Ranking) -> list[str]:
    """Return who may truly be first, in order of place; the published winners always may."""
    confidence = ranking.confidence
    best = {name: rank.best for name, rank in zip(confidence.submissions, confidence.ranks, strict=True)}
    return [name for name in ranking.places if best.get(name) == 1]


def _margin(board: Leaderboard, ranking: Ranking | None, winners: Sequence[str]) -> str:
    """Say by how much the first leads in the column that decides, where one column does."""
    heading = deciding(board)
    if heading is None:
        return ""
    own, digits = board.ranked[0].values[heading.name], heading.digits
    title = f"{heading.title}:" if "," in heading.title else heading.title
    behind = [entry for entry in board.ranked if entry.place != 1]
    if not behind:
        remark = ", the same for all" if len(winners) > 1 else ". With nobody to compare with, its place says nothing"
        return f"{title} {number(own, digits, heading.unit)}{remark}."
    other = behind[0].values[heading.name]
    seconds = [entry.submission for entry in behind if entry.place == behind[0].place]
    comparison = ""
    if own is not None and other is not None and math.isfinite(own - other):
        lead, digits = abs(own - other), _digits(own - other, digits)
        comparison = f": a lead of {number(lead, digits, heading.unit)}"
        comparison = comparison if lead else ": equal, and told apart by the rule for ties"
    shown = f"{title} {number(own, digits, heading.unit)}"
    second = f"{number(other, digits, heading.unit)} of {_brief(seconds)} in place {behind[0].place}"
    if other is None:
        second = f"no value of {_brief(seconds)} in place {behind[0].place}"
    return f"{shown}, against {second}{comparison}{_certainty_of_lead(ranking, winners, seconds)}."


def _digits(value: float, least: int) -> int:
    """Return how many decimals show that a value is not zero, within reason."""
    return next((digits for digits in range(least, least + 4) if round(value, digits)), least)


def _certainty_of_lead(ranking: Ranking | None, winners: Sequence[str], seconds: Sequence[str]) -> str:
    """Return the interval of the lead where one criterion decides; where several do, in how many the first is ahead."""
    if ranking is None or not ranking.confidence.pairs:
        return ""
    confidence = ranking.confidence
    level = shown_level(confidence.level)
    cell = confidence.submissions.index(winners[0]), confidence.submissions.index(seconds[0])
    one, other, several = isolated(winners[0]), isolated(seconds[0]), len(winners) > 1 or len(seconds) > 1
    higher = [pair.criterion.measure.direction is Direction.HIGHER for pair in confidence.pairs]
    if len(confidence.pairs) > 1:
        leads = [
            pair.difference[cell] if up else -pair.difference[cell]
            for up, pair in zip(higher, confidence.pairs, strict=True)
        ]
        ahead, certain = sum(lead > 0 for lead in leads), sum(bool(pair.better[cell]) for pair in confidence.pairs)
        who = f"{one} is ahead of {other}" if several else "Ahead"
        text = f". {who} in {ahead or 'none'} of {len(leads)} criteria, at {level} confidence in {certain or 'none'}"
        settled = not certain or bool(confidence.ahead[cell])
        return text if settled else f"{text}, which does not settle all of them together"
    (pair,) = confidence.pairs
    low, high = float(pair.low[cell]), float(pair.high[cell])
    low, high = (low, high) if higher[0] else (-high, -low)
    whose = f"{level} interval of {one} over {other}:" if several else f"{level} interval"
    if interval := _interval(low, high, pair.criterion.measure):
        alone = ", for this pair alone" if low > 0 and not pair.better[cell] else ""
        return f" ({whose} {interval}{alone})"
    # Counts and ranks have no interval, and neither has what is infinite, however many cases there are.
    few = pair.criterion.smooth and math.isfinite(pair.difference[cell])
    return f" ({whose.rstrip(':')}: too few {ranking.rule.unit_words[1]} to say)" if few else ""


def _interval(low: float, high: float, measure: Measure) -> str:
    """Return an interval for people, of which one end may be open; "" where both are.

    Examples
    --------
    >>> dice = Measure("dice", "Dice", Direction.HIGHER, digits=3)
    >>> _interval(-0.003, 0.021, dice), _interval(0.002, math.inf, dice), _interval(math.nan, math.nan, dice)
    ('−0.003 to 0.021', 'at least 0.002', '')
    """
    ends = [number(end, _digits(end, measure.digits)) for end in (low, high)]
    unit = f" {measure.unit}" if measure.unit else ""
    if math.isfinite(low) and math.isfinite(high):
        return f"{ends[0]} to {ends[1]}{unit}"
    if math.isfinite(low) or math.isfinite(high):
        return f"at least {ends[0]}{unit}" if math.isfinite(low) else f"at most {ends[1]}{unit}"
    return ""


def _resampled(ranking: Ranking, winners: Sequence[str]) -> str:
    """Say how often the winner is first in resamples; and who is most often, if that is not the winner."""
    stability, several = ranking.stability, len(winners) > 1
    shares = dict(zip(stability.submissions, stability.first.tolist(), strict=True))
    own = _share_together(ranking, winners)
    count = f"{len(stability.places):,} resamples"
    often = {1.0: f"every one of {count}", 0.0: f"none of {count}"}.get(own, f"{percent(own)} of {count}")
    how = "first together" if several else "first, alone or shared,"
    text = f"Were the {ranking.rule.unit_words[1]} drawn anew, {listed(winners)} would be {how} in {often}"
    others = {name: shares[name] for name in ranking.places if shares.get(name) and (several or name not in winners)}
    if not others or (several and own == 1):
        return f"{text}."
    top = max(others.values())
    names = [name for name, share in others.items() if share == top]
    if top == own and not several:
        return f"{text}; {listed(names)} as often."
    are = "are" if len(names) > 1 else "is"
    what = f"alone or shared, most often first {are}" if several else f"most often first {are}"
    what = what if several or top > own else f"next {are}"
    in_share = f"{'each ' if len(names) > 1 else ''}in {percent(top) if top < 1 else 'every one'}"
    return f"{text}; {what} {listed(names)}, {in_share}."


def _share_together(ranking: Ranking, winners: Sequence[str]) -> float:
    """Return the share of resamples in which all winners are first."""
    index = [ranking.stability.submissions.index(name) for name in winners]
    return float(np.mean((ranking.stability.places[:, index] == 1).all(axis=1)))


def _possible(ranking: Ranking) -> str:
    """Say who may truly be first."""
    able, level = _candidates(ranking), shown_level(ranking.confidence.level)
    if len(able) < len(ranking.confidence.submissions):
        return f"At {level} confidence, nobody is truly first but {listed(able)}."
    return f"At {level} confidence, nobody can be ruled out: {listed(able)} may each truly be first."


def _few(ranking: Ranking, winners: Sequence[str]) -> list[str]:
    """Say why resamples may look surer than intervals, where there is little to draw from."""
    count, (_, many) = len(ranking.rule.units.names), ranking.rule.unit_words
    if count >= ENOUGH or len(_candidates(ranking)) == len(winners) or _share_together(ranking, winners) < 0.5:
        return []
    return [f"Resamples hold nothing but these {count} {many}; the places that may truly be allow for others."]


def _failures(ranking: Ranking, winners: Sequence[str]) -> list[str]:
    """Say whether the certain lead of the winner rests on failures being as rare as seen."""
    confidence, names = ranking.confidence, ranking.confidence.submissions
    behind = [name for name in ranking.places if name in names and name not in winners]
    judged = any(pair.guaranteed is not None for pair in confidence.pairs)
    if confidence.ahead is None or not behind or not judged:
        return []
    index = [names.index(name) for name in winners]
    certain = [name for name in behind if confidence.ahead[index, names.index(name)].all()]
    if behind[0] not in certain:
        return []
    doubtful = [
        name
        for name in certain
        if any(
            pair.guaranteed is None or not pair.guaranteed[index, names.index(name)].all() for pair in confidence.pairs
        )
    ]
    if not doubtful:
        whom = listed(certain) if len(certain) < len(behind) or len(behind) == 1 else "everybody else"
        alone = ", each pair by itself" if len(certain) > 1 else ""
        return [f"The lead over {whom} holds even if failures are more frequent than seen{alone}."]
    count, units = len(ranking.rule.units.names), ranking.rule.unit_words
    failed = _failed_units(ranking, winners)
    rate = f"a true rate of up to one in {count // 3}" if count > 5 else "almost any true rate"
    seen = f"No failure of {listed(winners)} was seen in {count} {units[1]}, "
    seen += f"which is compatible with {rate} (rule of three)."
    if failed:
        seen = f"{listed(winners)} failed in {failed} of {count} {units[1]}."
    method: str = confidence.method
    how = "" if method in ("guaranteed", "proved") else " (--interval guaranteed)"
    return [f"{seen} If failures are more frequent than seen, the lead over {listed(doubtful)} may not hold{how}."]


def _failed_units(ranking: Ranking, winners: Sequence[str]) -> int:
    """Return in how many of what is drawn a winner failed, or was as bad as can be in what decides."""
    rule = ranking.rule
    index = [rule.submissions.index(name) for name in winners]
    failed = rule.priced[index].any(axis=0)
    for pair in ranking.confidence.pairs:
        measure, rows = pair.criterion.measure, pair.criterion.rows
        worst = measure.minimum if measure.direction is Direction.HIGHER else measure.maximum
        if rows is not None and math.isfinite(worst):
            failed = failed | (rows[index] == worst).any(axis=0)
    return len(set(rule.units.cluster[failed].tolist()))


def _other_rules(sensitivity: Sensitivity) -> list[str]:
    """Say how many other rules keep the winner, under which it shares first place, and under which another wins."""
    count, winners = len(sensitivity.alternatives), sensitivity.winners
    if not count:
        return []
    several, fewer = len(winners) > 1, _narrower(sensitivity)
    kept = sensitivity.kept - len(fewer)
    what = "the shared first place" if several else "the winner"
    text = f"Of {count} other sensible rules, {kept or 'none'} {'keep' if kept > 1 else 'keeps'} {what}."
    if kept == count:
        text = (
            f"All {count} other sensible rules keep {what}."
            if count > 1
            else f"One other rule was tried: it keeps {what}."
        )
    elif count == 1:
        text = f"One other rule was tried: it does not keep {what}."
    place = dict(zip(sensitivity.submissions, sensitivity.published.tolist(), strict=True))

    def named(others: Sequence[Alternative], *, new: bool = False) -> str:
        """Name rules, and who is first under each; or only those who were not."""
        lines = []
        for other in others:
            names = sorted((name for name in other.winners if not (new and name in winners)), key=lambda n: place[n])
            lines.append(f"{other.name} ({'with ' if new else ''}{listed(names, at_most=3) or 'nobody'})")
        return listed(lines)

    if fewer:
        text += f" Under {len(fewer)}, fewer share it: {named(fewer)}."
    if sensitivity.shared:
        who = "others share it too" if several else "the winner shares first place"
        text += f" Under {len(sensitivity.shared)}, {who}: {named(sensitivity.shared, new=True)}."
    if sensitivity.lost:
        who = "another wins" if all(len(other.winners) == 1 for other in sensitivity.lost) else "others are first"
        text += f" Under {len(sensitivity.lost)}, {who}: {named(sensitivity.lost)}."
    return [text]


def _narrower(sensitivity: Sensitivity) -> list[Alternative]:
    """Return the rules under which fewer share first place, and nobody else does."""
    count = len(sensitivity.winners)
    return [other for other in sensitivity.alternatives if other.keeps_winner and len(other.winners) < count]


def _deciding_units(ranking: Ranking, winners: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what would, if it were left out, change who is first, and what would only break a tie."""
    changing = [without.name for without in ranking.left_out if without.changes_winner]
    breaking = [w.name for w in ranking.left_out if not w.changes_winner and len(w.winners) < len(winners)]
    return changing, breaking


def _left_out(ranking: Ranking, winners: Sequence[str]) -> list[str]:
    """Say whether a single case decides who is first."""
    one, many = ranking.rule.unit_words
    total, several = len(ranking.left_out), len(winners) > 1
    changing, breaking = _deciding_units(ranking, winners)
    lines = []
    for names, what in ((changing, "change who is first"), (breaking, "break the tie")):
        if names:
            would = "would each" if len(names) > 1 else "would"
            named = listed([name for name in names if name])  # on a page for others, no case has a name
            lines.append(f"{len(names)} of {total} {many} {would} {what} if left out{named and f': {named}'}.")
    same = "the same are first" if several else "the winner stays first"
    return lines or [f"No single {one} decides: whichever of {total} is left out, {same}."]


def _facts(ranking: Ranking, winners: Sequence[str]) -> tuple[Fact, ...]:
    """Return the numbers that tell at a glance how sure the first place is."""
    stability, confidence, other = ranking.stability, ranking.confidence, ranking.sensitivity
    one, many = ranking.rule.unit_words
    ranks = [confidence.ranks[confidence.submissions.index(name)] for name in winners]
    shared = "them first together" if len(winners) > 1 else "it first, alone or shared"
    facts = [
        Fact(
            percent(_share_together(ranking, winners)),
            f"of {len(stability.places):,} resamples keep {shared}",
            f"How often that happens when {many} are drawn anew.",
        ),
        Fact(
            places(min(rank.best for rank in ranks), max(rank.worst for rank in ranks)),
            f"true place, {shown_level(confidence.level)} sure",
            "All intervals hold together.",
        ),
    ]
    if count := len(other.alternatives):
        kept = sum(set(winners) <= set(alternative.winners) for alternative in other.alternatives)
        keep = f"other rule{'s' * (count > 1)} {'keep' if count > 1 else 'keeps'} {shared}"
        meaning = "Other weights, tolerances and schemes; to share first place is not to lose it."
        facts.append(Fact(f"{kept} of {count}", keep, meaning))
    changing, breaking = map(len, _deciding_units(ranking, winners))
    decide = f"{many} {'decides' if changing + breaking == 1 else 'decide'} alone"
    meaning = f"Leaving out such a {one} would {'break the tie' if breaking else 'change who is first'}."
    return (*facts, Fact(f"{changing + breaking} of {len(ranking.left_out)}", decide, meaning))


def _agreement(stability: Stability) -> str:
    """Say how much the places in resamples agree with the published ones."""
    known = stability.tau[~np.isnan(stability.tau)]
    if not known.size:
        return f"{TAUS} is undefined: everybody shares one place."
    low, middle, high = np.quantile(known, [0.025, 0.5, 0.975])
    undefined = len(stability.tau) - len(known)
    note = f"undefined in {undefined:,} of {len(stability.tau):,}; " if undefined else ""
    middle, low, high = (number(tau, 2) for tau in (middle, low, high))
    spread = f"median {middle}, in 95 % of resamples from {low} to {high}"
    return f"{TAUS}: {spread}; {note}drawn with seed {stability.seed}."
