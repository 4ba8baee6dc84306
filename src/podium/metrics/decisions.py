"""How good yes-or-no decisions are: everything from four counts.

The counts keep any leading axes: one against the rest for each class, one set for each bootstrap replicate. A metric of
counts is then one value for each; `mean_over_defined` makes the macro average over classes, with `counts.support` the
weighted one, and `counts.pooled()` the micro average.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec

import numpy as np
import numpy.typing as npt

from podium.metrics._counts import counting
from podium.metrics._quotients import quotient
from podium.metrics._rows import as_confusion, as_samples, check_yes_or_no
from podium.metrics.registry import A_SHARE, declare
from podium.model import UNDEFINED, Direction, InputError, Metric

__all__ = [
    "BinaryCounts",
    "f_beta",
    "false_positive_rate",
    "negative_likelihood_ratio",
    "negative_predictive_value",
    "positive_likelihood_ratio",
    "positive_predictive_value",
    "specificity",
    "true_positive_rate",
    "youden_index",
]

P = ParamSpec("P")
Floats = npt.NDArray[np.float64]


@counting
class BinaryCounts(NamedTuple):
    """How many samples were rightly and wrongly called positive, and wrongly and rightly negative."""

    true_positives: Floats
    false_positives: Floats
    false_negatives: Floats
    true_negatives: Floats

    @classmethod
    def between(
        cls, reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
    ) -> BinaryCounts:
        """Count samples along the last axis: 1 is positive, 0 is not; axes before it are kept.

        Examples
        --------
        >>> counts = BinaryCounts.between([1, 1, 1, 0, 0], [1, 1, 0, 1, 0])
        >>> round(float(youden_index(counts)), 4)
        0.1667
        """
        truth, call, weight = as_samples(reference, prediction, weights)
        for side, values in (("reference", truth), ("prediction", call)):
            check_yes_or_no(values, side, advice="Compare scores with a threshold first, such as scores >= 0.5")
        return cls(*((weight * said).sum(axis=-1) for said in _outcomes(truth, call)))

    @classmethod
    def of(cls, confusion: npt.ArrayLike) -> BinaryCounts:
        """Take each class against the rest (last axis) from a confusion matrix, or a stack of them."""
        matrix = as_confusion(confusion)
        right = np.diagonal(matrix, axis1=-2, axis2=-1)
        wrongly_called, missed = matrix.sum(axis=-2) - right, matrix.sum(axis=-1) - right
        return cls(
            right, wrongly_called, missed, matrix.sum(axis=(-2, -1))[..., None] - right - wrongly_called - missed
        )

    def pooled(self) -> BinaryCounts:
        """Add the counts of all classes (last axis), for micro averages."""
        return BinaryCounts(*(count.sum(axis=-1) for count in self))

    @property
    def support(self) -> Floats:
        """How many samples are positive in the reference."""
        return self.true_positives + self.false_negatives


def _outcomes(truth: Floats, call: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    return truth * call, (1 - truth) * call, truth * (1 - call), (1 - truth) * (1 - call)


def _share(title: str, *undefined: str, **changes: Any) -> Callable[[Callable[P, Floats]], Metric[P, Floats]]:
    """Declare a share of counts: from 0 to 1, higher is better, undefined in the cases named."""
    words: dict[str, Any] = {
        "family": "decisions",
        **A_SHARE,
        "symmetric": False,
        "empty": dict.fromkeys(("no samples", *undefined), UNDEFINED),
    }
    return declare(title=title, **(words | changes))


@_share(
    "Sensitivity of decisions",
    "no positives",
    "nothing positive on either side",
    also_called=("tpr", "recall"),
    formula="TP / (TP + FN)",
    same_as={"scikit-learn": "recall_score, unless there are no positives"},
)
def true_positive_rate(counts: BinaryCounts) -> Floats:
    """Return TP / (TP + FN): sensitivity, recall; undefined without positives."""
    return quotient(counts.true_positives, counts.support)


@_share(
    "Specificity",
    "no negatives",
    also_called=("tnr", "true_negative_rate"),
    formula="TN / (TN + FP)",
    same_as={"scikit-learn": "recall_score with pos_label=0, unless there are no negatives"},
)
def specificity(counts: BinaryCounts) -> Floats:
    """Return TN / (TN + FP): the true negative rate; undefined without negatives."""
    return quotient(counts.true_negatives, counts.true_negatives + counts.false_positives)


@_share(
    "False positive rate",
    "no negatives",
    direction=Direction.LOWER,
    perfect=0.0,
    also_called=("fpr",),
    formula="FP / (FP + TN)",
    same_as={"scikit-learn": "1 − recall_score with pos_label=0, unless there are no negatives"},
)
def false_positive_rate(counts: BinaryCounts) -> Floats:
    """Return FP / (FP + TN) = 1 − specificity; 0 is best; undefined without negatives."""
    return quotient(counts.false_positives, counts.true_negatives + counts.false_positives)


@_share(
    "Positive predictive value",
    "none called positive",
    "nothing positive on either side",
    also_called=("ppv",),
    formula="TP / (TP + FP)",
    same_as={"scikit-learn": "precision_score, unless nothing is called positive"},
)
def positive_predictive_value(counts: BinaryCounts) -> Floats:
    """Return TP / (TP + FP) (PPV): precision; undefined where nothing is called positive."""
    return quotient(counts.true_positives, counts.true_positives + counts.false_positives)


@_share(
    "Negative predictive value",
    "none called negative",
    also_called=("npv",),
    formula="TN / (TN + FN)",
    same_as={"scikit-learn": "precision_score with pos_label=0, unless nothing is called negative"},
)
def negative_predictive_value(counts: BinaryCounts) -> Floats:
    """Return TN / (TN + FN) (NPV); undefined where nothing is called negative.

    Like the positive predictive value it depends on how many samples are positive, so that it holds for this
    prevalence only.
    """
    return quotient(counts.true_negatives, counts.true_negatives + counts.false_negatives)


@_share(
    "Fβ",
    "nothing positive on either side",
    symmetric=True,
    also_called=("f1", "f1_score", "f2"),
    formula="(1 + β²)·TP / ((1 + β²)·TP + β²·FN + FP)",
    same_as={"scikit-learn": "fbeta_score, unless nothing is positive on either side"},
)
def f_beta(counts: BinaryCounts, *, beta: float = 1.0) -> Floats:
    """Return (1 + β²)·TP / ((1 + β²)·TP + β²·FN + FP): sensitivity counts β times as much as precision.

    With β = 1, the default, it is F1 and does not care which side is the reference. Undefined where nothing is
    positive on either side; 0 where something is on one side only.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval.

    Examples
    --------
    >>> round(float(f_beta(BinaryCounts.between([1, 1, 0, 0], [1, 0, 0, 0]), beta=2)), 4)
    0.5556
    """
    if not 0 < beta < np.inf:
        raise InputError(f"β is a positive number, not {beta}")
    hits = (1 + beta**2) * counts.true_positives
    return quotient(hits, hits + beta**2 * counts.false_negatives + counts.false_positives)


@_share(
    "Youden's index",
    "no positives",
    "no negatives",
    "nothing positive on either side",
    minimum=-1.0,
    also_called=("youden", "informedness"),
    formula="TP / (TP + FN) + TN / (TN + FP) − 1",
    same_as={"scikit-learn": "balanced_accuracy_score with adjusted=True, unless a class is missing"},
)
def youden_index(counts: BinaryCounts) -> Floats:
    """Return sensitivity + specificity − 1 (J, informedness); 0 for calls that know nothing.

    References
    ----------
    Youden 1950, Cancer 3(1).
    """
    return true_positive_rate(counts) + specificity(counts) - 1


@_share(
    "Positive likelihood ratio",
    "no positives",
    "no negatives",
    "none called positive",
    "nothing positive on either side",
    maximum=np.inf,
    perfect=np.inf,
    formula="sensitivity / (1 − specificity)",
    same_as={"scikit-learn": "class_likelihood_ratios, unless it is infinite"},
)
def positive_likelihood_ratio(counts: BinaryCounts) -> Floats:
    """Return sensitivity / (1 − specificity): by how much a positive call raises the odds.

    1 for calls that know nothing; infinite where no negative is called positive; undefined where nothing is called
    positive at all, or a class is missing.
    """
    return _ratio(true_positive_rate(counts), false_positive_rate(counts))


@_share(
    "Negative likelihood ratio",
    "no positives",
    "no negatives",
    "none called negative",
    "nothing positive on either side",
    maximum=np.inf,
    direction=Direction.LOWER,
    perfect=0.0,
    formula="(1 − sensitivity) / specificity",
    same_as={"scikit-learn": "class_likelihood_ratios, unless it is infinite"},
)
def negative_likelihood_ratio(counts: BinaryCounts) -> Floats:
    """Return (1 − sensitivity) / specificity: by how much a negative call lowers the odds; 0 is best.

    1 for calls that know nothing; infinite where every negative call is wrong; undefined where nothing is called
    negative at all, or a class is missing.
    """
    return _ratio(quotient(counts.false_negatives, counts.support), specificity(counts))


def _ratio(over: Floats, under: Floats) -> Floats:
    """Return over / under; infinite where only the lower one is 0."""
    return np.where((under == 0) & (over > 0), np.inf, quotient(over, under))[()]
