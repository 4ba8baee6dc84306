"""Says where the numbers of HDF5 files lie. Runs as a program of its own, because HDF5 may end the process.

Requests come as lines of JSON, answers go out as a line of JSON and, if it says so, bytes. Nothing of Podium is
imported: this has to start fast, and what happens here must concern nobody else.
"""

from __future__ import annotations

import json
import sys
from array import array
from contextlib import suppress
from typing import Any

MOST_NAMES = 100_000
MOST_CHUNKS = 4_000_000
LONGEST_TEXT = 64
MEMORY_BYTES = 2**31
READY = b"ready\n"
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError, AttributeError)
"""What h5py and HDF5 raise, now here and now there, when the structures of a file are broken."""

Answer = tuple[dict[str, Any], bytes]


def answer(request: dict[str, Any]) -> Answer:
    """Return what a file holds, or all about one dataset: its form, and where its chunks lie or what it holds."""
    import h5py

    path = request["path"]
    try:
        file = h5py.File(path, "r")
    except DAMAGE:
        return {"problem": "closed"}, b""
    try:
        with file:
            if "name" not in request:
                names = []
                for name in file:
                    names.append(str(name))
                    if len(names) == MOST_NAMES:
                        break
                return {"names": names}, b""
            return _facts(file, request["name"], request["texts"], path)
    except DAMAGE as error:
        return {"problem": "damaged", "why": " ".join(str(error).split())[:120]}, b""


def _facts(file: Any, name: str, texts: list[str], path: str) -> Answer:
    import h5py

    link = None
    with suppress(*DAMAGE):
        link = file.get(name, getlink=True)
    if link is None:
        return {"problem": "missing"}, b""
    if not isinstance(link, h5py.HardLink):
        return {"problem": "link"}, b""
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.is_virtual or dataset.external:
        return {"problem": "elsewhere"}, b""
    dtype = dataset.dtype
    if dtype.kind not in "biuf":
        return {"problem": "not numbers", "why": str(dtype)[:80]}, b""
    if not dataset.id.get_type().equal(h5py.h5t.py_create(dtype, logical=True)):
        return {"problem": "unusual"}, b""
    properties = dataset.id.get_create_plist()
    facts: dict[str, Any] = {
        "dtype": dtype.str,
        "shape": dataset.shape,
        "chunks": dataset.chunks,
        "texts": {text: _text(dataset, text) for text in texts},
    }
    if dataset.shape is None:
        return facts | {"layout": "none"}, b""
    facts["fill"] = dataset.fillvalue.astype(dtype.str).tobytes().hex()
    if dataset.chunks is not None:
        count = properties.get_nfilters()
        facts["filters"] = [_filter(*properties.get_filter(number)) for number in range(min(count, 99))]
        table = _chunks(dataset, path)
        if table is None:
            return {"problem": "damaged", "why": f"it has more than {MOST_CHUNKS:,} chunks"}, b""
        return facts | {"layout": "chunked"}, table.tobytes()
    facts["held"] = int(dataset.id.get_storage_size())
    if properties.get_layout() == h5py.h5d.COMPACT:
        if facts["held"] != dataset.nbytes:
            return facts | {"layout": "compact"}, b""
        return facts | {"layout": "compact"}, dataset[()].tobytes()
    written = dataset.id.get_space_status() == h5py.h5d.SPACE_STATUS_ALLOCATED
    return facts | {"layout": "contiguous", "place": dataset.id.get_offset() if written else None}, b""


def _text(dataset: Any, name: str) -> str | None:
    """Return an attribute that is a short text; None if there is none, "?" if it is anything else."""
    if name not in dataset.attrs:
        return None
    attribute = dataset.attrs.get_id(name)
    if attribute.shape != () or attribute.dtype.kind != "S" or attribute.dtype.itemsize > LONGEST_TEXT:
        return "?"
    return bytes(dataset.attrs[name]).decode("latin1")


def _filter(code: int, _flags: int, values: tuple[int, ...], label: bytes | None) -> tuple[int, int, str]:
    return code, values[0] if values else 0, (label or b"").decode("latin1")[:40]


def _chunks(dataset: Any, path: str) -> array[int] | None:
    """Return place, address, size and skipped filters of each chunk that is stored, one after the other."""
    table, rank, seen = array("q"), len(dataset.shape), 0

    def take(info: Any) -> bool | None:
        nonlocal seen
        seen += 1
        if len(info.chunk_offset) == rank and info.byte_offset is not None and info.byte_offset < 2**63:
            table.extend((*info.chunk_offset, info.byte_offset, info.size, info.filter_mask))
        return True if seen > MOST_CHUNKS else None  # anything but None ends the search

    dataset.id.chunk_iter(take)
    if seen > MOST_CHUNKS:
        return None
    if table and dataset.file.userblock_size:  # some versions of HDF5 count from behind it
        place, address = tuple(table[:rank]), table[rank]
        stored = bytes(dataset.id.read_direct_chunk(place)[1])
        with open(path, "rb") as file:  # noqa: PTH123
            file.seek(address)
            if file.read(len(stored)) != stored:
                for row in range(rank, len(table), rank + 3):
                    table[row] += dataset.file.userblock_size
    return table


def main() -> None:
    """Answer until nobody asks any more; be ended by a file that takes more time or memory than it should."""
    import resource
    import signal

    import h5py  # noqa: F401  # before anybody counts the time

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])  # of computing, however busy the machine is
        facts, content = answer(request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(json.dumps(facts | {"bytes": len(content)}).encode() + b"\n" + content)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
