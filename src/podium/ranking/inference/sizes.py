"""Test sets of other sizes than the one at hand, drawn from its cases."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from podium.model import Floats
from podium.ranking.inference.resampling import BLOCK, Units

__all__ = ["draw_sets", "moved_by", "smallest_size"]


def draw_sets(units: Units, factor: float, *, sets: int, seed: Sequence[int]) -> list[Floats]:
    """Return how often each cluster is drawn into test sets larger or smaller by a factor, in blocks.

    Every stratum grows in proportion, to at least one cluster; within each block the shape is (sets, clusters).
    """
    blocks = []
    for start in range(0, sets, BLOCK):
        random = np.random.default_rng([*seed, start // BLOCK])
        counts = np.empty((min(BLOCK, sets - start), len(units.names)))
        for stratum in units.strata:
            size = stratum.stop - stratum.start
            counts[:, stratum] = random.multinomial(max(round(factor * size), 1), np.full(size, 1 / size), len(counts))
        blocks.append(counts)
    return blocks


def moved_by(effect: Floats, units: Units, counts: Floats) -> tuple[Floats, Floats]:
    """Return how far test sets of one size move a value, and the error that each shows, both of shape (sets,).

    Parameters
    ----------
    effect
        What the value owes to each cluster at hand, shape (clusters,); see `intervals`.
    counts
        How often each cluster was drawn, shape (sets, clusters).
    """
    shift, variance = np.zeros((2, len(counts)))
    for stratum in units.strata:
        own = effect[stratum] - effect[stratum].mean()
        size, drawn = len(own), counts[0, stratum].sum()
        sums, squares = counts[:, stratum] @ own, counts[:, stratum] @ np.square(own)
        shift += sums * (size / drawn)
        if drawn > 1:
            spread = squares - np.square(sums) / drawn
            # What cancellation leaves of no spread at all is none.
            variance += np.where(spread > 1e-13 * squares, spread, 0.0) * (size / drawn) ** 2 * drawn / (drawn - 1)
    return shift, np.sqrt(variance)


def smallest_size(sizes: Sequence[int], shares: Sequence[float], wanted: float) -> int | None:
    """Return the smallest size that reaches a share, rounded up to two digits; None if none does.

    Between two sizes, the normal deviate of the share is taken to grow with the root of the size, as it does for means.

    Examples
    --------
    >>> smallest_size([10, 40, 160], [0.3, 0.5, 0.9], 0.8), smallest_size([10, 40], [0.3, 0.5], 0.8)
    (110, None)
    """
    from scipy.special import ndtri

    index = next((index for index, share in enumerate(shares) if share >= wanted), None)
    if index is None:
        return None
    size = float(sizes[index])
    if index:
        below, above, aim = ndtri(np.clip([shares[index - 1], shares[index], wanted], 1e-4, 1 - 1e-4))
        size = float(np.interp(aim, [below, above], np.sqrt([sizes[index - 1], sizes[index]]))) ** 2
    size -= 1e-9 * size  # what rounding adds to a whole number
    unit: int = 10 ** max(len(str(math.ceil(size))) - 2, 0)
    return math.ceil(size / unit) * unit
