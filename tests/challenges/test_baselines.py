"""Baselines that run: as commands in processes of their own, on the images of the demos, in every protocol."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from unconfined import Plain

import podium
from podium.algorithms.asking import ask_cases
from podium.algorithms.specs import Algorithm, Allowance, Ending
from podium.challenges import challenges, get_challenge
from podium.challenges.baselines import baseline_algorithms
from podium.challenges.kits21.baseline import segmented as segmented_ct
from podium.challenges.lvquan18.baseline import TRAINING, training_mean
from podium.challenges.trackrad2025.baseline import FirstTarget, TemplateMatching, correlation
from podium.challenges.tusrec import baseline as tusrec
from podium.model import InputError
from podium.run import check_submission

pytestmark = pytest.mark.slow

NAMES = sorted(challenges())
PAIRS = [(name, algorithm.name) for name in NAMES for algorithm in baseline_algorithms(get_challenge(name))]


@pytest.fixture(scope="module")
def answers(few_cases, tmp_path_factory):
    """Return the predictions of a baseline and what came of its cases; asked once for every protocol."""
    known = {}

    def of(name, method, protocol="case"):
        if (name, method, protocol) not in known:
            algorithms = baseline_algorithms(get_challenge(name), protocol=protocol)
            (algorithm,) = (algorithm for algorithm in algorithms if algorithm.name == method)
            folder = tmp_path_factory.mktemp(method)
            known[name, method, protocol] = asked(name, algorithm, few_cases(name), folder)
        return known[name, method, protocol]

    return of


def asked(name, algorithm, truth, folder):
    """Ask an algorithm about all cases; return the folder with what it answered, as a team would send it."""
    interface = get_challenge(name).interface
    team, parts = folder / algorithm.name, folder / "parts"
    team.mkdir(parents=True)
    parts.mkdir()
    paths, outcomes = [], []
    questions = interface.questions(truth)
    with closing(Plain()) as confinement:
        for question, outcome in zip(
            questions,
            ask_cases(
                algorithm,
                confinement,
                interface,
                questions,
                allowance=Allowance(),
                scratch=folder / "scratch",
                logs=folder / "logs",
            ),
            strict=True,
        ):
            outcomes.append(outcome)
            assert outcome.ending is Ending.ANSWERED, outcome.reason
            target = (parts if interface.joins else team) / interface.file_name(question, outcome.answer)
            shutil.move(outcome.answer, target)
            paths.append(target)
        assert confinement.running == []
    if interface.joins:
        interface.join(paths, team)
    return team, outcomes


def scored(name, truth, teams, folder):
    """Evaluate teams; return the values on the board."""
    for team in teams:
        shutil.copytree(team, folder / "teams" / team.name)
    options = {"timing": "ignored"} if name == "trackrad2025" else {}
    run = podium.evaluate(name, truth=truth, submissions=folder / "teams", out=folder / "run", options=options)
    assert run.failures.is_empty()
    return {entry.submission: entry.values for entry in run.leaderboard.entries}


def test_every_challenge_has_a_baseline_that_runs():
    assert {name for name, _ in PAIRS} == set(NAMES)


GOOD_ENOUGH = {
    ("kits21", "threshold"): {"dice_kidney_and_mass": (0.9, 1), "dice_tumor": (0.8, 1)},
    ("csv2026", "threshold"): {"dice_long_vessel": (0.9, 1), "dice_trans_plaque": (0.5, 1)},
    ("trackrad2025", "template-matching"): {"dice": (0.95, 1), "centre_distance": (0, 1)},
    ("trackrad2025", "first-target"): {"dice": (0.5, 0.9)},
    ("tusrec", "constant-sweep"): {"score": (0.5, 1), "local": (0.5, 1)},
    ("tusrec", "standstill"): {"score": (0, 0)},
    ("lvquan18", "training-mean"): {"er_phase": (0, 0.2), "mae_dim": (0, 8)},
}


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_a_baseline_is_a_command_whose_answers_are_accepted(few_cases, answers, name, method, tmp_path):
    team, _ = answers(name, method)
    problems = check_submission(get_challenge(name), team, truth=few_cases(name))
    assert [problem for problem in problems if not problem.warning] == []
    board = scored(name, few_cases(name), [team], tmp_path)
    for column, (least, most) in GOOD_ENOUGH[name, method].items():
        assert least <= board[method][column] <= most, column


@pytest.mark.parametrize("name", NAMES)
def test_one_start_for_many_cases_gives_the_same_answers(answers, name):
    method = baseline_algorithms(get_challenge(name))[-1].name
    one, _ = answers(name, method)
    other, outcomes = answers(name, method, "many")
    assert sum(outcome.spans.start > 0 for outcome in outcomes) == 1
    assert contents(one) == contents(other)


def contents(team):
    return {path.name: path.read_bytes() for path in team.iterdir()}


def test_frame_by_frame_gives_the_same_answers_as_all_at_once(few_cases, answers):
    one, _ = answers("trackrad2025", "template-matching")
    other, outcomes = answers("trackrad2025", "template-matching", "frames")
    assert contents(one) == contents(other)
    questions = get_challenge("trackrad2025").interface.questions(few_cases("trackrad2025"))
    assert [len(outcome.spans.frames) for outcome in outcomes] == [question.frames for question in questions]


def test_template_matching_beats_no_tracking(few_cases, answers, tmp_path):
    teams = [answers("trackrad2025", method)[0] for method in ("first-target", "template-matching")]
    board = scored("trackrad2025", few_cases("trackrad2025"), teams, tmp_path)
    assert board["template-matching"]["dice"] > board["first-target"]["dice"] + 0.1
    assert board["template-matching"]["centre_distance"] < board["first-target"]["centre_distance"] / 2
    for column in ("dice", "hd95", "masd", "centre_distance", "relative_d98"):  # Podium measures no tracking itself
        assert board["first-target"][column] == pytest.approx(board["no-tracking"][column], abs=1e-12)


def test_what_is_not_there_is_not_offered():
    with pytest.raises(InputError, match="cannot be asked frame by frame"):
        baseline_algorithms(get_challenge("kits21"), protocol="frames")


@pytest.mark.parametrize("words", [["one"], ["--protocol", "many", "one", "two"], ["--method", "magic", "a", "b"]])
def test_a_command_without_what_it_needs_says_so(words):
    command = [sys.executable, "-m", "podium.challenges.trackrad2025.baseline", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "error:" in result.stderr
    assert "Traceback" not in result.stderr


# The methods themselves.


def moving(shifts, *, size=64):
    """Return frames of a bright disc that moves over a textured background, and the disc in the first frame."""
    background = np.random.default_rng(5).normal(0, 5, (size, size))
    row, column = np.ogrid[:size, :size]
    discs = [np.hypot(row - 30 - dy, column - 28 - dx) < 7 for dy, dx in shifts]
    return [background + 80 * disc for disc in discs], discs


def test_a_disc_is_followed_wherever_it_goes():
    frames, discs = moving([(0, 0), (3, -2), (6, -6), (10, -9), (2, -4), (-6, 3)])
    tracker = TemplateMatching(discs[0])
    for frame, disc in zip(frames, discs, strict=True):
        mask = tracker.track(frame)
        assert mask.dtype == np.uint8
        assert 2 * np.sum(disc & (mask > 0)) / (disc.sum() + mask.sum()) > 0.95


def test_a_target_at_the_border_and_one_that_is_not_there_are_followed_without_harm():
    frames, discs = moving([(0, 0), (-8, -6), (-16, -12), (-24, -20), (-29, -27)])
    tracker = TemplateMatching(discs[0])
    masks = [tracker.track(frame) for frame in frames]
    assert [mask.shape for mask in masks] == [(64, 64)] * 5
    nothing = TemplateMatching(np.zeros((64, 64), np.uint8))
    assert not any(nothing.track(frame).any() for frame in frames)
    flat = TemplateMatching(discs[0])
    assert [flat.track(np.full((64, 64), 7.0)).sum() for _ in range(3)] == [discs[0].sum()] * 3


def test_a_tracker_sees_no_further_than_its_frame():
    frames, discs = moving([(0, 0), (3, -2), (6, -6)])
    one, other = TemplateMatching(discs[0]), TemplateMatching(discs[0])
    for frame in frames[:2]:
        first = one.track(frame)
        np.testing.assert_array_equal(first, other.track(frame))
    np.testing.assert_array_equal(FirstTarget(discs[0]).track(frames[2]) > 0, discs[0])


def test_correlation_is_that_of_every_part():
    generator = np.random.default_rng(2)
    window, template = generator.normal(1000, 3, (12, 14)), generator.normal(50, 2, (5, 4))
    window[:5, :4] = 1000  # a flat part
    scores = correlation(window, template)
    assert scores.shape == (8, 11)
    assert scores[0, 0] == 0
    for row, column in ((3, 2), (7, 10), (0, 5)):
        part = window[row : row + 5, column : column + 4]
        assert scores[row, column] == pytest.approx(np.corrcoef(part.ravel(), template.ravel())[0, 1], abs=1e-9)


def test_a_sweep_through_speckle_is_told_from_speckle():
    from podium.challenges.tusrec.demo import _chained, _speckle

    steps = np.tile([0.02, 0, 0, 0, 0, 1.2], (20, 1))
    frames = _speckle(_chained(steps), np.random.default_rng(4))
    (local, *_) = tusrec.constant_sweep(frames, np.diag([3.66, 3.54, 1, 1]))
    assert local[2, 3] == pytest.approx(1.2, abs=0.4)
    assert local[2, 1] == pytest.approx(0.02, abs=0.008)
    np.testing.assert_array_equal(tusrec.no_motion(frames, np.eye(4)), np.tile(np.eye(4), (20, 1, 1)))


def test_a_single_frame_and_a_black_scan_have_an_answer(tmp_path):
    scaling = np.diag([0.2, 0.2, 1, 1])
    assert tusrec.no_motion(np.zeros((1, 8, 8), np.uint8), scaling).shape == (0, 4, 4)
    assert np.isfinite(tusrec.constant_sweep(np.zeros((3, 8, 8), np.uint8), scaling)).all()


def test_the_function_of_the_sweep_gives_the_numbers_of_its_command(few_cases, answers, tmp_path):
    challenge = get_challenge("tusrec")
    truth = few_cases("tusrec")
    function = Algorithm("function", function=f"{Path(tusrec.__file__)}:predict_ddfs", environment=dict(os.environ))
    team, _ = answers("tusrec", "constant-sweep")
    cases = {case.name: case for case in challenge.cases(truth)}
    with closing(Plain()) as confinement:
        outcomes = ask_cases(
            function,
            confinement,
            challenge.interface,
            challenge.interface.questions(truth),
            allowance=Allowance(),
            scratch=tmp_path / "scratch",
            logs=tmp_path / "logs",
        )
        for outcome in outcomes:
            assert outcome.ending is Ending.ANSWERED, outcome.reason
            case = cases[outcome.case]
            known = challenge.load(case)
            arrays = challenge.measure_handed(case, known, outcome.answer)
            files = challenge.measure(case, known, team / f"{outcome.case}.npz")
            for one, other in zip(arrays, files, strict=True):
                assert (one.metric, one.value) == (other.metric, pytest.approx(other.value, abs=1e-4))


def test_the_training_mean_is_that_of_the_training_data(few_cases, tmp_path):
    challenge = get_challenge("lvquan18")
    challenge.write_demo(tmp_path / "training", seed=3)
    training = tmp_path / "training" / "truth" / "LVQUAN_truth.mat"
    mean = training_mean(training)
    sheet = challenge.load(challenge.cases(training.parent)[0])
    assert mean.shape == (20, 12)
    np.testing.assert_allclose(mean[3, 0], sheet.indices[3::20, 0].mean())
    assert set(mean[:, -1]) == {0, 1}
    boards = {}
    for name, environment in (("round", {}), ("trained", {TRAINING: str(training)})):
        usual = baseline_algorithms(challenge)[0]
        algorithm = Algorithm(name, usual.command, environment={**usual.environment, **environment})
        team, _ = asked("lvquan18", algorithm, few_cases("lvquan18"), tmp_path / name)
        boards |= scored("lvquan18", few_cases("lvquan18"), [team], tmp_path / name)
    assert boards["round"]["mae_dim"] != boards["trained"]["mae_dim"]


def test_nothing_bright_is_no_kidney():
    assert not segmented_ct(np.full((12, 12, 12), -1000, np.int16), (1.0, 1.0, 1.0)).any()
