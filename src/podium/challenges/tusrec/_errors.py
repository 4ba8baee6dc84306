"""What is wrong with a prediction, and the four errors of one that can be used."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from podium.challenges.tusrec._prediction import ScanPrediction
from podium.challenges.tusrec._scan import TARGETS, Scan
from podium.metrics import displacement_error, landmark_displacements, landmark_error, transform_error
from podium.model import Floats, InputError

__all__ = ["errors_of", "form_of", "naming", "non_finite", "shape_problems", "transforms_of"]

DISPLACEMENTS = ("GP", "GL", "LP", "LL")
TRANSFORMS = {"G": "global", "L": "local"}

_LAST_ROW_TOLERANCE = 1e-3


def form_of(prediction: ScanPrediction) -> tuple[str, ...]:
    """Return which arrays a prediction must have: the four sets of the page, or the two of the compact form."""
    names = prediction.names()
    compact = tuple(TRANSFORMS.values())
    return compact if names & {*compact} and not names & {*DISPLACEMENTS} else DISPLACEMENTS


def shape_problems(prediction: ScanPrediction, scan: Scan | None = None) -> list[str]:
    """Say what is wrong with names, types and shapes; without the truth, whether they fit one another."""
    names, form = prediction.names(), form_of(prediction)
    problems = []
    if missing := [name for name in form if name not in names]:
        present = ", ".join(sorted(names))[:120] or "nothing"
        problems.append(f"missing: {', '.join(missing)} (found: {present})")
    shapes: dict[str, tuple[int, ...]] = {}
    for name in form:
        if name in names:
            try:
                shapes[name] = prediction.numbers(name)[0]
            except InputError as error:
                problems.append(error.problem)
    for name, shape in shapes.items():
        expected = _expected(name, scan)
        if len(shape) != len(expected) or any(b not in (None, a) for a, b in zip(shape, expected, strict=True)):
            problems.append(f"wrong shape: {name} is {_shown(shape)}, {_shown(expected)} is expected{_hint(name)}")
    if scan is None and not problems:
        for one, two in (("GP", "LP"), ("GL", "LL"), ("global", "local")):
            if shapes.get(one) != shapes.get(two):
                problems.append(f"wrong shape: {one} is {_shown(shapes[one])} but {two} {_shown(shapes[two])}")
    return problems


def _expected(name: str, scan: Scan | None) -> tuple[int | None, ...]:
    """Return the shape that an array must have, None for a number that only the truth knows."""
    moving = len(scan.transforms["G"]) if scan else None
    if name in TRANSFORMS.values():
        return moving, 4, 4
    if name.endswith("P"):
        return moving, 3, scan.shape[0] * scan.shape[1] if scan else None
    return 3, len(scan.landmarks) if scan else None


def _hint(name: str) -> str:
    if name in TRANSFORMS.values():
        return " (one transform for each frame but the first)"
    return " (frames but the first, xyz, pixels)" if name.endswith("P") else " (xyz, landmarks)"


def _shown(shape: tuple[int | None, ...]) -> str:
    return " × ".join("n" if number is None else str(number) for number in shape) or "a single number"


def non_finite(prediction: ScanPrediction) -> list[str]:
    """Say which arrays hold something that is not a finite number, and which transforms are none."""
    problems = []
    for name in form_of(prediction):
        try:
            if name in ("GP", "LP"):
                _check_finite(prediction, name)
            elif name in TRANSFORMS.values():
                transforms_of(prediction, name)
            elif not np.isfinite(prediction.small(name)).all():
                problems.append(f"{name}: a landmark has a coordinate that is not a finite number")
        except InputError as error:
            problems.append(error.problem)
    return problems


def _check_finite(prediction: ScanPrediction, name: str) -> None:
    for _, frames in prediction.strips(name, width=1):
        for index, frame in enumerate(frames, start=1):
            if not np.isfinite(frame).all():
                raise InputError(f"{name}: frame {index} has a displacement that is not a finite number")


def errors_of(prediction: ScanPrediction, scan: Scan) -> dict[str, float]:
    """Return gpe, gle, lpe and lle of a prediction, in mm; raise InputError where it cannot be used."""
    if problems := shape_problems(prediction, scan):
        raise InputError("; ".join(problems), path=prediction.path)
    compact = form_of(prediction) != DISPLACEMENTS
    errors: dict[str, float] = {}
    for level in TARGETS:
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is said below
            if compact:
                pixel, landmark = _errors_of_transforms(prediction, TRANSFORMS[level], level, scan)
            else:
                pixel = _pixel_error(prediction, f"{level}P", level, scan)
                with naming(prediction, f"{level}L"):
                    landmark = float(landmark_error(scan.displacements[level].T, prediction.small(f"{level}L").T))
        errors |= {f"{level.lower()}pe": pixel, f"{level.lower()}le": landmark}
    if not all(map(math.isfinite, errors.values())):
        raise InputError("displacements are so large that their error is not a number", path=prediction.path)
    return errors


def _errors_of_transforms(prediction: ScanPrediction, name: str, level: str, scan: Scan) -> tuple[float, float]:
    guess = transforms_of(prediction, name)
    moved = landmark_displacements(guess, scan.landmarks, scaling=scan.scaling)
    pixel = transform_error(scan.transforms[level], guess, scaling=scan.scaling, shape=scan.shape)
    return pixel, float(landmark_error(scan.displacements[level].T, moved.T))


def transforms_of(prediction: ScanPrediction, name: str) -> Floats:
    transforms = prediction.small(name)
    if not np.isfinite(transforms).all():
        index = 1 + int(np.argmin(np.isfinite(transforms).all(axis=(1, 2))))
        raise InputError(f"{name}: the transform of frame {index} is not finite", path=prediction.path)
    if np.any(np.abs(transforms[:, 3] - (0, 0, 0, 1)) > _LAST_ROW_TOLERANCE):
        raise InputError(
            f"{name}: the last row of a transform is not 0 0 0 1",
            path=prediction.path,
            advice="Store 4 × 4 matrices that multiply columns (x, y, z, 1) in mm",
        )
    return transforms


def _pixel_error(prediction: ScanPrediction, name: str, level: str, scan: Scan) -> float:
    """Return the mean distance over all pixels of all frames, strip by strip; a strip is a frame of fewer rows."""
    height, width = scan.shape
    total = 0.0
    for rows, frames in prediction.strips(name, width=width):
        down: Any = np.eye(4)
        down[1, 3] = rows.start
        with naming(prediction, name):
            error = displacement_error(scan.transforms[level], frames, scaling=scan.scaling @ down, width=width)
        total += error * len(rows) / height
    return total


@contextmanager
def naming(prediction: ScanPrediction, name: str) -> Iterator[None]:
    """Say in which array and file a metric met something that it cannot use."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(f"{name}: {error.problem}", path=prediction.path) from None
