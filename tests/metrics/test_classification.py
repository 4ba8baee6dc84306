"""Classification: by hand, and against the definitions counted sample by sample."""

import numpy as np
import pytest

from podium.metrics import (
    ClassCounts,
    balanced_accuracy,
    confusion_matrix,
    error_rate,
    f1_scores,
    macro_f1,
    mean_over_defined,
)
from podium.model import InputError

REFERENCE = [0, 0, 0, 0, 1, 1, 1, 2]
PREDICTION = [0, 0, 1, 2, 1, 1, 0, 2]


def test_by_hand():
    assert confusion_matrix(REFERENCE, PREDICTION).tolist() == [[2, 1, 1], [1, 2, 0], [0, 0, 1]]
    counts = ClassCounts.of(confusion_matrix(REFERENCE, PREDICTION))
    assert [list(count) for count in counts] == [[2, 2, 1], [1, 1, 1], [2, 1, 0]]
    np.testing.assert_allclose(f1_scores(counts), [4 / 7, 4 / 6, 2 / 3])
    assert macro_f1(REFERENCE, PREDICTION) == pytest.approx((4 / 7 + 4 / 6 + 2 / 3) / 3)
    assert balanced_accuracy(REFERENCE, PREDICTION) == pytest.approx((2 / 4 + 2 / 3 + 1) / 3)
    assert error_rate(REFERENCE, PREDICTION) == 3 / 8


def test_classes_have_names_and_an_order():
    matrix = confusion_matrix(["b", "a"], ["b", "b"], classes=["b", "a", "c"])
    assert matrix.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_a_class_that_never_occurs_is_left_out_of_the_mean():
    scores = f1_scores(ClassCounts.of(confusion_matrix([0, 1], [0, 1], classes=[0, 1, 2])))
    assert np.isnan(scores[2])
    assert macro_f1([0, 1], [0, 1], classes=[0, 1, 2]) == 1
    assert macro_f1([0, 0], [1, 1], classes=[0, 1, 2]) == 0
    assert balanced_accuracy([0, 0], [0, 2], classes=[0, 1, 2]) == 0.5
    assert np.isnan(mean_over_defined([np.nan, np.nan]))


def test_counts_keep_leading_axes():
    matrices = np.random.default_rng(0).integers(0, 5, (4, 3, 3))
    scores = f1_scores(ClassCounts.of(matrices))
    assert scores.shape == (4, 3)
    np.testing.assert_array_equal(scores[2], f1_scores(ClassCounts.of(matrices[2])))


def test_bad_classes():
    with pytest.raises(InputError, match="2 true and 1 predicted"):
        confusion_matrix([0, 1], [0])
    with pytest.raises(InputError, match="2 true and 1 predicted"):
        error_rate([0, 1], [0])
    with pytest.raises(InputError, match="is not one of the classes 0, 1"):
        confusion_matrix([0, 1], [0, 2], classes=[0, 1])
