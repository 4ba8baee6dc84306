"""How often predicted classes are the true ones.

Everything follows from counts per class. The functions of counts take any leading axes, so that weighted counts, one
set for each bootstrap replicate, are the same call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from podium.metrics._quotients import quotient
from podium.metrics.registry import declare
from podium.model import UNDEFINED, Direction, InputError

__all__ = [
    "ClassCounts",
    "balanced_accuracy",
    "confusion_matrix",
    "error_rate",
    "f1_scores",
    "macro_f1",
    "mean_over_defined",
]

Floats = npt.NDArray[np.float64]


class ClassCounts(NamedTuple):
    """Per class (last axis): how often it was rightly predicted, wrongly predicted, and not predicted though true."""

    true_positives: Floats
    false_positives: Floats
    false_negatives: Floats

    @classmethod
    def of(cls, confusion: npt.ArrayLike) -> ClassCounts:
        """Take the counts from a confusion matrix, or a stack of them."""
        matrix = np.asarray(confusion, np.float64)
        right = np.diagonal(matrix, axis1=-2, axis2=-1)
        return cls(right, matrix.sum(axis=-2) - right, matrix.sum(axis=-1) - right)


def confusion_matrix(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, classes: Sequence[Any] | None = None
) -> npt.NDArray[np.int64]:
    """Count how often each true class (row) was given each predicted class (column).

    Parameters
    ----------
    reference, prediction
        One class per sample: numbers or names.
    classes
        The classes in the order of rows; by default those that occur, sorted.

    Examples
    --------
    >>> confusion_matrix(["a", "a", "b"], ["a", "b", "b"])
    array([[1, 1],
           [0, 1]])
    """
    one, two = np.asarray(reference).reshape(-1), np.asarray(prediction).reshape(-1)
    _check(one, two)
    known = np.unique(np.concatenate([one, two])) if classes is None else np.asarray(classes)
    if known.size != np.unique(known).size:
        raise InputError(f"a class is listed twice in {', '.join(map(str, known))}")
    strangers = np.setdiff1d(np.concatenate([one, two]), known)
    if strangers.size:
        raise InputError(f"{strangers[0]!r} is not one of the classes {', '.join(map(str, known))}")
    order = np.argsort(known)
    rows, columns = (order[np.searchsorted(known, values, sorter=order)] for values in (one, two))
    counts = np.bincount(rows * known.size + columns, minlength=known.size**2)
    return counts.reshape(known.size, known.size).astype(np.int64)


def _check(reference: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> None:
    if reference.shape != prediction.shape:
        raise InputError(f"there are {reference.size} true and {prediction.size} predicted classes")
    if reference.size and (reference.dtype.kind in "US") != (prediction.dtype.kind in "US"):
        raise InputError("classes must be names on both sides, or numbers on both sides")


def f1_scores(counts: ClassCounts) -> Floats:
    """Return F1 = 2·TP / (2·TP + FP + FN) of each class; undefined for a class neither true nor predicted anywhere.

    Examples
    --------
    >>> f1_scores(ClassCounts.of([[8, 2], [1, 9]])).round(4)
    array([0.8421, 0.8571])
    """
    twice = 2 * np.asarray(counts.true_positives, np.float64)
    return quotient(twice, twice + counts.false_positives + counts.false_negatives)


def mean_over_defined(values: npt.ArrayLike) -> Floats:
    """Return the mean along the last axis over what is defined; undefined where nothing is."""
    numbers = np.asarray(values, np.float64)
    defined = ~np.isnan(numbers)
    return quotient(np.where(defined, numbers, 0).sum(axis=-1), defined.sum(axis=-1))


_SHARE: dict[str, Any] = {"family": "classification", "unit": "", "minimum": 0.0, "maximum": 1.0}


@declare(
    title="Macro F1",
    **_SHARE,
    direction=Direction.HIGHER,
    perfect=1.0,
    symmetric=True,
    empty={"no samples": UNDEFINED},
)
def macro_f1(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, classes: Sequence[Any] | None = None) -> float:
    """Return the mean of the classes' F1; a class in neither reference nor prediction is left out of the mean.

    scikit-learn counts such a class as 0 if it is listed.
    """
    return float(mean_over_defined(f1_scores(ClassCounts.of(confusion_matrix(reference, prediction, classes=classes)))))


@declare(
    title="Balanced accuracy",
    **_SHARE,
    direction=Direction.HIGHER,
    perfect=1.0,
    symmetric=False,
    empty={"no samples": UNDEFINED},
)
def balanced_accuracy(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, classes: Sequence[Any] | None = None
) -> float:
    """Return the mean over the classes that occur in the reference of the share rightly predicted."""
    counts = ClassCounts.of(confusion_matrix(reference, prediction, classes=classes))
    recall = quotient(counts.true_positives, counts.true_positives + counts.false_negatives)
    return float(mean_over_defined(recall))


@declare(
    title="Error rate",
    **_SHARE,
    direction=Direction.LOWER,
    perfect=0.0,
    symmetric=True,
    empty={"no samples": UNDEFINED},
)
def error_rate(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> float:
    """Return the share of samples with the wrong class.

    Examples
    --------
    >>> error_rate([0, 1, 1, 0], [0, 1, 0, 0])
    0.25
    """
    one, two = np.asarray(reference).reshape(-1), np.asarray(prediction).reshape(-1)
    _check(one, two)
    return float(np.mean(one != two)) if one.size else error_rate.empty["no samples"]
