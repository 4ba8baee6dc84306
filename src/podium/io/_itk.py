"""MetaImage and NRRD through SimpleITK, after a look at the header.

ITK follows a header wherever it points, allocates what it promises, and may fill a short file with whatever was in
memory. So the text header is read here first: where the voxels are, how many, and whether the file holds them.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from isal import isal_zlib

from podium.io._geometry import checked_geometry, checked_shape
from podium.io._narrow import Narrower
from podium.model import InputError, LabelMap

_LONGEST_HEADER = 1 << 16
_PIECE = 1 << 18
_SAVE_AGAIN = "The file is damaged: save it again, for example with SimpleITK.WriteImage"

_META_TYPES = {
    "MET_CHAR": 1, "MET_UCHAR": 1, "MET_SHORT": 2, "MET_USHORT": 2, "MET_INT": 4, "MET_UINT": 4, "MET_LONG": 4,
    "MET_ULONG": 4, "MET_LONG_LONG": 8, "MET_ULONG_LONG": 8, "MET_FLOAT": 4, "MET_DOUBLE": 8,
}  # fmt: skip
_NRRD_TYPES = {
    **dict.fromkeys(("signed char", "int8", "int8_t", "uchar", "unsigned char", "uint8", "uint8_t"), 1),
    **dict.fromkeys(("short", "short int", "signed short", "signed short int", "int16", "int16_t"), 2),
    **dict.fromkeys(("ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"), 2),
    **dict.fromkeys(("int", "signed int", "int32", "int32_t", "uint", "unsigned int", "uint32", "uint32_t"), 4),
    **dict.fromkeys(("longlong", "long long", "long long int", "signed long long", "int64", "int64_t"), 8),
    **dict.fromkeys(("ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"), 8),
    "float": 4,
    "double": 8,
}


def read_metaimage(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .mha or .mhd label map."""
    with path.open("rb") as file:
        start = file.read(_LONGEST_HEADER)
    fields: dict[str, str] = {}
    end = 0
    for line in start.splitlines(keepends=True):
        end += len(line)
        name, equals, value = line.decode("latin-1").partition("=")
        if not equals:
            break
        fields[name.strip()] = value.strip()
        if name.strip() == "ElementDataFile":  # always the last line
            break
    for needed in ("NDims", "DimSize", "ElementType", "ElementDataFile"):
        if needed not in fields:
            raise InputError(f"this is not MetaImage: its header has no {needed}", path=path, advice=_SAVE_AGAIN)
    if fields.get("ElementNumberOfChannels", "1") != "1":
        raise InputError("voxels have several channels, a label is one number", path=path)
    if fields["ElementType"] not in _META_TYPES:
        raise InputError(f"ElementType {fields['ElementType']} is not a number that can be a label", path=path)
    for spacing in ("ElementSpacing", "ElementSize"):
        if spacing in fields:
            checked_geometry(_numbers(fields[spacing], path), path=path)
            break
    shape = [int(n) for n in _numbers(fields["DimSize"], path)]
    checked_shape(shape, path=path, dimensions=dimensions, max_voxels=max_voxels)
    target = fields["ElementDataFile"]
    local = target.upper() == "LOCAL"
    _check_voxels(
        path,
        holder=path if local else _beside(path, target),
        offset=end if local else 0,
        promised=math.prod(shape) * _META_TYPES[fields["ElementType"]],
        compression="zlib" if fields.get("CompressedData", "False").lower() == "true" else None,
    )
    return _through_itk(path, dimensions=dimensions, max_voxels=max_voxels)


def read_nrrd(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .nrrd label map with its voxels in the same file."""
    with path.open("rb") as file:
        start = file.read(_LONGEST_HEADER)
    blank = re.search(rb"\r?\n\r?\n", start)
    if not start.startswith(b"NRRD") or blank is None:
        raise InputError("this is not NRRD: its header does not start or end as one", path=path, advice=_SAVE_AGAIN)
    fields: dict[str, str] = {}
    for line in start[: blank.start()].decode("latin-1").splitlines()[1:]:
        name, colon, value = line.partition(":")
        if colon and not line.startswith("#") and not value.startswith("="):
            fields[name.strip().lower()] = value.strip()
    for needed in ("type", "sizes", "encoding"):
        if needed not in fields:
            raise InputError(f"the NRRD header has no field '{needed}'", path=path, advice=_SAVE_AGAIN)
    if "data file" in fields or "datafile" in fields:
        raise InputError(
            "the voxels lie in another file", path=path, advice="Save header and voxels together in one .nrrd"
        )
    if fields["type"] not in _NRRD_TYPES:
        raise InputError(f"voxels of type '{fields['type']}' are not labels", path=path)
    if "spacings" in fields:
        checked_geometry(_numbers(fields["spacings"], path), path=path)
    for vector in re.findall(r"\(([^)]*)\)", fields.get("space directions", "")):
        checked_geometry([math.hypot(*_numbers(vector.replace(",", " "), path))], path=path)
    shape = [int(n) for n in _numbers(fields["sizes"], path)]
    checked_shape(shape, path=path, dimensions=dimensions, max_voxels=max_voxels)
    encoding = fields["encoding"].lower()
    if encoding not in ("raw", "gzip", "gz"):
        raise InputError(f"NRRD encoding '{encoding}' is not read", path=path, advice="Save it with encoding gzip")
    _check_voxels(
        path,
        holder=path,
        offset=blank.end(),
        promised=math.prod(shape) * _NRRD_TYPES[fields["type"]],
        compression=None if encoding == "raw" else "gzip",
    )
    return _through_itk(path, dimensions=dimensions, max_voxels=max_voxels)


def write(path: Path, label_map: LabelMap) -> None:
    """Write any format that ITK knows by the name's ending, compressed."""
    sitk = _simpleitk()
    image = sitk.GetImageFromArray(np.ascontiguousarray(label_map.array.T))
    image.SetSpacing(label_map.spacing)
    image.SetOrigin(label_map.origin)
    image.SetDirection([value for row in label_map.direction for value in row])
    sitk.WriteImage(image, str(path), useCompression=True)


def _numbers(text: str, path: Path) -> list[float]:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise InputError(f"the header has '{text[:60]}' where numbers belong", path=path, advice=_SAVE_AGAIN)
    return numbers


def _beside(path: Path, target: str) -> Path:
    """Return the file that a detached header names, if it is a plain file in the same folder."""
    holder = path.parent / target
    plain = target not in ("", ".", "..") and not re.search(r"[/\\%]", target) and target.split()[0] != "LIST"
    if not plain or holder.is_symlink():
        raise InputError(
            f"ElementDataFile points to '{target[:60]}'",
            path=path,
            advice="It must be LOCAL or a file in the same folder: save it as one .mha",
        )
    if not holder.is_file():
        raise InputError(f"the file with the voxels, '{target[:60]}', is not beside it", path=path)
    return holder


def _check_voxels(path: Path, *, holder: Path, offset: int, promised: int, compression: str | None) -> None:
    """Make sure, in constant memory, that a file holds the voxels its header promises."""
    with holder.open("rb") as file:
        held = 0
        if compression is None:
            held = file.seek(0, 2) - offset
        else:
            file.seek(offset)
            inflater = isal_zlib.decompressobj(wbits=15 if compression == "zlib" else 31)
            try:
                while held <= promised and not inflater.eof:
                    feed = inflater.unconsumed_tail or file.read(_PIECE)
                    if not feed:
                        break
                    held += len(inflater.decompress(feed, _PIECE))
            except isal_zlib.error as error:  # type: ignore[misc]  # the stub hides that it is an exception
                raise InputError(
                    f"the compressed voxels are damaged ({error})", path=path, advice="Copy or save it again"
                ) from None
    if held < promised:
        raise InputError(
            f"the header promises {promised:,} bytes of voxels, the file holds {held:,}",
            path=path,
            advice="It was cut short: copy or save it again",
        )


def _simpleitk() -> Any:
    import SimpleITK

    SimpleITK.ProcessObject.SetGlobalWarningDisplay(False)  # type: ignore[no-untyped-call]  # noqa: FBT003
    return SimpleITK


def _through_itk(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    sitk = _simpleitk()
    try:
        image = sitk.ReadImage(str(path))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"ITK cannot read it ({reason})", path=path, advice=_SAVE_AGAIN) from None
    if image.GetNumberOfComponentsPerPixel() != 1:
        raise InputError("voxels have several channels, a label is one number", path=path)
    shape = checked_shape(image.GetSize(), path=path, dimensions=dimensions, max_voxels=max_voxels)
    kept = len(shape)
    checked_geometry(image.GetSpacing()[:kept], path=path)
    narrower = Narrower(shape, path=path)
    values = sitk.GetArrayViewFromImage(image).reshape(-1)
    for start in range(0, values.size, _PIECE):
        narrower.add(values[start : start + _PIECE])
    direction = np.array(image.GetDirection()).reshape(image.GetDimension(), -1)[:kept, :kept]
    return narrower.finish(
        spacing=image.GetSpacing()[:kept],
        origin=image.GetOrigin()[:kept],
        direction=tuple(tuple(row) for row in direction.tolist()),
    )
