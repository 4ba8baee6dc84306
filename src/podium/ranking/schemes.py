"""General ranking schemes: aggregate then rank, rank then aggregate, test then rank, and a consensus over tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from podium.model import Column, Direction, Floats, InputError, Measure, Scores
from podium.ranking.arithmetic import (
    AVERAGE_RANK,
    Ties,
    column_ranks,
    competition_ranks,
    mean_column,
    mean_rank,
    with_ranks,
)
from podium.ranking.inference.quantiles import quantile_and_scale
from podium.ranking.inference.resampling import Units
from podium.ranking.inference.significance import Adjustment, PairedTests, adjusted_p
from podium.ranking.rule import Rule
from podium.ranking.score_table import ScoreTable, TaskValues

__all__ = ["AggregateThenRank", "RankThenAggregate", "Scheme", "TestThenRank", "scheme_named", "scheme_rule"]

Aggregated = Callable[[Floats], Column]
"""From weights to the column that a task is ranked by."""

Differences = Literal["paper", "raw"]
"""How zeros and ties of paired differences are told: as they are on paper, or as binary numbers, as R does."""

_ALPHA = 0.05
_SHARED: dict[Ties, str] = {"minimum": "the better rank", "average": "the mean of their ranks"}


class Scheme(ABC):
    """A way to rank submissions by their values in cases."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it does, in a few words."""

    @abstractmethod
    def prepared(self, task: TaskValues, units: Units) -> Aggregated:
        """Do what does not depend on weights, once; `units` tell which rows belong together."""

    def notes(self, tasks: Sequence[TaskValues], units: Units) -> tuple[str, ...]:  # noqa: ARG002
        """Say what a reader of the ranking should know."""
        return ()


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

    def prepared(self, task: TaskValues, units: Units) -> Aggregated:  # noqa: ARG002, D102
        share = _share(self.statistic)
        what = "" if share is None else f", {_statistic_name(self.statistic)}"
        measure = replace(task.measure, name=task.name or "value", title=f"{task.measure.title}{what}")

        def aggregated(weights: Floats) -> Column:
            return _aggregate(measure, task.values, weights, share)

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

    def prepared(self, task: TaskValues, units: Units) -> Aggregated:  # noqa: ARG002, D102
        share = _share(self.statistic)
        ranks = competition_ranks(task.values.T, direction=task.measure.direction).T
        ranks = np.where(task.rows, ranks, np.nan)
        title = f"{task.measure.title}, {_statistic_name(self.statistic)} rank"
        measure = Measure(task.name or "value", title, Direction.LOWER, digits=2)

        def aggregated(weights: Floats) -> Column:
            return _aggregate(measure, ranks, weights, share, relative=True)

        return aggregated


@dataclass(frozen=True, slots=True)
class TestThenRank(Scheme):
    """Count for each submission how many others it is significantly better than, and rank these counts.

    Every ordered pair is tested by a one-sided paired Wilcoxon signed-rank test, normal approximation with tie and
    continuity correction. Rows of a cluster are not independent, so that the test compares the means of clusters; these
    count as often as they are drawn.

    Attributes
    ----------
    adjustment
        Of p-values, over all ordered pairs of a task.
    alpha
        A smaller p-value is significant.
    differences
        "paper": their zeros and ties are what they are on paper. "raw": binary numbers are compared, as R does.
    """

    __test__ = False  # not a test, whatever pytest thinks of its name

    adjustment: Adjustment = "none"
    alpha: float = 0.05
    differences: Differences = "paper"

    def __post_init__(self) -> None:
        adjusted_p([1.0], self.adjustment)
        _known("way to tell differences", self.differences, get_args(Differences))
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha is {self.alpha}, but must lie between 0 and 1, as 0.05 does")

    @property
    def name(self) -> str:  # noqa: D102
        adjusted = "" if self.adjustment == "none" else f", {self.adjustment}"
        return f"test then rank{adjusted}{', raw differences' if self.differences == 'raw' else ''}"

    def prepared(self, task: TaskValues, units: Units) -> Aggregated:  # noqa: D102
        better = self.better(task, units)
        title = f"{task.measure.title}, significantly better than"
        measure = Measure(task.name or "value", title, Direction.HIGHER, digits=0)
        rows = task.values if task.measure.direction is Direction.HIGHER else -task.values

        def aggregated(weights: Floats) -> Column:
            wins = np.asarray(np.sum(better(weights), axis=2, dtype=np.float64))
            return Column(measure, wins, relative=True, smooth=False, rows=rows)

        return aggregated

    def better(self, task: TaskValues, units: Units) -> Callable[[Floats], npt.NDArray[np.bool_]]:
        """Return what tells from weights who is better than whom, shape (sets, submissions, submissions).

        A cluster counts as often as its row of most weight; where its rows differ in weight, its mean is of these.
        """
        tests = self._tests(units.means(task.values), units.means(np.abs(task.values)), task)

        def better(weights: Floats) -> npt.NDArray[np.bool_]:
            counts = np.zeros((len(weights), len(units.names)))
            np.maximum.at(counts.T, units.cluster, weights.T)
            times = counts[:, units.cluster]
            shares = np.divide(weights, times, out=np.ones(weights.shape), where=times > 0)
            if (shares == 1).all():
                return self.significant(tests.p(counts))
            teams = len(task.values)
            result = np.zeros((len(weights), teams, teams), bool)
            patterns, which = np.unique(shares, axis=0, return_inverse=True)
            for number, pattern in enumerate(patterns):
                chosen = which.reshape(-1) == number
                means, sizes = (_cluster_means(values, pattern, units) for values in (task.values, np.abs(task.values)))
                result[chosen] = self.significant(self._tests(means, sizes, task).p(counts[chosen]))
            return result

        return better

    def _tests(self, means: Floats, sizes: Floats, task: TaskValues) -> PairedTests:
        return PairedTests(means, direction=task.measure.direction, sizes=sizes, raw=self.differences == "raw")

    def notes(self, tasks: Sequence[TaskValues], units: Units) -> tuple[str, ...]:
        """Say that clusters were tested, where one holds several cases of a task."""
        if all(np.bincount(units.cluster[task.rows]).max() == 1 for task in tasks):
            return ()
        return (f"Tests compare the means of {len(units.names)} clusters, as cases of one are not independent.",)

    def significant(self, p: Floats) -> npt.NDArray[np.bool_]:
        """Return which of (sets, submissions, submissions) one-sided p-values are significant, after adjustment."""
        teams = p.shape[1]
        apart = ~np.eye(teams, dtype=bool)
        significant = np.zeros(p.shape, bool)
        if teams > 1:
            significant[:, apart] = adjusted_p(p[:, apart], self.adjustment) < self.alpha
        return significant


def scheme_named(
    name: str,
    *,
    statistic: str | float = "mean",
    adjustment: Adjustment = "none",
    alpha: float = _ALPHA,
    differences: Differences = "paper",
) -> Scheme:
    """Return a scheme by its name on the command line; what it has no use for is refused."""
    schemes: dict[str, Callable[[], Scheme]] = {
        "aggregate-then-rank": lambda: AggregateThenRank(statistic),
        "rank-then-aggregate": lambda: RankThenAggregate(statistic),
        "test-then-rank": lambda: TestThenRank(adjustment, alpha, differences),
    }
    _known("scheme", name, schemes)
    of_tests = {"adjustment": adjustment != "none", "alpha": alpha != _ALPHA, "differences": differences != "paper"}
    idle = {"statistic": statistic != "mean"} if name == "test-then-rank" else of_tests
    if unused := [option for option, given in idle.items() if given]:
        raise InputError(f"{name} has no use for --{unused[0]}", advice="Leave it out, or take another scheme")
    return schemes[name]()


def scheme_rule(
    table: ScoreTable,
    scheme: Scheme,
    *,
    emphasis: Mapping[str, float] | None = None,
    consensus: Ties = "minimum",
) -> Rule:
    """Return the rule that ranks a table under a general scheme; over several tasks, ranks are averaged.

    Parameters
    ----------
    emphasis
        By how much more a task's rank counts than the task's weight says, 1 unless said otherwise; 0 leaves it out.
    consensus
        Which ranks of several tasks are averaged. "minimum": equals share the better rank (1, 2, 2, 4). "average": they
        share the mean of their ranks (1, 2.5, 2.5, 4), as in challengeR. Equal averages share the better place in both.
    """
    _known("consensus", consensus, _SHARED)
    importance = {task.name: task.weight * (emphasis or {}).get(task.name, 1.0) for task in table.tasks}
    tasks = [task for task in table.tasks if importance[task.name] > 0]
    if not tasks:
        raise InputError("no task is left to rank by")
    prepared = [scheme.prepared(task, table.units) for task in tasks]
    several = len(tasks) > 1
    edition, notes = scheme.name, (*table.notes, *scheme.notes(tasks, table.units))
    if several:
        edition += "" if consensus == "minimum" else ", consensus of average ranks"
        notes += (f"The places are those of the mean rank over tasks; equals in a task share {_SHARED[consensus]}.",)

    def score(weights: Floats) -> Scores:
        columns = [aggregate(weights) for aggregate in prepared]
        ranks = {column.name: column_ranks(column, ties=consensus if several else "minimum") for column in columns}
        criteria = tuple(
            replace(column, importance=importance[task.name]) for column, task in zip(columns, tasks, strict=True)
        )
        if not several:
            return Scores(ranks[columns[0].name], criteria, criteria)
        average = mean_rank(ranks, importance)
        places = competition_ranks(average, direction=Direction.LOWER)
        shown = with_ranks(columns, ranks, digits=0 if consensus == "minimum" else 1)
        return Scores(places, (Column(AVERAGE_RANK, average, relative=True), *shown), criteria)

    return Rule(
        name=table.name,
        edition=edition,
        submissions=table.submissions,
        rows=table.rows,
        units=table.units,
        ranked=np.ones(len(table.submissions), bool),
        score=score,
        priced=np.any([task.priced for task in tasks], axis=0),
        roles=table.roles,
        remarks={},
        notes=(*notes, *(f"{name} is not ranked: {why}." for name, why in table.remarks.items())),
        row_words=table.row_words,
        cluster_words=table.cluster_words,
    )


def _cluster_means(values: Floats, shares: Floats, units: Units) -> Floats:
    """Return the mean of each cluster's rows by their shares; NaN where none counts."""
    known = np.isfinite(values)
    total = units.sums(known * shares)
    sums = units.sums(np.where(known, values, 0.0) * shares)
    return np.asarray(np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0))


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


def _known(what: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise InputError(f"there is no {what} {name!r}", advice=f"There are: {', '.join(names)}")


def _aggregate(measure: Measure, rows: Floats, weights: Floats, share: float | None, **more: Any) -> Column:
    if share is None:
        return mean_column(measure, rows, weights, **more)
    values, scales = quantile_and_scale(rows, weights, share=share)
    return Column(measure, values, smooth=False, quantile=share, rows=rows, scales=scales, **more)
