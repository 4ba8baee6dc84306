"""Pictures of probabilities: curves over all thresholds, losses of each sample, bins of calibration, benefit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from pictures_canvas import BOTH, FALSE, PREDICTION, REFERENCE, Drawn, card, heading, key, plain, plot_axes

from podium import metrics as m
from podium.model import Metric
from podium.report.style import FAINT, INK, PALETTE, SOFT

__all__ = ["class_probabilities", "probabilities"]

AnyMetric = Metric[..., Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
LEFT, RIGHT = (0.1, 0.2, 0.34, 0.6), (0.58, 0.2, 0.38, 0.6)
BINS = 5


def _sample() -> tuple[Integers, Floats]:
    """Return twenty samples, in descending order of their probabilities."""
    scores = np.array(
        [0.97, 0.92, 0.9, 0.84, 0.8, 0.74, 0.7, 0.66, 0.6, 0.55, 0.5, 0.46, 0.4, 0.33, 0.3, 0.24, 0.2, 0.12, 0.08, 0.04]
    )
    truth = np.array([1, 1, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0])
    return truth, scores


def probabilities(metric: AnyMetric) -> Drawn:
    """Draw twenty samples with their probabilities, and what the metric makes of them."""
    truth, scores = _sample()
    options = {"bins": BINS} if metric.name == "expected_calibration_error" else {}
    value = float(metric(truth, scores, **options))
    figure = card()
    axes = plot_axes(figure, LEFT, x="probability")
    _dots(axes, truth, scores)
    right = plot_axes(figure, RIGHT)
    draw: dict[str, Callable[[Axes, Integers, Floats, float], str]] = {
        "area_under_roc": _roc,
        "area_under_precision_recall": _precision_recall,
        "brier_score": _squares,
        "log_loss": _logarithms,
        "expected_calibration_error": _bins,
        "net_benefit": _benefit,
    }
    said = draw[metric.name](right, truth, scores, value)
    return Drawn(figure, f"{metric.title} of twenty samples: {said}.")


def _dots(axes: Axes, truth: Integers, scores: Floats) -> None:
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.5, 1.5), yticks=[0, 1], yticklabels=["0", "1"], xticks=[0, 0.5, 1])
    for kind, colour in ((0, REFERENCE), (1, PREDICTION)):
        axes.plot(scores[truth == kind], np.full((truth == kind).sum(), kind), "o", color=colour, markersize=5)
        axes.axhline(kind, color=FAINT, linewidth=0.8, zorder=0)
    key(axes, (("truly 0", REFERENCE), ("truly 1", PREDICTION)))


def _roc(axes: Axes, truth: Integers, scores: Floats, value: float) -> str:
    _draw_roc(axes, truth, scores, BOTH, filled=True)
    heading(axes, f"area {plain(value)}")
    return f"the area under the ROC curve is {plain(value)}"


def _draw_roc(axes: Axes, truth: Integers, scores: Floats, colour: str, *, filled: bool = False) -> None:
    order = np.argsort(-scores, kind="stable")
    hits, alarms = (np.append(0, np.cumsum(side[order]) / side.sum()) for side in (truth, 1 - truth))
    axes.plot(alarms, hits, color=colour, linewidth=1.6)
    if filled:
        axes.fill_between(alarms, hits, color=colour, alpha=0.2, linewidth=0)
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle="--")
    axes.set(xlim=(0, 1.01), ylim=(0, 1.03), xlabel="false positive rate", ylabel="true positive rate")


def _precision_recall(axes: Axes, truth: Integers, scores: Floats, value: float) -> str:
    _draw_precision(axes, truth, scores, BOTH, filled=True)
    axes.axhline(truth.mean(), color=FAINT, linewidth=1, linestyle="--")
    heading(axes, f"area {plain(value)}")
    return f"the area under the steps of precision is {plain(value)}, {plain(truth.mean())} without any knowledge"


def _draw_precision(axes: Axes, truth: Integers, scores: Floats, colour: str, *, filled: bool = False) -> None:
    ranked = truth[np.argsort(-scores, kind="stable")]
    right = np.cumsum(ranked)
    recall, precision = ((right / of)[ranked == 1] for of in (truth.sum(), np.arange(1, right.size + 1)))
    recall, precision = np.append(0, recall), np.append(precision[0], precision)
    axes.step(recall, precision, where="pre", color=colour, linewidth=1.6)
    if filled:
        axes.fill_between(recall, precision, step="pre", color=colour, alpha=0.2, linewidth=0)
    axes.set(xlim=(0, 1.01), ylim=(0, 1.05), xlabel="recall", ylabel="precision")


def _squares(axes: Axes, truth: Integers, scores: Floats, value: float) -> str:
    return _losses(axes, truth, scores, (scores - truth) ** 2, "(p − y)²", value)


def _logarithms(axes: Axes, truth: Integers, scores: Floats, value: float) -> str:
    return _losses(axes, truth, scores, -np.log(np.where(truth == 1, scores, 1 - scores)), "−ln p of the truth", value)


def _losses(axes: Axes, truth: Integers, scores: Floats, losses: Floats, name: str, value: float) -> str:
    for kind, colour in ((0, REFERENCE), (1, PREDICTION)):
        axes.vlines(scores[truth == kind], 0, losses[truth == kind], color=colour, linewidth=2)
        axes.plot(scores[truth == kind], losses[truth == kind], "o", color=colour, markersize=4)
    axes.axhline(value, color=INK, linewidth=1, linestyle="--")
    axes.set(xlim=(0, 1.01), ylim=(0, None), xlabel="probability", ylabel=name)
    heading(axes, f"mean {plain(value)}")
    return f"the mean of {name} is {plain(value)}"


def _bins(axes: Axes, truth: Integers, scores: Floats, value: float) -> str:
    _draw_bins(axes, truth.astype(float), scores)
    axes.set(xlabel="probability", ylabel="share of positives")
    heading(axes, f"weighted mean of the gaps {plain(value)}")
    return f"the gaps of {BINS} bins, weighted by their samples, have a mean of {plain(value)}"


def _draw_bins(axes: Axes, right: Floats, scores: Floats) -> None:
    """Draw for each bin how often it was right, and the gap to the mean probability."""
    for number in range(BINS):
        inside = np.minimum((scores * BINS).astype(int), BINS - 1) == number
        if inside.any():
            middle, share, mean = (number + 0.5) / BINS, right[inside].mean(), scores[inside].mean()
            axes.bar(middle, share, width=0.9 / BINS, color=BOTH, alpha=0.6)
            axes.plot([middle, middle], [share, mean], color=FALSE, linewidth=3, solid_capstyle="butt")
            axes.plot(middle, mean, "_", color=INK, markersize=12)
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle="--")
    axes.set(xlim=(0, 1), ylim=(0, 1.05))


def _benefit(axes: Axes, truth: Integers, scores: Floats, value: float) -> str:
    thresholds = np.linspace(0.02, 0.9, 120)
    axes.plot(
        thresholds, [m.net_benefit(truth, scores, threshold=float(t)) for t in thresholds], color=BOTH, linewidth=1.6
    )
    everybody = [m.net_benefit(truth, np.ones(truth.size), threshold=float(t)) for t in thresholds]
    axes.plot(thresholds, everybody, color=SOFT, linewidth=1, linestyle="--")
    axes.axhline(0, color=FAINT, linewidth=1)
    axes.plot(0.5, value, "o", color=INK, markersize=5, zorder=4)
    axes.text(0.53, value + 0.03, plain(value), fontsize=8.5, fontweight="bold", color=INK)
    axes.text(0.55, -0.17, "treat everybody", fontsize=7.5, color=SOFT, ha="right")
    axes.set(xlim=(0, 0.9), ylim=(-0.25, 0.58), xlabel="threshold t", ylabel="net benefit")
    return f"{plain(value)} at a threshold of 0.5; the dashed line treats everybody"


def _classes() -> tuple[Integers, Floats]:
    """Return nine samples of three classes with their probabilities."""
    chances = np.array(
        [
            [0.7, 0.2, 0.1],
            [0.5, 0.4, 0.1],
            [0.3, 0.5, 0.2],
            [0.1, 0.8, 0.1],
            [0.2, 0.6, 0.2],
            [0.6, 0.3, 0.1],
            [0.1, 0.2, 0.7],
            [0.2, 0.2, 0.6],
            [0.1, 0.5, 0.4],
        ]
    )
    return np.repeat([0, 1, 2], 3), chances


def class_probabilities(metric: AnyMetric) -> Drawn:
    """Draw the probabilities of nine samples for three classes, and what the metric makes of them."""
    truth, chances = _classes()
    options = {"bins": BINS} if metric.name == "top_label_calibration_error" else {}
    value = float(metric(truth, chances, **options))
    figure = card()
    _table(figure.add_axes((0.03, 0.08, 0.36, 0.8)), truth, chances, metric.name)
    axes = plot_axes(figure, (0.55, 0.2, 0.41, 0.6))
    draw: dict[str, Callable[[Axes, Integers, Floats, float], str]] = {
        "macro_area_under_roc": _rocs,
        "macro_area_under_precision_recall": _precisions,
        "multiclass_brier_score": _class_squares,
        "multiclass_log_loss": _class_logarithms,
        "top_k_accuracy": _top,
        "top_label_calibration_error": _top_bins,
    }
    said = draw[metric.name](axes, truth, chances, value)
    return Drawn(figure, f"{metric.title} of nine samples of three classes: {said}.")


def _table(axes: Axes, truth: Integers, chances: Floats, name: str) -> None:
    """Draw the probabilities as a table; that of the true class has a frame, the highest is bold."""
    axes.set(xlim=(-0.5, 2.5), ylim=(8.5, -1.4))
    axes.set_axis_off()
    axes.imshow(chances, cmap="Greys", vmin=0, vmax=1.6, aspect="auto")
    for column in range(3):
        axes.text(column, -0.9, f"class {'ABC'[column]}", ha="center", fontsize=7.5, color=PALETTE[column])
        for row in range(9):
            highest = chances[row, column] == chances[row].max() and name.startswith("top")
            weight = "bold" if highest else "normal"
            axes.text(
                column,
                row,
                f"{chances[row, column]:.1f}",
                ha="center",
                va="center",
                fontsize=7.5,
                color=INK,
                fontweight=weight,
            )
    for row, column in enumerate(truth):
        axes.plot(
            [column - 0.47, column + 0.47, column + 0.47, column - 0.47, column - 0.47],
            [row - 0.44, row - 0.44, row + 0.44, row + 0.44, row - 0.44],
            color=PALETTE[column],
            linewidth=1.6,
        )


def _rocs(axes: Axes, truth: Integers, chances: Floats, value: float) -> str:
    return _each_class(axes, truth, chances, value, _draw_roc, m.area_under_roc)


def _precisions(axes: Axes, truth: Integers, chances: Floats, value: float) -> str:
    return _each_class(axes, truth, chances, value, _draw_precision, m.area_under_precision_recall)


def _each_class(axes: Axes, truth: Integers, chances: Floats, value: float, draw: Any, metric: Any) -> str:
    areas = []
    for column in range(3):
        own = (truth == column).astype(int)
        # Thinner from class to class, so that curves that coincide are all seen.
        draw(axes, own, chances[:, column], PALETTE[column])
        axes.lines[-1 if draw is _draw_precision else -2].set_linewidth(3.2 - column)
        areas.append(plain(float(metric(own, chances[:, column]))))
    heading(axes, f"mean of {', '.join(areas)} = {plain(value)}")
    return f"each class against the rest, the mean of {', '.join(areas)} is {plain(value)}"


def _class_squares(axes: Axes, truth: Integers, chances: Floats, value: float) -> str:
    losses = ((chances - np.eye(3)[truth]) ** 2).sum(axis=1)
    return _sample_losses(axes, truth, losses, "Σ (p − y)²", value)


def _class_logarithms(axes: Axes, truth: Integers, chances: Floats, value: float) -> str:
    return _sample_losses(axes, truth, -np.log(chances[np.arange(9), truth]), "−ln p of the true class", value)


def _sample_losses(axes: Axes, truth: Integers, losses: Floats, name: str, value: float) -> str:
    axes.barh(range(9), losses, color=[PALETTE[kind] for kind in truth], height=0.7)
    axes.axvline(value, color=INK, linewidth=1, linestyle="--")
    axes.set(ylim=(8.5, -0.5), yticks=[], xlabel=name)
    heading(axes, f"mean {plain(value)}")
    return f"the mean of {name} over the samples is {plain(value)}"


def _top(axes: Axes, truth: Integers, chances: Floats, value: float) -> str:
    right = chances.argmax(axis=1) == truth
    axes.set(ylim=(8.5, -0.5), xlim=(0, 1))
    axes.set_axis_off()
    for row, is_right in enumerate(right):
        text = "the true class is the highest" if is_right else "another is higher"
        axes.text(0, row, "✓" if is_right else "✗", fontsize=9, va="center", color=BOTH if is_right else FALSE)
        axes.text(0.07, row, text, fontsize=7.5, va="center", color=INK)
    heading(axes, f"{right.sum()} of 9 = {plain(value)}")
    return f"in {right.sum()} of 9, {plain(value)}, the true class has the highest probability (k = 1)"


def _top_bins(axes: Axes, truth: Integers, chances: Floats, value: float) -> str:
    _draw_bins(axes, (chances.argmax(axis=1) == truth).astype(float), chances.max(axis=1))
    axes.set(xlabel="highest probability", ylabel="share right")
    heading(axes, f"weighted mean of the gaps {plain(value)}")
    return f"the gaps of {BINS} bins, weighted by their samples, have a mean of {plain(value)}"
