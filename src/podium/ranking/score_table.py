"""Values of submissions in cases, task by task, with what is missing settled: what general schemes rank."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from podium.model import Challenge, Cube, Direction, Floats, InputError, Measure, Role
from podium.ranking.inference.resampling import Units, units_of
from podium.ranking.leaderboards import ranked_submissions

__all__ = ["Missing", "ScoreTable", "TaskValues", "table_of_challenge", "table_of_scores"]

Missing: TypeAlias = float | Literal["drop", "worst"]
"""What a missing value costs: a price; "drop" leaves the case out for all; "worst" is the worst value of the case."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskValues:
    """One thing that submissions are compared in, and their values.

    Attributes
    ----------
    measure
        What it is, as a column; a table without tasks has one without a name.
    rows
        Which rows belong to it, shape (rows,).
    values
        Shape (submissions, rows): finite in its rows, NaN in others.
    priced
        Which of them stand for a failure, same shape.
    """

    measure: Measure
    rows: npt.NDArray[np.bool_]
    values: Floats
    priced: npt.NDArray[np.bool_]

    @property
    def name(self) -> str:
        """Its name in tables; "" where there is only one."""
        return self.measure.name


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """Submissions, rows and tasks; `remarks` tell who is left out and why, `notes` what became of missing values."""

    name: str
    submissions: tuple[str, ...]
    rows: tuple[str, ...]
    units: Units
    tasks: tuple[TaskValues, ...]
    roles: Mapping[str, Role] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    row_words: tuple[str, str] = ("case", "cases")
    cluster_words: tuple[str, str] = ("cluster", "clusters")


def table_of_scores(
    scores: pl.DataFrame,
    *,
    better: Direction | str,
    missing: Missing | None = None,
    name: str = "table",
    cluster_words: tuple[str, str] = ("cluster", "clusters"),
) -> ScoreTable:
    """Return a table of plain values, to be ranked.

    Parameters
    ----------
    scores
        Columns `submission`, `case` and `value`, and optionally `task`; `cluster`, what is drawn together when cases
        are resampled; and `stratum`, what is resampled for itself. Cases of different tasks are different cases, unless
        clusters join them.
    better
        Whether "higher" or "lower" values are better.
    missing
        What a missing value costs. There is no default: without a policy, missing values are an error.
    cluster_words
        What a cluster is called, one and several: ("patient", "patients").
    """
    direction = _direction(better)
    scores = _checked(scores)
    submissions = tuple(sorted(scores["submission"].unique().to_list()))
    keys = sorted(set(scores.select("task", "case").iter_rows()), key=_naturally)
    several = scores["task"].n_unique() > 1
    rows = tuple(f"{task}/{case}" if several else case for task, case in keys)
    place = {key: index for index, key in enumerate(keys)}
    who = {submission: index for index, submission in enumerate(submissions)}
    values = np.full((len(submissions), len(rows)), np.nan)
    clusters, strata = list(rows), [task for task, _ in keys]
    for submission, task, case, value, cluster, stratum in scores.select(
        "submission", "task", "case", "value", "cluster", "stratum"
    ).iter_rows():
        row = place[task, case]
        values[who[submission], row] = np.nan if value is None else value
        clusters[row] = cluster or clusters[row]
        strata[row] = f"{task}/{stratum}" if stratum else strata[row]
    tasks = []
    for task in dict.fromkeys(task for task, _ in keys):
        own = np.array([of == task for of, _ in keys])
        measure = Measure(task, task or "Value", direction)
        tasks.append(TaskValues(measure, own, values, np.zeros(values.shape, bool)))
    settled = _settled(name, submissions, rows, clusters, strata, tasks, missing, {}, {})
    return replace(settled, cluster_words=cluster_words)


def table_of_challenge(
    challenge: Challenge,
    cube: Cube,
    *,
    roles: Mapping[str, Role] | None = None,
    missing: Missing | None = None,
    measures: Sequence[tuple[str, str]] | None = None,
) -> ScoreTable:
    """Return the measurements that decide a challenge, or chosen measures (name, target), one task each.

    Only those who compete are in it.
    """
    ranked, remarks = ranked_submissions(challenge, cube, roles or {})
    if not any(ranked):
        raise InputError("nobody competes, so there is nothing to rank")
    judging = {single.key: single for measure in challenge.measures if measure.judges for single in measure.each}
    everywhere, competing = np.ones(len(cube.rows), bool), np.array(ranked)
    tasks = []
    for key in measures or [measure.key for measure in challenge.decisive]:
        if key not in judging:
            known = ", ".join(":".join(filter(None, other)) for other in judging)
            raise InputError(f"nothing can be ranked by {' '.join(key)}".rstrip(), advice=f"There are: {known}")
        column = judging[key].as_column()
        tasks.append(TaskValues(column, everywhere, cube.of(*key)[competing], cube.failed[competing]))
    names = tuple(name for name, competes in zip(cube.submissions, ranked, strict=True) if competes)
    settled = _settled(
        challenge.name,
        names,
        cube.rows,
        list(cube.clusters),
        [""] * len(cube.rows),
        tasks,
        missing,
        roles or {},
        remarks,
    )
    return replace(settled, row_words=challenge.row_words, cluster_words=challenge.cluster_words)


def _naturally(key: tuple[str, ...]) -> list[list[tuple[bool, int, str]]]:
    """Sort texts so that numbers in them count as numbers: case 2 before case 10."""
    texts = (re.split(r"([0-9]+)", text) for text in key)
    return [[(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts] for parts in texts]


def _direction(better: Direction | str) -> Direction:
    direction = (
        {"higher": Direction.HIGHER, "lower": Direction.LOWER}.get(better) if isinstance(better, str) else better
    )
    if direction not in (Direction.HIGHER, Direction.LOWER):
        raise InputError(f"the direction {better!r} is unknown", advice="Say whether higher or lower values are better")
    return direction


def _checked(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the table with all columns, or say what is wrong with it."""
    if absent := [name for name in ("submission", "case", "value") if name not in scores.columns]:
        raise InputError(
            f"there is no column {absent[0]!r}",
            advice="Needed: submission, case, value; optional: task, cluster, stratum. "
            f"Found: {', '.join(scores.columns)}",
        )
    for name in ("task", "cluster", "stratum"):
        if name not in scores.columns:
            scores = scores.with_columns(pl.lit("").alias(name))
    if scores.is_empty():
        raise InputError("the table has no rows")
    kind = scores.schema["value"]
    if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
        raise InputError(f"the column 'value' holds {kind}, but must hold numbers", advice="Leave it empty if missing")
    texts = [
        pl.col(name).cast(pl.String).fill_null("") for name in ("submission", "case", "task", "cluster", "stratum")
    ]
    scores = scores.with_columns(*texts)
    for name in ("submission", "case"):
        if (scores[name] == "").any():
            raise InputError(f"a row has no {name}", advice="Every row needs a submission and a case")
    keys = ["submission", "task", "case"]
    twice = scores.filter(scores.select(keys).is_duplicated())
    if len(twice):
        submission, task, case = twice.select(keys).row(0)
        where = f"{submission}, {f'task {task}, ' if task else ''}case {case}"
        count = len(twice.select(keys).unique())
        raise InputError(
            f"{count} value{'s are' if count > 1 else ' is'} given more than once, for instance {where}",
            advice="Keep one row for each submission and case",
        )
    for name in ("cluster", "stratum"):
        if (scores.group_by("task", "case").agg(pl.col(name).n_unique())[name] > 1).any():
            raise InputError(f"a case has different values in the column {name}", advice="A case belongs to one")
    return scores


def _settled(
    name: str,
    submissions: tuple[str, ...],
    rows: tuple[str, ...],
    clusters: Sequence[str],
    strata: Sequence[str],
    tasks: Sequence[TaskValues],
    missing: Missing | None,
    roles: Mapping[str, Role],
    remarks: Mapping[str, str],
) -> ScoreTable:
    """Apply the policy for missing values, and leave out rows that no task uses any more."""
    if isinstance(missing, str) and missing not in ("drop", "worst"):
        raise InputError(f"there is no way {missing!r} to treat missing values", advice="Say drop, worst, or a number")
    if missing is not None and not isinstance(missing, str) and not np.isfinite(missing):
        raise InputError(f"the price of a missing value is {missing}", advice="Give a finite number, drop or worst")
    notes: list[str] = []
    settled = [_priced(task, missing, submissions, rows, notes) for task in tasks]
    used = np.any([task.rows for task in settled], axis=0)
    kept = np.flatnonzero(used).tolist()
    return ScoreTable(
        name=name,
        submissions=submissions,
        rows=tuple(rows[row] for row in kept),
        units=units_of([clusters[row] for row in kept], [strata[row] for row in kept]),
        tasks=tuple(
            replace(task, rows=task.rows[used], values=task.values[:, used], priced=task.priced[:, used])
            for task in settled
        ),
        roles=roles,
        remarks=remarks,
        notes=tuple(notes),
    )


def _priced(
    task: TaskValues, missing: Missing | None, submissions: Sequence[str], rows: Sequence[str], notes: list[str]
) -> TaskValues:
    """Return the task without missing values, and note what became of them. What is not finite is missing."""
    absent = ~np.isfinite(task.values) & task.rows
    where = f" in {task.measure.title}" if task.name else ""
    count, size = int(absent.sum()), len(submissions) * int(task.rows.sum())
    if count == size:
        raise InputError(f"every value is missing{where}, so there is nothing to rank")
    kept, values = task.rows, task.values
    if count and missing is None:
        who, row = (int(places[0]) for places in np.nonzero(absent))
        raise InputError(
            f"{count} of {size} values are missing{where}, for instance {submissions[who]} in case {rows[row]}",
            advice="Say what a missing value costs (--missing): drop leaves the case out for everybody, worst is the "
            "worst value of the case, a number is a price",
        )
    if count and missing == "drop":
        kept = task.rows & ~absent.any(axis=0)
        if not kept.any():
            raise InputError(
                f"every case{where} has a missing value, so that dropping cases leaves none",
                advice="Give missing values a price, or take worst",
            )
        notes.append(
            f"{task.rows.sum() - kept.sum()} of {task.rows.sum()} cases{where} are left out: a value is missing."
        )
    elif count and missing == "worst":
        kept = task.rows & np.isfinite(values).any(axis=0)
        if dropped := int(task.rows.sum() - kept.sum()):
            notes.append(f"{dropped} of {task.rows.sum()} cases{where} are left out: nobody has a value.")
        worst = np.fmin.reduce if task.measure.direction is Direction.HIGHER else np.fmax.reduce
        price = worst(np.where(np.isfinite(values), values, np.nan), axis=0)
        values = np.where(absent, price, values)
        notes.append(f"{(absent & kept).sum()} missing values{where} count as the worst of their case.")
    elif count and missing is not None:
        values = np.where(absent, float(missing), values)
        notes.append(f"{count} missing values{where} count as {float(missing):g}.")
    return replace(task, rows=kept, values=np.where(kept, values, np.nan), priced=(task.priced | absent) & kept)
