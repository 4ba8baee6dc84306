"""Groups of cases: which centre, region or stratum each belongs to, from a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from podium.io.scores import _unpacked
from podium.model import InputError

__all__ = ["read_groups"]


def read_groups(
    by: str | None, *, table: Path | None = None, columns: Mapping[str, str] | None = None
) -> tuple[dict[str, str] | None, str]:
    """Read which group each case is in.

    Parameters
    ----------
    by
        FILE.csv:COLUMN, a file with the column `case` and that one; or a column of the table itself; None for none.
    table
        The table that is ranked, if one is.
    columns
        What its columns are called, where it is something else: {"case": "patient"}.

    Returns
    -------
    groups, name
        The group of each case, where it has one, by the name of the case, and by task/case where the file has tasks;
        and the name of the column.
    """
    if by is None:
        return None, "group"
    file, colon, column = by.rpartition(":")
    named = dict(columns or {}) if not colon else {}
    path = Path(file) if colon else table
    if path is None:
        raise InputError(f"a run has no column {by!r}", advice="Name a file with the column case: --by FILE.csv:COLUMN")
    if not path.is_file():
        raise InputError("there is no such file", path=path, advice="Say --by FILE.csv:COLUMN")
    try:
        frame = pl.read_csv(_unpacked(path), infer_schema=False).fill_null("")
    except pl.exceptions.PolarsError as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"this is not a CSV file ({reason})", path=path) from None
    case, task = named.get("case", "case"), named.get("task", "task")
    column = named.get(column, column)
    for name in (case, column):
        if name not in frame.columns:
            raise InputError(f"there is no column {name!r}; found: {', '.join(frame.columns)[:200]}", path=path)
    keys = [pl.col(case).str.strip_chars().alias("key")]
    if task in frame.columns:
        keys.append(pl.concat_str(pl.col(task), pl.lit("/"), keys[0]).alias("key"))
    groups: dict[str, str] = {}
    for number, key in enumerate(keys):
        own = frame.select(key, pl.col(column).str.strip_chars().alias("group")).unique(maintain_order=True)
        twice = own.filter(own["key"].is_duplicated())
        if len(twice) and number == len(keys) - 1:
            first, last = twice.filter(pl.col("key") == twice["key"][0])["group"].to_list()[:2]
            raise InputError(
                f"case {twice['key'][0][:40]} has two values in the column {column}: {first[:40]!r}, {last[:40]!r}",
                path=path,
                advice="A case belongs to one group",
            )
        known = own.filter(~own["key"].is_duplicated() & (own["group"] != ""))
        groups |= dict(known.select("key", "group").iter_rows())
    return groups, column
