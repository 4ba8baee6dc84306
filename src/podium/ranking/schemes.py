"""General ranking schemes: aggregate then rank, rank then aggregate, test then rank, and a consensus over tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from podium.model import Column, Direction, Floats, InputError, Measure, Scores
from podium.ranking.arithmetic import AVERAGE_RANK, competition_ranks, mean_rank, weighted_mean, with_ranks
from podium.ranking.inference.quantiles import weighted_quantile
from podium.ranking.inference.significance import Adjustment, PairedTests, adjusted_p
from podium.ranking.rule import Rule
from podium.ranking.score_table import ScoreTable, TaskValues

__all__ = ["AggregateThenRank", "RankThenAggregate", "Scheme", "TestThenRank", "scheme_named", "scheme_rule"]

Aggregated = Callable[[Floats], Column]
"""From weights to the column that a task is ranked by."""


class Scheme(ABC):
    """A way to rank submissions by their values in cases."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it does, in a few words."""

    @abstractmethod
    def prepared(self, task: TaskValues) -> Aggregated:
        """Do what does not depend on weights, once."""


@dataclass(frozen=True, slots=True)
class AggregateThenRank(Scheme):
    """Take the mean, the median or another quantile of each submission's values, and rank these.

    Attributes
    ----------
    statistic
        "mean", "median", or a share such as 0.05 for that quantile.
    """

    statistic: str | float = "mean"

    def __post_init__(self) -> None:
        _share(self.statistic)

    @property
    def name(self) -> str:  # noqa: D102
        return f"{_statistic_name(self.statistic)} then rank"

    def prepared(self, task: TaskValues) -> Aggregated:  # noqa: D102
        share = _share(self.statistic)
        what = "" if share is None else f", {_statistic_name(self.statistic)}"
        measure = replace(task.measure, name=task.name or "value", title=f"{task.measure.title}{what}")

        def aggregated(weights: Floats) -> Column:
            values = _aggregate(task.values, weights, share)
            return Column(measure, values, smooth=share is None, rows=task.values)

        return aggregated


@dataclass(frozen=True, slots=True)
class RankThenAggregate(Scheme):
    """Rank the submissions in each case, then rank the mean or the median of these ranks.

    Attributes
    ----------
    statistic
        "mean", "median", or a share.
    """

    statistic: str | float = "mean"

    def __post_init__(self) -> None:
        _share(self.statistic)

    @property
    def name(self) -> str:  # noqa: D102
        return f"rank then {_statistic_name(self.statistic)}"

    def prepared(self, task: TaskValues) -> Aggregated:  # noqa: D102
        share = _share(self.statistic)
        ranks = competition_ranks(task.values.T, direction=task.measure.direction).T
        ranks = np.where(task.rows, ranks, np.nan)
        title = f"{task.measure.title}, {_statistic_name(self.statistic)} rank"
        measure = Measure(task.name or "value", title, Direction.LOWER, digits=2)

        def aggregated(weights: Floats) -> Column:
            values = _aggregate(ranks, weights, share)
            return Column(measure, values, relative=True, smooth=share is None, rows=ranks)

        return aggregated


@dataclass(frozen=True, slots=True)
class TestThenRank(Scheme):
    """Count for each submission how many others it is significantly better than, and rank these counts.

    Every ordered pair is tested by a one-sided paired Wilcoxon signed-rank test, normal approximation with tie and
    continuity correction.

    Attributes
    ----------
    adjustment
        Of p-values, over all ordered pairs of a task.
    alpha
        A smaller p-value is significant.
    """

    __test__ = False  # not a test, whatever pytest thinks of its name

    adjustment: Adjustment = "none"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        adjusted_p([1.0], self.adjustment)
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha is {self.alpha}, but must lie between 0 and 1, as 0.05 does")

    @property
    def name(self) -> str:  # noqa: D102
        return "test then rank" + ("" if self.adjustment == "none" else f", {self.adjustment}")

    def prepared(self, task: TaskValues) -> Aggregated:  # noqa: D102
        direction = task.measure.direction
        tests = PairedTests(task.values, direction=direction)
        title = f"{task.measure.title}, significantly better than"
        measure = Measure(task.name or "value", title, Direction.HIGHER, digits=0)
        rows = task.values if direction is Direction.HIGHER else -task.values

        def aggregated(weights: Floats) -> Column:
            wins = np.asarray(np.sum(self.significant(tests.p(weights)), axis=2, dtype=np.float64))
            return Column(measure, wins, relative=True, smooth=False, rows=rows)

        return aggregated

    def significant(self, p: Floats) -> npt.NDArray[np.bool_]:
        """Return which of (sets, submissions, submissions) one-sided p-values are significant, after adjustment."""
        teams = p.shape[1]
        apart = ~np.eye(teams, dtype=bool)
        significant = np.zeros(p.shape, bool)
        if teams > 1:
            significant[:, apart] = adjusted_p(p[:, apart], self.adjustment) < self.alpha
        return significant


def scheme_named(
    name: str, *, statistic: str | float = "mean", adjustment: Adjustment = "none", alpha: float = 0.05
) -> Scheme:
    """Return a scheme by its name on the command line."""
    schemes: dict[str, Callable[[], Scheme]] = {
        "aggregate-then-rank": lambda: AggregateThenRank(statistic),
        "rank-then-aggregate": lambda: RankThenAggregate(statistic),
        "test-then-rank": lambda: TestThenRank(adjustment, alpha),
    }
    if name not in schemes:
        raise InputError(f"there is no scheme {name!r}", advice=f"There are: {', '.join(schemes)}")
    return schemes[name]()


def scheme_rule(table: ScoreTable, scheme: Scheme, *, emphasis: Mapping[str, float] | None = None) -> Rule:
    """Return the rule that ranks a table under a general scheme; over several tasks, ranks are averaged.

    Parameters
    ----------
    emphasis
        By how much more a task's rank counts than the task's weight says, 1 unless said otherwise; 0 leaves it out.
    """
    importance = {task.name: task.weight * (emphasis or {}).get(task.name, 1.0) for task in table.tasks}
    tasks = [task for task in table.tasks if importance[task.name] > 0]
    if not tasks:
        raise InputError("no task is left to rank by")
    prepared = [scheme.prepared(task) for task in tasks]

    def score(weights: Floats) -> Scores:
        columns = [aggregate(weights) for aggregate in prepared]
        ranks = {c.name: competition_ranks(c.values, direction=c.measure.direction) for c in columns}
        criteria = tuple(
            replace(column, importance=importance[task.name]) for column, task in zip(columns, tasks, strict=True)
        )
        if len(columns) == 1:
            return Scores(ranks[columns[0].name], criteria, criteria)
        average = mean_rank(ranks, importance)
        places = competition_ranks(average, direction=Direction.LOWER)
        return Scores(places, (Column(AVERAGE_RANK, average, relative=True), *with_ranks(columns, ranks)), criteria)

    return Rule(
        name=table.name,
        edition=scheme.name,
        submissions=table.submissions,
        rows=table.rows,
        units=table.units,
        ranked=np.ones(len(table.submissions), bool),
        score=score,
        priced=np.any([task.priced for task in tasks], axis=0),
        roles=table.roles,
        remarks={},
        notes=(*table.notes, *(f"{name} is not ranked: {why}." for name, why in table.remarks.items())),
    )


def _share(statistic: str | float) -> float | None:
    """Return the share of a quantile, None for the mean."""
    if statistic == "mean":
        return None
    if statistic == "median":
        return 0.5
    try:
        share = float(statistic)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(
            f"there is no statistic {statistic!r}", advice="Say mean, median, or a share between 0 and 1 for a quantile"
        )
    return share


def _statistic_name(statistic: str | float) -> str:
    return str(statistic) if statistic in ("mean", "median") else f"{float(statistic):g}-quantile"


def _aggregate(values: Floats, weights: Floats, share: float | None) -> Floats:
    return weighted_mean(values, weights) if share is None else weighted_quantile(values, weights, share=share)
