"""Evaluating one team on grand-challenge.org: predictions.json in, metrics.json out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from podium.evaluate.measuring import tabulated
from podium.evaluate.record import metrics_document
from podium.io import json_text, write_text
from podium.model import Case, Challenge, InputError, Status, Value

__all__ = ["evaluate_on_grand_challenge"]


def evaluate_on_grand_challenge(
    challenge: Challenge,
    *,
    truth: Path,
    predictions: Path,
    metrics: Path,
    scores: Callable[[pl.DataFrame], dict[str, float | None]] | None = None,
) -> dict[str, Any]:
    """Measure the team whose jobs predictions.json lists, and write metrics.json.

    A case takes the time from started_at to completed_at. There is one team, so there are no ranks.

    Parameters
    ----------
    challenge
        Whose rules.
    truth
        The folder with the truth.
    predictions
        predictions.json; outputs lie beside it in <pk>/output/<relative path>/.
    metrics
        Where to write the results.
    scores
        Computes the team's own scores from the measurements; they join the aggregates.
    """
    try:
        jobs = json.loads(predictions.read_text())
    except ValueError as error:
        raise InputError(f"this is not JSON ({error})", path=predictions) from None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise InputError("this is not a list of jobs", path=predictions)
    cases = {case.name: case for case in challenge.cases(truth)}
    if not cases:
        raise InputError(f"no case of {challenge.title} was found", path=truth)
    values: list[Value] = []
    found: dict[str, tuple[Path | None, float | None]] = {}
    for job in jobs:
        name = _case_of(job, cases, predictions)
        if name in found:
            raise InputError(f"two jobs are about case {name}", path=predictions)
        found[name] = _output_of(job, predictions.parent), _seconds_of(job)
    for name, case in cases.items():
        path, seconds = found.get(name, (None, None))
        values += _measured(challenge, case, path)
        if seconds is not None and not any(
            v.case == name and v.status in (Status.MISSING, Status.INVALID) for v in values
        ):
            values.append(Value(name, "seconds", seconds))
    table = tabulated([("team", value) for value in values])
    document = metrics_document(table)
    if scores is not None:
        document["aggregates"]["scores"] = scores(table)
    metrics.parent.mkdir(parents=True, exist_ok=True)
    write_text(metrics, json_text(document))
    return document


def _measured(challenge: Challenge, case: Case, path: Path | None) -> list[Value]:
    truth = challenge.load(case)
    if path is None:
        return challenge.failed(case, truth, Status.MISSING, "there is no output for this case")
    try:
        return challenge.measure(case, truth, path)
    except (InputError, OSError) as error:
        return challenge.failed(case, truth, Status.INVALID, str(error))


def _case_of(job: Any, cases: dict[str, Case], path: Path) -> str:
    """Return the case whose name begins the name of an input image; the longest if several do."""
    names = [str((entry.get("image") or {}).get("name", "")) for entry in job.get("inputs") or []]
    matches = [case for case in cases for name in names if re.match(rf"{re.escape(case)}(?![0-9A-Za-z])", name)]
    if not matches:
        raise InputError(f"job {job.get('pk')} names no known case in its inputs ({', '.join(names)[:120]})", path=path)
    return max(matches, key=len)


def _output_of(job: Any, folder: Path) -> Path | None:
    """Return the file that a job put out, None if there is none."""
    for output in job.get("outputs") or []:
        relative = (output.get("interface") or {}).get("relative_path")
        if not output.get("image") or not relative or ".." in Path(relative).parts or Path(relative).is_absolute():
            continue
        place = folder / str(job.get("pk")) / "output" / relative
        files: list[Path] = [path for path in sorted(place.glob("*")) if path.is_file() and not path.is_symlink()]
        if files:
            return files[0]
    return None


def _seconds_of(job: Any) -> float | None:
    try:
        started, completed = (datetime.fromisoformat(job[key]) for key in ("started_at", "completed_at"))
        seconds = (completed - started).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None
