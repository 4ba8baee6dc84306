"""The page of figures: every kind that a report has, drawn by Podium from made-up data, and when there is none."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from unittest.mock import patch

import numpy as np
from made_up import BASELINE, LOST, PATIENTS, PEOPLE, TEAMS, Situation, situations, skull_ranking, views
from matplotlib.figure import Figure

from podium.challenges import challenges
from podium.model import InputError, Slices, View
from podium.report.data import ReportData, gather
from podium.report.drawing import draw as draw_view
from podium.report.figures import FIGURES, FigureKind, Nothing, as_bytes
from podium.report.figures.slopes import slope_chart
from podium.report.style import drawing

PAGE = "figures.md"
FOLDER = "figures"
RUNS = "several-runs"
"""The figure of a report about several runs."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the page, and every figure as SVG."""
    yield from pages_of(gather(skull_ranking()), situations())


def pages_of(data: ReportData, lacking: Sequence[Situation]) -> Iterator[tuple[str, str]]:
    """Yield the page with figures of some data, and what is said of them where something is lacking."""
    parts = []
    for kind in FIGURES.values():
        text, svg = described(kind, data, lacking)
        parts.append(text)
        yield f"{FOLDER}/{kind.name}.svg", svg
    pictures = views()
    for name, view in pictures.items():
        yield f"{FOLDER}/cases-{name}.svg", _svg(draw_view(view))
    yield f"{FOLDER}/{RUNS}.svg", _svg(_slopes())
    yield PAGE, "\n".join([_opening(data), *parts, _of_cases(pictures), _of_runs()])


def described(kind: FigureKind, data: ReportData, lacking: Iterable[Situation]) -> tuple[str, str]:
    """Return a kind of figure in words, for the page, and the first of its figures as SVG.

    Parameters
    ----------
    kind
        Of the registry, whose words are taken.
    data
        What it is drawn from.
    lacking
        Reports that may have no such figure; what they say of it is told.
    """
    with drawing():
        drawn = kind.drawn_from(data)
        if isinstance(drawn, Nothing):
            raise InputError(f"the made-up data give no {kind.name}: {drawn.reason}")
        svg = _svg(drawn[0][1])
        with patch("podium.report.figures._frame.laid_out", lambda figure: figure):  # nobody looks at these
            absences = _absences(kind, lacking)
    worded = kind.worded(data)
    lines = [
        f"## {worded.title}",
        f'`{kind.name}`: `podium report RUN --only {kind.name}`, `ranking.plot("{kind.name}")`',
        f"![{worded.title}, drawn from made-up data; what follows tells how it is read]({FOLDER}/{kind.name}.svg)",
        worded.caption,
        _how_many([suffix for suffix, _ in drawn]),
        absences,
    ]
    return "\n\n".join(line for line in lines if line) + "\n", svg


def _svg(figure: Figure) -> str:
    return as_bytes(figure, "svg").decode("utf-8")


def _how_many(suffixes: Sequence[str]) -> str:
    """Say that there are several of a kind, and which."""
    if len(suffixes) == 1:
        return ""
    return f"There are {len(suffixes)}, of which the first is shown: {', '.join(f'*{suffix}*' for suffix in suffixes)}."


def _absences(kind: FigureKind, lacking: Iterable[Situation]) -> str:
    """Say when there is no such figure, each time with the words of a report."""
    unexpected: list[str] = []
    reasons: dict[str, list[str]] = {}
    for situation in lacking:
        if not kind.concerns(situation.data):
            unexpected.append(situation.words)
            continue
        drawn = kind.drawn_from(situation.data)
        if isinstance(drawn, Nothing):
            reasons.setdefault(drawn.reason, []).append(situation.words)
    lines = [f"- {'; '.join(words)}: “{reason}”" for reason, words in reasons.items()]
    if unexpected:
        lines.append(f"- {'; '.join(unexpected)}: left out without a word, unless `--only` asks for it")
    return "**There is none**\n\n" + "\n".join(lines) if lines else ""


def _opening(data: ReportData) -> str:
    first = next(iter(FIGURES))
    return f"""# Figures

Every figure that a report can have. `podium report RUN` puts them into its page and, as SVG, into `figures/` beside it;
`--format pdf` and `--format png` add files for print, and `--only NAME`, which may be repeated, draws only some. In
Python `ranking.plot("{first}")` returns a Matplotlib figure; where a kind has several, the first.
`podium report --paper DIR` draws them at the width of a column ([paper.md](paper.md)). In the page they answer to
mouse, touch and keys.

What is shown here is made up: {len(TEAMS)} teams mark {len(data.measures)} landmarks in radiographs of {PATIENTS}
patients, of which {LOST[0]} left out one. *{BASELINE}* is a baseline and *{PEOPLE}* a person, and neither is ranked.
A submission has one colour and one mark in all figures of a report. How each figure is read is told in the words of the
report.

Where a figure cannot be drawn, the report says why. These sentences stand here too, from small reports that lack
something.
"""


def _of_cases(pictures: Mapping[str, View]) -> str:
    parts = [
        """## Pictures of cases

Of single cases a report shows what the challenge makes of them: the worst, the median and the best of each of the first
submissions, and [cases to move through](report.md). There are four kinds. Only the organiser's page has them, since
they show the hidden truth."""
    ]
    for name, view in pictures.items():
        parts += [
            f"### {name.capitalize()}",
            f"![{view.title}, made up]({FOLDER}/cases-{name}.svg)",
            f"{_first_sentence(view)} Shown by {', '.join(_shown_by(view))}.",
        ]
    return "\n\n".join(parts) + "\n"


def _first_sentence(view: View) -> str:
    """Return what a view is, in the words of its class."""
    paragraph = (inspect.getdoc(type(view)) or "").split("\n\n")[0]
    return re.sub(r"\s+", " ", paragraph)


def _shown_by(view: View) -> list[str]:
    """Return which of the built-in challenges show such a view: those whose module of views knows its class."""
    titles = []
    for name, challenge in challenges().items():
        place = f"podium.challenges.{name}.views"
        known = find_spec(f"podium.challenges.{name}") and find_spec(place)
        if known and hasattr(import_module(place), type(view).__name__):
            titles.append(challenge.title)
    return [*titles, "every declared segmentation"] if isinstance(view, Slices) else titles


def _slopes() -> Figure:
    """Draw the places of made-up teams in three runs."""
    names = list(TEAMS)[:5]
    places = np.array([[1, 1, 2], [2, 3, 3], [3, 2, 1], [4, 4, 4], [np.nan, 5, 5]])
    return slope_chart(places, submissions=names, runs=["2024", "2025", "2026"], certain=["Cedar"])


def _of_runs() -> str:
    paragraph = (inspect.getdoc(slope_chart) or "").split("\n\n")[0]
    return "\n\n".join(
        [
            "## Places in several runs",
            "`podium report RUN2025 RUN2026`, `podium.compare_runs([…], out=…)`",
            f"![Places of five made-up teams in three runs]({FOLDER}/{RUNS}.svg)",
            re.sub(r"^Draw t", "T", paragraph),
            "A bold line is a move beyond noise, see [publishing.md](publishing.md).\n",
        ]
    )
