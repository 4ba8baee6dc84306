"""Classes for training: they measure what the functions do, gather over batches and ranks, and stand in for MONAI's."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from shared_data import PROJECT

from podium.metrics import Overlap, SurfaceDistances, dice, hausdorff_distance_95, overlap, surface_distances
from podium.model import InputError

torch = pytest.importorskip("torch")


def blocks(shifts, shape=(2, 12, 12, 12)):
    """Return masks of (item, z, y, x): a block of label 1 with a block of label 2 in it, moved along y."""
    array = torch.zeros(shape, dtype=torch.long)
    for item, shift in enumerate(shifts):
        array[item, 3:9, 2 + shift : 8 + shift, 3:9] = 1
        array[item, 5:7, 4 + shift : 6 + shift, 5:7] = 2
    return array


REGIONS = {"organ": (1, 2), "tumor": 2}
REFERENCE, PREDICTION = blocks((0, 0)), blocks((1, 3))
ONE_HOT = [torch.nn.functional.one_hot(array, 3).movedim(-1, 1).float() for array in (PREDICTION, REFERENCE)]


def test_all_metrics_of_label_maps():
    from podium.metrics.torch import SegmentationMetrics

    metrics = SegmentationMetrics(regions=REGIONS, tolerance_mm=2.0)
    for item in range(2):
        metrics.update(PREDICTION[item : item + 1], REFERENCE[item : item + 1], spacing_mm=(2.0, 1.0, 1.0))
    result = metrics.compute()
    assert list(result) == [
        "dice",
        "surface_dice",
        "hausdorff_distance_95",
        "average_symmetric_surface_distance",
        "mean_average_surface_distance",
    ]
    expected = []
    for one, two in zip(np.asarray(REFERENCE), np.asarray(PREDICTION), strict=True):
        distances = surface_distances(one, two, regions=REGIONS, spacing_mm=(2.0, 1.0, 1.0))
        expected.append([hausdorff_distance_95(distances[name]) for name in REGIONS])
    np.testing.assert_allclose(result["hausdorff_distance_95"], np.mean(expected, axis=0))
    counts = [
        overlap(np.asarray(r), np.asarray(p), regions=REGIONS) for r, p in zip(REFERENCE, PREDICTION, strict=True)
    ]
    np.testing.assert_allclose(result["dice"], np.mean([[dice(c[name]) for name in REGIONS] for c in counts], axis=0))
    assert metrics.values.shape == (2, 2, 5)
    metrics.reset()
    with pytest.raises(InputError, match="nothing to compute"):
        metrics.compute()


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_one_line_replaces_monai():
    monai = pytest.importorskip("monai.metrics")
    from podium.metrics import torch as ours

    options = {"include_background": False}
    for own, peer in (
        (
            ours.HausdorffDistanceMetric(percentile=95, boundary="voxel", **options),
            monai.HausdorffDistanceMetric(percentile=95, **options),
        ),
        (
            ours.SurfaceDiceMetric(tolerance_mm=1.0, boundary="voxel", **options),
            monai.SurfaceDiceMetric(class_thresholds=[1.0, 1.0], **options),
        ),
        (
            ours.AverageSurfaceDistanceMetric(boundary="voxel", **options),
            monai.SurfaceDistanceMetric(symmetric=True, **options),
        ),
    ):
        for metric in (own, peer):
            metric(y_pred=ONE_HOT[0], y=ONE_HOT[1], spacing=1.5)
        assert float(own.aggregate()) == pytest.approx(float(peer.aggregate()), rel=1e-5)
    own, peer = ours.DiceMetric(**options), monai.DiceMetric(**options)
    for metric in (own, peer):
        metric(y_pred=ONE_HOT[0], y=ONE_HOT[1])
    assert float(own.aggregate()) == pytest.approx(float(peer.aggregate()), rel=1e-5)


def test_empty_cases_keep_what_is_declared():
    from podium.metrics.torch import DiceMetric, HausdorffDistanceMetric, SurfaceDiceMetric

    nothing = torch.zeros((1, 1, 6, 6))
    something = nothing.clone()
    something[0, 0, 2:4, 2:4] = 1
    for pair, values in (((nothing, nothing), (1, 1, 0)), ((nothing, something), (0, 0, np.inf))):
        for metric, value in zip((DiceMetric(), SurfaceDiceMetric(), HausdorffDistanceMetric()), values, strict=True):
            metric.update(*pair)
            assert float(metric.compute()) == value


def test_channels_are_regions():
    from podium.metrics.torch import measure_batch

    measured = measure_batch(ONE_HOT[1], ONE_HOT[0], spacing_mm=0.5, tolerances_mm=(0.5, 1.0))
    assert measured.surface_dice.shape == (2, 3, 2)
    pair = np.asarray(ONE_HOT[1][1, 2]), np.asarray(ONE_HOT[0][1, 2])
    assert float(measured.percentile[1, 2]) == hausdorff_distance_95(SurfaceDistances.between(*pair, spacing_mm=0.5))
    assert float(measured.dice[1, 2]) == dice(Overlap.between(*pair))


def test_wrong_options_are_refused():
    from podium.metrics.torch import measure_batch

    with pytest.raises(InputError, match="tolerance"):
        measure_batch(ONE_HOT[1], ONE_HOT[0], tolerances_mm=(-1.0,))
    with pytest.raises(InputError, match="percentile"):
        measure_batch(ONE_HOT[1], ONE_HOT[0], percentile=101)
    with pytest.raises(InputError, match="boundary"):
        measure_batch(ONE_HOT[1], ONE_HOT[0], boundary="edge")


def test_the_training_loop_of_the_documentation(capsys):
    page = (PROJECT / "docs" / "gpu.md").read_text()
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "optimiser" in block)
    torch.manual_seed(0)
    exec(compile(code, "gpu.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("hausdorff_distance_95" in line for line in lines)


RANK = """
import sys
import torch, torch.distributed as distributed
from podium.metrics.torch import DiceMetric

rank, folder = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=3)
metric = DiceMetric()
whole = torch.ones((1, 1, 2, 2))
half = whole.clone()
half[..., 0] = 0
if rank < 2:
    metric.update(*((whole, whole) if rank == 0 else (half, whole)))
print(float(metric.compute()))
distributed.destroy_process_group()
"""


@pytest.mark.heavy
def test_ranks_are_gathered(tmp_path):
    """The third has no case, and gets the mean of the others too."""
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANK, str(rank), str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for rank in range(3)
    ]
    outputs = [process.communicate(timeout=300)[0].strip() for process in ranks]
    assert [float(output) for output in outputs] == [pytest.approx((1 + 2 / 3) / 2)] * 3
