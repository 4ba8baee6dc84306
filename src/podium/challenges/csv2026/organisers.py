"""The numbers of the organisers' baseline (edition `code`), which adds a little to every denominator."""

from __future__ import annotations

from podium.metrics import Overlap, SurfaceDistances

__all__ = ["baseline_dice", "baseline_surface_dice"]

_EPSILON = 1e-8


def baseline_dice(overlap: Overlap) -> float:
    """Return 2|R ∩ P| / (|R| + |P| + 1e-8): 0, not 1, where both are empty."""
    return 2 * overlap.common / (overlap.reference + overlap.prediction + _EPSILON)


def baseline_surface_dice(distances: SurfaceDistances, *, tolerance_px: float) -> float:
    """Return the share of boundary pixels within a tolerance of the other boundary, 1e-8 added to their number.

    1 where both are empty, 0 where one is. The distances must be those of the boundary `voxel`.
    """
    if distances.empty == "both":
        return 1.0
    within = sum(float(d.sizes[d.distances <= tolerance_px].sum()) for d in distances.directed)
    return within / (sum(float(d.sizes.sum()) for d in distances.directed) + _EPSILON)
