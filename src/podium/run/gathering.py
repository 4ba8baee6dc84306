"""Several evaluations joined into one run, as if all teams had been measured together."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from podium import __version__
from podium.io import digest
from podium.model import LOADING, InputError, Status
from podium.model.errors import printable, shortened
from podium.run.evaluating import write_run
from podium.run.folder import RunFolder
from podium.run.parts import sole_writer
from podium.run.record import Gathered, Input, Machine, RunRecord
from podium.run.runs import Run
from podium.run.team_names import alike

__all__ = ["gather_runs"]

_KEYS = ["submission", "case", "unit", "target", "metric"]


def gather_runs(sources: Sequence[tuple[str, Path, Run]], *, out: Path, restart: bool = False) -> Run:
    """Join evaluations into one run, and write its folder.

    Parameters
    ----------
    sources
        The name that its only team is to have or "", where it lies, and the evaluation.
    out, restart
        The run folder; whether a run that is there is made anew.

    Raises
    ------
    InputError
        Challenge, version, edition, options or truth differ, or two submissions have one name.
    """
    if not sources:
        raise InputError("there is nothing to gather", advice="Give run folders or metrics files")
    members = [_Member.of(name, place, run) for name, place, run in sources]
    for member in members:
        _demand_same(members[0], member)
    _demand_names(members)
    for member in members:
        if out.resolve() == member.place.resolve() or member.place.resolve() in out.resolve().parents:
            raise InputError("the run would lie in one of those that it is gathered from", path=out)
    folder = RunFolder(out)
    if folder.finished and not restart:
        raise InputError(
            "a finished run is here", path=out, advice="Add --restart to make it anew, or give another --out"
        )
    folder.begin(resume=False, restart=restart)
    with sole_writer(out):
        return write_run(_joined(members, out), folder)


@dataclass(frozen=True, slots=True)
class _Member:
    """An evaluation, with the name in the new run of each of its submissions that is not built in."""

    place: Path
    run: Run
    names: Mapping[str, str]

    @classmethod
    def of(cls, name: str, place: Path, run: Run) -> _Member:
        """Find names: as asked for, as they are, or of a metrics file that of the file or its folder."""
        if run.withheld:
            raise InputError(
                f"its leaderboard is withheld ({run.withheld})",
                path=place,
                advice="Mend it, and evaluate with --resume",
            )
        own = [submission for submission in run.roles if submission not in run.challenge.built_in]
        if name and len(own) != 1:
            raise InputError(f"{name}= names one team, and this run has {len(own)}", path=place)
        if not name and place.is_file():
            name = place.absolute().parent.name if place.stem == "metrics" else place.stem
        member = cls(place, run, {submission: printable(name) or submission for submission in own})
        member.check()
        return member

    def check(self) -> None:
        """Refuse values that the challenge does not declare: somebody has changed them."""
        challenge = self.run.challenge
        declared = {(m.name, target): m for m in (*challenge.measures, challenge.time, LOADING) for target in m.targets}
        rows = self.run.measurements.filter((pl.col("unit") == "") & (pl.col("status") == Status.OK.value))
        for metric, target, value in rows.select("metric", "target", "value").iter_rows():
            measure = declared.get((metric, target))
            if measure is None or (value is not None and not measure.allows(value)):
                what = f"{metric} {target}".rstrip()
                raise InputError(
                    f"it holds {what} = {value}, which cannot be", path=self.place, advice="Evaluate it again"
                )

    def renamed(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a table with the names of the new run."""
        return table.with_columns(pl.col("submission").replace(dict(self.names)))

    def built_in(self) -> pl.DataFrame:
        """Return the measurements at the level of rows of what is built in."""
        table = self.run.measurements
        return table.filter((pl.col("unit") == "") & ~pl.col("submission").is_in(list(self.names))).sort(_KEYS)

    def input_of(self, given: Input, out: Path) -> Input:
        """Return where an input lies, as seen from the new run."""
        return Input.at(given.find(self.run.folder) or Path(given.path), given.sha256, out, kept=given.kept)

    def gathered(self) -> list[Gathered]:
        """Return what is kept of where this comes from; of what was gathered before, its own sources."""
        record = self.run.record
        if record.gathered:
            return [
                known.model_copy(
                    update={"submissions": {self.names[name]: there for name, there in known.submissions.items()}}
                )
                for known in record.gathered
            ]
        return [
            Gathered(
                path=str(self.place.absolute()),
                sha256=digest(self.place / "run.json" if self.place.is_dir() else self.place),
                podium=record.podium,
                started=record.started,
                ended=record.ended,
                machine=record.machine,
                packages=record.packages,
                submissions={new: old for old, new in self.names.items()},
            )
        ]


def _demand_same(first: _Member, other: _Member) -> None:
    """Refuse evaluations that are not comparable, and say in what they differ."""
    one, two = first.run.record, other.run.record
    for what in ("challenge", "version", "edition"):
        if getattr(one, what) != getattr(two, what):
            raise _different(first, other, what, getattr(one, what), getattr(two, what))
    for name in sorted({*one.options, *two.options}):
        if one.options.get(name) != two.options.get(name):
            raise _different(first, other, f"option {name}", one.options.get(name), two.options.get(name))
    if not two.truth.sha256:
        raise InputError("it does not tell which files its truth was", path=other.place, advice="Evaluate it again")
    if one.truth.sha256 != two.truth.sha256:
        files = {*one.truth.sha256, *two.truth.sha256}
        differing = sorted(file for file in files if one.truth.sha256.get(file) != two.truth.sha256.get(file))
        raise InputError(
            f"its truth is not that of {first.place}: {shortened(differing, most=3)}",
            path=other.place,
            advice="Evaluate both with one truth",
        )
    rows = [set(member.run.measurements["case"].unique().to_list()) for member in (first, other)]
    if rows[0] != rows[1]:
        names = shortened(sorted(rows[0] ^ rows[1]), most=3)
        raise InputError(f"it and {first.place} do not have the same cases: {names}", path=other.place)
    if not _equal(first.built_in(), other.built_in(), max(one.rounding, two.rounding)):
        built_in = ", ".join(first.run.challenge.built_in)
        raise InputError(
            f"{built_in} has other values than in {first.place}", path=other.place, advice="Evaluate both again"
        )


def _different(first: _Member, other: _Member, what: str, one: Any, two: Any) -> InputError:
    return InputError(
        f"{what} is {two!s:.60}, and {one!s:.60} in {first.place}",
        path=other.place,
        advice="Gather only evaluations of the same challenge, edition and options",
    )


def _equal(one: pl.DataFrame, two: pl.DataFrame, rounding: float) -> bool:
    """Return whether two tables say the same, but for the last digits."""
    if not one.select(*_KEYS, "status").equals(two.select(*_KEYS, "status")):
        return False
    pairs = zip(one["value"].to_list(), two["value"].to_list(), strict=True)
    return all(a == b or (a is not None and b is not None and abs(a - b) <= rounding * abs(a)) for a, b in pairs)


def _demand_names(members: Sequence[_Member]) -> None:
    """Refuse two submissions whose names nobody could tell apart, and the names of what is built in."""
    taken: dict[str, Path] = {}
    for member in members:
        built_in = {alike(name): role for name, role in member.run.challenge.built_in.items()}
        for name in member.names.values():
            key = alike(name)
            if key in taken or key in built_in:
                who = f"as in {taken[key]}" if key in taken else f"like the {built_in[key].value} that is built in"
                raise InputError(
                    f"a submission is called {name}, {who}",
                    path=member.place,
                    advice="Give another name to the only team of one as NAME=RUN, or leave one out",
                )
            taken[key] = member.place


def _joined(members: Sequence[_Member], out: Path) -> Run:
    first, records = members[0], [member.run.record for member in members]
    own = [member.run.measurements.filter(pl.col("submission").is_in(list(member.names))) for member in members]
    built_in = [member.run.measurements.filter(~pl.col("submission").is_in(list(member.names))) for member in members]
    tables = [member.renamed(table) for member, table in zip(members, own, strict=True)]
    inputs = {
        member.names[name]: member.input_of(given, out)
        for member in members
        for name, given in member.run.record.submissions.items()
    }
    roles = {member.names.get(name, name): role for member in members for name, role in member.run.roles.items()}
    record = RunRecord(
        podium=__version__,
        challenge=records[0].challenge,
        version=records[0].version,
        edition=records[0].edition,
        options=records[0].options,
        truth=first.input_of(records[0].truth, out),
        submissions=dict(sorted(inputs.items())),
        roles=dict(sorted(roles.items())),
        started=min(record.started for record in records),
        ended=datetime.now(UTC).replace(microsecond=0),
        machine=Machine(system=platform.platform(), python=platform.python_version(), cores=os.cpu_count()),
        packages=records[0].packages,
        gathered=[entry for member in members for entry in member.gathered()],
        devices=sorted({device for record in records for device in record.devices}),
    )
    failures = pl.concat([member.renamed(member.run.failures) for member in members]).unique(maintain_order=True)
    return Run(
        first.run.challenge,
        record,
        pl.concat([*tables, max(built_in, key=len)]).sort(_KEYS),
        failures.sort(failures.columns),
        folder=out,
    )
