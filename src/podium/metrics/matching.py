"""Which of several predictions belongs to which of several references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._arguments import as_number
from podium.metrics._rows import as_numbers
from podium.model import InputError

__all__ = ["Matching", "Method", "match"]

Method: TypeAlias = Literal["optimal", "greedy"]
Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """Pairs of a reference and a prediction that belong together, sorted by reference, then prediction.

    Attributes
    ----------
    rows, columns
        The reference and the prediction of each pair, counted from 0.
    values
        What the pair was matched by.
    shape
        How many references and how many predictions there are.
    """

    rows: Integers
    columns: Integers
    values: Floats
    shape: tuple[int, int]

    @property
    def matched_references(self) -> npt.NDArray[np.bool_]:
        """Return for every reference whether it has a prediction."""
        return np.isin(np.arange(self.shape[0]), self.rows)

    @property
    def matched_predictions(self) -> npt.NDArray[np.bool_]:
        """Return for every prediction whether it has a reference."""
        return np.isin(np.arange(self.shape[1]), self.columns)


def match(
    values: npt.ArrayLike,
    *,
    threshold: float,
    inclusive: bool = True,
    lower_is_better: bool = False,
    method: Method = "optimal",
    many_to_one: bool = False,
) -> Matching:
    """Match predictions to references by any measure of all their pairs.

    Parameters
    ----------
    values
        Similarity or distance, shape (references, predictions); NaN where a pair is out of the question.
    threshold
        A pair may be matched if its similarity is at least this (its distance at most this).
    inclusive
        False: more (less) than the threshold, not equal to it.
    lower_is_better
        Whether the values are distances.
    method
        `greedy`: the best pair that is left, again and again; of equal ones that with the smaller reference, then the
        smaller prediction. `optimal`: as many pairs as can be, and of all such choices the one with the best sum
        (SciPy's linear_sum_assignment); of choices with equal sums, the one that SciPy finds, which depends on nothing
        but the values and the order of the instances.
    many_to_one
        False: a reference has at most one prediction. True: every prediction goes to its best reference, of equal ones
        the first, whatever the method. To let a prediction have several references, exchange the two.

    Examples
    --------
    >>> iou = [[0.6, 0.5], [0.5, 0.0]]
    >>> greedy = match(iou, threshold=0.2, method="greedy")
    >>> greedy.rows, greedy.columns
    (array([0]), array([0]))
    >>> optimal = match(iou, threshold=0.2)
    >>> optimal.rows, optimal.columns
    (array([0, 1]), array([1, 0]))
    """
    table = as_numbers(values)
    if table.ndim != 2:
        raise InputError(f"a table of all pairs has the shape (references, predictions), not {table.shape}")
    rows, columns = np.nonzero(~np.isnan(table))
    return match_pairs(
        rows,
        columns,
        table[rows, columns],
        shape=(table.shape[0], table.shape[1]),
        threshold=threshold,
        inclusive=inclusive,
        lower_is_better=lower_is_better,
        method=method,
        many_to_one=many_to_one,
    )


def match_pairs(
    rows: Integers,
    columns: Integers,
    values: Floats,
    *,
    shape: tuple[int, int],
    threshold: float,
    inclusive: bool,
    lower_is_better: bool,
    method: Method,
    many_to_one: bool,
) -> Matching:
    """Match as `match` does, given only the pairs that come into question."""
    if method not in ("optimal", "greedy"):
        raise InputError(f"there is no matching called {method!r}", advice="It is 'optimal' or 'greedy'")
    if np.isnan(threshold := as_number(threshold, "the threshold of a matching is a number")):
        raise InputError("the threshold of a matching is a number, not NaN")
    goodness, least = (-values, -threshold) if lower_is_better else (values, threshold)
    allowed = np.flatnonzero(goodness >= least if inclusive else goodness > least)
    rows, columns, goodness = rows[allowed], columns[allowed], goodness[allowed]
    order = np.lexsort((columns, rows, -goodness))
    if many_to_one:
        chosen = order[np.unique(columns[order], return_index=True)[1]]
    elif method == "greedy":
        chosen = _greedy(rows, columns, order, shape)
    else:
        chosen = _optimal(rows, columns, goodness, shape)
    chosen = chosen[np.lexsort((columns[chosen], rows[chosen]))]
    return Matching(rows[chosen], columns[chosen], values[allowed][chosen], shape)


def _greedy(rows: Integers, columns: Integers, order: npt.NDArray[np.intp], shape: tuple[int, int]) -> Any:
    """Return which pairs are taken, going through them in an order."""
    free_rows, free_columns = np.ones(shape[0], bool), np.ones(shape[1], bool)
    chosen = []
    for pair in order.tolist():
        row, column = rows[pair], columns[pair]
        if free_rows[row] and free_columns[column]:
            free_rows[row] = free_columns[column] = False
            chosen.append(pair)
    return np.array(chosen, np.intp)


def _optimal(rows: Integers, columns: Integers, goodness: Floats, shape: tuple[int, int]) -> Any:
    """Return the most pairs, with the best sum, solving every group of instances that hang together by itself."""
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    alone = (np.bincount(rows, minlength=shape[0])[rows] == 1) & (
        np.bincount(columns, minlength=shape[1])[columns] == 1
    )
    chosen = [np.flatnonzero(alone)]
    others = np.flatnonzero(~alone)
    if others.size:
        ends = (rows[others], shape[0] + columns[others])
        graph = coo_array((np.ones(others.size), ends), shape=(sum(shape), sum(shape)))
        group = connected_components(graph, directed=False)[1][rows[others]]
        others = others[np.argsort(group, kind="stable")]
        starts = np.flatnonzero(np.diff(np.sort(group))) + 1
        for pairs in np.split(others, starts):
            own_rows, row = np.unique(rows[pairs], return_inverse=True)
            own_columns, column = np.unique(columns[pairs], return_inverse=True)
            low, span = goodness[pairs].min(), np.ptp(goodness[pairs])
            share = (goodness[pairs] - low) / (span or 1.0)
            # One more pair is worth more than any sum of shares.
            worth = np.zeros((own_rows.size, own_columns.size))
            worth[row, column] = 1 + share / (2 * min(worth.shape))
            at = np.full(worth.shape, -1)
            at[row, column] = pairs
            taken = at[linear_sum_assignment(worth, maximize=True)]
            chosen.append(taken[taken >= 0])
    return np.concatenate(chosen)
