"""A table in the form of a run's measurements."""

import numpy as np
import polars as pl
import pytest
from reports import synthetic_scores, table_ranking

from podium.ranking import AggregateThenRank, scheme_rule, table_of_scores
from podium.report.data import gather
from podium.report.of_table import measured_of


def test_cases_of_one_name_are_one_row():
    scores = synthetic_scores(3, 4)
    data = gather(table_ranking(3, 4))
    assert data.cases == tuple(f"case {index}" for index in range(4))
    assert [measure.title for measure in data.measures] == ["kidney", "liver", "spleen"]
    for measure in data.measures:
        assert data.cases_of(measure).tolist() == [0, 1, 2, 3]
        for row, name in enumerate(data.submissions):
            own = scores.filter(submission=name, task=measure.title)
            np.testing.assert_array_equal(data.values(measure)[row], own["value"])


def test_tasks_with_cases_of_their_own_stay_apart():
    data = gather(table_ranking(3, 4, own_cases=True))
    assert len(data.cases) == 12
    for measure in data.measures:
        own = data.cases_of(measure)
        assert [data.cases[index] for index in own] == [f"{measure.title} {index}" for index in range(4)]
        assert np.isfinite(data.values(measure)[:, own]).all()
        assert np.isnan(np.delete(data.values(measure), own, axis=1)).all()
        assert not data.failed(measure).any()


def test_missing_values_have_their_price_and_say_so():
    data = gather(table_ranking(3, 6, lacking=0.2, missing=-1.0))
    scores = synthetic_scores(3, 6, lacking=0.2)
    anybody = pl.col("value").is_not_null().any().over("task", "case")  # else the case is left out
    lost = scores.filter(anybody & pl.col("value").is_null())
    assert len(data.failures) == len(lost) == sum(data.failed(measure).sum() for measure in data.measures) > 3
    assert set(data.failures["status"]) == {"missing"}
    for submission, case, task, _ in lost.iter_rows():
        measure = next(measure for measure in data.measures if measure.title == task)
        who, row = data.submissions.index(submission), data.cases.index(case)
        assert data.failed(measure)[who, row]
        assert data.values(measure)[who, row] == -1
        reasons = data.failures.filter(submission=submission, case=case)["reason"].to_list()
        assert f"there is no value for {task}; it counts as -1" in reasons
        assert data.cube.failed[data.cube.submissions.index(submission), row]
    assert not data.cube.lost.any() or data.cube.failed[data.cube.lost].all()


def test_cases_that_were_dropped_are_not_there():
    data = gather(table_ranking(3, 6, tasks=[""], lacking=0.05, missing="drop"))
    assert "case 1" not in data.cases
    assert not data.failures.height
    assert not data.cube.failed.any()
    assert data.cube.seconds.shape == data.cube.failed.shape


def test_a_name_that_begins_like_a_task_stays():
    scores = synthetic_scores(2, 3, tasks=["a"]).with_columns(case="a/" + synthetic_scores(2, 3, tasks=["a"])["case"])
    table = table_of_scores(scores, better="higher")
    measured = measured_of(scheme_rule(table, AggregateThenRank()), table)
    assert measured.cube.rows == ("a/case 0", "a/case 1", "a/case 2")


@pytest.mark.parametrize("tasks", [["a", "a/b"], ["a/b", "a"]])
def test_tasks_whose_names_begin_alike(tasks):
    data = gather(table_ranking(2, 3, tasks=tasks))
    assert data.cases == ("case 0", "case 1", "case 2")


def test_without_values_there_is_only_the_rule():
    ranking = table_ranking(3, 4)
    ranking.table = None
    data = gather(ranking)
    assert data.measures == ()
    assert data.cases == ranking.rule.rows
    assert data.measurements.is_empty()
