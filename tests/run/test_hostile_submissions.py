"""Folders made to do harm, names that are not for printing, and truth and submissions in each other's folder."""

import csv
import io
import os
import shutil
import tarfile

import label_files
import numpy as np
import pytest
from typer.testing import CliRunner

from podium.challenges import get_challenge
from podium.cli import app
from podium.model import Case, InputError
from podium.run import check_submission
from podium.run.submissions import Files, Limits, Submission, find_submissions, keep_apart, opened

CASE = Case("case", expected=("case.nii", "case"))


@pytest.fixture
def team(tmp_path):
    """Return the folder of a team, beside a file that it must not see."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "case.nii").write_text("secret")
    folder = tmp_path / "teams" / "team"
    folder.mkdir(parents=True)
    return folder


def links(folder, secret):
    (folder / "case.nii").symlink_to(secret / "case.nii")


def links_to_a_process(folder, secret):
    (folder / "case.nii").symlink_to("/proc/self/environ")


def links_nowhere(folder, secret):
    (folder / "case.nii").symlink_to("case.nii")


def a_pipe(folder, secret):
    os.mkfifo(folder / "case.nii")


def a_folder_with_a_link(folder, secret):
    (folder / "case").mkdir()
    (folder / "case" / "GP.npy").symlink_to(secret / "case.nii")


def a_folder_with_a_linked_folder(folder, secret):
    (folder / "case" / "deep").mkdir(parents=True)
    (folder / "case" / "deep" / "more").symlink_to(secret)


def a_folder_with_a_pipe(folder, secret):
    (folder / "case").mkdir()
    os.mkfifo(folder / "case" / "GP.npy")


def a_linked_folder(folder, secret):
    (folder / "case").symlink_to(secret)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (links, "case.nii is a symbolic link, which is not followed"),
        (links_to_a_process, "case.nii is a symbolic link, which is not followed"),
        (links_nowhere, "case.nii is a symbolic link, which is not followed"),
        (a_pipe, "case.nii is not a plain file"),
        (a_folder_with_a_link, "case/GP.npy is a symbolic link, which is not followed"),
        (a_folder_with_a_linked_folder, "case/deep/more is a symbolic link, which is not followed"),
        (a_folder_with_a_pipe, "case/GP.npy is not a plain file"),
        (a_linked_folder, "case is a symbolic link, which is not followed"),
    ],
)
def test_nothing_outside_is_read(team, make, message):
    make(team, team.parents[1] / "secret")
    (team / "other.txt").write_text("")
    with opened(Submission("team", team)) as files, pytest.raises(InputError) as caught:
        files.find(CASE)
    assert str(caught.value) == message
    problems = check_submission(get_challenge("tusrec"), team)
    assert any(message.partition(" ")[2] in problem.what for problem in problems)


def test_files_behind_a_linked_folder_are_not_there(team):
    (team / "predictions").symlink_to(team.parents[1] / "secret")
    with opened(Submission("team", team)) as files:
        assert files.find(Case("case", expected=("predictions/case.nii", "*/case.nii"))) is None
        assert files.unexpected([]) == []


def test_a_linked_folder_is_not_entered_for_being_alone(team):
    (team / "all").symlink_to(team.parents[1] / "secret")
    with opened(Submission("team", team)) as files:
        assert files.root == team
        assert files.find(CASE) is None


def test_a_pipe_is_no_archive(tmp_path):
    os.mkfifo(tmp_path / "team.zip")
    (tmp_path / "other").mkdir()
    assert [submission.name for submission in find_submissions(tmp_path)] == ["other"]
    with (
        pytest.raises(InputError, match="neither a folder nor a plain file"),
        opened(Submission("team", tmp_path / "team.zip")),
    ):
        pass


def test_a_timing_that_is_a_pipe_is_none(team):
    os.mkfifo(team / "timing.csv")
    assert Files(team).timing is None


def test_a_folder_of_too_many(team):
    for k in range(60):
        (team / f"{k}").mkdir()
        (team / f"{k}" / "a").write_text("")
    for most in (59, 119):
        with (
            pytest.raises(InputError, match=f"more than the limit of {most} files and folders"),
            opened(Submission("team", team, limits=Limits(entries=most))),
        ):
            pass
    with opened(Submission("team", team, limits=Limits(entries=120))) as files:
        assert len(files.top) == 60


@pytest.mark.slow
def test_many_files_that_nobody_asked_for_take_no_time(team):
    """Comparing each of 20,000 names with each of 500 that are missing would take an hour."""
    for k in range(20_000):
        (team / f"cose_{k:05d}.nii").write_text("")
    wanted = [Case(f"case_{k:05d}", expected=(f"case_{k:05d}.nii",)) for k in range(500)]
    with opened(Submission("team", team), wanted) as files:
        assert [files.find(each) for each in wanted] == [None] * 500
        remarks = files.unexpected(wanted)
    assert len(remarks) == 51
    assert remarks[0] == "cose_00000.nii: unexpected file, is it meant to be case_00000.nii?"
    assert remarks[-1] == "…: 19,950 more unexpected files"


def test_names_of_teams_are_shown_on_one_line(tmp_path):
    for name in (b"evil\n\x1b[2Jteam", "\u202emaet".encode(), b"plain"):
        (tmp_path / os.fsdecode(name)).mkdir()
    (tmp_path / os.fsdecode(b"caf\xe9.zip")).write_bytes(b"")
    names = [submission.name for submission in find_submissions(tmp_path)]
    assert sorted(names) == ["\\u202emaet", "caf\\udce9", "evil\\n\\x1b[2Jteam", "plain"]


def test_reasons_are_printable(team):
    for name in ("case_\x1b[2J.nii", "case_\n.nii"):
        (team / name).write_text("")
    with opened(Submission("team", team)) as files, pytest.raises(InputError) as caught:
        files.find(Case("case", expected=("case_*.nii",)))
    assert str(caught.value) == "there are 2 predictions of case: case_ .nii, case_\\x1b[2J.nii"
    problems = check_submission(get_challenge("kits21"), team)
    assert {problem.file for problem in problems} == {"case_\\n.nii", "case_\\x1b[2J.nii"}
    assert all(problem.what.isprintable() for problem in problems)


# Truth and submissions: same, inside, around, and through a link


@pytest.fixture
def places(tmp_path):
    """Return a truth and a folder of submissions, both valid."""
    labels = np.zeros((12, 10, 6), np.uint8)
    labels[2:9, 2:8, 1:5] = 1
    labels[4:6, 4:6, 2:4] = 2
    truth, teams = tmp_path / "data" / "truth", tmp_path / "data" / "teams"
    for case in ("case_00000", "case_00001"):
        (truth / case).mkdir(parents=True)
        label_files.write(truth / case / "aggregated_MAJ_seg.nii.gz", label_files.nifti(labels))
        for team in ("careful", "other"):
            (teams / team).mkdir(parents=True, exist_ok=True)
            label_files.write(teams / team / f"{case}.nii.gz", label_files.nifti(labels))
    return truth, teams


def test_places_of_their_own_are_fine(places):
    truth, teams = places
    assert [submission.name for submission in find_submissions(teams, truth=truth)] == ["careful", "other"]
    keep_apart(truth, [teams, truth.with_name("truth2")])


def test_the_same_folder_is_refused(places):
    truth, teams = places
    with pytest.raises(InputError, match=r"this is the folder of the truth\. Keep truth and submissions in folders of"):
        find_submissions(teams, truth=teams)
    with pytest.raises(InputError, match="this is the folder of the truth"):
        check_submission(get_challenge("kits21"), truth, truth=truth)


def test_submissions_inside_the_truth_are_refused(places):
    truth, teams = places
    moved = shutil.move(teams, truth / "teams")
    with pytest.raises(InputError, match="this lies inside the folder of the truth"):
        find_submissions(moved, truth=truth)
    with pytest.raises(InputError, match="this lies inside the folder of the truth"):
        check_submission(get_challenge("kits21"), moved / "careful", truth=truth)


def test_a_truth_among_the_submissions_is_refused(places):
    """It would be a team, and a good one."""
    truth, teams = places
    moved = shutil.move(truth, teams / "truth")
    with pytest.raises(InputError, match="the truth lies inside this folder"):
        find_submissions(teams, truth=moved)
    with pytest.raises(InputError, match="the truth lies inside this folder"):
        find_submissions(teams.parent, truth=moved)


def test_a_truth_inside_a_submission_is_refused(places):
    truth, teams = places
    moved = shutil.move(truth, teams / "careful" / "truth")
    with pytest.raises(InputError, match="the truth lies inside this folder"):
        find_submissions(teams, truth=moved)
    with pytest.raises(InputError, match="the truth lies inside this folder"):
        check_submission(get_challenge("kits21"), teams / "careful", truth=moved)


def test_a_submission_that_is_a_link_to_the_truth_is_refused(places):
    truth, teams = places
    (teams / "oracle").symlink_to(truth)
    with pytest.raises(InputError, match=r"oracle: this is the folder of the truth"):
        find_submissions(teams, truth=truth)
    (teams / "oracle").unlink()
    (teams / "oracle").symlink_to(truth / "case_00000")
    with pytest.raises(InputError, match=r"oracle: this lies inside the folder of the truth"):
        find_submissions(teams, truth=truth)


# A whole run among strangers


def tar_of(path, name, **changes):
    with tarfile.open(path, "w:gz") as packed:
        info = tarfile.TarInfo(name)
        for key, value in changes.items():
            setattr(info, key, value)
        packed.addfile(info, io.BytesIO(b""))


def test_a_run_among_strangers(places, tmp_path, monkeypatch):
    """Nobody stops the run, nobody is executed, and all that is told fits on lines of its own."""
    truth, teams = places
    monkeypatch.chdir(tmp_path)
    tar_of(teams / "climber.tar.gz", "../../outside")
    tar_of(teams / "linker.tgz", "case_00000.nii.gz", type=tarfile.SYMTYPE, linkname="/etc/passwd")
    (teams / "noise.zip").write_bytes(b"PK\x05\x06" + b"\xfe" * 400)
    strange = teams / os.fsdecode(b"evil\n\x1b[2J\xff$(touch executed)")
    strange.mkdir()
    (strange / "case_00000.nii.gz").symlink_to(truth / "case_00000" / "aggregated_MAJ_seg.nii.gz")
    os.mkfifo(strange / "case_00001.nii.gz")
    (strange / os.fsdecode(b"\x1b[31mred\xff.nii.gz")).write_bytes(b"")
    (strange / "timing.csv").write_text('case,seconds\n"x\n\x1b[2J",1\n')
    arguments = ["--truth", truth, "--submissions", teams, "--out", tmp_path / "run", "--jobs", "1"]
    result = CliRunner().invoke(app, ["evaluate", "kits21", *map(str, arguments)])
    assert result.exit_code == 3, result.output + repr(result.exception)
    lines = list(csv.DictReader((tmp_path / "run" / "failures.csv").read_text().splitlines()))
    told = {(line["submission"], line["case"]): line["reason"] for line in lines}
    evil = "evil\\n\\x1b[2J\\udcff$(touch executed)"
    assert "would be unpacked outside" in told["climber", "case_00000"]
    assert "is a symbolic link, not a plain file" in told["linker", "case_00001"]
    assert "the archive cannot be read" in told["noise", "case_00000"]
    assert told[evil, "case_00000"] == "case_00000.nii.gz is a symbolic link, which is not followed"
    assert told[evil, "case_00001"] == "case_00001.nii.gz is not a plain file"
    reasons = {line["reason"] for line in lines if line["submission"] == evil and not line["case"]}
    assert any("has characters that cannot be shown" in reason for reason in reasons)
    assert any("\\x1b[31mred\\udcff.nii.gz: unexpected file" in reason for reason in reasons)
    assert all(value.isprintable() for line in lines for value in line.values())
    assert not (tmp_path / "executed").exists()
    assert not any(path.name == "outside" for path in tmp_path.rglob("*"))
    for written in ("leaderboard.csv", "leaderboard.md", "run.json"):
        text = (tmp_path / "run" / written).read_text(encoding="utf-8")
        assert "\x1b" not in text


def test_the_command_line_refuses_submissions_within_the_truth_and_large_archives(kits21_demo, tmp_path):
    given = ["evaluate", "kits21", "--truth", str(kits21_demo), "--out", str(tmp_path / "run"), "--submissions"]
    result = CliRunner().invoke(app, [*given, str(kits21_demo / "submissions")])
    assert result.exit_code == 1
    assert "truth" in result.stderr
    teams = tmp_path / "teams"
    shutil.copytree(kits21_demo / "submissions" / "careful", teams / "careful")
    shutil.make_archive(str(teams / "packed"), "zip", teams / "careful")
    given[3] = str(kits21_demo / "truth")
    result = CliRunner().invoke(app, [*given, str(teams), "--most-entries", "5"])
    assert result.exit_code == 3
    assert "packed,case_00000,invalid" in (tmp_path / "run" / "failures.csv").read_text()
    assert "more than" in (tmp_path / "run" / "failures.csv").read_text()
