"""What each of several criteria, or tasks, is like: who is first by it, how sure that is, how it agrees with all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from podium.model import Floats, Measure
from podium.ranking import CriterionPlaces, rank_by_criterion
from podium.report._contents import digits_of
from podium.report.short_names import short_labels
from podium.report.verdicts import LONGEST_NAME
from podium.report.words import listed, number, percent

if TYPE_CHECKING:
    from podium.report.data import ReportData

__all__ = ["Character", "ShownCharacter", "characterise", "criteria_of", "judged_by", "shown_characters"]


@dataclass(frozen=True, slots=True, eq=False)
class Character:
    """One of several criteria.

    Attributes
    ----------
    measure
        What it judges by; its name without what a scheme makes of it.
    places
        The ranking that it gives alone.
    apart, pairs
        How many pairs of competitors it certainly orders, of how many; None where that cannot be told.
    results
        All results of competitors, failures at their price; nothing where they are not known case by case.
    """

    measure: Measure
    places: CriterionPlaces
    apart: int | None
    pairs: int
    results: Floats


def criteria_of(data: ReportData) -> tuple[CriterionPlaces, ...]:
    """Return the ranking by each criterion; none where there is only one, or nobody is ranked."""
    if not data.competitors or len(data.rule.published.criteria) < 2:
        return ()
    criteria = rank_by_criterion(data.rule) if data.assessment is None else data.assessment.criteria
    return criteria if len(criteria) > 1 else ()


def characterise(data: ReportData) -> list[Character]:
    """Describe every criterion of several."""
    certain = {}
    if data.assessment is not None:
        certain = {pair.criterion.name: int(pair.better.sum()) for pair in data.assessment.confidence.pairs}
    teams = len(data.competitors)
    characters = []
    for places in criteria_of(data):
        measure, results = judged_by(data, places), np.zeros(0)
        if measure in data.measures and data.whole is None:  # of few cases, a quantile is the value of one
            values = data.values(measure, data.competitors)
            results = values[np.isfinite(values)]
        apart = certain.get(places.measure.name)
        characters.append(Character(measure, places, apart, teams * (teams - 1) // 2, results))
    return characters


def judged_by(data: ReportData, places: CriterionPlaces) -> Measure:
    """Return what was measured for a criterion, where that is one thing; else the criterion itself."""
    return next((measure for measure in data.measures if measure.column == places.measure.name), places.measure)


@dataclass(frozen=True, slots=True)
class ShownCharacter:
    """A criterion as a line of a table: text in every cell."""

    title: str
    winners: str
    kept: str
    apart: str
    tau: str
    results: str
    weight: str


def shown_characters(data: ReportData) -> list[ShownCharacter]:
    """Return a line for every criterion of several; none where there is only one competitor."""
    if len(data.competitors) < 2:
        return []  # who is alone is first in all of them
    characters = characterise(data)
    weights = {character.places.importance for character in characters}
    names = short_labels(data.submissions, LONGEST_NAME)
    return [_line(character, names, weighed=len(weights) > 1) for character in characters]


def _line(character: Character, names: Mapping[str, str], *, weighed: bool) -> ShownCharacter:
    places = character.places
    return ShownCharacter(
        title=character.measure.label,
        winners=listed([names[name] for name in places.winners], at_most=3),
        kept="" if np.isnan(places.kept) else percent(places.kept),
        apart="" if character.apart is None else f"{character.apart} of {character.pairs}",
        tau=number(places.tau, 2),
        results=_spread(character.results),
        weight=f"{places.importance:g}" if weighed else "",
    )


def _spread(results: Floats) -> str:
    """Return the median and the middle half of some values."""
    if not results.size:
        return ""
    digits = digits_of(results)
    low, middle, high = (number(value, digits) for value in np.quantile(results, [0.25, 0.5, 0.75]).tolist())
    return f"{middle} ({low} to {high})"
