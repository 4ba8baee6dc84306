"""An installation and a home that nobody can write to, as on clusters and in containers: kernels are kept elsewhere."""

import os
import shutil
import subprocess
import sys

import pytest
from shared_data import PROJECT

pytestmark = pytest.mark.slow


@pytest.fixture
def read_only(tmp_path):
    """Return a function that runs Podium from a read-only copy, without a home, and without the powers of root."""
    source = tmp_path / "install" / "podium"
    shutil.copytree(PROJECT / "src" / "podium", source, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    folders = [tmp_path / "install", *(path for path in source.rglob("*") if path.is_dir()), source, tmp_path / "home"]
    for folder in folders:
        folder.chmod(0o555)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA", "XDG", "MPL"))}
    environment |= {
        "PYTHONPATH": str(tmp_path / "install"),
        "HOME": str(tmp_path / "home" / "missing"),
        "TMPDIR": str(tmp_path / "temporary"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    powerless = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    if powerless and not shutil.which("setpriv"):
        pytest.skip("there is no setpriv to take the powers of root away")

    def run(*arguments):
        command = [*powerless, sys.executable, "-m", "podium", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)

    yield run
    for folder in folders:
        folder.chmod(0o755)


@pytest.fixture
def command(tmp_path):
    """Return a command that needs few kernels, as each of them takes a second to compile."""
    lines = [f"team {team},case {case},{(team + 1) / (case + 2)}" for team in range(3) for case in range(8)]
    (tmp_path / "table.csv").write_text("\n".join(["submission,case,value", *lines]))
    rules = ("--better", "higher", "--scheme", "test-then-rank", "--bootstrap", "0")
    return "rank", tmp_path / "table.csv", *rules


def test_kernels_are_kept_in_a_temporary_folder_of_ones_own(read_only, command, tmp_path):
    first = read_only(*command)
    assert first.returncode == 0, first.stderr
    (line,) = first.stderr.splitlines()
    folder = tmp_path / "temporary" / f"podium-kernels-{os.getuid()}"
    assert f"(kept in {folder}, as neither the installation nor the home folder can be written to)" in line
    assert folder.stat().st_mode & 0o777 == 0o700
    second = read_only(*command)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout == first.stdout


def test_kernels_are_compiled_in_memory_where_others_could_have_written_them(read_only, command, tmp_path):
    folder = tmp_path / "temporary" / f"podium-kernels-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    result = read_only(*command)
    assert result.returncode == 0, result.stderr
    (line,) = result.stderr.splitlines()
    assert "(each time anew, as neither the installation nor the home folder can be written to)" in line
    assert list(folder.iterdir()) == []


@pytest.mark.heavy
def test_a_whole_run_without_a_home(read_only, kits21_demo, tmp_path):
    inputs = ("--truth", kits21_demo / "truth", "--submissions", kits21_demo / "submissions")
    result = read_only("evaluate", "kits21", *inputs, "--out", tmp_path / "run", "--jobs", "1")
    assert result.returncode == 3, result.stderr
    result = read_only("report", tmp_path / "run", "--bootstrap", "0")
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert "atplotlib" not in result.stderr
