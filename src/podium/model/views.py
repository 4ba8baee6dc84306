"""What a challenge shows of a case: plain data that a report draws. Challenges never draw, reports never measure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Agreement", "Curves", "Line", "Panel", "Paths", "Slices", "View"]

Kind: TypeAlias = Literal["reference", "prediction", "other"]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Points in their order: shape (n, 2) in a plane, (n, 3) in space."""

    name: str
    points: npt.NDArray[np.float64]
    kind: Kind = "prediction"


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Lines over a common axis: traces over time, error along a scan, dose–volume histograms."""

    title: str
    horizontal: str
    vertical: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Lines in space, with their unit: true and predicted trajectories."""

    title: str
    unit: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One slice: two label images of one shape, (rows, columns), and grey values from 0 to 1 where there are any.

    `pixel_mm` is the height and the width of a pixel; where that is not known, only their ratio counts.
    """

    caption: str
    reference: npt.NDArray[np.uint8]
    prediction: npt.NDArray[np.uint8]
    image: npt.NDArray[np.float32] | None = None
    pixel_mm: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """Slices of a case with the contours of reference and prediction, label by label.

    Attributes
    ----------
    title
        What is shown.
    panels
        Side by side.
    labels
        Names of the labels whose contours are drawn.
    remarks
        What a reader should know, such as why a panel or an image is missing.
    """

    title: str
    panels: tuple[Panel, ...]
    labels: dict[int, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Predicted against true values of one quantity, to be drawn as scatter and as Bland–Altman plot.

    Attributes
    ----------
    title, unit
        What was measured; "" for a plain number.
    reference, prediction
        Pairs, shape (n,); NaN where there is no number.
    correlation
        Pearson's; NaN where it is not defined.
    bias, limits
        Mean of prediction − reference, and between which differences 95 % are expected; NaN where not defined.
    """

    title: str
    unit: str
    reference: npt.NDArray[np.float64]
    prediction: npt.NDArray[np.float64]
    correlation: float = math.nan
    bias: float = math.nan
    limits: tuple[float, float] = (math.nan, math.nan)


View: TypeAlias = Slices | Curves | Paths | Agreement
"""Anything that a challenge shows."""
