"""Segmentation measured lesion by lesion: a small one counts as much as a large one, and one too many costs too.

Two rules say what belongs to a lesion of the reference. By contact, all that touches it, perhaps dilated, as in BraTS
2023; by matching, what `match` gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_length, as_whole_number
from podium.metrics._pairs import Labels, Spacing
from podium.metrics.distances import check_tolerance, hausdorff_distance_95, surface_dice
from podium.metrics.instances import (
    AS_LABELLED,
    InstanceOverlaps,
    Similarity,
    components,
    instance_maps,
    is_mask,
    single_label,
)
from podium.metrics.matching import Matching, Method
from podium.metrics.panoptic import InstanceCounts, matched_overlaps
from podium.metrics.registry import A_SHARE, AN_ERROR, declare
from podium.metrics.surface import Boundary, SurfaceDistances, check_boundary
from podium.model import Box, InputError

__all__ = [
    "BRATS_2023",
    "Lesion",
    "LesionComparison",
    "lesion_wise_dice",
    "lesion_wise_hausdorff_distance_95",
    "lesion_wise_surface_dice",
]

Floats = npt.NDArray[np.float64]

BRATS_2023: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "GLI": {"dilation": 3, "ignored_up_to_mm3": 50.0},
        "SSA": {"dilation": 3, "ignored_up_to_mm3": 50.0},
        "PED": {"dilation": 3, "ignored_up_to_mm3": 50.0},
        "MEN": {"dilation": 1, "ignored_up_to_mm3": 50.0},
        "MET": {"dilation": 1, "ignored_up_to_mm3": 2.0},
    }
)
"""What each task of BraTS 2023 gives to `LesionComparison.by_contact`; its price of a distance is 374 mm."""


@dataclass(frozen=True, slots=True)
class Lesion:
    """One lesion of the reference with all that was predicted for it, or one predicted lesion that is none.

    Attributes
    ----------
    status
        `matched`, `missed` (nothing was predicted for it) or `false` (only predicted).
    counted
        False for a lesion of the reference that is too small to count.
    reference_label, prediction_labels
        Its labels in the maps of the comparison; None where it is false.
    reference_mm3, prediction_mm3
        Its volume, and that of what was predicted for it; in 2-D, mm².
    centre_mm
        Centre of mass of the lesion, or of the false one; voxel 0 lies at 0.
    box
        The box around both.
    dice, iou
        Overlap of both; 0 where there is only one.
    """

    status: Literal["matched", "missed", "false"]
    counted: bool
    reference_label: int | None
    prediction_labels: tuple[int, ...]
    reference_mm3: float
    prediction_mm3: float
    centre_mm: tuple[float, ...]
    box: Box
    dice: float
    iou: float


@dataclass(frozen=True, eq=False)
class LesionComparison:
    """The lesions of a reference and of a prediction, side by side.

    Attributes
    ----------
    lesions
        Those of the reference by their labels, then the false ones by theirs.
    reference, prediction
        The maps whose labels the lesions name.
    spacing_mm
        Millimetres per axis.
    boundary
        Which boundary their distances are measured between; see `podium.metrics.surface`.

    Examples
    --------
    >>> import numpy as np
    >>> reference, prediction = np.zeros((2, 20, 20), bool)
    >>> reference[2:6, 2:6] = reference[12:16, 12:16] = True
    >>> prediction[2:6, 2:6] = prediction[2:4, 15:17] = True
    >>> comparison = LesionComparison.by_contact(reference, prediction)
    >>> [lesion.status for lesion in comparison.lesions]
    ['matched', 'missed', 'false']
    >>> round(lesion_wise_dice(comparison), 4)
    0.3333
    """

    lesions: tuple[Lesion, ...]
    reference: npt.NDArray[Any]
    prediction: npt.NDArray[Any]
    spacing_mm: tuple[float, ...]
    boundary: Boundary = "surfel"

    def __post_init__(self) -> None:
        check_boundary(self.boundary)

    @classmethod
    def by_contact(
        cls,
        reference: Labels,
        prediction: Labels,
        *,
        dilation: int = 0,
        ignored_up_to_mm3: float = 0.0,
        connectivity: int | None = None,
        spacing_mm: Spacing | None = None,
        boundary: Boundary = "surfel",
    ) -> LesionComparison:
        """Give to each lesion of the reference every predicted component that touches it: the rule of BraTS 2023.

        1. The reference's mask is dilated by its 18 neighbours (faces and edges), `dilation` times. What is then one
           connected component (26) is one lesion, made of the voxels of the undilated mask in it.
        2. Components (26) of the prediction, not dilated, that share a voxel with a dilated lesion belong to it, whole;
           one component may belong to several lesions.
        3. A lesion's Dice and HD95 (DeepMind's surface distances) are those between the lesion, not dilated, and all
           components that belong to it together.
        4. A lesion to which nothing belongs has a Dice of 0 and an HD95 of 374 mm. So has each predicted component that
           belongs to no lesion.
        5. Lesions of the reference of at most `ignored_up_to_mm3` are left out, found or not; what belongs to them is
           not false. Predicted components are never too small.
        6. The score of a case is the mean over lesions left and false components; where there are neither, 1 and 0 mm.

        Parameters
        ----------
        reference, prediction
            Masks, or instance maps where nothing is dilated; see `InstanceOverlaps.between`.
        dilation, ignored_up_to_mm3
            See `BRATS_2023` for its values. The organisers' page gives the limit in voxels, of 1 mm³ each there.
        connectivity
            Of the components; by default 26, in 2-D 8. See `InstanceOverlaps.between`.
        spacing_mm
            Millimetres per axis; by default the reference's, or 1 for arrays.
        boundary
            See `podium.metrics.surface`.

        References
        ----------
        BraTS 2023, announcement of the metrics (Synapse syn51156910, discussion thread 10357), and the organisers' code
        (github.com/rachitsaluja/BraTS-2023-Metrics); Moawad et al. 2023, arXiv 2306.00838.
        """
        steps = as_whole_number(dilation, "a dilation is a whole number of steps from 0", least=0)
        lesions, predicted, spacing = instance_maps(
            reference, prediction, connectivity=connectivity, spacing_mm=spacing_mm
        )
        extents = lesions
        if steps and lesions.any():
            searched = connectivity is not None or is_mask(reference) or single_label(lesions)
            if connectivity == AS_LABELLED or not searched:
                raise InputError(
                    "a dilation joins the parts of a mask, and the reference is a map of instances",
                    advice="Write reference > 0 for the parts of all of them together",
                )
            inside = lesions != 0
            extents = _dilated_components(inside, steps, connectivity)
            lesions = extents * inside
        given: dict[str, Any] = {"connectivity": AS_LABELLED, "spacing_mm": spacing}
        overlaps = InstanceOverlaps.between(lesions, predicted, **given)
        contacts = InstanceOverlaps.between(extents, predicted, **given) if extents is not lesions else overlaps
        matching = Matching(contacts.rows, contacts.columns, contacts.common.astype(np.float64), contacts.shape)
        rows = _lesions(overlaps, matching, ignored_up_to_mm3)
        return cls(rows, lesions, predicted, spacing, boundary)

    @classmethod
    def by_matching(
        cls,
        reference: Labels,
        prediction: Labels,
        *,
        by: Similarity = "iou",
        threshold: float = 0.5,
        inclusive: bool = True,
        method: Method = "optimal",
        many_to_one: bool = False,
        ignored_up_to_mm3: float = 0.0,
        connectivity: int | None = None,
        spacing_mm: Spacing | None = None,
        boundary: Boundary = "surfel",
    ) -> LesionComparison:
        """Give to each lesion what is matched to it; see `InstanceOverlaps.between` and `match` for the words."""
        one, two, spacing = instance_maps(reference, prediction, connectivity=connectivity, spacing_mm=spacing_mm)
        overlaps = InstanceOverlaps.between(one, two, connectivity=AS_LABELLED, spacing_mm=spacing)
        matching = overlaps.match(
            by=by, threshold=threshold, inclusive=inclusive, method=method, many_to_one=many_to_one
        )
        return cls(_lesions(overlaps, matching, ignored_up_to_mm3), one, two, spacing, boundary)

    @property
    def judged(self) -> tuple[Lesion, ...]:
        """Return the lesions that count, false ones among them."""
        return tuple(lesion for lesion in self.lesions if lesion.counted)

    @cached_property
    def distances(self) -> tuple[SurfaceDistances | None, ...]:
        """Return the distances between both boundaries for each lesion; None where there is only one."""
        return tuple(self._distances(lesion) if lesion.status == "matched" else None for lesion in self.lesions)

    @property
    def counts(self) -> InstanceCounts:
        """Count lesions and predictions; those that belong only to lesions that do not count are left out."""
        ours = [lesion for lesion in self.judged if lesion.status != "false"]
        right = {label for lesion in ours for label in lesion.prediction_labels}
        false = sum(lesion.status == "false" for lesion in self.lesions)
        numbers = len(ours), len(right) + false, sum(o.status == "matched" for o in ours), len(right)
        return InstanceCounts(*np.array([*numbers, sum(lesion.iou for lesion in ours)], np.float64))

    def table(self, *, tolerance_mm: float = 1.0) -> list[dict[str, Any]]:
        """Return a row for each lesion: what `Lesion` says, and its HD95 and surface Dice, None where one is alone."""
        rows = []
        for lesion, distances in zip(self.lesions, self.distances, strict=True):
            row = {field.name: getattr(lesion, field.name) for field in fields(lesion) if field.name != "box"}
            row["hausdorff_distance_95"] = distances and hausdorff_distance_95(distances)
            row["surface_dice"] = distances and surface_dice(distances, tolerance_mm=tolerance_mm)
            rows.append(row)
        return rows

    def _distances(self, lesion: Lesion) -> SurfaceDistances:
        cut = lesion.box.slices
        return SurfaceDistances.between(
            self.reference[cut] == lesion.reference_label,
            np.isin(self.prediction[cut], lesion.prediction_labels),
            spacing_mm=self.spacing_mm,
            boundary=self.boundary,
        )


def _dilated_components(mask: npt.NDArray[np.bool_], dilation: int, connectivity: int | None) -> npt.NDArray[Any]:
    """Return the components of a mask that was dilated by faces and edges, at full size."""
    from scipy.ndimage import binary_dilation, generate_binary_structure

    axes = range(mask.ndim)
    held = [np.flatnonzero(mask.any(axis=tuple(a for a in axes if a != axis))) for axis in axes]
    cut = tuple(slice(max(0, int(at[0]) - dilation), int(at[-1]) + 1 + dilation) for at in held)
    wide = binary_dilation(mask[cut], generate_binary_structure(mask.ndim, 2), iterations=dilation)
    result = np.zeros(mask.shape, np.uint32)
    result[cut] = components(wide, connectivity=connectivity)
    return result


def _lesions(overlaps: InstanceOverlaps, matching: Matching, ignored_up_to_mm3: float) -> tuple[Lesion, ...]:
    ignored_up_to_mm3 = as_length(ignored_up_to_mm3, "a volume is a number from 0")
    iou, dice = matched_overlaps(overlaps, matching)
    volume = overlaps.voxel_volume_mm3
    starts = np.searchsorted(matching.rows, np.arange(matching.shape[0] + 1))
    result = []
    for row in range(matching.shape[0]):
        own = matching.columns[starts[row] : starts[row + 1]]
        boxes = np.concatenate([overlaps.reference_boxes[[row]], overlaps.prediction_boxes[own]])
        size = float(overlaps.reference_voxels[row] * volume)
        result.append(
            Lesion(
                status="matched" if own.size else "missed",
                counted=size > ignored_up_to_mm3,
                reference_label=int(overlaps.reference_labels[row]),
                prediction_labels=tuple(overlaps.prediction_labels[own].tolist()),
                reference_mm3=size,
                prediction_mm3=float(overlaps.prediction_voxels[own].sum() * volume),
                centre_mm=tuple(overlaps.reference_centres_mm[row].tolist()),
                box=Box(tuple(boxes[:, 0].min(axis=0).tolist()), tuple(boxes[:, 1].max(axis=0).tolist())),
                dice=float(dice[row]),
                iou=float(iou[row]),
            )
        )
    for column in np.flatnonzero(~matching.matched_predictions):
        lower, upper = overlaps.prediction_boxes[column]
        result.append(
            Lesion(
                status="false",
                counted=True,
                reference_label=None,
                prediction_labels=(int(overlaps.prediction_labels[column]),),
                reference_mm3=0.0,
                prediction_mm3=float(overlaps.prediction_voxels[column] * volume),
                centre_mm=tuple(overlaps.prediction_centres_mm[column].tolist()),
                box=Box(tuple(lower.tolist()), tuple(upper.tolist())),
                dice=0.0,
                iou=0.0,
            )
        )
    return tuple(result)


_SHARE: dict[str, Any] = {
    "family": "lesions",
    **A_SHARE,
    "symmetric": False,
    "empty": {"both": 1.0, "reference": 0.0, "prediction": 0.0},
}


@declare(title="Lesion-wise Dice", **_SHARE, formula="Σ Dice of matched lesions / (lesions + false ones)", same_as={})
def lesion_wise_dice(comparison: LesionComparison) -> float:
    """Return the mean Dice of the lesions; 0 for each that was missed and each that is false, 1 if there are none."""
    values = [lesion.dice for lesion in comparison.judged]
    return float(np.mean(values)) if values else lesion_wise_dice.empty["both"]


@declare(
    title="Lesion-wise surface Dice",
    **_SHARE,
    formula="Σ surface Dice of matched lesions / (lesions + false ones)",
    same_as={},
    check=check_tolerance,
)
def lesion_wise_surface_dice(comparison: LesionComparison, *, tolerance_mm: float = 1.0) -> float:
    """Return the mean surface Dice of the lesions; 0 for each that was missed and each that is false, 1 if none."""
    values = [
        surface_dice(distances, tolerance_mm=tolerance_mm) if distances else 0.0 for distances in _judged(comparison)
    ]
    return float(np.mean(values)) if values else lesion_wise_surface_dice.empty["both"]


@declare(
    title="Lesion-wise Hausdorff distance 95 %",
    family="lesions",
    unit="mm",
    **AN_ERROR,
    symmetric=False,
    empty={"both": 0.0, "reference": np.inf, "prediction": np.inf},
    formula="(Σ HD95 of matched lesions + price · (missed + false)) / (lesions + false ones)",
    same_as={},
)
def lesion_wise_hausdorff_distance_95(comparison: LesionComparison, *, price_mm: float = np.inf) -> float:
    """Return the mean HD95 of the lesions, in mm; the price for each missed or false one, 0 if there are none.

    The price of BraTS is 374 mm, about the diagonal of its images (240 × 240 × 155 mm: 373.1 mm).
    """
    price_mm = as_length(price_mm, "a price is a length from 0")
    values = [hausdorff_distance_95(distances) if distances else price_mm for distances in _judged(comparison)]
    return float(np.mean(values)) if values else lesion_wise_hausdorff_distance_95.empty["both"]


def _judged(comparison: LesionComparison) -> list[SurfaceDistances | None]:
    pairs = zip(comparison.lesions, comparison.distances, strict=True)
    return [distances for lesion, distances in pairs if lesion.counted]
