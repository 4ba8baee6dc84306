"""Label maps of the main memory measured on the GPU: what lies in the box around all labels is copied there."""

from __future__ import annotations

import warnings
from functools import lru_cache
from subprocess import CalledProcessError
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton

from podium.metrics import devices
from podium.metrics._gpu.pipeline import BoundaryQuestion, measure
from podium.metrics._gpu.readings import distributions, settled
from podium.metrics._gpu.tensors import Stack, is_too_large
from podium.metrics._pairs import Pair
from podium.metrics.surface import Boundary, SurfaceDistances, most_elements, too_rugged
from podium.model import placement_now

FAULTS = (RuntimeError, OSError, ImportError, triton.TritonError, CalledProcessError)
"""What PyTorch and Triton raise where a GPU, its memory or the compiler for it fails: nothing that masks can help."""


def measure_pair(
    pair: Pair, table: npt.NDArray[np.uint8], regions: int, boundary: Boundary
) -> list[SurfaceDistances] | None:
    """Measure the regions that a table has bits for; None where the GPU cannot, and the CPU must."""
    box = tuple(slice(int(low), int(high)) for low, high in zip(pair.lower, pair.upper, strict=True))
    if is_too_large(tuple(part.stop - part.start for part in box), flat=pair.flat):
        return None
    classes = [np.flatnonzero(table >> bit & 1).tolist() or [table.size] for bit in range(regions)]
    try:
        one, two = (_moved(array[box]) for array in (pair.reference, pair.prediction))
        stack = Stack(one, two, tuple(map(tuple, classes)), pair.flat, pair.spacing)
        question = BoundaryQuestion(surfel=boundary == "surfel")
        measured = settled(stack, question, measure(stack, question))
        elements = measured.element_counts[0].tolist()
        sides = [distributions(measured, side) for side in (0, 1)]
    except FAULTS as error:
        _say_once(_shortly(error))
        return None
    if elements[1] > (most := most_elements(elements[0])):
        raise too_rugged(most)
    placement_now().used.add(_name())
    return [SurfaceDistances(one_way, other_way, boundary) for one_way, other_way in zip(*sides, strict=True)]


def fault() -> str:
    """Measure a single voxel, and return what goes wrong, shortly; nothing where nothing does."""
    if not torch.cuda.is_available():
        return "PyTorch sees none"
    voxel = np.ones((1, 1, 1), np.uint8)
    try:
        stack = Stack(_moved(voxel), _moved(voxel), ((1,),), flat=False, spacing=(1.0, 1.0, 1.0))
        distributions(measure(stack, BoundaryQuestion(surfel=True)), 0)
    except Exception as error:  # whatever it is, this GPU cannot be used, and the CPU can
        return _shortly(error)
    return ""


@lru_cache(maxsize=8)
def _say_once(reason: str) -> None:
    """Warn that a GPU which worked before does not; the same reason is told once."""
    warnings.warn(f"The GPU failed ({reason}): such pairs are measured on the CPU.", RuntimeWarning, stacklevel=3)


def _shortly(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _moved(array: npt.NDArray[Any]) -> torch.Tensor:
    """Return a copy on the GPU, as a stack of one image with one channel."""
    whole = np.array(array, np.uint8 if array.dtype == np.uint8 else np.int32, order="C")
    return torch.from_numpy(whole).to("cpu" if devices.PRETEND else "cuda")[None, None]


def _name() -> str:
    return "Triton's interpreter" if devices.PRETEND else torch.cuda.get_device_name()
