"""Pictures of distances between boundaries: from every element of each to the nearest of the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from pictures_canvas import BOTH, FALSE, PREDICTION, REFERENCE, Drawn, card, key, mask_axes, plain, plot_axes, with_unit
from pictures_of_overlap import ellipse
from scipy.spatial import cKDTree

from podium import metrics as m
from podium.model import Metric
from podium.report.style import FAINT, INK, SOFT

__all__ = ["surface"]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
TOLERANCE_MM = 1.0
PIXEL_MM = 1.0


class Boundary(NamedTuple):
    """The elements of a boundary: where they are (row, column), and how far each is from which of the other's."""

    places: Floats
    distances: Floats
    nearest: Floats


def _elements(mask: Mask) -> Floats:
    """Return the points between pixels, of which not all four neighbours are inside or outside."""
    padded = np.pad(mask, 1).astype(int)
    inside = padded[:-1, :-1] + padded[1:, :-1] + padded[:-1, 1:] + padded[1:, 1:]
    return np.argwhere((inside > 0) & (inside < 4)).astype(np.float64) - 0.5


def _pair() -> tuple[Mask, Mask]:
    """Return a mask, and a prediction that is moved and has a bump."""
    reference = ellipse((20, 26), (10, 11.5), (6.5, 9))
    prediction = ellipse((20, 26), (10, 12.5), (5.5, 8.5))
    prediction[8:10, 19:25] = True
    return reference, prediction


def surface(metric: Metric[..., Any]) -> Drawn:
    """Draw two boundaries with the distances that count, and how these are distributed."""
    masks = _pair()
    pair = m.SurfaceDistances.between(*masks, spacing_mm=PIXEL_MM)
    value = float(metric(pair))
    places = [_elements(mask) for mask in masks]
    boundaries = []
    for own, other in (places, places[::-1]):
        distances, found = cKDTree(other).query(own)
        boundaries.append(Boundary(own, np.asarray(distances) * PIXEL_MM, other[found]))
    figure = card()
    axes = mask_axes(figure, masks[0].shape, (0.03, 0.08, 0.48, 0.8))
    for mask, colour in zip(masks, (REFERENCE, PREDICTION), strict=True):
        level = np.pad(mask, 1).astype(float)
        grid = np.arange(-1, level.shape[1] - 1), np.arange(-1, level.shape[0] - 1)
        axes.contour(*grid, level, levels=[0.5], colors=[colour], linewidths=1.8)
    if metric.name == "surface_dice":
        _within(axes, boundaries)
    else:
        _distances(axes, boundaries, value if metric.name.startswith("hausdorff") else None)
    right = plot_axes(figure, (0.62, 0.2, 0.34, 0.6), x="distance, mm", y="share of the boundary within")
    said = _distribution(right, metric, pair, value)
    caption = f"{metric.title} of two boundaries, pixels of {PIXEL_MM:g} mm: {said}."
    return Drawn(figure, caption)


def _within(axes: Axes, boundaries: list[Boundary]) -> None:
    for own in boundaries:
        near = own.distances <= TOLERANCE_MM
        for chosen, colour in ((near, BOTH), (~near, FALSE)):
            axes.plot(*own.places[chosen].T[::-1], "o", color=colour, markersize=2.6, zorder=4)
    key(axes, (("R", REFERENCE), ("P", PREDICTION), ("within 1 mm", BOTH), ("beyond", FALSE)))


def _distances(axes: Axes, boundaries: list[Boundary], longest: float | None) -> None:
    """Draw the way of every element to the nearest one; that of a length that counts in bold."""
    marked = False
    for own, colour in zip(boundaries, (REFERENCE, PREDICTION), strict=True):
        ways = np.stack([own.places, own.nearest], axis=1)[..., ::-1]
        axes.add_collection(LineCollection(list(ways), colors=colour, linewidths=0.8, alpha=0.8))
        if longest is not None and not marked and np.isclose(own.distances, longest).any():
            way = ways[int(np.argmax(np.isclose(own.distances, longest)))]
            axes.plot(*way.T, color=INK, linewidth=2.6, zorder=5, solid_capstyle="butt")
            marked = True
    key(axes, (("from R to P", REFERENCE), ("from P to R", PREDICTION)))


def _distribution(axes: Axes, metric: Metric[..., Any], pair: m.SurfaceDistances, value: float) -> str:
    """Draw how much of each boundary is how far away, mark what the metric takes of it, and say so."""
    sides = [pair.from_reference, pair.from_prediction]
    together = metric.name in ("average_symmetric_surface_distance", "median_surface_distance")
    together |= metric.name == "surface_distance_deviation"
    curves = [(pair.from_reference.merged(pair.from_prediction), INK)] if together else []
    curves = curves or list(zip(sides, (REFERENCE, PREDICTION), strict=True))
    far = max(side.distances[-1] for side in sides)
    for own, colour in curves:
        shares = np.cumsum(own.sizes) / own.sizes.sum()
        steps = np.append(own.distances, far * 1.05), np.append(shares, 1.0)
        axes.step(np.append(0, steps[0]), np.append(0, steps[1]), where="post", color=colour, linewidth=1.5)
    axes.set(xlim=(0, far * 1.05), ylim=(0, 1.04), yticks=[0, 0.5, 1])
    axes.set_yticklabels(["0", "50 %", "100 %"])
    text = with_unit(metric, value)
    if metric.name == "surface_dice":
        axes.axvline(TOLERANCE_MM, color=INK, linewidth=1, linestyle="--")
        axes.text(TOLERANCE_MM + 0.1, 0.06, f"tolerance {TOLERANCE_MM:g} mm", fontsize=7.5, color=INK)
        return f"{text} of both together lies within {TOLERANCE_MM:g} mm of the other"
    axes.axvline(value, color=INK, linewidth=1, linestyle="--")
    if metric.name == "surface_distance_deviation":
        return _deviation(axes, pair, value, text)
    level = {"hausdorff_distance": 1.0, "hausdorff_distance_95": 0.95, "median_surface_distance": 0.5}.get(metric.name)
    if level is not None:
        axes.axhline(level, color=FAINT, linewidth=1)
    side = "right" if value > far / 2 else "left"
    axes.text(value + (0.1 if side == "left" else -0.1), 0.1, text, fontsize=8.5, fontweight="bold", color=INK, ha=side)
    if metric.name == "mean_average_surface_distance":
        for own, colour in zip(sides, (REFERENCE, PREDICTION), strict=True):
            axes.plot(own.mean, 0, "^", color=colour, markersize=7, clip_on=False, zorder=5)
        means = " and ".join(plain(own.mean) for own in sides)
        return f"{text}, between the means {means} of the two directions"
    return {
        "hausdorff_distance": f"{text}, the longest way from either to the other",
        "hausdorff_distance_95": f"{text}, the larger of the two distances within which 95 % of a boundary lies",
        "average_symmetric_surface_distance": f"{text}, the mean over both together",
        "median_surface_distance": f"{text}, within which half of both together lies",
    }[metric.name]


def _deviation(axes: Axes, pair: m.SurfaceDistances, value: float, text: str) -> str:
    """Mark the mean and one standard deviation to both sides of it."""
    axes.lines[-1].remove()  # a spread has no place on the axis
    mean = m.average_symmetric_surface_distance(pair)
    axes.axvspan(max(mean - value, 0), mean + value, color=FAINT, alpha=0.5, linewidth=0)
    axes.axvline(mean, color=INK, linewidth=1, linestyle="--")
    axes.text(mean + value + 0.1, 0.1, f"± {text}", fontsize=8.5, fontweight="bold", color=INK)
    axes.text(mean + 0.08, 1.06, f"mean {plain(mean)} mm", fontsize=7.5, color=SOFT)
    return f"{text} around the mean of {plain(mean)} mm"
