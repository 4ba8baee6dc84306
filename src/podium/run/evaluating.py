"""An evaluation into a run folder: measured, ranked, and complete before anything that was there goes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from podium.io import Content, parquet_bytes
from podium.model import Challenge, InputError
from podium.run.engine import Evaluation, measure_all
from podium.run.folder import RunFolder
from podium.run.parts import sole_writer
from podium.run.pools import Threads, dask_pool
from podium.run.record import RunRecord
from podium.run.results import leaderboard_files, metrics_files
from podium.run.runs import Run, failures_frame
from podium.run.submissions import Limits, Submission, find_submissions

__all__ = ["evaluate_into", "evaluate_teams", "write_run", "written_run"]


def evaluate_into(
    out: Path,
    challenge: Challenge,
    *,
    truth: Path,
    submissions: Path,
    jobs: int | None = None,
    baselines: Sequence[str] = (),
    references: Sequence[str] = (),
    resume: bool = False,
    restart: bool = False,
    dask: str | None = None,
    limits: Limits | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Run:
    """Measure every submission on every case, rank them, and write a run folder.

    Parameters
    ----------
    out
        The run folder: new, empty, or a run that is to be resumed or made anew.
    challenge
        Whose rules.
    truth, submissions
        The folder with the truth, and that with one entry per team.
    jobs
        Threads; by default as many as there are processors. Results do not depend on it.
    baselines, references
        Names of submissions that are shown but not ranked: simple methods, and people.
    resume, restart
        Measure only what is missing or whose inputs changed; or begin anew. A run that was there
        stays until the new one is complete.
    dask
        Measure on a Dask cluster: tcp://scheduler:8786, or local:N.
    limits
        How much a submission may hold.
    progress
        Called with the number of cases done and their total.
    say
        Is told what a person may want to know meanwhile.
    """
    if not truth.is_dir():
        raise InputError("this is not a folder", path=truth, advice="Give the folder that holds the truth")
    teams = find_submissions(
        submissions,
        baselines=tuple(baselines),
        references=tuple(references),
        truth=truth,
        limits=limits,
        single_files=challenge.single_files,
    )
    return evaluate_teams(
        out,
        challenge,
        truth=truth,
        teams=teams,
        places={"the truth": truth, "the submissions": submissions},
        jobs=jobs,
        resume=resume,
        restart=restart,
        dask=dask,
        progress=progress,
        say=say,
    )


def evaluate_teams(
    out: Path,
    challenge: Challenge,
    *,
    truth: Path,
    teams: Sequence[Submission],
    places: Mapping[str, Path],
    jobs: int | None = None,
    resume: bool = False,
    restart: bool = False,
    dask: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Run:
    """Measure submissions, wherever they lie, as `evaluate_into` does; `places` are those that no run may be in."""
    started = datetime.now(UTC)
    if resume and restart:
        raise InputError("a run is either resumed or made anew", advice="Give --resume or --restart, not both")
    for what, inputs in places.items():
        if out.resolve() == inputs.resolve() or inputs.resolve() in out.resolve().parents:
            raise InputError(f"the run folder would lie among {what}", path=out, advice="Give another folder as --out")
    folder = RunFolder(out)
    folder.begin(resume=resume, restart=restart)
    with sole_writer(out), ExitStack() as stack:
        scratch = folder.parts.folder / "unpacked"
        shutil.rmtree(scratch, ignore_errors=True)  # of a run that was killed
        scratch.mkdir(parents=True)
        stack.callback(_removed_if_empty, folder.parts.folder)  # of a run that did not come to measure anything
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        pool = stack.enter_context(dask_pool(dask, say=say)) if dask else Threads(jobs)
        evaluation = measure_all(
            challenge,
            truth=truth,
            submissions=teams,
            pool=pool,
            parts=folder.parts,
            resume=resume,
            scratch=scratch,
            progress=progress,
        )
        lying = {team.name: team.path for team in teams}
        run = written_run(evaluation, folder, truth=truth, places=lying, started=started)
    run.kept, run.why = evaluation.kept, evaluation.why
    return run


def written_run(
    evaluation: Evaluation,
    folder: RunFolder,
    *,
    truth: Path,
    places: Mapping[str, Path],
    started: datetime,
    not_kept: Collection[str] = (),
) -> Run:
    """Let what was found out appear in a folder as a run.

    `places` says where each submission lies, `not_kept` of whom predictions are deleted by now.
    """
    out, ended = folder.path, datetime.now(UTC)
    record = RunRecord.of(
        evaluation, folder=out, truth=truth, places=places, not_kept=not_kept, started=started, ended=ended
    )
    run = Run(evaluation.challenge, record, evaluation.table, failures_frame(evaluation.failures), folder=out)
    run = write_run(run, folder)
    folder.parts.finish()
    return run


def write_run(run: Run, folder: RunFolder) -> Run:
    """Let a run appear in its folder, and return it; without a leaderboard where the challenge cannot score it."""
    packed = parquet_bytes(run.measurements)
    facts: dict[str, Any] = {"measurements": sha256(packed).hexdigest()}
    if not run.withheld and (fault := _scoring_fault(run)):
        facts["faults"] = [("", "", fault)]
    run.record = run.record.model_copy(update=facts)
    folder.replace({"measurements.parquet": packed, **_files(run)})
    return run


def _removed_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _scoring_fault(run: Run) -> str:
    """Return what the challenge does wrong when it scores; nothing if it does not. What it refuses, it refuses."""
    try:
        run.leaderboard  # noqa: B018  # it is kept
        run.challenge.further_tables(run.cube, run.roles)
    except InputError:
        raise
    except Exception as error:  # a faulty challenge ranks nobody, and what was measured is kept
        return f"scoring raised {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return ""


def _files(run: Run) -> dict[str, Content]:
    """Return everything that a run folder holds beside the measurements."""
    files: dict[str, Content] = {
        "failures.csv": (run.failures.columns, run.failures.iter_rows()),
        "run.json": run.record.document(),
        **metrics_files(run.measurements, list(run.roles)),
    }
    if not run.withheld:
        files |= leaderboard_files(run.leaderboard, run.challenge.options)
        files |= run.challenge.further_tables(run.cube, run.roles)
    return files
