"""The twelve numbers of every image, from any of the three formats that they come in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.io.tables import Table, read_csv, read_lines, read_mat
from podium.model import Floats, InputError
from podium.model.errors import shortened

__all__ = ["FRAMES", "GROUPS", "INDICES", "NAMES", "SUFFIXES", "Sheet", "inspect_sheet", "read_sheet"]

GROUPS = {"area": ("A1", "A2"), "dim": ("D1", "D2", "D3"), "rwt": tuple(f"RWT{number}" for number in range(1, 7))}
INDICES = tuple(index for indices in GROUPS.values() for index in indices)
NAMES = (*INDICES, "Phase")
SUFFIXES = (".mat", ".txt", ".csv")

_MATRICES = {"areas": 2, "dims": 3, "rwt": 6, "lv_phase": 1}
_SCALES = ("pix_spa", "ratio_resize_inverse")
FRAMES = 20
_SIDE = 80
_IMAGE = re.compile(r"sub-(\d{1,9})-(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """What one file holds, image by image.

    Attributes
    ----------
    images
        sub-01-01, … in the order of rows.
    named
        Whether the file names its images; a MATLAB file does not, its columns go subject by subject.
    indices
        A1 to RWT6 as they are in the file, shape (images, 11).
    phase
        Shape (images,).
    scale_mm
        Millimetres per unit of length, for each image; None where the file does not tell.
    """

    images: tuple[str, ...]
    named: bool
    indices: Floats
    phase: Floats
    scale_mm: Floats | None = None

    @property
    def factors(self) -> Floats:
        """Return what each number is multiplied with to be in mm or mm²: (images, 11); 1 where no scale is known."""
        if self.scale_mm is None:
            return np.ones(self.indices.shape)
        powers = np.array([2.0 if index in GROUPS["area"] else 1.0 for index in INDICES])
        return np.asarray(self.scale_mm[:, None] ** powers)

    def arranged(self, images: Sequence[str], path: Path) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        """Return indices and phase in the order of the given images, and which of those the file has at all."""
        if not self.named:
            if len(self.images) != len(images):
                raise InputError(
                    f"there are {len(self.images)} images (columns), the truth has {len(images)}", path=path
                )
            return self.indices, self.phase, np.ones(len(images), bool)
        rows = {image: row for row, image in enumerate(self.images)}
        if strangers := [image for image in self.images if image not in set(images)]:
            raise InputError(
                f"{shortened(strangers)}: not in the truth, which has {images[0]} to {images[-1]}", path=path
            )
        present = np.array([image in rows for image in images])
        chosen = [rows.get(image, 0) for image in images]
        indices = np.where(present[:, None], self.indices[chosen], np.nan)
        return indices, np.where(present, self.phase[chosen], np.nan), present


def read_sheet(path: Path, *, truth: bool = False, scaled: bool = True) -> Sheet:
    """Read a file, or say everything that is wrong with it."""
    sheet, problems = inspect_sheet(path, truth=truth, scaled=scaled)
    if sheet is None:
        raise InputError("; ".join(problems), path=path)
    return sheet


def inspect_sheet(path: Path, *, truth: bool = False, scaled: bool = True) -> tuple[Sheet | None, list[str]]:
    """Read a file; return what it holds, or None and all that is wrong with it.

    Parameters
    ----------
    path
        A .mat, .txt or .csv file.
    truth
        Whether it is the truth, which may tell a scale.
    scaled
        Whether that scale is wanted.

    Raises
    ------
    InputError
        The file is unreadable as a whole.
    """
    scales = _SCALES if truth and scaled else ()
    match path.suffix.lower():
        case ".mat":
            return _from_matrices(path, truth=truth, scales=scales)
        case ".txt":
            return _from_table(read_lines(path, NAMES))
        case ".csv":
            return _from_table(read_csv(path, NAMES, optional=scales))
    raise InputError("the name says nothing about the format", path=path, advice=f"It ends with {', '.join(SUFFIXES)}")


def _from_table(table: Table) -> tuple[Sheet | None, list[str]]:
    """Take images from named rows, in the order of subjects and frames."""
    matches = [_IMAGE.fullmatch(name) for name in table.names]
    if wrong := [name for name, match in zip(table.names, matches, strict=True) if not match]:
        return None, [f"images are not named sub-01-01 (subject and frame): {shortened([name[:40] for name in wrong])}"]
    numbers = [(int(match[1]), int(match[2])) for match in matches if match]
    frames = {frame for _, frame in numbers}
    if 0 in frames and FRAMES in frames:
        return None, [f"there are frames 0 and {FRAMES}: count them from 1 to {FRAMES}, or from 0 to {FRAMES - 1}"]
    if 0 in frames:
        numbers = [(subject, frame + 1) for subject, frame in numbers]
    if twice := sorted(key for key, count in Counter(numbers).items() if count > 1):
        return None, [f"images are listed twice: {shortened([_image(*key) for key in twice])}"]
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    scale = None
    if all(name in table.columns for name in _SCALES):
        scale = table.columns["pix_spa"] * table.columns["ratio_resize_inverse"] * _SIDE
        if not _positive(scale):
            return None, [f"{' and '.join(_SCALES)} must be positive numbers for every image"]
    sheet = Sheet(
        images=tuple(_image(*numbers[row]) for row in order),
        named=True,
        indices=np.stack([table.columns[index] for index in INDICES], axis=1)[order],
        phase=table.columns["Phase"][order],
        scale_mm=None if scale is None else scale[order],
    )
    return sheet, []


def _from_matrices(path: Path, *, truth: bool, scales: Sequence[str]) -> tuple[Sheet | None, list[str]]:
    """Take images from the columns of four matrices, called with _hat in predictions and without in the truth."""
    endings = ("", "_hat") if truth else ("_hat", "")
    names = [name + ending for ending in endings for name in _MATRICES]
    matrices = read_mat(path, [*names, *scales])
    problems, parts = [], []
    for name, height in _MATRICES.items():
        called = next((name + ending for ending in endings if name + ending in matrices), None)
        if called is None:
            problems.append(f"there is no variable {name}{endings[0]}")
        elif problem := _wrong_shape(called, matrices[called].shape, height):
            problems.append(problem)
        else:
            parts.append((called, matrices[called]))
    if len({part.shape[1] for _, part in parts}) > 1:
        counts = ", ".join(f"{name} {part.shape[1]}" for name, part in parts)
        problems.append(f"the variables have different numbers of images (columns): {counts}")
    if problems:
        return None, problems
    values = np.concatenate([part for _, part in parts]).T
    images = tuple(_image(column // FRAMES + 1, column % FRAMES + 1) for column in range(len(values)))
    scale = None
    if all(name in matrices for name in _SCALES):
        scale, problems = _scale(matrices["pix_spa"], matrices["ratio_resize_inverse"], len(images))
    sheet = Sheet(images, named=False, indices=values[:, :-1], phase=values[:, -1], scale_mm=scale)
    return (None if problems else sheet), problems


def _wrong_shape(name: str, shape: tuple[int, ...], height: int) -> str:
    """Say what is wrong with the shape of a matrix, "" if nothing is."""
    if len(shape) == 2 and shape[0] == height and shape[1] > 0:
        return ""
    advice = f": transpose it (in MATLAB, {name}')" if len(shape) == 2 and shape[1] == height else ""
    return f"{name} is {_shown(shape)}, not {height} × n with one column for each image{advice}"


def _scale(spacing: Floats, ratio: Floats, images: int) -> tuple[Floats | None, list[str]]:
    """Return millimetres per unit of length for each image, from a spacing per subject (or image), or what is wrong."""
    subjects = -(-images // FRAMES)
    if spacing.shape in ((1, subjects), (subjects, 1)):
        spacing = np.repeat(spacing, FRAMES)[None, :images]
    spacings, ratios = _by_image(spacing, images), _by_image(ratio, images)
    problems = []
    if spacings is None:
        problems.append(f"pix_spa is {_shown(spacing.shape)}, not 1 × {subjects} with one value for each subject")
    if ratios is None:
        needed = f"1 × {images} nor {FRAMES} × {subjects} with one column for each subject"
        problems.append(f"ratio_resize_inverse is {_shown(ratio.shape)}, neither {needed}")
    if spacings is None or ratios is None:
        return None, problems
    scale = spacings * ratios * _SIDE
    return (scale, []) if _positive(scale) else (None, [f"{' and '.join(_SCALES)} must be positive numbers"])


def _by_image(matrix: Floats, images: int) -> Floats | None:
    """Return one value per image, from a row of them or from one column per subject; None where it is neither."""
    if matrix.shape == (1, images):
        return np.asarray(matrix[0])
    if matrix.shape == (FRAMES, images // FRAMES) and images % FRAMES == 0:
        return matrix.ravel(order="F")
    return None


def _positive(numbers: Floats) -> bool:
    return bool(np.all(np.isfinite(numbers) & (numbers > 0)))


def _shown(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _image(subject: int, frame: int) -> str:
    return f"sub-{subject:02d}-{frame:02d}"
