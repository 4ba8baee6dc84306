"""Centres of mass and landmarks."""

import numpy as np
import pytest
from scipy import ndimage

from podium.metrics import Centres, centre_distance, centres, landmark_error, landmark_error_percentile, landmark_errors
from podium.model import InputError, LabelMap


@pytest.mark.parametrize("shape", [(9, 8), (7, 9, 8)])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_like_scipy(shape, layout):
    reference, prediction = np.random.default_rng(0).integers(0, 4, (2, *shape))
    spacing = (0.7, 1.3, 2.9)[: len(shape)]
    found = centres(layout(reference), layout(prediction), regions={"r": (1, 3)}, spacing_mm=spacing)["r"]
    for ours, labels in ((found.reference, reference), (found.prediction, prediction)):
        np.testing.assert_allclose(ours, ndimage.center_of_mass(np.isin(labels, (1, 3))))
    difference = np.subtract(found.prediction, found.reference) * spacing
    assert centre_distance(found) == pytest.approx(np.sqrt((difference**2).sum()))


def test_a_shift_of_known_millimetres():
    mask = np.zeros((20, 20, 10), np.uint8)
    mask[3:7, 4:9, 2:5] = 1
    maps = [LabelMap.from_array(array, spacing=(1, 2, 6)) for array in (mask, np.roll(mask, (3, 2), (0, 1)))]
    assert centre_distance(centres(*maps, regions={"r": (1,)})["r"]) == 5


def test_empty_cases():
    some, none = np.ones((3, 3), bool), np.zeros((3, 3), bool)
    assert Centres.between(none, some).empty == "reference"
    assert centre_distance(Centres.between(some, none)) == np.inf
    assert centre_distance(Centres.between(none, none)) == 0


def test_landmarks_by_hand():
    assert landmark_error([[0, 0, 0], [1, 2, 3]], [[0, 3, 4], [1, 2, 3]]) == 2.5
    assert landmark_error([[1, 1]], [[4, 5]]) == 5
    assert np.isnan(landmark_error(np.zeros((0, 3)), np.zeros((0, 3))))


def test_errors_of_single_landmarks_and_their_percentiles():
    reference, prediction = [[0, 0], [0, 0], [0, 0], [9, 9]], [[3, 4], [0, 2], [1, 0], [9, 9]]
    assert landmark_errors(reference, prediction).tolist() == [5, 2, 1, 0]
    for percentile, expected in ((0, 0), (50, 1.5), (75, 2.75), (100, 5)):
        assert landmark_error_percentile(reference, prediction, percentile=percentile) == expected
    weights = [[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 2, 1]]
    assert landmark_error(reference, prediction, weights=weights).tolist() == [2, 5, 1]
    assert landmark_error_percentile(reference, prediction, percentile=50, weights=weights).tolist() == [1.5, 5, 1]


@pytest.mark.parametrize(
    ("reference", "prediction", "message"),
    [
        ([[0, 0, 0]], [[0, 0, 0], [1, 1, 1]], "equal shape"),
        ([0, 0], [0, 0], "equal shape"),
        ([[0, 0, 0]], [[0, np.nan, 0]], "not a finite number"),
        ([[0, 0, np.inf]], [[0, 0, 0]], "not a finite number"),
    ],
)
def test_bad_landmarks(reference, prediction, message):
    with pytest.raises(InputError, match=message):
        landmark_error(reference, prediction)
