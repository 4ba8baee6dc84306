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
    """Return what stands along an axis: names of submissions, or else of ticks."""
    names = [text.get_text() for text in axes.texts if _along(text) == axis]
    return names or [text.get_text() for text in getattr(axes, f"get_{axis}ticklabels")()]


def notes(axes: Any) -> list[str]:
    """Return what is written inside the axes and beside them, but for the names of rows and columns."""
    return [text.get_text() for text in axes.texts if not _along(text)]


def _along(text: Any) -> str:
    named = text.get_gid() or ""
    return "y" if named.startswith("row-") else "x" if named and text.get_rotation() == 90 else ""
