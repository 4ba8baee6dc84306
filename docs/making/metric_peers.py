"""What tools say of the same inputs, as tables: from docs/data/peers.json, and from the table in docs/metrics.md."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from metric_docstrings import cell, prose

__all__ = ["OURS", "differences", "differs", "recorded", "shown", "tools_table"]

DOCS = Path(__file__).resolve().parents[1]
OURS = "Podium"
TOLERANCE = {"double": 1e-6, "single": 1e-5}
"""How much a number may differ, relatively or near 0, and still be the same."""
_NO_NUMBER = ("NaN", "undefined", "an error", "refused")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@cache
def recorded() -> Mapping[str, Any]:
    """Return what Podium and its peers said when they were last asked."""
    document: Mapping[str, Any] = json.loads((DOCS / "data" / "peers.json").read_text(encoding="utf-8"))
    return document


def differs(theirs: float | str, ours: float | str, precision: str) -> bool:
    """Return whether an answer is another one than Podium's; none and none are the same, whatever the reason."""
    if isinstance(theirs, str) or isinstance(ours, str):
        return theirs != ours and not (theirs in _NO_NUMBER and ours in _NO_NUMBER)
    tolerance = TOLERANCE[precision]
    return not math.isclose(theirs, ours, rel_tol=tolerance, abs_tol=tolerance)


def shown(answer: float | str) -> str:
    """Return an answer as a cell shows it.

    Examples
    --------
    >>> shown(0.694214876), shown(-2.0), shown("an error"), shown(1.79769e308), shown(7.07e-9)
    ('0.6942', '−2', 'an error', '1.798 · 10³⁰⁸', '7.07 · 10⁻⁹')
    """
    if isinstance(answer, str):
        return answer
    digits, _, power = f"{answer:.4g}".partition("e")
    if power:
        digits += f" · 10{str(int(power)).translate(_RAISED)}"
    return digits.replace("-", "−")


def tools_table(name: str, document: Mapping[str, Any] | None = None) -> str:
    """Return what tools say about a metric, as Markdown: a table, what each column is, versions, and who has it not."""
    document = recorded() if document is None else document
    entry, tools = document["metrics"][name], document["tools"]
    columns = entry["columns"]
    theirs = {column: about for column, about in columns.items() if "tool" in about}
    rows = [f"| input | {' | '.join(_heading(column) for column in columns)} |", "|---" * (len(columns) + 1) + "|"]
    for row in entry["rows"]:
        answers = row["answers"]
        cells = [shown(answers[column]) for column in columns]
        for place, about in enumerate(columns.values()):
            if "tool" in about:
                precision = tools[about["tool"]]["precision"]
                if differs(answers[list(columns)[place]], answers[about["beside"]], precision):
                    cells[place] = f"**{cells[place]}**"
        rows.append(f"| {cell(row['input'])} | {' | '.join(cells)} |")
    parts = [_introduction(theirs, entry["without"]), "\n".join(rows)]
    if theirs:
        parts += ["\n".join(_called(columns)), _versions(theirs, tools, entry["without"])]
    return "\n\n".join(part for part in parts if part)


def _heading(column: str) -> str:
    ours, _, options = column.partition(", ")
    return f"{ours}, `{options}`" if ours == OURS and options else column


def _introduction(theirs: Mapping[str, Any], without: list[str]) -> str:
    if theirs:
        return "Each tool was given the same inputs. Bold is what differs from Podium's number."
    return f"None of the tools that were looked at has this metric ({_listed(without)}). Podium says:"


def _called(columns: Mapping[str, Any]) -> list[str]:
    """Return what is called of each tool, and what of Podium it is held against."""
    lines = []
    for column, about in columns.items():
        if "tool" in about:
            beside = "" if about["beside"] == OURS else f"; beside {_heading(about['beside'])}"
            lines.append(f"- {column}: {prose(about['call'])}{beside}")
    return lines


def _versions(theirs: Mapping[str, Any], tools: Mapping[str, Any], without: list[str]) -> str:
    used = sorted({about["tool"] for about in theirs.values()}, key=str.lower)
    versions = [f"{tool} {tools[tool]['version']}" for tool in used]
    text = f"Versions: {', '.join(versions)}."
    if without:
        text += f" No such metric: {_listed(without)}."
    single = [tool for tool in used if tools[tool]["precision"] == "single"]
    if single:
        text += f" In single precision, so that the sixth digit may differ: {_listed(single)}."
    return text


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


@cache
def _lines() -> tuple[tuple[str, ...], ...]:
    """Return the rows of the page's table of differences: metric, peer, input, both numbers, who is right."""
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    text = page.partition("## Where peers give another number")[2].partition("\n## ")[0]
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return tuple(tuple(part.strip() for part in row) for row in rows)


def differences(name: str) -> str:
    """Return the rows of docs/metrics.md that concern a metric, as Markdown; nothing if there are none."""
    rows = [row for row in _lines() if row[0].strip("`") == name]
    if not rows:
        return ""
    lines = ["| tool | input | it says | Podium says | who is right |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row[1:])} |" for row in rows)])
