"""Docstrings of metrics as Markdown: the summary, what is said beside it, and the sections."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Docstring", "cell", "prose", "read_docstring"]

_CODE = re.compile(r"(`[^`]+`)")
_SIGNS = str.maketrans({"*": r"\*", "_": r"\_", "<": "&lt;"})


@dataclass(frozen=True)
class Docstring:
    """What a docstring says.

    Attributes
    ----------
    summary
        Its first line, without "Return".
    body
        Its further paragraphs, each on one line.
    sections
        By name, such as References, the lines of each section.
    """

    summary: str
    body: list[str] = field(default_factory=list)
    sections: dict[str, list[str]] = field(default_factory=dict)

    def section(self, name: str) -> str:
        """Return the text of a section, paragraphs on one line each; nothing if there is none."""
        return "\n\n".join(_paragraphs(self.sections.get(name, [])))

    def entries(self, name: str) -> list[tuple[str, str]]:
        """Return names and explanations of a section such as Parameters."""
        entries: list[tuple[str, list[str]]] = []
        for line in self.sections.get(name, []):
            if line.startswith(" "):
                entries[-1][1].append(line.strip())
            elif line:
                entries.append((line, []))
        return [(word, " ".join(text)) for word, text in entries]


def read_docstring(thing: object) -> Docstring:
    """Read the docstring of a metric, as NumPy's style has it."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    starts = [k for k in range(len(lines) - 1) if lines[k] and re.fullmatch("-{3,}", lines[k + 1])]
    sections = {lines[k]: lines[k + 2 : end] for k, end in pairwise([*starts, len(lines)])}
    summary, *body = _paragraphs(lines[: starts[0]] if starts else lines) or [""]
    return Docstring(_without_return(summary), body, sections)


def _without_return(summary: str) -> str:
    text = re.sub("^Return ", "", summary)
    return text[:1].upper() + text[1:]


def _paragraphs(lines: list[str]) -> list[str]:
    blocks = "\n".join(lines).strip().split("\n\n")
    return [" ".join(block.split()) for block in blocks if block.strip()]


def prose(text: str, *, metrics: Collection[str] = (), own: str = "") -> str:
    r"""Return a plain text as Markdown; names of metrics in backticks lead to their pages, but for its own.

    Examples
    --------
    >>> prose("s_xy < 1, see `dice` and `calibration`", metrics={"dice"})
    's\\_xy &lt; 1, see [`dice`](dice.md) and `calibration`'
    """

    def linked(code: str) -> str:
        name = code.strip("`")
        return f"[{code}]({name}.md)" if name in metrics and name != own else code

    return "".join(
        linked(part) if part.startswith("`") else part.translate(_SIGNS) for part in _CODE.split(text) if part
    )


def cell(text: str) -> str:
    """Return Markdown for a cell of a table, in which a bar would end it."""
    return text.replace("|", "&#124;")
