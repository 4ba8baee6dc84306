"""Evaluating one team on grand-challenge.org: predictions.json in, metrics.json out."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from podium.io import json_text, read_text, write_text
from podium.model import Case, Challenge, InputError, Status, Value
from podium.ranking import scores_alone
from podium.run.engine import found_cases
from podium.run.measuring import CaseJob, Prediction, measure_case, tabulated
from podium.run.results import metrics_document

__all__ = ["evaluate_on_grand_challenge"]

_TEAM = "team"


def evaluate_on_grand_challenge(
    challenge: Challenge, *, truth: Path, predictions: Path, metrics: Path
) -> dict[str, Any]:
    """Measure the team whose jobs predictions.json lists, and write metrics.json.

    A case takes the time from started_at to completed_at. There is one team, so there are no ranks; its own scores join
    the aggregates.

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
    """
    try:
        jobs = json.loads(read_text(predictions))
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON ({error})", path=predictions) from None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise InputError("this is not a list of jobs", path=predictions)
    challenge, all_cases = found_cases(challenge, truth)
    cases = {case.name: case for case in all_cases}
    outputs: dict[str, tuple[Path | None, float | None]] = {}
    for job in jobs:
        name = _case_of(job, cases, predictions)
        if name in outputs:
            raise InputError(f"two jobs are about case {name}", path=predictions)
        outputs[name] = _output_of(job, predictions.parent), _seconds_of(job)
    tables = []
    for name, case in cases.items():
        path, seconds = outputs.get(name, (None, None))
        part = measure_case(CaseJob(challenge, case, truth, (_prediction(path),), {})).part
        if part.faults:
            raise InputError(f"{challenge.title} itself is at fault ({name}: {part.faults[0][1]})")
        tables.append(part.table)
        if seconds is not None:
            tables.append(tabulated([(_TEAM, Value(name, challenge.time.name, seconds))]))
    table = pl.concat(tables)
    document = metrics_document(table)
    document["aggregates"]["scores"] = scores_alone(challenge, table)
    metrics.parent.mkdir(parents=True, exist_ok=True)
    write_text(metrics, json_text(document))
    return document


def _prediction(path: Path | None) -> Prediction:
    if path is None:
        return Prediction(_TEAM, status=Status.MISSING, reason="there is no output for this case")
    return Prediction(_TEAM, path.parent, path)


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
