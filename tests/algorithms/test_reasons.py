"""Why a case failed, in one line."""

import pytest

from podium.algorithms.reasons import LONGEST, explained


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (b"", "exit code 3"),
        (b"\n \n", "exit code 3"),
        (b"one\n", "exit code 3: one"),
        (b"one\ntwo\n\nthree  3\nfour", "exit code 3: two | three 3 | four"),
        (b"\xff\x1b[31mred\x00\r\n", "exit code 3: \N{REPLACEMENT CHARACTER}\\x1b[31mred\\x00"),
        (b"50 %\r100 %\r", "exit code 3: 50 % | 100 %"),
    ],
)
def test_the_last_lines_of_the_log(tmp_path, log, reason):
    (tmp_path / "log").write_bytes(log)
    assert explained("exit code 3", tmp_path / "log") == reason


def test_there_may_be_no_log(tmp_path):
    assert explained("more\nthan\t4 GiB", tmp_path / "log") == "more than 4 GiB"


@pytest.mark.parametrize("problem", ["short", "x" * 1000])
@pytest.mark.parametrize("log", [b"end", b"y" * 10**6 + b" end", b"\x00" * 5000 + b"end"])
def test_no_reason_is_long(tmp_path, problem, log):
    (tmp_path / "log").write_bytes(log)
    reason = explained(problem, tmp_path / "log")
    assert len(reason) <= LONGEST
    assert reason.startswith(problem[:5])
    assert reason.endswith("end")
    assert reason.isprintable()
