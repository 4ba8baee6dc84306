"""What the page keeps as data, from which it shows a submission or a case when somebody asks for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from podium.model import Direction, Floats, Status
from podium.report._contents import Failure, digits_of
from podium.report.explanations import explain
from podium.report.words import contained

if TYPE_CHECKING:
    from podium.report.data import ReportData

__all__ = ["as_json", "document", "packed"]

_SIGNS = {Direction.HIGHER: 1, Direction.LOWER: -1}
MANY = 100_000
"""Values of a measure, above which they are packed: as numbers they would be most of the page."""
_RADIX, _FIRST = 64, 0x3F  # from ? on, no sign means anything to HTML
_NOT_NUMBERS = 3  # codes before that of the least value: none, ∞ and −∞


def document(
    data: ReportData, failures: Sequence[Failure], pictures: Mapping[str, Sequence[tuple[int, str, str]]]
) -> dict[str, Any]:
    """Return submissions, cases, measures and all values of cases, these in units of their last decimal, or packed.

    Parameters
    ----------
    failures
        Of those submissions where something went wrong.
    pictures
        For each submission, number and label of the page's pictures that show it, and of which case each is.
    """
    failed, reasons = _failed(data)
    shares = {}
    if data.assessment is not None:
        stability = data.assessment.stability
        shares = dict(zip(stability.submissions, stability.shares.round(4).tolist(), strict=True))
    lines = {failure.submission: failure.lines for failure in failures}
    places = {entry.submission: entry.place for entry in data.board.entries}
    submissions, explained = [], explain(data)
    for name in data.submissions:
        explanation = explained[name]
        submissions.append(
            {
                "name": name,
                "place": places.get(name),
                "why": {
                    "summary": contained(explanation.summary, data.submissions),
                    "heading": explanation.heading,
                    "parts": [[part.title, part.value, part.rank] for part in explanation.parts],
                    "remarks": explanation.remarks,
                },
                "shares": shares.get(name),
                "failures": [
                    (case, status, contained(why, data.submissions)) for case, status, why in lines.get(name, ())
                ],
                "failed": failed[name],
                "pictures": pictures.get(name, []),
            }
        )
    measures, values, priced = [], [], []
    seen = [name in data.seen for name in data.submissions]
    for measure in data.measures:
        own = data.values(measure)
        digits = digits_of(own)
        measures.append({"label": measure.label, "sign": _SIGNS.get(measure.direction, 0), "digits": digits})
        own_values: Sequence[Sequence[int | str | None]]
        if own.size > MANY:
            own_values, packing = packed(own, digits)
            measures[-1] |= packing
        else:
            own_values = _whole(own, digits)
        values.append([row if shown else [] for row, shown in zip(own_values, seen, strict=True)])
        priced.append([np.flatnonzero(row).tolist() for row in data.failed(measure)])
    return {
        "submissions": submissions,
        "cases": data.cases,
        "seen": seen,
        "measures": measures,
        "values": values,
        "priced": priced,
        "failed": data.called.failed,
        "criterion": data.called.criterion.capitalize(),
        "reasons": [contained(reason, data.submissions) for reason in reasons],
    }


def _failed(data: ReportData) -> tuple[dict[str, list[int]], list[str]]:
    """Return for each submission the cases that failed, each followed by which reason it has, and the reasons."""
    rows = {name: index for index, name in enumerate(data.cases)}
    bad = pl.col("status").is_in([Status.MISSING.value, Status.INVALID.value])
    table = data.measurements.filter((pl.col("unit") == "") & bad)
    failed: dict[str, dict[int, int]] = {name: {} for name in data.submissions}
    reasons: dict[str, int] = {}
    for submission, case, status, reason in table.select("submission", "case", "status", "reason").iter_rows():
        failed[submission].setdefault(rows[case], reasons.setdefault(reason or status, len(reasons)))
    return {name: [n for pair in sorted(own.items()) for n in pair] for name, own in failed.items()}, list(reasons)


def _whole(values: Floats, digits: int) -> list[list[int | str | None]]:
    """Return numbers in units of their last decimal, which is the shortest; text where JSON has no number."""
    finite = np.isfinite(values)
    whole = np.rint(np.where(finite, values, 0) * 10.0**digits).tolist()
    rows: list[list[int | str | None]] = [list(map(int, row)) for row in whole]
    for row, column in np.argwhere(~finite).tolist():
        value = values[row, column]
        rows[row][column] = None if np.isnan(value) else "∞" if value > 0 else "−∞"
    return rows


def packed(values: Floats, digits: int) -> tuple[list[str], dict[str, int]]:
    """Return a text for each row, so many signs a number, and how they are read: `low`, and the `width` of a number.

    The signs of a number are digits to the base 64, the greatest first, from "?" for 0 to "~" for 63. They stand for 0
    where there is no value, 1 and 2 for ∞ and −∞, and else 3 + value - `low`, in units of the last decimal.

    Examples
    --------
    >>> import numpy as np
    >>> packed(np.array([[0.5, np.nan], [0.62, np.inf]]), 2)
    (['B?', 'N@'], {'low': 50, 'width': 1})
    """
    finite = np.isfinite(values)
    whole = np.rint(np.where(finite, values, 0) * 10.0**digits).astype(np.int64)
    low = int(whole[finite].min()) if finite.any() else 0
    codes = np.where(finite, whole - low + _NOT_NUMBERS, np.where(np.isnan(values), 0, np.where(values > 0, 1, 2)))
    width = max(1, -(-int(codes.max()).bit_length() // 6))
    signs = np.stack([codes // _RADIX**place % _RADIX for place in reversed(range(width))], axis=2) + _FIRST
    rows = [row.tobytes().decode("ascii") for row in signs.astype(np.uint8)]
    return rows, {"low": low, "width": width}


def as_json(document: Any) -> str:
    """Return JSON that can stand inside a script element: no text in it can end that element or begin a comment."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
