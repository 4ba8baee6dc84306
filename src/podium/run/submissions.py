"""Submissions on disk: folders and archives named after their team, and what lies in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from podium.model import Case, InputError, Role
from podium.model.errors import printable
from podium.run.unpacking import ARCHIVES, Limits, unpack

__all__ = ["Files", "Limits", "Submission", "find_submissions", "keep_apart", "opened"]

TIMING = "timing.csv"
_OTHER_ARCHIVES = (".7z", ".rar", ".tar", ".tar.bz2", ".tar.xz", ".tar.zst")
COMPANIONS = ("dataset.json", "plans.json", "predict_from_raw_data_args.json")
"""What nnU-Net writes beside its predictions."""
_IGNORED = (".", "__MACOSX")
_MOST_REMARKS = 50
_LINK = "is a symbolic link, which is not followed"
_SPECIAL = "is not a plain file"


@dataclass(frozen=True, slots=True)
class Submission:
    """A team's predictions: a folder, or an archive of one; and how much it may hold."""

    name: str
    path: Path
    role: Role = Role.COMPETITOR
    limits: Limits = field(default_factory=Limits)


def find_submissions(
    folder: Path,
    *,
    baselines: tuple[str, ...] = (),
    references: tuple[str, ...] = (),
    truth: Path | None = None,
    limits: Limits | None = None,
) -> list[Submission]:
    r"""Return the submissions in a folder, sorted by name.

    A name that could not be printed on one line is shown with escapes, such as \x1b.

    Parameters
    ----------
    folder
        Holds one folder or archive (.zip, .tar.gz) per team.
    baselines, references
        Names of those that are shown but not ranked: simple methods, and people.
    truth
        The folder with the truth, to refuse submissions that lie in it or around it.
    limits
        How much a submission may hold.
    """
    if not folder.is_dir():
        raise InputError("this is not a folder", path=folder, advice="Give the folder that holds one entry per team")
    if truth is not None:
        keep_apart(truth, [folder])
    submissions: dict[str, Submission] = {}
    for path in sorted(folder.iterdir()):
        name = next((path.name[: -len(s)] for s in ARCHIVES if path.name.lower().endswith(s)), path.name)
        if path.is_file() and name == path.name and path.name.lower().endswith(_OTHER_ARCHIVES):
            raise InputError(
                f"{path.name} is neither a folder nor a .zip or .tar.gz",
                path=folder,
                advice="Pack it again, or remove it",
            )
        if path.name.startswith(".") or not (path.is_dir() or (name != path.name and path.is_file())):
            continue
        name = printable(name)
        if name in submissions:
            raise InputError(
                f"two submissions are called {name}: {submissions[name].path.name} and {path.name}", path=folder
            )
        role = Role.BASELINE if name in baselines else Role.REFERENCE if name in references else Role.COMPETITOR
        submissions[name] = Submission(name, path, role, limits or Limits())
    if not submissions:
        alone = any(path.is_file() and not path.name.startswith(".") for path in folder.iterdir())
        raise InputError(
            "there are no submissions" + ", only files, as in the folder of one team" * alone,
            path=folder,
            advice="Give the folder that holds one folder, .zip or .tar.gz per team",
        )
    if unknown := sorted({*baselines, *references} - set(submissions)):
        near = get_close_matches(unknown[0], submissions, n=1)
        raise InputError(
            f"there is no submission called {unknown[0]} to be a baseline or reference",
            path=folder,
            advice=f"Did you mean {near[0]}?" if near else None,
        )
    if truth is not None:
        keep_apart(truth, (submission.path for submission in submissions.values()))
    return list(submissions.values())


def keep_apart(truth: Path, places: Iterable[Path]) -> None:
    """Refuse folders that are the truth, lie in it, or hold it, links included: it would be scored, or given away."""
    known = truth.resolve()
    for place in places:
        other = place.resolve()
        if other == known:
            what = "this is the folder of the truth"
        elif known in other.parents:
            what = "this lies inside the folder of the truth"
        elif other in known.parents:
            what = "the truth lies inside this folder"
        else:
            continue
        raise InputError(what, path=place, advice="Keep truth and submissions in folders of their own")


@contextmanager
def opened(
    submission: Submission,
    cases: Sequence[Case] = (),
    *,
    scratch: Path | None = None,
    limits: Limits | None = None,
) -> Iterator[Files]:
    """Make the files of a submission accessible, unpacking an archive to a temporary folder, in `scratch` if given.

    Limits are the submission's own unless others are given.
    """
    limits = limits or submission.limits
    if submission.path.is_dir():
        yield Files(submission.path, cases, limits=limits)
        return
    if not submission.path.is_file():
        raise InputError("this is neither a folder nor a plain file", path=submission.path)
    with TemporaryDirectory(prefix="podium-", dir=scratch) as name:
        unpack(submission.path, Path(name), limits)
        yield Files(Path(name), cases, limits=limits)


class Files:
    """What lies in a submission: plain files, and folders that may be a prediction of their own."""

    def __init__(self, folder: Path, cases: Sequence[Case] = (), *, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        most = self.limits.entries
        patterns = [part for case in cases for name in case.expected for part in (name, name.partition("/")[0])]
        root = folder
        while True:  # archives often hold one folder that holds everything
            entries = list(_listed(root, most))
            if len(entries) != 1 or not entries[0].is_dir(follow_symlinks=False):
                break
            if any(fnmatchcase(entries[0].name, pattern) for pattern in patterns):
                break  # the folder is a prediction, or holds them where they are expected
            root = root / entries[0].name
        self.root = root
        self._folders: set[str] = set()
        self._strange: dict[str, str] = {}
        names = []
        for entry in entries:
            names.append(self._noted(entry, entry.name))
            if entry.name in self._folders:
                names += [
                    self._noted(inner, f"{entry.name}/{inner.name}") for inner in _listed(root / entry.name, most)
                ]
            if len(names) > most:
                raise _too_many(most)
        self._entries = sorted(name for name in names if name not in self._strange)
        self._known = set(self._entries)
        self._used: set[str] = set()

    def _noted(self, entry: os.DirEntry[str], name: str) -> str:
        if entry.is_dir(follow_symlinks=False):
            self._folders.add(name)
        elif why := _strangeness(entry):
            self._strange[name] = why
        return name

    @property
    def timing(self) -> Path | None:
        """Return the file with the seconds of each case, if there is one."""
        self._used.add(TIMING)
        return self.root / TIMING if TIMING in self._known else None

    @property
    def top(self) -> list[str]:
        """Return the names of all plain files and folders that do not lie in another."""
        return [entry for entry in self._entries if "/" not in entry]

    def is_folder(self, name: str) -> bool:
        """Return whether an entry is a folder."""
        return name in self._folders

    def called(self, cases: Iterable[Case]) -> list[str]:
        """Return the entries that are called like a prediction of any of the cases."""
        patterns = {pattern: None for case in cases for pattern in case.expected}
        names = (name for pattern in patterns for name in _matching(self._known, self._entries, pattern))
        return list(dict.fromkeys(names))

    def strangers(self) -> list[str]:
        """Return the files that nobody asked for, but for those that a program is known to leave there."""
        return [
            entry
            for entry in self._entries
            if entry not in self._used
            and entry.partition("/")[0] not in self._used
            and entry not in self._folders
            and entry not in (TIMING, *COMPANIONS)
        ]

    def strange(self) -> dict[str, str]:
        """Return what is neither a plain file nor a folder, and what it is; in folders that may be a prediction too."""
        strange = dict(self._strange)
        for name in self.top:
            if name in self._folders:
                try:
                    _check_plain(self.root / name, name)
                except InputError as error:
                    strange[name] = str(error)
        return strange

    def find(self, case: Case) -> Path | None:
        """Return the prediction of a case, None if it is missing; several are an error."""
        for pattern in case.expected:
            matches = _matching(self._known, self._entries, pattern)
            self._used.update(matches)
            if len(matches) > 1:
                raise InputError(f"there are {len(matches)} predictions of {case.name}: {', '.join(matches[:3])}")
            if matches:
                if matches[0] in self._folders:
                    _check_plain(self.root / matches[0], matches[0])
                return self.root / matches[0]
            if strange := _matching(self._strange, sorted(self._strange), pattern):
                raise InputError(f"{strange[0]} {self._strange[strange[0]]}")
        return None

    def use(self, names: Iterable[str]) -> None:
        """Take note of what was read with a prediction, such as voxels that lie beside their header."""
        self._used.update(names)

    def unexpected(self, cases: Sequence[Case]) -> list[str]:
        """Name the files that no case asked for, each with the nearest name that would have been right."""
        names = [case.expected[0] for case in cases if not self._used.intersection(case.expected)]
        remarks, strangers = [], self.strangers()
        for entry in strangers[:_MOST_REMARKS]:
            near = get_close_matches(entry, names, n=1, cutoff=0.6)
            hint = f", is it meant to be {near[0]}?" if near else ""
            remarks.append(f"{printable(entry)}: unexpected file{hint}")
        if len(strangers) > _MOST_REMARKS:
            remarks.append(f"…: {len(strangers) - _MOST_REMARKS:,} more unexpected files")
        return remarks


def _listed(folder: Path, most: int) -> Iterator[os.DirEntry[str]]:
    """Yield what lies in a folder, but for what systems put there for themselves."""
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= most:
                raise _too_many(most)
            if not entry.name.startswith(_IGNORED):
                yield entry


def _too_many(most: int) -> InputError:
    return InputError(f"the submission holds more than the limit of {most:,} files and folders")


def _strangeness(entry: os.DirEntry[str]) -> str:
    """Say why an entry is neither a plain file nor a folder; nothing if it is one."""
    if entry.is_symlink():
        return _LINK
    return "" if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False) else _SPECIAL


def _check_plain(folder: Path, name: str) -> None:
    """Refuse a prediction that is a folder with anything but plain files and folders in it."""
    waiting = [(folder, name)]
    while waiting:
        place, called = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                if why := _strangeness(entry):
                    raise InputError(f"{called}/{entry.name} {why}")
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((place / entry.name, f"{called}/{entry.name}"))


def _matching(known: Iterable[str], names: Sequence[str], pattern: str) -> list[str]:
    """Return the names that a pattern matches; without wildcards that is looked up, since there may be many.

    A wildcard does not stand for the end of a folder's name.
    """
    if any(character in pattern for character in "*?["):
        depth = pattern.count("/")
        return [name for name in names if name.count("/") == depth and fnmatchcase(name, pattern)]
    return [pattern] if pattern in known else []
