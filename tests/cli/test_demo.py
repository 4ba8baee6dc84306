"""`podium demo`: what it says."""

import json

import pytest

import podium
from podium.challenges import challenges


@pytest.mark.slow
def test_every_challenge_is_announced_and_its_leaderboard_printed(demo_command):
    folder, result = demo_command
    for name, kind in challenges().items():
        assert f"{kind.title}: {kind.summary}" in result.stderr
        assert f"$ podium evaluate {name} --truth {folder / name / 'truth'}" in result.stderr
        assert f"What went wrong is told in {folder / name / 'run' / 'failures.csv'}, such as" in result.stderr
    assert result.stdout.count("submission") >= len(challenges())
    assert result.stdout.count("Kendall's τ to this ranking: ") == len(challenges())
    assert "The reports" not in result.stderr


@pytest.mark.slow
def test_algorithms_are_run_timed_and_ranked_where_a_demo_has_some(demo_command):
    folder, result = demo_command
    place = folder / "trackrad2025" / "algorithms"
    assert f"--out {place} --protocol frames --command" in result.stderr
    assert result.stderr.count("The baselines, run and timed as participants' algorithms are:") == 1
    run = podium.load(place / "run")
    assert run.leaderboard.places == {"template-matching": 1, "first-target": None, "no-tracking": None}
    timing = json.loads((place / "timing" / "template-matching.json").read_text())
    assert len(timing["cases"]) == 5
    assert not (place / "submissions" / "template-matching" / "A_001.mha").exists()


@pytest.mark.slow
def test_another_seed_gives_another_demo(run, tmp_path):
    for seed in (0, 1, 2):
        result = run("demo", "lvquan18", "--out", tmp_path / str(seed), "--seed", seed, "--no-report")
        assert result.exit_code == 0, result.output
    boards = [(tmp_path / str(seed) / "lvquan18" / "run" / "leaderboard.csv").read_text() for seed in (0, 1, 2)]
    assert len(set(boards)) == 3


def test_a_challenge_that_is_not_there_is_one_line(run, tmp_path):
    result = run("demo", "kits22", "--out", tmp_path)
    assert result.exit_code == 1
    assert "Did you mean 'kits21'?" in result.stderr
    assert result.stderr.count("\n") == 1
