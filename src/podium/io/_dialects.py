"""CSV files as people have them: in which encoding, separated by what. What was guessed is said."""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

import polars as pl

from podium.model import InputError

__all__ = ["Grid", "csv_grid", "grid_of"]

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t"}
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_HINT = re.compile(rb'"?sep=(.)"?\r?\n', re.IGNORECASE)  # the first line that Excel writes and reads
_SAMPLE = 1 << 16
_PIECE = 1 << 20
_LINES = 50


class Grid(NamedTuple):
    """The first line, and all other lines as text in columns "0", "1", …, numbered by the column "line"."""

    header: list[str]
    cells: pl.DataFrame
    remarks: tuple[str, ...]


def csv_grid(content: bytes, path: Path, *, separator: str | None = None, encoding: str | None = None) -> Grid:
    """Take CSV apart; encoding and separator are guessed where they are not given."""
    text, remarks = _as_utf8(content, encoding, path)
    separator = None if separator is None else _NAMED.get(separator, separator)
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n'):
        raise InputError(f"{separator!r} cannot separate columns", advice="Give one character, such as ';', or tab")
    skipped = 0
    if hint := _HINT.match(text):
        text, separator, skipped = text[hint.end() :], separator or hint[1].decode("latin-1"), 1
    if b"\r" in text[:_SAMPLE] and b"\n" not in text[:_SAMPLE]:
        text = text.replace(b"\r", b"\n")
    blank = re.match(rb"[ \r\n]*\n", text)
    if blank:
        text, skipped = text[blank.end() :], skipped + blank[0].count(b"\n")
    chosen = separator or _separator(text, path)
    if separator is None and chosen != ",":
        remarks = (*remarks, f"Columns are separated by {_SEPARATORS[chosen]}.")
    try:
        lines = pl.read_csv(text, separator=chosen, has_header=False, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        reason = _ragged(text, chosen, skipped) or " ".join(str(error).split())[:120]
        raise InputError(f"this is not a CSV file ({reason})", path=path, advice=_advice(reason)) from None
    return grid_of(lines, remarks, first_line=skipped + 1)


def grid_of(lines: pl.DataFrame, remarks: tuple[str, ...] = (), *, first_line: int = 1) -> Grid:
    """Return lines of text as a grid: empty lines and columns are left out, and so are titles above the header."""
    lines = lines.rename({name: str(index) for index, name in enumerate(lines.columns)})
    texts = lines.columns
    lines = lines.with_row_index("line", offset=first_line)
    filled_cells = pl.col(texts).str.contains(r"\S").fill_null(value=False)
    lines = lines.filter(pl.any_horizontal(filled_cells)).with_columns(pl.col(texts).fill_null(""))
    if lines.is_empty():
        return Grid([], lines, remarks)
    filled = [name for name in texts if lines[name].str.contains(r"\S").any()]
    counts = lines.head(_LINES).select(pl.sum_horizontal(filled_cells)).to_series().to_list()
    titles = next((index for index, count in enumerate(counts) if count > 1), 0) if len(filled) > 1 else 0
    if titles:
        passed = next(text.strip() for text in lines.select(filled).row(0) if text.strip())
        remarks = (
            *remarks,
            f"{titles} line{'s' * (titles > 1)} above the names of columns ({passed[:40]!r}) passed over.",
        )
    header = [text.strip() for text in lines.select(filled).row(titles)]
    cells = lines.select("line", *filled)[titles + 1 :]
    return Grid(header, cells.rename({name: str(index) for index, name in enumerate(filled)}), remarks)


def _as_utf8(content: bytes, encoding: str | None, path: Path) -> tuple[bytes, tuple[str, ...]]:
    """Return text in UTF-8 without a mark, and what was guessed."""
    mark = next((mark for mark in _MARKS if content.startswith(mark)), b"")
    body = content[len(mark) :] if mark else content
    if encoding is not None:
        return _decoded(body, encoding, path), ()
    if mark == codecs.BOM_UTF8 and _is_utf8(body):
        return body, ()
    if mark:
        return _decoded(body, _MARKS[mark], path), ()
    start = content[:_SAMPLE]
    for name, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if len(zeros) > 1 and zeros.count(0) > 0.8 * len(zeros) and start.count(0) < 0.6 * len(start):
            return _decoded(content, name, path), (f"The file was read as {name}.",)
    if _is_utf8(content):
        return content, ()
    if b"\0" in content:
        raise InputError("this is not a CSV file", path=path, advice="If it is text, say how: --encoding utf-16")
    return _decoded(content, "cp1252", path), ("The file is not in UTF-8 and was read as cp1252 (Western European).",)


def _is_utf8(content: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(content), _PIECE):
            decoder.decode(content[start : start + _PIECE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(content: bytes, encoding: str, path: Path) -> bytes:
    try:
        return content.decode(encoding).removeprefix("\ufeff").encode()
    except LookupError:
        raise InputError(f"there is no encoding {encoding!r}", advice="Such as utf-8, utf-16, cp1252") from None
    except (UnicodeError, ValueError):
        raise InputError(
            f"this is not text in {encoding}",
            path=path,
            advice="Say which encoding it is (--encoding), or save as UTF-8",
        ) from None


def _sampled(text: bytes, separator: str) -> list[tuple[int, list[str]]]:
    """Return the first lines that are not empty, with their numbers."""
    start = text[:_SAMPLE]
    if len(start) < len(text):
        start = start[: start.rfind(b"\n") + 1]
    reader = csv.reader(io.StringIO(start.decode("utf-8", "ignore"), newline=""), delimiter=separator)
    rows: list[tuple[int, list[str]]] = []
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                rows.append((reader.line_num, fields))
            if len(rows) == _LINES:
                break
    except csv.Error:
        pass  # the reader proper will say what is wrong
    return rows


def _separator(text: bytes, path: Path) -> str:
    """Return what separates most columns in the first line without leaving later lines longer than that."""
    widths: dict[str, int] = {}
    fitting: dict[str, int] = {}
    for separator in _SEPARATORS:
        counts = [len(fields) for _, fields in _sampled(text, separator)]
        if counts and counts[0] > 1:
            widths[separator] = counts[0]
            if max(counts) == counts[0]:
                fitting[separator] = counts[0]
    candidates = fitting or widths or {",": 1}
    most = [separator for separator, width in candidates.items() if width == max(candidates.values())]
    if len(most) > 1:
        names = " or ".join(_SEPARATORS[separator] for separator in most)
        raise InputError(f"columns may be separated by {names}", path=path, advice="Say by which: --separator ';'")
    return most[0]


def _ragged(text: bytes, separator: str, skipped: int) -> str:
    rows = _sampled(text, separator)
    for line, fields in rows:
        if len(fields) > len(rows[0][1]):
            return f"line {line + skipped} has more fields, {len(fields)}, than the first line, {len(rows[0][1])}"
    return ""


def _advice(reason: str) -> str:
    if "more fields" not in reason:
        return ""
    return "Every column needs a name; numbers with a decimal comma need quotes, or semicolons between columns"
