"""Text made to do harm: tables that take memory, names that take over a terminal, packed bombs."""

import gzip
import io
import os
import random
import struct
import subprocess
import sys
import textwrap
import zipfile
import zlib

import polars as pl
import pytest
import xlsxwriter

from podium.io import parquet_can_be_read, read_scores, read_timing, scores
from podium.io.tables import MAX_TEXT_BYTES, read_csv, read_lines
from podium.model import InputError

READERS = {
    "lines": lambda path: read_lines(path, ("A",)),
    "csv": lambda path: read_csv(path, ("A",)),
    "timing": read_timing,
    "scores": read_scores,
}
FORMS = {
    "lines": "{name}: 1\n",
    "csv": 'name,A\n"{name}",1\n',
    "timing": 'case,seconds\n"{name}",1\n',
    "scores": 'submission,case,value\n"{name}",1,2\n',
}
NAMES = {
    "an escape": ("\x1b[2J", "\\x1b[2J"),
    "a bell": ("a\x07b", "a\\x07b"),
    "a zero": ("a\0b", "a\\x00b"),
    "a turn of direction": ("a\u202eb", "a\\u202eb"),
    "a line of Unicode": ("a\u2028b", "a\\u2028b"),
}


def written(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reader", READERS)
def test_names_that_cannot_be_shown(tmp_path, reader, name):
    stored, shown = NAMES[name]
    with pytest.raises(InputError) as caught:
        READERS[reader](written(tmp_path, FORMS[reader].format(name=stored)))
    line = str(caught.value)
    assert f"'{shown}' has characters that cannot be shown" in line
    assert f"line {1 if reader == 'lines' else 2}" in line
    assert line.isprintable()


@pytest.mark.parametrize("reader", ["csv", "timing", "scores"])
def test_names_over_two_lines(tmp_path, reader):
    with pytest.raises(InputError, match="characters that cannot be shown"):
        READERS[reader](written(tmp_path, FORMS[reader].format(name="a\nb")))


@pytest.mark.parametrize("reader", READERS)
def test_names_of_any_script_are_fine(tmp_path, reader):
    assert READERS[reader](written(tmp_path, FORMS[reader].format(name="Łódź 病例 α-1"))) is not None


@pytest.mark.parametrize("reader", ["lines", "csv", "timing"])
def test_bytes_that_are_not_utf8(tmp_path, reader):
    content = FORMS[reader].format(name="Z").encode().replace(b"Z", b"\xff\xfe")
    with pytest.raises(InputError, match="not text in UTF-8"):
        READERS[reader](written(tmp_path, content))


@pytest.mark.parametrize("reader", READERS)
def test_a_binary_file(tmp_path, reader):
    with pytest.raises(InputError):
        READERS[reader](written(tmp_path, bytes(range(256)) * 40))


def test_a_first_line_without_end(tmp_path):
    with pytest.raises(InputError, match="the first line has 1,001 columns"):
        read_timing(written(tmp_path, ",".join(f"c{k}" for k in range(1001))))
    with pytest.raises(InputError, match=r"line 1 is not CSV \(field larger than field limit"):
        read_timing(written(tmp_path, "c" * 200_000))


@pytest.mark.parametrize("make", [gzip.compress, lambda content: gzip.compress(content) + gzip.compress(content)])
def test_a_packed_table_that_is_a_bomb(tmp_path, monkeypatch, make):
    monkeypatch.setattr(scores, "MAX_SCORES_BYTES", 2**20)
    with pytest.raises(InputError, match="the table unpacks to more than 1,048,576 bytes"):
        read_scores(written(tmp_path, make(b"submission,case,value\n" + b"a,b,1\n" * 180_000)))


def test_a_packed_table(tmp_path):
    plain = FORMS["scores"].format(name="a").encode()
    assert read_scores(written(tmp_path, gzip.compress(plain)))[0].equals(read_scores(written(tmp_path, plain))[0])
    for content in (zlib.compress(plain), b"\x28\xb5\x2f\xfd" + plain, gzip.compress(gzip.compress(plain))):
        with pytest.raises(InputError, match=r"this is not a CSV file\. It may be gzipped, not packed in another way"):
            read_scores(written(tmp_path, content))
    for content in (gzip.compress(plain)[:-4], gzip.compress(plain)[:-8] + b"\0" * 8, b"\x1f\x8b no"):
        with pytest.raises(InputError, match="the gzip data is damaged"):
            read_scores(written(tmp_path, content))


def test_many_columns_are_not_all_listed(tmp_path):
    path = written(tmp_path, ",".join(f"column{k}" for k in range(5000)))
    with pytest.raises(InputError, match="there is no column 'submission'") as caught:
        read_scores(path)
    assert len(str(caught.value)) < 600


CHILD = """
    import resource, sys
    from pathlib import Path
    import test_hostile_tables as tests
    from podium.model import InputError
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 32 * tests.MAX_TEXT_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for content in (
        *(b"\\n", b"a\\n", b":\\n", b"a:\\n", b"a,\\n", b",", b"1,", b'""', b"a:1\\n"),
        *(b"\\xe2\\x80\\xa8\\r", b"x:" + b"," * 99 + b"\\n"),
    ):
        Path(sys.argv[1]).write_bytes(b"case,seconds\\n" + content * (tests.MAX_TEXT_BYTES // len(content) - 1))
        for name in ("lines", "csv", "timing"):
            try:
                tests.READERS[name](Path(sys.argv[1]))
            except InputError as error:
                assert len(str(error)) < 2000
"""


@pytest.mark.slow
def test_memory_of_the_largest_texts(tmp_path):
    """Texts of the largest size that is read, of the forms that take most, within 32 times their size."""
    places = os.pathsep.join([os.path.dirname(__file__), *sys.path])  # noqa: PTH120
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path / "a.csv")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": places},
    )
    assert result.returncode == 0, result.stderr


def test_a_table_that_is_too_large(tmp_path):
    path = written(tmp_path, b"a: 1\n" * (MAX_TEXT_BYTES // 5 + 1))
    for name in ("lines", "csv", "timing"):
        with pytest.raises(InputError, match=f"the file has more than {MAX_TEXT_BYTES:,} bytes"):
            READERS[name](path)


def test_scores_keep_what_they_hold(tmp_path):
    table, _, *_ = read_scores(written(tmp_path, "submission,case,value\nA,1,0.5\nB,1,NA\n"))
    assert table.to_dict(as_series=False) == {"submission": ["A", "B"], "case": ["1", "1"], "value": [0.5, None]}
    assert table.schema["value"] == pl.Float64


# Workbooks and Parquet: small files that unpack to anything


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"xl/{name}.xml", content)
    return stream.getvalue()


def workbook(*cells):
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for row, column, content in cells:
            sheet.write(row, column, content)
    return stream.getvalue()


def parquet(**columns):
    stream = io.BytesIO()
    pl.select(**columns).write_parquet(stream)
    return stream.getvalue()


GOOD_BOOK = [(0, 0, "submission"), (0, 1, "case"), (0, 2, "value"), (1, 0, "a"), (1, 1, "b"), (1, 2, 0.5)]
GOOD_PARQUET = {"submission": pl.lit("a"), "case": pl.lit("b"), "value": pl.lit(0.5)}


def test_a_workbook_that_is_a_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(scores, "MAX_SCORES_BYTES", 2**20)
    bomb = zipped(workbook="<x/>", sharedStrings=bytes(2**20 + 7))
    with pytest.raises(InputError, match="the table unpacks to more than 1,048,576 bytes"):
        read_scores(written(tmp_path, bomb))
    liar = bomb.replace(struct.pack("<I", 2**20 + 7), struct.pack("<I", 9))
    with pytest.raises(InputError, match="the workbook is damaged, or too large"):
        read_scores(written(tmp_path, liar))


def test_a_workbook_with_a_cell_far_away(tmp_path):
    """Seventeen thousand million cells, two of them used."""
    with pytest.raises(InputError, match="the workbook is damaged, or too large"):
        read_scores(written(tmp_path, workbook((0, 0, "submission"), (1048575, 16383, "x"))))


@pytest.mark.parametrize("name", [b"a*[x]?.parquet", b"caf\xe9.parquet", b"-x.parquet", b"two\nlines"], ids=ascii)
def test_a_parquet_file_may_be_called_anything(tmp_path, name):
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(parquet(**GOOD_PARQUET))
    assert read_scores(path).frame.height == 1
    assert parquet_can_be_read(path)
    path.write_bytes(b"PAR1")
    assert not parquet_can_be_read(path)


def test_a_parquet_file_that_is_a_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(scores, "MAX_SCORES_BYTES", 2**20)
    long = parquet(submission=pl.repeat("a" * 1000, 2000))
    many = parquet(submission=pl.repeat("a", 2**20 + 1))
    assert len(long) < 20_000
    with pytest.raises(InputError, match="the table unpacks to more than 1,048,576 bytes"):
        read_scores(written(tmp_path, long))
    with pytest.raises(InputError, match="1,048,577 rows and 1 columns, more than are read"):
        read_scores(written(tmp_path, many))


@pytest.mark.parametrize("content", [workbook(*GOOD_BOOK), parquet(**GOOD_PARQUET)], ids=["Excel", "Parquet"])
def test_damaged_workbooks_and_parquet_files(tmp_path, content):
    assert read_scores(written(tmp_path, content))[0].rows() == [("a", "b", 0.5)]
    draw = random.Random(3)
    damaged = [content[: len(content) // 2], content[:9], gzip.compress(content)]
    for _ in range(5):
        broken = bytearray(content)
        for _ in range(20):
            broken[draw.randrange(4, len(broken))] = draw.randrange(256)
        damaged.append(bytes(broken))
    reasons = []
    for part in damaged:
        try:
            read_scores(written(tmp_path, part))
        except InputError as error:
            reasons.append(str(error))
    assert len(reasons) >= 6
    assert max(map(len, reasons)) < 600


def test_names_in_workbooks_that_cannot_be_shown(tmp_path):
    for content in (
        workbook(*GOOD_BOOK[:3], (1, 0, "a\x07b"), *GOOD_BOOK[4:]),
        parquet(**{**GOOD_PARQUET, "submission": pl.lit("a\x07b")}),
        "case,a\u202eb,c\n1,0.5,0.6\n",
    ):
        with pytest.raises(InputError, match="characters that cannot be shown"):
            read_scores(written(tmp_path, content))
