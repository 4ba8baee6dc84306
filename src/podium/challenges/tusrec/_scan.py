"""The truth of a scan: where it lies on disk, and what follows from its poses, once for all submissions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from podium.io import read_text
from podium.io.arrays import dataset, open_hdf5
from podium.metrics import landmark_displacements, landmark_error, relative_transforms, transform_error
from podium.model import Case, Floats, InputError

__all__ = ["TARGETS", "TRAINING", "Scan", "find_scans", "parts_of", "read_calibration", "read_scan"]

TARGETS: Mapping[str, Literal["first", "previous"]] = {"G": "first", "L": "previous"}
"""The two levels of displacements, and the frame each of them refers to."""

TRAINING = "frames_transfs"
"""The folder of training data, with images and transforms of a scan in one file."""

_KEY = re.compile(r"sub(?P<subject>[\w-]+?)__(?P<scan>[\w.-]+)", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A scan as the tracker saw it. Levels are G (global, to the first frame) and L (local, to the previous one).

    Attributes
    ----------
    shape
        Height and width of a frame in pixels.
    scaling
        From pixels to image millimetres, shape (4, 4).
    landmarks
        Frame, x and y of each, shape (landmarks, 3).
    transforms
        Of every frame but the first, for each level, shape (frames − 1, 4, 4).
    displacements
        Of the landmarks in mm, for each level, shape (3, landmarks).
    identity
        The four errors, in mm, of a prediction that nothing moves: gpe, gle, lpe, lle.
    """

    shape: tuple[int, int]
    scaling: Floats
    landmarks: Floats
    transforms: Mapping[str, Floats]
    displacements: Mapping[str, Floats]
    identity: Mapping[str, float]


def parts_of(name: str) -> tuple[str, str]:
    """Return subject and scan of a name such as sub050__RH_rotation; a name of another form is its own subject."""
    match = _KEY.fullmatch(name)
    return (match["subject"], match["scan"]) if match else (name, "")


def find_scans(truth: Path) -> list[Case]:
    """Find the scans of a truth: those that dataset_keys.h5 names, or without it all those that have transforms."""
    keys = truth / "dataset_keys.h5"
    if keys.exists():
        with open_hdf5(keys) as file:
            names = sorted(map(str, file))
    else:
        paths = (path for name in ("transfs", TRAINING) for path in truth.glob(f"{name}/*/*.h5"))
        names = sorted({f"sub{path.parent.name}__{path.stem}" for path in paths})
    return [_case(truth, name) for name in names]


def _case(truth: Path, name: str) -> Case:
    """Return the files of a scan; a prediction is called sub050__RH_rotation.h5, .npz, or is a folder of .npy."""
    if not _KEY.fullmatch(name):
        raise InputError(
            f"the scan {name!r} has no name of the form sub050__RH_rotation", path=truth / "dataset_keys.h5"
        )
    subject, scan = parts_of(name)
    folder = truth / ("landmarks" if (truth / "landmarks").is_dir() else "landmark")
    places = [truth / name / subject / f"{scan}.h5" for name in ("transfs", TRAINING)]
    if all(path.is_file() for path in places):
        raise InputError(f"the scan {name} is there twice: in transfs and in {TRAINING}", path=truth)
    files = (
        places[1] if places[1].is_file() else places[0],
        folder / f"landmark_{subject}.h5",
        truth / "calib_matrix.csv",
    )
    for path in (*files, _frames_of(files[0])):
        if not path.is_file():
            raise InputError(f"{path.relative_to(truth)} is missing, which the scan {name} needs", path=truth)
    return Case(name, files, (f"{name}.h5", f"{name}.npz", name))


def _frames_of(transforms: Path) -> Path:
    """Return where the images of a scan lie: in a file of their own, but for training data."""
    if transforms.parents[1].name == TRAINING:
        return transforms
    return transforms.parents[2] / "frames" / transforms.parent.name / transforms.name


def read_scan(case: Case, *, first_is_last: bool) -> Scan:
    """Read the truth of a scan and derive from it all that submissions are measured against.

    Parameters
    ----------
    case
        From `find_scans`.
    first_is_last
        Whether a landmark on the first frame takes the displacement of the last frame, as the organisers' code has it,
        rather than none.
    """
    scaling, rigid = read_calibration(case.files[2])
    poses = _read_poses(case.files[0])
    frames = _frames_of(case.files[0])
    with open_hdf5(frames) as file:
        size = dataset(file, "frames", path=frames).shape
    if len(size) != 3 or size[0] != len(poses) or 0 in size:
        raise InputError(f"frames have the shape {size}, {len(poses)} transforms ask for as many images", path=frames)
    shape = (int(size[1]), int(size[2]))
    landmarks = _read_landmarks(case, len(poses))
    if first_is_last:
        landmarks[landmarks[:, 0] == 0, 0] = len(poses) - 1
    transforms = {level: relative_transforms(poses, rigid, to=to) for level, to in TARGETS.items()}
    displacements = {
        level: landmark_displacements(motion, landmarks, scaling=scaling) for level, motion in transforms.items()
    }
    identity = {}
    for level, name in (("G", "g"), ("L", "l")):
        identity[f"{name}pe"] = transform_error(transforms[level], scaling=scaling, shape=shape)
        identity[f"{name}le"] = float(landmark_error(displacements[level].T, np.zeros((len(landmarks), 3))))
    return Scan(shape, scaling, landmarks, transforms, displacements, identity)


def _read_poses(path: Path) -> Floats:
    with open_hdf5(path) as file:
        stored = dataset(file, "tforms", path=path)
        if stored.ndim != 3 or stored.shape[1:] != (4, 4) or len(stored) < 2:
            raise InputError(f"tforms have the shape {stored.shape}, (2 or more, 4, 4) is expected", path=path)
        poses = np.asarray(stored[()], np.float64)
    if not np.isfinite(poses).all() or not np.all(np.abs(np.linalg.det(poses)) > 1e-6):
        raise InputError("a transform in tforms is not finite or cannot be inverted", path=path)
    return poses


def _read_landmarks(case: Case, frames: int) -> Floats:
    path, scan = case.files[1], parts_of(case.name)[1]
    with open_hdf5(path) as file:
        stored = dataset(file, scan, path=path)
        if stored.ndim != 2 or stored.shape[1] != 3 or len(stored) == 0:
            raise InputError(f"'{scan}' has the shape {stored.shape}, (landmarks, 3) is expected", path=path)
        landmarks = np.asarray(stored[()], np.float64)
    frame = landmarks[:, 0]
    if not np.isfinite(landmarks).all() or np.any((frame < 0) | (frame >= frames) | (frame % 1 != 0)):
        raise InputError(f"a landmark of '{scan}' does not lie on one of the frames 0 to {frames - 1}", path=path)
    return landmarks


def read_calibration(path: Path) -> tuple[Floats, Floats]:
    """Read two 4 × 4 matrices, each after a title: pixels to millimetres, and millimetres to the tracked tool."""
    advice = "It has a title and 4 rows of 4 numbers, and that twice"
    try:
        lines = [line for line in read_text(path).splitlines() if line.strip(" ,\t")]
        if len(lines) != 10:
            raise InputError(f"there are {len(lines)} lines, 10 are expected", path=path, advice=advice)
        matrices = [np.array([_numbers(line) for line in lines[k : k + 4]], np.float64) for k in (1, 6)]
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"this is not a calibration ({error})", path=path, advice=advice) from None
    for matrix in matrices:
        if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) < 1e-9:
            raise InputError("a matrix is not 4 × 4, not finite, or cannot be inverted", path=path, advice=advice)
    return matrices[0], matrices[1]


def _numbers(line: str) -> list[float]:
    return [float(part) for part in line.strip().rstrip(",").split(",")]
