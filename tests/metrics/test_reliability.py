"""Calibration: by hand, beside TorchMetrics, and that chance alone causes the error that is said."""

from itertools import product

import numpy as np
import peers
import pytest
from scipy import stats

from podium.metrics import calibration, expected_calibration_error
from podium.model import InputError


def test_by_hand():
    truth, chances = [0, 1, 1, 1, 0], [0.5, 0.5, 0.75, 0.75, 0.1]
    # bins of a half: {0.1} → gap 0.1; {0.5, 0.5, 0.75, 0.75} → |2.5 − 3|
    assert expected_calibration_error(truth, chances, bins=2) == pytest.approx((0.1 + 0.5) / 5)
    facts = calibration(truth, chances, bins=2)
    assert facts.count.tolist() == [1, 4]
    assert facts.probability == pytest.approx([0.1, 0.625])
    assert facts.share == pytest.approx([0, 0.75])
    assert facts.error == pytest.approx(0.12)
    assert facts.largest_gap == pytest.approx(0.125)


def test_edges_belong_to_the_bin_above():
    chances = np.arange(11) / 10
    assert calibration(np.zeros(11), chances, bins=10).count.tolist() == [1] * 9 + [2]
    assert calibration(np.zeros(8), np.arange(8) / 7, bins=7).count.tolist() == [1] * 6 + [2]


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_like_torchmetrics(bins):
    generator = np.random.default_rng(bins)
    chances = generator.random(300)
    truth = (generator.random(300) < chances**2).astype(int)
    expected = peers.torchmetrics().calibration_error(chances, truth, task="binary", n_bins=bins)
    assert expected_calibration_error(truth, chances, bins=bins) == pytest.approx(expected, rel=1e-6)


def test_torchmetrics_keeps_certainty_apart():
    truth, chances = [1, 0], [0.95, 1.0]
    assert expected_calibration_error(truth, chances, bins=10) == pytest.approx(0.95 / 2)
    assert peers.torchmetrics().calibration_error(chances, truth, task="binary", n_bins=10) == pytest.approx(1.05 / 2)


def test_sets_of_weights():
    generator = np.random.default_rng(0)
    chances, truth = generator.random(20).round(1), generator.integers(0, 2, 20)
    weights = generator.integers(0, 3, (5, 20))
    errors = expected_calibration_error(truth, chances, weights=weights)
    repeated = [expected_calibration_error(np.repeat(truth, w), np.repeat(chances, w)) for w in weights]
    np.testing.assert_allclose(errors, repeated, rtol=1e-12)


def test_what_chance_alone_causes_counted_out():
    """All outcomes of seven trials, each with its probability."""
    chances = np.array([0.02, 0.1, 0.45, 0.5, 0.77, 0.9, 1.0])
    expected = 0.0
    for outcome in product((0, 1), repeat=7):
        weight = np.where(outcome, chances, 1 - chances).prod()
        expected += weight * float(expected_calibration_error(outcome, chances, bins=3))
    assert calibration(np.zeros(7), chances, bins=3).expected_of_calibrated == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize("size", [30, 3000])
def test_what_chance_alone_causes_simulated(size, rare):
    generator = np.random.default_rng(size)
    chances = generator.beta(0.02, 2, size) if rare else generator.random(size)
    errors = expected_calibration_error(generator.random((2000, size)) < chances, chances)
    for given in (chances, 1 - chances):
        expected = calibration(np.zeros(size), given).expected_of_calibrated
        assert expected == pytest.approx(errors.mean(), rel=0.05 if rare else 0.02)


@pytest.mark.parametrize("chance", [0.001, 0.3, 0.5, 0.999])
def test_the_normal_distribution_takes_over_smoothly(chance):
    """Around the variance of 100 where the count of all outcomes ends."""
    for variance in (99, 99.9, 100.1, 120):
        chances = np.full(round(variance / (chance * (1 - chance))), chance)
        counts = np.arange(chances.size + 1)
        exact = stats.binom(chances.size, chance).pmf(counts) @ np.abs(counts / chances.size - chance)
        assert calibration(chances > 2, chances).expected_of_calibrated == pytest.approx(exact, rel=0.002)


def test_empty_and_bad():
    facts = calibration([], [], bins=3)
    assert facts.count.tolist() == [0, 0, 0]
    assert np.isnan([facts.error, facts.largest_gap, facts.expected_of_calibrated]).all()
    assert np.isnan(calibration([1], [0.9], bins=2).share[0])
    assert calibration([1], [0.9], bins=2.0).error == calibration([1], [0.9], bins=2).error
    for bins in (0, 2.5):
        with pytest.raises(InputError, match="bins is a whole number"):
            expected_calibration_error([0, 1], [0.1, 0.9], bins=bins)
    with pytest.raises(InputError, match="between 0 and 1"):
        calibration([0, 1], [0.1, 1.9])
    with pytest.raises(InputError, match="one row of samples"):
        calibration([[0, 1], [1, 0]], [[0.1, 0.9], [0.2, 0.8]])
