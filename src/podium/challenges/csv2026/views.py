"""What people look at in a case of CSV 2026: plaque and vessel in both views, with both contours."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.challenges.csv2026.files import VIEWS, PlaqueSample
from podium.io.arrays import dataset, open_hdf5
from podium.model import Case, Film, InputError, Panel, Scene, Slices
from podium.model.planes import window

__all__ = ["LABELS", "films", "slices"]

LABELS = {1: "plaque", 2: "vessel"}
_TITLES = {"long": "longitudinal view", "trans": "transverse view"}
_RISKS = {0: "low risk", 1: "high risk"}
_MOST_PIXELS = 2**26


def slices(case: Case, truth: PlaqueSample, guess: PlaqueSample, *, images: Path | None) -> Slices:
    """Show both views; one that failed is left out, and the remarks say why.

    Parameters
    ----------
    case, truth, guess
        What is compared.
    images
        The folder with 001.h5, or with images/001.h5; datasets long_img and trans_img.
    """
    remarks = list(guess.problems.values())
    panels = []
    for view in (view for view in VIEWS if view in guess.masks):
        masks = truth.masks[view], guess.masks[view]
        part = window(*masks, margin=0.12)
        image = None
        if images is not None:
            try:
                image = _grey(_image_of(case, images), f"{view}_img", masks[0].shape)[part]
            except (InputError, OSError) as error:
                remarks.append(f"Without the image: {str(error).replace(f'{images}/', '')}")
        panels.append(Panel(_TITLES[view], masks[0][part], masks[1][part], image=image))
    title = f"{case.name}: {_risk(truth)}; predicted: {_risk(guess)}"
    return Slices(title, tuple(panels), LABELS, tuple(dict.fromkeys(remarks)))


def films(case: Case, truth: PlaqueSample, guess: PlaqueSample, *, images: Path | None) -> list[Scene]:
    """Show both views as films of one frame; one that failed is left out."""
    scenes: list[Scene] = []
    for view in (view for view in VIEWS if view in guess.masks):
        masks, image = (truth.masks[view], guess.masks[view]), None
        if images is not None:
            with suppress(InputError, OSError):
                image = (255 * _grey(_image_of(case, images), f"{view}_img", masks[0].shape)).astype(np.uint8)[None]
        scenes.append(Film(_TITLES[view], masks[0][None], masks[1][None], LABELS, image=image))
    return scenes


def _risk(sample: PlaqueSample) -> str:
    return "no class" if sample.risk is None else _RISKS[sample.risk]


def _image_of(case: Case, images: Path) -> Path:
    for path in (images / f"{case.name}.h5", images / "images" / f"{case.name}.h5"):
        if path.is_file():
            return path
    raise InputError(f"there is no {case.name}.h5 among the images")


def _grey(path: Path, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return an image from 0 to 1; of a colour image, the mean of its channels."""
    with open_hdf5(path) as file:
        stored = dataset(file, name, path=path)
        if stored.shape is None or not 0 < math.prod(stored.shape) <= _MOST_PIXELS:
            raise InputError(f"'{name}' is empty or too large to be an image", path=path)
        values: Any = np.asarray(stored[()], np.float32)
    if values.ndim == 3:
        values = values.mean(axis=0 if values.shape[1:] == shape else 2)
    if values.shape != shape:
        sizes = (" × ".join(map(str, size)) for size in (values.shape, shape))
        raise InputError("wrong shape: '{}' has {} pixels, its labels {}".format(name, *sizes), path=path)
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    return np.asarray((values - low) / (high - low if high > low else 1.0), np.float32)
