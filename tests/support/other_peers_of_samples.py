"""What further tools answer about samples, images or boxes: by the same definition, undeclared, or by another."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import peers
import peers_in_torch as torch_peers
from other_peers_of_masks import called, monai_confusion
from peers_asked import Answer
from peers_of_samples import torchmetrics
from scipy.stats import mannwhitneyu

from podium import metrics as m


def of_torchmetrics(name: str, call: str = "", **options: Any) -> Answer:
    return called(torchmetrics(name, **options), call or name)


def boxes_of(own: list[m.ImageDetections]) -> tuple[list[m.BoxSet], list[m.BoxSet]]:
    """Return boxes that hit or miss as detections do."""
    truth, claim = [], []
    for image in own:
        places = np.concatenate([np.arange(image.true.sum()), 100 + np.arange((~image.true).sum())])
        order = np.argsort(~image.true, kind="stable")
        truth.append(m.BoxSet(_boxes(np.arange(image.references)), classes=np.zeros(image.references, int)))
        claim.append(m.BoxSet(_boxes(places), scores=image.scores[order], classes=np.zeros(len(places), int)))
    return truth, claim


def coco_of_detections(own: list[m.ImageDetections]) -> float:
    return float(peers.coco_precisions(*boxes_of(own))[0, :, 0].mean())


def monai_of_detections(own: list[m.ImageDetections]) -> float:
    return torch_peers.monai_boxes(*boxes_of(own), highest=0.5)


def _boxes(places: np.ndarray) -> np.ndarray:
    lower = np.stack([20.0 * places, 0.0 * places], axis=1)
    return np.concatenate([lower, lower + 10], axis=1)


def mann_whitney(truth: np.ndarray, scores: np.ndarray) -> float:
    truth = np.asarray(truth) > 0
    pairs = truth.sum() * (~truth).sum()
    return mannwhitneyu(np.asarray(scores)[truth], np.asarray(scores)[~truth]).statistic / pairs


def statsmodels_kappa(one: np.ndarray, two: np.ndarray) -> float:
    return peers.of_module("statsmodels.stats.inter_rater").cohens_kappa(m.confusion_matrix(one, two)).kappa


def statsmodels(name: str) -> Answer:
    module = "statsmodels.tools.eval_measures"
    return Answer(lambda one, two: getattr(peers.of_module(module), name)(two, one), call=f"eval_measures.{name}")


def simpleitk_folds(field: np.ndarray) -> float:
    """Return the share of voxels where SimpleITK's determinant is at most 0; its vectors have x first."""
    sitk = peers.of_module("SimpleITK")
    vectors = np.moveaxis(field[::-1], 0, -1).astype(np.float64)
    image = sitk.GetImageFromArray(vectors, isVector=True)
    return (sitk.GetArrayFromImage(sitk.DisplacementFieldJacobianDeterminant(image)) <= 0).mean()


def monai_values(name: str) -> Answer:
    return Answer(partial(torch_peers.monai_mean, name), call=name)


def monai_signal_to_noise(one: np.ndarray, two: np.ndarray) -> float:
    return torch_peers.monai_mean("PSNRMetric", one, two, max_val=1.0)


def scikit_image_by_default(one: np.ndarray, two: np.ndarray) -> float:
    return peers.scikit_image().structural_similarity(one, two, data_range=1.0)


DETECTIONS: dict[str, dict[str, Answer]] = {
    "detection_average_precision": {
        "pycocotools": Answer(coco_of_detections, call="COCOeval of one class at one threshold"),
        "MONAI": Answer(monai_of_detections, call="COCOMetric of one class at one threshold"),
    },
    "mean_average_precision": {
        "MONAI": Answer(torch_peers.monai_boxes, call="COCOMetric with iou_range=(0.5, 0.95, 0.05)"),
    },
}

SCORES: dict[str, dict[str, Answer]] = {
    "area_under_roc": {
        "MONAI": Answer(partial(torch_peers.monai_scores, "compute_roc_auc"), call="compute_roc_auc"),
        "SciPy": Answer(mann_whitney, call="stats.mannwhitneyu over the number of pairs"),
    },
    "area_under_precision_recall": {
        "MONAI": Answer(
            partial(torch_peers.monai_scores, "compute_average_precision"), call="compute_average_precision"
        )
    },
    "log_loss": {"PyTorch": Answer(torch_peers.torch_cross_entropy, call="nn.functional.binary_cross_entropy")},
    "expected_calibration_error": {
        "MONAI": Answer(torch_peers.monai_calibration, call="CalibrationErrorMetric with num_bins=15")
    },
    "macro_area_under_roc": {
        "TorchMetrics": of_torchmetrics("auroc", "auroc with task='multiclass'", counted=True, task="multiclass"),
        "MONAI": Answer(partial(torch_peers.monai_scores, "compute_roc_auc"), call="compute_roc_auc"),
    },
    "macro_area_under_precision_recall": {
        "TorchMetrics": of_torchmetrics(
            "average_precision", "average_precision with task='multiclass'", counted=True, task="multiclass"
        ),
        "MONAI": Answer(
            partial(torch_peers.monai_scores, "compute_average_precision"), call="compute_average_precision"
        ),
    },
    "multiclass_log_loss": {
        "PyTorch": Answer(torch_peers.torch_cross_entropy, call="nn.functional.nll_loss of the logarithms")
    },
    "top_k_accuracy": {
        "TorchMetrics": of_torchmetrics(
            "accuracy",
            "accuracy with task='multiclass', average='micro'",
            counted=True,
            task="multiclass",
            average="micro",
        )
    },
}

DECISIONS: dict[str, dict[str, Answer]] = {
    "true_positive_rate": {
        "TorchMetrics": of_torchmetrics("recall", task="binary"),
        "MONAI": monai_confusion("sensitivity"),
    },
    "specificity": {
        "TorchMetrics": of_torchmetrics("specificity", task="binary"),
        "MONAI": monai_confusion("specificity"),
    },
    "false_positive_rate": {"MONAI": monai_confusion("fall out")},
    "positive_predictive_value": {
        "TorchMetrics": of_torchmetrics("precision", task="binary"),
        "MONAI": monai_confusion("precision"),
    },
    "negative_predictive_value": {
        "TorchMetrics": of_torchmetrics("negative_predictive_value", task="binary"),
        "MONAI": monai_confusion("negative predictive value"),
    },
    "f_beta": {
        "TorchMetrics": of_torchmetrics("fbeta_score", task="binary", beta=1.0),
        "MONAI": Answer(torch_peers.monai_f_beta, call="compute_f_beta_score"),
    },
    "youden_index": {"MONAI": monai_confusion("informedness")},
}

CLASSES: dict[str, dict[str, Answer]] = {
    "error_rate": {
        "TorchMetrics": of_torchmetrics(
            "hamming_distance",
            "hamming_distance with task='multiclass', average='micro'",
            counted=True,
            task="multiclass",
            average="micro",
        )
    },
    "macro_f1": {
        "TorchMetrics": of_torchmetrics(
            "f1_score", "f1_score with average='macro'", counted=True, task="multiclass", average="macro"
        )
    },
    "weighted_f1": {
        "TorchMetrics": of_torchmetrics(
            "f1_score", "f1_score with average='weighted'", counted=True, task="multiclass", average="weighted"
        )
    },
    "balanced_accuracy": {
        "TorchMetrics": of_torchmetrics(
            "recall", "recall with average='macro'", counted=True, task="multiclass", average="macro"
        )
    },
    "cohen_kappa": {
        "TorchMetrics": of_torchmetrics("cohen_kappa", counted=True, task="multiclass"),
        "statsmodels": Answer(statsmodels_kappa, call="inter_rater.cohens_kappa of the confusion matrix"),
    },
}

VALUES: dict[str, dict[str, Answer]] = {
    "mean_absolute_error": {
        "TorchMetrics": of_torchmetrics("mean_absolute_error"),
        "MONAI": monai_values("MAEMetric"),
        "statsmodels": statsmodels("meanabs"),
    },
    "root_mean_square_error": {
        "TorchMetrics": of_torchmetrics("mean_squared_error", "mean_squared_error with squared=False", squared=False),
        "MONAI": monai_values("RMSEMetric"),
        "statsmodels": statsmodels("rmse"),
    },
    "median_absolute_error": {"statsmodels": statsmodels("medianabs")},
    "bias": {"statsmodels": statsmodels("bias")},
    "pearson_correlation": {
        "pingouin": Answer(lambda one, two: peers.of_module("pingouin").corr(one, two)["r"].iloc[0], call="corr"),
        "scikit-learn": Answer(
            lambda one, two: peers.of_module("sklearn.feature_selection").r_regression(one[:, None], two)[0],
            call="feature_selection.r_regression",
        ),
        "NumPy": Answer(lambda one, two: np.corrcoef(one, two)[0, 1], call="corrcoef"),
        "TorchMetrics": of_torchmetrics("pearson_corrcoef"),
    },
    "concordance_correlation": {
        "TorchMetrics": of_torchmetrics(
            "concordance_corrcoef", "concordance_corrcoef, another definition: sums are divided by n − 1"
        )
    },
    "coefficient_of_determination": {"TorchMetrics": of_torchmetrics("r2_score")},
    "peak_signal_to_noise_ratio": {
        "TorchMetrics": Answer(
            partial(torch_peers.torchmetrics_images, "peak_signal_noise_ratio"), call="peak_signal_noise_ratio"
        ),
        "MONAI": Answer(monai_signal_to_noise, call="PSNRMetric"),
    },
    "structural_similarity": {
        "scikit-image, by default": Answer(
            scikit_image_by_default,
            call="structural_similarity as it is, another definition: a window of 7 equal weights",
        ),
        "TorchMetrics": Answer(
            partial(torch_peers.torchmetrics_images, "structural_similarity_index_measure"),
            call="structural_similarity_index_measure, another definition: windows reach over the border",
        ),
    },
    "folded_share": {
        "SimpleITK": Answer(
            simpleitk_folds, call="DisplacementFieldJacobianDeterminant, at most 0; the border is taken in another way"
        )
    },
}

OTHERS: dict[tuple[str, str], Answer] = {
    (name, column): answer
    for table in (DETECTIONS, SCORES, DECISIONS, CLASSES, VALUES)
    for name, columns in table.items()
    for column, answer in columns.items()
}
