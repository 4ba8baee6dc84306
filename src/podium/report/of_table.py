"""A table of values in the form of a run's measurements, so that pages and figures show both alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from podium.model import Cube, Measure, Status
from podium.ranking import Rule, ScoreTable, TaskValues

__all__ = ["TableMeasurements", "measured_of"]

_SCHEMA = dict.fromkeys(("submission", "case", "metric"), pl.String) | {"value": pl.Float64}
_SCHEMA |= dict.fromkeys(("status", "reason"), pl.String)


@dataclass(frozen=True, slots=True, eq=False)
class TableMeasurements:
    """What a run would have measured: a measure for each task, and a row for each name of a case.

    Attributes
    ----------
    measures
        The tasks.
    measurements, failures
        As of a run. What is missing has the status and says what it counts as.
    cube
        Values of submissions, cases and tasks.
    """

    measures: tuple[Measure, ...]
    measurements: pl.DataFrame
    failures: pl.DataFrame
    cube: Cube


def measured_of(rule: Rule, table: ScoreTable | None) -> TableMeasurements:
    """Arrange the values that a rule has ranked; without them there is only the rule, with its rows.

    Cases of one name are one row, also where the table holds them apart as cases of different tasks.
    """
    tasks = () if table is None else table.tasks
    names = [_cases(task, tasks, rule.rows) for task in tasks]
    cases = tuple(dict.fromkeys(name for own in names for name in own)) if tasks else rule.rows
    where = {name: row for row, name in enumerate(cases)}
    shape = len(rule.submissions), len(cases)
    values = np.full((*shape, len(tasks)), np.nan)
    priced = np.zeros(values.shape, bool)
    asked = np.zeros((len(cases), len(tasks)), bool)
    for number, (task, own) in enumerate(zip(tasks, names, strict=True)):
        rows = [where[name] for name in own]
        values[:, rows, number], priced[:, rows, number] = task.values[:, task.rows], task.priced[:, task.rows]
        asked[rows, number] = True
    measurements = _measurements(rule, tasks, cases, values, priced, asked)
    lost = measurements.filter(pl.col("status") != Status.OK.value)
    failed = np.asarray(priced.any(axis=2)) if tasks else rule.priced
    return TableMeasurements(
        tuple(task.measure for task in tasks),
        measurements,
        lost.select("submission", "case", "status", "reason"),
        Cube(
            submissions=rule.submissions,
            rows=cases,
            clusters=cases,
            keys=tuple(task.measure.key for task in tasks),
            values=values,
            failed=failed,
            lost=np.asarray((priced | ~asked).all(axis=2)) if tasks else failed,
            seconds=np.full(shape, np.nan),
        ),
    )


def _cases(task: TaskValues, tasks: tuple[TaskValues, ...], rows: tuple[str, ...]) -> list[str]:
    """Name the cases of a task. Where tasks share no rows, their names begin with the task's, which is left out."""
    own = [rows[row] for row in np.flatnonzero(task.rows)]
    apart = len(tasks) > 1 and (np.sum([other.rows for other in tasks], axis=0) <= 1).all()
    prefix = f"{task.name}/"
    return [name.removeprefix(prefix) for name in own] if apart and all(n.startswith(prefix) for n in own) else own


def _measurements(
    rule: Rule,
    tasks: tuple[TaskValues, ...],
    cases: tuple[str, ...],
    values: np.typing.NDArray[np.float64],
    priced: np.typing.NDArray[np.bool_],
    asked: np.typing.NDArray[np.bool_],
) -> pl.DataFrame:
    """Return one line for every submission, case and task."""
    lines: list[tuple[object, ...]] = []
    for number, task in enumerate(tasks):
        rows = np.flatnonzero(asked[:, number]).tolist()
        where = f" for {task.measure.title}" if len(tasks) > 1 else ""
        for who, submission in enumerate(rule.submissions):
            numbers, lost = values[who, rows, number].tolist(), priced[who, rows, number].tolist()
            for row, value, missing in zip(rows, numbers, lost, strict=True):
                status = Status.MISSING if missing else Status.OK
                reason = f"there is no value{where}; it counts as {value:g}" if missing else ""
                lines.append((submission, cases[row], task.measure.key[0], value, status.value, reason))
    frame = pl.DataFrame(lines, schema=_SCHEMA, orient="row")
    return frame.with_columns(unit=pl.lit(""), target=pl.lit(""))
