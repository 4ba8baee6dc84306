"""Sensitivity: what other sensible rules would have made of the same measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.model import Challenge, Cube, Floats, InputError, Role
from podium.ranking.inference.stability import firsts, kendall_tau
from podium.ranking.leaderboards import challenge_rule
from podium.ranking.rule import Rule
from podium.ranking.schemes import AggregateThenRank, RankThenAggregate, Scheme, TestThenRank, scheme_rule
from podium.ranking.score_table import Missing, ScoreTable, table_of_challenge

__all__ = [
    "Alternative",
    "OtherRule",
    "Sensitivity",
    "assess_sensitivity",
    "challenge_alternatives",
    "table_alternatives",
]

SCHEMES: tuple[Scheme, ...] = (
    AggregateThenRank("mean"),
    AggregateThenRank("median"),
    RankThenAggregate("mean"),
    RankThenAggregate("median"),
    TestThenRank("holm"),
)
CHANGES = {"weight of {} −50 %": 0.5, "weight of {} +50 %": 1.5, "without {}": 0.0}


@dataclass(frozen=True, slots=True)
class OtherRule:
    """A rule that would have been as sensible: its name, how to make it, and the term that it drops, if any."""

    name: str
    build: Callable[[], Rule]
    dropped: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """Another rule: its places, whether it keeps the winner, and τ to the published places (NaN if undefined).

    The winner is kept where somebody is first, and nobody who was not. `dropped` names the term that the rule leaves
    out, if any.
    """

    name: str
    places: Floats
    winners: tuple[str, ...]
    keeps_winner: bool
    tau: float
    dropped: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """The published places beside those of every alternative; `impossible` says which could not be tried, and why."""

    submissions: tuple[str, ...]
    published: Floats
    winners: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    impossible: Mapping[str, str]

    @property
    def kept(self) -> int:
        """How many alternatives keep the winner."""
        return sum(alternative.keeps_winner for alternative in self.alternatives)

    @property
    def shared(self) -> tuple[Alternative, ...]:
        """The alternatives under which a winner shares first place with somebody who was not first."""
        return tuple(a for a in self.alternatives if not a.keeps_winner and set(a.winners) & set(self.winners))

    @property
    def lost(self) -> tuple[Alternative, ...]:
        """The alternatives under which no winner is first."""
        return tuple(a for a in self.alternatives if not set(a.winners) & set(self.winners))


def assess_sensitivity(rule: Rule, others: Iterable[OtherRule]) -> Sensitivity:
    """Rank by every alternative and compare with the rule's own ranking, over its competitors."""
    names = rule.competitors
    published = rule.published.places[0, rule.ranked]
    winners = firsts(names, published)
    alternatives, impossible = [], {}
    for alternative in others:
        try:
            other = alternative.build()
            places = other.published.places[0, other.ranked]
        except InputError as error:
            impossible[alternative.name] = str(error)
            continue
        own = dict(zip(other.competitors, places.tolist(), strict=True))
        ordered = np.array([own.get(submission, np.nan) for submission in names])
        first = firsts(names, ordered)
        tau = float(kendall_tau(ordered, published)[0])
        kept = bool(first) and set(first) <= set(winners)
        alternatives.append(Alternative(alternative.name, ordered, first, kept, tau, alternative.dropped))
    return Sensitivity(names, published, winners, tuple(alternatives), impossible)


def challenge_alternatives(
    challenge: Challenge,
    rule: Rule,
    cube: Cube,
    *,
    roles: Mapping[str, Role] | None = None,
    missing: Missing = "worst",
) -> Iterator[OtherRule]:
    """Yield other ways to rank a run: other weights, other tolerances, and general schemes over the same measures.

    Parameters
    ----------
    rule
        The challenge's own.
    missing
        What a value costs in general schemes that the challenge has no price for.
    """

    def other(changed: Challenge) -> Callable[[], Rule]:
        return lambda: challenge_rule(changed, cube, roles=roles)

    for name, scale, dropped in _changes(challenge.terms):
        yield OtherRule(name, other(challenge.varied(emphasis={**challenge.emphasis, **scale})), dropped)
    for name, changed in challenge.alternatives(cube).items():
        yield OtherRule(name, other(changed))

    def general(scheme: Scheme) -> Callable[[], Rule]:
        return lambda: scheme_rule(table_of_challenge(challenge, cube, roles=roles, missing=missing), scheme)

    own = {column.name for column in rule.published.criteria}
    several = len(challenge.decisive) > 1
    # The first scheme may be what the challenge does itself.
    for scheme in SCHEMES[1:] if own == {measure.column for measure in challenge.decisive} else SCHEMES:
        yield OtherRule(f"{scheme.name}, mean over criteria" if several else scheme.name, general(scheme))


def table_alternatives(table: ScoreTable, scheme: Scheme, **over_tasks: Any) -> Iterator[OtherRule]:
    """Yield other ways to rank a table: other schemes, other weights of its tasks, other prices of what is missing.

    Parameters
    ----------
    over_tasks
        Further options of `scheme_rule`, the same for all.
    """

    def by(other: Scheme, emphasis: Mapping[str, float] | None = None) -> Callable[[], Rule]:
        return lambda: scheme_rule(table, other, emphasis=emphasis, **over_tasks)

    def under(settled: Callable[[], ScoreTable]) -> Callable[[], Rule]:
        return lambda: scheme_rule(settled(), scheme, **over_tasks)

    for other in SCHEMES:
        if other != scheme:
            yield OtherRule(other.name, by(other))
    if len(table.tasks) > 1:
        for name, scale, dropped in _changes(tuple(task.name for task in table.tasks)):
            yield OtherRule(name, by(scheme, scale), dropped)
    for policy, settled in table.otherwise.items():
        yield OtherRule(f"missing values: {policy}", under(settled))


def _changes(terms: tuple[str, ...]) -> Iterator[tuple[str, dict[str, float], str]]:
    """Yield other weights of each term: what that is called, the weights, and the term if it is dropped."""
    for term in terms:
        for name, scale in CHANGES.items():
            yield name.format(term.replace("_", " ")), {term: scale}, term if scale == 0 else ""
