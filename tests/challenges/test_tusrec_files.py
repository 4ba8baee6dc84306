"""TUS-REC: every form and layout of a file, files that are broken, and where the truth lies."""

import h5py
import numpy as np
import pytest
from tusrec_files import (
    NAME,
    displacement_sets,
    measured,
    random_motion,
    shifts,
    write_h5,
    write_prediction,
    write_truth,
)

from podium.challenges import get_challenge
from podium.challenges.tusrec import _prediction
from podium.model import InputError
from podium.run import Problem, check_submission

pytestmark = pytest.mark.slow


@pytest.fixture
def sweep(tmp_path):
    """Return a truth of seven frames, the displacements a team predicts, and their errors."""
    to_first = random_motion(6)[1]
    points = np.random.default_rng(1).integers([1, 1, 1], [7, 7, 5], (20, 3))
    truth = write_truth(tmp_path / "truth", {NAME: (np.concatenate([np.eye(4)[None], to_first]), points)})
    guess_local, guess = random_motion(6, seed=5)
    sets = displacement_sets(guess, guess_local, points, dtype=np.float64)
    path = write_prediction(tmp_path / "compact", NAME, {"global": guess, "local": guess_local})
    return truth, sets, measured(get_challenge("tusrec"), truth, path)


def fortran(sets):
    return {name: np.asfortranarray(array) for name, array in sets.items()}


@pytest.mark.parametrize("budget", [2**25, 1500, 1])
@pytest.mark.parametrize(
    "options",
    [
        {"form": ".h5"},
        {"form": ".h5", "chunks": (1, 3, 24)},
        {"form": ".h5", "chunks": (4, 1, 7), "compression": "gzip"},
        {"form": ".h5", "chunks": (6, 3, 24), "compression": "lzf", "shuffle": True},
        {"form": ".npz"},
        {"form": ""},
    ],
    ids=str,
)
@pytest.mark.parametrize("order", [dict, fortran])
def test_every_form_and_layout(sweep, tmp_path, monkeypatch, options, budget, order):
    """However the displacements are stored, and in however small pieces they are read."""
    truth, sets, expected = sweep
    monkeypatch.setattr(_prediction, "_TOGETHER_BYTES", budget)
    challenge = get_challenge("tusrec")
    path = write_prediction(tmp_path, NAME, order(sets), **options)
    assert measured(challenge, truth, path) == pytest.approx(expected, rel=1e-12)
    assert challenge.check(None, path) == []


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", ">f8", "<i2", "<u1", "longdouble"])
@pytest.mark.parametrize("form", [".h5", ".npz", ""])
def test_numbers_of_any_type(sweep, tmp_path, dtype, form):
    truth, sets, _ = sweep
    rounded = {name: np.abs(np.rint(array)) for name, array in sets.items()}
    challenge = get_challenge("tusrec")
    expected = measured(challenge, truth, write_prediction(tmp_path / "float64", NAME, rounded))
    path = write_prediction(tmp_path, NAME, {name: array.astype(dtype) for name, array in rounded.items()}, form=form)
    assert measured(challenge, truth, path) == pytest.approx(expected, rel=1e-12)


def changed(sets, **changes):
    """Return the sets with some replaced, or left out where the replacement is None."""
    return {name: array for name, array in (dict(sets) | changes).items() if array is not None}


def with_nan(array):
    array = array.copy()
    array.reshape(-1)[-1] = np.nan
    return array


@pytest.mark.parametrize("form", [".h5", ".npz", ""])
@pytest.mark.parametrize(
    ("change", "message", "seen_without_truth"),
    [
        (lambda s: changed(s, LL=None), r"missing: LL \(found: GL, GP, LP\)", True),
        (lambda s: {"something": np.zeros(3)}, r"missing: GP, GL, LP, LL \(found: something\)", True),
        (lambda s: {"global": np.eye(4)[None]}, "missing: local", True),
        (lambda s: changed(s, GP=s["GP"][:-1]), "wrong shape: GP is 5 × 3 × 24, 6 × 3 × 24 is expected", True),
        (lambda s: {k: v[:-1] if k[1] == "P" else v for k, v in s.items()}, "GP is 5 × 3 × 24, 6 × 3", False),
        (lambda s: changed(s, LP=s["LP"][..., :-1]), "LP is 6 × 3 × 23, 6 × 3 × 24 is expected", True),
        (lambda s: changed(s, LP=s["LP"].reshape(6, 3, 4, 6)), "LP is 6 × 3 × 4 × 6", True),
        (lambda s: changed(s, GL=s["GL"].T), "wrong shape: GL is 20 × 3, 3 × 20 is expected", True),
        (lambda s: changed(s, GL=s["GL"][:, :5], LL=s["LL"][:, :5]), "GL is 3 × 5, 3 × 20 is expected", False),
        (lambda s: changed(s, LL=np.float64(3)), "LL is a single number", True),
        (lambda s: changed(s, GP=with_nan(s["GP"])), "GP: frame 6 has a displacement that is not a finite", True),
        (lambda s: changed(s, LP=s["LP"] / 0.0), "LP: frame 1 has a displacement that is not a finite number", True),
        (lambda s: changed(s, LL=with_nan(s["LL"])), "LL: a landmark has a coordinate that is not a finite", True),
        (lambda s: changed(s, GP=s["GP"] > 0), "'GP' holds bool, not numbers", True),
        (lambda s: changed(s, GP=s["GP"] + 0j), "holds complex128, not numbers", True),
        (lambda s: {"global": np.ones((6, 4, 4)), "local": np.ones((6, 4, 4))}, "last row of a transform", True),
        (lambda s: {"global": shifts(*[1] * 6)[1:].swapaxes(1, 2), "local": shifts(*[1] * 6)[1:]}, "last row", True),
        (lambda s: {"global": shifts(*[1] * 6)[1:] * np.nan, "local": shifts(*[1] * 6)[1:]}, "frame 1 is not fi", True),
        (lambda s: {"global": shifts(*[1] * 5)[1:], "local": shifts(*[1] * 6)[1:]}, "global is 5 × 4 × 4, 6 ×", True),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_unusable_predictions(sweep, tmp_path, form, change, message, seen_without_truth):
    truth, sets, _ = sweep
    challenge = get_challenge("tusrec")
    path = write_prediction(tmp_path, NAME, change(sets), form=form)
    with pytest.raises(InputError, match=message) as raised:
        measured(challenge, truth, path)
    assert str(path) in str(raised.value)
    assert bool(challenge.check(None, path)) == seen_without_truth


def test_damaged_files(sweep, tmp_path):
    truth, sets, _ = sweep
    challenge = get_challenge("tusrec")
    for form in (".h5", ".npz"):
        path = write_prediction(tmp_path, NAME, sets, form=form)
        whole = path.read_bytes()
        for content in (whole[: len(whole) // 2], b"", b"not what it says"):
            path.write_bytes(content)
            with pytest.raises(InputError, match="not a readable"):
                measured(challenge, truth, path)
    flipped = bytearray(whole)
    flipped[300:320] = bytes(20)
    path.write_bytes(flipped)
    with pytest.raises(InputError, match="not a readable"):
        measured(challenge, truth, path)
    folder = write_prediction(tmp_path, NAME, sets, form="")
    (folder / "LP.npy").write_bytes((folder / "LP.npy").read_bytes()[:500])
    with pytest.raises(InputError, match=r"not a readable \.npy"):
        measured(challenge, truth, folder)
    gzipped = write_prediction(tmp_path, NAME, sets, chunks=(1, 3, 24), compression="gzip")
    with h5py.File(gzipped) as file:
        place = file["LP"].id.get_chunk_info(2).byte_offset
    content = bytearray(gzipped.read_bytes())
    content[place : place + 40] = bytes(40)
    gzipped.write_bytes(content)
    with pytest.raises(InputError, match="'LP' cannot be read"):
        measured(challenge, truth, gzipped)


def test_links_to_other_files_are_refused(sweep, tmp_path):
    truth, sets, _ = sweep
    path = write_prediction(tmp_path, NAME, changed(sets, GP=None))
    with h5py.File(path, "r+") as file:
        file["GP"] = h5py.ExternalLink("elsewhere.h5", "GP")
    with pytest.raises(InputError, match="'GP' is a link"):
        measured(get_challenge("tusrec"), truth, path)


def test_chunks_that_would_take_all_memory_are_refused(sweep, tmp_path, monkeypatch):
    truth, sets, _ = sweep
    monkeypatch.setattr(_prediction, "_LARGEST_CHUNK_BYTES", 1000)
    path = write_prediction(tmp_path, NAME, sets, chunks=(6, 3, 24), compression="gzip")
    with pytest.raises(InputError, match=r"chunks of 6 × 3 × 24, too large to be read in pieces\. Store one"):
        measured(get_challenge("tusrec"), truth, path)


def test_names_are_checked(sweep, tmp_path):
    _, sets, _ = sweep
    challenge, team = get_challenge("tusrec"), tmp_path / "team"
    write_prediction(team, "050_RH_rotation", sets)
    wanted = "unexpected file: predictions are called sub*__*.h5, sub*__*.npz, sub*__*"
    odd = Problem("050_RH_rotation.h5", wanted, warning=True)
    assert check_submission(challenge, team) == [Problem("", "there is no prediction in this submission"), odd]
    write_prediction(team, NAME, sets)
    (team / f"{NAME}.txt").write_text("hello")
    text = Problem(f"{NAME}.txt", "unexpected file: a prediction is a .h5, a .npz or a folder", warning=True)
    assert check_submission(challenge, team) == [odd, text]


def test_a_single_scan_in_a_folder_is_a_prediction_without_the_truth_too(sweep, tmp_path):
    """What looks like the only folder of an archive is the prediction itself."""
    _, sets, _ = sweep
    write_prediction(tmp_path / "team", NAME, sets, form="")
    assert check_submission(get_challenge("tusrec"), tmp_path / "team") == []


def test_where_the_truth_lies(tmp_path):
    """Scans are those that dataset_keys.h5 names, or all; landmarks lie in landmarks/ or landmark/."""
    scans = {f"sub{subject}__{arm}": (shifts(1), [[1, 1, 1]]) for subject in ("051", "050") for arm in ("RH_a", "LH_b")}
    challenge = get_challenge("tusrec")
    found = challenge.cases(write_truth(tmp_path / "one", scans, keys=False, landmarks="landmark"))
    assert [case.name for case in found] == sorted(scans)
    assert [challenge.cluster(case.name) for case in found] == ["050", "050", "051", "051"]
    assert found[0].expected == ("sub050__LH_b.h5", "sub050__LH_b.npz", "sub050__LH_b")
    write_h5(tmp_path / "one" / "dataset_keys.h5", {"sub051__RH_a": 0})
    assert [case.name for case in challenge.cases(tmp_path / "one")] == ["sub051__RH_a"]
    (tmp_path / "one" / "frames" / "051" / "RH_a.h5").unlink()
    with pytest.raises(InputError, match=r"frames/051/RH_a\.h5 is missing"):
        challenge.cases(tmp_path / "one")


@pytest.mark.parametrize(
    ("poses", "points", "message"),
    [
        (shifts(1)[:1], [[0, 1, 1]], "2 or more"),
        (shifts(1) * np.nan, [[1, 1, 1]], "not finite or cannot be inverted"),
        (shifts(1) * 0, [[1, 1, 1]], "not finite or cannot be inverted"),
        (shifts(1), [[2, 1, 1]], "frames 0 to 1"),
        (shifts(1), [[-1, 1, 1]], "frames 0 to 1"),
        (shifts(1), [[0.5, 1, 1]], "frames 0 to 1"),
        (shifts(1), np.zeros((0, 3)), "landmarks, 3"),
    ],
)
def test_a_truth_that_cannot_be_used(tmp_path, poses, points, message):
    challenge = get_challenge("tusrec")
    truth = write_truth(tmp_path, {NAME: (poses, points)})
    with pytest.raises(InputError, match=message):
        challenge.load(challenge.cases(truth)[0])


def test_a_truth_whose_parts_do_not_fit(tmp_path):
    challenge = get_challenge("tusrec")
    truth = write_truth(tmp_path, {NAME: (shifts(1, 1), [[1, 1, 1]])})
    write_h5(truth / "frames" / "050" / "RH_rotation.h5", {"frames": np.zeros((4, 4, 6), np.uint8)})
    with pytest.raises(InputError, match="3 transforms ask for as many images"):
        challenge.load(challenge.cases(truth)[0])
    for text in ("", "title\n1,2\n", "t\n" + "1,0,0,0\n" * 4 + "t\n" + "1,0,0,x\n" * 4, ("t\n" + "0,0,0,0\n" * 4) * 2):
        (truth / "calib_matrix.csv").write_text(text)
        with pytest.raises(InputError, match=r"calib_matrix\.csv"):
            challenge.load(challenge.cases(truth)[0])
