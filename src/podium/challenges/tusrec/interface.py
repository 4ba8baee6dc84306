"""What an algorithm of TUS-REC is given and what it returns: the organisers' files, without the tracker's poses.

    frames/050/RH_rotation.h5     frames [N, height, width]
    landmarks/landmark_050.h5     RH_rotation [landmarks, 3]: of this scan alone
    calib_matrix.csv              pixels to mm, and image to tool
    dataset_keys.h5               sub050__RH_rotation

The answer is sub050__RH_rotation.h5, .npz or a folder of .npy. Or the algorithm is a function, as participants submit
it: predict_ddfs(frames, landmark, data_path_calib, device) returns GP, GL, LP and LL.
"""

from __future__ import annotations

import inspect
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from podium.challenges.tusrec._scan import TRAINING, parts_of
from podium.io.answers import only_answer
from podium.io.arrays import Stored, dataset, open_hdf5
from podium.model import InputError, Interface, Question

__all__ = ["CALIBRATION", "INTERFACE", "SETS", "scan_of"]

SETS = ("GP", "GL", "LP", "LL")
"""What a function returns, in the organisers' order: global and local, of all pixels and of landmarks."""

CALIBRATION = "calib_matrix.csv"
_AT_ONCE = 64


class SweepInterface(Interface):
    """Frames, landmarks and calibration of one scan."""

    def questions(self, images: Path) -> list[Question]:
        """Find frames/050/RH_rotation.h5, or frames_transfs in the training layout, and what belongs to it."""
        questions = []
        for path in sorted(path for name in ("frames", TRAINING) for path in images.glob(f"{name}/*/*.h5")):
            subject, scan = path.parent.name, path.stem
            folder = images / ("landmarks" if (images / "landmarks").is_dir() else "landmark")
            files = (path, folder / f"landmark_{subject}.h5", images / CALIBRATION)
            for needed in files:
                if not needed.is_file():
                    raise InputError(
                        f"{needed.relative_to(images)} is missing, which the scan {subject}/{scan} needs", path=images
                    )
            questions.append(Question(f"sub{subject}__{scan}", files, frames=_frames(path)))
        names = [question.name for question in questions]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"the scan {twice[0]} is there twice: in frames and in {TRAINING}", path=images)
        return sorted(questions, key=lambda question: question.name)

    def lay_out(self, question: Question, folder: Path) -> None:
        """Write frames and landmarks of one scan; whatever else lies in their files stays there."""
        images, landmarks, calibration = question.files
        subject, scan = parts_of(question.name)
        frames = folder / "frames" / subject / f"{scan}.h5"
        places = folder / "landmarks" / f"landmark_{subject}.h5"
        for path in (frames, places):
            path.parent.mkdir(parents=True)
        with open_hdf5(images) as source, h5py.File(frames, "w") as target:
            _copy(dataset(source, "frames", path=images), target, "frames")
        with open_hdf5(landmarks) as source, h5py.File(places, "w") as target:
            _copy(dataset(source, scan, path=landmarks), target, scan)
        shutil.copyfile(calibration, folder / CALIBRATION)
        with h5py.File(folder / "dataset_keys.h5", "w") as target:
            target.create_dataset(question.name, data=0)

    def answer(self, question: Question, folder: Path) -> Path:
        """Return the prediction in any form that is accepted."""
        return only_answer(folder, (f"{question.name}.h5", f"{question.name}.npz", question.name), folders=True)

    def file_name(self, question: Question, answer: Path) -> str:  # noqa: ARG002
        """Return what the answer is called."""
        return answer.name

    def call(self, function: Callable[..., Any], inputs: Path) -> Mapping[str, npt.NDArray[Any]]:
        """Call predict_ddfs on a scan; one of 2024 takes no device."""
        frames, landmarks = scan_of(inputs)
        arguments = [frames, landmarks, str(inputs / CALIBRATION), _device()]
        try:
            inspect.signature(function).bind(*arguments)
        except TypeError:
            arguments.pop()
        sets = function(*arguments)
        if not isinstance(sets, tuple | list) or len(sets) != len(SETS):
            raise InputError(f"the function returned {_described(sets)}, not the four sets {', '.join(SETS)}")
        return {name: np.asarray(array) for name, array in zip(SETS, sets, strict=True)}


def scan_of(inputs: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Read frames and landmarks of inputs that were laid out."""
    (frames,) = inputs.glob("frames/*/*.h5")
    (landmarks,) = inputs.glob("landmarks/*.h5")
    with h5py.File(frames) as images, h5py.File(landmarks) as places:
        return images["frames"][()], places[frames.stem][()]


def _frames(path: Path) -> int:
    with open_hdf5(path) as file:
        return len(dataset(file, "frames", path=path))


def _copy(source: Stored, target: h5py.File, name: str) -> None:
    """Copy a dataset some rows at a time."""
    copy = target.create_dataset(name, source.shape, source.dtype)
    for start in range(0, len(source), _AT_ONCE):
        copy[start : start + _AT_ONCE] = source[start : start + _AT_ONCE]


def _device() -> str:
    """Return "cuda" where the algorithm itself has loaded PyTorch and finds a GPU."""
    torch = sys.modules.get("torch")
    return "cuda" if torch is not None and torch.cuda.is_available() else "cpu"


def _described(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, tuple | list) else f"a value of type {type(value).__name__}"


INTERFACE = SweepInterface()
