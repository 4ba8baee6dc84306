# ruff: noqa: E501 (a table, one row a file)
"""Damaged and hostile HDF5, NumPy and MATLAB files: one clear reason each, nothing executed, little memory."""

import io
import os
import pickle
import struct
import subprocess
import sys
import textwrap
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from podium.io import _hdf5, _hdf5_facts, _sandbox
from podium.io.arrays import dataset, open_hdf5, read_npy, read_npz
from podium.io.tables import read_mat
from podium.model import InputError

pytestmark = pytest.mark.slow

NUMBERS = np.arange(64.0).reshape(8, 8)
BYTES = NUMBERS.tobytes()


def read(path, name="x"):
    """Read one array, whatever the file."""
    match path.suffix:
        case ".h5":
            with open_hdf5(path) as file:
                return np.asarray(dataset(file, name, path=path)[()])
        case ".npy":
            return np.array(read_npy(path))
        case ".npz":
            return read_npz(path, name)
    return read_mat(path, [name])[name]


def hdf5(make, **options):
    def write(path):
        with h5py.File(path, "w", **options) as file:
            make(file)

    return write


def chunk(content, *, mask=0, size=1 << 20, **options):
    """Return a file whose only chunk holds other bytes than it should."""

    def make(file):
        options.setdefault("compression", "gzip")
        stored = file.create_dataset("x", (size,), "u1", chunks=(size,), **options)
        stored.id.write_direct_chunk((0,), content, filter_mask=mask)

    return hdf5(make)


def virtual(file):
    layout = h5py.VirtualLayout((8, 8), "f8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (8, 8))
    file.create_virtual_dataset("x", layout)


def endless_virtual(file):
    """Map all there is of another file; asking for its size is enough to have that opened."""
    fifo = Path(file.filename).parent / "fifo"
    os.mkfifo(fifo)
    layout = h5py.VirtualLayout((4, 8), "f8", maxshape=(None, 8))
    source = h5py.VirtualSource(str(fifo), "x", (4, 8), maxshape=(None, 8))
    layout[0 : h5py.h5s.UNLIMITED, :] = source[0 : h5py.h5s.UNLIMITED, :]
    file.create_virtual_dataset("x", layout)


def external(file):
    file.create_dataset("x", (8,), "u1", external=[("/etc/passwd", 0, 8)])


def linked(link):
    return hdf5(lambda file: file.__setitem__("x", link))


def unknown_filter(path):
    hdf5(lambda file: file.create_dataset("x", data=NUMBERS, chunks=(8, 8), compression="lzf"))(path)
    content = path.read_bytes()
    known, unknown = struct.pack("<HH", 32000, 8), struct.pack("<HH", 32015, 8)
    assert known in content
    path.write_bytes(content.replace(known, unknown))


def odd_float(file):
    """Make a number of 24 bits in 32, with its own idea of where sign and exponent are."""
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(23, 15, 8, 0, 15)
    kind.set_precision(24)
    space = h5py.h5s.create_simple((4,))
    h5py.h5d.create(file.id, b"x", kind, space)


def changed(make, old, new):
    def write(path):
        make(path)
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new))

    return write


def damaged_checksum(path):
    hdf5(lambda file: file.create_dataset("x", data=NUMBERS, chunks=(8, 8), fletcher32=True))(path)
    with h5py.File(path) as file:
        place = file["x"].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[place + 9] ^= 4
    path.write_bytes(content)


def longer_chunk(path):
    """Have the index of chunks say that one is longer than it is; HDF5 writes past the end of its memory."""
    hdf5(lambda file: file.create_dataset("x", data=NUMBERS, chunks=(1, 1)))(path)
    content = bytearray(path.read_bytes())
    node = content.index(b"TREE\x01\x00")
    assert struct.unpack_from("<I", content, node + 24) == (8,)
    struct.pack_into("<I", content, node + 24, 512)
    path.write_bytes(content)


def chunk_elsewhere(path):
    hdf5(lambda file: file.create_dataset("x", data=NUMBERS, chunks=(8, 8)))(path)
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        place = file["x"].id.get_chunk_info(0).byte_offset
    where = content.index(struct.pack("<Q", place), content.index(b"TREE\x01\x00"))
    struct.pack_into("<Q", content, where, len(content) - 8)
    path.write_bytes(content)


def block_elsewhere(path):
    simple(data=NUMBERS)(path)
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        place = file["x"].id.get_offset()
    struct.pack_into("<Q", content, content.index(struct.pack("<QQ", place, 512)), len(content) - 8)
    path.write_bytes(content)


class Evil:
    """What unpickles to the creation of a file."""

    def __reduce__(self):
        return os.system, ("touch executed",)


def npy(description="'<f8'", order="False", shape="(8, 8)", *, version=1, data=BYTES, more=""):
    header = f"{{'descr': {description}, 'fortran_order': {order}, 'shape': {shape}, {more}}}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def npz(content=None, *, name="x.npy", method=zipfile.ZIP_DEFLATED, count=1):
    content = npy() if content is None else content
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as packed:
        for k in range(count):
            packed.writestr(name if k == 0 else f"{k}", content if k == 0 else "")
    return stream.getvalue()


def encrypted():
    content = bytearray(npz())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def part(kind, content):
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def mat(kind, *, tail=b"", name=b"x"):
    """Return a MATLAB file with one variable of a class."""
    inside = part(6, struct.pack("<II", kind, 0)) + part(5, struct.pack("<ii", 1, 1)) + part(1, name) + tail
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + part(14, inside)


def sparse_mat(path):
    """Write a packed variable of two gigabytes, of which nothing but the beginning is on the disk."""
    packed = zlib.compress(mat(6)[128:])
    path.write_bytes(mat(6)[:128] + struct.pack("<II", 15, 2**31) + packed)
    os.truncate(path, 2**31 + 136)


def mat73(make):
    def write(path):
        hdf5(make, userblock_size=512)(path)
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")

    return write


def with_class(text):
    def make(file):
        file["x"] = NUMBERS
        file["x"].attrs["MATLAB_class"] = text

    return mat73(make)


def simple(**options):
    return hdf5(lambda file: file.create_dataset("x", **options))


# name of the kind: (file name, content or what writes it, what the line says)
HOSTILE = {
    "external link": ("a.h5", linked(h5py.ExternalLink("/etc/passwd", "x")), "'x' is a link"),
    "soft link": ("a.h5", linked(h5py.SoftLink("/y")), "'x' is a link"),
    "virtual dataset": ("a.h5", hdf5(virtual), "'x' is not data held by this file"),
    "virtual dataset without end": ("a.h5", hdf5(endless_virtual, libver="latest"), "'x' is not data held by this file"),
    "external storage": ("a.h5", hdf5(external), "'x' is not data held by this file"),
    "a group": ("a.h5", hdf5(lambda file: file.create_group("x")), "'x' is not data held by this file"),
    "a type": ("a.h5", linked(np.dtype("f8")), "'x' is not data held by this file"),
    "no such name": ("a.h5", hdf5(lambda file: file.create_group("y\x1b[2J")), "there is no dataset 'x', only y\\x1b[2J"),
    "huge shape": ("a.h5", simple(shape=(2**40, 2**20), dtype="f8", chunks=(1024, 16)), "'x' is too large"),
    "large shape": ("a.h5", simple(shape=(2**13, 2**13), dtype="f8", chunks=(64, 64)), "'x' promises 536,870,912 bytes, the file holds"),
    "huge chunks": ("a.h5", simple(shape=(2, 2), dtype="f8", maxshape=(None, None), chunks=(2**14, 2**13)), "unpack to more than 536,870,912 bytes"),
    "objects": ("a.h5", simple(shape=(3,), dtype=h5py.vlen_dtype(np.float64)), "'x' holds object, not numbers"),
    "strings": ("a.h5", simple(data="hello"), "'x' holds object, not numbers"),
    "references": ("a.h5", simple(shape=(3,), dtype=h5py.ref_dtype), "'x' holds object, not numbers"),
    "records": ("a.h5", simple(shape=(3,), dtype=[("a", "f8")]), "not numbers"),
    "complex numbers": ("a.h5", simple(data=NUMBERS + 1j), "'x' holds complex128, not numbers"),
    "numbers of their own": ("a.h5", hdf5(odd_float), "'x' holds numbers in an unusual form"),
    "nothing": ("a.h5", hdf5(lambda file: file.__setitem__("x", h5py.Empty("f8"))), "'x' is empty"),
    "a filter that is not built in": ("a.h5", unknown_filter, "'x' is packed with the filter lzf, which is not read"),
    "a filter of HDF5 that few know": ("a.h5", simple(data=NUMBERS.astype("i4"), chunks=(8, 8), scaleoffset=0), "filter scaleoffset, which is not read"),
    "a chunk of too little": ("a.h5", chunk(zlib.compress(b"abc")), "'x' cannot be read (a chunk unpacks to 3 bytes, 1,048,576 are expected)"),
    "a chunk of too little, not packed": ("a.h5", chunk(b"abc", mask=1), "'x' cannot be read (a chunk unpacks to 3 bytes"),
    "a chunk that is a bomb": ("a.h5", chunk(zlib.compress(bytes(1 << 26)), size=1024), "'x' cannot be read (a chunk unpacks to more bytes, 1,024 are"),
    "a chunk that is cut": ("a.h5", chunk(zlib.compress(NUMBERS.tobytes())[:40]), "the gzip data of a chunk ends too early"),
    "a chunk of noise": ("a.h5", chunk(b"\xff" * 40), "the gzip data of a chunk is damaged"),
    "a chunk of noise in lzf": ("a.h5", chunk(b"\xff" * 40, compression="lzf"), "the lzf data of a chunk is damaged"),
    "a chunk of lzf that is cut": ("a.h5", chunk(b"\x05abc", compression="lzf"), "the lzf data of a chunk is damaged"),
    "a chunk that is empty": ("a.h5", chunk(b"\0", mask=2, shuffle=True), "shuffled in a way that does not fit"),
    "a wrong checksum": ("a.h5", damaged_checksum, "the checksum of a chunk is wrong"),
    "a chunk that says it is longer": ("a.h5", longer_chunk, "'x' cannot be read (a chunk unpacks to more bytes, 8 are expected)"),
    "a chunk past the end": ("a.h5", chunk_elsewhere, "'x' cannot be read (a chunk lies outside the file)"),
    "numbers past the end": ("a.h5", block_elsewhere, "'x' cannot be read ("),
    "text for HDF5": ("a.h5", b"not HDF5 " * 100, "not a readable HDF5 file"),
    "pickle": ("a.npy", npy("'|O'", shape="()", data=pickle.dumps(Evil())), "'a.npy' holds object, not numbers"),
    "pickle in an archive": ("a.npz", npz(npy("'|O'", shape="()", data=pickle.dumps(Evil()))), "'x' holds object, not numbers"),
    "a pickle alone": ("a.npy", pickle.dumps(Evil()), "a.npy: it does not begin as one"),
    "code for a type": ("a.npy", npy("__import__('os').system('touch executed')"), "not numbers"),
    "code behind the type": ("a.npy", npy(more="'x': __import__('os').system('touch executed')", shape="(9, 9)"), "promises 648 bytes"),
    "records in NumPy": ("a.npy", npy("[('a', '<f8')]"), "holds [('a', '<f8')], 'fortran_order'"),
    "text in NumPy": ("a.npy", npy("'<U4'"), "holds <U4, not numbers"),
    "dates in NumPy": ("a.npy", npy("'<M8[s]'"), "not numbers"),
    "negative shape": ("a.npy", npy(shape="(-8, 8)"), "its header gives no type and shape"),
    "shape of words": ("a.npy", npy(shape="(eight,)"), "its header gives no type and shape"),
    "digits without end": ("a.npy", npy(shape="(" + "1" * 5000), "its header gives no type and shape"),
    "two shapes": ("a.npy", npy(more="'shape': (1,)"), "its header gives no type and shape"),
    "nested shape": ("a.npy", npy(shape="(" * 3000), "its header gives no type and shape"),
    "huge shape in NumPy": ("a.npy", npy(shape="(9999999999999, 9999999999999)"), "its header promises"),
    "many axes": ("a.npy", npy(shape=f"({'1, ' * 40})"), "it has 40 axes"),
    "long header": ("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 99, "its header is cut short"),
    "later version": ("a.npy", npy(version=9), "it does not begin as one"),
    "cut short": ("a.npy", npy()[:-8], "its header promises 512 bytes, it holds 504"),
    "cut short in an archive": ("a.npz", npz(npy()[:-8]), "promises 512 bytes and holds 504"),
    "huge promise in an archive": ("a.npz", npz(npy(shape="(99999, 99999)")), "more than the limit of 536,870,912"),
    "encrypted archive": ("a.npz", encrypted(), "'x.npy' is encrypted"),
    "archive packed with bzip2": ("a.npz", npz(method=zipfile.ZIP_BZIP2), "packed with method 12, which is not read"),
    "archive packed with LZMA": ("a.npz", npz(method=zipfile.ZIP_LZMA), "packed with method 14, which is not read"),
    "archive of many": ("a.npz", npz(count=10_001), "lists 10,001 entries"),
    "archive cut short": ("a.npz", npz()[:-30], "not a readable .npz file"),
    "MATLAB object": ("a.mat", mat(3, tail=part(1, b"Evil")), "'x' is of class object"),
    "MATLAB opaque": ("a.mat", mat(17), "there is no variable called x, only something of class opaque"),
    "MATLAB function handle": ("a.mat", mat(16), "there is no variable called x, only something of class function"),
    "MATLAB of many variables": ("a.mat", mat(6, name=b"y") + mat(6, name=b"y")[128:] * 10_000, "there are more than 10,000 variables"),
    "MATLAB of a sparse file": ("a.mat", sparse_mat, "a variable unpacks to more than 536,870,912 bytes"),
    "MATLAB class that is none": ("a.mat", mat(99), "a variable of class 99"),
    "MATLAB name that is none": ("a.mat", mat(6, name=b"\x1b[2J\n"), "there is no variable called x, only nothing"),
    "MATLAB 7.3 of another class": ("a.mat", with_class(np.bytes_("function_handle")), "'x' is of class function_handle"),
    "MATLAB 7.3 of a class without end": ("a.mat", with_class("double"), "'x' is of class ?"),
    "MATLAB 7.3 of many classes": ("a.mat", with_class(np.zeros(4096, "S1")), "'x' is of class ?"),
    "MATLAB 7.3 linked": ("a.mat", mat73(lambda file: file.__setitem__("x", h5py.ExternalLink("/etc/passwd", "x"))), "'x' is a link"),
    "MATLAB 7.3 virtual": ("a.mat", mat73(virtual), "'x' is not data held by this file"),
    "MATLAB 7.3 of objects": ("a.mat", mat73(lambda file: file.create_dataset("x", (3,), h5py.ref_dtype)), "'x' holds object, not numbers"),
}  # fmt: skip


def written(kind, folder):
    name, content, message = HOSTILE[kind]
    path = folder / name
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return path, message


@pytest.mark.parametrize("kind", HOSTILE)
def test_one_clear_reason(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, message = written(kind, tmp_path)
    with pytest.raises(InputError) as caught:
        read(path)
    line = str(caught.value)
    assert message in line
    assert line.startswith(f"{path}: ")
    assert line.isprintable()
    assert len(line) < 400
    assert not (tmp_path / "executed").exists()


CHILD = """
    import resource, sys
    from pathlib import Path
    import test_hostile_arrays as tests
    from podium.model import InputError
    good = Path(sys.argv[1]) / "good.h5"
    tests.simple(data=tests.NUMBERS, compression="lzf")(good)
    tests.read(good)  # loads and compiles what takes memory of its own
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 2**26
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for path in sys.argv[2:]:
        try:
            tests.read(Path(path))
        except InputError:
            continue
        raise AssertionError(path)
"""


@pytest.mark.slow
def test_memory(tmp_path):
    """All of them in one process that may take no more than 64 MB beyond its libraries."""
    paths = []
    for number, kind in enumerate(HOSTILE):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths.append(str(written(kind, folder)[0]))
    places = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path), *paths]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": places}
    )
    assert result.returncode == 0, result.stderr


LAYOUTS = {
    "contiguous": {},
    "chunked": {"chunks": (3, 5)},
    "one chunk": {"chunks": (8, 8)},
    "growing": {"chunks": (3, 3), "maxshape": (None, None)},
    "gzip": {"chunks": (3, 5), "compression": "gzip"},
    "gzip and shuffle": {"chunks": (3, 5), "compression": "gzip", "shuffle": True},
    "all of it": {"chunks": (5, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"chunks": (8, 4), "compression": "lzf"},
    "lzf and shuffle": {"chunks": (8, 4), "compression": "lzf", "shuffle": True, "fletcher32": True},
    "checksum": {"chunks": (7, 7), "fletcher32": True},
}
TYPES = ["<f8", "<f4", ">f4", "<f2", "longdouble", "u1", "<i2", ">i8", "bool"]


@pytest.mark.parametrize("library", ["earliest", "latest"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numbers_as_hdf5_reads_them(tmp_path, layout, kind, library):
    """What is unpacked here is what HDF5 itself unpacks, of every layout, whole and in pieces."""
    generator = np.random.default_rng(0)
    numbers = (generator.integers(0, 3, (8, 8)) * generator.integers(0, 99, (8, 8))).astype(kind)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver=library, userblock_size=512) as file:
        file.create_dataset("x", data=numbers, **LAYOUTS[layout])
    with h5py.File(path) as theirs, open_hdf5(path) as file:
        ours, expected = dataset(file, "x", path=path), theirs["x"]
        assert ours.dtype == expected.dtype
        assert (ours.shape, ours.size, len(ours), ours.ndim) == ((8, 8), 64, 8, 2)
        for index in ((), 3, np.s_[2:7], np.s_[:, 5], np.s_[1:8, 2:5], np.s_[4:4], (7, 7)):
            np.testing.assert_array_equal(ours[index], expected[index])
        for kind_in_memory in ("f4", "f8"):
            one, two = np.zeros((2, 9, 6), kind_in_memory)
            ours.read_direct(one, np.s_[1:8, 2:8], np.s_[2:9])
            if kind != "bool":
                expected.read_direct(two, np.s_[1:8, 2:8], np.s_[2:9])
                np.testing.assert_array_equal(one, two)


@pytest.mark.slow
def test_what_was_never_written_is_the_fill_value(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (10, 10), "f4", chunks=(3, 3), fillvalue=7)[4, 4] = 1
        file.create_dataset("y", (3,), "i2", fillvalue=-1)
        file.create_dataset("z", (2**14,), "u1", chunks=(1,), fillvalue=2)[2**13] = 9
    with h5py.File(path) as expected:
        for name in "xyz":
            np.testing.assert_array_equal(read(path, name), expected[name][()])


def test_compact_and_single_numbers(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_layout(h5py.h5d.COMPACT)
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I32BE, h5py.h5s.create_simple((4,)), properties)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(4, dtype="i4"))
        file["y"] = 2.5
        file.create_dataset("z", (0, 3), "f8", chunks=(1, 3), maxshape=(None, 3))
    assert read(path).tolist() == [0, 1, 2, 3]
    assert read(path, "y") == 2.5
    assert read(path, "z").shape == (0, 3)


def test_a_truth_that_is_neither_zero_nor_one(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        stored = file.create_dataset("x", (4,), "bool", chunks=(4,))
        stored.id.write_direct_chunk((0,), b"\0\1\2\xff")
    assert read(path).tolist() == [False, True, True, True]
    assert np.count_nonzero(read(path)) == 3


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1000, 131_072 * 40 + 1])
def test_checksums_against_a_loop(size):
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8).tobytes()
    first = second = 0
    words = np.frombuffer(data + b"\0" * (size % 2), ">u2").tolist()
    for word in words[: 1 << 18]:
        first = (first + word) % 65535
        second = (second + first) % 65535
    assert _hdf5.fletcher32(data[: 1 << 19]) == [first, second]
    if size > 1 << 21:  # more than are summed together
        first = second = 0
        for word in words:
            first += word
            second += first
        assert _hdf5.fletcher32(data) == [first % 65535, second % 65535]


def test_an_index_out_of_reach(tmp_path):
    simple(data=NUMBERS)(tmp_path / "a.h5")
    with open_hdf5(tmp_path / "a.h5") as file:
        stored = dataset(file, "x", path=tmp_path)
        for index in (8, (0, 0, 0), np.s_[::2], np.s_[::-1]):
            with pytest.raises(IndexError):
                stored[index]


def test_numpy_files_as_numpy_reads_them(tmp_path):
    for number, array in enumerate(
        (
            NUMBERS,
            np.asfortranarray(NUMBERS),
            NUMBERS > 9,
            np.array(3, ">i2"),
            np.zeros((0, 4)),
            np.arange(5, dtype="f2"),
        )
    ):
        path = tmp_path / f"{number}.npy"
        for version in ((1, 0), (2, 0), (3, 0)):
            with path.open("wb") as file:
                np.lib.format.write_array(file, array, version=version)
            found = read_npy(path)
            assert found.dtype == array.dtype
            assert found.flags.f_contiguous == array.flags.f_contiguous
            np.testing.assert_array_equal(found, array)
            packed = tmp_path / "a.npz"
            np.savez_compressed(packed, x=array)
            np.testing.assert_array_equal(read_npz(packed, "x"), array)
            assert read_npz(packed, "y") is None


def test_a_header_of_python_2(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy(shape="(8L, 8L)"))
    np.testing.assert_array_equal(read(tmp_path / "a.npy"), NUMBERS)


def test_a_header_of_any_order_is_read_and_nothing_in_it_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(npy(more="'x': __import__('os').system('touch executed')"))
    np.testing.assert_array_equal(read(tmp_path / "a.npy"), NUMBERS)
    assert not (tmp_path / "executed").exists()


def test_what_is_not_a_plain_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "a.npy")  # opening it would wait for ever
    with pytest.raises(InputError, match="not a plain file"):
        read_npy(tmp_path / "a.npy")


MATRIX = """
    import resource, sys
    from pathlib import Path
    from podium.io import _matlab
    from podium.model import InputError
    _matlab.MAX_VARIABLE_BYTES = 2**26
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 3 * 2**26 + 2**24
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for path in sys.argv[1:-1]:
        assert _matlab.read_mat(Path(path), ["x"])["x"].size == 2**23 - 99
    try:
        _matlab.read_mat(Path(sys.argv[-1]), ["x"])
    except InputError as error:
        assert "unpacks to more than" in str(error)
    else:
        raise AssertionError("bytes that become floats were read")
"""


@pytest.mark.slow
def test_memory_of_the_largest_matrix(tmp_path):
    """Three times the limit; a byte that becomes a float counts as one."""
    numbers = np.random.default_rng(0).integers(0, 9, (1, 2**23 - 99)).astype(np.float64)
    paths = [tmp_path / name for name in ("plain.mat", "packed.mat", "bytes.mat")]
    savemat(paths[0], {"x": numbers})
    savemat(paths[1], {"x": numbers}, do_compression=True)
    savemat(paths[2], {"x": np.zeros((1, 2**24), np.uint8)})
    command = [sys.executable, "-c", textwrap.dedent(MATRIX), *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def helper(tmp_path, monkeypatch, answer):
    """Have HDF5 files looked into by a process that answers in its own way."""
    script = tmp_path / "helper.py"
    script.write_text(
        "import os, signal, sys, importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('facts', {_hdf5_facts.__file__!r})\n"
        "facts = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(facts)\n"
        f"facts.answer = lambda request: {answer}\n"
        "facts.main()\n"
    )
    _sandbox._helper.close()
    monkeypatch.setattr(_hdf5_facts, "__file__", str(script))


@pytest.mark.parametrize(
    "answer",
    [
        "os.kill(os.getpid(), signal.SIGSEGV)",
        "os.abort()",
        "sys.exit(0)",
        "[None for _ in iter(int, 1)]",  # without end
        "({'bytes': -1}, b'') and (os.write(1, b'nonsense\\n') and os._exit(0))",
    ],
)
def test_a_crash_or_a_loop_of_hdf5_costs_one_file(tmp_path, monkeypatch, answer):
    path = tmp_path / "a.h5"
    simple(data=NUMBERS)(path)
    with monkeypatch.context() as patch:
        patch.setattr(_sandbox, "_SECONDS", 0.3)  # of computing, for what never ends; a good file has all its time
        helper(tmp_path, patch, answer)
        for _ in range(2):
            with pytest.raises(InputError, match=r"this HDF5 file is damaged \(HDF5 crashes on it, or is lost in it\)"):
                read(path)
    np.testing.assert_array_equal(read(path), NUMBERS)


def test_a_helper_that_does_not_start_is_nobodys_fault(tmp_path, monkeypatch):
    simple(data=NUMBERS)(tmp_path / "a.h5")
    with monkeypatch.context() as patch:
        _sandbox._helper.close()
        patch.setattr(_hdf5_facts, "__file__", str(tmp_path / "nothing.py"))
        with pytest.raises(RuntimeError, match="does not start"):
            read(tmp_path / "a.h5")
    np.testing.assert_array_equal(read(tmp_path / "a.h5"), NUMBERS)


def test_many_threads_ask_one_helper(tmp_path):
    paths = []
    for number in range(20):
        paths.append(tmp_path / f"{number}.h5")
        simple(data=NUMBERS + number, chunks=(3, 3), compression="gzip")(paths[-1])
    with ThreadPoolExecutor(4) as pool:
        for number, found in enumerate(pool.map(read, paths * 3)):
            np.testing.assert_array_equal(found, NUMBERS + number % 20)


def test_a_fork_asks_a_helper_of_its_own(tmp_path):
    simple(data=NUMBERS)(tmp_path / "a.h5")
    read(tmp_path / "a.h5")
    code = (
        "import os, sys, threading\nfrom pathlib import Path\nfrom podium.io.arrays import dataset, open_hdf5\n"
        "path = Path(sys.argv[1])\n"
        "def read():\n"
        "    with open_hdf5(path) as file:\n"
        "        return dataset(file, 'x', path=path)[()].sum()\n"
        "assert read() == 2016\n"
        "child = os.fork()\n"
        "assert read() == 2016\n"
        "os._exit(0) if child == 0 else sys.exit(os.waitpid(child, 0)[1])\n"
    )
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.h5")], capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
