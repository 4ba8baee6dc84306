"""A challenge of frames that tell nothing, so that all that is measured is how it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from podium.model import InputError, Interface, Question

SHAPE = (256, 256)


class SleepingInterface(Interface):
    """A case is a number of frames; the answer is a file that is there."""

    def questions(self, images: Path) -> list[Question]:
        """Find files called after their number of frames."""
        return [Question(path.stem, (path,), frames=int(path.read_text())) for path in sorted(images.glob("*.case"))]

    def lay_out(self, question: Question, folder: Path) -> None:
        """Say how many frames there are."""
        (folder / "frames").write_text(str(question.frames))

    def answer(self, question: Question, folder: Path) -> Path:
        """Return the file that is there."""
        if not (folder / "answer").exists():
            raise InputError(f"there is no answer to {question.name}")
        return folder / "answer"

    def call(self, function: Callable[..., Any], inputs: Path) -> Mapping[str, np.ndarray]:
        """Call a function with the number of frames."""
        return {"answer": function(int((inputs / "frames").read_text()))}

    def frames(self, inputs: Path) -> tuple[Mapping[str, Any], Iterator[np.ndarray]]:
        """Return frames of a usual size."""
        return {}, (np.zeros(SHAPE, np.float32) for _ in range(int((inputs / "frames").read_text())))

    def write_frames(
        self,
        question: Question,  # noqa: ARG002  # what every challenge is given
        answers: Iterator[np.ndarray],
        inputs: Path,  # noqa: ARG002  # what every challenge is given
        folder: Path,
    ) -> None:
        """Count the answers."""
        (folder / "answer").write_text(str(sum(1 for _ in answers)))


INTERFACE = SleepingInterface()
