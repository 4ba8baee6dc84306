"""Instances: by hand, against masks compared one by one, and against SciPy's components."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from podium.metrics import InstanceCounts, InstanceOverlaps, LesionComparison, components, mask_hits, match
from podium.model import InputError, LabelMap


def test_components_by_hand():
    mask = np.zeros((3, 3, 3), bool)
    mask[0, 0, 0] = mask[0, 1, 1] = mask[1, 2, 2] = mask[2, 0, 0] = True
    assert [components(mask, connectivity=k).max() for k in (6, 18, 26)] == [4, 3, 2]
    mask[1, 1, 1] = mask[0, 1, 1] = False
    assert [components(mask, connectivity=k).max() for k in (6, 18, 26)] == [3, 3, 3]
    mask[1, 1, 1] = True
    assert [components(mask, connectivity=k).max() for k in (6, 18, 26)] == [4, 3, 1]
    assert components(mask).max() == 1
    assert components(np.eye(3), connectivity=4).max() == 3
    assert components(np.eye(3)).max() == 1
    assert components(np.zeros((2, 2))).max() == 0
    assert components(LabelMap.from_array(np.array([[1, 2], [0, 0]]), spacing=(1, 1))).max() == 1


@pytest.mark.parametrize(("axes", "connectivity"), [(2, 4), (2, 8), (3, 6), (3, 18), (3, 26)])
def test_components_of_small_and_odd_shapes_are_those_of_scipy(axes, connectivity):
    """Its own way for boolean images makes cc3d 4.1.1 label pixels that are zero, or fail, where a side is odd."""
    generator = np.random.default_rng(connectivity)
    structure = ndimage.generate_binary_structure(axes, {4: 1, 8: 2, 6: 1, 18: 2, 26: 3}[connectivity])
    for _ in range(300):
        mask = generator.random(generator.integers(1, 10, axes)) < generator.choice([0.2, 0.4, 0.6])
        theirs, ours = ndimage.label(mask, structure)[0], components(mask, connectivity=connectivity)
        np.testing.assert_array_equal(ours > 0, mask)
        pairs = set(zip(theirs[mask].tolist(), ours[mask].tolist(), strict=True))
        assert len(pairs) == theirs.max() == ours.max()


@pytest.mark.parametrize(("shape", "connectivity"), [((9, 9), 4), ((9, 9), 8), ((6, 5, 7), 6), ((6, 5, 7), 26)])
def test_components_are_those_of_scipy(shape, connectivity):
    for seed in range(20):
        mask = np.random.default_rng(seed).random(shape) < 0.35
        structure = ndimage.generate_binary_structure(len(shape), 1 if connectivity in (4, 6) else len(shape))
        theirs, ours = ndimage.label(mask, structure)[0], components(mask, connectivity=connectivity)
        pairs = np.unique(np.stack([theirs.ravel(), ours.ravel()]), axis=1)
        assert pairs.shape[1] == theirs.max() + 1 == ours.max() + 1  # one to one
        np.testing.assert_array_equal(components(np.asfortranarray(mask), connectivity=connectivity), ours)


def test_a_connectivity_must_fit():
    with pytest.raises(InputError, match="6, 18 or 26, not 8"):
        components(np.zeros((2, 2, 2)), connectivity=8)
    with pytest.raises(InputError, match="4 or 8, not 26"):
        components(np.zeros((2, 2)), connectivity=26)
    with pytest.raises(InputError, match="not in 1-D"):
        components(np.zeros(2))


def check(reference, prediction, **options):
    """Hold the overlaps of two maps against masks, one pair after the other."""
    overlaps = InstanceOverlaps.between(reference, prediction, **options)
    spacing = options.get("spacing_mm") or (1.0,) * reference.ndim
    for side, array in (("reference", reference), ("prediction", prediction)):
        labels = [label for label in np.unique(array) if label]
        assert getattr(overlaps, f"{side}_labels").tolist() == labels
        for place, label in enumerate(labels):
            where = np.argwhere(array == label)
            assert getattr(overlaps, f"{side}_voxels")[place] == len(where)
            np.testing.assert_allclose(getattr(overlaps, f"{side}_centres_mm")[place], where.mean(axis=0) * spacing)
            box = [where.min(axis=0), where.max(axis=0) + 1]
            np.testing.assert_array_equal(getattr(overlaps, f"{side}_boxes")[place], box)
    iou, dice = np.zeros(overlaps.shape), np.zeros(overlaps.shape)
    for row, label in enumerate(overlaps.reference_labels):
        for column, other in enumerate(overlaps.prediction_labels):
            one, two = reference == label, prediction == other
            iou[row, column] = (one & two).sum() / (one | two).sum()
            dice[row, column] = 2 * (one & two).sum() / (one.sum() + two.sum())
    np.testing.assert_allclose(overlaps.matrix("iou"), iou, rtol=1e-15)
    np.testing.assert_allclose(overlaps.matrix("dice"), dice, rtol=1e-15)
    assert np.count_nonzero(iou) == overlaps.common.size
    return overlaps


@given(
    seed=st.integers(0, 10_000), dimensions=st.sampled_from((2, 3)), largest=st.sampled_from((1, 5, 300, 2**22, 2**31))
)
def test_overlaps_like_masks(seed, dimensions, largest):
    generator = np.random.default_rng(seed)
    shape = tuple(generator.integers(1, 8, dimensions))
    labels = np.array([0, 0, 1, max(largest - 1, 1), largest])
    reference, prediction = labels[generator.integers(0, 5, (2, *shape))]
    if seed % 2:
        prediction = np.asfortranarray(prediction)
    overlaps = check(reference, prediction, connectivity=0, spacing_mm=(0.7, 1.3, 2.9)[:dimensions])
    between = overlaps.reference_centres_mm[:, None] - overlaps.prediction_centres_mm
    np.testing.assert_allclose(overlaps.matrix("centre_distance"), np.sqrt((between**2).sum(axis=-1)))


def test_many_pairs_make_the_table_grow():
    generator = np.random.default_rng(3)
    overlaps = check(*generator.integers(0, 60, (2, 20, 20, 20)))
    assert overlaps.common.size > 3000


def test_odd_layouts_and_threads():
    whole = np.random.default_rng(8).integers(0, 9, (2, 12, 10, 14))
    views = [whole[:, ::2], whole[:, ::-1, :, ::-3], whole.transpose(0, 3, 1, 2), whole.astype(np.float32)]
    for reference, prediction in views:
        check(reference, prediction)
    expected = InstanceOverlaps.between(*whole).matrix("iou")
    with ThreadPoolExecutor(4) as pool:
        for overlaps in pool.map(lambda _: InstanceOverlaps.between(*whole), range(16)):
            np.testing.assert_array_equal(overlaps.matrix("iou"), expected)


def test_masks_become_components_and_maps_stay():
    mask = np.array([[1, 0, 1]])
    assert InstanceOverlaps.between(mask, mask, connectivity=0).shape == (1, 1)
    assert InstanceOverlaps.between(mask > 0, mask > 0).shape == (2, 2)
    assert InstanceOverlaps.between(mask, mask, connectivity=4).shape == (2, 2)
    label_map = LabelMap.from_array(mask, spacing=(2, 3))
    overlaps = InstanceOverlaps.between(label_map, label_map, connectivity=0)
    assert overlaps.voxel_volume_mm3 == 6
    np.testing.assert_allclose(overlaps.reference_centres_mm, [[0, 3]])


PARTS = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
READERS = {
    "InstanceOverlaps.between": lambda map_, **options: InstanceOverlaps.between(map_, map_, **options).shape[0],
    "InstanceCounts.between": lambda map_, **options: int(InstanceCounts.between(map_, map_, **options).references),
    "by_matching": lambda map_, **options: len(LesionComparison.by_matching(map_, map_, **options).lesions),
    "by_contact": lambda map_, **options: len(LesionComparison.by_contact(map_, map_, **options).lesions),
    "mask_hits": lambda map_, **options: mask_hits([[0, 0]], map_, **options)[1].size,
}
"""Everything that reads instances, and how many it sees."""


@pytest.mark.parametrize("count", READERS.values(), ids=READERS)
def test_one_array_holds_the_same_instances_for_everybody(count):
    assert count(PARTS > 0) == 3
    assert count((PARTS * np.uint8(255)).astype(np.uint8).view(bool)) == 3
    assert count(PARTS * [[1, 1, 2, 3]]) == 3  # two of them touch, one is in two parts
    assert count(PARTS * [[7], [0], [0]] + PARTS * [[0], [0], [9]]) == 2
    assert count(np.where(PARTS > 5, PARTS, 0)) == 0
    for one_part in (PARTS[2:], 255 * PARTS[2:], PARTS[2:].astype(float), PARTS[2:] > 0):
        assert count(one_part) == 1
    for unsaid in (PARTS, PARTS * 255, PARTS.astype(np.uint8), PARTS.astype(np.float32), PARTS.tolist()):
        with pytest.raises(InputError, match=r"alone, in 3 parts: .* > 0, or components\(.*connectivity=0"):
            count(unsaid)
        assert count(unsaid, connectivity=8) == 3
        assert count(unsaid, connectivity=0) == 1
    for labels in (PARTS, PARTS * [[1, 1, 2, 2]], PARTS[2:]):
        label_map = LabelMap.from_array(labels)
        with pytest.raises(InputError, match="is a label map, whose labels may be classes or instances"):
            count(label_map)
        assert count(label_map, connectivity=0) == len(np.unique(labels)) - 1
        assert count(label_map, connectivity=8) == components(labels).max()
    for senseless in (1, 26, False, True, "8"):
        with pytest.raises(InputError, match="a connectivity is 4 or 8, not"):
            count(PARTS, connectivity=senseless)


def test_each_side_is_read_by_itself():
    mask, instances = PARTS > 0, PARTS * [[1, 1, 2, 3]]
    assert InstanceOverlaps.between(mask, instances).shape == InstanceOverlaps.between(instances, mask).shape == (3, 3)
    with pytest.raises(InputError, match="the prediction holds 1 alone"):
        InstanceOverlaps.between(mask, PARTS)
    with pytest.raises(InputError, match="the reference holds 1 alone"):
        InstanceOverlaps.between(PARTS, instances)


def test_a_dilation_is_that_of_a_mask():
    """A step joins the three parts. Instances are not joined in silence."""
    mask, instances = PARTS > 0, PARTS * [[1, 1, 2, 3]]
    assert len(LesionComparison.by_contact(mask, instances, dilation=1).lesions) == 1
    assert len(LesionComparison.by_contact(instances, mask, dilation=1, connectivity=8).lesions) == 1
    assert LesionComparison.by_contact(0 * instances, 0 * instances, dilation=1).lesions == ()
    for reference, options in ((instances, {}), (instances, {"connectivity": 0}), (mask, {"connectivity": 0})):
        with pytest.raises(InputError, match="Write reference > 0"):
            LesionComparison.by_contact(reference, mask, dilation=1, **options)


def test_nothing_on_one_side():
    some, nothing = np.ones((2, 2), int), np.zeros((2, 2), int)
    for pair, shape in (((some, nothing), (1, 0)), ((nothing, some), (0, 1)), ((nothing, nothing), (0, 0))):
        overlaps = InstanceOverlaps.between(*pair)
        assert overlaps.shape == shape
        for by in ("iou", "dice", "centre_distance"):
            matching = overlaps.match(by=by, threshold=0.5)
            assert (matching.rows.size, matching.shape) == (0, shape)
            assert overlaps.matrix(by).shape == shape
        assert overlaps.common_voxels(np.zeros(1, int), np.zeros(1, int)).tolist() == [0]


@pytest.mark.parametrize("by", ["iou", "dice", "centre_distance"])
@pytest.mark.parametrize("method", ["greedy", "optimal"])
def test_few_pairs_are_matched_as_a_whole_table_is(by, method):
    """Only pairs that meet, or are near, are looked at; the table has them all."""
    for seed in range(30):
        generator = np.random.default_rng(seed)
        overlaps = InstanceOverlaps.between(*generator.integers(0, 8, (2, 5, 6, 4)))
        distances = by == "centre_distance"
        threshold = 0.8 if distances else 0.08
        options = {"threshold": threshold, "method": method, "many_to_one": seed % 3 == 0, "inclusive": seed % 2 == 0}
        ours = overlaps.match(by=by, **options)
        theirs = match(overlaps.matrix(by), lower_is_better=distances, **options)
        assert ours.rows.tolist() == theirs.rows.tolist()
        assert ours.columns.tolist() == theirs.columns.tolist()
        np.testing.assert_allclose(ours.values, theirs.values)


def test_bad_words():
    overlaps = InstanceOverlaps.between(np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(InputError, match="not matched by 'size'"):
        overlaps.match(by="size")
    with pytest.raises(InputError, match="same grid"):
        InstanceOverlaps.between(np.ones((2, 2)), np.ones((2, 3)))
