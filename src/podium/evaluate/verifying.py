"""Auditing a run: inputs hashed again, a sample measured again, and submissions that are one and the same."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from podium.evaluate.measuring import Job, Prediction, digest, measure_case
from podium.evaluate.submissions import Files, Submission, opened
from podium.model import Challenge, InputError, Role, Status

__all__ = ["Twins", "changed_inputs", "remeasured", "twins"]

_KEYS = ["submission", "case", "unit", "target", "metric"]
_SAME = 1e-12
"""Relative: two machines may add up in another order."""
NEARLY = 0.9
"""From this share of equal cases on, two submissions are called nearly identical."""


def changed_inputs(
    info: Mapping[str, Any], *, progress: Callable[[int, int], None] | None = None
) -> list[tuple[str, str, str]]:
    """Hash every input again and return what differs: "truth" or a submission, the file, and what is wrong with it.

    Parameters
    ----------
    info
        run.json.
    """
    found = []
    recorded: Mapping[str, Mapping[str, str]] = info["sha256"]
    total, done = sum(map(len, recorded.values())), 0
    for name, files in recorded.items():
        place = Path(info["truth"] if name == "truth" else info["submissions"][name])
        with ExitStack() as stack:
            try:
                root = place if name == "truth" else stack.enter_context(opened(Submission(name, place))).root
            except (InputError, OSError) as error:
                found.append((name, "", f"cannot be opened ({error})"))
                continue
            for inside, expected in files.items():
                path = _found(root, place, inside)
                if path is None:
                    found.append((name, inside, "is gone"))
                elif digest(path) != expected:
                    found.append((name, inside, "has changed"))
                done += 1
                if progress is not None:
                    progress(done, total)
    return found


def _found(root: Path, place: Path, inside: str) -> Path | None:
    """Return the file, below the folder that holds everything or the submission itself."""
    return next((path for path in (root / inside, place / inside) if path.is_file()), None)


def remeasured(
    challenge: Challenge,
    info: Mapping[str, Any],
    table: pl.DataFrame,
    *,
    sample: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Measure some cases again; return which, and what came out differently: submission, case and what.

    Parameters
    ----------
    sample
        How many cases, drawn with the seed; all if there are no more.
    """
    truth = Path(info["truth"])
    cases = challenge.cases(truth)
    chosen = sorted(random.Random(seed).sample(cases, min(sample, len(cases))), key=lambda case: case.name)
    wanted = [challenge.expected(case) for case in cases]
    found: list[tuple[str, str, str]] = []
    with ExitStack() as stack:
        teams: list[tuple[str, Files]] = []
        for name, place in info["submissions"].items():
            role = Role(info["roles"].get(name, Role.COMPETITOR))
            try:
                teams.append((name, stack.enter_context(opened(Submission(name, Path(place), role), wanted))))
            except (InputError, OSError) as error:
                found.append((name, "", f"cannot be opened ({error})"))
        for number, case in enumerate(chosen, start=1):
            predictions = [Prediction.among(name, files, challenge.expected(case)) for name, files in teams]
            again = measure_case(Job(challenge, case, truth, tuple(predictions), {})).part.table
            found += _differences(table, again)
            if progress is not None:
                progress(number, len(chosen))
    return [case.name for case in chosen], found


def _differences(recorded: pl.DataFrame, again: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Return one line for each submission and row of which anything differs."""
    both = again.join(recorded, on=_KEYS, how="left", suffix="_recorded", coalesce=True)
    found: dict[tuple[str, str], str] = {}
    for row in both.iter_rows(named=True):
        if row["status_recorded"] is None:
            what = "was not recorded"
        elif row["status"] != row["status_recorded"]:
            what = f"is {row['status']}, was {row['status_recorded']}"
        elif not _equal(row["value"], row["value_recorded"]):
            what = f"is {row['value']}, was {row['value_recorded']}"
        else:
            continue
        quantity = f"{row['metric']} {row['target']}".rstrip()
        found.setdefault((row["submission"], row["case"]), f"{quantity} {what}")
    return [(*key, what) for key, what in found.items()]


def _equal(one: float | None, two: float | None) -> bool:
    if one is None or two is None:
        return one is two
    return one == two or math.isclose(one, two, rel_tol=_SAME, abs_tol=_SAME) or (math.isnan(one) and math.isnan(two))


@dataclass(frozen=True, slots=True)
class Twins:
    """Two submissions that are, or nearly are, one: the share of equal files, and of cases with equal measurements."""

    first: str
    second: str
    equal_files: float
    equal_cases: float


def twins(table: pl.DataFrame, hashes: Mapping[str, Mapping[str, str]], names: Sequence[str]) -> list[Twins]:
    """Find submissions whose files or measurements are equal in at least nine of ten cases that either did not fail."""
    rows = table.filter((pl.col("unit") == "") & (pl.col("metric") != "seconds") & pl.col("submission").is_in(names))
    measured: dict[str, dict[str, tuple[Any, ...]]] = {name: {} for name in names}
    for (name, case), own in rows.sort(_KEYS).group_by(["submission", "case"], maintain_order=True):
        if not own["status"].is_in([Status.MISSING.value, Status.INVALID.value]).all():
            measured[str(name)][str(case)] = tuple(own.select("target", "metric", "value").iter_rows())
    found = []
    ordered = sorted(names)
    for place, first in enumerate(ordered):
        for second in ordered[place + 1 :]:
            files = _share(hashes.get(first, {}), hashes.get(second, {}))
            cases = _share(measured[first], measured[second])
            if max(files, cases) >= NEARLY:
                found.append(Twins(first, second, files, cases))
    return found


def _share(one: Mapping[str, Any], two: Mapping[str, Any]) -> float:
    """Return the share of keys of either whose values are equal in both."""
    keys = {*one, *two}
    return sum(key in one and one[key] == two.get(key) for key in keys) / len(keys) if keys else 0.0
