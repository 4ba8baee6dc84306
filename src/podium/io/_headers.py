"""What MetaImage and NRRD share: a header of text, and voxels behind it or in a file beside it.

A header is believed in nothing before it is checked: it is short, has few axes, its numbers are of a sensible size, and
it promises no more than its file can hold. No memory is taken before.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.io._geometry import checked_geometry, checked_shape
from podium.io._streams import Stream, checked_length
from podium.io.inputs import note, open_input
from podium.model import InputError, LabelMap

LONGEST_HEADER = 1 << 16
SAVE_AGAIN = "Save it again, for example with SimpleITK.WriteImage"
_MOST_AXES = 10
_LARGEST_NUMBER = 1e12
_LONGEST_NAME = 255
_BEHIND_THE_HEADER = "It must be another file in the same folder: save header and voxels as one .mha or .nrrd"


@dataclass(frozen=True)
class VoxelGrid:
    """What a header says about its voxels.

    Attributes
    ----------
    sizes
        Voxels along each axis, the fastest first.
    dtype
        Type and byte order of a voxel as it is stored.
    spacing, origin
        In millimetres, in the order of the header.
    axes
        A unit vector for each axis, in left–posterior–superior coordinates.
    """

    sizes: list[int]
    dtype: np.dtype[Any]
    spacing: list[float]
    origin: list[float]
    axes: list[list[float]]

    def read(
        self,
        path: Path,
        *,
        holder: Path,
        offset: int | None,
        compression: str | None,
        dimensions: int | None,
        max_voxels: int,
    ) -> LabelMap:
        """Read labels from byte `offset` of a file, or its last bytes if that is None."""
        shape = checked_shape(self.sizes, path=path, dimensions=dimensions, max_voxels=max_voxels)
        with self.stream(path, holder=holder, offset=offset, compression=compression) as stream:
            geometry = self.geometry(len(shape), path)
            return stream.narrow(shape, self.dtype).finish(**geometry)

    @contextmanager
    def stream(self, path: Path, *, holder: Path, offset: int | None, compression: str | None) -> Iterator[Stream]:
        """Open the bytes of the voxels, after a look at whether the file can hold them."""
        promised = math.prod(self.sizes) * self.dtype.itemsize
        held = holder.stat().st_size - (offset or 0)
        checked_length(path, promised, held, compressed=compression is not None, what="bytes of voxels")
        with open_input(holder) as file:
            file.seek(held - promised if offset is None else offset)
            yield Stream(file, path, compression=compression)

    def geometry(self, kept: int, path: Path) -> dict[str, Any]:
        """Return spacing, origin and direction of the axes that are kept."""
        checked_geometry(self.spacing, path=path)
        direction = np.array(self.axes).T[:kept, :kept]
        if not abs(np.linalg.det(direction)) > 1e-3:
            raise InputError("the axes of the image do not span space", path=path, advice=SAVE_AGAIN)
        return {
            "spacing": tuple(self.spacing[:kept]),
            "origin": tuple(self.origin[:kept]),
            "direction": tuple(tuple(row) for row in direction.tolist()),
        }


def numbers(text: str, count: int, *, field: str, path: Path) -> list[float]:
    """Return as many numbers as there should be in a field."""
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if not values or "_" in text or not all(abs(value) <= _LARGEST_NUMBER for value in values):
        raise _no_numbers(text, path)
    if len(values) != count:
        raise InputError(f"{field} has {len(values):,} numbers, not {count}", path=path, advice=SAVE_AGAIN)
    return values


def checked_sizes(sizes: str, dimensions: str, *, path: Path) -> list[int]:
    """Return the voxels along each axis, as many as there are dimensions."""
    if not re.fullmatch("-?[0-9]{1,10}([ \t]+-?[0-9]{1,10})*", sizes):
        raise _no_numbers(sizes, path)
    values = [int(word) for word in sizes.split()]
    if str(len(values)) != dimensions or len(values) > _MOST_AXES:
        raise InputError(
            f"the header gives {dimensions[:20]} dimensions but the size {sizes[:60]}", path=path, advice=SAVE_AGAIN
        )
    return values


def _no_numbers(text: str, path: Path) -> InputError:
    return InputError(f"the header has '{text[:60]}' where numbers belong", path=path, advice=SAVE_AGAIN)


def holder_beside(path: Path, target: str, *, field: str) -> Path:
    """Return the file that a header names (in latin-1, as headers are decoded), if it is one in the same folder."""
    name = os.fsdecode(target.encode("latin-1"))
    holder = path.parent / name if _is_plain(name) else path
    if holder == path or holder.is_symlink():
        raise InputError(f"{field} points to '{name[:60]}'", path=path, advice=_BEHIND_THE_HEADER)
    note(holder)  # should it come to be there, the answer is another
    if not holder.is_file():
        raise InputError(f"the file with the voxels, '{name[:60]}', is not beside it", path=path)
    return holder


def _is_plain(name: str) -> bool:
    """Return whether a header can name a file so: one in the same folder, neither a pattern of names nor a list."""
    return (
        name not in ("", ".", "..")
        and len(os.fsencode(name)) <= _LONGEST_NAME
        and not re.search(r"[/\\%\x00-\x1f]|^[ ]|[ ]$", name)
        and name.split(" ")[0] not in ("LIST", "LOCAL")
    )


def little_endian(array: npt.NDArray[Any]) -> bytes:
    """Return voxels as files hold them, first axis fastest."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(order="F")


def write_parts(path: Path, header: str, voxels: bytes, *, holder: Path | None) -> None:
    """Write a header and its voxels, into one file or, if there is a holder, into one beside it."""
    start = header.encode("utf-8", "surrogateescape")
    if holder is None:
        path.write_bytes(start + voxels)
        return
    if not _is_plain(holder.name):
        raise InputError("no header can name a file beside it so", path=path, advice="Choose a plainer name")
    holder.write_bytes(voxels)
    path.write_bytes(start)
