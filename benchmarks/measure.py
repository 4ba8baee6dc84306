"""Two folders of label maps: `podium measure` beside the algorithm of nnU-Net's evaluate_predictions.

Pairs of 512 × 512 × 100 voxels: 10 of them, or as many as PAIRS says; time grows with their number on both sides.
"""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import nibabel
import numpy as np
import SimpleITK
from harness import Row, best_of

import podium

PAIRS = int(os.environ.get("PAIRS", "10"))
SHAPE, SPACING = (512, 512, 100), (0.8, 0.8, 3.0)
LABELS = {"background": 0, "kidney": 1, "tumor": 2, "cyst": 3}
_DIFFERENT = 2


def rows(folder: Path) -> list[Row]:
    """Measure both with one process, and with two."""
    references, predictions = _write_pairs(folder / "measured")
    ours, theirs = _with_podium(references, predictions, jobs=1), _with_nnunet(references, predictions, processes=1)
    for case, dice in theirs.items():
        np.testing.assert_allclose([ours[case, name] for name in dice], [*dice.values()], rtol=0, atol=1e-12)
    result = []
    for count, words in ((1, "one process"), (2, "two processes")):
        times = best_of(
            {
                "podium": partial(_with_podium, references, predictions, jobs=count),
                "nnU-Net's algorithm (no distances)": partial(_with_nnunet, references, predictions, processes=count),
            },
            rounds=3,
            seconds=60.0,
        )
        name = f"measure folders of {PAIRS} pairs, {words}, 3 labels, with surface distances"
        targets = {"nnU-Net's algorithm (no distances)": ("≥", 10.0)}
        result.append(Row(name, times.pop("podium"), times, targets=targets))
    shutil.rmtree(folder / "measured")
    return result


def _write_pairs(folder: Path) -> tuple[Path, Path]:
    """Write kidneys with a tumour and a cyst, and predictions that are a little off; some are copies of others."""
    places = folder / "labelsTs", folder / "predictions"
    grid = np.meshgrid(*(np.arange(n) * s for n, s in zip(SHAPE, SPACING, strict=True)), indexing="ij", sparse=True)

    def ellipsoid(centre: tuple[float, ...], radii: tuple[float, ...]) -> np.ndarray:
        return sum(((g - c) / r) ** 2 for g, c, r in zip(grid, centre, radii, strict=True)) <= 1

    for place, grown in zip(places, (0.0, 0.8), strict=True):
        place.mkdir(parents=True)
        for number in range(PAIRS):
            path = place / f"case_{number:03}.nii.gz"
            if number >= _DIFFERENT:
                shutil.copy(place / f"case_{number % _DIFFERENT:03}.nii.gz", path)
                continue
            labels = np.zeros(SHAPE, np.uint8)
            for side in (130.0, 280.0):
                labels[ellipsoid((side, 210, 150 + 5 * number), (30, 28 + grown, 55 - grown))] = 1
            labels[ellipsoid((120 + grown, 225, 170), (17, 15, 16))] = 2
            labels[ellipsoid((285, 195, 130), (9, 9 + grown, 10))] = 3
            nibabel.save(nibabel.Nifti1Image(labels, np.diag([*SPACING, 1])), path)
    (places[0] / "dataset.json").write_text(json.dumps({"labels": LABELS, "file_ending": ".nii.gz"}))
    return places


def _with_podium(references: Path, predictions: Path, *, jobs: int) -> dict[tuple[str, str], float]:
    """Return the Dice of every case and label; all metrics of overlap, surfaces and centres are measured."""
    measured = podium.measure(references, predictions, jobs=jobs)
    assert measured.summary["mean"].null_count() == 0
    return {(case, label): dice for case, label, dice in measured.cases.select("case", "label", "dice").iter_rows()}


def _with_nnunet(references: Path, predictions: Path, *, processes: int) -> dict[str, dict[str, float]]:
    """Return the Dice of every case and label, the way nnU-Net counts, one process per case."""
    names = sorted(path.name for path in predictions.glob("*.nii.gz"))
    work = partial(_counted, references, predictions)
    if processes == 1:
        return {name.removesuffix(".nii.gz"): work(name) for name in names}
    with ProcessPoolExecutor(processes) as pool:
        return dict(zip((name.removesuffix(".nii.gz") for name in names), pool.map(work, names), strict=True))


def _counted(references: Path, predictions: Path, name: str) -> dict[str, float]:
    """Read both files with SimpleITK as 32-bit floats, and count each label's voxels by boolean masks."""
    reference, prediction = (
        SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(place / name))).astype(np.float32)
        for place in (references, predictions)
    )
    counted = np.ones(reference.shape, bool)
    dice = {}
    for label, number in LABELS.items():
        if not number:
            continue
        one, two = reference == number, prediction == number
        hits = np.sum((one & two) & counted)
        false_alarms = np.sum((~one & two) & counted)
        misses = np.sum((one & ~two) & counted)
        np.sum((~one & ~two) & counted)  # true negatives, which nnU-Net reports as well
        dice[label] = float(2 * hits / (2 * hits + false_alarms + misses))
    return dice
