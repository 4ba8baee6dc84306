"""Pictures of values: reference against prediction, errors and their distribution, differences over means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from pictures_canvas import FALSE, PREDICTION, REFERENCE, Drawn, card, heading, key, plain, plot_axes, with_unit

from podium.model import Metric
from podium.report.style import FAINT, INK, SOFT

__all__ = ["landmarks", "regression"]

AnyMetric = Metric[..., Any]
Floats = npt.NDArray[np.float64]
LEFT, RIGHT = (0.09, 0.2, 0.36, 0.64), (0.6, 0.2, 0.36, 0.6)


def _values() -> tuple[Floats, Floats]:
    reference = np.array([2.0, 3.1, 3.9, 4.6, 5.2, 6.1, 6.8, 7.4, 8.3, 9.0])
    prediction = np.array([3.1, 3.3, 5.4, 4.9, 6.6, 6.4, 8.1, 7.9, 8.6, 10.9])
    return reference, prediction


def regression(metric: AnyMetric) -> Drawn:
    """Draw values against their reference with the errors, and what the metric makes of them."""
    reference, prediction = _values()
    value = float(metric(reference, prediction))
    figure = card()
    axes = plot_axes(figure, LEFT, x="reference", y="prediction")
    axes.plot([1, 11.5], [1, 11.5], color=FAINT, linewidth=1.2)
    axes.vlines(reference, reference, prediction, color=FALSE, linewidth=1.4)
    axes.plot(reference, prediction, "o", color=PREDICTION, markersize=4.5)
    axes.set(xlim=(1, 10), ylim=(1, 11.5))
    right = plot_axes(figure, RIGHT)
    draw: dict[str, Callable[[Axes, Floats, Floats, float], str]] = {
        "bias": _differences,
        "coefficient_of_variation": _variation,
        "coefficient_of_determination": _explained,
        "pearson_correlation": _fitted,
        "concordance_correlation": _identity,
        "intraclass_correlation": _raters,
    }
    said = draw.get(metric.name, _errors(metric.name))(right, reference, prediction, value)
    return Drawn(figure, f"{metric.title} of ten values: {said}.")


def _errors(name: str) -> Callable[[Axes, Floats, Floats, float], str]:
    """Return what draws the sizes of errors in ascending order, and marks what is taken of them."""

    def draw(axes: Axes, reference: Floats, prediction: Floats, value: float) -> str:
        errors = np.sort(np.abs(prediction - reference))
        return _ascending(axes, errors, name, value, "|error|", plain(value))

    return draw


def _ascending(axes: Axes, errors: Floats, name: str, value: float, label: str, text: str) -> str:
    axes.bar(np.arange(1, errors.size + 1), errors, color=FALSE, width=0.7)
    axes.axhline(value, color=INK, linewidth=1, linestyle="--")
    axes.set(xlabel="in ascending order", ylabel=label, xticks=[1, errors.size])
    taken = {
        "root_mean_square_error": "root of the mean square",
        "median_absolute_error": "median",
        "absolute_error_percentile": "95th percentile",
        "landmark_error_percentile": "95th percentile",
    }.get(name, "mean")
    heading(axes, f"{taken} {text}")
    return f"the {taken} of the errors is {text}"


def _differences(axes: Axes, reference: Floats, prediction: Floats, value: float) -> str:
    """Draw Bland and Altman's plot: differences over means."""
    difference, mean = prediction - reference, (prediction + reference) / 2
    axes.axhline(0, color=FAINT, linewidth=1.2)
    axes.plot(mean, difference, "o", color=PREDICTION, markersize=4.5)
    axes.axhline(value, color=INK, linewidth=1.2, linestyle="--")
    spread = 1.96 * difference.std(ddof=1)
    for limit in (value - spread, value + spread):
        axes.axhline(limit, color=SOFT, linewidth=0.9, linestyle=":")
    axes.set(xlabel="mean of both", ylabel="prediction − reference")
    heading(axes, f"mean difference {plain(value)}")
    return f"predictions are too large by {plain(value)} on average; dotted are the limits of agreement"


def _variation(axes: Axes, reference: Floats, prediction: Floats, value: float) -> str:
    mean = (prediction + reference) / 2
    axes.bar(np.arange(1, 11), np.abs(prediction - reference) / np.sqrt(2) / mean, color=FALSE, width=0.7)
    axes.axhline(value, color=INK, linewidth=1, linestyle="--")
    axes.set(xlabel="pair", ylabel="deviation / mean of the pair", xticks=[1, 10])
    heading(axes, f"root of the mean square {plain(value)}")
    return f"the root mean square of each pair's deviation over its mean is {plain(value)}"


def _explained(axes: Axes, reference: Floats, prediction: Floats, value: float) -> str:
    left, whole = ((prediction - reference) ** 2).sum(), ((reference - reference.mean()) ** 2).sum()
    axes.bar([0, 1], [left, whole], color=[FALSE, REFERENCE], width=0.6)
    axes.set_xticks([0, 1], ["squared errors", "squares around\nthe mean"], fontsize=7)
    axes.set(xlim=(-0.6, 1.6), ylabel="sum")
    heading(axes, f"1 − {plain(float(left))} / {plain(float(whole))} = {plain(value)}")
    return f"1 − {plain(float(left))} / {plain(float(whole))} = {plain(value)}"


def _fitted(axes: Axes, reference: Floats, prediction: Floats, value: float) -> str:
    slope, offset = np.polyfit(reference, prediction, 1)
    ends = np.array([1, 10])
    axes.plot(ends, ends, color=FAINT, linewidth=1.2)
    axes.plot(ends, slope * ends + offset, color=INK, linewidth=1.2, linestyle="--")
    axes.plot(reference, prediction, "o", color=PREDICTION, markersize=4.5)
    axes.set(xlim=(1, 10), ylim=(1, 11.5), xlabel="reference", ylabel="prediction")
    heading(axes, f"r = {plain(value)}")
    return f"{plain(value)}, how near the values lie to any rising line, dashed, wherever that is"


def _identity(axes: Axes, reference: Floats, prediction: Floats, value: float) -> str:
    axes.plot([1, 10], [1, 10], color=INK, linewidth=1.2, linestyle="--")
    axes.plot(reference, prediction, "o", color=PREDICTION, markersize=4.5)
    axes.plot(reference.mean(), prediction.mean(), "D", color=INK, markersize=6)
    axes.set(xlim=(1, 10), ylim=(1, 11.5), xlabel="reference", ylabel="prediction")
    axes.text(reference.mean() + 0.4, prediction.mean() - 1.3, "both means", fontsize=7.5, color=INK)
    heading(axes, f"{plain(value)}")
    return f"{plain(value)}, how near the values lie to the line of identity, dashed"


def _raters(axes: Axes, reference: Floats, prediction: Floats, value: float) -> str:
    for subject, pair in enumerate(zip(reference, prediction, strict=True), 1):
        axes.plot([subject, subject], pair, color=FAINT, linewidth=1.4, zorder=1)
    axes.plot(range(1, 11), reference, "o", color=REFERENCE, markersize=4.5)
    axes.plot(range(1, 11), prediction, "o", color=PREDICTION, markersize=4.5)
    axes.set(xlabel="subject", ylabel="value", xticks=[1, 10], ylim=(0, 12))
    key(axes, (("reference", REFERENCE), ("prediction", PREDICTION)))
    axes.text(0.7, 10.6, f"ICC {plain(value)}", fontsize=8.5, fontweight="bold", color=INK)
    return f"{plain(value)} of the variance is between subjects, and not between the two ratings of one"


def landmarks(metric: AnyMetric) -> Drawn:
    """Draw points with their predictions, and the distances in ascending order."""
    reference = np.array([[12, 10], [38, 14], [25, 26], [10, 38], [44, 36], [30, 44], [50, 8]], float)
    moved = np.array([[2, 1.5], [-1, 4], [3.5, 0.5], [-2, -1], [1, -6.5], [0.5, 2.5], [-4, 2]], float)
    value = float(metric(reference, reference + moved))
    figure = card()
    axes = figure.add_axes((0.03, 0.06, 0.46, 0.8))
    axes.set(xlim=(0, 60), ylim=(50, 0), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
    for one, two in zip(reference, reference + moved, strict=True):
        axes.plot(*zip(one, two, strict=True), color=INK, linewidth=1.2, zorder=2)
    axes.plot(*reference.T, "o", color=REFERENCE, markersize=6, zorder=3)
    axes.plot(*(reference + moved).T, "X", color=PREDICTION, markersize=6, zorder=3)
    key(axes, (("reference", REFERENCE), ("prediction", PREDICTION)))
    right = plot_axes(figure, RIGHT)
    errors = np.sort(np.linalg.norm(moved, axis=1))
    said = _ascending(right, errors, metric.name, value, "distance, mm", with_unit(metric, value))
    return Drawn(figure, f"{metric.title} of seven points: {said}.")
