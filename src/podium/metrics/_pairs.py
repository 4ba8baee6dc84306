"""Two label maps made ready for the kernels: same shape, 3-D, contiguous, with the box around what they hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._kernels.counting import bounding_box
from podium.model import LARGEST_LABEL, InputError, LabelMap, as_labels, as_spacing

Labels: TypeAlias = "LabelMap | npt.NDArray[Any]"
Regions: TypeAlias = "Mapping[str, int | Collection[int]]"
Spacing: TypeAlias = "float | Sequence[float]"

MASK: Regions = {"mask": (1,)}
"""The one region of a boolean mask."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference and a prediction as the kernels want them.

    Attributes
    ----------
    reference, prediction
        C-contiguous 3-D arrays of unsigned classes; a 2-D image is one plane.
    labels
        The label of each class, where labels are too large to be their own class.
    flat
        Whether they are 2-D images.
    spacing
        Millimetres per axis of these arrays; two for a 2-D image.
    lower, upper
        The box around all labels of both; upper is 0 if there are none.
    reversed_axes
        Whether the axes are those of the caller in reverse.
    """

    reference: npt.NDArray[Any]
    prediction: npt.NDArray[Any]
    labels: npt.NDArray[Any] | None
    flat: bool
    spacing: tuple[float, ...]
    lower: npt.NDArray[np.int64]
    upper: npt.NDArray[np.int64]
    reversed_axes: bool

    @property
    def nothing(self) -> bool:
        """Return whether neither holds any label."""
        return not self.upper.all()

    def table(self, regions: Sequence[Collection[int]]) -> npt.NDArray[np.uint8]:
        """Return for every class which regions it belongs to: bit r for region r, at most eight of them."""
        table = np.zeros(self._classes, np.uint8)
        for bit, region in enumerate(regions):
            table[self._holding(region)] |= 1 << bit
        return table

    def numbered(self, labels: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return for every class which of the labels it is: k + 1 for label k, 0 for none."""
        table = np.zeros(self._classes, np.int64)
        for number, label in enumerate(labels, start=1):
            table[self._holding([label])] = number
        return table

    def masks(self, region: Collection[int]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return where a region is in both, within the box around all labels, with the axes of the caller."""
        inside = self.table([region]) != 0
        box = tuple(slice(low, high) for low, high in zip(self.lower, np.maximum(self.lower, self.upper), strict=True))
        one, two = (inside[array[box]] for array in (self.reference, self.prediction))
        if self.flat:
            one, two = one[0] if one.size else one.reshape(0, 0), two[0] if two.size else two.reshape(0, 0)
        return (one.T, two.T) if self.reversed_axes else (one, two)

    @property
    def _classes(self) -> int:
        return np.iinfo(self.reference.dtype).max + 1 if self.labels is None else self.labels.size

    def _holding(self, labels: Collection[int]) -> npt.NDArray[np.intp]:
        """Return the classes of some labels."""
        wanted = np.array(sorted(labels), np.int64)
        if self.labels is None:
            return wanted[wanted < self._classes]
        return np.flatnonzero(np.isin(self.labels, wanted))


def as_regions(regions: Regions) -> dict[str, list[int]]:
    """Return the labels of each region, ascending; one label is a region too, and background is what no region is."""
    if not isinstance(regions, Mapping):
        raise InputError(f"regions are labels by name, such as {{'organ': (1, 2)}}, not {regions!r}")
    return {name: _members(name, given) for name, given in regions.items()}


def _members(name: str, given: int | Collection[int]) -> list[int]:
    labels: set[Any]
    try:
        labels = {*given} if isinstance(given, Iterable) and not isinstance(given, bytes) else {given}
    except TypeError:  # an array of several axes
        labels = set()
    whole = all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in labels)
    if not labels or not whole or min(labels) < 1 or max(labels) > LARGEST_LABEL:
        said = str(given).replace("\n", " ")
        raise InputError(f"a region is a set of labels from 1 to {LARGEST_LABEL}, not {said:.60} as {name!r} is")
    return sorted(int(label) for label in labels)


def same_grid(
    reference: Labels, prediction: Labels, *, spacing_mm: Spacing | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[float, ...]]:
    """Check that two label maps can be compared; return both as arrays, and the spacing.

    The spacing is the reference's unless given; arrays without one have 1 mm.
    """
    one, two = _array(reference), _array(prediction)
    for side in (one, two):
        if side.ndim not in (2, 3) or side.size == 0:
            raise InputError(f"masks must be 2-D or 3-D, with at least one voxel, not {_times(side.shape)}")
    if one.shape != two.shape:
        raise InputError(
            f"the prediction has {_times(two.shape)} voxels, the reference {_times(one.shape)}",
            advice="Both must lie on the same grid: resample the prediction to the reference",
        )
    if spacing_mm is None:
        spacing_mm = reference.spacing if isinstance(reference, LabelMap) else 1.0
    spacing = as_spacing(spacing_mm, one.ndim)
    return one, two, spacing


def pair_up(reference: Labels, prediction: Labels, *, spacing_mm: Spacing | None = None) -> Pair:
    """Check that two label maps can be compared, as `same_grid` does, and lay them out alike."""
    one, two, spacing = same_grid(reference, prediction, spacing_mm=spacing_mm)
    reversed_axes = one.flags.f_contiguous and not one.flags.c_contiguous
    if reversed_axes:
        one, two, spacing = one.T, two.T, spacing[::-1]
    flat = one.ndim == 2
    dtype = np.promote_types(one.dtype, two.dtype)
    one, two = (np.ascontiguousarray(array[None] if flat else array, dtype) for array in (one, two))
    labels = None
    if dtype.itemsize > 2:
        labels, classes = np.unique(np.stack([one, two]), return_inverse=True)
        labels, classes = np.append(labels, 0), classes.reshape(2, *one.shape) + (labels[0] != 0)
        labels = np.unique(labels)
        one, two = classes.astype(np.min_scalar_type(labels.size))
    one, two = read_only(one), read_only(two)
    (lower, upper), (other_lower, other_upper) = (
        _bounds(given, array, reversed_axes=reversed_axes) for given, array in ((reference, one), (prediction, two))
    )
    return Pair(
        reference=one,
        prediction=two,
        labels=labels,
        flat=flat,
        spacing=spacing,
        lower=np.minimum(lower, other_lower),
        upper=np.maximum(upper, other_upper),
        reversed_axes=reversed_axes,
    )


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written to, so that kernels are compiled for one kind of array only."""
    view = array.view()
    view.flags.writeable = False
    return view


def which_empty(*, reference: float, prediction: float) -> str | None:
    """Return the name of the empty case, given how much there is of each: both, reference, prediction, or None."""
    if reference and prediction:
        return None
    if not reference and not prediction:
        return "both"
    return "prediction" if reference else "reference"


def _array(labels: Labels) -> npt.NDArray[Any]:
    """Return labels as unsigned whole numbers."""
    return labels.array if isinstance(labels, LabelMap) else as_labels(labels)


def as_mask(array: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return a mask of what is not zero, whatever value a mask was stored with."""
    labels = as_labels(array)
    return labels.view(np.bool_) if getattr(array, "dtype", None) == np.bool_ else labels != 0


def mask_bytes(array: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Return a mask as bytes, zero outside and anything else inside, without a look at them where they are bytes."""
    labels = array.view(np.uint8) if type(array) is np.ndarray and array.dtype == np.bool_ else as_labels(array)
    return labels if labels.dtype == np.uint8 else (labels != 0).view(np.uint8)


def mask_labels(array: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Return 1 for what is not zero, as the labels of `MASK`."""
    return as_mask(array).view(np.uint8)


def _bounds(
    given: Labels, array: npt.NDArray[Any], *, reversed_axes: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if not isinstance(given, LabelMap):
        return bounding_box(array)  # type: ignore[no-any-return]  # a kernel has no types
    if given.box is None:
        return np.array(array.shape), np.zeros(3, np.int64)
    lower, upper = given.box.lower, given.box.upper
    if reversed_axes:
        lower, upper = lower[::-1], upper[::-1]
    return np.array((0, *lower)[-3:]), np.array((1, *upper)[-3:])


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"
