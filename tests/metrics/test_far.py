"""Whichever way a distance is found, by probing, blocks or a transform, at once or in pieces, it is the same."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.metrics import StructurePair, SurfaceDistances, _far, structures, surface
from podium.model import InputError

FEW, MANY = 0, 10**9
WAYS = {
    "probing alone": {"_PROBES": 10**6},
    "all pairs": {"_PROBES": 2, "_PAIRS": MANY},
    "blocks": {"_PROBES": 2, "_PAIRS": 0, "_TRANSFORM": FEW},
    "blocks of one voxel": {"_PROBES": 2, "_PAIRS": 0, "_TRANSFORM": FEW, "_BLOCK": 1},
    "blocks of a few voxels": {"_PROBES": 30, "_PAIRS": 0, "_TRANSFORM": FEW, "_BLOCK": 7},
    "a transform": {"_PROBES": 2, "_PAIRS": 0, "_TRANSFORM": MANY},
    "a transform, plane by plane": {"_PROBES": 2, "_PAIRS": 0, "_TRANSFORM": MANY, "_AT_ONCE": 1},
    "blocks, then a transform": {"_PROBES": 2, "_PAIRS": 0, "_TRANSFORM": 40, "_AT_ONCE": 40},
    "what is chosen": {},
    "what is chosen, plane by plane": {"_AT_ONCE": 1},
}
BINARY = (1.0, 0.5, 2.0)  # their squares and sums are exact
SPACINGS = (BINARY, (0.7, 0.7, 5.0), (3.0, 0.9, 1.1))


@contextmanager
def way(name):
    with pytest.MonkeyPatch.context() as patch:
        for setting, value in WAYS[name].items():
            patch.setattr(surface if hasattr(surface, setting) else _far, setting, value)
        yield


def measured(masks, spacing, boundary, name):
    with way(name):
        return SurfaceDistances.between(*masks, spacing_mm=spacing[-masks[0].ndim :], boundary=boundary)


def assert_same(one, two, *, exactly):
    for own, other in zip(one.directed, two.directed, strict=True):
        if exactly:
            np.testing.assert_array_equal(own.distances, other.distances)
            np.testing.assert_array_equal(own.counts, other.counts)
            np.testing.assert_allclose(own.sizes, other.sizes, rtol=1e-12)
        expanded = [np.repeat(side.distances, side.counts) for side in (own, other)]
        np.testing.assert_allclose(*expanded, rtol=1e-14)
        assert own.sizes.sum() == pytest.approx(other.sizes.sum(), rel=1e-12)


@st.composite
def mask_pairs(draw):
    dimensions = draw(st.sampled_from((2, 3)))
    shape = tuple(draw(st.integers(1, 24)) for _ in range(dimensions))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    masks = []
    for _ in range(2):
        density = draw(st.sampled_from((0.0, 0.002, 0.1, 0.5, 1.0)))
        mask = generator.random(shape) < density
        if draw(st.booleans()):  # only in one corner
            mask[tuple(slice(n // 3, None) for n in shape)] = False
        masks.append(mask)
    return masks


@pytest.mark.slow
@given(
    masks=mask_pairs(),
    spacing=st.sampled_from(SPACINGS),
    boundary=st.sampled_from(("surfel", "voxel")),
    name=st.sampled_from(sorted(WAYS)),
)
@settings(max_examples=300)
def test_every_way_gives_the_same(masks, spacing, boundary, name):
    """A transform may be off by a rounding, unless squares are exact."""
    expected = measured(masks, spacing, boundary, "probing alone")
    exactly = spacing == BINARY or name.startswith(("probing", "all pairs", "blocks of"))
    assert_same(measured(masks, spacing, boundary, name), expected, exactly=exactly)


def blobs(shape, *centres, radius=4):
    grid = np.indices(shape)
    return np.any(
        [sum((g - c) ** 2 for g, c in zip(grid, centre, strict=True)) <= radius**2 for centre in centres], axis=0
    )


def named_pairs():
    shape = (50, 40, 30)
    one = blobs(shape, (6, 6, 6), (40, 30, 20))
    noise = np.random.default_rng(1).random(shape) < 0.01
    chequers = np.indices(shape).sum(axis=0) % 2 == 1
    yield "one missing", one, blobs(shape, (6, 6, 7))
    yield "shifted", one, np.roll(one, 9, axis=0)
    yield "noise", one, noise
    yield "chequers", one, chequers
    yield "a voxel in a corner", np.pad(np.ones((1, 1, 1), bool), [(0, n - 1) for n in shape]), one
    yield "2-D", one[6], np.roll(one[6], 20, axis=1)
    yield "a line", one[:, 6:7, 6:7], np.roll(one, 15, axis=0)[:, 6:7, 6:7]


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(
    "spacing", [SPACINGS[1], *(pytest.param(own, marks=pytest.mark.heavy) for own in SPACINGS[::2])]
)
def test_named_masks(spacing, name):
    for what, *masks in named_pairs():
        expected = measured(masks, spacing, "surfel", "probing alone")
        assert expected.from_reference.counts.sum() > 0, what
        assert_same(measured(masks, spacing, "surfel", name), expected, exactly=spacing == BINARY)


@pytest.mark.parametrize("name", WAYS)
def test_layout_does_not_matter(name):
    masks = blobs((30, 20, 24), (5, 5, 5)), blobs((30, 20, 24), (22, 12, 15))
    expected = measured(masks, BINARY, "surfel", "probing alone")
    layouts = (
        np.asfortranarray,
        lambda mask: np.repeat(mask, 2, axis=1)[:, ::2],
        lambda mask: np.ascontiguousarray(mask[::-1, :, ::-1])[::-1, :, ::-1],
        lambda mask: mask.astype(np.float32) * 3,
        lambda mask: (mask * np.uint8(255)).view(bool),
    )
    for one in layouts:
        for two in layouts:
            assert_same(measured((one(masks[0]), two(masks[1])), BINARY, "surfel", name), expected, exactly=True)


@pytest.mark.parametrize("name", WAYS)
def test_structures_prepared_once_go_every_way(name):
    for _, *masks in named_pairs():
        if masks[0].ndim == 3:
            expected = measured(masks, BINARY, "surfel", "probing alone")
            prepared = [structures(mask, regions={"mask": 1})["mask"] for mask in masks]
            with way(name):
                assert_same(StructurePair(*prepared, BINARY).distances, expected, exactly=True)


def test_threads_and_repeated_calls():
    pairs = [(masks, name) for _, *masks in named_pairs() for name in ("what is chosen",)] * 3
    measure = lambda job: measured(job[0], BINARY, "surfel", job[1])  # noqa: E731
    expected = [measure(job) for job in pairs]
    with ThreadPoolExecutor(4) as pool:
        for one, two in zip(pool.map(measure, pairs), expected, strict=True):
            assert_same(one, two, exactly=True)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.3, 2.9, 1.0), (0.7, 0.7)])
@pytest.mark.parametrize(("pairs", "transform"), [(MANY, FEW), (0, FEW), (0, MANY)])
def test_nearest_against_all_pairs(spacing, pairs, transform, monkeypatch):
    monkeypatch.setattr(_far, "_PAIRS", pairs)
    monkeypatch.setattr(_far, "_TRANSFORM", transform)
    generator = np.random.default_rng(7)
    for shape in ((1, 30, 40), (20, 30, 40), (9, 1, 64), (70, 3, 8)):
        marks = np.zeros(shape, np.uint8)
        marked = np.sort(generator.choice(marks.size, 25, replace=False))
        marks.reshape(-1)[marked] = 4
        marks.reshape(-1)[generator.choice(marks.size, 9)] |= 3  # of other regions
        asking = np.sort(generator.choice(marks.size, 60, replace=False))
        here, there = (np.stack(np.unravel_index(places, shape), axis=1) for places in (asking, marked))
        steps = (here[:, None] - there) * ((1.0,) * (3 - len(spacing)) + spacing)
        expected = np.sqrt(np.square(steps).sum(axis=2)).min(axis=1)
        np.testing.assert_allclose(_far.Nearest(marks, 2, marked, spacing).distances(asking), expected, rtol=1e-14)


def test_many_that_ask_and_few_go_different_ways(monkeypatch):
    """On both sides of the threshold, and the second piece counts with the first."""
    marks = np.zeros((8, 8, 8), np.uint8)
    marks[4, 4, 4] = 1
    taken = []
    monkeypatch.setattr(_far.kernels, "search", lambda *_: taken.append("blocks"))
    monkeypatch.setattr(_far.kernels, "transform", lambda *_: taken.append("transform"))
    monkeypatch.setattr(_far.kernels, "compare_all", lambda *_: taken.append("all"))
    monkeypatch.setattr(_far, "_PAIRS", 2)
    _far.Nearest(marks, 0, np.flatnonzero(marks), (1.0, 1.0, 1.0)).distances(np.arange(2))
    assert taken.pop() == "all"
    monkeypatch.setattr(_far, "_PAIRS", 0)
    monkeypatch.setattr(_far, "_TRANSFORM", 64)
    monkeypatch.setattr(_far, "_PER_BLOCK", 0)
    nearest = _far.Nearest(marks, 0, np.flatnonzero(marks), (1.0, 1.0, 1.0))
    for count in (3, 4, 1):
        nearest.distances(np.arange(count))
    _far.Nearest(marks, 0, None, (1.0, 1.0, 1.0)).distances(np.arange(1))
    assert taken == ["blocks", "blocks", "transform", "transform"]
    monkeypatch.setattr(_far, "_PER_BLOCK", 2)
    monkeypatch.setattr(_far, "_BLOCK", 8)
    for places in ([0, 1, 8, 9, 64], [0, 63, 448]):  # of one and of three blocks
        _far.Nearest(marks, 0, np.flatnonzero(marks), (1.0, 1.0, 1.0)).distances(np.array(places))
    assert taken[4:] == ["blocks", "transform"]


def test_a_tally_grows_and_adds_up(monkeypatch):
    generator = np.random.default_rng(2)
    values, sizes = generator.integers(0, 5000, 20_000) / 7, generator.random(20_000)
    tally = _far.Tally()
    for piece in np.array_split(np.arange(values.size), 3):
        tally.add(values[piece], sizes[piece], np.ones(piece.size, np.int64))
    expected, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    distances, summed, counted = tally.sorted()
    np.testing.assert_array_equal(distances, expected)
    np.testing.assert_array_equal(counted, counts)
    np.testing.assert_allclose(summed, np.bincount(place, sizes), rtol=1e-12)
    monkeypatch.setattr(_far, "_MOST_VALUES", 1024)
    with pytest.raises(InputError, match="more than 1,024 different distances"):
        _far.Tally().add(values, sizes, np.ones(values.size, np.int64))


@pytest.mark.heavy
def test_a_pattern_as_large_as_a_scan_is_measured_in_a_gigabyte():
    script = """
import numpy as np
from podium.metrics import SurfaceDistances, surface_dice
z, y, x = (np.arange(n) % 2 == 1 for n in (300, 512, 512))
pattern = z[:, None, None] ^ y[:, None] ^ x
assert surface_dice(SurfaceDistances.between(pattern, ~pattern)) == 1
corner = np.zeros(pattern.shape, bool)
corner[:9, :9, :9] = True
assert surface_dice(SurfaceDistances.between(pattern, corner)) < 1
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(answer.stdout) < 10**6
