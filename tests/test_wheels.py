"""What is built, installed as anybody would: on every Python, with the lowest and the newest of all dependencies.

Nothing of the checkout is used after the build. Interpreters are looked for on the PATH and among those of pyenv; each
environment takes about 1 GB, one after another.
"""

import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from shared_data import PROJECT

import podium
from podium._commit import commit_of
from podium.io import write_label_map
from podium.model import LabelMap

pytestmark = pytest.mark.heavy

ABOUT = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
PACKAGES = ("podium", *sorted(f"podium.{init.parent.name}" for init in PROJECT.glob("src/podium/[!_]*/__init__.py")))
PATIENCE = 900
KINDS_OF_WARNINGS = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
STRICT = "import warnings; " + "; ".join(
    rf"warnings.filterwarnings('error', '', {kind}, r'podium(\.|$)')" for kind in KINDS_OF_WARNINGS
)
"""The line of a .pth file: what Podium itself uses although it is deprecated is an error, in every process."""


def plain(name: str) -> str:
    return re.match(r"[\w.-]+", name)[0].lower().replace("_", "-")


def lowest() -> dict[str, str]:
    """Return the lower bound of each dependency."""
    return {plain(line): re.search(r">=\s*([\w.]+)", line)[1] for line in ABOUT["dependencies"]}


def pinned() -> dict[str, str]:
    """Return the versions that Podium is developed with."""
    lines = (PROJECT / "constraints.txt").read_text().splitlines()
    return {plain(line): line.partition("==")[2] for line in lines if "==" in line}


def is_same(one: str, other: str) -> bool:
    """Return whether two plain versions are the same, where 3.10 and 3.10.0 are."""
    both = [tuple(map(int, re.match(r"[\d.]+", version)[0].strip(".").split("."))) for version in (one, other)]
    longest = max(map(len, both))
    return len({(*numbers, *[0] * (longest - len(numbers))) for numbers in both}) == 1


@dataclass(frozen=True)
class Kind:
    """An environment to install into: which Python, which of what was built, which versions it may have."""

    python: str
    built: str
    versions: str

    def constraints(self) -> dict[str, str]:
        """Return the version that each package must have."""
        return {"lowest": lowest, "pinned": pinned, "newest": dict}[self.versions]()


KINDS = (Kind("3.11", "whl", "lowest"), Kind("3.12", "whl", "pinned"), Kind("3.13", "tar.gz", "newest"))


@dataclass(frozen=True)
class Installed:
    """An environment with Podium in it, and an empty folder to work in, which is its home as well."""

    kind: Kind
    environment: Path
    work: Path

    def run(self, *words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Call a program of the environment, with nothing else around it."""
        command = [self.environment / "bin" / str(words[0]), *map(str, words[1:])]
        variables = {"PATH": f"{self.environment / 'bin'}:/usr/bin:/bin", "HOME": str(self.work), "LANG": "C.UTF-8"}
        done = subprocess.run(
            command, cwd=self.work, env=variables, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        assert not check or done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done

    def answer(self, source: str) -> dict:
        """Return the JSON that a few lines print, which nothing outside the environment can help."""
        return json.loads(self.run("python", "-I", "-c", source).stdout)


def interpreter(version: str) -> Path:
    """Return a Python that runs and can make environments, or say that there is none.

    That of pyenv on the PATH may exist and only say that it was not found.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(pyenv.glob(f"versions/{version}.*/bin"), reverse=True)
    question = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for candidate in (folder / f"python{version}" for folder in folders):
        if os.access(candidate, os.X_OK):
            asked = subprocess.run([candidate, "-I", "-c", question], capture_output=True, text=True, check=False)
            if (asked.returncode, asked.stdout.strip()) == (0, version):
                return candidate
    pytest.skip(f"there is no Python {version} that runs, neither on the PATH nor in pyenv")


def is_without_network() -> bool:
    """Return whether nobody can be reached at all; a package index that fails is not that."""
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return False
    try:
        socket.create_connection(("pypi.org", 443), timeout=20).close()
    except OSError:
        return True
    return False


def copy_of_the_checkout(folder: Path) -> Path:
    """Clone it, so that the commit is known, and put what is not committed on top."""
    subprocess.run(["git", "clone", "--quiet", PROJECT, folder], check=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, listed):
        if (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    return folder


@dataclass(frozen=True)
class Built:
    """A wheel and a source archive, and of which commit they are."""

    folder: Path
    commit: str

    def file(self, ending: str) -> Path:
        """Return the one with this ending."""
        (path,) = self.folder.glob(f"*.{ending}")
        return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    pytest.importorskip("hatchling")
    if not (PROJECT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout")
    folder = tmp_path_factory.mktemp("built")
    checkout = copy_of_the_checkout(folder / "checkout")
    build = [sys.executable, "-m", "hatchling", "build", "-d", folder / "files"]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True)
    return Built(folder / "files", commit_of(checkout / "src" / "podium"))


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind.python}-{kind.versions}")
def installed(
    request: pytest.FixtureRequest, built: Built, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """Install what was built into an environment, which is removed afterwards."""
    kind: Kind = request.param
    python = interpreter(kind.python)
    folder = tmp_path_factory.mktemp(f"python-{kind.python}")
    environment, work = folder / "environment", folder / "work"
    work.mkdir()
    subprocess.run([python, "-I", "-m", "venv", environment], check=True, capture_output=True)
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in kind.constraints().items()))
    options = ["--no-compile", "--retries", "2", "--constraint", constraints]
    variables = {name: value for name, value in os.environ.items() if name not in ("PIP_CONSTRAINT", "PYTHONPATH")}
    done = subprocess.run(
        [environment / "bin" / "python", "-m", "pip", "install", *options, built.file(kind.built)],
        cwd=work,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if done.returncode != 0 and is_without_network():
        pytest.skip("there is no network, and pip needs one here")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "strict.pth").write_text(f"{STRICT}\n")
    yield Installed(kind, environment, work)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return the environment of the tests, whose results all others must reach."""
    return Installed(Kind("", "", ""), Path(sys.prefix), tmp_path_factory.mktemp("here"))


def differences(one: object, other: object, at: str = "") -> Iterator[str]:
    """Yield where two documents are not alike, numbers to 1e-9."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from differences(one.get(key, "nothing"), other.get(key, "nothing"), f"{at}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{at}/{place}")
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
            yield f"{at}: {one!r} and {other!r}"
    elif one != other:
        yield f"{at}: {one!r} and {other!r}"


def ranked(folder: Path, *, called: str = "table.csv") -> dict:
    """Return places and values, and how sure they are; a table is called the same, whatever its kind."""
    texts = {name: (folder / name).read_text() for name in ("leaderboard.json", "ranking.json")}
    return {name: json.loads(text.replace(called, "table.csv")) for name, text in texts.items()}


def test_the_source_archive_holds_what_a_build_needs(built):
    with tarfile.open(built.file("tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src/podium/_commit.txt"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".venv", "site/", "dist/"))]


def test_what_is_needed_is_installed_and_no_more(installed):
    listed = json.loads(installed.run("python", "-I", "-m", "pip", "list", "--format=json").stdout)
    versions = {plain(package["name"]): package["version"] for package in listed}
    assert installed.run("python", "-I", "-m", "pip", "check").stdout == "No broken requirements found.\n"
    needed = {plain(line) for line in ABOUT["dependencies"]}
    assert needed <= versions.keys()
    extras = {plain(line) for lines in ABOUT["optional-dependencies"].values() for line in lines}
    assert (extras | {"dask", "pandas", "pyarrow"}) - needed & versions.keys() == set()
    bounds = installed.kind.constraints()
    assert {name: versions[name] for name in needed & bounds.keys() if not is_same(versions[name], bounds[name])} == {}
    if installed.kind.versions == "lowest":
        assert bounds.keys() == needed


def test_it_says_its_version_and_its_commit(installed, built):
    assert re.fullmatch(r"[0-9a-f]{10}(\+changes)?", built.commit)
    assert installed.run("podium", "--version").stdout == f"podium {podium.__version__} (commit {built.commit})\n"
    assert installed.run("podium", "--help").stdout.startswith("Usage: podium")


def test_all_public_packages_come_from_the_environment(installed):
    source = f"""
import importlib, json, sys, warnings
try:
    warnings.warn_explicit("old", DeprecationWarning, "demo.py", 1, "podium.cli.demo")
    strict = False
except DeprecationWarning:
    strict = True
modules = [importlib.import_module(name) for name in {PACKAGES}]
missing = [(module.__name__, name) for module in modules for name in module.__all__ if not hasattr(module, name)]
files = [module.__file__ for module in modules]
print(json.dumps({{"files": files, "missing": missing, "path": sys.path, "strict": strict}}))
"""
    answer = installed.answer(source)
    assert answer["strict"], "what is deprecated must be an error, or the other tests would not tell"
    assert answer["missing"] == []
    assert all(Path(file).is_relative_to(installed.environment) for file in answer["files"])
    assert not [folder for folder in answer["path"] if Path(folder).is_relative_to(PROJECT)]


@pytest.fixture(scope="module")
def demo_here(here: Installed) -> dict:
    here.run("podium", "demo", "kits21", "--no-report", "--out", "demo")
    return ranked(here.work / "demo" / "kits21" / "run")


def test_a_demo_is_evaluated_ranked_and_reported(installed, demo_here):
    said = installed.run("podium", "demo", "kits21", "--out", "demo").stderr
    assert "Warning" not in said
    run = installed.work / "demo" / "kits21" / "run"
    assert (run / "report.html").stat().st_size > 100_000
    assert list((run / "figures").glob("*.svg"))
    assert list(differences(demo_here, ranked(run))) == []


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one table, as CSV and as a workbook."""
    pytest.importorskip("xlsxwriter")
    generator = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("tables")
    rows = [
        {"submission": team, "case": f"case {case}", "value": round(float(quality + generator.uniform(-0.1, 0.1)), 4)}
        for team, quality in (("good", 0.85), ("close", 0.84), ("poor", 0.6))
        for case in range(12)
    ]
    frame = pl.DataFrame(rows)
    frame.write_csv(folder / "table.csv")
    frame.write_excel(folder / "table.xlsx")
    return folder


@pytest.fixture(scope="module")
def table_here(here: Installed, tables: Path) -> dict:
    here.run("podium", "rank", tables / "table.csv", "--better", "higher", "--bootstrap", 200, "--out", "ranked")
    return ranked(here.work / "ranked")


def test_tables_are_ranked_and_go_into_a_paper(installed, tables, table_here):
    for name in ("table.csv", "table.xlsx"):
        arguments = (tables / name, "--better", "higher", "--bootstrap", 200)
        installed.run("podium", "rank", *arguments, "--out", name)
        assert list(differences(table_here, ranked(installed.work / name, called=name))) == []
    report = (tables / "table.csv", "--better", "higher", "--bootstrap", 200, "--only", "places", "--paper", "paper")
    installed.run("podium", "report", *report, "--out", "page.html")
    assert (installed.work / "page.html").stat().st_size > 10_000
    assert list((installed.work / "paper" / "figures").glob("*.pdf"))
    assert (installed.work / "paper" / "methods.md").exists()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with references and predictions as NIfTI."""
    folder = tmp_path_factory.mktemp("folders")
    for case in range(2):
        for kind, shift in (("references", 0), ("predictions", case + 1)):
            array = np.zeros((20, 24, 16), np.uint8)
            array[4:14, 5 + shift : 17 + shift, 3:12] = 1
            array[6:10, 8 : 12 + shift, 5:9] = 2
            (folder / kind).mkdir(exist_ok=True)
            write_label_map(folder / kind / f"case_{case}.nii.gz", LabelMap.from_array(array, spacing=(1.5, 0.7, 0.7)))
    return folder


@pytest.fixture(scope="module")
def measured_here(here: Installed, folders: Path) -> dict:
    return json.loads(here.run("podium", "measure", folders / "references", folders / "predictions", "--json").stdout)


def test_folders_are_measured(installed, folders, measured_here):
    words = ("podium", "measure", folders / "references", folders / "predictions", "--json")
    assert list(differences(measured_here, json.loads(installed.run(*words).stdout))) == []


def test_documents_that_differ_are_told_apart():
    assert list(differences({"a": [1.0, {"b": 0.1 + 0.2}]}, {"a": [1.0, {"b": 0.3}]})) == []
    assert list(differences({"a": [1.0]}, {"a": [1.000001]})) == ["/a/0: 1.0 and 1.000001"]
    assert list(differences({"a": 1}, {})) == ["/a: 1 and 'nothing'"]
    assert list(differences([1], [1, 2])) == [": [1] and [1, 2]"]
    assert is_same("3.10", "3.10.0")
    assert not is_same("3.10", "3.1")
