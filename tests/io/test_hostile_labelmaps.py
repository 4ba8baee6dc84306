"""Damaged and hostile label files: each one clear line, exit code 1, and little memory, whatever the file claims."""

import gzip
import json
import os
import resource
import struct
import subprocess
import sys
import zlib

import label_files as files
import nibabel
import numpy as np
import pytest

from podium.io import MAX_VOXELS, read_label_map, write_label_map
from podium.model import InputError

LABELS = files.labels((30, 20, 10))
NIFTI = files.nifti(LABELS)
GZIPPED = gzip.compress(NIFTI)
VOXELS = LABELS.tobytes(order="F")
NIFTI2 = nibabel.Nifti2Image(LABELS, np.eye(4)).to_bytes()
MANY = np.arange(70_000, dtype="i4").reshape(70, 100, 10)


def zeros_gzipped(count):
    """Return the gzip of many zeros without ever holding them: one member for each MiB."""
    return gzip.compress(bytes(1 << 20), 9) * (count >> 20)


def huge(shape, dtype="u1"):
    """Return a header that promises a shape."""
    return files.nifti(
        np.zeros((1, 1, 1), dtype), at_40=struct.pack("<8h", len(shape), *shape, *[1] * (7 - len(shape)))
    )[:352]


def meta(lines="", *, data=VOXELS, size="30 20 10", kind="MET_UCHAR", file="LOCAL", dimensions=3):
    header = f"ObjectType = Image\nNDims = {dimensions}\nDimSize = {size}\nElementType = {kind}\n{lines}ElementDataFile = {file}\n"
    return header.encode() + data


def nrrd(lines="", *, data=VOXELS, size="30 20 10", kind="uint8", encoding="raw"):
    header = f"NRRD0004\ntype: {kind}\ndimension: 3\nsizes: {size}\nencoding: {encoding}\nendian: little\n{lines}\n"
    return header.encode() + data


def with_value(value, dtype):
    array = LABELS.astype(dtype)
    array[5, 5, 5] = value
    return array


# name of the kind: (file name, content, what the line says)
HOSTILE = {
    "empty file": ("a.nii.gz", b"", "not a NIfTI file"),
    "text": ("a.nii", b"This is a segmentation, honestly.\n" * 40, "not a NIfTI file"),
    "wrong magic": ("a.nii.gz", gzip.compress(files.nifti(LABELS, at_344=b"nope")), "not a NIfTI file"),
    "NIfTI-2 cut in its header": ("a.nii", NIFTI2[:400], "not a NIfTI file"),
    "header and image apart": ("a.nii", files.nifti(LABELS, at_344=b"ni1\0"), "save it as one .nii.gz"),
    "gzip cut short": ("a.nii.gz", GZIPPED[: len(GZIPPED) // 2], "the gzip data ends too early"),
    "gzip cut in its trailer": ("a.nii.gz", GZIPPED[:-6], "the gzip data ends too early"),
    "gzip with flipped bits": ("a.nii.gz", GZIPPED[:200] + bytes(b ^ 255 for b in GZIPPED[200:260]) + GZIPPED[260:], "gzip data"),
    "gzip with a wrong checksum": ("a.nii.gz", GZIPPED[:-8] + b"\0\0\0\0" + GZIPPED[-4:], "the gzip data is damaged"),
    "fewer voxels than promised": ("a.nii", NIFTI[:-100], "the header promises 6,352 bytes, the file holds 6,252"),
    "fewer voxels than promised, gzipped": ("a.nii.gz", gzip.compress(NIFTI[:-100]), "the header promises 6,000 bytes of voxels, the file holds 5,900"),
    "header only": ("a.nii", NIFTI[:348], "the header promises"),
    "a promise no gzip can keep": ("a.nii.gz", gzip.compress(huge((800, 800, 800))), "the header promises 512,000,352 bytes unpacked, the file holds"),
    "more voxels than the limit": ("a.nii.gz", gzip.compress(huge((32767, 32767, 32767))), f"more than the limit of {MAX_VOXELS:,}"),
    "a bomb within its promise": ("a.nii.gz", gzip.compress(huge((2000, 2000, 1000), "u1")) + zeros_gzipped(1 << 30), "more than the limit"),
    "a bomb behind the voxels": ("a.nii.gz", gzip.compress(with_nan := files.nifti(with_value(np.nan, "f4"))) + zeros_gzipped(1 << 30), "NaN"),
    "four dimensions": ("a.nii.gz", gzip.compress(files.nifti(np.zeros((4, 4, 4, 3), "u1"))), "this is 4-D (4 × 4 × 4 × 3)"),
    "nine dimensions": ("a.nii", files.nifti(LABELS, at_40=struct.pack("<h", 9)), "9 dimensions"),
    "an axis without voxels": ("a.nii", files.nifti(LABELS, at_42=struct.pack("<h", 0)), "the size 0 × 20 × 10"),
    "a negative axis": ("a.nii", files.nifti(LABELS, at_42=struct.pack("<h", -30)), "the size -30 × 20 × 10"),
    "zero spacing": ("a.nii.gz", gzip.compress(files.nifti(LABELS, spacing=(1, 0, 1))), "spacing is 1 × 0 × 1 mm"),
    "negative spacing": ("a.nii.gz", gzip.compress(files.nifti(LABELS, spacing=(1, 1, -2))), "spacing is 1 × 1 × -2 mm"),
    "NaN spacing": ("a.nii.gz", gzip.compress(files.nifti(LABELS, spacing=(1, 1, np.nan))), "spacing is 1 × 1 × nan mm"),
    "two spacings": ("a.nii", files.nifti(LABELS, at_254=struct.pack("<h", 1), at_280=struct.pack("<12f", 5, 0, 0, 0, 0, 5, 0, 0, 0, 0, 5, 0)), "contradicts itself"),
    "NaN orientation": ("a.nii", files.nifti(LABELS, at_254=struct.pack("<h", 1), at_280=struct.pack("<12f", *[np.nan] * 12)), "contradicts itself"),
    "a quaternion longer than one": ("a.nii", files.nifti(LABELS, at_252=struct.pack("<h", 1), at_256=struct.pack("<3f", 9, 9, 9)), "orientation"),
    "voxels that start in the header": ("a.nii", files.nifti(LABELS, at_108=struct.pack("<f", 4)), "voxels start at byte"),
    "voxels that start nowhere": ("a.nii", files.nifti(LABELS, at_108=struct.pack("<f", 1e30)), "voxels start at byte"),
    "voxels that start at NaN": ("a.nii", files.nifti(LABELS, at_108=struct.pack("<f", np.nan)), "voxels start at byte"),
    "infinite intercept": ("a.nii", files.nifti(LABELS, slope=1.0, intercept=np.inf), "scl_inter is inf"),
    "colours": ("a.nii", files.nifti(LABELS, at_70=struct.pack("<hh", 128, 24)), "are not labels"),
    "complex numbers": ("a.nii", files.nifti(LABELS, at_70=struct.pack("<hh", 32, 64)), "voxels of type complex64 are not labels"),
    "long doubles": ("a.nii", files.nifti(LABELS, at_70=struct.pack("<hh", 1536, 128)), "are not labels"),
    "an unknown type": ("a.nii", files.nifti(LABELS, at_70=struct.pack("<hh", 77, 8)), "voxels of type 77 are not labels"),
    "fractions": ("a.nii.gz", gzip.compress(files.nifti(with_value(0.5, "f4"))), "voxel value 0.5 is not a whole number"),
    "fractions by scaling": ("a.nii.gz", gzip.compress(files.nifti(LABELS, slope=0.3, intercept=0.0)), "is not a whole number"),
    "NaN": ("a.nii.gz", gzip.compress(with_nan), "NaN"),
    "infinity": ("a.nii.gz", gzip.compress(files.nifti(with_value(np.inf, "f8"))), "label inf is larger than"),
    "negative labels": ("a.nii.gz", gzip.compress(files.nifti(with_value(-1, "i2"))), "label -1 is negative"),
    "labels past 32 bits": ("a.nii.gz", gzip.compress(files.nifti(with_value(2**40, "i8"))), "label 1099511627776 is larger"),
    "as many labels as voxels": ("a.nii.gz", gzip.compress(files.nifti(MANY), 1), "more than 65,536 different labels"),
    "voxels that start past the end": ("a.nii", files.nifti(LABELS, at_108=struct.pack("<f", 2**23)), "the header promises 8,394,608 bytes, the file holds 6,352"),
    "voxels that start past the end, gzipped": ("a.nii.gz", gzip.compress(files.nifti(LABELS, at_108=struct.pack("<f", 2**19))), "the header promises 6,000 bytes of voxels, the file holds 0"),
    "NaN position": ("a.nii", files.nifti(LABELS, at_252=struct.pack("<h", 1), at_268=struct.pack("<f", np.nan)), "contradicts itself"),
    "MetaImage without a header": ("a.mha", b"\0" * 4000, "not MetaImage: its header has no NDims"),
    "MetaImage cut short": ("a.mha", meta(data=b"\1" * 100), "promises 6,000 bytes of voxels, the file holds 100"),
    "MetaImage compressed and cut": ("a.mha", meta("CompressedData = True\n", data=zlib.compress(LABELS.tobytes())[:60]), "the zlib data ends too early"),
    "MetaImage compressed and damaged": ("a.mha", meta("CompressedData = True\n", data=b"\x78\x9c" + b"\xff" * 60), "the zlib data is damaged"),
    "MetaImage that reads another file": ("a.mhd", meta(file="/etc/passwd", data=b""), "ElementDataFile points to '/etc/passwd'"),
    "MetaImage that climbs": ("a.mhd", meta(file="../secret.raw", data=b""), "ElementDataFile points to"),
    "MetaImage as a list of files": ("a.mhd", meta(file="LIST\nx.raw", data=b""), "ElementDataFile points to 'LIST'"),
    "MetaImage as a pattern of files": ("a.mhd", meta(file="slice%03d.raw 1 10 1", data=b""), "ElementDataFile points to"),
    "MetaImage with its voxels gone": ("a.mhd", meta(file="gone.raw", data=b""), "'gone.raw', is not beside it"),
    "MetaImage with a huge promise": ("a.mha", meta(size="60000 60000 60000"), "more than the limit"),
    "MetaImage with zero spacing": ("a.mha", meta("ElementSpacing = 1 0 1\n"), "spacing is 1 × 0 × 1 mm"),
    "MetaImage with words for numbers": ("a.mha", meta(size="many many more"), "'many many more' where numbers belong"),
    "MetaImage with channels": ("a.mha", meta("ElementNumberOfChannels = 3\n", data=LABELS.tobytes() * 3), "several channels"),
    "MetaImage of strings": ("a.mha", meta(kind="MET_STRING"), "ElementType MET_STRING"),
    "MetaImage of two minds about its size": ("a.mha", meta(dimensions=2), "gives 2 dimensions but the size 30 20 10"),
    "MetaImage of negative dimension": ("a.mha", meta(dimensions=-1), "gives -1 dimensions"),
    "MetaImage whose voxels are its header": ("a.mhd", meta(file="a.mhd", data=b""), "ElementDataFile points to 'a.mhd'"),
    "MetaImage with a second header": ("a.mha", meta("HeaderSize = 100\n"), "behind a second header"),
    "MetaImage as text": ("a.mha", meta("BinaryData = False\n", data=b"1 " * 6000), "voxels as text"),
    "MetaImage bomb": ("a.mha", meta("CompressedData = True\n", size="1024 1024 512", kind="MET_DOUBLE", data=zlib.compress(bytes(1000))), "the header promises 4,294,967,296 bytes of voxels unpacked"),
    "MetaImage with a singular direction": ("a.mha", meta("TransformMatrix = 0 0 0 0 0 0 0 0 0\n"), "the axes of the image do not span space"),
    "spacing of an atom": ("a.nii", files.nifti(LABELS, spacing=(1e-9, 1, 1)), "spacing is 1e-09 × 1 × 1 mm"),
    "spacing of a country": ("a.nii", files.nifti(LABELS, spacing=(1e8, 1, 1)), "spacing is 1e+08 × 1 × 1 mm"),
    "lengths in no unit": ("a.nii", files.nifti(LABELS, at_123=b"\x07"), "lengths in unit 7"),
    "NRRD that skips": ("a.nrrd", nrrd("byte skip: 10\n"), "skips lines or bytes"),
    "NRRD without a header": ("a.nrrd", b"DICM" * 999, "this is not NRRD"),
    "NRRD cut short": ("a.nrrd", nrrd(data=b"\1" * 100), "promises 6,000 bytes of voxels, the file holds 100"),
    "NRRD that reads another file": ("a.nrrd", nrrd("data file: /etc/passwd\n", data=b""), "data file points to '/etc/passwd'"),
    "NRRD with a huge promise": ("a.nrrd", nrrd(size="60000 60000 60000"), "more than the limit"),
    "NRRD as text": ("a.nrrd", nrrd(encoding="ascii"), "encoding 'ascii' is not read"),
    "NRRD of a type without end": ("a.nrrd", nrrd(kind="u" * 5000), "are not labels"),
    "NRRD that lists files": ("a.nrrd", nrrd("datafile: LIST\n/etc/passwd\n", data=b""), "data file points to 'LIST'"),
    "NRRD that reads another file, in capitals": ("a.nrrd", nrrd("Data File: /etc/passwd\n", data=b""), "data file points to '/etc/passwd'"),
    "NRRD of brackets": ("a.nrrd", nrrd(f"space: LPS\nspace directions: {'(' * 30_000}\n"), "where 3 of (x,y,z) belong"),
    "MetaImage of many axes": ("a.mha", meta(size="1 " * 9_999, dimensions=9_999), "gives 9999 dimensions"),
    "NRRD of blocks": ("a.nrrd", nrrd(kind="block"), "voxels of type 'block' are not labels"),
    "NRRD with negative spacing": ("a.nrrd", nrrd("spacings: 1 -1 1\n"), "spacing is 1 × -1 × 1 mm"),
    "NRRD without sizes": ("a.nrrd", b"NRRD0004\ntype: uint8\nencoding: raw\n\n" + b"\1" * 100, "no field 'dimension'"),
}  # fmt: skip


@pytest.fixture(params=HOSTILE)
def hostile(request, tmp_path):
    name, content, message = HOSTILE[request.param]
    path = tmp_path / name
    path.write_bytes(content)
    return path, message


def test_one_clear_line(hostile):
    path, message = hostile
    with pytest.raises(InputError) as caught:
        read_label_map(path)
    line = str(caught.value)
    assert message in line
    assert line.startswith(f"{path}: ")
    assert "\n" not in line
    assert len(line) < 400


# What the command line does to each file, in a process of its own. All are forked from one that has imported what it
# takes, which is a second's work: so their peak memory counts the modules, and nothing of these tests.
LAUNCHER = """
import json, os, sys
from contextlib import suppress
import nibabel
import podium.metrics
from podium.cli import main
_, *paths = sys.argv
sys.argv = ["podium", "compare", "missing.nii", "missing.nii"]
with suppress(SystemExit):
    main()
for path in paths:
    child = os.fork()
    if child == 0:
        for end, number in (("out", 1), ("err", 2)):
            os.dup2(os.open(f"{os.path.dirname(path)}.{end}", os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["podium", "compare", path, path]
        try:
            main()
        except SystemExit as end:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code)  # at once, without clearing all modules away
    _, status, usage = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss]), flush=True)
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """Return for each hostile file how the process ended, its peak memory in KiB, what it said and what it printed."""
    paths = []
    for name, content, _ in HOSTILE.values():
        paths.append(tmp_path_factory.mktemp("hostile") / name)
        paths[-1].write_bytes(content)
    command = [sys.executable, "-c", LAUNCHER, *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    texts = [tuple(path.parent.with_suffix(end).read_text() for end in (".err", ".out")) for path in paths]
    return dict(zip(HOSTILE, zip(map(json.loads, result.stdout.splitlines()), texts, strict=True), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_exit_code_and_memory(ends, name):
    """The same through the command line, in a process of its own, whose peak memory is measured."""
    (code, peak), (line, output) = ends[name]
    assert code == 1
    assert output == ""
    assert line.startswith("error: ")
    assert HOSTILE[name][2] in line
    assert line.count("\n") == 1
    assert peak < 500 * 1024


@pytest.mark.slow
@pytest.mark.parametrize("length", [498, *(pytest.param(length, marks=pytest.mark.heavy) for length in (300, 400))])
def test_a_long_name_ends_no_process(tmp_path, length):
    """As ITK does, which has room for fewer letters."""
    (tmp_path / "a.mha").write_bytes(meta(f"Name = {'n' * length}\n"))
    command = [sys.executable, "-m", "podium", "compare", str(tmp_path / "a.mha"), str(tmp_path / "a.mha")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_what_follows_the_voxels_is_not_read(tmp_path):
    """A valid file with a gigabyte of zeros behind it reads as if they were not there."""
    path = tmp_path / "a.nii.gz"
    path.write_bytes(GZIPPED + zeros_gzipped(1 << 30))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    np.testing.assert_array_equal(read_label_map(path).array, LABELS)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.parametrize(
    "size", ["", "CompressedDataSize = 0\n", "CompressedDataSize = 30\n", "CompressedDataSize = 999999\n"]
)
@pytest.mark.parametrize("flag", ["True", "T", "1"])
def test_compressed_voxels_are_what_the_stream_holds(tmp_path, size, flag):
    """ITK trusts the size in the header and returns unused memory where it is wrong."""
    path = tmp_path / "a.mha"
    path.write_bytes(meta(f"CompressedData = {flag}\n{size}", data=zlib.compress(VOXELS)))
    np.testing.assert_array_equal(read_label_map(path).array, LABELS)


def test_a_link_beside_a_header_is_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(LABELS.tobytes())
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "a.raw").symlink_to(secret)
    (folder / "a.mhd").write_bytes(meta(file="a.raw", data=b""))
    with pytest.raises(InputError, match=r"points to 'a\.raw'"):
        read_label_map(folder / "a.mhd")


def test_strange_names_stay_on_one_line(tmp_path):
    path = tmp_path / "a\nerror: all is well\x1b[2J.nii.gz"
    path.write_bytes(b"")
    with pytest.raises(InputError) as caught:
        read_label_map(path)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("sign", [0.0, 3.0, np.nan, 1.0, -2.0])
def test_a_sign_that_is_neither_1_nor_minus_1(tmp_path, sign):
    """The third axis turns with the sign of pixdim[0], and 0 counts as positive, as in ITK."""
    changes = {"at_252": struct.pack("<h", 1), "at_76": struct.pack("<f", sign)}
    path = files.write(tmp_path / "a.nii", files.nifti(LABELS, **changes))
    assert read_label_map(path).direction[2][2] == (-1 if sign < 0 else 1)


@pytest.mark.parametrize("name", ["a.mha", "a.mhd", "a.nrrd", "a.nhdr"])
def test_names_that_are_not_utf8(tmp_path, name):
    """ITK would end the process over them; here they are names like others, in a header as well."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    beside = b"voil\xc3\xa0 \xe9.raw"
    (folder / os.fsdecode(beside)).write_bytes(VOXELS)
    content = {
        "a.mha": meta(),
        "a.mhd": meta(file="BESIDE", data=b""),
        "a.nrrd": nrrd(),
        "a.nhdr": nrrd("data file: BESIDE\n", data=b""),
    }[name].replace(b"BESIDE", beside)
    (folder / name).write_bytes(content)
    labels = read_label_map(folder / name)
    np.testing.assert_array_equal(labels.array, LABELS)
    copy = folder / f"{os.fsdecode(beside)}{name}"
    write_label_map(copy, labels)
    np.testing.assert_array_equal(read_label_map(copy).array, LABELS)
    (folder / name).write_bytes(content.replace(b"= 3", b"= 4").replace(b"on: 3", b"on: 4"))
    with pytest.raises(InputError) as caught:
        read_label_map(folder / name)
    assert "caf\\udce9" in str(caught.value)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.nii")
    with pytest.raises(InputError, match="not a plain file"):
        read_label_map(tmp_path / "a.nii")


LARGE_LABELS = """
import resource, sys
from pathlib import Path
from podium.io import read_label_map
read_label_map(sys.argv[1])
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + 6 * 2**24 + 2**26
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
assert sorted(read_label_map(sys.argv[2]).labels) == [0, 300, 70000]
"""


@pytest.mark.slow
def test_memory_of_large_labels(tmp_path):
    """Six bytes a voxel and 64 MB, where the last voxels ask for the widest labels."""
    array = np.zeros((256, 256, 256), "i4")
    array[5, 5, 5], array[-1, -1, -1] = 300, 70_000
    paths = [files.write(tmp_path / f"{k}.nii.gz", files.nifti(each)) for k, each in enumerate((array[-9:], array))]
    command = [sys.executable, "-c", LARGE_LABELS, *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
