"""What is shown of a scan of TUS-REC."""

import numpy as np
import pytest
from tusrec_files import (
    NAME,
    displacement_sets,
    measured,
    random_motion,
    shifts,
    write_prediction,
    write_truth,
)

from podium.challenges import get_challenge
from podium.challenges.tusrec import _prediction
from podium.metrics import relative_transforms
from podium.model import Curves, InputError, Paths

POINTS = np.array([[0, 1, 1], [1, 3, 2], [3, 6, 4]])


def show(folder, prediction, **options):
    challenge = get_challenge("tusrec", **options)
    (case,) = challenge.cases(folder)
    return challenge.views(case, challenge.load(case), prediction)


@pytest.fixture
def sweep(tmp_path):
    """Return a truth of five frames, 4 × 6 pixels of 0.25 × 0.5 mm, that goes up by 1, 2, 3 and 4 mm."""
    return write_truth(tmp_path / "truth", {NAME: (shifts(1, 2, 3, 4), POINTS)})


def test_corners_go_where_the_frames_go(sweep, tmp_path):
    still = np.tile(np.eye(4), (4, 1, 1))
    path = write_prediction(tmp_path, NAME, displacement_sets(still, still, POINTS))
    paths, along, step = show(sweep, path)
    assert isinstance(paths, Paths)
    assert isinstance(along, Curves)
    assert paths.unit == "mm"
    corners = [(0.5, 0.25), (3.0, 0.25), (3.0, 1.0), (0.5, 1.0)]  # pixels 1 and 6 across, 1 and 4 down
    true, guess = ([line for line in paths.lines if line.kind == kind] for kind in ("reference", "prediction"))
    assert {line.name for line in true} == {"true"}
    assert {line.name for line in guess} == {"predicted"}
    for line, corner in zip(true, corners, strict=False):
        np.testing.assert_allclose(line.points, [(*corner, z) for z in (0, 1, 3, 6, 10)], atol=1e-12)
    for line, corner in zip(guess, corners, strict=False):
        np.testing.assert_allclose(line.points, [(*corner, 0)] * 5, atol=1e-12)
    # All five frames are drawn as a whole, too: closed, around the corners.
    assert [len(line.points) for line in true] == [5] * 9
    np.testing.assert_allclose(true[4].points, [(*corners[k], 0) for k in (0, 1, 2, 3, 0)], atol=1e-12)
    np.testing.assert_allclose(true[8].points[:, 2], 10)
    # Nothing moved, so the error is how far the frame truly is from the first, or from the previous one.
    for curves, errors in ((along, (1, 3, 6, 10)), (step, (1, 2, 3, 4))):
        assert [line.kind for line in curves.lines] == ["other", "prediction"]
        for line in curves.lines:
            np.testing.assert_allclose(line.points, np.column_stack([(1, 2, 3, 4), errors]))


def random_case(tmp_path, *, form=".h5", count=6, compact=False, **options):
    poses = np.concatenate([np.eye(4)[None], random_motion(count, 3)[1]])
    folder = write_truth(tmp_path / "truth", {NAME: (poses, POINTS)})
    guess_local, guess_global = random_motion(count, 4)
    arrays = displacement_sets(guess_global, guess_local, POINTS, dtype=np.float64)
    if compact:
        arrays = {"global": guess_global, "local": guess_local}
    return folder, write_prediction(tmp_path, NAME, arrays, form=form, **options), guess_global


@pytest.mark.parametrize("form", [".h5", ".npz", ""])
def test_the_error_along_the_scan_has_the_mean_that_is_measured(tmp_path, form):
    folder, path, _ = random_case(tmp_path, form=form)
    found = measured(get_challenge("tusrec"), folder, path)
    _, along, step = show(folder, path)
    for curves, metric in ((along, "gpe"), (step, "lpe")):
        nothing, predicted = curves.lines
        assert predicted.points[:, 1].mean() == pytest.approx(found[metric], rel=1e-12)
        assert nothing.points[:, 1].mean() == pytest.approx(found[f"{metric}_identity"], rel=1e-12)


def test_transforms_show_the_same_as_their_displacements(tmp_path):
    full = show(*random_case(tmp_path / "one")[:2])
    small = show(*random_case(tmp_path / "two", compact=True)[:2])
    for one, two in zip(full, small, strict=True):
        assert one.title == two.title
        for line, other in zip(one.lines, two.lines, strict=True):
            assert (line.name, line.kind) == (other.name, other.kind)
            np.testing.assert_allclose(line.points, other.points, atol=1e-9)


def test_corners_follow_the_transforms(tmp_path):
    folder, path, transforms = random_case(tmp_path)
    lines = [line for line in show(folder, path)[0].lines if line.kind == "prediction"]
    for line, (x, y) in zip(lines, [(1, 1), (6, 1), (6, 4), (1, 4)], strict=False):
        start = np.array([0.5 * x, 0.25 * y, 0, 1])
        np.testing.assert_allclose(line.points, [start[:3], *(transforms @ start)[:, :3]], atol=1e-9)


def test_displacements_are_read_in_pieces(tmp_path, monkeypatch):
    """Chunks that span all frames and a few pixels are read strip by strip, never whole, with the same result."""
    expected = show(*random_case(tmp_path / "one")[:2])
    folder, path, _ = random_case(tmp_path / "two", chunks=(6, 3, 6))
    monkeypatch.setattr(_prediction, "_TOGETHER_BYTES", 6 * 3 * 6 * 8)  # one row of all frames
    largest = []
    real = _prediction._File._frames

    def frames(self, stored, name, rows, width, buffer):
        largest.append(buffer.size)
        return real(self, stored, name, rows, width, buffer)

    monkeypatch.setattr(_prediction._File, "_frames", frames)
    monkeypatch.setattr(_prediction._File, "whole", lambda *_: pytest.fail("read whole"))
    found = show(folder, path)
    assert len(largest) == 8  # four rows, twice
    assert max(largest) == 6 * 3 * 6
    for one, two in zip(expected, found, strict=True):
        for line, other in zip(one.lines, two.lines, strict=True):
            np.testing.assert_allclose(line.points, other.points, atol=1e-12)


def test_two_frames_are_enough(tmp_path):
    folder = write_truth(tmp_path / "truth", {NAME: (shifts(2), POINTS[:2])})
    path = write_prediction(tmp_path, NAME, {"global": np.eye(4)[None], "local": np.eye(4)[None]})
    paths, along, _ = show(folder, path)
    assert [len(line.points) for line in paths.lines[:6]] == [2, 2, 2, 2, 5, 5]
    np.testing.assert_allclose(along.lines[1].points, [(1, 2)])


def test_what_could_not_be_measured_is_not_shown(sweep, tmp_path):
    path = write_prediction(tmp_path, NAME, {"global": np.zeros((3, 4, 4)), "local": np.zeros((3, 4, 4))})
    with pytest.raises(InputError, match="wrong shape"):
        show(sweep, path)
    lost = displacement_sets(*2 * [relative_transforms(shifts(1, 2, 3, 4), np.eye(4), to="first")], POINTS)
    lost["GP"][2, 0, 5] = np.nan
    with pytest.raises(InputError, match="GP: frame"):
        show(sweep, write_prediction(tmp_path, NAME, lost))
