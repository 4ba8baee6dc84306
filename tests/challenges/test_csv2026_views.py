"""What is shown of a case of CSV 2026."""

import h5py
import numpy as np
import pytest

from podium.challenges import get_challenge

SHAPE = (60, 80)


def sample(path, risk=0, **masks):
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, mask in masks.items():
            file[name] = mask
        file["cls"] = risk
    return path


def mask(*boxes):
    image = np.zeros(SHAPE, np.uint8)
    for label, rows, columns in boxes:
        image[rows, columns] = label
    return image


LONG = mask((2, np.s_[20:40], np.s_[:]), (1, np.s_[34:40], np.s_[30:50]))
TRANS = mask((2, np.s_[20:40], np.s_[30:50]))


@pytest.fixture
def show(tmp_path):
    def show(images=None, **prediction):
        challenge = get_challenge("csv2026", baseline_seconds=1.0)
        sample(tmp_path / "truth" / "labels" / "001_label.h5", 1, long_mask=LONG, trans_mask=TRANS)
        path = sample(
            tmp_path / "001_pred.h5", **({"risk": 0, "long_mask": 0 * LONG, "trans_mask": TRANS} | prediction)
        )
        (case,) = challenge.cases(tmp_path / "truth")
        (view,) = challenge.views(case, challenge.load(case), path, images=images)
        return view

    return show


def test_both_views_are_shown_around_what_is_in_them(show):
    view = show()
    assert view.title == "001: high risk; predicted: low risk"
    assert view.labels == {1: "plaque", 2: "vessel"}
    assert [panel.caption for panel in view.panels] == ["longitudinal view", "transverse view"]
    long, trans = view.panels
    np.testing.assert_array_equal(long.reference, LONG[10:50])  # 12 % of 80 pixels around it
    assert not long.prediction.any()
    np.testing.assert_array_equal(trans.reference, TRANS[12:48, 22:58])  # at least 8 pixels
    np.testing.assert_array_equal(trans.prediction, trans.reference)
    assert view.remarks == ()


def test_a_view_that_failed_is_left_out_and_explained(show):
    view = show(long_mask=np.zeros((4, 4), np.uint8))
    assert [panel.caption for panel in view.panels] == ["transverse view"]
    assert view.remarks == ("001_pred.h5: wrong shape: 'long_mask' has 4 × 4 pixels, it should have 60 × 80",)


def test_a_class_that_failed_is_said(show):
    view = show(risk=0.7)
    assert view.title == "001: high risk; predicted: no class"
    assert "'cls' is 0.7" in view.remarks[0]
    assert len(view.panels) == 2


@pytest.mark.parametrize("folder", ["", "images"])
def test_grey_values_go_from_black_to_white(show, tmp_path, folder):
    grey = np.tile(np.arange(80, dtype=np.uint8), (60, 1))
    place = tmp_path / "given" / folder
    place.mkdir(parents=True)
    with h5py.File(place / "001.h5", "w") as file:
        file["long_img"] = grey
        file["trans_img"] = np.stack([grey, grey, 0 * grey], axis=-1)  # in colour
    long, trans = show(images=tmp_path / "given").panels
    np.testing.assert_allclose(long.image, grey[10:50] / 79)
    np.testing.assert_allclose(trans.image, grey[12:48, 22:58] / 79, rtol=1e-6)
    assert long.image.dtype == np.float32


def test_images_may_be_constant_or_hold_what_is_no_number(show, tmp_path):
    with h5py.File(tmp_path / "001.h5", "w") as file:
        file["long_img"] = np.full(SHAPE, 7.0)
        file["trans_img"] = np.where(TRANS, np.nan, 5.0)
    long, trans = show(images=tmp_path).panels
    assert not long.image.any()
    np.testing.assert_array_equal(trans.image, TRANS[12:48, 22:58] == 0)


def test_channels_may_come_first(show, tmp_path):
    grey = np.arange(60 * 80, dtype=np.float32).reshape(SHAPE)
    with h5py.File(tmp_path / "001.h5", "w") as file:
        file["long_img"] = file["trans_img"] = grey[None]
    np.testing.assert_allclose(show(images=tmp_path).panels[0].image, grey[10:50] / grey.max(), rtol=1e-6)


def test_without_images_the_remarks_say_so_once(show, tmp_path):
    view = show(images=tmp_path)
    assert view.remarks == ("Without the image: there is no 001.h5 among the images",)
    with h5py.File(tmp_path / "001.h5", "w") as file:
        file["long_img"] = np.zeros((3, 3))
    long, trans = show(images=tmp_path).remarks
    assert "'long_img' has 3 × 3 pixels, its labels 60 × 80" in long
    assert "no dataset 'trans_img'" in trans
    assert str(tmp_path) not in long + trans
