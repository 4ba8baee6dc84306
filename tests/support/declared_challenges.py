"""Declared challenges for tests, with small truths and teams of every kind."""

from functools import partial
from pathlib import Path

import numpy as np

from podium.io import write_label_map
from podium.model import LabelMap

TOML = Path(__file__).with_name("toml")
SPACING = (1.0, 1.0, 2.0)
SEGMENTATION = {
    "name": "brain-lesions",
    "title": "Brain lesions 2027",
    "files": {
        "truth": "{subject}_{visit}_seg.nii.gz",
        "prediction": "{subject}_{visit}.nii.gz",
        "cluster": "{subject}",
    },
    "labels": {"edema": 1, "core": 2},
    "regions": {"whole": ["edema", "core"]},
    "quantities": [
        {"metric": "dice", "of": ["whole", "core"], "failed": 0},
        {"metric": "hausdorff_distance", "percentile": 95, "of": ["whole", "core"], "failed": "image diagonal"},
    ],
}


def lesion(seed: int, *, shift: int = 0, noise: float = 0.0) -> np.ndarray:
    """Return a small lesion with a core, moved and made rough."""
    generator = np.random.default_rng(seed)
    centre = generator.uniform(6, 10, 3) + shift
    places = np.indices((18, 16, 14))
    distance = np.sqrt(sum((place - at) ** 2 for place, at in zip(places, centre, strict=True)))
    distance = distance + noise * np.random.default_rng(seed + 1000).normal(size=distance.shape)
    return np.where(distance < 2.5, 2, np.where(distance < 4.5, 1, 0)).astype(np.uint8)


def write_labels(path: Path, array: np.ndarray, *, spacing=SPACING) -> None:
    """Write a label map."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(array, spacing=spacing))


TEAMS = {"exact": (0, 0.0), "near": (0, 0.6), "moved": (1, 0.2), "far": (2, 0.8)}


def write_lesions(folder: Path, *, subjects: int = 3, visits: int = 2) -> Path:
    """Write truth and teams of the segmentation challenge; return the folder."""
    for number in range(subjects * visits):
        case = f"s{number // visits}_{number % visits}"
        write_labels(folder / "truth" / f"{case}_seg.nii.gz", lesion(number))
        for team, (shift, noise) in TEAMS.items():
            array = lesion(number, shift=shift, noise=noise)
            write_labels(folder / "submissions" / team / f"{case}.nii.gz", array)
    return folder


DATA = {"brain-lesions": partial(write_lesions, subjects=8)}
"""What writes truth and submissions of a challenge.toml of the tests, where no demo does."""
