"""The page of a report: one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.report._contents import alternatives, board, declared, failures, full_rules, hashes, uncertainty
from podium.report._document import as_json, document
from podium.report.audience import Audience
from podium.report.characterisation import shown_characters
from podium.report.explanations import explain
from podium.report.printed import board_parts, css_string
from podium.report.verdicts import verdict
from podium.report.words import contained, isolated, percent, places

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from podium.model import Challenge
    from podium.report._contents import Failure
    from podium.report.data import ReportData
    from podium.report.style import Look
    from podium.report.viewer import ShownCases

__all__ = ["Group", "Image", "Shown", "ShownFigure", "render", "rendered"]

_TEMPLATES = Path(__file__).parent / "templates"
_SCRIPTS = ("page.js", "figures.js", "viewer.js", "print.js")
"""Parts of the page's one script, in their order: what an earlier one defines, later ones may use."""
_STYLES = ("page.css", "figures.css", "viewer.css", "print.css")
_HALF_A_PAGE, _PAGE, _SHEET = 4.4, 9.2, 7.2
"""Inches: how high a figure is printed at most where two share a page and where it has one, and how wide."""
_LEGIBLE, _LEAST = 5.9, 4.5
"""Points of the smallest letters of a figure that shares a page, and of one that is printed at all."""
_MOST_LINES = 20
"""Failures of one submission that are shown before somebody asks for all."""
_EDITIONS = {
    "document": "what its page says",
    "code": "what the organisers' own code does, where that differs from their page",
}
_MARKS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "s": "M-3.6-3.6h7.2v7.2h-7.2z",
    "D": "M0-4.8l4.8 4.8-4.8 4.8-4.8-4.8z",
    "^": "M0-4.4l4.6 8h-9.2z",
    "v": "M0 4.4l4.6-8h-9.2z",
    "P": "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "X": "M-3-4.6l3 3 3-3 1.6 1.6-3 3 3 3-1.6 1.6-3-3-3 3-1.6-1.6 3-3-3-3z",
    "|": "M-.9-4.5h1.8v9h-1.8z",
    "*": "M0-4.8l1.2 3.2h3.4l-2.7 2.1 1 3.4-2.9-2-2.9 2 1-3.4-2.7-2.1h3.4z",
}
"""The marks of submissions as paths around the origin: those that figures draw."""
_SECTIONS = {
    "verdict": "Verdict",
    "leaderboard": "Leaderboard",
    "certainty": "How sure it is",
    "criteria": "Criteria",
    "figures": "Figures",
    "look": "Cases to look at",
    "pictures": "Cases in pictures",
    "failures": "What failed",
    "rules": "Rules and provenance",
    "submissions": "Submissions",
    "cases": "Cases",
}


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """A figure as the page shows it.

    Attributes
    ----------
    label
        What tells it from others of its group, such as a metric; "" where it is alone.
    alt
        What is told to those who do not see it.
    svg, image
        One of both: an element to stand in the page, or a picture as a data address.
    share
        How much of the usual width it takes.
    width, height
        Of the picture, in pixels.
    files
        Where it lies for print.
    name
        Unique on the page.
    panels
        What the script tells of it, see `podium.report.figures.alive`; only of an SVG.
    """

    label: str
    alt: str
    svg: str = ""
    image: str = ""
    share: float = 1.0
    width: int = 0
    height: int = 0
    files: str = ""
    name: str = ""
    panels: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Figures of one kind: one, or one for each of several metrics."""

    number: int
    name: str
    title: str
    caption: str
    drawings: tuple[ShownFigure, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture of a case, or of all cases of a submission.

    Attributes
    ----------
    number
        Unique on the page.
    label, caption, alt
        For a link, for what stands above it, and for those who do not see it.
    image
        As a data address.
    width, height
        In pixels.
    inches
        How wide it is in print.
    svg
        In place of the data address: an element to stand in the page.
    case
        Which one it shows; "" if it is not about one.
    """

    number: int
    label: str
    caption: str
    alt: str
    image: str
    width: int
    height: int
    inches: float
    svg: str = ""
    case: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What was drawn for a page.

    Attributes
    ----------
    groups
        Figures, in their order.
    absent
        Title of each figure that was not drawn, and why.
    pictures
        By submission.
    picture_notes
        What is not in the pictures, and why: by submission, under "" for all of them.
    look
        Cases that can be moved through.
    """

    groups: Sequence[Group] = ()
    absent: Sequence[tuple[str, str]] = ()
    pictures: dict[str, list[Image]] = field(default_factory=dict)
    picture_notes: dict[str, list[str]] = field(default_factory=dict)
    look: ShownCases | None = None


def render(data: ReportData, shown: Shown | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    data
        Everything that is told.
    shown
        Figures and pictures.
    """
    from markupsafe import Markup

    shown = shown or Shown()
    script = f'(() => {{\n"use strict";\n{_joined(_SCRIPTS)}}})();'
    went_wrong = failures(data)
    pictured = {name: [(own.number, own.label, own.case) for own in images] for name, images in shown.pictures.items()}
    values = document(data, went_wrong, pictured) | {"figures": _panels(data, shown)}
    failed = Counter(row for submission in values["submissions"] for row in submission["failed"][::2])
    characters = shown_characters(data)
    said, shown_board = verdict(data), board(data)
    look = shown.look if shown.look is not None and (shown.look.cases or shown.look.notes) else None
    parts = {
        "look": look,
        "pictures": pictured or shown.picture_notes,
        "criteria": characters,
        "certainty": said.sureness or said.facts or said.cautions,
        "cases": data.whole is None,
    }
    absent = {name for name, there in parts.items() if not there}
    sections = _SECTIONS | {
        "criteria": data.called.criteria.capitalize(),
        "failures": f"What {data.called.became[0]}",
    }
    template, own = ("table.html.j2", {}) if data.challenge is None else ("page.html.j2", _of_run(data, data.challenge))
    context: dict[str, Any] = {
        "data": data,
        "info": dict(data.info),
        "called": data.called,
        "sections": [(anchor, name) for anchor, name in sections.items() if anchor not in absent],
        "verdict": said,
        "reader": _reader(data),
        "focus": _focus(data),
        "board": shown_board,
        "printed": board_parts(shown_board),
        "running": css_string(data.title),
        "characters": characters,
        "marks": {name: _mark(look) for name, look in data.looks.items()},
        "groups": [_marked(group) for group in shown.groups],
        "absent": shown.absent,
        "pictures": shown.pictures,
        "picture_notes": shown.picture_notes,
        "look": look,
        "scenes": Markup(as_json(look.cases if look else [])),
        "pictured": [n for n in data.submissions if n in shown.pictures or n in shown.picture_notes],
        "failures": went_wrong,
        "failure_summary": _summary(data, went_wrong),
        "failed_per_case": [failed.get(row, 0) for row in range(len(data.cases))],
        "most_lines": _MOST_LINES,
        "options": _options(data),
        "uncertainty": uncertainty(data),
        "alternatives": alternatives(data),
        "document": Markup(as_json(values)),
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "style": Markup(_joined(_STYLES)),
        "counted": counted,
        "percent": percent,
        "places": places,
    }
    return _template(template, data.submissions).render(context | own)


def _panels(data: ReportData, shown: Shown) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return what the script tells of figures, by their names; of cases only to who sees all of them."""
    from podium.report.figures.alive import OF_CASES

    hidden = OF_CASES if data.whole is not None else frozenset()
    drawings = [drawing for group in shown.groups for drawing in group.drawings]
    panels = {own.name: [panel for panel in own.panels if panel["kind"] not in hidden] for own in drawings}
    return {name: own for name, own in panels.items() if own}


def _joined(names: Sequence[str]) -> str:
    return "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)


def _mark(look: Look) -> Markup:
    """Return the mark of a submission, in its colour."""
    from markupsafe import Markup

    from podium.report.figures.files import THEMED

    colour = f"var({THEMED[look.colour]}, {look.colour})" if look.colour in THEMED else look.colour
    path = f'<path d="{_MARKS[look.marker]}" style="fill:{colour}"/>'
    return Markup('<svg class="mark" viewBox="-5 -5 10 10" aria-hidden="true">{}</svg>').format(Markup(path))


def _of_run(data: ReportData, challenge: Challenge) -> dict[str, Any]:
    """Return what only a run can tell: its rules, and where its numbers come from."""
    from markupsafe import Markup

    return {
        "challenge": challenge,
        "date": _date(data.info.get("ended")),
        "edition": _EDITIONS.get(challenge.edition, "another edition of the rules"),
        "declared": declared(challenge),
        "full_rules": Markup(full_rules(challenge)),
        "packages": sorted(data.info.get("packages", {}).items()),
        "hashes": hashes(data),
    }


def rendered(
    template: str, context: Mapping[str, Any], *, looks: Mapping[str, Look], styles: Sequence[str] = ()
) -> str:
    """Return another page that looks like a report's.

    Parameters
    ----------
    template, styles
        Names of files among the templates.
    context
        What the template needs.
    looks
        Of all submissions that are named.
    """
    from markupsafe import Markup

    shared = {
        "style": Markup(_joined((*_STYLES, *styles))),
        "marks": {name: _mark(look) for name, look in looks.items()},
        "counted": counted,
    }
    return _template(template, list(looks)).render({**shared, **context})


def _template(name: str, names: Sequence[str]) -> Template:
    """Return a template in which everything is escaped, and no name can turn the text around it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters["contained"] = lambda text: contained(str(text), names)
    return environment.get_template(name)


def _options(data: ReportData) -> list[tuple[str, Any]]:
    """Return the options that made a ranking, but for the edition, those left open, and a challenge's declaration."""
    options = sorted(data.info["options"].items())
    given = [(name, value) for name, value in options if name not in ("edition", "declaration", "rules")]
    return [(name, _worded(value)) for name, value in given if value not in (None, "", [])]


def _worded(value: Any) -> Any:
    """Return an option for people: lists as lists, ranges from where to where, and others by name.

    Examples
    --------
    >>> _worded(["Dice:higher", "HD95:lower"]), _worded({"Dice": (0.0, 1.0), "": (0.0, float("inf"))}), _worded(0.5)
    ('Dice:higher, HD95:lower', 'Dice 0 to 1, 0 to inf', 0.5)
    >>> _worded({"mass": 1.25})
    'mass 1.25'
    """
    if isinstance(value, Mapping):
        ranges = {n: f"{v[0]:g} to {v[1]:g}" if isinstance(v, list | tuple) else v for n, v in value.items()}
        return ", ".join(f"{name} {own}".strip() for name, own in ranges.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def counted(count: int, one: str, several: str = "") -> str:
    """Return how many of something, by its words for one and for several; the second is by default the first with s.

    Examples
    --------
    >>> counted(1, "case"), counted(1200, "case")
    ('1 case', '1,200 cases')
    """
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def _marked(group: Group) -> dict[str, Any]:
    """Return a group whose figures stand in the page as they are; they were cleaned before."""
    from markupsafe import Markup

    drawings = [
        {
            name: getattr(drawing, name)
            for name in ("name", "label", "alt", "image", "share", "width", "height", "files")
        }
        | {"svg": Markup(drawing.svg), "printed": _printed(drawing)}
        for drawing in group.drawings
    ]
    return {
        "number": group.number,
        "name": group.name,
        "title": group.title,
        "caption": group.caption,
        "drawings": drawings,
    }


def _printed(drawing: ShownFigure) -> str:
    """Return how a figure is printed: tall where it needs a page to be read, huge where even that is not enough."""
    size = re.match(r'<svg[^>]*\swidth="([\d.]+)pt" height="([\d.]+)pt"', drawing.svg)
    letters = [float(points) for points in re.findall(r'<text style="[^"]*font-size:([\d.]+)px', drawing.svg)]
    wide, high = (float(size[1]) / 72, float(size[2]) / 72) if size else (_SHEET, _SHEET * drawing.share)
    if size is None:
        high *= drawing.height / max(drawing.width, 1)
        letters = [7.9]  # nearly: those of a picture are not known
    scales = [min(1.0, _SHEET / wide, room / max(high, 0.1)) for room in (_HALF_A_PAGE, _PAGE)]
    half, whole = (scale * min(letters, default=9.0) for scale in scales)
    return "" if half >= _LEGIBLE else "tall" if whole >= _LEAST else "tall huge"


def _date(text: str | None) -> str:
    """Return the day a run ended, in words."""
    try:
        day = datetime.fromisoformat(text or "")
    except ValueError:
        return ""
    return f"{day.day} {day:%B %Y}"


def _focus(data: ReportData) -> dict[str, Any] | None:
    """Return where the submission is that the report is about, and its place in a sentence."""
    if data.focus is None:
        return None
    return {"index": data.submissions.index(data.focus), "summary": explain(data)[data.focus].summary}


def _reader(data: ReportData) -> str:
    """Say whose page this is, and what is in it or not."""
    if data.audience is Audience.PUBLIC:
        return "Public page: it tells of no single case."
    if data.audience is Audience.TEAM:
        truth = "" if data.challenge is None else " No pictures: they show the hidden truth."
        return f"Private page of {isolated(data.focus or '')}: its own cases, and of others what is public.{truth}"
    truth = " and hidden truth" if data.challenge is not None else ""
    return f"Organiser's copy: shows cases{truth}; podium report --public makes the page to publish."


def _summary(data: ReportData, went_wrong: Sequence[Failure]) -> str:
    """Say how much failed."""
    cases = sum(failure.cases for failure in went_wrong)
    warnings = sum(failure.warnings for failure in went_wrong)
    total, what, (one, many) = data.rule.priced.size, data.called.value, data.called.became
    teams = sum(failure.cases > 0 for failure in went_wrong)
    sentence = f"{cases:,} of {counted(total, what)} {one if cases == 1 else many}" if cases else f"No {what} {one}"
    sentence = f"All {counted(total, what)} {many}" if cases == total > 1 else sentence
    if cases:
        share = "" if cases == total else f" ({percent(cases / total)})"
        sentence += f"{share}, in {counted(teams, 'submission')}"
    noted = f"; {counted(warnings, 'warning')}" if warnings else ""
    return f"{sentence}{noted}."
