"""What figures share: rows of submissions with their places, limits that suit the values, legends beside the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec
from unicodedata import bidirectional, east_asian_width

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import IdentityTransform, ScaledTranslation

from podium.model import Direction, Floats, InputError, Role
from podium.ranking import competition_ranks
from podium.report.style import ACCENT, ALARM, FAINT, GRID, INK, SOFT, Look, drawing, laid_out, looks

__all__ = [
    "FEW_POINTS",
    "WIDTH",
    "as_matrix",
    "as_wide_as",
    "case_ranks",
    "correlation_map",
    "drawn",
    "figure_width",
    "frame",
    "guides",
    "key",
    "label_columns",
    "label_rows",
    "limits",
    "looks_of",
    "marks",
    "measure_axis",
    "most_inches",
    "narrow",
    "nudged",
    "oriented",
    "place_axis",
    "row_height",
    "share_map",
    "text_size",
]

P = ParamSpec("P")
Bools = npt.NDArray[np.bool_]

WIDTH = 7.2
"""Of every figure, in inches, unless it is drawn for a column of a paper."""
_WIDEST = 11.0
"""Of a figure of many on a page."""
_GIVEN: ContextVar[float | None] = ContextVar("width", default=None)
FAR = 20
"""A value so many times the median makes an axis logarithmic."""
MEASURED = 8
"""How many of the longest names are measured for the layout."""
FEW_POINTS = 600
"""More points than this are drawn as pixels, so that files stay small."""


def drawn(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw in Podium's style, and lay out once, so that all files of a figure agree."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with drawing():
            return laid_out(function(*args, **kwargs))

    return inside


def figure_width() -> float:
    """Return how many inches a figure has from side to side."""
    return _GIVEN.get() or WIDTH


def most_inches() -> float:
    """Return how wide a figure may be that shows many: more than others on a page, never more than a paper's column."""
    return _GIVEN.get() or _WIDEST


def narrow() -> bool:
    """Return whether a figure is drawn for less than the width of a page."""
    return figure_width() < WIDTH


@contextmanager
def as_wide_as(inches: float) -> Iterator[None]:
    """Draw figures that are so wide, such as a column of a paper."""
    token = _GIVEN.set(inches)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def as_matrix(values: npt.ArrayLike, submissions: Sequence[str]) -> Floats:
    """Return values of shape (submissions, cases), checked."""
    matrix = np.asarray(values, np.float64)
    if not submissions:
        raise InputError("there is nobody to draw")
    if matrix.ndim != 2 or len(matrix) != len(submissions):
        raise InputError(f"values have shape {matrix.shape}, not ({len(submissions)}, cases)")
    if not matrix.size:
        raise InputError("there is no case to draw")
    return matrix


def looks_of(submissions: Sequence[str], given: Mapping[str, Look] | None) -> list[Look]:
    """Return how each submission is shown; by default as competitors in this order."""
    known = looks(submissions) if given is None else given
    return [known[name] for name in submissions]


def oriented(values: Floats, direction: Direction) -> Floats:
    """Return values of which larger ones are better."""
    if direction is Direction.LOWER:
        return -values
    return -np.abs(values) if direction is Direction.ZERO else values


def case_ranks(matrix: Floats, direction: Direction) -> Floats:
    """Return the place of each in each case, shape (submissions, cases); NaN where there is no value."""
    ranks = competition_ranks(oriented(matrix, direction).T, direction=Direction.HIGHER).T
    return np.where(np.isnan(matrix), np.nan, ranks)


def row_height(rows: int) -> float:
    """Return how many inches a row gets: less where there are many."""
    return float(np.clip(6.6 / max(rows, 1), 0.175, 0.34))


def text_size(rows: int) -> float:
    """Return the size of the names of rows."""
    return float(np.clip(row_height(rows) * 36, 6.3, 8.5))


def label_rows(axes: Axes, shown: Sequence[Look], *, size: float | None = None) -> None:
    """Name the rows from the top, with the place and the mark of each beside the axis.

    They are plain texts: forty ticks take five times as long to make, to lay out and to draw.
    """
    rows = len(shown)
    places = ["–" if look.place is None else str(look.place) for look in shown]
    width = max(map(len, places), default=1)
    if all(look.place is None for look in shown):
        labels = [look.label for look in shown]
    else:
        # Figure spaces are as wide as figures, and unlike others never merged into one.
        labels = [
            f"{_aside(look.label)}\u2002{place:\u2007>{width}}" for look, place in zip(shown, places, strict=True)
        ]
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_yticks([])
    mark, name = (axes.get_yaxis_transform() + _moved(axes, -points, 0) for points in (7, 12))
    style: dict[str, Any] = {"ha": "right", "va": "center_baseline", "fontsize": size or text_size(rows)}
    for row, (look, label) in enumerate(zip(shown, labels, strict=True)):
        colour = INK if look.role is Role.COMPETITOR else SOFT
        weight = "bold" if look.focus else "normal"
        axes.text(0, row, label, transform=name, color=colour, weight=weight, gid=f"row-{look.index}", **style)
        drawn: dict[str, Any] = {"marker": look.marker, "markersize": 4.2, "markeredgewidth": 0.8, "color": look.colour}
        line = Line2D([0], [row], transform=mark, clip_on=False, linestyle="", gid=f"team-{look.index}", **drawn)
        line.set_in_layout(False)
        axes.add_artist(line)
    _longest_in_layout(axes.texts[-rows:])
    axes.spines["left"].set_visible(False)


def _longest_in_layout(texts: Sequence[Text]) -> None:
    """Let only the few longest of many names, by their signs, count for the layout: to measure a text takes long."""
    wide = sorted(texts, key=lambda text: (text.get_fontweight() == "bold", _columns(text.get_text())))
    for text in wide[:-MEASURED]:
        text.set_in_layout(False)


def _columns(label: str) -> float:
    return sum(2.0 if east_asian_width(sign) in "WF" else 0.6 if sign in "iljtf.,'|! " else 1.0 for sign in label)


def _aside(label: str) -> str:
    """Return a name between marks that keep one that is written from the right apart from what follows it."""
    return f"\u200e{label}\u200e" if any(bidirectional(sign) in ("R", "AL", "AN") for sign in label) else label


def _moved(axes: Axes, x: float, y: float) -> ScaledTranslation:
    """Return a way of so many points."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return ScaledTranslation(x / 72, y / 72, figure.dpi_scale_trans)


def label_columns(axes: Axes, shown: Sequence[Look]) -> None:
    """Name the columns along the top, upwards."""
    axes.set_xticks([])
    above = axes.get_xaxis_transform() + _moved(axes, 0, 4)
    style: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": text_size(len(shown))}
    for column, look in enumerate(shown):
        axes.text(column, 1, look.label, transform=above, color=SOFT, gid=f"team-{look.index}", **style)
    _longest_in_layout(axes.texts[-len(shown) :])


def guides(axes: Axes, rows: int) -> None:
    """Draw a faint line along each row."""
    axes.hlines(np.arange(rows), 0, 1, transform=axes.get_yaxis_transform(), colors=GRID, linewidths=0.6, zorder=0)


def limits(values: npt.ArrayLike, *, margin: float = 0.04) -> tuple[float, float]:
    """Return limits of an axis that shows all finite values; around a constant, and where there is nothing, too."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if low == high == 0:  # half of what is around it, there may not be
        high = 1.0
    spread = high - low
    if spread <= 1e-9 * max(abs(low), abs(high)):
        spread = abs(high)
    return low - margin * spread, high + margin * spread


def measure_axis(axes: Axes, values: npt.ArrayLike, label: str = "", *, many: bool = True) -> None:
    """Set the horizontal axis for values, logarithmic where a few are far greater than most."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    positive = known[known > 0]
    if positive.size and known.min() >= 0 and known.max() > FAR * np.median(known) > 0:
        # Prices of failures are far from everything else, and would leave the others no room.
        smallest = float(np.quantile(positive, 0.05))
        if positive.size < known.size:
            axes.set_xscale("symlog", linthresh=smallest, linscale=0.5)
            axes.set_xlim(-0.15 * smallest, float(known.max()) * 1.25)
        else:
            axes.set_xscale("log")
            axes.set_xlim(float(known.min()) / 1.15, float(known.max()) * 1.25)
        axes.xaxis.set_major_locator(
            FixedLocator(_steps(smallest, float(known.max()), zero=positive.size < known.size))
        )
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(*limits(known))
        axes.xaxis.set_major_locator(MaxNLocator(3 if not many else 4 if narrow() else 6))
    if label:
        axes.set_xlabel(label)
    axes.grid(visible=True, axis="x")


def _steps(low: float, high: float, *, zero: bool) -> list[float]:
    """Return round numbers for a logarithmic axis, few enough to be read."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    within = [m * 10.0**d for d in decades for m in (1, 2, 5) if low <= m * 10.0**d <= high * 1.1]
    whole = [step for step in within if math.isclose(math.log10(step) % 1, 0, abs_tol=1e-9)]
    chosen = within if len(within) <= 8 else whole
    return [0.0, *chosen] if zero else chosen


def marks(axes: Axes, x: Floats, y: Floats, *, marker: str, size: float, **style: Any) -> None:
    """Draw marks of one kind and size, like `scatter`, which looks at so much that it takes far longer."""
    kind = MarkerStyle(marker)
    path = kind.get_path().transformed(kind.get_transform())
    offsets = np.column_stack([np.atleast_1d(x), np.atleast_1d(y)])
    collection = PathCollection((path,), [size], offsets=offsets, offset_transform=axes.transData, **style)
    collection.set_transform(IdentityTransform())
    axes.add_collection(collection, autolim=False)


def place_axis(axes: Axes, count: int) -> None:
    """Set the horizontal axis for places, the first on the left."""
    axes.set_xlim(0.4, count + 0.6)
    step = max(1, math.ceil(count / (10 if narrow() else 20)))
    ticks = [1, *range(step if step > 1 else 2, count + 1, step)]
    axes.set_xticks(ticks if count > 1 else [1], [str(tick) for tick in ticks] if count > 1 else ["1"])


def key(figure: Figure, shown: Sequence[Look]) -> None:
    """Put the submissions into a legend above the data."""
    handles = [
        Line2D([], [], linestyle="", markersize=5, color=look.colour, marker=look.marker, label=_named(look))
        for look in shown
    ]
    if not handles:
        return
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = int(np.clip(110 * figure_width() / WIDTH // (longest + 6), 1, len(handles)))
    legend = figure.legend(handles=handles, loc="outside upper left", ncols=columns)
    for look, handle, text in zip(shown, legend.legend_handles, legend.get_texts(), strict=True):
        for artist in (handle, text):
            if artist is not None:
                artist.set_gid(f"team-{look.index}")


def _named(look: Look) -> str:
    # A legend leaves out whatever starts with an underscore.
    return f" {look.label}" if look.label.startswith("_") else look.label


def share_map(colour: str = ACCENT) -> LinearSegmentedColormap:
    """Return colours for shares: from nothing at all, whatever lies behind, to the full colour."""
    red, green, blue = to_rgb(colour)
    stops = [(0.0, 0.0), (1e-6, 0.07), (0.35, 0.45), (1.0, 1.0)]
    colours = [(at, (red, green, blue, alpha)) for at, alpha in stops]
    return LinearSegmentedColormap.from_list("share", colours, N=256)


def correlation_map() -> LinearSegmentedColormap:
    """Return colours from −1 over nothing at 0 to 1."""
    stops = [(0.0, ALARM, 1.0), (0.3, ALARM, 0.35), (0.5, ALARM, 0.0), (0.5, ACCENT, 0.0), (0.7, ACCENT, 0.35)]
    colours = [(at, (*to_rgb(colour), alpha)) for at, colour, alpha in [*stops, (1.0, ACCENT, 1.0)]]
    return LinearSegmentedColormap.from_list("correlation", colours, N=255)


def nudged(positions: Floats, gap: float, *, beside: Floats | None = None, reach: float = 0.2) -> Floats:
    """Return heights moved apart, so that no two texts cover one another.

    Parameters
    ----------
    positions
        Heights, as shares of the axis.
    gap
        The height of a text.
    beside
        Where texts start; those further apart than `reach` do not meet.
    """
    moved = np.asarray(positions, np.float64).copy()
    across = np.zeros(len(moved)) if beside is None else np.asarray(beside)
    meeting = np.abs(across[:, None] - across) < reach
    order = np.argsort(np.argsort(moved, kind="stable"), kind="stable")  # of equals, the first stays below
    for _ in range(60):
        away = moved[:, None] - moved
        side = np.where(away == 0, np.sign(order[:, None] - order), np.sign(away))
        push = np.where(meeting, side * np.clip(gap - np.abs(away), 0.0, None), 0.0)
        if not push.any():
            break
        moved += 0.5 * push.sum(axis=1) / np.maximum((push != 0).sum(axis=1), 1)
    return moved


def frame(axes: Axes) -> None:
    """Draw a thin frame around a matrix."""
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(FAINT)
