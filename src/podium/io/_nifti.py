"""NIfTI-1 and NIfTI-2, plain or gzipped, streamed so that only the narrow labels are ever held."""

from __future__ import annotations

import math
from gzip import BadGzipFile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from isal import isal_zlib
from isal.isal_zlib import _GzipReader  # igzip's own core, without its extra copy

from podium.io._geometry import checked_geometry, checked_shape
from podium.io._narrow import Narrower
from podium.model import InputError, LabelMap

_PIECE = 512 * 1024  # stays in the second-level cache between decompression and narrowing
_FEED = 64 * 1024
_LONGEST_HEADER = 1 << 20  # vox_offset past this would be a header extension nobody writes
_MOST_DEFLATE_EXPANDS = 1032  # the format's own limit: no honest file expands further


def read_nifti(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .nii or .nii.gz label map."""
    with path.open("rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream = _Stream(_GzipReader(file, _FEED) if gzipped else file, path)
        header = _header(stream, path)
        shape = checked_shape(_shape(header, path), path=path, dimensions=dimensions, max_voxels=max_voxels)
        dtype = _dtype(header, path)
        slope, intercept = _scaling(header, path)
        start = float(header["vox_offset"])
        if not stream.position <= start <= _LONGEST_HEADER:
            raise InputError(f"the header says that voxels start at byte {start:g}", path=path, advice=_SAVE_AGAIN)
        promised = int(start) + math.prod(shape) * dtype.itemsize
        size = path.stat().st_size
        if promised > size * (_MOST_DEFLATE_EXPANDS if gzipped else 1):
            raise _too_short(path, promised, size, gzipped=gzipped)
        geometry = _geometry(header, path, len(shape))

        stream.read(int(start) - stream.position)
        narrower = Narrower(shape, path=path)
        piece = np.empty(_PIECE, np.uint8)
        while narrower.missing:
            wanted = min(_PIECE, narrower.missing * dtype.itemsize)
            if stream.readinto(piece[:wanted]) < wanted:
                raise _too_short(path, promised, stream.position, gzipped=False)
            values = piece[:wanted].view(dtype)
            if not dtype.isnative:
                values = values.astype(dtype.newbyteorder("="))
            narrower.add(values if slope == 1 and intercept == 0 else values * slope + intercept)
        # Reading on verifies the checksum behind the last voxel. The format allows other bytes to follow the voxels;
        # no more than one of them is read, so that they cannot be a bomb.
        stream.read(1)
    return narrower.finish(**geometry)


_SAVE_AGAIN = "The file is damaged or not NIfTI: save it again with a NIfTI library"


def _too_short(path: Path, promised: int, held: int, *, gzipped: bool) -> InputError:
    kind = "gzipped bytes" if gzipped else "bytes"
    return InputError(
        f"the header promises {promised:,} bytes, the file holds {held:,} {kind}",
        path=path,
        advice="It was cut short: copy or save it again",
    )


class _Stream:
    """The bytes of a file, decompressed where they have to be; what is wrong with them is said."""

    def __init__(self, source: Any, path: Path) -> None:
        self._source = source
        self._path = path
        self.position = 0

    def readinto(self, buffer: npt.NDArray[np.uint8]) -> int:
        """Fill a buffer; return how many bytes there were, fewer than asked for only at the end."""
        filled = 0
        try:
            while filled < buffer.size and (count := self._source.readinto(buffer[filled:])):
                filled += count
        except EOFError:
            raise InputError("the gzip data ends too early", path=self._path, advice="Copy or save it again") from None
        except (isal_zlib.error, BadGzipFile) as error:  # type: ignore[misc]  # the stub hides that one is an exception
            raise InputError(
                f"the gzip data is damaged ({error})", path=self._path, advice="Copy or save it again"
            ) from None
        self.position += filled
        return filled

    def read(self, count: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        buffer = np.empty(count, np.uint8)
        return buffer[: self.readinto(buffer)].tobytes()


def _header(stream: _Stream, path: Path) -> Any:
    from nibabel.nifti1 import Nifti1Header
    from nibabel.nifti2 import Nifti2Header

    start = stream.read(4)
    sizes = {int.from_bytes(start, "little"): "<", int.from_bytes(start, "big"): ">"}
    kind, length = (Nifti2Header, 540) if 540 in sizes else (Nifti1Header, 348)
    block = start + stream.read(length - 4)
    magic = block[4:8] if kind is Nifti2Header else block[344:348]
    if length not in sizes or magic not in (b"n+1\0", b"n+2\0"):
        hint = "a .hdr/.img pair is not read, save it as one .nii.gz" if magic[:2] == b"ni" else _SAVE_AGAIN
        raise InputError("this is not a NIfTI file (its header has the wrong size or magic)", path=path, advice=hint)
    return kind(block, endianness=sizes[length], check=False)  # type: ignore[no-untyped-call]


def _shape(header: Any, path: Path) -> tuple[int, ...]:
    dim = [int(n) for n in header["dim"]]
    if not 1 <= dim[0] <= 7:
        raise InputError(f"the header gives {dim[0]} dimensions", path=path, advice=_SAVE_AGAIN)
    return tuple(dim[1 : dim[0] + 1])


def _dtype(header: Any, path: Path) -> np.dtype[Any]:
    try:
        dtype: Any = header.get_data_dtype()
    except KeyError:
        dtype = int(header["datatype"])
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise InputError(
            f"voxels of type {dtype} are not labels", path=path, advice="Save the label map with an integer type"
        )
    return dtype


def _scaling(header: Any, path: Path) -> tuple[float, float]:
    slope, intercept = float(header["scl_slope"]), float(header["scl_inter"])
    if slope == 0 or not math.isfinite(slope):  # the format's way to say: no scaling
        return 1.0, 0.0
    if not math.isfinite(intercept):
        raise InputError(f"scl_inter is {intercept}", path=path, advice=_SAVE_AGAIN)
    return slope, intercept


def _geometry(header: Any, path: Path, dimensions: int) -> dict[str, Any]:
    """Return spacing, origin and direction; nibabel's right–anterior–superior becomes left–posterior–superior."""
    spacing = tuple(float(s) for s in header["pixdim"][1 : 1 + dimensions])
    checked_geometry(spacing, path=path)
    try:
        affine = np.asarray(header.get_best_affine(), np.float64)
    except ValueError as error:  # a quaternion longer than one
        raise InputError(f"the orientation is unreadable ({error})", path=path, advice=_SAVE_AGAIN) from None
    affine[:2] *= -1
    columns = affine[:dimensions, :dimensions]
    lengths = np.linalg.norm(affine[:3, :dimensions], axis=0)
    if not np.isfinite(affine).all() or not np.allclose(lengths, spacing, rtol=1e-3):
        raise InputError(
            f"the header contradicts itself: pixdim says {_list(spacing)} mm, its orientation says {_list(lengths)} mm",
            path=path,
            advice="Save it again with one consistent geometry",
        )
    return {
        "spacing": spacing,
        "origin": tuple(affine[:dimensions, 3].tolist()),
        "direction": tuple(tuple(row) for row in (columns / lengths).tolist()),
    }


def _list(numbers: Any) -> str:
    return " × ".join(f"{float(number):.6g}" for number in numbers)
