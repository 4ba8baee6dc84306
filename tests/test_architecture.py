"""The rooms of the house: who may import whom, and that public names are in order."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from shared_data import PROJECT
from slow_files import SLOW

import podium

SOURCE = PROJECT / "src" / "podium"

# Every room may import itself, `model`, and the rooms named here. `_jit` is machinery without a domain.
ALLOWED = {
    "model": set(),
    "metrics": {"_jit"},
    "io": {"_jit"},
    "ranking": {"_jit"},
    "run": {"io", "ranking"},
    "raters": {"metrics", "io", "ranking", "run"},
    "challenges": {"metrics", "io", "ranking", "raters", "run", "algorithms"},
    "report": {"run", "ranking", "metrics", "io"},
    "algorithms": {"run", "io"},
    "_jit": set(),
    "_commit": set(),
    "__main__": {"cli"},
}
EVERYTHING = {"metrics", "io", "ranking", "run", "raters", "challenges", "report", "algorithms", "_jit"}
ALLOWED |= {
    "testing": EVERYTHING,
    "_front_tables": EVERYTHING,
    "_front_rank": {"_front_tables", *EVERYTHING},
    "_front": {"_front_rank", "_front_run", *EVERYTHING},
    "_front_run": EVERYTHING,
    "__init__": {"_front", "_front_run", *EVERYTHING},
    "cli": {"_front", "_front_run", "__init__", "testing", "_commit", *EVERYTHING},
}
# The only imports that go up, each inside the body of a method: a run and a ranking know how to show themselves.
UPWARD = {
    "run/runs.py": {("Run.report", "report")},
    "ranking/rankings.py": {("Ranking.report", "report"), ("Ranking.plot", "report")},
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


def upward_imports(source: str, rooms: set[str]) -> set[tuple[str, str]]:
    """Return which methods import rooms that their own may not."""
    found = set()
    for kind in (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)):
        for method in (node for node in kind.body if isinstance(node, ast.FunctionDef)):
            found |= {(f"{kind.name}.{method.name}", room) for room in imported_rooms(ast.unparse(method)) & rooms}
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    wrong = violations(path.relative_to(SOURCE).parts[0].removesuffix(".py"), path.read_text())
    listed = UPWARD.get(path.relative_to(SOURCE).as_posix(), set())
    assert wrong == {room for _, room in listed}
    assert upward_imports(path.read_text(), wrong) == listed


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
    assert violations("run", "from podium.challenges.kits21 import x") == {"challenges"}
    assert violations("run", "from podium.report import write_report") == {"report"}
    assert upward_imports("class A:\n    def b(self):\n        import podium.report", {"report"}) == {("A.b", "report")}
    assert violations("raters", "from podium.model import Box") == set()


def modules() -> dict[str, list[str]]:
    """Return modules by name; the command line and the folders of challenges have names of their own."""
    found: dict[str, list[str]] = {}
    for path in FILES:
        parts = path.relative_to(SOURCE).parts
        if path.name != "__init__.py" and parts[0] != "cli" and not (parts[0] == "challenges" and len(parts) > 2):
            found.setdefault(path.stem.strip("_"), []).append("/".join(parts))
    return found


def test_no_two_modules_have_one_name():
    assert {name: paths for name, paths in modules().items() if len(paths) > 1} == {}


def defined(path: Path, kinds: tuple[type, ...]) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)}


def test_no_two_classes_have_one_name():
    found: dict[str, list[str]] = {}
    for path in FILES:
        for name in defined(path, (ast.ClassDef,)):
            found.setdefault(name, []).append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("path", [p for p in FILES if "cli" not in p.parts], ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_function_shadows_its_module(path):
    assert path.stem not in defined(path, (ast.FunctionDef, ast.ClassDef))


EMPTY_NAMES = {"found", "each", "told", "sure"}


def empty_names(source: str) -> set[str]:
    """Return names of variables and arguments that do not say what they hold."""
    tree = ast.parse(source)
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return (stored | {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}) & EMPTY_NAMES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_variables_say_what_they_hold(path):
    assert empty_names(path.read_text()) == set()


def test_an_empty_name_is_noticed():
    assert empty_names("found = [each for each in told]") == {"found", "each"}
    assert empty_names("def f(sure): return sure") == {"sure"}


def tight_percents(source: str) -> list[str]:
    """Return texts and formats that put a percent sign after a number without the space it has everywhere else."""
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and re.search(r"\d%", text)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_space_stands_before_every_percent_sign(path):
    assert tight_percents(path.read_text()) == []


def test_a_tight_percent_sign_is_noticed():
    assert tight_percents('print("95% sure", f"{share:.0%} of cases", f"{100 * share:.0f} %")') == ["95% sure", ".0%"]


CHALLENGES = sorted(path.parent.name for path in SOURCE.glob("challenges/*/challenge.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_core_names_no_challenge(path):
    """Deleting a folder under challenges/ breaks only its own tests."""
    parts = path.relative_to(SOURCE).parts
    if parts[0] == "challenges" and len(parts) > 2:
        others = [name for name in CHALLENGES if name != parts[1]]
    else:
        others = CHALLENGES
    code = ast.unparse(_without_docstrings(ast.parse(path.read_text())))
    assert [name for name in others if name in code] == []


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            kept = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            node.body = kept or [ast.Pass()]
    return tree


def test_tests_mirror_the_source():
    """Every module has a test file of its own name, or its package or challenge has one that is listed here."""
    names = {path.stem.removeprefix("test_") for path in (PROJECT / "tests").rglob("test_*.py")}
    rooms = ("run", "cli", "ranking", "raters", "model", "algorithms")
    tested_with = {
        "run/unpacking.py": "hostile_archives",
        "run/pools.py": "dask",
        "run/parts.py": "resume",
        "run/jobs.py": "grand_challenge",
        "run/enclosure.py": "gathering",
        "run/runs.py": "front",
        "run/evaluating.py": "folder",
        "algorithms/apptainer.py": "containers",
        "algorithms/confinement.py": "commands",
        "algorithms/launching.py": "commands",
        "algorithms/processes.py": "commands",
        "algorithms/specs.py": "running",
        "ranking/leaderboards.py": "schemes",
        "ranking/rule.py": "rankings",
        "ranking/inference/tidy.py": "tidy",
        "ranking/inference/variability.py": "people",
        "raters/rated.py": "people",
        "raters/summary.py": "survey",
        "model/cube.py": "arithmetic",
        "model/errors.py": "hostile_tables",
        "model/leaderboard.py": "front",
        "model/metric.py": "laws",
        "model/labelmap.py": "labelmaps",
        "model/views.py": "drawing",
        "model/options.py": "challenge",
    }
    for path in FILES:
        parts = path.relative_to(SOURCE).as_posix()
        if parts.split("/")[0] in rooms and not path.stem.startswith("_"):
            assert {path.stem, tested_with.get(parts, path.stem)} & names, f"{parts} has no test of its own"


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


HEAVY = ("numpy", "numba", "scipy", "matplotlib", "nibabel", "SimpleITK", "polars", "pydantic", "rich.table")


def test_help_loads_nothing_heavy():
    code = (
        "import sys, podium.cli; from typer.testing import CliRunner\n"
        "assert CliRunner().invoke(podium.cli.app, ['--version']).exit_code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_front_door_opens_at_once():
    code = (
        "import sys, podium\nassert set(podium.__all__) <= set(dir(podium))\n"
        f"print([name for name in {(*HEAVY, 'typer')!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


ON_THE_GPU = ("metrics/_gpu/", "metrics/torch.py")


def test_metrics_load_neither_torch_nor_triton():
    code = (
        "import sys, podium, podium.metrics, numpy\n"
        "podium.metrics.Overlap.between(numpy.ones((2, 2)), numpy.ones((2, 2)))\n"
        "print([name for name in ('torch', 'triton') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_nobody_imports_the_gpu_at_its_top():
    for path in SOURCE.rglob("*.py"):
        if not path.relative_to(SOURCE).as_posix().startswith(ON_THE_GPU):
            assert "podium.metrics._gpu" not in ast.unparse(_imports(path)), path


def _imports(path: Path) -> ast.Module:
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    return ast.Module(nodes, [])


def test_peers_are_never_imported_by_the_package():
    peers = (
        "monai",
        "torch",
        "medpy",
        "surface_distance",
        "sklearn",
        "skimage",
        "torchmetrics",
        "pingouin",
        "statsmodels",
        "panoptica",
        "pycocotools",
        "SimpleITK",
    )
    for path in SOURCE.rglob("*.py"):
        allowed = {"torch"} if path.relative_to(SOURCE).as_posix().startswith(ON_THE_GPU) else set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
                assert not {name.partition(".")[0] for name in names} & set(peers) - allowed, path
    needed = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert not {re.match("[A-Za-z0-9_-]+", name)[0] for name in needed} & set(peers)


def test_the_page_of_the_architecture_names_every_step_of_a_run():
    page = (PROJECT / "docs" / "architecture.md").read_text()
    steps = [path.name for path in (SOURCE / "run").glob("[a-z]*.py")]
    assert steps
    assert [name for name in sorted(steps) if f"run/{name}" not in page] == []


def test_no_file_grows_too_long():
    for path in Path(SOURCE).rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 450, f"{path.name} wants to be two files"


def test_what_make_quick_leaves_out_exists():
    assert [name for name in SLOW if not (Path(__file__).parent / name).exists()] == []
