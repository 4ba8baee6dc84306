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
from podium.metrics._rows import as_classes, as_samples, varies, weighted_mean, weighted_percentile
from podium.metrics.registry import AN_ERROR, declare
from podium.model import UNDEFINED, Direction, InputError

__all__ = [
    "BlandAltman",
    "absolute_error_percentile",
    "bias",
    "bland_altman",
    "coefficient_of_determination",
    "coefficient_of_variation",
    "mean_absolute_error",
    "median_absolute_error",
    "pearson_correlation",
    "root_mean_square_error",
]

Floats = npt.NDArray[np.float64]

_ERROR: dict[str, Any] = {
    "family": "regression",
    "unit": "",
    **AN_ERROR,
    "symmetric": True,
    "empty": {"no samples": UNDEFINED},
}


@declare(
    title="Mean absolute error",
    **_ERROR,
    also_called=("mae",),
    formula="Σ |p_i − r_i| / n",
    same_as={"scikit-learn": "mean_absolute_error"},
)
def mean_absolute_error(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return Σ|prediction − reference| / n (MAE), in the unit of the values; 0 is best; undefined without samples.

    Examples
    --------
    >>> float(mean_absolute_error([1, 2, 3], [1, 4, 2]))
    1.0
    """
    one, two, weight = as_samples(reference, prediction, weights)
    return weighted_mean(np.abs(two - one), weight)


@declare(
    title="Root mean square error",
    **_ERROR,
    also_called=("rmse", "root_mean_squared_error"),
    formula="√(Σ (p_i − r_i)² / n)",
    same_as={"scikit-learn": "root_mean_squared_error"},
)
def root_mean_square_error(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return √(Σ(prediction − reference)² / n) (RMSE), in the unit of the values; undefined without samples."""
    one, two, weight = as_samples(reference, prediction, weights)
    return np.sqrt(weighted_mean(np.square(two - one), weight))


@declare(
    title="Absolute error, percentile",
    **_ERROR,
    formula="percentile of |p_i − r_i|",
    same_as={"NumPy": "percentile(abs(P − R), percentile)"},
)
def absolute_error_percentile(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    percentile: float = 95.0,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the percentile of |prediction − reference|: most samples, the share named, are no further off.

    Interpolated between two samples as NumPy does by default. Weights must be whole numbers.

    Examples
    --------
    >>> float(absolute_error_percentile([0, 0, 0], [1, -2, 4], percentile=75))
    3.0
    """
    one, two, weight = as_samples(reference, prediction, weights)
    return weighted_percentile(np.abs(two - one), weight, percentile)


@declare(
    title="Median absolute error",
    **_ERROR,
    formula="median of |p_i − r_i|",
    same_as={"scikit-learn": "median_absolute_error"},
)
def median_absolute_error(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the median of |prediction − reference|; of an even number of samples, the mean of the middle two."""
    return absolute_error_percentile(reference, prediction, percentile=50, weights=weights)


@declare(
    title="Within-subject coefficient of variation",
    **_ERROR,
    also_called=("cv", "wcv"),
    formula="√(Σ (d_i / m_i)² / 2n), d_i the difference and m_i the mean of a pair",
    same_as={},
)
def coefficient_of_variation(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return √(mean of (standard deviation of the two values / their mean)²) (wCV), a share; 0 is best.

    Reference and prediction are two measurements of the same subjects: the deviation of a pair is their difference
    over √2. Undefined where the two values of a subject have a mean of 0, and of use only for quantities that cannot be
    negative.

    References
    ----------
    Bland and Altman 1996, BMJ 313(7049); Raunig et al. 2015, Statistical Methods in Medical Research 24(1).

    Examples
    --------
    >>> round(float(coefficient_of_variation([9, 10], [11, 10])), 4)
    0.1
    """
    one, two, weight = as_samples(reference, prediction, weights)
    middle = (one + two) / 2
    relative = np.divide(two - one, middle, out=np.full(middle.shape, np.nan), where=middle != 0)
    return np.sqrt(weighted_mean(np.where(weight > 0, np.square(relative), 0.0), weight) / 2)


@declare(
    title="R²",
    family="regression",
    unit="",
    minimum=-np.inf,
    maximum=1.0,
    direction=Direction.HIGHER,
    perfect=1.0,
    symmetric=False,
    empty={"no samples": UNDEFINED, "constant": UNDEFINED},
    also_called=("r2", "r_squared"),
    formula="1 − Σ (p_i − r_i)² / Σ (r_i − r̄)²",
    same_as={"scikit-learn": "r2_score, unless the reference is constant"},
)
def coefficient_of_determination(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return R² = 1 − Σ(prediction − reference)² / Σ(reference − its mean)²; 1 is best, 0 is what the mean reaches.

    Not the square of a correlation: a prediction that is biased or on another scale loses, without bound. Undefined
    where the reference is constant: scikit-learn then says 1 or 0, or infinity on request.

    Examples
    --------
    >>> float(coefficient_of_determination([1, 2, 3], [1, 2, 4]))
    0.5
    """
    one, two, weight = as_samples(reference, prediction, weights)
    with np.errstate(invalid="ignore", over="ignore"):  # of squares: R² is then without bound indeed
        deviation = one - weighted_mean(one, weight)[..., None]
        scale = _largest(deviation)
        error = weighted_mean(np.square((two - one) / scale), weight)
        spread = weighted_mean(np.square(deviation / scale), weight)
    return 1 - quotient(error, spread, where=varies(one, weight > 0))


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
    formula="Σ (p_i − r_i) / n",
    same_as={"NumPy": "mean(P − R)"},
)
def bias(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None) -> Floats:
    """Return the mean of prediction − reference: positive where predictions are too large."""
    one, two, weight = as_samples(reference, prediction, weights)
    return weighted_mean(two - one, weight)


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
    also_called=("pearson", "pcc", "pearsonr"),
    formula="Σ (r_i − r̄)(p_i − p̄) / √(Σ (r_i − r̄)² · Σ (p_i − p̄)²)",
    same_as={"SciPy": "stats.pearsonr, unless a side is constant"},
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
    one, two, weight = as_samples(reference, prediction, weights)
    counted = weight > 0
    with np.errstate(invalid="ignore"):  # means without samples are undefined already
        one_deviation = _scaled(one - weighted_mean(one, weight)[..., None])
        two_deviation = _scaled(two - weighted_mean(two, weight)[..., None])
        covariance = weighted_mean(one_deviation * two_deviation, weight)
        scale = np.sqrt(
            weighted_mean(np.square(one_deviation), weight) * weighted_mean(np.square(two_deviation), weight)
        )
        varied = varies(one, counted) & varies(two, counted)
    return np.clip(quotient(covariance, scale, where=varied), -1, 1)


def _scaled(deviation: Floats) -> Floats:
    """Divide deviations by their largest, so that squares neither overflow nor vanish."""
    return deviation / _largest(deviation)


def _largest(deviation: Floats) -> Floats:
    largest = np.max(np.abs(deviation), axis=-1, keepdims=True, initial=0.0)
    return np.where(largest > 0, largest, 1.0)


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


def bland_altman(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, subjects: npt.ArrayLike | None = None
) -> BlandAltman:
    """Return bias and 95 % limits of agreement; the limits are undefined for fewer than two samples.

    Parameters
    ----------
    reference, prediction
        Pairs of measurements.
    subjects
        Whose measurements each pair is, where a subject has several. Limits are then those of a single pair of a new
        subject: the variance of differences within subjects and that between subjects, from a one-way analysis of
        variance, add up. Without it, pairs of one subject would pass as independent, and limits come out too narrow
        or too wide. Undefined for fewer than two subjects, or where no subject has two pairs.

    References
    ----------
    Bland and Altman 1986, Lancet 327(8476); for repeated measures, where the true value varies: Bland and Altman 2007,
    Journal of Biopharmaceutical Statistics 17(4), section 3.

    Examples
    --------
    >>> bland_altman([1, 2, 3], [2, 3, 4])
    BlandAltman(bias=1.0, deviation=0.0, lower=1.0, upper=1.0)
    >>> round(bland_altman([0, 0, 0, 0], [1, 1, 3, 3], subjects=["a", "a", "b", "b"]).deviation ** 2, 9)
    2.0
    """
    one, two, _ = as_samples(reference, prediction, None)
    difference = (two - one).reshape(-1)
    mean = float(difference.mean()) if difference.size else UNDEFINED
    deviation = UNDEFINED
    if difference.size > 1:  # squared over a power of two, which changes no digit, so that nothing overflows
        exponent = np.frexp(np.max(np.abs(difference)))[1]
        small = np.ldexp(difference, -exponent)
        spread = small.std(ddof=1) if subjects is None else _spread_of_repeated(small, as_classes(subjects).reshape(-1))
        deviation = float(np.ldexp(spread, exponent))
    return BlandAltman(mean, deviation, mean - 1.96 * deviation, mean + 1.96 * deviation)


def _spread_of_repeated(difference: Floats, subjects: npt.NDArray[Any]) -> float:
    """Return the standard deviation of a single difference of a new subject, from pairs with several each."""
    if subjects.shape != difference.shape:
        raise InputError(f"there are {difference.size} pairs of measurements, but {subjects.size} subjects")
    _, subject, count = np.unique(subjects, return_inverse=True, return_counts=True)
    pairs, people = difference.size, count.size
    if not 1 < people < pairs:
        return UNDEFINED
    mean = np.bincount(subject, weights=difference) / count
    within = np.square(difference - mean[subject]).sum() / (pairs - people)
    between = (count * np.square(mean - difference.mean())).sum() / (people - 1)
    repeats = (pairs**2 - np.square(count).sum()) / ((people - 1) * pairs)
    return float(np.sqrt(within + max(between - within, 0.0) / repeats))
