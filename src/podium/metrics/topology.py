"""How many parts, tunnels and cavities two segmentations have."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._counts import counting
from podium.metrics._pairs import MASK, Labels, Regions, as_mask, as_regions, mask_labels, pair_up
from podium.metrics.registry import AN_ERROR, declare
from podium.model import InputError

__all__ = [
    "BettiNumbers",
    "Topology",
    "betti_0_error",
    "betti_1_error",
    "betti_2_error",
    "betti_error",
    "betti_numbers",
    "topologies",
]

Touch: TypeAlias = Literal["corner", "face"]


@counting
class BettiNumbers(NamedTuple):
    """Connected parts; tunnels through them (holes of a 2-D image); cavities in them (none in 2-D)."""

    parts: int
    tunnels: int
    cavities: int

    @property
    def euler(self) -> int:
        """Return the Euler characteristic: parts − tunnels + cavities."""
        return self.parts - self.tunnels + self.cavities


def betti_numbers(mask: npt.ArrayLike, *, touch: Touch = "corner") -> BettiNumbers:
    """Count the parts, tunnels and cavities of a 2-D or 3-D mask.

    Parts and cavities are counted as connected components, tunnels follow from the Euler characteristic.

    Parameters
    ----------
    mask
        What is not zero is inside. What lies beyond the image border is outside.
    touch
        When voxels are connected: `corner`, if they share a corner (26 neighbours, 8 in 2-D), so that outside they must
        share a face; or `face` (6 neighbours, 4 in 2-D), so that outside a corner suffices.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.ones((3, 3))
    >>> ring[1, 1] = 0
    >>> betti_numbers(ring)
    BettiNumbers(parts=1, tunnels=1, cavities=0)
    """
    from scipy.ndimage import generate_binary_structure, label

    if touch not in ("corner", "face"):
        raise InputError(f"there is no touch called {touch!r}", advice="It is 'corner' or 'face'")
    inside = as_mask(mask)
    if inside.ndim not in (2, 3):
        raise InputError(f"Betti numbers are those of a 2-D or 3-D mask, not {inside.ndim}-D")
    if not inside.any():
        return BettiNumbers(0, 0, 0)
    inside = np.pad(inside, 1)
    dimensions = inside.ndim
    near, wide = (generate_binary_structure(dimensions, reach) for reach in (1, dimensions))
    parts = label(inside, wide if touch == "corner" else near)[1]
    enclosed = label(~inside, near if touch == "corner" else wide)[1] - 1
    if dimensions == 2:
        return BettiNumbers(parts, enclosed, 0)
    return BettiNumbers(parts, parts + enclosed - _euler_characteristic(inside, touch), enclosed)


def _euler_characteristic(inside: npt.NDArray[np.bool_], touch: Touch) -> int:
    """Return cells of even less those of odd dimension, of a mask with nothing at its border.

    If corners touch, the cells are voxels with their faces, edges and corners, there if any voxel has them. If faces
    do, they are voxels, pairs, squares of four and cubes of eight, there if all their voxels are.
    """
    total = 0
    for axes in product((False, True), repeat=inside.ndim):
        cells = inside
        for axis in np.flatnonzero(axes):
            before = (slice(None),) * axis
            ahead, behind = cells[(*before, slice(1, None))], cells[(*before, slice(None, -1))]
            cells = ahead | behind if touch == "corner" else ahead & behind
        dimension = inside.ndim - sum(axes) if touch == "corner" else sum(axes)
        total += (-1) ** dimension * int(np.count_nonzero(cells))
    return total


@dataclass(frozen=True, slots=True)
class Topology:
    """The Betti numbers of one region in a reference and a prediction."""

    reference: BettiNumbers
    prediction: BettiNumbers

    @classmethod
    def between(cls, reference: npt.NDArray[Any], prediction: npt.NDArray[Any], *, touch: Touch = "corner") -> Topology:
        """Count two masks, of the same 2-D or 3-D shape: what is not zero is inside; see `betti_numbers`."""
        return topologies(mask_labels(reference), mask_labels(prediction), regions=MASK, touch=touch)["mask"]

    @property
    def errors(self) -> tuple[int, ...]:
        """Return by how much parts, tunnels and cavities differ."""
        return tuple(abs(one - two) for one, two in zip(self.reference, self.prediction, strict=True))


def topologies(
    reference: Labels, prediction: Labels, *, regions: Regions, touch: Touch = "corner"
) -> dict[str, Topology]:
    """Count the Betti numbers of every region, a set of labels, in two label maps; see `betti_numbers`."""
    pair = pair_up(reference, prediction)
    return {
        name: Topology(*(betti_numbers(mask, touch=touch) for mask in pair.masks(labels)))
        for name, labels in as_regions(regions).items()
    }


_ERROR: dict[str, Any] = {
    "family": "topology",
    "unit": "",
    **AN_ERROR,
    "symmetric": True,
    "empty": {},
}


@declare(
    title="Error of Betti number 0",
    **_ERROR,
    formula="|b₀(P) − b₀(R)|, b₀ the number of connected parts",
    same_as={"scikit-image": "from measure.label with connectivity=1 or the number of axes"},
)
def betti_0_error(topology: Topology) -> float:
    """Return by how many connected parts prediction and reference differ; nothing has none."""
    return float(topology.errors[0])


@declare(
    title="Error of Betti number 1",
    **_ERROR,
    formula="|b₁(P) − b₁(R)|, b₁ = b₀ + b₂ − χ the number of tunnels, or holes in 2-D",
    same_as={"scikit-image": "from measure.label and measure.euler_number: b₁ = b₀ + b₂ − χ"},
)
def betti_1_error(topology: Topology) -> float:
    """Return by how many tunnels (holes of a 2-D image) prediction and reference differ; nothing has none."""
    return float(topology.errors[1])


@declare(
    title="Error of Betti number 2",
    **_ERROR,
    formula="|b₂(P) − b₂(R)|, b₂ the number of cavities; 0 in 2-D",
    same_as={"scikit-image": "from measure.label of the background"},
)
def betti_2_error(topology: Topology) -> float:
    """Return by how many cavities prediction and reference differ; nothing has none, nor has a 2-D image."""
    return float(topology.errors[2])


@declare(
    title="Betti error",
    **_ERROR,
    formula="Σₖ |bₖ(P) − bₖ(R)|",
    same_as={"scikit-image": "from measure.label and measure.euler_number"},
)
def betti_error(topology: Topology) -> float:
    """Return the sum of the differences in connected parts, tunnels and cavities, Σₖ |bₖ(P) − bₖ(R)|.

    0 is best, of whole segmentations; papers that cut images into random patches sum other numbers. Equal counts need
    not mean equal places: that is what clDice sees.

    Examples
    --------
    >>> betti_error(Topology(BettiNumbers(1, 1, 0), BettiNumbers(3, 0, 0)))
    3.0
    """
    return float(sum(topology.errors))
