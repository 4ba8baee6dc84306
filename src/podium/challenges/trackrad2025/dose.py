"""What a tracking error costs in dose: planned on the first target, shifted by every frame's error, and averaged.

Document: a smooth dose, shifted with sub-pixel accuracy; D98 is read off the sorted dose of the target's pixels.
Code: the dose is a mask of 0 and 1, its shifted copies are rounded back to 0 and 1, and D98 is read off a histogram
with bins of 0.1. There every rounding counts, so the steps are those of SciPy and NumPy 2, type by type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics import average_shifted_dose, dose_at_volume, expand, gaussian_dose
from podium.model import Box, Floats

__all__ = ["Plan", "delivered_dose", "plan_dose", "relative_d98"]

_VOLUME = 0.98
_MARGIN_MM = 3.0
_SPLINE_REACH = 24  # pixels after which a change no longer shows in the coefficients: 0.27²⁴ is 10⁻¹⁴
_DOUBT = 1e-6  # much more than two ways to evaluate a spline can differ
_BIN = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The dose planned for a target.

    Attributes
    ----------
    target
        The gross tumour volume, a mask of the whole image.
    dose
        The planned dose in the whole image: smooth in `document`, uint8 0 or 1 in `code`.
    d98
        The planned dose that 98 % of the target receive at least.
    """

    target: npt.NDArray[np.bool_]
    dose: npt.NDArray[Any]
    d98: float


def plan_dose(target: npt.NDArray[np.bool_], *, region: str, spacing_mm: tuple[float, float], edition: str) -> Plan:
    """Plan the dose for a target in a scanned region, such as "thorax"."""
    if edition == "code":
        mask = _mask_by_code(target, sigma=6 if region == "lung" else 4)
        return Plan(target, mask, _histogram_d98(mask[target].astype(np.float32), highest=np.float32(mask.max())))
    sigma_mm = 6.0 if region in ("lung", "thorax") else 4.0
    grown = expand(target, margin_mm=_MARGIN_MM, spacing_mm=spacing_mm)
    dose = gaussian_dose(grown, sigma_mm=sigma_mm, spacing_mm=spacing_mm)
    return Plan(target, dose, dose_at_volume(dose[target], share=_VOLUME))


def _mask_by_code(target: npt.NDArray[np.bool_], *, sigma: float) -> npt.NDArray[np.uint8]:
    """Return the dose of the organisers' code: the target grown by three pixels, smoothed, and cut at a quarter."""
    from scipy.ndimage import binary_dilation, gaussian_filter

    grown = binary_dilation(target, iterations=3).astype(np.float32)
    return np.asarray(gaussian_filter(grown, sigma=sigma) > 0.25).astype(np.uint8)


def relative_d98(plan: Plan, shifts: Floats, *, frames: int, edition: str) -> float:
    """Return D98 of the shifted and averaged dose over D98 planned; NaN where nothing is planned for the target.

    Parameters
    ----------
    plan
        The planned dose.
    shifts
        Predicted minus true centre in pixels, of every frame with a prediction, shape (shifts, 2).
    frames
        How many frames have a reference; those without a shift add no dose, but count.
    edition
        Of the rules.
    """
    if plan.d98 == 0:
        return np.nan
    if len(shifts) == 0:
        return 0.0
    if edition == "code":
        dose = _delivered_by_code(plan, shifts, frames)
        return _histogram_d98(dose[plan.target], highest=dose.max()) / plan.d98
    return dose_at_volume(_delivered(plan, shifts, frames), share=_VOLUME) / plan.d98


def delivered_dose(plan: Plan, shifts: Floats, *, frames: int, edition: str) -> Floats:
    """Return the dose that each pixel of the target receives on average, which relative D98 is read off."""
    if len(shifts) == 0:
        return np.zeros(np.count_nonzero(plan.target))
    if edition == "code":
        return _delivered_by_code(plan, shifts, frames)[plan.target].astype(np.float64)
    return _delivered(plan, shifts, frames)


def _delivered(plan: Plan, shifts: Floats, frames: int) -> Floats:
    """Return the smooth dose, shifted and averaged, of the target's pixels."""
    own = _occupied(plan.target)
    window = _reached(own, shifts, plan.target.shape)
    target = Box(
        tuple(np.subtract(own.lower, window.lower).tolist()), tuple(np.subtract(own.upper, window.lower).tolist())
    )
    average = average_shifted_dose(plan.dose[window.slices], shifts, within=target, least=0.0)
    return np.asarray(average[plan.target[own.slices]] * (len(shifts) / frames))


def _delivered_by_code(plan: Plan, shifts: Floats, frames: int) -> npt.NDArray[np.float32]:
    """Return the mask, shifted, rounded and averaged, in the whole image."""
    window = _reached(_occupied(plan.dose), shifts, plan.dose.shape)
    dose = np.zeros(plan.dose.shape, np.float32)
    for shift in shifts:
        dose[window.slices] += _shifted_mask(plan.dose, shift, window)
    dose /= np.float32(frames)
    return dose


def _shifted_mask(mask: npt.NDArray[np.uint8], shift: Floats, window: Box) -> npt.NDArray[Any]:
    """Return what `scipy.ndimage.shift(mask, shift, order=3, mode="nearest")` gives in a window.

    The spline is evaluated in the window alone, and rounded as SciPy rounds to uint8. Coefficients differ there by less
    than 10⁻¹³ from those of the whole image, so the result is the same wherever no value is close to one half; if any
    is, the whole image decides.
    """
    from scipy import ndimage

    values = ndimage.shift(mask[window.slices], shift, order=3, mode="nearest", output=np.float64)
    np.maximum(values, 0.0, out=values)
    nearest = np.floor(values + 0.5)
    if np.abs(np.abs(values - nearest) - 0.5).min() > _DOUBT:
        return nearest
    return np.asarray(ndimage.shift(mask, shift, order=3, mode="nearest")[window.slices])


def _histogram_d98(dose: npt.NDArray[np.float32], *, highest: np.float32) -> float:
    """Return the dose at 98 % of the cumulative histogram, bins of 0.1 centred on 0, 0.1, … up to the highest dose.

    NumPy 2 counts the bins in the type of the highest dose, float32, so that one may be missing: a dose at the upper
    edge is then lost, and the result may be 0.
    """
    half, width = np.float32(-_BIN / 2), np.float32(_BIN)
    count = int(np.ceil((highest + width - half) / width))
    edges = -_BIN / 2 + np.arange(count) * _BIN
    counts, _ = np.histogram(dose, bins=edges)
    centres = np.round((edges[1:] + edges[:-1]) / 2, 10)
    reached = np.cumsum(counts[::-1])[::-1].astype(np.float64)
    if reached.any():
        reached /= reached.max()
    if reached[0] == reached.sum():
        return 0.0
    return float(np.interp(_VOLUME, reached[::-1], centres[::-1]))


def _occupied(mask: npt.NDArray[Any]) -> Box:
    """Return the box around what is not zero."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return Box((int(rows[0]), int(columns[0])), (int(rows[-1]) + 1, int(columns[-1]) + 1))


def _reached(box: Box, shifts: Floats, shape: tuple[int, ...]) -> Box:
    """Return the part of the image that matters to what is in a box and to its shifted copies."""
    reach = np.ceil(np.abs(shifts).max(axis=0)).astype(np.int64) + _SPLINE_REACH
    lower, upper = np.maximum(box.lower - reach, 0), np.minimum(box.upper + reach, shape)
    return Box(tuple(lower.tolist()), tuple(upper.tolist()))
