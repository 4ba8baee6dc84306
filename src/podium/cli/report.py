"""`podium report`: a page and figures from a run or from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli._console import failing_clearly, say
from podium.cli._options import (
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
    Lacking,
    Layout,
    Level,
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


def report(
    context: typer.Context,
    source: Source,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page, or a folder for it; by default report.html in the run folder, or in TABLE-report. Figures "
            "go to figures/ beside it."
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="A figure, if not all; repeat for more.", metavar="NAME")
    ] = None,
    submission: Annotated[
        str | None, typer.Option(help="The submission that the report is about.", metavar="NAME")
    ] = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="Call teams A, B, C …; the one of --submission keeps its name.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    images: Annotated[Path | None, typer.Option(help="The folder with the images of the cases, for pictures.")] = None,
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
    bootstrap: Annotated[
        int, typer.Option(help="How many resamples tell how sure the ranking is; 0 for none.", min=0)
    ] = 1000,
    seed: Seed = 1,
    level: Level = 0.95,
    interval: Interval = "bootstrap-t",
    jobs: Jobs = None,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Whether cases are shown, from the inputs of the run.")
    ] = True,
    form: Annotated[
        list[str] | None,
        typer.Option("--format", help="Of figure files, svg, pdf or png, if not all; repeat for more.", metavar="NAME"),
    ] = None,
) -> None:
    """Write a page that can be published, and every figure as SVG, PDF and PNG."""
    with failing_clearly(debug=context.obj["debug"]):
        import podium
        from podium.cli._progress import stages_done

        with stages_done() as progress:
            ranking = podium.rank(
                source if len(source) > 1 else source[0],
                better=better,
                scheme=scheme,
                statistic=statistic,
                adjustment=adjustment,  # type: ignore[arg-type]  # what there is, the scheme says
                alpha=alpha,
                tasks=task or (),
                missing=given_missing(missing),
                ranges=given_ranges(ranges),
                consensus=consensus,
                differences=differences,
                columns=given_options(column, flag="--column", form="submission=NAME"),
                layout=layout,
                separator=separator,
                decimal=decimal,
                encoding=encoding,
                sheet=sheet,
                bootstrap=bootstrap,
                seed=seed,
                level=level,
                interval=interval,  # type: ignore[arg-type]  # what there is, the interval says
                jobs=jobs,
                progress=progress,
            )
            if out is None and ranking.run is None:
                out = Path(f"{source[0].stem if len(source) == 1 else 'tables'}-report")
            ranking.report(
                out,
                only=only,
                submission=submission,
                anonymise=anonymise,
                title=title,
                images=images,
                pictures=pictures,
                formats=form,
                progress=progress,
                say=say,
            )
