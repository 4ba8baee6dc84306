"""TrackRAD 2025 in small: breathing targets in cine-MRI, and trackers that follow them more or less well."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.io import write_label_map
from podium.model import LabelMap

__all__ = ["ALGORITHMS", "write"]

ALGORITHMS = "frames"
"""How the baselines are asked that are run on these data."""

_CASES = (  # frames, rows, columns, scanned region
    (36, 96, 88, "thorax"),
    (48, 104, 96, "abdomen"),
    (30, 88, 88, "pelvis"),
    (60, 112, 96, "thorax"),
    (42, 96, 104, "abdomen"),
)
_SECONDS = {  # to load, and per frame
    "swift": (6.0, 0.04),
    "drifting": (3.0, 0.02),
    "jittery": (9.0, 0.12),
    "ponderous": (12.0, 1.4),
    "frozen": (1.0, 0.001),
    "unlucky": (5.0, 0.05),
}


def write(folder: Path, *, seed: int = 0) -> None:
    """Write `truth` and `submissions` to a folder.

    swift tracks well; drifting falls behind as the sequence goes on; jittery loses some frames; ponderous is the most
    accurate but takes more than a second per frame; frozen repeats the first target; unlucky tracks well, but one case
    is missing, one has too few frames, one is cut short and one is full of NaN. A second observer labelled everything.
    """
    generator, people = np.random.default_rng((2025, seed)), np.random.default_rng((2025, seed, 1))
    clock = {team: ["case,seconds,frames"] for team in _SECONDS}
    for number, (frames, rows, columns, region) in enumerate(_CASES, start=1):
        case = f"A_{number:03d}"
        path = _path(generator, frames, rows, columns)
        radii = generator.uniform(7, 11, 2)
        truth = _targets(path, radii, rows, columns)
        _write_truth(folder / "truth" / case, case, truth, region, generator)
        seen = path + people.normal(0, 0.7, (frames, 2))
        second = _targets(seen, radii * people.uniform(0.95, 1.1, 2), rows, columns)
        _write_sequence(folder / "truth" / case / "targets" / f"{case}_labels2.mha", second)
        for team, masks in _predictions(generator, truth, path, radii).items():
            submission = folder / "submissions" / team
            submission.mkdir(parents=True, exist_ok=True)
            if team != "unlucky" or not _spoil(submission / f"{case}.mha", number, masks):
                _write_sequence(submission / f"{case}.mha", masks)
            loading, per_frame = _SECONDS[team]
            seconds = loading + per_frame * frames + generator.normal(0, 0.02 * loading)
            clock[team].append(f"{case},{seconds:.3f},{frames}")
    for team, lines in clock.items():
        (folder / "submissions" / team / "timing.csv").write_text("\n".join(lines) + "\n")


def _path(generator: np.random.Generator, frames: int, rows: int, columns: int) -> npt.NDArray[np.float64]:
    """Return where the target's centre is in every frame: mostly up and down, never twice the same."""
    time = np.arange(frames) / 4  # four frames per second
    breathing = np.sin(2 * np.pi * time / generator.uniform(3, 5)) * generator.uniform(5, 8)
    breathing *= 1 + 0.2 * np.sin(time / 7)
    return np.stack([rows / 2 + breathing, columns / 2 + 0.25 * breathing], axis=1)


def _targets(
    path: npt.NDArray[np.float64], radii: npt.NDArray[np.float64], rows: int, columns: int
) -> npt.NDArray[np.uint8]:
    """Return an ellipse around the path's point in each frame, shape (frames, rows, columns)."""
    row, column = np.ogrid[:rows, :columns]
    masks = [((row - r) / radii[0]) ** 2 + ((column - c) / radii[1]) ** 2 <= 1 for r, c in path]
    return np.stack(masks).astype(np.uint8)


def _predictions(
    generator: np.random.Generator,
    truth: npt.NDArray[np.uint8],
    path: npt.NDArray[np.float64],
    radii: npt.NDArray[np.float64],
) -> dict[str, npt.NDArray[np.uint8]]:
    """Return what each team makes of a sequence."""
    frames, rows, columns = truth.shape
    noise = generator.normal(0, 1, (frames, 2))
    drift = np.linspace(0, 1, frames)[:, None] * [3.5, -2.0]
    jittery = _targets(path + 2.5 * noise, radii * 0.95, rows, columns)
    jittery[generator.choice(np.arange(1, frames), 2, replace=False)] = 0
    return {
        "swift": _targets(path + 0.6 * noise, radii * 1.03, rows, columns),
        "drifting": _targets(path + drift, radii, rows, columns),
        "jittery": jittery,
        "ponderous": _targets(path + 0.2 * noise, radii, rows, columns),
        "frozen": np.repeat(truth[:1], frames, axis=0),
        "unlucky": _targets(path + 0.7 * noise, radii, rows, columns),
    }


def _spoil(path: Path, number: int, masks: npt.NDArray[np.uint8]) -> bool:
    """Let a prediction go wrong in one way per case; return whether that was done."""
    if number == 1:  # never written
        return True
    if number == 2:
        _write_sequence(path, masks[:-1])
    elif number == 3:
        _write_sequence(path, masks)
        path.write_bytes(path.read_bytes()[:-200])
    elif number == 4:
        _write_nan(path, masks.shape)
    return number in (2, 3, 4)


def _write_nan(path: Path, shape: tuple[int, ...]) -> None:
    """Write a sequence in which no pixel is a number, as a network does that has diverged."""
    frames, rows, columns = shape
    sequence = LabelMap.from_array(np.zeros((frames, columns, rows)))
    write_label_map(path, replace(sequence, array=np.full(sequence.shape, np.nan, np.float32)))


def _write_sequence(path: Path, frames: npt.NDArray[Any]) -> None:
    """Write (frames, rows, columns) as the challenge stores it: time first in the header, then columns, then rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(frames.transpose(0, 2, 1)))


def _write_truth(
    folder: Path, case: str, truth: npt.NDArray[np.uint8], region: str, generator: np.random.Generator
) -> None:
    """Write images, targets and what is known of the scan."""
    rows, columns = truth.shape[1:]
    row, column = np.ogrid[:rows, :columns]
    body = ((row - rows / 2) / (0.46 * rows)) ** 2 + ((column - columns / 2) / (0.44 * columns)) ** 2 <= 1
    grain = generator.integers(0, 3, (rows, columns)) * 8
    _write_sequence(folder / "images" / f"{case}_frames.mha", (60 * body + 90 * truth + grain).astype(np.uint8))
    _write_sequence(folder / "targets" / f"{case}_labels.mha", truth)
    _write_sequence(folder / "targets" / f"{case}_first_label.mha", truth[:1])
    known = {"scanned-region": region, "frame-rate": 4.0, "b-field-strength": 0.35}
    for name, value in known.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
