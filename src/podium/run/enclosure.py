"""An evaluation enclosed in a metrics file: what made it and what was measured, so that it can join others later."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from podium.io import parsed_json, read_text
from podium.model import InputError, Status
from podium.run.engine import Evaluation
from podium.run.measuring import SCHEMA
from podium.run.record import RunRecord
from podium.run.runs import failures_frame

__all__ = ["enclosed", "read_enclosed"]

_KEY = "evaluation"
_COLUMNS = [name for name in SCHEMA if name != "unit"]  # what is below the level of a row stays behind
_NUMBERS = ("value", "measured")
_MOST_BYTES = 2**26


def enclosed(record: RunRecord, evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as it is enclosed in metrics.json."""
    rows = evaluation.table.filter(pl.col("unit") == "").select(_COLUMNS)
    return {
        _KEY: {
            "run": record.document(),
            "failures": [list(failure) for failure in evaluation.failures],
            "columns": _COLUMNS,
            "rows": [[_written(value) for value in row] for row in rows.iter_rows()],
        }
    }


def _written(value: Any) -> Any:
    """Return a value as JSON can hold it: what is not finite as text, since null says that there is no number."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def read_enclosed(path: Path) -> tuple[RunRecord, pl.DataFrame, pl.DataFrame]:
    """Read what made the evaluation in a metrics file, its measurements, and its failures.

    Raises
    ------
    InputError
        It does not say what made it, as those in the run folder of several teams, or it is damaged.
    """
    document = parsed_json(read_text(path, most_bytes=_MOST_BYTES), path=path)
    inside = document.get(_KEY) if isinstance(document, dict) else None
    if not isinstance(inside, dict):
        raise InputError(
            "this file does not say which challenge, options and truth its metrics come from",
            path=path,
            advice="Give a run folder, or what podium evaluate --grand-challenge wrote",
        )
    try:
        record = RunRecord.model_validate(inside["run"])
        if inside["columns"] != _COLUMNS:
            raise ValueError("other columns than measurements have")
        table = _table(inside["rows"], record)
        failures = failures_frame([(_text(a), _text(b), _text(c), _text(d)) for a, b, c, d in inside["failures"]])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
        raise InputError(
            f"these metrics are damaged ({' '.join(reason.split())[:120]})", path=path, advice="Evaluate again"
        ) from None
    return record, table, failures


def _table(rows: list[list[Any]], record: RunRecord) -> pl.DataFrame:
    lines = []
    for row in rows:
        line = dict(zip(_COLUMNS, row, strict=True))
        lines.append({name: (_number if name in _NUMBERS else _text)(value) for name, value in line.items()})
        Status(line["status"])
    table = pl.DataFrame([line | {"unit": ""} for line in lines], schema=SCHEMA)
    if not set(table["submission"].unique()) <= set(record.roles):
        raise ValueError("values of a submission that it does not name")
    if table.select("submission", "case", "target", "metric").is_duplicated().any():
        raise ValueError("a value is there twice")
    return table


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of text")
    return value


def _number(value: Any) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        raise TypeError(f"{type(value).__name__} in place of a number")
    return None if value is None else float(value)
