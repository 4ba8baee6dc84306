"""File patterns with named parts, such as `{subject}_{visit}_seg.nii.gz`: what they match, and how they are filled."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from podium.model import InputError

__all__ = ["Pattern"]

_PART = re.compile(r"\{([^{}]*)\}")
_ENDINGS = (".nii.gz", ".tar.gz")
_GROUP = "part_"  # so that a part may be called like anything


@dataclass(frozen=True)
class Pattern:
    """A path in which parts are named: each `{part}` stands for one or more characters of one folder or file name.

    A part that is there twice stands for the same text both times. Where a pattern is text, it is made of it.

    Examples
    --------
    >>> pattern = Pattern("{subject}/{subject}_{visit}_seg.nii.gz")
    >>> pattern.match("ann/ann_2_seg.nii.gz")
    {'subject': 'ann', 'visit': '2'}
    >>> pattern.fill({"subject": "bob", "visit": "1"})
    'bob/bob_1_seg.nii.gz'
    >>> pattern.stem.text, pattern.anything
    ('{subject}_{subject}_{visit}_seg', '*/*_*_seg.nii.gz')
    """

    text: str

    def __post_init__(self) -> None:
        outside = _PART.sub("", self.text)
        if not self.text.strip() or self.text.startswith("/") or ".." in self.text.split("/") or "\\" in self.text:
            raise ValueError("a pattern is a path inside a folder, such as {case}.nii.gz")
        if "{" in outside or "}" in outside:
            raise ValueError(f"a brace is left open in {self.text!r}; a part is written {{subject}}")
        if wild := next((character for character in "*?[]" if character in outside), None):
            raise ValueError(
                f"{wild!r} is in {self.text!r}; what differs from case to case is a part, such as {{case}}"
            )
        if side := re.search(r"\{\w*\}\{\w*\}", self.text):
            raise ValueError(f"nothing parts {side[0]}, so that no name tells where one ends; join them, or write a _")
        if odd := [part for part in _PART.findall(self.text) if not part.isidentifier()]:
            raise ValueError(f"{{{odd[0]}}} is no name of a part; take letters, digits and _, as in {{subject}}")

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its parts, in their order."""
        return tuple(dict.fromkeys(_PART.findall(self.text)))

    @property
    def anything(self) -> str:
        """The pattern with `*` for every part."""
        return _PART.sub("*", self.text)

    @property
    def stem(self) -> Pattern:
        """The pattern without the ending of a file, and with _ in place of folders."""
        ending = next((ending for ending in _ENDINGS if self.text.endswith(ending)), Path(self.text).suffix)
        return Pattern(self.text.removesuffix(ending if "}" not in ending else "").replace("/", "_"))

    def lacks(self, known: Collection[str]) -> list[str]:
        """Return the parts that are not among those known."""
        return [part for part in self.parts if part not in known]

    def match(self, path: str) -> dict[str, str] | None:
        """Return what the parts of a path are; None where it does not fit."""
        match = self._shortest.fullmatch(path)
        return None if match is None else {part: match[_GROUP + part] for part in self.parts}

    def fill(self, parts: Mapping[str, str]) -> str:
        """Return the pattern with its parts filled in."""
        return _PART.sub(lambda part: parts[part[1]], self.text)

    def files(self, folder: Path, *, unlike: Pattern | None = None) -> Iterator[tuple[dict[str, str], Path]]:
        """Find the files in a folder that fit, sorted, with their parts; none that fits another pattern as well.

        Raises
        ------
        InputError
            A name can be divided into its parts in two ways.
        """
        for path in sorted(folder.glob(self.anything)):
            name = path.relative_to(folder).as_posix()
            if unlike is not None and unlike.match(name) is not None:
                continue
            if self.match(name) is None or any(piece.startswith(".") for piece in name.split("/")):
                continue
            if path.is_file():
                yield self.single_match(name, path), path

    def single_match(self, name: str, path: Path) -> dict[str, str]:
        """Return what the parts of a name are; `path` is the file that it stands for, or stands in.

        Raises
        ------
        InputError
            It does not fit, or can be divided into its parts in two ways.
        """
        shortest, longest = self._shortest.fullmatch(name), self._longest.fullmatch(name)
        if shortest is None or longest is None:
            raise InputError(f"{name!r} is not called like {self.text}", path=path)
        for part in self.parts:
            one, other = (match[_GROUP + part] for match in (shortest, longest))
            if one != other:
                raise InputError(
                    f"in {self.text}, {{{part}}} may be {one!r} or {other!r}",
                    path=path,
                    advice="Join parts that no separator tells apart into one, or rename the files",
                )
        return {part: shortest[_GROUP + part] for part in self.parts}

    @cached_property
    def _shortest(self) -> re.Pattern[str]:
        return self._compiled("[^/]+?")

    @cached_property
    def _longest(self) -> re.Pattern[str]:
        return self._compiled("[^/]+")

    def _compiled(self, anything: str) -> re.Pattern[str]:
        seen: set[str] = set()
        pieces = []
        for place, piece in enumerate(_PART.split(self.text)):
            if place % 2 == 0:
                pieces.append(re.escape(piece))
            else:
                pieces.append(f"(?P={_GROUP}{piece})" if piece in seen else f"(?P<{_GROUP}{piece}>{anything})")
                seen.add(piece)
        return re.compile("".join(pieces))

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Take text or a pattern, and write text."""
        made = core_schema.no_info_after_validator_function(cls, core_schema.str_schema(strict=True))
        return core_schema.no_info_before_validator_function(
            lambda given: given.text if isinstance(given, cls) else given,
            made,
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )

    def __str__(self) -> str:
        return self.text
