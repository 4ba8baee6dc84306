"""One number from the distances between two boundaries: the largest, a percentile, the mean, the share within reach.

What tools call average or mean surface distance is not one thing. Over elements at distance d, each of the size s:

- from one boundary to the other only, Σ d·s / Σ s: `SurfaceDistances.from_reference.mean` and `.from_prediction.mean`
  (DeepMind's `compute_average_surface_distance`; MedPy's `asd`; MONAI's average surface distance unless symmetric);
- the mean of these two: `mean_average_surface_distance`, MASD in Metrics Reloaded;
- over the elements of both boundaries together: `average_symmetric_surface_distance`, ASSD in Metrics Reloaded, MedPy's
  `assd`, MONAI's with `symmetric=True`. It leans to the larger boundary; MASD does not;
- SimpleITK's average Hausdorff distance is over all voxels of a mask, those inside the other at 0: none of these.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from podium.metrics._arguments import as_length
from podium.metrics._rows import check_percentile
from podium.metrics.registry import A_SHARE, AN_ERROR, declare
from podium.metrics.surface import DirectedDistances, SurfaceDistances
from podium.model import UNDEFINED, InputError

__all__ = [
    "average_symmetric_surface_distance",
    "hausdorff_distance",
    "hausdorff_distance_95",
    "mean_average_surface_distance",
    "median_surface_distance",
    "surface_dice",
    "surface_distance_deviation",
]

Percentile: TypeAlias = Literal["area", "linear"]

ROUNDING = 1e-7
"""Three voxels of 0.1 mm are 0.3 mm and a little more in binary numbers, of 32 bits in the header of a NIfTI file."""

_DISTANCE: dict[str, Any] = {
    "family": "surface",
    "unit": "mm",
    **AN_ERROR,
    "symmetric": True,
}
_APART: dict[str, float] = {"both": 0.0, "reference": np.inf, "prediction": np.inf}


def check_tolerance(*, tolerance_mm: float = 1.0, **_: Any) -> None:
    """Refuse what is no tolerance."""
    as_length(tolerance_mm, "a tolerance is a length from 0")


def _check_percentile(*, percentile: float = 100.0, interpolation: Percentile | None = None, **_: Any) -> None:
    if interpolation not in (None, "area", "linear"):
        raise InputError(f"there is no percentile called {interpolation!r}", advice="It is 'area' or 'linear'")
    check_percentile(percentile)


@declare(
    title="Surface Dice",
    family="surface",
    **A_SHARE,
    symmetric=True,
    empty={"both": 1.0, "reference": 0.0, "prediction": 0.0},
    also_called=("nsd", "normalized_surface_dice", "normalised_surface_dice", "surface_dsc"),
    formula="(|S_R : d ≤ τ| + |S_P : d ≤ τ|) / (|S_R| + |S_P|), S the boundaries, |·| their size",
    same_as={
        "DeepMind surface-distance": "compute_surface_dice_at_tolerance (boundary surfel), unless a mask is empty",
        "MONAI": "compute_surface_dice (boundary voxel), unless a mask is empty",
    },
    check=check_tolerance,
)
def surface_dice(distances: SurfaceDistances, *, tolerance_mm: float = 1.0) -> float:
    """Return the share of both boundaries that lies within a tolerance of the other.

    (|S_r : d ≤ τ| + |S_p : d ≤ τ|) / (|S_r| + |S_p|), with |·| the total size of boundary elements. 1 is best, 0 worst;
    1 if both are empty, 0 if one is. Also known as normalised surface distance (NSD). MONAI counts edge voxels of equal
    weight: use `boundary="voxel"` for its numbers.

    What lies at the tolerance is within it, also where rounding (of one part in ten million, as a float of 32 bits has)
    puts it beyond: three voxels of 0.1 mm are within 0.3 mm. Peers that compare the bare numbers leave it out.

    References
    ----------
    Nikolov et al. 2018, arXiv 1809.04430.
    """
    reach = tolerance_mm * (1 + ROUNDING)
    within = sum(float(d.sizes[d.distances <= reach].sum()) for d in distances.directed)
    return within / sum(float(d.sizes.sum()) for d in distances.directed)


def _percentile(of: DirectedDistances, percentile: float, rule: Percentile | None, boundary: str) -> float:
    if (rule or ("area" if boundary == "surfel" else "linear")) == "linear":
        return of.linear_percentile(percentile)
    return of.area_percentile(percentile)


@declare(
    title="Hausdorff distance",
    **_DISTANCE,
    empty=_APART,
    also_called=("hd", "hausdorff"),
    formula="max(q-th percentile of d over S_R, the same over S_P); q = 100: max d",
    same_as={
        "DeepMind surface-distance": "compute_robust_hausdorff (boundary surfel), unless a mask is empty",
        "MONAI": "compute_hausdorff_distance (boundary voxel), unless a mask is empty",
        "MedPy": "hd (boundary voxel); hd95 with percentile=95, pooled=True, unless a mask is empty",
    },
    check=_check_percentile,
)
def hausdorff_distance(
    distances: SurfaceDistances,
    *,
    percentile: float = 100.0,
    pooled: bool = False,
    interpolation: Percentile | None = None,
) -> float:
    """Return the largest distance between two boundaries, or a percentile of the distances, in mm.

    Parameters
    ----------
    distances
        From `surface_distances`.
    percentile
        100 for the Hausdorff distance; 95 for HD95; any other from 1, and 0, the smallest distance.
    pooled
        False: the larger of the two directed percentiles (DeepMind, MONAI). True: the percentile of both directions
        taken together (MedPy's hd95).
    interpolation
        `area`: the smallest distance within which that share of the boundary's size lies (DeepMind; the default for
        `surfel`). `linear`: NumPy's percentile of the elements, each counted once (MONAI, MedPy; the default for
        `voxel`).
    """
    directed = [distances.from_reference.merged(distances.from_prediction)] if pooled else distances.directed
    return max(_percentile(d, percentile, interpolation, distances.boundary) for d in directed)


@declare(
    title="Hausdorff distance 95 %",
    **_DISTANCE,
    empty=_APART,
    also_called=("hd95", "hausdorff95", "robust_hausdorff"),
    formula="max(95th percentile of d over S_R, the same over S_P)",
    same_as={
        "DeepMind surface-distance": "compute_robust_hausdorff with 95 (boundary surfel), unless a mask is empty",
        "MONAI": "compute_hausdorff_distance with percentile=95 (boundary voxel), unless a mask is empty",
    },
)
def hausdorff_distance_95(distances: SurfaceDistances) -> float:
    """Return the larger of the two directed 95th percentiles of distance, in mm; see `hausdorff_distance`."""
    return hausdorff_distance(distances, percentile=95.0)


@declare(
    title="Mean average surface distance",
    **_DISTANCE,
    empty=_APART,
    also_called=("masd", "asd", "average_surface_distance"),
    formula="½ (Σ d·s / Σ s over S_R + Σ d·s / Σ s over S_P), s the size of an element",
    same_as={
        "DeepMind surface-distance": "mean of both of compute_average_surface_distance (boundary surfel), "
        "unless a mask is empty",
        "MedPy": "mean of asd in both directions (boundary voxel), unless a mask is empty",
    },
)
def mean_average_surface_distance(distances: SurfaceDistances) -> float:
    """Return the mean of the two directed mean distances, in mm (MASD): both boundaries count alike.

    ½ (Σ d·s / Σ s over the reference's elements + the same over the prediction's), s the element's size. What others
    call so is told apart in `podium.metrics.distances`.
    """
    return (distances.from_reference.mean + distances.from_prediction.mean) / 2


@declare(
    title="Average symmetric surface distance",
    **_DISTANCE,
    empty=_APART,
    also_called=("assd", "asd", "average_surface_distance"),
    formula="(Σ d·s over S_R + Σ d·s over S_P) / (Σ s over both), s the size of an element",
    same_as={
        "MONAI": "compute_average_surface_distance with symmetric=True (boundary voxel), unless a mask is empty",
        "MedPy": "assd (boundary voxel), unless a mask is empty",
    },
)
def average_symmetric_surface_distance(distances: SurfaceDistances) -> float:
    """Return the mean distance over the elements of both boundaries together, in mm (ASSD).

    (Σ d·s over the reference's elements + the same over the prediction's) / (Σ s over both): the larger boundary counts
    for more. What others call so is told apart in `podium.metrics.distances`.
    """
    return distances.from_reference.merged(distances.from_prediction).mean


@declare(
    title="Median surface distance",
    **_DISTANCE,
    empty=_APART,
    formula="median of d over S_R and S_P together",
    same_as={"MedPy": "median of its surface distances in both directions (boundary voxel), unless a mask is empty"},
)
def median_surface_distance(distances: SurfaceDistances) -> float:
    """Return the median distance over the elements of both boundaries together, in mm.

    Half of the boundaries' size lies within it (`surfel`), or it is NumPy's median of the elements (`voxel`).
    """
    return _percentile(distances.from_reference.merged(distances.from_prediction), 50.0, None, distances.boundary)


@declare(
    title="Standard deviation of surface distances",
    **_DISTANCE,
    empty={"both": 0.0, "reference": UNDEFINED, "prediction": UNDEFINED},
    formula="√(Σ (d − ASSD)²·s / Σ s) over S_R and S_P together, s the size of an element",
    same_as={
        "MedPy": "standard deviation of its surface distances, both directions (boundary voxel), unless a mask is empty"
    },
)
def surface_distance_deviation(distances: SurfaceDistances) -> float:
    """Return the standard deviation of distance over the elements of both boundaries together, in mm.

    √(Σ (d − ASSD)²·s / Σ s), every element weighted by its size s, without Bessel's correction. 0 is best; 0 if both
    are empty, undefined if one is: distances that are all infinite have no spread.
    """
    return distances.from_reference.merged(distances.from_prediction).deviation
