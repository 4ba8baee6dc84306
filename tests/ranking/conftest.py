"""Small rules and small runs of all challenges, for the tests of rankings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from boards import measurements

from podium.challenges import get_challenge
from podium.model import Challenge, Cube, Role
from podium.ranking import (
    AggregateThenRank,
    Ranking,
    Rule,
    Scheme,
    ScoreTable,
    challenge_rule,
    cube_of,
    scheme_rule,
    table_of_scores,
)
from podium.ranking.inference.sensitivity import table_alternatives

REGIONS = ("kidney_and_mass", "mass", "tumor")
TARGETS = tuple(f"{view}/{structure}" for view in ("long", "trans") for structure in ("plaque", "vessel"))
INDICES = ("A1", "A2", "D1", "D2", "D3", *(f"RWT{n}" for n in range(1, 7)))
ERRORS = ("gpe", "gle", "lpe", "lle")
TOLERANCES = ("", "_half_tolerance", "_double_tolerance")


class InventedRun(NamedTuple):
    """A challenge, what was measured, and who is not a competitor."""

    challenge: Challenge
    table: pl.DataFrame
    roles: dict[str, Role]

    @property
    def cube(self) -> Cube:
        """The measurements as a cube."""
        return cube_of(self.challenge, self.table)

    @property
    def rule(self) -> Rule:
        """The challenge's own rule over them."""
        return challenge_rule(self.challenge, self.cube, roles=self.roles)


def scores_frame(values: Any) -> pl.DataFrame:
    """Return submission, case, value (and task) of an array (submissions, cases), or of one for each task."""
    tasks = values if isinstance(values, dict) else {"": values}
    rows = [
        (f"T{team}", f"c{case}", float(value), task)
        for task, numbers in tasks.items()
        for team, own in enumerate(numbers)
        for case, value in enumerate(own)
    ]
    return pl.DataFrame(rows, schema=["submission", "case", "value", "task"], orient="row")


@pytest.fixture(scope="session")
def table_from() -> Callable[..., ScoreTable]:
    """Return a function from an array (submissions, cases), or a dict of tasks, to a table of teams T0, T1, T2."""

    def build(values: Any, *, better: str = "higher", **options: Any) -> ScoreTable:
        columns = {name: options.pop(name) for name in ("cluster", "stratum") if name in options}
        frame = scores_frame(values)
        for name, of_case in columns.items():  # by case, in order
            names = {f"c{case}": str(each) for case, each in enumerate(of_case)}
            frame = frame.with_columns(pl.col("case").replace_strict(names).alias(name))
        return table_of_scores(frame, better=better, **options)

    return build


@pytest.fixture(scope="session")
def rule_from(table_from: Callable[..., ScoreTable]) -> Callable[..., Rule]:
    """Return a function from an array to a rule, by means unless another scheme is given."""

    def build(values: Any, scheme: Any = None, **options: Any) -> Rule:
        return scheme_rule(table_from(values, **options), scheme or AggregateThenRank())

    return build


@pytest.fixture(scope="session")
def ranking_of(table_from: Callable[..., ScoreTable]) -> Callable[..., Ranking]:
    """Return a function from an array to the ranking of its table, by means unless another scheme is given."""

    def build(values: Any, scheme: Scheme | None = None, *, bootstrap: int = 300, **options: Any) -> Ranking:
        scheme = scheme or AggregateThenRank()
        table = table_from(values)
        others = partial(table_alternatives, table, scheme)
        return Ranking(scheme_rule(table, scheme), others, bootstrap=bootstrap, **options)

    return build


def _kits21(random: np.random.Generator, team: int, **_: Any) -> dict[tuple[str, str], float]:
    values = {("dice", region): 0.6 + 0.03 * team + 0.2 * random.random() for region in REGIONS}
    for region in REGIONS:
        middle = 0.5 + 0.02 * team + 0.2 * random.random()
        low, high = middle - 0.2 * random.random(), middle + 0.2 * random.random()
        values |= {(f"surface_dice{end}", region): v for end, v in zip(TOLERANCES, (middle, low, high), strict=True)}
    return values


def _csv2026(random: np.random.Generator, team: int, case: int, **_: Any) -> dict[tuple[str, str], float]:
    values = {("dice", target): 0.6 + 0.03 * team + 0.2 * random.random() for target in TARGETS}
    for target in TARGETS:
        middle = 0.5 + 0.02 * team + 0.2 * random.random()
        low, high = middle - 0.2 * random.random(), middle + 0.2 * random.random()
        values |= {(f"nsd{end}", target): v for end, v in zip(TOLERANCES, (middle, low, high), strict=True)}
    true = case % 2
    guess = 1 - true if random.random() < 0.3 else true
    for each in (0, 1):
        counts = (true == each == guess, guess == each != true, true == each != guess)
        names = ("true_positive", "false_positive", "false_negative")
        values |= {(name, str(each)): float(count) for name, count in zip(names, counts, strict=True)}
    values["seconds", ""] = (0.5 + 0.3 * team) * (1 + 0.2 * random.random())
    return values


def _trackrad2025(random: np.random.Generator, team: int, case: int, **_: Any) -> dict[tuple[str, str], float]:
    noise = 0.2 * random.random(6)
    frames = 20.0 + 7 * case
    values = {"dice": 0.6 + 0.02 * team + noise[0], "relative_d98": 0.7 + 0.02 * team + noise[1]}
    values |= {"hd95": 6 - 0.1 * team + 4 * noise[2], "masd": 3 - 0.1 * team + 4 * noise[3]}
    values |= {"centre_distance": 4 - 0.1 * team + 4 * noise[4], "frames": frames}
    values["seconds"] = 2 + (0.1 + 0.01 * team) * frames * (1 + noise[5])
    return {(name, ""): value for name, value in values.items()}


def _lvquan18(random: np.random.Generator, team: int, hard: float, **_: Any) -> dict[tuple[str, str], float]:
    values = {("absolute_error", i): hard * (1 - 0.05 * team) * (0.5 + random.random()) for i in INDICES}
    reference = {("reference", i): random.random() for i in INDICES}
    prediction = {("prediction", i): reference["reference", i] + values["absolute_error", i] for i in INDICES}
    return values | reference | prediction | {("phase_error", ""): float(random.random() < 0.3)}


def _tusrec(random: np.random.Generator, team: int, hard: float, **_: Any) -> dict[tuple[str, str], float]:
    scores = {f"{error}_score": 0.8 - 0.3 * hard + 0.02 * team + 0.2 * random.random() for error in ERRORS}
    errors = {error: 10 * (1 - scores[f"{error}_score"]) for error in ERRORS}
    identity = {f"{error}_identity": 10.0 for error in ERRORS}
    everything = scores | errors | identity | {"score": sum(scores.values()) / 4, "seconds": 5 + random.random()}
    return {(name, ""): value for name, value in everything.items()}


def _priced(values: dict[tuple[str, str], float], *, case: int, edition: str) -> dict[tuple[str, str], float | None]:
    """Return what the rules charge for a failed row: prices, and what follows from the truth."""
    unscored = 0.0 if edition == "document" else None  # TUS-REC's `code` has no number for it
    prices: dict[str, float | None] = dict.fromkeys(ERRORS)
    prices |= dict.fromkeys(["score", *(f"{error}_score" for error in ERRORS)], unscored)
    prices |= dict.fromkeys(("hd95", "masd", "centre_distance"), 100.0)
    lost: dict[tuple[str, str], float | None] = {}
    for (name, target), value in values.items():
        if name == "frames" or name.endswith("_identity"):
            lost[name, target] = value
        elif name in ("false_positive", "false_negative"):  # the wrong class
            lost[name, target] = float((str(case % 2) == target) == (name == "false_negative"))
        else:
            lost[name, target] = prices.get(name, 0.0)
    return lost


CHALLENGES = {
    "kits21": (_kits21, [f"case_{n:05d}" for n in range(12)], {}),
    "csv2026": (_csv2026, [f"{n:03d}" for n in range(14)], {"baseline_seconds": 0.8}),
    "trackrad2025": (_trackrad2025, [f"A_{n:03d}" for n in range(12)], {}),
    "lvquan18": (_lvquan18, [f"sub-{s:02d}-{f:02d}" for s in range(6) for f in range(1, 5)], {}),
    "tusrec": (_tusrec, [f"sub{50 + s:03d}__{scan}" for s in range(7) for scan in ("LH_c", "LH_s", "RH_c")], {}),
}


@pytest.fixture(scope="session")
def run_of() -> Callable[..., InventedRun]:
    """Return a function that invents the measurements of a small run.

    There are four teams, of whom one fails a case where that has a price, its slowest, and a baseline that would be
    first.
    """

    def build(name: str, *, seed: int = 0, edition: str = "document", **options: Any) -> InventedRun:
        values_of, rows, own = CHALLENGES[name]
        challenge = get_challenge(name, edition=edition, **(own | options))
        random = np.random.default_rng(seed)
        hard = {challenge.cluster(row): random.uniform(0.5, 1.5) for row in rows}
        good: dict[str, Any] = {}
        lost: dict[str, Any] = {}
        for team, submission in enumerate(("alpha", "beta", "gamma", "delta", "zero-baseline")):
            for case, row in enumerate(rows):
                values = values_of(random, team=team, case=case, hard=hard[challenge.cluster(row)])
                own = good.setdefault(submission, {})
                if submission == "beta" and case == 6 and name != "lvquan18":
                    if ("seconds", "") in values:
                        own[row] = {("seconds", ""): 2 * values.pop(("seconds", ""))}
                    lost[submission] = {row: _priced(values, case=case, edition=edition)}
                else:
                    own[row] = values
        table = pl.concat([measurements(good), measurements(lost, status="missing")])
        return InventedRun(challenge, table, {"zero-baseline": Role.BASELINE})

    return build
