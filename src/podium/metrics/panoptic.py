"""How well instances were found: from counts, and from the overlap of the pairs that were matched.

The functions of counts take any axes, so that the counts of a weighted set of images, one for each bootstrap replicate,
are the same call: `InstanceCounts.pooled(images, weights=weights)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._pairs import Labels, Spacing
from podium.metrics._quotients import quotient
from podium.metrics._rows import as_weights
from podium.metrics.instances import InstanceOverlaps, Similarity
from podium.metrics.matching import Matching, Method
from podium.metrics.registry import A_SHARE, declare
from podium.model import UNDEFINED, InputError

__all__ = [
    "InstanceCounts",
    "detection_f1",
    "detection_precision",
    "detection_sensitivity",
    "panoptic_quality",
    "recognition_quality",
    "segmentation_average_precision",
    "segmentation_quality",
]

Floats = npt.NDArray[np.float64]

THRESHOLDS = tuple((50 + 5 * k) / 100 for k in range(10))
"""The overlaps 0.5, 0.55 … 0.95."""


@dataclass(frozen=True, slots=True, eq=False)
class InstanceCounts:
    """How many instances there are, how many of them were matched, and how well; numbers, or arrays of one shape.

    Attributes
    ----------
    references, predictions
        How many instances there are.
    matched_references, matched_predictions
        References that were matched, and predictions that were; equal where matching is one to one.
    quality
        Sum of the IoU of the matched references with all that was matched to them.

    Examples
    --------
    >>> import numpy as np
    >>> reference, prediction = np.zeros((2, 8, 8), bool)
    >>> reference[0:3, 0:4] = reference[5:7, 5:7] = True
    >>> prediction[0:3, 0:3] = prediction[0, 7] = True
    >>> counts = InstanceCounts.between(reference, prediction)
    >>> float(panoptic_quality(counts)), float(segmentation_quality(counts)), float(recognition_quality(counts))
    (0.375, 0.75, 0.5)
    """

    references: Floats
    predictions: Floats
    matched_references: Floats
    matched_predictions: Floats
    quality: Floats

    @classmethod
    def of(cls, overlaps: InstanceOverlaps, matching: Matching) -> InstanceCounts:
        """Count a matching of one image."""
        return cls._counted(overlaps, matching, np.zeros(matching.shape[0], int), np.zeros(matching.shape[1], int), 0)

    @classmethod
    def between(
        cls,
        reference: Labels,
        prediction: Labels,
        *,
        connectivity: int | None = None,
        by: Similarity = "iou",
        threshold: float = 0.5,
        inclusive: bool = False,
        method: Method = "optimal",
        many_to_one: bool = False,
        spacing_mm: Spacing | None = None,
    ) -> InstanceCounts:
        """Match and count the instances of two maps; see `InstanceOverlaps.between` and `match`.

        By default pairs with an IoU of more than 0.5, as panoptic quality is defined: no instance can have two.
        """
        overlaps = InstanceOverlaps.between(reference, prediction, connectivity=connectivity, spacing_mm=spacing_mm)
        matching = overlaps.match(
            by=by, threshold=threshold, inclusive=inclusive, method=method, many_to_one=many_to_one
        )
        return cls.of(overlaps, matching)

    @classmethod
    def by_size(cls, overlaps: InstanceOverlaps, matching: Matching, *, edges_mm3: Sequence[float]) -> InstanceCounts:
        """Count by size: the last axis has one entry more than there are edges; a size on an edge is above it.

        A matched prediction is counted with its reference, whatever its own size; any other by its own.
        """
        edges = np.asarray(edges_mm3, np.float64)
        if edges.ndim != 1 or not (np.diff(edges) > 0).all():
            raise InputError(f"the edges of sizes must be numbers that ascend, not {edges_mm3}")
        volume = overlaps.voxel_volume_mm3
        sizes = np.digitize(overlaps.reference_voxels * volume, edges)
        other_sizes = np.digitize(overlaps.prediction_voxels * volume, edges)
        other_sizes[matching.columns] = sizes[matching.rows]
        return cls._counted(overlaps, matching, sizes, other_sizes, edges.size + 1)

    @classmethod
    def at_thresholds(
        cls, overlaps: InstanceOverlaps, *, thresholds: Sequence[float] = THRESHOLDS, **options: Any
    ) -> InstanceCounts:
        """Count for each threshold of a matching, along the last axis."""
        if not len(thresholds):
            raise InputError("there are no thresholds")
        images = [cls.of(overlaps, overlaps.match(threshold=t, **options)) for t in thresholds]
        return cls(*(np.stack(own, axis=-1) for own in zip(*(image.arrays for image in images), strict=True)))

    @classmethod
    def pooled(cls, images: Sequence[InstanceCounts], *, weights: npt.ArrayLike | None = None) -> InstanceCounts:
        """Add up the counts of images.

        Parameters
        ----------
        images
            Counts of one shape.
        weights
            How often each image counts: shape (images,) or (sets, images); by default once.
        """
        if not images:
            raise InputError("there are no images to add up")
        factors = as_weights(weights, len(images), axes=2)
        stacked = [np.stack(own) for own in zip(*(image.arrays for image in images), strict=True)]
        return cls(*(np.tensordot(factors, own, 1) for own in stacked))

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """Return the five arrays."""
        return tuple(np.asarray(getattr(self, field.name), np.float64) for field in fields(self))

    @classmethod
    def _counted(
        cls, overlaps: InstanceOverlaps, matching: Matching, sizes: Any, other_sizes: Any, bins: int
    ) -> InstanceCounts:
        """Count instances in bins; no bin at all is one number."""
        quality = matched_overlaps(overlaps, matching)[0]

        def count(places: Any, weights: Any) -> Floats:
            sums = np.bincount(places, np.asarray(weights, np.float64), max(bins, 1)).astype(np.float64)
            return sums.reshape((bins,) if bins else ())

        return cls(
            references=count(sizes, np.ones(sizes.size)),
            predictions=count(other_sizes, np.ones(other_sizes.size)),
            matched_references=count(sizes, matching.matched_references),
            matched_predictions=count(other_sizes, matching.matched_predictions),
            quality=count(sizes, quality),
        )


def matched_overlaps(overlaps: InstanceOverlaps, matching: Matching) -> tuple[Floats, Floats]:
    """Return IoU and Dice of every reference with all that was matched to it; 0 where nothing was."""
    size = matching.shape[0]
    common = np.bincount(matching.rows, overlaps.common_voxels(matching.rows, matching.columns), size)
    claimed = np.bincount(matching.rows, overlaps.prediction_voxels[matching.columns], size)
    both = overlaps.reference_voxels + claimed
    return np.asarray(common / (both - common)), np.asarray(2 * common / both)


def _declared(values: Floats, counts: InstanceCounts, empty: Mapping[str, float]) -> Floats:
    """Put what is declared where there are no instances."""
    no_reference, no_prediction = np.asarray(counts.references) == 0, np.asarray(counts.predictions) == 0
    cases = {
        "both": no_reference & no_prediction,
        "reference": no_reference & ~no_prediction,
        "prediction": no_prediction & ~no_reference,
    }
    result = np.select([cases[case] for case in empty], list(empty.values()), values)
    return np.asarray(result, np.float64)[()]


_SHARE: dict[str, Any] = {
    "family": "instances",
    **A_SHARE,
}
_BOTH = {"both": 1.0, "reference": 0.0, "prediction": 0.0}


@declare(
    title="Detection sensitivity",
    **_SHARE,
    symmetric=False,
    empty={"both": 1.0, "reference": UNDEFINED, "prediction": 0.0},
    formula="TP / (TP + FN), of instances",
    same_as={"panoptica": "rec with strict_threshold=True, unless the reference is empty"},
)
def detection_sensitivity(counts: InstanceCounts) -> Floats:
    """Return the share of the reference's instances that were found; undefined if there were none but some predicted.

    1 if neither has any.
    """
    return _declared(quotient(counts.matched_references, counts.references), counts, detection_sensitivity.empty)


@declare(
    title="Detection precision",
    **_SHARE,
    symmetric=False,
    empty={"both": 1.0, "reference": 0.0, "prediction": UNDEFINED},
    formula="TP / (TP + FP), of instances",
    same_as={"panoptica": "prec with strict_threshold=True, unless the prediction is empty"},
)
def detection_precision(counts: InstanceCounts) -> Floats:
    """Return the share of the predicted instances that are right; undefined if none was predicted but some exist.

    1 if neither has any.
    """
    return _declared(quotient(counts.matched_predictions, counts.predictions), counts, detection_precision.empty)


@declare(
    title="Detection F1",
    **_SHARE,
    symmetric=True,
    empty=_BOTH,
    formula="2·TP / (2·TP + FP + FN), of instances",
    same_as={"panoptica": "rq with strict_threshold=True, unless both are empty"},
)
def detection_f1(counts: InstanceCounts) -> Floats:
    """Return the harmonic mean of sensitivity and precision; one to one, this is 2·TP / (2·TP + FP + FN).

    1 if neither has any instance, 0 if one has none.
    """
    true, right = np.asarray(counts.matched_references), np.asarray(counts.matched_predictions)
    both = true * counts.predictions + right * counts.references
    return _declared(np.where(both > 0, quotient(2 * true * right, both), 0.0), counts, detection_f1.empty)


@declare(
    title="Recognition quality",
    **_SHARE,
    symmetric=True,
    empty=_BOTH,
    formula="TP / (TP + FP/2 + FN/2)",
    same_as={"panoptica": "rq with strict_threshold=True, unless both are empty"},
)
def recognition_quality(counts: InstanceCounts) -> Floats:
    """Return TP / (TP + FP/2 + FN/2): the detection F1 of pairs whose IoU is more than 0.5."""
    return detection_f1(counts)


@declare(
    title="Segmentation quality",
    **_SHARE,
    symmetric=True,
    empty=dict.fromkeys(_BOTH, UNDEFINED),
    formula="Σ IoU of matched pairs / TP",
    same_as={"panoptica": "sq with strict_threshold=True, unless nothing matches"},
)
def segmentation_quality(counts: InstanceCounts) -> Floats:
    """Return the mean IoU of the matched instances; undefined where none was (panoptica: 0)."""
    return quotient(counts.quality, counts.matched_references)[()]


@declare(
    title="Panoptic quality",
    **_SHARE,
    symmetric=True,
    empty=_BOTH,
    formula="Σ IoU of matched pairs / (TP + FP/2 + FN/2)",
    same_as={"panoptica": "pq with strict_threshold=True, unless both are empty"},
)
def panoptic_quality(counts: InstanceCounts) -> Floats:
    """Return Σ IoU of the matched pairs / (TP + FP/2 + FN/2): segmentation quality times recognition quality.

    1 if neither has any instance (panoptica: NaN), 0 if one has none or nothing was matched. Pairs with an IoU of more
    than 0.5 match; panoptica also takes those of exactly 0.5, unless told `strict_threshold=True`.

    References
    ----------
    Kirillov et al. 2019, CVPR, Panoptic segmentation.
    """
    quality = np.where(
        np.asarray(counts.matched_references) > 0, quotient(counts.quality, counts.matched_references), 0.0
    )
    return _declared(quality * detection_f1(counts), counts, panoptic_quality.empty)


@declare(
    title="Average precision over thresholds",
    **_SHARE,
    symmetric=True,
    empty=_BOTH,
    formula="mean over thresholds of TP / (TP + FP + FN)",
    same_as={},
)
def segmentation_average_precision(counts: InstanceCounts) -> Floats:
    """Return the mean of TP / (TP + FP + FN) over the thresholds of the matching, the last axis.

    From `InstanceCounts.at_thresholds`. This needs no scores and is not the area under a curve of precision: see
    `detection_average_precision`. The Data Science Bowl of 2018 and StarDist call both by one name.

    References
    ----------
    Caicedo et al. 2019, Nature Methods 16.
    """
    union = np.asarray(counts.references) + counts.predictions - counts.matched_references
    shares = np.asarray(_declared(quotient(counts.matched_references, union), counts, _BOTH))
    return np.asarray(shares.mean(axis=-1), np.float64)[()]
