"""Numeric arrays from HDF5, .npy and .npz files that strangers send: no links, no objects, no surprises."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.model import InputError

__all__ = ["MAX_ELEMENTS", "dataset", "open_hdf5", "read_npy", "read_npz"]

_DAMAGE = (OSError, RuntimeError, KeyError, ValueError, tokenize.TokenError)
"""What h5py and HDF5 raise, now here and now there, when the structures of a file are broken."""

MAX_ELEMENTS = 2**29
"""Arrays that promise more elements than this are refused unless they are streamed."""


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """Open an HDF5 file for reading."""
    import h5py

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if error.errno is not None:
            raise
        raise InputError("this is not a readable HDF5 file", path=path, advice="It was cut short or damaged") from None
    with file:
        try:
            yield file
        except _DAMAGE as error:
            if isinstance(error, InputError) or (isinstance(error, OSError) and error.errno is not None):
                raise
            reason = " ".join(str(error).split())[:120]
            raise InputError(
                f"this HDF5 file is damaged ({reason})", path=path, advice="Copy or save it again"
            ) from None


def dataset(file: Any, name: str, *, path: Path) -> Any:
    """Return a dataset of numbers from an open HDF5 file; only what the file itself holds is accepted."""
    import h5py

    try:
        link = file.get(name, getlink=True)
    except (OSError, RuntimeError):
        link = None
    if link is None:
        names = ", ".join(sorted(map(str, file)))[:120] or "nothing"
        raise InputError(f"there is no dataset '{name}', only {names}", path=path)
    if not isinstance(link, h5py.HardLink):
        raise InputError(f"'{name}' is a link", path=path, advice="Store the data itself")
    try:
        found = file[name]
    except (KeyError, OSError, RuntimeError):
        raise InputError(f"'{name}' is damaged", path=path, advice="Copy or save the file again") from None
    if not isinstance(found, h5py.Dataset) or found.is_virtual or found.external:
        raise InputError(f"'{name}' is not data held by this file", path=path, advice="Store the data itself")
    if found.dtype.kind not in "biuf":
        raise InputError(f"'{name}' holds {found.dtype}, not numbers", path=path)
    return found


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Read a .npy file of numbers, as a read-only map of the file."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"this is not a readable .npy file ({error})", path=path) from None
    return _numbers(array, path.name, path)


def read_npz(path: Path, name: str) -> npt.NDArray[Any] | None:
    """Read one array of numbers from a .npz file; None if it has no such array."""
    try:
        with zipfile.ZipFile(path) as archive:
            if f"{name}.npy" not in archive.namelist():
                return None
            with archive.open(f"{name}.npy") as member:
                shape, dtype = _promise(member)
            if not dtype.hasobject and math.prod(shape) <= MAX_ELEMENTS:
                with archive.open(f"{name}.npy") as member:
                    return _numbers(np.lib.format.read_array(member, allow_pickle=False), name, path)
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"this is not a readable .npz file ({error})", path=path) from None
    raise InputError(f"'{name}' promises {shape} of {dtype}, which is not accepted", path=path)


def _promise(member: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type from the header of a .npy file."""
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(member)
    return shape, dtype


def _numbers(array: Any, name: str, path: Path) -> npt.NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise InputError(f"'{name}' holds {array.dtype}, not numbers", path=path)
    return np.asanyarray(array)
