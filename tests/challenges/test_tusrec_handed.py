"""TUS-REC: displacements handed over by the process of a function are measured as those in a file are."""

import tracemalloc

import numpy as np
import pytest
from asked import Trial
from tusrec_files import NAME, displacement_sets, random_motion, write_prediction, write_truth

from podium.algorithms.asking import ask_cases
from podium.algorithms.specs import Algorithm, Allowance
from podium.challenges import get_challenge
from podium.model import InputError

pytestmark = pytest.mark.slow

SHAPE = (48, 64)
RETURNS = """
    import numpy as np
    from pathlib import Path

    def predict(number):
        arrays = dict(np.load(Path(__file__).with_name("arrays.npz")))
        return CHANGE
"""


@pytest.fixture
def scan(tmp_path):
    """Return the truth of a scan, and the displacements that somebody guessed for it."""
    _, to_first = random_motion(40, seed=3)
    points = np.array([[3, 10, 20], [0, 1, 1], [40, 64, 48], [17, 5, 6]])
    poses = np.concatenate([np.eye(4)[None], to_first])
    guess_local, guess = random_motion(40, seed=4)
    truth = write_truth(tmp_path / "truth", {NAME: (poses, points)}, shape=SHAPE)
    return truth, displacement_sets(guess, guess_local, points, shape=SHAPE, dtype=np.float64)


def measured_both_ways(tmp_path, scan, arrays, *, change="arrays"):
    """Return what is measured of arrays in a file, and of the same from a process."""
    challenge = get_challenge("tusrec")
    [case] = challenge.cases(scan[0])
    truth = challenge.load(case)
    prediction = write_prediction(tmp_path / "files", NAME, arrays)
    trial = Trial(tmp_path)
    np.savez(trial.home / "arrays.npz", **arrays)
    for outcome in trial.asking(RETURNS.replace("CHANGE", change), {NAME: 1}, protocol="function"):
        assert outcome.reason == ""
        handed = challenge.measure_handed(case, truth, outcome.answer)
    trial.assert_nothing_is_left()
    return challenge.measure(case, truth, prediction), handed


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", ">f4", "int16"])
def test_numbers_are_the_same_to_the_last_bit(tmp_path, scan, kind):
    arrays = {name: array.astype(kind) for name, array in scan[1].items()}
    in_file, handed = measured_both_ways(tmp_path, scan, arrays)
    assert handed == in_file
    assert {value.metric for value in handed} >= {"gpe", "gle", "lpe", "lle", "score"}


def test_the_order_in_memory_does_not_matter(tmp_path, scan):
    change = "{name: np.asfortranarray(array) for name, array in arrays.items()}"
    in_file, handed = measured_both_ways(tmp_path, scan, scan[1], change=change)
    assert handed == in_file


def test_transforms_are_handed_over_as_well(tmp_path, scan):
    local, to_first = random_motion(40, seed=5)
    in_file, handed = measured_both_ways(tmp_path, scan, {"global": to_first, "local": local})
    assert handed == in_file


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("{'GP': arrays['GP']}", "missing: GL, LP, LL"),
        ("arrays | {'LP': arrays['LP'][1:]}", "wrong shape: LP is 39 × 3 × 3072, 40 × 3 × 3072 is expected"),
        ("arrays | {'GP': arrays['GP'] / 0.0}", "GP: frame 1 has a displacement that is not a finite number"),
        ("arrays | {'GP': arrays['GP'] > 0}", "'GP' holds bool, not numbers"),
        ("arrays | {'GL': np.zeros((3, 10**9), 'u1')}", "wrong shape: GL is 3 × 1000000000"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, scan, change, problem):
    with pytest.raises(InputError, match=f"^{NAME}: .*{problem}"):
        measured_both_ways(tmp_path, scan, scan[1], change=f"(np.seterr(all='ignore'), {change})[1]")


def test_the_organisers_function_is_asked(tmp_path, scan):
    """As participants submit it: called with frames, landmarks, calibration and device, returning the four sets."""
    challenge = get_challenge("tusrec")
    [case] = challenge.cases(scan[0])
    truth = challenge.load(case)
    prediction = write_prediction(tmp_path / "files", NAME, scan[1])
    trial = Trial(tmp_path)
    np.savez(trial.home / "arrays.npz", **scan[1])
    path = trial.script(
        f"""
        import numpy as np
        from pathlib import Path

        def predict_ddfs(frames, landmark, data_path_calib, device):
            assert frames.shape == (41, *{SHAPE}) and landmark.shape == (4, 3) and device == "cpu"
            assert Path(data_path_calib).read_text().startswith("title")
            arrays = np.load(Path(__file__).with_name("arrays.npz"))
            return arrays["GP"], arrays["GL"], arrays["LP"], arrays["LL"]
        """
    )
    algorithm = Algorithm("team", function=f"{path}:predict_ddfs", folder=trial.home)
    questions = challenge.interface.questions(scan[0])
    for outcome in ask_cases(
        algorithm,
        trial.confinement,
        challenge.interface,
        questions,
        allowance=Allowance(),
        scratch=trial.scratch,
        logs=trial.logs,
    ):
        assert (outcome.case, outcome.reason) == (NAME, "")
        handed = challenge.measure_handed(case, truth, outcome.answer)
    assert handed == challenge.measure(case, truth, prediction)
    trial.assert_nothing_is_left()


def test_little_memory_is_taken_for_a_long_scan(tmp_path):
    """100 frames of full size, 369 MB in each of two sets, of which a few MB are here at a time."""
    frames, shape = 100, (480, 640)
    points = np.array([[3, 10, 20]])
    _, to_first = random_motion(frames, seed=3)
    poses = np.concatenate([np.eye(4)[None], to_first])
    truth = write_truth(tmp_path / "truth", {NAME: (poses, points)}, shape=shape)
    challenge = get_challenge("tusrec")
    [case] = challenge.cases(truth)
    scan = challenge.load(case)
    trial = Trial(tmp_path)
    script = f"""
        import numpy as np

        def predict(number):
            moved = np.broadcast_to(np.ones((1, 3, 1), np.float32), ({frames}, 3, {shape[0] * shape[1]}))
            return {{"GP": moved, "LP": moved, "GL": np.ones((3, 1)), "LL": np.ones((3, 1))}}
    """
    for outcome in trial.asking(script, {NAME: 1}, protocol="function"):
        tracemalloc.start()
        try:
            values = challenge.measure_handed(case, scan, outcome.answer)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert all(np.isfinite(value.value) for value in values)
    assert peak < 32 * 2**20
    trial.assert_nothing_is_left()
