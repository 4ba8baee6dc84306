"""The page of a report: one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.report._contents import alternatives, board, declared, failures, full_rules, hashes, uncertainty
from podium.report._document import as_json, document
from podium.report.characterisation import shown_characters
from podium.report.explanations import explain
from podium.report.verdicts import verdict
from podium.report.words import contained, percent, places

if TYPE_CHECKING:
    from jinja2 import Template

    from podium.model import Challenge
    from podium.report._contents import Failure
    from podium.report.data import ReportData

__all__ = ["Group", "Image", "Shown", "ShownFigure", "render"]

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_LINES = 20
"""Failures of one submission that are shown before somebody asks for all."""
_EDITIONS = {
    "document": "what the challenge's page says",
    "code": "what the organisers' own code does, where that differs from their page",
}
_SECTIONS = {
    "verdict": "Verdict",
    "leaderboard": "Leaderboard",
    "criteria": "Criteria",
    "figures": "Figures",
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
    """

    label: str
    alt: str
    svg: str = ""
    image: str = ""
    share: float = 1.0
    width: int = 0
    height: int = 0
    files: str = ""


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
    """

    number: int
    label: str
    caption: str
    alt: str
    image: str
    width: int
    height: int
    inches: float


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
    """

    groups: Sequence[Group] = ()
    absent: Sequence[tuple[str, str]] = ()
    pictures: dict[str, list[Image]] = field(default_factory=dict)
    picture_notes: dict[str, list[str]] = field(default_factory=dict)


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
    script = (_TEMPLATES / "page.js").read_text(encoding="utf-8")
    went_wrong = failures(data)
    pictured = {name: [(image.number, image.label) for image in own] for name, own in shown.pictures.items()}
    values = document(data, went_wrong, pictured)
    failed = Counter(row for submission in values["submissions"] for row in submission["failed"][::2])
    characters = shown_characters(data)
    absent = {
        name for name, there in (("pictures", pictured or shown.picture_notes), ("criteria", characters)) if not there
    }
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
        "verdict": verdict(data),
        "focus": _focus(data),
        "board": board(data),
        "characters": characters,
        "looks": data.looks,
        "groups": [_marked(group) for group in shown.groups],
        "absent": shown.absent,
        "pictures": {name: _by_caption(own) for name, own in shown.pictures.items()},
        "picture_notes": shown.picture_notes,
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
        "style": Markup((_TEMPLATES / "page.css").read_text(encoding="utf-8")),
        "counted": counted,
        "percent": percent,
        "places": places,
    }
    return _template(template, data).render(context | own)


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


def _template(name: str, data: ReportData) -> Template:
    """Return a template in which everything is escaped, and no name can turn the text around it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters["contained"] = lambda text: contained(str(text), data.submissions)
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
        {name: getattr(drawing, name) for name in ("label", "alt", "image", "share", "width", "height", "files")}
        | {"svg": Markup(drawing.svg)}
        for drawing in group.drawings
    ]
    return {
        "number": group.number,
        "name": group.name,
        "title": group.title,
        "caption": group.caption,
        "drawings": drawings,
    }


def _by_caption(images: Sequence[Image]) -> list[tuple[str, list[Image]]]:
    """Return pictures of one case together."""
    by_caption: dict[str, list[Image]] = {}
    for image in images:
        by_caption.setdefault(image.caption, []).append(image)
    return list(by_caption.items())


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


def _summary(data: ReportData, went_wrong: Sequence[Failure]) -> str:
    """Say how much failed."""
    cases = sum(failure.cases for failure in went_wrong)
    warnings = sum(failure.warnings for failure in went_wrong)
    total, what, (one, many) = data.rule.priced.size, data.called.value, data.called.became
    teams = sum(failure.cases > 0 for failure in went_wrong)
    sentence = f"{cases:,} of {counted(total, what)} {one if cases == 1 else many}" if cases else f"No {what} {one}"
    if cases:
        sentence += f" ({percent(cases / total)}), in {counted(teams, 'submission')}"
    noted = f"; {counted(warnings, 'warning')}" if warnings else ""
    return f"{sentence}{noted}."
