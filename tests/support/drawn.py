"""What a drawn figure holds, found by label."""

from __future__ import annotations

from typing import Any

import numpy as np


def labelled(axes: Any, label: str) -> Any:
    """Return the only collection of that label."""
    (collection,) = [collection for collection in axes.collections if collection.get_label() == label]
    return collection


def points(axes: Any, label: str) -> np.ndarray:
    """Return the positions of the points of that label."""
    return np.asarray(labelled(axes, label).get_offsets())


def ticks(axes: Any, axis: str = "y") -> list[str]:
    """Return what stands along an axis."""
    return [text.get_text() for text in getattr(axes, f"get_{axis}ticklabels")()]


def notes(axes: Any) -> list[str]:
    """Return what is written inside the axes and beside them."""
    return [text.get_text() for text in axes.texts]
