"""All metrics by name: declared beside their functions, found here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from podium.model import Direction, InputError, Metric
from podium.model.errors import nearest

__all__ = ["AN_ERROR", "A_SHARE", "declare", "get_metric", "meant_by", "metrics"]

P = ParamSpec("P")
R = TypeVar("R")

A_SHARE: Mapping[str, Any] = MappingProxyType(
    {"unit": "", "minimum": 0.0, "maximum": 1.0, "direction": Direction.HIGHER, "perfect": 1.0}
)
"""What a share declares: a plain number from 0 to 1, which is best."""

AN_ERROR: Mapping[str, Any] = MappingProxyType(
    {"minimum": 0.0, "maximum": math.inf, "direction": Direction.LOWER, "perfect": 0.0}
)
"""What an error or a distance declares: 0 is best, and there is no worst."""

_REGISTRY: dict[str, Metric[..., Any]] = {}


def declare(
    *,
    title: str,
    family: str,
    unit: str,
    minimum: float,
    maximum: float,
    direction: Direction,
    perfect: float | None,
    symmetric: bool,
    empty: Mapping[str, float],
    formula: str,
    same_as: Mapping[str, str],
    also_called: Sequence[str] = (),
    check: Callable[..., None] | None = None,
    registry: dict[str, Metric[..., Any]] = _REGISTRY,
) -> Callable[[Callable[P, R]], Metric[P, R]]:
    """Declare the decorated function as a metric of the same name; see `podium.model.Metric` for the words."""

    def decorate(function: Callable[P, R]) -> Metric[P, R]:
        name = function.__name__
        if name in registry:
            raise ValueError(f"two metrics are called {name!r}: {registry[name].function.__module__} has one already")
        metric = Metric(
            function=function,
            name=name,
            title=title,
            family=family,
            unit=unit,
            minimum=minimum,
            maximum=maximum,
            direction=direction,
            perfect=perfect,
            symmetric=symmetric,
            empty=MappingProxyType(dict(empty)),
            formula=formula,
            same_as=MappingProxyType(dict(same_as)),
            also_called=tuple(also_called),
            check=check,
        )
        registry[name] = metric
        return metric

    return decorate


def metrics(*, family: str | None = None) -> list[Metric[..., Any]]:
    """Return all declared metrics, or those of one family, in the order of their declaration."""
    import podium.metrics  # noqa: F401  # declares every metric

    families = {metric.family for metric in _REGISTRY.values()}
    if family is not None and family not in families:
        raise InputError(f"there is no family of metrics called {family!r}", advice=nearest(str(family), families))
    return [metric for metric in _REGISTRY.values() if family in (None, metric.family)]


def get_metric(name: str) -> Metric[..., Any]:
    """Return the metric of that name.

    Examples
    --------
    >>> get_metric("dice").direction.value
    'higher is better'
    >>> get_metric("hd95")
    Traceback (most recent call last):
    podium.model.errors.InputError: there is no metric called 'hd95'. Did you mean 'hausdorff_distance_95'?
    """
    import podium.metrics  # noqa: F401  # declares every metric

    if not isinstance(name, str):
        raise InputError(f"a metric is asked for by its name, such as 'dice', not by {name!r:.60}")
    if name not in _REGISTRY:
        advice = meant_by(name, _REGISTRY.values()) or nearest(name, _REGISTRY)
        raise InputError(f"there is no metric called {name!r}", advice=advice)
    return _REGISTRY[name]


def meant_by(name: str, known: Iterable[Metric[..., Any]]) -> str | None:
    """Advise on a name that the field has for some of these metrics, however it is written; None if it is none."""

    def plain(words: str) -> str:
        return "".join(filter(str.isalnum, words.lower()))

    meant = [repr(metric.name) for metric in known if plain(name) in map(plain, (metric.name, *metric.also_called))]
    if not meant:
        return None
    return f"Did you mean {' or '.join(filter(None, (', '.join(meant[:-1]), meant[-1])))}?"
