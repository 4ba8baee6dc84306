"""Synthetic runs of a built-in challenge, from measurements drawn at random, as what reports are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from podium.challenges import get_challenge
from podium.model import Case, Challenge, Direction, Role, Status
from podium.report.data import ReportData, gather

SCHEMA = {
    name: pl.Float64 if name == "value" else pl.String
    for name in ("submission", "case", "unit", "target", "metric", "value", "status", "reason")
}

HOSTILE = (
    "<script>alert(1)</script>",
    "$x_1$ & \"quotes\" 'n' `ticks` \\frac{1}{2}",
    "🏆 emoji 👩‍🔬 team",
    "שלום עולם",
    "x" * 200,
    "_underscore_",
    "two\nlines\tand\x07bell",
    "\u202etxt.exe",
    "深度学习团队",
    "%s %(x)s {x} {{y}}",
)
"""Names that somebody will have."""


def team_names(count: int) -> list[str]:
    """Return so many names that are easy to tell apart."""
    return [f"team {number:02d}" for number in range(1, count + 1)]


def synthetic_run(
    submissions: int = 5,
    cases: int = 12,
    *,
    challenge: str = "kits21",
    names: Sequence[str] | None = None,
    failing: float = 0.03,
    everything_failed: bool = False,
    all_equal: bool = False,
    timing: bool = True,
    baseline: bool = False,
    people: bool = False,
    undefined: float = 0.0,
    seed: int = 1,
    **options: Any,
) -> tuple[Challenge, dict[str, Any], pl.DataFrame, dict[str, Role], pl.DataFrame]:
    """Return challenge, run.json, measurements, roles and failures of a run that never was.

    Parameters
    ----------
    failing, undefined
        Which share of the results failed, or has no value.
    baseline, people
        Whether there is a weak baseline, and a reference called raters.
    """
    rules = get_challenge(challenge, **options)
    generator = np.random.default_rng(seed)
    teams = list(names or team_names(submissions))
    roles = dict.fromkeys(teams, Role.COMPETITOR)
    if baseline:
        roles["baseline"] = Role.BASELINE
    if people:
        roles["raters"] = Role.REFERENCE
    hardness = generator.beta(2, 5, cases)
    rows = []
    for number, name in enumerate(roles):
        skill = 0.25 if name == "baseline" else 0.93 if name == "raters" else 0.95 - 0.5 * number / (len(teams) + 4)
        for index in range(cases):
            case = f"case_{index:05d}"
            competing = roles[name] is Role.COMPETITOR
            if competing and (everything_failed or generator.random() < failing):
                reason = f"{name}/{case}.nii.gz: the gzip data ends too early. Copy or save it again"
                rows += [_row(name, v) for v in rules.failed(Case(case), None, Status.INVALID, reason)]
                continue
            good = 0.8 if all_equal else float(np.clip(skill - 0.5 * hardness[index] + generator.normal(0, 0.05), 0, 1))
            for quantity in rules.quantities:
                for target in quantity.targets:
                    value = good if all_equal else float(np.clip(good + generator.normal(0, 0.02), 0, 1))
                    if quantity.direction is Direction.LOWER:
                        value = 20 * (1 - value) + 0.5
                    if undefined and generator.random() < undefined:
                        lacking = (name, case, "", target, quantity.metric, None, "undefined", "nothing to measure")
                        rows.append(lacking)
                    else:
                        rows.append((name, case, "", target, quantity.metric, value, "ok", ""))
            if timing and competing:
                seconds = float(np.exp(generator.normal(0.2 * (number % 7), 0.1)))
                rows.append((name, case, "", "", "seconds", seconds, "ok", ""))
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    failed = table.filter(pl.col("status").is_in(["missing", "invalid"]))
    failures = failed.select("submission", "case", "status", "reason").unique(maintain_order=True)
    info = {
        "schema": 1,
        "podium": "0.1.0",
        "challenge": challenge,
        "version": rules.version,
        "edition": rules.edition,
        "options": {"edition": rules.edition},
        "truth": "/data/truth",
        "submissions": {name: f"/data/submissions/{name}.zip" for name in teams},
        "roles": {name: role.value for name, role in roles.items()},
        "started": "2026-01-01T10:00:00+00:00",
        "ended": "2026-01-01T10:05:00+00:00",
        "machine": {"system": "Linux", "python": "3.11", "cores": 2},
        "packages": {"numpy": "2"},
        "sha256": {"truth": {"case_00000.nii.gz": "00"}}
        | {name: {f"{name}/case_00000.nii.gz": "11"} for name in teams},
    }
    return rules, info, table, roles, failures


def _row(name: str, value: Any) -> tuple[Any, ...]:
    return (name, value.case, value.unit, value.target, value.metric, value.value, value.status.value, value.reason)


def synthetic_report(
    submissions: int = 5,
    cases: int = 12,
    *,
    bootstrap: int = 200,
    anonymise: bool = False,
    submission: str | None = None,
    title: str | None = None,
    **options: Any,
) -> ReportData:
    """Return what a report of a synthetic run is made of; options are those of `synthetic_run`."""
    run = synthetic_run(submissions, cases, **options)
    return gather(*run, bootstrap=bootstrap, anonymise=anonymise, submission=submission, title=title)


DEGENERATE: dict[str, dict[str, Any]] = {
    "one submission": {"submissions": 1},
    "two submissions": {"submissions": 2},
    "two cases": {"cases": 2},
    "one case": {"cases": 1},
    "everything failed": {"everything_failed": True},
    "all equal": {"all_equal": True, "failing": 0.0},
    "no timing": {"timing": False},
    "no bootstrap": {"bootstrap": 0},
    "hostile names": {"names": HOSTILE},
    "undefined values": {"undefined": 0.3},
    "people": {"people": True, "baseline": True},
    "many": {"submissions": 60, "cases": 40, "baseline": True},
}
"""Runs that a report must stand, by what is strange about them: options of `synthetic_report`."""
