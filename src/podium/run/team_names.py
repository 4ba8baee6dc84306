"""What teams are called: after their files, and so that nobody takes one for another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

from podium.model import InputError
from podium.model.errors import printable

__all__ = ["alike", "team_of", "teams_of_files"]


def alike(name: str) -> str:
    """Return what is left of a name without spaces, in one Unicode form: nobody could tell two of these apart."""
    return "".join(normalize("NFKC", name).split())


def team_of(name: str, patterns: Sequence[str]) -> str:
    """Return the team whose whole submission a plain file of this name is, "" if it is none."""
    parts = (pattern.split("*") for pattern in patterns)
    ends = [(start, end) for start, end in parts if name.startswith(start) and name.endswith(end)]
    return next((name[len(start) : -len(end)] for start, end in ends), "")


def teams_of_files(folder: Path, patterns: Sequence[str]) -> dict[str, str]:
    """Return the team of each plain file that is a whole submission; where there are any, every such file must be.

    A name in other letters, such as lvquan_a.MAT, is no such name, and nothing that is overlooked.
    """
    endings = tuple(pattern.lower().rpartition("*")[2] for pattern in patterns)
    names = [path.name for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
    names = [name for name in names if endings and name.lower().endswith(endings)]
    teams = {name: team for name in names if (team := team_of(name, patterns))}
    others = [name for name in names if name not in teams]
    if teams and others:
        raise InputError(
            f"{printable(others[0])} is not named after a team like the others",
            path=folder,
            advice=f"Call it {' or '.join(patterns)}, or remove it",
        )
    return teams
