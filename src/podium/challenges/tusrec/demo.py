"""Freehand ultrasound sweeps over a forearm, their motion guessed by teams of different skill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

__all__ = ["write"]

_SHAPE = (30, 40)
_SCALING = np.diag(
    [3.66, 3.54, 1.0, 1.0]
)  # coarse pixels, so that a frame is as large as a real one, and its file small
_LANDMARKS = 20
_SPECKLE_MM, _WAVES = 5.0, 300
_SCANS = {
    f"sub{subject}__{arm}H_rotation": (subject, f"{arm}H_rotation") for subject in ("050", "051", "052") for arm in "LR"
}
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _ScanTeam:
    """How a team errs.

    `gain` is what its steps are multiplied by, `noise` the part of a step that is random, `memory` how much of that
    stays from one step to the next, and so adds up; `seconds` per scan, None if not reported; `form` of its files.
    """

    gain: float
    noise: float
    memory: float
    seconds: float | None
    form: str


_TEAMS = {
    "steady": _ScanTeam(gain=1.0, noise=0.15, memory=0.3, seconds=26.7, form="displacements.h5"),
    "drifting": _ScanTeam(gain=0.75, noise=0.15, memory=0.8, seconds=10.4, form="transforms.npy"),
    "jittery": _ScanTeam(gain=1.0, noise=0.6, memory=0.0, seconds=43.0, form="displacements.npz"),
    "overshooting": _ScanTeam(gain=2.1, noise=0.2, memory=0.3, seconds=None, form="transforms.npz"),
    "unlucky": _ScanTeam(gain=1.0, noise=0.1, memory=0.3, seconds=5.0, form="transforms.h5"),
}


def write(folder: Path, *, seed: int = 0) -> None:
    """Write six scans of three subjects, and the predictions of five teams and a baseline."""
    generator, tissue = np.random.default_rng((2025, seed)), np.random.default_rng((2025, seed, 1))
    truth, submissions = folder / "truth", folder / "submissions"
    truth.mkdir(parents=True, exist_ok=True)
    calibration = _transform(np.array([0.4, -0.9, 1.2, -68.4, -77.9, -44.2]))
    _write_calibration(truth / "calib_matrix.csv", calibration)
    landmarks: dict[str, dict[str, npt.NDArray[Any]]] = {}
    times: dict[str, list[str]] = {name: ["case,seconds"] for name in (*_TEAMS, "baseline")}
    for number, (name, (subject, scan)) in enumerate(_SCANS.items()):
        frames = 10 + number
        steps = _steps(generator, frames - 1)
        places = _landmarks(generator, frames)
        landmarks.setdefault(subject, {})[scan] = places
        poses = _poses(steps, calibration)
        generator.integers(0, 256, (frames, *_SHAPE), np.uint8)  # unused; what follows is drawn as it always was
        images = _speckle(_chained(steps), tissue)
        _write_h5(truth / "frames" / subject / f"{scan}.h5", {"frames": images})
        _write_h5(truth / "transfs" / subject / f"{scan}.h5", {"tforms": poses.astype(np.float32)})
        for team_name, team in _TEAMS.items():
            guess = _guessed(steps, team, generator)
            _write_prediction(submissions / team_name / name, team.form, guess, places)
            if team.seconds is not None:
                times[team_name].append(f"{name},{team.seconds * generator.uniform(0.9, 1.1):.3f}")
        average = np.tile([0.009, 0, 0, 0, 0, 0.7], (len(steps), 1))
        _write_prediction(submissions / "baseline" / name, "transforms.h5", average, places)
        times["baseline"].append(f"{name},{19.7 + 0.2 * number:.3f}")
    for subject, scans in landmarks.items():
        _write_h5(truth / "landmarks" / f"landmark_{subject}.h5", scans)
    _write_h5(truth / "dataset_keys.h5", {name: np.array(k) for k, name in enumerate(_SCANS)})
    for team_name, lines in times.items():
        if len(lines) > 1:
            (submissions / team_name / "timing.csv").write_text("\n".join(lines) + "\n")
    _spoil(submissions / "unlucky")


def _steps(generator: np.random.Generator, count: int) -> Floats:
    """Return the motion from frame to frame: three angles in radians and three shifts in mm, mostly a steady turn."""
    speed = np.array([0.02, 0.002, 0.002, 0.1, 0.15, 1.2])
    wobble = generator.normal(0, 1, (count, 6)) * np.array([0.006, 0.004, 0.004, 0.2, 0.2, 0.25])
    speed[1:5] *= generator.choice([-1.0, 1.0], 4)
    return np.asarray(speed + wobble)


def _guessed(steps: Floats, team: _ScanTeam, generator: np.random.Generator) -> Floats:
    """Return what a team makes of the true steps."""
    error = generator.normal(0, 1, steps.shape) * np.array([0.02, 0.02, 0.02, 1.0, 1.0, 1.0]) * team.noise
    for index in range(1, len(error)):
        error[index] += team.memory * error[index - 1]
    return np.asarray(team.gain * steps + error)


def _transform(motion: Floats) -> Floats:
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(motion[:3]).as_matrix()
    matrix[:3, 3] = motion[3:]
    return matrix


def _poses(steps: Floats, calibration: Floats) -> Floats:
    """Return where the tracker sees the tool in each frame, if the image moves by these steps."""
    poses = [_transform(np.array([0.3, 0.2, -0.5, 120.0, -340.0, 900.0]))]
    for step in steps:
        poses.append(poses[-1] @ calibration @ _transform(step) @ np.linalg.inv(calibration))
    return np.stack(poses)


def _chained(steps: Floats) -> Floats:
    """Return how each frame lies relative to the first, which comes first."""
    to_first = [np.eye(4)]
    for step in steps:
        to_first.append(to_first[-1] @ _transform(step))
    return np.stack(to_first)


def _speckle(places: Floats, generator: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return what a probe sees in frames that lie so in space: a random field that forgets itself within millimetres.

    It is a sum of waves in random directions; so it can be had at any point, and the correlation of two points falls
    with their distance d as exp(-d² / 2w²).
    """
    directions = generator.normal(0, 1 / _SPECKLE_MM, (_WAVES, 3))
    phases = generator.uniform(0, 2 * np.pi, (_WAVES, 1))
    points = places @ _pixels()
    waves = [np.cos(directions @ frame[:3] + phases).sum(axis=0) * np.sqrt(2 / _WAVES) for frame in points]
    return np.asarray(np.clip(128 + 40 * np.stack(waves), 0, 255), np.uint8).reshape(-1, *_SHAPE)


def _pixels() -> Floats:
    """Return where the pixels of a frame are in mm, row by row, shape (4, pixels)."""
    height, width = _SHAPE
    y, x = np.mgrid[1 : height + 1, 1 : width + 1].reshape(2, -1)
    return np.asarray(_SCALING @ np.stack([x, y, 0 * x, 0 * x + 1]))


def _landmarks(generator: np.random.Generator, frames: int) -> npt.NDArray[np.int64]:
    """Return frame, x and y of each landmark, pixels counted from 1."""
    height, width = _SHAPE
    return generator.integers([1, 1, 1], [frames, width + 1, height + 1], (_LANDMARKS, 3))


def _write_calibration(path: Path, calibration: Floats) -> None:
    lines = []
    for title, matrix in (
        ("scaling_from_pixel_to_mm", _SCALING),
        ("spatial_calibration_from_image_coordinate_system_to_tracking_tool_coordinate_system", calibration),
    ):
        lines += [title, *(",".join(repr(float(number)) for number in row) for row in matrix)]
    path.write_text("\n".join(lines) + "\n")


def _write_h5(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)


def _write_prediction(path: Path, form: str, steps: Floats, landmarks: npt.NDArray[np.int64]) -> None:
    """Write a prediction as transforms or as displacements, in one of the formats that are accepted."""
    levels = {"global": _chained(steps)[1:], "local": np.stack([_transform(step) for step in steps])}
    content, _, suffix = form.partition(".")
    arrays = levels if content == "transforms" else _displacements(levels, landmarks)
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    if suffix == "h5":
        _write_h5(path.with_name(f"{path.name}.h5"), arrays)
    elif suffix == "npz":
        np.savez(path.with_name(f"{path.name}.npz"), **arrays)  # type: ignore[arg-type]
    else:
        path.mkdir(exist_ok=True)
        for name, array in arrays.items():
            np.save(path / f"{name}.npy", array)


def _displacements(levels: Mapping[str, Floats], landmarks: npt.NDArray[np.int64]) -> dict[str, Floats]:
    """Return GP, GL, LP and LL: how far each pixel and each landmark moves, in mm."""
    frame, column, row = landmarks.T
    points = _SCALING @ np.stack([column, row, 0 * row, 0 * row + 1])
    displacements = {}
    for level, transforms in levels.items():
        motion = transforms - np.eye(4)
        displacements[f"{level[0].upper()}P"] = (motion @ _pixels())[:, :3]
        displacements[f"{level[0].upper()}L"] = np.einsum("nij,jn->in", motion[frame - 1], points)[:3]
    return displacements


def _spoil(folder: Path) -> None:
    """Break a submission in the ways that submissions break."""
    missing, damaged, misshapen, undefined = (folder / f"{name}.h5" for name in list(_SCANS)[:4])
    missing.unlink()
    damaged.write_bytes(damaged.read_bytes()[:1000])
    with h5py.File(misshapen, "r+") as file:
        shorter = file["local"][:-1]
        del file["local"]
        file["local"] = shorter
    with h5py.File(undefined, "r+") as file:
        file["global"][2] = np.nan
