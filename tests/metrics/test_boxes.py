"""Boxes: by hand, against counted cells, and pycocotools."""

import numpy as np
import peers
import pytest
from peers_of_samples import box_images

from podium.metrics import BoxSet, average_precisions_of_boxes, box_overlaps, mean_average_precision
from podium.model import InputError


def test_overlaps_like_counting_cells():
    for axes in (1, 2, 3):
        generator = np.random.default_rng(axes)
        lower = generator.integers(0, 5, (2, 6, axes))
        boxes = np.concatenate([lower, lower + generator.integers(0, 4, lower.shape)], axis=2)

        def cells(box, axes=axes):
            mask = np.zeros((9,) * axes, bool)
            mask[tuple(slice(a, b) for a, b in zip(box[:axes], box[axes:], strict=True))] = True
            return mask

        for row, box in zip(box_overlaps(boxes[0], boxes[1]), boxes[0], strict=True):
            for value, other in zip(row, boxes[1], strict=True):
                one, two = cells(box), cells(other)
                assert value == pytest.approx((one & two).sum() / max((one | two).sum(), 1))


def test_by_hand():
    """Two true boxes; found at an IoU of 0.8 with a false one before it, and missed."""
    truth = [BoxSet([[0, 0, 10, 10], [50, 50, 60, 60]])]
    claim = [BoxSet([[80, 80, 90, 90], [0, 0, 10, 8]], scores=[0.9, 0.6])]
    classes, values = average_precisions_of_boxes(truth, claim, interpolation="all points")
    assert classes.tolist() == [0]
    np.testing.assert_allclose(values, [[0.25] * 7 + [0] * 3])  # 0.5, 0.55 … 0.8 are reached
    # at 51 of 101 recalls, from 0 to 0.5, the best precision is one half
    assert mean_average_precision(truth, claim) == pytest.approx(0.7 * 0.5 * 51 / 101)
    assert mean_average_precision(truth, claim, thresholds=[0.5], interpolation="11 points") == pytest.approx(3 / 11)
    assert mean_average_precision(truth, claim, most=1) == 0


def test_a_class_that_no_reference_has_is_left_out():
    truth = [BoxSet([[0, 0, 0, 2, 2, 2]], classes=[4])]
    claim = [BoxSet([[0, 0, 0, 2, 2, 2]] * 2, scores=[0.5, 0.4], classes=[4, 7])]
    classes, values = average_precisions_of_boxes(truth, claim)
    assert classes.tolist() == [4, 7]
    assert (values[0] == 1).all()
    assert np.isnan(values[1]).all()
    assert mean_average_precision(truth, claim) == 1
    assert np.isnan(mean_average_precision([BoxSet(np.zeros((0, 6)))], [BoxSet(np.zeros((0, 6)))]))
    assert mean_average_precision(truth, [BoxSet(np.zeros((0, 6)))]) == 0


def test_pycocotools():
    for seed in range(8):
        truth, claim = box_images(seed, 4)
        theirs = peers.coco_precisions(truth, claim).mean(axis=1).T
        _, ours = average_precisions_of_boxes(truth, claim)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
        assert 0.02 < mean_average_precision(truth, claim) < 0.9
        assert mean_average_precision(truth, claim) == pytest.approx(theirs.mean(), abs=1e-12)


def test_where_pycocotools_rounds():
    """Seven of ten found: the recall of 0.7 is one of the 101 points, but pycocotools' 0.7 is a little more."""
    boxes = [[20 * k, 0, 20 * k + 10, 10] for k in range(10)]
    truth = [BoxSet(boxes, classes=np.zeros(10, int))]
    claim = [BoxSet(boxes[:7], scores=np.linspace(0.9, 0.3, 7), classes=np.zeros(7, int))]
    assert mean_average_precision(truth, claim) == pytest.approx(71 / 101)
    assert peers.coco_precisions(truth, claim)[0, :, 0].mean() == pytest.approx(70 / 101)


def test_weights_are_how_often_an_image_counts():
    truth, claim = box_images(3, 4)
    weights = np.random.default_rng(1).integers(0, 3, (12, 4))
    weights[5] = 0
    values = mean_average_precision(truth, claim, weights=weights)
    assert values.shape == (12,)
    for value, own in zip(values, weights, strict=True):
        repeated = [[image for image, n in zip(side, own, strict=True) for _ in range(n)] for side in (truth, claim)]
        np.testing.assert_allclose(value, mean_average_precision(*repeated), rtol=1e-12)
    assert np.isnan(values[5])


def test_bad_boxes():
    for boxes, words in (([[0, 0, 1]], "2 · axes"), ([[1, 0]], "lower one first"), ([[0, np.inf]], "finite")):
        with pytest.raises(InputError, match=words):
            BoxSet(boxes)
    with pytest.raises(InputError, match="as many scores"):
        BoxSet([[0, 1]], scores=[0.1, 0.2])
    with pytest.raises(InputError, match="axes"):
        box_overlaps([[0, 1]], [[0, 0, 1, 1]])
    with pytest.raises(InputError, match="need scores"):
        mean_average_precision([BoxSet([[0, 1]])], [BoxSet([[0, 1]])])
    with pytest.raises(InputError, match="1 images"):
        mean_average_precision([BoxSet([[0, 1]])], [])
