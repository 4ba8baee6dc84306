"""Matching: by hand, and against trying every choice of pairs."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.metrics import match
from podium.model import InputError


def pairs(matching):
    return list(zip(matching.rows.tolist(), matching.columns.tolist(), strict=True))


def best_choice(table, allowed):
    """Return the most pairs that can be, and the best sum of as many, trying them all."""
    rows, columns = table.shape
    for count in range(min(rows, columns), 0, -1):
        sums = [
            sum(table[row, column] for row, column in zip(chosen, others, strict=True))
            for chosen in combinations(range(rows), count)
            for others in permutations(range(columns), count)
            if all(allowed[row, column] for row, column in zip(chosen, others, strict=True))
        ]
        if sums:
            return count, max(sums)
    return 0, 0.0


@given(seed=st.integers(0, 10_000), rows=st.integers(0, 4), columns=st.integers(0, 4), distances=st.booleans())
def test_optimal_is_the_best_of_all_choices(seed, rows, columns, distances):
    table = np.random.default_rng(seed).choice([0.1, 0.3, 0.5, 0.55, 0.9, np.nan], (rows, columns))
    matching = match(table, threshold=0.5, lower_is_better=distances)
    good = -table if distances else table
    allowed = good >= (-0.5 if distances else 0.5)
    count, total = best_choice(np.where(allowed, good, 0), allowed)
    assert matching.rows.size == count == len(set(matching.rows)) == len(set(matching.columns))
    assert (-1) ** distances * matching.values.sum() == pytest.approx(total)
    assert all(allowed[pair] for pair in pairs(matching))


@given(seed=st.integers(0, 10_000), rows=st.integers(0, 5), columns=st.integers(0, 5))
def test_greedy_takes_the_best_that_is_left(seed, rows, columns):
    table = np.random.default_rng(seed).choice([0.1, 0.3, 0.5, 0.55, 0.9], (rows, columns))
    left, expected = table.copy(), []
    while left.size and left.max() > 0.3:
        row, column = np.unravel_index(left.argmax(), left.shape)  # the first of equal ones, row by row
        expected.append((int(row), int(column)))
        left[row], left[:, column] = -1, -1
    assert pairs(match(table, threshold=0.3, inclusive=False, method="greedy")) == sorted(expected)


def test_many_to_one():
    table = [[0.6, 0.4, 0.5], [0.3, 0.4, 0.8]]
    assert pairs(match(table, threshold=0.35, many_to_one=True)) == [(0, 0), (0, 1), (1, 2)]
    assert pairs(match(table, threshold=0.35)) == [(0, 0), (1, 2)]
    assert pairs(match(np.transpose(table), threshold=0.35, many_to_one=True)) == [(0, 0), (2, 1)]
    matching = match(table, threshold=0.7, many_to_one=True)
    assert matching.matched_references.tolist() == [False, True]
    assert matching.matched_predictions.tolist() == [False, False, True]


def test_thresholds():
    assert pairs(match([[0.5]], threshold=0.5)) == [(0, 0)]
    assert pairs(match([[0.5]], threshold=0.5, inclusive=False)) == []
    assert pairs(match([[3.0, 2.0]], threshold=2, lower_is_better=True)) == [(0, 1)]
    assert pairs(match([[3.0, 2.0]], threshold=2, lower_is_better=True, inclusive=False)) == []


def test_the_most_pairs_come_before_the_best_sum():
    table = [[0.9, 0.2], [0.2, 0.0]]
    assert pairs(match(table, threshold=0.1)) == [(0, 1), (1, 0)]
    assert pairs(match(table, threshold=0.1, method="greedy")) == [(0, 0)]


def test_bad_words():
    with pytest.raises(InputError, match="no matching called 'hungarian'"):
        match([[1.0]], threshold=0.5, method="hungarian")
    with pytest.raises(InputError, match="not NaN"):
        match([[1.0]], threshold=np.nan)
    with pytest.raises(InputError, match="shape"):
        match([1.0], threshold=0.5)
