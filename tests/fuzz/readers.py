"""The readers that are fuzzed, and small valid files of every kind that each of them reads."""

from __future__ import annotations

import gzip
import io
import json
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import label_files
import numpy as np
import run_folders
from fuzzing import Target
from hdf5_files import checksummed_hdf5, hdf5, hdf5_seeds
from scipy.io import savemat

from podium.challenges.csv2026.files import read_sample
from podium.challenges.tusrec._prediction import open_prediction
from podium.io import _hdf5, read_label_map, read_scores, read_timing
from podium.io.arrays import dataset, open_hdf5, read_npy, read_npz
from podium.io.tables import read_csv, read_lines, read_mat, read_words
from podium.model import SECONDS, Case, InputError
from podium.run.enclosure import read_enclosed
from podium.run.jobs import read_jobs
from podium.run.submissions import Submission, opened

LABELS = label_files.labels((9, 7, 5))
OURS = ("podium/io/", "podium/run/", "podium/challenges/", "podium/model/labelmap", "podium/model/errors")


def same(content: bytes) -> bytes:
    return content


def regzip(content: bytes) -> bytes:
    return gzip.compress(content, 1)


# Label maps


def nifti_seeds() -> list[bytes]:
    plain = [
        label_files.nifti(LABELS),
        label_files.nifti(LABELS.astype("f4"), spacing=(0.5, 0.7, 2.0)),
        label_files.nifti(LABELS.astype("i2"), byte_order=">"),
        label_files.nifti(LABELS.astype("i4") * 70000),
        label_files.nifti(LABELS.astype("u2"), slope=2.0, intercept=0.0),
        label_files.nifti(LABELS[:, :, 0], spacing=(1.0, 1.0)),
        label_files.nifti(
            LABELS,
            at_254=struct.pack("<h", 1),
            at_280=struct.pack("<12f", 1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7),
        ),
        label_files.nifti(LABELS, at_252=struct.pack("<h", 1), at_256=struct.pack("<6f", 0.5, 0.5, 0.5, 1, 2, 3)),
        _nifti2(),
    ]
    return [regzip(content) for content in plain]


def compile_kernels() -> None:
    """Have the kernels compiled for voxels of every type, which takes longer than reading any file may."""
    with TemporaryDirectory() as folder:
        for kind in label_files.CODES:
            labels = np.zeros((4, 4, 4), kind)
            labels[1, 1, 1] = min(70_000, np.iinfo(kind).max if kind[0] != "f" else 70_000)
            read_label_map(label_files.write(Path(folder) / "a.nii", label_files.nifti(labels)))


def compile_unpacking() -> None:
    """Have lzf unpacked from bytes that may be written to and from those that may not: a kernel is compiled for each.

    The valid files have only the latter, but a damaged one can be packed twice.
    """
    for packed in (np.zeros(2, np.uint8), np.frombuffer(bytes(2), np.uint8)):
        _hdf5._unpack_lzf(packed, np.empty(2, np.uint8))


def _nifti2() -> bytes:
    import nibabel

    return nibabel.Nifti2Image(LABELS, np.eye(4)).to_bytes()


def gunzip(content: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(content, 1 << 17)


def meta(
    lines: str = "", *, data: bytes = LABELS.tobytes(order="F"), kind: str = "MET_UCHAR", file: str = "LOCAL"
) -> bytes:
    head = f"ObjectType = Image\nNDims = 3\nBinaryData = True\n{lines}DimSize = 9 7 5\nElementType = {kind}\n"
    return f"{head}ElementDataFile = {file}\n".encode() + data


def metaimage_seeds() -> list[bytes]:
    packed = zlib.compress(LABELS.tobytes(order="F"))
    matrix = "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = 1 2 3\nCenterOfRotation = 0 0 0\n"
    return [
        meta(),
        meta("ElementSpacing = 1 2 3\n" + matrix),
        meta(f"CompressedData = True\nCompressedDataSize = {len(packed)}\n", data=packed),
        meta("BinaryDataByteOrderMSB = True\n", data=LABELS.astype(">i2").tobytes(order="F"), kind="MET_SHORT"),
        meta(data=LABELS.astype("<f4").tobytes(order="F"), kind="MET_FLOAT"),
        meta("Name = liver\nComment = by hand\nElementSize = 1 2 3\nRotation = 0 1 0 0 0 1 1 0 0\nOrigin = 1 2 3\n"),
    ]


def read_detached(path: Path) -> None:
    voxels = LABELS.tobytes(order="F")
    path.with_name("input.raw").write_bytes(voxels)
    path.with_name("input.raw.gz").write_bytes(gzip.compress(voxels))
    path.with_name("input.zraw").write_bytes(zlib.compress(voxels))
    read_label_map(path)


def mhd_seeds() -> list[bytes]:
    return [
        meta(data=b"", file="input.raw"),
        meta("HeaderSize = -1\nElementSpacing = 1 2 3\n", data=b"", file="input.raw"),
        meta("CompressedData = True\n", data=b"", file="input.zraw"),
    ]


def nhdr_seeds() -> list[bytes]:
    return [
        nrrd("data file: input.raw\n", data=b""),
        nrrd("spacings: 1 2 3\ndatafile: input.raw.gz\n", data=b"", how="gzip"),
    ]


def nrrd(lines: str = "", *, data: bytes = LABELS.tobytes(order="F"), kind: str = "uint8", how: str = "raw") -> bytes:
    head = f"NRRD0004\n# made by hand\ntype: {kind}\ndimension: 3\nsizes: 9 7 5\nencoding: {how}\n{lines}\n"
    return head.encode() + data


def nrrd_seeds() -> list[bytes]:
    space = "space: left-posterior-superior\nspace directions: (1,0,0) (0,2,0) (0,0,3)\nspace origin: (1,2,3)\n"
    return [
        nrrd(),
        nrrd("endian: little\nspacings: 1 2 3\n"),
        nrrd("endian: little\n" + space),
        nrrd("endian: big\n", data=LABELS.astype(">i2").tobytes(order="F"), kind="short"),
        nrrd("endian: little\n", data=gzip.compress(LABELS.tobytes(order="F")), how="gzip"),
        nrrd("space dimension: 3\nspace directions: (0,1,0) (1,0,0) (0,0,2)\nkinds: domain space time\nkey:=value\n"),
        nrrd("content: by hand\nspace: RAS\nspace origin: (1,2,3)\n" + 'space units: "mm" "mm" "mm"\n'),
    ]


# Arrays


def read_hdf5(path: Path) -> None:
    """Read as the challenges do: names, whole arrays, and pieces of large ones."""
    with open_hdf5(path) as file:
        names = [str(name) for name in file]
        for name in ("x", "y", "GP", "LP", *names[:2]):
            try:
                stored = dataset(file, name, path=path)
                if stored.shape is None:
                    continue
                np.asarray(stored[()], np.float64)
                if stored.ndim == 3 and stored.size:
                    buffer = np.empty((1, *stored.shape[1:]), np.float32)
                    stored.read_direct(buffer, np.s_[-1 + len(stored) : len(stored), :, 0:], np.s_[:1])
            except InputError as error:
                _one_line(error)
    read_sample(path)
    with open_prediction(path) as prediction:
        for name in sorted(prediction.names())[:4]:
            try:
                shape, _ = prediction.numbers(name)
                if len(shape) == 3 and 0 < np.prod(shape) < 2**24:
                    for _, frames in prediction.strips(name, width=1):
                        sum(map(np.sum, frames))
            except InputError as error:
                _one_line(error)


def _one_line(error: InputError) -> None:
    assert str(error).isprintable()


def npy(array: np.ndarray, *, version: tuple[int, int] | None = None) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=version)
    return stream.getvalue()


def npy_seeds() -> list[bytes]:
    numbers = np.arange(24.0).reshape(2, 3, 4)
    return [npy(numbers), npy(np.asfortranarray(numbers), version=(2, 0)), npy(np.array(7, ">i2")), npy(numbers > 3)]


def read_numpy_file(path: Path) -> None:
    with np.errstate(all="ignore"):
        np.array(read_npy(path), np.float64).sum()


def npz_seeds() -> list[bytes]:
    contents = []
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, GP=np.zeros((4, 3, 6), "f4"), GL=np.ones((3, 5)), LP=np.asfortranarray(np.ones((4, 3, 6))))
        contents.append(stream.getvalue())
    return contents


def read_numpy_archive(path: Path) -> None:
    for name in ("GP", "GL", "LP"):
        read_npz(path, name)
    with open_prediction(path) as prediction:
        for name in sorted(prediction.names())[:4]:
            shape, _ = prediction.numbers(name)
            if len(shape) == 3 and 0 < np.prod(shape) < 2**24:
                for _, frames in prediction.strips(name, width=1):
                    sum(map(np.sum, frames))
            else:
                prediction.small(name)


# Tables


def mat_seeds() -> list[bytes]:
    contents = []
    numbers = np.arange(12.0).reshape(3, 4) / 7
    for packed in (False, True):
        stream = io.BytesIO()
        others = {"text": "hello", "cell": np.array([1, "x"], object), "structure": {"a": 1.0}}
        savemat(stream, {**others, "x": numbers, "y": np.array([[1, 2]], np.int16)}, do_compression=packed)
        contents.append(stream.getvalue())
    return contents


def unpacked_mat(content: bytes) -> bytes:
    """Return a MATLAB file with its variables unpacked."""
    out, at = bytearray(content[:128]), 128
    while at + 8 <= len(content):
        kind, count = struct.unpack_from("<II", content, at)
        inside = content[at + 8 : at + 8 + count]
        out += zlib.decompressobj().decompress(inside, 1 << 16) if kind == 15 else content[at : at + 8 + count]
        at += 8 + count
    return bytes(out)


def packed_mat(content: bytes) -> bytes:
    """Pack each variable again."""
    out, at = bytearray(content[:128]), 128
    while at + 8 <= len(content):
        _, count = struct.unpack_from("<II", content, at)
        inside = zlib.compress(content[at : at + 8 + count])
        out += struct.pack("<II", 15, len(inside)) + inside
        at += 8 + count
    return bytes(out)


def lines_seeds() -> list[bytes]:
    return [b"one: 1, 2.5e-1\r\n\r\n two :,nan\n", "\ufeffdrei: 1, 2\nzwölf: 3, -4\n".encode()]


def csv_seeds() -> list[bytes]:
    return ['\ufeffimage, b ,A,note\r\n"one",2,1,x\r\n\r\ntwo,,3,y\r\n'.encode(), b'n,A,B\n"a ""b""",1,2\nc,1e3,-0.5\n']


def timing_seeds() -> list[bytes]:
    return [b"case,seconds,frames\na,1.5,20\nb,0,\n", b"Seconds, Case\n2, x\n"]


def scores_seeds() -> list[bytes]:
    plain = b"submission,case,value,task\nA,1,0.5,x\nB,1,NA,x\nA,2,,y\n"
    people = "Team;Case;Dice;HD95\r\nK\u00f6ln;1;0,5;1.234,5\r\nB;1;NA;85\r\n"
    return [
        plain,
        regzip(plain),
        b'case,value,submission\n"a,b",1e3,"q ""x"""\n',
        people.encode("cp1252"),
        b"\xff\xfe" + people.replace(";", "\t").encode("utf-16-le"),
        b"sep=;\ncase;A;B\n1;50%;60%\n2;70%;80%\n",
    ]


# What grand-challenge.org writes, and what it is given


def jobs_seeds() -> list[bytes]:
    place = {"slug": "masks", "relative_path": "images/masks"}
    common = {"pk": "pk", "status": "Succeeded", "inputs": [{"image": {"name": "case_1_frames.mha"}}]}
    times = {"started_at": "2025-06-01T12:00:00.5Z", "completed_at": "2025-06-01T12:00:02Z"}
    jobs = [
        {**common, **times, "outputs": [{"image": {"name": "x.mha"}, "interface": place}]},
        {**common, "exec_duration": "PT1M2.5S", "outputs": [{"image": {"name": "x.mha"}, "socket": place}]},
        {**common, "outputs": [{"file": "https://x/y.h5", "socket": {"slug": "y", "relative_path": "y.h5"}}]},
    ]
    return [json.dumps([job, {"pk": "other", "inputs": None}]).encode() for job in jobs]


def read_platform(path: Path) -> None:
    """Read jobs beside a perfect answer that lies elsewhere, and see that nothing but a job's own output is taken."""
    for inside in ("pk/output/images/masks/any.mha", "pk/output/y.h5", "secret/any.mha"):
        (path.parent / inside).parent.mkdir(parents=True, exist_ok=True)
        (path.parent / inside).touch()
    jobs = read_jobs(path, ["case_1", "case_2"], time=SECONDS)
    for output in jobs.outputs.values():
        assert output.path is None or output.path.resolve().is_relative_to((path.parent / "pk" / "output").resolve())
        assert len(output.reason) < 300
        assert output.reason.isprintable()
    assert all(remark.isprintable() and len(remark) < 500 for remark in jobs.remarks)


def metrics_seeds() -> list[bytes]:
    moment = "2026-01-01T00:00:00Z"
    run = {
        "schema": 2, "podium": "0.2.0", "challenge": "x", "version": 1, "edition": "document", "options": {},
        "truth": {"path": "/t", "sha256": {"a": "0"}}, "submissions": {"team": {"path": "/s"}},
        "roles": {"team": "competitor"}, "started": moment, "ended": moment, "machine": {},
    }  # fmt: skip
    columns = ["submission", "case", "target", "metric", "value", "measured", "status", "reason"]
    rows = [["team", "1", "", "dice", 0.5, None, "ok", ""], ["team", "2", "", "dice", "inf", 3, "invalid", "no"]]
    inside = {"run": run, "failures": [["team", "2", "invalid", "no"]], "columns": columns, "rows": rows}
    return [json.dumps({"evaluation": inside}).encode()]


# Archives

FILES = {"team/case_1.nii": b"abc" * 99, "team/case_2.nii": bytes(600), "team/timing.csv": b"case,seconds\n", "x": b"1"}


def zip_seeds() -> list[bytes]:
    contents = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", method) as packed:
            packed.writestr("team/", "")
            for name, content in FILES.items():
                packed.writestr(name, content)
            with packed.open("large", "w", force_zip64=True) as member:
                member.write(b"z" * 50)
            packed.comment = b"hello" * (method == zipfile.ZIP_STORED)
        contents.append(stream.getvalue())
    return contents


def tar_seeds() -> list[bytes]:
    contents = []
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=form) as packed:
            folder = tarfile.TarInfo("team")
            folder.type = tarfile.DIRTYPE
            packed.addfile(folder)
            long = {} if form == tarfile.USTAR_FORMAT else {"team/" + "ö" * 90 + "/" + "n" * 120: b"long"}
            for name, content in (FILES | long).items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                packed.addfile(info, io.BytesIO(content))
        contents.append(regzip(stream.getvalue()))
    return contents


def checksummed_tar(content: bytes) -> bytes:
    """Pack a tar file with the checksums of its headers mended."""
    data = bytearray(content)
    for at in range(0, len(data) - 511, 512):
        if data[at + 257 : at + 262] == b"ustar":
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return regzip(bytes(data))


def read_archive(path: Path) -> None:
    """Unpack, look for predictions, and see that nothing came to lie outside."""
    wanted = [Case(f"case_{k}", expected=(f"case_{k}.nii", f"case_{k}.*")) for k in (1, 2, 3)]
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as around:
        scratch = Path(around) / "scratch"
        scratch.mkdir()
        try:
            with opened(Submission("team", path), wanted, scratch=scratch) as files:
                for expected in wanted:
                    try:
                        found = files.find(expected)
                    except InputError:
                        continue
                    assert found is None or found.resolve().is_relative_to(scratch.resolve())
                assert all(remark.isprintable() for remark in files.unexpected(wanted))
        finally:
            assert [entry.name for entry in Path(around).iterdir()] == ["scratch"]
            assert not list(scratch.iterdir())


_META = (b"NDims", b"DimSize", b"ElementType", b"ElementDataFile", b"LOCAL", b"LIST", b"MET_UCHAR", b"MET_DOUBLE",
         b"CompressedData", b"HeaderSize", b"ElementSpacing", b"TransformMatrix", b"ElementNumberOfChannels",
         b"input.raw", b"../x", b"/etc/passwd", b" = ", b"True", b"ObjectSubType", b"BinaryData", b"Name", b"ID",
         b"ElementSize", b"Offset", b"AnatomicalOrientation", b"NDims = 99", b"Origin", b"Rotation", b"input.zraw",
         b"Name = " + b"n" * 400 + b"\n")  # fmt: skip
_NRRD = (b"type: ", b"sizes: ", b"dimension: ", b"encoding: ", b"space directions: ", b"space: ", b"raw", b"gzip",
         b"bzip2", b"hex", b"data file: ", b"LIST", b"kinds: ", b"none", b"(1,0,0)", b"byte skip: ", b"line skip: ",
         b"content: ", b"labels: ", b":=", b"units: ", b"measurement frame: ", b"NRRD0005", b"space dimension: ",
         b"block size: ", b"centers: ", b"thicknesses: ", b"axis mins: ", b"old min: ", b"number: ", b"(", b")", b",",
         b"RAS", b"spacings: ", b"space origin: ", b"input.raw.gz", b"big", b"(" * 4000)  # fmt: skip
_HDF5 = (b"TREE", b"HEAP", b"SNOD", b"OHDR", b"FRHP", b"FHDB", b"FHIB", b"BTHD", b"BTLF", b"BTIN", b"FSHD", b"FSSE",
         b"FAHD", b"FADB", b"EAHD", b"EAIB", b"EASB", b"EADB", b"OCHK", b"GCOL", b"\xff" * 8)  # fmt: skip
_NUMPY = (b"'descr'", b"'fortran_order'", b"'shape'", b"True", b"False", b"'<f8'", b"'|O'", b"'<U9'", b"(", b")", b",",
          b"'<f8', (2,)", b"[('a', '<f8')]", b"1L", b"__import__('os')", b"\x93NUMPY\x01\x00",
          b"V8", b"'<m8[s]'")  # fmt: skip
_CSV = (b",", b'"', b"\r", b"\n", b";", b"submission", b"case", b"value", b"seconds", b"frames", b":", b"\xef\xbb\xbf",
        b"NA", b"\xc2\x85", b"\xe2\x80\xae", b"\xed\xa0\x80", b"task", b"cluster", b"\x28\xb5\x2f\xfd",
        b"%", b"\t", b"sep=;\n", b"team", b"\xff\xfe")  # fmt: skip
_ZIP = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"../x", b"/x", b"C:\\x", b"team",
        b"\x01\x00\x10\x00", b"\x09\x70", b"a/" * 40)  # fmt: skip
_TAR = (b"../x", b"/etc/x", b"ustar\0", b"ustar  \0", b"0", b"1", b"2", b"3", b"5", b"6", b"7", b"x", b"g", b"L", b"K",
        b"S", b"V", b"path=", b"size=", b"30 path=../../x", b"GNU.sparse.major=1", b"\x80\0\0\0", b"\xff" * 8,
        b"7777777")  # fmt: skip

_JSON = (b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"NaN", b"1e999", b"-1", b"[" * 3000, b'"../secret"',
         b'".."', b'"/etc"', b'"\\ud800"', b'"\\u0000"', b'"pk"', b'"socket"', b'"interface"', b'"relative_path"',
         b'"image"', b'"slug"', b'"outputs"', b'"inputs"', b'"case_1"', b'"case_2"', b"9" * 5000,
         b"x" * 300)  # fmt: skip
_RUN = (b'"schema"', b'"roles"', b'"competitor"', b'"baseline"', b'"submissions"', b'"options"', b'"edition"', b"true",
        b'"faults"', b'"started"', b'"sha256"', b'"gathered"', b'"hashes"', b'"lost"', b'"case"')  # fmt: skip
_PARQUET = (b"PAR1", b"ARROW:schema", b"podium", b"submission", b"value", b"status", b"invalid", b"\x15", b"\x19")

TARGETS = {
    target.name: target
    for target in (
        Target("nifti", "input.nii.gz", nifti_seeds, read_label_map, watched=(*OURS, "nibabel/"), unwrap=gunzip,
               wrap=regzip, prepare=compile_kernels),
        Target("metaimage", "input.mha", metaimage_seeds, read_label_map, _META, OURS, prepare=compile_kernels),
        Target("nrrd", "input.nrrd", nrrd_seeds, read_label_map, _NRRD, OURS, prepare=compile_kernels),
        Target("mhd", "input.mhd", mhd_seeds, read_detached, _META, OURS, prepare=compile_kernels),
        Target("nhdr", "input.nhdr", nhdr_seeds, read_detached, _NRRD, OURS, prepare=compile_kernels),
        Target("hdf5", "input.h5", hdf5_seeds, read_hdf5, _HDF5, (*OURS, "h5py/"), unwrap=same, wrap=checksummed_hdf5,
               prepare=compile_unpacking),
        Target("npy", "input.npy", npy_seeds, read_numpy_file, _NUMPY, OURS),
        Target("npz", "input.npz", npz_seeds, read_numpy_archive, (*_ZIP, *_NUMPY), (*OURS, "zipfile")),
        Target("mat", "input.mat", mat_seeds, lambda path: read_mat(path, ["x", "y"]), (b"\x0e\0\0\0", b"\x0f\0\0\0"),
               OURS, unwrap=unpacked_mat, wrap=packed_mat),
        Target("mat73", "input.mat", lambda: [hdf5(matlab=True, userblock_size=512)],
               lambda path: read_mat(path, ["x", "y"]), _HDF5, (*OURS, "h5py/"), prepare=compile_unpacking),
        Target("lines", "input.txt", lines_seeds, lambda path: read_lines(path, ("A", "B")), _CSV, OURS),
        Target("csv", "input.csv", csv_seeds, lambda path: read_csv(path, ("A", "B"), optional=("C",)), _CSV, OURS),
        Target("words", "input.csv", csv_seeds, lambda path: read_words(path, "A"), _CSV, OURS),
        Target("timing", "timing.csv", timing_seeds, read_timing, _CSV, OURS),
        Target("predictions", "predictions.json", jobs_seeds, read_platform, _JSON, OURS),
        Target("metrics", "metrics.json", metrics_seeds, read_enclosed, _JSON, OURS),
        Target("run", "run.json", lambda: [run_folders.seed("run.json")], run_folders.read_run, (*_JSON, *_RUN), OURS,
               2**30),
        Target("measured", "measurements.parquet", lambda: [run_folders.seed("measurements.parquet")],
               run_folders.read_run, _PARQUET, OURS, 2**34, share=0.1),  # the process that tries it has its own limit
        Target("failures", "failures.csv", lambda: [run_folders.seed("failures.csv")], run_folders.read_run, _CSV, OURS,
               2**30),
        Target("part", "001.part", lambda: [run_folders.seed("parts/001*.part")], run_folders.resume,
               (*_PARQUET, *_JSON, *_RUN), OURS, 2**30, share=0.1, unwrap=run_folders.facts_of,
               wrap=run_folders.with_facts),
        Target("scores", "input.csv", scores_seeds, read_scores, _CSV, OURS, 2**30),
        Target("zip", "team.zip", zip_seeds, read_archive, _ZIP, (*OURS, "zipfile")),
        Target("tar", "team.tar.gz", tar_seeds, read_archive, _TAR, (*OURS, "tarfile"), unwrap=gunzip,
               wrap=checksummed_tar),
    )
}  # fmt: skip
