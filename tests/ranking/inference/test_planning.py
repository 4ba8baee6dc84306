"""How many cases would separate the first from the second: by hand, by the closed formula, and in words."""

import json

import numpy as np
import pytest
from scipy.stats import norm, t

from podium.model import InputError
from podium.ranking import AggregateThenRank, RankThenAggregate, TestThenRank
from podium.ranking.inference.planning import CAUTION, plan_cases

FORMULA = norm.ppf(0.975) + norm.ppf(0.8)


def two_teams(lead, *, cases=40, seed=0, spread=1.0):
    """Return values of two teams whose paired differences look normal: mean and deviation are exactly these."""
    random = np.random.default_rng(seed)
    difference = norm.ppf((np.arange(cases) + 0.5) / cases)
    difference = random.permutation(difference / difference.std(ddof=1)) * spread
    common = random.normal(size=cases)
    return np.stack([common, common + difference + lead])


@pytest.mark.parametrize(("lead", "cases"), [(0.2, 60), (0.4, 40), (0.8, 40)])
def test_normal_differences_need_what_the_formula_says(rule_from, lead, cases):
    """The formula is for a known deviation; Student's t asks for two cases more. Two digits, and chance: 8 %."""
    (own,) = plan_cases(rule_from(two_teams(lead, cases=cases))).separations
    assert own.lead == pytest.approx(lead)
    assert own.needed == pytest.approx((FORMULA / lead) ** 2 + 2, rel=0.08, abs=1)
    noncentral = lead * np.sqrt(cases)
    exact = 1 - norm.cdf(t.ppf(0.975, cases - 1) - noncentral)
    assert own.now == pytest.approx(exact, abs=0.05)


def test_the_cautious_lead_is_the_lower_end_of_its_interval(rule_from):
    (own,) = plan_cases(rule_from(two_teams(0.4))).separations
    assert own.low == pytest.approx(0.4 - t.ppf((1 + CAUTION) / 2, 39) / np.sqrt(40))
    assert own.needed_cautiously == pytest.approx((FORMULA / own.low) ** 2 + 2, rel=0.08)
    assert all(low <= high for low, high in zip(own.cautious, own.chances, strict=True))


def test_chances_grow_with_the_number_of_cases_and_the_present_one_is_among_them(rule_from):
    (own,) = plan_cases(rule_from(two_teams(0.25)), replicates=1000).separations
    assert 40 in own.sizes
    assert list(own.sizes) == sorted(own.sizes)
    assert (np.diff(own.chances) > -0.03).all()
    assert own.chances[-1] >= 0.95


def test_a_lead_that_may_be_chance_is_not_planned_with_caution(rule_from):
    plan = plan_cases(rule_from(two_teams(0.05)))
    (own,) = plan.separations
    assert own.low < 0 < own.lead
    assert own.needed == pytest.approx((FORMULA / 0.05) ** 2, rel=0.1)
    assert own.needed_cautiously is None
    assert "is not above zero, so that the number cannot be told with any caution" in " ".join(plan.sentences)


def test_what_no_number_is_enough_for_is_said(rule_from):
    plan = plan_cases(rule_from(two_teams(0.01)), replicates=300)
    assert plan.separations[0].needed is None
    assert "even 4,000 cases would not be enough for 80 %" in " ".join(plan.sentences)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_the_lead_is_positive_whichever_way_is_better(rule_from, better):
    values = two_teams(0.4) if better == "higher" else -two_teams(0.4)
    plan = plan_cases(rule_from(values, better=better), replicates=500)
    assert (plan.first, plan.second) == ("T1", "T0")
    assert plan.separations[0].lead == pytest.approx(0.4)


def test_one_criterion_needs_no_order_and_several_have_both(rule_from):
    assert plan_cases(rule_from(two_teams(0.4)), replicates=300).order == ()
    tasks = {"a": two_teams(0.4, seed=1), "b": two_teams(-0.2, seed=2), "c": two_teams(0.3, seed=3)}
    plan = plan_cases(rule_from(tasks), replicates=1000)
    assert (plan.present, [own.present for own in plan.separations]) == (120, [40, 40, 40])
    assert dict(zip(plan.sizes, plan.order, strict=True))[120] > 0.8
    assert plan.needed_for_order
    leads, needed = zip(*((own.lead, own.needed) for own in plan.separations), strict=True)
    assert leads == pytest.approx((0.4, -0.2, 0.3))
    assert needed[1] is None
    assert needed[0] == pytest.approx((FORMULA / 0.4) ** 2 + 2, rel=0.1)
    words = " ".join(plan.sentences)
    assert "Plan: in test sets of 120 cases, drawn anew from those at hand, T1 is before T0 in" in words
    assert "Plan by b: T0 leads, so how many cases would separate them in favour of T1 cannot be told." in words


@pytest.mark.parametrize(
    "scheme", [AggregateThenRank("median"), RankThenAggregate("median"), TestThenRank(), RankThenAggregate()]
)
def test_every_scheme_has_a_plan(rule_from, scheme):
    values = np.vstack([two_teams(0.6), np.zeros((1, 40))])
    plan = plan_cases(rule_from(values, scheme), replicates=300)
    smooth = scheme == RankThenAggregate()
    assert bool(plan.separations) == smooth
    assert bool(plan.order) != smooth
    assert json.loads(json.dumps(plan.document, allow_nan=False))["first"] == "T1"
    assert plan.tables["plan"].height == len(plan.order) + sum(len(own.sizes) for own in plan.separations)


@pytest.mark.parametrize("name", ["kits21", "csv2026", "trackrad2025", "lvquan18", "tusrec"])
def test_every_challenge_has_a_plan(run_of, name):
    rule = run_of(name).rule
    plan = plan_cases(rule, replicates=50)
    board = [entry.submission for entry in rule.leaderboard().ranked]
    assert [plan.first, plan.second] == board[:2]
    assert plan.separations
    assert json.dumps(plan.document, allow_nan=False)
    grouped = len(rule.units.names) < len(rule.rows)
    assert plan.unit == rule.unit_words
    assert (f"{rule.cluster_words[1]} drawn whole" in " ".join(plan.sentences)) == grouped


def test_clusters_are_drawn_whole(rule_from):
    """Forty clusters of three equal rows say what forty rows say."""
    values = two_teams(0.4)
    tripled = np.repeat(values, 3, axis=1)
    of_case = [f"p{case // 3}" for case in range(120)]
    own = plan_cases(rule_from(tripled, cluster=of_case)).separations[0]
    single = plan_cases(rule_from(values)).separations[0]
    assert own.present == 40
    assert own.needed == pytest.approx(single.needed, rel=0.05)
    assert own.low == pytest.approx(single.low)


def test_shared_places_and_no_lead_are_said(rule_from):
    values = np.random.default_rng(1).random((1, 10))
    plan = plan_cases(rule_from(np.repeat(values, 3, axis=0)), replicates=50)
    assert plan.sentences[0] == "Plan: T0, T1, T2 share place 1; T0 and T1 are compared."
    assert "there is no lead" in plan.sentences[1]
    plan = plan_cases(rule_from(np.vstack([values + 1, values, values])), replicates=50)
    assert plan.sentences[0] == "Plan: T1, T2 share place 2; T0 and T1 are compared."


def test_a_difference_that_never_varies_needs_few_cases(rule_from):
    values = np.random.default_rng(1).integers(0, 9, (1, 40)).astype(float)
    (own,) = plan_cases(rule_from(np.vstack([values, values + 1])), replicates=100).separations
    assert (own.lead, own.low, own.now) == (1, 1, 1)
    assert own.needed == 10  # the fewest that were drawn


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        (np.ones((1, 5)), {}, "fewer than two are ranked"),
        (np.ones((2, 1)), {}, "only a single case"),
        (np.ones((2, 5)), {"level": 95}, "the level is 95, but must lie between 0 and 1"),
        (np.ones((2, 5)), {"chance": 1.0}, "the chance is 1.0, but must lie between 0 and 1"),
        (np.ones((2, 5)), {"replicates": 0}, "0 test sets are too few"),
    ],
)
def test_what_cannot_be_planned_is_said(rule_from, values, options, words):
    with pytest.raises(InputError, match=words):
        plan_cases(rule_from(values), **options)


def test_the_same_seed_gives_the_same_plan(rule_from):
    rule = rule_from(two_teams(0.3))
    first, again, other = (plan_cases(rule, replicates=200, seed=seed).separations for seed in (5, 5, 6))
    assert first == again != other


@pytest.mark.heavy
def test_a_test_set_of_the_number_told_separates_as_often_as_it_says(rule_from):
    """Plans from skewed cases of known truth, each tried by fresh test sets: close to 80 % on average over plans.

    Planning takes the lead that was seen for true, so the average is over plans whose lead is scaled to the truth.
    """
    reached = []
    for seed in range(40):
        random = np.random.default_rng([7, seed])
        sample = random.exponential(size=60)
        sample = (sample - sample.mean()) / sample.std(ddof=1) + 0.35
        needed = plan_cases(rule_from(np.stack([np.zeros(60), sample])), seed=seed).separations[0].needed
        fresh = random.exponential(size=(2000, needed)) - 1 + 0.35
        error = fresh.std(axis=1, ddof=1) / np.sqrt(needed)
        reached.append(np.mean(fresh.mean(axis=1) > t.ppf(0.975, needed - 1) * error))
    assert np.mean(reached) == pytest.approx(0.8, abs=0.06)
