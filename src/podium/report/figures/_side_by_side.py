"""Panels side by side that share their rows: values with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure

from podium.model import Floats, Role
from podium.report.figures._frame import WIDTH, Bools, figure_width, guides, row_height
from podium.report.style import Look

__all__ = ["competing", "decisive", "draw_intervals", "heading", "panels_of"]


REACH = 1.5
"""How far intervals may stretch an axis: so many times the spread of values, or the length of most intervals."""


def decisive(middle: Floats, low: Floats, high: Floats, shown: Sequence[Look]) -> Floats:
    """Return the numbers that an axis must hold: those of competitors, if there are any; others may lie outside.

    So may the end of an interval that is far longer than most, which would leave the others no room.
    """
    everything = np.stack([middle, low, high])
    own = everything[:, competing(shown)]
    own = own if np.isfinite(own).any() else everything
    values, lengths = own[0][np.isfinite(own[0])], own[2] - own[1]
    lengths = lengths[np.isfinite(lengths)]
    if not values.size or not lengths.size:
        return own.ravel()
    room = REACH * max(float(np.ptp(values)), float(np.median(lengths)))
    if not room:
        return own.ravel()
    return np.clip(own, values.min() - room, values.max() + room).ravel()


def panels_of(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(figure_width(), 0.85 + rows * row_height(rows)), layout="constrained")
    panels = list(figure.subplots(1, columns, sharey=True, squeeze=False)[0])
    for axes in panels:
        guides(axes, rows)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    return figure, panels


def heading(axes: Axes, label: str, panels: int) -> None:
    axes.set_title(_wrapped(label, int(60 * figure_width() / WIDTH) // panels), fontsize=8)


def _wrapped(label: str, width: int) -> str:
    """Break a heading into lines of about this length; an arrow or a unit stays with what it belongs to."""
    lines = [""]
    for word in label.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width and len(word) > 2:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def draw_intervals(
    axes: Axes, middle: Floats, low: Floats, high: Floats, shown: Sequence[Look], hollow: Bools | None = None
) -> None:
    """Draw a line and a marker in each row; where a line has no end, an arrow at the edge."""
    first, last = axes.get_xlim()
    with np.errstate(invalid="ignore"):
        low, high = np.where(low < first, -np.inf, low), np.where(high > last, np.inf, high)
    inside = (np.where(np.isneginf(low), first, low), np.where(np.isposinf(high), last, high))
    known = np.flatnonzero(np.isfinite(middle) & np.isfinite(inside[0]) & np.isfinite(inside[1])).tolist()
    lines = [[(inside[0][row], row), (inside[1][row], row)] for row in known]
    strokes = [look.colour for look in shown]
    axes.add_collection(
        LineCollection(lines, colors=[strokes[row] for row in known], linewidths=1.6, zorder=2, label="intervals"),
        autolim=False,
    )
    for ends, edge, marker in ((np.isneginf(low), first, "<"), (np.isposinf(high), last, ">")):
        unknown = np.flatnonzero(ends & np.isfinite(middle)).tolist()
        if unknown:
            arrows = [strokes[row] for row in unknown]
            axes.scatter([edge] * len(unknown), unknown, s=18, marker=marker, c=arrows, zorder=3, clip_on=False)
    colours = to_rgba_array(strokes)
    ranked, marks = competing(shown), np.array([look.marker for look in shown])
    faces = np.where((ranked & ~(np.zeros(len(shown), bool) if hollow is None else hollow))[:, None], colours, 1.0)
    with np.errstate(invalid="ignore"):
        before, after = middle < first, middle > last
    held = np.isfinite(middle) & ~before & ~after
    at_edge = np.where(before, first, last)
    for chosen, x, marker in (
        *((held & ranked & (marks == mark), middle, mark) for mark in dict.fromkeys(marks[ranked].tolist())),
        (held & ~ranked, middle, "D"),
        (before & np.isfinite(middle), at_edge, "<"),
        (after & np.isfinite(middle), at_edge, ">"),
    ):
        rows = np.flatnonzero(chosen).tolist()
        if rows:
            axes.scatter(
                x[rows],
                rows,
                s=22,
                marker=marker,
                c=faces[rows],
                edgecolors=[strokes[row] for row in rows],
                linewidths=1.1,
                zorder=4,
                clip_on=False,
            )


def competing(shown: Sequence[Look]) -> Bools:
    return np.array([look.role is Role.COMPETITOR for look in shown])
