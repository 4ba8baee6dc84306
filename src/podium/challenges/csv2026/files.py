"""The files of CSV 2026: two masks and a class in one HDF5 file, each of which may be unusable on its own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.io import read_text
from podium.io.arrays import content, dataset, open_hdf5
from podium.model import InputError
from podium.model.options import positive_number

__all__ = ["CLASSES", "SHAPE", "VIEWS", "PlaqueSample", "read_baseline_seconds", "read_sample"]

Labels: TypeAlias = npt.NDArray[np.uint8]

VIEWS = ("long", "trans")
SHAPE = (512, 512)
CLASSES = (0, 1)
_ENCODINGS = ((0, 1, 2), (0, 128, 255))


@dataclass(frozen=True, slots=True, eq=False)
class PlaqueSample:
    """What one file says about a case.

    Attributes
    ----------
    masks
        The usable views: 0 background, 1 plaque, 2 vessel.
    risk
        The class: 0 low risk, 1 high risk; None if it is unusable.
    problems
        Why a view ("long", "trans") or the class ("cls") is unusable, in words that a participant can act on.
    """

    masks: Mapping[str, Labels]
    risk: int | None
    problems: Mapping[str, str]


def read_sample(path: Path, *, shapes: Mapping[str, tuple[int, ...]] | None = None) -> PlaqueSample:
    """Read both views and the class; what is wrong with one of them leaves the others usable.

    Parameters
    ----------
    path
        An HDF5 file with the datasets long_mask, trans_mask and cls.
    shapes
        The shape that each view must have; by default any image will do.

    Raises
    ------
    InputError
        If the file itself cannot be read.
    """
    masks: dict[str, Labels] = {}
    problems: dict[str, str] = {}
    risk = None
    with open_hdf5(path) as file:
        for view in VIEWS:
            try:
                masks[view] = _read_mask(file, f"{view}_mask", path, None if shapes is None else shapes[view])
            except InputError as error:
                problems[view] = str(error)
        try:
            risk = _read_class(file, path)
        except InputError as error:
            problems["cls"] = str(error)
    return PlaqueSample(masks, risk, problems)


def _read_mask(file: Any, name: str, path: Path, shape: tuple[int, ...] | None) -> Labels:
    stored = dataset(file, name, path=Path(path.name))
    if stored.shape is None or len(stored.shape) != 2 or 0 in stored.shape or (shape and stored.shape != shape):
        size = " × ".join(map(str, stored.shape)) if stored.shape else "no"
        wanted = " × ".join(map(str, shape or SHAPE))
        raise InputError(f"wrong shape: '{name}' has {size} pixels, it should have {wanted}", path=path.name)
    if stored.dtype.kind not in "iuf":
        raise InputError(f"'{name}' holds {stored.dtype}, not label numbers", path=path.name, advice=_labels_advice())
    numbers = content(stored, name, path=Path(path.name))
    for encoding in _ENCODINGS:
        _, plaque, vessel = members = [numbers == label for label in encoding]
        if sum(map(np.count_nonzero, members)) == numbers.size:
            return np.asarray(plaque.view(np.uint8) + 2 * vessel.view(np.uint8))
    raise InputError(_strange_labels(name, numbers), path=path.name, advice=_labels_advice())


def _strange_labels(name: str, numbers: npt.NDArray[Any]) -> str:
    """Say what in a mask is no label."""
    if lost := int(np.count_nonzero(~np.isfinite(numbers))):
        return f"'{name}' has {lost:,} pixels that are not finite"
    strange = np.setdiff1d(numbers, np.array([label for encoding in _ENCODINGS for label in encoding]))
    if strange.size:
        return f"'{name}' holds {strange[0]}, which is no label"
    return f"'{name}' mixes labels of 0, 1, 2 with labels of 0, 128, 255"


def _labels_advice() -> str:
    return "Write 0, 1, 2 (or 0, 128, 255) for background, plaque, vessel"


def _read_class(file: Any, path: Path) -> int:
    stored = dataset(file, "cls", path=Path(path.name))
    if stored.shape is None or stored.size != 1:
        raise InputError(f"'cls' holds {stored.size or 0} numbers, it should hold one", path=path.name)
    number = float(content(stored, "cls", path=Path(path.name)).reshape(-1)[0])
    if number not in CLASSES:
        raise InputError(f"'cls' is {number:g}, neither 0 (low risk) nor 1 (high risk)", path=path.name)
    return int(number)


def read_baseline_seconds(truth: Path) -> float | None:
    """Return the organisers' seconds per case from challenge.toml beside the truth; None if it does not say."""
    path = truth / "challenge.toml"
    if not path.is_file():
        return None
    try:
        settings = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"this is not TOML ({error})", path=path) from None
    if "baseline_seconds" not in settings:
        return None
    try:
        return positive_number(settings["baseline_seconds"], "baseline_seconds")
    except InputError as error:
        raise InputError(error.problem, path=path, advice=error.advice) from None
