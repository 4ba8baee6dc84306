"""The run folder as a place: never half written, and nothing deleted that Podium did not write."""

import json

import pytest

from podium.model import InputError
from podium.run import RunFolder, sole_writer


@pytest.fixture
def place(tmp_path):
    return tmp_path / "run"


def content(place):
    """Return all visible files by their path inside a folder."""
    paths = (path.relative_to(place) for path in place.rglob("*") if path.is_file())
    return {str(path): (place / path).read_bytes() for path in paths if not path.parts[0].startswith(".")}


FIRST = {"run.json": b"1", "metrics/a.json": b"a", "metrics/b.json": b"b", "leaderboard.csv": b"1"}
SECOND = {"run.json": b"2", "metrics/c.json": b"c"}


def test_a_second_run_leaves_nothing_of_the_first_and_everything_else(place):
    folder = RunFolder(place)
    folder.replace(FIRST)
    assert content(place) == FIRST
    assert folder.finished
    (place / "metrics" / "notes.txt").write_text("mine")
    (place / "notes.txt").write_text("mine")
    folder.replace(SECOND)
    assert content(place) == SECOND | {"metrics/notes.txt": b"mine", "notes.txt": b"mine"}
    assert sorted(folder.written()) == sorted(SECOND)
    assert not (place / ".new").exists()


def test_folders_that_become_empty_go(place):
    folder = RunFolder(place)
    folder.replace(FIRST | {"figures/cases/a.svg": b""})
    folder.replace({"run.json": b"2"})
    assert content(place) == {"run.json": b"2"}
    assert not (place / "metrics").exists()
    assert not (place / "figures").exists()


@pytest.mark.parametrize("moved", range(4))
def test_a_replacement_that_was_cut_short_is_carried_on_with(place, moved, monkeypatch):
    """The machine stops after some of the new files are in their place."""
    folder = RunFolder(place)
    folder.replace(FIRST)
    new = SECOND | {"metrics/d.json": b"d", "leaderboard.csv": b"2"}
    path_type, done = type(place), []
    replace = path_type.replace

    def dying(self, target):
        if ".new" not in self.parts or ".new" in target.parts:
            return replace(self, target)
        if len(done) == moved:
            raise KeyboardInterrupt
        done.append(self)
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(path_type, "replace", dying)
        with pytest.raises(KeyboardInterrupt):
            folder.replace(new)
    assert (place / "run.json").read_bytes() == b"1", "what makes it a run comes last"
    RunFolder(place).recover()
    assert content(place) == new
    assert sorted(RunFolder(place).written()) == sorted(new)


@pytest.mark.parametrize("plan", [None, "{", "[]", '{"files": []}', '{"files": 3, "before": []}'])
def test_a_replacement_that_was_not_complete_is_forgotten(place, plan):
    folder = RunFolder(place)
    folder.replace(FIRST)
    (place / ".new").mkdir()
    (place / ".new" / "run.json").write_bytes(b"2")
    if plan is not None:
        (place / ".new" / "complete.json").write_text(plan)
    folder.recover()
    assert content(place) == FIRST
    assert not (place / ".new").exists()


def test_what_somebody_else_is_writing_is_left_to_them(place):
    folder = RunFolder(place)
    folder.replace(FIRST)
    (place / ".new").mkdir()
    (place / ".new" / "half.json").write_bytes(b"2")
    with sole_writer(place):
        RunFolder(place).recover()
        assert (place / ".new" / "half.json").exists()
    RunFolder(place).recover()
    assert not (place / ".new").exists()


def test_a_list_that_somebody_else_made_reaches_nothing_outside(place, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (place / ".new").mkdir(parents=True)
    (place / ".new" / "run.json").write_bytes(b"2")
    names = ["../outside.txt", str(outside), "a/../../outside.txt", ""]
    (place / ".new" / "complete.json").write_text(json.dumps({"files": ["run.json", *names], "before": names}))
    folder = RunFolder(place)
    folder.recover()
    assert content(place) == {"run.json": b"2"}
    (place / ".podium.json").write_text(json.dumps({"files": names}))
    folder.forget(lambda _: True)
    with pytest.raises(InputError, match="this file is in the way, and Podium did not write it"):
        folder.replace(SECOND)  # a list that is not ours does not say that this run is
    assert outside.read_text() == "mine"


def test_what_is_there_is_refused_unless_it_is_a_run_to_resume_or_make_anew(place):
    folder = RunFolder(place)
    folder.begin(resume=False, restart=False)
    place.mkdir()
    with sole_writer(place):
        pass
    folder.begin(resume=False, restart=False)  # a folder in which only the lock lies is empty
    folder.parts.begin()
    with pytest.raises(InputError, match=r"an unfinished run is here, with 0 cases measured\. Add --resume"):
        folder.begin(resume=False, restart=False)
    folder.replace(FIRST)
    folder.parts.finish()
    with pytest.raises(InputError, match="a finished run is here"):
        folder.begin(resume=False, restart=False)
    folder.begin(resume=True, restart=False)
    folder.begin(resume=False, restart=True)


def test_a_folder_of_something_else_is_refused(place):
    place.mkdir()
    (place / "thesis.tex").write_text("years")
    folder = RunFolder(place)
    with pytest.raises(InputError, match="this folder is not empty, and no run"):
        folder.begin(resume=False, restart=False)
    (place / "file").touch()
    with pytest.raises(InputError, match="this is not a folder"):
        RunFolder(place / "file").begin(resume=False, restart=True)


@pytest.mark.parametrize("name", ["leaderboard.csv", "metrics/mine.json", "parts/mine.part"])
def test_what_podium_would_overwrite_and_did_not_write_is_refused(place, name):
    (place / name).parent.mkdir(parents=True)
    (place / name).write_text("mine")
    for how in ({"resume": True, "restart": False}, {"resume": False, "restart": True}):
        with pytest.raises(InputError, match=f"{name.partition('/')[0]} is in this folder, and Podium did not write"):
            RunFolder(place).begin(**how)


def test_a_run_without_its_run_json_can_be_made_anew(place):
    folder = RunFolder(place)
    folder.parts.begin()
    folder.replace(FIRST)
    folder.parts.finish()
    (place / "run.json").unlink()
    folder.begin(resume=False, restart=True)


def test_files_of_others_are_in_the_way(place):
    folder = RunFolder(place)
    folder.replace(FIRST)
    (place / "report.html").write_text("mine")
    with pytest.raises(InputError, match="this file is in the way, and Podium did not write it"):
        folder.add({"report.html": b"new"})
    assert (place / "report.html").read_text() == "mine"
    folder.add({"report.html": b"new"}, overwrite=True)
    folder.add({"report.html": b"newer", "figures/a.svg": b"a"})  # from now on it is Podium's
    assert content(place) == FIRST | {"report.html": b"newer", "figures/a.svg": b"a"}
    folder.forget(lambda name: name.startswith("figures/"))
    assert content(place) == FIRST | {"report.html": b"newer"}
    assert not (place / "figures").exists()


def test_what_runs_wrote_that_did_not_list_it_is_known(place):
    """A run of the first schema: everything by the names that were in use, and metrics of its own submissions."""
    for name in ("run.json", "leaderboard.md", "metrics/a.json", "metrics/mine.json", "figures/x/p.svg", "notes.txt"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text('{"schema": 1, "roles": {"a": "competitor"}}')
    folder = RunFolder(place)
    assert folder.written() == ["run.json", "leaderboard.md", "metrics/a.json"]
    folder.replace(SECOND)
    assert set(content(place)) == {*SECOND, "metrics/mine.json", "figures/x/p.svg", "notes.txt"}


def test_figures_that_were_never_listed_are_drawn_over_one_by_one(place):
    """Whose they are is not known, so they are not deleted; but a report of such a run can be written again."""
    for name in ("run.json", "figures/a.svg", "figures/b.svg", "notes.txt"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text('{"schema": 1, "roles": {}}')
    folder = RunFolder(place)
    for name in ("figures/a.svg", "figures/b.svg"):
        folder.add({name: b"new"})
        assert (place / name).read_bytes() == b"new"
    with pytest.raises(InputError, match="this file is in the way"):
        folder.add({"notes.txt": b"new"})
    (place / "run.json").write_text('{"schema": 2, "roles": {}}')
    (place / "figures" / "c.svg").touch()
    with pytest.raises(InputError, match="this file is in the way"):
        folder.add({"figures/c.svg": b"new"})
