"""What people look at in a scan: how its frames move through space, and how the error grows along it."""

from __future__ import annotations

import numpy as np

from podium.challenges.tusrec._errors import DISPLACEMENTS, TRANSFORMS, form_of, naming, shape_problems, transforms_of
from podium.challenges.tusrec._prediction import ScanPrediction
from podium.challenges.tusrec._scan import TARGETS, Scan
from podium.metrics import displacement_error, landmark_displacements, transform_error
from podium.model import Course, Curves, Floats, InputError, Line, Paths, Sweep, View

__all__ = ["sweep", "views_of"]

_OUTLINES = 5  # frames that are drawn as a whole, to show how they lie
_TITLES = {"G": "Error along the scan, to the first frame", "L": "Error along the scan, to the previous frame"}


def views_of(prediction: ScanPrediction, scan: Scan) -> list[View]:
    """Show true and predicted corners of the frames, and the error of every frame at both levels.

    Displacements are read once, a few frames at a time.
    """
    if problems := shape_problems(prediction, scan):
        raise InputError("; ".join(problems), path=prediction.path)
    views: list[View] = []
    for level in TARGETS:
        moved, errors = _moved(prediction, level, scan)
        if level == "G":
            views.append(_trajectory(scan, moved))
        views.append(_along(_TITLES[level], level, scan, errors))
    return views


def sweep(prediction: ScanPrediction, scan: Scan) -> Sweep:
    """Show the way of the frames' corners through space, and the error of each frame, to the first one."""
    if problems := shape_problems(prediction, scan):
        raise InputError("; ".join(problems), path=prediction.path)
    moved, errors = _moved(prediction, "G", scan)
    course = Course("mean error of a pixel", np.concatenate([[np.nan], errors]), "mm")
    return Sweep("Corners of the frames", *_places(scan, moved), "mm", course)


def _moved(prediction: ScanPrediction, level: str, scan: Scan) -> tuple[Floats, Floats]:
    """Return the displacements of the corners and the mean error of every frame but the first."""
    if form_of(prediction) == DISPLACEMENTS:
        return _of_displacements(prediction, f"{level}P", level, scan)
    return _of_transforms(prediction, TRANSFORMS[level], level, scan)


def _corners(scan: Scan) -> Floats:
    """Return x and y of the corners in pixels from 1, in the order of walking around a frame, shape (4, 2)."""
    height, width = scan.shape
    return np.array([(1, 1), (width, 1), (width, height), (1, height)], np.float64)


def _at_corners(transforms: Floats, scan: Scan) -> Floats:
    """Return the displacement of every corner in every frame but the first, in mm, shape (frames − 1, 4, 3)."""
    corners = _corners(scan)
    frames = np.repeat(np.arange(1, len(transforms) + 1), len(corners))
    points = np.column_stack([frames, np.tile(corners, (len(transforms), 1))])
    moved = landmark_displacements(transforms, points, scaling=scan.scaling)
    return moved.T.reshape(len(transforms), len(corners), 3)


def _of_transforms(prediction: ScanPrediction, name: str, level: str, scan: Scan) -> tuple[Floats, Floats]:
    guess = transforms_of(prediction, name)
    errors = [
        transform_error(true[None], predicted[None], scaling=scan.scaling, shape=scan.shape)
        for true, predicted in zip(scan.transforms[level], guess, strict=True)
    ]
    return _at_corners(guess, scan), np.array(errors)


def _of_displacements(prediction: ScanPrediction, name: str, level: str, scan: Scan) -> tuple[Floats, Floats]:
    """Return the displacements of the corners and the mean error of every frame, from one pass over the file."""
    height, width = scan.shape
    transforms = scan.transforms[level]
    errors = np.zeros(len(transforms))
    moved = np.zeros((len(transforms), 4, 3))
    for rows, frames in prediction.strips(name, width=width):
        down = np.eye(4)
        down[1, 3] = rows.start
        scaling = scan.scaling @ down
        inside = [(k, (int(y) - 1 - rows.start) * width + int(x) - 1) for k, (x, y) in enumerate(_corners(scan))]
        inside = [(corner, place) for corner, place in inside if 0 <= place < len(rows) * width]
        for index, frame in enumerate(frames):
            with naming(prediction, name):
                error = displacement_error(transforms[index : index + 1], [frame], scaling=scaling, width=width)
            errors[index] += error * len(rows) / height
            for corner, place in inside:
                moved[index, corner] = frame[:, place]
    return moved, errors


def _places(scan: Scan, moved: Floats) -> tuple[Floats, Floats]:
    """Return where the corners truly are and where they are predicted, in mm, shape (frames, 4, 3)."""
    corners = _corners(scan)
    start = (scan.scaling @ np.column_stack([corners, np.zeros(4), np.ones(4)]).T)[:3].T
    displacements = (_at_corners(scan.transforms["G"], scan), moved)
    true, guess = (np.concatenate([start[None], start + own]) for own in displacements)
    return true, guess


def _trajectory(scan: Scan, moved: Floats) -> Paths:
    true, guess = _places(scan, moved)
    lines: list[Line] = []
    outlined = np.unique(np.linspace(0, len(true) - 1, _OUTLINES).round().astype(int))
    for places, name, kind in ((true, "true", "reference"), (guess, "predicted", "prediction")):
        around = [places[frame][[0, 1, 2, 3, 0]] for frame in outlined.tolist()]
        lines += [Line(name, points, kind) for points in (*places.transpose(1, 0, 2), *around)]  # type: ignore[arg-type]
    return Paths("Corners of the frames", "mm", tuple(lines))


def _along(title: str, level: str, scan: Scan, errors: Floats) -> Curves:
    nothing = [
        transform_error(motion[None], scaling=scan.scaling, shape=scan.shape) for motion in scan.transforms[level]
    ]
    frames = np.arange(1, len(errors) + 1, dtype=np.float64)
    return Curves(
        title,
        "frame",
        "mean error of a pixel, mm",
        (
            Line("if nothing moved", np.column_stack([frames, nothing]), "other"),
            Line("predicted", np.column_stack([frames, errors])),
        ),
    )
