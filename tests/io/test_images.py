"""Grey values of one plane."""

import numpy as np
import pytest
from label_files import nifti, write

from podium.io.images import read_plane
from podium.model import InputError

VALUES = (np.arange(4 * 5 * 6).reshape(4, 5, 6) - 40).astype(np.int16)


@pytest.mark.parametrize("name", ["image.nii", "image.nii.gz"])
@pytest.mark.parametrize(("axis", "index"), [(0, 0), (0, 3), (1, 2), (2, 0), (2, 5)])
def test_any_plane_is_read(tmp_path, name, axis, index):
    path = write(tmp_path / name, nifti(VALUES))
    plane = read_plane(path, axis=axis, index=index, shape=(4, 5, 6))
    assert plane.dtype == np.float32
    np.testing.assert_array_equal(plane, np.take(VALUES, index, axis))


def test_values_are_scaled_and_byte_order_is_respected(tmp_path):
    path = write(tmp_path / "image.nii.gz", nifti(VALUES, byte_order=">", slope=2.0, intercept=-1000.0))
    plane = read_plane(path, axis=1, index=1, shape=(4, 5, 6))
    np.testing.assert_array_equal(plane, VALUES[:, 1] * 2.0 - 1000)


def test_another_shape_is_refused(tmp_path):
    path = write(tmp_path / "image.nii.gz", nifti(VALUES))
    with pytest.raises(InputError, match="wrong shape: the image has 4 × 5 × 6 voxels, its labels 4 × 5 × 7"):
        read_plane(path, axis=0, index=0, shape=(4, 5, 7))


def test_a_single_volume_of_a_series_is_a_volume(tmp_path):
    path = write(tmp_path / "image.nii.gz", nifti(VALUES[..., None]))
    np.testing.assert_array_equal(read_plane(path, axis=2, index=4, shape=(4, 5, 6)), VALUES[..., 4])


def test_a_file_that_was_cut_short_is_refused(tmp_path):
    path = write(tmp_path / "image.nii", nifti(VALUES)[:-20])
    with pytest.raises(InputError, match="cut short"):
        read_plane(path, axis=0, index=0, shape=(4, 5, 6))


def test_voxels_that_start_nowhere_are_refused(tmp_path):
    path = write(tmp_path / "image.nii", nifti(VALUES, at_108=np.float32(1e30).tobytes()))
    with pytest.raises(InputError, match="voxels start at byte"):
        read_plane(path, axis=0, index=0, shape=(4, 5, 6))


def test_what_is_no_image_is_refused(tmp_path):
    path = write(tmp_path / "image.nii.gz", b"not an image at all" * 40)
    with pytest.raises(InputError, match="not a NIfTI file"):
        read_plane(path, axis=0, index=0, shape=(4, 5, 6))
