"""Figures of places: how they spread when cases are drawn anew, under other rules, and what is significant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from podium.model import Direction, Floats, InputError, shown_level, shown_number
from podium.report.figures._frame import (
    as_matrix,
    drawn,
    figure_width,
    frame,
    guides,
    label_columns,
    label_rows,
    looks_of,
    most_inches,
    narrow,
    place_axis,
    row_height,
    share_map,
    text_size,
)
from podium.report.style import ACCENT, ALARM, FAINT, GRID, INK, PAPER, SOFT, Look

__all__ = ["blob_plot", "lines_over_schemes", "significance_map", "tau_violin"]


@drawn
def blob_plot(
    places: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    intervals: Sequence[tuple[int, int]] | None = None,
    level: float = 0.95,
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw how often each submission took each place when cases were drawn anew.

    Parameters
    ----------
    places
        Shape (resamples, submissions).
    submissions
        Names, in the order of the leaderboard.
    intervals
        The best and the worst place that each may truly have.
    level
        Confidence of those intervals.
    """
    drawn_places = as_matrix(np.asarray(places, np.float64).T, submissions)
    shown = looks_of(submissions, looks)
    teams = len(shown)
    most = max(teams, int(np.nanmax(drawn_places, initial=1)))
    shares = np.stack([np.mean(drawn_places == place, axis=1) for place in range(1, most + 1)], axis=1)
    height = row_height(teams)
    figure = Figure(figsize=(figure_width(), 1.15 + teams * height), layout="constrained")
    axes = figure.subplots()
    guides(axes, teams)
    if intervals is not None:
        low, high = np.asarray(intervals, np.float64).reshape(-1, 2).T
        axes.barh(range(teams), high - low + 0.7, left=low - 0.35, height=0.72, color=GRID, linewidth=0, zorder=0.5)
    low, middle, high = np.quantile(drawn_places, [0.025, 0.5, 0.975], axis=1)
    rows = np.arange(teams)
    colours = [look.colour for look in shown]
    spans = [[(a, row), (b, row)] for row, (a, b) in enumerate(zip(low, high, strict=True))]
    axes.add_collection(LineCollection(spans, colors=colours, linewidths=1.1, zorder=2, label="spans"), autolim=False)
    row, place = np.nonzero(shares)
    room = min(height, 1.7 * (figure_width() - 2.2) / most) * 72  # of a whole row, in points
    largest = float(np.clip(room * 0.92, 3.5, 20)) ** 2
    sizes = np.maximum(largest * shares[row, place], 0.8)
    axes.scatter(
        place + 1,
        row,
        s=sizes,
        c=[colours[index] for index in row],
        linewidths=0,
        zorder=3,
        rasterized=len(row) > 1200,
        label="blobs",
    )
    axes.scatter(middle, rows, s=min(26.0, largest / 3), marker="|", c=INK, linewidths=1.3, zorder=4, label="medians")
    label_rows(axes, shown)
    place_axis(axes, most)
    axes.set_xlabel("place")
    handles = [
        Line2D(
            [],
            [],
            color=SOFT,
            marker="o",
            linestyle="",
            markersize=float(np.sqrt(largest * share)),
            label=f"{100 * share:.0f} %",
        )
        for share in (0.1, 0.5, 1.0)
    ]
    handles.append(
        Line2D([], [], color=INK, marker="|", linestyle="", markersize=6, markeredgewidth=1.3, label="median")
    )
    handles.append(Line2D([], [], color=SOFT, linewidth=1.1, label="95 % of resamples"))
    extra = [Patch(color=GRID, label=f"true place, {shown_level(level)} sure")] if intervals is not None else []
    figure.legend(
        handles=[*handles, *extra],
        loc="outside upper left",
        ncols=3 if narrow() else len(handles) + 1,
        handletextpad=0.9,
        borderpad=0.8,
        labelspacing=1.2 if narrow() else 0.5,
    )
    return figure


@drawn
def lines_over_schemes(
    places: Mapping[str, npt.ArrayLike],
    *,
    submissions: Sequence[str],
    tau: Mapping[str, float] | None = None,
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw the place of each submission under each of several rules, one rule a row.

    Parameters
    ----------
    places
        For each rule the place of every submission, NaN where it has none; the first rule is the published one.
    submissions
        Names, in the order of the leaderboard.
    tau
        Kendall's τ of each rule to the first, written beside it.
    """
    if not places:
        raise InputError("there is no rule to draw")
    rules = list(places)
    matrix = as_matrix(np.stack([np.asarray(row, np.float64) for row in places.values()], axis=1), submissions)
    shown = looks_of(submissions, looks)
    teams = len(shown)
    height = 0.27 if len(rules) < 30 else 0.21
    wide = float(np.clip(3.2 + 0.13 * teams, figure_width(), most_inches()))
    figure = Figure(figsize=(wide, 1.1 + (len(rules) + 1) * height), layout="constrained")
    axes = figure.subplots()
    x = np.column_stack([np.arange(1.0, teams + 1), side_by_side(matrix)])
    y = np.arange(-1.0, len(rules))
    for row, column in enumerate(matrix.T):
        for place, count in zip(*np.unique(column[~np.isnan(column)], return_counts=True), strict=True):
            if count > 1:  # a bar below those who share a place
                axes.hlines(row, place, place + count - 1, colors=FAINT, linewidths=5, zorder=1, capstyle="round")
    axes.hlines(y[1:], 0.5, teams + 0.5, colors=GRID, linewidths=0.6, zorder=0)
    order = sorted(range(teams), key=lambda index: (shown[index].highlighted, -index))
    for index in order:
        look = shown[index]
        style: dict[str, Any] = {"color": look.colour, "gid": f"team-{look.index}"}
        wide = 1.9 if look.highlighted else 1.0
        for known in _runs(x[index]):
            axes.plot(x[index, known], y[known], linewidth=wide, zorder=2, label="lines", **style)
        axes.plot(
            x[index, 1:],
            y[1:],
            linestyle="",
            marker=look.marker,
            markersize=4.7 if look.highlighted else 3.4,
            markeredgewidth=0.5,
            markeredgecolor=PAPER,
            zorder=3,
            label="marks",
            **style,
        )
    axes.set_xlim(0.3, teams + 0.7)
    axes.set_ylim(len(rules) - 0.5, -1.0)
    axes.set_yticks(range(len(rules)), [_sentence(rule) for rule in rules])
    axes.tick_params(axis="both", length=0)
    axes.xaxis.tick_top()
    few = teams <= 15
    axes.set_xticks(
        range(1, teams + 1),
        [look.label for look in shown],
        rotation=60 if few else 90,
        rotation_mode="anchor" if few else "default",
        ha="left" if few else "center",
        fontsize=float(np.clip(280 / teams, 6.0 if teams > 60 else 7.0, 8)),
    )
    for look, text in zip(shown, axes.get_xticklabels(), strict=True):
        text.set_gid(f"team-{look.index}")
    for spine in axes.spines.values():
        spine.set_visible(False)
    _beside(axes, matrix, rules, tau)
    return figure


def _beside(axes: Axes, matrix: Floats, rules: Sequence[str], tau: Mapping[str, float] | None) -> None:
    """Write τ at the end of each row, and mark where somebody else is first."""
    first = matrix[:, 0] == 1
    for row, rule in enumerate(rules):
        now = matrix[:, row] == 1
        other = bool((first & ~now).any() and (now & ~first).any())
        shared = bool((now & ~first).any()) and not other
        number = (tau or {}).get(rule)
        text = "" if number is None else "no order" if np.isnan(number) else shown_number(number, 2)
        axes.annotate(
            text + ("  another winner" if other else "  shared" if shared else ""),
            (1, row),
            xytext=(5, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=ALARM if other else SOFT,
            annotation_clip=False,
        )
    if tau:
        axes.annotate(
            "τ",
            (1, -0.62),
            xytext=(5, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=INK,
            annotation_clip=False,
        )


def side_by_side(places: Floats) -> Floats:
    """Return positions in which those who share a place stand beside one another: 1, 1, 3 becomes 1, 2, 3."""
    moved = places.copy()
    for rule, column in enumerate(places.T):
        for place in np.unique(column[~np.isnan(column)]):
            members = np.flatnonzero(column == place)
            moved[members, rule] += np.arange(len(members))
    return moved


def _runs(row: Floats) -> list[npt.NDArray[np.intp]]:
    """Return the stretches of a row that are known, each as indices; single ones are left to their markers."""
    known = np.flatnonzero(~np.isnan(row))
    return [run for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1) if len(run) > 1]


def _sentence(rule: str) -> str:
    return rule[:1].upper() + rule[1:]


@drawn
def tau_violin(groups: Mapping[str, npt.ArrayLike]) -> Figure:
    """Draw how well rankings agree with the published one: Kendall's τ, for each way of changing something.

    Parameters
    ----------
    groups
        For each way the values of τ, NaN where it is not defined.
    """
    if not groups:
        raise InputError("there is nothing to draw")
    count = len(groups)
    figure = Figure(figsize=(figure_width(), 0.75 + 0.85 * count), layout="constrained")
    axes = figure.subplots()
    lowest = 1.0
    for row, values in enumerate(groups.values()):
        tau = np.asarray(values, np.float64)
        known = tau[~np.isnan(tau)]
        lacking = len(tau) - len(known)
        note = f"{lacking:,} undefined" if lacking else ""
        if known.size:
            lowest = min(lowest, float(known.min()))
            _violin(axes, known, row)
            word = "median" if known.min() < known.max() else "all"
            note = f"{word} {shown_number(float(np.median(known)), 2)}" + (f"\n{note}" if note else "")
        axes.annotate(
            note,
            (1, row),
            xytext=(6, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=SOFT,
            annotation_clip=False,
        )
    axes.set_yticks(range(count), list(groups), fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(count - 0.45, -0.55)
    axes.set_xlim(max(-1.03, min(lowest - 0.1, 0.75)), 1.03)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(f"Kendall's τ to the published ranking;{chr(10) if narrow() else ' '}1: the same order")
    return figure


def _violin(axes: Axes, known: Floats, row: int) -> None:
    """Draw density, quartiles and median; a few values as dots."""
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    width = _bandwidth(known)
    if len(known) >= 30 and width > 0:
        grid = np.linspace(known.min(), known.max(), 160)
        values, counts = np.unique(known, return_counts=True)
        density = np.exp(-0.5 * ((grid[:, None] - values) / width) ** 2) @ counts
        density *= 0.38 / density.max()
        axes.fill_between(grid, row - density, row + density, color=ACCENT, alpha=0.25, linewidth=0)
        axes.hlines(row, low, high, colors=ACCENT, linewidths=4, zorder=2)
    else:
        spread = 0.18 * (2 * ((np.arange(len(known)) * 0.618 + 0.5) % 1) - 1) * (width > 0)
        axes.scatter(known, row + spread, s=16, c=ACCENT, alpha=0.55, linewidths=0, zorder=2)
    axes.vlines(middle, row - 0.22, row + 0.22, colors=INK, linewidths=1.6, zorder=3)


def _bandwidth(known: Floats) -> float:
    """Return Silverman's bandwidth, with a floor that keeps discrete values together."""
    spread = float(known.std())
    if spread <= 1e-12:
        return 0.0
    low, high = np.quantile(known, [0.25, 0.75])
    steady = float(high - low) / 1.34
    return max(0.9 * min(spread, steady or spread) * float(len(known) ** -0.2), 0.02)


@drawn
def significance_map(
    adjusted: npt.ArrayLike,
    difference: npt.ArrayLike,
    *,
    submissions: Sequence[str],
    directions: Sequence[Direction],
    alpha: float = 0.05,
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw which submission is significantly better than which: the row better than the column.

    Parameters
    ----------
    adjusted
        p-values, adjusted for the number of pairs, shape (criteria, submissions, submissions).
    difference
        The row's value less the column's, same shape.
    directions
        Which values are better, for each criterion.
    alpha
        Below which p a difference counts.
    """
    p, gap = (np.asarray(matrix, np.float64) for matrix in (adjusted, difference))
    shown = looks_of(submissions, looks)
    teams, criteria = len(shown), len(directions)
    if p.shape != (criteria, teams, teams) or gap.shape != p.shape:
        raise InputError(f"p-values have shape {p.shape}, not ({criteria}, {teams}, {teams})")
    sign = np.array([1.0 if direction is Direction.HIGHER else -1.0 for direction in directions])[:, None, None]
    with np.errstate(invalid="ignore"):
        counts = np.sum((p < alpha) & (sign * gap > 0), axis=0)
    side = max(1.6, teams * min(row_height(teams), 6.3 / teams if teams > 12 else 0.34))
    names = 0.009 * text_size(teams) * max(len(look.label) for look in shown)  # inches, nearly
    wide = min(figure_width(), max(side + names + 0.6, 3.6))
    figure = Figure(figsize=(wide, side + names + 0.6), layout="constrained")
    axes = figure.subplots()
    places = np.array([np.inf if look.place is None else look.place for look in shown])
    with np.errstate(invalid="ignore"):
        against = np.where(places[:, None] > places[None, :], counts, 0)
    for matrix, colour in ((np.where(against > 0, 0, counts), ACCENT), (against, ALARM)):
        axes.imshow(
            matrix, cmap=share_map(colour), vmin=0, vmax=criteria, interpolation="none", aspect="auto", zorder=1
        )
    if criteria > 1 and teams <= 16:
        for (row, column), count in np.ndenumerate(counts):
            if count:
                colour = "#fefefe" if count > 0.6 * criteria else INK
                axes.text(column, row, str(count), ha="center", va="center", fontsize=7, color=colour)
    axes.plot([-0.5, teams - 0.5], [-0.5, teams - 0.5], color=FAINT, linewidth=0.8, zorder=2)
    label_rows(axes, shown)
    axes.set_ylim(teams - 0.5, -0.5)
    axes.set_xlim(-0.5, teams - 0.5)
    label_columns(axes, shown)
    edges = np.arange(0.5, teams - 1)
    axes.hlines(edges, -0.5, teams - 0.5, colors=GRID, linewidths=0.4, zorder=0)
    axes.vlines(edges, -0.5, teams - 0.5, colors=GRID, linewidths=0.4, zorder=0)
    frame(axes)
    what = "row is better than column"
    if criteria > 1:
        what += f"; darker: by more of the {criteria} criteria"
    handles = [Patch(color=ACCENT, label=what)]
    if not counts.any():
        handles = [Patch(color=PAPER, label=f"nobody is significantly better than anybody (p < {alpha:.2g})")]
    if against.any():
        handles.append(Patch(color=ALARM, label="against the order of the board"))
    figure.legend(handles=handles, loc="outside lower left", ncols=1)
    return figure
