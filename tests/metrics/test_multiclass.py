"""Probabilities of several classes: by hand, sample by sample, and beside other tools."""

from itertools import permutations

import numpy as np
import peers
import pytest

from podium.metrics import (
    brier_score,
    macro_area_under_precision_recall,
    macro_area_under_roc,
    multiclass_brier_score,
    multiclass_log_loss,
    top_k_accuracy,
    top_label_calibration_error,
)
from podium.model import InputError

CHANCES = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]])
CLASSES = np.array([0, 2, 1, 2])


@pytest.fixture
def drawn():
    generator = np.random.default_rng(0)
    return np.append(generator.integers(0, 4, 80), range(4)), generator.dirichlet([1, 1, 1, 1], 84)


def test_by_hand():
    assert multiclass_brier_score(CLASSES, CHANCES) == pytest.approx((0.38 + 0.78 + 0.56 + 0.06) / 4)
    assert multiclass_log_loss(CLASSES, CHANCES) == pytest.approx(-np.log([0.5, 0.3, 0.4, 0.8]).mean())
    assert top_k_accuracy(CLASSES, CHANCES) == (1 + 0 + 0.5 + 1) / 4
    assert top_k_accuracy(CLASSES, CHANCES, k=2) == 1
    # two bins: {0.4 half right}, {0.5 right, 0.5 wrong, 0.8 right}
    assert top_label_calibration_error(CLASSES, CHANCES, bins=2) == pytest.approx((0.1 + abs(1.8 - 2)) / 4)
    # class 0: 0.5 above all others; class 1: 0.4 of 0.3, 0.5, 0.1; class 2: 0.3 and 0.8 of 0.2 and 0.2
    assert macro_area_under_roc(CLASSES, CHANCES) == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert macro_area_under_precision_recall(CLASSES, CHANCES) == pytest.approx((1 + 1 / 2 + 1) / 3)


def test_two_classes_are_the_binary_case(drawn):
    truth, chances = drawn[0] % 2, drawn[1][:, 0]
    both = np.stack([1 - chances, chances], axis=1)
    assert multiclass_brier_score(truth, both) == pytest.approx(2 * brier_score(truth, chances))


def test_like_scikit_learn(drawn):
    peer = peers.scikit_learn()
    truth, chances = drawn
    assert macro_area_under_roc(truth, chances) == pytest.approx(peer.roc_auc_score(truth, chances, multi_class="ovr"))
    precision = peer.average_precision_score(np.eye(4)[truth], chances)
    assert macro_area_under_precision_recall(truth, chances) == pytest.approx(precision)
    assert multiclass_log_loss(truth, chances) == pytest.approx(peer.log_loss(truth, chances))
    assert multiclass_brier_score(truth, chances) == pytest.approx(peer.brier_score_loss(truth, chances))
    for k in (1, 2, 3):
        assert top_k_accuracy(truth, chances, k=k) == pytest.approx(peer.top_k_accuracy_score(truth, chances, k=k))


def test_like_torchmetrics(drawn):
    truth, chances = drawn
    expected = peers.torchmetrics().calibration_error(chances, truth, task="multiclass", num_classes=4, n_bins=10)
    assert top_label_calibration_error(truth, chances, bins=10) == pytest.approx(expected, rel=1e-6)


def test_a_tie_counts_with_its_chance():
    """The mean over all ways to break it; scikit-learn prefers late classes, TorchMetrics early ones."""
    scores = np.array([0.4, 0.2, 0.2, 0.2, 0.0])
    for k in range(1, 6):
        for true in range(5):
            places = [
                list(order).index(true) for order in permutations(range(5)) if (np.diff(scores[[*order]]) <= 0).all()
            ]
            expected = np.mean(np.array(places) < k)
            assert top_k_accuracy([true], [scores], k=k) == pytest.approx(expected)
    level = np.full((1, 3), 1 / 3)
    late = [peers.scikit_learn().top_k_accuracy_score([c], level, k=1, labels=[0, 1, 2]) for c in range(3)]
    assert late == [0, 0, 1]
    options = {"task": "multiclass", "num_classes": 3, "average": "micro"}
    assert [peers.torchmetrics().accuracy(level, [c], **options) for c in range(3)] == [1, 0, 0]


def test_a_class_without_samples_is_left_out():
    assert macro_area_under_roc([0, 1, 1], [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3]]) == 1
    assert np.isnan(macro_area_under_roc([1, 1], [[0.8, 0.2], [0.2, 0.8]]))


def test_certain_errors():
    assert multiclass_log_loss([0, 1], [[0, 1], [0.5, 0.5]]) == np.inf
    assert multiclass_log_loss([0, 1], [[0, 1], [0.5, 0.5]], floor=0.5) == pytest.approx(np.log(2))


def test_bad_input():
    for metric in (multiclass_brier_score, multiclass_log_loss, top_label_calibration_error):
        for chances in ([[0.5, 0.6]], [[1.5, -0.5]]):
            with pytest.raises(InputError, match="add up to 1"):
                metric([0], chances)
    for k in (0, 4, 1.5):
        with pytest.raises(InputError, match="k is a whole number"):
            top_k_accuracy(CLASSES, CHANCES, k=k)
