"""Asking an algorithm about cases: started for each of them, or once for all, and then case by case or frame by frame.

The protocols are specified in docs/algorithms.md.
"""

from __future__ import annotations

import inspect
import pickle
import sys
import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.algorithms import _host
from podium.algorithms.confinement import Confined, Confinement, Exit
from podium.algorithms.handing import HandedByProcess
from podium.algorithms.reasons import BrokenError, explained
from podium.algorithms.sessions import Session, Watch
from podium.algorithms.specs import Algorithm, Allowance, Bind, Ending, Outcome
from podium.algorithms.surroundings import whole
from podium.algorithms.workspace import Places, Workspace, file_name, keep
from podium.model import Handed, InputError, Interface, Question

__all__ = ["ask_cases"]

INPUT, OUTPUT = "/input", "/output"
_MOST_STARTS = 3  # in a row of which none becomes ready


def ask_cases(
    algorithm: Algorithm,
    confinement: Confinement,
    interface: Interface,
    questions: Iterable[Question],
    *,
    allowance: Allowance,
    scratch: Path,
    logs: Path,
    warm_up: bool = False,
    challenge: str = "",
) -> Iterator[Outcome]:
    """Ask an algorithm about cases, and yield what came of each, in their order.

    When an outcome is yielded, all of its case is gone but the answer, and nothing of the next is there. The answer
    goes when the next outcome is asked for. However this ends, nothing is left running or lying in `scratch`.

    Parameters
    ----------
    confinement
        Where it runs, prepared for this algorithm.
    scratch
        A folder for what an algorithm reads and writes.
    logs
        The folder for what it says: CASE.log, after the case that it was started for.
    warm_up
        Ask the first case after a start twice, of which the first time does not count.
    challenge
        Its title, for messages.
    """
    if algorithm.function and type(interface).call is Interface.call:
        raise InputError(
            f"algorithms of {challenge or 'this challenge'} are not functions", advice="Give a --command or an --image"
        )
    logs.mkdir(parents=True, exist_ok=True)
    kinds: dict[str, Callable[..., _Asking]] = {"case": _OneByOne, "many": _Many, "frames": _Frames}
    kind = _Function if algorithm.function else kinds[algorithm.protocol]
    asking = kind(algorithm, confinement, interface, allowance, scratch, logs, warm_up)
    try:
        upcoming = iter(questions)
        question = next(upcoming, None)
        while question is not None:
            following = next(upcoming, None)
            yield asking.outcome(question, last=following is None)
            question = following
    finally:
        asking.close()


@dataclass
class _Asking(ABC):
    """How one algorithm is asked."""

    algorithm: Algorithm
    confinement: Confinement
    interface: Interface
    allowance: Allowance
    scratch: Path
    logs: Path
    warm_up: bool

    def __post_init__(self) -> None:
        self.workspace = Workspace(self.scratch, end=self.stop)

    @abstractmethod
    def outcome(self, question: Question, *, last: bool) -> Outcome:
        """Ask about a case."""

    @abstractmethod
    def stop(self) -> None:
        """End the program, where it runs."""

    def close(self) -> None:
        """End the program, and remove the folders."""
        self.stop()
        self.workspace.close()

    def start(self, log: Path, binds: list[Bind], output: Path, *, pipes: bool) -> Confined:
        """Start the program, which sees what is bound."""
        words = self.words()
        for bind in binds:
            name = {INPUT: "{input}", OUTPUT: "{output}"}.get(bind.target, "")
            if name:
                words = [word.replace(name, self.confinement.seen(bind)) for word in words]
        return self.confinement.start(
            self.algorithm, words, binds=binds, output=output, allowance=self.allowance, log=log, pipes=pipes
        )

    def words(self) -> list[str]:
        """Return the command."""
        return list(self.algorithm.command)

    def log(self, question: Question) -> Path:
        """Return where what is said about a case belongs."""
        return self.logs / f"{file_name(question.name)}.log"

    def answer(self, question: Question, places: Places) -> Path:
        """Return where the answer lies among what was kept."""
        try:
            return self.interface.answer(question, places.answer)
        except InputError as error:
            raise BrokenError(Ending.NO_OUTPUT, error.problem, goes_on=True) from None


class _OneByOne(_Asking):
    """One start per case."""

    program: Confined | None = None

    def outcome(self, question: Question, *, last: bool) -> Outcome:  # noqa: ARG002
        if self.warm_up:
            self.warm_up = False
            self._asked(question)
        return self._asked(question)

    def _asked(self, question: Question) -> Outcome:
        watch, log, end, answer = Watch(), self.log(question), None, None
        ending, reason = Ending.ANSWERED, ""
        with self.workspace.laid_out(self.interface, question, inside=self.interface.answers_inside) as places:
            try:
                end = self._run(question, places, log, watch)
                if end.ending is not Ending.ANSWERED:
                    raise BrokenError(end.ending, end.reason)
                keep(places, most_bytes=self.allowance.output_bytes, ended=True)
                answer = self.answer(question, places)
            except BrokenError as error:
                ending, reason = error.ending, explained(error.reason, log)
        used = (None, None) if end is None else (end.processor_seconds, end.peak_bytes)
        return Outcome(question.name, ending, reason, watch.spans(), *used, answer)

    def _run(self, question: Question, places: Places, log: Path, watch: Watch) -> Exit:
        binds = [Bind(places.input, INPUT), Bind(places.output, OUTPUT, writable=True)]
        if inside := self.interface.answers_inside:
            binds.append(Bind(places.output, f"{INPUT}/{inside}", writable=True))
        begin = time.perf_counter()
        self.program = self.start(log, binds, places.output, pipes=False)
        end = self.program.wait(self.allowance.load_seconds + self.allowance.seconds(question.frames))
        started, gone = self.program.started, time.perf_counter()
        ended = (
            gone if end.ended is None else max(started, end.ended)
        )  # engines write both down with clocks of their own
        watch.start, watch.run, watch.stop = started - begin, ended - started, gone - ended
        self.program = None
        return end

    def stop(self) -> None:
        if self.program is not None:
            self.program.stop()
            self.program = None


class _Many(_Asking):
    """One start, many cases."""

    def __post_init__(self) -> None:
        self.session = Session(self._started, self.allowance)
        self._unready: list[BrokenError] = []
        super().__post_init__()

    def stop(self) -> None:
        self.session.stop()

    def outcome(self, question: Question, *, last: bool) -> Outcome:
        watch, answer = Watch(), None
        ending, reason = Ending.ANSWERED, ""
        try:
            self._get_ready(question, watch)
            with self._laid_out(question, watch) as places:
                answer = self.asked(question, places, watch)
        except BrokenError as error:
            ending, reason = error.ending, explained(error.reason, self.session.log)
        if last:
            self.finish(watch)
        return Outcome(question.name, ending, reason, watch.spans(), *self.session.used(), answer)

    def asked(self, question: Question, places: Places, watch: Watch) -> Path | Handed:
        """Ask about a case that is laid out, and return the answer."""
        self.session.ask_case(question, self.folders(places), watch)
        keep(places, most_bytes=self.allowance.output_bytes, ended=False)
        return self.answer(question, places)

    def finish(self, watch: Watch) -> None:
        """Let the program end after its last answer."""
        self.session.end(watch)

    def binds(self) -> list[Bind]:
        """Return what it sees, as long as it runs."""
        return [Bind(self.workspace.inputs, INPUT), Bind(self.workspace.outputs, OUTPUT, writable=True)]

    def folders(self, places: Places) -> tuple[str, str]:
        """Return where the program sees the folders of a case."""
        inputs, outputs, *_ = map(self.confinement.seen, self.binds())
        return f"{inputs}/{places.input.name}", f"{outputs}/{places.output.name}"

    def _started(self, log: Path) -> Confined:
        return self.start(log, self.binds(), self.workspace.outputs, pipes=True)

    @contextmanager
    def _laid_out(self, question: Question, watch: Watch) -> Iterator[Places]:
        """Lay out a case; a program that broke a rule is ended before its folders go."""
        with self.workspace.laid_out(self.interface, question) as places:
            try:
                yield places
            except BrokenError as error:
                if not error.goes_on:
                    self.session.stop(watch)
                raise

    def _get_ready(self, question: Question, watch: Watch) -> None:
        """See to it that the program waits to be asked: start it, or anew where it ended or talks by itself."""
        self.workspace.clear()
        if self.session.runs and not self.session.idle():
            self.session.stop()
        if self.session.runs:
            return
        if len(self._unready) >= _MOST_STARTS:
            first = self._unready[0]
            raise BrokenError(
                first.ending, f"not started again after {_MOST_STARTS} failed starts: {first.reason}", goes_on=True
            )
        self._start(question, watch)
        if self.warm_up:
            uncounted = Watch()
            with suppress(BrokenError), self._laid_out(question, uncounted) as places:
                self.asked(question, places, uncounted)
            if not (self.session.runs and self.session.idle()):
                self.session.stop()
                self._start(question, watch)

    def _start(self, question: Question, watch: Watch) -> None:
        try:
            self.session.start(self.log(question), watch)
        except BrokenError as error:
            self._unready.append(error)
            self.session.stop(watch)
            raise
        self._unready.clear()


class _Readable:
    """Frames in turn, which may turn out not to be readable: then the error is ours, and no participant's."""

    def __init__(self, frames: Iterable[Any]) -> None:
        self._frames = frames
        self.error: InputError | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._frames
        except InputError as error:
            self.error = error
            raise


class _Frames(_Many):
    """One start, many cases, frame by frame; the program sees no file of a case, and so nothing that is to come."""

    def asked(self, question: Question, places: Places, watch: Watch) -> Path:
        known, images = self.interface.frames(places.input)
        frames = _Readable(images)
        answers = self.session.ask_frames(question, known, frames, watch)
        try:
            self.interface.write_frames(question, answers, places.input, places.answer)
        except InputError as error:
            if error is frames.error:
                raise
            raise BrokenError(Ending.WRONG_OUTPUT, error.problem) from None
        if len(watch.frames) != question.frames:
            raise ValueError(f"{question.name} has {question.frames} frames, of which {len(watch.frames)} were asked")
        return self.answer(question, places)

    def binds(self) -> list[Bind]:
        return [Bind(self.workspace.outputs, OUTPUT, writable=True)]


class _Function(_Many):
    """A function in Python, called in a process of its own that is started once."""

    handed: HandedByProcess | None = None

    def outcome(self, question: Question, *, last: bool) -> Outcome:
        if self.handed is not None:
            self.handed.close()
            if self.handed.broken is not None:
                self.session.stop()
        outcome = super().outcome(question, last=last)
        self.handed = outcome.answer if isinstance(outcome.answer, HandedByProcess) else None
        return outcome

    def asked(self, question: Question, places: Places, watch: Watch) -> Handed:
        return self.session.ask_function(question, self.folders(places), watch)

    def finish(self, watch: Watch) -> None:
        """Let it run, since it holds the arrays."""

    def words(self) -> list[str]:
        file, _, name = self.algorithm.function.rpartition(":")
        function = f"{whole((self.algorithm.folder or Path()) / file)}:{name}"
        interface = b64encode(pickle.dumps(self.interface)).decode()
        return [sys.executable, "-P", "-B", _host.__file__, interface, str(self._package.parent), function]

    def binds(self) -> list[Bind]:
        needed = {Path(_host.__file__).parents[1], self._package}
        return [*super().binds(), *(Bind(path, str(path)) for path in sorted(needed))]

    @property
    def _package(self) -> Path:
        """Where the package lies that the challenge's interface is in, or the module, if it is in none."""
        module = type(self.interface).__module__
        file = Path(inspect.getfile(type(self.interface)))
        path = file.parent if file.name == "__init__.py" else file
        return path.parents[module.count(".") - 1] if "." in module else path
