"""Pictures of what masks have in common: overlap, centres, bands near boundaries, skeletons, parts and holes."""

from __future__ import annotations

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
    quotient,
    shape,
    with_unit,
)
from scipy.ndimage import distance_transform_edt, label

from podium import metrics as m
from podium.model import Metric
from podium.report.style import FAINT, INK, SOFT

__all__ = ["boundary", "centreline", "centres", "ellipse", "overlap", "topology"]

Mask = npt.NDArray[np.bool_]
AnyMetric = Metric[..., Any]
LEFT = (0.03, 0.08, 0.46, 0.8)
PIXEL_MM = 2.0
NAMES = (("reference R", REFERENCE), ("prediction P", PREDICTION), ("both", BOTH))


def ellipse(size: tuple[int, int], centre: tuple[float, float], radii: tuple[float, float]) -> Mask:
    """Return a mask of an ellipse."""
    rows, columns = np.indices(size)
    inside: Mask = ((rows - centre[0]) / radii[0]) ** 2 + ((columns - centre[1]) / radii[1]) ** 2 <= 1
    return inside


def _pair() -> tuple[Mask, Mask]:
    return ellipse((18, 24), (8, 9.5), (5.5, 7)), ellipse((18, 24), (9.5, 12), (6.5, 9))


def overlap(metric: AnyMetric) -> Drawn:
    """Draw two masks, and the quotient of pixels that the metric is."""
    reference, prediction = _pair()
    pair = m.Overlap.between(reference, prediction, spacing_mm=PIXEL_MM)
    value = metric(pair)
    first, second, common = pair.reference, pair.prediction, pair.common
    one, two = Part("|R|", first, REFERENCE), Part("|P|", second, PREDICTION)
    both = Part("|R ∩ P|", common, BOTH)
    parts = {
        "dice": ([Part("2 |R ∩ P|", 2 * common, BOTH)], [one, two]),
        "intersection_over_union": ([both], [Part("|R ∪ P|", first + second - common, SOFT)]),
        "sensitivity": ([both], [one]),
        "precision": ([both], [two]),
        "reference_volume": ([one], []),
        "prediction_volume": ([two], []),
        "volume_difference": ([two], [one]),
        "relative_volume_difference": ([two], [one]),
        "volume_similarity": ([Part("2 · the smaller", 2 * min(first, second), BOTH)], [one, two]),
    }
    worked = {
        "dice": f"2 · {common} / ({first} + {second})",
        "intersection_over_union": f"{common} / {first + second - common}",
        "sensitivity": f"{common} / {first}",
        "precision": f"{common} / {second}",
        "reference_volume": f"{first} · {PIXEL_MM**2:g} mm²",
        "prediction_volume": f"{second} · {PIXEL_MM**2:g} mm²",
        "volume_difference": f"({second} − {first}) · {PIXEL_MM**2:g} mm²",
        "relative_volume_difference": f"({second} − {first}) / {first}",
        "volume_similarity": f"1 − |{second} − {first}| / ({second} + {first})",
    }[metric.name]
    figure = card()
    axes = mask_axes(figure, reference.shape, LEFT)
    filled = {"reference_volume": "R", "sensitivity": "RB", "prediction_volume": "P", "precision": "PB"}
    for sign, mask, colour in (("R", reference, REFERENCE), ("P", prediction, PREDICTION)):
        shape(axes, mask, colour, alpha=0.3 if sign in filled.get(metric.name, "RPB") else 0, line=1.8)
    overlapping = "B" in filled.get(metric.name, "RPB") and not metric.name.startswith(("volume", "relative"))
    if overlapping:
        shape(axes, reference & prediction, BOTH, alpha=0.75)
    key(axes, NAMES if overlapping else NAMES[:2])
    above, below = parts[metric.name]
    if not below:
        bars(figure.add_axes((0.55, 0.5, 0.41, 0.3)), [above], whole=max(first, second))
    unit = "mm²" if metric.unit else ""  # a volume, in an image
    result = f"{worked} = {plain(value)} {unit}".strip()
    if below:
        quotient(figure, above, below, result)
    else:
        equation(figure, result)
    caption = f"{metric.title} of two masks in an image with pixels of {PIXEL_MM:g} × {PIXEL_MM:g} mm: {result}."
    return Drawn(figure, caption)


def centres(metric: AnyMetric) -> Drawn:
    """Draw two masks with their centres of mass, and how far these are apart."""
    reference, prediction = _pair()
    pair = m.Centres.between(reference, prediction, spacing_mm=PIXEL_MM)
    value = metric(pair)
    figure = card()
    axes = mask_axes(figure, reference.shape, (0.2, 0.08, 0.6, 0.8))
    places = []
    for mask, colour in ((reference, REFERENCE), (prediction, PREDICTION)):
        shape(axes, mask, colour, alpha=0.25, line=1.2)
        row, column = np.argwhere(mask).mean(axis=0)
        places.append((column, row))
        axes.plot(column, row, "o", color=colour, markersize=6, zorder=4)
    axes.plot(*zip(*places, strict=True), color=INK, linewidth=1.4, zorder=3)
    x, y = np.mean(places, axis=0)
    axes.text(x + 0.4, y - 1.1, with_unit(metric, value), fontsize=9, fontweight="bold", color=INK)
    key(axes, NAMES[:2])
    caption = f"The centres of mass of two masks, pixels of {PIXEL_MM:g} mm: {with_unit(metric, value)} apart."
    return Drawn(figure, caption)


def boundary(metric: AnyMetric) -> Drawn:
    """Draw the bands along both boundaries, and what they have in common."""
    reference, prediction = _pair()
    width = 2 * PIXEL_MM
    pair = m.BoundaryBands.between(reference, prediction, width_mm=width, spacing_mm=PIXEL_MM)
    value = metric(pair)
    bands = [mask & (distance_transform_edt(mask) * PIXEL_MM <= width) for mask in (reference, prediction)]
    figure = card()
    axes = mask_axes(figure, reference.shape, LEFT)
    for mask, band, colour in zip((reference, prediction), bands, (REFERENCE, PREDICTION), strict=True):
        shape(axes, band, colour, alpha=0.35)
        shape(axes, mask, colour, line=1.8)
    shape(axes, bands[0] & bands[1], BOTH, alpha=0.8)
    key(axes, (("band of R", REFERENCE), ("band of P", PREDICTION), ("both", BOTH)))
    union = pair.reference + pair.prediction - pair.common
    quotient(
        figure,
        [Part("in both bands", pair.common, BOTH)],
        [Part("in either band", union, SOFT)],
        f"{pair.common} / {union} = {plain(value)}",
    )
    caption = f"What lies at most {width:g} mm inside either boundary: {pair.common} / {union} = {plain(value)}."
    return Drawn(figure, caption)


def _vessels() -> tuple[Mask, Mask]:
    """Return a vessel that forks, and a prediction without the end of a branch and with another one."""
    reference, prediction = np.zeros((2, 18, 26), bool)
    for mask in (reference, prediction):
        mask[8:11, 1:14] = True
        for step in range(9):
            mask[8 - step * 7 // 9 : 11 - step * 7 // 9, 12 + step : 15 + step] = True
    for step in range(11):
        reference[8 + step * 6 // 10 : 11 + step * 6 // 10, 12 + step : 15 + step] = True
    for step in range(6):
        prediction[8 + step * 6 // 10 : 11 + step * 6 // 10, 12 + step : 15 + step] = True
    prediction[11:17, 5:8] = True
    return reference, prediction


def centreline(metric: AnyMetric) -> Drawn:
    """Draw two vessels with their skeletons: what of each lies in the other mask, and what does not."""
    reference, prediction = _vessels()
    pair = m.CentreLines.between(reference, prediction)
    value = metric(pair)
    shown = {"centreline_sensitivity": "R", "centreline_precision": "P"}.get(metric.name, "RP")
    figure = card()
    axes = mask_axes(figure, reference.shape, LEFT)
    for mask, colour in ((reference, REFERENCE), (prediction, PREDICTION)):
        shape(axes, mask, colour, alpha=0.18, line=1.4)
    for sign, mask, other, marker in (("R", reference, prediction, "o"), ("P", prediction, reference, "s")):
        if sign in shown:
            line = m.skeleton(mask)
            for part, colour in ((line & other, BOTH), (line & ~other, FALSE)):
                axes.plot(*np.argwhere(part).T[::-1], marker, color=colour, markersize=4, linestyle="none")
    key(axes, (("inside the other mask", BOTH), ("outside", FALSE)))
    right = figure.add_axes((0.55, 0.36, 0.41, 0.5))
    parts = {
        "R": [
            Part("of C(R) in P", pair.reference_inside, BOTH),
            Part("not", pair.reference - pair.reference_inside, FALSE),
        ],
        "P": [
            Part("of C(P) in R", pair.prediction_inside, BOTH),
            Part("not", pair.prediction - pair.prediction_inside, FALSE),
        ],
    }
    bars(right, [parts[sign] for sign in shown])
    worked = {
        "centreline_sensitivity": f"{pair.reference_inside} / {pair.reference}",
        "centreline_precision": f"{pair.prediction_inside} / {pair.prediction}",
    }.get(metric.name, "harmonic mean")
    equation(figure, f"{worked} = {plain(value)}")
    caption = f"Skeletons of a vessel and its prediction, which lacks a branch and has a false one: {plain(value)}."
    return Drawn(figure, caption)


def topology(metric: AnyMetric) -> Drawn:
    """Draw a mask and its prediction, and how many parts, tunnels and cavities each has."""
    reference, prediction = _solids()
    pair = m.Topology.between(reference, prediction)
    value = metric(pair)
    figure = card()
    middle = reference.shape[0] // 2
    for mask, colour, name, left in (
        (reference, REFERENCE, "reference", 0.03),
        (prediction, PREDICTION, "prediction", 0.28),
    ):
        axes = mask_axes(figure, mask.shape[1:], (left, 0.12, 0.23, 0.74))
        shape(axes, mask[middle], colour, alpha=0.35, line=1.2)
        heading(axes, f"{name}, a slice")
        for number in range(1, label(mask)[1] + 1):
            row, column = np.argwhere((label(mask)[0] == number)[middle])[0]
            axes.text(column, row + 0.2, str(number), fontsize=6.5, color=INK, ha="center", va="center")
    axes = figure.add_axes((0.6, 0.14, 0.37, 0.72))
    axes.set(xlim=(0, 4), ylim=(4, 0))
    axes.set_axis_off()
    for column, text in enumerate(("", "R", "P", "differ by")):
        axes.text(column + 0.6, 0.5, text, ha="center", fontsize=8, color=SOFT)
    chosen = {f"betti_{k}_error": k for k in range(3)}.get(metric.name)
    rows = ("parts", "tunnels", "cavities")
    for k, (name, one, two) in enumerate(zip(rows, pair.reference, pair.prediction, strict=True)):
        weight = "bold" if chosen in (None, k) else "normal"
        axes.text(0.2, k + 1.5, f"{name}, b{'₀₁₂'[k]}", fontsize=8, color=INK if chosen in (None, k) else SOFT)
        for column, count in enumerate((one, two, abs(one - two)), 1):
            colour = (REFERENCE, PREDICTION, INK if chosen in (None, k) else FAINT)[column - 1]
            axes.text(column + 0.6, k + 1.5, str(count), ha="center", fontsize=9, color=colour, fontweight=weight)
    caption = (
        f"{metric.title} = {plain(value)}: the reference, a ball with a cavity and a ring, and the prediction, whose "
        "cavity is filled, whose ring is broken, and which has a part too many."
    )
    return Drawn(figure, caption)


def _solids() -> tuple[Mask, Mask]:
    """Return a hollow ball beside a ring, and the same with other parts, tunnels and cavities."""
    z, y, x = np.indices((9, 17, 13))
    ball = (z - 4) ** 2 + (y - 3.5) ** 2 + (x - 4) ** 2 <= 10
    cavity = (z - 4) ** 2 + (y - 3.5) ** 2 + (x - 4) ** 2 <= 2
    ring = (np.abs(z - 4) <= 1) & (np.hypot(y - 12.5, x - 6) <= 3.2) & (np.hypot(y - 12.5, x - 6) > 1.5)
    reference: Mask = (ball & ~cavity) | ring
    prediction: Mask = ball | (ring & ~((x > 6) & (np.abs(y - 12.5) <= 0.5)))
    prediction[3:6, 2:4, 10:12] = True
    return reference, prediction
