"""Boxes in 2-D and 3-D: how much they overlap, and the mean average precision of their detection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_several, as_thresholds
from podium.metrics._rows import as_numbers, as_weights
from podium.metrics.classification import mean_over_defined
from podium.metrics.detection import Detections, ImageDetections, Interpolation, detection_average_precision
from podium.metrics.panoptic import THRESHOLDS
from podium.metrics.registry import A_SHARE, declare
from podium.model import UNDEFINED, InputError

__all__ = ["BoxSet", "average_precisions_of_boxes", "box_overlaps", "mean_average_precision"]

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoxSet:
    """Boxes of one image.

    Attributes
    ----------
    boxes
        Shape (boxes, 2 · axes): the lower corner, then the upper one, in any unit; a box from 2 to 5 is 3 wide.
    scores
        One for each box of a prediction: higher is surer. A reference needs none.
    classes
        One for each box; by default all are of one class.
    """

    boxes: Floats
    scores: Floats | None = None
    classes: npt.NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        boxes = as_numbers(self.boxes)
        if boxes.ndim != 2 or boxes.shape[1] % 2:
            raise InputError(f"boxes have the shape (boxes, 2 · axes), not {boxes.shape}")
        lower, upper = np.split(boxes, 2, axis=1)
        if not (np.isfinite(boxes).all() and (lower <= upper).all()):
            raise InputError("a box needs finite corners, the lower one first")
        for name in ("scores", "classes"):
            given = getattr(self, name)
            if given is not None and np.shape(given) != (len(boxes),):
                raise InputError(f"{len(boxes)} boxes need as many {name}, not {np.shape(given)}")
        object.__setattr__(self, "boxes", boxes)

    def of_class(self, kind: int) -> npt.NDArray[np.bool_]:
        """Return which boxes are of a class."""
        if self.classes is None:
            return np.full(len(self.boxes), kind == 0)
        return np.equal(self.classes, kind)


def box_overlaps(boxes: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """Return the IoU of all pairs of boxes, shape (boxes, references); 0 where both have no volume.

    Parameters
    ----------
    boxes, reference
        Shape (boxes, 2 · axes): the lower corner, then the upper one.

    Examples
    --------
    >>> box_overlaps([[0, 0, 2, 2]], [[0, 0, 2, 1], [1, 1, 3, 3]]).round(4)
    array([[0.5   , 0.1429]])
    """
    one, two = BoxSet(as_numbers(boxes)).boxes, BoxSet(as_numbers(reference)).boxes
    if one.shape[1] != two.shape[1]:
        raise InputError(f"boxes have {one.shape[1] // 2} axes, those of the reference {two.shape[1] // 2}")
    (lower, upper), (other_lower, other_upper) = (np.split(own, 2, axis=1) for own in (one, two))
    sides = np.minimum(upper[:, None], other_upper) - np.maximum(lower[:, None], other_lower)
    common = np.prod(np.maximum(sides, 0), axis=-1)
    union = np.prod(upper - lower, axis=1)[:, None] + np.prod(other_upper - other_lower, axis=1) - common
    return np.asarray(np.divide(common, union, out=np.zeros(common.shape), where=union > 0))


def average_precisions_of_boxes(
    reference: Sequence[BoxSet],
    prediction: Sequence[BoxSet],
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    interpolation: Interpolation = "101 points",
    most: int | None = 100,
    weights: npt.ArrayLike | None = None,
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the classes, and average precision by class and threshold: shape (…, classes, thresholds).

    Undefined for a class that no reference has. See `mean_average_precision` for the parameters.
    """
    reference = as_several(reference, BoxSet, call="mean_average_precision")
    prediction = as_several(prediction, BoxSet, call="mean_average_precision")
    levels = as_thresholds(thresholds).tolist()
    if len(reference) != len(prediction):
        raise InputError(f"there are {len(reference)} images with references and {len(prediction)} with predictions")
    kinds = [np.zeros(len(own.boxes), int) if own.classes is None else own.classes for own in (*reference, *prediction)]
    classes = np.unique(np.concatenate([np.zeros(0, np.int64), *kinds])).astype(np.int64)
    factors = as_weights(weights, len(reference), axes=2)
    result = np.full((*factors.shape[:-1], classes.size, len(levels)), UNDEFINED)
    for place, kind in enumerate(classes):
        images = []
        for truth, claim in zip(reference, prediction, strict=True):
            if claim.scores is None and len(claim.boxes):
                raise InputError("predicted boxes need scores")
            wanted, claimed = truth.of_class(kind), claim.of_class(kind)
            scores = np.zeros(0) if claim.scores is None else np.asarray(claim.scores)[claimed]
            overlaps = (
                box_overlaps(claim.boxes[claimed], truth.boxes[wanted])
                if wanted.any() and claimed.any()
                else np.zeros((int(claimed.sum()), int(wanted.sum())))
            )
            images.append(ImageDetections.at_thresholds(scores, overlaps, thresholds=levels, most=most))
        for level, own in enumerate(zip(*images, strict=True)):
            result[..., place, level] = detection_average_precision(
                Detections.of(own), interpolation=interpolation, weights=weights
            )
    return classes, result


@declare(
    title="Mean average precision",
    family="boxes",
    **A_SHARE,
    symmetric=False,
    empty={"no references": UNDEFINED},
    also_called=("map",),
    formula="mean over classes and thresholds 0.5, 0.55 … 0.95 of average precision",
    same_as={"pycocotools": "COCOeval.stats[0], where scores differ and no recall is rounded"},
)
def mean_average_precision(
    reference: Sequence[BoxSet],
    prediction: Sequence[BoxSet],
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    interpolation: Interpolation = "101 points",
    most: int | None = 100,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the mean over classes and thresholds of the average precision of boxes (mAP), in 2-D or 3-D.

    With its defaults this is COCO's AP: IoU of at least 0.5, 0.55 … 0.95, 101 points of recall, at most 100 boxes of a
    class an image. Classes that no reference has are left out; undefined where none has any.

    Parameters
    ----------
    reference, prediction
        The boxes of each image, in the same order.
    thresholds
        The least IoU of a hit; see `ImageDetections.by_overlap` for how boxes are matched.
    interpolation
        See `detection_average_precision`.
    most
        How many boxes of a class may count in an image; None for all.
    weights
        How often each image counts: shape (images,) or (sets, images); by default once.

    References
    ----------
    Lin et al. 2014, ECCV, Microsoft COCO.

    Examples
    --------
    >>> truth = BoxSet([[0, 0, 0, 4, 4, 4]])
    >>> claim = BoxSet([[0, 0, 0, 4, 4, 3]], scores=[0.9])  # IoU 0.75
    >>> round(float(mean_average_precision([truth], [claim])), 4)
    0.6
    """
    _, values = average_precisions_of_boxes(
        reference, prediction, thresholds=thresholds, interpolation=interpolation, most=most, weights=weights
    )
    return mean_over_defined(values.reshape(*values.shape[:-2], -1))[()]
