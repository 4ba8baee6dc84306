"""What a challenge is: its measures with their prices, its files, how one case is measured, how the whole is scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.model.cube import Cube, Floats, Scores
from podium.model.errors import InputError
from podium.model.handed import Handed
from podium.model.interfaces import Interface
from podium.model.measure import SECONDS, Measure
from podium.model.scenes import Scene
from podium.model.views import View

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TOLERANCE_SCALES", "Case", "Challenge", "OrganisersKeys", "Role", "Status", "Value"]

TOLERANCE_SCALES = {1.0: "", 0.5: "_half_tolerance", 2.0: "_double_tolerance"}
"""Multiples of a tolerance that are measured beside it, to see what depends on it, and how names of measures end."""


class Status(StrEnum):
    """What became of a value."""

    OK = "ok"
    MISSING = "missing"
    INVALID = "invalid"
    UNDEFINED = "undefined"

    @property
    def failed(self) -> bool:
        """Whether the prediction is to blame, so that its price is charged."""
        return self in (Status.MISSING, Status.INVALID)


class Role(StrEnum):
    """Who a submission stands for; only competitors are ranked."""

    COMPETITOR = "competitor"
    BASELINE = "baseline"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Case:
    """The unit of work: read the truth once, measure every submission against it.

    Attributes
    ----------
    name
        Its name, which is also that of its row unless one file holds many rows.
    files
        The truth's files.
    expected
        How the prediction may be called, the usual name first; `*` and `?` stand for anything.
    """

    name: str
    files: tuple[Path, ...] = ()
    expected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """One measured number, or the reason why there is none.

    Attributes
    ----------
    case
        The row: the smallest unit that a rule uses.
    metric, target
        Which measure, of what.
    value
        The number that counts; None where there is none. A challenge leaves it to the engine to charge prices.
    unit
        A part of the row, such as a frame, where numbers below the level of the rules are reported; "" for the row.
    status, reason
        What happened, in words that a participant can act on; a reason beside a good status is a warning.
    measured
        What was measured, where a price replaced it.
    """

    case: str
    metric: str
    value: float | None
    target: str = ""
    unit: str = ""
    status: Status = Status.OK
    reason: str = ""
    measured: float | None = None


@dataclass(frozen=True, slots=True)
class OrganisersKeys:
    """What the organisers' own results call things, so that a platform that was set up for them goes on working.

    Attributes
    ----------
    case
        Their key for the name of a case.
    results, aggregates
        Their keys for the values of a case and for what is told over all cases, by the keys of Podium's metrics.json.
    """

    case: str
    results: Mapping[str, str]
    aggregates: Mapping[str, str]


class Challenge(BaseModel, ABC):
    """A challenge in one edition of its rules, ready to measure and to score.

    Its fields are its options: declared with a type, a default and a line of explanation, and checked when it is made.
    An author must give seven members: `name`, `title`, `measures`, `cases`, `load`, `measure` and `score`. Everything
    else has a default that works.

    Subclasses are found in `podium.challenges` and by the entry-point group `podium.challenges`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, ignored_types=(property,))

    name: ClassVar[str]
    """As on the command line."""
    title: ClassVar[str]
    """For people."""
    page: ClassVar[str] = ""
    """Where the rules stand."""
    summary: ClassVar[str] = ""
    """The rules in a paragraph."""
    editions: ClassVar[tuple[str, ...]] = ("document",)
    """`document`: what the page says. `code`: what the organisers' own code does."""
    scoring_options: ClassVar[tuple[str, ...]] = ()
    """Options that change scores but not measurements, so that they can be given when ranking again."""
    version: ClassVar[int] = 1
    """Raised whenever the same input would give another number."""
    row_words: ClassVar[tuple[str, str]] = ("case", "cases")
    """What a row is called, one and several."""
    cluster_words: ClassVar[tuple[str, str]] = ("cluster", "clusters")
    """What rows that are drawn together are called, one and several: a subject, where `cluster` names subjects."""
    single_files: ClassVar[tuple[str, ...]] = ()
    """How a plain file is called that is a whole submission, where one file holds all rows; `*` is the team's name."""
    time: ClassVar[Measure] = SECONDS
    """What a submission's timing.csv is recorded as."""

    organisers_keys: ClassVar[OrganisersKeys | None] = None
    """What the organisers' own results call values and scores, where they are known."""

    edition: str = "document"
    """Which rules: `document` for what the page says, `code` for what the organisers' own code does."""
    emphasis: Mapping[str, float] = Field(default_factory=dict, repr=False)
    """By how much the weight of a term is changed, to see what depends on it; 1 unless said otherwise, 0 drops it."""

    def model_post_init(self, _: Any, /) -> None:
        """Refuse editions and terms that do not exist, and a declaration that leaves a price open."""
        if self.edition not in self.editions:
            raise InputError(
                f"{self.title} has no rules called {self.edition!r}", advice=f"There are: {', '.join(self.editions)}"
            )
        if unknown := sorted(set(self.emphasis) - set(self.terms)):
            raise InputError(
                f"{self.title} has no term called {unknown[0]!r}",
                advice=f"There are: {', '.join(self.terms) or 'none'}",
            )
        names = [measure.name for measure in (*self.measures, self.time)]
        if double := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{self.title} declares the measure {double[0]} twice")
        for measure in self.measures:
            if not (measure.judges and measure.decides):
                continue
            if measure.price is None:
                raise ValueError(f"{self.title} does not say what a failed case costs in {measure.name}")
            if measure.optional:
                raise ValueError(f"{self.title} decides by {measure.name}, which therefore cannot be optional")
            amount = measure.price.amount
            if isinstance(amount, int | float) and not measure.allows(amount):
                raise ValueError(f"{self.title}: the price of {measure.name} is {amount:g}, outside its range")

    # What an author must give.

    @property
    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """What is measured of every row, each with its range, its direction and its price."""

    @abstractmethod
    def cases(self, truth: Path) -> list[Case]:
        """Find the cases of the truth, sorted by name, each with its files and the names expected of a prediction."""

    @abstractmethod
    def load(self, case: Case) -> Any:
        """Read the truth of a case. Nobody may change what is returned."""

    @abstractmethod
    def measure(self, case: Case, truth: Any, prediction: Path) -> list[Value]:
        """Measure one prediction; raise InputError where it cannot be used.

        Where only a part cannot be used, its values have no number, a status and a reason. What failures cost is
        charged by the engine.
        """

    @abstractmethod
    def score(self, cube: Cube, weights: Floats, ranked: Sequence[bool]) -> Scores:
        """Score every submission under each set of row weights.

        Parameters
        ----------
        cube
            Values of all submissions, rows and measures.
        weights
            One non-negative weight per row, shape (sets, rows); all ones for the published ranking.
        ranked
            Which submissions compete; ranks and normalisations run over these only.
        """

    # Where algorithms hand over arrays.

    def measure_handed(self, case: Case, truth: Any, arrays: Handed) -> list[Value]:
        """Measure arrays that an algorithm hands over without a file; as `measure` does, and with the same result."""
        raise NotImplementedError

    @property
    def takes_arrays(self) -> bool:
        """Whether arrays are measured without a file: whether there is a `measure_handed`."""
        return type(self).measure_handed is not Challenge.measure_handed

    # What has a default that works: the truth.

    def prepared(self, truth: Path) -> Self:  # noqa: ARG002  # for those who replace it
        """Return the challenge with the options that stand beside the truth, where they were not given."""
        return self

    def rows(self, case: Case, truth: Any) -> tuple[str, ...]:  # noqa: ARG002  # for those who replace it
        """Name the rows of a case: itself, or what its one file holds."""
        return (case.name,)

    @property
    def naming(self) -> tuple[str, ...]:
        """How predictions are called, whatever the truth: patterns such as `case_*.nii.gz`; none if not known."""
        return ()

    @property
    def contents(self) -> tuple[str, ...]:
        """What a prediction holds, a line each, as `podium challenges` tells participants: labels, types, units."""
        return ()

    @property
    def placing(self) -> tuple[str, ...]:
        """How places are made, a line each, as `podium challenges` tells participants; by default the summary."""
        return (self.summary,) if self.summary else ()

    def cluster(self, row: str) -> str:
        """Name what a row is drawn with when cases are resampled: itself, or the subject it belongs to."""
        return row

    def stratum(self, row: str) -> str:  # noqa: ARG002  # for those who replace it
        """Name what a row is resampled among, such as its hospital; all rows have one by default."""
        return ""

    def truth_as_prediction(self, case: Case) -> Path | None:  # noqa: ARG002  # for those who replace it
        """Offer the truth as a prediction, to find out whether a case can be measured at all; None if it is none."""
        return None

    # Who is measured without a submission.

    @property
    def built_in(self) -> Mapping[str, Role]:
        """Baselines and people who are measured without a submission, since they follow from the truth."""
        return {}

    def measure_built_in(self, name: str, case: Case, truth: Any) -> list[Value]:  # noqa: ARG002  # for those who replace it
        """Measure one of those."""
        raise KeyError(name)

    # Checking and showing.

    def check(self, case: Case | None, prediction: Path) -> list[str]:  # noqa: ARG002  # for those who replace it
        """Say everything that makes an evaluation refuse a prediction and can be seen without the truth."""
        return []

    def doubts(self, case: Case | None, truth: Any, prediction: Path) -> list[str]:  # noqa: ARG002  # for those who replace it
        """Say what looks like a mistake in a prediction although an evaluation accepts it; both None without a truth.

        It may also explain why one is refused.
        """
        return []

    def views(self, case: Case, truth: Any, prediction: Path, *, images: Path | None = None) -> list[View]:  # noqa: ARG002  # for those who replace it
        """Show what people look at in one prediction of a case, on the case's image where that is given."""
        return []

    def scenes(self, case: Case, truth: Any, prediction: Path, *, images: Path | None = None) -> list[Scene]:  # noqa: ARG002  # for those who replace it
        """Show a prediction of a case to be moved through: volumes to scroll, films to play, sweeps to turn around."""
        return []

    def overviews(self, measurements: pl.DataFrame) -> list[View]:  # noqa: ARG002  # for those who replace it
        """Show what people look at over all cases of one submission, from its measurements alone."""
        return []

    @property
    def has_demo(self) -> bool:
        """Whether there is a module `demo` beside the challenge's own."""
        package = type(self).__module__.rpartition(".")[0]
        return bool(package) and find_spec(f"{package}.demo") is not None

    def write_demo(self, folder: Path, *, seed: int = 0) -> None:
        """Write synthetic data in the challenge's own layout: `truth/`, and one folder a team in `submissions/`.

        By default, `write` in the module `demo` beside the challenge's own does. Another seed gives other data.
        """
        if not self.has_demo:
            raise InputError(f"there is no demo of {self.title}", advice="It needs a module demo beside it")
        import_module(f"{type(self).__module__.rpartition('.')[0]}.demo").write(folder, seed=seed)

    # Running algorithms.

    @property
    def counts_time(self) -> bool:
        """Whether rules count time, so that algorithms are run one after the other, and never side by side."""
        return False

    @property
    def interface(self) -> Interface | None:
        """How participants' algorithms are asked; by default, `INTERFACE` in the module `interface` beside this one."""
        package = type(self).__module__.rpartition(".")[0]
        if not package or find_spec(f"{package}.interface") is None:
            return None
        made: Interface = import_module(f"{package}.interface").INTERFACE
        return made

    # Scoring.

    def ineligible(self, cube: Cube) -> Mapping[str, str]:  # noqa: ARG002  # for those who replace it
        """Name the submissions that do not qualify for a rank, and why; decided once, on the full data."""
        return {}

    def notes(self, cube: Cube) -> tuple[str, ...]:  # noqa: ARG002  # for those who replace it
        """Say what a reader of the leaderboard should know about it."""
        return ()

    def further_tables(self, cube: Cube, roles: Mapping[str, Role]) -> Mapping[str, str]:  # noqa: ARG002  # for those who replace it
        """Return further tables for the run folder, by the name of the file."""
        return {}

    @property
    def terms(self) -> tuple[str, ...]:
        """What the score weighs against one another: the names that `emphasis` understands."""
        return ()

    def weight(self, term: str) -> float:
        """Return by how much the weight of a term is changed."""
        return self.emphasis.get(term, 1.0)

    def alternatives(self, cube: Cube) -> Mapping[str, Challenge]:  # noqa: ARG002  # for those who replace it
        """Name further ways to score the same measurements that others would have found as sensible."""
        return {}

    # What follows from the declarations.

    @property
    def decisive(self) -> tuple[Measure, ...]:
        """What general schemes rank by, and reports show first: each target of each measure that decides."""
        deciding = (measure for measure in self.measures if measure.judges and measure.decides)
        return tuple(of_target for measure in deciding for of_target in measure.each)

    @property
    def options(self) -> dict[str, Any]:
        """Return the edition and all options, as a file can hold them."""
        return self.model_dump(mode="json", exclude={"emphasis"})

    def varied(self, **changes: Any) -> Self:
        """Return the same challenge with other options."""
        return self.made(**{**{name: getattr(self, name) for name in type(self).model_fields}, **changes})

    @classmethod
    def made(cls, **options: Any) -> Self:
        """Return the challenge with options, which may be text; what cannot be used is one clear line."""
        try:
            return cls(**options)
        except ValidationError as error:
            raise _refused(cls, error) from None

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Name the options that a person may give."""
        return tuple(name for name in sorted(cls.model_fields) if name not in ("edition", "emphasis"))


def _refused(challenge: type[Challenge], error: ValidationError) -> InputError:
    """Say what is wrong with the first option that cannot be used."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return cause
    if not first["loc"]:
        return InputError(str(cause or first["msg"]))
    name, known = str(first["loc"][0]), ", ".join(challenge.option_names()) or "none"
    if name not in challenge.model_fields:
        return InputError(f"{challenge.title} has no option {name!r}", advice=f"Options of {challenge.name}: {known}")
    choices = get_args(challenge.model_fields[name].annotation)
    if first["type"] == "literal_error":
        named = ", ".join(str(choice) for choice in choices if choice != "")  # which stands for the default
        return InputError(f"{name} is one of {named}, not {first['input']!r}")
    problem = str(cause or first["msg"])
    return InputError(f"{name} is {first['input']!r}: {problem[:1].lower()}{problem[1:]}")
