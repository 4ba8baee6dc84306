"""challenge.toml: a challenge in one page, checked strictly, with the line of whatever is wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from podium.challenges.kinds.declarations import Misdeclared
from podium.challenges.kinds.declared import DeclaredChallenge
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
TABLES = {"quantities": "measure", "timing": "time"}
"""What tables are called that are not called like the keyword."""
_KEYWORDS = {table: keyword for keyword, table in TABLES.items()}
_BESIDES = ("edition", "emphasis")
_WHERE = re.compile(r" \(at line (\d+), column \d+\)")
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
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(str(error), text, path) from None
    lines = key_lines(text)
    try:
        kind = _kind_of(document)
        return kind(**_keywords(document, kind), edition=edition)
    except ValidationError as error:
        problems = [_in_toml(problem) for problem in problems_of(kind, error)]
        raise _refused(problems, lines, path) from None
    except Misdeclared as problem:
        raise _refused([problem], lines, path) from None


def _kind_of(document: Mapping[str, Any]) -> type[DeclaredChallenge]:
    about = document.get("challenge", {})
    if not isinstance(about, Mapping):
        raise Misdeclared("challenge is a table, [challenge]", "challenge")
    kind = about.get("kind", DEFAULT_KIND)
    if kind not in KINDS:
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
    return {**about, **{_KEYWORDS.get(name, name): own for name, own in document.items() if name != "challenge"}}


def _in_toml(problem: Misdeclared) -> Misdeclared:
    """Return a problem with the place that it has in the file."""
    at = problem.at
    if len(at) == 1 and at[0] not in IDENTITY and problem.problem.endswith("is missing"):
        name = TABLES.get(str(at[0]), at[0])
        return Misdeclared(f"there is no [{name}]", advice=f"Add {_EXAMPLES.get(str(at[0]), f'[{name}]')}")
    if at and at[0] in IDENTITY:
        at = ("challenge", *at)
    elif at:
        at = (TABLES.get(str(at[0]), at[0]), *at[1:])
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
        advice="Write key = value, text in quotes, and tables as [files]; twice the same key or table is an error",
    )
