"""Counts that can be: none is negative, and no part is larger than its whole."""

from __future__ import annotations

from functools import wraps
from math import inf
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from podium.model import InputError

T = TypeVar("T", bound=type)

_ROUNDING = 1e-9  # of sums with weights


def check_part(part_name: str, part: Any, whole_name: str, whole: Any) -> None:
    """Refuse counts, numbers or arrays of one shape, of which one is a part of the other and cannot be."""
    try:
        if 0 <= part <= whole < inf:
            return
    except (TypeError, ValueError):  # no numbers, or arrays of them
        pass
    parts, wholes = _numbers(part_name, part), _numbers(whole_name, whole)
    if parts.shape != wholes.shape:
        raise InputError(f"{part_name} has the shape {parts.shape}, {whole_name} {wholes.shape}: it must be one")
    wrong = ~((parts >= 0) & (parts <= wholes * (1 + _ROUNDING)) & (wholes < inf))
    if wrong.any():
        few, many = parts[wrong].flat[0], wholes[wrong].flat[0]
        raise InputError(
            f"these counts cannot be: {part_name} is {few:g}, {whole_name} {many:g}",
            advice=f"{part_name} is a number from 0 to {whole_name}",
        )


def counting(kind: T) -> T:
    """Let a named tuple of counts, numbers or arrays, refuse what counts nothing."""
    make: Any = kind.__new__
    names = kind._fields  # type: ignore[attr-defined]  # a named tuple has them

    @wraps(make)
    def made(cls: type, *args: Any, **kwargs: Any) -> Any:
        counts = make(cls, *args, **kwargs)
        for name, count in zip(names, counts, strict=True):
            if isinstance(count, int | float) and 0 <= count < inf:
                continue
            numbers = _numbers(name, count)
            low, high = numbers.min(initial=0.0), numbers.max(initial=0.0)  # NaN if there is one
            if not -_ROUNDING * high <= low <= high < inf:
                wrong = high if low == 0 else low
                raise InputError(f"{name} counts something: it is a finite number from 0, not {wrong:g}")
        return counts

    kind.__new__ = made  # type: ignore[method-assign,assignment]  # a named tuple has no other place for checks
    return kind


def _numbers(name: str, given: Any) -> npt.NDArray[Any]:
    try:
        array = np.asarray(given)
    except ValueError:  # lists of unequal length
        array = np.empty(0, object)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} is a number, or an array of numbers, not {given!r:.60}")
    return array
