"""For metrics of samples, images, instances and boxes: what each peer that is declared gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import families
import numpy as np
import peers
from peers_asked import Answer, measured
from scipy.stats import pearsonr

from podium import metrics as m

SEEDS = range(3)


def box_images(seed: int, count: int) -> tuple[list[m.BoxSet], list[m.BoxSet]]:
    """Return boxes of two classes, sixteen of each: recalls at COCO's points are then exact in binary."""
    generator = np.random.default_rng(seed)
    truth, claim = [], []
    for _ in range(count):
        lower = generator.uniform(0, 80, (2 * 16 // count, 2))
        boxes = np.concatenate([lower, lower + generator.uniform(8, 20, lower.shape)], axis=1)
        classes = np.arange(len(boxes)) % 2
        moved = np.concatenate(
            [boxes + generator.normal(0, 1.5, boxes.shape), boxes + generator.normal(0, 3, boxes.shape)]
        )
        moved = moved[generator.random(len(moved)) < 0.6]
        lower = np.minimum(moved[:, :2], moved[:, 2:])
        moved = np.concatenate([lower, np.maximum(moved[:, 2:], lower + 1)], axis=1)
        truth.append(m.BoxSet(boxes, classes=classes))
        claim.append(m.BoxSet(moved, scores=generator.random(len(moved)), classes=generator.integers(0, 2, len(moved))))
    return truth, claim


def classes(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return true and predicted classes, each of four on both sides."""
    truth, call = np.random.default_rng(seed).integers(0, 4, (2, 60))
    truth[:4] = call[:4] = range(4)
    return truth, call


def decisions(seed: int) -> tuple[np.ndarray, np.ndarray]:
    truth, call = np.random.default_rng(seed).integers(0, 2, (2, 40))
    return truth, call


def chances(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what happened and its probabilities, some of them equal."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, 2, 80), generator.uniform(0.01, 0.99, 80).round(2)


def class_chances(seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return classes(seed)[0], generator.dirichlet([1, 1, 1, 1], 60)


def values(seed: int) -> tuple[np.ndarray, np.ndarray]:
    truth, claim = np.random.default_rng(seed).normal(3, 2, (2, 31))
    return truth, claim + truth


def images(seed: int) -> tuple[np.ndarray, np.ndarray]:
    one, two = np.random.default_rng(seed).random((2, *((15, 17), (12, 13, 14), (20, 12))[seed]))
    return one, two


def points(seed: int) -> tuple[np.ndarray, np.ndarray]:
    one, two = np.random.default_rng(seed).normal(0, 9, (2, 17, 3))
    return one, two


def detections(seed: int) -> tuple[list[m.ImageDetections]]:
    """Return detections in four images, in each of which as many references are missed as the seed says."""
    generator = np.random.default_rng(seed)
    drawn = [(generator.random(9), generator.random(9) < 0.5) for _ in range(4)]
    return ([m.ImageDetections(scores, true, int(true.sum()) + seed) for scores, true in drawn],)


def deformations(seed: int) -> tuple[np.ndarray]:
    return (np.random.default_rng(seed).normal(0, 1, (3, 5, 6, 7)),)


@cache
def instance_pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    return list(families.FAMILIES["instances"][0].pairs())


DRAWS: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "boxes": lambda seed: box_images(seed, 4),
    "class agreement": classes,
    "class probabilities": class_chances,
    "classification": classes,
    "decisions": decisions,
    "deformations": deformations,
    "detections": detections,
    "images": images,
    "instances": lambda seed: (*instance_pairs()[seed], None),
    "landmarks": points,
    "probabilities": chances,
    "regression": values,
}
"""By family, data that are drawn with a seed."""


def scikit_learn(name: str, *, scored: bool = False, labelled: bool = False, **options: Any) -> tuple[Answer]:
    """Return the answer of a function of scikit-learn; of classes one-hot, or told all classes, where asked for."""

    def theirs(one: np.ndarray, two: np.ndarray) -> float:
        known = {"labels": range(number_of_classes(one, two))} if labelled else {}
        return getattr(peers.scikit_learn(), name)(
            np.eye(two.shape[-1])[one] if scored else one, two, **options, **known
        )

    return (Answer(theirs),)


def decided(name: str, theirs: Callable[[Any], Any] = float, **options: Any) -> tuple[Answer]:
    """Return the answer of a function of scikit-learn of decisions, or what is made of it."""
    return (Answer(lambda one, two: theirs(getattr(peers.scikit_learn(), name)(one, two, **options))),)


def torchmetrics(name: str, *, counted: bool = False, **options: Any) -> tuple[Answer]:
    """Return the answer of a function of TorchMetrics, which is told the number of classes where it must know."""

    def theirs(one: np.ndarray, two: np.ndarray) -> float:
        known = {"num_classes": number_of_classes(one, two)} if counted else {}
        return getattr(peers.torchmetrics(), name)(two, one, **options, **known)

    return (Answer(theirs),)


def number_of_classes(one: np.ndarray, two: np.ndarray) -> int:
    """Return how many classes there are, called or scored."""
    return np.shape(two)[-1] if np.ndim(two) == 2 else int(max(np.max(one), np.max(two))) + 1


def pingouin(form: str) -> Answer:
    return Answer(lambda one, two: peers.pingouin_icc(np.stack([one, two], axis=1))[form][0], {"form": form})


def kappa(disagreement: str, weights: str | None) -> Answer:
    theirs = lambda one, two: peers.scikit_learn().cohen_kappa_score(one, two, weights=weights)  # noqa: E731
    return Answer(theirs, {} if weights is None else {"disagreement": disagreement})


def f_beta(beta: float) -> Answer:
    theirs = lambda one, two: peers.scikit_learn().fbeta_score(one, two, beta=beta)  # noqa: E731
    return Answer(theirs, {} if beta == 1 else {"beta": beta})


def top_k(k: int) -> Answer:
    def theirs(one: np.ndarray, two: np.ndarray) -> float:
        return peers.scikit_learn().top_k_accuracy_score(one, two, k=k, labels=range(two.shape[-1]))

    return Answer(theirs, {} if k == 1 else {"k": k})


def pooled(own: list[m.ImageDetections]) -> tuple[np.ndarray, np.ndarray, int]:
    """Return all scores, whether each is right, and how many references there are."""
    scores, true = (np.concatenate([getattr(image, name) for image in own]) for name in ("scores", "true"))
    return scores, true, sum(image.references for image in own)


def monai_froc(own: list[m.ImageDetections], rates: tuple[float, ...] = (0.125, 0.25, 0.5, 1, 2, 4, 8)) -> float:
    scores, true, targets = pooled(own)
    hit = np.concatenate([scores[true], np.zeros(targets - true.sum())])
    return peers.monai_froc(scores[~true], hit, targets=targets, images=len(own), rates=rates)


def something_is_missed(own: list[m.ImageDetections]) -> bool:
    return pooled(own)[1].sum() < pooled(own)[2]


def step_precision(own: list[m.ImageDetections]) -> float:
    scores, true, targets = pooled(own)
    return peers.scikit_learn().average_precision_score(true, scores) * true.sum() / targets


def panoptica(key: str) -> tuple[Answer]:
    return (Answer(lambda one, two, _: peers.panoptica((np.uint8(one), np.uint8(two)))[0][key]),)


def numpy_folds(field: np.ndarray) -> float:
    gradient = np.stack([np.stack(np.gradient(part), axis=-1) for part in field], axis=-2)
    return (np.linalg.det(np.eye(len(field)) + gradient) <= 0).mean()


def distances(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.subtract(two, one), axis=1)


def similarity(one: np.ndarray, two: np.ndarray) -> float:
    options: dict[str, Any] = {"gaussian_weights": True, "use_sample_covariance": False, "data_range": 1.0}
    return peers.scikit_image().structural_similarity(one, two, **options)


def signal_to_noise(one: np.ndarray, two: np.ndarray) -> float:
    return peers.scikit_image().peak_signal_noise_ratio(one, two, data_range=1.0)


def percentiles(far: Callable[..., np.ndarray]) -> tuple[Answer, ...]:
    """Return NumPy's percentiles of errors, Podium's default of 95 first."""
    return (
        Answer(lambda one, two: np.percentile(far(one, two), 95)),
        Answer(lambda one, two: np.percentile(far(one, two), 80), {"percentile": 80}),
    )


CHECKS: dict[tuple[str, str], tuple[Answer, ...]] = {
    ("intraclass_correlation", "pingouin"): (
        Answer(pingouin("2,1").theirs),
        *map(pingouin, ("1,1", "3,1", "1,k", "2,k", "3,k")),
    ),
    ("true_positive_rate", "scikit-learn"): decided("recall_score"),
    ("specificity", "scikit-learn"): decided("recall_score", pos_label=0),
    ("false_positive_rate", "scikit-learn"): decided("recall_score", lambda value: 1 - value, pos_label=0),
    ("positive_predictive_value", "scikit-learn"): decided("precision_score"),
    ("negative_predictive_value", "scikit-learn"): decided("precision_score", pos_label=0),
    ("f_beta", "scikit-learn"): tuple(map(f_beta, (1, 0.5, 2))),
    ("youden_index", "scikit-learn"): decided("balanced_accuracy_score", adjusted=True),
    ("positive_likelihood_ratio", "scikit-learn"): decided("class_likelihood_ratios", lambda both: both[0]),
    ("negative_likelihood_ratio", "scikit-learn"): decided("class_likelihood_ratios", lambda both: both[1]),
    ("accuracy", "scikit-learn"): scikit_learn("accuracy_score"),
    ("accuracy", "TorchMetrics"): torchmetrics("accuracy", counted=True, task="multiclass", average="micro"),
    ("error_rate", "scikit-learn"): scikit_learn("zero_one_loss"),
    ("macro_f1", "scikit-learn"): scikit_learn("f1_score", average="macro"),
    ("weighted_f1", "scikit-learn"): scikit_learn("f1_score", average="weighted"),
    ("balanced_accuracy", "scikit-learn"): scikit_learn("balanced_accuracy_score"),
    ("matthews_correlation", "scikit-learn"): scikit_learn("matthews_corrcoef"),
    ("matthews_correlation", "TorchMetrics"): torchmetrics("matthews_corrcoef", counted=True, task="multiclass"),
    ("cohen_kappa", "scikit-learn"): (kappa("any", None), kappa("linear", "linear"), kappa("quadratic", "quadratic")),
    ("froc_score", "MONAI"): (
        Answer(monai_froc, where=something_is_missed),
        Answer(lambda own: monai_froc(own, (0.5, 1.0)), {"rates": (0.5, 1.0)}, something_is_missed),
    ),
    ("detection_average_precision", "scikit-learn"): (Answer(step_precision, {"interpolation": "none"}),),
    ("detection_sensitivity", "panoptica"): panoptica("rec"),
    ("detection_precision", "panoptica"): panoptica("prec"),
    ("detection_f1", "panoptica"): panoptica("rq"),
    ("recognition_quality", "panoptica"): panoptica("rq"),
    ("segmentation_quality", "panoptica"): panoptica("sq"),
    ("panoptic_quality", "panoptica"): panoptica("pq"),
    ("mean_average_precision", "pycocotools"): (Answer(peers.coco_mean),),
    ("landmark_error", "NumPy"): (Answer(lambda one, two: distances(one, two).mean()),),
    ("landmark_error_percentile", "NumPy"): percentiles(distances),
    ("peak_signal_to_noise_ratio", "scikit-image"): (Answer(signal_to_noise),),
    ("structural_similarity", "scikit-image"): (Answer(similarity),),
    ("structural_similarity", "MONAI"): (Answer(peers.monai_ssim),),
    ("area_under_roc", "scikit-learn"): scikit_learn("roc_auc_score"),
    ("area_under_roc", "TorchMetrics"): torchmetrics("auroc", task="binary"),
    ("area_under_precision_recall", "scikit-learn"): scikit_learn("average_precision_score"),
    ("area_under_precision_recall", "TorchMetrics"): torchmetrics("average_precision", task="binary"),
    ("brier_score", "scikit-learn"): scikit_learn("brier_score_loss", labels=[0, 1]),
    ("log_loss", "scikit-learn"): scikit_learn("log_loss", labels=[0, 1]),
    ("expected_calibration_error", "TorchMetrics"): torchmetrics(
        "calibration_error", task="binary", n_bins=15, norm="l1"
    ),
    ("macro_area_under_roc", "scikit-learn"): scikit_learn("roc_auc_score", labelled=True, multi_class="ovr"),
    ("macro_area_under_precision_recall", "scikit-learn"): scikit_learn("average_precision_score", scored=True),
    ("multiclass_brier_score", "scikit-learn"): scikit_learn("brier_score_loss", labelled=True, scale_by_half=False),
    ("multiclass_log_loss", "scikit-learn"): scikit_learn("log_loss", labelled=True),
    ("top_k_accuracy", "scikit-learn"): tuple(map(top_k, (1, 2, 3))),
    ("top_label_calibration_error", "TorchMetrics"): torchmetrics(
        "calibration_error", counted=True, task="multiclass", n_bins=15, norm="l1"
    ),
    ("folded_share", "NumPy"): (Answer(numpy_folds),),
    ("mean_absolute_error", "scikit-learn"): scikit_learn("mean_absolute_error"),
    ("root_mean_square_error", "scikit-learn"): scikit_learn("root_mean_squared_error"),
    ("absolute_error_percentile", "NumPy"): percentiles(lambda one, two: np.abs(np.subtract(two, one))),
    ("median_absolute_error", "scikit-learn"): scikit_learn("median_absolute_error"),
    ("coefficient_of_determination", "scikit-learn"): scikit_learn("r2_score"),
    ("bias", "NumPy"): (Answer(lambda one, two: np.mean(np.subtract(two, one))),),
    ("pearson_correlation", "SciPy"): (Answer(lambda one, two: pearsonr(one, two)[0]),),
}


def compared(name: str, peer: str) -> Iterator[tuple[Any, Any]]:
    """Yield what Podium and the peer say of some random data."""
    metric = m.get_metric(name)
    if peer == "panoptica":  # all that will be asked, in one process
        peers.panoptica(*(tuple(map(np.uint8, pair)) for pair in instance_pairs()))
    for seed in SEEDS:
        data = DRAWS[metric.family](seed)
        for answer in CHECKS[name, peer]:
            if answer.where(*data):
                yield measured(metric, *data, **answer.options), answer.theirs(*data)
