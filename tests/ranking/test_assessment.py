"""Everything about a ranking at once, as tables and as one document."""

import json

import numpy as np
import pytest

from podium.ranking import (
    AggregateThenRank,
    TestThenRank,
    assess,
    assessment_document,
    assessment_tables,
    challenge_alternatives,
    challenge_rule,
    confidence,
    scheme_rule,
    stability,
    table_alternatives,
)

TABLES = ["places", "place_shares", "leads", "intervals", "pairs", "left_out", "sensitivity"]


@pytest.fixture
def assessment_of(table_from):
    def build(values, scheme=None, *, bootstrap=300, **options):
        scheme = scheme or AggregateThenRank()
        table = table_from(values)
        return assess(scheme_rule(table, scheme), table_alternatives(table, scheme), bootstrap=bootstrap, **options)

    return build


VALUES = np.random.default_rng(1).random((3, 12)) + 0.3 * np.arange(3)[:, None]


def test_it_is_what_its_parts_are(assessment_of, contest_from):
    found = assessment_of(VALUES, seed=7)
    contest = contest_from(VALUES)
    np.testing.assert_array_equal(found.stability.places, stability(contest, replicates=300, seed=7).places)
    assert found.confidence.ranks == confidence(contest, replicates=300, seed=7).ranks
    assert [each.name for each in found.left_out] == list(contest.rows)
    assert found.board == contest.leaderboard()
    assert len(found.sensitivity.alternatives) == 4


def test_tables(assessment_of):
    found = assessment_of(VALUES)
    tables = assessment_tables(found)
    assert list(tables) == TABLES
    sizes = {name: table.height for name, table in tables.items()}
    assert sizes == {
        "places": 3, "place_shares": 9, "leads": 6, "intervals": 3, "pairs": 6, "left_out": 12, "sensitivity": 5,
    }  # fmt: skip
    places = tables["places"]
    assert places["submission"].to_list() == ["T2", "T1", "T0"]
    assert places["place"].to_list() == [1, 2, 3]
    assert places["first_share"].to_list() == found.stability.first[::-1].tolist()
    for best, place, worst in places.select("best", "place", "worst").iter_rows():
        assert best <= place <= worst
    leads = {(one, two): (ahead, tied) for one, two, ahead, tied in tables["leads"].iter_rows()}
    for (one, two), (ahead, tied) in leads.items():
        assert ahead + leads[two, one][0] + tied == pytest.approx(1)
    first = tables["pairs"].row(0, named=True)
    assert (first["first"], first["second"]) == ("T0", "T1")
    assert first["difference"] == pytest.approx(VALUES[0].mean() - VALUES[1].mean())
    assert tables["sensitivity"]["rule"][0] == "published"


def test_a_document_is_plain(assessment_of):
    document = assessment_document(assessment_of(VALUES))
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again["stability"]["resamples"] == 300
    assert again["sensitivity"]["alternatives"] == 4
    assert again["confidence"]["level"] == 0.95
    assert set(again) >= {"challenge", "edition", "stability", "places", "confidence", "sensitivity"}


def test_undefined_tau_is_counted_and_not_averaged(assessment_of):
    document = assessment_document(assessment_of(np.full((3, 5), 0.5)))
    assert document["stability"]["tau"] | {"values": None} == {
        "mean": None,
        "median": None,
        "undefined": 300,
        "values": None,
    }
    assert assessment_tables(assessment_of(np.full((3, 5), 0.5)))["left_out"]["tau"].to_list() == [None] * 5


def test_one_submission_and_counts_of_wins(assessment_of):
    alone = assessment_tables(assessment_of(VALUES[:1]))
    assert (alone["pairs"].height, alone["leads"].height, alone["places"].height) == (0, 0, 1)
    wins = assessment_tables(assessment_of(VALUES, TestThenRank()))
    assert wins["intervals"].height == 0
    assert wins["intervals"].columns == ["column", "submission", "estimate", "low", "high"]


def test_progress_is_told_in_stages(assessment_of):
    told = []
    assessment_of(VALUES, progress=lambda what, done, total: told.append((what, done, total)))
    assert [what for what, done, total in told if done == total] == [
        "resamples",
        "cases left out",
        "resamples for intervals",
    ]


@pytest.mark.parametrize("name", ["kits21", "csv2026", "trackrad2025", "lvquan18", "tusrec"])
def test_every_challenge(run_of, name):
    challenge, table, roles = run_of(name)
    contest = challenge_rule(challenge, table, roles=roles)
    found = assess(contest, challenge_alternatives(challenge, table, roles=roles), bootstrap=200)
    tables = assessment_tables(found)
    assert list(tables) == TABLES
    assert set(tables["places"]["submission"]) == {"alpha", "beta", "gamma", "delta"}
    assert tables["left_out"].height == len(contest.units.names)
    intervals = tables["intervals"].drop_nulls()
    assert ((intervals["low"] <= intervals["estimate"]) & (intervals["estimate"] <= intervals["high"])).all()
    for best, place, worst in tables["places"].select("best", "place", "worst").iter_rows():
        assert best <= place <= worst
