"""Every file that a reader opens is noted, a second one that a header names as well."""

import hashlib
import importlib
import os
import pkgutil
import sys
import threading
import zlib
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path

import h5py
import label_files
import numpy as np
import polars as pl
import pytest
import SimpleITK
from scipy.io import savemat

import podium.io
from podium.io import (
    _headers,
    _matlab,
    _metaimage,
    _nifti,
    _nrrd,
    archives,
    arrays,
    digest,
    images,
    inputs,
    noting_files,
    read_groups,
    read_label_map,
    read_scores,
    read_text,
    read_timing,
    scores,
)
from podium.io.archives import open_zip
from podium.io.arrays import dataset, open_hdf5, read_npy, read_npz
from podium.io.images import read_image, read_plane
from podium.io.tables import read_csv, read_lines, read_mat, read_words
from podium.model import InputError

LABELS = label_files.labels()
NUMBERS = np.arange(12.0).reshape(3, 4)
VOXELS = LABELS.tobytes(order="F")


# What Python itself opens, told by its audit hook. A hook stays until the process ends, so there is one for all tests.

_watched: ContextVar[list[Path] | None] = ContextVar("_watched", default=None)


def _hear(event, arguments):
    if event == "open" and (seen := _watched.get()) is not None:
        path, _, flags = arguments
        if not isinstance(path, int) and flags & os.O_ACCMODE != os.O_WRONLY:
            seen.append(Path(os.fsdecode(path)))


@pytest.fixture(scope="module", autouse=True)
def _hook():
    sys.addaudithook(_hear)


@contextmanager
def watched(folder):
    """Yield which files of a folder this thread opens for reading."""
    seen: list[Path] = []
    token = _watched.set(seen)
    found: set[Path] = set()
    try:
        yield found
    finally:
        _watched.reset(token)
        found.update(path for path in seen if folder in path.parents)


# One small file of every form, and how it is read. Writers return what is to be read, and every file that this opens.


def nifti(name):
    def write(folder):
        path = label_files.write(folder / name, label_files.nifti(LABELS))
        return path, {path}

    return write


def metaimage(data, *, name="labels.mhd", packed=False):
    """Return a header with its voxels in another file."""

    def write(folder):
        path = folder / name
        sizes = " ".join(map(str, LABELS.shape))
        path.write_text(
            f"ObjectType = Image\nNDims = 3\nBinaryData = True\nCompressedData = {packed}\nDimSize = {sizes}\n"
            f"ElementType = MET_UCHAR\nElementDataFile = {data}\n"
        )
        (folder / data).write_bytes(zlib.compress(VOXELS) if packed else VOXELS)
        return path, {path, folder / data}

    return write


def by_itk(name, *beside, compressed=True):
    def write(folder):
        image = SimpleITK.GetImageFromArray(np.ascontiguousarray(LABELS.T))
        SimpleITK.WriteImage(image, str(folder / name), useCompression=compressed)
        return folder / name, {folder / each for each in (name, *beside)}

    return write


def hdf5(name="arrays.h5", **options):
    def write(folder):
        with h5py.File(folder / name, "w", **options) as file:
            file["plain"] = NUMBERS
            file.create_dataset("packed", data=NUMBERS, chunks=(2, 2), compression="gzip")
        return folder / name, {folder / name}

    return write


def mat73(folder):
    path, files = hdf5("matrix.mat", userblock_size=512)(folder)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")
    return path, files


def mat5(folder):
    savemat(folder / "matrix.mat", {"plain": NUMBERS})
    return folder / "matrix.mat", {folder / "matrix.mat"}


def npy(folder):
    np.save(folder / "array.npy", NUMBERS)
    return folder / "array.npy", {folder / "array.npy"}


def folder_of_npy(folder):
    for name in ("one.npy", "two.npy", "three.txt"):
        with (folder / name).open("wb") as file:
            np.save(file, NUMBERS)
    return folder, {folder / "one.npy", folder / "two.npy"}


def npz(folder):
    np.savez_compressed(folder / "arrays.npz", one=NUMBERS, two=NUMBERS)
    return folder / "arrays.npz", {folder / "arrays.npz"}


def text(content, name="text.csv"):
    def write(folder):
        path = label_files.write(folder / name, content.encode())
        return path, {path}

    return write


def read_hdf5(path):
    with open_hdf5(path) as file:
        for name in file:
            np.testing.assert_array_equal(dataset(file, name, path=path)[()], NUMBERS)


def read_folder_of_npy(path):
    for each in path.glob("*.npy"):
        read_npy(each).sum()


def read_archive(path):
    with open_zip(path, most_entries=10) as archive:
        for name in archive.namelist():
            archive.read(name)


def read_matrix(path):
    return read_mat(path, ["plain"])


SCORES = "submission,case,value\na,1,0.5\n"


def folder_of_scores(folder):
    for name in ("a.csv", "b.tsv", "notes.md"):
        (folder / name).write_text("case,value\n1,0.5\n")
    return folder, {folder / "a.csv", folder / "b.tsv"}


def scores_parquet(folder):
    pl.DataFrame({"submission": ["a"], "case": ["1"], "value": [0.5]}).write_parquet(folder / "scores.parquet")
    return folder / "scores.parquet", {folder / "scores.parquet"}


READ = {
    "NIfTI": (read_label_map, nifti("labels.nii")),
    "NIfTI, gzipped": (read_label_map, nifti("labels.nii.gz")),
    "MetaImage": (read_label_map, by_itk("labels.mha")),
    "MetaImage, .raw": (read_label_map, metaimage("labels.raw")),
    "MetaImage, .zraw": (read_label_map, metaimage("other.zraw", packed=True)),
    "MetaImage, a .mha that is a header": (read_label_map, metaimage("voxels", name="labels.mha")),
    "MetaImage, .raw by ITK": (read_label_map, by_itk("labels.mhd", "labels.raw", compressed=False)),
    "MetaImage, .zraw by ITK": (read_label_map, by_itk("labels.mhd", "labels.zraw")),
    "NRRD": (read_label_map, by_itk("labels.nrrd")),
    "NRRD, raw": (read_label_map, by_itk("labels.nrrd", compressed=False)),
    "NRRD, .raw by ITK": (read_label_map, by_itk("labels.nhdr", "labels.raw", compressed=False)),
    "NRRD, .raw.gz by ITK": (read_label_map, by_itk("labels.nhdr", "labels.raw.gz")),
    "HDF5": (read_hdf5, hdf5()),
    "HDF5, behind another header": (read_hdf5, hdf5(userblock_size=512)),
    "npy": (read_npy, npy),
    "folder of npy": (read_folder_of_npy, folder_of_npy),
    "npz": (lambda path: read_npz(path, "one"), npz),
    "npz, what it has not": (lambda path: read_npz(path, "three"), npz),
    "zip": (read_archive, npz),
    "MATLAB": (read_matrix, mat5),
    "MATLAB 7.3": (read_matrix, mat73),
    "lines": (lambda path: read_lines(path, ("A", "B")), text("one: 1, 2\n", "text.txt")),
    "CSV": (lambda path: read_csv(path, ("A",)), text("name,A\none,1\n")),
    "words": (lambda path: read_words(path, "A"), text("name,A\none,mild\n")),
    "timing": (read_timing, text("case,seconds\none,1\n", "timing.csv")),
    "scores": (read_scores, text(SCORES)),
    "groups": (lambda path: read_groups("case", table=path), text(SCORES)),
    "scores, gzipped": (read_scores, text(SCORES, "text.csv.gz")),
    "scores, a file for each team": (read_scores, folder_of_scores),
    "scores, Parquet": (read_scores, scores_parquet),
    "text": (read_text, text('"thorax"', "region.json")),
    "plane": (lambda path: read_plane(path, axis=1, index=2, shape=LABELS.shape), nifti("image.nii.gz")),
    "grey image": (read_image, nifti("image.nii.gz")),
}
READERS = {
    read_label_map, open_hdf5, read_npy, read_npz, open_zip, read_mat, read_lines, read_csv, read_timing, read_scores,
    read_text, read_plane, read_image, read_groups, read_words, inputs.open_input,
}  # fmt: skip


def assert_noted(folder, form):
    """Read a file of a form; what Python was seen to open, what was noted, and what there is to open are the same."""
    read, write = READ[form]
    path, expected = write(folder)
    with watched(folder) as opened, noting_files() as noted:
        read(path)
    assert opened == noted
    assert noted == expected


@pytest.mark.parametrize("form", READ)
def test_what_is_opened_is_noted(tmp_path, form):
    assert_noted(tmp_path, form)


def test_no_reader_is_left_out():
    """What podium.io calls read or open is among the readers above, so that a new one has to be added."""
    found = set()
    for each in pkgutil.iter_modules(podium.io.__path__):
        if not each.name.startswith("_"):
            module = importlib.import_module(f"podium.io.{each.name}")
            found |= {getattr(module, name) for name in module.__all__ if name.startswith(("read", "open"))}
    assert found == READERS


# The law can fail.


@pytest.mark.parametrize(
    ("module", "form"),
    [
        (_nifti, "NIfTI"),
        (_metaimage, "MetaImage, .raw"),
        (_nrrd, "NRRD, .raw.gz by ITK"),
        (arrays, "npy"),
        (archives, "npz"),
        (_matlab, "MATLAB"),
        (scores, "scores"),
        (images, "plane"),
        (inputs, "CSV"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__.rpartition(".")[2],
)
def test_a_reader_that_opens_a_file_by_itself_is_found(tmp_path, monkeypatch, module, form):
    monkeypatch.setattr(module, "open_input", lambda path: path.open("rb"))
    with pytest.raises(AssertionError):
        assert_noted(tmp_path, form)


@pytest.mark.parametrize("form", ["MetaImage, .raw", "MetaImage, .zraw by ITK", "NRRD, .raw by ITK"])
def test_a_reader_that_notes_the_header_alone_is_found(tmp_path, monkeypatch, form):
    note = inputs.note
    for module in (inputs, _headers):
        monkeypatch.setattr(module, "note", lambda path: None if path.suffix in (".raw", ".zraw") else note(path))
    with pytest.raises(AssertionError):
        assert_noted(tmp_path, form)


def test_voxels_that_are_not_beside_their_header_are_noted_all_the_same(tmp_path):
    """Should they come to be there, a prediction is another."""
    header = tmp_path / "labels.mhd"
    header.write_text(
        "ObjectType = Image\nNDims = 2\nDimSize = 2 2\nElementType = MET_UCHAR\nElementDataFile = x.raw\n"
    )
    with noting_files() as noted, pytest.raises(InputError, match="is not beside it"):
        read_label_map(header)
    assert noted == {header, tmp_path / "x.raw"}


def test_the_file_that_another_process_looks_into_is_noted_by_whoever_asks(tmp_path):
    path, _ = hdf5()(tmp_path)
    with open_hdf5(path) as file, noting_files() as noted:
        dataset(file, "packed", path=path)
    assert noted == {path}


# Files that are refused


def test_a_header_whose_voxels_are_not_read_is_noted_alone(tmp_path):
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(LABELS), str(tmp_path / "labels.nhdr"))
    header = (tmp_path / "labels.nhdr").read_text()
    assert "data file: labels.raw" in header
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "labels.nhdr"
    path.write_text(header.replace("labels.raw", "../labels.raw"))
    with watched(tmp_path) as opened, noting_files() as noted, pytest.raises(InputError, match="data file points to"):
        read_label_map(path)
    assert opened == noted == {path}


def test_what_is_refused_was_read_too(tmp_path):
    path, files = metaimage("labels.zraw", packed=True)(tmp_path)
    (tmp_path / "labels.zraw").write_bytes(zlib.compress(VOXELS)[:-20])
    with watched(tmp_path) as opened, noting_files() as noted, pytest.raises(InputError, match="too early"):
        read_label_map(path)
    assert opened == noted == files


def test_what_cannot_be_opened_is_not_noted(tmp_path):
    with noting_files() as noted:
        with pytest.raises(FileNotFoundError):
            read_label_map(tmp_path / "absent.nii.gz")
        with pytest.raises(InputError):
            read_text(tmp_path / "absent.txt")
    assert noted == set()


# Who hears it


def test_blocks_may_be_nested(tmp_path):
    paths = [text("", f"{number}.txt")(tmp_path)[0] for number in range(4)]
    read_text(paths[0])
    with noting_files() as outer:
        read_text(paths[1])
        with noting_files() as inner:
            read_text(paths[2])
            read_text(paths[2])
        read_text(paths[3])
    read_text(paths[0])
    assert inner == {paths[2]}
    assert outer == set(paths[1:])


def test_a_block_that_fails_stops_listening(tmp_path):
    path, _ = text("")(tmp_path)
    with pytest.raises(InputError), noting_files() as noted:
        raise InputError("no")
    read_text(path)
    assert noted == set()


def test_threads_do_not_hear_each_other(tmp_path):
    count = 4
    together = threading.Barrier(count, timeout=60)
    noted = {}

    def work(number):
        path, _ = text("", f"{number}.txt")(tmp_path)
        with noting_files() as files:
            together.wait()
            read_text(path)
            together.wait()
        noted[path] = files

    with noting_files() as ours:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert noted == {tmp_path / f"{number}.txt": {tmp_path / f"{number}.txt"} for number in range(count)}
    assert ours == set()


def test_a_thread_that_is_given_the_context_is_heard(tmp_path):
    path, _ = text("")(tmp_path)
    with noting_files() as noted:
        thread = threading.Thread(target=copy_context().run, args=(read_text, path))
        thread.start()
        thread.join()
    assert noted == {path}


# Text and digests


def test_text_is_utf8_with_or_without_a_mark(tmp_path):
    path = tmp_path / "text"
    for content in ("ü\r\n", "\ufeffü\r\n"):
        path.write_bytes(content.encode())
        assert read_text(path) == "ü\r\n"
    assert read_text(path, most_bytes=7) == "ü\r\n"


def test_text_that_cannot_be_used_is_refused_in_one_line(tmp_path):
    path = tmp_path / "two\nlines"
    path.write_bytes(b"\xff\xfea\0")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "beneath").symlink_to(path / "file")
    (tmp_path / "round").symlink_to("round")
    for what, limit, reason in (
        (path, 10, "not text in UTF-8"),
        (path, 3, "more than 3 bytes"),
        (tmp_path, 10, "not a plain file"),
        (tmp_path / "pipe", 10, "not a plain file"),
        (tmp_path / "absent", 10, "there is no such file"),
        (tmp_path / "beneath", 10, r"cannot be read \(Not a directory\)"),
        (tmp_path / "round", 10, r"cannot be read \(Too many levels"),
    ):
        with pytest.raises(InputError, match=reason) as caught:
            read_text(what, most_bytes=limit)
        assert len(str(caught.value).splitlines()) == 1
        assert caught.value.path == what


def test_a_digest_is_that_of_the_bytes_and_no_use_of_the_file(tmp_path):
    path = tmp_path / "file"
    for content in (b"", b"abc", bytes(3_000_000)):
        path.write_bytes(content)
        with noting_files() as noted:
            assert digest(path) == hashlib.sha256(content).hexdigest()
        assert noted == set()
