"""Other implementations of the same measurements, as their users call them. Tests and benchmarks only."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest


@contextmanager
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


def medpy() -> Any:
    """Return MedPy's module of binary metrics."""
    return _module("medpy.metric.binary")


def skimage_module(module: str) -> Any:
    """Return a module of scikit-image, such as morphology."""
    return _module(f"skimage.{module}")


def simpleitk_hausdorff(reference: np.ndarray, prediction: np.ndarray) -> tuple[float, float]:
    """Return SimpleITK's Hausdorff distance and average Hausdorff distance of two boolean masks, of spacing 1."""
    sitk = _module("SimpleITK")
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    measured = sitk.HausdorffDistanceImageFilter()
    measured.Execute(*(sitk.GetImageFromArray(mask.astype(np.uint8)) for mask in (reference, prediction)))
    return measured.GetHausdorffDistance(), measured.GetAverageHausdorffDistance()


def simpleitk_overlap(reference: np.ndarray, prediction: np.ndarray) -> Any:
    """Return SimpleITK's measures of overlap of two boolean masks."""
    sitk = _module("SimpleITK")
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    measured = sitk.LabelOverlapMeasuresImageFilter()
    measured.Execute(*(sitk.GetImageFromArray(mask.astype(np.uint8)) for mask in (reference, prediction)))
    return measured


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
