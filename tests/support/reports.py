"""Synthetic runs of a built-in challenge, and synthetic tables, drawn at random, as what reports are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from podium.challenges import get_challenge
from podium.io import json_text, parquet_bytes
from podium.model import Challenge, Direction, Role, Status
from podium.ranking import (
    AggregateThenRank,
    Ranking,
    RankThenAggregate,
    Scheme,
    TestThenRank,
    scheme_rule,
    table_of_scores,
)
from podium.ranking.inference.sensitivity import table_alternatives
from podium.report.data import ReportData, gather
from podium.run import Contract, Input, Run, RunFolder, RunRecord, leaderboard_files
from podium.run.measuring import SCHEMA
from podium.run.record import Machine
from podium.run.runs import failures_frame

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


def tidy(rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """Return measurements from rows of submission, case, unit, target, metric, value, status and reason."""
    columns = zip(*((*row[:6], None, *row[6:]) for row in rows), strict=True)
    return pl.DataFrame(dict(zip(SCHEMA, map(list, columns), strict=False)), schema=SCHEMA)  # much faster than by rows


def record_of(challenge: Challenge, roles: Mapping[str, Role]) -> RunRecord:
    """Return the run.json of a run that never was; competitors were archives of one file."""
    teams = [name for name, role in roles.items() if role is Role.COMPETITOR]
    return RunRecord(
        podium="0.1.0",
        challenge=challenge.name,
        version=challenge.version,
        edition=challenge.edition,
        options=challenge.options,
        truth=Input(path="/data/truth", sha256={"case_00000.nii.gz": "00"}),
        submissions={
            name: Input(path=f"/data/submissions/{name}.zip", sha256={f"{name}/case_00000.nii.gz": "11"})
            for name in teams
        },
        roles=dict(roles),
        started=datetime(2026, 1, 1, 10, 0, tzinfo=UTC),
        ended=datetime(2026, 1, 1, 10, 5, tzinfo=UTC),
        machine=Machine(system="Linux", python="3.11", cores=2),
        packages={"numpy": "2"},
    )


def run_of(challenge: Challenge, table: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Run:
    """Return a run in memory of measurements written down in a test; who has no role competes."""
    competitors = dict.fromkeys(table["submission"].unique(maintain_order=True).to_list(), Role.COMPETITOR)
    failed = table.filter(pl.col("status").is_in(["missing", "invalid"]))
    failures = failures_frame(
        failed.select("submission", "case", "status", "reason").unique(maintain_order=True).rows()
    )
    return Run(challenge, record_of(challenge, competitors | dict(roles or {})), table, failures)


def write_run_folder(run: Run, folder: Path) -> Path:
    """Write a run in memory as an evaluation would, and return the folder."""
    files = {
        "measurements.parquet": parquet_bytes(run.measurements),
        "failures.csv": run.failures.write_csv().encode(),
        "run.json": json_text(run.record.document()).encode(),
    }
    RunFolder(folder).replace(files | leaderboard_files(run.leaderboard, run.challenge.options))
    return folder


def forge(folder: Path, table: pl.DataFrame, **facts: Any) -> None:
    """Put other measurements into a run folder, their checksum and other facts, as somebody would who deceives."""
    packed = parquet_bytes(table)
    (folder / "measurements.parquet").write_bytes(packed)
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(document | facts | {"measurements": sha256(packed).hexdigest()}))


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
) -> Run:
    """Return a run that never was.

    Parameters
    ----------
    failing, undefined
        Which share of the results failed, or has no value.
    timing
        Whether teams report a time for every case, failed ones included; not where everything failed.
    baseline, people
        Whether there is a weak baseline, and a reference called raters.
    """
    rules = get_challenge(challenge, **options)
    contract = Contract(rules)
    generator = np.random.default_rng(seed)
    teams = list(names or team_names(submissions))
    roles = dict.fromkeys(teams, Role.COMPETITOR)
    if baseline:
        roles["baseline"] = Role.BASELINE
    if people:
        roles["raters"] = Role.REFERENCE
    hardness, measures = generator.beta(2, 5, cases), rules.measures
    rows: list[tuple[Any, ...]] = []
    for number, name in enumerate(roles):
        skill = 0.25 if name == "baseline" else 0.93 if name == "raters" else 0.95 - 0.5 * number / (len(teams) + 4)
        competing = roles[name] is Role.COMPETITOR
        timed = timing and competing and not everything_failed
        for index in range(cases):
            case = f"case_{index:05d}"
            if competing and (everything_failed or generator.random() < failing):
                reason = f"{name}/{case}.nii.gz: the gzip data ends too early. Copy or save it again"
                rows += [_row(name, value) for value in contract.failed([case], None, Status.INVALID, reason)]
                if timed:  # which counts as the slowest
                    rows.append((name, case, "", "", rules.time.name, 0.5, "ok", ""))
                continue
            good = 0.8 if all_equal else _share(skill - 0.5 * hardness[index] + generator.normal(0, 0.05))
            for measure in measures:
                for target in () if measure.optional else measure.targets:
                    value = good if all_equal else _share(good + generator.normal(0, 0.02))
                    if measure.direction is Direction.LOWER:
                        value = 20 * (1 - value) + 0.5
                    if undefined and generator.random() < undefined:
                        lacking = (name, case, "", target, measure.name, None, "undefined", "nothing to measure")
                        rows.append(lacking)
                    else:
                        rows.append((name, case, "", target, measure.name, value, "ok", ""))
            if timed:
                seconds = float(np.exp(generator.normal(0.2 * (number % 7), 0.1)))
                rows.append((name, case, "", "", rules.time.name, seconds, "ok", ""))
    return run_of(rules, tidy(rows), roles=roles)


def _share(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))  # much faster than NumPy's clip for single numbers


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
    ranking = synthetic_run(submissions, cases, **options).rank(bootstrap=bootstrap)
    return gather(ranking, anonymise=anonymise, submission=submission, title=title)


def by_hand(
    values: Mapping[str, Sequence[float]],
    *,
    roles: Mapping[str, Role] | None = None,
    bootstrap: int = 0,
    challenge: str = "kits21",
) -> ReportData:
    """Return what a report is made of: every measure of a submission has the given values, one a case."""
    rules = get_challenge(challenge)
    rows = [
        (name, f"case_{index:05d}", "", target, measure.name, value, "ok", "")
        for name, own in values.items()
        for index, value in enumerate(own)
        for measure in rules.measures
        for target in measure.targets
    ]
    return gather(run_of(rules, tidy(rows), roles=roles).rank(bootstrap=bootstrap))


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
    "many": {"submissions": 25, "cases": 45, "baseline": True},
}
"""Runs that a report must stand, by what is strange about them: options of `synthetic_report`."""


def synthetic_scores(
    submissions: int = 5,
    cases: int = 12,
    *,
    tasks: Sequence[str] = ("liver", "spleen", "kidney"),
    names: Sequence[str] | None = None,
    lacking: float = 0.0,
    own_cases: bool = False,
    equal: Sequence[str] = (),
    seed: int = 1,
) -> pl.DataFrame:
    """Return a table of values that never were.

    Parameters
    ----------
    lacking
        Which share of the values is missing; one of the first submission is, if it is not zero.
    own_cases
        Whether cases of different tasks have different names.
    equal
        Tasks in which all values are the same.
    """
    generator = np.random.default_rng(seed)
    rows = []
    for task in tasks:
        strength = 0.05 * generator.normal(size=100)
        for number, name in enumerate(names or team_names(submissions)):
            for index in range(cases):
                value: float | None = float(
                    np.clip(generator.normal(0.9 - 0.04 * number + strength[number], 0.06), 0, 1)
                )
                value = 0.5 if task in equal else value
                if lacking and ((number, index) == (0, 1) or generator.random() < lacking):
                    value = None
                rows.append((name, f"{task} {index}" if own_cases else f"case {index}", task, value))
    schema = {"submission": pl.String, "case": pl.String, "task": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def table_ranking(
    submissions: int = 5,
    cases: int = 12,
    *,
    better: str = "higher",
    missing: Any = "worst",
    scheme: Scheme | None = None,
    bootstrap: int = 60,
    **options: Any,
) -> Ranking:
    """Return a ranking of a synthetic table; options are those of `synthetic_scores`."""
    scores, chosen = synthetic_scores(submissions, cases, **options), scheme or AggregateThenRank()
    table = table_of_scores(scores, better=better, missing=missing, name="scores.csv")
    made_with = {"scheme": chosen.name, "better": better, "missing": missing}
    rule = scheme_rule(table, chosen)
    others = partial(table_alternatives, table, chosen)
    return Ranking(rule, others, bootstrap=bootstrap, made_with=made_with, table=table)


STRANGE_TABLES: dict[str, dict[str, Any]] = {
    "one task": {"tasks": [""]},
    "two tasks": {"tasks": ["liver", "spleen"]},
    "one submission": {"submissions": 1},
    "two submissions": {"submissions": 2},
    "one case": {"cases": 1},
    "two cases": {"cases": 2},
    "all tied": {"equal": ["liver", "spleen", "kidney"]},
    "all tied in one task": {"equal": ["spleen"]},
    "missing values": {"lacking": 0.1, "own_cases": True},
    "cases left out": {"lacking": 0.05, "missing": "drop"},
    "no bootstrap": {"bootstrap": 0},
    "hostile names": {"names": HOSTILE, "tasks": HOSTILE[:4], "lacking": 0.1, "missing": 0.0},
    "lower is better": {"better": "lower", "scheme": RankThenAggregate()},
    "tests": {"scheme": TestThenRank("holm")},
    "many": {"submissions": 25, "cases": 20, "tasks": [f"task {number}" for number in range(11)]},
}
"""Tables that a report must stand, by what is strange about them: options of `table_ranking`."""
