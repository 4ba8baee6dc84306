"""From tidy measurements to a contest and its leaderboard, by the rules of a challenge."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from podium.model import Challenge, Cube, InputError, Leaderboard, Role, Status
from podium.ranking.contest import Contest
from podium.ranking.resampling import units_of

__all__ = ["challenge_contest", "cube_of", "leaderboard_of", "ranked_submissions", "scores_alone"]


def cube_of(challenge: Challenge, measurements: pl.DataFrame) -> Cube:
    """Arrange measurements as submission × row × quantity; what is below the level of a row is left out."""
    table = measurements.filter(pl.col("unit") == "")
    if table.is_empty():
        raise InputError("there are no measurements to rank")
    submissions, rows = (tuple(sorted(table[name].unique().to_list())) for name in ("submission", "case"))
    quantities = tuple(sorted(set(zip(table["metric"].to_list(), table["target"].to_list(), strict=True))))
    places = [{name: index for index, name in enumerate(names)} for names in (submissions, rows, quantities)]  # type: list[dict[object, int]]
    values = np.full((len(submissions), len(rows), len(quantities)), np.nan)
    failed, measured = np.zeros((2, *values.shape[:2]), bool)
    for submission, row, metric, target, value, status in table.select(
        "submission", "case", "metric", "target", "value", "status"
    ).iter_rows():
        place = places[0][submission], places[1][row]
        if value is not None:
            values[*place, places[2][metric, target]] = value
        failed[place] |= status in (Status.MISSING, Status.INVALID)
        measured[place] |= status == Status.OK and metric != "seconds"  # to take time is not to succeed
    clusters = tuple(challenge.cluster(row) for row in rows)
    return Cube(submissions, rows, clusters, quantities, values, failed, failed & ~measured)


def ranked_submissions(
    challenge: Challenge, cube: Cube, roles: Mapping[str, Role]
) -> tuple[list[bool], dict[str, str]]:
    """Return which submissions compete, and for the others why they do not. Decided once, on the full data."""
    remarks = dict(challenge.ineligible(cube))
    for submission, lost in zip(cube.submissions, cube.lost, strict=True):
        role = roles.get(submission, Role.COMPETITOR)
        if role is not Role.COMPETITOR:
            remarks[submission] = role.value
        elif lost.all():
            remarks[submission] = "every case failed"
    return [submission not in remarks for submission in cube.submissions], remarks


def challenge_contest(
    challenge: Challenge, measurements: pl.DataFrame, *, roles: Mapping[str, Role] | None = None
) -> Contest:
    """Return the contest of a run under the challenge's own rules."""
    roles = roles or {}
    cube = cube_of(challenge, measurements)
    ranked, remarks = ranked_submissions(challenge, cube, roles)
    return Contest(
        name=challenge.name,
        edition=challenge.edition,
        submissions=cube.submissions,
        rows=cube.rows,
        units=units_of(cube.clusters),
        ranked=np.array(ranked, bool),
        rule=lambda weights: challenge.score(cube, weights, ranked),
        priced=cube.failed,
        roles=roles,
        remarks=remarks,
        notes=challenge.notes(cube),
    )


def leaderboard_of(
    challenge: Challenge, measurements: pl.DataFrame, *, roles: Mapping[str, Role] | None = None
) -> Leaderboard:
    """Score and rank the submissions of a run, every row with weight one."""
    return challenge_contest(challenge, measurements, roles=roles).leaderboard()


def scores_alone(challenge: Challenge, measurements: pl.DataFrame) -> dict[str, float | None]:
    """Return the scores of a single team, without ranks and scores relative to others, which mean nothing then."""
    contest = challenge_contest(challenge, measurements)
    relative = {column.name for column in contest.published().columns if column.relative}
    values = contest.leaderboard().entries[0].values
    return {name: value for name, value in values.items() if name not in relative}
