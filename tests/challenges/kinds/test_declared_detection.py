"""Detection that is declared: points and boxes, empty tables, and what a failed case costs."""

import numpy as np
import pytest
from declared_challenges import TOML, write_nodules, write_text

import podium
from podium.challenges.kinds import read_challenge
from podium.metrics import Detections, ImageDetections, froc_score
from podium.model import InputError


def one_case(tmp_path, name, truth, guess):
    challenge = read_challenge(TOML / f"{name}.toml")
    write_text(tmp_path / "truth" / "scan0.csv", truth)
    write_text(tmp_path / "guess.csv", guess)
    (case,) = challenge.cases(tmp_path / "truth")
    return challenge, challenge.measure(case, challenge.load(case), tmp_path / "guess.csv")


def scores(values, name):
    return [value.value for value in values if value.metric == name]


def test_points_within_the_radius_are_hits(tmp_path):
    truth = ["name,x,y,z", "n0,0,0,0", "n1,50,0,0"]
    guess = ["name,x,y,z,score", "a,0,3,0,0.9", "b,0,0,1,0.5", "c,99,0,0,0.7"]
    _, values = one_case(tmp_path, "nodules", truth, guess)
    assert scores(values, "found") == [0.5]
    assert scores(values, "references") == [2.0]
    assert scores(values, "hit") == [0.9]
    assert scores(values, "false_alarm") == [0.7]


def test_boxes_that_overlap_are_hits(tmp_path):
    truth = ["name,x1,y1,x2,y2", "n0,0,0,10,10"]
    guess = ["name,x1,y1,x2,y2,score", "a,0,0,10,5,0.9", "b,9,9,20,20,0.8"]
    challenge, values = one_case(tmp_path, "boxes", truth, guess)
    assert (scores(values, "hit"), scores(values, "false_alarm")) == ([0.9], [0.8])
    write_text(tmp_path / "guess.csv", ["name,x1,y1,x2,y2,score", "a,10,0,0,5,0.9"])
    assert challenge.check(None, tmp_path / "guess.csv") == [
        "a box ends before it begins. Write x1, y1, x2, y2 in this order"
    ]


def test_a_table_may_be_empty(tmp_path):
    _, values = one_case(tmp_path, "nodules", ["name,x,y,z"], ["name,x,y,z,score"])
    assert next(value for value in values if value.metric == "found").status == "undefined"
    assert scores(values, "references") == [0.0]


def test_a_score_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="'a' has a number that is missing or not finite"):
        one_case(tmp_path, "nodules", ["name,x,y,z"], ["name,x,y,z,score", "a,1,2,3,"])


def test_the_score_is_that_of_all_scans_together(tmp_path):
    challenge, data = read_challenge(TOML / "nodules.toml"), write_nodules(tmp_path)
    (data / "submissions" / "exact" / "scan3.csv").unlink()
    run = podium.evaluate(challenge, truth=data / "truth", submissions=data / "submissions", out=tmp_path / "run")
    images = {}
    for case in challenge.cases(data / "truth"):
        truth = challenge.load(case)
        for team in ("near", "exact"):
            path = data / "submissions" / team / case.expected[0]
            if path.exists():
                image = challenge.matched(truth, challenge.read(path, "score"))
            else:
                image = ImageDetections(np.full(12, np.inf), np.zeros(12, bool), len(truth.places))
            images.setdefault(team, []).append(image)
    for entry in run.leaderboard.entries:
        if entry.submission in images:
            expected = float(froc_score(Detections.of(images[entry.submission])))
            assert entry.values["froc_score"] == pytest.approx(expected)
    assert run.leaderboard.places["near"] == 1
    again = podium.load(tmp_path / "run")
    assert again.leaderboard.entries == run.leaderboard.entries
    assert again.rank(bootstrap=20).leaderboard.places == run.leaderboard.places
