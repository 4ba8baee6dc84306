"""Grey values of one plane of an image, to show what was segmented; nothing is measured on them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.io._nifti import _LONGEST_HEADER, _SAVE_AGAIN, _dtype, _header, _scaling, _shape
from podium.io._streams import Stream, too_short
from podium.io.inputs import open_input
from podium.model import InputError

__all__ = ["read_plane"]


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
