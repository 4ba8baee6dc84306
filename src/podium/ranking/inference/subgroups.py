"""Subgroups: the ranking in each centre, region or stratum, and whether these differ by more than chance.

In each subgroup the rule ranks with weights zero elsewhere. Whether a lead depends on the subgroup is tested twice, and
the larger p counts: the names of groups are given to other cases, at random; and cases keep their groups, but turn the
signs of what they differ by from the mean of their group. The first is exact where groups vary alike, the second holds
where they vary by different amounts. Both compare means of groups, each with its own variance (Welch and James).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from podium.model import Column, Floats, InputError
from podium.model.errors import shortened
from podium.ranking.inference.confidence import influences
from podium.ranking.inference.stability import firsts
from podium.ranking.rule import Rule

__all__ = ["Subgroup", "Subgroups", "rank_subgroups"]

FEW = 5
"""A group of fewer cases, or clusters of them, is ranked but not tested."""
MANY = 8
"""More groups than these are counted, not named one by one."""
PERMUTATIONS = 2000
ALPHA = 0.05
_BLOCK = 250
_NOISE = 1e-11
"""Relative to influences, smaller differences of them are rounding errors."""
_NO_VARIANCE = 1e-9
"""Of values that vary by one altogether: what a group varies by at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Subgroup:
    """A part of the cases, and the ranking in it.

    Attributes
    ----------
    name
        Of the group.
    rows, clusters
        How many cases it has, and how many clusters of them.
    places, values
        Of the competitors: their places, and their values by the name of the criterion.
    winners
        Who is first in it.
    tested
        Whether it has cases enough to take part in the tests.
    """

    name: str
    rows: int
    clusters: int
    places: Floats
    values: Mapping[str, Floats]
    winners: tuple[str, ...]
    tested: bool


@dataclass(frozen=True, slots=True, eq=False)
class Subgroups:
    """The ranking in every subgroup, and whether these differ by more than chance.

    Attributes
    ----------
    by
        What the groups are called: centre, region.
    submissions
        The competitors.
    pair
        The first and the second of the whole ranking; none if there are fewer than two.
    groups
        In the order of their names.
    nowhere
        How many cases are in no group.
    p_pair, p_all
        Of the tests that the lead of the first over the second, and what all teams reach against each other, are the
        same in all groups; None where it cannot be tested.
    untested
        Why not; "" where it was.
    seed
        Which permutations.
    """

    by: str
    submissions: tuple[str, ...]
    pair: tuple[str, ...]
    groups: tuple[Subgroup, ...]
    nowhere: int
    p_pair: float | None
    p_all: float | None
    untested: str
    seed: int

    name = "subgroups"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the subgroups say, in words."""
        lines = self._winners()
        if self.nowhere:
            lines.append(f"{self.nowhere:,} cases have no {self.by} and are left out here.")
        if self.untested:
            return (*lines, f"Whether the ranking depends on {self.by} cannot be tested: {self.untested}.")
        if self.p_pair is not None:
            lines.append(self._of_pair(self.p_pair))
        if self.p_all is not None:
            differs = f"differs by {self.by}" if self.p_all < ALPHA else f"does not depend on {self.by} beyond chance"
            lines.append(
                f"How all {len(self.submissions)} competitors compare with each other {differs} ({_p(self.p_all)})."
            )
        lines.append(
            f"p is the larger of two: by {PERMUTATIONS:,} permutations of {self.by} over cases, and by as many turns "
            f"of signs within groups (seed {self.seed})."
        )
        return tuple(lines)

    def _winners(self) -> list[str]:
        """Say who is first in each group; of many groups, how often."""
        if len(self.groups) > MANY:
            first = Counter(name for group in self.groups for name in group.winners)
            often = [f"{name} in {count}" for name, count in first.most_common()]
            return [f"First, alone or shared, in {len(self.groups)} groups by {self.by}: {shortened(often)}."]
        return [
            f"In {self.by} {group.name} ({group.rows:,} {'case' if group.rows == 1 else 'cases'}), "
            f"{shortened(group.winners)} {'is' if len(group.winners) == 1 else 'are together'} first"
            f"{'' if group.tested else '; that is too few cases to say much'}."
            for group in self.groups
        ]

    def _of_pair(self, p: float) -> str:
        first, second = self.pair
        one, two = (self.submissions.index(name) for name in self.pair)
        behind = [group.name for group in self.groups if group.places[one] > group.places[two]]
        if p >= ALPHA:
            return f"The lead of {first} over {second} does not depend on {self.by} beyond chance ({_p(p)})."
        where = f"{second} is before {first} in {shortened(behind)}" if behind else f"{second} leads in none of them"
        return f"The lead of {first} over {second} differs by {self.by} ({_p(p)}): {where}."

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Places and values in every group: `subgroups`."""
        rows = [
            (
                group.name,
                group.rows,
                group.clusters,
                name,
                None if np.isnan(group.places[index]) else int(group.places[index]),
                *(float(values[index]) for values in group.values.values()),
            )
            for group in self.groups
            for index, name in enumerate(self.submissions)
        ]
        schema: dict[str, Any] = {
            "group": pl.String,
            "cases": pl.Int64,
            "clusters": pl.Int64,
            "submission": pl.String,
            "place": pl.Int64,
        }
        schema |= {f"value of {name}": pl.Float64 for name in self.groups[0].values}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        return {"subgroups": frame.with_columns(pl.selectors.float().fill_nan(None))}

    @property
    def document(self) -> dict[str, Any]:
        """Everything as plain lists and numbers, for JSON."""
        return {
            "by": self.by,
            "first": self.pair[0] if self.pair else None,
            "second": self.pair[1] if self.pair else None,
            "p_pair": self.p_pair,
            "p_all": self.p_all,
            "untested": self.untested,
            "without_group": self.nowhere,
            "permutations": PERMUTATIONS,
            "seed": self.seed,
            "groups": self.tables["subgroups"].to_dicts(),
            "sentences": list(self.sentences),
        }


def rank_subgroups(rule: Rule, groups: Mapping[str, str], *, by: str = "group", seed: int = 1) -> Subgroups:
    """Rank in every subgroup of the cases, and test whether these differ by more than chance.

    Parameters
    ----------
    groups
        The group of each case, by its name or by that of its cluster; cases that are not in it are left out.
    by
        What the groups are, in one word: "centre".
    seed
        Which permutations.

    References
    ----------
    Pauly, Brunner and Konietschke 2015, Journal of the Royal Statistical Society B 77(2), for permuting a statistic
    that takes each group's own variance.
    """
    if not rule.competitors:
        raise InputError("nobody competes, so there is nothing to rank")
    of_row = [_group_of(row, rule.units.names[cluster], groups) for row, cluster in _rows(rule)]
    names = sorted({name for name in of_row if name})
    if not names:
        raise InputError(
            f"no case has a {by}",
            advice=f"Cases are {shortened(rule.rows, most=3)}; groups are given for {shortened(list(groups), most=3)}",
        )
    if len(names) < 2:
        raise InputError(f"every case has the same {by}, {names[0]}", advice="Subgroups need at least two groups")
    if len(names) == len(rule.units.names) > 2:
        raise InputError(f"every case has a {by} of its own", advice="Give a column that several cases share")
    scores = rule.score(np.array([[float(own == name) for own in of_row] for name in names]))
    clusters = [np.unique(rule.units.cluster[[own == name for own in of_row]]) for name in names]
    competing = rule.ranked
    tested = [len(own) >= FEW for own in clusters]
    subgroups = tuple(
        Subgroup(
            name,
            sum(own == name for own in of_row),
            len(clusters[index]),
            scores.places[index, competing],
            {column.name: column.values[index, competing] for column in scores.criteria},
            firsts(rule.competitors, scores.places[index, competing]),
            tested[index],
        )
        for index, name in enumerate(names)
    )
    pair = tuple(entry.submission for entry in rule.leaderboard().ranked[:2])
    pair = pair if len(pair) == 2 else ()
    untested = _why_not(rule, clusters, tested, by, pair)
    p_pair = p_all = None
    if not untested:
        labels = np.full(len(rule.units.names), -1)
        for number, own in enumerate(clusters):
            labels[own] = number if tested[number] else -1
        p_pair, p_all = _interactions(rule, labels, pair, seed)
    return Subgroups(
        by, rule.competitors, pair, subgroups, sum(not name for name in of_row), p_pair, p_all, untested, seed
    )


def _rows(rule: Rule) -> Sequence[tuple[str, int]]:
    return list(zip(rule.rows, rule.units.cluster.tolist(), strict=True))


def _group_of(row: str, cluster: str, groups: Mapping[str, str]) -> str:
    """Return the group of a row by its own name, by its cluster's, or by that of its case: what follows the task."""
    parts = row.split("/")
    cases = ("/".join(parts[start:]) for start in range(1, len(parts)))
    return next((groups[name] for name in (row, cluster, *cases) if name in groups), "")


def _why_not(
    rule: Rule, clusters: Sequence[npt.NDArray[np.intp]], tested: Sequence[bool], by: str, pair: Sequence[str]
) -> str:
    """Return why groups cannot be tested against each other; "" if they can."""
    if not pair:
        return "fewer than two are ranked"
    times = Counter(cluster for own in clusters for cluster in own.tolist())
    if several := [rule.units.names[cluster] for cluster, count in times.items() if count > 1]:
        return f"what is drawn together lies in more than one {by}, for instance {several[0]}"
    if sum(tested) < 2:
        return f"fewer than two groups have {FEW} cases"
    return ""


def _interactions(
    rule: Rule, labels: npt.NDArray[np.intp], pair: Sequence[str], seed: int
) -> tuple[float | None, float | None]:
    """Return p of the test for the first and the second, and of that for all; clusters with label −1 are left out."""
    criteria = list(rule.published.criteria)
    effects = influences(rule, rule.published, criteria)
    used = labels >= 0
    inside = np.array([_takes_part(column, rule) for column in criteria])[:, used]
    one, two = (rule.competitors.index(name) for name in pair)
    leads, centred = [], []
    for column, taking in zip(criteria, inside, strict=True):
        effect = effects[column.name][:, used]
        known = effect[np.isfinite(effect).all(axis=1)]
        noise = _NOISE * np.max(np.abs(known), initial=0.0)
        with np.errstate(invalid="ignore"):
            leads.append(_scaled(effect[[one]] - effect[[two]], taking, noise))
        centred.append(_scaled(known - known.mean(axis=0) if len(known) else known, taking, noise))
    # Groups are exchanged among cases that are judged by the same criteria.
    kinds = np.unique(inside, axis=1, return_inverse=True)[1].reshape(-1)
    shares = [column.importance for column in criteria]
    tests = [leads, centred] if len(rule.competitors) > 2 else [leads]
    results = _tested(tests, inside, shares, labels[used], kinds, seed)
    return results[0], results[1] if len(results) > 1 else None


def _takes_part(column: Column, rule: Rule) -> npt.NDArray[np.bool_]:
    """Return which clusters a criterion is measured in."""
    clusters = np.arange(len(rule.units.names))
    if column.rows is None:
        return np.ones(len(clusters), bool)
    return np.isin(clusters, rule.units.cluster[~np.isnan(column.rows).all(axis=0)])


def _scaled(values: Floats, taking: npt.NDArray[np.bool_], noise: float) -> Floats:
    """Return values that vary by one over the cases of a criterion; what varies by noise, or is not finite, is zero."""
    own = np.where(np.isfinite(values).all(axis=1, keepdims=True), values, 0.0)
    own = np.where(taking, own - own[:, taking].mean(axis=1, keepdims=True), 0.0)
    spread = np.sqrt(np.square(own[:, taking]).mean(axis=1, keepdims=True))
    return np.asarray(np.divide(own, spread, out=np.zeros(own.shape), where=spread > noise))


def _tested(
    tests: Sequence[Sequence[Floats]],
    inside: npt.NDArray[np.bool_],
    shares: Sequence[float],
    labels: npt.NDArray[np.intp],
    kinds: npt.NDArray[np.intp],
    seed: int,
) -> list[float]:
    """Return the p-value of each test: the share of statistics at least as large, by names or by signs.

    Parameters
    ----------
    tests
        For each test the values by each criterion, shape (values, clusters).
    inside, shares
        Which clusters a criterion is measured in, and by how much it counts.
    labels, kinds
        The group of each cluster, and which clusters may exchange theirs.
    """
    numbers = np.unique(labels)

    def statistics(chosen: Sequence[Sequence[Floats]], drawn: npt.NDArray[np.intp], signs: Floats) -> Floats:
        members = [(drawn == number).astype(np.float64) for number in numbers]
        sums = np.zeros((len(tests), max(len(drawn), len(signs))))
        for index, values in enumerate(chosen):
            for share, own, taking in zip(shares, values, inside, strict=True):
                sums[index] += share * _between(own[:, taking], [m[:, taking] for m in members], signs[:, taking])
        return sums

    random = np.random.default_rng([seed, len(numbers)])
    plain = np.ones((1, len(labels)))
    observed = statistics(tests, labels[None], plain) * (1 - 1e-9)
    within = [[_within(own, labels, taking) for own, taking in zip(values, inside, strict=True)] for values in tests]
    larger = np.zeros((2, len(tests)))
    for start in range(0, PERMUTATIONS, _BLOCK):
        drawn = np.tile(labels, (min(_BLOCK, PERMUTATIONS - start), 1))
        for kind in np.unique(kinds):
            drawn[:, kinds == kind] = random.permuted(drawn[:, kinds == kind], axis=1)
        signs = random.choice([-1.0, 1.0], drawn.shape)
        larger[0] += np.sum(statistics(tests, drawn, plain) >= observed, axis=1)
        larger[1] += np.sum(statistics(within, labels[None], signs) >= observed, axis=1)
    return [float(p) for p in (1 + larger.max(axis=0)) / (1 + PERMUTATIONS)]


def _within(values: Floats, labels: npt.NDArray[np.intp], taking: npt.NDArray[np.bool_]) -> Floats:
    """Return values less the means of their groups, widened so that they vary as before."""
    centred = np.zeros(values.shape)
    for number in np.unique(labels):
        own = taking & (labels == number)
        if (count := int(own.sum())) > 1:
            wide = np.sqrt(count / (count - 1))
            centred[:, own] = wide * (values[:, own] - values[:, own].mean(axis=1, keepdims=True))
    return centred


def _between(values: Floats, members: Sequence[Floats], signs: Floats) -> Floats:
    """Return how far the means of groups lie apart, added up over values, shape (sets,).

    Each group's variance is taken together with one observation of the common one, so that few equal values in a group
    are not taken for certainty.
    """
    counts, means, squares = [], [], []
    for member in members:
        count = float(member[0].sum())
        if count < 2:
            continue
        mean = (member * signs) @ values.T / count
        counts.append(count)
        means.append(mean)
        squares.append(np.maximum(member @ np.square(values).T - count * np.square(mean), 0.0))
    if len(counts) < 2:
        return np.zeros(len(means[0]) if means else 1)
    sizes = np.array(counts)[:, None, None]
    common = np.sum(squares, axis=0) / (np.sum(counts) - len(counts))
    variances = (np.array(squares) + common) / sizes + _NO_VARIANCE
    weights = sizes / variances
    centre = np.sum(weights * means, axis=0) / np.sum(weights, axis=0)
    return np.asarray(np.sum(weights * np.square(np.array(means) - centre), axis=(0, 2)))


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
