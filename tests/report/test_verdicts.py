"""What is said of a ranking, on a page and on a terminal, checked against numbers worked out by hand or planted."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from reports import DEGENERATE, by_hand, run_of, synthetic_report, synthetic_run, tidy

from podium.challenges import get_challenge
from podium.model import Role
from podium.ranking import AggregateThenRank, Ranking, TestThenRank, scheme_rule, table_of_challenge, table_of_scores
from podium.ranking.inference.comparisons import RankInterval
from podium.ranking.inference.sensitivity import Alternative, table_alternatives
from podium.ranking.inference.stability import LeftOut
from podium.report._contents import alternatives
from podium.report.data import gather
from podium.report.explanations import explain
from podium.report.verdicts import sentences, verdict

THREE = {"b": [0.8, 0.8, 0.8], "a": [0.9, 0.9, 0.9], "c": [0.7, 0.7, 0.7]}
FOUR = {"d": [0.6, 0.7, 0.5], "c": [0.7, 0.7, 0.8], "b": [0.8, 0.8, 0.7], "a": [0.9, 0.9, 0.8]}


def ranking_of(values, *, better="higher", scheme=None, clusters=None, bootstrap=40, level=0.95, **options):
    """Return the ranking of a table in which every submission has the given values, one a case."""
    scheme = scheme or AggregateThenRank()
    frame = pl.DataFrame(
        [(name, f"c{index}", value) for name, own in values.items() for index, value in enumerate(own)],
        schema=["submission", "case", "value"],
        orient="row",
    )
    if clusters is not None:
        names = {f"c{index}": name for index, name in enumerate(clusters)}
        frame = frame.with_columns(pl.col("case").replace_strict(names).alias("cluster"))
    table = table_of_scores(frame, better=better, **options)
    others = partial(table_alternatives, table, scheme)
    return Ranking(scheme_rule(table, scheme), others, bootstrap=bootstrap, level=level)


def plant(ranking, *, shares=None, ranks=None, others=None, left_out=None, guaranteed=None, ahead=None, **pair):
    """Return the ranking with findings planted, as if they had been computed.

    Parameters
    ----------
    shares
        For each resample, who is first.
    ranks
        The best place that each may have.
    others
        Rules, and who is first under each.
    left_out
        Cases, and who is first without each.
    guaranteed, ahead, pair
        Of the comparison of every two: matrices, or one value for all.
    """
    known, names = vars(ranking), list(ranking.rule.competitors)
    winners = {name for name, place in ranking.places.items() if place == 1}
    if shares is not None:
        places = np.array([[1.0 if name in first else 2.0 for name in names] for first in shares])
        known["stability"] = replace(ranking.stability, places=places)
    if ranks is not None:
        intervals = tuple(RankInterval(ranks[name], len(names)) for name in names)
        known["confidence"] = replace(ranking.confidence, ranks=intervals)
    if others is not None:
        rules = tuple(
            Alternative(name, np.array([]), tuple(first), bool(first) and set(first) <= winners, 1.0)
            for name, first in others.items()
        )
        known["sensitivity"] = replace(ranking.sensitivity, alternatives=rules)
    if left_out is not None:
        known["left_out"] = tuple(
            LeftOut(name, tuple(first), not set(first) <= winners, 1.0) for name, first in left_out.items()
        )
    square = (len(names), len(names))
    confidence = ranking.confidence
    if guaranteed is not None:
        measure = replace(confidence.pairs[0].criterion.measure, minimum=0.0, maximum=1.0)
        pair |= {"guaranteed": np.zeros(square, bool) | guaranteed}
        pair |= {"criterion": replace(confidence.pairs[0].criterion, measure=measure)}
    if pair:
        matrices = {k: v if k in ("criterion", "guaranteed") else np.full(square, v) for k, v in pair.items()}
        confidence = replace(confidence, pairs=(replace(confidence.pairs[0], **matrices), *confidence.pairs[1:]))
    if ahead is not None:
        confidence = replace(confidence, ahead=np.zeros(square, bool) | ahead)
    known["confidence"] = confidence
    return ranking


def said(ranking):
    """Return the verdict that a page shows of a table; the terminal says the same."""
    shown = verdict(gather(ranking))
    assert sentences(ranking)[: 2 + len(shown.sureness)] == [shown.headline, shown.margin, *shown.sureness]
    return shown


# Who won, and by how much


def test_who_won_and_by_how_much():
    shown = verdict(by_hand(THREE))
    assert shown.headline == "a wins."
    assert shown.margin == "Average rank 1.00, against 2.00 of b in place 2: a lead of 1.00."
    assert shown.sureness == ("How sure this is cannot be told. No resampling was asked for.",)
    assert shown.facts == ()


def test_a_shared_first_place():
    shown = verdict(by_hand({"a": [0.9, 0.9], "b": [0.9, 0.9], "c": [0.7, 0.7]}))
    assert shown.headline == "a and b share first place."
    assert shown.margin == "Average rank 1.00, against 3.00 of c in place 3: a lead of 2.00."


def test_all_equal_and_alone_and_nobody():
    shown = verdict(by_hand({"a": [0.9, 0.9], "b": [0.9, 0.9]}))
    assert shown.headline == "Both competitors share first place: a and b."
    assert shown.margin == "Average rank 1.00, the same for all."
    shown = verdict(by_hand({name: [0.9, 0.9] for name in "abc"}))
    assert shown.headline == "All 3 competitors share first place: a, b and c."
    shown = verdict(by_hand({"a": [0.9, 0.9]}, bootstrap=50))
    assert shown.headline == "a is the only competitor."
    assert shown.margin == "Average rank 1.00. With nobody to compare with, its place says nothing."
    assert (shown.sureness, shown.facts) == ((), ())
    shown = verdict(by_hand({"base": [0.9, 0.9]}, roles={"base": Role.BASELINE}))
    assert shown.headline == "Nobody is ranked."
    assert shown.margin.endswith("The reason: it is a baseline, shown for comparison.")


def test_one_case_is_said_to_be_too_few():
    assert sentences(ranking_of({"a": [0.9], "b": [0.8]})) == [
        "a wins.",
        "Value 0.9000, against 0.8000 of b in place 2: a lead of 0.1000.",
        "How sure this is cannot be told. There is only one case, so nothing can be drawn anew.",
    ]
    patient = ranking_of({"a": [0.9, 0.8]}, clusters="pp", cluster_words=("patient", "patients"))
    assert sentences(patient)[-1].endswith("There is only one patient, so nothing can be drawn anew.")


def test_the_winner_is_named_though_others_may_be_first():
    shown = said(plant(ranking_of(FOUR), ranks={"a": 1, "b": 1, "c": 2, "d": 3}))
    assert shown.headline == "a is first, but b may truly be best."
    assert "At 95 % confidence, nobody is truly first but a and b." in shown.sureness
    shown = said(plant(ranking_of(FOUR), ranks={"a": 1, "b": 2, "c": 2, "d": 2}))
    assert shown.headline == "a wins."
    assert "At 95 % confidence, nobody is truly first but a." in shown.sureness
    shown = said(plant(ranking_of(FOUR), ranks=dict.fromkeys("abcd", 1)))
    assert "At 95 % confidence, nobody can be ruled out: a, b, c and d may each truly be first." in shown.sureness
    count = len(FOUR["a"])
    assert shown.headline == f"a is first, but {count} cases are too few to tell anybody apart at 95 %."
    two = ranking_of({"c": [0.7, 0.6], "b": [0.8, 0.9], "a": [0.8, 0.9]})
    shown = said(plant(two, ranks={"a": 1, "b": 1, "c": 1}))
    assert shown.headline == "a and b share first place, but 2 cases are too few to tell anybody apart at 95 %."
    many = plant(ranking_of({"a": [0.5, 0.6] * 20, "b": [0.6, 0.5] * 19 + [0.5, 0.6]}), ranks={"a": 1, "b": 1})
    assert said(many).headline.endswith("share first place: a and b.")
    many = plant(ranking_of({"a": [0.5, 0.7] * 20, "b": [0.6, 0.5] * 20}), ranks={"a": 1, "b": 1})
    assert said(many).headline == "a is first, but 40 cases do not tell anybody apart at 95 %."


def test_a_headline_is_not_filled_by_one_name():
    name = "x" * 200
    shown = said(plant(ranking_of({name: [0.9, 0.8], "b": [0.7, 0.6]}), ranks={name: 1, "b": 2}))
    assert shown.headline == f"{'x' * 26}…{'x' * 13} wins."


def test_sentences_are_not_filled_by_names_and_warnings_name_those_who_failed_most():
    names = [f"{'a very long name of a team, ' * 6}{number}" for number in range(9)]
    told = verdict(synthetic_report(cases=10, names=names, failing=0.3, bootstrap=20))
    (failed,) = [line for line in told.cautions if line.startswith("Failed cases")]
    assert failed.count(" of 10)") == 6
    assert re.search(r" and [23] more\. ", failed)
    counts = [int(count) for count in re.findall(r"\((\d+) of 10\)", failed)]
    assert counts == sorted(counts, reverse=True)
    for line in (*told.sureness, *told.cautions):
        assert not any(name in line for name in names)


def test_what_resamples_cannot_know_is_said_where_they_look_surer():
    line = f"Resamples hold nothing but these {len(FOUR['a'])} cases; the places that may truly be allow for others."
    assert line in said(plant(ranking_of(FOUR), shares=["a"] * 10, ranks=dict.fromkeys("abcd", 1))).sureness
    assert line not in said(plant(ranking_of(FOUR), shares=["b"] * 10, ranks=dict.fromkeys("abcd", 1))).sureness
    certain = {"a": 1, "b": 2, "c": 2, "d": 2}
    assert line not in said(plant(ranking_of(FOUR), shares=["a"] * 10, ranks=certain)).sureness


def test_candidates_stand_in_order_of_place_and_the_rest_is_counted():
    values = {f"t{k:02d}": [0.1 + 0.01 * k, 0.12 + 0.01 * k] for k in range(20)}
    ranking = plant(ranking_of(values), ranks={name: 1 if int(name[1:]) > 1 else 19 for name in values})
    line = "At 95 % confidence, nobody is truly first but t19, t18, t17, t16, t15, t14 and 12 more."
    assert line in said(ranking).sureness
    assert said(ranking).headline == "t19 is first, but t18, t17 and 15 more may each truly be best."


@pytest.mark.parametrize(("level", "words"), [(0.95, "95 %"), (0.999, "99.9 %"), (0.99999, "> 99.99 %"), (0.8, "80 %")])
def test_no_level_is_rounded_to_certainty(level, words):
    ranking = ranking_of(FOUR)
    vars(ranking)["confidence"] = replace(ranking.confidence, level=level)
    assert sum(f"At {words} confidence" in line for line in sentences(ranking)) == 1
    assert said(ranking).facts[1].label == f"true place, {words} sure"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-0.003, 0.021, "95 % interval −0.0030 to 0.0210"),
        (0.003, 0.021, "95 % interval 0.0030 to 0.0210"),
        (-0.00002, 0.021, "95 % interval −0.00002 to 0.0210"),
        (-0.003, np.inf, "95 % interval at least −0.0030"),
        (-np.inf, 0.021, "95 % interval at most 0.0210"),
        (np.nan, 0.021, "95 % interval at most 0.0210"),
        (-np.inf, np.inf, "95 % interval: too few cases to say"),
        (np.nan, np.nan, "95 % interval: too few cases to say"),
    ],
)
def test_no_interval_of_the_lead_is_hidden(low, high, words):
    shown = said(plant(ranking_of(FOUR), low=low, high=high, better=True))
    assert shown.margin == f"Value 0.8667, against 0.7667 of b in place 2: a lead of 0.1000 ({words})."
    downwards = ranking_of({name: [-value for value in own] for name, own in FOUR.items()}, better="lower")
    assert f"a lead of 0.1000 ({words})." in said(plant(downwards, low=-high, high=-low, better=True)).margin


def test_an_interval_says_whose_it_is_and_that_it_is_for_one_pair():
    shown = said(plant(ranking_of(FOUR), low=0.01, high=0.02, better=False))
    assert shown.margin.endswith("(95 % interval 0.0100 to 0.0200, for this pair alone).")
    two = {"c": [0.7, 0.6], "b": [0.8, 0.9], "a": [0.8, 0.9]}
    shown = said(plant(ranking_of(two), low=0.01, high=0.02, better=True))
    assert shown.margin.endswith("(95 % interval of a over c: 0.0100 to 0.0200).")
    shown = said(plant(ranking_of(two, clusters="pq", cluster_words=("eye", "eyes")), low=np.nan, high=np.nan))
    assert shown.margin.endswith("(95 % interval of a over c: too few eyes to say).")


def test_what_has_no_interval_gets_none():
    few = {"a": [0.9, 0.8, 0.9, 0.8] * 3, "b": [0.1, 0.2, 0.3, 0.4] * 3}
    shown = said(ranking_of(few, scheme=TestThenRank()))
    assert shown.margin == "Value, significantly better than: 1, against 0 of b in place 2: a lead of 1."


def test_a_tiny_lead_is_not_shown_as_none():
    shown = said(plant(ranking_of({"a": [0.50002, 0.6], "b": [0.5, 0.6]}), low=-0.1, high=0.2))
    assert shown.margin.startswith("Value 0.55001, against 0.55000 of b in place 2: a lead of 0.00001 (")


def test_several_criteria_count_where_the_first_is_ahead():
    generator = np.random.default_rng(1)
    values = {name: generator.normal(mean, 0.01, 60).tolist() for name, mean in (("a", 0.9), ("b", 0.7), ("c", 0.5))}
    shown = verdict(by_hand(values, bootstrap=200))
    assert shown.headline == "a wins."
    assert shown.margin.endswith("a lead of 1.00. Ahead in 6 of 6 criteria, at 95 % confidence in 6.")
    assert "At 95 % confidence, nobody is truly first but a." in shown.sureness
    assert [fact.value for fact in shown.facts] == ["all", "1", shown.facts[2].value, "0 of 60"]
    shown = verdict(by_hand(THREE | {"b": [0.7, 0.7, 0.7]}, bootstrap=20))
    assert "against 2.00 of b and c in place 2" in shown.margin
    assert re.search(r"\. a is ahead of b in 6 of 6 criteria, at 95 % confidence in (6|none)\.$", shown.margin)


def test_a_lead_has_its_interval_where_one_criterion_decides():
    generator = np.random.default_rng(1)
    rules = get_challenge("tusrec")
    rows = []
    for name, mean in (("a", 0.9), ("b", 0.7)):
        for index, good in enumerate(generator.normal(mean, 0.01, 40).tolist()):
            case = f"sub{index:03d}__RH_rotation"
            for measure in rules.measures:
                for target in measure.targets:
                    value = good if measure.name.endswith("score") else 1.0
                    rows.append((name, case, "", target, measure.name, value, "ok", ""))
    data = gather(run_of(rules, tidy(rows)).rank(bootstrap=200))
    pair = data.assessment.confidence.pairs[0]
    low, high = pair.low[0, 1], pair.high[0, 1]
    assert 0 < low < high
    assert f"(95 % interval {low:.3f} to {high:.3f})" in verdict(data).margin


# Resamples


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        (["a"] * 7 + ["b"] * 2 + ["c"], "in 70 % of 10 resamples; next is b, in 20 %."),
        (["a"] * 8 + ["b", "c"], "in 80 % of 10 resamples; next are b and c, each in 10 %."),
        (["a"] * 3 + ["b"] * 6 + ["c"], "in 30 % of 10 resamples; most often first is b, in 60 %."),
        (["bc"] * 6 + ["a"] * 4, "in 40 % of 10 resamples; most often first are b and c, each in 60 %."),
        (["a"] * 5 + ["b"] * 5, "in 50 % of 10 resamples; b as often."),
        (["ab"] * 10, "in every one of 10 resamples; b as often."),
        (["a"] * 10, "in every one of 10 resamples."),
        (["b"] * 10, "in none of 10 resamples; most often first is b, in every one."),
        (["a"] * 199 + ["b"], "in > 99 % of 200 resamples; next is b, in < 1 %."),
    ],
)
def test_who_is_first_in_resamples(shares, words):
    shown = said(plant(ranking_of(FOUR), shares=shares))
    assert shown.sureness[0] == f"Were the cases drawn anew, a would be first, alone or shared, {words}"


def test_two_winners_are_first_together_or_apart():
    two = {"c": [0.7, 0.6], "b": [0.8, 0.9], "a": [0.8, 0.9]}
    start = "Were the cases drawn anew, a and b would be first together in"
    shown = said(plant(ranking_of(two), shares=["ab"] * 4 + ["a"] * 3 + ["b"] * 2 + ["c"]))
    assert shown.sureness[0] == f"{start} 40 % of 10 resamples; alone or shared, most often first is a, in 70 %."
    shown = said(plant(ranking_of(two), shares=["ab"] * 4 + ["c"] * 6))
    assert shown.sureness[0] == f"{start} 40 % of 10 resamples; alone or shared, most often first is c, in 60 %."
    shown = said(plant(ranking_of(two), shares=["ab"] * 10))
    assert shown.sureness[0] == f"{start} every one of 10 resamples."


def test_how_sure_is_what_the_resamples_say():
    data = synthetic_report(8, 10, bootstrap=300, seed=4, failing=0.1)
    shown, ranking = verdict(data), data.assessment
    winner = data.competitors[0]
    index = ranking.stability.submissions.index(winner)
    share = sum(row[index] == 1 for row in ranking.stability.places.tolist()) / 300
    assert 0.05 < share < 0.95
    assert shown.facts[0].value == f"{100 * share:.0f} %"
    rank = ranking.confidence.ranks[index]
    assert shown.facts[1].value == (f"{rank.best}–{rank.worst}" if rank.best < rank.worst else str(rank.best))
    kept = sum(winner in other.winners for other in ranking.sensitivity.alternatives)
    assert shown.facts[2].value == f"{kept} of {len(ranking.sensitivity.alternatives)}"
    changing = [without.name for without in ranking.left_out if set(without.winners) - {winner}]
    assert shown.facts[3].value == f"{len(changing)} of 10"
    best = dict(zip(ranking.stability.submissions, (rank.best for rank in ranking.confidence.ranks), strict=True))
    able = [name for name in data.competitors if best[name] == 1]
    assert shown.headline.endswith(" wins.") == (len(able) == 1)
    assert sum(", ".join(able[:5]) in line for line in shown.sureness) == 1


# Other rules, and cases left out


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"x": "a", "y": "a"}, "All 2 other sensible rules keep the winner."),
        ({"x": "a"}, "One other rule was tried: it keeps the winner."),
        ({"x": "b"}, "One other rule was tried: it does not keep the winner. Under 1, another wins: x (b)."),
        (
            {"x": "a", "y": "a", "z": "ab", "w": "b"},
            (
                "Of 4 other sensible rules, 2 keep the winner. Under 1, the winner shares first place: z (with b). "
                "Under 1, another wins: w (b)."
            ),
        ),
        (
            {"x": "a", "y, z": "dcba", "w": "ab"},
            (
                "Of 3 other sensible rules, 1 keeps the winner. Under 2, the winner shares first place: "
                "y, z (with b, c and d); w (with b)."
            ),
        ),
        (
            {"x": "dc", "y": "b"},
            "Of 2 other sensible rules, none keeps the winner. Under 2, others are first: x (c and d) and y (b).",
        ),
        ({"x": "a", "y": ""}, "Of 2 other sensible rules, 1 keeps the winner. Under 1, others are first: y (nobody)."),
    ],
)
def test_sharing_first_place_is_not_losing_it(others, words):
    ranking = plant(ranking_of(FOUR), others=others)
    shown = said(ranking)
    assert words in shown.sureness
    kinds = {name: "yes" if first == "a" else "shared" if "a" in first else "no" for name, first in others.items()}
    assert {name: kind for name, _, _, kind in alternatives(gather(ranking))} == kinds
    kept = sum("a" in first for first in others.values())
    assert shown.facts[2].value == f"{kept} of {len(others)}"
    keep = "rule keeps" if len(others) == 1 else "rules keep"
    assert shown.facts[2].label == f"other {keep} it first, alone or shared"


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"x": "ab", "y": "ba"}, "All 2 other sensible rules keep the shared first place."),
        (
            {"x": "ab", "y": "a", "z": "abc", "w": "c"},
            (
                "Of 4 other sensible rules, 1 keeps the shared first place. Under 1, fewer share it: y (a). "
                "Under 1, others share it too: z (with c). Under 1, another wins: w (c)."
            ),
        ),
    ],
)
def test_a_shared_first_place_under_other_rules(others, words):
    ranking = ranking_of({"c": [0.7, 0.6], "b": [0.8, 0.9], "a": [0.8, 0.9]})
    shown = said(plant(ranking, others=others))
    assert words in shown.sureness
    assert shown.facts[2].value == f"{sum(set(first) >= {*'ab'} for first in others.values())} of {len(others)}"


def test_without_other_rules_nothing_is_said_of_them():
    shown = said(plant(ranking_of(FOUR), others={}))
    assert not any(re.search(r"\brules?\b", line) for line in (*shown.sureness, *(fact.label for fact in shown.facts)))


@pytest.mark.parametrize(
    ("left_out", "words", "fact"),
    [
        ({"x": "a", "y": "a"}, "No single case decides: whichever of 2 is left out, the winner stays first.", "0 of 2"),
        ({"x": "b", "y": "a"}, "1 of 2 cases would change who is first if left out: x.", "1 of 2"),
        (
            {"x": "b", "y": "ab", "z": "a"},
            "2 of 3 cases would each change who is first if left out: x and y.",
            "2 of 3",
        ),
    ],
)
def test_whether_a_single_case_decides(left_out, words, fact):
    shown = said(plant(ranking_of(FOUR), left_out=left_out))
    assert words in shown.sureness
    assert shown.facts[3].value == fact
    assert shown.facts[3].label == ("cases decides alone" if fact.startswith("1 ") else "cases decide alone")


@pytest.mark.parametrize(
    ("left_out", "lines"),
    [
        ({"x": "ab", "y": "ab"}, ["No single case decides: whichever of 2 is left out, the same are first."]),
        ({"x": "a", "y": "ab"}, ["1 of 2 cases would break the tie if left out: x."]),
        (
            {"x": "a", "y": "b", "z": "c"},
            [
                "1 of 3 cases would change who is first if left out: z.",
                "2 of 3 cases would each break the tie if left out: x and y.",
            ],
        ),
    ],
)
def test_whether_a_single_case_breaks_a_tie(left_out, lines):
    ranking = plant(ranking_of({"c": [0.7, 0.6], "b": [0.8, 0.9], "a": [0.8, 0.9]}), left_out=left_out)
    assert list(said(ranking).sureness[-len(lines) :]) == lines
    told = sum(int(line.split()[0]) for line in lines if line[0].isdigit())
    assert said(ranking).facts[3].value == f"{told} of {len(left_out)}"  # the same at a glance


# What is drawn is called what it is


def test_clusters_are_called_what_they_are():
    values = {"a": [0.9, 0.8, 0.9, 0.7], "b": [0.7, 0.8, 0.6, 0.6]}
    named = ranking_of(values, clusters="ppqq", cluster_words=("patient", "patients"))
    assert said(named).sureness[0].startswith("Were the patients drawn anew, ")
    assert said(named).facts[3].label == "patients decide alone"
    assert any("patient" in line for line in said(named).sureness[-1:])
    unnamed = ranking_of(values, clusters="ppqq")
    assert said(unnamed).sureness[0].startswith("Were the clusters drawn anew, ")
    alone = ranking_of(values, clusters="pqrs", cluster_words=("patient", "patients"))
    assert said(alone).sureness[0].startswith("Were the patients drawn anew, ")
    assert said(ranking_of(values)).sureness[0].startswith("Were the cases drawn anew, ")


@pytest.mark.parametrize(
    ("challenge", "rows", "words"),
    [("lvquan18", ["s-1", "s-2", "t-1"], "subject"), ("tusrec", ["sub1__x", "sub1__y", "sub2__x"], "subject")],
)
def test_challenges_name_what_is_drawn(challenge, rows, words):
    rules = get_challenge(challenge)
    values = [
        (name, row, "", target, measure.name, 0.5 + 0.1 * index, "ok", "")
        for index, name in enumerate("ab")
        for row in rows
        for measure in rules.measures
        for target in measure.targets
    ]
    run = run_of(rules, tidy(values))
    rule = run.rank(bootstrap=0).rule
    assert (rule.unit_words, rule.row_words) == ((words, f"{words}s"), rules.row_words)
    general = scheme_rule(table_of_challenge(rules, run.cube), AggregateThenRank())
    assert (general.unit_words, general.row_words) == (rule.unit_words, rule.row_words)


# Failures that nobody has seen


def certain(names, *leads):
    """Return who is ahead of whom, from pairs of names."""
    matrix = np.zeros((len(names), len(names)), bool)
    for first, second in leads:
        matrix[names.index(first), names.index(second)] = True
    return matrix


HOLDS = "The lead over {} holds even if failures are more frequent than seen{}."
RESTS = "If failures are more frequent than seen, the lead over {} may not hold (--interval guaranteed)."
UNSEEN = (
    "No failure of a was seen in 30 cases, which is compatible with a true rate of up to one in 10 (rule of three)."
)
MANY = {name: [value - 0.001 * k for k in range(30)] for name, value in (("a", 0.9), ("b", 0.8), ("c", 0.7))}


def about_failures(ranking):
    return [line for line in said(ranking).sureness if "more frequent than seen" in line]


def test_a_certain_lead_says_whether_it_rests_on_failures_being_rare():
    everybody, one = certain("abc", "ab", "ac"), certain("abc", "ab")
    ranking = plant(ranking_of(MANY), ahead=everybody, guaranteed=everybody)
    assert about_failures(ranking) == [HOLDS.format("everybody else", ", each pair by itself")]
    ranking = plant(ranking_of(MANY), ahead=one, guaranteed=everybody)
    assert about_failures(ranking) == [HOLDS.format("b", "")]
    ranking = plant(ranking_of(MANY), ahead=everybody, guaranteed=certain("abc", "ac"))
    assert about_failures(ranking) == [f"{UNSEEN} {RESTS.format('b')}"]
    ranking = plant(ranking_of(MANY), ahead=everybody, guaranteed=certain("abc"))
    assert about_failures(ranking) == [f"{UNSEEN} {RESTS.format('b and c')}"]
    two = {name: MANY[name] for name in "ab"}
    assert about_failures(plant(ranking_of(two), ahead=certain("ab", "ab"), guaranteed=certain("ab", "ab"))) == [
        HOLDS.format("b", "")
    ]


def test_without_a_certain_lead_or_a_range_nothing_is_said_of_failures():
    everybody = certain("abc", "ab", "ac")
    assert about_failures(ranking_of(MANY)) == [] or ranking_of(MANY).confidence.ahead is not None
    assert about_failures(plant(ranking_of(MANY), ahead=certain("abc", "ac"), guaranteed=everybody)) == []
    unbounded = plant(ranking_of(MANY), ahead=everybody)
    pairs = tuple(replace(pair, guaranteed=None) for pair in unbounded.confidence.pairs)
    vars(unbounded)["confidence"] = replace(unbounded.confidence, pairs=pairs)
    assert about_failures(unbounded) == []


def test_failures_that_were_seen_are_counted():
    failing = MANY | {"a": [*MANY["a"][:28], 0.0, 0.0]}  # as bad as can be
    ranking = plant(ranking_of(failing), ahead=certain("abc", "ab", "ac"), guaranteed=certain("abc"))
    assert about_failures(ranking) == [f"a failed in 2 of 30 cases. {RESTS.format('b and c')}"]
    missing = MANY | {"a": [*MANY["a"][:28], None, None]}  # priced
    patients = [f"p{index // 2}" for index in range(30)]
    ranking = ranking_of(missing, missing=0.0, clusters=patients, cluster_words=("patient", "patients"))
    ranking = plant(ranking, ahead=certain("abc", "ab", "ac"), guaranteed=certain("abc"))
    assert about_failures(ranking) == [f"a failed in 1 of 15 patients. {RESTS.format('b and c')}"]


def test_few_cases_exclude_almost_no_rate_of_failures():
    few = {name: own[:5] for name, own in MANY.items()}
    ranking = plant(ranking_of(few), ahead=certain("abc", "ab", "ac"), guaranteed=certain("abc"))
    (line,) = about_failures(ranking)
    assert line.startswith("No failure of a was seen in 5 cases, which is compatible with almost any true rate")


def test_guaranteed_intervals_are_not_recommended_to_those_who_have_them():
    ranking = plant(ranking_of(MANY), ahead=certain("abc", "ab", "ac"), guaranteed=certain("abc"))
    vars(ranking)["confidence"] = replace(ranking.confidence, method="guaranteed")
    (line,) = about_failures(ranking)
    assert line.endswith("the lead over b and c may not hold.")


# Page and terminal


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "many" else n for n in DEGENERATE])
def test_every_run_has_a_verdict_and_explanations(name):
    data = synthetic_report(**({"bootstrap": 60} | DEGENERATE[name]))
    shown = verdict(data)
    every = [shown.headline, *filter(None, [shown.margin]), *shown.sureness, *shown.cautions]
    for explanation in explain(data).values():
        every += [explanation.summary, *explanation.remarks]
    assert [text for text in every if ungrammatical(text)] == []


@pytest.mark.parametrize("name", [name for name in DEGENERATE if name != "many"])
def test_the_terminal_says_the_same_in_the_same_words(name):
    options = DEGENERATE[name]
    data = synthetic_report(**({"bootstrap": 60} | options))
    shown = verdict(data)
    ranking = synthetic_run(**{k: v for k, v in options.items() if k != "bootstrap"})
    lines = sentences(ranking.rank(bootstrap=options.get("bootstrap", 60)))
    page = [line for line in (shown.headline, shown.margin, *shown.sureness) if line]
    assert lines[: len(page)] == page
    assert all(line.startswith(("Kendall's τ", "Not tried: ")) for line in lines[len(page) :])
    assert [line for line in lines if ungrammatical(line)] == []


def test_the_terminal_tells_more_of_the_resamples():
    ranking = ranking_of(FOUR, bootstrap=60)
    line = sentences(ranking)[-1]
    assert re.fullmatch(
        r"Kendall's τ to this ranking: median \d\.\d\d, in 95 % of resamples from −?\d\.\d\d to \d\.\d\d; "
        r"(undefined in \d+ of 60; )?drawn with seed 1\.",
        line,
    )
    tied = ranking_of({key: [0.5, 0.6] for key in "abc"})
    assert sentences(tied)[-1] == "Kendall's τ to this ranking is undefined: everybody shares one place."
    vars(ranking)["sensitivity"] = replace(ranking.sensitivity, impossible={"odd": "there is no time."})
    assert sentences(ranking)[-1] == "Not tried: odd, because there is no time."


def ungrammatical(text):
    """Return what is wrong with a sentence, if anything can be told."""
    return re.search(
        r"\b(?<!of )1 (cases|rules|criteria|resamples|patients|subjects|competitors|images|scans)\b|100 ?%|(?<!\d)0 ?%"
        r"|\bnan\b|\binf\b|∞|None|  | [.,;:]|\.\.|[^.]$",
        text,
    )


@pytest.mark.parametrize(
    "text",
    [
        "In 1 cases.",
        "At 100 % confidence.",
        "100% sure.",
        "A lead of nan.",
        "To ∞.",
        "None is.",
        "No end",
        "Two..",
        "A .",
    ],
)
def test_a_planted_fault_of_grammar_is_noticed(text):
    assert ungrammatical(text)
