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


def write_lesions(folder: Path, *, subjects: int = 3, visits: int = 2, coreless: int = 0) -> Path:
    """Write truth and teams of the segmentation challenge, so many cases without a core; return the folder."""
    for number in range(subjects * visits):
        case = f"s{number // visits}_{number % visits}"
        truth = np.minimum(lesion(number), 1 if number < coreless else 2)
        write_labels(folder / "truth" / f"{case}_seg.nii.gz", truth)
        for team, (shift, noise) in TEAMS.items():
            array = lesion(number, shift=shift, noise=noise)
            write_labels(folder / "submissions" / team / f"{case}.nii.gz", array)
    return folder


ERRORS = {"exact": 0.0, "near": 1.0, "middle": 2.5, "far": 6.0}
"""How far off teams are, beside those of segmentation."""


def write_text(path: Path, lines: list[str]) -> None:
    """Write lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def write_ages(folder: Path) -> Path:
    """Write truth and teams of a regression."""
    generator = np.random.default_rng(1)
    rows = [f"c{child}_{hand}" for child in range(7) for hand in ("left", "right")]
    truth = dict(zip(rows, generator.uniform(20, 200, len(rows)), strict=True))
    write_text(folder / "truth" / "truth.csv", ["case,months", *(f"{row},{age}" for row, age in truth.items())])
    for team, error in ERRORS.items():
        guesses = {row: age + 3 * error * generator.normal() for row, age in truth.items()}
        lines = ["case,months", *(f"{row},{age}" for row, age in guesses.items())]
        write_text(folder / "submissions" / team / "predictions.csv", lines)
    return folder


def write_chests(folder: Path) -> Path:
    """Write truth and teams of a classification."""
    generator = np.random.default_rng(2)
    truth = generator.integers(0, 2, (14, 2))
    truth[:2] = [[0, 1], [1, 0]]
    lines = [f"p{row},{a},{b}" for row, (a, b) in enumerate(truth.tolist())]
    write_text(folder / "truth" / "truth.csv", ["case,effusion,nodule", *lines])
    for team, error in ERRORS.items():
        scores = 1 / (1 + np.exp(-(6 * truth - 3 + error * generator.normal(size=truth.shape))))
        lines = [f"p{row},{a},{b}" for row, (a, b) in enumerate(scores.tolist())]
        write_text(folder / "submissions" / team / "predictions.csv", ["case,effusion,nodule", *lines])
    return folder


def write_heads(folder: Path) -> Path:
    """Write truth and teams of landmarks."""
    generator = np.random.default_rng(3)
    for number in range(6):
        hospital, subject = "north" if number % 2 else "south", f"s{number}"
        places = generator.uniform(0, 200, (2, 2))

        def lines(places):
            named = zip(("nasion", "sella"), places.tolist(), strict=True)
            return ["landmark,x,y", *(f"{name},{x},{y}" for name, (x, y) in named)]

        write_text(folder / "truth" / hospital / f"{subject}.csv", lines(places))
        for team, error in ERRORS.items():
            moved = places + 4 * error * generator.normal(size=places.shape)
            write_text(folder / "submissions" / team / f"{hospital}_{subject}.csv", lines(moved))
    return folder


def write_tools(folder: Path) -> Path:
    """Write truth and teams of tracks."""
    generator = np.random.default_rng(4)
    for number in range(5):
        places = generator.uniform(0, 640, 4) + np.cumsum(generator.normal(size=(8, 4)), axis=0)

        def lines(places):
            return [
                "frame,tip_x,tip_y,shaft_x,shaft_y",
                *(f"{f},{','.join(map(str, p))}" for f, p in enumerate(places)),
            ]

        write_text(folder / "truth" / f"v{number}.csv", lines(places.tolist()))
        for team, error in ERRORS.items():
            moved = places + 9 * error * generator.normal(size=places.shape)
            write_text(folder / "submissions" / team / f"v{number}.csv", lines(moved.tolist()))
    return folder


def write_nodules(folder: Path, *, boxes: bool = False) -> Path:
    """Write truth and teams of a detection, of points or boxes; one scan has nothing to find."""
    generator = np.random.default_rng(5)
    columns = "x1,y1,x2,y2" if boxes else "x,y,z"

    def lines(places, scores=None):
        ends = [[*place[:2], *(place[:2] + 10)] if boxes else list(place) for place in places]
        more = [[]] * len(ends) if scores is None else [[score] for score in scores]
        rows = [",".join(map(str, [f"n{i}", *end, *own])) for i, (end, own) in enumerate(zip(ends, more, strict=True))]
        return [f"name,{columns}{'' if scores is None else ',score'}", *rows]

    for number in range(6):
        places = generator.uniform(0, 200, (number % 4, 3))
        write_text(folder / "truth" / f"scan{number}.csv", lines(places))
        for team, error in ERRORS.items():
            moved = places + error * generator.normal(size=places.shape)
            false = generator.uniform(0, 200, (int(error), 3))
            scores = np.concatenate([generator.uniform(0.4, 1, len(moved)), generator.uniform(0, 0.7, len(false))])
            write_text(folder / "submissions" / team / f"scan{number}.csv", lines([*moved, *false], scores))
    return folder


def write_grades(folder: Path) -> Path:
    """Write truth and teams of exclusive classes; one team names classes, the others give probabilities."""
    generator = np.random.default_rng(6)
    names = ("none", "mild", "severe")
    truth = generator.permuted(np.arange(15) % 3)
    lines = [f"p{row},{names[grade]}" for row, grade in enumerate(truth)]
    write_text(folder / "truth" / "truth.csv", ["case,class", *lines])
    for team, error in ERRORS.items():
        strengths = np.exp(3 * np.eye(3)[truth] + error * generator.normal(size=(15, 3)))
        chances = (strengths / strengths.sum(axis=1, keepdims=True)).tolist()
        lines = [f"p{row},{a},{b},{c}" for row, (a, b, c) in enumerate(chances)]
        head = f"case,{','.join(names)}"
        if team == min(ERRORS):
            head, lines = "case,class", [f"p{row},{names[int(np.argmax(own))]}" for row, own in enumerate(chances)]
        write_text(folder / "submissions" / team / "predictions.csv", [head, *lines])
    return folder


DATA = {
    "boxes": partial(write_nodules, boxes=True),
    "bone-age": write_ages,
    "bone-age-agreement": write_ages,
    "brain-lesions": partial(write_lesions, subjects=8),
    "chest": write_chests,
    "coreless": partial(write_lesions, coreless=3),
    "grades": write_grades,
    "heads": write_heads,
    "nodules": write_nodules,
    "tools": write_tools,
}
"""What writes truth and submissions of a challenge.toml of the tests, where no demo does."""
