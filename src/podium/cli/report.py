"""`podium report`: a page and figures from a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.cli._console import failing_clearly, say

if TYPE_CHECKING:
    import polars as pl

    from podium.evaluate.submissions import Files
    from podium.model import Expected


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
        write_report(
            run,
            out=out,
            only=only,
            submission=submission,
            anonymise=anonymise,
            title=title,
            images=images,
            bootstrap=bootstrap,
            seed=seed,
            pictures=pictures,
            formats=form,
        )


def write_report(
    run: Path,
    *,
    out: Path | None = None,
    only: Sequence[str] | None = None,
    submission: str | None = None,
    anonymise: bool = False,
    title: str | None = None,
    images: Path | None = None,
    bootstrap: int = 1000,
    seed: int = 1,
    pictures: bool = True,
    formats: Sequence[str] | None = None,
) -> Path:
    """Write the report of a run, with a progress bar; say where it is, and return that."""
    from podium.challenges import get_challenge
    from podium.cli._progress import stages_done
    from podium.evaluate import load_run
    from podium.model import InputError
    from podium.report.build import build_report
    from podium.report.data import gather
    from podium.report.figures import FIGURES, FORMATS

    if images is not None and not images.is_dir():
        raise InputError("this is not a folder", path=images, advice="Give the folder that holds the images of cases")
    if out is not None and (out.is_dir() or out.suffix.lower() not in (".html", ".htm")):
        raise InputError("a page ends with .html", path=out, advice="Name the file, such as report.html")
    if unknown := sorted(set(only or ()) - set(FIGURES)):
        raise InputError(f"there is no figure called {unknown[0]!r}", advice=f"There are: {', '.join(FIGURES)}")
    if unknown := sorted(set(formats or ()) - set(FORMATS)):
        raise InputError(f"there is no format {unknown[0]!r}", advice=f"There are: {', '.join(FORMATS)}")
    loaded = load_run(run)
    challenge = get_challenge(loaded.info["challenge"], **loaded.info["options"])
    page = out or run / "report.html"
    with stages_done() as progress:
        data = gather(
            challenge,
            loaded.info,
            loaded.table,
            loaded.roles,
            _failures(run),
            title=title,
            bootstrap=bootstrap,
            seed=seed,
            anonymise=anonymise,
            submission=submission,
            progress=progress,
        )
        built = build_report(
            data,
            page,
            figures=page.parent / "figures",
            only=only,
            formats=formats or FORMATS,
            open_submission=_opened if pictures else None,
            info=loaded.info,
            images=images,
            folder=run,
            progress=progress,
        )
    figures = f"{built.figures} figures{f' and {built.pictures} pictures' if built.pictures else ''}"
    say(f"The report is {page} ({built.size / 1e6:.1f} MB); {figures} are in {page.parent / 'figures'}.")
    return page


def _failures(run: Path) -> pl.DataFrame:
    """Return what went wrong; nothing where that was not written."""
    import polars as pl

    from podium.model import InputError

    names = ("submission", "case", "status", "reason")
    path = run / "failures.csv"
    if not path.is_file():
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    try:
        table = pl.read_csv(path, infer_schema=False).fill_null("")
        return table.select(names)
    except pl.exceptions.PolarsError as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"this table is damaged ({reason})", path=path, advice="Evaluate again") from None


@contextmanager
def _opened(path: Path, wanted: Sequence[Expected]) -> Iterator[Files]:
    """Make the files of a submission accessible, those of an archive for a while."""
    from podium.evaluate.submissions import Submission, opened

    with opened(Submission(path.name, path), wanted) as files:
        yield files
