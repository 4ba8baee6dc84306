"""Tables at the front door: from files as people have them to a table that schemes rank."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from podium.io import TABLE_SUFFIXES, read_scores, scores_of_frame, usual_direction
from podium.model import InputError
from podium.ranking import Ranking, Scheme, ScoreTable, scheme_rule, table_of_scores
from podium.ranking.inference.sensitivity import table_alternatives
from podium.ranking.score_table import Missing
from podium.run import RunFolder

__all__ = ["TableSource", "is_table", "ranking_of_table", "score_table_of"]

TableSource: TypeAlias = str | Path | Sequence[str | Path] | pl.DataFrame
_SAID = re.compile(r"(?::(?P<better>higher|lower)(?::(?P<weight>[^:]+))?)?")
_OF_RUNS = ("run.json", "raters.json", "measurements.parquet", "leaderboard.json", "failures.csv")


class _Tasks(NamedTuple):
    """Which tasks are ranked, which values are better in each, and how much each counts."""

    names: list[str]
    better: dict[str, str]
    weights: dict[str, float]


def is_table(source: TableSource) -> bool:
    """Return whether this is a table or several, one for each team, and no folder of a run."""
    folder = Path(source) if isinstance(source, str | Path) else None
    if folder is None or not folder.is_dir():
        return True
    if RunFolder(folder).parts.unfinished or any((folder / name).exists() for name in _OF_RUNS):
        return False
    return any(path.name.lower().endswith(TABLE_SUFFIXES) for path in folder.iterdir())


def score_table_of(
    source: TableSource,
    *,
    better: str | None = None,
    missing: Missing | None = None,
    tasks: Sequence[str] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    columns: Mapping[str, str] | None = None,
    layout: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> ScoreTable:
    """Read a table and settle what it leaves open: directions, tasks, ranges, and what a missing value costs.

    Parameters
    ----------
    source
        A file, a folder of files or several, one for each team; or a Polars table.
    better, missing, tasks, ranges
        See `podium.rank`.
    columns, layout, separator, decimal, encoding, sheet
        See `podium.io.read_scores`.
    """
    path = None
    if isinstance(source, pl.DataFrame):
        if separator or encoding or sheet:
            raise InputError("--separator, --encoding and --sheet are for files, this is a table in memory")
        scores, remarks, called = scores_of_frame(source, columns=columns, layout=layout, decimal=decimal)
        name = "table"
    else:
        single = isinstance(source, str | Path)
        paths = [Path(source)] if isinstance(source, str | Path) else [Path(path) for path in source]
        if absent := [path for path in paths if not path.exists()]:
            raise InputError("there is no such run folder or table", path=absent[0])
        if documents := [path for path in paths if path.suffix.lower() == ".json"]:
            advice = "podium gather makes a run of metrics files, which can be ranked"
            raise InputError("this is a JSON file, and no table", path=documents[0], advice=advice)
        path = paths[0] if single else None
        name = paths[0].name if single else f"{len(paths)} tables"
        scores, remarks, called = read_scores(
            paths[0] if single else paths,
            columns=columns,
            layout=layout,
            separator=separator,
            decimal=decimal,
            encoding=encoding,
            sheet=sheet,
        )
    known = sorted(scores["task"].unique().to_list()) if "task" in scores.columns else []
    chosen = _chosen((tasks,) if isinstance(tasks, str) else tasks, known, better, path)
    if tasks:
        scores = scores.filter(scores["task"].is_in(chosen.names))
    title = called.get("value", "")
    if not known:  # where all values are of one kind, they may be called as their column is
        ranges = {"" if task == title else task: limits for task, limits in (ranges or {}).items()}
    if unknown := [task for task in ranges or {} if task and task not in known]:
        raise _no_task(unknown[0], known, path)
    remarks = (*_doubts(chosen.better, title), *remarks)
    cluster_words = _words(called.get("cluster", "cluster"))
    if "task" in scores.columns and "cluster" not in scores.columns and _shared_cases(scores):
        # The same patient, measured twice; and if not, drawing cases of two tasks in pairs does no harm.
        scores, cluster_words = scores.with_columns(pl.col("case").alias("cluster")), ("case", "cases")
        remarks = (*remarks, "Cases of one name in several tasks are drawn together, as one case.")
    return table_of_scores(
        scores,
        better=chosen.better,
        missing=missing,
        weights=chosen.weights,
        ranges=ranges,
        name=name,
        remarks=remarks,
        cluster_words=cluster_words,
        title=title if title.isprintable() and title.casefold() not in ("", "value", "values") else "Value",
    )


def _shared_cases(scores: pl.DataFrame) -> bool:
    """Return whether a name of a case occurs in several tasks."""
    return bool(scores.select(pl.struct("task", "case").n_unique() > pl.col("case").n_unique()).item())


def _doubts(better: Mapping[str, str], title: str) -> list[str]:
    """Say which directions are not those that metrics of such names usually have, and how to say what is meant."""
    usual = {task: usual_direction(task or title) or direction for task, direction in better.items()}
    doubtful = [task for task, direction in better.items() if {direction, usual[task]} == {"higher", "lower"}]
    meant = " ".join(_named(task, usual[task]) for task in better)
    return [
        f"{better[task].capitalize()} values of {task or title} count as better, though its name says that "
        f"{usual[task]} ones are. If so, say {meant if task else f'--better {usual[task]}'}."
        for task in doubtful[:1]
    ]


def _words(name: str) -> tuple[str, str]:
    """Return what a column is called, of one and of several."""
    plain = name.removesuffix("_id").removesuffix(" ID").replace("_", " ").strip() or "cluster"
    return plain, plain if plain.endswith("s") else f"{plain}s"


def ranking_of_table(
    table: ScoreTable,
    scheme: Scheme | None,
    *,
    over_tasks: Mapping[str, Any],
    made_with: Mapping[str, Any],
    **asked: Any,
) -> Ranking:
    """Return the ranking of a table.

    Parameters
    ----------
    over_tasks
        Options of `scheme_rule`.
    made_with, asked
        What was settled about the table, for whoever reads the result; options of `Ranking`.
    """
    if scheme is None:
        raise InputError("a table has no rules of its own", advice="Give a scheme, such as aggregate-then-rank")
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in made_with.items()}
    if not options.get("ranges"):
        options.pop("ranges", None)
    return Ranking(
        scheme_rule(table, scheme, **over_tasks),
        lambda: table_alternatives(table, scheme, **over_tasks),
        made_with={"scheme": scheme.name, **options},
        table=table,
        **asked,
    )


def _chosen(texts: Sequence[str], known: Sequence[str], better: str | None, path: Path | None) -> _Tasks:
    """Take tasks apart, NAME[:higher|lower[:WEIGHT]]; a name that the table has is a name, whatever is in it."""
    directions: dict[str, str | None] = {}
    weights: dict[str, float] = {}
    for text in texts:
        # The longest name that fits: what a task is called may itself look like a direction.
        fitting = sorted((name for name in known if text.startswith(name)), key=len, reverse=True)
        parts = {name: _SAID.fullmatch(text.removeprefix(name)) for name in fitting}
        name = next((name for name, said in parts.items() if said), text)
        said = parts.get(name)
        if not said:
            raise _no_task(name, known, path)
        if name in directions:
            raise InputError(f"the task {name} is named twice")
        directions[name] = said["better"] or better
        if said["weight"]:
            weights[name] = _weight(name, said["weight"])
    for name in known or [""]:
        if not texts:
            directions[name] = better
    advice = f"Name every task that is to be ranked: {' '.join(f'--task {shlex.quote(name)}' for name in known[:3])}"
    if weights and len(directions) == 1:
        raise InputError("the weight of a single task changes nothing", advice=advice)
    plain = any(text in known for text in texts)
    if better and texts and not plain and len(directions) < len(known):
        raise InputError(
            f"every task that was named says its direction, and --better {better} is for none", advice=advice
        )
    if lacking := [name for name, direction in directions.items() if direction is None]:
        where = f" in {lacking[0]}" if lacking[0] else ""
        forms = [_named(name) for name in lacking[:4]]
        more = " ..." if len(lacking) > len(forms) else ""
        by_task = f", or for each task: {' '.join(forms)}{more}" if lacking[0] else ""
        raise InputError(
            f"a table does not say which values are better{where}",
            path=path,
            advice=f"Say --better higher or --better lower{by_task}",
        )
    return _Tasks(list(directions), {name: str(direction) for name, direction in directions.items()}, weights)


def _weight(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"the weight of {name} is {text!r}", advice="Say it as --task HD95:lower:2") from None


def _named(task: str, better: str = "") -> str:
    """Return how a task is named with its direction, as a shell takes it."""
    direction = better or usual_direction(task) or "higher"
    return f"--task {shlex.quote(f'{task}:{direction}')}"


def _no_task(text: str, known: Sequence[str], path: Path | None) -> InputError:
    name, colon, rest = text.partition(":")
    plain = {other.casefold(): other for other in known}
    advice = f"There are: {', '.join(known)[:200]}" if known else "All values are of one kind: leave out the name"
    for close in difflib.get_close_matches(name.casefold(), plain, n=1):
        said = rest.partition(":")[0] if rest.startswith(("higher", "lower")) else ""
        advice += f". Did you mean {_named(plain[close], said) if colon else plain[close]}?"
    return InputError(f"there is no task {text!r}", path=path, advice=advice)
