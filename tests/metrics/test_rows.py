"""What rows of samples may be: one rule for every metric of them, and the cure in the refusal."""

from decimal import Decimal

import laws
import numpy as np
import pytest

from podium import metrics as m
from podium.metrics import (
    BinaryCounts,
    accuracy,
    area_under_roc,
    bland_altman,
    brier_score,
    intraclass_correlation,
    macro_area_under_roc,
    mean_absolute_error,
    mean_over_defined,
    net_benefit,
)
from podium.model import InputError

SCORES = [0.1, 0.9, 0.4]


def test_columns_are_told_to_lie_down():
    column = np.array([[1], [2], [3]])
    for measure in (mean_absolute_error, intraclass_correlation, accuracy, bland_altman):
        for sides in ((column, column), (column, [1, 2, 3]), ([1, 2, 3], column), (column[None], column[None])):
            with pytest.raises(InputError, match=r"a column is given.*call \.ravel\(\)"):
                measure(*sides)
        assert measure(column.ravel(), column.ravel()) is not None
    with pytest.raises(InputError, match=r"\.ravel\(\)"):
        macro_area_under_roc(column - 1, np.full((3, 3), 1 / 3))


def test_one_sample_in_several_sets_is_no_column():
    assert mean_absolute_error([1], [[1], [3]]).tolist() == [0, 2]
    assert mean_absolute_error([[1]], [[1]]).tolist() == [0]
    assert mean_absolute_error([1], [3], weights=[[1], [0]])[0] == 2


def test_sets_must_go_together():
    with pytest.raises(InputError, match="do not go together"):
        mean_absolute_error(np.ones((3, 2)), np.ones((2, 2)))
    with pytest.raises(InputError, match="do not go together"):
        mean_absolute_error(np.ones((3, 2)), np.ones((3, 2)), weights=np.ones((2, 2)))


@pytest.mark.parametrize(
    ("reference", "advice"),
    [
        ([0, 255, 0], "not 255. Write reference > 0"),
        ([1, 2, 1], "not 2. Write reference == 2 if"),
        ([-1, 1, 1], "not -1. Write reference == 1 if"),
        ([0, 1, 2], "not 2. See one_against_rest"),
        (["pos", "neg", "pos"], "text given: pos. If these are two classes, compare: values == 'pos'"),
        (np.array(["pos", "neg", "pos"], object), "values == 'pos'"),
    ],
)
def test_labels_of_other_values_are_shown_the_comparison(reference, advice):
    for measure in (area_under_roc, brier_score, net_benefit):
        with pytest.raises(InputError) as refusal:
            measure(reference, SCORES)
        assert advice in str(refusal.value)


def test_decisions_are_shown_it_too():
    for advice, sides in (
        ("Write reference > 0", ([0, 255], [0, 1])),
        ("Write prediction > 0", ([0, 1], [0, 255])),
        ("values == 'yes'", (["yes", "no"], [0, 1])),
        ("scores >= 0.5", ([0, 1], [0.2, 0.9])),
    ):
        with pytest.raises(InputError) as refusal:
            BinaryCounts.between(*sides)
        assert advice in str(refusal.value)


def test_objects_are_what_they_hold():
    numbers = np.array([Decimal("1.5"), 2, np.float32(3)], object)
    assert mean_absolute_error(numbers, [1.5, 2, 4]) == pytest.approx(1 / 3)
    assert accuracy(np.array(["a", "b"], object), ["a", "c"]) == 0.5
    for values in ([1, None], [1, "2"], [10**400], [{1}, {2}], {1, 2}, None, [[1], [1, 2]]):
        with pytest.raises(InputError):
            mean_absolute_error(np.array(values, object) if values == [1, "2"] else values, [1, 2])


def test_weights_and_subjects_are_checked_alike():
    for weights in ("ab", ["1", "2"], [1j, 1], [np.nan, 1], [[1], [1, 2]], {}):
        with pytest.raises(InputError):
            mean_absolute_error([1, 2], [1, 2], weights=weights)
    for subjects in ([np.nan, 1, 1], [None, "a", "a"], [1j, 1, 1]):
        with pytest.raises(InputError):
            bland_altman([1, 2, 3], [1, 2, 4], subjects=subjects)
    with pytest.raises(InputError):
        mean_over_defined(["a"])
    with pytest.raises(InputError):
        mean_over_defined([1.0], ["a"])


TWO = np.stack([np.eye(4)] * 2)
IMAGE = np.random.default_rng(0).random((12, 12))
BESIDE = {
    "intraclass_correlations": m.intraclass_correlations,
    "their confidence": lambda value: m.intraclass_correlations([[1, 2], [2, 3], [4, 4]], confidence=value),
    "calibration": lambda value: m.calibration([0, 1, 1], value),
    "its bins": lambda value: m.calibration([0, 1, 1], SCORES, bins=value),
    "kappas": m.kappas,
    "their disagreement": lambda value: m.kappas([[1, 2], [3, 4]], disagreement=value),
    "structural_similarity_map": lambda value: m.structural_similarity_map(IMAGE, value, data_range=1.0),
    "its range": lambda value: m.structural_similarity_map(IMAGE, IMAGE, data_range=value),
    "its sigma": lambda value: m.structural_similarity_map(IMAGE, IMAGE, data_range=1.0, sigma=value),
    "jacobian_determinants": m.jacobian_determinants,
    "their differences": lambda value: m.jacobian_determinants(np.zeros((2, 4, 4)), differences=value),
    "bland_altman": lambda value: m.bland_altman([1, 2], value),
    "delong_covariance": lambda value: m.delong_covariance([0, 1, 1], value),
    "its reference": lambda value: m.delong_covariance(value, SCORES),
    "one_against_rest": lambda value: m.one_against_rest([0, 1], value),
    "classes of it": lambda value: m.one_against_rest(value, [[1, 0], [0, 1]]),
    "landmark_errors": lambda value: m.landmark_errors(value, value),
    "relative_transforms": lambda value: m.relative_transforms(TWO, np.eye(4), to=value),
    "BinaryCounts.between": lambda value: m.BinaryCounts.between(value, [0, 1]),
    "BinaryCounts.of": m.BinaryCounts.of,
    "ClassCounts.of": m.ClassCounts.of,
    "f1_scores": m.f1_scores,
    "confusion_matrix": lambda value: m.confusion_matrix(value, value),
    "matthews_correlations": m.matthews_correlations,
    "weights of mean_over_defined": lambda value: m.mean_over_defined([1.0], value),
}
"""What is beside the registry, by what is given a value."""


@pytest.mark.parametrize("what", laws.HOSTILE)
@pytest.mark.parametrize("call", BESIDE)
def test_what_is_beside_the_registry_refuses_the_same(call, what):
    with pytest.raises(InputError):
        BESIDE[call](laws.HOSTILE[what])
