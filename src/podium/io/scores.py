"""Tables of scores as people have them: CSV of any kind, Parquet, Excel; one table, or one for each team."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from gzip import BadGzipFile
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from isal import igzip, isal_zlib

from podium.io import _workbooks
from podium.io._dialects import Grid, csv_grid, grid_of
from podium.io._layouts import LAYOUTS, SCORE_COLUMNS, Long, long_table
from podium.io._numbers import numbers_of
from podium.io.inputs import open_input
from podium.model import InputError

__all__ = [
    "LAYOUTS",
    "MAX_SCORES_BYTES",
    "SCORE_COLUMNS",
    "TABLE_SUFFIXES",
    "ScoresRead",
    "parquet_can_be_read",
    "read_scores",
    "scores_of_frame",
]

MAX_SCORES_BYTES = 2**28
"""A table that unpacks to more bytes than this is refused. Reading one takes about three times as much memory; where
fields are single digits 35 times, and 75 times where they stand side by side, team by team."""
TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".xlsx")
"""What tables are called in a folder of tables."""

_OTHERWISE_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_LONGEST_ANSWER = 1 << 16
_OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PACKED = {b"PAR1": "parquet", b"PK\x03\x04": "excel"}


class ScoresRead(NamedTuple):
    """Scores as they were read: a line for each value, what was guessed, and what columns are called there."""

    frame: pl.DataFrame
    remarks: tuple[str, ...]
    called: Mapping[str, str]


def read_scores(
    source: Path | Sequence[Path],
    *,
    columns: Mapping[str, str] | None = None,
    layout: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> ScoresRead:
    """Read a table with a value for each submission and case, in any of the forms that people have.

    Parameters
    ----------
    source
        CSV, plain or gzipped; Parquet; an Excel workbook. Its first line names the columns: `submission`, `case` and
        `value`, and optionally `task`, `cluster` and `stratum`; others are passed over. Teams, metrics or cases may be
        columns instead. A value may be missing: an empty field, NA, NaN or null. A folder, or several files, hold one
        table for each team, named after it.
    columns
        What columns are called in this file, where it is something else: {"submission": "team"}. One column may be the
        case and the cluster.
    layout
        "long": a line for each value; "wide": teams as columns; "metrics" or "cases" as columns.
    separator, decimal, encoding, sheet
        Of CSV, what is between columns, how it is encoded, and the decimal mark; of a workbook, which sheet, by its
        name or number.

    Returns
    -------
    frame
        The columns that there are, all text but `value`.
    remarks
        What was guessed where nothing was given, in sentences.
    called
        What columns are called in the file, in the first of several.
    """
    options: dict[str, Any] = {"columns": columns, "layout": layout}
    several = not isinstance(source, Path) or source.is_dir()
    paths, remarks = _tables_in(source) if isinstance(source, Path) and source.is_dir() else (_listed(source), [])
    tables, parts, unpacked = [], [], 0
    for path in paths:
        grid, size = grid_in(path, separator=separator, encoding=encoding, sheet=sheet)
        unpacked += size
        if unpacked > MAX_SCORES_BYTES:
            raise InputError(f"the tables unpack to more than {MAX_SCORES_BYTES:,} bytes", path=path)
        part = long_table(grid, path, team=_team(path) if several else "", **options)
        values, guessed = numbers_of(part.table, path, decimal=decimal)
        tables.append(_finished(part.table, values))
        parts.append(part)
        remarks += [*part.remarks, *guessed]
    if several:
        remarks.insert(0, _files(paths, parts))
    return ScoresRead(pl.concat(tables, how="diagonal"), tuple(dict.fromkeys(remarks)), parts[0].called)


def scores_of_frame(
    frame: pl.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    layout: str | None = None,
    decimal: str | None = None,
) -> ScoresRead:
    """Return the scores in a table that is in memory, of any layout, and what was guessed; see `read_scores`."""
    plain = [name for name, kind in frame.schema.items() if not (kind.is_nested() or kind in (pl.Binary, pl.Object))]
    texts = frame.select(pl.col(plain).cast(pl.String)) if plain else pl.DataFrame()
    cells = texts.rename({name: str(index) for index, name in enumerate(plain)}).fill_null("")
    cells = cells.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).alias("line"))
    here = Path("DataFrame")
    part = long_table(Grid(plain, cells, ()), here, columns=columns, layout=layout)
    values, guessed = numbers_of(part.table, here, decimal=decimal)
    return ScoresRead(_finished(part.table, values), (*part.remarks, *guessed), part.called)


def _finished(table: pl.DataFrame, values: pl.Series) -> pl.DataFrame:
    return table.with_columns(values).select(name for name in SCORE_COLUMNS if name in table.columns)


def _listed(source: Path | Sequence[Path]) -> list[Path]:
    paths = [source] if isinstance(source, Path) else list(source)
    if not paths:
        raise InputError("no table was given")
    return paths


def _tables_in(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the tables in a folder, and which other files were passed over."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    tables = [path for path in files if path.name.lower().endswith(TABLE_SUFFIXES)]
    if not tables:
        raise InputError("there is no table in this folder", path=folder, advice=f"Such as {', '.join(TABLE_SUFFIXES)}")
    others = [path.name for path in files if path not in tables]
    return tables, [f"Passed over: {', '.join(others)[:200]}."] if others else []


def _team(path: Path) -> str:
    name = path.name
    ending = max((s for s in TABLE_SUFFIXES if name.lower().endswith(s)), key=len, default=path.suffix)
    return name[: len(name) - len(ending)] or name


def _files(paths: Sequence[Path], parts: Sequence[Long]) -> str:
    """Say what several files were taken for, or why they cannot be taken together."""
    named = ["submission" in part.called for part in parts]
    if any(named) and not all(named):
        with_names, without = paths[named.index(True)].name, paths[named.index(False)].name
        raise InputError(
            f"{with_names} names its submissions and {without} does not",
            advice="Give a table for each team, or one of all",
        )
    if all(named):
        return f"{len(paths)} files were read as one table."
    teams = [_team(path) for path in paths]
    if double := [team for team in teams if teams.count(team) > 1]:
        raise InputError(f"two tables are of the team {double[0]!r}", advice="Give one table for each team")
    return f"One file for each team: {', '.join(teams[:5])}{f' and {len(teams) - 5} more' if len(teams) > 5 else ''}."


def grid_in(path: Path, *, separator: str | None, encoding: str | None, sheet: str | None) -> tuple[Grid, int]:
    """Return a file as a grid of text, and how many bytes that was."""
    content = _unpacked(path)
    kind = next((kind for start, kind in _PACKED.items() if content.startswith(start)), "")
    if sheet is not None and kind != "excel":
        raise InputError("only an Excel workbook has sheets", path=path, advice="Leave out --sheet")
    if not kind:
        return csv_grid(content, path, separator=separator, encoding=encoding), len(content)
    facts, table = _converted(path, kind, sheet)
    try:
        lines = pl.read_csv(table, has_header=False, infer_schema=False) if table.strip() else pl.DataFrame()
    except pl.exceptions.PolarsError:
        raise InputError("the file is damaged", path=path, advice="Save it again, or as CSV") from None
    remarks = (f"The sheet {facts['sheet']!r} was read.",) if facts.get("sheets", 1) > 1 and not sheet else ()
    return grid_of(lines, remarks), len(table)


def parquet_can_be_read(path: Path) -> bool:
    """Have a process of its own read a Parquet file, since Polars may end the process over a damaged one."""
    try:
        _converted(path, "trial", None)
    except InputError:
        return False
    return True


def _converted(path: Path, kind: str, sheet: str | None) -> tuple[dict[str, Any], bytes]:
    """Have a process of its own turn a Parquet file or a workbook into CSV, or see whether it can be read."""
    command = [
        sys.executable,
        "-P",
        _workbooks.__file__,
        str(path.absolute()),
        kind,
        sheet or "",
        str(MAX_SCORES_BYTES),
    ]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        assert process.stdout is not None
        first = process.stdout.readline(_LONGEST_ANSWER)
        table = process.stdout.read(MAX_SCORES_BYTES + 1)
        if len(table) > MAX_SCORES_BYTES:
            process.kill()
            raise InputError(f"the table unpacks to more than {MAX_SCORES_BYTES:,} bytes", path=path)
    facts: dict[str, Any] = json.loads(first) if first.endswith(b"\n") else {}
    if "refused" in facts:
        raise InputError(facts["refused"], path=path)
    if process.returncode:
        what = "workbook" if kind == "excel" else "Parquet file"
        raise InputError(f"the {what} is damaged, or too large", path=path, advice="Save it again, or as CSV")
    return facts, table


def _unpacked(path: Path) -> bytes:
    """Return the bytes of a file, plain or gzipped, unless they are too many."""
    if path.exists() and not path.is_file():  # reading a pipe would wait for ever
        raise InputError("this is not a plain file", path=path)
    with open_input(path) as file:
        gzipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            opened: Any = igzip.open  # it has no type hints
            source = opened(file, "rb") if gzipped else file
            content: bytes = source.read(MAX_SCORES_BYTES + 1)
        except (EOFError, BadGzipFile, isal_zlib.error) as error:  # type: ignore[misc]  # the stub hides an exception
            raise InputError(f"the gzip data is damaged ({error})", path=path) from None
    if len(content) > MAX_SCORES_BYTES:
        raise InputError(f"the table unpacks to more than {MAX_SCORES_BYTES:,} bytes", path=path)
    if content.startswith(_OLD_EXCEL):
        raise InputError("this is an old or protected Excel file", path=path, advice="Save it as .xlsx, or as CSV")
    if content.startswith(_OTHERWISE_PACKED) or (gzipped and content.startswith(tuple(_PACKED))):
        raise InputError("this is not a CSV file", path=path, advice="It may be gzipped, not packed in another way")
    return content
