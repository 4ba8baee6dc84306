"""Distances between the boundaries of two segmentations, exact, in 2-D and 3-D, with the boundary named.

Two definitions of a boundary are in use, and they differ by tens of per cent on small structures:

`surfel`
    The points between voxels whose 2 × 2 × 2 neighbours (2 × 2 in 2-D) are not all inside or all outside, each with
    the area of the surface that passes there (Nikolov et al. 2018, arXiv 1809.04430; DeepMind's surface-distance).
`voxel`
    The voxels of the mask that have a face-neighbour outside it, all of equal weight (MONAI, MedPy; TorchMetrics in
    square 2-D images, as others confuse its distance transform). SimpleITK and scikit-image measure from all voxels of
    a mask, not from its boundary: their largest distance is the same only where no mask has a hole that the other
    fills, and their averages are others. SimpleITK's LabelContour has no edge where a mask touches the image border.

For both, what lies beyond the image border is outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._kernels import surfaces as kernels
from podium.metrics._kernels.areas import contour_lengths, surfel_areas
from podium.metrics._pairs import MASK, Labels, Pair, Regions, Spacing, as_regions, mask_labels, pair_up, which_empty
from podium.metrics._scratch import Scratch
from podium.model import UNDEFINED, InputError

__all__ = [
    "Boundary",
    "DirectedDistances",
    "SurfaceDistances",
    "surface_distances",
]

Boundary: TypeAlias = Literal["surfel", "voxel"]
Floats: TypeAlias = npt.NDArray[np.float64]

MOST_ELEMENTS = 2**24
"""A boundary with more elements is refused. To measure one takes up to about 100 bytes and 5 µs an element."""

_PROBES = 3000  # beyond about this many steps a search tree is faster
_TIMES_REFERENCE = 4  # a boundary may always have this many times the elements of the reference's
_AT_ONCE = 1 << 20  # elements that ask a search tree
_REGIONS_AT_ONCE = 8
_scratch = Scratch()


@dataclass(frozen=True, slots=True, eq=False)
class DirectedDistances:
    """How far the elements of one boundary are from the other, gathered by distance.

    Attributes
    ----------
    distances
        The distances that occur, ascending, in mm; one entry, infinite, if the other boundary is empty.
    sizes
        What the elements at each distance stand for together: area in mm² (length in mm in 2-D) for `surfel`, their
        number for `voxel`.
    counts
        How many elements are at each distance.
    """

    distances: Floats
    sizes: Floats
    counts: npt.NDArray[np.int64]

    @property
    def mean(self) -> float:
        """Return the mean distance, every element weighted by its size; undefined without elements."""
        return float(np.average(self.distances, weights=self.sizes)) if self.counts.size else UNDEFINED

    @property
    def deviation(self) -> float:
        """Return the standard deviation, every element weighted by its size; undefined where no distance is finite."""
        if not self.counts.size or not np.isfinite(self.distances[-1]):
            return UNDEFINED
        return float(np.sqrt(np.average(np.square(self.distances - self.mean), weights=self.sizes)))

    def merged(self, other: DirectedDistances) -> DirectedDistances:
        """Return the elements of both, together."""
        distances, place = np.unique(np.concatenate([self.distances, other.distances]), return_inverse=True)
        sizes = np.bincount(place, np.concatenate([self.sizes, other.sizes])).astype(np.float64)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts])).astype(np.int64)
        return DirectedDistances(distances, sizes, counts)

    def area_percentile(self, percentile: float) -> float:
        """Return the smallest distance within which at least that percentage of the size lies; undefined of nothing."""
        if not self.counts.size:
            return UNDEFINED
        within = np.cumsum(self.sizes)
        # A share reached exactly must not be missed by the rounding of the sum.
        reached = np.searchsorted(within, percentile / 100 * within[-1] * (1 - 1e-12))
        return float(self.distances[reached])

    def linear_percentile(self, percentile: float) -> float:
        """Return NumPy's default percentile of the elements, each counted once; undefined without elements."""
        if not self.counts.size:
            return UNDEFINED
        within = np.cumsum(self.counts)
        rank = percentile / 100 * (within[-1] - 1)
        low, high = self.distances[np.searchsorted(within, [np.floor(rank), np.ceil(rank)], side="right")]
        return float(low if low == high else low + (high - low) * (rank - np.floor(rank)))


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceDistances:
    """The distances between two boundaries, from each element of one to the nearest of the other, in both directions.

    Everything that surface metrics need, and no more: an exact distribution of distances, not a list of elements.

    Attributes
    ----------
    from_reference, from_prediction
        From the elements of the reference's boundary to the prediction's, and the other way.
    boundary
        Which definition of a boundary was used.

    Examples
    --------
    >>> import numpy as np
    >>> reference, prediction = np.zeros((2, 8, 8, 8), bool)
    >>> reference[2:5, 2:5, 2:5] = True
    >>> prediction[2:5, 2:5, 3:6] = True  # one voxel further along the last axis
    >>> distances = SurfaceDistances.between(reference, prediction, spacing_mm=(1, 1, 2.5))
    >>> distances.from_reference.distances.max()
    np.float64(2.5)
    """

    from_reference: DirectedDistances
    from_prediction: DirectedDistances
    boundary: Boundary

    @classmethod
    def between(
        cls,
        reference: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        *,
        spacing_mm: Spacing | None = None,
        boundary: Boundary = "surfel",
    ) -> SurfaceDistances:
        """Measure two masks, of the same 2-D or 3-D shape: what is not zero is inside."""
        return surface_distances(
            mask_labels(reference), mask_labels(prediction), regions=MASK, spacing_mm=spacing_mm, boundary=boundary
        )["mask"]

    @property
    def empty(self) -> str | None:
        """Return which of the two has no boundary: both, reference, prediction, or None."""
        return which_empty(reference=self.from_reference.counts.size, prediction=self.from_prediction.counts.size)

    @property
    def directed(self) -> tuple[DirectedDistances, DirectedDistances]:
        """Return the distances from the reference, then those from the prediction."""
        return self.from_reference, self.from_prediction


def surface_distances(
    reference: Labels,
    prediction: Labels,
    *,
    regions: Regions,
    spacing_mm: Spacing | None = None,
    boundary: Boundary = "surfel",
) -> dict[str, SurfaceDistances]:
    """Measure the boundaries of every region, a set of labels, in two label maps.

    Each map is passed over once for up to eight regions; no region becomes a mask. From every element the other
    boundary is probed at all lattice offsets in order of their length, so the first hit is the exact distance; the few
    elements with no hit nearby ask a search tree.

    Parameters
    ----------
    reference, prediction
        Label maps, or arrays of whole numbers, of the same 2-D or 3-D shape.
    regions
        Name and labels of each region.
    spacing_mm
        Millimetres per axis; by default the reference's, or 1 for arrays.
    boundary
        `surfel` or `voxel`; see the module.
    """
    if boundary not in ("surfel", "voxel"):
        raise InputError(f"there is no boundary called {boundary!r}", advice="It is 'surfel' or 'voxel'")
    pair = pair_up(reference, prediction, spacing_mm=spacing_mm)
    members = as_regions(regions)
    names = list(members)
    result: dict[str, SurfaceDistances] = {}
    for start in range(0, len(names), _REGIONS_AT_ONCE):
        batch = names[start : start + _REGIONS_AT_ONCE]
        table = pair.table([members[name] for name in batch])
        result |= zip(batch, _measure(pair, table, len(batch), boundary), strict=True)
    return result


def _measure(pair: Pair, table: npt.NDArray[np.uint8], regions: int, boundary: Boundary) -> list[SurfaceDistances]:
    if pair.nothing:
        nothing = DirectedDistances(np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
        return [SurfaceDistances(nothing, nothing, boundary)] * regions
    lattice = pair.upper - pair.lower
    find = kernels.voxels
    areas = np.ones(256)
    if boundary == "surfel":
        lattice = lattice + np.array([not pair.flat, 1, 1])
        find = kernels.surfels
        areas = contour_lengths(pair.spacing) if pair.flat else surfel_areas(pair.spacing)
    near = neighbourhood(pair.spacing, tuple(lattice[3 - len(pair.spacing) :].tolist()))
    pad = near.reach
    depth, height, width = (lattice + 2 * pad).tolist()
    shape = (depth, height, -(-width // 8) * 8)  # rows of whole 64-bit words
    steps = near.offsets @ np.array([shape[1] * shape[2], shape[2], 1])

    surfaces: list[Elements] = []
    for side, labels in (("reference", pair.reference), ("prediction", pair.prediction)):
        marks = _scratch.zeros(f"{side} marks", shape)
        places, corners = (
            _scratch.array(f"{side} {name}", dtype) for name, dtype in (("places", np.int64), ("corners", np.uint64))
        )
        most = max(MOST_ELEMENTS, _TIMES_REFERENCE * surfaces[0].places.size) if surfaces else labels.size * 8
        places, corners, count = find(
            labels, pair.lower, pair.upper, table, pair.flat, pad, marks, places, corners, most
        )
        if count < 0:
            raise too_rugged(most)
        _scratch.keep(f"{side} places", places)
        _scratch.keep(f"{side} corners", corners)
        surfaces.append(Elements(places[:count], corners[:count], marks.reshape(-1)))

    def directed(region: int, own: int) -> DirectedDistances:
        return directed_distances(
            surfaces[own],
            surfaces[1 - own],
            region=region,
            areas=areas,
            near=near,
            steps=steps,
            shape=shape,
            spacing=pair.spacing,
        )

    return [SurfaceDistances(directed(region, 0), directed(region, 1), boundary) for region in range(regions)]


def directed_distances(
    own: Elements,
    other: Elements,
    *,
    region: int,
    areas: Floats,
    near: Neighbourhood,
    steps: npt.NDArray[np.int64],
    shape: tuple[int, ...],
    spacing: tuple[float, ...],
) -> DirectedDistances:
    """Measure from the elements of one boundary to the nearest of another, whose marks lie in an array of a shape."""
    if not kernels.has_elements(other.corners, region):
        here, size = kernels.elements(own.places, own.corners, region, areas)
        count = min(here.size, 1)
        return DirectedDistances(np.full(count, np.inf), np.full(count, size), np.full(count, here.size))
    sizes, counts = np.zeros(near.distances.size), np.zeros(near.distances.size, np.int64)
    unmet, unmet_sizes = np.empty(own.places.size, np.int64), np.empty(own.places.size)
    far = kernels.measure(
        own.places, own.corners, region, areas, other.marks, steps, near.bins, sizes, counts, unmet, unmet_sizes
    )
    occurring = np.flatnonzero(counts)
    result = DirectedDistances(near.distances[occurring], sizes[occurring], counts[occurring])
    if far:
        others, _ = kernels.elements(other.places, other.corners, region, areas)
        distances = _far_distances(unmet[:far], others, shape, spacing)
        result = result.merged(DirectedDistances(distances, unmet_sizes[:far], np.ones(far, np.int64)))
    return result


def too_rugged(most: int) -> InputError:
    """Return what is said of a boundary that would take too much memory and time."""
    return InputError(
        f"the boundary of the segmentation has more than the limit of {most:,} elements",
        advice="Is it a noise or a pattern, not a structure? Remove small islands and holes",
    )


class Elements(NamedTuple):
    """The elements of a boundary: their places in the flattened marks, their corners, and the marks."""

    places: npt.NDArray[np.int64]
    corners: npt.NDArray[np.uint64]
    marks: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Lattice offsets (z, y, x) in order of their length.

    `distances` are the distinct lengths, `bins` which of them each offset has, `reach` how far they go, at least 1.
    """

    offsets: npt.NDArray[np.int64]
    distances: Floats
    bins: npt.NDArray[np.int64]
    reach: npt.NDArray[np.int64]


def neighbourhood(spacing: tuple[float, ...], lattice: tuple[int, ...]) -> Neighbourhood:
    """Return about as many lattice offsets around the origin as are worth probing, none longer than the lattice."""
    dimensions = len(spacing)
    ball = {2: np.pi, 3: 4 / 3 * np.pi}[dimensions]
    radius = float((_PROBES / ball * np.prod(spacing)) ** (1 / dimensions))
    reach = tuple(min(int(radius / s), n) for s, n in zip(spacing, lattice, strict=True))
    return _offsets(spacing, radius, reach)


@lru_cache(maxsize=64)
def _offsets(spacing: tuple[float, ...], radius: float, reach: tuple[int, ...]) -> Neighbourhood:
    dimensions = len(spacing)
    grid = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in reach), indexing="ij"), axis=-1)
    offsets = grid.reshape(-1, dimensions)
    lengths = _lengths(offsets, spacing)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] <= radius]
    distances, bins = np.unique(lengths[order], return_inverse=True)
    offsets = np.concatenate([np.zeros((order.size, 3 - dimensions), np.int64), offsets[order]], axis=1)
    return Neighbourhood(offsets, distances, bins, np.maximum(np.abs(offsets).max(axis=0), 1))


def _lengths(offsets: npt.NDArray[np.int64], spacing: tuple[float, ...]) -> Floats:
    """Return √Σ(offset · spacing)², summed from the first axis to the last."""
    squares = np.square(offsets * np.array(spacing))
    total = squares[:, 0].copy()
    for axis in range(1, squares.shape[1]):
        total += squares[:, axis]
    return np.asarray(np.sqrt(total))


def _far_distances(
    places: npt.NDArray[np.int64], others: npt.NDArray[np.int64], shape: tuple[int, ...], spacing: tuple[float, ...]
) -> Floats:
    """Return the exact distance from each place to the nearest of the others, however far."""
    from scipy.spatial import cKDTree

    axes = slice(3 - len(spacing), 3)
    there = np.stack(np.unravel_index(others, shape)[axes], axis=1)
    tree = cKDTree(there * spacing, balanced_tree=False, compact_nodes=False)
    distances = np.empty(places.size)
    for start in range(0, places.size, _AT_ONCE):
        piece = slice(start, start + _AT_ONCE)
        here = np.stack(np.unravel_index(places[piece], shape)[axes], axis=1)
        distances[piece] = _lengths(here - there[tree.query(here * spacing)[1]], spacing)
    return distances
