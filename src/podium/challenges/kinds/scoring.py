"""From a cube to places, by the ranking rules that a challenge declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from podium.challenges.kinds.declarations import Eligibility, RankingRules, Timing
from podium.model import Column, Cube, Direction, Floats, Measure, Scores
from podium.ranking import (
    AVERAGE_RANK,
    AggregateThenRank,
    RankThenAggregate,
    Scheme,
    TaskValues,
    TestThenRank,
    column_ranks,
    competition_ranks,
    counted_seconds,
    exceeds,
    mean_column,
    mean_rank,
    tie_broken_ranks,
    units_of,
    with_ranks,
)
from podium.ranking.inference.resampling import Units
from podium.ranking.inference.significance import significance_ranks

__all__ = ["SCORE", "Criterion", "Scoring"]

SCORE = Measure("score", "Score")
"""The column of a weighted mean; its direction is that of the criteria."""

Aggregate: TypeAlias = Callable[[Floats], Column]


@dataclass(frozen=True)
class Criterion:
    """One thing that decides: its measure, of one target, as a column, how much it counts, and how it is pooled.

    `pooled` is what makes a column of weights where that is not a statistic of the rows, as an area under a curve.
    """

    measure: Measure
    key: tuple[str, str]
    weight: float = 1.0
    pooled: Aggregate | None = None


@dataclass(frozen=True)
class Scoring:
    """The rules, the criteria, the cube that they are applied to, and what is shown besides."""

    rules: RankingRules
    timing: Timing
    time: Measure
    criteria: Sequence[Criterion]
    cube: Cube
    emphasis: Mapping[str, float]
    described: Sequence[Criterion] = ()

    def scores(self, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Score every submission under each set of row weights; only the ranked are compared."""
        columns = [self._column(criterion, weights, ranked) for criterion in self.criteria]
        shares = [self._share(criterion.measure.name, criterion.weight) for criterion in self.criteria]
        ranks = {
            column.name: self._ranks(criterion, column, weights, ranked)
            for criterion, column in zip(self.criteria, columns, strict=True)
        }
        if self.timing.weight:
            columns.append(self.seconds(weights))
            shares.append(self._share(self.time.name, self.timing.weight))
            ranks[self.time.name] = column_ranks(columns[-1], among=ranked)
        importance = dict(zip(ranks, shares, strict=True))
        counting = tuple(
            replace(column, importance=share) for column, share in zip(columns, shares, strict=True) if share > 0
        )
        if self.rules.scheme == "weighted mean":
            total = _weighted(columns, shares)
            places, shown, counting = column_ranks(total, among=ranked), (total, *columns), (total,)
        elif len(columns) == 1:
            places, shown = ranks[columns[0].name], tuple(columns)
        else:
            average = mean_rank(ranks, importance)
            places = competition_ranks(average, direction=Direction.LOWER, among=ranked)
            shown = (Column(AVERAGE_RANK, average, relative=True), *with_ranks(columns, ranks))
        besides = [self._mean(criterion, weights) for criterion in self.described]
        return Scores(self._untied(places, columns, weights, ranked), (*shown, *besides), counting)

    def seconds(self, weights: Floats) -> Column:
        """Return the mean time of a row."""
        return mean_column(self.time, counted_seconds(self.cube), weights)

    def _share(self, name: str, weight: float) -> float:
        return weight * self.emphasis.get(name, 1.0)

    def _column(self, criterion: Criterion, weights: Floats, ranked: Sequence[bool]) -> Column:
        if criterion.pooled is not None or isinstance(self._scheme, AggregateThenRank):
            return self._mean(criterion, weights)
        # Ranks and tests compare those who are ranked; others have no value.
        among = np.asarray(ranked, bool)
        column = self._scheme.prepared(self._task(criterion, among, complete=True), self._units)(weights)
        values = np.full((len(weights), len(among)), np.nan)
        values[:, among] = column.values
        return replace(column, values=values, rows=None, scales=None)

    def _mean(self, criterion: Criterion, weights: Floats) -> Column:
        """Return what a criterion comes to over all rows, of everybody."""
        if criterion.pooled is not None:
            return criterion.pooled(weights)
        everybody = np.ones(len(self.cube.submissions), bool)
        scheme = AggregateThenRank(self.rules.statistic)
        return scheme.prepared(self._task(criterion, everybody), self._units)(weights)

    def _ranks(self, criterion: Criterion, column: Column, weights: Floats, ranked: Sequence[bool]) -> Floats:
        """Return the ranks in one criterion, where only significant differences count if that is asked for."""
        if self.rules.test is None or self.rules.scheme == "test then rank":
            return column_ranks(column, among=ranked)
        among = np.asarray(ranked, bool)
        test = TestThenRank(self.rules.test.adjustment, self.rules.test.alpha)
        better = test.better(self._task(criterion, among, complete=True), self._units)(weights)
        sign = -1.0 if column.measure.direction is Direction.HIGHER else 1.0
        scales = None if column.scales is None else column.scales[:, among]
        ranks = np.full(column.values.shape, np.nan)
        ranks[:, among] = significance_ranks(sign * column.values[:, among], better, scales=scales)
        return ranks

    @cached_property
    def _scheme(self) -> Scheme:
        match self.rules.scheme:
            case "rank then mean":
                return RankThenAggregate(self.rules.statistic)
            case "test then rank":
                test = self.rules.test
                return TestThenRank() if test is None else TestThenRank(test.adjustment, test.alpha)
        return AggregateThenRank(self.rules.statistic)

    @cached_property
    def _units(self) -> Units:
        return units_of(self.cube.clusters)

    def _task(self, criterion: Criterion, among: npt.NDArray[np.bool_], *, complete: bool = False) -> TaskValues:
        """Return the values of some; where all are compared case by case, of the cases for which all have one."""
        values = self.cube.of(*criterion.key)[among]
        rows = np.asarray(np.isfinite(values).all(axis=0))
        values = np.where(rows, values, np.nan) if complete else values
        return TaskValues(criterion.measure, rows, values, self.cube.failed[among])

    def _untied(self, places: Floats, columns: Sequence[Column], weights: Floats, ranked: Sequence[bool]) -> Floats:
        """Part equals by the columns that rules name."""
        known = {column.name: column for column in columns}
        for name in self.rules.ties:
            column = known[name] if name in known else self.seconds(weights)
            places = tie_broken_ranks(places, column_ranks(column), direction=Direction.LOWER, among=ranked)
        return places

    def ineligible(self, demands: Eligibility) -> dict[str, str]:
        """Name who does not qualify for a rank, and why."""
        causes = [*self._limited(demands), *self._outperformed(demands), *self._timed()]
        reasons: dict[str, list[str]] = {}
        for submission, cause in causes:
            reasons.setdefault(submission, []).append(cause)
        return {name: "; ".join(own) for name, own in reasons.items() if name != demands.better_than}

    @cached_property
    def _means(self) -> dict[str, Column]:
        """What each criterion comes to over all cases, of everybody, whatever the scheme."""
        weights = np.ones((1, len(self.cube.rows)))
        return {criterion.measure.name: self._mean(criterion, weights) for criterion in self.criteria}

    def _limited(self, demands: Eligibility) -> Iterator[tuple[str, str]]:
        for limits, sign, words in ((demands.at_least, 1.0, "at least"), (demands.at_most, -1.0, "at most")):
            for name, limit in limits.items():
                measure = self._means[name].measure
                for submission, value in zip(self.cube.submissions, self._means[name].values[0], strict=True):
                    if np.isnan(value) or exceeds(sign * limit, sign * value):
                        yield submission, f"{measure.title} is {measure.shown(value)}, {words} {limit:g} is asked for"

    def _outperformed(self, demands: Eligibility) -> Iterator[tuple[str, str]]:
        if demands.better_than not in self.cube.submissions:
            return
        own = self.cube.submissions.index(demands.better_than)
        better = []
        counting = [self._means[criterion.measure.name] for criterion in self.criteria if criterion.weight > 0]
        for column in counting:
            if np.isnan(column.values[0, own]):
                continue
            values = column.values[0] if column.measure.direction is Direction.HIGHER else -column.values[0]
            scales = None if column.scales is None else np.maximum(column.scales[0], column.scales[0, own])
            better.append(exceeds(values, values[own], scales))
        if not better:
            return
        enough = np.all(better, axis=0) if demands.better_in == "all" else np.any(better, axis=0)
        where = "every criterion" if demands.better_in == "all" else "any criterion"
        for submission, wins in zip(self.cube.submissions, enough.tolist(), strict=True):
            if not wins:
                yield submission, f"does not outperform {demands.better_than} in {where}"

    def without_value(self, submission: str) -> str:
        """Name the criteria in which a submission has no value; nothing where there is none."""
        own = self.cube.submissions.index(submission)
        columns = [column for column in self._means.values() if np.isnan(column.values[0, own])]
        return ", ".join(column.measure.title for column in columns)

    def _timed(self) -> Iterator[tuple[str, str]]:
        limit = self.timing.limit_seconds
        if limit is None:
            return
        seconds = self.seconds(np.ones((1, len(self.cube.rows)))).values[0]
        for submission, value in zip(self.cube.submissions, seconds.tolist(), strict=True):
            if np.isnan(value):
                yield submission, "has no time for every case, so that the limit cannot be shown to hold"
            elif exceeds(value, limit):
                yield submission, f"takes {value:.3g} s per case, at most {limit:g} s is allowed"


def _weighted(columns: Sequence[Column], shares: Sequence[float]) -> Column:
    """Return the weighted mean of columns of one direction, and of their rows where all have some."""
    total = sum(shares)
    parts = [(column, share / total) for column, share in zip(columns, shares, strict=True) if share > 0]
    values = np.sum([share * column.values for column, share in parts], axis=0)
    first = parts[0][0].measure
    low, high = (sum(share * getattr(c.measure, end) for c, share in parts) for end in ("minimum", "maximum"))
    measure = replace(SCORE, direction=first.direction, unit=first.unit, minimum=low, maximum=high)
    parts_of_rows = [share * column.rows for column, share in parts if column.rows is not None]
    known = len(parts_of_rows) == len(parts) and not np.isnan(parts_of_rows).any()
    rows = np.asarray(np.sum(parts_of_rows, axis=0)) if known else None
    smooth = all(column.smooth for column, _ in parts)
    return Column(measure, np.asarray(values), rows=rows, smooth=smooth)
