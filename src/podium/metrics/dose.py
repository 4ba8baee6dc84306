"""What a tracking error costs in radiation dose: from target to dose, shifted, averaged, and read off a histogram.

2-D images; lengths in mm through the spacing. The steps are separate, so that a challenge can put its own in between.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_length
from podium.metrics._kernels.splines import average_of_shifts
from podium.metrics._pairs import Spacing, as_mask
from podium.model import Box, InputError, as_spacing

__all__ = [
    "average_shifted_dose",
    "cumulative_dose_volume_histogram",
    "dose_at_volume",
    "expand",
    "gaussian_dose",
    "volume_at_dose",
]

Floats = npt.NDArray[np.float64]
_ROUNDING = 1e-12  # 30 pixels of 0.1 mm are 3 mm, and a little more in binary numbers
_SPLINE_MARGIN = 12  # beyond this many pixels the border no longer shows in a cubic spline's coefficients


def expand(mask: npt.NDArray[np.bool_], *, margin_mm: float, spacing_mm: Spacing) -> npt.NDArray[np.bool_]:
    """Return the pixels whose centre is at most `margin_mm` from the centre of a pixel of the mask.

    From gross tumour volume (GTV) to clinical target volume (CTV). Nothing grows out of an empty mask. Distances are
    those on paper: what is exactly at the margin is reached, also where binary numbers are off in the last digit.
    """
    from scipy.ndimage import distance_transform_edt

    margin_mm = as_length(margin_mm, "a margin is a length from 0", finite=True)
    inside, spacing = as_mask(mask), as_spacing(spacing_mm, np.ndim(mask))
    if not inside.any():
        return inside.copy()
    distance: Floats = distance_transform_edt(~inside, sampling=spacing)
    return distance <= margin_mm * (1 + _ROUNDING)


def gaussian_dose(target: npt.NDArray[np.bool_], *, sigma_mm: float, spacing_mm: Spacing) -> Floats:
    """Return a target smoothed by a Gaussian: 1 deep inside, falling off across its border.

    The image is reflected at its border; the Gaussian is cut off at four standard deviations.
    """
    from scipy.ndimage import gaussian_filter

    sigma_mm = as_length(sigma_mm, "a standard deviation is a length from 0", finite=True)
    sigma = [sigma_mm / spacing for spacing in as_spacing(spacing_mm, np.ndim(target))]
    return np.asarray(gaussian_filter(np.asarray(target, np.float64), sigma, mode="reflect", truncate=4.0))


def average_shifted_dose(
    dose: npt.NDArray[np.floating], shifts: npt.ArrayLike, *, within: Box | None = None, least: float = -np.inf
) -> Floats:
    """Return the mean of a 2-D dose shifted by each of many displacements, given in pixels.

    Cubic spline interpolation; beyond the border the edge value goes on. The same as the mean of
    `scipy.ndimage.shift(dose, shift, order=3, mode="nearest")`, with the spline fitted once.

    Parameters
    ----------
    dose
        Shape (rows, columns).
    shifts
        Rows and columns to move by, shape (shifts, 2); positive moves to higher indices. No shift gives no dose.
    within
        Compute only this part of the image, such as the box around a target.
    least
        What less than this counts as in each frame: splines undershoot, and no dose is negative.

    Examples
    --------
    >>> import numpy as np
    >>> average_shifted_dose(np.eye(3), [[0, 0], [0, 0]]).round(12) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    from scipy.ndimage import spline_filter

    image, moves = np.asarray(dose, np.float64), np.asarray(shifts, np.float64)
    if image.ndim != 2:
        raise InputError(f"a dose is a 2-D image, not {image.ndim}-D")
    if moves.ndim != 2 or moves.shape[1] != 2:
        raise InputError(f"shifts must have the shape (shifts, 2), not {moves.shape}")
    if not np.isfinite(moves).all():
        raise InputError("a shift is not a finite number")
    padded = np.pad(image, _SPLINE_MARGIN, mode="edge")
    coefficients = np.ascontiguousarray(spline_filter(padded, order=3, output=np.float64, mode="nearest"))
    part = within or Box((0, 0), image.shape)
    shape = tuple(high - low for low, high in zip(part.lower, part.upper, strict=True))
    return np.asarray(average_of_shifts(coefficients, _SPLINE_MARGIN, moves - np.array(part.lower), shape, least))


def cumulative_dose_volume_histogram(dose: npt.ArrayLike, levels: npt.ArrayLike) -> Floats:
    """Return the share of the volume that receives at least each dose level, V(level), from 1 down to 0.

    Parameters
    ----------
    dose
        Dose in each voxel of the structure, in any order.
    levels
        Dose levels at which to read the curve.

    Examples
    --------
    >>> cumulative_dose_volume_histogram([0, 1, 1, 2], [0, 1, 2, 3])
    array([1.  , 0.75, 0.25, 0.  ])
    """
    values = _values(dose)
    return 1 - np.searchsorted(values, np.asarray(levels, np.float64), side="left") / values.size


def dose_at_volume(dose: npt.ArrayLike, *, share: float) -> float:
    """Return D_x: the least dose in the hottest `share` of a structure, the ⌈share · n⌉-th largest of n voxels.

    Examples
    --------
    >>> dose_at_volume([5, 1, 4, 2, 3], share=0.6)  # the third largest
    3.0
    """
    if not 0 < share <= 1:
        raise InputError(f"a share of a volume lies above 0 and up to 1, not {share}")
    values = _values(dose)
    # 0.98 · 50 is 49.00000000000001 in binary; that must not ask for the 50th.
    count = max(1, int(np.ceil(round(share * values.size, 9))))
    return float(values[values.size - count])


def volume_at_dose(dose: npt.ArrayLike, *, level: float) -> float:
    """Return V_x: the share of a structure that receives at least a dose.

    Examples
    --------
    >>> volume_at_dose([0, 1, 1, 2], level=1)
    0.75
    """
    return float(cumulative_dose_volume_histogram(dose, [level])[0])


def _values(dose: npt.ArrayLike) -> Floats:
    values = np.sort(np.asarray(dose, np.float64), axis=None)
    if values.size == 0:
        raise InputError("a structure without voxels has no dose")
    if not np.isfinite(values).all():
        raise InputError("a dose is not a finite number")
    return values
