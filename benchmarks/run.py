"""Every row of the performance table that can be measured, ours and the peers' in one run.

Run it with `make bench`, or a part of it with `make bench PARTS=ranking`. Results are printed and kept in
bench-results/bench.json, part by part, with the day and the machine; with `--record` in docs/data/benchmarks.json as
well, from which the documentation and README have their figures. Times are the best of several interleaved rounds on
one thread; ratios are what counts, the machine being whatever it is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")  # peers use deprecated names

import algorithms
import boundaries
import certainty
import instances
import measure
import nibabel
import numpy as np
import probabilities
import ranking
import raters
import report
import scale
import SimpleITK
import start
import trackrad
import tusrec
from cases import Case, kits21_cases
from harness import Row, best_of, plain
from isal import isal_zlib
from rich.console import Console
from rich.table import Table

from podium.io import read_label_map
from podium.metrics import SurfaceDistances, dice, displacement_error, overlap, surface_dice, surface_distances

REGIONS = {"kidney_and_mass": (1, 2, 3), "mass": (2, 3), "tumor": (2,)}
TOLERANCES = {"kidney_and_mass": 1.0330772532390826, "mass": 1.1328796488598762, "tumor": 1.1498198361434828}
PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "bench-results" / "bench.json"
RECORD = PROJECT / "docs" / "data" / "benchmarks.json"


def decompress(*paths: Path) -> None:
    """Decompress files and throw the bytes away, the way the reader does: the floor."""
    buffer = bytearray(512 * 1024)
    for path in paths:
        with path.open("rb") as file:
            reader = isal_zlib._GzipReader(file, 64 * 1024)
            while reader.readinto(buffer):
                pass


def with_nibabel(path: Path) -> np.ndarray:
    """Read labels into bytes with nibabel."""
    return np.asarray(nibabel.load(path).dataobj).astype(np.uint8)


def with_simpleitk(path: Path) -> np.ndarray:
    """Read labels into bytes with SimpleITK."""
    return SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))).astype(np.uint8)


def evaluate(case: Case) -> dict[str, tuple[float, float]]:
    """Evaluate a KiTS21 case with Podium."""
    reference, prediction = read_label_map(case.reference), read_label_map(case.prediction)
    overlaps = overlap(reference, prediction, regions=REGIONS)
    surfaces = surface_distances(reference, prediction, regions=REGIONS)
    return {r: (dice(overlaps[r]), surface_dice(surfaces[r], tolerance_mm=TOLERANCES[r])) for r in REGIONS}


def evaluate_with_peers(case: Case) -> dict[str, tuple[float, float]]:
    """Evaluate a KiTS21 case with SimpleITK, MedPy and DeepMind's package, as its organisers do."""
    from medpy.metric.binary import dc
    from surface_distance import compute_surface_dice_at_tolerance, compute_surface_distances

    images = [SimpleITK.ReadImage(str(path)) for path in (case.reference, case.prediction)]
    spacing = images[0].GetSpacing()[::-1]
    reference, prediction = (SimpleITK.GetArrayFromImage(image) for image in images)
    result = {}
    for region, labels in REGIONS.items():
        one, two = np.isin(reference, labels), np.isin(prediction, labels)
        distances = compute_surface_distances(one, two, spacing)
        result[region] = dc(two, one), compute_surface_dice_at_tolerance(distances, TOLERANCES[region])
    return result


def reading(cases: list[Case]) -> list[Row]:
    """Measure reading a label map into bytes, against the floor and two readers."""
    rows = []
    for case in cases:
        times = best_of(
            {
                "podium": lambda case=case: read_label_map(case.reference),
                "decompression alone": lambda case=case: decompress(case.reference),
                "nibabel": lambda case=case: with_nibabel(case.reference),
                "SimpleITK": lambda case=case: with_simpleitk(case.reference),
            },
            rounds=9,
        )
        targets = {"decompression alone": ("≤", 1.5), "nibabel": ("≥", 4.0), "SimpleITK": ("≥", 4.0)}
        rows.append(Row(f"read {case.name}", times.pop("podium"), times, targets=targets))
    return [*rows, total("read, all cases", rows)]


def kits21(cases: list[Case]) -> list[Row]:
    """Measure a KiTS21 case from two files to six numbers, against the floor and what the organisers run."""
    rows = []
    for case in cases:
        ours, theirs = evaluate(case), evaluate_with_peers(case)
        np.testing.assert_allclose([*ours.values()], [*theirs.values()], rtol=0, atol=1e-9)
        times = best_of(
            {
                "podium": lambda case=case: evaluate(case),
                "decompression alone": lambda case=case: decompress(case.reference, case.prediction),
                "SimpleITK + MedPy + DeepMind": lambda case=case: evaluate_with_peers(case),
            },
            rounds=7,
            seconds=6.0,
        )
        targets = {"decompression alone": ("≤", 2.5), "SimpleITK + MedPy + DeepMind": ("≥", 25.0)}
        rows.append(Row(f"KiTS21 {case.name}", times.pop("podium"), times, targets=targets))
    return [*rows, total("KiTS21, all cases", rows)]


def surfaces(cases: list[Case]) -> list[Row]:
    """Measure surface distances of two masks in memory, with DeepMind's boundary and with MONAI's."""
    import torch
    from monai.metrics import compute_average_surface_distance
    from surface_distance import compute_surface_distances

    torch.set_num_threads(1)
    rows = []
    for case in cases:
        maps = [read_label_map(path) for path in (case.reference, case.prediction)]
        for region, labels in REGIONS.items():
            spacing = maps[0].spacing[::-1]
            one, two = (np.ascontiguousarray(np.isin(m.array.T, labels)) for m in maps)
            tensors = [torch.as_tensor(mask[None, None]) for mask in (two, one)]
            times = best_of(
                {
                    "surfel": lambda m=(one, two), s=spacing: SurfaceDistances.between(*m, spacing_mm=s),
                    "voxel": lambda m=(one, two), s=spacing: SurfaceDistances.between(
                        *m, spacing_mm=s, boundary="voxel"
                    ),
                    "DeepMind": lambda m=(one, two), s=spacing: compute_surface_distances(*m, s),
                    "MONAI": lambda t=tensors, s=spacing: compute_average_surface_distance(
                        *t, include_background=True, symmetric=True, spacing=s
                    ),
                },
                rounds=5,
                seconds=3.0,
            )
            for boundary, peer in (("surfel", "DeepMind"), ("voxel", "MONAI")):
                name = f"{boundary} distances, {case.name} {region}"
                rows.append(Row(name, times[boundary], {peer: times[peer]}, targets={peer: ("≥", 20.0)}))
    summary = []
    for boundary, peer in (("surfel", "DeepMind"), ("voxel", "MONAI")):
        own = [row for row in rows if row.what.startswith(boundary)]
        worst = min(own, key=lambda row, peer=peer: row.ratio(peer))
        worst.what += " (the worst)"
        summary += [total(f"{boundary} distances, all cases and regions", own), worst]
    return summary


def threads(cases: list[Case]) -> list[Row]:
    """Measure several cases at once on two threads."""

    def work(rounds: int) -> None:
        for case in cases * rounds:
            evaluate(case)

    with ThreadPoolExecutor(2) as both, ThreadPoolExecutor(1) as one:
        times = best_of(
            {"two": lambda: list(both.map(work, [5, 5])), "one thread": lambda: list(one.map(work, [10]))},
            rounds=5,
            seconds=20.0,
        )
    return [Row("cases at once, two threads", times.pop("two"), times, targets={"one thread": ("≥", 1.8)})]


def displacements(folder: Path) -> list[Row]:
    """Measure the error of a displacement field streamed from a file, against reading the file."""
    frames, height, width = 150, 480, 640
    path = folder / "field.raw"
    frame = np.random.default_rng(0).normal(size=(3, height * width)).astype(np.float32)
    with path.open("wb") as file:
        for _ in range(frames):
            frame.tofile(file)
    transforms = np.broadcast_to(np.eye(4), (frames, 4, 4))

    def stream():
        buffer = np.empty((3, height * width), np.float32)
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer.reshape(-1).view(np.uint8)):
                yield buffer

    times = best_of(
        {
            "podium": lambda: displacement_error(transforms, stream(), scaling=np.eye(4), width=width),
            "reading the file": lambda: [None for _ in stream()],
        },
        rounds=7,
    )
    path.unlink()
    name = f"displacement error, {frames} frames of {height} × {width}"
    return [Row(name, times.pop("podium"), times, targets={"reading the file": ("≤", 2.0)})]


def total(what: str, rows: list[Row]) -> Row:
    """Add up the times of several rows."""
    others = {name: sum(row.others[name] for row in rows) for name in rows[0].others}
    return Row(what, sum(row.ours for row in rows), others, targets=rows[0].targets)


def show(rows: list[Row], console: Console) -> None:
    """Print the results."""
    table = Table(
        "what", "podium", "against", "takes", "ratio", "target", "", title="Podium and its peers, side by side"
    )
    for row in rows:
        for place, (other, taken) in enumerate(row.others.items()):
            sign, number = row.targets.get(other, ("", 0.0))
            mark = {True: "[green]reached[/]", False: "[red]missed[/]", None: ""}[row.reached(other)]
            table.add_row(
                row.what if place == 0 else "",
                f"{plain(row.ours)} {row.unit}" if place == 0 else "",
                other,
                f"{plain(taken)} {row.unit}",
                f"{row.ratio(other):.2f}×",
                f"{sign} {number:g}×" if sign else "",
                mark,
            )
        table.add_section()
    console.print(table)


def processor() -> str:
    """Return what the processor is called, as far as the system tells."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def keep(path: Path, part: str, rows: list[Row]) -> None:
    """Put the rows of a part into a file of results, with the day and the machine; other parts stay as they are."""
    parts = json.loads(path.read_text())["parts"] if path.exists() else {}
    machine = {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    day = datetime.now(UTC).date().isoformat()
    parts[part] = {"date": day, "machine": machine, "rows": [row.as_json() for row in rows]}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"parts": parts}, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    """Run everything that is named, or all."""
    console = Console(width=130)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = kits21_cases(folder)
        parts = {
            "reading": lambda: reading(cases),
            "kits21": lambda: kits21(cases),
            "surfaces": lambda: surfaces(cases),
            "boundaries": lambda: boundaries.rows(cases[0]),
            "threads": lambda: threads(cases),
            "displacements": lambda: displacements(folder),
            "tusrec": lambda: tusrec.rows(folder),
            "trackrad": trackrad.rows,
            "instances": lambda: instances.rows(folder),
            "measure": lambda: measure.rows(folder),
            "ranking": ranking.rows,
            "certainty": certainty.rows,
            "raters": lambda: raters.rows(folder),
            "probabilities": probabilities.rows,
            "report": report.rows,
            "scale": lambda: scale.rows(cases, folder),
            "algorithms": algorithms.rows,
            "start": lambda: start.rows(cases[-1]),
        }
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("parts", nargs="*", choices=[*parts, []], metavar="PART", help=", ".join(parts))
        parser.add_argument("--record", action="store_true", help="keep the figures for the documentation as well")
        given = parser.parse_args()
        everything = []
        for part in given.parts or parts:
            with console.status(f"measuring {part} …"):
                rows = parts[part]()
            for path in (RESULTS, RECORD) if given.record else (RESULTS,):
                keep(path, part, rows)
            everything += rows
    show(everything, console)
    console.print(
        f"Kept in {RESULTS.relative_to(PROJECT)}{f' and {RECORD.relative_to(PROJECT)}' if given.record else ''}"
    )


if __name__ == "__main__":
    main()
