"""Claims are as rarely false as is said, intervals cover, and a winner is certain who should be.

Simulated with the populations of tests/support; benchmarks/certainty.py prints the same figures as a table.
"""

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import promises
import pytest
from populations import SCENARIOS, cell_of, cells
from promises import METHODS, QUANTITIES, Figure, Promise, Trial, simulated
from shared_data import PROJECT

from podium.ranking.inference.comparisons import RankInterval

LADDER = "8 teams half a deviation apart"
SHORT = [
    ("one criterion", "10 equal teams, one a near-copy", 50, 60),
    ("composite", f"{LADDER}, criteria correlated 0.5", 100, 30),
    ("composite", "boundary: 3 won, 3 on the edge", 50, 30),
    ("medians", "equal medians, 2 teams, one with two modes", 60, 60),
    ("clusters", "2 equal teams, symmetric", 8, 150),
    ("test then rank", "2 equal teams", 15, 200),
    ("rare failures", "2 teams with one mean, one fails at 2 %", 30, 40),
]
LONGER = [
    ("one criterion", "10 equal teams", 50, 100),
    ("one criterion", LADDER, 50, 200),
    ("composite", f"{LADDER}, criteria correlated 0.5", 50, 40),
    ("composite", "criteria that disagree", 50, 30),
    ("medians", "equal medians, 10 teams, one skewed", 60, 100),
    ("medians", "equal medians, 2 teams, one with zeros", 200, 100),
    ("medians", "equal 0.05 quantiles, 2 teams, one skewed", 200, 100),
    ("clusters", "2 equal teams, symmetric", 15, 300),
    ("clusters", "10 equal teams, one skewed", 15, 100),
    ("clusters", "2 teams a patient's deviation apart", 60, 100),
    ("medians", "medians half a deviation apart, 2 teams", 200, 40),
    ("test then rank", "2 equal teams", 60, 300),
]
BOUNDED = [
    ("Beta(18, 2)", 50),
    ("binary, 0.95", 15),
    pytest.param("Beta(18, 2) with 5 % zeros", 15, marks=pytest.mark.slow),
    pytest.param("nearly constant", 15, marks=pytest.mark.slow),
]


def broken(cell, rounds, **options):
    """Return what is not kept, beyond three binomial standard errors."""
    figures = simulated(cell, rounds, **options)
    return [f"{f.promise.quantity}: {f.value:.3f}" for f in figures if f.reached(errors=3) is False]


@pytest.mark.parametrize(
    ("scenario", "population", "cases", "rounds"),
    [*SHORT, *(pytest.param(*longer, marks=pytest.mark.heavy) for longer in LONGER)],
)
def test_promises_are_kept_in_short(scenario, population, cases, rounds):
    assert broken(cell_of(scenario, population, cases), rounds) == []


@pytest.mark.parametrize("method", [name for name in ("bootstrap-t", "guaranteed", "proved") if name in METHODS])
@pytest.mark.parametrize(("population", "cases"), BOUNDED)
def test_intervals_of_bounded_values_in_short(population, cases, method):
    assert broken(cell_of("bounded", population, cases, method), 40) == []


@pytest.mark.heavy
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_promises_are_kept(scenario):
    """In every cell of the benchmark, 120 rounds each; the benchmark takes more."""
    missed = {f"{c.population}, {c.cases}, {c.method}": broken(c, 120) for c in cells(scenario)}
    assert {name: quantities for name, quantities in missed.items() if quantities} == {}


# Faults that were planted are noticed


@pytest.mark.parametrize(
    ("scenario", "population", "cases"),
    [
        ("one criterion", "10 equal teams", 50),
        ("medians", "equal medians, 2 teams, one skewed", 60),
        ("clusters", "2 equal teams, symmetric", 15),
        ("bounded", "Beta(18, 2)", 50),
    ],
)
def test_who_is_too_bold_is_noticed(scenario, population, cases, monkeypatch):
    """A level of 50 % where 95 % is said."""
    cell = cell_of(scenario, population, cases)
    assess = promises.assess_confidence
    monkeypatch.setattr(promises, "assess_confidence", lambda rule, **options: assess(rule, level=0.5, **options))
    assert broken(cell, 40)


def test_who_takes_published_places_for_certain_is_noticed(monkeypatch):
    assess = promises.assess_confidence

    def certain(rule, **options):
        places = rule.published.places[0].astype(int).tolist()
        return replace(assess(rule, **options), ranks=tuple(RankInterval(place, place) for place in places))

    monkeypatch.setattr(promises, "assess_confidence", certain)
    assert broken(cell_of("composite", "boundary: 3 won, 3 on the edge", 50), 10, replicates=50)
    assert broken(cell_of("one criterion", "2 equal teams", 50), 10, replicates=50)


@pytest.mark.parametrize(
    "key", [("one criterion", LADDER, 50), ("composite", f"{LADDER}, criteria correlated 0.5", 100)]
)
def test_who_is_too_timid_is_noticed(key):
    assert [fault.split(":")[0] for fault in broken(cell_of(*key), 20, level=0.9999)] == ["certain winner"]


@pytest.mark.parametrize("scenario", ["clusters", "test then rank"])
def test_who_overlooks_clusters_is_noticed(scenario):
    population = "2 equal teams, symmetric" if scenario == "clusters" else "2 equal teams"
    assert broken(replace(cell_of(scenario, population, 15), clusters=None), 100)


def test_ends_where_no_value_can_be_are_noticed():
    trial = Trial(cell_of("bounded", "Beta(18, 2)", 50), 0)
    ends = SimpleNamespace(low=np.array([-0.1, 0.2, np.nan, 0.95, 0.2]), high=np.array([0.9, np.inf, 1.0, 1.0, 1.0]))
    trial.confidence = SimpleNamespace(columns={"value": ends})
    measured = {name: QUANTITIES[name](trial).tolist() for name in ("ends outside the range", "infinite ends")}
    assert measured["ends outside the range"] == [True, True, False, False, False]
    assert measured["infinite ends"] == [False, True, False, False, False]
    assert QUANTITIES["coverage"](trial).tolist() == [True, True, False, False, True]  # no interval covers nothing
    assert np.isinf(QUANTITIES["median width"](trial)).tolist() == [False, True, True, False, False]


@pytest.mark.parametrize(("flags", "false"), [([[0, 0], [0, 0]], False), ([[0, 0], [1, 0]], True)])
def test_a_false_guarantee_is_noticed(flags, false):
    trial = Trial(cell_of("rare failures", "2 teams with one mean, one fails at 2 %", 30), 0)
    trial.confidence = SimpleNamespace(pairs=(SimpleNamespace(guaranteed=np.array(flags, bool)),))
    assert QUANTITIES["false guarantees"](trial) is false


# The truth, and how figures are judged


@pytest.mark.parametrize(
    ("population", "places"),
    [
        (f"{LADDER}, criteria correlated 0.5", [(place, place) for place in range(1, 9)]),
        ("near ties", [(place, place) for place in range(1, 9)]),
        ("all equal", [(1, 8)] * 8),
        ("half tied", [(1, 4)] * 4 + [(place, place) for place in range(5, 9)]),
        ("criteria that disagree", [(1, 8)] * 8),
        ("boundary: 3 won, 3 on the edge", [(1, 2)] * 2 + [(3, 4)] * 2 + [(5, 6)] * 2 + [(7, 8)] * 2),
        ("boundary: 3 won, 2 lost, 1 on the edge", [(1, 2)] * 2 + [(3, 4)] * 2 + [(5, 6)] * 2 + [(7, 8)] * 2),
        ("boundary: 1 won by 5 places, 5 on the edge", [(1, 2)] * 2 + [(place, place) for place in range(3, 9)]),
    ],
)
def test_true_places(population, places):
    best, worst = cell_of("composite", population, 50).places
    assert list(zip(best.tolist(), worst.tolist(), strict=True)) == places


def test_populations_have_the_means_that_they_say():
    """In 100 rounds, give or take five standard errors; of rare failures, the difference."""
    for cell in cells():
        if cell.scheme.name == "mean then rank" and cell.cases in (50, 60, 100):
            values = np.concatenate([cell.draw(np.random.default_rng([1, n]), cell.cases) for n in range(100)], axis=2)
            rounds = values.reshape(*cell.truth.shape, 100, -1).mean(axis=3)
            compared = rounds - rounds[:, :1], cell.truth - cell.truth[:, :1]
            if cell.scenario == "bounded":
                compared = rounds, cell.truth
            error = compared[0].std(axis=2) / np.sqrt(100)
            assert (np.abs(compared[0].mean(axis=2) - compared[1]) <= 5 * error + 1e-8).all(), cell.population


def test_equal_quantiles_are_equal():
    for cell in (c for c in cells("medians") if c.cases == 200 and not c.truth.any()):
        share = 0.5 if cell.scheme.statistic == "median" else float(cell.scheme.statistic)
        values = cell.draw(np.random.default_rng(2), 40_000)
        below = np.mean(values < cell.truth[..., None], axis=2)
        np.testing.assert_allclose(below, share, atol=5 * np.sqrt(share * (1 - share) / 40_000))


def test_a_figure_is_judged_by_its_bound():
    cell = cell_of("one criterion", "2 equal teams", 50)
    figure = Figure(cell, Promise("false claims", "≤", 0.1), 0.16, 0.03, 100, 100, 1.0)
    assert (figure.reached(), figure.reached(errors=1), figure.reached(errors=3)) == (False, False, True)
    figure = replace(figure, promise=Promise("coverage", "≥", 0.2))
    assert (figure.reached(), figure.reached(errors=1)) == (False, True)
    assert replace(figure, promise=Promise("median width")).reached() is None


def test_the_table_of_figures(tmp_path):
    key = ["test then rank", "2 equal teams", 15, "bootstrap-t", "called better"]
    (tmp_path / "before.json").write_text(json.dumps([{"key": key, "value": 0.173}]))
    options = ["--rounds", "2", "--only", "test then rank", "--json", tmp_path / "after.json"]
    command = [sys.executable, PROJECT / "benchmarks" / "certainty.py", *options, "--before", tmp_path / "before.json"]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    assert lines[3].startswith("| test then rank | 2 equal teams | 15 | called better | 17.3 % | ")
    assert "| ≤ 5 % |" in lines[3]
    assert [entry["key"] for entry in json.loads((tmp_path / "after.json").read_text())][1] == key
