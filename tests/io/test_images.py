"""Grey values, of one plane or of all."""

import numpy as np
import pytest
import SimpleITK
from label_files import nifti, write

from podium.io import read_label_map, write_label_map
from podium.io.images import copy_image, image_shape, read_image, read_plane
from podium.model import InputError, LabelMap

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


def sitk_image(values=VALUES):
    image = SimpleITK.GetImageFromArray(values.T)
    image.SetSpacing((0.8, 0.9, 3.0))
    image.SetOrigin((-10.0, 4.0, 7.5))
    image.SetDirection((0, 0, 1, 1, 0, 0, 0, 1, 0))
    return image


@pytest.mark.parametrize("kind", [np.int16, np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("name", ["image.mha", "image.nii.gz", "image.mhd"])
def test_a_whole_image_is_read_as_simpleitk_reads_it(tmp_path, name, kind):
    values = (VALUES + 40 if kind is np.uint8 else VALUES).astype(kind)
    SimpleITK.WriteImage(sitk_image(values), tmp_path / name, useCompression=True)
    image = read_image(tmp_path / name)
    assert image.array.dtype == kind
    np.testing.assert_array_equal(image.array, values)
    np.testing.assert_allclose(image.spacing, (0.8, 0.9, 3.0), rtol=1e-6)
    np.testing.assert_allclose(image.origin, (-10.0, 4.0, 7.5), rtol=1e-6)
    np.testing.assert_allclose(np.ravel(image.direction), (0, 0, 1, 1, 0, 0, 0, 1, 0), atol=1e-6)
    assert image_shape(tmp_path / name) == (4, 5, 6)


def test_an_image_is_copied_onto_the_same_grid(tmp_path):
    SimpleITK.WriteImage(sitk_image(), tmp_path / "image.nii.gz")
    assert copy_image(tmp_path / "image.nii.gz", tmp_path / "copy.mha") == (-40, 79)
    one, two = (SimpleITK.ReadImage(tmp_path / name) for name in ("image.nii.gz", "copy.mha"))
    np.testing.assert_array_equal(*map(SimpleITK.GetArrayFromImage, (one, two)))
    assert one.GetPixelID() == two.GetPixelID()
    for part in ("GetSpacing", "GetOrigin", "GetDirection"):
        np.testing.assert_allclose(getattr(one, part)(), getattr(two, part)(), atol=1e-6)


def test_scaled_values_of_any_byte_order_are_copied_as_what_they_mean(tmp_path):
    path = write(tmp_path / "image.nii.gz", nifti(VALUES, byte_order=">", slope=2.0, intercept=-1000.0))
    assert copy_image(path, tmp_path / "copy.mha") == (-1080, -842)
    image = read_image(tmp_path / "copy.mha")
    assert image.array.dtype == np.float32
    np.testing.assert_array_equal(image.array, VALUES * 2.0 - 1000)


def test_a_large_image_is_read_in_pieces(tmp_path):
    values = np.random.default_rng(3).integers(0, 200, (130, 120, 90)).astype(np.uint8)  # more than a piece
    write_label_map(tmp_path / "image.nii.gz", LabelMap.from_array(values))
    assert copy_image(tmp_path / "image.nii.gz", tmp_path / "copy.mha") == (0, 199)
    np.testing.assert_array_equal(read_image(tmp_path / "copy.mha").array, values)
    np.testing.assert_array_equal(read_label_map(tmp_path / "copy.mha").array, values)


@pytest.mark.parametrize("name", ["image.nii", "image.mha"])
def test_an_image_that_was_cut_short_is_refused(tmp_path, name):
    write_label_map(tmp_path / name, LabelMap.from_array(np.random.default_rng(1).integers(0, 9, (20, 20, 20))))
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-2000])
    with pytest.raises(InputError, match=r"ends too early|cut short"):
        read_image(tmp_path / name)


def test_what_is_no_file_of_an_image_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a plain file"):
        read_image(tmp_path)
    with pytest.raises(InputError, match="nothing about the format"):
        read_image(write(tmp_path / "image.png", b"x"))
