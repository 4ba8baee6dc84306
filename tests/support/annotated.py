"""Truth folders with several annotators, in the layouts of KiTS21 and TrackRAD 2025."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from podium.io import write_label_map
from podium.model import LabelMap

SHAPE = (18, 16, 12)
SPACING = (1.0, 1.0, 2.0)


def block(*corners: tuple[int, int], shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Return a mask that is inside between the given bounds of each axis."""
    mask = np.zeros(shape, np.uint8)
    mask[tuple(slice(*corner) for corner in corners)] = 1
    return mask


def write_case(folder: Path, annotations: Mapping[tuple[str, int, int], np.ndarray], *, spacing=SPACING) -> Path:
    """Write the annotations of a KiTS21 case."""
    (folder / "segmentations").mkdir(parents=True, exist_ok=True)
    for (kind, instance, number), mask in annotations.items():
        path = folder / "segmentations" / f"{kind}_instance-{instance}_annotation-{number}.nii.gz"
        write_label_map(path, LabelMap.from_array(np.asarray(mask, np.uint8), spacing=spacing))
    return folder


def two_and_three(shift: int = 0) -> dict[tuple[str, int, int], np.ndarray]:
    """Return a kidney with three annotations, one with two, and a tumour with three, each a voxel apart."""
    found = {("kidney", 1, k): block((2, 8), (2, 8 + k), (2 + shift, 8 + shift)) for k in (1, 2, 3)}
    found |= {("kidney", 2, k): block((10, 16), (2, 7 + k), (2, 8)) for k in (1, 2)}
    found |= {("tumor", 1, k): block((3, 6), (4, 7), (3, 5 + k)) for k in (1, 2, 3)}
    return found
