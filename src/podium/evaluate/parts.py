"""Part files: what is known of each case of a run under way, complete or absent, so that nothing measured is lost."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from podium.io import write_parquet
from podium.model import InputError

__all__ = ["Part", "Parts", "sole_writer"]

_KEY = "podium"
_LOCK = ".lock"
_UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Everything that is kept of a measured case.

    Attributes
    ----------
    case
        Its name.
    made_by
        What decides how a case is measured: challenge, version, edition, options and Podium's own version.
    table
        Its measurements; see `SCHEMA`.
    hashes
        SHA-256 of the files that were measured: "truth" or the submission's name, then the path inside it.
    lost
        Rows that each submission failed.
    failures
        What went wrong: submission, case, status and reason.
    """

    case: str
    made_by: Mapping[str, Any]
    table: pl.DataFrame
    hashes: Mapping[str, Mapping[str, str]]
    lost: Mapping[str, tuple[str, ...]]
    failures: tuple[tuple[str, str, str, str], ...]


class Parts:
    """The part files of a run folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "parts"

    def __len__(self) -> int:
        return len(list(self._folder.glob("*.parquet")))

    def path(self, case: str) -> Path:
        """Return where a case's part lies: its name as far as a file may be called that, and a digest of all of it."""
        kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in case)[:80].lstrip(".")
        return self._folder / f"{kept}-{sha256(case.encode(errors='surrogateescape')).hexdigest()[:12]}.parquet"

    def write(self, part: Part) -> None:
        """Let a part appear, complete or not at all."""
        told = {
            "case": part.case,
            "made_by": part.made_by,
            "hashes": part.hashes,
            "lost": part.lost,
            "failures": part.failures,
        }
        text = json.dumps(told, sort_keys=True)
        write_parquet(self.path(part.case), part.table, metadata={_KEY: text})

    def read(self, case: str) -> Part | None:
        """Return the part of a case; None if there is none, or none that can be read."""
        path = self.path(case)
        try:
            told = json.loads(pl.read_parquet_metadata(path)[_KEY])
            table = pl.read_parquet(path)
        except (OSError, KeyError, ValueError, pl.exceptions.PolarsError):
            return None  # it is measured again, as if it had never been
        return Part(
            case=told["case"],
            made_by=told["made_by"],
            table=table,
            hashes=told["hashes"],
            lost={name: tuple(rows) for name, rows in told["lost"].items()},
            failures=tuple(tuple(each) for each in told["failures"]),
        )

    @property
    def unfinished(self) -> bool:
        """Whether a run began here and did not end."""
        return (self._folder / _UNFINISHED).exists()

    def begin(self, *, but: frozenset[str] = frozenset()) -> None:
        """Remove the parts of all cases but some, and what a killed run left half written; note that a run began."""
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = {self.path(case) for case in but}
        for path in self._folder.iterdir():
            if path not in kept:
                path.unlink()
        (self._folder / _UNFINISHED).touch()

    def finish(self) -> None:
        """Note that everything was written."""
        (self._folder / _UNFINISHED).unlink(missing_ok=True)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Let nobody else write to a run folder meanwhile; the lock ends with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
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
