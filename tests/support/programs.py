"""Programs that do harm or good, run where an algorithm runs, and the proof that nothing of them is left."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from podium.algorithms.confinement import Confined, Confinement, Exit
from podium.algorithms.processes import marked
from podium.algorithms.specs import Algorithm, Allowance, Bind
from podium.algorithms.walls import why_no_walls

MEBIBYTE = 2**20
SMALL = Allowance(memory_bytes=96 * MEBIBYTE, processes=24, output_bytes=4 * MEBIBYTE)
PYTHON = (sys.executable, "-I", "-S", "-c")

NO_WALLS = why_no_walls()
walled = pytest.mark.skipif(bool(NO_WALLS), reason=NO_WALLS or "there are walls")
# With walls and without; kept within limits by the kernel, or by our own looking where it may not be asked.
PLACES = [
    pytest.param("walls", marks=walled),
    pytest.param("walls, no group", marks=walled),
    "none",
    "none, no group",
]
everywhere = pytest.mark.parametrize("stage", PLACES, indirect=True)
behind_walls = pytest.mark.parametrize("stage", PLACES[:2], indirect=True)


@dataclasses.dataclass
class Stage:
    """Where a program is tried: folders for a case, and a secret beside them."""

    folder: Path
    confinement: Confinement
    marker: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.input, self.output, self.truth = (self.folder / name for name in ("in", "out", "truth"))
        for folder in (self.input, self.output, self.truth):
            folder.mkdir()
        (self.input / "case.txt").write_text("forty-two\n")
        (self.truth / "secret.txt").write_text("the truth")
        self.log = self.folder / "log"

    def start(self, *words: str, allowance: Allowance = SMALL, pipes: bool = False, **changes: object) -> Confined:
        """Start a program, `{input}` and `{output}` filled in."""
        binds = [Bind(self.input, "/input"), Bind(self.output, "/output", writable=True)]
        where = dict(zip(("input", "output"), map(self.confinement.seen, binds), strict=True))
        algorithm = Algorithm("team", command=words, environment={"PODIUM_TEST": self.marker})
        algorithm = dataclasses.replace(algorithm, **changes)
        self.confinement.prepare(algorithm)
        return self.confinement.start(
            algorithm,
            [word.replace("{input}", where["input"]).replace("{output}", where["output"]) for word in words],
            binds=binds,
            output=self.output,
            allowance=allowance,
            log=self.log,
            pipes=pipes,
        )

    def run(self, *words: str, seconds: float = 60, allowance: Allowance = SMALL, **changes: object) -> Exit:
        """Run a program to its end."""
        return self.start(*words, allowance=allowance, **changes).wait(seconds)

    def said(self) -> str:
        """Return what stands in the log."""
        return self.log.read_text(errors="replace")


def mounts(stage: Stage) -> list[str]:
    """Return what of a stage is mounted."""
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(stage.folder) in line]


def open_handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def groups() -> list[str]:
    """Return the groups of processes that were made by this process."""
    return [
        folder for folder, _, _ in os.walk("/sys/fs/cgroup") if Path(folder).name.startswith(f"podium-{os.getpid()}-")
    ]


@contextmanager
def nothing_left(stage: Stage) -> Iterator[None]:
    """Assert that no process, mount, group, file or open handle of a program is there at the end."""
    handles = open_handles()
    temporary = stage.folder / "temporary"
    temporary.mkdir()
    with mock.patch.object(tempfile, "tempdir", str(temporary)):
        yield
    assert marked(f"PODIUM_TEST={stage.marker}") == []
    assert mounts(stage) == []
    assert groups() == []
    deadline = time.monotonic() + 60  # a thread that has been told to end may still be closing its own
    while open_handles() > handles and time.monotonic() < deadline:
        time.sleep(0.01)
    assert open_handles() <= handles
    assert not any(temporary.iterdir())
    assert {path.name for path in stage.folder.iterdir()} <= {"in", "out", "truth", "log", "home", "model", "temporary"}
