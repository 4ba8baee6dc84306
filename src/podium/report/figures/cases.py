"""Figures of single cases: every value, and every place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from podium.model import Direction, Floats
from podium.report.figures._frame import (
    FEW_POINTS,
    Bools,
    as_matrix,
    case_ranks,
    drawn,
    figure_width,
    key,
    label_rows,
    limits,
    looks_of,
    marks,
    measure_axis,
    row_height,
    text_size,
)
from podium.report.style import ALARM, FAINT, INK, OTHERS, PAPER, SOFT, Look

__all__ = ["dots_and_boxes", "podium_plot"]

_GOLDEN = (5**0.5 - 1) / 2
MOST_POINTS = 100_000
"""More cases than this are not drawn one by one, or a page could not hold them; its script draws those looked at."""
PLACES = 10
"""How many are shown of a case."""


@drawn
def dots_and_boxes(
    values: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    label: str = "",
    failed: npt.ArrayLike | None = None,
    failed_word: str = "failed",
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw every case of every submission as a dot, with quartiles, median and mean.

    Parameters
    ----------
    values
        Shape (submissions, cases), in the order of the leaderboard; NaN where there is no value.
    submissions
        Names.
    label
        Of the axis.
    failed, failed_word
        Which values stand for a failure, same shape, and what that is called; they are drawn as crosses.
    looks
        How submissions are shown, from `podium.report.style.looks`.
    """
    matrix = as_matrix(values, submissions)
    broken = np.zeros(matrix.shape, bool) if failed is None else np.asarray(failed, bool)
    shown = looks_of(submissions, looks)
    rows, cases = matrix.shape
    figure = Figure(figsize=(figure_width(), 0.75 + rows * row_height(rows) * 1.15), layout="constrained")
    axes = figure.subplots()
    crowded = matrix.size > MOST_POINTS
    measure_axis(axes, matrix, f"{label}; {matrix.size:,} cases, too many to be drawn one by one" if crowded else label)
    y = np.arange(rows)[:, None] + 0.30 * (2 * ((np.arange(cases) * _GOLDEN + 0.5) % 1) - 1)
    finite = np.isfinite(matrix)
    pixels = matrix.size > FEW_POINTS
    size = float(np.clip(90 / np.sqrt(max(cases, 1)), 2.5, 16))
    colours = to_rgba_array([look.colour for look in shown])
    good = finite & ~broken & (not crowded)
    axes.scatter(
        matrix[good],
        y[good],
        s=size,
        c=colours[np.nonzero(good)[0]],
        alpha=0.55,
        linewidths=0,
        zorder=3,
        rasterized=pixels,
        label="cases",
        gid="cases-measured",
    )
    crossed = finite & broken
    axes.scatter(
        matrix[crossed],
        y[crossed],
        s=size + 4,
        c=ALARM,
        marker="x",
        linewidths=0.9,
        zorder=4,
        rasterized=pixels,
        label="failed",
        gid="cases-failed",
    )
    _boxes(axes, matrix, shown)
    for row, (own, lost) in enumerate(zip(matrix, broken, strict=True)):
        remark = _remark(own, lost, failed_word)
        if not remark:
            continue
        axes.annotate(
            remark,
            (1, row),
            xytext=(4, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=max(text_size(rows) - 0.8, 6.0),
            color=SOFT,
            annotation_clip=False,
        )
    label_rows(axes, shown)
    return figure


def _boxes(axes: Axes, matrix: Floats, shown: Sequence[Look]) -> None:
    """Draw quartiles as a bar, whiskers as a line, the median as a stroke and the mean as a diamond."""
    whiskers, bars, medians, means = [], [], [], []
    for row, numbers in enumerate(matrix):
        known = numbers[np.isfinite(numbers)]
        if not known.size:
            continue
        low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
        reach = 1.5 * (high - low)
        inside = known[(known >= low - reach) & (known <= high + reach)]
        whiskers.append([(inside.min(), row), (inside.max(), row)])
        bars.append((row, low, high - low))
        medians.append([(middle, row - 0.33), (middle, row + 0.33)])
        means.append((known.mean(), row))
    colours = [shown[row].colour for row, *_ in bars]
    axes.add_collection(
        LineCollection(whiskers, colors=colours, linewidths=0.9, zorder=2, label="whiskers"), autolim=False
    )
    axes.barh(
        [row for row, *_ in bars],
        [width for *_, width in bars],
        left=[low for _, low, _ in bars],
        height=0.66,
        color=colours,
        alpha=0.22,
        linewidth=0,
        zorder=1,
    )
    axes.add_collection(LineCollection(medians, colors=INK, linewidths=1.5, zorder=5, label="medians"), autolim=False)
    if means:
        x, y = zip(*means, strict=True)
        axes.scatter(x, y, s=15, marker="D", c=PAPER, edgecolors=INK, linewidths=0.8, zorder=6, label="means")


def _remark(numbers: Floats, broken: Bools, failed_word: str) -> str:
    """Say what a row does not show, or shows as crosses."""
    counts = {
        failed_word: int(broken.sum()),
        "infinite": int((np.isinf(numbers) & ~broken).sum()),
        "without value": int((np.isnan(numbers) & ~broken).sum()),
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


@drawn
def podium_plot(
    values: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    direction: Direction,
    label: str = "",
    looks: Mapping[str, Look] | None = None,
    places: int = PLACES,
) -> Figure:
    """Draw for every case who took which place in it, and with what value; below, how often each took each place.

    Parameters
    ----------
    values
        Shape (submissions, cases); NaN takes no place.
    direction
        Which values are better.
    places
        How many places are shown at most.
    """
    matrix = as_matrix(values, submissions)
    shown = looks_of(submissions, looks)
    teams, cases = matrix.shape
    ranks = case_ranks(matrix, direction)
    shown_places = min(teams, places)
    figure = Figure(figsize=(figure_width(), 4.4 + max(0.015 * teams, 0.03 * teams - 0.6)), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2.4, 1])
    lane = 0.84 * ((np.arange(teams) + 0.5) / teams - 0.5)
    x = ranks + lane[:, None]
    visible = np.isfinite(matrix) & (ranks <= shown_places)
    pixels = matrix.size > FEW_POINTS
    lines = []
    for case in range(cases if matrix.size <= MOST_POINTS else 0):
        chosen = np.flatnonzero(visible[:, case])
        chosen = chosen[np.argsort(x[chosen, case])]
        if len(chosen) > 1:
            lines.append(np.column_stack([x[chosen, case], matrix[chosen, case]]))
    strength = float(np.clip(12 / max(cases, 1), 0.1, 0.6))
    upper.add_collection(
        LineCollection(
            lines, colors=OTHERS, linewidths=0.6, alpha=strength, zorder=1, rasterized=pixels, label="lines"
        ),
        autolim=False,
    )
    size = float(np.clip(90 / np.sqrt(max(cases, 1)), 3, 18))
    for team in range(teams):
        own = visible[team]
        marks(
            upper,
            x[team, own],
            matrix[team, own],
            gid=f"team-{shown[team].index}",
            size=size * 1.2,
            facecolors=shown[team].colour,
            marker=shown[team].marker,
            alpha=0.8,
            linewidths=0,
            zorder=3,
            rasterized=pixels,
            label=submissions[team],
        )
    upper.set_ylim(*limits(matrix[visible]))
    upper.set_ylabel(label)
    counts = np.stack([np.sum(ranks == place, axis=1) for place in range(1, shown_places + 1)], axis=1)
    who, place = np.nonzero(counts)
    half = 0.84 / teams * 0.48
    for team in np.unique(who).tolist():
        middles = place[who == team] + 1 + lane[team]
        boxes = [
            [(x - half, 0), (x - half, height), (x + half, height), (x + half, 0)]
            for x, height in zip(middles.tolist(), counts[team, place[who == team]].tolist(), strict=True)
        ]
        look = shown[team]
        bars = PolyCollection(boxes, facecolors=look.colour, linewidths=0, gid=f"team-{look.index}", label="bars")
        lower.add_collection(bars, autolim=False)
    lower.set_ylabel("cases")
    lower.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    lower.set_ylim(0, max(int(counts.max(initial=0)), 1) * 1.08)
    for axes in (upper, lower):
        axes.set_xlim(0.5, shown_places + 0.5)
        axes.vlines(
            np.arange(1, shown_places) + 0.5, 0, 1, transform=axes.get_xaxis_transform(), colors=FAINT, linewidths=0.7
        )
        axes.grid(visible=True, axis="y")
        axes.tick_params(axis="x", length=0)
    lower.set_xticks(range(1, shown_places + 1))
    lower.set_xlabel(
        "place in a case" if shown_places == teams else f"place in a case, the first {shown_places} of {teams}"
    )
    key(figure, shown)
    return figure
