"""Are algorithms as good as people? Paired differences by hand, and what flatters an algorithm."""

import csv
import io
from dataclasses import dataclass

import pytest
from boards import measurements

from podium.challenges import get_challenge
from podium.model import Direction, Quantity, Role
from podium.raters import Interval, compared_with_people, interval_of, people_csv

CASES = [f"case_{k:05d}" for k in range(30)]


def table(submissions, *, metric="dice", target="tumor"):
    return measurements(
        {
            name: {case: {(metric, target): value} for case, value in zip(CASES, values, strict=False)}
            for name, values in submissions.items()
        }
    )


def verdicts(submissions, challenge=None, roles=None, **more):
    found = compared_with_people(challenge or get_challenge("kits21"), table(submissions, **more), roles=roles)
    return {each.submission: each for each in found}


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
    """A challenge of which only the quantities are asked."""

    quantities: tuple = (
        Quantity("hd95", "HD95", "mm", Direction.LOWER, price="much"),
        Quantity("frames", "Frames", "", Direction.NONE, price="none"),
    )

    def cluster(self, row):
        """Draw every row by itself."""
        return row


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
    found = compared_with_people(challenge, table({"raters": PEOPLE, "team": moved(-0.05), "alone": PEOPLE[:1]}))
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
