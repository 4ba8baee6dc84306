"""From measurements to a cube, and from a cube to a board that says the same of a team whoever else takes part."""

import numpy as np
import polars as pl
import pytest
from boards import measurements

from podium.challenges import challenges, get_challenge
from podium.model import InputError, OrganisersKeys
from podium.ranking import cube_of, scores_alone
from podium.run.results import metrics_document, organisers_document

CASES = [
    ("kits21", "document"),
    ("kits21", "code"),
    ("csv2026", "document"),
    ("csv2026", "code"),
    ("trackrad2025", "document"),
    ("trackrad2025", "code"),
    ("lvquan18", "document"),
    ("tusrec", "document"),
    ("tusrec", "code"),
]


@pytest.mark.parametrize(("name", "edition"), CASES)
def test_no_digit_of_a_team_depends_on_who_else_takes_part(run_of, name, edition):
    """Whoever measures at home gets what the board will show, to the last bit."""
    run = run_of(name, edition=edition, seed=2)
    scores = run.rule.published
    board = run.rule.leaderboard()
    alone = {column.name for column in scores.columns if not column.relative}
    assert alone
    for entry in board.entries:
        own = scores_alone(run.challenge, run.table.filter(pl.col("submission") == entry.submission))
        assert own == {name: value for name, value in entry.values.items() if name in alone}


def undeclared_keys(challenge):
    """Return keys of measures that there are none of, and keys of the organisers that mean two things."""
    keys = challenge.organisers_keys
    declared = {m.as_column().name for measure in (*challenge.measures, challenge.time) for m in measure.each}
    wrong = set(keys.results) - declared
    for mapping in (keys.results, keys.aggregates):
        wrong |= {theirs for theirs in mapping.values() if list(mapping.values()).count(theirs) > 1}
        wrong |= {theirs for own, theirs in mapping.items() if theirs in declared and theirs != own}
    return wrong | ({"scores"} & set(keys.aggregates.values()))


@pytest.mark.parametrize("name", [name for name, kind in challenges().items() if kind.organisers_keys])
def test_every_key_of_the_organisers_stands_for_something(run_of, name):
    run = run_of(name, edition="code", seed=2)
    assert undeclared_keys(run.challenge) == set()
    own = run.table.filter(pl.col("submission") == "alpha")
    document = metrics_document(own)
    document["aggregates"]["scores"] = scores_alone(run.challenge, own)
    both = organisers_document(document, run.challenge.organisers_keys)
    assert both["aggregates"].keys() >= set(run.challenge.organisers_keys.aggregates.values())
    assert document["aggregates"].items() <= both["aggregates"].items()
    for before, after in zip(document["results"], both["results"], strict=True):
        assert before.items() <= after.items()


def test_a_key_that_stands_for_nothing_is_noticed(monkeypatch):
    challenge = get_challenge("kits21")
    wrong = OrganisersKeys("case", {"beauty": "x", "dice_tumor": "dice_mass"}, {"dice_tumor": "y", "dice_mass": "y"})
    monkeypatch.setattr(type(challenge), "organisers_keys", wrong)
    assert undeclared_keys(challenge) == {"beauty", "dice_mass", "y"}


def test_a_cube_by_hand():
    table = pl.concat(
        [
            measurements({"a": {"c1": {("dice", "mass"): 0.5, ("seconds", ""): 3.0}}}),
            measurements({"a": {"c2": {("dice", "mass"): 0.0, ("dice", "tumor"): 0.0}}}, status="missing"),
            measurements({"a": {"c2": {("seconds", ""): 4.0}}}),
            measurements({"b": {"c1": {("dice", "mass"): 0.0}}}, status="invalid"),
            measurements({"b": {"c1": {("dice", "tumor"): 0.7}, "c2": {("dice", "mass"): 0.9}}}),
            measurements({"b": {"c2": {("dice", "tumor"): None}}}, status="undefined"),
            measurements({"b": {"c2": {("dice", "mass"): 0.1}}}).with_columns(pl.lit("slice 7").alias("unit")),
        ]
    )
    cube = cube_of(get_challenge("kits21"), table)
    assert (cube.submissions, cube.rows, cube.clusters) == (("a", "b"), ("c1", "c2"), ("c1", "c2"))
    assert cube.keys == (("dice", "mass"), ("dice", "tumor"))  # a time is no measure
    np.testing.assert_array_equal(cube.of("dice", "mass"), [[0.5, 0.0], [0.0, 0.9]])
    np.testing.assert_array_equal(cube.of("dice", "tumor"), [[np.nan, 0.0], [0.7, np.nan]])
    np.testing.assert_array_equal(cube.failed, [[False, True], [True, False]])  # in whole or in part
    np.testing.assert_array_equal(cube.lost, [[False, True], [False, False]])  # a time alone measures nothing
    np.testing.assert_array_equal(cube.seconds, [[3.0, 4.0], [np.nan, np.nan]])
    assert not cube.has("seconds")


def test_what_was_not_measured_is_said():
    challenge = get_challenge("kits21")
    table = measurements({"a": {"c1": {("dice", "mass"): 0.5}}})
    with pytest.raises(InputError, match="nothing was measured of dice tumor"):
        cube_of(challenge, table).of("dice", "tumor")
    with pytest.raises(InputError, match="no measurements to rank"):
        cube_of(challenge, table.clear())


def test_who_is_ranked_and_why_others_are_not(run_of):
    """A team that failed everywhere is there without a place; so is one whose missing number has no price."""
    run = run_of("kits21")
    own = pl.col("submission") == "delta"
    lost = run.table.with_columns(pl.when(own).then(pl.lit("missing")).otherwise(pl.col("status")).alias("status"))
    board = run._replace(table=lost).rule.leaderboard()
    remarks = {entry.submission: entry.remark for entry in board.entries if entry.place is None}
    assert remarks == {"delta": "every case failed", "zero-baseline": "baseline"}
    assert [entry.submission for entry in board.entries][-2:] == ["delta", "zero-baseline"]
    run = run_of("lvquan18")
    gap = (pl.col("submission") == "beta") & (pl.col("case") == "sub-02-03") & (pl.col("metric") == "absolute_error")
    table = run.table.with_columns(pl.when(gap).then(None).otherwise(pl.col("value")).alias("value"))
    entries = {entry.submission: entry for entry in run._replace(table=table).rule.leaderboard().entries}
    assert entries["beta"].place is None
    assert entries["beta"].remark == "incomplete: no valid number for 1 of 24 images: sub-02-03"
    assert {entries[name].place for name in ("alpha", "gamma", "delta")} <= {1, 2, 3}
