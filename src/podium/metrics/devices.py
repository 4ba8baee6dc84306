"""Where arrays lie, and what measures them there. PyTorch is imported only where something lies on a GPU, or shall."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from podium.model import InputError, placement_now

__all__ = ["DEVICES", "gpu_engine", "gpu_for_arrays", "lacking_gpu", "on_gpu", "usable_device"]

DEVICES = ("cpu", "cuda")
"""On what files and arrays of the main memory are measured."""

_MEMORY_OF_THE_PROCESSOR = (1, 3)  # as DLPack numbers it: the second is where a GPU reaches it too
_GPUS = (2, 10)  # CUDA, ROCm

PRETEND = False
"""Whether PyTorch's tensors count as if they were on a GPU: for tests, whose kernels Triton interprets on the CPU."""


def on_gpu(*arrays: Any) -> bool:
    """Return whether any of some arrays, of whatever library, lies on a GPU."""
    kinds = [array.__dlpack_device__()[0] for array in arrays if hasattr(array, "__dlpack_device__")]
    elsewhere = {int(kind) for kind in kinds} - {*_MEMORY_OF_THE_PROCESSOR}
    if elsewhere - {*_GPUS}:
        raise InputError("masks are on a device on which nothing can be measured", advice="Move them to the CPU")
    return bool(elsewhere) or (PRETEND and any(type(array).__module__ == "torch" for array in arrays))


def gpu_engine() -> ModuleType:
    """Return the module that measures on a GPU."""
    try:
        return import_module("podium.metrics._gpu.readings")
    except ModuleNotFoundError as error:
        raise InputError(
            f"masks on a GPU are measured with PyTorch and Triton, and there is no {error.name}",
            advice="Install podium[gpu], or move the masks to the CPU",
        ) from error


def gpu_for_arrays() -> ModuleType | None:
    """Return the module that moves arrays of the main memory to a GPU and measures them there, where that is wanted."""
    if placement_now().device == "cpu" or lacking_gpu():
        return None
    return import_module("podium.metrics._gpu.moving")


def usable_device(device: str, say: Callable[[str], None] = lambda _: None, *, elsewhere: bool = False) -> str:
    """Return the device to measure on: the one that is wanted, or the CPU where there is none, which is said.

    Of other machines (`elsewhere`) nothing is known: each uses the GPU that it has.
    """
    if device not in DEVICES:
        raise InputError(f"there is no device called {device!r}", advice=f"Say {' or '.join(DEVICES)}")
    if device == "cpu" or elsewhere or not (reason := lacking_gpu()):
        return device
    say(f"No GPU can be used here ({reason}): measuring on the CPU.")
    return "cpu"


def lacking_gpu() -> str:
    """Return why no GPU can measure here; nothing where one can."""
    return "" if PRETEND else _lacking_gpu()


@lru_cache(maxsize=1)
def _lacking_gpu() -> str:
    try:
        moving = import_module("podium.metrics._gpu.moving")
    except ImportError as error:
        return f"{error.name} is not installed" if isinstance(error, ModuleNotFoundError) else f"{error}"
    return str(moving.fault())
