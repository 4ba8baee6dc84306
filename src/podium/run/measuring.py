"""One case: its truth read once, and every prediction measured against it. The unit of work, wherever it is done."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import polars as pl

from podium.io import noting_files
from podium.model import Case, Challenge, Handed, InputError, Status, Value, measured_on
from podium.model.errors import brief
from podium.run.contract import Breach, Contract, Seal
from podium.run.parts import Part, Parts, digests
from podium.run.submissions import Files, Limits

__all__ = [
    "RAISED",
    "SCHEMA",
    "CaseJob",
    "Done",
    "Prediction",
    "blamed_later",
    "described",
    "measure_case",
    "measure_more",
    "tabulated",
]

RAISED = (Exception, SystemExit, GeneratorExit, pl.exceptions.PanicException)
"""What a file may make Python raise, through whatever library; anything but a person who interrupts."""

_MOST_NAMED = 5  # rows of one file that share a reason are named one by one up to this many
_THIS_MACHINE = {errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EDQUOT}
"""Errors that are nobody's fault who takes part."""

SCHEMA = {
    "submission": pl.String,
    "case": pl.String,
    "unit": pl.String,
    "target": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "measured": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True, slots=True)
class Prediction:
    """Where a submission's prediction of a case lies, or why there is none.

    What is built in, a baseline or people, has no files: it follows from the truth. Nor have arrays that an algorithm
    hands over.
    """

    submission: str
    root: Path | None = None
    path: Path | None = None
    status: Status = Status.OK
    reason: str = ""
    built_in: bool = False
    most_bytes: int = Limits().prediction_bytes
    arrays: Handed | None = None

    @classmethod
    def among(cls, submission: str, files: Files, case: Case) -> Self:
        """Find the prediction of a case among the files of a submission."""
        try:
            path = files.find(case)
        except FileNotFoundError as error:
            return cls(submission, status=Status.MISSING, reason=str(error))
        except (InputError, OSError) as error:
            return cls(submission, status=Status.INVALID, reason=str(error))
        except RAISED as error:
            return cls(submission, status=Status.INVALID, reason=f"it cannot be looked for ({described(error)})")
        if path is None:
            return cls(submission, status=Status.MISSING, reason=f"there is no {case.expected[0]}")
        return cls(submission, files.root, path, most_bytes=files.limits.prediction_bytes)

    def files(self) -> set[Path]:
        """Return its own files."""
        if self.path is None:
            return set()
        return {file for file in self.path.rglob("*") if file.is_file()} if self.path.is_dir() else {self.path}

    def digests(self, *, besides: set[Path] | frozenset[Path] = frozenset()) -> dict[str, str]:
        """Return the SHA-256 of its files, and of others that were read with them, by path inside the submission."""
        return digests(self.root, self.files() | besides, most_bytes=self.most_bytes) if self.root is not None else {}

    def check_size(self) -> None:
        """Refuse more bytes than are read, whatever they are; files of holes take none of a stranger's disk."""
        size = sum(file.stat().st_size for file in self.files())
        if size > self.most_bytes:
            raise InputError(
                f"the prediction has {size:,} bytes, more than the limit of {self.most_bytes:,}",
                advice="If that is meant, ask the organisers to raise the limit",
            )


@dataclass(frozen=True, slots=True)
class CaseJob:
    """A case and all its predictions.

    `parts` where what is known already may be used, `made_by` as in a part, `device` that is to measure: `cpu`, `cuda`.
    """

    challenge: Challenge
    case: Case
    truth: Path
    predictions: tuple[Prediction, ...]
    made_by: Mapping[str, Any]
    parts: Parts | None = None
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Done:
    """A measured case.

    Attributes
    ----------
    part
        All that is known of it now.
    why
        For each submission that was measured, why; no reasons where nothing was known before.
    kept
        How many submissions were not measured again.
    changed
        Whether the part differs from the one that was known.
    """

    part: Part
    why: Mapping[str, str]
    kept: int
    changed: bool


def measure_case(job: CaseJob) -> Done:
    """Measure a case, or as much of it as is not known yet."""
    known, why = _to_measure(job)
    if known is not None:
        about = {*known.lost, *(who for who, _ in known.faults if who)}
        gone = about - {prediction.submission for prediction in job.predictions}
        known = _without(known, {*gone, *why})
        if not why:
            return Done(known, {}, kept=_submissions(job, known), changed=bool(gone))
    part = _Measurement(job, known).part([p for p in job.predictions if p.submission in why])
    if known is None:
        return Done(part, why, kept=0, changed=True)
    return Done(_joined(known, part), why, kept=_submissions(job, known), changed=True)


def measure_more(job: CaseJob) -> Part:
    """Measure predictions of a case, and return them with what is known of others; `parts` is needed."""
    assert job.parts is not None
    known = job.parts.still_true(job.case.name, job.made_by, job.truth, job.case.files)
    if isinstance(known, str):
        return _Measurement(job, None).part(list(job.predictions))
    known = _without(known, {prediction.submission for prediction in job.predictions})
    return _joined(known, _Measurement(job, known).part(list(job.predictions)))


def blamed_later(job: CaseJob, part: Part) -> list[Prediction]:
    """Return the predictions that broke the evaluation of a case which others, measured later, have shown sound."""
    if not _shows_soundness(job, part):
        return []
    own = {prediction.submission for prediction in job.predictions if not prediction.built_in}
    return [
        Prediction(name, status=Status.INVALID, reason=_to_blame(what)) for name, what in part.faults if name in own
    ]


def _submissions(job: CaseJob, part: Part) -> int:
    built_in = {prediction.submission for prediction in job.predictions if prediction.built_in}
    return len(part.lost.keys() - built_in)


def _to_measure(job: CaseJob) -> tuple[Part | None, dict[str, str]]:
    """Return what is known of a case and still holds, and who has to be measured, with the reason."""
    known = "" if job.parts is None else job.parts.still_true(job.case.name, job.made_by, job.truth, job.case.files)
    if isinstance(known, str):
        return None, {prediction.submission: known for prediction in job.predictions}
    stale = {prediction.submission: _stale(known, prediction) for prediction in job.predictions}
    return known, {name: reason for name, reason in stale.items() if reason}


def _stale(known: Part, prediction: Prediction) -> str:
    """Return why a prediction has to be measured, nothing if what is known of it still holds."""
    name = prediction.submission
    if name not in known.lost:
        return "left unmeasured" if any(name == who or not who for who, _ in known.faults) else "new"
    if prediction.built_in:
        return ""
    if prediction.path is None or prediction.root is None:
        reasons = {failure[2:] for failure in known.failures if failure[0] == name}
        return "" if (prediction.status.value, brief(prediction.reason)) in reasons else "changed"
    recorded = known.hashes.get(name, {})
    now = prediction.digests(besides={prediction.root / inside for inside in recorded})
    return "" if now == recorded else "changed"


class _Measurement:
    """The measuring of one case: what was read, and what became of each prediction."""

    def __init__(self, job: CaseJob, known: Part | None) -> None:
        self._job = job
        self._challenge, self._case = job.challenge, job.case
        self._contract = Contract(job.challenge)
        self._truth_files = set(job.case.files)
        self._values: dict[str, list[Value]] = {}
        self._hashes: dict[str, Mapping[str, str]] = {}
        self._breaches: dict[str, str] = {}
        self._faults: list[tuple[str, str]] = []
        self._sound = known is not None and _shows_soundness(job, known)

    def part(self, predictions: list[Prediction]) -> Part:
        """Measure the predictions of the case."""
        with measured_on(self._job.device) as placement:
            part = self._part(predictions)
        return replace(part, devices=tuple(sorted(placement.used)))

    def _part(self, predictions: list[Prediction]) -> Part:
        try:
            self._load()
        except (InputError, OSError) as error:
            _raise_if_machine(error)
            self._faults.append(("", f"the truth cannot be used: {error}"))
            return self._collected()
        except Breach as breach:
            self._faults.append(("", str(breach)))
            return self._collected()
        except MemoryError:
            raise  # of this machine there is too little
        except RAISED as error:
            self._faults.append(("", f"load raised {described(error)}"))
            return self._collected()
        for prediction in predictions:
            self._measure(prediction)
        self._blame({prediction.submission: prediction for prediction in predictions})
        return self._collected()

    def _load(self) -> None:
        with noting_files() as read:
            truth = self._challenge.load(self._case)
        self._truth_files |= set(read)
        rows = self._challenge.rows(self._case, truth)
        if not rows or not all(isinstance(row, str) for row in rows) or len(set(rows)) < len(rows):
            raise Breach(f"the rows of a case have one name each, not {str(rows)[:80]}")
        self._rows, self._seal = tuple(rows), Seal(truth)

    def _measure(self, prediction: Prediction) -> None:
        """Measure one prediction, or note why that cannot be done, and whose fault it may be."""
        name, challenge = prediction.submission, self._challenge
        if prediction.path is None and prediction.arrays is None and not prediction.built_in:
            self._charge(name, prediction.status, prediction.reason)
            return
        with noting_files() as read:
            if prediction.arrays is not None:
                arrays = prediction.arrays
                outcome = self._outcome(lambda truth: challenge.measure_handed(self._case, truth, arrays))
            elif prediction.path is None:
                outcome = self._outcome(
                    lambda truth: challenge.measure_built_in(name, self._case, truth), built_in=True
                )
            else:
                path = prediction.path
                outcome = self._outcome(lambda truth: self._measured(truth, prediction, path), path)
        if prediction.path is not None:
            self._hashes[name] = prediction.digests(besides=set(read))
        match outcome:
            case Breach():
                self._breaches[name] = str(outcome)
            case InputError() if prediction.built_in:
                self._breaches[name] = f"it cannot be measured: {outcome}"
            case InputError():
                self._charge(name, Status.INVALID, str(outcome).replace(f"{prediction.root}/", ""))
            case _:
                self._values[name] = outcome
                self._sound |= not prediction.built_in and _sound(outcome)

    def _measured(self, truth: Any, prediction: Prediction, path: Path) -> object:
        prediction.check_size()
        return self._challenge.measure(self._case, truth, path)

    def _outcome(
        self, measure: Callable[[Any], object], path: Path | None = None, *, built_in: bool = False
    ) -> list[Value] | InputError | Breach:
        """Measure, and return what comes out, held against the contract; or what is wrong."""
        problem: InputError | Breach
        try:
            values = measure(self._seal.truth)
            if not self._seal.broken:
                return self._contract.held(self._rows, self._seal.truth, values, built_in=built_in)
        except (InputError, Breach) as error:
            problem = error
        except RAISED as error:  # a prediction or the challenge is to blame, and named
            _raise_if_machine(error)
            own = isinstance(error, OSError) and path is not None and _about(error, path)
            problem = InputError(str(error)) if own else Breach(f"measure raised {described(error)}")
        else:
            problem = Breach("measure changed the truth")
        if self._seal.broken:
            self._load()
        return problem

    def _charge(self, name: str, status: Status, reason: str) -> None:
        try:
            self._values[name] = self._contract.failed(self._rows, self._seal.truth, status, reason)
        except RAISED as error:  # a price that cannot be computed is the challenge's fault
            _raise_if_machine(error)
            self._faults.append((name, f"the price of a failure raised {described(error)}"))

    def _blame(self, predictions: Mapping[str, Prediction]) -> None:
        """Decide whose fault each breach is: the prediction's only where the case can be measured without it."""
        for name, what in self._breaches.items():
            if not predictions[name].built_in and (self._sound or self._measurable()):
                self._charge(name, Status.INVALID, _to_blame(what))
            else:
                self._faults.append((name, what))
                self._hashes.pop(name, None)

    def _measurable(self) -> bool:
        """Find out whether the case can be measured at all, by the truth itself, where that can be a prediction."""
        path = self._challenge.truth_as_prediction(self._case)
        if path is not None:
            outcome = self._outcome(lambda truth: self._challenge.measure(self._case, truth, path), path)
            self._sound = isinstance(outcome, list) and _sound(outcome)
        return self._sound

    def _collected(self) -> Part:
        failures = [line for name, values in self._values.items() for line in _failures(name, values)]
        lost = {
            name: tuple(sorted({value.case for value in values if value.status.failed}))
            for name, values in self._values.items()
        }
        return Part(
            self._case.name,
            self._job.made_by,
            digests(self._job.truth, self._truth_files),
            tabulated([(name, value) for name, values in self._values.items() for value in values]),
            self._hashes,
            lost,
            tuple(failures),
            tuple((name, brief(what)) for name, what in self._faults),
        )


def _to_blame(what: str) -> str:
    return f"this prediction breaks the evaluation ({what}), others of this case do not"


def _shows_soundness(job: CaseJob, known: Part) -> bool:
    """Return whether any submission was measured before as it should be."""
    built_in = {prediction.submission for prediction in job.predictions if prediction.built_in}
    return any(not failed for name, failed in known.lost.items() if name not in built_in)


def _sound(values: list[Value]) -> bool:
    """Return whether a prediction was measured as it should be, in every part."""
    return not any(value.status.failed for value in values)


def _about(error: OSError, path: Path) -> bool:
    """Return whether an error of the file system is about a prediction, or what lies beside it."""
    return error.filename is not None and Path(str(error.filename)).parent.is_relative_to(path.parent)


def _raise_if_machine(error: BaseException) -> None:
    """Let go on what no prediction and no challenge is to blame for, such as a full disk."""
    if isinstance(error, OSError) and error.errno in _THIS_MACHINE:
        raise error


def described(error: BaseException) -> str:
    """Return what was raised, shortly."""
    try:
        text = brief(str(error))[:200]
    except Exception:  # its words are somebody's code too
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _without(part: Part, names: set[str]) -> Part:
    """Return a part without what it says about some submissions."""
    if not names:
        return part
    return replace(
        part,
        table=part.table.filter(~pl.col("submission").is_in(list(names))),
        hashes={name: files for name, files in part.hashes.items() if name not in names},
        lost={name: rows for name, rows in part.lost.items() if name not in names},
        failures=tuple(failure for failure in part.failures if failure[0] not in names),
        faults=tuple(fault for fault in part.faults if fault[0] and fault[0] not in names),
    )


def _joined(kept: Part, new: Part) -> Part:
    return replace(
        new,
        table=pl.concat([kept.table, new.table]),
        hashes={**kept.hashes, **new.hashes},
        lost={**kept.lost, **new.lost},
        failures=(*kept.failures, *new.failures),
        faults=(*kept.faults, *new.faults),
        devices=tuple(sorted({*kept.devices, *new.devices})),
    )


def _failures(name: str, values: list[Value]) -> list[tuple[str, str, str, str]]:
    """Return one line for each thing that went wrong, however many values or rows of one file it cost."""
    rows: dict[tuple[str, str], dict[str, None]] = {}
    for value in values:
        if value.reason and value.status is not Status.UNDEFINED:
            status = "warning" if value.status is Status.OK else value.status.value
            rows.setdefault((status, value.reason), {})[value.case] = None
    lines = []
    for (status, reason), cases in rows.items():
        named = list(cases) if len(cases) <= _MOST_NAMED else [f"{min(cases)} and {len(cases) - 1} more"]
        lines += [(name, case, status, reason) for case in named]
    return lines


def tabulated(values: list[tuple[str, Value]]) -> pl.DataFrame:
    """Return the values of submissions as a tidy table."""
    rows = [
        (name, v.case, v.unit, v.target, v.metric, v.value, v.measured, v.status.value, v.reason) for name, v in values
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
