"""Figures of means: with intervals, and against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from podium.model import Direction, Floats, InputError, Role
from podium.report.figures._frame import (
    Bools,
    drawn,
    figure_width,
    label_rows,
    limits,
    looks_of,
    marks,
    measure_axis,
    narrow,
    nudged,
    oriented,
)
from podium.report.figures._side_by_side import competing, decisive, draw_intervals, heading, panels_of
from podium.report.style import INK, PAPER, SOFT, Look

__all__ = ["accuracy_runtime", "forest_plot"]


@drawn
def forest_plot(
    estimate: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    labels: Sequence[str],
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw values with their intervals, one panel a column of the leaderboard.

    Parameters
    ----------
    estimate, low, high
        Shape (columns, submissions). An infinite end is drawn as an arrow, NaN as none.
    submissions
        Names, in the order of the leaderboard.
    labels
        Of the columns.
    """
    middle, left, right = (np.asarray(numbers, np.float64) for numbers in (estimate, low, high))
    shown = looks_of(submissions, looks)
    if middle.shape != (len(labels), len(shown)) or left.shape != middle.shape or right.shape != middle.shape:
        raise InputError(f"values have shape {middle.shape}, not ({len(labels)}, {len(shown)})")
    if not middle.size:
        raise InputError("there is nothing to draw")
    figure, panels = panels_of(len(shown), len(labels))
    for column, (axes, label) in enumerate(zip(panels, labels, strict=True)):
        measure_axis(axes, decisive(middle[column], left[column], right[column], shown), many=len(labels) < 2)
        draw_intervals(axes, middle[column], left[column], right[column], shown)
        heading(axes, label, len(panels))
        if np.isfinite(middle[column, 0]):
            axes.axvline(middle[column, 0], color=shown[0].colour, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
    label_rows(panels[0], shown)
    return figure


@drawn
def accuracy_runtime(
    seconds: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    direction: Direction,
    label: str = "",
    time_label: str = "seconds per case ↓",
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw how good submissions are against how long they take, with those whom nobody beats in both.

    Parameters
    ----------
    seconds, values
        One of each for every submission; NaN where no time was reported, or there is no value.
    direction
        Which values are better.
    """
    time, good = (np.asarray(numbers, np.float64) for numbers in (seconds, values))
    shown = looks_of(submissions, looks)
    if time.shape != (len(shown),) or good.shape != time.shape:
        raise InputError(f"there are {time.shape} times and {good.shape} values of {len(shown)} submissions")
    known = np.isfinite(time) & np.isfinite(good)
    figure = Figure(figsize=(figure_width(), 3.2 if narrow() else 4.4), layout="constrained")
    axes = figure.subplots()
    front = pareto_front(time, oriented(good, direction), among=known & competing(shown))
    _time_axis(axes, time[known])
    compared = good[(competing(shown) | known) & np.isfinite(good)]
    bottom, top = limits(compared if compared.size else good, margin=0.08)
    axes.set_ylim(bottom, top)
    if front.size:
        _, right = axes.get_xlim()
        edge = bottom if direction is Direction.HIGHER else top
        x = np.concatenate([[time[front[0]]], np.repeat(time[front[1:]], 2), [right]])
        y = np.concatenate([np.repeat(good[front[:-1]], 2), np.repeat(good[front[-1]], 2)])
        axes.plot(
            np.concatenate([x[:1], x]), np.concatenate([[edge], y]), color=INK, linewidth=1.0, zorder=1, label="front"
        )
    for index in np.flatnonzero(known).tolist():
        look = shown[index]
        ranked = look.role is Role.COMPETITOR
        marks(
            axes,
            time[index],
            good[index],
            label=submissions[index],
            gid=f"team-{look.index}",
            size=42 if index in front else 28,
            marker=look.marker if ranked else "D",
            facecolors=look.colour if ranked else PAPER,
            edgecolors=INK if index in front else look.colour,
            linewidths=1.0,
            zorder=4 if look.highlighted else 3,
        )
    _names(
        axes,
        time,
        good,
        [index for index in np.flatnonzero(known).tolist() if _worth_naming(shown, index, front)],
        shown,
    )
    untimed = np.flatnonzero(np.isfinite(good) & ~np.isfinite(time))
    if untimed.size:
        _rug(axes, good[untimed], [shown[index] for index in untimed])
    axes.set_xlabel(time_label)
    axes.set_ylabel(label)
    axes.grid(visible=True)
    handles = [Line2D([], [], color=INK, linewidth=1.0, label="nobody is both better and faster")]
    if untimed.size:
        handles.append(Line2D([], [], color=SOFT, marker="_", linestyle="", markersize=9, label="no time reported"))
    figure.legend(handles=handles, loc="outside upper left", ncols=1 if narrow() else 2)
    return figure


def pareto_front(time: Floats, good: Floats, *, among: Bools) -> npt.NDArray[np.intp]:
    """Return those whom nobody beats: none is at least as fast and as good and in one of both better; by time.

    Parameters
    ----------
    time
        Smaller is better.
    good
        Larger is better.
    among
        Who counts; their values are finite.
    """
    members = np.flatnonzero(among)
    order = members[np.lexsort((-good[members], time[members]))]
    kept: list[int] = []
    for index in order:
        equal = bool(kept) and good[index] == good[kept[-1]] and time[index] == time[kept[-1]]
        if not kept or good[index] > good[kept[-1]] or equal:
            kept.append(int(index))
    return np.array(kept, np.intp)


def _worth_naming(shown: Sequence[Look], index: int, front: npt.NDArray[np.intp]) -> bool:
    return len(shown) <= 15 or shown[index].highlighted or index in front or shown[index].role is not Role.COMPETITOR


def _time_axis(axes: Axes, time: Floats) -> None:
    positive = time[time > 0]
    if positive.size == time.size and positive.size and positive.max() > 8 * positive.min():
        axes.set_xscale("log")
        axes.set_xlim(positive.min() / 1.35, positive.max() * 1.8)
        axes.xaxis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0) if positive.max() < 1e3 * positive.min() else (1.0,))
        )
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        low, high = limits(time, margin=0.12)
        axes.set_xlim(max(low, 0.0) if time.size and time.min() >= 0 else low, high + 0.1 * (high - low))
        axes.xaxis.set_major_locator(MaxNLocator(7))


def _names(axes: Axes, x: Floats, y: Floats, chosen: Sequence[int], shown: Sequence[Look]) -> None:
    """Write names beside points, moved apart from one another where points are close."""
    if not chosen:
        return
    to_share = axes.transScale + axes.transLimits
    spots = to_share.transform(np.column_stack([x[list(chosen)], y[list(chosen)]]))
    right = spots[:, 0] > 0.72
    heights = spots[:, 1].copy()
    for side in (False, True):
        own = right == side
        heights[own] = nudged(spots[own, 1], 0.036, beside=spots[own, 0])
    for index, spot, height, flipped in zip(chosen, spots, heights, right, strict=True):
        look = shown[index]
        axes.annotate(
            look.label,
            (spot[0], height),
            xytext=(-5 if flipped else 5, 3),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right" if flipped else "left",
            va="bottom",
            fontsize=7,
            color=INK,
            zorder=5,
            gid=f"team-{look.index}",
        )


def _rug(axes: Axes, values: Floats, shown: Sequence[Look]) -> None:
    """Mark values without a time at the right edge; those outside the axis by an arrow."""
    low, high = axes.get_ylim()
    heights = np.clip((values - low) / (high - low), 0.0, 1.0)
    spots = nudged(heights, 0.036)
    for value, height, spot, look in zip(values, heights, spots, shown, strict=True):
        axes.plot([0.985, 1.0], [height, height], transform=axes.transAxes, color=look.colour, linewidth=1.6, zorder=2)
        if len(shown) <= 12:
            beyond = " ↓" if value < low else " ↑" if value > high else ""
            axes.annotate(
                look.label + beyond,
                (1, spot),
                xytext=(4, 0),
                xycoords="axes fraction",
                textcoords="offset points",
                va="center_baseline",
                fontsize=7,
                color=SOFT,
                annotation_clip=False,
            )
