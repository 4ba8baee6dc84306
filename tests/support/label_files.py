"""Label files for tests, written byte by byte where a library would refuse to."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np

CODES = {"u1": 2, "i2": 4, "i4": 8, "f4": 16, "f8": 64, "i1": 256, "u2": 512, "u4": 768, "i8": 1024, "u8": 1280}


def nifti(
    array: np.ndarray,
    *,
    spacing: tuple[float, ...] | None = None,
    byte_order: str = "<",
    slope: float = 0.0,
    intercept: float = 0.0,
    **changes: Any,
) -> bytes:
    """Return a NIfTI-1 file; `changes` are bytes to put at an offset, as at_40=struct.pack(…)."""
    spacing = spacing or (1.0,) * array.ndim
    header = bytearray(352)
    dim = [array.ndim, *array.shape] + [1] * (7 - array.ndim)
    struct.pack_into(f"{byte_order}i", header, 0, 348)
    struct.pack_into(f"{byte_order}8h", header, 40, *dim)
    struct.pack_into(f"{byte_order}hh", header, 70, CODES[array.dtype.str[1:]], 8 * array.dtype.itemsize)
    struct.pack_into(f"{byte_order}8f", header, 76, 1.0, *spacing, *[1.0] * (7 - len(spacing)))
    struct.pack_into(f"{byte_order}fff", header, 108, 352.0, slope, intercept)
    header[344:348] = b"n+1\0"
    for place, content in changes.items():
        start = int(place.removeprefix("at_"))
        header[start : start + len(content)] = content
    return bytes(header) + array.astype(array.dtype.newbyteorder(byte_order)).tobytes(order="F")


def write(path: Path, content: bytes) -> Path:
    """Write bytes, gzipped if the name says so."""
    path.write_bytes(gzip.compress(content, 1) if path.name.endswith(".gz") else content)
    return path


def labels(shape: tuple[int, ...] = (7, 6, 5), *, dtype: Any = np.uint8, largest: int = 3, seed: int = 0) -> np.ndarray:
    """Return random labels with a border of zeros and long runs."""
    generator = np.random.default_rng(seed)
    array = np.zeros(shape, dtype)
    inner = tuple(slice(1, max(n - 1, 2)) for n in shape)
    values = np.array([0, 0, 1, largest])
    array[inner] = values[generator.integers(0, 4, array[inner].shape)]
    return array
