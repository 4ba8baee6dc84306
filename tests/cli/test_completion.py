"""The Tab key: names are completed as a shell asks for them, from what is there, and without loading it."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from podium.challenges import challenges
from podium.cli import _completion
from podium.metrics import metrics
from podium.report.figures.gallery import FIGURES


def completed(*words: str) -> list[str]:
    """Return what bash is told when Tab is pressed after the last word."""
    asked = {"_PODIUM_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-m", "podium"]
    return subprocess.run(
        command, env={**os.environ, **asked}, capture_output=True, text=True, check=True
    ).stdout.split()


def test_a_shell_is_told_names_of_challenges():
    assert completed("podium", "evaluate", "k") == ["kits21"]


def test_a_shell_is_told_commands():
    assert completed("podium", "me") == ["measure", "metrics"]


def test_names_are_those_of_the_registries():
    assert _completion.challenge_names("") == sorted(challenges())
    assert _completion.metric_names("") == sorted(metric.name for metric in metrics())
    assert _completion.figure_names("") == sorted(FIGURES)


def test_names_are_completed():
    assert _completion.metric_lists("dice,surface_di") == ["dice,surface_dice", "dice,surface_distance_deviation"]
    assert _completion.figure_names("forest") == ["forest_plot"]
    assert _completion.challenge_names("x") == []


def test_challenges_of_other_packages_are_completed(monkeypatch):
    entry = EntryPoint("knees", "knees:Knees", "podium.challenges")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [entry])
    assert _completion.challenge_names("kn") == ["knees"]


@pytest.mark.parametrize("words", [("evaluate", "k"), ("metrics", "dice"), ("report", "run", "--only", "p")])
def test_completing_loads_nothing_heavy(words):
    heavy = ("numpy", "numba", "scipy", "matplotlib", "nibabel", "polars", "rich.table")  # Typer needs pydantic
    code = (
        "import sys\nfrom podium.cli import app\n"
        "try:\n    app(prog_name='podium')\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    asked = {
        "_PODIUM_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["podium", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()
    assert done.stderr.strip() == "[]"
