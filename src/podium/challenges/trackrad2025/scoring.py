"""From the cube to the leaderboard: means over cases, the fitted runtime, six ranks, and who may be ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from podium.model import Challenge, Column, Cube, Direction, Floats, InputError, Measure, Purpose, Scores
from podium.ranking import (
    average_of_ranks,
    behind_fewer_failures,
    exceeds,
    loading_line,
    mean_column,
    mean_scales,
    several_lengths,
    weighted_mean,
    weighted_sum,
)
from podium.raters import PEOPLE

__all__ = ["BASELINE", "TERMS", "ineligible", "notes", "score"]

BASELINE = "no-tracking"
LONGEST_SECONDS_PER_FRAME = 1.0
STRANGE = 0.5
"""The share of a time that the fitted line may miss, or that loading may take, before the leaderboard says so."""

_TITLES = {"dice": "DSC", "hd95": "HD95", "masd": "MASD", "centre_distance": "CD", "relative_d98": "Relative D98"}
_GEOMETRIC = tuple(_TITLES)[:4]
TERMS = (*_TITLES, "runtime")


def score(cube: Cube, weights: Floats, ranked: Sequence[bool], challenge: Challenge) -> Scores:
    """Rank by each of five means and, unless it is ignored, by the runtime; average the ranks."""
    measures = {measure.name: measure for measure in challenge.measures}
    criteria = [
        mean_column(replace(measures[name], title=title), cube.of(name), weights) for name, title in _TITLES.items()
    ]
    code = challenge.edition == "code"
    times = _times(cube, weights, challenge.edition)
    title = "Runtime" if code else "Runtime per frame"
    runtime = Measure("runtime", title, Direction.LOWER, "s", minimum=0, purpose=Purpose.TIME)
    more = [
        Column(Measure("loading_time", "Loading time", unit="s", digits=2), times.loading),
        Column(Measure("time_per_frame", "Time per frame", unit="s"), times.rate),
        Column(Measure("total_time", "Total time", unit="s", digits=1), times.total),
    ]
    if "runtime" in challenge.terms:
        criteria.append(Column(runtime, times.runtime, scales=times.scale))
    scores = average_of_ranks(criteria, among=ranked, emphasis=challenge.emphasis, more=more)
    if not code:
        return scores
    # Distances are unbounded here, so that no price could make sure that failing never pays.
    return replace(scores, places=behind_fewer_failures(scores.places, cube.failed, weights, among=ranked))


def ineligible(cube: Cube, edition: str, timing: str) -> dict[str, str]:
    """Name those slower than a second per frame, and those that outperform no tracking in no geometric metric."""
    times = _times(cube, _ones(cube), "document")
    rate, scale = times.rate[0], np.maximum(times.scale[0], LONGEST_SECONDS_PER_FRAME)
    better = _better_than_baseline(cube, edition)
    reasons: dict[str, str] = {}
    for place, submission in enumerate(cube.submissions):
        if submission == BASELINE:
            continue
        causes = []
        if timing == "required":
            if np.isnan(rate[place]):
                causes.append("has no time for every case, so that the limit of 1 s per frame cannot be shown to hold")
            elif exceeds(rate[place], LONGEST_SECONDS_PER_FRAME, scale[place]):
                limit = f"at most {LONGEST_SECONDS_PER_FRAME:g} s is allowed"
                causes.append(f"takes {rate[place]:.3g} s per frame, {limit}")
        if better is not None and not better[place]:
            causes.append("does not outperform no tracking in any of DSC, HD95, MASD, CD")
        if causes:
            reasons[submission] = "; ".join(causes)
    return reasons


def notes(cube: Cube, edition: str, timing: str) -> tuple[str, ...]:
    """Say what a reader should know of times and of the baseline."""
    result = []
    if timing == "ignored":
        result.append("Runtime is ignored, as the organiser asked: five ranks are averaged, and nobody is too slow.")
    if BASELINE not in cube.submissions:
        result.append("No tracking was not measured, so nobody was asked to outperform it.")
    times = _times(cube, _ones(cube), edition)
    others = [place for place, name in enumerate(cube.submissions) if name not in (BASELINE, PEOPLE)]
    untimed = [cube.submissions[place] for place in others if np.isnan(times.rate[0, place])]
    if timing == "required" and untimed and len(untimed) == len(others):
        result.append("Nobody has a time for every case, so nobody has a place; --option timing=ignored ranks without.")
    backwards = [cube.submissions[place] for place in others if times.negative[0, place]]
    if timing == "required" and backwards:
        result.append(f"Last on runtime, as the fitted runtime is negative: {', '.join(backwards)}.")
    result += [note for place in others for note in _strange_times(cube, times, place)]
    if np.unique(_frames(cube)).size < 2 and not _loading(cube, edition)[others].all():
        result.append("All sequences are of equal length, so loading cannot be told from tracking.")
    return tuple(result)


def _strange_times(cube: Cube, times: _Times, place: int) -> list[str]:
    """Name the team and the case whose time does not follow the line, and those who mostly load."""
    if np.isnan(times.rate[0, place]) or np.isnan(times.line.intercept[0, place]):
        return []
    name, seconds, loading = cube.submissions[place], cube.seconds[place], times.loading[0, place]
    expected = times.line.intercept[0, place] + times.line.slope[0, place] * _frames(cube)
    missed = np.abs(seconds - expected)
    strange = _above(missed, STRANGE * seconds)
    remarks = []
    if strange.any():
        row = int(np.argmax(np.where(strange, missed, -1.0)))
        remarks.append(
            f"The times of {name} do not follow their line: {cube.rows[row]} took {seconds[row]:.3g} s, "
            f"{expected[row]:.3g} s were to be expected."
        )
    if _above(loading, STRANGE * seconds.mean()):
        mean = seconds.mean()
        remarks.append(f"{name} spends {loading:.3g} s of {mean:.3g} s per case on loading, by the fitted line.")
    return remarks


def _above(values: npt.ArrayLike, limits: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return what exceeds its limit by more than rounding does."""
    return np.asarray((np.asarray(values) > limits) & ~np.isclose(values, limits, rtol=1e-12, atol=1e-12))


def _better_than_baseline(cube: Cube, edition: str) -> npt.NDArray[np.bool_] | None:
    """Return who outperforms no tracking in at least one mean; None if that was not measured."""
    if BASELINE not in cube.submissions:
        return None
    better = np.zeros(len(cube.submissions), bool)
    for metric in _GEOMETRIC:
        values = cube.of(metric)
        if edition == "code" and metric != "dice":  # a distance may be infinite here, so no price would be enough
            values = np.where(cube.failed, np.inf, values)
        sign = 1.0 if metric == "dice" else -1.0
        means, scales = sign * weighted_mean(values, _ones(cube))[0], mean_scales(values, _ones(cube))[0]
        own = cube.submissions.index(BASELINE)
        better |= exceeds(means, means[own], np.maximum(scales, scales[own]))
    return better


def _ones(cube: Cube) -> Floats:
    return np.ones((1, len(cube.rows)))


def _frames(cube: Cube) -> Floats:
    """Return the number of frames of every row, which is the truth's and so the same for all."""
    frames = np.fmax.reduce(cube.of("frames"), axis=0)
    if np.isnan(frames).any():
        row = cube.rows[int(np.flatnonzero(np.isnan(frames))[0])]
        raise InputError(f"the number of frames of {row} was not recorded", advice="Evaluate it again")
    return np.asarray(frames)


@dataclass(frozen=True, slots=True, eq=False)
class _Times:
    """Fitted times in seconds, each of shape (sets, submissions), NaN without timing.

    Attributes
    ----------
    runtime
        What is ranked: per frame, or in `code` per case; NaN where it came out negative.
    loading, rate, total
        The loading time, measured or fitted, seconds per frame without it, and the sum of all times.
    scale
        Of the runtime: what it would be without any loading.
    line
        What was fitted.
    negative
        Where the runtime came out negative.
    """

    runtime: Floats
    loading: Floats
    rate: Floats
    total: Floats
    scale: Floats
    line: _Line
    negative: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """The line of each team's times, and the loading time that follows from it, of shape (sets, submissions).

    Where loading was measured by itself, times hold none of it: nothing is fitted, and there is no intercept.
    """

    intercept: Floats
    slope: Floats
    loading: Floats


def _loading(cube: Cube, edition: str) -> npt.NDArray[np.bool_]:
    """Return whose loading was measured by itself, and counts so; the organisers' code knows no such thing."""
    if cube.loading is None or edition != "document":
        return np.zeros(len(cube.submissions), bool)
    return ~np.isnan(cube.loading)


def _fitted(seconds: Floats, frames: Floats, weights: Floats, edition: str, loaded: npt.NDArray[np.bool_]) -> _Line:
    """Fit a line to the times of every team; in `document`, loading is kept within 0 and the team's shortest time."""
    intercept, slope = loading_line(seconds, frames, weights)
    if edition == "document":
        shortest = np.min(np.where(np.isnan(seconds), np.inf, seconds), axis=1)
        loading = np.where(loaded, 0.0, np.clip(intercept, 0.0, shortest))
        return _Line(np.where(loaded, np.nan, intercept), slope, loading)
    # With a single length the organisers' fit has many solutions; the smallest one halves the time between the two.
    single = ~several_lengths(frames, (~np.isnan(seconds)).astype(np.float64), weights)
    intercept = np.where(single, weighted_mean(seconds, weights) / 2, intercept)
    return _Line(intercept, np.where(single, slope / 2, slope), intercept)


def _times(cube: Cube, weights: Floats, edition: str) -> _Times:
    """Fit the times of every team to all its cases; then let a failed case count as its slowest, frame by frame."""
    frames = _frames(cube)
    timed = ~np.isnan(cube.seconds).any(axis=1, keepdims=True)
    seconds = np.where(timed, cube.seconds, np.nan)
    loaded = _loading(cube, edition) & ~np.isnan(cube.seconds).any(axis=1)
    line = _fitted(seconds, frames, weights, edition, loaded)
    total = np.where(np.isnan(line.slope), np.nan, weighted_sum(seconds, weights))
    # Which case is a team's slowest is decided on the full data.
    usual = _fitted(seconds, frames, _ones(cube), edition, loaded).loading[0]
    slowest = np.argmax(np.nan_to_num((seconds - usual[:, None]) / frames, nan=-np.inf), axis=1)
    tracking = _tracking(cube, seconds, frames, weights, line.loading, slowest)
    sound = ~cube.failed.any(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if edition == "code":
            rate, mean = line.slope, weighted_mean(seconds, weights)
            runtime = np.where(sound, mean - line.loading, tracking / weights.sum(axis=1, keepdims=True))
            scale = np.abs(mean)
        else:
            scale = total / (weights @ frames)[:, None]
            rate = tracking / (weights @ frames)[:, None]
            rate = np.where(sound & (line.loading == line.intercept), line.slope, rate)  # the same, but for rounding
            rate = runtime = np.where(np.isnan(rate), np.nan, np.maximum(rate, 0.0))
        negative = runtime < 0
    loading = line.loading if cube.loading is None else np.where(loaded, cube.loading, line.loading)
    return _Times(np.where(negative, np.nan, runtime), loading, rate, total, scale, line, negative)


def _tracking(
    cube: Cube,
    seconds: Floats,
    frames: Floats,
    weights: Floats,
    loading: Floats,
    slowest: npt.NDArray[np.intp],
) -> Floats:
    """Return the weighted sum of times without loading, where failed cases count as the slowest, frame by frame."""
    rate = (seconds[np.arange(len(seconds)), slowest] - loading) / frames[slowest]  # sets × submissions
    sound = ~cube.failed
    sums = weighted_sum(np.where(sound, seconds, 0.0), weights) - loading * (weights @ sound.T.astype(np.float64))
    lost = rate * (weights @ (cube.failed * frames).T)
    return np.asarray(sums + np.where(np.isnan(rate), 0.0, lost))
