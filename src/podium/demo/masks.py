"""Two segmentations of a kidney with a tumour and a cyst, one of them not quite right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.io import write_label_map
from podium.model import LabelMap

__all__ = ["write_masks"]

_SHAPE = (160, 128, 48)
_SPACING = (0.8, 0.8, 3.0)


def _ellipsoid(centre_mm: tuple[float, ...], radii_mm: tuple[float, ...]) -> npt.NDArray[np.bool_]:
    grid = np.meshgrid(*(np.arange(n) * s for n, s in zip(_SHAPE, _SPACING, strict=True)), indexing="ij", sparse=True)
    return np.asarray(sum(((g - c) / r) ** 2 for g, c, r in zip(grid, centre_mm, radii_mm, strict=True)) <= 1)


def write_masks(folder: Path) -> tuple[Path, Path]:
    """Write a reference and a prediction to a folder; labels 1 kidney, 2 tumour, 3 cyst. Return their paths."""
    reference = np.zeros(_SHAPE, np.uint8)
    hollow = _ellipsoid((86, 52, 72), (14, 16, 20))
    reference[_ellipsoid((62, 52, 72), (29, 22, 52)) & ~hollow] = 1
    reference[_ellipsoid((46, 66, 84), (13, 12, 15))] = 2
    reference[_ellipsoid((50, 36, 80), (7, 7, 9))] = 3

    prediction = np.zeros(_SHAPE, np.uint8)
    prediction[_ellipsoid((62.5, 52, 72), (30.5, 22.5, 53)) & ~_ellipsoid((87, 52, 72), (13, 15, 20))] = 1
    prediction[_ellipsoid((47, 65, 83), (11, 12.5, 16))] = 2

    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "reference.nii.gz", folder / "prediction.nii.gz"
    for path, labels in zip(paths, (reference, prediction), strict=True):
        write_label_map(path, LabelMap.from_array(labels, spacing=_SPACING))
    return paths
