"""Small words: names, numbers and shares as sentences of a report hold them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from podium.model import Direction, Leaderboard, Measure, Role
from podium.model import shown_number as number

__all__ = ["contained", "deciding", "isolated", "listed", "number", "percent", "places", "why_unranked"]

_ISOLATE, _END = "\u2068", "\u2069"
_RIGHT_TO_LEFT = {"R", "AL", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI", "PDF", "PDI"}


def deciding(board: Leaderboard) -> Measure | None:
    """Return the column that orders the ranked: the first, if it does; None if no single column explains the places."""
    if not board.columns or board.columns[0].direction not in (Direction.HIGHER, Direction.LOWER):
        return None
    first = board.columns[0]
    sign = -1.0 if first.direction is Direction.HIGHER else 1.0
    values = [
        (entry.place, sign * value)
        for entry in board.entries
        if entry.place is not None and (value := entry.values[first.name]) is not None
    ]
    ordered = [value for _, value in sorted(values)]
    return first if ordered == sorted(ordered) else None


def listed(names: Sequence[str], *, at_most: int = 6, last: str = " and ") -> str:
    """Return names for a sentence; of many, only some. Names that hold commas are parted by semicolons.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b, c", "d"])
    ('a, b and c', 'a; b, c; d')
    """
    shown = [isolated(name) for name in names[:at_most]]
    if len(names) > at_most:
        shown.append(f"{len(names) - at_most} more")
    if any("," in name for name in shown):
        return "; ".join(shown)
    return last.join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


@lru_cache(maxsize=4096)
def isolated(name: str) -> str:
    """Return a name that cannot reorder the sentence around it, as right-to-left writing would.

    Examples
    --------
    >>> isolated("plain")
    'plain'
    >>> ascii(isolated("שלום"))[1:7] == ascii(chr(0x2068))[1:7]  # first strong isolate
    True
    """
    one_line = " ".join(name.split())
    mixed = any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in one_line)
    return f"{_ISOLATE}{one_line}{_END}" if mixed else one_line


def contained(text: str, names: Sequence[str] = ()) -> str:
    """Return a text in which nothing changes the direction of what follows, whatever names and files are called.

    Parameters
    ----------
    text
        A sentence made elsewhere, with names in it.
    names
        Those that may be in it; they are isolated.

    Examples
    --------
    >>> contained(f"left {chr(0x202E)}right") == f"left {chr(0xFFFD)}right"
    True
    """
    if text.isascii():  # which has no other direction
        return text
    for name in names:
        if (safe := isolated(name)) != " ".join(name.split()):
            text = text.replace(name, safe)
    signs, depth = [], 0
    for sign in text:
        kind = unicodedata.bidirectional(sign)
        if kind in ("FSI", "LRI", "RLI"):
            depth += 1
        elif kind == "PDI":
            if not depth:
                continue
            depth -= 1
        elif not depth and kind in ("RLE", "RLO", "LRE", "LRO", "PDF"):
            sign = "\ufffd"
        signs.append(sign)
    return "".join(signs) + _END * depth


def percent(share: float) -> str:
    """Return a share for people; all and nothing are said only where it is exactly that.

    Examples
    --------
    >>> percent(0.5), percent(0.9999), percent(0.0001), percent(1.0), percent(0.0)
    ('50 %', '> 99 %', '< 1 %', 'all', 'none')
    """
    if share in (0, 1):
        return "all" if share else "none"
    return "< 1 %" if share < 0.01 else "> 99 %" if share > 0.99 else f"{100 * share:.0f} %"


def places(best: int, worst: int) -> str:
    """Return an interval of places."""
    return f"{best}" if best == worst else f"{best}–{worst}"


def why_unranked(remark: str) -> str:
    """Return the remark beside a submission without a place, as part of a sentence.

    Examples
    --------
    >>> why_unranked("baseline"), why_unranked("every case failed")
    ('it is a baseline, shown for comparison', 'every case failed')
    """
    kinds = {Role.BASELINE.value: "a baseline", Role.REFERENCE.value: "people"}
    return f"it is {kinds[remark]}, shown for comparison" if remark in kinds else remark
