"""Text and tables for LaTeX: whatever a name holds, it is shown and does nothing."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from podium.report._contents import Board, Cell, Row
from podium.report.printed import board_parts
from podium.report.words import percent, places

__all__ = ["escaped", "leaderboard_table"]

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "−": "$-$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "→": r"$\rightarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "°": r"$^\circ$",
    "µ": r"$\mu$",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
    "\u00a0": "~",
    "\u200b": "{}",
}
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "θ": "theta",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "φ": "phi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Γ": "Gamma",
    "Δ": "Delta",
    "Θ": "Theta",
    "Λ": "Lambda",
    "Ξ": "Xi",
    "Π": "Pi",
    "Σ": "Sigma",
    "Φ": "Phi",
    "Ψ": "Psi",
    "Ω": "Omega",
}
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0327": "c",
    "\u0328": "k",
}
_APART = "\u200b"
"""Stands between two signs that LaTeX would make one of: two hyphens, two apostrophes."""
_LONG_NAME = 30
_TITLE = 15
"""Signs of a line of a heading."""


def escaped(text: str) -> str:
    r"""Return a text as LaTeX shows it, in ASCII but for scripts that only XeLaTeX and LuaLaTeX know.

    Examples
    --------
    >>> print(escaped(r"half%_& $x$ \input{}"))
    half\%\_\& \$x\$ \textbackslash{}input\{\}
    >>> print(escaped("Zürich, τ ≥ 0.5"))
    Z\"{u}rich, $\tau$ $\geq$ 0.5
    """
    kept = "".join(sign for sign in text if _shown(sign))
    one_line = re.sub(r"[^\S\u00a0]+", " ", kept).strip(" ").replace(" %", "\u00a0%")
    return "".join(map(_sign, re.sub(r"(?<=-)(?=-)|(?<=')(?=')", _APART, unicodedata.normalize("NFC", one_line))))


def _shown(sign: str) -> bool:
    """Return whether a sign is one, and not an order to whoever shows it."""
    return sign.isspace() or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def _sign(sign: str) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign in _GREEK:
        return rf"$\{_GREEK[sign]}$"
    if sign in _RAISED:
        return rf"\textsuperscript{{{_RAISED[sign]}}}"
    base, mark = sign[:1], ""
    if len(parts := unicodedata.normalize("NFD", sign)) == 2:
        base, mark = parts[0], _ACCENTS.get(parts[1], "")
    if mark and base.isascii() and base.isalpha():
        dotless = base if mark in "ck" else {"i": r"\i", "j": r"\j"}.get(base, base)
        return rf"\{mark}{{{dotless}}}"
    return sign


def leaderboard_table(board: Board, *, caption: str, made_by: str) -> str:
    """Return the leaderboard with what decides, as a table of the package booktabs.

    Parameters
    ----------
    board
        As the page shows it; columns that it shows only when asked for are left out.
    caption
        In plain text.
    made_by
        Which program, and its version.
    """
    kept = [index for index, column in enumerate(board.columns) if column.shown or not index]
    rows = tuple(replace(row, cells=tuple(row.cells[index] for index in kept)) for row in board.rows)
    shown = replace(board, columns=tuple(board.columns[index] for index in kept), rows=rows)
    parts = [_tabular(shown, part.columns) for part in board_parts(shown)]
    joined = "\n\n\\medskip\n".join(parts)
    text = (
        f"\\begin{{table*}}\n\\centering\n\\small\n\\caption{{{escaped(caption)}}}\n\\label{{tab:leaderboard}}\n"
        f"{joined}\n\\end{{table*}}\n"
    )
    head = f"% Written by {escaped(made_by)}. Needs \\usepackage{{booktabs}} and \\usepackage[T1]{{fontenc}}.\n"
    if not text.isascii():
        head += "% Some names hold signs that pdfLaTeX lacks: use XeLaTeX or LuaLaTeX, and a font that has them.\n"
    return head + text


def _tabular(board: Board, columns: Sequence[int]) -> str:
    with_places = bool(board.level) and 0 in columns
    longest = max((sum(len(text) for text, shown in row.name if shown) for row in board.rows), default=0)
    name = "l" if longest <= _LONG_NAME else r"p{0.26\textwidth}"
    headings = ["Place", "Submission"]
    for index in columns:
        column = board.columns[index]
        arrow = f" {column.measure.direction.arrow}" if column.meaning else ""
        headings.append(_heading(f"{column.title}{arrow}"))
        if with_places and not index:
            headings += [_heading(f"True place, {board.level} sure"), _heading("First in resamples")]
    lines = [f"\\begin{{tabular}}{{r{name}{'r' * (len(headings) - 2)}}}", r"\toprule", f"{' & '.join(headings)} \\\\"]
    lines.append(r"\midrule")
    for row in board.rows:
        lines += _lines(row, columns, with_places=with_places)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _heading(title: str) -> str:
    lines = [escaped(line) for line in textwrap.wrap(title.replace(" %", "\u00a0%"), _TITLE)] or [""]
    stacked = r"\\".join(lines)
    return stacked if len(lines) == 1 else rf"\begin{{tabular}}[b]{{@{{}}r@{{}}}}{stacked}\end{{tabular}}"


def _lines(row: Row, columns: Sequence[int], *, with_places: bool) -> list[str]:
    """Return a line of values, and where there are any a line of intervals below it."""
    name = "".join(escaped(_spaced(text)) if shown else r"\ldots{}" for text, shown in row.name).strip()
    values, intervals = [str(row.place or "--"), name or "?"], ["", ""]
    for index in columns:
        cell: Cell = row.cells[index]
        values.append(_number(cell.value))
        intervals.append(f"{{\\scriptsize {_number(cell.interval)}}}" if cell.interval else "")
        if with_places and not index:
            values.append(escaped(places(row.best, row.worst)) if row.best and row.worst else "--")
            values.append("--" if row.first is None else escaped(percent(row.first)))
            intervals += ["", ""]
    lines = [f"{' & '.join(values)} \\\\"]
    return [*lines, f"{' & '.join(intervals)} \\\\"] if any(intervals) else lines


def _spaced(text: str) -> str:
    """Return a part of a name whose ends keep their spaces."""
    return re.sub(r"^\s|\s$", "\u00a0", text)


def _number(shown: str) -> str:
    return escaped(re.sub(r"(?<![\d.])-(?=[\d.])", "−", shown))
