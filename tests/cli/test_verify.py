"""`podium verify`: what it prints for a run that is what it says, and for one that is not."""

import json

import pytest
from plugin import installed, write_landmarks

import podium


@pytest.fixture
def verified(run, tmp_path):
    """Return a function that verifies a run of the sixth challenge, and the folders of the run and of its teams."""
    (tmp_path / "site").mkdir()
    truth, teams = write_landmarks(tmp_path, {"one": {"001": "2 0 0"}, "two": {}, "copy": {}})
    with installed(tmp_path / "site"):
        podium.evaluate("landmarks", truth=truth, submissions=teams, out=tmp_path / "run")
        yield lambda *more: run("verify", tmp_path / "run", *more), tmp_path / "run", teams


def test_nothing_differs(verified):
    verify, _, _ = verified
    result = verify()
    assert result.exit_code == 0, result.output
    assert "16 input files hashed: nothing differs." in result.stderr
    assert "4 cases measured again (001, 002, 003, 004): nothing differs." in result.stderr
    assert "ranked again: nothing differs." in result.stderr
    assert (
        "copy and two are identical: 100 % of their files and 100 % of their measured cases are equal." in result.stdout
    )


def test_what_differs_is_named(verified):
    verify, folder, teams = verified
    (teams / "one" / "001.txt").write_text("3 0 0")
    board = folder / "leaderboard.json"
    board.write_text(board.read_text().replace('"place": 3', '"place": 1'))
    result = verify("--json")
    assert result.exit_code == 3
    document = json.loads(result.stdout)
    assert document["inputs"] == [{"of": "one", "file": "001.txt", "what": "has changed"}]
    assert document["measurements"] == [{"submission": "one", "case": "001", "what": "distance is 3.0, was 2.0"}]
    assert document["ranking"] == ["one has place 3, the leaderboard says 1"]
    assert "one: 001.txt has changed" in verify().stdout


@pytest.fixture
def long_run(run, tmp_path):
    """Return a run of thirty cases, and the folder of its teams."""
    (tmp_path / "site").mkdir()
    texts = {"001": "2 0 0", "002": "", "003": "5 0 0"}
    truth, teams = write_landmarks(tmp_path, {"a": {}, "b": {}, "c": texts}, cases=30)
    with installed(tmp_path / "site"):
        podium.evaluate("landmarks", truth=truth, submissions=teams, out=tmp_path / "run")
        yield tmp_path / "run", teams


def test_submissions_that_are_nearly_one_are_told_from_those_that_are(run, long_run):
    result = run("verify", long_run[0], "--sample", 3)
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "a and b are identical: 100 % of their files and 100 % of their measured cases are equal.\n"
        "a and c are nearly identical: 90 % of their files and 90 % of their measured cases are equal.\n"
        "b and c are nearly identical: 90 % of their files and 90 % of their measured cases are equal.\n"
    )


def test_many_differences_are_counted_and_the_first_shown(run, long_run):
    folder, teams = long_run
    for number in range(1, 31):
        (teams / "b" / f"{number:03}.txt").write_text("7 0 0")
    result = run("verify", folder, "--sample", 0)
    assert result.exit_code == 3
    assert "119 input files hashed: 30 differ." in result.stderr
    assert "0 cases measured again: nothing differs." in result.stderr
    assert result.stdout.count(" has changed\n") == 20
    assert "  and 10 more\n" in result.stdout


def test_what_is_no_run_is_one_line(run, tmp_path):
    result = run("verify", tmp_path)
    assert result.exit_code == 1
    assert "this is not a run folder" in result.stderr
    assert result.stderr.count("\n") == 1


def test_one_of_anything_is_said_as_one(run, tmp_path):
    (tmp_path / "site").mkdir()
    truth, teams = write_landmarks(tmp_path, {"one": {}}, cases=1)
    with installed(tmp_path / "site"):
        podium.evaluate("landmarks", truth=truth, submissions=teams, out=tmp_path / "run")
        (teams / "one" / "001.txt").unlink()
        (teams / "one").rmdir()
        result = run("verify", tmp_path / "run")
    assert "1 differs.\n1 case measured again (001): 1 differs." in result.stderr
    assert "one: cannot be opened" in result.stdout
