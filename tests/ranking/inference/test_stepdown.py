"""Limits that come down: against a plain loop, and with more hypotheses than are kept apart."""

import numpy as np
import pytest

from podium.ranking.inference.stepdown import StepDown


def slow(observed, resampled, alpha):
    """Return what is rejected, by the definition."""
    replicates = len(resampled)
    rejected = np.zeros(len(observed), bool)
    while not rejected.all():
        largest = np.sort(np.abs(resampled[:, ~rejected]).max(axis=1))
        limit = largest[min(int(np.ceil((1 - alpha) * (replicates + 1))), replicates) - 1]
        beyond = ~rejected & (np.abs(observed) > limit)
        if not beyond.any():
            break
        rejected |= beyond
    return rejected


def rejected(observed, resampled, alpha, *, parts=3):
    steps = StepDown(observed, len(resampled))
    for own in np.array_split(np.random.default_rng(0).permutation(len(observed)), parts):
        steps.add(own, resampled[:, own])
    return steps.rejected(alpha)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_as_a_plain_loop_rejects(seed, alpha):
    random = np.random.default_rng(seed)
    observed = random.normal(0, 2.5, 40)
    resampled = random.normal(size=(200, 40))
    expected = slow(observed, resampled, alpha)
    np.testing.assert_array_equal(rejected(observed, resampled, alpha), expected)
    assert expected.any()


def test_a_limit_comes_down():
    """The first is beyond the limit of both, the second only beyond its own."""
    resampled = np.stack([np.linspace(0, 10, 100), np.linspace(0, 1, 100)], axis=1)
    assert rejected(np.array([20.0, 2.0]), resampled, 0.05).tolist() == [True, True]
    assert rejected(np.array([9.0, 2.0]), resampled, 0.05).tolist() == [False, False]


def test_many_hypotheses_are_grouped_and_never_rejected_too_easily():
    random = np.random.default_rng(1)
    observed = random.normal(0, 3, 5000)
    resampled = random.normal(size=(100, 5000))
    expected, own = slow(observed, resampled, 0.05), rejected(observed, resampled, 0.05)
    assert not (own & ~expected).any()
    assert own.sum() > 0.98 * expected.sum()


def test_too_few_resamples_reject_nothing():
    observed, resampled = np.array([1e9]), np.zeros((18, 1))
    assert not rejected(observed, resampled, 0.05).any()
    assert rejected(observed, np.zeros((19, 1)), 0.05).all()
    assert rejected(np.zeros(0), np.zeros((50, 0)), 0.05, parts=1).shape == (0,)


def test_what_is_infinite_exceeds_what_is_not():
    resampled = np.random.default_rng(0).normal(size=(50, 2))
    assert rejected(np.array([np.inf, 0.0]), resampled, 0.1).tolist() == [True, False]
