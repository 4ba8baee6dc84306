"""Making one truth of many: majority vote, intersection, union, and STAPLE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.model import Floats, InputError

__all__ = ["FUSIONS", "Performance", "fuse", "staple"]

FUSIONS = ("majority", "intersection", "union", "staple")
"""The ways to make one mask of many."""

_MOST_RATERS = 62  # each is a bit of a whole number
_CONVERGED = 1e-14  # squared change of every sensitivity and specificity, as in ITK
_MOST_ROUNDS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Performance:
    """What STAPLE makes of raters.

    Attributes
    ----------
    probability
        Of each voxel to be inside, in the shape of the masks.
    sensitivity, specificity
        Of each rater: the share of the inside, and of the outside, that they called so.
    """

    probability: Floats
    sensitivity: Floats
    specificity: Floats


def fuse(masks: Sequence[npt.NDArray[np.bool_]], *, method: str, voxels: int | None = None) -> npt.NDArray[np.bool_]:
    """Make one mask of the masks of several raters.

    Parameters
    ----------
    masks
        One of each rater, all of the same shape.
    method
        `majority`: what more than half of the raters marked; of two raters, what both did. `intersection`: what all
        marked. `union`: what anybody marked. `staple`: what is inside with a probability of at least one half.
    voxels
        For `staple`, if the masks are cut out of an image: how many voxels that has.

    Examples
    --------
    >>> import numpy as np
    >>> raters = [np.array([True, True, False]), np.array([True, False, False]), np.array([True, True, True])]
    >>> fuse(raters, method="majority").tolist()
    [True, True, False]
    """
    if method not in FUSIONS:
        raise InputError(f"there is no way {method!r} to make one mask of many", advice=f"It is {', '.join(FUSIONS)}")
    _check(masks)
    if method == "intersection":
        return np.asarray(np.logical_and.reduce(masks))
    if method == "union":
        return np.asarray(np.logical_or.reduce(masks))
    if method == "majority":
        votes = np.zeros(masks[0].shape, np.uint8)
        for mask in masks:
            votes += mask
        return np.asarray(votes > len(masks) / 2)
    return np.asarray(staple(masks, voxels=voxels).probability >= 0.5)


def staple(masks: Sequence[npt.NDArray[np.bool_]], *, voxels: int | None = None) -> Performance:
    """Estimate truth and raters together: simultaneous truth and performance level estimation.

    The numbers are those of SimpleITK's STAPLE filter. All voxels that the same raters marked have the same
    probability, so that the estimation runs over patterns of raters instead of voxels. How probable the inside is
    beforehand is the mean share of voxels that raters marked, so it depends on how much background there is around.

    Parameters
    ----------
    masks
        One of each rater, all of the same shape.
    voxels
        If the masks are cut out of an image: how many voxels that has; those outside are marked by nobody.

    References
    ----------
    Warfield, Zou and Wells 2004, IEEE Transactions on Medical Imaging 23(7).
    """
    _check(masks)
    codes = np.zeros(masks[0].shape, np.int64)
    for rater, mask in enumerate(masks):
        codes |= mask.astype(np.int64) << rater
    patterns, place, counted = np.unique(codes, return_inverse=True, return_counts=True)
    counts = counted.astype(np.float64)
    missing = (codes.size if voxels is None else voxels) - codes.size
    if missing < 0:
        raise InputError(f"an image of {voxels} voxels cannot hold masks of {codes.size}")
    if missing:
        if not patterns.size or patterns[0] != 0:
            patterns, counts, place = np.append(0, patterns), np.append(0.0, counts), place + 1
        counts[0] += missing
    if not counts.size:
        raise InputError("masks without any voxel cannot be made one")
    marked = (patterns[:, None] >> np.arange(len(masks)) & 1).astype(bool)
    inside = marked.mean(axis=1)
    prior = float(inside @ counts / counts.sum())
    if prior in (0.0, 1.0):  # nobody marked anything, or everybody everything
        certain = np.ones(len(masks))
        return Performance(np.full(codes.shape, prior), certain, certain)
    last = np.full((2, len(masks)), -10.0)
    for _ in range(_MOST_ROUNDS):
        within, without = inside * counts, (1 - inside) * counts
        rates = np.array([within @ marked / within.sum(), without @ ~marked / without.sum()])
        one = prior * np.where(marked, rates[0], 1 - rates[0]).prod(axis=1)
        other = (1 - prior) * np.where(marked, 1 - rates[1], rates[1]).prod(axis=1)
        inside = np.divide(one, one + other, out=inside.copy(), where=one + other > 0)
        if (np.square(rates - last) <= _CONVERGED).all():
            break
        last = rates
    return Performance(inside[place].reshape(codes.shape), rates[0], rates[1])


def _check(masks: Sequence[npt.NDArray[np.bool_]]) -> None:
    if not masks or len({mask.shape for mask in masks}) > 1:
        raise InputError("masks to be made one must be at least one, and all of the same shape")
    if len(masks) > _MOST_RATERS:
        raise InputError(f"there are {len(masks)} raters, at most {_MOST_RATERS} can be made one")
