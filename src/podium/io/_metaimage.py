"""MetaImage, .mha and .mhd: the part of it that describes one image of plain numbers."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

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
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4", "MET_UINT": "u4",
    "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8", "MET_ULONG_LONG": "u8", "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}  # fmt: skip
_NAMES = {code: name for name, code in reversed(_TYPES.items())}
# A field and its other names; where a header has several, ITK takes the first of these.
_SPACING = ("ElementSpacing", "ElementSize")
_ORIGIN = ("Origin", "Offset", "Position")
_AXES = ("TransformMatrix", "Rotation", "Orientation")


class VoxelPlace(NamedTuple):
    """Where the voxels of a MetaImage lie.

    Attributes
    ----------
    holder
        The file that holds them: the image itself, or one beside it.
    offset
        Their first byte; None where they are the last bytes of the file.
    compression
        None or "zlib".
    """

    holder: Path
    offset: int | None
    compression: str | None


def read_metaimage(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .mha or .mhd label map."""
    grid, place = metaimage_parts(path)
    return grid.read(path, **place._asdict(), dimensions=dimensions, max_voxels=max_voxels)


def metaimage_parts(path: Path) -> tuple[VoxelGrid, VoxelPlace]:
    """Read the header of a .mha or .mhd: what it says about its voxels, and where they are."""
    with open_input(path) as file:
        fields, end = _fields(file.read(LONGEST_HEADER))
    for needed in ("NDims", "DimSize", "ElementType", "ElementDataFile"):
        if needed not in fields:
            raise InputError(f"this is not MetaImage: its header has no {needed}", path=path, advice=SAVE_AGAIN)
    if fields.get("ElementNumberOfChannels", "1") != "1":
        raise InputError("voxels have several channels, a label is one number", path=path)
    if fields["ElementType"] not in _TYPES:
        raise InputError(f"ElementType {fields['ElementType'][:40]} is not a number that can be a label", path=path)
    if not _true(fields.get("BinaryData", "True")):
        raise InputError("voxels as text are not read", path=path, advice=SAVE_AGAIN)
    local = fields["ElementDataFile"].upper() == "LOCAL"
    compressed = _true(fields.get("CompressedData", "False"))
    skipped = fields.get("HeaderSize", "0")
    if skipped != "0" and (local or compressed or not re.fullmatch("-1|[0-9]{1,9}", skipped)):
        raise InputError("voxels behind a second header need a plain file of their own", path=path, advice=SAVE_AGAIN)
    return _grid(fields, path), VoxelPlace(
        holder=path if local else holder_beside(path, fields["ElementDataFile"], field="ElementDataFile"),
        offset=end if local else None if skipped == "-1" else int(skipped),
        compression="zlib" if compressed else None,
    )


def _fields(start: bytes) -> tuple[dict[str, str], int]:
    """Return what a header says, and where it ends; a field that is there twice counts as it is last."""
    fields: dict[str, str] = {}
    end = 0
    for line in start.splitlines(keepends=True):
        end += len(line)
        name, *value = (part.strip(" \t\r\n") for part in re.split("[=:]", line.decode("latin-1"), maxsplit=1))
        if name and not value:
            break
        fields[name] = "".join(value)
        if name == "ElementDataFile":  # always the last line
            break
    return fields, end


def _grid(fields: dict[str, str], path: Path) -> VoxelGrid:
    sizes = checked_sizes(fields["DimSize"], fields["NDims"], path=path)
    count = len(sizes)

    def first(names: tuple[str, ...], how_many: int, default: list[float]) -> list[float]:
        name = next((name for name in names if name in fields), None)
        return numbers(fields[name], how_many, field=name, path=path) if name else default

    axes = first(_AXES, count**2, np.eye(count).ravel().tolist())
    msb = _true(fields.get("BinaryDataByteOrderMSB", fields.get("ElementByteOrderMSB", "False")))
    return VoxelGrid(
        sizes=sizes,
        dtype=np.dtype(_TYPES[fields["ElementType"]]).newbyteorder(">" if msb else "<"),
        spacing=first(_SPACING, count, [1.0] * count),
        origin=first(_ORIGIN, count, [0.0] * count),
        axes=[axes[k : k + count] for k in range(0, count**2, count)],
    )


def _true(text: str) -> bool:
    """Return what MetaIO takes for true."""
    return text[:1] in ("t", "T", "1", "y", "Y")


def write_metaimage(path: Path, label_map: LabelMap) -> None:
    """Write a .mha, or a .mhd with its voxels in a .zraw beside it, compressed."""
    array = label_map.array
    voxels = zlib.compress(little_endian(array), 1)
    holder = path.with_suffix(".zraw") if path.suffix.lower() == ".mhd" else None
    geometry = {"spacing": label_map.spacing, "origin": label_map.origin, "direction": label_map.direction}
    header = metaimage_header(
        array.shape, array.dtype, **geometry, packed=len(voxels), holder=holder.name if holder else "LOCAL"
    )
    write_parts(path, header, voxels, holder=holder)


def metaimage_header(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    *,
    spacing: Any,
    origin: Any,
    direction: Any,
    packed: int | None = None,
    holder: str = "LOCAL",
) -> str:
    """Return the header of an image of little-endian voxels; `packed` is how many bytes they are compressed to."""
    fields = {
        "ObjectType": "Image",
        "NDims": len(shape),
        "BinaryData": True,
        "BinaryDataByteOrderMSB": False,
        "CompressedData": packed is not None,
        **({} if packed is None else {"CompressedDataSize": packed}),
        "TransformMatrix": _words(np.array(direction).T.ravel()),
        "Offset": _words(origin),
        "ElementSpacing": _words(spacing),
        "DimSize": " ".join(map(str, shape)),
        "ElementType": _NAMES[dtype.str[1:]],
        "ElementDataFile": holder,
    }
    return "".join(f"{name} = {value}\n" for name, value in fields.items())


def _words(values: Any) -> str:
    return " ".join(repr(float(value)) for value in values)
