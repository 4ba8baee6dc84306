"""What an algorithm of LVQuan18 is given and where it answers: the images of one subject, without their numbers.

    sub-01.mat      images_LV [80, 80, 20], as in the organisers' training data

The answer is one file as a submission is, for these twenty images alone: areas_hat, dims_hat, rwt_hat and lv_phase_hat
in a .mat, or lines of a .txt or .csv. The answers of all subjects are joined into one file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.io import savemat

from podium.challenges.lvquan18.sheets import FRAMES, NAMES, SUFFIXES, Sheet, read_sheet
from podium.io import csv_text, write_text
from podium.io.answers import only_answer
from podium.io.tables import read_mat
from podium.model import Floats, InputError, Interface, Question

__all__ = ["IMAGES", "INTERFACE"]

IMAGES = "images_LV"


class SubjectInterface(Interface):
    """The twenty images of one heart."""

    def questions(self, images: Path) -> list[Question]:
        """Find the one .mat with images_LV [80, 80, n], which may hold the truth as well; a subject has 20 images."""
        paths = sorted(path for path in images.iterdir() if path.suffix.lower() == ".mat" and path.is_file())
        holders = [path for path in paths if _holds_images(path)]
        if len(holders) > 1:
            raise InputError(f"{holders[0].name} and {holders[1].name} both hold {IMAGES}", path=images)
        if not holders:
            return []
        count = _images(*_version(holders[0])).shape[2]
        if count % FRAMES:
            raise InputError(f"{IMAGES} has {count} images, which is no multiple of {FRAMES}", path=holders[0])
        subjects = range(1, count // FRAMES + 1)
        return [Question(f"sub-{number:02d}", tuple(holders), frames=FRAMES) for number in subjects]

    def lay_out(self, question: Question, folder: Path) -> None:
        """Write the images of one subject."""
        (path,) = question.files
        first = (_number(question.name) - 1) * FRAMES
        target = folder / f"{question.name}.mat"
        savemat(target, {IMAGES: _images(*_version(path))[:, :, first : first + FRAMES]})
        # SciPy writes the time into the first 116 bytes.
        target.write_bytes(b"MATLAB 5.0 MAT-file".ljust(116) + target.read_bytes()[116:])

    def answer(self, question: Question, folder: Path) -> Path:
        """Return the one file in the output, if it is about all images of this subject and no others."""
        path = only_answer(folder, tuple(f"*{suffix}" for suffix in SUFFIXES))
        _rows(question.name, path)
        return path

    def join(self, predictions: Sequence[Path], folder: Path) -> None:
        """Write LVQUAN_<name of the folder>.csv with the images of all subjects; a subject that failed has no lines."""
        lines = []
        for path in sorted(predictions, key=lambda path: _number(path.stem)):
            sheet = _rows(path.stem, path)
            for frame, numbers in enumerate(np.column_stack([sheet.indices, sheet.phase]).tolist(), start=1):
                lines.append([f"{path.stem}-{frame:02d}", *map(repr, numbers)])
        write_text(folder / f"LVQUAN_{folder.name}.csv", csv_text(["image", *NAMES], lines))


def _rows(subject: str, path: Path) -> Sheet:
    """Read the answer for one subject."""
    sheet = read_sheet(path)
    expected = tuple(f"{subject}-{frame:02d}" for frame in range(1, FRAMES + 1))
    if len(sheet.images) != FRAMES or (sheet.named and sheet.images != expected):
        given = f"{sheet.images[0]} to {sheet.images[-1]}" if sheet.named else f"{len(sheet.images)} images"
        raise InputError(f"the answer is for {given}, asked were {expected[0]} to {expected[-1]}", path=path)
    return sheet


def _number(subject: str) -> int:
    return int(subject.removeprefix("sub-"))


def _holds_images(path: Path) -> bool:
    try:
        return _images(*_version(path)).size > 0
    except InputError:
        return False


def _version(path: Path) -> tuple[Path, int, int]:
    facts = path.stat()
    return path, facts.st_mtime_ns, facts.st_size


@lru_cache(maxsize=1)
def _images(path: Path, *_: int) -> Floats:
    """Read all images, once for all subjects."""
    images = read_mat(path, [IMAGES])[IMAGES]
    if images.ndim != 3 or 0 in images.shape:
        raise InputError(f"{IMAGES} is {' × '.join(map(str, images.shape))}, not height × width × images", path=path)
    return images


INTERFACE = SubjectInterface()
