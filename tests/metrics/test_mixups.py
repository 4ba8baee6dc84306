"""Mistakes that leave labels readable are named, in files as nibabel writes them, and nothing else is."""

import nibabel
import numpy as np
import pytest

from podium.io import read_label_map
from podium.metrics.mixups import image_doubts, mirror_doubts, volume_doubts
from podium.model import LabelMap

LPS = np.diag([-0.9, -0.9, 3.0, 1.0])
"""Axes to the patient's left, posterior and superior, as nibabel's right–anterior–superior coordinates say it."""


def kidneys():
    """Return a kidney (1) on one side, with a tumour (2) in it."""
    labels = np.zeros((24, 20, 16), np.uint8)
    labels[3:10, 4:13, 2:9] = 1
    labels[4:7, 5:9, 3:6] = 2
    return labels


def saved(path, labels, affine=LPS):
    nibabel.save(nibabel.Nifti1Image(labels, affine), path)
    return read_label_map(path, dimensions=3)


@pytest.fixture
def doubts(tmp_path):
    """Return what is said of labels saved with an affine, against the kidneys."""
    reference = saved(tmp_path / "truth.nii.gz", kidneys())

    def said(labels, affine=LPS):
        return volume_doubts(saved(tmp_path / "prediction.nii.gz", labels, affine), reference)

    return said


def test_nothing_is_said_of_what_is_right_or_merely_bad(doubts):
    assert doubts(kidneys()) == []
    smaller = kidneys()
    smaller[:6] = 0
    assert doubts(smaller) == []
    generator = np.random.default_rng(1)
    assert doubts(generator.integers(0, 3, kidneys().shape).astype(np.uint8)) == []
    no_tumour = np.minimum(kidneys(), 1)
    assert doubts(no_tumour) == []


def test_everything_is_background(doubts, tmp_path):
    nothing = np.zeros_like(kidneys())
    assert doubts(nothing) == ["everything is background: no voxel has a label"]
    empty = saved(tmp_path / "empty.nii.gz", nothing)
    assert volume_doubts(empty) == ["everything is background: no voxel has a label"]
    assert volume_doubts(empty, empty) == []
    assert volume_doubts(LabelMap.from_array(kidneys())) == []


def test_labels_that_are_swapped_are_not_called_flipped_besides():
    """A slab of each label beside the other: swapped, one flip puts each where the other should be."""
    reference = np.zeros((8, 8), np.uint8)
    reference[2:6, :4], reference[2:6, 4:] = 1, 2
    swapped = np.array([0, 2, 1], np.uint8)[reference]
    assert mirror_doubts(reference, swapped, axes={1: "left–right"})
    (doubt,) = image_doubts(swapped, reference)
    assert doubt.startswith("labels 1 and 2 look swapped")


def test_swapped_labels_are_named(doubts):
    swapped = np.array([0, 2, 1], np.uint8)[kidneys()]
    (doubt,) = doubts(swapped)
    assert doubt.startswith("labels 1 and 2 look swapped: their Dice with the truth is 0.00, and 1.00")


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (0, "left–right"),
        (1, "anterior–posterior"),
        (2, "superior–inferior"),
        ((0, 1), "left–right and anterior–posterior"),
    ],
)
def test_voxels_flipped_under_the_reference_header(doubts, axes, words):
    (doubt,) = doubts(np.flip(kidneys(), axes))
    assert doubt.startswith(f"looks flipped {words}: Dice with the truth is 0.")
    assert doubt.endswith("turn the array and keep the header")


def test_words_follow_the_axes_of_the_reference(tmp_path):
    """The first axis of a sagittal image does not run to the left."""
    affine = np.array([[0, 0, 3.0, 0], [-0.9, 0, 0, 0], [0, 0.9, 0, 0], [0, 0, 0, 1]])
    reference = saved(tmp_path / "truth.nii.gz", kidneys(), affine)
    (doubt,) = volume_doubts(saved(tmp_path / "prediction.nii.gz", kidneys()[::-1], affine), reference)
    assert "flipped anterior–posterior:" in doubt
    (doubt,) = volume_doubts(saved(tmp_path / "prediction.nii.gz", kidneys()[:, :, ::-1], affine), reference)
    assert "flipped left–right:" in doubt


def test_an_affine_changed_without_its_voxels(doubts):
    (doubt,) = doubts(kidneys(), np.diag([0.9, -0.9, 3.0, 1.0]))
    assert "the header was changed and the voxels were not: by its header it is flipped left–right" in doubt
    assert "axes run to right, posterior, superior, the truth's to left, posterior, superior" in doubt
    assert doubt.endswith("Give them the truth's header, and do not turn them")


@pytest.mark.parametrize("codes", [("R", "A", "S"), ("R", "P", "S"), ("S", "L", "P"), ("P", "I", "R")])
def test_a_correctly_reoriented_file_is_not_to_be_given_another_header(tmp_path, codes):
    truth = nibabel.Nifti1Image(kidneys(), LPS)
    nibabel.save(truth, tmp_path / "truth.nii.gz")
    own = nibabel.io_orientation(truth.affine)
    turned = truth.as_reoriented(nibabel.orientations.ornt_transform(own, nibabel.orientations.axcodes2ornt(codes)))
    nibabel.save(turned, tmp_path / "prediction.nii.gz")
    reference, prediction = (read_label_map(tmp_path / f"{name}.nii.gz") for name in ("truth", "prediction"))
    (doubt,) = volume_doubts(prediction, reference)
    assert doubt.startswith("voxels and header were reoriented together (axes run to ")
    assert "(Dice 1.00). Turn both back" in doubt
    assert "the truth's header alone would leave it " in doubt
    assert "Give them the truth's header" not in doubt


def test_another_origin_is_a_matter_of_the_header_where_voxels_agree(doubts):
    moved = LPS.copy()
    moved[:3, 3] = 5
    assert doubts(kidneys(), moved) == [
        "the header alone is another: voxels agree with the truth as they lie (Dice 1.00). Give them the truth's header"
    ]
    assert doubts(np.roll(kidneys(), 9, axis=0), moved) == []


def test_images_have_sides_of_their_own():
    image = np.zeros((20, 30), np.uint8)
    image[3:9, 4:12] = 2
    image[4:6, 5:8] = 1
    assert image_doubts(image, image) == image_doubts(image) == []
    assert image_doubts(np.zeros_like(image), image) == ["everything is background: no pixel has a label"]
    assert image_doubts(image[::-1], image)[0].startswith("looks flipped top–bottom:")
    assert image_doubts(image[:, ::-1], image)[0].startswith("looks flipped left–right:")
    assert image_doubts(np.array([0, 2, 1], np.uint8)[image], image)[0].startswith("labels 1 and 2 look swapped")
    assert image_doubts(image[:5], image) == []


def test_axes_of_equal_length_may_be_exchanged():
    """As MATLAB and Python write the same image into HDF5; nothing else would tell of it."""
    image = np.zeros((30, 30), np.uint8)
    image[3:9, 14:28] = 2
    image[4:6, 15:18] = 1
    (doubt,) = image_doubts(image.T, image)
    assert doubt.startswith("looks transposed (top–bottom for left–right): Dice with the truth is 0.00, and 1.00")
    (doubt,) = image_doubts(np.rot90(image), image)
    assert doubt.startswith("looks transposed (top–bottom for left–right) and flipped ")
    assert not any("transposed" in doubt for doubt in image_doubts(np.roll(image.T, 5, axis=1), image))


def test_slices_may_be_transposed_where_they_are_square(tmp_path):
    volume = np.zeros((20, 20, 16), np.uint8)
    volume[3:7, 4:17, 2:9] = 1
    volume[4:6, 8:15, 3:6] = 2
    reference = saved(tmp_path / "truth.nii.gz", volume)
    (doubt,) = volume_doubts(saved(tmp_path / "prediction.nii.gz", volume.swapaxes(0, 1)), reference)
    assert doubt.startswith("looks transposed (left–right for anterior–posterior): Dice")
