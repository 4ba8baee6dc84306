"""Skeletons keep the topology and equal scikit-image's where that does; clDice by hand and from its definition."""

import numpy as np
import peers
import pytest
from scipy.ndimage import gaussian_filter

from podium.metrics import (
    CentreLines,
    betti_numbers,
    centre_lines,
    centreline_dice,
    centreline_precision,
    centreline_sensitivity,
    skeleton,
)
from podium.model import InputError, LabelMap


def blobs(count=6, shapes=((16, 15, 17), (50, 47))):
    generator = np.random.default_rng(0)
    for shape in shapes:
        for _ in range(count):
            yield gaussian_filter(generator.normal(size=shape), 1.7) > 0.0


def random_masks():
    generator = np.random.default_rng(1)
    for shape in ((7, 6, 5), (1, 8, 9), (12, 13)):
        for density in (0.1, 0.3, 0.6, 0.9):
            yield generator.random(shape) < density


def cuboids():
    for shape in np.ndindex(5, 4, 5):
        yield np.ones(np.add(shape, 1), bool)


def plates():
    """Yield masks one voxel thick along the last axes, which scikit-image thins to nothing from that side."""
    for mask in random_masks():
        if mask.ndim == 2:
            yield from (mask[:, None], mask[:, :, None])


@pytest.mark.parametrize("masks", [blobs, random_masks, cuboids, plates])
def test_parts_tunnels_and_cavities_stay(masks):
    for mask in masks():
        thinned = skeleton(mask)
        assert not (thinned & ~mask).any()
        assert betti_numbers(thinned) == betti_numbers(mask)
        assert np.array_equal(skeleton(thinned), thinned)


def test_like_scikit_image_where_that_keeps_the_topology():
    thinning = peers.skimage_module("morphology").skeletonize
    same, kept = 0, 0
    thick = [mask for mask in cuboids() if min(mask.shape[1:]) > 1]
    for mask in [*blobs(), *random_masks(), *thick]:
        theirs = thinning(mask, method="lee")
        keeps = betti_numbers(theirs) == betti_numbers(mask)
        if keeps:
            assert np.array_equal(skeleton(mask), theirs)
        kept += keeps
        same += 1
    assert same / 2 < kept < same  # else this shows nothing
    assert thinning(np.ones((2, 2, 2), bool)).sum() == 0
    assert skeleton(np.ones((2, 2, 2), bool)).sum() >= 1


def test_a_plate_is_thinned_as_an_image():
    for mask in random_masks():
        if mask.ndim == 2:
            assert np.array_equal(skeleton(mask[None]), skeleton(mask)[None])
            for axis in range(3):
                plate = np.expand_dims(mask, axis)
                assert np.array_equal(skeleton(np.pad(plate, 2)), np.pad(skeleton(plate), 2))
    for shape in ((1, 9, 3), (9, 1, 3), (9, 3, 1)):
        assert skeleton(np.ones(shape)).sum() >= 7


def test_every_layout_gives_the_same():
    mask = next(blobs())
    expected = skeleton(mask)
    for layout in (np.asfortranarray(mask), np.repeat(mask, 2, axis=1)[:, ::2], mask * np.uint8(255), np.pad(mask, 3)):
        thinned = skeleton(layout)
        assert np.array_equal(thinned[3:-3, 3:-3, 3:-3] if thinned.shape != mask.shape else thinned, expected)
    other = np.roll(mask, 2, axis=0)
    lines = CentreLines.between(mask, other)
    assert CentreLines.between(np.asfortranarray(mask), np.asfortranarray(other)) == lines
    maps = [LabelMap.from_array(np.asfortranarray(labels), spacing=(1, 2, 3)) for labels in (mask, other)]
    assert centre_lines(*maps, regions={"all": 1})["all"] == lines
    assert lines == CentreLines(
        *(int(k.sum()) for k in (expected, expected & other, skeleton(other), skeleton(other) & mask))
    )


def test_a_bar_by_hand():
    """A bar 3 wide and 9 long has a centre line of 9, of which a gap of one column takes one."""
    bar = np.zeros((7, 13), bool)
    bar[2:5, 2:11] = True
    assert np.argwhere(skeleton(bar)).tolist() == [[3, x] for x in range(2, 11)]
    broken = bar.copy()
    broken[:, 6] = False
    lines = CentreLines.between(bar, broken)
    assert (lines.reference, lines.reference_inside, lines.prediction_inside) == (9, 8, lines.prediction)
    assert centreline_precision(lines) == 1
    assert centreline_sensitivity(lines) == 8 / 9
    assert centreline_dice(lines) == pytest.approx(2 * (8 / 9) / (1 + 8 / 9))


def test_from_the_definition():
    for mask in [*blobs(2), *random_masks()]:
        other = np.roll(mask, 1, axis=-1)
        precision, sensitivity = other[skeleton(other)], mask[skeleton(other)]
        assert precision.all()
        expected = sensitivity.mean(), other[skeleton(mask)].mean()
        lines = CentreLines.between(mask, other)
        assert (centreline_precision(lines), centreline_sensitivity(lines)) == pytest.approx(expected)
        harmonic = 2 * np.prod(expected) / sum(expected) if sum(expected) else 0.0
        assert centreline_dice(lines) == pytest.approx(harmonic)


def test_apart_is_zero_and_regions_are_separate():
    labels = np.zeros((6, 6, 6), np.uint8)
    labels[:2], labels[4:] = 1, 2
    both = centre_lines(labels, labels[::-1], regions={"one": 1, "two": 2, "all": (1, 2), "none": 9})
    assert centreline_dice(both["one"]) == centreline_dice(both["two"]) == 0
    assert centreline_dice(both["all"]) == centreline_dice(both["none"]) == 1
    with pytest.raises(InputError, match="2-D or 3-D mask, not 1-D"):
        skeleton([1, 1])
    assert not skeleton(np.zeros((3, 3))).any()
