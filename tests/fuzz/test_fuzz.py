"""A short run of the fuzzer with every reader, and proof that it would see what it looks for.

`make fuzz` runs 100,000 inputs. What it found is kept as small files in tests/io/test_hostile_*.py and
tests/evaluate/test_hostile_archives.py: a NIfTI-2 header that is cut, a sign of 0 in a NIfTI header, digits without end
in a .npy header, a NRRD type without end, a zip entry of no name, an isal error in a gzipped tar, and an HDF5 chunk
that says it is longer, over which HDF5 ended the process.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from random import Random

import fuzzing
import pytest
import readers
from mutation import LARGEST, mutated

from podium.model import InputError


@pytest.mark.slow
@pytest.mark.parametrize("name", readers.TARGETS)
def test_a_short_run(name, tmp_path):
    found = fuzzing.fuzz(name, inputs=200, seed=0, folder=tmp_path)
    assert found.bad == []
    assert found.inputs == sum(found.outcomes.values()) == 200
    assert found.outcomes["refused"] > 0
    assert found.edges > 0


@pytest.mark.parametrize("name", readers.TARGETS)
def test_valid_files_are_read(name, tmp_path):
    target = readers.TARGETS[name]
    for content in target.seeds():
        (tmp_path / target.file).write_bytes(content)
        assert fuzzing.attempt(target, tmp_path / target.file) == "read"
        if target.wrap and target.unwrap:
            (tmp_path / target.file).write_bytes(target.wrap(target.unwrap(content)))
            assert fuzzing.attempt(target, tmp_path / target.file) == "read"


FOLDERS = (b"caf\xe9", b"new\nline", b"\x1b[2J", "ü病".encode(), b"n" * 255, b"%s%n%d", b"a b'\"$(x)", b"*?[x]", b"-x")


@pytest.mark.parametrize("folder", FOLDERS, ids=ascii)
def test_valid_files_are_read_whatever_their_folder_is_called(folder, tmp_path):
    """SimpleITK ends the process over a name that is not UTF-8, which an archive can make out of its only folder."""
    place = tmp_path / os.fsdecode(folder)
    place.mkdir()
    for target in readers.TARGETS.values():
        (place / target.file).write_bytes(target.seeds()[0])
        assert fuzzing.attempt(target, place / target.file) == "read", target.name


def test_changes_are_the_same_for_the_same_seed_and_stay_small():
    content = bytes(range(256)) * 8
    first = [mutated(content, [content], (b"word",), Random(k)) for k in range(500)]
    assert first == [mutated(content, [content], (b"word",), Random(k)) for k in range(500)]
    assert len(set(first)) > 400
    assert all(len(each) <= LARGEST for each in first)


def breaks(path):
    """Stand for a reader with every fault that is looked for, each behind one value of the first byte."""
    first = path.read_bytes()[:1]
    if first == b"\x01":
        raise IndexError("not an answer")
    if first == b"\x02":
        bytearray(2**31)
    if first == b"\x03":
        time.sleep(60)
    if first == b"\x04":
        signal.raise_signal(signal.SIGSEGV)
    if first == b"\x05":
        raise InputError("two" + "\n" * 3 + "lines")  # which InputError mends
    if first > b"\x05":
        raise InputError("an answer", path=path)


@pytest.mark.slow
def test_faults_are_seen(tmp_path, monkeypatch):
    """A process that ends, hangs, takes too much memory or raises something is noticed, and its input kept."""
    monkeypatch.setattr(fuzzing, "__file__", str(Path(__file__)))
    found = fuzzing.fuzz("faulty", inputs=40, seed=0, folder=tmp_path)
    told = " ".join(what for what, _ in found.bad)
    for word in ("IndexError", "MemoryError", "hangs", "SIGSEGV"):
        assert word in told, told
    kept = {Path(path).read_bytes()[:1] for _, path in found.bad}
    assert kept == {b"\x01", b"\x02", b"\x03", b"\x04"}


if __name__ == "__main__":  # the child of the test above
    fuzzing.HANG_SECONDS = 0.2
    readers.TARGETS["faulty"] = fuzzing.Target(
        "faulty", "input", lambda: [b"\0"], breaks, unwrap=lambda _: b"", wrap=lambda content: content
    )
    fuzzing.inputs_of = lambda _target, _corpus, _seeds, random: bytes([random.randrange(8)])
    fuzzing._child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
