"""Rankings in subgroups, and whether these differ by more than chance: level, power, words."""

import json

import numpy as np
import pytest

from podium.model import InputError
from podium.ranking import AggregateThenRank, RankThenAggregate, TestThenRank
from podium.ranking.inference import subgroups
from podium.ranking.inference.subgroups import rank_subgroups

SIZES = (20, 20, 20)


def centres(sizes=SIZES):
    names = np.repeat([f"centre {n}" for n in range(len(sizes))], sizes)
    return {f"c{case}": str(name) for case, name in enumerate(names)}


def values_of(random, *, teams=4, sizes=SIZES, planted=0.0, spread=(1.0, 1.0, 1.0), skewed=False):
    """Return teams that are 0.3 apart; in the first centre, the best loses what is planted."""
    centre = np.repeat(np.arange(len(sizes)), sizes)
    noise = random.lognormal(0, 1, (teams, len(centre))) - np.exp(0.5) if skewed else None
    noise = random.normal(0, 1, (teams, len(centre))) if noise is None else noise
    values = noise * np.array(spread)[centre] + random.normal(0, 1, len(centre)) + 0.3 * np.arange(teams)[:, None]
    values[-1, centre == 0] -= planted
    return values


def test_places_are_those_of_the_cases_alone(rule_from):
    values = values_of(np.random.default_rng(1))
    result = rank_subgroups(rule_from(values), centres(), by="centre")
    assert [group.name for group in result.groups] == ["centre 0", "centre 1", "centre 2"]
    for number, group in enumerate(result.groups):
        alone = rule_from(values[:, 20 * number : 20 * number + 20])
        np.testing.assert_array_equal(group.places, alone.published.places[0])
        np.testing.assert_allclose(group.values["value"], alone.published.columns[0].values[0])
        assert (group.rows, group.clusters) == (20, 20)
        assert group.winners == tuple(np.array(result.submissions)[group.places == 1])


def test_a_planted_interaction_is_found_and_said(rule_from):
    values = values_of(np.random.default_rng(2), planted=3.0)
    values[-1] += 1.5  # so that it is first all the same
    result = rank_subgroups(rule_from(values), centres(), by="centre")
    first, second = result.pair
    assert first == "T3"
    assert result.p_pair < 0.01
    assert result.p_all < 0.01
    words = " ".join(result.sentences)
    assert f"The lead of {first} over {second} differs by centre (p < 0.001): " in words
    behind = [g.name for g in result.groups if g.places[int(first[1])] > g.places[int(second[1])]]
    assert f"{second} is before {first} in {', '.join(behind)}." in words
    assert "How all 4 competitors compare with each other differs by centre (p < 0.001)." in words


def test_no_interaction_is_said_as_well(rule_from):
    result = rank_subgroups(rule_from(values_of(np.random.default_rng(3))), centres(), by="centre")
    assert result.p_pair > 0.05
    assert "does not depend on centre beyond chance (p = " in " ".join(result.sentences)
    assert result.sentences[0].startswith("In centre centre 0 (20 cases), T")


def test_a_common_change_of_all_teams_is_no_interaction(rule_from):
    """A centre whose cases are hard for everybody changes no lead."""
    values = values_of(np.random.default_rng(4))
    plain = rank_subgroups(rule_from(values), centres())
    values[:, :20] -= 10
    shifted = rank_subgroups(rule_from(values), centres())
    assert (shifted.p_pair, shifted.p_all) == (plain.p_pair, plain.p_all)


def rejections(rule_from, rounds, monkeypatch, **options):
    monkeypatch.setattr(subgroups, "PERMUTATIONS", 200)
    counts = np.zeros(2)
    for seed in range(rounds):
        values = values_of(np.random.default_rng([5, seed]), **options)
        result = rank_subgroups(rule_from(values), centres(options.get("sizes", SIZES)), seed=seed)
        counts += [result.p_pair <= 0.05, result.p_all <= 0.05]
    return counts / rounds


def test_level_and_power_in_short(rule_from, monkeypatch):
    """Of 60 rounds at 5 %, eight or more are rarer than one in a hundred."""
    assert (rejections(rule_from, 60, monkeypatch) <= 7 / 60).all()
    assert rejections(rule_from, 20, monkeypatch, planted=2.0)[1] > 0.9


@pytest.mark.heavy
@pytest.mark.parametrize("sizes", [(20, 20, 20), (30, 8, 6), (6, 6, 6), (40, 10, 10)])
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("spread", [(1.0, 1.0, 1.0), (1.0, 3.0, 1.0)])
def test_the_level_holds(rule_from, monkeypatch, sizes, skewed, spread):
    """At most 7 %, in 600 rounds."""
    assert (rejections(rule_from, 600, monkeypatch, sizes=sizes, skewed=skewed, spread=spread) <= 0.07).all()


@pytest.mark.heavy
def test_an_interaction_is_found(rule_from, monkeypatch):
    assert rejections(rule_from, 200, monkeypatch, planted=1.5)[1] > 0.85


def test_few_cases_are_ranked_but_not_tested(rule_from):
    values = values_of(np.random.default_rng(1), sizes=(30, 26, 4))
    result = rank_subgroups(rule_from(values), centres((30, 26, 4)), by="site")
    assert [group.tested for group in result.groups] == [True, True, False]
    assert result.p_pair is not None
    assert "(4 cases)" in result.sentences[2]
    assert result.sentences[2].endswith("first; that is too few cases to say much.")
    result = rank_subgroups(rule_from(values[:, :10]), {f"c{n}": "a" if n < 7 else "b" for n in range(10)})
    assert (result.p_pair, result.p_all) == (None, None)
    assert result.sentences[-1] == (
        "Whether the ranking depends on group cannot be tested: fewer than two groups have 5 cases."
    )


def test_groups_hold_whole_clusters_or_are_not_tested(rule_from):
    values = values_of(np.random.default_rng(1))
    of_case = [f"p{case // 2}" for case in range(60)]
    whole = rank_subgroups(rule_from(values, cluster=of_case), centres(), by="centre")
    assert [group.clusters for group in whole.groups] == [10, 10, 10]
    assert whole.p_pair is not None
    by_patient = {f"p{n}": f"centre {n // 10}" for n in range(30)}
    assert rank_subgroups(rule_from(values, cluster=of_case), by_patient).p_pair == whole.p_pair
    cut = rank_subgroups(rule_from(values, cluster=of_case), {f"c{n}": f"view {n % 2}" for n in range(60)}, by="view")
    assert cut.p_pair is None
    assert "what is drawn together lies in more than one view, for instance p0" in cut.sentences[-1]


def test_cases_without_a_group_are_counted(rule_from):
    groups = {case: name for case, name in centres().items() if name != "centre 2"}
    result = rank_subgroups(rule_from(values_of(np.random.default_rng(1))), groups, by="centre")
    assert result.nowhere == 20
    assert "20 cases have no centre and are left out here." in result.sentences


def test_many_groups_are_counted_in_words(rule_from):
    result = rank_subgroups(
        rule_from(values_of(np.random.default_rng(1))), {f"c{n}": f"site {n % 12:02d}" for n in range(60)}, by="site"
    )
    assert result.sentences[0].startswith("First, alone or shared, in 12 groups by site: T")
    assert sum(len(group.winners) for group in result.groups) >= 12


def test_several_tasks_share_the_groups_of_their_cases(rule_from):
    random = np.random.default_rng(1)
    tasks = {"liver": values_of(random), "lung": values_of(random, planted=3.0)}
    result = rank_subgroups(rule_from(tasks), centres(), by="centre")
    assert [group.rows for group in result.groups] == [40, 40, 40]
    assert result.p_all < 0.01
    assert list(result.groups[0].values) == ["liver", "lung"]
    apart = {f"{task}/{case}": f"{task} {name}" for task in tasks for case, name in centres().items()}
    assert len(rank_subgroups(rule_from(tasks), apart).groups) == 6


@pytest.mark.parametrize("scheme", [AggregateThenRank("median"), RankThenAggregate(), TestThenRank()])
def test_every_scheme_has_subgroups(rule_from, scheme):
    for planted, found in ((0.0, False), (4.0, True)):
        result = rank_subgroups(rule_from(values_of(np.random.default_rng(3), planted=planted), scheme), centres())
        assert (result.p_all < 0.05) == found
        assert json.dumps(result.document, allow_nan=False)


@pytest.mark.parametrize("name", ["kits21", "csv2026", "trackrad2025", "lvquan18", "tusrec"])
def test_every_challenge_has_subgroups(run_of, name):
    rule = run_of(name).rule
    clusters = rule.units.names
    result = rank_subgroups(rule, {cluster: f"half {n % 2}" for n, cluster in enumerate(clusters)}, by="half")
    assert result.submissions == ("alpha", "beta", "delta", "gamma")
    assert result.tables["subgroups"].height == 8
    assert bool(result.untested) == (len(clusters) < 10)
    assert json.dumps(result.document, allow_nan=False)


def test_equals_do_not_differ(rule_from):
    result = rank_subgroups(rule_from(np.repeat(np.random.default_rng(1).random((1, 60)), 3, axis=0)), centres())
    assert (result.p_pair, result.p_all) == (1.0, 1.0)
    assert result.groups[0].winners == ("T0", "T1", "T2")
    assert "T0, T1, T2 are together first" in result.sentences[0]


def test_one_competitor_has_groups_but_no_test(rule_from):
    result = rank_subgroups(rule_from(np.random.default_rng(1).random((1, 60))), centres())
    assert result.pair == ()
    assert result.untested == "fewer than two are ranked"


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({}, "no case has a centre"),
        ({"patient 1": "a"}, "no case has a centre. Cases are c0, c1, c2 and 57 more; groups are given for patient 1"),
        (dict.fromkeys(centres(), "a"), "every case has the same centre, a"),
        ({case: case for case in centres()}, "every case has a centre of its own"),
    ],
)
def test_groups_that_tell_nothing_are_refused(rule_from, groups, words):
    with pytest.raises(InputError, match=words):
        rank_subgroups(rule_from(values_of(np.random.default_rng(1))), groups, by="centre")
