"""Submissions on disk: folders, archives, and what strangers put into them."""

import io
import stat
import tarfile
import zipfile

import pytest

from podium.model import Case, InputError, Role
from podium.run.submissions import Files, Submission, find_submissions, opened


def test_folders_and_archives_are_teams(tmp_path):
    (tmp_path / "zebra").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "notes.txt").write_text("not a team")
    with zipfile.ZipFile(tmp_path / "apple.zip", "w") as packed:
        packed.writestr("apple/case.nii", b"1")
    with tarfile.open(tmp_path / "pear.tar.gz", "w:gz") as packed:
        info = tarfile.TarInfo("case.nii")
        info.size = 3
        packed.addfile(info, io.BytesIO(b"abc"))
    found = find_submissions(tmp_path, baselines=("zebra",))
    assert [(s.name, s.role) for s in found] == [
        ("apple", Role.COMPETITOR),
        ("pear", Role.COMPETITOR),
        ("zebra", Role.BASELINE),
    ]
    for submission, content in zip(found, (b"1", b"abc"), strict=False):
        with opened(submission) as files:
            assert files.find(Case("case", expected=("case.nii",))).read_bytes() == content
            assert files.find(Case("other", expected=("other.nii",))) is None


def test_a_plain_file_is_a_team_where_the_challenge_says_so(tmp_path):
    (tmp_path / "zebra").mkdir()
    for name in ("LVQUAN_apple.mat", "notes.md", ".LVQUAN_hidden.mat"):
        (tmp_path / name).write_text(name)
    assert [submission.name for submission in find_submissions(tmp_path)] == ["zebra"]
    apple, zebra = find_submissions(tmp_path, single_files=("LVQUAN_*.mat",), baselines=("apple",))
    assert (apple.name, apple.role, zebra.name) == ("apple", Role.BASELINE, "zebra")
    with opened(apple) as files:  # and nothing of what lies beside it
        assert files.top == ["LVQUAN_apple.mat"]
        assert files.find(Case("all", expected=("LVQUAN_*.mat",))) == tmp_path / "LVQUAN_apple.mat"
        assert files.timing is None
        assert files.unexpected([]) == []


def test_two_teams_of_one_name_and_none_at_all(tmp_path):
    with pytest.raises(InputError, match="there are no submissions"):
        find_submissions(tmp_path)
    with pytest.raises(InputError, match="not a folder"):
        find_submissions(tmp_path / "nowhere")
    (tmp_path / "case_00000.nii.gz").write_bytes(b"")
    with pytest.raises(InputError, match="only files, as in the folder of one team"):
        find_submissions(tmp_path)
    (tmp_path / "team").mkdir()
    with pytest.raises(InputError, match="Did you mean team"):
        find_submissions(tmp_path, baselines=("teem",))
    (tmp_path / "team.zip").write_bytes(b"")
    with pytest.raises(InputError, match="two submissions are called team"):
        find_submissions(tmp_path)


def tar_with(tmp_path, **changes):
    path = tmp_path / "team.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        info = tarfile.TarInfo(changes.pop("name", "case.nii"))
        for key, value in changes.items():
            setattr(info, key, value)
        packed.addfile(info, io.BytesIO(b""))
    return path


def damaged_zip(tmp_path):
    path = tmp_path / "team.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("case.nii", bytes(range(256)) * 40)
    content = bytearray(path.read_bytes())
    content[60:90] = b"\xff" * 30
    path.write_bytes(content)
    return path


def twice_zip(tmp_path):
    path = tmp_path / "team.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a", "x")
        packed.writestr("a/b", "x")
    return path


def encrypted_zip(tmp_path):
    path = zip_with(tmp_path, "case.nii")
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag in the entry, and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    return path


def zip_with(tmp_path, name, mode=stat.S_IFREG):
    path = tmp_path / "team.zip"
    with zipfile.ZipFile(path, "w") as packed:
        info = zipfile.ZipInfo(name)
        info.external_attr = (mode | 0o644) << 16
        packed.writestr(info, "target")
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: tar_with(p, name="../outside"), "outside the submission"),
        (lambda p: tar_with(p, name="/etc/outside"), "outside the submission"),
        (lambda p: tar_with(p, type=tarfile.SYMTYPE, linkname="/etc/passwd"), "not a plain file"),
        (lambda p: tar_with(p, type=tarfile.LNKTYPE, linkname="x"), "not a plain file"),
        (lambda p: tar_with(p, type=tarfile.CHRTYPE), "not a plain file"),
        (lambda p: tar_with(p, type=tarfile.FIFOTYPE), "not a plain file"),
        (lambda p: zip_with(p, "../outside"), "outside the submission"),
        (lambda p: zip_with(p, "a\\..\\..\\outside"), "outside the submission"),
        (lambda p: zip_with(p, "link", stat.S_IFLNK), "not a plain file"),
        (damaged_zip, "cannot be read"),
        (twice_zip, "cannot be read"),
        (encrypted_zip, "is encrypted"),
        (lambda p: zip_with(p, "n" * 300), "cannot be read"),
        (lambda p: (p / "team.zip").write_bytes(b"PK\x03\x04 no") and p / "team.zip", "cannot be read"),
        (lambda p: (p / "team.tar.gz").write_bytes(b"\x1f\x8b no") and p / "team.tar.gz", "cannot be read"),
    ],
)
def test_archives_let_nothing_out(tmp_path, make, message):
    path = make(tmp_path)
    with pytest.raises(InputError, match=message), opened(Submission("team", path)):
        pass
    assert not (tmp_path.parent / "outside").exists()


def test_links_in_folders_are_not_followed(tmp_path):
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "case.nii").symlink_to(tmp_path / "secret")
    with opened(Submission("team", folder)) as files, pytest.raises(InputError, match="symbolic link, which is not"):
        files.find(Case("case", expected=("case.nii",)))


def test_other_archives_do_not_disappear(tmp_path):
    (tmp_path / "UPPER.ZIP").write_bytes(b"")
    assert [s.name for s in find_submissions(tmp_path)] == ["UPPER"]
    (tmp_path / "team.7z").write_bytes(b"")
    with pytest.raises(InputError, match=r"team\.7z is neither a folder nor a \.zip or \.tar\.gz"):
        find_submissions(tmp_path)


def test_people_are_references(tmp_path):
    (tmp_path / "experts").mkdir()
    assert find_submissions(tmp_path, references=("experts",))[0].role is Role.REFERENCE


def test_a_folder_that_is_a_prediction_is_not_entered(tmp_path):
    (tmp_path / "sub050__RH").mkdir()
    (tmp_path / "sub050__RH" / "GP.npy").write_bytes(b"")
    wanted = [Case("sub050__RH", expected=("sub050__RH.h5", "sub050__RH"))]
    with opened(Submission("team", tmp_path), wanted) as files:
        assert files.find(wanted[0]) == tmp_path / "sub050__RH"


def test_patterns_and_names_nearly_right(tmp_path):
    for name in ("LVQUAN_a.mat", "case_0001.nii.gz", "readme.txt"):
        (tmp_path / name).write_text("")
    with opened(Submission("team", tmp_path)) as files:
        assert files.find(Case("all", expected=("LVQUAN_*.mat",))).name == "LVQUAN_a.mat"
        wanted = Case("case_00001", expected=("case_00001.nii.gz",))
        assert files.find(wanted) is None
        assert files.unexpected([wanted]) == [
            "case_0001.nii.gz: unexpected file, is it meant to be case_00001.nii.gz?",
            "readme.txt: unexpected file",
        ]
        (tmp_path / "LVQUAN_b.mat").write_text("")
    with opened(Submission("team", tmp_path)) as files, pytest.raises(InputError, match="2 predictions of all"):
        files.find(Case("all", expected=("LVQUAN_*.mat",)))


@pytest.mark.parametrize("folder", ["images", "output", "case_00000", "a/b/c/d/e/f"])
def test_one_folder_that_holds_everything_may_be_called_anything(tmp_path, folder):
    """Also like a folder in which predictions may lie deeper."""
    expected = ("case_00000.nii.gz", "images/kidneys/case_00000.mha", "case_00000/output/images/*.mha")
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "case_00000.nii.gz").touch()
    case = Case("case_00000", expected=expected)
    assert Files(tmp_path, [case]).find(case) == tmp_path / folder / "case_00000.nii.gz"


def test_what_is_passed_over_is_said_with_what_was_taken(tmp_path):
    for name in ("a.nii.gz", "a.mha", "b.mh"):
        (tmp_path / name).touch()
    cases = [Case(name, expected=(f"{name}.nii.gz", f"{name}.mha")) for name in "ab"]
    with opened(Submission("team", tmp_path), cases) as files:
        assert [files.find(case) for case in cases] == [tmp_path / "a.nii.gz", None]
        assert files.unexpected(cases) == [
            "a.mha: unexpected file: a.nii.gz is taken in its place",
            "b.mh: unexpected file",
        ]
