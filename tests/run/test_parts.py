"""Part files: complete or absent, and one writer at a time."""

import os

import polars as pl
import pytest

from podium.model import InputError
from podium.run import Part, Parts, digests, sole_writer
from podium.run.measuring import tabulated


@pytest.mark.parametrize("name", ["a\nb", "../../x", "ü" * 300, "病" * 84, ".", "\udcff", "a b", ""])
def test_a_part_has_a_name_of_its_own_whatever_its_case_is_called(tmp_path, name):
    parts = Parts(tmp_path)
    assert parts.path(name).parent == tmp_path / "parts"
    assert len(os.fsencode(parts.path(name).name)) < 255
    assert parts.path(name) != parts.path(name + " ")


def part(**changes):
    return Part(
        **{
            "case": "a",
            "made_by": {"podium": "1", "options": {"x": 2.0}},
            "truth": {"a.txt": "0"},
            "table": tabulated([]),
            "hashes": {"team": {"a.txt": "1"}},
            "lost": {"team": ("a", "b")},
            "failures": (("team", "a", "missing", "gone"),),
            "faults": (("", "broken"),),
        }
        | changes
    )


def test_what_is_written_is_read(tmp_path):
    parts, written = Parts(tmp_path), part()
    parts.begin()
    parts.write(written)
    read = parts.read("a")
    assert read.table.equals(written.table)
    for name in ("case", "made_by", "truth", "hashes", "lost", "failures", "faults"):
        assert getattr(read, name) == getattr(written, name)
    assert len(parts) == 1
    assert parts.read("b") is None


@pytest.mark.parametrize(
    "damage", [lambda b: b"PAR1 but not really", lambda b: b[:-1], lambda b: b[:80] + b"\0" + b[81:], lambda b: b""]
)
def test_a_damaged_part_is_none(tmp_path, damage):
    parts = Parts(tmp_path)
    parts.begin()
    parts.write(part())
    path = parts.path("a")
    path.write_bytes(damage(path.read_bytes()))
    assert parts.read("a") is None


def test_beginning_removes_old_parts_and_nothing_else(tmp_path):
    parts = Parts(tmp_path)
    parts.begin()
    assert parts.unfinished
    for case in ("kept", "gone", ""):
        parts.write(part(case=case))
    others = {"notes.txt", "mine.part", "mine.parquet", ".hidden"}
    for name in others:
        (parts.folder / name).touch()
    half_written, earlier = ".gone-0123456789ab.77-00ff00ff.part.part", "gone-0123456789ab.parquet"
    for name in (half_written, earlier):
        (parts.folder / name).touch()
    (parts.folder / "unpacked").mkdir()
    parts.begin(but=frozenset({"kept"}))
    names = {path.name for path in parts.folder.iterdir()}
    assert names == others | {parts.path("kept").name, "unpacked", "unfinished"}
    parts.finish()
    assert not parts.unfinished


def test_why_a_part_does_not_hold_any_more(tmp_path):
    (tmp_path / "a.txt").write_text("0")
    parts, truth, files = Parts(tmp_path / "run"), tmp_path, (tmp_path / "a.txt",)
    parts.begin()
    known = part(truth=digests(truth, set(files)))
    parts.write(known)
    assert parts.still_true("a", known.made_by, truth, files).case == "a"
    assert parts.still_true("b", known.made_by, truth, files) == "not measured yet"
    assert parts.still_true("a", {"podium": "2", "options": {}}, truth, files) == "other options and podium"
    assert parts.still_true("a", {**known.made_by, "more": 1}, truth, files) == "other more"
    (tmp_path / "b.txt").write_text("0")
    assert parts.still_true("a", known.made_by, truth, (*files, tmp_path / "b.txt")) == "the truth changed"
    files[0].unlink()
    assert parts.still_true("a", known.made_by, truth, files) == "the truth changed"


def test_files_outside_have_their_own_name_and_files_that_are_gone_no_digest(tmp_path):
    (tmp_path / "in").mkdir()
    inside, outside = tmp_path / "in" / "a.txt", tmp_path / "b.txt"
    inside.write_text("a")
    outside.write_text("b")
    known = digests(tmp_path / "in", {inside, outside, tmp_path / "in" / "gone"})
    assert list(known) == [str(outside), "a.txt", "gone"]
    assert known["gone"] == ""
    assert digests(tmp_path / "in" / ".." / "in", {inside}) == {"a.txt": known["a.txt"]}


def test_one_writer_at_a_time(tmp_path):
    with (
        sole_writer(tmp_path),
        pytest.raises(InputError, match=rf"another run .* \(process {os.getpid()} on "),
        sole_writer(tmp_path),
    ):
        pass
    with sole_writer(tmp_path):
        pass


def test_a_table_keeps_its_types(tmp_path):
    parts = Parts(tmp_path)
    parts.begin()
    parts.write(part())
    assert parts.read("a").table.schema["value"] == pl.Float64
