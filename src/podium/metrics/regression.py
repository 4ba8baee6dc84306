"""How far predicted numbers are from true ones.

The metrics work along the last axis and keep the axes before it, and take optional weights (non-negative, of any
shape that broadcasts), so that a bootstrap is the same call with another weight for each sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._quotients import quotient
from podium.metrics.registry import declare
from podium.model import UNDEFINED, Direction, InputError

__all__ = [
    "BlandAltman",
    "bias",
    "bland_altman",
    "mean_absolute_error",
    "pearson_correlation",
    "root_mean_square_error",
]

Floats = npt.NDArray[np.float64]

_ERROR: dict[str, Any] = {
    "family": "regression",
    "unit": "",
    "minimum": 0.0,
    "maximum": np.inf,
    "direction": Direction.LOWER,
    "perfect": 0.0,
    "symmetric": True,
    "empty": {"no samples": UNDEFINED},
}


def _samples(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    one, two = np.asarray(reference, np.float64), np.asarray(prediction, np.float64)
    if one.shape[-1:] != two.shape[-1:] or one.ndim == 0:
        raise InputError(f"reference and prediction must have as many samples, not {one.shape} and {two.shape}")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("a value is not a finite number: a missing value is a failure, to be priced before this")
    weight = np.ones(one.shape[-1]) if weights is None else np.asarray(weights, np.float64)
    if weight.shape[-1:] != one.shape[-1:] or not (weight >= 0).all():
        raise InputError("weights must be one non-negative number per sample")
    return one, two, weight


def _mean(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean along the last axis; undefined where all weights are 0, or without samples."""
    return quotient((values * weights).sum(axis=-1), weights.sum(axis=-1))


@declare(title="Mean absolute error", **_ERROR)
def mean_absolute_error(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return Σ|prediction − reference| / n (MAE), in the unit of the values; 0 is best; undefined without samples.

    Examples
    --------
    >>> float(mean_absolute_error([1, 2, 3], [1, 4, 2]))
    1.0
    """
    one, two, weight = _samples(reference, prediction, weights)
    return _mean(np.abs(two - one), weight)


@declare(title="Root mean square error", **_ERROR)
def root_mean_square_error(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return √(Σ(prediction − reference)² / n) (RMSE), in the unit of the values; undefined without samples."""
    one, two, weight = _samples(reference, prediction, weights)
    return np.sqrt(_mean(np.square(two - one), weight))


@declare(
    title="Bias",
    family="regression",
    unit="",
    minimum=-np.inf,
    maximum=np.inf,
    direction=Direction.ZERO,
    perfect=0.0,
    symmetric=False,
    empty={"no samples": UNDEFINED},
)
def bias(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None) -> Floats:
    """Return the mean of prediction − reference: positive where predictions are too large."""
    one, two, weight = _samples(reference, prediction, weights)
    return _mean(two - one, weight)


@declare(
    title="Pearson correlation",
    family="regression",
    unit="",
    minimum=-1.0,
    maximum=1.0,
    direction=Direction.HIGHER,
    perfect=1.0,
    symmetric=True,
    empty={"no samples": UNDEFINED, "constant": UNDEFINED},
)
def pearson_correlation(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return Pearson's correlation coefficient (PCC), from −1 to 1; undefined where either side is constant.

    A constant has no correlation, neither 0 nor NaN by accident: samples of one value, counting those with weight, are
    recognised as such before any rounding.

    Examples
    --------
    >>> float(pearson_correlation([1, 2, 3], [2, 4, 6]))
    1.0
    >>> float(pearson_correlation([1, 2, 3], [5, 5, 5]))
    nan
    """
    one, two, weight = _samples(reference, prediction, weights)
    counted = weight > 0
    with np.errstate(invalid="ignore"):  # means without samples are undefined already
        one_deviation = _scaled(one - _mean(one, weight)[..., None])
        two_deviation = _scaled(two - _mean(two, weight)[..., None])
        covariance = _mean(one_deviation * two_deviation, weight)
        scale = np.sqrt(_mean(np.square(one_deviation), weight) * _mean(np.square(two_deviation), weight))
        varied = _varies(one, counted) & _varies(two, counted)
    return np.clip(quotient(covariance, scale, where=varied), -1, 1)


def _scaled(deviation: Floats) -> Floats:
    """Divide deviations by their largest, so that squares neither overflow nor vanish."""
    largest = np.max(np.abs(deviation), axis=-1, keepdims=True, initial=0.0)
    return deviation / np.where(largest > 0, largest, 1.0)


def _varies(values: Floats, counted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return whether the counted samples have more than one value."""
    high = np.max(np.where(counted, values, -np.inf), axis=-1, initial=-np.inf)
    low = np.min(np.where(counted, values, np.inf), axis=-1, initial=np.inf)
    return np.asarray(high > low)


@dataclass(frozen=True, slots=True)
class BlandAltman:
    """Agreement of two ways to measure the same thing: mean difference and where 95 % of differences are expected.

    Attributes
    ----------
    bias
        Mean of prediction − reference.
    deviation
        Standard deviation of the differences (n − 1 in the denominator).
    lower, upper
        Limits of agreement: bias ± 1.96 deviations.
    """

    bias: float
    deviation: float
    lower: float
    upper: float


def bland_altman(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> BlandAltman:
    """Return bias and 95 % limits of agreement; the limits are undefined for fewer than two samples.

    References
    ----------
    Bland and Altman 1986, Lancet 327(8476).

    Examples
    --------
    >>> bland_altman([1, 2, 3], [2, 3, 4])
    BlandAltman(bias=1.0, deviation=0.0, lower=1.0, upper=1.0)
    """
    one, two, _ = _samples(reference, prediction, None)
    difference = (two - one).reshape(-1)
    mean = float(difference.mean()) if difference.size else UNDEFINED
    deviation = UNDEFINED
    if difference.size > 1:  # squared over a power of two, which changes no digit, so that nothing overflows
        exponent = np.frexp(np.max(np.abs(difference)))[1]
        deviation = float(np.ldexp(np.ldexp(difference, -exponent).std(ddof=1), exponent))
    return BlandAltman(mean, deviation, mean - 1.96 * deviation, mean + 1.96 * deviation)
