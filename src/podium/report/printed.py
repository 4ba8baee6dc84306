"""The page on paper: which columns of the leaderboard fit a sheet together, and what stands above each page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from podium.report._contents import Board

__all__ = ["BoardPart", "board_parts", "css_string"]

_ROOM = 510.0
"""Points across a sheet between its margins: A4, which is narrower than Letter."""
_SIGN, _PADDING = 4.4, 9.0
"""Points of a sign at 8.5 pt, and beside a column."""
_PLACE, _NAME = 30.0, (75.0, 150.0)
_CERTAINTY = 125.0
"""Of the two columns that tell how sure a place is."""
_LONGEST = 90
"""Signs of a title above each page."""


@dataclass(frozen=True, slots=True)
class BoardPart:
    """Columns of the leaderboard that stand side by side on paper, by their index."""

    columns: tuple[int, ...]


def board_parts(board: Board) -> tuple[BoardPart, ...]:
    """Return the columns of a leaderboard in as few tables as fit a sheet, all about as wide; what decides comes first.

    Parameters
    ----------
    board
        As the page shows it.
    """
    order = sorted(range(len(board.columns)), key=lambda index: (index > 0, not board.columns[index].shown, index))
    widths = [_width(board, index) for index in order]
    if widths and board.level:
        widths[0] += _CERTAINTY
    names = max((sum(len(text) for text, shown in row.name if shown) for row in board.rows), default=0)
    room = _ROOM - _PLACE - min(max(_SIGN * names + 20, _NAME[0]), _NAME[1])
    fewest = parts = _filled(widths, room)
    while len(parts) == len(fewest) > 1 and room > max(widths):
        fewest, room = parts, room - 10
        parts = _filled(widths, room)
    return tuple(BoardPart(tuple(order[column] for column in part)) for part in fewest)


def _width(board: Board, index: int) -> float:
    """Return how wide a column is, in points, nearly: its numbers are not broken, its title is between words."""
    column = board.columns[index]
    cells = [row.cells[index] for row in board.rows]
    numbers = max((max(len(cell.value), len(cell.interval)) for cell in cells), default=0)
    words = max((min(len(word), 14) for word in column.title.split()), default=0)
    return _SIGN * max(numbers, 1.1 * words) + _PADDING


def _filled(widths: Sequence[float], room: float) -> list[list[int]]:
    """Return columns table by table, each as full as it gets, and none empty."""
    parts: list[list[int]] = [[]]
    left = room
    for index, width in enumerate(widths):
        if parts[-1] and width > left:
            parts.append([])
            left = room
        parts[-1].append(index)
        left -= width
    return parts


def css_string(text: str) -> str:
    r"""Return a text as a string of CSS, whatever it holds.

    Examples
    --------
    >>> print(css_string('KiTS "21"'))
    "KiTS\20 \22 21\22 "
    """
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    plain = (sign if sign.isascii() and sign.isalnum() else f"\\{ord(sign):x} " for sign in shown if sign.isprintable())
    return f'"{"".join(plain)}"'
