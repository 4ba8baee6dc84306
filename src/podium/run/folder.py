"""The run folder as a place: nothing in it is ever half written, and nothing that Podium did not write is deleted.

What Podium has written is listed in `.podium.json`. A new run is complete in `.new` before anything of the old one
goes; if the machine stops in between, the next call carries on where it stopped.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from podium.io import Content, encoded, write_bytes
from podium.model import InputError
from podium.run.parts import LOCK, Parts, sole_writer

__all__ = ["RunFolder"]

_MANIFEST = ".podium.json"
_NEW = ".new"
_COMPLETE = "complete.json"
_FIRST_EDITION = (
    "run.json",
    "measurements.parquet",
    "failures.csv",
    "people.csv",
    "leaderboard.csv",
    "leaderboard.json",
    "leaderboard.md",
    "ranking.json",
    "report.html",
    *(f"{name}.csv" for name in ("places", "place_shares", "leads", "intervals", "pairs", "left_out", "sensitivity")),
)
"""What runs wrote that did not list it."""
_NAMES = {
    "run.json": _FIRST_EDITION,
    "raters.json": (
        "raters.json",
        *(f"{n}.csv" for n in ("variability", "tolerances", "cases", "pairs", "counted_out")),
    ),
}
"""What work of each kind writes, by the file that tells that it is whole."""


class RunFolder:
    """A folder that holds a run, or may come to hold one.

    Parameters
    ----------
    path
        Where.
    mark
        The file that tells that the work is whole: run.json, or another of a survey.
    """

    def __init__(self, path: Path, *, mark: str = "run.json") -> None:
        self.path = path
        self.parts = Parts(path, of=mark)
        self._mark = mark

    @property
    def finished(self) -> bool:
        """Whether there is a whole run."""
        return (self.path / self._mark).is_file()

    def begin(self, *, resume: bool, restart: bool) -> None:
        """Refuse a folder that holds something, unless it is a run that is to be resumed or made anew."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError("this is not a folder", path=self.path, advice="Give a new folder as --out")
        self.recover()
        others = [mark for mark in _NAMES if mark != self._mark and (self.path / mark).is_file()]
        if others or self.parts.unfinished_other:
            what = f"what belongs to {others[0]}" if others else "unfinished work of another kind"
            raise InputError(f"this folder holds {what}", path=self.path, advice="Give a new folder as --out")
        if resume or restart:
            ours = {Path(name).parts[0] for name in self.written()}
            if ours or self.parts.unfinished:
                ours.add(self.parts.folder.name)
            names = _NAMES.get(self._mark, ())
            taken = [name for name in (*names, self.parts.folder.name, "metrics") if name not in ours]
            if strange := [name for name in taken if (self.path / name).exists()]:
                raise InputError(
                    f"{strange[0]} is in this folder, and Podium did not write it",
                    path=self.path,
                    advice="Give a new folder as --out",
                )
            return
        advice = "Add --resume to go on with it, --restart to make it anew, or give another folder as --out"
        if self.parts.unfinished:
            raise InputError(
                f"an unfinished run is here, with {len(self.parts)} cases measured", path=self.path, advice=advice
            )
        if self.finished:
            raise InputError("a finished run is here", path=self.path, advice=advice)
        if self.path.is_dir() and any(path.name != LOCK for path in self.path.iterdir()):
            raise InputError(
                "this folder is not empty, and no run", path=self.path, advice="Give a new folder as --out"
            )

    def written(self) -> list[str]:
        """Return what Podium has written here, by path inside the folder."""
        if (self.path / _MANIFEST).exists():
            return self._listed("files")
        return self._written_before_it_was_listed() if self.finished else []

    def _listed(self, what: str) -> list[str]:
        try:
            return _inside(json.loads((self.path / _MANIFEST).read_text(encoding="utf-8"))[what])
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def _written_before_it_was_listed(self) -> list[str]:
        names = [name for name in _FIRST_EDITION if (self.path / name).is_file()]
        metrics = (f"metrics/{name}.json" for name in self._told_by_mark("roles") or ())
        return [*names, *(name for name in metrics if (self.path / name).is_file())]

    def _told_by_mark(self, key: str) -> Any:
        """Return what run.json says; None where it does not, or cannot be read."""
        try:
            return json.loads((self.path / self._mark).read_text(encoding="utf-8"))[key]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def replace(self, files: Mapping[str, Content]) -> None:
        """Let a whole run appear in place of what was here, which stays until the new one is complete."""
        staged, known = self.path / _NEW, set(self.written())
        for name in files:
            if (self.path / name).is_dir() or ((self.path / name).exists() and name not in known):
                raise _in_the_way(self.path / name)
        shutil.rmtree(staged, ignore_errors=True)
        unchanged = set(files) == set(self._listed("results"))
        for name, content in files.items():
            path, packed = staged / name, encoded(name, content)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.write(packed)
                file.flush()
                os.fsync(file.fileno())
            unchanged &= name == self._mark or _holds(self.path / name, packed)
        if unchanged and self.finished:  # what followed from the same results stays: rankings, reports
            (staged / self._mark).replace(self.path / self._mark)
            shutil.rmtree(staged)
            return
        plan = {"files": list(files), "before": self.written()}
        write_bytes(staged / _COMPLETE, encoded(_COMPLETE, plan))
        self._carry_on()

    def recover(self) -> None:
        """Carry on with a replacement that was cut short, unless it is another process that is still at it."""
        if not (self.path / _NEW).is_dir():
            return
        try:
            with sole_writer(self.path):
                self._carry_on()
        except InputError:
            return  # whoever is writing carries on

    def _carry_on(self) -> None:
        """Put what is new in the place of what was there; what was not complete yet is forgotten."""
        staged = self.path / _NEW
        try:
            plan = json.loads((staged / _COMPLETE).read_text(encoding="utf-8"))
            files, before = _inside(plan["files"]), _inside(plan["before"])
        except (OSError, ValueError, KeyError, TypeError):
            shutil.rmtree(staged)
            return
        new = sorted(files, key=lambda name: name == self._mark)  # which makes it a run, so it comes last
        self._remove(set(before) - set(new))
        for name in new:
            if (staged / name).exists():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                (staged / name).replace(self.path / name)
        self._list(new, results=new)
        shutil.rmtree(staged)

    def add(self, files: Mapping[str, Content], *, overwrite: bool = False) -> None:
        """Write more files, each complete or not at all; others' files are overwritten only where that is asked for."""
        self.claim(files, overwrite=overwrite)
        for name, content in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self.path / name, encoded(name, content))

    def claim(self, names: Iterable[str], *, overwrite: bool = False, take: bool = True) -> None:
        """List files as Podium's before they are written; refuse those that are there and are somebody else's.

        Without `take`, nothing is listed yet.
        """
        known = self.written()
        fresh = [name for name in names if name not in known]
        unlisted = self._told_by_mark("schema") == 1  # such a run never listed its figures: they are drawn over
        for name in fresh:
            if (self.path / name).exists() and not overwrite and not (unlisted and name.startswith("figures/")):
                raise _in_the_way(self.path / name)
        if fresh and take:
            self._list([*known, *fresh])

    def forget(self, which: Callable[[str], bool]) -> None:
        """Remove some of what Podium has written."""
        known = self.written()
        self._remove({name for name in known if which(name)})
        self._list([name for name in known if not which(name)])

    def _list(self, names: Iterable[str], *, results: Iterable[str] | None = None) -> None:
        """Note what Podium has written, and which of it is the result itself rather than what follows from it."""
        own = self._listed("results") if results is None else results
        document: dict[str, Any] = {"schema": 1, "files": sorted(set(names)), "results": sorted(set(own))}
        write_bytes(self.path / _MANIFEST, encoded(_MANIFEST, document))

    def _remove(self, names: set[str]) -> None:
        for name in sorted(names):
            (self.path / name).unlink(missing_ok=True)
        for folder in sorted({parent for name in names for parent in Path(name).parents[:-1]}, key=str, reverse=True):
            if (self.path / folder).is_dir() and not any((self.path / folder).iterdir()):
                (self.path / folder).rmdir()


def _in_the_way(path: Path) -> InputError:
    return InputError("this file is in the way, and Podium did not write it", path=path, advice="Move it")


def _holds(path: Path, content: bytes) -> bool:
    """Return whether a file holds just this."""
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def _inside(names: Iterable[str]) -> list[str]:
    """Return the names that stay inside a folder: a list that somebody else made may hold others."""
    paths = {str(name): Path(str(name)) for name in names}
    return [name for name, path in paths.items() if path.parts and not path.is_absolute() and ".." not in path.parts]
