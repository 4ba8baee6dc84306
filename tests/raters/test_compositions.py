"""Plausible segmentations: which annotations, in which groups, painted in which order, read how often."""

from itertools import combinations

import annotated
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium.raters.compositions as compositions
from podium.io import write_label_map
from podium.metrics import structures
from podium.model import InputError, LabelMap
from podium.raters import Instance, Sample, draw_groups, read_annotations

PAINTING = {"kidney": 1, "cyst": 3, "tumor": 2}
REGIONS = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,), "kidney": (1,)}


def sample(*choices):
    return Sample(tuple(("kidney", *choice) for choice in choices))


def test_the_page_s_valid_and_invalid_pair():
    """kidney_i1a1_i2a1 may meet kidney_i1a2_i2a2, but not kidney_i1a2_i2a1: i2a1 is part of both."""
    assert not sample((1, 1), (2, 1)).shares_annotations_with(sample((1, 2), (2, 2)))
    assert sample((1, 1), (2, 1)).shares_annotations_with(sample((1, 2), (2, 1)))


def test_two_instances_with_two_and_three_annotations():
    """Two samples a group, as the instance with fewest has; offsets by hand from the generator that seeds them."""
    instances = [Instance("kidney", 1, (1, 2, 3)), Instance("kidney", 2, (1, 2))]
    draws = np.random.RandomState(7)
    expected = []
    for _ in range(4):
        first, second = draws.randint(0, 3), draws.randint(0, 2)
        expected.append([{("kidney", 1, (first + k) % 3 + 1), ("kidney", 2, (second + k) % 2 + 1)} for k in (0, 1)])
    groups = draw_groups(instances, groups=4, seed=7)
    assert [[set(each.choices) for each in group] for group in groups] == expected
    assert all(not one.shares_annotations_with(two) for one, two in groups)


@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    seed=st.integers(0, 2**32 - 1),
    groups=st.integers(1, 6),
)
def test_nothing_is_shared_within_a_group(counts, seed, groups):
    instances = [Instance("cyst", k, tuple(range(2, n + 2))) for k, n in enumerate(counts)]
    drawn = draw_groups(instances, groups=groups, seed=seed)
    assert len(drawn) == groups
    for group in drawn:
        assert len(group) == min(counts)
        assert not any(one.shares_annotations_with(two) for one, two in combinations(group, 2))
        for each in group:
            assert [choice[:2] for choice in each.choices] == [("cyst", k) for k in range(len(counts))]


def test_nothing_to_draw():
    with pytest.raises(InputError, match="no instance"):
        draw_groups([], groups=1, seed=0)
    with pytest.raises(InputError, match="tumor instance 2 has no annotation"):
        Instance("tumor", 2, ())


@pytest.fixture
def files(tmp_path):
    """Return annotation files of overlapping kidneys, cysts and tumours, and the masks in them."""
    generator = np.random.default_rng(5)
    masks = {}
    for kind, instances in (("kidney", 2), ("tumor", 1), ("cyst", 2)):
        for instance in range(1, instances + 1):
            lower = generator.integers(0, 6, 3)
            for number in (1, 2, 3):
                corners = [(int(a), int(a + generator.integers(2, 6))) for a in lower]
                masks[kind, instance, number] = annotated.block(*corners)
    masks["cyst", 2, 3] = np.zeros(annotated.SHAPE, np.uint8)
    folder = annotated.write_case(tmp_path / "case_00001", masks)
    paths = {key: folder / "segmentations" / "{}_instance-{}_annotation-{}.nii.gz".format(*key) for key in masks}
    return paths, masks


def groups_of(masks):
    instances = [
        Instance(kind, number, (1, 2, 3))
        for kind in ("kidney", "tumor", "cyst")
        for number in sorted({n for k, n, _ in masks if k == kind})
    ]
    return instances, draw_groups(instances, groups=5, seed=1)


def painted_slowly(each, masks):
    labels = np.zeros(annotated.SHAPE, np.uint8)
    for kind in ("kidney", "cyst", "tumor"):
        for choice in each.choices:
            if choice[0] == kind:
                labels[masks[choice] == 1] = PAINTING[kind]
    return labels


def test_painting_and_structures_as_done_slowly(files, monkeypatch):
    paths, masks = files
    annotations = read_annotations(paths, painting=PAINTING)
    _, groups = groups_of(masks)
    samples = [each for group in groups for each in group]
    calls = []
    monkeypatch.setattr(compositions, "structures", lambda *a, **k: calls.append(k["regions"]) or structures(*a, **k))
    found = annotations.structures(samples, regions=REGIONS)
    for place, each in enumerate(samples):
        labels = painted_slowly(each, masks)
        np.testing.assert_array_equal(annotations.whole(annotations.paint(each)).array, labels)
        for region, members in REGIONS.items():
            np.testing.assert_array_equal(found[region][place].mask(), np.isin(labels, members))
    # There is one tumour with three annotations, so there are three tumours however many samples.
    assert len({id(each) for each in found["tumor"]}) == 3
    assert sum("tumor" in regions for regions in calls) == 3
    assert len({id(each) for each in found["kidney_and_mass"]}) == len(set(samples))


def test_a_region_without_kinds_of_its_own_is_shared(files):
    """Without cysts a mass is a tumour: one structure serves both."""
    paths, masks = files
    paths = {key: path for key, path in paths.items() if key[0] != "cyst"}
    _, groups = groups_of({key: mask for key, mask in masks.items() if key[0] != "cyst"})
    found = read_annotations(paths, painting=PAINTING).structures(groups[0], regions=REGIONS)
    assert all(one is two for one, two in zip(found["mass"], found["tumor"], strict=True))


def test_every_file_is_read_once(files, monkeypatch):
    paths, masks = files
    read = []
    reader = compositions.read_label_map
    monkeypatch.setattr(compositions, "read_label_map", lambda path, **k: read.append(path) or reader(path, **k))
    annotations = read_annotations(paths, painting=PAINTING)
    _, groups = groups_of(masks)
    annotations.structures([each for group in groups for each in group], regions=REGIONS)
    assert sorted(read) == sorted(paths.values())


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        ("majority", lambda votes: votes >= 2),
        ("intersection", lambda votes: votes == 3),
        ("union", lambda votes: votes),
    ],
)
def test_one_truth_of_all(files, method, rule):
    paths, masks = files
    annotations = read_annotations(paths, painting=PAINTING)
    instances, _ = groups_of(masks)
    labels = np.zeros(annotated.SHAPE, np.uint8)
    for kind, label in PAINTING.items():
        for instance in instances:
            if instance.kind == kind:
                votes = sum(masks[kind, instance.number, k].astype(int) for k in (1, 2, 3))
                labels[np.asarray(rule(votes), bool)] = label
    np.testing.assert_array_equal(annotations.whole(annotations.fused(instances, method=method)).array, labels)


def test_staple_sees_the_whole_image(files):
    """Cutting out a box must not change how probable the inside is beforehand."""
    from podium.raters import fuse

    paths, masks = files
    annotations = read_annotations(paths, painting={"tumor": 2})
    whole = fuse([masks["tumor", 1, k].astype(bool) for k in (1, 2, 3)], method="staple")
    found = annotations.whole(annotations.fused([Instance("tumor", 1, (1, 2, 3))], method="staple"))
    np.testing.assert_array_equal(found.array == 2, whole)


def test_all_annotations_empty(tmp_path):
    masks = {("kidney", 1, k): np.zeros(annotated.SHAPE, np.uint8) for k in (1, 2)}
    folder = annotated.write_case(tmp_path / "case_00001", masks)
    paths = {key: folder / "segmentations" / "{}_instance-{}_annotation-{}.nii.gz".format(*key) for key in masks}
    annotations = read_annotations(paths, painting=PAINTING)
    (group,) = draw_groups([Instance("kidney", 1, (1, 2))], groups=1, seed=0)
    assert [each.voxels for each in annotations.structures(group, regions=REGIONS)["kidney"]] == [0, 0]
    assert not annotations.whole(annotations.paint(group[0])).array.any()
    assert not annotations.whole(annotations.fused([Instance("kidney", 1, (1, 2))], method="staple")).array.any()


@pytest.mark.parametrize(
    ("array", "spacing", "message"),
    [
        (np.zeros((18, 16, 11)), annotated.SPACING, "wrong shape: 18 × 16 × 11 voxels, kidney_.* has 18 × 16 × 12"),
        (np.zeros(annotated.SHAPE), (1, 1, 3), "wrong geometry: kidney_.* spacing 1 1 2 and 1 1 3 mm"),
        (np.full(annotated.SHAPE, 2), annotated.SPACING, "label 2 in an annotation, which is a mask of 0 and 1"),
    ],
)
def test_annotations_that_do_not_belong_together(files, array, spacing, message):
    paths, _ = files
    write_label_map(paths["tumor", 1, 2], LabelMap.from_array(array.astype(np.uint8), spacing=spacing))
    with pytest.raises(InputError, match=message) as raised:
        read_annotations(paths, painting=PAINTING)
    assert raised.value.path == paths["tumor", 1, 2]


def test_no_annotation_at_all():
    with pytest.raises(InputError, match="no annotations"):
        read_annotations({}, painting=PAINTING)
