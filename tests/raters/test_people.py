"""Are algorithms as good as people? Paired differences by hand, and what flatters an algorithm."""

import csv
import io
import math
from dataclasses import dataclass

import numpy as np
import pytest
from boards import measurements

from podium.challenges import get_challenge
from podium.model import SECONDS, Direction, Measure, Price, Role
from podium.ranking import cube_of
from podium.ranking.inference.variability import compared_with_people, within_variability
from podium.raters import Interval, interval_of, people_csv, people_verdicts
from podium.report.figures import band_of

CASES = [f"case_{k:05d}" for k in range(30)]


def table(submissions, *, metric="dice", target="tumor"):
    return measurements(
        {
            name: {case: {(metric, target): value} for case, value in zip(CASES, values, strict=False)}
            for name, values in submissions.items()
        }
    )


def verdicts(submissions, challenge=None, roles=None, **more):
    challenge = challenge or get_challenge("kits21")
    found = people_verdicts(challenge, cube_of(challenge, table(submissions, **more)), roles=roles)
    return {verdict.submission: verdict for verdict in found}


PEOPLE = [0.80 + 0.005 * (k % 7) for k in range(30)]


def moved(by, spread=0.01):
    return [value + by + spread * ((k * 5) % 11 - 5) / 5 for k, value in enumerate(PEOPLE)]


def test_better_equal_and_worse():
    found = verdicts({"raters": PEOPLE, "better": moved(0.05), "equal": moved(0.0), "worse": moved(-0.05)})
    assert {name: each.within for name, each in found.items()} == {"better": True, "equal": True, "worse": False}
    assert found["worse"].difference.mean == pytest.approx(sum(moved(-0.05)) / 30 - sum(PEOPLE) / 30)
    assert found["worse"].difference.high < 0 < found["better"].difference.low
    assert found["equal"].difference.low < 0 < found["equal"].difference.high


def test_the_difference_is_paired():
    """Cases differ far more than algorithm and people do: only paired by case can the difference be seen."""
    people = [0.1 + 0.03 * k for k in range(30)]
    slightly_worse = [value - 0.004 - 0.001 * (k % 3) for k, value in enumerate(people)]
    assert verdicts({"raters": people, "team": slightly_worse})["team"].within is False


@dataclass
class Distances:
    """A challenge of which only the measures are asked."""

    measures: tuple = (
        Measure("hd95", "HD95", Direction.LOWER, "mm", minimum=0, price=Price(100.0), infinite=True),
        Measure("frames", "Frames"),
    )
    time: Measure = SECONDS
    subjects: int = 30

    def cluster(self, row):
        """Draw every row by itself, or with every so manieth."""
        return str(CASES.index(row) % self.subjects)


def test_where_lower_is_better():
    submissions = {"raters": PEOPLE, "better": moved(-0.05), "equal": moved(0.0), "worse": moved(0.05)}
    found = verdicts(submissions, Distances(), metric="hd95", target="")
    assert {name: each.within for name, each in found.items()} == {"better": True, "equal": True, "worse": False}


def test_what_does_not_judge_is_not_compared():
    assert verdicts({"raters": PEOPLE, "team": PEOPLE}, Distances(), metric="frames", target="") == {}


def test_identical_to_people():
    found = verdicts({"raters": PEOPLE, "team": PEOPLE})["team"]
    assert found.difference == Interval(0.0, 0.0, 0.0, 30)
    assert found.within is True


def test_cases_without_a_value_are_left_out_and_named():
    people: list = list(PEOPLE)
    people[3] = None
    found = verdicts({"raters": people, "team": moved(0.0)})["team"]
    assert found.left_out == (CASES[3],)
    assert found.difference.cases == 29


def test_one_case_tells_nothing():
    found = verdicts({"raters": PEOPLE[:1], "team": PEOPLE[:1]})["team"]
    assert found.within is None
    assert found.difference.cases == 1


def test_an_infinite_difference_has_no_interval():
    values = [float("inf"), *moved(0.0)[1:]]
    found = verdicts({"raters": PEOPLE, "team": values}, Distances(), metric="hd95", target="")["team"]
    assert found.within is None


def test_other_people_are_not_compared_and_baselines_are():
    roles = {"raters": Role.REFERENCE, "experts": Role.REFERENCE, "simple": Role.BASELINE}
    found = verdicts({"raters": PEOPLE, "experts": PEOPLE, "simple": moved(-0.05)}, roles=roles)
    assert list(found) == ["simple"]


def test_nobody_to_compare_with():
    assert verdicts({"team": PEOPLE}) == {}


def test_csv():
    challenge = get_challenge("kits21")
    cube = cube_of(challenge, table({"raters": PEOPLE, "team": moved(-0.05), "alone": PEOPLE[:1]}))
    found = people_verdicts(challenge, cube)
    rows = {row["submission"]: row for row in csv.DictReader(io.StringIO(people_csv(found)))}
    assert rows["team"]["within"] == "no"
    assert float(rows["team"]["high"]) < 0
    assert rows["alone"]["within"] == rows["alone"]["low"] == ""
    assert rows["alone"]["left_out"].split() == CASES[1:]


def test_intervals_stay_within_what_is_possible():
    numbers = [0.99, 1.0, 0.98, 1.0, 0.6, 1.0, 0.97, 0.99]
    clusters = list("abcdefgh")
    assert interval_of(numbers, clusters=clusters).high > 1
    found = interval_of(numbers, clusters=clusters, bounds=(0.0, 1.0))
    assert 0 <= found.low < found.mean < found.high == 1
    assert interval_of([], clusters=[]).cases == 0
    assert interval_of([1.0, 2.0], clusters=["same", "same"]).vague


def test_too_few_cases_to_tell():
    """An interval with an infinite end on the deciding side is no yes."""
    found = verdicts({"raters": [0.9, 0.8, 0.85], "blind": [0.0, 0.0, 0.0]})["blind"]
    assert found.difference.mean == pytest.approx(-0.85)
    assert found.difference.high == float("inf")
    assert found.within is None


@pytest.mark.parametrize(
    ("low", "high", "higher", "lower"),
    [
        (-0.3, -0.1, False, True),  # wholly below 0
        (-0.3, 0.0, True, True),  # 0 is one of its ends
        (0.0, 0.3, True, True),
        (-0.1, 0.2, True, True),
        (0.1, 0.3, True, False),  # wholly above 0
        (-math.inf, -0.1, False, None),  # only the deciding end has to be there
        (0.1, math.inf, None, False),
        (-math.inf, math.inf, None, None),
        (math.nan, math.nan, None, None),
    ],
)
def test_the_verdict_by_hand(low, high, higher, lower):
    """Worse only where the whole interval is on the worse side; no verdict where the end that decides is unknown."""
    difference = Interval(0.0, low, high, 6)
    assert within_variability(difference, Direction.HIGHER) is higher
    assert within_variability(difference, Direction.LOWER) is lower


def test_differences_are_those_of_cases_that_both_have():
    values, people = np.array([0.5, np.nan, 0.75, 0.25]), np.array([0.25, 0.5, np.nan, 0.75])
    found = compared_with_people(values, people, clusters=["a", "b", "c", "d"])
    assert (found.mean, found.cases) == (-0.125, 2)  # 0.25 and −0.5


def test_a_difference_is_at_most_the_whole_range():
    """Between 0 and 1 two numbers differ by at most 1, however far three cases make an interval reach."""
    values, people = np.array([1.0, 0.2, 0.6, 0.9]), np.array([0.0, 0.1, 0.6, 0.4])
    free = compared_with_people(values, people, clusters=list("abcd"))
    assert free.high > 1
    assert compared_with_people(values, people, clusters=list("abcd"), bounds=(0.0, 1.0)).high == 1


INFINITE = [math.inf, *moved(0.0)[1:]]


@pytest.mark.parametrize("subjects", [30, 7])
def test_report_and_table_give_the_same_verdicts(subjects):
    """One implementation: better, equal, worse, with gaps, and infinitely far on a case, for the team or for people."""
    gaps: list = moved(0.05)
    gaps[2] = gaps[20] = None
    teams = {"better": moved(-0.05), "equal": moved(0.0), "worse": moved(0.05), "gaps": gaps, "lost once": INFINITE}
    challenge = Distances(subjects=subjects)
    for people in (PEOPLE, [math.inf, *PEOPLE[1:]]):
        cube = cube_of(challenge, table(teams | {"raters": people}, metric="hd95", target=""))
        measure = challenge.measures[0]
        matrix = np.array([[math.nan if value is None else value for value in values] for values in teams.values()])
        band = band_of(
            matrix,
            people,
            direction=measure.direction,
            clusters=cube.clusters,
            bounds=(measure.minimum, measure.maximum),
        )
        drawn = [None if math.isnan(within) else bool(within) for within in band.within]
        listed = {verdict.submission: verdict.within for verdict in people_verdicts(challenge, cube)}
        assert dict(zip(teams, drawn, strict=True)) == listed
        if people is PEOPLE:
            expected = {"better": True, "equal": True, "worse": False, "gaps": False, "lost once": None}
            assert listed == expected
        else:
            assert set(listed.values()) == {None}


def test_an_infinite_distance_of_both_is_no_difference():
    """∞ − ∞ is no number, and no verdict; the case is not left out, since both have a value."""
    people = [math.inf, *PEOPLE[1:]]
    found = verdicts({"raters": people, "team": INFINITE}, Distances(), metric="hd95", target="")["team"]
    assert found.within is None
    assert math.isnan(found.difference.mean)
    assert found.difference.cases == 30
    assert found.left_out == ()


def test_people_who_are_nowhere_defined_are_not_compared():
    """A measure that the raters lack everywhere has no verdicts, and the others do."""
    cases = {case: {("dice", "tumor"): 0.5, ("dice", "mass"): 0.5} for case in CASES}
    nothing = {case: {("dice", "tumor"): 0.5, ("dice", "mass"): None} for case in CASES}
    challenge = get_challenge("kits21")
    cube = cube_of(challenge, measurements({"raters": nothing, "team": cases}))
    assert [(verdict.metric, verdict.target) for verdict in people_verdicts(challenge, cube)] == [("dice", "tumor")]
