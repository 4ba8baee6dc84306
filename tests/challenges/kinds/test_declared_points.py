"""Landmarks and tracks that are declared: distances, what is missing, and which file is refused."""

import pytest
from declared_challenges import TOML, write_heads, write_text, write_tools

import podium
from podium.challenges.kinds import read_challenge
from podium.model import InputError


@pytest.fixture
def heads(tmp_path):
    return read_challenge(TOML / "heads.toml"), write_heads(tmp_path)


def measured(challenge, case, path):
    return {value.target: value for value in challenge.measure(case, challenge.load(case), path)}


def test_distances_of_landmarks(heads, tmp_path):
    challenge, data = heads
    write_text(data / "truth" / "north" / "s1.csv", ["landmark,x,y", "nasion,0,0", "sella,10,10"])
    case = next(case for case in challenge.cases(data / "truth") if case.name == "north_s1")
    path = tmp_path / "guess.csv"
    write_text(path, ["landmark,x,y", "sella,10,10", "nasion,3,4", "another,1,1"])
    values = measured(challenge, case, path)
    assert (values["nasion"].value, values["sella"].value) == (5.0, 0.0)
    write_text(path, ["landmark,x,y", "sella,10,", "nasion,3,4"])
    values = measured(challenge, case, path)
    assert values["nasion"].value == 5.0
    assert values["sella"].status == "invalid"
    assert challenge.check(None, path) == ["there are no finite coordinates for 'sella'"]
    write_text(path, ["landmark,x,y", "mouth,1,1"])
    with pytest.raises(InputError, match="no finite coordinates for 'nasion'"):
        measured(challenge, case, path)


def test_a_landmark_that_fails_costs_its_own_price(heads, tmp_path):
    challenge, data = heads
    write_text(data / "submissions" / "near" / "north_s1.csv", ["landmark,x,y", "nasion,3,4"])
    (data / "submissions" / "far" / "north_s1.csv").unlink()
    run = podium.evaluate(
        str(TOML / "heads.toml"), truth=data / "truth", submissions=data / "submissions", out=tmp_path / "run"
    )
    rows = run.measurements.filter(case="north_s1")
    assert rows.filter(submission="near", target="sella")["value"].to_list() == [80.0]
    assert rows.filter(submission="far").sort("target")["value"].to_list() == [50.0, 80.0]
    assert run.leaderboard.places["exact"] == 1
    assert {challenge.stratum(row) for row in run.cube.rows} == {"north", "south"}
    assert len(run.rank(bootstrap=0).rule.units.strata) == 2
    assert podium.load(tmp_path / "run").challenge == challenge


def test_tracks_are_measured_over_the_frames_of_the_truth(tmp_path):
    challenge, data = read_challenge(TOML / "tools.toml"), write_tools(tmp_path)
    header = "frame,tip_x,tip_y,shaft_x,shaft_y"
    write_text(data / "truth" / "v0.csv", [header, "0,0,0,5,5", "1,0,0,,", "2,0,0,5,5"])
    case = challenge.cases(data / "truth")[0]
    path = tmp_path / "guess.csv"
    write_text(path, [header, "0,3,4,5,5", "1,0,0,9,9", "2,0,1,5,5", "3,7,7,7,7"])
    values = {(v.metric, v.target): v.value for v in challenge.measure(case, challenge.load(case), path)}
    assert values["landmark_error", "tip"] == pytest.approx((5 + 0 + 1) / 3)
    assert values["landmark_error", "shaft"] == 0.0
    write_text(path, [header, "0,3,4,5,5", "1,,,9,9", "2,0,1,5,5"])
    values = challenge.measure(case, challenge.load(case), path)
    assert [v.reason for v in values if v.target == "tip"] == ["there are no finite coordinates for 'tip' in 1"] * 2


def test_a_truth_without_a_landmark_is_refused(heads):
    challenge, data = heads
    write_text(data / "truth" / "north" / "s1.csv", ["landmark,x,y", "nasion,0,0"])
    case = next(case for case in challenge.cases(data / "truth") if case.name == "north_s1")
    with pytest.raises(InputError, match="the truth has no finite coordinates for 'sella'"):
        challenge.load(case)
