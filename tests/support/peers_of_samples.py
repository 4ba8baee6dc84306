"""For metrics of samples, images, instances and boxes: what each peer that is declared gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import families
import numpy as np
import peers
from scipy.stats import pearsonr

from podium import metrics as m

SEEDS = range(3)
Pairs = Iterator[tuple[Any, Any]]
Check = Callable[[Any], Pairs]


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


def of(
    draw: Callable[[int], tuple[Any, Any]], theirs: Callable[..., Any], prepare: Any = None, **options: Any
) -> Check:
    """Return a check of a metric of a reference and a prediction, or of what is prepared of them."""

    def check(metric: Any) -> Pairs:
        for seed in SEEDS:
            drawn = draw(seed)
            ours = metric(*drawn, **options) if prepare is None else metric(prepare(*drawn), **options)
            yield ours, theirs(*drawn)

    return check


def scikit_learn(draw: Any, name: str, *, scored: bool = False, **options: Any) -> Check:
    """Return a check against a function of scikit-learn; of classes one-hot where asked for."""
    return of(
        draw, lambda one, two: getattr(peers.scikit_learn(), name)(np.eye(4)[one] if scored else one, two, **options)
    )


def decided(name: str, theirs: Callable[[Any], Any] = float, **options: Any) -> Check:
    """Return a check of a metric of counts against a function of scikit-learn of the decisions."""
    peer = lambda one, two: theirs(getattr(peers.scikit_learn(), name)(one, two, **options))  # noqa: E731
    return of(decisions, peer, m.BinaryCounts.between)


def torchmetrics(draw: Any, name: str, **options: Any) -> Check:
    return of(draw, lambda one, two: getattr(peers.torchmetrics(), name)(two, one, **options))


def pingouin(metric: Any) -> Pairs:
    for seed in SEEDS:
        one, two = values(seed)
        theirs = peers.pingouin_icc(np.stack([one, two], axis=1))
        for form, (value, *_) in theirs.items():
            yield metric(one, two, form=form), value


def kappas(metric: Any) -> Pairs:
    for seed in SEEDS:
        for disagreement, weights in (("any", None), ("linear", "linear"), ("quadratic", "quadratic")):
            theirs = peers.scikit_learn().cohen_kappa_score(*classes(seed), weights=weights)
            yield metric(*classes(seed), disagreement=disagreement), theirs


def f_betas(metric: Any) -> Pairs:
    for beta in (0.5, 1.0, 2.0):
        counts = m.BinaryCounts.between(*decisions(0))
        yield metric(counts, beta=beta), peers.scikit_learn().fbeta_score(*decisions(0), beta=beta)


def top_k(metric: Any) -> Pairs:
    for k in (1, 2, 3):
        yield metric(*class_chances(0), k=k), peers.scikit_learn().top_k_accuracy_score(*class_chances(0), k=k)


def detections(seed: int, *, missed: int) -> tuple[list[m.ImageDetections], np.ndarray, np.ndarray]:
    """Return detections in four images, some references missed, and all scores with whether they are right."""
    generator = np.random.default_rng(seed)
    drawn = [(generator.random(9), generator.random(9) < 0.5) for _ in range(4)]
    own = [m.ImageDetections(scores, true, int(true.sum()) + missed) for scores, true in drawn]
    scores, true = (np.concatenate(side) for side in zip(*drawn, strict=True))
    return own, scores, true


def monai_froc(metric: Any) -> Pairs:
    rates = (0.25, 0.5, 1.0, 2.0)
    for seed in SEEDS:
        own, scores, true = detections(seed, missed=1)
        hit = np.concatenate([scores[true], np.zeros(len(own))])
        theirs = peers.monai_froc(scores[~true], hit, targets=hit.size, images=len(own), rates=rates)
        yield metric(m.Detections.of(own), rates=rates), theirs


def step_precision(metric: Any) -> Pairs:
    for seed in SEEDS:
        own, scores, true = detections(seed, missed=seed)
        share = true.sum() / (true.sum() + 4 * seed)
        theirs = peers.scikit_learn().average_precision_score(true, scores) * share
        yield metric(m.Detections.of(own), interpolation="none"), theirs


def coco(metric: Any) -> Pairs:
    for seed in SEEDS:
        truth, claim = box_images(seed, 4)
        yield metric(truth, claim), peers.coco_precisions(truth, claim).mean()


@cache
def _panoptica() -> list[tuple[tuple[np.ndarray, np.ndarray], dict[str, float]]]:
    pairs = [tuple(map(np.uint8, pair)) for pair in families.FAMILIES["instances"][0].pairs()]
    return list(zip(pairs, peers.panoptica(*pairs), strict=True))


def panoptica(key: str) -> Check:
    return lambda metric: ((metric(m.InstanceCounts.between(*pair)), theirs[key]) for pair, theirs in _panoptica())


def numpy_folds(metric: Any) -> Pairs:
    for seed in SEEDS:
        field = np.random.default_rng(seed).normal(0, 1, (3, 5, 6, 7))
        gradient = np.stack([np.stack(np.gradient(part), axis=-1) for part in field], axis=-2)
        yield metric(field), (np.linalg.det(np.eye(3) + gradient) <= 0).mean()


def _distances(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    return np.linalg.norm(two - one, axis=1)


def _similarity(one: np.ndarray, two: np.ndarray) -> float:
    options: dict[str, Any] = {"gaussian_weights": True, "use_sample_covariance": False, "data_range": 1.0}
    return peers.scikit_image().structural_similarity(one, two, **options)


CHECKS: dict[tuple[str, str], Check] = {
    ("intraclass_correlation", "pingouin"): pingouin,
    ("true_positive_rate", "scikit-learn"): decided("recall_score"),
    ("specificity", "scikit-learn"): decided("recall_score", pos_label=0),
    ("false_positive_rate", "scikit-learn"): decided("recall_score", lambda value: 1 - value, pos_label=0),
    ("positive_predictive_value", "scikit-learn"): decided("precision_score"),
    ("negative_predictive_value", "scikit-learn"): decided("precision_score", pos_label=0),
    ("f_beta", "scikit-learn"): f_betas,
    ("youden_index", "scikit-learn"): decided("balanced_accuracy_score", adjusted=True),
    ("positive_likelihood_ratio", "scikit-learn"): decided("class_likelihood_ratios", lambda both: both[0]),
    ("negative_likelihood_ratio", "scikit-learn"): decided("class_likelihood_ratios", lambda both: both[1]),
    ("accuracy", "scikit-learn"): scikit_learn(classes, "accuracy_score"),
    ("accuracy", "TorchMetrics"): torchmetrics(classes, "accuracy", task="multiclass", num_classes=4, average="micro"),
    ("error_rate", "scikit-learn"): scikit_learn(classes, "zero_one_loss"),
    ("macro_f1", "scikit-learn"): scikit_learn(classes, "f1_score", average="macro"),
    ("weighted_f1", "scikit-learn"): scikit_learn(classes, "f1_score", average="weighted"),
    ("balanced_accuracy", "scikit-learn"): scikit_learn(classes, "balanced_accuracy_score"),
    ("matthews_correlation", "scikit-learn"): scikit_learn(classes, "matthews_corrcoef"),
    ("matthews_correlation", "TorchMetrics"): torchmetrics(
        classes, "matthews_corrcoef", task="multiclass", num_classes=4
    ),
    ("cohen_kappa", "scikit-learn"): kappas,
    ("froc_score", "MONAI"): monai_froc,
    ("detection_average_precision", "scikit-learn"): step_precision,
    ("detection_sensitivity", "panoptica"): panoptica("rec"),
    ("detection_precision", "panoptica"): panoptica("prec"),
    ("detection_f1", "panoptica"): panoptica("rq"),
    ("recognition_quality", "panoptica"): panoptica("rq"),
    ("segmentation_quality", "panoptica"): panoptica("sq"),
    ("panoptic_quality", "panoptica"): panoptica("pq"),
    ("mean_average_precision", "pycocotools"): coco,
    ("landmark_error", "NumPy"): of(points, lambda one, two: _distances(one, two).mean()),
    ("landmark_error_percentile", "NumPy"): of(
        points, lambda one, two: np.percentile(_distances(one, two), 80), percentile=80
    ),
    ("peak_signal_to_noise_ratio", "scikit-image"): of(
        images,
        lambda one, two: peers.scikit_image().peak_signal_noise_ratio(one, two, data_range=1.0),
        data_range=1.0,
    ),
    ("structural_similarity", "scikit-image"): of(images, _similarity, data_range=1.0),
    ("structural_similarity", "MONAI"): of(images, peers.monai_ssim, data_range=1.0),
    ("area_under_roc", "scikit-learn"): scikit_learn(chances, "roc_auc_score"),
    ("area_under_roc", "TorchMetrics"): torchmetrics(chances, "auroc", task="binary"),
    ("area_under_precision_recall", "scikit-learn"): scikit_learn(chances, "average_precision_score"),
    ("area_under_precision_recall", "TorchMetrics"): torchmetrics(chances, "average_precision", task="binary"),
    ("brier_score", "scikit-learn"): scikit_learn(chances, "brier_score_loss"),
    ("log_loss", "scikit-learn"): scikit_learn(chances, "log_loss"),
    ("expected_calibration_error", "TorchMetrics"): torchmetrics(
        chances, "calibration_error", task="binary", n_bins=15, norm="l1"
    ),
    ("macro_area_under_roc", "scikit-learn"): scikit_learn(class_chances, "roc_auc_score", multi_class="ovr"),
    ("macro_area_under_precision_recall", "scikit-learn"): scikit_learn(
        class_chances, "average_precision_score", scored=True
    ),
    ("multiclass_brier_score", "scikit-learn"): scikit_learn(class_chances, "brier_score_loss", scale_by_half=False),
    ("multiclass_log_loss", "scikit-learn"): scikit_learn(class_chances, "log_loss"),
    ("top_k_accuracy", "scikit-learn"): top_k,
    ("top_label_calibration_error", "TorchMetrics"): torchmetrics(
        class_chances, "calibration_error", task="multiclass", num_classes=4, n_bins=15, norm="l1"
    ),
    ("folded_share", "NumPy"): numpy_folds,
    ("mean_absolute_error", "scikit-learn"): scikit_learn(values, "mean_absolute_error"),
    ("root_mean_square_error", "scikit-learn"): scikit_learn(values, "root_mean_squared_error"),
    ("absolute_error_percentile", "NumPy"): of(
        values, lambda one, two: np.percentile(np.abs(two - one), 80), percentile=80
    ),
    ("median_absolute_error", "scikit-learn"): scikit_learn(values, "median_absolute_error"),
    ("coefficient_of_determination", "scikit-learn"): scikit_learn(values, "r2_score"),
    ("bias", "NumPy"): of(values, lambda one, two: np.mean(two - one)),
    ("pearson_correlation", "SciPy"): of(values, lambda one, two: pearsonr(one, two)[0]),
}


def compared(name: str, peer: str) -> Pairs:
    """Yield what Podium and the peer say of some random data."""
    yield from CHECKS[name, peer](m.get_metric(name))
