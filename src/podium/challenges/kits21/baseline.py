"""A baseline of KiTS21: thresholds on Hounsfield units, and connected components. See `podium.challenges.baselines`.

The one or two largest bright regions that are not bone are taken for kidneys; what is soft tissue, thick enough and
attached to them for tumour, or for cyst where it is like water. Whatever else is as bright as a kidney, such as a
spleen or a liver after contrast, and soft tissue that touches one, is mistaken.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from podium.challenges.baselines import answer_as_asked
from podium.challenges.kits21.interface import ANSWER, CT
from podium.io import write_label_map
from podium.io.images import read_image
from podium.model import LabelMap

__all__ = ["METHODS", "answer", "segmented"]

_FAT, _WATER, _KIDNEY, _BONE = -40.0, 40.0, 115.0, 300.0
"""Hounsfield units above which something is soft tissue, no cyst, kidney after contrast, and bone."""

_BLUR_MM, _REACH_MM, _RIM_MM, _THINNEST_MM = 0.8, 15.0, 3.0, 3.0
_SMALLEST_MASS_MM3 = 300.0

Bools = npt.NDArray[np.bool_]


def segmented(image: npt.NDArray[np.number], spacing: tuple[float, ...]) -> npt.NDArray[np.uint8]:
    """Return 1 for kidney, 2 for tumour and 3 for cyst in a CT."""
    labels = np.zeros(image.shape, np.uint8)
    smooth = ndimage.gaussian_filter(image.astype(np.float32), [_BLUR_MM / step for step in spacing])
    kidneys = _largest((smooth > _KIDNEY) & (smooth < _BONE))
    for box in ndimage.find_objects(kidneys.astype(np.uint8)):
        margins = [int(np.ceil(_REACH_MM / step)) + 1 for step in spacing]
        part = tuple(
            slice(max(side.start - margin, 0), side.stop + margin) for side, margin in zip(box, margins, strict=True)
        )
        labels[part] = _around(smooth[part], kidneys[part], spacing)
    return labels


def _around(smooth: npt.NDArray[np.float32], kidneys: Bools, spacing: tuple[float, ...]) -> npt.NDArray[np.uint8]:
    """Return the labels in a part of the image that holds the kidneys and all that is near."""
    away = ndimage.distance_transform_edt(~kidneys, sampling=spacing)
    soft = _touching((smooth > _FAT) & (smooth < _BONE) & (away <= _REACH_MM), kidneys)
    core = ndimage.distance_transform_edt(soft & ~kidneys, sampling=spacing) > _THINNEST_MM
    mass = soft & ~kidneys & (ndimage.distance_transform_edt(~core, sampling=spacing) <= _THINNEST_MM)
    mass = _larger(mass, _SMALLEST_MASS_MM3 / float(np.prod(spacing)))
    labels = (kidneys | (soft & (away <= _RIM_MM))).astype(np.uint8)
    regions, count = ndimage.label(mass)
    for region in range(1, count + 1):
        inside = regions == region
        labels[inside] = 2 if np.median(smooth[inside]) > _WATER else 3
    return labels


def _largest(mask: Bools) -> Bools:
    """Return the largest connected region, and the second where it is at least half as large."""
    regions, _ = ndimage.label(mask)
    sizes = np.bincount(regions.ravel())[1:]
    order = np.argsort(sizes)[::-1][:2]
    return np.isin(regions, [k + 1 for k in order if 2 * sizes[k] >= sizes[order[0]]])


def _touching(mask: Bools, seeds: Bools) -> Bools:
    """Return the connected regions that hold a seed."""
    regions, _ = ndimage.label(mask)
    return np.isin(regions, np.setdiff1d(regions[seeds], [0]))


def _larger(mask: Bools, voxels: float) -> Bools:
    """Return the connected regions that are large enough."""
    regions, _ = ndimage.label(mask)
    sizes = np.bincount(regions.ravel())
    sizes[0] = 0
    return np.asarray(sizes >= voxels)[regions]


def answer(inputs: Path, output: Path) -> None:
    """Segment every CT that is there."""
    for path in sorted((inputs / CT).glob("*.mha")):
        image = read_image(path)
        labels = LabelMap.from_array(segmented(image.array, image.spacing))
        (output / ANSWER).mkdir(parents=True, exist_ok=True)
        write_label_map(
            output / ANSWER / path.name,
            replace(labels, spacing=image.spacing, origin=image.origin, direction=image.direction),
        )


METHODS = {"threshold": answer}

if __name__ == "__main__":
    answer_as_asked(METHODS)
