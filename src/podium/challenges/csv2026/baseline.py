"""A baseline of CSV 2026: thresholds on intensities, and a rule for the class. See `podium.challenges.baselines`.

The largest dark region is taken for the vessel, what is of medium brightness, thick enough and attached to it for
plaque. A dark plaque is taken for one at high risk, since lipid and blood reflect little. Gain, shadows and other dark
regions of real images are not accounted for.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import numpy.typing as npt
from scipy import ndimage

from podium.challenges.baselines import answer_as_asked
from podium.challenges.csv2026.files import VIEWS
from podium.model import Floats

__all__ = ["METHODS", "answer", "segmented"]

_BLUR_PX = 4.0
_BLOOD, _EDGE, _TISSUE = 48.0, 95.0, 137.0
"""Of 255: blood is darker than the first, tissue brighter than the last; a wall between them lies at the second."""

_THINNEST_PX = 5
_DARK_PLAQUE = 90.0
_PLAQUE, _VESSEL = 1, 2


def segmented(image: Floats) -> npt.NDArray[np.uint8]:
    """Return 1 for plaque and 2 for vessel in an image from 0 to 255."""
    smooth = ndimage.gaussian_filter(image, _BLUR_PX)
    blood = _largest(smooth < _BLOOD)
    medium = (smooth >= _BLOOD) & (smooth < _TISSUE)
    thick = ndimage.binary_dilation(
        ndimage.binary_erosion(medium, iterations=_THINNEST_PX), iterations=_THINNEST_PX, mask=medium
    )
    near = ndimage.binary_dilation(blood, iterations=_THINNEST_PX)
    regions, _ = ndimage.label(thick)
    plaque = np.isin(regions, np.setdiff1d(regions[near], [0]))
    wall = ndimage.binary_dilation(blood, iterations=3 * _THINNEST_PX, mask=smooth < _EDGE)
    return np.where(plaque, _PLAQUE, np.where(wall, _VESSEL, 0)).astype(np.uint8)


def _largest(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    regions, count = ndimage.label(mask)
    return np.asarray(regions == np.argmax(np.bincount(regions.ravel())[1:]) + 1) if count else mask


def answer(inputs: Path, output: Path) -> None:
    """Segment both views of every case that is there, and judge the plaque."""
    for path in sorted((inputs / "images").glob("*.h5")):
        with h5py.File(path) as file:
            images = {view: np.asarray(file[f"{view}_img"][()], np.float64) for view in VIEWS}
        images = {view: image * (255 if image.max() <= 1 else 1) for view, image in images.items()}
        masks = {view: segmented(image) for view, image in images.items()}
        plaque = np.concatenate([images[view][masks[view] == _PLAQUE] for view in VIEWS])
        risk = int(plaque.size > 0 and plaque.mean() < _DARK_PLAQUE)
        with h5py.File(output / f"{path.stem}_pred.h5", "w") as file:
            for view, mask in masks.items():
                file.create_dataset(f"{view}_mask", data=mask, compression="gzip")
            file.create_dataset("cls", data=np.uint8(risk))


METHODS = {"threshold": answer}

if __name__ == "__main__":
    answer_as_asked(METHODS)
