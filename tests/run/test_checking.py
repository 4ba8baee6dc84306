"""Would a submission be accepted? Every problem at once, and the same that an evaluation says."""

import json
import os
import shutil
from typing import ClassVar

import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

from podium.challenges import challenges, get_challenge
from podium.model import InputError
from podium.run import Problem, Submission, check_submission, find_submissions, measure_all
from podium.testing import assert_check_agrees

NAMES = sorted(challenges())
NUMBERS = ("001", "002", "003", "004")


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
def test_incomplete_timing_is_a_warning(demos, tmp_path):
    folder = demos / "csv2026"
    shutil.copytree(folder / "submissions" / "careful", tmp_path / "team")
    lines = (tmp_path / "team" / "timing.csv").read_text().splitlines()
    (tmp_path / "team" / "timing.csv").write_text("\n".join([*lines[:-1], "zz,1.0"]) + "\n")
    problems = check_submission(get_challenge("csv2026"), tmp_path / "team", truth=folder / "truth")
    assert all(problem.warning for problem in problems)
    what = [problem.what for problem in problems]
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
    nothing = Problem("", "there is no prediction in this submission")
    assert check_submission(Landmarks(), teams / "empty") == [nothing]
    (teams / "empty" / "timing.csv").write_text("case,seconds\n001,1\n")
    assert check_submission(Landmarks(), teams / "empty") == [nothing]


def test_what_a_challenge_sees_by_itself_is_said_in_its_words(folders, monkeypatch):
    truth, teams = folders
    monkeypatch.setattr(Landmarks, "check", lambda self, case, prediction: [f"{prediction}: looks odd", "is green"])
    said = {number: [Problem(f"{number}.txt", what) for what in ("is green", "looks odd")] for number in NUMBERS}
    assert check_submission(Landmarks(), teams / "good") == [line for lines in said.values() for line in lines]
    assert check_submission(Landmarks(), teams / "good", truth=truth) == []
    expected = [Problem("001.txt", "missing"), *said["002"], *said["003"]]
    assert check_submission(Landmarks(), teams / "bad", truth=truth) == expected


def test_what_a_challenge_doubts_is_a_warning_with_the_truth_and_without(folders, monkeypatch):
    truth, teams = folders

    def doubts(self, case, truth, prediction):
        return [f"{prediction}: {case.name if case else 'something'} is at {truth}"]

    monkeypatch.setattr(Landmarks, "doubts", doubts)
    assert check_submission(Landmarks(), teams / "good") == [
        Problem(f"{number}.txt", "something is at None", warning=True) for number in NUMBERS
    ]
    assert check_submission(Landmarks(), teams / "good", truth=truth) == [
        Problem(f"{number}.txt", f"{number} is at [0.0, 0.0, 0.0]", warning=True) for number in NUMBERS
    ]


def test_what_a_file_makes_a_library_raise_is_said_and_ends_nothing(folders, monkeypatch):
    truth, teams = folders

    def fail(*_):
        raise ValueError("too strange")

    with monkeypatch.context() as patch:
        patch.setattr(Landmarks, "check", fail)
        refused = [p for p in check_submission(Landmarks(), teams / "bad", truth=truth) if p.file == "002.txt"]
        assert refused == [Problem("002.txt", "it cannot be read (ValueError: too strange)")]
    monkeypatch.setattr(Landmarks, "doubts", fail)
    doubt = "it cannot be looked at closely (ValueError: too strange)"
    for given in (None, truth):
        assert check_submission(Landmarks(), teams / "good", truth=given) == [
            Problem(f"{number}.txt", doubt, warning=True) for number in NUMBERS
        ]


def test_check_and_evaluate_agree(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"good": {}})
    assert_check_agrees(Landmarks(), truth=truth, submission=teams / "good", scratch=tmp_path / "scratch")


def test_what_nnunet_writes_beside_its_predictions_is_not_mentioned(folders):
    truth, teams = folders
    for name in ("dataset.json", "plans.json", "predict_from_raw_data_args.json"):
        (teams / "good" / name).write_text("{}")
    for given in (None, truth):
        assert check_submission(Landmarks(), teams / "good", truth=given) == []
    evaluation = measure_all(Landmarks(), truth=truth, submissions=[Submission("good", teams / "good")])
    assert evaluation.failures == []


class Named(Landmarks):
    """Says how predictions are called."""

    naming: ClassVar = ("[0-9]*.txt",)


def test_names_that_are_known_without_the_truth(folders):
    _, teams = folders
    (teams / "good" / "notes.md").touch()
    (teams / "good" / "link").symlink_to(teams)
    assert check_submission(Named(), teams / "good") == [
        Problem("link", "is a symbolic link, which is not followed", warning=True),
        Problem("notes.md", "unexpected file: predictions are called [0-9]*.txt", warning=True),
    ]
    (teams / "good" / "007.txt").symlink_to(teams / "good" / "001.txt")
    assert Problem("007.txt", "is a symbolic link, which is not followed") in check_submission(Named(), teams / "good")


class Deep(Landmarks):
    """Takes predictions from the folder of a case, too."""

    naming: ClassVar = ("[0-9]*.txt", "*/out/*.txt")


def test_a_link_is_a_problem_only_where_a_prediction_may_lie(folders):
    _, teams = folders
    what = "is a symbolic link, which is not followed"
    for name in ("link", "007/notes.txt", "007/out/notes.txt"):
        path = teams / "good" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(teams)
    problems = check_submission(Deep(), teams / "good")
    assert {p for p in problems if not p.warning} == {Problem("007/out/notes.txt", what)}
    assert {Problem("link", what, warning=True), Problem("007/notes.txt", what, warning=True)} <= set(problems)


def test_a_folder_of_several_teams_is_one_problem(folders):
    truth, teams = folders
    several = Problem("", "this holds several teams (bad, good): check one of them at a time")
    assert check_submission(Named(), teams, truth=truth) == check_submission(Named(), teams) == [several]
    assert check_submission(Landmarks(), teams, truth=truth) == [several]
    for name in ("bad", "good"):
        shutil.make_archive(str(teams / name), "zip", teams / name)
        shutil.rmtree(teams / name)
    packed = Problem("", "this holds several teams (bad.zip, good.zip): check one of them at a time")
    assert check_submission(Named(), teams, truth=truth) == check_submission(Named(), teams) == [packed]


def test_teams_that_sent_nothing_but_an_archive_are_seen(folders, tmp_path):
    """As organisers ask for team/preds.tar.gz; given as one submission, or as the only team among the submissions."""
    truth, teams = folders
    for name in ("bad", "good"):
        shutil.make_archive(str(tmp_path / "packed" / name / "preds"), "gztar", teams / name)
    several = Problem("", "this holds several teams (bad, good): check one of them at a time")
    for given in (truth, None):
        assert check_submission(Named(), tmp_path / "packed", truth=given) == [several]
    with pytest.raises(InputError, match=r"this holds several teams \(bad, good\)"):
        measure_all(Named(), truth=truth, submissions=[Submission("packed", tmp_path / "packed")])


def test_no_common_name_is_one_problem(folders):
    truth, teams = folders
    for path in (teams / "good").iterdir():
        path.rename(path.with_name(f"point {path.name}"))
    wanted = "001.txt, 002.txt, 003.txt and 1 more expected, there are point 001.txt, point 002.txt, point 003.txt and"
    assert check_submission(Landmarks(), teams / "good", truth=truth) == [
        Problem("", f"truth and predictions share no name: {wanted} 1 more")
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
    nothing = Problem("timing.csv", "no case has a time", warning=True)
    assert check_submission(Landmarks(), teams / "team", truth=truth) == [nothing]


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
