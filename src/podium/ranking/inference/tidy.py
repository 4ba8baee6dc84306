"""What is known about a ranking as tables and as a document, for files and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from podium.ranking.rankings import Ranking


__all__ = ["ranking_document", "ranking_tables"]


def ranking_tables(ranking: Ranking) -> dict[str, pl.DataFrame]:
    """Return tidy tables by name: places, place_shares, leads, intervals, pairs, left_out and sensitivity."""
    stability, confidence = ranking.stability, ranking.confidence
    names = stability.submissions
    shares, teams = stability.shares, len(names)
    places = pl.DataFrame(
        {
            "submission": names,
            "place": stability.published.astype(int),
            "best": [rank.best for rank in confidence.ranks],
            "worst": [rank.worst for rank in confidence.ranks],
            "first_share": stability.first,
            "median_place": stability.quantile(0.5),
            "place_2_5": stability.quantile(0.025),
            "place_97_5": stability.quantile(0.975),
        }
    ).sort("place", "submission")
    rows = [(names[i], place + 1, float(shares[i, place])) for i in range(teams) for place in range(teams)]
    tables = {
        "places": places,
        "place_shares": pl.DataFrame(rows, schema=["submission", "place", "share"], orient="row"),
    }
    leads = [
        (
            names[i],
            names[j],
            float(stability.leads[i, j]),
            max(0.0, float(1 - stability.leads[i, j] - stability.leads[j, i])),
        )
        for i in range(teams)
        for j in range(teams)
        if i != j
    ]
    schema: dict[str, Any] = {"first": pl.String, "second": pl.String, "leads": pl.Float64, "tied": pl.Float64}
    tables["leads"] = pl.DataFrame(leads, schema=schema, orient="row")
    intervals = [
        (name, names[i], float(column.estimate[i]), float(column.low[i]), float(column.high[i]))
        for name, column in confidence.columns.items()
        for i in range(teams)
    ]
    schema = {
        "column": pl.String,
        "submission": pl.String,
        "estimate": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
    tables["intervals"] = pl.DataFrame(intervals, schema=schema, orient="row")
    tables["pairs"] = _pairs(ranking)
    schema = {"left_out": pl.String, "winners": pl.String, "changes_winner": pl.Boolean, "tau": pl.Float64}
    left = [(case.name, "; ".join(case.winners), case.changes_winner, case.tau) for case in ranking.left_out]
    tables["left_out"] = pl.DataFrame(left, schema=schema, orient="row")
    tables["sensitivity"] = _sensitivity(ranking)
    for answer in ranking.answers:
        tables |= answer.tables
    return {name: table.with_columns(pl.selectors.float().fill_nan(None)) for name, table in tables.items()}


def _pairs(ranking: Ranking) -> pl.DataFrame:
    names = ranking.confidence.submissions
    rows = []
    for pair in ranking.confidence.pairs:
        for i in range(len(names)):
            for j in range(len(names)):
                if i != j:
                    numbers = (pair.difference, pair.low, pair.high, pair.p, pair.adjusted)
                    values = (float(matrix[i, j]) for matrix in numbers)
                    rows.append((pair.criterion.name, names[i], names[j], *values, bool(pair.better[i, j])))
    schema = {"criterion": pl.String, "first": pl.String, "second": pl.String}
    schema |= dict.fromkeys(("difference", "low", "high", "p", "p_holm"), pl.Float64) | {"better": pl.Boolean}  # type: ignore[arg-type]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _sensitivity(ranking: Ranking) -> pl.DataFrame:
    sensitivity = ranking.sensitivity
    rows = [("published", True, 1.0, "; ".join(sensitivity.winners), *sensitivity.published.tolist())]
    rows += [
        (other.name, other.keeps_winner, other.tau, "; ".join(other.winners), *other.places.tolist())
        for other in sensitivity.alternatives
    ]
    columns = ["rule", "keeps_winner", "tau", "winners", *(f"place of {name}" for name in sensitivity.submissions)]
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)


def ranking_document(ranking: Ranking) -> dict[str, Any]:
    """Return everything as plain lists and numbers, for JSON."""
    stability, confidence, sensitivity = ranking.stability, ranking.confidence, ranking.sensitivity
    known = stability.tau[~np.isnan(stability.tau)]
    tables = ranking.tables
    return {
        "challenge": ranking.leaderboard.challenge,
        "edition": ranking.leaderboard.edition,
        "stability": {
            "resamples": len(stability.places),
            "seed": stability.seed,
            "tau": {
                "mean": float(known.mean()) if known.size else None,
                "median": float(np.median(known)) if known.size else None,
                "undefined": int(np.isnan(stability.tau).sum()),
                "values": stability.tau.tolist(),
            },
            "place_shares": {
                name: shares.tolist() for name, shares in zip(stability.submissions, stability.shares, strict=True)
            },
            "leads": tables["leads"].to_dicts(),
            "left_out": tables["left_out"].to_dicts(),
        },
        "places": tables["places"].to_dicts(),
        "confidence": {
            "level": confidence.level,
            "method": confidence.method,
            "intervals": tables["intervals"].to_dicts(),
            "pairs": tables["pairs"].to_dicts(),
            "warnings": confidence.warnings,
        },
        "sensitivity": {
            "alternatives": len(sensitivity.alternatives),
            "keep_winner": sensitivity.kept,
            "rules": tables["sensitivity"].to_dicts(),
            "impossible": dict(sensitivity.impossible),
        },
        **{answer.name: answer.document for answer in ranking.answers},
    }
