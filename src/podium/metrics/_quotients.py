"""Division that says where it has no answer."""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from podium.model import UNDEFINED

Floats = npt.NDArray[np.float64]


def quotient(numerator: npt.ArrayLike, denominator: npt.ArrayLike, *, where: npt.ArrayLike = True) -> Floats:
    """Return numerator / denominator; undefined where the denominator is not positive, or where told."""
    over, under = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    result = np.full(np.broadcast_shapes(over.shape, under.shape), UNDEFINED)
    np.divide(over, under, out=result, where=(under > 0) & np.asarray(where))
    return cast(Floats, result[()])  # one number is a number, not an array without axes
