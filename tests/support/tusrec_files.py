"""Small TUS-REC sweeps in their layout on disk, and predictions built the long way, pixel by pixel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

NAME = "sub050__RH_rotation"
SCALING = np.diag([0.5, 0.25, 1.0, 1.0])


def shifts(*steps):
    """Return poses of a tool that is shifted along z by these steps in mm, from the origin."""
    poses = np.tile(np.eye(4), (len(steps) + 1, 1, 1))
    poses[1:, 2, 3] = np.cumsum(steps)
    return poses


def random_motion(count, seed=0, *, angle=0.05, shift=2.0):
    """Return small rigid transforms, and their products from the first on: local and global."""
    generator = np.random.default_rng(seed)
    local = np.tile(np.eye(4), (count, 1, 1))
    for each in local:
        skew = np.zeros((3, 3))
        skew[[2, 0, 1], [1, 2, 0]] = generator.normal(0, angle, 3)
        skew -= skew.T
        each[:3, :3] = np.linalg.solve(np.eye(3) - skew, np.eye(3) + skew)  # Cayley: a rotation
        each[:3, 3] = generator.normal(0, shift, 3)
    products = [local[0]]
    for each in local[1:]:
        products.append(products[-1] @ each)
    return local, np.stack(products)


def write_h5(path: Path, arrays: Mapping[str, Any], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, **(options if np.ndim(array) == 3 else {}))
    return path


def write_truth(
    folder: Path,
    scans: Mapping[str, tuple[Any, Any]],
    *,
    shape=(4, 6),
    scaling=SCALING,
    rigid=None,
    landmarks="landmarks",
    keys=True,
) -> Path:
    """Write the truth: poses and landmarks of each scan, by its name such as sub050__RH_rotation."""
    subjects: dict[str, dict[str, Any]] = {}
    for name, (poses, points) in scans.items():
        subject, scan = name.removeprefix("sub").split("__")
        subjects.setdefault(subject, {})[scan] = points
        write_h5(folder / "transfs" / subject / f"{scan}.h5", {"tforms": poses})
        (folder / "frames" / subject).mkdir(parents=True, exist_ok=True)
        with h5py.File(folder / "frames" / subject / f"{scan}.h5", "w") as file:  # never written, so of no size
            file.create_dataset("frames", (len(poses), *shape), np.uint8, chunks=(1, *shape))
    for subject, points in subjects.items():
        write_h5(folder / landmarks / f"landmark_{subject}.h5", points)
    if keys:
        write_h5(folder / "dataset_keys.h5", dict.fromkeys(scans, 0))
    lines = []
    for matrix in (scaling, np.eye(4) if rigid is None else rigid):
        lines += ["title", *(",".join(repr(float(number)) for number in row) for row in matrix)]
    (folder / "calib_matrix.csv").write_text("\n".join(lines) + "\n")
    return folder


def displacement_sets(to_first, to_previous, points, *, shape=(4, 6), scaling=SCALING, dtype=np.float32):
    """Return GP, GL, LP and LL of predicted transforms, each displacement written out."""
    height, width = shape
    y, x = np.mgrid[1 : height + 1, 1 : width + 1].reshape(2, -1)
    pixels = scaling @ np.stack([x, y, 0 * x, np.ones(x.size)])
    points = np.asarray(points)
    places = scaling @ np.stack([points[:, 1], points[:, 2], 0 * points[:, 1], np.ones(len(points))])
    sets = {}
    for level, transforms in (("G", to_first), ("L", to_previous)):
        motion = np.concatenate([np.zeros((1, 4, 4)), np.asarray(transforms, np.float64) - np.eye(4)])
        sets[f"{level}P"] = (motion[1:] @ pixels)[:, :3].astype(dtype)
        sets[f"{level}L"] = np.einsum("nij,jn->in", motion[points[:, 0]], places)[:3].astype(dtype)
    return sets


def write_prediction(folder: Path, name: str, arrays: Mapping[str, Any], *, form=".h5", **options: Any) -> Path:
    """Write a prediction as .h5, .npz or a folder of .npy (form "")."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{form}"
    if form == ".h5":
        return write_h5(path, arrays, **options)
    if form == ".npz":
        np.savez_compressed(path, **arrays)
        return path
    path.mkdir(exist_ok=True)
    for key, array in arrays.items():
        np.save(path / f"{key}.npy", array)
    return path


def measured(challenge: Any, truth: Path, prediction: Path, name: str = NAME) -> dict[str, float | None]:
    """Return what a challenge measures of a prediction, by metric."""
    case = next(case for case in challenge.cases(truth) if case.name == name)
    return {value.metric: value.value for value in challenge.measure(case, challenge.load(case), prediction)}
