"""TUS-REC: measuring a scan stored as HDF5, against reading its displacements once."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
from harness import Row, best_of

from podium.challenges import get_challenge

FRAMES, HEIGHT, WIDTH, LANDMARKS = 150, 480, 640, 20
NAME = "sub050__RH_rotation"


def rows(folder: Path) -> list[Row]:
    """Measure one scan of 150 frames whose file, contiguous float32, is in the page cache."""
    truth, prediction = folder / "tusrec", folder / f"{NAME}.h5"
    _write_truth(truth)
    _write_prediction(prediction)
    challenge = get_challenge("tusrec")
    case = challenge.cases(truth)[0]
    scan = challenge.load(case)

    def read() -> None:
        """Read every dataset once, a frame at a time into the same memory: nothing reads a file faster."""
        frame = np.empty((1, 3, HEIGHT * WIDTH), np.float32)
        with h5py.File(prediction) as file:
            for name in ("GP", "LP"):
                for index in range(FRAMES - 1):
                    file[name].read_direct(frame, np.s_[index : index + 1])
            for name in ("GL", "LL"):
                file[name][()]

    times = best_of(
        {"podium": lambda: challenge.measure(case, scan, prediction), "reading the file": read},
        rounds=9,
        seconds=6.0,
    )
    prediction.unlink()
    name = f"TUS-REC scan, {FRAMES} frames of {HEIGHT} × {WIDTH} in HDF5"
    return [Row(name, times.pop("podium"), times, targets={"reading the file": ("≤", 2.0)})]


def _write_truth(folder: Path) -> None:
    poses = np.tile(np.eye(4), (FRAMES, 1, 1))
    poses[:, 2, 3] = np.arange(FRAMES) * 0.2
    points = np.random.default_rng(0).integers([1, 1, 1], [FRAMES, WIDTH + 1, HEIGHT + 1], (LANDMARKS, 3))
    arrays = {"transfs/050": ("tforms", poses), "landmarks": ("RH_rotation", points)}
    for place, (name, array) in arrays.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        file_name = "landmark_050.h5" if place == "landmarks" else "RH_rotation.h5"
        with h5py.File(folder / place / file_name, "w") as file:
            file[name] = array
    (folder / "frames" / "050").mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / "frames" / "050" / "RH_rotation.h5", "w") as file:
        file.create_dataset("frames", (FRAMES, HEIGHT, WIDTH), np.uint8, chunks=(1, HEIGHT, WIDTH))
    lines = []
    for matrix in (np.diag([0.229, 0.221, 1, 1]), np.eye(4)):
        lines += ["matrix", *(",".join(map(str, row)) for row in matrix)]
    (folder / "calib_matrix.csv").write_text("\n".join(lines) + "\n")


def _write_prediction(path: Path) -> None:
    frame = np.random.default_rng(1).normal(size=(3, HEIGHT * WIDTH)).astype(np.float32)
    with h5py.File(path, "w") as file:
        for name in ("GP", "LP"):
            stored = file.create_dataset(name, (FRAMES - 1, 3, HEIGHT * WIDTH), np.float32)
            for index in range(FRAMES - 1):
                stored[index] = frame
        for name in ("GL", "LL"):
            file[name] = np.zeros((3, LANDMARKS), np.float32)
