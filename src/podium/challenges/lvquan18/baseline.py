"""A baseline of LVQuan18: the training mean. See `podium.challenges.baselines`.

It does not look at the images: each of the twenty frames of a heart cycle gets its mean over training subjects, and
the phase that most of them had. The training data is named by the variable PODIUM_LVQUAN18_TRAINING, a file as the
truth is; without it, round numbers stand for them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from podium.challenges.baselines import answer_as_asked
from podium.challenges.lvquan18.sheets import FRAMES, NAMES, read_sheet
from podium.io import csv_text, write_text
from podium.model import Floats

__all__ = ["METHODS", "TRAINING", "answer", "training_mean"]

TRAINING = "PODIUM_LVQUAN18_TRAINING"
_SYSTOLE = 8


def training_mean(path: Path) -> Floats:
    """Return the mean of every number in every frame, the phase rounded, shape (20, 12)."""
    sheet = read_sheet(path, truth=True, scaled=False)
    numbers = np.column_stack([sheet.indices, sheet.phase])
    mean = numbers.reshape(-1, FRAMES, len(NAMES)).mean(axis=0)
    mean[:, -1] = np.round(mean[:, -1])
    return np.asarray(mean)


def _round_numbers() -> Floats:
    """Return what a heart is like in units of the image's side, wider and thinner before and after systole."""
    frames = np.arange(FRAMES)
    course = np.where(frames < _SYSTOLE, frames / _SYSTOLE, (FRAMES - frames) / (FRAMES - _SYSTOLE))
    squeeze = (1 - np.cos(np.pi * course)) / 2
    diameter, wall = 0.38 - 0.1 * squeeze, 0.075 + 0.03 * squeeze
    cavity = np.pi / 4 * diameter**2
    muscle = np.pi / 4 * (diameter + 2 * wall) ** 2 - cavity
    return np.column_stack([cavity, muscle, *[diameter] * 3, *[wall] * 6, frames < _SYSTOLE])


def answer(inputs: Path, output: Path) -> None:
    """Write the same numbers for every subject that is there."""
    training = os.environ.get(TRAINING)
    numbers = training_mean(Path(training)) if training else _round_numbers()
    for path in sorted(inputs.glob("*.mat")):
        lines = [[f"{path.stem}-{frame:02d}", *map(repr, row)] for frame, row in enumerate(numbers.tolist(), start=1)]
        write_text(output / f"LVQUAN_{path.stem}.csv", csv_text(["image", *NAMES], lines))


METHODS = {"training-mean": answer}

if __name__ == "__main__":
    answer_as_asked(METHODS)
