"""What pictures of metrics share: a white card that is readable on any page, masks as shapes, quotients as bars."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from podium.model import Metric
from podium.report.style import GRID, INK, PALETTE, PAPER, SOFT

__all__ = [
    "BOTH",
    "FALSE",
    "PREDICTION",
    "REFERENCE",
    "Drawn",
    "Part",
    "bars",
    "card",
    "equation",
    "heading",
    "key",
    "mask_axes",
    "outline",
    "plain",
    "plot_axes",
    "quotient",
    "shape",
    "with_unit",
]

REFERENCE, PREDICTION, BOTH, FALSE = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[5]
WIDTH, HEIGHT = 6.6, 2.9
_STEPS = {(-1, 0): ((0, 0), (0, 1)), (0, 1): ((0, 1), (1, 1)), (1, 0): ((1, 1), (1, 0)), (0, -1): ((1, 0), (0, 0))}
"""By the neighbour that is outside: the side of a pixel, walked with the pixel to the right."""

Mask = npt.NDArray[np.bool_]


class Drawn(NamedTuple):
    """A figure, and what it shows, in a sentence or two."""

    figure: Figure
    caption: str


class Part(NamedTuple):
    """A piece of a bar: its name, length and colour."""

    name: str
    length: float
    colour: str


def card(*, height: float = HEIGHT) -> Figure:
    """Return an empty figure: a white card with round corners, so that it is readable on a dark page too."""
    figure = Figure(figsize=(WIDTH, height), facecolor="none")
    inset = 0.004
    background = FancyBboxPatch(
        (inset, inset * WIDTH / height),
        1 - 2 * inset,
        1 - 2 * inset * WIDTH / height,
        boxstyle="round,pad=0,rounding_size=0.02",
        mutation_aspect=WIDTH / height,
        facecolor=PAPER,
        edgecolor=GRID,
        linewidth=0.8,
        transform=figure.transFigure,
        zorder=-10,
    )
    figure.add_artist(background)
    return figure


def mask_axes(figure: Figure, shape: tuple[int, int], place: tuple[float, float, float, float]) -> Axes:
    """Return axes for an image of that many rows and columns, with a faint frame and without ticks."""
    axes = figure.add_axes(place)
    rows, columns = shape
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal", xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, color=GRID)
    return axes


def plot_axes(figure: Figure, place: tuple[float, float, float, float], *, x: str = "", y: str = "") -> Axes:
    """Return axes of a plot, with the names of both."""
    axes = figure.add_axes(place)
    axes.set(xlabel=x, ylabel=y)
    axes.tick_params(length=2, labelcolor=SOFT)
    axes.xaxis.label.set_color(SOFT)
    axes.yaxis.label.set_color(SOFT)
    return axes


def outline(mask: Mask) -> Path:
    """Return the edges of the pixels of a mask as closed lines, in the coordinates of an image."""
    after: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    padded = np.pad(mask, 1)
    for (down, right), (start, end) in _STEPS.items():
        outside = ~np.roll(padded, (-down, -right), (0, 1))[1:-1, 1:-1]
        for row, column in np.argwhere(mask & outside).tolist():
            after[row + start[0], column + start[1]].append((row + end[0], column + end[1]))
    vertices: list[tuple[float, float]] = []
    codes: list[Any] = []  # Matplotlib's own numbers
    while after:
        first = place = next(iter(after))
        codes.append(Path.MOVETO)
        vertices.append((first[1] - 0.5, first[0] - 0.5))
        while True:
            following = after[place].pop()
            if not after[place]:
                del after[place]
            place = following
            closed = place == first
            codes.append(Path.CLOSEPOLY if closed else Path.LINETO)
            vertices.append((place[1] - 0.5, place[0] - 0.5))
            if closed:
                break
    return Path(vertices or [(0.0, 0.0)], codes or [Path.MOVETO])


def shape(axes: Axes, mask: Mask, colour: str, *, alpha: float = 0.0, line: float = 0.0, **style: Any) -> None:
    """Draw a mask: filled as much as `alpha` says, its outline as wide as `line`."""
    path = outline(mask)
    if alpha:
        axes.add_patch(PathPatch(path, facecolor=colour, edgecolor="none", alpha=alpha, **style))
    if line:
        axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, linewidth=line, joinstyle="miter", **style))


def key(axes: Axes, entries: Sequence[tuple[str, str]], *, y: float = 1.03) -> None:
    """Name colours in a row above axes; each entry is as wide as its name."""
    axes.apply_aspect()
    inch = 1 / (axes.get_position().width * WIDTH)
    x = 0.0
    for name, colour in entries:
        axes.text(x, y, "■", color=colour, transform=axes.transAxes, va="bottom", fontsize=8)
        axes.text(x + 0.13 * inch, y, name, color=INK, transform=axes.transAxes, va="bottom", fontsize=7.5)
        x += (0.3 + 0.062 * len(name)) * inch


def heading(axes: Axes, text: str) -> None:
    """Write a line above axes."""
    axes.text(0, 1.03, text, transform=axes.transAxes, va="bottom", fontsize=8.5, fontweight="bold", color=INK)


def bars(axes: Axes, rows: Sequence[Sequence[Part]], *, whole: float | None = None) -> None:
    """Draw each row as pieces side by side on one scale, with their names and lengths beneath."""
    most = whole or max(sum(part.length for part in row) for row in rows)
    axes.set(xlim=(0, most * 1.02), ylim=(len(rows) - 0.1, -0.5))
    axes.set_axis_off()
    for number, row in enumerate(rows):
        start = 0.0
        for part in row:
            axes.add_patch(
                Rectangle((start, number - 0.3), part.length, 0.34, facecolor=part.colour, edgecolor=PAPER, linewidth=1)
            )
            text = f"{part.name} = {plain(part.length)}" if part.name else ""
            axes.text(start, number + 0.1, text, fontsize=7.5, color=INK, va="top")
            start += part.length


def quotient(figure: Figure, above: Sequence[Part], below: Sequence[Part], result: str) -> None:
    """Draw a quotient on the right side: what is counted above what it is counted of, and the result."""
    axes = figure.add_axes((0.55, 0.36, 0.41, 0.5))
    bars(axes, [above, below])
    equation(figure, result)


def equation(figure: Figure, text: str) -> None:
    """Write the result in the lower right corner."""
    size = 9.5 if len(text) < 34 else 8.2
    figure.text(0.55, 0.12, text, fontsize=size, color=INK, fontweight="bold", va="bottom")


def plain(value: float) -> str:
    """Return a number with at most four digits that count, as people write it.

    Examples
    --------
    >>> plain(0.69421), plain(1234567.0), plain(float("inf")), plain(-0.5)
    ('0.6942', '1,234,567', '∞', '−0.5')
    """
    if not np.isfinite(value):
        return "undefined" if np.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


def with_unit(metric: Metric[..., Any], value: float) -> str:
    """Return a value of a metric with its unit."""
    return f"{plain(value)} {metric.unit}".strip()
