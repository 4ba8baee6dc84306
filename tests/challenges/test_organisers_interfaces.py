"""The organisers' own interfaces: programs as their participants write them, fed and understood."""

import csv
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace

import h5py
import numpy as np
import pytest
import SimpleITK
from other_truths import training_layout
from scipy.io import loadmat, savemat

import podium
from podium.challenges import get_challenge
from podium.io import read_label_map, write_label_map
from podium.model import InputError, Question


@pytest.fixture
def laid_out(few_cases, tmp_path):
    """Return interface, question, inputs and an empty output folder of the first case."""

    def of(name):
        interface = get_challenge(name).interface
        question = interface.questions(few_cases(name))[0]
        inputs, output = tmp_path / "input", tmp_path / "output"
        inputs.mkdir()
        output.mkdir()
        interface.lay_out(question, inputs)
        return interface, question, inputs, output

    return of


def run_program(folder, source, *words):
    """Run a program as a participant would have written it."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(source))
    subprocess.run([sys.executable, path, *map(str, words)], check=True)


def measured(name, truth, question, answer):
    """Return the values of one prediction by metric and target."""
    challenge = get_challenge(name)
    (case,) = (case for case in challenge.cases(truth) if case.name == question.name)
    values = challenge.measure(case, challenge.load(case), answer)
    return {(value.metric, value.target): value.value for value in values}


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# TrackRAD 2025

CONTAINER = """
    import json, sys
    from pathlib import Path
    import numpy as np
    import SimpleITK as sitk

    source, target = map(Path, sys.argv[1:])
    rate, field, region = (
        json.loads((source / f"{slug}.json").read_text())
        for slug in ("frame-rate", "b-field-strength", "scanned-region")
    )
    assert rate > 0 and field > 0 and region in ("thorax", "abdomen", "pelvis")
    (series,) = (source / "images" / "mri-linacs").glob("*.mha")
    image = sitk.ReadImage(str(series))
    frames = sitk.GetArrayFromImage(image)
    first = sitk.GetArrayFromImage(sitk.ReadImage(str(source / "images" / "mri-linac-target" / "target.mha")))
    assert frames.shape[:2] == first.shape[:2] and first.shape[2] == 1
    # What lies 90 above the darkest ten per cent of the target's surroundings is the target.
    bright = frames > np.percentile(frames[first[..., 0] > 0][:, 0], 5) - 1
    answer = sitk.GetImageFromArray(bright.astype(np.uint8))
    answer.CopyInformation(image)
    folder = target / "images" / "mri-linac-series-targets"
    folder.mkdir(parents=True)
    sitk.WriteImage(answer, str(folder / "output.mha"), useCompression=True)
"""


def test_a_container_of_trackrad_finds_its_slugs_and_is_understood(few_cases, laid_out, tmp_path):
    interface, question, inputs, output = laid_out("trackrad2025")
    assert files(inputs) == [
        "b-field-strength.json",
        "frame-rate.json",
        "images/mri-linac-target/target.mha",
        "images/mri-linacs/A_001_frames.mha",
        "scanned-region.json",
    ]
    assert question.frames == 36
    run_program(tmp_path, CONTAINER, inputs, output)
    answer = interface.answer(question, output)
    assert interface.file_name(question, answer) == "A_001.mha"
    assert measured("trackrad2025", few_cases("trackrad2025"), question, answer)["dice", ""] > 0.9


def test_frames_come_one_by_one_as_simpleitk_has_them(laid_out):
    interface, question, inputs, output = laid_out("trackrad2025")
    known, frames = interface.frames(inputs)
    (series,) = (inputs / "images" / "mri-linacs").iterdir()
    whole = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(series))
    first = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(inputs / "images" / "mri-linac-target" / "target.mha"))
    assert {name: known[name] for name in known if name != "target"} == {
        "frame-rate": 4.0,
        "b-field-strength": 0.35,
        "scanned-region": "thorax",
    }
    np.testing.assert_array_equal(known["target"], first[..., 0])
    listed = list(frames)
    assert len(listed) == question.frames
    for index, frame in enumerate(listed):
        assert frame.flags.c_contiguous
        np.testing.assert_array_equal(frame, whole[..., index])
    interface.write_frames(question, (frame > 100 for frame in listed), inputs, output)
    written = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(interface.answer(question, output)))
    np.testing.assert_array_equal(written, whole > 100)


def test_answers_to_frames_get_the_geometry_of_the_images(few_cases, tmp_path):
    truth = shutil.copytree(few_cases("trackrad2025") / "A_001", tmp_path / "truth" / "A_001")
    grid = {"spacing": (5.0, 1.2, 1.5), "origin": (0.1, -7.0, 38.5)}
    for path in (truth / "images" / "A_001_frames.mha", truth / "targets" / "A_001_first_label.mha"):
        write_label_map(path, replace(read_label_map(path), **grid))
    interface = get_challenge("trackrad2025").interface
    (question,) = interface.questions(tmp_path / "truth")
    inputs, output = tmp_path / "input", tmp_path / "output"
    inputs.mkdir()
    interface.lay_out(question, inputs)
    known, frames = interface.frames(inputs)
    interface.write_frames(question, (known["target"] for _ in frames), inputs, output)
    answer = read_label_map(interface.answer(question, output))
    assert answer.spacing == grid["spacing"]
    assert answer.origin == grid["origin"]


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda answers: answers[:-1], "35 answers to the 36 frames"),
        (lambda answers: [*answers, answers[0]], "more answers than the 36 frames"),
        (lambda answers: [answers[0].T, *answers[1:]], "frame 0: the answer is 88 × 96 of uint8, not 96 × 88"),
        (lambda answers: [answers[0] * np.nan, *answers[1:]], "frame 0: the answer is 96 × 88 of float"),
    ],
)
def test_answers_that_do_not_fit_the_frames_are_refused(laid_out, spoil, problem):
    interface, question, inputs, output = laid_out("trackrad2025")
    known, frames = interface.frames(inputs)
    answers = spoil([known["target"] for _ in frames])
    with pytest.raises(InputError, match=problem):
        interface.write_frames(question, iter(answers), inputs, output)
    with pytest.raises(InputError, match="which is empty"):
        interface.answer(question, output)


def test_a_sequence_of_labels_is_not_shown_as_the_first(few_cases, tmp_path):
    truth = shutil.copytree(few_cases("trackrad2025") / "A_001", tmp_path / "truth" / "A_001")
    shutil.copy(truth / "targets" / "A_001_labels.mha", truth / "targets" / "A_001_first_label.mha")
    interface = get_challenge("trackrad2025").interface
    (question,) = interface.questions(tmp_path / "truth")
    (tmp_path / "input").mkdir()
    with pytest.raises(InputError, match="not the target of one frame alone"):
        interface.lay_out(question, tmp_path / "input")


@pytest.mark.parametrize("name", ["targets/A_001_first_label.mha", "frame-rate.json", "b-field-strength.json"])
def test_what_a_container_needs_and_is_not_there_is_told(few_cases, name, tmp_path):
    shutil.copytree(few_cases("trackrad2025") / "A_001", tmp_path / "A_001")
    (tmp_path / "A_001" / name).unlink()
    with pytest.raises(InputError, match=re.escape(f"A_001/{name} is missing")):
        get_challenge("trackrad2025").interface.questions(tmp_path)


# TUS-REC


def test_a_scan_is_laid_out_as_the_organisers_lay_out_theirs(few_cases, laid_out):
    _, question, inputs, _ = laid_out("tusrec")
    assert question.name == "sub050__LH_rotation"
    assert question.frames == 10
    assert files(inputs) == [
        "calib_matrix.csv",
        "dataset_keys.h5",
        "frames/050/LH_rotation.h5",
        "landmarks/landmark_050.h5",
    ]
    truth = few_cases("tusrec")
    with h5py.File(inputs / "landmarks" / "landmark_050.h5") as file:
        assert list(file) == ["LH_rotation"]  # and not those of the other arm
    with h5py.File(inputs / "frames" / "050" / "LH_rotation.h5") as file:
        assert list(file) == ["frames"]
        with h5py.File(truth / "frames" / "050" / "LH_rotation.h5") as own:
            np.testing.assert_array_equal(file["frames"], own["frames"])
            assert file["frames"].dtype == own["frames"].dtype
    with h5py.File(inputs / "dataset_keys.h5") as file:
        assert list(file) == ["sub050__LH_rotation"]
    assert (inputs / "calib_matrix.csv").read_bytes() == (truth / "calib_matrix.csv").read_bytes()


def test_the_training_layout_gives_the_same_inputs(few_cases, laid_out, tmp_path):
    interface, question, inputs, _ = laid_out("tusrec")
    training = shutil.copytree(few_cases("tusrec"), tmp_path / "training")
    training_layout(training)
    (training / "landmarks").rename(training / "landmark")
    other = interface.questions(training)[0]
    assert (other.name, other.frames) == (question.name, question.frames)
    again = tmp_path / "again"
    again.mkdir()
    interface.lay_out(other, again)
    assert files(again) == files(inputs)
    assert all((again / name).read_bytes() == (inputs / name).read_bytes() for name in files(inputs))


def four_sets(frames, landmark):
    """Return four sets of the right shapes."""
    pixels = (len(frames) - 1, 3, frames[0].size)
    return np.zeros(pixels), np.ones((3, len(landmark))), np.full(pixels, 2.0), np.full((3, len(landmark)), 3.0)


def test_a_function_gets_what_predict_ddfs_gets_and_its_sets_are_named(laid_out):
    interface, _, inputs, _ = laid_out("tusrec")
    calls = []

    def predict_ddfs(frames, landmark, data_path_calib, device):
        calls.append((frames.shape, frames.dtype, landmark.shape, data_path_calib, device))
        return four_sets(frames, landmark)

    sets = interface.call(predict_ddfs, inputs)
    assert calls == [((10, 30, 40), np.uint8, (20, 3), str(inputs / "calib_matrix.csv"), "cpu")]
    assert {name: (array.shape, array.flat[0]) for name, array in sets.items()} == {
        "GP": ((9, 3, 1200), 0),
        "GL": ((3, 20), 1),
        "LP": ((9, 3, 1200), 2),
        "LL": ((3, 20), 3),
    }


def test_a_function_of_2024_is_called_without_a_device(laid_out):
    interface, _, inputs, _ = laid_out("tusrec")
    sets = interface.call(lambda frames, landmark, data_path_calib: list(four_sets(frames, landmark)), inputs)
    assert list(sets) == ["GP", "GL", "LP", "LL"]


@pytest.mark.parametrize(
    ("returned", "problem"),
    [(None, "returned a value of type NoneType"), ((1, 2, 3), "returned 3 values, not the four sets GP, GL, LP, LL")],
)
def test_a_function_that_returns_something_else_is_told_so(laid_out, returned, problem):
    interface, _, inputs, _ = laid_out("tusrec")
    with pytest.raises(InputError, match=problem):
        interface.call(lambda *_: returned, inputs)


def test_an_error_inside_a_function_is_its_own(laid_out):
    interface, _, inputs, _ = laid_out("tusrec")

    def predict_ddfs(frames, landmark, data_path_calib, device):
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        interface.call(predict_ddfs, inputs)


@pytest.mark.parametrize("form", ["h5", "npz", "folder"])
def test_a_scan_is_answered_in_any_form(laid_out, form):
    interface, question, _, output = laid_out("tusrec")
    match form:
        case "h5":
            with h5py.File(output / "sub050__LH_rotation.h5", "w") as file:
                file["local"] = np.eye(4)
        case "npz":
            np.savez(output / "sub050__LH_rotation.npz", local=np.eye(4))
        case _:
            (output / "sub050__LH_rotation").mkdir()
            np.save(output / "sub050__LH_rotation" / "local.npy", np.eye(4))
    answer = interface.answer(question, output)
    ending = "" if form == "folder" else f".{form}"
    assert interface.file_name(question, answer) == f"sub050__LH_rotation{ending}"


def test_an_answer_for_another_scan_is_none(laid_out):
    interface, question, _, output = laid_out("tusrec")
    np.savez(output / "sub051__LH_rotation.npz", local=np.eye(4))
    with pytest.raises(InputError, match=r"there is no sub050__LH_rotation\.h5 in the output, only sub051__LH"):
        interface.answer(question, output)


# CSV 2026

INFERENCE = """
    import argparse, glob, os
    import h5py
    import numpy as np

    parser = argparse.ArgumentParser()
    parser.add_argument("--val-dir", required=True)
    words = parser.parse_args()
    preds = os.path.join(words.val_dir, "preds")
    os.makedirs(preds, exist_ok=True)
    for path in sorted(glob.glob(os.path.join(words.val_dir, "images", "*.h5"))):
        with h5py.File(path, "r") as file:
            views = {view: file[f"{view}_img"][:] for view in ("long", "trans")}
        name = os.path.splitext(os.path.basename(path))[0]
        with h5py.File(os.path.join(preds, f"{name}_pred.h5"), "w") as file:
            for view, image in views.items():
                assert image.shape == (512, 512)
                mask = np.where(image < 60, 2, 0).astype(np.uint8)
                file.create_dataset(f"{view}_mask", data=np.array([0, 128, 255], np.uint8)[mask], compression="gzip")
            file.create_dataset("cls", data=np.uint8(1))
"""


def test_inference_py_finds_its_folder_and_is_understood(few_cases, laid_out, tmp_path):
    interface, question, inputs, _ = laid_out("csv2026")
    assert files(inputs) == ["images/000.h5"]
    with h5py.File(inputs / "images" / "000.h5") as file:
        assert sorted(file) == ["long_img", "trans_img"]
    output = inputs / interface.answers_inside
    run_program(tmp_path, INFERENCE, "--val-dir", inputs)
    answer = interface.answer(question, output)
    assert interface.file_name(question, answer) == "000_pred.h5"
    assert answer == inputs / "preds" / "000_pred.h5"
    values = measured("csv2026", few_cases("csv2026"), question, answer)
    assert values["dice", "long/vessel"] > 0.9


def test_whoever_writes_to_an_output_folder_of_its_own_is_understood_too(laid_out):
    interface, question, _, output = laid_out("csv2026")
    (output / "preds").mkdir()
    (output / "preds" / "000_pred.h5").write_bytes(b"x")
    assert interface.answer(question, output) == output / "preds" / "000_pred.h5"


def test_masks_are_no_images(few_cases, tmp_path):
    interface = get_challenge("csv2026").interface
    for path in (few_cases("csv2026") / "images").glob("*.h5"):
        shutil.copy(path, tmp_path)
    for path in (few_cases("csv2026") / "labels").glob("*.h5"):
        shutil.copy(path, tmp_path)
    assert [question.name for question in interface.questions(tmp_path)] == ["000", "001"]
    mistaken = Question("000", (tmp_path / "000_label.h5",))
    (tmp_path / "input").mkdir()
    with pytest.raises(InputError, match="there is no dataset 'long_img'"):
        interface.lay_out(mistaken, tmp_path / "input")


# KiTS21

RUN_INFERENCE = """
    import sys
    from pathlib import Path
    import numpy as np
    import SimpleITK as sitk

    source, target = map(Path, sys.argv[1:])
    out = target / "images" / "kidney-tumor-and-cyst"
    out.mkdir(parents=True)
    for path in (source / "images" / "ct").glob("*.mha"):
        image = sitk.ReadImage(str(path))
        hounsfield = sitk.GetArrayFromImage(image)
        answer = sitk.GetImageFromArray(((hounsfield > 0) & (hounsfield < 300)).astype(np.uint8))
        answer.SetOrigin(image.GetOrigin())
        answer.SetSpacing(image.GetSpacing())
        answer.SetDirection(image.GetDirection())
        sitk.WriteImage(answer, str(out / path.name))
"""


def test_run_inference_py_finds_its_images_and_is_understood(few_cases, laid_out, tmp_path):
    interface, question, inputs, output = laid_out("kits21")
    assert files(inputs) == ["images/ct/case_00000.mha"]
    ct = SimpleITK.ReadImage(inputs / "images" / "ct" / "case_00000.mha")
    own = SimpleITK.ReadImage(few_cases("kits21") / "case_00000" / "imaging.nii.gz")
    np.testing.assert_array_equal(*map(SimpleITK.GetArrayFromImage, (ct, own)))
    for part in ("GetSpacing", "GetOrigin", "GetDirection", "GetPixelID"):
        assert getattr(ct, part)() == pytest.approx(getattr(own, part)())
    run_program(tmp_path, RUN_INFERENCE, inputs, output)
    answer = interface.answer(question, output)
    assert interface.file_name(question, answer) == "case_00000.mha"
    values = measured("kits21", few_cases("kits21"), question, answer)
    assert values["dice", "kidney_and_mass"] > 0.7


def test_a_segmentation_in_the_output_folder_itself_is_understood(laid_out):
    interface, question, _, output = laid_out("kits21")
    (output / "case_00000.nii.gz").write_bytes(b"x")
    assert interface.file_name(question, interface.answer(question, output)) == "case_00000.nii.gz"


def test_a_folder_of_images_alone_is_read_and_one_of_labels_is_not_shown(few_cases, tmp_path):
    interface = get_challenge("kits21").interface
    for kind, name in (("images", "imaging.nii.gz"), ("labels", "aggregated_MAJ_seg.nii.gz")):
        (tmp_path / kind).mkdir()
        shutil.copy(few_cases("kits21") / "case_00001" / name, tmp_path / kind / "case_00001.nii.gz")
    for kind in ("images", "labels"):
        (question,) = interface.questions(tmp_path / kind)
        folder = tmp_path / kind / "input"
        folder.mkdir()
        if kind == "images":
            interface.lay_out(question, folder)
            assert files(folder) == ["images/ct/case_00001.mha"]
        else:
            with pytest.raises(InputError, match="this is a label map, not a CT"):
                interface.lay_out(question, folder)
            assert files(folder) == []


# LVQuan18


def test_a_subject_is_a_file_as_in_the_training_data(few_cases, laid_out):
    interface, question, inputs, _ = laid_out("lvquan18")
    assert files(inputs) == ["sub-01.mat"]
    assert question.frames == 20
    held = {name: value for name, value in loadmat(inputs / "sub-01.mat").items() if not name.startswith("__")}
    assert list(held) == ["images_LV"]
    (truth,) = few_cases("lvquan18").glob("*.mat")
    np.testing.assert_array_equal(held["images_LV"], loadmat(truth)["images_LV"][:, :, :20])
    second = interface.questions(few_cases("lvquan18"))[1]
    assert second.name == "sub-02"
    folder = inputs.parent / "second"
    folder.mkdir()
    interface.lay_out(second, folder)
    images = loadmat(folder / "sub-02.mat")["images_LV"]
    np.testing.assert_array_equal(images, loadmat(truth)["images_LV"][:, :, 20:40])


ROWS = {"areas": 2, "dims": 3, "rwt": 6, "lv_phase": 1}


def written(folder, form, numbers, subject="sub-01", first=1):
    """Write the answer for a subject, numbers of shape (frames, 12), in one of the forms."""
    path = folder / f"LVQUAN_mine.{form}"
    if form == "mat":
        edges = np.cumsum([0, *ROWS.values()])
        parts = {f"{name}_hat": numbers.T[edges[k] : edges[k + 1]] for k, name in enumerate(ROWS)}
        savemat(path, parts)
    else:
        names = [f"{subject}-{frame:02d}" for frame in range(first, first + len(numbers))]
        lines = [[name, *map(repr, row)] for name, row in zip(names, numbers.tolist(), strict=True)]
        titles = ["image", "A1", "A2", "D1", "D2", "D3", *(f"RWT{n}" for n in range(1, 7)), "Phase"]
        text = {
            "txt": "\n".join(f"{name}: {', '.join(row)}" for name, *row in lines),
            "csv": "\n".join(",".join(line) for line in [titles, *lines]),
        }[form]
        path.write_text(text + "\n")
    return path


@pytest.mark.parametrize("form", ["mat", "txt", "csv"])
def test_answers_of_all_subjects_are_joined_to_one_submission(few_cases, form, tmp_path):
    interface = get_challenge("lvquan18").interface
    truth = few_cases("lvquan18")
    predicted = np.random.default_rng(1).uniform(0.1, 0.5, (40, 12))
    predicted[:, -1] = 1
    parts = []
    for number, question in enumerate(reversed(interface.questions(truth))):
        folder = tmp_path / question.name
        folder.mkdir()
        numbers = predicted[20 - 20 * number : 40 - 20 * number]
        answer = interface.answer(question, written(folder, form, numbers, question.name).parent)
        parts.append(tmp_path / interface.file_name(question, answer))
        shutil.move(answer, parts[-1])
    assert sorted(path.name for path in parts) == [f"sub-01.{form}", f"sub-02.{form}"]
    team = tmp_path / "teams" / "mine"
    team.mkdir(parents=True)
    interface.join(parts, team)
    assert files(team) == ["LVQUAN_mine.csv"]
    with (team / "LVQUAN_mine.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == [f"sub-{s:02d}-{f:02d}" for s in (1, 2) for f in range(1, 21)]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], float), predicted)
    assert [problem for problem in podium.check("lvquan18", team, truth=truth) if not problem.warning] == []
    run = podium.evaluate("lvquan18", truth=truth, submissions=team.parent, out=tmp_path / "run")
    assert run.leaderboard.places["mine"] == 1


def test_a_subject_that_failed_is_missing_from_the_submission(few_cases, tmp_path):
    interface = get_challenge("lvquan18").interface
    team = tmp_path / "teams" / "mine"
    team.mkdir(parents=True)
    numbers = np.full((20, 12), 0.25)
    part = written(tmp_path, "mat", numbers).rename(tmp_path / "sub-02.mat")
    interface.join([part], team)
    run = podium.evaluate("lvquan18", truth=few_cases("lvquan18"), submissions=team.parent, out=tmp_path / "run")
    assert run.leaderboard.places["mine"] is None
    assert "sub-01-01" in run.failures["case"].to_list()


@pytest.mark.parametrize(
    ("form", "rows", "subject", "problem"),
    [
        ("mat", 19, "sub-01", "the answer is for 19 images, asked were sub-01-01 to sub-01-20"),
        ("mat", 40, "sub-01", "the answer is for 40 images"),
        ("txt", 20, "sub-07", "the answer is for sub-07-01 to sub-07-20, asked were sub-01-01"),
        ("csv", 12, "sub-01", "the answer is for sub-01-01 to sub-01-12"),
    ],
)
def test_an_answer_for_other_images_is_refused(laid_out, form, rows, subject, problem):
    interface, question, _, output = laid_out("lvquan18")
    written(output, form, np.full((rows, 12), 0.25), subject)
    with pytest.raises(InputError, match=problem):
        interface.answer(question, output)


def test_two_files_of_images_and_broken_cycles_are_refused(tmp_path):
    interface = get_challenge("lvquan18").interface
    assert interface.questions(tmp_path) == []
    savemat(tmp_path / "one.mat", {"images_LV": np.zeros((4, 4, 30))})
    with pytest.raises(InputError, match="30 images, which is no multiple of 20"):
        interface.questions(tmp_path)
    savemat(tmp_path / "two.mat", {"images_LV": np.zeros((4, 4, 20))})
    with pytest.raises(InputError, match=r"one\.mat and two\.mat both hold images_LV"):
        interface.questions(tmp_path)
