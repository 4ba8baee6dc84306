"""Errors of a reconstructed ultrasound sweep: how far predicted displacements put each pixel from its true place.

A frame's true displacements follow from two poses and are affine in the pixel, so they are never built; predicted
ones are taken a frame at a time, so a sweep of any length needs the memory of one frame.

Coordinates are homogeneous millimetres of the image plane; a pixel is (x, y) counted from 1, x along a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from podium.metrics._kernels.displacements import affine_error, field_error
from podium.metrics._rows import as_array, as_numbers
from podium.metrics.registry import AN_ERROR, declare
from podium.model import UNDEFINED, InputError

__all__ = ["displacement_error", "landmark_displacements", "relative_transforms", "transform_error"]

Floats = npt.NDArray[np.float64]


def relative_transforms(
    poses: npt.ArrayLike, calibration: npt.ArrayLike, *, to: Literal["first", "previous"]
) -> Floats:
    """Return the transforms that take each frame but the first to the first or to its previous frame.

    T(i→j) = C⁻¹ · T_j⁻¹ · T_i · C, from image millimetres to image millimetres.

    Parameters
    ----------
    poses
        T, from tracked tool to tracker, shape (frames, 4, 4).
    calibration
        C, rigid, from image millimetres to tool, shape (4, 4).
    to
        Which frame is the target: `first` (global) or `previous` (local).

    Returns
    -------
    ndarray
        Shape (frames − 1, 4, 4); entry k belongs to frame k + 1.
    """
    pose, rigid = as_numbers(poses), as_numbers(calibration)
    if pose.ndim != 3 or pose.shape[1:] != (4, 4) or len(pose) < 2 or rigid.shape != (4, 4):
        raise InputError(f"poses must have the shape (2 or more, 4, 4), not {pose.shape}; calibration (4, 4)")
    if not (np.isfinite(pose).all() and np.isfinite(rigid).all()):
        raise InputError("a pose or the calibration has an entry that is not a finite number")
    if to not in ("first", "previous"):
        raise InputError(f"frames are taken to 'first' or 'previous', not {to!r}")
    target = pose[:1] if to == "first" else pose[:-1]
    return np.linalg.inv(rigid) @ np.linalg.inv(target) @ pose[1:] @ rigid


def _per_pixel(transform: Floats, scaling: Floats) -> Floats:
    """Return the 3 × 3 matrix that turns (x, y, 1) in pixels into a displacement in mm, for each transform."""
    _check_shapes(transform, scaling)
    return np.ascontiguousarray(((transform - np.eye(4)) @ scaling)[..., :3, [0, 1, 3]])


def _check_shapes(transform: Floats, scaling: Floats) -> None:
    if transform.ndim != 3 or transform.shape[1:] != (4, 4) or scaling.shape != (4, 4):
        raise InputError(
            f"transforms must have the shape (frames, 4, 4), not {transform.shape}; scaling (4, 4), not {scaling.shape}"
        )
    if not (np.isfinite(transform).all() and np.isfinite(scaling).all()):
        raise InputError("a transform or the scaling has an entry that is not a finite number")


_ERROR: dict[str, Any] = {
    "family": "reconstruction",
    "unit": "mm",
    **AN_ERROR,
    "symmetric": True,
    "empty": {"no frames": UNDEFINED},
}


@declare(
    title="Displacement error",
    **_ERROR,
    formula="Σ |true place − predicted place| / pixels, over all frames",
    same_as={},
)
def displacement_error(
    transforms: npt.ArrayLike, frames: Iterable[npt.NDArray[np.floating]], *, scaling: npt.ArrayLike, width: int
) -> float:
    """Return the mean distance between true and predicted place of a pixel, over all pixels of all frames, in mm.

    Parameters
    ----------
    transforms
        True transforms of each frame, shape (frames, 4, 4), image millimetres to image millimetres.
    frames
        Predicted displacements in mm of each frame in turn, shape (3, height · width), rows of x. Consumed one by one.
    scaling
        From pixels to image millimetres, shape (4, 4).
    width
        Pixels in a row.

    Raises
    ------
    InputError
        A frame is missing, has the wrong shape, or holds a value that is not finite.
    """
    matrices = _per_pixel(as_numbers(transforms), as_numbers(scaling))
    if width < 1:
        raise InputError(f"a row has at least one pixel, not {width}")
    width = int(width)
    if not isinstance(frames, Iterable):
        raise InputError(f"frames are displacements in turn, not {frames!r:.60}")
    total, pixels, seen = 0.0, None, 0
    for given in frames:
        frame = as_array(given)
        frame = frame if frame.dtype.kind == "f" else as_numbers(frame)
        if seen == len(matrices) or frame.ndim != 2 or frame.shape[0] != 3 or frame.shape[1] % width:
            raise InputError(
                f"displacements must be {len(matrices)} frames of shape (3, rows · {width}), "
                f"frame {seen + 1} has the shape {frame.shape}"
            )
        if pixels not in (None, frame.shape[1]):
            raise InputError(f"frame {seen + 1} has {frame.shape[1]} pixels, the first has {pixels}")
        pixels = frame.shape[1]
        dtype = np.float32 if frame.dtype.itemsize <= 4 and frame.dtype.kind == "f" else np.float64
        error = float(field_error(np.ascontiguousarray(frame, dtype), matrices[seen], width))
        if not np.isfinite(error):
            raise InputError(f"frame {seen + 1} has a displacement that is not a finite number")
        total += error
        seen += 1
    if seen != len(matrices):
        raise InputError(f"there are displacements for {seen} frames, {len(matrices)} are expected")
    return total / (seen * pixels) if pixels else displacement_error.empty["no frames"]


@declare(
    title="Transform error",
    **_ERROR,
    formula="Σ |true place − place by the predicted transform| / pixels, over all frames",
    same_as={},
)
def transform_error(
    transforms: npt.ArrayLike,
    predicted: npt.ArrayLike | None = None,
    *,
    scaling: npt.ArrayLike,
    shape: tuple[int, int],
) -> float:
    """Return what `displacement_error` gives for displacements that follow from predicted transforms, in mm.

    Parameters
    ----------
    transforms, predicted
        True and predicted transforms of each frame, shape (frames, 4, 4). Without predicted ones, no displacement is
        assumed: the error of a method that does nothing.
    scaling
        From pixels to image millimetres, shape (4, 4).
    shape
        Height and width of a frame in pixels.
    """
    true = as_numbers(transforms)
    guess = np.broadcast_to(np.eye(4), true.shape) if predicted is None else as_numbers(predicted)
    if guess.shape != true.shape:
        raise InputError(f"predicted transforms have the shape {guess.shape}, {true.shape} is expected")
    if not np.isfinite(guess).all():
        raise InputError("a predicted transform has an entry that is not a finite number")
    sides = as_array(shape)
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or sides.min() < 1:
        raise InputError(f"shape is height and width of a frame, at least one pixel each, not {shape!r:.60}")
    height, width = sides.tolist()
    to_mm = as_numbers(scaling)
    _check_shapes(true, to_mm)
    if len(true) == 0:
        return transform_error.empty["no frames"]
    difference = np.ascontiguousarray(((guess - true) @ to_mm)[..., :3, [0, 1, 3]])
    total = sum(affine_error(matrix, height, width) for matrix in difference)
    return float(total / (len(true) * height * width))


def landmark_displacements(transforms: npt.ArrayLike, landmarks: npt.ArrayLike, *, scaling: npt.ArrayLike) -> Floats:
    """Return the displacement of each landmark, in mm, shape (3, landmarks).

    Parameters
    ----------
    transforms
        Of every frame but the first, shape (frames − 1, 4, 4).
    landmarks
        Frame index from 0, then x and y in pixels from 1, shape (landmarks, 3). On frame 0 nothing moves.
    scaling
        From pixels to image millimetres, shape (4, 4).
    """
    matrices = _per_pixel(as_numbers(transforms), as_numbers(scaling))
    points = as_numbers(landmarks)
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(f"landmarks must have the shape (landmarks, 3), not {points.shape}")
    if not np.isfinite(points).all():
        raise InputError("a landmark has a coordinate that is not a finite number")
    frame = points[:, 0].astype(np.int64)
    strange = (frame != points[:, 0]) | (frame < 0) | (frame > len(matrices))
    if strange.any():
        raise InputError(f"a landmark lies on frame {points[strange, 0][0]:g}, the last frame is {len(matrices)}")
    pixels = np.column_stack([points[:, 1:], np.ones(len(points))])
    matrices = np.concatenate([np.zeros((1, 3, 3)), matrices])
    return np.asarray(np.einsum("nij,nj->in", matrices[frame], pixels))
