"""From a report's data to figures of several criteria, or tasks, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from podium.model import Floats, Purpose
from podium.ranking import AVERAGE_RANK, CriterionPlaces, criterion_distances
from podium.report.characterisation import characterise, criteria_of, judged_by
from podium.report.data import ReportData
from podium.report.figures import by_criterion
from podium.report.figures.alive import points
from podium.report.figures.of_run import Drawn, Nothing, has_a_field

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["has_several", "has_several_in_a_field"]


def has_several(data: ReportData) -> bool:
    """Return whether a ranking is made of several."""
    return len(data.rule.published.criteria) > 1


def has_several_in_a_field(data: ReportData) -> bool:
    """Return whether a ranking is made of several, and more than two are ranked."""
    return has_several(data) and has_a_field(data)


def _lacking(data: ReportData) -> Nothing | None:
    """Say why several criteria cannot be compared."""
    if not data.competitors:
        return Nothing("Nobody is ranked.")
    if not criteria_of(data):
        return Nothing(f"There is only one {data.called.criterion}.")
    if len(data.competitors) < 2:
        return Nothing(f"There is only one competitor, who is first in every {data.called.criterion}.")
    return None


def _order(data: ReportData, criterion: CriterionPlaces) -> list[int]:
    return [criterion.submissions.index(name) for name in data.competitors]


def draw_consensus(data: ReportData) -> Drawn:
    """Draw ranks by every criterion, and their average."""
    if lacking := _lacking(data):
        return lacking
    scores, criteria = data.rule.published, criteria_of(data)
    everyone = [data.rule.submissions.index(name) for name in data.competitors]
    # The ranks that count may share places in another way than places do.
    given = {column.measure.of: column for column in scores.columns if column.measure.purpose is Purpose.RANK}
    ranks = np.stack(
        [
            given[own.measure.name].values[0, everyone]
            if own.measure.name in given
            else own.published[_order(data, own)]
            for own in criteria
        ]
    )
    importance = np.array([own.importance for own in criteria])
    average: Floats = importance @ ranks / importance.sum()
    if AVERAGE_RANK.name in {column.name for column in scores.columns}:
        average = scores.column(AVERAGE_RANK.name).values[0, everyone]
    figure = by_criterion.consensus(
        ranks,
        average,
        submissions=data.competitors,
        importance=importance.tolist(),
        criterion=data.called.criterion,
        looks=data.looks,
    )
    titles = [judged_by(data, own).title for own in criteria]
    spots = [
        (float(rank), row, f"rank {rank:g} in {', '.join(t for t, r in zip(titles, own, strict=True) if r == rank)}")
        for row, own in enumerate(ranks.T)
        for rank in np.unique(own[np.isfinite(own)])
    ]
    spots += [(float(mean), row, f"average rank {mean:.4g}") for row, mean in enumerate(average)]
    teams = [data.submissions.index(name) for name in data.competitors]
    points(
        figure.axes[0],
        np.array([x for x, _, _ in spots]),
        np.array([float(row) for _, row, _ in spots]),
        teams=[teams[row] for _, row, _ in spots],
        says=[text for _, _, text in spots],
        measured="",
    )
    return [("", figure)]


def _resampled(data: ReportData, drawn: Callable[..., Figure]) -> Drawn:
    if lacking := _lacking(data):
        return lacking
    if data.assessment is None:
        return Nothing(data.unassessed)
    criteria = criteria_of(data)
    figure = drawn(
        np.stack([own.places[:, _order(data, own)] for own in criteria]),
        np.stack([own.published[_order(data, own)] for own in criteria]),
        submissions=data.competitors,
        labels=[judged_by(data, own).title for own in criteria],
        looks=data.looks,
    )
    return [("", figure)]


def draw_places_by_criterion(data: ReportData) -> Drawn:
    """Draw the places that every criterion alone gives in resamples."""
    return _resampled(data, by_criterion.places_by_criterion)


def draw_places_by_submission(data: ReportData) -> Drawn:
    """Draw the places of every submission by each criterion in resamples."""
    return _resampled(data, by_criterion.places_by_submission)


def draw_criteria_compared(data: ReportData) -> Drawn:
    """Draw how well each criterion separates, how sure its winner is, how it agrees with all, and its results."""
    if lacking := _lacking(data):
        return lacking
    if data.assessment is None:
        return Nothing(data.unassessed)
    characters = characterise(data)
    known = all(character.results.size for character in characters)
    figure = by_criterion.criteria_compared(
        labels=[character.measure.title for character in characters],
        apart=[(character.apart or 0) / max(character.pairs, 1) for character in characters],
        kept=[character.places.kept for character in characters],
        tau=[character.places.tau for character in characters],
        results=[character.results for character in characters] if known else (),
        directions=[character.measure.direction for character in characters] if known else (),
        axis=f"results {characters[0].measure.direction.arrow}",
    )
    return [("", figure)]


def draw_dendrogram(data: ReportData) -> Drawn:
    """Draw which criteria rank alike."""
    if lacking := _lacking(data):
        return lacking
    criteria = criteria_of(data)
    if len(criteria) < 3:
        return Nothing(f"There are only two {data.called.criteria}, so there is nothing to group.")
    distances = criterion_distances(criteria)
    if not distances.any():
        return Nothing(f"All {data.called.criteria} give the same ranking.")
    return [("", by_criterion.dendrogram(distances, labels=[judged_by(data, own).title for own in criteria]))]
