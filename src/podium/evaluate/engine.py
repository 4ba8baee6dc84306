"""A run: every submission measured on every case, each case kept as soon as it is done."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from podium import __version__
from podium.evaluate.measuring import Done, Job, Prediction, built_in, tabulated
from podium.evaluate.parts import Part, Parts
from podium.evaluate.pools import Pool, Threads
from podium.evaluate.submissions import Files, Submission, opened
from podium.io import read_timing
from podium.model import Case, Challenge, Expected, InputError, Role, Status, Value

__all__ = ["Measured", "evaluate", "made_by", "plain_options"]


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
    kept
        How many predictions were taken over from earlier, when resuming.
    why
        For each reason why predictions were measured when resuming, how many of which submission.
    """

    table: pl.DataFrame
    failures: list[tuple[str, str, str, str]]
    roles: dict[str, Role]
    hashes: dict[str, dict[str, str]]
    paths: dict[str, str]
    kept: int = 0
    why: Mapping[str, Counter[str]] = field(default_factory=dict)


def evaluate(
    challenge: Challenge,
    *,
    truth: Path,
    submissions: Sequence[Submission],
    jobs: int | None = None,
    pool: Pool | None = None,
    parts: Parts | None = None,
    resume: bool = False,
    scratch: Path | None = None,
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
    pool
        Where to measure, if not in threads.
    parts
        Where each case is kept as soon as it is measured.
    resume
        Measure only what is not kept there, or was made of other files, by other rules or by another version.
    scratch
        Where archives are unpacked; by default where temporary files go.
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
    for name, role in built_in(challenge).items():
        if name in {submission.name for submission in submissions}:
            raise InputError(f"a submission is called {name}, like the {role.value} that Podium evaluates itself")
    wanted = [challenge.expected(case) for case in cases]
    if parts is not None:
        parts.begin(but=frozenset(case.name for case in cases) if resume else frozenset())
    found: list[Part] = []
    kept, why = 0, {}  # type: int, dict[str, Counter[str]]
    with ExitStack() as stack:
        teams = []
        for submission in submissions:
            try:
                teams.append(_Team(submission, stack.enter_context(opened(submission, wanted, scratch=scratch))))
            except (InputError, OSError) as error:  # an archive that cannot be opened fails every case
                if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                    raise  # that is not the team's fault
                teams.append(_Team(submission, None, str(error)))
        known = parts if resume else None
        work = [
            Job(challenge, case, truth, tuple(team.prediction(expected) for team in teams), made_by(challenge), known)
            for case, expected in zip(cases, wanted, strict=True)
        ]
        for number, done in enumerate((pool or Threads(jobs)).measured(work), start=1):
            if parts is None:
                found.append(done.part)
            elif done.changed:
                parts.write(done.part)
            kept += done.kept
            _count(why, done)
            if progress is not None:
                progress(number, len(cases))
        together = _merged(_again(parts, cases) if parts is not None else iter(found))
        return _finished(together, challenge, teams, wanted, kept, why)


def made_by(challenge: Challenge) -> dict[str, Any]:
    """Return all that decides how a case is measured, but the files."""
    return {
        "podium": __version__,
        "challenge": challenge.name,
        "version": challenge.version,
        "edition": challenge.edition,
        "options": {
            key: value for key, value in plain_options(challenge).items() if key not in challenge.scoring_options
        },
    }


def plain_options(challenge: Challenge) -> dict[str, Any]:
    """Return the options of a challenge that a file can hold."""
    kinds = (str, int, float, bool)
    return {key: value for key, value in asdict(challenge).items() if value is None or isinstance(value, kinds)}


@dataclass(frozen=True, slots=True)
class _Team:
    submission: Submission
    files: Files | None
    closed: str = ""

    def prediction(self, expected: Expected) -> Prediction:
        """Return where the prediction of a case lies, or why there is none."""
        name = self.submission.name
        if self.files is None:
            return Prediction(name, status=Status.INVALID, reason=self.closed)
        return Prediction.among(name, self.files, expected)

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


@dataclass(frozen=True, slots=True)
class _Together:
    """What all parts hold, without the parts."""

    table: pl.DataFrame
    failures: list[tuple[str, str, str, str]]
    hashes: dict[str, dict[str, str]]
    lost: dict[str, set[str]]


def _again(parts: Parts, cases: Sequence[Case]) -> Iterator[Part]:
    """Yield the parts that were written."""
    for case in cases:
        part = parts.read(case.name)
        if part is None:
            raise InputError(
                "a part file that was written cannot be read", path=parts.path(case.name), advice="Evaluate again"
            )
        yield part


def _merged(parts: Iterator[Part]) -> _Together:
    tables: list[pl.DataFrame] = []
    failures: list[tuple[str, str, str, str]] = []
    hashes: dict[str, dict[str, str]] = {}
    lost: dict[str, set[str]] = {}
    for part in parts:
        tables.append(part.table)
        failures += part.failures
        for name, digests in part.hashes.items():
            hashes.setdefault(name, {}).update(digests)
        for name, rows in part.lost.items():
            lost.setdefault(name, set()).update(rows)
    return _Together(pl.concat(tables), failures, hashes, lost)


def _finished(
    found: _Together,
    challenge: Challenge,
    teams: Sequence[_Team],
    wanted: list[Expected],
    kept: int,
    why: Mapping[str, Counter[str]],
) -> Measured:
    """Add what concerns a submission as a whole: its times, and files that nobody asked for."""
    rows = set(found.table["case"].unique().to_list())
    failures, seconds = list(found.failures), []
    for team in teams:
        name = team.submission.name
        timing, remarks = team.timing(rows)
        lost = found.lost.get(name, set())
        seconds += [(name, Value(row, "seconds", time)) for row, time in timing.items() if row not in lost]
        remarks += team.files.unexpected(wanted) if team.files else []
        failures += [(name, "", "warning", remark) for remark in remarks]
    return Measured(
        table=pl.concat([found.table, tabulated(seconds)]).sort("submission", "case", "unit", "target", "metric"),
        failures=sorted(set(failures)),
        roles={team.submission.name: team.submission.role for team in teams} | built_in(challenge),
        hashes={name: found.hashes.get(name, {}) for name in ("truth", *(t.submission.name for t in teams))},
        paths={team.submission.name: str(team.submission.path) for team in teams},
        kept=kept,
        why=why,
    )


def _count(why: dict[str, Counter[str]], done: Done) -> None:
    for name, reason in done.why.items():
        if reason:
            why.setdefault(reason, Counter())[name] += 1
