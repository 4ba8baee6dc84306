"""Rankings by each criterion alone."""

import numpy as np
import pytest

from podium.model import Measure
from podium.ranking import (
    AggregateThenRank,
    CriterionPlaces,
    Ranking,
    RankThenAggregate,
    TestThenRank,
    criterion_distances,
    rank_by_criterion,
    scheme_rule,
)
from podium.ranking.inference.stability import assess_stability, kendall_tau

random = np.random.default_rng(5)
TASKS = {"liver": random.random((4, 9)), "spleen": random.random((4, 9)) + 0.1 * np.arange(4)[:, None]}


@pytest.mark.parametrize(
    "scheme", [AggregateThenRank(), AggregateThenRank("median"), RankThenAggregate(), TestThenRank()]
)
@pytest.mark.parametrize("better", ["higher", "lower"])
def test_they_are_the_rankings_of_the_tasks_alone(table_from, scheme, better):
    rule = scheme_rule(table_from(TASKS, better=better), scheme)
    for own, (task, values) in zip(rank_by_criterion(rule), TASKS.items(), strict=True):
        alone = scheme_rule(table_from(values, better=better), scheme)
        assert own.measure.name == task
        np.testing.assert_array_equal(own.published, alone.published.places[0])
        assert own.winners == tuple(name for name, place in alone.leaderboard().places.items() if place == 1)
        assert own.tau == pytest.approx(kendall_tau(own.published, rule.published.places[0])[0], nan_ok=True)
        assert own.places.shape == (0, 4)
        assert np.isnan(own.kept)


def test_resamples_are_those_of_the_whole_ranking(table_from):
    rule = scheme_rule(table_from(TASKS), AggregateThenRank())
    whole = assess_stability(rule, replicates=300, seed=4)
    criteria = rank_by_criterion(rule, replicates=300, seed=4)
    average = np.mean([own.places for own in criteria], axis=0)
    for places, mean in zip(whole.places, average, strict=True):
        np.testing.assert_array_equal(places, [1 + np.sum(mean < each) for each in mean])
    ranking = Ranking(rule, bootstrap=300, seed=4)
    np.testing.assert_array_equal(ranking.criteria[1].places, criteria[1].places)
    assert ranking.criteria is ranking.criteria
    assert Ranking(rule, bootstrap=0).criteria[0].places.shape == (0, 4)


def by(*places, drawn=None):
    """Return a criterion that gives these places."""
    published = np.array(places, float)
    resampled = np.zeros((0, len(places))) if drawn is None else np.array(drawn, float)
    return CriterionPlaces(Measure("x", "X"), 1.0, tuple("abcd")[: len(places)], published, 1.0, resampled)


def test_a_winner_is_kept_where_nobody_else_is_first():
    assert by(1, 2, 3, drawn=[[1, 2, 3], [1, 1, 3], [2, 1, 3], [1, 3, 2]]).kept == 0.5
    assert by(1, 1, 3, drawn=[[1, 2, 3], [1, 1, 3], [2, 1, 3], [2, 3, 1]]).kept == 0.75  # fewer who share are no change
    assert by(1, 1, 1, drawn=[[1, 2, 3]]).kept == 1


def test_distances_are_mean_differences_of_ranks():
    criteria = (by(1, 2, 3, 4), by(4, 3, 2, 1), by(1, 1, 3, 3), by(1, 2, 3, 4))
    distances = criterion_distances(criteria)
    # Spearman's footrule over four: (3 + 1 + 1 + 3) / 4, and equals have ranks 1.5, 1.5, 3.5, 3.5.
    np.testing.assert_allclose(distances[0], [0, 2, 0.5, 0])
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(np.diag(distances), 0)


def test_a_criterion_without_any_value_gives_no_ranking(table_from):
    rule = scheme_rule(table_from(TASKS), AggregateThenRank())
    score = rule.score

    def without(weights):
        scores = score(weights)
        scores.criteria[0].values[:] = np.nan
        return scores

    object.__setattr__(rule, "score", without)
    assert [own.measure.name for own in rank_by_criterion(rule)] == ["spleen"]
