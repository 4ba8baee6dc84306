"""Kernels with their arguments and their memory, ready to be launched again and again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from threading import Lock
from typing import Any

import torch
import triton

_IMAGES = "reference", "prediction"
_FIRST = Lock()  # Triton compiles for one thread at a time


class MemoryRoom:
    """Memory of several types in one tensor, by name: where everything lies, or tensors of it."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype, self._size = dtype, 0
        self._parts: dict[str, tuple[int, int, torch.dtype]] = {}

    def add(self, name: str, count: int, dtype: torch.dtype) -> None:
        """Keep room for so many numbers."""
        self._parts[name] = self._size, count, dtype
        self._size += -(-count * dtype.itemsize // 64) * 64

    def empty(self, device: torch.device) -> torch.Tensor:
        """Return memory that holds anything."""
        return torch.empty(self._size // self._dtype.itemsize, dtype=self._dtype, device=device)

    def zeros(self, device: torch.device) -> torch.Tensor:
        """Return memory that holds zeros."""
        return torch.zeros(self._size // self._dtype.itemsize, dtype=self._dtype, device=device)

    def part(self, memory: torch.Tensor, name: str) -> torch.Tensor:
        """Return a part of the memory as a tensor."""
        start, count, dtype = self._parts[name]
        width = memory.element_size()
        end = start + -(-count * dtype.itemsize // 64) * 64
        return memory[start // width : end // width].view(dtype)[:count]

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def offset(self, name: str) -> int:
        """Return where a part begins, in bytes."""
        return self._parts[name][0]

    def tensors(self, memory: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return all parts as tensors."""
        return {name: self.part(memory, name) for name in self._parts}


class KernelLaunch:
    """A kernel with its grid and arguments; where an argument is a name, it stands for memory of that name.

    Triton looks at every argument of every launch to find the fitting machine code. All launches of a plan need the
    same, so that the first finds it and the others go straight to it, with addresses in place of tensors.
    """

    def __init__(self, kernel: Any, grid: tuple[int, ...], arguments: Sequence[Any], **options: Any) -> None:
        self._kernel, self._grid, self._arguments = kernel, (*grid, 1, 1)[:3], list(arguments)
        names = kernel.arg_names
        self._constants = [options.pop(name) for name in names[len(self._arguments) :]]
        self._options = options
        self._in_words = [name for name in _IMAGES if f"{name} words" in self._arguments]
        self._compiled: Any = None
        self._named: list[tuple[int, int, int]] = []

    def first(self, memory: dict[str, torch.Tensor]) -> None:
        """Launch with tensors, and keep the machine code."""
        words = {f"{name} words": memory[name].view(torch.int64) for name in self._in_words}
        arguments = [(memory | words)[a] if type(a) is str else a for a in self._arguments]
        self._compiled = self._kernel[self._grid](*arguments, *self._constants, **self._options)

    def settle(self, rooms: Sequence[MemoryRoom]) -> None:
        """Take addresses for tensors, which stay where they are, and for names where they lie in which memory."""
        self._kept = [a for a in self._arguments if isinstance(a, torch.Tensor)]
        self._ready = [a.data_ptr() if isinstance(a, torch.Tensor) else a for a in self._arguments] + self._constants
        for place, name in enumerate(self._arguments):
            if type(name) is str:
                image = [number for number, known in enumerate(_IMAGES) if name.startswith(known)]
                offsets = [(2 + number, room.offset(name)) for number, room in enumerate(rooms) if name in room]
                self._named += [(place, *(offsets or [(image[0], 0)])[0])]
        self._runner = self._compiled[self._grid]

    def again(self, memory: Sequence[int], stream: int) -> None:
        """Launch with addresses: of both images, and of all memory."""
        arguments = self._ready
        for place, number, offset in self._named:
            arguments[place] = memory[number] + offset
        self._runner(*arguments, stream=stream)


class LaunchPlan:
    """All launches for stacks of one shape, type and layout, and the memory they need: of zeros, of anything, kept."""

    def __init__(self, rooms: tuple[MemoryRoom, MemoryRoom, MemoryRoom], launches: Sequence[KernelLaunch]) -> None:
        self._rooms, self._launches = rooms, launches
        self._ready, self._lock = False, Lock()

    def run(self, reference: torch.Tensor, prediction: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Launch everything, and return the memory of each kind.

        Of the images only type and address are looked at: how they lie in memory is what the plan was made for.
        """
        device = reference.device
        zeros, anything, kept = self._rooms
        memory = zeros.zeros(device), anything.empty(device), kept.empty(device)
        with _on(device), self._lock:
            if self._ready:
                self._again(reference, prediction, memory)
            else:
                with _FIRST:
                    self._first(reference, prediction, memory)
        return memory

    def _again(self, reference: torch.Tensor, prediction: torch.Tensor, memory: Sequence[torch.Tensor]) -> None:
        places = [tensor.data_ptr() for tensor in (reference, prediction, *memory)]
        stream = torch.cuda.current_stream(reference.device).cuda_stream
        for launch in self._launches:
            launch.again(places, stream)

    def _first(self, reference: torch.Tensor, prediction: torch.Tensor, memory: Sequence[torch.Tensor]) -> None:
        tensors = {"reference": reference, "prediction": prediction}
        for room, tensor in zip(self._rooms, memory, strict=True):
            tensors |= room.tensors(tensor)
        for launch in self._launches:
            launch.first(tensors)
        if not triton.knobs.runtime.interpret:
            for launch in self._launches:
                launch.settle(self._rooms)
            self._ready = True


def _on(device: torch.device) -> Any:
    elsewhere = device.type == "cuda" and device.index != torch.cuda.current_device()
    return torch.cuda.device(device) if elsewhere else nullcontext()
