"""NIfTI-1 and NIfTI-2, plain or gzipped, streamed so that only the narrow labels are ever held."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from isal import igzip_lib

from podium.io._geometry import checked_geometry, checked_shape
from podium.io._narrow import Narrower
from podium.model import InputError, LabelMap

_PIECE = 256 * 1024  # stays in the second-level cache between decompression and narrowing
_FEED = 64 * 1024
_LONGEST_HEADER = 1 << 20  # vox_offset past this would be a header extension nobody writes
_MOST_DEFLATE_EXPANDS = 1032  # the format's own limit: no honest file expands further


def read_nifti(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .nii or .nii.gz label map."""
    with path.open("rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        pieces = _inflated(file, path) if gzipped else iter(lambda: file.read(_PIECE), b"")
        stream = _Pieces(pieces)
        header = _header(stream, path)
        shape = checked_shape(_shape(header, path), path=path, dimensions=dimensions, max_voxels=max_voxels)
        dtype = _dtype(header, path)
        slope, intercept = _scaling(header, path)
        start = float(header["vox_offset"])
        if not stream.position <= start <= _LONGEST_HEADER:
            raise InputError(f"the header says that voxels start at byte {start:g}", path=path, advice=_SAVE_AGAIN)
        offset = int(start)
        promised = offset + math.prod(shape) * dtype.itemsize
        size = path.stat().st_size
        if promised > size * (_MOST_DEFLATE_EXPANDS if gzipped else 1):
            raise _too_short(path, promised, size, gzipped=gzipped)
        affine = _affine(header, path, len(shape))

        stream.skip_to(offset)
        narrower = Narrower(shape, path=path)
        for values in stream.arrays(dtype, narrower.missing):
            narrower.add(values if slope == 1 and intercept == 0 else values * slope + intercept)
        if narrower.missing:
            raise _too_short(path, promised, stream.position, gzipped=False)
        stream.exhaust_if_complete()
    return narrower.finish(**affine)


_SAVE_AGAIN = "The file is damaged or not NIfTI: save it again with a NIfTI library"


def _too_short(path: Path, promised: int, held: int, *, gzipped: bool) -> InputError:
    kind = "gzipped bytes" if gzipped else "bytes"
    return InputError(
        f"the header promises {promised:,} bytes, the file holds {held:,} {kind}",
        path=path,
        advice="It was cut short: copy or save it again",
    )


def _inflated(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the decompressed pieces of a gzip file, one or several members long; checksums are verified.

    A piece is short where the compressed bytes at hand ran out; the next one makes up for it, so that pieces keep
    ending on multiples of `_PIECE` and voxels are not split.
    """
    rest = b""
    wanted = _PIECE
    while True:
        inflater = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        while not inflater.eof:
            feed = b""
            if inflater.needs_input:
                feed = rest or file.read(_FEED)
                rest = b""
                if not feed:
                    raise InputError("the gzip data ends too early", path=path, advice="Copy or save the file again")
            try:
                piece = inflater.decompress(feed, wanted)
            except igzip_lib.IsalError as error:  # type: ignore[misc]  # the stub hides that it is an exception
                raise InputError(f"the gzip data is damaged ({error})", path=path, advice="Save it again") from None
            if piece:
                wanted = wanted - len(piece) or _PIECE
                yield piece
        rest = inflater.unused_data or file.read(_FEED)
        if not rest.strip(b"\0"):  # nothing, or the padding that some archivers add
            return


class _Pieces:
    """Bytes that arrive in pieces, handed on as a header first and then as whole voxels."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._kept = b""
        self.position = 0

    def read(self, count: int) -> bytes:
        """Return the next `count` bytes, fewer at the end."""
        while len(self._kept) < count and (piece := next(self._pieces, b"")):
            self._kept += piece
        taken, self._kept = self._kept[:count], self._kept[count:]
        self.position += len(taken)
        return taken

    def skip_to(self, position: int) -> None:
        self.read(position - self.position)

    def arrays(self, dtype: np.dtype[Any], count: int) -> Iterator[npt.NDArray[Any]]:
        """Yield the next `count` values as arrays in native byte order, fewer if the bytes end before."""
        wanted = count * dtype.itemsize
        while wanted and (piece := self._kept or next(self._pieces, b"")):
            self._kept = b""
            while len(piece) < dtype.itemsize and (more := next(self._pieces, b"")):
                piece += more
            whole = min(len(piece) // dtype.itemsize * dtype.itemsize, wanted)
            if not whole:
                self.position += len(piece)
                return
            self._kept = piece[whole:]
            self.position += whole
            wanted -= whole
            values = np.frombuffer(piece, dtype, whole // dtype.itemsize)
            yield values if dtype.isnative else values.astype(dtype.newbyteorder("="))

    def exhaust_if_complete(self) -> None:
        """Read on to the end of the file, if it is there, so that the checksum behind the last voxel is verified.

        Bytes that follow the voxels are allowed by the format; they are not read, so that they cannot be a bomb.
        """
        if not self._kept:
            next(self._pieces, b"")


def _header(stream: _Pieces, path: Path) -> Any:
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


def _affine(header: Any, path: Path, dimensions: int) -> dict[str, Any]:
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
