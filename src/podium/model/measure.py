"""What is judged: one carrier from a challenge's declaration to the heading of a column and the axis of a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from podium.model.metric import Direction, Metric

__all__ = ["LOADING", "NOT_RANKED", "SECONDS", "Cost", "Measure", "Price", "Purpose", "shown_level", "shown_number"]

_SLACK = 1e-9
"""Relative: what rounding may leave of a bound."""

Cost: TypeAlias = Callable[[Any, str, str], float]
"""What a failure costs, from the truth of the case, the row and the target."""


class Purpose(StrEnum):
    """What a measure is there for."""

    QUALITY = "quality"
    TIME = "time"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class Price:
    """What a failed row costs in one measure.

    Attributes
    ----------
    amount
        A number, a function of the truth, or None where a failure has no number.
    words
        The price as a participant reads it; by default the number.
    ranked
        Whether a submission that has to pay it is ranked all the same.
    caps
        Whether a measured value that is worse than the price counts as the price, so that failing never pays.
    """

    amount: float | Cost | None
    words: str = ""
    ranked: bool = True
    caps: bool = True

    def __post_init__(self) -> None:
        if not self.words:
            if not isinstance(self.amount, int | float):
                raise ValueError("a price that is not a number needs words that a participant understands")
            object.__setattr__(self, "words", f"{self.amount:g}")

    def of(self, truth: Any, row: str, target: str) -> float | None:
        """Return the price of a row, None where there is no number."""
        return self.amount(truth, row, target) if callable(self.amount) else self.amount


NOT_RANKED = Price(None, "the submission is incomplete and not ranked", ranked=False)
"""The price that no value pays: whoever lacks one is not ranked."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that is measured of every row, or a column that is made of it.

    Attributes
    ----------
    name
        In tables; unique among a challenge's measures, and among the columns of a leaderboard.
    title, unit
        For people: headings and axes. "mm", "s", … or "" for a plain number.
    direction
        Which values are better.
    minimum, maximum
        The range of what can be measured, both ends included; the engine refuses what lies outside.
    targets
        What it is measured of: regions, structures, indices; ("",) if there is only one thing.
    price
        What a failed row costs. A measure that decides must say so; None is for what merely describes.
    decides
        Whether general schemes rank by it and reports show it first, provided that its direction judges at all.
    infinite
        Whether infinity is a value, and not a fault.
    undefined
        Whether the truth may leave it without a value, for everybody alike; no price is charged then.
    optional
        Whether it may be absent where the truth does not tell it.
    digits
        How many decimals are shown.
    purpose, of
        A quality, a time, or a rank, and of which column.
    metric, options
        The metric that computes it, if one does alone, and the metric's options for each target.
    """

    name: str
    title: str
    direction: Direction = Direction.NONE
    unit: str = ""
    minimum: float = -math.inf
    maximum: float = math.inf
    targets: tuple[str, ...] = ("",)
    price: Price | None = None
    decides: bool = True
    infinite: bool = False
    undefined: bool = False
    optional: bool = False
    digits: int = 4
    purpose: Purpose = Purpose.QUALITY
    of: str = ""
    metric: Metric[..., Any] | None = field(default=None, repr=False)
    options: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def by(cls, metric: Metric[..., Any], **declared: Any) -> Measure:
        """Return what a metric measures: name, title, unit, direction and range are the metric's unless given."""
        own: dict[str, Any] = {
            "name": metric.name,
            "title": metric.title,
            "direction": metric.direction,
            "unit": metric.unit,
            "minimum": metric.minimum,
            "maximum": metric.maximum,
        }
        return cls(**(own | {"metric": metric} | declared))

    @classmethod
    def rank_of(cls, column: Measure) -> Measure:
        """Return the rank that a column gives."""
        return cls(f"{column.name}_rank", f"{column.title} rank", digits=0, purpose=Purpose.RANK, of=column.name)

    def __call__(self, measured: Mapping[str, Any], target: str = "") -> float:
        """Compute it by its metric from what is known of a pair: overlap, surface, centres."""
        if self.metric is None:
            raise TypeError(f"{self.name} is computed by no single metric")
        return float(self.metric(measured[self.metric.family], **self.options.get(target, {})))

    @property
    def judges(self) -> bool:
        """Whether some values are better than others."""
        return self.direction is not Direction.NONE

    def allows(self, number: float) -> bool:
        """Return whether a number lies in the declared range, but for what rounding leaves of its ends."""
        if math.isnan(number) or (math.isinf(number) and not self.infinite):
            return False
        least, most = (
            self.minimum - _SLACK * max(abs(self.minimum), 1),
            self.maximum + _SLACK * max(abs(self.maximum), 1),
        )
        return math.isinf(number) or least <= number <= most

    @property
    def key(self) -> tuple[str, str]:
        """Name and target of a measure that has only one."""
        (target,) = self.targets
        return self.name, target

    @property
    def column(self) -> str:
        """What a column is called that holds nothing but this measure of its only target."""
        name, target = self.key
        return f"{name}_{target}" if target else name

    @property
    def label(self) -> str:
        """What a heading or an axis says: title, unit, and which way is better."""
        unit = f", {self.unit}" if self.unit else ""
        return f"{self.title}{unit} {self.direction.arrow}".rstrip()

    @property
    def each(self) -> tuple[Measure, ...]:
        """The measure of each target by itself."""
        return tuple(self.at(target) for target in self.targets)

    def at(self, target: str) -> Measure:
        """Return the measure of one target, with a title that says so."""
        title = f"{self.title} {target.replace('_', ' ')}".rstrip()
        return replace(self, title=title, targets=(target,))

    def as_column(self, **changes: Any) -> Measure:
        """Return the measure of its only target as a column of a leaderboard."""
        return replace(self, **({"name": self.column, "targets": ("",)} | changes))

    def shown(self, value: float | None) -> str:
        """Return a value for people."""
        return shown_number(value, self.digits)


SECONDS = Measure("seconds", "Time", Direction.LOWER, "s", 0.0, 1e7, decides=False, digits=3, purpose=Purpose.TIME)
"""The time of a row, as a submission's timing.csv reports it."""

LOADING = Measure("loading", "Loading", Direction.LOWER, "s", 0.0, 1e7, decides=False, digits=3, purpose=Purpose.TIME)
"""How long an algorithm took to load, which is no part of the time of a row; known only where Podium ran it itself."""


def shown_level(level: float) -> str:
    """Return a level of confidence for people, never rounded to certainty.

    Examples
    --------
    >>> shown_level(0.95), shown_level(0.999), shown_level(0.999999)
    ('95 %', '99.9 %', '> 99.99 %')
    """
    return "> 99.99 %" if level > 0.9999 else f"{100 * level:.4g} %"


def shown_number(value: float | None, digits: int, unit: str = "", *, sign: bool = False) -> str:
    """Return a number for people; a dash where there is none.

    Examples
    --------
    >>> shown_number(0.98765, 3), shown_number(None, 3), shown_number(math.inf, 1, "mm"), shown_number(-0.5, 1)
    ('0.988', '–', '∞ mm', '−0.5')
    """
    if value is None or math.isnan(value):
        return "–"
    signed = "+" if sign else ""
    text = ("∞" if value > 0 else "−∞") if math.isinf(value) else f"{value:{signed}.{digits}f}".replace("-", "−")
    return f"{text} {unit}" if unit else text
