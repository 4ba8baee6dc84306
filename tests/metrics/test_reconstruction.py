"""Reconstruction errors: by hand, against building every displacement, and against the organisers' numbers."""

import tracemalloc

import laws
import numpy as np
import pytest

from podium.metrics import (
    displacement_error,
    landmark_displacements,
    landmark_error,
    relative_transforms,
    transform_error,
)
from podium.model import InputError

SCALING = np.diag([0.5, 0.25, 1.0, 1.0])


def shifted(*translation):
    transform = np.eye(4)
    transform[:3, 3] = translation
    return transform


def pixels(height, width):
    y, x = np.mgrid[1 : height + 1, 1 : width + 1].reshape(2, -1)
    return np.stack([x, y, 0 * x, np.ones(x.size)])


def displacements(transforms, height, width, dtype=np.float64):
    return [((t - np.eye(4)) @ SCALING @ pixels(height, width))[:3].astype(dtype) for t in transforms]


def random_poses(count, seed=0):
    generator = np.random.default_rng(seed)
    poses = np.broadcast_to(np.eye(4), (count, 4, 4)).copy()
    poses[:, :3, :3] = np.linalg.qr(generator.normal(size=(count, 3, 3)))[0]
    poses[:, :3, 3] = generator.normal(0, 50, (count, 3))
    return poses


def test_by_hand():
    """True frames move by 3 and 0 mm; a prediction of 4 mm sideways is 5 and 4 mm off."""
    true = np.stack([shifted(3, 0, 0), np.eye(4)])
    predicted = np.stack([shifted(0, 4, 0)] * 2)
    assert transform_error(true, predicted, scaling=SCALING, shape=(2, 3)) == 4.5
    assert displacement_error(true, displacements(predicted, 2, 3), scaling=SCALING, width=3) == 4.5
    assert transform_error(true, scaling=SCALING, shape=(2, 3)) == 1.5  # nothing predicted


def test_relative_transforms():
    poses, calibration = random_poses(4), random_poses(1, seed=1)[0]
    to_first = relative_transforms(poses, calibration, to="first")
    to_previous = relative_transforms(poses, calibration, to="previous")
    np.testing.assert_allclose(to_first[2], to_previous[0] @ to_previous[1] @ to_previous[2], atol=1e-9)
    expected = np.linalg.inv(poses[1] @ calibration) @ poses[2] @ calibration
    np.testing.assert_allclose(to_previous[1], expected, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_like_building_every_displacement(dtype):
    height, width = 7, 9
    true, predicted = (relative_transforms(random_poses(5, seed), np.eye(4), to="first") for seed in (2, 3))
    fields = displacements(predicted, height, width, dtype)
    difference = np.array(fields, np.float64) - np.array(displacements(true, height, width))
    expected = np.sqrt(np.square(difference).sum(axis=1)).mean()
    assert displacement_error(true, iter(fields), scaling=SCALING, width=width) == pytest.approx(expected, rel=1e-12)
    tolerance = 1e-12 if dtype is np.float64 else 1e-6
    compact = transform_error(true, predicted, scaling=SCALING, shape=(height, width))
    assert compact == pytest.approx(expected, rel=tolerance)


def test_frames_are_taken_one_at_a_time():
    true = np.stack([np.eye(4)] * 40)
    field = np.zeros((3, 100 * 1000), np.float32)  # 1.2 MB a frame

    def frames():
        for k in range(40):
            yield field + np.float32(k)

    displacement_error(true[:1], [field], scaling=SCALING, width=1000)  # compiled before memory is counted
    tracemalloc.start()
    try:
        assert displacement_error(true, frames(), scaling=SCALING, width=1000) == pytest.approx(np.sqrt(3) * 19.5)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_landmarks_move_with_their_frame():
    transforms = np.stack([shifted(1, 0, 0), shifted(0, 2, 0)])
    moved = landmark_displacements(transforms, [[0, 5, 5], [1, 3, 3], [2, 4, 4]], scaling=SCALING)
    np.testing.assert_array_equal(moved, [[0, 1, 0], [0, 0, 2], [0, 0, 0]])


@pytest.mark.parametrize("scan", "ABCD")
def test_the_organisers_numbers(shared, golden_tusrec, scan):
    data = np.load(shared / "golden" / "tusrec" / f"scan_{scan}.npz")
    lines = (shared / "golden" / "tusrec" / "calib_matrix.csv").read_text().splitlines()
    scaling, rigid = (np.array([line.split(",") for line in lines[k : k + 4]], float) for k in (1, 6))
    golden = golden_tusrec["scans"][f"scan_{scan}"]
    for team in ("alpha", "beta", "gamma"):
        for kind, to in (("G", "first"), ("L", "previous")):
            true = relative_transforms(data["tforms"], rigid, to=to)
            predicted = data[f"{team}_{'global' if kind == 'G' else 'local'}"]
            moved = [landmark_displacements(t, data["landmark"], scaling=scaling).T for t in (true, predicted)]
            measured = {
                f"{kind}PE": transform_error(true, predicted, scaling=scaling, shape=(480, 640)),
                f"{kind}LE": landmark_error(*moved),
            }
            for name, value in measured.items():
                assert value == pytest.approx(golden["2025"]["results"][team][name], abs=2e-4)
                assert value == pytest.approx(golden["independent_float64"][team][name], abs=1e-9)


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([np.zeros((3, 6))], "for 1 frames, 2 are expected"),
        ([np.zeros((3, 6))] * 3, "must be 2 frames"),
        ([np.zeros((3, 6)), np.zeros((3, 9))], "9 pixels, the first has 6"),
        ([np.zeros((2, 6))] * 2, "shape"),
        ([np.zeros((3, 7))] * 2, "shape"),
        ([np.zeros((3, 6)), np.full((3, 6), np.nan)], "frame 2 has a displacement that is not a finite number"),
    ],
)
def test_bad_displacements(frames, message):
    with pytest.raises(InputError, match=message):
        displacement_error(np.stack([np.eye(4)] * 2), frames, scaling=SCALING, width=3)


def test_bad_transforms():
    true = np.stack([np.eye(4)] * 2)
    with pytest.raises(InputError, match="shape"):
        transform_error(true, true[:1], scaling=SCALING, shape=(2, 3))
    with pytest.raises(InputError, match="finite"):
        transform_error(true, true * np.nan, scaling=SCALING, shape=(2, 3))
    with pytest.raises(InputError, match="2 or more"):
        relative_transforms(true[:1], np.eye(4), to="first")
    with pytest.raises(InputError, match="frame 3, the last frame is 2"):
        landmark_displacements(true, [[3, 1, 1]], scaling=SCALING)
    with pytest.raises(InputError, match="shape"):
        landmark_displacements(true, [[3, 1]], scaling=SCALING)


@pytest.mark.parametrize("what", laws.HOSTILE_ARRAYS)
def test_what_is_no_transform_is_refused(what):
    hostile, true = laws.HOSTILE_ARRAYS[what], np.stack([np.eye(4)] * 2)
    for measure in (
        lambda: transform_error(hostile(true), true, scaling=SCALING, shape=(2, 3)),
        lambda: transform_error(true, hostile(true), scaling=SCALING, shape=(2, 3)),
        lambda: transform_error(true, true, scaling=hostile(SCALING), shape=(2, 3)),
        lambda: displacement_error(hostile(true), displacements(true, 2, 3), scaling=SCALING, width=3),
        lambda: displacement_error(true, [hostile(f) for f in displacements(true, 2, 3)], scaling=SCALING, width=3),
        lambda: relative_transforms(hostile(true), np.eye(4), to="first"),
        lambda: landmark_displacements(true, hostile(np.ones((2, 3))), scaling=SCALING),
    ):
        with pytest.raises(InputError):
            measure()


def test_frames_and_their_shape_are_checked():
    true = np.stack([np.eye(4)] * 2)
    for frames in (None, 5, "ab"):
        with pytest.raises(InputError):
            displacement_error(true, frames, scaling=SCALING, width=3)
    for shape in ((2,), (2, 3, 4), (2.5, 3), (0, 3), "23", None):
        with pytest.raises(InputError, match=r"height and width|among the values"):
            transform_error(true, true, scaling=SCALING, shape=shape)
