"""Pictures of instances and lesions: which belong together, what was missed and what is false."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from pictures_canvas import (
    BOTH,
    FALSE,
    PREDICTION,
    REFERENCE,
    Drawn,
    Part,
    bars,
    card,
    equation,
    heading,
    key,
    mask_axes,
    plain,
    plot_axes,
    shape,
    with_unit,
)
from pictures_of_overlap import ellipse

from podium import metrics as m
from podium.model import Metric
from podium.report.style import INK

__all__ = ["instances", "lesions"]

Integers = npt.NDArray[np.int64]
AnyMetric = Metric[..., Any]
Places = tuple[tuple[tuple[float, float], tuple[float, float]], ...]
SIZE = (22, 30)
LEFT = (0.03, 0.08, 0.46, 0.8)
PRICE_MM = 20.0


def _maps() -> tuple[Integers, Integers]:
    """Return four instances: two found, one hardly, one missed; and two that are false."""
    reference, prediction = np.zeros((2, *SIZE), np.int64)
    places: Places = (((5, 5), (3.6, 3.6)), ((5, 16), (3.2, 4.2)), ((15, 6), (3.4, 3.4)), ((15, 23), (3.6, 4.4)))
    for number, (centre, radii) in enumerate(places, 1):
        reference[ellipse(SIZE, centre, radii)] = number
    moved: Places = (
        ((5, 5.8), (3.4, 3.4)),
        ((5.6, 16), (3.3, 4.4)),
        ((17, 25.5), (2.4, 3.2)),
        ((5, 26), (2.3, 2.3)),
        ((15, 14), (1.7, 1.7)),
    )
    for number, (centre, radii) in enumerate(moved, 1):
        prediction[ellipse(SIZE, centre, radii)] = number
    return reference, prediction


def instances(metric: AnyMetric) -> Drawn:
    """Draw instances with the IoU of those that belong together, and the counts that the metric is made of."""
    reference, prediction = _maps()
    overlaps = m.InstanceOverlaps.between(reference, prediction)
    counts = m.InstanceCounts.between(reference, prediction)
    levels = m.InstanceCounts.at_thresholds(overlaps)
    value = float(metric(levels if metric.name == "segmentation_average_precision" else counts))
    found = _found(reference, prediction)
    figure = card()
    axes = mask_axes(figure, SIZE, LEFT)
    for number in range(1, reference.max() + 1):
        own, matched = reference == number, number in found
        shape(axes, own, REFERENCE, alpha=0.0 if matched else 0.3, line=1.6)
        row, column = _middle(own)
        text = f"IoU {found[number][1]:.2f}" if matched else "missed"
        axes.text(column, row, text, fontsize=7, color=INK, ha="center", va="center", zorder=6)
    right = {partner for partner, _ in found.values()}
    for number in range(1, prediction.max() + 1):
        shape(axes, prediction == number, BOTH if number in right else FALSE, alpha=0.45)
    key(axes, (("reference", REFERENCE), ("predicted, matched", BOTH), ("not matched", FALSE)))
    said = _counted(figure, metric, value, found, levels)
    caption = f"{metric.title} of four instances, matched where the IoU is more than 0.5: {said}."
    return Drawn(figure, caption)


def _found(reference: Integers, prediction: Integers) -> dict[int, tuple[int, float]]:
    """Return for each instance that was found which predicted one it belongs to, and their IoU."""
    found = {}
    for number in range(1, reference.max() + 1):
        for other in range(1, prediction.max() + 1):
            one, two = reference == number, prediction == other
            share = float((one & two).sum() / (one | two).sum())
            if share > 0.5:
                found[number] = other, share
    return found


def _counted(
    figure: Any, metric: AnyMetric, value: float, found: dict[int, tuple[int, float]], levels: m.InstanceCounts
) -> str:
    """Draw the counts or qualities that a metric of instances is made of, and return it worked out."""
    true, missed, false = len(found), 4 - len(found), 5 - len(found)
    shares = [share for _, share in found.values()]
    hit, lost, wrong = Part("TP", true, BOTH), Part("FN", missed, REFERENCE), Part("FP", false, FALSE)
    if metric.name == "segmentation_average_precision":
        axes = plot_axes(figure, (0.6, 0.2, 0.36, 0.62), x="least IoU of a match", y="TP / (TP + FP + FN)")
        thresholds = np.arange(0.5, 1, 0.05)
        each = [float(np.squeeze(s)) for s in np.atleast_1d(_by_threshold(levels))]
        axes.bar(thresholds, each, width=0.04, color=BOTH)
        axes.axhline(value, color=INK, linewidth=1, linestyle="--")
        heading(axes, f"mean {plain(value)}")
        axes.set(ylim=(0, max(each) * 1.15), xticks=[0.5, 0.6, 0.7, 0.8, 0.9])
        return f"{plain(value)}, the mean over ten thresholds"
    total = plain(sum(shares))
    rows, worked = {
        "detection_sensitivity": ([[hit, lost]], f"{true} / ({true} + {missed})"),
        "detection_precision": ([[hit, wrong]], f"{true} / ({true} + {false})"),
        "detection_f1": ([[hit, lost, wrong]], f"2·{true} / (2·{true} + {false} + {missed})"),
        "recognition_quality": ([[hit, lost, wrong]], f"{true} / ({true} + {false}/2 + {missed}/2)"),
        "segmentation_quality": ([[Part("IoU", share, BOTH)] for share in shares], f"{total} / {true}"),
        "panoptic_quality": ([[hit, lost, wrong]], f"{total} / ({true} + {false}/2 + {missed}/2)"),
    }[metric.name]
    bars(figure.add_axes((0.55, 0.36, 0.41, 0.5 if len(rows) > 1 else 0.34)), rows)
    equation(figure, f"{worked} = {plain(value)}")
    return f"{worked} = {plain(value)}"


def _by_threshold(levels: m.InstanceCounts) -> Any:
    """Return TP / (TP + FP + FN) at each threshold."""
    return levels.matched_references / (levels.references + levels.predictions - levels.matched_references)


def lesions(metric: AnyMetric) -> Drawn:
    """Draw lesions with what was predicted for each, and the value of every lesion with their mean."""
    reference, prediction = _maps()
    pair = m.LesionComparison.by_contact(reference > 0, prediction > 0)
    options = {"price_mm": PRICE_MM} if metric.unit else {}
    value = float(metric(pair, **options))
    figure = card()
    axes = mask_axes(figure, SIZE, LEFT)
    shape(axes, reference > 0, REFERENCE, alpha=0.15, line=1.6)
    shape(axes, prediction > 0, PREDICTION, alpha=0.35)
    rows = _rows(metric)
    for name, _, (row, column) in rows:
        axes.text(column, row, name, fontsize=8, fontweight="bold", color=INK, ha="center", va="center", zorder=6)
    key(axes, (("lesions", REFERENCE), ("predicted", PREDICTION)))
    right = plot_axes(
        figure, (0.6, 0.2, 0.36, 0.62), y=metric.title.removeprefix("Lesion-wise ") + (", mm" * bool(metric.unit))
    )
    names, values = [name for name, _, _ in rows], [own for _, own, _ in rows]
    colours = [FALSE if name in ("missed", "false") else BOTH for name in names]
    right.bar(range(len(rows)), values, color=colours, width=0.6)
    right.set_xticks(range(len(rows)), names, fontsize=7.5)
    right.axhline(value, color=INK, linewidth=1, linestyle="--")
    heading(right, f"mean {with_unit(metric, value)}")
    price = (
        f", {PRICE_MM:g} mm for what was missed or is false" if metric.unit else ", 0 for what was missed or is false"
    )
    caption = f"{metric.title}: the mean over lesions{price}: {with_unit(metric, value)}."
    return Drawn(figure, caption)


def _rows(metric: AnyMetric) -> list[tuple[str, float, tuple[float, float]]]:
    """Return name, value and place of each lesion, and of what is false."""
    measured: Callable[..., float] = {
        "lesion_wise_dice": lambda one, two: m.dice(m.Overlap.between(one, two)),
        "lesion_wise_surface_dice": lambda one, two: m.surface_dice(m.SurfaceDistances.between(one, two)),
        "lesion_wise_hausdorff_distance_95": lambda one, two: m.hausdorff_distance_95(
            m.SurfaceDistances.between(one, two)
        ),
    }[metric.name]
    reference, prediction = _maps()
    price = PRICE_MM if metric.unit else 0.0
    rows = []
    for number in range(1, 5):
        own = reference == number
        met = np.isin(prediction, np.setdiff1d(prediction[own], [0]))
        name, value = (str(number), float(measured(own, met))) if met.any() else ("missed", price)
        rows.append((name, value, _middle(own)))
    false = [k for k in range(1, prediction.max() + 1) if not reference[prediction == k].any()]
    return [*rows, *(("false", price, _middle(prediction == k)) for k in false)]


def _middle(mask: npt.NDArray[np.bool_]) -> tuple[float, float]:
    row, column = np.argwhere(mask).mean(axis=0)
    return float(row), float(column)
