"""Pairs that were measured on the GPU, as the same types that the CPU makes; read when a number is asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from podium.metrics._gpu.pipeline import BoundaryQuestion, CountedStack, MeasuredStack, Shortcut, count, measure
from podium.metrics._gpu.tensors import Stack, stack_up, wrong_labels
from podium.metrics._pairs import Regions, Spacing, as_regions
from podium.metrics.overlaps import Overlap
from podium.metrics.surface import Boundary, DirectedDistances, SurfaceDistances
from podium.model import InputError

__all__ = [
    "AT_ONCE",
    "BoundaryQuestion",
    "Shortcut",
    "count",
    "count_masks",
    "count_regions",
    "dice_scores",
    "distributions",
    "in_order",
    "measure",
    "measure_masks",
    "measure_regions",
    "settled",
    "stack_up",
    "wrong_labels",
]

AT_ONCE = 8
"""Regions that are measured together."""


def measure_masks(
    reference: Any, prediction: Any, *, spacing_mm: Spacing | None, boundary: Boundary
) -> SurfaceDistances:
    """Measure the boundaries of two masks."""
    stack = stack_up(reference, prediction, labels=None, spacing_mm=spacing_mm, batch=False)
    return DeviceSurfaceDistances(SurfaceReading(stack, BoundaryQuestion(surfel=boundary == "surfel")), 0, boundary)


def measure_regions(
    reference: Any, prediction: Any, *, regions: Regions, spacing_mm: Spacing | None, boundary: Boundary
) -> dict[str, SurfaceDistances]:
    """Measure the boundaries of every region of two label maps.

    Where there are more regions than are measured together, all but the last are read at once, since each needs memory.
    """
    members = as_regions(regions)
    names = list(members)
    result: dict[str, SurfaceDistances] = {}
    reading = None
    for batch in (names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE)):
        labels = [members[name] for name in batch]
        stack = stack_up(reference, prediction, labels=labels, spacing_mm=spacing_mm, batch=False)
        if reading is not None:
            reading.read()
        reading = SurfaceReading(stack, BoundaryQuestion(surfel=boundary == "surfel"))
        result |= {name: DeviceSurfaceDistances(reading, place, boundary) for place, name in enumerate(batch)}
    return result


def count_masks(reference: Any, prediction: Any, *, spacing_mm: Spacing | None) -> Overlap:
    """Count the voxels of two masks."""
    stack = stack_up(reference, prediction, labels=None, spacing_mm=spacing_mm, batch=False)
    return DeviceOverlap(OverlapReading(stack), 0, math.prod(stack.spacing))


def count_regions(
    reference: Any, prediction: Any, *, regions: Regions, spacing_mm: Spacing | None
) -> dict[str, Overlap]:
    """Count the voxels of every region of two label maps."""
    members = as_regions(regions)
    names = list(members)
    result: dict[str, Overlap] = {}
    for batch in (names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE)):
        labels = [members[name] for name in batch]
        stack = stack_up(reference, prediction, labels=labels, spacing_mm=spacing_mm, batch=False)
        reading = OverlapReading(stack)
        volume = math.prod(stack.spacing)
        result |= {name: DeviceOverlap(reading, place, volume) for place, name in enumerate(batch)}
    return result


def settled(
    stack: Stack, question: BoundaryQuestion, measured: MeasuredStack, *, versions: tuple[int, int] | None = None
) -> MeasuredStack:
    """Wait for a measurement, refuse wrong labels, and measure again where far distances had too little room.

    Where `versions` of the tensors are given, those must not have been written to since.
    """
    wrong, most = state_of(measured)
    if wrong:
        raise wrong_labels()
    if most <= measured.room_for_records:
        return measured
    if versions is not None and versions != versions_of(stack):
        raise InputError(
            "masks were overwritten before their distances were read, and must be measured again",
            advice="Ask for a number before you change them, or give copies",
        )
    larger = BoundaryQuestion(
        question.surfel, question.percentile, question.linear, question.reaches, question.probes, _rounded_up(most)
    )
    return measure(stack, larger)


def versions_of(stack: Stack) -> tuple[int, int]:
    """Return how often each tensor was written to, as PyTorch counts it; where it does not, that is not noticed."""
    one, two = (getattr(tensor, "_version", 0) for tensor in (stack.reference, stack.prediction))
    return one, two


def stream_of(tensor: torch.Tensor) -> AbstractContextManager[Any]:
    """Return a context in which work goes to the stream that is current now, whichever is current then."""
    return torch.cuda.stream(torch.cuda.current_stream(tensor.device)) if tensor.is_cuda else nullcontext()


def state_of(measured: MeasuredStack) -> tuple[bool, int]:
    """Wait for a measurement, and return whether any labels are wrong, and the most far distances of a boundary."""
    state = torch.cat([measured.wrong.long(), measured.record_counts.view(-1)]).tolist()
    items = measured.shape[0]
    return any(state[:items]), max(state[items:])


def in_order(measured: MeasuredStack) -> bool:
    """Wait for a measurement, and return whether all went well."""
    wrong, most = state_of(measured)
    return not wrong and most <= measured.room_for_records


def _rounded_up(count: int) -> int:
    """Return a power of two, so that there are few kinds of plans."""
    return 1 << (count - 1).bit_length()


class SurfaceReading:
    """The distances of one pair, which stay on the device until the first number is asked for."""

    def __init__(self, stack: Stack, question: BoundaryQuestion) -> None:
        self._pending: tuple[Stack, BoundaryQuestion, MeasuredStack] | None = (
            stack,
            question,
            measure(stack, question),
        )
        self._versions, self._stream = versions_of(stack), stream_of(stack.reference)
        self._directed: list[list[DirectedDistances]] = []

    def read(self) -> None:
        """Wait for the device, keep what was measured, and give its memory back."""
        if self._pending is not None:
            with self._stream:
                measured = settled(*self._pending, versions=self._versions)
                self._directed = [distributions(measured, side) for side in (0, 1)]
            self._pending = None

    def directed(self, region: int, side: int) -> DirectedDistances:
        """Return the distances from the reference (side 0) or from the prediction."""
        self.read()
        return self._directed[side][region]


def distributions(measured: MeasuredStack, side: int) -> list[DirectedDistances]:
    """Return the distances of every region of the first pair, from one side."""
    known = measured.constants
    near = measured.histogram[0, side].cpu().numpy()
    number = int(measured.record_counts[0, side])
    distances, owners = (part[0, side, :number].cpu().numpy() for part in measured.records)
    return [
        _distribution(near[region], distances, owners - region * known.areas.size, known.lengths, known.areas)
        for region in range(near.shape[0])
    ]


def _distribution(
    near: npt.NDArray[np.int64],
    far: npt.NDArray[np.float64],
    kinds: npt.NDArray[np.int32],
    lengths: npt.NDArray[np.float64],
    areas: npt.NDArray[np.float64],
) -> DirectedDistances:
    """Return near and far distances together; far ones whose kind is none belong to another region."""
    own = (kinds >= 0) & (kinds < areas.size)
    distances, place = np.unique(far[own], return_inverse=True)
    counts = np.bincount(place * areas.size + kinds[own], minlength=distances.size * areas.size)
    counts = np.concatenate([near, counts.reshape(distances.size, areas.size)])
    distances = np.concatenate([lengths, distances])
    occurring = np.flatnonzero(counts.any(axis=1))
    occurring = occurring[np.argsort(distances[occurring])]
    counts = counts[occurring].astype(np.int64)
    return DirectedDistances(distances[occurring], (counts * areas).sum(axis=1), counts.sum(axis=1))


class DeviceSurfaceDistances(SurfaceDistances):
    """Surface distances that were measured on a GPU and are read when they are looked at."""

    __slots__ = ("_reading", "_region")
    _reading: SurfaceReading
    _region: int

    def __init__(self, reading: SurfaceReading, region: int, boundary: Boundary) -> None:
        for name, value in (("_reading", reading), ("_region", region), ("boundary", boundary)):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> Any:
        """Return what a copy is made of: numbers, as the CPU has them."""
        return SurfaceDistances, (self.from_reference, self.from_prediction, self.boundary)

    @property
    def from_reference(self) -> DirectedDistances:
        """Return the distances from the reference's boundary to the prediction's."""
        return self._reading.directed(self._region, 0)

    @property
    def from_prediction(self) -> DirectedDistances:
        """Return the distances from the prediction's boundary to the reference's."""
        return self._reading.directed(self._region, 1)


class OverlapReading:
    """The counts of one pair, which stay on the device until the first number is asked for."""

    def __init__(self, stack: Stack) -> None:
        # Masks are kept until they were read: another library may use their memory again as soon as nobody has them.
        self._counted: tuple[CountedStack, Stack] | None = (count(stack), stack)
        self._stream = stream_of(stack.reference)
        self._numbers: list[list[int]] = []

    def numbers(self, region: int) -> Sequence[int]:
        """Return voxels in both, in the reference and in the prediction."""
        if self._counted is not None:
            counted, _ = self._counted
            with self._stream:
                if counted.wrong.any():
                    raise wrong_labels()
                self._numbers = counted.counts[0].tolist()
            self._counted = None
        return self._numbers[region]


class DeviceOverlap(Overlap):
    """Voxel counts that were made on a GPU and are read when they are looked at."""

    __slots__ = ("_reading", "_region")
    _reading: OverlapReading
    _region: int

    def __init__(self, reading: OverlapReading, region: int, voxel_volume_mm3: float) -> None:
        for name, value in (("_reading", reading), ("_region", region), ("voxel_volume_mm3", voxel_volume_mm3)):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> Any:
        """Return what a copy is made of: numbers, as the CPU has them."""
        return Overlap, (self.common, self.reference, self.prediction, self.voxel_volume_mm3)

    @property
    def common(self) -> int:
        """Return the voxels in both."""
        return self._reading.numbers(self._region)[0]

    @property
    def reference(self) -> int:
        """Return the voxels in the reference."""
        return self._reading.numbers(self._region)[1]

    @property
    def prediction(self) -> int:
        """Return the voxels in the prediction."""
        return self._reading.numbers(self._region)[2]


def dice_scores(counts: torch.Tensor) -> torch.Tensor:
    """Return 2|R ∩ P| / (|R| + |P|) of counts, with what Dice declares where both are empty."""
    total = counts[..., 1] + counts[..., 2]
    return torch.where(total == 0, 1.0, 2.0 * counts[..., 0] / total.clamp(min=1).to(torch.float64))
