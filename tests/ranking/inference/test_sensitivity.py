"""Other rules for the same measurements: which there are, what they give, and how many keep the winner."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from podium.challenges import get_challenge
from podium.model import InputError
from podium.ranking import (
    AggregateThenRank,
    RankThenAggregate,
    TestThenRank,
    challenge_alternatives,
    challenge_rule,
    kendall_tau,
    scheme_rule,
    sensitivity,
    table_alternatives,
    table_of_challenge,
)

RUNS = [
    ("kits21", "document"),
    ("kits21", "code"),
    ("csv2026", "document"),
    ("csv2026", "code"),
    ("trackrad2025", "document"),
    ("lvquan18", "document"),
    ("tusrec", "document"),
]
EVERY_RUN = pytest.mark.parametrize(("name", "edition"), RUNS)
SIX = [f"{metric}_{region}" for metric in ("dice", "surface_dice") for region in ("kidney_and_mass", "mass", "tumor")]
TERMS = {
    ("kits21", "document"): SIX,
    ("kits21", "code"): ["dice_all", "surface_dice_all"],
    ("csv2026", "document"): [
        "segmentation",
        "classification",
        "time",
        "dice",
        "nsd",
        "plaque",
        "vessel",
        "long",
        "trans",
    ],
    ("csv2026", "code"): ["segmentation", "classification", "dice", "nsd", "plaque", "vessel", "long", "trans"],
    ("trackrad2025", "document"): ["dice", "hd95", "masd", "centre_distance", "relative_d98", "runtime"],
    ("lvquan18", "document"): ["area", "dim", "rwt", "phase"],
    ("tusrec", "document"): ["gpe", "gle", "lpe", "lle"],
}
GENERAL = ["mean then rank", "median then rank", "rank then mean", "rank then median", "test then rank, holm"]
OWN_IS_MEAN = {("kits21", "document"), ("tusrec", "document")}
"""Whose own rule is the first of these, which then is no alternative."""


def assessed(run):
    challenge, table, roles = run
    contest = challenge_rule(challenge, table, roles=roles)
    return sensitivity(contest, challenge_alternatives(challenge, table, roles=roles))


@EVERY_RUN
def test_which_alternatives_there_are(run_of, name, edition):
    run = run_of(name, edition=edition)
    found = assessed(run)
    assert found.impossible == {}
    expected = []
    for term in TERMS[name, edition]:
        said = term.replace("_", " ")
        expected += [f"weight of {said} −50 %", f"weight of {said} +50 %", f"without {said}"]
    if name in ("kits21", "csv2026"):
        expected += ["tolerance × 0.5", "tolerance × 2"]
    several = "" if name == "tusrec" else ", mean over quantities"
    general = GENERAL[1:] if (name, edition) in OWN_IS_MEAN else GENERAL
    assert [each.name for each in found.alternatives] == expected + [scheme + several for scheme in general]
    assert found.submissions == ("alpha", "beta", "delta", "gamma")
    for each in found.alternatives:
        assert each.places.min() == 1
        assert each.winners == tuple(n for n, p in zip(found.submissions, each.places, strict=True) if p == 1)
        assert each.keeps_winner == (set(each.winners) <= set(found.winners))
        np.testing.assert_allclose(each.tau, kendall_tau(each.places, found.published)[0])
    assert found.kept == sum(each.keeps_winner for each in found.alternatives)


@EVERY_RUN
def test_an_emphasis_of_one_changes_nothing(run_of, name, edition):
    challenge, table, roles = run_of(name, edition=edition)
    same = replace(challenge, emphasis=dict.fromkeys(challenge.terms, 1.0))
    one, other = (challenge_rule(each, table, roles=roles).published() for each in (challenge, same))
    np.testing.assert_array_equal(one.places, other.places)
    for mine, theirs in zip(one.columns, other.columns, strict=True):
        np.testing.assert_allclose(mine.values, theirs.values, rtol=1e-13)


@EVERY_RUN
def test_a_dropped_term_no_longer_matters(run_of, name, edition):
    """Whatever its values are: a hundred times as good for the last changes nothing once it is dropped."""
    challenge, table, roles = run_of(name, edition=edition)
    metric, target, term = {
        "kits21": ("dice", "tumor", "dice_tumor"),
        "csv2026": ("nsd", "long/plaque", "nsd"),
        "trackrad2025": ("hd95", "", "hd95"),
        "lvquan18": ("phase_error", "", "phase"),
        "tusrec": ("gle_score", "", "gle"),
    }[name]
    if (name, edition) == ("kits21", "code"):
        metric, target, term = "dice", "tumor", "dice_all"
    ours = (pl.col("submission") == "alpha") & (pl.col("metric") == metric) & (pl.col("target") == target)
    changed = table.with_columns(pl.when(ours).then(pl.lit(100.0)).otherwise(pl.col("value")).alias("value"))
    dropped = replace(challenge, emphasis={term: 0.0})
    one, other = (challenge_rule(dropped, each, roles=roles).published() for each in (table, changed))
    np.testing.assert_array_equal(one.places, other.places)
    one, other = (challenge_rule(challenge, each, roles=roles).published() for each in (table, changed))
    assert (one.columns[0].values != other.columns[0].values).any()
    assert term not in [column.name for column in challenge_rule(dropped, table, roles=roles).published().criteria]


def six_lists(values):
    """Return KiTS21 measurements of one case from team → six values."""
    from boards import measurements

    keys = [(m, r) for m in ("dice", "surface_dice") for r in ("kidney_and_mass", "mass", "tumor")]
    return measurements({team: {"c1": dict(zip(keys, own, strict=True))} for team, own in values.items()})


def test_weights_of_lists_by_hand():
    """Ranks of a: 1 1 1 3 3 3, of b: 2 2 2 2 2 2, of c: 3 3 3 1 1 1; the three are level."""
    table = six_lists(
        {
            "a": [0.9, 0.9, 0.9, 0.1, 0.1, 0.1],
            "b": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
            "c": [0.2, 0.2, 0.2, 0.8, 0.8, 0.8],
        }
    )
    challenge = get_challenge("kits21")
    contest = challenge_rule(challenge, table)
    assert contest.published().places.tolist() == [[1, 1, 1]]
    found = {each.name: each for each in sensitivity(contest, challenge_alternatives(challenge, table)).alternatives}
    # Half of one of six: (0.5 + 1 + 1 + 3 + 3 + 3)/5.5, 11/5.5, (1.5 + 3 + 3 + 1 + 1 + 1)/5.5
    assert found["weight of dice tumor −50 %"].places.tolist() == [3, 2, 1]
    assert found["weight of dice tumor +50 %"].places.tolist() == [1, 2, 3]
    assert found["without dice tumor"].places.tolist() == [3, 2, 1]
    assert found["without surface dice mass"].places.tolist() == [1, 2, 3]
    half = challenge_rule(replace(challenge, emphasis={"dice_tumor": 0.5}), table).published()
    np.testing.assert_allclose(half.columns[0].values[0], [11.5 / 5.5, 2, 10.5 / 5.5])
    assert np.isnan(found["without dice tumor"].tau)  # nothing to agree with: all shared the first place
    assert found["without dice tumor"].keeps_winner  # nobody is first who was not


def test_a_total_without_time_by_hand(run_of):
    challenge, table, roles = run_of("csv2026")
    scores = challenge_rule(challenge, table, roles=roles).published()
    without = challenge_rule(replace(challenge, emphasis={"time": 0.0}), table, roles=roles).published()
    segmentation, classification = (scores.column(name).values for name in ("segmentation", "classification"))
    np.testing.assert_allclose(without.column("total").values, (segmentation + classification) / 2)
    more = challenge_rule(replace(challenge, emphasis={"time": 1.5}), table, roles=roles).published()
    time = scores.column("time").values
    np.testing.assert_allclose(
        more.column("total").values, (0.4 * segmentation + 0.4 * classification + 0.3 * time) / 1.1
    )
    plaque = challenge_rule(replace(challenge, emphasis={"vessel": 0.0}), table, roles=roles).published()
    expected = 100 * (scores.column("long_plaque").values + scores.column("trans_plaque").values) / 2
    np.testing.assert_allclose(plaque.column("segmentation").values, expected)


def test_a_score_without_an_error_by_hand(run_of):
    challenge, table, roles = run_of("tusrec")
    contest = challenge_rule(replace(challenge, emphasis={"gpe": 0.0}), table, roles=roles)
    for index, submission in enumerate(contest.submissions):
        own = table.filter((pl.col("submission") == submission) & pl.col("metric").str.ends_with("_score"))
        expected = own.filter(pl.col("metric") != "gpe_score")["value"].mean()
        assert contest.published().criteria[0].values[0, index] == pytest.approx(expected)


@pytest.mark.parametrize(("name", "metric"), [("kits21", "surface_dice"), ("csv2026", "nsd")])
@pytest.mark.parametrize(("scale", "ending"), [(0.5, "_half_tolerance"), (2.0, "_double_tolerance")])
def test_another_tolerance_is_another_column_of_measurements(run_of, name, metric, scale, ending):
    challenge, table, roles = run_of(name)
    other = challenge_rule(replace(challenge, tolerance_scale=scale), table, roles=roles).published()
    moved = table.filter(pl.col("metric") != metric).with_columns(
        pl.col("metric").replace({f"{metric}{ending}": metric})
    )
    expected = challenge_rule(challenge, moved, roles=roles).published()
    np.testing.assert_array_equal(other.places, expected.places)
    for mine, theirs in zip(other.columns, expected.columns, strict=True):
        np.testing.assert_array_equal(mine.values, theirs.values)
    own = challenge_rule(challenge, table, roles=roles).published()
    assert any((a.values != b.values).any() for a, b in zip(own.columns, other.columns, strict=True))
    (found,) = [each for each in assessed(run_of(name)).alternatives if each.name == f"tolerance × {scale:g}"]
    ranked = [submission not in roles for submission in sorted(table["submission"].unique())]
    np.testing.assert_array_equal(found.places, other.places[0, ranked])


def test_old_runs_have_one_tolerance(run_of):
    challenge, table, roles = run_of("kits21")
    found = assessed((challenge, table.filter(~pl.col("metric").str.ends_with("_tolerance")), roles))
    assert not [each.name for each in found.alternatives if each.name.startswith("tolerance")]
    assert found.impossible == {}


def test_general_schemes_over_the_same_quantities(run_of):
    """KiTS21's own rule is the mean over six lists of ranks of means: the general scheme gives the same places."""
    challenge, table, roles = run_of("kits21")
    same = scheme_rule(table_of_challenge(challenge, table, roles=roles), AggregateThenRank("mean"))
    np.testing.assert_array_equal(same.published().places[0], assessed((challenge, table, roles)).published)


def test_what_cannot_be_tried_is_said(contest_from):
    def impossible():
        raise InputError("there is no way", advice="Find one")

    contest = contest_from(np.array([[0.1, 0.2], [0.3, 0.4]]))
    found = sensitivity(contest, iter([("strange", impossible), ("same", lambda: contest)]))
    assert found.impossible == {"strange": "there is no way. Find one"}
    assert (len(found.alternatives), found.kept) == (1, 1)


def test_alternatives_for_a_table(table_from):
    values = np.random.default_rng(0).random((3, 8))
    one = table_from(values)
    names = [name for name, _ in table_alternatives(one, RankThenAggregate("mean"))]
    assert names == ["mean then rank", "median then rank", "rank then median", "test then rank, holm"]
    names = [name for name, _ in table_alternatives(one, TestThenRank("none"))]
    assert names == GENERAL
    two = table_from({"x": values, "y": values[::-1]})
    names = [name for name, _ in table_alternatives(two, AggregateThenRank())]
    assert names[:4] == GENERAL[1:]
    assert names[4:] == [
        "weight of x −50 %", "weight of x +50 %", "without x", "weight of y −50 %", "weight of y +50 %", "without y",
    ]  # fmt: skip


def test_a_table_by_hand(table_from):
    """Means 0.6, 0.55; medians 0.5, 0.6; T1 is better in three of four cases."""
    table = table_from(np.array([[1.0, 0.5, 0.5, 0.4], [0.4, 0.6, 0.6, 0.6]]))
    scheme = AggregateThenRank()
    found = sensitivity(scheme_rule(table, scheme), table_alternatives(table, scheme))
    assert (found.winners, found.published.tolist()) == (("T0",), [1, 2])
    assert {each.name: each.winners for each in found.alternatives} == {
        "median then rank": ("T1",),
        "rank then mean": ("T1",),
        "rank then median": ("T1",),
        "test then rank, holm": ("T0", "T1"),
    }
    assert found.kept == 0  # somebody else is first, or is so too


def test_a_term_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match=r"no term called 'colour'.*dice_tumor"):
        get_challenge("kits21", emphasis={"colour": 2.0})
