"""Every submission measured on every case, each case kept as soon as it is done."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from shutil import disk_usage
from tempfile import gettempdir
from typing import Any

import polars as pl

from podium import __version__
from podium.io import read_timing
from podium.io.inputs import MAX_TEXT_BYTES
from podium.model import LOADING, Case, Challenge, InputError, Role, Status, Value, placement_now
from podium.model.errors import brief
from podium.run.measuring import RAISED, CaseJob, Done, Prediction, described, measure_case, tabulated
from podium.run.naming import nothing_in_common, teams_within
from podium.run.parts import Part, Parts, digests
from podium.run.pools import Pool, Threads
from podium.run.submissions import JOBS, Files, Submission, archive_of, opened
from podium.run.unpacking import ROOM_TAKEN, room_needed

__all__ = ["Evaluation", "evaluation_of", "found_cases", "made_by", "measure_all"]

_MOST_NAMED = 3
_MOST_STRANGE = 50


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was found out about all submissions.

    Attributes
    ----------
    challenge
        With the options that stood beside the truth.
    table
        Tidy measurements, sorted; see `SCHEMA`.
    failures
        What went wrong: submission, case, status and reason, sorted.
    faults
        What the challenge itself did wrong: submission ("" for all), case and what. They keep the board from being
        published.
    roles
        Who each submission stands for.
    truth
        SHA-256 of every file of the truth that was read.
    hashes
        Likewise of each submission.
    kept
        How many predictions were taken over from earlier, when resuming.
    why
        For each reason why predictions were measured when resuming, how many of which submission.
    devices
        GPUs on which any of it was measured.
    """

    challenge: Challenge
    table: pl.DataFrame
    failures: list[tuple[str, str, str, str]]
    faults: list[tuple[str, str, str]]
    roles: dict[str, Role]
    truth: dict[str, str]
    hashes: dict[str, dict[str, str]]
    kept: int = 0
    why: Mapping[str, Counter[str]] = field(default_factory=dict)
    devices: tuple[str, ...] = ()


def measure_all(
    challenge: Challenge,
    *,
    truth: Path,
    submissions: Sequence[Submission],
    pool: Pool | None = None,
    parts: Parts | None = None,
    resume: bool = False,
    scratch: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Measure every submission on every case, on the device that was chosen by `measured_on`.

    Parameters
    ----------
    challenge
        Whose rules.
    truth
        The folder with the truth.
    submissions
        From `find_submissions`.
    pool
        Where to measure; by default in as many threads as there are processors. Results do not depend on it.
    parts
        Where each case is kept as soon as it is measured.
    resume
        Measure only what is not kept there, or was made of other files, by other rules or by another version.
    scratch
        Where archives are unpacked; by default where temporary files go.
    progress
        Called with the number of cases done and their total.
    """
    challenge, cases = found_cases(challenge, truth)
    if progress is not None:
        progress(0, len(cases))
    for name, role in challenge.built_in.items():
        if name in {submission.name for submission in submissions}:
            raise InputError(f"a submission is called {name}, like the {role.value} that Podium evaluates itself")
    refused = _refused_archives(submissions, scratch or Path(gettempdir()))
    measured: list[Part] = []
    kept, why = 0, {}  # type: int, dict[str, Counter[str]]
    with ExitStack() as stack:
        teams = [
            _Team(submission, None, refused[submission.name])
            if submission.name in refused
            else _Team.opening(submission, cases, stack, scratch)
            for submission in submissions
        ]
        predictions = [tuple(team.prediction(case) for team in teams) for case in cases]
        if all(prediction.status is Status.MISSING for of_case in predictions for prediction in of_case):
            _refuse_strangers(cases, teams)
        if parts is not None:
            parts.begin(but=frozenset(case.name for case in cases) if resume else frozenset())
        built_in = tuple(Prediction(name, built_in=True) for name in challenge.built_in)
        recipe, known = made_by(challenge), parts if resume else None
        jobs = [
            CaseJob(challenge, case, truth, (*of_case, *built_in), recipe, known, placement_now().device)
            for case, of_case in zip(cases, predictions, strict=True)
        ]
        for number, done in enumerate((pool or Threads()).done(measure_case, jobs), start=1):
            if parts is None:
                measured.append(done.part)
            elif done.changed:
                parts.write(done.part)
            kept += done.kept
            _count(why, done)
            if progress is not None:
                progress(number, len(cases))
        together = _merged(_again(parts, cases) if parts is not None else measured)
        return _finished(challenge, together, teams, cases, kept, why)


def evaluation_of(
    challenge: Challenge,
    parts: Parts,
    cases: Sequence[Case],
    submissions: Sequence[Submission],
    *,
    loading: Mapping[str, float],
) -> Evaluation:
    """Return what parts hold that were written one by one, with the times in the folders of the submissions.

    Parameters
    ----------
    challenge, parts, cases
        What was measured, of all cases.
    submissions
        Folders, which need not hold predictions any more.
    loading
        How long algorithms took to load, which only Podium itself can know.
    """
    together = _only(_merged(_again(parts, cases)), {*challenge.built_in, *(s.name for s in submissions)})
    rows = together.table["case"].unique().to_list()
    values = [(name, Value(row, LOADING.name, seconds)) for name, seconds in loading.items() for row in rows]
    together = replace(together, table=pl.concat([together.table, tabulated(values)]))
    with ExitStack() as stack:
        teams = [_Team.opening(submission, cases, stack, None) for submission in submissions]
        for team, case in product(teams, cases):
            team.prediction(case)  # so that it is known which files belong to a case
        return _finished(challenge, together, teams, cases, 0, {})


def found_cases(challenge: Challenge, truth: Path) -> tuple[Challenge, list[Case]]:
    """Return a challenge with the options that stand beside the truth, and the cases of the truth."""
    if not truth.is_dir():
        raise InputError("this is not a folder", path=truth, advice="Give the folder that holds the truth")
    try:
        challenge = challenge.prepared(truth)
        cases = challenge.cases(truth)
    except (InputError, OSError):
        raise
    except Exception as error:
        raise InputError(
            f"{challenge.title} itself is at fault: it cannot find its cases ({type(error).__name__}: {error})",
            path=truth,
        ) from error
    if double := [name for name, count in Counter(case.name for case in cases).items() if count > 1]:
        raise InputError(f"{challenge.title} itself is at fault: two cases are called {double[0]}", path=truth)
    if not cases:
        raise InputError(
            f"no case of {challenge.title} was found", path=truth, advice="Is this the folder of the truth?"
        )
    return challenge, cases


def made_by(challenge: Challenge) -> dict[str, Any]:
    """Return all that decides how a case is measured, but the files."""
    return {
        "podium": __version__,
        "challenge": challenge.name,
        "version": challenge.version,
        "edition": challenge.edition,
        "options": {key: value for key, value in challenge.options.items() if key not in challenge.scoring_options},
    }


def _refused_archives(submissions: Sequence[Submission], folder: Path) -> dict[str, str]:
    """Return which archives are not unpacked, and why; there must be room in the folder for all others together."""
    needs, refused = {}, {}
    for submission in submissions:
        try:
            if archive := archive_of(submission.path, submission.limits):
                needs[submission.name] = room_needed(archive, submission.limits)
        except (InputError, OSError) as error:
            refused[submission.name] = str(error)
        except RAISED as error:
            refused[submission.name] = f"the submission cannot be opened ({described(error)})"
    room = int(disk_usage(folder).free * ROOM_TAKEN)
    if sum(needs.values()) > room:
        largest = max(needs, key=lambda name: needs[name])
        raise InputError(
            f"the archives take {sum(needs.values()):,} bytes once unpacked, {needs[largest]:,} of them {largest}; "
            f"on this disk there is room for {room:,}",
            path=folder,
            advice="Make room, or give an --out on a larger disk",
        )
    return refused


@dataclass(frozen=True, slots=True)
class _Team:
    submission: Submission
    files: Files | None
    closed: str = ""

    @classmethod
    def opening(cls, submission: Submission, cases: Sequence[Case], stack: ExitStack, scratch: Path | None) -> _Team:
        """Open a submission; an archive that cannot be opened fails every case."""
        try:
            return cls(submission, stack.enter_context(opened(submission, cases, scratch=scratch)))
        except (InputError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise  # that is not the team's fault
            return cls(submission, None, str(error))
        except RAISED as error:
            return cls(submission, None, f"the submission cannot be opened ({described(error)})")

    def prediction(self, case: Case) -> Prediction:
        """Return where the prediction of a case lies, or why there is none."""
        name = self.submission.name
        if self.files is None:
            return Prediction(name, status=Status.INVALID, reason=self.closed)
        return Prediction.among(name, self.files, case)

    def timing(self, rows: set[str]) -> tuple[dict[str, float], list[str], dict[str, str]]:
        """Return the seconds of each row, what is wrong with them, and the hash of the file."""
        if self.files is None:
            return {}, [], {}
        path = self.files.timing
        seconds = self.files.job_seconds if path is None else {}
        if path is None and not seconds:
            return {}, [], {}
        path = path or self.files.root / JOBS
        own = digests(path.parent, {path}, most_bytes=MAX_TEXT_BYTES)
        try:
            seconds = seconds or {row: entry[0] for row, entry in read_timing(path).items()}
        except (InputError, OSError) as error:
            return {}, [f"{str(error).replace(f'{path.parent}/', '')}; no timing is counted"], own
        except RAISED as error:
            return {}, [f"{path.name} cannot be read ({described(error)}); no timing is counted"], own
        strange = sorted(set(seconds) - rows)
        remarks = [f"{path.name}: there is no case called {row}" for row in strange[:_MOST_STRANGE]]
        if len(strange) > _MOST_STRANGE:
            remarks.append(f"{path.name}: {len(strange) - _MOST_STRANGE:,} more names are no cases")
        if lacking := sorted(rows - set(seconds)):
            named = ", ".join(lacking[:_MOST_NAMED]) + (" …" if len(lacking) > _MOST_NAMED else "")
            remarks.append(f"{path.name}: no time counts, as there is none for {named}")
        return {row: value for row, value in seconds.items() if row in rows}, remarks, own


def _refuse_strangers(cases: Sequence[Case], teams: Sequence[_Team]) -> None:
    """Stop where no submission has anything that is called like a prediction: somebody gave the wrong folder."""
    submissions = {team.submission.path: team.files for team in teams if team.files is not None}
    for path, files in submissions.items():
        if within := teams_within(files, cases):
            raise InputError(
                f"this holds several teams ({within})", path=path, advice="Give this folder as the submissions"
            )
    if what := nothing_in_common(cases, list(submissions.values())):
        raise InputError(what, advice="Is this the truth of these submissions? podium check looks at one of them")


@dataclass(frozen=True, slots=True)
class _Together:
    """What all parts hold, without the parts."""

    table: pl.DataFrame
    failures: list[tuple[str, str, str, str]]
    faults: list[tuple[str, str, str]]
    truth: dict[str, str]
    hashes: dict[str, dict[str, str]]
    devices: set[str] = field(default_factory=set)


def _again(parts: Parts, cases: Sequence[Case]) -> Iterator[Part]:
    """Yield the parts that were written."""
    for case in cases:
        part = parts.read(case.name)
        if part is None:
            raise InputError(
                "a part file that was written cannot be read",
                path=parts.path(case.name),
                advice="Add --resume to measure what it held again",
            )
        yield part


def _merged(parts: Iterable[Part]) -> _Together:
    together = _Together(tabulated([]), [], [], {}, {})
    tables = [together.table]
    cases: dict[str, str] = {}
    for part in parts:
        tables.append(part.table)
        for row in part.table["case"].unique().to_list():
            if cases.setdefault(row, part.case) != part.case:
                together.faults.append(("", part.case, f"{row} is a row of {cases[row]} as well"))
        together.failures.extend(part.failures)
        together.faults.extend((name, part.case, what) for name, what in part.faults)
        together.truth.update(part.truth)
        for name, files in part.hashes.items():
            together.hashes.setdefault(name, {}).update(files)
        together.devices.update(part.devices)
    return replace(together, table=pl.concat(tables))


def _only(together: _Together, names: set[str]) -> _Together:
    """Return what concerns some submissions."""
    return replace(
        together,
        table=together.table.filter(pl.col("submission").is_in(list(names))),
        failures=[failure for failure in together.failures if failure[0] in names],
        faults=[fault for fault in together.faults if not fault[0] or fault[0] in names],
        hashes={name: files for name, files in together.hashes.items() if name in names},
    )


def _finished(
    challenge: Challenge,
    together: _Together,
    teams: Sequence[_Team],
    cases: Sequence[Case],
    kept: int,
    why: Mapping[str, Counter[str]],
) -> Evaluation:
    """Add what concerns a submission as a whole: its times, and files that nobody asked for."""
    rows = set(together.table["case"].unique().to_list())
    failures, seconds, hashes = list(together.failures), [], {}
    table = together.table
    for team in teams:
        name = team.submission.name
        timing, remarks, own = team.timing(rows)
        hashes[name] = together.hashes.get(name, {}) | own
        if timing:  # which wins over times that a prediction brings with it
            table = table.filter((pl.col("submission") != name) | (pl.col("metric") != challenge.time.name))
        seconds += [(name, Value(row, challenge.time.name, time)) for row, time in timing.items()]
        if team.files is not None:
            team.files.use(hashes[name])
            remarks += team.files.unexpected(cases)
        failures += [(name, "", "warning", brief(remark)) for remark in remarks]
    return Evaluation(
        challenge=challenge,
        table=pl.concat([table, tabulated(seconds)]).sort("submission", "case", "unit", "target", "metric"),
        failures=sorted(set(failures)),
        faults=sorted(together.faults),
        roles={team.submission.name: team.submission.role for team in teams} | dict(challenge.built_in),
        truth=together.truth,
        hashes=hashes,
        kept=kept,
        why=why,
        devices=tuple(sorted(together.devices)),
    )


def _count(why: dict[str, Counter[str]], done: Done) -> None:
    for name, reason in done.why.items():
        if reason:
            why.setdefault(reason, Counter())[name] += 1
