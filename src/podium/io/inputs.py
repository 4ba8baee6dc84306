"""Files that are read: every reader opens them here, so that whoever records a result can tell what it rests on.

A header may name a second file with the voxels, so the path that a reader was given is not all that it reads. Only the
reader knows; it says so to whoever listens, and nothing has to be handed through the functions in between.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from podium.model import InputError

__all__ = ["MAX_TEXT_BYTES", "digest", "note", "noting_files", "open_input", "read_text"]

MAX_TEXT_BYTES = 2**24
"""A text file with more bytes than this is refused. Reading a table from one takes up to 32 times as much memory."""

_listening: ContextVar[tuple[set[Path], ...]] = ContextVar("_listening", default=())


@contextmanager
def noting_files() -> Iterator[set[Path]]:
    """Note which files are opened for reading in this block, by the thread that entered it.

    Blocks may be nested: what is opened in an inner one is noted in the outer ones as well. A thread that is started
    inside notes nothing here, as it may outlive the block; it notes its own files.

    Yields
    ------
    set
        The files opened so far, as their paths were given; a file beside another has the other's folder. What cannot
        be opened is not among them.
    """
    files: set[Path] = set()
    token = _listening.set((*_listening.get(), files))
    try:
        yield files
    finally:
        _listening.reset(token)


def note(path: Path) -> None:
    """Say that a file was opened for reading; for what cannot be opened by `open_input`, such as in another process."""
    for files in _listening.get():
        files.add(path)


def open_input(path: Path) -> BinaryIO:
    """Open a file for reading, and note it; errors are those of `open`."""
    file = path.open("rb")
    note(path)
    return file


def read_text(path: Path, *, most_bytes: int = MAX_TEXT_BYTES) -> str:
    """Read a text file in UTF-8, with or without a byte-order mark; line ends stay as they are.

    Parameters
    ----------
    path
        The file.
    most_bytes
        Refuse a longer one, of which no more than this is read.

    Raises
    ------
    InputError
        There is no such file, or it cannot be read, is too long, or not text in UTF-8.
    """
    try:
        if path.exists() and not path.is_file():  # reading a pipe would wait for ever
            raise InputError("this is not a plain file", path=path)
        with open_input(path) as file:
            content = file.read(most_bytes + 1)
    except FileNotFoundError:
        raise InputError("there is no such file", path=path) from None
    except OSError as error:
        raise InputError(f"it cannot be read ({error.strerror or error})", path=path) from None
    if len(content) > most_bytes:
        raise InputError(f"the file has more than {most_bytes:,} bytes", path=path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("this is not text in UTF-8", path=path, advice="Save it as plain text") from None


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits. A file is not noted for being hashed: nothing rests on it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
