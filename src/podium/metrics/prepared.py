"""Structures prepared once and measured many times: where several references or raters meet pair by pair.

`overlap` and `surface_distances` pass over two label maps for every pair. Where each of many segmentations meets many
others, most of that is done again and again. A `Structure` is what remains of one region of one label map: its voxels
as runs, its boundary as a list of elements, its centre. Two of them give the same numbers as the two label maps would.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics import surface
from podium.metrics._kernels import surfaces as kernels
from podium.metrics._kernels.areas import contour_lengths, surfel_areas
from podium.metrics._kernels.counting import common_voxels, find_runs
from podium.metrics._pairs import Labels, Regions, Spacing, as_regions, pair_up
from podium.metrics.overlaps import Overlap
from podium.metrics.points import Centres
from podium.metrics.surface import (
    Boundary,
    DirectedDistances,
    Elements,
    Outline,
    SurfaceDistances,
    directed_distances,
    neighbourhood,
)
from podium.model import InputError, LabelMap, as_labels, as_spacing

__all__ = ["Structure", "StructurePair", "structures"]

_REGIONS_AT_ONCE = 8
_LARGEST_KEPT = 64 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """One region of one label map, in the coordinates of its grid. The kernels' axes are the grid's in reverse.

    Attributes
    ----------
    grid
        Voxels along each axis of the whole image.
    boundary
        Which definition of a boundary was used; see `podium.metrics.surface`.
    runs
        First place and place after the last of each run of voxels, ascending, shape (runs, 2).
    sums
        Number of voxels, and the sums of their coordinates along the kernels' axes.
    positions, corners
        Where each boundary element is on the lattice, shape (elements, 3), and which voxels around it are inside.
    lower, upper
        The box around these positions; upper is 0 if there are none.
    spacing_mm
        Millimetres per axis of the grid, if the label map told.
    """

    grid: tuple[int, ...]
    boundary: Boundary
    runs: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int32]
    corners: npt.NDArray[np.uint64]
    lower: npt.NDArray[np.int64]
    upper: npt.NDArray[np.int64]
    spacing_mm: tuple[float, ...] | None = None

    @property
    def voxels(self) -> int:
        """Return how many voxels it has."""
        return int(self.sums[0])

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return it as a mask of the whole image."""
        inside = np.zeros(int(np.prod(self.grid)), bool)
        for start, stop in self.runs.tolist():
            inside[start:stop] = True
        return inside.reshape(self.grid[::-1]).T


def structures(
    labels: Labels,
    *,
    regions: Regions,
    boundary: Boundary = "surfel",
    grid: Sequence[int] | None = None,
    lower: Sequence[int] | None = None,
) -> dict[str, Structure]:
    """Prepare every region, a set of labels, of a label map.

    Parameters
    ----------
    labels
        A label map, or an array of whole numbers, 2-D or 3-D; quickest in Fortran order, as label maps are.
    regions
        Name and labels of each region.
    boundary
        `surfel` or `voxel`; see `podium.metrics.surface`.
    grid, lower
        If the labels are cut out of an image: how many voxels that has along each axis, and at which of them the
        labels begin. Everything outside is background.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.metrics import dice
    >>> mask = np.zeros((5, 5, 5), np.uint8)
    >>> mask[1:4, 1:4, 1:4] = 1
    >>> whole = structures(mask, regions={"mask": (1,)})["mask"]
    >>> cut = structures(mask[1:4], regions={"mask": (1,)}, grid=(5, 5, 5), lower=(1, 0, 0))["mask"]
    >>> dice(StructurePair(whole, cut).overlap)
    1.0
    """
    surface.check_boundary(boundary)
    array = labels.array if isinstance(labels, LabelMap) else as_labels(labels)
    own: Labels = np.ascontiguousarray(array.T)  # no copy of what is in Fortran order
    if isinstance(labels, LabelMap) and array.flags.f_contiguous and not array.flags.c_contiguous:
        own = labels  # which is laid out likewise, and knows the box around all labels
    pair = pair_up(own, own)
    whole = tuple(int(n) for n in (array.shape if grid is None else grid))
    begin = (0,) * array.ndim if lower is None else tuple(lower)
    if len(whole) != array.ndim or any(b < 0 or b + n > w for b, n, w in zip(begin, array.shape, whole, strict=True)):
        raise InputError(f"{array.shape} voxels from {begin} on do not lie in a grid of {whole}")
    shift = np.array((0, 0, 0, *begin[::-1])[-3:])
    shape = np.array((1, 1, 1, *whole[::-1])[-3:])
    spacing = labels.spacing if isinstance(labels, LabelMap) else None
    members = as_regions(regions)
    names = list(members)
    result = {}
    for start in range(0, len(names), _REGIONS_AT_ONCE):
        batch = names[start : start + _REGIONS_AT_ONCE]
        table = pair.table([members[name] for name in batch])
        batch_elements = Elements(np.zeros(0, np.int64), np.zeros(0, np.uint64), 0)
        padded = np.ones(3, np.int64)
        if not pair.nothing:
            batch_elements, padded = _boundary(pair.reference, pair.lower, pair.upper, table, boundary, flat=pair.flat)
        for bit, name in enumerate(batch):
            runs, sums, count = np.empty((4096, 2), np.int64), np.zeros(4, np.int64), 0
            if not pair.nothing:
                runs, count = find_runs(
                    pair.reference, pair.lower, pair.upper, table, np.uint8(1 << bit), shift, shape, runs, sums
                )
            # The marks have a border of one place around the box.
            positions, corners, low, high = kernels.separate(
                batch_elements.places, batch_elements.corners, bit, padded, pair.lower + shift - 1
            )
            result[name] = Structure(
                whole, boundary, runs[:count].copy(), sums, positions, corners, low, high, spacing_mm=spacing
            )
    return result


def _boundary(
    labels: npt.NDArray[Any],
    lower: npt.NDArray[np.int64],
    upper: npt.NDArray[np.int64],
    table: npt.NDArray[np.uint8],
    boundary: Boundary,
    *,
    flat: bool,
) -> tuple[Elements, npt.NDArray[np.int64]]:
    """Return the boundary elements of all regions in a table, and the shape of the marks that their places refer to."""
    pad = np.ones(3, np.int64)
    lattice = upper - lower + (np.array([not flat, 1, 1]) if boundary == "surfel" else 0)
    depth, height, width = (lattice + 2 * pad).tolist()
    shape = (depth, height, -(-width // 8) * 8)
    marks = np.zeros(shape, np.uint8)
    find = kernels.surfels if boundary == "surfel" else kernels.voxels
    most = surface.MOST_ELEMENTS
    places, corners = np.empty(4096, np.int64), np.empty(4096, np.uint64)
    places, corners, count, _, met = find(
        labels, lower, upper, table, flat, pad, marks, places, corners, 0, most + 1, most
    )
    if count < 0:
        raise surface.too_rugged(most)
    return Elements(places[:count], corners[:count], met), np.array(shape)


@dataclass(frozen=True, slots=True)
class StructurePair:
    """A reference and a prediction, both structures on the same grid.

    Attributes
    ----------
    reference, prediction
        From `structures`, with the same boundary.
    spacing_mm
        Millimetres per axis of the grid; by default the reference's, or 1 where that was an array.
    """

    reference: Structure
    prediction: Structure
    spacing_mm: Spacing | None = None

    def __post_init__(self) -> None:
        if self.reference.grid != self.prediction.grid or self.reference.boundary != self.prediction.boundary:
            raise InputError("two structures can be compared if they have the same grid and the same kind of boundary")
        given = (self.reference.spacing_mm or 1.0) if self.spacing_mm is None else self.spacing_mm
        object.__setattr__(self, "spacing_mm", as_spacing(given, len(self.reference.grid)))

    @property
    def _spacing(self) -> tuple[float, ...]:
        """Return the spacing along the kernels' axes."""
        assert isinstance(self.spacing_mm, tuple)
        return self.spacing_mm[::-1]

    @property
    def overlap(self) -> Overlap:
        """Count the voxels of both and those in common; see `podium.metrics.overlaps`."""
        common = int(common_voxels(self.reference.runs, self.prediction.runs))
        volume = float(np.prod(self._spacing))
        return Overlap(common, self.reference.voxels, self.prediction.voxels, voxel_volume_mm3=volume)

    @property
    def centres(self) -> Centres:
        """Return both centres of mass; see `podium.metrics.centres`."""

        def centre(of: Structure) -> npt.NDArray[np.float64] | None:
            count, *position = of.sums.tolist()
            return np.array(position[-len(of.grid) :][::-1]) / count if count else None

        return Centres(centre(self.reference), centre(self.prediction), self._spacing[::-1])

    @property
    def distances(self) -> SurfaceDistances:
        """Measure the distances between both boundaries; see `podium.metrics.surface_distances`."""
        sides = self.reference, self.prediction
        boundary = self.reference.boundary
        occupied = [side for side in sides if len(side.positions)]
        if not occupied:
            nothing = DirectedDistances(np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
            return SurfaceDistances(nothing, nothing, boundary)
        spacing = self._spacing
        flat = len(spacing) == 2
        lower = np.min([side.lower for side in occupied], axis=0)
        lattice = np.max([side.upper for side in occupied], axis=0) - lower
        areas = np.ones(256)
        if boundary == "surfel":
            areas = contour_lengths(spacing) if flat else surfel_areas(spacing)
        near = neighbourhood(spacing, tuple(lattice[3 - len(spacing) :].tolist()))
        shape = lattice + 2 * near.reach
        shape[2] += -shape[2] % 8
        kept = _marks.clean(int(np.prod(shape)))
        marks = kept[: np.prod(shape)].reshape(shape)
        outlines = []
        for side in sides:
            places = kernels.settle(side.positions, near.reach - lower, shape)
            whole = Elements(places, side.corners, min(places.size, 1))
            outlines.append(Outline(marks, places.size, whole.regions, whole))
        directed = []
        for own, other in (outlines, outlines[::-1]):
            assert other.whole is not None
            kernels.mark(other.whole.places, kept, np.uint8(1))
            directed.append(directed_distances(own, other, region=0, areas=areas, near=near, spacing=spacing))
            kernels.mark(other.whole.places, kept, np.uint8(0))
        _marks.keep(kept)
        return SurfaceDistances(directed[0], directed[1], boundary)


class _Marks(threading.local):
    """Zeros that the calling thread uses again; who wrote to them wipes them and hands them back."""

    def __init__(self) -> None:
        self._kept: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)

    def clean(self, size: int) -> npt.NDArray[np.uint8]:
        """Return that many zeros. Unless they are handed back, nobody else gets them."""
        kept, self._kept = self._kept, np.zeros(0, np.uint8)
        return kept if kept.size >= size else np.zeros(size, np.uint8)

    def keep(self, marks: npt.NDArray[np.uint8]) -> None:
        """Take back zeros."""
        if marks.size <= _LARGEST_KEPT:
            self._kept = marks


_marks = _Marks()
