"""CSV 2026: the organisers' numbers, and what is measured of simple shapes."""

import json

import numpy as np
import polars as pl
import pytest
from boards import board_of, recorded, table_of_values
from csv2026_files import COUNTS, METRICS, STRUCTURES, VIEWS, Folder, vessel_with_plaque

from podium.challenges import get_challenge
from podium.challenges.csv2026.demo import write as write_demo
from podium.model import InputError, Status

TEAMS = "ABC"


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


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
            path = folder / "teams" / team / case.expected[1]
            teams[team] += recorded(challenge, case, truth, path)
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
    board = board_of("csv2026", table_of_values(teams), edition=edition, baseline_seconds=1.0)
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
    everything = table_of_values(teams)
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


def test_a_truth_and_a_prediction_without_plaque(folder):
    bare = np.where(vessel_with_plaque() == 1, 2, vessel_with_plaque())
    plaque = ("dice", "long/plaque"), ("nsd", "long/plaque")
    folder.truth(long_mask=bare)
    for edition, expected in (("document", [1, 1]), ("code", [0, 1])):
        values = folder.measure(folder.predict(long_mask=bare), edition=edition)
        assert [values[key].value for key in plaque] == expected
        values = folder.measure(folder.predict(), edition=edition)
        assert [values[key].value for key in plaque] == [0, 0]


def test_the_tolerance_is_an_option(folder):
    folder.truth(long_mask=disk(20))
    path = folder.predict(long_mask=disk(20, column=104))
    for edition in ("document", "code"):
        strict, usual, wide = (
            folder.measure(path, edition=edition, tolerance_px=t)["nsd", "long/plaque"].value for t in (1, 3, 4)
        )
        assert strict < usual < 1
        assert wide == pytest.approx(1, abs=1e-9)
    with pytest.raises(InputError, match="tolerance_px is -1: a positive number is expected"):
        get_challenge("csv2026", tolerance_px=-1)


# The demonstration


@pytest.mark.slow
def test_the_demonstration(written_demo, tmp_path):
    write_demo(tmp_path)
    folder = written_demo("csv2026")
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert all((folder / file).read_bytes() == (tmp_path / file).read_bytes() for file in files)
    assert sum((folder / file).stat().st_size for file in files) < 5e6
    challenge = get_challenge("csv2026").prepared(folder / "truth")
    cases = challenge.cases(folder / "truth")
    assert challenge.baseline_seconds
    assert {challenge.load(case).risk for case in cases} == {0, 1}
    submissions = folder / "submissions"
    for team in sorted(path.name for path in submissions.iterdir()):
        paths = {case: submissions / team / case.expected[1] for case in cases}
        broken = [case for case, path in paths.items() if not path.exists() or challenge.check(case, path)]
        assert len(broken) == (5 if team == "unlucky" else 0)
