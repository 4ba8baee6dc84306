"""Classes of which exactly one is true: their tables, and what metrics of all classes together compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.io.tables import csv_columns, read_csv, read_words
from podium.metrics.registry import get_metric
from podium.model import Floats, InputError
from podium.model.errors import shortened

__all__ = ["CLASS", "MAY_IMPROVE", "is_joint", "joint_sides", "read_one_of"]

CLASS = "class"
"""The column that names one class, in place of a probability for each."""
MAY_IMPROVE = (
    "cohen_kappa",
    "expected_calibration_error",
    "macro_f1",
    "matthews_correlation",
    "top_k_accuracy",
    "top_label_calibration_error",
    "weighted_f1",
)
"""Metrics that a wrong case may improve, or that depend on which wrong class it is taken for."""

_JOINT = ("classification", "class agreement", "class probabilities")
_BY_CLASS = ("macro_area_under_roc", "macro_area_under_precision_recall")
_SLACK = 1e-6


def is_joint(metric: str) -> bool:
    """Return whether a metric is one of all classes together."""
    return get_metric(metric).family in _JOINT


def read_one_of(path: Path, classes: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the probability of each class in each row, from a column of names or from one for every class.

    A row in which a number is missing has none at all.

    Raises
    ------
    InputError
        A class is not known, or probabilities do not add up to 1.
    """
    if CLASS in csv_columns(path):
        words = read_words(path, CLASS)
        strange = [row for row, word in words.items() if word and word not in classes]
        if strange:
            known = ", ".join(classes)
            problem = f"there is no class {words[strange[0]]!r} ({shortened(strange)})"
            raise InputError(problem, path=path, advice=f"Classes are: {known}")
        return {name: {row: float(word == name) if word else np.nan for row, word in words.items()} for name in classes}
    table = read_csv(path, classes)
    chances = np.stack([table.columns[name] for name in classes], axis=1)
    chances[np.isnan(chances).any(axis=1)] = np.nan
    if odd := [row for row, total in zip(table.names, chances.sum(axis=1), strict=True) if abs(total - 1) > _SLACK]:
        raise InputError(f"the probabilities of {shortened(odd)} do not add up to 1", path=path)
    return {
        name: dict(zip(table.names, own.tolist(), strict=True)) for name, own in zip(classes, chances.T, strict=True)
    }


def joint_sides(
    metric: str, truth: Floats, chances: Floats, failed: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[Any], Floats]:
    """Return the true classes, and what a metric compares with them; what failed is as wrong as it can be.

    Parameters
    ----------
    metric
        Its name.
    truth, chances
        Of every class, 0 or 1 and its probability; shape (submissions, rows, classes).
    failed
        Which rows failed, shape (submissions, rows).

    Returns
    -------
    tuple
        Classes, shape (submissions, rows); and classes again, or probabilities of shape (submissions, rows, classes),
        NaN where there is none. Of equal probabilities the first class counts.
    """
    true = np.argmax(truth, axis=-1)
    known = np.isfinite(chances).all(axis=-1)
    if metric in _BY_CLASS:  # each against the rest: the true one is the least probable, all others the most
        return true, np.where((failed & known)[..., None], 1 - truth, chances)
    chances = np.where((failed & known)[..., None], np.roll(truth, 1, axis=-1), chances)
    if get_metric(metric).family == "class probabilities":
        return true, chances / chances.sum(axis=-1, keepdims=True)
    return true, np.where(known, np.argmax(np.nan_to_num(chances), axis=-1), np.nan)
