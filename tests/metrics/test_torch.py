"""Classes for training: they measure what the functions do, gather over batches and ranks, and stand in for MONAI's."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from shared_data import PROJECT

from podium.metrics import Overlap, SurfaceDistances, devices, dice, hausdorff_distance_95, overlap, surface_distances
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


def random_items():
    """Return predictions and references as lists of channel-first masks, in the way of MONAI: of two shapes."""
    rng = np.random.default_rng(3)
    pair = []
    for _ in range(2):
        maps = [torch.as_tensor(rng.integers(0, 3, shape)) for shape in ((6, 9, 8), (5, 7, 10), (6, 9, 8))]
        pair.append([torch.nn.functional.one_hot(one, 3).movedim(-1, 0).float() for one in maps])
    return pair


SPACINGS = [(1.0, 1.0, 1.0), (3.0, 0.8, 0.8), (2.0, 1.0, 1.0)]


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
@pytest.mark.parametrize("reduction", ["mean", "mean_batch", "mean_channel", "none"])
def test_lists_give_the_numbers_of_monai(reduction):
    monai = pytest.importorskip("monai.metrics")
    from podium.metrics import torch as ours

    for own, peer in (
        (
            ours.HausdorffDistanceMetric(False, percentile=95, reduction=reduction, boundary="voxel"),
            monai.HausdorffDistanceMetric(False, percentile=95, reduction=reduction),
        ),
        (
            ours.HausdorffDistanceMetric(percentile=None, reduction=reduction, boundary="voxel"),
            monai.HausdorffDistanceMetric(percentile=None, reduction=reduction),
        ),
        (
            ours.SurfaceDiceMetric([0.9, 1.1], False, "euclidean", reduction, use_subvoxels=False, get_not_nans=False),
            monai.SurfaceDiceMetric([0.9, 1.1], False, "euclidean", reduction, use_subvoxels=False, get_not_nans=False),
        ),
        (
            ours.AverageSurfaceDistanceMetric(False, True, "euclidean", reduction, boundary="voxel"),
            monai.SurfaceDistanceMetric(False, True, "euclidean", reduction),
        ),
        (ours.DiceMetric(True, reduction), monai.DiceMetric(True, reduction)),
    ):
        outputs, labels = random_items()
        for output, label, spacing in zip(outputs, labels, SPACINGS, strict=True):
            given = {} if isinstance(own, ours.DiceMetric) else {"spacing": spacing}
            expected = peer(y_pred=[output], y=[label], **given)
        given = {} if isinstance(own, ours.DiceMetric) else {"spacing": SPACINGS}
        returned = own(y_pred=outputs, y=labels, **given)
        assert returned.shape == (3, expected.shape[1])
        np.testing.assert_allclose(own.aggregate(), peer.aggregate(), rtol=1e-5)
        np.testing.assert_allclose(own.aggregate("mean_batch"), peer.aggregate("mean_batch"), rtol=1e-5)
        own.reset()


def test_a_script_of_monai_with_another_import():
    from podium.metrics.torch import HausdorffDistanceMetric

    outputs, labels = random_items()
    metric = HausdorffDistanceMetric(include_background=False, percentile=95, reduction="mean")
    metric(y_pred=outputs, y=labels)
    metric(outputs, labels)
    expected = [
        hausdorff_distance_95(SurfaceDistances.between(np.asarray(label[channel]), np.asarray(output[channel])))
        for output, label in zip(outputs, labels, strict=True)
        for channel in (1, 2)
    ]
    assert metric.aggregate().item() == pytest.approx(np.mean(expected))
    metric.reset()


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_subvoxels_of_monai_are_surface_elements():
    monai = pytest.importorskip("monai.metrics")
    from podium.metrics import torch as ours

    own, peer = (module.SurfaceDiceMetric([1.0, 1.5], use_subvoxels=True) for module in (ours, monai))
    for metric in (own, peer):
        metric(y_pred=ONE_HOT[0], y=ONE_HOT[1], spacing=(3.0, 1.0, 1.0))
    assert float(own.aggregate()) == pytest.approx(float(peer.aggregate()), rel=1e-5)


def test_the_enumeration_and_the_tensors_of_monai():
    monai = pytest.importorskip("monai")
    from monai.utils import MetricReduction

    from podium.metrics.torch import DiceMetric

    metric = DiceMetric(reduction=MetricReduction.MEAN_BATCH)
    metric([monai.data.MetaTensor(ONE_HOT[0][0])], [monai.data.MetaTensor(ONE_HOT[1][0])])
    assert metric.aggregate().shape == (3,)
    assert type(metric.aggregate()) is torch.Tensor


def test_a_spacing_for_every_item_of_a_batch():
    from podium.metrics.torch import AverageSurfaceDistanceMetric

    spacings = [(1.0, 1.0, 1.0), (3.0, 0.8, 0.8)]
    metric, other = AverageSurfaceDistanceMetric(regions=REGIONS), AverageSurfaceDistanceMetric(regions=REGIONS)
    metric.update(PREDICTION, REFERENCE, spacing_mm=spacings)
    for item, spacing in enumerate(spacings):
        other.update(PREDICTION[item : item + 1], REFERENCE[item : item + 1], spacing_mm=spacing)
    assert torch.equal(metric.values, other.values)
    other.reset()
    other.update([*PREDICTION], [*REFERENCE], spacing_mm=np.array(spacings))
    assert torch.equal(metric.values, other.values)


def test_a_tolerance_for_every_region():
    from podium.metrics.torch import SegmentationMetrics, SurfaceDiceMetric

    both = [SurfaceDiceMetric(regions=REGIONS, tolerance_mm=tolerance) for tolerance in (0.5, 2.0)]
    mixed = SurfaceDiceMetric(regions=REGIONS, tolerance_mm=(2.0, 0.5))
    every = SegmentationMetrics(regions=REGIONS, tolerance_mm=(2.0, 0.5))
    for metric in (*both, mixed, every):
        metric.update(PREDICTION, REFERENCE)
    narrow, wide = (metric.values[..., 0] for metric in both)
    assert torch.equal(mixed.values[..., 0], torch.stack([wide[:, 0], narrow[:, 1]], -1))
    assert torch.equal(every.values[..., 1], mixed.values[..., 0])
    with pytest.raises(InputError, match="3 tolerances are given for 2 regions"):
        SurfaceDiceMetric([1.0, 1.0, 1.0]).update(*ONE_HOT)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("HausdorffDistanceMetric", {"directed": True}, "both directions"),
        ("HausdorffDistanceMetric", {"distance_metric": "taxicab"}, "Euclidean"),
        ("HausdorffDistanceMetric", {"get_not_nans": True}, "Every case counts"),
        ("HausdorffDistanceMetric", {"ignore_index": 255}, "Set the voxels"),
        ("HausdorffDistanceMetric", {"reduction": "sum"}, "mean_batch"),
        ("HausdorffDistanceMetric", {"percentil": 95}, "no option called 'percentil'"),
        ("AverageSurfaceDistanceMetric", {"symmetric": False}, "symmetric=True"),
        ("SurfaceDiceMetric", {"class_thresholds": [1.0], "tolerance_mm": 1.0}, "Give one"),
        ("SurfaceDiceMetric", {"use_subvoxels": True, "boundary": "voxel"}, "boundary='surfel'"),
        ("DiceMetric", {"ignore_empty": True}, "declares"),
        ("DiceMetric", {"num_classes": 3}, "regions="),
        ("DiceMetric", {"return_with_label": True}, "mean_batch"),
        ("DiceMetric", {"per_component": True}, "lesion_wise_dice"),
    ],
)
def test_options_of_monai_that_are_not_there_are_refused(name, options, said):
    from podium.metrics import torch as ours

    with pytest.raises(InputError, match=said):
        getattr(ours, name)(**options)


def test_lists_that_do_not_fit_are_refused():
    from podium.metrics.torch import DiceMetric

    outputs, labels = random_items()
    for pair, said in (
        ((outputs[:2], labels), "2 predictions, 3 references"),
        (([], []), "empty list"),
        ((outputs, [0, 1, 2]), "tensors, not int"),
        ((outputs, 3), "neither"),
        ((outputs[0], 3), "neither"),
        (([outputs[0], outputs[1][:2]], [labels[0], labels[1][:2]]), "2 regions in some masks and 3"),
        (([outputs[0]], [labels[1]]), "same grid"),
    ):
        with pytest.raises(InputError, match=said):
            DiceMetric().update(*pair)
    with pytest.raises(InputError, match="1 spacings"):
        DiceMetric().update(outputs, labels, spacing_mm=[(1.0, 1.0, 1.0)])


def interpreted(monkeypatch):
    """Count tensors of the CPU as a GPU's, whose kernels Triton's interpreter runs."""
    triton = pytest.importorskip("triton")
    if not triton.knobs.runtime.interpret:
        pytest.skip("there is a GPU: its kernels are tested in tests/gpu")
    monkeypatch.setattr(devices, "PRETEND", True)


def small(wrong=0):
    """Return a prediction and a reference of two pairs of a few voxels, of which the second may have a wrong label."""
    pair = torch.zeros((2, 2, 3, 4), dtype=torch.int64)
    pair[:, :, 1, 1:3] = 1
    pair[1, 1, 0, 0] = wrong
    return pair


def test_wrong_labels_have_no_numbers_without_waiting(monkeypatch):
    interpreted(monkeypatch)
    from podium.metrics.torch import DiceMetric, SegmentationMetrics, measure_batch

    for _ in range(2):  # the second takes the shortcut
        measured = measure_batch(*small(-1), regions={"one": 1}, wait=False)
        assert measured.table.isnan().all(-1).flatten().tolist() == [False, True]
        assert measured.dice.isnan().flatten().tolist() == [False, True]
    for metric in (SegmentationMetrics(regions={"one": 1}), DiceMetric(regions={"one": 1})):
        with pytest.raises(InputError, match="whole numbers"):
            metric.update(*small(-1))
        metric.update(*small(), wait=False)
        metric.compute()
        metric.update(*small(-1), wait=False)
        with pytest.raises(InputError, match="updates number 1, from 0"):
            metric.compute()


def test_classes_take_the_shortcut(monkeypatch):
    interpreted(monkeypatch)
    from podium.metrics._gpu import batching
    from podium.metrics.torch import SegmentationMetrics

    monkeypatch.setattr(batching, "_shortcuts", {})
    for spacing in ([2.0, 1.0], (2.0, 1.0), np.array([2.0, 1.0])):
        metrics = SegmentationMetrics(regions={"one": [1], "both": {1, 2}}, spacing_mm=spacing)
        metrics.update(*small())
        assert len(batching._shortcuts) == 1


def test_a_result_keeps_what_a_graph_reads(monkeypatch):
    interpreted(monkeypatch)
    from podium.metrics._gpu import batching

    monkeypatch.setattr(batching, "_shortcuts", {})
    prediction, reference = small()
    first, second = (batching.measure_batch(reference, prediction, regions={"one": 1}, wait=False) for _ in range(2))
    ((plan, masks),) = first._kept
    assert second._kept == (plan, None)
    assert masks is None  # tensors of PyTorch stay with whoever made them
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    lent = type("Lent", (), {"__init__": lambda self, tensor: setattr(self, "tensor", tensor)})
    assert batching._lasting((lent(prediction), reference), "stack", wait=False)[1] == "stack"
    assert batching._lasting((lent(prediction), reference), "stack", wait=True) is None


@pytest.mark.parametrize("pretend", [False, True])
def test_strange_tensors_are_measured_or_refused_in_words(monkeypatch, pretend):
    if pretend:
        interpreted(monkeypatch)
    from podium.metrics.torch import DiceMetric, measure_batch

    prediction, reference = (masks[:, None].float() for masks in small())
    expected = measure_batch(reference, prediction).table
    for make in (lambda masks: masks.clone().requires_grad_(), lambda masks: masks.to(torch.bfloat16)):
        assert torch.equal(measure_batch(make(reference), make(prediction)).table.nan_to_num(), expected.nan_to_num())
        assert DiceMetric()(make(reference), make(prediction)).shape == (2, 1)
    two = reference.expand(-1, 2, -1, -1)
    for pair, said in (
        ((reference[:0], prediction[:0]), "nothing to measure"),
        ((reference[:, :0], prediction[:, :0]), "nothing to measure"),
        ((reference[:1], prediction), "the same items"),
        ((two, prediction), "channels"),
        ((reference[0, 0], prediction[0, 0]), "2 axes"),
        ((reference, prediction[0, 0]), "2 axes"),
        ((reference.to_sparse(), prediction.to_sparse()), "dense"),
        ((reference.to(torch.complex64), prediction.to(torch.complex64)), "must be numbers"),
    ):
        for measure in (measure_batch, DiceMetric().update):
            with pytest.raises(InputError, match=said):
                measure(*pair)
    with pytest.raises(InputError, match="no regions"):
        measure_batch(reference[:, 0], prediction[:, 0], regions={})
    assert measure_batch(reference, prediction, with_dice=False).dice is None


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
