"""What further tools answer about two masks: by the same definition, undeclared, or by another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import peers
import peers_in_torch as torch_peers
from peers_asked import Answer
from peers_of_masks import VOXEL, of_voxels
from scipy.spatial.distance import directed_hausdorff


def called(answer: Answer | tuple[Answer], call: str) -> Answer:
    """Return an answer that says what is called of the peer."""
    own = answer if isinstance(answer, Answer) else answer[0]
    return Answer(own.theirs, own.options, call=call)


def monai_mask(name: str) -> Answer:
    return called(of_voxels(lambda one, two: torch_peers.monai(name, two, one)), name)


def monai_confusion(name: str) -> Answer:
    """Return the answer of MONAI's confusion matrix, of two masks or of yes and no."""
    call = f"compute_confusion_matrix_metric, “{name}”"
    return Answer(lambda one, two, _=None: torch_peers.monai_confusion(name, one, two), call=call)


def torchmetrics_of_all_voxels(name: str) -> Answer:
    """Return the answer of TorchMetrics, to which every voxel is a sample."""
    theirs = lambda one, two: getattr(peers.torchmetrics(), name)(two.ravel(), one.ravel(), task="binary")  # noqa: E731
    return called(of_voxels(theirs), f"{name} with task='binary', every voxel a sample")


def of_all_voxels(name: str, **options: Any) -> Answer:
    """Return the answer of scikit-learn, to which every voxel is a sample."""
    theirs = lambda one, two: getattr(peers.scikit_learn(), name)(one.ravel(), two.ravel(), **options)  # noqa: E731
    return called(of_voxels(theirs), f"{name}, every voxel a sample")


def rows(mask: np.ndarray, spacing: tuple[float, ...]) -> np.ndarray:
    """Return where the voxels of a mask are, in mm."""
    return np.argwhere(mask) * np.array(spacing)


def scipy_hausdorff(one: np.ndarray, two: np.ndarray, spacing: tuple[float, ...]) -> float:
    sides = rows(one, spacing), rows(two, spacing)
    return max(directed_hausdorff(*sides)[0], directed_hausdorff(*sides[::-1])[0])


def scikit_image_part(mask: np.ndarray, spacing: tuple[float, ...]) -> Any:
    (part,) = peers.skimage_module("measure").regionprops(mask.astype(np.uint8), spacing=spacing)
    return part


def simpleitk_part(mask: np.ndarray, spacing: tuple[float, ...]) -> Any:
    return peers.simpleitk_shape(mask, spacing)


def between_centres(centre: Callable[..., Any]) -> Callable[..., float]:
    def theirs(one: np.ndarray, two: np.ndarray, spacing: tuple[float, ...]) -> float:
        return float(np.linalg.norm(np.subtract(centre(one, spacing), centre(two, spacing))))

    return theirs


def volume(side: int, get: Callable[..., float], call: str) -> Answer:
    return Answer(lambda *data: get(data[side], data[2]), call=call)


def simpleitk_volume(mask: np.ndarray, spacing: tuple[float, ...]) -> float:
    return simpleitk_part(mask, spacing).GetPhysicalSize(1)


def scikit_image_volume(mask: np.ndarray, spacing: tuple[float, ...]) -> float:
    return scikit_image_part(mask, spacing).area


def monai_both_ways(*data: Any) -> float:
    answers = peers.monai(*data)
    return (answers["to_reference"] + answers["to_prediction"]) / 2


def quality(name: str, place: int) -> dict[str, Answer]:
    """Return who else has a quality of instances, by its name in MONAI and its place in TorchMetrics."""
    return {
        "MONAI": Answer(
            lambda one, two, _: torch_peers.monai_panoptic(name, one, two),
            call=f"compute_panoptic_quality, metric_name=“{name}”",
        ),
        "TorchMetrics": Answer(
            lambda one, two, _: torch_peers.torchmetrics_panoptic(place, one, two),
            call="panoptic_quality, return_sq_and_rq=True, return_per_class=True",
        ),
    }


OVERLAPS: dict[str, dict[str, Answer]] = {
    "dice": {
        "TorchMetrics": called(
            of_voxels(partial(torch_peers.torchmetrics_segmentation, "dice_score")), "segmentation.dice_score"
        ),
        "scikit-learn": of_all_voxels("f1_score"),
    },
    "intersection_over_union": {
        "MONAI": monai_mask("compute_iou"),
        "TorchMetrics": called(
            of_voxels(partial(torch_peers.torchmetrics_segmentation, "mean_iou")), "segmentation.mean_iou"
        ),
        "scikit-learn": of_all_voxels("jaccard_score"),
    },
    "sensitivity": {
        "MONAI": monai_confusion("sensitivity"),
        "SimpleITK": called(
            of_voxels(lambda one, two: 1 - peers.simpleitk_overlap(two, one).GetFalseNegativeError()),
            "1 − GetFalseNegativeError()",
        ),
        "TorchMetrics": torchmetrics_of_all_voxels("recall"),
        "scikit-learn": of_all_voxels("recall_score"),
    },
    "precision": {
        "MONAI": monai_confusion("precision"),
        "SimpleITK": called(
            of_voxels(lambda one, two: 1 - peers.simpleitk_overlap(two, one).GetFalseDiscoveryRate()),
            "1 − GetFalseDiscoveryRate()",
        ),
        "TorchMetrics": torchmetrics_of_all_voxels("precision"),
        "scikit-learn": of_all_voxels("precision_score"),
    },
    "reference_volume": {
        "SimpleITK": volume(0, simpleitk_volume, "LabelShapeStatisticsImageFilter.GetPhysicalSize"),
        "scikit-image": volume(0, scikit_image_volume, "measure.regionprops with spacing, area"),
    },
    "prediction_volume": {
        "SimpleITK": volume(1, simpleitk_volume, "LabelShapeStatisticsImageFilter.GetPhysicalSize"),
        "scikit-image": volume(1, scikit_image_volume, "measure.regionprops with spacing, area"),
    },
    "volume_difference": {
        "MONAI": called(
            monai_mask("compute_absolute_volume_difference"),
            "compute_absolute_volume_difference, another definition: in voxels, without a sign",
        )
    },
    "volume_similarity": {
        "SimpleITK, its own": called(
            of_voxels(lambda one, two: peers.simpleitk_overlap(one, two).GetVolumeSimilarity()),
            "GetVolumeSimilarity() as it is, another definition: 2(first − second) / (first + second)",
        )
    },
}

DISTANCES: dict[str, dict[str, Answer]] = {
    "hausdorff_distance": {
        "SimpleITK": Answer(
            lambda *data: peers.simpleitk_hausdorff(*data)[0],
            VOXEL,
            call="HausdorffDistanceImageFilter, another definition: from all voxels of a mask",
        ),
        "scikit-image": Answer(
            lambda one, two, _: peers.scikit_image().hausdorff_distance(one, two),
            VOXEL,
            call="hausdorff_distance, another definition: from all voxels of a mask, in voxels",
        ),
        "SciPy": Answer(
            scipy_hausdorff,
            VOXEL,
            call="directed_hausdorff of the voxels in mm, both ways, another definition: from all voxels of a mask",
        ),
        "TorchMetrics": Answer(
            peers.torchmetrics_hausdorff, VOXEL, call="segmentation.hausdorff_distance, of images only"
        ),
    },
    "hausdorff_distance_95": {
        "MedPy": Answer(
            lambda *data: peers.medpy().hd95(*data),
            VOXEL,
            call="hd95, another definition: the percentile of both directions together (`pooled=True`)",
        )
    },
    "mean_average_surface_distance": {
        "MONAI": Answer(monai_both_ways, VOXEL, call="mean of compute_average_surface_distance in both directions")
    },
    "average_symmetric_surface_distance": {
        "SimpleITK": Answer(
            lambda *data: peers.simpleitk_hausdorff(*data)[1],
            VOXEL,
            call="GetAverageHausdorffDistance(), another definition: the larger mean over all voxels of a mask",
        )
    },
    "centre_distance": {
        "SimpleITK": Answer(
            between_centres(lambda mask, spacing: simpleitk_part(mask, spacing).GetCentroid(1)),
            call="distance between LabelShapeStatisticsImageFilter.GetCentroid",
        ),
        "scikit-image": Answer(
            between_centres(lambda mask, spacing: scikit_image_part(mask, spacing).centroid),
            call="distance between measure.regionprops with spacing, centroid",
        ),
    },
}

INSTANCES: dict[str, dict[str, Answer]] = {
    "panoptic_quality": quality("pq", 0),
    "segmentation_quality": quality("sq", 1),
    "recognition_quality": quality("rq", 2),
    "detection_f1": quality("rq", 2),
    "detection_sensitivity": {
        "MedPy": called(
            of_voxels(lambda one, two: peers.medpy().obj_tpr(two > 0, one > 0)),
            "obj_tpr, another definition: a voxel in common is enough, and found is counted among what was predicted",
        )
    },
    "detection_precision": {
        "MedPy": called(
            of_voxels(lambda one, two: 1 - peers.medpy().obj_fpr(two > 0, one > 0)),
            "1 − obj_fpr, another definition: a voxel in common is enough, and wrong is counted among the reference",
        )
    },
}

OTHERS: dict[tuple[str, str], Answer] = {
    (name, column): answer
    for table in (OVERLAPS, DISTANCES, INSTANCES)
    for name, columns in table.items()
    for column, answer in columns.items()
}
