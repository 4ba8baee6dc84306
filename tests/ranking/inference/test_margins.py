"""Margins: better by more than matters, no worse, equivalent; in any direction and unit, for every criterion."""

import json

import numpy as np
import pytest

from podium.model import Column, Direction, InputError, Measure
from podium.ranking import AggregateThenRank, Ranking
from podium.ranking.inference.comparisons import Pairs
from podium.ranking.inference.confidence import Confidence
from podium.ranking.inference.margins import judge_margins

NAMES = ("A", "B", "C", "D")


def pairs(low, high, *, direction=Direction.HIGHER, name="dice", title="Dice", unit="", among=NAMES):
    """Return the first against the others with these ends of intervals; nothing is known of the others."""
    teams = len(among)
    ends = np.full((2, teams, teams), np.nan)
    ends[0, 0, 1:], ends[1, 0, 1:] = low, high
    ends[0, 1:, 0], ends[1, 1:, 0] = -ends[1, 0, 1:], -ends[0, 0, 1:]
    column = Column(Measure(name, title, direction, unit), np.zeros((1, teams)))
    nothing = np.full((teams, teams), np.nan)
    return Pairs(column, ends.mean(axis=0), ends[0], ends[1], nothing, nothing, np.zeros((teams, teams), bool))


def confidence(*criteria, among=NAMES):
    nobody = np.zeros((len(among), len(among)), bool)
    return Confidence(among, 0.95, "bootstrap-t", {}, criteria, nobody, (), ())


def test_verdicts_by_hand():
    judged = judge_margins(confidence(pairs([0.02, -0.005, -0.03], [0.05, 0.008, 0.04])), 0.01, first=["A"])
    (own,) = judged.criteria
    assert own.better[0].tolist() == [False, True, False, False]
    assert own.no_worse[0].tolist() == [False, True, True, False]
    assert own.equivalent[0].tolist() == [False, False, True, False]
    assert own.no_worse[:, 0].tolist() == [False, False, True, False]  # of the others against A
    assert own.equivalent[2, 0]
    assert judged.sentences == (
        "Margin by Dice: A is better than B by more than 0.01.",
        "Margin by Dice: A is equivalent to C, within 0.01 either way.",
        "Margin by Dice: it cannot be ruled out that A is worse than D by 0.01 or more.",
        "Margins rest on 95 % intervals of paired differences, each for one pair alone.",
    )


def test_where_lower_is_better_the_ends_change_places():
    errors = pairs(
        [-5.0, -0.8, -4.0], [-2.0, 0.5, 3.0], direction=Direction.LOWER, name="hd95", title="HD95", unit="mm"
    )
    judged = judge_margins(confidence(errors), 1.0, first=["A"])
    (own,) = judged.criteria
    assert own.low[0, 1:].tolist() == [2.0, -0.5, -3.0]
    assert own.high[0, 1:].tolist() == [5.0, 0.8, 4.0]
    assert (own.better[0].tolist(), own.equivalent[0].tolist()) == (
        [False, True, False, False],
        [False, False, True, False],
    )
    assert judged.sentences[0] == "Margin by HD95: A is better than B by more than 1 mm."


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ([0.02] * 3, [0.05] * 3, ["A is better than every other by more than 0.01"]),
        ([-0.005] * 3, [0.005] * 3, ["A is equivalent to every other, within 0.01 either way"]),
        ([-0.005] * 3, [0.05] * 3, ["A is no worse than any other by more than 0.01"]),
        (
            [-0.005, 0.02, 0.02],
            [0.05, 0.05, 0.05],
            ["A is no worse than any other by more than 0.01", "A is better than C, D by more than 0.01"],
        ),
        ([-0.05] * 3, [0.05] * 3, ["it cannot be ruled out that A is worse than every other by 0.01 or more"]),
        ([np.nan] * 3, [np.nan] * 3, ["differences of A have no interval, so nothing can be said"]),
    ],
)
def test_words(low, high, words):
    lines = judge_margins(confidence(pairs(low, high)), 0.01, first=["A"]).sentences
    assert lines[:-1] == tuple(f"Margin by Dice: {line}." for line in words)


def test_ends_on_the_margin_are_not_beyond_it():
    (own,) = judge_margins(confidence(pairs([0.01, -0.01, 0.0], [0.02, 0.0, 0.01])), 0.01).criteria
    assert not own.better.any()
    assert own.no_worse[0].tolist() == [False, True, False, True]
    assert not own.equivalent[0].any()


def test_no_margin_at_all_is_plain_superiority():
    (own,) = judge_margins(confidence(pairs([0.001, 0.0, -0.001], [0.1, 0.1, 0.1])), 0).criteria
    assert own.better[0].tolist() == own.no_worse[0].tolist() == [False, True, False, False]
    assert not own.equivalent.any()


def test_several_criteria_each_have_their_own():
    several = confidence(
        pairs([0.02] * 3, [0.05] * 3, name="dice_tumor", title="Dice tumour"),
        pairs([0.02] * 3, [0.05] * 3, name="dice_mass", title="Dice mass"),
        pairs([0.02] * 3, [0.05] * 3, name="surface_dice_mass", title="Surface Dice mass"),
    )
    chosen = judge_margins(several, {"Dice": 0.01, "surface_dice_mass": 0.03})
    assert {own.criterion.name: own.margin for own in chosen.criteria} == {
        "dice_tumor": 0.01,
        "dice_mass": 0.01,
        "surface_dice_mass": 0.03,
    }
    assert [own.criterion.name for own in judge_margins(several, {"dice tumour": 0.01}).criteria] == ["dice_tumor"]
    with pytest.raises(InputError, match=r"3 criteria decide.*Name it, as in --margin dice_tumor=0\.01"):
        judge_margins(several, 0.01)
    with pytest.raises(InputError, match=r"there is no criterion 'HD' for a margin\. There are: dice_tumor, dice_mass"):
        judge_margins(several, {"HD": 1.0})


@pytest.mark.parametrize("margin", [-0.01, np.nan, np.inf, {"dice": -1.0}])
def test_a_margin_is_a_number_from_zero(margin):
    with pytest.raises(InputError, match="must be a number from 0"):
        judge_margins(confidence(pairs([0.0] * 3, [0.0] * 3)), margin)


def test_a_ranking_uses_the_intervals_of_its_pairs(ranking_of):
    values = np.random.default_rng(1).normal(0, 0.02, (3, 60)) + np.array([0.80, 0.87, 0.90])[:, None]
    ranking = ranking_of(values)
    judged = ranking.margins(0.01)
    (own,) = judged.criteria
    (pair,) = ranking.confidence.pairs
    np.testing.assert_array_equal(own.low, pair.low)
    assert judged.first == ("T2",)
    assert judged.sentences[0] == "Margin by Value: T2 is better than every other by more than 0.01."
    frame = judged.tables["margins"]
    assert frame.height == 6
    best = frame.filter(frame["first"] == "T2")
    assert best["better_by_more"].all()
    assert best["no_worse"].all()
    assert not best["equivalent"].any()
    assert json.dumps(judged.document, allow_nan=False)


def test_one_alone_and_medians(ranking_of):
    alone = ranking_of(np.random.default_rng(1).random((1, 12))).margins(0.01)
    assert alone.sentences == ("Margin: there is nobody to compare with.",)
    medians = ranking_of(np.random.default_rng(1).random((3, 12)), AggregateThenRank("median")).margins(0.01)
    assert medians.tables["margins"].height == 6


@pytest.mark.parametrize("name", ["kits21", "csv2026", "trackrad2025", "lvquan18", "tusrec"])
def test_every_challenge_has_margins(run_of, name):
    run = run_of(name)
    ranking = Ranking(run.rule, bootstrap=50)
    criteria = [pair.criterion.name for pair in ranking.confidence.pairs]
    judged = ranking.margins(dict.fromkeys(criteria, 0.01))
    assert [own.criterion.name for own in judged.criteria] == criteria
    for own in judged.criteria:
        assert not (own.better & own.equivalent).any()
        assert (own.no_worse | ~own.better).all()
        assert (own.equivalent == own.equivalent.T).all()
