"""What an algorithm left in its output folder: one file of its own, not a link to somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podium.model import InputError
from podium.model.errors import shortened

__all__ = ["only_answer"]

_LISTED = 1000


def only_answer(folder: Path, patterns: Sequence[str], *, folders: bool = False) -> Path:
    """Return the one file in an output folder that is called as expected.

    Parameters
    ----------
    folder
        What the algorithm was given to write into.
    patterns
        How the answer may be called, relative to the folder, such as `images/*/*.mha`; the first pattern that anything
        fits counts.
    folders
        Whether a folder of plain files is an answer too.

    Raises
    ------
    InputError
        There is no such file, or more than one, or it is a link or nothing that can be read.
    """
    for pattern in patterns:
        fitting = sorted(folder.glob(pattern))
        if len(fitting) > 1:
            names = shortened([path.relative_to(folder).as_posix() for path in fitting])
            raise InputError(f"there are {len(fitting)} answers, one is expected: {names}")
        for path in fitting:
            _refuse_links(path, folder)
            if not (path.is_file() or (folders and path.is_dir())):
                raise InputError(f"{path.relative_to(folder).as_posix()} is not a plain file")
            return path
    raise InputError(f"there is no {patterns[0]} in the output, {_content(folder)}")


def _refuse_links(path: Path, folder: Path) -> None:
    """Refuse a link on the way to an answer, or in it."""
    above = [parent for parent in path.parents if parent.is_relative_to(folder) and parent != folder]
    inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
    for part in (*above, path, *inside):
        if part.is_symlink():
            raise InputError(f"{part.relative_to(folder).as_posix()} is a link", advice="Write the file itself")


def _content(folder: Path) -> str:
    """Say what lies in a folder."""
    names = []
    for path in folder.rglob("*"):
        if not path.is_dir():
            names.append(path.relative_to(folder).as_posix())
        if len(names) == _LISTED:
            break
    return f"only {shortened(sorted(names))}" if names else "which is empty"
