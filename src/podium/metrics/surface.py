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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._far import Nearest, Tally
from podium.metrics._kernels import surfaces as kernels
from podium.metrics._kernels.areas import contour_lengths, surfel_areas
from podium.metrics._pairs import Labels, Pair, Regions, Spacing, as_regions, mask_bytes, pair_up, which_empty
from podium.metrics._scratch import Scratch
from podium.metrics.devices import gpu_engine, gpu_for_arrays, on_gpu
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
"""A boundary with more elements is refused: to measure one takes up to about half a microsecond an element."""

_PROBES = 800  # beyond about this many steps it is faster to ask for the nearest in another way
_TIMES_REFERENCE = 4  # a boundary may always have this many times the elements of the reference's
_AT_ONCE = 1 << 21  # elements that are in memory
_REGIONS_AT_ONCE = 8
_INSIDE = np.minimum(np.arange(256), 1).astype(np.uint8)
_EQUAL = np.ones(256)
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
        check_boundary(boundary)
        if on_gpu(reference, prediction):
            measured: SurfaceDistances = gpu_engine().measure_masks(
                reference, prediction, spacing_mm=spacing_mm, boundary=boundary
            )
            return measured
        pair = pair_up(mask_bytes(reference), mask_bytes(prediction), spacing_mm=spacing_mm)
        return _measure(pair, _INSIDE, 1, boundary)[0]

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
    boundary is probed at all lattice offsets in order of their length, so the first hit is the exact distance; elements
    with no hit nearby search blocks of the other boundary, or a distance transform where they are many.

    Parameters
    ----------
    reference, prediction
        Label maps, or arrays of whole numbers, of the same 2-D or 3-D shape; those on a GPU (PyTorch, CuPy, JAX) are
        measured there, and read when a number is asked for.
    regions
        Name and labels of each region.
    spacing_mm
        Millimetres per axis; by default the reference's, or 1 for arrays.
    boundary
        `surfel` or `voxel`; see the module.
    """
    check_boundary(boundary)
    if on_gpu(reference, prediction):
        engine = gpu_engine()
        return dict(
            engine.measure_regions(reference, prediction, regions=regions, spacing_mm=spacing_mm, boundary=boundary)
        )
    pair = pair_up(reference, prediction, spacing_mm=spacing_mm)
    members = as_regions(regions)
    names = list(members)
    result: dict[str, SurfaceDistances] = {}
    for start in range(0, len(names), _REGIONS_AT_ONCE):
        batch = names[start : start + _REGIONS_AT_ONCE]
        table = pair.table([members[name] for name in batch])
        result |= zip(batch, _measure(pair, table, len(batch), boundary), strict=True)
    return result


def check_boundary(boundary: str) -> None:
    """Refuse what is no definition of a boundary."""
    if boundary not in ("surfel", "voxel"):
        raise InputError(f"there is no boundary called {boundary!r}", advice="It is 'surfel' or 'voxel'")


def _measure(pair: Pair, table: npt.NDArray[np.uint8], regions: int, boundary: Boundary) -> list[SurfaceDistances]:
    if pair.nothing:
        nothing = DirectedDistances(np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
        return [SurfaceDistances(nothing, nothing, boundary)] * regions
    if (gpu := gpu_for_arrays()) and (moved := gpu.measure_pair(pair, table, regions, boundary)) is not None:
        return list(moved)
    lattice = pair.upper - pair.lower
    find = kernels.voxels
    areas = _EQUAL
    if boundary == "surfel":
        lattice = lattice + np.array([not pair.flat, 1, 1])
        find = kernels.surfels
        areas = contour_lengths(pair.spacing) if pair.flat else surfel_areas(pair.spacing)
    near = neighbourhood(pair.spacing, tuple(lattice[3 - len(pair.spacing) :].tolist()))
    pad = near.reach
    depth, height, width = (lattice + 2 * pad).tolist()
    shape = (depth, height, -(-width // 8) * 8)  # rows of whole 64-bit words

    def pieces(side: str, labels: npt.NDArray[Any], marks: npt.NDArray[np.uint8], most: int) -> Iterator[Elements]:
        """Yield elements, plane by plane; each piece is valid until the next."""
        layer = before = 0
        while True:
            places = _scratch.array(f"{side} places", np.int64)
            corners = _scratch.array(f"{side} corners", np.uint64)
            room = marks, places, corners
            places, corners, count, layer, met = find(
                labels, pair.lower, pair.upper, table, pair.flat, pad, *room, layer, _AT_ONCE, most - before
            )
            if count < 0:
                raise too_rugged(most)
            _scratch.keep(f"{side} places", places)
            _scratch.keep(f"{side} corners", corners)
            yield Elements(places[:count], corners[:count], met)
            before += count
            if layer == 0:
                return

    outlines: list[Outline] = []
    for side, labels in (("reference", pair.reference), ("prediction", pair.prediction)):
        most = most_elements(outlines[0].count) if outlines else labels.size * 8
        marks = _scratch.zeros(f"{side} marks", shape)
        outlines.append(Outline.of(marks, partial(pieces, side, labels, marks, most)))
    directed = partial(directed_distances, areas=areas, near=near, spacing=pair.spacing)
    one, two = outlines
    return [
        SurfaceDistances(directed(one, two, region=region), directed(two, one, region=region), boundary)
        for region in range(regions)
    ]


def directed_distances(
    own: Outline, other: Outline, *, region: int, areas: Floats, near: Neighbourhood, spacing: tuple[float, ...]
) -> DirectedDistances:
    """Measure from the elements of one boundary to the nearest of another."""
    if not other.regions >> region & 1:
        count, size = 0, 0.0
        for piece in own.pieces():
            places, piece_size = kernels.elements(piece.places, piece.corners, region, areas)
            count, size = count + places.size, size + piece_size
        some = min(count, 1)
        return DirectedDistances(np.full(some, np.inf), np.full(some, size), np.full(some, count))
    steps = _steps(near, *other.marks.shape[1:])
    sizes, counts = np.zeros(near.distances.size), np.zeros(near.distances.size, np.int64)
    nearest: Nearest | None = None
    marks = other.marks.reshape(-1)
    for piece in own.pieces():
        unmet, unmet_sizes = np.empty(piece.places.size, np.int64), np.empty(piece.places.size)
        far = kernels.measure(
            piece.places, piece.corners, region, areas, marks, steps, near.bins, sizes, counts, unmet, unmet_sizes
        )
        if far:
            if nearest is None:
                nearest, tally = Nearest(other.marks, region, other.places(region), spacing), Tally()
            tally.add(nearest.distances(unmet[:far]), unmet_sizes[:far], np.ones(far, np.int64))
    occurring = counts.nonzero()[0]
    result = near.distances[occurring], sizes[occurring], counts[occurring]
    if nearest is not None:
        tally.add(*result)
        result = tally.sorted()
    return DirectedDistances(*result)


def most_elements(reference: int) -> int:
    """Return how many elements the boundary of a prediction may have, where the reference's has so many."""
    return max(MOST_ELEMENTS, _TIMES_REFERENCE * reference)


def too_rugged(most: int) -> InputError:
    """Return what is said of a boundary that would take too much memory and time."""
    return InputError(
        f"the boundary of the segmentation has more than the limit of {most:,} elements",
        advice="Is it a noise or a pattern, not a structure? Remove small islands and holes",
    )


class Elements(NamedTuple):
    """Elements of a boundary: their places in the flattened marks, ascending, their corners, and all their regions."""

    places: npt.NDArray[np.int64]
    corners: npt.NDArray[np.uint64]
    regions: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A boundary: region bits of every place on the lattice, and the elements, all at once or piece by piece.

    `whole` are all elements, unless they are too many to be in memory together; `regions` has the bits of all regions.
    """

    marks: npt.NDArray[np.uint8]
    count: int
    regions: int
    whole: Elements | None
    find: Callable[[], Iterator[Elements]] | None = None

    @classmethod
    def of(cls, marks: npt.NDArray[np.uint8], find: Callable[[], Iterator[Elements]]) -> Outline:
        """Mark everything that is found."""
        count = regions = number = 0
        for piece in find():
            whole = piece
            count, regions, number = count + piece.places.size, regions | int(piece.regions), number + 1
        return cls(marks, count, regions, whole if number == 1 else None, find)

    def pieces(self) -> Iterator[Elements]:
        """Return the elements, piece by piece; each is valid until the next."""
        if self.whole is not None:
            return iter((self.whole,))
        assert self.find is not None
        return self.find()

    def places(self, region: int) -> npt.NDArray[np.int64] | None:
        """Return the places of a region, unless they are too many."""
        if self.whole is None:
            return None
        places: npt.NDArray[np.int64]
        places, _ = kernels.elements(self.whole.places, self.whole.corners, region, np.zeros(256))
        return places


@dataclass(frozen=True, eq=False, slots=True)
class Neighbourhood:
    """Lattice offsets (z, y, x) in order of their length.

    `distances` are the distinct lengths, `bins` which of them each offset has, `reach` how far they go, at least 1.
    """

    offsets: npt.NDArray[np.int64]
    distances: Floats
    bins: npt.NDArray[np.int64]
    reach: npt.NDArray[np.int64]


def neighbourhood(spacing: tuple[float, ...], lattice: tuple[int, ...], *, probes: float = _PROBES) -> Neighbourhood:
    """Return about as many lattice offsets around the origin as are worth probing, none longer than the lattice."""
    dimensions = len(spacing)
    ball = np.pi if dimensions == 2 else 4 / 3 * np.pi
    radius = (probes / ball * prod(spacing)) ** (1 / dimensions)
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


@lru_cache(maxsize=64)
def _steps(near: Neighbourhood, height: int, width: int) -> npt.NDArray[np.int64]:
    """Return how far each offset leads in a flattened array of planes of that size."""
    steps: npt.NDArray[np.int64] = near.offsets @ np.array([height * width, width, 1])
    return steps


def _lengths(offsets: npt.NDArray[np.int64], spacing: tuple[float, ...]) -> Floats:
    """Return √Σ(offset · spacing)², summed from the first axis to the last."""
    squares = np.square(offsets * np.array(spacing))
    total = squares[:, 0].copy()
    for axis in range(1, squares.shape[1]):
        total += squares[:, axis]
    return np.asarray(np.sqrt(total))
