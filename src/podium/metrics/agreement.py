"""How well raters, methods or repeated measurements agree on values: concordance and intraclass correlations.

Everything follows from sums over subjects. Weights of shape (…, subjects) say how often each subject counts, so that a
bootstrap over subjects is one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.stats import f as f_distribution

from podium.metrics._quotients import quotient
from podium.metrics._rows import as_numbers, as_samples, as_weights, varies, weighted_mean
from podium.metrics.registry import declare
from podium.model import UNDEFINED, Direction, InputError
from podium.model.option_checks import check_option

__all__ = [
    "IntraclassCorrelation",
    "concordance_correlation",
    "intraclass_correlation",
    "intraclass_correlations",
]

Form: TypeAlias = Literal["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"]
Floats = npt.NDArray[np.float64]

_AGREEMENT: dict[str, Any] = {
    "family": "regression",
    "unit": "",
    "direction": Direction.HIGHER,
    "maximum": 1.0,
    "perfect": 1.0,
    "symmetric": True,
    "empty": {"no samples": UNDEFINED},
}


@declare(
    title="Concordance correlation",
    minimum=-1.0,
    **_AGREEMENT,
    also_called=("ccc", "lin_ccc"),
    formula="2·s_xy / (s_x² + s_y² + (x̄ − ȳ)²), sums of squares over n",
    same_as={},
)
def concordance_correlation(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return Lin's concordance correlation (CCC) = 2·s_xy / (s_x² + s_y² + (x̄ − ȳ)²), from −1 to 1.

    Pearson's correlation times how near the line of identity the values lie. Sums of squares are divided by n, as Lin
    does; TorchMetrics divides them by n − 1, which gives another number for few samples. 0 where one side is constant;
    undefined where all values are one and the same.

    References
    ----------
    Lin 1989, Biometrics 45(1).

    Examples
    --------
    >>> round(float(concordance_correlation([1, 2, 3], [2, 3, 4])), 4)
    0.5714
    """
    one, two, weight = as_samples(reference, prediction, weights)
    with np.errstate(invalid="ignore"):  # means without samples are undefined already
        means = weighted_mean(one, weight), weighted_mean(two, weight)
        scale = np.maximum(_largest(one), _largest(two))[..., None]
        apart = np.square((means[0] - means[1]) / scale[..., 0])
        one, two = (
            np.where(varies(values, weight > 0)[..., None], (values - mean[..., None]) / scale, 0.0)
            for values, mean in zip((one, two), means, strict=True)
        )
    spread = weighted_mean(np.square(one) + np.square(two), weight) + apart
    return np.clip(quotient(2 * weighted_mean(one * two, weight), spread), -1, 1)


def _largest(values: Floats) -> Floats:
    largest = np.max(np.abs(values), axis=-1, initial=0.0)
    return np.where(largest > 0, largest, 1.0)


@dataclass(frozen=True, slots=True)
class IntraclassCorrelation:
    """One form of the intraclass correlation, with its confidence interval.

    Attributes
    ----------
    form
        In the words of Shrout and Fleiss, such as "2,1".
    value, lower, upper
        The estimate and its interval.
    """

    form: Form
    value: float
    lower: float
    upper: float


@declare(
    title="Intraclass correlation",
    minimum=-np.inf,
    **_AGREEMENT,
    also_called=("icc",),
    formula="ICC(2,1) = (MS_subjects − MS_error) / (MS_subjects + MS_error + 2·(MS_raters − MS_error) / n)",
    same_as={"pingouin": "intraclass_corr, the row of the form"},
)
def intraclass_correlation(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    form: Form = "2,1",
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the intraclass correlation (ICC) of reference and prediction, as two raters of the same subjects.

    By default ICC(2,1), absolute agreement of single measurements; see `intraclass_correlations` for the forms, for
    more raters and for intervals. At most 1; below 0 where subjects differ less than chance would have it. Undefined
    for fewer than two subjects, and where all values are one and the same.

    Examples
    --------
    >>> round(float(intraclass_correlation([1, 2, 3], [2, 3, 4])), 4)
    0.6667
    """
    one, two, weight = as_samples(reference, prediction, weights)
    return _value(*_mean_squares(np.stack(np.broadcast_arrays(one, two), axis=-1), weight), 2, form)


def intraclass_correlations(ratings: npt.ArrayLike, *, confidence: float = 0.95) -> dict[Form, IntraclassCorrelation]:
    """Return all six intraclass correlations with their intervals.

    | form | model | of |
    |---|---|---|
    | 1,1 | every subject has raters of its own (one-way) | a single rating |
    | 2,1 | raters are a sample of many; their bias counts (absolute agreement) | a single rating |
    | 3,1 | these raters and no others; their bias does not count (consistency) | a single rating |
    | 1,k 2,k 3,k | the same | the mean of the k ratings |

    Parameters
    ----------
    ratings
        Shape (subjects, raters), every rating present and finite.
    confidence
        Of the intervals: McGraw and Wong's, exact for forms 1 and 3 and Satterthwaite's approximation for form 2, if
        ratings are normally distributed.

    Notes
    -----
    The same as pingouin's `intraclass_corr`, which calls forms 2 and 3 A and C and rounds intervals to two digits.

    References
    ----------
    Shrout and Fleiss 1979, Psychological Bulletin 86(2); McGraw and Wong 1996, Psychological Methods 1(1).

    Examples
    --------
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> [round(icc.value, 2) for icc in intraclass_correlations(ratings).values()]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    table = as_numbers(ratings)
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputError(f"ratings must have the shape (subjects, 2 or more raters), not {table.shape}")
    if not np.isfinite(table).all():
        raise InputError("a rating is not a finite number: leave out subjects that lack one")
    check_option("confidence", float, confidence)
    if not 0 < confidence < 1:
        raise InputError(f"a confidence is a number between 0 and 1, not {confidence}")
    subjects, raters = table.shape
    squares = _mean_squares(table, as_weights(None, subjects))
    result: dict[Form, IntraclassCorrelation] = {}
    for form in get_args(Form):
        value = float(_value(*squares, raters, form))
        interval = (UNDEFINED, UNDEFINED)
        if not np.isnan(value):
            interval = _interval(tuple(map(float, squares)), raters, form, (1 + confidence) / 2)
        result[form] = IntraclassCorrelation(form, value, *map(float, interval))
    return result


def _mean_squares(table: Floats, weight: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return the number of subjects, and mean squares: between and within subjects, between raters, residual.

    `table` has the shape (…, subjects, raters). Ratings are scaled by a power of two, which changes no ratio, and what
    does not vary is recognised before any rounding.
    """
    raters = table.shape[-1]
    exponent = np.frexp(np.max(np.abs(table), axis=(-2, -1), initial=0.0))[1]
    table = np.ldexp(table, -exponent[..., None, None])
    number, counted = weight.sum(axis=-1), weight > 0
    of_subject = table.mean(axis=-1)
    inside = table - of_subject[..., None]
    of_rater = quotient((inside * weight[..., None]).sum(axis=-2), number[..., None])
    with np.errstate(invalid="ignore"):  # means without subjects are undefined already
        deviation = of_subject - weighted_mean(of_subject, weight)[..., None]
        between = raters * (weight * np.square(deviation)).sum(axis=-1)
        within = (weight * np.square(inside).sum(axis=-1)).sum(axis=-1)
        error = (weight * np.square(inside - of_rater[..., None, :]).sum(axis=-1)).sum(axis=-1)
    between = np.where(varies(of_subject, counted), between, 0.0)
    strayed = np.any([varies(inside[..., rater], counted) for rater in range(raters)], axis=0)
    error = np.where(strayed, error, 0.0)
    among_raters = np.where(within > 0, number * np.square(of_rater).sum(axis=-1), 0.0)
    freedom = number - 1
    return (
        number,
        quotient(between, freedom),
        quotient(within, number * (raters - 1), where=freedom > 0),
        among_raters / (raters - 1),
        quotient(error, freedom * (raters - 1)),
    )


def _value(
    number: Floats, between: Floats, within: Floats, among_raters: Floats, error: Floats, raters: int, form: Form
) -> Floats:
    model, unit = form.split(",")
    noise = within if model == "1" else error
    share = quotient(among_raters - error, number) if model == "2" else 0.0
    if unit == "1":
        return quotient(between - noise, between + (raters - 1) * noise + raters * share)
    return quotient(between - noise, between + share)


def _interval(squares: tuple[float, ...], raters: int, form: Form, level: float) -> tuple[float, float]:
    """Return the confidence interval; products instead of ratios, so that no error at all is no division by 0."""
    number, between, within, among_raters, error = squares
    model, unit = form.split(",")
    if model == "2":
        lower, upper = _interval_of_agreement(number, between, among_raters, error, raters, level)
    else:
        noise = within if model == "1" else error
        freedom = number - 1, number * (raters - 1) if model == "1" else (number - 1) * (raters - 1)
        below, above = f_distribution.ppf(level, *freedom), f_distribution.ppf(level, *freedom[::-1])
        lower = _of_ratio(between, below * noise, raters)
        upper = _of_ratio(above * between, noise, raters)
    if unit == "1":
        return lower, upper
    return _of_means(lower, raters), _of_means(upper, raters)


def _of_ratio(between: float, noise: float, raters: int) -> float:
    return (between - noise) / (between + (raters - 1) * noise)


def _of_means(single: float, raters: int) -> float:
    """Return what the correlation of single ratings says about means of them (Spearman and Brown)."""
    under = 1 + (raters - 1) * single
    return raters * single / under if under > 0 else -np.inf


def _interval_of_agreement(
    number: float, between: float, among_raters: float, error: float, raters: int, level: float
) -> tuple[float, float]:
    if among_raters == error == 0:
        return 1.0, 1.0
    k, n = raters, number
    noise = k * among_raters + (k * n - k - n) * error
    value = n * (between - error) / (n * between + noise)
    one, two = k * value * among_raters, (n * (1 + (k - 1) * value) - k * value) * error
    if one == two == 0:
        return UNDEFINED, UNDEFINED
    freedom = (k - 1) * (n - 1) * (one + two) ** 2 / ((n - 1) * one**2 + two**2)
    below, above = f_distribution.ppf(level, n - 1, freedom), f_distribution.ppf(level, freedom, n - 1)
    lower = n * (between - below * error) / (below * noise + n * between)
    upper = n * (above * between - error) / (noise + n * above * between)
    return lower, upper
