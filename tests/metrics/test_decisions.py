"""Decisions: by hand, in fractions from counts, and beside scikit-learn."""

from fractions import Fraction

import numpy as np
import peers
import pytest

from podium.metrics import (
    BinaryCounts,
    confusion_matrix,
    f_beta,
    get_metric,
    mean_over_defined,
    metrics,
    negative_likelihood_ratio,
    negative_predictive_value,
    positive_likelihood_ratio,
    positive_predictive_value,
    specificity,
    true_positive_rate,
    youden_index,
)
from podium.model import InputError


def divided(over, under):
    return Fraction(over, under) if under else None


def ratio(over, under):
    if over is None or under is None or over == under == 0:
        return None
    return over / under if under else np.inf


BY_DEFINITION = {
    "true_positive_rate": lambda tp, fp, fn, tn: divided(tp, tp + fn),
    "specificity": lambda tp, fp, fn, tn: divided(tn, tn + fp),
    "false_positive_rate": lambda tp, fp, fn, tn: divided(fp, tn + fp),
    "positive_predictive_value": lambda tp, fp, fn, tn: divided(tp, tp + fp),
    "negative_predictive_value": lambda tp, fp, fn, tn: divided(tn, tn + fn),
    "f_beta": lambda tp, fp, fn, tn: divided(2 * tp, 2 * tp + fp + fn),
    "youden_index": lambda tp, fp, fn, tn: (
        Fraction(tp, tp + fn) - Fraction(fp, fp + tn) if (tp + fn) * (fp + tn) else None
    ),
    "positive_likelihood_ratio": lambda tp, fp, fn, tn: ratio(divided(tp, tp + fn), divided(fp, fp + tn)),
    "negative_likelihood_ratio": lambda tp, fp, fn, tn: ratio(divided(fn, tp + fn), divided(tn, fp + tn)),
}


def test_all_are_here():
    assert {metric.name for metric in metrics(family="decisions")} == set(BY_DEFINITION)


def test_by_hand():
    counts = BinaryCounts.between([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0, 0, 0])
    assert [float(count) for count in counts] == [3, 1, 1, 5]
    assert true_positive_rate(counts) == 3 / 4
    assert specificity(counts) == 5 / 6
    assert positive_predictive_value(counts) == 3 / 4
    assert negative_predictive_value(counts) == 5 / 6
    assert youden_index(counts) == pytest.approx(3 / 4 + 5 / 6 - 1)
    assert positive_likelihood_ratio(counts) == pytest.approx((3 / 4) / (1 / 6))
    assert negative_likelihood_ratio(counts) == pytest.approx((1 / 4) / (5 / 6))
    assert f_beta(counts, beta=2) == 15 / 20
    assert counts.support == 4


@pytest.mark.parametrize("name", BY_DEFINITION)
def test_every_small_table(name):
    tables = np.stack(np.meshgrid(*[range(3)] * 4), axis=-1).reshape(-1, 4)
    values = get_metric(name)(BinaryCounts(*tables.T.astype(float)))
    for table, value in zip(tables, values, strict=True):
        exact = BY_DEFINITION[name](*map(int, table))
        assert np.isnan(value) if exact is None else value == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_like_scikit_learn(seed):
    peer = peers.scikit_learn()
    truth, call = np.random.default_rng(seed).integers(0, 2, (2, 40))
    counts = BinaryCounts.between(truth, call)
    assert f_beta(counts, beta=0.5) == pytest.approx(peer.fbeta_score(truth, call, beta=0.5))
    assert specificity(counts) == pytest.approx(peer.recall_score(1 - truth, 1 - call))
    assert negative_predictive_value(counts) == pytest.approx(peer.precision_score(1 - truth, 1 - call))
    ratios = positive_likelihood_ratio(counts), negative_likelihood_ratio(counts)
    assert ratios == pytest.approx(peer.class_likelihood_ratios(truth, call))


def test_a_ratio_over_nothing_is_infinite():
    """scikit-learn says NaN, though a positive call was never wrong."""
    assert positive_likelihood_ratio(BinaryCounts.between([1, 1, 0], [1, 0, 0])) == np.inf
    assert np.isnan(peers.scikit_learn().class_likelihood_ratios([1, 1, 0], [1, 0, 0])[0])


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_averages_like_scikit_learn(beta):
    peer = peers.scikit_learn()
    truth, call = np.random.default_rng(0).integers(0, 4, (2, 60))
    counts = BinaryCounts.of(confusion_matrix(truth, call))
    averages = {
        "macro": mean_over_defined(f_beta(counts, beta=beta)),
        "weighted": mean_over_defined(f_beta(counts, beta=beta), counts.support),
        "micro": f_beta(counts.pooled(), beta=beta),
    }
    for average, value in averages.items():
        assert value == pytest.approx(peer.fbeta_score(truth, call, beta=beta, average=average))
    np.testing.assert_allclose(f_beta(counts, beta=beta), peer.fbeta_score(truth, call, beta=beta, average=None))


def test_sets_of_weights():
    generator = np.random.default_rng(1)
    truth, call = generator.integers(0, 2, (2, 15))
    weights = generator.integers(0, 3, (6, 15))
    counts = BinaryCounts.between(truth, call, weights=weights)
    for number, weight in enumerate(weights):
        repeated = BinaryCounts.between(np.repeat(truth, weight), np.repeat(call, weight))
        assert [count[number] for count in counts] == list(repeated)


def test_bad_decisions():
    with pytest.raises(InputError, match=r"the prediction must be 0 or 1 .* threshold first"):
        BinaryCounts.between([0, 1], [0.2, 0.9])
    for beta in (0, -1, np.inf):
        with pytest.raises(InputError, match="β"):
            f_beta(BinaryCounts.between([0, 1], [0, 1]), beta=beta)
