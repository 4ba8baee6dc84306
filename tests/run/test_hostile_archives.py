# ruff: noqa: E501 (a table, one row an archive)
"""Archives made to do harm: each is refused for one clear reason, before it takes disk, memory or time."""

import errno
import gzip
import io
import os
import resource
import shutil
import stat
import struct
import subprocess
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

import podium
from podium.io import archives
from podium.model import Case, InputError
from podium.run import unpacking
from podium.run.submissions import Limits, Submission, opened

pytestmark = pytest.mark.slow

SMALL = Limits(entries=100, unpacked_bytes=2**20, ratio=1100)


def zipped(files, *, method=zipfile.ZIP_DEFLATED, modes=None, flags=0):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as packed:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            info.external_attr = ((modes or {}).get(name, stat.S_IFREG) | 0o644) << 16
            packed.writestr(info, content)
    content = stream.getvalue()
    if flags:  # in the entry, and in the list
        content = bytearray(content)
        for place in (6, content.index(b"PK\x01\x02") + 8):
            struct.pack_into("<H", content, place, flags)
    return bytes(content)


def listed(count, *, entry=None):
    """Return a zip file that lists one entry many times over; the list is all there is."""
    name = b"a"
    entry = entry or struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + name
    directory = entry * count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    larger = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(directory), 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(directory), 1)
    return directory + larger + locator + end


def overlapping(times):
    """Return a zip file whose entries are all the same bytes, as in David Fifield's better zip bomb."""
    content = zipped({"a": bytes(10**6)})
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entry = content[start:end]
    entries = b"".join(entry[:-1] + bytes([65 + k]) for k in range(times))
    tail = bytearray(content[end:])
    struct.pack_into("<HHL", tail, 8, times, times, len(entries))
    return content[:start] + entries + bytes(tail)


def nameless():
    """Return a zip file with an entry whose name has no letters."""
    content = bytearray(zipped({"a": b"1"}))
    start, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    struct.pack_into("<H", content, start + 28, 0)
    struct.pack_into("<L", content, end + 12, end - start - 1)
    del content[start + 46]
    struct.pack_into("<H", content, 26, 0)
    del content[30]
    struct.pack_into("<L", content, content.index(b"PK\x05\x06") + 16, start - 1)
    return bytes(content)


def header(name, *, size=0, kind=tarfile.REGTYPE, link="", form=tarfile.USTAR_FORMAT):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, link
    return info.tobuf(form, "utf-8", "surrogateescape")


def entry(name, content=b"", **options):
    return header(name, size=len(content), **options) + content + bytes(-len(content) % 512)


def tarred(*parts):
    return gzip.compress(b"".join(parts) + bytes(1024), 1)


def zeros_gzipped(count, *, before=b""):
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [deflate.compress(before), *(deflate.compress(bytes(1 << 20)) for _ in range(count >> 20))]
    return b"".join(pieces) + deflate.flush()


def pax(*records):
    lines = b""
    for key, value in records:
        body = b" " + key + b"=" + value + b"\n"
        length = len(body) + 2
        while len(str(length)) + len(body) != length:
            length += 1
        lines += str(length).encode() + body
    return entry("pax", lines, kind=tarfile.XHDTYPE)


HUGE = 2**33
# name of the kind: (file name, content, what the line says)
HOSTILE = {
    "zip that climbs": ("t.zip", zipped({"../outside": b"x"}), "'../outside' would be unpacked outside the submission"),
    "zip that climbs halfway": ("t.zip", zipped({"a/../../outside": b"x"}), "outside the submission"),
    "zip with an absolute name": ("t.zip", zipped({"/etc/outside": b"x"}), "outside the submission"),
    "zip with a drive": ("t.zip", zipped({"C:\\outside": b"x"}), "outside the submission"),
    "zip with a drive's folder": ("t.zip", zipped({"c:outside": b"x"}), "outside the submission"),
    "zip with a share": ("t.zip", zipped({"\\\\host\\outside": b"x"}), "outside the submission"),
    "zip with a link": ("t.zip", zipped({"l": b"/etc/passwd"}, modes={"l": stat.S_IFLNK}), "'l' is a link, not a plain file"),
    "zip with a device": ("t.zip", zipped({"d": b""}, modes={"d": stat.S_IFCHR}), "'d' is a device or pipe"),
    "zip with a pipe": ("t.zip", zipped({"p": b""}, modes={"p": stat.S_IFIFO}), "'p' is a device or pipe"),
    "zip of a million": ("t.zip", listed(10**6), "the archive lists 1,000,000 entries"),
    "zip of more than are allowed": ("t.zip", zipped({str(k): b"" for k in range(101)}), "the archive lists 101 entries"),
    "zip of many folders": ("t.zip", zipped({f"{k}/a/b/c": b"" for k in range(50)}), "more than the limit of 100 files and folders"),
    "zip bomb": ("t.zip", zipped({"a": bytes(2**21)}), "unpacks to more than the limit of 1,048,576 bytes"),
    "zip bomb of many": ("t.zip", zipped({str(k): bytes(2**19) for k in range(9)}), "unpacks to more than the limit"),
    "zip bomb of one": ("t.zip", overlapping(40), "shares bytes with another entry"),
    "zip twice of one name": ("t.zip", zipped({"a": b"1", "./a": b"2"}), "'./a' is there twice"),
    "zip of a file that is a folder": ("t.zip", zipped({"a": b"1", "a/b": b"2"}), "'a/b' lies in a file"),
    "zip of a folder that is a file": ("t.zip", zipped({"a/b": b"1", "a": b"2"}), "'a' is both a file and a folder"),
    "zip encrypted": ("t.zip", zipped({"a": b"1"}, flags=1), "'a' is encrypted. Pack it again without a password"),
    "zip with a name that is not UTF-8": ("t.zip", zipped({"\xff": b"1"}).replace(b"\xc3\xbf", b"\xff\xff"), "the archive cannot be read ('utf-8' codec"),
    "zip in LZMA": ("t.zip", zipped({"a": b"1"}, method=zipfile.ZIP_LZMA), "'a' is packed with method 14, which is not read"),
    "zip in bzip2": ("t.zip", zipped({"a": b"1"}, method=zipfile.ZIP_BZIP2), "'a' is packed with method 12, which is not read"),
    "zip with a long name": ("t.zip", zipped({"n" * 256: b"1"}), "the archive cannot be read (the name 'nnn"),
    "zip that is deep": ("t.zip", zipped({"a/" * 40 + "b": b"1"}), "lies 41 folders deep"),
    "zip without a name": ("t.zip", zipped({"./": b"1", ".": b"1"}), "an entry has no name"),
    "zip of a name of no letters": ("t.zip", nameless(), "the archive cannot be read (an entry has no name)"),
    "zip that is text": ("t.zip", b"PK\x03\x04 no", "the archive cannot be read (File is not a zip file)"),
    "zip that is empty": ("t.zip", b"", "the archive cannot be read (File is not a zip file)"),
    "tar that climbs": ("t.tar.gz", tarred(entry("../outside", b"x")), "outside the submission"),
    "tar that climbs by a record": ("t.tar.gz", tarred(pax((b"path", b"../outside")), entry("a", b"x")), "outside the submission"),
    "tar that climbs by a long name": ("t.tar.gz", tarred(entry("././@LongLink", b"../outside\0", kind=tarfile.GNUTYPE_LONGNAME), entry("a", b"x")), "outside the submission"),
    "tar with an absolute name": ("t.tar.gz", tarred(entry("/etc/outside", b"x")), "outside the submission"),
    "tar with a link": ("t.tar.gz", tarred(entry("l", kind=tarfile.SYMTYPE, link="/etc/passwd")), "'l' is a symbolic link, not a plain file"),
    "tar that writes through a link": ("t.tar.gz", tarred(entry("l", kind=tarfile.SYMTYPE, link="/tmp"), entry("l/outside", b"x")), "'l' is a symbolic link"),
    "tar with a hard link": ("t.tar.gz", tarred(entry("l", kind=tarfile.LNKTYPE, link="/etc/passwd")), "'l' is a hard link, not a plain file"),
    "tar with a device": ("t.tar.gz", tarred(entry("d", kind=tarfile.BLKTYPE)), "'d' is a device, not a plain file"),
    "tar with a pipe": ("t.tar.gz", tarred(entry("p", kind=tarfile.FIFOTYPE)), "'p' is a pipe, not a plain file"),
    "tar with a strange entry": ("t.tar.gz", tarred(entry("s", kind=b"M")), "'s' is something special, not a plain file"),
    "tar that is sparse": ("t.tar.gz", tarred(entry("s", kind=tarfile.GNUTYPE_SPARSE)), "'s' is packed as sparse"),
    "tar that is sparse by a record": ("t.tar.gz", tarred(pax((b"GNU.sparse.realsize", b"99999999999")), entry("s")), "packed as sparse, which is not read"),
    "tar of many": ("t.tar.gz", tarred(*(entry(str(k)) for k in range(101))), "more than the limit of 100 files and folders"),
    "tar of many records": ("t.tar.gz", tarred(pax((b"path", b"a")) * 401), "more than 400 records about its entries"),
    "tar bomb": ("t.tar.gz", zeros_gzipped(2**23, before=header("a", size=2**23)), "unpacks to more than the limit of 1,048,576 bytes"),
    "tar bomb of many": ("t.tar.gz", tarred(*(entry(str(k), bytes(2**18)) for k in range(9))), "unpacks to more than the limit"),
    "tar bomb by a record": ("t.tar.gz", tarred(pax((b"size", str(HUGE).encode())), entry("a", b"x")), "unpacks to more than the limit"),
    "tar record that is a bomb": ("t.tar.gz", zeros_gzipped(2**23, before=header("p", size=2**23, kind=tarfile.XHDTYPE)), "a record of 8,388,608 bytes about an entry"),
    "tar name that is a bomb": ("t.tar.gz", zeros_gzipped(2**23, before=header("n", size=2**23, kind=tarfile.GNUTYPE_LONGNAME)), "a record of 8,388,608 bytes about an entry"),
    "tar that promises more": ("t.tar.gz", gzip.compress(header("a", size=5000) + b"x" * 100), "'a' ends too early"),
    "tar with a size that is none": ("t.tar.gz", tarred(pax((b"size", b"-1")), entry("a")), "the size of an entry is '-1'"),
    "tar with a negative size": ("t.tar.gz", tarred(entry("a").replace(b"00000000000\0", b"\xff" * 12, 1)), "the archive cannot be read"),
    "tar with a record that lies": ("t.tar.gz", tarred(entry("pax", b"99 path=a\n", kind=tarfile.XHDTYPE)), "a record about an entry is damaged"),
    "tar with a wrong checksum": ("t.tar.gz", tarred(entry("a").replace(b"a", b"b", 1)), "the archive cannot be read (bad checksum)"),
    "tar cut short": ("t.tar.gz", tarred(entry("a", os.urandom(9999)))[:5000], "the archive cannot be read"),
    "tar of noise": ("t.tar.gz", b"\x1f\x8b\x08\0" + b"\xff" * 99, "the archive cannot be read"),
    "tar not gzipped": ("t.tar.gz", entry("a") + bytes(1024), "the archive cannot be read (Not a gzipped file"),
}  # fmt: skip


@pytest.fixture(params=HOSTILE)
def hostile(request, tmp_path):
    name, content, message = HOSTILE[request.param]
    path = tmp_path / "in" / name
    path.parent.mkdir()
    path.write_bytes(content)
    return path, message


def test_one_clear_reason_and_nothing_outside(hostile, tmp_path):
    path, message = hostile
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError) as caught, opened(Submission("t", path, limits=SMALL), scratch=scratch):
        pass
    line = str(caught.value)
    assert message in line
    assert line.startswith(f"{path}: ")
    assert line.isprintable()
    assert len(line) < 400
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in", "scratch"]
    assert not list(scratch.iterdir())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_a_long_list_is_never_read(tmp_path, monkeypatch):
    """A million entries take half a gigabyte as objects; here not even their list is opened."""
    monkeypatch.setattr(archives.zipfile, "ZipFile", lambda *_: pytest.fail("the list was read"))
    path = tmp_path / "t.zip"
    for content in (listed(10**6), listed(2 * 10**6)):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"lists \d,0\d\d,\d\d\d entries"), opened(Submission("t", path)):
            pass


@pytest.mark.heavy
def test_a_tar_of_a_million_entries(tmp_path):
    path = tmp_path / "t.tgz"
    entries = (tarfile.TarInfo(f"{k}").tobuf(tarfile.USTAR_FORMAT) for k in range(10_100))
    path.write_bytes(zeros_gzipped(512 * (10**6 - 10_100), before=b"".join(entries)))
    with (
        pytest.raises(InputError, match="more than the limit of 10,000 files"),
        opened(Submission("t", path, limits=Limits(entries=10_000))),
    ):
        pass


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_an_empty_mask_is_packed_as_well_as_can_be_and_accepted(tmp_path, suffix):
    """Zeros reach deflate's own limit of 1032 to one; that is no bomb."""
    path = tmp_path / f"t{suffix}"
    mask = bytes(64 << 20)
    path.write_bytes(
        zipped({"case.nii": mask})
        if suffix == ".zip"
        else zeros_gzipped(64 << 20, before=header("case.nii", size=len(mask)))
    )
    assert len(mask) / path.stat().st_size > 1000
    with opened(Submission("t", path)) as files:
        assert files.find(Case("case", expected=("case.nii",))).stat().st_size == len(mask)
    with (
        pytest.raises(InputError, match="unpacks to more than 500 times as much"),
        opened(Submission("t", path), limits=Limits(ratio=500)),
    ):
        pass


@pytest.mark.slow
def test_what_follows_the_end_is_not_unpacked(tmp_path):
    """Zeros, or more entries, behind the end of a tar file is never decompressed."""
    path = tmp_path / "t.tar.gz"
    for more in (gzip.compress(entry("late.nii", b"y") * 99), zeros_gzipped(1 << 26)):
        path.write_bytes(tarred(entry("case.nii", b"x")) + more)
        with opened(Submission("t", path), limits=SMALL) as files:
            assert files.top == ["case.nii"]


def test_archives_within_archives_stay_closed(tmp_path):
    inner = zipped({"case.nii": b"x", "../outside": b"y"})
    path = tmp_path / "t.zip"
    path.write_bytes(zipped({"inner.zip": inner, "inner.tar.gz": tarred(entry("case.nii"))}))
    with opened(Submission("t", path)) as files:
        wanted = [Case("case", expected=("case.nii",))]
        assert files.find(wanted[0]) is None
        assert files.unexpected(wanted) == ["inner.tar.gz: unexpected file", "inner.zip: unexpected file"]
        assert (files.root / "inner.zip").read_bytes() == inner


STRANGE = {
    "new\nline.nii": "new\\nline.nii",
    "\x1b[2Jclear.nii": "\\x1b[2Jclear.nii",
    "bell\x07.nii": "bell\\x07.nii",
    "\u202egnp.nii": "\\u202egnp.nii",
    "n" * 251 + ".nii": "n" * 251 + ".nii",
    "CON": "CON",
    "nul.nii": "nul.nii",
    "what?*.nii": "what?*.nii",
    " space .nii": " space .nii",
    "dot.": "dot.",
    "-rf": "-rf",
    "$(touch executed)": "$(touch executed)",
    "=1+1": "=1+1",
}


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
@pytest.mark.parametrize("name", STRANGE, ids=lambda name: ascii(name[:20]))
def test_strange_names_are_files_like_others(tmp_path, name, suffix):
    """A name that no case asks for does no harm; it is told without its control characters."""
    path = tmp_path / f"t{suffix}"
    content = {name: b"x", "case.nii": b"y"}
    path.write_bytes(
        zipped(content)
        if suffix == ".zip"
        else tarred(*(entry(*each, form=tarfile.GNU_FORMAT) for each in content.items()))
    )
    wanted = [Case("case", expected=("case.nii",))]
    with opened(Submission("t", path)) as files:
        assert files.find(wanted[0]).read_bytes() == b"y"
        assert files.unexpected(wanted) == [f"{STRANGE[name]}: unexpected file"]


def test_names_that_are_not_utf8(tmp_path):
    path = tmp_path / "t.tar.gz"
    path.write_bytes(tarred(entry("caf\udce9.nii", b"x"), pax((b"path", b"\xff\xfe.nii")), entry("a", b"y")))
    with opened(Submission("t", path)) as files:
        assert files.unexpected([]) == ["caf\\udce9.nii: unexpected file", "\\udcff\\udcfe.nii: unexpected file"]
        found = files.find(Case("case", expected=("caf*.nii",)))
        assert os.fsencode(found.name) == b"caf\xe9.nii"


def test_long_names_and_sizes_of_every_kind_of_tar(tmp_path):
    """What Python's own tarfile packs in each of its formats is unpacked to the same files."""
    names = {"a.nii": b"1" * 700, "f/" + "ö" * 60 + "/" + "n" * 120 + ".nii": b"2", "e.nii": b""}
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        path = tmp_path / "t.tar.gz"
        with tarfile.open(path, "w:gz", format=form, pax_headers={"comment": "x"}) as packed:
            for name, content in names.items():
                info = tarfile.TarInfo(f"./{name}")
                info.size, info.mtime = len(content), 1.5
                packed.addfile(info, io.BytesIO(content))
        folder = tmp_path / str(form)
        folder.mkdir()
        unpacking.unpack(path, folder, Limits())
        assert {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*.nii")} == names


def test_a_full_disk_is_not_the_fault_of_an_archive(tmp_path, monkeypatch):
    """There must be room before anything is written, so that one archive never fills the disk of all."""
    usage = unpacking.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(unpacking.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    for suffix, content in ((".zip", zipped({"a": bytes(950)})), (".tar.gz", tarred(entry("a", bytes(950))))):
        path = tmp_path / f"t{suffix}"
        path.write_bytes(content)
        with pytest.raises(OSError, match="too little room") as caught, opened(Submission("t", path)):
            pass
        assert caught.value.errno == errno.ENOSPC
        assert not isinstance(caught.value, InputError)


def test_limits_are_numbers_above_zero():
    for name in ("entries", "unpacked_bytes", "ratio"):
        with pytest.raises(InputError, match=f"the limit {name} is 0"):
            Limits(**{name: 0})


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_the_room_that_is_needed_is_known_before(tmp_path, suffix):
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    for number, size in enumerate((0, 1, 4096, 100_000)):
        (folder / "deep" / f"{number}.bin").write_bytes(bytes(size))
    path = Path(shutil.make_archive(str(tmp_path / "team"), {".zip": "zip", ".tar.gz": "gztar"}[suffix], folder))
    assert unpacking.room_needed(path, Limits()) == 4096 * (1 + 1 + 1 + 25)
    assert sorted(tmp_path.iterdir()) == [folder, path]


def test_an_archive_that_is_refused_is_refused_without_being_unpacked(hostile):
    path, message = hostile
    try:
        line = ""
        unpacking.room_needed(path, SMALL)
    except InputError as error:
        line = str(error)
    left_to_unpacking = path.suffix == ".zip" and not line  # damage to the content of a zip file
    assert left_to_unpacking or message in line


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder on a disk of 8 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=False).returncode:
        pytest.skip("this machine does not let a small disk be mounted")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("alone", [False, True], ids=["an archive", "alone in a folder"])
@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_a_disk_too_small_is_told_with_the_right_name_before_anybody_fails(small_disk, tmp_path, suffix, alone):
    truth, teams = write_landmarks(tmp_path, {"big": {}, "modest": {}, "small": {}})
    for name, size in (("big", 7 * 2**20), ("modest", 2**20), ("small", 10)):
        noise = np.random.default_rng(1).bytes(size)
        (teams / name / "more.bin").write_bytes(noise)
        kind = {".zip": "zip", ".tar.gz": "gztar"}[suffix]
        shutil.make_archive(str(teams / name), kind, teams / name)
        shutil.rmtree(teams / name)
        if alone:
            (teams / name).mkdir()
            (teams / f"{name}{suffix}").rename(teams / name / f"preds{suffix}")
    with pytest.raises(InputError, match="of them big; on this disk there is room for") as caught:
        podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=small_disk / "run", jobs=1)
    assert "modest" not in str(caught.value)
    assert not list((small_disk / "run").glob("*.csv"))
    (teams / "big" / f"preds{suffix}" if alone else teams / f"big{suffix}").rename(tmp_path / "big")
    shutil.rmtree(teams / "big", ignore_errors=True)
    run = podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=small_disk / "other", jobs=1)
    assert set(run.leaderboard.places) == {"modest", "small"}
