"""Medians and other quantiles of weighted rows."""

from __future__ import annotations

import numpy as np

from podium._jit import kernel
from podium.model import Floats, InputError

__all__ = ["quantile_and_scale", "smoothed_quantile", "weighted_quantile"]

_STEPS = 4096


def weighted_quantile(values: Floats, weights: Floats, *, share: float) -> Floats:
    """Return a quantile of rows that count as often as their weights say.

    It is the one of NumPy and R by default: linear between the two neighbours of place 1 + (n − 1) · share.

    Parameters
    ----------
    values
        Shape (submissions, rows); NaN where not defined, which leaves a row out.
    weights
        Shape (sets, rows); whole numbers from 0.
    share
        0.5 for the median.

    Returns
    -------
    ndarray
        Shape (sets, submissions); NaN where nothing counts.

    Examples
    --------
    >>> weighted_quantile(np.array([[1.0, 2.0, 10.0]]), np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 3.0]]), share=0.5)
    array([[ 2.],
           [10.]])
    """
    return quantile_and_scale(values, weights, share=share)[0]


def quantile_and_scale(values: Floats, weights: Floats, *, share: float) -> tuple[Floats, Floats]:
    """Return quantiles as `weighted_quantile` does, and the mean absolute value of the two numbers each lies between.

    The two count by how near the quantile is to them: it is their weighted mean.
    """
    if not 0 <= share <= 1:
        raise InputError(f"there is no quantile {share}", advice="It must lie between 0 and 1; 0.5 is the median")
    order = np.argsort(values, axis=1, kind="stable").astype(np.int32)  # NaN goes last
    defined = (~np.isnan(values)).sum(axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    quantiles, scales = _quantiles(ordered, order, defined, np.ascontiguousarray(weights), share)
    return np.asarray(quantiles), np.asarray(scales)


@kernel
def _quantiles(ordered, order, defined, weights, share):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Walk up each submission's values until enough rows are counted."""
    result, scales = np.full((len(weights), len(ordered)), np.nan), np.full((len(weights), len(ordered)), np.nan)
    for one in range(len(weights)):
        weight = weights[one]
        for submission in range(len(ordered)):
            total = 0.0
            for place in range(defined[submission]):
                total += weight[order[submission, place]]
            if total < 1:
                continue
            wanted = (total - 1) * share
            below = np.floor(wanted + 1e-12 * total)  # a whole number may have lost its last digit
            part = max(wanted - below, 0.0)
            counted, place = 0.0, -1
            while counted <= below:
                place += 1
                counted += weight[order[submission, place]]
            value = ordered[submission, place]
            scale = abs(value)
            if part > 1e-12 * total:
                while counted <= below + 1:
                    place += 1
                    counted += weight[order[submission, place]]
                value += part * (ordered[submission, place] - value)
                scale += part * (abs(ordered[submission, place]) - scale)
            result[one, submission] = value
            scales[one, submission] = scale
    return result, scales


def smoothed_quantile(values: Floats, weights: Floats, *, share: float) -> Floats:
    """Return Harrell and Davis's quantile of weighted rows: a mean of all values, most of it near the quantile.

    Parameters and result are those of `weighted_quantile`. It varies with every value, where the plain quantile of
    values that repeat may not vary at all.

    References
    ----------
    Harrell and Davis 1982, Biometrika 69(3).

    Examples
    --------
    >>> smoothed_quantile(np.array([[1.0, 2.0, 3.0]]), np.ones((1, 3)), share=0.5).round(6)
    array([[2.]])
    """
    from scipy.special import betainc

    order = np.argsort(values, axis=1, kind="stable").astype(np.int32)  # NaN goes last
    defined = (~np.isnan(values)).sum(axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    places = np.linspace(0.0, 1.0, _STEPS + 1)
    # Those who have few values spread them wider.
    counts = np.unique(defined[defined > 0])
    shares = np.stack([betainc((n + 1) * share, (n + 1) * (1 - share), places) for n in counts] or [places])
    which = np.searchsorted(counts, defined)
    return np.asarray(_smoothed(ordered, order, defined, np.ascontiguousarray(weights), shares, which))


@kernel
def _smoothed(ordered, order, defined, weights, shares, which):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Add up values in order, each by what its weight takes of the Beta distribution."""
    steps = shares.shape[1] - 1
    result = np.full((len(weights), len(ordered)), np.nan)
    for one in range(len(weights)):
        weight = weights[one]
        for submission in range(len(ordered)):
            total = 0.0
            for place in range(defined[submission]):
                total += weight[order[submission, place]]
            if total <= 0:
                continue
            share = shares[which[submission]]
            counted, before, value = 0.0, 0.0, 0.0
            for place in range(defined[submission]):
                own = weight[order[submission, place]]
                if own == 0:
                    continue
                counted += own
                at = min(counted / total, 1.0) * steps
                below = min(int(at), steps - 1)
                upto = share[below] + (at - below) * (share[below + 1] - share[below])
                value += (upto - before) * ordered[submission, place]
                before = upto
            result[one, submission] = value
    return result
