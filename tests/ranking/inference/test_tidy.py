"""Everything about a ranking as tables and as one document."""

import json

import numpy as np
import pytest

from podium.ranking import Ranking, TestThenRank
from podium.ranking.inference.sensitivity import challenge_alternatives
from podium.ranking.inference.tidy import ranking_document, ranking_tables

TABLES = ["places", "place_shares", "leads", "intervals", "pairs", "left_out", "sensitivity"]
VALUES = np.random.default_rng(1).random((3, 12)) + 0.3 * np.arange(3)[:, None]


def test_tables(ranking_of):
    ranking = ranking_of(VALUES)
    tables = ranking_tables(ranking)
    assert list(tables) == TABLES
    sizes = {name: table.height for name, table in tables.items()}
    assert sizes == {
        "places": 3, "place_shares": 9, "leads": 6, "intervals": 3, "pairs": 6, "left_out": 12, "sensitivity": 5,
    }  # fmt: skip
    places = tables["places"]
    assert places["submission"].to_list() == ["T2", "T1", "T0"]
    assert places["place"].to_list() == [1, 2, 3]
    assert places["first_share"].to_list() == ranking.stability.first[::-1].tolist()
    for best, place, worst in places.select("best", "place", "worst").iter_rows():
        assert best <= place <= worst
    leads = {(one, two): (ahead, tied) for one, two, ahead, tied in tables["leads"].iter_rows()}
    for (one, two), (ahead, tied) in leads.items():
        assert ahead + leads[two, one][0] + tied == pytest.approx(1)
    first = tables["pairs"].row(0, named=True)
    assert (first["first"], first["second"]) == ("T0", "T1")
    assert first["difference"] == pytest.approx(VALUES[0].mean() - VALUES[1].mean())
    assert tables["sensitivity"]["rule"][0] == "published"


def test_a_document_is_plain(ranking_of):
    document = ranking_document(ranking_of(VALUES))
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again["stability"]["resamples"] == 300
    assert again["sensitivity"]["alternatives"] == 4
    assert again["confidence"]["level"] == 0.95
    assert set(again) >= {"challenge", "edition", "stability", "places", "confidence", "sensitivity"}


def test_undefined_tau_is_counted_and_not_averaged(ranking_of):
    ranking = ranking_of(np.full((3, 5), 0.5))
    assert ranking_document(ranking)["stability"]["tau"] | {"values": None} == {
        "mean": None,
        "median": None,
        "undefined": 300,
        "values": None,
    }
    assert ranking_tables(ranking)["left_out"]["tau"].to_list() == [None] * 5


def test_one_submission_and_counts_of_wins(ranking_of):
    alone = ranking_tables(ranking_of(VALUES[:1]))
    assert (alone["pairs"].height, alone["leads"].height, alone["places"].height) == (0, 0, 1)
    wins = ranking_tables(ranking_of(VALUES, TestThenRank()))
    assert wins["intervals"].height == 0
    assert wins["intervals"].columns == ["column", "submission", "estimate", "low", "high"]


@pytest.mark.parametrize("name", ["kits21", "csv2026", "trackrad2025", "lvquan18", "tusrec"])
def test_every_challenge(run_of, name):
    run = run_of(name)
    rule = run.rule
    ranking = Ranking(
        rule, lambda: challenge_alternatives(run.challenge, rule, run.cube, roles=run.roles), bootstrap=200
    )
    tables = ranking_tables(ranking)
    assert list(tables) == TABLES
    assert set(tables["places"]["submission"]) == {"alpha", "beta", "gamma", "delta"}
    assert tables["left_out"].height == len(rule.units.names)
    intervals = tables["intervals"].drop_nulls()
    assert ((intervals["low"] <= intervals["estimate"]) & (intervals["estimate"] <= intervals["high"])).all()
    for best, place, worst in tables["places"].select("best", "place", "worst").iter_rows():
        assert best <= place <= worst
