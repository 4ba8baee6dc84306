"""A page for every metric, and one that lists them all: from the registry, its docstrings, and what peers said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from metric_docstrings import Docstring, cell, prose, read_docstring
from metric_examples import example, run_example
from metric_peers import differences, shown, tools_table
from metric_pictures import FAMILIES, picture

from podium.cli.metrics import _facts, _number, _signature
from podium.metrics import metrics
from podium.model import Metric
from podium.report.style import drawing

__all__ = ["FOLDER", "empty_reason", "in_order", "index_page", "metric_page", "pages"]

FOLDER = "metrics"
AnyMetric = Metric[..., Any]

_OWN_SECTIONS = ("family", "formula", "empty", "same as", "call")
"""What the command line tells in one line, and a page elsewhere."""

_OPENING = """# Every metric

There are {count}. Each is declared once, beside its function, and what is declared is tested. [Metrics, and where tools
differ](../metrics.md) tells how they are used. `podium metrics NAME` shows most of a page on the command line."""

_EMPTY = {"both": "both empty", "reference": "reference empty", "prediction": "prediction empty"}

_REASONS: dict[tuple[str, str], str] = {
    ("both", "best"): "nothing was to be found, and nothing was claimed",
    ("reference", "worst"): "all that was claimed is wrong",
    ("prediction", "worst"): "nothing was found",
    ("reference", "infinite"): "what was claimed is infinitely far from anything true; a challenge can price it",
    ("prediction", "infinite"): "a structure that was missed is infinitely far; a challenge can price it",
    ("reference", "undefined"): "there was nothing to find",
    ("prediction", "undefined"): "nothing was claimed",
    ("no samples", "undefined"): "there is nothing to measure",
    ("no positives", "undefined"): "there was nothing to find",
    ("no negatives", "undefined"): "there was nothing to leave alone",
    ("none called positive", "undefined"): "nothing was claimed",
    ("none called negative", "undefined"): "nothing was ruled out",
    ("nothing positive on either side", "undefined"): "there was nothing to find, and nothing was claimed",
    ("one class", "undefined"): "a constant does not agree with anything beyond chance",
    ("constant", "undefined"): "a constant has no variance",
    ("no references", "undefined"): "there was nothing to find",
    ("no landmarks", "undefined"): "there is nothing to measure",
    ("no voxels", "undefined"): "there is nothing to measure",
    ("no frames", "undefined"): "there is nothing to measure",
}
"""Why a metric has its value in an empty case, by the case and by what kind of value it is."""

_OWN_REASONS = {
    ("relative_volume_difference", "prediction"): "all of the volume is missing",
    ("segmentation_quality", "both"): "the mean of no overlaps is no number",
    ("segmentation_quality", "reference"): "the mean of no overlaps is no number",
    ("segmentation_quality", "prediction"): "the mean of no overlaps is no number",
    ("surface_distance_deviation", "reference"): "distances that are all infinite have no spread",
    ("surface_distance_deviation", "prediction"): "distances that are all infinite have no spread",
    ("relative_volume_difference", "reference"): "a volume of 0 can be no measure of others",
    ("area_under_precision_recall", "no negatives"): "precision is 1 at every threshold",
    ("area_under_roc", "no positives"): "nothing can be told apart",
    ("area_under_roc", "no negatives"): "nothing can be told apart",
}
"""The same where a metric has a reason of its own."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the index, then a page and a picture for every metric: paths below docs/ and texts."""
    known = in_order()
    yield f"{FOLDER}/index.md", index_page(known)
    with drawing():  # once for all pictures
        for metric in known:
            drawn = picture(metric)
            yield f"{FOLDER}/{metric.name}.md", metric_page(metric, known, drawn.caption)
            yield f"{FOLDER}/pictures/{metric.name}.svg", drawn.svg


def in_order() -> list[AnyMetric]:
    """Return all metrics, from masks to sweeps, those of a family together."""
    return sorted(metrics(), key=lambda metric: list(FAMILIES).index(metric.family))


def index_page(known: Sequence[AnyMetric]) -> str:
    """Return the list of all metrics, by family."""
    names = {metric.name for metric in known}
    parts = [_OPENING.format(count=len(known))]
    for family in dict.fromkeys(metric.family for metric in known):
        rows = ["| metric | what it measures | better | unit | range |", "|---|---|---|---|---|"]
        for metric in known:
            if metric.family == family:
                summary = cell(prose(read_docstring(metric).summary, metrics=names, own=metric.name))
                better = metric.direction.value.removesuffix(" is better")
                rows.append(
                    f"| [{metric.title}]({metric.name}.md) | {summary} | {better} | {metric.unit or '–'} | "
                    f"{_number(metric.minimum)} to {_number(metric.maximum)} |"
                )
        parts.append(f"## {family.capitalize()}\n\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def metric_page(metric: AnyMetric, known: Sequence[AnyMetric], caption: str) -> str:
    """Return all about a metric.

    Parameters
    ----------
    metric
        Which one.
    known
        All metrics, to link to.
    caption
        What its picture shows.
    """
    told = read_docstring(metric)
    names = {other.name for other in known}

    def linked(text: str) -> str:
        return prose(text, metrics=names, own=metric.name)

    parts = [
        f"# {metric.title}",
        f"`{metric.name}`, of the family [{metric.family}](index.md#{metric.family.replace(' ', '-')})",
        f"**{linked(told.summary)}**",
        *(linked(paragraph) for paragraph in told.body),
        f"```text\n{metric.formula}\n```",
        f"![{caption.replace('[', '(').replace(']', ')')}](pictures/{metric.name}.svg)",
        f"*{prose(caption)}*",
        "## What it declares",
        _declared(metric),
        "## Where something is missing",
        _empty_cases(metric),
        *_call(metric, told, linked),
        "## What tools say",
        _same_as(metric),
        tools_table(metric.name),
    ]
    if rows := differences(metric.name):
        parts += [
            "## Who is right",
            "From [the table of all differences](../metrics.md), each of which is a test.",
            rows,
        ]
    for name, title in (("Notes", "Notes"), ("References", "Source")):
        if text := told.section(name):
            parts += [f"## {title}", linked(text)]
    related = [other for other in known if other.family == metric.family and other is not metric]
    if related:
        parts += ["## Related", "\n".join(f"- [{other.title}]({other.name}.md)" for other in related)]
    return "\n\n".join(parts) + "\n"


def _declared(metric: AnyMetric) -> str:
    rows = ["| | |", "|---|---|"]
    for topic, text in _facts(metric):
        if topic not in _OWN_SECTIONS:
            rows.append(f"| {topic} | {cell(prose(text))} |")
    return "\n".join(rows)


def _empty_cases(metric: AnyMetric) -> str:
    if not metric.empty:
        return "No case needs an exception: what is not there is counted as 0."
    rows = ["| case | value | why |", "|---|---|---|"]
    for case, value in metric.empty.items():
        rows.append(f"| {_EMPTY.get(case, case)} | {_number(value)} | {empty_reason(metric, case)} |")
    return "\n".join(rows)


def empty_reason(metric: AnyMetric, case: str) -> str:
    """Return why a metric has the value that it declares for an empty case; nothing if that is not known."""
    value = metric.empty[case]
    if math.isnan(value):
        kind = "undefined"
    elif math.isinf(value):
        kind = "infinite"
    else:
        kind = "best" if value == metric.perfect else "worst"
    return _OWN_REASONS.get((metric.name, case)) or _REASONS.get((case, kind), "")


def _call(metric: AnyMetric, told: Docstring, linked: Any) -> Iterator[str]:
    code = example(metric)
    yield "## How it is called"
    yield f"```python\n{_signature(metric)}\n```"
    if entries := told.entries("Parameters"):
        yield "\n".join(f"- {_parameters(word)}: {linked(text)}" for word, text in entries)
    if entries := told.entries("Raises"):
        yield "\n".join(f"- raises `{word}`: {linked(text)}" for word, text in entries)
    value = run_example(code)
    yield f"```python\n{code}  # {shown(value) if math.isfinite(value) else _number(value)}\n```"
    if lines := told.sections.get("Examples"):
        text = "\n".join(lines).strip()
        yield f"```pycon\n{text}\n```"


def _parameters(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _same_as(metric: AnyMetric) -> str:
    if not metric.same_as:
        return "No peer is declared to give the same number."
    return f"Declared to give the same number, which is tested on random data: {', '.join(metric.same_as)}."
