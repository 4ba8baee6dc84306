"""The rooms of the house: who may import whom, and that public names are in order."""

import ast
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from shared_data import PROJECT

import podium

SOURCE = PROJECT / "src" / "podium"

# Every room may import itself, `model`, and the rooms named here. `_jit` is machinery without a domain.
ALLOWED = {
    "model": set(),
    "metrics": {"_jit"},
    "io": {"_jit"},
    "ranking": {"_jit"},
    "raters": {"metrics", "io", "ranking"},
    "challenges": {"metrics", "io", "ranking", "raters"},
    "demo": {"io"},
    "algorithms": {"io"},
    "report": {"ranking"},
    "evaluate": {"io"},
    "_jit": set(),
    "__init__": set(),
    "__main__": {"cli"},
    "cli": {
        "__init__",
        "_jit",
        "metrics",
        "io",
        "ranking",
        "raters",
        "challenges",
        "demo",
        "algorithms",
        "report",
        "evaluate",
    },
}


def imported_rooms(source: str) -> set[str]:
    """Return the rooms of podium that a module imports, wherever in it."""
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "podium" else [node.module]
            )
        for name in names:
            package, _, rest = name.partition(".")
            if package == "podium":
                room = rest.partition(".")[0]
                rooms.add(room if room in ALLOWED else "__init__")
    return rooms


def test_every_room_has_its_rule():
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir()} - {"py.typed", "__pycache__"}
    assert rooms <= set(ALLOWED)


def violations(room: str, source: str) -> set[str]:
    return imported_rooms(source) - ALLOWED[room] - {room, "model", "__init__"}  # the last holds the version


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    assert violations(path.relative_to(SOURCE).parts[0].removesuffix(".py"), path.read_text()) == set()


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_is_private_stays_in_its_room(path):
    room = path.relative_to(SOURCE).parts[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("podium."):
            owner, *inside = node.module.split(".")[1:]
            private = any(part.startswith("_") for part in inside)
            assert owner == room or not private, f"{node.module} is private to {owner}"


def test_a_wrong_import_is_noticed():
    assert violations("metrics", "from podium.io import read_label_map") == {"io"}
    assert violations("io", "def late():\n    import podium.metrics.surface") == {"metrics"}
    assert violations("report", "from podium import cli") == {"cli"}
    assert violations("evaluate", "from podium.challenges.kits21 import x") == {"challenges"}
    assert violations("raters", "from podium.model import Box") == set()


PACKAGES = sorted(".".join(("podium", *path.parent.relative_to(SOURCE).parts)) for path in SOURCE.rglob("__init__.py"))


@pytest.mark.parametrize("name", [n for n in PACKAGES if not n.rpartition(".")[2].startswith("_")])
def test_public_names_are_explained(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for each in getattr(module, "__all__", []):  # ruff keeps them sorted
        if not each.isupper() and not each.startswith("__"):
            assert getattr(module, each).__doc__, f"{name}.{each} has no docstring"


def test_the_version_is_said_once():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["version"] == podium.__version__


def test_pins_are_names_and_versions_only():
    for line in (PROJECT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or line.count("==") == 1, line
        assert "/" not in line, line


HEAVY = ("numpy", "numba", "scipy", "matplotlib", "nibabel", "SimpleITK", "rich.table")


def test_help_loads_nothing_heavy():
    code = (
        "import sys, podium.cli; from typer.testing import CliRunner\n"
        "assert CliRunner().invoke(podium.cli.app, ['--version']).exit_code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_peers_are_never_imported_by_the_package():
    peers = ("monai", "torch", "medpy", "surface_distance", "sklearn", "torchmetrics")
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
                assert not {name.partition(".")[0] for name in names} & set(peers), path


def test_no_file_grows_too_long():
    for path in Path(SOURCE).rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 450, f"{path.name} wants to be two files"
