"""Tables of numbers from files that strangers send: MATLAB files, named lines of text, and CSV."""

from __future__ import annotations

import csv
import io
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from podium.io._matlab import MAX_VARIABLE_BYTES, read_mat
from podium.io.inputs import MAX_TEXT_BYTES, read_text
from podium.model import InputError

__all__ = [
    "MAX_TEXT_BYTES",
    "MAX_VARIABLE_BYTES",
    "Table",
    "csv_columns",
    "read_csv",
    "read_lines",
    "read_mat",
    "read_timing",
    "read_words",
]

LONGEST_SECONDS = 1e7
"""A time beyond this is no time."""
_SHOWN = 5
_MOST_COLUMNS = 1000

Row = tuple[int, str, list[str]]
"""Its line, its name, and its fields."""


class Table(NamedTuple):
    """Named rows and their numbers, by column; NaN where a field is empty."""

    names: tuple[str, ...]
    columns: dict[str, npt.NDArray[np.float64]]


def read_lines(path: Path, columns: Sequence[str]) -> Table:
    """Read lines of the form `name: number, number, …`, one number for each of the columns.

    Empty lines are passed over; an empty field is NaN.

    Raises
    ------
    InputError
        Lines of another form, with another count of numbers, or with the name of an earlier line; all are named.
    """
    problems = _Problems()

    def rows() -> Iterator[Row]:
        for place, line in enumerate(io.StringIO(read_text(path, most_bytes=MAX_TEXT_BYTES), newline=None), start=1):
            name, colon, fields = line.partition(":")
            if colon and name.strip():
                yield place, name.strip(), fields.split(",")
            elif line.strip():
                problems.add(f"line {place} is not of the form 'name: {', '.join(columns)}'")

    return _table(rows(), columns, problems, path)


def read_csv(path: Path, columns: Sequence[str], *, optional: Sequence[str] = (), may_be_empty: bool = False) -> Table:
    """Read a CSV file whose first line names the columns and whose first column names the rows.

    Upper and lower case do not matter in the first line, nor does the order of columns; others than those asked for
    are passed over. An empty field is NaN.

    Parameters
    ----------
    path
        A CSV file, separated by commas.
    columns, optional
        Which columns are read, and which also if they are there.
    may_be_empty
        Whether a first line alone is a table without rows.

    Raises
    ------
    InputError
        Columns are missing, or rows have another number of fields, no number, or the name of an earlier row; all are
        named.
    """
    header, lines = _csv(path)
    if header[0] in {column.lower() for column in columns}:
        raise InputError(f"the first column is '{header[0]}'", path=path, advice="It must hold the names of the rows")
    _demand(header, columns, path)
    read = [*columns, *(name for name in optional if name.lower() in header)]
    places = [header.index(name.lower()) for name in read]
    problems = _Problems()

    def rows() -> Iterator[Row]:
        for place, fields in lines:
            if len(fields) != len(header):
                problems.add(f"line {place} has {len(fields)} fields, the first line {len(header)}")
            elif not fields[0].strip():
                problems.add(f"line {place} has no name")
            else:
                yield place, fields[0].strip(), [fields[at] for at in places]

    return _table(rows(), read, problems, path, may_be_empty=may_be_empty)


def csv_columns(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file, in lower case."""
    return _csv(path)[0]


def read_words(path: Path, column: str) -> dict[str, str]:
    """Return what a column says of every row; the first column names the rows.

    Raises
    ------
    InputError
        As for `read_csv`.
    """
    header, lines = _csv(path)
    if header[0] == column.lower():
        raise InputError(f"the first column is '{header[0]}'", path=path, advice="It must hold the names of the rows")
    _demand(header, [column], path)
    place, problems, words = header.index(column.lower()), _Problems(), dict[str, str]()
    for number, fields in lines:
        name = fields[0].strip()
        if len(fields) != len(header):
            problems.add(f"line {number} has {len(fields)} fields, the first line {len(header)}")
        elif not name or name in words:
            problems.add(f"line {number} has {'the name of an earlier one' if name else 'no name'}")
        else:
            words[name] = fields[place].strip()
    problems.raise_for(path)
    if not words:
        raise InputError("there are no rows", path=path)
    return words


def read_timing(path: Path) -> dict[str, tuple[float, float | None]]:
    """Read timing.csv, with columns case, seconds and perhaps frames.

    Returns
    -------
    dict
        Seconds and frames of each case; None where no frames are given.

    Raises
    ------
    InputError
        Columns are missing, a case is listed twice, seconds are no number from 0, or frames no number above 0; all
        that is wrong is named.
    """
    header, lines = _csv(path)
    _demand(header, ("case", "seconds"), path)
    problems = _Problems()
    timing: dict[str, tuple[float, float | None]] = {}
    for place, fields in lines:
        if len(fields) != len(header):
            problems.add(f"line {place} has {len(fields)} fields, the first line {len(header)}")
            continue
        row = {name: field.strip() for name, field in zip(header, fields, strict=True)}
        seconds = _number(row["seconds"])
        frames = _number(row["frames"]) if row.get("frames") else None
        if not row["case"]:
            problems.add(f"line {place} names no case")
        elif not row["case"].isprintable():
            problems.add(f"line {place}: the case {_shown(row['case'])} has characters that cannot be shown")
        elif row["case"] in timing:
            problems.add(f"line {place}: case {row['case'][:40]} is listed a second time")
        elif seconds is None or not 0 <= seconds <= LONGEST_SECONDS:
            problems.add(
                f"line {place}: seconds are {row['seconds'][:40]!r}, not a number from 0 to {LONGEST_SECONDS:g}"
            )
        elif row.get("frames") and (frames is None or not 0 < frames < math.inf):
            problems.add(f"line {place}: frames are {row['frames'][:40]!r}, not a number above 0")
        else:
            timing[row["case"]] = seconds, frames
    problems.raise_for(path)
    return timing


class _Problems:
    """What is wrong with a file, so that it can be said at once: the first few in words, of the others the number."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._count = 0

    def add(self, problem: str) -> None:
        self._count += 1
        if len(self._first) < _SHOWN:
            self._first.append(problem)

    def raise_for(self, path: Path) -> None:
        """Raise an error that names the first problems, if there are any."""
        if self._first:
            more = f"; and {self._count - _SHOWN} more" if self._count > _SHOWN else ""
            raise InputError("; ".join(self._first) + more, path=path)


def _table(
    rows: Iterable[Row], columns: Sequence[str], problems: _Problems, path: Path, *, may_be_empty: bool = False
) -> Table:
    """Turn lines (place, name, fields) into numbers, or say what is wrong with them."""
    names: dict[str, int] = {}
    values = array("d")  # a list of lists would take ten times as much
    for place, name, fields in rows:
        if len(fields) != len(columns):
            problems.add(
                f"line {place} ({name[:40]}) has {len(fields)} values, not {len(columns)}: {', '.join(columns)}"
            )
            continue
        if not name.isprintable():
            problems.add(f"line {place}: the name {_shown(name)} has characters that cannot be shown")
        if name in names:
            problems.add(f"line {place}: {name[:40]} was in line {names[name]} already")
        names.setdefault(name, place)
        numbers = [math.nan if not field.strip() else _number(field) for field in fields]
        for column, field, number in zip(columns, fields, numbers, strict=True):
            if number is None:
                problems.add(f"line {place} ({name[:40]}): {column} is {field.strip()[:40]!r}, not a number")
        values.extend(math.nan if number is None else number for number in numbers)
    problems.raise_for(path)
    if not values and not may_be_empty:
        raise InputError("there are no rows", path=path)
    table = np.array(values, np.float64).reshape(-1, len(columns))
    return Table(tuple(names), dict(zip(columns, table.T, strict=True)))


def _shown(name: str) -> str:
    """Return the beginning of a name with escapes for what cannot be shown."""
    return ascii(name[:40])


def _number(field: str) -> float | None:
    """Return a number as people write it, or None; Python alone would take 1_000 and digits of any script."""
    try:
        return float(field) if field.isascii() and "_" not in field else None
    except ValueError:
        return None


def _csv(path: Path) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names in the first line, in lower case, and the other lines with their numbers."""
    reader = csv.reader(io.StringIO(read_text(path, most_bytes=MAX_TEXT_BYTES), newline=""), strict=True)

    def content() -> Iterator[tuple[int, list[str]]]:
        try:
            for fields in reader:
                if any(field.strip() for field in fields):
                    yield reader.line_num, fields
        except csv.Error as error:
            raise InputError(f"line {reader.line_num} is not CSV ({error})", path=path) from None

    lines = content()
    first = next(lines, None)
    if first is None:
        raise InputError("the file is empty", path=path)
    header = [name.strip().lower() for name in first[1]]
    if len(header) > _MOST_COLUMNS:
        raise InputError(f"the first line has {len(header):,} columns", path=path)
    if double := sorted({name for name in header if name and header.count(name) > 1}):
        raise InputError(f"two columns are called '{double[0][:40]}'", path=path)
    return header, lines


def _demand(header: list[str], columns: Sequence[str], path: Path) -> None:
    missing = [name for name in columns if name.lower() not in header]
    if missing:
        separated = any(";" in name or "\t" in name for name in header)
        raise InputError(
            f"there is no column {', '.join(missing)}; the first line is '{','.join(header)[:80]}'",
            path=path,
            advice="Separate columns with commas" if separated else "The first line must name the columns",
        )
