"""LVQuan18: leaderboards computed by hand, and weights."""

import json
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from boards import board_of, measurements
from scipy import stats

from podium.challenges import get_challenge
from podium.model import NOT_RANKED, Challenge, Column, Direction, Measure, Role, Scores, Status
from podium.ranking import challenge_rule, competition_ranks, cube_of, leaderboard_of, weighted_mean
from podium.run import Contract

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


def test_one_absurd_value_makes_nobody_else_equal():
    """1e15 in one image of one team; the two others keep their ranks."""
    teams = {"a": team(area=BASE), "b": team(area=BASE + np.array([1, 2, 3, 4, 5, 6]))}
    for more in ({}, {"absurd": team(area=[1e15, *BASE[1:]])}, {"absurd": team(area=[1e300, *BASE[1:]])}):
        board = board_of("lvquan18", errors(**teams, **more))
        ranks = {name: rank for name, _, rank in shown(board, "mae_area_rank")}
        assert (ranks["a"], ranks["b"]) == (1, 2)
        assert board.places["a"] == 1


def test_identical_in_all_images_but_one():
    """An error of two thirds in 599 images, and one image that differs by much: no evidence at all."""
    same = np.full(600, 2 / 3)
    other = same.copy()
    other[-1] = 1e5
    flat = [1.0] * 600
    for one, two in ((same, other), (other, same)):
        table = errors(a=team(one, flat, flat, [0] * 600), b=team(two, flat, flat, [0] * 600))
        assert shown(board_of("lvquan18", table), "mae_area_rank") == [("a", 1, 1), ("b", 1, 1)]


def predicted(truth, unit, **teams):
    """Return measurements of whole numbers over a unit; every index has the same."""
    values = {}
    for name, numbers in teams.items():
        for image, (true, guess) in enumerate(zip(truth / unit, numbers / unit, strict=True)):
            quantities = {("phase_error", ""): 0.0}
            for index in INDICES:
                quantities |= {
                    ("absolute_error", index): abs(guess - true),
                    ("reference", index): true,
                    ("prediction", index): guess,
                }
            values.setdefault(name, {})[f"sub-01-{image + 1:02d}"] = quantities
    return measurements(values)


@pytest.mark.parametrize("seed", [0, 12, 119, 145, 178])
def test_no_unit_changes_a_place(seed):
    """Zeros and ties of differences are those of whole numbers, whatever the numbers are divided by."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(20, 80, 8)
    teams = dict(zip("abc", truth + generator.integers(-6, 9, (3, 8)), strict=True))
    boards = [shown(board_of("lvquan18", predicted(truth, unit, **teams)), *RANKS) for unit in (1, 3, 7, 10, 100, 1e6)]
    assert boards == [boards[0]] * len(boards)


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


def without(table, submission, cases, *, metric, target="", status="invalid"):
    """Return measurements without the numbers of some images."""
    gap = (pl.col("submission") == submission) & pl.col("case").is_in(cases) & (pl.col("metric") == metric)
    gap &= pl.col("target") == target
    return table.with_columns(
        value=pl.when(gap).then(None).otherwise(pl.col("value")),
        status=pl.when(gap).then(pl.lit(status)).otherwise(pl.col("status")),
    )


def test_no_price_stands_for_a_missing_number():
    """What ranks has the price that nobody can pay; what merely describes has none."""
    challenge = get_challenge("lvquan18")
    assert {measure.name: measure.price for measure in challenge.measures} == {
        "absolute_error": NOT_RANKED,
        "phase_error": NOT_RANKED,
        "reference": None,
        "prediction": None,
        "scale_mm": None,
    }
    assert [measure.key for measure in challenge.decisive] == [
        *(("absolute_error", index) for index in INDICES),
        ("phase_error", ""),
    ]
    values = Contract(challenge).failed(("sub-01-01",), None, Status.MISSING, "gone")
    assert len(values) == 34  # three of each index, and the phase; the scale is optional
    assert {(v.value, v.measured, v.status, v.reason) for v in values} == {(None, None, Status.MISSING, "gone")}


def test_every_way_to_be_incomplete():
    """One phase, one index, an undefined number, twelve images, all images; and a baseline, which never ranks."""
    images = [f"sub-01-{number:02d}" for number in range(1, 15)]
    fourteen = team(*[np.ones(14)] * 3, np.zeros(14))
    names = ("whole", "phase", "index", "undefined", "many", "lost", "simple")
    table = errors(**dict.fromkeys(names, fourteen))
    table = without(table, "phase", images[2:3], metric="phase_error")
    table = without(table, "index", [images[13], images[4]], metric="absolute_error", target="RWT6")
    table = without(table, "undefined", images[:1], metric="absolute_error", target="A1", status="undefined")
    table = without(table, "many", images[1:13], metric="absolute_error", target="D2")
    table = without(table, "simple", images[:1], metric="phase_error")
    lost = pl.col("submission") == "lost"
    table = table.with_columns(
        value=pl.when(lost).then(None).otherwise(pl.col("value")),
        status=pl.when(lost).then(pl.lit("missing")).otherwise(pl.col("status")),
    )
    board = board_of("lvquan18", table, roles={"simple": Role.BASELINE})
    assert [(e.submission, e.place, e.remark) for e in board.entries] == [
        ("whole", 1, ""),
        ("index", None, "incomplete: no valid number for 2 of 14 images: sub-01-05, sub-01-14"),
        ("lost", None, "every case failed"),
        ("many", None, f"incomplete: no valid number for 12 of 14 images: {', '.join(images[1:11])} and 2 more"),
        ("phase", None, "incomplete: no valid number for 1 of 14 images: sub-01-03"),
        ("undefined", None, "incomplete: no valid number for 1 of 14 images: sub-01-01"),
        ("simple", None, "baseline"),
    ]


def test_whoever_is_incomplete_stays_so_under_other_weights():
    """Resamples that leave the image out do not make the submission whole."""
    table = errors(a=team(area=BASE), b=team(area=BASE * 2), nearly=team(area=BASE * 0))
    challenge = get_challenge("lvquan18")
    rule = challenge_rule(
        challenge, cube_of(challenge, without(table, "nearly", ["sub-01-04"], metric="phase_error")), roles={}
    )
    assert rule.competitors == ("a", "b")
    weights = np.array([[1.0, 1, 1, 0, 1, 1]])
    assert rule.places(weights).tolist() == [[1, 2]]
    assert np.isnan(rule.score(weights).places[0, 2])


class Grades(Challenge):
    """A challenge of one number that nobody may leave out."""

    name: ClassVar[str] = "grades"
    title: ClassVar[str] = "Grades"
    row_words: ClassVar[tuple[str, str]] = ("pupil", "pupils")
    measures: ClassVar[tuple[Measure, ...]] = (Measure("grade", "Grade", Direction.LOWER, price=NOT_RANKED),)

    def cases(self, truth):  # noqa: ARG002
        """Find nothing."""
        return []

    def load(self, case):
        """Read nothing."""

    def measure(self, case, truth, prediction):  # noqa: ARG002
        """Measure nothing."""
        return []

    def score(self, cube, weights, ranked):
        """Rank by the mean."""
        means = weighted_mean(cube.of("grade"), weights)
        column = Column(self.measures[0], means)
        return Scores(competition_ranks(means, direction=Direction.LOWER, among=ranked), (column,))


def test_the_remark_does_not_belong_to_this_challenge():
    """Whoever declares that price gets eligibility and remark with it, in the words for its own rows."""
    table = measurements(
        {"a": {"ann": {("grade", ""): 2.0}, "bob": {("grade", ""): 3.0}}, "b": {"ann": {("grade", ""): 1.0}}}
    )
    gap = measurements({"b": {"bob": {("grade", ""): None}}}, status="missing")
    board = leaderboard_of(Grades.made(), pl.concat([table, gap]))
    assert [(e.submission, e.place, e.remark) for e in board.entries] == [
        ("a", 1, ""),
        ("b", None, "incomplete: no valid number for 1 of 2 pupils: bob"),
    ]
    assert board.entries[1].values == {"grade": 1.0}


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
