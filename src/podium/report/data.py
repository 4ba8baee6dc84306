"""Everything that pages and figures show, gathered once from a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from podium.model import Challenge, Cube, Direction, Floats, InputError, Leaderboard, Role, Status
from podium.ranking import Assessment, Contest, assess, challenge_alternatives, challenge_contest, cube_of
from podium.report.anonymity import letters, renamed_info, renamed_table
from podium.report.style import Look, looks

__all__ = ["Measure", "ReportData", "gather"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that judges: one metric of one target, with what its axis says."""

    metric: str
    target: str
    title: str
    unit: str
    direction: Direction

    @property
    def label(self) -> str:
        """What an axis or a heading says."""
        return f"{self.title}{f', {self.unit}' if self.unit else ''} {self.direction.arrow}"


@dataclass(frozen=True, slots=True, eq=False)
class ReportData:
    """What a report is made of. Names are those to be shown: real ones, or letters if anonymised.

    Attributes
    ----------
    title
        Of the page.
    challenge
        With its quantities, rules and views.
    info
        run.json: versions, options, hashes, machine.
    board, contest
        The published ranking, and how to repeat it.
    assessment
        How sure it is; None without resampling, or where there is only one case.
    measurements
        submission, case, unit, target, metric, value, status, reason; all levels.
    failures
        submission, case, status, reason.
    roles
        Of submissions that are no competitors.
    submissions
        All, in the order of the board.
    measures
        The quantities that judge, in the challenge's order.
    cube
        The measurements at the level of the rules, its submissions by name.
    unassessed
        Why there is no assessment.
    focus
        The submission that the report is about; None if it is about all.
    names
        The real name of each submission shown: to find its files with, never to be shown.
    """

    title: str
    challenge: Challenge
    info: Mapping[str, Any]
    board: Leaderboard
    contest: Contest
    assessment: Assessment | None
    measurements: pl.DataFrame
    failures: pl.DataFrame
    roles: Mapping[str, Role]
    submissions: tuple[str, ...]
    measures: tuple[Measure, ...]
    cube: Cube
    unassessed: str = ""
    focus: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def cases(self) -> tuple[str, ...]:
        """The rows that are compared."""
        return self.cube.rows

    @property
    def places(self) -> dict[str, int | None]:
        """The place of every submission; None where it is not ranked."""
        return {entry.submission: entry.place for entry in self.board.entries}

    @property
    def competitors(self) -> tuple[str, ...]:
        """Those who are ranked, in the order of the board."""
        return tuple(entry.submission for entry in self.board.entries if entry.place is not None)

    @property
    def people(self) -> tuple[str, ...]:
        """The references: people whose agreement was measured."""
        return tuple(name for name in self.submissions if self.roles.get(name) is Role.REFERENCE)

    @property
    def looks(self) -> dict[str, Look]:
        """How each submission is shown, the same in every figure."""
        return looks(self.submissions, places=self.places, roles=self.roles, focus=self.focus)

    def values(self, measure: Measure, submissions: tuple[str, ...] | None = None) -> Floats:
        """Return what was measured, shape (submissions, cases), NaN where there is no number; a failure is its price.

        Parameters
        ----------
        measure
            Of what.
        submissions
            Of whom; by default of all, in the order of the board.
        """
        order = [self.cube.submissions.index(name) for name in submissions or self.submissions]
        return self.cube.of(measure.metric, measure.target)[order]

    def failed(self, measure: Measure, submissions: tuple[str, ...] | None = None) -> npt.NDArray[np.bool_]:
        """Return which of these values stand for a failure, same shape."""
        rows = {name: index for index, name in enumerate(submissions or self.submissions)}
        columns = {name: index for index, name in enumerate(self.cases)}
        table = self.measurements.filter(
            (pl.col("unit") == "")
            & (pl.col("metric") == measure.metric)
            & (pl.col("target") == measure.target)
            & pl.col("status").is_in([Status.MISSING.value, Status.INVALID.value])
            & pl.col("submission").is_in(list(rows))
        )
        found = np.zeros((len(rows), len(columns)), bool)
        for submission, case in table.select("submission", "case").iter_rows():
            found[rows[submission], columns[case]] = True
        return found


def gather(
    challenge: Challenge,
    info: Mapping[str, Any],
    measurements: pl.DataFrame,
    roles: Mapping[str, Role],
    failures: pl.DataFrame,
    *,
    title: str | None = None,
    bootstrap: int = 1000,
    seed: int = 1,
    anonymise: bool = False,
    submission: str | None = None,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> ReportData:
    """Rank a run, find out how sure that is, and gather all that a report shows.

    Parameters
    ----------
    challenge
        By whose rules.
    info, measurements, roles
        Of the run, as `load_run` returns them.
    failures
        What went wrong: submission, case, status and reason.
    title
        Of the page; by default the challenge's.
    bootstrap, seed
        How many resamples tell how sure the ranking is, and which; 0 for none.
    anonymise
        Whether competitors are called A, B, C … in the order of the board; baselines and people keep their names.
    submission
        Whom the report is about, by its real name, which is kept also if the others' are not.
    jobs, progress
        Threads, and who is told what is being done, how much of it, and of how much.
    """
    contest = challenge_contest(challenge, measurements, roles=roles)
    board = contest.leaderboard()
    known = tuple(entry.submission for entry in board.entries)
    if submission is not None and submission not in known:
        near = get_close_matches(submission, known, n=3) or known[:10]
        raise InputError(f"there is no submission called {submission!r}", advice=f"There are: {', '.join(near)}")
    names = {name: name for name in known}
    if anonymise:
        renamed = _letters(board, submission)
        names = {renamed.get(name, name): name for name in known}
        info, roles = renamed_info(info, renamed), {renamed.get(name, name): role for name, role in roles.items()}
        measurements, failures = (renamed_table(table, renamed) for table in (measurements, failures))
        contest = challenge_contest(challenge, measurements, roles=roles)
        board = contest.leaderboard()
    cube = cube_of(challenge, measurements)
    assessment, unassessed = None, _why_not(contest, bootstrap)
    if not unassessed:
        assessment = assess(
            contest,
            challenge_alternatives(challenge, measurements, roles=roles),
            bootstrap=bootstrap,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )
    return ReportData(
        title=title or challenge.title,
        challenge=challenge,
        info=info,
        board=board,
        contest=contest,
        assessment=assessment,
        measurements=measurements,
        failures=failures,
        roles=roles,
        submissions=tuple(entry.submission for entry in board.entries),
        measures=_measures(challenge, cube),
        cube=cube,
        unassessed=unassessed,
        focus=submission,
        names=names,
    )


def _letters(board: Leaderboard, kept: str | None) -> dict[str, str]:
    """Return the letter of each competitor, in the order of the board."""
    teams = [entry.submission for entry in board.entries if entry.role == Role.COMPETITOR and entry.submission != kept]
    others = {entry.submission for entry in board.entries} - set(teams)
    return dict(zip(teams, letters(len(teams), taken=others), strict=True))


def _why_not(contest: Contest, bootstrap: int) -> str:
    """Say why nothing can be drawn anew; nothing if it can."""
    if not bootstrap:
        return "No resampling was asked for."
    if not contest.competitors:
        return "Nobody is ranked."
    if len(contest.units.names) < 2:
        return "There is only one case, so nothing can be drawn anew."
    return ""


def _measures(challenge: Challenge, cube: Cube) -> tuple[Measure, ...]:
    """Return what decides and was measured."""
    decisive = set(challenge.decisive)
    found = []
    for quantity in challenge.quantities:
        for target in quantity.targets:
            key = (quantity.metric, target)
            if key in decisive and cube.has(*key):
                title = f"{quantity.title} {target.replace('_', ' ')}".strip()
                found.append(Measure(*key, title, quantity.unit, quantity.direction))
    return tuple(found)
