"""A challenge that is declared rather than programmed: files, measures with prices, and ranking rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from podium.challenges.kinds.declarations import (
    Eligibility,
    Files,
    Misdeclared,
    Quantity,
    RankingRules,
    Timing,
    Words,
    for_target,
)
from podium.challenges.kinds.refusals import refusal
from podium.challenges.kinds.scoring import Criterion, Scoring
from podium.metrics.registry import get_metric
from podium.model import (
    NOT_RANKED,
    Case,
    Challenge,
    Cube,
    Direction,
    Floats,
    InputError,
    Measure,
    Metric,
    Price,
    Scores,
)
from podium.model.errors import nearest
from podium.model.measure import Cost

__all__ = ["DeclaredChallenge"]

_SCORING = ("title", "ranking", "eligibility", "timing", "words")
"""What changes leaderboards but no measurement."""


class DeclaredChallenge(Challenge):
    """What all declared challenges have in common; `kind` says what is predicted.

    In Python, give the tables as keywords, as mappings or as objects; in a challenge.toml, `[challenge]` holds name,
    title, kind and revision, `[[measure]]` the quantities, `[time]` the timing, and every other table has
    the name of its keyword. A subclass may replace any method, and give any of the keywords a default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, ignored_types=(property,))

    kind: ClassVar[str] = ""
    """What is predicted, as challenge.toml says it."""
    costs: ClassVar[Mapping[str, Cost]] = {}
    """Prices that follow from the truth, by the words for them."""
    scoring_options: ClassVar[tuple[str, ...]] = ("rules",)

    name: str  # type: ignore[misc]  # each challenge of a kind has its own
    """As in run folders: small letters, digits, - and _."""
    title: str = ""  # type: ignore[misc]
    """For people; by default the name."""
    revision: int = Field(default=1, ge=1)
    """Raised whenever the same input would give another number."""
    files: Files
    """How files are called."""
    quantities: tuple[Quantity, ...] = Field(min_length=1)
    """What is measured."""
    ranking: RankingRules = RankingRules()
    """How places are made."""
    eligibility: Eligibility = Eligibility()
    """Who is ranked."""
    timing: Timing = Timing()
    """What time counts."""
    words: Words = Words()
    """What reports say."""

    @model_validator(mode="before")
    @classmethod
    def _titled(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "title" in cls.model_fields and not given.get("title"):
            return {**given, **({"title": given["name"]} if isinstance(given.get("name"), str) else {})}
        return given

    @field_validator("name", check_fields=False)
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if (
            not name
            or not name.isascii()
            or not name.replace("-", "").replace("_", "").isalnum()
            or name != name.lower()
        ):
            raise ValueError(f"a name has small letters, digits, - and _ only, as in brain-lesions, not {name!r}")
        return name

    def model_post_init(self, context: Any, /) -> None:
        """Refuse what cannot be measured or ranked, with the place in the declaration."""
        names = [quantity.called for quantity in self.quantities]
        for place, quantity in enumerate(self.quantities):
            self._check_quantity(place, quantity)
            if quantity.called in (*names[:place], self.time.name):
                raise Misdeclared(
                    f"{quantity.called!r} is the name of another measure",
                    *("quantities", place, "name" if quantity.name else "metric"),
                    advice='Give this one a name of its own: name = "…"',
                )
        self._check_ranking()
        super().model_post_init(context)

    # What a kind must say.

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Everything that can be measured: what `of` may name."""

    @abstractmethod
    def takes(self, metric: Metric[..., Any]) -> bool:
        """Whether a metric can be measured of what is predicted."""

    # Files.

    def cases(self, truth: Path) -> list[Case]:
        """Find every file of the truth that fits the pattern."""
        cases = {}
        for parts, path in self.files.truth.files(truth):
            name = self.files.case_name.fill(parts)
            if name in cases:
                raise InputError(f"this and {cases[name].files[0].name} are both called {name}", path=path)
            cases[name] = Case(name, (path,), tuple(pattern.fill(parts) for pattern in self.files.prediction))
        if not cases:
            raise InputError(f"no file is called like {self.files.truth}", path=truth, advice="Is this the truth?")
        return [cases[name] for name in sorted(cases)]

    @property
    def naming(self) -> tuple[str, ...]:
        """The patterns of predictions."""
        return tuple(pattern.anything for pattern in self.files.prediction)

    def cluster(self, row: str) -> str:
        """Fill in the pattern of clusters."""
        return self._filled(self.files.cluster, row)

    def stratum(self, row: str) -> str:
        """Fill in the pattern of strata."""
        return self._filled(self.files.stratum, row) if self.files.stratum is not None else ""

    def _filled(self, pattern: Any, row: str) -> str:
        parts = self.files.case_name.match(row)
        return row if pattern is None or parts is None else pattern.fill(parts)

    def truth_as_prediction(self, case: Case) -> Path | None:
        """Offer the truth, which has the format of a prediction."""
        return case.files[0]

    # Measures.

    def metric_of(self, quantity: Quantity) -> Metric[..., Any]:
        """Return the metric of a quantity."""
        return get_metric(quantity.metric)

    def targets_of(self, quantity: Quantity) -> tuple[str, ...]:
        """Return what a quantity is measured of."""
        return quantity.of or self.targets

    def declared(self, quantity: Quantity, **changes: Any) -> Measure:
        """Return the measure of a quantity, with its price."""
        metric = self.metric_of(quantity)
        given: dict[str, Any] = {
            "name": quantity.called,
            "targets": self.targets_of(quantity),
            "price": self._price(quantity),
            "decides": quantity.decides,
            "undefined": quantity.absent == "leave out",
            "infinite": metric.maximum == float("inf"),
        }
        given |= {"title": quantity.title} if quantity.title else {}
        given |= {"digits": quantity.digits} if quantity.digits is not None else {}
        return Measure.by(metric, **(given | changes))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Every quantity, as it is measured of a row."""
        return tuple(self.declared(quantity) for quantity in self.quantities)

    def _price(self, quantity: Quantity) -> Price | None:
        """Return the price of a quantity: one for all targets, or a function of the target."""
        if quantity.failed is None:
            return None
        if not isinstance(quantity.failed, Mapping):
            return self._single_price(quantity.failed)
        prices = {target: self._single_price(cost) for target, cost in quantity.failed.items()}
        if len({price.words for price in prices.values()}) == 1:
            return next(iter(prices.values()))

        def cost(truth: Any, row: str, target: str) -> float:
            amount = prices[target].of(truth, row, target)
            assert amount is not None
            return amount

        return Price(cost, ", ".join(f"{price.words} for {target}" for target, price in prices.items()))

    def _single_price(self, cost: float | str) -> Price:
        if isinstance(cost, float):
            return Price(cost)
        return NOT_RANKED if cost == "not ranked" else Price(self.costs[cost], cost)

    # Scoring.

    @property
    def criteria(self) -> tuple[tuple[Quantity, Measure], ...]:
        """What decides: each target of each quantity, as a column."""
        return tuple(
            (quantity, measure.at(target))
            for quantity, measure in zip(self.quantities, map(self.declared, self.quantities), strict=True)
            if quantity.decides and measure.judges
            for target in measure.targets
        )

    def _scoring(self, cube: Cube) -> Scoring:
        criteria = [
            Criterion(measure.as_column(), measure.key, self._weight(quantity, measure))
            for quantity, measure in self.criteria
        ]
        return Scoring(self.ranking, self.timing, self.time, criteria, cube, self.emphasis)

    @staticmethod
    def _weight(quantity: Quantity, measure: Measure) -> float:
        weight = for_target(quantity.weight, measure.key[1])
        return 1.0 if weight is None else weight

    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Score as the ranking rules say."""
        return self._scoring(cube).scores(weights, ranked)

    def ineligible(self, cube: Cube) -> Mapping[str, str]:
        """Name who does not meet the demands of eligibility."""
        return self._scoring(cube).ineligible(self.eligibility)

    def notes(self, cube: Cube) -> tuple[str, ...]:
        """Say what the declaration has to say, and that a submission to be outperformed is missing."""
        named = self.eligibility.better_than
        missing = (f"{named} was not measured, so nobody was asked to outperform it.",)
        return (*self.words.notes, *(missing if named and named not in cube.submissions else ()))

    @property
    def terms(self) -> tuple[str, ...]:
        """The criteria, and time where it counts."""
        time = (self.time.name,) if self.timing.weight else ()
        return (*(measure.column for _, measure in self.criteria), *time)

    @property
    def counts_time(self) -> bool:
        """Whether time is ranked or limited."""
        return self.timing.weight > 0 or self.timing.limit_seconds is not None

    @property
    def version(self) -> int:  # type: ignore[override]
        """The revision."""
        return self.revision

    @property
    def page(self) -> str:  # type: ignore[override]
        """Where the rules stand."""
        return self.words.page

    @property
    def summary(self) -> str:  # type: ignore[override]
        """The rules in a paragraph."""
        return self.words.summary

    @property
    def row_words(self) -> tuple[str, str]:  # type: ignore[override]
        """What a case is called."""
        return self.words.row

    @property
    def cluster_words(self) -> tuple[str, str]:  # type: ignore[override]
        """What cases that are drawn together are called."""
        return self.words.cluster

    # What is remembered.

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Name the options that a person may give: fields of a subclass of one's own."""
        own = {name for kind in cls.__mro__ if kind.__module__.startswith(__package__) for name in _fields(kind)}
        return tuple(name for name in super().option_names() if name not in own)

    @property
    def options(self) -> dict[str, Any]:
        """Return the whole declaration, so that a run folder makes the challenge again, and the options besides."""
        own = {"edition", *self.option_names()}
        held = self.model_dump(mode="json", exclude={"emphasis", *own}, exclude_defaults=True)
        rules = {key: held.pop(key) for key in _SCORING if key in held}
        return {
            **self.model_dump(mode="json", include=own),
            "declaration": {"kind": self.kind, **held},
            "rules": rules,
        }

    def varied(self, **changes: Any) -> Self:
        """Return the same challenge with other options; `declaration` and `rules` are as in `options`."""
        declaration = {key: value for key, value in changes.pop("declaration", {}).items() if key != "kind"}
        rules = changes.pop("rules", {})
        if declaration or rules:
            kept = {} if declaration else self._fields_but(_SCORING)
            changes = {**kept, **declaration, **rules, **changes}
            return self.made(**changes)
        return super().varied(**changes)

    def _fields_but(self, names: Sequence[str]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields if name not in names}

    @classmethod
    def made(cls, **options: Any) -> Self:
        """Return the challenge; what cannot be used is one clear line."""
        declaration = {key: value for key, value in options.pop("declaration", {}).items() if key != "kind"}
        try:
            return cls(**{**declaration, **options.pop("rules", {}), **options})
        except ValidationError as error:
            problem = refusal(cls, error)
            where = ".".join(map(str, problem.at))
            raise InputError(
                f"{where}: {problem.problem}" if where else problem.problem, advice=problem.advice
            ) from None

    # Checks of the declaration.

    def _check_quantity(self, place: int, quantity: Quantity) -> None:
        at = ("quantities", place)
        metric = self.metric_of(quantity)
        if not self.takes(metric):
            raise Misdeclared(
                f"{metric.name} is a metric of {metric.family}, which is not for {self.kind}",
                *(*at, "metric"),
                advice=f"`podium metrics` lists them; for {self.kind}: {', '.join(self._known_metrics())}",
            )
        for target in quantity.of:
            if target not in self.targets:
                raise Misdeclared(
                    f"there is nothing called {target!r} to measure", *at, "of", advice=nearest(target, self.targets)
                )
        targets = self.targets_of(quantity)
        if not targets:
            raise Misdeclared("there is nothing to measure", *at, advice="Declare labels or regions")
        tables = {"failed": quantity.failed, "weight": quantity.weight, **quantity.options}
        for key, table in tables.items():
            if isinstance(table, Mapping):
                for target in table:
                    if target not in targets:
                        raise Misdeclared(
                            f"{target!r} is not what this is measured of",
                            *at,
                            key,
                            target,
                            advice=nearest(target, targets),
                        )
                if key == "failed" and (open_ := [target for target in targets if target not in table]):
                    raise Misdeclared(
                        f"what a failed case costs for {open_[0]!r} is left open", *at, key, advice="Add it"
                    )
        if metric.direction is Direction.NONE or not quantity.decides:
            return
        self._check_price(at, quantity, metric)

    def _check_price(self, at: tuple[str | int, ...], quantity: Quantity, metric: Metric[..., Any]) -> None:
        name = metric.name
        if metric.direction is Direction.ZERO:
            raise Misdeclared(
                f"{name} is best at zero, so that means of it cancel out and cannot be ranked",
                *(*at, "metric"),
                advice="Write decides = false to show it only, or take another metric",
            )
        if quantity.failed is None:
            raise Misdeclared(
                f"it is not said what a failed case costs in {name}",
                *at,
                advice=f'Write failed = {_worst(metric)}, or failed = "not ranked"',
            )
        prices = quantity.failed if isinstance(quantity.failed, Mapping) else {"": quantity.failed}
        for target, cost in prices.items():
            where = (*at, "failed", *((target,) if target else ()))
            if isinstance(cost, str):
                self._check_words(where, cost, metric, table=bool(target))
                continue
            if not metric.minimum <= cost <= metric.maximum:
                raise Misdeclared(
                    f"{cost:g} is no value of {name}, which lies from {metric.minimum:g} to {metric.maximum:g}",
                    *where,
                    advice=f"Write {_worst(metric)}",
                )
            if cost == metric.perfect:
                raise Misdeclared(
                    f"{cost:g} is the best value of {name}, so that whoever fails would win",
                    *where,
                    advice=f"Write {_worst(metric)}",
                )
        if metric.empty.get("both", 0.0) != metric.empty.get("both", 0.0) and quantity.absent == "count":
            raise Misdeclared(
                f"{name} has no value where truth and prediction are both empty",
                *at,
                advice='Write absent = "leave out" to leave out cases whose truth is empty',
            )

    def _check_words(self, where: tuple[str | int, ...], cost: str, metric: Metric[..., Any], *, table: bool) -> None:
        known = ["not ranked", *self.costs]
        if cost not in known:
            raise Misdeclared(
                f"no price is called {cost!r}", *where, advice=f"{nearest(cost, known)} Or write a number"
            )
        if cost == "not ranked" and table:
            raise Misdeclared('"not ranked" holds for all targets alike', *where, advice='Write failed = "not ranked"')
        if cost != "not ranked" and metric.unit != "mm":
            raise Misdeclared(
                f"{cost!r} is a length, and {metric.name} is not measured in mm",
                *where,
                advice=f"Write {_worst(metric)}",
            )

    def _known_metrics(self) -> list[str]:
        from podium.metrics.registry import metrics

        return [metric.name for metric in metrics() if self.takes(metric)]

    def _check_ranking(self) -> None:
        rules, criteria = self.ranking, self.criteria
        if not criteria:
            raise Misdeclared("nothing decides", "quantities", 0, advice="Let one measure decide: decides = true")
        if not sum(self._weight(*criterion) for criterion in criteria) + self.timing.weight > 0:
            raise Misdeclared(
                "no criterion counts anything", "quantities", 0, "weight", advice="Give one a weight above 0"
            )
        columns = {measure.column: measure for _, measure in criteria}
        if rules.scheme == "weighted mean":
            self._check_mean(criteria)
        if rules.test is not None and rules.scheme not in ("mean rank", "test then rank"):
            raise Misdeclared(
                f"{rules.scheme!r} makes no test",
                "ranking",
                "test",
                advice='Leave it out, or write scheme = "mean rank"',
            )
        if rules.scheme == "test then rank" and rules.statistic != "mean":
            raise Misdeclared("a test has no use for a statistic", "ranking", "statistic", advice="Leave it out")
        if rules.test is not None and rules.statistic != "mean":
            raise Misdeclared(
                "only means are tested", "ranking", "statistic", advice="Leave it out, or leave out the test"
            )
        for name in rules.ties:
            if name not in (*columns, self.time.name):
                raise Misdeclared(
                    f"there is no column {name!r}", "ranking", "ties", advice=nearest(name, (*columns, self.time.name))
                )
        for key in ("at_least", "at_most"):
            for name, limit in getattr(self.eligibility, key).items():
                if name not in columns:
                    raise Misdeclared(
                        f"there is no column {name!r}", "eligibility", key, name, advice=nearest(name, columns)
                    )
                low, high = columns[name].minimum, columns[name].maximum
                if not low <= limit <= high:
                    raise Misdeclared(
                        f"{limit:g} is no value of {name}, which lies from {low:g} to {high:g}",
                        "eligibility",
                        key,
                        name,
                    )

    def _check_mean(self, criteria: Sequence[tuple[Quantity, Measure]]) -> None:
        first = criteria[0][1]
        for quantity, measure in criteria:
            at = ("quantities", self.quantities.index(quantity), "metric")
            advice = 'Write scheme = "mean rank", or decides = false for one of them'
            if measure.direction is not first.direction:
                raise Misdeclared(
                    f"{first.name} and {measure.name} are not better in the same direction", *at, advice=advice
                )
            if measure.unit != first.unit:
                units = (m.unit or "a plain number" for m in (first, measure))
                raise Misdeclared(
                    "a weighted mean cannot add up {} ({}) and {} ({})".format(
                        *(x for pair in zip((first.name, measure.name), units, strict=True) for x in pair)
                    ),
                    *at,
                    advice=advice,
                )
        if self.timing.weight:
            raise Misdeclared(
                "a weighted mean cannot add up seconds", "timing", "weight", advice='Write scheme = "mean rank"'
            )


def _fields(kind: type) -> set[str]:
    return set(kind.__dict__.get("__annotations__", {}))


def _worst(metric: Metric[..., Any]) -> str:
    """Return what the price of a metric may be."""
    end = metric.minimum if metric.direction is Direction.HIGHER else metric.maximum
    return f"{end:g}" if abs(end) != float("inf") else ('"image diagonal"' if metric.unit == "mm" else "a number")
