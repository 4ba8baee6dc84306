"""A challenge that is declared rather than programmed: files, measures with prices, and ranking rules."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from podium.challenges.kinds.algorithm_inputs import FileInterface
from podium.challenges.kinds.declarations import (
    Eligibility,
    Misdeclared,
    PairedTest,
    Quantity,
    RankingRules,
    Timing,
    WholeNumber,
    Words,
    for_target,
)
from podium.challenges.kinds.file_names import FileNames
from podium.challenges.kinds.refusals import problems_of
from podium.challenges.kinds.rules_in_words import placing_words
from podium.challenges.kinds.scoring import Criterion, Scoring
from podium.challenges.kinds.soundness import check_quantities, check_ranking
from podium.metrics.families import option_types
from podium.metrics.registry import get_metric
from podium.model import (
    NOT_RANKED,
    Case,
    Challenge,
    Cube,
    Direction,
    Floats,
    InputError,
    Interface,
    Measure,
    Metric,
    Price,
    Scores,
)
from podium.model.errors import nearest
from podium.model.measure import Cost

__all__ = ["DOCUMENT", "DeclaredChallenge"]

_SCORING = ("title", "ranking", "eligibility", "timing", "words")
"""What changes leaderboards but no measurement."""
_FIXED = ("name", "variants", "edition", "emphasis")
"""What no edition changes."""

DOCUMENT = "document"
"""The edition that is declared first."""


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
    asks_by: ClassVar[type[FileInterface]] = FileInterface
    """How algorithms are asked, where inputs are declared."""
    reserved: ClassVar[tuple[str, ...]] = ()
    """Names of measures of its own, which no quantity may have."""
    scoring_options: ClassVar[tuple[str, ...]] = ("rules",)

    name: str  # type: ignore[misc]  # each challenge of a kind has its own
    """As in run folders: small letters, digits, - and _."""
    title: str = ""  # type: ignore[misc]  # likewise
    """For people; by default the name."""
    revision: WholeNumber = Field(default=1, ge=1)
    """Raised whenever the same input would give another number."""
    files: FileNames
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
    variants: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Other editions of the rules: of each, the tables in which it differs, with the keys that it changes."""

    @model_validator(mode="before")
    @classmethod
    def _titled(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "title" in cls.model_fields and given.get("title", "") == "":
            return {**given, **({"title": given["name"]} if isinstance(given.get("name"), str) else {})}
        return given

    @model_validator(mode="before")
    @classmethod
    def _in_edition(cls, given: Any) -> Any:
        """Change the tables in which an edition differs, and keep what they are in the document."""
        if not isinstance(given, Mapping) or not isinstance(given.get("variants"), Mapping):
            return given
        variants, edition = dict(given["variants"]), given.get("edition", DOCUMENT)
        tables = {**given, **variants.pop(DOCUMENT, {})}
        changed = variants.get(edition, {})
        for name, table in changed.items():
            known = [field for field in cls.model_fields if field not in _FIXED]
            if name not in known:
                raise Misdeclared(f"an edition has no table {name!r}", name, advice=nearest(name, known))
            kept = _plain(tables.get(name, {}))
            variants.setdefault(DOCUMENT, {})[name] = kept
            tables[name] = {**kept, **table} if isinstance(table, Mapping) and isinstance(kept, Mapping) else table
        return {**tables, "variants": variants}

    @field_validator("name", check_fields=False)
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
            raise ValueError(f"a name has small letters, digits, - and _ only, as in brain-lesions, not {name!r}")
        return name

    def model_post_init(self, context: Any, /) -> None:
        """Refuse what cannot be measured or ranked, with the place in the declaration."""
        check_quantities(self)
        check_ranking(self)
        super().model_post_init(context)

    # What a kind must say.

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Everything that can be measured: what `of` may name."""

    @classmethod
    @abstractmethod
    def takes(cls, metric: Metric[..., Any]) -> bool:
        """Whether a metric can be measured of what is predicted."""

    # What a kind may say.

    def pooled(self, quantity: Quantity) -> bool:  # noqa: ARG002  # for kinds
        """Whether a quantity is computed of all rows together, and is no mean of theirs."""
        return False

    def misfit(self, quantity: Quantity, metric: Metric[..., Any]) -> tuple[str, str] | None:
        """Say why a price does not fit a metric, and what would; by default lengths are for metrics in mm only."""
        costs = quantity.failed.values() if isinstance(quantity.failed, Mapping) else [quantity.failed]
        length = next((cost for cost in costs if cost in self.costs), None)
        if length is None or metric.unit == "mm":
            return None
        problem = f"{length!r} is a length, and {metric.name} is not measured in mm"
        return problem, f"Write failed = {self.worst_price(metric)}"

    def perfect_value(self, metric: Metric[..., Any], options: Mapping[str, Any]) -> float | None:  # noqa: ARG002  # for kinds
        """Return what a perfect prediction has in a metric by some options; None where that is not tried."""
        return None

    def worst_price(self, metric: Metric[..., Any]) -> str:
        """Return what the price of a metric may be, to advise on."""
        end = metric.minimum if metric.direction is Direction.HIGHER else metric.maximum
        if math.isfinite(end):
            return f"{end:g}"
        lengths = [f'"{words}"' for words in self.costs if metric.unit == "mm"]
        return lengths[0] if lengths else "a number that is worse than any measured one"

    # Files.

    def cases(self, truth: Path) -> list[Case]:
        """Find every file of the truth that fits the pattern."""
        return self.files.cases(truth)

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

    def options_of(self, quantity: Quantity, target: str) -> dict[str, Any]:
        """Return the options of a quantity's metric for one target."""
        return quantity.options_of(target)

    def measure_of(self, quantity: Quantity, **changes: Any) -> Measure:
        """Return the measure of a quantity, with its price."""
        metric, targets = self.metric_of(quantity), self.targets_of(quantity)
        known, _ = option_types(metric)
        options = {
            target: {key: value for key, value in self.options_of(quantity, target).items() if key in known}
            for target in targets
        }
        given: dict[str, Any] = {
            "name": quantity.called,
            "targets": targets,
            "options": {target: own for target, own in options.items() if own},
            "price": self._price(quantity),
            "decides": quantity.decides,
            "undefined": quantity.absent == "leave out",
            "infinite": metric.maximum == float("inf"),
        }
        given["title"] = quantity.title or quantity.heading(metric, targets)
        given |= {"digits": quantity.digits} if quantity.digits is not None else {}
        return Measure.by(metric, **(given | changes))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Every quantity, as it is measured of a row."""
        return tuple(self.measure_of(quantity) for quantity in self.quantities)

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
        return tuple(pair for pair in self.columns if pair[0].decides and pair[1].judges)

    @property
    def columns(self) -> tuple[tuple[Quantity, Measure], ...]:
        """What is shown: each target of each quantity."""
        measures = zip(self.quantities, map(self.measure_of, self.quantities), strict=True)
        return tuple((quantity, measure.at(target)) for quantity, measure in measures for target in measure.targets)

    def _scoring(self, cube: Cube) -> Scoring:
        deciding: list[Criterion] = []
        others: list[Criterion] = []
        for quantity, measure in self.columns:
            chosen = deciding if quantity.decides and measure.judges else others
            chosen.append(self.criterion(quantity, measure, cube))
        return Scoring(self.ranking, self.timing, self.time, deciding, cube, self.emphasis, others)

    def criterion(self, quantity: Quantity, measure: Measure, cube: Cube) -> Criterion:  # noqa: ARG002  # for kinds
        """Return what decides, with its weight; by default a statistic of its rows."""
        return Criterion(measure.as_column(), measure.key, self.weight_of(quantity, measure))

    @staticmethod
    def weight_of(quantity: Quantity, measure: Measure) -> float:
        """Return by how much a criterion counts."""
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
        notes = list(self.words.notes)
        if named and named not in cube.submissions:
            notes.append(f"{named} was not measured, so nobody was asked to outperform it.")
        elif named and (unknown := self._scoring(cube).without_value(named)):
            notes.append(f"{named} has no value of {unknown}, so nobody was asked to outperform it there.")
        test = self.ranking.test or (PairedTest() if self.ranking.scheme == "test then rank" else None)
        if test is not None:
            adjusted = "" if test.adjustment == "none" else f" after adjustment ({test.adjustment})"
            sample = self.words.row[0] if self.files.cluster is None else self.words.cluster[0]
            notes.append(
                "Only significant differences count: paired Wilcoxon signed-rank test, one value per "
                f"{sample}, p < {test.alpha:g}{adjusted}."
            )
        return tuple(notes)

    @property
    def placing(self) -> tuple[str, ...]:
        """The ranking rules in words."""
        return placing_words(self)

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
    def editions(self) -> tuple[str, ...]:  # type: ignore[override]  # as declared
        """The document, and the other editions that are declared."""
        return (DOCUMENT, *(name for name in self.variants if name != DOCUMENT))

    @property
    def version(self) -> int:  # type: ignore[override]  # as declared
        """The revision."""
        return self.revision

    @property
    def page(self) -> str:  # type: ignore[override]  # as declared
        """Where the rules stand."""
        return self.words.page

    @property
    def summary(self) -> str:  # type: ignore[override]  # as declared
        """The rules in a paragraph."""
        return self.words.summary

    @property
    def row_words(self) -> tuple[str, str]:  # type: ignore[override]  # as declared
        """What a case is called."""
        return self.words.row

    @property
    def cluster_words(self) -> tuple[str, str]:  # type: ignore[override]  # as declared
        """What cases that are drawn together are called."""
        return self.words.cluster

    @property
    def interface(self) -> Interface | None:
        """The module `interface` beside the challenge's own, or whole files where inputs are declared."""
        return super().interface or (self.asks_by(self.files) if self.files.inputs else None)

    # A demo.

    @property
    def has_demo(self) -> bool:
        """Whether there is a module `demo` beside the challenge's own, or its kind can be made up."""
        from podium.challenges.kinds.phantoms import PHANTOMS

        return super().has_demo or self.kind in PHANTOMS

    def write_demo(self, folder: Path, *, seed: int = 0) -> None:
        """Write what the module `demo` beside the challenge's own does, or else made-up truth and teams."""
        from podium.challenges.kinds.phantoms import write_phantoms

        if super().has_demo:
            super().write_demo(folder, seed=seed)
        else:
            write_phantoms(self, folder, seed=seed)

    # What is remembered.

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Name the options that a person may give: fields of a subclass of one's own."""
        kinds = [
            kind for kind in cls.__mro__ if issubclass(kind, BaseModel) and kind.__module__.startswith(__package__)
        ]
        return tuple(name for name in super().option_names() if name not in kinds[0].model_fields)

    @property
    def options(self) -> dict[str, Any]:
        """Return the whole declaration, so that a run folder makes the challenge again, and the options besides.

        A subclass of one's own is found by its name, or given, and declares only what it was made to differ in.
        """
        chosen = self.model_dump(mode="json", include={"edition", *self.option_names()})
        held = self.model_dump(mode="json", exclude={"emphasis", *chosen}, exclude_defaults=True)
        rules = {key: held.pop(key) for key in _SCORING if key in held}
        if not type(self).__module__.startswith(__package__):
            return {**chosen, **({"declaration": held} if held else {}), **({"rules": rules} if rules else {})}
        return {**chosen, "declaration": {"kind": self.kind, **held}, "rules": rules}

    def varied(self, **changes: Any) -> Self:
        """Return the same challenge with other options; `declaration` and `rules` are as in `options`.

        A declaration takes the place of all that there is, rules of what they name.
        """
        kept = {} if "declaration" in changes else {name: getattr(self, name) for name in type(self).model_fields}
        return self.made(**{**kept, **changes})

    @classmethod
    def made(cls, **options: Any) -> Self:
        """Return the challenge; what cannot be used is one clear line."""
        declaration, rules = options.pop("declaration", {}), options.pop("rules", {})
        if not isinstance(declaration, Mapping) or not isinstance(rules, Mapping):
            raise InputError("a declaration and its rules are tables", advice="Change the challenge.toml, and --resume")
        given = {**options, **{key: value for key, value in declaration.items() if key != "kind"}, **rules}
        try:
            return cls(**given)
        except ValidationError as error:
            first = str(*error.errors()[0]["loc"][:1])
            if first in cls.option_names() or (first and not {first, "title"} & {*cls.model_fields}):
                return super().made(**given)  # which says what is wrong with options
            problem = problems_of(cls, error)[0]
            where = ".".join(map(str, problem.at))
            raise InputError(
                f"{where}: {problem.problem}" if where else problem.problem, advice=problem.advice
            ) from None


def _plain(table: Any) -> Any:
    """Return a table as it would be written down."""
    if isinstance(table, BaseModel):
        return table.model_dump(mode="json", exclude_defaults=True)
    return [_plain(one) for one in table] if isinstance(table, list | tuple) else table
