"""TrackRAD 2025: leaderboards computed by hand."""

import numpy as np
import polars as pl
import pytest
from boards import board_of, measurements

from podium.challenges import get_challenge
from podium.model import Cube, Role

METRICS = ("dice", "hd95", "masd", "centre_distance")
TIE = dict(zip(METRICS, (0.8, 4.0, 2.0, 3.0), strict=True)) | {"relative_d98": 0.9}
WORSE = dict(zip(METRICS, (0.7, 5.0, 3.0, 4.0), strict=True)) | {"relative_d98": 0.8}
WORST = dict(zip(METRICS, (0.5, 9.0, 6.0, 7.0), strict=True)) | {"relative_d98": 0.5}
FRAMES = {"c1": 10, "c2": 20, "c3": 40}


def teams(**given):
    """Return measurements: for each team its values in every case, and its seconds (a function of frames, or None)."""
    table = []
    for name, (values, clock, *failed) in given.items():
        for case, frames in FRAMES.items():
            lost = case in failed
            row = WORST | {"dice": 0.0} if lost else values
            numbers = {(m, ""): v for m, v in row.items()} | {("frames", ""): float(frames)}
            if clock is not None:
                numbers["seconds", ""] = 0.01 if lost else clock(frames)
            status = "invalid" if lost else "ok"
            table.append(measurements({name.replace("_", "-"): {case: numbers}}, status=status))
    return pl.concat(table)


def steady(loading, rate):
    return lambda frames: loading + rate * frames


def places(board):
    return {entry.submission: entry.place for entry in board.entries}


def test_ties_and_equal_times():
    board = board_of(
        "trackrad2025",
        teams(a=(TIE, steady(5, 0.2)), b=(TIE, steady(1, 0.2)), c=(WORSE, steady(9, 0.1)), d=(WORST, steady(0, 0.3))),
    )
    # Five quality ranks: a 1, b 1, c 3, d 4; runtime: c 1, a and b 2, d 4.
    averages = {entry.submission: entry.values["average_rank"] for entry in board.entries}
    assert averages == pytest.approx({"a": 7 / 6, "b": 7 / 6, "c": 16 / 6, "d": 4})
    assert places(board) == {"a": 1, "b": 1, "c": 3, "d": 4}
    first = board.entries[0].values
    assert (first["runtime"], first["loading_time"], first["total_time"]) == pytest.approx((0.2, 5, 29))


def test_the_ineligible_and_the_baseline_shift_nobody():
    table = teams(a=(WORSE, steady(5, 0.2)), b=(TIE, steady(5, 0.4)))
    others = teams(
        slow=(TIE | {"dice": 0.99}, steady(0, 1.001)),
        limit=(WORST | {"dice": 0.51}, steady(0, 1.0)),
        copy=(WORST, steady(0, 0.001)),
        no_tracking=(WORST, None),
    )
    alone = board_of("trackrad2025", table)
    board = board_of("trackrad2025", pl.concat([table, others]), roles={"no-tracking": Role.BASELINE})
    assert places(alone) == {"b": 1, "a": 2}
    assert places(board) == {"b": 1, "a": 2, "limit": 3, "copy": None, "slow": None, "no-tracking": None}
    remarks = {entry.submission: entry.remark for entry in board.entries}
    assert remarks["slow"] == "takes 1 s per frame, at most 1 s is allowed"
    assert remarks["copy"] == "does not outperform no tracking in any of DSC, HD95, MASD, CD"
    assert remarks["no-tracking"] == "baseline"
    ranks = {e.submission: e.values["average_rank"] for e in board.entries}
    assert (ranks["b"], ranks["a"]) == (
        alone.entries[0].values["average_rank"],
        alone.entries[1].values["average_rank"],
    )
    assert board.notes == ()
    assert "No tracking was not measured" in alone.notes[0]


def test_a_fast_crash_does_not_win_on_runtime():
    """Seconds of the failed case are ignored: the rest lies on the same line, so the runtime is what it was."""
    board = board_of("trackrad2025", teams(a=(TIE, steady(5, 0.2)), b=(TIE, steady(5, 0.3), "c3")))
    values = {entry.submission: entry.values for entry in board.entries}
    assert values["b"]["runtime"] == pytest.approx(0.3)
    assert values["b"]["runtime_rank"] == 2
    assert values["b"]["dice"] == pytest.approx(2 * 0.8 / 3)
    everywhere = board_of("trackrad2025", teams(a=(TIE, steady(5, 0.2)), b=(TIE, steady(0, 0), *FRAMES)))
    assert places(everywhere) == {"a": 1, "b": None}
    assert everywhere.entries[1].remark == "every case failed"


def test_no_timing_is_last_on_runtime_and_still_ranked():
    table = teams(a=(TIE, None), b=(WORSE, steady(5, 0.2)), c=(WORST, steady(5, 0.9)))
    partly = teams(d=(WORST, steady(0, 0.1))).filter((pl.col("metric") != "seconds") | (pl.col("case") != "c2"))
    board = board_of("trackrad2025", pl.concat([table, partly]))
    values = {entry.submission: entry.values for entry in board.entries}
    assert {name: value["runtime_rank"] for name, value in values.items()} == {"a": 3, "b": 1, "c": 2, "d": 3}
    assert values["a"]["runtime"] is None
    assert places(board) == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert "Last on runtime, as not every case that counts has a time: a, d." in board.notes


def test_one_team_alone_and_sequences_of_equal_length():
    board = board_of("trackrad2025", teams(a=(WORST, None)))
    assert places(board) == {"a": 1}
    table = teams(a=(TIE, steady(5, 0.0))).filter(pl.col("case") == "c1")
    board = board_of("trackrad2025", table)
    assert [board.entries[0].values[k] for k in ("runtime", "loading_time", "total_time")] == [0.5, 0, 5]
    assert "All sequences are of equal length, so loading cannot be told from tracking." in board.notes
    code = board_of("trackrad2025", table, edition="code").entries[0].values
    # As in the organisers' example: 5 s, 10 frames, one case.
    assert [code[k] for k in ("runtime", "loading_time", "time_per_frame")] == pytest.approx([2.5, 2.5, 0.25])


@pytest.mark.parametrize("edition", ["document", "code"])
def test_weights_are_repetitions(edition):
    """A weight of k is the case k times, of 0 the case left out, whatever its value."""
    generator = np.random.default_rng(5)
    names = (*METRICS, "relative_d98", "frames", "seconds")
    values = generator.random((4, 6, 7))
    values[:, :, 5] = [10, 10, 20, 30, 30, 50]
    values[1, 2, 1] = np.inf
    failed = np.zeros((4, 6), bool)
    failed[2, 3] = True
    challenge = get_challenge("trackrad2025", edition=edition)

    def cube(rows):
        labels = tuple(f"{place}-{row}" for place, row in enumerate(rows))
        quantities = tuple((name, "") for name in names)
        return Cube(("a", "b", "c", "d"), labels, labels, quantities, values[:, rows], failed[:, rows], failed[:, rows])

    weights = np.vstack([generator.integers(0, 3, (30, 6)), [1, 1, 0, 0, 0, 0]]).astype(float)
    weights = weights[weights.sum(axis=1) > 0]
    together = challenge.score(cube(list(range(6))), weights, [True, True, True, False])
    for number, weight in enumerate(weights):
        rows = np.repeat(np.arange(6), weight.astype(int)).tolist()
        alone = challenge.score(cube(rows), np.ones((1, len(rows))), [True, True, True, False])
        np.testing.assert_array_equal(together.places[number], alone.places[0])
        for one, other in zip(together.columns, alone.columns, strict=True):
            np.testing.assert_allclose(one.values[number], other.values[0], atol=1e-9, err_msg=one.name)
