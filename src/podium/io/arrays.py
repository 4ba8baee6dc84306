"""Numeric arrays from HDF5, .npy and .npz files that strangers send: no links, no objects, no surprises."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from podium.io._hdf5 import MAX_ARRAY_BYTES, MAX_CHUNK_BYTES, File, Stored
from podium.io._streams import checked_length
from podium.io.archives import ARCHIVE_DAMAGE, open_zip
from podium.io.inputs import open_input
from podium.model import InputError

__all__ = [
    "MAX_ARRAYS",
    "MAX_ARRAY_BYTES",
    "MAX_CHUNK_BYTES",
    "MAX_ELEMENTS",
    "File",
    "NumpyHeader",
    "Stored",
    "content",
    "dataset",
    "numpy_header",
    "open_hdf5",
    "read_npy",
    "read_npz",
]

MAX_ELEMENTS = 2**29
"""Arrays in .npz files that promise more elements of up to eight bytes are refused unless they are streamed."""

MAX_ARRAYS = 10_000
"""A .npz file with more arrays than this is refused."""

_LONGEST_HEADER = 2**16
_DESCRIPTION = re.compile(r"[<>|=]?(b1|[iu][1248]|f2|f4|f8|f12|f16)")
_ENTRIES = {
    "descr": re.compile(r"""['"]descr['"]\s*:\s*['"]([^'"]*)['"]\s*[,}]"""),
    "fortran_order": re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)\s*[,}]"""),
    "shape": re.compile(r"""['"]shape['"]\s*:\s*\(([\d, L]*)\)\s*[,}]"""),
}


@contextmanager
def open_hdf5(path: Path) -> Iterator[File]:
    """Open an HDF5 file for reading; it yields the names of what it holds."""
    if path.exists() and not path.is_file():
        raise InputError("this is not a plain file", path=path)
    with open_input(path) as file:
        yield File(path, file)


def dataset(file: File, name: str, *, path: Path, texts: tuple[str, ...] = ()) -> Stored:
    """Return a dataset of numbers from an open HDF5 file; only what the file itself holds is accepted.

    Parameters
    ----------
    file
        From `open_hdf5`.
    name
        What it is called.
    path
        What the file is called in error messages.
    texts
        Attributes that are short texts, to be found in `Stored.texts`: None where there is none, "?" if it is
        something else.
    """
    return file.dataset(name, path=path, texts=texts)


def content(stored: Stored, name: str, *, path: Path) -> npt.NDArray[Any]:
    """Return the numbers of a dataset; one that is damaged is refused by its name."""
    try:
        return np.asarray(stored[()])
    except (KeyError, OSError, RuntimeError) as error:
        raise InputError(
            f"'{name}' cannot be read ({error})", path=path, advice="The file is damaged, or compressed unusually"
        ) from None


class NumpyHeader(NamedTuple):
    """What a .npy file says about the numbers that follow."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Return how many numbers there are."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Return how many bytes they take."""
        return self.size * self.dtype.itemsize


def numpy_header(file: Any, *, name: str, path: Path) -> NumpyHeader:
    """Read the header of a .npy file, up to where the numbers begin; nothing in it is executed.

    Parameters
    ----------
    file
        Open for reading, at the beginning.
    name, path
        What is read, for error messages.

    Raises
    ------
    InputError
        It is damaged, or what follows is not numbers.
    """
    start = file.read(8)
    versions = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4, b"\x93NUMPY\x03\x00": 4}
    if start not in versions:
        raise _not_numpy("it does not begin as one", name, path)
    width = versions[start]
    count = int.from_bytes(file.read(width), "little")
    header = file.read(min(count, _LONGEST_HEADER))
    if count > _LONGEST_HEADER or len(header) != count:
        raise _not_numpy("its header is cut short", name, path)
    text = header.decode("latin1")
    entries = {key: pattern.findall(text) for key, pattern in _ENTRIES.items()}
    described = re.search(r"""['"]descr['"]\s*:\s*(.{0,40})""", text)
    if described and not (len(entries["descr"]) == 1 and _DESCRIPTION.fullmatch(entries["descr"][0])):
        held = _type_name(entries["descr"][0]) if entries["descr"] else described[1]
        raise InputError(f"'{name}' holds {held}, not numbers", path=path, advice="Save an array of numbers")
    if not described or any(len(values) != 1 for values in entries.values()):
        raise _not_numpy("its header gives no type and shape", name, path)
    sizes = [size.strip(" L") for size in entries["shape"][0].rstrip(" ,").split(",")]
    if len(sizes) > 32:
        raise _not_numpy(f"it has {len(sizes)} axes", name, path)
    if not all(re.fullmatch(r"[0-9]{1,19}", size) for size in sizes) and sizes != [""]:
        raise _not_numpy("its header gives no type and shape", name, path)
    shape = tuple(int(size) for size in sizes if size)
    return NumpyHeader(shape, entries["fortran_order"][0] == "True", np.dtype(entries["descr"][0]))


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Read a .npy file of numbers, as a read-only map of the file."""
    if not path.is_file():
        raise InputError("this is not a plain file", path=path)
    with open_input(path) as file:
        header = numpy_header(file, name=path.name, path=path)
        start = file.tell()
        held = path.stat().st_size - start
        if header.nbytes > held:
            raise _not_numpy(f"its header promises {header.nbytes:,} bytes, it holds {held:,}", path.name, path)
        checked_length(path, header.nbytes, held, compressed=False, what="bytes")
        order: Any = "F" if header.fortran else "C"
        if header.size == 0:
            return np.empty(header.shape, header.dtype, order)
        return np.memmap(file, header.dtype, "r", start, header.shape, order)


def read_npz(path: Path, name: str) -> npt.NDArray[Any] | None:
    """Read one array of numbers from a .npz file; None if it has no such array."""
    with open_zip(path, most_entries=MAX_ARRAYS, what="this is not a readable .npz file") as archive:
        if f"{name}.npy" not in archive.namelist():
            return None
        try:
            with archive.open(f"{name}.npy") as member:
                header = numpy_header(member, name=name, path=path)
                if max(header.size, header.nbytes // 8) > MAX_ELEMENTS:
                    shape = " × ".join(map(str, header.shape))
                    raise InputError(
                        f"'{name}' promises {shape} numbers, more than the limit of {MAX_ELEMENTS:,}", path=path
                    )
                return _streamed(member, header, name, path)
        except ARCHIVE_DAMAGE as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"this is not a readable .npz file ({str(error)[:120]})", path=path) from None


def _streamed(member: Any, header: NumpyHeader, name: str, path: Path) -> npt.NDArray[Any]:
    """Read the numbers that follow a header; memory grows with what is there, not with what is promised."""
    pieces = bytearray()
    while len(pieces) < header.nbytes and (piece := member.read(min(header.nbytes - len(pieces), 1 << 20))):
        pieces += piece
    if len(pieces) < header.nbytes:
        raise _not_numpy(f"'{name}' promises {header.nbytes:,} bytes and holds {len(pieces):,}", name, path)
    return np.frombuffer(pieces, header.dtype).reshape(header.shape, order="F" if header.fortran else "C")


def _type_name(description: str) -> str:
    """Return what NumPy calls a type; only its short descriptions are looked at, which are plain names."""
    if re.fullmatch(r"[<>|=]?[A-Za-z?]\d{0,9}", description):
        try:
            return str(np.dtype(description))
        except (TypeError, ValueError):
            pass
    return f"'{description[:40]}'"


def _not_numpy(why: str, name: str, path: Path) -> InputError:
    kind = "npy" if path.suffix == ".npy" else "npz"
    return InputError(f"this is not a readable .{kind} file ({name}: {why})", path=path)
