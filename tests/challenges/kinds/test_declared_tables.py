"""Regression and classification that are declared: the metrics of all rows together, and lines that fail."""

import numpy as np
import pytest
from declared_challenges import TOML, write_ages, write_chests, write_text

import podium
from podium.challenges.kinds import ClassificationChallenge, read_challenge
from podium.metrics import (
    area_under_roc,
    expected_calibration_error,
    log_loss,
    pearson_correlation,
    root_mean_square_error,
)
from podium.model import InputError


def columns(path):
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    return np.array([[float(number) for number in line[1:]] for line in lines]).T


def evaluated(name, data, out):
    return podium.evaluate(str(TOML / f"{name}.toml"), truth=data / "truth", submissions=data / "submissions", out=out)


def values_of(run, team):
    return next(entry for entry in run.leaderboard.entries if entry.submission == team).values


def test_errors_of_numbers(tmp_path):
    data = write_ages(tmp_path)
    run = evaluated("bone-age", data, tmp_path / "run")
    (truth,), (guess,) = (columns(data / where) for where in ("truth/truth.csv", "submissions/near/predictions.csv"))
    values = values_of(run, "near")
    assert values["mean_absolute_error_months"] == pytest.approx(np.abs(guess - truth).mean())
    assert values["root_mean_square_error_months"] == pytest.approx(float(root_mean_square_error(truth, guess)))
    assert values["bias_months"] == pytest.approx((guess - truth).mean())
    assert run.leaderboard.places == {"exact": 1, "near": 2, "middle": 3, "far": 4}
    assert set(run.cube.clusters) == {f"c{number}" for number in range(7)}
    assert [column.unit for column in run.leaderboard.columns][1] == "months"
    assert podium.load(tmp_path / "run").leaderboard.entries == run.leaderboard.entries


def test_a_line_that_is_missing_or_no_number_costs_its_price(tmp_path):
    data = write_ages(tmp_path)
    path = data / "submissions" / "exact" / "predictions.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-2], lines[-1].split(",")[0] + ","]) + "\n")
    run = evaluated("bone-age", data, tmp_path / "run")
    rows = run.measurements.filter(submission="exact", metric="mean_absolute_error").sort("case")
    assert sorted(rows["status"].to_list())[:2] == ["invalid", "missing"]
    assert values_of(run, "exact")["mean_absolute_error_months"] == pytest.approx(240 / 14)
    problems = podium.check(str(TOML / "bone-age.toml"), path.parent, truth=data / "truth")
    assert [problem.file for problem in problems if not problem.warning]


def test_agreement_has_no_price_for_one_case(tmp_path):
    data = write_ages(tmp_path)
    path = data / "submissions" / "near" / "predictions.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    run = evaluated("bone-age-agreement", data, tmp_path / "run")
    (truth,), (guess,) = (columns(data / where) for where in ("truth/truth.csv", "submissions/far/predictions.csv"))
    expected = float(pearson_correlation(truth, guess))
    assert values_of(run, "far")["pearson_correlation_months"] == pytest.approx(expected)
    assert run.leaderboard.places["near"] is None
    assert "incomplete" in next(entry.remark for entry in run.leaderboard.entries if entry.submission == "near")


def test_areas_of_labels(tmp_path):
    data = write_chests(tmp_path)
    run = evaluated("chest", data, tmp_path / "run")
    truth, guess = (columns(data / where) for where in ("truth/truth.csv", "submissions/far/predictions.csv"))
    values = values_of(run, "far")
    for number, label in enumerate(("effusion", "nodule")):
        assert values[f"area_under_roc_{label}"] == pytest.approx(float(area_under_roc(truth[number], guess[number])))
        loss = float(log_loss(truth[number], guess[number], floor=1e-6))
        assert values[f"log_loss_{label}"] == pytest.approx(loss)
        error = float(expected_calibration_error(truth[number], guess[number]))
        assert values[f"expected_calibration_error_{label}"] == pytest.approx(error)
    interval = run.rank(bootstrap=50)
    assert interval.leaderboard.places["exact"] == 1


def test_a_failed_case_counts_as_wrong(tmp_path):
    data = write_chests(tmp_path)
    path = data / "submissions" / "near" / "predictions.csv"
    lines = path.read_text().splitlines()
    lines[2] = f"{lines[2].split(',')[0]},1.5,0.5"
    path.write_text("\n".join(lines) + "\n")
    run = evaluated("chest", data, tmp_path / "run")
    truth, guess = columns(data / "truth/truth.csv"), columns(path)
    guess[0, 1] = 1 - truth[0, 1]
    expected = float(area_under_roc(truth[0], guess[0]))
    assert values_of(run, "near")["area_under_roc_effusion"] == pytest.approx(expected)
    reasons = run.failures.filter(submission="near")["reason"].to_list()
    assert any("1.5 is no probability" in reason for reason in reasons)


def test_equal_probabilities_are_tied_and_small_ones_kept(tmp_path):
    # 1 − (1 − 0.3) is a little more than 0.3, and 1 − (1 − 1e-20) is 0.
    measures = [{"metric": "area_under_roc", "failed": "wrong"}, {"metric": "log_loss", "failed": "wrong"}]
    measures[1]["floor"] = 1e-30
    files, classes = {"prediction": "predictions.csv"}, {"columns": ["yes"]}
    challenge = ClassificationChallenge(name="ties", files=files, classes=classes, quantities=measures)
    write_text(tmp_path / "truth" / "truth.csv", ["case,yes", "a,1", "b,0", "c,1", "d,0"])
    write_text(tmp_path / "teams" / "even" / "predictions.csv", ["case,yes", "a,0.3", "b,0.3", "c,0.7", "d,0.7"])
    write_text(tmp_path / "teams" / "sure" / "predictions.csv", ["case,yes", "a,1e-20", "b,0.5", "c,0.75", "d,0.25"])
    run = podium.evaluate(challenge, truth=tmp_path / "truth", submissions=tmp_path / "teams", out=tmp_path / "run")
    assert values_of(run, "even")["area_under_roc_yes"] == 0.5
    loss = -np.log([1e-20, 0.5, 0.75, 0.75]).mean()
    assert values_of(run, "sure")["log_loss_yes"] == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["case,effusion", "p0,1"], "no column nodule"),
        (["case,effusion,nodule", "q0,1,0"], "no line is called like a case of the truth, but q0"),
        (["case,effusion,nodule", "p0,1,0", "p0,1,0"], "was in line 2 already"),
    ],
)
def test_a_table_that_cannot_be_used(tmp_path, lines, problem):
    challenge, data = read_challenge(TOML / "chest.toml"), write_chests(tmp_path)
    (case,) = challenge.cases(data / "truth")
    write_text(tmp_path / "guess.csv", lines)
    with pytest.raises(InputError, match=problem):
        challenge.measure(case, challenge.load(case), tmp_path / "guess.csv")


def test_a_truth_that_is_no_class_is_refused(tmp_path):
    challenge, data = read_challenge(TOML / "chest.toml"), write_chests(tmp_path)
    write_text(data / "truth" / "truth.csv", ["case,effusion,nodule", "p0,0.5,1"])
    with pytest.raises(InputError, match="neither 0 nor 1 for p0"):
        challenge.load(challenge.cases(data / "truth")[0])
    (data / "truth" / "truth.csv").unlink()
    with pytest.raises(InputError, match=r"there is no truth\.csv here"):
        challenge.cases(data / "truth")


@pytest.mark.parametrize(
    ("name", "problem"), [("ann_lee_l", "may be 'ann' or 'ann_lee'"), ("ann", "is not called like")]
)
def test_a_row_whose_name_does_not_tell_its_cluster_is_refused(tmp_path, name, problem):
    files = {"prediction": "predictions.csv", "case": "{subject}_{eye}", "cluster": "{subject}"}
    measures = [{"metric": "area_under_roc", "failed": "wrong"}]
    challenge = ClassificationChallenge(name="eyes", files=files, classes={"columns": ["yes"]}, quantities=measures)
    write_text(tmp_path / "truth.csv", ["case,yes", "bob_l,1", f"{name},0"])
    with pytest.raises(InputError, match=problem):
        challenge.load(challenge.cases(tmp_path)[0])


@pytest.mark.parametrize("with_truth", [True, False])
def test_a_participant_is_told_what_to_do(tmp_path, with_truth):
    write_ages(tmp_path)
    path = next((tmp_path / "submissions").iterdir()) / "predictions.csv"
    write_text(path, path.read_text().replace(",", ";").splitlines())
    truth = tmp_path / "truth" if with_truth else None
    (problem,) = podium.check(str(TOML / "bone-age.toml"), path.parent, truth=truth)
    assert problem.what.endswith("Separate columns with commas")
