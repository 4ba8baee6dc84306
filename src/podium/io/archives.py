"""Zip files that strangers send: their list of entries is bounded before it is read."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isal import isal_zlib

from podium.io.inputs import open_input
from podium.model import InputError

__all__ = ["ARCHIVE_DAMAGE", "MAX_DIRECTORY_BYTES", "open_zip"]

ARCHIVE_DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    isal_zlib.error,  # type: ignore[assignment]  # the stub hides that it is an exception
    struct.error,
    EOFError,
    IndexError,
    KeyError,
    OverflowError,
    RuntimeError,  # encrypted, or packed in a way that is not known
    ValueError,  # a name that is not UTF-8 although it says so
)
"""What `zipfile` raises, now here and now there, when an archive is broken."""

MAX_DIRECTORY_BYTES = 2**26
"""A zip file whose list of entries takes more bytes than this is refused."""

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@contextmanager
def open_zip(path: Path, *, most_entries: int, what: str = "the archive cannot be read") -> Iterator[zipfile.ZipFile]:
    """Open a zip file whose entries are stored or deflated.

    Parameters
    ----------
    path
        The file.
    most_entries
        Refuse a file that lists more entries than this, before they take memory.
    what
        How the error begins where the file is damaged.

    Raises
    ------
    InputError
        It is damaged, lists too many entries, or packs them in another way.
    """
    try:
        count, size = _listed(path)
        if count > most_entries or size > MAX_DIRECTORY_BYTES:
            raise InputError(
                f"the archive lists {count:,} entries in {size:,} bytes, more than the limit of {most_entries:,} "
                f"and {MAX_DIRECTORY_BYTES:,}",
                path=path,
            )
        archive = zipfile.ZipFile(path)  # noted when its list was counted
    except ARCHIVE_DAMAGE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} ({str(error)[:120]})", path=path, advice="Pack it again") from None
    with archive:
        for info in archive.infolist():
            if info.flag_bits & 1:
                raise InputError(
                    f"'{info.filename[:80]}' is encrypted", path=path, advice="Pack it again without a password"
                )
            if info.compress_type not in _METHODS:
                raise InputError(
                    f"'{info.filename[:80]}' is packed with method {info.compress_type}, which is not read",
                    path=path,
                    advice="Pack it again with deflate, what zip does by default",
                )
        yield archive


def _listed(path: Path) -> tuple[int, int]:
    """Return how many entries a zip file may list, and the bytes of the list; as many as `zipfile` would read.

    Only `zipfile` itself knows where it would begin. Where it does not tell, nothing is bounded, and none is read.
    """
    end_of = getattr(zipfile, "_EndRecData", None)
    if end_of is None:
        raise InputError(
            "zip files cannot be opened safely with this version of Python", path=path, advice="Pack it as .tar.gz"
        )
    with open_input(path) as file:
        try:
            end = end_of(file)
        except OSError:  # zipfile says so too, in other words
            end = None
        if not end:
            raise zipfile.BadZipFile("File is not a zip file")
        size, place = end[5], end[9]  # of the list, and where it ends
        if size > place:
            raise zipfile.BadZipFile("its list of entries is cut short")
        if size > MAX_DIRECTORY_BYTES:
            return size // 46, size
        file.seek(max(place - size - 76, 0))  # records of larger files may lie between the list and its end
        return file.read(size + 76).count(b"PK\x01\x02"), size
