"""run.json: every schema loads, damage is one line, and inputs are found wherever they went together."""

import json
import shutil

import pytest
from plugin import write_landmarks
from shared_data import PROJECT
from sixth_challenge import Landmarks
from typer.testing import CliRunner

import podium
from podium.cli import app
from podium.io import digest
from podium.model import InputError, Role
from podium.run import Input, read_record

pytestmark = pytest.mark.slow

FIRST_SCHEMA = {
    "schema": 1,
    "podium": "0.1.0",
    "challenge": "kits21",
    "version": 1,
    "edition": "document",
    "options": {"edition": "document", "geometry": "full"},
    "truth": "data/truth",
    "submissions": {"a": "data/teams/a", "b": "/elsewhere/b.zip"},
    "roles": {"a": "competitor", "b": "baseline"},
    "sha256": {"truth": {"x.nii.gz": "0" * 64}, "a": {"y.nii.gz": "1" * 64}, "b": {}},
    "started": "2025-01-01T00:00:00+00:00",
    "ended": "2025-01-01T00:01:00+00:00",
    "machine": {"system": "Linux", "python": "3.11.2", "cores": 2},
    "packages": {"numpy": "1.26.0"},
}


def written(folder, document):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(document if isinstance(document, str) else json.dumps(document))
    return folder


@pytest.fixture
def run(tmp_path):
    """Return a run of its own of a challenge that takes no time."""
    truth, teams = write_landmarks(tmp_path / "data", {"team": {}, "other": {"001": ""}})
    return podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "data" / "run")


# Schemas


def test_the_second_schema_is_read_as_it_was_written(run):
    assert run.provenance["schema"] == 2
    record = read_record(run.folder)
    assert record == run.record
    assert record.document() == json.loads((run.folder / "run.json").read_text()) == run.provenance


def test_a_folder_that_holds_a_run_says_where(tmp_path):
    with pytest.raises(InputError, match=r"has no run\.json\. Make one: podium evaluate"):
        read_record(tmp_path)
    (tmp_path / "run").mkdir()
    written(tmp_path / "run", FIRST_SCHEMA)
    with pytest.raises(InputError, match=rf"has no run\.json\. There is one in it: {tmp_path / 'run'}"):
        read_record(tmp_path)


def test_the_first_schema_is_read(tmp_path):
    record = read_record(written(tmp_path, FIRST_SCHEMA))
    assert record.truth == Input(path="data/truth", sha256={"x.nii.gz": "0" * 64})
    assert record.submissions == {
        "a": Input(path="data/teams/a", sha256={"y.nii.gz": "1" * 64}),
        "b": Input(path="/elsewhere/b.zip"),
    }
    assert record.roles == {"a": Role.COMPETITOR, "b": Role.BASELINE}
    assert record.faults == []
    assert (record.machine.cores, record.packages) == (2, {"numpy": "1.26.0"})


def test_a_run_of_the_first_schema_is_loaded_ranked_and_verified(kits21_demo, tmp_path):
    """The run folder as it was before: no list of what was written, no column of what was measured."""
    folder = tmp_path / "run"
    teams = tmp_path / "teams"
    for team in ("careful", "noisy"):
        shutil.copytree(kits21_demo / "submissions" / team, teams / team)
    run = podium.evaluate("kits21", truth=kits21_demo / "truth", submissions=teams, out=folder)
    board = run.leaderboard
    document = run.provenance
    hashes = {name: given["sha256"] for name, given in document["submissions"].items()}
    document |= {
        "schema": 1,
        "sha256": {"truth": document["truth"]["sha256"], **hashes},
        "truth": document["truth"]["path"],
        "submissions": {name: given["path"] for name, given in document["submissions"].items()},
    }
    del document["measurements"]
    written(folder, document)
    (folder / ".podium.json").unlink()
    run.measurements.drop("measured").write_parquet(folder / "measurements.parquet")
    old = podium.load(folder)
    assert old.measurements.equals(run.measurements)
    assert old.leaderboard.places == board.places
    assert old.verify(sample=1).nothing_differs


FOLDERS = sorted((PROJECT / "tests" / "run_folders").glob("*/*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name} {folder.name}")
def test_run_folders_of_every_version_load_for_ever(folder, tmp_path):
    """They are what the demo of that version wrote; whoever releases another one adds its own."""
    copy = shutil.copytree(folder, tmp_path / "run")
    run = podium.load(copy)
    assert run.challenge.name == folder.name
    assert run.record.podium == folder.parent.name
    assert not run.failures.is_empty()
    entries = json.loads((folder / "leaderboard.json").read_text())["entries"]
    assert run.leaderboard.places == {entry["submission"]: entry["place"] for entry in entries}
    assert run.rank(bootstrap=10).stability.submissions


@pytest.mark.parametrize("number", [3, 99])
def test_a_newer_schema_says_so(tmp_path, number):
    with pytest.raises(InputError) as caught:
        read_record(written(tmp_path, FIRST_SCHEMA | {"schema": number}))
    assert str(caught.value) == (
        f"{tmp_path / 'run.json'}: this run.json has schema {number}, this Podium reads up to 2. Use a newer Podium"
    )


def without(key):
    return {name: value for name, value in FIRST_SCHEMA.items() if name != key}


@pytest.mark.parametrize(
    "document",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        '"text"',
        "{}",
        '{"schema": 1}',
        '{"schema": 2}',
        FIRST_SCHEMA | {"schema": "one"},
        FIRST_SCHEMA | {"schema": None},
        FIRST_SCHEMA | {"schema": 2},
        FIRST_SCHEMA | {"schema": [1]},
        FIRST_SCHEMA | {"truth": 3},
        FIRST_SCHEMA | {"roles": {"a": "genius"}},
        FIRST_SCHEMA | {"submissions": ["a"]},
        FIRST_SCHEMA | {"sha256": []},
        FIRST_SCHEMA | {"started": "some day\nor other"},
        FIRST_SCHEMA | {"more": 1},
        without("truth"),
        without("challenge"),
        without("started"),
    ],
    ids=lambda document: str(document)[:40],
)
def test_a_damaged_record_is_one_line(tmp_path, document):
    folder = written(tmp_path / "run", document)
    with pytest.raises(InputError) as caught:
        read_record(folder)
    assert str(caught.value).isprintable()
    result = CliRunner().invoke(app, ["rank", str(folder)])
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert str(folder) in result.stderr


def test_a_record_that_is_no_text_is_one_line(tmp_path):
    written(tmp_path, FIRST_SCHEMA)
    (tmp_path / "run.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(InputError, match="this run folder is damaged"):
        read_record(tmp_path)


def test_a_folder_without_a_record_is_no_run(tmp_path):
    with pytest.raises(InputError, match=r"this is not a run folder: it has no run\.json\. Make one: podium evaluate"):
        read_record(tmp_path)


# Where inputs are


def test_inputs_are_found_from_another_working_directory(tmp_path, monkeypatch):
    """They were given as seen from one folder, and are asked for from another."""
    monkeypatch.chdir(tmp_path)
    write_landmarks(tmp_path / "data", {"team": {}})
    podium.evaluate(Landmarks(), truth="data/truth", submissions="data/teams", out="data/run")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    record = read_record(tmp_path / "data" / "run")
    assert record.truth.find(tmp_path / "data" / "run") == tmp_path / "data" / "truth"
    assert podium.load(tmp_path / "data" / "run", challenge=Landmarks()).verify().nothing_differs
    monkeypatch.chdir(tmp_path / "data")
    assert read_record(tmp_path / "data" / "run").truth.find(None) == tmp_path / "data" / "truth"
    assert podium.load("run", challenge=Landmarks()).verify().nothing_differs


def test_inputs_that_moved_with_the_run_folder_are_found(run, tmp_path, monkeypatch):
    moved = tmp_path / "far" / "away"
    moved.parent.mkdir()
    shutil.move(tmp_path / "data", moved)
    again = podium.load(moved / "run", challenge=Landmarks())
    assert again.record.truth.find(moved / "run") == moved / "truth"
    assert again.record.submissions["team"].find(moved / "run") == moved / "teams" / "team"
    assert again.verify().nothing_differs
    monkeypatch.chdir(moved)
    assert podium.load("run", challenge=Landmarks()).verify().nothing_differs
    assert again.record.truth.find(None) is None
    shutil.rmtree(moved / "truth")
    assert again.record.truth.find(moved / "run") is None


def test_inputs_that_stayed_are_found_where_they_were(run, tmp_path):
    shutil.move(run.folder, tmp_path / "run")
    again = podium.load(tmp_path / "run", challenge=Landmarks())
    assert again.record.truth.find(tmp_path / "run") == tmp_path / "data" / "truth"
    assert again.verify().nothing_differs


def test_links_stay_links(tmp_path):
    """A folder that is a link may come to point elsewhere, as where data is mounted."""
    write_landmarks(tmp_path / "disk1", {"team": {}})
    (tmp_path / "data").symlink_to(tmp_path / "disk1")
    run = podium.evaluate(
        Landmarks(), truth=tmp_path / "data" / "truth", submissions=tmp_path / "data" / "teams", out=tmp_path / "run"
    )
    assert run.record.truth.path == str(tmp_path / "data" / "truth")
    shutil.move(tmp_path / "disk1", tmp_path / "disk2")
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to(tmp_path / "disk2")
    assert podium.load(tmp_path / "run", challenge=Landmarks()).verify().nothing_differs


def test_a_relative_path_of_the_first_schema_is_found_beside_the_run(tmp_path, monkeypatch):
    (tmp_path / "project" / "data" / "truth").mkdir(parents=True)
    folder = written(tmp_path / "project" / "results" / "run", FIRST_SCHEMA)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    record = read_record(folder)
    assert record.truth.find(folder) == tmp_path / "project" / "data" / "truth"
    assert record.submissions["a"].find(folder) is None
    assert record.submissions["b"].find(folder) is None
    assert record.truth.find(None) is None


def test_an_input_that_was_never_named_is_not_the_working_directory(tmp_path):
    assert Input(path="").find(tmp_path) is None


# Names


def test_a_team_may_be_called_truth(tmp_path):
    truth, teams = write_landmarks(tmp_path, {"truth": {}, "the truth": {"002": "3 0 0"}})
    run = podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "run")
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    assert document["truth"]["path"] == str(truth)
    assert document["truth"]["sha256"]["001.txt"] == digest(truth / "001.txt")
    assert document["submissions"]["truth"]["path"] == str(teams / "truth")
    assert document["submissions"]["truth"]["sha256"]["001.txt"] == digest(teams / "truth" / "001.txt")
    assert run.leaderboard.places == {"truth": 1, "the truth": 2}
    assert run.verify().nothing_differs
    (teams / "truth" / "001.txt").write_text("2 0 0")
    assert run.verify().inputs == (("truth", "001.txt", "has changed"),)
    again = podium.evaluate(Landmarks(), truth=truth, submissions=teams, out=tmp_path / "run", resume=True)
    assert {reason: dict(names) for reason, names in again.why.items()} == {"changed": {"truth": 1}}


def test_a_record_says_what_measured_where_and_when(run):
    record = run.record
    assert (record.podium, record.challenge, record.version) == (podium.__version__, "landmarks", 1)
    assert record.options == {"edition": "document"}
    assert record.started <= record.ended
    assert record.started.tzinfo is not None
    assert record.machine.python.startswith("3.")
    assert set(record.packages) >= {"numpy", "scipy", "polars", "h5py"}
    assert all(record.packages.values())
