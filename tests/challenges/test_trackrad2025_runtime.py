"""TrackRAD 2025: times computed by hand, who is eligible by them, and what the leaderboard says of strange ones."""

import json

import numpy as np
import polars as pl
import pytest
from boards import board_of, column, measurements, remarks
from trackrad2025_tables import FRAMES, TIE, WORSE, WORST, steady, teams

from podium.challenges import get_challenge
from podium.io import write_label_map
from podium.model import LabelMap
from podium.ranking import cube_of, leaderboard_of
from podium.run import find_submissions, measure_all

pytestmark = pytest.mark.slow

NO_TIME = "has no time for every case, so that the limit of 1 s per frame cannot be shown to hold"


def board(*, edition="document", timing="required", **given):
    return board_of("trackrad2025", teams(**given), edition=edition, timing=timing)


def times(clock, *failed, edition="document"):
    """Return loading, runtime and seconds per frame of a team."""
    values = board(edition=edition, a=(TIE, clock, *failed)).entries[0].values
    return [values[name] for name in ("loading_time", "runtime", "time_per_frame")]


def seconds(*numbers):
    return dict(zip(FRAMES, numbers, strict=True))


# Runtime


UNEVEN = seconds(6, 14, 19)
"""The line through these has a slope of 190 / (1400 / 3) = 57 / 140 and begins at 13 - 9.5 = 3.5 s: without loading,
0.25, 0.525 and 0.3875 s a frame."""


@pytest.mark.parametrize(
    ("failed", "sum_of_times"),
    [
        ((), 2.5 + 10.5 + 15.5),
        (("c2",), 2.5 + 10.5 + 15.5),  # it is the slowest itself
        (("c3",), 2.5 + 10.5 + 40 * 0.525),
        (("c1",), 10 * 0.525 + 10.5 + 15.5),
        (("c1", "c3"), 70 * 0.525),
    ],
)
def test_a_failed_case_counts_as_the_slowest_frame_by_frame(failed, sum_of_times):
    assert times(UNEVEN, *failed) == pytest.approx([3.5, sum_of_times / 70, sum_of_times / 70])
    assert times(UNEVEN, *failed, edition="code") == pytest.approx([3.5, sum_of_times / 3, 57 / 140])


def test_a_fast_crash_does_not_win_on_runtime():
    """8 s, 11 s and a crash after 0.01 s: the line falls, so loading is the shortest time.

    7.99 s for 10 frames are then the slowest: (7.99 + 10.99 + 40 · 0.799) / 70 s.
    """
    leaderboard = board(a=(TIE, steady(5, 0.3)), b=(TIE, steady(5, 0.3), "c3"))
    assert column(leaderboard, "runtime") == pytest.approx({"a": 0.3, "b": 50.94 / 70})
    assert column(leaderboard, "runtime_rank") == {"a": 1, "b": 2}
    assert column(leaderboard, "loading_time")["b"] == pytest.approx(0.01)


def test_on_a_line_a_failed_case_changes_nothing():
    clock = seconds(*(5 + 0.3 * frames for frames in FRAMES.values()))
    assert times(clock, "c3") == pytest.approx([5, 0.3, 0.3])


@pytest.mark.parametrize("edition", ["document", "code"])
def test_the_slowest_case_and_the_timing_are_those_of_all_cases_whichever_are_drawn(edition):
    """Without c2, the line through 6 and 19 s has slope 13/30 and begins at 5/3 s; c3 counts 40 · (14 - 5/3) / 20 s."""
    challenge = get_challenge("trackrad2025", edition=edition)
    partly = seconds(1, 2, 4)
    del partly["c2"]
    cube = cube_of(challenge, teams(a=(TIE, UNEVEN, "c3"), b=(TIE, partly)))
    scores = challenge.score(cube, np.array([[1.0, 0.0, 1.0]]), [True, True])
    sum_of_times = (6 - 5 / 3) + 40 * (14 - 5 / 3) / 20
    runtime = sum_of_times / (50 if edition == "document" else 2)
    np.testing.assert_allclose(scores.column("runtime").values, [[runtime, np.nan]], rtol=1e-12)


def test_in_the_code_the_slowest_is_decided_with_its_own_loading():
    """The line through 0.5, 9.2 and 19.2 s begins at -4.5 s: 5 s, 13.7 s and 23.7 s, the second slowest by frames.

    With loading kept from 0, the third would be.
    """
    loading, runtime, _ = times(seconds(0.5, 9.2, 19.2), "c1", edition="code")
    assert loading == pytest.approx(-4.5)
    assert runtime == pytest.approx((10 * 13.7 / 20 + 13.7 + 23.7) / 3)


CLAMPED = {
    "below 0": (seconds(0.5, 3, 5.5), [0, 9 / 70], [-0.75, 3.75]),  # a slope of 45/280, 3 s on average
    "above the shortest": (seconds(9, 8, 6), [6, 5 / 70], [10, None]),  # 10 - 0.1 f: 23/3 s on average, less 10 s
    "in between": (UNEVEN, [3.5, 57 / 140], [3.5, 9.5]),
    "nothing": (seconds(0, 0, 0), [0, 0], [0, 0]),
    "no tracking": (seconds(4, 4, 4), [4, 0], [4, 0]),
}


@pytest.mark.parametrize("name", CLAMPED)
def test_loading_is_kept_within_0_and_the_shortest_time(name):
    clock, document, code = CLAMPED[name]
    assert times(clock)[:2] == pytest.approx(document, abs=1e-12)
    assert times(clock, edition="code")[:2] == pytest.approx(code, abs=1e-12)


def test_a_negative_runtime_of_the_code_ranks_last():
    given = {"a": (WORSE, steady(1, 0.5)), "b": (TIE, seconds(9, 8, 6))}
    code = board(edition="code", **given)
    assert column(code, "runtime") == {"a": pytest.approx(0.5 * 70 / 3), "b": None}
    assert column(code, "runtime_rank") == {"a": 1, "b": 2}
    assert "Last on runtime, as the fitted runtime is negative: b." in code.notes
    assert code.places == {"b": 1, "a": 2}
    document = board(**given)
    assert column(document, "runtime_rank") == {"a": 2, "b": 1}
    assert not any("negative" in note for note in document.notes)
    ignored = board(edition="code", timing="ignored", **given)
    assert not any("negative" in note for note in ignored.notes)


# Eligibility


def test_no_timing_is_not_eligible():
    table = teams(a=(TIE, None), b=(WORSE, steady(5, 0.2)), c=(WORST, steady(5, 0.9)))
    partly = teams(d=(WORST, steady(0, 0.1))).filter((pl.col("metric") != "seconds") | (pl.col("case") != "c2"))
    leaderboard = board_of("trackrad2025", pl.concat([table, partly]))
    assert leaderboard.places == {"b": 1, "c": 2, "a": None, "d": None}
    assert remarks(leaderboard) == {"b": "", "c": "", "a": NO_TIME, "d": NO_TIME}
    assert column(leaderboard, "runtime")["a"] is column(leaderboard, "runtime")["d"] is None
    # Six ranks of each, and neither a nor d is in anybody's way.
    assert column(leaderboard, "average_rank") == {"b": 1, "c": 2, "a": None, "d": None}


def test_a_time_missing_for_a_failed_case_is_no_timing():
    clock = seconds(1, 2, 4)
    assert board(a=(TIE, clock, "c3")).places == {"a": 1}
    del clock["c3"]
    assert remarks(board(a=(TIE, clock, "c3"))) == {"a": NO_TIME}


def test_where_nobody_has_timing_nobody_has_a_place():
    leaderboard = board(a=(TIE, None), b=(WORSE, None))
    assert leaderboard.places == {"a": None, "b": None}
    named = "Nobody has a time for every case, so nobody has a place; --option timing=ignored ranks without."
    assert leaderboard.notes.count(named) == 1
    some = board(a=(TIE, None), b=(WORSE, steady(1, 0.1)))
    assert named not in some.notes


@pytest.mark.parametrize("edition", ["document", "code"])
def test_where_runtime_is_ignored_there_are_five_ranks_and_no_limit(edition):
    given = {"a": (TIE, None), "b": (WORSE, steady(0, 7.0)), "c": (WORST | {"dice": 0.9}, steady(5, 0.2))}
    leaderboard = board(timing="ignored", edition=edition, **given)
    # Dice c 1, a 2, b 3; all else a 1, b 2, c 3.
    assert column(leaderboard, "average_rank") == pytest.approx({"a": 6 / 5, "b": 11 / 5, "c": 13 / 5})
    assert leaderboard.places == {"a": 1, "b": 2, "c": 3}
    assert set(remarks(leaderboard).values()) == {""}
    head = "Runtime is ignored, as the organiser asked: five ranks are averaged, and nobody is too slow."
    assert leaderboard.notes[0] == head
    assert not {"runtime", "runtime_rank"} & {measure.name for measure in leaderboard.columns}
    required = board(edition=edition, **given)
    assert required.places == {"c": 1, "a": None, "b": None}
    assert head not in required.notes


def test_timing_is_the_organisers_option_and_can_be_chosen_when_ranking_again():
    challenge = get_challenge("trackrad2025")
    assert challenge.timing == "required"
    assert "timing" in challenge.scoring_options
    assert challenge.terms[-1] == "runtime"
    assert "runtime" not in challenge.varied(timing="ignored").terms


SLOW = seconds(5, 30, 55)
"""A line from below 0: 90 s for 70 frames. The second case takes 1.5 s a frame, the first 0.5."""


@pytest.mark.parametrize("edition", ["document", "code"])
def test_failing_slow_cases_does_not_make_a_team_eligible(edition):
    given = {"b": (WORSE, steady(1, 0.2))}
    for failed, rate in (((), "1.29"), (("c2",), "1.29"), (("c3",), "1.36"), (("c2", "c3"), "1.36")):
        leaderboard = board(edition=edition, a=(TIE, SLOW, *failed), **given)
        assert leaderboard.places == {"b": 1, "a": None}
        assert remarks(leaderboard)["a"] == f"takes {rate} s per frame, at most 1 s is allowed"
    assert times(SLOW)[1] == pytest.approx(90 / 70)
    assert times(SLOW, "c2", "c3")[1] == pytest.approx((5 + 30 + 40 * 1.5) / 70)


# Strange times


STRANGE = {
    # The line begins at 6 s with a slope of 13/70; c2 is off by 10.29 of 20 s, and c1 by 6.86 of 1 s.
    "two cases": (seconds(1, 20, 10), ["c2 took 20 s, 9.71 s were to be expected."]),
    # 4 + 19/70 f; c2 is off by more, but not by half of its time.
    "one case": (seconds(1, 18, 12), ["c1 took 1 s, 6.71 s were to be expected."]),
    "on a line that begins below 0": (seconds(1, 6, 16), []),
    "on a line": (seconds(4, 7, 13), []),
    "nothing": (seconds(0, 0, 0), []),
}


@pytest.mark.parametrize("edition", ["document", "code"])
@pytest.mark.parametrize("name", STRANGE)
def test_times_that_do_not_follow_their_line_are_named(name, edition):
    clock, expected = STRANGE[name]
    notes = [note for note in board(edition=edition, a=(TIE, clock)).notes if "line: " in note]
    assert notes == [f"The times of a do not follow their line: {text}" for text in expected]


@pytest.mark.parametrize("edition", ["document", "code"])
def test_who_mostly_loads_is_named(edition):
    # 7, 9 and 13 s; 70/3 frames on average, so that 0.3 s for each are as long as 7 s of loading.
    given = {"a": (TIE, steady(5, 0.2)), "b": (TIE, steady(7, 0.3)), "c": (TIE, steady(6.9, 0.3)), "d": (TIE, None)}
    notes = [note for note in board(edition=edition, **given).notes if "loading" in note]
    assert notes == ["a spends 5 s of 9.67 s per case on loading, by the fitted line."]


def test_sequences_of_one_length_are_not_called_strange_in_the_code():
    """Its fit calls half of the time loading there, which is not above half."""
    table = teams(a=(TIE, seconds(0.1, 0.2, 0.7)))
    equal = pl.when(pl.col("metric") == "frames").then(10.0).otherwise(pl.col("value"))
    table = table.with_columns(equal.alias("value"))
    notes = board_of("trackrad2025", table, edition="code").notes
    assert not any("on loading" in note for note in notes)


# On disk


class Contest:
    """Three moving targets, and two teams: sharp is perfect, but too slow; rough is a pixel off, and fast.

    Without tracking, Dice is 1, 1/2, 0, 0 and 0 in turn: 0.3, below the third that a single perfect case is worth.
    """

    def __init__(self, path):
        self.path = path
        for case, frames in FRAMES.items():
            folder = path / "truth" / case
            targets = [self.target(8 + 3 * (frame % 5), 10) for frame in range(frames)]
            self.write(folder / "targets" / f"{case}_labels.mha", targets)
            (folder / "scanned-region.json").write_text(json.dumps("abdomen"))
            self.write(self.file("sharp", case), targets)
            self.write(self.file("rough", case), [self.target(9 + 3 * (frame % 5), 10) for frame in range(frames)])
        self.timing("sharp", SLOW)
        self.timing("rough", seconds(2, 3, 5))

    @staticmethod
    def target(row, column):
        """Return a square target in an image of 26 × 24 pixels."""
        mask = np.zeros((26, 24), np.uint8)
        mask[row - 3 : row + 3, column - 3 : column + 3] = 1
        return mask

    @staticmethod
    def write(path, targets):
        """Write a sequence."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_label_map(path, LabelMap.from_array(np.stack(targets).transpose(0, 2, 1)))

    def file(self, team, case):
        """Return where a prediction lies."""
        return self.path / "teams" / team / f"{case}.mha"

    def timing(self, team, clock):
        """Write timing.csv."""
        lines = [f"{case},{time}\n" for case, time in clock.items()]
        (self.path / "teams" / team / "timing.csv").write_text("case,seconds\n" + "".join(lines))

    def board(self, **options):
        """Measure both teams and rank them."""
        measured = measure_all(
            get_challenge("trackrad2025", **options),
            truth=self.path / "truth",
            submissions=find_submissions(self.path / "teams"),
        )
        return leaderboard_of(measured.challenge, measured.table, roles=measured.roles)


@pytest.fixture
def contest(tmp_path):
    return Contest(tmp_path)


ONLY_ROUGH = {"rough": 1, "sharp": None, "no-tracking": None}


def test_two_teams_on_disk(contest):
    leaderboard = contest.board()
    assert leaderboard.places == ONLY_ROUGH
    assert remarks(leaderboard)["sharp"] == "takes 1.29 s per frame, at most 1 s is allowed"
    contest.timing("sharp", seconds(5, 6, 8))
    assert contest.board().places == {"sharp": 1, "rough": 2, "no-tracking": None}


@pytest.mark.parametrize("edition", ["document", "code"])
def test_failing_two_slow_cases_on_disk(contest, edition):
    contest.file("sharp", "c2").unlink()
    contest.file("sharp", "c3").write_bytes(contest.file("sharp", "c3").read_bytes()[:-20])
    leaderboard = contest.board(edition=edition)
    assert leaderboard.places == ONLY_ROUGH
    assert remarks(leaderboard)["sharp"] == "takes 1.36 s per frame, at most 1 s is allowed"
    ignored = contest.board(edition=edition, timing="ignored")  # so that the time alone keeps it from a place
    assert ignored.places == {"rough": 1, "sharp": 2, "no-tracking": None}


@pytest.mark.parametrize("how", ["deleted", "without a case", "without a failed case", "too long a time"])
def test_deleting_times_on_disk(contest, how):
    match how:
        case "deleted":
            (contest.path / "teams" / "sharp" / "timing.csv").unlink()
        case "without a case":
            contest.timing("sharp", {case: time for case, time in SLOW.items() if case != "c3"})
        case "without a failed case":
            contest.file("sharp", "c3").unlink()
            contest.timing("sharp", {case: time for case, time in SLOW.items() if case != "c3"})
        case "too long a time":
            contest.timing("sharp", SLOW | {"c1": 1e8})
    leaderboard = contest.board()
    assert leaderboard.places == ONLY_ROUGH
    assert remarks(leaderboard)["sharp"] == NO_TIME
    ignored = contest.board(timing="ignored").places
    assert (ignored["sharp"] == 1) == (how != "without a failed case")


def test_nobody_has_times_on_disk(contest):
    for team in ("sharp", "rough"):
        (contest.path / "teams" / team / "timing.csv").unlink()
    leaderboard = contest.board()
    assert set(leaderboard.places.values()) == {None}
    assert [note for note in leaderboard.notes if "timing=ignored" in note]


# Loading that Podium measured itself


def with_loading(table, **loading):
    """Return measurements with a loading time for every case of some teams."""
    more = {name: {case: {("loading", ""): value} for case in FRAMES} for name, value in loading.items()}
    return pl.concat([table, measurements(more)])


def test_measured_loading_is_taken_and_nothing_is_fitted():
    """Times hold no loading: 33 s for 70 frames. The line would have begun at 2 s, with a slope of 9 / 25 s."""
    clock = seconds(6, 8.5, 18.5)
    table = with_loading(teams(a=(TIE, clock), b=(TIE, clock)), a=30.0)
    leaderboard = board_of("trackrad2025", table, timing="required")
    assert column(leaderboard, "runtime")["a"] == pytest.approx(33 / 70)
    assert column(leaderboard, "loading_time")["a"] == 30
    fitted = times(clock)
    assert [column(leaderboard, name)["b"] for name in ("loading_time", "runtime")] == pytest.approx(fitted[:2])
    assert not any("a spends" in note for note in leaderboard.notes)


def test_the_organisers_code_fits_all_the_same():
    table = teams(a=(TIE, UNEVEN))
    boards = [board_of("trackrad2025", t, edition="code") for t in (table, with_loading(table, a=30.0))]
    assert boards[0].entries == boards[1].entries


def test_with_measured_loading_a_failed_case_counts_as_the_slowest_frame_by_frame():
    """6 s for 10 frames are the slowest; the 40 frames of the crash count 0.6 s each."""
    table = with_loading(teams(a=(TIE, seconds(6, 8, 0.01), "c3")), a=30.0)
    assert column(board_of("trackrad2025", table), "runtime")["a"] == pytest.approx((6 + 8 + 40 * 0.6) / 70)


def test_loading_alone_is_no_timing_and_no_measurement():
    table = with_loading(teams(a=(TIE, None), b=(TIE, steady(1, 0.3), *FRAMES)), a=30.0, b=1.0)
    remark = remarks(board_of("trackrad2025", table))
    assert NO_TIME in remark["a"]
    assert remark["b"] == "every case failed"
