"""Populations whose truth is known, scenario by scenario, with what is promised of each. Tests and benchmarks only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from promises import FALSE_CLAIMS, METHODS, Cell, Draw, Promise
from scipy.special import ndtr, ndtri

from podium.model import Direction, Floats, Measure
from podium.ranking import AggregateThenRank, TestThenRank

# One criterion


def _with_difficulty(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return normal values of which half is owed to the case, so that differences of two teams have deviation 1."""
    return (random.normal(size=(*shape[:-2], 1, shape[-1])) + random.normal(size=shape)) / np.sqrt(2)


def _normal(random: np.random.Generator, cases: int, *, means: Floats) -> Floats:
    return _with_difficulty(random, (1, means.size, cases)) + means[..., None]


def _skewed(random: np.random.Generator, cases: int, *, teams: int) -> Floats:
    return random.exponential(size=(1, teams, cases))


def _one_skewed(random: np.random.Generator, cases: int, *, teams: int) -> Floats:
    values = _with_difficulty(random, (1, teams, cases))
    values[0, 0] = random.exponential(size=cases) - 1
    return values


def _near_copy(random: np.random.Generator, cases: int, *, teams: int) -> Floats:
    values = _with_difficulty(random, (1, teams, cases))
    values[0, -1, 3:] = values[0, -2, 3:]
    return values


LADDER = -0.5 * np.arange(8.0)
"""Eight teams, half a standard deviation apart."""


def one_criterion() -> Iterable[Cell]:
    """Means: equal teams of several kinds, and a winner to be certain of.

    Here differences have deviation 1; in the composite every team has, and differences √2.
    """
    cell = partial(Cell, "one criterion")
    for teams in (2, 10):
        equal = np.zeros((1, teams))
        yield cell(f"{teams} equal teams", 50, partial(_normal, means=equal), equal, (FALSE_CLAIMS,))
        yield cell(f"{teams} equal skewed teams", 50, partial(_skewed, teams=teams), equal, (FALSE_CLAIMS,))
        yield cell(f"{teams} equal teams, one skewed", 50, partial(_one_skewed, teams=teams), equal, (FALSE_CLAIMS,))
    equal = np.zeros((1, 10))
    yield cell("10 equal teams, one a near-copy", 50, partial(_near_copy, teams=10), equal, (FALSE_CLAIMS,))
    winner = Promise("certain winner", "≥", 0.75)
    ladder = LADDER[None]
    yield cell("8 teams half a deviation apart", 50, partial(_normal, means=ladder), ladder, (winner, FALSE_CLAIMS))


# Composite: averages of ranks over six criteria of the same cases


def _criteria(random: np.random.Generator, cases: int, *, means: Floats, correlation: float) -> Floats:
    """Return values of deviation 1; teams are independent, and criteria correlated."""
    common = random.normal(size=(1, means.shape[1], cases))
    own = random.normal(size=(*means.shape, cases))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own + means[..., None]


def _boundary(won: int, lost: int) -> Floats:
    """Return four couples, far apart: the first has won and lost so many of six criteria, and just loses the rest.

    So they are equal by average rank where three are won, and whoever calls the rest won errs.
    """
    lead = np.array([3.0] * won + [-3.0] * lost + [-1e-9] * (6 - won - lost))
    first = np.repeat(-20.0 * np.arange(4)[None], 6, axis=0)
    return np.stack([first + lead[:, None] / 2, first - lead[:, None] / 2], axis=2).reshape(6, 8)


def _five_places() -> Floats:
    """Return eight teams of which the first is five places before the second once, and just behind it five times."""
    means = np.repeat(-10.0 * np.arange(8)[None], 6, axis=0)
    means[0, :2] = 10.0, -55.0
    means[1:, :2] = 0.0, 1e-9
    return means


def composite() -> Iterable[Cell]:
    """Averages of ranks over six criteria: a winner to be certain of, and nulls."""
    ladder = np.repeat(LADDER[None], 6, axis=0)
    false = Promise("false claims", "≤", 0.05)
    asked = {(50, 0.8): 0.3, (50, 0.5): 0.35, (50, 0.0): 0.35, (200, 0.5): 0.95}
    for cases, correlation in ((50, 0.0), (50, 0.5), (50, 0.8), (100, 0.0), (100, 0.5), (100, 0.8), (200, 0.5)):
        draw = partial(_criteria, means=ladder, correlation=correlation)
        population = f"8 teams half a deviation apart, criteria correlated {correlation:g}"
        winner = Promise("certain winner", "≥", asked.get((cases, correlation), 0.85))
        yield Cell("composite", population, cases, draw, ladder, (winner, false))
    half_tied = np.repeat(np.where(np.arange(8) < 4, 0.0, LADDER)[None], 6, axis=0)
    nulls = {
        "all equal": np.zeros((6, 8)),
        "half tied": half_tied,
        "near ties": 0.02 * ladder,
        "criteria that disagree": np.concatenate([ladder[:3], ladder[:3, ::-1]]),
        "boundary: 3 won, 3 on the edge": _boundary(3, 0),
        "boundary: 3 won, 1 lost, 2 on the edge": _boundary(3, 1),
        "boundary: 3 won, 2 lost, 1 on the edge": _boundary(3, 2),
        "boundary: 1 won by 5 places, 5 on the edge": _five_places(),
    }
    for population, means in nulls.items():
        draw = partial(_criteria, means=means, correlation=0.5)
        yield Cell("composite", population, 50, draw, means, (false,))


# Medians and quantiles


def _exponential(share: Floats) -> Floats:
    return -np.log1p(-share)


def _zeros(share: Floats) -> Floats:
    """Return the quantiles of a score that is 0 in one case of four, and 0.7 to 1 in others."""
    return np.where(share < 0.25, 0.0, 0.7 + 0.4 * (share - 0.25))


def _two_modes(share: Floats) -> Floats:
    """Return the quantiles of values of which three in five lie between 0 and 1, the others between 3 and 4."""
    return np.where(share < 0.6, share / 0.6, 3 + (share - 0.6) / 0.4)


SHAPES: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "skewed": (_exponential, 1.0),
    "with zeros": (_zeros, 0.1),
    "with two modes": (_two_modes, 1.0),
}
"""Quantiles of one team, and how far the normal values of the others spread."""


def _equal_quantiles(random: np.random.Generator, cases: int, *, teams: int, shape: str, share: float) -> Floats:
    """Return teams with the same quantile, 0; the first has another distribution than the others."""
    quantile_of, spread = SHAPES[shape]
    latent = _with_difficulty(random, (1, teams, cases))
    values = spread * (latent - ndtri(share))
    values[0, 0] = quantile_of(ndtr(latent[0, 0])) - quantile_of(np.array(share))
    return values


def medians() -> Iterable[Cell]:
    """Equal medians and equal 0.05 quantiles of unequal distributions."""
    for teams in (2, 10):
        for shape in SHAPES:
            for share, cases in ((0.5, 15), (0.5, 30), (0.5, 60), (0.5, 200), (0.05, 30), (0.05, 60), (0.05, 200)):
                if share < 0.5 and shape != "skewed":
                    continue  # a quantile among zeros, or at the end of what can be, is no population of its own
                name = "medians" if share == 0.5 else f"{share:g} quantiles"
                yield Cell(
                    "medians",
                    f"equal {name}, {teams} teams, one {shape}",
                    cases,
                    partial(_equal_quantiles, teams=teams, shape=shape, share=share),
                    np.zeros((1, teams)),
                    (FALSE_CLAIMS,),
                    scheme=AggregateThenRank("median" if share == 0.5 else share),
                )
    truth = LADDER[None, :2]
    for cases in (30, 60, 200):
        draw = partial(_normal, means=truth)
        apart = (Promise("certain winner", "≥", 0.8) if cases == 200 else Promise("certain winner"),)
        name = "medians half a deviation apart, 2 teams"
        yield Cell("medians", name, cases, draw, truth, apart, scheme=AggregateThenRank("median"))


# Clusters


def patients_of(patients: int) -> tuple[str, ...]:
    """Return the patient of each row: they have 1, 2 and 12 rows in turn."""
    return tuple(f"patient {number}" for number in range(patients) for _ in range((1, 2, 12)[number % 3]))


def _centred_exponential(random: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return random.exponential(size=size) - 1


def _symmetric(random: np.random.Generator, size: tuple[int, ...]) -> Floats:
    return random.normal(size=size)


def _patients(
    random: np.random.Generator, patients: int, *, kinds: tuple[Callable[..., Floats], ...], means: Floats | float = 0.0
) -> Floats:
    """Return teams whose rows vary as much within a patient as patients vary."""
    of = np.array([int(name.split()[1]) for name in patients_of(patients)])
    values = np.array([[kind(random, (patients,))[of] + kind(random, of.shape) for kind in kinds]])
    return np.asarray(values + np.asarray(means)[..., None])


COUNTS = (8, 15, 30, 60)


def clusters() -> Iterable[Cell]:
    """Means over patients of 1, 2 and 12 rows: two equal teams, and intervals of their means."""
    kinds = {
        "2 equal teams, symmetric": (_symmetric,) * 2,
        "2 equal teams, skewed": (_centred_exponential,) * 2,
        "2 equal teams, one skewed": (_symmetric, _centred_exponential),
        "10 equal teams, symmetric": (_symmetric,) * 10,
        "10 equal teams, one skewed": (*(_symmetric,) * 9, _centred_exponential),
    }
    for population, teams in kinds.items():
        skewed = population.endswith("skewed")
        for patients in COUNTS:
            coverage = Promise("coverage", "≥", 0.91 if skewed and patients < 60 else 0.93)
            yield Cell(
                "clusters",
                population,
                patients,
                partial(_patients, kinds=teams),
                np.zeros((1, len(teams))),
                (FALSE_CLAIMS,) if "one" in population else (FALSE_CLAIMS, coverage),
                clusters=patients_of(patients),
            )
    for patients in COUNTS:
        truth = np.array([[1.0, 0.0]])
        draw = partial(_patients, kinds=(_symmetric, _symmetric), means=truth)
        yield Cell(
            "clusters",
            "2 teams a patient's deviation apart",
            patients,
            draw,
            truth,
            (Promise("certain winner", "≥", 0.6) if patients == 60 else Promise("certain winner"),),
            clusters=patients_of(patients),
        )


def tests_of_clusters() -> Iterable[Cell]:
    """Test then rank: how often one of two equal teams is called better than the other, by a one-sided test."""
    for patients in COUNTS:
        yield Cell(
            "test then rank",
            "2 equal teams",
            patients,
            partial(_patients, kinds=(_symmetric, _symmetric)),
            np.zeros((1, 2)),
            (Promise("called better", "≤", 0.05),),
            scheme=TestThenRank(),
            clusters=patients_of(patients),
        )


# Bounded values

UNIT = Measure("", "Value", Direction.HIGHER, minimum=0.0, maximum=1.0)
TEAMS = 5
"""Independent teams, whose intervals are counted one by one."""


def _beta(random: np.random.Generator, cases: int, *, zeros: float = 0.0) -> Floats:
    shape = (1, TEAMS, cases)
    return random.beta(18, 2, shape) * (random.random(shape) >= zeros)


def _binary(random: np.random.Generator, cases: int) -> Floats:
    return (random.random((1, TEAMS, cases)) < 0.95).astype(np.float64)


def _nearly_constant(random: np.random.Generator, cases: int) -> Floats:
    shape = (1, TEAMS, cases)
    return np.where(random.random(shape) < 0.95, 0.9, random.random(shape))


def bounded() -> Iterable[Cell]:
    """Intervals of means of values from 0 to 1, by every method that is meant to cover them."""
    populations: list[tuple[str, tuple[int, ...], Draw, float]] = [
        ("Beta(18, 2)", (15, 50, 300), _beta, 0.9),
        ("Beta(18, 2) with 2 % zeros", (30, 100), partial(_beta, zeros=0.02), 0.98 * 0.9),
        ("Beta(18, 2) with 5 % zeros", (15, 100), partial(_beta, zeros=0.05), 0.95 * 0.9),
        ("binary, 0.95", (15, 100), _binary, 0.95),
        ("nearly constant", (15, 100), _nearly_constant, 0.95 * 0.9 + 0.05 * 0.5),
    ]
    for method in (name for name in ("bootstrap-t", "guaranteed", "proved") if name in METHODS):
        for population, sizes, draw, mean in populations:
            for cases in sizes:
                # Where failures are rare the default covers less, and says so.
                silent = method == "bootstrap-t" and "zeros" in population
                promises = [
                    Promise("coverage") if silent else Promise("coverage", "≥", 0.95),
                    Promise("median width"),
                    Promise("ends outside the range", "≤", 0.0),
                    Promise("infinite ends", "≤", 0.0),
                ]
                if method == "guaranteed" and population == "Beta(18, 2)" and cases >= 50:
                    promises.append(Promise("width against bootstrap-t", "≤", 2.5))
                truth = np.full((1, TEAMS), mean)
                yield Cell("bounded", population, cases, draw, truth, tuple(promises), measure=UNIT, method=method)


def _rare_failures(random: np.random.Generator, cases: int) -> Floats:
    """Return two teams with the same mean: the second is better by a fiftieth, and fails in one case of fifty."""
    base = random.beta(18, 2, cases)
    noise = random.uniform(0.94, 1.0, (2, cases))
    fails = random.random(cases) < 0.02
    return np.stack([0.98 * base * noise[0], base * noise[1] * ~fails])[None]


def rare_failures() -> Iterable[Cell]:
    """Two teams of equal means, of which one fails at 2 %."""
    promises = [Promise("false claims")]
    if "guaranteed" in METHODS:
        promises.append(Promise("false guarantees", "≤", 0.05))
    for cases in (30, 60, 100):
        yield Cell(
            "rare failures",
            "2 teams with one mean, one fails at 2 %",
            cases,
            _rare_failures,
            np.zeros((1, 2)),
            tuple(promises),
            measure=UNIT,
        )


SCENARIOS: dict[str, Callable[[], Iterable[Cell]]] = {
    "one criterion": one_criterion,
    "composite": composite,
    "medians": medians,
    "clusters": clusters,
    "test then rank": tests_of_clusters,
    "bounded": bounded,
    "rare failures": rare_failures,
}


def cells(*scenarios: str) -> list[Cell]:
    """Return the cells of the scenarios that are named, or of all."""
    return [cell for name in scenarios or SCENARIOS for cell in SCENARIOS[name]()]


def cell_of(scenario: str, population: str, cases: int, method: str = "bootstrap-t") -> Cell:
    """Return one cell."""
    wanted = (population, cases, method)
    (cell,) = (c for c in SCENARIOS[scenario]() if (c.population, c.cases, c.method) == wanted)
    return cell
