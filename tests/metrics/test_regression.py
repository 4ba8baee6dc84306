"""Regression errors: by hand, against SciPy, and with weights."""

from fractions import Fraction

import numpy as np
import peers
import pytest
from scipy import stats

from podium.metrics import (
    absolute_error_percentile,
    bias,
    bland_altman,
    coefficient_of_determination,
    coefficient_of_variation,
    concordance_correlation,
    intraclass_correlation,
    mean_absolute_error,
    median_absolute_error,
    metrics,
    pearson_correlation,
    root_mean_square_error,
)
from podium.model import InputError

METRICS = (
    mean_absolute_error,
    root_mean_square_error,
    bias,
    pearson_correlation,
    absolute_error_percentile,
    median_absolute_error,
    coefficient_of_determination,
    coefficient_of_variation,
    concordance_correlation,
    intraclass_correlation,
)


def test_all_are_here():
    assert sorted(metric.name for metric in metrics(family="regression")) == sorted(metric.name for metric in METRICS)


def test_by_hand():
    reference, prediction = [1, 2, 3, 4], [2, 2, 5, 3]
    assert mean_absolute_error(reference, prediction) == 1
    assert root_mean_square_error(reference, prediction) == np.sqrt(6 / 4)
    assert bias(reference, prediction) == 0.5
    agreement = bland_altman(reference, prediction)
    assert agreement.bias == 0.5
    assert agreement.deviation == pytest.approx(np.sqrt((0.25 + 0.25 + 2.25 + 2.25) / 3))
    assert agreement.upper - agreement.lower == pytest.approx(2 * 1.96 * agreement.deviation)


def test_more_by_hand():
    reference, prediction = [1, 2, 3, 4], [2, 2, 5, 3]
    assert median_absolute_error(reference, prediction) == 1
    assert absolute_error_percentile(reference, prediction, percentile=90) == pytest.approx(1 + 0.7 * 1)
    assert absolute_error_percentile(reference, prediction, percentile=100) == 2
    assert coefficient_of_determination(reference, prediction) == pytest.approx(1 - 6 / 5)
    # each pair: difference over √2, over the mean
    squares = [(1 / 1.5) ** 2 / 2, 0, (2 / 4) ** 2 / 2, (1 / 3.5) ** 2 / 2]
    assert coefficient_of_variation(reference, prediction) == pytest.approx(np.sqrt(sum(squares) / 4))


@pytest.mark.parametrize("seed", range(5))
def test_like_scikit_learn(seed):
    peer = peers.scikit_learn()
    generator = np.random.default_rng(seed)
    reference, prediction = generator.normal(size=(2, 30))
    weights = generator.integers(0, 3, 30)
    expected = peer.r2_score(reference, prediction, sample_weight=weights)
    assert coefficient_of_determination(reference, prediction, weights=weights) == pytest.approx(expected)
    assert median_absolute_error(reference, prediction) == pytest.approx(
        peer.median_absolute_error(reference, prediction)
    )


@pytest.mark.parametrize("percentile", [0, 12.5, 50, 95, 100])
def test_percentiles_like_numpy(percentile):
    generator = np.random.default_rng(3)
    reference, prediction = generator.integers(0, 9, (2, 15))
    weights = generator.integers(0, 4, (2, 6, 15))
    values = absolute_error_percentile(reference, prediction, percentile=percentile, weights=weights)
    for place in np.ndindex(2, 6):
        repeated = np.repeat(np.abs(reference - prediction), weights[place])
        assert values[place] == pytest.approx(np.percentile(repeated, percentile), rel=1e-12)
    assert np.isnan(absolute_error_percentile([1], [2], weights=[0]))


def test_bad_percentiles():
    with pytest.raises(InputError, match="between 0 and 100"):
        absolute_error_percentile([1], [2], percentile=101)
    with pytest.raises(InputError, match="whole numbers"):
        median_absolute_error([1], [2], weights=[0.5])


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e300])
def test_a_constant_explains_nothing(constant):
    """scikit-learn says 1 for a perfect prediction of it and 0 for any other."""
    assert np.isnan(coefficient_of_determination([constant] * 3, [constant] * 3))
    assert np.isnan(coefficient_of_determination([constant] * 3, [1, 2, 3]))


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_determination_of_any_magnitude(size):
    assert coefficient_of_determination([size, 2 * size, 3 * size], [size, 2 * size, 4 * size]) == pytest.approx(0.5)
    assert coefficient_of_determination([1, 2], [1e300, 2]) == -np.inf


def test_variation_of_nothing_is_undefined():
    assert np.isnan(coefficient_of_variation([1, -1], [1, 1]))
    assert np.isnan(coefficient_of_variation([1, 0], [1, 0]))
    assert coefficient_of_variation([1, -1], [1, 1], weights=[1, 0]) == 0


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


def variance_of_repeated(differences):
    """Return within + between variance of lists of differences, one list a subject, in fractions."""
    everything = [d for own in differences for d in own]
    n, people = len(everything), len(differences)
    means = [Fraction(sum(own), len(own)) for own in differences]
    grand = Fraction(sum(everything), n)
    within = sum((d - mean) ** 2 for own, mean in zip(differences, means, strict=True) for d in own) / (n - people)
    between = sum(len(own) * (mean - grand) ** 2 for own, mean in zip(differences, means, strict=True)) / (people - 1)
    repeats = Fraction(n**2 - sum(len(own) ** 2 for own in differences), (people - 1) * n)
    return within + max((between - within) / repeats, Fraction(0))


@pytest.mark.parametrize("seed", range(10))
def test_agreement_of_repeated_measures_in_fractions(seed):
    generator = np.random.default_rng(seed)
    counts = [1, 2, *generator.integers(1, 5, int(generator.integers(0, 5)))]
    differences = [generator.integers(-9, 9, count).tolist() for count in counts]
    subjects = np.repeat(np.arange(len(counts)), counts)
    order = generator.permutation(subjects.size)
    values = np.concatenate(differences)[order]
    agreement = bland_altman(np.zeros(values.size), values, subjects=subjects[order])
    assert agreement.bias == pytest.approx(values.mean())
    assert agreement.deviation**2 == pytest.approx(float(variance_of_repeated(differences)), rel=1e-12)
    assert agreement.upper - agreement.bias == pytest.approx(1.96 * agreement.deviation)


def test_agreement_of_repeated_measures_like_a_mixed_model():
    """With as many pairs for each subject, analysis of variance and restricted likelihood agree."""
    generator = np.random.default_rng(4)
    subjects = np.repeat(np.arange(30), 4)
    values = generator.normal(0, 2, 30)[subjects] + generator.normal(1, 1, 120)
    agreement = bland_altman(np.zeros(120), values, subjects=subjects)
    assert agreement.deviation**2 == pytest.approx(sum(peers.statsmodels_variances(values, subjects)), rel=1e-4)


def test_repeated_measures_need_repetitions():
    names = ["a", "b", "c"]
    assert np.isnan(bland_altman([0, 0, 0], [1, 2, 3], subjects=names).deviation)
    assert np.isnan(bland_altman([0, 0, 0], [1, 2, 3], subjects=["a"] * 3).deviation)
    assert bland_altman([0, 0, 0], [1, 2, 3], subjects=names).bias == 2
    with pytest.raises(InputError, match="3 pairs of measurements, but 2 subjects"):
        bland_altman([0, 0, 0], [1, 2, 3], subjects=["a", "b"])


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
