"""Damages to submissions, and the law that none of them pays."""

import random
import shutil
from pathlib import Path

import numpy as np
import polars as pl

from podium.ranking import challenge_rule, cube_of
from podium.run import find_submissions, measure_all
from podium.testing import ranked_score

DAMAGES = ("missing", "cut", "empty", "noise", "no timing", "a time less", "an absurd time")


def damage(folder: Path, what: str, generator: random.Random) -> None:
    """Damage some files of a submission, or its times."""
    timing = folder / "timing.csv"
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != timing)
    chosen = generator.sample(files, generator.randint(1, max(1, len(files) // 2)))
    if what in ("missing", "cut", "empty", "noise"):
        for path in chosen:
            content = path.read_bytes()
            if what == "missing":
                path.unlink()
            else:
                changed = {
                    "cut": content[: len(content) // 3],
                    "empty": b"",
                    "noise": generator.randbytes(len(content)),
                }
                path.write_bytes(changed[what])
    elif timing.exists():
        lines = timing.read_text().splitlines()
        if what == "no timing":
            timing.unlink()
        elif what == "a time less":
            timing.write_text("\n".join(lines[:-1]) + "\n")
        else:
            case = lines[-1].split(",")[0]
            timing.write_text("\n".join([*lines[:-1], f"{case},1e300"]) + "\n")


def board_of(challenge, folder, teams):
    evaluation = measure_all(challenge, truth=folder / "truth", submissions=find_submissions(teams))
    assert not evaluation.faults
    cube = cube_of(evaluation.challenge, evaluation.table)
    return challenge_rule(evaluation.challenge, cube, roles=evaluation.roles).leaderboard(), evaluation


def assert_damage_never_pays(challenge, folder, tmp_path, *, seed, score=True):
    """Assert that a team which damages its files is not placed or scored better, and that others are untouched."""
    whole = [path for path in sorted((folder / "submissions").iterdir()) if path.name not in ("unlucky", "baseline")]
    teams = tmp_path / "teams"
    for path in whole[:3]:
        shutil.copytree(path, teams / path.name) if path.is_dir() else shutil.copy(path, teams / path.name)
    victim = next(path for path in sorted(teams.iterdir()) if path.is_dir())
    before, measured = board_of(challenge, folder, teams)
    generator = random.Random(seed)
    for what in DAMAGES:
        copy = tmp_path / what
        shutil.copytree(teams, copy)
        damage(copy / victim.name, what, generator)
        after, again = board_of(challenge, folder, copy)
        place = [board.places[victim.name] or np.inf for board in (before, after)]
        assert place[1] >= place[0], f"{what}: rises from {place[0]} to {place[1]}"
        if score:
            assert not ranked_score(after, victim.name) > ranked_score(before, victim.name) + 1e-9, what
        others = pl.col("submission") != victim.name
        assert again.table.filter(others).equals(measured.table.filter(others)), f"{what}: others were touched"
