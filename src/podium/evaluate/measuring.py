"""One case: its truth read once, and every prediction measured against it. The unit of work, wherever it is done."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from podium.evaluate.parts import Part, Parts
from podium.evaluate.submissions import Files
from podium.model import Case, Challenge, Expected, InputError, Role, Status, Value

__all__ = ["SCHEMA", "Done", "Job", "Prediction", "built_in", "measure_case", "tabulated"]

_MOST_NAMED = 5  # rows of one file that share a reason are named one by one up to this many

SCHEMA = {
    "submission": pl.String,
    "case": pl.String,
    "unit": pl.String,
    "target": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True, slots=True)
class Prediction:
    """Where a submission's prediction of a case lies, or why there is none."""

    submission: str
    root: Path | None = None
    path: Path | None = None
    status: Status = Status.OK
    reason: str = ""

    @classmethod
    def among(cls, submission: str, files: Files, expected: Expected) -> Self:
        """Find the prediction of a case among the files of a submission."""
        try:
            path = files.find(expected)
        except (InputError, OSError) as error:
            return cls(submission, status=Status.INVALID, reason=str(error))
        if path is None:
            return cls(submission, status=Status.MISSING, reason=f"there is no {expected.names[0]}")
        return cls(submission, files.root, path)

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of its files by their path inside the submission."""
        if self.path is None or self.root is None:
            return {}
        files = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        return {str(file.relative_to(self.root)): digest(file) for file in files if file.is_file()}


@dataclass(frozen=True, slots=True)
class Job:
    """A case and all its predictions; `parts` where what is known already may be used, `made_by` as in a part."""

    challenge: Challenge
    case: Case
    truth: Path
    predictions: tuple[Prediction, ...]
    made_by: Mapping[str, Any]
    parts: Parts | None = None


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


def built_in(challenge: Challenge) -> dict[str, Role]:
    """Return who is measured without a submission, and whom they stand for."""
    return dict.fromkeys(challenge.baselines(), Role.BASELINE) | dict.fromkeys(challenge.people(), Role.REFERENCE)


def measure_case(job: Job) -> Done:
    """Measure a case, or as much of it as is not known yet."""
    challenge, case = job.challenge, job.case
    truth_digests = {str(path.relative_to(job.truth)): digest(path) for path in case.files}
    known, everything = _known(job, truth_digests)
    digests = {prediction.submission: prediction.digests() for prediction in job.predictions} if known else {}
    why = {p.submission: everything for p in job.predictions}
    if known is not None:
        stale = ((p.submission, _stale(known, p, digests[p.submission])) for p in job.predictions)
        why = {name: reason for name, reason in stale if reason}
        gone = known.lost.keys() - {prediction.submission for prediction in job.predictions}
        known = _without(known, {*gone, *why})
        if not why:
            return Done(known, {}, kept=len(known.lost), changed=bool(gone))
    truth = challenge.load(case)
    values: list[tuple[str, Value]] = []
    failures: list[tuple[str, str, str, str]] = []
    lost: dict[str, tuple[str, ...]] = {}
    hashes: dict[str, Mapping[str, str]] = {"truth": truth_digests}
    for prediction in job.predictions:
        name = prediction.submission
        if name not in why:
            continue
        found = _measured(challenge, case, truth, prediction)
        values += [(name, value) for value in found]
        failures += _failures(name, found)
        failed = {value.case for value in found if value.status in (Status.MISSING, Status.INVALID)}
        lost[name] = tuple(sorted(failed))
        if own := digests.get(name) or prediction.digests():
            hashes[name] = own
    if known is None:
        for name in challenge.baselines():
            values += [(name, value) for value in challenge.measure_baseline(name, case, truth)]
        for name in challenge.people():
            values += [(name, value) for value in challenge.measure_people(name, case, truth)]
    part = Part(case.name, job.made_by, tabulated(values), hashes, lost, tuple(failures))
    if known is None:
        return Done(part, why, kept=0, changed=True)
    return Done(_joined(known, part), why, kept=len(known.lost), changed=True)


def _stale(known: Part, prediction: Prediction, digests: Mapping[str, str]) -> str:
    """Return why a prediction has to be measured, nothing if what is known of it still holds."""
    name = prediction.submission
    if name not in known.lost:
        return "new"
    if prediction.path is None:
        told = {failure[2:] for failure in known.failures if failure[0] == name}
        return "" if (prediction.status.value, prediction.reason) in told else "changed"
    return "" if digests == known.hashes.get(name) else "changed"


def _known(job: Job, truth: Mapping[str, str]) -> tuple[Part | None, str]:
    """Return what is known of a case and still holds; else why everything has to be measured."""
    if job.parts is None:
        return None, ""
    known = job.parts.read(job.case.name)
    if known is None:
        return None, "not measured yet"
    keys = {*known.made_by, *job.made_by}
    if changed := sorted(key for key in keys if known.made_by.get(key) != job.made_by.get(key)):
        return None, f"other {' and '.join(changed)}"
    if known.hashes.get("truth") != truth:
        return None, "the truth changed"
    return known, ""


def _without(part: Part, names: set[str]) -> Part:
    """Return a part without what it says about some submissions."""
    if not names:
        return part
    return Part(
        part.case,
        part.made_by,
        part.table.filter(~pl.col("submission").is_in(list(names))),
        {name: files for name, files in part.hashes.items() if name not in names},
        {name: rows for name, rows in part.lost.items() if name not in names},
        tuple(failure for failure in part.failures if failure[0] not in names),
    )


def _joined(kept: Part, new: Part) -> Part:
    return Part(
        new.case,
        new.made_by,
        pl.concat([kept.table, new.table]),
        {**kept.hashes, **new.hashes},
        {**kept.lost, **new.lost},
        (*kept.failures, *new.failures),
    )


def _measured(challenge: Challenge, case: Case, truth: Any, prediction: Prediction) -> list[Value]:
    """Measure a prediction; where it cannot be used, its price and the reason."""
    if prediction.path is None:
        return challenge.failed(case, truth, prediction.status, prediction.reason)
    try:
        return challenge.measure(case, truth, prediction.path)
    except (InputError, OSError) as error:
        reason = str(error).replace(f"{prediction.root}/", "")
        return challenge.failed(case, truth, Status.INVALID, reason)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
    rows = [(name, v.case, v.unit, v.target, v.metric, v.value, v.status.value, v.reason) for name, v in values]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
