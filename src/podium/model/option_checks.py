"""What the value of an option must be, by the type that its function declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from podium.model.errors import InputError

__all__ = ["check_option"]

_WORDS = {
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    NoneType: "",
    Sequence[float]: "a sequence of numbers",
    Sequence[int]: "a sequence of whole numbers",
}


def check_option(name: str, kind: Any, value: Any) -> None:
    """Refuse a value that is not of the type of its option, in words instead of an error deep inside.

    Checked are numbers, sequences of them, a yes or no, words (`Literal`), and one of several of these. Which numbers
    make sense is for the function to say, and everything about options of other types, such as arrays.

    Examples
    --------
    >>> check_option("bins", int, 15)
    >>> check_option("bins", int, "15")
    Traceback (most recent call last):
    podium.model.errors.InputError: bins is a whole number, not '15'
    """
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if all(one in _WORDS or get_origin(one) is Literal for one in kinds) and not any(
        _fits(one, value) for one in kinds
    ):
        words = [text for one in kinds if one is not NoneType for text in _in_words(one)]
        listed = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        raise InputError(f"{name} is {listed}, not {str(value) if isinstance(value, Real) else repr(value):.60}")


def _in_words(kind: Any) -> list[str]:
    return [_WORDS[kind]] if kind in _WORDS else [repr(word) for word in get_args(kind)]


def _fits(kind: Any, value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if kind in (Sequence[float], Sequence[int]):
        if isinstance(value, list | tuple | np.ndarray):
            return all(_fits(get_args(kind)[0], member) for member in value)
        return isinstance(value, Iterable) and not isinstance(value, str | bytes | np.generic | Mapping | Set)
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is NoneType:
        return value is None
    if kind in (int, float):
        number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
        return number and (kind is float or isinstance(value, Integral) or float(value).is_integer())
    return isinstance(value, str) and value in get_args(kind)
