"""Pictures of detections with scores: what lowering the threshold finds, and what it costs; boxes that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from pictures_canvas import BOTH, FALSE, PREDICTION, REFERENCE, Drawn, card, heading, key, mask_axes, plain, plot_axes

from podium import metrics as m
from podium.model import Metric
from podium.report.style import FAINT, INK, SOFT

__all__ = ["boxes", "detections"]

AnyMetric = Metric[..., Any]
IMAGES = (
    ((0.95, 1), (0.9, 1), (0.62, 0), (0.5, 1), (0.2, 0), (0.15, 0)),
    ((0.85, 1), (0.8, 0), (0.7, 1), (0.4, 0), (0.35, 1), (0.1, 0)),
)
MISSED = 1


def detections(metric: AnyMetric) -> Drawn:
    """Draw the scores of detections in two images, right and wrong, and the curve that a metric sums up."""
    images = [
        m.ImageDetections(
            np.array([score for score, _ in own]), np.array([bool(right) for _, right in own]), _references(own)
        )
        for own in IMAGES
    ]
    found = m.Detections.of(images)
    value = float(metric(found))
    figure = card()
    axes = plot_axes(figure, (0.11, 0.2, 0.32, 0.58), x="score")
    axes.set(xlim=(1.02, 0), ylim=(-0.6, 1.6), yticks=[0, 1], yticklabels=["image 2", "image 1"])
    for row, own in enumerate(reversed(IMAGES)):
        for score, right in own:
            axes.plot(score, row, "o" if right else "X", color=BOTH if right else FALSE, markersize=7)
        axes.axhline(row, color=FAINT, linewidth=0.8, zorder=0)
    key(axes, (("right", BOTH), ("wrong", FALSE)))
    said = _froc(figure, found, value) if metric.name == "froc_score" else _precision(figure, images, value)
    return Drawn(figure, f"Detections in two images, in each of which one reference is missed: {said}.")


def _references(own: tuple[tuple[float, int], ...]) -> int:
    return sum(right for _, right in own) + MISSED


def _froc(figure: Figure, found: m.Detections, value: float) -> str:
    axes = plot_axes(figure, (0.57, 0.2, 0.39, 0.58), x="false positives per image", y="sensitivity")
    fine = np.geomspace(0.1, 10, 200)
    axes.plot(fine, m.froc_sensitivities(found, rates=fine.tolist()), color=BOTH, linewidth=1.5)
    rates = (0.125, 0.25, 0.5, 1, 2, 4, 8)
    axes.plot(rates, m.froc_sensitivities(found, rates=rates), "o", color=INK, markersize=4.5, zorder=4)
    axes.set_xscale("log")
    axes.set_xticks(rates, ["⅛", "¼", "½", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.set(xlim=(0.1, 10), ylim=(0, 1.04))
    axes.axhline(value, color=INK, linewidth=1, linestyle="--")
    heading(axes, f"mean {plain(value)}")
    return f"the mean sensitivity at seven rates is {plain(value)}"


def _precision(figure: Figure, images: list[m.ImageDetections], value: float) -> str:
    axes = plot_axes(figure, (0.57, 0.2, 0.39, 0.58), x="recall", y="precision")
    scores, true = (np.concatenate([getattr(own, name) for own in images]) for name in ("scores", "true"))
    right = np.cumsum(true[np.argsort(-scores)])
    recall = right / sum(own.references for own in images)
    precision = right / np.arange(1, right.size + 1)
    points = np.linspace(0, 1, 101)
    best = [max(precision[recall >= point - 1e-12], default=0.0) for point in points]
    axes.fill_between(points, best, color=BOTH, alpha=0.25, step="pre", linewidth=0)
    axes.step(points, best, where="pre", color=BOTH, linewidth=1.5)
    axes.plot(recall, precision, "o-", color=SOFT, markersize=3.5, linewidth=0.8)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.06))
    axes.text(0.05, 0.1, f"area {plain(value)}", fontsize=8.5, fontweight="bold", color=INK)
    return f"the area under the best precision at each recall, read at 101 points, is {plain(value)}"


def boxes(metric: AnyMetric) -> Drawn:
    """Draw boxes with their scores and overlaps, and the average precision at every threshold."""
    truth = np.array([[2, 2, 9, 8], [13, 3, 22, 10], [5, 11, 12, 16]], float)
    claim = np.array([[2.6, 2.2, 9.2, 8.4], [13.4, 4, 22.4, 11.6], [15.5, 12, 23, 16]], float)
    scores = np.array([0.9, 0.8, 0.6])
    known, found = [m.BoxSet(truth)], [m.BoxSet(claim, scores=scores)]
    value = float(metric(known, found))
    figure = card()
    axes = mask_axes(figure, (18, 25), (0.03, 0.08, 0.46, 0.8))
    for corners in truth:
        axes.add_patch(_box(corners, REFERENCE))
    overlaps = m.box_overlaps(claim, truth).max(axis=1)
    for corners, score, share in zip(claim, scores, overlaps, strict=True):
        axes.add_patch(_box(corners, PREDICTION))
        text = f"{score:g}, IoU {share:.2f}"
        axes.text(corners[[0, 2]].mean(), corners[[1, 3]].mean(), text, fontsize=6.5, color=INK, ha="center")
    key(axes, (("reference", REFERENCE), ("predicted, with score", PREDICTION)))
    right = plot_axes(figure, (0.6, 0.2, 0.36, 0.58), x="least IoU of a hit", y="average precision")
    _, by_class = m.average_precisions_of_boxes(known, found)
    right.bar(np.arange(0.5, 1, 0.05), by_class[0], width=0.04, color=BOTH)
    right.axhline(value, color=INK, linewidth=1, linestyle="--")
    right.set(ylim=(0, 1), xticks=[0.5, 0.6, 0.7, 0.8, 0.9])
    heading(right, f"mean {plain(value)}")
    return Drawn(figure, f"Three boxes and three predictions: the mean over ten thresholds is {plain(value)}.")


def _box(corners: Any, colour: str) -> Rectangle:
    x, y, right, bottom = corners
    return Rectangle((x, y), right - x, bottom - y, facecolor="none", edgecolor=colour, linewidth=1.6)
