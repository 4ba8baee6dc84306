"""Figures made of cells: places, cases and measures, each against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from podium.model import Direction, Floats, Role, shown_number
from podium.report.figures._frame import (
    as_matrix,
    case_ranks,
    correlation_map,
    drawn,
    figure_width,
    frame,
    label_rows,
    limits,
    looks_of,
    oriented,
    place_axis,
    row_height,
    share_map,
)
from podium.report.short_names import shortened
from podium.report.style import ALARM, FAINT, GRID, INK, PAPER, SOFT, Look

__all__ = ["case_heatmap", "metric_correlation", "ranking_heatmap"]

_FEW = 12
"""Up to so many rows and columns, cells hold their numbers."""


@drawn
def ranking_heatmap(
    values: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    direction: Direction,
    label: str = "",
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw in how many cases each submission took each place.

    Parameters
    ----------
    values
        Shape (submissions, cases); NaN takes no place.
    direction
        Which values are better.
    """
    matrix = as_matrix(values, submissions)
    shown = looks_of(submissions, looks)
    teams = len(shown)
    counts = place_counts(matrix, direction)
    height = 0.85 + teams * row_height(teams)
    figure = Figure(figsize=(figure_width(), height), layout="constrained")
    axes = figure.subplots()
    most = max(int(counts.max()), 1)
    image = axes.imshow(
        counts,
        cmap=share_map(),
        vmin=0,
        vmax=most,
        aspect="auto",
        interpolation="none",
        extent=(0.5, teams + 0.5, teams - 0.5, -0.5),
    )
    if teams <= _FEW:
        for (row, place), count in np.ndenumerate(counts):
            if count:
                colour = "#fefefe" if count > 0.6 * most else INK
                axes.text(place + 1, row, str(count), ha="center", va="center", fontsize=7.5, color=colour)
    else:
        bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=35, shrink=min(0.6, 4.4 / height), label="cases")
        bar.ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        _quiet(bar)
    label_rows(axes, shown)
    axes.set_ylim(teams - 0.5, -0.5)
    place_axis(axes, teams)
    axes.set_xlim(0.5, teams + 0.5)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(f"place in a case by {label}" if label else "place in a case")
    frame(axes)
    if teams <= _FEW:
        edges = np.arange(1, teams)
        axes.vlines(edges + 0.5, -0.5, teams - 0.5, colors=PAPER, linewidths=1.2)
        axes.hlines(edges - 0.5, 0.5, teams + 0.5, colors=PAPER, linewidths=1.2)
    return figure


def place_counts(matrix: Floats, direction: Direction) -> npt.NDArray[np.intp]:
    """Return in how many cases each submission took each place, shape (submissions, places)."""
    ranks = case_ranks(matrix, direction)
    return np.stack([np.sum(ranks == place, axis=1) for place in range(1, len(matrix) + 1)], axis=1)


@drawn
def case_heatmap(
    values: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    cases: Sequence[str],
    direction: Direction,
    label: str = "",
    failed: npt.ArrayLike | None = None,
    failed_word: str = "failed",
    bounds: tuple[float, float] = (-np.inf, np.inf),
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw every value as a cell, cases sorted from the hardest, and mark what failed.

    How hard a case was is the median of all submissions' values, failures included.

    Parameters
    ----------
    values
        Shape (submissions, cases).
    cases
        Names.
    direction
        Which values are better; these are bright.
    failed, failed_word
        Which values stand for a failure, same shape, and what that is called.
    bounds
        The least and the greatest value that there can be.
    """
    matrix = as_matrix(values, submissions)
    broken = np.zeros(matrix.shape, bool) if failed is None else np.asarray(failed, bool)
    shown = looks_of(submissions, looks)
    rows, count = matrix.shape
    order = difficulty(matrix, direction)
    matrix, broken = matrix[:, order], broken[:, order]
    names = [shortened(cases[index], 20) for index in order] if count <= 40 else []
    below = 1.15 + 0.06 * max(map(len, names), default=0)  # of few rows, too
    height = max(0.95 + rows * row_height(rows), below, 0.8 + 0.07 * len(label))  # inches: the label stands upright
    figure = Figure(figsize=(figure_width(), height), layout="constrained")
    axes = figure.subplots()
    known = matrix[np.isfinite(matrix) & ~broken]
    competing = np.array([look.role is Role.COMPETITOR for look in shown])[:, None]
    compared = matrix[np.isfinite(matrix) & ~broken & competing]  # a weak baseline must not take all the colours
    known = compared if compared.size else known
    low, high = np.quantile(known, [0.02, 0.98]) if known.size else (0.0, 1.0)
    if not high > low:
        low, high = np.clip(limits([low, high], margin=0.5), *bounds)
    colours = colormaps["cividis" if direction is Direction.HIGHER else "cividis_r"].with_extremes(bad=GRID)
    scale = Normalize(float(low), float(high))
    pixels = colours(scale(np.ma.masked_invalid(np.clip(matrix, low, high))), bytes=True)
    pixels[broken] = np.multiply(to_rgba(ALARM), 255).round()
    axes.imshow(pixels, aspect="auto", interpolation="none", extent=(-0.5, count - 0.5, rows - 0.5, -0.5), zorder=1)
    if broken.any() and count <= 80:
        y, x = np.nonzero(broken)
        axes.scatter(x, y, s=12, marker="x", c="#fefefe", linewidths=0.9, zorder=2)
    label_rows(axes, shown)
    axes.set_ylim(rows - 0.5, -0.5)
    if names:
        axes.set_xticks(range(count), names, rotation=90, fontsize=min(7.0, 260 / max(count, 1)))
    else:
        axes.set_xticks([])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(f"{count} case{'s' * (count != 1)}, the hardest on the left")
    frame(axes)
    bar = figure.colorbar(
        ScalarMappable(scale, colours),
        ax=axes,
        pad=0.015,
        aspect=30,
        shrink=min(1.0, 2.2 / (height - 0.95)),
        label=label,
        extend=_extended(known, low, high),
    )
    bar.ax.yaxis.set_major_locator(MaxNLocator(5))
    _quiet(bar)
    lacking = np.isnan(matrix) & ~broken
    handles = [
        Line2D([], [], color=colour, marker="s", linestyle="", markersize=5.5, label=name)
        for name, colour, there in ((failed_word, ALARM, broken), ("no value", FAINT, lacking))
        if there.any()
    ]
    if handles:
        figure.legend(handles=handles, loc="outside upper right", ncols=2)
    return figure


def difficulty(values: Floats, direction: Direction) -> npt.NDArray[np.intp]:
    """Return the order of cases from the hardest: by the median over submissions; without any value, at the end."""
    good = oriented(values, direction)
    medians = np.full(values.shape[1], np.nan)
    for case, column in enumerate(good.T):
        known = column[~np.isnan(column)]
        if known.size:
            medians[case] = np.sort(known)[(known.size - 1) // 2 : known.size // 2 + 1].mean()
    return np.argsort(medians, kind="stable")


def _extended(known: Floats, low: float, high: float) -> str:
    below, above = bool((known < low).any()), bool((known > high).any())
    return {(True, True): "both", (True, False): "min", (False, True): "max", (False, False): "neither"}[below, above]


def _quiet(bar: Colorbar) -> None:
    """Make a colour bar small in files and plain to look at."""
    if bar.solids is not None:
        bar.solids.set_rasterized(True)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelcolor=SOFT)


@drawn
def metric_correlation(values: npt.ArrayLike, *, labels: Sequence[str], directions: Sequence[Direction]) -> Figure:
    """Draw how far measures agree about which results are better: Spearman's rank correlation.

    Parameters
    ----------
    values
        Shape (measures, …): the same submissions and cases for each measure; pairs with NaN are left out.
    labels, directions
        Of the measures; each is turned so that larger is better, and 1 is agreement whatever the directions.
    """
    flat = np.asarray(values, np.float64).reshape(len(labels), -1)
    good = np.stack([oriented(row, direction) for row, direction in zip(flat, directions, strict=True)])
    matrix = _spearman(good)
    count = len(labels)
    side = float(np.clip(0.42 * count, 1.5, 3.8) if count <= 16 else 0.29 * count)
    names = 0.065 * max(len(label) for label in labels)  # inches, nearly
    figure = Figure(figsize=(min(figure_width(), side + names + 1.5), side + 0.6), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(
        np.ma.masked_invalid(matrix), cmap=correlation_map(), vmin=-1, vmax=1, interpolation="none", aspect="auto"
    )
    size = float(np.clip(60 / count, 6.0, 8))
    for (row, column), number in np.ndenumerate(matrix):
        colour = "#fefefe" if abs(number) > 0.75 else INK
        axes.text(column, row, shown_number(number, 2), ha="center", va="center", fontsize=size, color=colour)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.set_xticks(range(count), [str(number + 1) for number in range(count)])
    axes.set_yticks(range(count), [f"{label}\u2002{number + 1:\u2007>2}" for number, label in enumerate(labels)])
    bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=25, shrink=0.8, label="Spearman's ρ")
    _quiet(bar)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def _spearman(rows: Floats) -> Floats:
    """Return Spearman's correlation of every two rows over what both have; NaN where one of them is constant."""
    from scipy.stats import rankdata

    matrix = np.full((len(rows), len(rows)), np.nan)
    for first in range(len(rows)):
        for second in range(first + 1):
            both = ~np.isnan(rows[first]) & ~np.isnan(rows[second])
            one, two = (rankdata(row[both]) for row in (rows[first], rows[second]))
            if both.sum() > 1 and one.min() < one.max() and two.min() < two.max():
                matrix[first, second] = matrix[second, first] = np.corrcoef(one, two)[0, 1]
    return matrix
