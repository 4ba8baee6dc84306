"""What is launched in which order, with what memory: from a stack of pairs to numbers, without a look at any of them.

Nothing here waits for the device. What is not known before, such as how many boundary elements there are, is read by
the kernels themselves; memory is for as much as there can be, at most four bytes a voxel, and where far distances
have no room in theirs, results are no numbers and the reader measures again with more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton

from podium.metrics._gpu import outlines, probing, selection
from podium.metrics._gpu.launches import KernelLaunch, LaunchPlan, MemoryRoom
from podium.metrics._gpu.tensors import TILES, Stack
from podium.metrics._kernels.areas import contour_lengths, surfel_areas
from podium.metrics.surface import neighbourhood

PROBES = 400
_GROUP = 32
_AT_ONCE = 8
_COPIES = 8  # of histograms, so that programs do not wait for one another; one for each pair of a batch is enough
_OTHERS = 8
_TILES = 64
_TILE = 512
_DIGITS, _DIGITS_OF_MANY, _MANY = 11, 10, 256
_FEWEST_PLACES = 2**12
_SURFACES, _NEAR, _FAR = (16, 4), 64, 32  # programs on a processor at once; warps of each
_MOST_BINS = 255
_ROOM_FOR_PLACES, _ROOM_FOR_RECORDS = 16, 64  # one for so many voxels


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """What depends on spacing and shape alone, on the device."""

    steps: torch.Tensor
    step_count: int
    distances: torch.Tensor
    kinds: torch.Tensor
    sizes: torch.Tensor
    ones: torch.Tensor
    spacing: torch.Tensor
    square_reach: torch.Tensor
    reach: torch.Tensor
    lengths: npt.NDArray[np.float64]
    areas: npt.NDArray[np.float64]


@lru_cache(maxsize=64)
def constants(
    spacing: tuple[float, ...], lattice: tuple[int, ...], device: torch.device, *, surfel: bool, probes: int
) -> Constants:
    """Return offsets in order of their length, and sizes of elements by kind: equal ones are of one kind."""
    fewer = float(probes)
    near = neighbourhood(spacing, lattice, probes=fewer)
    while near.distances.size > _MOST_BINS:
        fewer /= 2
        near = neighbourhood(spacing, lattice, probes=fewer)
    areas = np.ones(256)
    if surfel:
        areas = contour_lengths(spacing) if len(spacing) == 2 else surfel_areas(spacing)
    _, first, kinds = np.unique(np.round(areas / areas.max(), 13), return_index=True, return_inverse=True)
    count = -(-len(near.offsets) // _AT_ONCE) * _AT_ONCE
    steps = np.full(count, np.int64(-(2**15)) << 48)
    z, y, x = near.offsets.T
    low = np.int64(0xFFFF)
    steps[: len(near.offsets)] = (z << 48) | ((y & low) << 32) | ((x & low) << 16) | near.bins
    # The reach lies in the middle between the last length that is probed and the next that there is.
    beyond = neighbourhood(spacing, tuple(2**15 for _ in spacing), probes=4 * fewer).distances
    last = near.distances[-1]
    later = np.append(beyond[beyond > last * (1 + 1e-9)], last + min(spacing))  # a step further, there is one at last
    reach = (last + later[0]) / 2

    def tensor(values: Any, dtype: Any) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(values, dtype)).to(device)

    return Constants(
        steps=tensor(steps, np.int64),
        step_count=count,
        distances=tensor(np.append(near.distances, np.inf), np.float64),
        kinds=tensor(kinds.reshape(-1), np.uint8),
        sizes=tensor(areas[first], np.float64),
        ones=tensor(np.ones(first.size), np.float64),
        spacing=tensor((1.0,) * (3 - len(spacing)) + spacing, np.float64),
        square_reach=tensor([reach**2], np.float64),
        reach=tensor([reach], np.float64),
        lengths=np.append(near.distances, np.inf),
        areas=areas[first],
    )


@lru_cache(maxsize=64)
def _on_device(numbers: tuple[float, ...], device: torch.device) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64).to(device)


@lru_cache(maxsize=64)
def _table(labels: tuple[tuple[int, ...], ...], device: torch.device) -> torch.Tensor:
    """Return the region bits of every label up to the largest that a region has."""
    table = np.zeros(max(map(max, labels)) + 1, np.uint8)
    for bit, region in enumerate(labels):
        table[list(region)] |= 1 << bit
    return torch.as_tensor(table).to(device)


@lru_cache(maxsize=8)
def _processors(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 0


@dataclass(frozen=True, slots=True)
class StackLayout:
    """What a plan is made for: two images of the same shape and type."""

    shape: tuple[int, ...]
    reference: tuple[int, ...]
    prediction: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    contiguous: bool
    aligned: tuple[bool, bool]
    labels: tuple[tuple[int, ...], ...] | None
    flat: bool
    spacing: tuple[float, ...]

    @classmethod
    def of(cls, stack: Stack) -> StackLayout:
        """Return the layout of a stack."""
        one, two = stack.reference, stack.prediction
        return cls(
            tuple(one.shape), one.stride(), two.stride(), one.dtype, one.device, stack.contiguous,
            (one.data_ptr() % 16 == 0, two.data_ptr() % 16 == 0), stack.labels, stack.flat, stack.spacing,
        )  # fmt: skip

    @property
    def items(self) -> int:
        """Return how many pairs there are."""
        return self.shape[0]

    @property
    def regions(self) -> int:
        """Return how many regions each has."""
        return self.shape[1] if self.labels is None else len(self.labels)

    @property
    def channels(self) -> int:
        """Return how many channels each has; 0 for label maps."""
        return self.shape[1] if self.labels is None else 0

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Return what all kernels take first: both images, and how they lie in memory."""
        return "reference", "prediction", *self.reference, *self.prediction, *self.shape[2:]

    @property
    def table(self) -> tuple[Any, int]:
        """Return the region bits of labels, and how many there are; masks need none."""
        if self.labels is None:
            return "boxes", 0
        table = _table(self.labels, self.device)
        return table, table.numel()

    def programs(self, at_once: int, *, boundaries: int = 2) -> int:
        """Return how many programs share the work on each boundary, for so many on every processor in all."""
        return max(1, _processors(self.device) * at_once // (boundaries * self.items))

    def bounds(self) -> KernelLaunch:
        """Return the launch that finds the box of every pair: in words of eight voxels, where rows are whole words."""
        size = self.dtype.itemsize
        depth, height, width = self.shape[2:]
        steps = self.reference, self.prediction
        word = 8 // size if self.dtype in (torch.uint8, torch.bool) else 1
        whole = self.contiguous and all(self.aligned) and width % word == 0
        whole = whole and all(step % word == 0 for strides in steps for step in strides[:2])
        one, two = steps
        if whole and word > 1:
            one, two = ((*(step // word for step in strides[:4]), 1) for strides in steps)
            width //= word
            images = "reference words", "prediction words"
        else:
            word = 1
            images = "reference", "prediction"
        block = max(1024, 16384 // (size * word))
        return KernelLaunch(
            outlines.bounds, (triton.cdiv(depth * height * width, block), self.items),
            (*images, *one, *two, depth, height, width, "boxes", "wrong"),
            CHANNELS=self.channels, CONTIGUOUS=self.contiguous, WORD=word, BLOCK=block, num_warps=8,
        )  # fmt: skip


@lru_cache(maxsize=64)
def _counting(layout: StackLayout) -> tuple[LaunchPlan, MemoryRoom]:
    zeros, anything, kept = MemoryRoom(torch.int64), MemoryRoom(torch.uint8), MemoryRoom(torch.float64)
    zeros.add("boxes", layout.items * 6, torch.int32)
    zeros.add("wrong", layout.items, torch.int32)
    zeros.add("counts", layout.items * layout.regions * 3, torch.int64)
    common = KernelLaunch(
        outlines.common, (layout.programs(16), layout.items), (*layout.arguments, *layout.table, "boxes", "counts"),
        CHANNELS=layout.channels, REGIONS=layout.regions, BLOCK=1024, num_warps=4,
    )  # fmt: skip
    return LaunchPlan((zeros, anything, kept), [layout.bounds(), common]), zeros


@dataclass(frozen=True, slots=True, eq=False)
class CountedStack:
    """Voxels of every region in both, in the reference and in the prediction, shape (items, regions, 3)."""

    counts: torch.Tensor
    wrong: torch.Tensor
    plan: LaunchPlan


def count(stack: Stack) -> CountedStack:
    """Count the voxels of every region of every pair."""
    plan, room = _counting(StackLayout.of(stack))
    zeros, _, _ = plan.run(stack.reference, stack.prediction)
    counts = room.part(zeros, "counts").view(stack.items, stack.regions, 3)
    return CountedStack(counts, room.part(zeros, "wrong"), plan)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredStack:
    """Distances between the boundaries of a stack of pairs, on the device."""

    shape: tuple[int, int]
    constants: Constants
    rooms: tuple[MemoryRoom, MemoryRoom, MemoryRoom]
    memory: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    plan: LaunchPlan
    """Whose constants kernels read, of a graph again and again: they live as long as this does."""

    @property
    def results(self) -> torch.Tensor:
        """Return (items, regions, 6 + tolerances) numbers.

        They are percentile, largest distance, ASSD, MASD, both directed means, and surface Dice at each tolerance; no
        numbers where labels are wrong, or `record_counts` are beyond their room.
        """
        return self.rooms[2].part(self.memory[2], "results").view(*self.shape, -1)

    @property
    def histogram(self) -> torch.Tensor:
        """Return how many near elements there are, (items, 2, regions, bins, kinds)."""
        bins, kinds = self.constants.distances.numel(), self.constants.sizes.numel()
        items, regions = self.shape
        return self.rooms[0].part(self.memory[0], "histogram").view(-1, items, 2, regions, bins, kinds).sum(0)

    @property
    def element_counts(self) -> torch.Tensor:
        """Return how many places have boundary of any region, (items, 2)."""
        return self.rooms[0].part(self.memory[0], "counters").view(-1, 2) & 0xFFFFFFFFFF

    @property
    def record_counts(self) -> torch.Tensor:
        """Return how many far distances there are, (items, 2)."""
        return self.rooms[0].part(self.memory[0], "record counters").view(-1, 2)

    @property
    def room_for_records(self) -> int:
        """Return how many far distances of a boundary there is room for."""
        return self.records[0].shape[2]  # type: ignore[no-any-return]

    @property
    def records(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return far distances, (items, 2, most), and region · kinds + kind of each."""
        distances, owners = (self.rooms[1].part(self.memory[1], name) for name in ("records", "owners"))
        return distances.view(self.shape[0], 2, -1), owners.view(self.shape[0], 2, -1)

    @property
    def wrong(self) -> torch.Tensor:
        """Return by item whether it has numbers that are no labels."""
        return self.rooms[0].part(self.memory[0], "wrong")


@dataclass(frozen=True, slots=True)
class BoundaryQuestion:
    """What is asked of boundaries; `reaches` are the distances up to which surface Dice counts."""

    surfel: bool
    percentile: float = 95.0
    linear: bool = False
    reaches: tuple[float, ...] = (1.0,)
    probes: int = PROBES
    room_for_records: int | None = None


@lru_cache(maxsize=64)
def _measuring(
    layout: StackLayout, question: BoundaryQuestion
) -> tuple[LaunchPlan, tuple[MemoryRoom, MemoryRoom, MemoryRoom], Constants]:
    items, regions, device = layout.items, layout.regions, layout.device
    surfel, linear, reaches = question.surfel, question.linear, question.reaches
    more = (int(surfel and not layout.flat), int(surfel), int(surfel))
    lattice = tuple(n + m for n, m in zip(layout.shape[2:], more, strict=True))
    known = constants(layout.spacing, lattice[3 - len(layout.spacing) :], device, surfel=surfel, probes=question.probes)
    bins, kinds = known.distances.numel(), known.sizes.numel()
    tile = TILES[layout.flat]
    tiles_most = math.prod(-(-n // t) for n, t in zip(lattice, tile, strict=True))
    marks_size = tiles_most * _TILE
    places_most = max(marks_size // _ROOM_FOR_PLACES, min(marks_size, _FEWEST_PLACES))
    records_most = question.room_for_records or max(marks_size // _ROOM_FOR_RECORDS, 2**10)
    groups_most = tiles_most * (_TILE // _GROUP)
    queries = 1 + linear
    boundaries, segments = items * 2, items * 2 * regions
    copies = max(1, _COPIES // items)
    digits = _DIGITS if segments <= _MANY else _DIGITS_OF_MANY
    parts = 2**digits

    zeros, anything, kept = MemoryRoom(torch.int64), MemoryRoom(torch.uint8), MemoryRoom(torch.float64)
    kept.add("results", items * regions * (6 + len(reaches)), torch.float64)
    for name, size, dtype in (
        ("boxes", items * 6, torch.int32), ("wrong", items, torch.int32), ("present", boundaries, torch.int32),
        ("tickets", boundaries * 3, torch.int32), ("histogram", copies * segments * bins * kinds, torch.int32),
        ("parts", segments * queries * kinds * parts, torch.int32), ("counters", boundaries, torch.int64),
        ("group counters", boundaries, torch.int64), ("record counters", boundaries, torch.int64),
        ("farthest", segments, torch.int64), ("sums", segments * kinds * 3, torch.int64),
        ("within", segments * len(reaches) * kinds, torch.int64),
        ("values", segments * queries * parts, torch.int64), ("prefixes", segments * queries, torch.int64),
        ("befores", segments * queries, torch.float64), ("chosen", segments * queries, torch.float64),
    ):  # fmt: skip
        zeros.add(name, size, dtype)
    for name, size, dtype in (
        ("marks", boundaries * marks_size, torch.uint8), ("places", boundaries * places_most, torch.int16),
        ("tiles", boundaries * tiles_most * 4, torch.int32), ("groups", boundaries * groups_most, torch.int32),
        ("group regions", boundaries * groups_most, torch.uint8),
        ("records", boundaries * records_most, torch.float64), ("owners", boundaries * records_most, torch.int32),
    ):  # fmt: skip
        anything.add(name, size, dtype)

    images = (*layout.arguments, *layout.table, "boxes")
    lists = ("marks", marks_size, "tiles", tiles_most, "places", places_most, "counters")
    shape: dict[str, Any] = {
        "CHANNELS": layout.channels, "REGIONS": regions, "SURFEL": int(surfel), "FLAT": int(layout.flat),
        "TZ": tile[0], "TY": tile[1], "TX": tile[2],
    }  # fmt: skip
    wide = triton.next_power_of_2(regions)
    weights = known.ones if linear else known.sizes
    asked = _on_device((float(question.percentile),), device)
    tolerances = _on_device(tuple(map(float, reaches)), device)
    reduction: dict[str, Any] = {
        "REGIONS": regions, "QUERIES": queries, "LINEAR": int(linear), "COPIES": copies,
        "BINS": triton.next_power_of_2(bins), "KINDS": triton.next_power_of_2(kinds), "num_warps": 8,
    }  # fmt: skip
    launches = [
        layout.bounds(),
        KernelLaunch(
            outlines.surfaces, (layout.programs(_SURFACES[0]), 2, items), (*images, *lists, "present"),
            **shape, num_warps=_SURFACES[1],
        ),
        KernelLaunch(
            probing.near, (layout.programs(_NEAR), 2, items),
            (*images, *lists, "present", known.kinds, kinds, known.steps, known.step_count, "histogram", bins,
             "groups", "group regions", "group counters"),
            **shape, WIDE=wide, GROUP=_GROUP, AT_ONCE=_AT_ONCE, COPIES=copies, num_warps=1,
        ),
        KernelLaunch(
            probing.far, (layout.programs(_FAR), 2, items),
            (*images, *lists, known.kinds, kinds, "groups", "group regions", "group counters", known.spacing,
             known.square_reach, "records", "owners", records_most, "record counters", "farthest"),
            **shape, WIDE=wide, GROUP=_GROUP, OTHERS=_OTHERS, TILES=_TILES, num_warps=1, enable_fp_fusion=False,
        ),
        *(
            KernelLaunch(
                selection.select, (layout.programs(2), 2, items),
                ("records", "owners", records_most, "record counters", "farthest", known.reach, "histogram", weights,
                 bins, kinds, asked, tolerances, len(reaches), "sums", "within", "parts", "values", "chosen",
                 "prefixes", "befores", "tickets", level),
                **reduction, DIGITS=digits, BLOCK=512,
            )
            for level in range(3)
        ),
        KernelLaunch(
            selection.finish, (regions, items),
            ("record counters", records_most, "farthest", "histogram", known.distances, weights, known.sizes, bins,
             kinds, asked, tolerances, len(reaches), "sums", "within", "chosen", "wrong", "results"),
            **reduction,
        ),
    ]  # fmt: skip
    rooms = zeros, anything, kept
    return LaunchPlan(rooms, launches), rooms, known


def measure(stack: Stack, question: BoundaryQuestion) -> MeasuredStack:
    """Measure all boundaries of a stack, without waiting for the device."""
    plan, rooms, known = _measuring(StackLayout.of(stack), question)
    memory = plan.run(stack.reference, stack.prediction)
    return MeasuredStack((stack.items, stack.regions), known, rooms, memory, plan)


class Shortcut:
    """What `measure` and `count` do for tensors that lie in memory as those of a stack, without a look at them."""

    def __init__(self, stack: Stack, question: BoundaryQuestion, *, with_counts: bool) -> None:
        layout = StackLayout.of(stack)
        self._plan, self._rooms, self._known = _measuring(layout, question)
        self._counting = _counting(layout) if with_counts else None
        self._shape = stack.items, stack.regions

    def __call__(self, reference: torch.Tensor, prediction: torch.Tensor) -> tuple[MeasuredStack, torch.Tensor | None]:
        """Return what was measured, and counts of voxels where they are wanted."""
        memory = self._plan.run(reference, prediction)
        measured = MeasuredStack(self._shape, self._known, self._rooms, memory, self._plan)
        if self._counting is None:
            return measured, None
        plan, room = self._counting
        zeros, _, _ = plan.run(reference, prediction)
        return measured, room.part(zeros, "counts").view(*self._shape, 3)
