"""What a challenge shows of a case to be moved through: plain data that a page scrolls, plays or turns around."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from podium.model.labelmap import LabelMap

__all__ = ["Course", "Film", "Scene", "Sweep", "Volume"]

Grey: TypeAlias = npt.NDArray[np.uint8]
"""From 0 for black to 255 for white."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """One number for each frame: how good a prediction is from frame to frame, NaN where that is not defined."""

    title: str
    values: npt.NDArray[np.float64]
    unit: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Volume:
    """Two label maps of one grid, to be cut in three planes.

    Attributes
    ----------
    title
        Which one, where a case has several; the same for all predictions.
    reference, prediction
        Of three axes and of one shape.
    labels
        Names of the labels that are shown.
    image
        Grey values of what was segmented, same shape.
    """

    title: str
    reference: LabelMap
    prediction: LabelMap
    labels: dict[int, str] = field(default_factory=dict)
    image: Grey | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Film:
    """Label images that follow one another, to be played; a single one is a picture.

    Attributes
    ----------
    title
        Which one, where a case has several; the same for all predictions.
    reference, prediction
        Labels of one shape, (frames, rows, columns).
    labels
        Names of the labels that are shown.
    pixel_mm
        Height and width of a pixel; where that is not known, only their ratio counts.
    rate
        Frames per second; 0 where it is not known.
    course
        How good the prediction is from frame to frame.
    image
        Grey values of what was segmented, same shape.
    """

    title: str
    reference: npt.NDArray[np.unsignedinteger]
    prediction: npt.NDArray[np.unsignedinteger]
    labels: dict[int, str] = field(default_factory=dict)
    pixel_mm: tuple[float, float] = (1.0, 1.0)
    rate: float = 0.0
    course: Course | None = None
    image: Grey | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Points that move through space, to be turned around and played.

    Attributes
    ----------
    title
        What moves; the same for all predictions.
    reference, prediction
        Where the points are in each frame, shape (frames, points, 3); a closed line joins them.
    unit
        Of a coordinate.
    course
        How good the prediction is from frame to frame.
    """

    title: str
    reference: npt.NDArray[np.float64]
    prediction: npt.NDArray[np.float64]
    unit: str = "mm"
    course: Course | None = None


Scene: TypeAlias = Volume | Film | Sweep
"""Anything of a case that can be moved through."""
