"""`podium rank`: a ranking from a run or from a table, and how sure it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli._completion import metric_names
from podium.cli._console import failing_clearly, print_json, say
from podium.cli._options import (
    SURE,
    Adjust,
    Alpha,
    Better,
    Columns,
    Compared,
    Consensus,
    Decimal,
    Encoding,
    Interval,
    Jobs,
    Json,
    Lacking,
    Layout,
    Level,
    Options,
    Ranges,
    Scheme,
    Seed,
    Separator,
    Sheet,
    Source,
    Statistic,
    Tasks,
    given_missing,
    given_options,
    given_ranges,
)


def rank(
    context: typer.Context,
    source: Source,
    *,
    scheme: Scheme = None,
    statistic: Statistic = "mean",
    adjustment: Adjust = "none",
    alpha: Alpha = 0.05,
    consensus: Consensus = None,
    differences: Compared = None,
    task: Tasks = None,
    better: Better = None,
    ranges: Ranges = None,
    missing: Lacking = None,
    column: Columns = None,
    layout: Layout = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="By what a general scheme ranks a run; repeat for more.",
            metavar="METRIC[:TARGET]",
            autocompletion=metric_names,
        ),
    ] = None,
    option: Options = None,
    bootstrap: Annotated[
        int,
        typer.Option(help="How many resamples tell how sure the ranking is.", metavar="N", min=0, rich_help_panel=SURE),
    ] = 0,
    seed: Seed = 1,
    level: Level = 0.95,
    interval: Interval = "bootstrap-t",
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Say how many cases would separate the first from the second.", rich_help_panel=SURE
        ),
    ] = False,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            help="What matters, in the unit of the criterion: say who is better by more than that, no worse, or "
            "equivalent. Repeat it with names where several criteria decide.",
            metavar="NUMBER|CRITERION=NUMBER",
            rich_help_panel=SURE,
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
            help="Where tables and JSON go; by default the run, and under other options a folder of its own in it.",
            metavar="DIR",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank from the measurements of a run, or from a table, and say how sure the ranking is.

    Examples
    --------
    podium rank run --bootstrap 1000
    podium rank run --scheme rank-then-aggregate --metric dice:tumor
    podium rank results.csv --better higher --bootstrap 1000 --plan
    podium rank results.xlsx --task dice:higher --task hd95:lower:2
    podium rank results.csv --better higher --by cases.csv:scanner --margin 0.01
    """
    with failing_clearly(context):
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
                missing=given_missing(missing),
                tasks=task or (),
                ranges=given_ranges(ranges),
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
            from podium.run import ranking_document_of

            print_json(ranking_document_of(ranking))
            return
        show_ranking(ranking)
        if not bootstrap and (interval != "bootstrap-t" or level != 0.95):
            say("--interval and --level tell how sure a ranking is, which needs resamples: add --bootstrap 1000.")
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
