"""The package and the files around it: what is declared is what is used, and what is built holds what it needs."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions

import pytest
from shared_data import PROJECT

import podium

PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text())
ABOUT = PYPROJECT["project"]


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in requirements}


def imported(source: str) -> set[str]:
    """Return the packages that are imported, wherever in a module."""
    modules = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":
            modules |= {arg.value.partition(".")[0] for arg in node.args[:1] if isinstance(arg, ast.Constant)}
    return modules - set(sys.stdlib_module_names) - {"podium"}


def test_what_is_needed_is_what_is_imported():
    """Beside it, extras that are loaded where asked for, and what Pydantic and Jinja cannot be without."""
    modules = set().union(*(imported(path.read_text("utf-8")) for path in (PROJECT / "src").rglob("*.py")))
    owners = packages_distributions()
    used = {owners[module][0].lower().replace("_", "-") for module in modules if module in owners}
    beside = {"dask", "markupsafe", "pydantic-core", "pytest"} | names(ABOUT["optional-dependencies"]["dask"])
    beside |= names(ABOUT["optional-dependencies"]["gpu"])
    assert names(ABOUT["dependencies"]) <= used, "declared, but not used"
    assert used - beside <= names(ABOUT["dependencies"]), "used, but not declared"
    assert imported("import scipy.stats\ndef f():\n    from h5py import File\n    import json") == {"scipy", "h5py"}


def test_every_dependency_is_justified_and_so_is_every_extra():
    page = (PROJECT / "docs" / "dependencies.md").read_text()
    rows = [line.split("|")[1].lower() for line in page.splitlines() if line.startswith("| ")]
    first = ", ".join(rows)
    assert [name for name in sorted(names(ABOUT["dependencies"])) if name not in first] == []
    assert [extra for extra in ABOUT["optional-dependencies"] if f"podium[{extra}]" not in first] == []


def test_the_citation_has_what_its_format_asks_for():
    citation = pytest.importorskip("yaml").safe_load((PROJECT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    known = {"cff-version", "message", "type", "title", "abstract", "authors", "version", "license", "keywords"}
    assert citation.keys() <= known | {"date-released", "doi"}
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["authors"] == [{"name": "Podium developers"}], "an entity, and nobody who does not exist"
    assert citation["version"] == podium.__version__
    assert citation["license"] == ABOUT["license"]
    assert citation["keywords"] == ABOUT["keywords"]


def test_release_notes_are_those_of_this_version():
    notes = subprocess.run(
        ["make", "--silent", "release-notes"], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout
    assert notes.startswith(f"## {podium.__version__}")
    assert notes.count("\n## ") == 0
    assert len(notes.splitlines()) > 5


def test_the_workflow_calls_what_every_change_must_pass_on_every_python():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((PROJECT / ".github" / "workflows" / "ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert ".ci/run" in [step.get("run") for step in job["steps"]]
    assert job["strategy"]["matrix"]["python"][0] == ABOUT["requires-python"].removeprefix(">=")
    assert os.access(PROJECT / ".ci" / "run", os.X_OK)


def test_hooks_and_templates_are_well_formed_and_ask_nobody_else():
    yaml = pytest.importorskip("yaml")
    hooks = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]
    for hook in hooks["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")
    for path in (PROJECT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        assert path.name == "config.yml" or {"name", "description", "body"} <= form.keys()


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_what_is_named_is_there(name):
    text = (PROJECT / name).read_text()
    targets = set(re.findall(r"^([\w-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    called = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))
    assert called <= targets, "targets of Make"
    files = re.findall(r"`((?:docs|src|tests|report|\.ci)/[\w./-]+|[A-Z]+\.(?:md|cff))`", text)
    assert [file for file in files if not any((PROJECT / root / file).exists() for root in ("", "src/podium"))] == []


@pytest.mark.slow
def test_what_is_built_holds_all_it_needs_and_says_its_commit(tmp_path):
    pytest.importorskip("hatchling")
    if not (PROJECT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout")
    subprocess.run(["git", "clone", "--quiet", PROJECT, tmp_path / "clone"], check=True)
    build = [sys.executable, "-m", "hatchling", "build", "-d", tmp_path / "built"]
    subprocess.run(build, cwd=tmp_path / "clone", check=True, capture_output=True)
    (wheel,) = (tmp_path / "built").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("podium/")}
        archive.extractall(tmp_path / "installed")
    tracked = subprocess.run(["git", "ls-files", "src/podium"], cwd=tmp_path / "clone", capture_output=True, check=True)
    expected = {line.removeprefix("src/") for line in tracked.stdout.decode().splitlines()}
    assert held == expected | {"podium/_commit.txt"}
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    said = subprocess.run(
        [sys.executable, "-m", "podium", "--version"], env=environment, cwd=tmp_path, capture_output=True, text=True
    ).stdout
    head = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=PROJECT, capture_output=True, text=True)
    assert said == f"podium {podium.__version__} (commit {head.stdout.strip()})\n"
