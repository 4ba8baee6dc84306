"""TrackRAD 2025 as its organisers' repository writes it: what containers answer, and where."""

import shutil

import numpy as np
import pytest
import SimpleITK

import podium

SLUG = "mri-linac-series-targets"
FRAMES = {"Z_001": 9, "Z_002": 12}


def sequence(frames, shift=0):
    """Return an array [d0, d1, T], as SimpleITK reads a sequence."""
    array = np.zeros((24, 30, frames), np.uint8)
    for frame in range(frames):
        array[8 + frame % 3 : 15 + frame % 3, 10 + shift : 18 + shift, frame] = 1
    return array


@pytest.fixture
def truth(tmp_path):
    folder = tmp_path / "dataset"
    for name, frames in FRAMES.items():
        (folder / name / "targets").mkdir(parents=True)
        image = SimpleITK.GetImageFromArray(sequence(frames))
        SimpleITK.WriteImage(image, str(folder / name / "targets" / f"{name}_labels.mha"), useCompression=True)
        (folder / name / "scanned-region.json").write_text('"abdomen"')
    return folder


def answer(output, name, shift=1):
    """Write what the organisers' inference.py does: output.mha, with an origin and a spacing by default."""
    folder = output / "images" / SLUG
    folder.mkdir(parents=True)
    image = SimpleITK.GetImageFromArray(sequence(FRAMES[name], shift))
    SimpleITK.WriteImage(image, str(folder / "output.mha"), useCompression=True)


def dice_of(run, team):
    rows = run.measurements.filter(
        (run.measurements["submission"] == team)
        & (run.measurements["metric"] == "dice")
        & (run.measurements["unit"] == "")
    )
    return dict(rows.select("case", "value").iter_rows())


EXPECTED = {name: pytest.approx(2 * 7 / 16) for name in FRAMES}


@pytest.mark.parametrize("place", ["", "output"])
def test_outputs_mounted_into_a_folder_for_each_case(truth, tmp_path, place):
    for name in FRAMES:
        answer(tmp_path / "teams" / "ours" / name / place, name)
    run = podium.evaluate(
        "trackrad2025",
        truth=truth,
        submissions=tmp_path / "teams",
        out=tmp_path / "run",
        options={"timing": "ignored"},
    )
    assert dice_of(run, "ours") == EXPECTED
    assert run.failures.is_empty()


def test_one_case_alone_is_not_mistaken_for_the_folder_of_a_team(truth, tmp_path):
    shutil.rmtree(truth / "Z_002")
    answer(tmp_path / "teams" / "ours" / "Z_001", "Z_001")
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours") == {"Z_001": EXPECTED["Z_001"]}


def test_two_answers_of_one_case_are_none(truth, tmp_path):
    for name in FRAMES:
        answer(tmp_path / "teams" / "ours" / name, name)
    folder = tmp_path / "teams" / "ours" / "Z_001" / "images" / SLUG
    shutil.copy(folder / "output.mha", folder / "second.mha")
    run = podium.evaluate("trackrad2025", truth=truth, submissions=tmp_path / "teams", out=tmp_path / "run")
    assert dice_of(run, "ours")["Z_001"] == 0
    (reason,) = run.failures.filter(run.failures["case"] == "Z_001")["reason"]
    assert reason.startswith("there are 2 predictions of Z_001")
