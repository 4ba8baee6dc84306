"""Label maps of real CT cases in one small file, for a machine that has a GPU and little else.

`python ct_material.py FILE` writes it, from shared/kits21; where PODIUM_CT_MATERIAL names such a file, it is read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from shared_data import SHARED

AGGREGATIONS = ("MAJ", "AND", "OR")
DEEPEST = 261


def ct_cases() -> dict[str, tuple[np.ndarray, tuple[float, ...]]]:
    """Return three label maps of each case, (3, z, y, x), and its spacing; nothing where there are no data."""
    packed = os.environ.get("PODIUM_CT_MATERIAL")
    if packed:
        with np.load(packed) as file:
            return {name: (file[name], tuple(file[f"{name} spacing"].tolist())) for name in file if " " not in name}
    if not (SHARED / "kits21").is_dir():
        return {}
    from podium.io import read_label_map

    cases = {}
    for folder in sorted((SHARED / "kits21").iterdir()):
        maps = [read_label_map(folder / f"aggregated_{kind}_seg.nii.gz") for kind in AGGREGATIONS]
        cases[folder.name] = np.stack([label_map.array[:DEEPEST] for label_map in maps]), maps[0].spacing
    return cases


def variants(maps: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return what predictions make of a case: near, shifted by 12 and by 40 voxels, one kidney missed, all missed."""
    majority, common, anybody = maps
    one = majority.copy()
    one[:, :, int(np.nonzero(majority.any(axis=(0, 1)))[0].mean()) :] = 0
    return {
        "near": (majority, common),
        "nearer": (anybody, majority),
        "shifted by 12": (majority, np.roll(common, 12, axis=1)),
        "shifted by 40": (majority, np.roll(common, 40, axis=1)),
        "one kidney missed": (majority, one),
        "all missed": (majority, np.zeros_like(majority)),
    }


if __name__ == "__main__":
    arrays = {}
    for name, (maps, spacing) in ct_cases().items():
        arrays |= {name: maps, f"{name} spacing": np.array(spacing)}
    np.savez_compressed(Path(sys.argv[1]), **arrays)
