"""A TrackRAD sequence, from its files to all numbers: Podium, and SciPy frame by frame as the organisers do it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import SimpleITK
from harness import Row, best_of
from scipy import ndimage

from podium.challenges import get_challenge
from podium.model import Challenge

FRAMES, SIDE = 200, 270
CASE = "A_001"


def write_sequence(folder: Path) -> tuple[Path, Path]:
    """Write a breathing target and a tracker that is a pixel or two off; return the truth's folder and the prediction.

    The size is that of the challenge's sequences, the target an ellipse of 36 × 28 mm that moves by 20 mm.
    """
    generator = np.random.default_rng(0)
    rows, columns = np.indices((SIDE, SIDE))
    breathing = 10 * np.sin(np.arange(FRAMES) / 5)

    def target(row: float, column: float, grown: float) -> np.ndarray:
        return ((rows - row) / (18 + grown)) ** 2 + ((columns - column) / (14 + grown)) ** 2 <= 1

    truth = np.stack([target(130 + b, 140 + b / 4, 0) for b in breathing], axis=-1)
    errors = generator.normal(0, 1.2, (FRAMES, 3))
    predicted = np.stack(
        [target(130 + b + e[0], 140 + b / 4 + e[1], e[2] / 2) for b, e in zip(breathing, errors, strict=True)], axis=-1
    )
    targets = folder / "truth" / CASE / "targets"
    targets.mkdir(parents=True)
    (targets.parent / "scanned-region.json").write_text(json.dumps("thorax"))
    paths = targets / f"{CASE}_labels.mha", folder / f"{CASE}.mha"
    for path, masks in zip(paths, (truth, predicted), strict=True):
        SimpleITK.WriteImage(SimpleITK.GetImageFromArray(masks.astype(np.uint8)), str(path), useCompression=True)
    return folder / "truth", paths[1]


def boundaries(reference: np.ndarray, prediction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the boundary pixels of two masks, cut to the box around both."""
    occupied = np.argwhere(reference | prediction)
    rows, columns = (slice(max(n - 1, 0), m + 2) for n, m in zip(occupied.min(0), occupied.max(0), strict=True))
    masks = reference[rows, columns].astype(bool), prediction[rows, columns].astype(bool)
    one, two = (mask & ~ndimage.binary_erosion(mask) for mask in masks)
    return one, two


def distances(reference: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Return the distance from every boundary pixel of the prediction to the boundary of the reference."""
    return ndimage.distance_transform_edt(~reference)[prediction].astype(np.float32)


def with_scipy(truth: Path, prediction: Path) -> dict[str, float]:
    """Measure a sequence with SciPy, every frame on its own, each metric from the masks."""
    paths = truth / CASE / "targets" / f"{CASE}_labels.mha", prediction
    images = [SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))).transpose(2, 0, 1) for path in paths]
    pairs = list(zip(*images, strict=True))
    dice = [2 * np.logical_and(one, two).sum() / (one.sum() + two.sum()) for one, two in pairs]
    hd95 = []
    for pair in pairs:
        one, two = boundaries(*pair)
        hd95.append(max(np.quantile(distances(one, two), 0.95), np.quantile(distances(two, one), 0.95)))
    masd = [distances(*boundaries(*pair)).mean() for pair in pairs]
    centres = np.array([[ndimage.center_of_mass(mask) for mask in pair] for pair in pairs])
    centre_distance = np.linalg.norm(centres[:, 1] - centres[:, 0], axis=1)

    target = pairs[0][0]
    grown = ndimage.binary_dilation(target, iterations=3).astype(np.float32)
    dose = (ndimage.gaussian_filter(grown, 4) > 0.25).astype(np.uint8)
    centres = np.array([[ndimage.center_of_mass(mask) for mask in pair] for pair in pairs])  # once more, as they do
    delivered = np.zeros(dose.shape, np.float32)
    for one, two in centres:
        delivered += ndimage.shift(dose, two - one, order=3, mode="nearest")
    d98 = np.quantile(delivered[target > 0] / len(pairs), 0.02)
    means = {"dice": dice, "hd95": hd95, "masd": masd, "centre_distance": centre_distance, "relative_d98": d98}
    return {metric: float(np.mean(values)) for metric, values in means.items()}


def with_podium(challenge: Challenge, truth: Path, prediction: Path) -> dict[str, float | None]:
    """Measure a sequence by the rules of the page, from its files."""
    (case,) = challenge.cases(truth)
    values = challenge.measure(case, challenge.load(case), prediction)
    return {value.metric: value.value for value in values if not value.unit}


def rows() -> list[Row]:
    """Measure both, after a look at whether they agree where the page and the organisers' code mean the same."""
    with tempfile.TemporaryDirectory() as name:
        truth, prediction = write_sequence(Path(name))
        challenge = get_challenge("trackrad2025")
        ours, theirs = with_podium(challenge, truth, prediction), with_scipy(truth, prediction)
        for metric in ("dice", "hd95", "centre_distance"):
            np.testing.assert_allclose(ours[metric], theirs[metric], rtol=0, atol=1e-5)
        times = best_of(
            {
                "podium": lambda: with_podium(challenge, truth, prediction),
                "SciPy, frame by frame": lambda: with_scipy(truth, prediction),
            },
            rounds=9,
            seconds=8.0,
        )
    what = f"TrackRAD sequence, {FRAMES} frames of {SIDE} × {SIDE}"
    return [Row(what, times.pop("podium"), times, targets={"SciPy, frame by frame": ("≥", 20.0)})]
