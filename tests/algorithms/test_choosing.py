"""Which walls an algorithm is put behind."""

import os
import shutil

import pytest

from podium.algorithms import choosing
from podium.algorithms.choosing import confinement_for
from podium.algorithms.commands import Bubblewrapped, Unconfined
from podium.algorithms.containers import Containers
from podium.algorithms.specs import Algorithm
from podium.algorithms.walls import why_no_walls
from podium.model import InputError

COMMAND, IMAGE = Algorithm("team", command=("true",)), Algorithm("team", image="image:1")


def test_a_command_gets_walls_where_they_are(monkeypatch):
    monkeypatch.setattr(choosing, "why_no_walls", lambda: "")
    assert isinstance(confinement_for(COMMAND), Bubblewrapped)
    assert isinstance(confinement_for(COMMAND, engine="none"), Unconfined)


def test_without_walls_it_runs_with_a_warning(monkeypatch):
    monkeypatch.setattr(choosing, "why_no_walls", lambda: "bubblewrap is not installed")
    said = []
    confinement = confinement_for(COMMAND, say=said.append)
    assert not confinement.isolated
    confinement.prepare(COMMAND)
    assert len(said) == 1
    assert said[0].startswith("bubblewrap is not installed: nothing keeps the algorithm from")
    with pytest.raises(InputError, match="bubblewrap is not installed"):
        confinement_for(COMMAND, engine="bubblewrap")


def test_why_there_are_no_walls(monkeypatch, tmp_path):
    monkeypatch.setattr("podium.algorithms.walls.bwrap", lambda: str(tmp_path / "bwrap"))
    why_no_walls.cache_clear()
    try:
        assert why_no_walls() == "bubblewrap (the program bwrap) is not installed"
        (tmp_path / "bwrap").write_text("#!/bin/sh\necho no permission >&2; exit 1\n")
        (tmp_path / "bwrap").chmod(0o755)
        why_no_walls.cache_clear()
        assert why_no_walls() == "bubblewrap does not work here (no permission)"
    finally:
        why_no_walls.cache_clear()


def test_an_image_goes_to_the_first_engine_that_answers(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"podman: it is not installed; docker: .*Install Podman"):
        confinement_for(IMAGE)
    shell = shutil.which("sh", path=os.defpath)
    for name, code in (("podman", "echo broken >&2; exit 1"), ("docker", "exit 0")):
        (tmp_path / name).write_text(f"#!{shell}\n{code}\n")
        (tmp_path / name).chmod(0o755)
    engine = confinement_for(IMAGE)
    assert isinstance(engine, Containers)
    assert engine._program == str(tmp_path / "docker")
    with pytest.raises(InputError, match=r"podman: broken"):
        confinement_for(IMAGE, engine="podman")


def test_engines_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"an image cannot be run with 'bubblewrap'.*podman, docker"):
        confinement_for(IMAGE, engine="bubblewrap")
    with pytest.raises(InputError, match=r"a command cannot be run with 'podman'.*bubblewrap, none"):
        confinement_for(COMMAND, engine="podman")
