"""Margins: who is better by more than matters, no worse by more than matters, or as good as equal.

A margin is a difference that matters, in the unit of a criterion. Verdicts rest on the two-sided interval of a pair's
paired difference at the level of the ranking, for that pair alone: superiority and non-inferiority are so claimed
falsely in at most half of 1 − level, equivalence (two one-sided tests) likewise, which is stricter than the interval
at 1 − 2α that is often taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from podium.model import Direction, Floats, InputError, Measure, shown_level
from podium.model.errors import shortened
from podium.ranking.inference.comparisons import Pairs
from podium.ranking.inference.confidence import Confidence

__all__ = ["CriterionMargin", "Margin", "Margins", "judge_margins"]

Margin: TypeAlias = float | Mapping[str, float]
"""A difference that matters: of the only criterion, or by the names of criteria."""


@dataclass(frozen=True, slots=True, eq=False)
class CriterionMargin:
    """Every two competitors by one criterion; all arrays have shape (competitors, competitors).

    Attributes
    ----------
    criterion, margin
        By what, and what matters there, in its unit.
    advantage, low, high
        How much better the first is than the second, whichever way is better, with its interval; NaN where there is
        none.
    """

    criterion: Measure
    margin: float
    advantage: Floats
    low: Floats
    high: Floats

    @property
    def better(self) -> np.typing.NDArray[np.bool_]:
        """Whether the first is better by more than the margin."""
        return np.asarray(self.low > self.margin)

    @property
    def no_worse(self) -> np.typing.NDArray[np.bool_]:
        """Whether the first is not worse by the margin."""
        return np.asarray(self.low > -self.margin)

    @property
    def equivalent(self) -> np.typing.NDArray[np.bool_]:
        """Whether the two differ by less than the margin, either way."""
        return self.no_worse & (self.high < self.margin)


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """What a margin says of every two competitors.

    Attributes
    ----------
    submissions
        The competitors.
    first
        Who has the first place.
    level
        Of intervals, each for one pair alone.
    criteria
        Those that have a margin.
    """

    submissions: tuple[str, ...]
    first: tuple[str, ...]
    level: float
    criteria: tuple[CriterionMargin, ...]

    name = "margins"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What follows for whoever is first, in words."""
        if len(self.submissions) < 2:
            return ("Margin: there is nobody to compare with.",)
        lines = [line for judged in self.criteria for name in self.first for line in self._of(judged, name)]
        return (
            *lines,
            f"Margins rest on {shown_level(self.level)} intervals of paired differences, each for one pair alone.",
        )

    def _of(self, judged: CriterionMargin, name: str) -> list[str]:
        one = self.submissions.index(name)
        others = [index for index in range(len(self.submissions)) if index != one]
        unit = f" {judged.criterion.unit}" if judged.criterion.unit else ""
        margin, where = f"{judged.margin:g}{unit}", f"Margin by {judged.criterion.title}"
        if np.isnan(judged.low[one, others]).all():
            return [f"{where}: differences of {name} have no interval, so nothing can be said."]

        def whom(chosen: np.typing.NDArray[np.bool_]) -> str:
            names = [self.submissions[index] for index in others if chosen[one, index]]
            return "every other" if len(names) == len(others) > 1 else shortened(names)

        better, equivalent, no_worse = judged.better, judged.equivalent, judged.no_worse
        lines = []
        if whom(no_worse) == "every other" not in (whom(better), whom(equivalent)):
            lines.append(f"{name} is no worse than any other by more than {margin}")
        elif others_too := whom(no_worse & ~better & ~equivalent):
            lines.append(f"{name} is no worse than {others_too} by more than {margin}")
        if whom(better):
            lines.append(f"{name} is better than {whom(better)} by more than {margin}")
        if whom(equivalent):
            lines.append(f"{name} is equivalent to {whom(equivalent)}, within {margin} either way")
        if whom(~no_worse):
            lines.append(f"it cannot be ruled out that {name} is worse than {whom(~no_worse)} by {margin} or more")
        return [f"{where}: {line}." for line in lines]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every two by every criterion: `margins`."""
        rows = [
            (
                judged.criterion.name,
                judged.margin,
                self.submissions[i],
                self.submissions[j],
                *(float(matrix[i, j]) for matrix in (judged.advantage, judged.low, judged.high)),
                *(bool(verdict[i, j]) for verdict in (judged.better, judged.no_worse, judged.equivalent)),
            )
            for judged in self.criteria
            for i in range(len(self.submissions))
            for j in range(len(self.submissions))
            if i != j
        ]
        schema: dict[str, Any] = {"criterion": pl.String, "margin": pl.Float64, "first": pl.String, "second": pl.String}
        schema |= dict.fromkeys(("advantage", "low", "high"), pl.Float64)
        schema |= dict.fromkeys(("better_by_more", "no_worse", "equivalent"), pl.Boolean)
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        return {"margins": frame.with_columns(pl.selectors.float().fill_nan(None))}

    @property
    def document(self) -> dict[str, Any]:
        """Everything as plain lists and numbers, for JSON."""
        return {"level": self.level, "pairs": self.tables["margins"].to_dicts(), "sentences": list(self.sentences)}


def judge_margins(confidence: Confidence, margin: Margin, *, first: Sequence[str] = ()) -> Margins:
    """Judge every two competitors by what matters.

    Parameters
    ----------
    confidence
        With the intervals of paired differences.
    margin
        A number, in the unit of the criterion, from 0; or numbers by the names or titles of criteria, or by how these
        begin: {"Dice": 0.01}.
    first
        Whom the sentences are about.
    """
    chosen = _given(margin, [pair.criterion.measure for pair in confidence.pairs])
    judged = tuple(
        _judged(pair, chosen[pair.criterion.name]) for pair in confidence.pairs if pair.criterion.name in chosen
    )
    return Margins(confidence.submissions, tuple(first), confidence.level, judged)


def _judged(pair: Pairs, margin: float) -> CriterionMargin:
    if pair.criterion.measure.direction is Direction.HIGHER:
        return CriterionMargin(pair.criterion.measure, margin, pair.difference, pair.low, pair.high)
    return CriterionMargin(pair.criterion.measure, margin, -pair.difference, -pair.high, -pair.low)


def _given(margin: Margin, criteria: Sequence[Measure]) -> dict[str, float]:
    """Return the margin of every criterion that has one."""
    known = ", ".join(measure.name for measure in criteria) or "none"
    if isinstance(margin, Mapping):
        chosen: dict[str, float] = {}
        for name, size in margin.items():
            meant = [measure.name for measure in criteria if _is_meant(name, measure)]
            if not meant:
                raise InputError(f"there is no criterion {name!r} for a margin", advice=f"There are: {known}")
            chosen |= dict.fromkeys(meant, _checked(size))
        return chosen
    if len(criteria) > 1:
        raise InputError(
            f"{len(criteria)} criteria decide, and a margin is in the unit of one",
            advice=f"Name it, as in --margin {criteria[0].name}={margin:g}. There are: {known}",
        )
    return dict.fromkeys((measure.name for measure in criteria), _checked(margin))


def _is_meant(name: str, measure: Measure) -> bool:
    """Return whether a name is that of a measure or its title, or how one of them begins, up to a whole word."""
    plain = name.strip().casefold().replace("_", " ")
    titles = (measure.name.casefold().replace("_", " "), measure.title.casefold())
    return any(title == plain or title.startswith(f"{plain} ") for title in titles)


def _checked(size: float) -> float:
    if not (math.isfinite(size) and size >= 0):
        raise InputError(f"the margin is {size:g}, but must be a number from 0")
    return float(size)
