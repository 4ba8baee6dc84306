"""Instances of a volume with a thousand components: matching and panoptic quality, ours and panoptica's.

Panoptica runs in an interpreter of its own (.venv-panoptica, which `make bench` makes) and takes its turns there.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from harness import Row, best_of

from podium.metrics import InstanceCounts, InstanceOverlaps, components, panoptic_quality, segmentation_quality

PROJECT = Path(__file__).resolve().parents[1]
PYTHON = Path(os.environ.get("PANOPTICA_PYTHON", PROJECT / ".venv-panoptica" / "bin" / "python"))
PEER = "panoptica"


def thousand(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two masks: a thousand ellipsoids and more, shifted by up to two voxels, some missed, some false."""
    generator = np.random.default_rng(seed)
    reference, prediction = np.zeros((2, 250, 250, 275), bool)
    axis = np.arange(25) - 12
    for cell in np.ndindex(10, 10, 11):
        place = tuple(slice(25 * k, 25 * k + 25) for k in cell)
        radii = generator.uniform(3, 9, 3)
        shift = generator.integers(-2, 3, 3)
        for mask, moved in ((reference, np.zeros(3)), (prediction, shift)):
            if generator.random() < 0.95:
                parts = [((axis - m) / r) ** 2 for m, r in zip(moved, radii, strict=True)]
                mask[place] = parts[0][:, None, None] + parts[1][:, None] + parts[2] <= 1
    return reference, prediction


@contextmanager
def process() -> Iterator[Callable[[str], dict[str, float]]]:
    """Start panoptica; what is given answers a line."""
    script = Path(__file__).with_name("panoptica_process.py")
    with subprocess.Popen([PYTHON, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:

        def ask(line: str) -> dict[str, float]:
            peer.stdin.write(line + "\n")
            peer.stdin.flush()
            return json.loads(peer.stdout.readline())

        yield ask
        peer.stdin.close()


def rows(folder: Path) -> list[Row]:
    """Measure both ways, after a look at whether the numbers agree."""
    masks = thousand()
    maps = tuple(components(mask) for mask in masks)
    many = f"{maps[0].max():,} and {maps[1].max():,} components"
    result = []
    with process() as ask:
        for kind, pair in (("instances", maps), ("masks", masks)):
            path = folder / f"{kind}.npz"
            np.savez(path, reference=pair[0].astype(np.uint16), prediction=pair[1].astype(np.uint16))
            theirs, ours = ask(f"{kind} {path}"), InstanceCounts.between(*pair)
            np.testing.assert_allclose(
                [panoptic_quality(ours), segmentation_quality(ours), ours.matched_references],
                [theirs["pq"], theirs["sq"], theirs["tp"]],
                rtol=1e-9,
            )
            best = best_of(
                {"podium": lambda pair=pair: panoptic_quality(InstanceCounts.between(*pair)), PEER: lambda: ask("run")},
                rounds=7,
                seconds=20,
            )
            result.append(_row(f"panoptic quality of {many}, from {kind}", best))
        theirs, ours = ask(f"matching {folder / 'instances.npz'}"), _matched(maps)
        assert ours == theirs["tp"], f"{ours} pairs are matched, panoptica has {theirs['tp']}"
        contenders = {"podium": lambda: _matched(maps), PEER: lambda: ask("run")}
        result.append(_row(f"matching of {many}", best_of(contenders, rounds=7, seconds=20)))
    return result


def _matched(maps: tuple[np.ndarray, ...]) -> int:
    return InstanceOverlaps.between(*maps).match(inclusive=False).rows.size


def _row(what: str, best: dict[str, float]) -> Row:
    return Row(what, best["podium"], {PEER: best[PEER]}, targets={PEER: ("≥", 10.0)})
