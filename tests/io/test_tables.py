"""MATLAB files against SciPy's own writer and reader, text and CSV, and what strangers send instead."""

import io
import math
import struct
import zlib

import h5py
import numpy as np
import pytest
from scipy.io import loadmat, savemat

from podium.io import _matlab
from podium.io.tables import read_csv, read_lines, read_mat, read_timing
from podium.model import InputError


def saved(path, variables, **options):
    savemat(path, variables, **options)
    return path


NUMBERS = np.random.default_rng(0).normal(size=(3, 40))
KINDS = {
    "double": NUMBERS,
    "whole": np.arange(12.0).reshape(3, 4),
    "single": NUMBERS.astype(np.float32),
    "bytes": np.arange(5, dtype=np.uint8)[None],
    "short": np.array([[-3, 4]], np.int16),
    "long": np.array([[2**40]], np.int64),
    "logical": np.array([[True, False]]),
    "cube": np.arange(24.0).reshape(2, 3, 4),
    "scalar": np.array([[7.5]]),
    "nothing": np.zeros((0, 3)),
    "special": np.array([[np.nan, np.inf, -np.inf]]),
}


@pytest.mark.parametrize("compressed", [False, True])
def test_matrices_as_scipy_reads_them(tmp_path, compressed):
    path = saved(tmp_path / "a.mat", KINDS, do_compression=compressed)
    found = read_mat(path, list(KINDS))
    expected = loadmat(path)
    for name in KINDS:
        assert found[name].dtype == np.float64
        np.testing.assert_array_equal(found[name], expected[name].astype(float))


def test_only_what_is_wanted_is_read(tmp_path):
    others = {"text": "hello", "cell": np.array([1, "x"], object), "structure": {"a": 1.0}, "other": np.ones((2, 2))}
    path = saved(tmp_path / "a.mat", {**others, "wanted": NUMBERS})
    found = read_mat(path, ["wanted", "absent"])
    assert list(found) == ["wanted"]
    np.testing.assert_array_equal(found["wanted"], NUMBERS)


def test_files_of_big_endian_machines(tmp_path):
    def part(kind, content):
        return struct.pack(">II", kind, len(content)) + content + b"\0" * (-len(content) % 8)

    numbers = np.array([[1.5, 2.5], [3.5, 4.5]])
    inside = part(6, struct.pack(">II", 6, 0)) + part(5, struct.pack(">ii", 2, 2)) + part(1, b"x")
    inside += part(9, numbers.astype(">f8").tobytes(order="F"))
    path = tmp_path / "a.mat"
    path.write_bytes(b"MATLAB 5.0".ljust(124) + b"\1\0MI" + part(14, inside))
    np.testing.assert_array_equal(read_mat(path, ["x"])["x"], numbers)
    np.testing.assert_array_equal(loadmat(path)["x"], numbers)


def test_version_7_3_is_hdf5_with_axes_reversed(tmp_path):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["x"] = NUMBERS.T
        file["x"].attrs["MATLAB_class"] = np.bytes_("double")
        file["text"] = np.array([[104], [105]], np.uint16)
        file["text"].attrs["MATLAB_class"] = np.bytes_("char")
        file.create_group("structure")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")
    np.testing.assert_array_equal(read_mat(path, ["x"])["x"], NUMBERS)
    with pytest.raises(InputError, match="'text' is of class char"):
        read_mat(path, ["x", "text"])
    with pytest.raises(InputError, match="'structure' is not data"):
        read_mat(path, ["structure"])


def test_a_promise_of_7_3_is_not_believed(tmp_path):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (2, 2**40), "f8", chunks=(1, 1024))
        file.create_dataset("y", (2, 2), "f8", maxshape=(None, None), chunks=(2**14, 2**14))
    for name in "xy":
        with pytest.raises(InputError, match=r"unpacks? to more than"):
            read_mat(path, [name])


@pytest.mark.parametrize(
    ("variable", "what"),
    [
        ("hello", "class char"),
        (np.array([1, "x"], object), "class cell"),
        ({"a": 1.0}, "class struct"),
        (np.array([[1 + 2j]]), "class complex double"),
    ],
)
def test_what_is_no_matrix_is_refused(tmp_path, variable, what):
    path = saved(tmp_path / "a.mat", {"x": variable})
    with pytest.raises(InputError, match=f"'x' is of {what}"):
        read_mat(path, ["x"])


def test_a_sparse_matrix_is_refused(tmp_path):
    from scipy.sparse import eye_array

    with pytest.raises(InputError, match="'x' is of class sparse"):
        read_mat(saved(tmp_path / "a.mat", {"x": eye_array(3)}), ["x"])


def test_a_missing_variable_is_named(tmp_path):
    path = saved(tmp_path / "a.mat", {"areas": NUMBERS, "dims": NUMBERS})
    with pytest.raises(InputError, match="no variable called x or y, only areas, dims"):
        read_mat(path, ["x", "y"])


def test_two_variables_of_one_name_are_refused(tmp_path):
    one = saved(tmp_path / "a.mat", {"x": NUMBERS}).read_bytes()
    path = tmp_path / "b.mat"
    path.write_bytes(one + one[128:])
    with pytest.raises(InputError, match="two variables called 'x'"):
        read_mat(path, ["x"])


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_matlab, "MAX_VARIABLE_BYTES", 2**20)
    path = saved(tmp_path / "a.mat", {"x": np.zeros((1, 2**18))}, do_compression=True)
    assert path.stat().st_size < 2**13
    with pytest.raises(InputError, match="unpacks to more than 1,048,576 bytes"):
        read_mat(path, ["x"])
    with pytest.raises(InputError, match="no variable called y"):
        read_mat(path, ["y"])
    with pytest.raises(InputError, match="unpacks to more than"):
        read_mat(saved(tmp_path / "b.mat", {"x": np.ones((1, 2**18))}), ["x"])


def test_other_files_are_not_matlab(tmp_path):
    path = tmp_path / "a.mat"
    for content in (b"", b"x", b"A1,A2\n1,2\n" * 50, b"\0" * 500):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a MATLAB file"):
            read_mat(path, ["x"])
    savemat(path, {"x": NUMBERS}, format="4")
    with pytest.raises(InputError, match="version 5 or later"):
        read_mat(path, ["x"])
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + b"\0" * 999)
    with pytest.raises(InputError, match="HDF5"):
        read_mat(path, ["x"])
    with pytest.raises(FileNotFoundError):
        read_mat(tmp_path / "absent.mat", ["x"])


@pytest.mark.slow
def test_every_damaged_byte_is_an_error_or_a_number(tmp_path):
    """SciPy's reader ends the process on some of these; here each gives matrices, or one line on what is wrong."""
    path = tmp_path / "a.mat"

    def attempt(content):
        path.write_bytes(content)
        try:
            found = read_mat(path, ["x", "y"])
        except InputError as error:
            return "\n" not in str(error)
        return all(each.dtype == np.float64 for each in found.values())

    for compressed in (False, True):
        stream = io.BytesIO()
        savemat(stream, {"x": NUMBERS[:, :3], "y": np.array([[1.0]]), "z": "text"}, do_compression=compressed)
        good = stream.getvalue()
        for place in range(100, len(good)):
            for byte in (0, 1, 127, 255, good[place] ^ 1):
                assert attempt(good[:place] + bytes([byte]) + good[place + 1 :])
        for length in range(128, len(good), 7):
            assert attempt(good[:length])


def test_a_shape_that_lies_is_an_error(tmp_path):
    good = saved(tmp_path / "a.mat", {"x": np.ones((2, 3)) * 0.5}).read_bytes()
    place = good.index(struct.pack("<ii", 2, 3))
    path = tmp_path / "b.mat"
    for shape in ((2, 4), (-2, -3), (2**30, 2**30)):
        path.write_bytes(good[:place] + struct.pack("<ii", *shape) + good[place + 8 :])
        with pytest.raises(InputError, match="should be"):
            read_mat(path, ["x"])


def test_a_checksum_that_lies_is_an_error(tmp_path):
    path = saved(tmp_path / "a.mat", {"x": NUMBERS}, do_compression=True)
    content = path.read_bytes()
    assert zlib.decompress(content[136:])
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match="compressed data is damaged"):
        read_mat(path, ["x"])


def written(tmp_path, text, name="a.txt"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_lines(tmp_path):
    table = read_lines(written(tmp_path, "\ufeffone: 1, 2.5e-1\r\n\r\n two :,nan\n"), ("A", "B"))
    assert table.names == ("one", "two")
    assert table.columns["A"][0] == 1
    assert table.columns["B"][0] == 0.25
    assert np.isnan([table.columns["A"][1], table.columns["B"][1]]).all()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "there are no rows"),
        ("one 1, 2\n", "line 1 is not of the form 'name: A, B'"),
        ("one: 1, 2\ntwo: 1\n", r"line 2 \(two\) has 1 values, not 2: A, B"),
        ("one: 1, 2\none: 1, 2\n", "line 2: one was in line 1 already"),
        ("one: 1, x\n", r"line 1 \(one\): B is 'x', not a number"),
        ("one: 1_0, 2\n", "A is '1_0', not a number"),
        ("one: ١, 2\n", "not a number"),
        ("one: 1, x\ntwo: 1\n: 1, 2\n", r"line 1 \(one\): B is 'x', .*; line 2 .*; line 3 is not of the form"),
        ("\n".join(f"{n}: x, 1" for n in range(9)), "; and 4 more"),
        (b"\xff\xfeo\0n\0e\0", "not text in UTF-8"),
    ],
)
def test_lines_that_cannot_be_used(tmp_path, text, what):
    with pytest.raises(InputError, match=what):
        read_lines(written(tmp_path, text), ("A", "B"))


def test_a_large_text_is_refused(tmp_path, monkeypatch):
    from podium.io import tables

    monkeypatch.setattr(tables, "MAX_TEXT_BYTES", 100)
    with pytest.raises(InputError, match="more than 100 bytes"):
        read_lines(written(tmp_path, "one: 1\n" * 20), ("A",))


def test_csv(tmp_path):
    path = written(tmp_path, '\ufeffimage, b ,A,note\r\n"one",2,1,x\r\n\r\ntwo,,3,y\r\n', "a.csv")
    table = read_csv(path, ("A", "B"), optional=("C",))
    assert table.names == ("one", "two")
    assert list(table.columns) == ["A", "B"]
    assert table.columns["A"].tolist() == [1, 3]
    assert table.columns["B"][0] == 2
    assert math.isnan(table.columns["B"][1])
    assert list(read_csv(path, ("A",), optional=("B",)).columns) == ["A", "B"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file is empty"),
        ("name,A,B\n", "there are no rows"),
        ("name,A\none,1\n", "there is no column B; the first line is 'name,a'"),
        ("name;A;B\none;1;2\n", "Separate columns with commas"),
        ("A,B\n1,2\n", "the first column is 'a'. It must hold the names of the rows"),
        ("name,A,B,a\none,1,2,3\n", "two columns are called 'a'"),
        ("name,A,B\none,1\n", "line 2 has 2 fields, the first line 3"),
        ("name,A,B\n,1,2\n", "line 2 has no name"),
        ("name,A,B\none,1,x\n", r"line 2 \(one\): B is 'x', not a number"),
        ("name,A,B\none,1,2\none,1,2\n", "line 3: one was in line 2 already"),
        ('name,A,B\n"one,1,2\n', "not CSV"),
    ],
)
def test_csv_that_cannot_be_used(tmp_path, text, what):
    with pytest.raises(InputError, match=what):
        read_csv(written(tmp_path, text, "a.csv"), ("A", "B"))


def test_timing(tmp_path):
    path = written(tmp_path, "case,seconds,frames\na,1.5,20\nb,0,\n", "timing.csv")
    assert read_timing(path) == {"a": (1.5, 20.0), "b": (0.0, None)}
    assert read_timing(written(tmp_path, "Seconds, Case\n2, x\n")) == {"x": (2.0, None)}
    assert read_timing(written(tmp_path, "case,seconds\n")) == {}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file is empty"),
        ("case,time\na,1\n", "there is no column seconds"),
        ("case,seconds\na,1\na,2\n", "line 3: case a is listed a second time"),
        ("case,seconds\na,-1\n", "line 2: seconds are '-1', not a number from 0"),
        ("case,seconds\na,nan\n", "seconds are 'nan'"),
        ("case,seconds\na,inf\n", "seconds are 'inf'"),
        ("case,seconds\na,\n", "seconds are ''"),
        ("case,seconds\na,fast\nb,slow\n", "'fast'.*; line 3: seconds are 'slow'"),
        ("case,seconds\n,1\n", "line 2 names no case"),
        ("case,seconds\na,1,2\n", "line 2 has 3 fields, the first line 2"),
        ("case,seconds,frames\na,1,0\n", "frames are '0', not a number above 0"),
        ("case,seconds,frames\na,1,many\n", "frames are 'many'"),
    ],
)
def test_timing_that_cannot_be_used(tmp_path, text, what):
    with pytest.raises(InputError, match=what):
        read_timing(written(tmp_path, text, "timing.csv"))
