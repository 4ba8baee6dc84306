"""One team: its algorithm asked about every case, each answer kept or measured, each time written at once."""

from __future__ import annotations

import math
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from podium import __version__
from podium.algorithms.confinement import Confined, Confinement
from podium.algorithms.machine import GpuMeter, Hardware, Workload, others_between, others_now
from podium.algorithms.removing import remove
from podium.algorithms.specs import Algorithm, Allowance, Bind, Ending, Outcome
from podium.algorithms.surroundings import program_of
from podium.algorithms.timings import CaseTiming, Repeat, Surroundings, TeamTiming
from podium.algorithms.watching import readable_size
from podium.io import digest
from podium.model import Handed, InputError, Interface, Question, Role
from podium.run import GrowingRun

__all__ = ["Ask", "TeamRun", "Way"]


class Ask(Protocol):
    """Asks an algorithm about cases, one after the other; see `ask_cases`."""

    def __call__(
        self,
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
        """Yield what came of each question, in their order; an answer is there until the next is asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Way:
    """How all teams are run, alike; see `run_algorithms`."""

    challenge: str
    interface: Interface
    out: Path
    scratch: Path
    ask: Ask
    allowance: Allowance
    growing: GrowingRun | None
    keep: bool
    repeat: int
    warm_up: bool
    jobs: int
    hardware: Hardware
    takes_arrays: bool


def _described(algorithm: Algorithm, identity: str) -> dict[str, Any]:
    """Return what an algorithm is, as a file can hold it, with the SHA-256 of its image or files where it is known."""
    places = [algorithm.image, algorithm.function.rpartition(":")[0], *algorithm.command]
    home = algorithm.folder or Path.cwd()
    files = {word: home / word for word in places if word and "{" not in word}
    return {
        "command": list(algorithm.command),
        "program": str(program_of(algorithm.command[0], algorithm.folder)) if _is_ours(algorithm) else "",
        "image": algorithm.image,
        "function": algorithm.function,
        "protocol": "function" if algorithm.function else algorithm.protocol,
        "reads": [str(path) for path in algorithm.reads],
        "environment": dict(algorithm.environment),
        "sha256": {word: digest(path) for word, path in sorted(files.items()) if path.is_file()}
        | ({algorithm.image: identity.removeprefix("sha256:")} if identity else {}),
    }


def _is_ours(algorithm: Algorithm) -> bool:
    """Return whether a command is run by a program of this machine, such as one of several Pythons."""
    return bool(algorithm.command) and not algorithm.image


class TeamRun:
    """The running of one team's algorithm.

    Attributes
    ----------
    why_anew
        In what it differs from what was run before, so that nothing of that can be taken over; "" if in nothing.
    """

    def __init__(
        self, way: Way, algorithm: Algorithm, confinement: Confinement, *, role: Role, known: TeamTiming | None
    ) -> None:
        self._way, self._algorithm, self._confinement = way, algorithm, confinement
        name = algorithm.name
        self._predictions, self._answers = way.out / "submissions" / name, way.out / ".answers" / name
        self._logs, self._path = way.out / "logs" / name, way.out / "timing" / f"{name}.json"
        timing = TeamTiming(
            podium=__version__,
            challenge=way.challenge,
            team=name,
            role=role,
            algorithm=_described(algorithm, confinement.identity(algorithm)),
            allowance=asdict(way.allowance),
            repeat=way.repeat,
            warm_up=way.warm_up,
            isolated=confinement.isolated,
            started=datetime.now(UTC),
        )
        self.why_anew = timing.other(known) if known else ""
        if known and not self.why_anew:
            timing = known.model_copy(update={"role": role})
        self._timing = timing
        self._repeats: dict[str, list[Repeat]] = {}
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()

    def run(self, questions: Sequence[Question], *, done: Callable[[], None]) -> TeamTiming:
        """Ask about all cases that are not known yet; `done` is told of each that is."""
        if self.why_anew:
            for folder in (self._predictions, self._answers, self._logs):
                self._remove(folder)
        joins = self._way.interface.joins
        for folder in (self._predictions, self._logs, self._path.parent, *([self._answers] if joins else [])):
            folder.mkdir(parents=True, exist_ok=True)
        left = [question for question in questions if not self._settled(question)]
        for _ in range(len(questions) - len(left)):
            done()
        if left:
            self._change(cases=self._without(left), ended=None, machines=self._machines())
            try:
                self._ask_all(left, done)
            finally:
                self._write_table()
        if self._timing.ended is None:
            if self._way.interface.joins:
                self._join()
            self._change(ended=datetime.now(UTC))
        if joins:
            self._remove(self._answers)
        self._write_table()
        return self._timing

    def _settled(self, question: Question) -> bool:
        """Return whether nothing is to be asked: a case was timed, and its prediction is kept, or measured by now."""
        case, way = self._timing.cases.get(question.name), self._way
        if case is None:
            return False
        if way.interface.joins:
            return self._joined or not case.prediction or (self._answers / case.prediction).exists()
        there = bool(case.prediction) and (self._predictions / case.prediction).exists()
        if way.growing is None or way.growing.knows(self._timing.team, question.name):
            return there or not (way.keep and case.prediction)
        if not there and not case.reason:
            return False
        way.growing.measure(self._timing.team, question.name, failure=case.reason)
        if there and not way.keep:
            self._remove(self._predictions / case.prediction)
        return True

    @property
    def _joined(self) -> bool:
        """Whether all answers became one file, which was measured where there is a truth, or can be."""
        growing, team = self._way.growing, self._timing.team
        if self._timing.ended is None:
            return False
        kept = any(self._predictions.iterdir())  # which is measured in the end
        return kept or growing is None or all(growing.knows(team, name) for name in growing.cases)

    def _without(self, questions: Sequence[Question]) -> dict[str, CaseTiming]:
        gone = {question.name for question in questions}
        return {name: case for name, case in self._timing.cases.items() if name not in gone}

    def _machines(self) -> tuple[Surroundings, ...]:
        """Return where cases were timed so far, and at last where they are now."""
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        return (*self._timing.machines, Surroundings(hardware=self._way.hardware, others=others_now(), load=load))

    def _change(self, **changes: Any) -> None:
        self._timing = self._timing.model_copy(update=changes)
        self._timing.write(self._path)

    # Asking.

    def _ask_all(self, questions: Sequence[Question], done: Callable[[], None]) -> None:
        jobs = min(self._way.jobs, len(questions))
        if jobs == 1:
            self._ask(questions, self._confinement, self._way.scratch, done)
            return
        tracked = _Tracked(self._confinement)
        with ThreadPoolExecutor(jobs) as pool:
            shares = [questions[place::jobs] for place in range(jobs)]
            futures = [
                pool.submit(self._ask, share, tracked, self._way.scratch / str(place), done, tracked.stopping)
                for place, share in enumerate(shares)
            ]
            try:
                for future in futures:
                    future.result()
            except BaseException:  # Ctrl-C too leaves nothing running
                tracked.stop()
                raise

    def _ask(
        self,
        questions: Sequence[Question],
        confinement: Confinement,
        scratch: Path,
        done: Callable[[], None],
        stopping: threading.Event | None = None,
    ) -> None:
        way = self._way
        asked = list(chain.from_iterable([question] * way.repeat for question in questions))
        scratch.mkdir(parents=True, exist_ok=True)
        others = _Others(doubtful=way.jobs > 1, warm_up=way.warm_up)
        outcomes = way.ask(
            self._algorithm,
            confinement,
            way.interface,
            asked,
            allowance=way.allowance,
            scratch=scratch,
            logs=self._logs,
            warm_up=way.warm_up,
            challenge=way.challenge,
        )
        with ExitStack() as stack:
            stack.enter_context(closing(outcomes))  # type: ignore[type-var]  # a generator: nothing is left running
            if meter := GpuMeter.begun(wanted=way.allowance.gpu and way.jobs == 1):
                stack.callback(meter.close)
            for question, outcome in zip(asked, outcomes, strict=True):
                busy = others.until(outcome)
                gpu = meter.taken() if meter else (None, None)
                if stopping is not None and stopping.is_set():
                    return
                with self._lock:
                    if self._take(question, outcome, others=busy, gpu=gpu):
                        done()

    def _take(
        self, question: Question, outcome: Outcome, *, others: float | None, gpu: tuple[float | None, int | None]
    ) -> bool:
        """Keep what came of a question, and return whether all is known of that case."""
        repeats = self._repeats.setdefault(question.name, [])
        if not repeats:
            outcome = self._first(question, outcome)
        repeats.append(Repeat.of(outcome, others=others, gpu=gpu))
        if len(repeats) < self._way.repeat:
            return False
        case = CaseTiming(
            frames=question.frames,
            repeats=tuple(self._repeats.pop(question.name)),
            machine=len(self._timing.machines) - 1,
            prediction=self._names.pop(question.name, ""),
        )
        self._change(cases={**self._timing.cases, question.name: case})
        return True

    def _first(self, question: Question, outcome: Outcome) -> Outcome:
        """Measure or keep the first answer to a question; return the outcome, which is another where that fails."""
        growing = None if self._way.interface.joins else self._way.growing
        team = self._timing.team
        if outcome.ending is Ending.ANSWERED and outcome.answer is not None:
            if isinstance(outcome.answer, Handed) and growing and self._way.takes_arrays and not self._way.keep:
                growing.measure(team, question.name, arrays=outcome.answer)
                return outcome
            try:
                place = self._placed(question, outcome.answer)
            except InputError as error:
                ending = Ending.TOO_MUCH_OUTPUT if isinstance(error, _TooMuchError) else Ending.WRONG_OUTPUT
                outcome = _failed(outcome, ending, error.problem)
            else:
                self._names[question.name] = place.name
                if growing is not None:
                    growing.measure(team, question.name)
                    if not self._way.keep:
                        self._remove(place)
                return outcome
        if growing is not None:
            failure = CaseTiming(repeats=(Repeat.of(outcome, others=None),))
            growing.measure(team, question.name, failure=failure.reason or "no output")
        return outcome

    def _placed(self, question: Question, answer: Path | Handed) -> Path:
        """Put an answer where the team's predictions are, in place of what was there; nothing of it may be a link."""
        folder = self._answers if self._way.interface.joins else self._predictions
        if isinstance(answer, Handed):
            place = folder / question.name
            self._remove(place)
            _write_arrays(answer, place, most_bytes=self._way.allowance.output_bytes)
            return place
        if any(path.is_symlink() for path in (answer, *(answer.rglob("*") if answer.is_dir() else ()))):
            raise InputError("the answer is, or holds, a link, which is not followed")
        place = folder / self._way.interface.file_name(question, answer)
        self._remove(place)
        try:
            answer.replace(place)
        except PermissionError:
            raise InputError("the answer is a folder that nobody else may open") from None
        return place

    def _remove(self, place: Path) -> None:
        remove(place, aside=self._way.scratch)

    # What a team has in the end.

    def _join(self) -> None:
        """Make one file of all answers, where that is what a submission is."""
        answers = sorted(path for path in self._answers.iterdir() if not path.name.startswith("."))
        if answers:
            self._way.interface.join(answers, self._predictions)
        if self._way.growing is not None:
            for case in self._way.growing.cases:
                self._way.growing.measure(self._timing.team, case)
            if not self._way.keep:
                self._remove(self._predictions)
                self._predictions.mkdir()

    def _write_table(self) -> None:
        """Write timing.csv beside the predictions; elsewhere if one file is a submission, with rows of its own."""
        joins = self._way.interface.joins
        self._timing.write_table(self._path.with_suffix(".csv") if joins else self._predictions / "timing.csv")


class _TooMuchError(InputError):
    """Arrays are more than may be written."""


class _Others:
    """How many processors others keep busy, from one time to the next that an algorithm's own use is known."""

    def __init__(self, *, doubtful: bool, warm_up: bool) -> None:
        self._doubtful, self._unknown = doubtful, warm_up
        self._since = Workload.now()

    def until(self, outcome: Outcome) -> float | None:
        """Return it, None where it cannot be told: what runs side by side, or is not counted, is nobody else's."""
        if outcome.processor_seconds is None or self._doubtful:
            return None
        now = Workload.now()
        busy = None if self._unknown else others_between(self._since, now, algorithm_seconds=outcome.processor_seconds)
        self._since, self._unknown = now, False
        return busy


def _failed(outcome: Outcome, ending: Ending, reason: str) -> Outcome:
    return Outcome(
        outcome.case, ending, reason, outcome.spans, outcome.processor_seconds, outcome.peak_bytes, answer=None
    )


def _write_arrays(arrays: Handed, folder: Path, *, most_bytes: int) -> None:
    """Write arrays as NAME.npy into a folder, which appears complete or not at all, and in pieces."""
    if sum(math.prod(shape) * dtype.itemsize for shape, dtype in arrays.headers.values()) > most_bytes:
        raise _TooMuchError(f"more than {readable_size(most_bytes)} of output")
    partial = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for name, (shape, dtype) in arrays.headers.items():
            if not name.isidentifier():
                raise InputError(f"an array cannot be called {name[:40]!r}")
            with (partial / f"{name}.npy").open("wb") as file:
                header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_2_0(file, header)
                for piece in arrays.pieces(name):
                    file.write(np.ascontiguousarray(piece, dtype).tobytes())
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


class _Tracked(Confinement):
    """A confinement whose programs can all be ended from another thread."""

    def __init__(self, inner: Confinement) -> None:
        self._inner = inner
        self.isolated = inner.isolated
        self.stopping = threading.Event()
        self._started: list[Confined] = []
        self._lock = threading.Lock()

    def seen(self, bind: Bind) -> str:
        return self._inner.seen(bind)

    def prepare(self, algorithm: Algorithm) -> None:
        self._inner.prepare(algorithm)

    def start(self, algorithm: Algorithm, words: Sequence[str], **given: Any) -> Confined:
        with self._lock:
            if self.stopping.is_set():
                raise InputError("no more is started, as the run is being stopped")
        confined = self._inner.start(algorithm, words, **given)
        with self._lock:
            self._started.append(confined)
            if self.stopping.is_set():
                confined.stop()
        return confined

    def close(self) -> None:
        return

    def stop(self) -> None:
        """End everything that still runs, and start no more."""
        with self._lock:
            self.stopping.set()
            started, self._started = self._started, []
        for confined in started:
            confined.stop()
