"""On which line of a TOML text each key stands. The text must be TOML already; `tomllib` tells whether it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from podium.model import InputError

__all__ = ["KeyLines", "key_lines"]

KeyLines = Mapping[tuple[str | int, ...], int]
"""The line of every table, key and element of a list, by its path."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\]|\\.)*"')
_LITERAL = re.compile(r"'[^']*'")
_LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"""(?:"{1,2}(?!"))?', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''.*?'''(?:'{1,2}(?!'))?", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def key_lines(text: str) -> KeyLines:
    r"""Return the line of every key of a TOML text.

    Examples
    --------
    >>> lines = key_lines('[a]\nb = 1\n[[c]]\nd = { e = [1,\n2] }\n')
    >>> lines["a", "b"], lines["c", 0], lines["c", 0, "d", "e", 1]
    (2, 3, 5)
    """
    return MappingProxyType(_Scanner(text).scanned())


class _Scanner:
    """Walks through a text, and notes where keys are."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._place = 0
        self._lines: dict[tuple[str | int, ...], int] = {}
        self._counts: dict[tuple[str | int, ...], int] = {}

    def scanned(self) -> dict[tuple[str | int, ...], int]:
        table: tuple[str | int, ...] = ()
        while True:
            self._skip(_BLANK)
            if self._place >= len(self._text):
                return self._lines
            if self._next("["):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> tuple[str | int, ...]:
        several = self._next("[[")
        line = self._line
        self._place += 2 if several else 1
        *above, last = self._key()
        self._place += 2 if several else 1
        path: tuple[str | int, ...] = ()
        for part in above:
            path = self._latest((*path, part))
            self._lines.setdefault(path, line)
        path = (*path, last)
        if several:
            number = self._counts.get(path, 0)
            self._counts[path] = number + 1
            self._lines.setdefault(path, line)
            path = (*path, number)
        self._lines[path] = line
        return path

    def _latest(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Return a table, or the last one of a list of tables."""
        return (*path, self._counts[path] - 1) if path in self._counts else path

    def _pair(self, table: tuple[str | int, ...]) -> None:
        line = self._line
        path = table
        for part in self._key():
            path = (*path, part)
            self._lines.setdefault(path, line)
        self._skip(_SPACE)
        self._place += 1  # the sign of equality
        self._skip(_SPACE)
        self._value(path)

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip(_SPACE)
            quoted = self._next('"') or self._next("'")
            word = self._skip(_BASIC if self._next('"') else _LITERAL if quoted else _BARE)
            parts.append(word[1:-1] if quoted else word)
            self._skip(_SPACE)
            if not self._next("."):
                return parts
            self._place += 1

    def _value(self, path: tuple[str | int, ...]) -> None:
        if self._next("["):
            self._inside("]", lambda number: self._element((*path, number)))
        elif self._next("{"):
            self._inside("}", lambda _: self._pair(path))
        else:
            kinds = (('"""', _LONG_BASIC), ("'''", _LONG_LITERAL), ('"', _BASIC), ("'", _LITERAL), ("", _SCALAR))
            self._skip(next(kind for start, kind in kinds if self._next(start)))

    def _element(self, path: tuple[str | int, ...]) -> None:
        self._lines[path] = self._line
        self._value(path)

    def _inside(self, end: str, member) -> None:  # type: ignore[no-untyped-def]  # called with the member's number
        self._place += 1
        number = 0
        while True:
            self._skip(_BLANK)
            if self._next(end):
                self._place += 1
                return
            if self._next(","):
                self._place += 1
            else:
                member(number)
                number += 1

    @property
    def _line(self) -> int:
        return self._text.count("\n", 0, self._place) + 1

    def _next(self, start: str) -> bool:
        return self._text.startswith(start, self._place)

    def _skip(self, what: re.Pattern[str]) -> str:
        match = what.match(self._text, self._place)
        if match is None:
            raise InputError(f"line {self._line} cannot be read as TOML")
        self._place = match.end()
        return match[0]
