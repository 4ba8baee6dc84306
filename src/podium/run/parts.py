"""Part files: what is known of each case of work under way, complete or absent, so that nothing measured is lost."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import math
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from podium.io import digest, parquet_bytes, write_bytes
from podium.model import InputError

__all__ = ["LOCK", "TOO_LARGE", "Part", "Parts", "digests", "sole_writer"]

LOCK = ".lock"
TOO_LARGE = "too large to be hashed"
"""Stands where a hash would; what is that large is not read either."""
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
_FOREIGN = (KeyError, ValueError, TypeError, AttributeError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading a part raises that another program, or another version, has written."""
_KEY = "podium"
_SUFFIX = ".part"
_UNFINISHED = "unfinished"
_OWN_NAME = re.compile(r"(?!\.).*-[0-9a-f]{12}\.(part|parquet)|\..*\.part", re.DOTALL)
"""Parts, those of earlier versions included, and parts that are half written."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Everything that is kept of a case.

    Attributes
    ----------
    case
        Its name.
    made_by
        What decides how a case is measured: challenge, version, edition, options and Podium's own version.
    truth
        SHA-256 of every file of the truth that was read, by its path inside the truth.
    table
        Its measurements, or whatever else was found out; see `SCHEMA`.
    hashes
        SHA-256 of the files that were measured: the submission's name, then the path inside it.
    lost
        Rows that each submission failed; who is not named here was not measured.
    failures
        What went wrong: submission, case, status and reason.
    faults
        What the challenge itself did wrong: submission ("" for all of them) and what.
    devices
        GPUs on which any of it was measured.
    """

    case: str
    made_by: Mapping[str, Any]
    truth: Mapping[str, str]
    table: pl.DataFrame
    hashes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    lost: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: tuple[tuple[str, str, str, str], ...] = ()
    faults: tuple[tuple[str, str], ...] = ()
    devices: tuple[str, ...] = ()


class Parts:
    """The part files in a folder, and of which kind of work they are."""

    def __init__(self, folder: Path, *, of: str = "run.json") -> None:
        self.folder = folder / "parts"
        self._of = of

    def __len__(self) -> int:
        return len(list(self.folder.glob(f"[!.]*{_SUFFIX}")))

    def path(self, case: str) -> Path:
        """Return where a case's part lies: its name as far as a file may be called that, and a digest of all of it."""
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in case)
        kept = plain.encode()[:80].decode(errors="ignore").lstrip(".")
        return self.folder / f"{kept}-{sha256(case.encode(errors='surrogateescape')).hexdigest()[:12]}{_SUFFIX}"

    def write(self, part: Part) -> None:
        """Let a part appear, complete or not at all; its first line is a checksum of the rest."""
        facts = {field.name: getattr(part, field.name) for field in fields(part) if field.name != "table"}
        packed = parquet_bytes(part.table, metadata={_KEY: json.dumps(facts, sort_keys=True)})
        write_bytes(self.path(part.case), sha256(packed).hexdigest().encode() + b"\n" + packed)

    def read(self, case: str) -> Part | None:
        """Return the part of a case; None if there is none, or it is not what was written."""
        try:
            checksum, _, packed = self.path(case).read_bytes().partition(b"\n")
        except OSError:
            return None
        if sha256(packed).hexdigest().encode() != checksum:
            return None  # it is measured again, as if it had never been
        try:
            facts = json.loads(pl.read_parquet_metadata(io.BytesIO(packed))[_KEY])
            return Part(
                case=facts["case"],
                made_by=facts["made_by"],
                truth=facts["truth"],
                table=pl.read_parquet(io.BytesIO(packed)),
                hashes=facts["hashes"],
                lost={name: tuple(rows) for name, rows in facts["lost"].items()},
                failures=tuple(tuple(failure) for failure in facts["failures"]),
                faults=tuple(tuple(fault) for fault in facts["faults"]),
                devices=tuple(facts.get("devices", ())),
            )
        except _FOREIGN:
            return None

    def still_true(self, case: str, made_by: Mapping[str, Any], truth: Path, files: tuple[Path, ...]) -> Part | str:
        """Return the part of a case, if the truth is what it was and it would be made alike; else why not."""
        known = self.read(case)
        if known is None:
            return "not measured yet"
        keys = {*known.made_by, *made_by}
        if changed := sorted(key for key in keys if known.made_by.get(key) != made_by.get(key)):
            return f"other {' and '.join(changed)}"
        if digests(truth, {*files, *(truth / name for name in known.truth)}) != known.truth:
            return "the truth changed"
        return known

    @property
    def unfinished(self) -> bool:
        """Whether work began here and did not end."""
        return (self.folder / _UNFINISHED).exists()

    @property
    def unfinished_other(self) -> bool:
        """Whether that was another kind of work."""
        return self.unfinished and (self.folder / _UNFINISHED).read_text(encoding="utf-8") not in ("", self._of)

    def begin(self, *, but: frozenset[str] = frozenset()) -> None:
        """Remove the parts of all cases but some, and what a killed run left half written; note that work began.

        Nothing else that lies there is touched.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {self.path(case) for case in but}
        for path in self.folder.iterdir():
            if path not in kept and _OWN_NAME.fullmatch(path.name) and path.is_file():
                path.unlink()
        (self.folder / _UNFINISHED).write_text(self._of, encoding="utf-8")

    def finish(self) -> None:
        """Note that everything was written."""
        (self.folder / _UNFINISHED).unlink(missing_ok=True)


def digests(root: Path, files: set[Path], *, most_bytes: float = math.inf) -> dict[str, str]:
    """Return the SHA-256 of files by their path inside a folder; "" for what is not there, or may not be read.

    No more than `most_bytes` are read: where all together are more, the largest files have `TOO_LARGE` instead.
    """
    hashes, taken = {}, 0.0
    for path in sorted(files, key=lambda path: (_size(path), path)):
        taken += _size(path)
        hashes[_inside(root, path)] = _digest(path) if taken <= most_bytes else TOO_LARGE
    return dict(sorted(hashes.items()))


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _digest(path: Path) -> str:
    try:
        return digest(path) if path.is_file() else ""
    except PermissionError:
        return ""


def _inside(root: Path, path: Path) -> str:
    """Return a path inside a folder, however either is written; one that lies elsewhere stays what it is."""
    for own, other in ((path, root), (path.resolve(), root.resolve())):
        if own.is_relative_to(other):
            return own.relative_to(other).as_posix()
    return str(path.absolute())


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Let nobody else write to a folder meanwhile; the lock ends with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise InputError(
                    "this file system has no locks, so that two runs at once could not be kept apart",
                    path=folder,
                    advice="Give an --out on another disk, and copy the run afterwards",
                ) from None
            lock.seek(0)
            who = lock.read().strip() or "somebody"
            raise InputError(
                f"another run is writing to this folder ({who})",
                path=folder,
                advice="Wait for it to end, or give another --out",
            ) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        try:
            yield
        finally:
            lock.truncate(0)
