"""All metrics by name: declared beside their functions, found here."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from podium.model import Direction, InputError, Metric
from podium.model.errors import nearest

__all__ = ["AN_ERROR", "A_SHARE", "declare", "get_metric", "metrics", "nearest_metric"]

P = ParamSpec("P")
R = TypeVar("R")

A_SHARE: Mapping[str, Any] = MappingProxyType(
    {"unit": "", "minimum": 0.0, "maximum": 1.0, "direction": Direction.HIGHER, "perfect": 1.0}
)
"""What a share declares: a plain number from 0 to 1, which is best."""

AN_ERROR: Mapping[str, Any] = MappingProxyType(
    {"minimum": 0.0, "maximum": math.inf, "direction": Direction.LOWER, "perfect": 0.0}
)
"""What an error or a distance declares: 0 is best, and there is no worst."""

_REGISTRY: dict[str, Metric[..., Any]] = {}
_ALSO_CALLED: Mapping[str, str] = MappingProxyType(
    {
        "asd": "mean_average_surface_distance",
        "assd": "average_symmetric_surface_distance",
        "auc": "area_under_roc",
        "auprc": "area_under_precision_recall",
        "auroc": "area_under_roc",
        "ccc": "concordance_correlation",
        "cldice": "centreline_dice",
        "dsc": "dice",
        "ece": "expected_calibration_error",
        "f1": "dice",
        "froc": "froc_score",
        "hausdorff": "hausdorff_distance",
        "hd": "hausdorff_distance",
        "hd95": "hausdorff_distance_95",
        "icc": "intraclass_correlation",
        "iou": "intersection_over_union",
        "jaccard": "intersection_over_union",
        "kappa": "cohen_kappa",
        "mae": "mean_absolute_error",
        "map": "mean_average_precision",
        "masd": "mean_average_surface_distance",
        "mcc": "matthews_correlation",
        "npv": "negative_predictive_value",
        "nsd": "surface_dice",
        "ppv": "positive_predictive_value",
        "pq": "panoptic_quality",
        "psnr": "peak_signal_to_noise_ratio",
        "r2": "coefficient_of_determination",
        "recall": "sensitivity",
        "rmse": "root_mean_square_error",
        "ssim": "structural_similarity",
        "tpr": "true_positive_rate",
        "tre": "landmark_error",
    }
)
"""What others call them: not names, but what a person is advised by."""


def declare(
    *,
    title: str,
    family: str,
    unit: str,
    minimum: float,
    maximum: float,
    direction: Direction,
    perfect: float | None,
    symmetric: bool,
    empty: Mapping[str, float],
    formula: str,
    same_as: Mapping[str, str],
    check: Callable[..., None] | None = None,
    registry: dict[str, Metric[..., Any]] = _REGISTRY,
) -> Callable[[Callable[P, R]], Metric[P, R]]:
    """Declare the decorated function as a metric of the same name; see `podium.model.Metric` for the words."""

    def decorate(function: Callable[P, R]) -> Metric[P, R]:
        name = function.__name__
        if name in registry:
            raise ValueError(f"two metrics are called {name!r}: {registry[name].function.__module__} has one already")
        metric = Metric(
            function=function,
            name=name,
            title=title,
            family=family,
            unit=unit,
            minimum=minimum,
            maximum=maximum,
            direction=direction,
            perfect=perfect,
            symmetric=symmetric,
            empty=MappingProxyType(dict(empty)),
            formula=formula,
            same_as=MappingProxyType(dict(same_as)),
            check=check,
        )
        registry[name] = metric
        return metric

    return decorate


def metrics(*, family: str | None = None) -> list[Metric[..., Any]]:
    """Return all declared metrics, or those of one family, in the order of their declaration."""
    import podium.metrics  # noqa: F401  # declares every metric

    return [metric for metric in _REGISTRY.values() if family in (None, metric.family)]


def get_metric(name: str) -> Metric[..., Any]:
    """Return the metric of that name.

    Examples
    --------
    >>> get_metric("dice").direction.value
    'higher is better'
    """
    import podium.metrics  # noqa: F401  # declares every metric

    if name not in _REGISTRY:
        raise InputError(f"there is no metric called {name!r}", advice=nearest_metric(name, _REGISTRY))
    return _REGISTRY[name]


def nearest_metric(name: str, known: Collection[str]) -> str:
    """Advise on the name of a metric that does not exist: what is usually called so, the nearest, or where all are.

    Examples
    --------
    >>> nearest_metric("HD95", ["dice", "hausdorff_distance_95"]), nearest_metric("zzz", ["dice"])
    ("Did you mean 'hausdorff_distance_95'?", '`podium metrics` lists them')
    """
    usual = _ALSO_CALLED.get(re.sub(r"[^a-z0-9]", "", name.lower()))
    if usual in known:
        return f"Did you mean {usual!r}?"
    advice = nearest(name, known)
    return advice if advice.startswith("Did") else "`podium metrics` lists them"
