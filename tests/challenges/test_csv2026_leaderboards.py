"""CSV 2026: leaderboards computed by hand."""

from dataclasses import replace

import numpy as np
import pytest
from boards import board_of, column, table_of_values
from csv2026_files import COUNTS, MEASURED, METRICS, STRUCTURES, VIEWS

from podium.challenges import get_challenge
from podium.challenges.csv2026.files import PlaqueSample
from podium.model import InputError, Role, Status, Value
from podium.ranking import cube_of, ranked_submissions
from podium.run import Contract

pytestmark = pytest.mark.slow

CONTRACT = Contract(get_challenge("csv2026"))


def row(case, *, share=1.0, true=0, guess=0, seconds=None, lost=()):
    """Return what is recorded of a case: one share for everything; lost views fail, and so does a class of None."""
    values = []
    for view in VIEWS:
        for metric, target in [(m, f"{view}/{s}") for m in MEASURED for s in STRUCTURES]:
            number = share.get((metric, target), 1.0) if isinstance(share, dict) else share
            if view in lost:
                values.append(Value(case, metric, None, target, status=Status.INVALID, reason="lost"))
            else:
                values.append(Value(case, metric, number, target))
    for label in (0, 1):
        counts = (true == label == guess, guess == label != true, true == label != guess)
        for metric, count in zip(COUNTS, counts, strict=True):
            if guess is None:
                values.append(Value(case, metric, None, str(label), status=Status.INVALID, reason="lost"))
            else:
                values.append(Value(case, metric, float(count), str(label)))
    return CONTRACT.held([case], PlaqueSample({}, true, {}), values) + timed(case, seconds)


def crash(case, *, true=0, seconds=None):
    """Return what is recorded of a case without a file."""
    charged = CONTRACT.failed([case], PlaqueSample({}, true, {}), Status.MISSING, "there is no file")
    return charged + timed(case, seconds)


def timed(case, seconds):
    return [] if seconds is None else [Value(case, "seconds", seconds)]


def board(teams, *, roles=None, **options):
    return board_of("csv2026", table_of_values(teams), roles=roles, **({"baseline_seconds": 1.0} | options))


def test_without_the_organisers_time_there_is_no_score():
    measurements = table_of_values({"A": row("1")})
    with pytest.raises(InputError, match="baseline_seconds"):
        board_of("csv2026", measurements)
    assert board_of("csv2026", measurements, edition="code").entries[0].place == 1


def test_a_total_by_hand():
    share = {
        ("dice", "long/plaque"): 0.5,
        ("nsd", "long/plaque"): 0.7,
        ("dice", "long/vessel"): 0.8,
        ("nsd", "long/vessel"): 0.9,
        ("dice", "trans/plaque"): 0.4,
        ("nsd", "trans/plaque"): 0.2,
        ("dice", "trans/vessel"): 1.0,
        ("nsd", "trans/vessel"): 1.0,
    }
    classes = [(0, 0), (0, 1), (1, 1), (1, 1)]
    teams = {"A": [v for i, (t, g) in enumerate(classes) for v in row(str(i), share=share, true=t, guess=g, seconds=1)]}
    values = board(teams).entries[0].values
    # long 0.6 · 0.6 + 0.4 · 0.85, trans 0.6 · 0.3 + 0.4 · 1; F1 2/3 and 4/5; alone and below twice the baseline: 100
    expected = {"long_plaque": 0.6, "long_vessel": 0.85, "trans_plaque": 0.3, "trans_vessel": 1, "long": 0.7}
    expected |= {"trans": 0.58, "segmentation": 64, "f1_0": 2 / 3, "f1_1": 0.8, "classification": 100 * 11 / 15}
    expected |= {"time": 100, "seconds": 1, "total": 0.4 * 64 + 0.4 * 100 * 11 / 15 + 20}
    assert {name: values[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    code = board(teams, edition="code").entries[0].values
    assert code["total"] == pytest.approx(0.4 * 0.8 + 0.4 * 0.64, abs=1e-12)
    assert "time" not in code


TIMES = {
    "one": ([0.2, 1.0, 3.0], [100, 60, 0]),  # 1/3 to 2
    "two": ([0.2, 1.0, 1.5], [100, 300 / 7, 0]),  # 1/3 to 1.5
    "three": ([0.5, 1.0, 3.0], [100, 200 / 3, 0]),  # 0.5 to 2
    "four, not on the page": ([0.5, 1.0, 1.5], [100, 50, 0]),
    "equal": ([1.0, 1.0, 1.0], [100, 100, 100]),
    "all fast": ([0.1, 0.2, 1 / 3], [100, 100, 100]),
    "all slow": ([2.0, 2.5, 9.0], [0, 0, 0]),
    "one without": ([0.5, None, 1.5], [100, 0, 100 / 3]),  # who has none counts 2, which is the longest
    "one without among the slow": ([1.5, None, 1.8], [100, 0, 40]),
    "only one with": ([None, 1.9, None], [0, 100, 0]),
    "only one with, too slow": ([None, 2.1, None], [0, 0, 0]),
    "none": ([None, None, None], [0, 0, 0]),
}


@pytest.mark.parametrize("baseline_seconds", [1.0, 0.7, 60.0])
@pytest.mark.parametrize("name", TIMES)
def test_time(name, baseline_seconds):
    times, expected = TIMES[name]
    teams = {
        team: row("1", seconds=None if time is None else time * baseline_seconds)
        for team, time in zip("ABC", times, strict=True)
    }
    leaderboard = board(teams, baseline_seconds=baseline_seconds)
    scores = dict(zip("ABC", expected, strict=True))
    assert column(leaderboard, "time") == pytest.approx(scores, abs=1e-9)
    totals = {team: 80 + 0.2 * score for team, score in scores.items()}
    assert column(leaderboard, "total") == pytest.approx(totals, abs=1e-9)
    assert leaderboard.places == {t: 1 + sum(o > s + 1e-9 for o in scores.values()) for t, s in scores.items()}
    silent = [team for team, time in zip("ABC", times, strict=True) if time is None]
    noted = [note for note in leaderboard.notes if note.startswith("Without a time")]
    assert noted == (
        [f"Without a time for every case, which counts as the longest time: {', '.join(silent)}."] * bool(silent)
    )


@pytest.mark.parametrize(("seconds", "score"), [(0.01, 100), (1.99, 100), (2.0, 0), (7.0, 0)])
def test_one_team_alone(seconds, score):
    leaderboard = board({"A": row("1", seconds=seconds)})
    assert leaderboard.places == {"A": 1}
    assert column(leaderboard, "time") == {"A": score}


def test_means_that_only_rounding_tells_apart_are_equal():
    uneven = [value for case, s in zip("123", (0.7, 0.8, 0.9), strict=True) for value in row(case, seconds=s)]
    even = [value for case in "123" for value in row(case, seconds=0.8)]
    assert np.mean([0.7, 0.8, 0.9]) != np.mean([0.8, 0.8, 0.8])
    leaderboard = board({"uneven": uneven, "even": even})
    assert column(leaderboard, "time") == {"uneven": 100, "even": 100}
    assert leaderboard.places == {"uneven": 1, "even": 1}


def test_ties_share_the_better_place():
    shares = {"A": 0.8, "B": 0.9, "C": 0.8, "D": 0.7}
    leaderboard = board({team: row("1", share=share, seconds=1) for team, share in shares.items()})
    assert leaderboard.places == {"B": 1, "A": 2, "C": 2, "D": 4}


def test_failed_views_and_classes():
    teams = {
        "whole": row("1", share=0.8) + row("2", share=0.8, true=1, guess=1),
        "view": row("1", share=0.8) + row("2", share=0.8, true=1, guess=1, lost=["trans"]),
        "class": row("1", share=0.8) + row("2", share=0.8, true=1, guess=None),
        "wrong": row("1", share=0.8) + row("2", share=0.8, true=1, guess=0),
        "case": row("1", share=0.8) + crash("2", true=1),
    }
    leaderboard = board(teams)
    seg = {"whole": 80, "view": 60, "class": 80, "wrong": 80, "case": 40}
    # Class 1 was missed: 0. Class 0 was right once, and counts as named once too often: 2/3.
    cls = {"whole": 100, "view": 100, "class": 100 / 3, "wrong": 100 / 3, "case": 100 / 3}
    assert column(leaderboard, "segmentation") == pytest.approx(seg)
    assert column(leaderboard, "classification") == pytest.approx(cls)
    assert column(leaderboard, "total") == pytest.approx({team: 0.4 * (seg[team] + cls[team]) for team in teams})
    assert leaderboard.places == {"whole": 1, "view": 2, "class": 3, "wrong": 3, "case": 5}
    assert "view: 1 of 2 cases failed, in part or altogether." in leaderboard.notes


def test_a_class_that_is_neither_true_nor_predicted_is_left_out():
    leaderboard = board({"right": row("1") + row("2"), "wrong": row("1") + row("2", guess=1)})
    # "wrong": class 0 has one hit and one miss, class 1 one false alarm
    assert column(leaderboard, "classification") == pytest.approx({"right": 100, "wrong": 100 * (2 / 3 + 0) / 2})
    assert column(leaderboard, "f1_1") == {"right": None, "wrong": 0}
    assert "S_cls without class 1, which is neither true nor predicted: right." in leaderboard.notes
    code = board({"right": row("1") + row("2")}, edition="code")
    assert column(code, "classification") == {"right": 0}
    assert code.entries[0].values["total"] == pytest.approx(0.4)


def test_a_fast_crash_does_not_win_on_time():
    steady = row("1", seconds=0.8) + row("2", true=1, guess=1, seconds=0.8)
    slow = row("1", seconds=1.6) + row("2", true=1, guess=1, seconds=1.6)
    in_part = row("1", seconds=1.2) + row("2", true=1, guess=1, seconds=0.001, lost=["long"])
    in_class = row("1", seconds=1.2) + row("2", true=1, guess=None, seconds=0.001)
    whole = row("1", seconds=1.2) + crash("2", true=1, seconds=0.001)
    everywhere = crash("1", seconds=0.001) + crash("2", true=1, seconds=0.001)
    teams = {"steady": steady, "slow": slow, "part": in_part, "class": in_class, "whole": whole, "all": everywhere}
    leaderboard = board(teams)
    # A failed case counts the team's slowest, 1.2 s; who failed everywhere is not among those who are compared.
    times = {"steady": 100, "slow": 0, "part": 50, "class": 50, "whole": 50, "all": 100}
    assert column(leaderboard, "time") == pytest.approx(times)
    seconds = {"steady": 0.8, "slow": 1.6, "part": 1.2, "class": 1.2, "whole": 1.2, "all": 0.001}
    assert column(leaderboard, "seconds") == pytest.approx(seconds)
    assert leaderboard.places["steady"] == 1
    assert leaderboard.places["all"] is None
    assert leaderboard.entries[-1].remark == "every case failed"


def test_a_slow_crash_counts_for_every_failed_case():
    """The slowest case is 4 s, which itself failed: (1 + 4 + 4) / 3 s, and (1 + 1 + 4) / 3 s where only it failed."""
    crashed = row("1", seconds=1.0), crash("2", seconds=0.1), crash("3", seconds=4.0)
    once = row("1", seconds=1.0), row("2", seconds=1.0), crash("3", seconds=4.0)
    teams = {"twice": [v for values in crashed for v in values], "once": [v for values in once for v in values]}
    assert column(board(teams), "seconds") == pytest.approx({"twice": 3.0, "once": 2.0})


def test_the_slowest_case_is_that_of_all_cases_whichever_are_drawn():
    values = row("1", seconds=0.5) + row("2", seconds=0.6, lost=["long"]) + row("3", seconds=1.9)
    challenge = get_challenge("csv2026", baseline_seconds=1.0)
    cube = cube_of(challenge, table_of_values({"A": values}))
    scores = challenge.score(cube, np.array([[1.0, 1, 0], [1, 2, 0], [2, 0, 0]]), [True])
    seconds = scores.column("seconds").values[:, 0]
    np.testing.assert_allclose(seconds, [(0.5 + 1.9) / 2, (0.5 + 2 * 1.9) / 3, 0.5], rtol=1e-12)


def test_time_for_some_cases_only_is_no_time():
    teams = {"some": row("1", seconds=0.5) + row("2"), "all": row("1", seconds=1.5) + row("2", seconds=1.5)}
    leaderboard = board(teams)
    assert column(leaderboard, "time") == {"some": 0, "all": 100}
    assert column(leaderboard, "seconds") == {"some": None, "all": 1.5}


@pytest.mark.parametrize("edition", ["document", "code"])
def test_baselines_shift_nobody(edition):
    teams = {"A": row("1", share=0.9, seconds=0.6), "B": row("1", share=0.8, seconds=1.4), "C": row("1", share=0.7)}
    alone = board(teams, edition=edition)
    extreme = {"base": row("1", share=1.0, seconds=0.001), "people": row("1", share=0.85, seconds=50.0)}
    together = board(teams | extreme, edition=edition, roles={"base": Role.BASELINE, "people": Role.REFERENCE})
    assert together.entries[:3] == alone.entries
    assert [(entry.submission, entry.place) for entry in together.entries[3:]] == [("base", None), ("people", None)]
    if edition == "document":
        # From 0.6 s to 2 s, which C counts for want of a time; people and base are clipped to that.
        times = {"A": 100, "B": 100 * 0.6 / 1.4, "C": 0, "base": 100, "people": 0}
        assert column(together, "time") == pytest.approx(times)


@pytest.mark.parametrize("edition", ["document", "code"])
def test_weights_are_repeated_cases(edition):
    generator = np.random.default_rng(5)
    names = [f"{n:03d}" for n in range(9)]
    truth = generator.integers(0, 2, 9)

    def team(error, speed):
        for name, true in zip(names, truth, strict=True):
            guess = int(1 - true if generator.random() < error else true)
            share = {(m, f"{v}/{s}"): generator.random() for m in METRICS for v in VIEWS for s in STRUCTURES}
            lost = ["long"] if generator.random() < 0.2 else []
            # The first case is always drawn, and everybody's slowest, so that it is the slowest of any draw.
            seconds = speed * (1.0 if name == names[0] else generator.random())
            yield row(name, share=share, true=int(true), guess=guess, lost=lost, seconds=seconds)

    teams = {"A": list(team(0.1, 1.0)), "B": list(team(0.4, 2.0)), "C": list(team(0.5, 5.0))}
    challenge = get_challenge("csv2026", edition=edition, baseline_seconds=0.8)
    everything = {name: [value for values in rows for value in values] for name, rows in teams.items()}
    cube = cube_of(challenge, table_of_values(everything))
    ranked, _ = ranked_submissions(challenge, cube, {})
    weights = generator.integers(0, 4, (5, 9)).astype(float)
    weights[:, 0] = np.maximum(weights[:, 0], 1)
    scores = challenge.score(cube, weights, ranked)
    for index, counts in enumerate(weights.astype(int)):
        copies = {
            name: [
                replace(v, case=f"{v.case}#{copy}")
                for values, count in zip(rows, counts, strict=True)
                for copy in range(count)
                for v in values
            ]
            for name, rows in teams.items()
        }
        repeated = board_of("csv2026", table_of_values(copies), edition=edition, baseline_seconds=0.8)
        for scored in scores.columns:
            weighted = dict(zip(cube.submissions, scored.values[index].tolist(), strict=True))
            assert weighted == pytest.approx(column(repeated, scored.name), rel=1e-9, abs=1e-9)
        assert dict(zip(cube.submissions, scores.places[index].astype(int).tolist(), strict=True)) == repeated.places


def test_weights_of_nothing_give_no_number_and_no_noise():
    challenge = get_challenge("csv2026", baseline_seconds=1.0)
    cube = cube_of(challenge, table_of_values({"A": row("1", seconds=1), "B": row("1", seconds=2)}))
    scores = challenge.score(cube, np.zeros((2, 1)), [True, True])
    assert np.isnan(scores.columns[0].values).all()
    assert scores.places.shape == (2, 2)


# Failing never pays


SPOILED = {
    "a class": {"guess": None},
    "the wrong class": {"guess": None, "wrong": True},
    "a view": {"lost": ["trans"]},
    "both views": {"lost": ["long", "trans"]},
    "everything but time": {"lost": ["long", "trans"], "guess": None},
    "the time": {"seconds": None},
}


@pytest.mark.parametrize("edition", ["document", "code"])
@pytest.mark.parametrize("what", SPOILED)
def test_spoiling_a_case_never_pays(edition, what):
    """Whoever spoils whichever case, neither total nor place is better than with what was there, or a wrong class."""
    generator = np.random.default_rng(8)
    names = [str(number) for number in range(5)]
    spoiled = dict(SPOILED[what])
    wrong = spoiled.pop("wrong", False)
    given = {
        team: {
            name: {
                "share": {(m, f"{v}/{s}"): generator.random() for m in METRICS for v in VIEWS for s in STRUCTURES},
                "true": number % 2,
                "guess": int(generator.random() < 0.5),
                "seconds": generator.choice([0.1, 0.6, 1.1, 9.0]),
            }
            for number, name in enumerate(names)
        }
        for team in "ABC"
    }

    def scored(changed):
        teams = {team: [v for name in names for v in row(name, **cases[name])] for team, cases in changed.items()}
        return board(teams, edition=edition)

    for team in "ABC":
        for name in names:
            own = given[team][name]
            valid = own | ({"guess": 1 - own["true"]} if wrong else {})
            before, after = (
                scored(given | {team: given[team] | {name: content}}) for content in (valid, own | spoiled)
            )
            assert column(after, "total")[team] <= column(before, "total")[team] + 1e-9
            assert after.places[team] >= before.places[team]
