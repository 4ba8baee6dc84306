"""PNG, as masks are saved in two dimensions: one number a pixel, grey or from a palette."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from podium._jit import kernel
from podium.io.inputs import open_input
from podium.model import InputError, LabelMap

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _PALETTE = 0, 3
_COLOURS = {2: "colours", 4: "grey with transparency", 6: "colours with transparency"}
_SAVE_AGAIN = "Save it again"
_SHORT = 2**16
MAX_PIXELS = 2**27
"""More pixels are refused: one takes five to ten bytes of memory for a moment, and a small file may promise many."""
_ONE_NUMBER = "Save one number a pixel: an array of two axes, in grey"


@dataclass(frozen=True)
class _PixelGrid:
    width: int
    height: int
    depth: int
    """Bits of a pixel."""

    @property
    def row_bytes(self) -> int:
        return (self.width * self.depth + 7) // 8

    @property
    def size(self) -> int:
        """Bytes of all rows, each with its filter before it."""
        return self.height * (1 + self.row_bytes)


def read_png(path: Path, *, dimensions: int | None, max_voxels: int) -> LabelMap:
    """Read a .png label map: rows and columns; it says nothing of sizes in mm, so that a pixel is 1 mm."""
    with open_input(path) as file:
        if file.read(len(_SIGNATURE)) != _SIGNATURE:
            raise InputError("this is not PNG, although its name says so", path=path, advice=_SAVE_AGAIN)
        header = _header(_chunk(file, path), path)
        if dimensions not in (None, 2):
            raise InputError(f"a PNG has two axes, and a label map of {dimensions} is expected", path=path)
        if header.width * header.height > (most := min(max_voxels, MAX_PIXELS)):
            pixels = f"{header.width:,} × {header.height:,} pixels"
            raise InputError(f"the header promises {pixels}, more than the limit of {most:,}", path=path)
        data = _unpacked(file, header, path)
    rows = np.frombuffer(data, np.uint8).reshape(header.height, -1)
    if not _unfilter(rows, max(1, header.depth // 8)):
        raise InputError("the PNG is damaged: a row has an unknown filter", path=path, advice=_SAVE_AGAIN)
    return LabelMap.from_array(_pixels(rows[:, 1:], header))


def _header(chunk: tuple[bytes, bytes], path: Path) -> _PixelGrid:
    kind, content = chunk
    if kind != b"IHDR" or len(content) != 13:
        raise InputError("the PNG is damaged: it has no header", path=path, advice=_SAVE_AGAIN)
    width, height, depth, colour, packing, filtering, interlaced = struct.unpack(">IIBBBBB", content)
    if colour in _COLOURS:
        raise InputError(f"this PNG has {_COLOURS[colour]}, and not labels", path=path, advice=_ONE_NUMBER)
    usual = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8)}.get(colour, ())
    if not (width and height and depth in usual and packing == filtering == 0 and interlaced in (0, 1)):
        raise InputError("the PNG is damaged: its header is none", path=path, advice=_SAVE_AGAIN)
    if interlaced:
        raise InputError("this PNG is interlaced, which is not read", path=path, advice="Save it without interlacing")
    return _PixelGrid(width, height, depth)


def _chunk(file: BinaryIO, path: Path, most: int = _SHORT) -> tuple[bytes, bytes]:
    """Read the next piece of a file: its kind and its content, unless it is long and none of the pixels."""
    start = file.read(8)
    if len(start) < 8:
        raise InputError("the PNG ends too early", path=path, advice="Copy or save it again")
    length, kind = struct.unpack(">I4s", start)
    if length > most:
        if kind == b"IDAT":
            raise InputError("the PNG holds more than its header promises", path=path, advice=_SAVE_AGAIN)
        file.seek(length + 4, 1)
        return kind, b""
    content = file.read(length)
    check = file.read(4)
    if len(content) < length or len(check) < 4:
        raise InputError("the PNG ends too early", path=path, advice="Copy or save it again")
    if zlib.crc32(content, zlib.crc32(kind)) != struct.unpack(">I", check)[0]:
        raise InputError("the PNG is damaged: a checksum is wrong", path=path, advice="Copy or save it again")
    return kind, content


def _unpacked(file: BinaryIO, header: _PixelGrid, path: Path) -> bytearray:
    """Return the rows, and never more than the header promises."""
    unpacker, data = zlib.decompressobj(), bytearray()
    while True:
        kind, content = _chunk(file, path, 2 * header.size + _SHORT)
        if kind == b"IEND":
            break
        if kind == b"IDAT":
            try:
                data += unpacker.decompress(content, max(header.size - len(data), 0) + 1)
            except zlib.error:
                raise InputError("the PNG is damaged", path=path, advice="Copy or save it again") from None
            if len(data) > header.size:
                break
    if len(data) != header.size:
        held = f"more than {header.size:,}" if len(data) > header.size else f"{len(data):,}"
        problem = f"the header promises {header.size:,} bytes of pixels, the file holds {held}"
        raise InputError(problem, path=path, advice=_SAVE_AGAIN)
    return data


@kernel
def _unfilter(rows, step):
    """Undo the filter of every row, which stands before it, in place; return whether all are known."""
    height, width = rows.shape
    for row in range(height):
        filtered = rows[row, 0]
        if filtered > 4:
            return False
        for at in range(1, width):
            left = int(rows[row, at - step]) if at > step else 0
            above = int(rows[row - 1, at]) if row else 0
            corner = int(rows[row - 1, at - step]) if row and at > step else 0
            guess = 0
            if filtered == 1:
                guess = left
            elif filtered == 2:
                guess = above
            elif filtered == 3:
                guess = (left + above) // 2
            elif filtered == 4:
                to_left, to_above = abs(above - corner), abs(left - corner)
                to_corner = abs(left + above - 2 * corner)
                guess = corner
                if to_left <= to_above and to_left <= to_corner:
                    guess = left
                elif to_above <= to_corner:
                    guess = above
            rows[row, at] = (int(rows[row, at]) + guess) & 255
    return True


def _pixels(rows: npt.NDArray[np.uint8], header: _PixelGrid) -> npt.NDArray[Any]:
    """Return one number for each pixel."""
    if header.depth == 16:
        return np.ascontiguousarray(rows).view(">u2").astype(np.uint16)
    if header.depth == 8:
        return rows
    bits = np.unpackbits(rows, axis=1)[:, : header.width * header.depth]
    places = bits.reshape(header.height, header.width, header.depth)
    return places @ (1 << np.arange(header.depth)[::-1]).astype(np.uint8)


def write_png(path: Path, label_map: LabelMap) -> None:
    """Write a label map of two axes in grey, of 8 bits or 16."""
    array = np.ascontiguousarray(label_map.array)
    if array.ndim != 2 or array.size == 0 or array.max() > 65535:
        raise InputError("a PNG holds two axes, and labels up to 65535", path=path, advice="Write .nii.gz")
    depth = 8 if array.max() < 256 else 16
    pixels = array.astype(">u2" if depth == 16 else np.uint8).view(np.uint8).reshape(len(array), -1)
    rows = np.hstack([np.zeros((len(array), 1), np.uint8), pixels])
    header = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], depth, _GREY, 0, 0, 0)
    pieces = {b"IHDR": header, b"IDAT": zlib.compress(rows.tobytes()), b"IEND": b""}
    made = (
        struct.pack(">I", len(own)) + kind + own + struct.pack(">I", zlib.crc32(own, zlib.crc32(kind)))
        for kind, own in pieces.items()
    )
    path.write_bytes(_SIGNATURE + b"".join(made))
