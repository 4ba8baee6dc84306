"""LVQuan18: three formats, what cannot be used, and runs from files to a leaderboard."""

import numpy as np
import pytest
from lvquan18_files import INDICES, WRITERS, measured, names, numbers, write_csv, write_mat, write_txt
from scipy.io import savemat

import podium
from podium.challenges import get_challenge
from podium.challenges.lvquan18 import demo
from podium.model import InputError, Status
from podium.ranking import leaderboard_of
from podium.run import Problem, check_submission, find_submissions, measure_all


@pytest.fixture
def truth(tmp_path):
    folder = tmp_path / "truth"
    folder.mkdir()
    write_mat(folder / "LVQUAN_truth.mat", numbers(), hat="")
    return folder


def test_every_value_by_hand(truth, tmp_path):
    guess = numbers()
    guess[1, 24] += 0.25
    guess[11, 24] = 1 - guess[11, 24]
    values = measured(truth, write_mat(tmp_path / "LVQUAN_x.mat", guess))
    assert values["sub-02-05", "absolute_error", "A2"].value == pytest.approx(0.25)
    assert values["sub-02-05", "reference", "A2"].value == numbers()[1, 24]
    assert values["sub-02-05", "prediction", "A2"].value == guess[1, 24]
    assert values["sub-02-05", "phase_error", ""].value == 1
    others = [v.value for key, v in values.items() if key[1].endswith("_error") and key[0] != "sub-02-05"]
    assert set(others) == {0.0}
    assert len(values) == 40 * 34


@pytest.mark.parametrize("true_suffix", WRITERS)
def test_three_formats_one_leaderboard(tmp_path, true_suffix):
    folder = tmp_path / "truth"
    folder.mkdir()
    if true_suffix == ".mat":
        write_mat(folder / "LVQUAN_t.mat", numbers(), hat="")
    else:
        WRITERS[true_suffix](folder / f"LVQUAN_t{true_suffix}", numbers())
    boards = []
    for suffix, write in WRITERS.items():
        for place, name in enumerate("abc"):
            entry = tmp_path / suffix[1:] / name
            entry.mkdir(parents=True)
            guess = numbers() * np.random.default_rng(place).normal(1, 0.1 + 0.1 * place, (12, 40))
            guess[-1] = np.round(numbers()[-1])
            write(entry / f"LVQUAN_{name}{suffix}", guess)
        challenge = get_challenge("lvquan18")
        run = measure_all(challenge, truth=folder, submissions=find_submissions(tmp_path / suffix[1:]))
        assert run.failures == []
        boards.append(leaderboard_of(challenge, run.table))
    assert boards[0] == boards[1] == boards[2]
    assert [entry.place for entry in boards[0].entries] == [1, 2, 3]


def test_names_without_hats_in_any_order_and_width(truth, tmp_path):
    plain = measured(truth, write_mat(tmp_path / "LVQUAN_x.mat", numbers(seed=1), hat=""))
    images = [f"SUB-{int(name[4:6])}-{int(name[7:9]):03d}" for name in names()]
    order = np.random.default_rng(0).permutation(40)
    shuffled = write_txt(tmp_path / "LVQUAN_x.txt", numbers(seed=1)[:, order], [images[n] for n in order])
    assert measured(truth, shuffled) == plain
    # Both in one file: the prediction is the one with the hat.
    both = {"areas": numbers()[:2], "dims": numbers()[2:5], "rwt": numbers()[5:11], "lv_phase": numbers()[11:]}
    assert measured(truth, write_mat(tmp_path / "LVQUAN_y.mat", numbers(seed=1), **both)) == plain


@pytest.mark.parametrize("scaled", [False, True])
def test_the_correlation_of_a_constant_is_undefined(tmp_path, scaled):
    folder = tmp_path / "truth"
    folder.mkdir()
    more = {"pix_spa": np.array([[1.1, 1.3]]), "ratio_resize_inverse": np.linspace(1, 2, 40)[None]} if scaled else {}
    write_mat(folder / "LVQUAN_t.mat", numbers(), hat="", **more)
    guess = np.repeat([[0.3]], 12, axis=0) + np.zeros(40)
    guess[2] = numbers()[2] * 0.9
    guess[-1] = 1
    for name, values in (("constant", guess), ("good", numbers(seed=1))):
        (tmp_path / "teams" / name).mkdir(parents=True)
        write_mat(tmp_path / "teams" / name / f"LVQUAN_{name}.mat", values)
    challenge = get_challenge("lvquan18")
    run = measure_all(challenge, truth=folder, submissions=find_submissions(tmp_path / "teams"))
    board = leaderboard_of(challenge, run.table)
    values = next(e.values for e in board.entries if e.submission == "constant")
    assert values["pcc_D1"] == pytest.approx(1)
    assert [values[f"pcc_{index}"] for index in INDICES if index != "D1"] == [None] * 10
    note = (
        "The PCC of constant is undefined for A1, A2, D2, D3, RWT1, RWT2, RWT3, RWT4, RWT5, RWT6: predictions, or true"
    )
    assert [line[: len(note)] for line in board.notes[2:]] == [note]
    assert {entry.place for entry in board.entries} <= {1, 2}  # PCC is not ranked


def test_what_cannot_be_used(truth, tmp_path):
    path = tmp_path / "LVQUAN_x.mat"
    with pytest.raises(InputError, match=r"LVQUAN_x.mat: there are 39 images \(columns\), the truth has 40"):
        measured(truth, write_mat(path, numbers(39)))
    values = numbers()
    savemat(path, {"areas_hat": values[:2].T, "dims_hat": values[2:5].T, "rwt_hat": values[5:11].T})
    with pytest.raises(InputError) as caught:
        measured(truth, path)
    assert "areas_hat is 40 × 2, not 2 × n with one column for each image: transpose it" in str(caught.value)
    assert "rwt_hat is 40 × 6" in str(caught.value)
    assert "there is no variable lv_phase_hat" in str(caught.value)
    write_mat(path, values, areas_hat=values[:2, :30])
    with pytest.raises(InputError, match=r"different numbers of images .* areas_hat 30, dims_hat 40"):
        measured(truth, path)
    write_mat(path, values, dims_hat="text")
    with pytest.raises(InputError, match="'dims_hat' is of class char"):
        measured(truth, path)
    with pytest.raises(InputError, match="sub-03-01, sub-03-02: not in the truth, which has sub-01-01 to sub-02-20"):
        measured(truth, write_txt(tmp_path / "LVQUAN_x.txt", numbers(42)))
    with pytest.raises(InputError, match="images are listed twice: sub-01-01"):
        measured(truth, write_txt(tmp_path / "LVQUAN_x.txt", values[:, :2], ["sub-1-1", "sub-01-01"]))
    with pytest.raises(InputError, match="images are not named sub-01-01"):
        measured(truth, write_csv(tmp_path / "LVQUAN_x.csv", values[:, :1], ["patient1"]))
    transposed = tmp_path / "LVQUAN_x.csv"
    transposed.write_text("index," + ",".join(names()) + "\n")
    with pytest.raises(InputError, match="there is no column A1, A2, D1"):
        measured(truth, transposed)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(InputError, match="MATLAB"):
        measured(truth, path)


def test_a_phase_of_another_kind_is_wrong_and_said(truth, tmp_path):
    guess = numbers()
    guess[-1, 3] = 2
    value = measured(truth, write_mat(tmp_path / "LVQUAN_x.mat", guess))["sub-01-04", "phase_error", ""]
    assert (value.value, value.status) == (1, Status.OK)
    assert value.reason == "sub-01-04: Phase 2 occurs nowhere in the truth and counts as wrong"


def test_the_truth(tmp_path):
    challenge = get_challenge("lvquan18")
    assert challenge.cases(tmp_path) == []
    one = write_mat(tmp_path / "something.mat", numbers(), hat="")
    assert [case.files for case in challenge.cases(tmp_path)] == [(one,)]
    two = write_csv(tmp_path / "other.csv", numbers())
    with pytest.raises(InputError, match=r"several files could be the truth: other\.csv, something\.mat"):
        challenge.cases(tmp_path)
    three = write_txt(tmp_path / "LVQUAN_030.txt", numbers())
    (case,) = challenge.cases(tmp_path)
    assert case.files == (three,)
    assert case.expected == ("LVQUAN_*.mat", "LVQUAN_*.txt", "LVQUAN_*.csv")
    for path in (two, three):
        path.unlink()
    broken = numbers()
    broken[3, 5] = np.nan
    write_mat(one, broken, hat="")
    with pytest.raises(InputError, match="the truth has no finite number for sub-01-06"):
        challenge.load(challenge.cases(tmp_path)[0])
    write_mat(one, numbers(), hat="", pix_spa=np.ones((1, 3)), ratio_resize_inverse=np.ones((1, 40)))
    with pytest.raises(InputError, match="pix_spa is 1 × 3, not 1 × 2 with one value for each subject"):
        challenge.load(challenge.cases(tmp_path)[0])
    write_mat(one, numbers(), hat="", pix_spa=np.zeros((1, 2)), ratio_resize_inverse=np.ones((1, 40)))
    with pytest.raises(InputError, match="must be positive"):
        challenge.load(challenge.cases(tmp_path)[0])


def test_subjects_are_clusters():
    challenge = get_challenge("lvquan18")
    assert challenge.cluster("sub-01-05") == "sub-01"
    assert challenge.cluster("sub-100-20") == "sub-100"


def test_check_says_everything_at_once(tmp_path):
    challenge = get_challenge("lvquan18")
    good = write_mat(tmp_path / "LVQUAN_x.mat", numbers())
    assert challenge.check(None, good) == []
    values = numbers()
    values[0, 3] = np.nan
    values[3:5, 20] = np.inf
    values[-1, 5] = 0.7
    values[5, 7:9] = -0.1, 1.5
    values[2, 8] = 30
    odd = write_csv(tmp_path / "LVQUAN_y.csv", values)
    assert challenge.check(None, odd) == [
        "A1 is missing or not finite for sub-01-04",
        "D2, D3 are missing or not finite for sub-02-01",
    ]
    assert challenge.doubts(None, None, odd) == [
        "D1, RWT1: outside 0 to 1 for sub-01-08, sub-01-09; numbers are normalised, not in mm",
        "Phase is neither 0 nor 1 for sub-01-06",
    ]
    savemat(good, {"areas_hat": values[:2].T, "dims_hat": values[2:4]})
    assert challenge.check(None, good) == [
        "areas_hat is 40 × 2, not 2 × n with one column for each image: transpose it (in MATLAB, areas_hat')",
        "dims_hat is 2 × 40, not 3 × n with one column for each image",
        "there is no variable rwt_hat",
        "there is no variable lv_phase_hat",
    ]


def test_other_files_are_no_problem_and_a_strange_phase_is_a_doubt(tmp_path):
    team = tmp_path / "team"
    team.mkdir()
    (team / "notes.pdf").touch()
    values = numbers()
    values[-1, 5] = 0.7
    write_csv(team / "LVQUAN_y.csv", values)
    wanted = "unexpected file: predictions are called LVQUAN_*.mat, LVQUAN_*.txt, LVQUAN_*.csv"
    assert check_submission(get_challenge("lvquan18"), team) == [
        Problem("LVQUAN_y.csv", "Phase is neither 0 nor 1 for sub-01-06", warning=True),
        Problem("notes.pdf", wanted, warning=True),
    ]


def test_a_run_with_every_kind_of_failure(truth, tmp_path):
    """Corrupt, missing, misshapen, full of NaN, in part: nobody else's numbers change, and each is explained."""
    teams = tmp_path / "teams"
    for name in ("good", "other", "corrupt", "missing", "misshapen", "nan", "partly"):
        (teams / name).mkdir(parents=True)
    write_mat(teams / "good" / "LVQUAN_a.mat", numbers() * np.append(np.full(11, 1.01), 1)[:, None])
    write_csv(teams / "other" / "LVQUAN_b.csv", numbers() * np.append(np.full(11, 1.05), 1)[:, None])
    challenge = get_challenge("lvquan18")

    def board():
        run = measure_all(challenge, truth=truth, submissions=find_submissions(teams))
        return leaderboard_of(challenge, run.table), run

    write_mat(teams / "corrupt" / "LVQUAN_c.mat", numbers())
    damaged = (teams / "corrupt" / "LVQUAN_c.mat").read_bytes()[:1000]
    (teams / "corrupt" / "LVQUAN_c.mat").write_bytes(damaged)
    (teams / "missing" / "readme.md").touch()
    write_mat(teams / "misshapen" / "LVQUAN_m.mat", numbers(60))
    write_mat(teams / "nan" / "LVQUAN_n.mat", np.full((12, 40), np.nan))
    write_txt(teams / "partly" / "LVQUAN_p.txt", numbers(17))
    found, run = board()
    assert [(e.submission, e.place) for e in found.entries[:2]] == [("good", 1), ("other", 2)]
    remarks = {entry.submission: entry.remark for entry in found.entries[2:]}
    assert remarks.pop("partly") == (
        "incomplete: no valid number for 23 of 40 images: sub-01-18, sub-01-19, sub-01-20, sub-02-01, sub-02-02, "
        "sub-02-03, sub-02-04, sub-02-05, sub-02-06, sub-02-07 and 13 more"
    )
    assert remarks == dict.fromkeys(("corrupt", "missing", "misshapen", "nan"), "every case failed")
    reasons = {(submission, case): reason for submission, case, status, reason in run.failures if status != "warning"}
    everything = "sub-01-01 and 39 more"  # what a whole file costs is said once
    assert len(reasons) == 3 + 40 + 23
    assert "MATLAB" in reasons["corrupt", everything]
    assert reasons["missing", everything] == "there is no LVQUAN_*.mat"
    assert "there are 60 images (columns), the truth has 40" in reasons["misshapen", everything]
    assert reasons["partly", "sub-02-20"] == "sub-02-20: this image is missing"
    assert reasons["nan", "sub-01-01"].endswith("RWT6, Phase are missing or not finite")

    for name in ("corrupt", "missing", "misshapen", "nan", "partly"):
        for path in (teams / name).iterdir():
            path.unlink()
        (teams / name).rmdir()
    assert board()[0].entries == found.entries[:2]


@pytest.mark.parametrize("size", [1e-300, 1e200, 1e300])
def test_no_magnitude_stops_a_run(truth, tmp_path, size):
    """One absurd number, and a whole file of them: everybody else is ranked as without, and all is told."""
    teams = tmp_path / "teams"
    values = {"good": numbers() * 1.01, "other": numbers() * 1.05, "one": numbers() * 1.03, "all": numbers() * size}
    values["one"][0, 3] = size
    for name, own in values.items():
        (teams / name).mkdir(parents=True)
        own[-1] = numbers()[-1]
        write_csv(teams / name / "LVQUAN_a.csv", own)
    run = podium.evaluate("lvquan18", truth=truth, submissions=teams, out=tmp_path / "run")
    ranking = run.rank(bootstrap=40)
    places = ranking.places
    assert places["good"] == 1 < places["other"]
    assert len(ranking.confidence.ranks) == len(ranking.stability.submissions) == 4
    assert {"intervals", "pairs"} <= set(ranking.tables)
    assert run.challenge.overviews(run.measurements)


def test_two_files_are_one_too_many(truth, tmp_path):
    entry = tmp_path / "teams" / "a"
    entry.mkdir(parents=True)
    for name in "xy":
        write_mat(entry / f"LVQUAN_{name}.mat", numbers())
    run = measure_all(get_challenge("lvquan18"), truth=truth, submissions=find_submissions(tmp_path / "teams"))
    assert "2 predictions" in run.failures[0][3]


@pytest.mark.slow
def test_the_demo(tmp_path):
    for name in ("one", "two"):
        demo.write(tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) == 7
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()
    challenge = get_challenge("lvquan18")
    submissions = find_submissions(tmp_path / "one" / "submissions", baselines=("baseline",))
    run = measure_all(challenge, truth=tmp_path / "one" / "truth", submissions=submissions)
    board = leaderboard_of(challenge, run.table, roles=run.roles)
    assert [(e.submission, e.place) for e in board.entries] == [
        ("careful", 1),
        ("steady", 1),
        ("biased", 3),
        ("noisy", 4),
        ("unlucky", None),
        ("baseline", None),
    ]
    assert "incomplete: no valid number for 5 of 240 images" in board.entries[4].remark
