"""The page about several runs side by side, with its figure beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from podium import __version__
from podium.model import InputError, Role
from podium.ranking import Ranking
from podium.report.anonymity import letters, renamed_text
from podium.report.audience import Audience
from podium.report.data import gather
from podium.report.figures.files import FORMATS, as_bytes, inline_svg
from podium.report.page import rendered
from podium.report.several_runs import RunsCompared, compared_runs
from podium.report.style import Look, looks
from podium.report.words import listed
from podium.run import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["render_comparison", "write_comparison"]

_FIGURE = "places_of_runs"


def write_comparison(
    rankings: Sequence[Ranking],
    page: Path,
    *,
    runs: Sequence[str],
    title: str | None = None,
    public: bool = False,
    anonymise: bool = False,
    formats: Collection[str] = ("svg",),
    overwrite: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the page of several runs, and its figure; return where the page is.

    Parameters
    ----------
    rankings
        One of each run, from the first to the last.
    page
        The HTML file to write.
    runs
        What the runs are called.
    title
        Of the page.
    public
        Whether it is to be published: without names and values of cases.
    anonymise
        Whether teams are called A, B, C …, each the same in all runs.
    formats
        Of the figure's file.
    overwrite
        Whether a page may be overwritten that Podium did not write, since somebody named it.
    say
        Is told what was written.
    """
    if unknown := sorted(set(formats) - set(FORMATS)):
        raise InputError(f"there is no format {unknown[0]!r}", advice=f"There are: {', '.join(FORMATS)}")
    audience = Audience.PUBLIC if public else Audience.ORGANISER
    data = [gather(ranking, audience=audience) for ranking in rankings]
    compared = compared_runs(data, runs, title=title)
    if anonymise:
        compared = _anonymous(compared)
    figure = _drawn(compared)
    page.parent.mkdir(parents=True, exist_ok=True)
    place = RunFolder(page.parent)
    place.claim([page.name], overwrite=overwrite, take=False)
    place.forget(lambda name: name.startswith("figures/"))
    contents = {form: as_bytes(figure, form) for form in sorted({*formats, "svg"})} if figure else {}
    place.add({f"figures/{_FIGURE}.{form}": contents[form] for form in formats if form in contents})
    inline = inline_svg(contents["svg"], _FIGURE) if contents else ""
    endings = ",".join(formats)
    files = f"figures/{_FIGURE}.{f'{{{endings}}}' if len(formats) > 1 else endings}" if contents and formats else ""
    text = render_comparison(compared, inline, files=files)
    place.add({page.name: text.encode("utf-8", "replace")}, overwrite=overwrite)
    say(f"The comparison is {page} ({len(text) / 1e6:.1f} MB).")
    return page


def render_comparison(compared: RunsCompared, figure: str = "", *, files: str = "") -> str:
    """Return the page about several runs; the figure is a piece of it, and its files are named."""
    from markupsafe import Markup

    first = compared.data[0]
    reader = "Organiser's copy: shows cases; podium report --public makes the page to publish."
    if compared.audience is Audience.PUBLIC:
        reader = "Public page: it tells of no single case."
    context = {
        "runs": compared,
        "reader": reader,
        "words": first.rule.row_words,
        "challenge": first.challenge,
        "figure": Markup(figure),
        "files": files,
        "listed": listed,
        "version": __version__,
    }
    return rendered("comparison.html.j2", context, looks=_looks(compared), styles=("comparison.css",))


def _anonymous(compared: RunsCompared) -> RunsCompared:
    """Return the same with letters for teams, one letter for one team in all runs."""
    teams = [course.submission for course in compared.courses if course.role == Role.COMPETITOR]
    others = {course.submission for course in compared.courses} - set(teams)
    names = dict(zip(teams, letters(len(teams), taken=others), strict=True))

    def renamed(known: Sequence[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in known)

    most = tuple(replace(change, submission=renamed([change.submission])[0]) for change in compared.cases.most)
    return replace(
        compared,
        courses=tuple(replace(own, submission=renamed([own.submission])[0]) for own in compared.courses),
        steps=tuple(replace(step, new=renamed(step.new), gone=renamed(step.gone)) for step in compared.steps),
        cases=replace(compared.cases, most=most),
        headline=renamed_text(compared.headline, names),
        sentences=tuple(renamed_text(line, names) for line in compared.sentences),
    )


def _looks(compared: RunsCompared) -> dict[str, Look]:
    """Return how each submission is shown, in the order of the last run."""
    names = [course.submission for course in compared.courses]
    roles = {course.submission: Role(course.role) for course in compared.courses}
    return looks(names, roles=roles)


def _drawn(compared: RunsCompared) -> Figure | None:
    """Draw the places of all who are ranked in any run."""
    from podium.report.figures.slopes import slope_chart

    ranked = [c for c in compared.courses if any(s is not None and s.place for s in c.standings)]
    if not ranked:
        return None
    places = np.array([[np.nan if s is None or not s.place else s.place for s in c.standings] for c in ranked])
    certain = [course.submission for course in ranked if course.move and course.certain]
    names = [course.submission for course in ranked]
    return slope_chart(places, submissions=names, runs=compared.runs, certain=certain, looks=_looks(compared))
