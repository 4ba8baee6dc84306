"""How good the probabilities of several classes are.

The reference is the class of each sample, from 0; the prediction has a probability for every class, shape
(samples, classes). Weights of shape (…, samples) are sets of weights, one for each bootstrap replicate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.metrics._rows import as_weights, weighted_mean
from podium.metrics.classification import mean_over_defined
from podium.metrics.probabilities import (
    area_under_precision_recall,
    area_under_roc,
    mean_surprise,
    one_against_rest,
)
from podium.metrics.registry import A_SHARE, declare
from podium.metrics.reliability import calibration_gaps
from podium.model import UNDEFINED, Direction, InputError

__all__ = [
    "macro_area_under_precision_recall",
    "macro_area_under_roc",
    "multiclass_brier_score",
    "multiclass_log_loss",
    "top_k_accuracy",
    "top_label_calibration_error",
]

Floats = npt.NDArray[np.float64]

_SCORE: dict[str, Any] = {
    "family": "class probabilities",
    **A_SHARE,
    "symmetric": False,
    "empty": {"no samples": UNDEFINED},
}
_LOSS: dict[str, Any] = _SCORE | {"direction": Direction.LOWER, "perfect": 0.0}


def _as_rows(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
    """Return one row per class of truth and scores, and the weights of the samples."""
    truth, scores = one_against_rest(reference, prediction)
    return truth, scores, as_weights(weights, truth.shape[1])


def _checked(chances: Floats) -> Floats:
    if not ((chances >= 0) & (chances <= 1)).all() or (np.abs(chances.sum(axis=0) - 1) > 1e-6).any():
        raise InputError("the probabilities of a sample must be between 0 and 1 and add up to 1")
    return chances


@declare(
    title="Macro AUROC",
    **_SCORE,
    also_called=("macro_auc", "macro_auroc"),
    formula="mean over classes of AUROC against the rest",
    same_as={"scikit-learn": "roc_auc_score with multi_class='ovr', where every class occurs"},
)
def macro_area_under_roc(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the mean over classes of AUROC of one class against the rest; classes without samples are left out.

    scikit-learn's `roc_auc_score(multi_class="ovr")`, which wants every class to occur.
    """
    truth, scores, weight = _as_rows(reference, prediction, weights)
    return mean_over_defined(area_under_roc(truth, scores, weights=weight[..., None, :]))


@declare(
    title="Macro AUPRC",
    **_SCORE,
    also_called=("macro_auprc",),
    formula="mean over classes of average precision against the rest",
    same_as={"scikit-learn": "average_precision_score of label_binarize, where every class occurs"},
)
def macro_area_under_precision_recall(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the mean over classes of average precision against the rest; classes without samples are left out."""
    truth, scores, weight = _as_rows(reference, prediction, weights)
    return mean_over_defined(area_under_precision_recall(truth, scores, weights=weight[..., None, :]))


@declare(
    title="Brier score of classes",
    **(_LOSS | {"maximum": 2.0}),
    formula="Σ_i Σ_k (p_ik − y_ik)² / n",
    same_as={"scikit-learn": "brier_score_loss with scale_by_half=False"},
)
def multiclass_brier_score(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the mean of Σ over classes of (probability − truth)², from 0 to 2.

    Brier's own definition: for two classes it is twice `brier_score`.
    """
    truth, chances, weight = _as_rows(reference, prediction, weights)
    return weighted_mean(np.square(_checked(chances) - truth).sum(axis=0), weight)


@declare(
    title="Log loss of classes",
    **(_LOSS | {"maximum": np.inf}),
    also_called=("cross_entropy", "nll"),
    formula="−Σ ln(p of the true class) / n",
    same_as={"scikit-learn": "log_loss, unless something true had the probability 0"},
)
def multiclass_log_loss(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    floor: float = 0.0,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the mean of −ln(probability of the true class), in nats: cross-entropy; see `log_loss` for `floor`."""
    truth, chances, weight = _as_rows(reference, prediction, weights)
    return mean_surprise(np.where(truth, _checked(chances), 0.0).sum(axis=0), weight, floor)


@declare(
    title="Top-k accuracy",
    **_SCORE,
    also_called=("top_1_accuracy", "top_5_accuracy"),
    formula="|{i: R_i among the k highest scores}| / n, ties by their chance",
    same_as={"scikit-learn": "top_k_accuracy_score, without ties"},
)
def top_k_accuracy(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, k: int = 1, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the share of samples whose class is among the k with the highest scores.

    Where several classes share the score of the k-th place, the true one counts with its chance to be among them, so
    that equal scores for all of K classes reach k / K. scikit-learn and TorchMetrics let the order of the classes
    decide, so that such a prediction may reach 0 or 1.

    Examples
    --------
    >>> scores = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2]]
    >>> top_k_accuracy([0, 2, 1], scores), top_k_accuracy([0, 2, 1], scores, k=2)
    (np.float64(0.5), np.float64(1.0))
    """
    truth, scores, weight = _as_rows(reference, prediction, weights)
    if not 1 <= k <= max(len(scores), 1):
        raise InputError(f"k is a whole number from 1 to the {len(scores)} classes, not {k}")
    own = np.where(truth, scores, 0.0).sum(axis=0)
    above, tied = (scores > own).sum(axis=0), (scores == own).sum(axis=0)
    return weighted_mean(np.clip((k - above) / np.maximum(tied, 1), 0.0, 1.0), weight)


@declare(
    title="Top-label calibration error",
    **_LOSS,
    also_called=("ece",),
    formula="Σ_b n_b/n · |mean highest probability − share right|",
    same_as={
        "TorchMetrics": "calibration_error with task='multiclass', norm='l1', unless one is 1, at an edge or ties"
    },
)
def top_label_calibration_error(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, bins: int = 15, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return the expected calibration error of the confidence in the most probable class.

    How often the class with the highest probability is the true one, beside that probability, in bins of equal width;
    classes that share the highest count with the chance of each. Biased upwards as `expected_calibration_error` is.

    References
    ----------
    Guo et al. 2017, ICML.
    """
    truth, chances, weight = _as_rows(reference, prediction, weights)
    confidence = _checked(chances).max(axis=0, initial=0.0)
    highest = chances == confidence
    right = (truth & highest).sum(axis=0) / np.maximum(highest.sum(axis=0), 1)
    return calibration_gaps(right, confidence, weight, bins)
