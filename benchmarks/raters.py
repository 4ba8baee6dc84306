"""Raters of KiTS21: variability and tolerances of a case from its annotation files, ours and the organisers' way.

Their way: write every sample of every group to disk with SimpleITK, read every pair anew for Dice and surface Dice, and
once more for tolerances, with MedPy and DeepMind's package. It takes a minute or so a case, so it takes one turn only.
"""

from __future__ import annotations

import re
import tempfile
import time
from itertools import combinations
from pathlib import Path

import nibabel
import numpy as np
import SimpleITK
from cases import SHARED
from harness import Row, best_of

from podium.challenges import get_challenge
from podium.raters import RatedChallenge, RaterAgreement

REGIONS = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,)}
TOLERANCES = {"kidney_and_mass": 1.0330772532390826, "mass": 1.1328796488598762, "tumor": 1.1498198361434828}
ORDER = {"kidney": 1, "cyst": 3, "tumor": 2}
GROUPS = 5
SECONDS = 6.0


def with_podium(challenge: RatedChallenge, truth: Path, name: str) -> RaterAgreement:
    """Measure a case with Podium."""
    case = next(case for case in challenge.rated_cases(truth) if case.name == name)
    return challenge.agreement(case, challenge.panel(case), percentiles=(95.0,))


def write_samples(case: Path, folder: Path) -> list[list[Path]]:
    """Write the samples of a case, reading the annotations of each anew; return the files of each group."""
    names = [re.findall(r"\w+?(?=_)|\d+", path.name) for path in (case / "segmentations").glob("*.nii.gz")]
    found = sorted((kind, int(instance), int(number)) for kind, *_, instance, number in names)
    instances = [
        (kind, k, [number for *own, number in found if own == [kind, k]])
        for kind in ("kidney", "tumor", "cyst")
        for k in sorted({k for own, k, _ in found if own == kind})
    ]
    draws = np.random.RandomState(int(case.name[-5:]))
    groups = []
    for group in range(GROUPS):
        offsets = [draws.randint(0, len(numbers)) for *_, numbers in instances]
        files = []
        for sample in range(min(len(numbers) for *_, numbers in instances)):
            labels = None
            for kind, label in ORDER.items():
                for (own, k, numbers), offset in zip(instances, offsets, strict=True):
                    if own == kind:
                        number = numbers[(offset + sample) % len(numbers)]
                        path = case / "segmentations" / f"{kind}_instance-{k}_annotation-{number}.nii.gz"
                        image = SimpleITK.ReadImage(str(path))
                        mask = SimpleITK.GetArrayFromImage(image)
                        labels = np.zeros(mask.shape, np.uint8) if labels is None else labels
                        labels[mask == 1] = label
            written = SimpleITK.GetImageFromArray(labels)
            written.CopyInformation(image)
            files.append(folder / f"{group}_{sample}.nii.gz")
            SimpleITK.WriteImage(written, str(files[-1]))
        groups.append(files)
    return groups


def read_pair(paths: tuple[Path, Path]) -> tuple[list[np.ndarray], tuple[float, ...]]:
    """Read two samples."""
    images = [SimpleITK.ReadImage(str(path)) for path in paths]
    return [SimpleITK.GetArrayFromImage(image) for image in images], images[0].GetSpacing()[::-1]


def with_peers(case: Path) -> dict[str, tuple[float, float, float]]:
    """Measure Dice, surface Dice and tolerance of every region as the organisers do."""
    from medpy.metric.binary import dc
    from surface_distance import compute_surface_dice_at_tolerance, compute_surface_distances

    found: dict[str, list[list[float]]] = {region: [[], [], []] for region in REGIONS}
    with tempfile.TemporaryDirectory() as name:
        pairs = [pair for files in write_samples(case, Path(name)) for pair in combinations(files, 2)]
        for pair in pairs:
            arrays, spacing = read_pair(pair)
            for region, labels in REGIONS.items():
                one, two = (np.isin(array, labels) for array in arrays)
                distances = compute_surface_distances(one, two, spacing)
                found[region][0].append(dc(two, one))
                found[region][1].append(compute_surface_dice_at_tolerance(distances, TOLERANCES[region]))
        for pair in pairs:
            arrays, spacing = read_pair(pair)
            for region, labels in REGIONS.items():
                distances = compute_surface_distances(*(np.isin(array, labels) for array in arrays), spacing)
                ways = (distances["distances_gt_to_pred"], distances["distances_pred_to_gt"])
                found[region][2].append(np.mean([np.percentile(way, 95) for way in ways]))
    return {region: tuple(float(np.mean(each)) for each in numbers) for region, numbers in found.items()}


def rows(folder: Path) -> list[Row]:
    """Measure every case, after a look at whether the numbers agree."""
    truth = SHARED / "kits21" if (SHARED / "kits21").is_dir() else _synthetic(folder / "annotated")
    challenge = get_challenge("kits21")
    peer = "SimpleITK + MedPy + DeepMind"
    result = []
    for case in sorted(truth.glob("case_*/")):
        start = time.perf_counter()
        theirs = with_peers(case)
        taken = 1e3 * (time.perf_counter() - start)
        ours = with_podium(challenge, truth, case.name)
        for region, numbers in theirs.items():
            own = ours.variability("dice", region), ours.variability("surface_dice", region), ours.tolerance(region)
            np.testing.assert_allclose(own, numbers, rtol=0, atol=1e-9)
        best = best_of({"podium": lambda name=case.name: with_podium(challenge, truth, name)}, rounds=3)["podium"]
        result.append(Row(f"raters of {case.name}", best, {peer: taken}, targets={peer: ("≥", 25.0)}))
    ours_in_all, theirs_in_all = sum(row.ours for row in result), sum(row.others[peer] for row in result)
    allowed = 1e3 * SECONDS * len(result)
    return [
        *result,
        Row(
            "raters, all cases",
            ours_in_all,
            {peer: theirs_in_all, f"{SECONDS:g} s a case": allowed},
            targets={peer: ("≥", 25.0), f"{SECONDS:g} s a case": ("≤", 1.0)},
        ),
    ]


def _synthetic(folder: Path) -> Path:
    """Write one case: two kidneys and a tumour, three annotations each, as 32-bit integers."""
    shape, spacing = (64, 512, 512), (4.0, 0.8, 0.8)
    grid = np.meshgrid(*(np.arange(n) * s for n, s in zip(shape, spacing, strict=True)), indexing="ij", sparse=True)
    structures = {
        "kidney_instance-1": ((128, 210, 130), (55, 28, 30)),
        "kidney_instance-2": ((128, 210, 280), (55, 28, 30)),
        "tumor_instance-1": ((148, 225, 120), (16, 15, 17)),
    }
    place = folder / "case_00001" / "segmentations"
    place.mkdir(parents=True)
    for name, (centre, radii) in structures.items():
        for number in (1, 2, 3):
            radius = [r + 0.7 * (number - 2) * (-1) ** k for k, r in enumerate(radii)]
            inside = sum(((g - c) / r) ** 2 for g, c, r in zip(grid, centre, radius, strict=True)) <= 1
            image = nibabel.Nifti1Image(inside.astype(np.int32), np.diag([*spacing, 1]))
            nibabel.save(image, place / f"{name}_annotation-{number}.nii.gz")
    return folder
