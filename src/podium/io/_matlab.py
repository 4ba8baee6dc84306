"""Matrices from MATLAB files, and nothing else that such a file may hold.

Files up to version 7 are read here rather than by SciPy, whose reader (as of 1.17) takes the number of a data type for
an address: one damaged byte ends the process, and with it the evaluation of everybody else.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from podium.io.arrays import dataset, open_hdf5
from podium.io.inputs import open_input
from podium.model import InputError

__all__ = ["MAX_VARIABLES", "MAX_VARIABLE_BYTES", "read_mat"]

MAX_VARIABLE_BYTES = 2**29
"""A variable of a MATLAB file that unpacks to more bytes than this, or would as float64, is refused."""

MAX_VARIABLES = 10_000
"""A MATLAB file up to version 7 with more variables than this is refused."""

Matrices = dict[str, npt.NDArray[np.float64]]

_NUMERIC = ("double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "logical")
_CLASSES = dict(
    enumerate(("cell", "struct", "object", "char", "sparse", *_NUMERIC[:-1], "function", "opaque"), start=1)
)
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_INT32, _MATRIX, _COMPRESSED = 5, 14, 15
_COMPLEX = 0x0800
_HEAD = 2**12  # bytes that hold the class, shape and name of any variable
_SAVE_AGAIN = "It is damaged or something else: save it again in MATLAB, with -v7"


def read_mat(path: Path, names: Collection[str]) -> Matrices:
    """Read the matrices of those names from a MATLAB file; names that it does not hold are left out.

    Formats 5 to 7.3 are read (`save` with -v6, -v7 and -v7.3). Nothing but full, real matrices of numbers is ever
    unpacked: no structures, cells, objects or functions. Other variables may be in the file and are passed over.

    Parameters
    ----------
    path
        A .mat file.
    names
        Which variables are wanted.

    Returns
    -------
    dict
        The matrices as in MATLAB: `A(i, j)` is element `[i - 1, j - 1]`.

    Raises
    ------
    InputError
        The file is damaged or not of MATLAB, holds none of the names, or something else under one of them.
    """
    with open_input(path) as file:
        start = file.read(128)
        if start[124:126] == b"\x00\x02" or start.startswith((b"MATLAB 7.3", b"\x89HDF")):
            present, matrices = _read_hdf5(path, names)
        elif start[126:128] in (b"IM", b"MI"):
            present, matrices = _read_mat5(file, "<" if start[126:] == b"IM" else ">", names, path)
        else:
            raise InputError("this is not a MATLAB file of version 5 or later", path=path, advice=_SAVE_AGAIN)
    if not matrices:
        others = ", ".join(sorted(name for name in present if name and name.isprintable()))[:120] or "nothing"
        raise InputError(f"there is no variable called {' or '.join(names)}, only {others}", path=path)
    return matrices


class _Header(NamedTuple):
    """What a variable says about itself; the shape and the name of what is not a matrix are of no interest."""

    kind: str
    complex: bool
    shape: tuple[int, ...]
    name: str


def _read_mat5(file: BinaryIO, order: str, names: Collection[str], path: Path) -> tuple[list[str], Matrices]:
    """Return the names of all variables, and the matrices that are wanted."""
    present: list[str] = []
    matrices: Matrices = {}
    size = path.stat().st_size
    while tag := file.read(8):
        if len(present) == MAX_VARIABLES:
            raise InputError(f"there are more than {MAX_VARIABLES:,} variables", path=path)
        kind, count = struct.unpack(f"{order}II", tag) if len(tag) == 8 else (0, 0)
        start = file.tell()
        if kind not in (_MATRIX, _COMPRESSED) or start + count > size:
            raise _damaged(
                "it ends inside a variable" if start + count > size else "no variable where one should be", path
            )
        head = _content(file, kind, min(count, _HEAD), path, most=_HEAD)
        header = _header(head, order, path)
        if header.name in names:
            if header.name in present:
                raise InputError(f"there are two variables called '{header.name}'", path=path)
            file.seek(start)
            matrices[header.name] = _matrix(_content(file, kind, count, path, most=None), header, order, path)
        present.append(header.name or f"something of class {header.kind}")
        file.seek(start + count)
    return present, matrices


def _content(file: BinaryIO, kind: int, count: int, path: Path, *, most: int | None) -> memoryview:
    """Return what is inside a variable, unpacked: its beginning, or all of it."""
    limit = MAX_VARIABLE_BYTES if most is None else most
    if count > limit:
        raise _too_large(path)
    if kind == _MATRIX:
        return memoryview(file.read(count))
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(file.read(count), limit)
    except zlib.error as error:
        raise _damaged(f"its compressed data is damaged ({error})", path) from None
    if most is None and not unpacker.eof:
        raise _too_large(path) if unpacker.unconsumed_tail else _damaged("its compressed data ends too early", path)
    return memoryview(content)[8:]  # behind the tag of the matrix


def _elements(content: memoryview, order: str, path: Path) -> Iterator[tuple[int, memoryview]]:
    """Yield type and bytes of the parts that a variable is made of."""
    at = 0
    while at + 8 <= len(content):
        kind, count = struct.unpack_from(f"{order}II", content, at)
        start = at + 8
        if kind >> 16:  # a short part shares eight bytes with its tag
            kind, count, start = kind & 0xFFFF, kind >> 16, at + 4
        if start + count > len(content):
            raise _damaged("a variable ends too early", path)
        yield kind, content[start : start + count]
        at = -(-(start + count) // 8) * 8


def _header(head: memoryview, order: str, path: Path) -> _Header:
    """Read the first parts of a variable: flags, shape and name."""
    parts = list(islice(_elements(head, order, path), 1))
    if not parts or len(parts[0][1]) != 8:
        raise _damaged("a variable without a class", path)
    (flags,) = struct.unpack(f"{order}I", parts[0][1][:4])
    kind = _CLASSES.get(flags & 0xFF)
    if kind is None:
        raise _damaged(f"a variable of class {flags & 0xFF}", path)
    if kind in ("function", "opaque"):  # these are laid out in another way
        return _Header(kind, complex=False, shape=(), name="")
    parts = list(islice(_elements(head, order, path), 3))
    if len(parts) < 3 or parts[1][0] != _INT32 or len(parts[1][1]) % 4:
        raise _damaged("a variable without a shape", path)
    shape = struct.unpack(f"{order}{len(parts[1][1]) // 4}i", parts[1][1])
    return _Header(kind, complex=bool(flags & _COMPLEX), shape=shape, name=str(parts[2][1], "latin1").rstrip("\0"))


def _matrix(content: memoryview, header: _Header, order: str, path: Path) -> npt.NDArray[np.float64]:
    """Return the numbers of a variable."""
    kind = f"complex {header.kind}" if header.complex else header.kind
    if kind not in _NUMERIC:
        raise InputError(f"'{header.name}' is of class {kind}", path=path, advice=_FULL)
    parts = list(islice(_elements(content, order, path), 4))
    stored = _STORED.get(parts[3][0]) if len(parts) == 4 else None
    if stored is None:
        raise _damaged(f"'{header.name}' has no numbers", path)
    dtype = np.dtype(f"{order}{stored}")
    expected = math.prod(header.shape) * dtype.itemsize
    if min(header.shape, default=-1) < 0 or len(parts[3][1]) != expected:
        shape = " × ".join(map(str, header.shape))
        raise _damaged(f"'{header.name}' should be {shape} and holds {len(parts[3][1]):,} bytes", path)
    if math.prod(header.shape) * 8 > MAX_VARIABLE_BYTES:
        raise _too_large(path)
    return _floats(np.frombuffer(parts[3][1], dtype)).reshape(header.shape, order="F")


def _floats(numbers: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # some ways to write NaN are signals
        return numbers.astype(np.float64)


_FULL = "Store a full, real matrix of numbers, such as double"


def _read_hdf5(path: Path, names: Collection[str]) -> tuple[list[str], Matrices]:
    """Return the names of all variables, and the matrices that are wanted, of a file of version 7.3."""
    matrices = {}
    with open_hdf5(path) as file:
        present = [str(name) for name in file]
        for name in (name for name in names if name in present):
            data = dataset(file, name, path=path, texts=("MATLAB_class", "MATLAB_empty"))
            kind = data.texts["MATLAB_class"] or "double"
            if kind not in _NUMERIC or data.shape is None or data.texts["MATLAB_empty"] is not None:
                what = "empty" if kind in _NUMERIC else f"of class {kind}"
                raise InputError(f"'{name}' is {what}", path=path, advice=_FULL)
            # A small file may promise a large matrix.
            if max(data.nbytes, (data.size or 0) * 8) > MAX_VARIABLE_BYTES:
                raise _too_large(path)
            matrices[name] = _floats(data[()]).T  # the file lists MATLAB's axes from the last
    return present, matrices


def _damaged(what: str, path: Path) -> InputError:
    return InputError(f"this MATLAB file cannot be read: {what}", path=path, advice=_SAVE_AGAIN)


def _too_large(path: Path) -> InputError:
    return InputError(f"a variable unpacks to more than {MAX_VARIABLE_BYTES:,} bytes", path=path)
