"""From the cube to the leaderboard: means over cases, the fitted runtime, six ranks, and who may be ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from podium.model import Column, Cube, Direction, Floats, InputError, Scores
from podium.ranking import (
    competition_ranks,
    loading_line,
    mean_rank,
    reported_seconds,
    rounded,
    weighted_mean,
    weighted_sum,
)
from podium.raters import PEOPLE

__all__ = ["BASELINE", "TERMS", "ineligible", "notes", "score"]

BASELINE = "no-tracking"
LONGEST_SECONDS_PER_FRAME = 1.0

_RANKED = (
    ("dice", "DSC", "", Direction.HIGHER),
    ("hd95", "HD95", "mm", Direction.LOWER),
    ("masd", "MASD", "mm", Direction.LOWER),
    ("centre_distance", "CD", "mm", Direction.LOWER),
    ("relative_d98", "Relative D98", "", Direction.HIGHER),
)
_GEOMETRIC = _RANKED[:4]
TERMS = (*(metric for metric, *_ in _RANKED), "runtime")


def score(
    cube: Cube, weights: Floats, ranked: Sequence[bool], *, edition: str, emphasis: Mapping[str, float]
) -> Scores:
    """Rank by each of five means and by the runtime, and average the six ranks."""
    criteria = []
    for metric, title, unit, direction in _RANKED:
        rows = cube.of(metric)
        criteria.append(Column(metric, title, _mean(rows, weights), unit, direction, rows=rows))
    time = _times(cube, weights, edition=edition)
    title = "Runtime" if edition == "code" else "Runtime per frame"
    criteria.append(Column("runtime", title, time["runtime"], "s", Direction.LOWER))
    ranks, columns = {}, []
    for column in criteria:
        ranks[column.name] = competition_ranks(column.values, direction=column.direction, among=ranked)
        rank = Column(f"{column.name}_rank", f"{column.title} rank", ranks[column.name], digits=0, relative=True)
        columns += [column, rank]
    columns.append(Column("loading_time", "Loading time", time["loading"], "s", digits=2))
    columns.append(Column("time_per_frame", "Time per frame", time["rate"], "s"))
    columns.append(Column("total_time", "Total time", time["total"], "s", digits=1))
    average = mean_rank(ranks, emphasis)
    first = Column("average_rank", "Average rank", average, direction=Direction.LOWER, digits=2, relative=True)
    places = competition_ranks(average, direction=Direction.LOWER, among=ranked)
    shares = {column.name: emphasis.get(column.name, 1.0) for column in criteria}
    counting = tuple(replace(c, importance=shares[c.name]) for c in criteria if shares[c.name] > 0)
    return Scores(places, (first, *columns), counting)


def ineligible(cube: Cube) -> dict[str, str]:
    """Name those slower than a second per frame, and those that outperform no tracking in no geometric metric."""
    ones = np.ones((1, len(cube.rows)))
    rate = _times(cube, ones, edition="document")["rate"][0]
    better = _better_than_baseline(cube, ones)
    reasons: dict[str, str] = {}
    for place, submission in enumerate(cube.submissions):
        if submission == BASELINE:
            continue
        told = []
        if rounded(np.array([rate[place], LONGEST_SECONDS_PER_FRAME]))[0] > LONGEST_SECONDS_PER_FRAME:
            told.append(f"takes {rate[place]:.3g} s per frame, at most {LONGEST_SECONDS_PER_FRAME:g} s is allowed")
        if better is not None and not better[place]:
            told.append("does not outperform no tracking in any of DSC, HD95, MASD, CD")
        if told:
            reasons[submission] = "; ".join(told)
    return reasons


def notes(cube: Cube) -> tuple[str, ...]:
    """Say what a reader should know of times and of the baseline."""
    ones = np.ones((1, len(cube.rows)))
    result = []
    if BASELINE not in cube.submissions:
        result.append("No tracking was not measured, so nobody was asked to outperform it.")
    rate = _times(cube, ones, edition="document")["rate"][0]
    others = [place for place, name in enumerate(cube.submissions) if name not in (BASELINE, PEOPLE)]
    if untimed := [cube.submissions[place] for place in others if np.isnan(rate[place])]:
        result.append(f"Last on runtime, as not every case that counts has a time: {', '.join(untimed)}.")
    if backwards := [cube.submissions[place] for place in others if rate[place] < 0]:
        result.append(f"The fitted time per frame is negative, short sequences took longer: {', '.join(backwards)}.")
    if np.unique(_frames(cube)).size < 2:
        result.append("All sequences are of equal length, so loading cannot be told from tracking.")
    return tuple(result)


def _mean(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over cases; infinite only where an infinite value has a weight."""
    infinite = np.isinf(values)
    mean = weighted_mean(np.where(infinite, 0.0, values), weights)
    return np.where(weights @ infinite.T.astype(np.float64) > 0, np.inf, mean)


def _better_than_baseline(cube: Cube, weights: Floats) -> npt.NDArray[np.bool_] | None:
    """Return who outperforms no tracking in at least one mean; None if that was not measured."""
    if BASELINE not in cube.submissions:
        return None
    better = np.zeros(len(cube.submissions), bool)
    for metric, _, _, direction in _GEOMETRIC:
        means = rounded(_mean(cube.of(metric), weights)[0])
        own = means[cube.submissions.index(BASELINE)]
        better |= means > own if direction is Direction.HIGHER else means < own
    return better


def _frames(cube: Cube) -> Floats:
    """Return the number of frames of every row, which is the truth's and so the same for all."""
    frames = np.fmax.reduce(cube.of("frames"), axis=0)
    if np.isnan(frames).any():
        row = cube.rows[int(np.flatnonzero(np.isnan(frames))[0])]
        raise InputError(f"the number of frames of {row} was not recorded", advice="Evaluate it again")
    return np.asarray(frames)


def _times(cube: Cube, weights: Floats, *, edition: str) -> dict[str, Floats]:
    """Return the fitted runtime and its parts in seconds, each of shape (sets, submissions); NaN without timing."""
    seconds, frames = reported_seconds(cube), _frames(cube)
    loading, rate = loading_line(seconds, frames, weights)
    total = np.where(np.isnan(rate), np.nan, weighted_sum(seconds, weights))
    if edition == "document":
        return {"runtime": rate, "loading": loading, "rate": rate, "total": total}
    mean = weighted_mean(seconds, weights)
    # With a single length the organisers' fit has many solutions; the smallest one halves the time between the two.
    single = _single_length(seconds, frames, weights)
    loading, rate = np.where(single, mean / 2, loading), np.where(single, rate / 2, rate)
    return {"runtime": mean - loading, "loading": loading, "rate": rate, "total": total}


def _single_length(seconds: Floats, frames: Floats, weights: Floats) -> npt.NDArray[np.bool_]:
    """Return where all rows that count have the same number of frames, shape (sets, submissions)."""
    lengths = np.zeros((len(weights), len(seconds)))
    for length in np.unique(frames):
        lengths += (weights @ (~np.isnan(seconds) & (frames == length)).T.astype(np.float64)) > 0
    return np.asarray(lengths == 1)
