"""Landmarks and tracks: points in tables, one file for each case."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from podium.challenges.kinds.declarations import DeclaredTable, Names, Quantity
from podium.challenges.kinds.declared import DeclaredChallenge
from podium.io.tables import Table, read_csv
from podium.model import Case, Floats, InputError, Measure, Metric, Status, Value
from podium.model.errors import shortened

__all__ = ["LandmarkChallenge", "Points", "TrackingChallenge", "Tracks"]

Coordinates = Mapping[str, Mapping[str, Floats]]
"""By target, the coordinates of each of its points."""


class Points(DeclaredTable):
    """How points are written: a CSV file whose first column names them, with one column for each axis."""

    names: Names
    """The landmarks, as the first column names them."""
    axes: Names = ("x", "y", "z")
    """The columns of coordinates."""
    unit: str = "mm"
    """Of coordinates."""


class Tracks(DeclaredTable):
    """How tracks are written: a CSV file whose first column names frames, with columns such as `tip_x`, `tip_y`."""

    objects: Names
    """What is tracked, as the columns name it."""
    axes: Names = ("x", "y")
    """What the columns of coordinates end with."""
    unit: str = "px"
    """Of coordinates."""


class PointsChallenge(DeclaredChallenge):
    """Points of several targets against their true places, target by target, each of which may fail alone."""

    def read(self, path: Path) -> Coordinates:
        """Read the coordinates of every target."""
        raise NotImplementedError

    @property
    def unit(self) -> str:
        """Of coordinates."""
        raise NotImplementedError

    @classmethod
    def takes(cls, metric: Metric[..., Any]) -> bool:
        """Whether it is a metric of landmarks."""
        return metric.family == "landmarks"

    def measure_of(self, quantity: Quantity, **changes: Any) -> Measure:
        """Return the measure of a quantity, in the unit of coordinates."""
        return super().measure_of(quantity, **{"unit": self.unit, "infinite": False, **changes})

    @property
    def _measured(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(target for quantity in self.quantities for target in self.targets_of(quantity)))

    def load(self, case: Case) -> Coordinates:
        """Read the true points, all of which must be there."""
        truth = self.read(case.files[0])
        for target in self._measured:
            points = truth.get(target, {})
            if not points or not all(np.isfinite(point).all() for point in points.values()):
                raise InputError(f"the truth has no finite coordinates for {target!r}", path=case.files[0])
        return truth

    def measure(self, case: Case, truth: Coordinates, prediction: Path) -> list[Value]:
        """Measure every target; one without all its points fails alone."""
        guess = self.read(prediction)
        problems = {target: _lacking(target, truth[target], guess.get(target, {})) for target in self._measured}
        if all(problems.values()):
            raise InputError(next(iter(problems.values())), path=prediction)
        values = []
        for quantity, measure in zip(self.quantities, self.measures, strict=True):
            for target in measure.targets:
                if problems[target]:
                    values.append(
                        Value(case.name, measure.name, None, target, status=Status.INVALID, reason=problems[target])
                    )
                    continue
                pairs = [(point, guess[target][name]) for name, point in truth[target].items()]
                places, guesses = (np.stack(side) for side in zip(*pairs, strict=True))
                number = float(self.metric_of(quantity)(places, guesses, **self.options_of(quantity, target)))
                values.append(Value(case.name, measure.name, number, target))
        return values

    def check(self, case: Case | None, prediction: Path) -> list[str]:  # noqa: ARG002  # what every challenge is given
        """Say which targets have no finite coordinates."""
        try:
            guess = self.read(prediction)
        except InputError as error:
            return [error.with_advice]
        return [
            f"there are no finite coordinates for {target!r}"
            for target in self._measured
            if not any(np.isfinite(point).all() for point in guess.get(target, {}).values())
        ]


def _lacking(target: str, truth: Mapping[str, Floats], guess: Mapping[str, Floats]) -> str:
    """Say which points of a target a prediction lacks; nothing if all are there."""
    lacking = [name for name in truth if name not in guess or not np.isfinite(guess[name]).all()]
    if not lacking:
        return ""
    named = "" if lacking == [target] else f" in {shortened(lacking)}"
    return f"there are no finite coordinates for {target!r}{named}"


def _points(table: Table, columns: tuple[str, ...]) -> dict[str, Floats]:
    places = np.stack([table.columns[column] for column in columns], axis=1)
    return {name: place for name, place in zip(table.names, places, strict=True) if not np.isnan(place).all()}


class LandmarkChallenge(PointsChallenge):
    """Named points: how far each is from its true place.

    Examples
    --------
    >>> challenge = LandmarkChallenge(
    ...     name="heads",
    ...     files={"truth": "{case}.csv", "prediction": "{case}.csv"},
    ...     points={"names": ["nasion", "sella"], "axes": ["x", "y"]},
    ...     quantities=[{"metric": "landmark_error", "failed": 100}],
    ... )
    >>> challenge.terms
    ('landmark_error_nasion', 'landmark_error_sella')
    """

    kind: ClassVar[str] = "landmarks"

    points: Points
    """How points are written."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The landmarks."""
        return self.points.names

    @property
    def unit(self) -> str:
        """Of coordinates."""
        return self.points.unit

    @property
    def contents(self) -> tuple[str, ...]:
        """The lines and columns of a table."""
        points = self.points
        return (
            f"A table with the columns landmark, {', '.join(points.axes)} (in {points.unit}), separated by commas.",
            f"A line for each landmark: {', '.join(points.names)}.",
        )

    def read(self, path: Path) -> Coordinates:
        """Read the coordinates of every landmark."""
        points = _points(read_csv(path, self.points.axes), self.points.axes)
        return {name: {name: point} for name, point in points.items()}


class TrackingChallenge(PointsChallenge):
    """Objects in the frames of a sequence: how far each is from its true place, over all frames of the truth.

    Examples
    --------
    >>> challenge = TrackingChallenge(
    ...     name="tools",
    ...     files={"truth": "{video}.csv", "prediction": "{video}.csv"},
    ...     tracks={"objects": ["tip"]},
    ...     quantities=[{"metric": "landmark_error", "failed": 500}],
    ... )
    >>> challenge.targets
    ('tip',)
    """

    kind: ClassVar[str] = "tracking"

    tracks: Tracks
    """How tracks are written."""

    @property
    def targets(self) -> tuple[str, ...]:
        """What is tracked."""
        return self.tracks.objects

    @property
    def unit(self) -> str:
        """Of coordinates."""
        return self.tracks.unit

    @property
    def contents(self) -> tuple[str, ...]:
        """The lines and columns of a table."""
        columns = ", ".join(f"{name}_{axis}" for name in self.tracks.objects for axis in self.tracks.axes)
        return (
            f"A table with the columns frame, {columns} (in {self.tracks.unit}), separated by commas.",
            "A line for each frame, called as in the truth.",
        )

    def read(self, path: Path) -> Coordinates:
        """Read the coordinates of every object in every frame in which it has some."""
        columns = {name: tuple(f"{name}_{axis}" for axis in self.tracks.axes) for name in self.tracks.objects}
        table = read_csv(path, [column for own in columns.values() for column in own])
        return {name: _points(table, own) for name, own in columns.items()}
