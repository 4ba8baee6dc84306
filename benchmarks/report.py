"""A report of a large run, from measurements to the page with every figure, and how soon a browser shows it.

The run is drawn at random: 40 submissions × 300 cases of KiTS21, without files, so that no pictures of cases are drawn.
`python benchmarks/report.py 300 1000` measures another size; time, page and memory are then only compared with what a
large report may take.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import Row

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from reports import synthetic_run

from podium.report.build import build_report
from podium.report.data import gather

SUBMISSIONS, CASES = 40, 300
SECONDS, MEGABYTES = 10.0, 5.0
LARGE_MEGABYTES, MEMORY = 20.0, 2000.0
FIRST_PAINT = 1.0
"""Seconds, of any report."""


def rows(submissions: int = SUBMISSIONS, cases: int = CASES) -> list[Row]:
    """Measure the time of the whole, the size of the page, memory and first paint against what is allowed."""
    usual = (submissions, cases) == (SUBMISSIONS, CASES)
    run = synthetic_run(submissions, cases, failing=0.01, baseline=True)
    forget_peak()
    with tempfile.TemporaryDirectory() as folder:
        started, cpu = time.perf_counter(), time.process_time()
        ranking = run.rank(bootstrap=1000)
        for inference in ("stability", "left_out", "confidence", "sensitivity"):
            getattr(ranking, inference)  # computed when first asked for
        ranked = time.perf_counter()
        page = Path(folder) / "report.html"
        built = build_report(gather(ranking), page, figures=Path(folder) / "figures", formats=("svg",))
        ended, cpu = time.perf_counter(), time.process_time() - cpu
        painted = first_paint(page)
    memory = peak() / 1e6
    what = f"report, {submissions} × {cases}"
    spent = f"{ranked - started:.0f} s ranking, {ended - ranked:.0f} s page with {built.figures} figures"
    most = MEGABYTES if usual else LARGE_MEGABYTES
    result = [
        _row(f"{what}, size of the page", built.size / 1e6, most, "MB"),
        _row(f"{what}, memory", memory, MEMORY, "MB"),
    ]
    if usual:
        result.insert(0, _row(f"{what}: {spent}, {cpu:.0f} s of one core", ended - started, SECONDS, "s"))
    else:
        result.insert(0, Row(f"{what}: {spent}, {cpu:.0f} s of one core", ended - started, {}, "s"))
    if painted is not None:
        result.append(_row(f"{what}, first paint", painted, FIRST_PAINT, "s"))
    return result


def forget_peak() -> None:
    """Count the most memory anew, so that making up a run does not count."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """Return the most memory since then, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024.0 * float(re.search(r"VmHWM:\s+(\d+)", status)[1])


def _row(what: str, ours: float, allowed: float, unit: str) -> Row:
    return Row(what, ours, {"allowed": allowed}, unit, {"allowed": ("≤", 1.0)})


def first_paint(page: Path) -> float | None:
    """Return after how many seconds Chromium first shows something of a page; None where there is no Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from browsing import FLAGS

    asked = """() => new Promise((tell) => {
      const known = () => performance.getEntriesByName('first-contentful-paint')[0];
      const look = () => known() ? tell(known().startTime / 1000) : setTimeout(look, 20);
      look();
    })"""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=list(FLAGS))
        opened: Any = browser.new_page(viewport={"width": 1440, "height": 900})
        opened.goto(page.as_uri(), timeout=600_000)
        seconds = float(opened.evaluate(asked))
        browser.close()
    return seconds


if __name__ == "__main__":
    for row in rows(*map(int, sys.argv[1:3])):
        allowed = f", allowed {row.others['allowed']:g}" if row.others else ""
        print(f"{row.what}: {row.ours:.1f} {row.unit}{allowed}")
