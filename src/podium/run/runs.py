"""A run: what was measured, by which rules, of which files; and everything that follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from podium.io import parquet_can_be_read, unquoted
from podium.model import Challenge, Cube, InputError, Leaderboard, Role, Status
from podium.ranking import Ranking, Scheme, challenge_rule, cube_of, scheme_rule, table_of_challenge
from podium.ranking.arithmetic import Ties
from podium.ranking.inference.intervals import Method
from podium.ranking.inference.sensitivity import challenge_alternatives, table_alternatives
from podium.ranking.score_table import Missing
from podium.run.folder import RunFolder
from podium.run.measuring import SCHEMA
from podium.run.record import RunRecord

if TYPE_CHECKING:
    from podium.run.verifying import Verification

__all__ = ["Run", "failures_frame", "read_tables"]

_FAILURES = ("submission", "case", "status", "reason")


class Run:
    """A run that was made or read.

    Attributes
    ----------
    challenge
        In the edition and with the options that it was measured with.
    record
        What run.json says.
    measurements
        Tidy: submission, case, unit, target, metric, value, measured, status, reason.
    failures
        What went wrong: submission, case, status, reason.
    folder
        Where it lies; None if it only exists in memory.
    kept, why
        When it was resumed: how many predictions were known, and who was measured, by reason.
    """

    def __init__(
        self,
        challenge: Challenge,
        record: RunRecord,
        measurements: pl.DataFrame,
        failures: pl.DataFrame,
        *,
        folder: Path | None = None,
    ) -> None:
        self.challenge = challenge
        self.record = record
        self.measurements = measurements
        self.failures = failures
        self.folder = folder
        self.kept = 0
        self.why: Mapping[str, Counter[str]] = {}

    @property
    def provenance(self) -> dict[str, Any]:
        """Everything that made the run, as plain lists and numbers: versions, options, inputs and their hashes."""
        return self.record.document()

    @property
    def roles(self) -> dict[str, Role]:
        """Who each submission stands for."""
        return self.record.roles

    @property
    def withheld(self) -> str:
        """Why there is no leaderboard; "" if there is one."""
        if not self.record.faults:
            return ""
        submission, case, what = self.record.faults[0]
        more = f"; and {len(self.record.faults) - 1} more" if len(self.record.faults) > 1 else ""
        where = ", ".join(filter(None, (self.challenge.name, case, submission)))
        return f"{where}: {what}{more}"

    @cached_property
    def cube(self) -> Cube:
        """The measurements at the level of the rules, built once."""
        return cube_of(self.challenge, self.measurements)

    @cached_property
    def leaderboard(self) -> Leaderboard:
        """The ranking by the challenge's own rules."""
        return self.rank(bootstrap=0).leaderboard

    def rank(
        self,
        *,
        scheme: Scheme | None = None,
        measures: Sequence[tuple[str, str]] = (),
        missing: Missing | None = None,
        consensus: Ties = "minimum",
        options: Mapping[str, Any] | None = None,
        bootstrap: int = 1000,
        seed: int = 1,
        level: float = 0.95,
        interval: Method = "bootstrap-t",
        jobs: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Ranking:
        """Rank from the measurements alone.

        Parameters
        ----------
        scheme
            A general scheme in place of the challenge's own rules.
        measures, missing, consensus
            By what a general scheme ranks, what a missing value costs there, and which ranks of several measures are
            averaged.
        options
            Options of the challenge that change scores but not measurements.
        bootstrap, seed, level, interval, jobs, progress
            See `Ranking`.
        """
        if self.withheld:
            raise InputError(
                f"the leaderboard is withheld, as the challenge itself is at fault ({self.withheld})",
                advice="Mend it, and evaluate with --resume",
            )
        challenge = self._with_options(options or {})
        rule_options: dict[str, Any] = {
            "bootstrap": bootstrap,
            "seed": seed,
            "level": level,
            "interval": interval,
            "jobs": jobs,
            "progress": progress,
        }
        if scheme is None:
            if measures or missing is not None or consensus != "minimum":
                raise InputError(
                    "--metric, --missing and --consensus are for general schemes; the challenge's own rules have "
                    "settled them",
                    advice="Give a --scheme, such as aggregate-then-rank",
                )
            rule = challenge_rule(challenge, self.cube, roles=self.roles)
            return Ranking(
                rule,
                lambda: challenge_alternatives(challenge, rule, self.cube, roles=self.roles),
                made_with=challenge.options,
                run=self._as_ranked(challenge),
                **rule_options,
            )
        table = table_of_challenge(
            challenge, self.cube, roles=self.roles, missing=missing, measures=tuple(measures) or None
        )
        return Ranking(
            scheme_rule(table, scheme, consensus=consensus),
            lambda: table_alternatives(table, scheme, consensus=consensus),
            made_with={**challenge.options, "scheme": scheme.name, "missing": missing, "consensus": consensus},
            table=table,
            **rule_options,
        )

    def _with_options(self, options: Mapping[str, Any]) -> Challenge:
        if fixed := sorted(set(options) - set(self.challenge.scoring_options)):
            possible = ", ".join(self.challenge.scoring_options) or "none"
            raise InputError(
                f"{fixed[0]} is part of what was measured"
                if fixed[0] in self.challenge.option_names()
                else f"{self.challenge.title} has no option {fixed[0]!r}",
                advice=f"Evaluate again; when ranking, there are: {possible}",
            )
        return self.challenge.varied(**options) if options else self.challenge

    def _as_ranked(self, challenge: Challenge) -> Run:
        """Return this run under other scoring options; the measurements are the same."""
        if challenge == self.challenge:
            return self
        other = Run(challenge, self.record, self.measurements, self.failures, folder=self.folder)
        other.__dict__["cube"] = self.cube  # scoring options change no measurement
        return other

    def report(self, out: str | Path | None = None, *, bootstrap: int = 1000, seed: int = 1, **options: Any) -> Path:
        """Write a page about this run, and figures beside it; return where it is.

        Parameters
        ----------
        out
            The page; by default report.html in the run folder.
        bootstrap, seed
            How many resamples tell how sure the ranking is, and which; 0 for none.
        options
            See `podium.report.write_report`.
        """
        from podium.report import write_report

        ranking = self.rank(bootstrap=bootstrap, seed=seed, progress=options.get("progress"))
        return write_report(ranking, None if out is None else Path(out), **options)

    def verify(
        self, *, sample: int = 5, seed: int = 0, progress: Callable[[str, int, int], None] | None = None
    ) -> Verification:
        """Hash all inputs again, measure some cases again, rank again, and say what differs."""
        from podium.run.verifying import verify_run

        return verify_run(self, sample=sample, seed=seed, progress=progress)

    def to_frame(self) -> pl.DataFrame:
        """Return the measurements."""
        return self.measurements

    @property
    def run_folder(self) -> RunFolder | None:
        """The folder as a place to write to."""
        return None if self.folder is None else RunFolder(self.folder)

    def _repr_html_(self) -> str:
        title = f"<h3>{escape(self.challenge.title)}, rules: {escape(self.challenge.edition)}</h3>"
        if self.withheld:
            return f"{title}<p>The leaderboard is withheld: {escape(self.withheld)}.</p>"
        return title + self.leaderboard._repr_html_()

    def __repr__(self) -> str:
        where = f" in {self.folder}" if self.folder else ""
        return f"<Run of {self.challenge.name}, {self.challenge.edition}: {len(self.roles)} submissions{where}>"


def read_tables(
    folder: Path, names: Collection[str] | None = None, *, checksum: str = ""
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the measurements and the failures of a run folder, of any version.

    Parameters
    ----------
    folder
        Where.
    names
        The submissions that there are, where that is known.
    checksum
        The SHA-256 of the measurements, where that is known.
    """
    try:
        packed = (folder / "measurements.parquet").read_bytes()
        if checksum and sha256(packed).hexdigest() != checksum:
            raise ValueError("measurements.parquet is not what was written")
        if not checksum and not parquet_can_be_read(folder / "measurements.parquet"):
            raise ValueError("measurements.parquet cannot be read")
        table = pl.read_parquet(BytesIO(packed))
        for name, kind in SCHEMA.items():
            if name not in table.columns:  # `measured` came with schema 2
                table = table.with_columns(pl.lit(None, kind).alias(name))
        table = table.select(list(SCHEMA)).cast(SCHEMA)  # type: ignore[arg-type]
        _check_table(table, names)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"this run folder is damaged ({reason})", path=folder, advice="Evaluate again") from None
    path = folder / "failures.csv"
    if not path.is_file():
        return table, failures_frame(())
    try:
        failures = pl.read_csv(BytesIO(path.read_bytes()), infer_schema=False).fill_null("").select(list(_FAILURES))
        return table, failures_frame([tuple(map(unquoted, line)) for line in failures.iter_rows()])
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"this table is damaged ({reason})", path=path, advice="Evaluate again") from None


def _check_table(table: pl.DataFrame, names: Collection[str] | None) -> None:
    """Refuse a table that no run has written, whoever named its columns like one."""
    for name in ("submission", "case", "unit", "target", "metric", "status"):
        if table[name].has_nulls():
            raise ValueError(f"{name} is empty in a row of measurements.parquet")
    if strange := sorted(set(table["status"].unique()) - {*Status}):
        raise ValueError(f"there is no status {strange[0]!r}")
    if names is not None and (strange := sorted(set(table["submission"].unique()) - {*names})):
        raise ValueError(f"measurements.parquet holds {strange[0]!r}, which run.json does not know")


def failures_frame(failures: Sequence[tuple[str, ...]]) -> pl.DataFrame:
    """Return failures as a table."""
    return pl.DataFrame(list(failures), schema=dict.fromkeys(_FAILURES, pl.String), orient="row")
