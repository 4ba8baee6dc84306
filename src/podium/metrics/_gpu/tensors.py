"""Arrays of any library as PyTorch tensors of (item, channel, z, y, x), without a copy wherever they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from podium.model import LARGEST_LABEL, InputError, as_spacing

_MOST_VOXELS = 2**31 - 2**24
_LONGEST_AXIS = 2**15 - 1
_MOST_ITEMS = 2**16 - 1
_LARGEST_IN_TABLE = 2**16 - 1
TILES = {True: (1, 16, 32), False: (4, 8, 16)}
"""Lattice points that lie together in memory, of images and of volumes."""
_PLAIN = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Pairs of the same shape and spacing, measured together.

    Attributes
    ----------
    reference, prediction
        Tensors of (item, channel, z, y, x): label maps have one channel, masks one for every region.
    labels
        The labels of each region, at most eight; None for masks.
    flat
        Whether they are 2-D images, with one plane.
    spacing
        Millimetres per axis; two for 2-D images.
    """

    reference: torch.Tensor
    prediction: torch.Tensor
    labels: tuple[tuple[int, ...], ...] | None
    flat: bool
    spacing: tuple[float, ...]

    @property
    def items(self) -> int:
        """Return how many pairs there are."""
        return int(self.reference.shape[0])

    @property
    def regions(self) -> int:
        """Return how many regions each has."""
        return int(self.reference.shape[1]) if self.labels is None else len(self.labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return how many voxels there are along z, y and x."""
        depth, height, width = self.reference.shape[2:]
        return int(depth), int(height), int(width)

    @property
    def contiguous(self) -> bool:
        """Return whether the voxels of every channel of both follow one another."""
        _, height, width = self.shape
        return all(t.stride()[2:] == (height * width, width, 1) for t in (self.reference, self.prediction))


def as_tensor(array: Any) -> torch.Tensor:
    """Return a tensor that shares the memory of an array."""
    if not hasattr(array, "__dlpack__"):
        raise InputError(
            f"one mask lies on a GPU, the other is of type {type(array).__name__}",
            advice="Give both as arrays on the same device",
        )
    tensor = array.detach() if isinstance(array, torch.Tensor) else torch.from_dlpack(array)
    if type(tensor) is not torch.Tensor:
        tensor = tensor.as_subclass(torch.Tensor)
    if tensor.dtype == torch.bool:
        tensor = tensor.view(torch.uint8)
    if tensor.is_complex() or tensor.is_sparse:
        raise InputError(f"labels must be numbers, not {tensor.dtype}")
    return tensor


def stack_up(
    reference: Any,
    prediction: Any,
    *,
    labels: Sequence[Sequence[int]] | None,
    spacing_mm: float | Sequence[float] | None,
    batch: bool,
) -> Stack:
    """Lay two label maps (of which `labels` are the regions) or masks out alike.

    Parameters
    ----------
    reference, prediction
        Label maps, ([z,] y, x), or masks of the same shape; in a batch label maps are (item, [z,] y, x) and masks
        (item, channel, [z,] y, x).
    labels
        The labels of each region; None for masks.
    spacing_mm
        Millimetres per axis, 1 by default.
    batch
        Whether the first axes are items, and channels of masks.
    """
    one, two = as_tensor(reference), as_tensor(prediction)
    if one.shape != two.shape:
        raise InputError(
            f"the prediction has {_times(two.shape)} voxels, the reference {_times(one.shape)}",
            advice="Both must lie on the same grid: resample the prediction to the reference",
        )
    if one.device != two.device:
        raise InputError(f"the reference is on {one.device}, the prediction on {two.device}")
    if one.dtype != two.dtype:
        one, two = (tensor.to(_common(one.dtype, two.dtype)) for tensor in (one, two))
    if not batch:
        one, two = one[None, None], two[None, None]
    elif labels is not None:
        one, two = one[:, None], two[:, None]
    flat = one.ndim == 4
    if one.ndim not in (4, 5) or one.numel() == 0:
        raise InputError(f"masks must be 2-D or 3-D, with at least one voxel, not {_times(reference.shape)}")
    spacing = as_spacing(1.0 if spacing_mm is None else spacing_mm, one.ndim - 2)
    if not one.is_contiguous():
        axes = sorted(range(2, one.ndim), key=lambda axis: (-one.stride(axis), axis))
        one, two = one.permute(0, 1, *axes), two.permute(0, 1, *axes)
        spacing = tuple(spacing[axis - 2] for axis in axes)
    if flat:
        one, two = one[:, :, None], two[:, :, None]
    if one.shape[0] > _MOST_ITEMS:
        raise InputError(f"there are {one.shape[0]} pairs", advice=f"At most {_MOST_ITEMS} are measured at once")
    if is_too_large(one.shape[2:], flat=flat):
        raise InputError(
            f"a mask of {_times(one.shape[2:])} voxels is too large for the GPU", advice="Use NumPy arrays"
        )
    one, two = (tensor.contiguous() if _is_spread_out(tensor) else tensor for tensor in (one, two))
    classes = None if labels is None else tuple(map(tuple, labels))
    if classes is not None and max(map(max, classes)) > _LARGEST_IN_TABLE:
        one, two, classes = _renumbered(one, two, classes)
    return Stack(one, two, classes, flat, spacing)


def is_too_large(shape: Sequence[int], *, flat: bool) -> bool:
    """Return whether a mask has more voxels, or its lattice more places in whole tiles, than 32 bits number."""
    lattice = (shape[0] + (not flat), *(n + 1 for n in shape[1:])) if len(shape) == 3 else (1, *(n + 1 for n in shape))
    places = math.prod(-(-n // t) * t for n, t in zip(lattice, TILES[flat], strict=True))
    return max(shape) > _LONGEST_AXIS or math.prod(shape) > _MOST_VOXELS or places >= 2**31


def _is_spread_out(tensor: torch.Tensor) -> bool:
    """Return whether voxels of a channel lie further apart than 32 bits count, as in a view of something larger."""
    reach = sum((n - 1) * step for n, step in zip(tensor.shape[2:], tensor.stride()[2:], strict=True))
    return bool(reach >= 2**31)


def _renumbered(
    one: torch.Tensor, two: torch.Tensor, classes: tuple[tuple[int, ...], ...]
) -> tuple[torch.Tensor, torch.Tensor, tuple[tuple[int, ...], ...]]:
    """Return label maps in which the labels of regions are numbered from 1: a table of all up to these is too large.

    All other labels become 0, and what is no label −1.
    """
    known = sorted({label for members in classes for label in members})
    places = {label: place for place, label in enumerate(known, start=1)}

    def numbered(tensor: torch.Tensor) -> torch.Tensor:
        values = tensor.to(torch.float64 if tensor.is_floating_point() else torch.int64)
        labels = torch.tensor(known, dtype=values.dtype).to(values.device)
        place = torch.searchsorted(labels, values).clamp_(max=len(known) - 1)
        numbers = torch.where(labels[place] == values, place + 1, 0)
        wrong = (values < 0) | (values > LARGEST_LABEL) | (values != values.floor())
        return torch.where(wrong, -1, numbers).to(torch.int32)

    return numbered(one), numbered(two), tuple(tuple(places[label] for label in members) for members in classes)


def _common(one: torch.dtype, two: torch.dtype) -> torch.dtype:
    """Return a type that holds the numbers of both: one of the two, if it can be, so that only one is copied."""
    if one.is_floating_point or two.is_floating_point:
        return torch.float32 if max(one.itemsize, two.itemsize) <= 2 else torch.float64
    if {one, two} <= _PLAIN:
        return torch.promote_types(one, two)
    return torch.int32 if max(one.itemsize, two.itemsize) <= 2 else torch.int64


def wrong_labels() -> InputError:
    """Return what is said of numbers that are no labels."""
    return InputError(f"labels must be whole numbers from 0 to {LARGEST_LABEL}, found others")


def _times(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))
