"""Surface distances along the axes, for comparison with tools that offer them: chessboard and taxicab."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from podium.metrics._kernels.areas import contour_lengths, surfel_areas
from podium.metrics._pairs import Labels, Regions, Spacing, pair_up
from podium.metrics.prepared import Structure, StructurePair, structures
from podium.metrics.surface import Boundary, DirectedDistances, Floats, SurfaceDistances
from podium.model import InputError

__all__ = ["Norm", "normed_surface_distances"]

Norm: TypeAlias = Literal["chessboard", "taxicab"]

_POWERS = {"chessboard": np.inf, "taxicab": 1.0}


def normed_surface_distances(
    reference: Labels,
    prediction: Labels,
    *,
    norm: Norm,
    regions: Regions,
    spacing_mm: Spacing | None = None,
    boundary: Boundary = "voxel",
) -> dict[str, SurfaceDistances]:
    """Measure boundaries as `surface_distances` does, by another norm than the Euclidean.

    With (a, b, c) the steps along the axes in mm, `chessboard` is max(|a|, |b|, |c|) and `taxicab` |a| + |b| + |c|.
    Every metric of `podium.metrics.distances` takes the result. MONAI has both as `distance_metric`, but counts voxels:
    its spacing is without effect there, so its numbers are these at a spacing of 1.

    Parameters
    ----------
    reference, prediction
        Label maps, or arrays of whole numbers, of the same 2-D or 3-D shape.
    norm
        `chessboard` or `taxicab`.
    regions
        Name and labels of each region.
    spacing_mm
        Millimetres per axis; by default the reference's, or 1 for arrays.
    boundary
        `surfel` or `voxel`; see `podium.metrics.surface`.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.metrics import hausdorff_distance
    >>> reference, prediction = np.zeros((2, 5, 5), bool)
    >>> reference[0, 0] = prediction[3, 4] = True
    >>> for norm in ("chessboard", "taxicab"):
    ...     distances = normed_surface_distances(reference, prediction, norm=norm, regions={"mask": 1})
    ...     print(hausdorff_distance(distances["mask"]))
    4.0
    7.0
    """
    if norm not in _POWERS:
        raise InputError(f"there is no norm called {norm!r}", advice="It is 'chessboard' or 'taxicab'")
    pair = pair_up(reference, prediction, spacing_mm=spacing_mm)
    spacing = pair.spacing[::-1] if pair.reversed_axes else pair.spacing
    sides = [structures(labels, regions=regions, boundary=boundary) for labels in (reference, prediction)]
    return {name: _distances(StructurePair(sides[0][name], sides[1][name], spacing), norm) for name in sides[0]}


def _distances(pair: StructurePair, norm: Norm) -> SurfaceDistances:
    assert isinstance(pair.spacing_mm, tuple)
    spacing = pair.spacing_mm[::-1]  # of the kernels' axes
    boundary = pair.reference.boundary
    areas = np.ones(256)
    if boundary == "surfel":
        areas = contour_lengths(spacing) if len(spacing) == 2 else surfel_areas(spacing)
    sides = pair.reference, pair.prediction
    one, two = (_directed(own, other, norm, spacing, areas) for own, other in (sides, sides[::-1]))
    return SurfaceDistances(one, two, boundary)


def _directed(
    own: Structure, other: Structure, norm: Norm, spacing: tuple[float, ...], areas: Floats
) -> DirectedDistances:
    from scipy.spatial import cKDTree

    here, there = (side.positions[:, -len(spacing) :].astype(np.float64) for side in (own, other))
    corners = own.corners[:, None] >> np.arange(0, 64, 8, dtype=np.uint64) & np.uint64(1)
    sizes = areas[corners.astype(np.int64) @ (1 << np.arange(8))]
    distances = np.full(len(here), np.inf)
    if len(there) and len(here):
        nearest = cKDTree(there * spacing).query(here * spacing, p=_POWERS[norm])[1]
        steps = np.abs(here - there[nearest]) * spacing
        distances = steps.max(axis=1) if norm == "chessboard" else steps.sum(axis=1)
    nothing = DirectedDistances(np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
    return DirectedDistances(distances, sizes, np.ones(len(here), np.int64)).merged(nothing)
