"""What is kept of what a program says."""

import os

import pytest

from podium.algorithms.recording import LARGEST_LOG, Recorder


@pytest.mark.parametrize("piece", [1000, 65536, 3 * LARGEST_LOG])
def test_the_beginning_and_the_end_are_kept(tmp_path, piece):
    content = b"".join(b"%08d\n" % number for number in range(3 * LARGEST_LOG // 9))
    reading, writing = os.pipe()
    recorder = Recorder(reading, tmp_path / "log")
    with os.fdopen(writing, "wb", buffering=0) as pipe:
        for start in range(0, len(content), piece):
            rest = content[start : start + piece]
            while rest:
                rest = rest[pipe.write(rest) :]
    recorder.finish()
    log = (tmp_path / "log").read_bytes()
    assert len(log) <= LARGEST_LOG
    first, note, last = log.partition(b"\n[\xe2\x80\xa6 ")[0], b"bytes left out", log.rpartition(b"\xe2\x80\xa6]\n")[2]
    assert content.startswith(first)
    assert content.endswith(last)
    assert note in log
    assert len(first) > 500_000 < len(last)


def test_a_short_log_is_kept_whole(tmp_path):
    reading, writing = os.pipe()
    recorder = Recorder(reading, tmp_path / "log")
    os.write(writing, b"all\xff of it")
    os.close(writing)
    recorder.finish()
    assert (tmp_path / "log").read_bytes() == b"all\xff of it"
