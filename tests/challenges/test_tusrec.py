"""TUS-REC: the organisers' numbers, sweeps computed by hand, the demo, and memory."""

import subprocess
import sys
import textwrap

import h5py
import numpy as np
import polars as pl
import pytest
from tusrec_files import NAME, displacement_sets, measured, random_motion, shifts, write_prediction, write_truth

from podium.challenges import get_challenge
from podium.challenges.tusrec import demo
from podium.model import Status
from podium.ranking import leaderboard_of
from podium.run import Contract, find_submissions, measure_all

pytestmark = pytest.mark.slow

ERRORS = ("gpe", "gle", "lpe", "lle")
GOLDEN_SCANS = {f"sub05{k}__RH_rotation": f"scan_{scan}" for k, scan in enumerate("ABCD")}


@pytest.fixture(scope="module")
def golden(shared, golden_tusrec, tmp_path_factory):
    """Return the golden scans in the challenge's layout, what the organisers' code gives, and the inputs."""
    folder = shared / "golden" / "tusrec"
    inputs = {name: np.load(folder / f"{scan}.npz") for name, scan in GOLDEN_SCANS.items()}
    truth = write_truth(
        tmp_path_factory.mktemp("golden"),
        {name: (data["tforms"], data["landmark"]) for name, data in inputs.items()},
        shape=(480, 640),
    )
    (truth / "calib_matrix.csv").write_bytes((folder / "calib_matrix.csv").read_bytes())
    return truth, {name: golden_tusrec["scans"][scan] for name, scan in GOLDEN_SCANS.items()}, inputs


def transforms_of(data, team):
    return {"global": data[f"{team}_global"], "local": data[f"{team}_local"]}


@pytest.mark.parametrize("name", GOLDEN_SCANS)
@pytest.mark.parametrize("edition", ["document", "code"])
def test_the_organisers_numbers(golden, tmp_path, name, edition):
    """Every team of every golden scan: both years' errors, an independent float64, and the normalised errors."""
    truth, results, inputs = golden
    challenge = get_challenge("tusrec", edition=edition)
    case = next(case for case in challenge.cases(truth) if case.name == name)
    scan = challenge.load(case)
    for team in ("alpha", "beta", "gamma", "identity"):
        if team == "identity":
            values = challenge.measure_built_in("no-motion", case, scan)
        else:
            values = challenge.measure(
                case, scan, write_prediction(tmp_path, name, transforms_of(inputs[name], team), form=".npz")
            )
        found = {value.metric: value.value for value in values}
        for error in ERRORS:
            for year in ("2024", "2025"):
                for kind in ("results", "results_float64_reduction"):
                    assert found[error] == pytest.approx(results[name][year][kind][team][error.upper()], abs=2e-4)
                    identity = results[name][year][kind]["identity"][error.upper()]
                    assert found[f"{error}_identity"] == pytest.approx(identity, abs=2e-4)
            assert found[error] == pytest.approx(results[name]["independent_float64"][team][error.upper()], abs=1e-9)
        if team != "identity":
            normalised = results[name]["derived_normalised_2025"][team]
            published = [normalised[f"{error.upper()}*"] for error in ERRORS]
            limits = (0, 1) if edition == "document" else (-np.inf, np.inf)
            assert [found[f"{error}_score"] for error in ERRORS] == pytest.approx(np.clip(published, *limits), abs=1e-4)
            if edition == "code":
                assert found["score"] == pytest.approx(normalised["final_score"], abs=1e-4)


def test_the_organisers_displacements(golden):
    """Transforms, landmarks and probed pixels of the true displacement fields, which the organisers have in float32."""
    truth, results, _ = golden
    challenge = get_challenge("tusrec")
    for case in challenge.cases(truth):
        scan, expected = challenge.load(case), results[case.name]
        x, y = np.array(expected["label_pixel_ddf_probe"]["flat_index"]) % 640 + 1, 0
        y = np.array(expected["label_pixel_ddf_probe"]["flat_index"]) // 640 + 1
        pixels = scan.scaling @ np.stack([x, y, 0 * x, np.ones(4)])
        for level, name in (("G", "global"), ("L", "local")):
            np.testing.assert_allclose(scan.transforms[level], expected["label_transforms"][name], atol=2e-4)
            probe = ((scan.transforms[level] - np.eye(4)) @ pixels)[:, :3]
            np.testing.assert_allclose(probe, expected["label_pixel_ddf_probe"][f"{level}P"], atol=2e-4)
            for year in ("2024", "2025"):
                theirs = expected[year]["label_landmark_ddf"][f"{level}L"]
                np.testing.assert_allclose(scan.displacements[level], theirs, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "team"), [*((f"{NAME}", team) for team in ("alpha", "beta", "gamma")), ("sub053__RH_rotation", "gamma")]
)
def test_transforms_and_displacements_give_the_same(golden, tmp_path, name, team):
    truth, _, inputs = golden
    transforms = transforms_of(inputs[name], team)
    lines = (truth / "calib_matrix.csv").read_text().splitlines()
    scaling = np.array([line.split(",") for line in lines[1:5]], float)
    sets = displacement_sets(
        transforms["global"], transforms["local"], inputs[name]["landmark"], shape=(480, 640), scaling=scaling
    )
    challenge = get_challenge("tusrec", edition="code")
    compact = measured(challenge, truth, write_prediction(tmp_path / "compact", name, transforms), name)
    full = measured(challenge, truth, write_prediction(tmp_path / "full", name, sets), name)
    assert full == pytest.approx(compact, abs=1e-4)


def test_a_landmark_on_the_first_frame(golden_tusrec, shared, golden, tmp_path):
    """It does not move; the organisers' code gives it the displacement of the last frame."""
    poses = golden[2][NAME]["tforms"]
    truth = write_truth(tmp_path, {NAME: (poses, [[0, 100, 50]])}, shape=(480, 640))
    (truth / "calib_matrix.csv").write_bytes((golden[0] / "calib_matrix.csv").read_bytes())
    for edition in ("document", "code"):
        challenge = get_challenge("tusrec", edition=edition)
        moved = challenge.load(challenge.cases(truth)[0]).displacements["G"][:, 0]
        for year in ("2024", "2025"):
            wrapped = golden_tusrec["scans"]["scan_A"][year]["landmark_frame0_wraps"]["GL_frame0"]
            np.testing.assert_allclose(moved, [0, 0, 0] if edition == "document" else wrapped, atol=2e-4)


def test_by_hand(tmp_path):
    """Frames at 0, 3 and 5 mm; predicted at 3 and 4 mm: off by 0 and 1 globally, by 0 and 1 locally."""
    truth = write_truth(tmp_path / "truth", {NAME: (shifts(3, 2), [[1, 2, 2], [2, 1, 1], [2, 6, 4]])})
    local = shifts(3, 1)[1:] - shifts(0, 3)[1:] + np.eye(4)
    path = write_prediction(tmp_path, NAME, {"global": shifts(3, 1)[1:], "local": local})
    for edition in ("document", "code"):
        found = measured(get_challenge("tusrec", edition=edition), truth, path)
        assert found == pytest.approx(
            {"gpe": 0.5, "gpe_identity": 4.0, "gpe_score": 0.875}
            | {"gle": 2 / 3, "gle_identity": 13 / 3, "gle_score": 1 - 2 / 13}
            | {"lpe": 0.5, "lpe_identity": 2.5, "lpe_score": 0.8}
            | {"lle": 2 / 3, "lle_identity": 7 / 3, "lle_score": 1 - 2 / 7}
            | {"score": (0.875 + 11 / 13 + 0.8 + 5 / 7) / 4}
        )


def test_worse_than_no_motion(tmp_path):
    """3 mm in the wrong direction: E* is −1; the page clips it to 0."""
    truth = write_truth(tmp_path / "truth", {NAME: (shifts(3), [[1, 2, 2]])})
    path = write_prediction(tmp_path, NAME, {"global": shifts(-3)[1:], "local": shifts(-3)[1:]})
    for edition, expected in (("document", 0.0), ("code", -1.0)):
        found = measured(get_challenge("tusrec", edition=edition), truth, path)
        assert {found[f"{error}_score"] for error in ERRORS} == {expected}
        assert found["score"] == expected


def test_a_scan_in_which_nothing_moves(tmp_path):
    """The error of no motion is 0: whoever says so scores 1, and everybody else 0."""
    poses = np.tile(random_motion(1, seed=3, angle=1, shift=500)[0], (3, 1, 1))
    truth = write_truth(tmp_path / "truth", {NAME: (poses, [[1, 2, 2]])}, rigid=random_motion(1, seed=4, angle=1)[0][0])
    still, moved = shifts(0, 0)[1:], shifts(0, 1e-3)[1:]
    for edition in ("document", "code"):
        challenge = get_challenge("tusrec", edition=edition)
        found = measured(challenge, truth, write_prediction(tmp_path, NAME, {"global": still, "local": moved}))
        assert [found[f"{error}_score"] for error in ERRORS] == [1, 1, 0, 1]  # the landmark is on frame 1
        full = displacement_sets(still, still, [[1, 2, 2]])
        assert measured(challenge, truth, write_prediction(tmp_path, NAME, full))["score"] == 1


@pytest.mark.parametrize("landmarks", [1, 20, 100])
@pytest.mark.parametrize("frames", [2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scans_of_any_size(tmp_path, landmarks, frames, dtype):
    """Two frames, any number of landmarks, poses in single or double precision; a perfect prediction scores 1."""
    local, to_first = random_motion(frames - 1)
    poses = np.concatenate([np.eye(4)[None], to_first]).astype(dtype)
    points = np.random.default_rng(1).integers([0, 1, 1], [frames, 7, 5], (landmarks, 3))
    truth = write_truth(tmp_path / "truth", {NAME: (poses, points)})
    found = measured(
        get_challenge("tusrec"), truth, write_prediction(tmp_path, NAME, {"global": to_first, "local": local})
    )
    assert [found[error] for error in ERRORS] == pytest.approx([0] * 4, abs=1e-5 if dtype is np.float32 else 1e-12)
    assert found["score"] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("edition", ["document", "code"])
def test_the_demo_from_files_to_leaderboard(tmp_path, edition):
    demo.write(tmp_path)
    challenge = get_challenge("tusrec", edition=edition)
    run = measure_all(
        challenge,
        truth=tmp_path / "truth",
        submissions=find_submissions(tmp_path / "submissions", baselines=("baseline",)),
    )
    assert [(team, status) for team, _, status, _ in run.failures] == [
        ("unlucky", status) for status in ("missing", "invalid", "invalid", "invalid")
    ]
    board = leaderboard_of(challenge, run.table, roles=run.roles)
    # In `code`, four failed scans put a team below everybody who failed none, whatever those score.
    last = ("overshooting", "unlucky") if edition == "code" else ("unlucky", "overshooting")
    assert [entry.submission for entry in board.entries] == [
        *("steady", "drifting", "jittery", *last),
        *("baseline", "no-motion"),
    ]
    assert [entry.place for entry in board.entries] == [1, 2, 3, 4, 5, None, None]
    values = {entry.submission: entry.values for entry in board.entries}
    assert values["unlucky"]["scored_scans"] == values["steady"]["scored_scans"] - 4
    overshooting = values["overshooting"]["score"]
    assert overshooting < 0 if edition == "code" else 0 <= overshooting < 0.01
    assert board.entries[-1].values["score"] == 0
    for entry in board.entries:
        if entry.submission != "unlucky":
            assert entry.values["score"] == pytest.approx(
                (entry.values["global"] + entry.values["local"]) / 2, abs=6e-4
            )


def test_failures_cost_what_is_declared(tmp_path):
    truth = write_truth(tmp_path, {NAME: (shifts(3), [[1, 2, 2]])})
    for edition, price in (("document", 0.0), ("code", None)):
        challenge = get_challenge("tusrec", edition=edition)
        case = challenge.cases(truth)[0]
        values = Contract(challenge).failed((case.name,), challenge.load(case), Status.MISSING, "gone")
        assert {v.metric for v in values} == {measure.name for measure in challenge.measures}
        for value in values:
            if value.metric.endswith("_identity"):
                assert value.value == 3.0
            else:
                assert value.value == (price if value.metric.endswith("score") else None)
            assert (value.status, value.reason) == (Status.MISSING, "gone")


@pytest.mark.parametrize(("edition", "order"), [("document", ["half", "backwards"]), ("code", ["backwards", "half"])])
def test_failed_scans_from_files_to_leaderboard(tmp_path, edition, order):
    """Two scans of 3 mm. One team is perfect on one and lacks the other; one goes backwards by 3 mm on both.

    Document: 1 and 0 for half, 0 and 0 for backwards. Code: 1 and no number, against −1 and −1.
    """
    scans = {name: (shifts(3), [[1, 2, 2]]) for name in (NAME, "sub051__RH_rotation")}
    truth = write_truth(tmp_path / "truth", scans)
    for team, steps in {"half": {NAME: 3}, "backwards": dict.fromkeys(scans, -3)}.items():
        for name, step in steps.items():
            motion = shifts(step)[1:]
            write_prediction(tmp_path / "teams" / team, name, {"global": motion, "local": motion}, form=".npz")
    (tmp_path / "teams" / "half" / "timing.csv").write_text(f"case,seconds\n{NAME},8\nsub051__RH_rotation,1\n")
    challenge = get_challenge("tusrec", edition=edition)
    run = measure_all(challenge, truth=truth, submissions=find_submissions(tmp_path / "teams"))
    assert run.faults == []
    lost = run.table.filter((pl.col("submission") == "half") & (pl.col("case") == "sub051__RH_rotation"))
    assert lost.filter(pl.col("metric") == "seconds")["status"].to_list() == ["ok"]
    lost = lost.filter(pl.col("metric") != "seconds")
    assert set(lost["status"]) == {"missing"}
    assert set(lost["reason"]) == {"there is no sub051__RH_rotation.h5"}
    values = dict(lost.select("metric", "value").iter_rows())
    for error in ERRORS:
        assert values[error] is None
        assert values[f"{error}_identity"] == 3.0
        assert values[f"{error}_score"] == values["score"] == (0.0 if edition == "document" else None)
    board = leaderboard_of(challenge, run.table, roles=run.roles)
    assert [entry.submission for entry in board.entries] == [*order, "no-motion"]
    assert [entry.place for entry in board.entries] == [1, 2, None]
    found = {entry.submission: (entry.values["score"], entry.values["seconds"]) for entry in board.entries}
    assert found["half"] == (0.5 if edition == "document" else 1.0, 8.0)  # the scan that failed counts 8 s as well
    assert found["backwards"] == (0.0 if edition == "document" else -1.0, None)


LAUNCHER = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, *sys.argv[1:]])
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_maxrss // 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""

MEASURE = """
import sys
from pathlib import Path
from podium.challenges import get_challenge
challenge = get_challenge("tusrec")
case = challenge.cases(Path(sys.argv[1]))[0]
truth = challenge.load(case)
values = {v.metric: v.value for v in challenge.measure(case, truth, Path(sys.argv[2]))}
assert abs(values["gpe"] - values["gpe_identity"]) < 1e-9 < values["gpe"], values
"""


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["a frame a chunk", "as h5py chooses", ".npy"])
def test_memory_does_not_grow_with_the_scan(tmp_path, layout):
    """500 frames with displacements of 3.7 GB, of which none was written to disk: at most 400 MB."""
    frames = 200 if layout == ".npy" else 500  # holes of a mapped file are filled by the kernel, which takes time
    truth = write_truth(tmp_path / "truth", {NAME: (shifts(*[0.1] * (frames - 1)), [[1, 2, 2]] * 20)}, shape=(480, 640))
    small = {"GL": np.zeros((3, 20), np.float32), "LL": np.zeros((3, 20), np.float32)}
    path = write_prediction(tmp_path, NAME, small, form="" if layout == ".npy" else ".h5")
    shape = (frames - 1, 3, 480 * 640)
    if layout == ".npy":
        for name in ("GP", "LP"):
            np.lib.format.open_memmap(path / f"{name}.npy", "w+", np.float32, shape)
    else:
        with h5py.File(path, "r+") as file:
            for name in ("GP", "LP"):
                chunks = (1, *shape[1:]) if layout == "a frame a chunk" else True
                file.create_dataset(name, shape, np.float32, chunks=chunks, fillvalue=0)
    # A process begins with the peak of the one that starts it, so a small one does.
    command = [sys.executable, "-c", LAUNCHER, "-c", textwrap.dedent(MEASURE), str(truth), str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) <= 400
