"""Scores and probabilities of two classes: by hand, pair by pair in fractions, and beside other tools."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import peers
import pytest

from podium.metrics import (
    area_under_precision_recall,
    area_under_roc,
    brier_score,
    delong_covariance,
    log_loss,
    mean_over_defined,
    net_benefit,
    one_against_rest,
)
from podium.model import InputError

METRICS = (area_under_roc, area_under_precision_recall, brier_score, log_loss, net_benefit)


def random_scores(generator, size):
    """Return truth with both classes and scores with ties."""
    truth = np.append(generator.integers(0, 2, size - 2), [0, 1])
    return truth, generator.integers(0, generator.integers(2, 12), size) / 8


def pairwise_area(truth, scores, weights):
    """Count every pair of a positive and a negative sample."""
    rows = [(int(w), Fraction(float(s))) for w, s in zip(weights, scores, strict=True)]
    positives = [row for row, one in zip(rows, truth, strict=True) if one]
    negatives = [row for row, one in zip(rows, truth, strict=True) if not one]
    won = sum(Fraction(v * w) * (1 if s > t else Fraction(s == t, 2)) for v, s in positives for w, t in negatives)
    pairs = sum(v * w for v, _ in positives for w, _ in negatives)
    return won / pairs if pairs else None


def stepwise_precision(truth, scores, weights):
    """Add up precision times gain of recall, threshold by threshold."""
    total = sum(int(w) for w, one in zip(weights, truth, strict=True) if one)
    if not total:
        return None
    area, before = Fraction(0), 0
    for threshold in sorted(set(scores), reverse=True):
        called = [(int(w), one) for w, s, one in zip(weights, scores, truth, strict=True) if s >= threshold]
        right = sum(w for w, one in called if one)
        if right > before:
            area += Fraction(right - before, total) * Fraction(right, sum(w for w, _ in called))
        before = right
    return area


def test_by_hand():
    truth, scores = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    assert area_under_roc(truth, scores) == 3 / 4
    assert area_under_precision_recall(truth, scores) == pytest.approx(1 / 2 * 1 + 1 / 2 * 2 / 3)
    assert area_under_roc(truth, [1, 1, 1, 1]) == 1 / 2
    assert area_under_precision_recall(truth, [1, 1, 1, 1]) == 1 / 2
    assert brier_score([1, 0], [0.5, 0.25]) == (0.25 + 0.0625) / 2
    assert log_loss([1, 0], [0.5, 0.75]) == pytest.approx((np.log(2) + np.log(4)) / 2)
    assert net_benefit([1, 0, 0, 0], [0.5, 0.2, 0.1, 0.0], threshold=0.2) == 1 / 4 - 1 / 4 * 0.25


@pytest.mark.parametrize("seed", range(30))
def test_areas_are_the_fractions_they_should_be(seed):
    generator = np.random.default_rng(seed)
    truth, scores = random_scores(generator, int(generator.integers(2, 16)))
    weights = generator.integers(0, 4, (6, truth.size))
    areas, precisions = (
        metric(truth, scores, weights=weights) for metric in (area_under_roc, area_under_precision_recall)
    )
    for weight, area, precision in zip(weights, areas, precisions, strict=True):
        exact = pairwise_area(truth, scores, weight)
        assert np.isnan(area) if exact is None else area == float(exact)  # to the last digit
        exact = stepwise_precision(truth, scores, weight)
        assert np.isnan(precision) if exact is None else precision == pytest.approx(float(exact), rel=1e-14)


def test_every_rescaling_that_keeps_the_order_keeps_the_areas():
    generator = np.random.default_rng(0)
    truth, scores = random_scores(generator, 200)
    for metric in (area_under_roc, area_under_precision_recall):
        for changed in (scores * 1e300, 8 * scores * 5e-324, np.exp(scores), scores - 1e6):
            assert metric(truth, changed) == metric(truth, scores)
    assert area_under_roc(truth, -scores) == pytest.approx(1 - area_under_roc(truth, scores), rel=1e-14)
    assert area_under_roc(1 - truth, scores) == pytest.approx(1 - area_under_roc(truth, scores), rel=1e-14)


def test_leading_axes_meet():
    generator = np.random.default_rng(1)
    truth, scores = generator.integers(0, 2, (3, 40)), generator.integers(0, 9, (5, 1, 40)) / 8
    weights = generator.integers(0, 3, (4, 1, 1, 40))
    for metric in METRICS:
        values = metric(truth, scores.clip(0.1, 0.9), weights=weights)
        assert values.shape == (4, 5, 3)
        alone = metric(truth[2], scores[3, 0].clip(0.1, 0.9), weights=weights[1, 0, 0])
        assert values[1, 3, 2] == pytest.approx(alone, rel=1e-12)


def test_odd_layouts_give_the_same():
    generator = np.random.default_rng(2)
    truth, scores = random_scores(generator, 60)
    weights = generator.integers(0, 3, (60, 10))
    for metric in (area_under_roc, area_under_precision_recall):
        expected = metric(truth, scores, weights=np.ascontiguousarray(weights.T))
        np.testing.assert_array_equal(metric(truth, scores, weights=weights.T), expected)
        np.testing.assert_array_equal(metric(truth[::-1], scores[::-1], weights=weights.T[:, ::-1]), expected)
        np.testing.assert_array_equal(metric(truth == 1, scores.astype(np.float32), weights=weights.T), expected)


def test_threads_and_repeated_calls_stay_exact():
    generator = np.random.default_rng(3)
    truth, scores = random_scores(generator, 500)
    weights = generator.integers(0, 3, (200, 500))
    for metric in (area_under_roc, area_under_precision_recall):
        expected = metric(truth, scores, weights=weights)
        with ThreadPoolExecutor(4) as threads:
            values = list(threads.map(lambda _, m=metric: m(truth, scores, weights=weights), range(12)))
        assert all(np.array_equal(value, expected) for value in values)


def test_empty_cases():
    nothing = np.zeros((0, 5)), np.zeros((0, 5))
    for metric in METRICS:
        assert np.isnan(metric([], []))
        assert metric(*nothing).shape == (0,)
        assert np.isnan(metric([0, 1], [0.5, 0.5], weights=[0, 0]))
    assert np.isnan(area_under_roc([1, 1], [0.1, 0.2]))
    assert np.isnan(area_under_precision_recall([0, 0], [0.1, 0.2]))
    assert area_under_precision_recall([1, 1], [0.1, 0.2]) == 1


def test_the_impossible_costs_infinitely_much():
    assert log_loss([1, 0], [0, 0.5]) == np.inf
    assert log_loss([1, 0], [0, 0.5], weights=[0, 1]) == pytest.approx(np.log(2))
    assert log_loss([1, 0], [0, 0.5], floor=0.01) == pytest.approx((np.log(100) + np.log(2)) / 2)


def test_net_benefit_of_simple_policies():
    truth, chances = random_scores(np.random.default_rng(3), 100)
    for threshold in (0.0, 0.1, 0.25, 0.7):
        prevalence = truth.mean()
        everybody = prevalence - (1 - prevalence) * threshold / (1 - threshold)
        assert net_benefit(truth, np.ones(100), threshold=threshold) == pytest.approx(everybody)
        assert net_benefit(truth, truth, threshold=threshold or 0.1) == pytest.approx(prevalence)
        assert net_benefit(truth, np.zeros(100), threshold=threshold or 0.1) == 0
    called = chances >= 0.25
    expected = ((called & (truth == 1)).sum() - (called & (truth == 0)).sum() / 3) / 100
    assert net_benefit(truth, chances.clip(0, 1), threshold=0.25) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_like_scikit_learn(seed):
    peer = peers.scikit_learn()
    generator = np.random.default_rng(seed)
    truth, scores = random_scores(generator, int(generator.integers(5, 300)))
    weights = generator.integers(0, 5, truth.size)
    weights[-2:] = 1
    for own, other in (
        (area_under_roc, peer.roc_auc_score),
        (area_under_precision_recall, peer.average_precision_score),
        (brier_score, peer.brier_score_loss),
        (log_loss, peer.log_loss),
    ):
        chances = scores.clip(0.125, 0.875) if own in (brier_score, log_loss) else scores
        assert own(truth, chances) == pytest.approx(other(truth, chances), rel=1e-12)
        weighted = other(truth, chances, sample_weight=weights)
        assert own(truth, chances, weights=weights) == pytest.approx(weighted, rel=1e-12)
    labels, columns = generator.integers(0, 2, (50, 4)), generator.random((50, 4)).round(1)
    labels[:2] = [[0], [1]]
    for own, other in (
        (area_under_roc, peer.roc_auc_score),
        (area_under_precision_recall, peer.average_precision_score),
    ):
        np.testing.assert_allclose(own(labels.T, columns.T), other(labels, columns, average=None), rtol=1e-12)
        pooled = own(labels.reshape(-1), columns.reshape(-1))
        assert pooled == pytest.approx(other(labels, columns, average="micro"), rel=1e-12)


def test_like_torchmetrics():
    peer = peers.torchmetrics()
    truth, scores = random_scores(np.random.default_rng(4), 100)
    chances = scores.clip(0, 1)
    assert area_under_roc(truth, chances) == pytest.approx(peer.auroc(chances, truth, task="binary"), rel=1e-6)
    precision = peer.average_precision(chances, truth, task="binary")
    assert area_under_precision_recall(truth, chances) == pytest.approx(precision, rel=1e-6)


def test_where_other_tools_differ():
    """One class only is 0 in TorchMetrics, and large scores become equal; no positives are 0 in both."""
    assert peers.torchmetrics().auroc([0.2, 0.3], [1, 1], task="binary") == 0
    assert peers.scikit_learn().average_precision_score([0, 0], [0.2, 0.3]) == 0
    truth, scores = [0, 1, 0, 1], [40.0, 60.0, 50.0, 70.0]
    assert area_under_roc(truth, scores) == 1
    assert peers.torchmetrics().auroc(scores, truth, task="binary") == 0.5
    assert peers.scikit_learn().log_loss([1, 1], [0.0, 0.0], labels=[0, 1]) == pytest.approx(36.04, abs=0.01)


def test_one_class_against_the_rest():
    generator = np.random.default_rng(5)
    classes, chances = np.append(generator.integers(0, 3, 60), [0, 1, 2]), generator.dirichlet([1, 1, 1], 63)
    areas = area_under_roc(*one_against_rest(classes, chances))
    expected = peers.scikit_learn().roc_auc_score(classes, chances, multi_class="ovr")
    assert mean_over_defined(areas) == pytest.approx(expected, rel=1e-12)
    weights = generator.integers(0, 3, (7, 1, 63))
    assert area_under_roc(*one_against_rest(classes, chances), weights=weights).shape == (7, 3)
    for reference, scores, message in (
        ([0, 3], [[0.5, 0.5], [0.5, 0.5]], "numbers from 0 to 1"),
        ([0], [[0.5, 0.5], [0.5, 0.5]], "a score for every class"),
        ([0, 1], [[0.5, np.nan], [0.5, 0.5]], "finite"),
    ):
        with pytest.raises(InputError, match=message):
            one_against_rest(reference, scores)


def placements(truth, scores):
    """Return DeLong's structural components, pair by pair."""
    half = (1 + np.sign(np.subtract.outer(scores[truth == 1], scores[truth == 0]))) / 2
    return half.mean(axis=1), half.mean(axis=0)


@pytest.mark.parametrize("seed", range(5))
def test_delong_pair_by_pair(seed):
    generator = np.random.default_rng(seed)
    truth, one = random_scores(generator, 40)
    two = one + generator.integers(0, 5, 40) / 8
    covariance = delong_covariance(truth, np.stack([one, two]))
    of_positives, of_negatives = (np.stack(pair) for pair in zip(*(placements(truth, s) for s in (one, two))))  # noqa: B905
    expected = np.cov(of_positives) / of_positives.shape[1] + np.cov(of_negatives) / of_negatives.shape[1]
    np.testing.assert_allclose(covariance, expected, rtol=1e-12, atol=1e-18)
    assert delong_covariance(truth, one) == pytest.approx(covariance[0, 0])


def test_the_bootstrap_varies_as_delong_says():
    """An independent check: the spread of resampled areas is the variance that theory gives."""
    generator = np.random.default_rng(6)
    truth = (generator.random(400) < 0.4).astype(int)
    scores = (generator.normal(size=400) + truth).round(1)
    draws = generator.integers(0, 400, (4000, 400))
    weights = np.stack([np.bincount(draw, minlength=400) for draw in draws])
    areas = area_under_roc(truth, scores, weights=weights)
    assert areas.std() == pytest.approx(np.sqrt(delong_covariance(truth, scores)), rel=0.05)
    assert areas.mean() == pytest.approx(area_under_roc(truth, scores), abs=0.002)


def test_delong_of_too_few():
    assert np.isnan(delong_covariance([0, 1, 1], [0.1, 0.2, 0.3]))
    assert np.isnan(delong_covariance([0, 1, 1], [[0.1, 0.2, 0.3]] * 2)).all()
    with pytest.raises(InputError, match="one or several rows"):
        delong_covariance([0, 1], np.zeros((2, 2, 2)))


def test_bad_input():
    for metric in METRICS:
        for arguments, message in (
            (([0, 2], [0.1, 0.2]), "0 or 1"),
            (([0, 1], [0.1, np.nan]), "finite"),
            (([0, 1], [0.1]), "as many samples"),
        ):
            with pytest.raises(InputError, match=message):
                metric(*arguments)
        for weights in ([1, -1], [1, np.inf], [1, np.nan], [1]):
            with pytest.raises(InputError, match="weights"):
                metric([0, 1], [0.1, 0.2], weights=weights)
    for metric in (brier_score, log_loss, net_benefit):
        with pytest.raises(InputError, match="between 0 and 1"):
            metric([0, 1], [0.1, 1.5])
    with pytest.raises(InputError, match="threshold"):
        net_benefit([0, 1], [0.1, 0.2], threshold=1.0)
    with pytest.raises(InputError, match="floor"):
        log_loss([0, 1], [0.1, 0.2], floor=1.0)
