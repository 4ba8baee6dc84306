"""Predictions in HDF5, in .npz and in a folder of .npy, read in pieces: a sweep of any length takes little memory.

Displacements come as strips: rows of pixels of every frame. Where frames lie one after the other there is one strip of
all rows; where a chunk spans many frames, strips are as high as a few megabytes allow, so that no chunk is read twice.
"""

from __future__ import annotations

import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.io.archives import ARCHIVE_DAMAGE, open_zip
from podium.io.arrays import MAX_ARRAYS, dataset, numpy_header, open_hdf5, read_npy, read_npz
from podium.model import Floats, Handed, InputError

__all__ = ["HandedPrediction", "ScanPrediction", "Strip", "open_prediction"]

_TOGETHER_BYTES = 32 * 2**20
_LARGEST_CHUNK_BYTES = 2**30
_SMALL_ELEMENTS = 2**24

Header = tuple[tuple[int, ...] | None, np.dtype[Any]]
Strip = tuple[range, Iterator[npt.NDArray[np.floating[Any]]]]
"""Rows of pixels, and the displacements of these pixels in each frame in turn, shape (3, rows · width)."""


class ScanPrediction(ABC):
    """Arrays of one prediction, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def names(self) -> set[str]:
        """Return which arrays there are."""

    @abstractmethod
    def header(self, name: str) -> Header:
        """Return shape and type of an array of numbers."""

    @abstractmethod
    def whole(self, name: str) -> Floats:
        """Read a small array."""

    @abstractmethod
    def strips(self, name: str, *, width: int) -> Iterator[Strip]:
        """Read a large array of shape (frames, 3, rows · width) in pieces; each strip is to be used up in turn."""

    def numbers(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return shape and type of an array that may hold millimetres."""
        shape, dtype = self.header(name)
        if shape is None:  # what HDF5 calls a null dataspace
            raise InputError(f"'{name}' is empty", path=self.path)
        if dtype.kind not in "fiu":
            raise InputError(f"'{name}' holds {dtype}, not numbers", path=self.path)
        return shape, dtype

    def small(self, name: str) -> Floats:
        """Read a small array; refuse a large one before it takes memory."""
        shape, _ = self.numbers(name)
        if math.prod(shape) > _SMALL_ELEMENTS:
            raise InputError(f"'{name}' is too large: {' × '.join(map(str, shape))}", path=self.path)
        return self.whole(name)


class HandedPrediction(ScanPrediction):
    """Arrays that a function returned, which stay in its process."""

    def __init__(self, arrays: Handed) -> None:
        super().__init__(Path(arrays.case))
        self._arrays = arrays

    def names(self) -> set[str]:
        """Return which arrays there are."""
        return set(self._arrays.headers)

    def header(self, name: str) -> Header:
        """Return shape and type of an array."""
        return self._arrays.headers[name]

    def whole(self, name: str) -> Floats:
        """Take a small array."""
        return np.asarray(self._arrays.whole(name), np.float64)

    def strips(self, name: str, *, width: int) -> Iterator[Strip]:
        """Take a large array frame by frame, all rows at once."""
        shape, dtype = self._arrays.headers[name]
        kind = _type_in_memory(dtype)
        frames = (frame for piece in self._arrays.pieces(name) for frame in piece.astype(kind, copy=False))
        yield range(shape[2] // width), frames


@contextmanager
def open_prediction(path: Path) -> Iterator[ScanPrediction]:
    """Open a prediction, whichever form it has."""
    if path.is_dir():
        yield _Folder(path)
    elif path.suffix == ".npz":
        if not zipfile.is_zipfile(path):
            raise InputError("this is not a readable .npz file", path=path, advice="It was cut short or damaged")
        yield _Archive(path)
    else:
        with open_hdf5(path) as file:
            yield _File(path, file)


def _type_in_memory(stored: np.dtype[Any]) -> type[np.floating[Any]]:
    """Return float32 for what it holds exactly, else float64."""
    return np.float32 if stored.kind == "f" and stored.itemsize <= 4 else np.float64


def _blocks(
    shape: tuple[int, ...], *, width: int, itemsize: int, together: int, step: int = 1
) -> tuple[int, list[range]]:
    """Return how many frames to read at once, and the rows of each strip.

    Parameters
    ----------
    shape
        Of the stored array: frames, 3, pixels.
    together
        Frames that lie so close together in the file that they are better read together.
    step
        Pixels that do, so that a strip should end where such a run ends.
    """
    frames, _, pixels = shape
    height = pixels // width
    row = 3 * width * itemsize
    together = max(1, min(together, frames))
    rows = height
    if together * height * row > _TOGETHER_BYTES:
        rows = max(1, _TOGETHER_BYTES // (together * row))
        whole = math.lcm(step, width) // width
        if rows > whole:
            rows -= rows % whole
        together = max(1, min(together, _TOGETHER_BYTES // (rows * row)))
    return together, [range(start, min(start + rows, height)) for start in range(0, height, max(1, rows))]


class _File(ScanPrediction):
    """Datasets of an open HDF5 file."""

    def __init__(self, path: Path, file: Any) -> None:
        super().__init__(path)
        self._file = file

    def names(self) -> set[str]:
        return set(map(str, self._file))

    def _stored(self, name: str) -> Any:
        return dataset(self._file, name, path=self.path)

    def header(self, name: str) -> Header:
        stored = self._stored(name)
        return stored.shape, stored.dtype

    def whole(self, name: str) -> Floats:
        stored = self._stored(name)
        with self._readable(name):
            return np.asarray(stored[()], np.float64)

    def strips(self, name: str, *, width: int) -> Iterator[Strip]:
        stored = self._stored(name)
        chunks = stored.chunks or (1, 3, 1)
        compressed = stored.filtered
        if compressed and math.prod(chunks) * stored.dtype.itemsize > _LARGEST_CHUNK_BYTES:
            raise InputError(
                f"'{name}' is compressed in chunks of {' × '.join(map(str, chunks))}, too large to be read in pieces",
                path=self.path,
                advice="Store one frame in a chunk",
            )
        kind = _type_in_memory(stored.dtype)
        together, strips = _blocks(
            stored.shape, width=width, itemsize=np.dtype(kind).itemsize, together=chunks[0], step=chunks[2]
        )
        for rows in strips:
            yield rows, self._frames(stored, name, rows, width, np.empty((together, 3, len(rows) * width), kind))

    def _frames(
        self, stored: Any, name: str, rows: range, width: int, buffer: npt.NDArray[np.floating[Any]]
    ) -> Iterator[npt.NDArray[np.floating[Any]]]:
        pixels = slice(rows.start * width, rows.stop * width)
        for start in range(0, len(stored), len(buffer)):
            count = min(len(buffer), len(stored) - start)
            with self._readable(name):
                stored.read_direct(buffer, np.s_[start : start + count, :, pixels], np.s_[:count])
            yield from buffer[:count]

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise InputError(
                f"'{name}' cannot be read ({error})", path=self.path, advice="The file was cut short or damaged"
            ) from None


class _Folder(ScanPrediction):
    """Files NAME.npy of a folder."""

    def names(self) -> set[str]:
        return {path.stem for path in self.path.glob("*.npy")}

    def _stored(self, name: str) -> Any:
        return read_npy(self.path / f"{name}.npy")

    def header(self, name: str) -> Header:
        stored = self._stored(name)
        return stored.shape, stored.dtype

    def whole(self, name: str) -> Floats:
        return np.array(self._stored(name), np.float64)

    def strips(self, name: str, *, width: int) -> Iterator[Strip]:
        stored = self._stored(name)
        fortran = stored.flags.f_contiguous and not stored.flags.c_contiguous
        kind = _type_in_memory(stored.dtype)
        together, strips = _blocks(
            stored.shape,
            width=width,
            itemsize=np.dtype(kind).itemsize,
            together=len(stored) if fortran else 1,
        )
        for rows in strips:
            yield rows, self._frames(name, rows, width, np.empty((together, 3, len(rows) * width), kind))

    def _frames(
        self, name: str, rows: range, width: int, buffer: npt.NDArray[np.floating[Any]]
    ) -> Iterator[npt.NDArray[np.floating[Any]]]:
        pixels = slice(rows.start * width, rows.stop * width)
        start, total = 0, len(self._stored(name))
        while start < total:
            count = min(len(buffer), total - start)
            # Mapped anew each time: pages that were read count as memory until their map is gone.
            buffer[:count] = self._stored(name)[start : start + count, :, pixels]
            yield from buffer[:count]
            start += count


class _Archive(ScanPrediction):
    """Members NAME.npy of a .npz file."""

    def names(self) -> set[str]:
        with self._opened() as archive:
            return {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}

    def header(self, name: str) -> Header:
        with self._opened() as archive, archive.open(f"{name}.npy") as member:
            shape, _, dtype = numpy_header(member, name=name, path=self.path)
        return shape, dtype

    def whole(self, name: str) -> Floats:
        with self._opened():
            return np.asarray(read_npz(self.path, name), np.float64)

    def strips(self, name: str, *, width: int) -> Iterator[Strip]:
        with self._opened() as archive, archive.open(f"{name}.npy") as member:
            shape, fortran, dtype = numpy_header(member, name=name, path=self.path)
            rows = range(shape[2] // width)
            if fortran:  # frames are not one after the other, and a zipped file is only read forward
                yield rows, iter(np.asarray(read_npz(self.path, name), _type_in_memory(dtype)))
            else:
                yield rows, self._frames(member, name, shape, dtype)

    def _frames(
        self, member: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Iterator[npt.NDArray[np.floating[Any]]]:
        size = math.prod(shape[1:]) * dtype.itemsize
        for _ in range(shape[0]):
            with self._readable():
                content = member.read(size)
            if len(content) != size:
                raise InputError(f"'{name}' ends too early", path=self.path)
            yield np.frombuffer(content, dtype).reshape(shape[1:]).astype(_type_in_memory(dtype))

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        what = "this is not a readable .npz file"
        with self._readable(), open_zip(self.path, most_entries=MAX_ARRAYS, what=what) as archive:
            yield archive

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except ARCHIVE_DAMAGE as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"this is not a readable .npz file ({str(error)[:120]})", path=self.path) from None
