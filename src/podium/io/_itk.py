"""MetaImage and NRRD: geometry through SimpleITK, voxels streamed from where the header says they are.

ITK follows a header wherever it points, allocates what it promises, and fills what a file lacks with whatever was in
memory. So the text header is read here first, and ITK is asked for the geometry only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from podium.io._geometry import checked_geometry, checked_shape
from podium.io._streams import MOST_DEFLATE_EXPANDS, Stream, too_short
from podium.io.inputs import note, open_input
from podium.model import InputError, LabelMap

_LONGEST_HEADER = 1 << 16
_SAVE_AGAIN = "Save it again, for example with SimpleITK.WriteImage"

_META_TYPES = {
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4", "MET_UINT": "u4",
    "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8", "MET_ULONG_LONG": "u8", "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}  # fmt: skip
_NRRD_TYPES = {
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


def read_metaimage(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .mha or .mhd label map."""
    with open_input(path) as file:
        start = file.read(_LONGEST_HEADER)
    fields: dict[str, str] = {}
    end = 0
    for line in start.splitlines(keepends=True):
        end += len(line)
        name, equals, value = line.decode("latin-1").partition("=")
        if not equals and line.strip():
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
        raise InputError(f"ElementType {fields['ElementType'][:40]} is not a number that can be a label", path=path)
    for spacing in ("ElementSpacing", "ElementSize"):
        if spacing in fields:
            checked_geometry(_numbers(fields[spacing], path), path=path)
    sizes = _sizes(fields["DimSize"], fields["NDims"], path)
    if not _true(fields.get("BinaryData", "True")) or fields.get("HeaderSize", "0") not in ("0", "-1"):
        raise InputError("voxels as text, or behind a second header, are not read", path=path, advice=_SAVE_AGAIN)
    target = fields["ElementDataFile"]
    local = target.upper() == "LOCAL"
    big = _true(fields.get("BinaryDataByteOrderMSB", fields.get("ElementByteOrderMSB", "False")))
    compressed = _true(fields.get("CompressedData", "False"))
    if fields.get("HeaderSize") == "-1" and (local or compressed):
        raise InputError("HeaderSize -1 needs voxels in a plain file of their own", path=path, advice=_SAVE_AGAIN)
    return _label_map(
        path,
        sizes,
        np.dtype(_META_TYPES[fields["ElementType"]]).newbyteorder(">" if big else "<"),
        holder=path if local else _beside(path, target),
        offset=end if local else -1 if fields.get("HeaderSize") == "-1" else 0,
        compression="zlib" if compressed else None,
        dimensions=dimensions,
        max_voxels=max_voxels,
    )


def read_nrrd(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .nrrd label map with its voxels in the same file."""
    with open_input(path) as file:
        start = file.read(_LONGEST_HEADER)
    blank = re.search(rb"\r?\n\r?\n", start)
    if not start.startswith(b"NRRD") or blank is None:
        raise InputError("this is not NRRD: its header does not start or end as one", path=path, advice=_SAVE_AGAIN)
    fields: dict[str, str] = {}
    for line in start[: blank.start()].decode("latin-1").splitlines()[1:]:
        name, colon, value = line.partition(":")
        if colon and not line.startswith("#") and not value.startswith("="):
            fields[name.strip().lower().replace(" ", "")] = value.strip()
    for needed in ("type", "dimension", "sizes", "encoding"):
        if needed not in fields:
            raise InputError(f"the NRRD header has no field '{needed}'", path=path, advice=_SAVE_AGAIN)
    if "datafile" in fields:
        raise InputError(
            "the voxels lie in another file", path=path, advice="Save header and voxels together in one .nrrd"
        )
    if any(fields.get(skip, "0") != "0" for skip in ("lineskip", "byteskip")):
        raise InputError("a NRRD file that skips lines or bytes is not read", path=path, advice=_SAVE_AGAIN)
    if fields["type"] not in _NRRD_TYPES:
        raise InputError(f"voxels of type '{fields['type'][:40]}' are not labels", path=path)
    if "spacings" in fields:
        checked_geometry(_numbers(fields["spacings"], path), path=path)
    for vector in re.findall(r"\(([^)]*)\)", fields.get("spacedirections", "")):
        checked_geometry([math.hypot(*_numbers(vector.replace(",", " "), path))], path=path)
    encoding = fields["encoding"].lower()
    if encoding not in ("raw", "gzip", "gz"):
        raise InputError(f"NRRD encoding '{encoding[:40]}' is not read", path=path, advice="Save it with encoding gzip")
    big = fields.get("endian", "little").lower() == "big"
    return _label_map(
        path,
        _sizes(fields["sizes"], fields["dimension"], path),
        np.dtype(_NRRD_TYPES[fields["type"]]).newbyteorder(">" if big else "<"),
        holder=path,
        offset=blank.end(),
        compression=None if encoding == "raw" else "gzip",
        dimensions=dimensions,
        max_voxels=max_voxels,
    )


def write(path: Path, label_map: LabelMap) -> None:
    """Write any format that ITK knows by the name's ending, compressed."""
    sitk = _simpleitk()
    image = sitk.GetImageFromArray(np.ascontiguousarray(label_map.array.T))
    image.SetSpacing(label_map.spacing)
    image.SetOrigin(label_map.origin)
    image.SetDirection([value for row in label_map.direction for value in row])
    try:
        path.as_posix().encode()
        sitk.WriteImage(image, str(path), useCompression=True)
    except UnicodeEncodeError:  # over which SimpleITK would end the process
        raise InputError("it cannot be written: its name is not UTF-8", path=path) from None
    except RuntimeError as error:
        raise InputError(f"it cannot be written ({_reason(error)})", path=path) from None


def _numbers(text: str, path: Path) -> list[float]:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise InputError(f"the header has '{text[:60]}' where numbers belong", path=path, advice=_SAVE_AGAIN)
    return numbers


def _sizes(sizes: str, dimensions: str, path: Path) -> list[int]:
    numbers = [int(n) for n in _numbers(sizes, path)]
    if not dimensions.isdecimal() or len(numbers) != int(dimensions):
        raise InputError(
            f"the header gives {dimensions[:20]} dimensions but the size {sizes[:60]}", path=path, advice=_SAVE_AGAIN
        )
    return numbers


def _true(text: str) -> bool:
    """Return what MetaIO takes for true."""
    return text[:1] in ("t", "T", "1", "y", "Y")


def _beside(path: Path, target: str) -> Path:
    """Return the file that a detached header names, if it is a plain file in the same folder."""
    holder = path.parent / target
    plain = target not in ("", ".", "..", path.name) and not re.search(r"[/\\%]", target)
    if not plain or target.split()[0] == "LIST" or holder.is_symlink():
        raise InputError(
            f"ElementDataFile points to '{target[:60]}'",
            path=path,
            advice="It must be LOCAL or another file in the same folder: save it as one .mha",
        )
    note(holder)  # should it come to be there, the answer is another
    if not holder.is_file():
        raise InputError(f"the file with the voxels, '{target[:60]}', is not beside it", path=path)
    return holder


def _label_map(
    path: Path,
    sizes: list[int],
    dtype: np.dtype[Any],
    *,
    holder: Path,
    offset: int,
    compression: str | None,
    dimensions: int | None,
    max_voxels: int,
) -> LabelMap:
    """Read the voxels from byte `offset` of a file, or its last bytes if that is −1."""
    shape = checked_shape(sizes, path=path, dimensions=dimensions, max_voxels=max_voxels)
    promised = math.prod(shape) * dtype.itemsize
    held = holder.stat().st_size - max(offset, 0)
    if promised > held * (MOST_DEFLATE_EXPANDS if compression else 1):
        raise too_short(path, promised, held, what="bytes of voxels" + " unpacked" * bool(compression))
    geometry = _geometry(path, shape, sizes)
    with open_input(holder) as file:
        file.seek(offset if offset >= 0 else held - promised)
        return Stream(file, path, compression=compression).narrow(shape, dtype).finish(**geometry)


def _geometry(path: Path, shape: tuple[int, ...], sizes: list[int]) -> dict[str, Any]:
    """Return spacing, origin and direction as ITK understands the header."""
    reader = _simpleitk().ImageFileReader()
    with _name_for_itk(path) as name:
        reader.SetFileName(name)
        try:
            reader.ReadImageInformation()
        except RuntimeError as error:
            raise InputError(f"ITK cannot read it ({_reason(error)})", path=path, advice=_SAVE_AGAIN) from None
    if list(reader.GetSize()) != sizes or reader.GetNumberOfComponents() != 1:
        raise InputError(
            f"ITK reads the header as {' × '.join(map(str, reader.GetSize()))} voxels of "
            f"{reader.GetNumberOfComponents()} numbers, not as {' × '.join(map(str, sizes))} labels",
            path=path,
            advice=_SAVE_AGAIN,
        )
    kept = len(shape)
    checked_geometry(reader.GetSpacing()[:kept], path=path)
    direction = np.array(reader.GetDirection()).reshape(len(sizes), -1)[:kept, :kept]
    if not abs(np.linalg.det(direction)) > 1e-3:
        raise InputError("the axes of the image do not span space", path=path, advice=_SAVE_AGAIN)
    return {
        "spacing": reader.GetSpacing()[:kept],
        "origin": reader.GetOrigin()[:kept],
        "direction": tuple(tuple(row) for row in direction.tolist()),
    }


@contextmanager
def _name_for_itk(path: Path) -> Iterator[str]:
    """Give a file a name in UTF-8: SimpleITK ends the process over any other."""
    try:
        path.as_posix().encode()
    except UnicodeEncodeError:
        with TemporaryDirectory(prefix="podium-") as folder:
            link = Path(folder) / f"image{path.suffix.lower()}"
            link.symlink_to(path.absolute())
            yield str(link)
    else:
        yield str(path)


def _simpleitk() -> Any:
    """Return SimpleITK, which has no type hints, told to keep its warnings to itself."""
    import SimpleITK

    SimpleITK.ProcessObject.SetGlobalWarningDisplay(False)  # type: ignore[no-untyped-call]  # noqa: FBT003
    return SimpleITK


def _reason(error: RuntimeError) -> str:
    """Return the words of an ITK exception without its places in the source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (
        " ".join(line for line in lines if not line.startswith(("/", "sitk::", "ITK ERROR: ", "Exception thrown")))[
            :200
        ]
        or " ".join(lines)[-200:]
    )
