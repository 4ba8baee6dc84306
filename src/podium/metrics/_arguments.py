"""Options that are numbers, and arguments that are several of something: anything else is refused in words."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from podium.model import InputError

Floats = npt.NDArray[np.float64]
T = TypeVar("T")


def as_number(value: Any, rule: str) -> float:
    """Return one real number; the rule says what it is, such as "a tolerance is a length from 0".

    Examples
    --------
    >>> as_number("1", "a tolerance is a length from 0")
    Traceback (most recent call last):
    podium.model.errors.InputError: a tolerance is a length from 0, not '1'
    """
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise InputError(f"{rule}, not {value!r:.60}")
    return float(value)


def as_length(value: Any, rule: str, *, finite: bool = False) -> float:
    """Return a number from 0; see `as_number`."""
    number = as_number(value, rule)
    if not number >= 0 or (finite and number == np.inf):
        raise InputError(f"{rule}, not {number:g}")
    return number


def as_whole_number(value: Any, rule: str, *, least: int) -> int:
    """Return a whole number; see `as_number`."""
    number = as_number(value, rule)
    if not (least <= number < np.inf and (isinstance(value, Integral) or number.is_integer())):
        raise InputError(f"{rule}, not {number:g}")
    return int(number)


def as_several_numbers(values: Any, rule: str) -> Floats:
    """Return one or more numbers as an array of one axis; see `as_number`."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise InputError(f"{rule}, in a list, not {values!r:.60}")
    numbers = np.array([as_number(value, rule) for value in values], np.float64)
    if not numbers.size:
        raise InputError(f"{rule}, in a list, not none at all")
    if np.isnan(numbers).any():
        raise InputError(f"{rule}, not NaN")
    return numbers


def as_threshold(threshold: Any) -> float:
    """Return the least IoU, Dice or other share that makes a pair; a percentage was meant as a share."""
    rule = "a threshold of overlaps is a share from 0 to 1"
    number = as_number(threshold, rule)
    if not 0 <= number <= 1:
        advice = f"Did you mean {number / 100:g}?" if 2 <= number <= 100 else None
        raise InputError(f"{rule}, not {number:g}", advice=advice)
    return number


def as_thresholds(thresholds: Any) -> Floats:
    """Return several thresholds; see `as_threshold`."""
    for number in (numbers := as_several_numbers(thresholds, "thresholds of overlaps are shares from 0 to 1")):
        as_threshold(number)
    return numbers


def as_several(things: Iterable[T], kind: type[T], *, call: str) -> list[T]:
    """Return a list of what must all be of one kind; a single one is not a list."""
    if isinstance(things, kind) or not isinstance(things, Iterable):
        one = type(things).__name__
        raise InputError(
            f"{call} takes a list of {kind.__name__}, one for each image, not {one}",
            advice="Put a single one into a list: [image]" if isinstance(things, kind) else None,
        )
    several = list(things)
    for thing in several:
        if not isinstance(thing, kind):
            raise InputError(
                f"{call} takes a list of {kind.__name__}, and {type(thing).__name__} is none",
                advice=f"Make {kind.__name__}(…) of it first",
            )
    return several
