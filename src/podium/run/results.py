"""What a run folder tells: leaderboards, metrics of each submission and failures, as text for files and programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from podium import __version__
from podium.io import Content
from podium.model import InputError, Leaderboard, Measure, OrganisersKeys
from podium.ranking import Ranking
from podium.run.folder import RunFolder

__all__ = [
    "leaderboard_document",
    "leaderboard_files",
    "metrics_document",
    "metrics_files",
    "organisers_document",
    "ranking_document_of",
    "ranking_files",
    "write_ranking",
]

_SCHEMA = 2


def metrics_document(table: pl.DataFrame) -> dict[str, Any]:
    """Return a submission's results in the shape that grand-challenge.org reads: aggregates, and results per case."""
    rows = table.filter(pl.col("unit") == "")
    results: dict[str, dict[str, Any]] = {}
    for case, target, metric, value, status, reason in rows.select(
        "case", "target", "metric", "value", "status", "reason"
    ).iter_rows():
        entry = results.setdefault(case, {"case": case})
        entry[f"{metric}_{target}" if target else metric] = value
        if status != "ok" and reason:
            entry["status"], entry["reason"] = status, reason
    keys = sorted({key for entry in results.values() for key in entry} - {"case", "status", "reason"})
    aggregates = {
        key: _aggregate([entry[key] for entry in results.values() if entry.get(key) is not None]) for key in keys
    }
    return {"aggregates": aggregates, "results": list(results.values())}


def _aggregate(numbers: Sequence[float]) -> dict[str, float | None]:
    mean = deviation = None
    if numbers and all(map(math.isfinite, numbers)):
        # Over a power of two, which changes no digit, so that neither sums nor squares overflow.
        _, exponent = math.frexp(max(map(abs, numbers)))
        scaled = [math.ldexp(number, -exponent) for number in numbers]
        middle = math.fsum(scaled) / len(scaled)
        spread = math.sqrt(math.fsum((number - middle) ** 2 for number in scaled) / len(scaled))
        mean, deviation = math.ldexp(middle, exponent), math.ldexp(spread, exponent)
    return {
        "mean": mean,
        "std": deviation,
        "min": min(numbers, default=None),
        "max": max(numbers, default=None),
        "count": len(numbers),
    }


def organisers_document(document: Mapping[str, Any], keys: OrganisersKeys) -> dict[str, Any]:
    """Return metrics with the organisers' own keys beside Podium's; what has no number has no key of theirs either."""
    aggregates, scores = document["aggregates"], document["aggregates"].get("scores", {})
    means = {key: aggregate["mean"] for key, aggregate in aggregates.items() if key != "scores"} | scores
    own = {theirs: means[key] for key, theirs in keys.aggregates.items() if means.get(key) is not None}
    results = [
        entry
        | {keys.case: entry["case"]}
        | {theirs: entry[key] for key, theirs in keys.results.items() if entry.get(key) is not None}
        for entry in document["results"]
    ]
    return {**document, "aggregates": aggregates | own, "results": results}


def metrics_files(table: pl.DataFrame, names: Sequence[str]) -> dict[str, Content]:
    """Return metrics/<submission>.json of every submission."""
    parts = {str(name[0]): own for name, own in table.partition_by("submission", as_dict=True).items()}
    return {
        f"metrics/{_file_name(name, index)}.json": metrics_document(parts.get(name, table.clear()))
        for index, name in enumerate(sorted(names))
    }


def leaderboard_files(board: Leaderboard, made_with: Mapping[str, Any]) -> dict[str, Content]:
    """Return leaderboard.csv, .json and .md; the second also says which options made it."""
    names = [column.name for column in board.columns]
    lines = [
        [entry.place or "", entry.submission, entry.role, *(_cell(entry.values[name]) for name in names), entry.remark]
        for entry in board.entries
    ]
    return {
        "leaderboard.csv": (("place", "submission", "role", *names, "remark"), lines),
        "leaderboard.json": leaderboard_document(board, made_with),
        "leaderboard.md": _markdown(board),
    }


def leaderboard_document(board: Leaderboard, made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return a leaderboard as plain lists and numbers, for JSON, with the options that made it."""
    return {
        "schema": _SCHEMA,
        "podium": __version__,
        "challenge": board.challenge,
        "edition": board.edition,
        "options": dict(made_with),
        "columns": [_column(column) for column in board.columns],
        "entries": [
            {
                "submission": entry.submission,
                "role": entry.role,
                "place": entry.place,
                "remark": entry.remark,
                "values": dict(entry.values),
            }
            for entry in board.entries
        ],
        "notes": board.notes,
    }


def ranking_document_of(ranking: Ranking) -> dict[str, Any]:
    """Return a ranking for JSON: the leaderboard, and where cases were drawn anew, how sure it is."""
    board = leaderboard_document(ranking.leaderboard, ranking.made_with)
    if ranking.untold:
        return board | {answer.name: answer.document for answer in ranking.answers}
    return ranking.document | {"leaderboard": board}


def ranking_files(ranking: Ranking) -> dict[str, Content]:
    """Return what tells how sure a ranking is: ranking.json, and tables."""
    if ranking.untold:
        return {f"{name}.csv": table for answer in ranking.answers for name, table in answer.tables.items()}
    tables: dict[str, Content] = {f"{name}.csv": table for name, table in ranking.tables.items()}
    return tables | {"ranking.json": ranking_document_of(ranking)}


def write_ranking(ranking: Ranking, published: Mapping[str, Any], out: Path | None, run: Path | None) -> Path | None:
    """Write a ranking, and return where to; the board that was published with a run is never overwritten.

    Parameters
    ----------
    ranking
        With the options that made it.
    published
        The options that made the run's own board.
    out
        Where to; by default the run folder, or under other options a folder of its own in it.
    run
        The run folder, if the ranking comes from one.
    """
    others = {name: value for name, value in ranking.made_with.items() if published.get(name) != value}
    if out is None and run is not None and others:
        out = run / "rankings" / _folder_name(others)
    out = out or run
    if out is None:
        return None
    own = run is not None and out.resolve() == run.resolve() and not others
    if not own and (out / "run.json").exists():
        raise InputError("a run is here, whose own board stays", path=out, advice="Give another folder as --out")
    files = ranking_files(ranking)
    if not own:
        files |= leaderboard_files(ranking.leaderboard, ranking.made_with)
    out.mkdir(parents=True, exist_ok=True)
    if run is not None and out.is_relative_to(run):  # listed with the run, so that they go when it is made anew
        inside = out.relative_to(run)
        RunFolder(run).add({(inside / name).as_posix(): content for name, content in files.items()})
    else:
        RunFolder(out, mark="leaderboard.json").add(files)
    return out


def _folder_name(options: Mapping[str, Any]) -> str:
    """Return a folder name for options: in words as far as it goes, and a digest where that is not everything."""
    words = "-".join(f"{name}={value}" for name, value in sorted(options.items()) if value is not None)
    kept = "".join(c if c.isalnum() or c in "-_.=" else "_" for c in words)[:100]
    return kept if kept == words else f"{kept}~{sha256(words.encode()).hexdigest()[:8]}"


def _column(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "title": measure.title,
        "unit": measure.unit,
        "direction": measure.direction.value,
        "digits": measure.digits,
    }


def _markdown(board: Leaderboard) -> str:
    def safe(text: str) -> str:
        return "".join("\\" + c if c in "|\\`*_<>[]#" else c for c in " ".join(text.split()))

    headings = ["#", "submission", *(safe(column.label) for column in board.columns), "remark"]
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for entry in board.entries:
        cells = [str(entry.place or "–"), safe(entry.submission)]
        cells += [column.shown(entry.values[column.name]) for column in board.columns]
        lines.append("| " + " | ".join([*cells, safe(entry.remark)]) + " |")
    return "\n".join([*lines, "", *(f"{safe(note)}  " for note in board.notes)]).rstrip() + "\n"


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)


def _file_name(name: str, index: int) -> str:
    """Return a file name for a submission, whatever it is called: no file system takes more than 255 bytes."""
    plain = "".join(c if c.isalnum() or c in "-_. ()+" else "_" for c in name)
    kept = plain.encode()[:100].decode(errors="ignore").strip(". ")
    return kept if kept == name else f"{kept or 'submission'}~{index}"
