"""From weighted cases to the parts of CSV 2026's score that do not depend on who else competes."""

from __future__ import annotations

import numpy as np

from podium.challenges.csv2026.files import CLASSES, VIEWS
from podium.metrics import ClassCounts, f1_scores
from podium.model import Column, Cube, Direction, Floats
from podium.ranking import weighted_mean, weighted_sum

__all__ = ["COUNTS", "METRICS", "STRUCTURE_WEIGHTS", "class_f1", "segmentation_score"]

METRICS = {"dice": "DSC", "nsd": "NSD"}
COUNTS = ("true_positive", "false_positive", "false_negative")
STRUCTURE_WEIGHTS = {"plaque": 0.6, "vessel": 0.4}


def segmentation_score(cube: Cube, weights: Floats) -> tuple[Floats, list[Column]]:
    """Return S_seg from 0 to 1, shape (sets, submissions), and the columns of views and structures that led to it."""
    views, structures, means = [], [], []
    for view in VIEWS:
        view_score = np.zeros((len(weights), len(cube.submissions)))
        for structure, weight in STRUCTURE_WEIGHTS.items():
            own = {metric: weighted_mean(cube.of(metric, f"{view}/{structure}"), weights) for metric in METRICS}
            score = (own["dice"] + own["nsd"]) / 2
            view_score = view_score + weight * score
            structures.append(_column(f"{view}_{structure}", f"S {view} {structure}", score))
            for metric, mean in own.items():
                means.append(_column(f"{metric}_{view}_{structure}", f"{METRICS[metric]} {view} {structure}", mean))
        views.append(_column(view, f"S {view}", view_score))
    return np.mean([view.values for view in views], axis=0), [*views, *structures, *means]


def class_f1(cube: Cube, weights: Floats) -> Floats:
    """Return F1 from weighted counts, (sets, submissions, classes); NaN for a class neither true nor predicted."""
    counts = (
        np.stack([weighted_sum(cube.of(metric, str(each)), weights) for each in CLASSES], axis=-1) for metric in COUNTS
    )
    return f1_scores(ClassCounts(*counts))


def _column(name: str, title: str, values: Floats) -> Column:
    return Column(name, title, values, direction=Direction.HIGHER)
