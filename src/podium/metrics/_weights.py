"""Weights of rows: how often each image counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.model import InputError


def as_weights(weights: npt.ArrayLike | None, *, rows: int) -> npt.NDArray[np.float64]:
    """Return weights with rows as their last axis, one for each if none are given; none may be negative."""
    if weights is None:
        return np.ones(rows)
    numbers = np.asarray(weights, np.float64)
    if numbers.ndim not in (1, 2) or numbers.shape[-1] != rows:
        raise InputError(f"weights must have the shape ({rows},) or (sets, {rows}), not {numbers.shape}")
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise InputError("a weight must be a number from 0")
    return np.ascontiguousarray(numbers)
