"""A short run of the fuzzer with every reader, and proof that it would see what it looks for.

`make fuzz` runs 100,000 inputs. What it found is kept as small files in tests/io/test_hostile_*.py and
tests/run/test_hostile_archives.py: a NIfTI-2 header that is cut, a sign of 0 in a NIfTI header, digits without end
in a .npy header, a NRRD type without end, a zip entry of no name, an isal error in a gzipped tar, and an HDF5 chunk
that says it is longer, over which HDF5 ended the process.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from random import Random

import fuzzing
import pytest
import readers
from mutation import LARGEST, mutated

from podium.model import InputError

pytestmark = pytest.mark.slow


@pytest.mark.heavy
@pytest.mark.parametrize("name", readers.TARGETS)
def test_a_short_run(name, tmp_path):
    inputs = 50 if name == "measured" else 120  # each of which goes on to be measured
    found = fuzzing.fuzz(name, inputs=inputs, seed=0, folder=tmp_path)
    assert found.bad == []
    assert found.inputs == sum(found.outcomes.values()) == inputs
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
    """ITK ends the process over a name that is not UTF-8, which an archive can make out of its only folder."""
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


def test_damaging_a_file_takes_little_memory():
    """A line of many words that is repeated must not end the process that repeats it."""
    content = b"a " * 1000 + bytes(range(256)) * 8
    tracemalloc.start()
    for k in range(300):
        mutated(content, [content], (b"(" * 4000,), Random(k))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4_000_000


FAULTS = {
    b"\x01": "IndexError",
    b"\x02": "MemoryError",
    b"\x03": "hangs asleep",
    b"\x04": "ends the process with SIGSEGV",
    b"\x06": "< test_fuzz.py:",  # where it was interrupted
    b"\x07": "hangs where no signal is handled",
    b"\x08": "hangs asleep",
}


def breaks(path):
    """Stand for a reader with every fault that is looked for, each behind one value of the first byte."""
    first = path.read_bytes()[:1]
    if first == b"\x01":
        raise IndexError("not an answer")
    if first == b"\x02":
        bytearray(2**31)
    if first == b"\x03":
        threading.Event().wait()
    if first == b"\x04":
        signal.raise_signal(signal.SIGSEGV)
    if first == b"\x05":
        raise InputError("two" + "\n" * 3 + "lines")  # which InputError mends
    if first == b"\x06":
        while True:
            pass
    if first == b"\x07":
        sum(itertools.repeat(0))  # Python handles no signal before this is done
    if first == b"\x08":
        while True:
            time.sleep(0.01)
    if first > b"\x08":
        raise InputError("an answer", path=path)


MOST_COMPUTING = 1.0


def start_slowly():
    """Compute for longer than any input may, as where kernels have to be compiled: nobody may be blamed for it."""
    begun = time.process_time()
    while time.process_time() < begun + 1.5 * MOST_COMPUTING:
        sum(range(10**5))


@pytest.mark.heavy
def test_faults_are_seen(tmp_path, monkeypatch):
    """A process that ends, hangs, takes too much memory or raises something is noticed, and its input kept."""
    monkeypatch.setattr(fuzzing, "__file__", str(Path(__file__)))
    monkeypatch.setattr(fuzzing, "STUCK_SECONDS", MOST_COMPUTING)
    monkeypatch.setattr(fuzzing, "LOOKS_ASLEEP", 8)
    found = fuzzing.fuzz("faulty", inputs=11, seed=0, folder=tmp_path)
    told = {Path(path).read_bytes(): what for what, path in found.bad}
    assert told.keys() == FAULTS.keys()
    assert len(found.bad) == len(told), found.bad
    for content, word in FAULTS.items():
        assert word in told[content]


@pytest.mark.parametrize(
    ("code", "limit", "why"),
    [
        ("while True: pass", ("START_SECONDS", 0.5), "hangs where no signal is handled"),
        ("import time; time.sleep(10**6)", ("LOOKS_ASLEEP", 8), "hangs asleep"),
        ("import sys; sys.exit('a reason')", ("HANG_SECONDS", 5.0), "ends the process with 1: a reason"),
    ],
)
def test_a_process_that_never_gets_ready_is_not_waited_for(tmp_path, monkeypatch, code, limit, why):
    """Nor is an input blamed for it."""
    script = tmp_path / "script.py"
    script.write_text(code)
    monkeypatch.setattr(fuzzing, "__file__", str(script))
    monkeypatch.setattr(fuzzing, *limit)
    with pytest.raises(RuntimeError, match=f"any did not start, but {why}"):
        fuzzing.fuzz("any", inputs=1, seed=0, folder=tmp_path / "fuzz")


@pytest.mark.parametrize(
    ("code", "asleep"),
    [
        ("input()", True),
        ("while True: pass", False),
        ("import threading; threading.Thread(target=input).start()\nwhile True: pass", False),
        ("import threading; threading.Thread(target=exec, args=['while True: pass']).start()", False),
        ("import subprocess; subprocess.run([sys.executable, '-c', 'input()'])", True),
        ("import subprocess; subprocess.run([sys.executable, '-c', 'while True: pass'])", False),
    ],
)
def test_what_counts_as_asleep(code, asleep):
    """A process is not asleep while it, a thread of it or one that it started computes or could."""
    command = [sys.executable, "-c", f"import sys; print(flush=True)\n{code}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        look = fuzzing.look_at(process.pid)
        try:
            while "subprocess" in code and not look.started:
                look = fuzzing.look_at(process.pid)
            while asleep and not look.asleep:  # it is about to be
                look = fuzzing.look_at(process.pid)
            assert [fuzzing.look_at(process.pid).asleep for _ in range(20)] == [asleep] * 20
            while not asleep and fuzzing.look_at(process.pid).seconds < look.seconds + 0.1:  # it can be seen computing
                pass
            if not asleep and not look.started:
                process.send_signal(signal.SIGSTOP)  # nor is one that is kept from computing
                assert not any(fuzzing.look_at(process.pid).asleep for _ in range(20))
        finally:
            for pid in (process.pid, *fuzzing.look_at(process.pid).started):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":  # the child of the tests above
    fuzzing.HANG_SECONDS = 0.3
    readers.TARGETS["faulty"] = fuzzing.Target("faulty", "input", lambda: [b"\0"], breaks, prepare=start_slowly)
    numbers = itertools.count(int(sys.argv[2]))
    fuzzing.inputs_of = lambda *_: bytes([next(numbers) % 10])
    fuzzing._child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
