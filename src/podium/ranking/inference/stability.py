"""Stability: what becomes of a ranking when cases are drawn anew, or one is left out.

This says how much the ranking depends on the cases at hand. It is not confidence: among equals, bootstrap ranks spread
far less than true ranks may differ. For that, see `confidence`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium._jit import kernel
from podium.model import Floats, InputError
from podium.ranking.inference.resampling import BLOCK, Progress, over_blocks
from podium.ranking.rule import Rule

__all__ = ["LeftOut", "Stability", "assess_stability", "jackknife", "kendall_tau"]


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Places of the competitors in resamples.

    Attributes
    ----------
    submissions, published
        The competitors, and their places in the ranking itself.
    places
        Their places in each resample, shape (replicates, competitors).
    tau
        Kendall's τ-b between each resample's places and the published ones, shape (replicates,); NaN where it is not
        defined: where either puts everybody in one place.
    leads
        The share of resamples in which the first is strictly before the second, shape (competitors, competitors).
    columns
        Values in each resample of the columns that were asked for, each of shape (replicates, competitors).
    seed
        Which resamples.
    """

    submissions: tuple[str, ...]
    published: Floats
    places: Floats
    tau: Floats
    leads: Floats
    columns: dict[str, Floats]
    seed: int

    @property
    def shares(self) -> Floats:
        """The share of resamples in which each competitor has each place, shape (competitors, places)."""
        teams = len(self.submissions)
        return np.stack([np.mean(self.places == place, axis=0) for place in range(1, teams + 1)], axis=1)

    @property
    def first(self) -> Floats:
        """The share of resamples in which each competitor is first, alone or with others."""
        return np.asarray(np.mean(self.places == 1, axis=0))

    def quantile(self, share: float) -> Floats:
        """Return that quantile of each competitor's places, shape (competitors,)."""
        return np.asarray(np.quantile(self.places, share, axis=0))


def assess_stability(
    rule: Rule,
    *,
    replicates: int = 1000,
    seed: int = 1,
    columns: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Rank again with cases drawn anew, with replacement, many times.

    Clusters are drawn whole and each stratum for itself. The same seed gives the same resamples whatever the number of
    threads, and the first thousand of more.

    Parameters
    ----------
    columns
        Names of columns whose values in each resample are kept.
    jobs
        Threads; by default all processors.
    """
    _enough(rule)
    chosen = rule.ranked
    published = rule.published.places[0, chosen]

    def work(counts: Floats) -> tuple[Floats, ...]:
        scores = rule.score(rule.units.weights(counts))
        return (scores.places[:, chosen], *(scores.column(name).values[:, chosen] for name in columns))

    blocks = over_blocks(rule.units, work, replicates=replicates, seed=seed, jobs=jobs, progress=progress)
    places, *kept = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    tau, leads = _agreement(places, published)
    values = dict(zip(columns, kept, strict=True))
    return Stability(rule.competitors, published, places, tau, leads / replicates, values, seed)


def kendall_tau(places: Floats, reference: Floats) -> Floats:
    """Return Kendall's τ-b between each row of places and a reference.

    It is not defined, NaN, where either puts all in one place or somebody has none.

    Examples
    --------
    >>> kendall_tau(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 1.0, 1.0]]), np.array([1.0, 2.0, 3.0])).round(3)
    array([1.   , 0.333,   nan])
    """
    return np.asarray(_agreement(np.atleast_2d(places), np.asarray(reference, np.float64))[0])


@kernel
def _agreement(places, reference):  # type: ignore[no-untyped-def]  # Numba infers the types of kernels
    """Return τ-b of every set with the reference, and in how many sets one is before another."""
    sets, teams = places.shape
    tau = np.full(sets, np.nan)
    leads = np.zeros((teams, teams))
    untied = 0
    for first in range(teams):
        for second in range(first):
            untied += reference[first] != reference[second]
    for one in range(sets):
        concordant, apart, known = 0, 0, True
        for first in range(teams):
            for second in range(first):
                difference = places[one, first] - places[one, second]
                other = reference[first] - reference[second]
                if np.isnan(difference) or np.isnan(other):
                    known = False
                    continue
                if difference == 0:
                    continue
                apart += 1
                if difference < 0:
                    leads[first, second] += 1
                else:
                    leads[second, first] += 1
                if other != 0:
                    concordant += 1 if (difference < 0) == (other < 0) else -1
        if known and apart and untied:
            tau[one] = concordant / np.sqrt(float(apart) * untied)
    return tau, leads


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What happens without one case, or without one cluster of them: who is first, and τ to the published places.

    The winner changes where anybody is first who was not; a shared first place that fewer share is no change.
    """

    name: str
    winners: tuple[str, ...]
    changes_winner: bool
    tau: float


def jackknife(rule: Rule, *, progress: Progress | None = None) -> list[LeftOut]:
    """Rank again without each case in turn; a cluster of cases is left out whole."""
    _enough(rule)
    published = rule.places(np.ones((1, len(rule.rows))))[0]
    winners = firsts(rule.competitors, published)
    left_out = []
    clusters = len(rule.units.names)
    if progress:
        progress(0, clusters)
    for start in range(0, clusters, BLOCK):
        left = np.arange(start, min(start + BLOCK, clusters))
        places = rule.places(rule.units.weights(leave_out(left, clusters)))
        for cluster, own, tau in zip(left.tolist(), places, kendall_tau(places, published).tolist(), strict=True):
            first = firsts(rule.competitors, own)
            left_out.append(LeftOut(rule.units.names[cluster], first, not set(first) <= set(winners), tau))
        if progress:
            progress(min(start + BLOCK, clusters), clusters)
    return left_out


def leave_out(left: Sequence[int] | np.typing.NDArray[np.intp], clusters: int) -> Floats:
    """Return the counts of clusters that leave out each of some of them in turn, shape (left, clusters)."""
    counts = np.ones((len(left), clusters))
    counts[np.arange(len(left)), left] = 0.0
    return counts


def firsts(names: Sequence[str], places: Floats) -> tuple[str, ...]:
    """Return who is first."""
    return tuple(name for name, place in zip(names, places.tolist(), strict=True) if place == 1)


def _enough(rule: Rule) -> None:
    if not rule.competitors:
        raise InputError("nobody competes, so there is nothing to rank")
    if len(rule.units.names) < 2:
        raise InputError(
            f"there is only a single {rule.unit_words[0]}, so nothing can be drawn anew",
            advice="Rank without --bootstrap",
        )
