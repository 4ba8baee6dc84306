"""The sixth challenge with algorithms that can be asked, and a plain way to ask them, by a subprocess for each case."""
# ruff: noqa: ARG002, D102

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from sixth_challenge import Landmarks

from podium.algorithms.confinement import Confined, Confinement, Exit
from podium.algorithms.specs import Algorithm, Ending, Outcome, Spans
from podium.model import InputError, Interface, Question


class PointInterface(Interface):
    """An image is a text with a point, and so is the answer."""

    def questions(self, images):
        """Find 001.image and so on; the number of frames is its size."""
        return [Question(path.stem, (path,), frames=path.stat().st_size) for path in sorted(images.glob("*.image"))]

    def lay_out(self, question, folder):
        """Give the image a name that tells nothing."""
        shutil.copyfile(question.files[0], folder / "image.txt")

    def answer(self, question, folder):
        """Find point.txt."""
        if not (folder / "point.txt").exists():
            raise InputError("there is no point.txt")
        return folder / "point.txt"


class JoiningInterface(PointInterface):
    """All points in one file."""

    def join(self, predictions, folder):
        """Write them one after the other."""
        lines = [f"{path.stem} {path.read_text().strip()}\n" for path in predictions]
        (folder / "points.txt").write_text("".join(lines))


class AskedLandmarks(Landmarks):
    """Landmarks that algorithms find."""

    name: ClassVar[str] = "asked-landmarks"
    counts: bool = False
    """Whether time counts."""
    baseline_seconds: float | None = None
    """The time of a baseline, as another challenge has it."""

    @property
    def counts_time(self):
        """Return what is asked for."""
        return self.counts

    @property
    def interface(self):
        """Return how algorithms are asked."""
        return PointInterface()


def write_images(folder: Path, points: dict[str, str]) -> Path:
    """Write images, and return their folder."""
    images = folder / "images"
    images.mkdir(parents=True)
    for name, text in points.items():
        (images / f"{name}.image").write_text(text)
    return images


COPY = "import sys, pathlib as p; i, o = map(p.Path, sys.argv[1:3]); t = (i / 'image.txt').read_text(); "
"""The beginning of an algorithm: the text of the image is t."""
ANSWER = "(o / 'point.txt').write_text(t)"


def python(team: str, code: str = ANSWER, **given: Any) -> Algorithm:
    """Return an algorithm in one line of Python."""
    return Algorithm(team, command=(sys.executable, "-c", COPY + code, "{input}", "{output}"), **given)


class _Running(Confined):
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.stdin = self.stdout = None
        self.started = time.perf_counter()
        self._process = process

    def broken(self):
        return None if self._process.poll() is None else self._exit()

    def _exit(self):
        code = self._process.returncode
        return Exit(Ending.CRASHED, f"exit code {code}") if code else Exit(Ending.ANSWERED, processor_seconds=0.0)

    def wait(self, seconds):
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            return Exit(Ending.TOO_SLOW, f"more than {seconds:g} s")
        return self._exit()

    def stop(self):
        self._process.kill()
        self._process.wait()
        return self._exit()


class PlainConfinement(Confinement):
    """No confinement at all."""

    isolated = False

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.closed = 0

    def prepare(self, algorithm):
        self.prepared.append(algorithm.name)

    def start(self, algorithm, words, *, binds, output, allowance, log, pipes=False):
        with log.open("wb") as file:
            process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        return _Running(process)

    def close(self):
        self.closed += 1


def ask_plainly(
    algorithm, confinement, interface, questions, *, allowance, scratch, logs, warm_up=False, challenge="", load=0.0
):
    """Start a program for each question."""
    first = True
    for question in questions:
        inputs, output = scratch / "input", scratch / "output"
        try:
            for folder in (inputs, output):
                folder.mkdir()
            interface.lay_out(question, inputs)
            words = [
                word.format(input=inputs, output=output) if word[:1] == "{" else word for word in algorithm.command
            ]
            log = logs / f"{question.name}.log"
            confined = confinement.start(
                algorithm, words, binds=(), output=output, allowance=allowance, log=log, pipes=False
            )
            try:
                end = confined.wait(allowance.seconds(question.frames))
            finally:
                confined.stop()
            spans = Spans(load=load if first else 0.0, run=time.perf_counter() - confined.started)
            reason = "; ".join(filter(None, [end.reason, *log.read_text().splitlines()[-1:]]))
            outcome = Outcome(question.name, end.ending, reason, spans, end.processor_seconds)
            if end.ending is Ending.ANSWERED:
                try:
                    answer = interface.answer(question, output)
                    outcome = Outcome(question.name, end.ending, "", spans, end.processor_seconds, answer=answer)
                except InputError as error:
                    outcome = Outcome(question.name, Ending.NO_OUTPUT, error.problem, spans)
            first = False
            yield outcome
        finally:
            for folder in (inputs, output):
                shutil.rmtree(folder, ignore_errors=True)
