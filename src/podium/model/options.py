"""Kinds of options that several challenges have."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from podium.model.challenge import TOLERANCE_SCALES, Challenge
from podium.model.cube import Cube
from podium.model.errors import InputError

__all__ = ["PositiveNumber", "ToleranceScale", "other_tolerances", "positive_number"]


def positive_number(value: Any, name: str = "this") -> float:
    """Return a setting as a number; refuse what is not positive and finite."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} is {value!r}, not a positive number", advice=f"Write for example {name} = 1.5")
    return number


def _positive(value: Any) -> float:
    try:
        return positive_number(value)
    except InputError:
        raise ValueError("a positive number is expected") from None


def _scale(value: float) -> float:
    if value not in TOLERANCE_SCALES:
        raise ValueError("there are: 0.5, 1, 2")
    return value


def other_tolerances(challenge: Challenge, cube: Cube, measure: str, target: str) -> dict[str, Challenge]:
    """Return a challenge at other multiples of its tolerance (`tolerance_scale`), where these were measured."""
    own = challenge.options["tolerance_scale"]
    return {
        f"tolerance × {scale:g}": challenge.varied(tolerance_scale=scale)
        for scale, ending in TOLERANCE_SCALES.items()
        if scale != own and cube.has(f"{measure}{ending}", target)
    }


PositiveNumber = Annotated[float, BeforeValidator(_positive)]
"""A number above 0 that is finite."""

ToleranceScale = Annotated[float, AfterValidator(_scale)]
"""A multiple of a tolerance that is measured beside it."""
