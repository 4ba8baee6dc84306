"""Leaderboards from numbers written down in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from podium.challenges import get_challenge
from podium.model import Case, Challenge, Leaderboard, Value
from podium.ranking import leaderboard_of
from podium.run import Contract
from podium.run.measuring import SCHEMA, tabulated


def measurements(
    values: Mapping[str, Mapping[str, Mapping[tuple[str, str], float | None]]], *, status: str = "ok", reason: str = ""
) -> pl.DataFrame:
    """Return a table from team → case → (metric, target) → value."""
    rows = [
        (team, case, "", target, metric, value, None, status, reason)
        for team, cases in values.items()
        for case, numbers in cases.items()
        for (metric, target), value in numbers.items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def table_of_values(teams: Mapping[str, Iterable[Value]]) -> pl.DataFrame:
    """Return a table from team → values."""
    return tabulated([(team, value) for team, values in teams.items() for value in values])


def board_of(
    name: str, table: pl.DataFrame, *, edition: str = "document", roles: Any = None, **options: Any
) -> Leaderboard:
    """Return the leaderboard of a challenge from measurements."""
    return leaderboard_of(get_challenge(name, edition=edition, **options), table, roles=roles)


def column(board: Leaderboard, name: str) -> dict[str, float | None]:
    """Return a column by submission."""
    return {entry.submission: entry.values[name] for entry in board.entries}


def remarks(board: Leaderboard) -> dict[str, str]:
    """Return what is remarked of each submission."""
    return {entry.submission: entry.remark for entry in board.entries}


def recorded(challenge: Challenge, case: Case, truth: Any, prediction: Path) -> list[Value]:
    """Measure a prediction and charge the prices, as a run does."""
    return Contract(challenge).held(challenge.rows(case, truth), truth, challenge.measure(case, truth, prediction))
