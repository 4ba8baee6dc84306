"""Distances between points: centres of mass and landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._kernels.counting import moments
from podium.metrics._pairs import MASK, Labels, Regions, Spacing, as_regions, mask_labels, pair_up, which_empty
from podium.metrics._rows import as_numbers, as_weights, weighted_mean, weighted_percentile
from podium.metrics.registry import AN_ERROR, declare
from podium.model import UNDEFINED, InputError

__all__ = [
    "Centres",
    "centre_distance",
    "centres",
    "landmark_error",
    "landmark_error_percentile",
    "landmark_errors",
]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """Centres of mass of one region in a reference and a prediction; None where the region is empty.

    Attributes
    ----------
    reference, prediction
        Mean voxel index along each array axis; voxel k lies at k.
    spacing_mm
        Millimetres per axis.
    """

    reference: Floats | None
    prediction: Floats | None
    spacing_mm: tuple[float, ...]

    @classmethod
    def between(
        cls, reference: npt.NDArray[Any], prediction: npt.NDArray[Any], *, spacing_mm: Spacing | None = None
    ) -> Centres:
        """Find the centres of two masks, of the same 2-D or 3-D shape: what is not zero is inside."""
        return centres(mask_labels(reference), mask_labels(prediction), regions=MASK, spacing_mm=spacing_mm)["mask"]

    @property
    def empty(self) -> str | None:
        """Return which of the two has no centre: both, reference, prediction, or None."""
        return which_empty(reference=self.reference is not None, prediction=self.prediction is not None)


def centres(
    reference: Labels, prediction: Labels, *, regions: Regions, spacing_mm: Spacing | None = None
) -> dict[str, Centres]:
    """Find the centre of mass of every region, a set of labels, in two label maps."""
    pair = pair_up(reference, prediction, spacing_mm=spacing_mm)
    members = as_regions(regions)
    chosen = sorted({label for labels in members.values() for label in labels})
    table = pair.numbered(chosen)
    sums = np.zeros((2, len(chosen) + 1, 4), np.int64)
    if not pair.nothing:
        for labels, own in zip((pair.reference, pair.prediction), sums, strict=True):
            moments(labels, pair.lower, pair.upper, table, own)
    spacing = pair.spacing[::-1] if pair.reversed_axes else pair.spacing

    def centre(own: npt.NDArray[np.int64], labels: list[int]) -> Floats | None:
        count, *position = own[np.searchsorted(chosen, labels) + 1].sum(axis=0)
        if not count:
            return None
        mean = np.array(position[-len(spacing) :], np.float64) / float(count)
        return mean[::-1] if pair.reversed_axes else mean

    return {
        name: Centres(centre(sums[0], labels), centre(sums[1], labels), spacing) for name, labels in members.items()
    }


@declare(
    title="Centre distance",
    family="centres",
    unit="mm",
    **AN_ERROR,
    symmetric=True,
    empty={"both": 0.0, "reference": np.inf, "prediction": np.inf},
    also_called=("center_distance", "centroid_distance"),
    formula="|c(P) − c(R)|, c the centres of mass in mm",
    same_as={"SciPy": "distance between ndimage.center_of_mass times the spacing"},
)
def centre_distance(centres: Centres) -> float:
    """Return the Euclidean distance between the centres of mass, in mm; 0 if both are empty, infinite if one is.

    Examples
    --------
    >>> import numpy as np
    >>> reference, prediction = np.zeros((2, 9, 9), bool)
    >>> reference[1:4, 1:4] = prediction[4:7, 5:8] = True
    >>> centre_distance(Centres.between(reference, prediction))
    5.0
    """
    assert centres.reference is not None
    assert centres.prediction is not None
    return float(np.linalg.norm((centres.prediction - centres.reference) * centres.spacing_mm))


_LANDMARKS: dict[str, Any] = {
    "family": "landmarks",
    "unit": "mm",
    **AN_ERROR,
    "symmetric": True,
    "empty": {"no landmarks": UNDEFINED},
}


def landmark_errors(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> Floats:
    """Return the Euclidean distance of each point from the one that corresponds to it, in mm, shape (points,).

    Between landmarks of a fixed image and those of a moving one after registration, these are the target registration
    errors (TRE).

    Parameters
    ----------
    reference, prediction
        Points in mm, shape (points, axes). Every coordinate must be finite: a missing landmark is a failure with a
        price, not a number.
    """
    one, two = as_numbers(reference), as_numbers(prediction)
    if one.shape != two.shape or one.ndim != 2:
        raise InputError(f"landmarks must be two lists of points of equal shape, not {one.shape} and {two.shape}")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("a landmark has a coordinate that is not a finite number")
    return np.asarray(np.linalg.norm(two - one, axis=1), np.float64)


@declare(
    title="Landmark error",
    **_LANDMARKS,
    also_called=("tre", "target_registration_error"),
    formula="Σ |p_i − r_i| / n",
    same_as={"NumPy": "linalg.norm(P − R, axis=1).mean()"},
)
def landmark_error(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the mean Euclidean distance between corresponding points (mean TRE), in mm; undefined without any.

    Takes what `landmark_errors` takes; weights, shape (…, points), say how often each point counts.

    Examples
    --------
    >>> float(landmark_error([[0, 0, 0], [1, 1, 1]], [[3, 4, 0], [1, 1, 1]]))
    2.5
    """
    errors = landmark_errors(reference, prediction)
    return weighted_mean(errors, as_weights(weights, errors.size))


@declare(
    title="Landmark error, percentile",
    **_LANDMARKS,
    formula="percentile of |p_i − r_i|",
    same_as={"NumPy": "percentile(linalg.norm(P − R, axis=1), percentile)"},
)
def landmark_error_percentile(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    percentile: float = 95.0,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the percentile of the distances between corresponding points (50: median TRE; 100: the largest), in mm.

    Interpolated between two points as NumPy does by default. Weights must be whole numbers.

    Examples
    --------
    >>> float(landmark_error_percentile([[0, 0], [0, 0], [0, 0]], [[1, 0], [0, 2], [3, 4]], percentile=50))
    2.0
    """
    errors = landmark_errors(reference, prediction)
    return weighted_percentile(errors, as_weights(weights, errors.size), percentile)
