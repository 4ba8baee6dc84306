"""What a challenge is: its quantities, its files, how one case is measured, and how the whole is scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from podium.model.cube import Cube, Floats, Scores
from podium.model.errors import InputError
from podium.model.metric import Direction
from podium.model.views import View

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TOLERANCE_SCALES", "Case", "Challenge", "Expected", "Quantity", "Role", "Status", "Value"]

TOLERANCE_SCALES = {1.0: "", 0.5: "_half_tolerance", 2.0: "_double_tolerance"}
"""Multiples of a tolerance that are measured beside it, to see what depends on it, and what names of metrics end in."""


class Status(StrEnum):
    """What became of a value."""

    OK = "ok"
    MISSING = "missing"
    INVALID = "invalid"
    UNDEFINED = "undefined"


class Role(StrEnum):
    """Who a submission stands for; only competitors are ranked."""

    COMPETITOR = "competitor"
    BASELINE = "baseline"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is measured of every case.

    Attributes
    ----------
    metric
        Its name in tables, unique together with a target.
    title
        Its name for people.
    unit
        "mm", "s", … or "" for a plain number.
    direction
        Which values are better.
    targets
        What it is measured of: regions, structures, indices; ("",) if there is only one thing.
    price
        What a failed case costs, in words that a participant understands.
    """

    metric: str
    title: str
    unit: str
    direction: Direction
    price: str
    targets: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Case:
    """The unit of work: read the truth once, measure every submission against it.

    Attributes
    ----------
    name
        Its name, which is also that of its row unless one file holds many rows.
    files
        The truth's files, which are hashed for the record.
    """

    name: str
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """What a challenge expects of one prediction: acceptable file names, the first of them the usual one."""

    case: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One measured number, or the reason why there is none.

    Attributes
    ----------
    case
        The row: the smallest unit that a rule uses.
    metric, target
        Which quantity, of what.
    value
        The number; for a failed case its price; None where there is no number.
    unit
        A part of the row, such as a frame, where numbers below the level of the rules are reported; "" for the row.
    status, reason
        What happened, in words that a participant can act on; a reason beside a good status is a warning.
    """

    case: str
    metric: str
    value: float | None
    target: str = ""
    unit: str = ""
    status: Status = Status.OK
    reason: str = ""


@dataclass
class Challenge(ABC):
    """A challenge in one edition of its rules, ready to measure and to score.

    Subclasses are found in `podium.challenges` and by the entry-point group `podium.challenges`.
    """

    name: ClassVar[str]
    """As on the command line."""
    title: ClassVar[str]
    """For people."""
    page: ClassVar[str]
    """Where the rules stand."""
    summary: ClassVar[str]
    """The rules in a paragraph."""
    editions: ClassVar[tuple[str, ...]] = ("document", "code")
    """`document`: what the page says. `code`: what the organisers' own code does."""
    scoring_options: ClassVar[tuple[str, ...]] = ()
    """Options that change scores but not measurements, so that they can be given when ranking again."""
    version: ClassVar[int] = 1
    """Raised whenever the same input would give another number."""

    edition: str = "document"
    emphasis: Mapping[str, float] = field(default_factory=dict, kw_only=True, repr=False)
    """By how much the weight of a term is changed, to see what depends on it; 1 unless said otherwise, 0 drops it."""

    def __post_init__(self) -> None:
        if self.edition not in self.editions:
            raise InputError(
                f"{self.title} has no rules called {self.edition!r}", advice=f"There are: {', '.join(self.editions)}"
            )
        if unknown := sorted(set(self.emphasis) - set(self.terms)):
            raise InputError(
                f"{self.title} has no term called {unknown[0]!r}",
                advice=f"There are: {', '.join(self.terms) or 'none'}",
            )

    @property
    @abstractmethod
    def quantities(self) -> tuple[Quantity, ...]:
        """What is measured of every row."""

    @abstractmethod
    def cases(self, truth: Path) -> list[Case]:
        """Find the cases of the truth, sorted by name; read what all of them need, such as a calibration."""

    @abstractmethod
    def expected(self, case: Case) -> Expected:
        """Say how a prediction of a case is called."""

    @abstractmethod
    def load(self, case: Case) -> Any:
        """Read the truth of a case."""

    @abstractmethod
    def measure(self, case: Case, truth: Any, prediction: Path) -> list[Value]:
        """Measure one prediction; raise InputError where it cannot be used."""

    @abstractmethod
    def failed(self, case: Case, truth: Any, status: Status, reason: str) -> list[Value]:
        """Return what a case costs that is missing or cannot be used."""

    def baselines(self) -> tuple[str, ...]:
        """Name the baselines that need no submission, since they follow from the truth."""
        return ()

    def measure_baseline(self, name: str, case: Case, truth: Any) -> list[Value]:
        """Measure such a baseline."""
        raise NotImplementedError(name)

    def people(self) -> tuple[str, ...]:
        """Name the people who are shown as a reference, since their agreement follows from the truth."""
        return ()

    def measure_people(self, name: str, case: Case, truth: Any) -> list[Value]:
        """Measure how far such people agree with one another."""
        raise NotImplementedError(name)

    def check(self, case: Case | None, prediction: Path) -> list[str]:
        """Say everything that is wrong with a prediction and can be seen without the truth."""
        raise NotImplementedError

    def weight(self, term: str) -> float:
        """Return by how much the weight of a term is changed."""
        return self.emphasis.get(term, 1.0)

    @property
    def decisive(self) -> tuple[tuple[str, str], ...]:
        """The quantities (metric, target) that general schemes rank by: all that judge, but the time."""
        return tuple(
            (quantity.metric, target)
            for quantity in self.quantities
            if quantity.direction is not Direction.NONE and quantity.metric != "seconds"
            for target in quantity.targets
        )

    @property
    def terms(self) -> tuple[str, ...]:
        """What the score weighs against one another: the names that `emphasis` understands."""
        return ()

    def alternatives(self, cube: Cube) -> Mapping[str, Challenge]:  # noqa: ARG002
        """Name further ways to score the same measurements that others would have found as sensible."""
        return {}

    def views(self, case: Case, truth: Any, prediction: Path, *, images: Path | None = None) -> list[View]:  # noqa: ARG002
        """Show what people look at in one prediction of a case, on the case's image where that is given."""
        return []

    def overviews(self, measurements: pl.DataFrame) -> list[View]:  # noqa: ARG002
        """Show what people look at over all cases of one submission, from its measurements alone."""
        return []

    def cluster(self, row: str) -> str:
        """Name what a row is drawn with when cases are resampled: itself, or the subject it belongs to."""
        return row

    def notes(self, cube: Cube) -> tuple[str, ...]:  # noqa: ARG002
        """Say what a reader of the leaderboard should know about it."""
        return ()

    def ineligible(self, cube: Cube) -> Mapping[str, str]:  # noqa: ARG002
        """Name the submissions that do not qualify for a rank, and why; decided once, on the full data."""
        return {}

    @abstractmethod
    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Score every submission under each set of row weights.

        Parameters
        ----------
        cube
            Values of all submissions, rows and quantities.
        weights
            One non-negative weight per row, shape (sets, rows); all ones for the published ranking.
        ranked
            Which submissions compete; ranks and normalisations run over these only.
        """
