"""The run folder: tidy measurements and where they come from. Everything else is rebuilt from it."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

from podium import __version__
from podium.evaluate.engine import Measured, plain_options
from podium.io import csv_text, json_text, write_parquet, write_text
from podium.model import Challenge, InputError, Leaderboard, Role

__all__ = ["Run", "load_run", "write_leaderboard", "write_run"]

_SCHEMA = 1
_PACKAGES = ("numpy", "scipy", "numba", "isal", "nibabel", "SimpleITK", "h5py", "polars")


class Run:
    """A run folder that was read: what was run, and what was measured."""

    def __init__(self, info: Mapping[str, Any], table: pl.DataFrame) -> None:
        self.info = info
        self.table = table

    @property
    def roles(self) -> dict[str, Role]:
        """Return who each submission stands for."""
        return {name: Role(role) for name, role in self.info["roles"].items()}


def write_run(
    folder: Path, challenge: Challenge, measured: Measured, *, started: datetime, ended: datetime, truth: Path
) -> None:
    """Write run.json, measurements.parquet, failures.csv and metrics/<submission>.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("leaderboard.*", "*.csv", "ranking.json", "report.html", "metrics/*.json", "figures/*"):
        for stale in folder.glob(pattern):  # of an earlier run
            stale.unlink()
    info = {
        "schema": _SCHEMA,
        "podium": __version__,
        "challenge": challenge.name,
        "version": challenge.version,
        "edition": challenge.edition,
        "options": plain_options(challenge),
        "truth": str(truth),
        "submissions": dict(sorted(measured.paths.items())),
        "roles": {name: role.value for name, role in sorted(measured.roles.items())},
        "started": started.isoformat(timespec="seconds"),
        "ended": ended.isoformat(timespec="seconds"),
        "machine": {"system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()},
        "packages": {name: _version(name) for name in _PACKAGES},
        "sha256": {name: dict(sorted(files.items())) for name, files in sorted(measured.hashes.items())},
    }
    write_parquet(folder / "measurements.parquet", measured.table)
    write_text(folder / "failures.csv", csv_text(("submission", "case", "status", "reason"), measured.failures))
    metrics = folder / "metrics"
    metrics.mkdir(exist_ok=True)
    for index, name in enumerate(sorted(measured.roles)):
        document = metrics_document(measured.table.filter(pl.col("submission") == name))
        write_text(metrics / f"{_file_name(name, index)}.json", json_text(document))
    write_text(folder / "run.json", json_text(info))


def load_run(folder: Path) -> Run:
    """Read a run folder."""
    path = folder / "run.json"
    if not path.is_file():
        raise InputError(
            "this is not a run folder: it has no run.json", path=folder, advice="Make one: podium evaluate"
        )
    try:
        info = json.loads(path.read_text())
        table = pl.read_parquet(folder / "measurements.parquet")
    except (ValueError, pl.exceptions.PolarsError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"this run folder is damaged ({reason})", path=folder, advice="Evaluate again") from None
    if (
        not isinstance(info, dict)
        or info.get("schema") != _SCHEMA
        or not {"challenge", "options", "roles"} <= set(info)
    ):
        raise InputError(f"this is not a run.json of schema {_SCHEMA}", path=path, advice="Evaluate again")
    return Run(info, table)


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
    aggregates: dict[str, Any] = {}
    for key in keys:
        numbers = [entry[key] for entry in results.values() if entry.get(key) is not None]
        mean = math.fsum(numbers) / len(numbers) if numbers else None
        aggregates[key] = {
            "mean": mean,
            "std": math.sqrt(math.fsum((n - mean) ** 2 for n in numbers) / len(numbers)) if mean is not None else None,
            "min": min(numbers, default=None),
            "max": max(numbers, default=None),
            "count": len(numbers),
        }
    return {"aggregates": aggregates, "results": list(results.values())}


def write_leaderboard(folder: Path, board: Leaderboard) -> None:
    """Write leaderboard.csv, .json and .md."""
    names = [heading.name for heading in board.headings]
    lines = [
        [entry.place or "", entry.submission, entry.role, *(_cell(entry.values[name]) for name in names), entry.remark]
        for entry in board.entries
    ]
    write_text(folder / "leaderboard.csv", csv_text(("place", "submission", "role", *names, "remark"), lines))
    write_text(folder / "leaderboard.json", json_text(leaderboard_document(board)))
    write_text(folder / "leaderboard.md", _markdown(board))


def leaderboard_document(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard as plain lists and numbers, for JSON."""
    return {
        "challenge": board.challenge,
        "edition": board.edition,
        "columns": [asdict(heading) | {"direction": heading.direction.value} for heading in board.headings],
        "entries": [asdict(entry) for entry in board.entries],
        "notes": board.notes,
    }


def _markdown(board: Leaderboard) -> str:
    def safe(text: str) -> str:
        return "".join("\\" + c if c in "|\\`*_<>[]#" else c for c in " ".join(text.split()))

    headings = ["#", "submission", *(safe(shown(h.title, h.unit, h.direction.arrow)) for h in board.headings), "remark"]
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for entry in board.entries:
        cells = [str(entry.place or "–"), safe(entry.submission)]
        cells += [number(entry.values[h.name], h.digits) for h in board.headings]
        lines.append("| " + " | ".join([*cells, safe(entry.remark)]) + " |")
    return "\n".join([*lines, "", *(f"{safe(note)}  " for note in board.notes)]).rstrip() + "\n"


def shown(title: str, unit: str, arrow: str) -> str:
    """Return a column's heading for people."""
    return f"{title}{f', {unit}' if unit else ''}{f' {arrow}' if arrow else ''}"


def number(value: float | None, digits: int) -> str:
    """Return a number for people; a dash where there is none."""
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else f"{value:.{digits}f}"


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)


def _file_name(name: str, index: int) -> str:
    """Return a file name for a submission, whatever it is called."""
    kept = "".join(c if c.isalnum() or c in "-_. ()+" else "_" for c in name)[:100].strip(". ")
    return kept if kept == name else f"{kept or 'submission'}~{index}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
