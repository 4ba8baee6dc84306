"""Surface metrics on a GPU, from masks that lie there to numbers on the host, beside DisTorch and MONAI.

    python benchmarks/gpu.py --material CT.npz --distorch CHECKOUT --out results.json

Kept as docs/data/gpu.json, the results are on the page *How fast it is* and in README. The file of CT cases is written
by tests/support/ct_material.py; DisTorch is run from a checkout of its own. All take
turns, the device is waited for before and after each, and the median of all turns counts. A contender that takes long
sits out later rounds. Before anything is timed, the Hausdorff distances must agree: DisTorch's with our `surfel`
boundary, MONAI's with `voxel`; both compute in single precision. Masks are made ready for each peer beforehand: one
boolean mask for each region, where we take the label map.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import torch
from ct_material import ct_cases, variants
from shared_data import KITS21_REGIONS

from podium.metrics.torch import measure_batch

Pair = tuple[torch.Tensor, torch.Tensor]
CASE = "case_00003"


def balls(items: int, shape: tuple[int, ...], apart: int) -> Pair:
    """Return label maps of two discs or balls in each other, and the same moved."""
    grid = torch.meshgrid(*(torch.arange(n, device="cuda") for n in shape), indexing="ij")
    square = sum((g - n // 2 + apart // 2) ** 2 for g, n in zip(grid, shape, strict=True))
    radius = min(shape) // 4
    one = (square <= radius**2).to(torch.uint8) + (square <= (radius // 2) ** 2).to(torch.uint8)
    sizes = torch.arange(items, device="cuda") % 5
    reference = torch.stack([one.roll(int(k), -1) for k in sizes])
    return reference, reference.roll(apart, -2)


def blocks(shape: tuple[int, int, int], labels: int, apart: int) -> Pair:
    """Return a label map of that many blocks in rows of five, and the same moved."""
    reference = torch.zeros((1, *shape), dtype=torch.uint8, device="cuda")
    depth, height, width = shape[0], shape[1] // 5, shape[2] // -(-labels // 5)
    for number in range(labels):
        y, x = number % 5 * height, number // 5 * width
        reference[:, depth // 5 : -depth // 5, y + 8 : y + height - 8, x + 8 : x + width - 8] = number + 1
    return reference, reference.roll(apart, -1)


def materials() -> Iterator[tuple[str, Pair, dict[str, Any], tuple[float, ...]]]:
    """Yield what is measured: name, label maps, regions, spacing."""
    cases = ct_cases()
    if CASE in cases:
        maps, spacing = cases[CASE]
        for kind, (reference, prediction) in variants(maps).items():
            if kind in ("near", "shifted by 12", "shifted by 40", "one kidney missed"):
                pair = tuple(torch.as_tensor(array).contiguous().cuda()[None] for array in (reference, prediction))
                size = " × ".join(map(str, pair[0].shape[1:]))
                yield f"CT of {size}, three regions, {kind}", pair, KITS21_REGIONS, spacing
                if kind == "near":
                    yield "CT, one region, near", pair, {"kidney_and_mass": (1, 2, 3)}, spacing
                    wide = tuple(labels.long() for labels in pair)
                    yield "CT of int64, three regions, near", wide, KITS21_REGIONS, spacing
    rings = {"outer": (1, 2), "inner": 2}
    yield "256 images of 512 × 512, two regions, near", balls(256, (512, 512), 2), rings, (0.7, 0.7)
    yield "256 images of 512 × 512, two regions, far", balls(256, (512, 512), 100), rings, (0.7, 0.7)
    twenty = {str(label): label for label in range(1, 21)}
    yield "128 × 256 × 256, twenty regions, near", blocks((128, 256, 256), 20, 2), twenty, (2.0, 0.8, 0.8)
    yield "8 volumes of 128³, two regions, near", balls(8, (128, 128, 128), 2), rings, (1.0, 1.0, 1.0)
    yield "8 volumes of 128³, two regions, far", balls(8, (128, 128, 128), 40), rings, (1.0, 1.0, 1.0)


def masks_of(labels: torch.Tensor, regions: dict[str, Any]) -> torch.Tensor:
    """Return boolean masks of (item, region, …)."""
    chosen = [
        torch.tensor(members if isinstance(members, tuple) else (members,)).cuda() for members in regions.values()
    ]
    return torch.stack([torch.isin(labels, members.to(labels.dtype)) for members in chosen], 1)


def contenders(pair: Pair, regions: dict[str, Any], spacing: tuple[float, ...]) -> dict[str, Callable[[], Any]]:
    """Return what each calls; every call ends with the numbers on the host."""
    reference, prediction = pair
    options = {"regions": regions, "spacing_mm": spacing, "with_dice": False}
    one, two = masks_of(reference, regions), masks_of(prediction, regions)

    def ours(**more: Any) -> Any:
        return measure_batch(reference, prediction, **options, **more).table.cpu()

    result = {
        "Podium": lambda: ours(wait=False),
        "Podium, checked": ours,
        "Podium, voxel": lambda: ours(wait=False, boundary="voxel"),
    }
    graph = torch.cuda.CUDAGraph()
    measure_batch(reference, prediction, **options)
    with torch.cuda.graph(graph):
        captured = measure_batch(reference, prediction, **options, wait=False)

    def replayed() -> Any:
        graph.replay()
        return captured.table.cpu()

    result["Podium, graph"] = replayed
    if "distorch" in sys.modules:
        import distorch

        flat_one, flat_two = one.flatten(0, 1), two.flatten(0, 1)
        result["DisTorch"] = lambda: distorch.boundary_metrics(flat_one, flat_two, element_size=spacing).Hausdorff.cpu()
    if "monai" in sys.modules:
        from monai.metrics import compute_hausdorff_distance

        arguments = {"include_background": True, "percentile": 95, "spacing": spacing}
        result["MONAI, HD95 alone"] = lambda: compute_hausdorff_distance(two, one, **arguments).cpu()
    return result


def agree(calls: dict[str, Callable[[], Any]]) -> str:
    """Return by how much others differ; stop where it is more than single precision explains."""
    differences = []
    ours = calls["Podium"]()
    if "DisTorch" in calls:
        theirs = calls["DisTorch"]().view(ours.shape[:2]).double()
        differences.append(float(((theirs - ours[..., 1]).abs() / ours[..., 1].clamp(min=1e-3)).max()))
    if "MONAI, HD95 alone" in calls:
        voxel = calls["Podium, voxel"]()[..., 0]
        theirs = calls["MONAI, HD95 alone"]().double()
        differences.append(float(((theirs - voxel).abs() / voxel.clamp(min=1e-3)).max()))
    assert all(difference < 1e-4 for difference in differences), differences
    return ", ".join(f"{difference:.1e}" for difference in differences)


def medians(calls: dict[str, Callable[[], Any]], rounds: int, seconds: float) -> dict[str, tuple[float, int]]:
    """Return the median time of each in ms, and of how many turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            if sum(times[name]) > seconds:
                continue
            torch.cuda.synchronize()
            start = time.perf_counter()
            call()
            torch.cuda.synchronize()
            times[name].append(time.perf_counter() - start)
    return {name: (1e3 * statistics.median(taken), len(taken)) for name, taken in times.items()}


def main() -> None:
    """Measure everything, print a table, and write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--material", type=Path)
    parser.add_argument("--distorch", type=Path)
    parser.add_argument("--out", type=Path, default=Path("bench-results/gpu.json"))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=4.0)
    given = parser.parse_args()
    if given.material:
        os.environ["PODIUM_CT_MATERIAL"] = str(given.material)
    if given.distorch:
        sys.path.append(str(given.distorch))
        import distorch  # noqa: F401
    warnings.simplefilter("ignore")
    try:
        import monai.metrics  # noqa: F401
    except ModuleNotFoundError as error:
        print(f"MONAI is left out: there is no {error.name}")
    rows: list[dict[str, Any]] = []
    day = datetime.now(UTC).date().isoformat()
    document = {"date": day, "device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for name, pair, regions, spacing in materials():
        calls = contenders(pair, regions, spacing)
        for call in calls.values():
            call()
        difference = agree(calls)
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        calls["Podium"]()
        peak = (torch.cuda.max_memory_allocated() - before) / pair[0].numel()
        taken = medians(calls, given.rounds, given.seconds)
        rows.append({"what": name, "ms": taken, "bytes a voxel": peak, "difference": difference})
        shown = ", ".join(f"{peer} {ms:.3f} ({turns})" for peer, (ms, turns) in taken.items())
        print(f"{name}: {shown}; {peak:.2f} bytes a voxel; differences {difference}", flush=True)
        given.out.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
