"""What a page's script tells of a figure: where its axes lie, what they measure, and what stands where.

Values of cases are in the page anyway. A panel only says how they are laid out, so that no point is written twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.model import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = ["OF_CASES", "orders", "panels_of_figure", "points", "tell"]

OF_CASES = frozenset({"dots", "podium", "cells"})
"""Kinds of panels whose points are single cases."""


def tell(axes: Axes, kind: str, **facts: Any) -> None:
    """Say how the points of a panel are laid out; it is kept as the label of the axes, which nobody sees.

    Parameters
    ----------
    kind
        dots: a row for each submission, its cases along the axis. podium: places of cases. cells: cases in columns.
        shares: places in resamples. counts: places within cases. points: those that are given.
    facts
        What the kind needs, see `figures.js`.
    """
    axes.set_label(json.dumps({"kind": kind, **facts}, separators=(",", ":"), ensure_ascii=False))


def points(
    axes: Axes, x: Floats, y: Floats, *, teams: Sequence[int], says: Sequence[str], measured: str, **facts: Any
) -> None:
    """Say where the points of a panel stand, whose they are and what they mean; NaN is no point.

    Parameters
    ----------
    teams
        By their index on the leaderboard.
    measured
        Which axes are scales of values: x, y or both.
    facts
        criterion: which one this panel is about. named: whether a name is written beside the points of who is chosen.
    """
    shown = np.flatnonzero(~np.isnan(x) & ~np.isnan(y)).tolist()
    first, last = sorted(axes.get_xlim())
    low, high = sorted(axes.get_ylim())
    tell(
        axes,
        "points",
        at=[
            [_short(np.clip(x[index], first, last)), _short(np.clip(y[index], low, high)), teams[index], says[index]]
            for index in shown
        ],
        measured=measured,
        **facts,
    )


def orders(ranks: Floats, places: int) -> list[list[int | list[int]]]:
    """Return for each case who took which place, from the first on; those who share one are a list of their own.

    Parameters
    ----------
    ranks
        Shape (submissions, cases), NaN where there is none.
    places
        How many places are shown.

    Examples
    --------
    >>> orders(np.array([[2.0, 1.0], [1.0, 1.0], [3.0, 3.0]]), 2)
    [[1, 0], [[0, 1]]]
    """
    result = []
    for column in ranks.T:
        taken = np.unique(column[column <= places])
        groups = [np.flatnonzero(column == place).tolist() for place in taken]
        result.append([group if len(group) > 1 else group[0] for group in groups])
    return result


def panels_of_figure(figure: Figure) -> list[dict[str, Any]]:
    """Return the panels of a figure of which something was told: their box in its SVG, their scales, and the rest."""
    width, height = (72 * float(inches) for inches in figure.get_size_inches())
    panels = []
    for axes in figure.axes:
        if not str(axes.get_label()).startswith("{"):
            continue
        box = axes.get_position()
        edges = box.x0 * width, (1 - box.y1) * height, box.x1 * width, (1 - box.y0) * height
        scales = {
            "x": _scale(axes.xaxis, axes.get_xlim(), axes.get_xscale()),
            "y": _scale(axes.yaxis, axes.get_ylim(), axes.get_yscale()),
        }
        panels.append({"box": [round(edge, 3) for edge in edges], **scales, **json.loads(str(axes.get_label()))})
    return panels


def _scale(axis: Axis, ends: tuple[float, float], name: str) -> list[Any]:
    """Return both ends of an axis; then log, or symlog with the end of its linear part and how long that is drawn."""
    scale: list[Any] = [_short(end) for end in ends]
    if name == "symlog":
        transform: Any = axis.get_transform()
        return [*scale, name, _short(transform.linthresh), transform.linscale]
    return scale if name == "linear" else [*scale, name]


def _short(number: float) -> float:
    """Return a number with nine digits: far less than a pixel."""
    return float(f"{number:.9g}")
