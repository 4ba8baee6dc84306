"""Sensitivity: what other sensible rules would have made of the same measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from podium.model import Challenge, Floats, InputError, Role
from podium.ranking.contest import Contest
from podium.ranking.leaderboards import challenge_contest, cube_of
from podium.ranking.schemes import AggregateThenRank, RankThenAggregate, Scheme, TestThenRank, scheme_contest
from podium.ranking.score_table import Missing, ScoreTable, table_of_challenge
from podium.ranking.stability import firsts, kendall_tau

__all__ = ["Alternative", "Sensitivity", "challenge_alternatives", "sensitivity", "table_alternatives"]

SCHEMES: tuple[Scheme, ...] = (
    AggregateThenRank("mean"),
    AggregateThenRank("median"),
    RankThenAggregate("mean"),
    RankThenAggregate("median"),
    TestThenRank("holm"),
)
CHANGES = {"weight of {} −50 %": 0.5, "weight of {} +50 %": 1.5, "without {}": 0.0}


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """Another rule: its places, whether it keeps the winner, and τ to the published places (NaN if undefined).

    The winner is kept where nobody is first who was not.
    """

    name: str
    places: Floats
    winners: tuple[str, ...]
    keeps_winner: bool
    tau: float


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
        return sum(each.keeps_winner for each in self.alternatives)


Alternatives = Iterator[tuple[str, Callable[[], Contest]]]


def sensitivity(contest: Contest, alternatives: Alternatives) -> Sensitivity:
    """Rank by every alternative and compare with the contest's own ranking, over its competitors."""
    names = contest.competitors
    published = contest.places(np.ones((1, len(contest.rows))))[0]
    winners = firsts(names, published)
    found, impossible = [], {}
    for name, build in alternatives:
        try:
            other = build()
            places = other.places(np.ones((1, len(other.rows))))[0]
        except InputError as error:
            impossible[name] = str(error)
            continue
        own = dict(zip(other.competitors, places.tolist(), strict=True))
        ordered = np.array([own.get(submission, np.nan) for submission in names])
        first = firsts(names, ordered)
        tau = float(kendall_tau(ordered, published)[0])
        found.append(Alternative(name, ordered, first, set(first) <= set(winners), tau))
    return Sensitivity(names, published, winners, tuple(found), impossible)


def challenge_alternatives(
    challenge: Challenge,
    measurements: pl.DataFrame,
    *,
    roles: Mapping[str, Role] | None = None,
    missing: Missing = "worst",
) -> Alternatives:
    """Yield other ways to rank a run: other weights, other tolerances, and general schemes over the same quantities.

    Parameters
    ----------
    missing
        What a value costs in general schemes that the challenge has no price for.
    """
    for name, scale in _changes(challenge.terms):
        other = replace(challenge, emphasis={**challenge.emphasis, **scale})
        yield name, lambda other=other: challenge_contest(other, measurements, roles=roles)  # type: ignore[misc]
    for name, other in challenge.alternatives(cube_of(challenge, measurements)).items():
        yield name, lambda other=other: challenge_contest(other, measurements, roles=roles)  # type: ignore[misc]
    own = {column.name for column in challenge_contest(challenge, measurements, roles=roles).published().criteria}
    tasks = {f"{metric}_{target}" if target else metric for metric, target in challenge.decisive}
    for scheme in SCHEMES[1:] if own == tasks else SCHEMES:  # the first may be what the challenge does itself
        yield (
            f"{scheme.name}, mean over quantities" if len(challenge.decisive) > 1 else scheme.name,
            lambda scheme=scheme: scheme_contest(  # type: ignore[misc]
                table_of_challenge(challenge, measurements, roles=roles, missing=missing), scheme
            ),
        )


def table_alternatives(table: ScoreTable, scheme: Scheme) -> Alternatives:
    """Yield other ways to rank a table: other schemes, and other weights of its tasks."""
    for other in SCHEMES:
        if other != scheme:
            yield other.name, lambda other=other: scheme_contest(table, other)  # type: ignore[misc]
    if len(table.tasks) > 1:
        for name, scale in _changes(tuple(task.name for task in table.tasks)):
            yield name, lambda scale=scale: scheme_contest(table, scheme, emphasis=scale)  # type: ignore[misc]


def _changes(terms: tuple[str, ...]) -> Iterator[tuple[str, dict[str, float]]]:
    for term in terms:
        for name, scale in CHANGES.items():
            yield name.format(term.replace("_", " ")), {term: scale}
