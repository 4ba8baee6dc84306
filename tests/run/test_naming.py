"""Names that tell of a wrong folder: an evaluation stops with one line before anything is written."""

import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

import podium
from podium.model import Case, InputError
from podium.run.naming import nothing_in_common, teams_within
from podium.run.parts import LOCK
from podium.run.submissions import Files


@pytest.fixture
def folders(tmp_path):
    return write_landmarks(tmp_path, {"one": {}, "two": {}})


def rename_all(teams):
    for path in sorted(teams.glob("*/*.txt")):
        path.rename(path.with_name(f"p{path.name}"))


def written(folder):
    return {path.name for path in folder.iterdir()} - {LOCK}


def evaluated(truth, teams, out, **options):
    return podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=out, **options)


def test_no_common_name_stops_an_evaluation_before_a_run_is_written(folders, tmp_path):
    truth, teams = folders
    rename_all(teams)
    with pytest.raises(InputError) as caught:
        evaluated(truth, teams, tmp_path / "run")
    assert str(caught.value) == (
        "truth and predictions share no name: 001.txt, 002.txt, 003.txt and 1 more expected, "
        "there are p001.txt, p002.txt, p003.txt and 1 more. "
        "Is this the truth of these submissions? podium check looks at one of them"
    )
    assert written(tmp_path / "run") == set()
    (teams / "one" / "p001.txt").rename(teams / "one" / "001.txt")
    evaluated(truth, teams, tmp_path / "run")
    assert "run.json" in written(tmp_path / "run")


def test_a_run_that_was_there_stays(folders, tmp_path):
    truth, teams = folders
    evaluated(truth, teams, tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    rename_all(teams)
    for how in ("resume", "restart"):
        with pytest.raises(InputError, match="share no name"):
            evaluated(truth, teams, tmp_path / "run", **{how: True})
        assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_one_name_is_enough(folders, tmp_path):
    truth, teams = folders
    rename_all(teams)
    (teams / "two" / "p002.txt").rename(teams / "two" / "002.txt")
    run = evaluated(truth, teams, tmp_path / "run")
    assert set(run.failures.filter(run.failures["status"] == "missing")["submission"]) == {"one", "two"}


def test_an_empty_submission_is_one_that_failed(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"one": dict.fromkeys(("001", "002", "003", "004"), "")})
    run = evaluated(truth, teams, tmp_path / "run")
    assert run.failures["status"].to_list() == ["missing"] * 4


def test_the_folder_above_that_of_the_teams_is_named(folders, tmp_path):
    truth, teams = folders
    above = tmp_path / "above"
    above.mkdir()
    teams.rename(above / "teams")
    with pytest.raises(InputError, match=r"teams: this holds several teams \(one, two\). Give this folder as the sub"):
        evaluated(truth, above, tmp_path / "run")
    assert written(tmp_path / "run") == set()


def test_teams_are_folders_with_predictions_and_archives(tmp_path):
    cases = [Case("a", expected=("a.txt", "deep/a.txt")), Case("b", expected=("b_*.txt",))]
    for name in ("one/a.txt", "two/b_1.txt", "three/deep/a.txt", "four/notes.txt", "readme.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert teams_within(Files(tmp_path), cases) == "one, three, two"
    assert teams_within(Files(tmp_path / "one"), cases) == ""
    for name in ("x.zip", "y.tar.gz"):
        (tmp_path / "four" / name).touch()
    assert teams_within(Files(tmp_path / "four"), cases) == "x.zip, y.tar.gz"
    assert nothing_in_common(cases, [Files(tmp_path / "four")]).endswith("there are notes.txt, x.zip, y.tar.gz")
    assert nothing_in_common(cases, []) == ""
