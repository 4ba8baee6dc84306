"""From tidy measurements to a leaderboard, by the rules of a challenge."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import polars as pl

from podium.model import Challenge, Cube, Entry, Heading, InputError, Leaderboard, Role, Status
from podium.ranking.parts import as_ones

__all__ = ["cube_of", "leaderboard_of", "ranked_submissions", "scores_alone"]


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


def leaderboard_of(
    challenge: Challenge, measurements: pl.DataFrame, *, roles: Mapping[str, Role] | None = None
) -> Leaderboard:
    """Score and rank the submissions of a run, every row with weight one."""
    roles = roles or {}
    cube = cube_of(challenge, measurements)
    ranked, remarks = ranked_submissions(challenge, cube, roles)
    scores = challenge.score(cube, as_ones(len(cube.rows)), ranked)
    entries = []
    for index, submission in enumerate(cube.submissions):
        place = scores.places[0, index]
        values = {column.name: _number(column.values[0, index]) for column in scores.columns}
        entries.append(
            Entry(
                submission=submission,
                role=roles.get(submission, Role.COMPETITOR).value,
                place=int(place) if ranked[index] and not np.isnan(place) else None,
                remark=remarks.get(submission, "" if not np.isnan(place) else "no score"),
                values=values,
            )
        )
    # Those without a place follow the ranked: other competitors, then baselines and references, by name.
    order = [role.value for role in Role]
    entries.sort(key=lambda e: (e.place is None, e.place or 0, order.index(e.role), e.submission))
    headings = tuple(
        Heading(column.name, column.title, column.unit, column.direction, column.digits) for column in scores.columns
    )
    return Leaderboard(challenge.name, challenge.edition, headings, tuple(entries), challenge.notes(cube))


def scores_alone(challenge: Challenge, measurements: pl.DataFrame) -> dict[str, float | None]:
    """Return the scores of a single team, without ranks and scores relative to others, which mean nothing then."""
    board = leaderboard_of(challenge, measurements)
    relative = re.compile(r"_rank$|^(rank_sum|average_rank|time|total)$")
    return {name: value for name, value in board.entries[0].values.items() if not relative.search(name)}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
