"""Would a submission be accepted? Every problem at once, and the same that an evaluation says."""

import json
import os
import shutil

import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

from podium.challenges import challenges, get_challenge
from podium.model import InputError
from podium.run import Problem, check_submission, find_submissions

NAMES = sorted(challenges())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_good_submission_passes_the_check_and_a_bad_one_does_not(demos, name):
    board = json.loads((demos / name / "run" / "leaderboard.json").read_text())
    winner = board["entries"][0]["submission"]
    challenge, truth = get_challenge(name), demos / name / "truth"
    submissions = {s.name: s.path for s in find_submissions(demos / name / "submissions")}
    assert check_submission(challenge, submissions[winner], truth=truth) == []
    assert check_submission(challenge, submissions[winner]) == []
    problems = check_submission(challenge, submissions["unlucky"], truth=truth)
    assert len(problems) >= 2
    assert all(str(demos) not in problem.file + problem.what for problem in problems)


@pytest.mark.slow
def test_incomplete_timing_is_a_problem(demos, tmp_path):
    folder = demos / "csv2026"
    shutil.copytree(folder / "submissions" / "careful", tmp_path / "team")
    lines = (tmp_path / "team" / "timing.csv").read_text().splitlines()
    (tmp_path / "team" / "timing.csv").write_text("\n".join([*lines[:-1], "zz,1.0"]) + "\n")
    what = [p.what for p in check_submission(get_challenge("csv2026"), tmp_path / "team", truth=folder / "truth")]
    assert any("there is no case called zz" in problem for problem in what)
    assert any("has no time" in problem for problem in what)
    (tmp_path / "empty").mkdir()
    assert check_submission(get_challenge("csv2026"), tmp_path / "empty")


@pytest.fixture
def folders(tmp_path):
    texts = {"001": "", "002": "nothing", "003": "1 0 inf"}
    return write_landmarks(tmp_path, {"good": {}, "bad": texts})


def test_every_problem_is_told_at_once_in_order_and_in_the_words_of_an_evaluation(folders):
    truth, teams = folders
    (teams / "bad" / "04.txt").write_text("1 0 0")
    (teams / "bad" / "004.txt").unlink()
    (teams / "bad" / "004.txt").symlink_to(teams / "good" / "004.txt")
    (teams / "bad" / "timing.csv").write_text("case,seconds\n001,soon\n")
    problems = check_submission(Landmarks(), teams / "bad", truth=truth)
    assert problems == sorted(problems)
    assert {problem.file: problem.what for problem in problems} == {
        "001.txt": "missing",
        "002.txt": "this is no point: three numbers are expected",
        "003.txt": "a point has three finite numbers, not [1.0, 0.0, inf]",
        "004.txt": "004.txt is a symbolic link, which is not followed",
        "04.txt": "unexpected file, is it meant to be 004.txt?",
        "timing.csv": "line 2: seconds are 'soon', not a number from 0 to 1e+07",
    }
    assert check_submission(Landmarks(), teams / "good", truth=truth) == []


def test_without_the_truth_names_and_kinds_are_all_that_can_be_seen(folders):
    _, teams = folders
    assert check_submission(Landmarks(), teams / "bad") == []
    os.mkfifo(teams / "bad" / "pipe")
    (teams / "bad" / "link").symlink_to(teams)
    assert check_submission(Landmarks(), teams / "bad") == [
        Problem("link", "is a symbolic link, which is not followed"),
        Problem("pipe", "is not a plain file"),
    ]
    (teams / "empty").mkdir()
    assert check_submission(Landmarks(), teams / "empty") == [Problem("", "there is nothing in this submission")]


def test_what_a_challenge_sees_by_itself_is_said_in_its_words(folders, monkeypatch):
    truth, teams = folders
    monkeypatch.setattr(Landmarks, "check", lambda self, case, prediction: [f"{prediction}: looks odd", "is green"])
    for given in (None, truth):
        problems = check_submission(Landmarks(), teams / "good", truth=given)
        assert problems == [
            Problem(f"00{number}.txt", what) for number in (1, 2, 3, 4) for what in ("is green", "looks odd")
        ]


def test_an_archive_is_checked_like_a_folder(folders, tmp_path):
    truth, teams = folders
    shutil.make_archive(str(tmp_path / "bad"), "zip", teams, "bad")
    assert check_submission(Landmarks(), tmp_path / "bad.zip", truth=truth) == check_submission(
        Landmarks(), teams / "bad", truth=truth
    )


def test_times_of_a_single_case_may_be_those_of_its_rows(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"team": {}}, cases=1)
    (teams / "team" / "timing.csv").write_text("case,seconds\nrow-1,1\nrow-2,2\n")
    assert check_submission(Landmarks(), teams / "team", truth=truth) == []
    (teams / "team" / "timing.csv").write_text("case,seconds\n")
    assert check_submission(Landmarks(), teams / "team", truth=truth) == [Problem("timing.csv", "no case has a time")]


def test_what_is_not_there_or_cannot_be_opened_is_said(folders, tmp_path):
    truth, _ = folders
    with pytest.raises(InputError, match="there is nothing here"):
        check_submission(Landmarks(), tmp_path / "nowhere", truth=truth)
    (tmp_path / "broken.zip").write_bytes(b"nothing")
    with pytest.raises(InputError, match="the archive cannot be read"):
        check_submission(Landmarks(), tmp_path / "broken.zip", truth=truth)


def test_a_challenge_that_is_at_fault_is_said_to_be(folders, monkeypatch):
    truth, teams = folders
    monkeypatch.setattr(Landmarks, "measure", lambda *_: None)
    with pytest.raises(InputError, match=r"Landmarks itself is at fault \(001: measure returned NoneType"):
        check_submission(Landmarks(), teams / "good", truth=truth)
