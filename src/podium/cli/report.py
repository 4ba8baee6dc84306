"""`podium report`: a page and figures from a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli._console import failing_clearly, say


def report(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, from podium evaluate.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="The page; by default report.html in the run folder. Figures go to figures/ beside it."),
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
    bootstrap: Annotated[
        int, typer.Option(help="How many resamples tell how sure the ranking is; 0 for none.", min=0)
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Which resamples.", min=0)] = 1,
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
            podium.load(run).report(
                out,
                bootstrap=bootstrap,
                seed=seed,
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
