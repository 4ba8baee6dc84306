"""CSV 2026: files, parts of them that fail alone, and what stands beside the truth."""

import h5py
import numpy as np
import pytest
from csv2026_files import COUNTS, MEASURED, STRUCTURES, VIEWS, Folder, keyed, vessel_with_plaque

from podium.challenges import get_challenge
from podium.model import InputError, Status
from podium.run import Contract, Problem, check_submission

PERFECT = {
    (metric, f"{view}/{structure}"): 1.0 for metric in MEASURED for view in VIEWS for structure in STRUCTURES
} | {(metric, target): float((metric, target) == ("true_positive", "1")) for metric in COUNTS for target in "01"}
WRONG_CLASS = dict.fromkeys([(metric, target) for metric in COUNTS for target in "01"], 0.0) | {
    ("false_negative", "1"): 1.0,
    ("false_positive", "0"): 1.0,
}
"""What a failed class counts as, where class 1 is true."""


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def numbers(values):
    return {key: value.value for key, value in values.items()}


@pytest.mark.parametrize("dtype", ["u1", ">i2", "<u4", "i8", "f2", "f4", ">f8"])
@pytest.mark.parametrize("scale", [1, 128])
def test_every_way_to_write_labels(folder, dtype, scale):
    labels = np.array([0, scale, 2 if scale == 1 else 255]).astype(dtype)[vessel_with_plaque()]
    values = folder.measure(folder.predict(long_mask=labels, trans_mask=labels, cls=np.array([1], dtype)))
    assert numbers(values) == PERFECT
    assert {v.status for v in values.values()} == {Status.OK}


def test_signed_bytes_and_a_boolean_class(folder):
    values = folder.measure(folder.predict(long_mask=vessel_with_plaque().astype(np.int8), cls=np.bool_(True)))
    assert numbers(values) == PERFECT


half, mixed = np.zeros((512, 512)), vessel_with_plaque()
half[5, 5], mixed[5, 5] = 0.5, 255

UNUSABLE = {
    "missing": ({"long_mask": None}, "there is no dataset 'long_mask', only cls, trans_mask"),
    "small": ({"long_mask": np.zeros((256, 256), "u1")}, "has 256 × 256 pixels, it should have 512 × 512"),
    "stacked": ({"long_mask": np.zeros((1, 512, 512), "u1")}, "wrong shape: 'long_mask' has 1 × 512 × 512 pixels"),
    "scalar": ({"long_mask": 1}, "wrong shape: 'long_mask' has no pixels"),
    "nothing": ({"long_mask": h5py.Empty("u1")}, "wrong shape: 'long_mask' has no pixels"),
    "nan": ({"long_mask": np.full((512, 512), np.nan)}, "'long_mask' has 262,144 pixels that are not finite"),
    "infinite": ({"long_mask": np.full((512, 512), np.inf, "f4")}, "not finite"),
    "fraction": ({"long_mask": half}, "'long_mask' holds 0.5, which is no label. Write 0, 1, 2"),
    "strange": ({"long_mask": np.full((512, 512), 7)}, "'long_mask' holds 7, which is no label"),
    "negative": ({"long_mask": np.full((512, 512), -1)}, "'long_mask' holds -1, which is no label"),
    "mixed": ({"long_mask": mixed}, "'long_mask' mixes labels of 0, 1, 2 with labels of 0, 128, 255"),
    "boolean": ({"long_mask": np.ones((512, 512), bool)}, "'long_mask' holds bool, not label numbers"),
    "text": ({"long_mask": b"vessel"}, "not numbers"),
    "link": ({"long_mask": h5py.SoftLink("/trans_mask")}, "'long_mask' is a link"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_view_fails_alone(folder, name):
    changes, words = UNUSABLE[name]
    path = folder.predict(**changes)
    values = folder.measure(path)
    lost = {key for key in PERFECT if key[1].startswith("long/")}
    assert numbers(values) == PERFECT | dict.fromkeys(lost, 0.0)
    assert {key for key, value in values.items() if value.status is Status.INVALID} == lost
    assert {key for key, value in values.items() if value.reason} == lost
    reason = values["dice", "long/plaque"].reason
    assert words in reason
    assert reason.startswith("001_pred.h5: ")
    (case,) = get_challenge("csv2026").cases(folder.path)
    (problem,) = get_challenge("csv2026").check(case, path)
    assert words in problem


CLASSLESS = {
    "missing": (None, "there is no dataset 'cls'"),
    "probability": (0.73, "'cls' is 0.73, neither 0 (low risk) nor 1 (high risk)"),
    "category": (3, "'cls' is 3, neither"),
    "nan": (np.nan, "'cls' is nan, neither"),
    "two": ([0, 1], "'cls' holds 2 numbers, it should hold one"),
    "none": (np.zeros(0), "'cls' holds 0 numbers"),
    "nothing": (h5py.Empty("u1"), "'cls' holds 0 numbers"),
    "text": ("high", "not numbers"),
}


@pytest.mark.parametrize("name", CLASSLESS)
def test_a_class_fails_alone(folder, name):
    content, words = CLASSLESS[name]
    path = folder.predict(cls=content)
    values = folder.measure(path)
    counts = {key for key in PERFECT if key[0] in COUNTS}
    assert numbers(values) == PERFECT | WRONG_CLASS
    assert {key for key, value in values.items() if value.status is Status.INVALID} == counts
    assert words in values["false_negative", "1"].reason
    (case,) = get_challenge("csv2026").cases(folder.path)
    (problem,) = get_challenge("csv2026").check(case, path)
    assert words in problem


@pytest.mark.parametrize("edition", ["document", "code"])
@pytest.mark.parametrize("true", [0, 1])
def test_a_failed_class_counts_as_the_wrong_class(folder, edition, true):
    """A false negative of the true class and a false positive of the other: exactly what a wrong answer counts."""
    folder.truth(cls=true)
    counts = [
        {key: value for key, value in numbers(folder.measure(path, edition=edition)).items() if key[0] in COUNTS}
        for path in (folder.predict(cls=guess) for guess in (0.5, 1 - true))
    ]
    nothing = dict.fromkeys([(metric, target) for metric in COUNTS for target in "01"], 0.0)
    expected = nothing | {("false_negative", str(true)): 1.0, ("false_positive", str(1 - true)): 1.0}
    assert counts == [expected, expected]


def test_a_damaged_view_fails_alone(folder):
    path = folder.predict(long_mask=None)
    with h5py.File(path, "a") as file:
        dataset = file.create_dataset("long_mask", data=vessel_with_plaque(), compression="gzip", chunks=(512, 512))
        place = dataset.id.get_chunk_info(0)
        offset, size = place.byte_offset, place.size
    content = bytearray(path.read_bytes())
    content[offset : offset + size] = bytes(size)
    path.write_bytes(content)
    values = folder.measure(path)
    assert values["dice", "long/vessel"].status is Status.INVALID
    assert "'long_mask' cannot be read" in values["dice", "long/vessel"].reason
    assert values["dice", "trans/vessel"].value == values["true_positive", "1"].value == 1


def test_a_file_that_is_no_file_fails_altogether(folder):
    challenge = get_challenge("csv2026")
    path = folder.predict()
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(InputError, match="not a readable HDF5 file"):
        folder.measure(path)
    assert challenge.check(None, path) == ["this is not a readable HDF5 file"]
    (case,) = challenge.cases(folder.path)
    truth = challenge.load(case)
    values = keyed(Contract(challenge).failed(challenge.rows(case, truth), truth, Status.INVALID, "damaged"))
    assert numbers(values) == dict.fromkeys(PERFECT, 0.0) | WRONG_CLASS
    assert {(v.status, v.reason) for v in values.values()} == {(Status.INVALID, "damaged")}
    assert {(m.name, target) for m in challenge.measures for target in m.targets} == set(PERFECT)
    assert challenge.time.name == "seconds"
    assert all(measure.price for measure in challenge.measures)


def test_a_truth_that_cannot_be_used_is_no_truth(folder):
    folder.truth(cls=2, trans_mask=None)
    with pytest.raises(InputError, match=r"truth is unusable: 001_label.h5: .*'trans_mask'.*'cls' is 2"):
        folder.measure(folder.predict())


def test_cases_are_found_in_labels_or_in_the_folder_itself(folder):
    challenge = get_challenge("csv2026")
    folder.truth().rename(folder.path / "labels" / "010_label.h5")
    folder.truth()
    (folder.path / "labels" / "._001_label.h5").write_bytes(b"a trace of another system")
    names = [case.name for case in challenge.cases(folder.path)]
    assert names == [case.name for case in challenge.cases(folder.path / "labels")] == ["001", "010"]
    assert challenge.cases(folder.path / "elsewhere") == []
    assert challenge.cases(folder.path)[0].expected == ("001_pred.h5", "preds/001_pred.h5")


def test_names_are_checked(folder):
    challenge, team = get_challenge("csv2026"), folder.path / "team"
    preds = team / "preds"
    preds.mkdir(parents=True)
    path = folder.predict(cls=None)
    assert challenge.check(None, path) == ["there is no dataset 'cls', only long_mask, trans_mask"]
    path.rename(team / "001.h5")
    folder.predict().rename(preds / "001_pred.h5")
    folder.predict(cls=5).rename(preds / "002_pred.h5")
    (preds / "notes.txt").write_text("")
    wanted = "unexpected file: predictions are called *_pred.h5, preds/*_pred.h5"
    assert check_submission(challenge, team) == [
        Problem("001.h5", wanted, warning=True),
        Problem("preds/002_pred.h5", "'cls' is 5, neither 0 (low risk) nor 1 (high risk)"),
        Problem("preds/notes.txt", wanted, warning=True),
    ]


def test_a_size_that_the_truth_may_have_is_only_doubted(folder):
    team = folder.path / "team"
    team.mkdir()
    folder.predict(long_mask=np.zeros((8, 9), np.uint8)).rename(team / "001_pred.h5")
    assert check_submission(get_challenge("csv2026"), team) == [
        Problem("001_pred.h5", "'long_mask' has 8 × 9 pixels, those of the challenge have 512 × 512", warning=True),
        Problem("001_pred.h5", "'long_mask': everything is background: no pixel has a label", warning=True),
    ]


# The organisers' time


def test_the_time_of_the_organisers_comes_with_the_truth(folder):
    settings = folder.path / "challenge.toml"
    settings.write_text("baseline_seconds = 2\n")
    challenge = get_challenge("csv2026")
    (case,) = challenge.cases(folder.path)
    assert settings in case.files
    assert challenge.prepared(folder.path).options["baseline_seconds"] == 2.0  # what a run records, and is ranked with
    assert challenge.baseline_seconds is None
    assert get_challenge("csv2026", baseline_seconds=0.5).prepared(folder.path).baseline_seconds == 0.5
    settings.unlink()
    assert challenge.prepared(folder.path).baseline_seconds is None


@pytest.mark.parametrize("content", ["baseline_seconds = 0", "baseline_seconds = true", "baseline_seconds = nan", "="])
def test_a_time_that_is_none_is_refused(folder, content):
    (folder.path / "challenge.toml").write_text(content)
    with pytest.raises(InputError, match=r"challenge.toml: .*(positive number|not TOML)"):
        get_challenge("csv2026").prepared(folder.path)
