"""Metrics on a real GPU: equal to the CPU's, the same in every run, without waiting, leaks or too much memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from ct_material import ct_cases, variants
from shared_data import KITS21_REGIONS

from podium.metrics import (
    Overlap,
    SurfaceDistances,
    average_symmetric_surface_distance,
    dice,
    hausdorff_distance,
    hausdorff_distance_95,
    mean_average_surface_distance,
    overlap,
    surface_dice,
    surface_distances,
)

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

from podium.metrics.torch import (  # noqa: E402
    DiceMetric,
    HausdorffDistanceMetric,
    SegmentationMetrics,
    measure_batch,
)

CASES = ct_cases()
WHOLE = (torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.int8, torch.int16, torch.int32, torch.int64)
TYPES = (*WHOLE, torch.float16, torch.bfloat16, torch.float32, torch.float64)


def numbers(distances):
    return [
        surface_dice(distances, tolerance_mm=1.0),
        surface_dice(distances, tolerance_mm=3.0),
        hausdorff_distance_95(distances),
        hausdorff_distance(distances),
        average_symmetric_surface_distance(distances),
        mean_average_surface_distance(distances),
    ]


def on_the_gpu(measured):
    table = [*measured.surface_dice.unbind(-1), measured.percentile, measured.hausdorff, measured.average]
    return torch.stack([*table, measured.mean_average], -1).cpu().numpy()


def merged(directed):
    """Return distances, sizes and counts, where distances that differ by a rounding are one."""
    distances = directed.distances
    starts = np.flatnonzero(np.append(True, np.diff(distances) > 1e-12 * distances[1:])) if distances.size else []
    return [
        distances[starts],
        *(np.add.reduceat(part, starts) if distances.size else part for part in (directed.sizes, directed.counts)),
    ]


def same(measured, expected):
    for pair in zip(measured.directed, expected.directed, strict=True):
        for one, two in zip(*map(merged, pair), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9)
    assert measured.empty == expected.empty


def noise(shape=(1, 1, 96, 96, 96), share=0.3):
    generator = torch.Generator("cuda").manual_seed(0)
    return torch.rand(shape, generator=generator, device="cuda") < share


def ball(radius, *centre, shape=(96, 96, 96)):
    grid = torch.meshgrid(*(torch.arange(n, device="cuda") for n in shape), indexing="ij")
    return (sum((g - c) ** 2 for g, c in zip(grid, centre, strict=True)) <= radius**2)[None, None]


@pytest.mark.parametrize("boundary", ["surfel", "voxel"])
@pytest.mark.parametrize("name", CASES)
def test_ct_cases(name, boundary):
    maps, spacing = CASES[name]
    for kind, (reference, prediction) in variants(maps).items():
        pair = [torch.as_tensor(np.ascontiguousarray(array)).cuda() for array in (reference, prediction)]
        options = {"regions": KITS21_REGIONS, "spacing_mm": spacing, "boundary": boundary}
        expected = surface_distances(reference, prediction, **options)
        measured = measure_batch(pair[0][None], pair[1][None], tolerances_mm=(1.0, 3.0), **options)
        wanted = [numbers(distances) for distances in expected.values()]
        np.testing.assert_allclose(on_the_gpu(measured)[0], wanted, rtol=1e-9, err_msg=kind)
        counts = overlap(reference, prediction, regions=KITS21_REGIONS)
        np.testing.assert_array_equal(measured.dice[0].cpu(), [dice(counted) for counted in counts.values()])
        for region, distances in surface_distances(*pair, **options).items():
            same(distances, expected[region])


def random_pair(rng):
    """Return two masks of any kind: noise, sparse points, boxes near and far, empty ones; 2-D or 3-D."""
    dimensions = int(rng.integers(2, 4))
    shape = tuple(rng.integers(1, 70 if dimensions == 2 else 28, dimensions))
    masks = []
    for _ in range(2):
        mask = np.zeros(shape, bool)
        kind = rng.integers(0, 5)
        if kind == 0:
            mask = rng.random(shape) < rng.choice([0.001, 0.01, 0.5, 0.99])
        elif kind < 4:
            for _ in range(rng.integers(1, 4)):
                low = [int(rng.integers(0, n)) for n in shape]
                mask[tuple(slice(a, a + int(rng.integers(1, 15))) for a in low)] = True
        masks.append(mask)
    spacing = tuple(float(s) for s in rng.choice([0.5, 0.7, 1.0, 3.0], dimensions))
    return masks, spacing


@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_a_thousand_random_masks(start):
    for seed in range(start, start + 100):
        rng = np.random.default_rng(seed)
        (reference, prediction), spacing = random_pair(rng)
        boundary = ("surfel", "voxel")[seed % 2]
        dtype = torch.bool if seed % 4 else torch.int32
        pair = [torch.as_tensor(mask).to(dtype).cuda() for mask in (reference, prediction)]
        if seed % 3 == 0:  # as Fortran has it
            pair = [
                mask.permute(*reversed(range(mask.ndim))).contiguous().permute(*reversed(range(mask.ndim)))
                for mask in pair
            ]
        expected = SurfaceDistances.between(reference, prediction, spacing_mm=spacing, boundary=boundary)
        same(SurfaceDistances.between(*pair, spacing_mm=spacing, boundary=boundary), expected)
        measured = measure_batch(
            pair[0][None, None], pair[1][None, None], spacing_mm=spacing, boundary=boundary, tolerances_mm=(1.0, 3.0)
        )
        wanted = numbers(expected)
        np.testing.assert_allclose(on_the_gpu(measured)[0, 0], wanted, rtol=1e-9, err_msg=f"seed {seed}")
        assert float(measured.dice[0, 0]) == dice(Overlap.between(reference, prediction))


@pytest.mark.parametrize("dtype", TYPES)
def test_any_type(dtype):
    reference, prediction = noise((1, 2, 40, 41), 0.1), noise((1, 2, 40, 41), 0.02).flip(3)
    expected = on_the_gpu(measure_batch(reference, prediction))
    measured = on_the_gpu(measure_batch(reference.to(dtype), prediction.to(dtype)))
    np.testing.assert_array_equal(measured, expected)


def test_a_batch_is_its_items():
    reference, prediction = noise((5, 3, 40, 41), 0.1), noise((5, 3, 40, 41), 0.02).flip(0)
    together = on_the_gpu(measure_batch(reference, prediction, tolerances_mm=(1.0, 3.0)))
    apart = [
        on_the_gpu(measure_batch(r[None], p[None], tolerances_mm=(1.0, 3.0)))
        for r, p in zip(reference, prediction, strict=True)
    ]
    np.testing.assert_array_equal(together, np.concatenate(apart))


@pytest.mark.parametrize("library", ["cupy", "jax.dlpack"])
def test_other_libraries(library, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes most of the memory otherwise
    other = pytest.importorskip(library)
    reference, prediction = noise()[0, 0].to(torch.uint8), noise(share=0.01)[0, 0].to(torch.uint8)
    expected = SurfaceDistances.between(reference, prediction)
    for _ in range(20):
        pair = [other.from_dlpack(mask.clone()) for mask in (reference, prediction)]
        counted, measured = Overlap.between(*pair), SurfaceDistances.between(*pair)
        del pair
        same(measured, expected)
        assert dice(counted) == dice(Overlap.between(reference, prediction))


def test_what_is_read_later_comes_from_the_stream_that_measured_it():
    reference, prediction = noise((1, 1, 96, 96, 96), 0.3)[0, 0], noise((1, 1, 96, 96, 96), 0.2).flip(2)[0, 0]
    expected = SurfaceDistances.between(reference, prediction)
    expected_overlap = dice(Overlap.between(reference, prediction))
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for _ in range(20):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)  # so that it has not begun when it is read
            measured, counted = SurfaceDistances.between(reference, prediction), Overlap.between(reference, prediction)
        same(measured, expected)
        assert dice(counted) == expected_overlap


def test_channels_further_apart_than_32_bits_count():
    one = torch.zeros((1, 8, 1200, 512, 512), dtype=torch.uint8, device="cuda")
    one[0, 7, 600:640, 200:300, 200:300] = 1
    two = one.roll(3, -1)
    expected = on_the_gpu(measure_batch(one[:, 7:].clone(), two[:, 7:].clone()))
    np.testing.assert_array_equal(on_the_gpu(measure_batch(one, two))[:, 7:], expected)
    last = one[:, 6:].permute(0, 2, 3, 4, 1).contiguous().permute(0, 4, 1, 2, 3)  # channels last
    np.testing.assert_array_equal(on_the_gpu(measure_batch(last, two[:, 6:]))[:, 1:], expected)


def test_labels_of_any_size():
    labels = torch.zeros((30, 40, 50), dtype=torch.int64, device="cuda")
    labels[5:20, 5:20, 5:20] = 3_000_000_000
    other = labels.roll(2, 1)
    measured = surface_distances(labels, other, regions={"x": 3_000_000_000})["x"]
    same(measured, SurfaceDistances.between((labels > 0).cpu().numpy(), (other > 0).cpu().numpy()))


def test_twenty_regions():
    rng = np.random.default_rng(0)
    maps = [rng.integers(0, 21, (12, 24, 30)).astype(np.uint8) for _ in range(2)]
    regions = {str(label): label for label in range(1, 21)}
    measured = surface_distances(*(torch.as_tensor(array).cuda() for array in maps), regions=regions)
    for name, expected in surface_distances(*maps, regions=regions).items():
        same(measured[name], expected)


def test_runs_are_the_same_to_the_last_bit():
    reference, prediction = noise(share=0.02), noise(share=0.001).flip(2)
    first = on_the_gpu(measure_batch(reference, prediction, tolerances_mm=(1.0, 3.0)))
    for _ in range(50):
        again = on_the_gpu(measure_batch(reference, prediction, tolerances_mm=(1.0, 3.0)))
        np.testing.assert_array_equal(first, again)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_it_does_not_wait_and_a_graph_replays():
    reference, prediction = ball(20, 30, 30, 30), ball(15, 60, 40, 30)
    other = ball(10, 70, 40, 30)
    expected = on_the_gpu(measure_batch(reference, prediction))
    expected_of_other = on_the_gpu(measure_batch(other, prediction))
    try:
        torch.cuda.set_sync_debug_mode("error")
        measured = measure_batch(reference, prediction, wait=False)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    np.testing.assert_array_equal(on_the_gpu(measured), expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = measure_batch(reference, prediction, wait=False)
    graph.replay()
    np.testing.assert_array_equal(on_the_gpu(captured), expected)
    reference.copy_(other)
    graph.replay()
    np.testing.assert_array_equal(on_the_gpu(captured), expected_of_other)


def test_two_streams_at_once():
    pairs = [(ball(20, 30, 30, 30), ball(15, 60, 40, 30)), (noise(share=0.4), noise(share=0.3).flip(3))]
    expected = [on_the_gpu(measure_batch(*pair)) for pair in pairs]
    streams = [torch.cuda.Stream() for _ in pairs]
    torch.cuda.synchronize()
    for _ in range(20):
        measured = []
        for stream, pair in zip(streams, pairs, strict=True):
            with torch.cuda.stream(stream):
                measured.append(measure_batch(*pair, wait=False))
        torch.cuda.synchronize()
        for one, two in zip(measured, expected, strict=True):
            np.testing.assert_array_equal(on_the_gpu(one), two)


def test_ten_thousand_calls_leak_nothing():
    reference, prediction = noise((1, 1, 24, 24, 24)), noise((1, 1, 24, 24, 24), 0.1)
    for _ in range(10):
        measure_batch(reference, prediction, wait=False)
    torch.cuda.synchronize()
    gc.collect()
    before = torch.cuda.memory_allocated()
    for _ in range(10_000):
        measure_batch(reference, prediction, wait=False)
    torch.cuda.synchronize()
    gc.collect()
    assert torch.cuda.memory_allocated() == before


@pytest.mark.parametrize("count", [3, 20])
@pytest.mark.parametrize(("shape", "boundary"), [((1, 261, 512, 512), "surfel"), ((8, 128, 128, 128), "voxel")])
def test_memory_of_a_voxel(shape, boundary, count):
    reference = torch.zeros(shape, dtype=torch.uint8, device="cuda")
    reference[:, 20:100, 20:100, 20:100] = 1
    prediction = reference.roll(3, -1)
    options = {"regions": {f"region {n}": (1, n) for n in range(1, count + 1)}, "boundary": boundary}
    measure_batch(reference, prediction, **options)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    measured = measure_batch(reference, prediction, **options)
    torch.cuda.synchronize()
    assert (torch.cuda.max_memory_allocated() - before) / reference.numel() <= 4
    del measured
    if shape[0] == 1:
        torch.cuda.reset_peak_memory_stats()
        distances = surface_distances(reference[0], prediction[0], **options)
        torch.cuda.synchronize()
        assert len(distances) == count
        assert (torch.cuda.max_memory_allocated() - before) / reference.numel() <= 4


def test_noise_that_is_far_from_everything():
    reference, prediction = noise(share=0.0), noise(share=0.4)
    reference[0, 0, :2, :2, :2] = True
    pair = [np.asarray(mask[0, 0].cpu()) for mask in (reference, prediction)]
    prediction[0, 0, :30, :30, :30] = False
    pair[1][:30, :30, :30] = False
    expected = SurfaceDistances.between(*pair)
    measured = measure_batch(reference, prediction, tolerances_mm=(1.0, 3.0))
    np.testing.assert_allclose(on_the_gpu(measured)[0, 0], numbers(expected), rtol=1e-9)


def test_classes():
    reference, prediction = noise((2, 3, 32, 32, 32), 0.3), noise((2, 3, 32, 32, 32), 0.2)
    on_the_cpu = [mask.cpu() for mask in (prediction, reference)]
    for make in (DiceMetric, HausdorffDistanceMetric):
        metric, other = make(include_background=False), make(include_background=False)
        metric.update(prediction, reference)
        other.update(*on_the_cpu)
        assert float(metric.compute()) == pytest.approx(float(other.compute()), rel=1e-12)
    metrics = SegmentationMetrics(regions={"one": 1})
    metrics.update(prediction[:, 0].long(), reference[:, 0].long())
    assert metrics.values.device.type == "cuda"
