"""Evaluating one team on grand-challenge.org: predictions.json in, metrics.json out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import polars as pl

from podium.io import json_text, write_text
from podium.model import Case, Challenge, InputError, Role, Value
from podium.ranking import cube_of, ranked_submissions, scores_alone
from podium.run.enclosure import enclosed
from podium.run.engine import Evaluation, found_cases
from podium.run.jobs import JobOutput, read_jobs
from podium.run.measuring import CaseJob, Prediction, measure_case, tabulated
from podium.run.parts import Part
from podium.run.record import RunRecord
from podium.run.results import metrics_document, organisers_document

__all__ = ["Keys", "evaluate_on_grand_challenge"]

Keys = Literal["podium", "organisers"]
"""Whether metrics.json has Podium's keys only, or the organisers' own beside them."""

_TEAM = "team"


def evaluate_on_grand_challenge(
    challenge: Challenge,
    *,
    truth: Path,
    predictions: Path,
    metrics: Path,
    keys: Keys = "podium",
    socket: str | None = None,
) -> dict[str, Any]:
    """Measure the team whose jobs predictions.json lists, and write metrics.json.

    There is one team, so there are no ranks; its own scores join the aggregates, and `eligibility` says whether it
    would be ranked. What made the numbers is enclosed, so that several teams can be gathered into one run.

    Parameters
    ----------
    challenge
        Whose rules.
    truth
        The folder with the truth.
    predictions
        predictions.json; outputs lie beside it in <pk>/output/<relative path>/. See `read_jobs`.
    metrics
        Where to write the results.
    keys
        "organisers" to have the organisers' own keys as well.
    socket
        The slug of the output to take, where jobs have several.
    """
    started = datetime.now(UTC)
    if keys == "organisers" and challenge.organisers_keys is None:
        raise InputError(f"the organisers of {challenge.title} have no keys that are known", advice="Leave out --keys")
    challenge, cases = found_cases(challenge, truth)
    jobs = read_jobs(predictions, [case.name for case in cases], time=challenge.time, socket=socket)
    evaluation = _evaluation(challenge, truth, predictions.parent, cases, jobs.outputs)
    document = metrics_document(evaluation.table.filter(pl.col("submission") == _TEAM))
    document["aggregates"]["scores"] = scores_alone(challenge, evaluation.table, roles=evaluation.roles)
    if keys == "organisers" and challenge.organisers_keys is not None:
        document = organisers_document(document, challenge.organisers_keys)
    reasons = ranked_submissions(challenge, cube_of(challenge, evaluation.table), evaluation.roles)[1]
    document["eligibility"] = {"eligible": _TEAM not in reasons, "reason": reasons.get(_TEAM, "")}
    document["remarks"] = list(jobs.remarks)
    record = RunRecord.of(
        evaluation,
        folder=metrics.parent,
        truth=truth,
        places={_TEAM: predictions.parent},
        started=started,
        ended=datetime.now(UTC),
    )
    document |= enclosed(record, evaluation)
    metrics.parent.mkdir(parents=True, exist_ok=True)
    write_text(metrics, json_text(document))
    return document


def _evaluation(
    challenge: Challenge, truth: Path, folder: Path, cases: Sequence[Case], outputs: dict[str, JobOutput]
) -> Evaluation:
    """Measure the team and what is built in, which it may have to outperform."""
    built_in = tuple(Prediction(name, built_in=True) for name in challenge.built_in)
    parts: list[Part] = []
    for case in cases:
        predictions = (_prediction(outputs[case.name], folder), *built_in)
        part = measure_case(CaseJob(challenge, case, truth, predictions, {})).part
        if part.faults:
            raise InputError(f"{challenge.title} itself is at fault ({case.name}: {part.faults[0][1]})")
        parts.append(part)
    seconds = [
        (_TEAM, Value(name, challenge.time.name, output.seconds))
        for name, output in outputs.items()
        if output.seconds is not None
    ]
    return Evaluation(
        challenge=challenge,
        table=pl.concat([*(part.table for part in parts), tabulated(seconds)]),
        failures=sorted(failure for part in parts for failure in part.failures),
        faults=[],
        roles={_TEAM: Role.COMPETITOR} | dict(challenge.built_in),
        truth={file: digest for part in parts for file, digest in part.truth.items()},
        hashes={_TEAM: {file: digest for part in parts for file, digest in part.hashes.get(_TEAM, {}).items()}},
    )


def _prediction(output: JobOutput, folder: Path) -> Prediction:
    if output.path is None:
        return Prediction(_TEAM, status=output.status, reason=output.reason)
    return Prediction(_TEAM, folder, output.path)
