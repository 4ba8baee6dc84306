"""Signed-rank tests against SciPy, R and rows written out; significance lists by hand."""

import csv
import gzip
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from podium.model import Direction, InputError
from podium.ranking.inference.significance import (
    PairedTests,
    adjusted_p,
    holm,
    significance_ranks,
    significantly_better,
    wilcoxon_signed_rank,
)

pytestmark = pytest.mark.slow

ALTERNATIVES = ("two-sided", "greater", "less")


def ones(rows):
    return np.ones((1, rows))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("rows", [1, 2, 5, 12, 31, 49, 50, 51, 400])
def test_without_ties_as_scipy(rows, alternative):
    differences = np.random.default_rng(rows).normal(0.2, 1, (6, rows))
    found = wilcoxon_signed_rank(differences, ones(rows), alternative=alternative)
    method = "exact" if rows < 50 else "asymptotic"
    for pair, own in enumerate(differences):
        expected = stats.wilcoxon(own, alternative=alternative, method=method, correction=True)
        assert found.p[0, pair] == pytest.approx(expected.pvalue, rel=1e-11)
        greater = stats.wilcoxon(own, alternative="greater", method="asymptotic").statistic
        assert found.statistic[0, pair] == greater
        assert found.tendency[0, pair] == np.sign(greater - rows * (rows + 1) / 4)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("rows", [4, 20, 200])
def test_with_ties_and_zeros_as_scipy(rows, alternative):
    generator = np.random.default_rng(rows)
    differences = generator.integers(-3, 5, (8, rows)) / 8
    differences[:, :2] = 0.5, -0.5  # a tie at least, so that none is exact
    found = wilcoxon_signed_rank(differences, ones(rows), alternative=alternative)
    for pair, own in enumerate(differences):
        expected = stats.wilcoxon(
            own, alternative=alternative, method="asymptotic", correction=True, zero_method="wilcox"
        ).pvalue
        # SciPy's correction for continuity pushes a statistic that equals its expectation away from it; R's does not.
        balanced = found.tendency[0, pair] == 0 and alternative == "two-sided"
        assert found.p[0, pair] == pytest.approx(1.0 if balanced else expected, rel=1e-11)


def test_values_of_r():
    """By hand, from the definition in R's manual: 5 differences, V = 10 of 15; 1 zero makes the test approximate."""
    # P(V ≥ 10) = 10/32: of the subsets of 1 … 5, 10 have a sum of 10 or more.
    assert wilcoxon_signed_rank([1, 2, 3, 4, -5], ones(5), alternative="greater").p == pytest.approx(10 / 32)
    assert wilcoxon_signed_rank([1, 2, 3, 4, -5], ones(5)).p == pytest.approx(20 / 32)
    # z = (10 − 7.5 − 0.5)/√(5·6·11/24)
    z = 2 / np.sqrt(13.75)
    assert wilcoxon_signed_rank([1, 2, 3, 4, -5, 0], ones(6)).p == pytest.approx(2 * stats.norm.sf(z))
    # Two of equal size: V = 1.5 + 3 + 4 = 8.5 of 10, variance 7.5 − (8 − 2)/48.
    z = (8.5 - 5 - 0.5) / np.sqrt(7.5 - 6 / 48)
    assert wilcoxon_signed_rank([1, -1, 3, 4], ones(4)).p == pytest.approx(2 * stats.norm.sf(z))


def test_49_differences_are_exact_and_50_are_not():
    for rows in (49, 50):
        differences = np.arange(1.0, rows + 1)
        differences[::3] *= -1
        exact = stats.wilcoxon(differences, method="exact").pvalue
        found = wilcoxon_signed_rank(differences, ones(rows)).p[0]
        assert (found == pytest.approx(exact, rel=1e-12)) == (rows == 49)
        assert wilcoxon_signed_rank(differences, ones(rows), exact_below=0).p[0] != pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_no_difference_is_no_significance(alternative):
    assert wilcoxon_signed_rank(np.zeros((2, 7)), ones(7), alternative=alternative).p.tolist() == [[1, 1]]
    found = wilcoxon_signed_rank([0.3, 0.4], np.zeros((3, 2)), alternative=alternative)
    assert (found.p.tolist(), found.tendency.tolist()) == ([1, 1, 1], [0, 0, 0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.booleans())
def test_a_weight_is_a_repeated_row(seed, rows, tied):
    generator = np.random.default_rng(seed)
    differences = generator.normal(0.1, 1, (3, rows))
    if tied:
        differences = np.round(differences, 1)
    weights = generator.integers(0, 4, (5, rows)).astype(float)
    weights[0] = generator.integers(0, 2, rows)
    for alternative in ALTERNATIVES:
        found = wilcoxon_signed_rank(differences, weights, alternative=alternative)
        for one, times in enumerate(weights.astype(int)):
            repeated = np.repeat(differences, times, axis=1)
            expected = wilcoxon_signed_rank(repeated, ones(repeated.shape[1]), alternative=alternative)
            np.testing.assert_array_equal(found.statistic[one], expected.statistic[0])
            np.testing.assert_allclose(found.p[one], expected.p[0], rtol=1e-13)


def test_a_row_without_a_difference_is_left_out():
    with_gap = wilcoxon_signed_rank([1, np.nan, 2, 3, -4, 5, 6], ones(7))
    without = wilcoxon_signed_rank([1, 2, 3, -4, 5, 6], ones(6))
    assert with_gap.p == without.p  # still exact


def test_wrong_questions_are_refused():
    with pytest.raises(InputError, match="weights"):
        wilcoxon_signed_rank([1.0, 2.0], np.ones((1, 3)))
    with pytest.raises(InputError, match="weights"):
        wilcoxon_signed_rank([1.0, 2.0], np.array([[1.0, -1.0]]))
    with pytest.raises(InputError, match="no alternative"):
        wilcoxon_signed_rank([1.0], ones(1), alternative="bigger")


@pytest.mark.parametrize(
    ("dataset", "file"),
    [
        ("data_matrix", "data_matrix.csv"),
        ("synth_30x300", "synth_30x300_na_ties.csv"),
        ("synth_100x1000", "synth_100x1000.csv.gz"),
    ],
)
def test_challenger(shared, dataset, file):
    """V, p, Holm's p and decisions of R 4.2, through challengeR: one-sided, never exact; a missing value counts 0."""
    folder = shared / "golden" / "challenger"

    def rows(name):
        opening = gzip.open if name.endswith(".gz") else open
        with opening(folder / name, "rt") as stream:
            return list(csv.DictReader(stream))

    golden = [row for row in rows("significance.csv.gz") if row["dataset"] == dataset]
    values = {}
    for row in rows(file):
        number = 0.0 if row["value"] in ("", "NA") else float(row["value"])
        values.setdefault(row["task"], {}).setdefault(row["alg_name"], {})[row["case"]] = number
    for task in sorted({row["task"] for row in golden}):
        table = values[task]
        cases = sorted(next(iter(table.values())))
        numbers = {name: np.array([own[case] for case in cases]) for name, own in table.items()}
        wanted = {(row["better"], row["worse"]): row for row in golden if row["task"] == task}
        pairs = list(permutations(sorted(numbers), 2))
        assert set(wanted) <= set(pairs)
        differences = np.stack([numbers[one] - numbers[two] for one, two in pairs])
        found = wilcoxon_signed_rank(differences, ones(len(cases)), alternative="greater", exact_below=0)
        adjusted = holm(found.p[0])
        for index, pair in enumerate(pairs):
            if pair not in wanted:
                continue
            expected = wanted[pair]
            assert found.statistic[0, index] == float(expected["V"])
            if expected["p"] not in ("NA", "NaN"):  # two identical algorithms: R gives no number, Podium 1
                assert found.p[0, index] == pytest.approx(float(expected["p"]), rel=1e-9, abs=1e-300)
                assert adjusted[index] == pytest.approx(float(expected["p_holm"]), rel=1e-9, abs=1e-300)
                assert (found.p[0, index] <= 0.05) == (expected["decision_none"] == "1")
                assert (adjusted[index] <= 0.05) == (expected["decision_holm"] == "1")


def p_of_the_rival(differences):
    """Return the p-value by which a rival is better than a team, from what the team is worse by in each row."""
    worse = np.asarray(differences, float)
    tests = PairedTests(np.stack([worse, np.zeros(len(worse))]), direction=Direction.LOWER)
    return tests.p(np.ones((1, len(worse))))[0, 1, 0]


def test_a_worse_value_may_raise_the_p_value_of_a_rival_where_values_are_equal():
    """Not a fault but the test: of ranks, where equals narrow the distribution, or are no evidence at all."""
    for differences, deviate, what in (
        ([2, 0.5, 0.5, 0.7], 4.5 / 7.375**0.5, "two are equally worse: p is 0.0488"),
        ([2, 18.5, 0.5, 0.7], 4.5 / 7.5**0.5, "the team fails in one of them: p is 0.0502"),
        ([-1, 2, 3, 4, 5, 6, 7], 12.5 / 35**0.5, "the team is better in one row: p is 0.0173"),
        ([0, 2, 3, 4, 5, 6, 7], 10 / 22.75**0.5, "both fail in it: p is 0.0180"),
    ):
        assert p_of_the_rival(differences) == pytest.approx(stats.norm.sf(deviate), abs=1e-12), what


@given(st.lists(st.integers(1, 10**6), min_size=3, max_size=12, unique=True), st.randoms(use_true_random=False))
def test_a_worse_value_never_raises_the_p_value_of_a_rival_where_none_are_equal(sizes, random):
    before = [size * random.choice([-1, 1]) for size in sizes]
    failed = random.randrange(len(sizes))
    after = [*before[:failed], 2 * 10**6, *before[failed + 1 :]]
    assert p_of_the_rival(after) <= p_of_the_rival(before) + 1e-12


def test_a_lost_finding_may_cost_a_rival_its_own_where_p_values_are_adjusted_step_by_step():
    for adjustment, pays in (("holm", True), ("benjamini-hochberg", True), ("bonferroni", False), ("none", False)):
        before, after = ([first, 0.0095, *[0.9] * 4] for first in (1e-6, 0.5))
        significant = [bool(adjusted_p(p, adjustment)[1] < 0.05) for p in (before, after)]
        assert (significant == [True, False]) == pays, adjustment


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.02, 0.03, 0.9]), [0.04, 0.06, 0.06, 0.9])
    np.testing.assert_allclose(holm([0.5, 0.5]), [1.0, 1.0])
    np.testing.assert_allclose(holm([[0.02, 0.01], [0.3, 0.04]]), [[0.02, 0.02], [0.3, 0.08]])
    assert holm([]).shape == (0,)


def test_adjustments_by_hand():
    p = [0.04, 0.01, 0.03, 0.5]
    np.testing.assert_array_equal(adjusted_p(p, "none"), p)
    np.testing.assert_allclose(adjusted_p(p, "bonferroni"), [0.16, 0.04, 0.12, 1.0])
    np.testing.assert_allclose(adjusted_p(p, "holm"), [0.09, 0.04, 0.09, 0.5])  # 2 · 0.04 is less than 3 · 0.03
    # From the largest: 0.5, min(0.5, 4/3 · 0.04), min(…, 4/2 · 0.03), 4 · 0.01.
    np.testing.assert_allclose(adjusted_p(p, "benjamini-hochberg"), [0.16 / 3, 0.04, 0.16 / 3, 0.5])
    for kind in ("none", "holm", "bonferroni", "benjamini-hochberg"):
        assert adjusted_p([], kind).shape == (0,)
        assert adjusted_p([0.2], kind).tolist() == [0.2]
        assert adjusted_p([1.0, 1.0], kind).tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match=r"no adjustment 'fdr'.*There are: none, holm"):
        adjusted_p([0.1], "fdr")


def test_adjustments_independently():
    generator = np.random.default_rng(0)
    for size in (2, 3, 10, 45):
        sets = generator.random((5, size)) ** 3
        sets[0, : size // 2] = 0.02  # ties
        found = {kind: adjusted_p(sets, kind) for kind in ("holm", "bonferroni", "benjamini-hochberg")}
        np.testing.assert_allclose(found["benjamini-hochberg"], stats.false_discovery_control(sets, axis=1))
        for one, p in enumerate(sets):
            np.testing.assert_allclose(found["bonferroni"][one], [min(1, size * each) for each in p])
            for place, each in enumerate(p):  # the largest of what all at least as small need
                smaller = [other for other in sorted(p) if other <= each]
                needed = max((size - sum(q < other for q in p)) * other for other in smaller)
                assert found["holm"][one, place] == pytest.approx(min(1, needed))


def test_paired_tests_are_those_of_every_ordered_pair():
    generator = np.random.default_rng(1)
    values = np.round(generator.random((4, 15)), 1)  # with ties and zeros
    values[3] = values[0]
    weights = generator.integers(0, 3, (6, 15)).astype(float)
    for direction, sign in ((Direction.HIGHER, 1), (Direction.LOWER, -1)):
        found = PairedTests(values, direction=direction).p(weights)
        raw = PairedTests(values, direction=direction, raw=True).p(weights)
        assert found.shape == (6, 4, 4)
        for one, two in permutations(range(4), 2):
            difference = sign * (values[one] - values[two])
            for tests, sizes in ((raw, None), (found, np.maximum(values[one], values[two]))):
                single = wilcoxon_signed_rank(difference, weights, sizes=sizes, alternative="greater", exact_below=0)
                np.testing.assert_array_equal(tests[:, one, two], single.p)
        assert (found[:, 0, 3] == 1).all()  # nothing but zeros
    whole = PairedTests(values, direction=Direction.LOWER).p(weights.astype(int))
    np.testing.assert_array_equal(whole, found)
    assert np.isnan(PairedTests(values[:1], direction=Direction.HIGHER).p(weights)).all()


# Zeros and ties on paper


def test_a_difference_of_rounding_is_zero():
    """Of 0.1 + 0.2 − 0.3 only the magnitudes that it was made from tell that it is zero."""
    differences = [0.1 + 0.2 - 0.3, 1.0, 2.0, 3.0]
    assert wilcoxon_signed_rank(differences, ones(4)).p == pytest.approx(2 / 16)  # four differences, exact
    p = wilcoxon_signed_rank(differences, ones(4), sizes=[0.3, 5.0, 5.0, 5.0]).p
    assert p == wilcoxon_signed_rank([0.0, 1.0, 2.0, 3.0], ones(4)).p
    # What it was made from, not the others: 1e-13 is a difference where nothing large took part in it.
    tiny = [1e-13, 1.0, 2.0, 3.0]
    assert wilcoxon_signed_rank(tiny, ones(4), sizes=[1e-13, 5.0, 5.0, 5.0]).p == pytest.approx(2 / 16)


def test_sizes_that_differ_by_rounding_tie():
    differences = [0.3 - 0.2, -(0.2 - 0.1), 0.25, 0.4]
    assert differences[0] != -differences[1]
    sizes = [0.3, 0.2, 0.5, 0.5]
    on_paper = wilcoxon_signed_rank([1, -1, 2.5, 4], ones(4))
    for raw, expected in ((None, wilcoxon_signed_rank([1, -2, 3, 4], ones(4))), (sizes, on_paper)):
        found = wilcoxon_signed_rank(differences, ones(4), sizes=raw)
        assert (found.p, found.statistic) == (expected.p, expected.statistic)


def test_ties_chain_and_no_neighbour_makes_a_zero():
    sizes = np.array([1.0, 1.0, 1.0, 1.0])
    chain = wilcoxon_signed_rank([0.5, -(0.5 + 0.9e-12), 0.5 + 1.8e-12, 3.0], ones(4), sizes=sizes)
    assert chain.p == wilcoxon_signed_rank([1, -1, 1, 2], ones(4)).p
    # 2e-12 is made from 1, so that it is none; that its neighbour, a zero, was made from 10 does not make it one.
    beside = wilcoxon_signed_rank([1e-12, 2e-12, -1.0, 1.5], ones(4), sizes=[10.0, 1.0, 1.0, 1.5])
    assert beside.p == wilcoxon_signed_rank([0.0, 1, -2, 3], ones(4)).p


def test_an_infinite_difference_is_no_zero():
    found = wilcoxon_signed_rank([np.inf, 1.0, 2.0, -np.inf], ones(4), sizes=[np.inf, 1.0, 2.0, np.inf])
    assert found.p == wilcoxon_signed_rank([3.0, 1.0, 2.0, -3.0], ones(4)).p


@pytest.mark.parametrize("factor", [1e-300, 0.1, 1 / 3, 1e200])
def test_no_unit_changes_a_test(factor):
    values = np.random.default_rng(2).integers(1, 9, (4, 20)).astype(float)
    weights = np.random.default_rng(3).integers(0, 3, (5, 20)).astype(float)
    scaled = values * factor
    p = PairedTests(values, direction=Direction.LOWER).p(weights)
    np.testing.assert_array_equal(PairedTests(scaled, direction=Direction.LOWER).p(weights), p)
    whole = PairedTests(values, direction=Direction.LOWER, raw=True).p(weights)  # whole numbers have no rounding
    np.testing.assert_array_equal(whole, p)
    better = significantly_better(values, weights, direction=Direction.LOWER, alpha=0.3)
    again = significantly_better(scaled, weights, direction=Direction.LOWER, sizes=scaled, alpha=0.3)
    np.testing.assert_array_equal(again, better)


def test_many_pairs_are_sorted_in_blocks():
    values = np.random.default_rng(4).random((30, 6))  # 435 pairs
    p = PairedTests(values, direction=Direction.HIGHER).p(ones(6))[0]
    for one, two in ((0, 1), (13, 20), (28, 29)):
        single = wilcoxon_signed_rank(values[one] - values[two], ones(6), alternative="greater", exact_below=0)
        assert p[one, two] == single.p[0]


def matrix(size, *pairs):
    better = np.zeros((size, size), bool)
    for one, two in pairs:
        better[one, two] = True
    return better


def test_ranks_by_hand():
    means = np.array([0.1, 0.2, 0.3, 0.4])
    assert significance_ranks(means, matrix(4)).tolist() == [1, 1, 1, 1]
    # Not transitive: 0 and 1 alike, 1 and 2 alike, 0 better than 2.
    assert significance_ranks(means[:3], matrix(3, (0, 2))).tolist() == [1, 1, 2]
    # Never better than somebody with a smaller mean, though nobody is significantly better than 2.
    assert significance_ranks(means[:3], matrix(3, (0, 1))).tolist() == [1, 2, 2]
    assert significance_ranks(means, matrix(4, (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))).tolist() == [1, 1, 3, 4]
    # In another order of participants.
    assert significance_ranks(means[::-1], matrix(4, (3, 0))).tolist() == [2, 1, 1, 1]


def test_a_test_that_contradicts_the_means_counts_nothing():
    assert significance_ranks(np.array([0.1, 0.2]), matrix(2, (1, 0))).tolist() == [1, 1]


def test_equal_means_share():
    assert significance_ranks(np.array([0.2, 0.1, 0.2]), matrix(3, (1, 0), (1, 2))).tolist() == [2, 1, 2]
    assert significance_ranks(np.array([0.2, 0.1, 0.2]), matrix(3, (1, 0))).tolist() == [2, 1, 2]
    assert significance_ranks(np.array([0.2, 0.2]), matrix(2, (0, 1))).tolist() == [1, 1]
    # Nearly equal is equal, whoever else takes part; of no mean, and of an infinite one, the latter comes first.
    absurd = significance_ranks(np.array([0.1, 0.2, 1e15]), matrix(3, (0, 1)))
    assert absurd.tolist() == [1, 2, 2]
    assert significance_ranks(np.array([np.inf, np.nan]), matrix(2, (0, 1))).tolist() == [1, 2]
    scales = np.array([1000.0, 0.0])
    assert significance_ranks(np.array([1e-13, 0.0]), matrix(2, (1, 0)), scales=scales).tolist() == [1, 1]
    assert significance_ranks(np.array([0.1 + 0.2, 0.3]), matrix(2, (1, 0))).tolist() == [1, 1]


def test_ranks_of_many_sets_at_once():
    generator = np.random.default_rng(0)
    means, better = generator.random((20, 6)), generator.random((20, 6, 6)) < 0.3
    together = significance_ranks(means, better)
    for one in range(20):
        ranks, last = np.empty(6), 1
        order = np.argsort(means[one])
        for place, who in enumerate(order):
            last = max(last, 1 + sum(better[one, earlier, who] for earlier in order[:place]))
            ranks[who] = last
        np.testing.assert_array_equal(together[one], ranks)


def test_who_is_better():
    generator = np.random.default_rng(3)
    error = generator.uniform(1, 2, 60)
    values = np.stack([error, error * 1.5 + generator.normal(0, 0.01, 60), error])
    weights = np.stack([np.ones(60), np.arange(60) < 2])
    better = significantly_better(values, weights, direction=Direction.LOWER)
    np.testing.assert_array_equal(better[0], matrix(3, (0, 1), (2, 1)))
    assert not better[1].any()  # two rows prove nothing
    upwards = significantly_better(values, weights, direction=Direction.HIGHER)
    np.testing.assert_array_equal(upwards, better.transpose(0, 2, 1))
    assert significantly_better(values[:1], weights, direction=Direction.LOWER).shape == (2, 1, 1)


def test_who_is_better_after_holm():
    # Six differences of one sign: p = 2/64 = 0.031 for each of two pairs, 0.094 and 0.0625 after adjustment.
    values = np.stack([np.zeros(6), np.arange(1.0, 7), np.zeros(6)])
    plain = significantly_better(values, ones(6), direction=Direction.LOWER)
    np.testing.assert_array_equal(plain[0], matrix(3, (0, 1), (2, 1)))
    assert not significantly_better(values, ones(6), direction=Direction.LOWER, adjusted=True).any()
