"""The references of methods: those of statistics, and those that metrics declare."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from podium.metrics import metrics
from podium.model import Measure, Metric
from podium.report.paper.latex import escaped

__all__ = ["REFERENCES", "Reference", "bibliography", "metric_of", "references_of"]


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that was published.

    Attributes
    ----------
    key
        As it is cited.
    short
        As a sentence names it: authors and year.
    kind, fields
        Of a BibTeX entry, in plain text.
    """

    key: str
    short: str
    kind: str
    fields: Mapping[str, str]

    @property
    def bibtex(self) -> str:
        """The entry of a .bib file."""
        lines = [
            f"  {name} = {{{value if name in ('author', 'doi', 'pages') else escaped(value)}}},"
            for name, value in self.fields.items()
        ]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    @property
    def plain(self) -> str:
        """The entry of a list."""
        fields = dict(self.fields)
        authors = fields.pop("author").replace(" and others", " et al.").replace(" and ", "; ")
        year, doi = fields.pop("year"), fields.pop("doi", "")
        volume = " ".join(filter(None, (fields.pop("journal", ""), fields.pop("volume", ""))))
        pages = fields.pop("pages", "").replace("--", "–")
        rest = ". ".join(filter(None, (*fields.values(), f"{volume}:{pages}" if pages else volume)))
        return f"{authors} ({year}). {rest}.{f' https://doi.org/{doi}' if doi else ''}"


def _article(key: str, short: str, author: str, title: str, **fields: str) -> Reference:
    kind = "book" if "publisher" in fields else "article"
    return Reference(key, short, kind, {"author": author, "title": title} | fields)


REFERENCES = {
    reference.key: reference
    for reference in (
        _article(
            "efron1993",
            "Efron and Tibshirani 1993",
            "Efron, Bradley and Tibshirani, Robert J.",
            "An Introduction to the Bootstrap",
            publisher="Chapman & Hall",
            year="1993",
        ),
        _article(
            "holm1979",
            "Holm 1979",
            "Holm, Sture",
            "A simple sequentially rejective multiple test procedure",
            journal="Scandinavian Journal of Statistics",
            volume="6",
            pages="65--70",
            year="1979",
        ),
        _article(
            "kendall1938",
            "Kendall 1938",
            "Kendall, Maurice G.",
            "A new measure of rank correlation",
            journal="Biometrika",
            volume="30",
            pages="81--93",
            year="1938",
            doi="10.1093/biomet/30.1-2.81",
        ),
        _article(
            "maierhein2020",
            "Maier-Hein et al. 2020",
            "Maier-Hein, Lena and others",
            "BIAS: Transparent reporting of biomedical image analysis challenges",
            journal="Medical Image Analysis",
            volume="66",
            pages="101796",
            year="2020",
            doi="10.1016/j.media.2020.101796",
        ),
        _article(
            "mogstad2024",
            "Mogstad et al. 2024",
            "Mogstad, Magne and Romano, Joseph P. and Shaikh, Azeem M. and Wilhelm, Daniel",
            "Inference for ranks with applications to mobility across neighbourhoods and academic achievement across "
            "countries",
            journal="Review of Economic Studies",
            volume="91",
            pages="476--518",
            year="2024",
            doi="10.1093/restud/rdad006",
        ),
        _article(
            "wiesenfarth2021",
            "Wiesenfarth et al. 2021",
            "Wiesenfarth, Manuel and others",
            "Methods and open-source toolkit for analyzing and visualizing challenge results",
            journal="Scientific Reports",
            volume="11",
            pages="2369",
            year="2021",
            doi="10.1038/s41598-021-82017-6",
        ),
        _article(
            "wilcoxon1945",
            "Wilcoxon 1945",
            "Wilcoxon, Frank",
            "Individual comparisons by ranking methods",
            journal="Biometrics Bulletin",
            volume="1",
            pages="80--83",
            year="1945",
            doi="10.2307/3001968",
        ),
    )
}
"""What the statistics of a ranking are cited by."""


def metric_of(measure: Measure) -> Metric[..., Any] | None:
    """Return the metric that a measure is: the one that computes it, or the only one of its name or title."""
    if measure.metric is not None:
        return measure.metric
    words = {_plain(measure.name), _plain(measure.title)}
    known = [
        metric for metric in metrics() if words & set(map(_plain, (metric.name, metric.title, *metric.also_called)))
    ]
    return known[0] if len(known) == 1 else None


def _plain(words: str) -> str:
    return "".join(filter(str.isalnum, words.lower()))


def references_of(metric: Metric[..., Any]) -> tuple[Reference, ...]:
    """Return what a metric's description names as its sources, "Dice 1945, Ecology 26(3)" and the like.

    Examples
    --------
    >>> from podium.metrics import dice
    >>> [(reference.key, reference.short) for reference in references_of(dice)]
    [('dice1945', 'Dice 1945')]
    """
    text = inspect.cleandoc(metric.__doc__ or "")
    section = re.search(r"^References\n-+\n(.*?)(?=\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    references = []
    for source in re.split(r";\s*", " ".join(section[1].split()).rstrip(".")) if section else ():
        if parts := re.fullmatch(r"(?P<who>.+?) (?P<year>\d{4}),? ?(?P<where>.*)", source):
            who = re.sub(r",? et al\.?$", " and others", parts["who"])
            fields = {"author": who, "year": parts["year"], "howpublished": parts["where"]}
            key = f"{_plain(who.split()[0])}{parts['year']}"
            short = f"{parts['who']} {parts['year']}"
            references.append(Reference(key, short, "misc", {name: text for name, text in fields.items() if text}))
    return tuple(references)


def bibliography(references: Iterable[Reference]) -> str:
    """Return a .bib file, by key."""
    entries = {reference.key: reference.bibtex for reference in references}
    return "\n\n".join(entries[key] for key in sorted(entries)) + "\n"
