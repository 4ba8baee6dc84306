"""TUS-REC: the published leaderboard, and leaderboards computed by hand."""

import csv
import json

import numpy as np
import polars as pl
import pytest
from boards import board_of, measurements

from podium.challenges import get_challenge
from podium.model import Role
from podium.ranking import behind_fewer_failures, cube_of, leaderboard_of

ERRORS = ("gpe", "gle", "lpe", "lle")
CATEGORIES = {"global": (0, 1), "local": (2, 3), "pixel": (0, 2), "landmark": (1, 3)}


def normalised(values):
    """Return the measurements of a scan that decide its score: four E*, or one number for all four; None if failed."""
    numbers = values if isinstance(values, list) else [values] * 4
    return {(f"{error}_score", ""): number for error, number in zip(ERRORS, numbers, strict=True)}


def table_of(scans, seconds=None):
    """Return measurements of team → scan → E*; None fails the scan. Seconds by team for all its scans, or by scan."""
    parts = []
    for team, cases in scans.items():
        for case, values in cases.items():
            status = "missing" if values is None else "ok"
            parts.append(measurements({team: {case: normalised(values)}}, status=status))
    for team, taken in (seconds or {}).items():
        by_scan = taken if isinstance(taken, dict) else dict.fromkeys(scans[team], taken)
        parts.append(measurements({team: {case: {("seconds", ""): value} for case, value in by_scan.items()}}))
    return pl.concat(parts)


def places(board):
    return [(entry.submission, entry.place) for entry in board.entries]


def scores(board, name="score"):
    return {entry.submission: entry.values[name] for entry in board.entries}


def test_the_published_leaderboard(shared):
    """Its order and its final scores follow from its category scores.

    The categories are means of pairs of E*, so they fix the four mean E* but for one number, which no score depends
    on: adding it to GPE* and LLE* and taking it from GLE* and LPE* changes nothing. The solution of least norm stands
    for the mean scan of each team, as one scan. Published to three decimals, the four categories may disagree by
    0.001 or 0.002.
    """
    with (shared / "golden" / "tusrec_leaderboard_2025.csv").open() as file:
        published = list(csv.DictReader(file))
    pairs = np.array([[0.5 * (k in members) for k in range(4)] for members in CATEGORIES.values()])
    solve = np.linalg.pinv(pairs)
    teams = {row["team"]: {"mean": list(solve @ [float(row[name]) for name in CATEGORIES])} for row in published}
    board = board_of(
        "tusrec", table_of(teams, {row["team"]: float(row["runtime_s"]) for row in published}), edition="code"
    )
    assert places(board) == [(row["team"], int(row["rank"])) for row in published]
    for entry, row in zip(board.entries, published, strict=True):
        assert entry.values["score"] == pytest.approx(float(row["final"]), abs=1.01e-3)
        for name in CATEGORIES:
            assert entry.values[name] == pytest.approx(float(row[name]), abs=1e-3)
        for one, two in (("global", "local"), ("pixel", "landmark")):
            assert float(row["final"]) == pytest.approx((float(row[one]) + float(row[two])) / 2, abs=1.01e-3)
            assert entry.values["score"] == pytest.approx((entry.values[one] + entry.values[two]) / 2, abs=5.1e-4)
        assert entry.values["seconds"] == float(row["runtime_s"])
    # The order is not that of any category alone, nor of the runtime.
    for name in ("local", "pixel", "runtime_s"):
        assert [row["team"] for row in sorted(published, key=lambda row: -float(row[name]))] != list(teams)


def test_scores_by_hand():
    table = table_of({"a": {"s1": [0.8, 0.6, 0.4, 0.2], "s2": [0.4, 0.4, 0.0, 0.0]}})
    values = board_of("tusrec", table).entries[0].values
    found = {name: values[name] for name in ("score", *CATEGORIES, "scored_scans", "seconds")}
    expected = {"score": 0.35, "global": 0.55, "local": 0.15, "pixel": 0.4, "landmark": 0.3}
    assert found == pytest.approx(expected | {"scored_scans": 2, "seconds": None})


def test_a_tie_after_rounding_is_resolved_by_runtime():
    """0.6224 and 0.6216 are both 0.622; the smaller runtime is first, and none at all last among equals."""
    scans = {
        "slow": {"s1": 0.6224},
        "fast": {"s1": 0.6216},
        "untimed": {"s1": 0.6223},
        "just better": {"s1": 0.6226},
        "worse": {"s1": 0.621},
    }
    board = board_of("tusrec", table_of(scans, {"slow": 30.0, "fast": 20.0, "just better": 99.0, "worse": 1.0}))
    assert places(board) == [("just better", 1), ("fast", 2), ("slow", 3), ("untimed", 4), ("worse", 5)]
    assert scores(board) == {"just better": 0.623, "fast": 0.622, "slow": 0.622, "untimed": 0.622, "worse": 0.621}
    assert any("untimed" in note for note in board.notes)


def test_rounding_does_not_depend_on_the_order_of_a_sum():
    """A mean of 0.6225 is rounded as round(0.6225, 3) is, whatever the sum leaves in its last digits."""
    for values in ([0.6225, 0.6225, 0.6225], [0.1, 0.7675, 1.0], [1.0, 0.1, 0.7675]):
        board = board_of("tusrec", table_of({"a": {f"s{k}": value for k, value in enumerate(values)}}))
        assert scores(board) == {"a": round(0.6225, 3)}


def test_one_absurd_displacement_makes_nobody_else_equal():
    """In `code` scores have no bound: displacements of 1e14 mm where 10 mm were to be found score −1e13."""
    scans = {"good": {"s1": 0.7, "s2": 0.6}, "fair": {"s1": 0.5, "s2": 0.6}, "fast": {"s1": 0.2, "s2": 0.1}}
    seconds = {"good": 30.0, "fair": 20.0, "fast": 1.0, "absurd": 0.1}
    for absurd in (-1e13, -1e300):
        table = table_of(scans | {"absurd": {"s1": absurd, "s2": 1.0}}, seconds)
        board = board_of("tusrec", table, edition="code")
        assert places(board) == [("good", 1), ("fair", 2), ("fast", 3), ("absurd", 4)]


def test_a_score_is_judged_by_what_it_is_the_mean_of():
    """Scans of ±1e13 leave 0.4 or so of a mean that is 0 on paper: the runtime decides, as between any equals."""
    scans = {"wild": {"s1": 1e13 + 0.4, "s2": -1e13}, "zero": {"s1": 0.0, "s2": 0.0}}
    board = board_of("tusrec", table_of(scans, {"wild": 9.0, "zero": 3.0}), edition="code")
    assert places(board) == [("zero", 1), ("wild", 2)]


def test_equal_score_and_equal_runtime_share_a_place():
    board = board_of(
        "tusrec",
        table_of({"a": {"s1": 0.5}, "b": {"s1": 0.5}, "c": {"s1": 0.4}}, {"a": 3.0, "b": 3.0}),
    )
    assert places(board) == [("a", 1), ("b", 1), ("c", 3)]


def test_timing_must_be_complete():
    """One scan without a time is no timing, whether the scan failed or not."""
    scans = {
        "complete": {"s1": 0.5, "s2": 0.5},
        "partial": {"s1": 0.5, "s2": 0.5},
        "failed once": {"s1": 1.0, "s2": None},
        "failed untimed": {"s1": 1.0, "s2": None},
    }
    seconds = {
        "complete": 50.0,
        "partial": {"s1": 1.0},
        "failed once": {"s1": 40.0, "s2": 1.0},
        "failed untimed": {"s1": 40.0},
    }
    board = board_of("tusrec", table_of(scans, seconds))
    assert places(board) == [("failed once", 1), ("complete", 2), ("failed untimed", 3), ("partial", 3)]
    assert scores(board, "seconds") == {"failed once": 40.0, "complete": 50.0, "failed untimed": None, "partial": None}
    assert "No runtime for every scan, so last among equal scores: failed untimed, partial." in board.notes


def test_a_fast_crash_does_not_win_the_tie_break():
    """A failed scan counts the team's slowest, so that 30 s and a crash after 1 ms are 30 s a scan."""
    scans = {"crash": {"s1": 0.8, "s2": None}, "honest": {"s1": 0.4, "s2": 0.4}}
    seconds = {"crash": {"s1": 30.0, "s2": 0.001}, "honest": 20.0}
    board = board_of("tusrec", table_of(scans, seconds))
    assert scores(board) == {"honest": 0.4, "crash": 0.4}
    assert places(board) == [("honest", 1), ("crash", 2)]
    assert scores(board, "seconds") == {"honest": 20.0, "crash": 30.0}


@pytest.mark.parametrize("edition", ["document", "code"])
def test_the_runtime_of_failed_scans_is_that_of_the_slowest(edition):
    """Three scans of 10, 20 and 60 s. Whichever fails counts 60 s, also the one of 60 s itself."""
    scans = {
        "none": {"s1": 0.6, "s2": 0.6, "s3": 0.6},
        "the fast one": {"s1": None, "s2": 0.6, "s3": 0.6},
        "the slow one": {"s1": 0.6, "s2": 0.6, "s3": None},
        "two": {"s1": None, "s2": None, "s3": 0.6},
    }
    seconds = {team: {"s1": 10.0, "s2": 20.0, "s3": 60.0} for team in scans}
    board = board_of("tusrec", table_of(scans, seconds), edition=edition)
    assert scores(board, "seconds") == pytest.approx(
        {"none": 30.0, "the fast one": 140 / 3, "the slow one": 30.0, "two": 60.0}
    )
    # Both who failed one scan have the same score, so that their runtime parts them.
    assert places(board) == [("none", 1), ("the slow one", 2), ("the fast one", 3), ("two", 4)]


def test_means_of_errors_are_over_scored_scans():
    table = table_of({"a": {"s1": 0.5, "s2": None}, "b": {"s1": 0.5, "s2": 0.5}})
    errors = {
        "a": {"s1": {(e, ""): 2.0 for e in ERRORS}},
        "b": {"s1": {(e, ""): 2.0 for e in ERRORS}, "s2": {(e, ""): 6.0 for e in ERRORS}},
    }
    lost = measurements({"a": {"s2": {(e, ""): None for e in ERRORS}}}, status="invalid")
    board = board_of("tusrec", pl.concat([table, measurements(errors), lost]))
    for error in ERRORS:
        assert scores(board, error) == {"b": 4.0, "a": 2.0}
    assert scores(board, "scored_scans") == {"b": 2, "a": 1}
    assert scores(board) == {"b": 0.5, "a": 0.25}
    assert any("Failed scans (of 2): a 1. Each costs: 0." in note for note in board.notes)


def test_a_failed_scan_in_code():
    """It has no number: means are over scored scans, and whoever failed fewer scans comes first. Document: 0."""
    scans = {
        "good": {"s1": 0.9, "s2": 0.6, "s3": 0.9},
        "bad": {"s1": 0.9, "s2": 0.4, "s3": [0.4, 0.2, -1.0, -0.8]},
        "failed once": {"s1": 0.1, "s2": None, "s3": 0.1},
        "failed twice": {"s1": [0.9, 0.8, 0.7, 0.6], "s2": None, "s3": None},
    }
    board = board_of("tusrec", table_of(scans), edition="code")
    assert places(board) == [("good", 1), ("bad", 2), ("failed once", 3), ("failed twice", 4)]
    # The score of bad on s3 is −1.2 / 4 = −0.3, so that its mean is 1.0 / 3.
    assert scores(board) == {"good": 0.8, "bad": 0.333, "failed once": 0.1, "failed twice": 0.75}
    assert scores(board, "scored_scans") == {"good": 3, "bad": 3, "failed once": 2, "failed twice": 1}
    # Categories: pairs of 0.9, 0.8, 0.7 and 0.6.
    expected = {"global": 0.85, "local": 0.65, "pixel": 0.8, "landmark": 0.7}
    assert {name: scores(board, name)["failed twice"] for name in expected} == pytest.approx(expected, abs=1e-12)
    note = "Failed scans (of 3): failed once 1, failed twice 2. Whoever failed fewer comes first."
    assert note in board.notes
    document = board_of("tusrec", table_of(scans))
    assert scores(document) == {"good": 0.8, "bad": 0.333, "failed twice": 0.25, "failed once": 0.067}
    assert places(document) == [("good", 1), ("bad", 2), ("failed twice", 3), ("failed once", 4)]


def test_failing_never_pays_in_code():
    """Whoever fails a scan is never above one who is as good elsewhere and delivers it, however badly."""
    scans = {"delivers": {"s1": 0.5, "s2": -2.0}, "fails": {"s1": 0.5, "s2": None}}
    board = board_of("tusrec", table_of(scans), edition="code")
    assert scores(board) == {"delivers": -0.75, "fails": 0.5}
    assert places(board) == [("delivers", 1), ("fails", 2)]


def test_equal_failures_are_parted_by_score_and_then_by_runtime():
    """One failed scan each, of different scans: 0.6 before 0.5004 and 0.4996, which are both 0.500."""
    scans = {
        "slow": {"s1": 0.5004, "s2": None},
        "fast": {"s1": None, "s2": 0.4996},
        "better": {"s1": 0.6, "s2": None},
        "untimed": {"s1": 0.5, "s2": None},
        "whole": {"s1": -3.0, "s2": -3.0},
    }
    seconds = {"slow": 9.0, "fast": 3.0, "better": 20.0, "whole": 99.0}
    board = board_of("tusrec", table_of(scans, seconds), edition="code")
    assert places(board) == [("whole", 1), ("better", 2), ("fast", 3), ("slow", 4), ("untimed", 5)]


def test_behind_fewer_failures():
    """Failures are counted by the weights of their scans, and only equals are parted by their places."""
    failed = np.array([[True, False, False], [False, False, False], [False, True, True], [False, False, True]])
    weights = np.array([[1.0, 1, 1], [0.0, 1, 1], [3.0, 1, 1], [0.0, 0, 0]])
    places = np.array([[1.0, 4, 2, 3]] * 4)  # by score alone
    everybody = [True] * 4
    assert behind_fewer_failures(places, failed, weights, among=everybody).tolist() == [
        [2, 1, 4, 3],  # 1, 0, 2 and 1 failures
        [1, 2, 4, 3],  # 0, 0, 2 and 1
        [4, 1, 3, 2],  # 3, 0, 2 and 1
        [1, 4, 2, 3],  # none counts
    ]
    some = behind_fewer_failures(places[:1], failed, weights[:1], among=[True, False, True, True])
    np.testing.assert_array_equal(some, [[1, np.nan, 3, 2]])
    equals = behind_fewer_failures(np.array([[1.0, 1, 1, 1]]), failed, weights[:1], among=everybody)
    assert equals.tolist() == [[2, 1, 4, 2]]


def test_baselines_and_those_who_failed_everywhere_shift_nobody():
    """A baseline takes no place, and how many scans it failed concerns nobody."""
    scans = {
        "a": {"s1": 0.5, "s2": 0.5},
        "b": {"s1": 0.4, "s2": None},
        "best": {"s1": 0.99, "s2": 0.99},
        "worst": {"s1": -9.0, "s2": -9.0},
        "lost": {"s1": None, "s2": None},
    }
    roles = {"best": Role.BASELINE, "worst": Role.BASELINE}
    board = board_of("tusrec", table_of(scans), edition="code", roles=roles)
    assert [(e.submission, e.place, e.remark) for e in board.entries] == [
        ("a", 1, ""),
        ("b", 2, ""),
        ("lost", None, "every case failed"),
        ("best", None, "baseline"),
        ("worst", None, "baseline"),
    ]
    assert scores(board) == {"a": 0.5, "b": 0.4, "lost": None, "best": 0.99, "worst": -9.0}


@pytest.mark.parametrize(("edition", "score"), [("document", 0.125), ("code", 0.25)])
def test_one_team_alone(edition, score):
    board = board_of("tusrec", table_of({"a": {"s1": 0.25, "s2": None}}), edition=edition)
    assert places(board) == [("a", 1)]
    assert scores(board) == {"a": score}


@pytest.mark.parametrize(("edition", "score"), [("document", 0), ("code", None)])
def test_all_failed(edition, score):
    board = board_of("tusrec", table_of({"a": {"s1": None}, "b": {"s1": None}}), edition=edition)
    assert [(e.submission, e.place, e.remark) for e in board.entries] == [
        ("a", None, "every case failed"),
        ("b", None, "every case failed"),
    ]
    assert scores(board) == {"a": score, "b": score}
    json.dumps([dict(entry.values) for entry in board.entries], allow_nan=False)


def test_negative_scores_are_ranked():
    board = board_of("tusrec", table_of({"a": {"s1": -0.2}, "b": {"s1": -0.1}, "c": {"s1": 0.0}}), edition="code")
    assert places(board) == [("c", 1), ("b", 2), ("a", 3)]
    assert scores(board) == {"c": 0.0, "b": -0.1, "a": -0.2}


@pytest.mark.parametrize("edition", ["document", "code"])
def test_weights_count_scans(edition):
    """A scan of weight two counts like two scans, one of weight zero like none; without scans nobody is ahead."""
    scans = {
        "a": {"s1": 0.3, "s2": [0.5, 0.4, -0.3, -0.9], "s3": 0.1},
        "b": {"s1": 0.6, "s2": None, "s3": 0.9},
        "c": {"s1": None, "s2": 0.8, "s3": -0.4},
    }
    seconds = {"a": 3.0, "b": {"s1": 2.0, "s2": 5.0, "s3": 4.0}}  # s2 is the slowest, and stays
    challenge = get_challenge("tusrec", edition=edition)
    weighted = challenge.score(
        cube_of(challenge, table_of(scans, seconds)), np.array([[1.0, 1, 1], [2.0, 1, 0], [0.0, 0, 0]]), [True] * 3
    )
    doubled = {team: {"s1": cases["s1"], "s1 again": cases["s1"], "s2": cases["s2"]} for team, cases in scans.items()}
    again = leaderboard_of(
        challenge, table_of(doubled, {"a": 3.0, "b": {"s1": 2.0, "s1 again": 2.0, "s2": 5.0}}), roles={}
    )
    for column in weighted.columns:
        found = dict(zip("abc", (None if np.isnan(v) else v for v in column.values[1]), strict=True))
        assert found == pytest.approx(scores(again, column.name), abs=1e-12)
    assert dict(zip("abc", weighted.places[1], strict=True)) == dict(places(again))
    assert np.isnan(weighted.columns[0].values[2]).all()
    assert set(weighted.places[2]) == {1}
