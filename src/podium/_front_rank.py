"""Ranking at the front door: a run that is read, a run or a table that is ranked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, get_args

from podium._front_tables import TableSource, is_table, ranking_of_table, score_table_of
from podium.challenges import recorded_challenge
from podium.io import read_groups
from podium.model import Challenge, InputError
from podium.ranking import Ranking, Scheme, scheme_named
from podium.ranking.inference.intervals import Method
from podium.ranking.inference.questions import Margin, Questions
from podium.ranking.inference.resampling import check_resamples
from podium.ranking.inference.significance import Adjustment
from podium.ranking.score_table import Missing
from podium.run import Run, RunFolder, read_record, write_ranking
from podium.run.runs import read_tables

__all__ = ["compare_runs", "load", "rank"]

AnyPath: TypeAlias = str | Path
StagesDone: TypeAlias = Callable[[str, int, int], None]


def load(run: AnyPath, *, challenge: Challenge | None = None) -> Run:
    """Read a run folder, of this or any earlier version.

    Parameters
    ----------
    run
        The folder.
    challenge
        The challenge, if it is not one that Podium finds by its name.
    """
    folder = Path(run)
    if folder.is_dir():
        RunFolder(folder).recover()
    record = read_record(folder)
    table, failures = read_tables(folder, record.roles, checksum=record.measurements)
    if challenge is not None and challenge.name != record.challenge:
        raise InputError(f"this is a run of {record.challenge}, not of {challenge.name}", path=folder)
    rules = recorded_challenge(record.challenge, edition=record.edition, options=record.options, given=challenge)
    return Run(rules, record, table, failures, folder=folder)


def rank(
    source: Run | TableSource,
    *,
    better: str | None = None,
    scheme: str | Scheme | None = None,
    statistic: str | float = "mean",
    adjustment: Adjustment = "none",
    alpha: float = 0.05,
    missing: Missing | None = None,
    tasks: Sequence[str] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    consensus: str | None = None,
    differences: str | None = None,
    columns: Mapping[str, str] | None = None,
    layout: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    measures: Sequence[tuple[str, str]] = (),
    options: Mapping[str, Any] | None = None,
    bootstrap: int = 1000,
    seed: int = 1,
    level: float = 0.95,
    interval: Method = "bootstrap-t",
    jobs: int | None = None,
    progress: StagesDone | None = None,
    plan: bool = False,
    margin: Margin | None = None,
    by: str | None = None,
    out: AnyPath | None = None,
    write: bool = False,
) -> Ranking:
    """Rank from the measurements of a run, or from a table.

    Parameters
    ----------
    source
        A run, a run folder, or a table: CSV of any kind, Parquet, Excel, or a Polars table, with the columns
        submission, case, value, and optionally task, cluster and stratum, or with teams, metrics or cases as columns;
        or a folder of tables or several files, one for each team. What was guessed is in the notes of the board.
    better
        Of a table: whether "higher" or "lower" values are better, in tasks that do not say so.
    scheme
        None or "own" for a challenge's own rules; "aggregate-then-rank", "rank-then-aggregate" or "test-then-rank".
    statistic, adjustment, alpha
        What aggregates; and of tests, how p-values are adjusted and what is significant.
    missing
        What a missing value costs in a general scheme: "worst" (that anybody has in the task), a number that is at
        least as bad, or "drop" (the case, for everybody).
    tasks, ranges
        Of a table: which tasks, if not all, each with its direction and weight if it has them: "HD95:lower:2"; and
        from where to where values can lie, by task, "" for all others.
    consensus, differences
        How ranks of several tasks are averaged, and how differences in tests are compared; see `scheme_rule` and
        `scheme_named`.
    columns, layout, separator, decimal, encoding, sheet
        Of a table: how it is to be read, where that cannot or should not be guessed; see `podium.io.read_scores`.
    measures, options
        Of a run: by what a general scheme ranks, as (name, target); and options that change scores only.
    bootstrap, seed, level, interval, jobs, progress
        See `Ranking`.
    plan, margin, by
        See `Ranking.plan`, `margins` and `subgroups`; groups are FILE.csv:COLUMN, or a column of the table.
    out, write
        A folder for tables and JSON. With `write`, a run's own is taken where none is given; under other options than
        those of its published board, a folder of its own in it.
    """
    check_resamples(bootstrap)
    if interval not in get_args(Method):
        raise InputError(f"there is no interval {interval!r}", advice=f"There are: {', '.join(get_args(Method))}")
    if not 0 < level < 1:
        raise InputError(f"the level is {level}, but must lie between 0 and 1", advice="Say 0.95 for 95 %")
    of_run = isinstance(source, Run) or not is_table(source)
    named: dict[str, Any] = {"statistic": statistic, "adjustment": adjustment, "alpha": alpha}
    if differences is not None:
        named["differences"] = differences
    over_tasks: dict[str, Any] = {} if consensus is None else {"consensus": consensus}
    reading: dict[str, Any] = {
        "columns": columns,
        "layout": layout,
        "separator": separator,
        "decimal": decimal,
        "encoding": encoding,
        "sheet": sheet,
    }
    general = scheme if not isinstance(scheme, str) else None
    if isinstance(scheme, str) and scheme != "own":
        general = scheme_named(scheme, **named)
    elif scheme is None and not of_run:
        general = scheme_named("aggregate-then-rank", **named)
    elif general is None and named != {"statistic": "mean", "adjustment": "none", "alpha": 0.05}:
        raise InputError(
            "statistic, adjustment and alpha are for general schemes; the challenge's own rules have settled them",
            advice="Give a scheme, such as aggregate-then-rank",
        )
    asked: dict[str, Any] = {
        "bootstrap": bootstrap,
        "seed": seed,
        "level": level,
        "interval": interval,
        "jobs": jobs,
        "progress": progress,
    }
    single = Path(source) if isinstance(source, str | Path) and not of_run else None
    questions = Questions(plan, margin, *read_groups(by, table=single, **reading))
    if of_run:
        run = source if isinstance(source, Run) else load(str(source))
        if better or tasks or ranges or any(reading.values()):
            raise InputError("--better, --task, --range and --column are for tables; a run knows its own")
        ranking = run.rank(scheme=general, measures=measures, missing=missing, options=options, **over_tasks, **asked)
        ranking.asked = questions
        if out is not None or write:
            # A general scheme says nothing about the run unless somebody asks where to put it.
            own = run.folder if general is None else None
            ranking.folder = write_ranking(ranking, run.challenge.options, None if out is None else Path(out), own)
        return ranking
    if measures or options:
        raise InputError("--metric and --option are for runs of a challenge, this is a table")
    settled: dict[str, Any] = {
        "better": better,
        "missing": missing,
        "tasks": (tasks,) if isinstance(tasks, str) else tuple(tasks),
        "ranges": ranges or {},
    }
    table = score_table_of(source, **settled, **reading)  # type: ignore[arg-type]  # it is no run
    ranking = ranking_of_table(table, general, over_tasks=over_tasks, made_with=settled | over_tasks, **asked)
    ranking.asked = questions
    if out is not None:
        ranking.folder = write_ranking(ranking, {}, Path(out), None)
    return ranking


def compare_runs(
    runs: Sequence[Run | AnyPath],
    *,
    out: AnyPath,
    names: Sequence[str] = (),
    title: str | None = None,
    public: bool = False,
    anonymise: bool = False,
    formats: Sequence[str] = ("svg",),
    bootstrap: int = 1000,
    seed: int = 1,
    level: float = 0.95,
    interval: Method = "bootstrap-t",
    jobs: int | None = None,
    progress: StagesDone | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write a page that shows several runs of one challenge side by side, such as phases or years; return where it is.

    Parameters
    ----------
    runs
        Runs or run folders, from the first to the last. Their challenge, edition and measures must agree.
    out
        The page, or a folder for it. Its figure goes to figures/ beside it.
    names
        What the runs are called; by default what tells their folders apart.
    title
        Of the page; by default the challenge's.
    public, anonymise
        Whether the page may be published, as it tells of no single case; and whether teams are called A, B, C ….
    formats
        Of the figure's file: svg, pdf, png.
    bootstrap, seed, level, interval, jobs, progress
        See `Ranking`.
    say
        Is told what was written.
    """
    from podium.report.comparison_page import write_comparison
    from podium.report.several_runs import run_labels

    if len(runs) < 2:
        raise InputError("one run cannot be compared", advice="Give two run folders or more")
    loaded = [source if isinstance(source, Run) else load(source) for source in runs]
    labels = tuple(names) or run_labels([run.folder or Path(f"run {n}") for n, run in enumerate(loaded, 1)])
    if len(set(labels)) != len(loaded):
        raise InputError(
            f"there are {len(loaded)} runs and {len(set(labels))} names", advice="Give each a name of its own"
        )
    asked: dict[str, Any] = {"bootstrap": bootstrap, "seed": seed, "level": level, "interval": interval, "jobs": jobs}
    rankings = [run.rank(progress=progress, **asked) for run in loaded]
    place = Path(out)
    page = place if place.suffix.lower() in (".html", ".htm") and not place.is_dir() else place / "report.html"
    settled: dict[str, Any] = {"title": title, "public": public, "anonymise": anonymise, "formats": tuple(formats)}
    return write_comparison(rankings, page, runs=labels, overwrite=page == place, say=say, **settled)
