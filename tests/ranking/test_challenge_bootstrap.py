"""The bootstrap of the challenges' own rules, against scoring tables in which drawn cases are written out."""

import numpy as np
import polars as pl
import pytest

from podium.ranking import challenge_rule, cube_of
from podium.ranking.inference.stability import assess_stability, jackknife

pytestmark = pytest.mark.slow

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
EVERY_CHALLENGE = pytest.mark.parametrize(("name", "edition"), CASES)


def written_out(table, times):
    """Return measurements in which each case appears as often as it was drawn, its subject as a new one each time."""
    copies = []
    for case, count in times.items():
        own = table.filter(pl.col("case") == case)
        for copy in range(int(count)):
            prefix = "sub" if case.startswith("sub") else ""
            copies.append(own.with_columns(pl.lit(f"{prefix}{copy}x{case.removeprefix('sub')}").alias("case")))
    return pl.concat(copies)


@EVERY_CHALLENGE
def test_a_resample_is_scored_as_its_cases_written_out(run_of, name, edition):
    challenge, table, roles = run_of(name, edition=edition, seed=3)
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    columns = [column.name for column in rule.published.columns]
    found = assess_stability(rule, replicates=12, seed=9, columns=columns)
    weights = rule.units.weights(rule.units.draw(9, 0)[:12])
    for one, own in enumerate(weights):
        copies = cube_of(challenge, written_out(table, dict(zip(rule.rows, own, strict=True))))
        assert len(copies.rows) == own.sum()
        # Who competes was decided on the full data.
        scores = challenge.score(copies, np.ones((1, len(copies.rows))), rule.ranked.tolist())
        np.testing.assert_array_equal(found.places[one], scores.places[0, rule.ranked])
        for column in columns:
            expected = scores.column(column).values[0, rule.ranked]
            np.testing.assert_allclose(found.columns[column][one], expected, rtol=1e-9, atol=1e-9, err_msg=column)
    assert found.submissions == ("alpha", "beta", "delta", "gamma")
    assert len(np.unique(found.places, axis=0)) > 1


@pytest.mark.parametrize(
    ("name", "subjects", "each"), [("lvquan18", 6, 4), ("tusrec", 7, 3), ("kits21", 12, 1), ("csv2026", 14, 1)]
)
def test_what_is_drawn_together(run_of, name, subjects, each):
    challenge, table, roles = run_of(name)
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    assert len(rule.units.names) == subjects
    assert np.bincount(rule.units.cluster).tolist() == [each] * subjects
    for row, cluster in zip(rule.rows, rule.units.cluster, strict=True):
        assert challenge.cluster(row) == rule.units.names[cluster]
    weights = rule.units.weights(rule.units.draw(1, 0))
    for cluster in range(subjects):
        own = weights[:, rule.units.cluster == cluster]
        assert (own == own[:, :1]).all()


def test_significance_by_subject_is_resampled_too(run_of):
    challenge, table, roles = run_of("lvquan18", seed=1, per_subject=True)
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    found = assess_stability(rule, replicates=8)
    weights = rule.units.weights(rule.units.draw(1, 0)[:8])
    for one, own in enumerate(weights):
        copies = cube_of(challenge, written_out(table, dict(zip(rule.rows, own, strict=True))))
        scores = challenge.score(copies, np.ones((1, len(copies.rows))), rule.ranked.tolist())
        np.testing.assert_array_equal(found.places[one], scores.places[0, rule.ranked])


@EVERY_CHALLENGE
def test_a_subject_left_out_is_a_table_without_it(run_of, name, edition):
    challenge, table, roles = run_of(name, edition=edition, seed=4)
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    left = jackknife(rule)
    assert [each.name for each in left] == list(rule.units.names)
    for each in left[:3]:
        without = table.filter(pl.col("case").map_elements(challenge.cluster, pl.String) != each.name)
        cube = cube_of(challenge, without)
        places = challenge.score(cube, np.ones((1, len(cube.rows))), rule.ranked.tolist()).places[0]
        assert each.winners == tuple(s for s, place in zip(cube.submissions, places, strict=True) if place == 1)


@EVERY_CHALLENGE
def test_threads_change_nothing(run_of, name, edition):
    challenge, table, roles = run_of(name, edition=edition)
    rule = challenge_rule(challenge, cube_of(challenge, table), roles=roles)
    alone = assess_stability(rule, replicates=600, jobs=1)
    np.testing.assert_array_equal(assess_stability(rule, replicates=600, jobs=4).places, alone.places)
