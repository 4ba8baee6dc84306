"""Files that appear complete or not at all, whatever writes them and however many do."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import label_files
import numpy as np
import polars as pl
import pytest

from podium.io import (
    parquet_bytes,
    parsed_json,
    read_label_map,
    write_atomically,
    write_bytes,
    write_label_map,
    write_text,
)
from podium.model import InputError, LabelMap


def partial_of(path):
    """Return the path that a writer is given for a file."""
    given = []

    def write(partial):
        given.append(partial)
        partial.touch()

    write_atomically(path, write)
    return given[0]


@pytest.mark.parametrize("before", [None, "before"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), InputError("no")])
def test_a_write_that_fails_leaves_neither_file_nor_partial(tmp_path, before, error):
    path = tmp_path / "page.html"
    if before is not None:
        write_text(path, before)

    def fails(partial):
        partial.write_text("half")
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, fails)
    assert [file.read_text() for file in tmp_path.iterdir()] == [before] * (before is not None)


def test_a_writer_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "file", lambda partial: None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("case.nii.gz", ".nii.gz"),
        ("case.001.v2.nii.gz", ".nii.gz"),
        ("CASE.NII.GZ", ".NII.GZ"),
        (".case.mha", ".mha"),
        ("table.parquet", ".parquet"),
        ("no ending", ".part"),
        (".hidden", ".part"),
        ("𝒏" * 60 + ".nii.gz", ".nii.gz"),
        ("𝒏." + "𝒏" * 61, "𝒏"),
        ("\udcff" * 248 + ".nii.gz", ".nii.gz"),
    ],
)
def test_a_partial_is_hidden_beside_the_file_and_ends_as_it_does(tmp_path, name, ending):
    path = tmp_path / name
    partial = partial_of(path)
    assert partial.parent == tmp_path
    assert partial.name.startswith(".")
    assert f".{os.getpid()}-" in partial.name
    assert partial.name.endswith(ending)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["sample.nii.gz", "sample.nii", "sample.mha", "sample.nrrd"])
def test_label_maps_choose_their_format_by_the_partial(tmp_path, name):
    array = label_files.labels()
    write_atomically(tmp_path / name, lambda partial: write_label_map(partial, LabelMap.from_array(array)))
    np.testing.assert_array_equal(read_label_map(tmp_path / name).array, array)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_no_two_writers_share_a_partial(tmp_path):
    path = tmp_path / "file.csv"
    names = {partial_of(path).name for _ in range(50)}
    assert len(names) == 50


def test_concurrent_writers_of_one_file_leave_the_whole_of_one(tmp_path):
    path = tmp_path / "file.bin"
    count = 6
    together = threading.Barrier(count, timeout=60)

    def write(number):
        def slowly(partial):
            content = bytes([number]) * 1000
            partial.write_bytes(content[:500])
            together.wait()  # all of them are half way
            assert partial.read_bytes() == content[:500]
            partial.write_bytes(content)

        write_atomically(path, slowly)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(write, range(count)))
    content = path.read_bytes()
    assert content == content[:1] * 1000
    assert list(tmp_path.iterdir()) == [path]


def test_one_writer_that_fails_spares_the_others(tmp_path):
    path = tmp_path / "file"

    def fails(partial):
        write_bytes(path, b"other")
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        write_atomically(path, fails)
    assert path.read_bytes() == b"other"
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_text_and_tables(tmp_path):
    write_bytes(tmp_path / "bytes", memoryview(b"\0\r\n\xff"))
    assert (tmp_path / "bytes").read_bytes() == b"\0\r\n\xff"
    write_text(tmp_path / "text", "ü\r\n\udcff\n")
    assert (tmp_path / "text").read_bytes() == "ü\r\n\\udcff\n".encode()
    table = pl.DataFrame({"case": ["a", "b"]})
    write_bytes(tmp_path / "table.parquet", parquet_bytes(table, metadata={"key": "value"}))
    assert pl.read_parquet(tmp_path / "table.parquet").equals(table)
    assert pl.read_parquet_metadata(tmp_path / "table.parquet")["key"] == "value"


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "Expecting value"), ("[" * 10**5, "nested too deeply"), ("9" * 5000, "4300"), ("{\n1", "line 2")],
)
def test_what_is_not_json_is_one_line(tmp_path, text, why):
    with pytest.raises(InputError, match=why) as error:
        parsed_json(text, path=tmp_path / "x.json")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
    assert parsed_json('{"a": [1, null]}', path=tmp_path) == {"a": [1, None]}
