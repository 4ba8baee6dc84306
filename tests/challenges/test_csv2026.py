"""CSV 2026: the organisers' numbers, parts that fail alone, and leaderboards computed by hand."""

import json
from dataclasses import asdict

import h5py
import numpy as np
import polars as pl
import pytest
from boards import COLUMNS, board_of

from podium.challenges import get_challenge
from podium.challenges.csv2026.files import Sample
from podium.challenges.csv2026.demo import write as write_demo
from podium.model import Case, InputError, Role, Status, Value
from podium.ranking import cube_of, ranked_submissions

VIEWS, STRUCTURES, METRICS = ("long", "trans"), ("plaque", "vessel"), ("dice", "nsd")
COUNTS = ("true_positive", "false_positive", "false_negative")
TEAMS = "ABC"


def table(teams):
    """Return measurements from team → values."""
    rows = [
        (team, v.case, v.unit, v.target, v.metric, v.value, v.status.value, v.reason)
        for team, values in teams.items()
        for v in values
    ]
    schema = {name: pl.Float64 if name == "value" else pl.String for name in COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def keyed(values):
    return {(v.metric, v.target): v for v in values}


# The organisers' numbers


@pytest.fixture(scope="module")
def golden(shared):
    path = shared / "golden" / "csv2026.json"
    if not path.exists():
        pytest.skip("golden/csv2026.json is missing from ../shared")
    return json.loads(path.read_text())


@pytest.fixture(scope="module", params=["document", "code"])
def measured(request, golden, shared):
    """Return an edition, and the values of all teams."""
    challenge = get_challenge("csv2026", edition=request.param)
    folder = shared / "golden" / "csv2026"
    teams = {team: [] for team in TEAMS}
    for case in challenge.cases(folder):
        truth = challenge.load(case)
        for team in TEAMS:
            path = folder / "teams" / team / challenge.expected(case).names[1]
            teams[team] += challenge.measure(case, truth, path)
    return request.param, teams


def test_the_organisers_values_of_every_case(golden, measured):
    edition, teams = measured
    names = ("dsc_baseline", "nsd_baseline_tol3") if edition == "code" else ("dsc_plain", "surface_dice_deepmind_tol3")
    compared = 0
    for team, values in teams.items():
        cases = golden["teams"][team]["cases"]
        assert {v.case for v in values} == set(cases)
        assert {v.status for v in values} == {Status.OK}
        for value in values:
            case = cases[value.case]
            if value.metric in METRICS:
                view, structure = value.target.split("/")
                expected = case["views"][view][structure][names[METRICS.index(value.metric)]]
                assert value.value == pytest.approx(1 if expected is None else expected, abs=1e-9)
                compared += 1
            elif value.metric in COUNTS:
                true, guess = case["cls_true"] == int(value.target), case["cls_pred"] == int(value.target)
                count = {"true_positive": true and guess, "false_positive": guess and not true}
                assert value.value == count.get(value.metric, true and not guess)
    assert compared == 3 * 12 * 8


def test_the_organisers_scores(golden, measured):
    edition, teams = measured
    board = board_of("csv2026", table(teams), edition=edition, baseline_seconds=1.0)
    for entry in board.entries:
        expected, f1 = (golden["teams"][entry.submission][key] for key in ("baseline_validate_all_12", "f1"))
        assert [entry.values["f1_0"], entry.values["f1_1"]] == pytest.approx([f1["class_0"], f1["class_1"]], abs=1e-9)
        if edition == "document":
            assert entry.values["classification"] == pytest.approx(100 * f1["macro"], abs=1e-9)
            continue
        for key, name in (("total_score", "total"), ("seg_score", "segmentation"), ("cls_score", "classification")):
            assert entry.values[name] == pytest.approx(expected[key], abs=1e-9)
        for part in (f"{view}_{structure}" for view in VIEWS for structure in STRUCTURES):
            assert entry.values[part] == pytest.approx(expected[f"seg_socre_{part}"], abs=1e-9)
            for metric in METRICS:
                assert entry.values[f"{metric}_{part}"] == pytest.approx(expected[f"{metric}_{part}"], abs=1e-9)


def test_the_organisers_score_of_single_cases(golden, measured):
    edition, teams = measured
    if edition == "document":
        return  # the baseline's numbers
    everything = table(teams)
    for case in everything["case"].unique():
        board = board_of("csv2026", everything.filter(pl.col("case") == case), edition=edition)
        for entry in board.entries:
            expected = golden["teams"][entry.submission]["cases"][case]
            assert entry.values["segmentation"] == pytest.approx(expected["S_seg_baseline"], abs=1e-9)


def disk(radius, *, row=100, column=100):
    y, x = np.ogrid[:512, :512]
    return (((y - row) ** 2 + (x - column) ** 2) <= radius**2).astype(np.uint8)


def rectangle(*, rows=40, columns):
    mask = np.zeros((512, 512), np.uint8)
    mask[100 : 100 + rows, :columns] = 1
    return mask


def pixel(column):
    mask = np.zeros((512, 512), np.uint8)
    mask[50, column] = 1
    return mask


SHAPES = {
    "disk_r20_vs_r22": (disk(20), disk(22)),
    "disk_r20_vs_r23": (disk(20), disk(23)),
    "disk_r20_vs_r24": (disk(20), disk(24)),
    "disk_r20_vs_r26": (disk(20), disk(26)),
    "disk_r20_shift_3px": (disk(20), disk(20, column=103)),
    "disk_r20_shift_4px": (disk(20), disk(20, column=104)),
    "disk_r20_shift_5px": (disk(20), disk(20, column=105)),
    "disk_r20_shift_8px": (disk(20), disk(20, column=108)),
    "diagonal_shift_3_3": (disk(20), disk(20, row=103, column=103)),
    "diagonal_shift_4_4": (disk(20), disk(20, row=104, column=104)),
    "single_pixel_shift_3": (pixel(50), pixel(53)),
    "single_pixel_shift_4": (pixel(50), pixel(54)),
    "rectangle_touching_left_border_30_vs_35_columns": (rectangle(columns=30), rectangle(columns=35)),
    "identical_disks": (disk(20), disk(20)),
    "one_empty": (disk(20), np.zeros((512, 512), np.uint8)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_organisers_values_of_simple_shapes(name, golden, folder):
    truth, guess = SHAPES[name]
    folder.truth(long_mask=truth)
    path = folder.predict(long_mask=guess)
    for edition, key in (("code", "baseline"), ("document", "deepmind")):
        value = folder.measure(path, edition=edition)["nsd", "long/plaque"].value
        expected = golden["behaviours"][name]
        assert value == pytest.approx(expected.get(key, expected.get("baseline_nsd")), abs=1e-9)


# Files


def vessel_with_plaque():
    labels = np.zeros((512, 512), np.uint8)
    labels[200:300, 100:400] = 2
    labels[270:300, 200:260] = 1
    return labels


class Folder:
    """A truth with one case, and predictions of it."""

    def __init__(self, path):
        self.path = path
        (path / "labels").mkdir()
        self.truth()

    def truth(self, **changes):
        """Write the truth with some datasets replaced."""
        return self._write(self.path / "labels" / "001_label.h5", changes)

    def predict(self, **changes):
        """Write a perfect prediction with some datasets replaced, or left out if None."""
        return self._write(self.path / "001_pred.h5", changes)

    @staticmethod
    def _write(path, changes):
        contents = {"long_mask": vessel_with_plaque(), "trans_mask": vessel_with_plaque(), "cls": 1} | changes
        with h5py.File(path, "w") as file:
            for name, content in contents.items():
                if isinstance(content, h5py.SoftLink):
                    file[name] = content
                elif content is not None:
                    file.create_dataset(name, data=content)
        return path

    def measure(self, prediction, **options):
        """Return the values of a prediction by metric and target."""
        challenge = get_challenge("csv2026", **options)
        (case,) = challenge.cases(self.path)
        return keyed(challenge.measure(case, challenge.load(case), prediction))


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


MEASURED = (*METRICS, "nsd_half_tolerance", "nsd_double_tolerance")
PERFECT = {
    (metric, f"{view}/{structure}"): 1.0 for metric in MEASURED for view in VIEWS for structure in STRUCTURES
} | {(metric, target): float((metric, target) == ("true_positive", "1")) for metric in COUNTS for target in "01"}


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


def test_a_truth_and_a_prediction_without_plaque(folder):
    bare = np.where(vessel_with_plaque() == 1, 2, vessel_with_plaque())
    plaque = ("dice", "long/plaque"), ("nsd", "long/plaque")
    folder.truth(long_mask=bare)
    for edition, expected in (("document", [1, 1]), ("code", [0, 1])):
        values = numbers(folder.measure(folder.predict(long_mask=bare), edition=edition))
        assert [values[key] for key in plaque] == expected
        values = numbers(folder.measure(folder.predict(), edition=edition))
        assert [values[key] for key in plaque] == [0, 0]


def test_the_tolerance_is_an_option(folder):
    folder.truth(long_mask=disk(20))
    path = folder.predict(long_mask=disk(20, column=104))
    for edition in ("document", "code"):
        strict, usual, wide = (
            folder.measure(path, edition=edition, tolerance_px=t)["nsd", "long/plaque"].value for t in (1, 3, 4)
        )
        assert strict < usual < 1
        assert wide == pytest.approx(1, abs=1e-9)
    with pytest.raises(InputError, match="tolerance_px is -1, not a positive number"):
        get_challenge("csv2026", tolerance_px=-1)


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
    (problem,) = get_challenge("csv2026").check(Case("001"), path)
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
    assert numbers(values) == PERFECT | dict.fromkeys(counts, 0.0) | {("false_negative", "1"): 1.0}
    assert {key for key, value in values.items() if value.status is Status.INVALID} == counts
    assert words in values["false_negative", "1"].reason
    (problem,) = get_challenge("csv2026").check(Case("001"), path)
    assert words in problem


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
    values = keyed(challenge.failed(case, challenge.load(case), Status.INVALID, "damaged"))
    assert numbers(values) == dict.fromkeys(PERFECT, 0.0) | {("false_negative", "1"): 1.0}
    assert {(v.status, v.reason) for v in values.values()} == {(Status.INVALID, "damaged")}
    declared = {(q.metric, target) for q in challenge.quantities for target in q.targets}
    assert declared == {*PERFECT, ("seconds", "")}
    assert all(q.price for q in challenge.quantities)


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
    assert challenge.expected(Case("001")).names == ("001_pred.h5", "preds/001_pred.h5")


def test_names_are_checked(folder):
    challenge = get_challenge("csv2026")
    path = folder.predict(cls=None)
    assert challenge.check(None, path) == ["there is no dataset 'cls', only long_mask, trans_mask"]
    assert challenge.check(None, path.rename(folder.path / "001.h5")) == [
        "the name is not of the form 001_pred.h5",
        "there is no dataset 'cls', only long_mask, trans_mask",
    ]
    assert challenge.check(None, folder.path / "labels") == ["a folder where only preds is expected"]
    preds = folder.path / "preds"
    preds.mkdir()
    folder.predict().rename(preds / "001_pred.h5")
    folder.predict(cls=5).rename(preds / "002_pred.h5")
    (preds / "notes.txt").write_text("")
    assert challenge.check(None, preds) == [
        "002_pred.h5: 'cls' is 5, neither 0 (low risk) nor 1 (high risk)",
        "notes.txt: the name is not of the form 001_pred.h5",
    ]


# The organisers' time


def test_the_time_of_the_organisers_comes_with_the_truth(folder):
    settings = folder.path / "challenge.toml"
    settings.write_text("baseline_seconds = 2\n")
    challenge = get_challenge("csv2026")
    (case,) = challenge.cases(folder.path)
    assert settings in case.files
    assert asdict(challenge)["baseline_seconds"] == 2.0  # what a run records, and is ranked with again
    chosen = get_challenge("csv2026", baseline_seconds=0.5)
    chosen.cases(folder.path)
    assert chosen.baseline_seconds == 0.5
    settings.unlink()
    challenge.cases(folder.path)
    assert challenge.baseline_seconds is None


@pytest.mark.parametrize("content", ["baseline_seconds = 0", "baseline_seconds = true", "baseline_seconds = nan", "="])
def test_a_time_that_is_none_is_refused(folder, content):
    (folder.path / "challenge.toml").write_text(content)
    with pytest.raises(InputError, match=r"challenge.toml: .*(positive number|not TOML)"):
        get_challenge("csv2026").cases(folder.path)


def test_without_the_organisers_time_there_is_no_score():
    measurements = table({"A": row("1")})
    with pytest.raises(InputError, match="baseline_seconds"):
        board_of("csv2026", measurements)
    assert board_of("csv2026", measurements, edition="code").entries[0].place == 1


# Leaderboards by hand


def row(case, *, share=1.0, true=0, guess=0, seconds=None, lost=()):
    """Return the values of one case: one share for everything, but 0 for lost views; None as guess is a lost class."""
    values = []
    for view in VIEWS:
        status, reason = (Status.INVALID, "lost") if view in lost else (Status.OK, "")
        for metric, target in [(m, f"{view}/{s}") for m in METRICS for s in STRUCTURES]:
            number = share[metric, target] if isinstance(share, dict) else share
            values.append(Value(case, metric, 0.0 if view in lost else number, target, "", status, reason))
    status = Status.INVALID if guess is None else Status.OK
    for each in (0, 1):
        counts = (true == each == guess, guess == each != true, true == each != guess)
        values += [Value(case, m, float(c), str(each), "", status) for m, c in zip(COUNTS, counts, strict=True)]
    return values + ([] if seconds is None else [Value(case, "seconds", seconds)])


def crash(case, *, true=0, seconds=None):
    failed = get_challenge("csv2026").failed(Case(case), Sample({}, true, {}), Status.MISSING, "there is no file")
    return failed + ([] if seconds is None else [Value(case, "seconds", seconds)])


def board(teams, *, roles=None, **options):
    return board_of("csv2026", table(teams), roles=roles, **({"baseline_seconds": 1.0} | options))


def column(leaderboard, name):
    return {entry.submission: entry.values[name] for entry in leaderboard.entries}


def places(leaderboard):
    return {entry.submission: entry.place for entry in leaderboard.entries}


def test_a_total_by_hand():
    share = {
        ("dice", "long/plaque"): 0.5,
        ("nsd", "long/plaque"): 0.7,
        ("dice", "long/vessel"): 0.8,
        ("nsd", "long/vessel"): 0.9,
        ("dice", "trans/plaque"): 0.4,
        ("nsd", "trans/plaque"): 0.2,
        ("dice", "trans/vessel"): 1.0,
        ("nsd", "trans/vessel"): 1.0,
    }
    classes = [(0, 0), (0, 1), (1, 1), (1, 1)]
    teams = {"A": [v for i, (t, g) in enumerate(classes) for v in row(str(i), share=share, true=t, guess=g, seconds=1)]}
    values = board(teams).entries[0].values
    # long 0.6 · 0.6 + 0.4 · 0.85, trans 0.6 · 0.3 + 0.4 · 1; F1 2/3 and 4/5; alone and below twice the baseline: 100
    expected = {"long_plaque": 0.6, "long_vessel": 0.85, "trans_plaque": 0.3, "trans_vessel": 1, "long": 0.7}
    expected |= {"trans": 0.58, "segmentation": 64, "f1_0": 2 / 3, "f1_1": 0.8, "classification": 100 * 11 / 15}
    expected |= {"time": 100, "seconds": 1, "total": 0.4 * 64 + 0.4 * 100 * 11 / 15 + 20}
    assert {name: values[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    code = board(teams, edition="code").entries[0].values
    assert code["total"] == pytest.approx(0.4 * 0.8 + 0.4 * 0.64, abs=1e-12)
    assert "time" not in code


TIMES = {
    "one": ([0.2, 1.0, 3.0], [100, 60, 0]),  # 1/3 to 2
    "two": ([0.2, 1.0, 1.5], [100, 300 / 7, 0]),  # 1/3 to 1.5
    "three": ([0.5, 1.0, 3.0], [100, 200 / 3, 0]),  # 0.5 to 2
    "four, not on the page": ([0.5, 1.0, 1.5], [100, 50, 0]),
    "equal": ([1.0, 1.0, 1.0], [100, 100, 100]),
    "all fast": ([0.1, 0.2, 1 / 3], [100, 100, 100]),
    "all slow": ([2.0, 2.5, 9.0], [0, 0, 0]),
    "one without": ([0.5, None, 1.5], [100, 0, 0]),
    "only one with": ([None, 1.9, None], [0, 100, 0]),
    "only one with, too slow": ([None, 2.1, None], [0, 0, 0]),
    "none": ([None, None, None], [0, 0, 0]),
}


@pytest.mark.parametrize("baseline_seconds", [1.0, 0.7, 60.0])
@pytest.mark.parametrize("name", TIMES)
def test_time(name, baseline_seconds):
    times, expected = TIMES[name]
    teams = {
        team: row("1", seconds=None if time is None else time * baseline_seconds)
        for team, time in zip("ABC", times, strict=True)
    }
    leaderboard = board(teams, baseline_seconds=baseline_seconds)
    scores = dict(zip("ABC", expected, strict=True))
    assert column(leaderboard, "time") == pytest.approx(scores, abs=1e-9)
    totals = {team: 80 + 0.2 * score for team, score in scores.items()}
    assert column(leaderboard, "total") == pytest.approx(totals, abs=1e-9)
    assert places(leaderboard) == {t: 1 + sum(o > s + 1e-9 for o in scores.values()) for t, s in scores.items()}
    silent = [team for team, time in zip("ABC", times, strict=True) if time is None]
    noted = [note for note in leaderboard.notes if note.startswith("S_time is 0")]
    assert noted == (
        [f"S_time is 0 without a time for every case that did not fail: {', '.join(silent)}."] * bool(silent)
    )


@pytest.mark.parametrize(("seconds", "score"), [(0.01, 100), (1.99, 100), (2.0, 0), (7.0, 0)])
def test_one_team_alone(seconds, score):
    leaderboard = board({"A": row("1", seconds=seconds)})
    assert places(leaderboard) == {"A": 1}
    assert column(leaderboard, "time") == {"A": score}


def test_means_that_only_rounding_tells_apart_are_equal():
    uneven = [value for case, s in zip("123", (0.7, 0.8, 0.9), strict=True) for value in row(case, seconds=s)]
    even = [value for case in "123" for value in row(case, seconds=0.8)]
    assert np.mean([0.7, 0.8, 0.9]) != np.mean([0.8, 0.8, 0.8])
    leaderboard = board({"uneven": uneven, "even": even})
    assert column(leaderboard, "time") == {"uneven": 100, "even": 100}
    assert places(leaderboard) == {"uneven": 1, "even": 1}


def test_ties_share_the_better_place():
    shares = {"A": 0.8, "B": 0.9, "C": 0.8, "D": 0.7}
    leaderboard = board({team: row("1", share=share, seconds=1) for team, share in shares.items()})
    assert places(leaderboard) == {"B": 1, "A": 2, "C": 2, "D": 4}


def test_failed_views_and_classes():
    teams = {
        "whole": row("1", share=0.8) + row("2", share=0.8, true=1, guess=1),
        "view": row("1", share=0.8) + row("2", share=0.8, true=1, guess=1, lost=["trans"]),
        "class": row("1", share=0.8) + row("2", share=0.8, true=1, guess=None),
        "wrong": row("1", share=0.8) + row("2", share=0.8, true=1, guess=0),
        "case": row("1", share=0.8) + crash("2", true=1),
    }
    leaderboard = board(teams)
    seg = {"whole": 80, "view": 60, "class": 80, "wrong": 80, "case": 40}
    # Class 1 was missed: 0. Class 0 was right once, and named once too often by "wrong": 2/3.
    cls = {"whole": 100, "view": 100, "class": 50, "wrong": 100 / 3, "case": 50}
    assert column(leaderboard, "segmentation") == pytest.approx(seg)
    assert column(leaderboard, "classification") == pytest.approx(cls)
    assert column(leaderboard, "total") == pytest.approx({team: 0.4 * (seg[team] + cls[team]) for team in teams})
    assert places(leaderboard) == {"whole": 1, "view": 2, "class": 3, "wrong": 4, "case": 5}
    assert "view: 1 of 2 cases failed, in part or altogether." in leaderboard.notes


def test_a_class_that_is_neither_true_nor_predicted_is_left_out():
    leaderboard = board({"right": row("1") + row("2"), "wrong": row("1") + row("2", guess=1)})
    # "wrong": class 0 has one hit and one miss, class 1 one false alarm
    assert column(leaderboard, "classification") == pytest.approx({"right": 100, "wrong": 100 * (2 / 3 + 0) / 2})
    assert column(leaderboard, "f1_1") == {"right": None, "wrong": 0}
    assert "S_cls without class 1, which is neither true nor predicted: right." in leaderboard.notes
    code = board({"right": row("1") + row("2")}, edition="code")
    assert column(code, "classification") == {"right": 0}
    assert code.entries[0].values["total"] == pytest.approx(0.4)


def test_a_fast_crash_does_not_win_on_time():
    steady = row("1", seconds=0.8) + row("2", true=1, guess=1, seconds=0.8)
    slow = row("1", seconds=1.6) + row("2", true=1, guess=1, seconds=1.6)
    in_part = row("1", seconds=1.2) + row("2", true=1, guess=1, seconds=0.001, lost=["long"])
    in_class = row("1", seconds=1.2) + row("2", true=1, guess=None, seconds=0.001)
    whole = row("1", seconds=1.2) + crash("2", true=1, seconds=0.001)
    everywhere = crash("1", seconds=0.001) + crash("2", true=1, seconds=0.001)
    teams = {"steady": steady, "slow": slow, "part": in_part, "class": in_class, "whole": whole, "all": everywhere}
    leaderboard = board(teams)
    times = {"steady": 100, "slow": 0, "part": 50, "class": 50, "whole": 50, "all": 0}
    assert column(leaderboard, "time") == pytest.approx(times)
    assert column(leaderboard, "seconds")["whole"] == 1.2
    assert column(leaderboard, "seconds")["all"] is None
    assert places(leaderboard)["steady"] == 1
    assert places(leaderboard)["all"] is None
    assert leaderboard.entries[-1].remark == "every case failed"


def test_time_for_some_cases_only_is_no_time():
    teams = {"some": row("1", seconds=0.5) + row("2"), "all": row("1", seconds=1.5) + row("2", seconds=1.5)}
    leaderboard = board(teams)
    assert column(leaderboard, "time") == {"some": 0, "all": 100}
    assert column(leaderboard, "seconds") == {"some": None, "all": 1.5}


@pytest.mark.parametrize("edition", ["document", "code"])
def test_baselines_shift_nobody(edition):
    teams = {"A": row("1", share=0.9, seconds=0.6), "B": row("1", share=0.8, seconds=1.4), "C": row("1", share=0.7)}
    alone = board(teams, edition=edition)
    extreme = {"base": row("1", share=1.0, seconds=0.001), "people": row("1", share=0.85, seconds=50.0)}
    together = board(teams | extreme, edition=edition, roles={"base": Role.BASELINE, "people": Role.REFERENCE})
    assert together.entries[:3] == alone.entries
    assert [(entry.submission, entry.place) for entry in together.entries[3:]] == [("base", None), ("people", None)]
    if edition == "document":
        assert column(together, "time") == {"A": 100, "B": 0, "C": 0, "base": 100, "people": 0}


@pytest.mark.parametrize("edition", ["document", "code"])
def test_weights_are_repeated_cases(edition):
    generator = np.random.default_rng(5)
    names = [f"{n:03d}" for n in range(9)]
    truth = generator.integers(0, 2, 9)

    def team(error, speed):
        for name, true in zip(names, truth, strict=True):
            guess = int(1 - true if generator.random() < error else true)
            share = {(m, f"{v}/{s}"): generator.random() for m in METRICS for v in VIEWS for s in STRUCTURES}
            lost = ["long"] if generator.random() < 0.2 else []
            yield row(name, share=share, true=int(true), guess=guess, lost=lost, seconds=speed * generator.random())

    teams = {"A": list(team(0.1, 1.0)), "B": list(team(0.4, 2.0)), "C": list(team(0.5, 5.0))}
    challenge = get_challenge("csv2026", edition=edition, baseline_seconds=0.8)
    cube = cube_of(challenge, table({name: [v for values in rows for v in values] for name, rows in teams.items()}))
    ranked, _ = ranked_submissions(challenge, cube, {})
    weights = generator.integers(0, 4, (5, 9)).astype(float)
    scores = challenge.score(cube, weights, ranked)
    for index, counts in enumerate(weights.astype(int)):
        copies = {
            name: [
                Value(f"{v.case}#{copy}", v.metric, v.value, v.target, v.unit, v.status, v.reason)
                for values, count in zip(rows, counts, strict=True)
                for copy in range(count)
                for v in values
            ]
            for name, rows in teams.items()
        }
        repeated = board_of("csv2026", table(copies), edition=edition, baseline_seconds=0.8)
        for each in scores.columns:
            expected = column(repeated, each.name)
            found = dict(zip(cube.submissions, each.values[index].tolist(), strict=True))
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert dict(zip(cube.submissions, scores.places[index].astype(int).tolist(), strict=True)) == places(repeated)


def test_weights_of_nothing_give_no_number_and_no_noise():
    challenge = get_challenge("csv2026", baseline_seconds=1.0)
    cube = cube_of(challenge, table({"A": row("1", seconds=1), "B": row("1", seconds=2)}))
    scores = challenge.score(cube, np.zeros((2, 1)), [True, True])
    assert np.isnan(scores.columns[0].values).all()
    assert scores.places.shape == (2, 2)


# The demonstration


@pytest.mark.slow
def test_the_demonstration(tmp_path):
    for name in ("one", "two"):
        write_demo(tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)
    assert sum((tmp_path / "one" / file).stat().st_size for file in files) < 5e6
    challenge = get_challenge("csv2026")
    cases = challenge.cases(tmp_path / "one" / "truth")
    assert challenge.baseline_seconds
    assert {challenge.load(case).risk for case in cases} == {0, 1}
    submissions = tmp_path / "one" / "submissions"
    for team in sorted(path.name for path in submissions.iterdir()):
        paths = {case: submissions / team / challenge.expected(case).names[1] for case in cases}
        broken = [case for case, path in paths.items() if not path.exists() or challenge.check(case, path)]
        assert len(broken) == (5 if team == "unlucky" else 0)
