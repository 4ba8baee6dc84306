"""What a metric declares about itself, once, beside its function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["UNDEFINED", "Direction", "Metric"]

P = ParamSpec("P")
R = TypeVar("R")

UNDEFINED = math.nan
"""The value of a metric where its definition gives none, such as the correlation of a constant.

It exists in memory only: what is written to a file is a status with a reason.
"""


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


@dataclass(frozen=True, slots=True)
class Metric(Generic[P, R]):
    """A function that measures, with its declaration. Call it like the function.

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
    __doc__: str | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Measure; where the first argument says that it is empty, return what is declared for that case."""
        case: Any = next((given.empty for given in (*args, *kwargs.values()) if hasattr(given, "empty")), None)
        if case in self.empty:
            return self.empty[case]  # type: ignore[return-value]  # metrics of measured pairs return a float
        return self.function(*args, **kwargs)
