"""From tidy measurements to a cube, and from a cube to the rule of a challenge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from podium.model import LOADING, Challenge, Cube, InputError, Leaderboard, Role, Status
from podium.model.errors import shortened
from podium.ranking.inference.resampling import units_of
from podium.ranking.rule import Rule

__all__ = ["challenge_rule", "cube_of", "leaderboard_of", "ranked_submissions", "scores_alone"]


def cube_of(challenge: Challenge, measurements: pl.DataFrame) -> Cube:
    """Arrange measurements as submission × row × measure; what is below the level of a row is kept as it is."""
    table, details = (measurements.filter(which) for which in (pl.col("unit") == "", pl.col("unit") != ""))
    if table.is_empty():
        raise InputError("there are no measurements to rank")
    submissions, rows = (tuple(sorted(table[name].unique().to_list())) for name in ("submission", "case"))
    names = {"submission": submissions, "case": rows}
    timed, loaded = pl.col("metric") == challenge.time.name, pl.col("metric") == LOADING.name
    times, table = table.filter(timed), table.filter(~timed)
    seconds = np.full((len(submissions), len(rows)), np.nan)
    seconds[*(_places(times, column, known) for column, known in names.items())] = _numbers(times)
    loads, table = table.filter(loaded), table.filter(~loaded)
    loading = np.full(len(submissions), np.nan)
    loading[_places(loads, "submission", submissions)] = _numbers(loads)
    table = table.with_columns((pl.col("metric") + "\0" + pl.col("target")).alias("key"))
    keys = tuple(sorted(tuple(name.split("\0")) for name in table["key"].unique().to_list()))
    names["key"] = tuple("\0".join(key) for key in keys)
    places = [_places(table, column, known) for column, known in names.items()]
    values = np.full((len(submissions), len(rows), len(keys)), np.nan)
    values[*places] = _numbers(table)
    failed, measured = np.zeros((2, *values.shape[:2]), bool)
    for mark, statuses in ((failed, [Status.MISSING, Status.INVALID]), (measured, [Status.OK])):
        own = table["status"].is_in([status.value for status in statuses]).to_numpy()
        mark[places[0][own], places[1][own]] = True
    clusters = tuple(challenge.cluster(row) for row in rows)
    return Cube(submissions, rows, clusters, keys, values, failed, failed & ~measured, seconds, loading, details)


def _places(table: pl.DataFrame, column: str, names: Sequence[str]) -> np.typing.NDArray[np.integer]:
    return table[column].cast(pl.Enum(names)).to_physical().to_numpy()


def _numbers(table: pl.DataFrame) -> np.typing.NDArray[np.float64]:
    return table["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()


def ranked_submissions(
    challenge: Challenge, cube: Cube, roles: Mapping[str, Role]
) -> tuple[list[bool], dict[str, str]]:
    """Return which submissions compete, and for the others why they do not. Decided once, on the full data."""
    remarks = _incomplete(challenge, cube) | dict(challenge.ineligible(cube))
    for submission, lost in zip(cube.submissions, cube.lost, strict=True):
        role = roles.get(submission, Role.COMPETITOR)
        if role is not Role.COMPETITOR:
            remarks[submission] = role.value
        elif lost.all():
            remarks[submission] = "every case failed"
    return [submission not in remarks for submission in cube.submissions], remarks


def _incomplete(challenge: Challenge, cube: Cube) -> dict[str, str]:
    """Name those who lack a number that no price can stand for."""
    decisive = [m for m in challenge.decisive if m.price is not None and not m.price.ranked and cube.has(*m.key)]
    if not decisive:
        return {}
    lacking = cube.failed | np.any([np.isnan(cube.of(*measure.key)) for measure in decisive], axis=0)
    reasons = {}
    for submission, rows in zip(cube.submissions, lacking, strict=True):
        if rows.any():
            named = shortened([cube.rows[row] for row in np.flatnonzero(rows)])
            count = f"{int(rows.sum())} of {len(cube.rows)} {challenge.row_words[1]}"
            reasons[submission] = f"incomplete: no valid number for {count}: {named}"
    return reasons


def challenge_rule(challenge: Challenge, cube: Cube, *, roles: Mapping[str, Role] | None = None) -> Rule:
    """Return the challenge's own rule over a cube."""
    roles = roles or {}
    ranked, remarks = ranked_submissions(challenge, cube, roles)
    return Rule(
        name=challenge.name,
        edition=challenge.edition,
        submissions=cube.submissions,
        rows=cube.rows,
        units=units_of(cube.clusters, [challenge.stratum(row) for row in cube.rows]),
        ranked=np.array(ranked, bool),
        score=lambda weights: challenge.score(cube, weights, ranked),
        priced=cube.failed,
        roles=roles,
        remarks=remarks,
        notes=challenge.notes(cube),
        row_words=challenge.row_words,
        cluster_words=challenge.cluster_words,
    )


def leaderboard_of(
    challenge: Challenge, measurements: pl.DataFrame, *, roles: Mapping[str, Role] | None = None
) -> Leaderboard:
    """Score and rank the submissions of a table of measurements, every row with weight one."""
    return challenge_rule(challenge, cube_of(challenge, measurements), roles=roles).leaderboard()


def scores_alone(
    challenge: Challenge, measurements: pl.DataFrame, *, roles: Mapping[str, Role] | None = None
) -> dict[str, float | None]:
    """Return the scores of the only competitor, without ranks and scores relative to others, which mean nothing then.

    Baselines and references may be among the measurements, as `roles` say.
    """
    rule = challenge_rule(challenge, cube_of(challenge, measurements), roles=roles)
    relative = {column.name for column in rule.published.columns if column.relative}
    values = rule.leaderboard().entries[0].values  # competitors come first, with a place or without
    return {name: value for name, value in values.items() if name not in relative}
