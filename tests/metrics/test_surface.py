"""Surface distances: against brute force, against peers, and where geometry gives the answer."""

import brute_force
import numpy as np
import peers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.metrics import (
    SurfaceDistances,
    average_symmetric_surface_distance,
    hausdorff_distance,
    hausdorff_distance_95,
    mean_average_surface_distance,
    structures,
    surface_dice,
    surface_distances,
)
from podium.metrics import surface as surface_module
from podium.model import InputError, LabelMap

pytestmark = pytest.mark.slow

BOUNDARIES = ("surfel", "voxel")
SPACINGS = ((1.0, 1.0, 1.0), (0.5, 0.5, 5.0), (5.0, 0.7, 0.7), (0.3, 1.1, 2.7))


def assert_like_brute_force(reference, prediction, spacing, boundary):
    spacing = spacing[: reference.ndim]
    measured = SurfaceDistances.between(reference, prediction, spacing_mm=spacing, boundary=boundary)
    elements = [brute_force.boundary_elements(mask, spacing, boundary) for mask in (reference, prediction)]
    for own, other, ours in zip(elements, elements[::-1], measured.directed, strict=True):
        distance, size = brute_force.directed(own, other)
        assert ours.counts.sum() == len(distance)
        np.testing.assert_allclose(np.repeat(ours.distances, ours.counts), distance, rtol=1e-12)
        assert ours.sizes.sum() == pytest.approx(size.sum(), rel=1e-12)
        if distance.size and np.isfinite(distance).all():
            assert ours.mean == pytest.approx(np.average(distance, weights=size), rel=1e-12, abs=1e-15)
            for percentile in (0, 37.5, 50, 95, 100):
                assert ours.linear_percentile(percentile) == pytest.approx(np.percentile(distance, percentile))
            for tolerance in np.unique(distance):
                within = ours.sizes[ours.distances <= tolerance * (1 + 1e-12)].sum()
                assert within == pytest.approx(size[distance <= tolerance * (1 + 1e-12)].sum(), rel=1e-12)


@st.composite
def mask_pairs(draw):
    dimensions = draw(st.sampled_from((2, 3)))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(dimensions))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    densities = draw(st.tuples(*[st.sampled_from((0.0, 0.02, 0.3, 0.7, 1.0))] * 2))
    return tuple(generator.random(shape) < density for density in densities)


@pytest.mark.slow
@given(masks=mask_pairs(), spacing=st.sampled_from(SPACINGS), boundary=st.sampled_from(BOUNDARIES))
@settings(max_examples=400)
def test_random_masks(masks, spacing, boundary):
    assert_like_brute_force(*masks, spacing, boundary)


@given(masks=mask_pairs(), spacing=st.sampled_from(SPACINGS), boundary=st.sampled_from(BOUNDARIES))
@settings(max_examples=60)
def test_random_masks_past_every_probe(masks, spacing, boundary):
    """With next to no probes, nearly every distance is found another way."""
    before = surface_module._PROBES
    surface_module._PROBES = 2
    try:
        assert_like_brute_force(*masks, spacing, boundary)
    finally:
        surface_module._PROBES = before


def box(shape, lower, upper):
    mask = np.zeros(shape, bool)
    mask[tuple(slice(low, high) for low, high in zip(lower, upper, strict=True))] = True
    return mask


def named_pairs():
    shape = (12, 11, 10)
    middle = box(shape, (4, 4, 3), (8, 7, 7))
    hollow = box(shape, (1, 1, 1), (11, 10, 9)) & ~box(shape, (3, 3, 3), (9, 8, 7))
    yield "single voxels", box(shape, (2, 3, 4), (3, 4, 5)), box(shape, (9, 8, 7), (10, 9, 8))
    yield "one inside the other", box(shape, (2, 2, 1), (10, 9, 9)), middle
    yield "identical", middle, middle
    yield "a hole", hollow, middle
    yield "everything and nothing but a corner", np.ones(shape, bool), box(shape, (0, 0, 0), (1, 1, 1))
    yield "far corners", box(shape, (0, 0, 0), (2, 1, 1)), box(shape, (11, 10, 8), (12, 11, 10))
    for axis in range(3):
        sheet = np.zeros(shape, bool)
        sheet[(slice(None),) * axis + (5,)] = True
        yield f"a sheet across axis {axis}", sheet, np.roll(sheet, 3, axis)
        for side in (0, -1):
            border = np.zeros(shape, bool)
            border[(slice(None),) * axis + (side,)] = True
            yield f"axis {axis}, border {side}", border, middle


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("spacing", SPACINGS)
def test_named_masks(spacing, boundary):
    for _, reference, prediction in named_pairs():
        assert_like_brute_force(reference, prediction, spacing, boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("shape", [(3, 400), (400, 3), (2, 3, 300), (300, 2, 3), (3, 300, 2)])
def test_far_apart(shape, boundary):
    """Much further than any offset that is probed."""
    reference, prediction = np.zeros((2, *shape), bool)
    reference[tuple([0] * len(shape))] = True
    prediction[tuple([-1] * len(shape))] = True
    prediction[tuple(n // 2 for n in shape)] = True
    assert_like_brute_force(reference, prediction, (0.9, 1.7, 0.4), boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_near_and_far_elements_of_one_boundary(boundary):
    """Long runs without a hit, which shorten the search, between runs with one."""
    generator = np.random.default_rng(3)
    reference, prediction = np.zeros((2, 40, 34, 6), bool)
    reference[2:38, 2:30, 1:5] = True
    prediction[2:6, 2:30, 1:5] = True
    prediction |= generator.random(prediction.shape) < 0.001
    assert_like_brute_force(reference, prediction, (3.0, 1.0, 2.0), boundary)


@pytest.mark.parametrize("spacing", [(1e-5, 1, 1), (1, 1e5, 1), (1e-6, 1e6, 1), (1e6, 1e6, 1e6)])
def test_extreme_spacing(spacing):
    masks = np.random.default_rng(4).random((2, 7, 6, 5)) < 0.2
    assert_like_brute_force(*masks, spacing, "surfel")


def test_masks_of_any_value():
    masks = np.random.default_rng(12).random((2, 9, 8)) < 0.3
    expected = average_symmetric_surface_distance(SurfaceDistances.between(*masks))
    for value in (1, 255):
        stored = masks.astype(np.uint8) * np.uint8(value)
        assert average_symmetric_surface_distance(SurfaceDistances.between(*stored)) == expected


def test_parallel_planes():
    """Two half spaces whose faces are 4 voxels of 2.5 mm apart: the faces at 10 mm, the shared walls at 0 to 10 mm."""
    reference, prediction = box((20, 30, 30), (0, 0, 0), (6, 30, 30)), box((20, 30, 30), (0, 0, 0), (10, 30, 30))
    distances = SurfaceDistances.between(reference, prediction, spacing_mm=(2.5, 1, 1))
    assert hausdorff_distance(distances) == 10
    # The far face of the prediction: 29 × 29 squares of 1 mm², bevelled towards 4 walls of 29 mm and at 4 corners.
    bevel, corner = np.hypot(0.5, 1.25), np.sqrt(1 + 2 * 2.5**2) / 8
    assert distances.from_prediction.distances[-1] == 10
    assert distances.from_prediction.sizes[-1] == pytest.approx(29 * 29 + 4 * 29 * bevel + 4 * corner)


def test_concentric_boxes():
    """Boxes 3 voxels apart on every side: every face point of the inner one is 3 voxels from the outer."""
    outer, inner = box((20, 20, 20), (2, 2, 2), (18, 18, 18)), box((20, 20, 20), (5, 5, 5), (15, 15, 15))
    distances = SurfaceDistances.between(outer, inner)
    assert distances.from_prediction.distances.tolist() == [3]
    assert hausdorff_distance(distances) == pytest.approx(np.sqrt(27))  # corner to corner
    # 0.5 mm along the last axis: from k voxels inside it takes 1.5 + k / 2 mm to leave that way, and k is at most 5;
    # the other two ways take at least 3 and 6 mm.
    anisotropic = SurfaceDistances.between(outer, inner, spacing_mm=(1, 2, 0.5))
    assert anisotropic.from_prediction.distances.tolist() == [1.5, 2, 2.5, 3, 3.5, 4]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_cube_shifted_by_known_millimetres(boundary):
    reference, prediction = box((30, 30, 30), (5, 5, 5), (15, 15, 15)), box((30, 30, 30), (5, 5, 8), (15, 15, 18))
    distances = SurfaceDistances.between(reference, prediction, spacing_mm=(0.5, 0.5, 0.4), boundary=boundary)
    assert hausdorff_distance(distances) == pytest.approx(1.2)
    assert surface_dice(distances, tolerance_mm=1.2000001) == 1
    assert 0 < surface_dice(distances, tolerance_mm=1.1) < 1
    shares = [surface_dice(distances, tolerance_mm=t) for t in (0, 0.4, 0.8, 1.2000001)]
    assert shares == sorted(shares)


def test_cubes_with_anisotropic_spacing_as_the_peer_tests_them():
    """A 100-voxel cube and one shifted by one voxel along the longest axis of a 1 × 2 × 3 mm grid."""
    reference, prediction = box((64, 64, 64), (8, 8, 8), (48, 48, 48)), box((64, 64, 64), (8, 8, 9), (48, 48, 49))
    distances = SurfaceDistances.between(reference, prediction, spacing_mm=(1, 2, 3))
    assert hausdorff_distance(distances) == 3
    theirs = peers.deepmind(reference, prediction, (1, 2, 3))
    for tolerance in (0, 1, 1.5, 3):
        assert surface_dice(distances, tolerance_mm=tolerance) == pytest.approx(
            peers.deepmind_surface_dice(theirs, tolerance), abs=1e-12
        )


@pytest.mark.parametrize("shape", [(23, 31), (14, 17, 12)])
@pytest.mark.parametrize("seed", range(4))
def test_like_deepmind(shape, seed):
    generator = np.random.default_rng(seed)
    masks = generator.random((2, *shape)) < 0.2
    spacing = (0.7, 1.3, 2.9)[: len(shape)]
    ours, theirs = SurfaceDistances.between(*masks, spacing_mm=spacing), peers.deepmind(*masks, spacing)
    for tolerance in (0.0, 0.8, 1.4, 3.0):
        expected = peers.deepmind_surface_dice(theirs, tolerance)
        assert surface_dice(ours, tolerance_mm=tolerance) == pytest.approx(expected, abs=1e-12)
    for percentile in (10, 50, 95, 100):
        expected = peers.deepmind_hausdorff(theirs, percentile)
        assert hausdorff_distance(ours, percentile=percentile) == pytest.approx(expected, abs=1e-12)
    both = peers.deepmind_average(theirs)
    assert (ours.from_reference.mean, ours.from_prediction.mean) == pytest.approx(both, abs=1e-12)
    assert mean_average_surface_distance(ours) == pytest.approx(np.mean(both), abs=1e-12)


@pytest.mark.parametrize("shape", [(23, 31), (14, 17, 12)])
def test_like_medpy(shape):
    """MedPy pools both directions, for hd95 and for assd."""
    medpy = peers.medpy()
    masks = np.random.default_rng(5).random((2, *shape)) < 0.1
    spacing = (0.7, 1.3, 2.9)[: len(shape)]
    ours = SurfaceDistances.between(*masks, spacing_mm=spacing, boundary="voxel")
    assert hausdorff_distance(ours, percentile=95, pooled=True) == pytest.approx(medpy.hd95(*masks, spacing))
    assert hausdorff_distance(ours) == pytest.approx(medpy.hd(*masks, spacing))
    assert average_symmetric_surface_distance(ours) == pytest.approx(medpy.assd(*masks, spacing))


@pytest.mark.slow
def test_like_monai():
    masks = np.random.default_rng(6).random((2, 14, 17, 12)) < 0.1
    spacing = (0.7, 1.3, 2.9)
    ours = SurfaceDistances.between(*masks, spacing_mm=spacing, boundary="voxel")
    theirs = peers.monai(*masks, spacing, percentile=95)
    assert hausdorff_distance_95(ours) == pytest.approx(theirs["hausdorff"], rel=1e-6)
    assert ours.from_prediction.mean == pytest.approx(theirs["to_reference"], rel=1e-6)
    assert ours.from_reference.mean == pytest.approx(theirs["to_prediction"], rel=1e-6)
    assert average_symmetric_surface_distance(ours) == pytest.approx(theirs["symmetric"], rel=1e-6)


def test_percentile_by_area_counts_what_is_reached_exactly():
    """Twenty elements of equal size: 95 % of the size lie within the 19th distance, whatever the rounding says."""
    distances = np.arange(20.0)
    directed = surface_module.DirectedDistances(distances, np.full(20, 0.1), np.ones(20, np.int64))
    assert directed.area_percentile(95) == 18
    assert directed.area_percentile(95.0001) == 19
    assert directed.area_percentile(0) == 0
    assert directed.area_percentile(100) == 19


def test_percentiles_are_named():
    """Nine of ten elements touch, but nearly all of the area is 2 mm away."""
    directed = surface_module.DirectedDistances(np.array([0.0, 2.0]), np.array([1.0, 99.0]), np.array([9, 1]))
    for boundary, default in (("surfel", "area"), ("voxel", "linear")):
        distances = SurfaceDistances(directed, directed, boundary)
        values = {
            rule: hausdorff_distance(distances, percentile=50, interpolation=rule) for rule in (None, "area", "linear")
        }
        assert (values["area"], values["linear"]) == (2, 0)
        assert values[None] == values[default]
    with pytest.raises(InputError, match="'area' or 'linear'"):
        hausdorff_distance(distances, percentile=60, interpolation="nearest")
    with pytest.raises(InputError, match="between 0 and 100"):
        hausdorff_distance(distances, percentile=101)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_regions_are_sets_of_labels(boundary):
    generator = np.random.default_rng(8)
    reference, prediction = generator.integers(0, 5, (2, 9, 8, 7))
    regions = {f"r{k}": tuple(np.flatnonzero(generator.random(5) < 0.5) + 1) or (1,) for k in range(11)}
    together = surface_distances(reference, prediction, regions=regions, spacing_mm=(1, 2, 3), boundary=boundary)
    assert list(together) == list(regions)
    for name, labels in regions.items():
        masks = (np.isin(array, labels) for array in (reference, prediction))
        alone = SurfaceDistances.between(*masks, spacing_mm=(1, 2, 3), boundary=boundary)
        for one, two in zip(together[name].directed, alone.directed, strict=True):
            np.testing.assert_array_equal(one.distances, two.distances)
            np.testing.assert_array_equal(one.counts, two.counts)
            np.testing.assert_allclose(one.sizes, two.sizes, rtol=1e-14)


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [
        (np.uint8, 200),
        (np.uint16, 60_000),
        (np.uint32, 3_000_000_000),
        (np.int16, 3),
        (np.int64, 3_000_000_000),
        (np.float32, 60_000),
        (np.float64, 3_000_000_000),
    ],
)
def test_labels_of_any_type_and_size(dtype, largest):
    generator = np.random.default_rng(9)
    small = generator.integers(0, 3, (2, 6, 7, 8))
    large = np.choose(small, [0, 1, largest]).astype(dtype)
    expected = surface_distances(*small, regions={"a": (2,), "b": (1, 2)})
    measured = surface_distances(*large, regions={"a": (largest,), "b": (1, largest)})
    for name in expected:
        assert surface_dice(measured[name]) == surface_dice(expected[name])


def test_layout_in_memory_does_not_matter():
    masks = np.random.default_rng(10).random((2, 9, 8, 7)) < 0.3
    expected = surface_dice(SurfaceDistances.between(*masks, spacing_mm=(1, 2, 3)), tolerance_mm=1.5)
    layouts = (np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2])
    for one in layouts:
        for two in layouts:
            distances = SurfaceDistances.between(one(masks[0]), two(masks[1]), spacing_mm=(1, 2, 3))
            assert surface_dice(distances, tolerance_mm=1.5) == pytest.approx(expected, rel=1e-14)


def test_label_maps_bring_their_own_spacing_and_box():
    masks = np.zeros((2, 12, 11, 10), np.uint8)
    masks[0, 3:6, 4:9, 2:5] = 1
    masks[1, 4:8, 4:8, 2:6] = 2
    maps = [LabelMap.from_array(np.asfortranarray(mask), spacing=(1, 2, 3)) for mask in masks]
    ours = surface_distances(*maps, regions={"any": (1, 2)})["any"]
    expected = SurfaceDistances.between(*(masks > 0), spacing_mm=(1, 2, 3))
    assert average_symmetric_surface_distance(ours) == average_symmetric_surface_distance(expected)


def test_threads_do_not_share_their_scratch_memory():
    from concurrent.futures import ThreadPoolExecutor

    generator = np.random.default_rng(11)
    jobs = [generator.random((2, *generator.integers(3, 30, 3))) < 0.2 for _ in range(40)]
    measure = lambda masks: average_symmetric_surface_distance(SurfaceDistances.between(*masks))  # noqa: E731
    expected = [measure(masks) for masks in jobs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(measure, jobs)) == expected


@pytest.mark.parametrize(
    ("masks", "options", "message"),
    [
        (np.ones((2, 3, 3), bool), {"boundary": "edge"}, "'surfel' or 'voxel'"),
        (np.ones((2, 3, 3), bool), {"spacing_mm": (1, 1, 1)}, "2 positive numbers"),
        (np.ones((2, 3, 3), bool), {"spacing_mm": (1, 0)}, "2 positive numbers"),
        (np.ones((2, 3, 3), bool), {"spacing_mm": (1, np.nan)}, "2 positive numbers"),
        (np.ones((2, 3), bool), {}, "2-D or 3-D"),
        (np.ones((2, 3, 0), bool), {}, "at least one voxel"),
        ((np.ones((3, 3), bool), np.ones((3, 4), bool)), {}, "3 × 4 voxels, the reference 3 × 3"),
        ((np.ones((3, 3)) * 0.5, np.ones((3, 3))), {}, "whole numbers"),
        ((-np.ones((3, 3)), np.ones((3, 3))), {}, "whole numbers"),
        ((np.full((3, 3), np.nan), np.ones((3, 3))), {}, "whole numbers"),
    ],
)
def test_what_cannot_be_measured_is_said(masks, options, message):
    with pytest.raises(InputError, match=message):
        SurfaceDistances.between(*masks, **options)


def test_a_region_without_labels_or_with_background_is_refused():
    for labels in ((), (0,), (-1, 2)):
        with pytest.raises(InputError, match="labels from 1"):
            surface_distances(np.ones((3, 3)), np.ones((3, 3)), regions={"r": labels})


def test_declared_values_hold_for_keywords_too():
    some, none = np.ones((3, 3), bool), np.zeros((3, 3), bool)
    assert hausdorff_distance(distances=SurfaceDistances.between(some, none), percentile=95) == np.inf
    assert surface_dice(distances=SurfaceDistances.between(none, none)) == 1
    for tolerance in (-1, np.nan):
        with pytest.raises(InputError, match="length from 0"):
            surface_dice(SurfaceDistances.between(some, some), tolerance_mm=tolerance)


def chequered(*shape):
    """Return a mask in which no two neighbours are alike: nearly every lattice point is on its boundary."""
    return np.asfortranarray(np.indices(shape).sum(axis=0) % 2 == 1)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("shape", [(20, 22), (8, 9, 10)])
def test_a_boundary_is_refused_by_the_number_of_its_elements_alone(boundary, shape, monkeypatch):
    reference, prediction = np.zeros(shape, bool), chequered(*shape)
    reference[2, 2] = True
    count = SurfaceDistances.between(reference, prediction, boundary=boundary).from_prediction.counts.sum()
    monkeypatch.setattr(surface_module, "MOST_ELEMENTS", count)
    SurfaceDistances.between(reference, prediction, boundary=boundary)
    structures(prediction, regions={"all": (1,)}, boundary=boundary)
    monkeypatch.setattr(surface_module, "MOST_ELEMENTS", count - 1)
    for measure in (
        lambda: SurfaceDistances.between(reference, prediction, boundary=boundary),
        lambda: SurfaceDistances.between(reference.T, prediction.T, boundary=boundary),
        lambda: structures(prediction, regions={"all": (1,)}, boundary=boundary),
    ):
        with pytest.raises(InputError, match=f"more than the limit of {count - 1:,} elements"):
            measure()


def test_a_reference_is_never_refused_and_allows_what_is_like_it(monkeypatch):
    monkeypatch.setattr(surface_module, "MOST_ELEMENTS", 10)
    reference = chequered(8, 9, 10)
    assert surface_dice(SurfaceDistances.between(reference, ~reference)) == 1.0


def test_places_that_are_far_away_are_asked_for_piece_by_piece(monkeypatch):
    reference, prediction = np.zeros((2, 60, 60, 20), bool)
    reference[:2, :2, :2] = True
    prediction[40:50, 40:50, 5:15] = True
    whole = SurfaceDistances.between(reference, prediction).from_prediction
    monkeypatch.setattr(surface_module, "_AT_ONCE", 7)
    pieces = SurfaceDistances.between(reference, prediction).from_prediction
    assert np.array_equal(whole.distances, pieces.distances)
    assert np.array_equal(whole.counts, pieces.counts)
