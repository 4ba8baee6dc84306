"""Groups of cases: which centre, region or stratum each belongs to, from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from podium.io._layouts import long_table
from podium.io.scores import grid_in
from podium.model import InputError

__all__ = ["read_groups"]


def read_groups(by: str | None, *, table: Path | None = None, **reading: Any) -> tuple[dict[str, str] | None, str]:
    """Read which group each case is in.

    Parameters
    ----------
    by
        FILE:COLUMN, a table with the column `case` and that one; or a column of the table itself; None for none.
    table, reading
        The table that is ranked, if it is a single file, and how it is read; see `podium.io.read_scores`.

    Returns
    -------
    groups, name
        The group of each case, where it has one, by the name of the case, and by task/case where the file has tasks;
        and the name of the column.
    """
    if by is None:
        return None, "group"
    file, colon, column = by.rpartition(":")
    path = Path(file) if colon else table
    if path is None:
        raise InputError(f"there is no column {by!r} here", advice="Name a file with the column case: --by FILE:COLUMN")
    if not path.is_file():
        raise InputError("there is no such file", path=path, advice="Say --by FILE:COLUMN")
    options = {} if colon else reading
    grid, _ = grid_in(path, **{name: options.get(name) for name in ("separator", "encoding", "sheet")})
    called = {"case": "case", "task": "task"}
    if not colon:
        called |= long_table(grid, path, columns=options.get("columns"), layout=options.get("layout")).called
    column = called.get(column, column)
    for name in (called["case"], column):
        if name not in grid.header:
            raise InputError(f"there is no column {name!r}; found: {', '.join(grid.header)[:200]}", path=path)

    def cells(name: str) -> pl.Expr:
        return pl.col(str(grid.header.index(name))).str.strip_chars()

    keys = [cells(called["case"]).alias("key")]
    if called["task"] in grid.header:
        keys.append(pl.concat_str(cells(called["task"]), pl.lit("/"), keys[0]).alias("key"))
    groups: dict[str, str] = {}
    for number, key in enumerate(keys):
        own = grid.cells.select(key, cells(column).alias("group")).unique(maintain_order=True)
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
