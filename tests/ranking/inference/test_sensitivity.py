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
    challenge_rule,
    cube_of,
    scheme_rule,
    table_of_challenge,
)
from podium.ranking.inference import sensitivity as sensitivity_module
from podium.ranking.inference.sensitivity import (
    OtherRule,
    assess_sensitivity,
    challenge_alternatives,
    table_alternatives,
)
from podium.ranking.inference.stability import kendall_tau

pytestmark = pytest.mark.slow

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


def others(run):
    """Return the other rules of a run."""
    return list(challenge_alternatives(run.challenge, run.rule, run.cube, roles=run.roles))


def assessed(run):
    return assess_sensitivity(run.rule, others(run))


@EVERY_RUN
def test_which_alternatives_there_are(run_of, name, edition):
    sensitivity = assessed(run_of(name, edition=edition))
    assert sensitivity.impossible == {}
    expected = []
    for term in TERMS[name, edition]:
        said = term.replace("_", " ")
        expected += [f"weight of {said} −50 %", f"weight of {said} +50 %", f"without {said}"]
    if name in ("kits21", "csv2026"):
        expected += ["tolerance × 0.5", "tolerance × 2"]
    several = "" if name == "tusrec" else ", mean over criteria"
    general = GENERAL[1:] if (name, edition) in OWN_IS_MEAN else GENERAL
    assert [other.name for other in sensitivity.alternatives] == expected + [scheme + several for scheme in general]
    assert sensitivity.submissions == ("alpha", "beta", "delta", "gamma")
    for other in sensitivity.alternatives:
        assert other.places.min() == 1
        assert other.winners == tuple(n for n, p in zip(sensitivity.submissions, other.places, strict=True) if p == 1)
        assert other.keeps_winner == (set(other.winners) <= set(sensitivity.winners))
        np.testing.assert_allclose(other.tau, kendall_tau(other.places, sensitivity.published)[0])
    assert sensitivity.kept == sum(other.keeps_winner for other in sensitivity.alternatives)


@EVERY_RUN
def test_a_rule_that_leaves_a_term_out_names_it(run_of, name, edition):
    run = run_of(name, edition=edition)
    dropped = {other.name: other.dropped for other in others(run)}
    for term in run.challenge.terms:
        assert dropped.pop(f"without {term.replace('_', ' ')}") == term
    assert set(dropped.values()) == {""}  # half a weight, another tolerance or another scheme drops nothing
    assert [(other.name, other.dropped) for other in assessed(run).alternatives] == [
        (other.name, other.dropped) for other in others(run)
    ]


@EVERY_RUN
def test_an_emphasis_of_one_changes_nothing(run_of, name, edition):
    run = run_of(name, edition=edition)
    same = run._replace(challenge=run.challenge.varied(emphasis=dict.fromkeys(run.challenge.terms, 1.0)))
    one, other = run.rule.published, same.rule.published
    np.testing.assert_array_equal(one.places, other.places)
    for mine, theirs in zip(one.columns, other.columns, strict=True):
        np.testing.assert_allclose(mine.values, theirs.values, rtol=1e-13)


@EVERY_RUN
def test_a_dropped_term_no_longer_matters(run_of, name, edition):
    """Whatever its values are: a hundred times as good for the last changes nothing once it is dropped."""
    run = run_of(name, edition=edition)
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
    changed = run.table.with_columns(pl.when(ours).then(pl.lit(100.0)).otherwise(pl.col("value")).alias("value"))
    dropped = run._replace(challenge=run.challenge.varied(emphasis={term: 0.0}))
    one, other = dropped.rule.published, dropped._replace(table=changed).rule.published
    np.testing.assert_array_equal(one.places, other.places)
    assert term not in [column.name for column in one.criteria]
    one, other = run.rule.published, run._replace(table=changed).rule.published
    assert (one.columns[0].values != other.columns[0].values).any()


def six_lists(values):
    """Return KiTS21 measurements of one case from team → six values."""
    from boards import measurements

    keys = [(m, r) for m in ("dice", "surface_dice") for r in ("kidney_and_mass", "mass", "tumor")]
    return measurements({team: {"c1": dict(zip(keys, own, strict=True))} for team, own in values.items()})


def test_weights_of_lists_by_hand():
    """Ranks of a: 1 1 1 3 3 3, of b: 2 2 2 2 2 2, of c: 3 3 3 1 1 1; the three are level."""
    challenge = get_challenge("kits21")
    cube = cube_of(
        challenge,
        six_lists(
            {
                "a": [0.9, 0.9, 0.9, 0.1, 0.1, 0.1],
                "b": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
                "c": [0.2, 0.2, 0.2, 0.8, 0.8, 0.8],
            }
        ),
    )
    rule = challenge_rule(challenge, cube)
    assert rule.published.places.tolist() == [[1, 1, 1]]
    sensitivity = assess_sensitivity(rule, challenge_alternatives(challenge, rule, cube))
    others = {other.name: other for other in sensitivity.alternatives}
    # Half of one of six: (0.5 + 1 + 1 + 3 + 3 + 3)/5.5, 11/5.5, (1.5 + 3 + 3 + 1 + 1 + 1)/5.5
    assert others["weight of dice tumor −50 %"].places.tolist() == [3, 2, 1]
    assert others["weight of dice tumor +50 %"].places.tolist() == [1, 2, 3]
    assert others["without dice tumor"].places.tolist() == [3, 2, 1]
    assert others["without surface dice mass"].places.tolist() == [1, 2, 3]
    half = challenge_rule(challenge.varied(emphasis={"dice_tumor": 0.5}), cube).published
    np.testing.assert_allclose(half.columns[0].values[0], [11.5 / 5.5, 2, 10.5 / 5.5])
    assert np.isnan(others["without dice tumor"].tau)  # nothing to agree with: all shared the first place
    assert others["without dice tumor"].keeps_winner  # nobody is first who was not


def test_a_total_without_time_by_hand(run_of):
    run = run_of("csv2026")
    scores = run.rule.published

    def emphasised(**emphasis):
        return run._replace(challenge=run.challenge.varied(emphasis=emphasis)).rule.published

    segmentation, classification = (scores.column(name).values for name in ("segmentation", "classification"))
    np.testing.assert_allclose(emphasised(time=0.0).column("total").values, (segmentation + classification) / 2)
    time = scores.column("time").values
    np.testing.assert_allclose(
        emphasised(time=1.5).column("total").values, (0.4 * segmentation + 0.4 * classification + 0.3 * time) / 1.1
    )
    expected = 100 * (scores.column("long_plaque").values + scores.column("trans_plaque").values) / 2
    np.testing.assert_allclose(emphasised(vessel=0.0).column("segmentation").values, expected)


def test_a_score_without_an_error_by_hand(run_of):
    run = run_of("tusrec")
    rule = run._replace(challenge=run.challenge.varied(emphasis={"gpe": 0.0})).rule
    for index, submission in enumerate(rule.submissions):
        own = run.table.filter((pl.col("submission") == submission) & pl.col("metric").str.ends_with("_score"))
        expected = own.filter(pl.col("metric") != "gpe_score")["value"].mean()
        assert rule.published.criteria[0].values[0, index] == pytest.approx(expected)


@pytest.mark.parametrize(("name", "metric"), [("kits21", "surface_dice"), ("csv2026", "nsd")])
@pytest.mark.parametrize(("scale", "ending"), [(0.5, "_half_tolerance"), (2.0, "_double_tolerance")])
def test_another_tolerance_is_another_column_of_measurements(run_of, name, metric, scale, ending):
    run = run_of(name)
    other = run._replace(challenge=run.challenge.varied(tolerance_scale=scale)).rule.published
    moved = run.table.filter(pl.col("metric") != metric).with_columns(
        pl.col("metric").replace({f"{metric}{ending}": metric})
    )
    expected = run._replace(table=moved).rule.published
    np.testing.assert_array_equal(other.places, expected.places)
    for mine, theirs in zip(other.columns, expected.columns, strict=True):
        np.testing.assert_array_equal(mine.values, theirs.values)
    own = run.rule.published
    assert any((a.values != b.values).any() for a, b in zip(own.columns, other.columns, strict=True))
    (tried,) = [tried for tried in assessed(run).alternatives if tried.name == f"tolerance × {scale:g}"]
    np.testing.assert_array_equal(tried.places, other.places[0, run.rule.ranked])


def test_old_runs_have_one_tolerance(run_of):
    run = run_of("kits21")
    sensitivity = assessed(run._replace(table=run.table.filter(~pl.col("metric").str.ends_with("_tolerance"))))
    assert not [other.name for other in sensitivity.alternatives if other.name.startswith("tolerance")]
    assert sensitivity.impossible == {}


def test_general_schemes_over_the_same_quantities(run_of):
    """KiTS21's own rule is the mean over six lists of ranks of means: the general scheme gives the same places."""
    run = run_of("kits21")
    same = scheme_rule(table_of_challenge(run.challenge, run.cube, roles=run.roles), AggregateThenRank("mean"))
    np.testing.assert_array_equal(same.published.places[0], assessed(run).published)


def test_what_cannot_be_tried_is_said(rule_from):
    def impossible():
        raise InputError("there is no way", advice="Find one")

    rule = rule_from(np.array([[0.1, 0.2], [0.3, 0.4]]))
    tried = iter([OtherRule("strange", impossible), OtherRule("same", lambda: rule)])
    sensitivity = assess_sensitivity(rule, tried)
    assert sensitivity.impossible == {"strange": "there is no way. Find one"}
    assert (len(sensitivity.alternatives), sensitivity.kept) == (1, 1)


def test_alternatives_for_a_table(table_from):
    values = np.random.default_rng(0).random((3, 8))
    one = table_from(values)
    names = [other.name for other in table_alternatives(one, RankThenAggregate("mean"))]
    assert names == ["mean then rank", "median then rank", "rank then median", "test then rank, holm"]
    names = [other.name for other in table_alternatives(one, TestThenRank("none"))]
    assert names == GENERAL
    two = table_from({"x": values, "y": values[::-1]})
    dropped = {other.name: other.dropped for other in table_alternatives(two, AggregateThenRank())}
    names = list(dropped)
    assert names[:4] == GENERAL[1:]
    assert names[4:] == [
        "weight of x −50 %", "weight of x +50 %", "without x", "weight of y −50 %", "weight of y +50 %", "without y",
    ]  # fmt: skip
    assert {name: term for name, term in dropped.items() if term} == {"without x": "x", "without y": "y"}


def test_other_policies_for_missing_values(table_from):
    """T0 is missing a case: dropped, T0 is first (0.9 to 0.8); at the worst value 0.1, second (1.9 to 2.2)."""
    values = np.array([[0.9, 0.9, np.nan], [0.8, 0.8, 0.6], [0.1, 0.1, 0.1]])
    scheme = AggregateThenRank()
    winners = {"worst": ("T1",), "drop": ("T0",), 0.0: ("T1",)}
    for missing, first in winners.items():
        table = table_from(values, missing=missing)
        sensitivity = assess_sensitivity(scheme_rule(table, scheme), table_alternatives(table, scheme))
        assert sensitivity.winners == first
        others = {other.name: other.winners for other in sensitivity.alternatives if "missing" in other.name}
        assert others == {f"missing values: {name}": winners[name] for name in ("worst", "drop") if name != missing}
    nowhere = table_from(np.array([[0.9, np.nan], [np.nan, 0.8]]), missing="worst")
    sensitivity = assess_sensitivity(scheme_rule(nowhere, scheme), table_alternatives(nowhere, scheme))
    assert "dropping cases leaves none" in sensitivity.impossible["missing values: drop"]


def test_alternatives_keep_weights_and_options(table_from, monkeypatch):
    values = np.random.default_rng(0).random((3, 8))
    two = table_from({"x": values, "y": values[::-1]}, weights={"x": 3.0})
    rules = {other.name: other.build() for other in table_alternatives(two, AggregateThenRank())}
    weights = {name: [c.importance for c in rule.published.criteria] for name, rule in rules.items()}
    assert weights["median then rank"] == [3, 1]
    assert weights["weight of x −50 %"] == [1.5, 1]
    given = []
    monkeypatch.setattr(sensitivity_module, "scheme_rule", lambda *_, **options: given.append(options))
    for other in table_alternatives(two, AggregateThenRank(), consensus="average"):
        other.build()
    assert len(given) == len(rules)
    assert all(options["consensus"] == "average" for options in given)


def test_a_table_by_hand(table_from):
    """Means 0.6, 0.55; medians 0.5, 0.6; T1 is better in three of four cases."""
    table = table_from(np.array([[1.0, 0.5, 0.5, 0.4], [0.4, 0.6, 0.6, 0.6]]))
    scheme = AggregateThenRank()
    sensitivity = assess_sensitivity(scheme_rule(table, scheme), table_alternatives(table, scheme))
    assert (sensitivity.winners, sensitivity.published.tolist()) == (("T0",), [1, 2])
    assert {other.name: other.winners for other in sensitivity.alternatives} == {
        "median then rank": ("T1",),
        "rank then mean": ("T1",),
        "rank then median": ("T1",),
        "test then rank, holm": ("T0", "T1"),
    }
    assert sensitivity.kept == 0  # somebody else is first, or is so too
    assert [other.name for other in sensitivity.shared] == ["test then rank, holm"]
    assert [other.name for other in sensitivity.lost] == ["median then rank", "rank then mean", "rank then median"]


def test_a_rule_under_which_nobody_is_first_keeps_nobody(rule_from):
    rule = rule_from(np.array([[0.3, 0.4], [0.1, 0.2]]))
    nobody = replace(rule, ranked=np.zeros(2, bool))
    sensitivity = assess_sensitivity(rule, [OtherRule("nobody", lambda: nobody)])
    assert (sensitivity.kept, len(sensitivity.shared), len(sensitivity.lost)) == (0, 0, 1)


def test_a_term_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match=r"no term called 'colour'.*dice_tumor"):
        get_challenge("kits21", emphasis={"colour": 2.0})


def test_alternatives_keep_the_consensus(table_from):
    """Equals share the mean of their ranks in the alternatives as well: 1.5 and 1.625 for the first two."""
    tasks = {
        "a": [[2.0], [2.0], [1.0]],
        "b": [[2.0], [2.0], [1.0]],
        "c": [[3.0], [1.0], [1.0]],
        "d": [[2.0], [3.0], [1.0]],
    }
    table = table_from(tasks)
    for consensus, places in (("minimum", [1, 1, 3]), ("average", [1, 2, 3])):
        others = table_alternatives(table, AggregateThenRank("median"), consensus=consensus)
        mean = next(other for other in others if other.name == "mean then rank")
        assert mean.build().published.places.tolist() == [places]
