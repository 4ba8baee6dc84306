"""MONAI, TorchMetrics and PyTorch as their users call them, beside what `peers` has: arrays in, a float out."""

from __future__ import annotations

from typing import Any

import numpy as np
import peers

from podium import metrics as m


def _tensor(array: Any) -> Any:
    import torch

    return torch.as_tensor(np.asarray(array))


def _channels(*masks: np.ndarray) -> list[Any]:
    """Return masks as batches of one with one channel."""
    return [_tensor(mask[None, None].astype(np.uint8)) for mask in masks]


def monai(name: str, prediction: np.ndarray, reference: np.ndarray, **options: Any) -> float:
    """Return what a function of MONAI says of two masks."""
    module = peers.of_module("monai.metrics")
    return float(getattr(module, name)(*_channels(prediction, reference), **options))


def monai_confusion(name: str, reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return one of MONAI's metrics of a confusion matrix, of masks or of yes and no."""
    module = peers.of_module("monai.metrics")
    counts = module.get_confusion_matrix(*_channels(np.asarray(prediction), np.asarray(reference)))
    return float(module.compute_confusion_matrix_metric(name, counts))


def monai_f_beta(reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return MONAI's F1 of yes and no, by its function for any β."""
    module = peers.of_module("monai.metrics.f_beta_score")
    counts = module.get_f_beta_score(*_channels(np.asarray(prediction), np.asarray(reference)))
    return float(module.compute_f_beta_score(counts, 1.0))


def monai_scores(name: str, reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return what a function of MONAI says of scores for yes and no, or for several classes."""
    truth = np.eye(prediction.shape[1])[reference] if prediction.ndim == 2 else reference
    return float(getattr(peers.of_module("monai.metrics"), name)(_tensor(prediction), _tensor(truth)))


def monai_mean(name: str, reference: np.ndarray, prediction: np.ndarray, **options: Any) -> float:
    """Return what a class of MONAI says of values, as one batch item."""
    sides = [_tensor(np.asarray(side, float)[None]) for side in (prediction, reference)]
    return float(getattr(peers.of_module("monai.metrics"), name)(**options)(*sides))


def monai_calibration(reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return MONAI's expected calibration error, of fifteen bins."""
    sides = [_tensor(np.asarray(side, np.float32)[None, None]) for side in (prediction, reference)]
    return float(peers.of_module("monai.metrics").CalibrationErrorMetric(num_bins=15)(*sides))


def monai_panoptic(name: str, reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return one of MONAI's panoptic qualities of two instance maps."""
    sides = [_tensor(side.astype(np.int64)) for side in (prediction, reference)]
    return float(peers.of_module("monai.metrics").compute_panoptic_quality(*sides, metric_name=name))


def monai_boxes(truth: list[m.BoxSet], claim: list[m.BoxSet], *, highest: float = 0.95) -> float:
    """Return MONAI's mean average precision of boxes, at COCO's ten thresholds or those up to the highest."""
    coco = peers.of_module("monai.apps.detection.metrics.coco")
    matching = peers.of_module("monai.apps.detection.metrics.matching")
    classes = {int(kind) for own in (*truth, *claim) for kind in own.classes}
    metric = coco.COCOMetric(
        [str(kind) for kind in sorted(classes)], iou_list=[0.5], iou_range=(0.5, highest, 0.05), max_detection=[100]
    )
    results = matching.matching_batch(
        iou_fn=peers.of_module("monai.data.box_utils").box_iou,
        iou_thresholds=metric.iou_thresholds,
        pred_boxes=[own.boxes for own in claim],
        pred_classes=[own.classes for own in claim],
        pred_scores=[own.scores for own in claim],
        gt_boxes=[own.boxes for own in truth],
        gt_classes=[own.classes for own in truth],
    )
    means = metric(results)[0]
    return float(means[f"mAP_IoU_0.50_{highest:.2f}_0.05_MaxDet_100"])


def torchmetrics_segmentation(name: str, reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return what TorchMetrics says of two masks, the only class there is."""
    function = getattr(peers.of_module("torchmetrics.functional.segmentation"), name)
    sides = [side.long() for side in _channels(prediction, reference)]
    return float(function(*sides, num_classes=1, include_background=True, input_format="one-hot"))


def torchmetrics_panoptic(place: int, reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return TorchMetrics' panoptic, segmentation or recognition quality; the background is stuff, and left out."""
    module = peers.of_module("torchmetrics.functional.detection")
    sides = [_tensor(np.stack([side > 0, side], axis=-1).astype(np.int64)[None]) for side in (prediction, reference)]
    qualities = module.panoptic_quality(*sides, things={1}, stuffs={0}, return_sq_and_rq=True, return_per_class=True)
    return float(qualities.reshape(-1, 3)[0, place])


def torchmetrics_images(name: str, reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return what a function of TorchMetrics says of two images between 0 and 1."""
    module = peers.of_module("torchmetrics.functional.image")
    sides = [_tensor(np.asarray(side)[None, None]) for side in (prediction, reference)]
    return float(getattr(module, name)(*sides, data_range=1.0))


def torch_cross_entropy(reference: np.ndarray, prediction: np.ndarray) -> float:
    """Return PyTorch's cross-entropy of probabilities, of yes and no or of several classes."""
    functions = peers.of_module("torch.nn.functional")
    truth, chances = np.asarray(reference), np.asarray(prediction, float)
    if chances.ndim == 2:
        return float(functions.nll_loss(_tensor(chances).log(), _tensor(truth)))
    return float(functions.binary_cross_entropy(_tensor(chances), _tensor(truth.astype(float))))
