"""How often predicted classes are the true ones.

Everything follows from counts per class. The functions of counts take any leading axes, so that weighted counts, one
set for each bootstrap replicate, are the same call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics._counts import counting
from podium.metrics._quotients import quotient
from podium.metrics._rows import (
    as_classes,
    as_confusion,
    as_numbers,
    as_weights,
    check_rows,
    check_sets,
    weighted_mean,
)
from podium.metrics.decisions import BinaryCounts, f_beta, true_positive_rate
from podium.metrics.registry import A_SHARE, declare
from podium.model import UNDEFINED, Direction, InputError
from podium.model.option_checks import check_option

__all__ = [
    "ClassCounts",
    "accuracy",
    "balanced_accuracy",
    "cohen_kappa",
    "confusion_matrix",
    "error_rate",
    "f1_scores",
    "kappas",
    "macro_f1",
    "matthews_correlation",
    "matthews_correlations",
    "mean_over_defined",
    "weighted_f1",
]

Disagreement: TypeAlias = Literal["any", "linear", "quadratic"]
Floats = npt.NDArray[np.float64]


@counting
class ClassCounts(NamedTuple):
    """Per class (last axis): how often it was rightly predicted, wrongly predicted, and not predicted though true."""

    true_positives: Floats
    false_positives: Floats
    false_negatives: Floats

    @classmethod
    def of(cls, confusion: npt.ArrayLike) -> ClassCounts:
        """Take the counts from a confusion matrix, or a stack of them."""
        matrix = as_confusion(confusion)
        right = np.diagonal(matrix, axis1=-2, axis2=-1)
        return cls(right, matrix.sum(axis=-2) - right, matrix.sum(axis=-1) - right)


def confusion_matrix(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    weights: npt.ArrayLike | None = None,
) -> npt.NDArray[Any]:
    """Count how often each true class (row) was given each predicted class (column).

    Parameters
    ----------
    reference, prediction
        One class per sample: numbers or names, shape (…, samples); axes before the last make a stack of matrices.
    classes
        The classes in the order of rows; by default those that occur, sorted.
    weights
        How often each sample counts, shape (…, samples): the result is a stack of matrices, of floating point.

    Examples
    --------
    >>> confusion_matrix(["a", "a", "b"], ["a", "b", "b"])
    array([[1, 1],
           [0, 1]])
    """
    one, two, weight = _as_class_samples(reference, prediction, weights)
    known = np.unique(np.append(one, two)) if classes is None else as_classes(classes)
    if known.ndim != 1 or (one.size and _named(known) != _named(one)):
        raise InputError(f"classes are a list of what the samples may be, not {classes!r:.60}")
    if known.size != np.unique(known).size:
        raise InputError(f"a class is listed twice in {', '.join(map(str, known))}")
    strangers = np.setdiff1d(np.append(one, two), known)
    if strangers.size:
        raise InputError(f"{strangers[0]!r} is not one of the classes {', '.join(map(str, known))}")
    order = np.argsort(known)
    rows, columns = (order[np.searchsorted(known, values, sorter=order)] for values in (one, two))
    cell = rows * known.size + columns
    lead = np.broadcast_shapes(cell.shape[:-1], weight.shape[:-1])
    if cell.ndim == 1 and weights is not None:
        sums = np.zeros((*lead, known.size**2))
        order = np.argsort(cell, kind="stable")
        used, starts = np.unique(cell[order], return_index=True)
        if used.size:
            sums[..., used] = np.add.reduceat(weight[..., order], starts, axis=-1)
    else:
        sets = np.arange(math.prod(lead)).reshape(*lead, 1)
        place = (sets * known.size**2 + cell).reshape(-1)
        factor = None if weights is None else np.broadcast_to(weight, (*lead, weight.shape[-1])).reshape(-1)
        sums = np.bincount(place, factor, minlength=sets.size * known.size**2)
    return sums.reshape(*lead, known.size, known.size).astype(np.int64 if weights is None else np.float64)


def _as_class_samples(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Floats]:
    """Return classes of samples along the last axis, and their weights."""
    one, two = as_classes(reference), as_classes(prediction)
    check_rows(one, two)
    if one.size and two.size and _named(one) != _named(two):
        raise InputError("classes must be names on both sides, or numbers on both sides")
    weight = as_weights(weights, one.shape[-1])
    check_sets(one.shape, two.shape, weight.shape)
    return one, two, weight


def _named(classes: npt.NDArray[Any]) -> str:
    """Return the kind of names that classes have: of characters, of bytes, or none."""
    return classes.dtype.kind if classes.dtype.kind in "US" else ""


def f1_scores(counts: ClassCounts) -> Floats:
    """Return F1 = 2·TP / (2·TP + FP + FN) of each class; undefined for a class neither true nor predicted anywhere.

    Examples
    --------
    >>> f1_scores(ClassCounts.of([[8, 2], [1, 9]])).round(4)
    array([0.8421, 0.8571])
    """
    if not isinstance(counts, ClassCounts | BinaryCounts):
        raise InputError(
            f"F1 is of counts, not of {type(counts).__name__}",
            advice="Call f1_scores(ClassCounts.of(confusion_matrix(reference, prediction)))",
        )
    twice = 2 * np.asarray(counts.true_positives, np.float64)
    return quotient(twice, twice + counts.false_positives + counts.false_negatives)


def mean_over_defined(values: npt.ArrayLike, weights: npt.ArrayLike = 1.0) -> Floats:
    """Return the mean along the last axis over what is defined; undefined where nothing is.

    Weights, such as how many samples each class has, make it a weighted mean.
    """
    numbers, given = as_numbers(values), as_numbers(weights)
    if not ((given >= 0) & (given < np.inf)).all():
        raise InputError("weights must be finite numbers from 0")
    defined = ~np.isnan(numbers)
    weight = np.where(defined, given, 0.0)
    return quotient((np.where(defined, numbers, 0) * weight).sum(axis=-1), weight.sum(axis=-1))


def matthews_correlations(confusion: npt.ArrayLike) -> Floats:
    """Return Matthews' correlation of confusion matrices (last two axes), of two or more classes.

    (c·s − Σ pₖ·tₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²)) with c of s samples right, tₖ of class k and pₖ called so. Undefined
    where all samples are of one class, or are called one.
    """
    matrix = as_confusion(confusion)
    true, called, total = matrix.sum(axis=-1), matrix.sum(axis=-2), matrix.sum(axis=(-2, -1))
    right = np.trace(matrix, axis1=-2, axis2=-1)
    spread = [total**2 - np.square(side).sum(axis=-1) for side in (called, true)]
    correlation = quotient(right * total - (true * called).sum(axis=-1), np.sqrt(spread[0]) * np.sqrt(spread[1]))
    return np.clip(correlation, -1, 1)


def kappas(confusion: npt.ArrayLike, *, disagreement: Disagreement = "any") -> Floats:
    """Return Cohen's κ of confusion matrices (last two axes): 1 − disagreement / disagreement expected by chance.

    Undefined where chance alone would never disagree: both sides give one and the same class always.

    Parameters
    ----------
    confusion
        Counts, shape (…, classes, classes), classes in their order.
    disagreement
        What a confusion of class i with class j weighs: `any` 1; `linear` |i − j|; `quadratic` (i − j)².
    """
    check_option("disagreement", Disagreement, disagreement)
    matrix = as_confusion(confusion)
    steps = np.abs(np.subtract.outer(range(matrix.shape[-1]), range(matrix.shape[-1]))).astype(np.float64)
    cost = {"any": np.minimum(steps, 1), "linear": steps, "quadratic": steps**2}[disagreement]
    true, called, total = matrix.sum(axis=-1), matrix.sum(axis=-2), matrix.sum(axis=(-2, -1))
    expected = (true[..., :, None] * called[..., None, :] * cost).sum(axis=(-2, -1))
    return 1 - quotient((matrix * cost).sum(axis=(-2, -1)) * total, expected)


_SHARE: dict[str, Any] = {
    "family": "classification",
    **A_SHARE,
    "symmetric": True,
    "empty": {"no samples": UNDEFINED},
}
_CORRELATION: dict[str, Any] = _SHARE | {
    "family": "class agreement",
    "minimum": -1.0,
    "empty": {"no samples": UNDEFINED, "one class": UNDEFINED},
}


@declare(
    title="Accuracy",
    **_SHARE,
    also_called=("acc",),
    formula="|{i: P_i = R_i}| / n",
    same_as={"scikit-learn": "accuracy_score", "TorchMetrics": "accuracy with task='multiclass', average='micro'"},
)
def accuracy(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None) -> Floats:
    """Return the share of samples with the right class; it is also F1 averaged `micro`, one class per sample."""
    return _share_of(np.equal, reference, prediction, weights)


@declare(
    title="Error rate",
    **(_SHARE | {"direction": Direction.LOWER, "perfect": 0.0}),
    formula="|{i: P_i ≠ R_i}| / n",
    same_as={"scikit-learn": "zero_one_loss"},
)
def error_rate(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, weights: npt.ArrayLike | None = None) -> Floats:
    """Return the share of samples with the wrong class.

    Examples
    --------
    >>> float(error_rate([0, 1, 1, 0], [0, 1, 0, 0]))
    0.25
    """
    return _share_of(np.not_equal, reference, prediction, weights)


def _share_of(
    relation: Callable[..., Any], reference: npt.ArrayLike, prediction: npt.ArrayLike, weights: npt.ArrayLike | None
) -> Floats:
    one, two, weight = _as_class_samples(reference, prediction, weights)
    return weighted_mean(relation(one, two).astype(np.float64), weight)


@declare(
    title="Macro F1",
    **_SHARE,
    also_called=("f1", "f1_score", "f1_macro"),
    formula="mean over classes of 2·TP / (2·TP + FP + FN)",
    same_as={"scikit-learn": "f1_score with average='macro', where every class listed occurs"},
)
def macro_f1(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the mean of the classes' F1; a class in neither reference nor prediction is left out of the mean.

    scikit-learn counts such a class as 0 if it is listed.
    """
    matrix = confusion_matrix(reference, prediction, classes=classes, weights=weights)
    return mean_over_defined(f1_scores(ClassCounts.of(matrix)))


@declare(
    title="Weighted F1",
    **(_SHARE | {"symmetric": False}),
    also_called=("f1_weighted",),
    formula="Σ n_k · F1_k / n, n_k samples of class k",
    same_as={"scikit-learn": "f1_score with average='weighted'"},
)
def weighted_f1(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the mean of the classes' F1, each as often as it is true in the reference."""
    counts = BinaryCounts.of(confusion_matrix(reference, prediction, classes=classes, weights=weights))
    return mean_over_defined(f_beta(counts), counts.support)


@declare(
    title="Balanced accuracy",
    **(_SHARE | {"symmetric": False}),
    also_called=("bacc",),
    formula="mean over classes of TP / (TP + FN)",
    same_as={"scikit-learn": "balanced_accuracy_score"},
)
def balanced_accuracy(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return the mean over the classes that occur in the reference of the share rightly predicted."""
    counts = BinaryCounts.of(confusion_matrix(reference, prediction, classes=classes, weights=weights))
    return mean_over_defined(true_positive_rate(counts))


@declare(
    title="Matthews correlation",
    **_CORRELATION,
    also_called=("mcc",),
    formula="(c·n − Σ p_k·t_k) / √((n² − Σ p_k²)(n² − Σ t_k²)), c right, t_k of class k, p_k called so",
    same_as={
        "scikit-learn": "matthews_corrcoef, unless one side has one class only",
        "TorchMetrics": "matthews_corrcoef with task='multiclass', unless one side has one class only",
    },
)
def matthews_correlation(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return Matthews' correlation coefficient (MCC) of two or more classes, from −1 to 1; 0 is chance.

    Undefined where all samples are of one class, or are called one: scikit-learn and TorchMetrics then say 0 or 1.

    References
    ----------
    Matthews 1975, Biochimica et Biophysica Acta 405(2); Gorodkin 2004, Computational Biology and Chemistry 28(5).

    Examples
    --------
    >>> round(float(matthews_correlation([1, 1, 1, 0, 0], [1, 1, 0, 1, 0])), 4)
    0.1667
    """
    return matthews_correlations(confusion_matrix(reference, prediction, classes=classes, weights=weights))


@declare(
    title="Cohen's κ",
    **_CORRELATION,
    also_called=("kappa", "weighted_kappa", "qwk"),
    formula="1 − Σ w_ij·o_ij / Σ w_ij·e_ij, o observed, e expected by chance, w the disagreement",
    same_as={"scikit-learn": "cohen_kappa_score with weights=None, 'linear' or 'quadratic'"},
)
def cohen_kappa(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    disagreement: Disagreement = "any",
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return Cohen's κ: agreement beyond chance, from −1 to 1; weighted κ for grades in an order.

    Parameters
    ----------
    reference, prediction
        One class per sample: numbers or names.
    classes
        The classes in their order; by default those that occur, sorted. A weighted κ depends on it: list all grades
        where one may not occur, or where they are names.
    disagreement
        What a confusion of class i with class j weighs: `any` 1; `linear` |i − j|; `quadratic` (i − j)².
    weights
        How often each sample counts, shape (…, samples).

    Notes
    -----
    Undefined where both sides give one and the same class always. scikit-learn's weights=None, "linear", "quadratic".

    References
    ----------
    Cohen 1960, Educational and Psychological Measurement 20(1); Cohen 1968, Psychological Bulletin 70(4).

    Examples
    --------
    >>> round(float(cohen_kappa([0, 0, 1, 2], [0, 1, 1, 2], disagreement="linear")), 4)
    0.7143
    """
    if disagreement != "any" and classes is None and any(_named(as_classes(side)) for side in (reference, prediction)):
        raise InputError(
            f"a {disagreement} disagreement needs the order of the classes, which names do not tell",
            advice="Give classes=, from the lowest grade to the highest",
        )
    matrix = confusion_matrix(reference, prediction, classes=classes, weights=weights)
    return kappas(matrix, disagreement=disagreement)
