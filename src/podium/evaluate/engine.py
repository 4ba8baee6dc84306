"""Measuring: one case at a time, its truth read once and every submission measured against it, in threads."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from podium.evaluate.submissions import Files, Submission, opened
from podium.io import read_timing
from podium.model import Case, Challenge, InputError, Role, Status, Value

__all__ = ["SCHEMA", "Measured", "evaluate", "tabulated"]

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
class Measured:
    """What a run found out.

    Attributes
    ----------
    table
        Tidy measurements, sorted; see `SCHEMA`.
    failures
        What went wrong: submission, case, status and reason, sorted.
    roles
        Who each submission stands for.
    hashes
        SHA-256 of every input: "truth" or the submission's name, then the path inside it.
    paths
        Where each submission lay.
    """

    table: pl.DataFrame
    failures: list[tuple[str, str, str, str]]
    roles: dict[str, Role]
    hashes: dict[str, dict[str, str]]
    paths: dict[str, str]


def evaluate(
    challenge: Challenge,
    *,
    truth: Path,
    submissions: Sequence[Submission],
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Measured:
    """Measure every submission on every case.

    Parameters
    ----------
    challenge
        Whose rules.
    truth
        The folder with the truth.
    submissions
        From `find_submissions`.
    jobs
        Threads; by default as many as there are processors. Results do not depend on it.
    progress
        Called with the number of cases done and their total.
    """
    if not truth.is_dir():
        raise InputError("this is not a folder", path=truth, advice="Give the folder that holds the truth")
    cases = challenge.cases(truth)
    if not cases:
        raise InputError(
            f"no case of {challenge.title} was found", path=truth, advice="Is this the folder of the truth?"
        )
    for name in challenge.baselines():
        if name in {submission.name for submission in submissions}:
            raise InputError(f"a submission is called {name}, like the baseline that Podium evaluates itself")
    wanted = [challenge.expected(case) for case in cases]
    with ExitStack() as stack:
        teams, failures = [], []
        for submission in submissions:
            try:
                teams.append(_Team(submission, stack.enter_context(opened(submission, wanted))))
            except (InputError, OSError) as error:  # an archive that cannot be opened fails every case
                teams.append(_Team(submission, None, str(error)))
        done: list[_Done] = []
        with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
            work = [pool.submit(_measure_case, challenge, case, teams, truth) for case in cases]
            try:
                for future in work:
                    done.append(future.result())
                    if progress is not None:
                        progress(len(done), len(cases))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        seconds = []
        for team in teams:
            name = team.submission.name
            rows = {row for each in done for row in each.rows}
            timing, remarks = team.timing(rows)
            lost = {row for each in done for row in each.lost.get(name, ())}
            seconds += [(name, Value(row, "seconds", time)) for row, time in timing.items() if row not in lost]
            remarks += team.files.unexpected(wanted) if team.files else []
            failures += [(name, "", "warning", remark) for remark in remarks]
    failures += [failure for each in done for failure in each.failures]
    table = pl.concat([*(each.table for each in done), tabulated(seconds)])
    hashes: dict[str, dict[str, str]] = {name: {} for name in ("truth", *(s.name for s in submissions))}
    for each in done:
        for name, digests in each.hashes.items():
            hashes[name] |= digests
    roles = {submission.name: submission.role for submission in submissions}
    return Measured(
        table=table.sort("submission", "case", "unit", "target", "metric"),
        failures=sorted(set(failures)),
        roles=roles | dict.fromkeys(challenge.baselines(), Role.BASELINE),
        hashes=hashes,
        paths={submission.name: str(submission.path) for submission in submissions},
    )


@dataclass(frozen=True, slots=True)
class _Done:
    """What is kept of a case once it is measured: a compact table, and what has to be known to finish the run."""

    table: pl.DataFrame
    rows: set[str]
    lost: dict[str, set[str]]
    failures: list[tuple[str, str, str, str]]
    hashes: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class _Team:
    submission: Submission
    files: Files | None
    closed: str = ""

    def timing(self, rows: set[str]) -> tuple[dict[str, float], list[str]]:
        """Return the seconds of each row, and what is wrong with them."""
        path = self.files.timing if self.files else None
        if path is None:
            return {}, []
        try:
            seconds = {row: entry[0] for row, entry in read_timing(path).items()}
        except (InputError, OSError) as error:
            return {}, [f"{error}; no timing is counted"]
        strangers = sorted(set(seconds) - rows)
        remarks = [f"timing.csv: there is no case called {row}" for row in strangers]
        return {row: value for row, value in seconds.items() if row in rows}, remarks


def _measure_case(challenge: Challenge, case: Case, teams: list[_Team], folder: Path) -> _Done:
    """Read the truth of a case and measure every submission and baseline against it."""
    truth = challenge.load(case)
    hashes = {"truth": {str(path.relative_to(folder)): _digest(path) for path in case.files}}
    values = []
    failures = []
    lost: dict[str, set[str]] = {}
    for team in teams:
        name = team.submission.name
        found, path = _measure_one(challenge, case, truth, team)
        values += [(name, value) for value in found]
        failures += _failures(name, found)
        lost[name] = {value.case for value in found if value.status in (Status.MISSING, Status.INVALID)}
        if path is not None and team.files is not None:
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            hashes[name] = {str(f.relative_to(team.files.root)): _digest(f) for f in files if f.is_file()}
    for name in challenge.baselines():
        values += [(name, value) for value in challenge.measure_baseline(name, case, truth)]
    return _Done(tabulated(values), {value.case for _, value in values}, lost, failures, hashes)


def _measure_one(challenge: Challenge, case: Case, truth: Any, team: _Team) -> tuple[list[Value], Path | None]:
    if team.files is None:
        return challenge.failed(case, truth, Status.INVALID, team.closed), None
    expected = challenge.expected(case)
    path = None
    try:
        path = team.files.find(expected)
        if path is None:
            reason = f"there is no {expected.names[0]}"
            return challenge.failed(case, truth, Status.MISSING, reason), None
        return challenge.measure(case, truth, path), path
    except (InputError, OSError) as error:
        root = f"{team.files.root}/"
        return challenge.failed(case, truth, Status.INVALID, str(error).replace(root, "")), path


def _digest(path: Path) -> str:
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
