"""The contract between a challenge and the engine: enforced, not trusted.

A challenge declares its measures with range, direction and price. What it returns of a prediction is held against that
declaration, and what failures cost is made out of the prices here, so that no challenge can forget it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from podium.model import Challenge, Direction, Measure, Price, Status, Value
from podium.model.errors import LONGEST_REASON, brief

__all__ = ["Breach", "Contract", "Seal"]


class Breach(Exception):  # noqa: N818
    """What a challenge did is not what it declared."""


class Contract:
    """What a challenge has declared, and what follows from it for every value."""

    def __init__(self, challenge: Challenge) -> None:
        self._measures = {measure.name: measure for measure in (*challenge.measures, challenge.time)}
        self._demanded = [
            (measure.name, target)
            for measure in challenge.measures
            if not measure.optional
            for target in measure.targets
        ]

    def held(self, rows: Sequence[str], truth: Any, values: object, *, built_in: bool = False) -> list[Value]:
        """Return values with prices charged, if they are what was declared.

        Parameters
        ----------
        rows
            The rows of the case, all of which must be there.
        truth
            What prices may depend on.
        values
            What the challenge returned.
        built_in
            Whether they are a baseline's or people's, who may lack what follows from the truth.

        Raises
        ------
        Breach
            With the first thing that is not as declared.
        """
        if not isinstance(values, list):
            raise Breach(f"measure returned {type(values).__name__}, not a list of values")
        known, seen, charged = set(rows), set(), []
        for value in values:
            measure = self._declared(value, known)
            key = value.case, value.metric, value.target, value.unit
            if key in seen:
                raise Breach(f"{_named(value)} is there twice")
            seen.add(key)
            _check_fields(value)
            _check_number(value, measure, built_in=built_in)
            charged.append(self._charged(replace(value, reason=brief(value.reason)), measure, truth))
        for row in rows:
            for name, target in self._demanded:
                if (row, name, target, "") not in seen:
                    raise Breach(f"{_named(Value(row, name, None, target))} is not there")
        return charged

    def failed(self, rows: Iterable[str], truth: Any, status: Status, reason: str) -> list[Value]:
        """Return what a case costs that is missing or cannot be used."""
        why = brief(reason)
        return [
            self._charged(Value(row, name, None, target, status=status, reason=why), self._measures[name], truth)
            for row in rows
            for name, target in self._demanded
        ]

    def _declared(self, value: object, rows: set[str]) -> Measure:
        if not isinstance(value, Value):
            raise Breach(f"measure returned {type(value).__name__} where a Value should be")
        measure = self._measures.get(value.metric)
        if measure is None or value.target not in measure.targets:
            raise Breach(f"{_named(value)} is not declared")
        if value.case not in rows:
            raise Breach(f"{_named(value)} is of {value.case!r}, which is no row of this case")
        return measure

    def _charged(self, value: Value, measure: Measure, truth: Any) -> Value:
        """Return a value with its price, where it failed or is worse than the price."""
        price = measure.price
        if price is None or not price.ranked:
            return value
        if value.status.failed:
            return replace(value, value=_checked_price(price, measure, truth, value))
        if value.value is None or not price.caps or price.amount is None or value.unit:
            return value
        amount = _checked_price(price, measure, truth, value)
        if amount is None or not _worse(value.value, amount, measure.direction):
            return value
        measured = value.value if value.measured is None else value.measured
        return replace(value, value=amount, measured=measured)


def _checked_price(price: Price, measure: Measure, truth: Any, value: Value) -> float | None:
    amount = price.of(truth, value.case, value.target)
    if price.amount is not None and (amount is None or not measure.allows(amount)):
        raise Breach(f"the price of {_named(value)} is {amount}, which the measure does not allow")
    return amount


def _worse(value: float, than: float, direction: Direction) -> bool:
    match direction:
        case Direction.HIGHER:
            return value < than
        case Direction.LOWER:
            return value > than
        case Direction.ZERO:
            return abs(value) > abs(than)
    return False


def _check_fields(value: Value) -> None:
    """Refuse a value whose other parts are not what a table can hold."""
    for name in ("unit", "reason"):
        if not isinstance(getattr(value, name), str):
            raise Breach(f"the {name} of {_named(value)} is {getattr(value, name)!r}, not text")
    if not value.unit.isprintable() or len(value.unit) > LONGEST_REASON:
        raise Breach(f"the unit of {_named(value)} is {value.unit[:LONGEST_REASON]!r}, which cannot be shown")
    if value.measured is not None and (not isinstance(value.measured, Real) or math.isnan(value.measured)):
        raise Breach(f"what was measured of {_named(value)} is {value.measured!r}, no number")
    if not isinstance(value.status, Status):
        raise Breach(f"the status of {_named(value)} is {value.status!r}")


def _check_number(value: Value, measure: Measure, *, built_in: bool) -> None:
    """Refuse what is no number although it is marked as one, and the reverse."""
    if value.status is not Status.OK:
        if value.value is not None:
            raise Breach(f"{_named(value)} is {value.status.value} and yet {value.value}")
        if not value.reason:
            raise Breach(f"{_named(value)} is {value.status.value} without a reason")
        if value.status is Status.UNDEFINED and measure.price is not None and not (measure.undefined or built_in):
            raise Breach(f"{_named(value)} is undefined, which is not declared")
        return
    number = value.value
    if isinstance(number, bool) or not isinstance(number, Real):
        raise Breach(f"{_named(value)} is {number!r} and marked ok")
    if math.isnan(number):
        raise Breach(f"{_named(value)} is NaN and marked ok")
    if math.isinf(number) and not measure.infinite:
        raise Breach(f"{_named(value)} is infinite, which is not declared")
    if not measure.allows(number):
        least, most = measure.minimum, measure.maximum
        raise Breach(f"{_named(value)} is {number:g}, outside the declared range from {least:g} to {most:g}")


def _named(value: Value) -> str:
    return f"{value.metric} ({value.target})" if value.target else str(value.metric)


class Seal:
    """A truth that nobody may change: its arrays are made read-only, and what else could be changed is remembered.

    Attributes whose name begins with an underscore, and cached properties, are an object's own business.
    """

    def __init__(self, truth: Any) -> None:
        self.truth = truth
        self._remembered: list[tuple[Any, list[tuple[str, Any]]]] = []
        self._remember(truth, set())

    @property
    def broken(self) -> bool:
        """Whether it has been changed."""
        return any(not _alike(_members(thing), members) for thing, members in self._remembered)

    def _remember(self, thing: Any, seen: set[int]) -> None:
        """Go through everything that a truth holds, and remember what is in whatever could be changed."""
        if thing is None or isinstance(thing, _PLAIN) or id(thing) in seen:
            return
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            thing.flags.writeable = False
            return
        members = _members(thing)
        parameters = getattr(type(thing), "__dataclass_params__", None)
        if not isinstance(thing, tuple | frozenset) and not (parameters and parameters.frozen):
            self._remembered.append((thing, members))
        for _, member in members:
            self._remember(member, seen)


_PLAIN = (str, bytes, int, float, complex)


def _members(thing: Any) -> list[tuple[str, Any]]:
    """Return what something holds, one level deep, by name."""
    if isinstance(thing, Mapping):
        return [(repr(key), value) for key, value in thing.items()]
    if isinstance(thing, list | tuple):
        return [("", value) for value in thing]
    if isinstance(thing, set | frozenset):
        return [("", value) for value in sorted(thing, key=repr)]
    if is_dataclass(thing):
        return [(field.name, getattr(thing, field.name)) for field in fields(thing)]
    own = getattr(thing, "__dict__", {})
    cached = (name for name in own if isinstance(getattr(type(thing), name, None), cached_property))
    return [(name, value) for name, value in own.items() if not name.startswith("_") and name not in {*cached}]


def _alike(one: list[tuple[str, Any]], other: list[tuple[str, Any]]) -> bool:
    """Return whether two things hold the same: plain values by what they are, everything else by being the same."""
    return len(one) == len(other) and all(
        name == known and (value is before or (isinstance(before, _PLAIN) and repr(value) == repr(before)))
        for (name, value), (known, before) in zip(one, other, strict=True)
    )
