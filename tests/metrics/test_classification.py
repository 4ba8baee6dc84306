"""Classification: by hand, and against the definitions counted sample by sample."""

from fractions import Fraction

import numpy as np
import peers
import pytest

from podium.metrics import (
    BinaryCounts,
    ClassCounts,
    accuracy,
    balanced_accuracy,
    cohen_kappa,
    confusion_matrix,
    error_rate,
    f1_scores,
    kappas,
    macro_f1,
    matthews_correlation,
    matthews_correlations,
    mean_over_defined,
    weighted_f1,
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
    assert accuracy(REFERENCE, PREDICTION) == 5 / 8
    assert weighted_f1(REFERENCE, PREDICTION) == pytest.approx((4 * 4 / 7 + 3 * 4 / 6 + 2 / 3) / 8)
    # 5 of 8 agree; by chance 3·4 + 3·3 + 2·1 = 23 of 64 would
    assert cohen_kappa(REFERENCE, PREDICTION) == pytest.approx((40 - 23) / (64 - 23))
    assert matthews_correlation(REFERENCE, PREDICTION) == pytest.approx(17 / np.sqrt((64 - 22) * (64 - 26)))


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
    with pytest.raises(InputError, match="as many samples"):
        confusion_matrix([0, 1], [0])
    with pytest.raises(InputError, match="as many samples"):
        error_rate([0, 1], [0])
    with pytest.raises(InputError, match="is not one of the classes 0, 1"):
        confusion_matrix([0, 1], [0, 2], classes=[0, 1])
    for classes in (5, "01", ["a", "b"], [[0, 1]], {0, 1}):
        with pytest.raises(InputError, match=r"classes are a list|among the values"):
            confusion_matrix([0, 1], [0, 1], classes=classes)
    assert confusion_matrix([], [], classes=["a", "b"]).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("confusion", [5, "a", [[1, 2]], [[1, -1], [0, 1]], [[np.nan]], [["a"]], [[1], [1, 2]], [[1j]]])
def test_bad_matrices(confusion):
    for measure in (ClassCounts.of, BinaryCounts.of, matthews_correlations, kappas):
        with pytest.raises(InputError):
            measure(confusion)


def test_a_missing_class_is_no_class():
    for measure in (accuracy, error_rate, confusion_matrix, cohen_kappa):
        for sides in (([1, np.nan], [1, np.nan]), ([1, 2], [1, np.inf]), ([1, None], [1, None]), (["a", None],) * 2):
            with pytest.raises(InputError, match=r"a class is not a finite number|among the values"):
                measure(*sides)


def test_sets_of_weights_make_a_stack_of_matrices():
    generator = np.random.default_rng(1)
    reference, prediction = generator.integers(0, 4, (2, 20))
    weights = generator.integers(0, 3, (2, 3, 20))
    matrices = confusion_matrix(reference, prediction, classes=[3, 1, 0, 2, 7], weights=weights)
    assert matrices.shape == (2, 3, 5, 5)
    for place in np.ndindex(2, 3):
        repeated = (np.repeat(side, weights[place]) for side in (reference, prediction))
        np.testing.assert_array_equal(matrices[place], confusion_matrix(*repeated, classes=[3, 1, 0, 2, 7]))
    assert confusion_matrix([], [], classes=[0, 1], weights=np.zeros((3, 0))).tolist() == [[[0, 0], [0, 0]]] * 3


def test_sets_of_samples_make_a_stack_of_matrices():
    generator = np.random.default_rng(2)
    reference, prediction = generator.integers(0, 4, (3, 1, 20)), generator.integers(0, 3, (2, 20))
    weights = generator.integers(0, 3, (5, 1, 1, 20))
    matrices = confusion_matrix(reference, prediction)
    weighted = confusion_matrix(reference, prediction, weights=weights)
    assert matrices.shape == (3, 2, 4, 4)
    assert matrices.dtype == np.int64
    assert weighted.shape == (5, 3, 2, 4, 4)
    for i, j in np.ndindex(3, 2):
        sides = reference[i, 0], prediction[j]
        np.testing.assert_array_equal(matrices[i, j], confusion_matrix(*sides, classes=range(4)))
        for k in range(5):
            alone = confusion_matrix(*sides, classes=range(4), weights=weights[k, 0, 0])
            np.testing.assert_array_equal(weighted[k, i, j], alone)


@pytest.mark.parametrize("seed", range(10))
def test_kappa_in_fractions(seed):
    """Every sample of one side beside every sample of the other: what chance would do."""
    generator = np.random.default_rng(seed)
    reference, prediction = generator.integers(0, 4, (2, int(generator.integers(3, 20)))).tolist()
    costs = {"any": lambda i, j: i != j, "linear": lambda i, j: abs(i - j), "quadratic": lambda i, j: (i - j) ** 2}
    for disagreement, cost in costs.items():
        observed = Fraction(sum(int(cost(*pair)) for pair in zip(reference, prediction, strict=True)))
        chance = Fraction(sum(int(cost(i, j)) for i in reference for j in prediction), len(reference))
        value = cohen_kappa(reference, prediction, classes=range(4), disagreement=disagreement)
        assert value == pytest.approx(float(1 - observed / chance), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_like_scikit_learn(seed):
    peer = peers.scikit_learn()
    generator = np.random.default_rng(seed)
    reference, prediction = generator.integers(0, 4, (2, 50))
    weights = generator.integers(0, 3, 50)
    for disagreement, name in (("any", None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = peer.cohen_kappa_score(reference, prediction, weights=name, sample_weight=weights)
        value = cohen_kappa(reference, prediction, disagreement=disagreement, weights=weights)
        assert value == pytest.approx(expected, rel=1e-12)
    for own, other in (
        (matthews_correlation, peer.matthews_corrcoef),
        (balanced_accuracy, peer.balanced_accuracy_score),
        (accuracy, peer.accuracy_score),
    ):
        expected = other(reference, prediction, sample_weight=weights)
        assert own(reference, prediction, weights=weights) == pytest.approx(expected, rel=1e-12)
    assert weighted_f1(reference, prediction) == pytest.approx(peer.f1_score(reference, prediction, average="weighted"))
    assert accuracy(reference, prediction) == pytest.approx(peer.f1_score(reference, prediction, average="micro"))


def test_matthews_of_two_classes_is_a_correlation():
    reference, prediction = np.random.default_rng(2).integers(0, 2, (2, 30))
    assert matthews_correlation(reference, prediction) == pytest.approx(np.corrcoef(reference, prediction)[0, 1])


def test_one_class_has_no_agreement_beyond_chance():
    """Other tools say 0, or 1."""
    assert np.isnan(matthews_correlation([1, 1], [1, 0]))
    assert peers.scikit_learn().matthews_corrcoef([1, 1], [1, 0]) == 0
    assert np.isnan(matthews_correlation([1, 1], [1, 1]))
    assert peers.torchmetrics().matthews_corrcoef([1, 1], [1, 1], task="binary") == 1
    assert np.isnan(cohen_kappa([1, 1], [1, 1]))
    assert cohen_kappa([1, 1], [1, 0]) == 0


def test_functions_of_matrices_keep_leading_axes():
    matrices = np.random.default_rng(3).integers(0, 5, (2, 4, 3, 3))
    for function in (kappas, matthews_correlations):
        values = function(matrices)
        assert values.shape == (2, 4)
        assert values[1, 2] == function(matrices[1, 2])


def test_the_order_of_grades_counts():
    grades = ["none", "mild", "severe"]
    reference, prediction = ["none", "mild", "severe", "none"], ["none", "severe", "severe", "mild"]
    value = cohen_kappa(reference, prediction, classes=grades, disagreement="quadratic")
    numbers = [[grades.index(name) for name in side] for side in (reference, prediction)]
    assert value == cohen_kappa(*numbers, disagreement="quadratic")
    for disagreement in ("linear", "quadratic"):
        for sides in ((reference, prediction), (np.array(reference, object), prediction)):
            with pytest.raises(InputError, match="Give classes=, from the lowest grade"):
                cohen_kappa(*sides, disagreement=disagreement)
    assert cohen_kappa(reference, prediction) == cohen_kappa(*numbers)
    with pytest.raises(InputError, match="'any', 'linear' or 'quadratic'"):
        cohen_kappa([0, 1], [0, 1], disagreement="cubic")
