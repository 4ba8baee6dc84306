"""Tables of scores: one line for each submission and case."""

from __future__ import annotations

from collections.abc import Mapping
from gzip import BadGzipFile
from pathlib import Path
from typing import Any

import polars as pl
from isal import igzip, isal_zlib

from podium.io.inputs import open_input
from podium.model import InputError

__all__ = ["MAX_SCORES_BYTES", "SCORE_COLUMNS", "read_scores"]

MAX_SCORES_BYTES = 2**28
"""A table that unpacks to more bytes than this is refused. Reading one takes eleven times as much memory, forty
times where every field is empty."""

SCORE_COLUMNS = ("submission", "case", "value", "task", "cluster", "stratum")
"""What a table of scores may hold; the first three are needed."""

_OTHERWISE_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_UNPRINTABLE = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]"  # control characters, and what turns or breaks a line
_NOTHING = ("", "na", "n/a", "nan", "null", "none")


def read_scores(path: Path, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Read a CSV file, plain or gzipped, with a line for each submission and case.

    Parameters
    ----------
    path
        Its first line names the columns `submission`, `case` and `value`, and optionally `task`, `cluster` and
        `stratum`; others are passed over. A value may be missing: an empty field, NA, NaN or null.
    columns
        What columns are called in this file, where it is something else: {"submission": "team"}.

    Returns
    -------
    DataFrame
        The columns found, all text but `value`.
    """
    named = dict(columns or {})
    if strange := sorted(set(named) - set(SCORE_COLUMNS)):
        raise InputError(f"{strange[0]!r} is no column of scores", advice=f"There are: {', '.join(SCORE_COLUMNS)}")
    content = _unpacked(path)
    try:
        raw = pl.read_csv(content, infer_schema=False).fill_null("")
    except pl.exceptions.PolarsError as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"this is not a CSV file ({reason})", path=path) from None
    # An optional column that was given another meaning does not keep its own.
    taken = set(named.values()) - set(SCORE_COLUMNS[:3])
    names = {name: named.get(name, name) for name in SCORE_COLUMNS if name in named or name not in taken}
    if twice := [theirs for theirs in named.values() if list(names.values()).count(theirs) > 1]:
        raise InputError(f"the column {twice[0]!r} cannot be two things at once", path=path)
    for name in (*SCORE_COLUMNS[:3], *named):
        if named.get(name, name) not in raw.columns:
            raise InputError(
                f"there is no column {named.get(name, name)!r}; found: {', '.join(raw.columns)[:200]}",
                path=path,
                advice="Needed: submission, case, value. Say what they are called here: --column submission=team",
            )
    table = raw.select(pl.col(theirs).alias(ours) for ours, theirs in names.items() if theirs in raw.columns)
    for name in [name for name in table.columns if name != "value"]:
        odd = table.with_row_index("line", offset=2).filter(pl.col(name).str.contains(_UNPRINTABLE))
        if len(odd):
            line, text = odd["line"][0], odd[name][0]
            raise InputError(f"line {line}: the {name} {text[:40]!r} has characters that cannot be shown", path=path)
    text = pl.col("value").str.strip_chars()
    table = table.with_columns(
        text.cast(pl.Float64, strict=False).alias("number"),
        text.str.to_lowercase().is_in(_NOTHING).alias("nothing"),
    )
    wrong = table.with_row_index("line", offset=2).filter(pl.col("number").is_null() & ~pl.col("nothing"))
    if len(wrong):
        line, given = wrong.row(0, named=True)["line"], wrong.row(0, named=True)["value"]
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise InputError(
            f"line {line} has {given[:40]!r} where a number should be{more}",
            path=path,
            advice="Leave a field empty, or write NA, where a value is missing",
        )
    return table.with_columns(
        pl.when(pl.col("nothing") | pl.col("number").is_nan()).then(None).otherwise(pl.col("number")).alias("value")
    ).drop("number", "nothing")


def _unpacked(path: Path) -> bytes:
    """Return the bytes of a file, plain or gzipped, unless they are too many."""
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
    if content.startswith(_OTHERWISE_PACKED):
        raise InputError("this is not a CSV file", path=path, advice="It may be gzipped, not packed in another way")
    return content
