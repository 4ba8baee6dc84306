"""The figures of the page about uncertainty, in the style of Podium's own: dark on white, one colour for a team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from simulated import COVERAGE_SIZES, TEAMS, TRUE_DICE, Clustered, Repeated, Resampled, Sized

from podium.report.style import ACCENT, ALARM, FAINT, GRID, INK, PALETTE, PAPER, SOFT, laid_out

WIDTH = 7.2
COLOURS = dict(zip(TEAMS, PALETTE, strict=False))
_DISC = 230.0  # its area, with a figure inside


def of_challenges(repeated: Repeated) -> Figure:
    """Draw the places of every team in some challenges, and how often each wins of all."""
    figure = Figure(figsize=(WIDTH, 2.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 1], sharey=True)
    for challenge, places in enumerate(repeated.places, 1):
        for row, (team, place) in enumerate(zip(TEAMS, places, strict=True)):
            _disc(left, challenge, row, str(place), COLOURS[team] if place == 1 else GRID)
    _rows(left, [f"{team}  {true:.3f}" for team, true in zip(TEAMS, TRUE_DICE.tolist(), strict=True)])
    left.set(xlim=(0.4, len(repeated.places) + 0.6), xticks=range(1, len(repeated.places) + 1))
    left.set(xlabel="challenge", title="place in each of ten challenges; the winner in colour")
    right.barh(range(len(TEAMS)), 100 * repeated.wins, color=list(COLOURS.values()), height=0.6)
    for row, share in enumerate(repeated.wins.tolist()):
        right.text(100 * share + 2, row, f"{100 * share:.0f} %", va="center", color=INK)
    right.set(xlim=(0, 100), xlabel="% won of 1,000", title="how often each wins")
    right.spines["left"].set_visible(False)
    right.tick_params(axis="y", length=0)
    return laid_out(figure)


def of_resamples(resampled: Resampled) -> Figure:
    """Draw how often each case was drawn in some resamples, and who has which place in them."""
    sets, cases = resampled.counts.shape
    figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[2.4, 1], sharey=True)
    row, case = np.nonzero(resampled.counts)
    left.scatter(case + 1, row, s=16 * resampled.counts[row, case] ** 1.5, color=ACCENT, linewidths=0)
    none, absent = np.nonzero(resampled.counts == 0)
    left.scatter(absent + 1, none, s=9, marker="x", color=FAINT, linewidths=0.8)
    _rows(left, [f"resample {number}" for number in range(1, sets + 1)])
    left.set(xlim=(0, cases + 1), xticks=[1, *range(5, cases + 1, 5)], xlabel="case")
    left.set_title("how often each case is drawn: larger is more often, a cross is never")
    for number, places in enumerate(resampled.places):
        for team, place in zip(TEAMS, places.tolist(), strict=True):
            _disc(right, place, number, team[0].upper(), COLOURS[team])
    right.set(xlim=(0.4, len(TEAMS) + 0.6), xticks=range(1, len(TEAMS) + 1), xlabel="place", title="the board then")
    right.spines["left"].set_visible(False)
    right.tick_params(axis="y", length=0)
    handles = [Line2D([], [], marker="o", linestyle="", color=COLOURS[team], label=team) for team in TEAMS]
    figure.legend(handles=handles, loc="outside lower right", ncols=len(TEAMS))
    return laid_out(figure)


def of_sizes(sized: Mapping[int, Sized]) -> Figure:
    """Draw the places that each team may truly have, for challenges of several sizes."""
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    panels = figure.subplots(1, len(sized), sharey=True)
    for axes, (size, own) in zip(panels, sized.items(), strict=True):
        for row, team in enumerate(TEAMS):
            best, worst = own.intervals[row]
            axes.barh(row, worst - best + 0.7, left=best - 0.35, height=0.62, color=GRID, linewidth=0)
            axes.plot(own.board[row], row, "o", color=COLOURS[team], markersize=7.5, zorder=3)
            axes.plot(row + 1, row, "D", markersize=4, color=PAPER, markeredgecolor=INK, markeredgewidth=0.9, zorder=4)
        axes.set(xlim=(0.4, len(TEAMS) + 0.6), xticks=range(1, len(TEAMS) + 1), xlabel="place", title=f"{size} cases")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    _rows(panels[0], TEAMS)
    handles = [
        Patch(color=GRID, label="places it may truly have, 95 % sure of all together"),
        Line2D([], [], marker="o", linestyle="", color=SOFT, markersize=7.5, label="place on the board"),
        Line2D([], [], marker="D", linestyle="", color=PAPER, markeredgecolor=INK, markersize=4, label="true place"),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=3)
    return laid_out(figure)


_LINES = {
    "percentile": (ALARM, "o", "plain percentile bootstrap"),
    "bootstrap-t": (ACCENT, "s", "bootstrap-t, Podium's default"),
    "guaranteed": ("#009e73", "D", "--interval guaranteed"),
}


def of_coverage(covered: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw how often intervals hold the truth, by the number of cases."""
    titles = {"skewed": "distances with a long tail", "failing": "Dice, 2 % of the cases fail"}
    figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    panels = figure.subplots(1, len(covered), sharey=True)
    for axes, (population, methods) in zip(panels, covered.items(), strict=True):
        axes.axhline(95, color=SOFT, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
        for method, shares in methods.items():
            colour, marker, _ = _LINES[method]
            axes.plot(range(len(shares)), 100 * np.array(shares), color=colour, marker=marker, markersize=5)
        axes.set(xticks=range(len(COVERAGE_SIZES)), xticklabels=map(str, COVERAGE_SIZES), xlabel="cases")
        axes.set(title=titles[population], ylim=(75, 101))
        axes.grid(visible=True, axis="y")
    panels[0].set_ylabel("intervals that hold the truth, %")
    handles = [Line2D([], [], color=c, marker=m, markersize=5, label=label) for c, m, label in _LINES.values()]
    handles.append(Line2D([], [], color=SOFT, linewidth=1, linestyle=(0, (4, 2)), label="promised: 95 %"))
    figure.legend(handles=handles, loc="outside lower left", ncols=4)
    return laid_out(figure)


def of_clusters(clustered: Clustered) -> Figure:
    """Draw the differences of two teams image by image, and the interval of their mean by two ways to draw anew."""
    patients, images = clustered.differences.shape
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[2.6, 1], sharex=True)
    order = np.argsort(clustered.differences.mean(axis=1))
    for row, patient in enumerate(order.tolist()):
        own = clustered.differences[patient]
        above.plot(own, np.full(images, row), "o", color=ACCENT, alpha=0.55, markersize=4, markeredgewidth=0)
        above.plot(own.mean(), row, "|", color=INK, markersize=8, markeredgewidth=1.6)
    _rows(above, ["" for _ in range(patients)])
    above.set_ylabel(f"{patients} patients")
    above.set_title(f"every dot one of {images} images, every stroke the mean of a patient")
    labels = ("images drawn one by one", "patients drawn whole")
    for row, (low, high) in enumerate((clustered.apart, clustered.together)):
        below.plot([low, high], [row, row], color=(ALARM, ACCENT)[row], linewidth=5, solid_capstyle="butt")
        below.plot(clustered.differences.mean(), row, "D", color=INK, markersize=4)
    _rows(below, labels)
    below.set(xlabel="Dice of the first less that of the second; truly, their mean is 0")
    for axes in (above, below):
        axes.axvline(0, color=SOFT, linewidth=1, linestyle=(0, (4, 2)), zorder=0)
    below.set_title("95 % interval of the mean difference")
    return laid_out(figure)


def _disc(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    """Draw a disc with a sign in it."""
    axes.scatter([x], [y], s=_DISC, color=colour, linewidths=0)
    axes.text(x, y, text, ha="center", va="center_baseline", fontsize=8, color=SOFT if colour == GRID else PAPER)


def _rows(axes: Axes, names: Sequence[str]) -> None:
    """Name rows from the top."""
    axes.set(ylim=(len(names) - 0.4, -0.6), yticks=range(len(names)), yticklabels=names)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
