"""How metrics are called: odd arguments do the right thing or are refused with advice, also where a mask is empty."""

import copy
import inspect
import pickle
import re

import cloudpickle
import laws
import numpy as np
import peers
import pytest

from podium.metrics import (
    BinaryCounts,
    BoundaryBands,
    BoxSet,
    CentreLines,
    Centres,
    ImageDetections,
    InstanceCounts,
    InstanceOverlaps,
    LesionComparison,
    Overlap,
    StructurePair,
    SurfaceDistances,
    Topology,
    average_symmetric_surface_distance,
    betti_numbers,
    bland_altman,
    box_overlaps,
    centre_distance,
    centres,
    compare,
    components,
    confusion_matrix,
    delong_covariance,
    dice,
    expand,
    gaussian_dose,
    get_metric,
    hausdorff_distance,
    intraclass_correlations,
    jacobian_determinants,
    landmark_errors,
    match,
    mean_average_surface_distance,
    metrics,
    one_against_rest,
    overlap,
    panoptic_quality,
    point_hits,
    reference_volume,
    skeleton,
    structural_similarity_map,
    structures,
    surface_dice,
    surface_distances,
)
from podium.model import InputError, LabelMap, Metric

SOME, NONE = np.ones((4, 5), bool), np.zeros((4, 5), bool)
KINDS = (Overlap, SurfaceDistances, Centres, BoundaryBands, CentreLines, Topology)


@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: metric.name)
def test_a_metric_is_as_good_as_its_function(metric):
    assert inspect.signature(metric) == inspect.signature(metric.function)
    assert metric.__name__ == metric.__qualname__ == metric.name == metric.function.__name__
    assert metric.__module__ == metric.function.__module__
    assert inspect.getdoc(metric) == inspect.getdoc(metric.function)
    assert inspect.unwrap(metric) is metric.function


@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: metric.name)
def test_a_metric_is_one_object(metric):
    for kept in (pickle.loads(pickle.dumps(metric)), cloudpickle.loads(cloudpickle.dumps(metric))):
        assert kept is metric
    assert copy.copy(metric) is metric
    assert copy.deepcopy({metric: [metric]}) == {metric: [metric]}
    assert len({metric, metric}) == 1
    assert metric != next(other for other in metrics() if other is not metric)


def test_the_class_explains_itself():
    assert "A function that measures" in inspect.getdoc(Metric)


def of_pairs():
    families = ("overlap", "surface", "centres", "boundary", "centreline", "topology")
    return [metric for metric in metrics() if metric.family in families]


@pytest.mark.parametrize("metric", of_pairs(), ids=lambda metric: metric.name)
def test_two_masks_are_told_what_to_call(metric):
    kind = next(iter(inspect.signature(metric).parameters.values())).annotation
    for arguments in ((SOME, SOME), (SOME,), ([[1, 0]], [[1, 0]]), ()):
        with pytest.raises(InputError, match=rf"Call {metric.name}\({kind}\.between\(reference, prediction\)\)"):
            metric(*arguments)
    wrong = next(other for other in KINDS if other.__name__ != kind)
    with pytest.raises(InputError, match=f"not {wrong.__name__}"):
        metric(wrong.between(SOME, SOME))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("panoptic_quality", "InstanceCounts.between(reference, prediction)"),
        ("specificity", "BinaryCounts.between(reference, prediction)"),
        ("lesion_wise_dice", "LesionComparison.by_contact(reference, prediction)"),
        ("froc_score", "Detections.of(images)"),
    ],
)
def test_so_are_those_of_instances_and_decisions(name, call):
    with pytest.raises(InputError, match=re.escape(f"Call {name}({call})")):
        get_metric(name)(SOME, SOME)


@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: metric.name)
def test_masked_arrays_are_refused_by_every_metric(metric):
    hidden = np.ma.masked_array(SOME, SOME)
    with pytest.raises(InputError):
        metric(hidden, hidden)


@pytest.mark.parametrize("metric", of_pairs(), ids=lambda metric: metric.name)
def test_unknown_options_are_refused_where_nothing_is_measured(metric):
    kind = next(kind for kind in KINDS if kind.__name__ in str(inspect.signature(metric)))
    for masks in ((SOME, SOME), (NONE, SOME), (SOME, NONE), (NONE, NONE)):
        with pytest.raises(TypeError, match="unexpected keyword"):
            metric(kind.between(*masks), tolerance=1.0)


@pytest.mark.parametrize("masks", [(SOME, SOME), (NONE, SOME), (SOME, NONE), (NONE, NONE)])
def test_options_are_checked_whatever_is_empty(masks):
    distances = SurfaceDistances.between(*masks)
    for tolerance in (-1, np.nan):
        with pytest.raises(InputError, match="length from 0"):
            surface_dice(distances, tolerance_mm=tolerance)
    for percentile in (-1, 101, np.nan):
        with pytest.raises(InputError, match="between 0 and 100"):
            hausdorff_distance(distances, percentile=percentile)
    for share, meant in ((0.95, "95"), (0.999, "99.9"), (0.5, "50")):
        with pytest.raises(InputError, match=rf"Did you mean {meant}\?"):
            hausdorff_distance(distances=distances, percentile=share)
    with pytest.raises(InputError, match="'area' or 'linear'"):
        hausdorff_distance(distances, interpolation="nearest")


@pytest.mark.parametrize("spacing", [2.0, 2, np.float32(2), np.array(2.0), [2, 2], np.array([2.0, 2.0]), (2.0, 2.0)])
def test_a_single_spacing_is_that_of_every_axis(spacing):
    assert reference_volume(Overlap.between(SOME, SOME, spacing_mm=spacing)) == 80
    assert Centres.between(SOME, SOME, spacing_mm=spacing).spacing_mm == (2.0, 2.0)
    shifted = np.roll(np.eye(5), 1, axis=0)
    assert hausdorff_distance(SurfaceDistances.between(np.eye(5), shifted, spacing_mm=spacing)) == pytest.approx(
        2 * hausdorff_distance(SurfaceDistances.between(np.eye(5), shifted))
    )
    whole = structures(SOME, regions={"all": 1})["all"]
    assert StructurePair(whole, whole, spacing).overlap.voxel_volume_mm3 == 4
    assert LabelMap.from_array(SOME, spacing=spacing).spacing == (2.0, 2.0)
    assert expand(np.eye(5), margin_mm=2.0, spacing_mm=spacing).sum() == 13
    assert gaussian_dose(SOME, sigma_mm=1.0, spacing_mm=spacing).shape == SOME.shape
    assert InstanceOverlaps.between(SOME, SOME, spacing_mm=spacing).spacing_mm == (2.0, 2.0)
    assert LesionComparison.by_contact(SOME, SOME, spacing_mm=spacing).lesions[0].reference_mm3 == 80
    assert BoundaryBands.between(SOME, SOME, width_mm=2.0, spacing_mm=spacing).reference == 14
    assert jacobian_determinants(np.mgrid[:4, :5] * 1.0, spacing_mm=spacing)[0, 0] == 2.25


@pytest.mark.parametrize(
    "spacing", [{1.0, 2.0}, frozenset((1.0,)), {"x": 1, "y": 2}, "12", (1,), (1, 2, 3), (0, 1), -1.0, np.nan, [[1, 1]]]
)
def test_what_is_no_spacing_is_refused(spacing):
    whole = structures(SOME, regions={"all": (1,)})["all"]
    for measure in (
        lambda: Overlap.between(SOME, SOME, spacing_mm=spacing),
        lambda: SurfaceDistances.between(SOME, SOME, spacing_mm=spacing),
        lambda: Centres.between(SOME, SOME, spacing_mm=spacing),
        lambda: StructurePair(whole, whole, spacing),
        lambda: LabelMap.from_array(SOME, spacing=spacing),
        lambda: expand(SOME, margin_mm=1.0, spacing_mm=spacing),
        lambda: gaussian_dose(SOME, sigma_mm=1.0, spacing_mm=spacing),
        lambda: InstanceOverlaps.between(SOME, SOME, spacing_mm=spacing),
        lambda: LesionComparison.by_contact(SOME, SOME, spacing_mm=spacing),
        lambda: LesionComparison.by_matching(SOME, SOME, spacing_mm=spacing),
        lambda: BoundaryBands.between(SOME, SOME, spacing_mm=spacing),
        lambda: jacobian_determinants(np.zeros((2, 4, 5)), spacing_mm=spacing),
    ):
        with pytest.raises(InputError, match="the spacing must be 2"):
            measure()


def test_structures_of_a_label_map_keep_its_spacing():
    maps = [LabelMap.from_array(np.asfortranarray(mask), spacing=(0.5, 3)) for mask in (np.eye(5), np.eye(5)[::-1])]
    one, two = (structures(labels, regions={"all": (1,)})["all"] for labels in maps)
    pair = StructurePair(one, two)
    assert pair.overlap == overlap(*maps, regions={"all": (1,)})["all"]
    ours, expected = pair.distances, surface_distances(*maps, regions={"all": (1,)})["all"]
    assert hausdorff_distance(ours) == hausdorff_distance(expected)
    assert centre_distance(pair.centres) == centre_distance(centres(*maps, regions={"all": (1,)})["all"])
    assert StructurePair(one, two, 1.0).overlap.voxel_volume_mm3 == 1


@pytest.mark.parametrize("labels", [1, np.int64(1), (1,), [1, 1], {1}, frozenset((1,)), np.array([1]), range(1, 2)])
def test_a_region_is_one_label_or_several(labels):
    regions = {"x": labels}
    assert overlap(SOME, SOME, regions=regions)["x"].common == 20
    assert surface_dice(surface_distances(SOME, SOME, regions=regions)["x"]) == 1
    assert centres(SOME, SOME, regions=regions)["x"].empty is None
    assert structures(SOME, regions=regions)["x"].voxels == 20
    assert compare(SOME, SOME, regions=regions)["x"].overlap.common == 20


@pytest.mark.parametrize("labels", [0, -1, 1.0, "1", "12", b"1", True, None, (), (1, "2"), [[1, 2]], SOME, (2**32,)])
def test_what_is_no_region_is_refused(labels):
    for measure in (overlap, surface_distances, centres, compare):
        with pytest.raises(InputError, match="a region is a set of labels from 1"):
            measure(SOME, SOME, regions={"x": labels})
        with pytest.raises(InputError, match="labels by name"):
            measure(SOME, SOME, regions=[1, 2])
    with pytest.raises(InputError, match="a region is a set of labels from 1"):
        structures(SOME, regions={"x": labels})


HIDDEN = np.ma.masked_array([[0.0, 1.0], [1.0, 0.0]], mask=np.eye(2, dtype=bool))


@pytest.mark.parametrize(
    "measure",
    [
        lambda: BinaryCounts.between([0, 1], HIDDEN[0]),
        lambda: bland_altman(HIDDEN[0], [0, 1]),
        lambda: confusion_matrix([0, 1], HIDDEN[0]),
        lambda: intraclass_correlations(HIDDEN),
        lambda: landmark_errors(HIDDEN, [[0, 1], [1, 0]]),
        lambda: delong_covariance([0, 1], HIDDEN),
        lambda: one_against_rest([0, 1], HIDDEN),
        lambda: match(HIDDEN, threshold=0.5),
        lambda: BoxSet(HIDDEN),
        lambda: box_overlaps(HIDDEN, [[0, 1]]),
        lambda: point_hits([[0, 1]], HIDDEN, radius_mm=1.0),
        lambda: ImageDetections.by_hits(HIDDEN[0], [[True], [False]]),
        lambda: structural_similarity_map(HIDDEN, HIDDEN, data_range=1.0),
        lambda: jacobian_determinants(np.ma.masked_array(np.zeros((2, 3, 3)), np.ones((2, 3, 3)))),
    ],
)
def test_masked_numbers_are_refused(measure):
    with pytest.raises(InputError, match="masked array is given"):
        measure()


def test_masked_labels_are_refused_unless_nothing_is_masked():
    hidden, open_ = np.ma.masked_array(SOME, mask=np.eye(4, 5, dtype=bool)), np.ma.masked_array(SOME)
    for measure in (Overlap.between, SurfaceDistances.between, Centres.between):
        with pytest.raises(InputError, match=r"array\.filled\(0\)"):
            measure(SOME, hidden)
        assert measure(SOME, open_).empty is None
    with pytest.raises(InputError, match=r"array\.filled\(0\)"):
        structures(hidden, regions={"x": 1})
    with pytest.raises(InputError, match=r"array\.filled\(0\)"):
        LabelMap.from_array(hidden)
    for measure in (InstanceOverlaps.between, LesionComparison.by_contact, BoundaryBands.between, Topology.between):
        with pytest.raises(InputError, match=r"array\.filled\(0\)"):
            measure(SOME, hidden)
    for measure in (components, skeleton, betti_numbers):
        with pytest.raises(InputError, match=r"array\.filled\(0\)"):
            measure(hidden)
    with pytest.raises(InputError, match=r"array\.filled\(0\)"):
        expand(hidden, margin_mm=1.0, spacing_mm=1.0)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
def test_bool_views_of_other_bytes_are_inside(layout):
    """0 and 255 seen as booleans are not 0 and 1 in memory."""
    masks = np.random.default_rng(0).random((2, 6, 7)) < 0.4
    views = [layout(mask.astype(np.uint8) * np.uint8(255)).view(bool) for mask in masks]
    assert Overlap.between(*views) == Overlap.between(*masks)
    assert overlap(*views, regions={"x": 1}) == overlap(*masks, regions={"x": 1})
    assert surface_dice(SurfaceDistances.between(*views)) == surface_dice(SurfaceDistances.between(*masks))
    assert structures(views[0], regions={"x": 1})["x"].voxels == masks[0].sum()
    assert np.array_equal(components(views[0]), components(masks[0]))
    assert np.array_equal(skeleton(views[0]), skeleton(masks[0]))
    assert betti_numbers(views[0]) == betti_numbers(masks[0])
    for kind in (BoundaryBands, CentreLines, Topology):
        assert kind.between(*views) == kind.between(*masks)
    assert panoptic_quality(InstanceCounts.between(*views)) == panoptic_quality(InstanceCounts.between(*masks))
    assert LabelMap.from_array(views[0]).labels == LabelMap.from_array(masks[0]).labels
    assert np.array_equal(
        expand(views[0], margin_mm=1.0, spacing_mm=1.0), expand(masks[0], margin_mm=1.0, spacing_mm=1.0)
    )


@pytest.mark.parametrize("largest", [1, 255, 60_000])
def test_half_precision(largest):
    labels = np.array([[0, 1], [largest, 0]], np.float16)
    whole = int(labels[1, 0])
    assert overlap(labels, labels, regions={"x": whole})["x"].common == (labels == labels[1, 0]).sum()
    for wrong in (0.5, -1, np.inf, np.nan):
        with pytest.raises(InputError, match="whole numbers"):
            Overlap.between(np.full((2, 2), wrong, np.float16), SOME[:2, :2])


def test_a_float_one_above_the_largest_label_is_refused():
    with pytest.raises(InputError, match="whole numbers"):
        Overlap.between(np.full((2, 2), 2**32, np.float32), np.ones((2, 2)))


def test_nothing_has_no_mean_and_no_percentile():
    distances = SurfaceDistances.between(SOME, NONE)
    nothing = distances.from_prediction
    for value in (nothing.mean, nothing.deviation, nothing.linear_percentile(50), nothing.area_percentile(50)):
        assert np.isnan(value)
    assert distances.from_reference.mean == distances.from_reference.linear_percentile(50) == np.inf
    assert np.isnan(distances.from_reference.deviation)


@pytest.mark.parametrize("length", [-1.0, -1e-9, np.nan, np.inf])
def test_margins_and_deviations_are_lengths(length):
    for mask in (SOME, NONE):
        with pytest.raises(InputError, match="a margin is a length from 0"):
            expand(mask, margin_mm=length, spacing_mm=1.0)
        with pytest.raises(InputError, match="a standard deviation is a length from 0"):
            gaussian_dose(mask, sigma_mm=length, spacing_mm=1.0)
    assert np.array_equal(gaussian_dose(SOME, sigma_mm=0.0, spacing_mm=1.0), SOME)


@pytest.mark.parametrize("spacing", [0.1, 0.3, 0.7, 1.1, 1 / 3, float(np.float32(0.1)), float(np.float32(0.7))])
@pytest.mark.parametrize("boundary", ["surfel", "voxel"])
def test_a_tolerance_of_so_many_voxels_includes_them(spacing, boundary):
    reference, prediction = np.zeros((2, 40, 3), bool)
    reference[1] = True
    for steps in range(1, 30):
        prediction[:] = False
        prediction[1 + steps] = True
        distances = SurfaceDistances.between(reference, prediction, spacing_mm=spacing, boundary=boundary)
        on_paper = round(spacing, 6) if spacing != 1 / 3 else spacing
        assert surface_dice(distances, tolerance_mm=steps * on_paper) == 1
        assert surface_dice(distances, tolerance_mm=float(f"{steps * on_paper:.12g}")) == 1
        assert surface_dice(distances, tolerance_mm=steps * on_paper * (1 - 1e-6)) < 1


def hollow():
    whole = np.zeros((9, 9, 9), bool)
    whole[1:8, 1:8, 1:8] = True
    shell = whole.copy()
    shell[4, 4, 4] = False
    return whole, shell


def rough_pairs():
    generator = np.random.default_rng(4)
    yield generator.random((2, 11, 9)) < 0.3  # these touch the border
    yield generator.random((2, 6, 8, 7)) < 0.3
    yield hollow()


@pytest.mark.slow
def test_voxel_boundaries_are_those_of_monai_and_medpy():
    medpy = peers.medpy()
    for one, two in rough_pairs():
        spacing = (0.7, 1.3, 2.9)[: one.ndim]
        ours = SurfaceDistances.between(one, two, spacing_mm=spacing, boundary="voxel")
        theirs = peers.monai(one, two, spacing)
        largest, mean = hausdorff_distance(ours), average_symmetric_surface_distance(ours)
        assert largest == pytest.approx(theirs["hausdorff"], rel=1e-6)
        assert mean == pytest.approx(theirs["symmetric"], rel=1e-6)
        assert (largest, mean) == pytest.approx((medpy.hd(one, two, spacing), medpy.assd(one, two, spacing)))
        both = medpy.asd(one, two, spacing), medpy.asd(two, one, spacing)
        assert (ours.from_reference.mean, ours.from_prediction.mean) == pytest.approx(both)
        assert mean_average_surface_distance(ours) == pytest.approx(np.mean(both))


@pytest.mark.slow
def test_voxel_boundaries_are_those_of_torchmetrics_in_square_images():
    """Its distance transform takes the height for the width: other images give another number, or none."""
    for one, two in np.random.default_rng(2).random((5, 2, 12, 12)) < 0.2:
        ours = SurfaceDistances.between(one, two, spacing_mm=(0.7, 1.3), boundary="voxel")
        assert hausdorff_distance(ours) == pytest.approx(peers.torchmetrics_hausdorff(one, two, (0.7, 1.3)), rel=1e-5)


def test_simpleitk_and_scikit_image_measure_from_every_voxel():
    """A hole of one voxel, three from the surface: its own boundary is two away, the filled voxel next to the mask."""
    whole, shell = hollow()
    assert hausdorff_distance(SurfaceDistances.between(whole, shell, boundary="voxel")) == 2
    assert peers.simpleitk_hausdorff(whole, shell)[0] == 1
    assert peers.skimage_module("metrics").hausdorff_distance(whole, shell) == 1
    shifted = np.roll(whole, 1, axis=0)  # a seventh of the voxels is 1 away; of the surface, more than that
    mean = average_symmetric_surface_distance(SurfaceDistances.between(whole, shifted, boundary="voxel"))
    assert peers.simpleitk_hausdorff(whole, shifted)[1] == pytest.approx(1 / 7)
    assert mean > 0.2


def test_every_family_of_pairs_is_covered():
    assert {metric.family for metric in of_pairs()} <= set(laws.FAMILIES)
    with pytest.raises(InputError, match="takes a pair"):
        dice(SOME, SOME)
