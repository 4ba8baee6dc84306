"""CSV 2026: what teams gain, or not, by files and times that they spoil or leave out."""

import numpy as np
import pytest
from boards import column
from csv2026_files import write_sample

from podium.challenges import get_challenge
from podium.ranking import leaderboard_of
from podium.run import find_submissions, measure_all

TRUE = {"001": 0, "002": 1, "003": 1}


class Contest:
    """Three cases on disk, and two teams whose totals are known.

    sly is right but for the class of case 003, for which it needs 5 s: S_seg 100, F1 2/3 of either class, and on
    average 2 s, the longest time. steady has an empty transverse view throughout, every class, and needs 1 s.
    """

    def __init__(self, path):
        self.path = path
        for name, true in TRUE.items():
            write_sample(path / "truth" / "labels" / f"{name}_label.h5", cls=true, **self.masks())
            self.predict("sly", name, cls=0 if name == "003" else true)
            self.predict("steady", name, cls=true, trans_mask=np.zeros((40, 50), np.uint8))
        (path / "truth" / "challenge.toml").write_text("baseline_seconds = 1\n")
        self.timing("sly", 0.5, 0.5, 5)
        self.timing("steady", 1, 1, 1)

    @staticmethod
    def masks():
        """Return both views of every case."""
        mask = np.zeros((40, 50), np.uint8)
        mask[10:30, 5:45], mask[22:30, 15:25] = 2, 1
        return {"long_mask": mask, "trans_mask": mask}

    def predict(self, team, name, **changes):
        """Write a prediction that is perfect but for the changes, and class 1."""
        write_sample(self.file(team, name), **(self.masks() | changes))

    def file(self, team, name):
        """Return where a prediction lies."""
        return self.path / "teams" / team / f"{name}_pred.h5"

    def timing(self, team, *seconds):
        """Write the seconds of all cases."""
        lines = [f"{name},{time}\n" for name, time in zip(TRUE, seconds, strict=True)]
        (self.path / "teams" / team / "timing.csv").write_text("case,seconds\n" + "".join(lines))

    def board(self):
        """Measure both teams and rank them."""
        measured = measure_all(
            get_challenge("csv2026"),
            truth=self.path / "truth",
            submissions=find_submissions(self.path / "teams"),
        )
        return leaderboard_of(measured.challenge, measured.table, roles=measured.roles)


@pytest.fixture
def contest(tmp_path):
    return Contest(tmp_path)


SLY, STEADY = 40 + 40 * 2 / 3, 20 + 40 + 20


def test_two_teams_on_disk(contest):
    leaderboard = contest.board()
    assert column(leaderboard, "total") == pytest.approx({"sly": SLY, "steady": STEADY})
    assert leaderboard.places == {"steady": 1, "sly": 2}


def test_a_class_of_one_half_does_not_beat_a_wrong_class(contest):
    """It is a wrong class, and its 5 s still count: as a false negative alone, without its time, sly had 93.3."""
    wrong = contest.board()
    contest.predict("sly", "003", cls=0.5)
    spoiled = contest.board()
    for name in ("total", "segmentation", "classification", "time", "seconds", "f1_0", "f1_1"):
        assert column(spoiled, name) == column(wrong, name)
    assert spoiled.places == wrong.places
    contest.predict("sly", "003", cls=1)
    assert column(contest.board(), "total")["sly"] == pytest.approx(80)


def test_spoiling_a_slow_case_does_not_make_a_team_fast(contest):
    totals = [column(contest.board(), "total")["sly"]]
    for changes in ({"long_mask": None}, {"long_mask": None, "trans_mask": np.ones((3, 3), np.uint8), "cls": 7}):
        contest.predict("sly", "003", **({"cls": 0} | changes))
        totals.append(column(contest.board(), "total")["sly"])
    contest.file("sly", "003").unlink()
    totals.append(column(contest.board(), "total")["sly"])
    # A view of three cases is a sixth of S_seg. The class was wrong already, and the time is the longest possible.
    assert totals == pytest.approx([SLY, SLY - 40 / 6, SLY - 40 / 3, SLY - 40 / 3])
    leaderboard = contest.board()
    assert column(leaderboard, "seconds")["sly"] == pytest.approx(2)
    assert leaderboard.places == {"steady": 1, "sly": 2}


@pytest.mark.parametrize("spoil", ["delete", "leave out a case", "damage"])
def test_no_timing_counts_as_the_longest_time(contest, spoil):
    timing = contest.path / "teams" / "steady" / "timing.csv"
    if spoil == "delete":
        timing.unlink()
    elif spoil == "damage":
        timing.write_text(timing.read_text().replace("001,1", "001,1e8"))
    else:
        timing.write_text(timing.read_text().replace("002,1\n", ""))
    leaderboard = contest.board()
    # Both count 2 s now, so neither has a point for time.
    assert column(leaderboard, "total") == pytest.approx({"sly": SLY, "steady": STEADY - 20})
    assert column(leaderboard, "time") == {"sly": 0, "steady": 0}
    assert column(leaderboard, "seconds")["steady"] is None
    assert leaderboard.places == {"sly": 1, "steady": 2}
    assert "Without a time for every case, which counts as the longest time: steady." in leaderboard.notes
