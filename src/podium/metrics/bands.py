"""Overlap near the boundary only: boundary IoU, which a large inside cannot hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_length
from podium.metrics._counts import check_part
from podium.metrics._pairs import MASK, Labels, Regions, Spacing, as_regions, mask_labels, pair_up, which_empty
from podium.metrics.registry import A_SHARE, declare

__all__ = ["BoundaryBands", "boundary_bands", "boundary_iou"]

_SHARE_OF_DIAGONAL = 0.02
_ROUNDING = 1e-7  # of floats with 32 bits, as headers have them


@dataclass(frozen=True, slots=True)
class BoundaryBands:
    """Voxels of one region near its boundary, in a reference and a prediction.

    Attributes
    ----------
    common, reference, prediction
        Voxels near the boundary of both, of the reference, of the prediction.
    width_mm
        How near.
    """

    common: int
    reference: int
    prediction: int
    width_mm: float

    def __post_init__(self) -> None:
        check_part("common", self.common, "reference", self.reference)
        check_part("common", self.common, "prediction", self.prediction)
        as_length(self.width_mm, "a width is a length from 0", finite=True)

    @classmethod
    def between(
        cls,
        reference: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        *,
        width_mm: float | None = None,
        spacing_mm: Spacing | None = None,
    ) -> BoundaryBands:
        """Count two masks, of the same 2-D or 3-D shape: what is not zero is inside; see `boundary_bands`."""
        masks = mask_labels(reference), mask_labels(prediction)
        return boundary_bands(*masks, regions=MASK, width_mm=width_mm, spacing_mm=spacing_mm)["mask"]

    @property
    def empty(self) -> str | None:
        """Return which of the two has no voxel: both, reference, prediction, or None."""
        return which_empty(reference=self.reference, prediction=self.prediction)


def boundary_bands(
    reference: Labels,
    prediction: Labels,
    *,
    regions: Regions,
    width_mm: float | None = None,
    spacing_mm: Spacing | None = None,
) -> dict[str, BoundaryBands]:
    """Count the voxels of every region, a set of labels, that lie near its boundary in two label maps.

    Parameters
    ----------
    reference, prediction
        Label maps, or arrays of whole numbers, of the same 2-D or 3-D shape.
    regions
        Name and labels of each region.
    width_mm
        A voxel is near if its centre is at most this far from that of a voxel outside, or if one shares a face with it.
        By default 2 % of the image's diagonal, as the authors have it.
    spacing_mm
        Millimetres per axis; by default the reference's, or 1 for arrays.
    """
    pair = pair_up(reference, prediction, spacing_mm=spacing_mm)
    spacing = pair.spacing[::-1] if pair.reversed_axes else pair.spacing
    if width_mm is None:
        diagonal = np.linalg.norm(np.multiply(pair.reference.shape[-len(spacing) :], pair.spacing))
        width_mm = _SHARE_OF_DIAGONAL * float(diagonal)
    width_mm = as_length(width_mm, "a width is a length from 0", finite=True)
    result = {}
    for name, labels in as_regions(regions).items():
        one, two = (_near_boundary(mask, width_mm, spacing) for mask in pair.masks(labels))
        common, reference_near, prediction_near = (int(np.count_nonzero(voxels)) for voxels in (one & two, one, two))
        result[name] = BoundaryBands(common, reference_near, prediction_near, width_mm)
    return result


def _near_boundary(mask: npt.NDArray[np.bool_], width_mm: float, spacing: tuple[float, ...]) -> npt.NDArray[np.bool_]:
    from scipy.ndimage import binary_erosion, distance_transform_edt

    if not mask.any():
        return mask
    inside = np.pad(mask, 1)
    depth = distance_transform_edt(inside, sampling=spacing)
    near = inside & ((depth <= width_mm * (1 + _ROUNDING)) | ~binary_erosion(inside))
    return np.asarray(near[(slice(1, -1),) * mask.ndim])


@declare(
    title="Boundary IoU",
    family="boundary",
    **A_SHARE,
    symmetric=True,
    empty={"both": 1.0, "reference": 0.0, "prediction": 0.0},
    also_called=("biou",),
    formula="|R_d ∩ P_d| / |R_d ∪ P_d|, M_d the voxels of M at most d from the outside",
    same_as={},
)
def boundary_iou(bands: BoundaryBands) -> float:
    """Return the intersection over union of what lies near both boundaries, |R_d ∩ P_d| / |R_d ∪ P_d|.

    1 is best, 0 worst; 1 if both are empty, 0 if one is. Distances are Euclidean and in mm; the authors' code erodes by
    d squares of 3 × 3 pixels, whose bands are wider along diagonals.

    References
    ----------
    Cheng et al. 2021, CVPR, arXiv 2103.16562.

    Examples
    --------
    >>> boundary_iou(BoundaryBands(common=3, reference=4, prediction=6, width_mm=2.0))
    0.42857142857142855
    """
    return bands.common / (bands.reference + bands.prediction - bands.common)
