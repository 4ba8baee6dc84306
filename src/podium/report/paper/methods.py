"""A methods section that can be pasted: what was measured, how it was ranked, how sure it is, and what came out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from podium.model import Challenge, Measure, shown_level
from podium.ranking import COVERAGE
from podium.report.data import ReportData
from podium.report.paper.latex import escaped
from podium.report.paper.references import REFERENCES, Reference, metric_of, references_of
from podium.report.verdicts import ENOUGH, verdict
from podium.report.words import contained, listed, why_unranked

__all__ = ["Passage", "Sentence", "as_latex", "as_markdown", "as_plain", "cited", "passages"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what it cites."""

    text: str
    cited: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph with its heading."""

    title: str
    sentences: tuple[Sentence, ...]


def passages(data: ReportData) -> tuple[Passage, ...]:
    """Return the section, paragraph by paragraph; every number is the run's.

    Parameters
    ----------
    data
        From `podium.report.data.gather`.
    """
    parts = {
        "What was measured": _measured(data),
        "How it was ranked": _ranked(data),
        "How sure it is": _certainty(data),
        "What came out": _result(data),
    }
    cases = frozenset(data.cases) | frozenset(data.rule.units.names)

    def finished(line: Sentence) -> Sentence:
        return Sentence(contained(_ended(_unnamed(line.text, cases)), data.submissions), line.cited)

    return tuple(Passage(title, tuple(map(finished, sentences))) for title, sentences in parts.items())


def cited(parts: Sequence[Passage]) -> tuple[Reference, ...]:
    """Return what a section cites, each once, by key."""
    keys = {reference.key: reference for part in parts for line in part.sentences for reference in line.cited}
    return tuple(keys[key] for key in sorted(keys))


def _unnamed(text: str, cases: Collection[str]) -> str:
    """Return a sentence without the list of cases that it ends with: a paper need not name them.

    Examples
    --------
    >>> _unnamed("2 of 9 cases failed: a1, a2", {"a1", "a2"}), _unnamed("The score: high", {"a1", "a2"})
    ('2 of 9 cases failed', 'The score: high')
    """
    head, colon, names = text.rpartition(": ")
    return head if colon and any(name in cases for name in re.split(r", | and ", names.rstrip("."))) else text


def _ended(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _count(count: int, words: tuple[str, str]) -> str:
    return f"{count:,} {words[count != 1]}"


def _cite(*keys: str) -> tuple[Reference, ...]:
    return tuple(REFERENCES[key] for key in keys)


def _measured(data: ReportData) -> Iterator[Sentence]:
    rows, version = data.rule.row_words, data.info.get("podium", "")
    if data.challenge is None:
        yield Sentence(f"The values of {data.title} were ranked with Podium {version}")
    else:
        own = f", rules version {data.info['version']}" if "version" in data.info else ""
        yield Sentence(
            f"The submissions to {data.title} were evaluated with Podium {version} by the challenge's rules, edition "
            f"{data.challenge.edition}{own}"
        )
        if data.challenge.summary:
            yield Sentence(f"In brief: {re.split(r'(?<=[.]) (?=[A-Z0-9])', data.challenge.summary)[0]}")
    tasks = len(data.measures)
    within = f" in {tasks} tasks" if data.challenge is None and tasks > 1 else ""
    people = _count(len(data.submissions), ("submission", "submissions"))
    ranked = len(data.competitors)
    yield Sentence(
        f"There are {people} and {_count(len(data.cases), rows)}{within}; {ranked or 'none'} of the submissions "
        f"{'is' if ranked == 1 else 'are'} ranked"
        if len(data.submissions) > 1
        else f"There is {people}, and there are {_count(len(data.cases), rows)}{within}"
    )
    if data.challenge is None:
        for measure in data.measures:
            own = f"The task {measure.title}" if measure.title else "The value"
            yield Sentence(
                f"{own} ({_unit(measure)}; {measure.direction.value}) has {len(data.cases_of(measure))} cases"
            )
        return
    yield from _measures(data, data.challenge)


def _measures(data: ReportData, challenge: Challenge) -> Iterator[Sentence]:
    """Name every measure that decides: of what, its unit, its direction, its options, and what a failure costs."""
    for measure in challenge.measures:
        if not (measure.judges and measure.decides):
            continue
        targets = [target.replace("_", " ").replace("/", " ") for target in measure.targets if target]
        of = f" of {listed(targets, at_most=20)}" if targets else ""
        price = f"; a failed {data.rule.row_words[0]} costs: {measure.price.words}" if measure.price else ""
        metric = metric_of(measure)
        yield Sentence(
            f"{measure.title}{of} was measured of every {data.rule.row_words[0]} ({_unit(measure)}; "
            f"{measure.direction.value}{price})",
            references_of(metric) if metric else (),
        )
        chosen = [
            f"{_option(name, value)}{f' for {target}' if target else ''}".replace("_", " ")
            for target, options in measure.options.items()
            for name, value in options.items()
        ]
        if chosen:
            yield Sentence(f"It was computed with {listed(chosen, at_most=20)}")


def _option(name: str, value: float) -> str:
    """Return an option of a metric with its unit, which its name ends with.

    Examples
    --------
    >>> _option("tolerance_mm", 2.0)
    'tolerance 2 mm'
    """
    return f"{name.removesuffix('_mm')} {value:g}{' mm' if name.endswith('_mm') else ''}"


def _unit(measure: Measure) -> str:
    return f"in {measure.unit}" if measure.unit else "without unit"


def _ranked(data: ReportData) -> Iterator[Sentence]:
    criteria = [column.measure for column in data.rule.published.criteria]
    if criteria:
        what = data.called.criterion if len(criteria) == 1 else data.called.criteria
        named = [f"{own.title or 'the value'} ({_unit(own)}; {own.direction.value})" for own in criteria]
        count = f"{len(criteria)} {what} decide" if len(criteria) > 1 else f"One {what} decides"
        yield Sentence(f"{count}: {'; '.join(named)}")
    if data.challenge is None:
        several = f" in each of {len(criteria)} tasks, and the average of these ranks decides"
        yield Sentence(f"The rule is {data.board.edition}{several if len(criteria) > 1 else ''}")
    else:
        listed_already = re.compile(r"(\d+ criteria|One criterion): ")
        for line in data.challenge.placing:
            if not listed_already.match(line):
                yield Sentence(line)
    yield Sentence("Equal values share the better place: 1, 2, 2, 4")
    for entry in data.board.entries:
        if entry.place is None and entry.remark:
            yield Sentence(f"{entry.submission} is not ranked: {why_unranked(entry.remark)}")
    failed, total = int(data.rule.priced.sum()), data.rule.priced.size
    what, (one, many) = data.called.value, data.called.became
    if failed:
        price = "" if data.challenge is None else ", at the cost that is said above"
        yield Sentence(f"{failed:,} of {total:,} {what}s {one if failed == 1 else many}{price}")
    else:
        yield Sentence(f"None of {total:,} {what}s {one}")
    for note in data.board.notes:
        yield Sentence(note)


def _certainty(data: ReportData) -> Iterator[Sentence]:
    if data.assessment is None:
        yield Sentence(f"How sure the ranking is was not assessed. {data.unassessed}")
        return
    stability, confidence, other = data.assessment.stability, data.assessment.confidence, data.assessment.sensitivity
    units, strata = data.rule.unit_words, len(data.rule.units.strata)
    count, level = len(data.rule.units.names), shown_level(confidence.level)
    drawn = _count(count, units) + (f" in {strata} strata, each for itself" if strata > 1 else "")
    yield Sentence(
        f"The stability of the ranking was assessed by {len(stability.places):,} bootstrap resamples (seed "
        f"{stability.seed}), drawn with replacement from {drawn}; each was ranked by the same rules",
        _cite("efron1993", "wiesenfarth2021"),
    )
    known = COVERAGE.get(confidence.method, "")
    yield Sentence(
        f"Intervals of values are {level} confidence intervals by the method {confidence.method}"
        + (f"; in simulations, {known}" if known else ""),
        _cite("efron1993"),
    )
    yield Sentence(
        f"The places that a submission may truly have follow from the differences of every two competitors in every "
        f"{data.called.criterion}, with {level} confidence for all of them together",
        _cite("mogstad2024"),
    )
    yield Sentence(
        "Every two competitors were compared by a two-sided Wilcoxon signed-rank test on one value for each "
        f"{units[0]}, adjusted for all pairs by Holm's method",
        _cite("wilcoxon1945", "holm1979"),
    )
    rules = len(other.alternatives)
    ranked_again = f" by {rules} other {'rule' if rules == 1 else 'rules'} and" if rules else ""
    yield Sentence(
        f"The same values were ranked{ranked_again} once without each of the {_count(count, units)}; Kendall's τ tells "
        "how far such a ranking agrees with the published one",
        _cite("kendall1938"),
    )
    if count < ENOUGH:
        yield Sentence(
            f"With only {_count(count, units)}, all of this is weak evidence: intervals are wide, and what is rare may "
            "not have been seen at all"
        )
    yield Sentence(
        "Metrics, ranking, missing data and uncertainty are reported as the BIAS statement asks", _cite("maierhein2020")
    )


def _result(data: ReportData) -> Iterator[Sentence]:
    """Say what the page says, but for the names of cases and what to ask Podium for."""
    said = verdict(data)
    for line in (said.headline, said.margin, *said.sureness, *said.cautions):
        if line:
            yield Sentence(re.sub(r" \(--[^)]*\)", "", re.sub(r"(?<= if left out): .*$", "", line)))


def as_markdown(parts: Sequence[Passage]) -> str:
    """Return the section in Markdown, with citations as Pandoc reads them."""

    def shown(line: Sentence) -> str:
        text = re.sub(r"([\\`*_\[\]<>|#$~^@])", r"\\\1", " ".join(line.text.split()))
        keys = "; ".join(f"@{reference.key}" for reference in line.cited)
        return f"{text[:-1]} [{keys}]{text[-1]}" if keys else text

    return "\n\n".join(f"**{part.title}.** {' '.join(map(shown, part.sentences))}" for part in parts) + "\n"


def as_latex(parts: Sequence[Passage]) -> str:
    r"""Return the section in LaTeX, with \cite."""

    def shown(line: Sentence) -> str:
        text = escaped(line.text)
        keys = ",".join(reference.key for reference in line.cited)
        return f"{text[:-1]}~\\cite{{{keys}}}{text[-1]}" if keys else text

    body = "\n\n".join(f"\\paragraph{{{part.title}.}}\n" + "\n".join(map(shown, part.sentences)) for part in parts)
    return f"% Cites references.bib.\n{body}\n"


def as_plain(parts: Sequence[Passage]) -> str:
    """Return the section in plain text, with the references below it."""

    def shown(line: Sentence) -> str:
        text = " ".join(line.text.split())
        names = "; ".join(reference.short for reference in line.cited)
        return f"{text[:-1]} ({names}){text[-1]}" if names else text

    body = "\n\n".join(f"{part.title}\n{' '.join(map(shown, part.sentences))}" for part in parts)
    sources = "\n".join(reference.plain for reference in cited(parts))
    return f"{body}\n\nReferences\n{sources}\n" if sources else f"{body}\n"
