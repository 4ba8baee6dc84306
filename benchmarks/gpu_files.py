"""`podium evaluate` of CT cases from .nii.gz files, with `--device cpu` and `--device cuda`: cases a second of each.

    python benchmarks/gpu_files.py --out results.json

Every case is a real one of shared/kits21 with a spacing of its own, as in a real run, so that nothing that is kept for
one spacing helps another; two teams, so that each case has three files. All files were read once before (they are in
the page cache). The devices take turns, and the median counts. Their measurements must agree to 1e-9. How long the
files take to be read alone is measured too: no device can be faster than that.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import nibabel
import numpy as np
from shared_data import SHARED

import podium
from podium.io import read_label_map
from podium.metrics.devices import lacking_gpu

HEADER = 352
PLACES = {"truth": "MAJ", "teams/careful": "AND", "teams/generous": "OR"}


def write_cases(folder: Path, count: int) -> None:
    """Write that many cases: a header of its own before voxels that are compressed once."""
    sources = sorted((SHARED / "kits21").iterdir())
    files = [
        (place, source / f"aggregated_{kind}_seg.nii.gz", number)
        for place, kind in PLACES.items()
        for number, source in enumerate(sources)
    ]

    def write(given: tuple[str, Path, int]) -> None:
        place, path, number = given
        whole = gzip.decompress(path.read_bytes())
        voxels = gzip.compress(whole[HEADER:], 6)
        (folder / place).mkdir(parents=True, exist_ok=True)
        for case in range(number, count, len(sources)):
            header = nibabel.Nifti1Header(whole[:348])
            affine = header.get_best_affine() @ np.diag([*([1 + case / 1000] * 3), 1])
            header.set_sform(affine)
            header.set_qform(affine)
            content = gzip.compress(header.binaryblock + bytes(4)) + voxels
            (folder / place / f"case_{case:05}.nii.gz").write_bytes(content)

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, files))


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many seconds a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def evaluated(folder: Path, cases: int, jobs: int, device: str) -> tuple[float, Any]:
    """Return the seconds and the run of an evaluation of the first cases."""
    with tempfile.TemporaryDirectory() as place:
        for part in PLACES:
            (Path(place) / part).mkdir(parents=True)
            for path in sorted((folder / part).iterdir())[:cases]:
                (Path(place) / part / path.name).hardlink_to(path)
        options = {"jobs": jobs, "device": device, "out": Path(place) / "run", "say": print}
        return timed(
            lambda: podium.evaluate("kits21", truth=Path(place) / "truth", submissions=Path(place) / "teams", **options)
        )


def read_alone(folder: Path, cases: int, jobs: int) -> float:
    """Return the seconds that all files of the first cases take to be read."""
    files = [path for part in PLACES for path in sorted((folder / part).iterdir())[:cases]]
    with ThreadPoolExecutor(jobs) as pool:
        return timed(lambda: [label_map.shape for label_map in pool.map(read_label_map, files)])[0]


def agree(one: Any, two: Any) -> float:
    """Return by how much two runs differ at most; stop where it is more than 1e-9."""
    keys = ["submission", "case", "target", "metric"]
    first, second = (run.measurements.sort(keys)["value"].to_numpy() for run in (one, two))
    difference = float(np.max(np.abs(first - second) / np.maximum(np.abs(first), 1e-12)))
    assert difference <= 1e-9, difference
    return difference


def main() -> None:
    """Measure with one, with four and with all processors, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("bench-results/gpu-files.json"))
    parser.add_argument("--cases", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        os.environ["TMPDIR"] = tempfile.tempdir = place
        folder = Path(place) / "material"
        write_cases(folder, given.cases)
        first = {device: evaluated(folder, 1, 1, device)[0] for device in ("cpu", "cuda")}
        print(f"the first case of all, compiling: {first}; GPU: {lacking_gpu() or 'usable'}", flush=True)
        for jobs in sorted({1, min(4, os.cpu_count() or 1), os.cpu_count() or 1}):
            cases = min(given.cases, max(6, given.cases * jobs // (os.cpu_count() or 1)))
            seconds: dict[str, list[float]] = {"read": [], "cpu": [], "cuda": []}
            runs = {}
            for _ in range(given.rounds):
                seconds["read"].append(read_alone(folder, cases, jobs))
                for device in ("cpu", "cuda"):
                    taken, runs[device] = evaluated(folder, cases, jobs, device)
                    seconds[device].append(taken)
            a_second = {name: cases / statistics.median(taken) for name, taken in seconds.items()}
            difference = agree(runs["cpu"], runs["cuda"])
            row = {"jobs": jobs, "cases": cases, "cases a second": a_second, "difference": difference}
            rows.append(row | {"devices": runs["cuda"].record.devices})
            print(row, runs["cuda"].record.devices, flush=True)
            document = {"cores": os.cpu_count(), "first case": first, "gpu": lacking_gpu() or "usable", "rows": rows}
            given.out.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
