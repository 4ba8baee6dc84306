"""Participants' algorithms, one after the other: asked about every case, timed, and measured as the answers come.

    OUT/submissions/<team>/   predictions, and timing.csv
    OUT/timing/<team>.json    everything about its times
    OUT/logs/<team>/          what it said
    OUT/failures.csv          what went wrong
    OUT/run/                  with a truth: the run folder, as an evaluation would write it

Whatever is done is written at once, so that a run that is stopped at any moment is resumed where it was.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from podium.algorithms.confinement import Confinement, Unusable, UnusableError
from podium.algorithms.machine import Hardware
from podium.algorithms.removing import remove
from podium.algorithms.specs import Algorithm, Allowance, Ending
from podium.algorithms.teams import Ask, TeamRun, Way
from podium.algorithms.timings import TeamTiming, comparability, read_timings
from podium.io import csv_text, write_text
from podium.model import Challenge, InputError, Interface, Question, Role
from podium.model.errors import printable, shortened
from podium.run import GrowingRun, Run, growing_run, sole_writer

__all__ = ["AlgorithmRuns", "run_algorithms"]

_MARK = ".podium-run"
_SCRATCH = ".scratch"
_SEED = 14
BASELINE_OPTION = "baseline_seconds"
"""What an option is called that takes a baseline's mean time per case."""
Confine: TypeAlias = Callable[[Algorithm, Sequence[Path]], Confinement]
"""Where an algorithm runs that must not see some folders."""


@dataclass(frozen=True, slots=True)
class AlgorithmRuns:
    """What came of running algorithms.

    Attributes
    ----------
    out
        The folder with everything.
    timings
        Of every team, by name.
    run
        What was measured, where there was a truth.
    warnings
        What a reader of the times should know.
    """

    out: Path
    timings: Mapping[str, TeamTiming]
    run: Run | None = None
    warnings: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """How many cases have no answer, over all teams."""
        return sum(len(timing.failures) for timing in self.timings.values())

    @property
    def document(self) -> dict[str, Any]:
        """In short, for programs; the leaderboard is in the run's folder."""
        return {
            "out": str(self.out),
            "run": str(self.out / "run") if self.run else None,
            "teams": {name: timing.document for name, timing in sorted(self.timings.items())},
            "warnings": list(self.warnings),
        }


def run_algorithms(
    out: Path,
    challenge: Challenge,
    algorithms: Sequence[Algorithm],
    *,
    inputs: Path,
    ask: Ask,
    confine: Confine,
    truth: Path | None = None,
    baseline: Algorithm | None = None,
    allowance: Allowance | None = None,
    keep: bool = False,
    repeat: int = 1,
    warm_up: bool = False,
    jobs: int = 1,
    resume: bool = False,
    restart: bool = False,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> AlgorithmRuns:
    """Run algorithms one after the other over all cases, and time them; with a truth, measure and rank them as well.

    Parameters
    ----------
    out
        The folder for everything: new, empty, or one of this kind that is to be resumed or made anew.
    challenge, algorithms
        Whose rules, and who takes part.
    inputs
        The folder of the images, which may be that of the truth.
    ask, confine
        How an algorithm is asked, and where it runs.
    truth
        Measure every prediction against it as soon as it is there, and then delete it.
    baseline
        An algorithm that is run first and shown, not ranked; its mean time is the option `baseline_seconds` of a
        challenge that has one.
    allowance
        How much each may take.
    keep
        Keep predictions that were measured.
    repeat, warm_up
        How often each case is asked for; and whether one is before all others, without being counted.
    jobs
        How many cases at once, where the rules do not count time.
    resume, restart
        Go on where it was stopped, perhaps with further algorithms; or begin anew.
    progress, say
        Called with the number of cases done and their total; and with what a person may want to know meanwhile.

    Raises
    ------
    KeyboardInterrupt
        Somebody stopped it, by SIGINT, SIGTERM or SIGHUP. What is done is kept, and nothing is left running.
    """
    everybody = [*([baseline] if baseline else []), *algorithms]
    interface = _interface(challenge)
    _check_names(everybody)
    _check_places(out, inputs, truth, resume=resume, restart=restart)
    questions = _questions(interface, inputs)
    if jobs > 1 and challenge.counts_time:
        say(f"{challenge.title} counts time, so cases are run one after the other, whatever --jobs says.")
        jobs = 1
    with ExitStack() as stack:
        stack.enter_context(sole_writer(out))
        stack.enter_context(_stoppable())
        if restart:
            _clear(out)
        (out / _MARK).touch()
        scratch = out.absolute() / _SCRATCH  # a program is started elsewhere
        for left in (scratch, *out.glob(".removed-*")):  # of a run that was killed
            remove(left, aside=out)
        stack.callback(remove, scratch, aside=out)
        scratch.mkdir()
        growing = None
        if truth is not None:
            places = {"truth": truth, "submissions": out / "submissions"}
            growing = stack.enter_context(
                growing_run(out / "run", challenge, resume=not restart, restart=restart, **places)
            )
            questions = _with_truth(questions, growing, interface, say)
        way = Way(
            challenge=challenge.name,
            interface=interface,
            out=out.absolute(),
            scratch=scratch,
            ask=ask,
            allowance=allowance or Allowance(),
            growing=growing,
            keep=keep or truth is None,
            repeat=repeat,
            warm_up=warm_up,
            jobs=jobs,
            hardware=Hardware.here(),
            takes_arrays=challenge.takes_arrays,
        )
        if way.allowance.gpu and not way.hardware.gpus:
            say("A GPU is asked for, but nvidia-smi shows none here.")
        hidden = _with_targets([inputs, *([truth] if truth else []), out])
        counter = _Counter(len(questions) * len(everybody), progress)
        timings = _timings(out, challenge)
        for algorithm, confinement in stack.enter_context(closing(_confined_in_turn(everybody, confine, hidden))):
            role = Role.BASELINE if algorithm is baseline else Role.COMPETITOR
            team = TeamRun(way, algorithm, confinement, role=role, known=timings.get(algorithm.name))
            if team.why_anew:
                say(f"{algorithm.name} is run anew, as this is not what it was: {team.why_anew}.")
            timings[algorithm.name] = team.run(questions, done=counter.done)
            _write_failures(out, timings)
            if algorithm is baseline and BASELINE_OPTION in challenge.option_names():
                _check_baseline(timings[algorithm.name])
        return _together(out, challenge, questions, timings, growing, say)


def _together(
    out: Path,
    challenge: Challenge,
    questions: Sequence[Question],
    timings: Mapping[str, TeamTiming],
    growing: GrowingRun | None,
    say: Callable[[str], None],
) -> AlgorithmRuns:
    """Rank all who have answered, or failed, in every case."""
    names = {question.name for question in questions}
    whole = {name: timing for name, timing in timings.items() if set(timing.cases) >= names}
    for name in sorted(set(timings) - set(whole)):
        say(f"{name} has not been asked about every case, and is left out. Give it again with --resume.")
    warnings = [doubt for timing in whole.values() for doubt in timing.doubts()]
    warnings += comparability(whole.values())
    run = None
    if growing is not None:
        options = {}
        if BASELINE_OPTION in challenge.option_names():
            baselines = [timing.seconds_a_case for timing in whole.values() if timing.role is Role.BASELINE]
            options = {BASELINE_OPTION: baselines[0]} if baselines else {}
        run = growing.finish(
            {name: timing.role for name, timing in whole.items()},
            loading={name: timing.loading for name, timing in whole.items() if timing.loading is not None},
            options=options,
            not_kept=[
                name
                for name, timing in whole.items()
                if not _kept(out / "submissions" / name, timing, joined=_interface(challenge).joins)
            ],
            failures=[
                (name, case, timing.cases[case].reason)
                for name, timing in whole.items()
                for case in timing.failures
                if case not in growing.cases
            ],
        )
    return AlgorithmRuns(out, timings, run, tuple(warnings))


def _with_targets(folders: Sequence[Path]) -> list[Path]:
    """Return folders, and what links in them lead to, which may lie anywhere."""
    links = (Path(os.path.realpath(path)) for folder in folders for path in folder.rglob("*") if path.is_symlink())
    return list(dict.fromkeys([*folders, *links]))


def _kept(predictions: Path, timing: TeamTiming, *, joined: bool) -> bool:
    """Return whether all predictions of a team are there; those that were joined are one file."""
    names = {case.prediction for case in timing.cases.values() if case.ending is Ending.ANSWERED}
    there = {path.name for path in predictions.glob("*")}
    return bool(there) or not names if joined else names <= there


def _interface(challenge: Challenge) -> Interface:
    if challenge.interface is None:
        raise InputError(
            f"{challenge.title} does not say how algorithms are asked",
            advice="Name inputs in [files] of its challenge.toml, or write INTERFACE in a module interface beside it",
        )
    return challenge.interface


def _check_names(algorithms: Sequence[Algorithm]) -> None:
    """Refuse teams that could not be told apart, or be a folder."""
    if not algorithms:
        raise InputError("there is no algorithm to run", advice="Give a --command, an --image or a --function")
    for place, algorithm in enumerate(algorithms):
        name = algorithm.name
        if not name or name.startswith(".") or "/" in name or printable(name) != name or len(name.encode()) > 200:
            raise InputError(f"a team cannot be called {name!r}", advice="Say team=…")
        if name in (other.name for other in algorithms[:place]):
            raise InputError(f"two algorithms are called {name}", advice="Name them: one=… other=…")
        if sum(map(bool, (algorithm.command and not algorithm.image, algorithm.image, algorithm.function))) != 1:
            raise InputError(f"{name} is neither a command, nor an image, nor a function")


def _check_places(out: Path, inputs: Path, truth: Path | None, *, resume: bool, restart: bool) -> None:
    """Refuse folders that are not there, lie in one another, or hold what Podium did not write."""
    if resume and restart:
        raise InputError("a run is either resumed or made anew", advice="Give --resume or --restart, not both")
    for place, what in ((truth, "the truth"), (inputs, "the inputs")):
        if place is None:
            continue
        if not place.is_dir():
            problem = "this is not a folder" if place.exists() else "there is no such folder"
            raise InputError(problem, path=place, advice=f"Give the folder that holds {what}")
        if out.resolve() == place.resolve() or place.resolve() in out.resolve().parents:
            raise InputError(f"the results would lie among {what}", path=out, advice="Give another folder as --out")
    if out.exists() and not out.is_dir():
        raise InputError("this is not a folder", path=out, advice="Give a new folder as --out")
    if not out.exists() or not any(path.name != ".lock" for path in out.iterdir()):
        return
    if not (out / _MARK).exists():
        raise InputError("this folder is not empty, and of no podium run", path=out, advice="Give a new folder")
    if not (resume or restart) and any((out / "timing").glob("*.json")):
        advice = "Add --resume to go on with it, --restart to make it anew, or give another folder as --out"
        raise InputError("algorithms were run here already", path=out, advice=advice)


def _questions(interface: Interface, inputs: Path) -> list[Question]:
    """Return all cases in an order that tells nothing, and is always the same."""
    questions = sorted(interface.questions(inputs), key=lambda question: question.name)
    if not questions:
        raise InputError("there are no images here", path=inputs, advice="Give the folder with the images as --inputs")
    random.Random(_SEED).shuffle(questions)
    return questions


def _timings(out: Path, challenge: Challenge) -> dict[str, TeamTiming]:
    """Return what earlier runs have written."""
    timings = dict(read_timings(out / "timing"))
    if others := {timing.challenge for timing in timings.values()} - {challenge.name}:
        what = f"algorithms of {shortened(sorted(others))} were run here, not of {challenge.name}"
        raise InputError(what, path=out, advice="Give another folder as --out")
    return timings


def _with_truth(
    questions: list[Question], growing: GrowingRun, interface: Interface, say: Callable[[str], None]
) -> list[Question]:
    """Return the cases that have a truth; refuse a truth without inputs, which nobody could answer."""
    if interface.joins:
        return questions
    names = {question.name for question in questions}
    if lacking := sorted(set(growing.cases) - names):
        raise InputError(
            f"there are no inputs of {shortened(lacking)}, of which there is a truth", advice="Give all images"
        )
    if spare := sorted(names - set(growing.cases)):
        say(f"{shortened(spare)}: no truth, so not asked for.")
    return [question for question in questions if question.name in growing.cases]


def _confined_in_turn(
    algorithms: Sequence[Algorithm], confine: Confine, hidden: Sequence[Path]
) -> Generator[tuple[Algorithm, Confinement], None, None]:
    """Make ready to run each algorithm where it does not see what it must not.

    What cannot be run is known before others have run for hours. But files of images take long to load, and much room,
    and so each is loaded when its turn comes.
    """
    with ExitStack() as stack:
        ready = [stack.enter_context(_confined(algorithm, confine, hidden)) for algorithm in algorithms]
        for algorithm, (confinement, place) in zip(algorithms, ready, strict=True):
            yield algorithm, _prepared(confinement, algorithm) if _is_loaded(algorithm) else place
            confinement.close()


@contextmanager
def _confined(
    algorithm: Algorithm, confine: Confine, hidden: Sequence[Path]
) -> Iterator[tuple[Confinement, Confinement]]:
    """Yield what is to be closed, and where the algorithm runs as far as that is known yet."""
    confinement = confine(algorithm, hidden)
    try:
        yield confinement, confinement if _is_loaded(algorithm) else _prepared(confinement, algorithm)
    finally:
        confinement.close()


def _is_loaded(algorithm: Algorithm) -> bool:
    """Return whether an image is in a file, and not there already by its name."""
    return Path(algorithm.image).is_file()


def _prepared(confinement: Confinement, algorithm: Algorithm) -> Confinement:
    """Return where an algorithm runs that is ready now, or fails on every case through its own fault."""
    try:
        confinement.prepare(algorithm)
    except UnusableError as error:
        return Unusable(error)
    except InputError as error:
        advice = f"{error.advice or 'Mend it'}, or leave {algorithm.name} out; --resume goes on"
        raise InputError(f"{algorithm.name}: {error.problem}", path=error.path, advice=advice) from None
    return confinement


def _check_baseline(timing: TeamTiming) -> None:
    """Refuse a baseline whose time is not known."""
    if timing.failures:
        name, case = next(iter(timing.failures.items()))
        raise InputError(
            f"the baseline failed on {name} ({case.reason}), so that its time is not known",
            advice="Mend it, and add --resume; or give --option baseline_seconds instead",
        )


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM and a closed terminal end a run as Ctrl-C does, at once, however libraries deal with signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        for number in numbers:  # nobody keeps us from leaving nothing behind
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    # Polars has SIGINT handled so that a thread that waits without a time limit goes on waiting.
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


class _Counter:
    """Counts cases over all teams."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._done, self._total, self._progress = 0, total, progress
        self._show()

    def done(self) -> None:
        """Count one more."""
        self._done += 1
        self._show()

    def _show(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)


def _write_failures(out: Path, timings: Mapping[str, TeamTiming]) -> None:
    lines = [
        (name, case, failure.ending.value, failure.repeats[0].reason)
        for name, timing in sorted(timings.items())
        for case, failure in timing.failures.items()
    ]
    write_text(out / "failures.csv", csv_text(("submission", "case", "status", "reason"), lines))


def _clear(out: Path) -> None:
    """Remove what earlier runs wrote: whatever is called after a team that was timed, and nothing else."""
    for path in sorted((out / "timing").glob("*.json")):
        for folder in ("submissions", "logs", ".answers"):
            shutil.rmtree(out / folder / path.stem, ignore_errors=True)
        path.with_suffix(".csv").unlink(missing_ok=True)
        path.unlink()
    (out / "failures.csv").unlink(missing_ok=True)
