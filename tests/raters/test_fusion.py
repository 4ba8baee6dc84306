"""One truth of many: by hand, and STAPLE as SimpleITK computes it."""

import numpy as np
import pytest
import SimpleITK

from podium.model import InputError
from podium.raters import FUSIONS, fuse, staple

VOTES = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [1, 0, 0, 1, 0]], bool)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("majority", [1, 1, 0, 0, 0]),
        ("intersection", [1, 0, 0, 0, 0]),
        ("union", [1, 1, 1, 1, 0]),
    ],
)
def test_by_hand(method, expected):
    assert fuse(list(VOTES), method=method).tolist() == [bool(x) for x in expected]


def test_of_two_raters_a_majority_is_both():
    assert fuse(list(VOTES[:2]), method="majority").tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("method", FUSIONS)
def test_raters_who_agree(method):
    mask = np.array([[True, False], [False, False]])
    for raters in (1, 2, 5):
        np.testing.assert_array_equal(fuse([mask] * raters, method=method), mask)


@pytest.mark.parametrize("raters", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_staple_is_simpleitks(raters, seed):
    generator = np.random.default_rng(seed)
    truth = np.zeros((14, 15, 16), bool)
    truth[4:10, 5:11, 4:12] = True
    skill = generator.uniform(0.7, 0.98, raters)
    masks = [np.where(generator.random(truth.shape) < share, truth, ~truth) for share in skill]
    theirs = SimpleITK.STAPLEImageFilter()
    theirs.SetForegroundValue(1)
    images = [SimpleITK.GetImageFromArray(mask.astype(np.uint8)) for mask in masks]
    probability = SimpleITK.GetArrayFromImage(theirs.Execute(images))
    ours = staple(masks)
    np.testing.assert_allclose(ours.probability, probability, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.sensitivity, theirs.GetSensitivity(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.specificity, theirs.GetSpecificity(), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(fuse(masks, method="staple"), probability >= 0.5)


def test_staple_of_a_cut_is_that_of_the_image():
    generator = np.random.default_rng(1)
    image = np.zeros((3, 12, 12, 12), bool)
    image[:, 3:8, 3:8, 3:8] = generator.random((3, 5, 5, 5)) < 0.8
    whole = staple(list(image))
    cut = staple(list(image[:, 3:8, 3:8, 3:8]), voxels=12**3)
    np.testing.assert_allclose(cut.probability, whole.probability[3:8, 3:8, 3:8], rtol=0, atol=1e-12)
    full = np.ones((2, 2, 2), bool)  # nobody left a voxel of the cut unmarked
    assert staple([full, full], voxels=64).probability.min() > 0.5


def test_staple_of_nothing():
    nothing = np.zeros((2, 2), bool)
    assert staple([nothing, nothing]).probability.max() == 0
    assert staple([~nothing, ~nothing]).probability.min() == 1


def test_what_cannot_be_made_one():
    with pytest.raises(InputError, match="no way 'average'"):
        fuse(list(VOTES), method="average")
    with pytest.raises(InputError, match="same shape"):
        fuse([VOTES[0], VOTES[0, :3]], method="union")
    with pytest.raises(InputError, match="at least one"):
        fuse([], method="union")
    with pytest.raises(InputError, match="63 raters, at most 62"):
        fuse([VOTES[0]] * 63, method="staple")
    with pytest.raises(InputError, match="cannot hold"):
        staple(list(VOTES), voxels=4)
