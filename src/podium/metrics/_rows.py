"""Rows of a table with a weight each: what functions of weighted rows share.

A weight of k means that the row stands there k times; leading axes of weights are sets of weights, one for each
bootstrap replicate.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_number
from podium.metrics._quotients import quotient
from podium.model import InputError

Floats = npt.NDArray[np.float64]


_KINDS = {
    "U": "text",
    "T": "text",
    "S": "bytes",
    "c": "complex numbers",
    "M": "dates",
    "m": "durations",
    "V": "records",
}
"""What an array holds that are no numbers, by the kind of its type."""


def as_array(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return an array of what is given; a masked one would lose its mask in silence, and is refused.

    Objects are taken for what they are: all numbers, or all text.
    """
    if np.ma.is_masked(values):
        raise InputError("a masked array is given", advice="Leave out or fill what is masked")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError("lists of unequal length are given, where an array is expected") from None
    if array.dtype.kind != "O":
        return array
    members = array.reshape(-1).tolist()
    try:
        if all(isinstance(member, Real | Decimal) for member in members):
            return array.astype(np.float64)
    except OverflowError:
        raise InputError("a number is too large") from None
    if all(isinstance(member, str) for member in members):
        return array.astype(np.str_)
    strange = next(member for member in members if isinstance(member, str) or not isinstance(member, Real | Decimal))
    raise InputError(f"{strange!r:.60} is given among the values", advice="Give numbers only, or text only")


def as_numbers(values: npt.ArrayLike) -> Floats:
    """Return an array of floating point of what is given, which must be real numbers; see `as_array`."""
    array = as_array(values)
    if array.dtype.kind not in "biuf":
        what = _KINDS.get(array.dtype.kind, str(array.dtype))
        advice = f"If these are two classes, compare: values == {_first(array)!r}" if what == "text" else None
        raise InputError(f"numbers are expected, and {what} given: {_first(array)}", advice=advice)
    return np.asarray(array, np.float64)


def as_classes(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return an array of classes: finite numbers, or names."""
    array = as_array(values)
    if array.dtype.kind not in "biufUTS":
        what = _KINDS.get(array.dtype.kind, str(array.dtype))
        raise InputError(f"classes are numbers or names, and {what} given: {_first(array)}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("a class is not a finite number: a missing class is a failure, to be priced before this")
    return array.astype(np.str_) if array.dtype.kind == "T" else array


def _first(array: npt.NDArray[Any]) -> str:
    return f"{array.reshape(-1)[0]!s:.60}" if array.size else "none at all"


def check_rows(reference: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> None:
    """Refuse what has no row of samples along its last axis, as many on both sides; axes before it are sets.

    A column, shape (samples, 1), would be so many sets of one sample: nobody means that on both sides.
    """
    shapes = reference.shape, prediction.shape
    columns = [len(shape) > 1 and shape[-1] == 1 < shape[-2] for shape in shapes]
    unequal = not all(shapes) or shapes[0][-1] != shapes[1][-1]
    if all(columns) or (any(columns) and unequal):
        raise InputError(
            f"a column is given: the reference has the shape {shapes[0]}, the prediction {shapes[1]}",
            advice="Samples lie along the last axis: call .ravel() on a column",
        )
    if unequal:
        raise InputError(f"reference and prediction must have as many samples, not {shapes[0]} and {shapes[1]}")
    check_sets(*shapes)


def check_sets(*shapes: tuple[int, ...]) -> None:
    """Refuse axes before the last that do not go together."""
    try:
        np.broadcast_shapes(*(shape[:-1] for shape in shapes))
    except ValueError:
        listed = " and ".join(str(shape) for shape in shapes)
        raise InputError(f"the axes before the last are sets of samples, and do not go together: {listed}") from None


def as_samples(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Return finite numbers with samples along the last axis, and their weights."""
    one, two = as_numbers(reference), as_numbers(prediction)
    check_rows(one, two)
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("a value is not a finite number: a missing value is a failure, to be priced before this")
    weight = as_weights(weights, one.shape[-1])
    check_sets(one.shape, two.shape, weight.shape)
    return one, two, weight


def as_weights(weights: npt.ArrayLike | None, samples: int, *, axes: int | None = None) -> Floats:
    """Return a weight for each sample, along the last of so many axes at most."""
    weight = np.ones(samples) if weights is None else np.ascontiguousarray(as_numbers(weights))
    if weight.shape[-1:] != (samples,) or (axes is not None and weight.ndim > axes):
        raise InputError(f"weights must have the shape ({samples},) or (sets, {samples}), not {weight.shape}")
    if not (weight.min(initial=0.0) >= 0 and weight.max(initial=0.0) < np.inf):
        raise InputError("weights must be one non-negative number per sample")
    return weight


def check_yes_or_no(values: Floats, side: str, *, advice: str) -> None:
    """Refuse what is not 0 or 1, with the comparison that would make it so where there are two values."""
    if ((values == 0) | (values == 1)).all():
        return
    distinct = np.unique(values)
    if distinct.size <= 2 and (distinct == np.rint(distinct)).all():
        low, high = distinct[0], distinct[-1]
        advice = f"Write {side} > 0" if low == 0 < high else f"Write {side} == {high:g} if that is the positive class"
    strange = distinct[(distinct != 0) & (distinct != 1)][0]
    raise InputError(f"the {side} must be 0 or 1 for every sample, not {strange:g}", advice=advice)


def as_confusion(confusion: npt.ArrayLike) -> Floats:
    """Return confusion matrices (last two axes): as many rows as columns, of non-negative counts."""
    matrix = as_numbers(confusion)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise InputError(f"a confusion matrix has the shape (classes, classes), not {matrix.shape}")
    if not ((matrix >= 0) & (matrix < np.inf)).all():
        raise InputError("a confusion matrix holds counts, finite and not negative")
    return matrix


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean along the last axis; undefined where all weights are 0, or without samples."""
    return quotient((values * weights).sum(axis=-1), weights.sum(axis=-1))


def varies(values: Floats, counted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return whether the counted samples have more than one value."""
    high = np.max(np.where(counted, values, -np.inf), axis=-1, initial=-np.inf)
    low = np.min(np.where(counted, values, np.inf), axis=-1, initial=np.inf)
    return np.asarray(high > low)


def check_percentile(percentile: float) -> None:
    """Refuse what is no percentile, and a share that was meant as one."""
    percentile = as_number(percentile, "a percentile is one number from 0 to 100")
    if not 0 <= percentile <= 100:
        raise InputError(f"a percentile lies between 0 and 100, not {percentile}")
    if 0 < percentile < 1:
        raise InputError(
            f"a percentile lies between 0 and 100: {percentile} is nearly 0",
            advice=f"Did you mean {100 * percentile:.12g}?",
        )


def weighted_percentile(values: Floats, weights: Floats, percentile: float) -> Floats:
    """Return the percentile along the last axis of values that stand there as often as their weights say.

    Between two values it is interpolated as NumPy does by default. Values are sorted once for all sets of weights.
    """
    check_percentile(percentile)
    if not (weights == np.floor(weights)).all():
        raise InputError("a percentile needs whole numbers as weights: how often each sample stands there")
    order = np.argsort(values, axis=-1)
    lead = np.broadcast_shapes(values.shape[:-1], weights.shape[:-1])
    ascending = np.broadcast_to(np.take_along_axis(values, order, -1), (*lead, values.shape[-1]))
    counts = np.take_along_axis(
        np.broadcast_to(weights, (*lead, values.shape[-1])), np.broadcast_to(order, ascending.shape), -1
    ).cumsum(axis=-1)
    total = weights.sum(axis=-1)
    if not values.shape[-1]:
        return quotient(np.zeros(lead), np.zeros(lead))
    place = np.maximum(total - 1, 0) * (percentile / 100)
    floor = np.floor(place)

    def standing_at(number: Floats) -> Floats:
        index = np.minimum((counts <= np.asarray(number)[..., None]).sum(axis=-1), values.shape[-1] - 1)
        return np.take_along_axis(ascending, index[..., None], -1)[..., 0]

    low, high = standing_at(floor), standing_at(np.minimum(floor + 1, total - 1))
    middle = low + (high - low) * (place - floor)
    return quotient(np.clip(middle, low, high), total > 0)
