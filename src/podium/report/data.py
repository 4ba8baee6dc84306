"""Everything that pages and figures show, gathered once from a run or from a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from podium import __version__
from podium.model import Challenge, Cube, Floats, InputError, Leaderboard, Measure, Role, Status
from podium.ranking import Ranking, Rule
from podium.report.anonymity import letters, renamed_info, renamed_table, renamed_text
from podium.report.audience import Audience, withheld
from podium.report.of_table import measured_of
from podium.report.style import Look, looks
from podium.run import Run

__all__ = ["Called", "ReportData", "gather"]


@dataclass(frozen=True, slots=True)
class Called:
    """What things are called on a page: in a run predictions fail in criteria, in a table values are missing in tasks.

    Attributes
    ----------
    criterion, criteria
        What several rankings are averaged over, one and many.
    value, became
        What may fail, and what a sentence says became of one and of several.
    failed, lost
        What stands beside a value for which there is only a price, and what that is.
    """

    criterion: str = "criterion"
    criteria: str = "criteria"
    value: str = "prediction"
    became: tuple[str, str] = ("failed", "failed")
    failed: str = "failed"
    lost: str = "failed case"


OF_TABLE = Called("task", "tasks", "value", ("is missing", "are missing"), "missing", "missing value")


@dataclass(frozen=True, slots=True, eq=False)
class ReportData:
    """What a report is made of. Names are those to be shown: real ones, or letters if anonymised.

    Attributes
    ----------
    title
        Of the page.
    challenge
        With its rules; None where a table was ranked.
    info
        run.json: versions, hashes, machine, and the options that ranked; of a table, only these and the version.
    board, rule
        The published ranking, and how to repeat it.
    assessment
        The ranking, which tells how sure it is; None without resampling, or where there is only one case.
    measurements
        submission, case, unit, target, metric, value, status, reason; all levels.
    failures
        submission, case, status, reason.
    roles
        Of submissions that are no competitors.
    submissions
        All, in the order of the board.
    measures
        What decides and was measured, each of one target, in the challenge's order; of a table, its tasks.
    cube
        The measurements at the level of the rules, its submissions by name.
    unassessed
        Why there is no assessment.
    focus
        The submission that the report is about; None if it is about all.
    names
        The real name of each submission shown: to find its files with, never to be shown.
    called
        What things are called.
    audience, whole
        Who reads it; and where that is not the organiser, everything, of which this is a part. What is drawn from the
        whole may tell of no single case.
    """

    title: str
    challenge: Challenge | None
    info: Mapping[str, Any]
    board: Leaderboard
    rule: Rule
    assessment: Ranking | None
    measurements: pl.DataFrame
    failures: pl.DataFrame
    roles: Mapping[str, Role]
    submissions: tuple[str, ...]
    measures: tuple[Measure, ...]
    cube: Cube
    unassessed: str = ""
    focus: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    called: Called = field(default_factory=Called)
    audience: Audience = Audience.ORGANISER
    whole: ReportData | None = None
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def entire(self) -> ReportData:
        """Everything, whoever reads this: for what tells of no single case."""
        return self.whole or self

    @property
    def seen(self) -> tuple[str, ...]:
        """Whose cases are shown: everybody's to the organiser, its own to a team, nobody's in public."""
        if self.audience is Audience.TEAM:
            return tuple(name for name in self.submissions if name == self.focus)
        return self.submissions if self.audience is Audience.ORGANISER else ()

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
        if "looks" not in self._kept:
            self._kept["looks"] = looks(self.submissions, places=self.places, roles=self.roles, focus=self.focus)
        kept: dict[str, Look] = self._kept["looks"]
        return kept

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
        return self.cube.of(*measure.key)[order]

    def cases_of(self, measure: Measure) -> npt.NDArray[np.intp]:
        """Return which cases a measure is about: all, but for a table whose tasks have cases of their own."""
        key = "cases", measure.key
        if key not in self._kept:
            own = set(self._of(measure)["case"].unique().to_list())
            self._kept[key] = np.array([index for index, case in enumerate(self.cases) if case in own], np.intp)
        kept: npt.NDArray[np.intp] = self._kept[key]
        return kept

    def failed(self, measure: Measure, submissions: tuple[str, ...] | None = None) -> npt.NDArray[np.bool_]:
        """Return which of these values stand for a failure, same shape."""
        key = "failed", measure.key
        if key not in self._kept:
            rows = {name: index for index, name in enumerate(self.submissions)}
            columns = {name: index for index, name in enumerate(self.cases)}
            lost = pl.col("status").is_in([Status.MISSING.value, Status.INVALID.value])
            failed = np.zeros((len(rows), len(columns)), bool)
            for submission, case in self._of(measure).filter(lost).select("submission", "case").iter_rows():
                failed[rows[submission], columns[case]] = True
            self._kept[key] = failed
        kept: npt.NDArray[np.bool_] = self._kept[key]
        return kept if submissions is None else kept[[self.submissions.index(name) for name in submissions]]

    def _of(self, measure: Measure) -> pl.DataFrame:
        name, target = measure.key
        return self.measurements.filter(
            (pl.col("unit") == "") & (pl.col("metric") == name) & (pl.col("target") == target)
        )


def gather(
    ranking: Ranking,
    *,
    title: str | None = None,
    anonymise: bool = False,
    submission: str | None = None,
    audience: Audience = Audience.ORGANISER,
) -> ReportData:
    """Gather all that a report shows of a ranking.

    Parameters
    ----------
    ranking
        Of a run, or of a table.
    title
        Of the page; by default the challenge's, or the table's name.
    anonymise
        Whether competitors are called A, B, C … in the order of the board; baselines and people keep their names.
    submission
        Whom the report is about, by its real name, which is kept also if the others' are not.
    audience
        Who reads it. What is not for them is not in what is returned, but for `whole`.
    """
    known = tuple(ranking.places)
    if submission is not None and submission not in known:
        near = get_close_matches(submission, known, n=3) or known[:10]
        raise InputError(f"there is no submission called {submission!r}", advice=f"There are: {', '.join(near)}")
    renamed = _letters(ranking.leaderboard, submission) if anonymise else {}
    names = {renamed.get(name, name): name for name in known}
    gathered = _of_table if ranking.run is None else _of_run
    return withheld(gathered(ranking, renamed, title=title, focus=submission, names=names), audience)


def _of_run(ranking: Ranking, renamed: Mapping[str, str], *, title: str | None, **more: Any) -> ReportData:
    run: Run = ranking.run
    # Scoring options may be others than those that the run was measured with.
    info = run.provenance | {"options": run.challenge.options}
    if renamed:
        info, run, ranking = renamed_info(info, renamed), *_renamed(run, ranking, renamed)
    return ReportData(
        title=title or run.challenge.title,
        challenge=run.challenge,
        info=info,
        measurements=run.measurements,
        failures=run.failures,
        roles=run.roles,
        measures=tuple(measure for measure in run.challenge.decisive if run.cube.has(*measure.key)),
        cube=run.cube,
        **_of_ranking(ranking),
        **more,
    )


def _of_table(ranking: Ranking, renamed: Mapping[str, str], *, title: str | None, **more: Any) -> ReportData:
    if renamed:
        ranking = ranking.renamed(renamed, lambda text: renamed_text(text, renamed))
    measured = measured_of(ranking.rule, ranking.table)
    return ReportData(
        title=title or ranking.rule.name,
        challenge=None,
        info={"options": ranking.made_with, "podium": __version__},
        measurements=measured.measurements,
        failures=measured.failures,
        roles=ranking.rule.roles,
        measures=measured.measures,
        cube=measured.cube,
        called=OF_TABLE,
        **_of_ranking(ranking),
        **more,
    )


def _of_ranking(ranking: Ranking) -> dict[str, Any]:
    return {
        "board": ranking.leaderboard,
        "rule": ranking.rule,
        "assessment": None if ranking.untold else ranking,
        "submissions": tuple(ranking.places),
        "unassessed": ranking.untold,
    }


def _letters(board: Leaderboard, kept: str | None) -> dict[str, str]:
    """Return the letter of each competitor, in the order of the board."""
    teams = [entry.submission for entry in board.entries if entry.role == Role.COMPETITOR and entry.submission != kept]
    others = {entry.submission for entry in board.entries} - set(teams)
    return dict(zip(teams, letters(len(teams), taken=others), strict=True))


def _renamed(run: Run, ranking: Ranking, names: Mapping[str, str]) -> tuple[Run, Ranking]:
    """Return a run and its ranking in which submissions have other names, wherever they stand."""
    roles = {names.get(name, name): role for name, role in run.roles.items()}
    tables = (renamed_table(table, names) for table in (run.measurements, run.failures))
    other = Run(run.challenge, run.record.model_copy(update={"roles": roles}), *tables)
    return other, ranking.again(other)
