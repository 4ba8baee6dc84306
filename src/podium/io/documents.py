"""Text files that appear complete or not at all, and JSON and CSV that any program reads."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

__all__ = ["csv_text", "json_text", "write_atomically", "write_parquet", "write_text"]


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Let a file appear complete or not at all, even if the power fails."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(partial)
        _to_disk(partial)
        partial.replace(path)
        _to_disk(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    """Wait until a file, or what a folder lists, has arrived on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write text, complete or not at all."""
    write_atomically(path, lambda partial: partial.write_text(text, encoding="utf-8", errors="backslashreplace"))


def write_parquet(path: Path, table: pl.DataFrame, *, metadata: dict[str, str] | None = None) -> None:
    """Write a table, complete or not at all. It is made in memory, so that a full disk is an OSError like any other."""
    content = io.BytesIO()
    table.write_parquet(content, metadata=metadata)
    write_atomically(path, lambda partial: partial.write_bytes(content.getbuffer()))


def json_text(document: Any) -> str:
    """Return JSON that any program reads: what is not finite becomes null."""

    def finite(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: finite(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [finite(each) for each in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(finite(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(header: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """Return a table with a header as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue()
