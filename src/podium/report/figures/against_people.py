"""The figure of algorithms against people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from podium.model import Direction, Floats, InputError
from podium.ranking import mean_intervals
from podium.ranking.inference.variability import compared_with_people, within_variability
from podium.report.figures._frame import drawn, label_rows, looks_of, measure_axis
from podium.report.figures._side_by_side import decisive, draw_intervals, heading, panels_of
from podium.report.style import GRID, INK, PAPER, SOFT, Look

__all__ = ["Band", "band_of", "people_band"]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """What people reach in one measure, and how submissions compare with it.

    Attributes
    ----------
    people
        The mean of people, and the ends of its interval.
    mean, low, high
        Of each submission.
    within
        1 where a submission is within the variability of people, 0 where it is worse, NaN where that is not known.
    """

    people: tuple[float, float, float]
    mean: Floats
    low: Floats
    high: Floats
    within: Floats


def band_of(
    values: npt.ArrayLike,
    people: npt.ArrayLike,
    *,
    direction: Direction,
    clusters: Sequence[str] | None = None,
    level: float = 0.95,
    seed: int = 1,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Band:
    """Compare submissions with people, case by case; see `within_variability`.

    Parameters
    ----------
    values
        Shape (submissions, cases); NaN where there is no value.
    people
        Shape (cases,).
    direction
        Which values are better.
    clusters
        What each case is drawn with.
    level, seed
        Of the intervals.
    bounds
        Of the measure.
    """
    matrix, own = np.atleast_2d(np.asarray(values, np.float64)), np.asarray(people, np.float64)
    ends = _intervals(own[None], clusters=clusters, level=level, seed=seed)
    names = [str(case) for case in range(matrix.shape[1])] if clusters is None else list(clusters)
    verdicts = [
        within_variability(compared_with_people(row, own, clusters=names, level=level, bounds=bounds), direction)
        for row in matrix
    ]
    within = np.array([np.nan if verdict is None else float(verdict) for verdict in verdicts])
    own_mean, own_low, own_high = _intervals(matrix, clusters=clusters, level=level, seed=seed)
    return Band((ends[0].item(), ends[1].item(), ends[2].item()), own_mean, own_low, own_high, within)


def _intervals(
    rows: Floats, *, clusters: Sequence[str] | None, level: float, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Return means with intervals over the finite values of each row; NaN where there are too few for them."""
    mean, low, high = np.full((3, len(rows)), np.nan)
    finite = np.isfinite(rows)
    names = np.array([str(case) for case in range(rows.shape[1])] if clusters is None else list(clusters), object)
    for pattern in np.unique(finite, axis=0):
        members = np.flatnonzero((finite == pattern).all(axis=1))
        if not pattern.any():
            continue
        mean[members] = rows[members][:, pattern].mean(axis=1)
        if len(set(names[pattern])) > 1:
            intervals = mean_intervals(
                rows[members][:, pattern], clusters=list(names[pattern]), level=level, seed=seed, replicates=2000
            )
            low[members], high[members] = intervals.low, intervals.high
    return mean, low, high


@drawn
def people_band(
    bands: Sequence[Band],
    *,
    submissions: Sequence[str],
    labels: Sequence[str],
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw algorithms against people: means with intervals, and the band that people's own agreement spans.

    Parameters
    ----------
    bands
        One for each measure.
    submissions
        Names, in the order of the leaderboard.
    labels
        Of the measures.
    """
    shown = looks_of(submissions, looks)
    if not bands or not shown:
        raise InputError("there is nothing to draw")
    figure, panels = panels_of(len(shown), len(bands))
    for axes, band, label in zip(panels, bands, labels, strict=True):
        ends = list(band.people)
        everything = decisive(band.mean, band.low, band.high, shown)
        measure_axis(axes, np.concatenate([everything, ends]), many=len(bands) < 2)
        first, last = axes.get_xlim()
        if np.isfinite(ends[0]):
            left, right = (
                edge if not np.isfinite(end) else end for end, edge in zip(ends[1:], (first, last), strict=True)
            )
            axes.axvspan(left, right, color=GRID, linewidth=0, zorder=0.2)
            axes.axvline(ends[0], color=INK, linewidth=1.0, zorder=1)
        draw_intervals(axes, band.mean, band.low, band.high, shown, hollow=band.within == 0)
        heading(axes, label, len(panels))
    label_rows(panels[0], shown)
    handles = [
        Line2D([], [], color=INK, linewidth=1.0, label="people, mean"),
        Patch(color=GRID, label="and its 95 % interval"),
        Line2D([], [], color=SOFT, marker="o", linestyle="", markersize=5, label="within people's variability"),
        Line2D(
            [], [], color=SOFT, marker="o", markerfacecolor=PAPER, linestyle="", markersize=5, label="worse than people"
        ),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=4)
    return figure
