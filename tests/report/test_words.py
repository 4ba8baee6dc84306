"""Small words, and why a submission has its place, checked against numbers worked out by hand or in another way."""

import numpy as np
import pytest
from reports import by_hand, synthetic_report

from podium.model import Role
from podium.report.explanations import explain
from podium.report.words import (
    contained,
    deciding,
    isolated,
    listed,
    number,
    percent,
    places,
    why_unranked,
)

THREE = {"b": [0.8, 0.8, 0.8], "a": [0.9, 0.9, 0.9], "c": [0.7, 0.7, 0.7]}


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


def test_small_words():
    assert listed(["a"]) == "a"
    assert listed([f"t{k}" for k in range(9)]) == "t0, t1, t2, t3, t4, t5 and 3 more"
    assert listed(["a", "b"], last=" or ") == "a or b"
    assert isolated("two\nlines") == "two lines"
    assert isolated("\u202eevil") == "\u2068\u202eevil\u2069"
    assert (number(float("nan"), 2), number(float("-inf"), 2), number(2.0, 1, "mm")) == ("–", "−∞", "2.0 mm")
    shares = {0.0: "none", 0.005: "< 1 %", 0.01: "1 %", 0.505: "50 %", 0.99: "99 %", 0.995: "> 99 %", 1.0: "all"}
    assert [percent(share) for share in shares] == list(shares.values())
    assert (places(1, 1), places(1, 3)) == ("1", "1–3")
    assert why_unranked("reference") == "it is people, shown for comparison"
    assert why_unranked("no score") == "no score"


def test_no_name_turns_the_sentence_around():
    override, isolate, end = "\u202e", "\u2068", "\u2069"
    name = f"{override}evil"
    assert contained(f"{name} failed 3 cases", [name]) == f"{isolate}{name}{end} failed 3 cases"
    assert contained(f"file {override}x is gone") == "file \ufffdx is gone"
    assert contained(f"open {isolate}x") == f"open {isolate}x{end}"
    assert contained(f"stray {end}x") == "stray x"
    assert contained("plain text, a and b", ["a", "b"]) == "plain text, a and b"
