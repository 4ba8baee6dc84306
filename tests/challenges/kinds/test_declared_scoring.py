"""Ranking rules of declared challenges: places computed by hand."""

import numpy as np
import pytest

from podium.challenges.kinds import LandmarkChallenge
from podium.model import Cube, Role
from podium.ranking import challenge_rule

# Errors of two landmarks in six cases; by both together, one is best, two is second.
ERRORS = {
    "one": ([1, 1, 1, 1, 1, 9], [2, 2, 2, 2, 2, 2]),
    "two": ([2, 2, 2, 2, 2, 2], [1, 1, 1, 1, 1, 1]),
    "three": ([5, 5, 5, 5, 5, 5], [5, 5, 5, 5, 5, 5]),
}


def board(errors=ERRORS, *, seconds=None, roles=None, measure=None, **tables):
    challenge = LandmarkChallenge.made(
        name="points",
        files={"truth": "{case}.csv", "prediction": "{case}.csv"},
        points={"names": ["a", "b"]},
        quantities=[{"metric": "landmark_error", "name": "e", "failed": 100, **(measure or {})}],
        **tables,
    )
    names = tuple(sorted(errors))
    values = np.array([np.array(errors[name], float).T for name in names])
    shape = values.shape[:2]
    times = (
        np.full(shape, np.nan) if seconds is None else np.array([[seconds[name]] * shape[1] for name in names], float)
    )
    rows = tuple(f"c{number}" for number in range(shape[1]))
    keys = (("e", "a"), ("e", "b"))
    cube = Cube(names, rows, rows, keys, values, np.zeros(shape, bool), np.zeros(shape, bool), times)
    return challenge_rule(challenge, cube, roles=roles or {}).leaderboard()


def value(board, submission, column):
    return next(entry for entry in board.entries if entry.submission == submission).values[column]


def test_mean_ranks():
    result = board()  # means of a: 14/6, 2, 5; of b: 2, 1, 5
    assert result.places == {"two": 1, "one": 2, "three": 3}
    assert value(result, "one", "e_a") == pytest.approx(14 / 6)
    assert value(result, "one", "average_rank") == 2.0


def test_weights_of_targets_decide():
    assert board(measure={"weight": {"a": 1, "b": 0}}, ranking={"statistic": "median"}).places["one"] == 1
    assert board(ranking={"statistic": "median"}).places == {"one": 1, "two": 1, "three": 3}


def test_ranks_in_every_case():
    result = board(ranking={"scheme": "rank then mean"})  # one: a 1,1,1,1,1,3; b 2 … ; two: a 2, … 1; b 1
    assert value(result, "one", "e_a") == pytest.approx(8 / 6)
    assert value(result, "two", "e_a") == pytest.approx(11 / 6)
    assert result.places == {"one": 1, "two": 1, "three": 3}


def test_ties_are_parted_by_a_column_then_by_time():
    rules = {"scheme": "rank then mean", "ties": ["e_b"]}
    assert board(ranking=rules).places == {"two": 1, "one": 2, "three": 3}
    same = {"one": ERRORS["two"], "two": ERRORS["two"], "three": ERRORS["three"]}
    seconds = {"one": 1.0, "two": 2.0, "three": 3.0}
    assert board(same, seconds=seconds).places == {"one": 1, "two": 1, "three": 3}
    assert board(same, seconds=seconds, ranking={"ties": ["e_b", "seconds"]}).places == {"one": 1, "two": 2, "three": 3}


def test_a_weighted_mean():
    result = board(ranking={"scheme": "weighted mean"}, measure={"weight": {"a": 3, "b": 1}})
    assert value(result, "one", "score") == pytest.approx((3 * 14 / 6 + 2) / 4)
    assert result.places == {"two": 1, "one": 2, "three": 3}


def test_only_significant_differences_part_teams():
    result = board(ranking={"test": {"alpha": 0.05}})
    # In a, two is not significantly better than one, who has the better of five cases; both are better than three.
    assert [value(result, name, "e_a_rank") for name in ("one", "two", "three")] == [1.0, 1.0, 2.0]
    assert [value(result, name, "e_b_rank") for name in ("one", "two", "three")] == [2.0, 1.0, 3.0]
    assert result.places == {"two": 1, "one": 2, "three": 3}
    assert any("Wilcoxon" in note for note in result.notes)


def test_mean_ranks_are_parted_by_tests_too():
    result = board(ranking={"scheme": "rank then mean", "test": {"alpha": 0.05}})
    assert [value(result, name, "e_a_rank") for name in ("one", "two", "three")] == [1.0, 1.0, 2.0]
    assert result.places == {"two": 1, "one": 2, "three": 3}


def test_wins_are_counted():
    result = board(ranking={"scheme": "test then rank"})
    assert [value(result, name, "e_b") for name in ("one", "two", "three")] == [1.0, 2.0, 0.0]


def test_time_counts_and_limits():
    seconds = {"one": 1.0, "two": 30.0, "three": 2.0}
    result = board(seconds=seconds, timing={"weight": 2})
    assert value(result, "two", "average_rank") == pytest.approx((1 + 1 + 2 * 3) / 4)
    result = board(seconds=seconds, timing={"limit_seconds": 10})
    assert result.places["two"] is None
    assert "takes 30 s per case, at most 10 s is allowed" in [entry.remark for entry in result.entries]
    assert all(place is None for place in board(timing={"limit_seconds": 10}).places.values())


def test_who_is_eligible():
    limited = board(eligibility={"at_most": {"e_a": 4}})
    assert limited.places["three"] is None
    assert "E a" in limited.entries[-1].remark or "at most 4" in limited.entries[-1].remark
    roles = {"two": Role.BASELINE}
    any_of = board(roles=roles, eligibility={"better_than": "two", "better_in": "any"})
    assert any_of.places == {"one": None, "three": None, "two": None}
    assert board(roles=roles, eligibility={"better_than": "three"}).places["one"] == 1
    least = {"weight": {"a": 1, "b": 0}}  # two is better than one in b, which does not count
    roles, demand = {"one": Role.BASELINE}, {"better_than": "one", "better_in": "any"}
    assert board({**ERRORS, "two": ([9] * 6, [1] * 6)}, roles=roles, eligibility=demand).places["two"] == 1
    assert (
        board({**ERRORS, "two": ([9] * 6, [1] * 6)}, roles=roles, eligibility=demand, measure=least).places["two"]
        is None
    )
    result = board(eligibility={"better_than": "nobody"})
    assert "nobody was not measured, so nobody was asked to outperform it." in result.notes


def test_a_baseline_without_a_value_is_outperformed_in_the_others():
    nothing = [np.nan] * 6
    roles, demand = {"base": Role.BASELINE}, {"better_than": "base", "better_in": "all"}
    for base, places in (
        ((nothing, [1.5] * 6), {"two": 1, "one": None, "three": None, "base": None}),
        ((nothing, nothing), {"two": 1, "one": 2, "three": 3, "base": None}),
    ):
        result = board({**ERRORS, "base": base}, roles=roles, eligibility=demand, measure={"failed": "not ranked"})
        assert result.places == places
        assert any(note.startswith("base has no value of Landmark error a") for note in result.notes), result.notes


def test_what_does_not_decide_is_shown():
    more = {"metric": "landmark_error", "name": "shown", "of": ["b"], "decides": False}
    challenge = LandmarkChallenge.made(
        name="points",
        files={"truth": "{case}.csv", "prediction": "{case}.csv"},
        points={"names": ["a", "b"]},
        quantities=[{"metric": "landmark_error", "name": "e", "of": ["a"], "failed": 100}, more],
    )
    values = np.array([[[1.0, 3.0], [2.0, 5.0]]])
    keys = (("e", "a"), ("shown", "b"))
    nothing = np.zeros((1, 2), bool)
    cube = Cube(("one",), ("c0", "c1"), ("c0", "c1"), keys, values, nothing, nothing, np.full((1, 2), np.nan))
    result = challenge_rule(challenge, cube, roles={}).leaderboard()
    assert dict(result.entries[0].values) == {"e_a": 1.5, "shown_b": 4.0}
    assert challenge.terms == ("e_a",)
