"""Lesion by lesion: by hand, and BraTS's rule written a second time, on whole volumes and with DeepMind's distances."""

import numpy as np
import peers
import pytest
from scipy import ndimage

from podium.metrics import (
    BRATS_2023,
    LesionComparison,
    Overlap,
    SurfaceDistances,
    detection_f1,
    detection_precision,
    detection_sensitivity,
    dice,
    hausdorff_distance_95,
    lesion_wise_dice,
    lesion_wise_hausdorff_distance_95,
    lesion_wise_surface_dice,
    surface_dice,
)
from podium.model import Box, InputError


def drawn():
    """Return a lesion met in two pieces, one missed and one of a single voxel; and one predicted far away."""
    reference, prediction = np.zeros((2, 30, 30), bool)
    reference[2:6, 2:10] = True
    prediction[2:6, 2:5] = prediction[2:6, 7:10] = True
    reference[20:23, 20:23] = True
    reference[28, 2] = prediction[28, 2] = True
    prediction[10:12, 25:28] = True
    return reference, prediction


def test_by_hand():
    comparison = LesionComparison.by_contact(*drawn(), spacing_mm=(1, 2))
    assert [lesion.status for lesion in comparison.lesions] == ["matched", "missed", "matched", "false"]
    first, missed, single, false = comparison.lesions
    assert first.dice == 2 * 24 / (32 + 24)
    assert first.iou == 24 / 32
    assert (first.reference_mm3, first.prediction_mm3, len(first.prediction_labels)) == (64, 48, 2)
    assert first.box == Box((2, 2), (6, 10))
    assert first.centre_mm == (3.5, 11.0)
    assert (missed.dice, missed.prediction_labels) == (0, ())
    assert (single.dice, single.reference_mm3) == (1, 2)
    assert (false.reference_label, false.reference_mm3, false.prediction_mm3) == (None, 0, 12)
    assert false.centre_mm == (10.5, 52.0)
    assert lesion_wise_dice(comparison) == pytest.approx((6 / 7 + 0 + 1 + 0) / 4)
    distances = [None if own is None else hausdorff_distance_95(own) for own in comparison.distances]
    assert distances == [2, None, 0, None]
    assert lesion_wise_hausdorff_distance_95(comparison) == np.inf
    assert lesion_wise_hausdorff_distance_95(comparison, price_mm=374) == (2 + 374 + 0 + 374) / 4
    tolerant = [1.0 if own is None else surface_dice(own, tolerance_mm=1) for own in comparison.distances]
    assert lesion_wise_surface_dice(comparison, tolerance_mm=1) == pytest.approx((tolerant[0] + 0 + 1 + 0) / 4)
    rows = comparison.table(tolerance_mm=1)
    assert [row["hausdorff_distance_95"] for row in rows] == distances
    assert rows[0]["surface_dice"] == tolerant[0]
    assert (rows[1]["status"], rows[1]["surface_dice"], rows[3]["prediction_mm3"]) == ("missed", None, 12)
    counts = comparison.counts
    assert [float(value) for value in counts.arrays[:4]] == [3, 4, 2, 3]
    assert (detection_sensitivity(counts), detection_precision(counts)) == (pytest.approx(2 / 3), 0.75)


def test_small_lesions_are_left_out_whether_they_are_found_or_not():
    comparison = LesionComparison.by_contact(*drawn(), ignored_up_to_mm3=9.0)
    assert [lesion.counted for lesion in comparison.lesions] == [True, False, False, True]
    assert lesion_wise_dice(comparison) == pytest.approx((6 / 7 + 0) / 2)
    assert [float(value) for value in comparison.counts.arrays[:4]] == [1, 3, 1, 2]
    assert lesion_wise_dice(LesionComparison.by_contact(*drawn(), ignored_up_to_mm3=8.9)) == pytest.approx(2 / 7)
    nothing_left = LesionComparison.by_contact(drawn()[0], drawn()[0], ignored_up_to_mm3=99)
    assert lesion_wise_dice(nothing_left) == lesion_wise_surface_dice(nothing_left) == 1
    assert lesion_wise_hausdorff_distance_95(nothing_left, price_mm=374) == 0


def test_dilation_joins_lesions_and_reaches_for_predictions():
    reference, prediction = np.zeros((2, 9, 30), bool)
    reference[4, 2:5] = reference[4, 8:11] = True  # three voxels apart: two steps join them
    prediction[4, 13] = True  # three steps away from the second
    statuses = []
    for dilation in range(4):
        comparison = LesionComparison.by_contact(reference, prediction, dilation=dilation)
        statuses.append([lesion.status for lesion in comparison.lesions])
    assert statuses == [["missed", "missed", "false"]] * 2 + [["missed", "false"], ["matched"]]
    assert lesion_wise_dice(comparison) == 0  # touched, but nothing in common
    assert np.isfinite(lesion_wise_hausdorff_distance_95(comparison))
    assert comparison.lesions[0].reference_mm3 == 6


def test_one_prediction_may_belong_to_two_lesions():
    reference, prediction = np.zeros((2, 5, 20), bool)
    reference[2, 2:6] = reference[2, 10:14] = prediction[2, 2:14] = True
    comparison = LesionComparison.by_contact(reference, prediction)
    assert [lesion.dice for lesion in comparison.lesions] == [8 / 16, 8 / 16]
    assert detection_f1(comparison.counts) == 1
    one_to_one = LesionComparison.by_matching(reference, prediction, threshold=0.3)
    assert [lesion.status for lesion in one_to_one.lesions] == ["matched", "missed"]
    assert lesion_wise_dice(one_to_one) == 0.25


def test_by_matching_keeps_instance_maps():
    reference, prediction = np.zeros((2, 6, 6), int)
    reference[0:2, 0:6], reference[2:4, 0:6] = 5, 9  # they touch
    prediction[0:2, 0:6], prediction[2:4, 0:3], prediction[5, 5] = 3, 4, 8
    comparison = LesionComparison.by_matching(reference, prediction)
    assert [(own.reference_label, own.prediction_labels) for own in comparison.lesions] == [
        (5, (3,)),
        (9, (4,)),
        (None, (8,)),
    ]
    assert [own.dice for own in comparison.lesions] == [1, 2 / 3, 0]
    assert len(LesionComparison.by_matching(reference, prediction, connectivity=8).lesions) == 2


def organisers(reference, prediction, spacing, *, dilation, limit):
    """Return lesion-wise Dice and HD95 as BraTS 2023 does, every lesion in a volume of its own."""
    structure, every = ndimage.generate_binary_structure(3, 2), np.ones((3, 3, 3))
    extents, number = ndimage.label(ndimage.binary_dilation(reference, structure, iterations=dilation), every)
    predicted, others = ndimage.label(prediction, every)
    scores, touched = [], set()
    for k in range(1, number + 1):
        lesion = reference & (extents == k)
        reach = ndimage.binary_dilation(lesion, structure, iterations=dilation)
        own = set(np.unique(predicted[reach])) - {0}
        touched |= own
        if lesion.sum() * np.prod(spacing) <= limit:
            continue
        claimed = np.isin(predicted, list(own))
        if own:
            distance = peers.deepmind_hausdorff(peers.deepmind(lesion, claimed, spacing), 95)
            scores.append((2 * (lesion & claimed).sum() / (lesion.sum() + claimed.sum()), distance))
        else:
            scores.append((0.0, 374.0))
    scores += [(0.0, 374.0)] * (others - len(touched))
    return np.mean(scores, axis=0) if scores else np.array([1.0, 0.0])


@pytest.mark.parametrize("task", ["GLI", "MET"])
def test_the_rule_of_brats(task):
    for seed in range(6):
        generator = np.random.default_rng(seed)
        reference, prediction = np.zeros((2, 26, 24, 22), bool)
        for _ in range(7):
            at, side, shift = generator.integers(0, 18, 3), generator.integers(1, 6, 3), generator.integers(-2, 4, 3)
            if generator.random() < 0.8:
                reference[tuple(slice(a, a + s) for a, s in zip(at, side, strict=True))] = True
            if generator.random() < 0.7:
                low = np.maximum(at + shift, 0)
                prediction[tuple(slice(a, a + s) for a, s in zip(low, side, strict=True))] = True
        options = BRATS_2023[task]
        comparison = LesionComparison.by_contact(reference, prediction, spacing_mm=(1, 1, 1.5), **options)
        ours = lesion_wise_dice(comparison), lesion_wise_hausdorff_distance_95(comparison, price_mm=374)
        theirs = organisers(
            reference, prediction, (1, 1, 1.5), dilation=options["dilation"], limit=options["ignored_up_to_mm3"]
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_lesion_is_measured_as_its_masks_are():
    generator = np.random.default_rng(9)
    reference, prediction = generator.random((2, 12, 11, 10)) < 0.04
    comparison = LesionComparison.by_contact(reference, prediction, spacing_mm=(1, 2, 3), boundary="voxel")
    for lesion, distances in zip(comparison.lesions, comparison.distances, strict=True):
        one, two = (
            comparison.reference == lesion.reference_label,
            np.isin(comparison.prediction, lesion.prediction_labels),
        )
        if lesion.status == "matched":
            assert lesion.dice == dice(Overlap.between(one, two))
            whole = SurfaceDistances.between(one, two, spacing_mm=(1, 2, 3), boundary="voxel")
            assert hausdorff_distance_95(distances) == hausdorff_distance_95(whole)


def test_bad_numbers():
    masks = drawn()
    for options, words in (
        ({"dilation": -1}, "dilation"),
        ({"dilation": 0.5}, "dilation"),
        ({"ignored_up_to_mm3": -1}, "volume"),
        ({"ignored_up_to_mm3": np.nan}, "volume"),
    ):
        with pytest.raises(InputError, match=words):
            LesionComparison.by_contact(*masks, **options)
    with pytest.raises(InputError, match="price"):
        lesion_wise_hausdorff_distance_95(LesionComparison.by_contact(*masks), price_mm=-1)
