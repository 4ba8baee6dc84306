"""Where algorithms of these tests are run, asked or kept within walls."""

import pytest
from asked import Trial
from asked_landmarks import write_images
from programs import NO_WALLS, Stage, nothing_left
from ran_algorithms import POINTS

from podium.algorithms.cgroups import ControlGroup
from podium.algorithms.commands import Bubblewrapped, Unconfined


@pytest.fixture
def trial(tmp_path):
    """Return a way to ask a script about numbers."""
    return Trial(tmp_path)


@pytest.fixture
def stage(request, tmp_path, monkeypatch):
    """Return where a program is tried, with or without walls and a group; in the end, nothing of it may be left."""
    place = getattr(request, "param", "walls")
    if place == "walls" and NO_WALLS:
        pytest.skip(NO_WALLS)
    if place.endswith("no group"):
        monkeypatch.setattr(ControlGroup, "made", lambda _: None)
    hidden = [tmp_path / "truth"]
    stage = Stage(tmp_path, Bubblewrapped(hidden=hidden) if place.startswith("walls") else Unconfined())
    with nothing_left(stage):
        yield stage


@pytest.fixture
def places(tmp_path):
    """Return where images and truth lie, and where results go."""
    truth = tmp_path / "truth"
    truth.mkdir()
    for name in POINTS:
        (truth / f"{name}.txt").write_text("0 0 0")
    return {"out": tmp_path / "out", "inputs": write_images(tmp_path, POINTS), "truth": truth}
