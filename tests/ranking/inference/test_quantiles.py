"""Weighted quantiles against NumPy on rows written out, and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.model import InputError
from podium.ranking import weighted_quantile

SHARES = (0.0, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 0.95, 1.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from(SHARES), st.booleans())
def test_a_weight_is_a_repeated_row(seed, rows, share, tied):
    random = np.random.default_rng(seed)
    values = random.integers(0, 4, (3, rows)) / 8 if tied else random.normal(size=(3, rows))
    weights = random.integers(0, 4, (6, rows)).astype(float)
    weights[0] = 0
    found = weighted_quantile(values, weights, share=share)
    assert found.shape == (6, 3)
    for one, counts in enumerate(weights.astype(int)):
        repeated = np.repeat(values, counts, axis=1)
        expected = np.quantile(repeated, share, axis=1) if counts.sum() else np.full(3, np.nan)
        np.testing.assert_allclose(found[one], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rows", [1, 2, 10, 11, 21, 101, 1001])
@pytest.mark.parametrize("share", SHARES)
def test_places_between_two_rows(rows, share):
    """Values 0, 1, …: the quantile is its own place, (n − 1) · share, also where that is all but whole."""
    values = np.random.default_rng(0).permutation(rows).astype(float)[None]
    found = weighted_quantile(values, np.ones((1, rows)), share=share)
    np.testing.assert_allclose(found, [[(rows - 1) * share]], atol=1e-9)


def test_medians_by_hand():
    values = np.array([[3.0, 1.0, 2.0, 10.0]])
    weights = np.array([[1.0, 1, 1, 1], [0, 2, 1, 1], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]])
    #         1 2 3 10 → 2.5; 1 1 2 10 → 1.5; 1 10 → 5.5; 3; nothing
    np.testing.assert_array_equal(weighted_quantile(values, weights, share=0.5)[:, 0], [2.5, 1.5, 5.5, 3.0, np.nan])


def test_rows_without_a_value_are_left_out():
    values = np.array([[np.nan, 1.0, 5.0], [np.nan, np.nan, np.nan], [7.0, np.nan, 9.0]])
    found = weighted_quantile(values, np.array([[4.0, 1.0, 1.0], [1.0, 5.0, 0.0]]), share=0.5)
    np.testing.assert_array_equal(found, [[3.0, np.nan, 7.0], [1.0, np.nan, 7.0]])


def test_weights_may_be_whole_numbers_and_not_contiguous():
    values = np.random.default_rng(1).normal(size=(2, 9))
    weights = np.random.default_rng(2).integers(0, 3, (9, 4))
    expected = weighted_quantile(values, np.ascontiguousarray(weights.T, float), share=0.3)
    np.testing.assert_array_equal(weighted_quantile(values, weights.T, share=0.3), expected)


@pytest.mark.parametrize("share", [-0.1, 1.5, np.nan])
def test_no_such_quantile(share):
    with pytest.raises(InputError, match="no quantile"):
        weighted_quantile(np.ones((1, 2)), np.ones((1, 2)), share=share)
