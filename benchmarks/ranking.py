"""Bootstraps of rankings, against a plain loop on this machine and against challengeR's recorded times.

challengeR is an R package; what it took for the same tables was recorded once, on a two-core machine, and stands in
golden/challenger.json beside the tables.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from harness import PEAK_MB, Row
from scipy.stats import rankdata, wilcoxon

from podium.model import Direction, Measure
from podium.ranking import (
    AggregateThenRank,
    RankThenAggregate,
    Scheme,
    ScoreTable,
    TaskValues,
    TestThenRank,
    scheme_rule,
    units_of,
)
from podium.ranking.inference.stability import assess_stability

# Seconds for 1,000 resamples, by challengeR 1.0.5.
RECORDED = {"mean then rank": 237.438, "rank then mean": 671.923, "test then rank": 1585.905}
RECORDED_LARGE_TEST = 203.947 / 3
"""Seconds for one resample of 100 submissions × 1,000 cases, test then rank, by the same."""


def rows() -> list[Row]:
    """Measure each scheme on the size that challengeR's time was recorded for."""
    large, small = _table(100, 1000), _table(30, 300)
    return [
        _mean_then_rank(large),
        _memory(),
        _row("rank then mean", large, RankThenAggregate(), 1000, _rank_then_mean, loops=20),
        _row("test then rank", small, TestThenRank(), 1000, _test_then_rank, loops=1),
        _large_test(large),
        *_crowd(),
    ]


def _table(submissions: int, cases: int) -> ScoreTable:
    random = np.random.default_rng(0)
    values = random.beta(8, 2, (submissions, cases)) + np.linspace(0, 0.1, submissions)[:, None]
    names = tuple(f"case {number}" for number in range(cases))
    measure = Measure("", "Value", Direction.HIGHER)
    task = TaskValues(measure, np.ones(cases, bool), values, np.zeros(values.shape, bool))
    return ScoreTable("benchmark", tuple(f"A{n:03}" for n in range(submissions)), names, units_of(names), (task,))


def _timed(work: Callable[[], object], *, rounds: int = 3) -> float:
    """Return the shortest time in seconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def _mean_then_rank(table: ScoreTable) -> Row:
    rule = scheme_rule(table, AggregateThenRank())
    assess_stability(rule, replicates=10)
    ours = _timed(lambda: assess_stability(rule, replicates=10_000))
    loop = _timed(lambda: _loop(table, _mean_then_rank_once, 50), rounds=1) * 200
    return Row(
        "bootstrap, 100 × 1,000 × 10,000, mean then rank",
        ours,
        {"allowed": 5.0, "NumPy loop": loop, "challengeR, recorded": 10 * RECORDED["mean then rank"]},
        unit="s",
        targets={"allowed": ("≤", 1.0)},
    )


def _row(
    name: str, table: ScoreTable, scheme: Scheme, replicates: int, once: Callable[..., object], *, loops: int
) -> Row:
    rule = scheme_rule(table, scheme)
    assess_stability(rule, replicates=10)
    ours = _timed(lambda: assess_stability(rule, replicates=replicates))
    loop = _timed(lambda: _loop(table, once, loops), rounds=1) * replicates / loops
    teams, cases = table.tasks[0].values.shape
    return Row(
        f"bootstrap, {teams} × {cases:,} × {replicates:,}, {name}",
        ours,
        {"SciPy loop": loop, "challengeR, recorded": RECORDED[name]},
        unit="s",
        targets={"challengeR, recorded": ("≥", 100.0)},
    )


def _large_test(table: ScoreTable) -> Row:
    rule = scheme_rule(table, TestThenRank())
    assess_stability(rule, replicates=10)
    ours = _timed(lambda: assess_stability(rule, replicates=1000), rounds=1)
    return Row(
        "bootstrap, 100 × 1,000 × 1,000, test then rank",
        ours,
        {"challengeR, recorded × 1,000": 1000 * RECORDED_LARGE_TEST},
        unit="s",
        targets={"challengeR, recorded × 1,000": ("≥", 100.0)},
    )


def _memory() -> Row:
    """Measure the memory of a process that does the largest bootstrap and nothing else."""
    program = (
        "import ranking;"
        "rule = ranking.scheme_rule(ranking._table(100, 1000), ranking.AggregateThenRank());"
        "ranking.assess_stability(rule, replicates=10_000);"
        f"print({PEAK_MB})"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=sys.path[0], capture_output=True, check=True, text=True)
    return Row(
        "the same, memory of the whole process",
        float(done.stdout),
        {"allowed": 1000.0},
        unit="MB",
        targets={"allowed": ("≤", 1.0)},
    )


def _crowd() -> list[Row]:
    """Measure all that `podium rank --bootstrap 1000` computes for a crowd: time, and memory of the process."""
    program = (
        "import time, ranking;"
        "from podium.ranking import AggregateThenRank, Ranking, scheme_rule;"
        "from podium.ranking.inference.sensitivity import table_alternatives;"
        "table, scheme = ranking._table(300, 5000), AggregateThenRank();"
        "start = time.perf_counter();"
        "Ranking(scheme_rule(table, scheme), lambda: table_alternatives(table, scheme)).tables;"
        f"print(time.perf_counter() - start, {PEAK_MB})"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=sys.path[0], capture_output=True, check=True, text=True)
    seconds, memory = map(float, done.stdout.split())
    name = "all about the ranking of 300 × 5,000"
    return [
        Row(name, seconds, {"allowed": 60.0}, unit="s", targets={"allowed": ("≤", 1.0)}),
        Row(f"{name}, memory", memory, {"allowed": 2000.0}, unit="MB", targets={"allowed": ("≤", 1.0)}),
    ]


def _loop(table: ScoreTable, once: Callable[..., object], replicates: int) -> None:
    """Do what a script would do: draw cases, rank, again and again."""
    random = np.random.default_rng(1)
    values = table.tasks[0].values
    for _ in range(replicates):
        once(values[:, random.integers(0, values.shape[1], values.shape[1])])


def _mean_then_rank_once(values: np.ndarray) -> np.ndarray:
    return rankdata(-values.mean(axis=1), method="min")


def _rank_then_mean(values: np.ndarray) -> np.ndarray:
    return rankdata(rankdata(-values, method="min", axis=0).mean(axis=1), method="min")


def _test_then_rank(values: np.ndarray) -> np.ndarray:
    wins = np.zeros(len(values))
    for one in range(len(values)):
        for other in range(len(values)):
            if one != other and not np.array_equal(values[one], values[other]):
                wins[one] += wilcoxon(values[one], values[other], alternative="greater", method="approx").pvalue < 0.05
    return rankdata(-wins, method="min")
