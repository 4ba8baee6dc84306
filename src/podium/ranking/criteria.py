"""Places by each of several criteria, or tasks, alone: what they are, and what becomes of them in resamples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.model import Column, Floats, Measure
from podium.ranking.arithmetic import competition_ranks
from podium.ranking.inference.resampling import Progress
from podium.ranking.inference.stability import assess_stability, firsts, kendall_tau
from podium.ranking.rule import Rule

__all__ = ["CriterionPlaces", "criterion_distances", "rank_by_criterion"]


@dataclass(frozen=True, slots=True, eq=False)
class CriterionPlaces:
    """The ranking that one criterion alone would give.

    Attributes
    ----------
    measure, importance
        The criterion, and by how much it counts.
    submissions, published
        The competitors, and their places by this criterion.
    tau
        Kendall's τ-b between these places and those of the whole ranking; NaN where it is not defined.
    places
        In each resample, shape (resamples, competitors); no rows where nothing was drawn anew.
    """

    measure: Measure
    importance: float
    submissions: tuple[str, ...]
    published: Floats
    tau: float
    places: Floats

    @property
    def winners(self) -> tuple[str, ...]:
        """Who is first by it."""
        return firsts(self.submissions, self.published)

    @property
    def kept(self) -> float:
        """The share of resamples in which nobody is first who was not; NaN without resamples."""
        others = self.published != 1
        return float(np.mean(~(self.places[:, others] == 1).any(axis=1))) if len(self.places) else np.nan


def rank_by_criterion(
    rule: Rule, *, replicates: int = 0, seed: int = 1, jobs: int | None = None, progress: Progress | None = None
) -> tuple[CriterionPlaces, ...]:
    """Rank by every criterion for itself, also with cases drawn anew.

    Parameters
    ----------
    replicates, seed
        How many resamples, the same as those of the whole ranking; 0 for none.
    """
    scores, ranked = rule.published, rule.ranked
    criteria = [column for column in scores.criteria if not np.isnan(column.values[0, ranked]).all()]
    names = list(dict.fromkeys(column.name for column in criteria))
    drawn: dict[str, Floats] = {}
    if replicates:
        drawn = assess_stability(
            rule, columns=names, replicates=replicates, seed=seed, jobs=jobs, progress=progress
        ).columns
    return tuple(_places(rule, column, drawn.get(column.name)) for column in criteria)


def _places(rule: Rule, column: Column, drawn: Floats | None) -> CriterionPlaces:
    direction, whole = column.measure.direction, rule.published.places[0, rule.ranked]
    published = competition_ranks(column.values[0, rule.ranked], direction=direction)
    places = np.zeros((0, len(published))) if drawn is None else competition_ranks(drawn, direction=direction)
    tau = float(kendall_tau(published, whole)[0])
    return CriterionPlaces(column.measure, column.importance, rule.competitors, published, tau, places)


def criterion_distances(criteria: tuple[CriterionPlaces, ...]) -> Floats:
    """Return how far every two criteria are apart, shape (criteria, criteria).

    Spearman's footrule, divided by the number of competitors: by how many places a competitor's rank differs on
    average. Equals have the mean of the ranks that they share.

    Examples
    --------
    >>> def by(*places):
    ...     return CriterionPlaces(Measure("x", "X"), 1.0, tuple("abc"), np.array(places), 1.0, np.zeros((0, 3)))
    >>> criterion_distances((by(1.0, 2.0, 3.0), by(1.0, 3.0, 2.0), by(1.0, 1.0, 1.0))).round(3)
    array([[0.   , 0.667, 0.667],
           [0.667, 0.   , 0.667],
           [0.667, 0.667, 0.   ]])
    """
    ranks = np.stack([_shared(criterion.published) for criterion in criteria])
    return np.asarray(np.abs(ranks[:, None] - ranks).mean(axis=2))


def _shared(places: Floats) -> Floats:
    """Return ranks of which equals have the mean: (1, 2, 2, 4) becomes (1, 2.5, 2.5, 4)."""
    return np.asarray(places + ((places[:, None] == places).sum(axis=1) - 1) / 2)
