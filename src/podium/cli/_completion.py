"""Names for the Tab key, read from the source and not loaded: a shell does not wait."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_METRIC = re.compile(r"^@\w+\((?:.*|\n(?: .*\n)+)\)\ndef ([a-z]\w*)", re.MULTILINE)
_FIGURE = re.compile(r'FigureKind\(\s*"(\w+)"')


def challenge_names(incomplete: str) -> list[str]:
    """Return challenges whose names begin so: those that are built in, and those of installed packages."""
    from importlib.metadata import entry_points

    built_in = (path.parent.name for path in (_PACKAGE / "challenges").glob("*/challenge.py"))
    return _beginning(incomplete, [*built_in, *(entry.name for entry in entry_points(group="podium.challenges"))])


def metric_names(incomplete: str) -> list[str]:
    """Return metrics whose names begin so: functions in the files of metrics that are declared above."""
    texts = (path.read_text("utf-8") for path in (_PACKAGE / "metrics").glob("[a-z]*.py"))
    return _beginning(incomplete, (name for text in texts for name in _METRIC.findall(text)))


def metric_lists(incomplete: str) -> list[str]:
    """Return lists of metrics, with commas between, whose last name is completed."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in metric_names(last)]


def figure_names(incomplete: str) -> list[str]:
    """Return figures whose names begin so."""
    text = (_PACKAGE / "report" / "figures" / "gallery.py").read_text("utf-8")
    return _beginning(incomplete, _FIGURE.findall(text))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
