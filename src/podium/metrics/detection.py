"""Detections with scores: the trade of sensitivity for false positives, and of precision for recall.

An image gives what each of its predictions is, right or wrong; images together give the curves. A weight for each image
makes the same curves for a bootstrap replicate, thousands of them in one call.

Points, boxes and masks differ only in what is a hit: `point_hits`, `box_overlaps`, `mask_hits` and
`InstanceOverlaps.matrix` each make a table of all pairs, and any other table will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_several, as_several_numbers, as_thresholds, as_whole_number
from podium.metrics._counts import check_part
from podium.metrics._kernels import scored as kernels
from podium.metrics._pairs import Labels
from podium.metrics._rows import as_array, as_numbers, as_weights
from podium.metrics.instances import instance_map
from podium.metrics.registry import A_SHARE, declare
from podium.model import UNDEFINED, InputError

__all__ = [
    "Detections",
    "ImageDetections",
    "Interpolation",
    "detection_average_precision",
    "froc_score",
    "froc_sensitivities",
    "mask_hits",
    "point_hits",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Interpolation: TypeAlias = Literal["101 points", "11 points", "all points", "none"]

RATES = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
"""The false positives per scan at which LUNA16 takes the sensitivity."""

_ROUNDING = 1e-9  # of an overlap of 1
_POINTS = {"101 points": 101, "11 points": 11, "all points": 0, "none": -1}


@dataclass(frozen=True, slots=True, eq=False)
class ImageDetections:
    """What the predictions of one image are.

    Attributes
    ----------
    scores
        Of each prediction that is right or wrong; those that are neither are left out.
    true
        Whether it is right.
    references
        How many there were to find.
    """

    scores: Floats
    true: npt.NDArray[np.bool_]
    references: int

    def __post_init__(self) -> None:
        scores, true = as_numbers(self.scores), _yes_or_no(self.true, "a prediction is right or not")
        if scores.ndim != 1 or scores.shape != true.shape:
            raise InputError(f"scores and true have one entry for each prediction, not {scores.shape} and {true.shape}")
        if np.isnan(scores).any():
            raise InputError("a score is not a number")
        rule = "how many references there were to find is a whole number from 0"
        references = as_whole_number(self.references, rule, least=0)
        check_part("hits", int(np.count_nonzero(true)), "references", references)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "true", true)

    @classmethod
    def by_hits(
        cls,
        scores: npt.ArrayLike,
        hits: npt.ArrayLike,
        *,
        ignored: npt.ArrayLike | None = None,
        duplicates_are_false: bool = False,
    ) -> ImageDetections:
        """Let every prediction count for all references that it hits, as in LUNA16.

        A reference is found with the best score of all that hit it; the others of them are neither right nor wrong. A
        prediction that hits nothing is wrong.

        Parameters
        ----------
        scores
            One for each prediction: higher is surer.
        hits
            Whether each prediction hits each reference, shape (predictions, references).
        ignored
            References that need not be found (LUNA16's irrelevant findings): what hits only these is left out.
        duplicates_are_false
            Count as wrong a prediction that hits references which others with a better score have found.

        Notes
        -----
        A prediction that is the best for two references finds both. `scores` of the result then holds it twice.
        """
        own, table = _checked(scores, hits)
        table = _yes_or_no(table, "a hit is one or not")
        skip = _ignored(ignored, table.shape[1])
        order = np.argsort(-own, kind="stable")
        wanted = table[:, ~skip]
        hit = wanted[:, wanted.any(axis=0)]
        first = order[hit[order].argmax(axis=0)] if hit.size else np.zeros(0, np.intp)
        wrong = ~table.any(axis=1)
        if duplicates_are_false:
            wrong |= wanted.any(axis=1) & ~np.isin(np.arange(len(own)), first)
        return cls(
            np.concatenate([own[first], own[wrong]]),
            np.arange(first.size + int(wrong.sum())) < first.size,
            int((~skip).sum()),
        )

    @classmethod
    def by_overlap(
        cls,
        scores: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        threshold: float = 0.5,
        ignored: npt.ArrayLike | None = None,
        most: int | None = None,
    ) -> ImageDetections:
        """Let predictions take references one to one in descending order of scores, as in COCO.

        Each takes the best free reference whose value is at least the threshold, of equal ones the first (pycocotools:
        the last); if there is none, it is wrong. Of predictions with equal scores the first goes first.

        Parameters
        ----------
        scores
            One for each prediction: higher is surer.
        values
            IoU or another similarity from 0 to 1, shape (predictions, references).
        threshold
            The least value of a hit.
        ignored
            References that need not be found: a prediction that gets no other, but one of these, is left out. Any
            number of predictions may.
        most
            Only this many predictions of the image count, those with the best scores; COCO takes 100.
        """
        return cls.at_thresholds(scores, values, thresholds=[threshold], ignored=ignored, most=most)[0]

    @classmethod
    def at_thresholds(
        cls,
        scores: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        thresholds: Sequence[float],
        ignored: npt.ArrayLike | None = None,
        most: int | None = None,
    ) -> list[ImageDetections]:
        """Do what `by_overlap` does for several thresholds."""
        own, table = _checked(scores, values)
        skip = _ignored(ignored, table.shape[1])
        levels = as_thresholds(thresholds)
        if ((table < 0) | (table > 1 + _ROUNDING)).any():
            raise InputError("the overlap of a prediction with a reference is a share from 0 to 1")
        if most is not None:
            most = as_whole_number(most, "how many predictions count is a whole number from 1", least=1)
        order = np.argsort(-own, kind="stable")[:most]
        kinds = np.empty((levels.size, order.size), np.int8)
        kernels.take_by_score(np.ascontiguousarray(table[order], np.float64), skip, levels, kinds)
        return [cls(own[order][k >= 0], k[k >= 0] == 1, int((~skip).sum())) for k in kinds]


def _checked(scores: npt.ArrayLike, table: npt.ArrayLike) -> tuple[Floats, npt.NDArray[Any]]:
    own, pairs = as_numbers(scores), as_array(table)
    if own.ndim != 1 or pairs.ndim != 2 or len(pairs) != own.size:
        raise InputError(
            f"{own.size} scores need a table of the shape (predictions, references), not {pairs.shape}",
            advice="Without predictions it has the shape (0, references)",
        )
    if not np.isfinite(own).all():
        raise InputError("a score is not a finite number")
    return own, pairs


def _yes_or_no(given: npt.ArrayLike, rule: str) -> npt.NDArray[np.bool_]:
    array = as_array(given)
    if array.dtype != np.bool_ and not (array.dtype.kind in "iuf" and ((array == 0) | (array == 1)).all()):
        raise InputError(f"{rule}: True or False, not other values", advice="Compare overlaps with a threshold first")
    return array.astype(np.bool_, copy=False)


def _ignored(ignored: npt.ArrayLike | None, references: int) -> npt.NDArray[np.bool_]:
    skip = np.zeros(references, bool) if ignored is None else _yes_or_no(ignored, "a reference is ignored or not")
    if skip.shape != (references,):
        raise InputError(f"of {references} references it must be said whether they are ignored, not of {skip.size}")
    return skip


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """Predictions of many images, in descending order of their scores.

    Equal scores are one step of a curve: no threshold lies between them, so that their order cannot matter.

    Attributes
    ----------
    rows
        The image of each prediction.
    true
        Whether it is right.
    last
        Whether it is the last with its score.
    references
        How many there were to find in each image.
    """

    rows: npt.NDArray[np.int64]
    true: npt.NDArray[np.bool_]
    last: npt.NDArray[np.bool_]
    references: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        images = np.size(self.references)
        if not np.shape(self.rows) == np.shape(self.true) == np.shape(self.last) == (np.size(self.rows),):
            raise InputError("rows, true and last have one entry for each prediction")
        if np.size(self.rows) and not 0 <= np.min(self.rows) <= np.max(self.rows) < images:
            raise InputError(f"rows name one of {images} images for each prediction, counted from 0")
        check_part("hits", np.bincount(self.rows, self.true, images), "references", self.references)

    @classmethod
    def of(cls, images: Sequence[ImageDetections]) -> Detections:
        """Put images together."""
        images = as_several(images, ImageDetections, call="Detections.of")
        scores = np.concatenate([np.zeros(0), *(image.scores for image in images)])
        true = np.concatenate([np.zeros(0, bool), *(image.true for image in images)])
        rows = np.repeat(np.arange(len(images)), [image.scores.size for image in images])
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        last = np.ones(ranked.size, bool)
        last[:-1] = ranked[1:] != ranked[:-1]
        return cls(rows[order], true[order], last, np.array([image.references for image in images], np.int64))


def froc_sensitivities(
    detections: Detections,
    *,
    rates: Sequence[float] = RATES,
    weights: npt.ArrayLike | None = None,
    interpolation: Literal["linear", "step"] = "linear",
) -> Floats:
    """Return the sensitivity at each rate of false positives per image, the last axis: points of the FROC curve.

    Undefined where there is nothing to find. A curve that ends before a rate keeps its last sensitivity. MONAI leaves
    out the lowest threshold, so that its curve ends too early where every reference was found.

    Parameters
    ----------
    detections
        From `Detections.of`.
    rates
        False positives per image.
    weights
        How often each image counts: shape (images,) or (sets, images); by default once.
    interpolation
        `linear`: between neighbouring points of the curve, as LUNA16's evaluation does. `step`: the best that any
        threshold reaches with no more false positives.

    Examples
    --------
    >>> image = ImageDetections.by_hits([0.9, 0.8, 0.7], [[True, False], [False, False], [False, True]])
    >>> froc_sensitivities(Detections.of([image]), rates=(0.5, 1), interpolation="step")
    array([0.5, 1. ])
    """
    wanted = as_several_numbers(rates, "rates of false positives are numbers from 0")
    if not (wanted >= 0).all():
        raise InputError(f"rates of false positives are numbers from 0, not {rates}")
    if interpolation not in ("linear", "step"):
        raise InputError(f"there is no interpolation called {interpolation!r}", advice="It is 'linear' or 'step'")
    sets = as_weights(weights, detections.references.size, axes=2)
    ascending, place = np.unique(wanted, return_inverse=True)
    result = np.full((*sets.shape[:-1], ascending.size), UNDEFINED)
    kernels.sensitivities(
        detections.rows,
        detections.true,
        detections.last,
        np.atleast_2d(sets),
        detections.references,
        ascending,
        interpolation == "linear",
        np.atleast_2d(result),
    )
    return result[..., place]


_SHARE: dict[str, Any] = {
    "family": "detections",
    **A_SHARE,
    "symmetric": False,
    "empty": {"no references": UNDEFINED},
}


@declare(
    title="FROC score",
    **_SHARE,
    also_called=("froc", "cpm"),
    formula="mean sensitivity at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives per image",
    same_as={"MONAI": "compute_froc_score, where something was missed"},
)
def froc_score(
    detections: Detections,
    *,
    rates: Sequence[float] = RATES,
    weights: npt.ArrayLike | None = None,
    interpolation: Literal["linear", "step"] = "linear",
) -> Floats:
    """Return the mean sensitivity at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives per image, as LUNA16 ranks.

    1 is best; undefined where there is nothing to find. See `froc_sensitivities`.

    References
    ----------
    Setio et al. 2017, Medical Image Analysis 42 (arXiv 1612.08012); Niemeijer et al. 2011, IEEE TMI 30(2).
    """
    values = froc_sensitivities(detections, rates=rates, weights=weights, interpolation=interpolation)
    return np.asarray(values.mean(axis=-1))[()]


@declare(
    title="Average precision",
    **_SHARE,
    also_called=("ap", "average_precision"),
    formula="∫ precision d(recall), precision made to fall and read at 101 recalls",
    same_as={"scikit-learn": "average_precision_score times the share found (interpolation 'none')"},
)
def detection_average_precision(
    detections: Detections, *, interpolation: Interpolation = "101 points", weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the area under the curve of precision over recall; undefined where there is nothing to find.

    Parameters
    ----------
    detections
        From `Detections.of`.
    interpolation
        `101 points`: the mean of the best precision at a recall of at least 0, 0.01 … 1 (COCO). `11 points`: at 0, 0.1
        … 1 (PASCAL VOC 2007). `all points`: the area under the best precision at that recall or a larger one (VOC
        2010). `none`: Σ precision · step in recall (scikit-learn).
    weights
        How often each image counts: shape (images,) or (sets, images); by default once.

    Notes
    -----
    pycocotools takes equal scores one by one, in the order of images, and misses a recall that equals a point but is
    rounded below it (0.7 of ten references); here equal scores are one step, and recalls are compared exactly.

    Examples
    --------
    >>> image = ImageDetections.by_hits([0.9, 0.8, 0.7], [[True, False], [False, False], [False, True]])
    >>> round(float(detection_average_precision(Detections.of([image]), interpolation="all points")), 4)
    0.8333
    """
    if interpolation not in _POINTS:
        raise InputError(f"there is no interpolation called {interpolation!r}", advice=f"There are {list(_POINTS)}")
    sets = as_weights(weights, detections.references.size, axes=2)
    result = np.full(sets.shape[:-1], UNDEFINED)
    kernels.average_precisions(
        detections.rows,
        detections.true,
        detections.last,
        np.atleast_2d(sets),
        detections.references,
        _POINTS[interpolation],
        np.atleast_1d(result),
    )
    return result[()]


def point_hits(points: npt.ArrayLike, reference: npt.ArrayLike, *, radius_mm: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which points lie closer to which reference points than their radius, shape (points, references).

    Parameters
    ----------
    points, reference
        Positions in mm, shape (points, axes).
    radius_mm
        One for all, or one for each reference; a point exactly there is no hit, as in LUNA16.
    """
    one, two = as_numbers(points), as_numbers(reference)
    if one.ndim != 2 or two.ndim != 2 or one.shape[1] != two.shape[1]:
        raise InputError(f"points have the shape (points, axes) on both sides, not {one.shape} and {two.shape}")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("a point has a coordinate that is not a finite number")
    radius = np.asarray(radius_mm, np.float64)
    if radius.shape not in ((), (len(two),)) or not (radius >= 0).all():
        raise InputError(f"a radius is a length from 0, one for all or one for each of {len(two)} references")
    return np.asarray(np.square(one[:, None] - two).sum(axis=-1) < np.square(radius))


def mask_hits(
    points: npt.ArrayLike, instances: Labels, *, connectivity: int | None = None
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
    """Return which points lie in which instance of a map, shape (points, instances), and the labels of these.

    Parameters
    ----------
    points
        Positions in voxels, shape (points, axes), rounded to the nearest; outside the map nothing is hit.
    instances, connectivity
        A mask or an instance map; see `InstanceOverlaps.between`.
    """
    labelled = instance_map(instances, connectivity=connectivity, side="map")
    at, axes = np.rint(as_numbers(points)), labelled.ndim
    if at.ndim != 2 or at.shape[1] != axes:
        raise InputError(f"points in a {axes}-D map have the shape (points, {axes}), not {at.shape}")
    if not np.isfinite(at).all():
        raise InputError("a point has a coordinate that is not a finite number")
    labels = np.unique(labelled)
    labels = labels[labels != 0]
    inside = ((at >= 0) & (at < labelled.shape)).all(axis=1)
    under = np.zeros(len(at), labelled.dtype)
    under[inside] = labelled[tuple(at[inside].astype(np.int64).T)]
    return under[:, None] == labels, labels
