"""From weighted cases to the parts of CSV 2026's score that do not depend on who else competes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from podium.challenges.csv2026.files import CLASSES, VIEWS
from podium.metrics import ClassCounts, f1_scores
from podium.model import TOLERANCE_SCALES, Column, Cube, Direction, Floats, Measure
from podium.ranking import weighted_mean, weighted_sum

__all__ = ["COUNTS", "METRICS", "STRUCTURE_WEIGHTS", "class_f1", "segmentation_score"]

METRICS = {"dice": "DSC", "nsd": "NSD"}
COUNTS = ("true_positive", "false_positive", "false_negative")
STRUCTURE_WEIGHTS = {"plaque": 0.6, "vessel": 0.4}


def segmentation_score(
    cube: Cube, weights: Floats, *, emphasis: Callable[[str], float], tolerance_scale: float
) -> tuple[Floats, list[Column]]:
    """Return S_seg from 0 to 1, shape (sets, submissions), and the columns of views and structures that led to it.

    `emphasis` says by how much the weight of a metric, structure or view is changed.
    """
    views, structures, means = [], [], []
    of_structures = _shares({name: weight * emphasis(name) for name, weight in STRUCTURE_WEIGHTS.items()})
    of_metrics = _shares({metric: emphasis(metric) for metric in METRICS})
    of_views = _shares({view: emphasis(view) for view in VIEWS})
    measured = {"dice": "dice", "nsd": f"nsd{TOLERANCE_SCALES[tolerance_scale]}"}
    for view in VIEWS:
        view_score = np.zeros((len(weights), len(cube.submissions)))
        for structure, weight in of_structures.items():
            own = {m: weighted_mean(cube.of(measured[m], f"{view}/{structure}"), weights) for m in METRICS}
            score = of_metrics["dice"] * own["dice"] + of_metrics["nsd"] * own["nsd"]
            view_score = view_score + weight * score
            structures.append(_column(f"{view}_{structure}", f"S {view} {structure}", score))
            for metric, mean in own.items():
                means.append(_column(f"{metric}_{view}_{structure}", f"{METRICS[metric]} {view} {structure}", mean))
        views.append(_column(view, f"S {view}", view_score))
    total = np.sum([of_views[view] * column.values for view, column in zip(VIEWS, views, strict=True)], axis=0)
    return total, [*views, *structures, *means]


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    """Return weights that add up to one."""
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def class_f1(cube: Cube, weights: Floats) -> Floats:
    """Return F1 from weighted counts, (sets, submissions, classes); NaN for a class neither true nor predicted."""
    counts = (
        np.stack([weighted_sum(cube.of(metric, str(label)), weights) for label in CLASSES], axis=-1)
        for metric in COUNTS
    )
    return f1_scores(ClassCounts(*counts))


def _column(name: str, title: str, values: Floats) -> Column:
    return Column(Measure(name, title, Direction.HIGHER, minimum=0, maximum=1), values)
