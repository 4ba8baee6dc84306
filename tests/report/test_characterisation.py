"""What each of several criteria is like."""

import numpy as np
import pytest
from reports import STRANGE_TABLES, synthetic_report, table_ranking

from podium.ranking import RankThenAggregate
from podium.report.characterisation import characterise, criteria_of, shown_characters
from podium.report.data import gather


def test_numbers_are_those_of_the_ranking():
    ranking = table_ranking(4, 15, bootstrap=80, lacking=0.05)
    data = gather(ranking)
    for character, pair in zip(characterise(data), ranking.confidence.pairs, strict=True):
        assert character.places.measure.name == pair.criterion.name == character.measure.title
        assert character.apart == pair.better.sum()
        assert character.pairs == 6
        np.testing.assert_array_equal(np.sort(character.results), np.sort(data.values(character.measure).ravel()))
    lines = shown_characters(data)
    assert [line.title for line in lines] == ["kidney ↑", "liver ↑", "spleen ↑"]
    assert all(line.apart.endswith(" of 6") and line.kept.endswith(" %") and not line.weight for line in lines)
    assert lines[0].winners in ranking.places


def test_the_results_are_those_of_the_table_whatever_the_scheme():
    lines = [shown_characters(gather(table_ranking(scheme=scheme))) for scheme in (None, RankThenAggregate())]
    assert [line.results for line in lines[0]] == [line.results for line in lines[1]]
    assert [line.title for line in lines[0]] == [line.title for line in lines[1]]


def test_a_run_has_criteria_too():
    data = synthetic_report(4, 8, bootstrap=40)
    lines = shown_characters(data)
    assert len(lines) == len(data.rule.published.criteria) == 6
    assert lines[0].title == data.measures[0].label
    assert all(line.results for line in lines)


@pytest.mark.parametrize("name", STRANGE_TABLES)
def test_strange_tables_are_told(name):
    data = gather(table_ranking(**STRANGE_TABLES[name]))
    lines = shown_characters(data)
    assert bool(criteria_of(data)) == (name != "one task")
    assert bool(lines) == (name not in ("one task", "one submission"))  # of one there is nothing to tell
    assert "nan" not in str(lines)
    if name == "all tied in one task":
        tied = next(line for line in lines if line.title.startswith("spleen"))
        assert tied.tau == "–"
        assert tied.apart == "0 of 10"
        assert tied.kept == "all"
    if name in ("no bootstrap", "one case"):
        assert {(line.kept, line.apart) for line in lines} == {("", "")}


def test_weights_are_told_where_they_differ():
    ranking = table_ranking(3, 6)
    for number, own in enumerate(ranking.criteria):
        object.__setattr__(own, "importance", 1.0 + number)
    assert [line.weight for line in shown_characters(gather(ranking))] == ["1", "2", "3"]
