"""Random tables of measurements that could have come from files: every row as some submission really measured it."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from podium.model import Challenge, Role, Status, Value
from podium.run import Contract, find_submissions, found_cases, measure_all
from podium.run.measuring import tabulated

__all__ = ["Material"]

_LONGEST_SECONDS = 20.0
_LITTLE = 1e-3


@dataclass(frozen=True)
class Material:
    """What tables are made of.

    Attributes
    ----------
    challenge
        With the options that stand beside the truth.
    valid
        For each row, its values as one submission or another measured them, all of them valid.
    failed
        For each row, what it costs where it failed.
    built_in
        The values of baselines and people.
    """

    challenge: Challenge
    valid: Mapping[str, list[list[Value]]]
    failed: Mapping[str, list[Value]]
    built_in: list[tuple[str, Value]]

    @classmethod
    def of(cls, challenge: Challenge, *, truth: Path, submissions: Path) -> Material:
        """Measure some submissions, of which every row must be valid in one at least."""
        challenge, cases = found_cases(challenge, truth)
        teams = find_submissions(submissions, single_files=challenge.single_files)
        evaluation = measure_all(challenge, truth=truth, submissions=teams)
        assert not evaluation.faults, evaluation.faults
        blocks: dict[tuple[str, str], list[Value]] = {}
        built_in = []
        rows = evaluation.table.filter(pl.col("metric") != challenge.time.name)
        for name, case, unit, target, metric, number, measured, status, reason in rows.iter_rows():
            value = Value(case, metric, number, target, unit, Status(status), reason, measured)
            if name in challenge.built_in:
                built_in.append((name, value))
            else:
                blocks.setdefault((name, case), []).append(value)
        valid: dict[str, list[list[Value]]] = {}
        for (_, case), values in blocks.items():
            if not any(value.status.failed for value in values):
                valid.setdefault(case, []).append(values)
        contract = Contract(challenge)
        failed: dict[str, list[Value]] = {}
        for case in cases:
            loaded = challenge.load(case)
            for value in contract.failed(challenge.rows(case, loaded), loaded, Status.MISSING, "left out"):
                failed.setdefault(value.case, []).append(value)
        return cls(challenge, valid, failed, built_in)

    @property
    def rows(self) -> list[str]:
        """The rows, sorted."""
        return sorted(self.failed)

    @property
    def roles(self) -> dict[str, Role]:
        """Who is built in."""
        return dict(self.challenge.built_in)

    def drawn(self, generator: random.Random, *, teams: int = 5, distinct: bool = False) -> dict[str, list[Value]]:
        """Draw teams, each row of which somebody once measured, with times where the challenge may use them.

        Where they shall be distinct, every value is a little, and by another share, nearer to what a failure costs.
        """
        drawn = {}
        for number in range(teams):
            values = [value for row in self.rows for value in generator.choice(self.valid[row])]
            values = [self._moved(value, generator) for value in values] if distinct else values
            pace = generator.uniform(0.05, _LONGEST_SECONDS)
            times = [Value(row, self.challenge.time.name, pace * generator.uniform(0.5, 2)) for row in self.rows]
            drawn[f"team {number}"] = values + (times if generator.random() < 0.8 else [])
        return drawn

    def _moved(self, value: Value, generator: random.Random) -> Value:
        own = (price.value for price in self.failed[value.case] if self._key(price) == self._key(value))
        price = next(own, None)
        if value.value is None or price is None or not math.isfinite(price + value.value):
            return value
        return replace(value, value=value.value + _LITTLE * generator.random() * (price - value.value))

    @staticmethod
    def _key(value: Value) -> tuple[str, str, str]:
        return value.metric, value.target, value.unit

    @property
    def targets(self) -> list[str]:
        """What is measured, where that is more than one thing: parts that may fail by themselves."""
        return sorted({target for measure in self.challenge.measures for target in measure.targets if target})

    def spoiled(self, values: list[Value], rows: Collection[str], *, target: str | None = None) -> list[Value]:
        """Return a team's values with some rows failed, or only one target in them; what it says of times stays."""
        time = self.challenge.time.name

        def spoils(value: Value) -> bool:
            return value.case in rows and value.metric != time and target in (None, value.target)

        kept = [value for value in values if not spoils(value)]
        return kept + [value for row in rows for value in self.failed[row] if spoils(value)]

    def table(self, teams: Mapping[str, list[Value]]) -> pl.DataFrame:
        """Return measurements of teams and of those who are built in."""
        values = [(name, value) for name, values in teams.items() for value in values]
        return tabulated(values + self.built_in).sort("submission", "case", "unit", "target", "metric")
