"""Figures and pages of a run or a ranking."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from podium.ranking import Ranking

__all__ = ["figure_of", "write_report"]

_FOLDERS_OF_MATPLOTLIB = "_get_config_or_cache_dir"
# Without a home, Matplotlib takes a temporary folder, as it should, and need not talk about it.
logging.getLogger("matplotlib").addFilter(lambda record: record.funcName != _FOLDERS_OF_MATPLOTLIB)


def figure_of(ranking: Ranking, name: str) -> Figure:
    """Draw one figure of a ranking; where there is one for each of several measures, the first.

    Parameters
    ----------
    ranking
        Of a run, or of a table.
    name
        One of `podium.report.figures.FIGURES`.
    """
    from podium.model import InputError
    from podium.report.data import gather
    from podium.report.figures import Nothing, draw

    ((_, drawn),) = draw(gather(ranking), only=[name])
    if isinstance(drawn, Nothing):
        raise InputError(f"there is nothing to draw: {drawn.reason}")
    return drawn[0][1]


def write_report(
    ranking: Ranking,
    out: Path | None = None,
    *,
    only: Sequence[str] | None = None,
    submission: str | None = None,
    anonymise: bool = False,
    title: str | None = None,
    images: str | Path | None = None,
    pictures: bool = True,
    formats: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write a page about a ranking, and figures beside it; return where the page is.

    Parameters
    ----------
    ranking
        Of a run, or of a table.
    out
        The page, or a folder for it; by default report.html in the run folder.
    only, formats
        Figures, if not all, and formats of their files, if not svg, pdf and png.
    submission
        Whom the report is about.
    anonymise
        Whether teams are called A, B, C …; the one whom the report is about keeps its name.
    title
        Of the page.
    images
        The folder with the images of the cases, for pictures.
    pictures
        Whether cases are shown, from the inputs of the run.
    progress, say
        Are told what is being done, and what was written.
    """
    from podium.model import InputError
    from podium.report.build import build_report
    from podium.report.data import gather
    from podium.report.figures import FIGURES, FORMATS

    page = _page(ranking, out)
    if images is not None and not Path(images).is_dir():
        raise InputError("this is not a folder", path=images, advice="Give the folder that holds the images of cases")
    if unknown := sorted(set(only or ()) - set(FIGURES)):
        raise InputError(f"there is no figure called {unknown[0]!r}", advice=f"There are: {', '.join(FIGURES)}")
    if unknown := sorted(set(formats or ()) - set(FORMATS)):
        raise InputError(f"there is no format {unknown[0]!r}", advice=f"There are: {', '.join(FORMATS)}")
    data = gather(ranking, title=title, anonymise=anonymise, submission=submission)
    built = build_report(
        data,
        page,
        figures=page.parent / "figures",
        only=only,
        formats=formats or FORMATS,
        run=ranking.run if pictures else None,
        images=None if images is None else Path(images),
        overwrite=out is not None and out == page,  # somebody named the very file
        progress=progress,
    )
    figures = f"{built.figures} figure{'s' * (built.figures != 1)}"
    figures += f" and {built.pictures} picture{'s' * (built.pictures != 1)}" if built.pictures else ""
    are = "is" if built.figures == 1 and not built.pictures else "are"
    say(f"The report is {page} ({built.size / 1e6:.1f} MB); {figures} {are} in {page.parent / 'figures'}.")
    return page


def _page(ranking: Ranking, out: Path | None) -> Path:
    """Return the file that the page goes to."""
    from podium.model import InputError

    if out is None:
        if ranking.run is None or ranking.run.folder is None:
            raise InputError("a ranking that comes from no run folder needs a place for its page", advice="Say where")
        return Path(ranking.run.folder) / "report.html"
    if out.suffix.lower() in (".html", ".htm") and not out.is_dir():
        return out
    if re.fullmatch(r"\.\w{1,5}", out.suffix) and not out.is_dir():  # a folder may have dots in its name
        raise InputError("a page ends with .html", path=out, advice="Name the file, such as report.html, or a folder")
    return out / "report.html"
