"""What a page for others must not hold, and where it would be found: runs full of distinctive secrets, and a search."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from reports import record_of, team_names, tidy

from podium.challenges import get_challenge
from podium.model import Direction, Role
from podium.ranking import Ranking
from podium.report._contents import _hashes
from podium.report.audience import number_forms
from podium.run import Input, Run
from podium.run.record import Machine
from podium.run.runs import failures_frame

PALETTE = (0.313137, 0.428291, 0.537719, 0.641377, 0.753713, 0.869193, 0.971531)
"""The only values that single cases have, so that no mean of them is written alike."""
TRUTH, MACHINE = "/vault/quokka-truth", "QuokkaOS-9.81"


def distinctive_run(challenge: str = "kits21", *, submissions: int = 4, cases: int = 9, seed: int = 3) -> Run:
    """Return a run that never was, in which whatever is about a single case can be recognised."""
    needed = {"baseline_seconds": 1.5} if "baseline_seconds" in get_challenge(challenge).options else {}
    rules, generator = get_challenge(challenge, **needed), np.random.default_rng(seed)
    rows: list[tuple[Any, ...]] = []
    teams = team_names(submissions)
    for number, name in enumerate(teams):
        for index in range(cases):
            case = f"quokka{index:02d}"
            failed = number > 1 and index == number
            status = "invalid" if failed else "ok"
            reason = f"{case}.wombat: 12.3457 mm is beyond {TRUTH}/{case}.wombat" if failed else ""
            for measure in rules.measures:
                for target in () if measure.optional else measure.targets:
                    value = PALETTE[generator.integers(max(1, 4 - number), 7 - number)]
                    if not measure.judges and measure.maximum != 1:
                        value = float(int(10 * value))  # a count
                    elif measure.direction is Direction.LOWER and measure.maximum != 1:
                        value = 10 * (1 - value)
                    rows.append((name, case, "", target, measure.name, value, status, reason))
            rows.append((name, case, "", "", rules.time.name, 10 * PALETTE[index % 7], "ok", ""))
    table = tidy(rows)
    recorded = record_of(rules, dict.fromkeys(teams, Role.COMPETITOR)).model_copy(
        update={
            "truth": Input(path=TRUTH, sha256={f"quokka{n:02d}.wombat": f"{n:02d}fade" * 8 for n in range(cases)}),
            "submissions": {
                name: Input(path=f"/vault/{name}.zip", sha256={f"quokka.{n}": f"{n:02d}beef" * 8})
                for n, name in enumerate(teams)
            },
            "machine": Machine(system=MACHINE, python="3.11.81", cores=77),
        }
    )
    failures = table.filter(pl.col("status") == "invalid").select("submission", "case", "status", "reason")
    return Run(rules, recorded, table, failures_frame(failures.unique(maintain_order=True).rows()))


def secrets_of(ranking: Ranking, *, but: str | None = None) -> dict[str, set[str]]:
    """Return what nobody else may find of a run, by kind; with `but`, what this team may not."""
    run: Run = ranking.run
    table, record = run.measurements, run.record
    inputs = {name: given for name, given in record.submissions.items() if name != but}
    hidden = table.filter(pl.col("submission") != (but or ""))
    if but:  # what its own cases cost by the truth is for it to know as little
        own = set(table.filter((pl.col("submission") == but) & (pl.col("status") == "ok"))["value"].to_list())
        hidden = hidden.filter(~pl.col("value").is_in(list(own)))
    published = {value for entry in run.leaderboard.entries for value in entry.values.values() if value is not None}
    if not ranking.untold:  # where a few values repeat, the ends of intervals are such values
        published |= {end for own in ranking.confidence.columns.values() for end in (*own.low, *own.high)}
    published = {value for value in published if np.isfinite(value)}
    own_reasons = "\n".join(run.failures.filter(pl.col("submission") == (but or ""))["reason"])
    others = run.failures.filter(pl.col("submission") != (but or ""))
    values = [value for value in hidden["value"].drop_nulls().to_list() if np.isfinite(value)]
    forms = number_forms(values) | {str(round(value * 10**4)) for value in values if abs(value) < 10 and value % 1}
    names = {*table["case"].unique().to_list(), *run.cube.rows, *run.cube.clusters}
    truth = {*record.truth.sha256} | {Path(name).name for name in record.truth.sha256}
    return {
        "cases": set() if but else names,
        "files": {name for name in truth if not but or name.partition(".")[0] not in names},
        "paths": {record.truth.path, *(given.path for given in inputs.values())},
        "digests": {
            *record.truth.sha256.values(),
            _hashes("", record.truth.sha256).digest,
            *(_hashes("", given.sha256).digest for given in inputs.values()),
        },
        "machine": {record.machine.system, f"{record.machine.cores} cores"},
        "reasons": {reason for reason in others["reason"] if reason and reason not in own_reasons},
        "values": {form for form in forms if len(form.strip("0.")) > 3} - number_forms(published),
    }


def texts_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Return every text that a folder holds: names of files, files, packed streams, and JSON as people read it."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        yield f"name of {name}", name
        if not path.is_file():
            continue
        content = path.read_bytes()
        yield name, content.decode("utf-8", "replace")
        for stream in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
            try:
                yield f"stream in {name}", zlib.decompress(stream).decode("latin-1")
            except zlib.error:
                continue
        for island in re.findall(rb'<script type="application/json"[^>]*>(.*?)</script>', content, re.DOTALL):
            yield f"data in {name}", " ".join(_leaves(json.loads(island)))


def _leaves(document: Any) -> Iterable[str]:
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from (str(key), *_leaves(value))
    elif isinstance(document, list):
        for value in document:
            yield from _leaves(value)
    elif document is not None:
        yield str(document)


def leaked(folder: Path, secrets: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Return which secrets a folder holds, by kind, and where."""
    holes: dict[str, list[str]] = {}
    for where, text in texts_in(folder):
        numbers = set(re.findall(r"(?<![\w.#-])\d+(?:\.\d+)?(?![\w.])", text))
        low = text.casefold()
        for kind, words in secrets.items():
            if kind == "values":
                held = sorted(words & numbers)
            else:
                held = sorted(word for word in words if word and word.casefold() in low)
            holes.setdefault(kind, []).extend(f"{word} in {where}" for word in held)
    return {kind: held for kind, held in holes.items() if held}
