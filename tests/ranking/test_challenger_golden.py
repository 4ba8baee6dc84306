"""challengeR's own example and two larger tables: ranks, p-values, consensus, and its recorded draws replayed."""

import gzip
import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from scipy import stats

from podium.model import Direction
from podium.ranking import (
    AggregateThenRank,
    RankThenAggregate,
    Rule,
    ScoreTable,
    TestThenRank,
    scheme_rule,
    table_of_scores,
)
from podium.ranking.inference.significance import PairedTests, adjusted_p
from podium.ranking.inference.stability import assess_stability, kendall_tau

SCHEMES = {
    "aggregateThenRank_mean": AggregateThenRank("mean"),
    "aggregateThenRank_median": AggregateThenRank("median"),
    "rankThenAggregate_mean": RankThenAggregate("mean"),
    "rankThenAggregate_median": RankThenAggregate("median"),
    # Whether two differences tie is decided by the last bit there, as R does it; see the ties on paper below.
    "testThenRank_none": TestThenRank("none", differences="raw"),
    "testThenRank_holm": TestThenRank("holm", differences="raw"),
}
TASKS = [
    ("data_matrix", "c_ideal"),
    ("data_matrix", "c_random"),
    ("data_matrix", "c_worstcase"),
    ("synth_30x300", "synth30"),
    ("synth_100x1000", "synth100"),
]
FILES = {
    "data_matrix": "data_matrix.csv",
    "synth_30x300": "synth_30x300_na_ties.csv",
    "synth_100x1000": "synth_100x1000.csv.gz",
}
EVERY_TASK = pytest.mark.parametrize(
    ("dataset", "task"),
    [pytest.param(*each, marks=pytest.mark.slow) if each[1] == "synth100" else each for each in TASKS],
)


class Challenger(NamedTuple):
    """Its tables, and what it makes of them."""

    folder: object
    numbers: dict
    frames: dict

    def table(self, dataset: str, *tasks: str) -> ScoreTable:
        """Return tasks of a table; a missing value counts 0."""
        frame = self.frames[dataset].filter(pl.col("task").is_in(tasks))
        return table_of_scores(frame, better="higher", missing=0.0)

    def rule(self, dataset: str, task: str, scheme: str) -> Rule:
        """Return the rule of a task by one of its schemes."""
        return scheme_rule(self.table(dataset, task), SCHEMES[scheme])

    def draws(self, dataset: str, task: str) -> np.ndarray:
        """Return how often each case was drawn in each of 1,000 resamples. Cases are numbered from 1."""
        with gzip.open(self.folder / f"bootstrap_draws_{dataset}_{task}_seed1.csv.gz", "rt") as lines:
            drawn = [[int(case) for case in line.strip().strip('"').split(",")] for line in lines]
        return np.array([np.bincount(each, minlength=len(each) + 1)[1:] for each in drawn], float)

    def resamples(self, dataset: str, task: str, scheme: str) -> pl.DataFrame:
        """Return the ranks and τ of 1,000 resamples, as far as they were recorded."""
        path = self.folder / f"bootstrap_ranks_{dataset}.csv.gz"
        found = pl.read_csv(path, null_values=["null", "NA"], schema_overrides={"tau": pl.Float64})
        return found.filter((pl.col("scheme") == scheme) & (pl.col("task") == task)).sort("boot")


@pytest.fixture(scope="module")
def challenger(shared):
    path = shared / "golden" / "challenger.json"
    if not path.exists():
        pytest.skip("golden/challenger.json is missing from ../shared")
    folder = shared / "golden" / "challenger"
    frames = {
        dataset: pl.read_csv(folder / file, null_values=["NA"]).rename({"alg_name": "submission"})
        for dataset, file in FILES.items()
    }
    return Challenger(folder, json.loads(path.read_text())["datasets"], frames)


@EVERY_TASK
def test_cases_are_in_the_order_of_their_numbers(challenger, dataset, task):
    rows = challenger.table(dataset, task).rows
    assert rows == tuple(str(number) for number in range(1, len(rows) + 1))


@EVERY_TASK
@pytest.mark.parametrize("scheme", SCHEMES)
def test_ranks_are_identical(challenger, dataset, task, scheme):
    expected = challenger.numbers[dataset]["tasks"][task]["ranks"][scheme]
    rule = challenger.rule(dataset, task, scheme)
    scores = rule.published
    assert dict(zip(rule.submissions, scores.places[0].tolist(), strict=True)) == dict(
        zip(expected["algorithm"], expected["rank"], strict=True)
    )
    # challengeR shows the share of others that one is significantly better than, Podium their number.
    others = len(rule.submissions) - 1 if scheme.startswith("test") else 1
    found = dict(zip(rule.submissions, scores.columns[0].values[0] / others, strict=True))
    assert found == pytest.approx(dict(zip(expected["algorithm"], expected["aggregate"], strict=True)), abs=1e-12)


@EVERY_TASK
def test_p_values_of_every_ordered_pair(challenger, dataset, task):
    expected = challenger.numbers[dataset]["tasks"][task]["significance"]
    table = challenger.table(dataset, task)
    assert list(table.submissions) == expected["algorithms"]
    p = PairedTests(table.tasks[0].values, direction=Direction.HIGHER, raw=True).p(np.ones((1, len(table.rows))))[0]
    apart = ~np.eye(len(p), dtype=bool)
    assert np.isnan(np.diagonal(p)).all()
    np.testing.assert_allclose(p[apart], np.array(expected["p_value"], float)[apart], rtol=1e-8, atol=0)
    holm = adjusted_p(p[apart], "holm")  # over all n(n − 1) ordered pairs
    np.testing.assert_allclose(holm, np.array(expected["p_value_holm"], float)[apart], rtol=1e-8, atol=0)
    for scheme, name in ((TestThenRank(), "decision_none"), (TestThenRank("holm"), "decision_holm")):
        np.testing.assert_array_equal(scheme.significant(p[None])[0], np.array(expected[name], bool))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_consensus_is_the_mean_rank_over_tasks(challenger, scheme):
    expected = challenger.numbers["data_matrix"]["mean_rank_across_tasks"][scheme]
    rule = scheme_rule(challenger.table("data_matrix", "c_ideal", "c_random", "c_worstcase"), SCHEMES[scheme])
    average = rule.published.column("average_rank")
    found = dict(zip(rule.submissions, average.values[0], strict=True))
    assert found == pytest.approx(dict(zip(expected["algorithm"], expected["mean_rank"], strict=True)), abs=1e-12)


@pytest.mark.parametrize(
    ("dataset", "task", "scheme"),
    [(*each, "aggregateThenRank_mean") for each in TASKS]
    + [(*each, "aggregateThenRank_median") for each in TASKS if each[0] == "data_matrix"],
)
def test_every_recorded_resample_of_aggregate_then_rank(challenger, dataset, task, scheme):
    recorded = challenger.resamples(dataset, task, scheme)
    assert len(recorded) == 1000
    rule, draws = challenger.rule(dataset, task, scheme), challenger.draws(dataset, task)
    places = rule.places(draws)
    expected = recorded.select(rule.submissions).to_numpy().astype(float)
    differing = np.flatnonzero((places != expected).any(axis=1))
    if (task, scheme) == ("c_worstcase", "aggregateThenRank_mean"):
        # The package sums floating-point numbers and takes noise in the last digit for a difference. In decimal
        # arithmetic the means are equal, as Podium has it, which compares neighbours to 12 digits.
        assert len(differing) == 2
        for resample in differing:
            np.testing.assert_array_equal(places[resample], ranks_on_paper(challenger, task, draws[resample]))
            assert (expected[resample] != ranks_on_paper(challenger, task, draws[resample])).any()
    else:
        assert not len(differing)
    tau = kendall_tau(places, rule.published.places[0])
    np.testing.assert_allclose(tau, recorded["tau"].fill_null(np.nan).to_numpy(), atol=1e-12)
    summary = challenger.numbers[dataset]["bootstrap_nboot1000_seed1"][scheme][task]
    assert np.isnan(tau).sum() == summary["tau_undefined_samples"]
    if summary["tau_mean"] is not None:
        assert np.nanmean(tau) == pytest.approx(summary["tau_mean"], abs=1e-12)
        assert np.nanmedian(tau) == pytest.approx(summary["tau_median"], abs=1e-12)


def on_paper(challenger, dataset, task):
    """Return the numbers as people write them, by algorithm and case: R writes 0.81 as 0.81000000000000005.

    A missing one counts 0.
    """
    text = pl.read_csv(challenger.folder / FILES[dataset], infer_schema=False).filter(pl.col("task") == task)
    values = {}
    for name, case, value in text.select("alg_name", "case", "value").iter_rows():
        values.setdefault(name, {})[int(case)] = Fraction(0 if value in (None, "NA") else Decimal(repr(float(value))))
    return {name: [own[case] for case in sorted(own)] for name, own in sorted(values.items())}


def ranks_on_paper(challenger, task, counts):
    """Rank sums of the numbers as they are written, without any rounding."""
    sums = {
        name: sum(value * int(count) for value, count in zip(own, counts, strict=True))
        for name, own in on_paper(challenger, "data_matrix", task).items()
    }
    return [1 + sum(other > own for other in sums.values()) for own in sums.values()]


def p_on_paper(one, two):
    """Test "the first is greater" with exact fractions: zeros, ties and the statistic, then the normal distribution."""
    differences = [a - b for a, b in zip(one, two, strict=True) if a != b]
    groups = sorted(Counter(abs(difference) for difference in differences).items())
    count, ranks = 0, {}
    for size, tied in groups:
        ranks[size] = count + Fraction(tied + 1, 2)
        count += tied
    statistic = sum(ranks[abs(difference)] for difference in differences if difference > 0)
    excess = statistic - Fraction(count * (count + 1), 4)
    ties = sum(tied**3 - tied for _, tied in groups)
    variance = Fraction(count * (count + 1) * (2 * count + 1), 24) - Fraction(ties, 48)
    return stats.norm.sf(float(excess - Fraction(1, 2)) / float(variance) ** 0.5) if count else 1.0


@pytest.mark.parametrize(
    ("dataset", "task", "differing"),
    [
        ("data_matrix", "c_random", 0),
        ("data_matrix", "c_worstcase", 20),
        pytest.param("synth_30x300", "synth30", 680, marks=pytest.mark.slow),
    ],
)
def test_zeros_and_ties_of_differences_are_those_on_paper(challenger, dataset, task, differing):
    """R takes 0.3 − 0.2 and 0.2 − 0.1 for two sizes. Every p-value of Podium's own is that of exact fractions."""
    values = on_paper(challenger, dataset, task)
    table = challenger.table(dataset, task)
    assert list(values) == list(table.submissions)
    numbers, weights = table.tasks[0].values, np.ones((1, len(table.rows)))
    p = PairedTests(numbers, direction=Direction.HIGHER).p(weights)[0]
    raw = PairedTests(numbers, direction=Direction.HIGHER, raw=True).p(weights)[0]
    apart = ~np.eye(len(p), dtype=bool)
    assert np.sum(~np.isclose(p[apart], raw[apart], rtol=1e-9, atol=0)) == differing
    exact = np.array([[p_on_paper(one, two) for two in values.values()] for one in values.values()])
    np.testing.assert_allclose(p[apart], exact[apart], rtol=1e-9, atol=0)
    # The places follow: those of the number of others that one is significantly better than.
    wins = np.sum((exact < 0.05) & apart, axis=1)
    places = [1 + int(np.sum(wins > own)) for own in wins]
    assert scheme_rule(table, TestThenRank()).published.places[0].tolist() == places


# What challengeR's bootstrap does in the other two schemes is no bootstrap; `replay_check` has the textbook's values.


def textbook(challenger, dataset, task, scheme, *, kind, resamples=1000):
    rule = challenger.rule(dataset, task, scheme)
    places = rule.places(challenger.draws(dataset, task)[:resamples])
    tau = kendall_tau(places, rule.published.places[0])
    check = challenger.numbers[dataset]["replay_check"][task]
    assert list(rule.submissions) == check["algorithms"]
    recorded = challenger.resamples(dataset, task, scheme).select(rule.submissions).to_numpy()[:resamples]
    assert (places != recorded).any(axis=1).sum() == check[f"{kind}_rows_differing_textbook"]
    teams = len(rule.submissions)
    shares = np.stack([(places == place).mean(axis=0) for place in range(1, teams + 1)], axis=1)
    np.testing.assert_allclose(shares, check[f"{kind}_freq_textbook"], atol=1e-12)
    if check[f"{kind}_tau_mean_textbook"] is None:
        assert np.isnan(tau).all()
    else:
        assert np.nanmean(tau) == pytest.approx(check[f"{kind}_tau_mean_textbook"], abs=1e-12)
        assert np.nanmedian(tau) == pytest.approx(check[f"{kind}_tau_median_textbook"], abs=1e-12)
    return tau, check


@EVERY_TASK
def test_rank_then_aggregate_is_the_textbooks(challenger, dataset, task):
    textbook(challenger, dataset, task, "rankThenAggregate_mean", kind="rank")


@pytest.mark.parametrize("task", ["c_ideal", "c_random", "c_worstcase"])
def test_test_then_rank_is_the_textbooks(challenger, task):
    tau, check = textbook(challenger, "data_matrix", task, "testThenRank_none", kind="test")
    assert np.isnan(tau).sum() == check["test_tau_n_na_textbook"]


# What its example shows


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ideal_ranks_never_change(challenger, scheme):
    found = assess_stability(challenger.rule("data_matrix", "c_ideal", scheme), replicates=1000)
    assert (found.places == [1, 2, 3, 4, 5]).all()
    assert (found.tau == 1).all()
    np.testing.assert_array_equal(found.shares, np.eye(5))
    np.testing.assert_array_equal(found.leads, np.triu(np.ones((5, 5)), 1))


def test_the_worst_case_is_one_tie_and_tau_is_undefined(challenger):
    found = assess_stability(challenger.rule("data_matrix", "c_worstcase", "aggregateThenRank_mean"), replicates=1000)
    assert found.published.tolist() == [1, 1, 1, 1, 1]
    assert np.isnan(found.tau).all()
    assert (found.first < 0.35).all()


def test_the_winner_of_noise_is_first_in_half_of_the_resamples(challenger):
    found = assess_stability(challenger.rule("data_matrix", "c_random", "aggregateThenRank_mean"), replicates=4000)
    winner = int(np.argmin(found.published))
    assert found.first[winner] == pytest.approx(0.5, abs=0.05)
