"""Datasets of HDF5 files that strangers send, read without HDF5.

HDF5 (as of 2.0) believes what a file says about itself: a chunk that unpacks to less than it should ends the process,
as does a damaged index, and a chunk that unpacks to more takes all the memory there is. So HDF5 is asked in a process
of its own where things lie (`_sandbox`), and the bytes are read and unpacked here, within bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from isal import isal_zlib

from podium._jit import kernel
from podium.io._sandbox import NoAnswerError, ask
from podium.io._streams import MOST_DEFLATE_EXPANDS
from podium.model import InputError

__all__ = ["MAX_ARRAY_BYTES", "MAX_CHUNK_BYTES", "File", "Stored"]

MAX_ARRAY_BYTES = 2**29
"""An array with more bytes than this is not read as a whole; larger ones can be read in pieces."""

MAX_CHUNK_BYTES = 2**29
"""A chunk of an HDF5 dataset that unpacks to more bytes than this is refused. Up to three such are held at a time."""

_DEFLATE, _SHUFFLE, _FLETCHER32, _LZF = 1, 2, 3, 32000
_FILTERS = {_DEFLATE, _SHUFFLE, _FLETCHER32, _LZF}
_MOST_FILTERS = 8
_MOST_LZF_EXPANDS = 88  # 264 bytes from three
_ADVICE = "Copy or save the file again"

Index = int | slice
Piece = tuple[tuple[int, ...], tuple[int, ...]]
"""The first index on every axis, and the first behind it."""


class File:
    """An HDF5 file: the names of what it holds, and its datasets.

    Parameters
    ----------
    path
        Where it lies.
    file
        The same, open for reading.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = path, file
        facts, _ = self._asked(None)
        if facts.get("problem") == "closed":
            raise InputError("this is not a readable HDF5 file", path=path, advice="It was cut short or damaged")
        self._names: list[str] = facts["names"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def _asked(
        self, name: str | None, *, texts: tuple[str, ...] = (), path: Path | None = None
    ) -> tuple[dict[str, Any], bytes]:
        """Ask about a dataset, or the whole file, and say what is wrong with either."""
        shown = path or self.path
        try:
            facts, content = ask(self.path, name, texts=texts)
        except NoAnswerError:
            raise InputError(
                "this HDF5 file is damaged (HDF5 crashes on it, or is lost in it)", path=shown, advice=_ADVICE
            ) from None
        problem = facts.get("problem")
        if problem == "damaged" and name is None:
            raise InputError(f"this HDF5 file is damaged ({facts['why']})", path=shown, advice=_ADVICE)
        if problem == "damaged":
            raise InputError(f"'{name}' cannot be read ({facts['why']})", path=shown, advice=_ADVICE)
        return facts, content

    def dataset(self, name: str, *, path: Path, texts: tuple[str, ...] = ()) -> Stored:
        """Return a dataset of numbers that the file itself holds, and short texts that are its attributes."""
        facts, content = self._asked(name, texts=texts, path=path)
        match facts.get("problem"):
            case "missing" | "closed":
                names = ", ".join(sorted(self._names[:1000]))[:120] or "nothing"
                raise InputError(f"there is no dataset '{name}', only {names}", path=path)
            case "link":
                raise InputError(f"'{name}' is a link", path=path, advice="Store the data itself")
            case "elsewhere":
                raise InputError(f"'{name}' is not data held by this file", path=path, advice="Store the data itself")
            case "not numbers":
                raise InputError(f"'{name}' holds {facts['why']}, not numbers", path=path)
            case "unusual":
                raise InputError(
                    f"'{name}' holds numbers in an unusual form",
                    path=path,
                    advice="Store whole numbers or floating-point numbers of IEEE 754",
                )
        try:
            return Stored(facts, content, self.file, name, path)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"'{name}' cannot be read (it is damaged)", path=path, advice=_ADVICE) from None


class Stored:
    """Numbers in a file; they are read by indexing with whole numbers and plain slices, `[()]` for all of them.

    Parameters
    ----------
    facts, content
        What `_hdf5_facts` says about them, and the bytes that came with it.
    file
        Open for reading.
    name, path
        For error messages.

    Raises
    ------
    InputError
        They are stored in a way that is not read.
    """

    def __init__(self, facts: dict[str, Any], content: bytes, file: BinaryIO, name: str, path: Path) -> None:
        self._name, self._path, self._file = name, path, file
        self._file_size = file.seek(0, 2)
        self.dtype: np.dtype[Any] = np.dtype(facts["dtype"])
        self.shape: Any = None if facts["shape"] is None else tuple(facts["shape"])  # None where nothing is stored
        self.chunks: tuple[int, ...] | None = tuple(facts["chunks"]) if facts["chunks"] else None
        self.texts: dict[str, str | None] = facts["texts"]
        self._last: tuple[tuple[int, ...], npt.NDArray[Any] | None] | None = None
        self._filters: list[tuple[int, int]] = []
        self._layout: str = facts["layout"]
        if self.shape is None:
            return
        self._fill_value = np.frombuffer(bytes.fromhex(facts["fill"]), self.dtype)[0]
        if self.chunks is None:
            self._content = content
            self._place: int | None = facts.get("place")
            self._check_size(facts["held"])
        else:
            self._check_form(facts["filters"])
            self._index(np.frombuffer(content, np.int64).reshape(-1, len(self.chunks) + 3))

    @property
    def size(self) -> int | None:
        """Return how many numbers there are; None if not even that is stored."""
        return None if self.shape is None else math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape or ())

    @property
    def nbytes(self) -> int:
        """Return the bytes that all numbers take in memory."""
        return (self.size or 0) * self.dtype.itemsize

    @property
    def filtered(self) -> bool:
        """Whether chunks have to be unpacked, so that none can be read in part."""
        return bool(self._filters)

    def __len__(self) -> int:
        return int((self.shape or (0,))[0])

    def __getitem__(self, index: Any) -> Any:
        if self.shape is None:
            raise InputError(f"'{self._name}' is empty", path=self._path)
        (lower, upper), kept = self._piece(index)
        shape = tuple(high - low for low, high in zip(lower, upper, strict=True))
        if math.prod(shape) * self.dtype.itemsize > MAX_ARRAY_BYTES:
            raise InputError(
                f"'{self._name}' is too large: {' × '.join(map(str, shape))} numbers take more than "
                f"{MAX_ARRAY_BYTES:,} bytes",
                path=self._path,
            )
        if self.nbytes > self._file_size * MOST_DEFLATE_EXPANDS:
            raise InputError(
                f"'{self._name}' promises {self.nbytes:,} bytes, the file holds {self._file_size:,}",
                path=self._path,
                advice=_ADVICE,
            )
        out = np.empty(shape, self.dtype.newbyteorder("="))
        self._fill(out, (lower, upper))
        return out.reshape([n for n, keep in zip(shape, kept, strict=True) if keep])[()]

    def read_direct(self, dest: npt.NDArray[Any], source_sel: Any = (), dest_sel: Any = ()) -> None:
        """Read a piece into part of an array."""
        piece, kept = self._piece(source_sel)
        out = dest[dest_sel]
        for axis, keep in enumerate(kept):
            if not keep:
                out = np.expand_dims(out, axis)
        self._fill(out, piece)

    def _check_size(self, held: int) -> None:
        """Refuse numbers in one block that is not as large as they are."""
        missing = self._layout == "compact" and len(self._content) != self.nbytes
        if held not in (0, self.nbytes) or missing:
            raise InputError(
                f"'{self._name}' should take {self.nbytes:,} bytes, the file holds {held:,}",
                path=self._path,
                advice=_ADVICE,
            )
        if self._place is not None and not 0 <= self._place <= self._file_size - self.nbytes:
            raise self._damaged("it lies outside the file")

    def _check_form(self, filters: Sequence[tuple[int, int, str]]) -> None:
        """Refuse chunks that are not unpacked here."""
        assert self.chunks is not None
        if math.prod(self.chunks) * self.dtype.itemsize > MAX_CHUNK_BYTES:
            raise InputError(
                f"'{self._name}' is stored in chunks of {' × '.join(map(str, self.chunks))}, which unpack to more than "
                f"{MAX_CHUNK_BYTES:,} bytes",
                path=self._path,
                advice="Store it in smaller chunks",
            )
        if len(filters) > _MOST_FILTERS:
            raise InputError(f"'{self._name}' is packed {len(filters)} times over", path=self._path)
        for code, width, label in filters:
            if code not in _FILTERS:
                raise InputError(
                    f"'{self._name}' is packed with the filter {label or f'number {code}'}, which is not read",
                    path=self._path,
                    advice="Store it with gzip, or without a filter",
                )
            self._filters.append((code, width))

    def _index(self, table: npt.NDArray[np.int64]) -> None:
        """Sort chunks by their number, counting the first axis slowest; leave out those that lie nowhere."""
        assert self.chunks is not None
        grid = [-(-size // step) for size, step in zip(self.shape, self.chunks, strict=True)]
        if math.prod(grid) >= 2**62:
            raise InputError(f"'{self._name}' is too large: {' × '.join(map(str, self.shape))}", path=self._path)
        places, steps = table[:, : len(grid)], np.array(self.chunks, np.int64)
        inside = ((places >= 0) & (places < np.array(self.shape, np.int64)) & (places % steps == 0)).all(axis=1)
        self._strides = [math.prod(grid[axis + 1 :]) for axis in range(len(grid))]
        numbers = (places[inside] // steps) @ np.array(self._strides, np.int64)
        self._numbers, first = np.unique(numbers, return_index=True)
        self._table = table[inside][first]

    def _damaged(self, why: str) -> InputError:
        return InputError(f"'{self._name}' cannot be read ({why})", path=self._path, advice=_ADVICE)

    def _piece(self, index: Any) -> tuple[Piece, list[bool]]:
        """Return what an index selects, and which axes stay in the result."""
        shape = self.shape or ()
        entries: list[Index] = list(index) if isinstance(index, tuple) else [index]
        entries += [slice(None)] * (len(shape) - len(entries))
        if len(entries) > len(shape):
            raise IndexError(f"{len(entries)} indices for {len(shape)} axes")
        lower, upper = [], []
        for entry, size in zip(entries, shape, strict=True):
            start, stop, step = entry.indices(size) if isinstance(entry, slice) else (entry, entry + 1, 1)
            if step != 1 or not 0 <= start <= size or stop > size:
                raise IndexError(f"{entry} does not select a piece of {size}")
            lower.append(start)
            upper.append(max(start, stop))
        return (tuple(lower), tuple(upper)), [isinstance(entry, slice) for entry in entries]

    def _fill(self, out: npt.NDArray[Any], piece: Piece) -> None:
        """Write a piece into an array of its shape."""
        if out.size == 0:
            return
        lower, upper = piece
        if self.chunks is None:
            where = tuple(slice(*ends) for ends in zip(lower, upper, strict=True))
            out[...] = (
                self._fill_value if self._layout == "contiguous" and self._place is None else self._block()[where]
            )
            return
        steps = [range(low - low % size, high, size) for low, high, size in zip(lower, upper, self.chunks, strict=True)]
        places: Iterator[tuple[int, ...]] = itertools.product(*steps)
        if math.prod(map(len, steps)) > len(self._table):  # a small file may promise any number of others
            out[...] = self._fill_value
            places = self._stored_places(steps)
        for place in places:
            chunk = self._chunk(place)
            inside, target = [], []
            for start, low, high, size in zip(place, lower, upper, self.chunks, strict=True):
                first, last = max(start, low), min(start + size, high)
                inside.append(slice(first - start, last - start))
                target.append(slice(first - low, last - low))
            out[tuple(target)] = self._fill_value if chunk is None else chunk[tuple(inside)]

    def _block(self) -> npt.NDArray[Any]:
        """Return all numbers that are stored in one block, as a map of the file where that is long."""
        kind = np.dtype(np.uint8) if self.dtype.kind == "b" else self.dtype
        if self._layout == "compact":
            numbers: npt.NDArray[Any] = np.frombuffer(self._content, kind).reshape(self.shape)
        else:
            # Mapped anew each time: pages that were read count as memory until their map is gone.
            numbers = np.memmap(self._file, kind, "r", self._place or 0, self.shape)
        return np.not_equal(numbers, 0) if self.dtype.kind == "b" else numbers

    def _stored_places(self, steps: Sequence[range]) -> Iterator[tuple[int, ...]]:
        """Yield where the chunks begin that are stored and wanted."""
        wanted = np.ones(len(self._table), np.bool_)
        for axis, step in enumerate(steps):
            wanted &= (self._table[:, axis] >= step.start) & (self._table[:, axis] < step.stop)
        for row in self._table[wanted]:
            yield tuple(row[: len(steps)].tolist())

    def _chunk(self, place: tuple[int, ...]) -> npt.NDArray[Any] | None:
        """Return the numbers of the chunk that begins at a place; None if it is not stored."""
        if self._last is None or self._last[0] != place:
            self._last = None  # let go of it before the next takes memory
            self._last = place, self._unpacked(place)
        return self._last[1]

    def _unpacked(self, place: tuple[int, ...]) -> npt.NDArray[Any] | None:
        assert self.chunks is not None
        wanted = sum(at // size * stride for at, size, stride in zip(place, self.chunks, self._strides, strict=True))
        row = int(np.searchsorted(self._numbers, wanted))
        if row == len(self._numbers) or self._numbers[row] != wanted:
            return None
        address, size, skipped = self._table[row, -3:].tolist()
        if not (0 <= address <= self._file_size - size and size >= 0):
            raise self._damaged("a chunk lies outside the file")
        self._file.seek(address)
        content: Any = self._file.read(size)
        expected = math.prod(self.chunks) * self.dtype.itemsize
        for number, (code, width) in reversed(list(enumerate(self._filters))):
            if skipped >> number & 1:
                continue
            if code == _FLETCHER32:
                content = self._verified(content)
            elif code == _SHUFFLE:
                if width != self.dtype.itemsize or len(content) != expected:
                    raise self._damaged("the bytes of a chunk are shuffled in a way that does not fit its type")
                content = np.frombuffer(content, np.uint8).reshape(width, -1).T.tobytes()
            else:
                # A checksum may lie within: it adds four bytes.
                content = self._inflated(content, expected + 4 * _MOST_FILTERS, code)
        if len(content) != expected:
            unpacked = f"{len(content):,}" if len(content) < expected else "more"
            raise self._damaged(f"a chunk unpacks to {unpacked} bytes, {expected:,} are expected")
        if self.dtype.kind == "b":  # any byte but zero is true
            return np.not_equal(np.frombuffer(content, np.uint8), 0).reshape(self.chunks)
        return np.frombuffer(content, self.dtype).reshape(self.chunks)

    def _verified(self, content: Any) -> Any:
        content, checksum = memoryview(content)[:-4], bytes(content[-4:])
        sums = [int.from_bytes(checksum[at : at + 2], "little") % 65535 for at in (0, 2)]
        if len(checksum) != 4 or fletcher32(content) != sums:
            raise self._damaged("the checksum of a chunk is wrong")
        return content

    def _inflated(self, content: Any, most: int, code: int) -> Any:
        if code == _LZF:
            out = np.empty(min(most, len(content) * _MOST_LZF_EXPANDS), np.uint8)
            length = _unpack_lzf(np.frombuffer(content, np.uint8), out)
            if length < 0:
                raise self._damaged("the lzf data of a chunk is damaged")
            return out[:length].data
        inflater = isal_zlib.decompressobj(wbits=15)
        try:
            unpacked = inflater.decompress(content, most)
        except isal_zlib.error as error:  # type: ignore[misc]  # the stub hides that it is an exception
            raise self._damaged(f"the gzip data of a chunk is damaged: {error}") from None
        if not inflater.eof and len(unpacked) < most:
            raise self._damaged("the gzip data of a chunk ends too early")
        return unpacked


def fletcher32(content: Any) -> list[int]:
    """Return the two sums of HDF5's checksum, each below 65535: of 16-bit words, and of that sum's course."""
    data = np.frombuffer(content, np.uint8)
    if data.size % 2:
        data = np.append(data, np.uint8(0))
    words = data.view(">u2")
    first = second = 0
    block = 1 << 20  # no sum below overflows 64 bits
    for start in range(0, words.size, block):
        part = words[start : start + block].astype(np.int64)
        second += first * part.size + int((part * np.arange(part.size, 0, -1)).sum() % 65535)
        first = (first + int(part.sum())) % 65535
        second %= 65535
    return [first, second]


@kernel
def _unpack_lzf(packed: npt.NDArray[np.uint8], out: npt.NDArray[np.uint8]) -> int:
    """Unpack LZF into an array; return how many bytes there were, −1 if they do not fit or refer to nothing."""
    at, end = 0, 0
    while at < packed.size:
        control = np.int64(packed[at])
        at += 1
        if control < 32:  # as they are
            length = control + 1
            if at + length > packed.size or end + length > out.size:
                return -1
            for _ in range(length):
                out[end] = packed[at]
                at += 1
                end += 1
            continue
        length = control >> 5
        if length == 7:
            if at >= packed.size:
                return -1
            length += np.int64(packed[at])
            at += 1
        if at >= packed.size:
            return -1
        source = end - ((control & 31) << 8) - np.int64(packed[at]) - 1
        at += 1
        length += 2
        if source < 0 or end + length > out.size:
            return -1
        for _ in range(length):  # byte by byte: what is copied may be what was just written
            out[end] = out[source]
            source += 1
            end += 1
    return end
