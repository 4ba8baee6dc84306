"""Files that appear complete or not at all, and JSON and CSV that any program reads."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from podium.model import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Content",
    "csv_text",
    "encoded",
    "harmless",
    "json_text",
    "parquet_bytes",
    "parsed_json",
    "unquoted",
    "write_atomically",
    "write_bytes",
    "write_text",
]

Content: TypeAlias = "bytes | str | Mapping[str, Any] | pl.DataFrame | tuple[Iterable[str], Iterable[Iterable[Any]]]"
"""What a file may hold: bytes, text, a document for JSON, a table, or the header and the lines of a CSV file."""

_RUN_BY_SPREADSHEETS = re.compile("'*[=+@\\-\t\r\n＝＋－＠]")
_KEPT = 24  # characters of a file's name, at either end; with twice as many, of four bytes each, no name is too long


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Let a file appear complete or not at all, even if the power fails or others write it at the same time.

    Parameters
    ----------
    path
        The file. What was there is replaced, once there is something to replace it with.
    write
        Writes all of it to the path that it is given: in the same folder, hidden, and with the same ending, as some
        writers choose the format by that. It must write one file only, not a header beside its data.
    """
    partial = _partial(path)
    try:
        write(partial)
        _to_disk(partial)
        partial.replace(path)
        _to_disk(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    """Return a name that no other thread, process or machine uses, and that tells what a killed process left behind."""
    ending = "".join(path.suffixes[-2:])
    stem = path.name.removesuffix(ending)[:_KEPT]
    return path.with_name(f".{stem}.{os.getpid()}-{secrets.token_hex(4)}.part{ending[-_KEPT:]}")


def _to_disk(path: Path) -> None:
    """Wait until a file, or what a folder lists, has arrived on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write bytes, complete or not at all."""
    write_atomically(path, lambda partial: partial.write_bytes(content))


def write_text(path: Path, text: str) -> None:
    """Write text, complete or not at all."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def parquet_bytes(table: pl.DataFrame, *, metadata: dict[str, str] | None = None) -> bytes:
    """Return a table as Parquet, made in memory, so that a full disk is an OSError like any other."""
    content = io.BytesIO()
    table.write_parquet(content, metadata=metadata)
    return content.getvalue()


def encoded(name: str, content: Content) -> bytes:
    """Return what a file of a name is to hold, as bytes.

    Parameters
    ----------
    name
        Its ending tells how a table is written: .parquet or .csv.
    content
        Bytes; text; a mapping, which becomes JSON; a table; or the header and the lines of a CSV file.
    """
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        text = content
    elif isinstance(content, Mapping):
        text = json_text(content)
    elif isinstance(content, tuple):
        text = csv_text(*content)
    else:
        if name.endswith(".parquet"):
            return parquet_bytes(content)
        text = _harmless_table(content).write_csv()
    return text.encode("utf-8", "backslashreplace")


def json_text(document: Any) -> str:
    """Return JSON that any program reads: what is not finite becomes null."""

    def finite(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: finite(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [finite(inner) for inner in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(finite(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def parsed_json(text: str, *, path: Path) -> Any:
    """Return what a JSON file holds; what is damaged, nested too deeply or a number of too many digits is one line."""
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError("this is not JSON that can be read (it is nested too deeply)", path=path) from None
    except ValueError as error:
        raise InputError(f"this is not JSON ({' '.join(str(error).split())[:120]})", path=path) from None


def csv_text(header: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """Return a table with a header as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([harmless(cell) for cell in line] for line in (header, *lines))
    return text.getvalue()


def harmless(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: a name that begins like a formula gets a quote before it.

    Numbers stay what they are. `unquoted` takes the quote away again.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-0.5"), harmless(-0.5), harmless("team")
    ("'=1+1", '-0.5', -0.5, 'team')
    """
    if not isinstance(cell, str) or not _RUN_BY_SPREADSHEETS.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _harmless_table(table: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    names = (name for name, kind in table.schema.items() if kind == pl.String)
    cells = (pl.Series(name, [harmless(cell) for cell in table[name].to_list()], pl.String) for name in names)
    return table.with_columns(*cells).rename(harmless)


def unquoted(cell: str) -> str:
    """Return a name as it was before `harmless` put a quote before it."""
    return cell[1:] if cell.startswith("'") and _RUN_BY_SPREADSHEETS.match(cell) else cell
