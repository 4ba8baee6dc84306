"""An evaluation into a run folder: what is refused, what replaces what, and what is written."""

import shutil

import pytest
from plugin import write_landmarks
from sixth_challenge import Landmarks

import podium
from podium.model import InputError, Role
from podium.run import Limits


@pytest.fixture
def folders(tmp_path):
    return write_landmarks(tmp_path, {"early": {}, "late": {"001": "2 0 0"}})


def evaluated(folders, out, challenge=None, **options):
    truth, submissions = folders
    return podium.evaluate(challenge or Landmarks(), truth=truth, submissions=submissions, out=out, **options)


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_second_run_leaves_nothing_of_the_first(folders, tmp_path):
    out = tmp_path / "run"
    evaluated(folders, out).report(bootstrap=0, formats=("svg",))
    assert (out / "report.html").is_file()
    (out / "notes.txt").write_text("mine")
    shutil.rmtree(folders[1] / "early")
    run = evaluated(folders, out, restart=True)
    assert [path.name for path in (out / "metrics").iterdir()] == ["late.json"]
    assert run.leaderboard.places == {"late": 1}
    assert not (out / "report.html").exists()
    assert not (out / "figures").exists()
    assert (out / "notes.txt").read_text() == "mine"


def test_a_run_that_is_there_is_not_touched_unless_asked_for(folders, tmp_path):
    out = tmp_path / "run"
    evaluated(folders, out)
    before = files_of(out)
    with pytest.raises(InputError, match="a finished run is here"):
        evaluated(folders, out)
    with pytest.raises(InputError, match="a run is either resumed or made anew"):
        evaluated(folders, out, resume=True, restart=True)
    assert files_of(out) == before


class Stopping(Landmarks):
    """Landmarks that stop in the middle of the third case."""

    def measure(self, case, truth, prediction):
        """Measure, or stop."""
        if case.name == "003":
            raise KeyboardInterrupt
        return super().measure(case, truth, prediction)


def test_a_run_stays_until_the_new_one_is_complete(folders, tmp_path):
    out = tmp_path / "run"
    evaluated(folders, out)
    before = {name: content for name, content in files_of(out).items() if not name.startswith("parts/")}
    with pytest.raises(KeyboardInterrupt):
        evaluated(folders, out, Stopping(), restart=True, jobs=1)
    after = {name: content for name, content in files_of(out).items() if not name.startswith("parts/")}
    assert after == before
    with pytest.raises(InputError, match=r"an unfinished run is here, with \d cases measured"):
        evaluated(folders, out)
    run = evaluated(folders, out, resume=True)
    assert run.kept == 4
    assert run.verify().nothing_differs


@pytest.mark.parametrize(("place", "what"), [("truth", "the truth"), ("teams", "the submissions")])
@pytest.mark.parametrize("inside", ["", "run", "early/run"])
def test_a_run_folder_among_its_inputs_is_refused(folders, tmp_path, place, what, inside):
    before = files_of(tmp_path)
    with pytest.raises(InputError, match=f"the run folder would lie among {what}"):
        evaluated(folders, tmp_path / place / inside, restart=True)
    (tmp_path / "link").symlink_to(tmp_path / place)
    with pytest.raises(InputError, match=f"the run folder would lie among {what}"):
        evaluated(folders, tmp_path / "link" / inside, restart=True)
    assert files_of(tmp_path / "truth").items() <= {k.partition("/")[2]: v for k, v in before.items()}.items()


def test_inputs_that_are_not_there_are_said_before_anything_is_made(folders, tmp_path):
    truth, teams = folders
    out = tmp_path / "run"
    with pytest.raises(InputError, match="Give the folder that holds the truth"):
        evaluated((tmp_path / "nowhere", teams), out)
    with pytest.raises(InputError, match="Give the folder that holds one entry per team"):
        evaluated((truth, tmp_path / "nowhere"), out)
    assert not out.exists()


def test_roles_are_recorded_and_not_ranked(folders, tmp_path):
    run = evaluated(folders, tmp_path / "run", baselines=["early"])
    assert run.roles == {"early": Role.BASELINE, "late": Role.COMPETITOR}
    assert run.leaderboard.places == {"late": 1, "early": None}


def test_limits_are_those_of_each_submission(folders, tmp_path):
    run = evaluated(folders, tmp_path / "run", limits=Limits(entries=3))
    assert set(run.measurements["status"]) == {"invalid"}
    assert "more than the limit of 3 files and folders" in run.failures["reason"][0]


def test_archives_are_unpacked_beside_the_run_and_removed(folders, tmp_path):
    _, teams = folders
    shutil.make_archive(str(teams / "packed"), "zip", teams / "late")
    seen = []

    class Watching(Landmarks):
        """Landmarks that tell where a prediction lies."""

        def measure(self, case, truth, prediction):
            """Note the place."""
            seen.append(prediction)
            return super().measure(case, truth, prediction)

    out = tmp_path / "run"
    (out / "parts" / "unpacked" / "podium-old").mkdir(parents=True)  # of a run that was killed
    (out / "parts" / "unfinished").touch()
    run = evaluated(folders, out, Watching(), resume=True)
    assert any(path.is_relative_to(out / "parts" / "unpacked") for path in seen)
    assert not (out / "parts" / "unpacked").exists()
    assert run.leaderboard.places == {"early": 1, "late": 2, "packed": 2}


def test_further_tables_of_a_challenge_are_written(folders, tmp_path):
    class Telling(Landmarks):
        """Landmarks with a table of their own."""

        def further_tables(self, cube, roles):
            """Name everybody."""
            return {"people.csv": "\n".join([*cube.submissions, *roles])}

    evaluated(folders, tmp_path / "run", Telling())
    assert (tmp_path / "run" / "people.csv").read_text().split() == ["early", "late"] * 2


def test_the_same_inputs_give_the_same_bytes(folders, tmp_path):
    results = []
    for name in ("one", "two"):
        evaluated(folders, tmp_path / name)
        files = files_of(tmp_path / name)
        results.append({key: content for key, content in files.items() if key not in ("run.json", ".lock")})
    assert results[0] == results[1]
