"""The figure of two label maps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from podium.model import LabelMap
from podium.report.figures._frame import drawn
from podium.report.style import PALETTE

__all__ = ["comparison"]


@drawn
def comparison(
    reference: LabelMap,
    prediction: LabelMap,
    *,
    regions: Mapping[str, Collection[int]],
    tolerances_mm: Sequence[float],
    surface_dice: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw the slice where two label maps disagree most, and how much of the surface agrees at which tolerance.

    Parameters
    ----------
    reference, prediction
        Label maps of the same shape.
    regions
        Name and labels of each region.
    tolerances_mm, surface_dice
        For each region the surface Dice at each tolerance.
    """
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    truth, guess, spacing, where = _most_disputed_slice(reference, prediction)
    truth, guess = (np.pad(plane, 1) for plane in (truth, guess))  # contours close at the border of the image
    rows, columns = np.nonzero((truth > 0) | (guess > 0))
    margin = 6
    window = (
        slice(max(int(rows.min()) - margin, 0), int(rows.max()) + margin) if rows.size else slice(None),
        slice(max(int(columns.min()) - margin, 0), int(columns.max()) + margin) if rows.size else slice(None),
    )
    truth, guess = truth[window], guess[window]
    extent = (0.0, truth.shape[0] * spacing[0], truth.shape[1] * spacing[1], 0.0)
    x, y = ((np.arange(n) + 0.5) * s for n, s in zip(truth.shape, spacing, strict=True))
    left.imshow(np.zeros(truth.T.shape), extent=extent, cmap="Greys", vmin=0, vmax=1)
    for (_name, labels), colour in zip(regions.items(), _cycle(len(regions)), strict=True):
        members = [*labels]
        inside, claimed = np.isin(truth, members), np.isin(guess, members)
        if inside.any():
            left.contourf(x, y, inside.T, levels=[0.5, 1.5], colors=[colour], alpha=0.25)
        if claimed.any():
            left.contour(x, y, claimed.T, levels=[0.5], colors=[colour], linewidths=1.6)
    left.set(title=f"Filled: reference, line: prediction{where}", xlabel="mm", ylabel="mm")
    for (name, values), colour in zip(surface_dice.items(), _cycle(len(regions)), strict=True):
        right.step(tolerances_mm, values, where="post", color=colour, linewidth=2, label=name)
    right.set(
        title="Surface Dice at every tolerance",
        xlabel="tolerance (mm)",
        ylabel="share of both surfaces",
        ylim=(-0.02, 1.02),
    )
    right.grid(alpha=0.3)
    if regions:
        right.legend(loc="lower right", frameon=False)
    for axes in (left, right):
        axes.title.set_fontsize(11)
    return figure


def _most_disputed_slice(
    reference: LabelMap, prediction: LabelMap
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[float, ...], str]:
    """Return the plane of a volume with the most voxels labelled differently; a 2-D image as it is."""
    if reference.array.ndim == 2:
        return reference.array, prediction.array, reference.spacing, ""
    axis = int(np.argmax(reference.spacing))  # the planes that were acquired
    others = tuple(k for k in range(3) if k != axis)
    disputed = np.count_nonzero(reference.array != prediction.array, axis=others)
    if not disputed.any():
        disputed = np.count_nonzero(reference.array, axis=others)
    index = int(np.argmax(disputed))
    truth, guess = (np.take(label_map.array, index, axis) for label_map in (reference, prediction))
    return truth, guess, tuple(reference.spacing[k] for k in others), f" (slice {index})"


def _cycle(count: int) -> list[str]:
    return [PALETTE[k % len(PALETTE)] for k in range(count)]
