"""Why a case failed: in one line, with the last lines that the program said."""

from __future__ import annotations

from pathlib import Path

from podium.algorithms.specs import Ending
from podium.model.errors import printable

__all__ = ["LONGEST", "BrokenError", "explained"]

LONGEST = 300
"""Characters of a reason."""

_LINES = 3
_LAST_BYTES = 4096


class BrokenError(Exception):
    """A case failed.

    Parameters
    ----------
    goes_on
        Whether the program can still be asked about other cases; else it has to be ended.
    """

    def __init__(self, ending: Ending, reason: str, *, goes_on: bool = False) -> None:
        super().__init__(reason)
        self.ending, self.reason, self.goes_on = ending, reason, goes_on


def explained(problem: str, log: Path) -> str:
    """Return what went wrong, followed by the end of the log."""
    problem = shown(problem)
    if len(problem) > LONGEST // 2:
        problem = f"{problem[: LONGEST // 2 - 2]} …"
    said = " | ".join(_last_lines(log))
    room = LONGEST - len(problem) - 2
    if len(said) > room:
        said = f"… {said[2 - room :]}"
    return f"{problem}: {said}" if said else problem


def shown(text: str) -> str:
    """Return a text on one line, whatever a stranger put into it."""
    return printable(" ".join(text.split()))


def _last_lines(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _LAST_BYTES))
            end = file.read(_LAST_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return []
    lines = (shown(line) for line in end.splitlines())
    return [line for line in lines if line][-_LINES:]
