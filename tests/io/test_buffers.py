"""Memory that is used again never shows through: not in what is held, not after a failure, not between threads."""

import sys
from concurrent.futures import ThreadPoolExecutor

import label_files as files
import numpy as np
import pytest

from podium.io import _buffers, read_label_map
from podium.model import InputError


@pytest.fixture
def many(tmp_path):
    """Return label files of many shapes, with what they hold."""
    generator = np.random.default_rng(0)
    written = []
    for k in range(40):
        shape = tuple(generator.integers(2, 30, 3))
        array = files.labels(shape, dtype="i4", largest=int(generator.choice([2, 9, 300])), seed=k)
        written.append((files.write(tmp_path / f"{k}.nii.gz", files.nifti(array)), array))
    return written


def test_label_maps_that_are_held_stay_as_they_are(many):
    generator = np.random.default_rng(1)
    held = []
    for _ in range(300):
        path, array = many[generator.integers(len(many))]
        held.append((read_label_map(path).array, array))
        if generator.random() < 0.7:  # let go of some, in any order
            held.pop(generator.integers(len(held)))
        for read, expected in held[-8:]:
            np.testing.assert_array_equal(read, expected)


def test_a_view_holds_the_memory_too(many):
    path, array = many[0]
    part = read_label_map(path).array[1:, ::2].T
    for other, _ in many:
        read_label_map(other)
    np.testing.assert_array_equal(part, array[1:, ::2].T)


def test_a_failure_leaves_nothing_behind(many, tmp_path):
    broken = files.labels((29, 29, 29), dtype="f4", largest=2)
    broken[-2, -2, -2] = np.nan
    path = files.write(tmp_path / "broken.nii.gz", files.nifti(broken))
    for good, array in many:
        with pytest.raises(InputError, match="NaN"):
            read_label_map(path)
        np.testing.assert_array_equal(read_label_map(good).array, array)


def test_threads_do_not_share(many):
    def read(job):
        path, array = job
        return np.array_equal(read_label_map(path).array, array)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, many * 10))


def test_labels_cannot_be_written_to(many):
    with pytest.raises(ValueError, match="read-only"):
        read_label_map(many[0][0]).array[0] = 1


def test_references_are_counted_here():
    assert _buffers.references_alone() is not None


@pytest.mark.parametrize("count", [lambda _: 1, None])
def test_without_counted_references_no_memory_is_used_again(monkeypatch, count):
    """The fallback for `sys.getrefcount`, which is CPython's own: where it tells nothing, memory is always new."""
    if count is None:
        monkeypatch.delattr(sys, "getrefcount")
    else:
        monkeypatch.setattr(sys, "getrefcount", count)
    monkeypatch.setattr(_buffers, "_ALONE", _buffers.references_alone())
    assert _buffers._ALONE is None
    buffers, places = _buffers.Buffers(), set()
    kept = []
    for _ in range(4):
        array = buffers.zeros(100)
        places.add(array.ctypes.data)
        kept.append(array.base)  # so that no address comes again by chance
        del array
    assert len(places) == 4
