"""Submissions on disk: folders and archives named after their team, and what lies in them."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

from podium.model import Case, InputError, Role, Status
from podium.model.errors import printable
from podium.model.measure import SECONDS
from podium.run.jobs import PlatformJobs, read_jobs
from podium.run.team_names import alike, teams_of_files
from podium.run.unpacking import ARCHIVES, Limits, unpack

__all__ = ["Files", "Limits", "Submission", "archive_of", "find_submissions", "keep_apart", "opened"]

TIMING = "timing.csv"
JOBS = "predictions.json"
_OTHER_ARCHIVES = (".7z", ".rar", ".tar", ".tar.bz2", ".tar.xz", ".tar.zst")
COMPANIONS = ("dataset.json", "plans.json", "predict_from_raw_data_args.json")
"""What nnU-Net writes beside its predictions."""
_IGNORED = (".", "__MACOSX")
_MOST_REMARKS = 50
_LINK = "is a symbolic link, which is not followed"
_SPECIAL = "is not a plain file"
_BESIDE = "preds"  # what organisers' scripts write beside the labels


@dataclass(frozen=True, slots=True)
class Submission:
    """A team's predictions: a folder, an archive of one, or a single file; its limits, and what is odd of its place.

    Which files of it an evaluation took before tells which of several outputs of a job counts.
    """

    name: str
    path: Path
    role: Role = Role.COMPETITOR
    limits: Limits = field(default_factory=Limits)
    remarks: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()


def find_submissions(
    folder: Path,
    *,
    baselines: tuple[str, ...] = (),
    references: tuple[str, ...] = (),
    truth: Path | None = None,
    limits: Limits | None = None,
    single_files: Sequence[str] = (),
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
    single_files
        How a plain file is called that is a whole submission, such as LVQUAN_*.mat; `*` is the team's name.
    """
    if not folder.is_dir():
        raise InputError("this is not a folder", path=folder, advice="Give the folder that holds one entry per team")
    if truth is not None:
        keep_apart(truth, [folder])
    submissions: dict[str, Submission] = {}
    known: dict[str, Path] = {}
    teams = teams_of_files(folder, single_files)
    alone = not teams and _is_one_team(folder)
    for path in [folder] if alone else sorted(folder.iterdir()):
        name = next((path.name[: -len(s)] for s in ARCHIVES if path.name.lower().endswith(s)), path.name)
        name = teams.get(path.name, name)
        if path.is_file() and name == path.name and path.name.lower().endswith(_OTHER_ARCHIVES):
            raise InputError(
                f"{path.name} is neither a folder nor a .zip or .tar.gz",
                path=folder,
                advice="Pack it again, or remove it",
            )
        if path.name.startswith(".") or not (path.is_dir() or (name != path.name and path.is_file())):
            continue
        name = printable(name)
        if (other := known.setdefault(alike(name), path)) != path:
            nearly = "" if name in submissions else ", but for spaces or the way letters are encoded"
            raise InputError(
                f"two submissions are called {name}{nearly}: {ascii(other.name)[1:-1]} and {ascii(path.name)[1:-1]}",
                path=folder,
                advice="Rename one of them",
            )
        role = Role.BASELINE if name in baselines else Role.REFERENCE if name in references else Role.COMPETITOR
        submissions[name] = Submission(
            name, path, role, limits or Limits(), keep_apart(truth, [path]) if truth is not None else ()
        )
    if not submissions:
        only_files = any(path.is_file() and not path.name.startswith(".") for path in folder.iterdir())
        raise InputError(
            "there are no submissions" + ", only files, as in the folder of one team" * only_files,
            path=folder,
            advice=" or ".join(["Give the folder that holds one folder, .zip or .tar.gz", *single_files]) + " per team",
        )
    if unknown := sorted({*baselines, *references} - set(submissions)):
        near = get_close_matches(unknown[0], submissions, n=1)
        raise InputError(
            f"there is no submission called {unknown[0]} to be a baseline or reference",
            path=folder,
            advice=f"Did you mean {near[0]}?" if near else None,
        )
    return list(submissions.values())


def _is_one_team(folder: Path) -> bool:
    """Return whether a folder is what an organisers' script writes for one team: `preds`, with files alone."""
    names = [path for path in folder.iterdir() if not path.name.startswith(".")]
    archives = any(path.name.lower().endswith(ARCHIVES) for path in names)
    return folder.name == _BESIDE and bool(names) and not archives and all(path.is_file() for path in names)


def keep_apart(truth: Path, places: Iterable[Path]) -> tuple[str, ...]:
    """Refuse folders that are the truth, lie in it, or hold it, links included: it would be scored, or given away.

    Only `preds` may lie in it, as a folder or an archive, and that is said: organisers' scripts write predictions
    beside the labels.
    """
    known = truth.resolve()
    remarks = []
    for place in places:
        other = place.resolve()
        inside = other.relative_to(known).parts[:1] if known in other.parents else ()
        if inside and inside[0] in (_BESIDE, *(f"{_BESIDE}{suffix}" for suffix in ARCHIVES)):
            remarks.append(f"{printable(place.name)}: lies in the folder of the truth, beside the labels")
            continue
        if other == known:
            what = "this is the folder of the truth"
        elif known in other.parents:
            what = "this lies inside the folder of the truth"
        elif other in known.parents:
            what = "the truth lies inside this folder"
        else:
            continue
        raise InputError(what, path=place, advice="Keep truth and submissions in folders of their own")
    return tuple(remarks)


@contextmanager
def opened(
    submission: Submission,
    cases: Sequence[Case] = (),
    *,
    scratch: Path | None = None,
    limits: Limits | None = None,
) -> Iterator[Files]:
    """Make the files of a submission accessible, unpacking an archive to a temporary folder, in `scratch` if given.

    A plain file that is not called an archive is all that its submission holds.

    Limits are the submission's own unless others are given.
    """
    limits = limits or submission.limits
    path = submission.path
    if archive := archive_of(path, limits):
        with TemporaryDirectory(prefix="podium-", dir=scratch) as name:
            unpack(archive, Path(name), limits)
            beside = archive.parent / TIMING if path.is_dir() and (archive.parent / TIMING).is_file() else None
            yield Files(Path(name), cases, limits=limits, remarks=submission.remarks, timing=beside)
    elif path.is_dir():
        yield Files(path, cases, limits=limits, remarks=submission.remarks, taken=submission.taken)
    elif path.is_file():
        yield Files(path.parent, limits=limits, only=path.name, remarks=submission.remarks)
    else:
        raise InputError("this is neither a folder nor a plain file", path=path)


def archive_of(path: Path, limits: Limits) -> Path | None:
    """Return the archive that a submission is, or that is all its folder holds, as organisers ask for preds.tar.gz.

    Only timing.csv may lie beside it, since organisers measure the times.
    """
    if path.is_dir():
        plain = ((entry, entry.is_file(follow_symlinks=False)) for entry in _listed(path, limits.entries))
        entries = [entry for entry, is_plain in plain if not (is_plain and entry.name == TIMING)]
        if len(entries) != 1 or not entries[0].is_file(follow_symlinks=False):
            return None
        path = path / entries[0].name
    return path if path.is_file() and path.name.lower().endswith(ARCHIVES) else None


class Files:
    """What lies in a submission: plain files, and folders that may be a prediction of their own; or one file only."""

    def __init__(
        self,
        folder: Path,
        cases: Sequence[Case] = (),
        *,
        limits: Limits | None = None,
        only: str = "",
        remarks: Sequence[str] = (),
        taken: Sequence[str] = (),
        timing: Path | None = None,
    ) -> None:
        self._remarks, self._only, self._before, self._timing = list(remarks), only, taken, timing
        self.limits = limits or Limits()
        most = self.limits.entries
        patterns = [pattern for case in cases for pattern in case.expected]
        depth = max([2, *(1 + pattern.count("/") for pattern in patterns)])
        self.root = folder
        while True:  # archives often hold one folder that holds everything
            self._list(depth, most)
            top = self.top
            others = [name for name in self._strange if "/" not in name]
            if others or len(top) != 1 or top[0] not in self._folders:
                break
            if any(_matching(self._known, self._entries, pattern) for pattern in patterns):
                break  # predictions lie where they are expected
            self.root = self.root / top[0]
        self._used: set[str] = set()
        self._taken: dict[str, str] = {}
        self._names = [case.name for case in cases]

    def _list(self, depth: int, most: int) -> None:
        """Take note of everything in the root, as deep as predictions may lie."""
        self._folders: set[str] = set()
        self._strange: dict[str, str] = {}
        names = list(islice(self._walked(self.root, "", depth, most), most + 1))
        if len(names) > most:
            raise _too_many(most)
        self._entries = sorted(name for name in names if name not in self._strange)
        self._known = set(self._entries)

    def _walked(self, folder: Path, prefix: str, depth: int, most: int) -> Iterator[str]:
        for entry in _listed(folder, most):
            if self._only not in ("", entry.name):
                continue
            yield self._noted(entry, f"{prefix}{entry.name}")
            if depth > 1 and f"{prefix}{entry.name}" in self._folders:
                yield from self._walked(folder / entry.name, f"{prefix}{entry.name}/", depth - 1, most)

    def _noted(self, entry: os.DirEntry[str], name: str) -> str:
        if entry.is_dir(follow_symlinks=False):
            self._folders.add(name)
        elif why := _strangeness(entry):
            self._strange[name] = why
        return name

    @property
    def timing(self) -> Path | None:
        """Return the file with the seconds of each case, if there is one; one beside an archive wins over one in it."""
        self._used.add(TIMING)
        return self._timing or (self.root / TIMING if TIMING in self._known else None)

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
        """Return the prediction of a case, None if it is missing; several are an error.

        Where a list of jobs says why it is missing, FileNotFoundError does.
        """
        for pattern in case.expected:
            matches = _matching(self._known, self._entries, pattern)
            self._used.update(matches)
            if len(matches) > 1:
                raise InputError(f"there are {len(matches)} predictions of {case.name}: {', '.join(matches[:3])}")
            if matches:
                if matches[0] in self._folders:
                    _check_plain(self.root / matches[0], matches[0])
                self._taken[case.name] = matches[0]
                return self.root / matches[0]
            if strange := _matching(self._strange, sorted(self._strange), pattern):
                raise InputError(f"{strange[0]} {self._strange[strange[0]]}")
        return self._put_out(case) if JOBS in self._known and case.name in self._names else None

    def _put_out(self, case: Case) -> Path:
        """Return what the job about a case put out, in a folder as grand-challenge.org gives it."""
        if isinstance(self._jobs, InputError):
            raise self._jobs
        output = self._jobs.outputs[case.name]
        if output.path is None:
            raise FileNotFoundError(output.reason) if output.status is Status.MISSING else InputError(output.reason)
        self._used.add(output.path.relative_to(self.root).parts[0])
        return output.path

    @cached_property
    def _jobs(self) -> PlatformJobs | InputError:
        self._used.add(JOBS)
        try:
            before = {self.root / name for name in self._before}
            jobs = read_jobs(self.root / JOBS, self._names, time=SECONDS, taken=before)
        except InputError as error:
            return InputError(str(error).replace(f"{self.root}/", ""))
        self._remarks += [f"{JOBS}: {remark}" for remark in jobs.remarks]
        return jobs

    @property
    def job_seconds(self) -> dict[str, float]:
        """Return the seconds of each case that predictions.json tells of; none where there is no such file."""
        if JOBS not in self._known or not self._names or isinstance(self._jobs, InputError):
            return {}
        outputs = self._jobs.outputs.items()
        return {name: output.seconds for name, output in outputs if output.seconds is not None}

    def use(self, names: Iterable[str]) -> None:
        """Take note of what was read with a prediction, such as voxels that lie beside their header."""
        self._used.update(names)

    def unexpected(self, cases: Sequence[Case]) -> list[str]:
        """Name the files that no case asked for, each with the nearest name that would have been right.

        What else is odd about the submission comes first.
        """
        names = [case.expected[0] for case in cases if case.name not in self._taken]
        names = [name for name in names if "*" not in name]
        others = {
            name: self._taken[case.name] for case in cases if case.name in self._taken for name in self.called([case])
        }
        remarks, strangers = list(self._remarks), self.strangers()
        for entry in strangers[:_MOST_REMARKS]:
            near = get_close_matches(entry, names, n=1, cutoff=0.6)
            hint = f", is it meant to be {near[0]}?" if near else ""
            hint = f": {printable(others[entry])} is taken in its place" if entry in others else hint
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
    """Return the sorted names that a pattern matches, looked up by all before a wildcard, since there may be many.

    A wildcard does not stand for the end of a folder's name.
    """
    if wild := re.search(r"[*?[]", pattern):
        start, depth = bisect_left(names, pattern[: wild.start()]), pattern.count("/")
        near = takewhile(lambda name: name.startswith(pattern[: wild.start()]), islice(names, start, None))
        return [name for name in near if name.count("/") == depth and fnmatchcase(name, pattern)]
    return [pattern] if pattern in known else []
