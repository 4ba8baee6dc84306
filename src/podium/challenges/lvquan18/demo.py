"""Beating left ventricles, measured by teams of different skill, each of whom likes another file format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["write"]

_SUBJECTS, _FRAMES, _SIDE = 12, 20, 80
_ROWS = {"areas": slice(0, 2), "dims": slice(2, 5), "rwt": slice(5, 11), "lv_phase": slice(11, 12)}
_COLUMNS = ("A1", "A2", "D1", "D2", "D3", *(f"RWT{number}" for number in range(1, 7)), "Phase")
Numbers = npt.NDArray[np.float64]


def write(folder: Path, *, seed: int = 0) -> None:
    """Write twelve subjects of twenty frames, and the predictions of five teams and a baseline.

    Images and true numbers lie in one file, as in the organisers' training data.
    """
    generator, scanner = np.random.default_rng((18, seed)), np.random.default_rng((18, seed, 1))
    truth = np.concatenate([_heart(generator) for _ in range(_SUBJECTS)], axis=1)
    scale = {
        "pix_spa": generator.uniform(1.1, 1.5, (1, _SUBJECTS)),
        "ratio_resize_inverse": np.repeat(generator.uniform(1.2, 1.6, _SUBJECTS), _FRAMES)[None],
    }
    images = {"images_LV": np.stack([_scanned(column, scanner) for column in truth.T], axis=2)}
    _write_mat(folder / "truth" / "LVQUAN_truth.mat", truth, ending="", more=scale | images)

    careful = _predicted(truth, generator, noise=0.05, wrong=0.06)
    teams = folder / "submissions"
    _write_mat(teams / "careful" / "LVQUAN_careful.mat", careful)
    # As good as the first: in most lists, no test tells them apart.
    steady = _predicted(truth, generator, noise=0.05, wrong=0.06)
    _write_csv(teams / "steady" / "LVQUAN_steady.csv", steady)
    biased = _predicted(truth * 1.06, generator, noise=0.03, wrong=0.1)
    _write_txt(teams / "biased" / "LVQUAN_biased.txt", biased)
    noisy = _predicted(truth, generator, noise=0.14, wrong=0.2)
    _write_mat(teams / "noisy" / "LVQUAN_noisy.mat", noisy)
    _write_txt(teams / "unlucky" / "LVQUAN_unlucky.txt", careful)
    _spoil(teams / "unlucky" / "LVQUAN_unlucky.txt")
    average = np.repeat(truth.mean(axis=1, keepdims=True), truth.shape[1], axis=1)
    average[-1] = np.round(average[-1])
    _write_mat(teams / "baseline" / "LVQUAN_baseline.mat", average)


def _heart(generator: np.random.Generator) -> Numbers:
    """Return the twelve numbers of every frame of one heart, shape (12, frames); the side of the image is 1."""
    systole = generator.integers(7, 10)
    frames = np.arange(_FRAMES)
    # Contraction from 0 to 1 during systole, and slower back.
    course = np.where(frames < systole, frames / systole, (_FRAMES - frames) / (_FRAMES - systole))
    squeeze = (1 - np.cos(np.pi * course)) / 2
    diameter = generator.uniform(0.34, 0.42) * (1 - generator.uniform(0.2, 0.32) * squeeze)
    wall = generator.uniform(0.06, 0.09) * (1 + generator.uniform(0.3, 0.6) * squeeze)
    dims = diameter * generator.normal(1, 0.02, (3, 1))
    walls = wall * generator.normal(1, 0.08, (6, 1))
    cavity = np.pi / 4 * np.square(dims.mean(axis=0))
    muscle = np.pi / 4 * np.square(dims.mean(axis=0) + 2 * walls.mean(axis=0)) - cavity
    return np.vstack([cavity, muscle, dims, walls, frames < systole])


def _scanned(numbers: Numbers, generator: np.random.Generator) -> Numbers:
    """Return a short-axis image from 0 to 1, in 32 steps: bright blood inside dark muscle, as large as the numbers."""
    across = np.arange(_SIDE) - (_SIDE - 1) / 2
    distance = np.hypot(across[:, None], across) / _SIDE
    radius = np.sqrt(numbers[0] / np.pi)
    image = np.select([distance < radius, distance < radius + numbers[5:11].mean()], [0.8, 0.2], 0.45)
    return np.asarray(np.clip(np.round(32 * (image + generator.normal(0, 0.04, image.shape))) / 32, 0, 1))


def _predicted(truth: Numbers, generator: np.random.Generator, *, noise: float, wrong: float) -> Numbers:
    """Return numbers that are off by a share of themselves, and phases of which a share is wrong."""
    guess = truth * generator.normal(1, noise, truth.shape)
    phase = np.round(truth[-1])
    guess[-1] = np.where(generator.random(phase.shape) < wrong, 1 - phase, phase)
    return guess


def _write_mat(path: Path, numbers: Numbers, *, ending: str = "_hat", more: dict[str, Numbers] | None = None) -> None:
    from scipy.io import savemat

    path.parent.mkdir(parents=True, exist_ok=True)
    matrices = {name + ending: numbers[rows] for name, rows in _ROWS.items()}
    savemat(path, matrices | (more or {}), do_compression=True)
    # SciPy writes the time into the first 116 bytes; the demo should be the same whenever it is made.
    path.write_bytes(b"MATLAB 5.0 MAT-file, made by podium demo".ljust(116) + path.read_bytes()[116:])


def _write_txt(path: Path, numbers: Numbers) -> None:
    lines = [f"{image}: {', '.join(_written(column))}\n" for image, column in zip(_images(), numbers.T, strict=True)]
    _write(path, "".join(lines).encode())


def _write_csv(path: Path, numbers: Numbers) -> None:
    lines = [
        ",".join(("image", *_COLUMNS)),
        *(",".join((i, *_written(c))) for i, c in zip(_images(), numbers.T, strict=True)),
    ]
    _write(path, ("\n".join(lines) + "\n").encode())


def _written(column: Numbers) -> list[str]:
    return [*(f"{number:.6f}" for number in column[:-1]), f"{column[-1]:.0f}"]


def _images() -> list[str]:
    return [f"sub-{s:02d}-{f:02d}" for s in range(1, _SUBJECTS + 1) for f in range(1, _FRAMES + 1)]


def _spoil(path: Path) -> None:
    """Break a submission in the ways that submissions break: lines left out, and numbers that are none."""
    lines = path.read_text().splitlines(keepends=True)
    lines[44] = lines[44].rpartition(",")[0] + ", nan\n"
    lines[90] = f"{lines[90].partition(':')[0]}: {', '.join(['NaN'] * len(_COLUMNS))}\n"
    first, _, rest = lines[130].partition(",")
    lines[130] = f"{first.partition(':')[0]}: ,{rest}"
    _write(path, "".join(lines[:203] + lines[205:]).encode())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
