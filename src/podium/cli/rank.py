"""`podium rank`: a ranking from a run or from a table, and how sure it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from podium.cli._console import failing_clearly, say
from podium.cli.challenge import Json, Options, challenge_options, show

if TYPE_CHECKING:
    from podium.model import Leaderboard
    from podium.ranking import Assessment, Contest, Scheme
    from podium.ranking.score_table import Missing

OWN = "own"


class _Source(NamedTuple):
    """What is ranked: the contest, other rules for it, and where results go unless said otherwise."""

    contest: Contest
    alternatives: Any
    folder: Path | None


def rank(
    context: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|TABLE.csv",
            help="A run folder, or a CSV table with the columns submission, case, value, and optionally task, cluster "
            "and stratum.",
        ),
    ],
    *,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="own (the challenge's rules), aggregate-then-rank, rank-then-aggregate or test-then-rank. Over "
            "several tasks, ranks are averaged.",
        ),
    ] = None,
    statistic: Annotated[str, typer.Option(help="What aggregates: mean, median, or a share such as 0.05.")] = "mean",
    adjustment: Annotated[
        str, typer.Option(help="Of p-values in test-then-rank: none, holm, bonferroni or benjamini-hochberg.")
    ] = "none",
    alpha: Annotated[float, typer.Option(help="What is significant in test-then-rank.")] = 0.05,
    task: Annotated[
        list[str] | None, typer.Option(help="A task of the table, if not all; repeat for more.", metavar="NAME")
    ] = None,
    better: Annotated[str | None, typer.Option(help="For a table: are higher or lower values better?")] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="What a missing value costs in a general scheme: drop (leaves the case out), worst (of the case), or "
            "a number.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="What a column is called in the table; repeat for more.", metavar="submission=NAME"),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="By what a general scheme ranks a run; repeat for more.", metavar="METRIC[:TARGET]"),
    ] = None,
    option: Options = None,
    bootstrap: Annotated[int, typer.Option(help="How many resamples tell how sure the ranking is.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Which resamples.", min=0)] = 1,
    level: Annotated[float, typer.Option(help="Of confidence intervals.")] = 0.95,
    interval: Annotated[str, typer.Option(help="bootstrap-t, percentile or bca.")] = "bootstrap-t",
    jobs: Annotated[int | None, typer.Option(help="Threads; by default all processors.", min=1)] = None,
    out: Annotated[Path | None, typer.Option(help="Where tables and JSON go; the run itself by default.")] = None,
    as_json: Json = False,
) -> None:
    """Rank from the measurements of a run, or from a table, and say how sure the ranking is."""
    with failing_clearly(debug=context.obj["debug"]):
        from podium.evaluate import write_leaderboard
        from podium.evaluate.record import leaderboard_document
        from podium.io import json_text

        general = _scheme(scheme, statistic, adjustment, alpha)
        if source.is_dir():
            found = _of_run(source, general, _missing(missing), metric, option, table_only=better or column or task)
        else:
            found = _of_table(source, general, better, _missing(missing), column, task, run_only=metric or option)
        board = found.contest.leaderboard()
        folder = out or found.folder
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            write_leaderboard(folder, board)
        document = leaderboard_document(board)
        if not bootstrap:
            if not as_json:
                show(board)
        else:
            assessment = _assessed(found, bootstrap=bootstrap, seed=seed, level=level, interval=interval, jobs=jobs)
            document = _written(assessment, document, folder)
            if not as_json:
                _show(assessment, board)
        if as_json:
            typer.echo(json_text(document), nl=False)
        elif folder:
            say(f"Tables are in {folder}.")


def rank_with_uncertainty(folder: Path, *, bootstrap: int = 1000) -> None:
    """Rank a run by its challenge's own rules, show how sure that is, and write everything to the run folder."""
    from podium.evaluate.record import leaderboard_document

    found = _of_run(folder, None, None, None, None, table_only=None)
    board = found.contest.leaderboard()
    assessment = _assessed(found, bootstrap=bootstrap, seed=1, level=0.95, interval="bootstrap-t", jobs=None)
    _written(assessment, leaderboard_document(board), folder)
    _show(assessment, board)


def _scheme(name: str | None, statistic: str, adjustment: str, alpha: float) -> Scheme | None:
    """Return a general scheme, or None for the challenge's own."""
    from podium.ranking import scheme_named

    if name in (None, OWN):
        return None
    return scheme_named(name or "", statistic=statistic, adjustment=adjustment, alpha=alpha)  # type: ignore[arg-type]


def _missing(text: str | None) -> Missing | None:
    from podium.model import InputError

    if text is None or text == "drop" or text == "worst":
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"there is no way {text!r} to treat missing values", advice="Say drop, worst, or a number"
        ) from None


def _of_run(
    folder: Path,
    scheme: Scheme | None,
    missing: Missing | None,
    metrics: list[str] | None,
    given: list[str] | None,
    *,
    table_only: object,
) -> _Source:
    """Return what a run folder ranks."""
    from podium.challenges import get_challenge
    from podium.evaluate import load_run
    from podium.model import InputError
    from podium.ranking import (
        challenge_alternatives,
        challenge_contest,
        scheme_contest,
        table_alternatives,
        table_of_challenge,
    )

    if table_only:
        raise InputError("--better, --column and --task are for tables; a run knows its own")
    loaded = load_run(folder)
    options = challenge_options(loaded.info["challenge"], given)
    challenge = get_challenge(loaded.info["challenge"], **(loaded.info["options"] | options))
    if fixed := sorted(set(options) - set(challenge.scoring_options)):
        possible = ", ".join(challenge.scoring_options) or "none"
        raise InputError(
            f"{fixed[0]} is part of what was measured", advice=f"Evaluate again; when ranking, there are: {possible}"
        )
    if scheme is None:
        if metrics or missing is not None:
            raise InputError(
                "--metric and --missing are for general schemes; the challenge's own rules have both settled",
                advice="Give a --scheme, such as aggregate-then-rank",
            )
        contest = challenge_contest(challenge, loaded.table, roles=loaded.roles)
        return _Source(contest, challenge_alternatives(challenge, loaded.table, roles=loaded.roles), folder)
    quantities = [(name, target) for name, _, target in (text.partition(":") for text in metrics or [])]
    table = table_of_challenge(
        challenge, loaded.table, roles=loaded.roles, missing=missing, quantities=quantities or None
    )
    return _Source(scheme_contest(table, scheme), table_alternatives(table, scheme), None)


def _of_table(
    path: Path,
    scheme: Scheme | None,
    better: str | None,
    missing: Missing | None,
    columns: list[str] | None,
    tasks: list[str] | None,
    *,
    run_only: object,
) -> _Source:
    """Return what a table ranks; without a scheme, by means."""
    from podium.io import read_scores
    from podium.model import InputError
    from podium.ranking import AggregateThenRank, scheme_contest, table_alternatives, table_of_scores

    if run_only:
        raise InputError("--metric and --option are for runs of a challenge, this is a table")
    if not path.exists():
        raise InputError("there is no such run folder or table", path=path)
    called = {}
    for text in columns or []:
        ours, equals, theirs = text.partition("=")
        if not equals:
            raise InputError(f"--column {text} is not of the form submission=NAME")
        called[ours] = theirs
    scores = read_scores(path, columns=called)
    if better is None:
        raise InputError("a table does not say which values are better", advice="Say --better higher or --better lower")
    if tasks:
        known = sorted(scores["task"].unique().to_list()) if "task" in scores.columns else []
        if unknown := [task for task in tasks if task not in known]:
            raise InputError(f"there is no task {unknown[0]!r}", path=path, advice=f"There are: {', '.join(known)}")
        scores = scores.filter(scores["task"].is_in(tasks))
    table = table_of_scores(scores, better=better, missing=missing, name=path.name)
    rule = scheme or AggregateThenRank("mean")
    return _Source(scheme_contest(table, rule), table_alternatives(table, rule), None)


def _assessed(
    found: _Source, *, bootstrap: int, seed: int, level: float, interval: str, jobs: int | None
) -> Assessment:
    """Assess, with a progress bar."""
    from podium.cli._progress import stages_done
    from podium.ranking import assess

    with stages_done() as progress:
        return assess(
            found.contest,
            found.alternatives,
            bootstrap=bootstrap,
            seed=seed,
            level=level,
            interval=interval,  # type: ignore[arg-type]
            jobs=jobs,
            progress=progress,
        )


def _written(assessment: Assessment, board: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Write the tables if there is a folder, and return everything as one document."""
    from podium.io import json_text, write_text
    from podium.ranking import assessment_document, assessment_tables

    document = assessment_document(assessment) | {"leaderboard": board}
    if folder:
        for name, table in assessment_tables(assessment).items():
            write_text(folder / f"{name}.csv", table.write_csv())
        write_text(folder / "ranking.json", json_text(document))
    return document


def _show(assessment: Assessment, board: Leaderboard) -> None:
    """Print the leaderboard with what is sure of it, and the rest in words."""
    from rich.console import Console
    from rich.text import Text

    from podium.report.words import sentences

    stability, sure = assessment.stability, assessment.confidence
    names = stability.submissions
    spans = {
        name: f"{rank.best}–{rank.worst}" if rank.best < rank.worst else str(rank.best)
        for name, rank in zip(names, sure.ranks, strict=True)
    }
    first = {name: f"{share:.0%}" for name, share in zip(names, stability.first.tolist(), strict=True)}
    show(board, beside={f"true place, {sure.level:.0%} sure": spans, "first in resamples": first})
    console = Console()
    console.print()
    for line in sentences(assessment):
        console.print(Text(line))
    for warning in sure.warnings:
        console.print(Text(warning, style="yellow"))
