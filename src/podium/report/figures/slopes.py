"""The figure of places in several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from podium.report.figures._frame import WIDTH, as_matrix, drawn, looks_of, row_height, text_size
from podium.report.style import GRID, INK, PAPER, SOFT, Look

__all__ = ["slope_chart"]


@drawn
def slope_chart(
    places: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    runs: Sequence[str],
    certain: Sequence[str] = (),
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw the place of each submission in each of several runs, one run a column, and a line from each to the next.

    Parameters
    ----------
    places
        Shape (submissions, runs); NaN where there is none.
    submissions, runs
        Names.
    certain
        Those whose move is beyond noise, whose lines are bold.
    """
    matrix = as_matrix(places, submissions)
    shown = looks_of(submissions, looks)
    most = int(np.nanmax(matrix, initial=1))
    heights = _apart(matrix)
    lowest = float(np.nanmax(heights, initial=1.0))
    figure = Figure(figsize=(WIDTH, 0.9 + lowest * max(row_height(most), 0.24)), layout="constrained")
    axes = figure.subplots()
    columns = np.arange(len(runs), dtype=float)
    axes.vlines(columns, 0.5, lowest + 0.5, colors=GRID, linewidths=0.8, zorder=0)
    size = text_size(most)
    for row, (name, look) in enumerate(zip(submissions, shown, strict=True)):
        known = np.flatnonzero(np.isfinite(heights[row]))
        gid, bold = f"team-{look.index}", name in certain
        style: dict[str, Any] = {"color": look.colour, "gid": gid}
        for start, end in pairwise(known.tolist()):
            dashes = "-" if end == start + 1 else (0, (2, 3))  # it was not there in between
            wide = 2.4 if bold else 1.1
            axes.plot([start, end], heights[row, [start, end]], linestyle=dashes, linewidth=wide, zorder=2, **style)
        marks: dict[str, Any] = {"linestyle": "", "marker": look.marker, "markersize": 5.2, "markeredgecolor": PAPER}
        axes.plot(columns[known], heights[row, known], markeredgewidth=0.6, zorder=3, **marks, **style)
        ends = [(0, "right"), (len(runs) - 1, "left")]
        if not {0, len(runs) - 1} & set(known.tolist()):  # it came and went in between
            ends = [(column, "left") for column in known[-1:].tolist()]
        for column, side in ends:
            if column in known:
                place, gap = f"{matrix[row, column]:.0f}", "\u2002"
                label = f"{look.label}{gap}{place}" if side == "right" else f"{place}{gap}{look.label}"
                axes.annotate(
                    label,
                    (column, heights[row, column]),
                    xytext=(-9 if side == "right" else 9, 0),
                    textcoords="offset points",
                    ha=side,
                    va="center",
                    fontsize=size,
                    color=INK,
                    weight="bold" if bold else "normal",
                    gid=gid,
                    annotation_clip=False,
                )
    axes.set_xlim(-0.05, len(runs) - 0.95)
    axes.set_ylim(lowest + 0.6, 0.4)
    axes.set_yticks([])
    axes.set_xticks(columns, runs)
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", length=0, labelcolor=SOFT, labelsize=8.5)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def _apart(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return where marks stand: at their places, but for those who share one, which follow one another."""
    heights = matrix.copy()
    for column in heights.T:
        for place in np.unique(column[np.isfinite(column)]):
            rows = np.flatnonzero(column == place)
            column[rows] = place + np.arange(len(rows))
    return heights
