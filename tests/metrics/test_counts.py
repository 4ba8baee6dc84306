"""Counts made by hand: what cannot be is refused where they are put together, whatever is made of them."""

import inspect
import pickle

import numpy as np
import pytest

from podium.metrics import (
    BettiNumbers,
    BinaryCounts,
    BoundaryBands,
    CentreLines,
    ClassCounts,
    Detections,
    ImageDetections,
    InstanceCounts,
    Overlap,
    dice,
    f1_scores,
    froc_score,
    segmentation_average_precision,
    specificity,
)
from podium.model import InputError


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Overlap(common=10, reference=3, prediction=2),
            "is 10, reference 3. common is a number from 0 to",
        ),
        (lambda: Overlap(common=3, reference=3, prediction=2), "common is 3, prediction 2"),
        (lambda: Overlap(-1, 3, 2), "common is -1"),
        (lambda: Overlap(np.nan, 3, 2), "common is nan"),
        (lambda: Overlap(1, np.inf, 2), "reference inf"),
        (lambda: Overlap("1", 3, 2), "common is a number, or an array of numbers, not '1'"),
        (lambda: Overlap(None, 3, 2), "common is a number, or an array of numbers, not None"),
        (lambda: Overlap(1, 3, 2, 0.0), "the volume of a voxel is a finite number above 0"),
        (lambda: Overlap(1, 3, 2, "1"), "the volume of a voxel is a finite number above 0"),
        (lambda: BoundaryBands(4, 3, 5, 1.0), "common is 4, reference 3"),
        (lambda: BoundaryBands(1, 3, 5, -1.0), "a width is a length from 0"),
        (lambda: CentreLines(3, 5, 2, 1), "reference_inside is 5, reference 3"),
        (lambda: CentreLines(3, 2, 2, 3), "prediction_inside is 3, prediction 2"),
        (lambda: InstanceCounts(1.0, 1.0, 2.0, 1.0, 1.0), "matched_references is 2, references 1"),
        (lambda: InstanceCounts(1.0, 1.0, 1.0, 2.0, 1.0), "matched_predictions is 2, predictions 1"),
        (lambda: InstanceCounts(3.0, 3.0, 1.0, 1.0, 1.5), "quality is 1.5, matched_references 1"),
        (lambda: InstanceCounts(*np.ones((4, 2)), [0.5, 1.5]), "quality is 1.5, matched_references 1"),
        (lambda: InstanceCounts(*np.ones((4, 2)), np.ones(3)), r"quality has the shape \(3,\)"),
        (lambda: InstanceCounts(np.ones(2), 1.0, np.ones(2), 1.0, np.ones(2)), "of one shape"),
        (lambda: InstanceCounts(*[[1, 2], [1]] * 2, [[1], [1, 2]]), "is a number, or an array of numbers"),
        (lambda: BinaryCounts(1.0, -1.0, 2.0, 3.0), "false_positives counts something.* not -1"),
        (lambda: BinaryCounts(1.0, 1.0, np.array([1.0, np.nan]), 3.0), "false_negatives counts something.* not nan"),
        (lambda: BinaryCounts(1.0, 1.0, "2", 3.0), "false_negatives is a number"),
        (lambda: ClassCounts(np.array([3.0, -0.5]), 1.0, 1.0), "true_positives counts something.* not -0.5"),
        (lambda: BettiNumbers(1, -1, 0), "tunnels counts something"),
        (lambda: ImageDetections(np.array([0.9, 0.8]), np.array([True, True]), 1), "hits is 2, references 1"),
        (lambda: ImageDetections([0.9], [True], -1), "whole number from 0, not -1"),
        (lambda: ImageDetections([0.9], [True], 1.5), "whole number from 0, not 1.5"),
        (lambda: ImageDetections([0.9], [True], "1"), "whole number from 0, not '1'"),
        (lambda: ImageDetections([0.9], [0.4], 1), "a prediction is right or not"),
        (lambda: ImageDetections([0.9, 0.8], [True], 2), "one entry for each prediction"),
        (lambda: ImageDetections([np.nan], [True], 2), "a score is not a number"),
        (lambda: Detections(np.array([0, 0]), np.ones(2, bool), np.ones(2, bool), np.array([1, 5])), "hits is 2"),
        (lambda: Detections(np.array([0, 2]), np.ones(2, bool), np.ones(2, bool), np.array([1, 5])), "one of 2 images"),
        (lambda: Detections(np.array([0]), np.ones(2, bool), np.ones(2, bool), np.array([1])), "one entry for each"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_what_can_be_is_taken_in_any_shape():
    assert dice(Overlap(np.int64(3), np.int64(4), np.int64(6))) == 0.6
    assert dice(Overlap(0, 0, 0)) == 1
    assert specificity(BinaryCounts(1, 1, 2, 3)) == 0.75
    assert specificity(BinaryCounts(*np.ones((4, 5, 2)))).shape == (5, 2)
    assert f1_scores(ClassCounts([1, 0], [0, 0], [1, 0]))[0] == pytest.approx(2 / 3)
    assert InstanceCounts.pooled([InstanceCounts(*np.ones((5, 2, 3)))] * 2).references.shape == (2, 3)
    by_hand = Detections.of([ImageDetections([0.9, 0.8], [1, 0], np.int64(1))])
    assert froc_score(by_hand) == 1
    assert froc_score(Detections.of([ImageDetections([], [], 2)])) == 0


def test_sums_with_weights_are_counts_although_they_are_rounded():
    """A third of three images is not quite one; a count that should be 0 is a little less."""
    image = InstanceCounts(*np.array([7.0, 7.0, 7.0, 7.0, 7.0]))
    weights = np.random.default_rng(0).random((200, 11))
    assert InstanceCounts.pooled([image] * 11, weights=weights).references.shape == (200,)
    matrices = np.random.default_rng(1).random((500, 3, 3))
    matrices[:, :, 0] = matrices[:, 0] = 0
    counts = BinaryCounts.of(matrices)
    assert counts.true_negatives.min() > -1e-12
    assert InstanceCounts(0.3, 0.3, 0.1 + 0.2, 0.1 + 0.2, 0.3).quality == 0.3


def test_a_prediction_that_belongs_to_two_is_never_false():
    """Two of three references share one prediction: of three and no false one, two are found."""
    counts = InstanceCounts(*(np.array([number]) for number in (3.0, 1.0, 2.0, 1.0, 1.1)))
    assert segmentation_average_precision(counts) == pytest.approx(2 / 3)


def test_checked_tuples_stay_tuples():
    counts = BinaryCounts(1.0, 2.0, 3.0, true_negatives=4.0)
    assert counts == (1.0, 2.0, 3.0, 4.0) == pickle.loads(pickle.dumps(counts))
    assert counts._replace(true_positives=2.0).support == 5
    assert list(inspect.signature(BinaryCounts).parameters) == list(BinaryCounts._fields)
    with pytest.raises(TypeError, match="missing"):
        BinaryCounts(1.0)
