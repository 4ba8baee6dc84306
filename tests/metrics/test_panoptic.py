"""Counts of instances: by hand, against masks compared one by one, and panoptica."""

import numpy as np
import peers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.metrics import (
    InstanceCounts,
    InstanceOverlaps,
    detection_f1,
    detection_precision,
    detection_sensitivity,
    panoptic_quality,
    recognition_quality,
    segmentation_average_precision,
    segmentation_quality,
)
from podium.model import InputError


def drawn():
    """Return three true and three predicted instances: IoU 9/12, IoU 4/8 = 0.5, one missed and one false."""
    reference, prediction = np.zeros((2, 10, 12), int)
    reference[0:3, 0:4], prediction[0:3, 0:3] = 1, 7
    reference[5:7, 0:3], prediction[5:7, 1:4] = 2, 8
    reference[9, 9], prediction[0, 11] = 3, 9
    return reference, prediction


def test_by_hand():
    counts = InstanceCounts.between(*drawn())
    assert [float(value) for value in counts.arrays] == [3, 3, 1, 1, 0.75]
    assert detection_sensitivity(counts) == detection_precision(counts) == 1 / 3
    assert detection_f1(counts) == recognition_quality(counts) == pytest.approx(1 / 3)
    assert segmentation_quality(counts) == 0.75
    assert panoptic_quality(counts) == pytest.approx(0.75 / 3)


def test_an_overlap_of_exactly_one_half_is_no_match_unless_asked_for():
    counts = InstanceCounts.between(*drawn(), inclusive=True)
    assert [float(value) for value in counts.arrays] == [3, 3, 2, 2, 1.25]
    assert panoptic_quality(counts) == pytest.approx(1.25 / 3)


def test_many_to_one_measures_all_that_was_matched():
    reference, prediction = np.zeros((2, 4, 10), int)
    reference[:, 0:10] = 1
    prediction[:, 0:4], prediction[:, 5:10] = 1, 2
    counts = InstanceCounts.between(reference, prediction, threshold=0.3, many_to_one=True)
    assert [float(value) for value in counts.arrays] == [1, 2, 1, 2, 0.9]
    assert (detection_sensitivity(counts), detection_precision(counts), detection_f1(counts)) == (1, 1, 1)
    assert panoptic_quality(counts) == 0.9
    half = InstanceCounts.between(reference, prediction, threshold=0.45, many_to_one=True)
    assert (detection_sensitivity(half), detection_precision(half)) == (1, 0.5)
    assert detection_f1(half) == pytest.approx(2 / 3)


def brute_force(reference, prediction):
    """Return panoptic quality, mask by mask."""
    one, two = ([array == label for label in np.unique(array) if label] for array in (reference, prediction))
    ious = [(a & b).sum() / (a | b).sum() for a in one for b in two]
    matched = [iou for iou in ious if iou > 0.5]
    if not one and not two:
        return 1.0
    return sum(matched) / (len(matched) + (len(one) - len(matched)) / 2 + (len(two) - len(matched)) / 2)


@given(seed=st.integers(0, 10_000), shape=st.sampled_from(((6, 7), (3, 4, 5))))
def test_like_masks(seed, shape):
    generator = np.random.default_rng(seed)
    reference = generator.integers(0, 12, shape) * (generator.random(shape) < generator.random())
    prediction = np.where(generator.random(shape) < 0.7, reference, generator.integers(0, 3, shape))
    counts = InstanceCounts.between(reference, prediction)
    assert panoptic_quality(counts) == pytest.approx(brute_force(reference, prediction))
    quality = segmentation_quality(counts) * recognition_quality(counts)
    assert np.isnan(quality) or quality == pytest.approx(panoptic_quality(counts))


def test_by_size():
    overlaps = InstanceOverlaps.between(*drawn(), spacing_mm=(1, 2))
    matching = overlaps.match(threshold=0.4)
    counts = InstanceCounts.by_size(overlaps, matching, edges_mm3=(2.0, 20.0))
    # 24, 12 and 2 mm² true; 18, 12 and 2 predicted, of which the first counts with its reference of 24
    assert counts.references.tolist() == counts.predictions.tolist() == [0, 2, 1]
    assert counts.matched_references.tolist() == counts.matched_predictions.tolist() == [0, 1, 1]
    assert counts.quality.tolist() == [0, 0.5, 0.75]
    assert detection_sensitivity(counts).tolist() == [1, 0.5, 1]
    with pytest.raises(InputError, match="ascend"):
        InstanceCounts.by_size(overlaps, matching, edges_mm3=(3, 2))


def test_over_thresholds():
    overlaps = InstanceOverlaps.between(*drawn())
    counts = InstanceCounts.at_thresholds(overlaps, thresholds=(0.5, 0.6, 0.75, 0.8))
    assert counts.matched_references.tolist() == [2, 1, 1, 0]
    assert segmentation_average_precision(counts) == pytest.approx((2 / 4 + 1 / 5 + 1 / 5 + 0) / 4)
    assert InstanceCounts.at_thresholds(overlaps).matched_references.tolist() == [2, 1, 1, 1, 1, 1, 0, 0, 0, 0]


def test_weights_are_how_often_an_image_counts():
    generator = np.random.default_rng(4)
    images = []
    for _ in range(6):
        reference = generator.integers(0, 5, (5, 6))
        prediction = np.where(generator.random((5, 6)) < 0.8, reference, 0)
        images.append(InstanceCounts.between(reference, prediction))
    images.append(InstanceCounts.between(np.zeros((5, 6), int), np.zeros((5, 6), int)))
    weights = generator.integers(0, 4, (20, 7))
    weights[3] = [0, 0, 0, 0, 0, 0, 2]  # only what is empty
    together = InstanceCounts.pooled(images, weights=weights)
    for metric in (detection_f1, detection_precision, detection_sensitivity, panoptic_quality, segmentation_quality):
        values = metric(together)
        assert values.shape == (20,)
        for value, own in zip(values, weights, strict=True):
            repeated = [image for image, times in zip(images, own, strict=True) for _ in range(times)]
            np.testing.assert_allclose(value, metric(InstanceCounts.pooled(repeated)), rtol=1e-12)
    assert panoptic_quality(together)[3] == 1
    assert np.isnan(segmentation_quality(together)[3])
    by_threshold = InstanceCounts.pooled(
        [InstanceCounts.at_thresholds(InstanceOverlaps.between(*drawn()))] * 3, weights=np.ones((4, 3))
    )
    assert segmentation_average_precision(by_threshold).shape == (4,)


def test_bad_weights():
    images = [InstanceCounts.between(*drawn())] * 2
    for weights, words in (([1, 2, 3], "shape"), ([[1, -1]], "non-negative"), ([[1, np.nan]], "non-negative")):
        with pytest.raises(InputError, match=words):
            InstanceCounts.pooled(images, weights=weights)


def test_no_images():
    with pytest.raises(InputError, match="no images"):
        InstanceCounts.pooled([])


def blobs(seed):
    """Return two instance maps of about twenty blobs each, half of them shifted."""
    generator = np.random.default_rng(seed)
    reference, prediction = np.zeros((2, 24, 24, 24), np.uint8)
    for number in range(1, 21):
        at, side = generator.integers(0, 18, 3), generator.integers(2, 6, 3)
        shift = generator.integers(0, 2, 3)
        reference[tuple(slice(a, a + s) for a, s in zip(at, side, strict=True))] = number
        if generator.random() < 0.8:
            prediction[tuple(slice(a + d, a + d + s) for a, s, d in zip(at, side, shift, strict=True))] = number
    return reference, prediction


# What panoptica 2.1.7 gives for `blobs`, matching with strict_threshold=True: PQ, SQ, RQ, TP.
PANOPTICA = {
    0: (0.13333333333333333, 1.0, 0.13333333333333333, 2),
    1: (0.20043140453053934, 0.6346994476800413, 0.3157894736842105, 6),
    2: (0.35624999999999996, 0.8142857142857142, 0.4375, 7),
}


@pytest.mark.parametrize("seed", PANOPTICA)
def test_numbers_recorded_from_panoptica(seed):
    counts = InstanceCounts.between(*blobs(seed))
    ours = (
        panoptic_quality(counts),
        segmentation_quality(counts),
        recognition_quality(counts),
        counts.matched_references,
    )
    np.testing.assert_allclose(ours, PANOPTICA[seed], rtol=1e-12)


def test_panoptica():
    drawn = [blobs(seed) for seed in range(10, 14)]
    for maps, theirs in zip(drawn, peers.panoptica(*drawn), strict=True):
        counts = InstanceCounts.between(*maps)
        ours = (
            panoptic_quality(counts),
            segmentation_quality(counts),
            recognition_quality(counts),
            counts.matched_references,
        )
        np.testing.assert_allclose(ours, [theirs[name] for name in ("pq", "sq", "rq", "tp")], rtol=1e-12)
