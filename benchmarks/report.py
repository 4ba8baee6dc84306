"""A report of a large run, from measurements to the page and every figure as SVG, PDF and PNG.

The run is drawn at random: 40 submissions × 300 cases of KiTS21, without files, so that no pictures of cases are drawn.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from harness import Row

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from reports import synthetic_run

from podium.report.build import build_report
from podium.report.data import gather

SUBMISSIONS, CASES = 40, 300
SECONDS, MEGABYTES = 60.0, 5.0


def rows() -> list[Row]:
    """Measure the time of the whole, and the size of the page, against what is allowed."""
    run = synthetic_run(SUBMISSIONS, CASES, failing=0.01, baseline=True)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        ranking = run.rank(bootstrap=1000)
        for inference in ("stability", "left_out", "confidence", "sensitivity"):
            getattr(ranking, inference)  # computed when first asked for
        ranked = time.perf_counter()
        built = build_report(gather(ranking), Path(folder) / "report.html", figures=Path(folder) / "figures")
        ended = time.perf_counter()
    what = f"report, {SUBMISSIONS} × {CASES}"
    return [
        Row(
            f"{what}: {ranked - started:.0f} s ranking, {ended - ranked:.0f} s page with {built.figures} figures",
            ended - started,
            {"allowed": SECONDS},
            unit="s",
            targets={"allowed": ("≤", 1.0)},
        ),
        Row(f"{what}, size of the page", built.size / 1e6, {"allowed": MEGABYTES}, "MB", {"allowed": ("≤", 1.0)}),
    ]


if __name__ == "__main__":
    for row in rows():
        print(f"{row.what}: {row.ours:.1f} {row.unit}, allowed {row.others['allowed']:g}")
