"""Figures and pages of a run or a ranking."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from podium.ranking import Ranking
    from podium.report.audience import Audience

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
    public: bool = False,
    team: str | None = None,
    anonymise: bool = False,
    title: str | None = None,
    images: str | Path | None = None,
    pictures: bool = True,
    cases: Sequence[str] = (),
    formats: Sequence[str] | None = None,
    paper: str | Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write a page about a ranking, and figures beside it; return where the page is.

    Parameters
    ----------
    ranking
        Of a run, or of a table.
    out
        The page, or a folder for it; by default report.html in the run folder, a public page in public/ there, and
        that of a team in a folder of its own in teams/.
    only, formats
        Figures, if not all, and formats of their files, of svg, pdf and png; by default svg.
    submission
        Whom the report is about. The page is the organiser's all the same, and shows everything of everybody.
    public
        Whether the page is to be published: without cases, their names, values, pictures and reasons of failures,
        without paths and digests of files, and without the machine.
    team
        A submission whose team is to have the page: public but for its own cases and failures. No pictures, which show
        the hidden truth.
    anonymise
        Whether teams are called A, B, C …; the one whom the report is about, or who is to have it, keeps its name.
    title
        Of the page.
    images
        The folder with the images of the cases, for pictures.
    pictures
        Whether cases are shown, from the inputs of the run.
    cases
        Names of cases to look at in the page, besides the worst of the winners and the one that is disputed most.
    paper
        A folder for what a paper needs: figures at column width, leaderboard, methods, references. It is written in
        place of a page unless there is `out` too.
    progress, say
        Are told what is being done, and what was written.
    """
    from podium.model import InputError
    from podium.report.audience import Audience
    from podium.report.build import build_report
    from podium.report.data import gather
    from podium.report.figures import FIGURES, FORMATS
    from podium.report.viewer import check_cases
    from podium.run import RunFolder

    if team is not None and (public or submission is not None):
        other = "public" if public else "submission"
        raise InputError(f"a page for a team leaves no room for {other}", advice=f"Give team or {other}, not both")
    audience = Audience.PUBLIC if public else Audience.ORGANISER if team is None else Audience.TEAM
    if images is not None and audience is not Audience.ORGANISER:
        raise InputError(
            "pictures show the hidden truth, so only the organiser's page has them", advice="Leave out images"
        )
    page = _page(ranking, out, audience, team) if paper is None or out is not None else None
    if images is not None and not Path(images).is_dir():
        raise InputError("this is not a folder", path=images, advice="Give the folder that holds the images of cases")
    if unknown := sorted(set(only or ()) - set(FIGURES)):
        raise InputError(f"there is no figure called {unknown[0]!r}", advice=f"There are: {', '.join(FIGURES)}")
    if unknown := sorted(set(formats or ()) - set(FORMATS)):
        raise InputError(f"there is no format {unknown[0]!r}", advice=f"There are: {', '.join(FORMATS)}")
    data = gather(ranking, title=title, anonymise=anonymise, submission=team or submission, audience=audience)
    if cases and audience is not Audience.ORGANISER:
        raise InputError("cases show the hidden truth, so only the organiser's page has them", advice="Leave out cases")
    check_cases(data, cases)
    if cases and not pictures:
        raise InputError("without pictures there are no cases to look at", advice="Leave out --case or --no-pictures")
    if paper is not None:
        from podium.report.paper import write_paper

        written = write_paper(data, Path(paper), only=only, progress=progress)
        say(f"What a paper needs is in {paper}: {len(written)} files.")
    if page is None:
        return Path(paper or ".")
    built = build_report(
        data,
        page,
        figures=page.parent / "figures",
        only=only,
        formats=formats or ("svg",),
        run=ranking.run if pictures else None,
        images=None if images is None else Path(images),
        cases=cases,
        overwrite=out is not None and out == page,  # somebody named the very file
        progress=progress,
    )
    if out is None and audience is not Audience.ORGANISER:  # listed with the run, so that it goes when it is made anew
        place, inside = RunFolder(ranking.run.folder), page.parent.relative_to(ranking.run.folder)
        names = [".podium.json", *RunFolder(page.parent).written()]
        place.claim([(inside / name).as_posix() for name in names], overwrite=True)
    figures = f"{built.figures} figure{'s' * (built.figures != 1)}"
    figures += f" and {built.pictures} picture{'s' * (built.pictures != 1)}" if built.pictures else ""
    are = "is" if built.figures == 1 and not built.pictures else "are"
    say(f"The report is {page} ({built.size / 1e6:.1f} MB); {figures} {are} in {page.parent / 'figures'}.")
    return page


def _page(ranking: Ranking, out: Path | None, audience: Audience, team: str | None) -> Path:
    """Return the file that the page goes to."""
    from podium.model import InputError

    if out is None:
        if ranking.run is None or ranking.run.folder is None:
            raise InputError("a ranking that comes from no run folder needs a place for its page", advice="Say where")
        return Path(ranking.run.folder, *_own_folder(audience.value, team), "report.html")
    if out.suffix.lower() in (".html", ".htm") and not out.is_dir():
        return out
    if re.fullmatch(r"\.\w{1,5}", out.suffix) and not out.is_dir():  # a folder may have dots in its name
        raise InputError("a page ends with .html", path=out, advice="Name the file, such as report.html, or a folder")
    return out / "report.html"


def _own_folder(audience: str, team: str | None) -> tuple[str, ...]:
    """Return the folder of a page that is not the organiser's, so that nothing of theirs lies beside it.

    Examples
    --------
    >>> _own_folder("public", None), _own_folder("team", "blue"), _own_folder("team", "Blue / 2")
    (('public',), ('teams', 'blue'), ('teams', 'blue-2~29772a'))
    """
    from podium.report.figures.files import slug

    if team is None:
        return ("public",) if audience == "public" else ()
    words = slug(team)[:60]
    return "teams", words if words == team else f"{words}~{sha256(team.encode(errors='replace')).hexdigest()[:6]}"
