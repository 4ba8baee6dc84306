"""Runs that nothing destroys: a finished run is replaced by a whole one or not at all, and others' files stay."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from plugin import write_landmarks
from shared_data import PROJECT
from sixth_challenge import Landmarks
from typer.testing import CliRunner

import podium
from podium.cli import app
from podium.model import InputError
from podium.run import RunFolder, evaluate_into, evaluating

pytestmark = pytest.mark.slow


def tree(folder: Path) -> dict[str, str]:
    """Return a digest of every file, but for what only serves to go on."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "parts" not in path.relative_to(folder).parts and path.name != ".lock"
    }


@pytest.fixture
def folders(tmp_path):
    return write_landmarks(tmp_path, {"one": {"001": "2 0 0"}, "two": {}})


@pytest.fixture
def finished(folders, tmp_path):
    """Return a run with a report and a ranking in it."""
    run = evaluated(folders, tmp_path / "run")
    run.report(bootstrap=20, formats=("svg",), only=["places"])
    podium.rank(run, bootstrap=20, write=True)
    return tmp_path / "run"


def evaluated(folders, out, **options):
    truth, teams = folders
    return podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=out, jobs=1, **options)


def test_a_finished_run_is_refused_and_stays_as_it_is(folders, finished):
    before = tree(finished)
    with pytest.raises(InputError, match=r"a finished run is here\. Add --resume to go on with it, --restart"):
        evaluated(folders, finished)
    assert tree(finished) == before


def test_resume_and_restart_exclude_each_other(folders, finished):
    with pytest.raises(InputError, match="not both"):
        evaluated(folders, finished, resume=True, restart=True)


@pytest.mark.parametrize("options", [{}, {"restart": True}, {"resume": True}])
def test_the_truth_and_the_submissions_are_no_place_for_a_run(folders, options):
    truth, teams = folders
    for place in (truth, truth / "run", teams, teams / "run"):
        before = tree(truth), tree(teams)
        with pytest.raises(InputError, match="the run folder would lie among the"):
            evaluated(folders, place, **options)
        assert (tree(truth), tree(teams)) == before


def test_a_folder_that_is_no_run_is_refused(folders, tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    (place / "notes.csv").write_text("mine")
    with pytest.raises(InputError, match="this folder is not empty, and no run"):
        evaluated(folders, place)
    assert tree(place) == {"notes.csv": hashlib.sha256(b"mine").hexdigest()}
    evaluated(folders, place, restart=True)
    assert (place / "notes.csv").read_text() == "mine"
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="this is not a folder"):
        evaluated(folders, tmp_path / "file")


def test_a_file_with_a_name_of_ours_is_not_overwritten(folders, tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    (place / "leaderboard.csv").write_text("mine")
    with pytest.raises(InputError, match=r"leaderboard\.csv is in this folder, and Podium did not write it"):
        evaluated(folders, place, restart=True)
    assert (place / "leaderboard.csv").read_text() == "mine"


def test_an_empty_folder_will_do(folders, tmp_path):
    (tmp_path / "empty").mkdir()
    assert evaluated(folders, tmp_path / "empty").leaderboard.places == {"two": 1, "one": 2}


def test_restarting_leaves_nothing_of_the_old_run_and_everything_of_others(folders, finished):
    (finished / "notes.txt").write_text("mine")
    (finished / "figures" / "mine.svg").write_text("mine")
    (folders[1] / "one").rename(folders[1] / "uno")
    evaluated(folders, finished, restart=True)
    assert {path.stem for path in (finished / "metrics").iterdir()} == {"two", "uno"}
    names = set(tree(finished))
    assert {"notes.txt", "figures/mine.svg"} <= names
    assert not {"report.html", "ranking.json", "places.csv", "figures/places.svg"} & names


def test_an_evaluation_that_goes_wrong_leaves_the_old_run(folders, finished, monkeypatch):
    before = tree(finished)

    def broken(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(evaluating, "measure_all", broken)
    with pytest.raises(OSError, match="No space"):
        evaluated(folders, finished, restart=True)
    assert tree(finished) == before
    assert podium.load(finished, challenge=Landmarks()).leaderboard.places == {"two": 1, "one": 2}


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, {support!r})
from podium.run import evaluate_into, folder
from sixth_challenge import Landmarks
moves, replace = int(sys.argv[1]), Path.replace

def counted(self, target):
    global moves
    if ".new" in self.parts[-3:] or ".new" in str(self):
        if moves == 0:
            os.kill(os.getpid(), 9)
        moves -= 1
    return replace(self, target)

Path.replace = counted
evaluate_into(Path({out!r}), Landmarks(), truth=Path({truth!r}), submissions=Path({teams!r}), jobs=1, restart=True)
"""


@pytest.mark.heavy
def test_a_kill_at_any_moment_of_a_replacement_leaves_one_whole_run(folders, finished):
    """Kill -9 before each move of a file: what is there afterwards is the old run or the new one, and whole."""
    truth, teams = folders
    support = str(PROJECT / "tests" / "support")
    code = KILLED.format(support=support, out=str(finished), truth=str(truth), teams=str(teams))
    old, replaced = "one", []
    for moves in range(30):
        new = f"team{moves}"
        next(path for path in teams.iterdir() if path.name != "two").rename(teams / new)
        done = subprocess.run([sys.executable, "-c", code, str(moves)], capture_output=True, text=True)
        assert done.returncode in (0, -9), done.stderr
        run = podium.load(finished, challenge=Landmarks())
        submissions = set(run.record.submissions)
        assert submissions in ({old, "two"}, {new, "two"})
        assert set(run.measurements["submission"]) == submissions
        board = json.loads((finished / "leaderboard.json").read_text())
        assert {entry["submission"] for entry in board["entries"]} == submissions
        assert {path.stem for path in (finished / "metrics").iterdir()} == submissions
        assert not (finished / ".new").exists()
        replaced.append(new in submissions)
        old = next(iter(submissions - {"two"}))
        if done.returncode == 0:
            break
    else:
        pytest.fail("it was killed thirty times")
    assert replaced[:2] == [False, True]  # before everything was complete, and after
    assert moves > 5


def test_a_half_written_replacement_is_forgotten(folders, finished):
    before = tree(finished)
    (finished / ".new" / "metrics").mkdir(parents=True)
    (finished / ".new" / "run.json").write_text("{")
    podium.load(finished, challenge=Landmarks())
    assert tree(finished) == before


def test_a_flipped_bit_in_a_part_is_measured_again_and_never_believed(folders, tmp_path):
    run = evaluated(folders, tmp_path / "run")
    before = tree(tmp_path / "run")
    part = RunFolder(tmp_path / "run").parts.path("002")
    whole = part.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        content = bytearray(whole)
        content[place] ^= 1 << (place % 8)
        part.write_bytes(bytes(content))
        again = evaluated(folders, tmp_path / "run", resume=True)
        assert again.kept == 6, place
        assert dict(again.why["not measured yet"]) == {"one": 1, "two": 1}
        assert again.measurements.equals(run.measurements)
    unchanged = evaluated(folders, tmp_path / "run", resume=True)
    assert unchanged.kept == 8
    after = tree(tmp_path / "run")
    assert {name for name in before if before[name] != after[name]} <= {"run.json"}  # its times differ


def test_ranking_under_other_options_leaves_the_published_board(kits21_demo, tmp_path):
    out = tmp_path / "run"
    teams = kits21_demo / "submissions"
    evaluate_into(out, podium.list_challenges()["kits21"].made(), truth=kits21_demo / "truth", submissions=teams)
    before = tree(out)
    result = CliRunner().invoke(app, ["rank", str(out), "--option", "tolerance_scale=2"])
    assert result.exit_code == 0, result.output
    where = out / "rankings" / "tolerance_scale=2.0"
    assert f"Tables are in {where}." in result.stderr
    after = tree(out)
    assert {name: after[name] for name in before if name != ".podium.json"} == {
        name: digest for name, digest in before.items() if name != ".podium.json"
    }
    document = json.loads((where / "leaderboard.json").read_text())
    assert document["options"]["tolerance_scale"] == 2.0
    assert document["schema"] == 2
    assert document["podium"] == podium.__version__
    assert json.loads((out / "leaderboard.json").read_text())["options"]["tolerance_scale"] == 1.0
    result = CliRunner().invoke(app, ["rank", str(out)])
    assert result.exit_code == 0
    assert {name: tree(out)[name] for name in before} == {name: after[name] for name in before}


def test_a_run_folder_does_not_take_another_runs_ranking(finished, folders, tmp_path):
    other = evaluated(folders, tmp_path / "other")
    with pytest.raises(InputError, match="a run is here, whose own board stays"):
        podium.rank(other, bootstrap=0, out=finished)


def test_what_is_added_is_listed_and_what_is_not_ours_is_refused(tmp_path):
    folder = RunFolder(tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    folder.add({"ours/a.txt": b"a", "b.txt": b"b"})
    assert folder.written() == ["b.txt", "ours/a.txt"]
    with pytest.raises(InputError, match="this file is in the way, and Podium did not write it"):
        folder.add({"mine.txt": b"ours"})
    folder.forget(lambda name: name.startswith("ours/"))
    assert folder.written() == ["b.txt"]
    assert not (tmp_path / "ours").exists()
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("how", [{}, {"resume": True}, {"restart": True}])
def test_other_work_of_podium_is_not_replaced(folders, tmp_path, how):
    """A survey of raters, finished or cut short, is no run."""
    survey = RunFolder(tmp_path / "survey", mark="raters.json")
    survey.parts.begin()
    with pytest.raises(InputError, match="this folder holds unfinished work of another kind"):
        evaluated(folders, tmp_path / "survey", **how)
    survey.replace({"raters.json": {}})
    survey.parts.finish()
    with pytest.raises(InputError, match=r"this folder holds what belongs to raters\.json"):
        evaluated(folders, tmp_path / "survey", **how)
    assert (tmp_path / "survey" / "raters.json").is_file()


def test_a_folder_in_the_way_is_refused_before_anything_moves(folders, finished):
    before = tree(finished)
    (finished / "metrics" / "uno.json").mkdir()
    (folders[1] / "one").rename(folders[1] / "uno")
    with pytest.raises(InputError, match=r"uno\.json: this file is in the way"):
        evaluated(folders, finished, restart=True)
    assert tree(finished) == before
    assert podium.load(finished, challenge=Landmarks()).leaderboard.places == {"two": 1, "one": 2}


def test_resuming_what_has_not_changed_keeps_what_followed_from_it(folders, finished):
    before = tree(finished)
    run = evaluated(folders, finished, resume=True)
    assert run.kept == 8
    after = tree(finished)
    assert {name: digest for name, digest in after.items() if name != "run.json"} == {
        name: digest for name, digest in before.items() if name != "run.json"
    }
    assert {"report.html", "ranking.json", "figures/places.svg"} <= set(after)


def test_rankings_under_other_options_go_with_the_run(kits21_demo, tmp_path):
    out, teams = tmp_path / "run", kits21_demo / "submissions"
    kits21 = podium.list_challenges()["kits21"].made()
    evaluate_into(out, kits21, truth=kits21_demo / "truth", submissions=teams)
    podium.rank(out, options={"tolerance_scale": 2}, bootstrap=0, write=True)
    assert (out / "rankings" / "tolerance_scale=2.0" / "leaderboard.csv").is_file()
    evaluate_into(out, kits21.varied(geometry="shape"), truth=kits21_demo / "truth", submissions=teams, restart=True)
    assert (out / "rankings").exists() is False


def test_a_page_of_somebody_else_in_a_folder_is_not_overwritten(finished, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "report.html").write_text("mine")
    ranking = podium.load(finished, challenge=Landmarks()).rank(bootstrap=0)
    with pytest.raises(InputError, match="this file is in the way"):
        ranking.report(tmp_path / "docs", formats=("svg",))
    assert [path.name for path in (tmp_path / "docs").iterdir()] == ["report.html"]


def test_a_demo_does_not_write_over_somebodys_truth(tmp_path):
    (tmp_path / "kits21" / "truth").mkdir(parents=True)
    with pytest.raises(InputError, match="a truth is here that no demo wrote"):
        podium.demo("kits21", out=tmp_path)
