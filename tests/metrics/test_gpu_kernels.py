"""The kernels of the GPU against the engine of the CPU, run on the CPU by Triton's interpreter.

It takes about a millisecond an operation: masks are of one tile of the lattice (4 × 8 × 16), or of a few; and most of
these tests are left to `make test-all`.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from podium.metrics import (
    Overlap,
    SurfaceDistances,
    average_symmetric_surface_distance,
    devices,
    dice,
    hausdorff_distance,
    hausdorff_distance_95,
    mean_average_surface_distance,
    overlap,
    surface_dice,
    surface_distances,
)
from podium.model import InputError

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

ROUNDING = 1 + 1e-7
TWO = {"whole": (1, 2), "part": 2}


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    if not triton.knobs.runtime.interpret:
        pytest.skip("there is a GPU: its kernels are tested in tests/gpu")
    monkeypatch.setattr(devices, "PRETEND", True)


def labels(shape, seed, share=0.5):
    """Return a block with a smaller one in it, and a little noise."""
    rng = np.random.default_rng(seed)
    array = np.zeros(shape, np.uint8)
    for label in (1, 2):
        low = [int(rng.integers(0, max(1, n // 3))) for n in shape]
        array[tuple(slice(a, a + max(1, int(n * share) // label)) for a, n in zip(low, shape, strict=True))] = label
    array[rng.random(shape) < 0.01] = 2
    return array


def same(measured, expected):
    for one, two in zip(measured.directed, expected.directed, strict=True):
        np.testing.assert_allclose(one.distances, two.distances, rtol=1e-12)
        np.testing.assert_allclose(one.sizes, two.sizes, rtol=1e-12)
        np.testing.assert_array_equal(one.counts, two.counts)
    assert measured.empty == expected.empty
    assert measured.boundary == expected.boundary


def numbers(distances, tolerances):
    return [
        hausdorff_distance_95(distances),
        hausdorff_distance(distances),
        average_symmetric_surface_distance(distances),
        mean_average_surface_distance(distances),
        *(surface_dice(distances, tolerance_mm=tolerance) for tolerance in tolerances),
    ]


def reduced(measured):
    return measured.results[..., [0, 1, 2, 3, *range(6, measured.results.shape[-1])]].numpy()


@pytest.mark.heavy
@pytest.mark.parametrize("boundary", ["surfel", "voxel"])
def test_regions_of_label_maps(boundary):
    reference, prediction = labels((3, 7, 15), 1), labels((3, 7, 15), 2)
    options = {"regions": TWO, "spacing_mm": (2.1, 0.9, 0.7), "boundary": boundary}
    measured = surface_distances(torch.as_tensor(reference), torch.as_tensor(prediction), **options)
    for name, expected in surface_distances(reference, prediction, **options).items():
        same(measured[name], expected)


@pytest.mark.heavy
@pytest.mark.parametrize("boundary", ["surfel", "voxel"])
@pytest.mark.parametrize("probes", [1, 16])
def test_far_and_near_over_several_tiles(boundary, probes):
    from podium.metrics._gpu.pipeline import BoundaryQuestion, measure
    from podium.metrics._gpu.tensors import stack_up

    reference, prediction = np.zeros((2, 6, 9, 8), np.uint8)
    reference[1:4, 2:6, 2:6], prediction[2:5, 2:6, 2:6] = 1, 1
    reference[2, 4, 4], prediction[5, 8, 7] = 2, 2
    spacing = (2.1, 0.9, 0.7)
    pair = (torch.as_tensor(array) for array in (reference, prediction))
    stack = stack_up(*pair, labels=[(1, 2), (2,)], spacing_mm=spacing, batch=False)
    question = BoundaryQuestion(
        surfel=boundary == "surfel", linear=boundary == "voxel", probes=probes, reaches=(ROUNDING, 4 * ROUNDING)
    )
    measured = measure(stack, question)
    assert measured.record_counts.min() > 0
    expected = surface_distances(reference, prediction, regions=TWO, spacing_mm=spacing, boundary=boundary)
    wanted = [numbers(distances, (1.0, 4.0)) for distances in expected.values()]
    np.testing.assert_allclose(reduced(measured)[0], wanted, rtol=1e-12)


@pytest.mark.parametrize("seed", [*(pytest.param(seed, marks=pytest.mark.heavy) for seed in (0, 2)), 1, 3])
def test_scattered_points_in_the_plane(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 31, 2))
    reference, prediction = rng.random((2, *shape)) < rng.choice([0.02, 0.3])
    boundary = ("surfel", "voxel")[seed % 2]
    spacing = tuple(rng.uniform(0.3, 3.0, 2))
    measured = SurfaceDistances.between(
        torch.as_tensor(reference), torch.as_tensor(prediction), spacing_mm=spacing, boundary=boundary
    )
    same(measured, SurfaceDistances.between(reference, prediction, spacing_mm=spacing, boundary=boundary))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "float16", "float32", "uint16"])
def test_masks_of_any_type(dtype):
    reference, prediction = labels((7, 9), 1) == 1, labels((7, 9), 2) == 1
    pair = [torch.as_tensor(array).to(getattr(torch, dtype)) for array in (reference, prediction)]
    counted = Overlap.between(*pair, spacing_mm=(1, 2))
    expected = Overlap.between(reference, prediction, spacing_mm=(1, 2))
    assert dice(counted) == dice(expected)
    assert (counted.common, counted.reference, counted.prediction, counted.voxel_volume_mm3, counted.empty) == (
        expected.common,
        expected.reference,
        expected.prediction,
        expected.voxel_volume_mm3,
        expected.empty,
    )


@pytest.mark.heavy
def test_any_layout_and_two_types():
    reference, prediction = labels((16, 7, 3), 3), labels((16, 7, 3), 4)
    spacing = (0.7, 0.9, 2.1)
    wide = torch.zeros((16, 7, 6), dtype=torch.int32)
    wide[:, :, ::2] = torch.as_tensor(prediction)
    turned = torch.as_tensor(np.asfortranarray(reference))
    expected = surface_distances(reference, prediction, regions=TWO, spacing_mm=spacing)
    measured = surface_distances(turned, wide[:, :, ::2], regions=TWO, spacing_mm=spacing)
    for name in TWO:
        same(measured[name], expected[name])
    counts = overlap(turned, wide[:, :, ::2], regions=TWO)
    assert [dice(counts[name]) for name in TWO] == [
        dice(counted) for counted in overlap(reference, prediction, regions=TWO).values()
    ]


def test_rows_of_whole_words():
    reference, prediction = labels((2, 6, 16), 5), labels((2, 6, 16), 6)
    expected = overlap(reference, prediction, regions=TWO)
    measured = overlap(torch.as_tensor(reference), torch.as_tensor(prediction), regions=TWO)
    assert [dice(measured[name]) for name in TWO] == [dice(expected[name]) for name in TWO]


def test_nothing_and_nobody():
    something = torch.as_tensor(labels((5, 6), 1))
    nothing = torch.zeros_like(something)
    for pair, case in (
        ((nothing, nothing), "both"),
        ((nothing, something), "reference"),
        ((something, nothing), "prediction"),
    ):
        distances = SurfaceDistances.between(*pair)
        same(distances, SurfaceDistances.between(*(np.asarray(mask) for mask in pair)))
        assert distances.empty == case
        assert Overlap.between(*pair).empty == case


@pytest.mark.heavy
def test_a_batch_of_channels_with_empty_ones():
    from podium.metrics.torch import measure_batch

    rng = np.random.default_rng(0)
    reference = rng.random((2, 3, 6, 8)) < 0.3
    prediction = rng.random((2, 3, 6, 8)) < 0.3
    reference[0, 0] = prediction[0, 0] = False
    reference[1, 2] = False
    prediction[0, 1] = False
    for boundary in ("surfel", "voxel"):
        measured = measure_batch(
            torch.as_tensor(reference).float(), torch.as_tensor(prediction).float(), boundary=boundary, spacing_mm=0.8
        )
        for item in range(2):
            for channel in range(3):
                pair = reference[item, channel], prediction[item, channel]
                distances = SurfaceDistances.between(*pair, spacing_mm=0.8, boundary=boundary)
                percentile, largest, average, mean, share = numbers(distances, (1.0,))
                at = item, channel
                assert measured.percentile[at] == pytest.approx(percentile, rel=1e-12)
                assert measured.hausdorff[at] == pytest.approx(largest, rel=1e-12)
                assert measured.average[at] == pytest.approx(average, rel=1e-12)
                assert measured.mean_average[at] == pytest.approx(mean, rel=1e-12)
                assert measured.surface_dice[at] == pytest.approx(share, rel=1e-12)
                assert measured.dice[at] == dice(Overlap.between(*pair))


@pytest.mark.heavy
def test_more_regions_than_a_byte_has_bits():
    rng = np.random.default_rng(0)
    reference, prediction = rng.integers(0, 11, (2, 5, 7)).astype(np.uint8)
    regions = {str(label): label for label in range(1, 11)}
    expected = overlap(reference, prediction, regions=regions)
    measured = overlap(torch.as_tensor(reference), torch.as_tensor(prediction), regions=regions)
    assert {name: dice(measured[name]) for name in regions} == {name: dice(expected[name]) for name in regions}
    reference, prediction = torch.as_tensor(reference), torch.as_tensor(prediction)
    distances = surface_distances(reference, prediction, regions=regions)
    assert list(distances) == list(regions)
    same(distances["10"], SurfaceDistances.between(np.asarray(reference) == 10, np.asarray(prediction) == 10))


@pytest.mark.heavy
def test_lists_without_room_do_not_matter(monkeypatch):
    from podium.metrics._gpu import pipeline

    monkeypatch.setattr(pipeline, "_FEWEST_PLACES", 3)
    monkeypatch.setattr(pipeline, "_ROOM_FOR_PLACES", 10**6)
    pipeline._measuring.cache_clear()
    reference, prediction = labels((7, 9), 1), labels((7, 9), 2)
    measured = SurfaceDistances.between(torch.as_tensor(reference), torch.as_tensor(prediction))
    same(measured, SurfaceDistances.between(reference, prediction))
    pipeline._measuring.cache_clear()


def test_far_distances_without_room_are_measured_again():
    from podium.metrics._gpu.pipeline import BoundaryQuestion, measure
    from podium.metrics._gpu.readings import settled
    from podium.metrics._gpu.tensors import stack_up

    reference, prediction = np.zeros((2, 4, 14), np.uint8)
    reference[1:3, 1:3], prediction[1:3, 11:13] = 1, 1
    pair = (torch.as_tensor(array) for array in (reference, prediction))
    stack = stack_up(*pair, labels=None, spacing_mm=None, batch=False)
    question = BoundaryQuestion(surfel=True, probes=4, room_for_records=2)
    measured = measure(stack, question)
    assert measured.results.isnan().all()
    again = reduced(settled(stack, question, measured))
    wanted = numbers(SurfaceDistances.between(reference, prediction), (1.0,))
    np.testing.assert_allclose(again[0, 0], wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "number", [-1, *(pytest.param(number, marks=pytest.mark.heavy) for number in (0.5, float("nan")))]
)
def test_what_is_no_label_is_refused(number):
    wrong = torch.zeros((3, 4), dtype=torch.int64 if number == -1 else torch.float32)
    wrong[1, 1] = number
    counted = Overlap.between(wrong, wrong)
    with pytest.raises(InputError, match="whole numbers"):
        dice(counted)
    distances = SurfaceDistances.between(wrong, wrong)
    with pytest.raises(InputError, match="whole numbers"):
        surface_dice(distances)


def test_what_does_not_fit_is_refused():
    from podium.metrics.torch import measure_batch

    with pytest.raises(InputError, match="3 axes"):
        measure_batch(torch.zeros((2, 4, 4)), torch.zeros((2, 4, 4)))
    with pytest.raises(InputError, match="label maps are"):
        measure_batch(torch.zeros((4, 4)), torch.zeros((4, 4)), regions={"one": 1})
    with pytest.raises(InputError, match="3 × 4 voxels"):
        Overlap.between(torch.zeros((2, 4)), torch.zeros((3, 4)))
    with pytest.raises(InputError, match="2-D or 3-D"):
        Overlap.between(torch.zeros(4), torch.zeros(4))
    with pytest.raises(InputError, match="spacing"):
        SurfaceDistances.between(torch.zeros((2, 4)), torch.zeros((2, 4)), spacing_mm=(1, 2, 3))


def far_apart(count, step, shape):
    """Return masks as channels that lie so many bytes apart, in memory of which little is ever touched."""
    memory = torch.from_numpy(np.zeros((count - 1) * step + int(np.prod(shape)), np.uint8))
    strides = (step, *(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))))
    return memory.as_strided((count, *shape), strides)


def test_channels_may_lie_further_apart_than_32_bits_count():
    from podium.metrics.torch import measure_batch

    shape, step = (3, 5, 6), 2**30 + 64
    one, two = (far_apart(4, step, shape) for _ in range(2))
    one[3, 1, 1:4, 1:4], two[3, 1, 1:4, 2:5] = 1, 1
    measured = measure_batch(one[None], two[None])
    expected = SurfaceDistances.between(one[3].numpy() > 0, two[3].numpy() > 0)
    assert float(measured.percentile[0, 3]) == pytest.approx(hausdorff_distance_95(expected), rel=1e-12)
    assert float(measured.dice[0, 3]) == pytest.approx(2 / 3)


def test_a_view_whose_voxels_lie_far_apart_is_copied():
    from podium.metrics._gpu.tensors import stack_up

    memory = torch.from_numpy(np.zeros(3 * 2**30, np.uint8))
    view = memory.as_strided((3, 4, 5), (2**30 + 7, 5, 1))
    view[1, 1:3, 1:3] = 1
    near = stack_up(view, view, labels=None, spacing_mm=None, batch=False)
    assert near.reference.stride()[2:] == (20, 5, 1)
    assert int(near.reference.sum()) == 4


@pytest.mark.parametrize(
    ("shape", "flat", "too_large"),
    [
        ((512, 512, 512), False, False),
        ((1284, 1284, 1284), False, True),
        ((1, 32000, 32000), True, False),
        ((1, 32767, 32767), False, True),
        ((40000, 3, 3), False, True),
    ],
)
def test_places_are_numbered_in_32_bits(shape, flat, too_large):
    from podium.metrics._gpu.tensors import is_too_large

    assert is_too_large(shape, flat=flat) is too_large


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_large_labels_need_no_large_table(dtype):
    one, two = np.zeros((2, 6, 7), np.int64)
    one[1:4, 1:5], two[1:4, 2:6] = 3_000_000_000, 3_000_000_000
    two[5, 5] = 70_000
    regions = {"far": 3_000_000_000, "both": (70_000, 3_000_000_000)}
    tensors = [torch.as_tensor(array).to(dtype) for array in (one, two)]
    expected = overlap(one, two, regions=regions)
    for name, counted in overlap(*tensors, regions=regions).items():
        own = expected[name]
        assert (counted.common, counted.reference, counted.prediction) == (own.common, own.reference, own.prediction)
    tensors[0][0, 0] = -1
    with pytest.raises(InputError, match="labels must be whole numbers"):
        _ = overlap(*tensors, regions=regions)["far"].common


def test_labels_beyond_what_is_allowed_are_refused():
    array = torch.zeros((4, 4), dtype=torch.int64)
    array[1, 1] = 2**32
    with pytest.raises(InputError, match="labels must be whole numbers"):
        _ = overlap(array, array, regions={"x": 1})["x"].common


def test_labels_in_half_precision_are_not_lost():
    array = torch.zeros((4, 5), dtype=torch.float16)
    array[1:3, 1:3] = 2048
    assert overlap(array, array, regions={"x": 2048})["x"].common == 4


def test_spacings_of_any_ratio():
    one, two = np.zeros((2, 300, 2, 2), np.uint8)
    one[10:30], two[200:220, 0] = 1, 1
    spacing = (1e-3, 10.0, 10.0)
    expected = SurfaceDistances.between(one > 0, two > 0, spacing_mm=spacing, boundary="voxel")
    measured = SurfaceDistances.between(
        *(torch.as_tensor(array) for array in (one, two)), spacing_mm=spacing, boundary="voxel"
    )
    assert hausdorff_distance(measured) == pytest.approx(hausdorff_distance(expected), rel=1e-12)


def test_a_mask_that_was_overwritten_is_not_measured_again(monkeypatch):
    from podium.metrics._gpu import readings

    one, two = (torch.zeros((1, 40), dtype=torch.uint8) for _ in range(2))
    one[0, 1], two[0, 38] = 1, 1
    monkeypatch.setattr(readings.MeasuredStack, "room_for_records", property(lambda _: 0))
    distances = SurfaceDistances.between(one, two)
    two[0, 2] = 1
    with pytest.raises(InputError, match="masks were overwritten before their distances were read"):
        _ = distances.from_reference


def test_what_was_measured_can_be_copied_and_sent():
    array = torch.zeros((5, 6), dtype=torch.uint8)
    array[1:4, 1:4] = 1
    counted, distances = Overlap.between(array, array.roll(1, 1)), SurfaceDistances.between(array, array.roll(1, 1))
    for copied in (pickle.loads(pickle.dumps(counted)), copy.deepcopy(counted)):
        assert type(copied) is Overlap
        assert dice(copied) == dice(counted)
    for copied in (pickle.loads(pickle.dumps(distances)), copy.deepcopy(distances)):
        assert type(copied) is SurfaceDistances
        assert hausdorff_distance(copied) == hausdorff_distance(distances)


def test_what_does_not_lie_on_a_device_is_told():
    with pytest.raises(InputError, match="one mask lies on a GPU, the other is of type list"):
        overlap(torch.zeros((3, 3), dtype=torch.uint8), [[0, 1, 0]] * 3, regions={"x": 1})
