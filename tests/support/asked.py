"""A way to ask a script about cases of a small challenge."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from doubling import INTERFACE
from unconfined import Plain

from podium.algorithms import podium_worker_file
from podium.algorithms.asking import ask_cases
from podium.algorithms.confinement import Confinement
from podium.algorithms.specs import Algorithm, Allowance, Ending, Outcome
from podium.model import Handed, Interface, Question

ALLOWANCE = Allowance(case_seconds=60, load_seconds=60)


class Trial:
    """A script that is asked about numbers, and what came of it; in the end, nothing may be left."""

    def __init__(self, folder: Path, confinement: Confinement | None = None) -> None:
        self.folder = folder
        self.home, self.scratch, self.logs = (folder / name for name in ("home", "scratch", "logs"))
        self.home.mkdir()
        self.scratch.mkdir()
        self.confinement: Any = confinement or Plain()
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
        if isinstance(self.confinement, Plain):
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


def endings(results: list[tuple[Outcome, Any]]) -> list[Ending]:
    """Return how each case ended."""
    return [outcome.ending for outcome, _ in results]
