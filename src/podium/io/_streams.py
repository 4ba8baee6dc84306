"""Voxels from compressed or plain bytes, a piece at a time, straight into narrow labels."""

from __future__ import annotations

from gzip import BadGzipFile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from isal import igzip, isal_zlib

from podium.io._narrow import Narrower
from podium.model import InputError

_PIECE = 512 * 1024  # stays in the second-level cache between decompression and narrowing
_FEED = 64 * 1024
_MOST_BEHIND = 2**24  # bytes that a file may hold beyond its voxels
MOST_DEFLATE_EXPANDS = 1032
"""The compression's own limit: no honest file expands further."""


class Stream:
    """The bytes of a file from where it stands, decompressed where they have to be; what is wrong with them is said.

    Parameters
    ----------
    file
        Open for reading, at the first byte.
    path
        For error messages.
    compression
        None, "gzip" (one or several members, checksums verified) or "zlib".
    """

    def __init__(self, file: BinaryIO, path: Path, *, compression: str | None) -> None:
        sources: dict[str | None, Any] = {None: lambda: file, "gzip": lambda: _gzip_reader(file)}
        self._source: Any = sources.get(compression, lambda: _ZlibReader(file))()
        self._kind = compression
        self._path = path
        self.position = 0

    def readinto(self, buffer: npt.NDArray[np.uint8]) -> int:
        """Fill a buffer; return how many bytes there were, fewer than asked for only at the end."""
        filled = 0
        try:
            while filled < buffer.size and (count := self._source.readinto(buffer[filled:])):
                filled += count
        except EOFError:
            raise InputError(
                f"the {self._kind} data ends too early", path=self._path, advice="Copy or save it again"
            ) from None
        except (isal_zlib.error, BadGzipFile) as error:  # type: ignore[misc]  # the stub hides that one is an exception
            raise InputError(
                f"the {self._kind} data is damaged ({error})", path=self._path, advice="Copy or save it again"
            ) from None
        self.position += filled
        return filled

    def read(self, count: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        buffer = np.empty(count, np.uint8)
        return buffer[: self.readinto(buffer)].tobytes()

    def narrow(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], *, slope: float = 1.0, intercept: float = 0.0
    ) -> Narrower:
        """Read the voxels of a label map, first axis fastest.

        Bytes that follow the voxels are allowed; no more than one of them is read, which verifies the checksum of a
        file without them, so that they cannot be a bomb.
        """
        narrower = Narrower(shape, path=self._path)
        start, promised = self.position, narrower.missing * dtype.itemsize
        piece = np.empty(min(_PIECE, promised), np.uint8)
        while narrower.missing:
            wanted = min(_PIECE, narrower.missing * dtype.itemsize)
            if self.readinto(piece[:wanted]) < wanted:
                raise too_short(self._path, promised, self.position - start)
            values = piece[:wanted].view(dtype)
            if not dtype.isnative:
                values = values.astype(dtype.newbyteorder("="))
            narrower.add(values if slope == 1 and intercept == 0 else _scaled(values, slope, intercept))
        self.read(1)
        return narrower


def checked_length(path: Path, promised: int, held: int, *, compressed: bool, what: str) -> None:
    """Refuse a file that cannot hold what its header promises, or holds far more, before anything is read."""
    if promised > held * (MOST_DEFLATE_EXPANDS if compressed else 1):
        raise too_short(path, promised, held, what=what + " unpacked" * compressed)
    if held > promised + _MOST_BEHIND:
        raise InputError(
            f"the header promises {promised:,} {what}, the file holds {held:,}",
            path=path,
            advice="It is damaged, or more than a label map: save it again",
        )


def too_short(path: Path, promised: int, held: int, *, what: str = "bytes of voxels") -> InputError:
    """Say that a header promises more than its file holds."""
    return InputError(
        f"the header promises {promised:,} {what}, the file holds {held:,}",
        path=path,
        advice="It was cut short: copy or save it again",
    )


def _scaled(values: npt.NDArray[Any], slope: float, intercept: float) -> npt.NDArray[np.float64]:
    """Apply a scaling that is stored with single precision: what is whole up to that precision is whole."""
    scaled = values * slope + intercept
    whole = np.rint(scaled)
    precision = 2.0**-22 * np.maximum(np.abs(scaled), max(abs(intercept), 1.0))
    return np.where(np.abs(scaled - whole) <= precision, whole, scaled)


def _gzip_reader(file: BinaryIO) -> Any:
    """Return igzip's own core, without its extra copy, where it is; else what igzip itself opens."""
    core: Any = getattr(isal_zlib, "_GzipReader", None)
    opened: Any = igzip.open  # it has no type hints
    return opened(file) if core is None else core(file, _FEED)


class _ZlibReader:
    """A zlib stream that fills buffers."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflater = isal_zlib.decompressobj(wbits=15)

    def readinto(self, buffer: npt.NDArray[np.uint8]) -> int:
        while not self._inflater.eof:
            feed = self._inflater.unconsumed_tail or self._file.read(_FEED)
            if not feed:
                raise EOFError
            piece = self._inflater.decompress(feed, buffer.size)
            if piece:
                buffer[: len(piece)] = np.frombuffer(piece, np.uint8)
                return len(piece)
        return 0
