"""A small challenge whose algorithms can be asked in every way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.model import InputError, Interface, Question

SHAPE = (3, 4)


class Doubling(Interface):
    """The input is a number; the answer is its double. As frames: the number, the number + 1 and so on."""

    def questions(self, images: Path) -> list[Question]:
        """Find the cases: CASE.txt."""
        return [Question(path.stem, (path,)) for path in sorted(images.glob("*.txt"))]

    def lay_out(self, question: Question, folder: Path) -> None:
        """Write number.txt, and the same in a folder."""
        (folder / "more").mkdir()
        for name in ("number.txt", "more/number.txt"):
            (folder / name).write_text(question.files[0].read_text())

    def answer(self, question: Question, folder: Path) -> Path:
        """Return answer.txt, or answer.npy."""
        for name in ("answer.txt", "answer.npy"):
            if (folder / name).is_file():
                return folder / name
        raise InputError(f"there is no answer.txt for {question.name}")

    def call(self, function: Callable[..., Any], inputs: Path) -> Mapping[str, npt.NDArray[Any]]:
        """Call function(number), which returns a dictionary of arrays."""
        arrays: Mapping[str, npt.NDArray[Any]] = function(int((inputs / "number.txt").read_text()))
        return arrays

    def frames(self, inputs: Path) -> tuple[Mapping[str, Any], Iterator[npt.NDArray[Any]]]:
        """Return a rate, a first label, and as many frames as the number says, filled with their own number."""
        number = int((inputs / "number.txt").read_text())
        frames = (np.full(SHAPE, index, np.float32) for index in range(number))
        return {"rate": 4.5, "first": np.full(SHAPE, 7, np.uint8)}, frames

    def write_frames(self, question: Question, answers: Iterator[npt.NDArray[Any]], inputs: Path, folder: Path) -> None:  # noqa: ARG002
        """Write all answers to answer.npy."""
        masks = []
        for index, mask in enumerate(answers):
            if mask.shape != SHAPE:
                raise InputError(f"frame {index} is {mask.shape}, not {SHAPE}")
            masks.append(mask)
        np.save(folder / "answer.npy", np.stack(masks))


class DoublingInside(Doubling):
    """The same, with answers among the inputs."""

    answers_inside = "preds"


INTERFACE = Doubling()
