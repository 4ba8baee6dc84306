"""A small challenge whose algorithms can be asked in every way, and a way to ask a script about its cases."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from unconfined import Plain

from podium.algorithms import podium_worker_file
from podium.algorithms.asking import ask_cases
from podium.algorithms.specs import Algorithm, Allowance, Outcome
from podium.model import Handed, InputError, Interface, Question

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

ALLOWANCE = Allowance(case_seconds=60, load_seconds=60)


class Trial:
    """A script that is asked about numbers, and what came of it; in the end, nothing may be left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.scratch, self.logs = (folder / name for name in ("home", "scratch", "logs"))
        self.home.mkdir()
        self.scratch.mkdir()
        self.confinement = Plain()
        (self.home / "podium_worker.py").write_bytes(podium_worker_file().read_bytes())

    def script(self, text: str, name: str = "algorithm.py") -> Path:
        """Write a script of the participant."""
        path = self.home / name
        path.write_text(textwrap.dedent(text))
        return path

    def questions(self, numbers: Mapping[str, int], *, frames: bool = False) -> list[Question]:
        """Write the cases of the truth."""
        images = self.folder / "images"
        images.mkdir(exist_ok=True)
        for name, number in numbers.items():
            (images / f"{name}.txt").write_text(str(number))
        return [Question(name, (images / f"{name}.txt",), number if frames else 1) for name, number in numbers.items()]

    def asking(
        self,
        script: str,
        numbers: Mapping[str, int],
        *,
        protocol: str = "many",
        interface: Interface = INTERFACE,
        allowance: Allowance = ALLOWANCE,
        warm_up: bool = False,
    ) -> Iterator[Outcome]:
        """Begin to ask a script."""
        path = self.script(script)
        if protocol == "function":
            algorithm = Algorithm("team", function=f"{path.name}:predict", folder=self.home)
        else:
            command = (sys.executable, "-B", str(path), "{input}", "{output}")
            algorithm = Algorithm("team", command, protocol=protocol, folder=self.home)
        return ask_cases(
            algorithm,
            self.confinement,
            interface,
            self.questions(numbers, frames=protocol == "frames" or allowance.frame_seconds > 0),
            allowance=allowance,
            scratch=self.scratch,
            logs=self.logs,
            warm_up=warm_up,
        )

    def asked(self, script: str, numbers: Mapping[str, int], **options: Any) -> list[tuple[Outcome, Any]]:
        """Ask a script about all cases, and return what came of each, with the content of its answer."""
        results = [(outcome, content_of(outcome)) for outcome in self.asking(script, numbers, **options)]
        assert [outcome.case for outcome, _ in results] == list(numbers)
        self.assert_nothing_is_left()
        return results

    def assert_nothing_is_left(self) -> None:
        """Hold that no process runs and no file lies about."""
        deadline = time.monotonic() + 10
        while self.confinement.running and time.monotonic() < deadline:
            time.sleep(0.01)  # what was killed takes a moment to go
        assert self.confinement.running == []
        assert list(self.scratch.iterdir()) == []


def content_of(outcome: Outcome) -> Any:
    """Return what an answer holds."""
    match outcome.answer:
        case None:
            return None
        case Handed() as arrays:
            return {name: arrays.whole(name) for name in arrays.headers}
        case path if path.suffix == ".npy":
            return np.load(path)
        case path:
            return path.read_text()
