"""Pictures of decisions and classes: counts in a table, the cells that a metric takes, what each class contributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from pictures_canvas import BOTH, FALSE, Drawn, Part, card, equation, heading, plain, plot_axes, quotient

from podium import metrics as m
from podium.model import Metric
from podium.report.style import INK, PALETTE, PAPER, SOFT

__all__ = ["agreement", "classification", "decisions"]

AnyMetric = Metric[..., Any]
Integers = npt.NDArray[np.int64]
TABLE = (0.1, 0.06, 0.36, 0.72)
TRUE_POSITIVE, FALSE_NEGATIVE, FALSE_POSITIVE, TRUE_NEGATIVE = 18, 9, 7, 26


def decisions(metric: AnyMetric) -> Drawn:
    """Draw the four counts, with those that are above and below the line of the metric."""
    value = float(metric(_counts()))
    tp, fn, fp, tn = TRUE_POSITIVE, FALSE_NEGATIVE, FALSE_POSITIVE, TRUE_NEGATIVE
    right, missed = Part("TP", tp, BOTH), Part("FN", fn, PALETTE[0])
    false, passed = Part("FP", fp, FALSE), Part("TN", tn, PALETTE[4])
    sensitivity, specificity = tp / (tp + fn), tn / (tn + fp)
    tpr, fnr = Part("sensitivity", sensitivity, BOTH), Part("1 − sensitivity", 1 - sensitivity, PALETTE[0])
    tnr, fpr = Part("specificity", specificity, PALETTE[4]), Part("1 − specificity", 1 - specificity, FALSE)
    above, below, worked = {
        "true_positive_rate": ([right], [right, missed], f"{tp} / ({tp} + {fn})"),
        "specificity": ([passed], [passed, false], f"{tn} / ({tn} + {fp})"),
        "false_positive_rate": ([false], [false, passed], f"{fp} / ({fp} + {tn})"),
        "positive_predictive_value": ([right], [right, false], f"{tp} / ({tp} + {fp})"),
        "negative_predictive_value": ([passed], [passed, missed], f"{tn} / ({tn} + {fn})"),
        "f_beta": (
            [Part("2·TP", 2 * tp, BOTH)],
            [Part("2·TP", 2 * tp, BOTH), missed, false],
            f"2·{tp} / (2·{tp} + {fn} + {fp})",
        ),
        "youden_index": ([tpr], [tnr], f"{plain(sensitivity)} + {plain(specificity)} − 1"),
        "positive_likelihood_ratio": ([tpr], [fpr], f"{plain(sensitivity)} / {plain(1 - specificity)}"),
        "negative_likelihood_ratio": ([fnr], [tnr], f"{plain(1 - sensitivity)} / {plain(specificity)}"),
    }[metric.name]
    figure = card()
    used = {part.name.removeprefix("2·") for part in (*above, *below)}
    if used & {"sensitivity", "specificity", "1 − sensitivity", "1 − specificity"}:
        used = {"TP", "FN", "FP", "TN"}
    cells = {(0, 0): right, (0, 1): missed, (1, 0): false, (1, 1): passed}
    _four(figure.add_axes(TABLE), cells, used)
    quotient(figure, above, below, f"{worked} = {plain(value)}")
    caption = (
        f"{metric.title} of 60 decisions{', β = 1' if metric.name == 'f_beta' else ''}: {worked} = {plain(value)}."
    )
    return Drawn(figure, caption)


def _counts() -> m.BinaryCounts:
    numbers = [TRUE_POSITIVE, FALSE_NEGATIVE, FALSE_POSITIVE, TRUE_NEGATIVE]
    return m.BinaryCounts.between(np.repeat([1, 1, 0, 0], numbers), np.repeat([1, 0, 1, 0], numbers))


def _four(axes: Axes, cells: dict[tuple[int, int], Part], used: set[str]) -> None:
    axes.set(xlim=(0, 2), ylim=(2, 0))
    axes.set_axis_off()
    for (row, column), part in cells.items():
        strong = part.name in used
        axes.add_patch(
            Rectangle(
                (column, row), 1, 1, facecolor=part.colour, alpha=0.85 if strong else 0.15, edgecolor=PAPER, linewidth=2
            )
        )
        colour = PAPER if strong and part.colour not in (PALETTE[4], FALSE) else INK
        axes.text(column + 0.5, row + 0.42, f"{part.length:g}", ha="center", va="center", fontsize=13, color=colour)
        axes.text(column + 0.5, row + 0.74, part.name, ha="center", va="center", fontsize=7.5, color=colour)
    for number, name in enumerate(("positive", "negative")):
        axes.text(number + 0.5, -0.06, f"called {name}", ha="center", va="bottom", fontsize=7.5, color=SOFT)
        axes.text(-0.06, number + 0.5, f"truly {name}", ha="right", va="center", fontsize=7.5, color=SOFT, rotation=90)


def _samples() -> tuple[Integers, Integers, Integers]:
    """Return classes, what they are called, and their table: rows are true."""
    table = np.array([[12, 3, 0], [2, 7, 1], [0, 2, 5]])
    truth, call = (np.repeat(side.ravel(), table.ravel()) for side in np.indices(table.shape))
    return truth, call, table


def _matrix(axes: Axes, table: npt.NDArray[Any], *, form: str = ".0f", diagonal: bool = True) -> None:
    """Draw a table of three classes; the diagonal, where they agree, is green."""
    size = len(table)
    axes.set(xlim=(0, size), ylim=(size, 0))
    axes.set_axis_off()
    for row, column in np.ndindex(size, size):
        colour = BOTH if row == column and diagonal else FALSE
        strength = 0.12 + 0.7 * float(table[row, column]) / float(table.max())
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, alpha=strength, edgecolor=PAPER, linewidth=2))
        axes.text(
            column + 0.5, row + 0.5, f"{table[row, column]:{form}}", ha="center", va="center", fontsize=10, color=INK
        )
    for number, name in enumerate("ABC"):
        axes.text(number + 0.5, -0.06, f"called {name}", ha="center", va="bottom", fontsize=7.5, color=SOFT)
        axes.text(-0.08, number + 0.5, f"truly {name}", ha="right", va="center", fontsize=7.5, color=SOFT)


def classification(metric: AnyMetric) -> Drawn:
    """Draw a confusion matrix, and what each class contributes to the metric."""
    truth, call, table = _samples()
    value = float(metric(truth, call))
    figure = card()
    _matrix(figure.add_axes(TABLE), table)
    total, right = int(table.sum()), int(np.trace(table))
    if metric.name in ("accuracy", "error_rate"):
        part = Part("right", right, BOTH) if metric.name == "accuracy" else Part("wrong", total - right, FALSE)
        quotient(figure, [part], [Part("samples", total, SOFT)], f"{part.length:g} / {total} = {plain(value)}")
        return Drawn(figure, f"{metric.title} of {total} samples: {part.length:g} / {total} = {plain(value)}.")
    own = np.diag(table)
    if metric.name == "balanced_accuracy":
        scores, name = own / table.sum(axis=1), "share rightly called"
    else:
        scores, name = 2 * own / (table.sum(axis=0) + table.sum(axis=1)), "F1"
    _by_class(figure, scores, name, value, table.sum(axis=1) if metric.name == "weighted_f1" else None)
    weighted = ", weighted by their samples," if metric.name == "weighted_f1" else ""
    each = ", ".join(plain(float(score)) for score in scores)
    return Drawn(figure, f"{metric.title} of {total} samples: the mean of {each}{weighted} is {plain(value)}.")


def _by_class(figure: Figure, scores: npt.NDArray[Any], name: str, value: float, widths: Any) -> None:
    """Draw a bar for each class, as wide as its weight, and their mean."""
    axes = plot_axes(figure, (0.62, 0.2, 0.34, 0.6), y=name)
    sizes = np.ones(3) if widths is None else widths * 3 / widths.sum()
    edges = np.append(0, np.cumsum(sizes))
    axes.bar(edges[:-1], scores, width=sizes * 0.92, align="edge", color=BOTH)
    axes.set_xticks((edges[1:] + edges[:-1]) / 2, list("ABC"))
    axes.axhline(value, color=INK, linewidth=1, linestyle="--")
    axes.set(ylim=(0, 1), xlim=(-0.1, 3.1))
    heading(axes, f"mean {plain(value)}")


def agreement(metric: AnyMetric) -> Drawn:
    """Draw what was observed beside what chance alone would give."""
    truth, call, table = _samples()
    value = float(metric(truth, call))
    total = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    figure = card()
    for place, cells, name, form in (
        ((0.1, 0.26, 0.33, 0.52), table, "observed", ".0f"),
        ((0.6, 0.26, 0.33, 0.52), expected, "expected by chance", ".1f"),
    ):
        axes = figure.add_axes(place)
        _matrix(axes, cells, form=form)
        axes.text(1.5, -0.5, name, ha="center", va="bottom", fontsize=8.5, fontweight="bold", color=INK)
    right, chance = np.trace(table) / total, np.trace(expected) / total
    shares = f"right: {plain(float(right))}, by chance {plain(float(chance))}"
    figure.text(0.1, 0.12, shares, fontsize=8.5, color=SOFT)
    equation(figure, f"{metric.title}: {plain(value)}")
    return Drawn(figure, f"{metric.title} of {total} samples: {plain(value)}; {shares}.")
