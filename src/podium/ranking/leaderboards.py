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
    table = table.with_columns((pl.col("metric") + "\0" + pl.col("target")).alias("quantity"))
    quantities = tuple(sorted(tuple(name.split("\0")) for name in table["quantity"].unique().to_list()))
    places = [
        table[column].cast(pl.Enum(names)).to_physical().to_numpy()
        for column, names in (
            ("submission", submissions),
            ("case", rows),
            ("quantity", ["\0".join(names) for names in quantities]),
        )
    ]
    values = np.full((len(submissions), len(rows), len(quantities)), np.nan)
    values[*places] = table["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    failed, measured = np.zeros((2, *values.shape[:2]), bool)
    for mark, chosen in (
        (failed, pl.col("status").is_in([Status.MISSING.value, Status.INVALID.value])),
        (measured, (pl.col("status") == Status.OK.value) & (pl.col("metric") != "seconds")),  # time is no success
    ):
        own = table.select(chosen).to_series().to_numpy()
        mark[places[0][own], places[1][own]] = True
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
