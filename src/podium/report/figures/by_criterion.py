"""Figures of several criteria, or tasks: the ranking that each gives, how far they agree, and what comes out of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from podium.model import Direction, Floats, InputError
from podium.report.figures._frame import (
    as_matrix,
    drawn,
    figure_width,
    guides,
    label_rows,
    looks_of,
    narrow,
    oriented,
    place_axis,
    row_height,
    text_size,
)
from podium.report.figures._side_by_side import heading
from podium.report.short_names import shortened
from podium.report.style import ACCENT, INK, PAPER, SOFT, Look

__all__ = ["consensus", "criteria_compared", "dendrogram", "places_by_criterion", "places_by_submission"]

MOST_PANELS = 10
"""Submissions that have a panel, or a row in every panel, from the first on."""
SMALL = 7.6
"""Points of names in small panels, which are printed smaller still."""
_ALIKE = 20
"""Results that are at most so many times as large as others share an axis."""


@drawn
def consensus(
    ranks: npt.ArrayLike,
    average: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    importance: Sequence[float] | None = None,
    criterion: str = "criterion",
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw the rank of each submission in each criterion, and the average that decides.

    Parameters
    ----------
    ranks
        Shape (criteria, submissions).
    average
        Of each submission.
    importance
        By how much each criterion counts; the same by default.
    criterion
        What a criterion is called.
    """
    table = as_matrix(np.asarray(ranks, np.float64).T, submissions)
    means = np.asarray(average, np.float64)
    shown = looks_of(submissions, looks)
    teams, criteria = table.shape
    weights = np.ones(criteria) if importance is None else np.asarray(importance, np.float64)
    if means.shape != (teams,) or weights.shape != (criteria,):
        raise InputError(f"there are averages {means.shape} and weights {weights.shape} for ranks {table.shape}")
    height = row_height(teams)
    figure = Figure(figsize=(figure_width(), 1.05 + teams * height), layout="constrained")
    axes = figure.subplots()
    guides(axes, teams)
    largest = float(np.clip(min(height, 1.7 * (figure_width() - 2.2) / teams) * 66, 3.5, 18)) ** 2
    spots = [
        (rank, row, float(weights[own == rank].sum() / weights.sum()))
        for row, own in enumerate(table)
        for rank in np.unique(own[np.isfinite(own)]).tolist()
    ]
    _spans(axes, table, shown)
    axes.scatter(
        [rank for rank, _, _ in spots],
        [row for _, row, _ in spots],
        s=[max(largest * share, 2.0) for _, _, share in spots],
        c=[shown[row].colour for _, row, _ in spots],
        alpha=0.6,
        linewidths=0,
        zorder=3,
        label="ranks",
    )
    axes.scatter(means, range(teams), s=26, marker="D", c=PAPER, edgecolors=INK, zorder=4, label="averages")
    label_rows(axes, shown)
    place_axis(axes, teams)
    axes.set_xlabel("rank")
    dot: dict[str, Any] = {"marker": "o", "linestyle": "", "color": SOFT}
    handles = [
        Line2D([], [], markersize=float(np.sqrt(largest / criteria)), label=f"in one {criterion} of {criteria}", **dot),
        Line2D([], [], markersize=float(np.sqrt(largest)), label="in all", **dot),
        Line2D([], [], marker="D", linestyle="", color=INK, markerfacecolor=PAPER, markersize=5, label="average"),
    ]
    figure.legend(
        handles=handles, loc="outside upper left", ncols=2 if narrow() else 3, handletextpad=0.8, labelspacing=1.0
    )
    return figure


def _spans(axes: Axes, table: Floats, shown: Sequence[Look]) -> None:
    """Draw a line from the best to the worst rank of each."""
    known = [(row, own[np.isfinite(own)]) for row, own in enumerate(table)]
    lines = [[(own.min(), row), (own.max(), row)] for row, own in known if own.size]
    colours = [shown[row].colour for row, own in known if own.size]
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=1.0, zorder=2, label="spans"), autolim=False)


@drawn
def places_by_criterion(
    places: npt.ArrayLike,
    published: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    labels: Sequence[str],
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw the places that each criterion alone gives when cases are drawn anew, one panel a criterion.

    Parameters
    ----------
    places
        Shape (criteria, resamples, submissions).
    published
        Shape (criteria, submissions).
    submissions
        Names, in the order of the leaderboard.
    labels
        Of the criteria.
    """
    drawn_places, own = _checked(places, published, submissions, labels)
    shown = looks_of(submissions, looks)[:MOST_PANELS]
    shares = _shares(drawn_places)
    teams = len(submissions)
    columns = {1: 1, 2: 2, 4: 2}.get(len(labels), 3)
    figure, panels = _grid(len(labels), columns, len(shown))
    for number, axes in enumerate(panels):
        rows = [(shares[number, row], own[number, row], look.colour) for row, look in enumerate(shown)]
        _blobs(axes, rows, columns=columns)
        order = [row if look.place is None else look.place for row, look in enumerate(shown, 1)]
        axes.plot(order, np.arange(len(shown)), color=SOFT, linewidth=0.7, linestyle=(0, (1, 2)))
        heading(axes, shortened(labels[number], 40), 2)
        if number % columns == 0:
            label_rows(axes, shown, size=SMALL)
    _finish(figure, panels, teams, f"place; the first {len(shown)} of {teams}" if len(shown) < teams else "place")
    return figure


@drawn
def places_by_submission(
    places: npt.ArrayLike,
    published: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    labels: Sequence[str],
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw the places of each submission by every criterion when cases are drawn anew, one panel a submission.

    Parameters
    ----------
    places, published, submissions, labels
        As of `places_by_criterion`.
    """
    drawn_places, own = _checked(places, published, submissions, labels)
    shown = looks_of(submissions, looks)[:MOST_PANELS]
    shares = _shares(drawn_places)
    teams = len(submissions)
    figure, panels = _grid(len(shown), 4, len(labels))
    for team, (axes, look) in enumerate(zip(panels, shown, strict=True)):
        rows = [(shares[row, team], own[row, team], look.colour) for row in range(len(labels))]
        _blobs(axes, rows, columns=4)
        if look.place is not None:
            axes.axvline(look.place, color=SOFT, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1)
        place = "" if look.place is None else f"{look.place}\u2002"
        title = f"{place}{shortened(look.label, 20)}"
        weight = "bold" if look.focus else None
        axes.set_title(title, fontsize=8, fontweight=weight, gid=f"team-{look.index}")
        if team % 4 == 0:
            axes.set_yticks(range(len(labels)), [shortened(label, 22) for label in labels], fontsize=SMALL)
    _finish(figure, panels, teams, f"place; the first {len(shown)} of {teams}" if len(shown) < teams else "place")
    return figure


def _checked(
    places: npt.ArrayLike, published: npt.ArrayLike, submissions: Sequence[str], labels: Sequence[str]
) -> tuple[Floats, Floats]:
    drawn_places, own = np.asarray(places, np.float64), np.asarray(published, np.float64)
    expected = len(labels), len(submissions)
    if not drawn_places.size or drawn_places.ndim != 3 or (drawn_places.shape[0], drawn_places.shape[2]) != expected:
        raise InputError(f"places have shape {drawn_places.shape}, not ({expected[0]}, resamples, {expected[1]})")
    if own.shape != expected:
        raise InputError(f"published places have shape {own.shape}, not {expected}")
    return drawn_places, own


def _shares(places: Floats) -> Floats:
    """Return how often each has each place, shape (criteria, submissions, places)."""
    return np.stack([np.mean(places == place, axis=1) for place in range(1, places.shape[2] + 1)], axis=2)


def _grid(count: int, columns: int, rows: int) -> tuple[Figure, list[Axes]]:
    """Return panels of so many rows each, side by side, then below."""
    lines = -(-count // columns)
    height = float(np.clip(3.4 / rows, 0.125, 0.2))
    figure = Figure(figsize=(figure_width(), 0.5 + lines * (0.42 + (rows + 0.4) * height)), layout="constrained")
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    for axes in grid[:count]:
        axes.set_ylim(rows - 0.4, -0.6)
        axes.set_yticks([])
        guides(axes, rows)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    return figure, list(grid[:count])


def _blobs(axes: Axes, rows: Sequence[tuple[Floats, float, str]], *, columns: int) -> None:
    """Draw in each row a blob for every place, as large as its share, and a stroke for the published one."""
    most = len(rows[0][0])
    height = float(np.clip(3.4 / len(rows), 0.125, 0.2))
    room = min(height, 1.6 * (figure_width() - 1.6) / columns / most) * 72
    largest = float(np.clip(room * 0.95, 2.5, 12)) ** 2
    shares = np.stack([own for own, _, _ in rows])
    row, place = np.nonzero(shares)
    colours = [rows[index][2] for index in row.tolist()]
    sizes = np.maximum(largest * shares[row, place], 0.6)
    axes.scatter(place + 1, row, s=sizes, c=colours, linewidths=0, zorder=3, label="blobs")
    published = [own for _, own, _ in rows]
    size = largest / 2.5
    axes.scatter(published, range(len(rows)), s=size, marker="|", c=INK, linewidths=1.1, zorder=4, label="published")


def _finish(figure: Figure, panels: Sequence[Axes], teams: int, label: str) -> None:
    step = next(step for step in (1, 2, 5, 10, 20, 50, teams) if teams <= 5 * step or step >= teams)
    ticks = [1, *range(step if step > 2 else 1 + step, teams + 1, step)]
    for axes in panels:
        axes.set_xticks(ticks)
        axes.tick_params(axis="x", labelbottom=True)
        axes.set_xlim(0.4 - 0.02 * teams, teams + 0.6 + 0.02 * teams)
    figure.supxlabel(label, fontsize=8)


@drawn
def criteria_compared(
    *,
    labels: Sequence[str],
    apart: Sequence[float],
    kept: Sequence[float],
    tau: Sequence[float],
    results: Sequence[Floats] = (),
    directions: Sequence[Direction] = (),
    axis: str = "results",
) -> Figure:
    """Draw what each criterion is like: how well it separates, how sure its winner is, how it agrees, how hard it is.

    Parameters
    ----------
    labels
        Of the criteria.
    apart
        The share of pairs that it certainly orders.
    kept
        The share of resamples in which its winner stays.
    tau
        Kendall's τ of its ranking to that of all; NaN where it is not defined.
    results, directions
        All results by each criterion, and which are better; none if they are not known.
    axis
        What the results are called, where they share an axis.
    """
    rows = len(labels)
    if not rows or {len(apart), len(kept), len(tau)} != {rows}:
        raise InputError(f"there are {len(apart)}, {len(kept)} and {len(tau)} numbers of {rows} criteria")
    panels = 4 if results else 3
    figure = Figure(figsize=(figure_width(), 0.95 + rows * 0.27), layout="constrained")
    separation, winner, agreement, *spread = figure.subplots(
        1, panels, sharey=True, width_ratios=[1, 1, 1, 1.4][:panels], squeeze=False
    )[0]
    for axes in (separation, winner, agreement, *spread):
        guides(axes, rows)
        axes.set_ylim(rows - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(visible=True, axis="x")
    separation.barh(range(rows), apart, height=0.55, color=ACCENT, linewidth=0, zorder=2)
    winner.scatter(kept, range(rows), s=30, c=ACCENT, linewidths=0, zorder=3, clip_on=False)
    agreement.scatter(tau, range(rows), s=30, c=ACCENT, linewidths=0, zorder=3, clip_on=False)
    for axes, title in (
        (separation, "pairs certainly\nordered"),
        (winner, "winner kept\nin resamples"),
        (agreement, "τ to the ranking\nof all"),
    ):
        axes.set_title(title, fontsize=8)
    for axes in (separation, winner):
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    against = any(number < 0 for number in tau)
    agreement.set_xlim(-1 if against else 0, 1)
    agreement.set_xticks(*([-1, 0, 1], ["−1", "0", "1"]) if against else ([0, 0.5, 1], ["0", "0.5", "1"]))
    for axes in (separation, winner, agreement):
        first, *_, last = axes.get_xticklabels()
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
    if spread:
        _results(spread[0], results, directions, axis)
    separation.set_yticks(range(rows), [shortened(label) for label in labels], fontsize=text_size(rows))
    return figure


def _results(axes: Axes, results: Sequence[Floats], directions: Sequence[Direction], label: str) -> None:
    """Draw the middle half of the results, their median, and where all but 5 % of either side lie.

    Where directions or sizes differ, each is drawn between the worst and the best that it has.
    """
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    large = [float(np.quantile(np.abs(own), 0.95)) if own.size else 0.0 for own in results]
    alike = len(set(directions)) == 1 and max(large) <= _ALIKE * min(size for size in (*large, np.inf) if size > 0)
    for row, (own, direction) in enumerate(zip(results, directions, strict=True)):
        if not own.size:
            continue
        known = own if alike else oriented(own, direction)
        if not alike:
            width = float(known.max() - known.min())
            known = (known - known.min()) / width if width > 0 else np.ones(len(known))
        first, low, middle, high, last = np.quantile(known, shares).tolist()
        axes.hlines(row, first, last, colors=ACCENT, linewidths=0.9, zorder=2)
        axes.barh(row, high - low, left=low, height=0.55, color=ACCENT, alpha=0.35, linewidth=0, zorder=2)
        axes.vlines(middle, row - 0.3, row + 0.3, colors=INK, linewidths=1.5, zorder=3)
    axes.set_title(label if alike else "results, from the\nworst to the best", fontsize=8)
    if not alike:
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 1], ["worst", "best"])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4))


@drawn
def dendrogram(distances: npt.ArrayLike, *, labels: Sequence[str]) -> Figure:
    """Draw which criteria rank alike, as a tree: average linkage.

    Parameters
    ----------
    distances
        Of every two criteria, shape (criteria, criteria), in places.
    labels
        Of the criteria.
    """
    from scipy.cluster.hierarchy import dendrogram as tree_of
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    matrix = np.asarray(distances, np.float64)
    count = len(labels)
    if count < 2 or matrix.shape != (count, count):
        raise InputError(f"distances have shape {matrix.shape}, not ({count}, {count}) of at least two")
    tree = tree_of(linkage(squareform(matrix, checks=False), "average"), no_plot=True)
    figure = Figure(figsize=(figure_width(), 0.75 + count * 0.27), layout="constrained")
    axes = figure.subplots()
    # Leaves stand at 5, 15, 25 …; here each has a row.
    lines = [
        np.column_stack([across, (np.asarray(along) - 5) / 10])
        for across, along in zip(tree["dcoord"], tree["icoord"], strict=True)
    ]
    axes.add_collection(LineCollection(lines, colors=ACCENT, linewidths=1.5, zorder=2, label="tree"), autolim=False)
    furthest = float(np.max(tree["dcoord"]))
    axes.set_xlim(-0.01 * furthest, furthest * 1.05 if furthest > 0 else 1.0)  # what joins at 0 is seen
    axes.set_ylim(count - 0.4, -0.6)
    names = [shortened(labels[leaf], 40) for leaf in tree["leaves"] or ()]
    axes.set_yticks(range(count), names, fontsize=text_size(count))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(f"places by which a rank differs,{chr(10) if narrow() else ' '}on average")
    return figure
