"""For whom a page is made: what others may not see is taken out of the data before anything is drawn or written.

An organiser sees everything. A team sees its own cases, and of others what is public. The public sees no case at all:
no name, no value, no reason, no file, no digest, nothing that only a single case has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from podium.model import Cube, Floats, Leaderboard, Measure
from podium.ranking import Ranking, Rule

if TYPE_CHECKING:
    from podium.report.data import ReportData

__all__ = ["Audience", "Secrets", "number_forms", "stands_alone", "withheld"]

_PUBLISHED = ("podium", "challenge", "version", "edition", "ended", "packages")
"""What everybody may know of run.json; whatever it comes to hold besides stays with the organiser."""
_UNQUALIFIED = "it does not qualify"


class Audience(StrEnum):
    """Who reads a page."""

    ORGANISER = "organiser"
    TEAM = "team"
    PUBLIC = "public"


def number_forms(values: Iterable[float]) -> set[str]:
    """Return how sentences and pages write numbers, but for whole ones, which tell nothing by themselves.

    Examples
    --------
    >>> sorted(number_forms([0.123456, 2.0]))
    ['0.123', '0.123456', '0.12346', '0.1235']
    """
    texts = {f"{value:{form}}" for value in values for form in ("g", ".3g", ".4g", ".5g", ".3f", ".4f")}
    return {text for text in texts if "." in text and float(text) != int(float(text))}


@dataclass(frozen=True, slots=True, eq=False)
class Secrets:
    """What no sentence may hold: words, such as names of cases and files, and values of single cases, sorted."""

    words: frozenset[str]
    values: Floats

    @classmethod
    def of(cls, data: ReportData, own: Collection[str]) -> Secrets:
        """Gather what is known of cases, but for the values of some submissions."""
        words = {*data.cube.rows, *data.cube.clusters, *data.rule.rows, *data.rule.units.names}
        words |= {*data.measurements["case"].unique().to_list()}
        words |= set(_listed(data.info["options"]) if data.challenge is not None else ())
        words |= _paths(data) | _files(data)
        others = [index for index, name in enumerate(data.cube.submissions) if name not in own]
        values = np.concatenate([data.cube.values[others].ravel(), data.cube.seconds[others].ravel()])
        return cls(frozenset(filter(None, words)), np.unique(np.abs(values[np.isfinite(values)])))

    def kept(self, text: str) -> str:
        """Return the beginning of a sentence, up to a colon or semicolon, that holds no secret; "" where none does.

        Examples
        --------
        >>> Secrets(frozenset({"case_1"}), np.zeros(0)).kept("incomplete: no number for 1 of 9 cases: case_1")
        'incomplete: no number for 1 of 9 cases'
        """
        ends = [len(text), *(match.start() for match in reversed(list(re.finditer("[:;] ", text))))]
        return next((text[:end] for end in ends if not self.held_by(text[:end])), "")

    def held_by(self, text: str) -> bool:
        """Return whether a text tells a secret."""
        if any(map(self._is_value, re.findall(r"\d*\.\d+(?:e[+-]?\d+)?", text))):
            return True
        return any(stands_alone(word, text) for word in self.words)

    def _is_value(self, number: str) -> bool:
        """Return whether a number, as it is written, may be a value of a single case."""
        first, last = np.searchsorted(self.values, [0.99 * float(number), 1.01 * float(number)])
        return number in number_forms(self.values[first : last + 1].tolist())


def stands_alone(word: str, text: str) -> bool:
    """Return whether a word is in a text, in capitals or not, without being a part of another, as 1 is of 12."""
    low, whole = word.casefold(), text.casefold()
    return low in whole and re.search(rf"(?<![^\W_]){re.escape(low)}(?![^\W_])", whole) is not None


def _listed(options: Mapping[str, Any]) -> list[str]:
    """Return the texts in options that are lists: cases that were left out, for instance."""
    return [str(text) for value in options.values() if isinstance(value, list | tuple) for text in value]


def _inputs(data: ReportData) -> list[Mapping[str, Any]]:
    given = [data.info["truth"], *data.info["submissions"].values()] if "truth" in data.info else []
    return [*given, *data.info.get("gathered", ())]


def _paths(data: ReportData) -> set[str]:
    """Return where inputs lay; a name without any folder is no path, and may be a plain word."""
    paths = (path for given in _inputs(data) for path in (given.get("path"), given.get("relative")))
    return {path for path in paths if path and re.search(r"[/\\]", path)}


def _files(data: ReportData) -> set[str]:
    recorded = [given["sha256"] for given in _inputs(data) if isinstance(given["sha256"], Mapping)]
    names = {name for files in recorded for name in files}
    return names | {name.rpartition("/")[2] for name in names}


def withheld(data: ReportData, audience: Audience) -> ReportData:
    """Return what an audience may see of a report; the whole stays behind it, for figures that tell of no single case.

    Parameters
    ----------
    data
        Everything. Where the audience is a team, the report is about it.
    audience
        Whose page it is to be.
    """
    if audience is Audience.ORGANISER:
        return data
    own = (data.focus,) if audience is Audience.TEAM and data.focus is not None else ()
    secrets = Secrets.of(data, own)
    ranking, rule = data.assessment, _nameless(data.rule, secrets)
    if ranking is not None:
        ranking = _nameless_ranking(ranking, secrets)
        rule = ranking.rule
    mine = pl.col("submission").is_in(list(own))
    cube = _of_team(data, data.cube, own) if own else _empty(data.cube)
    return replace(
        data,
        info=_published(data, own),
        board=_board(data.board, secrets),
        rule=rule,
        assessment=ranking,
        measurements=_quiet(data.measurements.filter(mine), secrets, _paths(data)),
        failures=_quiet(data.failures.filter(mine), secrets, _paths(data)),
        cube=cube,
        audience=audience,
        whole=data,
    )


def _published(data: ReportData, own: Collection[str]) -> dict[str, Any]:
    """Return what everybody may know of run.json, and the digests of a team's own files for itself."""
    info = {name: data.info[name] for name in _PUBLISHED if name in data.info}
    submissions = data.info.get("submissions", {})
    return info | {
        "options": {name: value for name, value in data.info["options"].items() if _is_plain(value, data)},
        "machine": {},
        "started": "",
        "submissions": {name: {"sha256": submissions[name]["sha256"]} for name in own if name in submissions},
    }


def _is_plain(value: Any, data: ReportData) -> bool:
    """Return whether an option is a number or a word: files and lists, as of cases, are the organiser's."""
    if isinstance(value, str):
        return not re.search(r"[/\\.]", value)
    return data.challenge is None or not isinstance(value, list | tuple)


def _board(board: Leaderboard, secrets: Secrets) -> Leaderboard:
    remarks = {entry.remark: secrets.kept(entry.remark) or _UNQUALIFIED for entry in board.entries if entry.remark}
    return replace(
        board,
        entries=tuple(replace(entry, remark=remarks.get(entry.remark, "")) for entry in board.entries),
        notes=tuple(note for note in board.notes if not secrets.held_by(note)),
    )


def _nameless(rule: Rule, secrets: Secrets) -> Rule:
    """Return a rule whose rows are numbered, and whose words name none."""
    numbers = {name: str(number) for number, name in enumerate(dict.fromkeys((*rule.rows, *rule.units.names)), 1)}
    return replace(
        rule,
        rows=tuple(numbers[name] for name in rule.rows),
        units=replace(rule.units, names=tuple(numbers[name] for name in rule.units.names)),
        remarks={name: secrets.kept(remark) or _UNQUALIFIED for name, remark in rule.remarks.items()},
        notes=tuple(note for note in rule.notes if not secrets.held_by(note)),
    )


def _nameless_ranking(ranking: Ranking, secrets: Secrets) -> Ranking:
    other = ranking.changed(lambda rule: _nameless(rule, secrets), lambda text: secrets.kept(text) or "not told")
    # Numbers follow the order of names, so they would tell which case it is.
    nameless = tuple(replace(without, name="") for without in other.left_out)
    vars(other).update(run=None, table=None, left_out=nameless)
    return other


def _empty(cube: Cube) -> Cube:
    """Return a cube of the same submissions and measures without any row."""
    none = slice(0, 0)
    return replace(
        cube,
        rows=(),
        clusters=(),
        values=cube.values[:, none],
        failed=cube.failed[:, none],
        lost=cube.lost[:, none],
        seconds=cube.seconds[:, none],
        details=None,
    )


def _of_team(data: ReportData, cube: Cube, own: Collection[str]) -> Cube:
    """Return a cube in which only the values of some submissions are left, without prices that tell of the truth."""
    others = np.array([name not in own for name in cube.submissions])
    values, seconds = cube.values.copy(), cube.seconds.copy()
    values[others], seconds[others] = np.nan, np.nan
    for measure in data.measures:
        if not _plainly_priced(measure):
            column: Floats = values[:, :, cube.keys.index(measure.key)]
            failed = data.failed(measure, cube.submissions)
            column[failed] = np.nan
    return replace(
        cube,
        values=values,
        failed=cube.failed & ~others[:, None],
        lost=cube.lost & ~others[:, None],
        seconds=seconds,
        details=None,
    )


def _plainly_priced(measure: Measure) -> bool:
    """Return whether a failure costs a number that everybody knows: not what follows from the truth, or from others."""
    return measure.price is not None and not callable(measure.price.amount)


def _quiet(table: pl.DataFrame, secrets: Secrets, paths: Collection[str]) -> pl.DataFrame:
    """Return a table whose reasons tell no path and no value of others; a team knows its own files and cases."""
    plain = replace(secrets, words=frozenset())
    reasons = {}
    for reason in filter(None, table["reason"].unique().to_list()):
        text = reason
        for path in sorted(paths, key=len, reverse=True):
            text = text.replace(path, "…")
        reasons[reason] = plain.kept(text)
    return table.with_columns(pl.col("reason").replace(reasons))
