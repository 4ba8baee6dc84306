"""Numeric arrays from HDF5, .npy and .npz files that strangers send: no links, no objects, no surprises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.model import InputError

__all__ = ["MAX_ELEMENTS", "dataset", "open_hdf5", "read_npy", "read_npz"]

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
        yield file


def dataset(file: Any, name: str, *, path: Path) -> Any:
    """Return a dataset of numbers from an open HDF5 file; only what the file itself holds is accepted."""
    import h5py

    link = file.get(name, getlink=True)
    if link is None:
        names = ", ".join(sorted(map(str, file)))[:120] or "nothing"
        raise InputError(f"there is no dataset '{name}', only {names}", path=path)
    if not isinstance(link, h5py.HardLink):
        raise InputError(f"'{name}' is a link", path=path, advice="Store the data itself")
    found = file[name]
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
    import zipfile

    try:
        with np.load(path, allow_pickle=False) as archive:
            if name not in archive:
                return None
            with archive.zip.open(f"{name}.npy") as member:
                version = np.lib.format.read_magic(member)
                shape, _, dtype = np.lib.format._read_array_header(member, version)  # noqa: SLF001
            if dtype.hasobject or int(np.prod(shape, dtype=object)) > MAX_ELEMENTS:
                raise InputError(f"'{name}' promises {shape} of {dtype}, which is not accepted", path=path)
            return _numbers(archive[name], name, path)
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"this is not a readable .npz file ({error})", path=path) from None


def _numbers(array: Any, name: str, path: Path) -> npt.NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise InputError(f"'{name}' holds {array.dtype}, not numbers", path=path)
    return np.asanyarray(array)
