"""Confidence: what can be said about all cases of the kind, from those at hand.

Every smooth column of a leaderboard, however composite, is treated like a mean: the jackknife tells what it owes to
each cluster of cases, and from these influences follow its interval, those of differences, and rank intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from podium.model import Column, Direction, Floats, InputError, Scores
from podium.ranking.inference.comparisons import Bools, Pairs, RankInterval, compared_pairs, rank_intervals
from podium.ranking.inference.intervals import COVERAGE, Intervals, Method, intervals_of, mean_influences, resampled
from podium.ranking.inference.resampling import BLOCK, Progress, over_blocks
from podium.ranking.inference.stability import Stability, assess_stability, leave_out
from podium.ranking.rule import Rule

__all__ = ["Confidence", "assess_confidence"]

MOST_REPLICATES = 2000
"""More resamples do not move the ends of 95 % intervals by anything that matters."""


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
    ranks
        One for each competitor: the places it may truly have, all of them true together with the level's confidence.
    warnings
        What a reader should be told.
    ahead
        Who is certainly ahead of whom in the published order, shape (competitors, competitors); None if not known.
    """

    submissions: tuple[str, ...]
    level: float
    method: Method
    columns: dict[str, Intervals]
    pairs: tuple[Pairs, ...]
    ranks: tuple[RankInterval, ...]
    warnings: tuple[str, ...]
    ahead: Bools | None = None


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
        Of intervals of columns: "bootstrap-t", "percentile" or "bca". Differences and ranks always use the first.
    replicates, seed
        Resamples, of which at most 2,000 are used.
    """
    if len(rule.units.names) < 2:
        raise InputError("there is only a single case, which tells nothing about others")
    scores = rule.published
    replicates = min(replicates, MOST_REPLICATES)
    shown = _shown(scores)
    criteria = [column for column in scores.criteria if not np.isnan(column.values[0, rule.ranked]).all()]
    effects = _influences(rule, scores, [column for column in (*shown, *criteria) if column.smooth])
    again = [column.name for column in shown if method != "bootstrap-t" or not column.smooth]
    drawn = assess_stability(rule, replicates=replicates, seed=seed, columns=again, jobs=jobs) if again else None
    columns = {}
    for column in shown:
        if drawn is not None and column.name in again:
            intervals = _from_values(rule, column, effects.get(column.name), drawn, level=level, method=method)
        else:
            intervals = _bootstrap_t(
                rule, column, effects[column.name], level=level, replicates=replicates, seed=seed, jobs=jobs
            )
        columns[column.name] = intervals
    pairs = compared_pairs(
        rule, criteria, effects, level=level, replicates=replicates, seed=seed, jobs=jobs, progress=progress
    )
    places = scores.places[0, rule.ranked]
    ranks = (
        rank_intervals([pair.better for pair in pairs], [pair.criterion.importance for pair in pairs]) if pairs else ()
    )
    ranks = ranks or tuple(RankInterval(1, len(places)) for _ in places)
    # A rule that rounds, or breaks ties by something else, may publish a place that the criteria alone rule out.
    ranks = tuple(
        RankInterval(min(rank.best, int(place)), max(rank.worst, int(place))) if np.isfinite(place) else rank
        for rank, place in zip(ranks, places.tolist(), strict=True)
    )
    warnings = _warnings(rule, shown, criteria, method)
    return Confidence(rule.competitors, level, method, columns, tuple(pairs), ranks, warnings)


def _shown(scores: Scores) -> list[Column]:
    """Return the columns that get an interval: those that judge, and do not merely compare."""
    judging = (Direction.HIGHER, Direction.LOWER)
    criteria = {column.name: column for column in scores.criteria if column.smooth or not column.relative}
    own = {c.name: c for c in scores.columns if c.measure.direction in judging and not c.relative}
    return [*(criteria.pop(name, column) for name, column in own.items()), *criteria.values()]


def _influences(rule: Rule, scores: Scores, columns: Sequence[Column]) -> dict[str, Floats]:
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
    work = partial(_resampled, effect[known], rule)
    blocks = over_blocks(rule.units, work, replicates=replicates, seed=seed, jobs=jobs)
    shifts, errors = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    intervals = intervals_of(
        estimate[known], effect[known], rule.units, shifts, errors, level=level, method="bootstrap-t"
    )
    return _spread(estimate, known, intervals)


def _resampled(effect: Floats, rule: Rule, counts: Floats) -> tuple[Floats, Floats]:
    return resampled(effect, rule.units, counts)


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
    which: Method = method if column.smooth and method != "bootstrap-t" else "percentile"
    intervals = intervals_of(estimate[known], own[known], rule.units, shifts, shifts, level=level, method=which)
    return _spread(estimate, known, intervals)


def _spread(estimate: Floats, known: np.typing.NDArray[np.bool_], intervals: Intervals) -> Intervals:
    low, high = np.full((2, len(estimate)), np.nan)
    low[known], high[known] = intervals.low, intervals.high
    return Intervals(estimate, low, high)


def _warnings(rule: Rule, shown: Sequence[Column], criteria: Sequence[Column], method: Method) -> tuple[str, ...]:
    warnings = [] if method == "bootstrap-t" else [f"{method}: {COVERAGE[method]}."]
    if any(not column.smooth for column in shown):
        warnings.append(
            "Intervals of medians and other quantiles are percentile intervals, which cover less than they promise "
            "where cases are few or values repeat."
        )
    if any(not column.smooth for column in criteria):
        warnings.append("Rank intervals rest on Holm-adjusted paired Wilcoxon tests, as a criterion is not a mean.")
    alone = sum(stratum.stop - stratum.start == 1 for stratum in rule.units.strata)
    if alone:
        warnings.append(
            f"Strata with a single case: {alone}. How much it varies cannot be known, so intervals are too narrow."
        )
    counts = rule.priced.sum(axis=1).tolist()
    failing = [
        f"{name} {count} of {rule.priced.shape[1]}"
        for name, count, ranked in zip(rule.submissions, counts, rule.ranked.tolist(), strict=True)
        if ranked and count
    ]
    if failing:
        warnings.append(
            f"Failed cases: {', '.join(failing)}. Intervals of their means tell as much about how often they fail as "
            "about how well they do; where failures are rare, few may have been seen, and intervals cover less than "
            "they promise (in simulations 65 % at a rate of one in fifty, 92 % at one in twenty)."
        )
    return tuple(warnings)
