"""Made-up data: of every kind, in the challenge's own layout, and the same for the same seed."""

import hashlib

import pytest
from declared_challenges import TOML

import podium
from podium.challenges.kinds.drafts import DRAFTED, draft_challenge
from podium.challenges.kinds.making import KINDS
from podium.challenges.kinds.phantoms import PHANTOMS, TEAMS, write_phantoms
from podium.challenges.kinds.toml_files import parse_challenge, read_challenge

pytestmark = pytest.mark.slow


def digests(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".gz")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_every_kind_can_be_made_up():
    assert set(KINDS) <= set(PHANTOMS)


@pytest.mark.parametrize("kind", [*DRAFTED, "exclusive classes"])
def test_better_teams_place_better(tmp_path, kind):
    drafted = kind in DRAFTED
    challenge = parse_challenge(
        draft_challenge("try", kind=kind).text if drafted else (TOML / "grades.toml").read_text()
    )
    write_phantoms(challenge, tmp_path, cases=6)
    run = podium.evaluate(
        challenge, truth=tmp_path / "truth", submissions=tmp_path / "submissions", out=tmp_path / "run", jobs=1
    )
    places = run.leaderboard.places
    assert set(places) == set(TEAMS)
    assert places["careful"] == 1
    assert places["steady"] < places["hasty"]
    assert set(run.failures["submission"]) == {"unlucky"}
    assert len(run.failures) >= 2


def test_pictures_have_two_axes(tmp_path):
    text = draft_challenge("try", labels={"disc": 255}).text.replace(".nii.gz", ".png")
    write_phantoms(parse_challenge(text), tmp_path, cases=3)
    folders = {"truth": tmp_path / "truth", "submissions": tmp_path / "submissions"}
    run = podium.evaluate(parse_challenge(text), **folders, out=tmp_path / "run", jobs=1)
    assert run.leaderboard.places["careful"] == 1
    assert set(run.failures["submission"]) == {"unlucky"}


def test_the_same_seed_gives_the_same_data(tmp_path):
    challenge = read_challenge(TOML / "csv2026.toml")
    for name, seed in {"one": 1, "again": 1, "other": 2}.items():
        write_phantoms(challenge, tmp_path / name, cases=2, seed=seed)
    assert digests(tmp_path / "one") == digests(tmp_path / "again")
    one, other = digests(tmp_path / "one"), digests(tmp_path / "other")
    assert one.keys() == other.keys()
    assert one != other
    assert "truth/labels/001_label.h5" in one


def test_clusters_have_two_cases(tmp_path):
    challenge = read_challenge(TOML / "brain-lesions.toml")
    write_phantoms(challenge, tmp_path, cases=8)
    names = [case.name for case in challenge.cases(tmp_path / "truth")]
    assert names == [f"{subject:03d}_{visit}" for subject in range(1, 5) for visit in (1, 2)]
    assert challenge.has_demo
