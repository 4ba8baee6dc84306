"""Plain tables: what is wrong with bad ones, and what missing values cost."""

import numpy as np
import polars as pl
import pytest

from podium.model import Direction, InputError
from podium.ranking import AggregateThenRank, scheme_rule, table_of_challenge, table_of_scores

NAN = np.nan


def frame(*rows, columns=("submission", "case", "value")):
    return pl.DataFrame(list(rows), schema=list(columns), orient="row")


GOOD = frame(("a", "1", 0.9), ("a", "2", 0.5), ("b", "1", 0.8), ("b", "2", 0.7))


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (GOOD, {"better": "bigger"}, "direction 'bigger' is unknown.*higher or lower"),
        (GOOD, {"better": Direction.NONE}, "direction .* is unknown"),
        (GOOD.drop("value"), {}, "no column 'value'.*Found: submission, case"),
        (GOOD.drop("submission"), {}, "no column 'submission'"),
        (GOOD.head(0), {}, "no rows"),
        (pl.DataFrame(), {}, "no column 'submission'"),
        (GOOD.with_columns(pl.lit("good").alias("value")), {}, "'value' holds String, but must hold numbers"),
        (pl.concat([GOOD, GOOD.head(1)]), {}, "1 value is given more than once, for instance a, case 1"),
        (pl.concat([GOOD, GOOD]), {}, "4 values are given more than once"),
        (GOOD.with_columns(pl.lit("t").alias("task")).pipe(lambda t: pl.concat([t, t.head(1)])), {}, "task t, case 1"),
        (frame(("", "1", 0.5), ("b", "1", 0.5)), {}, "a row has no submission"),
        (frame(("a", None, 0.5), ("b", "1", 0.5)), {}, "a row has no case"),
        (GOOD.with_columns(pl.lit(None, pl.Float64).alias("value")), {"missing": 0.0}, "every value is missing"),
        (GOOD.with_columns(pl.lit(NAN).alias("value")), {"missing": "worst"}, "every value is missing"),
        (GOOD.with_columns(pl.Series("cluster", ["p", "q", "p", "p"])), {}, "different values in the column cluster"),
        (GOOD.with_columns(pl.Series("stratum", ["p", "q", "p", "p"])), {}, "different values in the column stratum"),
        (GOOD, {"missing": "ignore"}, "no way 'ignore' to treat missing values.*drop, worst, or a number"),
        (GOOD, {"missing": NAN}, "price of a missing value is nan"),
        (GOOD, {"missing": np.inf}, "price of a missing value is inf"),
    ],
)
def test_bad_tables_get_a_clear_answer(scores, options, message):
    with pytest.raises(InputError, match=message):
        table_of_scores(scores, **({"better": "higher"} | options))


def places(table):
    rule = scheme_rule(table, AggregateThenRank())
    return dict(zip(rule.submissions, rule.published.places[0].tolist(), strict=True))


def test_a_good_table():
    for better, expected in (("higher", {"a": 2, "b": 1}), ("lower", {"a": 1, "b": 2})):
        table = table_of_scores(GOOD, better=better)
        assert (table.submissions, table.rows, table.notes) == (("a", "b"), ("1", "2"), ())
        assert places(table) == expected
    assert places(table_of_scores(GOOD, better=Direction.HIGHER)) == {"a": 2, "b": 1}


def test_order_of_rows_does_not_matter_and_numbers_count_as_numbers():
    shuffled = frame(("b", "10", 0.4), ("a", "2", 0.5), ("a", "10", 0.1), ("b", "2", 0.7))
    table = table_of_scores(shuffled, better="higher")
    assert table.rows == ("2", "10")
    assert table.tasks[0].values.tolist() == [[0.5, 0.1], [0.7, 0.4]]


def test_numbers_as_names_and_whole_values():
    table = table_of_scores(frame((1, 7, 3), (2, 7, 4)), better="higher")
    assert (table.submissions, table.rows, table.tasks[0].values.tolist()) == (("1", "2"), ("7",), [[3.0], [4.0]])


def test_one_case_one_submission_all_equal():
    assert places(table_of_scores(frame(("a", "1", 0.5), ("b", "1", 0.4)), better="higher")) == {"a": 1, "b": 2}
    assert places(table_of_scores(frame(("a", "1", 0.5)), better="higher")) == {"a": 1}
    equal = [(team, case, 0.1) for team in "abc" for case in "123"]
    assert places(table_of_scores(frame(*equal), better="higher")) == {"a": 1, "b": 1, "c": 1}


# Missing values: c2 lacks one of T0, c3 both. T0 0.9 – – 0.6, T1 0.5 0.4 – 0.8.

GAPS = frame(
    ("T0", "1", 0.9), ("T0", "2", None), ("T0", "4", 0.6), ("T1", "1", 0.5), ("T1", "2", 0.4), ("T1", "3", None),
    ("T1", "4", 0.8),
)  # fmt: skip


def test_missing_values_need_a_policy():
    with pytest.raises(InputError, match=r"3 of 8 values are missing, for instance T0 in case 2.*--missing"):
        table_of_scores(GAPS, better="higher")


def test_a_price():
    table = table_of_scores(GAPS, better="higher", missing=0.2)
    assert table.tasks[0].values.tolist() == [[0.9, 0.2, 0.2, 0.6], [0.5, 0.4, 0.2, 0.8]]
    assert table.tasks[0].priced.tolist() == [[False, True, True, False], [False, False, True, False]]
    assert table.notes == ("3 missing values count as 0.2.",)
    # Sums 1.9 and 1.9; with a price of 0, 1.5 and 1.7; of 1, 3.5 and 2.7.
    assert places(table) == {"T0": 1, "T1": 1}
    assert places(table_of_scores(GAPS, better="higher", missing=0)) == {"T0": 2, "T1": 1}
    assert places(table_of_scores(GAPS, better="higher", missing=1.0)) == {"T0": 1, "T1": 2}


def test_dropped_cases():
    table = table_of_scores(GAPS, better="higher", missing="drop")
    assert table.rows == ("1", "4")
    assert table.tasks[0].values.tolist() == [[0.9, 0.6], [0.5, 0.8]]
    assert table.units.names == ("1", "4")
    assert not table.tasks[0].priced.any()
    assert table.notes == ("2 of 4 cases are left out: a value is missing.",)
    nothing = frame(("a", "1", 0.5), ("a", "2", None), ("b", "1", None), ("b", "2", 0.5))
    with pytest.raises(InputError, match="dropping cases leaves none"):
        table_of_scores(nothing, better="higher", missing="drop")


def test_the_worst_of_the_case():
    table = table_of_scores(GAPS, better="higher", missing="worst")
    assert table.rows == ("1", "2", "4")
    assert table.tasks[0].values.tolist() == [[0.9, 0.4, 0.6], [0.5, 0.4, 0.8]]
    assert table.notes == (
        "1 of 4 cases are left out: nobody has a value.",
        "1 missing values count as the worst of their case.",
    )
    three = frame(("a", "1", 1.0), ("b", "1", 3.0), ("c", "1", None))
    for better, worst in (("higher", 1.0), ("lower", 3.0)):
        assert table_of_scores(three, better=better, missing="worst").tasks[0].values[2, 0] == worst


def test_a_policy_changes_nothing_where_nothing_is_missing():
    for missing in (0.0, "drop", "worst", None):
        table = table_of_scores(GOOD, better="higher", missing=missing)
        assert (table.rows, table.notes) == (("1", "2"), ())
        assert table.tasks[0].values.tolist() == [[0.9, 0.5], [0.8, 0.7]]


def test_what_is_not_finite_is_missing():
    table = table_of_scores(
        frame(("a", "1", np.inf), ("b", "1", 0.1), ("a", "2", 0.5), ("b", "2", -np.inf)), better="lower", missing=9.0
    )
    assert table.tasks[0].values.tolist() == [[9.0, 0.5], [0.1, 9.0]]


# Tasks, clusters and strata

TASKS = frame(
    ("a", "1", 0.9, "x"), ("b", "1", 0.8, "x"), ("a", "1", 0.1, "y"), ("b", "1", 0.3, "y"), ("a", "2", 0.2, "y"),
    ("b", "2", 0.6, "y"), columns=("submission", "case", "value", "task"),
)  # fmt: skip


def test_a_case_of_two_tasks_is_two_cases():
    table = table_of_scores(TASKS, better="higher")
    assert [task.name for task in table.tasks] == ["x", "y"]
    assert table.rows == ("x/1", "y/1", "y/2")
    assert [table.units.names[stratum] for stratum in table.units.strata] == [("x/1",), ("y/1", "y/2")]
    assert table.tasks[0].rows.tolist() == [True, False, False]
    np.testing.assert_array_equal(table.tasks[0].values, [[0.9, NAN, NAN], [0.8, NAN, NAN]])
    # Ranks 1 2 and 2 1: a tie.
    assert places(table) == {"a": 1, "b": 1}


def test_clusters_join_cases_of_tasks():
    table = table_of_scores(TASKS.with_columns(("patient " + pl.col("case")).alias("cluster")), better="higher")
    assert [table.units.names[stratum] for stratum in table.units.strata] == [("patient 1",), ("patient 2",)]
    assert table.units.cluster.tolist() == [0, 0, 1]


def test_strata_divide_tasks():
    table = table_of_scores(TASKS.with_columns(pl.Series("stratum", ["", "", "m", "m", "n", "n"])), better="higher")
    assert [table.units.names[stratum] for stratum in table.units.strata] == [("x/1",), ("y/1",), ("y/2",)]


def test_a_submission_without_a_task_lacks_its_values():
    lacking = TASKS.filter((pl.col("submission") != "b") | (pl.col("task") != "y"))
    with pytest.raises(InputError, match="2 of 4 values are missing in y, for instance b in case y/1"):
        table_of_scores(lacking, better="higher")
    table = table_of_scores(lacking, better="higher", missing=0.0)
    assert table.notes == ("2 missing values in y count as 0.",)
    assert places(table) == {"a": 1, "b": 2}


def test_a_case_dropped_in_one_task_stays_in_the_other():
    gap = TASKS.with_columns(pl.when(pl.col("value") == 0.3).then(None).otherwise(pl.col("value")).alias("value"))
    table = table_of_scores(gap, better="higher", missing="drop")
    assert table.rows == ("x/1", "y/2")


# Runs


def test_a_run_as_a_table(run_of):
    run = run_of("kits21")
    challenge, measured, roles = run
    table = table_of_challenge(challenge, run.cube, roles=roles)
    assert table.submissions == ("alpha", "beta", "delta", "gamma")  # baselines do not compete
    assert [task.name for task in table.tasks] == [f"{m.name}_{m.targets[0]}" for m in challenge.decisive]
    assert table.tasks[0].priced.sum() == 1
    one = table_of_challenge(challenge, run.cube, roles=roles, measures=[("dice", "tumor")])
    assert [task.measure.title for task in one.tasks] == ["Dice tumor"]
    expected = measured.filter((pl.col("metric") == "dice") & (pl.col("target") == "tumor"))
    mean = expected.filter(pl.col("submission") == "gamma")["value"].mean()
    assert one.tasks[0].values[3].mean() == pytest.approx(mean)
    with pytest.raises(InputError, match=r"nothing can be ranked by dice liver.*dice:tumor"):
        table_of_challenge(challenge, run.cube, measures=[("dice", "liver")])
    notes = scheme_rule(table, AggregateThenRank()).leaderboard().notes
    assert "zero-baseline is not ranked: baseline." in notes


@pytest.mark.parametrize("name", ["kits21", "csv2026", "trackrad2025", "lvquan18", "tusrec"])
def test_every_challenge_can_be_ranked_by_general_schemes(run_of, name):
    run = run_of(name)
    challenge = run.challenge
    table = table_of_challenge(challenge, run.cube, roles=run.roles)
    keys = [measure.key for measure in challenge.decisive]
    assert [f"{name}_{target}" if target else name for name, target in keys] == [task.name for task in table.tasks]
    assert "seconds" not in [task.name for task in table.tasks]
    assert {challenge.cluster(row) for row in table.rows} == set(table.units.names)
    assert set(places(table).values()) <= {1, 2, 3, 4}
