"""Many submissions and many workers: throughput, memory, and what a second worker brings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cases import Case
from harness import PEAK_MB, Row

from podium.challenges import get_challenge
from podium.challenges.kits21.demo import write as write_demo
from podium.run import dask_pool, find_submissions, measure_all

CASES, SUBMISSIONS = 50, 200


def rows(cases: list[Case], folder: Path) -> list[Row]:
    """Measure 200 submissions × 50 cases, and Dask workers on cases of the size of a CT."""
    return [*_load(folder / "load"), _workers(cases, folder / "workers")]


def write_load(folder: Path, *, submissions: int = SUBMISSIONS, cases: int = CASES) -> None:
    """Write the demo's cases and teams over and over, as links to the same files."""
    write_demo(folder / "demo")
    teams = ("careful", "generous", "noisy", "no-cysts")
    for number in range(cases):
        source, name = f"case_{number % 8:05}", f"case_{number:05}"
        place = folder / "truth" / name
        place.mkdir(parents=True)
        os.link(folder / "demo/truth" / source / "aggregated_MAJ_seg.nii.gz", place / "aggregated_MAJ_seg.nii.gz")
        for team in range(submissions):
            own = folder / "submissions" / f"team{team:03}"
            own.mkdir(parents=True, exist_ok=True)
            os.link(folder / "demo/submissions" / teams[team % 4] / f"{source}.nii.gz", own / f"{name}.nii.gz")


def _load(folder: Path) -> list[Row]:
    write_load(folder)
    seconds, memory = {}, {}
    for jobs, count in ((1, SUBMISSIONS // 4), (1, SUBMISSIONS), (2, SUBMISSIONS)):
        few = folder / f"submissions{count}"
        if not few.exists():
            few.mkdir()
            for team in sorted((folder / "submissions").iterdir())[:count]:
                (few / team.name).symlink_to(team)
        seconds[jobs, count], memory[jobs, count] = _evaluated(folder, few, jobs)
    predictions = CASES * SUBMISSIONS
    print(f"throughput: {predictions / seconds[1, SUBMISSIONS]:.0f} predictions a second on one core")
    return [
        Row(
            f"{SUBMISSIONS} submissions × {CASES} cases of the demo, two threads",
            seconds[2, SUBMISSIONS],
            {"one thread": seconds[1, SUBMISSIONS]},
            unit="s",
        ),
        Row(
            "the same, memory of the whole process",
            memory[1, SUBMISSIONS],
            {f"{SUBMISSIONS // 4} submissions": memory[1, SUBMISSIONS // 4]},
            unit="MB",
            targets={f"{SUBMISSIONS // 4} submissions": ("≤", 1.3)},
        ),
    ]


def _evaluated(folder: Path, submissions: Path, jobs: int) -> tuple[float, float]:
    """Return how long a run in a process of its own takes, and how much memory."""
    program = (
        "import sys; from podium.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        f"print('MB', {PEAK_MB})"
    )
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    arguments = ["--truth", folder / "truth", "--submissions", submissions, "--out", out, "--jobs", jobs]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program, "evaluate", "kits21", *map(str, arguments)],
        capture_output=True,
        check=True,
        text=True,
    )
    return time.perf_counter() - start, float(done.stdout.split("MB")[-1])


def _workers(cases: list[Case], folder: Path) -> Row:
    """Measure cases of the size of a CT by two Dask workers and by one."""
    for number, case in enumerate(cases * 4):
        name = f"case_{number:05}"
        (folder / "truth" / name).mkdir(parents=True)
        shutil.copy(case.reference, folder / "truth" / name / "aggregated_MAJ_seg.nii.gz")
        for team in range(6):
            (folder / "teams" / f"team{team}").mkdir(parents=True, exist_ok=True)
            shutil.copy(case.prediction, folder / "teams" / f"team{team}" / f"{name}.nii.gz")
    challenge = get_challenge("kits21")
    submissions = find_submissions(folder / "teams")
    best = {}
    for workers in (1, 2):
        with dask_pool(f"local:{workers}") as pool:
            times = []
            for _ in range(3):  # the first one also loads kernels
                start = time.perf_counter()
                measure_all(challenge, truth=folder / "truth", submissions=submissions, pool=pool)
                times.append(time.perf_counter() - start)
            best[workers] = min(times)
    name = f"{len(cases) * 4} CT cases × 6 submissions, two Dask workers"
    return Row(name, best[2], {"one worker": best[1]}, unit="s", targets={"one worker": ("≥", 1.7)})
