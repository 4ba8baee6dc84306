"""Rows of a table with a weight each: what functions of weighted rows share.

A weight of k means that the row stands there k times; leading axes of weights are sets of weights, one for each
bootstrap replicate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_number
from podium.metrics._quotients import quotient
from podium.model import InputError

Floats = npt.NDArray[np.float64]


def as_array(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return an array of what is given; a masked one would lose its mask in silence, and is refused."""
    if np.ma.is_masked(values):
        raise InputError("a masked array is given", advice="Leave out or fill what is masked")
    return np.asarray(values)


def as_numbers(values: npt.ArrayLike) -> Floats:
    """Return an array of floating point of what is given; see `as_array`."""
    return np.asarray(as_array(values), np.float64)


def as_samples(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Return finite numbers with samples along the last axis, and their weights."""
    one, two = as_numbers(reference), as_numbers(prediction)
    if one.shape[-1:] != two.shape[-1:] or one.ndim == 0:
        raise InputError(f"reference and prediction must have as many samples, not {one.shape} and {two.shape}")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("a value is not a finite number: a missing value is a failure, to be priced before this")
    return one, two, as_weights(weights, one.shape[-1])


def as_weights(weights: npt.ArrayLike | None, samples: int, *, axes: int | None = None) -> Floats:
    """Return a weight for each sample, along the last of so many axes at most."""
    weight = np.ones(samples) if weights is None else np.ascontiguousarray(weights, np.float64)
    if weight.shape[-1:] != (samples,) or (axes is not None and weight.ndim > axes):
        raise InputError(f"weights must have the shape ({samples},) or (sets, {samples}), not {weight.shape}")
    if not (weight.min(initial=0.0) >= 0 and weight.max(initial=0.0) < np.inf):
        raise InputError("weights must be one non-negative number per sample")
    return weight


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
