"""Kidneys with a tumour and sometimes a cyst, annotated by three people and segmented by teams of different skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from podium.io import write_label_map
from podium.model import LabelMap

__all__ = ["write"]

_SHAPE = (112, 112, 28)
_SPACING = (0.9, 0.9, 3.0)
_CASES = 8
_DISAGREEMENT_MM = 2.0
Depth = npt.NDArray[np.float64]
Labels = npt.NDArray[np.uint8]


def write(folder: Path, *, seed: int = 0) -> None:
    """Write eight cases with their CT, what three people annotated of each, and what five teams and a baseline predict.

    The majority of the three is the aggregated truth.
    """
    generator, people, scanner = (np.random.default_rng((21, seed, *more)) for more in ((), (1,), (2,)))
    for number in range(_CASES):
        name = f"case_{number:05d}"
        anatomy = _anatomy(generator, cyst=number % 3 == 0)
        depths = [_depth(mask) for mask in anatomy]
        truth = _painted(*anatomy)
        _save(folder / "truth" / name / "aggregated_MAJ_seg.nii.gz", truth)
        _save_image(folder / "truth" / name / "imaging.nii.gz", _scanned(truth, scanner))
        _save_annotations(folder / "truth" / name / "segmentations", depths, people)
        predictions = {
            "careful": _painted(*(_wobbled(depth, generator, 0.9) for depth in depths)),
            "generous": _painted(*(_wobbled(depth, generator, 0.9, bias=1.2) for depth in depths)),
            "noisy": _speckled(_painted(*(_wobbled(depth, generator, 2.0) for depth in depths)), generator),
            "no-cysts": _painted(*(_wobbled(depth, generator, 0.8) for depth in depths[:2])),
            "baseline": _painted(ndimage.binary_dilation(anatomy[0], iterations=2)),
        }
        predictions["unlucky"] = predictions["careful"].copy()
        for team, labels in predictions.items():
            _save(folder / "submissions" / team / f"{name}.nii.gz", labels)
    _spoil(folder / "submissions" / "unlucky")


def _anatomy(generator: np.random.Generator, *, cyst: bool) -> tuple[npt.NDArray[np.bool_], ...]:
    """Return kidney, tumour and cyst; the last is empty in most cases."""
    centre = np.array([50.0, 50.0, 42.0]) + generator.normal(0, 2.5, 3)
    kidney = _ellipsoid(centre, (30, 21, 33)) & ~_ellipsoid(centre + np.array([24, 0, 0]), (14, 10, 13))
    tumour = _ellipsoid(centre + np.array([-14, 14, generator.normal(6, 4)]), generator.uniform(7, 12, 3))
    empty = np.zeros(_SHAPE, bool)
    return kidney, tumour, _ellipsoid(centre + np.array([-8, -16, -8]), (7, 7, 8)) if cyst else empty


def _ellipsoid(centre: npt.ArrayLike, radii: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    grid = np.meshgrid(*(np.arange(n) * s for n, s in zip(_SHAPE, _SPACING, strict=True)), indexing="ij", sparse=True)
    parts = zip(grid, np.asarray(centre, float), np.asarray(radii, float), strict=True)
    return np.asarray(sum(((g - c) / r) ** 2 for g, c, r in parts) <= 1)


def _depth(mask: npt.NDArray[np.bool_]) -> Depth | None:
    """Return how many mm each voxel lies below the surface of a structure, negative outside; None if there is none."""
    if not mask.any():
        return None
    inside = ndimage.distance_transform_edt(mask, _SPACING) - ndimage.distance_transform_edt(~mask, _SPACING)
    return np.asarray(inside)


def _wobbled(
    depth: Depth | None, generator: np.random.Generator, size_mm: float, *, bias: float = 0.0
) -> npt.NDArray[np.bool_]:
    """Move a surface in and out by a smooth random field, and outwards by a bias."""
    if depth is None:
        return np.zeros(_SHAPE, bool)
    return np.asarray(depth + bias + _field(generator) * size_mm > 0)


def _field(generator: np.random.Generator) -> Depth:
    """Return a smooth random field of standard deviation 1."""
    field = ndimage.gaussian_filter(generator.normal(size=_SHAPE), (5, 5, 1.5))
    return np.asarray(field / field.std())


def _save_annotations(folder: Path, depths: Sequence[Depth | None], generator: np.random.Generator) -> None:
    """Let three people annotate every structure; where one of them is wrong, the two others are right."""
    for kind, depth in zip(("kidney", "tumor", "cyst"), depths, strict=True):
        if depth is None:
            continue
        wobble, whose = _field(generator), _field(generator)
        for number, (low, high) in enumerate(pairwise((-np.inf, -0.43, 0.43, np.inf)), start=1):
            own = (whose > low) & (whose <= high)
            mask = depth + np.where(own, wobble * _DISAGREEMENT_MM, 0) > 0
            _save(folder / f"{kind}_instance-1_annotation-{number}.nii.gz", mask.astype(np.uint8))


def _painted(*structures: npt.NDArray[np.bool_]) -> Labels:
    """Paint kidney, cyst and tumour over one another; give kidney, tumour and cyst, or the first of them."""
    labels = np.zeros(_SHAPE, np.uint8)
    for label in (1, 3, 2):
        if label <= len(structures):
            labels[structures[label - 1]] = label
    return labels


def _speckled(labels: Labels, generator: np.random.Generator) -> Labels:
    """Add small false islands."""
    islands = ndimage.binary_dilation(generator.random(_SHAPE) < 5e-5, iterations=2)
    return np.where(islands & (labels == 0), 2, labels).astype(np.uint8)


def _scanned(truth: Labels, generator: np.random.Generator) -> npt.NDArray[np.int16]:
    """Return a CT in Hounsfield units: fat with vessels and bone in it, air around it, and noise in steps of ten."""
    body = _ellipsoid((50, 50, 42), (49, 47, 1e3))
    image = np.where(body, -100.0, -1000.0)
    image[_ellipsoid((85, 50, 42), (8, 9, 1e3))] = 500  # the spine
    image[_ellipsoid((72, 66, 42), (4, 4, 1e3))] = 160  # as bright as a kidney, and as long as the image
    for label, hounsfield in ((1, 160.0), (2, 75.0), (3, 10.0)):
        image[truth == label] = hounsfield
    image = ndimage.gaussian_filter(image, (0.5, 0.5, 0.2)) + generator.normal(0, 15, _SHAPE)
    return np.asarray(10 * np.round(image / 10), np.int16)


def _spoil(folder: Path) -> None:
    """Break a submission in the ways that submissions break."""
    (folder / "case_00001.nii.gz").unlink()
    damaged = folder / "case_00002.nii.gz"
    damaged.write_bytes(damaged.read_bytes()[:2000])
    _save(folder / "case_00003.nii.gz", np.zeros((64, 64, 28), np.uint8))
    (folder / "case_00004.nii.gz").rename(folder / "case_0004.nii.gz")


def _save(path: Path, labels: Labels) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(labels, spacing=_SPACING))


def _save_image(path: Path, values: npt.NDArray[np.int16]) -> None:
    grid = LabelMap.from_array(np.zeros(_SHAPE), spacing=_SPACING)
    write_label_map(path, replace(grid, array=values))  # type: ignore[arg-type]  # grey values, on the grid of labels
