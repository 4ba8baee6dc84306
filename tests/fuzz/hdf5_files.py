"""Small valid HDF5 files with every structure there is, and their checksums, which are mended after damage."""

from __future__ import annotations

import io
import struct

import h5py
import label_files
import numpy as np

LABELS = label_files.labels((9, 7, 5))


def hdf5(*, matlab: bool = False, **options: object) -> bytes:
    stream = io.BytesIO()
    numbers = np.arange(48.0).reshape(8, 6)
    with h5py.File(stream, "w", **options) as file:
        file["x"] = numbers
        file["x"].attrs["MATLAB_class"] = np.bytes_("double")
        file.create_dataset("y", data=numbers, chunks=(4, 3), compression="gzip", shuffle=True, fletcher32=True)
        file.create_dataset("long_mask", data=LABELS[:, :, 1] % 3, chunks=(5, 5), compression="lzf")
        file.create_dataset("trans_mask", data=LABELS[:, :, 2] % 3, chunks=(9, 7), maxshape=(None, None))
        file["cls"] = 1
        file.create_dataset("GP", (4, 3, 6), "<f4", chunks=(1, 3, 6), fillvalue=2.0)
        file["GP"][1] = 1
        file["LP"] = np.zeros((4, 3, 6), ">f4")
    content = stream.getvalue()
    return b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + content[128:] if matlab else content


def crowded_hdf5(**options: object) -> bytes:
    """Return a file with the structures that only many names, attributes and chunks bring about."""
    stream = io.BytesIO()
    with h5py.File(stream, "w", **options) as file:
        file.create_dataset("x", data=np.arange(40.0), chunks=(1,), maxshape=(None,))  # an extensible array, or a tree
        file.create_dataset("y", data=np.arange(36).reshape(6, 6), chunks=(1, 1), maxshape=(None, None))
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_layout(h5py.h5d.COMPACT)
        made = h5py.h5d.create(file.id, b"GP", h5py.h5t.STD_I32BE, h5py.h5s.create_simple((2, 3, 2)), properties)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(12, dtype="i4"))
        file.create_dataset("LP", data=np.ones((2, 3, 2)) > 0, chunks=(2, 3, 2), compression="gzip")
        for number in range(30):
            file.create_group(f"group {number}")
            file["x"].attrs[f"attribute {number}"] = number
        file["long_mask"] = h5py.SoftLink("/x")
        file["trans_mask"] = h5py.ExternalLink("input.h5", "/y")
        file["cls"] = "text"
    return stream.getvalue()


def hdf5_seeds() -> list[bytes]:
    return [
        *(hdf5(), hdf5(libver="latest"), hdf5(track_order=True), hdf5(userblock_size=512)),
        *(crowded_hdf5(), crowded_hdf5(libver="latest")),
    ]


def lookup3(data: bytes) -> int:
    """Return the checksum that HDF5 has from Bob Jenkins, so that damage behind one is seen."""
    mask = 0xFFFFFFFF

    def turned(value: int, by: int) -> int:
        return (value << by | value >> (32 - by)) & mask

    a = b = c = 0xDEADBEEF + len(data) & mask
    at, left = 0, len(data)
    while left > 12:
        x, y, z = struct.unpack_from("<III", data, at)
        a, b, c = a + x & mask, b + y & mask, c + z & mask
        for by_c, by_a, by_b in ((4, 6, 8), (16, 19, 4)):
            a = a - c & mask ^ turned(c, by_c)
            c = c + b & mask
            b = b - a & mask ^ turned(a, by_a)
            a = a + c & mask
            c = c - b & mask ^ turned(b, by_b)
            b = b + a & mask
        at, left = at + 12, left - 12
    if not left:
        return c
    x, y, z = struct.unpack("<III", data[at:].ljust(12, b"\0"))
    a, b, c = a + x & mask, b + y & mask, c + z & mask
    for target, source, by in (("c", "b", 14), ("a", "c", 11), ("b", "a", 25), ("c", "b", 16), ("a", "c", 4)):
        a, b, c = _final(a, b, c, target, source, by)
    for target, source, by in (("b", "a", 14), ("c", "b", 24)):
        a, b, c = _final(a, b, c, target, source, by)
    return c


def _final(a: int, b: int, c: int, target: str, source: str, by: int) -> tuple[int, int, int]:
    values = {"a": a, "b": b, "c": c}
    other = values[source]
    rotated = (other << by | other >> (32 - by)) & 0xFFFFFFFF
    values[target] = (values[target] ^ other) - rotated & 0xFFFFFFFF
    return values["a"], values["b"], values["c"]


def checksummed_hdf5(content: bytes) -> bytes:
    """Mend the checksums of the superblock and of object headers."""
    data = bytearray(content)
    start = data.find(b"\x89HDF\r\n\x1a\n")
    if start >= 0 and len(data) > start + 48 and data[start + 8] in (2, 3):
        struct.pack_into("<I", data, start + 44, lookup3(bytes(data[start : start + 44])))
    at = -1
    while (at := data.find(b"OHDR", at + 1)) >= 0 and at + 40 < len(data):
        flags = data[at + 5]
        begin = at + 6 + 16 * bool(flags & 0x20) + 4 * bool(flags & 0x10)
        width = 1 << (flags & 3)
        end = begin + width + int.from_bytes(data[begin : begin + width], "little")
        if end + 4 <= len(data):
            struct.pack_into("<I", data, end, lookup3(bytes(data[at:end])))
    return bytes(data)
