"""A leaderboard is a function of weighted cases: what goes in, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.model.errors import InputError
from podium.model.measure import Measure

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Column", "Cube", "Floats", "Scores"]

Floats: TypeAlias = npt.NDArray[np.float64]
"""Arrays of numbers in double precision."""


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
    """All measurements at the level of the rules: submission × row × measure.

    Attributes
    ----------
    submissions, rows, clusters
        Names; clusters has one entry per row.
    keys
        Name and target of each measure.
    values
        Shape (submissions, rows, measures); NaN where not defined.
    failed
        Which rows a submission failed, in part or wholly, shape (submissions, rows).
    lost
        Which rows it failed wholly: nothing of them could be measured.
    seconds
        The time that was reported for each row, failed ones included, shape (submissions, rows); NaN where none was.
    loading
        How long each algorithm took to load, where Podium measured that, shape (submissions,); else NaN. It is no part
        of `seconds`. None where nobody's is known.
    details
        The measurements below the level of rows, with a name in `unit`; None where there are none.
    """

    submissions: tuple[str, ...]
    rows: tuple[str, ...]
    clusters: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]
    values: Floats
    failed: npt.NDArray[np.bool_]
    lost: npt.NDArray[np.bool_]
    seconds: Floats
    loading: Floats | None = None
    details: pl.DataFrame | None = None

    def of(self, name: str, target: str = "") -> Floats:
        """Return the values of one measure, shape (submissions, rows); NaN where not defined."""
        if (name, target) not in self.keys:
            raise InputError(f"nothing was measured of {name} {target}".rstrip())
        return self.values[:, :, self.keys.index((name, target))]

    def has(self, name: str, target: str = "") -> bool:
        """Return whether something was measured at all."""
        return (name, target) in self.keys


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of a leaderboard.

    Attributes
    ----------
    measure
        What it is called, and which way is better; its direction is NONE for ranks and counts.
    values
        Shape (sets of weights, submissions); NaN where there is none.
    relative
        Whether it compares submissions, as ranks do, and so says nothing about one of them alone.
    smooth
        Whether it changes little where weights change little, as means do and medians, ranks and decisions do not.
    quantile
        Which quantile of its rows it is, 0.5 for the median, where it is one.
    importance
        By how much its ranks count where those of several criteria are averaged.
    rows
        What it is the weighted mean of, shape (submissions, rows), where that is known; else the jackknife finds out.
    scales
        Where values are means, the mean absolute value of the terms of each, same shape as values: equals differ by at
        most 1e-12 of it. By default each value's own magnitude.
    """

    measure: Measure
    values: Floats
    relative: bool = False
    smooth: bool = True
    quantile: float | None = None
    importance: float = 1.0
    rows: Floats | None = None
    scales: Floats | None = None

    @property
    def name(self) -> str:
        """Its key in files."""
        return self.measure.name


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a rule makes of a cube: the place of every submission, and the columns that led to it.

    Attributes
    ----------
    places
        1 is best, equals share the better place; NaN for what is not ranked. Shape (sets of weights, submissions).
    columns
        In the order of the challenge's own leaderboard.
    criteria
        The columns that decide: the order in the only one of them, or the mean of the ranks in several. By default the
        first column.
    """

    places: Floats
    columns: tuple[Column, ...]
    criteria: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        if not self.criteria:
            object.__setattr__(self, "criteria", self.columns[:1])

    def column(self, name: str) -> Column:
        """Return a column, or a criterion, by its name."""
        return next(column for column in (*self.criteria, *self.columns) if column.name == name)
