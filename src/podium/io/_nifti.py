"""NIfTI-1 and NIfTI-2, plain or gzipped, streamed so that only the narrow labels are ever held."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from podium.io._geometry import checked_geometry, checked_shape
from podium.io._streams import Stream, checked_length
from podium.io.inputs import open_input
from podium.model import InputError, LabelMap

_LONGEST_HEADER = 1 << 24  # a header extension past this is nobody's
_SAVE_AGAIN = "The file is damaged or not NIfTI: save it again with a NIfTI library"
_MILLIMETRES = {0: 1.0, 1: 1e3, 2: 1.0, 3: 1e-3}  # unknown, metres, millimetres, micrometres


class NiftiVoxels(NamedTuple):
    """Voxels of a NIfTI file, open at the first of them, and what its header says about them."""

    stream: Stream
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    scaling: tuple[float, float]
    geometry: dict[str, Any]


def read_nifti(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .nii or .nii.gz label map."""
    with nifti_stream(path, dimensions=dimensions, max_voxels=max_voxels) as (stream, shape, dtype, scaling, geometry):
        return stream.narrow(shape, dtype, slope=scaling[0], intercept=scaling[1]).finish(**geometry)


@contextmanager
def nifti_stream(path: Path, *, dimensions: int | None, max_voxels: int) -> Iterator[NiftiVoxels]:
    """Open a .nii or .nii.gz at its first voxel, after a look at whether it can hold what its header promises."""
    with open_input(path) as file:
        gzipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream = Stream(file, path, compression="gzip" if gzipped else None)
        header = _header(stream, path)
        shape = checked_shape(_shape(header, path), path=path, dimensions=dimensions, max_voxels=max_voxels)
        dtype = _dtype(header, path)
        scaling = _scaling(header, path)
        start = float(header["vox_offset"])
        if not stream.position + 4 <= start <= _LONGEST_HEADER:
            raise InputError(f"the header says that voxels start at byte {start:g}", path=path, advice=_SAVE_AGAIN)
        promised = int(start) + math.prod(shape) * dtype.itemsize
        checked_length(path, promised, path.stat().st_size, compressed=gzipped, what="bytes")
        geometry = _geometry(header, path, len(shape))
        stream.read(int(start) - stream.position)
        yield NiftiVoxels(stream, shape, dtype, scaling, geometry)


def _header(stream: Stream, path: Path) -> Any:
    from nibabel.nifti1 import Nifti1Header
    from nibabel.nifti2 import Nifti2Header

    start = stream.read(4)
    sizes = {int.from_bytes(start, "little"): "<", int.from_bytes(start, "big"): ">"}
    kind, length = (Nifti2Header, 540) if 540 in sizes else (Nifti1Header, 348)
    block = start + stream.read(length - 4)
    magic = block[4:8] if kind is Nifti2Header else block[344:348]
    if length not in sizes or len(block) != length or magic not in (b"n+1\0", b"n+2\0"):
        hint = "a .hdr/.img pair is not read, save it as one .nii.gz" if magic[:2] == b"ni" else _SAVE_AGAIN
        raise InputError("this is not a NIfTI file (its header has the wrong size or magic)", path=path, advice=hint)
    return _parsed(kind, block, sizes[length])


@lru_cache(maxsize=64)
def _parsed(kind: Any, block: bytes, endianness: str) -> Any:
    """Return a header; predictions of one case mostly have the same, and parsing one takes as long as some files."""
    return kind(block, endianness=endianness, check=False)


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
    try:
        kind: Any = type(header)
        return _placed(kind, header.binaryblock, header.endianness, dimensions)
    except InputError as error:
        raise InputError(error.problem, path=path, advice=error.advice) from None


@lru_cache(maxsize=64)
def _placed(kind: Any, block: bytes, endianness: str, dimensions: int) -> dict[str, Any]:
    from nibabel.spatialimages import HeaderDataError

    header = kind(block, endianness=endianness, check=False)  # one that may be changed
    stored = np.array(header["pixdim"][1 : 1 + dimensions], np.float64)
    checked_geometry(stored.tolist())
    unit = int(header["xyzt_units"]) & 7
    if unit not in _MILLIMETRES:
        raise InputError(f"the header measures lengths in unit {unit}, which is none", advice=_SAVE_AGAIN)
    # The format knows a sign here; nibabel refuses what is neither 1 nor −1, such as the 0 that some programs write.
    header["pixdim"][0] = -1.0 if header["pixdim"][0] < 0 else 1.0
    try:
        affine = np.asarray(header.get_best_affine(), np.float64)
    except (ValueError, HeaderDataError) as error:  # a quaternion longer than one
        raise InputError(f"the orientation is unreadable ({error})", advice=_SAVE_AGAIN) from None
    affine[:2] *= -1
    lengths = np.linalg.norm(affine[:3, :dimensions], axis=0)
    if not np.isfinite(affine).all() or not np.allclose(lengths, stored, rtol=1e-3):
        raise InputError(
            f"the header contradicts itself: pixdim says {_list(stored)}, its orientation says {_list(lengths)}",
            advice="Save it again with one consistent geometry",
        )
    spacing = tuple((stored * _MILLIMETRES[unit]).tolist())
    checked_geometry(spacing)
    return {
        "spacing": spacing,
        "origin": tuple((affine[:dimensions, 3] * _MILLIMETRES[unit]).tolist()),
        "direction": tuple(tuple(row) for row in (affine[:dimensions, :dimensions] / lengths).tolist()),
    }


def write_nifti(path: Path, label_map: LabelMap) -> None:
    """Write a .nii or .nii.gz, with the orientation stored in both ways that the format knows."""
    from nibabel.nifti1 import Nifti1Image

    array = label_map.array
    affine = np.eye(4)
    affine[: array.ndim, : array.ndim] = np.array(label_map.direction) * label_map.spacing
    affine[: array.ndim, 3] = label_map.origin
    affine[:2] *= -1
    kind: Any = Nifti1Image
    image = kind(array, affine, dtype=array.dtype)
    image.set_sform(affine, 1)
    image.set_qform(affine, 1)
    image.header.set_xyzt_units("mm")
    content = image.to_bytes()
    path.write_bytes(gzip.compress(content, 1, mtime=0) if path.suffix.lower() == ".gz" else content)


def _list(numbers: Any) -> str:
    return " × ".join(f"{float(number):.6g}" for number in numbers)
