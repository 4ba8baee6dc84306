"""`podium rank`: a ranking from a run or from a table, and how sure it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._console import failing_clearly, say
from podium.cli._options import Jobs, Json, Options, given_options

if TYPE_CHECKING:
    from podium.ranking.score_table import Missing


def rank(
    context: typer.Context,
    source: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|TABLE",
            help="A run folder, or a table (CSV of any kind, Parquet, Excel) with the columns submission, case, value, "
            "and optionally task, cluster and stratum, or with teams, metrics or cases as columns. Or a folder of "
            "tables or several, one for each team.",
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
    consensus: Annotated[
        str | None,
        typer.Option(help="Which ranks are averaged over tasks, where equals share one: minimum or average."),
    ] = None,
    differences: Annotated[
        str | None, typer.Option(help="In tests, are ties those on paper, or of raw binary numbers: paper or raw?")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="A task of the table, if not all, perhaps with its direction and weight; repeat for more.",
            metavar="NAME[:higher|lower[:WEIGHT]]",
        ),
    ] = None,
    better: Annotated[
        str | None,
        typer.Option(help="For a table: are higher or lower values better, in tasks that do not say?"),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--range", help="From where to where values can lie, of all tasks or of one.", metavar="[TASK=]LOW:HIGH"
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="What a missing value costs in a general scheme: worst (that anybody has in the task), a number (at "
            "least as bad), or drop (leaves the case out).",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="What a column is called in the table; repeat for more. One may be case and cluster.",
            metavar="submission=NAME",
        ),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="Of a table: long, wide (teams are columns), metrics or cases (are columns)."),
    ] = None,
    separator: Annotated[str | None, typer.Option(help="Between columns: , or ; or tab.")] = None,
    decimal: Annotated[str | None, typer.Option(help="The decimal mark: . or ,")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of a table: utf-8, utf-16, cp1252, ...")] = None,
    sheet: Annotated[str | None, typer.Option(help="Of a workbook, by name or number.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="By what a general scheme ranks a run; repeat for more.", metavar="METRIC[:TARGET]"),
    ] = None,
    option: Options = None,
    bootstrap: Annotated[int, typer.Option(help="How many resamples tell how sure the ranking is.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Which resamples.", min=0)] = 1,
    level: Annotated[float, typer.Option(help="Of confidence intervals.")] = 0.95,
    interval: Annotated[str, typer.Option(help="bootstrap-t, percentile or bca.")] = "bootstrap-t",
    plan: Annotated[
        bool, typer.Option("--plan", help="Say how many cases would separate the first from the second.")
    ] = False,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            help="What matters, in the unit of the criterion: say who is better by more than that, no worse, or "
            "equivalent. Repeat it with names where several criteria decide.",
            metavar="NUMBER|CRITERION=NUMBER",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Rank in subgroups as well: by a column of the table, or of a file with the column case.",
            metavar="COLUMN|FILE.csv:COLUMN",
        ),
    ] = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where tables and JSON go; by default the run, and under other options a folder of its own in it."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank from the measurements of a run, or from a table, and say how sure the ranking is."""
    with failing_clearly(debug=context.obj["debug"]):
        import podium
        from podium.cli._board import show_lines, show_ranking
        from podium.cli._progress import stages_done

        with stages_done() as progress:
            ranking = podium.rank(
                source if len(source) > 1 else source[0],
                better=better,
                scheme=scheme,
                statistic=statistic,
                adjustment=adjustment,  # type: ignore[arg-type]  # what there is, the scheme says
                alpha=alpha,
                missing=_missing(missing),
                tasks=task or (),
                ranges=_ranges(limits),
                consensus=consensus,
                differences=differences,
                columns=given_options(column, flag="--column", form="submission=NAME"),
                layout=layout,
                separator=separator,
                decimal=decimal,
                encoding=encoding,
                sheet=sheet,
                measures=[(name, target) for name, _, target in (text.partition(":") for text in metric or [])],
                options=given_options(option),
                bootstrap=bootstrap,
                seed=seed,
                level=level,
                interval=interval,  # type: ignore[arg-type]  # what there is, the interval says
                jobs=jobs,
                progress=progress,
                plan=plan,
                margin=_margin(margin),
                by=by,
                out=out,
                write=True,
            )
            answers = ranking.answers
        if bootstrap:
            ranking.stability  # noqa: B018  # or say why nothing can be drawn anew
        if as_json:
            from podium.io import json_text
            from podium.run import ranking_document_of

            typer.echo(json_text(ranking_document_of(ranking)), nl=False)
            return
        show_ranking(ranking)
        for answer in answers:
            show_lines(answer.sentences, ranking.rule.submissions)
        if ranking.folder:
            say(f"Tables are in {ranking.folder}.")


def _margin(texts: list[str] | None) -> float | dict[str, float] | None:
    """Return a margin from --margin: a number, or numbers by criterion."""
    from podium.model import InputError

    named = {name: number for name, _, number in (text.rpartition("=") for text in texts or [])}
    try:
        margins = {name: float(number) for name, number in named.items()}
    except ValueError:
        form = "--margin 0.01, or --margin CRITERION=0.01"
        raise InputError(f"the margin {', '.join(texts or [])} is no number", advice=f"Say {form}") from None
    if "" in margins and len(texts or []) > 1:
        raise InputError("several margins need names", advice="Say --margin CRITERION=0.01 for each")
    return margins.get("", margins) if margins else None


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


def _ranges(texts: list[str] | None) -> dict[str, tuple[float, float]]:
    """Return LOW:HIGH, or TASK=LOW:HIGH, by task; an end that is left out is none."""
    from podium.model import InputError

    ranges = {}
    for text in texts or []:
        task, _, ends = text.rpartition("=")
        low, colon, high = ends.partition(":")
        try:
            ranges[task] = float(low or "-inf"), float(high or "inf")
        except ValueError:
            colon = ""
        if not colon:
            raise InputError(f"--range {text} is not of the form LOW:HIGH or TASK=LOW:HIGH")
    return ranges
