"""What an algorithm of TrackRAD 2025 is given and where it answers: the interface of its containers on grand-challenge.

    /input/images/mri-linacs/A_001_frames.mha     the cine-MRI
    /input/images/mri-linac-target/target.mha     the target in the first frame
    /input/frame-rate.json, b-field-strength.json, scanned-region.json
    /output/images/mri-linac-series-targets/*.mha the answer

Header axes are (time, d1, d0); as NumPy arrays, a sequence is [d0, d1, time] and a frame is [d0, d1].
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from podium.io import parsed_json, read_text, write_label_map
from podium.io.answers import only_answer
from podium.io.images import image_shape, read_image
from podium.model import InputError, Interface, LabelMap, Question

__all__ = ["ANSWER", "FRAMES", "INTERFACE", "KNOWN", "TARGET"]

FRAMES = "images/mri-linacs"
TARGET = "images/mri-linac-target/target.mha"
ANSWER = "images/mri-linac-series-targets"
KNOWN = ("frame-rate", "b-field-strength", "scanned-region")
"""What is known of a scan, each in a .json of this name."""


class CineInterface(Interface):
    """A cine-MRI and its first target, all at once or frame by frame."""

    allowance: ClassVar[Mapping[str, float]] = {"case_seconds": 0.0, "frame_seconds": 1.0}

    def questions(self, images: Path) -> list[Question]:
        """Find A_001/images/A_001_frames.mha, and what belongs to it; the truth may lie beside it."""
        questions = []
        for frames in sorted(images.glob("*/images/*_frames.mha")):
            folder = frames.parents[1]
            if frames.name != f"{folder.name}_frames.mha":
                continue
            target = folder / "targets" / f"{folder.name}_first_label.mha"
            files = (frames, target, *(folder / f"{name}.json" for name in KNOWN))
            for path in files:
                if not path.is_file():
                    raise InputError(f"{path.relative_to(images)} is missing, which algorithms are given", path=images)
            questions.append(Question(folder.name, files, frames=image_shape(frames)[0]))
        return questions

    def lay_out(self, question: Question, folder: Path) -> None:
        """Copy frames, first target and what is known of the scan to where containers expect them."""
        frames, target, *known = question.files
        series = folder / FRAMES / f"{question.name}_frames.mha"
        for path in (series, folder / TARGET):
            path.parent.mkdir(parents=True)
        shutil.copyfile(frames, series)
        if image_shape(target)[0] != 1:
            raise InputError("this is not the target of one frame alone, and is not shown", path=target)
        shutil.copyfile(target, folder / TARGET)
        for path in known:
            shutil.copyfile(path, folder / path.name)

    def answer(self, question: Question, folder: Path) -> Path:  # noqa: ARG002
        """Return the only image among the targets."""
        return only_answer(folder, (f"{ANSWER}/*.mha",))

    def file_name(self, question: Question, answer: Path) -> str:  # noqa: ARG002
        """Return A_001.mha, whatever the algorithm called it."""
        return f"{question.name}.mha"

    def frames(self, inputs: Path) -> tuple[Mapping[str, Any], Iterator[npt.NDArray[Any]]]:
        """Return first target, frame rate, field strength and region, and then the frames, [d0, d1] each."""
        known: dict[str, Any] = {name: _json(inputs / f"{name}.json") for name in KNOWN}
        known["target"] = np.ascontiguousarray(read_image(inputs / TARGET).array[0].T)
        sequence = read_image(_series(inputs)).array
        return known, (np.ascontiguousarray(frame.T) for frame in sequence)

    def write_frames(self, question: Question, answers: Iterator[npt.NDArray[Any]], inputs: Path, folder: Path) -> None:
        """Write the targets of all frames as one sequence, on the grid of the images."""
        image = read_image(_series(inputs))
        labels = np.zeros(image.array.shape, np.uint8)
        count, rows = 0, image.array.shape[:0:-1]
        for count, target in enumerate(answers, start=1):
            if count > len(labels):
                raise InputError(f"there are more answers than the {len(labels)} frames of {question.name}")
            if target.shape != rows or target.dtype.kind not in "buif" or not np.isfinite(target).all():
                given, wanted = (" × ".join(map(str, shape)) for shape in (target.shape, rows))
                raise InputError(f"frame {count - 1}: the answer is {given} of {target.dtype}, not {wanted} of labels")
            labels[count - 1] = (target != 0).T
        if count < len(labels):
            raise InputError(f"there are {count} answers to the {len(labels)} frames of {question.name}")
        (folder / ANSWER).mkdir(parents=True)
        sequence = LabelMap.from_array(labels)
        sequence = replace(sequence, spacing=image.spacing, origin=image.origin, direction=image.direction)
        write_label_map(folder / ANSWER / "output.mha", sequence)


def _series(inputs: Path) -> Path:
    (path,) = (inputs / FRAMES).glob("*.mha")
    return path


def _json(path: Path) -> Any:
    return parsed_json(read_text(path), path=path)


INTERFACE = CineInterface()
