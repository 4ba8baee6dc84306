"""What an algorithm is asked and how it answers: the side of a challenge that participants' programs see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy.typing as npt

from podium.model.errors import InputError

__all__ = ["Interface", "Question"]


@dataclass(frozen=True, slots=True)
class Question:
    """A case as an algorithm is asked about it.

    Attributes
    ----------
    name
        That of the case.
    files
        What its inputs are made of; they may hold truth as well, and are never shown as they are.
    frames
        How many frames or images it has, where rules count time by them.
    """

    name: str
    files: tuple[Path, ...] = ()
    frames: int = 1


class Interface(ABC):
    """How participants of a challenge expect their inputs, and where they leave their answers.

    An author must give three members: `questions`, `lay_out` and `answer`.
    """

    allowance: ClassVar[Mapping[str, float]] = {}
    """How much the rules allow, where they say so: `case_seconds`, `frame_seconds`, `load_seconds` and other names of
    an `Allowance`."""

    answers_inside: ClassVar[str] = ""
    """Where inside its inputs an algorithm leaves its answers, if not in a folder of their own."""

    @abstractmethod
    def questions(self, images: Path) -> list[Question]:
        """Find the cases in a folder of images, sorted by name; it may be that of the truth."""

    @abstractmethod
    def lay_out(self, question: Question, folder: Path) -> None:
        """Write the inputs of a case into an empty folder: all that participants expect, and nothing of the truth."""

    @abstractmethod
    def answer(self, question: Question, folder: Path) -> Path:
        """Return where in the output folder the answer lies; raise InputError where there is none."""

    def file_name(self, question: Question, answer: Path) -> str:
        """Return how an answer is called among a team's predictions."""
        return question.name + "".join(answer.suffixes)

    def join(self, predictions: Sequence[Path], folder: Path) -> None:  # noqa: ARG002
        """Make one file of the predictions of all cases, where that is what a submission is; by default, nothing."""
        return

    @property
    def joins(self) -> bool:
        """Whether one file is a whole submission: whether there is a `join`."""
        return type(self).join is not Interface.join

    # Where an algorithm may be a function in Python.

    def call(self, function: Callable[..., Any], inputs: Path) -> Mapping[str, npt.NDArray[Any]]:  # noqa: ARG002
        """Call a participant's function on inputs that were laid out, and name the arrays it returns."""
        raise InputError("algorithms of this challenge are not functions", advice="Give a --command or an --image")

    # Where an algorithm may be fed frame by frame.

    def frames(self, inputs: Path) -> tuple[Mapping[str, Any], Iterator[npt.NDArray[Any]]]:  # noqa: ARG002
        """Return what is known before the first frame, and the frames in turn, of inputs that were laid out.

        Arrays among what is known, such as the first label, are handed over as arrays.
        """
        raise InputError("this challenge has no frames", advice="Leave --frames away")

    def write_frames(self, question: Question, answers: Iterator[npt.NDArray[Any]], inputs: Path, folder: Path) -> None:
        """Write the answers to all frames into the output folder, as an algorithm itself would have."""
        raise NotImplementedError
