"""Resampling of cases: what is drawn together, and weights that do not depend on the number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from podium.model import Floats, InputError

__all__ = ["BLOCK", "Progress", "Units", "check_resamples", "over_blocks", "units_of"]

BLOCK = 256
"""How many resamples are drawn from one stream of random numbers, and scored at once."""

MOST_RESAMPLES = 1_000_000
"""With so many, a share is known to a thousandth (two standard errors); cases leave far more open."""

_MOST_BYTES = 2**31
_BYTES_EACH = 128  # of one competitor in one resample: its place and its values by some criteria, joined once

Progress = Callable[[int, int], None]
"""Is told how much is done, and of how much."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is drawn: clusters of rows, each stratum for itself.

    Attributes
    ----------
    names
        Of the clusters, stratum by stratum.
    cluster
        The cluster that each row belongs to, shape (rows,).
    strata
        Where each stratum's clusters stand.
    """

    names: tuple[str, ...]
    cluster: npt.NDArray[np.intp]
    strata: tuple[slice, ...]

    def draw(self, seed: int, block: int) -> Floats:
        """Return how often each cluster is drawn in the resamples of a block, shape (BLOCK, clusters).

        Every stratum keeps its number of clusters. Draws depend on the seed and on the block, on nothing else.
        """
        random = np.random.default_rng([seed, block])
        counts = np.empty((BLOCK, len(self.names)))
        for stratum in self.strata:
            size = stratum.stop - stratum.start
            drawn = random.integers(0, size, size=(BLOCK, size), dtype=np.int64)
            drawn += np.arange(BLOCK, dtype=np.int64)[:, None] * size
            counts[:, stratum] = np.bincount(drawn.ravel(), minlength=BLOCK * size).reshape(BLOCK, size)
        return counts

    def weights(self, counts: Floats) -> Floats:
        """Return the weights of rows, shape (sets, rows), from those of clusters, shape (sets, clusters)."""
        return counts if self._alone else counts[:, self.cluster]

    @property
    def _alone(self) -> bool:
        """Whether every row is its own cluster, in the order of rows."""
        return len(self.names) == len(self.cluster) and np.array_equal(self.cluster, np.arange(len(self.cluster)))

    def sums(self, rows: Floats) -> Floats:
        """Return the sums of rows over clusters, (values, rows) → (values, clusters)."""
        if self._alone:
            return rows
        sums = np.zeros((len(rows), len(self.names)))
        np.add.at(sums.T, self.cluster, rows.T)
        return sums

    def means(self, rows: Floats) -> Floats:
        """Return the mean of each cluster's rows, (values, rows) → (values, clusters); NaN where none is defined."""
        if len(self.names) == rows.shape[1]:
            means = np.empty(rows.shape)
            means[:, self.cluster] = rows
            return means
        known = ~np.isnan(rows)
        sums, counts = np.zeros((2, len(rows), len(self.names)))
        np.add.at(sums.T, self.cluster, np.where(known, rows, 0.0).T)
        np.add.at(counts.T, self.cluster, known.T.astype(np.float64))
        return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def units_of(clusters: Sequence[str], strata: Sequence[str] | None = None) -> Units:
    """Return the units of rows that name their clusters, and their strata if there are any.

    A cluster whose rows lie in several strata is drawn with others that lie in the same ones.
    """
    if not len(clusters):
        raise InputError("there are no cases")
    if strata is not None and len(strata) != len(clusters):
        raise InputError("clusters and strata must each have one name per row")
    lies_in: dict[str, set[str]] = {}
    for row, cluster in enumerate(clusters):
        lies_in.setdefault(cluster, set()).add("" if strata is None else strata[row])
    places = {cluster: tuple(sorted(own)) for cluster, own in lies_in.items()}
    order = {kind: number for number, kind in enumerate(dict.fromkeys(places.values()))}
    names = sorted(places, key=lambda cluster: order[places[cluster]])  # stable: rows keep their order
    index = {name: number for number, name in enumerate(names)}
    sizes = np.bincount([order[places[name]] for name in names])
    ends = np.cumsum(sizes).tolist()
    return Units(
        tuple(names),
        np.array([index[cluster] for cluster in clusters], np.intp),
        tuple(slice(end - size, end) for end, size in zip(ends, sizes.tolist(), strict=True)),
    )


def check_resamples(resamples: int, *, competitors: int = 1) -> None:
    """Refuse more resamples than tell anything, or than memory should hold for so many competitors."""
    most = min(MOST_RESAMPLES, _MOST_BYTES // (_BYTES_EACH * max(competitors, 1)))
    if resamples > most:
        step = 10 ** (len(str(most)) - 2)
        raise InputError(
            f"{resamples:,} resamples are too many",
            advice=f"Ask for {most // step * step:,} at most; 1,000 are usual, and 10,000 tell a share to 1 %",
        )


def over_blocks(
    units: Units,
    work: Callable[[Floats], T],
    *,
    replicates: int,
    seed: int,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[T]:
    """Call work with the cluster counts of each block of resamples, in threads, and return the results in order."""
    if replicates < 1:
        raise InputError(f"{replicates} resamples are too few", advice="1000 are usual")
    check_resamples(replicates)
    if seed < 0:
        raise InputError(f"the seed is {seed}, but must not be negative")
    starts = range(0, replicates, BLOCK)

    def one(start: int) -> T:
        return work(units.draw(seed, start // BLOCK)[: replicates - start])

    results = []
    if progress:
        progress(0, replicates)
    with ThreadPoolExecutor(max_workers=min(jobs or os.cpu_count() or 1, len(starts))) as pool:
        for result in pool.map(one, starts):
            results.append(result)
            if progress:
                progress(min(len(results) * BLOCK, replicates), replicates)
    return results
