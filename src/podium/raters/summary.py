"""What a survey says: means over cases with their intervals, and tables of it for people and programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium import __version__
from podium.io import Content
from podium.metrics import metrics
from podium.model import Challenge
from podium.ranking.inference.variability import Interval, interval_of

if TYPE_CHECKING:
    from podium.raters.survey import Survey

__all__ = ["Summary", "SummaryLine", "summarise", "survey_document", "survey_files"]

TOLERANCE_PERCENTILE = 95.0
"""Of the distances between raters: the tolerance of the surface Dice (Nikolov et al. 2018, arXiv 1809.04430)."""
_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One mean over cases.

    Attributes
    ----------
    target
        Of what.
    name
        A metric, or "tolerance".
    percentile
        Of a tolerance; None for a metric.
    interval
        The mean over the cases where it is defined, and its ends.
    undefined
        The cases where it is not.
    """

    target: str
    name: str
    percentile: float | None
    interval: Interval
    undefined: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over cases: the variability of every metric and target, and tolerances in mm at every percentile."""

    variability: tuple[SummaryLine, ...]
    tolerances: tuple[SummaryLine, ...]
    level: float

    @property
    def tolerance(self) -> tuple[SummaryLine, ...]:
        """Return the tolerances at the percentile that the surface Dice asks for."""
        return tuple(line for line in self.tolerances if line.percentile == TOLERANCE_PERCENTILE)


def summarise(survey: Survey, *, level: float = 0.95) -> Summary:
    """Average a survey over cases, with bootstrap intervals over cases."""
    if not survey.agreements:
        return Summary((), (), level)
    first = survey.agreements[0]

    def line(target: str, name: str, percentile: float | None, numbers: Sequence[float]) -> SummaryLine:
        defined = [place for place, number in enumerate(numbers) if not math.isnan(number)]
        interval = interval_of(
            [numbers[place] for place in defined],
            clusters=[survey.clusters[place] for place in defined],
            level=level,
            bounds=(0.0, math.inf) if percentile is not None else metric_bounds(name),
        )
        missing = [
            agreement.case for agreement, number in zip(survey.agreements, numbers, strict=True) if math.isnan(number)
        ]
        return SummaryLine(target, name, percentile, interval, tuple(missing))

    variability = [
        line(target, metric, None, [agreement.variability(metric, target) for agreement in survey.agreements])
        for metric, target in sorted(first.values, key=lambda key: _order(first.values, key))
    ]
    tolerances = [
        line(target, "tolerance", level_, [agreement.tolerance(target, level_) for agreement in survey.agreements])
        for target, level_ in first.tolerances
    ]
    return Summary(tuple(variability), tuple(tolerances), level)


def _order(keys: Any, key: tuple[str, str]) -> tuple[int, int]:
    """Sort by target, then by metric, both in the order in which they were declared."""
    metrics, targets = (list(dict.fromkeys(metric_and_target[part] for metric_and_target in keys)) for part in (0, 1))
    return targets.index(key[1]), metrics.index(key[0])


def survey_files(challenge: Challenge, survey: Survey, *, truth: Path) -> dict[str, Content]:
    """Return raters.json, variability.csv, tolerances.csv, cases.csv, pairs.csv and counted_out.csv."""
    summary = survey.summary
    tables: dict[str, tuple[tuple[str, ...], Any]] = {
        "variability": (
            ("target", "metric", "mean", "low", "high", "cases", "undefined"),
            [_cells(line, line.name) for line in summary.variability],
        ),
        "tolerances": (
            ("target", "percentile", "mean_mm", "low_mm", "high_mm", "cases", "undefined"),
            [_cells(line, f"{line.percentile:g}") for line in summary.tolerances],
        ),
        "cases": (("case", "target", "metric", "percentile", "value", "status"), _case_lines(survey)),
        "pairs": (("case", "group", "one", "other", "target", "metric", "percentile", "value"), _pair_lines(survey)),
        "counted_out": (("case", "reason"), survey.counted_out.items()),
    }
    files: dict[str, Content] = {f"{name}.csv": table for name, table in tables.items()}
    return files | {"raters.json": survey_document(challenge, survey, truth=truth)}


def survey_document(challenge: Challenge, survey: Survey, *, truth: Path) -> dict[str, Any]:
    """Return everything that programs may want to know of a survey."""
    summary = survey.summary
    return {
        "schema": _SCHEMA,
        "podium": __version__,
        "challenge": challenge.name,
        "version": challenge.version,
        "edition": challenge.edition,
        "truth": str(truth),
        "level": summary.level,
        "variability": [_line_document(line) for line in summary.variability],
        "tolerances_mm": [_line_document(line) for line in summary.tolerances],
        "cases": {
            agreement.case: {
                "members": len(agreement.panel.members),
                "groups": len(agreement.panel.groups),
                "pairs": len(agreement.panel.pairs),
                "variability": _nested((m, t, agreement.variability(m, t)) for m, t in agreement.values),
                "tolerances_mm": _nested((t, f"{p:g}", agreement.tolerance(t, p)) for t, p in agreement.tolerances),
                "remarks": agreement.remarks,
            }
            for agreement in survey.agreements
        },
        "counted_out": dict(survey.counted_out),
    }


def _nested(entries: Any) -> dict[str, dict[str, float]]:
    result: dict[str, dict[str, float]] = {}
    for outer, inner, value in entries:
        result.setdefault(outer, {})[inner] = value
    return result


def _line_document(line: SummaryLine) -> dict[str, Any]:
    document = asdict(line) | asdict(line.interval)
    del document["interval"]
    return document


def _cells(line: SummaryLine, name: str) -> list[str | int]:
    numbers = (_cell(x) for x in (line.interval.mean, line.interval.low, line.interval.high))
    return [line.target, name, *numbers, line.interval.cases, " ".join(line.undefined)]


def _case_lines(survey: Survey) -> list[list[str]]:
    lines = []
    for agreement in survey.agreements:
        numbers = [(t, m, "", agreement.variability(m, t)) for m, t in agreement.values]
        numbers += [(t, "tolerance_mm", f"{p:g}", agreement.tolerance(t, p)) for t, p in agreement.tolerances]
        for target, name, percentile, value in numbers:
            status = "undefined" if math.isnan(value) else "ok"
            lines.append([agreement.case, target, name, percentile, _cell(value), status])
    return lines


def _pair_lines(survey: Survey) -> list[list[Any]]:
    lines = []
    for agreement in survey.agreements:
        entries = [(t, m, "", numbers) for (m, t), numbers in agreement.values.items()]
        entries += [(t, "tolerance_mm", f"{p:g}", numbers) for (t, p), numbers in agreement.tolerances.items()]
        for place, (group, one, other) in enumerate(agreement.panel.pairs):
            who = [agreement.case, group, agreement.panel.members[one], agreement.panel.members[other]]
            lines += [[*who, target, name, level, _cell(numbers[place])] for target, name, level, numbers in entries]
    return lines


def _cell(number: float) -> str:
    return "" if math.isnan(number) else repr(number)


def metric_bounds(name: str) -> tuple[float, float]:
    """Return between which values a metric lies; anything, if it is a challenge's own."""
    known = next((metric for metric in metrics() if metric.name == name), None)
    return (known.minimum, known.maximum) if known is not None else (-math.inf, math.inf)
