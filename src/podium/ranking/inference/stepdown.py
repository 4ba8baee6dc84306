"""Which of many statistics are beyond chance, all together: limits that come down as hypotheses are rejected."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.model import Floats
from podium.ranking.inference.intervals import quantiles

__all__ = ["StepDown"]

Bools = npt.NDArray[np.bool_]

_GROUPS = 1024


class StepDown:
    """Romano and Wolf's step-down method, told the resamples of a few hypotheses at a time.

    The limit is what the largest statistic of all hypotheses exceeds in a share alpha of the resamples. Whatever is
    beyond it is rejected, and the limit is taken anew over the rest, until nothing more is rejected. Only the largest
    of each group of hypotheses is kept, groups following the order of the statistics: with more than 1,024 hypotheses,
    limits are a little too large.

    Parameters
    ----------
    observed
        Sizes of the statistics, shape (hypotheses,).
    replicates
        How many resamples there will be.

    References
    ----------
    Romano and Wolf 2005, Econometrica 73(4).
    """

    def __init__(self, observed: Floats, replicates: int) -> None:
        self._observed = np.abs(observed)
        size = max(-(-len(observed) // _GROUPS), 1)
        order = np.argsort(-self._observed, kind="stable")
        self._group = np.empty(len(observed), np.intp)
        self._group[order] = np.arange(len(observed)) // size
        self._size = size
        self._largest = np.zeros((replicates, -(-len(observed) // size)))

    def add(self, hypotheses: npt.NDArray[np.intp], resampled: Floats) -> None:
        """Take in resampled statistics, centred at no effect, of shape (replicates, hypotheses)."""
        for group in np.unique(self._group[hypotheses]).tolist():
            own = resampled[:, self._group[hypotheses] == group]
            np.maximum(self._largest[:, group], np.max(np.abs(own), axis=1), out=self._largest[:, group])

    def rejected(self, alpha: float) -> Bools:
        """Return which statistics are beyond chance."""
        replicates = len(self._largest)
        rejected = np.zeros(len(self._observed), bool)
        if not len(rejected) or (1 - alpha) * (replicates + 1) > replicates:  # no resample is as rare as asked for
            return rejected
        remaining = np.maximum.accumulate(self._largest[:, ::-1], axis=1)[:, ::-1]
        while not rejected.all():
            first = int(rejected.sum()) // self._size
            limit = float(quantiles(remaining[:, first : first + 1], np.array([[1 - alpha]]))[0, 0])
            # Statistics that are equal on paper do not exceed each other.
            beyond = self._observed * (1 - 1e-12) > limit
            if not (beyond & ~rejected).any():
                break
            rejected |= beyond
        return rejected
