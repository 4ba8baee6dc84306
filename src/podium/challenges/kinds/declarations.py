"""The tables that a challenge is declared by, each checked as soon as it is made."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from podium.metrics.families import check_preparation, option_types
from podium.metrics.registry import get_metric
from podium.model import InputError, Metric
from podium.model.errors import nearest
from podium.ranking.inference.significance import Adjustment

__all__ = [
    "Eligibility",
    "Images",
    "Misdeclared",
    "PairedTest",
    "Quantity",
    "RankingRules",
    "Timing",
    "Words",
    "for_target",
]

T = TypeVar("T")
Number: TypeAlias = Annotated[float, Strict(), Field(allow_inf_nan=False)]
WholeNumber: TypeAlias = Annotated[int, Strict()]
Truth: TypeAlias = Annotated[bool, Strict()]


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse what is no name, and names that a table does not tell apart."""
    known: dict[str, str] = {}
    for name in names:
        if not name or name != name.strip() or not name.isprintable():
            raise ValueError(f"{name!r} is no name")
        if (other := known.get(name.lower())) is not None:
            what = "there twice" if other == name else f"{other!r}, but for upper and lower case"
            raise ValueError(f"{name!r} is {what}")
        known[name.lower()] = name
    return names


Names: TypeAlias = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_distinct)]
"""What is told apart in tables: one at least, none twice."""


class Misdeclared(ValueError):  # noqa: N818  # what is wrong, in a word
    """What is wrong with a declaration, where in it, and what would be right; `misspelt` if a key is not known."""

    def __init__(self, problem: str, *at: str | int, advice: str = "", misspelt: bool = False) -> None:
        super().__init__(problem)
        self.problem, self.at, self.advice, self.misspelt = problem, at, advice, misspelt


class DeclaredTable(BaseModel):
    """A table of a declaration: nothing in it is changed later, and no other keys are known."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{what} is a number, not {value!r}")
    return float(value)


def _by_target(check: Callable[[Any], T]) -> Callable[[Any], Any]:
    """Return a check of one value, or of a table with one for each target."""

    def checked(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(target): check(own) for target, own in value.items()}
        return check(value)

    return checked


def _cost(value: Any) -> float | str:
    return value if isinstance(value, str) else _number(value, "a price")


def _weight(value: Any) -> float:
    number = _number(value, "a weight")
    if number < 0:
        raise ValueError(f"a weight is a number from 0, not {number:g}")
    return number


def for_target(given: T | Mapping[str, T], target: str) -> T | None:
    """Return what is said of a target: one value for all, or its own of a table; None where that has none."""
    return given.get(target) if isinstance(given, Mapping) else given


_NUMBER = {"type": "number"}
_COST = {"anyOf": [_NUMBER, {"type": "string"}]}

ByTarget: TypeAlias = Annotated[
    float | Mapping[str, float],
    BeforeValidator(_by_target(_weight)),
    WithJsonSchema({"anyOf": [_NUMBER, {"type": "object", "additionalProperties": _NUMBER}]}),
]
Costs: TypeAlias = Annotated[
    float | str | Mapping[str, float | str],
    BeforeValidator(_by_target(_cost)),
    WithJsonSchema({"anyOf": [*_COST["anyOf"], {"type": "object", "additionalProperties": _COST}]}),
]
Pair: TypeAlias = tuple[str, str]
_IN_HEADINGS = {"percentile": "{:g} %", "tolerance_mm": "{:g} mm"}


class Images(DeclaredTable):
    """What label maps must be like."""

    geometry: Literal["full", "shape"] = "full"
    """`full`: spacing, origin and direction must be the truth's. `shape`: only the shape must be."""
    unknown_labels: Literal["refuse", "background"] = "refuse"
    """What a label is that is not declared: a reason to refuse the prediction, or background."""
    dimensions: Literal[2, 3] | None = None
    """How many axes label maps have; by default either."""
    arrays: Mapping[str, str] = Field(default_factory=dict)
    """For HDF5 files with several label maps: what each is called here, and the dataset that holds it."""
    encodings: tuple[Mapping[str, WholeNumber], ...] = ()
    """Other numbers that the labels of a whole map may have, such as `{ plaque = 128, vessel = 255 }`."""


class Quantity(DeclaredTable):
    """Something that is measured: a metric, of what, with which options, and what a failed case costs.

    Options of the metric stand beside the other keys, `tolerance_mm = 2.0`; each may be a table with one for every
    target, `tolerance_mm = { kidney = 1.0, tumor = 1.5 }`.
    """

    metric: str
    """Its name; `podium metrics` lists them."""
    of: tuple[str, ...] = ()
    """Which targets; by default all."""
    failed: Costs | None = None
    """What a failed case costs: a number, words such as "image diagonal" or "not ranked", or a table of them."""
    weight: ByTarget = 1.0
    """By how much it counts beside the others: a number, or a table with one for each target."""
    decides: Truth = True
    """Whether it counts; else it is measured and shown."""
    absent: Literal["count", "leave out"] = "count"
    """What becomes of cases whose truth lacks the target: they count like others, or are left out for everybody."""
    name: str = ""
    """What it is called in tables; by default like the metric. Needed where one metric is there twice."""
    title: str = ""
    """What it is called in headings; by default the metric's."""
    digits: WholeNumber | None = Field(default=None, ge=0, le=12)
    """How many decimals are shown."""
    options: Mapping[str, Any] = Field(default_factory=dict)
    """Options of the metric."""

    @model_validator(mode="before")
    @classmethod
    def _with_options(cls, given: Any) -> Any:
        """Gather the options of the metric, which stand beside the other keys."""
        if not isinstance(given, Mapping) or not isinstance(given.get("metric"), str):
            return given
        if not isinstance(given.get("options", {}), Mapping):
            raise Misdeclared("options is a table", "options")
        try:
            metric = get_metric(given["metric"])
        except InputError as error:
            raise Misdeclared(error.problem, "metric", advice=error.advice or "") from None
        known = cls.option_types(metric)
        options = {**given.get("options", {}), **{key: value for key, value in given.items() if key in known}}
        others = {key: value for key, value in given.items() if key not in known}
        for key in (*others, *options):
            if key not in cls.model_fields and key not in known:
                keys = [name for name in cls.model_fields if name != "options"]
                raise Misdeclared(
                    f"{metric.name} has no option {key!r}", key, advice=nearest(key, [*known, *keys]), misspelt=True
                )
        for key, value in options.items():
            _check_option(metric, key, known[key], value)
        _check_prepared(metric, options)
        return {**others, **({"options": options} if options else {})}

    @staticmethod
    def option_types(metric: Metric[..., Any]) -> dict[str, Any]:
        """Return every option that a metric has, with its type."""
        own, prepared = option_types(metric)
        return {**prepared, **own}

    @property
    def called(self) -> str:
        """What it is called in tables."""
        return self.name or self.metric

    def heading(self, metric: Metric[..., Any], targets: Iterable[str]) -> str:
        """Return the title of the metric with the percentile or tolerance of all targets: another is another number."""
        tolerance = inspect.signature(metric.function).parameters.get("tolerance_mm")
        usual = {"tolerance_mm": tolerance.default} if tolerance else {}
        options = [usual | self.options_of(target) for target in targets]
        shared = {key: {own.get(key) for own in options} for key in _IN_HEADINGS}
        given = {key: values.pop() for key, values in shared.items() if len(values) == 1}
        return " ".join([metric.title, *(_IN_HEADINGS[key].format(v) for key, v in given.items() if v is not None)])

    def options_of(self, target: str) -> dict[str, Any]:
        """Return the options for one target."""
        chosen = {key: for_target(value, target) for key, value in self.options.items()}
        return {key: value for key, value in chosen.items() if value is not None}


def _check_option(metric: Metric[..., Any], key: str, kind: Any, given: Any) -> None:
    values = given if isinstance(given, Mapping) else {"": given}
    for target, value in values.items():
        at = (key, target) if target else (key,)
        try:
            TypeAdapter(kind).validate_python(value, strict=True)
            if metric.check is not None and key in option_types(metric)[0]:
                metric.check(**{key: value})
        except ValidationError as error:
            problem = error.errors()[0]["msg"]
            raise Misdeclared(f"{key} is {value!r}: {problem[:1].lower()}{problem[1:]}", *at) from None
        except InputError as error:
            raise Misdeclared(error.problem, *at, advice=error.advice or "") from None


def _check_prepared(metric: Metric[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse numbers that no measurement could use, so that no prediction is blamed for them."""
    types = option_types(metric)[1]
    given = {key: value for key, value in options.items() if key in types}
    numbers = [key for key in given if get_origin(types[key]) is not Literal and types[key] is not bool]
    targets = {target for value in given.values() if isinstance(value, Mapping) for target in value}
    for target in sorted(targets) or [""] if numbers else ():
        chosen = {key: for_target(value, target) for key, value in given.items()}
        try:
            check_preparation(metric, {key: value for key, value in chosen.items() if value is not None})
        except InputError as error:
            key = numbers[-1]
            at = (key, target) if isinstance(given[key], Mapping) else (key,)
            raise Misdeclared(error.problem, *at, advice=error.advice or "") from None


class PairedTest(DeclaredTable):
    """A paired Wilcoxon signed-rank test of every two teams."""

    alpha: Number = Field(default=0.05, gt=0, lt=1)
    """A smaller p-value is significant."""
    adjustment: Adjustment = "none"
    """How p-values are adjusted for the number of pairs."""


Scheme: TypeAlias = Literal["mean rank", "rank then mean", "test then rank", "weighted mean"]


class RankingRules(DeclaredTable):
    """How places are made of what was measured."""

    scheme: Scheme = "mean rank"
    """`mean rank`: each criterion is averaged over cases and ranks the teams; the ranks are averaged. `rank then mean`:
    teams are ranked in every case, and these ranks averaged. `test then rank`: how many others a team is significantly
    better than. `weighted mean`: the criteria's means are averaged to one score."""
    statistic: Literal["mean", "median"] | Annotated[float, Strict(), Field(ge=0, le=1)] = "mean"
    """What is taken over cases: the mean, the median, or a share such as 0.05 for that quantile."""
    test: PairedTest | None = None
    """With ranks that are averaged: only significant differences part teams in a criterion. Else: the test itself."""
    ties: tuple[str, ...] = ()
    """What parts teams with equal places, the first that differs: columns, such as "dice_whole", or "seconds"."""


class Eligibility(DeclaredTable):
    """Who is ranked, decided on all cases."""

    at_least: Mapping[str, Number] = Field(default_factory=dict)
    """Columns, and what their mean over cases must reach."""
    at_most: Mapping[str, Number] = Field(default_factory=dict)
    """Columns, and what their mean over cases must not exceed."""
    better_than: str = ""
    """The name of a submission that must be outperformed, such as a baseline."""
    better_in: Literal["any", "all"] = "any"
    """In how many criteria: in one at least, or in all."""

    @model_validator(mode="after")
    def _than_whom(self) -> Eligibility:
        if "better_in" in self.model_fields_set and not self.better_than:
            raise Misdeclared("better than whom?", "better_in", advice='Add better_than = "baseline", or leave it out')
        return self


class Timing(DeclaredTable):
    """What time counts; seconds of each case come from a team's timing.csv."""

    weight: Number = Field(default=0.0, ge=0)
    """By how much the rank of the mean time counts beside the criteria; 0 not at all."""
    limit_seconds: Number | None = Field(default=None, gt=0)
    """Whoever takes longer per case, on average, is not ranked."""


class Words(DeclaredTable):
    """What reports say."""

    page: str = ""
    """Where the rules stand."""
    summary: str = ""
    """The rules in a paragraph."""
    row: Pair = ("case", "cases")
    """What a case is called, one and several."""
    cluster: Pair = ("cluster", "clusters")
    """What is drawn together is called, one and several, such as ["patient", "patients"]."""
    notes: tuple[str, ...] = ()
    """What a reader of the leaderboard should know."""
