"""LVQuan18: leaderboards computed by hand, and weights."""

import json

import numpy as np
import polars as pl
import pytest
from boards import board_of, measurements
from scipy import stats

from podium.challenges import get_challenge
from podium.model import Role
from podium.ranking import cube_of

GROUPS = {"area": ("A1", "A2"), "dim": ("D1", "D2", "D3"), "rwt": tuple(f"RWT{n}" for n in range(1, 7))}
INDICES = [index for members in GROUPS.values() for index in members]
FLAT = [1.0] * 6

# Six images: differences of one sign and six sizes have p = 2/64, with the smallest against the others p = 4/64.
BASE = np.full(6, 20.0)
MIDDLE = BASE + np.array([-1, 2, 3, 4, 5, 6])  # like BASE
LAST = MIDDLE + np.array([3, -1, 4, 5, 6, 7])  # like MIDDLE, worse than BASE: BASE + [2, 1, 7, 9, 11, 13]


def errors(**teams):
    """Return measurements from team → group → one error for each image; every index of a group has that error."""
    values = {}
    for team, groups in teams.items():
        rows = values.setdefault(team, {})
        for image in range(len(groups["area"])):
            quantities = {("phase_error", ""): groups["phase"][image]}
            for group, members in GROUPS.items():
                for index in members:
                    quantities["absolute_error", index] = groups[group][image]
                    quantities["reference", index] = 0.1 * (image % 5)
                    quantities["prediction", index] = 0.1 * (image % 5) + groups[group][image]
            rows[f"sub-{image // 20 + 1:02d}-{image % 20 + 1:02d}"] = quantities
    return measurements(values)


def team(area=FLAT, dim=FLAT, rwt=FLAT, phase=(0,) * 6):
    return {"area": area, "dim": dim, "rwt": rwt, "phase": phase}


def shown(board, *names):
    return [(e.submission, e.place, *(e.values[name] for name in names)) for e in board.entries]


RANKS = ("mae_area_rank", "mae_dim_rank", "mae_rwt_rank", "er_phase_rank", "rank_sum")


def test_a_leaderboard_by_hand():
    """Areas: not transitive, 1 1 2. Wall thicknesses: the same the other way round. Phase: two of six wrong, tied."""
    table = errors(
        a=team(area=BASE, rwt=LAST),
        b=team(area=MIDDLE, rwt=MIDDLE, phase=(1, 1, 0, 0, 0, 0)),
        c=team(area=LAST, rwt=BASE, phase=(0, 0, 0, 0, 1, 1)),
    )
    for edition in ("document", "code"):
        board = board_of("lvquan18", table, edition=edition)
        assert shown(board, *RANKS) == [("a", 1, 1, 1, 2, 1, 5), ("b", 1, 1, 1, 1, 2, 5), ("c", 3, 2, 1, 1, 2, 6)]
    values = board.entries[1].values
    assert values["mae_A1"] == values["mae_A2"] == values["mae_area"] == pytest.approx(20 + 19 / 6)
    assert values["er_phase"] == pytest.approx(1 / 3)
    assert set(values) >= {f"{kind}_{index}" for kind in ("mae", "pcc") for index in INDICES}
    assert board.notes[0].startswith("Errors are in normalised units")
    assert "one value per image, p < 0.05." in board.notes[1]


def test_rounding_is_not_evidence():
    """Errors of 0.05 from above and from below differ in the last bit; on twelve images one team is really better."""
    truth = np.round(np.random.default_rng(0).random(200), 3)
    above, below = (np.abs(np.round(truth + step, 3) - truth) for step in (0.05, -0.05))
    assert np.count_nonzero(above - below) > 100
    below[:12] -= np.linspace(0.01, 0.02, 12)
    phase = (0,) * 200
    table = errors(
        above=team(area=above, dim=above, rwt=above, phase=phase),
        below=team(area=below, dim=below, rwt=below, phase=phase),
    )
    board = board_of("lvquan18", table)
    assert shown(board, *RANKS[:3]) == [("below", 1, 1, 1, 1), ("above", 2, 2, 2, 2)]


def test_nobody_ranks_before_a_smaller_error():
    """C is not significantly worse than A, but comes after B, which is."""
    table = errors(
        a=team(area=BASE),
        b=team(area=BASE + np.array([1, 2, 3, 4, 5, 6])),
        c=team(area=BASE + np.array([-5, 6, 7, 8, 9, 10])),
    )
    assert shown(board_of("lvquan18", table), *RANKS[:2]) == [("a", 1, 1, 1), ("b", 2, 2, 1), ("c", 2, 2, 1)]


def test_a_test_against_the_means_counts_nothing():
    """Most images of B are a little better, one is so much worse that A has the smaller mean."""
    a = np.full(12, 20.0)
    b = a - [*(np.arange(1, 12) / 10), -50]
    assert stats.wilcoxon(b - a).pvalue < 0.05
    assert b.mean() > a.mean()
    flat = [1.0] * 12
    table = errors(**{name: team(area, flat, flat, [0] * 12) for name, area in (("a", a), ("b", b))})
    assert shown(board_of("lvquan18", table), "mae_area_rank") == [("a", 1, 1), ("b", 1, 1)]


def test_holm_and_subjects():
    table = errors(a=team(area=BASE), b=team(area=MIDDLE), c=team(area=LAST))
    board = board_of("lvquan18", table, holm=True)  # three pairs, the smallest p is 3 · 2/64
    assert shown(board, "mae_area_rank") == [("a", 1, 1), ("b", 1, 1), ("c", 1, 1)]
    assert "after Holm's adjustment" in board.notes[1]

    # 40 images in 2 subjects, all of them better: sure by images, p = 1/2 by subjects.
    flat, more = np.ones(40), 1 + np.arange(1, 41) / 100
    forty = errors(a=team(flat, flat, flat, flat), b=team(more, flat, flat, flat))
    assert shown(board_of("lvquan18", forty), "mae_area_rank") == [("a", 1, 1), ("b", 2, 2)]
    board = board_of("lvquan18", forty, per_subject=True)
    assert shown(board, "mae_area_rank", "mae_area") == [("a", 1, 1, 1), ("b", 1, 1, pytest.approx(1.205))]
    assert "one value per subject" in board.notes[1]


def test_subjects_are_compared_by_their_mean():
    """Seven subjects of 20 images, most of B's images better, but every subject's mean worse."""
    a = np.ones(140)
    b = a + np.tile([*[-0.01] * 19, 3.0], 7) * np.repeat(np.arange(1, 8), 20)
    table = errors(a=team(a, a, a, a), b=team(b, a, a, a))
    assert shown(board_of("lvquan18", table), "mae_area_rank") == [("a", 1, 1), ("b", 1, 1)]
    assert shown(board_of("lvquan18", table, per_subject=True), "mae_area_rank") == [("a", 1, 1), ("b", 2, 2)]


def test_identical_submissions_share_everything():
    table = errors(a=team(area=BASE), twin=team(area=BASE), worse=team(area=BASE * 2 + np.arange(6)))
    board = board_of("lvquan18", table)
    assert shown(board, *RANKS) == [("a", 1, 1, 1, 1, 1, 4), ("twin", 1, 1, 1, 1, 1, 4), ("worse", 3, 3, 1, 1, 1, 6)]


def test_one_team_alone():
    assert shown(board_of("lvquan18", errors(a=team())), *RANKS) == [("a", 1, 1, 1, 1, 1, 4)]


def test_baselines_and_the_incomplete_shift_nobody():
    table = errors(
        a=team(area=BASE),
        b=team(area=BASE + np.array([1, 2, 3, 4, 5, 6])),
        perfect=team(area=BASE * 0),
        nearly=team(area=BASE * 0),
    )
    gap = (pl.col("submission") == "nearly") & (pl.col("case") == "sub-01-04") & (pl.col("target") == "RWT2")
    table = table.with_columns(
        value=pl.when(gap).then(None).otherwise(pl.col("value")),
        status=pl.when(gap).then(pl.lit("invalid")).otherwise(pl.col("status")),
    )
    board = board_of("lvquan18", table, roles={"perfect": Role.BASELINE})
    assert shown(board, "mae_area_rank", "rank_sum") == [
        ("a", 1, 1, 4),
        ("b", 2, 2, 5),
        ("nearly", None, None, None),
        ("perfect", None, None, None),
    ]
    assert board.entries[2].remark == "incomplete: no valid number for 1 of 6 images: sub-01-04"
    assert board.entries[2].values["mae_RWT2"] == 1  # of the five others
    json.dumps([dict(entry.values) for entry in board.entries], allow_nan=False)


@pytest.mark.parametrize("per_subject", [False, True])
def test_a_weight_is_a_repeated_image(per_subject):
    """The published ranking of a data set with repeated subjects is that of weights."""
    generator = np.random.default_rng(5)
    challenge = get_challenge("lvquan18", per_subject=per_subject)
    teams = {
        name: team(*(generator.gamma(2, 1 + 0.2 * place, 80) for _ in range(3)), generator.integers(0, 2, 80))
        for place, name in enumerate("abcd")
    }
    times = np.array([2, 0, 1, 3])
    chosen = np.concatenate([np.arange(20) + 20 * s for s, k in enumerate(times) for _ in range(k)])
    repeated = {name: {group: np.asarray(v)[chosen] for group, v in groups.items()} for name, groups in teams.items()}
    cubes = [cube_of(challenge, errors(**each)) for each in (teams, repeated)]
    ranked = [True, True, True, False]
    weights = np.stack([np.ones(80), np.repeat(times, 20)])
    weighted = challenge.score(cubes[0], weights.astype(float), ranked)
    expected = challenge.score(cubes[1], np.ones((1, len(chosen))), ranked)
    np.testing.assert_array_equal(weighted.places[1], expected.places[0])
    for one, two in zip(weighted.columns, expected.columns, strict=True):
        np.testing.assert_allclose(one.values[1], two.values[0], rtol=1e-12, err_msg=one.name)
    alone = challenge.score(cubes[0], np.ones((1, 80)), ranked)
    np.testing.assert_array_equal(weighted.places[0], alone.places[0])


def test_uneven_weights_within_a_subject():
    challenge = get_challenge("lvquan18", per_subject=True)
    generator = np.random.default_rng(6)
    teams = {name: team(*generator.gamma(2, 1, (3, 60)), np.zeros(60)) for name in "ab"}
    cube = cube_of(challenge, errors(**teams))
    weights = (np.arange(60) % 20 < 10).astype(float)[None]
    half = {name: {g: np.asarray(v)[weights[0] > 0] for g, v in groups.items()} for name, groups in teams.items()}
    score = challenge.score(cube, weights, [True, True])
    means = {name: groups["area"].mean() for name, groups in half.items()}
    assert score.columns[1].values[0] == pytest.approx([means["a"], means["b"]])
    assert np.isfinite(score.places).all()
