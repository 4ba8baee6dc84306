"""Archives that strangers send, unpacked without letting anything out of their folder, or too much into it."""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from gzip import BadGzipFile
from pathlib import Path
from typing import Any, BinaryIO

from podium.io.archives import ARCHIVE_DAMAGE, open_zip
from podium.model import InputError

__all__ = ["ARCHIVES", "ROOM_TAKEN", "Limits", "room_needed", "unpack"]

ARCHIVES = (".zip", ".tar.gz", ".tgz")
"""What the name of an archive ends with, in lower case."""
ROOM_TAKEN = 0.9
"""Of what is free on a disk, so that archives never fill it."""

_DAMAGE: tuple[type[Exception], ...] = (*ARCHIVE_DAMAGE, tarfile.TarError, BadGzipFile)
_PIECE = 1 << 20
_BLOCK = 512
_LONGEST_NAME = 1024
_LONGEST_PART = 255
_LONGEST_RECORD = 1 << 20  # of a tar file, about the entry that follows: a long name, times, attributes
_DEEPEST = 32
_PLACE = 4096  # bytes that a file or a folder takes up on a disk, or a multiple
_RECORDS_AN_ENTRY = 4  # of a tar file at most
_PLAIN = {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE}
_ABOUT_NEXT = {tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a submission may hold at most.

    Attributes
    ----------
    entries
        Files and folders, of an archive or a folder.
    unpacked_bytes
        All files of an archive, unpacked.
    prediction_bytes
        The file or files of one prediction. A file may be all holes, and take no room: it is neither read nor hashed.
    ratio
        Unpacked bytes for each byte of the archive. What deflate makes of an empty mask comes near 1032, and no
        further: only an archive that uses the same bytes several times does.
    """

    entries: int = 100_000
    unpacked_bytes: int = 256 * 2**30
    prediction_bytes: int = 16 * 2**30
    ratio: float = 1100.0

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise InputError(f"the limit {field.name} is {getattr(self, field.name)}, not a number above 0")


def unpack(archive: Path, folder: Path, limits: Limits) -> None:
    """Unpack a .zip or .tar.gz into an empty folder.

    Nothing is written outside the folder, no links or devices are made, and no file gets a mode or an owner from the
    archive. Archives within the archive stay as they are. Memory is a few megabytes and, for a zip file, its list of
    entries (`podium.io.archives.MAX_DIRECTORY_BYTES`).

    Raises
    ------
    InputError
        The archive is damaged, exceeds a limit, or holds something else than plain files and folders.
    OSError
        There is no room, or no permission.
    """
    _pass_over(archive, _Target(archive, folder, limits), limits)


def room_needed(archive: Path, limits: Limits) -> int:
    """Return how many bytes a .zip or .tar.gz takes on a disk once it is unpacked; nothing is written.

    Raises
    ------
    InputError
        As `unpack` does, but for damage to the content of a zip file.
    """
    target = _Ledger(archive, limits)
    _pass_over(archive, target, limits)
    return target.bytes_taken


def _pass_over(archive: Path, target: _Target, limits: Limits) -> None:
    if archive.name.lower().endswith(".zip"):
        _unpack_zip(archive, target, limits)
    else:
        _unpack_tar(archive, target)


class _Target:
    """A folder that is filled, and what has been put into it."""

    def __init__(self, archive: Path, folder: Path, limits: Limits) -> None:
        self._archive, self._folder, self._limits = archive, folder, limits
        self._packed = archive.stat().st_size
        self._made: dict[tuple[str, ...], bool] = {}  # whether it is a folder
        self._bytes = self._records = 0
        self._room = shutil.disk_usage(folder).free * ROOM_TAKEN

    def count_record(self) -> None:
        """Take note of what only says something about the entry that follows, unless there is too much of it."""
        self._records += 1
        if self._records > self._limits.entries * _RECORDS_AN_ENTRY:
            raise self._damaged(f"more than {self._limits.entries * _RECORDS_AN_ENTRY:,} records about its entries")

    def count(self, size: int) -> None:
        """Take note of bytes that will be written, unless they are too many."""
        self._bytes += size
        if self._bytes > self._limits.unpacked_bytes:
            raise self._refused(
                f"the archive unpacks to more than the limit of {self._limits.unpacked_bytes:,} bytes",
                "If that is meant, ask the organisers to raise the limit",
            )
        if self._bytes > self._limits.ratio * self._packed:
            raise self._refused(
                f"the archive of {self._packed:,} bytes unpacks to more than {self._limits.ratio:g} times as much",
                "Pack it again",
            )
        if self._bytes > self._room:
            raise OSError(
                errno.ENOSPC, f"there is too little room on the disk to unpack {self._archive.name}", str(self._folder)
            )

    def add_folder(self, name: str) -> None:
        self._make_folders(self._parts(name), name)

    def add_file(self, name: str, source: Any, size: int) -> None:
        """Write a file of exactly that many bytes."""
        parts = self._parts(name)
        if not parts:
            raise self._damaged("an entry has no name")
        if parts in self._made:
            again = "is both a file and a folder" if self._made[parts] else "is there twice"
            raise self._damaged(f"'{name[:80]}' {again}")
        self._make_folders(parts[:-1], name)
        self._remember(parts, folder=False)
        if self._write(parts, source, size) < size:
            raise self._damaged(f"'{name[:80]}' ends too early")

    def _write(self, parts: tuple[str, ...], source: Any, size: int) -> int:
        """Write a file, and return how many bytes there were."""
        with self._folder.joinpath(*parts).open("xb") as out:
            return sum(out.write(piece) for piece in _pieces(source, size))

    def _make(self, parts: tuple[str, ...]) -> None:
        self._folder.joinpath(*parts).mkdir()

    def _make_folders(self, parts: tuple[str, ...], name: str) -> None:
        for depth in range(1, len(parts) + 1):
            known = self._made.get(parts[:depth])
            if known is False:
                raise self._damaged(f"'{name[:80]}' lies in a file")
            if known is None:
                self._remember(parts[:depth], folder=True)
                self._make(parts[:depth])

    def _remember(self, parts: tuple[str, ...], *, folder: bool) -> None:
        self._made[parts] = folder
        if len(self._made) > self._limits.entries:
            raise self._refused(f"the archive holds more than the limit of {self._limits.entries:,} files and folders")

    def _parts(self, name: str) -> tuple[str, ...]:
        """Return the parts of a name that stays inside the folder."""
        plain = name.replace("\\", "/")
        parts = tuple(part for part in plain.split("/") if part not in ("", "."))
        if plain.startswith("/") or ".." in parts or re.match(r"[A-Za-z]:", plain):
            raise self._refused(f"'{name[:80]}' would be unpacked outside the submission", "Pack it again")
        if "\0" in name:
            raise self._refused(f"the name '{name[:80]}' holds a zero byte", "Pack it again")
        lengths = [len(os.fsencode(part)) for part in parts]
        if max(lengths, default=0) > _LONGEST_PART or sum(lengths) + len(parts) > _LONGEST_NAME:
            raise self._damaged(f"the name '{name[:40]}…' is too long")
        if len(parts) > _DEEPEST:
            raise self._damaged(f"'{name[:40]}…' lies {len(parts)} folders deep")
        return parts

    def not_plain(self, name: str, what: str) -> InputError:
        return self._refused(f"'{name[:80]}' is {what}, not a plain file", "Pack the files themselves")

    def _refused(self, what: str, advice: str | None = None) -> InputError:
        return InputError(what, path=self._archive, advice=advice)

    def _damaged(self, why: str) -> InputError:
        return self._refused(f"the archive cannot be read ({why})", "Pack it again")

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Say in one way what is wrong with an archive; errors of this machine's disk remain what they are."""
        try:
            yield
        except _DAMAGE as error:
            if isinstance(error, InputError):
                raise
            raise self._damaged(str(error)[:120]) from None


class _Ledger(_Target):
    """A target that nothing is written to: it only counts what would be."""

    def __init__(self, archive: Path, limits: Limits) -> None:
        super().__init__(archive, archive.parent, limits)
        self._room = math.inf
        self.bytes_taken = 0

    def _write(self, parts: tuple[str, ...], source: Any, size: int) -> int:  # noqa: ARG002
        self.bytes_taken += -(-size // _PLACE) * _PLACE
        if isinstance(source, zipfile.ZipExtFile):
            return size
        return sum(len(piece) for piece in _pieces(source, size))

    def _make(self, parts: tuple[str, ...]) -> None:  # noqa: ARG002
        self.bytes_taken += _PLACE


def _pieces(source: Any, size: int) -> Iterator[bytes]:
    """Yield that many bytes, or as many as there are."""
    while size > 0 and (piece := source.read(min(size, _PIECE))):
        yield piece
        size -= len(piece)


def _unpack_zip(archive: Path, target: _Target, limits: Limits) -> None:
    with open_zip(archive, most_entries=limits.entries) as packed:
        infos = packed.infolist()
        _check_overlap(infos, archive)
        target.count(sum(info.file_size for info in infos))
        for info in infos:
            kind = info.external_attr >> 28
            if kind not in (0, 4, 8):
                raise target.not_plain(info.filename, "a link" if kind == 10 else "a device or pipe")
            if info.filename.endswith("/"):
                target.add_folder(info.filename)
                continue
            with target.readable(), packed.open(info) as source:
                target.add_file(info.filename, source, info.file_size)


def _check_overlap(infos: list[zipfile.ZipInfo], archive: Path) -> None:
    """Refuse entries that share bytes, the way to a bomb that no ratio of a single entry shows."""
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise InputError(
                f"'{info.filename[:80]}' shares bytes with another entry of the archive",
                path=archive,
                advice="Pack it again",
            )
        end = info.header_offset + 30 + info.compress_size  # the entry's own header, without its name


def _unpack_tar(archive: Path, target: _Target) -> None:
    """Unpack a gzipped tar file in one pass, never going back, never holding more than a piece of it."""
    from isal import igzip

    opened: Any = igzip.open  # it has no type hints
    with archive.open("rb") as file, target.readable(), opened(file, "rb") as stream:
        long_name, size_known = None, None
        while (header := _next_header(stream)) is not None:
            if header.size < 0:
                raise tarfile.HeaderError("an entry has a negative size")
            if header.type in _ABOUT_NEXT or header.type == tarfile.XGLTYPE:
                record = _record(stream, header)
                if header.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
                    about = _pax(record)
                    long_name, size_known = about.get("path", long_name), about.get("size")
                elif header.type == tarfile.GNUTYPE_LONGNAME:
                    long_name = record.rstrip(b"\0").decode("utf-8", "surrogateescape")
                target.count_record()
                continue
            name = header.name if long_name is None else long_name
            size = header.size if size_known is None else _whole(size_known)
            long_name = size_known = None
            if header.type == tarfile.DIRTYPE:
                target.add_folder(name)
            elif header.type in _PLAIN:
                target.count(size)
                target.add_file(name, stream, size)
                stream.read(-size % _BLOCK)
            else:
                raise target.not_plain(name, _kind(header.type))


def _next_header(stream: BinaryIO) -> tarfile.TarInfo | None:
    """Return what the next block of a tar file says; None at its end."""
    block = stream.read(_BLOCK)
    if not block.strip(b"\0"):
        return None
    return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")


def _record(stream: BinaryIO, header: tarfile.TarInfo) -> bytes:
    """Return the content of an entry that is about the next one."""
    if header.size > _LONGEST_RECORD:
        raise tarfile.HeaderError(f"a record of {header.size:,} bytes about an entry")
    content = stream.read(header.size + -header.size % _BLOCK)
    return content[: header.size]


def _pax(record: bytes) -> dict[str, str]:
    """Return name and size of the next entry, where a record of the form `length key=value` gives them."""
    facts, at = {}, 0
    while at < len(record) and (match := re.match(rb"(\d{1,7}) ([^=]+)=", record[at : at + 300])):
        end = at + int(match[1])
        if end <= at + len(match[0]) or end > len(record):
            raise tarfile.HeaderError("a record about an entry is damaged")
        key = match[2].decode("utf-8", "replace")
        if key.startswith("GNU.sparse"):
            raise tarfile.HeaderError("it is packed as sparse, which is not read")
        if key in ("path", "size"):
            facts[key] = record[at + len(match[0]) : end - 1].decode("utf-8", "surrogateescape")
        at = end
    return facts


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise tarfile.HeaderError(f"the size of an entry is '{text[:20]}'")
    return int(text)


def _kind(kind: bytes) -> str:
    names = {
        tarfile.SYMTYPE: "a symbolic link",
        tarfile.LNKTYPE: "a hard link",
        tarfile.CHRTYPE: "a device",
        tarfile.BLKTYPE: "a device",
        tarfile.FIFOTYPE: "a pipe",
        tarfile.GNUTYPE_SPARSE: "packed as sparse",
    }
    return names.get(kind, "something special")
