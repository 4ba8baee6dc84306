"""How much two segmentations have in common, from voxel counts alone.

One pass over two label maps counts how often each label of one meets each label of the other; every region, and every
metric below, is a sum of those counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_number
from podium.metrics._counts import check_part
from podium.metrics._kernels.counting import joint_counts
from podium.metrics._pairs import MASK, Labels, Regions, Spacing, as_regions, mask_labels, pair_up, which_empty
from podium.metrics.devices import gpu_engine, on_gpu
from podium.metrics.registry import A_SHARE, declare
from podium.model import UNDEFINED, Direction, InputError

__all__ = [
    "Overlap",
    "dice",
    "intersection_over_union",
    "overlap",
    "precision",
    "prediction_volume",
    "reference_volume",
    "relative_volume_difference",
    "sensitivity",
    "volume_difference",
    "volume_similarity",
]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Voxel counts of one region in a reference and a prediction.

    Attributes
    ----------
    common, reference, prediction
        Voxels in both, in the reference, in the prediction.
    voxel_volume_mm3
        Volume of one voxel in mm³; in 2-D, the area of one pixel in mm².

    Examples
    --------
    >>> dice(Overlap(common=3, reference=4, prediction=6))
    0.6
    """

    common: int
    reference: int
    prediction: int
    voxel_volume_mm3: float = 1.0

    def __post_init__(self) -> None:
        check_part("common", self.common, "reference", self.reference)
        check_part("common", self.common, "prediction", self.prediction)
        rule = "the volume of a voxel is a finite number above 0"
        if not 0 < as_number(self.voxel_volume_mm3, rule) < math.inf:
            raise InputError(f"{rule}, not {self.voxel_volume_mm3}")

    @classmethod
    def between(
        cls, reference: npt.NDArray[Any], prediction: npt.NDArray[Any], *, spacing_mm: Spacing | None = None
    ) -> Overlap:
        """Count two masks, of the same 2-D or 3-D shape: what is not zero is inside."""
        if on_gpu(reference, prediction):
            counted: Overlap = gpu_engine().count_masks(reference, prediction, spacing_mm=spacing_mm)
            return counted
        return overlap(mask_labels(reference), mask_labels(prediction), regions=MASK, spacing_mm=spacing_mm)["mask"]

    @property
    def empty(self) -> str | None:
        """Return which of the two has no voxel: both, reference, prediction, or None."""
        return which_empty(reference=self.reference, prediction=self.prediction)


def overlap(
    reference: Labels, prediction: Labels, *, regions: Regions, spacing_mm: Spacing | None = None
) -> dict[str, Overlap]:
    """Count the voxels of every region, a set of labels, in two label maps, in one pass over both.

    Parameters
    ----------
    reference, prediction
        Label maps, or arrays of whole numbers, of the same 2-D or 3-D shape; those on a GPU are counted there.
    regions
        Name and labels of each region. One whose labels are in neither map is empty on both sides (`Overlap.empty`),
        and a metric of it is what it declares for that: 1 for Dice.
    spacing_mm
        Millimetres per axis; by default the reference's, or 1 for arrays.
    """
    if on_gpu(reference, prediction):
        return dict(gpu_engine().count_regions(reference, prediction, regions=regions, spacing_mm=spacing_mm))
    pair = pair_up(reference, prediction, spacing_mm=spacing_mm)
    members = as_regions(regions)
    chosen = sorted({label for labels in members.values() for label in labels})
    table = pair.numbered(chosen)
    counts = np.zeros((len(chosen) + 1, len(chosen) + 1), np.int64)
    if not pair.nothing:
        joint_counts(pair.reference, pair.prediction, pair.lower, pair.upper, table, counts)
    volume = math.prod(pair.spacing)
    # A handful of numbers: plain ones are added up in a tenth of the time that arrays take to begin.
    joint, of_reference, of_prediction = counts.tolist(), counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    places = {label: place for place, label in enumerate(chosen, start=1)}
    result = {}
    for name, labels in members.items():
        rows = [places[label] for label in labels]
        result[name] = Overlap(
            common=sum(joint[row][column] for row in rows for column in rows),
            reference=sum(of_reference[row] for row in rows),
            prediction=sum(of_prediction[row] for row in rows),
            voxel_volume_mm3=volume,
        )
    return result


_SHARE: dict[str, Any] = {
    "family": "overlap",
    **A_SHARE,
}


@declare(
    title="Dice",
    **_SHARE,
    symmetric=True,
    empty={"both": 1.0, "reference": 0.0, "prediction": 0.0},
    also_called=("dsc", "dice_coefficient", "dice_score", "f1", "f1_score"),
    formula="2|R ∩ P| / (|R| + |P|)",
    same_as={
        "DeepMind surface-distance": "compute_dice_coefficient, unless both are empty",
        "MONAI": "compute_dice, unless the reference is empty",
        "MedPy": "dc, unless both are empty",
        "SimpleITK": "LabelOverlapMeasuresImageFilter.GetDiceCoefficient, unless both are empty",
    },
)
def dice(overlap: Overlap) -> float:
    """Return the Dice similarity coefficient 2|R ∩ P| / (|R| + |P|).

    1 is best, 0 worst; 1 if both are empty, 0 if one is. MONAI and others give NaN where the reference is empty, and
    drop it from the mean.

    References
    ----------
    Dice 1945, Ecology 26(3).
    """
    return 2 * overlap.common / (overlap.reference + overlap.prediction)


@declare(
    title="Intersection over union",
    **_SHARE,
    symmetric=True,
    empty={"both": 1.0, "reference": 0.0, "prediction": 0.0},
    also_called=("iou", "jaccard", "jaccard_index"),
    formula="|R ∩ P| / |R ∪ P|",
    same_as={
        "MedPy": "jc",
        "SimpleITK": "LabelOverlapMeasuresImageFilter.GetJaccardCoefficient, unless both are empty",
    },
)
def intersection_over_union(overlap: Overlap) -> float:
    """Return the Jaccard index |R ∩ P| / |R ∪ P|; 1 if both are empty, 0 if one is."""
    return overlap.common / (overlap.reference + overlap.prediction - overlap.common)


@declare(
    title="Sensitivity",
    **_SHARE,
    symmetric=False,
    empty={"both": 1.0, "reference": UNDEFINED, "prediction": 0.0},
    also_called=("recall", "tpr"),
    formula="|R ∩ P| / |R|",
    same_as={"MedPy": "recall, unless the reference is empty"},
)
def sensitivity(overlap: Overlap) -> float:
    """Return the share of the reference that was found, |R ∩ P| / |R| (recall).

    1 if both are empty; undefined if only the reference is, as there was nothing to find.
    """
    return overlap.common / overlap.reference


@declare(
    title="Precision",
    **_SHARE,
    symmetric=False,
    empty={"both": 1.0, "reference": 0.0, "prediction": UNDEFINED},
    also_called=("ppv",),
    formula="|R ∩ P| / |P|",
    same_as={"MedPy": "precision, unless the prediction is empty"},
)
def precision(overlap: Overlap) -> float:
    """Return the share of the prediction that is right, |R ∩ P| / |P|.

    1 if both are empty; undefined if only the prediction is, as nothing was claimed.
    """
    return overlap.common / overlap.prediction


_VOLUME: dict[str, Any] = {
    "family": "overlap",
    "unit": "mm³",
    "minimum": 0.0,
    "maximum": np.inf,
    "direction": Direction.NONE,
    "perfect": None,
    "symmetric": False,
    "empty": {},
}


@declare(title="Reference volume", **_VOLUME, formula="|R| · volume of a voxel", same_as={})
def reference_volume(overlap: Overlap) -> float:
    """Return the volume of the region in the reference, in mm³ (mm² in 2-D); 0 where it is empty."""
    return overlap.reference * overlap.voxel_volume_mm3


@declare(title="Prediction volume", **_VOLUME, formula="|P| · volume of a voxel", same_as={})
def prediction_volume(overlap: Overlap) -> float:
    """Return the volume of the region in the prediction, in mm³ (mm² in 2-D); 0 where it is empty."""
    return overlap.prediction * overlap.voxel_volume_mm3


@declare(
    title="Volume difference",
    family="overlap",
    unit="mm³",
    minimum=-np.inf,
    maximum=np.inf,
    direction=Direction.ZERO,
    perfect=0.0,
    symmetric=False,
    empty={},
    formula="(|P| − |R|) · volume of a voxel",
    same_as={},
)
def volume_difference(overlap: Overlap) -> float:
    """Return prediction minus reference, in mm³ (mm² in 2-D): positive where too much was segmented."""
    return (overlap.prediction - overlap.reference) * overlap.voxel_volume_mm3


@declare(
    title="Relative volume difference",
    family="overlap",
    unit="",
    minimum=-1.0,
    maximum=np.inf,
    direction=Direction.ZERO,
    perfect=0.0,
    symmetric=False,
    empty={"both": 0.0, "reference": UNDEFINED, "prediction": -1.0},
    also_called=("rvd",),
    formula="(|P| − |R|) / |R|",
    same_as={"MedPy": "ravd, unless the reference is empty"},
)
def relative_volume_difference(overlap: Overlap) -> float:
    """Return (|P| − |R|) / |R|; 0 if both are empty, undefined if only the reference is."""
    return overlap.prediction / overlap.reference - 1


@declare(
    title="Volume similarity",
    **_SHARE,
    symmetric=True,
    empty={"both": 1.0, "reference": 0.0, "prediction": 0.0},
    also_called=("volumetric_similarity",),
    formula="1 − ||P| − |R|| / (|P| + |R|)",
    same_as={"SimpleITK": "1 − |GetVolumeSimilarity()| / 2, unless both are empty; its own value is signed"},
)
def volume_similarity(overlap: Overlap) -> float:
    """Return 1 − ||P| − |R|| / (|P| + |R|): how alike two volumes are, wherever they lie.

    1 is best, 0 worst; 1 if both are empty, 0 if one is. SimpleITK's volume similarity is another number: the signed
    difference 2(|P| − |R|) / (|P| + |R|), 0 where volumes are equal.

    References
    ----------
    Taha and Hanbury 2015, BMC Medical Imaging 15:29.
    """
    return 1 - abs(overlap.prediction - overlap.reference) / (overlap.prediction + overlap.reference)
