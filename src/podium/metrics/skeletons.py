"""Whether tubes are connected as they should be: how much of each centre line lies in the other segmentation.

A skeleton is what thinning leaves of a mask: lines one voxel wide that are connected as the mask is, with as many holes
and cavities. Voxels count, not millimetres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._counts import check_part
from podium.metrics._kernels.thinning import STEPS, thin
from podium.metrics._pairs import MASK, Labels, Regions, as_mask, as_regions, mask_labels, pair_up, which_empty
from podium.metrics.registry import A_SHARE, declare
from podium.model import UNDEFINED, InputError

__all__ = [
    "CentreLines",
    "centre_lines",
    "centreline_dice",
    "centreline_precision",
    "centreline_sensitivity",
    "skeleton",
]

_SIDES = np.array([[0, -1, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0]])
"""The borders in the order in which they are thinned; the same as scikit-image's."""


def skeleton(mask: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return the skeleton of a 2-D or 3-D mask, by Lee's thinning.

    Borders are taken off from six sides in turn (four in 2-D), every voxel only if parts, holes and cavities stay as
    they are and it does not end a line. Equal to `skeletonize(mask, method="lee")` of scikit-image wherever that keeps
    the topology. It does not always: it leaves nothing of a 2 × 2 × 2 cube, and takes some masks apart. As with any
    thinning that goes side by side, a skeleton may differ by a few voxels in a mask turned around. A mask one voxel
    thick is thinned as the image that it is.

    References
    ----------
    Lee, Kashyap and Chu 1994, CVGIP: Graphical Models and Image Processing 56(6).

    Examples
    --------
    >>> import numpy as np
    >>> skeleton(np.ones((3, 7))).astype(int)
    array([[0, 0, 0, 0, 0, 0, 0],
           [1, 1, 1, 1, 1, 1, 1],
           [0, 0, 0, 0, 0, 0, 0]])
    """
    inside = as_mask(mask)
    if inside.ndim not in (2, 3):
        raise InputError(f"a skeleton is that of a 2-D or 3-D mask, not {inside.ndim}-D")
    result = np.zeros(inside.shape, np.bool_)
    occupied = [np.flatnonzero(inside.any(axis=tuple({*range(inside.ndim)} - {axis}))) for axis in range(inside.ndim)]
    if any(places.size == 0 for places in occupied):
        return result
    box = tuple(slice(places[0], places[-1] + 1) for places in occupied)
    cut = inside[box] if inside.ndim == 3 else inside[box][None]
    image = np.ascontiguousarray(np.pad(cut, 1), np.uint8)
    strides = np.array([image.shape[1] * image.shape[2], image.shape[2], 1])
    sides = _SIDES[np.abs(_SIDES) @ np.array(cut.shape) > 1]
    thin(image.reshape(-1), STEPS @ strides, sides @ strides)
    result[box] = image[1:-1, 1:-1, 1:-1].reshape(inside[box].shape)
    return result


@dataclass(frozen=True, slots=True)
class CentreLines:
    """How many voxels the skeletons of one region have, and how many of them lie in the other segmentation.

    Attributes
    ----------
    reference, prediction
        Voxels of each skeleton.
    reference_inside, prediction_inside
        Voxels of the reference's skeleton that the prediction holds, and the other way.
    """

    reference: int
    reference_inside: int
    prediction: int
    prediction_inside: int

    def __post_init__(self) -> None:
        check_part("reference_inside", self.reference_inside, "reference", self.reference)
        check_part("prediction_inside", self.prediction_inside, "prediction", self.prediction)

    @classmethod
    def between(cls, reference: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> CentreLines:
        """Thin two masks, of the same 2-D or 3-D shape: what is not zero is inside."""
        return centre_lines(mask_labels(reference), mask_labels(prediction), regions=MASK)["mask"]

    @property
    def empty(self) -> str | None:
        """Return which of the two has no voxel: both, reference, prediction, or None."""
        return which_empty(reference=self.reference, prediction=self.prediction)


def centre_lines(reference: Labels, prediction: Labels, *, regions: Regions) -> dict[str, CentreLines]:
    """Thin every region, a set of labels, of two label maps, and count where their skeletons lie."""
    pair = pair_up(reference, prediction)
    result = {}
    for name, labels in as_regions(regions).items():
        one, two = pair.masks(labels)
        thinned = skeleton(one), skeleton(two)
        counts = (thinned[0], thinned[0] & two, thinned[1], thinned[1] & one)
        result[name] = CentreLines(*(int(np.count_nonzero(voxels)) for voxels in counts))
    return result


_SHARE: dict[str, Any] = {
    "family": "centreline",
    **A_SHARE,
}


@declare(
    title="Centreline sensitivity",
    **_SHARE,
    symmetric=False,
    empty={"both": 1.0, "reference": UNDEFINED, "prediction": 0.0},
    also_called=("centerline_sensitivity",),
    formula="|C_R ∩ P| / |C_R|, C the skeletons",
    same_as={"scikit-image": "share of skeletonize(R, method='lee') in P, where that keeps the topology"},
)
def centreline_sensitivity(lines: CentreLines) -> float:
    """Return the share of the reference's skeleton that the prediction holds (topology sensitivity).

    1 if both are empty; undefined if only the reference is.
    """
    return lines.reference_inside / lines.reference


@declare(
    title="Centreline precision",
    **_SHARE,
    symmetric=False,
    empty={"both": 1.0, "reference": 0.0, "prediction": UNDEFINED},
    also_called=("centerline_precision",),
    formula="|C_P ∩ R| / |C_P|, C the skeletons",
    same_as={"scikit-image": "share of skeletonize(P, method='lee') in R, where that keeps the topology"},
)
def centreline_precision(lines: CentreLines) -> float:
    """Return the share of the prediction's skeleton that the reference holds (topology precision).

    1 if both are empty; undefined if only the prediction is.
    """
    return lines.prediction_inside / lines.prediction


@declare(
    title="Centreline Dice",
    **_SHARE,
    symmetric=True,
    empty={"both": 1.0, "reference": 0.0, "prediction": 0.0},
    also_called=("cldice", "centerline_dice"),
    formula="2·p·s / (p + s), p = |C_P ∩ R| / |C_P|, s = |C_R ∩ P| / |C_R|, C the skeletons",
    same_as={"scikit-image": "from skeletonize(…, method='lee'), where that keeps the topology"},
)
def centreline_dice(lines: CentreLines) -> float:
    """Return the harmonic mean of centreline precision and sensitivity (clDice).

    1 is best, 0 worst; 1 if both are empty, 0 if one is or where no skeleton meets the other mask. The authors' code
    takes Zhang's thinning in 2-D and Lee's in 3-D; here it is Lee's in both. A loss with a soft skeleton is another.

    References
    ----------
    Shit et al. 2021, CVPR, arXiv 2003.07311.

    Examples
    --------
    >>> centreline_dice(CentreLines(reference=8, reference_inside=4, prediction=4, prediction_inside=4))
    0.6666666666666666
    """
    right = lines.prediction_inside * lines.reference_inside
    return 2 * right / (lines.prediction_inside * lines.reference + lines.reference_inside * lines.prediction or 1)
