"""Submissions on disk: folders and archives named after their team, and what lies in them."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from podium.model import Expected, InputError, Role

__all__ = ["Files", "Submission", "find_submissions", "opened"]

TIMING = "timing.csv"
_ARCHIVES = (".zip", ".tar.gz", ".tgz")
_OTHER_ARCHIVES = (".7z", ".rar", ".tar", ".tar.bz2", ".tar.xz", ".tar.zst")
_MOST_ENTRIES = 100_000
_MOST_BYTES = 256 * 2**30


@dataclass(frozen=True, slots=True)
class Submission:
    """A team's predictions: a folder, or an archive of one."""

    name: str
    path: Path
    role: Role = Role.COMPETITOR


def find_submissions(
    folder: Path, *, baselines: tuple[str, ...] = (), references: tuple[str, ...] = ()
) -> list[Submission]:
    """Return the submissions in a folder, sorted by name.

    Parameters
    ----------
    folder
        Holds one folder or archive (.zip, .tar.gz) per team.
    baselines, references
        Names of those that are shown but not ranked: simple methods, and people.
    """
    if not folder.is_dir():
        raise InputError("this is not a folder", path=folder, advice="Give the folder that holds one entry per team")
    found: dict[str, Submission] = {}
    for path in sorted(folder.iterdir()):
        name = next((path.name[: -len(s)] for s in _ARCHIVES if path.name.lower().endswith(s)), path.name)
        if path.is_file() and name == path.name and path.name.lower().endswith(_OTHER_ARCHIVES):
            raise InputError(
                f"{path.name} is neither a folder nor a .zip or .tar.gz",
                path=folder,
                advice="Pack it again, or remove it",
            )
        if path.name.startswith(".") or not (path.is_dir() or name != path.name):
            continue
        if name in found:
            raise InputError(f"two submissions are called {name}: {found[name].path.name} and {path.name}", path=folder)
        role = Role.BASELINE if name in baselines else Role.REFERENCE if name in references else Role.COMPETITOR
        found[name] = Submission(name, path, role)
    if not found:
        alone = any(path.is_file() and not path.name.startswith(".") for path in folder.iterdir())
        raise InputError(
            "there are no submissions" + ", only files, as in the folder of one team" * alone,
            path=folder,
            advice="Give the folder that holds one folder, .zip or .tar.gz per team",
        )
    if unknown := sorted({*baselines, *references} - set(found)):
        near = get_close_matches(unknown[0], found, n=1)
        raise InputError(
            f"there is no submission called {unknown[0]} to be a baseline or reference",
            path=folder,
            advice=f"Did you mean {near[0]}?" if near else None,
        )
    return list(found.values())


@contextmanager
def opened(submission: Submission, wanted: Sequence[Expected] = (), *, scratch: Path | None = None) -> Iterator[Files]:
    """Make the files of a submission accessible, unpacking an archive to a temporary folder, in `scratch` if given."""
    if submission.path.is_dir():
        yield Files(submission.path, wanted)
        return
    with TemporaryDirectory(prefix="podium-", dir=scratch) as name:
        _unpack(submission.path, Path(name))
        yield Files(Path(name), wanted)


def _unpack(archive: Path, folder: Path) -> None:
    try:
        if archive.name.lower().endswith(".zip"):
            with zipfile.ZipFile(archive) as packed:
                infos = packed.infolist()
                _check_size(archive, len(infos), sum(info.file_size for info in infos))
                for info in infos:
                    target = _inside(folder, info.filename, archive)
                    if info.external_attr >> 28 not in (0, 4, 8):  # neither a plain file nor a folder
                        raise InputError(f"'{info.filename[:80]}' is not a plain file", path=archive)
                    if info.is_dir():
                        target.mkdir(parents=True, exist_ok=True)
                        continue
                    with packed.open(info) as source:
                        _copy(source, target, info.file_size)
            return
        with tarfile.open(archive, "r:gz") as packed:
            total = 0
            for count, member in enumerate(packed, start=1):
                total += member.size
                _check_size(archive, count, total)
                target = _inside(folder, member.name, archive)
                if member.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                elif member.isreg():
                    content = packed.extractfile(member)
                    assert content is not None  # it is a plain file
                    _copy(content, target, member.size)
                else:
                    raise InputError(f"'{member.name[:80]}' is not a plain file", path=archive)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError) as error:
        # An encrypted archive is a RuntimeError; two entries of one name, or a name too long, an OSError.
        raise InputError(f"the archive cannot be read ({error})", path=archive, advice="Pack it again") from None


def _copy(source: object, target: Path, size: int) -> None:
    """Write no more than was promised."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        while size > 0 and (piece := source.read(min(size, 1 << 20))):  # type: ignore[attr-defined]
            out.write(piece)
            size -= len(piece)


def _check_size(archive: Path, entries: int, size: int) -> None:
    if entries > _MOST_ENTRIES or size > _MOST_BYTES:
        raise InputError(
            f"the archive holds {entries:,} entries of {size:,} bytes in all, more than the limit of "
            f"{_MOST_ENTRIES:,} and {_MOST_BYTES:,}",
            path=archive,
        )


def _inside(folder: Path, name: str, archive: Path) -> Path:
    """Return where an entry goes, if that is inside the folder."""
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or "\0" in name or ":" in parts.parts[:1]:
        raise InputError(f"'{name[:80]}' would be unpacked outside the submission", path=archive)
    return folder.joinpath(*parts.parts)


class Files:
    """What lies in a submission: plain files, and folders that may be a prediction of their own."""

    def __init__(self, folder: Path, wanted: Sequence[Expected] = ()) -> None:
        patterns = [part for expected in wanted for name in expected.names for part in (name, name.partition("/")[0])]
        root = folder
        while True:  # archives often hold one folder that holds everything
            entries = [path for path in root.iterdir() if not path.name.startswith((".", "__MACOSX"))]
            if len(entries) != 1 or not entries[0].is_dir() or entries[0].is_symlink():
                break
            if any(fnmatchcase(entries[0].name, pattern) for pattern in patterns):
                break  # the folder is a prediction, or holds them where they are expected
            root = entries[0]
        self.root = root
        self._entries = sorted(
            path.relative_to(root).as_posix()
            for pattern in ("*", "*/*")
            for path in root.glob(pattern)
            if not path.is_symlink()
            and not any(part.startswith((".", "__MACOSX")) for part in path.relative_to(root).parts)
        )
        self._links = {path.name for path in root.iterdir() if path.is_symlink()}
        self._used: set[str] = set()

    @property
    def timing(self) -> Path | None:
        """Return the file with the seconds of each case, if there is one."""
        self._used.add(TIMING)
        return self.root / TIMING if TIMING in self._entries else None

    def find(self, expected: Expected) -> Path | None:
        """Return the prediction of a case, None if it is missing; several are an error."""
        for pattern in expected.names:
            matches = [entry for entry in self._entries if fnmatchcase(entry, pattern)]
            self._used.update(matches)
            if len(matches) > 1:
                raise InputError(f"there are {len(matches)} predictions of {expected.case}: {', '.join(matches[:3])}")
            if matches:
                return self.root / matches[0]
            if links := [name for name in self._links if fnmatchcase(name, pattern)]:
                raise InputError(f"{links[0]} is a symbolic link, which is not followed")
        return None

    def unexpected(self, wanted: list[Expected]) -> list[str]:
        """Name the files that no case asked for, each with the nearest name that would have been right."""
        names = [expected.names[0] for expected in wanted if not self._used.intersection(expected.names)]
        remarks = []
        for entry in self._entries:
            inside = any(entry.startswith(f"{used}/") for used in self._used)
            if entry in self._used or inside or (self.root / entry).is_dir():
                continue
            near = get_close_matches(entry, names, n=1, cutoff=0.6)
            remarks.append(f"{entry}: unexpected file" + (f", is it meant to be {near[0]}?" if near else ""))
        return remarks
