"""What is shown of a case of KiTS21."""

import numpy as np
import pytest
from label_files import nifti, write

from podium.challenges import get_challenge
from podium.io import write_label_map
from podium.model import InputError, LabelMap, Slices

SPACING = (0.5, 1, 3)


def save(path, array, spacing=SPACING):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(np.asarray(array, np.uint8), spacing=spacing))
    return path


@pytest.fixture
def case(tmp_path):
    """Return truth and prediction, and a function that shows them."""
    truth = np.zeros((40, 30, 4), np.uint8)
    truth[10:20, 10:16, :] = 1
    truth[12:14, 12:14, 2] = 2
    guess = truth.copy()
    guess[10:20, 15, 1] = 0  # ten voxels of kidney
    guess[12:14, 12:14, 2] = 1  # four of tumour

    def show(truth=truth, guess=guess, images=None, **options):
        challenge = get_challenge("kits21", **options)
        save(tmp_path / "truth" / "case_00000.nii.gz", truth)
        path = save(tmp_path / "predictions" / "case_00000.nii.gz", guess)
        (found,) = challenge.cases(tmp_path / "truth")
        (view,) = challenge.views(found, challenge.load(found), path, images=images)
        assert isinstance(view, Slices)
        return view

    return truth, guess, show


def test_the_slices_where_kidney_and_mass_are_most_disputed(case):
    truth, guess, show = case
    view = show()
    assert [panel.caption for panel in view.panels] == ["axial slice 2 of 4", "axial slice 3 of 4"]
    assert view.labels == {1: "kidney", 2: "tumor", 3: "cyst"}
    assert view.remarks == ()
    for panel, index in zip(view.panels, (1, 2), strict=True):
        # The header's first axis goes to the patient's left, which is to the right, its second to the back: down.
        # Eight pixels are left around what is labelled.
        np.testing.assert_array_equal(panel.reference, truth[2:28, 2:24, index].T)
        np.testing.assert_array_equal(panel.prediction, guess[2:28, 2:24, index].T)
        assert panel.reference.dtype == np.uint8
        assert panel.pixel_mm == (1, 0.5)
        assert panel.image is None


def test_one_slice_that_is_both_is_shown_once(case):
    truth, _, show = case
    guess = truth.copy()
    guess[:, :, 2] = 0
    assert [panel.caption for panel in show(guess=guess).panels] == ["axial slice 3 of 4"]


def test_nothing_is_shown_of_nothing(case):
    truth, _, show = case
    assert show(truth=0 * truth, guess=0 * truth).panels == ()


def test_an_empty_prediction_is_shown_on_the_reference(case):
    truth, _, show = case
    panel = show(guess=0 * truth).panels[0]
    assert panel.reference.any()
    assert not panel.prediction.any()


def test_grey_values_are_those_of_the_soft_tissue_window(case, tmp_path):
    truth, _, show = case
    units = np.full(truth.shape, -1000, np.int16)  # air
    units[..., 1] = 50
    units[..., 2] = 3000  # metal
    folder = tmp_path / "images" / "case_00000"
    folder.mkdir(parents=True)
    write(folder / "imaging.nii.gz", nifti(units, spacing=SPACING))
    one, two = show(images=tmp_path / "images").panels
    assert one.image.shape == one.reference.shape
    assert one.image.dtype == np.float32
    np.testing.assert_allclose(one.image, 0.5)
    np.testing.assert_array_equal(two.image, 1)


def test_grey_values_lie_where_the_labels_do(case, tmp_path):
    truth, _, show = case
    (tmp_path / "images").mkdir()
    write(tmp_path / "images" / "case_00000.nii.gz", nifti((truth > 0).astype(np.int16) * 1000, spacing=SPACING))
    for panel in show(images=tmp_path / "images").panels:
        np.testing.assert_array_equal(panel.image == 1, panel.reference > 0)


def test_without_its_image_a_case_is_shown_all_the_same(case, tmp_path):
    _, _, show = case
    (tmp_path / "images").mkdir()
    view = show(images=tmp_path / "images")
    assert [panel.image for panel in view.panels] == [None, None]
    assert view.remarks == ("Without the image: there is no case_00000/imaging.nii.gz among the images",)
    write(tmp_path / "images" / "case_00000.nii.gz", nifti(np.zeros((2, 2, 2), np.int16)))
    (remark,) = show(images=tmp_path / "images").remarks
    assert "wrong shape: the image has 2 × 2 × 2 voxels" in remark
    assert str(tmp_path) not in remark


def test_what_could_not_be_measured_is_not_shown(case):
    _, guess, show = case
    with pytest.raises(InputError, match="wrong shape"):
        show(guess=guess[..., :3])


def test_of_several_annotations_the_majority_is_drawn(tmp_path):
    kidney = np.zeros((20, 20, 4), np.uint8)
    kidney[5:10, 5:10, 1:3] = 1
    larger = kidney.copy()
    larger[10, 5:10, 1] = 1
    for number, array in enumerate((kidney, larger, larger), start=1):
        save(
            tmp_path / "truth" / "case_00000" / "segmentations" / f"kidney_instance-1_annotation-{number}.nii.gz", array
        )
    prediction = save(tmp_path / "case_00000.nii.gz", kidney)
    challenge = get_challenge("kits21", edition="code")
    (found,) = challenge.cases(tmp_path / "truth")
    (view,) = challenge.views(found, challenge.load(found), prediction)
    assert view.remarks == ("The reference that is drawn is the majority of all annotations.",)
    assert view.panels[0].caption == "axial slice 2 of 4"
    np.testing.assert_array_equal(view.panels[0].reference, larger[:19, :18, 1].T)


def test_a_real_case(kits21):
    """The plane that an independent count finds, upright: the spine side, where kidneys are, is below."""
    import nibabel

    challenge = get_challenge("kits21")
    case = challenge.cases(kits21)[1]
    other = case.files[0].parent / "aggregated_OR_seg.nii.gz"
    (view,) = challenge.views(case, challenge.load(case), other)
    truth, guess = (np.asarray(nibabel.load(path).dataobj) for path in (case.files[0], other))
    counts = [np.count_nonzero(a != b) for a, b in zip(truth, guess, strict=True)]  # the first axis is the longest
    assert view.panels[0].caption == f"axial slice {int(np.argmax(counts)) + 1} of {len(truth)}"
