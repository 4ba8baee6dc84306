"""What a metric declares about itself, once, beside its function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import WRAPPER_ASSIGNMENTS, cached_property
from types import MappingProxyType, SimpleNamespace
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints

from numpy.ma import MaskedArray, is_masked

from podium.model.errors import InputError
from podium.model.option_checks import check_option

__all__ = ["UNDEFINED", "Direction", "Metric"]

P = ParamSpec("P")
R = TypeVar("R")

UNDEFINED = math.nan
"""The value of a metric where its definition gives none, such as the correlation of a constant.

It exists in memory only: what is written to a file is a status with a reason.
"""


_LONGEST_OPTION = 40


class Direction(Enum):
    """Which values of a metric are better."""

    HIGHER = "higher is better"
    LOWER = "lower is better"
    ZERO = "closer to zero is better"
    NONE = "describes, does not judge"

    @property
    def arrow(self) -> str:
        """Return a sign for table headings."""
        return {"HIGHER": "↑", "LOWER": "↓", "ZERO": "→0", "NONE": ""}[self.name]


@dataclass(frozen=True, eq=False)
class Metric(Generic[P, R]):
    """A function that measures, with its declaration. Call it like the function, whose name and signature it has.

    A metric is one object: it equals itself only, and comes out of a pickle as the one that its module holds.

    Attributes
    ----------
    function
        Measures where there is something to measure; it never sees a case that `empty` names.
    name
        Unique among all metrics; also the column name in tables.
    title
        For people: headings and axis labels.
    family
        What kind of data it takes: overlap, surface, centres, regression, classification …
    unit
        "mm", "mm²", "mm³", or "" for a plain number.
    minimum, maximum
        The range of possible values, both ends included.
    direction
        Which values are better.
    perfect
        The value for a prediction equal to its reference; None if that depends on the reference.
    symmetric
        Whether reference and prediction may be exchanged.
    empty
        The value for each empty case, by name; `UNDEFINED` where no number would be honest. A case that is not named
        needs no exception: the volume of nothing is 0.
    formula
        How it is computed, in one line.
    same_as
        What gives the same number: by name of the peer, what to call there, and when.
    also_called
        Other names that the field has for it, which lead to it and are no names of it; several metrics may share one.
    check
        Takes the options of a call and raises where one is not to be used, so that this is said of empty data too.
    """

    function: Callable[P, R]
    name: str
    title: str
    family: str
    unit: str
    minimum: float
    maximum: float
    direction: Direction
    perfect: float | None
    symmetric: bool
    empty: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    formula: str = ""
    same_as: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    also_called: tuple[str, ...] = ()
    check: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        for attribute in WRAPPER_ASSIGNMENTS:  # __name__, __doc__ and the like
            if hasattr(self.function, attribute):
                object.__setattr__(self, attribute, getattr(self.function, attribute))
        object.__setattr__(self, "__wrapped__", self.function)

    def __reduce__(self) -> str:
        return self.function.__qualname__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Measure; where what was measured says that it is empty, return what is declared for that case."""
        kind = self._kind
        case: Any = None
        fitting = kind is None
        for value in (*args, *kwargs.values()):
            if isinstance(value, MaskedArray) and is_masked(value):
                raise InputError(f"{self.name} is asked of a masked array", advice="Leave out or fill what is masked")
            fitting = fitting or isinstance(value, kind)  # type: ignore[arg-type]  # a class, or a union of them
            case = getattr(value, "empty", None) if case is None else case
        if not fitting:
            raise self._misuse(args, kwargs)
        if self.check is not None:
            self.check(**kwargs)
        for name, value in kwargs.items():
            check_option(name, self._options.get(name, Any), value)
        if case in self.empty:
            inspect.signature(self.function).bind(*args, **kwargs)
            return self.empty[case]  # type: ignore[return-value]  # metrics of measured pairs return a float
        return self.function(*args, **kwargs)

    @cached_property
    def _options(self) -> Mapping[str, Any]:
        """Return the types of the options."""
        keywords = {
            name: parameter.annotation
            for name, parameter in inspect.signature(self.function).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        }
        return {name: self._resolved(annotation) for name, annotation in keywords.items()}

    def _resolved(self, annotation: Any) -> Any:
        names = getattr(self.function, "__globals__", {})
        try:
            return get_type_hints(SimpleNamespace(__annotations__={"it": annotation}), names)["it"]
        except (NameError, TypeError):  # a type that is there for type checkers only
            return Any

    @cached_property
    def _kind(self) -> type | None:
        """Return the type of the first argument, if that is a measured pair and no array: it has ways to be made."""
        names = getattr(self.function, "__globals__", {})
        for parameter in inspect.signature(self.function).parameters.values():
            kind = names.get(parameter.annotation) if isinstance(parameter.annotation, str) else parameter.annotation
            return kind if isinstance(kind, type) and _makers(kind) else None
        return None

    def _misuse(self, given: tuple[Any, ...], options: Mapping[str, Any]) -> InputError:
        """Return what to call instead, with the options of this call where they belong."""
        assert self._kind is not None
        kind, makers = self._kind.__name__, _makers(self._kind)
        what = ", ".join(type(value).__name__ for value in given or options.values()) or "nothing"
        maker = "between" if "between" in makers else makers[0]
        parameters = inspect.signature(getattr(self._kind, maker)).parameters
        data = [name for name, parameter in parameters.items() if parameter.kind is not parameter.KEYWORD_ONLY]
        (_, *own), used = inspect.signature(self.function).parameters, parameters.keys() - {*data}
        inside = ", ".join([*data, *(_written(name, options[name]) for name in options if name in used)])
        outside = "".join(f", {_written(name, options[name])}" for name in options if name in own)
        advice = f"Call {self.name}({kind}.{maker}({inside}){outside})"
        return InputError(f"{self.name} takes a pair that is measured already ({kind}), not {what}", advice=advice)


def _written(name: str, value: Any) -> str:
    text = repr(value)
    return f"{name}={text if len(text) <= _LONGEST_OPTION else '…'}"


def _makers(kind: type) -> list[str]:
    """Return the names of the public class methods of a type: the ways to make one."""
    return [name for name, value in vars(kind).items() if isinstance(value, classmethod) and not name.startswith("_")]
