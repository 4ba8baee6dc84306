"""Laws that every challenge keeps, in every edition; each raises an AssertionError that says what broke."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np

from podium.model import Cube, Direction, Leaderboard, Role
from podium.ranking import challenge_rule, cube_of
from podium.testing.material import Material

__all__ = [
    "assert_failing_never_pays",
    "assert_order_does_not_matter",
    "assert_outsiders_change_nothing",
    "assert_zero_weights_leave_out",
    "ranked_score",
]

_SAME = 1e-9


def ranked_score(board: Leaderboard, submission: str) -> float:
    """Return the value in the first column, the larger the better; what is not ranked has the worst of all."""
    entry = next(entry for entry in board.entries if entry.submission == submission)
    value = entry.values[board.columns[0].name]
    if entry.place is None or value is None:
        return -math.inf
    return value if board.columns[0].direction is Direction.HIGHER else -value


def _place(board: Leaderboard, submission: str) -> float:
    place = board.places[submission]
    return math.inf if place is None else place


def _board(material: Material, teams: dict[str, list[Any]], **roles: Role) -> Leaderboard:
    cube = cube_of(material.challenge, material.table(teams))
    return challenge_rule(material.challenge, cube, roles=material.roles | roles).leaderboard()


def assert_failing_never_pays(
    material: Material, *, seed: int, trials: int = 20, score: bool = True, distinct: bool = False
) -> None:
    """Assert that a team that fails any of its rows, or leaves out its times, is not placed or scored better.

    Ranks by significance keep this law where no two values are equal and p-values are not adjusted, or by Bonferroni.
    Equal values tell a signed-rank test less, and a failure may part them; Holm and Benjamini–Hochberg let what is told
    of one pair depend on all others. There a failure may turn a rival's p-value from just below alpha to just above.

    Parameters
    ----------
    material
        Of the challenge.
    seed, trials
        Which random tables, and how many.
    score
        Whether the score must not improve either; where scores have no bounds, only the place is held.
    distinct
        Whether no two values of the tables are equal, for ranks by significance.
    """
    generator = random.Random(seed)
    time = material.challenge.time.name
    for trial in range(trials):
        teams = material.drawn(generator, distinct=distinct)
        chosen = generator.choice(sorted(teams))
        count = generator.choice([1, 1, 2, max(1, len(material.rows) // 2), len(material.rows)])
        rows = generator.sample(material.rows, min(count, len(material.rows)))
        changes = {"fails": material.spoiled(teams[chosen], rows)}
        if material.targets:
            part = generator.choice(material.targets)
            changes[f"fails in {part} alone"] = material.spoiled(teams[chosen], rows, target=part)
        changes["leaves out its times"] = [value for value in teams[chosen] if value.metric != time]
        dropped = generator.choice(material.rows)
        changes["leaves out one time"] = [
            value for value in teams[chosen] if value.metric != time or value.case != dropped
        ]
        before = _board(material, teams)
        for what, values in changes.items():
            after = _board(material, {**teams, chosen: values})
            event = f"trial {trial}: {chosen} {what} ({', '.join(rows[:5])})"
            assert _place(after, chosen) >= _place(before, chosen), (
                f"{event} and rises from place {before.places[chosen]} to {after.places[chosen]}"
            )
            if score:
                gained = ranked_score(after, chosen) - ranked_score(before, chosen)
                assert not gained > _SAME, f"{event} and gains {gained:g} in {before.columns[0].title}"


def assert_order_does_not_matter(material: Material, *, seed: int) -> None:
    """Assert that the names of teams and the order of lines in a table change nobody's place or values."""
    generator = random.Random(seed)
    teams = material.drawn(generator)
    board = _board(material, teams)
    names = dict(
        zip(sorted(teams), generator.sample([f"another {n}" for n in range(len(teams))], len(teams)), strict=True)
    )
    other = {names[team]: generator.sample(values, len(values)) for team, values in sorted(teams.items(), reverse=True)}
    again = {entry.submission: entry for entry in _board(material, other).entries}
    for entry in board.entries:
        own = again[names.get(entry.submission, entry.submission)]
        assert (own.place, dict(own.values)) == (entry.place, dict(entry.values)), (
            f"{entry.submission} has another place or other values where teams are called otherwise"
        )


def assert_outsiders_change_nothing(material: Material, *, seed: int, trials: int = 4) -> None:
    """Assert that whoever is not ranked, as a baseline or for having failed everywhere, changes nobody else's line."""
    generator = random.Random(seed)
    for _ in range(trials):
        teams = material.drawn(generator)
        guest = material.drawn(generator, teams=1).popitem()[1]
        before = _board(material, teams)
        boards = {
            "a baseline": _board(material, {**teams, "guest": guest}, guest=Role.BASELINE),
            "a failure": _board(material, {**teams, "guest": material.spoiled(guest, material.rows)}),
        }
        for what, board in boards.items():
            after = {entry.submission: (entry.place, dict(entry.values)) for entry in board.entries}
            assert after.pop("guest")[0] is None, f"{what} has a place"
            for entry in before.entries:
                assert after[entry.submission] == (entry.place, dict(entry.values)), (
                    f"{entry.submission} has another place or other values beside {what}"
                )


def assert_zero_weights_leave_out(material: Material, *, seed: int) -> None:
    """Assert that rows of weight zero count like rows that are not there, everything else held as on the full data."""
    generator = random.Random(seed)
    first, last, *movable = material.rows
    # Whose timing is complete, and which rows are the fastest and the slowest, is decided on the full data: these stay.
    paces = {first: 0.01, last: 100.0}
    time = material.challenge.time.name
    teams = {
        name: [replace(v, value=(v.value or 0.0) * paces.get(v.case, 1.0)) if v.metric == time else v for v in values]
        for name, values in material.drawn(generator).items()
    }
    cube = cube_of(material.challenge, material.table(teams))
    rule = challenge_rule(material.challenge, cube, roles=material.roles)
    ranked = rule.ranked.tolist()
    left_out = [cube.rows.index(row) for row in generator.sample(movable, max(1, len(movable) // 3))]
    weights = np.ones((1, len(cube.rows)))
    weights[0, left_out] = 0.0
    kept = np.flatnonzero(weights[0])
    weighted = material.challenge.score(cube, weights, ranked)
    fewer = material.challenge.score(_without(cube, kept), np.ones((1, len(kept))), ranked)
    assert np.array_equal(weighted.places, fewer.places, equal_nan=True), "places differ"
    for one, other in zip(weighted.columns, fewer.columns, strict=True):
        assert np.allclose(one.values, other.values, rtol=_SAME, atol=_SAME, equal_nan=True), f"{one.name} differs"


def _without(cube: Cube, kept: np.typing.NDArray[np.intp]) -> Cube:
    return replace(
        cube,
        rows=tuple(cube.rows[row] for row in kept),
        clusters=tuple(cube.clusters[row] for row in kept),
        values=cube.values[:, kept],
        failed=cube.failed[:, kept],
        lost=cube.lost[:, kept],
        seconds=cube.seconds[:, kept],
    )
