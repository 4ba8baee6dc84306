"""What is measured on: real CT label maps where they are beside the project, synthetic ones of that size elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nibabel
import numpy as np

SHARED = Path(__file__).resolve().parents[2] / "shared"


@dataclass(frozen=True)
class Case:
    """A reference and a prediction on disk."""

    name: str
    reference: Path
    prediction: Path


def kits21_cases(folder: Path) -> list[Case]:
    """Return the cases to measure on; synthetic ones are written to the folder."""
    real = sorted((SHARED / "kits21").glob("case_*"))
    if real:
        return [
            Case(path.name, path / "aggregated_MAJ_seg.nii.gz", path / "aggregated_AND_seg.nii.gz") for path in real
        ]
    return [_synthetic(folder, slices, spacing) for slices, spacing in ((270, 1.0), (64, 4.0), (43, 5.0))]


def _synthetic(folder: Path, slices: int, spacing: float) -> Case:
    """Write two kidneys with a tumour and a cyst, and a prediction that is a little off, as 32-bit integers."""
    shape, steps = (slices, 512, 512), (spacing, 0.8, 0.8)
    grid = np.meshgrid(*(np.arange(n) * s for n, s in zip(shape, steps, strict=True)), indexing="ij", sparse=True)
    middle = slices * spacing / 2

    def ellipsoid(centre: tuple[float, ...], radii: tuple[float, ...]) -> np.ndarray:
        return sum(((g - c) / r) ** 2 for g, c, r in zip(grid, centre, radii, strict=True)) <= 1

    paths = []
    for name, grown in (("reference", 0.0), ("prediction", 0.8)):
        labels = np.zeros(shape, np.int32)
        for side in (130.0, 280.0):
            labels[ellipsoid((middle, 210, side), (55 - grown, 28 + grown, 30))] = 1
        labels[ellipsoid((middle + 20, 225, 120 + grown), (16, 15, 17))] = 2
        labels[ellipsoid((middle - 20, 195, 285), (10, 9 + grown, 9))] = 3
        image = nibabel.Nifti1Image(labels, np.diag([*steps, 1]))
        paths.append(folder / f"{slices}_{name}.nii.gz")
        nibabel.save(image, paths[-1])
    return Case(f"synthetic_{slices}", *paths)
