"""Regression errors: by hand, against SciPy, and with weights."""

import numpy as np
import pytest
from scipy import stats

from podium.metrics import (
    bias,
    bland_altman,
    mean_absolute_error,
    pearson_correlation,
    root_mean_square_error,
)
from podium.model import InputError

METRICS = (mean_absolute_error, root_mean_square_error, bias, pearson_correlation)


def test_by_hand():
    reference, prediction = [1, 2, 3, 4], [2, 2, 5, 3]
    assert mean_absolute_error(reference, prediction) == 1
    assert root_mean_square_error(reference, prediction) == np.sqrt(6 / 4)
    assert bias(reference, prediction) == 0.5
    agreement = bland_altman(reference, prediction)
    assert agreement.bias == 0.5
    assert agreement.deviation == pytest.approx(np.sqrt((0.25 + 0.25 + 2.25 + 2.25) / 3))
    assert agreement.upper - agreement.lower == pytest.approx(2 * 1.96 * agreement.deviation)


def test_pearson_like_scipy():
    generator = np.random.default_rng(0)
    for offset in (0, 1e6):
        one = generator.normal(size=100) + offset
        two = one + generator.normal(size=100)
        assert pearson_correlation(one, two) == pytest.approx(stats.pearsonr(one, two).statistic, rel=1e-9)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e300])
def test_a_constant_has_no_correlation(constant):
    assert np.isnan(pearson_correlation([1, 2, 3], [constant] * 3))
    assert np.isnan(pearson_correlation([constant] * 3, [1, 2, 3]))
    assert np.isnan(pearson_correlation([1, 2, 5], [1, 2, 3], weights=[0, 1, 0]))


def test_weights_are_repetitions():
    generator = np.random.default_rng(1)
    reference, prediction = generator.normal(size=(2, 12))
    weights = generator.integers(0, 4, (5, 12))
    for metric in METRICS:
        weighted = metric(reference, prediction, weights=weights)
        repeated = [metric(np.repeat(reference, w), np.repeat(prediction, w)) for w in weights]
        np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


def test_leading_axes_are_kept():
    reference, prediction = np.random.default_rng(2).normal(size=(2, 3, 4, 10))
    for metric in METRICS:
        values = metric(reference, prediction)
        assert values.shape == (3, 4)
        assert values[1, 2] == pytest.approx(float(metric(reference[1, 2], prediction[1, 2])))


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_agreement_of_any_magnitude(size):
    agreement = bland_altman([0, 0, 0], [size, 2 * size, 3 * size])
    assert (agreement.bias / size, agreement.deviation / size) == pytest.approx((2, 1))


def test_one_sample_has_no_limits_of_agreement():
    agreement = bland_altman([1], [3])
    assert agreement.bias == 2
    assert np.isnan([agreement.deviation, agreement.lower, agreement.upper]).all()
    assert np.isnan(bland_altman([], []).bias)


@pytest.mark.parametrize("metric", METRICS)
def test_bad_samples(metric):
    for arguments, message in (
        (([1, 2], [1, 2, 3]), "as many samples"),
        (([1, np.nan], [1, 2]), "not a finite number"),
        (([1, 2], [1, np.inf]), "not a finite number"),
    ):
        with pytest.raises(InputError, match=message):
            metric(*arguments)
    for weights in ([1, -1], [1, 2, 3]):
        with pytest.raises(InputError, match="weights"):
            metric([1, 2], [1, 2], weights=weights)
