"""What Podium says when something that it was given cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

__all__ = ["LONGEST_REASON", "InputError", "brief", "nearest", "printable", "shortened"]

LONGEST_REASON = 600
"""Characters of whatever is said of a file that a stranger sent."""


class InputError(ValueError):
    """Something given to Podium is unusable; the message is one line that a participant can act on.

    Parameters
    ----------
    problem
        What is wrong, with the value found and the value expected.
    path
        The file it was found in.
    advice
        What to do next.
    """

    def __init__(self, problem: str, *, path: str | Path | None = None, advice: str | None = None) -> None:
        self.problem = problem = brief(problem)
        self.path = None if path is None else Path(path)
        self.advice = advice
        message = problem if path is None else f"{printable(str(path))}: {problem}"
        if advice:
            message = f"{message}. {advice}"
        super().__init__(printable(" ".join(message.split())))

    @property
    def with_advice(self) -> str:
        """What is wrong and what to do, where the file is known."""
        return f"{self.problem}. {self.advice}" if self.advice else self.problem


def printable(text: str) -> str:
    """Show a text on one line and without control characters, whatever a stranger put into it."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def brief(reason: str) -> str:
    """Return a reason on one line, its middle left out if that is too long to be read; a stranger may have written it.

    Examples
    --------
    >>> brief("short"), len(brief("x" * 10**6)) == LONGEST_REASON
    ('short', True)
    """
    return _cut(printable(" ".join(_cut(reason).split())))


def _cut(text: str) -> str:
    if len(text) <= LONGEST_REASON:
        return text
    end = LONGEST_REASON // 3
    return f"{text[: LONGEST_REASON - end - 3]} … {text[-end:]}"


def shortened(names: Sequence[str], *, most: int = 10) -> str:
    """List names, the first of them if they are many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def nearest(name: str, names: Iterable[str]) -> str:
    """Advise on a name that does not exist: the nearest that does, or all of them.

    Examples
    --------
    >>> nearest("dise", ["dice", "precision"]), nearest("x", ["dice"])
    ("Did you mean 'dice'?", 'There are: dice')
    """
    known = list(names)
    near = get_close_matches(name.lower(), known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(sorted(known)) or 'none'}"
