"""Pictures of images, deformations and sweeps: intensities beside each other, folded grids, frames in space."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Polygon
from pictures_canvas import FALSE, PREDICTION, REFERENCE, Drawn, card, heading, key, plain, plot_axes, with_unit
from scipy.ndimage import gaussian_filter

from podium import metrics as m
from podium.model import Metric
from podium.report.style import FAINT, INK

__all__ = ["deformations", "images", "reconstruction"]

AnyMetric = Metric[..., Any]
Floats = npt.NDArray[np.float64]
COARSE = 6
"""How many times a pixel is repeated, so that no browser blurs it."""


def _photographs() -> tuple[Floats, Floats]:
    """Return a picture of two blobs, and the same blurred on one side and noisy on the other."""
    rows, columns = np.indices((28, 28))
    image = 0.25 + 0.5 * (np.hypot(rows - 10, columns - 9) < 6) + 0.35 * (np.hypot(rows - 18, columns - 19) < 7)
    image = np.clip(image * (1 - 0.3 * ((rows + columns) % 4 == 0)), 0, 1)
    changed = image + np.random.default_rng(3).normal(0, 0.08, image.shape)
    changed[:, :14] = gaussian_filter(image, 1.4)[:, :14]
    return image, np.clip(changed, 0, 1)


def images(metric: AnyMetric) -> Drawn:
    """Draw two images, and where they differ in the eyes of the metric."""
    reference, prediction = _photographs()
    value = float(metric(reference, prediction, data_range=1.0))
    if metric.name == "structural_similarity":
        local = m.structural_similarity_map(reference, prediction, data_range=1.0)
        name, least, most = "similarity", 0.0, 1.0
        said = "the mean over all windows; dark where structure is lost"
    else:
        local = (prediction - reference) ** 2
        name, least, most = "squared error", 0.0, float(local.max())
        said = f"ten times the logarithm of 1 over the mean squared error, {plain(float(local.mean()))}"
    figure = card()
    shown = ((reference, "reference", 0.0, 1.0), (prediction, "prediction", 0.0, 1.0), (local, name, least, most))
    for number, (pixels, title, low, high) in enumerate(shown):
        axes = figure.add_axes((0.03 + 0.325 * number, 0.08, 0.29, 0.72))
        colours = "gray" if number < 2 or metric.name == "structural_similarity" else "gray_r"
        axes.imshow(np.kron(pixels, np.ones((COARSE, COARSE))), cmap=colours, vmin=low, vmax=high, interpolation="none")
        axes.set_axis_off()
        heading(axes, title if number < 2 else f"{title}: {with_unit(metric, value)}")
    return Drawn(figure, f"{metric.title} of two images: {with_unit(metric, value)}, {said}.")


def deformations(metric: AnyMetric) -> Drawn:
    """Draw a grid before and after a deformation; what is folded is filled."""
    size = 15
    rows, columns = np.indices((size, size)).astype(float)
    push = 4.6 * np.exp(-((rows - 7) ** 2 + (columns - 5) ** 2) / 9)
    field = np.stack([0.25 * push, push])
    value = float(metric(field))
    folded = m.jacobian_determinants(field) <= 0
    figure = card()
    after = np.indices((size, size)) + field
    for left, places, name in ((0.04, np.indices((size, size)), "before"), (0.53, after, "after")):
        axes = figure.add_axes((left, 0.06, 0.43, 0.78))
        axes.set(xlim=(-0.8, size - 0.2), ylim=(size - 0.2, -0.8), aspect="equal")
        axes.set_axis_off()
        for k in range(size):
            axes.plot(places[1, k], places[0, k], color=REFERENCE, linewidth=0.8)
            axes.plot(places[1, :, k], places[0, :, k], color=REFERENCE, linewidth=0.8)
        axes.plot(places[1][folded], places[0][folded], "o", color=FALSE, markersize=3.5, zorder=4)
        heading(axes, name if left < 0.5 else f"{name}: {folded.sum()} of {folded.size} folded")
    said = f"{folded.sum()} of {folded.size} points have a determinant of 0 or less, {plain(value)}"
    return Drawn(figure, f"A grid that is pushed so far that it folds: {said}.")


def _sweep() -> tuple[Floats, Floats]:
    """Return the true and the predicted transforms of five frames, which drift apart."""
    true, predicted = np.broadcast_to(np.eye(4), (2, 5, 4, 4)).copy()
    steps = np.arange(5)
    true[:, 2, 3], predicted[:, 2, 3] = 5.0 * steps, 4.4 * steps
    predicted[:, 1, 3] = 0.9 * steps
    for step in steps:
        turn = 0.05 * step
        predicted[step, :2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    return true, predicted


def reconstruction(metric: AnyMetric) -> Drawn:
    """Draw frames of a sweep where they are and where they are predicted, and the error of each."""
    true, predicted = _sweep()
    height, width, scaling = 12, 16, np.diag([1.0, 1.0, 1.0, 1.0])
    y, x = np.mgrid[1 : height + 1, 1 : width + 1].reshape(2, -1)
    pixels = np.stack([x, y, 0 * x, np.ones(x.size)])
    ways = [((two - one) @ pixels)[:3] for one, two in zip(true, predicted, strict=True)]
    if metric.name == "transform_error":
        value = float(metric(true, predicted, scaling=scaling, shape=(height, width)))
    else:
        fields = [((two - np.eye(4)) @ pixels)[:3] for two in predicted]
        value = float(metric(true, iter(fields), scaling=scaling, width=width))
    errors = [float(np.linalg.norm(way, axis=0).mean()) for way in ways]
    figure = card()
    axes = figure.add_axes((0.03, 0.05, 0.5, 0.8))
    axes.set_axis_off()
    axes.set(xlim=(-1, 34), ylim=(25, -1))
    corners = np.array([[1, 1, 0, 1], [width, 1, 0, 1], [width, height, 0, 1], [1, height, 0, 1]], float).T
    for poses, colour in ((true, REFERENCE), (predicted, PREDICTION)):
        for pose in poses:
            place = (pose @ corners)[:3]
            drawn = np.stack([place[0] + 0.75 * place[2], place[1] + 0.28 * place[2]], axis=1)
            axes.add_patch(Polygon(drawn, facecolor=colour, alpha=0.08, edgecolor="none"))
            axes.add_patch(Polygon(drawn, facecolor="none", edgecolor=colour, linewidth=1.2))
    key(axes, (("true frames", REFERENCE), ("predicted", PREDICTION)))
    right = plot_axes(figure, (0.64, 0.2, 0.32, 0.6), x="frame", y="mean error of its pixels, mm")
    right.bar(range(1, 6), errors, color=FALSE, width=0.65)
    right.axhline(value, color=INK, linewidth=1, linestyle="--")
    right.axhline(0, color=FAINT, linewidth=1)
    heading(right, f"mean {with_unit(metric, value)}")
    return Drawn(
        figure, f"Five frames of a sweep that drift: the pixels are {with_unit(metric, value)} off on average."
    )
