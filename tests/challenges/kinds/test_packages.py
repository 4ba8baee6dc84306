"""The template of a package with a challenge: its tests pass, and podium finds it."""

import os
import subprocess
import sys
import tomllib
from importlib import import_module

import pytest
from shared_data import PROJECT

from podium.challenges.kinds.packages import write_package
from podium.model import InputError
from podium.testing import write_phantoms


def test_it_is_a_challenge(tmp_path, monkeypatch):
    paths = write_package(tmp_path, "Brain lesions", title='A "title"')
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())
    assert project["project"]["name"] == "podium-brain-lesions"
    ((name, entry),) = project["project"]["entry-points"]["podium.challenges"].items()
    module, _, kind = entry.partition(":")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    made = getattr(import_module(module), kind)
    assert (made.name, made.title) == (name, "A 'title'") == ("brain-lesions", "A 'title'")
    assert made.option_names() == ("most_lesion_share",)
    assert made.summary
    challenge = made.made(most_lesion_share="0.3")
    assert challenge.made(**challenge.options) == challenge
    write_phantoms(challenge, tmp_path, cases=2)
    assert [case.name for case in challenge.cases(tmp_path / "truth")] == ["001", "002"]
    for path in paths:
        if path.suffix == ".py":
            compile(path.read_text(), path, "exec")


def test_what_is_there_stays(tmp_path):
    write_package(tmp_path, "one")
    with pytest.raises(InputError, match="there is one already"):
        write_package(tmp_path, "two")
    assert len(write_package(tmp_path, "two", force=True)) == 4


@pytest.mark.heavy
def test_its_own_tests_pass(tmp_path):
    write_package(tmp_path, "brain-lesions")
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "4 passed" in result.stdout
