"""One corrupt, one missing, one misshapen and one NaN-filled prediction in each challenge: the run goes on.

Each challenge's demo is taken, and a copy of its best submission is broken in four ways.
"""

import csv
import json
import shutil

import h5py
import label_files
import numpy as np
import polars as pl
import pytest
import scipy.io
import SimpleITK
from typer.testing import CliRunner

import podium
from podium.challenges import get_challenge
from podium.cli import app
from podium.io import read_label_map

pytestmark = pytest.mark.slow


def nifti(path, *, shape):
    array = np.asarray(read_label_map(path).array, np.float32)
    array = array[:-1] if shape else np.where(array > 0, np.nan, array)
    path.write_bytes(b"")
    label_files.write(path, label_files.nifti(array, spacing=(0.9, 0.9, 3.0)))


def metaimage(path, *, shape):
    image = SimpleITK.ReadImage(str(path))
    array = SimpleITK.GetArrayFromImage(image).astype(np.float32)
    broken = SimpleITK.GetImageFromArray(array[:, :, :-1] if shape else np.where(array > 0, np.nan, array))
    SimpleITK.WriteImage(broken, str(path), useCompression=True)


def hdf5(path, *, shape):
    with h5py.File(path, "r+") as file:
        for name in list(file):
            array = np.array(file[name], np.float64)
            del file[name]
            if shape and array.ndim:
                array = array[:-1]
            elif not shape:
                array = np.full(array.shape, np.nan)
            file[name] = array


BREAKERS = {"kits21": nifti, "trackrad2025": metaimage, "csv2026": hdf5, "tusrec": hdf5}


@pytest.fixture(params=sorted(BREAKERS))
def faulty(request, written_demo, tmp_path):
    """Return a challenge, its folder, and the predictions of the team "faulty" by what is wrong with them."""
    name = request.param
    shutil.copytree(written_demo(name), tmp_path, dirs_exist_ok=True)
    teams = tmp_path / "submissions"
    shutil.rmtree(teams / "unlucky")
    best = {"kits21": "careful", "trackrad2025": "swift", "csv2026": "careful", "tusrec": "steady"}[name]
    shutil.copytree(teams / best, teams / "faulty")
    files = sorted(path for path in (teams / "faulty").rglob("*") if path.is_file() and path.name != "timing.csv")
    corrupt, missing, misshapen, filled = files[:4]
    corrupt.write_bytes(corrupt.read_bytes()[: corrupt.stat().st_size // 3])
    missing.unlink()
    BREAKERS[name](misshapen, shape=True)
    BREAKERS[name](filled, shape=False)
    return name, tmp_path, best, {"corrupt": corrupt, "missing": missing, "misshapen": misshapen, "NaN": filled}


def run(name, folder, out):
    arguments = ["--truth", folder / "truth", "--submissions", folder / "submissions", "--out", out]
    return CliRunner().invoke(app, ["evaluate", name, *map(str, arguments)])


def test_the_run_finishes_and_explains(faulty, tmp_path):
    name, folder, best, broken = faulty
    result = run(name, folder, tmp_path / "run")
    assert result.exit_code == 3, result.output
    lines = list(csv.DictReader((tmp_path / "run" / "failures.csv").read_text().splitlines()))
    by_file = {file: case.name for case in get_challenge(name).cases(folder / "truth") for file in case.expected}
    for kind, path in broken.items():
        case = by_file[path.name]
        own = [line for line in lines if line["submission"] == "faulty" and line["case"] == case]
        assert own, f"{kind} {path.name} is not explained"
        assert {line["status"] for line in own} == {"missing" if kind == "missing" else "invalid"}

    # The price is charged: nothing of a failed case is as good as what the untouched copy got.
    table = podium.load(tmp_path / "run").measurements.filter(pl.col("unit") == "")
    priced = table.filter((pl.col("submission") == "faulty") & pl.col("status").is_in(["missing", "invalid"]))
    assert set(priced["case"]) >= {by_file[path.name] for path in broken.values()}
    board = json.loads((tmp_path / "run" / "leaderboard.json").read_text())
    order = [entry["submission"] for entry in board["entries"]]
    assert order.index("faulty") > order.index(best)

    # Everybody else's numbers are the same as without it.
    shutil.rmtree(folder / "submissions" / "faulty")
    assert run(name, folder, tmp_path / "without").exit_code in (0, 3)
    without = podium.load(tmp_path / "without").measurements
    assert without.equals(podium.load(tmp_path / "run").measurements.filter(pl.col("submission") != "faulty"))


@pytest.fixture(scope="module")
def without_faults(written_demo, tmp_path_factory):
    """Return a demo of LVQuan18 in which nothing is wrong, and its run."""
    folder = tmp_path_factory.mktemp("without")
    shutil.copytree(written_demo("lvquan18"), folder / "demo")
    shutil.rmtree(folder / "demo" / "submissions" / "unlucky")
    before = run("lvquan18", folder / "demo", folder / "run")
    assert before.exit_code in (0, 3), before.output
    return folder / "demo", folder / "run"


@pytest.mark.parametrize("fault", ["corrupt", "missing", "misshapen", "NaN"])
def test_lvquan18_in_one_file(without_faults, tmp_path, fault):
    """All cases lie in one file, so each fault is a submission of its own; none of them is ranked."""
    demo, before = without_faults
    shutil.copytree(demo, tmp_path, dirs_exist_ok=True)
    teams = tmp_path / "submissions"
    source = next(path for path in sorted(teams.rglob("*.mat")) if "baseline" not in path.parts)
    folder = teams / "faulty"
    folder.mkdir()
    path = folder / source.name
    content = {key: value for key, value in scipy.io.loadmat(source).items() if not key.startswith("__")}
    if fault == "corrupt":
        path.write_bytes(source.read_bytes()[:500])
    elif fault == "misshapen":
        scipy.io.savemat(path, {key: value[:, :-20] for key, value in content.items()})
    elif fault == "NaN":
        content["areas_hat"] = np.full(content["areas_hat"].shape, np.nan)
        scipy.io.savemat(path, content)
    result = run("lvquan18", tmp_path, tmp_path / "run")
    assert result.exit_code == 3, result.output
    lines = list(csv.DictReader((tmp_path / "run" / "failures.csv").read_text().splitlines()))
    assert any(line["submission"] == "faulty" and line["reason"] for line in lines)
    board = json.loads((tmp_path / "run" / "leaderboard.json").read_text())
    entry = next(entry for entry in board["entries"] if entry["submission"] == "faulty")
    assert entry["place"] is None
    assert entry["remark"]
    without = podium.load(before).measurements
    assert without.equals(podium.load(tmp_path / "run").measurements.filter(pl.col("submission") != "faulty"))
