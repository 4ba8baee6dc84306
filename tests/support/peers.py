"""Other implementations of the same measurements, as their users call them. Tests and benchmarks only."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_data import PROJECT


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Peers import deprecated names; that is not for our tests to fail on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _module(name: str) -> Any:
    with _quietly():
        return pytest.importorskip(name, reason=f"the peer {name} is not installed (make test installs it)")


def deepmind(reference: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...]) -> dict[str, np.ndarray]:
    """Return DeepMind's surface distances of two boolean masks."""
    peer = _module("surface_distance")
    with _quietly():
        return peer.compute_surface_distances(reference, prediction, spacing)


def deepmind_surface_dice(distances: dict[str, np.ndarray], tolerance_mm: float) -> float:
    return float(_module("surface_distance").compute_surface_dice_at_tolerance(distances, tolerance_mm))


def deepmind_hausdorff(distances: dict[str, np.ndarray], percentile: float) -> float:
    return float(_module("surface_distance").compute_robust_hausdorff(distances, percentile))


def deepmind_average(distances: dict[str, np.ndarray]) -> tuple[float, float]:
    return tuple(map(float, _module("surface_distance").compute_average_surface_distance(distances)))


def deepmind_tables() -> Any:
    _module("surface_distance")
    from surface_distance import lookup_tables

    return lookup_tables


def monai(
    reference: np.ndarray,
    prediction: np.ndarray,
    spacing: tuple[float, ...],
    *,
    percentile: float | None = None,
    metric: str = "euclidean",
) -> dict[str, float]:
    """Return MONAI's Hausdorff distance and its two average surface distances of two boolean masks."""
    _module("monai.metrics")
    with _quietly():
        import torch
        from monai.metrics import compute_average_surface_distance, compute_hausdorff_distance

        one, two = (torch.as_tensor(mask[None, None].astype(np.uint8)) for mask in (prediction, reference))
        options: dict[str, Any] = {"include_background": True, "spacing": spacing, "distance_metric": metric}
        return {
            "hausdorff": float(compute_hausdorff_distance(one, two, percentile=percentile, **options)),
            "to_reference": float(compute_average_surface_distance(one, two, **options)),
            "to_prediction": float(compute_average_surface_distance(two, one, **options)),
            "symmetric": float(compute_average_surface_distance(one, two, symmetric=True, **options)),
        }


def monai_froc(false: np.ndarray, true: np.ndarray, *, targets: int, images: int, rates: tuple[float, ...]) -> float:
    """Return MONAI's FROC score of the scores of what is wrong and of what was found (0 for what was missed)."""
    _module("monai.metrics")
    with _quietly():
        from monai.metrics import compute_froc_curve_data, compute_froc_score

        return float(compute_froc_score(*compute_froc_curve_data(false, true, targets, images), rates))


def version(package: str) -> str:
    """Return the version of a peer."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"the peer {package} is not installed (make test installs it)")


def of_module(name: str) -> Any:
    """Return a module of a peer, by its whole name, whose functions do not warn."""
    return _Quiet(_module(name))


def medpy() -> Any:
    """Return MedPy's module of binary metrics."""
    return _Quiet(_module("medpy.metric.binary"))


def scikit_learn() -> Any:
    """Return scikit-learn's metrics."""
    return _Quiet(_module("sklearn.metrics"))


def torchmetrics() -> Any:
    """Return TorchMetrics' functions, of NumPy arrays and with results that are floats."""
    return _OfArrays(_module("torchmetrics.functional"))


def scikit_image() -> Any:
    """Return scikit-image's metrics."""
    return _Quiet(_module("skimage.metrics"))


def monai_ssim(reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return MONAI's structural similarity of two images between 0 and 1, in single precision."""
    metrics = _module("monai.metrics")
    with _quietly():
        import torch

        tensors = [torch.as_tensor(image[None, None], dtype=torch.float32) for image in (prediction, reference)]
        return float(metrics.SSIMMetric(reference.ndim, data_range=1.0)(*tensors))


def pingouin_icc(ratings: np.ndarray) -> dict[str, tuple[float, float, float]]:
    """Return pingouin's intraclass correlations with their intervals, by Shrout and Fleiss' names."""
    peer = _module("pingouin")
    with _quietly():
        import pandas

        subject, rater = np.indices(ratings.shape).reshape(2, -1)
        table = pandas.DataFrame({"subject": subject, "rater": rater, "value": ratings.reshape(-1)})
        result = peer.intraclass_corr(table, targets="subject", raters="rater", ratings="value")
    names = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")
    rows = zip(names, result["ICC"], result["CI95"], strict=True)
    return {name: (float(value), *map(float, interval)) for name, value, interval in rows}


def statsmodels_variances(values: np.ndarray, subjects: np.ndarray) -> tuple[float, float]:
    """Return the variances within and between subjects that a mixed model has, by restricted likelihood."""
    peer = _module("statsmodels.api")
    with _quietly():
        fitted = peer.MixedLM(values, np.ones((len(values), 1)), groups=subjects).fit(reml=True)
        return float(fitted.scale), float(fitted.cov_re[0, 0])


_REMEMBERED: dict[bytes, dict[str, float]] = {}


def panoptica(*pairs: tuple[np.ndarray, np.ndarray]) -> list[dict[str, float]]:
    """Return panoptica's qualities of pairs of instance maps, from its own environment (made by `make bench`).

    What was asked before is remembered: to ask for all pairs at once first makes one process of many.
    """
    keys = [b"".join(f"{side.dtype} {side.shape}".encode() + side.tobytes() for side in pair) for pair in pairs]
    new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in _REMEMBERED}
    if new:
        _REMEMBERED.update(zip(new, _asked_of_panoptica(list(new.values())), strict=True))
    return [_REMEMBERED[key] for key in keys]


def panoptica_python() -> Path:
    """Return the interpreter of panoptica's own environment."""
    python = Path(os.environ.get("PANOPTICA_PYTHON", PROJECT / ".venv-panoptica" / "bin" / "python"))
    if not python.exists():
        pytest.skip("the peer panoptica has no environment of its own here (make bench makes it)")
    return python


def _asked_of_panoptica(pairs: list[tuple[np.ndarray, np.ndarray]]) -> list[dict[str, float]]:
    script = Path(__file__).with_name("panoptica_answers.py")
    with tempfile.TemporaryDirectory() as folder:
        for number, (reference, prediction) in enumerate(pairs):
            np.savez(Path(folder) / f"{number}.npz", reference=reference, prediction=prediction)
        lines = "".join(f"{folder}/{number}.npz\n" for number in range(len(pairs)))
        done = subprocess.run([panoptica_python(), script], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()[-len(pairs) :]]


def coco_precisions(truth: Any, claim: Any) -> np.ndarray:
    """Return the precisions of COCO's own evaluation of boxes of two classes, shape (thresholds, recalls, classes)."""
    _module("pycocotools")
    with _quietly():
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval

    def size(box: list[float]) -> list[float]:
        return [box[0], box[1], box[2] - box[0], box[3] - box[1]]

    annotations = [
        {"image_id": k, "category_id": int(c), "bbox": size(box), "area": 1.0, "iscrowd": 0}
        for k, own in enumerate(truth, start=1)
        for box, c in zip(own.boxes.tolist(), own.classes, strict=True)
    ]
    results = [
        {"image_id": k, "category_id": int(c), "bbox": size(box), "score": float(score)}
        for k, own in enumerate(claim, start=1)
        for box, c, score in zip(own.boxes.tolist(), own.classes, own.scores, strict=True)
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        known = COCO()
        known.dataset = {
            "info": {},
            "images": [{"id": k} for k in range(1, len(truth) + 1)],
            "annotations": [own | {"id": k} for k, own in enumerate(annotations, start=1)],
            "categories": [{"id": 0}, {"id": 1}],
        }
        known.createIndex()
        run = COCOeval(known, known.loadRes(results), "bbox")
        run.evaluate()
        run.accumulate()
    return run.eval["precision"][:, :, :, 0, 2]


def coco_mean(truth: Any, claim: Any) -> float:
    """Return COCO's own mean average precision, over the classes that occur."""
    precisions = coco_precisions(truth, claim)
    return float(precisions[precisions > -1].mean()) if (precisions > -1).any() else -1.0


def skimage_module(module: str) -> Any:
    """Return a module of scikit-image, such as morphology."""
    return _module(f"skimage.{module}")


def _simpleitk(name: str, *masks: np.ndarray, spacing: tuple[float, ...] | None = None) -> Any:
    """Return a filter of SimpleITK that was run on masks, one thread at work."""
    sitk = _module("SimpleITK")
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    pictures = [sitk.GetImageFromArray(mask.astype(np.uint8)) for mask in masks]
    for picture in pictures:
        picture.SetSpacing([float(length) for length in (spacing or (1.0,) * picture.GetDimension())[::-1]])
    measured = getattr(sitk, name)()
    measured.Execute(*pictures)
    return measured


def simpleitk_hausdorff(
    reference: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...] | None = None
) -> tuple[float, float]:
    """Return SimpleITK's Hausdorff distance and average Hausdorff distance of two boolean masks."""
    measured = _simpleitk("HausdorffDistanceImageFilter", reference, prediction, spacing=spacing)
    return measured.GetHausdorffDistance(), measured.GetAverageHausdorffDistance()


def simpleitk_overlap(reference: np.ndarray, prediction: np.ndarray) -> Any:
    """Return SimpleITK's measures of overlap of two boolean masks."""
    return _simpleitk("LabelOverlapMeasuresImageFilter", reference, prediction)


def simpleitk_shape(mask: np.ndarray, spacing: tuple[float, ...]) -> Any:
    """Return SimpleITK's statistics of the shape of a boolean mask, of which all is label 1."""
    return _simpleitk("LabelShapeStatisticsImageFilter", mask, spacing=spacing)


def deepmind_dice(reference: np.ndarray, prediction: np.ndarray) -> float:
    return float(_module("surface_distance").compute_dice_coefficient(reference, prediction))


def monai_dice(reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return MONAI's Dice of two boolean masks."""
    _module("monai.metrics")
    with _quietly():
        import torch
        from monai.metrics import compute_dice

        one, two = (torch.as_tensor(mask[None, None].astype(np.uint8)) for mask in (prediction, reference))
        return float(compute_dice(one, two))


def monai_surface_dice(
    reference: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...], tolerance_mm: float
) -> float:
    """Return MONAI's surface Dice of two boolean masks."""
    _module("monai.metrics")
    with _quietly():
        import torch
        from monai.metrics import compute_surface_dice

        one, two = (torch.as_tensor(mask[None, None].astype(np.uint8)) for mask in (prediction, reference))
        options: dict[str, Any] = {"include_background": True, "spacing": spacing}
        return float(compute_surface_dice(one, two, [tolerance_mm], **options))


def torchmetrics_hausdorff(reference: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...]) -> float:
    """Return TorchMetrics' Hausdorff distance of two boolean masks in a 2-D image."""
    _module("torchmetrics")
    with _quietly():
        import torch
        from torchmetrics.functional.segmentation import hausdorff_distance

        one, two = (torch.as_tensor(mask[None, None]).long() for mask in (prediction, reference))
        options: dict[str, Any] = {"num_classes": 1, "include_background": True, "input_format": "one-hot"}
        return float(hausdorff_distance(one, two, spacing=list(spacing), **options))


class _Quiet:
    """A module whose functions do not warn."""

    def __init__(self, module: Any) -> None:
        self._peer = module

    def __getattr__(self, name: str) -> Any:
        def quiet(*arguments: Any, **options: Any) -> Any:
            with _quietly():
                return getattr(self._peer, name)(*arguments, **options)

        return quiet


class _OfArrays(_Quiet):
    """TorchMetrics' order is prediction, reference; its tensors are made of arrays here."""

    def __getattr__(self, name: str) -> Any:
        import torch

        def converted(prediction: Any, reference: Any, **options: Any) -> float:
            with _quietly():
                tensors = [torch.as_tensor(np.asarray(side)) for side in (prediction, reference)]
                return float(getattr(self._peer, name)(*tensors, **options))

        return converted
