"""Grey values of images: what was segmented, to be shown, or to be handed to an algorithm; nothing is measured here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from podium.io._geometry import checked_shape
from podium.io._metaimage import metaimage_header, metaimage_parts
from podium.io._nifti import _LONGEST_HEADER, _SAVE_AGAIN, _dtype, _header, _scaling, _shape, nifti_stream
from podium.io._streams import Stream, too_short
from podium.io.inputs import open_input
from podium.io.labelmaps import MAX_VOXELS
from podium.model import InputError

__all__ = ["GreyImage", "copy_image", "image_shape", "read_image", "read_plane"]

_PIECE = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class GreyImage:
    """Grey values on a grid; axes, spacing, origin and direction are those of a `LabelMap`."""

    array: npt.NDArray[Any]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    direction: tuple[tuple[float, ...], ...]


class _Voxels(NamedTuple):
    """Grey values that are still to be read, first axis fastest."""

    stream: Stream
    path: Path
    shape: tuple[int, ...]
    stored: np.dtype[Any]
    slope: float
    intercept: float
    geometry: dict[str, Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the values are read as: their own type, or a float where the header scales them."""
        if self.slope == 1 and self.intercept == 0:
            return self.stored.newbyteorder("=")
        return np.dtype(np.float64 if self.stored.itemsize > 4 else np.float32)

    def pieces(self) -> Iterator[npt.NDArray[Any]]:
        """Read the values, some at a time."""
        missing = math.prod(self.shape) * self.stored.itemsize
        promised, piece = missing, np.empty(min(_PIECE, missing), np.uint8)
        while missing:
            wanted = piece[: min(piece.size, missing)]
            if self.stream.readinto(wanted) < wanted.size:
                raise too_short(self.path, promised, promised - missing)
            missing -= wanted.size
            values = wanted.view(self.stored)
            if self.dtype.kind == "f" and (self.slope, self.intercept) != (1, 0):
                values = values * self.slope + self.intercept
            yield values.astype(self.dtype, copy=False)


@contextmanager
def _opened(path: Path, *, max_voxels: int) -> Iterator[_Voxels]:
    name = path.name.lower()
    if path.exists() and not path.is_file():
        raise InputError("this is not a plain file", path=path)
    if name.endswith((".mha", ".mhd")):
        grid, place = metaimage_parts(path)
        shape = checked_shape(grid.sizes, path=path, dimensions=3, max_voxels=max_voxels)
        with grid.stream(path, **place._asdict()) as stream:
            yield _Voxels(stream, path, shape, grid.dtype, 1.0, 0.0, grid.geometry(len(shape), path))
    elif name.endswith((".nii", ".nii.gz")):
        with nifti_stream(path, dimensions=3, max_voxels=max_voxels) as (stream, shape, dtype, scaling, geometry):
            yield _Voxels(stream, path, shape, dtype, *scaling, geometry)
    else:
        raise InputError("the name says nothing about the format", path=path, advice="An image ends with .mha, .nii.gz")


def image_shape(path: Path) -> tuple[int, ...]:
    """Return the shape of a 3-D image from its header."""
    with _opened(path, max_voxels=MAX_VOXELS) as voxels:
        return voxels.shape


def read_image(path: Path, *, max_voxels: int = MAX_VOXELS) -> GreyImage:
    """Read a 3-D .mha, .nii or .nii.gz image, as its own type or, where its header scales it, as floats."""
    with _opened(path, max_voxels=max_voxels) as voxels:
        values = np.empty(math.prod(voxels.shape), voxels.dtype)
        at = 0
        for piece in voxels.pieces():
            values[at : at + piece.size] = piece
            at += piece.size
        return GreyImage(values.reshape(voxels.shape, order="F"), **voxels.geometry)


def copy_image(source: Path, target: Path) -> tuple[float, float]:
    """Write an image as an uncompressed .mha on the same grid, a piece at a time.

    Returns
    -------
    tuple
        Its smallest and its largest value.
    """
    low, high = math.inf, -math.inf
    with _opened(source, max_voxels=4 * MAX_VOXELS) as voxels, target.open("wb") as file:
        file.write(metaimage_header(voxels.shape, voxels.dtype, **voxels.geometry).encode())
        for piece in voxels.pieces():
            low, high = min(low, float(piece.min())), max(high, float(piece.max()))
            file.write(piece.astype(piece.dtype.newbyteorder("<"), copy=False).tobytes())
    return low, high


def read_plane(path: Path, *, axis: int, index: int, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Read one plane of a 3-D .nii or .nii.gz image; memory is that of one plane across the last axis.

    Parameters
    ----------
    path
        The image.
    axis, index
        Which plane.
    shape
        That the image must have.

    Returns
    -------
    ndarray
        The plane's values, scaled as the header says, with the other axes in their order.
    """
    with open_input(path) as file:
        gzipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream = Stream(file, path, compression="gzip" if gzipped else None)
        header = _header(stream, path)
        own = _shape(header, path)
        own = own[:3] if math.prod(own[3:]) == 1 else own
        if own != shape:
            sizes = (" × ".join(map(str, sides)) for sides in (own, shape))
            raise InputError("wrong shape: the image has {} voxels, its labels {}".format(*sizes), path=path)
        dtype = _dtype(header, path)
        slope, intercept = _scaling(header, path)
        start = float(header["vox_offset"])
        if not stream.position <= start <= _LONGEST_HEADER:
            raise InputError(f"the header says that voxels start at byte {start:g}", path=path, advice=_SAVE_AGAIN)
        stream.read(int(start) - stream.position)
        slab = np.empty(shape[0] * shape[1] * dtype.itemsize, np.uint8)
        plane = np.empty(tuple(size for k, size in enumerate(shape) if k != axis), np.float32)
        last = index + 1 if axis == 2 else shape[2]
        for number in range(last):
            if (held := stream.readinto(slab)) < slab.size:
                raise too_short(path, slab.size * shape[2], slab.size * number + held)
            values = slab.view(dtype).reshape(shape[:2], order="F")
            if axis != 2:
                plane[:, number] = np.take(values, index, axis)
            elif number == index:
                plane[...] = values
    return np.asarray(plane * np.float32(slope) + np.float32(intercept))
