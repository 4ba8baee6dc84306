"""Detections with scores: by hand, against LUNA16's way and definitions written out, and scikit-learn."""

import numpy as np
import peers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.metrics import (
    Detections,
    ImageDetections,
    InstanceOverlaps,
    box_overlaps,
    components,
    detection_average_precision,
    froc_score,
    froc_sensitivities,
    mask_hits,
    point_hits,
)
from podium.model import InputError


def image(scores, true, references):
    return ImageDetections(np.asarray(scores, float), np.asarray(true, bool), references)


def test_hits_by_hand():
    """Two references; the first is hit twice, one prediction hits nothing, one only what is ignored."""
    hits = [[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 1]]
    own = ImageDetections.by_hits([0.3, 0.8, 0.6, 0.9, 0.4], hits, ignored=[False, False, True])
    assert sorted(zip(own.scores.tolist(), own.true.tolist(), strict=True)) == [(0.4, True), (0.6, False), (0.8, True)]
    assert own.references == 2
    strict = ImageDetections.by_hits(
        [0.3, 0.8, 0.6, 0.9, 0.4], hits, ignored=[False, False, True], duplicates_are_false=True
    )
    assert sorted(strict.scores[~strict.true].tolist()) == [0.3, 0.6]
    both = ImageDetections.by_hits([0.7], [[True, True]])
    assert both.scores.tolist() == [0.7, 0.7]
    assert both.true.all()


def test_overlaps_by_hand():
    """The surest takes its best; the next takes what is left; a third finds both taken."""
    values = [[0.6, 0.7], [0.5, 0.9], [0.8, 0.55]]
    own = ImageDetections.by_overlap([0.5, 0.9, 0.1], values)
    assert dict(zip(own.scores.tolist(), own.true.tolist(), strict=True)) == {0.9: True, 0.5: True, 0.1: False}
    assert ImageDetections.by_overlap([0.5, 0.9, 0.1], values, most=1).scores.tolist() == [0.9]
    assert ImageDetections.by_overlap([0.5, 0.9, 0.1], values, threshold=0.65).true.tolist() == [True, False, True]
    left_out = ImageDetections.by_overlap([0.5, 0.9, 0.1], values, ignored=[True, False])
    assert (left_out.scores.tolist(), left_out.true.tolist(), left_out.references) == ([0.9], [True], 1)


def froc_by_hand(images, rate, linear):
    """Return a sensitivity from the curve's points, one threshold after the other."""
    scores = sorted({score for own in images for score in own.scores}, reverse=True)
    total = sum(own.references for own in images)
    points = [(0.0, 0.0)] + [
        (
            sum(int((~own.true & (own.scores >= score)).sum()) for own in images) / len(images),
            sum(int((own.true & (own.scores >= score)).sum()) for own in images) / total,
        )
        for score in scores
    ]
    if linear:
        return np.interp(rate, *zip(*points, strict=True))
    return max(sensitivity for false, sensitivity in points if false <= rate)


def random_images(generator, count, *, ties):
    images = []
    for _ in range(count):
        size = int(generator.integers(0, 6))
        scores = generator.uniform(0.1, 1, size).round(1 if ties else 16)
        true = generator.random(size) < 0.5
        images.append(image(scores, true, int(true.sum() + generator.integers(0, 3))))
    return [*images, image([0.5], [True], 2)]


@given(seed=st.integers(0, 10_000), count=st.integers(0, 6), ties=st.booleans(), linear=st.booleans())
def test_froc_like_the_points_of_its_curve(seed, count, ties, linear):
    images = random_images(np.random.default_rng(seed), count, ties=ties)
    rates = (4.0, 0.0, 0.125, 1 / 3, 1.0, 8.0)
    interpolation = "linear" if linear else "step"
    values = froc_sensitivities(Detections.of(images), rates=rates, interpolation=interpolation)
    np.testing.assert_allclose(values, [froc_by_hand(images, rate, linear) for rate in rates], atol=1e-12)


def luna16(scans):
    """Return the FROC score of (points, scores, nodules, diameters, ignored), nodule by nodule as LUNA16 goes."""
    positives, negatives, nodules = [], [], 0
    for points, scores, centres, diameters, ignored in scans:
        free = set(range(len(points)))
        for centre, diameter, skip in zip(centres, diameters, ignored, strict=True):
            near = [k for k, point in enumerate(points) if np.sum((point - centre) ** 2) < (diameter / 2) ** 2]
            free -= set(near)
            if not skip:
                nodules += 1
                positives += [max(scores[k] for k in near)] if near else []
        negatives += [scores[k] for k in free]
    levels = sorted({*positives, *negatives}, reverse=True)
    false = [0.0] + [sum(score >= level for score in negatives) / len(scans) for level in levels]
    found = [0.0] + [sum(score >= level for score in positives) / nodules for level in levels]
    return np.mean(np.interp([1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8], false, found))


def test_luna16():
    for seed in range(20):
        generator = np.random.default_rng(seed)
        scans, images = [], []
        for _ in range(4):
            centres, diameters = generator.uniform(0, 30, (4, 3)), generator.uniform(5, 20, 4)
            points, scores = generator.uniform(0, 30, (12, 3)), generator.random(12).round(1)
            ignored = np.arange(4) == 3
            scans.append((points, scores, centres, diameters, ignored))
            hits = point_hits(points, centres, radius_mm=diameters / 2)
            images.append(ImageDetections.by_hits(scores, hits, ignored=ignored))
        assert froc_score(Detections.of(images)) == pytest.approx(luna16(scans), abs=1e-12)


def test_froc_is_that_of_monai_where_something_was_missed():
    rates = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    for seed in range(20):
        images = random_images(np.random.default_rng(seed), 5, ties=seed % 2 == 0)  # one of the last image is missed
        false, true = (np.concatenate([own.scores[own.true == kind] for own in images]) for kind in (False, True))
        total = sum(own.references for own in images)
        found_and_missed = np.concatenate([true, np.zeros(total - true.size)])
        theirs = peers.monai_froc(false, found_and_missed, targets=total, images=len(images), rates=rates)
        assert froc_score(Detections.of(images), rates=rates) == pytest.approx(theirs, abs=1e-12)


def test_where_monai_loses_the_last_threshold():
    """Both references found, the second with the lowest score of all: MONAI never lowers its threshold so far."""
    own = image([0.9, 0.5], [True, True], 2)
    assert froc_score(Detections.of([own]), rates=(1.0,)) == 1
    theirs = peers.monai_froc(np.zeros(0), np.array([0.9, 0.5]), targets=2, images=1, rates=(1.0,))
    assert theirs == 0.5


def area_by_hand(images, interpolation):
    """Return average precision from its definition."""
    scores = sorted({score for own in images for score in own.scores}, reverse=True)
    total = sum(own.references for own in images)
    points = []
    for score in scores:
        right = sum(int((own.true & (own.scores >= score)).sum()) for own in images)
        wrong = sum(int((~own.true & (own.scores >= score)).sum()) for own in images)
        points.append((right, right / (right + wrong)))
    if interpolation.endswith("1 points"):
        last = int(interpolation.split()[0]) - 1
        best = [max((p for r, p in points if r * last >= k * total), default=0) for k in range(last + 1)]
        return np.mean(best)
    area, before = 0.0, 0
    for right, precision in points:
        best = max(p for r, p in points if r >= right) if interpolation == "all points" else precision
        area += best * (right - before) / total
        before = right
    return area


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(0, 6),
    ties=st.booleans(),
    interpolation=st.sampled_from(("101 points", "11 points", "all points", "none")),
)
def test_average_precision_from_its_definition(seed, count, ties, interpolation):
    images = random_images(np.random.default_rng(seed), count, ties=ties)
    value = detection_average_precision(Detections.of(images), interpolation=interpolation)
    assert value == pytest.approx(area_by_hand(images, interpolation), abs=1e-12)


def test_average_precision_is_that_of_scikit_learn():
    score = peers.scikit_learn().average_precision_score
    for seed in range(20):
        generator = np.random.default_rng(seed)
        true = generator.random(40) < 0.4
        scores = generator.random(40).round(seed % 3 + 1)
        ours = detection_average_precision(Detections.of([image(scores, true, true.sum())]), interpolation="none")
        assert ours == pytest.approx(score(true, scores), abs=1e-12)


def test_weights_are_how_often_an_image_counts():
    generator = np.random.default_rng(5)
    images = random_images(generator, 9, ties=True)
    weights = generator.integers(0, 4, (30, 10))
    weights[7] = 0
    detections = Detections.of(images)
    curves = froc_sensitivities(detections, weights=weights)
    scores = froc_score(detections, weights=weights, interpolation="step")
    areas = {
        kind: detection_average_precision(detections, weights=weights, interpolation=kind)
        for kind in ("101 points", "all points", "none")
    }
    assert curves.shape == (30, 7)
    for row, own in enumerate(weights):
        if not own.any():
            assert np.isnan([*curves[row], scores[row], *(area[row] for area in areas.values())]).all()
            continue
        repeated = Detections.of([image for image, times in zip(images, own, strict=True) for _ in range(times)])
        np.testing.assert_allclose(curves[row], froc_sensitivities(repeated), atol=1e-12)
        assert scores[row] == pytest.approx(froc_score(repeated, interpolation="step"))
        for kind, area in areas.items():
            assert area[row] == pytest.approx(detection_average_precision(repeated, interpolation=kind))
    np.testing.assert_array_equal(froc_sensitivities(detections, weights=weights[3]), curves[3])


def test_nothing_to_find_and_nothing_predicted():
    nothing = Detections.of([image([0.5], [False], 0)])
    assert np.isnan(froc_score(nothing))
    assert np.isnan(detection_average_precision(nothing))
    for interpolation in ("101 points", "11 points", "all points", "none"):
        missed = Detections.of([image([], [], 3)])
        assert froc_score(missed) == detection_average_precision(missed, interpolation=interpolation) == 0
    assert np.isnan(froc_score(Detections.of([])))
    for way in (ImageDetections.by_hits, ImageDetections.by_overlap):
        missed, wrong = way([], np.zeros((0, 3))), way([0.5, 0.2], np.zeros((2, 0)))
        assert (missed.scores.size, missed.references) == (0, 3)
        assert (wrong.true.tolist(), wrong.references) == ([False, False], 0)


def test_hits_of_points_and_masks():
    hits = point_hits([[0, 0], [3, 0], [9, 9]], [[0, 0], [5, 0]], radius_mm=[3, 3])
    assert hits.tolist() == [[True, False], [False, True], [False, False]]  # exactly at the radius is no hit
    mask = np.zeros((6, 6), bool)
    mask[0:2, 0:2] = mask[4, 4] = True
    hits, labels = mask_hits([[1.4, 0.6], [4, 4], [3, 3], [-2, 0], [9, 9]], components(mask))
    assert labels.tolist() == [1, 2]
    assert hits.tolist() == [[True, False], [False, True], [False] * 2, [False] * 2, [False] * 2]


def test_masks_with_scores():
    reference, prediction = np.zeros((2, 6, 8), int)
    reference[0:2, 0:4], reference[4:6, 0:4] = 1, 2
    prediction[0:2, 0:3], prediction[4:6, 3:6], prediction[0, 7] = 1, 2, 3
    overlaps = InstanceOverlaps.between(reference, prediction)
    own = ImageDetections.by_overlap([0.9, 0.8, 0.7], overlaps.matrix("iou").T)
    assert own.true.tolist() == [True, False, False]
    assert froc_sensitivities(Detections.of([own]), rates=(0, 2)).tolist() == [0.5, 0.5]


def test_boxes_with_scores():
    """Two of three boxes are found, the second by a worse score than the false one's; points are the same call."""
    truth = np.array([[0, 0, 0, 4, 4, 4], [10, 10, 10, 14, 14, 14], [20, 0, 0, 24, 4, 4]])
    claims = np.array([[0, 0, 0, 4, 4, 3], [30, 30, 30, 34, 34, 34], [10, 10, 11, 14, 14, 14]])
    scores = [0.9, 0.8, 0.7]
    by_boxes = ImageDetections.by_hits(scores, box_overlaps(claims, truth) >= 0.5)
    middles = [(boxes[:, :3] + boxes[:, 3:]) / 2 for boxes in (claims, truth)]
    by_points = ImageDetections.by_hits(scores, point_hits(*middles, radius_mm=2.0))
    for own in (by_boxes, by_points):
        curve = froc_sensitivities(Detections.of([own]), interpolation="step")
        np.testing.assert_allclose(curve, [1 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3])
        assert froc_score(Detections.of([own]), interpolation="step") == pytest.approx(11 / 21)


def test_bad_input():
    with pytest.raises(InputError, match="2 scores need a table"):
        ImageDetections.by_hits([0.1, 0.2], [[True]])
    with pytest.raises(InputError, match="finite"):
        ImageDetections.by_overlap([np.nan], [[0.5]])
    with pytest.raises(InputError, match="ignored"):
        ImageDetections.by_hits([0.1], [[True]], ignored=[True, False])
    detections = Detections.of([image([0.5], [True], 1)])
    with pytest.raises(InputError, match="rates"):
        froc_sensitivities(detections, rates=(-1,))
    with pytest.raises(InputError, match="'linear' or 'step'"):
        froc_sensitivities(detections, interpolation="cubic")
    with pytest.raises(InputError, match="101 points"):
        detection_average_precision(detections, interpolation="voc")
    with pytest.raises(InputError, match="shape"):
        point_hits([[0, 0]], [[0, 0, 0]], radius_mm=1)
    with pytest.raises(InputError, match="finite"):
        point_hits([[0, np.inf]], [[0, 0]], radius_mm=1)
    for radius in (-1, [1, 2], np.nan):
        with pytest.raises(InputError, match="radius"):
            point_hits([[0, 0]], [[0, 0]], radius_mm=radius)
    with pytest.raises(InputError, match="finite"):
        mask_hits([[0, np.nan]], np.zeros((2, 2), int))
    with pytest.raises(InputError, match="2-D map"):
        mask_hits([[0, 0, 0]], np.zeros((2, 2), int))
