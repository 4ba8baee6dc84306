"""The tables that a challenge is declared by, each checked as soon as it is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
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
    field_validator,
    model_validator,
)

from podium.challenges.kinds.patterns import Pattern
from podium.metrics.families import check_preparation, option_types
from podium.metrics.registry import get_metric
from podium.model import Case, InputError, Metric
from podium.model.errors import nearest
from podium.ranking.inference.significance import Adjustment

__all__ = [
    "Eligibility",
    "FileNames",
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


class Misdeclared(ValueError):  # noqa: N818
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
Patterns: TypeAlias = Annotated[
    tuple[Pattern, ...],
    BeforeValidator(lambda given: (given,) if isinstance(given, str | Pattern) else given),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
Pair: TypeAlias = tuple[str, str]


class FileNames(DeclaredTable):
    """How files are called, with named parts: `{subject}_{visit}_seg.nii.gz`."""

    truth: Pattern
    """The truth of a case, seen from the folder of the truth."""
    prediction: Patterns
    """Its prediction, seen from the folder of a team; of several, the first is the usual one."""
    case: Pattern | None = None
    """What a case is called; by default the usual prediction without its ending."""
    cluster: Pattern | None = None
    """What cases are drawn with when they are resampled, such as `{subject}`; by default each by itself."""
    stratum: Pattern | None = None
    """What is resampled for itself, such as `{hospital}`; by default all together."""
    only: tuple[str, ...] = ()
    """The names of the cases that count; by default all that are there."""
    inputs: Patterns = ()
    """What algorithms are given of a case, as it is, seen from the folder of inputs: for `podium run` alone."""

    @field_validator("prediction")
    @classmethod
    def _is_called(cls, prediction: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
        if not prediction:
            raise Misdeclared("no name of a prediction is given", advice='Write for example "{case}.nii.gz"')
        return prediction

    @model_validator(mode="after")
    def _parts_are_known(self) -> FileNames:
        known = self.truth.parts
        if not known:
            raise Misdeclared(
                f"{self.truth} has no part that tells cases apart", "truth", advice='Write for example "{case}.nii.gz"'
            )
        named = {"prediction": self.prediction, "case": (self.case_name,), "cluster": (self.cluster,)}
        named |= {"stratum": (self.stratum,), "inputs": self.inputs}
        for key, patterns in named.items():
            for pattern in (pattern for pattern in patterns if pattern is not None):
                if unknown := pattern.lacks(known):
                    raise Misdeclared(
                        f"{{{unknown[0]}}} is no part of truth = {self.truth.text!r}",
                        key,
                        advice=f"Its parts are: {', '.join(known)}",
                    )
                if key in ("prediction", "case", "inputs") and (
                    lost := [part for part in known if part not in pattern.parts]
                ):
                    raise Misdeclared(
                        f"{pattern} does not tell cases apart that differ in {{{lost[0]}}}",
                        key,
                        advice=f"Name every part of truth = {self.truth.text!r}",
                    )
        self.check_inputs()
        return self

    def check_inputs(self) -> None:
        """Refuse inputs that could be the truth, and answers that a folder of predictions cannot hold side by side."""
        for pattern in self.inputs:
            if self.truth.match(pattern.fill({part: part for part in pattern.parts})) is not None:
                problem, advice = f"{pattern} could be a truth, which no algorithm may see", "images/{case}.nii.gz"
                raise Misdeclared(problem, "inputs", advice=f'Name folders or endings that differ, as in "{advice}"')
        if self.inputs and not self.answers:
            raise Misdeclared(
                f"answers of algorithms lie in one folder, unlike {self.prediction[0]}",
                "inputs",
                advice="Add a name without folders to prediction",
            )

    @property
    def answers(self) -> tuple[Pattern, ...]:
        """How an algorithm may call its answer: like a prediction that lies in no folder."""
        return tuple(pattern for pattern in self.prediction if "/" not in pattern.text)

    @property
    def case_name(self) -> Pattern:
        """What a case is called."""
        return self.case or self.prediction[0].stem

    def cases(self, folder: Path) -> list[Case]:
        """Find the cases that count, by the files of the truth; refuse names that do not tell cases apart."""
        cases: dict[str, Case] = {}
        predicted: dict[str, str] = {}
        for parts, path in self.truth.files(folder):
            name = self.case_name.fill(parts)
            if name in cases:
                raise InputError(f"this and {cases[name].files[0].name} are both called {name}", path=path)
            self.check_row(name, path, parts)
            cases[name] = Case(name, (path,), tuple(pattern.fill(parts) for pattern in self.prediction))
            for expected in cases[name].expected:
                if wild := next((character for character in "*?[" if character in expected), None):
                    raise InputError(f"{wild!r} is in a name", path=path, advice="Rename the files of this case")
                if (other := predicted.setdefault(expected, name)) != name:
                    raise InputError(f"{expected} would be the prediction of {other} and of {name}", path=path)
        if not cases:
            raise InputError(f"no file is called like {self.truth}", path=folder, advice="Is this the truth?")
        if lost := [name for name in self.only if name not in cases]:
            raise InputError(f"there is no case {lost[0]!r}", path=folder, advice=nearest(lost[0], cases))
        return [cases[name] for name in sorted(self.only or cases)]

    def check_row(self, row: str, path: Path, parts: Mapping[str, str] | None = None) -> None:
        """Refuse a name that does not tell of which cluster and stratum a row is: later only its name does."""
        if self.cluster is None and self.stratum is None:
            return
        try:
            self.case_name.single_match(row, path)
        except InputError as error:
            if parts is None:
                raise
            between = next(text for text in ("-", "--", "+", "~", "=", "__") if text not in "".join(parts.values()))
            advice = f'Write case = "{between.join(f"{{{part}}}" for part in self.case_name.parts)}" in [files]'
            raise InputError(f"the case is called {row}, and {error.problem}", path=path, advice=advice) from None


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
