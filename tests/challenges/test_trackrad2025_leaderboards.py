"""TrackRAD 2025: leaderboards computed by hand."""

import numpy as np
import polars as pl
import pytest
from boards import board_of, column, remarks
from trackrad2025_tables import FRAMES, LOST, METRICS, TIE, WORSE, WORST, quality, steady, teams

from podium.challenges import get_challenge
from podium.model import Cube, Role

BASELINE = {"no-tracking": Role.BASELINE}


def board(*, roles=None, edition="document", timing="required", **given):
    return board_of("trackrad2025", teams(**given), edition=edition, timing=timing, roles=roles)


def test_ties_and_equal_times():
    leaderboard = board(
        a=(TIE, steady(5, 0.2)), b=(TIE, steady(1, 0.2)), c=(WORSE, steady(9, 0.1)), d=(WORST, steady(0, 0.3))
    )
    # Five quality ranks: a 1, b 1, c 3, d 4; runtime: c 1, a and b 2, d 4.
    assert column(leaderboard, "average_rank") == pytest.approx({"a": 7 / 6, "b": 7 / 6, "c": 16 / 6, "d": 4})
    assert leaderboard.places == {"a": 1, "b": 1, "c": 3, "d": 4}
    first = leaderboard.entries[0].values
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
    together = board_of("trackrad2025", pl.concat([table, others]), roles=BASELINE)
    assert alone.places == {"b": 1, "a": 2}
    assert together.places == {"b": 1, "a": 2, "limit": 3, "copy": None, "slow": None, "no-tracking": None}
    assert remarks(together) == {"b": "", "a": "", "limit": ""} | {
        "slow": "takes 1 s per frame, at most 1 s is allowed",
        "copy": "does not outperform no tracking in any of DSC, HD95, MASD, CD",
        "no-tracking": "baseline",
    }
    ranks = column(together, "average_rank")
    assert {name: ranks[name] for name in "ab"} == column(alone, "average_rank")
    # a needs 7, 9 and 13 s, and 5 s of their mean to load.
    assert together.notes == ("a spends 5 s of 9.67 s per case on loading, by the fitted line.",)
    assert "No tracking was not measured" in alone.notes[0]


def test_one_team_alone_and_sequences_of_equal_length():
    assert board(a=(WORST, steady(1, 0.1))).places == {"a": 1}
    table = teams(a=(TIE, steady(5, 0.0))).filter(pl.col("case") == "c1")
    leaderboard = board_of("trackrad2025", table)
    assert [leaderboard.entries[0].values[k] for k in ("runtime", "loading_time", "total_time")] == [0.5, 0, 5]
    assert "All sequences are of equal length, so loading cannot be told from tracking." in leaderboard.notes
    code = board_of("trackrad2025", table, edition="code").entries[0].values
    # As in the organisers' example: 5 s, 10 frames, one case.
    assert [code[k] for k in ("runtime", "loading_time", "time_per_frame")] == pytest.approx([2.5, 2.5, 0.25])


# What failures cost


def test_a_failed_case_counts_as_nothing_found():
    leaderboard = board(a=(TIE, steady(5, 0.2)), b=(TIE, steady(5, 0.2), "c3"))
    for name, value in TIE.items():
        assert column(leaderboard, name) == pytest.approx({"a": value, "b": (2 * value + LOST[name]) / 3})
    everywhere = board(a=(TIE, steady(5, 0.2)), b=(TIE, steady(0, 0), *FRAMES))
    assert everywhere.places == {"a": 1, "b": None}
    assert everywhere.entries[1].remark == "every case failed"


INFINITE = WORST | {"hd95": np.inf, "masd": np.inf}


def test_in_the_code_failed_cases_stand_below_fewer_failed_cases():
    """Whatever the ranks say: distances may be infinite there, so no price is high enough."""
    given = {
        "whole": (INFINITE, steady(1, 0.9)),
        "once": (TIE, steady(1, 0.1), "c1"),
        "also_once": (WORSE, steady(1, 0.1), "c1"),
        "twice": (TIE | {"dice": 1.0, "hd95": 0.0}, steady(1, 0.1), "c1", "c2"),
    }
    leaderboard = board(edition="code", **given)
    assert leaderboard.places == {"whole": 1, "once": 2, "also-once": 3, "twice": 4}
    # whole: Dice 0.5, infinite HD95 and MASD, D98 0.5 and the longest runtime; once: Dice 1.6 / 3, HD95 72 / 3.
    assert column(leaderboard, "hd95")["whole"] == np.inf
    assert column(leaderboard, "average_rank")["once"] < column(leaderboard, "average_rank")["whole"]
    document = board(**(given | {"whole": (WORST, steady(1, 0.9))}))
    assert document.places["once"] == 1


def test_in_the_code_equals_by_failed_cases_are_parted_by_their_ranks():
    given = {"a": (WORSE, steady(1, 0.2), "c3"), "b": (TIE, steady(1, 0.1), "c1"), "c": (WORSE, steady(1, 0.2), "c3")}
    assert board(edition="code", **given).places == {"b": 1, "a": 2, "c": 2}


def test_failed_cases_are_never_better_than_no_tracking_in_the_code():
    """Dice 0.6, 0.6 and 0 is 0.4, below 0.5. Distances of 1, 1 and 64 mm are 22 mm, below 30, but infinite there."""
    far = (WORST | {"hd95": 30.0, "masd": 30.0, "centre_distance": 30.0}, None)
    close = quality(0.6, 1.0, 1.0, 1.0, 0.9)
    for failed, expected in (((), {"document": 1, "code": 1}), (("c3",), {"document": 1, "code": None})):
        for edition, place in expected.items():
            leaderboard = board(a=(close, steady(1, 0.1), *failed), no_tracking=far, roles=BASELINE, edition=edition)
            assert leaderboard.places["a"] == place
            if place is None:
                reason = "does not outperform no tracking in any of DSC, HD95, MASD, CD"
                assert remarks(leaderboard)["a"] == reason
    sharp = board(
        a=(close | {"dice": 0.9}, steady(1, 0.1), "c3"), no_tracking=far, roles=BASELINE, edition="code"
    )  # Dice 0 for the failed case: 0.6
    assert sharp.places["a"] == 1


@pytest.mark.parametrize("edition", ["document", "code"])
def test_failing_never_pays(edition):
    """Whoever fails whichever cases has no better place, and does not become eligible; nor does leaving out times."""
    generator = np.random.default_rng(3)
    far = [1.0, 5.0, 60.0] if edition == "document" else [1.0, 60.0, 200.0, np.inf]

    def random_team():
        values = {case: quality(generator.random(), *generator.choice(far, 3), generator.random()) for case in FRAMES}
        return values, {case: float(generator.choice([0.2, 1.0, 3.0]) * frames) for case, frames in FRAMES.items()}

    given = {name: random_team() for name in "abcdef"}
    given["no_tracking"] = (quality(0.5, 50.0, 50.0, 50.0, 0.5), None)
    before = board(roles=BASELINE, edition=edition, **given)
    assert {before.places[name] is None for name in "abcdef"} == {True, False}
    changes = [("c1",), ("c2",), ("c3",), ("c1", "c2"), ("c2", "c3"), ("c1", "c3")]
    for name in "abcdef":
        values, clock = given[name]
        untimed = {case: seconds for case, seconds in clock.items() if case != "c2"}
        for changed in (*((values, clock, *failed) for failed in changes), (values, untimed), (values, None)):
            after = board(roles=BASELINE, edition=edition, **(given | {name: changed})).places[name]
            if before.places[name] is None:
                assert after is None
            else:
                assert after is None or after >= before.places[name]


# Weights


@pytest.mark.parametrize("edition", ["document", "code"])
def test_weights_are_repetitions(edition):
    """A weight of k is the case k times, of 0 the case left out, whatever its value.

    The first case is always drawn, and everybody's fastest; the second too, and c's slowest: what is decided on the
    full data is then the same of any draw.
    """
    generator = np.random.default_rng(5)
    keys = tuple((name, "") for name in (*METRICS, "relative_d98", "frames"))
    frames = np.array([10, 10, 20, 30, 30, 50])
    values = generator.random((4, 6, 6))
    values[:, :, 5] = frames
    values[1, 2, 1] = np.inf
    seconds = 5 + 0.3 * frames + generator.normal(0, 0.3, (4, 6))
    seconds[3] = generator.uniform(1, 20, 6)  # d: loading is often below 0, or above the shortest time
    seconds[:, 0] = seconds.min(axis=1) - 0.5
    seconds[2, 1] = 30.0
    failed = np.zeros((4, 6), bool)
    failed[2, 3] = True
    challenge = get_challenge("trackrad2025", edition=edition)

    def cube(rows):
        labels = tuple(f"{place}-{row}" for place, row in enumerate(rows))
        lost = failed[:, rows]
        return Cube(tuple("abcd"), labels, labels, keys, values[:, rows], lost, lost, seconds[:, rows])

    weights = np.vstack([generator.integers(0, 3, (30, 6)), [1, 1, 0, 0, 0, 0]]).astype(float)
    weights[:, :2] = np.maximum(weights[:, :2], 1)
    together = challenge.score(cube(list(range(6))), weights, [True, True, True, False])
    for number, weight in enumerate(weights):
        rows = np.repeat(np.arange(6), weight.astype(int)).tolist()
        alone = challenge.score(cube(rows), np.ones((1, len(rows))), [True, True, True, False])
        np.testing.assert_array_equal(together.places[number], alone.places[0])
        for one, other in zip(together.columns, alone.columns, strict=True):
            np.testing.assert_allclose(one.values[number], other.values[0], atol=1e-9, err_msg=one.name)
