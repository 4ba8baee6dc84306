"""Which plane is shown, and that it is held the right way up."""

from dataclasses import replace

import numpy as np
import pytest

from podium.model import InputError, LabelMap
from podium.model.planes import Plane, disputed_plane, window

EYE = np.eye(3)


def volume(array, *, spacing=(1, 1, 3), direction=EYE):
    return replace(
        LabelMap.from_array(np.asarray(array, np.uint8), spacing=spacing), direction=tuple(map(tuple, direction))
    )


def patient(direction, shape=(4, 5, 6)):
    """Return where every voxel lies to the left, behind and above voxel 0, for unit voxels: (x, y, z, 3)."""
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"), axis=-1)
    return grid @ np.asarray(direction).T


DIRECTIONS = [
    EYE,
    np.diag([-1, -1, 1]),
    np.diag([1, -1, -1]),
    EYE[[2, 1, 0]],
    EYE[[1, 2, 0]] * [[1], [-1], [-1]],
    -EYE[[0, 2, 1]],
]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_plane_is_held_as_radiologists_do(direction, axis):
    """Going right is to the patient's left or back; going down is to the back or the feet. Nothing else changes."""
    plane = Plane.of(volume(np.ones((4, 5, 6)), direction=direction), axis=axis, index=1)
    left, behind, above = (plane.cut(places) for places in np.moveaxis(patient(direction), -1, 0))
    right, down = np.s_[:, 1:], np.s_[1:, :]
    before = (np.s_[:, :-1], np.s_[:-1, :])
    if plane.name == "axial":
        assert (left[right] > left[before[0]]).all()
        assert (behind[down] > behind[before[1]]).all()
    elif plane.name == "coronal":
        assert (left[right] > left[before[0]]).all()
        assert (above[down] < above[before[1]]).all()
    else:
        assert plane.name == "sagittal"
        assert (behind[right] > behind[before[0]]).all()
        assert (above[down] < above[before[1]]).all()


def test_the_name_follows_the_direction_not_the_axis():
    swapped = volume(np.ones((2, 2, 2)), direction=EYE[[2, 1, 0]])
    assert [Plane.of(swapped, axis=axis, index=0).name for axis in range(3)] == ["axial", "coronal", "sagittal"]


def test_pixels_keep_their_size():
    plane = Plane.of(volume(np.ones((2, 3, 4)), spacing=(1, 2, 5)), axis=2, index=0)
    assert plane.cut(np.ones((2, 3, 4))).shape == (3, 2)
    assert plane.pixel_mm((1, 2, 5)) == (2, 1)


def test_the_most_disputed_plane_wins():
    truth, guess = np.zeros((2, 6, 6, 5))
    truth[1:4, 1:4, :] = 1
    guess[1:4, 1:4, :] = 1
    guess[1, 1:3, 1] = 0  # two voxels
    guess[1:4, 1, 3] = 2  # three, of another label
    assert disputed_plane(volume(truth), volume(guess)).index == 3
    assert disputed_plane(volume(truth), volume(guess), labels=(1, 2)).index == 1  # 1 or 2 is the same then


def test_planes_are_those_that_were_acquired():
    truth, guess = np.zeros((2, 6, 6, 6))
    truth[2, 3, 4] = 1
    for axis, spacing in enumerate([(3, 1, 1), (1, 3, 1), (1, 1, 3)]):
        plane = disputed_plane(volume(truth, spacing=spacing), volume(guess, spacing=spacing))
        assert (plane.axis, plane.index) == (axis, 2 + axis)


def test_without_a_dispute_the_largest_plane_is_shown():
    truth = np.zeros((4, 4, 4))
    truth[1, 1, 1] = truth[1:3, 1:3, 2] = 1
    assert disputed_plane(volume(truth), volume(truth)).index == 2
    assert disputed_plane(volume(truth), volume(truth), labels=(3,)) is None


def test_nothing_has_no_plane():
    empty = volume(np.zeros((3, 3, 3)))
    assert disputed_plane(empty, empty) is None


def test_planes_of_other_shapes_are_refused():
    with pytest.raises(InputError, match="one shape"):
        disputed_plane(volume(np.zeros((3, 3, 3))), volume(np.zeros((3, 3, 4))))


def test_the_window_holds_everything_and_some_space():
    one, two = np.zeros((2, 100, 80), int)
    one[50, 40] = 1
    two[60:70, 40:44] = 2
    rows, columns = window(one, two, margin=0.5, least=3)  # 20 rows and 4 columns are used: 10 more on each side
    assert (rows.start, rows.stop, columns.start, columns.stop) == (40, 80, 30, 54)
    rows, columns = window(one, margin=0.5, least=3)
    assert (rows.start, rows.stop, columns.start, columns.stop) == (47, 54, 37, 44)


def test_the_window_stays_inside_the_image():
    image = np.zeros((5, 6), int)
    image[0, 5] = 1
    rows, columns = window(image)
    assert (rows.start, rows.stop, columns.start, columns.stop) == (0, 5, 0, 6)


def test_the_window_of_nothing_is_everything():
    assert window(np.zeros((5, 6)), np.zeros((5, 6))) == (slice(None), slice(None))
