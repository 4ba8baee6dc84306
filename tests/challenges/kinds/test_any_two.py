"""`podium.measure`: folders, files and arrays."""

import json
import shutil

import numpy as np
import polars as pl
import pytest
from declared_challenges import SPACING, lesion, write_labels
from shared_data import KITS21_REGIONS

import podium
from podium.challenges.kinds.choices import RANKED_BY
from podium.challenges.kinds.toml_files import read_challenge
from podium.io import read_label_map, write_label_map
from podium.metrics import compare, dice, overlap
from podium.metrics.registry import metrics
from podium.model import InputError, LabelMap

REGIONS = {"edema": 1, "core": 2, "whole": [1, 2]}


@pytest.fixture
def folders(tmp_path):
    """Return six references, a prediction that lacks one, and another with other names and another format."""
    for number in range(6):
        write_labels(tmp_path / "labelsTs" / f"case_{number}.nii.gz", lesion(number))
        if number != 5:
            write_labels(tmp_path / "ours" / f"case_{number}.nii.gz", lesion(number, noise=0.6))
        write_labels(tmp_path / "theirs" / f"case_{number}_pred.mha", lesion(number, shift=1, noise=0.3))
    return tmp_path


def expected(folders, number, theirs=False):
    guess = "theirs/case_{}_pred.mha" if theirs else "ours/case_{}.nii.gz"
    pair = (read_label_map(folders / name.format(number)) for name in ("labelsTs/case_{}.nii.gz", guess))
    return compare(*pair, regions={name: np.atleast_1d(own).tolist() for name, own in REGIONS.items()})


def test_every_metric_of_every_label_and_case_is_what_compare_says(folders):
    measured = podium.measure(folders / "labelsTs", folders / "ours", against=[folders / "theirs"], regions=REGIONS)
    assert measured.names == ("ours", "theirs")
    assert measured.labels == ("edema", "core", "whole")
    assert len(measured.cases) == 2 * 6 * 3
    assert [measure.name for measure in measured.deciding] == list(RANKED_BY)
    families = ("overlap", "surface", "centres")
    assert set(measured.cases.columns) >= {metric.name for metric in metrics() if metric.family in families}
    for row in measured.cases.filter(pl.col("status") == "ok").iter_rows(named=True):
        own = expected(folders, int(row["case"][-1]), row["prediction"] == "theirs")[row["label"]]
        for value in own.values:
            assert row[value.metric.name] == pytest.approx(value.value, abs=1e-12), value.name


def test_a_missing_prediction_has_the_worst_value_and_is_counted(folders):
    measured = podium.measure(folders / "labelsTs", folders / "ours", regions=REGIONS)
    lost = measured.cases.filter(pl.col("case") == "case_5")
    diagonal = np.linalg.norm(np.array([18, 16, 14]) * SPACING)
    assert lost["status"].to_list() == ["missing"] * 3
    assert lost["reason"][0] == "there is no case_5.nii.gz"
    assert lost["dice"].to_list() == [0, 0, 0]
    assert lost["hausdorff_distance_95"].to_list() == pytest.approx([diagonal] * 3)
    assert lost["volume_difference"].to_list() == [None] * 3
    row = measured.summary.row(by_predicate=(pl.col("label") == "core") & (pl.col("metric") == "dice"), named=True)
    values = [dice(expected(folders, number)["core"].overlap) for number in range(5)]
    assert (row["cases"], row["values"], row["missing"], row["unusable"], row["empty_reference"]) == (6, 6, 1, 0, 0)
    assert row["mean"] == pytest.approx(sum(values) / 6)
    assert row["minimum"] == 0
    assert row["maximum"] == max(values)
    worst = measured.worst.filter(pl.col("label") == "core", pl.col("metric") == "dice")
    assert worst["case"].to_list()[:2] == ["case_5", f"case_{np.argmin(values)}"]
    volume = measured.summary.filter(pl.col("metric") == "reference_volume")
    assert volume["values"].to_list() == [5, 5, 5]
    assert measured.failures.filter(pl.col("status") == "missing")["case"].to_list() == ["case_5"]


def test_only_common_cases_count_where_that_is_asked_for(folders):
    measured = podium.measure(folders / "labelsTs", folders / "ours", regions=REGIONS, metrics=["dice"], common=True)
    assert measured.cases["case"].unique().sort().to_list() == [f"case_{number}" for number in range(5)]
    assert measured.summary["missing"].sum() == 0
    assert "1 reference without a prediction, left out: case_5.nii.gz" in measured.said[0]


def test_predictions_are_compared_case_by_case(folders):
    measured = podium.measure(
        folders / "labelsTs",
        f"net={folders / 'ours'}",
        against={"other": folders / "theirs"},
        regions=REGIONS,
        common=True,
    )
    assert measured.names == ("net", "other")
    of = (pl.col("label") == "whole") & (pl.col("metric") == "dice")
    row = measured.differences.row(by_predicate=of, named=True)
    one, two = (
        measured.cases.filter(pl.col("prediction") == name, pl.col("label") == "whole")["dice"].to_numpy()
        for name in measured.names
    )
    known = one[:5] - two[:5]
    assert (row["prediction"], row["other"]) == ("net", "other")
    assert row["cases"] == 6  # theirs has it, so that it is a case, and ours failed
    assert row["difference"] == pytest.approx((known.sum() - two[5]) / 6)
    assert row["low"] < row["difference"] < row["high"]
    assert (row["better"], row["worse"], row["equal"]) == (5, 1, 0)
    assert 0 < row["p"] <= 1
    lower = measured.differences.row(
        by_predicate=(pl.col("label") == "whole") & (pl.col("metric") == "hausdorff_distance_95"), named=True
    )
    assert lower["better"] > lower["worse"]


@pytest.mark.parametrize("given", [{}, {"regions": REGIONS}, {"regions": REGIONS, "common": True, "geometry": "shape"}])
def test_the_challenge_that_was_measured_by_lies_beside_and_evaluates_the_same(folders, given):
    for number in range(6):  # called alike, as teams of a challenge are
        pair = folders / "theirs" / f"case_{number}_pred.mha", folders / "submissions" / "theirs"
        write_labels(pair[1] / f"case_{number}.nii.gz", read_label_map(pair[0]).array)
    shutil.copytree(folders / "ours", folders / "submissions" / "ours")
    places = {"against": [folders / "submissions" / "theirs"], "out": folders / "out"}
    measured = podium.measure(folders / "labelsTs", folders / "submissions" / "ours", **places, **given)
    declared = folders / "out" / "challenge.toml"
    assert read_challenge(declared) == measured.challenge
    again = podium.evaluate(
        str(declared), truth=folders / "labelsTs", submissions=folders / "submissions", out=folders / "again"
    )
    assert again.measurements.equals(measured.table)
    assert again.leaderboard.entries == measured.run.leaderboard.entries


def test_no_challenge_lies_beside_what_is_no_folder(folders):
    pair = folders / "labelsTs" / "case_0.nii.gz", folders / "ours" / "case_0.nii.gz"
    podium.measure(*pair, regions=REGIONS, out=folders / "out")
    assert (folders / "out" / "summary.csv").exists()
    assert not (folders / "out" / "challenge.toml").exists()


def test_a_run_goes_on_to_ranks_and_reports(folders):
    out = folders / "run"
    measured = podium.measure(
        folders / "labelsTs", folders / "ours", against=[folders / "theirs"], regions=REGIONS, metrics=["dice"], out=out
    )
    assert pl.read_parquet(out / "cases.parquet").equals(measured.cases)
    assert pl.read_csv(out / "cases.csv").columns == measured.cases.columns
    assert pl.read_csv(out / "cases.csv")["dice"].to_list() == measured.cases["dice"].to_list()
    assert {path.name for path in out.iterdir()} >= {"summary.csv", "summary.parquet", "worst.csv", "differences.csv"}
    run = podium.load(out)
    assert run.challenge == measured.challenge
    assert run.challenge.numbers == {"edema": (1,), "core": (2,), "whole": (1, 2)}
    ranking = podium.rank(out, bootstrap=20)
    assert {entry.submission for entry in ranking.leaderboard.entries} == {"ours", "theirs"}
    assert run.verify().nothing_differs
    with pytest.raises(InputError, match="--restart"):
        podium.measure(folders / "labelsTs", folders / "ours", regions=REGIONS, out=out)
    resumed = podium.measure(
        folders / "labelsTs",
        folders / "ours",
        against=[folders / "theirs"],
        regions=REGIONS,
        metrics=["dice"],
        out=out,
        resume=True,
    )
    assert resumed.run.kept == 12
    assert resumed.cases.equals(measured.cases)
    again = podium.measure(folders / "labelsTs", folders / "ours", regions=REGIONS, out=out, restart=True)
    assert again.names == ("ours",)
    assert not (out / "differences.csv").exists()


def test_differences_from_what_is_no_longer_measured_do_not_stay(folders):
    given = {"regions": REGIONS, "metrics": ["dice"], "out": folders / "out"}
    podium.measure(folders / "labelsTs", folders / "ours", against=[folders / "theirs"], **given)
    assert (folders / "out" / "differences.csv").is_file()
    podium.measure(folders / "labelsTs", folders / "ours", **given, resume=True)
    assert not (folders / "out" / "differences.csv").exists()


def test_without_a_folder_the_run_is_in_memory(folders):
    before = sorted(folders.rglob("*"))
    measured = podium.measure(folders / "labelsTs", folders / "theirs", regions=REGIONS, metrics=["dice"])
    assert [entry.submission for entry in measured.run.leaderboard.entries] == ["theirs"]
    assert sorted(folders.rglob("*")) == before


def test_a_dataset_json_names_labels_and_regions(folders):
    document = {"labels": {"background": 0, "edema": 1, "whole": [1, 2]}, "file_ending": ".nii.gz"}
    (folders / "dataset.json").write_text(json.dumps(document))
    write_labels(folders / "labelsTs" / "stray.mha", lesion(1))  # of another ending
    measured = podium.measure(folders / "labelsTs", folders / "theirs", metrics=["dice"])
    assert measured.labels == ("edema", "whole")
    assert measured.said[-1] == f"Labels are those of {folders / 'dataset.json'}: edema (1), whole (1,2)."
    assert measured.cases["case"].n_unique() == 6
    named = podium.measure(folders / "labelsTs", folders / "theirs", labels=folders / "dataset.json", metrics=["dice"])
    assert named.cases.equals(measured.cases)
    (folders / "dataset.json").write_text(json.dumps({"labels": {"edema": 1}}))
    (folders / "labelsTs" / "stray.mha").unlink()
    measured = podium.measure(folders / "labelsTs", folders / "theirs", regions={"core": 2}, metrics=["dice"])
    assert measured.cases["dice"].min() > 0  # edema is background
    with pytest.raises(InputError, match="label 2 is none of 0, 1"):
        podium.measure(folders / "labelsTs", folders / "theirs", labels={"edema": 1}, metrics=["dice"])
    (folders / "dataset.json").write_text(json.dumps({"labels": {"edema": 1, "ignore": 3}}))
    with pytest.raises(InputError, match="label 3 is to be ignored"):
        podium.measure(folders / "labelsTs", folders / "ours")


def test_without_names_every_label_is_measured_that_occurs(folders):
    extra = lesion(0)
    extra[0, 0, 0] = 7
    write_labels(folders / "ours" / "case_0.nii.gz", extra)
    measured = podium.measure(folders / "labelsTs", folders / "ours", metrics=["dice", "sensitivity"])
    assert measured.labels == ("1", "2", "7")
    assert "Labels are all that occur: 1, 2, 7" in measured.said[-2]
    assert measured.said[-1] == "7 is in no reference. Are labels numbered alike?"
    seven = measured.summary.filter(pl.col("label") == "7", pl.col("metric") == "dice").row(0, named=True)
    assert (seven["empty_reference"], seven["empty_prediction"], seven["missing"]) == (5, 4, 1)
    assert seven["minimum"] == 0
    assert seven["median"] == 1  # neither has it
    defined = measured.summary.filter(pl.col("label") == "7", pl.col("metric") == "sensitivity")
    assert defined["values"][0] == defined["missing"][0] == 1  # nowhere in a reference that was measured against


def test_other_grids_are_named_and_priced(folders):
    write_labels(folders / "ours" / "case_0.nii.gz", lesion(0)[:-1])
    write_labels(folders / "ours" / "case_1.nii.gz", lesion(1), spacing=(1, 1, 1))
    (folders / "ours" / "case_2.nii.gz").write_bytes(b"no image")
    given = {"regions": REGIONS, "metrics": ["dice"], "common": True}
    measured = podium.measure(folders / "labelsTs", folders / "ours", **given)
    reasons = dict(measured.cases.filter(pl.col("label") == "core").select("case", "reason").iter_rows())
    assert "wrong shape: 17 × 16 × 14 voxels, the reference has 18 × 16 × 14" in reasons["case_0"]
    assert "wrong geometry" in reasons["case_1"]
    assert reasons["case_2"]
    assert reasons["case_3"] == ""
    assert measured.summary["unusable"].unique().to_list() == [3]
    relaxed = podium.measure(folders / "labelsTs", folders / "ours", geometry="shape", **given)
    assert relaxed.summary["unusable"].unique().to_list() == [2]
    (folders / "labelsTs" / "case_3.nii.gz").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"case_3: the reference cannot be used"):
        podium.measure(folders / "labelsTs", folders / "ours", **given)


@pytest.mark.parametrize(
    ("references", "predictions", "given", "message"),
    [
        ("nowhere", "ours", {}, "there is no such folder"),
        ("labelsTs", "nowhere", {}, "there is no such folder"),
        ("labelsTs", "labelsTs", {}, "are the same folder"),
        ("labelsTs", "ours/case_1.nii.gz", {}, "this is a file, and the references are a folder"),
        ("labelsTs/case_1.nii.gz", "ours", {}, "this is a folder, and the reference is a file"),
        ("labelsTs", "ours", {"metrics": ["dise"]}, "called 'dise'. Did you mean 'dice'?"),
        ("labelsTs", "ours", {"metrics": ["auroc"]}, "no metric of label maps called 'auroc'"),
        ("labelsTs", "ours", {"tolerances_mm": {"lung": 1.0}}, "a tolerance is given for 'lung'"),
        ("labelsTs", "ours", {"labels": {"edema": 0}}, "'edema' is 0. Labels are whole numbers from 1"),
        ("labelsTs", "ours", {"labels": {}}, "there are no labels"),
        ("labelsTs", "ours", {"labels": {"a": 1}, "regions": {"a": 1}}, "Give one of them"),
        ("labelsTs", "ours", {"spacing_mm": 1.0}, "spacing_mm is for arrays"),
    ],
)
def test_mistakes_are_told(folders, references, predictions, given, message):
    with pytest.raises(InputError) as error:
        podium.measure(folders / references, folders / predictions, **given)
    assert message in str(error.value)


def test_swapped_folders_and_links_are_noticed(folders):
    said = []
    podium.measure(folders / "ours", folders / "labelsTs", regions=REGIONS, metrics=["dice"], say=said.append)
    assert "called like references: are the folders swapped?" in said[0]
    (folders / "theirs" / "plans.json").touch()
    said.clear()
    podium.measure(folders / "theirs", folders / "ours", regions=REGIONS, metrics=["dice"], say=said.append)
    assert "as nnU-Net writes beside predictions: are the folders swapped?" in said[0]
    (folders / "ours" / "case_5.nii.gz").symlink_to(folders / "labelsTs" / "case_5.nii.gz")
    with pytest.raises(InputError, match="this is a symbolic link"):
        podium.measure(folders / "labelsTs", folders / "ours", regions=REGIONS)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ours/case_0.mha", r"case_0\.mha and case_0\.nii\.gz are both called like a prediction for case_0\.nii\.gz"),
        ("theirs/case_0.nii.gz", r"case_0_pred\.mha and case_0\.nii\.gz are both called like a prediction for"),
        ("ours/case_5_pred.mha", r"case_5_pred\.mha is called, unlike all others, like a prediction for case_5"),
    ],
)
def test_a_second_prediction_of_a_case_is_not_taken_for_the_first(folders, name, problem):
    """What is said to be left out must not be measured."""
    shutil.copy(folders / "theirs" / "case_3_pred.mha", folders / "other.mha")
    write_label_map(folders / name, read_label_map(folders / "other.mha"))
    with pytest.raises(InputError, match=problem):
        podium.measure(folders / "labelsTs", folders / "ours", against=[folders / "theirs"], regions=REGIONS)


def test_regions_are_what_they_are_called():
    array, other = np.array([[1, 2, 3, 4]]), np.array([[1, 2, 3, 0]])
    measured = podium.measure(array, other, regions={"label 2": [1, 3], "rest": [2, 4]}, metrics=["dice"])
    assert dict(zip(measured.cases["label"], measured.cases["dice"], strict=True)) == {"label 2": 1.0, "rest": 2 / 3}
    with pytest.raises(InputError, match="two labels are called 'a-b'"):
        podium.measure(array, other, regions={"a/b": 1, "a-b": 2})


def test_a_prediction_may_be_called_like_a_label():
    given = {"b": np.ones((3, 3), int)}
    measured = podium.measure(given, given, against={"z": given, "a": given}, labels={"z": 1, "prediction": 2})
    assert measured.cases["prediction"].unique(maintain_order=True).to_list() == ["prediction", "z", "a"]
    assert measured.cases["label"].to_list() == ["z", "prediction"] * 3


def test_folders_of_one_name_get_names_that_tell_them_apart(folders):
    for fold in ("fold_0", "fold_1"):
        shutil.copytree(folders / "ours", folders / fold / "validation")
    places = folders / "fold_0" / "validation", folders / "fold_1" / "validation"
    measured = podium.measure(folders / "labelsTs", places[0], against=[places[1]], regions=REGIONS, metrics=["dice"])
    assert measured.names == ("fold_0", "fold_1")
    with pytest.raises(InputError, match="the same predictions are given twice"):
        podium.measure(folders / "labelsTs", places[0], against=[places[0]])
    with pytest.raises(InputError, match="two predictions are called x"):
        podium.measure(folders / "labelsTs", f"x={places[0]}", against={"x": places[1]})


def test_two_files_are_a_pair_whatever_they_are_called(folders):
    one, two = folders / "labelsTs" / "case_0.nii.gz", folders / "theirs" / "case_3_pred.mha"
    measured = podium.measure(one, two, labels=REGIONS, out=folders / "out")
    assert measured.cases["case"].to_list() == ["case_0"] * 3
    pair = read_label_map(one), read_label_map(two)
    values = overlap(*pair, regions={"edema": 1, "core": 2, "whole": (1, 2)})
    assert measured.cases["dice"].to_list() == [dice(values[name]) for name in REGIONS]
    assert pl.read_parquet(folders / "out" / "cases.parquet").equals(measured.cases)
    assert podium.measure(one, two).labels == ("1", "2")
    write_label_map(folders / "small.nii.gz", LabelMap.from_array(lesion(0)[1:]))
    with pytest.raises(InputError, match="wrong shape"):
        podium.measure(one, folders / "small.nii.gz")


def test_arrays_are_measured_one_or_many():
    one, two = lesion(0), lesion(0, noise=0.5)
    measured = podium.measure(one, two, labels=REGIONS, spacing_mm=SPACING, against={"itself": one})
    assert measured.names == ("prediction", "itself")
    values = compare(one, two, regions={"core": 2}, spacing_mm=SPACING)["core"]
    row = measured.cases.row(
        by_predicate=(pl.col("label") == "core") & (pl.col("prediction") == "prediction"), named=True
    )
    assert {value.metric.name: value.value for value in values.values}.items() <= row.items()
    maps = {"a": one, "b": LabelMap.from_array(two), "c": two}
    measured = podium.measure(maps, {"a": two, "b": two[1:]}, metrics=["dice"])
    states = measured.cases.filter(pl.col("label") == "1")["status"].to_list()
    assert states == ["ok", "invalid", "missing"]
    assert measured.summary["unusable"].to_list() == [1] * len(measured.summary)
    assert podium.measure(maps, {"a": two}, metrics=["dice"], common=True).cases["case"].unique().to_list() == ["a"]
    with pytest.raises(InputError, match="no reference and prediction have a name in common"):
        podium.measure(maps, {"d": two})
    with pytest.raises(InputError, match="wrong shape"):
        podium.measure(one, two[1:])
    with pytest.raises(InputError, match="label 2 is none of those given: edema"):
        podium.measure(one, two, labels={"edema": 1})
    with pytest.raises(InputError, match="predictions that are arrays need names"):
        podium.measure(one, two, against=[one])
    with pytest.raises(InputError, match="this is a path, and the reference is an array"):
        podium.measure(one, "predictions")
    with pytest.raises(InputError, match="no file has any label but 0"):
        podium.measure(one * 0, two * 0)
    with pytest.raises(InputError, match="masked"):
        podium.measure(one, np.ma.masked_equal(two, 2))
    with pytest.raises(InputError, match="as in an image"):
        podium.measure(np.arange(1000).reshape(10, 100), np.arange(1000).reshape(10, 100))


def test_any_metric_of_label_maps_can_be_measured():
    measured = podium.measure(lesion(0), lesion(0, noise=0.5), metrics=["all"], tolerances_mm={"1": 0.5})
    names = {metric.name for metric in metrics() if metric.family not in ("regression",)}
    assert {"betti_error", "lesion_wise_dice", "panoptic_quality", "boundary_iou"} <= set(measured.cases.columns)
    assert {measure.name for measure in measured.challenge.measures} <= names
    volumes = podium.measure(lesion(0), lesion(1), metrics=["volume_difference"])
    assert [measure.name for measure in volumes.deciding] == ["dice"]


def test_real_cases_have_the_organisers_numbers(tmp_path, kits21, golden_kits21):
    for case in sorted(kits21.glob("case_*")):
        for team, place in {"MAJ": "labels", "AND": "AND", "OR": "OR", "itself": "MAJ"}.items():
            (tmp_path / place).mkdir(exist_ok=True)
            source = case / f"aggregated_{'MAJ' if team == 'itself' else team}_seg.nii.gz"
            shutil.copy(source, tmp_path / place / f"{case.name}.nii.gz")
    measured = podium.measure(
        tmp_path / "labels",
        tmp_path / "AND",
        against=[tmp_path / "OR", tmp_path / "MAJ"],
        regions=KITS21_REGIONS,
        metrics=["dice", "surface_dice"],
        tolerances_mm=golden_kits21["sd_tolerances_mm_in_repo"],
        out=tmp_path / "run",
    )
    assert measured.cases["case"].n_unique() == len(golden_kits21["cases"]) == 6
    for row in measured.cases.iter_rows(named=True):
        if row["prediction"] == "MAJ":
            assert (row["dice"], row["surface_dice"]) == (1, 1)
            continue
        golden = golden_kits21["cases"][row["case"]]["aggregated_vs_MAJ"][row["prediction"]][row["label"]]
        assert row["dice"] == pytest.approx(golden["dice"], abs=1e-9)
        assert row["surface_dice"] == pytest.approx(golden["sd"], abs=1e-9)
    places = {entry.submission: entry.place for entry in podium.load(tmp_path / "run").leaderboard.entries}
    assert places["MAJ"] == 1
