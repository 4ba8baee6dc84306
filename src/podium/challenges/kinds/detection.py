"""Detection: scored points or boxes against the findings of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from podium.challenges.kinds.declarations import DeclaredTable, Misdeclared, Names, Number, Quantity, WholeNumber
from podium.challenges.kinds.declared import DeclaredChallenge
from podium.challenges.kinds.scoring import Criterion
from podium.io.tables import read_csv
from podium.metrics import Detections, ImageDetections, box_overlaps, point_hits
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
from podium.model.measure import Cost

__all__ = ["Candidates", "DetectionChallenge", "Findings"]

WORST = "worst"


class Candidates(DeclaredTable):
    """How findings and candidates are written, and when one is found.

    Both are CSV files whose first column names what a line is about; a file without lines is a case without any.
    Candidates have a column `score`, higher where they are surer.
    """

    shape: Literal["points", "boxes"] = "points"
    """`points` have a column for each axis; `boxes` have two, such as `x1` and `x2` for their ends along x."""
    axes: Names = ("x", "y", "z")
    """The axes."""
    radius_mm: Number | None = Field(default=None, gt=0)
    """How near a point must be to a finding; by default what the truth's column `radius` says."""
    overlap: Number = Field(default=0.5, gt=0, le=1)
    """The least intersection over union of a box with a finding."""
    most: WholeNumber = Field(default=100, ge=1)
    """How many candidates of a case count, those with the highest scores."""

    @model_validator(mode="after")
    def _radius_is_of_points(self) -> Candidates:
        if self.shape == "boxes" and self.radius_mm is not None:
            raise Misdeclared("boxes are found by overlap, and not by a radius", "radius_mm", advice="Leave it out")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of coordinates."""
        if self.shape == "points":
            return self.axes
        return tuple(f"{axis}{end}" for end in (1, 2) for axis in self.axes)


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What a table holds: coordinates, shape (findings, columns), and scores or radii, shape (findings,)."""

    places: Floats
    numbers: Floats


class DetectionChallenge(DeclaredChallenge):
    """Findings of a case, each with a score: how many are found at how many false alarms.

    A failed case may count as the worst that a prediction can be: nothing found, and as many false alarms as count, all
    surer than any other.

    Examples
    --------
    >>> challenge = DetectionChallenge(
    ...     name="nodules",
    ...     files={"truth": "{scan}.csv", "prediction": "{scan}.csv"},
    ...     candidates={"radius_mm": 5},
    ...     quantities=[{"metric": "froc_score", "failed": "worst"}],
    ... )
    >>> challenge.terms
    ('froc_score',)
    """

    kind: ClassVar[str] = "detection"
    reserved: ClassVar[tuple[str, ...]] = ("found", "references", "hit", "false_alarm")
    costs: ClassVar[Mapping[str, Cost]] = {WORST: lambda *_: 0.0}

    candidates: Candidates
    """How findings and candidates are written."""

    @property
    def targets(self) -> tuple[str, ...]:
        """All findings together."""
        return ("",)

    @classmethod
    def takes(cls, metric: Metric[..., Any]) -> bool:
        """Whether it is a metric of scored detections."""
        return metric.family == "detections"

    def pooled(self, quantity: Quantity) -> bool:  # noqa: ARG002  # as for all
        """Every metric is of all cases together."""
        return True

    def perfect_value(self, metric: Metric[..., Any], options: Mapping[str, Any]) -> float:
        """Try one finding that is found."""
        image = ImageDetections(np.ones(1), np.ones(1, bool), 1)
        return float(metric(Detections.of([image]), **options))

    def worst_price(self, metric: Metric[..., Any]) -> str:  # noqa: ARG002  # as for all
        """Return the price that fits."""
        return f'"{WORST}"'

    def misfit(self, quantity: Quantity, metric: Metric[..., Any]) -> tuple[str, str] | None:
        """Refuse numbers."""
        if isinstance(quantity.failed, str):
            return None
        return f"one case has no {metric.name}, and so no price in it", f'Write failed = "{WORST}" or "not ranked"'

    # Files.

    @property
    def contents(self) -> tuple[str, ...]:
        """The lines and columns of a table, and what is found."""
        asked = self.candidates
        near = f"within {asked.radius_mm:g} mm of it" if asked.radius_mm else "within its radius"
        overlap = f"with an intersection over union of at least {asked.overlap:g}"
        return (
            f"A table with the columns name, {', '.join(asked.columns)}, score, separated by commas.",
            "A line for each candidate, with a score that is higher where you are surer. No lines: nothing is there.",
            f"Of a {self.words.row[0]}, the {asked.most} with the highest scores count.",
            f"A finding is found by a point {near}."
            if asked.shape == "points"
            else f"One is found by a box {overlap}.",
        )

    def truth_as_prediction(self, case: Case) -> Path | None:  # noqa: ARG002  # what every challenge is given
        """Offer nothing: the truth has no scores."""
        return None

    def read(self, path: Path, last: str) -> Findings:
        """Read coordinates and what the last column, score or radius, says."""
        columns = self.candidates.columns
        wanted = (*columns, last) if last else columns
        table = read_csv(path, wanted, may_be_empty=True)
        numbers = (
            np.stack([table.columns[name] for name in wanted], axis=1) if table.names else np.zeros((0, len(wanted)))
        )
        if not np.isfinite(numbers).all():
            row = table.names[int(np.argmin(np.isfinite(numbers).all(axis=1)))]
            raise InputError(f"{row!r} has a number that is missing or not finite", path=path)
        places, half = numbers[:, : len(columns)], len(columns) // 2
        if self.candidates.shape == "boxes" and not (places[:, :half] <= places[:, half:]).all():
            raise InputError(
                "a box ends before it begins", path=path, advice=f"Write {', '.join(columns)} in this order"
            )
        rest = numbers[:, -1] if last else np.full(len(numbers), self.candidates.radius_mm or 0.0)
        return Findings(places, rest)

    def load(self, case: Case) -> Findings:
        """Read the findings, and their radii where these are not declared."""
        own_radii = self.candidates.shape == "points" and self.candidates.radius_mm is None
        return self.read(case.files[0], "radius" if own_radii else "")

    def measure(self, case: Case, truth: Findings, prediction: Path) -> list[Value]:
        """Tell which findings are found, and with which scores; and the scores of false alarms."""
        guess = self.read(prediction, "score")
        matched = self.matched(truth, guess)
        total = matched.references
        share = float(matched.true.sum()) / total if total else None
        status, reason = (Status.OK, "") if total else (Status.UNDEFINED, "there is nothing to find")
        values = [
            Value(case.name, "found", share, status=status, reason=reason),
            Value(case.name, "references", float(total)),
        ]
        for name, chosen in (("hit", matched.true), ("false_alarm", ~matched.true)):
            scores = enumerate(matched.scores[chosen].tolist())
            values += [Value(case.name, name, score, unit=f"{number:06d}") for number, score in scores]
        return values

    def matched(self, truth: Findings, guess: Findings) -> ImageDetections:
        """Return which candidates are right, and which wrong."""
        best = np.argsort(-guess.numbers, kind="stable")[: self.candidates.most]
        places, scores = guess.places[best], guess.numbers[best]
        if self.candidates.shape == "points":
            hits = point_hits(places, truth.places, radius_mm=truth.numbers)
            return ImageDetections.by_hits(scores, hits)
        return ImageDetections.by_overlap(scores, box_overlaps(places, truth.places), threshold=self.candidates.overlap)

    def check(self, case: Case | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say what is wrong with a table of candidates."""
        try:
            self.read(prediction, "score")
        except InputError as error:
            return [error.with_advice]
        return []

    # Measures.

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How much is found and how much there is to find in a case, and the scores of hits and false alarms."""
        unranked = any(quantity.decides and quantity.failed == "not ranked" for quantity in self.quantities)
        words = f"nothing is found, and {self.candidates.most} false alarms are surer than all others"
        price = NOT_RANKED if unranked else Price(0.0, words)

        def count(truth: Findings, _: str, __: str) -> float:
            return float(len(truth.places))

        return (
            Measure("found", "Share found", Direction.HIGHER, minimum=0, maximum=1, price=price, undefined=True),
            Measure("references", "Findings", price=Price(count, "as many as there are", caps=False), decides=False),
            Measure("hit", "Score of a hit", decides=False, optional=True),
            Measure("false_alarm", "Score of a false alarm", decides=False, optional=True),
        )

    def criterion(self, quantity: Quantity, measure: Measure, cube: Cube) -> Criterion:
        """Return a metric of all cases together."""
        single = super().criterion(quantity, measure, cube)
        metric, options = self.metric_of(quantity), self.options_of(quantity, "")

        def pooled(weights: Floats) -> Column:
            of_all = [metric(Detections.of(images), weights=weights, **options) for images in self._images(cube)]
            return Column(single.measure, np.stack(of_all, axis=1))

        return replace(single, pooled=pooled)

    def _images(self, cube: Cube) -> list[list[ImageDetections]]:
        """Return what each submission says of each row."""
        scores: dict[tuple[str, str, str], list[float]] = {}
        if cube.details is not None:
            lines = cube.details.select("submission", "case", "metric", "value").iter_rows()
            for submission, row, name, score in lines:
                scores.setdefault((submission, row, name), []).append(score)
        alarms = np.full(self.candidates.most, np.inf)
        images = []
        for place, submission in enumerate(cube.submissions):
            own = []
            for number, row in enumerate(cube.rows):
                hits = scores.get((submission, row, "hit"), [])
                false = scores.get((submission, row, "false_alarm"), [])
                failed = cube.failed[place, number]
                numbers = alarms if failed else np.array([*hits, *false], np.float64)
                true = np.zeros(numbers.size, bool) if failed else np.arange(numbers.size) < len(hits)
                count = np.nanmax(cube.of("references")[:, number])
                own.append(ImageDetections(numbers, true, int(count)))
            images.append(own)
        return images
