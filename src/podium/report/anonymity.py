"""Letters in place of teams' names, also where a name stands in a sentence or a path."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

import polars as pl

__all__ = ["letters", "renamed_info", "renamed_table", "renamed_text"]

_UNMISTAKABLE = 4
"""Names of this length are replaced however they are written; shorter ones only as they are, as words of their own."""

_NEUTRAL = {
    "challenge",
    "edition",
    "ended",
    "machine",
    "options",
    "packages",
    "podium",
    "schema",
    "started",
    "truth",
    "version",
}
"""What run.json says of itself rather than of submissions."""


def letters(count: int, *, taken: Collection[str] = ()) -> list[str]:
    """Return A, B, C … that are not taken; of more than 26, AA, AB, AC …, so that their order stays alphabetical.

    Examples
    --------
    >>> letters(3, taken={"B"})
    ['A', 'C', 'D']
    """
    length = 1
    while True:
        names = map("".join, product(string.ascii_uppercase, repeat=length))
        free = [name for name in names if name not in taken]
        if len(free) >= count:
            return free[:count]
        length += 1


def renamed_text(text: str, names: Mapping[str, str]) -> str:
    """Return a text with every name replaced.

    A name counts where no letter touches it, so that `team` is found in `team_final.zip` and not in `steam`.

    Examples
    --------
    >>> renamed_text("/data/Team Nine/LVQUAN_team nine.mat", {"Team Nine": "A"})
    '/data/A/LVQUAN_A.mat'
    """
    exact = {name: new for name, new in names.items() if 0 < len(name) < _UNMISTAKABLE}
    loose = {name.lower(): new for name, new in names.items() if len(name) >= _UNMISTAKABLE}
    # Longest first, so that no name is taken for a part of another; at once, so that no letter is taken for a name.
    patterns = []
    if loose:
        patterns.append(rf"(?<![^\W\d_])(?i:{_any_of(loose)})(?![^\W\d_])")
    if exact:
        patterns.append(rf"(?<![^\W_])(?:{_any_of(exact)})(?![^\W_])")
    if not patterns:
        return text
    return re.sub("|".join(patterns), lambda match: exact.get(match[0]) or loose[match[0].lower()], text)


def _any_of(names: Collection[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


def renamed_table(table: pl.DataFrame, names: Mapping[str, str], *, texts: Sequence[str] = ("reason",)) -> pl.DataFrame:
    """Return a table with other submissions' names, also within columns of text."""
    columns = [pl.col("submission").replace(dict(names))]
    for column in texts:
        known = {text: renamed_text(text, names) for text in table[column].unique().to_list() if text}
        columns.append(pl.col(column).replace(known))
    return table.with_columns(columns)


def renamed_info(info: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return run.json with other submissions' names, in keys, paths and names of files.

    What the document calls its own parts stays, whatever a submission is called.
    """
    renamed = {key: value if key in _NEUTRAL else _renamed(value, names) for key, value in info.items()}
    if "roles" in info:
        renamed["roles"] = {names.get(name, name): role for name, role in info["roles"].items()}
    if "submissions" in info:
        renamed["submissions"] = {
            names.get(name, name): {part: _renamed(value, names) for part, value in place.items()}
            for name, place in info["submissions"].items()
        }
    return renamed


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value) or renamed_text(value, names)
    if isinstance(value, Mapping):
        return {names.get(key) or renamed_text(key, names): _renamed(part, names) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(part, names) for part in value]
    return value
