"""The folders that an algorithm is given: the inputs of one case, and an empty one for its answer."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from podium.algorithms.reasons import BrokenError
from podium.algorithms.removing import remove
from podium.algorithms.specs import Ending
from podium.algorithms.sweeping import sweep_output
from podium.model import InputError, Interface, Question

__all__ = ["Places", "Workspace", "file_name"]

_PIECE = 2**24


@dataclass(frozen=True, slots=True)
class Places:
    """Where a case lies: its inputs, what the program writes, and what is kept of that."""

    input: Path
    output: Path
    answer: Path


class Workspace:
    """Folders under a scratch folder, for one case at a time.

    Parameters
    ----------
    end
        Ends the program, where it keeps its folder from being removed.
    """

    def __init__(self, scratch: Path, *, end: Callable[[], object]) -> None:
        self._scratch, self._end = scratch, end
        self.inputs, self.outputs, self._answers = (scratch / name for name in ("inputs", "outputs", "answers"))
        for folder, mode in ((self.inputs, 0o755), (self.outputs, 0o777), (self._answers, 0o700)):
            remove(folder, aside=scratch)
            folder.mkdir(parents=True)
            folder.chmod(mode)

    @contextmanager
    def laid_out(self, interface: Interface, question: Question, *, inside: str = "") -> Iterator[Places]:
        """Lay out a case where nothing is left of the last; when it has ended, only its answer stays.

        Parameters
        ----------
        inside
            Where among the inputs the output folder lies, if not beside them.
        """
        self.clear()
        name = file_name(question.name)
        places = Places(self.inputs / name, self.outputs / name, self._answers / name)
        try:
            places.input.mkdir()
            interface.lay_out(question, places.input)
            if inside:
                places = replace(places, output=places.input / inside)
            places.output.mkdir(parents=True)
            _seal(places.input)
            places.output.chmod(0o777)
            places.answer.mkdir()
            yield places
        finally:
            self._empty(self.inputs, self.outputs)

    def clear(self) -> None:
        """Remove all that is left of a case."""
        self._empty(self.inputs, self.outputs, self._answers)

    def close(self) -> None:
        """Remove the folders."""
        for folder in (self.inputs, self.outputs, self._answers):
            remove(folder, aside=self._scratch)

    def _empty(self, *folders: Path) -> None:
        for folder in folders:
            for entry in list(folder.iterdir()):
                try:
                    remove(entry, aside=self._scratch)
                except OSError:
                    self._end()
                    remove(entry, aside=self._scratch)


def file_name(case: str) -> str:
    """Return the name of a case as a file or folder may be called."""
    return re.sub(r"[^\w.-]|^\.", "_", case)


def keep(places: Places, *, most_bytes: int, ended: bool) -> None:
    """Take over what a program wrote: plain files, and no more than may be written.

    One that still runs may change or exchange what it wrote while that is looked at. So nothing is followed, and a
    copy is taken, unless it has ended.

    Raises
    ------
    BrokenError
        There is a link or something else that is no file, or too much.
    """
    room = most_bytes
    try:
        if not stat.S_ISDIR(places.output.lstat().st_mode):
            raise _wrong("it put something else where its output folder was")
        if ended and (problems := sweep_output(places.output)):
            raise _wrong(f"it wrote what is no plain file: {problems[0]}")
        for folder, folders, files, handle in os.fwalk(places.output, onerror=_raise):
            inside = Path(folder).relative_to(places.output)
            if not ended:
                (places.answer / inside).mkdir(exist_ok=True)
            for name in folders:
                if not stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                    raise _wrong(f"it wrote what is no plain file: {inside / name}")
            for name in files:
                room -= _taken(handle, inside / name, None if ended else places.answer, room)
    except (OSError, RecursionError) as error:
        raise _wrong(f"its output cannot be read ({error})") from None
    if ended:
        places.answer.rmdir()
        places.output.parent.chmod(0o700)
        places.output.rename(places.answer)


def _taken(folder: int, path: Path, copies: Path | None, room: int) -> int:
    """Look at a file in an open folder, copy it where copies belong, and return its size."""
    if not stat.S_ISREG(os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise _wrong(f"it wrote what is no plain file: {path}")
    source = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        state = os.fstat(source)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
            raise _wrong(f"it wrote what is no plain file: {path}")
        if state.st_size > room:
            raise BrokenError(Ending.TOO_MUCH_OUTPUT, "it wrote more than allowed", goes_on=True)
        if copies is not None:
            with (copies / path).open("xb") as target:
                rest = state.st_size
                while rest and (count := os.sendfile(target.fileno(), source, None, min(rest, _PIECE))):
                    rest -= count
    finally:
        os.close(source)
    return state.st_size


def _wrong(problem: str) -> BrokenError:
    return BrokenError(Ending.WRONG_OUTPUT, problem, goes_on=True)


def _raise(error: OSError) -> None:
    raise error


def _seal(folder: Path) -> None:
    """Make inputs read-only, and without a trace of when they were made."""
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in (*folders, *files):
            state = Path(parent, name).lstat()
            plain = stat.S_ISREG(state.st_mode) and state.st_nlink == 1
            if not (plain or stat.S_ISDIR(state.st_mode)):
                raise InputError("inputs are laid out as plain files, not as links", path=Path(parent, name))
            Path(parent, name).chmod(0o444 if plain else 0o555)
            os.utime(Path(parent, name), (0, 0))
    folder.chmod(0o555)
    os.utime(folder, (0, 0))
