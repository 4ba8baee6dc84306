"""Confidence: what can be said about all cases of the kind, from those at hand.

Every smooth column of a leaderboard, however composite, is treated like a mean: the jackknife tells what it owes to
each cluster of cases, and from these influences follow its interval, those of differences, and rank intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from podium.model import Column, Direction, Floats, InputError, Scores
from podium.ranking.inference.comparisons import Pairs, RankInterval, compared, enough_for, rank_intervals
from podium.ranking.inference.differences import Resamples
from podium.ranking.inference.intervals import (
    COVERAGE,
    Intervals,
    Method,
    Moves,
    effective_number,
    intervals_of,
    mean_influences,
    unequal_sizes,
)
from podium.ranking.inference.ranges import bounded_means, settled_intervals
from podium.ranking.inference.resampling import BLOCK, Progress, over_blocks
from podium.ranking.inference.stability import Stability, assess_stability, leave_out
from podium.ranking.rule import Rule

__all__ = ["Confidence", "assess_confidence", "influences"]

MOST_REPLICATES = 2000
"""More resamples do not move the ends of 95 % intervals by anything that matters."""

ENOUGH_CLUSTERS = 8

_NAMED = 6
"""Submissions that a warning names, those with most failures first."""


@dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """Intervals of columns, of differences, and of ranks.

    Attributes
    ----------
    submissions
        The competitors.
    level, method
        Of all intervals.
    columns
        Intervals of columns by name, for the competitors.
    pairs
        One for each criterion.
    ahead
        Who is certainly ahead of whom, shape (competitors, competitors), by all criteria together.
    ranks
        One for each competitor: the places it may truly have, all of them true together with the level's confidence.
    warnings
        What a reader should be told.
    """

    submissions: tuple[str, ...]
    level: float
    method: Method
    columns: dict[str, Intervals]
    pairs: tuple[Pairs, ...]
    ahead: np.typing.NDArray[np.bool_]
    ranks: tuple[RankInterval, ...]
    warnings: tuple[str, ...]


def assess_confidence(
    rule: Rule,
    *,
    level: float = 0.95,
    method: Method = "bootstrap-t",
    replicates: int = MOST_REPLICATES,
    seed: int = 1,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Confidence:
    """Return intervals of what a leaderboard shows, of differences, and of ranks.

    Parameters
    ----------
    method
        Of intervals of columns: "bootstrap-t", "percentile" or "bca"; or "guaranteed" or "proved", which also make
        those of differences, where a column is the mean of values whose range is declared. Elsewhere differences, and
        always ranks, use the first.
    replicates, seed
        Resamples, of which at most 2,000 are used.
    """
    if method not in get_args(Method):
        raise InputError(f"there is no interval {method!r}", advice=f"There are: {', '.join(get_args(Method))}")
    if len(rule.units.names) < 2:
        raise InputError("there is only a single case, which tells nothing about others")
    scores = rule.published
    replicates = min(replicates, MOST_REPLICATES)
    shown = _shown(scores)
    criteria = [column for column in scores.criteria if not np.isnan(column.values[0, rule.ranked]).all()]
    effects = influences(rule, scores, [column for column in (*shown, *criteria) if column.smooth])
    again = [column.name for column in shown if method in ("percentile", "bca") or not column.smooth]
    drawn = assess_stability(rule, replicates=replicates, seed=seed, columns=again, jobs=jobs) if again else None
    columns = {}
    for column in shown:
        if drawn is not None and column.name in again:
            intervals = _from_values(rule, column, effects.get(column.name), drawn, level=level, method=method)
        else:
            intervals = _bootstrap_t(
                rule, column, effects[column.name], level=level, replicates=replicates, seed=seed, jobs=jobs
            )
        ends = settled_intervals(column, rule, np.stack(intervals[1:]), method=method, level=level)
        columns[column.name] = Intervals(intervals.estimate, *ends)
    resamples = Resamples(rule.units, replicates, seed, jobs)
    pairs, ahead = compared(rule, criteria, effects, level=level, method=method, resamples=resamples, progress=progress)
    # A rule that rounds, or puts failures first, may part two otherwise than the criteria do; then nothing is certain.
    places = np.nan_to_num(scores.places[0, rule.ranked], nan=np.inf)
    against = ahead & (places[:, None] > places)
    ahead = ahead & (places[:, None] < places)
    warnings = _warnings(rule, shown, criteria, method)
    if against.any():
        one, two = (rule.competitors[index] for index in np.argwhere(against)[0])
        why = f"By the criteria alone {one} is certainly better than {two}, but the rule puts it behind"
        warnings += (f"{why}: of whatever else it goes by, rank intervals know nothing.",)
    return Confidence(rule.competitors, level, method, columns, pairs, ahead, rank_intervals(ahead), warnings)


def _shown(scores: Scores) -> list[Column]:
    """Return the columns that get an interval: those that judge, and do not merely compare."""
    judging = (Direction.HIGHER, Direction.LOWER)
    criteria = {column.name: column for column in scores.criteria if column.smooth or not column.relative}
    own = {c.name: c for c in scores.columns if c.measure.direction in judging and not c.relative}
    return [*(criteria.pop(name, column) for name, column in own.items()), *criteria.values()]


def influences(rule: Rule, scores: Scores, columns: Sequence[Column]) -> dict[str, Floats]:
    """Return what each column of each competitor owes to each cluster, shapes (competitors, clusters).

    For a mean over n rows it is the sum of (x − mean) / n over those of the cluster. For others the jackknife tells:
    (m − 1) / m times what is lost without the cluster, m being the number of clusters.
    """
    clusters = len(rule.units.names)
    effects: dict[str, Floats] = {}
    unknown = []
    for column in columns:
        if column.rows is not None:
            effects[column.name] = mean_influences(column.rows[rule.ranked], rule.units)
        else:
            unknown.append(column.name)
    without: dict[str, list[Floats]] = {name: [] for name in unknown}
    for start in range(0, clusters if unknown else 0, BLOCK):
        left = np.arange(start, min(start + BLOCK, clusters))
        remaining = rule.score(rule.units.weights(leave_out(left, clusters)))
        for name in unknown:
            without[name].append(remaining.column(name).values[:, rule.ranked])
    for name in unknown:
        with np.errstate(invalid="ignore"):
            lost = scores.column(name).values[:, rule.ranked] - np.concatenate(without[name])
        effects[name] = np.ascontiguousarray(lost.T) * ((clusters - 1) / clusters)
    return effects


def _bootstrap_t(
    rule: Rule, column: Column, effect: Floats, *, level: float, replicates: int, seed: int, jobs: int | None
) -> Intervals:
    """Return the intervals of a smooth column, NaN where it has no value or loses it without some case."""
    estimate = column.values[0, rule.ranked]
    known = np.isfinite(estimate) & np.isfinite(effect).all(axis=1)
    sizes = None if column.rows is None else unequal_sizes(column.rows[rule.ranked], rule.units)
    moves = Moves(effect[known], rule.units, sizes)
    blocks = over_blocks(rule.units, moves, replicates=replicates, seed=seed, jobs=jobs)
    shifts, errors = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    intervals = intervals_of(
        estimate[known], effect[known], rule.units, shifts, errors, level=level, method="bootstrap-t", sizes=sizes
    )
    return _spread(estimate, known, intervals)


def _from_values(
    rule: Rule, column: Column, effect: Floats | None, drawn: Stability, *, level: float, method: Method
) -> Intervals:
    """Return percentile or BCa intervals from the column's values in resamples; percentile where it is not smooth."""
    estimate = column.values[0, rule.ranked]
    values = drawn.columns[column.name]
    known = np.isfinite(estimate) & np.isfinite(values).all(axis=0)
    own = np.zeros((len(estimate), len(rule.units.names)))
    if effect is not None:
        known &= np.isfinite(effect).all(axis=1)
        own = effect
    shifts = values[:, known] - estimate[known]
    which: Method = method if column.smooth and method == "bca" else "percentile"
    intervals = intervals_of(estimate[known], own[known], rule.units, shifts, shifts, level=level, method=which)
    return _spread(estimate, known, intervals)


def _spread(estimate: Floats, known: np.typing.NDArray[np.bool_], intervals: Intervals) -> Intervals:
    low, high = np.full((2, len(estimate)), np.nan)
    low[known], high[known] = intervals.low, intervals.high
    return Intervals(estimate, low, high)


def _warnings(rule: Rule, shown: Sequence[Column], criteria: Sequence[Column], method: Method) -> tuple[str, ...]:
    warnings = [f"{method}: {COVERAGE[method]}."] if method in ("percentile", "bca") else []
    unbounded = [column.measure.title for column in shown if bounded_means(column, rule) is None]
    if method in ("guaranteed", "proved") and unbounded:
        what = ", ".join(unbounded) if len(unbounded) <= 3 else f"{len(unbounded)} of {len(shown)} columns"
        warnings.append(
            f"{method}: only means of values with a declared range have such intervals; those of {what} come from "
            "resamples."
        )
    if any(not column.smooth for column in shown):
        warnings.append(
            "Intervals of medians and other quantiles are percentile intervals, which cover less than they promise "
            "where cases are few or values repeat."
        )
    if any(not column.smooth and column.quantile is None for column in criteria):
        warnings.append("Rank intervals rest on Holm-adjusted paired Wilcoxon tests, as the ranking itself does.")
    few = [c.measure.title for c in criteria if c.quantile is not None and not enough_for(c, rule.units)]
    if few:
        warnings.append(
            f"There are too few cases to tell anybody apart by {', '.join(few)}: at least three are needed beyond a "
            "quantile."
        )
    alone = sum(stratum.stop - stratum.start == 1 for stratum in rule.units.strata)
    if alone:
        warnings.append(
            f"Strata with a single case: {alone}. How much it varies cannot be known, so intervals are too narrow."
        )
    sizes = [unequal_sizes(c.rows[rule.ranked], rule.units) for c in criteria if c.rows is not None and c.smooth]
    fewest = min((effective_number(own) for own in sizes if own is not None), default=np.inf)
    if fewest < ENOUGH_CLUSTERS:
        warnings.append(
            f"The {rule.row_words[1]} are spread so unevenly over {len(rule.units.names)} {rule.unit_words[1]} that "
            f"they tell as much as {fewest:.1f} {rule.unit_words[1]} of one size: too few to rely on intervals."
        )
    counts = rule.priced.sum(axis=1).tolist()
    failing = [
        (count, name)
        for name, count, ranked in zip(rule.submissions, counts, rule.ranked.tolist(), strict=True)
        if ranked and count
    ]
    if failing:
        most = sorted(failing, key=lambda own: -own[0])[:_NAMED]
        names = ", ".join(f"{name} ({count} of {rule.priced.shape[1]})" for count, name in most)
        more = f" and {len(failing) - _NAMED} more" if len(failing) > _NAMED else ""
        warnings.append(
            f"Failed {rule.row_words[1]}: {names}{more}. Their means tell as much about how often they fail as "
            "about how well they do, and where failures are rare, intervals cover less than they promise "
            "(--interval guaranteed does not)."
        )
    return tuple(warnings)
