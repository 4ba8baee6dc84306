"""How good predicted probabilities, or any scores, are for telling two classes apart.

Samples lie along the last axis, and axes before it are kept: one row of scores for each label (multilabel), for each
class against the rest (`one_against_rest`) or for each submission. Weights of shape (…, samples) are sets of weights,
non-negative and usually whole, so that a bootstrap is one call: scores are sorted once, whatever the number of sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from podium.metrics._kernels.thresholds import areas_under_roc, average_precisions
from podium.metrics._rows import as_numbers, as_samples, check_yes_or_no, weighted_mean
from podium.metrics.registry import A_SHARE, declare
from podium.model import UNDEFINED, Direction, InputError

__all__ = [
    "area_under_precision_recall",
    "area_under_roc",
    "brier_score",
    "delong_covariance",
    "log_loss",
    "net_benefit",
    "one_against_rest",
]

Floats = npt.NDArray[np.float64]

_SCORE: dict[str, Any] = {
    "family": "probabilities",
    **A_SHARE,
    "symmetric": False,
}
LOSS: dict[str, Any] = _SCORE | {"direction": Direction.LOWER, "perfect": 0.0, "empty": {"no samples": UNDEFINED}}


def as_scores(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Return truth (0 or 1), finite scores and weights."""
    truth, scores, weight = as_samples(reference, prediction, weights)
    check_yes_or_no(truth, "reference", advice="See one_against_rest for classes")
    return truth, scores, weight


def as_probabilities(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Return truth (0 or 1), probabilities of 1 and weights."""
    truth, chances, weight = as_scores(reference, prediction, weights)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise InputError("a probability is not between 0 and 1")
    return truth, chances, weight


def _areas(
    kernel: Callable[..., None], reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> Floats:
    """Return the area that a kernel finds for scores in their order; each row of scores is sorted once."""
    given, given_scores, weight = as_scores(reference, prediction, weights)
    truth, scores = np.broadcast_arrays(given, given_scores)
    samples = scores.shape[-1]
    lead = np.broadcast_shapes(scores.shape[:-1], weight.shape[:-1])
    rows = [np.arange(int(np.prod(a.shape[:-1]))).reshape(a.shape[:-1]) for a in (scores, weight)]
    pairs = np.stack([np.broadcast_to(row, lead).reshape(-1) for row in rows], axis=-1)
    scores, truth = scores.reshape(len(rows[0].flat), samples), truth.reshape(len(rows[0].flat), samples)
    order = np.argsort(-scores, axis=-1)
    falling, truth = (np.take_along_axis(values, order, -1) for values in (scores, truth))
    ends = np.ones(falling.shape, bool)
    ends[:, :-1] = falling[:, :-1] != falling[:, 1:]
    areas = np.empty(len(pairs))
    weight = np.ascontiguousarray(weight.reshape(len(rows[1].flat), samples))
    kernel(order, truth, ends, weight, pairs, areas)
    return areas.reshape(lead)[()]


@declare(
    title="AUROC",
    **_SCORE,
    empty={"no samples": UNDEFINED, "no positives": UNDEFINED, "no negatives": UNDEFINED},
    also_called=("auc", "auroc", "roc_auc"),
    formula="(pairs with the positive above + ties / 2) / (positives · negatives)",
    same_as={
        "scikit-learn": "roc_auc_score, unless there is one class",
        "TorchMetrics": "auroc with task='binary' of probabilities, unless there is one class",
    },
)
def area_under_roc(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the chance that a positive sample has a higher score than a negative one, a tie counting half (AUROC).

    It is the area under the ROC curve, and Mann and Whitney's U over the number of pairs; 1 is best, 0.5 is what
    scores without information reach. Undefined where there is only one class, also in a set of weights.

    Parameters
    ----------
    reference
        1 for positive samples, 0 for others, shape (…, samples).
    prediction
        Scores of any scale, higher for positive, shape (…, samples).
    weights
        How often each sample counts, shape (…, samples). Whole numbers give exact counts.

    Notes
    -----
    The same as scikit-learn's `roc_auc_score`. TorchMetrics says 0 where there is one class only, and takes scores
    outside [0, 1] through the logistic function first, where large ones become equal: then its area is another one.

    References
    ----------
    Hanley and McNeil 1982, Radiology 143(1).

    Examples
    --------
    >>> float(area_under_roc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]))
    0.875
    >>> area_under_roc([0, 1, 1], [0.5, 0.4, 0.6], weights=[[1, 1, 1], [1, 0, 2], [0, 2, 1]])
    array([0.5, 1. , nan])
    """
    return _areas(areas_under_roc, reference, prediction, weights)


@declare(
    title="AUPRC",
    **_SCORE,
    empty={"no samples": UNDEFINED, "no positives": UNDEFINED, "no negatives": 1.0},
    also_called=("auprc", "pr_auc", "ap", "average_precision"),
    formula="Σ (recall_k − recall_{k−1}) · precision_k over falling thresholds",
    same_as={
        "scikit-learn": "average_precision_score, unless there are no positives",
        "TorchMetrics": "average_precision with task='binary' of probabilities, unless there are no positives",
    },
)
def area_under_precision_recall(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return average precision (AP, AUPRC): Σ (recallₖ − recallₖ₋₁) · precisionₖ over falling thresholds.

    The area under the curve of steps. Joining its points by lines, as a trapezoidal AUPRC does, promises precisions
    that no threshold reaches. Scores without information reach the share of positives, so that only values of one
    data set compare. Samples of one score pass a threshold together. Undefined without positives. Takes what
    `area_under_roc` takes.

    Notes
    -----
    The same as `average_precision` of scikit-learn and TorchMetrics, which say 0 where there are no positives.

    References
    ----------
    Davis and Goadrich 2006, ICML; Saito and Rehmsmeier 2015, PLOS ONE 10(3).

    Examples
    --------
    >>> round(float(area_under_precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])), 4)
    0.8333
    """
    return _areas(average_precisions, reference, prediction, weights)


def delong_covariance(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> Floats:
    """Return DeLong's estimate of the variance of AUROC, or of the covariances of several on the same samples.

    Parameters
    ----------
    reference
        1 for positive samples, 0 for others, shape (samples,).
    prediction
        Scores, shape (samples,) for one variance, or (submissions, samples) for a matrix of covariances.

    Returns
    -------
    ndarray
        Undefined for fewer than two samples of either class.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson 1988, Biometrics 44(3); by midranks: Sun and Xu 2014, IEEE SPL 21(11).

    Examples
    --------
    >>> float(delong_covariance([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]))
    0.03125
    """
    truth, scores, _ = as_scores(reference, prediction, None)
    if truth.ndim != 1 or scores.ndim > 2:
        raise InputError(f"one reference and one or several rows of scores are expected, not {scores.shape}")
    rows = np.atleast_2d(scores)
    positives, negatives = rows[:, truth == 1], rows[:, truth == 0]
    m, n = positives.shape[1], negatives.shape[1]
    if min(m, n) < 2:
        covariance = np.full((len(rows), len(rows)), UNDEFINED)
    else:
        ranks = rankdata(np.concatenate([positives, negatives], axis=1), axis=1)
        of_positives = (ranks[:, :m] - rankdata(positives, axis=1)) / n
        of_negatives = 1 - (ranks[:, m:] - rankdata(negatives, axis=1)) / m
        covariance = np.atleast_2d(np.cov(of_positives) / m + np.cov(of_negatives) / n)
    return covariance if scores.ndim == 2 else covariance[0, 0]


@declare(
    title="Brier score",
    **LOSS,
    also_called=("brier",),
    formula="Σ (p_i − y_i)² / n",
    same_as={"scikit-learn": "brier_score_loss"},
)
def brier_score(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None) -> Floats:
    """Return the mean of (probability − truth)²; 0 is best, 0.25 what a probability of one half always reaches.

    References
    ----------
    Brier 1950, Monthly Weather Review 78(1).

    Examples
    --------
    >>> float(brier_score([0, 1], [0.5, 1.0]))
    0.125
    """
    truth, chances, weight = as_probabilities(reference, prediction, weights)
    return weighted_mean(np.square(chances - truth), weight)


@declare(
    title="Log loss",
    **(LOSS | {"maximum": np.inf}),
    also_called=("cross_entropy", "nll"),
    formula="−Σ ln(probability given to what is true) / n",
    same_as={"scikit-learn": "log_loss, unless something true had the probability 0"},
)
def log_loss(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    floor: float = 0.0,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the mean of −ln(probability given to what is true), in nats; 0 is best.

    What happened though it was called impossible costs infinitely much. `floor` raises the probability of what is true
    to at least that, where a challenge says so; scikit-learn does it unasked, with the precision of the numbers' type
    (2.2 · 10⁻¹⁶), so that a certain error costs 36.04.

    Examples
    --------
    >>> round(float(log_loss([1, 0], [0.5, 0.0])), 4)
    0.3466
    >>> float(log_loss([1, 0], [0.0, 0.0]))
    inf
    """
    truth, chances, weight = as_probabilities(reference, prediction, weights)
    return mean_surprise(np.where(truth == 1, chances, 1 - chances), weight, floor)


def mean_surprise(given: Floats, weight: Floats, floor: float) -> Floats:
    """Return the mean of −ln of the probability given to what is true; a weight of 0 makes nothing of infinity."""
    if not 0 <= floor < 1:
        raise InputError(f"a floor is a probability below 1, not {floor}")
    raised = np.maximum(given, floor)
    mean = weighted_mean(-np.log(np.where(raised > 0, raised, 1.0)) + 0.0, weight)
    impossible = ((raised == 0) & (weight > 0)).any(axis=-1)
    return np.where(impossible, np.inf, mean)[()]


@declare(
    title="Net benefit",
    **(_SCORE | {"minimum": -np.inf, "perfect": None}),
    empty={"no samples": UNDEFINED},
    formula="TP/n − FP/n · t / (1 − t)",
    same_as={},
)
def net_benefit(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    threshold: float = 0.5,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return TP/n − FP/n · t / (1 − t), where who has a probability of at least t is treated.

    How many true positives a patient is worth, false ones priced by what the threshold says of their harm. The best
    value is the prevalence; treating nobody gives 0; less than 0 does harm.

    References
    ----------
    Vickers and Elkin 2006, Medical Decision Making 26(6).

    Examples
    --------
    >>> float(net_benefit([1, 1, 0, 0], [0.9, 0.3, 0.6, 0.1], threshold=0.2))
    0.4375
    """
    truth, chances, weight = as_probabilities(reference, prediction, weights)
    if not 0 <= threshold < 1:
        raise InputError(f"a threshold of treatment is a probability below 1, not {threshold}")
    worth = np.where(truth == 1, 1.0, -threshold / (1 - threshold))
    return weighted_mean(np.where(chances >= threshold, worth, 0.0), weight)


def one_against_rest(reference: npt.ArrayLike, probabilities: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return, for each class, which samples are of it and their scores for it, both of shape (classes, samples).

    Every metric of two classes then gives one value for each class; `mean_over_defined` makes the macro average of
    them. Sets of weights must then have the shape (sets, 1, samples).

    Parameters
    ----------
    reference
        The class of each sample, from 0, shape (samples,).
    probabilities
        A score for every class, shape (samples, classes).

    Examples
    --------
    >>> area_under_roc(*one_against_rest([0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3]]))
    array([1.  , 0.5 , 0.75])
    """
    truth, scores = as_numbers(reference), as_numbers(probabilities)
    if truth.ndim != 1 or scores.ndim != 2 or len(truth) != len(scores):
        advice = "Call .ravel() on a column of classes" if truth.ndim == 2 and truth.shape[1] == 1 else None
        raise InputError(
            f"a class per sample and a score for every class are expected, not {truth.shape} and {scores.shape}",
            advice=advice,
        )
    known = np.arange(scores.shape[1])
    if not np.isin(truth, known).all():
        raise InputError(f"classes are numbers from 0 to {scores.shape[1] - 1}, one for each column of scores")
    if not np.isfinite(scores).all():
        raise InputError("a score is not a finite number: a missing value is a failure, to be priced before this")
    return truth == known[:, None], scores.T
