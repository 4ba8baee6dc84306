"""`podium report`: a page and figures from a run or from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli._completion import figure_names
from podium.cli._console import failing_clearly, say
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
            help="The page, or a folder for it; by default report.html in the run folder (with --public in public/ "
            "there, with --team in teams/), in TABLE-report, or of several runs in comparison. Figures go to figures/ "
            "beside it.",
            metavar="FILE|DIR",
        ),
    ] = None,
    paper: Annotated[
        Path | None,
        typer.Option(
            help="A folder for what a paper needs, in place of a page unless --out is given too: figures at column "
            "width, the leaderboard as LaTeX and CSV, a methods section, references.",
            metavar="DIR",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="A figure, if not all; repeat for more.", metavar="NAME", autocompletion=figure_names),
    ] = None,
    submission: Annotated[
        str | None,
        typer.Option(
            help="The submission that the report is about: the organiser's view, with everything of everybody.",
            metavar="NAME",
        ),
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Make the page to publish: no cases, nor their names, values or pictures, no reasons of failures, no "
            "paths, no digests of files.",
        ),
    ] = False,
    team: Annotated[
        str | None,
        typer.Option(
            help="Make the page that this team may have: its own cases and failures, and of others what is public. No "
            "pictures, as they show the truth; where a label is one of few, values of cases may tell it too.",
            metavar="NAME",
        ),
    ] = None,
    anonymise: Annotated[
        bool,
        typer.Option("--anonymise", help="Call teams A, B, C …; the one of --submission or --team keeps its name."),
    ] = False,
    title: Annotated[str | None, typer.Option(help="Of the page.", metavar="TEXT")] = None,
    images: Annotated[
        Path | None, typer.Option(help="The folder with the images of the cases, for pictures.", metavar="DIR")
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            help="A case to look at, besides the worst of the winners and the most disputed; repeat for more.",
            metavar="NAME",
        ),
    ] = None,
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
        int,
        typer.Option(
            help="How many resamples tell how sure the ranking is; 0 for none.",
            metavar="N",
            min=0,
            rich_help_panel=SURE,
        ),
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
        typer.Option("--format", help="Of figure files, if not svg alone: pdf, png; repeat for more.", metavar="NAME"),
    ] = None,
) -> None:
    """Write a page about a ranking, and every figure as a file: the organiser's, the public's or a team's.

    Of several run folders of one challenge, such as phases or years, it shows the rankings side by side.

    Examples
    --------
    podium report run                                            # report.html in the run, figures beside it
    podium report run --public                                   # the page to publish, in run/public
    podium report run --team alpha                               # what team alpha may have, in run/teams
    podium report run --submission alpha --anonymise             # about one team, others without their names
    podium report results.csv --better higher --out page.html
    podium report run --only places --only forest_plot --format pdf
    podium report run --paper paper                              # figures, tables and a methods section for a paper
    podium report run2025 run2026                                # who moved, which cases changed
    """
    with failing_clearly(context):
        import podium
        from podium.cli._progress import stages_done
        from podium.model import InputError

        several = len(source) > 1 and any((path / "run.json").is_file() for path in source)
        alone = {"--submission": submission, "--team": team, "--only": only, "--images": images, "--scheme": scheme}
        if several and (given := [name for name, value in alone.items() if value]):
            raise InputError(f"{given[0]} is for a single run", advice="Leave it out to compare runs side by side")
        with stages_done() as progress:
            if several:
                podium.compare_runs(
                    source,
                    out=out or Path("comparison-public" if public else "comparison"),
                    title=title,
                    public=public,
                    anonymise=anonymise,
                    formats=form or ("svg",),
                    bootstrap=bootstrap,
                    seed=seed,
                    level=level,
                    interval=interval,  # type: ignore[arg-type]  # what there is, the interval says
                    jobs=jobs,
                    progress=progress,
                    say=say,
                )
                return
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
            if out is None and paper is None and ranking.run is None:
                from podium.report.figures import slug

                kind = "public" if public else "report" if team is None else f"for-{slug(team) or 'team'}"
                out = Path(f"{source[0].stem if len(source) == 1 else 'tables'}-{kind}")
            ranking.report(
                out,
                only=only,
                submission=submission,
                public=public,
                team=team,
                anonymise=anonymise,
                title=title,
                images=images,
                pictures=pictures,
                cases=case or (),
                formats=form,
                paper=paper,
                progress=progress,
                say=say,
            )
