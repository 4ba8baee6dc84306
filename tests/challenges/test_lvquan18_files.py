"""LVQuan18's files as organisers and teams have them: scales, units, frames from 0, and what was e-mailed."""

import shutil

import numpy as np
import pytest
from boards import board_of, measurements
from lvquan18_files import WRITERS, measured, names, numbers, write_csv, write_mat, write_txt
from scipy import stats
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.cli import app
from podium.model import InputError, Status
from podium.run import verify_run
from podium.testing import assert_check_agrees


@pytest.fixture
def truth(tmp_path):
    folder = tmp_path / "truth"
    folder.mkdir()
    write_mat(folder / "LVQUAN_truth.mat", numbers(), hat="")
    return folder


def near_truth(percent):
    """Return numbers that are off by some percent, and right phases."""
    return numbers() * np.append(np.full(11, 1 + percent / 100), 1)[:, None]


@pytest.mark.parametrize("suffix", [".mat", ".csv"])
def test_millimetres(tmp_path, suffix):
    folder = tmp_path / "truth"
    folder.mkdir()
    spacing, ratio = np.array([1.25, 1.5]), np.linspace(1, 2, 40)
    if suffix == ".mat":
        write_mat(folder / "any.mat", numbers(), hat="", pix_spa=spacing[None], ratio_resize_inverse=ratio[None])
    else:
        write_csv(folder / "any.csv", numbers(), pix_spa=np.repeat(spacing, 20), ratio_resize_inverse=ratio)
    guess = numbers() + 0.01
    guess[-1] = 1
    values = measured(folder, write_mat(tmp_path / "LVQUAN_x.mat", guess))
    scale = 1.5 * ratio[24] * 80
    assert values["sub-02-05", "absolute_error", "D1"].value == pytest.approx(0.01 * scale)
    assert values["sub-02-05", "absolute_error", "A1"].value == pytest.approx(0.01 * scale**2)
    assert values["sub-02-05", "prediction", "A1"].value == pytest.approx(guess[0, 24] * scale**2)
    assert values["sub-02-05", "scale_mm", ""].value == pytest.approx(scale)
    rows = {"x": {}}
    for (image, metric, target), value in values.items():
        rows["x"].setdefault(image, {})[metric, target] = value.value
    board = board_of("lvquan18", measurements(rows))
    assert {c.name: c.unit for c in board.columns if c.name in ("mae_area", "mae_dim", "mae_A2", "er_phase")} == {
        "mae_area": "mm²",
        "mae_dim": "mm",
        "mae_A2": "mm²",
        "er_phase": "",
    }
    scales = np.repeat(spacing, 20) * ratio * 80
    assert board.entries[0].values["mae_rwt"] == pytest.approx((0.01 * scales).mean())
    expected = stats.pearsonr(numbers()[3] * scales, guess[3] * scales).statistic
    assert board.entries[0].values["pcc_D2"] == pytest.approx(expected)
    assert board.notes[0] == "Errors are in mm (areas: mm²)."


@pytest.mark.parametrize("subjects", [1, 2, 20])
def test_ratios_of_one_column_per_subject_are_read_column_by_column(tmp_path, subjects):
    """As the organisers' file has them; with 20 subjects the matrix is square, and only its meaning tells."""
    images = 20 * subjects
    ratio = np.random.default_rng(0).uniform(1, 2, (20, subjects))
    spacing = np.linspace(1.1, 1.5, subjects)
    guess = numbers(images) + 0.01
    errors = {}
    for name, scales in {
        "organisers": {"pix_spa": spacing[:, None], "ratio_resize_inverse": ratio},
        "row": {"pix_spa": spacing[None], "ratio_resize_inverse": ratio.T.reshape(1, -1)},
        "images": {"pix_spa": np.repeat(spacing, 20)[None], "ratio_resize_inverse": ratio},
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        write_mat(folder / "any.mat", numbers(images), hat="", **scales)
        values = measured(folder, write_mat(tmp_path / "LVQUAN_x.mat", guess))
        errors[name] = {key: value.value for key, value in values.items()}
    for subject in range(subjects):
        for frame in (0, 7, 19):
            scale = spacing[subject] * ratio[frame, subject] * 80
            error = errors["organisers"][f"sub-{subject + 1:02d}-{frame + 1:02d}", "absolute_error", "D1"]
            assert error == pytest.approx(0.01 * scale)
    assert errors["organisers"] == errors["row"] == errors["images"]


@pytest.mark.parametrize("shape", [(60, 1), (3, 20), (10, 6), (6, 10), (20, 2), (20, 4), (1, 59), (1, 3), (2, 30)])
def test_ratios_of_any_other_shape_are_refused(tmp_path, shape):
    more = {"pix_spa": np.ones((1, 3)), "ratio_resize_inverse": np.ones(shape)}
    write_mat(tmp_path / "LVQUAN_t.mat", numbers(60), hat="", **more)
    message = f"ratio_resize_inverse is {shape[0]} × {shape[1]}, neither 1 × 60 nor 20 × 3 with one column"
    challenge = get_challenge("lvquan18")
    with pytest.raises(InputError, match=message):
        challenge.load(*challenge.cases(tmp_path))
    normalised = get_challenge("lvquan18", units="normalised")  # which needs no scale, not even a good one
    assert normalised.load(*normalised.cases(tmp_path)).scale_mm is None


@pytest.mark.parametrize("suffix", [".mat", ".csv"])
def test_normalised_units_can_be_asked_for(tmp_path, suffix):
    folder, teams = tmp_path / "truth", tmp_path / "teams"
    folder.mkdir()
    teams.mkdir()
    scales = {"pix_spa": np.full((1, 40), 1.2), "ratio_resize_inverse": np.full((1, 40), 1.5)}
    if suffix == ".mat":
        write_mat(folder / "any.mat", numbers(), hat="", **scales)
    else:
        write_csv(folder / "any.csv", numbers(), **{name: scale[0] for name, scale in scales.items()})
    write_mat(teams / "LVQUAN_x.mat", numbers() + 0.01)
    result = CliRunner().invoke(
        app,
        ["evaluate", "lvquan18", "--truth", str(folder), "--submissions", str(teams), "--out", str(tmp_path / "run"),
         "--units", "normalised"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    board = podium.load(tmp_path / "run").leaderboard
    assert board.entries[0].values["mae_area"] == pytest.approx(0.01)
    assert {column.unit for column in board.columns if column.name.startswith("mae_")} == {""}
    assert board.notes[0] == "Errors are in normalised units (0 to 1), as asked for."
    with pytest.raises(InputError, match="units is one of mm, normalised, not 'cm'"):
        get_challenge("lvquan18", units="cm")


@pytest.mark.parametrize("suffix", [".txt", ".csv"])
def test_frames_may_be_counted_from_0(truth, tmp_path, suffix):
    guess = numbers(seed=1)
    plain = measured(truth, write_mat(tmp_path / "LVQUAN_x.mat", guess))
    from_0 = [f"sub-{n // 20 + 1:02d}-{n % 20:02d}" for n in range(40)]
    write = WRITERS[suffix]
    assert measured(truth, write(tmp_path / f"LVQUAN_x{suffix}", guess, from_0)) == plain
    # One line is lost, and it is that of this frame, not of its neighbour.
    values = measured(truth, write(tmp_path / f"LVQUAN_x{suffix}", guess[:, :-1], from_0[:-1]))
    assert {image for (image, *_), value in values.items() if value.status is Status.MISSING} == {"sub-02-20"}
    one_of_each = [*from_0[:20], *names()[20:]]
    with pytest.raises(InputError, match="there are frames 0 and 20: count them from 1 to 20, or from 0 to 19"):
        measured(truth, write(tmp_path / f"LVQUAN_x{suffix}", guess, one_of_each))


def test_files_as_they_were_emailed_are_teams(truth, tmp_path):
    """One plain file for each team, beside a folder and an archive, in one folder."""
    teams = tmp_path / "teams"
    (teams / "folder").mkdir(parents=True)
    (teams / "packed").mkdir()
    write_mat(teams / "LVQUAN_Team A.mat", near_truth(1))
    write_txt(teams / "LVQUAN_b.c.txt", near_truth(2))
    write_csv(teams / "LVQUAN_d.csv", near_truth(3))
    write_mat(teams / "folder" / "LVQUAN_x.mat", near_truth(4))
    write_mat(teams / "packed" / "LVQUAN_y.mat", near_truth(5))
    shutil.make_archive(str(teams / "archive"), "zip", teams, "packed")
    shutil.rmtree(teams / "packed")
    run = podium.evaluate("lvquan18", truth=truth, submissions=teams, out=tmp_path / "run", baselines=["d"])
    assert {name: role.value for name, role in run.roles.items()} == {
        "Team A": "competitor",
        "archive": "competitor",
        "b.c": "competitor",
        "d": "baseline",
        "folder": "competitor",
    }
    assert run.failures.is_empty()
    errors = {entry.submission: entry.values["mae_dim"] for entry in run.leaderboard.entries}
    assert sorted(errors, key=errors.get) == ["Team A", "b.c", "d", "folder", "archive"]
    assert list(run.record.submissions["b.c"].sha256) == ["LVQUAN_b.c.txt"]
    assert verify_run(run).nothing_differs


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ("results.mat", "results.mat is not named after a team like the others"),
        ("lvquan_c.MAT", "lvquan_c.MAT is not named after a team like the others. Call it LVQUAN_"),
        ("LVQUAN_.txt", "LVQUAN_.txt is not named after a team like the others"),
        ("LVQUAN_a.txt", "two submissions are called a: LVQUAN_a.mat and LVQUAN_a.txt"),
        ("a.zip", "two submissions are called a: LVQUAN_a.mat and a.zip"),
    ],
)
def test_no_emailed_file_is_passed_over(truth, tmp_path, extra, what):
    teams = tmp_path / "teams"
    teams.mkdir()
    write_mat(teams / "LVQUAN_a.mat", numbers())
    (teams / "LVQUAN_b.mat").symlink_to(write_mat(tmp_path / "elsewhere.mat", numbers()))
    run = podium.evaluate("lvquan18", truth=truth, submissions=teams, out=tmp_path / "run")
    assert {entry.submission: entry.place for entry in run.leaderboard.entries} == {"a": 1, "b": None}
    reasons = {name: reason for name, _, _, reason in run.failures.iter_rows()}
    assert reasons["b"] == "LVQUAN_b.mat is a symbolic link, which is not followed"
    (teams / extra).touch()
    with pytest.raises(InputError, match=what):
        podium.evaluate("lvquan18", truth=truth, submissions=teams, out=tmp_path / "run2")


def test_check_of_the_one_file(truth, tmp_path):
    good = write_mat(tmp_path / "LVQUAN_x.mat", numbers())
    assert podium.check("lvquan18", good) == podium.check("lvquan18", good, truth=truth) == []
    (tmp_path / "other.zip").touch()  # what lies beside it is nobody's business
    assert podium.check("lvquan18", good, truth=truth) == []
    bad = write_txt(tmp_path / "mine.txt", numbers(30))
    assert [(problem.file, problem.warning) for problem in podium.check("lvquan18", bad)] == [
        ("", False),
        ("mine.txt", True),
    ]
    (problem,) = podium.check("lvquan18", bad, truth=truth)
    assert problem.what.startswith("truth and predictions share no name: LVQUAN_*.mat expected, there is mine.txt")
    with pytest.raises(InputError, match="this is a single file"):
        podium.check("kits21", good)


def test_check_lists_images_without_a_line_beside_those_without_a_number(truth, tmp_path):
    file = write_txt(tmp_path / "LVQUAN_x.txt", numbers())
    lines = file.read_text().splitlines()
    values = lines[4].partition(", ")
    file.write_text("\n".join([*lines[:3], *lines[5:], f"{values[0].partition(':')[0]}: nan, {values[2]}"]))
    whats = [problem.what for problem in podium.check("lvquan18", file, truth=truth)]
    assert whats == ["A1 is missing or not finite for sub-01-05", "no line for sub-01-04"]
    file.write_text(file.read_text() + "\n" + lines[0].replace("sub-01-01", "sub-99-01"))
    whats = [problem.what for problem in podium.check("lvquan18", file, truth=truth)]
    assert whats[0] == "A1 is missing or not finite for sub-01-05"
    assert whats[1].startswith("sub-99-01: not in the truth")


@pytest.mark.parametrize("suffix", WRITERS)
def test_whatever_happens_to_files_check_and_evaluate_agree(truth, tmp_path, suffix):
    team = tmp_path / "ours"
    team.mkdir()
    WRITERS[suffix](team / f"LVQUAN_ours{suffix}", numbers())
    assert_check_agrees(get_challenge("lvquan18"), truth=truth, submission=team, scratch=tmp_path / "damaged")


def test_check_of_a_folder_of_emailed_files_says_that_they_are_of_several_teams(truth, tmp_path):
    """One of them could be measured as if it were the whole; that the others would not be is no riddle either."""
    folder = tmp_path / "mails"
    folder.mkdir()
    write_mat(folder / "LVQUAN_alpha.mat", numbers())
    write_txt(folder / "LVQUAN_beta.txt", numbers())
    several = "these look like submissions of several teams (alpha, beta): check one file at a time"
    passed_over = "unexpected file: LVQUAN_alpha.mat is taken in its place"
    for given, other in ((truth, [("LVQUAN_beta.txt", passed_over)]), (None, [])):
        problems = podium.check("lvquan18", folder, truth=given)
        assert [(problem.file, problem.what) for problem in problems] == [("", several), *other]
        assert all(problem.warning for problem in problems)
        assert podium.check("lvquan18", folder / "LVQUAN_beta.txt", truth=given) == []
