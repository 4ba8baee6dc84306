"""Small truths and predictions of CSV 2026 in their layout on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from boards import recorded

from podium.challenges import get_challenge
from podium.model import Value

VIEWS, STRUCTURES, METRICS = ("long", "trans"), ("plaque", "vessel"), ("dice", "nsd")
COUNTS = ("true_positive", "false_positive", "false_negative")
MEASURED = (*METRICS, "nsd_half_tolerance", "nsd_double_tolerance")


def vessel_with_plaque() -> np.ndarray:
    """Return labels of an artery."""
    labels = np.zeros((512, 512), np.uint8)
    labels[200:300, 100:400] = 2
    labels[270:300, 200:260] = 1
    return labels


def write_sample(path: Path, **changes: Any) -> Path:
    """Write a file with both views and class 1, some datasets replaced, or left out if None."""
    contents = {"long_mask": vessel_with_plaque(), "trans_mask": vessel_with_plaque(), "cls": 1} | changes
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, content in contents.items():
            if isinstance(content, h5py.SoftLink):
                file[name] = content
            elif content is not None:
                file.create_dataset(name, data=content)
    return path


class Folder:
    """A truth with one case, and predictions of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truth()

    def truth(self, **changes: Any) -> Path:
        """Write the truth with some datasets replaced."""
        return write_sample(self.path / "labels" / "001_label.h5", **changes)

    def predict(self, **changes: Any) -> Path:
        """Write a perfect prediction with some datasets replaced, or left out if None."""
        return write_sample(self.path / "001_pred.h5", **changes)

    def measure(self, prediction: Path, **options: Any) -> dict[tuple[str, str], Value]:
        """Return the values of a prediction by metric and target, prices charged."""
        challenge = get_challenge("csv2026", **options)
        (case,) = challenge.cases(self.path)
        return keyed(recorded(challenge, case, challenge.load(case), prediction))


def keyed(values: list[Value]) -> dict[tuple[str, str], Value]:
    """Return values by metric and target."""
    return {(value.metric, value.target): value for value in values}
