"""Several runs of one challenge, such as phases or years: who moved beyond noise, and which cases changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from podium.model import Direction, InputError, Measure, Role, shown_level
from podium.ranking import competition_ranks
from podium.ranking.inference.comparisons import rank_intervals
from podium.ranking.inference.stability import kendall_tau
from podium.report._contents import board
from podium.report.audience import Audience, stands_alone
from podium.report.data import ReportData
from podium.report.words import listed, number, places

__all__ = [
    "CaseChanges",
    "RunsCompared",
    "Standing",
    "Step",
    "TeamCourse",
    "ValueChange",
    "compared_runs",
    "run_labels",
]

MOST_VALUES = 12
"""Values that changed most, and are shown."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a submission stands in one run: its place, score with interval, and the places it may truly have."""

    place: int | None
    score: str
    interval: str
    true: str


@dataclass(frozen=True, slots=True)
class TeamCourse:
    """A submission through all runs.

    Attributes
    ----------
    standings
        One for each run; None where it is not there.
    move
        How many places it won among those who are ranked in the first and in the last run; None where it is not.
    certain
        Whether the places that it may truly have among these do not overlap; None where that is not known.
    """

    submission: str
    role: str
    standings: tuple[Standing | None, ...]
    move: int | None
    certain: bool | None

    @property
    def remark(self) -> str:
        """What became of it, in words."""
        first, last = self.standings[0], self.standings[-1]
        if first is None or last is None:
            return "new" if first is None and last else "gone" if first else "in between"
        if self.move is None:
            return "not ranked in both" if first.place or last.place else "not ranked"
        if not self.move:
            return "same place"
        return "moved" if self.certain else "within noise" if self.certain is not None else "not known"


@dataclass(frozen=True, slots=True)
class Step:
    """From one run to the next: how far the order of those in both agrees (Kendall's τ), and who came and went."""

    names: tuple[str, str]
    common: int
    tau: float
    new: tuple[str, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value of one submission in one case that is another in the last run than in the first."""

    submission: str
    case: str
    measure: str
    values: tuple[str, str]
    better: bool | None


@dataclass(frozen=True, slots=True)
class CaseChanges:
    """How the cases of two runs differ; where single cases are not public, there are only counts.

    Attributes
    ----------
    common, new, gone, changed
        How many are in both, only in the last, only in the first; and those in both whose truth is another file now.
    files
        Files of the truth that changed and name no case.
    names
        Of new, gone and changed cases.
    values, moved
        How many values of the same submission in the same case there are, and how many differ.
    most
        Those that differ most, for their measure.
    """

    names_of_runs: tuple[str, str]
    common: int
    new: int
    gone: int
    changed: int
    files: int
    names: Mapping[str, tuple[str, ...]]
    values: int
    moved: int
    most: tuple[ValueChange, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RunsCompared:
    """Everything that a page about several runs tells."""

    title: str
    audience: Audience
    runs: tuple[str, ...]
    counts: tuple[tuple[int, int], ...]
    score: Measure
    level: str
    courses: tuple[TeamCourse, ...]
    steps: tuple[Step, ...]
    cases: CaseChanges
    headline: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...]
    data: tuple[ReportData, ...]


def run_labels(folders: Sequence[Path]) -> tuple[str, ...]:
    """Return what to call runs: the part of their paths that tells them apart.

    Examples
    --------
    >>> run_labels([Path("2024/run"), Path("2025/run")]), run_labels([Path("a"), Path("a")])
    (('2024', '2025'), ('a', 'a (2)'))
    """
    parts = [folder.absolute().parts for folder in folders]
    while len({own[-1] for own in parts}) == 1 and min(map(len, parts)) > 2 and len(set(parts)) > 1:
        parts = [own[:-1] for own in parts]
    labels: list[str] = []
    for own in parts:
        count = sum(label.partition(" (")[0] == own[-1] for label in labels)
        labels.append(f"{own[-1]} ({count + 1})" if count else own[-1])
    return tuple(labels)


def compared_runs(data: Sequence[ReportData], runs: Sequence[str], *, title: str | None = None) -> RunsCompared:
    """Compare runs of one challenge, from the first to the last.

    Parameters
    ----------
    data
        What each report shows, all for one audience, and submissions of one name being the same.
    runs
        What the runs are called.
    """
    _check(data, runs)
    first, last = data[0], data[-1]
    courses = _courses(data)
    steps = tuple(_step(*pair) for pair in pairwise(zip(data, runs, strict=True)))
    level = next((shown_level(one.assessment.confidence.level) for one in data if one.assessment), "")
    headline, sentences = _verdict(data, runs, courses, steps, level)
    return RunsCompared(
        title=title or first.title,
        audience=first.audience,
        runs=tuple(runs),
        counts=tuple((len(one.competitors), len(one.entire.cases)) for one in data),
        score=first.board.columns[0],
        level=level,
        courses=courses,
        steps=steps,
        cases=_cases(first, last, (runs[0], runs[-1])),
        headline=headline,
        sentences=sentences,
        cautions=_cautions(data, runs),
        data=tuple(data),
    )


def _check(data: Sequence[ReportData], runs: Sequence[str]) -> None:
    """Refuse runs that did not measure the same, and say what differs."""
    for one, name in zip(data[1:], runs[1:], strict=True):
        advice = "Compare runs of one challenge and one edition; podium report RUN shows each alone"
        for key in ("challenge", "edition", "version"):
            if one.info[key] != data[0].info[key]:
                what = f"{runs[0]} is of {key} {data[0].info[key]}, {name} of {key} {one.info[key]}"
                raise InputError(f"these runs do not agree: {what}", advice=advice)
        # A label holds title, unit and direction.
        before, after = ({measure.label for measure in (*own.measures, *own.board.columns)} for own in (data[0], one))
        if differing := sorted(before ^ after):
            shown = [f"{label} (only in {runs[0] if label in before else name})" for label in differing]
            what = f"the measures of {runs[0]} and {name} do not agree: {listed(shown, at_most=4)}"
            raise InputError(what, advice=advice)


def _cautions(data: Sequence[ReportData], runs: Sequence[str]) -> tuple[str, ...]:
    """Say which options differ, since these too may move places."""
    cautions = []
    for one, name in zip(data[1:], runs[1:], strict=True):
        before, after = data[0].info["options"], one.info["options"]
        differing = [key for key in sorted(before | after) if before.get(key) != after.get(key)]
        if differing:
            cautions.append(
                f"The options of {runs[0]} and {name} differ ({', '.join(differing)}), which may move places by itself."
            )
    return tuple(cautions)


def _courses(data: Sequence[ReportData]) -> tuple[TeamCourse, ...]:
    """Follow everybody, in the order of the last run, then of those before."""
    shown = [{row.submission: row for row in board(one).rows} for one in data]
    everybody = list(dict.fromkeys(name for one in reversed(data) for name in one.submissions))
    moves, certain = _moves(data[0], data[-1])
    courses = []
    for name in everybody:
        standings: list[Standing | None] = []
        for rows in shown:
            row = rows.get(name)
            if row is None:
                standings.append(None)
                continue
            cell = row.cells[0]
            true = places(row.best, row.worst) if row.best is not None and row.worst is not None else ""
            standings.append(Standing(row.place, cell.value, cell.interval, true))
        role = next(one.roles.get(name, Role.COMPETITOR) for one in reversed(data) if name in one.submissions)
        courses.append(TeamCourse(name, role.value, tuple(standings), moves.get(name), certain.get(name)))
    return tuple(courses)


def _common(first: ReportData, last: ReportData) -> list[str]:
    return [name for name in last.competitors if name in first.competitors]


def _among(data: ReportData, names: Sequence[str]) -> list[int]:
    """Return the places among some of the competitors."""
    own = np.array([[float(data.places[name] or 0) for name in names]])
    return [int(place) for place in competition_ranks(own, direction=Direction.LOWER)[0]] if names else []


def _moves(first: ReportData, last: ReportData) -> tuple[dict[str, int], dict[str, bool]]:
    """Return by how many places each moved among those in both, and whether true places leave no doubt of it."""
    names = _common(first, last)
    before, after = _among(first, names), _among(last, names)
    moves = {name: then - now for name, then, now in zip(names, before, after, strict=True)}
    if first.assessment is None or last.assessment is None:
        return moves, {}
    ranges = []
    for one in (first.assessment, last.assessment):
        index = [one.confidence.submissions.index(name) for name in names]
        ranges.append(rank_intervals(one.confidence.ahead[np.ix_(index, index)]))
    certain = {
        name: then.worst < now.best or now.worst < then.best for name, then, now in zip(names, *ranges, strict=True)
    }
    return moves, certain


def _step(before: tuple[ReportData, str], after: tuple[ReportData, str]) -> Step:
    (one, first), (other, last) = before, after
    names = _common(one, other)
    tau = float("nan")
    if len(names) > 1:
        tau = float(kendall_tau(np.array([_among(other, names)], float), np.array(_among(one, names), float))[0])
    return Step(
        (first, last),
        len(names),
        tau,
        tuple(name for name in other.submissions if name not in one.submissions),
        tuple(name for name in one.submissions if name not in other.submissions),
    )


def _winners(data: ReportData) -> list[str]:
    return [entry.submission for entry in data.board.ranked if entry.place == 1]


def _verdict(
    data: Sequence[ReportData], runs: Sequence[str], courses: Sequence[TeamCourse], steps: Sequence[Step], level: str
) -> tuple[str, tuple[str, ...]]:
    """Say who is first, who certainly moved, and what is only noise."""
    first, last = _winners(data[0]), _winners(data[-1])
    if not last or not first:
        headline = f"Nobody is ranked in {runs[-1] if not last else runs[0]}."
    elif set(first) == set(last):
        where = "both runs" if len(runs) == 2 else f"{runs[0]} and {runs[-1]}"
        headline = f"{listed(last, at_most=3)} {'are' if len(last) > 1 else 'is'} first in {where}."
    else:
        headline = (
            f"{listed(last, at_most=3)} {'are' if len(last) > 1 else 'is'} first in {runs[-1]}, after "
            f"{listed(first, at_most=3)} in {runs[0]}."
        )
    both = [course for course in courses if course.move is not None]
    moved = [course for course in both if course.move]
    certain = [course.submission for course in moved if course.certain]
    sentences, here = [], "in both" if len(runs) == 2 else f"in {runs[0]} and in {runs[-1]}"
    if len(both) < 2:
        sentences.append(
            f"Fewer than two competitors are in {runs[0]} and in {runs[-1]}, so there is no order to compare."
        )
    elif not moved:
        sentences.append(f"The {len(both)} competitors {here} stand in the same order.")
    elif not level:
        sentences.append(f"{len(moved)} of {len(both)} competitors {here} moved; how sure that is cannot be told.")
    elif certain:
        noise = len(moved) - len(certain)
        others = f" The other {noise} that moved did so within noise." if noise > 1 else ""
        others = " The other one that moved did so within noise." if noise == 1 else others
        sentences.append(
            f"Of {len(both)} competitors {here}, {listed(certain)} certainly moved: at {level} confidence the places "
            f"that {'each' if len(certain) > 1 else 'it'} may truly have do not overlap.{others}"
        )
    else:
        what = {1: "The only move is", 2: "Both moves are"}.get(len(moved), f"All {len(moved)} moves are")
        sentences.append(
            f"{what} within noise: at {level} confidence, each of the {len(both)} competitors {here} may truly have "
            "kept its place."
        )
    sentences += [
        f"From {step.names[0]} to {step.names[1]}, the orders of the {step.common} competitors in both agree by "
        f"Kendall's τ = {number(step.tau, 2)} (1 is the same order, 0 none in common)."
        for step in steps
        if np.isfinite(step.tau)
    ]
    return headline, tuple(sentences)


def _cases(first: ReportData, last: ReportData, names: tuple[str, str]) -> CaseChanges:
    """Compare the cases of two runs, of which the public only learns how many."""
    public = first.audience is not Audience.ORGANISER
    one, other = first.entire, last.entire
    common = [case for case in other.cases if case in set(one.cases)]
    new = tuple(case for case in other.cases if case not in set(one.cases))
    gone = tuple(case for case in one.cases if case not in set(other.cases))
    before, after = one.info["truth"]["sha256"], other.info["truth"]["sha256"]
    files = [file for file in after if file in before and before[file] != after[file]]
    named = {case: [file for file in files if stands_alone(case, file)] for case in common}
    changed = tuple(case for case, own in named.items() if own)
    nameless = set(files) - {file for own in named.values() for file in own}
    count, moved, most = _values(one, other, common)
    lists = {} if public else {"new": new, "gone": gone, "changed": changed}
    sizes = len(common), len(new), len(gone), len(changed), len(nameless)
    return CaseChanges(names, *sizes, lists, count, moved, () if public else most)


def _values(one: ReportData, other: ReportData, cases: Sequence[str]) -> tuple[int, int, tuple[ValueChange, ...]]:
    """Return how many values both have, how many differ, and those that differ most."""
    teams = tuple(name for name in other.submissions if name in one.submissions)
    if not teams or not cases:
        return 0, 0, ()
    rows = [[own.cases.index(case) for case in cases] for own in (one, other)]
    count, changes = 0, []
    for measure in other.measures:
        before, after = (own.values(measure, teams)[:, at] for own, at in zip((one, other), rows, strict=True))
        both = np.isfinite(before) & np.isfinite(after)
        difference = np.where(both, after - before, 0.0)
        spread = float(np.std(np.concatenate([before[both], after[both]]))) or 1.0
        count += int(both.sum())
        for who, case in np.argwhere(difference != 0).tolist():
            values = measure.shown(float(before[who, case])), measure.shown(float(after[who, case]))
            up = difference[who, case] > 0
            judged = measure.direction in (Direction.HIGHER, Direction.LOWER)
            better = bool(up == (measure.direction is Direction.HIGHER)) if judged else None
            change = ValueChange(teams[who], cases[case], measure.label, values, better)
            changes.append((-abs(difference[who, case]) / spread, teams[who], cases[case], measure.label, change))
    changes.sort(key=lambda entry: entry[:4])
    return count, len(changes), tuple(entry[4] for entry in changes[:MOST_VALUES])
