"""Plain tables: what is wrong with bad ones, and what missing values cost."""

import numpy as np
import polars as pl
import pytest

from podium.model import Direction, InputError
from podium.ranking import AggregateThenRank, RankThenAggregate, scheme_rule, table_of_challenge, table_of_scores

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
    with pytest.raises(InputError, match=r"1 of 6 values is missing, for instance T0 in case 2.*--missing"):
        table_of_scores(GAPS, better="higher")


def test_a_price():
    table = table_of_scores(GAPS, better="higher", missing=0.2)
    assert table.rows == ("1", "2", "4")
    assert table.tasks[0].values.tolist() == [[0.9, 0.2, 0.6], [0.5, 0.4, 0.8]]
    assert table.tasks[0].priced.tolist() == [[False, True, False], [False, False, False]]
    assert table.notes == ("1 of 4 cases is left out: nobody has a value.", "1 missing value counts as 0.2.")
    # Sums 1.7 and 1.7; with a price of 0, 1.5 and 1.7.
    assert places(table) == {"T0": 1, "T1": 1}
    assert places(table_of_scores(GAPS, better="higher", missing=0)) == {"T0": 2, "T1": 1}
    assert table_of_scores(GAPS, better="higher", missing=0.4).tasks[0].values[0, 1] == 0.4


@pytest.mark.parametrize(
    ("better", "price", "message"),
    [
        ("higher", 0.41, "would cost 0.41, less than the 0.4 of T1 in case 2.*0.4 or below, or take worst"),
        ("lower", 0.0, "would cost 0, less than the 0.9 of T0 in case 1, so that leaving out would pay.*0.9 or above"),
    ],
)
def test_a_price_is_at_least_as_bad_as_the_worst_value(better, price, message):
    with pytest.raises(InputError, match=message):
        table_of_scores(GAPS, better=better, missing=price)


def test_whoever_is_missing_nearly_everything_is_not_crowned():
    """Nine of ten are missing, and lower is better: 0 would be the best of prices."""
    scores = frame(*(("a", str(case), 3.0) for case in range(10)), ("b", "0", 4.0))
    with pytest.raises(InputError, match=r"less than the 4.0 of b in case 0"):
        table_of_scores(scores, better="lower", missing=0)
    for policy in ("worst", "drop", 4, 100):
        assert places(table_of_scores(scores, better="lower", missing=policy)) == {"a": 1, "b": 2}


def test_a_price_is_judged_task_by_task_and_only_where_it_is_charged():
    rows = [("a", "1", 0.9, "x"), ("b", "1", 0.8, "x"), ("a", "1", -5.0, "y"), ("b", "1", -4.0, "y")]
    columns = ("submission", "case", "value", "task")
    lacking = frame(*rows, ("a", "2", 0.7, "x"), columns=columns)
    table = table_of_scores(lacking, better="higher", missing=0.0)
    assert table.notes == ("1 missing value in x counts as 0.",)
    with pytest.raises(InputError, match=r"a missing value in y would cost 0, less than the -5.0 of a in case y/1"):
        table_of_scores(frame(*rows, ("a", "2", -3.0, "y"), columns=columns), better="higher", missing=0.0)


def test_dropped_cases():
    table = table_of_scores(GAPS, better="higher", missing="drop")
    assert table.rows == ("1", "4")
    assert table.tasks[0].values.tolist() == [[0.9, 0.6], [0.5, 0.8]]
    assert table.units.names == ("1", "4")
    assert not table.tasks[0].priced.any()
    # T0: 0.75 against (0.9 + 0.4 + 0.6) / 3; T1: 0.65 against (0.5 + 0.4 + 0.8) / 3.
    assert table.notes[:2] == (
        "1 of 4 cases is left out: nobody has a value.",
        "1 of 3 cases is left out: a value is missing.",
    )
    gains = "raises T0 by 0.117 and T1 by 0.0833 (means, with what is missing counted as 0.4, the worst)"
    assert table.notes[2:] == (f"Leaving cases out {gains}.",)
    nothing = frame(("a", "1", 0.5), ("a", "2", None), ("b", "1", None), ("b", "2", 0.5))
    with pytest.raises(InputError, match="dropping cases leaves none"):
        table_of_scores(nothing, better="higher", missing="drop")


def test_who_gains_by_dropped_cases_is_said_in_every_direction():
    scores = frame(("a", "1", 1.0), ("b", "1", 2.0), ("a", "2", None), ("b", "2", 9.0))
    lower = table_of_scores(scores, better="lower", missing="drop").notes
    assert lower[1].startswith(
        "Leaving cases out lowers a by 4 and b by 3.5 (means, with what is missing counted as 9, the worst"
    )
    higher = table_of_scores(scores, better="higher", missing="drop").notes
    assert len(higher) == 1  # means 1 and 2 after, 1 and 5.5 before: nobody gains
    many = [(f"t{team}", case, float(case == "1")) for team in range(8) for case in "12"]
    notes = table_of_scores(frame(*many[:-1]), better="higher", missing="drop").notes
    assert "t4 by 0.5 and 3 more by less (means" in notes[1]


def test_the_worst_of_the_task():
    """Not of the case: a team would leave out the case in which everybody else does well enough."""
    scores = frame(("T0", "1", 0.9), ("T0", "2", None), ("T1", "1", 0.1), ("T1", "2", 0.8))
    table = table_of_scores(scores, better="higher", missing="worst")
    assert table.tasks[0].values.tolist() == [[0.9, 0.1], [0.1, 0.8]]
    assert table.notes == ("1 missing value counts as 0.1, the worst that anybody has (T1 in case 1).",)
    lower = table_of_scores(scores, better="lower", missing="worst")
    assert lower.tasks[0].values[0, 1] == 0.9


def test_a_case_without_any_value_is_left_out_whatever_the_policy():
    scores = frame(("a", "1", 0.5), ("b", "1", 0.4), ("a", "2", None), ("b", "2", None), ("a", "3", None))
    for policy in (None, "worst", "drop", 0.0):
        table = table_of_scores(scores, better="higher", missing=policy)
        assert (table.rows, table.notes) == (("1",), ("2 of 3 cases are left out: nobody has a value.",))
        assert table.otherwise == {}


def test_a_policy_changes_nothing_where_nothing_is_missing():
    for missing in (0.0, "drop", "worst", None):
        table = table_of_scores(GOOD, better="higher", missing=missing)
        assert (table.rows, table.notes) == (("1", "2"), ())
        assert table.tasks[0].values.tolist() == [[0.9, 0.5], [0.8, 0.7]]


def test_what_is_not_finite_is_missing():
    scores = frame(("a", "1", np.inf), ("b", "1", 0.1), ("a", "2", 0.5), ("b", "2", -np.inf))
    table = table_of_scores(scores, better="lower", missing=9.0)
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


# Directions, weights and ranges

PAIR = frame(
    ("a", "1", 0.9, "Dice"), ("b", "1", 0.8, "Dice"), ("c", "1", 0.7, "Dice"),
    ("a", "1", 5.0, "HD95"), ("b", "1", 2.0, "HD95"), ("c", "1", 3.0, "HD95"),
    columns=("submission", "case", "value", "task"),
)  # fmt: skip


def test_each_task_has_its_direction_and_weight():
    """Dice ranks 1 2 3, HD95 ranks 3 1 2: sums 4 3 5; with HD95 twice 7 4 7; with Dice thrice 6 7 11."""
    better = {"Dice": "higher", "HD95": "lower"}
    assert places(table_of_scores(PAIR, better=better)) == {"a": 2, "b": 1, "c": 3}
    assert places(table_of_scores(PAIR, better=better, weights={"HD95": 2})) == {"a": 2, "b": 1, "c": 2}
    assert places(table_of_scores(PAIR, better=better, weights={"Dice": 3})) == {"a": 1, "b": 2, "c": 3}
    rule = scheme_rule(table_of_scores(PAIR, better=better, weights={"HD95": 2}), AggregateThenRank())
    assert [column.importance for column in rule.published.criteria] == [1, 2]
    emphasis = {"Dice": 6.0}  # of what its weight says: 6 against 2
    rule = scheme_rule(
        table_of_scores(PAIR, better=better, weights={"HD95": 2}), AggregateThenRank(), emphasis=emphasis
    )
    assert rule.published.places[0].tolist() == [1, 2, 3]
    with pytest.raises(InputError, match="the direction '' is unknown"):
        table_of_scores(PAIR, better={"Dice": "higher"})
    for weight in (0, -1, NAN, np.inf):
        with pytest.raises(InputError, match=r"the weight of HD95 is .*above 0"):
            table_of_scores(PAIR, better=better, weights={"HD95": weight})


def test_a_declared_range_belongs_to_the_measure():
    better = {"Dice": "higher", "HD95": "lower"}
    table = table_of_scores(PAIR, better=better, ranges={"Dice": (0, 1), "": (0, np.inf)})
    ranges = {task.name: (task.measure.minimum, task.measure.maximum) for task in table.tasks}
    assert ranges == {"Dice": (0, 1), "HD95": (0, np.inf)}
    column = scheme_rule(table, AggregateThenRank()).published.criteria[0].measure
    assert (column.minimum, column.maximum) == (0, 1)
    with pytest.raises(InputError, match=r"a has 5.0 in case HD95/1, outside the range 0 to 1.*--range"):
        table_of_scores(PAIR, better=better, ranges={"": (0, 1)})
    with pytest.raises(InputError, match="the range 1 to 0 holds nothing"):
        table_of_scores(GOOD, better="higher", ranges={"": (1, 0)})
    with pytest.raises(InputError, match="the price -1 of a missing value lies outside the range 0 to 1"):
        table_of_scores(GAPS, better="higher", missing=-1, ranges={"": (0, 1)})


# Names that a person takes for one


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Team A", "team a"),
        ("Team A", "Team  A"),
        ("Team A", "Team\xa0A"),
        ("Zu\u0308rich", "Z\xfcrich"),
        ("ﬁt", "fit"),
    ],
)
def test_names_that_look_alike_are_pointed_out(first, second):
    table = table_of_scores(frame((first, "1", 0.5), (second, "1", 0.4)), better="higher")
    (note,) = table.notes
    assert "differ only in spaces, case or Unicode form, and count as two." in note
    assert note.startswith("The submissions '")
    assert note.isprintable()
    names = note.split("'")
    assert names[1] != names[3]


def test_cases_that_look_alike_explain_what_is_missing():
    scores = frame(("a", "case_1", 0.5), ("b", "Case_1", 0.4))
    with pytest.raises(InputError, match=r"2 of 4 values are missing.*The cases 'Case_1' and 'case_1' differ only"):
        table_of_scores(scores, better="higher")
    many = frame(*((team, f"{name}{k}", 0.5) for k in range(9) for team, name in (("a", "c"), ("b", "C"))))
    assert table_of_scores(many, better="higher", missing="worst").notes[5].startswith("4 more cases have names")


# Leaving out never pays


def tables(random):
    """Yield complete tables of few and many values, and who leaves out what."""
    for _ in range(90):
        teams, cases = int(random.integers(2, 5)), int(random.integers(2, 7))
        values = (
            random.choice([0.1, 0.5, 0.9, 1.0], (teams, cases))
            if random.random() < 0.5
            else random.random((teams, cases))
        )
        others = random.random((teams, cases)) < 0.2  # are missing from the others
        others[0], others[1] = False, False
        left_out = random.random(cases) < 0.5
        yield np.where(others, NAN, values), left_out


def gains(policy_of, better, random, settle=table_of_scores):
    """Count tables in which the first team has a better place or mean for leaving out values.

    It leaves out none that is worse than all that remain: what nobody has seen can have no price.
    """
    count, tried = 0, 0
    for values, left_out in tables(random):
        less = values.copy()
        less[0, left_out] = NAN
        cost = values if better == "lower" else -values
        if left_out.any() and np.nanmax(np.where(np.isnan(less), -np.inf, cost)) >= np.nanmax(cost):
            policy = policy_of(values)
            means, ranks = [], []
            for own in (values, less):
                rows = [(f"T{t}", str(c), float(v)) for t, row in enumerate(own) for c, v in enumerate(row)]
                table = settle(frame(*rows), better=better, missing=policy)
                means.append(table.tasks[0].values[0].mean() * (1 if better == "lower" else -1))
                ranks.append([scheme_rule(table, scheme).published.places[0, 0] for scheme in SCHEMES])
            tried += 1
            count += means[1] < means[0] - 1e-12 or any(after < before for before, after in zip(*ranks, strict=True))
    assert tried > 30
    return count


SCHEMES = (AggregateThenRank("mean"), AggregateThenRank("median"), AggregateThenRank(0.05), RankThenAggregate("mean"))


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("policy", ["worst", "the worst value as a price", "a price that is worse"])
def test_leaving_out_never_pays(policy, better):
    sign = 1 if better == "lower" else -1
    worst = np.nanmax if better == "lower" else np.nanmin
    policy_of = {
        "worst": lambda values: "worst",
        "the worst value as a price": lambda values: float(worst(values)),
        "a price that is worse": lambda values: sign * 2.0,
    }[policy]
    assert gains(policy_of, better, np.random.default_rng(5)) == 0


def test_the_worst_of_the_case_would_pay():
    """What was done before: a planted fault that the law sees."""

    def settle(scores, *, better, missing):
        worst = pl.col("value").max() if better == "lower" else pl.col("value").min()
        scores = scores.with_columns(pl.col("value").fill_nan(None))
        return table_of_scores(scores.with_columns(pl.col("value").fill_null(worst.over("case"))), better=better)

    for better in ("higher", "lower"):
        assert gains(lambda values: "worst", better, np.random.default_rng(5), settle) > 3


def test_only_a_price_known_beforehand_charges_for_the_worst_value_of_all():
    """Who leaves out the worst value of the whole table is charged the second worst; a price knows better."""
    whole = frame(("a", "1", 0.9), ("a", "2", 0.0), ("b", "1", 0.5), ("b", "2", 0.6))
    less = whole.filter(pl.col("value") > 0)
    assert places(table_of_scores(whole, better="higher")) == {"a": 2, "b": 1}
    assert places(table_of_scores(less, better="higher", missing="worst")) == {"a": 1, "b": 2}
    assert places(table_of_scores(less, better="higher", missing=0.0)) == {"a": 2, "b": 1}


def test_what_is_infinite_is_not_called_missing_alone():
    scores = frame(("a", "1", 3.0), ("a", "2", float("inf")), ("b", "1", 2.0), ("b", "2", 1.0))
    with pytest.raises(InputError, match="1 of 4 values is missing or infinite, for instance a in case 2"):
        table_of_scores(scores, better="lower")
    assert table_of_scores(scores, better="lower", missing=9.0).notes == ("1 missing or infinite value counts as 9.",)


def test_values_that_may_stand_for_failures_are_pointed_out():
    scores = frame(("a", "1", 3.0), ("a", "2", 1e12), ("b", "1", 2.0), ("b", "2", 0.0))
    (note,) = table_of_scores(scores, better="lower").notes
    assert note.startswith(
        "1 value is more than a million times as large as is usual, the 1e+12 of a in case 2. If that means a failure"
    )
    usual = scores.with_columns(pl.col("value").clip(0, 1e6))
    assert table_of_scores(usual, better="lower").notes == ()
    assert table_of_scores(scores.with_columns(pl.lit(0.0).alias("value")), better="lower").notes == ()


def test_values_are_called_what_their_column_is():
    scores = frame(("a", "1", 3.0), ("b", "1", 2.0))
    assert table_of_scores(scores, better="lower", title="HD95").tasks[0].measure.title == "HD95"
    assert table_of_scores(scores, better="lower").tasks[0].measure.title == "Value"
