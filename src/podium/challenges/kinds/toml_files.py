"""challenge.toml: a challenge in one page, checked strictly, with the line of whatever is wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from podium.challenges.kinds.declarations import Misdeclared
from podium.challenges.kinds.declared import DOCUMENT, DeclaredChallenge
from podium.challenges.kinds.making import KINDS
from podium.challenges.kinds.refusals import problems_of
from podium.challenges.kinds.toml_lines import KeyLines, key_lines
from podium.io import read_text
from podium.model import InputError
from podium.model.errors import nearest

__all__ = ["DEFAULT_KIND", "FILE_NAME", "IDENTITY", "TABLES", "parse_challenge", "read_challenge"]

FILE_NAME = "challenge.toml"
DEFAULT_KIND = "segmentation"
IDENTITY = ("name", "title", "revision")
"""What [challenge] holds besides `kind`."""
TABLES = {"quantities": "measure", "timing": "time", "variants": "editions"}
"""What tables are called that are not called like the keyword."""
_KEYWORDS = {table: keyword for keyword, table in TABLES.items()}
_BESIDES = ("edition", "emphasis")
_WHERE = re.compile(r" \(at line (\d+), column \d+\)")
_MEASURE = re.compile(r"\s*\[+\s*measure\s*\]+")
_EXAMPLES = {
    "files": '[files], with truth = "{case}.nii.gz" and prediction = "{case}.nii.gz"',
    "quantities": '[[measure]], with metric = "dice" and failed = 0',
    "labels": "[labels], with for example tumor = 1",
}


def read_challenge(path: str | Path, *, edition: str = "document") -> DeclaredChallenge:
    """Read a challenge.toml, or that in a folder."""
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    return parse_challenge(read_text(path), path=path, edition=edition)


def parse_challenge(text: str, *, path: str | Path = FILE_NAME, edition: str = "document") -> DeclaredChallenge:
    """Return the challenge that a TOML text declares.

    Raises
    ------
    InputError
        With file and line: what is wrong, and what would be right.
    """
    try:
        document = tomllib.loads(text)
        lines = key_lines(text)
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(str(error), text, path) from None
    except RecursionError:
        raise InputError("tables or lists are in one another too deeply", path=path) from None
    try:
        kind = _kind_of(document)
        keywords = _keywords(document, kind)
    except Misdeclared as problem:
        raise _refused([problem], lines, path) from None
    for name in dict.fromkeys([DOCUMENT, *keywords.get("variants", {})]):  # so that each is checked
        try:
            challenge = kind(**keywords, edition=name)
        except ValidationError as error:
            problems = [_in_toml(problem, edition=name, lines=lines) for problem in problems_of(kind, error)]
            raise _refused(problems, lines, path) from None
    return challenge.varied(edition=edition)


def _kind_of(document: Mapping[str, Any]) -> type[DeclaredChallenge]:
    about = document.get("challenge", {})
    if not isinstance(about, Mapping):
        raise Misdeclared("challenge is a table, [challenge]", "challenge")
    kind = about.get("kind", DEFAULT_KIND)
    if not isinstance(kind, str) or kind not in KINDS:
        raise Misdeclared(f"there is no kind {kind!r}", "challenge", "kind", advice=nearest(str(kind), KINDS))
    return KINDS[kind]


def _keywords(document: Mapping[str, Any], kind: type[DeclaredChallenge]) -> dict[str, Any]:
    """Return what the class is made with; refuse tables and keys that it does not know."""
    if "challenge" not in document:
        raise Misdeclared("there is no [challenge]", advice='Begin with [challenge] and name = "my-challenge"')
    tables = [TABLES.get(name, name) for name in kind.model_fields if name not in (*IDENTITY, *_BESIDES)]
    for table in document:
        if table not in (*tables, "challenge"):
            others = [other for other in KINDS.values() if table in (TABLES.get(n, n) for n in other.model_fields)]
            if others:
                problem = f"[{table}] is for {' and '.join(other.kind for other in others)}, and this is {kind.kind}"
                raise Misdeclared(problem, table, advice=f'Leave it out, or write kind = "{others[0].kind}"')
            key = "table" if isinstance(document[table], Mapping | list) else "key"
            raise Misdeclared(f"there is no {key} {table!r}", table, advice=nearest(table, [*tables, "challenge"]))
    about = {key: value for key, value in document["challenge"].items() if key != "kind"}
    for key in about:
        if key not in IDENTITY:
            raise Misdeclared(
                f"there is no key {key!r} here", "challenge", key, advice=nearest(key, [*IDENTITY, "kind"])
            )
    keywords = {_KEYWORDS.get(name, name): own for name, own in document.items() if name != "challenge"}
    _check_beside(keywords.get("quantities"), "measure")
    return {**about, **keywords, **_editions(keywords)}


def _check_beside(measures: Any, *at: str) -> None:
    """Refuse a table of options: in a file they stand beside the other keys."""
    for number, measure in enumerate(measures if isinstance(measures, list) else []):
        if isinstance(measure, Mapping) and "options" in measure:
            advice = "Write the options beside the other keys: tolerance_mm = 2"
            raise Misdeclared("there is no key 'options' here", *at, number, "options", advice=advice)


def _editions(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of other editions under the names of keywords."""
    if not isinstance(keywords.get("variants", {}), Mapping):
        raise Misdeclared(
            "editions is a table of tables", "editions", advice="Write for example [editions.code.ranking]"
        )
    variants: dict[str, Any] = {}
    for name, tables in keywords.get("variants", {}).items():
        if not isinstance(tables, Mapping):
            problem = f"what {name!r} changes is left open"
            raise Misdeclared(problem, "editions", name, advice=f"Write for example [editions.{name}.ranking]")
        if name == DOCUMENT:
            problem = f"{DOCUMENT!r} is the edition that the other tables declare"
            raise Misdeclared(problem, "editions", name, advice="Call it otherwise")
        _check_beside(tables.get("measure"), "editions", name, "measure")
        variants[name] = {_KEYWORDS.get(table, table): own for table, own in tables.items()}
    return {"variants": variants} if variants else {}


def _in_toml(problem: Misdeclared, *, edition: str, lines: KeyLines) -> Misdeclared:
    """Return a problem with the place that it has in the file: of an edition, where that changes something."""
    at = problem.at
    name = TABLES.get(str(at[0]), str(at[0])) if at else ""
    if ("editions", edition, name) in lines:
        return Misdeclared(problem.problem, "editions", edition, name, *at[1:], advice=problem.advice)
    if len(at) == 1 and at[0] not in IDENTITY and problem.problem.endswith("is missing"):
        return Misdeclared(f"there is no [{name}]", advice=f"Add {_EXAMPLES.get(str(at[0]), f'[{name}]')}")
    if at and at[0] in IDENTITY:
        at = ("challenge", *at)
    elif at:
        at = (name, *at[1:])
    return Misdeclared(problem.problem, *at, advice=problem.advice, misspelt=problem.misspelt)


def _refused(problems: Iterable[Misdeclared], lines: KeyLines, path: str | Path) -> InputError:
    """Return what is said of the problem that stands first; a misspelt key may be why another is missing."""
    first = min(problems, key=lambda problem: (not problem.misspelt, _line_of(problem.at, lines)))
    line = _line_of(first.at, lines)
    return InputError(f"line {line}: {first.problem}", path=path, advice=first.advice or None)


def _line_of(at: tuple[str | int, ...], lines: KeyLines) -> int:
    """Return the line of a key, or of the table that should hold it."""
    places = (at[:length] for length in range(len(at), 0, -1))
    return next((lines[place] for place in places if place in lines), 1)


def _no_toml(message: str, text: str, path: str | Path) -> InputError:
    match = _WHERE.search(message)
    line = int(match[1]) if match else text.count("\n") + 1
    what = _WHERE.sub("", message).replace(" (at end of document)", "")
    return InputError(
        f"line {line}: this is not TOML ({what[:1].lower()}{what[1:]})",
        path=path,
        advice=_way_to_write(text.split("\n")[line - 1] if line <= text.count("\n") + 1 else ""),
    )


def _way_to_write(line: str) -> str:
    """Advise on a line that is no TOML."""
    if any(quote in line for quote in "“”„‘’«»"):
        return 'Take plain quotes: "'
    if _MEASURE.match(line):
        return "Write [[measure]], in two brackets, for every measure"
    if (key := line.partition("=")[0].strip()) and not key.isascii() and "#" not in key:
        return f'Put a key with such letters into quotes: "{key}"'
    return "Write key = value, text in quotes, and tables as [files]; twice the same key or table is an error"
