"""Surface distances whatever the masks: near and far, tiny, noisy, chequered, flat and small, beside four peers.

Peers are called as their users call them, all on one thread. `crop + pykdtree` is what a careful person writes: both
masks cut to the box of their union, the boundary found by shifted views, and each boundary asking a search tree of the
other. Before anything is timed, all must agree: on every distance with DeepMind's and the tree, on the Hausdorff
distance with MedPy and MONAI (which computes in single precision). Times are of the processor.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import reduce
from itertools import product
from pathlib import Path

import numpy as np
from cases import Case
from harness import PEAK_MB, Row, best_of

from podium.io import read_label_map
from podium.metrics import SurfaceDistances, hausdorff_distance

KIDNEYS = (1, 2, 3)
TARGETS = {"DeepMind": ("≥", 10.0), "crop + pykdtree": ("≥", 1.0)}
VOXEL_TARGETS = {"crop + pykdtree": ("≥", 1.0)}
MEDPY_UP_TO = 2**23  # voxels: it does not cut masks out, and takes 43 s for the kidneys of one CT case
MEGABYTES, SECONDS = 1000.0, 60.0

Masks = tuple[np.ndarray, np.ndarray, tuple[float, ...]]


def ellipsoid(shape: tuple[int, ...], centre: tuple[float, ...], radii: tuple[float, ...]) -> np.ndarray:
    """Return a mask of an ellipsoid; of an ellipse in 2-D."""
    grid = np.meshgrid(*map(np.arange, shape), indexing="ij", sparse=True)
    return sum(((g - c) / r) ** 2 for g, c, r in zip(grid, centre, radii, strict=True)) <= 1


def chequered(shape: tuple[int, ...]) -> np.ndarray:
    """Return a mask in which no two neighbours are alike."""
    odd = np.meshgrid(*(np.arange(n) % 2 == 1 for n in shape), indexing="ij", sparse=True)
    return reduce(np.logical_xor, odd)


def pairs(case: Case) -> Iterator[tuple[str, Masks]]:
    """Yield what is measured: the kidneys of a CT case and what a bad prediction makes of them, and synthetic masks."""
    maps = [read_label_map(path) for path in (case.reference, case.prediction)]
    spacing = maps[0].spacing[::-1]
    labels = [np.ascontiguousarray(label_map.array.T) for label_map in maps]
    kidneys, near = (np.isin(array, KIDNEYS) for array in labels)
    yield "kidneys, near", (kidneys, near, spacing)
    for voxels in (5, 12, 40):
        yield f"kidneys, shifted by {voxels} voxels", (kidneys, np.roll(near, voxels, axis=1), spacing)
    one = near.copy()
    one[int(np.nonzero(kidneys.any(axis=(1, 2)))[0].mean()) :] = False  # the first axis is from left to right
    yield "kidneys, one missing", (kidneys, one, spacing)
    tumor = labels[0] == 2
    yield "tumour, near", (tumor, labels[1] == 2, spacing)
    yield "tumour, on the other side", (tumor, np.roll(labels[1] == 2, 180, axis=0), spacing)
    shape = kidneys.shape
    body = ellipsoid(shape, tuple(n / 2 for n in shape), (0.4 * shape[0], 0.3 * shape[1], 0.48 * shape[2]))
    yield "tumour in a mask of the whole body", (tumor, body, spacing)
    shape = (128, 192, 192)
    ball = ellipsoid(shape, tuple(n / 2 for n in shape), (40, 40, 40))
    noise = np.random.default_rng(0).random(shape) < 0.01
    yield "ball and 1 % noise", (ball, noise, (1.0, 1.0, 1.0))
    yield "ball and chequers", (ball, chequered(shape), (1.0, 1.0, 1.0))
    yield "chequers and their inverse", (chequered(shape), ~chequered(shape), (1.0, 0.9, 0.8))
    for name, shift in (("near", 2), ("far", 150)):
        discs = [ellipsoid((512, 512), (200, 150 + k), (80, 60)) for k in (0, shift)]
        yield f"2-D discs, {name}", (*discs, (0.7, 0.7))
    for size in (32, 64):
        small = [ellipsoid((size, size), (size / 2, size / 2 + k), (size / 4, size / 3)) for k in (0, 2)]
        yield f"2-D discs of {size} × {size}", (*small, (1.0, 1.0))


def crop_and_tree(one: np.ndarray, two: np.ndarray, spacing: tuple[float, ...], *, surfel: bool) -> list[np.ndarray]:
    """Return the distances between two boundaries, from each to the other, with pykdtree."""
    from pykdtree.kdtree import KDTree

    either = one | two
    axes = range(one.ndim)
    lines = [np.flatnonzero(either.any(axis=tuple(a for a in axes if a != axis))) for axis in axes]
    box = tuple(slice(line[0], line[-1] + 1) for line in lines)
    points = []
    for mask in (one, two):
        inner = np.pad(mask[box], 1)
        if surfel:
            corners = [
                inner[tuple(slice(k, n - 1 + k) for k, n in zip(corner, inner.shape, strict=True))]
                for corner in product((0, 1), repeat=one.ndim)
            ]
            edge = np.logical_or.reduce(corners) & ~np.logical_and.reduce(corners)
        else:
            edge = inner.copy()
            middle = tuple(slice(1, -1) for _ in axes)
            whole = np.ones_like(edge[middle])
            for axis in axes:
                for shift in (slice(0, -2), slice(2, None)):
                    whole &= inner[tuple(shift if a == axis else slice(1, -1) for a in axes)]
            edge[middle] &= ~whole
        points.append(np.argwhere(edge) * np.array(spacing))
    return [KDTree(there).query(here)[0] for here, there in (points, points[::-1])]


def rows(case: Case) -> list[Row]:
    """Measure every pair, and then the memory and time of a huge pattern in a process of its own."""
    import torch
    from medpy.metric import binary
    from monai.metrics import compute_hausdorff_distance
    from surface_distance import compute_surface_distances

    torch.set_num_threads(1)
    result = []
    for name, (one, two, spacing) in pairs(case):
        tensors = [torch.as_tensor(mask[None, None]) for mask in (two, one)]

        def ours(boundary, one=one, two=two, spacing=spacing):
            return SurfaceDistances.between(one, two, spacing_mm=spacing, boundary=boundary)

        contenders = {
            "surfel": lambda: ours("surfel"),
            "DeepMind": lambda m=(one, two), s=spacing: compute_surface_distances(*m, s),
            "surfel tree": lambda m=(one, two), s=spacing: crop_and_tree(*m, s, surfel=True),
            "voxel": lambda: ours("voxel"),
            "voxel tree": lambda m=(one, two), s=spacing: crop_and_tree(*m, s, surfel=False),
            "MedPy": lambda m=(one, two), s=spacing: binary.hd(*m, s),
            "MONAI": lambda t=tensors, s=spacing: compute_hausdorff_distance(*t, include_background=True, spacing=s),
        }
        if one.size > MEDPY_UP_TO:
            del contenders["MedPy"]
        agree(contenders)
        calls = (
            1 if one.size > 2**20 else 20
        )  # a turn of a short one is many calls, as it would be in a loop over images
        turns = {peer: lambda run=run, calls=calls: [run() for _ in range(calls)] for peer, run in contenders.items()}
        times = best_of(turns, rounds=5 if calls == 1 else 20, seconds=3.0, clock=time.process_time)
        times = {peer: taken / calls for peer, taken in times.items()}
        trees = [times["surfel tree"], times["voxel tree"]]
        peers = {"DeepMind": times["DeepMind"], "crop + pykdtree": trees[0]}
        result.append(Row(f"surfel distances, {name}", times["surfel"], peers, targets=TARGETS))
        peers = {"crop + pykdtree": trees[1]} | {peer: times[peer] for peer in ("MedPy", "MONAI") if peer in times}
        result.append(Row(f"voxel distances, {name}", times["voxel"], peers, targets=VOXEL_TARGETS))
    return result + [row for what in HUGE for row in huge(what)]


def agree(contenders: dict) -> None:
    """Compare every distance with DeepMind's and the trees', and the largest with MedPy's and MONAI's."""
    surfel, voxel = contenders["surfel"](), contenders["voxel"]()
    theirs = contenders["DeepMind"]()
    deepmind = [theirs["distances_gt_to_pred"], theirs["distances_pred_to_gt"]]
    trees = [contenders["surfel tree"](), contenders["voxel tree"]()]
    for measured, others in ((surfel, deepmind), (surfel, trees[0]), (voxel, trees[1])):
        for directed, distances in zip(measured.directed, others, strict=True):
            own = np.repeat(directed.distances, directed.counts)
            np.testing.assert_allclose(own, np.sort(distances), rtol=1e-9, atol=1e-9)
    largest = hausdorff_distance(voxel)
    if "MedPy" in contenders:
        np.testing.assert_allclose(contenders["MedPy"](), largest, rtol=1e-9)
    np.testing.assert_allclose(float(contenders["MONAI"]()), largest, rtol=1e-5)


HUGE = {
    "chequers of 512 × 512 × 300 and their inverse": "one, two = chequered(SHAPE), ~chequered(SHAPE)",
    "chequers of 512 × 512 × 300 and a cube": "one, two = chequered(SHAPE), cube(SHAPE)",
    "a cube and half of 512 × 512 × 300 in chequers": "one, two = cube(SHAPE), chequered(SHAPE); two[:, :256] = False",
}


def cube(shape: tuple[int, ...]) -> np.ndarray:
    """Return a mask of a cube near a corner."""
    mask = np.zeros(shape, bool)
    mask[20:100, 20:100, 20:100] = True
    return mask


def huge(what: str) -> list[Row]:
    """Measure memory and time of one case that is all boundary, or hear why it is refused."""
    script = f"""
import time
from boundaries import chequered, cube
from podium.metrics import SurfaceDistances
from podium.model import InputError
SHAPE = (300, 512, 512)
SurfaceDistances.between(chequered((40, 40, 120))[::-1], cube((40, 40, 120)))
{HUGE[what]}
start = time.process_time()
try:
    SurfaceDistances.between(one, two, spacing_mm=(1.0, 0.7, 0.7))
    refused = ""
except InputError as error:
    refused = ", refused"
print(time.process_time() - start, {PEAK_MB}, refused)
"""
    run = [sys.executable, "-c", script]
    answer = subprocess.run(run, cwd=Path(__file__).parent, capture_output=True, text=True, check=True).stdout
    seconds, megabytes, *refused = answer.split(maxsplit=2)
    name = what + "".join(refused).strip()
    return [
        Row(f"surfel distances, {name}", float(seconds), {"allowed": SECONDS}, "s", {"allowed": ("≤", 1.0)}),
        Row("the same: peak memory", float(megabytes), {"allowed": MEGABYTES}, "MB", {"allowed": ("≤", 1.0)}),
    ]
