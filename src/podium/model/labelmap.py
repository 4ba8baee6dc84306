"""A label map: whole numbers on a regular grid, with the geometry that turns voxels into millimetres."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.model.errors import InputError

__all__ = ["LARGEST_LABEL", "LONGEST_MM", "SHORTEST_MM", "Box", "LabelMap"]

SHORTEST_MM = 1e-6
"""A voxel is at least a nanometre long; anything else is a mistake."""

LONGEST_MM = 1e6
"""A voxel is at most a kilometre long; anything else is a mistake."""

LARGEST_LABEL = 2**32 - 1
"""Labels are whole numbers from 0 to this."""

_LENGTHS = f"positive numbers in mm, each from {SHORTEST_MM:g} to {LONGEST_MM:g}"
_NO_LENGTHS = (str, bytes, bool, np.bool_)


def as_labels(array: npt.ArrayLike) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return whole numbers from 0 in the smallest of uint8, uint16 and uint32 that holds them."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise InputError("labels are in a masked array", advice="Fill what is masked first: array.filled(0)")
    given = array
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError):  # a tensor that NumPy cannot read, or lists of unequal length
        raise _no_array(given, f"NumPy makes no array of this {type(given).__name__}") from None
    if array.dtype == np.bool_:
        labels = array.view(np.uint8)
        return labels if labels.max(initial=0) <= 1 else (labels != 0).view(np.uint8)  # a view of 0 and 255
    if array.dtype.kind not in "iuf":
        raise _no_array(given, f"labels must be numbers, not {array.dtype if array.ndim else type(given).__name__}")
    if array.dtype == np.uint8 or array.size == 0:
        return array.astype(np.uint8, copy=False)
    low, high = array.min().item(), array.max().item()  # Python's numbers: those of 16 bits overflow
    whole = array.dtype.kind != "f" or (math.isfinite(low + high) and np.array_equal(array, np.rint(array)))
    if not whole or low < 0 or high > LARGEST_LABEL:
        strange = "NaN" if math.isnan(low) else f"{low:g} to {high:g}"
        advice = "Compare probabilities with a threshold: array > 0.5" if 0 <= low <= high <= 1 else None
        raise InputError(f"labels must be whole numbers from 0 to {LARGEST_LABEL}, found {strange}", advice=advice)
    for narrow in (np.uint8, np.uint16, np.uint32):
        if high <= np.iinfo(narrow).max:
            break
    return array.astype(narrow)


def _no_array(given: Any, problem: str) -> InputError:
    """Return what is said of something that is no array of labels, and what to give instead."""
    if isinstance(given, LabelMap):
        problem = "an array is asked for, not a LabelMap"
        advice = "Name the labels: overlap(…, regions={…}), surface_distances, compare …; or give .array == label"
    elif isinstance(given, str | PathLike):
        problem = "an array is asked for, not the name of a file"
        advice = "podium.compare takes files; podium.io.read_label_map(path).array is an array"
    elif hasattr(given, "dataobj"):
        advice = "Give its array: np.asarray(image.dataobj)"
    elif hasattr(given, "detach"):
        advice = "Give an array: tensor.detach().cpu().float().numpy()"
    else:
        advice = None
    return InputError(problem, advice=advice)


def as_spacing(spacing_mm: float | Sequence[float], dimensions: int) -> tuple[float, ...]:
    """Return millimetres per axis; one number is that of every axis.

    Examples
    --------
    >>> as_spacing(0.5, 3)
    (0.5, 0.5, 0.5)
    """
    if isinstance(spacing_mm, str | bytes | Set | Mapping):
        raise InputError(f"the spacing must be {dimensions} numbers in the order of the axes, not {spacing_mm!r}")
    alike = isinstance(spacing_mm, Real) or getattr(spacing_mm, "ndim", None) == 0
    axes: Any = (spacing_mm,) * dimensions if alike else spacing_mm
    try:
        spacing = tuple(float(s) for s in axes if not isinstance(s, _NO_LENGTHS))
    except (TypeError, ValueError):
        spacing = ()
    if len(spacing) != dimensions or not all(SHORTEST_MM <= s <= LONGEST_MM for s in spacing):
        raise InputError(f"the spacing must be {dimensions} {_LENGTHS}, not {spacing_mm}")
    return spacing


@dataclass(frozen=True, slots=True)
class Box:
    """The smallest block of voxels that holds all of something: `lower` ≤ index < `upper` on every axis."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]

    def union(self, other: Box | None) -> Box:
        """Return the smallest box around both."""
        if other is None:
            return self
        return Box(
            tuple(min(a, b) for a, b in zip(self.lower, other.lower, strict=True)),
            tuple(max(a, b) for a, b in zip(self.upper, other.upper, strict=True)),
        )

    @property
    def slices(self) -> tuple[slice, ...]:
        """Return the index that cuts this box out of an array."""
        return tuple(slice(low, high) for low, high in zip(self.lower, self.upper, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class LabelMap:
    """Labels on a 2-D or 3-D grid, their physical geometry, and what a reader noted about them on the way.

    Axes are in the order of the file header (x, y, z for NIfTI, MetaImage and NRRD), so `spacing[k]` belongs to
    `array.shape[k]`. Origin and direction follow ITK and DICOM: millimetres to the patient's left, posterior and
    superior; column k of `direction` is the unit vector of array axis k.

    Attributes
    ----------
    array
        Labels in the smallest of uint8, uint16 and uint32 that holds them; usually in Fortran order, and not to be
        written to: copy it to paint on it.
    spacing
        Millimetres between voxel centres, per axis; finite and positive.
    origin
        Position of voxel 0 in millimetres.
    direction
        Rows of the direction matrix.
    box
        The smallest box around all non-zero labels; None if there are none.
    labels
        How many voxels carry each label that occurs, zero included.
    """

    array: npt.NDArray[np.unsignedinteger[Any]]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    direction: tuple[tuple[float, ...], ...]
    box: Box | None
    labels: Mapping[int, int]

    def __post_init__(self) -> None:
        if self.array.ndim not in (2, 3):
            raise InputError(f"a label map has 2 or 3 dimensions, not {self.array.ndim}")
        if len(self.spacing) != self.array.ndim or not all(SHORTEST_MM <= s <= LONGEST_MM for s in self.spacing):
            raise InputError(f"the spacing must be {self.array.ndim} {_LENGTHS}, not {self.spacing}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of voxels along each axis."""
        return self.array.shape

    def geometry_differences(
        self, other: LabelMap, *, tolerance: float = 1e-3, names: tuple[str, str] | None = None
    ) -> list[str]:
        """Say in which parts of their geometry two label maps differ by more than a tolerance, with both values.

        Names, if given, say whose each value is.
        """
        parts = (("spacing", " mm"), ("origin", " mm"), ("direction", ""))
        differences = []
        for part, unit in parts:
            if getattr(self, part) == getattr(other, part):
                continue
            own, others = np.ravel(getattr(self, part)), np.ravel(getattr(other, part))
            if own.shape != others.shape or np.abs(own - others).max() > tolerance:
                one, two = (" ".join(f"{number + 0.0:.6g}" for number in numbers) for numbers in (own, others))  # no -0
                values = f"{one} and {two}{unit}"
                if names is not None:
                    values = f"{one}{unit} in the {names[0]}, {two}{unit} in the {names[1]}"
                differences.append(f"{part} {values}")
        return differences

    @classmethod
    def from_array(cls, array: npt.NDArray[Any], *, spacing: float | Sequence[float] | None = None) -> LabelMap:
        """Make a label map of an array of whole numbers, at the origin and aligned with the axes.

        Examples
        --------
        >>> import numpy as np
        >>> LabelMap.from_array(np.array([[0, 0, 2], [0, 0, 2]])).box
        Box(lower=(0, 2), upper=(2, 3))
        """
        narrow = as_labels(array)
        labels, counts = np.unique(narrow, return_counts=True)
        occupied = [
            np.flatnonzero(narrow.any(axis=tuple(other for other in range(narrow.ndim) if other != axis)))
            for axis in range(narrow.ndim)
        ]
        box = (
            Box(tuple(int(o[0]) for o in occupied), tuple(int(o[-1]) + 1 for o in occupied))
            if all(o.size for o in occupied)
            else None
        )
        return cls(
            array=narrow,
            spacing=as_spacing(1.0 if spacing is None else spacing, narrow.ndim),
            origin=(0.0,) * narrow.ndim,
            direction=tuple(tuple(float(i == j) for j in range(narrow.ndim)) for i in range(narrow.ndim)),
            box=box,
            labels=MappingProxyType({int(k): int(n) for k, n in zip(labels, counts, strict=True)}),
        )
