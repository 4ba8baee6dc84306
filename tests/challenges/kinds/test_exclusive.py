"""Classes of which exactly one is true: tables of names or probabilities, metrics of all, what failing costs."""

import numpy as np
import pytest
from declared_challenges import TOML, write_grades, write_text

import podium
from podium.challenges.kinds import ClassificationChallenge
from podium.challenges.kinds.exclusive import MAY_IMPROVE, is_joint, joint_sides, read_one_of
from podium.challenges.kinds.toml_files import parse_challenge, read_challenge
from podium.metrics import accuracy, balanced_accuracy, cohen_kappa, macro_area_under_roc, macro_f1
from podium.metrics import multiclass_brier_score as brier
from podium.metrics.registry import metrics
from podium.model import InputError

pytestmark = pytest.mark.slow

NAMES = ("none", "mild", "severe")


def evaluated(challenge, data, out):
    return podium.evaluate(challenge, truth=data / "truth", submissions=data / "submissions", out=out)


def columns_of(run):
    return {entry.submission: dict(entry.values) for entry in run.leaderboard.entries}


def test_values_are_those_of_the_metrics(tmp_path):
    data = write_grades(tmp_path)
    values = columns_of(evaluated(read_challenge(TOML / "grades.toml"), data, tmp_path / "run"))
    lines = [line.split(",") for line in (data / "truth" / "truth.csv").read_text().splitlines()[1:]]
    truth = [NAMES.index(name) for _, name in lines]
    for team in ("near", "middle", "far"):
        table = np.genfromtxt(data / "submissions" / team / "predictions.csv", delimiter=",", skip_header=1)[:, 1:]
        calls = table.argmax(axis=1)
        expected = {
            "accuracy": accuracy(truth, calls),
            "balanced_accuracy": balanced_accuracy(truth, calls),
            "macro_area_under_roc": macro_area_under_roc(truth, table),
            "multiclass_brier_score": brier(truth, table),
            "cohen_kappa": cohen_kappa(truth, calls, classes=range(3), disagreement="quadratic"),
            "macro_f1": macro_f1(truth, calls),
        }
        assert {name: values[team][name] for name in expected} == pytest.approx(expected, abs=1e-12), team
    assert (
        values["exact"]["accuracy"] == values["exact"]["cohen_kappa"] == values["exact"]["area_under_roc_severe"] == 1
    )
    assert values["exact"]["multiclass_brier_score"] == 0


def test_a_grade_that_does_not_occur_keeps_its_place_in_the_order(tmp_path):
    """Nobody is mild in truth, and one is called so: a step from none, where severe is two."""
    write_text(tmp_path / "truth" / "truth.csv", ["case,class", "a,none", "b,severe", "c,none", "d,severe"])
    lines = ["case,class", "a,none", "b,severe", "c,mild", "d,severe"]
    write_text(tmp_path / "submissions" / "one" / "predictions.csv", lines)
    challenge = ClassificationChallenge(
        name="grades",
        files={"prediction": "predictions.csv"},
        classes={"columns": NAMES, "exclusive": True},
        quantities=[{"metric": "cohen_kappa", "disagreement": "quadratic", "failed": "not ranked"}],
    )
    value = columns_of(evaluated(challenge, tmp_path, tmp_path / "run"))["one"]["cohen_kappa"]
    # Observed 1; expected by chance (2·(0·1 + 1·1 + 4·2) + 2·(4·1 + 1·1 + 0·2)) / 4 = 7.
    assert value == pytest.approx(1 - 1 / 7)


def test_a_line_that_is_missing_counts_as_wrong_in_everything(tmp_path):
    data = write_grades(tmp_path)
    path = data / "submissions" / "exact" / "predictions.csv"
    path.write_text(path.read_text().replace("p0,", "another,"))
    middle = data / "submissions" / "middle" / "predictions.csv"
    lines = middle.read_text().splitlines()
    middle.write_text("\n".join(f"{line.rpartition(',')[0]}," if "p1," in line else line for line in lines))
    run = evaluated(read_challenge(TOML / "grades.toml"), data, tmp_path / "run")
    values = columns_of(run)["exact"]
    assert values["accuracy"] == pytest.approx(14 / 15)
    assert values["multiclass_brier_score"] == pytest.approx(2 / 15)
    assert values["macro_area_under_roc"] < 1
    failed = run.failures.filter(status="invalid")
    assert set(failed["case"]) == {"p1"}, "what lacks one of its probabilities has none"
    check = podium.check(read_challenge(TOML / "grades.toml"), data / "submissions" / "middle", truth=data / "truth")
    assert check


def test_what_failed_is_as_wrong_as_can_be():
    truth = np.eye(3)[None, [0, 2]]
    chances = 1 - truth
    failed = np.array([[True, False]])
    chances[0, 1] = truth[0, 1]
    true, calls = joint_sides("accuracy", truth, chances, failed)
    assert (true.tolist(), (calls == true).tolist()) == ([[0, 2]], [[False, True]])
    assert brier(*(side[0, :1] for side in joint_sides("multiclass_brier_score", truth, chances, failed))) == 2
    assert joint_sides("macro_area_under_roc", truth, chances, failed)[1][0].tolist() == [[0, 1, 1], [0, 0, 1]]
    chances[0, 1] = np.nan
    assert np.isnan(joint_sides("accuracy", truth, chances, failed)[1][0]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["case,class", "a,none", "b,bad"], r"there is no class 'bad' \(b\). Classes are: none, mild, severe"),
        (["case,none,mild,severe", "a,0.5,0.5,0", "b,0.5,0.4,0"], "the probabilities of b do not add up to 1"),
        (["case,none,mild", "a,0.5,0.5"], "there is no column severe"),
        (["class,case", "none,a"], "the first column is 'class'"),
        (["case,class", "a,none", "a,mild", ",none", "d"], "line 3 has the name of an earlier one; line 4 has no name"),
        (["case,class"], "there are no rows"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, lines, problem):
    write_text(tmp_path / "predictions.csv", lines)
    with pytest.raises(InputError, match=problem):
        read_one_of(tmp_path / "predictions.csv", NAMES)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("exclusive = true", "", r"line 14: accuracy is of classes of which exactly one is true. Write exclusive"),
        ('metric = "accuracy"\n', 'metric = "accuracy"\nof = ["mild"]\n', "accuracy is of all classes together"),
        ('"quadratic"\ndecides = false', '"quadratic"\nfailed = "wrong"', "a wrong case may improve cohen_kappa"),
        ('"quadratic"\n', '"quadratic"\nclasses = [1, 2]\n', "cohen_kappa is of all classes together"),
        ('metric = "accuracy"\nfailed = "wrong"', 'metric = "accuracy"\nfailed = 0', "one case has no accuracy"),
    ],
)
def test_declarations_that_cannot_be(old, new, problem):
    text = (TOML / "grades.toml").read_text()
    assert old in text
    with pytest.raises(InputError, match=problem):
        parse_challenge(text.replace(old, new, 1))


def test_every_metric_of_classes_can_be_declared(tmp_path):
    joint = [metric for metric in metrics() if is_joint(metric.name)]
    challenge = ClassificationChallenge(
        name="grades",
        files={"prediction": "predictions.csv"},
        classes={"columns": NAMES, "exclusive": True},
        quantities=[
            {"metric": metric.name, "failed": "not ranked", **({"floor": 1e-6} if "log" in metric.name else {})}
            for metric in joint
        ],
    )
    values = columns_of(evaluated(challenge, write_grades(tmp_path), tmp_path / "run"))["near"]
    assert len(joint) > 10
    assert all(np.isfinite(values[metric.name]) for metric in joint)
    assert {metric.name for metric in joint} | {"expected_calibration_error"} >= set(MAY_IMPROVE)
