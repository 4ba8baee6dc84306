"""What the page shows as tables: the leaderboard, what failed and what it cost, rules and provenance."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.model import Challenge, Measure, Purpose, shown_level
from podium.ranking import COVERAGE
from podium.report.short_names import pieces
from podium.report.words import number

if TYPE_CHECKING:
    from podium.report.data import ReportData

__all__ = [
    "Board",
    "Failure",
    "alternatives",
    "board",
    "declared",
    "digits_of",
    "failures",
    "full_rules",
    "hashes",
    "uncertainty",
]

_COLUMNS_AT_FIRST = 7
LONGEST_NAME = 60
"""Columns of a name on the leaderboard."""


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column, and whether it is shown before anybody asks for all."""

    measure: Measure
    shown: bool

    @property
    def title(self) -> str:
        """What it is called, with its unit."""
        return f"{self.measure.title}, {self.measure.unit}" if self.measure.unit else self.measure.title

    @property
    def meaning(self) -> str:
        """Which values are better; nothing where none are."""
        return self.measure.direction.value if self.measure.judges else ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with its interval, and what it is sorted by."""

    value: str
    interval: str
    key: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the leaderboard; of a long name, the parts that are shown and those that are not."""

    index: int
    submission: str
    name: list[tuple[str, bool]]
    place: int | None
    role: str
    remark: str
    best: int | None
    worst: int | None
    first: float | None
    failed: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """The leaderboard as the page shows it."""

    columns: tuple[ShownColumn, ...]
    rows: tuple[Row, ...]
    ranked: int
    level: str
    notes: tuple[str, ...]

    @property
    def hidden(self) -> int:
        """How many columns are shown only when asked for."""
        return sum(not column.shown for column in self.columns)


def board(data: ReportData) -> Board:
    """Return the leaderboard with everything that is known about each value."""
    confidence = data.assessment.confidence if data.assessment else None
    ranked = [entry.submission for entry in data.board.entries if entry.place is not None]
    places_of = dict(zip(confidence.submissions, confidence.ranks, strict=True)) if confidence else {}
    stability = data.assessment.stability if data.assessment else None
    first = dict(zip(stability.submissions, stability.first.tolist(), strict=True)) if stability else {}
    position = {name: index for index, name in enumerate(confidence.submissions)} if confidence else {}
    failed = dict(zip(data.rule.submissions, data.rule.priced.sum(axis=1).tolist(), strict=True))
    names = pieces(data.submissions, LONGEST_NAME)
    rows = []
    for index, entry in enumerate(data.board.entries):
        name = entry.submission
        cells = []
        for measure in data.board.columns:
            value = entry.values[measure.name]
            interval = ""
            if confidence and name in position and measure.name in confidence.columns:
                intervals = confidence.columns[measure.name]
                interval = _interval(intervals.low[position[name]], intervals.high[position[name]], measure.digits)
            cells.append(Cell(measure.shown(value), interval, _key(value)))
        rank = places_of.get(name)
        rows.append(
            Row(
                index,
                name,
                names[name],
                entry.place,
                entry.role,
                entry.remark,
                rank.best if rank else None,
                rank.worst if rank else None,
                first.get(name),
                int(failed.get(name, 0)),
                tuple(cells),
            )
        )
    return Board(
        _columns(data),
        tuple(rows),
        len(ranked),
        shown_level(confidence.level) if confidence else "",
        tuple(data.board.notes),
    )


def _columns(data: ReportData) -> tuple[ShownColumn, ...]:
    """Return the columns; ranks within criteria, and what comes after the first few, are shown when asked for."""
    measures = data.board.columns
    criteria = {column.name for column in data.rule.published.criteria}
    plain = [measure.name for measure in measures if measure.purpose is not Purpose.RANK]
    chosen = [name for name in plain if name in criteria or name == measures[0].name] if len(criteria) > 1 else plain
    shown = set(chosen[: max(_COLUMNS_AT_FIRST, len(criteria) + 1)])
    return tuple(ShownColumn(measure, measure.name in shown) for measure in measures)


def _interval(low: float, high: float, digits: int) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    if math.isinf(low) and math.isinf(high):
        return "unknown"  # too few cases tell too little
    return f"{number(low, digits)} to {number(high, digits)}"


def _key(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else repr(float(value))


@dataclass(frozen=True, slots=True)
class Cost:
    """What failures did to one mean: over the cases that could be measured, and with the price of those that failed."""

    title: str
    measured: str
    priced: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong for one submission."""

    index: int
    submission: str
    cases: int
    total: int
    warnings: int
    lines: tuple[tuple[str, str, str], ...]
    costs: tuple[Cost, ...]


def failures(data: ReportData) -> list[Failure]:
    """Return, in the order of the board, who failed what, why, and what it cost; warnings too."""
    lines: dict[str, list[tuple[str, str, str]]] = {}
    for submission, case, status, reason in data.failures.select("submission", "case", "status", "reason").iter_rows():
        lines.setdefault(submission, []).append((case or "", status, reason or ""))
    failed = dict(zip(data.rule.submissions, data.rule.priced.sum(axis=1).tolist(), strict=True))
    went_wrong = []
    for index, submission in enumerate(data.submissions):
        own = lines.get(submission, [])
        count = int(failed.get(submission, 0))
        if not own and not count:
            continue
        own.sort(key=lambda line: (line[1] == "warning", line[0]))
        warnings = sum(status == "warning" for _, status, _ in own)
        costs = _costs(data, submission) if count else ()
        went_wrong.append(Failure(index, submission, count, len(data.rule.rows), warnings, tuple(own), costs))
    return went_wrong


def _costs(data: ReportData, submission: str) -> tuple[Cost, ...]:
    """Compare the means with and without the cases that failed."""
    costs = []
    for measure in data.measures:
        values, failed = (
            rows[0] for rows in (data.values(measure, (submission,)), data.failed(measure, (submission,)))
        )
        if not failed.any():
            continue
        digits = digits_of(values)
        good = values[~failed & ~np.isnan(values)]
        measured = number(float(good.mean()), digits) if good.size else "nothing"
        unpriced = "no value" if data.whole is None else "not shown"
        priced = unpriced if np.isnan(values[failed]).any() else number(float(np.nanmean(values)), digits)
        costs.append(Cost(measure.label, measured, priced))
    return tuple(costs)


def digits_of(values: np.typing.NDArray[np.float64]) -> int:
    """Return how many decimals show four digits of the largest of some values."""
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max()) if finite.size else 0.0
    return 4 if largest < 10 else 3 if largest < 100 else 2 if largest < 1000 else 1


def declared(challenge: Challenge) -> list[tuple[Measure, str, str]]:
    """Return what is measured of every case, of what, and what a failure costs."""
    return [
        (
            measure,
            ", ".join(target.replace("_", " ") for target in measure.targets if target),
            measure.price.words if measure.price else "nothing: it only describes",
        )
        for measure in challenge.measures
    ]


def uncertainty(data: ReportData) -> dict[str, str]:
    """Say how uncertainty was computed, so that it can be repeated."""
    if data.assessment is None:
        return {"Not told": f"How sure the ranking is cannot be told. {data.unassessed}"}
    stability, confidence, other = data.assessment.stability, data.assessment.confidence, data.assessment.sensitivity
    resamples = f"{len(stability.places):,} bootstrap resamples (seed {stability.seed})"
    drawn = f"{len(data.rule.units.names)} {data.rule.unit_words[1]}"
    apart = len(data.rule.units.strata)
    drawn += f" in {apart} strata, each for itself" if apart > 1 else ""
    level = shown_level(confidence.level)
    descriptions = {
        "Stability": f"{resamples} of {drawn}, drawn with replacement; each is ranked by the same rules. "
        "Who is eligible is decided once, on all cases.",
        "Intervals of values": f"{level}, by {confidence.method}. In simulations, {COVERAGE[confidence.method]}.",
        "True places": f"From the differences of every two competitors in every criterion, with {level} confidence for "
        "all of them together (largest studentised difference over pairs and criteria, where criteria are means; "
        "Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91).",
        "Paired tests": f"Two-sided Wilcoxon signed-rank, one value for each {data.rule.unit_words[0]}, Holm's "
        "adjustment for all pairs.",
        "Sensitivity": f"{len(other.alternatives)} other rules for the same values: other weights, tolerances "
        "and schemes, as far as there are any.",
    }
    if other.impossible:
        descriptions["Not tried"] = "; ".join(f"{name}: {reason}" for name, reason in other.impossible.items())
    return descriptions


def alternatives(data: ReportData) -> list[tuple[str, str, str, str]]:
    """Return every other rule, who is first under it, τ to the published places, and whether the winner stays."""
    if data.assessment is None:
        return []
    lines = []
    sensitivity = data.assessment.sensitivity
    for alternative in sensitivity.alternatives:
        names = alternative.winners
        winners = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        kept = "yes" if alternative.keeps_winner else "shared" if alternative in sensitivity.shared else "no"
        lines.append((alternative.name, winners or "nobody", number(alternative.tau, 2), kept))
    return lines


@dataclass(frozen=True, slots=True)
class Hashes:
    """The files of the truth or of a submission, and one digest for all of them."""

    owner: str
    files: int
    digest: str


def hashes(data: ReportData) -> list[Hashes]:
    """Return one digest for the truth and each submission: of the sorted digests of its files, one a line."""
    lines = [_hashes("the truth", data.info["truth"]["sha256"])] if data.whole is None else []
    submissions: Mapping[str, Mapping[str, Any]] = data.info["submissions"]
    return lines + [_hashes(name, submissions[name]["sha256"]) for name in data.submissions if name in submissions]


def _hashes(owner: str, files: Mapping[str, str]) -> Hashes:
    text = "".join(f"{digest}\n" for digest in sorted(files.values()))
    return Hashes(owner, len(files), hashlib.sha256(text.encode()).hexdigest())


def full_rules(challenge: Challenge) -> str:
    """Return the README beside the challenge as HTML, without its own title; "" where there is none."""
    try:
        path = Path(inspect.getfile(type(challenge))).with_name("README.md")
        text = path.read_text(encoding="utf-8")
    except (OSError, TypeError, UnicodeDecodeError):
        return ""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(text)
    if tokens and tokens[0].tag == "h1":
        tokens = tokens[3:]  # its opening, its text, its end
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + 2, 6)}"  # below the headings of the page
    return str(reader.renderer.render(tokens, reader.options, {}))
