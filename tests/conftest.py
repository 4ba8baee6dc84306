"""What all tests share: reference data beside the project, and peers to compare with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from shared_data import SHARED
from typer.testing import CliRunner, Result

# The same examples in every run, so that a red run is one that anybody can repeat; nor does it matter how long a
# machine takes to make or to try them.
hypothesis.settings.register_profile(
    "podium", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("podium")


def _needed(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"reference data is not beside the project: {path.name} is missing from ../shared")
    return path


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with reference values and real cases."""
    return _needed(SHARED)


@pytest.fixture(scope="session")
def kits21(shared: Path) -> Path:
    """Return the folder with real CT annotations."""
    return _needed(shared / "kits21")


@pytest.fixture(scope="session")
def golden_kits21(shared: Path) -> dict[str, Any]:
    """Return what the KiTS21 organisers' code gives."""
    return json.loads(_needed(shared / "golden" / "kits21.json").read_text())


@pytest.fixture(scope="session")
def golden_tusrec(shared: Path) -> dict[str, Any]:
    """Return what the TUS-REC organisers' code gives."""
    return json.loads(_needed(shared / "golden" / "tusrec.json").read_text())


@pytest.fixture(scope="session")
def demo_command(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """Return where `podium demo` has written, evaluated and ranked the demo of each challenge, and what it said."""
    from podium.cli import app

    folder = tmp_path_factory.mktemp("demo")
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["demo", "--no-report", "--out", str(folder)])
    assert result.exit_code == 0, result.output + repr(result.exception)
    return folder, result


@pytest.fixture(scope="session")
def demos(demo_command: tuple[Path, Result]) -> Path:
    """Return the folder where each challenge's demo has been written, evaluated and ranked, to be read only."""
    return demo_command[0]


@pytest.fixture(scope="session")
def kits21_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of KiTS21's demo: truth and submissions, to be read only."""
    from podium.challenges.kits21.demo import write

    folder = tmp_path_factory.mktemp("kits21-demo")
    write(folder)
    return folder
