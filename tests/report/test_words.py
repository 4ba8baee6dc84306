"""What is said of a ranking, checked against numbers worked out by hand or in another way."""

import numpy as np
import pytest
from reports import DEGENERATE, run_of, synthetic_report, tidy

from podium.challenges import get_challenge
from podium.model import Role
from podium.report.data import gather
from podium.report.explanations import explain
from podium.report.words import contained, deciding, isolated, listed, number, percent, places, sentences, verdict


def by_hand(values, *, roles=None, bootstrap=0, challenge="kits21"):
    """Return a run in which every measure of a submission has the given values, one a case."""
    rules = get_challenge(challenge)
    rows = [
        (name, f"case_{index:05d}", "", target, measure.name, value, "ok", "")
        for name, own in values.items()
        for index, value in enumerate(own)
        for measure in rules.measures
        for target in measure.targets
    ]
    return gather(run_of(rules, tidy(rows), roles=roles).rank(bootstrap=bootstrap))


THREE = {"b": [0.8, 0.8, 0.8], "a": [0.9, 0.9, 0.9], "c": [0.7, 0.7, 0.7]}


def test_who_won_and_by_how_much():
    told = verdict(by_hand(THREE))
    assert told.headline == "a wins."
    assert told.margin == "Average rank 1.00, against 2.00 of b in place 2: a lead of 1.00."
    assert told.sureness == ("How sure this is cannot be told. No resampling was asked for.",)
    assert told.facts == ()


def test_a_shared_first_place():
    told = verdict(by_hand({"a": [0.9, 0.9], "b": [0.9, 0.9], "c": [0.7, 0.7]}))
    assert told.headline == "a and b share first place."
    assert told.margin == "Average rank 1.00, against 3.00 of c in place 3: a lead of 2.00."


def test_all_equal_and_alone_and_nobody():
    told = verdict(by_hand({"a": [0.9, 0.9], "b": [0.9, 0.9]}))
    assert (told.headline, told.margin) == (
        "All 2 competitors share first place.",
        "All have the same Average rank, 1.00.",
    )
    told = verdict(by_hand({"a": [0.9, 0.9]}, bootstrap=50))
    assert told.headline == "a is the only competitor."
    assert told.margin == "Average rank 1.00. With nobody to compare with, its place says nothing."
    assert told.facts == ()
    assert told.sureness == ()
    told = verdict(by_hand({"base": [0.9, 0.9]}, roles={"base": Role.BASELINE}))
    assert told.headline == "Nobody is ranked."
    assert told.margin.endswith("The reason: baseline.")


def test_how_sure_is_what_the_resamples_say():
    data = synthetic_report(8, 10, bootstrap=300, seed=4, failing=0.1)
    told, found = verdict(data), data.assessment
    winner = data.competitors[0]
    index = found.stability.submissions.index(winner)
    share = sum(row[index] == 1 for row in found.stability.places.tolist()) / 300
    assert 0.05 < share < 0.95
    assert told.facts[0].value == f"{100 * share:.0f} %"
    rank = found.confidence.ranks[index]
    assert told.facts[1].value == (f"{rank.best}–{rank.worst}" if rank.best < rank.worst else str(rank.best))
    kept = sum(winner in each.winners and len(each.winners) == 1 for each in found.sensitivity.alternatives)
    assert told.facts[2].value == f"{kept} of {len(found.sensitivity.alternatives)}"
    changing = [each.name for each in found.left_out if set(each.winners) - {winner}]
    assert told.facts[3].value == f"{len(changing)} of 10"
    rivals = [
        name
        for name, rank in zip(found.stability.submissions, found.confidence.ranks, strict=True)
        if rank.best == 1 and name != winner
    ]
    assert ("not beyond noise" in told.headline) == bool(rivals)
    if rivals and len(rivals) < 7:
        assert any(line.startswith("Within noise") and all(name in line for name in rivals) for line in told.sureness)


def test_a_clear_winner_is_said_to_be_one():
    generator = np.random.default_rng(1)
    values = {name: generator.normal(mean, 0.01, 60).tolist() for name, mean in (("a", 0.9), ("b", 0.7), ("c", 0.5))}
    told = verdict(by_hand(values, bootstrap=200))
    assert told.headline == "a wins."
    assert told.margin.endswith("Ahead in 6 of 6 criteria, in 6 of them at 95 % confidence.")
    assert "At 95 % confidence, nobody else is truly first." in told.sureness
    assert [fact.value for fact in told.facts] == ["100 %", "1", told.facts[2].value, "0 of 60"]


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
    told = verdict(data)
    pair = data.assessment.confidence.pairs[0]
    low, high = pair.low[0, 1], pair.high[0, 1]
    assert 0 < low < high
    assert f"(95 % interval {low:.3f} to {high:.3f})" in told.margin


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "many" else n for n in DEGENERATE])
def test_every_run_has_a_verdict_and_explanations(name):
    data = synthetic_report(**({"bootstrap": 60} | DEGENERATE[name]))
    told = verdict(data)
    assert told.headline.endswith(".")
    every = [told.headline, told.margin, *told.sureness, *told.cautions]
    for each in explain(data).values():
        every += [each.summary, *each.remarks]
        assert each.summary.endswith(".")
    assert not any("nan" in text.replace("tion and", "") or "None" in text for text in every)


def test_a_place_is_explained_by_the_ranks_that_made_it():
    data = by_hand(THREE | {"base": [0.95, 0.95, 0.95]}, roles={"base": Role.BASELINE})
    told = explain(data)
    assert told["b"].summary == "Place 2 of 3: Average rank 2.00, and the lowest comes first."
    assert told["b"].heading == "The criteria, and the rank that each gives; the average rank decides"
    assert [(part.title, part.value, part.rank) for part in told["b"].parts] == [
        (f"{metric} {region} ↑", "0.8000", "2")
        for metric in ("Dice", "Surface Dice")
        for region in ("kidney and mass", "mass", "tumor")
    ]
    assert told["b"].remarks == ("Behind a, in place 1, by 1.00.",)
    assert told["a"].remarks == ()
    assert told["base"].summary == "Not ranked: it is a baseline, shown for comparison."
    assert {part.rank for part in told["base"].parts} == {"–"}


def test_the_average_of_the_ranks_explained_is_the_average_rank_shown():
    data = synthetic_report(7, 15, bootstrap=50)
    for entry in data.board.entries:
        ranks = [float(part.rank) for part in explain(data)[entry.submission].parts]
        assert np.mean(ranks) == pytest.approx(entry.values["average_rank"])


def test_one_criterion_is_explained_by_what_stands_beside_it():
    data = synthetic_report(4, 12, challenge="csv2026", bootstrap=50, baseline_seconds=1.0, failing=0.0)
    told = explain(data)[data.competitors[0]]
    assert told.heading == "The columns beside it, and the rank that each would give"
    columns = {column.measure.title: column for column in data.rule.published.columns}
    index = data.rule.submissions.index(data.competitors[0])
    for part in told.parts:
        column = columns[part.title.rpartition(" ")[0].partition(", s")[0]]
        own = column.values[0, index]
        better = sum(own < other if "↑" in part.title else own > other for other in column.values[0].tolist())
        assert part.rank == str(1 + better)


def test_no_column_decides_where_places_do_not_follow_it():
    data = by_hand(THREE)
    assert deciding(data.board).name == "average_rank"
    entries = data.board.entries
    swapped = type(data.board)("", "", data.board.columns, (entries[1], entries[0], entries[2]), ())
    assert deciding(swapped) is not None  # entries carry their places with them
    worse = [type(e)(e.submission, e.role, 4 - e.place, "", e.values) for e in entries]
    assert deciding(type(data.board)("", "", data.board.columns, tuple(worse), ())) is None


def test_the_terminal_tells_the_same():
    data = synthetic_report(5, 12, bootstrap=100)
    lines = sentences(data.assessment)
    assert lines[0].startswith("Stability: ")
    assert "100 resamples of the cases (seed 1)" in lines[0]
    assert [line.partition(":")[0] for line in lines] == [
        "Stability",
        "Kendall's τ to this ranking",
        "Leaving out a single case",
        "Confidence",
        "Sensitivity",
    ]


def test_small_words():
    assert listed(["a"]) == "a"
    assert listed([f"t{k}" for k in range(9)]) == "t0, t1, t2, t3, t4, t5 and 3 more"
    assert listed(["a", "b"], last=" or ") == "a or b"
    assert isolated("two\nlines") == "two lines"
    assert isolated("\u202eevil") == "\u2068\u202eevil\u2069"
    assert (number(float("nan"), 2), number(float("-inf"), 2), number(2.0, 1, "mm")) == ("–", "−∞", "2.0 mm")
    shares = {0.0: "0 %", 0.005: "< 1 %", 0.01: "1 %", 0.505: "50 %", 0.99: "99 %", 0.995: "> 99 %", 1.0: "100 %"}
    assert [percent(share) for share in shares] == list(shares.values())
    assert (places(1, 1), places(1, 3)) == ("1", "1–3")


def test_no_name_turns_the_sentence_around():
    override, isolate, end = "\u202e", "\u2068", "\u2069"
    name = f"{override}evil"
    assert contained(f"{name} failed 3 cases", [name]) == f"{isolate}{name}{end} failed 3 cases"
    assert contained(f"file {override}x is gone") == "file \ufffdx is gone"
    assert contained(f"open {isolate}x") == f"open {isolate}x{end}"
    assert contained(f"stray {end}x") == "stray x"
    assert contained("plain text, a and b", ["a", "b"]) == "plain text, a and b"
