"""Baselines of TUS-REC: no motion, and a constant sweep. See `podium.challenges.baselines`.

The constant sweep is estimated from speckle: two points of it are the less alike the further they lie apart, by one law
within a frame, where the distance is known, and between frames, where it is asked for. So every frame is taken to move
out of its plane by the same step, and to turn about its upper edge by the same angle. Which way it moves, forwards or
backwards, speckle does not tell: forwards is assumed. That probes move unevenly, that tissue is more than speckle, and
that a beam is wider across the plane than within it, is ignored.

`predict_ddfs` is the same as a function, in the form in which participants submit theirs.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from podium.challenges.baselines import answer_as_asked
from podium.challenges.tusrec._scan import read_calibration
from podium.challenges.tusrec.interface import CALIBRATION, scan_of
from podium.model import Floats

__all__ = ["METHODS", "answer", "constant_sweep", "no_motion", "predict_ddfs"]

_BANDS = 4
_MOST_ALIKE, _LEAST_ALIKE = 1 - 1e-6, 0.05
"""Correlations that a distance is still told from."""


def no_motion(frames: npt.NDArray[Any], scaling: Floats) -> Floats:  # noqa: ARG001  # what every baseline is given
    """Return the transform from every frame but the first to the one before it: none."""
    return np.tile(np.eye(4), (len(frames) - 1, 1, 1))


def constant_sweep(frames: npt.NDArray[Any], scaling: Floats) -> Floats:
    """Return the transform from every frame but the first to the one before it: always the same step and turn.

    Parameters
    ----------
    frames
        Shape (frames, height, width).
    scaling
        From pixels to image millimetres, shape (4, 4).
    """
    across, down = abs(scaling[0, 0]), abs(scaling[1, 1])
    within = _correlation(frames[:, :, :-1], frames[:, :, 1:])
    speckle_mm = across / _distance(within)
    bands = np.array_split(np.arange(frames.shape[1]), _BANDS)
    steps = [speckle_mm * _distance(_correlation(frames[:-1, band], frames[1:, band])) for band in bands]
    depths = [down * (band.mean() + 1) for band in bands]
    turn, step = np.polyfit(depths, steps, 1)
    local = np.eye(4)
    local[:3, :3] = Rotation.from_rotvec([turn, 0, 0]).as_matrix()
    local[2, 3] = step
    return np.tile(local, (len(frames) - 1, 1, 1))


def _correlation(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Return the mean correlation of images with images."""
    values = []
    for first, second in zip(one, other, strict=True):
        a, b = (image - image.mean() for image in (first.astype(np.float64), second.astype(np.float64)))
        scale = np.sqrt(np.sum(a * a) * np.sum(b * b))
        values.append(float(np.sum(a * b) / scale) if scale > 0 else 1.0)
    return float(np.mean(values))


def _distance(correlation: float) -> float:
    """Return the distance at which speckle is so much alike, in units of its size: exp(-d² / 2) = correlation."""
    return float(np.sqrt(-2 * np.log(np.clip(correlation, _LEAST_ALIKE, _MOST_ALIKE))))


def _to_first(local: Floats) -> Floats:
    """Return the transforms to the first frame from those to the previous ones."""
    levels = [np.eye(4)]
    for step in local:
        levels.append(levels[-1] @ step)
    return np.stack(levels[1:]) if len(local) else np.zeros((0, 4, 4))


def answer(inputs: Path, output: Path, *, method: Any = constant_sweep) -> None:
    """Write the transforms of a scan, from which its four sets follow."""
    frames, _ = scan_of(inputs)
    (path,) = inputs.glob("frames/*/*.h5")
    scaling, _ = read_calibration(inputs / CALIBRATION)
    local = method(frames, scaling)
    np.savez(output / f"sub{path.parent.name}__{path.stem}.npz", **{"global": _to_first(local), "local": local})


def predict_ddfs(
    frames: npt.NDArray[Any],
    landmark: npt.NDArray[Any],
    data_path_calib: str,
    device: object = "cpu",  # noqa: ARG001  # the signature is the organisers'
) -> tuple[npt.NDArray[np.float32], ...]:
    """Return the displacements GP, GL, LP and LL of a constant sweep, in mm.

    Parameters
    ----------
    frames
        Shape (frames, height, width).
    landmark
        Frame from 0, x and y from 1 of each, shape (landmarks, 3).
    data_path_calib
        Where calib_matrix.csv lies.
    device
        Not used.
    """
    scaling, _ = read_calibration(Path(data_path_calib))
    local = constant_sweep(frames, scaling)
    height, width = frames.shape[1:]
    y, x = np.mgrid[1 : height + 1, 1 : width + 1].reshape(2, -1)
    pixels = scaling @ np.stack([x, y, 0 * x, 0 * x + 1])
    frame, column, row = np.asarray(landmark, int).T
    points = scaling @ np.stack([column, row, 0 * row, 0 * row + 1])
    sets = []
    for transforms in (_to_first(local), local):
        motion = transforms - np.eye(4)
        everywhere = np.empty((len(motion), 3, pixels.shape[1]), np.float32)
        for index, matrix in enumerate(motion):
            everywhere[index] = matrix[:3] @ pixels
        moved = np.concatenate([np.zeros((1, 4, 4)), motion])[frame]  # the first frame stays where it is
        sets += [everywhere, np.einsum("nij,jn->in", moved, points)[:3].astype(np.float32)]
    return tuple(sets)


METHODS = {
    "standstill": partial(answer, method=no_motion),
    "constant-sweep": partial(answer, method=constant_sweep),
}

if __name__ == "__main__":
    answer_as_asked(METHODS)
