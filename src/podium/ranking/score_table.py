"""Values of submissions in cases, task by task, with what is missing settled: what general schemes rank."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from podium.model import Challenge, Cube, Direction, Floats, InputError, Measure, Role
from podium.ranking.inference.resampling import Units, units_of
from podium.ranking.leaderboards import ranked_submissions

__all__ = ["Missing", "ScoreTable", "TaskValues", "table_of_challenge", "table_of_scores"]

Missing: TypeAlias = float | Literal["drop", "worst"]
"""What a missing value costs: a price, at least as bad as any value of the task; "worst", the worst value that anybody
has in the task; "drop" leaves the case out for all. A case for which nobody has a value is always left out."""
POLICIES: tuple[Literal["worst"], Literal["drop"]] = ("worst", "drop")
_SHOWN = 5


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
    weight
        By how much its rank counts beside those of other tasks.
    """

    measure: Measure
    rows: npt.NDArray[np.bool_]
    values: Floats
    priced: npt.NDArray[np.bool_]
    weight: float = 1.0

    @property
    def name(self) -> str:
        """Its name in tables; "" where there is only one."""
        return self.measure.name


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """Submissions, rows and tasks; `remarks` tell who is left out and why, `notes` what became of missing values.

    `otherwise` makes the same table under other policies for missing values, by name; empty where none was missing.
    """

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
    otherwise: Mapping[str, Callable[[], ScoreTable]] = field(default_factory=dict)


def table_of_scores(
    scores: pl.DataFrame,
    *,
    better: Direction | str | Mapping[str, Direction | str],
    missing: Missing | None = None,
    weights: Mapping[str, float] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    name: str = "table",
    remarks: Sequence[str] = (),
    cluster_words: tuple[str, str] = ("cluster", "clusters"),
    title: str = "Value",
) -> ScoreTable:
    """Return a table of plain values, to be ranked.

    Parameters
    ----------
    scores
        Columns `submission`, `case` and `value`, and optionally `task`; `cluster`, what is drawn together when cases
        are resampled; and `stratum`, what is resampled for itself. Cases of different tasks are different cases, unless
        clusters join them.
    better
        Whether "higher" or "lower" values are better, in all tasks or by task.
    missing
        What a missing value costs. There is no default: without a policy, missing values are an error.
    weights
        By how much the rank of a task counts, 1 unless said otherwise.
    ranges
        From where to where values can lie, by task; "" is for tasks that are not named.
    name, remarks
        What it is called, and what is to be known about it besides.
    cluster_words
        What a cluster is called, one and several: ("patient", "patients").
    title
        What the values are, in a table without tasks.
    """
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
        low, high = _range(task, ranges or {})
        direction = _direction(better if not isinstance(better, Mapping) else better.get(task, ""))
        measure = Measure(task, task or title, direction, minimum=low, maximum=high)
        outside = own & ((values < low) | (values > high)) & np.isfinite(values)
        if outside.any():
            index, row = np.argwhere(outside)[0].tolist()
            raise InputError(
                f"{submissions[index]} has {values[index, row]} in case {rows[row]}, outside the range "
                f"{_span(measure)}",
                advice="Mend the value, or the range that was declared (--range)",
            )
        weight = _weight(task, weights or {})
        tasks.append(TaskValues(measure, own, values, np.zeros(values.shape, bool), weight))
    notes = [note for kind in ("submission", "case", "task") for note in _lookalikes(scores[kind].unique(), kind)]
    notes += [note for task in tasks for note in _absurd(task, submissions, rows)]
    raw = _Raw(name, submissions, rows, clusters, strata, tasks, notes=(*notes, *remarks), cluster_words=cluster_words)
    return _settled(raw, missing)


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
    strata = [challenge.stratum(row) for row in cube.rows]
    raw = _Raw(
        challenge.name,
        names,
        cube.rows,
        list(cube.clusters),
        strata,
        tasks,
        roles=roles or {},
        remarks=remarks,
        row_words=challenge.row_words,
        cluster_words=challenge.cluster_words,
    )
    return _settled(raw, missing)


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


def _range(task: str, ranges: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    low, high = ranges.get(task, ranges.get("", (-np.inf, np.inf)))
    if not low < high:
        raise InputError(f"the range {low:g} to {high:g} holds nothing", advice="Give the lower end first: --range 0:1")
    return float(low), float(high)


def _span(measure: Measure) -> str:
    return f"{measure.minimum:g} to {measure.maximum:g}"


def _weight(task: str, weights: Mapping[str, float]) -> float:
    weight = float(weights.get(task, 1.0))
    if not 0 < weight < np.inf:
        raise InputError(f"the weight of {task} is {weight:g}", advice="Give a number above 0, or leave the task out")
    return weight


def _lookalikes(names: Iterable[str], kind: str) -> list[str]:
    """Say which names a person would take for one."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault("".join(unicodedata.normalize("NFKC", name).casefold().split()), []).append(name)
    several = sorted(sorted(group) for group in alike.values() if len(group) > 1)
    notes = []
    for first, second, *_ in several[:_SHOWN]:
        same = unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second)
        shown = [ascii(name) if same else repr(name) for name in (first, second)]
        notes.append(
            f"The {kind}s {shown[0]} and {shown[1]} differ only in spaces, case or Unicode form, and count as two."
        )
    if len(several) > _SHOWN:
        notes.append(f"{len(several) - _SHOWN} more {kind}s have names that differ only so.")
    return notes


def _absurd(task: TaskValues, submissions: Sequence[str], rows: Sequence[str]) -> list[str]:
    """Point out values that may stand for failures: a million times the size of what is usual."""
    sizes = np.where(np.isfinite(task.values) & task.rows, np.abs(task.values), 0.0)
    usual = np.median(sizes[sizes > 0]) if (sizes > 0).any() else np.inf
    if not (count := int((sizes / 1e6 > usual).sum())):
        return []
    index, row = np.argwhere(sizes == sizes.max())[0].tolist()
    which = f"the {task.values[index, row]:g} of {submissions[index]} in case {rows[row]}"
    note = (
        f"{count} value{'s are' if count > 1 else ' is'} more than a million times as large as is usual{_where(task)}"
    )
    note += f", {'for instance ' if count > 1 else ''}{which}. If that means a failure, leave the field "
    return [f"{note}empty, and say what it costs (--missing)."]


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


@dataclass(frozen=True, slots=True, eq=False)
class _Raw:
    """A table in which values may be missing."""

    name: str
    submissions: tuple[str, ...]
    rows: tuple[str, ...]
    clusters: Sequence[str]
    strata: Sequence[str]
    tasks: Sequence[TaskValues]
    roles: Mapping[str, Role] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    row_words: tuple[str, str] = ("case", "cases")
    cluster_words: tuple[str, str] = ("cluster", "clusters")


def _settled(raw: _Raw, missing: Missing | None) -> ScoreTable:
    """Apply the policy for missing values, and leave out rows that no task uses any more."""
    if isinstance(missing, str) and missing not in POLICIES:
        raise InputError(f"there is no way {missing!r} to treat missing values", advice="Say drop, worst, or a number")
    if missing is not None and not isinstance(missing, str) and not np.isfinite(missing):
        raise InputError(f"the price of a missing value is {missing}", advice="Give a finite number, drop or worst")
    notes = list(raw.notes)
    tasks = [_without_empty_cases(task, notes) for task in raw.tasks]
    lacking = [bool((task.rows & ~np.isfinite(task.values)).any()) for task in tasks]
    tasks = [_priced(task, missing, raw, notes) if lacks else task for task, lacks in zip(tasks, lacking, strict=True)]
    used = np.any([task.rows for task in tasks], axis=0)
    kept = np.flatnonzero(used).tolist()
    others = [policy for policy in POLICIES if any(lacking) and policy != missing]
    return ScoreTable(
        name=raw.name,
        submissions=raw.submissions,
        rows=tuple(raw.rows[row] for row in kept),
        units=units_of([raw.clusters[row] for row in kept], [raw.strata[row] for row in kept]),
        tasks=tuple(
            replace(task, rows=task.rows[used], values=task.values[:, used], priced=task.priced[:, used])
            for task in tasks
        ),
        roles=raw.roles,
        remarks=raw.remarks,
        notes=tuple(notes),
        row_words=raw.row_words,
        cluster_words=raw.cluster_words,
        otherwise={policy: partial(_settled, raw, policy) for policy in others},
    )


def _without_empty_cases(task: TaskValues, notes: list[str]) -> TaskValues:
    """Leave out cases for which nobody has a value. What is not finite is missing."""
    kept = task.rows & np.isfinite(task.values).any(axis=0)
    if not kept.any():
        raise InputError(f"every value is missing{_where(task)}, so there is nothing to rank")
    if left_out := int(task.rows.sum() - kept.sum()):
        notes.append(f"{_of_cases(left_out, task)} left out: nobody has a value.")
    return replace(task, rows=kept, values=np.where(kept, task.values, np.nan), priced=task.priced & kept)


def _priced(task: TaskValues, missing: Missing | None, raw: _Raw, notes: list[str]) -> TaskValues:
    """Return a task that has missing values without them, and note what became of them."""
    where, higher = _where(task), task.measure.direction is Direction.HIGHER
    absent = ~np.isfinite(task.values) & task.rows
    count, what = int(absent.sum()), "missing or infinite" if np.isinf(task.values[absent]).any() else "missing"
    if missing is None:
        index, row = np.argwhere(absent)[0].tolist()
        size = len(raw.submissions) * int(task.rows.sum())
        raise InputError(
            f"{count} of {size} values {'is' if count == 1 else 'are'} {what}{where}, for instance "
            f"{raw.submissions[index]} in case {raw.rows[row]}",
            advice="Say what a missing value costs (--missing): worst is the worst value that anybody has, a number is "
            f"a price, drop leaves the case out for everybody{''.join(f'. {note[:-1]}' for note in raw.notes[:1])}",
        )
    costs = np.where(absent | ~task.rows, -np.inf, -task.values if higher else task.values)
    index, row = np.unravel_index(int(np.argmax(costs)), costs.shape)
    worst, by = float(task.values[index, row]), f"{raw.submissions[index]} in case {raw.rows[row]}"
    if missing == "drop":
        return _dropped(task, absent, worst, raw, notes)
    price = worst if isinstance(missing, str) else float(missing)
    if (price > worst) if higher else (price < worst):
        raise InputError(
            f"a missing value{where} would cost {price:g}, less than the {worst} of {by}, so that leaving out would "
            "pay",
            advice=f"Give a price of {worst} or {'below' if higher else 'above'}, or take worst (--missing worst)",
        )
    if not task.measure.minimum <= price <= task.measure.maximum:
        raise InputError(f"the price {price:g} of a missing value lies outside the range {_span(task.measure)}{where}")
    notes.append(
        f"{count} {what} value{'' if count == 1 else 's'}{where} count{'s' if count == 1 else ''} as {price:g}"
        + (f", the worst that anybody has ({by})." if missing == "worst" else ".")
    )
    return replace(task, values=np.where(absent, price, task.values), priced=task.priced | absent)


def _dropped(task: TaskValues, absent: npt.NDArray[np.bool_], worst: float, raw: _Raw, notes: list[str]) -> TaskValues:
    """Leave out every case in which somebody has no value, and note whose mean that makes better."""
    where, higher = _where(task), task.measure.direction is Direction.HIGHER
    kept = task.rows & ~absent.any(axis=0)
    if not kept.any():
        raise InputError(
            f"every case{where} has a missing value, so that dropping cases leaves none",
            advice="Give missing values a price, or take worst",
        )
    notes.append(f"{_of_cases(int(task.rows.sum() - kept.sum()), task)} left out: a value is missing.")
    with np.errstate(over="ignore", invalid="ignore"):
        charged = np.where(absent, worst, task.values)[:, task.rows].mean(axis=1)
        gains = (task.values[:, kept].mean(axis=1) - charged) * (1 if higher else -1)
        scale = np.abs(task.values[:, kept]).max()
    order = sorted(range(len(gains)), key=lambda index: -gains[index])
    better = [f"{raw.submissions[index]} by {gains[index]:.3g}" for index in order if gains[index] > 1e-12 * scale]
    if better:
        more = [f"{len(better) - _SHOWN} more by less"] if len(better) > _SHOWN else []
        *most, last = [*better[:_SHOWN], *more]
        notes.append(
            f"Leaving cases out{where} {'raises' if higher else 'lowers'} {', '.join(most)}{' and ' if most else ''}"
            f"{last} (means, with what is missing counted as {worst:g}, the worst)."
        )
    return replace(task, rows=kept, values=np.where(kept, task.values, np.nan), priced=task.priced & kept)


def _where(task: TaskValues) -> str:
    return f" in {task.measure.title}" if task.name else ""


def _of_cases(count: int, task: TaskValues) -> str:
    return f"{count} of {task.rows.sum()} cases{_where(task)} {'is' if count == 1 else 'are'}"
