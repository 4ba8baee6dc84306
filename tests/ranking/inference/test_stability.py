"""Stability: places in resamples, Kendall's τ, who leads whom, and cases left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from podium.model import InputError
from podium.ranking import AggregateThenRank, RankThenAggregate, TestThenRank, cube_of
from podium.ranking.inference.stability import assess_stability, jackknife, kendall_tau

VALUES = np.random.default_rng(8).random((4, 9)) + 0.05 * np.arange(4)[:, None]
SCHEMES = [AggregateThenRank(), AggregateThenRank("median"), RankThenAggregate(), TestThenRank("holm", 0.5)]


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 6))
def test_tau_as_scipy(seed, teams, kinds):
    random = np.random.default_rng(seed)
    places, reference = random.integers(0, kinds, (5, teams)), random.integers(0, kinds, teams)
    found = kendall_tau(places.astype(float), reference.astype(float))
    for one, own in enumerate(places):
        if len(set(own)) == 1 or len(set(reference)) == 1:
            assert np.isnan(found[one])
        else:
            assert found[one] == pytest.approx(stats.kendalltau(own, reference).statistic, abs=1e-12)


def test_tau_by_hand():
    reference = np.array([1.0, 2.0, 2.0, 4.0])
    sets = np.array([[1, 2, 2, 4], [4, 2, 2, 1], [1, 2, 3, 4], [1, 1, 1, 1]], float)
    # Of six pairs, five are apart in the reference. Written apart, the third has six: 5/√(6 · 5).
    np.testing.assert_allclose(kendall_tau(sets, reference), [1, -1, 5 / np.sqrt(30), np.nan])
    assert np.isnan(kendall_tau(sets, np.ones(4))).all()
    assert np.isnan(kendall_tau(np.array([[1.0]]), np.array([1.0]))).all()  # one competitor
    np.testing.assert_array_equal(kendall_tau(sets[0], reference), [1.0])


def test_tau_is_not_defined_where_somebody_has_no_place():
    places = np.array([[1, np.nan, 2], [1, 3, 2]])
    np.testing.assert_allclose(kendall_tau(places, np.array([1.0, 3.0, 2.0])), [np.nan, 1.0])
    assert np.isnan(kendall_tau(places, np.array([1.0, np.nan, 2.0]))).all()


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_everything_follows_from_the_places(rule_from, scheme):
    rule = rule_from(VALUES, scheme)
    found = assess_stability(rule, replicates=300, seed=5)
    assert found.submissions == ("T0", "T1", "T2", "T3")
    assert (found.seed, found.places.shape) == (5, (300, 4))
    np.testing.assert_array_equal(found.published, rule.published.places[0])
    draws = np.concatenate([rule.units.draw(5, 0), rule.units.draw(5, 1)])[:300]
    np.testing.assert_array_equal(found.places, rule.places(draws))
    np.testing.assert_array_equal(found.tau, kendall_tau(found.places, found.published))
    for one in range(4):
        assert found.first[one] == sum(places[one] == 1 for places in found.places) / 300
        for place in range(1, 5):
            assert found.shares[one, place - 1] == sum(places[one] == place for places in found.places) / 300
        for two in range(4):
            assert found.leads[one, two] == sum(places[one] < places[two] for places in found.places) / 300
    np.testing.assert_allclose(found.shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.quantile(0.5), np.median(found.places, axis=0))


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_threads_and_longer_runs_change_nothing(rule_from, scheme):
    rule = rule_from(VALUES, scheme)
    alone = assess_stability(rule, replicates=1100, seed=2, columns=["value"], jobs=1)
    for jobs in (2, 4):
        again = assess_stability(rule, replicates=1100, seed=2, columns=["value"], jobs=jobs)
        np.testing.assert_array_equal(again.places, alone.places)
        np.testing.assert_array_equal(again.tau, alone.tau)
        np.testing.assert_array_equal(again.leads, alone.leads)
        np.testing.assert_array_equal(again.columns["value"], alone.columns["value"])
    for fewer in (1, 10, 300, 1024):
        first = assess_stability(rule, replicates=fewer, seed=2, columns=["value"])
        np.testing.assert_array_equal(first.places, alone.places[:fewer])
        np.testing.assert_allclose(first.columns["value"], alone.columns["value"][:fewer], rtol=1e-14)
    assert (assess_stability(rule, replicates=1100, seed=3).places != alone.places).any()


def test_values_of_columns_in_resamples(rule_from):
    rule = rule_from(VALUES)
    found = assess_stability(rule, replicates=20, columns=["value"]).columns["value"]
    draws = rule.units.draw(1, 0)[:20].astype(int)
    expected = [[np.repeat(own, weights).mean() for own in VALUES] for weights in draws]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_clusters_and_strata(rule_from):
    """Rows of a cluster come together: places can only be those of whole clusters."""
    rule = rule_from(VALUES, cluster="aaabbcccc")
    found = assess_stability(rule, replicates=200)
    for weights, places in zip(rule.units.draw(1, 0), found.places, strict=False):
        assert weights.shape == (3,)
        rows = [row for cluster, times in zip("abc", weights.astype(int), strict=True) for _ in range(times)
                for row, own in enumerate("aaabbcccc") if own == cluster]  # fmt: skip
        means = VALUES[:, rows].mean(axis=1)
        assert places.tolist() == [1 + sum(other > own for other in means) for own in means]
    separate = assess_stability(rule_from(VALUES, stratum="xyxyxyxyx"), replicates=200)
    assert (separate.places != assess_stability(rule_from(VALUES), replicates=200).places).any()
    # Strata of one case each: nothing is left to chance.
    fixed = assess_stability(rule_from(VALUES, stratum=range(9)), replicates=50)
    assert (fixed.places == fixed.published).all()


def test_a_tie_leads_nobody(rule_from):
    values = np.array([[0.5, 0.7, 0.9], [0.5, 0.7, 0.9], [0.1, 0.2, 0.3]])
    found = assess_stability(rule_from(values), replicates=100)
    np.testing.assert_array_equal(found.leads, [[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(found.first, [1, 1, 0])
    np.testing.assert_array_equal(found.shares, [[1, 0, 0], [1, 0, 0], [0, 0, 1]])


def test_who_does_not_compete_is_not_there(run_of):
    from podium.ranking import challenge_rule

    challenge, table, roles = run_of("kits21")
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    found = assess_stability(rule, replicates=30)
    assert found.submissions == ("alpha", "beta", "delta", "gamma")
    assert "zero-baseline" in rule.submissions
    assert not np.isnan(found.places).any()
    assert set(np.unique(found.places)) <= {1, 2, 3, 4}
    nobody = challenge_rule(
        challenge, cube_of(challenge, table), roles=roles | dict.fromkeys(found.submissions, roles["zero-baseline"])
    )
    with pytest.raises(InputError, match="nobody competes"):
        assess_stability(nobody)


def test_a_hundred_teams(rule_from):
    values = np.random.default_rng(0).random((100, 30))
    found = assess_stability(rule_from(values), replicates=50)
    assert found.shares.shape == (100, 100)
    assert found.places.max() == 100
    np.testing.assert_array_equal(found.leads + found.leads.T, 1 - np.eye(100))


def test_nothing_to_draw_anew(rule_from):
    with pytest.raises(InputError, match=r"only a single case.*Rank without --bootstrap"):
        assess_stability(rule_from(np.array([[0.1], [0.2]])))
    with pytest.raises(InputError, match="single cluster"):
        jackknife(rule_from(VALUES, cluster=["all"] * 9))
    with pytest.raises(InputError, match="too few"):
        assess_stability(rule_from(VALUES), replicates=0)


def test_a_case_left_out_by_hand(rule_from):
    """Sums: T0 17, T1 16, T2 3. Without c0 T1 leads by 8, without c1 T0 leads by 8, without c2 they are level."""
    values = np.array([[9.0, 0.0, 8.0], [0.0, 9.0, 7.0], [1.0, 1.0, 1.0]])
    left = jackknife(rule_from(values))
    assert [(each.name, each.winners, each.changes_winner) for each in left] == [
        ("c0", ("T1",), True),
        ("c1", ("T0",), False),
        ("c2", ("T0", "T1"), True),
    ]
    # Published 1 2 3; without c0 T0 8, T1 16, T2 2: one of three pairs turned; c2: 1 1 3, two pairs apart of three.
    assert [each.tau for each in left] == pytest.approx([1 / 3, 1, 2 / np.sqrt(6)])


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_a_case_left_out_is_a_table_without_it(rule_from, scheme):
    published = rule_from(VALUES, scheme).published.places[0]
    for case, each in enumerate(jackknife(rule_from(VALUES, scheme))):
        without = rule_from(np.delete(VALUES, case, axis=1), scheme).published.places[0]
        assert each.winners == tuple(f"T{team}" for team in range(4) if without[team] == 1)
        assert each.changes_winner == bool(set(np.flatnonzero(without == 1)) - set(np.flatnonzero(published == 1)))
        np.testing.assert_allclose(each.tau, kendall_tau(without, published)[0])


def test_a_shared_first_place_that_fewer_share_is_no_change(rule_from):
    """T0 and T1 are level; without c0 only T0 is first, without c1 only T1."""
    left = jackknife(rule_from(np.array([[0.1, 0.5], [0.5, 0.1], [0.0, 0.0]])))
    assert [(each.winners, each.changes_winner) for each in left] == [(("T0",), False), (("T1",), False)]


def test_clusters_are_left_out_whole(rule_from):
    left = jackknife(rule_from(VALUES, cluster="aaabbcccc"))
    assert [each.name for each in left] == ["a", "b", "c"]
    for each, rows in zip(left, ([0, 1, 2], [3, 4], [5, 6, 7, 8]), strict=True):
        means = np.delete(VALUES, rows, axis=1).mean(axis=1)
        assert each.winners == (f"T{np.argmax(means)}",)


def test_many_cases_are_left_out_in_order_and_progress_is_told(rule_from):
    told = []
    left = jackknife(rule_from(np.random.default_rng(0).random((2, 300))), progress=lambda *done: told.append(done))
    assert [each.name for each in left] == [f"c{case}" for case in range(300)]
    assert told == [(0, 300), (256, 300), (300, 300)]


def test_the_only_case_of_a_task_can_be_left_out(rule_from):
    tasks = {"a": np.array([[0.9], [0.1]]), "b": np.array([[0.5, 0.5, 0.5], [0.4, 0.4, 0.4]])}
    for scheme in SCHEMES:
        left = jackknife(rule_from(tasks, scheme))
        assert [each.name for each in left] == ["a/c0", "b/c0", "b/c1", "b/c2"]
        assert all("T0" in each.winners for each in left)
