"""Leaderboards from numbers written down in a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from podium.challenges import get_challenge
from podium.model import Leaderboard
from podium.ranking import leaderboard_of

COLUMNS = ("submission", "case", "unit", "target", "metric", "value", "status", "reason")


def measurements(
    values: Mapping[str, Mapping[str, Mapping[tuple[str, str], float | None]]], *, status: str = "ok", reason: str = ""
) -> pl.DataFrame:
    """Return a table from team → case → (metric, target) → value."""
    rows = [
        (team, case, "", target, metric, value, status, reason)
        for team, cases in values.items()
        for case, quantities in cases.items()
        for (metric, target), value in quantities.items()
    ]
    schema = {name: pl.Float64 if name == "value" else pl.String for name in COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def board_of(
    name: str, table: pl.DataFrame, *, edition: str = "document", roles: Any = None, **options: Any
) -> Leaderboard:
    """Return the leaderboard of a challenge from measurements."""
    return leaderboard_of(get_challenge(name, edition=edition, **options), table, roles=roles)
