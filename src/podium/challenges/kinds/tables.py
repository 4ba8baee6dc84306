"""Regression and classification: one table of numbers for all cases, a line each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import model_validator

from podium.challenges.kinds.algorithm_inputs import FileInterface, LineInterface
from podium.challenges.kinds.declarations import DeclaredTable, Misdeclared, Names, Quantity, Truth
from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.exclusive import MAY_IMPROVE, is_joint, joint_sides, read_one_of
from podium.challenges.kinds.file_names import FileNames
from podium.challenges.kinds.patterns import Pattern
from podium.challenges.kinds.scoring import Criterion
from podium.io.tables import read_csv
from podium.metrics.families import option_types
from podium.model import (
    NOT_RANKED,
    Case,
    Column,
    Cube,
    Direction,
    Floats,
    InputError,
    Measure,
    Metric,
    Price,
    Status,
    Value,
)
from podium.model.errors import shortened
from podium.model.measure import Cost

__all__ = ["Classes", "ClassificationChallenge", "Numbers", "RegressionChallenge", "TableFiles"]

Lines = Mapping[str, Mapping[str, float]]
"""By target, the number of each row."""

WRONG = "wrong"


class TableFiles(FileNames):
    """How the tables are called, and what the names in their first column are made of."""

    truth: Pattern = Pattern("truth.csv")
    """The table of the truth, seen from its folder."""
    case: Pattern | None = Pattern("{case}")
    """How rows are called, with parts that clusters and strata are made of, such as `{subject}_{visit}`."""

    @model_validator(mode="after")
    def _parts_are_known(self) -> TableFiles:
        known = self.case_name.parts
        for key, pattern in (("truth", self.truth), *(("prediction", own) for own in self.prediction)):
            if pattern.parts:
                raise Misdeclared(
                    f"one table holds all cases, so {pattern} has no parts", key, advice="Write a plain name"
                )
        for key, own in {"cluster": self.cluster, "stratum": self.stratum}.items():
            if own is not None and (unknown := own.lacks(known)):
                problem = f"{{{unknown[0]}}} is no part of case = {self.case_name.text!r}"
                raise Misdeclared(problem, key, advice=f"Its parts are: {', '.join(known)}")
            if own is not None and not own.parts:
                self.refuse_constant(key, own, known)
        for pattern in self.inputs:
            if sorted(pattern.parts) != sorted(known):
                problem = f"{pattern} has not the parts of case = {self.case_name.text!r}"
                raise Misdeclared(problem, "inputs", advice=f"Name: {', '.join(known)}")
        self.check_inputs()
        return self


class Numbers(DeclaredTable):
    """What is predicted, as the columns of both tables name it."""

    columns: Names
    """The columns."""
    unit: str = ""
    """Of the numbers."""


class Classes(DeclaredTable):
    """What is told of every case, as the columns of both tables name it: 0 or 1, or a probability of 1."""

    columns: Names
    """The columns; where they are exclusive and have an order, in it."""
    exclusive: Truth = False
    """Whether exactly one of them is true of every case; a column `class` may then name it in place of the others."""


class TableChallenge(DeclaredChallenge):
    """What regression and classification have in common: rows are lines of one table."""

    asks_by: ClassVar[type[FileInterface]] = LineInterface
    reserved: ClassVar[tuple[str, ...]] = ("error", "reference", "prediction")

    files: TableFiles

    def cases(self, truth: Path) -> list[Case]:
        """Find the table of the truth, which is one case with many rows."""
        path = truth / self.files.truth.text
        if not path.is_file():
            raise InputError(f"there is no {self.files.truth} here", path=truth, advice="Is this the truth?")
        return [Case(path.stem, (path,), tuple(pattern.text for pattern in self.files.prediction))]

    @property
    def contents(self) -> tuple[str, ...]:
        """The lines and columns of the table."""
        return (
            f"One table with the columns case, {', '.join(self.targets)}, separated by commas: {self.said}.",
            f"A line for each {self.words.row[0]}, called like {self.files.case_name}.",
        )

    @property
    def said(self) -> str:
        """What the numbers of a table are."""
        return "numbers"

    def rows(self, case: Case, truth: Lines) -> tuple[str, ...]:  # noqa: ARG002  # what every challenge is given
        """Name the lines."""
        return tuple(truth[self.targets[0]])

    def read(self, path: Path) -> Lines:
        """Read the numbers of every column."""
        table = read_csv(path, self.targets)
        return {
            target: dict(zip(table.names, numbers.tolist(), strict=True)) for target, numbers in table.columns.items()
        }

    def unusable(self, number: float) -> str:
        """Say why a number cannot be a prediction; nothing if it can."""
        return "" if math.isfinite(number) else "there is no finite number"

    def load(self, case: Case) -> Lines:
        """Read the truth, which must be whole."""
        truth = self.read(case.files[0])
        for row in truth[self.targets[0]]:
            self.files.check_row(row, case.files[0])
        for target, numbers in truth.items():
            if odd := [row for row, number in numbers.items() if self.unusable(number)]:
                raise InputError(f"the truth of {target!r} cannot be used for {shortened(odd)}", path=case.files[0])
        return truth

    def measure(self, case: Case, truth: Lines, prediction: Path) -> list[Value]:  # noqa: ARG002  # what every challenge is given
        """Measure every line; what is missing or no number fails alone."""
        guess = self.read(prediction)
        if not set(truth[self.targets[0]]) & set(guess[self.targets[0]]):
            names = shortened(list(guess[self.targets[0]]), most=3)
            raise InputError(f"no line is called like a case of the truth, but {names}", path=prediction)
        return [
            value
            for target in self.targets
            for row, true in truth[target].items()
            for value in self._line_values(row, target, true, guess[target].get(row))
        ]

    def _line_values(self, row: str, target: str, true: float, number: float | None) -> list[Value]:
        reason = "there is no line for it" if number is None else self.unusable(number)
        numbers = {} if number is None or reason else self.numbers(true, number)
        own = [measure for measure in self.measures if target in measure.targets]
        values = []
        for measure in own:
            if reason:
                status = Status.MISSING if number is None else Status.INVALID
                values.append(Value(row, measure.name, None, target, status=status, reason=f"{target}: {reason}"))
            else:
                values.append(Value(row, measure.name, numbers.get(measure.name, numbers["error"]), target))
        return values

    def numbers(self, true: float, number: float) -> dict[str, float]:
        """Return what is known of one line; `error` is that of every quantity that has none of its own."""
        return {"reference": true, "prediction": number, "error": abs(number - true)}

    def check(self, case: Case | None, prediction: Path) -> list[str]:
        """Say what is wrong with a table; of a case, also which of its lines are missing."""
        try:
            guess = self.read(prediction)
        except InputError as error:
            return [error.with_advice]
        problems = []
        wanted = self.load(case)[self.targets[0]] if case is not None and case.files else None
        for target, numbers in guess.items():
            odd = [r for r, n in numbers.items() if self.unusable(n) and (wanted is None or r in wanted)]
            problems += [f"{target}: {self.unusable(numbers[odd[0]])} for {shortened(odd)}"] if odd else []
        absent = [row for row in wanted or () if row not in guess[self.targets[0]]]
        return problems + ([f"there is no line for {shortened(absent)}"] if absent else [])

    def pooled(self, quantity: Quantity) -> bool:
        """Whether a quantity is computed of all rows together, and is no mean of theirs."""
        return quantity.metric not in ("mean_absolute_error", "brier_score")

    def _reference(self) -> Measure:
        """Return what is true of a row, which whoever fails has as well."""

        def true(truth: Lines, row: str, target: str) -> float:
            return truth[target][row]

        price = Price(true, "what is true, as for everybody", caps=False)
        return Measure("reference", "Truth", targets=self.targets, price=price, decides=False)

    def criterion(self, quantity: Quantity, measure: Measure, cube: Cube) -> Criterion:
        """Return what decides, computed of all rows together where it is no mean."""
        single = super().criterion(quantity, measure, cube)
        if not self.pooled(quantity):
            return single
        metric, target = self.metric_of(quantity), measure.key[1]
        options = self.options_of(quantity, target)
        reference, prediction = self.sides(quantity, target, cube)

        def pooled(weights: Floats) -> Column:
            values = np.full((len(weights), len(cube.submissions)), np.nan)
            for place, (true, guess) in enumerate(zip(reference, prediction, strict=True)):
                if np.isfinite(guess).all():
                    values[:, place] = metric(true, guess, weights=weights, **options)
            return Column(single.measure, values, smooth=True)

        return replace(single, pooled=pooled)

    def sides(self, quantity: Quantity, target: str, cube: Cube) -> tuple[Floats, Floats]:
        """Return what a metric compares, each of shape (submissions, rows)."""
        raise NotImplementedError


class RegressionChallenge(TableChallenge):
    """Numbers: how far they are from the true ones, or how well they agree.

    Examples
    --------
    >>> challenge = RegressionChallenge(
    ...     name="bone-age",
    ...     files={"prediction": "predictions.csv"},
    ...     table={"columns": ["months"], "unit": "months"},
    ...     quantities=[{"metric": "mean_absolute_error", "failed": 120}],
    ... )
    >>> challenge.terms
    ('mean_absolute_error_months',)
    """

    kind: ClassVar[str] = "regression"

    table: Numbers
    """What is predicted."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns."""
        return self.table.columns

    @property
    def said(self) -> str:
        """What the numbers of a table are."""
        return f"numbers in {self.table.unit}" if self.table.unit else "numbers"

    @classmethod
    def takes(cls, metric: Metric[..., Any]) -> bool:
        """Whether it is a metric of numbers that takes any weights."""
        return metric.family == "regression" and "percentile" not in metric.name and "median" not in metric.name

    @staticmethod
    def _is_error(quantity: Quantity) -> bool:
        return quantity.metric in ("mean_absolute_error", "root_mean_square_error")

    def misfit(self, quantity: Quantity, metric: Metric[..., Any]) -> tuple[str, str] | None:
        """Refuse a price of what has none for a single case."""
        if self._is_error(quantity) or quantity.failed == "not ranked":
            return None
        return f"one case has no {metric.name}, and so no price in it", 'Write failed = "not ranked"'

    def measure_of(self, quantity: Quantity, **changes: Any) -> Measure:
        """Return the measure of a quantity, in the unit of the numbers."""
        own = {"unit": self.table.unit, "infinite": False} if self._is_error(quantity) else {"infinite": False}
        return super().measure_of(quantity, **{**own, **changes})

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The error of a row, with the price of each quantity; and both numbers, where they are needed together."""
        errors = [self.measure_of(quantity) for quantity in self.quantities if self._is_error(quantity)]
        joint = [quantity for quantity in self.quantities if not self._is_error(quantity)]
        if not joint:
            return tuple(errors)
        decides = any(quantity.decides for quantity in joint)
        error = Measure("error", "Absolute error", Direction.LOWER, self.table.unit, 0.0, targets=self.targets)
        error = replace(error, price=NOT_RANKED if decides else None, decides=decides)
        guess = Measure("prediction", "Prediction", targets=self.targets, decides=False)
        return (*errors, error, self._reference(), guess)

    def sides(self, quantity: Quantity, target: str, cube: Cube) -> tuple[Floats, Floats]:
        """Return both numbers; or nothing and the errors, where these may be prices."""
        if self._is_error(quantity):
            errors = cube.of(quantity.called, target)
            return np.zeros(errors.shape), errors
        return cube.of("reference", target), cube.of("prediction", target)


class ClassificationChallenge(TableChallenge):
    """Probabilities of one or several labels, each yes or no: how well they tell cases apart, and how true they are.

    A failed case may count as wrong: as the probability that is farthest from the truth.

    Examples
    --------
    >>> challenge = ClassificationChallenge(
    ...     name="chest",
    ...     files={"prediction": "predictions.csv"},
    ...     classes={"columns": ["effusion", "nodule"]},
    ...     quantities=[{"metric": "area_under_roc", "failed": "wrong"}],
    ... )
    >>> challenge.terms
    ('area_under_roc_effusion', 'area_under_roc_nodule')
    """

    kind: ClassVar[str] = "classification"
    costs: ClassVar[Mapping[str, Cost]] = {WRONG: lambda *_: 1.0}

    classes: Classes
    """What is told of every case."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns."""
        return self.classes.columns

    @property
    def said(self) -> str:
        """What the numbers of a table are."""
        return "probabilities from 0 to 1"

    @classmethod
    def takes(cls, metric: Metric[..., Any]) -> bool:
        """Whether it is a metric of probabilities."""
        return metric.family == "probabilities" or is_joint(metric.name)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse metrics of exclusive classes where these are not, and what they cannot be asked."""
        for number, quantity in enumerate(self.quantities):
            if not is_joint(quantity.metric):
                continue
            at = ("quantities", number)
            if not self.classes.exclusive:
                problem = f"{quantity.metric} is of classes of which exactly one is true"
                raise Misdeclared(problem, *at, "metric", advice="Write exclusive = true in [classes], if it is so")
            for key in (*(["of"] if quantity.of else []), *(key for key in quantity.options if key == "classes")):
                raise Misdeclared(f"{quantity.metric} is of all classes together", *at, key, advice="Leave it out")
        super().model_post_init(context)

    def targets_of(self, quantity: Quantity) -> tuple[str, ...]:
        """Return what a quantity is measured of: each class, or all of them together."""
        return ("",) if is_joint(quantity.metric) else super().targets_of(quantity)

    def options_of(self, quantity: Quantity, target: str) -> dict[str, Any]:
        """Return the options of a metric; it must know the classes, of which one may not occur."""
        options = super().options_of(quantity, target)
        known, _ = option_types(self.metric_of(quantity))
        return {**options, **({"classes": range(len(self.targets))} if "classes" in known else {})}

    def read(self, path: Path) -> Lines:
        """Read the probabilities of every class."""
        return read_one_of(path, self.targets) if self.classes.exclusive else super().read(path)

    def perfect_value(self, metric: Metric[..., Any], options: Mapping[str, Any]) -> float:
        """Try probabilities that are the truth."""
        if is_joint(metric.name):
            truth = np.eye(len(self.targets))
            return float(metric(*joint_sides(metric.name, truth, truth, np.zeros(len(truth), bool)), **options))
        return float(metric([0, 1], [0, 1], **options))

    def worst_price(self, metric: Metric[..., Any]) -> str:
        """Return the price that fits."""
        return '"not ranked"' if metric.name in MAY_IMPROVE else f'"{WRONG}"'

    def misfit(self, quantity: Quantity, metric: Metric[..., Any]) -> tuple[str, str] | None:
        """Refuse prices by which failing could pay, or would be infinite."""
        costs = quantity.failed.values() if isinstance(quantity.failed, Mapping) else [quantity.failed]
        for cost in costs:
            if not isinstance(cost, str):
                return (
                    f"one case has no {metric.name}, and so no price in it",
                    f"Write failed = {self.worst_price(metric)}",
                )
            if cost == WRONG and metric.name in MAY_IMPROVE:
                return f"a wrong case may improve {metric.name}", 'Write failed = "not ranked", or decides = false'
            if cost == WRONG and metric.maximum == math.inf and not quantity.options.get("floor"):
                return f"{metric.name} of a wrong case is infinite", "Write for example floor = 1e-6"
        return None

    def unusable(self, number: float) -> str:
        """Say why a number is no probability."""
        if not math.isfinite(number):
            return "there is no finite number"
        return "" if 0 <= number <= 1 else f"{number:g} is no probability, from 0 to 1"

    def load(self, case: Case) -> Lines:
        """Read the truth: 0 or 1."""
        truth = super().load(case)
        for target, numbers in truth.items():
            if odd := [row for row, number in numbers.items() if number not in (0, 1)]:
                raise InputError(f"the truth of {target!r} is neither 0 nor 1 for {shortened(odd)}", path=case.files[0])
        return truth

    @property
    def contents(self) -> tuple[str, ...]:
        """The lines and columns of the table."""
        if not self.classes.exclusive:
            return super().contents
        names = ", ".join(self.targets)
        return (
            f"One table with the columns case and class, separated by commas: one of {names}.",
            f"Or with the columns case, {names}: probabilities from 0 to 1 that add up to 1; the highest is the class.",
            *super().contents[1:],
        )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How far a probability is from the truth, the truth, and the probability."""
        unranked = any(quantity.decides and quantity.failed == "not ranked" for quantity in self.quantities)
        price = NOT_RANKED if unranked else Price(self.costs[WRONG], "counts as wrong")
        error = Measure("error", "Distance from the truth", Direction.LOWER, "", 0.0, 1.0, self.targets, price)
        return error, self._reference(), self._probability(unranked=unranked)

    def _probability(self, *, unranked: bool) -> Measure:
        """Return what is predicted, to the last digit: equal ones are tied, and no distance tells them so well."""

        def wrong(truth: Lines, row: str, target: str) -> float:
            return 1 - truth[target][row]

        price = None if unranked else Price(wrong, "counts as wrong", caps=False)
        return Measure("prediction", "Probability", Direction.NONE, "", 0.0, 1.0, self.targets, price, decides=False)

    def sides(self, quantity: Quantity, target: str, cube: Cube) -> tuple[Floats, Floats]:
        """Return the truth and the probabilities; of exclusive classes, all together."""
        if is_joint(quantity.metric):
            truth, chances = (
                np.stack([cube.of(name, own) for own in self.targets], axis=-1) for name in ("reference", "prediction")
            )
            return joint_sides(quantity.metric, truth, chances, cube.failed)
        return cube.of("reference", target), cube.of("prediction", target)

    def pooled(self, quantity: Quantity) -> bool:  # noqa: ARG002  # as for all
        """Every metric is of all rows together."""
        return True
