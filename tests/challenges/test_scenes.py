"""What challenges give to be moved through: the very arrays that they measure."""

import json

import h5py
import numpy as np
import pytest
from declared_challenges import SEGMENTATION
from tusrec_files import NAME, displacement_sets, shifts, write_prediction, write_truth

from podium.challenges import get_challenge
from podium.challenges.kinds import SegmentationChallenge
from podium.io import write_label_map
from podium.model import Film, InputError, LabelMap, Sweep, Volume


def save(path, array, spacing=(1.0, 1.0, 3.0)):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_label_map(path, LabelMap.from_array(np.asarray(array, np.uint8), spacing=spacing[: array.ndim]))
    return path


def scenes(challenge, truth, prediction, **options):
    (case,) = challenge.cases(truth)
    return challenge.scenes(case, challenge.load(case), prediction, **options)


def test_a_volume_with_its_image(tmp_path):
    truth = np.zeros((12, 10, 4), np.uint8)
    truth[3:8, 3:7, 1:3] = 1
    guess = np.roll(truth, 1, axis=0)
    save(tmp_path / "truth" / "case_00000.nii.gz", truth)
    path = save(tmp_path / "case_00000.nii.gz", guess)
    challenge = get_challenge("kits21")
    (bare,) = scenes(challenge, tmp_path / "truth", path, images=tmp_path / "none")  # where there is no image
    assert isinstance(bare, Volume)
    np.testing.assert_array_equal(bare.reference.array, truth)
    np.testing.assert_array_equal(bare.prediction.array, guess)
    assert bare.labels == {1: "kidney", 2: "tumor", 3: "cyst"}
    assert bare.image is None
    save(tmp_path / "images" / "case_00000" / "imaging.nii.gz", truth * 250)
    (scene,) = scenes(challenge, tmp_path / "truth", path, images=tmp_path / "images")
    assert np.unique(scene.image).tolist() == [95, 255]  # 0 and 250 Hounsfield units in the window from −150 to 250
    with pytest.raises(InputError, match="shape"):
        scenes(challenge, tmp_path / "truth", save(path, guess[:8]))


def test_declared_segmentations(tmp_path):
    challenge = SegmentationChallenge(**SEGMENTATION)
    truth = np.zeros((8, 9, 5), np.uint8)
    truth[2:5, 2:6, 1:4] = 1
    save(tmp_path / "truth" / "s0_0_seg.nii.gz", truth)
    path = save(tmp_path / "s0_0.nii.gz", truth)
    (case,) = challenge.cases(tmp_path / "truth")
    (scene,) = challenge.scenes(case, challenge.load(case), path)
    assert isinstance(scene, Volume)
    assert scene.labels == {number: name for name, number in challenge.labels.items()}
    flat = LabelMap.from_array(truth[:, :, 2])
    plane = {"": flat}
    write_label_map(tmp_path / "flat.mha", flat)
    (picture,) = challenge.scenes(case, plane, tmp_path / "flat.mha")
    assert isinstance(picture, Film)
    np.testing.assert_array_equal(picture.reference, truth[None, :, :, 2])


def test_both_views_of_a_plaque(tmp_path):
    mask = np.zeros((20, 30), np.uint8)
    mask[5:9, 4:20] = 2

    def sample(path, **masks):
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(path, "w") as file:
            file["cls"] = 0
            for name, values in masks.items():
                file[name] = values
        return path

    sample(tmp_path / "truth" / "labels" / "001_label.h5", long_mask=mask, trans_mask=mask)
    path = sample(tmp_path / "001_pred.h5", long_mask=mask, trans_mask=mask[:5])
    sample(tmp_path / "images" / "001.h5", long_img=mask * 3.0, trans_img=mask * 3.0)
    challenge = get_challenge("csv2026", baseline_seconds=1.0)
    (film,) = scenes(challenge, tmp_path / "truth", path, images=tmp_path / "images")  # the other is of another shape
    assert (film.title, film.labels) == ("longitudinal view", {1: "plaque", 2: "vessel"})
    np.testing.assert_array_equal(film.prediction, mask[None])
    np.testing.assert_array_equal(film.image > 0, mask[None] > 0)


def test_a_sequence_is_a_film(tmp_path):
    frames = np.zeros((4, 20, 30), np.uint8)
    for index in range(4):
        frames[index, 5 + index : 12 + index, 8:15] = 1
    guess = np.roll(frames, 1, axis=2)
    guess[3] = 0
    folder = tmp_path / "truth" / "A_001"
    for path, array in ((folder / "targets" / "A_001_labels.mha", frames), (tmp_path / "A_001.mha", guess)):
        save(path, array.transpose(0, 2, 1), spacing=(5.0, 2.0, 1.0))
    save(folder / "images" / "A_001_frames.mha", frames.transpose(0, 2, 1) * 9)
    (folder / "scanned-region.json").write_text('"abdomen"')
    (folder / "frame-rate.json").write_text(json.dumps(4.0))
    (film,) = scenes(
        get_challenge("trackrad2025"), tmp_path / "truth", tmp_path / "A_001.mha", images=tmp_path / "truth"
    )
    assert isinstance(film, Film)
    np.testing.assert_array_equal(film.reference, frames)
    np.testing.assert_array_equal(film.prediction, guess)
    assert (film.rate, film.pixel_mm) == (4.0, (1.0, 2.0))
    np.testing.assert_allclose(film.course.values, [6 / 7, 6 / 7, 6 / 7, 0])
    np.testing.assert_array_equal(film.image > 0, frames > 0)


def test_a_scan_is_a_sweep(tmp_path):
    points = np.array([[0, 1, 1], [1, 3, 2], [3, 6, 4]])
    truth = write_truth(tmp_path / "truth", {NAME: (shifts(1, 2, 3, 4), points)})
    still = np.tile(np.eye(4), (4, 1, 1))
    path = write_prediction(tmp_path, NAME, displacement_sets(still, still, points))
    (sweep,) = scenes(get_challenge("tusrec"), truth, path)
    assert isinstance(sweep, Sweep)
    assert sweep.reference.shape == sweep.prediction.shape == (5, 4, 3)
    np.testing.assert_allclose(sweep.prediction, np.repeat(sweep.prediction[:1], 5, axis=0))
    away = np.linalg.norm(sweep.reference - sweep.prediction, axis=2)
    np.testing.assert_allclose(sweep.course.values[1:], away.mean(axis=1)[1:])
    assert np.isnan(sweep.course.values[0])
