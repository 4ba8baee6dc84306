"""Label maps from files: every type, layout and format gives the same labels, box, counts and geometry."""

import gzip
import struct

import label_files as files
import nibabel
import numpy as np
import pytest
import SimpleITK
from hypothesis import given
from hypothesis import strategies as st

from podium.io import read_label_map, write_label_map
from podium.io._narrow import Narrower
from podium.model import Box, InputError, LabelMap


def assert_holds(label_map, array):
    """Compare with the array, and what was noted on the way with what NumPy finds."""
    np.testing.assert_array_equal(label_map.array, array)
    expected = LabelMap.from_array(array)
    assert label_map.array.dtype == expected.array.dtype
    assert label_map.box == expected.box
    assert dict(label_map.labels) == dict(expected.labels)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("byte_order", ["<", ">"])
@pytest.mark.parametrize("dtype", files.CODES)
def test_every_type_and_byte_order(tmp_path, dtype, byte_order, name):
    array = files.labels(dtype=dtype)
    assert_holds(read_label_map(files.write(tmp_path / name, files.nifti(array, byte_order=byte_order))), array)


@pytest.mark.parametrize(
    ("largest", "dtype", "narrow"),
    [
        (255, "i4", np.uint8),
        (256, "i4", np.uint16),
        (65_535, "f4", np.uint16),
        (65_536, "i4", np.uint32),
        (4_294_967_295, "i8", np.uint32),
        (4_294_967_295, "f8", np.uint32),
    ],
)
def test_the_smallest_type_that_holds_the_labels(tmp_path, largest, dtype, narrow):
    array = files.labels((70, 60, 50), dtype=dtype, largest=largest)
    label_map = read_label_map(files.write(tmp_path / "a.nii.gz", files.nifti(array)))
    assert label_map.array.dtype == narrow
    assert_holds(label_map, array)


@given(
    shape=st.lists(st.integers(1, 40), min_size=2, max_size=3).map(tuple),
    dtype=st.sampled_from(sorted(files.CODES)),
    density=st.sampled_from((0.0, 0.001, 0.3, 1.0)),
    pieces=st.lists(st.integers(1, 4000), min_size=1, max_size=20),
    largest=st.sampled_from((1, 100, 300, 100_000)),
    seed=st.integers(0, 1000),
)
def test_pieces_of_any_length(shape, dtype, density, pieces, largest, seed):
    generator = np.random.default_rng(seed)
    largest = min(largest, 120 if dtype in ("i1", "u1") else 30_000 if dtype in ("i2", "u2") else largest)
    array = np.where(generator.random(shape) < density, generator.integers(1, largest + 1, shape), 0).astype(dtype)
    values = array.reshape(-1, order="F")
    narrower = Narrower(shape, path="a file")
    at = 0
    for length in pieces:
        narrower.add(values[at : at + length])
        at = min(at + length, values.size)
    narrower.add(values[at:])
    dimensions = len(shape)
    label_map = narrower.finish(
        spacing=(1.0,) * dimensions, origin=(0.0,) * dimensions, direction=((0.0,) * dimensions,) * dimensions
    )
    assert_holds(label_map, array)


@pytest.mark.parametrize("dtype", ["i2", "u1", "f4"])
def test_scaling_is_honoured(tmp_path, dtype):
    stored = files.labels(dtype=dtype)
    path = files.write(tmp_path / "a.nii.gz", files.nifti(stored, slope=2.0, intercept=1.0))
    assert_holds(read_label_map(path), stored.astype(int) * 2 + 1)
    path = files.write(tmp_path / "b.nii", files.nifti(stored, slope=float("nan"), intercept=7.0))
    assert_holds(read_label_map(path), stored)  # no slope, no scaling


def test_scaling_is_whole_to_single_precision(tmp_path):
    """What nibabel writes when whole numbers are stored as scaled integers is whole only up to rounding."""
    array = files.labels(largest=3).astype(np.float64)
    for dtype in ("u1", "i2", "i4"):
        image = nibabel.Nifti1Image(array, np.eye(4))
        image.set_data_dtype(dtype)
        nibabel.save(image, tmp_path / "a.nii.gz")
        assert_holds(read_label_map(tmp_path / "a.nii.gz"), array)


@pytest.mark.parametrize(("unit", "factor"), [("mm", 1), ("micron", 1e-3), ("meter", 1e3), ("unknown", 1)])
def test_lengths_come_in_several_units(tmp_path, unit, factor):
    image = nibabel.Nifti1Image(files.labels(), np.diag([0.5, 0.5, 2, 1]))
    image.header.set_xyzt_units(unit)
    nibabel.save(image, tmp_path / "a.nii")
    expected = SimpleITK.ReadImage(str(tmp_path / "a.nii")).GetSpacing()
    assert (
        read_label_map(tmp_path / "a.nii").spacing
        == pytest.approx(expected)
        == (0.5 * factor, 0.5 * factor, 2 * factor)
    )


def test_metaimage_and_nrrd_of_any_byte_order_and_member_count(tmp_path):
    array = files.labels(dtype="i4", largest=300)
    big = array.astype(">i4").tobytes(order="F")
    header = b"NDims = 3\n\nDimSize = 7 6 5\nElementType = MET_INT\nBinaryDataByteOrderMSB = True\nElementDataFile = "
    (tmp_path / "a.mha").write_bytes(header + b"LOCAL\n" + big)
    (tmp_path / "b.mhd").write_bytes(header.replace(b"DimSize", b"HeaderSize = -1\nDimSize") + b"b.raw\n")
    (tmp_path / "b.raw").write_bytes(b"something else first" + big)
    nrrd = b"NRRD0004\ntype: int\ndimension: 3\nsizes: 7 6 5\nendian: big\nencoding: gzip\n\n"
    (tmp_path / "c.nrrd").write_bytes(nrrd + gzip.compress(big[:100]) + gzip.compress(big[100:]))
    for name in ("a.mha", "b.mhd", "c.nrrd"):
        assert_holds(read_label_map(tmp_path / name), array)


def test_nifti_2_and_several_gzip_members(tmp_path):
    array = files.labels((40, 30, 20))
    nibabel.save(nibabel.Nifti2Image(array, np.diag([1, 2, 3, 1])), tmp_path / "a.nii.gz")
    label_map = read_label_map(tmp_path / "a.nii.gz")
    assert_holds(label_map, array)
    assert label_map.spacing == (1, 2, 3)

    content = files.nifti(array)
    members = b"".join(gzip.compress(content[k : k + 1001]) for k in range(0, len(content), 1001))
    (tmp_path / "b.nii.gz").write_bytes(members + b"\0" * 100)  # as archivers pad
    assert_holds(read_label_map(tmp_path / "b.nii.gz"), array)


def test_a_long_file_in_many_pieces(tmp_path):
    """Random labels compress badly, so that pieces come short and end inside voxels."""
    array = np.random.default_rng(0).integers(0, 250, (101, 103, 97)).astype("i4")
    assert_holds(read_label_map(files.write(tmp_path / "a.nii.gz", files.nifti(array))), array)
    assert_holds(read_label_map(files.write(tmp_path / "a.nii", files.nifti(array))), array)


def test_a_header_extension_is_passed_over(tmp_path):
    array = files.labels()
    content = files.nifti(array, at_108=struct.pack("<f", 400.0))
    content = content[:352] + b"x" * 48 + content[352:]
    assert_holds(read_label_map(files.write(tmp_path / "a.nii.gz", content)), array)


def test_the_name_need_not_tell_the_compression(tmp_path):
    array = files.labels()
    (tmp_path / "a.nii").write_bytes(gzip.compress(files.nifti(array)))
    (tmp_path / "b.nii.gz").write_bytes(files.nifti(array))
    for name in ("a.nii", "b.nii.gz"):
        assert_holds(read_label_map(tmp_path / name), array)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz", "a.mha", "a.mhd", "a.nrrd"])
@pytest.mark.parametrize("shape", [(7, 6, 5), (9, 8)])
def test_what_is_written_is_read(tmp_path, name, shape):
    array = files.labels(shape)
    dimensions = len(shape)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0] if dimensions == 3 else np.eye(2)
    written = LabelMap(
        array,
        spacing=(0.7, 1.3, 2.9)[:dimensions],
        origin=(-10.0, 20.0, 3.5)[:dimensions],
        direction=tuple(map(tuple, rotation.tolist())),
        box=None,
        labels={},
    )
    write_label_map(tmp_path / name, written)
    read = read_label_map(tmp_path / name, dimensions=dimensions)
    assert_holds(read, array)
    assert read.geometry_differences(written, tolerance=1e-4) == []


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("name", ["a.mha", "a.nrrd", "a.nii.gz"])
@pytest.mark.parametrize("compressed", [True, False])
def test_the_same_geometry_as_simpleitk(tmp_path, name, dtype, compressed):
    array = files.labels(dtype=dtype)
    image = SimpleITK.GetImageFromArray(array.T)
    image.SetSpacing((0.75, 1.25, 3.0))
    image.SetOrigin((-12.5, 40.0, 7.25))
    image.SetDirection((0, 0, 1, 0, -1, 0, 1, 0, 0))
    SimpleITK.WriteImage(image, str(tmp_path / name), useCompression=compressed)
    label_map = read_label_map(tmp_path / name)
    assert_holds(label_map, array)
    again = SimpleITK.ReadImage(str(tmp_path / name))
    np.testing.assert_allclose(label_map.spacing, again.GetSpacing(), atol=1e-6)
    np.testing.assert_allclose(label_map.origin, again.GetOrigin(), atol=1e-5)
    np.testing.assert_allclose(np.ravel(label_map.direction), again.GetDirection(), atol=1e-6)


def test_real_cases_have_the_organisers_geometry(kits21, golden_kits21):
    for case, golden in golden_kits21["cases"].items():
        label_map = read_label_map(kits21 / case / "aggregated_MAJ_seg.nii.gz")
        assert label_map.shape == tuple(golden["sitk_size"])
        assert label_map.spacing == tuple(golden["sitk_spacing"])
        np.testing.assert_allclose(label_map.origin, golden["origin"], atol=1e-6)
        np.testing.assert_allclose(np.ravel(label_map.direction), golden["direction"], atol=1e-6)


@pytest.mark.slow
def test_real_annotations_like_nibabel(kits21):
    for path in sorted((kits21 / "case_00257" / "segmentations").glob("*.nii.gz")):
        assert_holds(read_label_map(path), np.asarray(nibabel.load(path).dataobj))


def test_trailing_axes_of_one(tmp_path):
    flat = files.labels((9, 8))
    path = files.write(tmp_path / "a.nii", files.nifti(flat[..., None, None]))
    assert read_label_map(path).shape == (9, 8, 1)
    assert read_label_map(path, dimensions=2).shape == (9, 8)
    assert read_label_map(path, dimensions=3).shape == (9, 8, 1)
    with pytest.raises(InputError, match="2-D or 3-D"):
        read_label_map(files.write(tmp_path / "b.nii", files.nifti(np.zeros((3, 4, 2, 5), "u1"))))


def test_geometry_differences_are_told_with_both_values():
    one = LabelMap.from_array(np.ones((3, 3, 3)), spacing=(1, 1, 2))
    two = LabelMap.from_array(np.ones((3, 3, 3)), spacing=(1, 1, 2.5))
    assert one.geometry_differences(one) == []
    assert one.geometry_differences(two) == ["spacing 1 1 2 and 1 1 2.5 mm"]


def test_boxes():
    assert Box((1, 2), (3, 4)).union(Box((0, 3), (2, 9))) == Box((0, 2), (3, 9))
    assert Box((1, 2), (3, 4)).union(None) == Box((1, 2), (3, 4))
    assert Box((1, 2), (3, 4)).slices == (slice(1, 3), slice(2, 4))


def test_names_without_a_format_are_refused(tmp_path):
    with pytest.raises(InputError, match="ends with"):
        read_label_map(tmp_path / "labels.xyz")
    with pytest.raises(InputError, match="ends with"):
        write_label_map(tmp_path / "labels", LabelMap.from_array(np.ones((2, 2))))
    (tmp_path / "folder.nii.gz").mkdir()
    with pytest.raises(InputError, match="folder"):
        read_label_map(tmp_path / "folder.nii.gz")
    with pytest.raises(FileNotFoundError):
        read_label_map(tmp_path / "missing.nii.gz")
