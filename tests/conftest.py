"""What all tests share: reference data beside the project, and peers to compare with."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import pytest
from browsing import DESKTOP, FLAGS, LATE_TOGGLES, PATIENCE
from shared_data import SHARED
from slow_files import SLOW
from typer.testing import CliRunner

# The same examples in every run, so that a red run is one that anybody can repeat; nor does it matter how long a
# machine takes to make or to try them.
hypothesis.settings.register_profile(
    "podium", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("podium")

# Without a GPU, Triton's kernels are run by its interpreter; it must be told before anything imports it.
if not list(Path("/dev").glob("nvidia[0-9]*")):
    os.environ["TRITON_INTERPRET"] = "1"

# In the background of a shell, or under nohup, these are ignored; tests send them to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


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


Make = Callable[[Path], None]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Make], Path]:
    """Return a function that makes a folder once for all processes that run tests, to be read only."""
    base = tmp_path_factory.getbasetemp()
    place = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder(name: str, make: Make) -> Path:
        made, finished = place / name, place / f"{name}.finished"
        with (place / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not finished.exists():
                shutil.rmtree(made, ignore_errors=True)
                made.mkdir()
                make(made)
                finished.touch()
        return made

    return folder


class Said(NamedTuple):
    """What a command wrote to the standard output and to the standard error."""

    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def demo_command(made_once: Callable[[str, Make], Path]) -> tuple[Path, Said]:
    """Return where `podium demo` has written, evaluated and ranked the demo of each challenge, and what it said."""
    from podium.cli import app

    def make(folder: Path) -> None:
        command = ["demo", "--no-report", "--out", str(folder / "demo-run")]
        result = CliRunner(env={"COLUMNS": "120"}).invoke(app, command)
        assert result.exit_code == 0, result.output + repr(result.exception)
        (folder / "said.json").write_text(json.dumps([result.stdout, result.stderr]))

    folder = made_once("demo", make)
    return folder / "demo-run", Said(*json.loads((folder / "said.json").read_text()))


@pytest.fixture(scope="session")
def demos(demo_command: tuple[Path, Said]) -> Path:
    """Return the folder where each challenge's demo has been written, evaluated and ranked, to be read only."""
    return demo_command[0]


@pytest.fixture(scope="session")
def written_demo(made_once: Callable[[str, Make], Path]) -> Callable[[str], Path]:
    """Return a function that returns the folder of a demo: truth and submissions, to be read only."""
    from podium.challenges import get_challenge

    return lambda name: made_once(f"{name}-demo", lambda folder: get_challenge(name).write_demo(folder))


@pytest.fixture(scope="session")
def kits21_demo(written_demo: Callable[[str], Path]) -> Path:
    """Return the folder of KiTS21's demo: truth and submissions, to be read only."""
    return written_demo("kits21")


@pytest.fixture(scope="session")
def few_cases(written_demo: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder with the truth and the images of a few cases of a demo, not to be changed."""
    from other_truths import KINDS

    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            made[name] = shutil.copytree(written_demo(name) / "truth", tmp_path_factory.mktemp(name) / "truth")
            KINDS[name].trim(made[name])
        return made[name]

    return of


@pytest.fixture(scope="session")
def browser():
    """Start Chromium, or say why not."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test installs it")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, headless=True, args=FLAGS, timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Return a function that opens a file; the test fails where anything is logged or wanted from elsewhere.

    Elsewhere is whatever is not in the file, or, where it is given, in the folder `within`.
    """
    contexts, wrong = [], []

    def visit(path, *, size=DESKTOP, scheme="light", anchor="", within=None, **options):
        context = browser.new_context(viewport=size, color_scheme=scheme, offline=True, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(LATE_TOGGLES)
        page = context.new_page()
        address = path.as_uri()
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        own = None if within is None else within.as_uri()

        def asked(request):
            url = request.url.partition("#")[0]
            if url != address and not url.startswith("data:") and (own is None or not url.startswith(own)):
                wrong.append(request.url)

        page.on("request", asked)
        page.goto(f"{address}{anchor}")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even look at what is slow as a whole where nothing slow is to be run."""
    here = Path(__file__).parent
    if "not slow" not in config.option.markexpr or not collection_path.is_relative_to(here):
        return None
    return collection_path.relative_to(here).as_posix().startswith(SLOW) or None
