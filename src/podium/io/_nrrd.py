"""NRRD, .nrrd and .nhdr: the part of it that describes one image of plain numbers, raw or gzipped."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from podium.io._headers import (
    LONGEST_HEADER,
    SAVE_AGAIN,
    VoxelGrid,
    checked_sizes,
    holder_beside,
    little_endian,
    numbers,
    write_parts,
)
from podium.io.inputs import open_input
from podium.model import InputError, LabelMap

_TYPES = {
    **dict.fromkeys(("signed char", "int8", "int8_t"), "i1"),
    **dict.fromkeys(("uchar", "unsigned char", "uint8", "uint8_t"), "u1"),
    **dict.fromkeys(("short", "short int", "signed short", "signed short int", "int16", "int16_t"), "i2"),
    **dict.fromkeys(("ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"), "u2"),
    **dict.fromkeys(("int", "signed int", "int32", "int32_t"), "i4"),
    **dict.fromkeys(("uint", "unsigned int", "uint32", "uint32_t"), "u4"),
    **dict.fromkeys(("longlong", "long long", "long long int", "signed long long", "int64", "int64_t"), "i8"),
    **dict.fromkeys(("ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"), "u8"),
    "float": "f4",
    "double": "f8",
}
_NAMES = {code: name for name, code in reversed(_TYPES.items())}
# How left–posterior–superior coordinates follow from those of a space; as in ITK, a space of no patient counts as such.
_SPACES = {
    **dict.fromkeys(("rightanteriorsuperior", "ras"), (-1.0, -1.0, 1.0)),
    **dict.fromkeys(("leftanteriorsuperior", "las"), (1.0, -1.0, 1.0)),
    **dict.fromkeys(("leftposteriorsuperior", "lps"), (1.0, 1.0, 1.0)),
    **dict.fromkeys(("scannerxyz", "3drighthanded", "3dlefthanded"), (1.0, 1.0, 1.0)),
}
_IGNORED = (
    "content", "number", "blocksize", "min", "max", "oldmin", "oldmax", "sampleunits", "thicknesses", "centers",
    "centerings", "labels", "units", "spaceunits", "measurementframe",
)  # fmt: skip
_USED = (
    "type", "dimension", "sizes", "encoding", "endian", "kinds", "spacings", "space", "spacedimension",
    "spacedirections", "spaceorigin", "datafile", "byteskip", "lineskip", "axismins", "axismaxs",
)  # fmt: skip
_ONE_NUMBER = ("domain", "space", "time", "none", "???")  # kinds of axes along which voxels lie


def read_nrrd(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .nrrd or .nhdr label map."""
    with open_input(path) as file:
        start = file.read(LONGEST_HEADER)
    blank = re.search(rb"\r?\n\r?\n", start)
    whole = blank is not None or len(start) < LONGEST_HEADER  # a header alone may end without a blank line
    if not re.match(rb"NRRD(000[1-5]|00\.01)\r?\n", start) or not whole:
        raise InputError("this is not NRRD: its header does not start or end as one", path=path, advice=SAVE_AGAIN)
    fields = _fields(start[: blank.start()] if blank else start, path)
    for needed in ("type", "dimension", "sizes", "encoding"):
        if needed not in fields:
            raise InputError(f"the NRRD header has no field '{needed}'", path=path, advice=SAVE_AGAIN)
    if any(fields.get(skip, "0") != "0" for skip in ("lineskip", "byteskip")):
        raise InputError("a NRRD file that skips lines or bytes is not read", path=path, advice=SAVE_AGAIN)
    encoding = fields["encoding"].lower()
    if encoding not in ("raw", "gzip", "gz"):
        raise InputError(f"NRRD encoding '{encoding[:40]}' is not read", path=path, advice="Save it with encoding gzip")
    detached = "datafile" in fields
    if not detached and blank is None:
        raise InputError("this is not NRRD: no voxels follow its header", path=path, advice=SAVE_AGAIN)
    return _grid(fields, path).read(
        path,
        holder=holder_beside(path, fields["datafile"], field="data file") if detached else path,
        offset=0 if detached or blank is None else blank.end(),
        compression=None if encoding == "raw" else "gzip",
        dimensions=dimensions,
        max_voxels=max_voxels,
    )


def _fields(header: bytes, path: Path) -> dict[str, str]:
    """Return what a header says; a field that nobody knows might have been meant to matter, and is refused."""
    fields: dict[str, str] = {}
    for line in header.splitlines()[1:]:
        text = line.decode("latin-1")
        name, colon, value = text.partition(":")
        if text.startswith("#") or value.startswith("="):  # a comment, or a key of somebody's own
            continue
        key = name.strip().lower().replace(" ", "")
        if not colon or key not in (*_USED, *_IGNORED) or key in fields:
            what = "twice" if key in fields else "where a field of NRRD belongs"
            raise InputError(f"the header has '{name[:40]}' {what}", path=path, advice=SAVE_AGAIN)
        fields[key] = value.strip(" \t")
        if key == "datafile":  # always the last, as a list of files may follow
            break
    return fields


def _grid(fields: dict[str, str], path: Path) -> VoxelGrid:
    kind = _TYPES.get(fields["type"].lower())
    if kind is None:
        raise InputError(f"voxels of type '{fields['type'][:40]}' are not labels", path=path)
    dtype = np.dtype(kind)
    order = fields.get("endian", "little" if dtype.itemsize == 1 else "").lower()
    if order not in ("little", "big"):
        raise InputError("the header does not say whether 'endian' is little or big", path=path, advice=SAVE_AGAIN)
    sizes = checked_sizes(fields["sizes"], fields["dimension"], path=path)
    for axis_kind in fields.get("kinds", "").lower().split():
        if axis_kind not in _ONE_NUMBER:
            raise InputError(
                f"an axis is of kind '{axis_kind[:40]}', a label is one number a voxel", path=path, advice=SAVE_AGAIN
            )
    spacing, origin, axes = _placed(fields, len(sizes), path)
    return VoxelGrid(sizes, dtype.newbyteorder("<" if order == "little" else ">"), spacing, origin, axes)


def _placed(fields: dict[str, str], count: int, path: Path) -> tuple[list[float], list[float], list[list[float]]]:
    """Return spacing, origin and axes: either in a space, or nothing but the spacing."""
    if "axismins" in fields or "axismaxs" in fields:
        raise InputError("'axis mins' and 'axis maxs' are not read", path=path, advice=SAVE_AGAIN)
    spacing, origin, axes = [1.0] * count, [0.0] * count, np.eye(count).tolist()
    if "spacings" in fields:
        spacing = numbers(fields["spacings"], count, field="spacings", path=path)
    signs = _signs(fields, count, path)
    if "spaceorigin" in fields:
        (vector,) = _vectors(fields["spaceorigin"], 1, count, path)
        origin = [sign * value for sign, value in zip(signs, vector, strict=True)]
    if "spacedirections" in fields:
        vectors = _vectors(fields["spacedirections"], count, count, path)
        spacing = [math.sqrt(sum(value * value for value in vector)) for vector in vectors]
        axes = [
            [sign * value / (length or 1.0) for sign, value in zip(signs, vector, strict=True)]
            for vector, length in zip(vectors, spacing, strict=True)
        ]
    return spacing, origin, axes


def _signs(fields: dict[str, str], count: int, path: Path) -> tuple[float, ...]:
    """Return what each coordinate has to be multiplied by, where there is a space."""
    signs = (1.0,) * count
    if "space" in fields:
        space = _SPACES.get(fields["space"].lower().replace("-", ""))
        if space is None or len(space) != count:
            raise InputError(
                f"space '{fields['space'][:40]}' of {count} dimensions is not read", path=path, advice=SAVE_AGAIN
            )
        signs = space
    elif fields.get("spacedimension", str(count)) != str(count):
        raise InputError(
            f"{count} axes lie in a space of {fields['spacedimension'][:20]} dimensions", path=path, advice=SAVE_AGAIN
        )
    in_space = "space" in fields or "spacedimension" in fields
    if in_space and "spacings" in fields:
        raise InputError("the header has both 'spacings' and a space", path=path, advice=SAVE_AGAIN)
    if not in_space and ("spaceorigin" in fields or "spacedirections" in fields):
        raise InputError("the header has directions or an origin without a space", path=path, advice=SAVE_AGAIN)
    return signs


def _vectors(text: str, how_many: int, count: int, path: Path) -> list[list[float]]:
    """Return the vectors of a field: (x,y,z), as many as there should be."""
    inside = re.findall(r"\(([^()]*)\)", text)
    if len(inside) != how_many or re.sub(r"\([^()]*\)", "", text).strip():
        raise InputError(
            f"the header has '{text[:60]}' where {how_many} of (x,y,z) belong", path=path, advice=SAVE_AGAIN
        )
    return [numbers(vector.replace(",", " "), count, field="a vector", path=path) for vector in inside]


def write_nrrd(path: Path, label_map: LabelMap) -> None:
    """Write a .nrrd, or a .nhdr with its voxels in a .raw.gz beside it, compressed."""
    array = label_map.array
    axes = np.array(label_map.direction).T * np.array(label_map.spacing)[:, None]
    holder = path.with_suffix(".raw.gz") if path.suffix.lower() == ".nhdr" else None
    header = {
        "type": _NAMES[array.dtype.str[1:]],
        "dimension": array.ndim,
        **({"space": "left-posterior-superior"} if array.ndim == 3 else {"space dimension": array.ndim}),
        "sizes": " ".join(map(str, array.shape)),
        "space directions": " ".join(_vector(axis) for axis in axes),
        "kinds": " ".join(["domain"] * array.ndim),
        "endian": "little",
        "encoding": "gzip",
        "space origin": _vector(label_map.origin),
        **({"data file": holder.name} if holder else {}),
    }
    start = "".join(f"{name}: {value}\n" for name, value in header.items())
    write_parts(path, f"NRRD0004\n{start}\n", gzip.compress(little_endian(array), 1, mtime=0), holder=holder)


def _vector(values: Any) -> str:
    return f"({','.join(repr(float(value)) for value in values)})"
