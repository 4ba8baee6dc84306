"""How alike two images are, intensity by intensity: peak signal-to-noise ratio and structural similarity."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import correlate1d

from podium.metrics._pairs import as_mask
from podium.metrics._rows import as_array, as_numbers
from podium.metrics.registry import declare
from podium.model import UNDEFINED, Direction, InputError
from podium.model.option_checks import check_option

__all__ = ["peak_signal_to_noise_ratio", "structural_similarity", "structural_similarity_map"]

Floats = npt.NDArray[np.float64]

_LIKENESS: dict[str, Any] = {
    "family": "images",
    "direction": Direction.HIGHER,
    "symmetric": True,
    "empty": {"no voxels": UNDEFINED},
}


def _images(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, mask: npt.ArrayLike | None, data_range: float
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    one, two = as_numbers(reference), as_numbers(prediction)
    inside = np.ones(one.shape, bool) if mask is None else as_mask(as_array(mask))
    if one.shape != two.shape or one.shape != inside.shape:
        raise InputError(f"images and mask must have one shape, not {one.shape}, {two.shape} and {inside.shape}")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("an intensity is not a finite number")
    check_option("data_range", float, data_range)
    if not 0 < data_range < np.inf:
        raise InputError(f"data_range is a positive number, the span of possible intensities, not {data_range}")
    return one, two, inside


@declare(
    title="Peak signal-to-noise ratio",
    unit="dB",
    minimum=-np.inf,
    maximum=np.inf,
    perfect=np.inf,
    **_LIKENESS,
    also_called=("psnr",),
    formula="10·log₁₀(data_range² / mean of (P − R)²)",
    same_as={"scikit-image": "peak_signal_noise_ratio with data_range"},
)
def peak_signal_to_noise_ratio(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, data_range: float, mask: npt.ArrayLike | None = None
) -> float:
    """Return 10·log₁₀(data_range² / mean squared error) (PSNR), in decibels; infinite for equal images.

    Parameters
    ----------
    reference, prediction
        Images of one shape, of any number of axes.
    data_range
        The span of possible intensities, such as 255 or 4095: the number means nothing without it, so that none is
        guessed.
    mask
        Which voxels count; all by default.

    Examples
    --------
    >>> peak_signal_to_noise_ratio([0, 0], [0.1, 0.1], data_range=1.0)
    20.0
    """
    one, two, inside = _images(reference, prediction, mask, data_range)
    if not inside.any():
        return UNDEFINED
    error = np.mean(np.square((two[inside] - one[inside]) / data_range))
    return float(-10 * np.log10(error)) if error > 0 else np.inf


def structural_similarity_map(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, data_range: float, sigma: float = 1.5
) -> Floats:
    """Return the structural similarity of the surroundings of every voxel, in a Gaussian window; see the mean of it.

    Windows reach 3.5 sigma to each side, and over the border the image is mirrored.
    """
    one, two, _ = _images(reference, prediction, None, data_range)
    _check_sigma(sigma)
    reach = _reach(sigma)
    window = np.exp(-0.5 * np.square(np.arange(-reach, reach + 1) / sigma))
    window /= window.sum()

    def smooth(image: Floats) -> Floats:
        for axis in range(image.ndim):
            image = correlate1d(image, window, axis=axis, mode="reflect")
        return image

    # Second moments about a common centre, so that intensities far from 0 cancel no digits.
    centre = one.mean() if one.size else 0.0
    one, two, centre = (one - centre) / data_range, (two - centre) / data_range, centre / data_range
    mean_one, mean_two = smooth(one), smooth(two)
    covariance = smooth(one * two) - mean_one * mean_two
    variances = smooth(one * one) - mean_one**2 + (smooth(two * two) - mean_two**2)
    mean_one, mean_two = mean_one + centre, mean_two + centre
    light = (2 * mean_one * mean_two + 0.01**2) / (mean_one**2 + mean_two**2 + 0.01**2)
    return light * (2 * covariance + 0.03**2) / (variances + 0.03**2)


@declare(
    title="Structural similarity",
    unit="",
    minimum=-1.0,
    maximum=1.0,
    perfect=1.0,
    **_LIKENESS,
    also_called=("ssim",),
    formula="mean of (2μ₁μ₂ + c₁)(2σ₁₂ + c₂) / ((μ₁² + μ₂² + c₁)(σ₁² + σ₂² + c₂)) over windows inside",
    same_as={
        "scikit-image": "structural_similarity with gaussian_weights=True, use_sample_covariance=False",
        "MONAI": "SSIMMetric, to single precision",
    },
)
def structural_similarity(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    data_range: float,
    sigma: float = 1.5,
    mask: npt.ArrayLike | None = None,
) -> float:
    """Return the mean structural similarity (SSIM) over voxels whose window lies inside the image, at most 1.

    (2·μ₁μ₂ + c₁)(2·σ₁₂ + c₂) / ((μ₁² + μ₂² + c₁)(σ₁² + σ₂² + c₂)), moments in a Gaussian window, c₁ and c₂ the squares
    of 0.01 and 0.03 times the data range: Wang's definition, in two or three dimensions.

    Parameters
    ----------
    reference, prediction
        Images of one shape; at least 2·⌊3.5·sigma + ½⌋ + 1 voxels (11 by default) along every axis.
    data_range
        The span of possible intensities; none is guessed.
    sigma
        Of the window, in voxels.
    mask
        Which voxels count, among those whose window lies inside the image; undefined where none does.

    Notes
    -----
    scikit-image's `structural_similarity` with `gaussian_weights=True, use_sample_covariance=False`; by default it
    takes a window of 7 equal weights and divides variances by n − 1, which gives other numbers. MONAI agrees;
    TorchMetrics also counts windows that reach over the border, filled by reflection, which Wang leaves out.

    References
    ----------
    Wang et al. 2004, IEEE Transactions on Image Processing 13(4).

    Examples
    --------
    >>> import numpy as np
    >>> image = np.random.default_rng(0).random((32, 32))
    >>> structural_similarity(image, image, data_range=1.0)
    1.0
    """
    one, two, inside = _images(reference, prediction, mask, data_range)
    _check_sigma(sigma)
    if not inside.any():
        return UNDEFINED
    values = structural_similarity_map(one, two, data_range=data_range, sigma=sigma)
    reach = _reach(sigma)
    if min(one.shape) < 2 * reach + 1:
        raise InputError(f"an image of shape {one.shape} has no room for a window of {2 * reach + 1} voxels")
    core = (slice(reach, -reach or None),) * one.ndim
    counted = values[core][inside[core]]
    return float(counted.mean()) if counted.size else UNDEFINED


def _check_sigma(sigma: float) -> None:
    check_option("sigma", float, sigma)
    if not 0 < sigma < np.inf:
        raise InputError(f"sigma is a positive number of voxels, not {sigma}")


def _reach(sigma: float) -> int:
    return int(3.5 * sigma + 0.5)
