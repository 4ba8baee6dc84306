"""From what a challenge shows to a picture: one function for everything that can be shown.

The reference has one colour and the prediction another, in all pictures; the two are told apart with any kind of
colour vision. Where both lines run together, the reference shows on both sides of the thinner prediction.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from podium.model import Agreement, Curves, Line, Panel, Paths, Slices, View
from podium.report.short_names import shortened
from podium.report.style import INK, SOFT, drawing, laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "outlines"]

_ON_LIGHT = {"reference": "#0072B2", "prediction": "#D55E00", "other": "#8A8A8A"}
_ON_GREY = {"reference": "#3FB4FF", "prediction": "#FF9A1F", "other": "#D0D0D0"}
_WIDTHS = {"reference": 2.6, "prediction": 1.2, "other": 1.1}
_LEVELS = {"other": 2, "reference": 3, "prediction": 4}
_DASHES: tuple[Any, ...] = ("solid", (0, (3.2, 1.3)), (0, (1.0, 1.0)), (0, (5, 1.2, 1, 1.2)))
_TINTS = (0.90, 0.76, 0.83, 0.69)  # of labels where there is no image
_LONGEST_TEXT = 120
_MOST_POINTS = 400  # of a line in space
_RASTER_FROM = 500  # points of a cloud, so that a page stays small

_STYLE = {
    "axes.grid": True,
    "axes.titleweight": "normal",
    "axes.titlecolor": SOFT,
    "axes.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "figure.titlesize": 10,
    "path.simplify": True,
}


def draw(view: View) -> Figure:
    """Draw anything that a challenge shows; text in it is shown as it is, whatever characters it holds."""
    with _styled():
        match view:
            case Slices():
                return laid_out(_slices(view))
            case Curves():
                return laid_out(_curves(view))
            case Paths():
                return laid_out(_paths(view))
            case Agreement():
                return laid_out(_agreement(view))


@contextmanager
def _styled() -> Iterator[None]:
    import matplotlib as mpl

    with drawing():
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]  # plain names of settings
        yield


def _shown(text: str, *, longest: int = _LONGEST_TEXT) -> str:
    """Return a text on one line, of a length that fits."""
    return shortened(" ".join(text.split()), longest)


def _figure(width: float, height: float, title: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    lines = textwrap.wrap(_shown(title), max(20, round(width * 13)))
    if lines:
        figure.suptitle("\n".join(lines), x=0.01, ha="left", color=INK)
    return figure


def _legend(figure: Figure, entries: Sequence[tuple[str, Any]], remarks: Sequence[str] = ()) -> None:
    """Put a legend below everything, where it covers nothing, and remarks above it."""
    width = max(20, round(figure.get_figwidth() * 15))
    lines = [line for remark in remarks for line in textwrap.wrap(_shown(remark, longest=300), width)]
    if entries or lines:
        legend = figure.legend(
            [handle for _, handle in entries],
            [_shown(name, longest=40) for name, _ in entries],
            title="\n".join(lines),
            alignment="left",
            loc="outside lower left",
            ncols=max(1, min(len(entries), round(figure.get_figwidth() / 1.2))),
            columnspacing=1.6,
        )
        legend.get_title().set(color=SOFT, fontsize=8)


def _handle(kind: str, colours: dict[str, str], **options: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colours[kind], linewidth=_WIDTHS[kind], **options)


def _say_nothing(axes: Axes) -> None:
    axes.text(0.5, 0.5, "nothing to draw", transform=axes.transAxes, ha="center", va="center", color=SOFT)


# Slices


def outlines(mask: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.float64]]:
    """Return closed lines along the edges of pixels around all that is inside, corners only.

    Parameters
    ----------
    mask
        Shape (rows, columns).

    Returns
    -------
    list of ndarray
        x and y of the corners, shape (n, 2), the first repeated at the end; pixel (i, j) spans x from j to j + 1 and y
        from i to i + 1.

    Examples
    --------
    >>> import numpy as np
    >>> outlines(np.array([[True, True]]))[0].tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    """
    padded = np.pad(np.asarray(mask, bool), 1)
    steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
    # The inside is on the right of every step, so that steps join to closed lines.
    for shift, start, move in (
        ((1, 0), (0, 0), (1, 0)),  # the pixel above is outside
        ((0, -1), (1, 0), (0, 1)),  # to the right
        ((-1, 0), (1, 1), (-1, 0)),  # below
        ((0, 1), (0, 1), (0, -1)),  # to the left
    ):
        rows, columns = np.nonzero(padded & ~np.roll(padded, shift, (0, 1)))
        for x, y in zip((columns - 1 + start[0]).tolist(), (rows - 1 + start[1]).tolist(), strict=True):
            steps.setdefault((x, y), []).append((x + move[0], y + move[1]))
    lines = []
    while steps:
        here = first = min(steps)
        line = [here]
        while True:
            ways = steps[here]
            following = ways.pop()
            if not ways:
                del steps[here]
            here = following
            line.append(here)
            if here == first:
                break
        lines.append(_corners_of(np.array(line, np.float64)))
    return lines


def _corners_of(line: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Leave out the points of a closed line where it goes straight on."""
    moves = np.diff(line, axis=0)
    turns = np.any(moves != np.roll(moves, 1, axis=0), axis=1)
    kept = line[:-1][turns]
    return np.concatenate([kept, kept[:1]])


def _slices(view: Slices) -> Figure:
    if not view.panels:
        figure = _figure(4.2, 2.0, view.title)
        axes = figure.subplots()
        axes.set_axis_off()
        _say_nothing(axes)
        _legend(figure, (), view.remarks)
        return figure
    sizes = [np.multiply(panel.reference.shape, panel.pixel_mm) for panel in view.panels]
    height = 3.3
    widths = [float(np.clip(height * size[1] / max(size[0], 1e-9), 1.7, 6.0)) for size in sizes]
    figure = _figure(max(sum(widths) + 0.25 * len(widths), 4.0), height + 1.0, view.title)
    all_axes = figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]
    for axes, panel in zip(all_axes, view.panels, strict=True):
        _panel(axes, panel, view.labels)
    colours = _ON_GREY if all(panel.image is not None for panel in view.panels) else _ON_LIGHT
    entries = [("reference", _handle("reference", colours)), ("prediction", _handle("prediction", colours))]
    if len(view.labels) > 1:
        bare = any(panel.image is None for panel in view.panels)
        entries += [(name, _label_handle(place, filled=bare)) for place, name in enumerate(view.labels.values())]
    _legend(figure, entries, view.remarks)
    return figure


def _label_handle(place: int, *, filled: bool) -> Any:
    from matplotlib.patches import Patch

    tint = (0.5, 0.5, 0.5, _tint(place)) if filled else "none"
    return Patch(facecolor=tint, edgecolor=SOFT, linewidth=1.0, linestyle=_DASHES[place % len(_DASHES)])


def _tint(place: int) -> float:
    """Return how opaque the grey of a label is: what has the given tint upon white."""
    return 2 * (1 - _TINTS[place % len(_TINTS)])


def _panel(axes: Axes, panel: Panel, labels: dict[int, str]) -> None:
    """Draw one slice in mm, the grey values or else the reference's labels below the contours."""
    from matplotlib.collections import LineCollection

    height, width = np.multiply(panel.reference.shape, panel.pixel_mm).tolist()
    extent = (0.0, width or 1.0, height or 1.0, 0.0)
    if panel.image is not None:
        axes.imshow(panel.image, cmap="gray", vmin=0, vmax=1, extent=extent, interpolation="nearest")
        colours = _ON_GREY
    else:
        # Grey that lets through what lies behind it, light or dark.
        tints = np.zeros((256, 4))
        for place, label in enumerate(labels):
            tints[label] = 0.5, 0.5, 0.5, _tint(place)
        axes.imshow(tints[panel.reference], extent=extent, interpolation="nearest")
        colours = _ON_LIGHT
    for kind, image in (("reference", panel.reference), ("prediction", panel.prediction)):
        for place, label in enumerate(labels):
            lines = [line * panel.pixel_mm[::-1] for line in outlines(image == label)]
            dashes = _DASHES[place % len(_DASHES)]
            axes.add_collection(
                LineCollection(
                    lines,
                    colors=colours[kind],
                    linewidths=_WIDTHS[kind],
                    # Dashes would hide that the wider line below runs on.
                    linestyles="solid" if kind == "reference" else [dashes],
                    zorder=_LEVELS[kind],
                    capstyle="butt",
                    joinstyle="miter",
                ),
                autolim=False,
            )
    axes.set(xlim=(0, extent[1]), ylim=(extent[2], 0), xticks=[], yticks=[], title=_shown(panel.caption))
    axes.set_aspect("equal")
    axes.set_anchor("N")  # the tops of panels of any shape are in one line
    axes.set_facecolor("none")
    axes.grid(visible=False)
    axes.spines[:].set_visible(True)


# Curves


def _curves(view: Curves) -> Figure:
    figure = _figure(4.8, 2.5, view.title)
    axes = figure.subplots()
    drawn = [_curve(axes, line) for line in view.lines]
    if not any(drawn):
        _say_nothing(axes)
    axes.set(xlabel=_shown(view.horizontal), ylabel=_shown(view.vertical))
    axes.margins(x=0.02)
    if len(view.lines) > 1:
        _legend(figure, _entries(view.lines))
    return figure


def _entries(lines: Sequence[Line]) -> list[tuple[str, Any]]:
    """Return one entry for all lines of a name, the reference first."""
    kinds = {line.name: line.kind for line in sorted(lines, key=lambda line: _ORDER[line.kind])}
    return [(name, _handle(kind, _ON_LIGHT, linestyle=_dashes(kind))) for name, kind in kinds.items()]


_ORDER = {"reference": 0, "prediction": 1, "other": 2}


def _dashes(kind: str) -> Any:
    return (0, (4, 2)) if kind == "other" else "solid"


def _curve(axes: Axes, line: Line, *, scale: float = 1.0) -> bool:
    """Draw a line with gaps where there is no number, and dots for points that stand alone; return if any is seen."""
    x, y = np.where(np.isfinite(line.points).all(axis=1), line.points.T, np.nan)
    known = ~np.isnan(x)
    beside = np.concatenate([[False], known, [False]])
    alone = known & ~beside[:-2] & ~beside[2:]
    style: dict[str, Any] = {
        "color": _ON_LIGHT[line.kind],
        "linewidth": scale * _WIDTHS[line.kind],
        "zorder": _LEVELS[line.kind],
    }
    if known.any():
        axes.plot(x, y, linestyle=_dashes(line.kind), solid_joinstyle="round", **style)
        axes.plot(x[alone], y[alone], linestyle="none", marker="o", markersize=3 + _WIDTHS[line.kind], **style)
    return bool(known.any())


# Paths


def _paths(view: Paths) -> Figure:
    """Draw lines in space in perspective, and beside it as seen along two of the axes."""
    figure = _figure(6.8, 3.8, view.title)
    grid = figure.add_gridspec(2, 2, width_ratios=[1.5, 1], wspace=0.16)  # room for the name of the third axis
    lines = [(line, _thinned(line.points)) for line in view.lines]
    lines = [(line, points) for line, points in lines if len(points)]
    space: Any = figure.add_subplot(grid[:, 0], projection="3d")
    limits = _limits([points for _, points in lines])
    for line, points in lines:
        _space_line(space, line, points)
    unit = f", {_shown(view.unit)}" if view.unit else ""
    space.set(xlim=limits[0], ylim=limits[1], zlim=limits[2], xlabel=f"x{unit}", ylabel=f"y{unit}", zlabel=f"z{unit}")
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
    space.set_facecolor("none")
    space.set_box_aspect([high - low for low, high in limits], zoom=1.0)
    space.view_init(elev=24, azim=-58)
    space.locator_params(nbins=4)
    for place, (one, two) in enumerate(((0, 2), (1, 2))):
        axes = figure.add_subplot(grid[place, 1])
        for line, points in lines:
            _curve(axes, Line(line.name, points[:, [one, two]], line.kind), scale=0.6)
        axes.set(xlabel=f"{'xyz'[one]}{unit}", ylabel=f"{'xyz'[two]}{unit}")
        axes.set_aspect("equal", adjustable="datalim")
        axes.locator_params(nbins=4)
        if not lines:
            _say_nothing(axes)
    _legend(figure, _entries(view.lines))
    return figure


def _space_line(axes: Any, line: Line, points: npt.NDArray[np.float64]) -> None:
    style = {"color": _ON_LIGHT[line.kind], "zorder": _LEVELS[line.kind], "linestyle": _dashes(line.kind)}
    width, marker = 0.75 * _WIDTHS[line.kind], "o" if len(points) == 1 else ""
    for artist in axes.plot(*points.T, linewidth=width, marker=marker, clip_on=False, **style):
        artist.set_in_layout(False)  # the layout takes points in space for points on the page


def _thinned(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Leave out points of a long line, and those that are nowhere."""
    known: npt.NDArray[np.float64] = points[np.isfinite(points).all(axis=1)]
    if len(known) <= _MOST_POINTS:
        return known
    return known.take(np.linspace(0, len(known) - 1, _MOST_POINTS).round().astype(int), axis=0)


def _limits(lines: Sequence[npt.NDArray[np.float64]]) -> list[tuple[float, float]]:
    """Return from where to where each axis goes: a little more than all points, and never nothing."""
    everything = np.concatenate([*lines, np.zeros((0, 3))])
    if not len(everything):
        return [(0.0, 1.0)] * 3
    low, high = everything.min(axis=0), everything.max(axis=0)
    least = max(float((high - low).max()) / 4, 1e-3)  # a flat box cannot be read
    middle, half = (low + high) / 2, np.maximum((high - low) * 1.06, least) / 2
    return list(zip((middle - half).tolist(), (middle + half).tolist(), strict=True))


# Agreement


def _agreement(view: Agreement) -> Figure:
    """Draw predicted against true values, and their difference against their mean (Bland and Altman)."""
    figure = _figure(4.8, 2.6, view.title)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.1])
    left.set(box_aspect=1, anchor="N")
    for axes in (left, right):
        axes.locator_params(nbins=5)
    known = np.isfinite(view.reference) & np.isfinite(view.prediction)
    reference, prediction = view.reference[known], view.prediction[known]
    unit = f", {_shown(view.unit)}" if view.unit else ""
    left.set(xlabel=f"true value{unit}", ylabel=f"predicted value{unit}", title=_correlation(view, reference.size))
    right.set(xlabel=f"mean of both{unit}", ylabel=f"predicted − true{unit}", title="difference against mean")
    if not reference.size:
        _say_nothing(left)
        _say_nothing(right)
        return figure
    _cloud(left, reference, prediction)
    left.axline((reference[0], reference[0]), slope=1, color=_ON_LIGHT["reference"], linewidth=1.2, zorder=1)
    low, high = min(reference.min(), prediction.min()), max(reference.max(), prediction.max())
    space = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
    left.set(xlim=(low - space, high + space), ylim=(low - space, high + space))
    _cloud(right, (reference + prediction) / 2, prediction - reference)
    right.axhline(0, color=_ON_LIGHT["reference"], linewidth=1.2, zorder=1)
    for height, name, dashes in (
        (view.limits[1], "+1.96 SD", (0, (4, 2))),
        (view.bias, "bias", "solid"),
        (view.limits[0], "−1.96 SD", (0, (4, 2))),
    ):
        if math.isfinite(height):
            right.axhline(height, color=INK, linewidth=1.1, linestyle=dashes, zorder=4)
            right.annotate(
                f"{name}\n{height:.3g}".replace("-", "−"),
                (1.0, height),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7.5,
                color=INK,
                annotation_clip=False,
            )
    return figure


def _cloud(axes: Axes, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
    axes.plot(
        x,
        y,
        linestyle="none",
        marker="o",
        markersize=3.4,
        markeredgewidth=0,
        alpha=0.45 if x.size > 50 else 0.8,
        color=_ON_LIGHT["prediction"],
        rasterized=x.size > _RASTER_FROM,
        zorder=3,
    )


def _correlation(view: Agreement, count: int) -> str:
    numbers = f"{count:,} values"
    return numbers + (f", r = {view.correlation:.3f}" if math.isfinite(view.correlation) else "")
