"""`podium compare`: two label maps, every metric."""

import json

import label_files
import nibabel
import numpy as np
import pytest

import podium
from podium.io import read_label_map, write_label_map
from podium.metrics import compare, metrics
from podium.model import InputError, LabelMap


@pytest.fixture
def pair(tmp_path):
    """Return two files: label 1 shifted by a voxel, label 2 only in the reference."""
    reference = np.zeros((12, 12, 12), np.uint8)
    prediction = reference.copy()
    reference[2:6, 2:6, 2:6] = 1
    prediction[2:6, 2:6, 3:7] = 1
    reference[8:10, 8:10, 8:10] = 2
    paths = tmp_path / "reference.nii.gz", tmp_path / "prediction.nii.gz"
    for path, array in zip(paths, (reference, prediction), strict=True):
        write_label_map(path, LabelMap.from_array(array, spacing=(1, 1, 2)))
    return paths


def test_compare_prints_every_metric_of_every_label(run, pair):
    result = run("compare", *pair)
    assert result.exit_code == 0, result.output
    lines = {line.rsplit(None, 2)[0].strip(): line.split()[-2:] for line in result.stdout.splitlines() if line.strip()}
    assert lines["Dice ↑"] == ["0.7500", "0.0000"]
    assert lines["Hausdorff distance, mm ↓"] == ["2.0000", "∞"]
    assert lines["Precision ↑"] == ["0.7500", "undefined"]
    for metric in metrics():
        if metric.family in ("overlap", "surface", "centres"):
            assert metric.title in result.stdout
    assert "2: the prediction is empty; values are those declared for that case." in result.stdout
    assert "12 × 12 × 12 voxels of 1 × 1 × 2 mm; boundary: surfel" in result.stdout


def test_shape_and_instances_are_measured_where_asked_for(run, pair):
    plain = json.loads(run("compare", *pair, "--json").stdout)["regions"]["1"]["metrics"]
    result = run("compare", *pair, "--json", "--also", "shape", "--also", "instances")
    assert result.exit_code == 0, result.output
    regions = json.loads(result.stdout)["regions"]
    more = regions["1"]["metrics"]
    families = ("boundary", "centreline", "topology", "instances", "lesions")
    names = {metric.name for metric in metrics() if metric.family in families}
    assert {name.partition("@")[0] for name in more} == {name.partition("@")[0] for name in plain} | names
    assert not names & set(plain)
    assert {name: more[name] for name in plain} == plain
    assert more["panoptic_quality"]["value"] == more["intersection_over_union"]["value"] == 0.6  # one cube, shifted
    assert more["segmentation_average_precision"]["value"] == pytest.approx(0.3)  # at 0.5, 0.55 and 0.6 of ten
    assert more["lesion_wise_dice"]["value"] == more["dice"]["value"]
    assert more["lesion_wise_surface_dice@1mm"]["value"] == pytest.approx(more["surface_dice@1mm"]["value"])
    assert more["betti_error"]["value"] == 0
    assert 0 < more["boundary_iou"]["value"] < 1
    assert regions["2"]["metrics"]["detection_precision"] == {
        "value": None,
        "status": "undefined",
        "unit": "",
        "direction": "higher is better",
    }
    for shape in ((3, 4), (3, 4, 5)):
        nothing = compare(*np.zeros((2, *shape), np.uint8), regions={"x": 1}, also=("shape", "instances"))["x"]
        values = {measured.name: measured.value for measured in nothing.values}
        assert values["panoptic_quality"] == values["lesion_wise_dice"] == values["centreline_dice"] == 1
    assert run("compare", *pair, "--also", "colour").exit_code == 2
    with pytest.raises(InputError, match="'shape' or 'instances'"):
        compare(*map(read_label_map, pair), regions={"x": 1}, also=("colour",))


def test_compare_writes_json_that_any_program_reads(run, pair):
    result = run(
        "compare", *pair, "--json", "--region", "all=1,2", "--region", "two=2", "--tolerance", 1, "--tolerance", 2
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert document["podium"] == podium.__version__
    assert document["spacing_mm"] == [1, 1, 2]
    expected = compare(*map(read_label_map, pair), regions={"all": (1, 2)}, tolerances_mm=(1, 2))["all"]
    written = document["regions"]["all"]["metrics"]
    assert {name: entry["value"] for name, entry in written.items()} == {m.name: m.value for m in expected.values}
    assert document["regions"]["two"]["empty"] == "prediction"
    assert document["regions"]["two"]["metrics"]["hausdorff_distance"] == {
        "value": None,
        "status": "infinite",
        "unit": "mm",
        "direction": "lower is better",
    }
    assert document["regions"]["two"]["metrics"]["precision"]["status"] == "undefined"


def test_the_boundary_is_a_choice(run, pair):
    values = {}
    for boundary in ("surfel", "voxel"):
        document = json.loads(run("compare", *pair, "--json", "--boundary", boundary).stdout)
        assert document["boundary"] == boundary
        values[boundary] = document["regions"]["1"]["metrics"]["average_symmetric_surface_distance"]["value"]
    assert values["surfel"] != values["voxel"]


def test_many_regions_share_the_width_of_the_terminal(run, pair):
    regions = [word for k in range(30) for word in ("--region", f"region_{k}=1")]
    result = run("compare", *pair, *regions)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines()[3:])) <= 100
    assert all(f"region_{k}" in result.stdout for k in range(30))


def test_names_are_text_not_markup(run, pair, tmp_path):
    path = tmp_path / "[red]x[bold].nii.gz"
    path.write_bytes(pair[0].read_bytes())
    result = run("compare", path, pair[1], "--region", "[bold]=1")
    assert result.exit_code == 0, result.output
    assert "[red]x[bold].nii.gz" in result.stdout
    assert "[bold]" in result.stdout


def test_nothing_to_compare_is_said(run, tmp_path):
    path = tmp_path / "empty.nii.gz"
    write_label_map(path, LabelMap.from_array(np.zeros((4, 4, 4), np.uint8)))
    result = run("compare", path, path)
    assert result.exit_code == 0
    assert "Neither holds any label" in result.stdout
    assert json.loads(run("compare", path, path, "--json").stdout)["regions"] == {}


def test_other_geometry_is_a_warning(run, pair, tmp_path):
    moved = tmp_path / "moved.nii.gz"
    write_label_map(moved, LabelMap.from_array(read_label_map(pair[1]).array, spacing=(1, 1, 3)))
    result = run("compare", pair[0], moved)
    assert result.exit_code == 0
    said = " ".join(result.stderr.split())
    assert "moved.nii.gz: spacing 1 1 2 mm in the reference, 1 1 3 mm in the prediction: voxels were compared" in said
    assert said.endswith("resample the prediction onto the reference's grid")


def test_a_flipped_axis_is_told_of_both(run, tmp_path):
    array = np.zeros((4, 5, 6), np.uint8)
    array[1:3, 1:3, 1:3] = 1
    for name, sign in (("one", 1), ("two", -1)):
        nibabel.save(nibabel.Nifti1Image(array, np.diag([sign, 1, 1, 1])), tmp_path / f"{name}.nii.gz")
    said = " ".join(run("compare", tmp_path / "one.nii.gz", tmp_path / "two.nii.gz").stderr.split())
    assert "direction -1 0 0 0 -1 0 0 0 1 in the reference, 1 0 0 0 -1 0 0 0 1 in the prediction: " in said
    assert "resample the prediction onto the reference's grid" in said


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_a_figure_on_request(run, pair, tmp_path, suffix):
    figure = tmp_path / "new folder" / f"figure.{suffix}"
    result = run("compare", *pair, "--figure", figure)
    assert result.exit_code == 0, result.output
    start = figure.read_bytes()[:8]
    assert start.startswith({"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[suffix])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--region", "x"], "--region x is not understood. Write NAME=1,2"),
        (["--region", "=1"], "is not understood"),
        (["--region", "x=1,b"], "is not understood"),
        (["--region", "x=0"], "is not understood"),
        (["--region", "x=1", "--region", "x=2"], "two regions called x"),
        (["--figure", "picture.gif"], "a figure ends with .png, .pdf or .svg"),
        (["--max-voxels", "100"], "more than the limit of 100"),
    ],
)
def test_bad_options_get_one_line(run, pair, arguments, message):
    result = run("compare", *pair, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_missing_files_and_other_shapes_get_one_line(run, pair, tmp_path):
    result = run("compare", pair[0], tmp_path / "nowhere.nii.gz")
    assert result.exit_code == 1
    assert result.stderr == f"error: {tmp_path / 'nowhere.nii.gz'}: No such file or directory\n"
    other = label_files.write(tmp_path / "other.nii", label_files.nifti(np.zeros((3, 4, 5), "u1")))
    result = run("compare", pair[0], other)
    assert result.exit_code == 1
    assert "the prediction has 3 × 4 × 5 voxels, the reference 12 × 12 × 12" in result.stderr
